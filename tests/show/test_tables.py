"""Tables of loadings and variance, also beside dense PCA, and as text."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import spcastat as sp
from spcastat.show import latex
from spcastat.show.grid import (
    Document,
    Layout,
    Row,
    Table,
    VariableArrangement,
    display_width,
    p_value_in_words,
    p_value_text,
)
from spcastat.show.renderings import render, render_text
from spcastat.show.summary import HIDDEN, UPRIGHT_COMPONENTS, loadings_table, variance_table

# --- loadings -------------------------------------------------------------------------------------


def grid(table) -> dict[str, tuple[str, ...]]:
    return {row.label: row.cells for row in table.rows}


def test_contributions(loadings):
    cells = grid(loadings_table(loadings, contributions=True))
    assert cells["height"] == ("64.0", "")
    assert cells["weight"] == ("36.0", "")
    assert cells["income"] == ("<.1", "<.1")


def test_cutoff_hides_but_never_blanks(loadings):
    table = loadings_table(loadings, VariableArrangement(cut=0.7))
    assert grid(table)["weight"] == (HIDDEN, "")
    assert grid(table)["income"] == (HIDDEN, HIDDEN)
    assert '"." stands for 3 nonzero loadings below 0.7 in absolute value.' in table.notes


@given(
    values=arrays(float, (4, 3), elements=st.one_of(st.just(0.0), st.floats(-1, 1))),
    digits=st.integers(1, 6),
    cutoff=st.floats(0, 1),
    contributions=st.booleans(),
)
def test_blank_means_exactly_zero(values, digits, cutoff, contributions):
    table = loadings_table(
        pd.DataFrame(values),
        digits=digits,
        arrangement=VariableArrangement(cut=cutoff),
        contributions=contributions,
    )
    shown = values[(values != 0).any(axis=1)]
    assert len(table.rows) == len(shown)
    for row, line in zip(table.rows, shown, strict=True):
        for cell, value in zip(row.cells, line, strict=True):
            assert (cell == "") == (value == 0)
            assert cell == "" or cell == HIDDEN or cell.strip("-0.")
            if cell not in ("", HIDDEN) and not contributions:
                assert (cell.removeprefix(">")[0] == "-") == (value < 0)


def test_truncation_keeps_every_component(make_loadings):
    loadings = make_loadings(500, 2, nonzero=200)
    loadings["PC2"] *= 1e-3
    table = loadings_table(loadings, VariableArrangement(sort=False, max_rows=10))
    assert len(table.rows) == 10
    first = loadings["PC1"].abs().nlargest(4).index
    second = loadings["PC2"].abs().nlargest(4).index
    assert {*first, *second} <= set(grid(table))
    loaded = int((loadings != 0).any(axis=1).sum())
    assert any(note.startswith(f"10 of {loaded} variables with a loading are shown") for note in table.notes)
    order = [loadings.index.get_loc(row.label) for row in table.rows]
    assert order == sorted(order)


def test_more_than_25_variables_are_sorted_unless_the_call_says_otherwise(make_loadings):
    few, many = make_loadings(25, 2, nonzero=20), make_loadings(60, 3, nonzero=20)
    names = [row.label for row in loadings_table(few).rows]
    assert names == [name for name in few.index if few.loc[name].any()]
    size = many.abs()
    block, largest = size.to_numpy().argmax(axis=1), size.max(axis=1)
    expected = [
        many.index[i]
        for c in range(3)
        for i in np.argsort(-largest.to_numpy(), kind="stable")
        if block[i] == c and largest.iloc[i] > 0
    ]
    assert [row.label for row in loadings_table(many).rows] == expected
    kept = [row.label for row in loadings_table(many, VariableArrangement(sort=False)).rows]
    assert kept == [name for name in many.index if many.loc[name].any()]


def test_groups_stand_together_under_their_names(loadings):
    table = loadings_table(
        loadings, VariableArrangement(groups={"age": "life", "height": "body", "weight": "body"})
    )
    assert [(row.group, row.label) for row in table.rows] == [
        ("body", "height"),
        ("body", "weight"),
        ("life", "age"),
        ("no group", "income"),
    ]


# --- variance -------------------------------------------------------------------------------------


def test_many_components_stand_upright(make_variance):
    wide = variance_table(make_variance(8))
    upright = variance_table(make_variance(UPRIGHT_COMPONENTS), pd.Series(range(UPRIGHT_COMPONENTS)))
    assert [row.label for row in upright.rows] == [f"PC{j + 1}" for j in range(UPRIGHT_COMPONENTS)]
    assert upright.rows[0].cells[0] == "9"
    assert upright.rows[1].cells[2:8] == wide.columns(1, 2).rows[2].cells + tuple(
        row.cells[1] for row in wide.rows[3:]
    )
    assert "least squares (LS)" in upright.notes[0]


# --- Dense PCA beside the loadings, intervals below them, stars behind them -----------------------


@pytest.fixture(scope="module")
def fit():
    plain = sp.spca(sp.datasets.pitprops_sample(), k=3, card=4, method="greedy")
    return plain.with_inference(plain.bootstrap(20, rng=0), plain.test_loadings(39, rng=0))


def lines_of(text: str) -> dict[str, list[str]]:
    """The lines of the first table, by their labels; what follows a label without one belongs to it."""
    rows = text.split("\n\n")[1].splitlines()[2:]
    return {row.split()[0]: row.split()[1:] for row in rows if not row.startswith(" ")}


def test_dense_loadings_are_eigenvectors_with_the_signs_of_the_sparse(fit):
    summary = fit.summary(dense=True, digits=4)
    S = np.cov(sp.datasets.pitprops_sample().to_numpy(), rowvar=False)
    vectors = np.linalg.eigh(S)[1][:, ::-1][:, :3]
    dense = summary.frames["dense"]
    assert list(dense.columns) == ["PCA 1", "PCA 2", "PCA 3"]
    products = (dense.to_numpy() * vectors).sum(axis=0)
    np.testing.assert_allclose(np.abs(products), 1.0, atol=1e-10)  # two eigensolvers, to rounding
    assert ((dense.to_numpy() * fit.loadings.to_numpy()).sum(axis=0) >= 0).all()
    text = str(summary)
    assert max(map(len, text.splitlines())) <= 80
    head = next(line for line in text.splitlines() if line.startswith("Loadings"))
    assert head.split() == ["Loadings", "PC1", "PCA", "1", "PC2", "PCA", "2", "PC3", "PCA", "3"]
    rows = lines_of(text)
    assert set(rows) == set(fit.loadings.index)  # every variable has a dense loading
    for name, row in rows.items():
        loadings = [f"{v:.4f}" for v in fit.loadings.loc[name] if v]
        both = [*loadings, *(f"{v:.4f}" for v in dense.loc[name])]
        assert sorted(row) == sorted(both)


def test_pairs_of_sparse_and_dense_stay_in_one_panel():
    wide = sp.spca_cov(sp.datasets.load_pitprops(), 6, 3, method="greedy")
    heads = [line for line in str(wide.summary(dense=True)).splitlines() if line.startswith("Loadings")]
    for head in heads:
        names = head.replace("PCA ", "PCA").split()[1:]
        assert [name[3:] for name in names[1::2]] == [name[2:] for name in names[::2]]
    assert len(heads) > 1


def test_intervals_stand_below_the_loadings(fit):
    text = str(fit.summary(conf_int=True, level=0.9))
    assert max(map(len, text.splitlines())) <= 80
    frame = fit.inference["bootstrap"].conf_int(0.9)
    for row in frame[frame["estimate"] != 0].itertuples():
        ends = ["0" if bound == 0 else f"{bound:.3f}" for bound in (row.lower, row.upper)]
        assert f"[{', '.join(ends)}]" in text  # as bootstrap() prints a bound that is exactly zero
    words = "In brackets: 90 % bootstrap intervals, variables selected again in each draw (20 draws)."
    assert words in " ".join(text.split())
    assert "Uncertainty" in text  # the shares of draws that select
    assert "lower" not in text.partition("Uncertainty")[2].splitlines()[0]
    meaning = "if fewer than 95 % of the draws give the loading the sign that it has in the fit"
    assert " ".join(text.split()).count(meaning) == 1
    assert text.count("An interval shows how much") == 1


def test_variables_that_are_not_shown_are_counted():
    """With one component a zero loading is a variable that is not in it."""
    one = sp.spca(sp.datasets.pitprops_sample(), k=1, card=4, method="greedy")
    boot = one.bootstrap(20, rng=0)
    frame = boot.table
    left = frame[(frame["estimate"] == 0) & (frame["selected"] < 0.25)]
    assert len(left) > 1
    share = f"{100 * left['selected'].max():.0f} % of the draws"
    words = f"Not shown: {len(left)} other variables, selected in at most {share}"
    assert words in " ".join(boot.notes)


def test_often_selected_zeros_are_printed_and_variances_have_the_same_decimals(fit):
    """The limit of a quarter of the draws is the one that reports have."""
    boot = fit.inference["bootstrap"]
    printed = str(boot.summary())
    frame = boot.table
    zeros = frame[frame["estimate"] == 0]
    often = (zeros["selected"] >= 0.25).sum()
    assert printed.count("\n  ") - printed.count("\n   ") == (frame["estimate"] != 0).sum() + often
    for line in re.findall(r"(?m)^PC\d +\d.*$", printed):
        assert len({len(decimals) for decimals in re.findall(r"\d\.(\d+)", line)}) == 1


@given(st.integers(40, 90), st.text("ab ", max_size=60))
def test_no_line_begins_with_the_unit_of_a_number(width, before):
    sentence = f"{before} a bound of 54.249 %; this fit has 53.560 %: at most 1.286 % above after 10.0 s"
    document = Document(sentence, (("Kept", sentence),), notes=(sentence,))
    lines = render_text(document, Layout(width=width)).splitlines()
    assert not any(re.match(r"%|s\b", line.strip()) for line in lines)
    assert max(map(len, lines)) <= width


@given(st.integers(40, 90), st.text("ab ", max_size=60))
def test_short_lists_of_numbers_are_on_one_line(width, before):
    lines = render_text(Document(f"{before} each in one of them (10, 5, 5, 4)"), Layout(width=width))
    assert "(10, 5, 5, 4)" in lines
    assert max(map(len, lines.splitlines())) <= width


def test_stars_are_those_of_q_values(fit):
    tests = fit.inference["test_loadings"].q_values
    rows = lines_of(str(fit.summary(stars=True)))
    for name, cells in rows.items():
        loaded = fit.loadings.columns[fit.loadings.loc[name] != 0]
        for component, cell in zip(loaded, cells, strict=True):
            q = tests.loc[name, component]
            assert cell.count("*") == (q <= 0.05) + (q <= 0.01) + (q <= 0.001)
    text = " ".join(str(fit.summary(stars=True)).split())
    meaning = "* q <= .05, ** q <= .01, *** q <= .001: false discovery rates (Benjamini and Hochberg)"
    assert f"{meaning} of 39 permutations." in text


# --- text -----------------------------------------------------------------------------------------

WHOLE = """\
A title
data    ten rows
method  block coordinate descent

