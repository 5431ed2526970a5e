"""Rules for supports, and groups that enter together, from the call to whatever is made of the fit."""

from __future__ import annotations

import dataclasses
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.assess.folds import SparseModel
from spcastat.cli import main
from spcastat.errors import CardinalityError, OptionError, UnknownOptionError
from spcastat.fit.saved_fits import Reader, record_of
from spcastat.linalg.operators import Gram

# --- `include`, `exclude` and `disjoint`, from the call to whatever is made of the fit ------------

R = sp.datasets.load_pitprops()
NAMES = list(R.columns)
CLEAR = NAMES.index("clear")


@pytest.fixture(scope="module")
def forced():
    """PC1 has to have "clear", which the data would not give it."""
    return sp.spca_cov(R, 3, [7, 4, 4], include={"PC1": ["clear"]}, n_obs=180)


@pytest.fixture(scope="module")
def rows():
    """Two components of rows, disjoint, one with a forced and one without a wanted variable."""
    X = sp.datasets.pitprops_sample()
    return sp.spca(X, 2, 4, include={"PC2": "clear"}, exclude={1: ["length"]}, disjoint=True, effort="quick")


def refused(match: str, *args, error: type[Exception] = OptionError, function=sp.spca_cov, **options) -> None:
    with pytest.raises(error, match=match):
        function(R, *(args or (2, 4)), **options)


def test_a_forced_variable_costs_little_and_is_marked(forced):
    """The figures of an independent search: 59.218 % without a rule, 58.519 % with it."""
    free = sp.spca_cov(R, 3, [7, 4, 4], n_obs=180)
    assert free.measure("adjusted") == pytest.approx(0.59218, abs=5e-6)
    assert forced.measure("adjusted") == pytest.approx(0.58519, abs=5e-6)
    assert forced.loadings["PC1"]["clear"] != 0
    text = str(forced.summary())
    assert "Rule       PC1 must have clear\n" in text
    assert "clear                 -0.014!" in text
    assert "! forced; contributes less than" in text
    assert "!" not in str(free)
    assert "Rule" not in str(free)


@pytest.mark.parametrize("objective", ["adjusted", "pev", "least_squares"])
def test_names_of_every_kind_mean_the_same(objective):
    how = {"objective": objective, "effort": "quick"}
    first = sp.spca_cov(R, 2, 3, include={"PC2": ["knots"]}, exclude=["moist", "testsg"], **how)
    again = sp.spca_cov(
        R, 2, 3, include={2: "knots"}, exclude=pd.Index(["testsg", "moist", "moist"]), disjoint=False, **how
    )
    pd.testing.assert_frame_equal(first.loadings, again.loadings)
    assert first.loadings["PC2"]["knots"] != 0
    assert not first.loadings.loc[["moist", "testsg"]].to_numpy().any()


def test_tuples_and_numbers_are_names_where_columns_have_them():
    S = R.to_numpy()[:5, :5]
    numbers = pd.DataFrame(S, index=[10, 11, 12, 1, 0], columns=[10, 11, 12, 1, 0])
    assert sp.spca_cov(numbers, 1, 2, include=[0], effort="quick").loadings.loc[0, "PC1"] != 0
    labels = pd.MultiIndex.from_tuples([("a", i) for i in range(3)] + [("b", i) for i in range(2)])
    fit = sp.spca_cov(pd.DataFrame(S, index=labels, columns=labels), 1, 2, exclude=[("a", 0), ("a", 1)])
    assert not fit.loadings.to_numpy()[:2].any()
    with pytest.raises(OptionError, match="include names 'a', but the variables are"):
        sp.spca_cov(pd.DataFrame(S, index=labels, columns=labels), 1, 2, include="a")


def test_a_forced_loading_of_zero_counts_as_hit():
    """A variable that is uncorrelated with all others has a loading of exactly zero."""
    S = np.eye(4)
    S[0, 1] = S[1, 0] = 0.5
    S[2, 2], S[3, 3] = 2.0, 0.5
    fit = sp.spca_cov(pd.DataFrame(S, list("abcd"), list("abcd")), 1, 2, include=["d"], objective="pev")
    assert fit.loadings["PC1"]["d"] == 0
    assert fit.loadings["PC1"]["c"] == 1
    assert fit.details.get("card hit") in (None, [True])
    text = str(fit.summary())
    assert "Cardinality missed" not in text
    assert "Forced, but with a loading of exactly zero: d in PC1." in text
    assert fit.certify().table["optimal"].all()
    with pytest.raises(OptionError, match="that the rule includes has a loading of zero"):
        fit.certify(joint=True)


