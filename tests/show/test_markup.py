from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.show import latex, markdown
from spcastat.show.grid import Document, Row, Table
from spcastat.show.renderings import render
from spcastat.show.summary import loadings_table, variance_table
from tests.show.hostile_markup import Page

NASTY = [
    "<script>x</script>",
    "100% & $5 #1_a",
    r"a\b{c}~d^e",
    "[bracket]",
    "*star",
    'a--b---c `q\' "p" x|y',
    "µm² ≤ 5 °C – β₂ −1",
    "Größe é ñ å ø ç ß",
    "a" * 50,
]


@pytest.fixture
def nasty(make_variance) -> Document:
    k = 3
    loadings = pd.DataFrame(np.full((len(NASTY), k), -0.2), index=NASTY, columns=["PC_1", "P&C", "<b>"])
    loadings.iloc[0, 0] = 1e-9
    variance = make_variance(k, 1e9).set_axis(loadings.columns)
    facts = (("da_ta", "50% of <all> & more"),)
    return Document(
        "A & B_1", facts, (loadings_table(loadings), variance_table(variance)), ("A note: 5 % #.",)
    )


def test_html_is_balanced_escaped_and_self_contained(nasty):
    parser = Page(render(nasty, "html"))
    assert not {"script", "b", "link", "img"} & set(parser.tags)
    assert "<script>x</script>" in parser.text
    assert not {"src", "href"} & {name for _, name, _ in parser.attributes}
    assert "spcastat" in parser.values("div", "class")
    assert parser.tags.count("table") == 1


def test_markdown_exactly(loadings):
    document = Document("t", (("data", "a_b"),), (loadings_table(loadings.iloc[:3]),))
    assert render(document, "markdown") == (
        "**t**\n\n- data: a_b\n\n"
        "| Loadings                                                 |      PC1 |      PC2 |\n"
        "| :------------------------------------------------------- | -------: | -------: |\n"
        "| height                                                   |    0.800 |          |\n"
        "| weight                                                   |   -0.600 |          |\n"
        "| age                                                      |          |    1.000 |\n\n"
        "A blank is exactly zero.\n"
    )