Loadings                 PC1     PC2
------------------------------------
height                 0.800
weight                -0.600
age                            1.000
income                 <.001  >-.001

Variance                 PC1     PC2
------------------------------------
Nonzeros                   2       1
Variance of scores     4.400   2.200
Adjusted variance      4.000   2.000
Adjusted, % of total   40.00   20.00
Cumulative % of total variance
  adjusted             40.00   60.00
  PEV                  41.00   61.00
  least squares        42.00   62.00
  PCA (dense)          43.00   63.00

A blank is exactly zero.
Zero in all components (1 of 5 variables): shoe size.
The end."""


def both(loadings, variance) -> Document:
    return Document("A title", tables=(loadings_table(loadings), variance_table(variance)))


def test_whole_document(loadings, make_variance):
    document = Document(
        "A title",
        (("data", "ten rows"), ("method", "block coordinate descent")),
        (loadings_table(loadings), variance_table(make_variance(2))),
        ("The end.",),
    )
    assert render(document) == WHOLE


@pytest.mark.parametrize("k", range(1, 7))
@pytest.mark.parametrize("unit", [1.0, 1e-12, 31415.9])
def test_no_line_is_wider_than_asked(k, unit, make_loadings, make_variance):
    loadings = -make_loadings(9, k).abs()
    loadings.index = [f"a very long name of a variable, number {i}" for i in range(9)]
    document = Document(
        "title " * 30,
        (("data", "word " * 40), ("a label that is long", "w" * 200)),
        (loadings_table(loadings), variance_table(make_variance(k, unit))),
        ("note " * 40,),
    )
    for width in (40, 80):
        assert max(map(len, render(document, layout=Layout(width)).splitlines())) <= width


def test_eight_components_come_in_panels_that_line_up(make_loadings, make_variance):
    loadings = make_loadings(9, 8).rename("{}_23456789012345678901234".format)
    lines = render(both(loadings, make_variance(8))).splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line for line in lines if line.startswith(("Loadings", "Variance  "))]
    assert [head.split()[0] for head in heads] == ["Loadings", "Variance"] * 2
    for upper, lower in zip(heads[::2], heads[1::2], strict=True):
        assert upper[9:] == lower[9:]
    assert " ".join(head[9:] for head in heads[::2]).split() == [f"PC{j + 1}" for j in range(8)]


def test_twenty_components_have_short_panels_and_one_table_of_variance(make_loadings, make_variance):
    loadings = make_loadings(200, 20)
    lines = render(both(loadings, make_variance(20))).splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line for line in lines if line.startswith(("Loadings", "Variance  "))]
    assert [head.split()[0] for head in heads] == ["Loadings"] * 3 + ["Variance"]
    assert sum(line.startswith("PC20 ") for line in lines) == 1
    # no row of a panel is blank: every variable stands only where it has a loading
    names = {*loadings.index}
    assert not [line for line in lines if line.strip() in names]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_names_are_kept_where_the_console_has_them(encoding, make_variance):
    loadings = pd.DataFrame({"PC1": [0.6, 0.6, 0.5]}, index=["Größe", "β", "身長"])
    printed = render_text(both(loadings, make_variance(1)), Layout(), encoding)
    printed.encode(encoding)
    assert ("Größe" in printed) == (encoding != "ascii")
    assert ("β" in printed) == (encoding == "utf-8")
    rows = printed.splitlines()[4:7]
    assert len({display_width(row) for row in rows}) == 1


def test_rules_alignment_and_long_titles():
    rows = (Row("a", ("x", "1")), Row("b", ("yy", "22"), rule=True))
    table = Table("A title longer than the labels", ("left", "right"), rows, align="lr")
    assert render(Document("", tables=(table,))).splitlines() == [
        "A title longer than the labels",
        "   left  right",
        "--------------",
        "a  x         1",
        "--------------",
        "b  yy       22",
    ]


def test_the_smallest_p_value_of_the_draws_is_a_bound_in_every_format():
    cell = p_value_text(0.005, True)
    assert (cell, p_value_text(0.005, False), p_value_text(1.0, True)) == ("<=.005", "0.005", "1.000")
    assert cell.with_decimals(1, ",") == "<=,0050"
    assert latex.number(cell) == r"${\leq}.005$"
    assert p_value_in_words(0.005, True) == "p <= .005"
    assert p_value_in_words(0.01, False) == "p = 0.010"