# --- bad input ------------------------------------------------------------------------------------


def test_names_that_there_are_not_are_refused_with_the_nearest():
    refused("include names 'cleer', but the variables are .*Did you mean 'clear'?", include="cleer")
    refused("exclude names 'PC1'", exclude=["PC1"])
    refused("names the component 'PC3'; with k=2 the components are 'PC1', 'PC2'", include={"PC3": "clear"})
    refused("include names the component 0", include={0: "clear"})
    refused(r"include=\[\['clear'\]\] was given; it accepts a list of names", include=[["clear"]])
    refused("disjoint=1 was given; it must be True or False", disjoint=1)
    refused("it accepts a list of names", include=iter(["clear"]))  # which a refit would find empty
    refused("it accepts a list of names", exclude=[("a", [1])])


def test_rules_that_nothing_obeys_are_refused_by_component_and_variable():
    refused("include and exclude both name clear for PC2", include="clear", exclude={"PC2": "clear"})
    refused(r"include names 5 variables for PC1 \(topdiam, .*its card is 4", include={"PC1": NAMES[:5]})
    refused(rf"\({', '.join(NAMES[:8])} and more\)", include={"PC1": NAMES[:9]})
    refused(r"exclude leaves 3 variables for PC1 \(clear, knots, diaknot\)", exclude=NAMES[:10])
    refused("include names clear for PC1, PC2, but with disjoint=True", include="clear", disjoint=True)
    refused(r"card=\[7, 7\] asks for 14 nonzeros", 2, 7, disjoint=True)
    refused("there are too few variables", exclude={"PC1": NAMES[7:], "PC2": NAMES[7:]}, disjoint=True)


def test_what_knows_no_rule_refuses_it_and_names_the_nearest_call():
    words = "include= and disjoint= were given without card= and variance="
    refused(words, 2, include="clear", disjoint=True)
    for name in ("include", "exclude"):
        rule = {name: ["clear"]}
        refused("Only the default method accepts", method="greedy", error=UnknownOptionError, **rule)
    refused("nonneg= was given with disjoint=", nonneg=True, disjoint=True, error=UnknownOptionError)
    refused("order='best' was given, but include=", 2, [4, 3], include={"PC1": "clear"}, order="best")
    refused("order='variance' was given, but exclude=", exclude={"PC1": "clear"}, order="variance")
    with pytest.raises(OptionError, match="was given with 1001 variables; with more than 1000"):
        sp.spca(np.random.default_rng(0).standard_normal((5, 1001)), 2, 4, disjoint=True)


def test_rows_in_chunks_take_a_rule():
    X = sp.datasets.pitprops_sample()
    how = {"include": {"PC1": "clear"}, "disjoint": True, "effort": "quick"}
    whole = sp.spca(X, 2, 4, **how)
    chunks = sp.spca([X.iloc[:100], X.iloc[100:]], 2, 4, **how)
    np.testing.assert_allclose(chunks.loadings, whole.loadings, atol=1e-9)

    def unread():
        yield X.iloc[:2]
        raise AssertionError("names are checked before the rows are read")

    with pytest.raises(OptionError, match="exclude names 'cleer'"):
        sp.spca(unread, 2, 4, exclude="cleer")


# --- the fewest nonzeros --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule", [{"include": "clear"}, {"exclude": NAMES[:2]}, {"include": "clear", "exclude": {1: NAMES[:2]}}]
)
def test_one_component_has_the_fewest_nonzeros_under_the_rule(rule):
    some = [*NAMES[:6], "clear"]
    S = R.loc[some, some]
    may = [j for j in range(7) if "exclude" not in rule or j > 1]
    must = [6] if "include" in rule else []
    for share in (0.5, 0.7):
        least = share * np.linalg.eigvalsh(S)[-1]
        reach = [c for c in range(1, len(may) + 1) if best_of(S.to_numpy(), c, may, must) >= least]
        fit = sp.spca_cov(S, 1, variance=share, **rule)
        assert fit.card.tolist() == reach[:1]
        assert not must or fit.loadings["PC1"]["clear"] != 0


