"""Prints have at most 25 lines of 80 characters for every result, show true numbers, and count the rest."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.show.name_lists import Item, List, items, side_by_side, words_in_lines
from spcastat.show.renderings import LINES, WIDTH, Excerpt, Screen

#: Numbers of variables and of components, up to those that no screen can list.
SIZES = [(5, 1), (5, 4), (13, 3), (13, 8), (30, 4), (30, 9), (100, 6), (100, 12), (2000, 2), (2000, 12)]


@cache
def rows(p: int, long: bool = False) -> pd.DataFrame:
    """Forty rows of p variables with five common factors; names are short, or as long as a question."""
    rng = np.random.default_rng(p)
    factors = rng.normal(size=(40, 5)) @ rng.normal(size=(5, p))
    name = "How often did you feel that you had no time for question {}?" if long else "x{}"
    return pd.DataFrame(factors + rng.normal(size=(40, p)), columns=[name.format(j) for j in range(p)])


@cache
def fit_of(p: int, k: int, long: bool = False, method: str = "greedy") -> sp.SpcaResult:
    options = {} if method == "pca" else {"card": min(p, 8)}
    return sp.spca(rows(p, long), k, scale=True, method=method, **options)


def is_one_screen(text: str) -> bool:
    lines = text.splitlines()
    return len(lines) <= LINES and max(map(len, lines)) <= WIDTH


@pytest.mark.sweep
@pytest.mark.parametrize(("p", "k"), SIZES)
@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("method", ["greedy", "pca"])
def test_a_fit_is_one_screen(p, k, long, method):
    fit = fit_of(p, k, long, method)
    text = str(fit)
    assert is_one_screen(text), text
    assert f"{p:,} variables" in " ".join(text.split())
    assert all(f"{component} " in text or f" {component}\n" in text for component in fit.components)
    assert "fit.summary()" in text


def test_remarks_on_rows_are_printed_whole():
    """Wines are in groups: r and the advice are printed, and "Warning" is not."""
    fit = sp.spca(sp.datasets.load_wine(), 2, 3, scale=True, method="greedy")
    for result in (fit.bootstrap(40, rng=0), fit.stability(5, rng=0), fit.test_loadings(39, rng=0)):
        text = " ".join(str(result).split())
        assert "sorted or grouped (scores of successive rows: r = 0.80), which matters only if" in text
        assert "Warning" not in text


def test_a_print_without_room_for_all_loadings_says_what_was_fitted_and_how():
    for p, k in ((100, 12), (2000, 12)):
        text = " ".join(str(fit_of(p, k)).split())
        assert re.search(r"and \d+ more", text)
        for words in ("40 rows", "scaled to unit variance", "adjusted", "PCA", 'Method "greedy": '):
            assert words in text, words


@pytest.mark.sweep
@pytest.mark.parametrize(("p", "k"), SIZES)
def test_loadings_in_a_print_are_those_of_the_fit_and_the_others_are_counted(p, k):
    """Lists name a loading as "0.123 x7"; of each component, those and "and 5 more" are all its loadings."""
    fit = fit_of(p, k)
    text = str(fit)
    listed = re.findall(r"(-?[01]\.\d{3}|<\.001|>-\.001) (x\d+)", text)
    values = {name: set() for name in fit.loadings.index}
    for number, name in listed:
        values[name].add(number)
    for name, numbers in values.items():
        true = {f"{value:.3f}" for value in fit.loadings.loc[name] if abs(value) >= 0.0005}
        assert {number for number in numbers if number[0] not in "<>"} <= true
    if listed:
        hidden = sum(int(count) for count in re.findall(r"and (\d+) more(?! comp)", text))
        assert len(listed) + hidden == int(fit.card.sum())
    else:  # a matrix has a row for each variable with a loading, and a blank for each zero
        for name, row in fit.loadings[fit.loadings.any(axis=1)].iterrows():
            (line,) = re.findall(rf"(?m)^{name} .*$", text)
            assert len(line.split()) == 1 + np.count_nonzero(row)


def test_fewer_words_are_printed_if_all_loadings_then_have_room():
    R = sp.datasets.load_harman74()
    text = str(sp.spca_cov(R, 4, disjoint=True, n_obs=145))
    assert is_one_screen(text)
    assert "more" not in text
    assert all(len(re.findall(rf"\d {name}\b", text)) == 1 for name in R.index)
    assert "Largest PEV found (9 of 10 starts; not all partitions). Every" in said(text)
    assert "variable is in one component." in said(text)
    assert "Together: adjusted 39.60 %, PEV 52.53 %, PCA (dense) 55.94 % of total variance;" in said(text)
    assert "correlation matrix of 24 variables, from 145 rows" in text
    many = str(fit_of(100, 2))
    assert "more components" not in many
    wide = fit_of(2000, 2, method="pca")
    assert "40 rows" in str(wide)  # a shorter title would not make room for 2000


def said(text: str) -> str:
    """Return a text in one line."""
    return " ".join(text.split())


def test_rows_of_variances_give_way_before_loadings_and_a_sentence_has_their_last_numbers():
    """Five lists of seven loadings have two bands, and the rows below them no room."""
    fit = sp.spca(rows(24).add_prefix("variable"), 5, 7, scale=True, method="greedy")
    text = str(fit)
    assert is_one_screen(text), text
    assert "more" not in text
    last = fit.variance.iloc[-1]
    for label, name in (("adjusted", "adjusted"), ("PEV", "PEV"), ("PCA (dense)", "PCA")):
        assert f"{label} {100 * last[f'cumulative {name}']:.2f} %" in said(text)


def test_lists_of_loadings_are_printed_where_a_matrix_has_no_room():
    """18 variables in three components have 19 lines as a matrix, and four rows below it no room."""
    text = str(fit_of(18, 3))
    assert is_one_screen(text), text
    assert "more" not in text
    loaded = fit_of(18, 3).loadings.any(axis=1)
    assert len(printed_names(text, list(loaded.index[loaded]))) == int(loaded.sum())
    dense = str(fit_of(18, 3, method="pca"))
    assert "more" not in dense
    assert all(re.search(rf"(?m)^x{j} ", dense) for j in range(18))


@pytest.mark.parametrize(("p", "k"), [(5, 4), (13, 3), (30, 4)])
def test_correlations_of_scores_are_not_under_the_heading_of_shares(p, k):
    """Below a matrix and below lists, shares are indented under their heading, and correlations are not."""
    text = str(fit_of(p, k))
    assert re.search(r"(?m)^Cumulative % of total variance", text)
    assert re.search(r"(?m)^  PEV  ", text)
    assert re.search(r"(?m)^Largest score \|r\|  ", text)


def test_names_are_as_long_as_all_lines_have_room_for():
    """Names are cut in one way, and no more than the words that are shown with the shortest names need."""
    names = tuple(f"{letter * 12}_{letter * 12}" for letter in "abcdef")
    row = Item("PC1", (), names, (("0.5 ", ""),) * 6)
    _, line = items("", ("words",), [row], 2, "components", 17).lines
    assert line == f"PC1  0.5 {names[0]}, 0.5 {names[1]}, and 4 more"
    _, *lines = items("", ("words",), [row], 7, "components", 17).lines
    assert " ".join(text.strip() for text in lines) == "PC1  " + ", ".join(f"0.5 {name}" for name in names)
    assert words_in_lines([f"0.5 {name}" for name in names], 10, 3) == Excerpt(["6 variables"], 6)


def test_one_component_has_each_number_once():
    """Its adjusted variance and PEV are equal, and a cumulative share of one component says nothing more."""
    text = str(fit_of(13, 1))
    assert "Cumulative" not in text
    assert "PEV" not in text
    share = f"{100 * fit_of(13, 1).variance['share of total'].iloc[0]:.2f}"
    assert text.count(share) == 1
    fit = sp.spca(rows(13), 1, 5, scale=True)
    described = fit.describe().text
    assert "all components" not in described
    assert described.count(f"{100 * fit.variance['share of total'].iloc[0]:.1f} %") == 1


def test_the_matrix_is_sorted_by_component():
    """As R's print(loadings, sort = TRUE): by the component with the largest loading, then by its size."""
    fit = fit_of(13, 3)
    names = re.findall(r"(?m)^(x\d+) ", str(fit))
    V = fit.loadings.abs().loc[names].to_numpy()
    order = np.lexsort((-V.max(axis=1), V.argmax(axis=1)))
    assert order.tolist() == list(range(len(names)))


