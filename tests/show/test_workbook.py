"""Workbooks, read back by pandas and openpyxl: a sheet for each table, numbers in full, text as text."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import ExtraError, OptionError
from spcastat.show.workbook import write_workbook

openpyxl = pytest.importorskip("openpyxl")


def test_tables_of_a_fit_are_sheets_with_all_digits(tmp_path):
    data = sp.datasets.pitprops_sample().rename(columns={"length": "=1+1", "knots": "k\x07nots"})
    fit = sp.spca(data, k=3, card=4, method="greedy")
    fit.to_excel(tmp_path / "fit.xlsx")
    sheets = pd.read_excel(tmp_path / "fit.xlsx", sheet_name=None, index_col=0)
    known = {
        "loadings": fit.loadings,
        "variance": fit.variance,
        "correlations": fit.correlations,
        "score correlations": fit.score_correlations,
        "scores": fit.scores,
    }
    assert set(sheets) == set(known)
    for name, frame in known.items():
        # openpyxl writes 16 figures
        np.testing.assert_allclose(sheets[name].to_numpy(float), frame.to_numpy(float), rtol=1e-15, atol=0)
    names = [str(name) for name in sheets["loadings"].index]
    assert names[1] == "=1+1"
    assert "k\\x07nots" in names
    covariance = sp.spca_cov(sp.datasets.load_pitprops(), 2, 4, method="greedy")
    covariance.to_excel(tmp_path / "c.xlsx")
    assert "scores" not in pd.read_excel(tmp_path / "c.xlsx", sheet_name=None)
    fit.summary(dense=True).to_excel(tmp_path / "s.xlsx")
    assert {"loadings", "variance", "dense"} <= set(pd.read_excel(tmp_path / "s.xlsx", sheet_name=None))


def test_text_is_no_formula_and_other_values_keep_their_types(tmp_path):
    labels = [("=a", pd.Timestamp("2020-01-02", tz="UTC")), ("b", None)]
    index = pd.MultiIndex.from_tuples(labels, names=["g", None])
    values = {"=A1": ["=1+1", None], "y": [True, False], "z": [0.1, np.nan]}
    write_workbook(tmp_path / "f.xlsx", {"f": pd.DataFrame(values, index=index)})
    book = openpyxl.load_workbook(tmp_path / "f.xlsx")
    assert "f" not in {cell.data_type for row in book["f"].iter_rows() for cell in row}
    rows = [[cell.value for cell in row] for row in book["f"].iter_rows()]
    assert rows[0] == ["g", None, "=A1", "y", "z"]
    assert rows[1] == ["=a", "2020-01-02 00:00:00+00:00", "=1+1", True, 0.1]
    assert rows[2] == ["b", None, None, False, None]


def test_cells_show_the_digits_of_the_printed_tables(fit, tmp_path):
    """Three decimals, fewer of large numbers; zeros are "0"; the first row and labels do not scroll."""
    index = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    columns = {"share": [0.25, 0.0], "large": [1234.5, 2.5], "tiny": [1e-9, 2e-9], "n": [3, 4]}
    write_workbook(tmp_path / "f.xlsx", {"f": pd.DataFrame(columns, index=index)})
    sheet = openpyxl.load_workbook(tmp_path / "f.xlsx")["f"]
    assert sheet.freeze_panes == "C2"
    formats = [cell.number_format for cell in sheet[2]]
    numbers = ["0.000;-0.000;0", "0;-0;0", "0.000E+00;-0.000E+00;0", "General"]
    assert formats == ["General", "General", *numbers]
    fit.to_excel(tmp_path / "fit.xlsx")
    book = openpyxl.load_workbook(tmp_path / "fit.xlsx")
    assert book["loadings"].freeze_panes == "B2"
    assert book["loadings"]["B2"].number_format == "0.000;-0.000;0"


def test_what_is_refused(tmp_path, monkeypatch):
    wide = pd.DataFrame(np.zeros((1, 16_384)), index=["a"])
    with pytest.raises(
        OptionError, match=r"table of w has 2 rows and 16,385 columns .*, but a sheet can contain"
    ):
        write_workbook(tmp_path / "w.xlsx", {"w": wide})
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ExtraError, match=r"to_excel\(\) needs openpyxl, .* pip install 'spcastat\[excel\]'"):
        write_workbook(tmp_path / "w.xlsx", {"w": wide.iloc[:, :3]})
    assert not list(tmp_path.iterdir())