@pytest.mark.parametrize(
    "rule",
    [
        {"disjoint": True},
        pytest.param({"include": {"PC2": "knots"}, "disjoint": True}, marks=pytest.mark.slow),
        pytest.param({"exclude": {1: "length"}}, marks=pytest.mark.slow),
    ],
)
def test_components_have_the_fewest_nonzeros_under_the_rule(rule):
    """With one less, no cardinalities reach the share."""
    S = R.iloc[:8, :8].copy()
    S.index = S.columns = [*NAMES[:7], "knots"]
    goal = 0.75 * np.linalg.eigvalsh(S)[-2:].sum() / 8
    fit = sp.spca_cov(S, 2, variance=0.75, promise="total", **rule)
    assert fit.measure("adjusted") >= goal * (1 - 1e-9)
    fewer = int(fit.card.sum()) - 1
    for first in range(1, fewer):
        other = sp.spca_cov(S, 2, [first, fewer - first], effort="quick", **rule)
        assert other.measure("adjusted") < goal
    text = " ".join(str(fit.summary()).split())
    assert "at least 75 % of the variance that PCA explains, by all components together Rule" in text


def test_a_share_that_no_supports_under_the_rule_keep_is_refused_with_one_that_they_keep():
    """Without the excluded variables the components keep at most what PCA of the others explains."""
    S = R.drop(index=NAMES[2:4], columns=NAMES[2:4])
    most = np.linalg.eigvalsh(S)[:-4:-1].sum() / np.linalg.eigvalsh(R)[:-4:-1].sum()
    with pytest.raises(OptionError, match=f"explain {most:.4f} of the .*Give variance=0.874 or less"):
        sp.spca_cov(R, 3, variance=0.9, exclude=NAMES[2:4], promise="total")
    fit = sp.spca_cov(R, 3, variance=0.874, exclude=NAMES[2:4], promise="total", effort="quick")
    assert not fit.loadings.loc[NAMES[2:4]].to_numpy().any()
    with pytest.raises(OptionError, match=r"leaves 0 variables for PC1 .*it needs at least 1: exclude"):
        sp.spca_cov(R, 1, variance=0.5, exclude=NAMES)


# --- what is made of a fit ------------------------------------------------------------------------


def obeys(V: pd.DataFrame) -> bool:
    """Whether loadings obey the rule of the fit of `rows`."""
    return V["PC2"]["clear"] != 0 and V["PC1"]["length"] == 0 and not (V != 0).all(axis=1).any()


def test_draws_obey_the_rule(rows):
    assert obeys(rows.loadings)
    often = rows.bootstrap(20, rng=1).selected
    assert often["PC2"]["clear"] == 1.0
    assert often["PC1"]["length"] == 0.0
    halves = rows.stability(10, rng=1).frequency
    assert halves["PC2"]["clear"] == 1.0
    assert halves["PC1"]["length"] == 0.0
    with pytest.raises(OptionError, match=r"test_loadings.* use bootstrap"):
        rows.test_loadings(99)
    with pytest.raises(OptionError, match=r"test_loadings.* use bootstrap"):
        sp.spca(sp.datasets.pitprops_sample(), 2, disjoint=True).test_loadings(99)


def test_a_file_keeps_the_rule(rows, tmp_path):
    rows.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    told = "PC2 must have clear; PC1 must not have length; no variable is in two components"
    assert told in " ".join(str(loaded.summary()).split())
    assert told in loaded.describe().text
    again = loaded.bootstrap(5, data=sp.datasets.pitprops_sample(), rng=1)
    pd.testing.assert_frame_equal(again.selected, rows.bootstrap(5, rng=1).selected)


def test_a_refit_has_the_rule_until_it_is_told_otherwise(rows):
    assert "include={'PC2': 'clear'}, exclude={1: ['length']}, disjoint=True" in rows.call
    assert obeys(rows.refit(card=5).loadings)
    free = rows.refit(include=None, exclude=None, disjoint=False)
    assert "Rule" not in str(free)
    assert free.measure("adjusted") > rows.measure("adjusted")
    with pytest.raises(UnknownOptionError, match="Only the default method accepts"):
        rows.refit(method="greedy")
    assert obeys(rows.refit(variance=0.8).loadings)