@pytest.mark.parametrize("long", [False, True])
def test_a_bootstrap_of_imputations_is_one_screen(long):
    """Its lines have two more columns, fmi and imputations."""
    table, rng = rows(12, long), np.random.default_rng(1)
    gaps = rng.random(table.shape) < 0.1
    imputations = [table.mask(gaps, rng.normal(size=table.shape)) for _ in range(2)]
    fit = sp.spca(imputations=imputations, k=3, card=5, scale=True, method="greedy")
    text = str(fit.bootstrap(40))
    assert "imputations" in text
    assert is_one_screen(text), text


def printed_names(text: str, names: list[str]) -> list[str]:
    return [name for name in names if re.search(rf"\b{name}\b", text)]


def test_a_bootstrap_prints_every_interval_that_has_room():
    """24 intervals are too many for a line each, and few enough for two components side by side."""
    R = sp.datasets.load_harman74()
    boot = sp.spca_cov(R, 4, disjoint=True, n_obs=145).bootstrap(40, rng=0)
    text = str(boot)
    assert is_one_screen(text), text
    assert "more" not in text
    for row in boot.table.itertuples(index=False):
        if row.estimate:  # names may be short; no two of these loadings are equal to three decimals
            ends = ("0" if end == 0 else f"{end:.3f}" for end in (row.lower, row.upper))
            assert f"{row.estimate:.3f} [{', '.join(ends)}]" in text


