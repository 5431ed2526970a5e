"""Tables of great_tables: numbers that are numbers, written as in the other formats."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import ExtraError, OptionError

great_tables = pytest.importorskip("great_tables")


@pytest.fixture(scope="module")
def summary():
    return sp.spca_cov(sp.datasets.load_pitprops(), 3, 4, method="greedy").summary()


def cells(table) -> list[str]:
    return re.findall(r"<td[^>]*>([^<]*)</td>", table.as_raw_html())


def test_numbers_stay_numbers(summary):
    table = summary.as_gt()
    assert isinstance(table, great_tables.GT)
    data = table._tbl_data
    loadings = data[data["group"] == "Loadings"].set_index("label")[["PC1", "PC2", "PC3"]]
    known = summary.frames["loadings"].loc[loadings.index]
    np.testing.assert_array_equal(loadings.fillna(0.0).to_numpy(), known.to_numpy())
    assert (loadings.isna() == (known == 0)).all(axis=None)


def test_they_are_written_as_elsewhere(summary):
    shown = cells(summary.as_gt(decimal=",", digits=2))
    text = summary.as_text(decimal=",", digits=2, notes=False)
    assert set(re.findall(r"-?\d+,\d+", text)) <= set(shown)
    assert "A blank is exactly zero." in summary.as_gt().as_raw_html()
    assert "A blank is exactly zero." not in summary.as_gt(notes=False).as_raw_html()
    assert "My caption" in summary.as_gt(caption="My caption").as_raw_html()


def test_equal_headings_and_words_have_columns():
    data = sp.datasets.pitprops_sample()
    fit = sp.spca(data, k=2, card=4, method="greedy")
    found = fit.supplement(rows=data.head(3))
    table = found.as_gt()
    assert table.cols_hide(["group", "label", "PC1", "cos2", "PC2", "cos2 2"]) is not None
    assert "cos2 2" not in table.as_raw_html()
    assert cells(sp.methods("pmd").as_gt())[0]


def test_a_table_by_its_title(summary):
    page = summary.as_gt("Variance").as_raw_html()
    assert "Cumulative % of total variance" in page
    assert "Loadings" not in page
    with pytest.raises(OptionError, match=r"table='Varianz' is not there; .* Did you mean 'Variance'\?"):
        summary.as_gt("Varianz")


def test_without_great_tables_the_extra_is_named(summary, monkeypatch):
    monkeypatch.setitem(sys.modules, "great_tables", None)
    with pytest.raises(ExtraError, match=r"as_gt\(\) needs great_tables, .* pip install 'spcastat\[gt\]'"):
        summary.as_gt()