def test_a_path_by_default_has_the_cardinalities_that_the_rule_allows():
    path = sp.spca_path(R, 2, include=["clear", "knots"], exclude=["moist"], effort="quick")
    assert path.table["card"].tolist() == [*range(2, 11), 11, 12][: len(path.table)]
    assert sp.spca_path(R, 2, disjoint=True, effort="quick").table["card"].max() == 6
    with pytest.raises(OptionError, match="both name clear"):
        sp.spca_path(R, 2, include="clear", exclude="clear")


def test_a_choice_has_the_rule(rows):
    """The candidates obey it: the errors are those of folds fitted under it, above those without it."""
    X = sp.datasets.pitprops_sample()
    rule = {"include": {"PC1": ["clear", "knots"]}, "disjoint": True}
    choice = sp.choose(X, 2, by="cv", rule="min", folds=3, repeats=1, scale=True, **rule)
    equal = choice.table[choice.table["family"] == "equal"]
    assert equal["card"].min() == 2
    assert equal["card"].max() <= 6
    cards = [np.atleast_1d(card) for card in choice.table["card"]]
    assert min(map(min, cards)) == 2
    assert max(map(sum, cards)) <= 13  # no variable is in two components
    assert choice.fit.loadings.loc[["clear", "knots"], "PC1"].all()
    assert not (choice.fit.loadings != 0).all(axis=1).any()
    free = sp.choose(X, 2, cards=[2, 3, 4], by="cv", rule="min", folds=3, repeats=1, scale=True)
    held = choice.table.set_index("card")["error"]
    assert (held[[2, 3, 4]].to_numpy() >= free.table["error"].to_numpy()).all()
    with pytest.raises(OptionError, match="its card is 1"):
        sp.choose(X, 2, cards=[1, 3], **rule)


