from __future__ import annotations

import pandas as pd
import pytest

from spcastat.errors import ShapeError
from spcastat.show.fit_tables import MANY, variance_table
from spcastat.show.grid import alike


def test_rows(make_variance):
    table = variance_table(make_variance(2))
    assert table.headings == ("PC1", "PC2")
    assert [(row.label, row.cells) for row in table.rows] == [
        ("Nonzeros", ("2", "1")),
        ("Variance of scores", ("4.400", "2.200")),
        ("Adjusted variance", ("4.000", "2.000")),
        ("Adjusted, % of total", ("40.00", "20.00")),
        ("adjusted", ("40.00", "60.00")),
        ("PEV", ("41.00", "61.00")),
        ("least squares", ("42.00", "62.00")),
        ("PCA (dense)", ("43.00", "63.00")),
    ]
    assert [row.group for row in table.rows] == [""] * 4 + ["Cumulative % of total variance"] * 4


@pytest.mark.parametrize(
    ("unit", "cells"),
    [(1e-9, ("4.400e-09", "2.200e-09")), (1e3, ("4400", "2200")), (1e9, ("4.400e+09", "2.200e+09"))],
)
def test_any_unit(unit, cells, make_variance):
    assert variance_table(make_variance(2, unit)).rows[1].cells == cells


def test_alike():
    assert alike([12.345, 0.0001, 0.0, float("nan")]) == ("12.35", "<.01", "0.00", "NA")
    assert alike([0.0, 0.0]) == ("0.000", "0.000")


def test_the_table_has_the_columns_that_are_there(make_variance):
    less = make_variance(2).drop(columns="cumulative PEV")
    labels = [row.label for row in variance_table(less).rows]
    assert labels[4:] == ["adjusted", "least squares", "PCA (dense)"]


def test_a_column_that_is_not_known_is_named(make_variance):
    with pytest.raises(ShapeError, match="with the columns 'other'"):
        variance_table(make_variance(2).assign(other=1.0))


def test_correlation_of_scores(make_variance):
    table = variance_table(make_variance(2), pd.Series([0.5, float("nan")]))
    assert table.rows[-1].label == "Largest score |r|"
    assert table.rows[-1].cells == ("0.50", "NA")


def test_many_components_stand_upright(make_variance):
    wide = variance_table(make_variance(8))
    upright = variance_table(make_variance(MANY), pd.Series(range(MANY)))
    assert [row.label for row in upright.rows] == [f"PC{j + 1}" for j in range(MANY)]
    assert upright.rows[0].cells[0] == "9"
    assert upright.rows[1].cells[2:8] == wide.columns(1, 2).rows[2].cells + tuple(
        row.cells[1] for row in wide.rows[3:]
    )
    assert "least squares (LS)" in upright.notes[0]