def test_a_table_has_the_order_of_the_print_of_the_fit():
    """The largest loading of each component is first, as the fit has it."""
    fit = sp.spca(sp.datasets.load_wine(), 2, 5, scale=True, effort="quick")
    expected = [
        name for v in fit.loadings.to_numpy().T for name in fit.loadings.index[np.argsort(-abs(v))[:5]]
    ]
    boot = str(fit.bootstrap(40, rng=0))
    lines = [line for line in boot.splitlines() if re.match(r"(PC\d)? +-?0\.\d{3} ", line)]
    assert [line.split()[-1] for line in lines] == expected


def test_a_variable_has_one_short_name_in_a_table():
    """In lists, rows and headings of a table; all names that are cut have their heads, or heads and ends."""
    names = [f"{fruit} that grew in {place}" for place in ("Paris", "Rome") for fruit in ("apples", "pears")]
    around = (("", " 0.5"),) * 4
    rows_of_items = [Item("PC1", (), tuple(names), around), Item("PC2", (), tuple(names[:2]), around[:2])]
    _, *texts = items("", ("words",), rows_of_items, 3, "components", 14).lines
    printed = {word for text in texts for word in re.split(r" 0\.5(?:, |$)", text[5:]) if "..." in word}
    assert len(printed) == 3  # the fourth has no room
    lists = [List(f"PC{c}", ("0.5",) * 4, tuple(names)) for c in range(3)]
    found = re.findall(r"0\.5 (\S.*?)(?=  |$)", "\n".join(side_by_side(lists, 5, (14,)).lines), re.MULTILINE)
    assert len(set(found)) == 4
    assert all("..." in name[1:-3] for name in found)
    long_names = [*(f"fit with {count} variables" for count in ("four", "six")), "dense principal components"]
    fits = [sp.spca(rows(13), 2, card, scale=True, method="greedy") for card in (4, 6, 13)]
    printed = str(sp.compare(dict(zip(long_names, fits, strict=True))))
    (heading,) = re.findall(r"(?m)^Fit  +(.*)$", printed)
    cut = [name for name in re.split(r"  +", heading) if "..." in name]
    assert len({name.endswith("...") for name in cut}) <= 1


def test_a_dense_bootstrap_is_a_matrix_with_intervals():
    """Three components of 13 variables: lists have no room, and 13 lines of three intervals have."""
    text = str(fit_of(13, 3, method="pca").bootstrap(40, rng=0))
    assert is_one_screen(text), text
    for name in rows(13).columns:
        (line,) = re.findall(rf"(?m)^{name} .*$", text)
        assert line.count("[") == 3