def test_the_command_takes_a_rule(capsys, tmp_path):
    call = ["fit", "pitprops", "--k", "2", "--card", "4", "--effort", "quick", "--format", "text"]
    assert main([*call, "--include", "PC1=clear", "--exclude", "moist", "--disjoint"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Rule PC1 must have clear; no component has moist; no variable is in two components" in text
    choose = ["choose", "pitprops", "--by", "is"]
    assert main([*choose, "--k", "2", "--cards", "3-4", "--include", "clear", "--exclude", "knots"]) == 0
    assert capsys.readouterr().out
    assert main([*choose, "--k", "1", "--cards", "1-2", "--include", "PC2=clear"]) != 0
    assert "include names the component 'PC2'" in capsys.readouterr().err
    assert main([*call, "--include", "PC9=clear"]) != 0
    assert "include names the component 'PC9'" in capsys.readouterr().err
    assert main([*call, "--option", "include=clear"]) != 0
    assert "give it only as --include" in capsys.readouterr().err


# --- proofs ---------------------------------------------------------------------------------------


def best_of(S: np.ndarray, card: int, may: list[int], must: list[int]) -> float:
    """The largest eigenvalue over all supports that may be."""
    supports = [list(T) for T in combinations(may, card) if set(must) <= set(T)]
    return max(np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for T in supports)


@pytest.mark.parametrize("card", [1, 2, 5])
def test_a_component_is_proven_among_supports_under_the_rule(card):
    out = [NAMES.index(name) for name in ("topdiam", "moist")]
    fit = sp.spca_cov(R, 1, card, include="clear", exclude=["topdiam", "moist"], effort="quick")
    may = [j for j in range(13) if j not in out]
    best = best_of(R.to_numpy(), card, may, [CLEAR])
    proof = fit.certify()
    assert proof.table["value"].item() == pytest.approx(best, rel=1e-9)
    assert proof.table["upper_bound"].item() == pytest.approx(best, rel=1e-8)
    assert proof.table["upper_bound"].item() >= best * (1 - 1e-13)
    assert proof.table["optimal"].all()
    told = "Compared with supports under the rule: PC1 must have clear; PC1 must not have topdiam, moist."
    assert told in proof.sentence


def test_no_component_of_less_is_proven():
    """Loadings of another support under the rule: the bound stays above the best."""
    fit = sp.spca_cov(R, 2, 4, include={"PC1": "clear"}, disjoint=True, objective="pev", effort="quick")
    first = best_of(R.to_numpy(), 4, list(range(13)), [CLEAR])
    proof = fit.certify(joint=False)
    assert proof.table["upper_bound"].iloc[0] >= first * (1 - 1e-13)
    assert proof.table["best_known"].iloc[0] <= first * (1 + 1e-13)
    used = np.flatnonzero(fit.loadings["PC1"])
    S = R.to_numpy()
    v = fit.loadings["PC1"].to_numpy()
    left = S - np.outer(S @ v, S @ v) / (v @ S @ v)
    second = best_of(left, 4, [j for j in range(13) if j not in used], [])
    assert proof.table["upper_bound"].iloc[1] == pytest.approx(second, rel=1e-8)


def test_a_joint_proof_says_where_its_bound_is_one_without_the_rule():
    """With components of one variable, which leave other problems behind."""
    fit = sp.spca_cov(
        R, 2, [4, 1], exclude={"PC1": ["length"]}, objective="pev", disjoint=True, effort="quick"
    )
    free = sp.spca_cov(R, 2, [4, 1], objective="pev", effort="quick")
    proof = fit.certify(joint=True, objective="pev", max_nodes=1, time_limit=0.5)
    assert "The bound was computed without the rule (PC1 must not have length;" in proof.sentence
    assert proof.table["upper_bound"].item() >= free.measure("pev") * (1 - 1e-9)
    assert proof.table["best_known"].item() == proof.table["value"].item()


def test_a_better_fit_that_breaks_the_rule_is_not_taken_over():
    """Better components, each given earlier ones, share variables: they are no disjoint fit."""
    fit = sp.spca_cov(R, 2, 4, include={"PC1": "clear"}, disjoint=True, objective="pev", effort="quick")
    with pytest.raises(OptionError, match="break the rule together"):
        fit.adopt(fit.certify(joint=False))


def test_a_better_fit_under_the_rule_is_taken_over():
    """Proofs are of adjusted variance, and this fit was made for PEV."""
    fit = sp.spca_cov(R, 2, [4, 3], include={"PC1": "clear"}, objective="pev", effort="quick")
    better = fit.adopt(fit.certify(joint=False))
    assert better.loadings["PC1"]["clear"] != 0
    assert better.measure("adjusted") > fit.measure("adjusted")


# --- Groups of variables that enter together, from the call to whatever is made of the fit --------


SIZE = {"size": ["topdiam", "length"], "rings": ["ringtop", "ringbut", "bowmax"]}


@pytest.fixture(scope="module")
def grouped_rows() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    size = rng.standard_normal(60)
    return pd.DataFrame(
        {
            "a": size + 0.5 * rng.standard_normal(60),
            "b": rng.standard_normal(60),
            "site": np.where(size > 0.4, "west", np.where(rng.random(60) < 0.5, "south", "north")),
            "kind": rng.choice(["x", "y"], 60),
            "c": rng.standard_normal(60) - size,
        }
    )


@pytest.fixture(scope="module")
def fit(grouped_rows):
    return sp.spca(
        grouped_rows, 2, 2, scale="mixed", together="terms", include={"PC2": "kind"}, effort="quick"
    )


def best_union(S: np.ndarray, groups: list[list[int]], count: int) -> float:
    unions = [sum(some, []) for some in combinations(groups, count)]  # noqa: RUF017
    return max(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] for J in unions)


def test_terms_enter_whole_and_card_counts_them(fit):
    V = fit.loadings
    levels = [name for name in V.index if name.startswith("kind[")]
    assert len(levels) == 2
    assert V.loc[levels, "PC2"].all()
    terms = V.index.str.partition("[").get_level_values(0)
    assert ((V != 0).groupby(terms).any().sum() == 2).all()
    assert ((V != 0).groupby(terms).any() == (V != 0).groupby(terms).all()).all(axis=None)
    text = " ".join(str(fit.summary()).split())
    assert "Rule card counts groups, 5 in all; the variables of site, kind enter together; PC2 must" in text
    assert f"Together PC1 {', '.join(t for t in terms.unique() if V['PC1'][terms == t].any())}; PC2" in text
    assert "Cardinality missed" not in text
    assert "selected one by one" not in text


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_component_is_the_best_union_and_proven(count):
    fit = sp.spca_cov(R, 1, count, together=SIZE, effort="quick")
    named = [[R.columns.get_loc(name) for name in members] for members in SIZE.values()]
    alone = [[j] for j in range(13) if j not in named[0] + named[1]]
    best = best_union(R.to_numpy(), named + alone, count)
    proof = fit.certify()
    assert proof.table["value"].item() == pytest.approx(best, rel=1e-9)
    assert proof.table["optimal"].all()
    assert proof.table["upper_bound"].item() >= best * (1 - 1e-13)
    root = fit.certify(max_nodes=1)
    assert root.table["upper_bound"].item() >= best * (1 - 1e-13)


def test_a_formula_has_terms_of_several_columns(grouped_rows):
    how = {"formula": "~ a + bs(b, df=4) + C(site):c", "categorical": "dummy", "scale": True}
    fit = sp.spca(grouped_rows, 1, 1, together="terms", effort="quick", **how)
    assert np.count_nonzero(fit.loadings["PC1"]) in (3, 4)  # of the interaction, or of the spline
    gaps = grouped_rows.assign(b=grouped_rows["b"].where(grouped_rows.index % 7 > 0))
    filled = sp.spca(
        gaps, 1, 2, formula="~ a + b + site", categorical="dummy", na="em", together="terms", effort="quick"
    )
    assert np.count_nonzero(filled.loadings["PC1"]) in (2, 4)


def test_draws_files_paths_and_refits_have_the_groups(fit, grouped_rows, tmp_path):
    fit.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    assert str(loaded) == str(fit)
    often = fit.bootstrap(5, rng=1).selected
    assert (often.loc[[name for name in often.index if name.startswith("kind[")], "PC2"] == 1.0).all()
    sites = often.loc[[name for name in often.index if name.startswith("site[")]]
    assert (sites.max() == sites.min()).all()  # a factor is in a draw, or is not
    again = loaded.bootstrap(5, data=grouped_rows, rng=1).selected
    pd.testing.assert_frame_equal(again, often)
    halves = fit.stability(3, rng=1).frequency
    assert (halves.loc[[name for name in halves.index if name.startswith("kind[")], "PC2"] == 1.0).all()
    assert "together='terms'" in fit.call
    assert "Together" not in str(fit.refit(together=None, include=None))
    path = sp.spca_path(grouped_rows, 1, scale="mixed", together="terms", effort="quick")
    assert path.table["card"].tolist() == [1, 2, 3, 4, 5]
    assert path.table["nonzeros"].iloc[-1] == 8
    assert "card counts groups" in fit.describe().text


@pytest.mark.parametrize(
    "wrong",
    ["terms", [["a", [0, 2]]], [["a", [0, 1]], ["b", [1, 2]]], [["a", "b"]], [[[0], [1, 2]]], [["a"]]],
)
def test_a_damaged_file_has_no_groups(wrong):
    """Groups have names, and each variable is in one."""
    data = sp.datasets.make_hastie(30).iloc[:, :3]
    fit = sp.spca(data, 1, 1, together={"first": list(data.columns[[0, 2]])}, effort="quick")
    kept = dataclasses.asdict(fit._state.record.as_text())
    right = [["a", [0, 2]], ["b", [1]]]
    assert record_of({**kept, "options": {**kept["options"], "together": right}}, Reader({})).p == 3
    with pytest.raises(sp.errors.FileError, match="its record"):
        record_of({**kept, "options": {**kept["options"], "together": wrong}}, Reader({}))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"together": "terms"}, "together='terms' was given without a formula"),
        ({"together": "term"}, "together='term' was given; it must be 'terms', for"),
        ({"together": {}}, "it must be 'terms'"),
        ({"together": {"a": []}}, "name the variables of each group"),
        ({"together": {"a": ["lenght"]}}, r"together\['a'\] names 'lenght'.*Did you mean 'length'"),
        ({"together": {"a": ["length"], "b": "length"}}, "together has 'length' in 'a', 'b'"),
        ({"together": SIZE, "include": "sizes"}, "include names 'sizes'.* Did you mean 'size'"),
        ({"together": SIZE, "include": "size", "exclude": "length"}, "both name size for PC1"),
        ({"together": SIZE, "card": 6, "disjoint": True}, "asks for 12 groups, and .* 10 groups"),
        ({"together": SIZE, "card": None}, "together= was given without card="),
        ({"together": SIZE, "card": None, "disjoint": True}, "together= were given without card="),
        ({"together": SIZE, "method": "greedy"}, "method='greedy' has no option 'together'"),
    ],
)
def test_what_cannot_be_is_refused_by_name(options, match):
    with pytest.raises(OptionError, match=match):
        sp.spca_cov(R, 2, **{"card": 2, **options})


