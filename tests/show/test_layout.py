"""Names in full or short with a key, captions, digits, decimal marks: the same in every format; labels."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spcastat as sp
from spcastat.labels import LONGEST_NAME, name_text, short_name, short_names
from spcastat.show.grid import Document, Figures, Layout, Row, Table, VariableArrangement, fixed
from spcastat.show.renderings import render
from spcastat.show.summary import loadings_table, variance_table

LANGUAGES = [f"household_language_{one}_as_percentage_of_total" for one in ("english", "other", "asian")]


@pytest.fixture
def census(make_loadings, make_variance) -> Document:
    """Three variables with long names of one beginning and end, and a short one; eight components."""
    loadings = make_loadings(4, 8, nonzero=4).set_axis([*LANGUAGES, "income"])
    return Document("Census", tables=(loadings_table(loadings), variance_table(make_variance(8))))


def unescaped(source: str) -> str:
    """Text without what the formats put into names so that they can be broken."""
    source = re.sub(r"\\newline\\hspace\*\{\d+pt\}|\\allowbreak\{\}|<wbr>", "", source)
    return source.replace("\\_", "_")


@pytest.mark.parametrize("kind", ["html", "latex", "markdown"])
def test_names_are_whole_in_what_goes_into_a_paper(census, kind):
    page = unescaped(render(census, kind))
    assert all(name in page for name in LANGUAGES)
    assert "…" not in page
    assert "ldots" not in page


def test_the_key_of_text_says_which_short_name_is_which_variable(census):
    lines = render(census).splitlines()
    assert max(map(len, lines)) <= 80
    start = lines.index("Names in full")
    key = dict(line.split() for line in lines[start + 1 :])
    assert list(key.values()) == LANGUAGES
    assert len(set(key)) == 3
    for short in key:
        assert sum(line.startswith(short) for line in lines[:start]) == 2  # once a panel
        assert len(short) <= 24
    assert not any(line.startswith("household_language_e") for line in lines[:start])


def test_full_names_in_text_go_on_in_further_lines(census):
    lines = render(census, layout=Layout(full_names=True)).splitlines()
    assert max(map(len, lines)) <= 80
    assert "Names in full" not in lines
    first = next(i for i, line in enumerate(lines) if line.startswith("household_language_"))
    second = next(i for i, line in enumerate(lines) if i > first and not line.startswith(" "))
    name = [lines[first].split()[0], *(line.strip() for line in lines[first + 1 : second])]
    assert "".join(name) == LANGUAGES[0]


@pytest.mark.parametrize("kind", ["text", "html", "latex", "markdown"])
def test_short_names_on_request_have_their_key(census, kind):
    page = render(census, kind, layout=Layout(full_names=False))
    assert unescaped(page).count(LANGUAGES[0]) == 1


def test_a_long_name_of_a_component_is_shortened_in_text_alone(make_loadings):
    loadings = make_loadings(3, 8).rename(columns={"PC1": "phenols and flavanoids"})
    document = Document("", tables=(loadings_table(loadings),))
    lines = render(document).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "phenols a...  phenols and flavanoids"
    for kind in ("html", "markdown"):
        assert "phenols and flavanoids" in render(document, kind)
    assert r"\begin{tabular}[b]{@{}r@{}}phenols and\\flavanoids\end{tabular}" in render(document, "latex")


def test_captions_and_labels(census):
    layout = Layout(caption="50 % of all", label="tab:census")
    assert render(census, layout=layout).startswith("50 % of all\n")
    latex = render(census, "latex", layout=layout)
    assert r"\caption{50 \% of all}\label{tab:census}" in latex
    assert latex.count(r"\label") == 1
    html = render(census, "html", layout=layout)
    assert '<div class="spcastat" id="tab:census">' in html
    assert html.count("<caption>50 % of all</caption>") == 1
    assert "\n\n: 50 % of all {#tab:census}\n" in render(census, "markdown", layout=layout)
    for kind in ("text", "html", "latex", "markdown"):
        assert "Census" not in render(census, kind, layout=layout)


def test_digits_are_those_of_loadings_and_others_follow(loadings, make_variance):
    document = Document("", tables=(loadings_table(loadings), variance_table(make_variance(2, 31.4159))))
    plain, two, five = (render(document, layout=Layout(digits=d)).splitlines() for d in (None, 2, 5))
    unsigned = render(document, layout=Layout(digits=np.uint8(2))).splitlines()  # less 3 it is 255
    assert unsigned == two
    assert [line.split()[-1] for line in plain[2:4]] == ["0.800", "-0.600"]
    assert [line.split()[-1] for line in two[2:4]] == ["0.80", "-0.60"]
    assert [line.split()[-1] for line in five[2:4]] == ["0.80000", "-0.60000"]
    row = next(i for i, line in enumerate(plain) if line.startswith("Adjusted variance"))
    assert [lines[row].split()[-1] for lines in (plain, two, five)] == ["62.8", "63", "62.832"]
    assert [lines[row + 1].split()[-1] for lines in (plain, two, five)] == ["20.00", "20.0", "20.0000"]
    assert plain[row - 2].split()[1:] == two[row - 2].split()[1:] == ["2", "1"]  # counts have no decimals
    assert "<.00" not in "".join(five)
    assert "0.00020" in "".join(five)


@pytest.mark.parametrize(
    ("kind", "number", "tiny"),
    [
        ("text", "-0,600", ">-,001"),
        ("html", "<td>-0,600</td>", "<td>&gt;-,001</td>"),
        ("markdown", "-0,600 |", ">-,001 |"),
        ("latex", "$-0{,}600$", "${>}-{,}001$"),
    ],
)
def test_a_decimal_comma(loadings, kind, number, tiny):
    page = render(Document("1.5", tables=(loadings_table(loadings),)), kind, layout=Layout(decimal=","))
    assert number in page
    assert tiny in page
    assert "1.5" in page  # words stay as they are


def test_longtables_past_a_page_and_on_request(make_loadings, make_variance):
    def source(p: int, **options) -> str:
        loadings = make_loadings(p, 3, nonzero=p)
        tables = (loadings_table(loadings, VariableArrangement(sort=False)), variance_table(make_variance(3)))
        return render(Document("Many", tables=tables), "latex", layout=Layout(**options))

    assert source(20).splitlines()[0] == r"% needs \usepackage{booktabs}"
    assert source(20).count(r"\begin{tabular}") == source(20).count(r"\begin{table}") == 1
    # loadings and variances do not fit a page together, each of them does
    assert source(36).count(r"\begin{tabular}") == source(36).count(r"\begin{table}") == 2
    long = source(60)
    assert long.splitlines()[0] == r"% needs \usepackage{booktabs,longtable}"
    assert long.count(r"\begin{longtable}") == long.count(r"\endhead") == 2
    assert r"\begin{table}" not in long
    assert long.count(r"\addtocounter{table}{-1}") == 1  # both are one table
    assert r"\begin{longtable}" in source(5, longtable=True)
    assert r"\begin{longtable}" not in source(60, longtable=False)


def test_without_notes(loadings):
    document = Document("T", (("data", "x"),), (loadings_table(loadings),), ("The end.",))
    assert render(document, layout=Layout(notes=False)).splitlines()[-1].startswith("income")
    for kind in ("html", "latex", "markdown"):
        page = render(document, kind, layout=Layout(notes=False))
        assert not any(word in page for word in ("The end", "data", "blank"))


def test_stars_leave_numbers_aligned():
    rows = (Row("a", (Figures.of((0.5,), 2, stars="***"),)), Row("b", (fixed(-0.25, 2),)))
    document = Document("", tables=(Table("T", ("x",), rows),))
    lines = render(document).splitlines()
    assert lines[2].index(".") == lines[3].index(".")
    assert "0.50<sup>***</sup>" in render(document, "html")
    assert r"0.50\*\*\*" in render(document, "markdown")
    assert "a & 0.50$^{***}$" in render(document, "latex")


def test_notebooks_get_latex_that_needs_no_package_and_markdown():
    fit = sp.spca_cov(sp.datasets.load_pitprops(), 3, 4, method="greedy")
    for shown in (fit, fit.summary(), sp.methods("pmd")):
        latex = shown._repr_latex_()
        assert latex.startswith(r"\providecommand{\toprule}{\hline}")
        assert "longtable" not in latex
        assert "usepackage" not in latex
        assert shown._repr_markdown_().count("|") > 20
        assert shown._repr_html_().startswith('<div class="spcastat">')


# --- Labels: printable, no longer than asked, told apart ------------------------------------------


@given(st.text(), st.integers(3, 30))
def test_a_label_is_printable_and_short(text, limit):
    label = short_name(text, limit)
    assert 0 < len(label) <= limit
    assert label.isprintable()


def test_names_that_begin_alike_keep_their_head_and_what_differs():
    kinds = ["low-income", "Asian", "Black", "Hispanic", "gifted and talented"]
    names = [f"Percentage of {kind} students" for kind in kinds] + ["Pupil-teacher ratio", "Percent"]
    assert short_names(names, 18)[:5] == [
        "Percent…low-income",
        "Percentag…of Asian",
        "Percentag…of Black",
        "Percentag…Hispanic",
        "…gifted and talen…",
    ]
    assert short_names(names, 18)[5:] == ["Pupil-teacher rat…", "Percent"]
    genes = ["expression_of_gene_A_in_tissue", "expression_of_gene_B_in_tissue"]
    assert short_names(genes, 16) == ["expressio…gene_A", "expressio…gene_B"]
    stations = [f"temperature_at_station_{i:03d}" for i in range(1, 4)]
    assert all(label.startswith("temper") for label in short_names(stations, 16))
    items = [f"Q{i}: How satisfied are you with item number {i} of our service?" for i in range(1, 31)]
    assert [label.partition(":")[0] for label in short_names(items, 24)] == [f"Q{i}" for i in range(1, 31)]
    assert short_names(["fits unchanged", "and this"], 14) == ["fits unchanged", "and this"]


@pytest.mark.parametrize("limit", range(7, 18))
def test_names_are_told_apart_by_their_letters(limit):
    """And not by a number, where as many letters as there are in the label distinguish them."""
    parts = ["radius", "texture", "concavity", "concave points", "symmetry", "fractal dimension"]
    names = [f"{kind} {part}" for part in parts for kind in ("mean", "worst")]
    labels = short_names(names, limit)
    assert len(set(labels)) == len(names)
    assert not any("#" in label or "……" in label for label in labels)
    assert max(map(len, labels)) <= limit
    pieces = [[piece.strip() for piece in label.split("…")] for label in labels]
    assert all(piece in name for name, own in zip(names, pieces, strict=True) for piece in own)
    assert short_names(["concentrat… of sodium", "concentrat… of sodium"], 15)[1] == "concentrat… #2"


@pytest.mark.parametrize("limit", range(14, 46))
def test_a_shortened_name_repeats_no_part_of_the_name(limit):
    """Head and difference stand in this order in the name, without a part that belongs to both."""
    kinds = ["nitrate", "phosphate", "sulphate"]
    names = [f"Concentration of {kind} in {place} water" for kind in kinds for place in ("surface", "ground")]
    for name, label in zip(names, short_names(names, limit), strict=True):
        head, _, difference = re.sub(r" #\d+$", "", label).partition("…")
        assert name.startswith(head)
        assert difference.rstrip("…") in name[len(head) :]


@given(st.lists(st.text(min_size=1), unique_by=name_text, min_size=1, max_size=12), st.integers(8, 40))
def test_short_names_of_different_names_differ_and_fit(names, limit):
    labels = short_names(names, limit)
    assert len(set(labels)) == len(names)
    assert max(map(len, labels)) <= limit


def test_names_without_words_of_their_own_are_numbered_by_their_place_in_the_data():
    names = ["expressionofgeneAintissue", "expressionofgeneBintissue"]
    labels = short_names(names, 16, positions=[4, 9])
    assert [label[-3:] for label in labels] == [" #5", "#10"]
    assert max(map(len, labels)) <= 16


@given(
    st.lists(st.text(st.sampled_from("ab _.x"), max_size=40), unique=True, max_size=12), st.integers(8, 30)
)
def test_short_names_are_short_and_tell_names_apart(names, limit):
    texts = [name_text(name) for name in names]
    labels = short_names(names, limit)
    assert all(0 < len(label) <= limit for label in labels)
    if len(set(texts)) == len(texts):
        assert len(set(labels)) == len(labels)


@pytest.mark.slow
def test_names_of_a_hundred_thousand_characters_are_shortened_and_told_apart(tmp_path):
    """In the print, the tables, the equations, the comparison and the page."""
    half = "x" * 50_000
    names = [f"{half}{letter}{half}" for letter in "abcd"]
    X = np.random.default_rng(0).standard_normal((50, 4))
    fit = sp.spca(pd.DataFrame(X, columns=names), 2, card=2, effort="quick")
    fit = fit.rename({"PC1": names[0], "PC2": names[1]})
    fit = fit.with_inference(fit.bootstrap(9), fit.certify(joint=False))
    fit.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    both = sp.compare({names[0]: fit, names[1]: fit})
    texts = [str(fit), str(both), fit.summary().as_html(), str(fit.equations()), page]
    assert all(len(run) <= LONGEST_NAME for text in texts for run in re.findall("x+", text))
    assert max(map(len, texts)) < 1_000_000
    labels = {name_text(name) for name in names}
    assert len(labels) == 4
    assert max(map(len, labels)) == LONGEST_NAME
    assert all(name_text(name) in page for name in fit.loadings.index[fit.loadings.any(axis=1)])
    assert fit.loadings.index.tolist() == names  # frames keep the names