def _points_in_a_wide_face(text: str) -> float:
    """Return the width in DejaVu Serif of 12 points, which stands in where other faces lack."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    face = FontProperties(family="DejaVu Serif", size=12)
    return TextToPath().get_text_width_height_descent(text, face, ismath=False)[0]


@pytest.mark.parametrize(
    ("heading", "cell"),
    [
        *(("value", "7.28162"), ("PC2", "-0.364"), ("upper", "0.515"), ("PCA 2", "0.287")),
        *(("gap, %", "2.122"), ("optimal", "yes"), ("PC1", "[-0.495, 0.508]"), ("selected", "1.000")),
        *(("x", "1.234567e-05"), ("PC1", "-12345.678"), ("p", "0.1"), ("lower", "100.00")),
    ],
)
@pytest.mark.parametrize("columns", [1, 3])
def test_numbers_of_markdown_have_room_on_a_page_of_word(heading, cell, columns):
    """Pandoc gives a column its share of 6.5 inches; cells of Word leave 0.08 inches free at both sides."""
    rows = tuple(Row(name, (cell,) * columns) for name in ("a", "a name that is longer than most of them"))
    names = tuple(heading + " " * i for i in range(columns))
    text = render(Document("", (), (Table("", names, rows),)), "markdown")
    for line in text.splitlines():
        if set(line) <= set("|:- ") and "-" in line:
            dashes = [len(part.strip()) for part in line.strip("|").split("|")]
            assert len(line) > 72  # else pandoc takes no widths at all
            for share in dashes[1:]:
                room = 468 * share / sum(dashes) - 2 * 72 * 0.08
                assert room >= _points_in_a_wide_face(cell)
                assert room >= _points_in_a_wide_face(heading)


@pytest.mark.parametrize(
    ("raw", "escaped"),
    [
        ("a|b", r"a\|b"),
        ("a_b", "a_b"),
        ("_a_", r"\_a\_"),
        ("*x*", r"\*x\*"),
        ("<script>", r"\<script>"),
        ("<.001", "<.001"),
        ("two\nlines", "two lines"),
        ("# head", r"\# head"),
        ("&amp;", r"\&amp;"),
    ],
)
def test_markdown_escapes(raw, escaped):
    assert markdown.escape(raw) == escaped


@pytest.mark.parametrize(
    ("raw", "escaped"),
    [
        ("a_b & 5% #1 $", r"a\_b \& 5\% \#1 \$"),
        (r"\x{y}", r"\textbackslash{}x\{y\}"),
        ("~^", r"\textasciitilde{}\textasciicircum{}"),
        ("−1", "$-$1"),
        ("a--b", "a-{}-b"),
        ("a–b", "a--b"),
        ("[1] *", "{[}1{]} {*}"),
        ("β₂", r"$\beta$$_{2}$"),
        ("a<b", "a$<$b"),
    ],
)
def test_latex_escapes(raw, escaped):
    assert latex.escape(raw) == escaped


def test_latex_exactly(loadings):
    assert render(Document("T", (("data", "x"),), (loadings_table(loadings),)), "latex").splitlines() == [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}[htbp]",
        r"\centering",
        r"\setlength{\tabcolsep}{4pt}",
        r"\caption{T}",
        r"\smallskip",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"Loadings & PC1 & PC2 \\",
        r"\midrule",
        r"height & 0.800 &  \\",
        r"weight & $-0.600$ &  \\",
        r"age &  & 1.000 \\",
        r"income & ${<}.001$ & ${>}-.001$ \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\medskip",
        r"\begin{minipage}{\linewidth}\footnotesize\raggedright",
        r"\textit{data:} x \par",
        r"A blank is exactly zero. \par",
        "Zero in all components (1 of 5 variables): shoe size.",
        r"\end{minipage}",
        r"\end{table}",
    ]


def test_latex_splits_many_components(make_loadings, make_variance):
    document = Document("T", tables=(loadings_table(make_loadings(9, 20)), variance_table(make_variance(20))))
    source = render(document, "latex")
    assert source.count(r"\begin{table}") == source.count(r"\end{tabular}") == 4
    assert source.count("(continued)") == 3
    assert source.count("PC20 &") == 1  # a row of the table of variance


#: What stands in for booktabs where TeX comes without it: its three rules.
STAND_IN = r"""\ProvidesPackage{booktabs}
\let\toprule\hline \let\midrule\hline \let\bottomrule\hline
"""


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path: Path, nasty, make_loadings, make_variance):
    found = subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True, check=False)
    if found.returncode:
        (tmp_path / "booktabs.sty").write_text(STAND_IN)
    wide = Document("T", tables=(loadings_table(make_loadings(9, 20)), variance_table(make_variance(20))))
    six = Document("6", tables=(loadings_table(-make_loadings(9, 6).abs()), variance_table(make_variance(6))))
    body = (
        render(six, "latex")
        + render(nasty, "latex")
        + render(wide, "latex")
        + render(Document("Empty"), "latex")
    )
    head = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
    source = head + body + "\\end{document}\n"
    (tmp_path / "page.tex").write_text(source, encoding="utf-8")
    run = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    log = (tmp_path / "page.log").read_text(encoding="latin-1")
    assert run.returncode == 0, log[-3000:]
    assert render(six, "latex").count(r"\begin{table}") == 1
    assert "Overfull" not in log
    assert "Missing character" not in log


def test_latex_captions_name_the_part_and_long_names_in_groups_are_indented():
    kinds = ("low-income", "Asian", "Black", "other")
    names = [f"Percentage of {kind} students in all schools" for kind in kinds]
    rows = np.random.default_rng(0).normal(size=(30, 4)) + np.random.default_rng(1).normal(size=(30, 1))
    fit = sp.spca(pd.DataFrame(rows, columns=names), 2, 3, effort="quick")
    fit = fit.with_inference(fit.bootstrap(39))
    source = fit.summary().as_latex(caption="Schools", longtable=True)
    captions = [line for line in source.splitlines() if line.startswith("\\caption{")]
    assert captions[:2] == ["\\caption{Schools} \\\\", "\\caption{Schools (continued: Variance)} \\\\"]
    indented = re.findall(r"^\\quad Percentage[^&]*\\newline\\hspace\*\{(\d+)pt\}", source, re.MULTILINE)
    assert indented
    assert set(indented) == {"17"}  # 10 points of \\quad and 7 more