def test_what_knows_no_groups_refuses_them_with_the_nearest_call(fit):
    with pytest.raises(CardinalityError, match="there are only 10: 'size', 'rings', 'moist'"):
        sp.spca_cov(R, 1, 11, together=SIZE)
    with pytest.raises(OptionError, match=r"card counts groups: give joint=False"):
        fit.certify(joint=True)
    with pytest.raises(OptionError, match=r"test_loadings.* use bootstrap"):
        fit.test_loadings(99)
    with pytest.raises(OptionError, match="together= was given with 301 columns"):
        sp.spca(np.random.default_rng(0).standard_normal((5, 301)), 1, 2, together={"a": [0, 1]})


def test_a_choice_counts_groups(grouped_rows):
    """Of five terms "a", "c" and "site" go together: one component of them predicts best."""
    choice = sp.choose(grouped_rows, 1, scale="mixed", together="terms")
    assert choice.card == 3
    used = choice.fit.loadings.index[choice.fit.loadings["PC1"] != 0]
    assert {name.partition("[")[0] for name in used} == {"a", "c", "site"}
    assert choice.table["groups"].tolist() == choice.table["card"].tolist() == [1, 2, 3, 4, 5]
    assert choice.table["nonzeros"].iloc[-1] == 8
    assert "further groups improve the prediction too little" in " ".join(str(choice).split())
    assert "The numbers of groups of variables were chosen" in choice.method_text
    with pytest.raises(CardinalityError, match="a number of groups, and there are only 5"):
        sp.choose(grouped_rows, 1, cards=[2, 6], scale="mixed", together="terms")
    gaps = sp.datasets.pitprops_sample().copy()
    gaps.iloc[0, 0] = np.nan
    with pytest.raises(OptionError, match=r"with missing values; .* Give na='drop'"):
        sp.choose(gaps, 1, together=SIZE, na="em")