def test_a_print_without_room_for_all_intervals_has_the_largest_and_says_where_all_are():
    boot = fit_of(30, 9).bootstrap(40, rng=0)
    text = str(boot)
    assert "All intervals: boot.table." in text
    V = fit_of(30, 9).loadings
    for component in V:
        assert printed_names(text, [V[component].abs().idxmax()])


def test_stability_leaves_out_the_variables_that_are_selected_least():
    """Where not all have room, those selected most often are first, whether or not the fit has them."""
    stability = fit_of(100, 8).stability(10, rng=0)
    text = str(stability)
    assert is_one_screen(text), text
    for name, frequencies in stability.frequency.items():
        (line,) = (line for line in text.splitlines() if line.startswith(str(name)))
        shares = [float(share) for share in re.findall(r"x\d+ (\d\.\d\d)", line)]
        assert shares == pytest.approx(sorted(frequencies, reverse=True)[: len(shares)], abs=0.0051)
    crowded = str(fit_of(100, 12, long=True).stability(3, rng=0))
    assert "All frequencies: stability.frequency." in crowded


def test_small_shares_have_two_significant_digits():
    """A component of .05 % of the variance is not 0.1 %, and a variance of .4 beside 150 is not one digit."""
    u, w = np.random.default_rng(0).normal(size=(2, 200))
    table = pd.DataFrame({"a": 100 * u, "b": 100 * u, "c": 0.9 * w, "d": 0.9 * w})
    fit = sp.spca(table, 2, 2, scale=False, method="greedy")
    share = fit.variance["share of total"].iloc[1]
    assert share < 1e-4
    summary = str(fit.summary())
    for label in ("Adjusted, % of total", "Adjusted variance"):
        (line,) = re.findall(rf"(?m)^{label}(.*)$", summary)
        assert len(line.split()[1].lstrip("0.")) >= 2
    (cumulative,) = re.findall(r"(?m)^  adjusted +(.*)$", str(fit))
    first, second = map(float, cumulative.split())
    # each of the two is rounded at the third significant digit of the difference or later
    assert second - first == pytest.approx(100 * share, rel=0.1)


def test_a_screen_never_has_more_lines_than_it_may():
    sentences = tuple(
        f"Sentence {number} is as long as a sentence may be that says much." for number in range(6)
    )
    body = [f"line {number}" for number in range(100)]
    many = Screen("Title", lambda room: Excerpt(body[:room]), sentences, tuple("abcdefgh"), "More: x.notes.")
    assert is_one_screen(many.text())
    assert "Warning: 5 more in the notes." in many.text()
    assert Screen("Title", lambda room: Excerpt([])).text() == "Title"


def test_names_of_variables_do_not_change_the_layout():
    """Variables called "and 3 more", "..." or "and 2 more components" hide nothing."""
    table = rows(12)
    odd = ["and 3 more", "...", "and 2 more components", "and 5 more"]
    renamed = table.set_axis([*odd, *table.columns[4:]], axis=1)
    usual = [f"{j}{'x' * (len(name) - 1)}" for j, name in enumerate(odd)]
    plain = table.set_axis([*usual, *table.columns[4:]], axis=1)
    prints = [sp.spca(data, 3, 4, scale=True, method="greedy") for data in (renamed, plain)]
    for make in (lambda fit: fit, lambda fit: fit.bootstrap(40, rng=0), lambda fit: fit.stability(5, rng=0)):
        odd_text, plain_text = (str(make(fit)) for fit in prints)
        assert len(odd_text.splitlines()) == len(plain_text.splitlines())


