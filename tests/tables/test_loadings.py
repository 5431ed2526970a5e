from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spcastat.errors import OptionError, ShapeError
from spcastat.labels import short_names
from spcastat.tables import loadings_table
from spcastat.tables.loading_rows import HIDDEN


def grid(table) -> dict[str, tuple[str, ...]]:
    return {row.label: row.cells for row in table.rows}


def test_cells_and_notes(loadings):
    table = loadings_table(loadings)
    assert table.headings == ("PC1", "PC2")
    assert grid(table) == {
        "height": ("0.800", ""),
        "weight": ("-0.600", ""),
        "age": ("", "1.000"),
        "income": ("<.001", "-<.001"),
    }
    assert table.notes == ("A blank is exactly zero.", "1 of 5 variables has no loading.")


def test_contributions(loadings):
    cells = grid(loadings_table(loadings, contributions=True))
    assert cells["height"] == ("64.0", "")
    assert cells["weight"] == ("36.0", "")
    assert cells["income"] == ("<.1", "<.1")


def test_cutoff_hides_but_never_blanks(loadings):
    table = loadings_table(loadings, cutoff=0.7)
    assert grid(table)["weight"] == (HIDDEN, "")
    assert grid(table)["income"] == (HIDDEN, HIDDEN)
    assert '"." stands for 3 nonzero loadings below 0.7 in absolute value.' in table.notes


def test_sort_by_component_then_size(loadings):
    assert [row.label for row in loadings_table(loadings, sort=True).rows] == [
        "height",
        "weight",
        "income",
        "age",
    ]


@given(
    values=arrays(float, (4, 3), elements=st.one_of(st.just(0.0), st.floats(-1, 1))),
    digits=st.integers(1, 6),
    cutoff=st.floats(0, 1),
    contributions=st.booleans(),
)
def test_blank_means_exactly_zero(values, digits, cutoff, contributions):
    table = loadings_table(pd.DataFrame(values), digits=digits, cutoff=cutoff, contributions=contributions)
    shown = values[(values != 0).any(axis=1)]
    assert len(table.rows) == len(shown)
    for row, line in zip(table.rows, shown, strict=True):
        for cell, value in zip(row.cells, line, strict=True):
            assert (cell == "") == (value == 0)
            assert cell == "" or cell == HIDDEN or cell.strip("-0.")
            if cell not in ("", HIDDEN) and not contributions:
                assert (cell[0] == "-") == (value < 0)


def test_nothing_loaded():
    table = loadings_table(pd.DataFrame(np.zeros((3, 2))))
    assert table.rows == ()
    assert table.notes == ("3 of 3 variables have no loading.",)


def test_truncation_keeps_every_component(make_loadings):
    loadings = make_loadings(500, 2, nonzero=200)
    loadings["PC2"] *= 1e-3
    table = loadings_table(loadings, max_rows=10)
    assert len(table.rows) == 10
    first = loadings["PC1"].abs().nlargest(4).index
    second = loadings["PC2"].abs().nlargest(4).index
    assert {*first, *second} <= set(grid(table))
    loaded = int((loadings != 0).any(axis=1).sum())
    assert any(note.startswith(f"10 of {loaded} variables with a loading are shown") for note in table.notes)
    order = [loadings.index.get_loc(row.label) for row in table.rows]
    assert order == sorted(order)


def test_twenty_thousand_variables_under_a_second(make_loadings):
    loadings = make_loadings(20_000, 10, nonzero=2000)
    start = time.perf_counter()
    table = loadings_table(loadings, sort=True)
    assert time.perf_counter() - start < 1
    assert len(table.rows) == 40


def test_names_of_any_type():
    index = pd.Index([("a", 1), 7, None, "two\nlines", "\x1b[31mred", "", "x" * 40], dtype=object)
    table = loadings_table(pd.DataFrame(np.ones((7, 1)), index=index, columns=[0]))
    labels = [row.label for row in table.rows]
    assert labels == ["(a, 1)", "7", "None", "two lines", "\\x1b[31mred", "''", "x" * 40]
    assert table.headings == ("0",)


def test_names_that_differ_in_the_middle_stay_apart():
    names = ["expression_of_gene_A_in_tissue_one", "expression_of_gene_B_in_tissue_one", "short"]
    labels = short_names(names)
    assert len(set(labels)) == 3
    assert max(map(len, labels)) <= 24
    assert labels[0].endswith(" #1")
    assert labels[1].endswith(" #2")


def test_not_a_number_is_shown():
    assert grid(loadings_table(pd.DataFrame({"PC1": [np.nan, np.inf]}, index=["a", "b"]))) == {
        "a": ("NA",),
        "b": ("Inf",),
    }


@pytest.mark.parametrize(
    "options", [{"digits": 0}, {"digits": 2.5}, {"cutoff": -0.1}, {"max_rows": 0}, {"cutoff": np.nan}]
)
def test_bad_options(loadings, options):
    with pytest.raises(OptionError, match=next(iter(options))):
        loadings_table(loadings, **options)


def test_not_a_frame():
    with pytest.raises(ShapeError, match="loadings of type ndarray were given; a data frame"):
        loadings_table(np.ones((3, 2)))


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        ({"dense": 2}, "dense loadings of type int"),
        ({"dense": pd.DataFrame(np.ones((2, 2)))}, "dense of shape"),
        ({"intervals": 0.5}, "intervals of type float"),
        ({"intervals": (pd.DataFrame(np.ones((2, 2))),) * 2}, "intervals of shape"),
        ({"stars": pd.DataFrame(np.ones((4, 2)))}, "stars of something else"),
        ({"stars": pd.DataFrame([["*", ""]])}, "stars of shape"),
    ],
)
def test_what_stands_beside_has_the_shape_of_the_loadings(loadings, beside, message):
    with pytest.raises(ShapeError, match=message):
        loadings_table(loadings, **beside)