def test_values_of_a_group_are_predicted_from_other_groups():
    """By the conditional expectations of the model; the indicators of a factor would predict one another."""
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((50, 7)) @ rng.standard_normal((7, 7)), rng.standard_normal((20, 7))
    V = np.zeros((7, 2))
    V[:3, 0] = V[3:5, 1] = 1.0
    of = np.array([0, 0, 1, 2, 2, 3, 3])
    model = SparseModel.of(V / np.linalg.norm(V, axis=0), Gram(X.T @ X / 49), of)
    W = np.zeros((7, 2))
    W[model.used] = model.W * np.sqrt(model.variances - model.noise)
    sigma, expected = W @ W.T + model.noise * np.eye(7), 0.0
    for J, K in ((np.flatnonzero(of == g), np.flatnonzero(of != g)) for g in range(4)):
        slopes = np.linalg.solve(sigma[np.ix_(K, K)], sigma[np.ix_(K, J)])
        expected += ((Z[:, J] - Z[:, K] @ slopes) ** 2).sum()
    B = Z.T @ Z
    assert model.press(np.diag(B), B[np.ix_(model.used, model.used)]) == pytest.approx(expected, rel=1e-10)


def test_the_command_takes_groups(grouped_rows, tmp_path, capsys):
    grouped_rows.to_csv(tmp_path / "rows.csv", index=False)
    call = ["fit", str(tmp_path / "rows.csv"), "--k", "1", "--card", "2", "--mixed", "--effort", "quick"]
    assert main([*call, "--together", "terms"]) == 0
    assert "the variables of site, kind enter together" in " ".join(capsys.readouterr().out.split())
    assert main([*call, "--together", "pair=a", "--together", "pair=c"]) == 0
    assert "the variables of pair enter together" in " ".join(capsys.readouterr().out.split())
    assert main([*call, "--together", "pair"]) != 0
    assert "it accepts terms, or a group and one of its" in capsys.readouterr().err