def test_lists_items_and_words_use_the_room_that_there_is():
    lists = [List(f"PC{c}", ("0.500",) * n, tuple(f"x{j}" for j in range(n))) for c, n in ((1, 9), (2, 4))]
    assert len(side_by_side(lists, 10).lines) == 10
    cut = side_by_side(lists, 6)
    assert len(cut.lines) == 6
    assert cut.lines[-1] == "      and 5 more"
    assert cut.left_out == 5
    assert side_by_side(lists, 3).lines == []
    words = tuple(f"word{j}" for j in range(30))
    rows_of_items = [Item(f"PC{c}", ("1.0",), words, (("", ""),) * 30) for c in range(40)]
    text = items("", ("share", "words"), rows_of_items, 12, "components", 17)
    assert len(text.lines) == 12
    assert text.lines[-1] == "and 30 more components"
    assert text.components_left_out == 30
    assert words_in_lines(["aa", "bb", "cc"], 40, 1) == Excerpt(["aa, bb, cc"])
    assert words_in_lines(["a" * 9] * 9, 30, 1) == Excerpt(["aaaaaaaaa, and 8 more"], 8)


def test_lists_have_several_columns_before_numbers_are_hidden():
    """Nine and four numbers have room in five lines if the list of nine has two columns."""
    lists = [List(f"PC{c}", ("0.500",) * n, tuple(f"x{j}" for j in range(n))) for c, n in ((1, 9), (2, 4))]
    text = side_by_side(lists, 6, most_columns=2)
    assert text.is_complete
    assert len(text.lines) == 6
    assert text.lines[1].split() == ["0.500", "x0", "0.500", "x5", "0.500", "x0"]


def test_totals_stand_below_rows_that_are_cut():
    """Twenty components have no room; what all of them explain is in the print."""
    fit = fit_of(100, 20)
    text = said(str(fit))
    assert "more components" in text
    share = fit.variance["cumulative adjusted"].iloc[-1]
    assert f"Together: adjusted {100 * share:.2f} %" in text


def test_counts_of_thousands_have_commas():
    """In prints, summaries and messages of 2,000 variables; calls and values that were given have none."""
    fit = fit_of(2000, 2)
    dense = fit_of(2000, 2, method="pca")
    texts = [str(fit), str(fit.summary(max_rows=5)), *fit.notes, str(sp.compare(fit, dense))]
    texts += [str(sp.compare(fit, dense).summary()), str(fit.bootstrap(3, rng=0))]
    for error_call in (lambda: fit.bootstrap(10**7), lambda: sp.spca(rows(2000), 2, scale="wide")):
        with pytest.raises(sp.errors.OptionError) as raised:
            error_call()
        texts.append(str(raised.value).partition("was given")[2])
    for text in texts:
        counts = re.findall(
            r"(?<![\w.,(=\[])\d{4,}(?![\w.,)]|\d)", re.sub(r"\b(pca|joint|greedy) [\d, ]+", "", text)
        )
        assert not [count for count in counts if not 1900 <= int(count) <= 2030 or int(count) == 2000], text


def test_notes_are_full_sentences_and_each_stands_once():
    for fit in (fit_of(13, 3), sp.spca(rows(13) * np.arange(1, 14), 2, 3, method="greedy")):
        notes = fit.notes
        assert len(set(notes)) == len(notes)
        assert f"fit.notes ({len(notes)})" in " ".join(str(fit).split())
        for note in notes:
            assert note[0].isupper() or note.split()[0] in {"h2:", "com:"}
            assert note.endswith(".")


def results(p: int, k: int, long: bool):
    """Yield every kind of result of a fit with its name, with few draws."""
    table = rows(p, long)
    fit = fit_of(p, k, long)
    yield "bootstrap", fit.bootstrap(40, rng=0)
    yield "few draws", fit.bootstrap(3, rng=0)
    yield "stability", fit.stability(3, rng=0)
    yield "scales", fit.scales()
    yield "compare", sp.compare(fit, sp.spca(table, k, 2, scale=True, method="greedy"))
    yield "sparse loadings", sp.sparse_loadings(table, k, 3, scale=True, n_init=1)
    yield "coordinates", sp.spco(table, k, zeros=0.5, scale=True)
    yield "path", sp.spca_path(table, k, cards=[2, 3], scale=True, method="greedy")
    yield "given inference", fit.with_inference(fit.stability(3, rng=0))
    if p <= 30:
        yield "split", fit.split_inference(9, rng=0)
        yield "tests", fit.test_loadings(9, rng=0)
        yield "proofs", fit.certify(joint=False, max_nodes=1)
    if k == 2:
        yield "joint proof", fit.certify(joint=True, max_nodes=1)
        yield "groups", sp.compare_groups(table, ["a", "b"] * 20, k=k, card=3, n_draws=3, scale=True)


