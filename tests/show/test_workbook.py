"""Workbooks, read back by pandas: a sheet for each table, numbers in full, text as text."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import ExtraError, OptionError
from spcastat.show.workbook import write_workbook

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture
def fit():
    """A new fit for every test: draws and proofs are stored in it."""
    data = sp.datasets.pitprops_sample().rename(columns={"length": "=1+1", "knots": "k\x07nots"})
    return sp.spca(data, k=3, card=4, method="greedy")


def names_of(path) -> set[str]:
    with pd.ExcelFile(path) as book:
        return set(book.sheet_names)


def test_every_table_of_a_fit_has_its_sheet(fit, tmp_path):
    fit.bootstrap(12, rng=0)
    fit.to_excel(tmp_path / "fit.xlsx")
    sheets = pd.read_excel(tmp_path / "fit.xlsx", sheet_name=None, index_col=0)
    known = {
        "loadings": fit.loadings,
        "variance": fit.variance,
        "correlations": fit.correlations,
        "score correlation": fit.score_correlations,
        "scores": fit.scores,
        "diagnostics": fit.diagnostics(),
    }
    assert set(sheets) == {*known, "about", "shares", "standardisation", "bootstrap", "bootstrap variance"}
    for name, frame in known.items():
        found = sheets[name][list(frame.columns)].to_numpy(dtype=float)
        # openpyxl writes 16 figures
        np.testing.assert_allclose(found, frame.to_numpy(dtype=float), rtol=1e-15, atol=0)
    assert "communality" in sheets["correlations"]
    assert sheets["about"].loc["Call"].iloc[0] == fit.call
    names = [str(name) for name in sheets["loadings"].index]
    assert names[1] == "=1+1"
    assert "k\\x07nots" in names


def test_proofs_have_their_sheets(fit, tmp_path):
    one, both = fit.certify(joint=False).table, fit.certify(joint=True, objective="pev", time_limit=2).table
    fit.to_excel(tmp_path / "fit.xlsx")
    sheets = pd.read_excel(tmp_path / "fit.xlsx", sheet_name=None, index_col=0)
    for name, table in (("proof", one), ("proof pev", both)):
        found = sheets[name]
        assert [str(label) for label in found.index] == list(table.index)
        for column in ("value", "upper_bound", "gap"):
            np.testing.assert_allclose(found[column], table[column], rtol=1e-15, atol=0)
        assert found["optimal"].tolist() == table["optimal"].tolist()
        assert found["proof"].tolist() == table["proof"].tolist()


def test_text_is_no_formula(tmp_path):
    frame = pd.DataFrame({"=A1": ["=1+1", "@x", ""]}, index=["=b", "+c", "d"])
    write_workbook(tmp_path / "f.xlsx", {"f": frame}, [("=a", "=b")])
    book = openpyxl.load_workbook(tmp_path / "f.xlsx")
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.value is not None]
    assert {cell.data_type for cell in cells} == {"s"}
    assert book["f"]["B2"].value == "=1+1"
    assert book["f"].freeze_panes == "B2"


def test_values_of_any_type(tmp_path):
    labels = [("a", pd.Timestamp("2020-01-02", tz="UTC")), ("b", None)]
    index = pd.MultiIndex.from_tuples(labels, names=["g", None])
    values = {"x": [np.inf, np.nan], "y": [True, pd.NA], "z": [2**60, 1]}
    frame = pd.DataFrame({**values, ("m", 1): [pd.Timestamp("2020-01-02"), None]}, index=index)
    write_workbook(tmp_path / "f.xlsx", {"f": frame}, [("long", "x" * 40_000)])
    book = openpyxl.load_workbook(tmp_path / "f.xlsx")
    rows = [[cell.value for cell in row] for row in book["f"].iter_rows()]
    assert rows[0] == ["g", None, "x", "y", "z", "(m, 1)"]
    assert rows[1][:5] == ["a", "2020-01-02 00:00:00+00:00", "Inf", True, str(2**60)]
    assert rows[1][5] == pd.Timestamp("2020-01-02").to_pydatetime()
    assert rows[2][2:] == [None, None, 1, None]
    assert "".join(row[1].value for row in book["about"].iter_rows()) == "x" * 40_000


def test_summaries_write_their_frames(fit, tmp_path):
    fit.summary(dense=True).to_excel(tmp_path / "s.xlsx")
    assert names_of(tmp_path / "s.xlsx") >= {"about", "loadings", "variance", "dense"}
    sp.methods("pmd").to_excel(str(tmp_path / "m.xlsx"))
    assert "options" in names_of(tmp_path / "m.xlsx")


def test_a_fit_without_rows_has_no_scores(tmp_path):
    sp.spca_cov(sp.datasets.load_pitprops(), 2, 4, method="greedy").to_excel(tmp_path / "c.xlsx")
    assert not {"scores", "diagnostics"} & names_of(tmp_path / "c.xlsx")


def test_what_is_refused(fit, tmp_path, monkeypatch):
    wide = pd.DataFrame(np.zeros((1, 16_384)), index=["a"])
    with pytest.raises(OptionError, match=r"table of w has 2 rows and 16,385 columns .*; a sheet holds"):
        write_workbook(tmp_path / "w.xlsx", {"w": wide}, [])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ExtraError, match=r"to_excel\(\) needs openpyxl, .* pip install 'spcastat\[excel\]'"):
        fit.to_excel(tmp_path / "fit.xlsx")
    assert not list(tmp_path.iterdir())
