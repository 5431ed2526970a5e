"""Files for Word, read back: real tables with repeated headings, captions, figures of 300 dpi with words."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import ExtraError

docx = pytest.importorskip("docx")
from docx.oxml.ns import qn  # noqa: E402

LONG = "household_language_english_as_percentage_of_total"


@pytest.fixture(scope="module")
def fit():
    data = sp.datasets.pitprops_sample().rename(columns={"length": LONG, "knots": "<a & b>"})
    return sp.spca(data, k=3, card=4, method="greedy")


@pytest.fixture(scope="module")
def report(fit, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("word") / "report.DOCX"
    fit.report(path, title="Pit props <&> \x07")
    return path


def grid(table) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in table.rows]


def test_tables_are_those_of_the_summary(fit, tmp_path):
    fit.summary().to_docx(tmp_path / "t.docx", caption="Three components", label="tab:pit-props")
    word = docx.Document(str(tmp_path / "t.docx"))
    loadings, variance = map(grid, word.tables)
    assert loadings[0] == ["Loadings", "PC1", "PC2", "PC3"]
    labels = [line[0] for line in loadings[1:]]
    assert {LONG, "<a & b>"} <= set(labels)
    for line in loadings[1:]:
        values = fit.loadings.loc[line[0]]
        assert line[1:] == [f"{v:.3f}".replace("-", "−") if v else "" for v in values]
    assert variance[1] == ["Nonzeros", "4", "4", "4"]
    assert ["Cumulative % of total variance"] * 4 in map(list, variance)  # one merged cell
    texts = [paragraph.text for paragraph in word.paragraphs]
    assert texts[0] == "Table 1. Three components"
    assert not any(text.startswith("Method: greedy") for text in texts)  # a table for a paper
    assert "A blank is exactly zero." in texts
    (mark,) = word.element.iter(qn("w:bookmarkStart"))
    assert mark.get(qn("w:name")) == "tab_pit_props"


def test_headings_stand_on_every_page_and_rows_stay_whole(report):
    tables = list(docx.Document(str(report)).element.iter(qn("w:tbl")))
    assert len(tables) >= 4
    for table in tables:
        first, *others = table.iter(qn("w:trPr"))
        assert len(others) == len(list(table.iter(qn("w:tr")))) - 1
        assert first.find(qn("w:tblHeader")) is not None
        assert all(row.find(qn("w:cantSplit")) is not None for row in (first, *others))
        assert not any(row.find(qn("w:tblHeader")) is not None for row in others)


def test_parts_of_properties_are_in_the_order_of_the_schema(report):
    """Word refuses files with children of tblPr in another order than that of ECMA-376, 17.4.60."""
    order = ["tblStyle", "tblW", "jc", "tblInd", "tblBorders", "tblLayout"]
    order += ["tblCellMar", "tblLook", "tblCaption"]
    for properties in docx.Document(str(report)).element.iter(qn("w:tblPr")):
        names = [child.tag.partition("}")[2] for child in properties]
        assert names == [name for name in order if name in names]


def test_figures_have_300_dpi_words_and_captions(report):
    from PIL import Image

    word = docx.Document(str(report))
    assert len(word.inline_shapes) == 5  # loadings, scree, biplot, scores, diagnostics
    frames = list(word.element.iter(qn("wp:inline")))
    for shape, frame in zip(word.inline_shapes, frames, strict=True):
        assert len(frame.docPr.get("descr")) > 30
        part = word.part.related_parts[frame.graphic.graphicData.pic.blipFill.blip.embed]
        picture = Image.open(io.BytesIO(part.blob))
        assert picture.width / (shape.width / 914400) >= 299  # English metric units an inch
    captions = [one.text for one in word.paragraphs if one.style.name == "Caption"]
    numbers = [text.partition(".")[0] for text in captions]
    assert [one for one in numbers if one.startswith("Figure")] == [f"Figure {i}" for i in range(1, 6)]
    assert next(one for one in numbers if one.startswith("Table")) == "Table 1"


def test_the_report_holds_what_the_page_holds(fit, report, tmp_path):
    fit.report(tmp_path / "page.html", title="Pit props <&> \x07")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    word = docx.Document(str(report))
    headings = [one.text for one in word.paragraphs if one.style.name == "Heading 1"]
    assert headings[0] == "Summary"
    assert all(f">{heading}</h2>" in page for heading in headings)
    assert word.paragraphs[0].text == "Pit props <&> \\x07"
    assert any("fit = sp." in one.text for one in word.paragraphs)


def test_short_names_on_request(tmp_path):
    matrix = sp.datasets.load_pitprops().rename(index={"length": LONG}, columns={"length": LONG})
    fit = sp.spca_cov(matrix, k=1, card=4, method="greedy")
    fit.report(tmp_path / "r.docx", full_names=False)
    word = docx.Document(str(tmp_path / "r.docx"))
    labels = [row.cells[0].text for row in word.tables[0].rows]
    (short,) = (label for label in labels if label.startswith("household"))
    assert len(short) == 24
    assert f"{short}: {LONG}" in [one.text for one in word.paragraphs]
    fit.report(tmp_path / "r.html", full_names=False)
    assert f"<dt>{short}</dt><dd>{LONG}</dd>" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_wide_tables_are_split(make_wide, tmp_path):
    make_wide.summary().to_docx(tmp_path / "w.docx")
    word = docx.Document(str(tmp_path / "w.docx"))
    heads = [[cell.text for cell in table.rows[0].cells] for table in word.tables]
    names = [name for head in heads if head[0] == "Loadings" for name in head[1:]]
    assert names == [f"PC{j}" for j in range(1, 13)]
    assert sum(head[0] == "Loadings" for head in heads) > 1


@pytest.fixture
def make_wide():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(60, 20)), columns=[f"variable number {j}" for j in range(20)])
    return sp.spca(data, k=12, card=3, method="threshold")


def test_without_python_docx_the_extra_is_named(fit, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "docx", None)
    message = r"needs python-docx, which is not installed: pip install 'spcastat\[docx\]'"
    with pytest.raises(ExtraError, match=message):
        fit.report(tmp_path / "x.docx")
    with pytest.raises(ImportError, match=message):
        fit.summary().to_docx(tmp_path / "x.docx")
    assert not list(tmp_path.iterdir())
    fit.report(tmp_path / "x.html")  # a page needs nothing