@pytest.mark.parametrize(("p", "k", "long"), [(13, 2, False), (30, 9, True)])
def test_every_result_is_one_screen_and_has_the_rest_in_its_summary(p, k, long):
    for name, result in results(p, k, long):
        text = str(result)
        assert is_one_screen(text), (name, text)
        assert ".summary()" in text, name
        assert isinstance(result.summary(), sp.Summary), name
        assert all(note.rstrip(")").endswith(".") for note in result.notes), (name, result.notes)


def test_sentences_are_whole():
    for name, result in results(13, 2, False):
        assert not re.search(r"(?m) \.\.\.$", str(result)), (name, str(result))


def test_outliers_are_one_screen_and_the_first_are_printed():
    """With 31 outlying cells, 8 outlying rows and long names; the complete tables have more lines."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 13)), columns=rows(13, True).columns)
    table = table.mask(np.arange(table.size).reshape(table.shape) % 51 == 0, 90.0)
    table.iloc[:8] += 9.0 * (-1.0) ** np.arange(13)
    result = sp.spca(table, 2, 3, scale=True, robust=True, method="greedy").robust
    text = str(result)
    assert is_one_screen(text), text
    assert len(result.as_text().splitlines()) > LINES
    assert "fit.robust.as_text()" in text
    line = r"(?m)^(\d+) +[\d.]+ +\d+  (?:yes|left out)$"
    printed, complete = re.findall(line, text), re.findall(line, result.as_text())
    assert 0 < len(printed) < len(complete)
    assert printed == complete[: len(printed)]


def test_warnings_of_dependent_rows_and_constant_draws_are_whole_sentences():
    """Rows in time, and an indicator that is constant in some halves: each print has room to spare."""
    table = pd.concat([rows(13)] * 3, ignore_index=True).ewm(alpha=0.4).mean()
    fit = sp.spca(table, 2, 3, scale=True, method="greedy")
    rare = table.assign(rare=np.arange(120) < 2)
    split = sp.spca(rare, 2, [14, 3], scale=True, method="greedy").split_inference(9, rng=0)
    for result in (fit.bootstrap(40, rng=0), fit.stability(3, rng=0), split):
        text = str(result)
        assert "Warning: " in text
        assert len(text.splitlines()) <= LINES
        assert not re.search(r"(?m) \.\.\.$", text), text
        assert re.search(r"(?ms)^Warning: .*\(r = 0\.\d\d\) .* rows as independent\.", text), text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("p", "k", "long"), [(5, 1, True), (100, 12, True), (100, 4, False), (2000, 2, True)]
)
def test_every_result_of_other_sizes_is_one_screen(p, k, long):
    for name, result in results(p, k, long):
        assert is_one_screen(str(result)), (name, str(result))


def test_tables_for_papers_say_what_their_signs_mean_and_nothing_about_software():
    summary = fit_of(13, 3).summary(communality=True)
    for write in (summary.as_latex, summary.as_html, summary.as_markdown):
        assert "A blank is exactly zero." in write()
        assert "communality" in write()
        assert "sparse_loadings()" not in write()
        assert "greedy" not in write()
        assert "greedy" in write(notes=True)
        assert "blank" not in write(notes=False)
    assert "sparse" in summary.as_text()


def test_a_bootstrap_of_all_variables_selects_none():
    """The draws of PCA have all variables; those of a sparse fit select them, or take them as given."""
    table = sp.datasets.load_judges()
    dense = sp.spca(table, 2, method="pca").bootstrap(40, rng=0)
    assert "components of all variables" in str(dense).splitlines()[0]
    sparse = sp.spca(table, 2, card=3)
    assert "variables selected again in each draw" in str(sparse.bootstrap(40, rng=0)).splitlines()[0]
    assert "given these variables" in str(sparse.bootstrap(40, select=False, rng=0)).splitlines()[0]
