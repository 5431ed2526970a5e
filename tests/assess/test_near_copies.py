"""Near copies of a variable: one sentence, from the moments, in the prints of a fit and of resampling."""

import ast

import numpy as np
import pandas as pd
import pytest

import spcastat as sp


def measured():
    """Rows in which one length is there twice, in metres and in feet."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 6)), columns=["shot", "b", "c", "d", "e", "f"])
    X[["c", "d", "e"]] += rng.normal(size=(80, 1))
    return X.assign(shot_ft=3.28084 * X["shot"])


DATA = measured()
SAID = "shot and shot_ft are exact copies of each other (r = 1)"
ADVICE = "together={'shot': ['shot', 'shot_ft']}"


def said(result):
    return " ".join(result.notes)


@pytest.fixture(scope="module")
def fit():
    return sp.spca(DATA, 2, [2, 3], scale=True)


def test_a_copy_is_named_once_in_the_notes_of_every_result(fit):
    assert {"shot", "shot_ft"} <= set(fit.loadings.index[fit.loadings.any(axis=1)])
    results = [fit, fit.bootstrap(9), fit.stability(4), fit.test_loadings(19), fit.split_inference(9)]
    for one in results:
        assert said(one).count(SAID) == 1
        assert ADVICE in said(one)


def test_it_comes_from_the_moments_of_any_fit(fit, tmp_path):
    fit.save(tmp_path / "fit.npz")
    loaded = sp.load(tmp_path / "fit.npz")
    assert str(loaded) == str(fit)
    assert SAID in said(sp.spca_cov(DATA.cov(), 2, 3, scale=True, n_obs=80))
    assert SAID in said(sp.spca(DATA, 2, 3, scale=True, method="greedy"))


def test_what_the_note_advises_is_accepted_and_ends_it(fit):
    kept = sp.spca(DATA, 2, [1, 2], scale=True, together={"shot": ["shot", "shot_ft"]})
    assert "copies of each other" not in said(kept)
    assert "copies of each other" not in said(sp.spca(DATA.drop(columns="shot_ft"), 2, 3, scale=True))


def test_a_selected_variable_whose_copy_was_not_selected_is_named():
    fit = sp.spca(DATA, 1, 2, scale=True, include={1: ["shot"]}, exclude=["shot_ft"])
    assert SAID in said(fit)


@pytest.mark.parametrize("gaps", [0, 9])
def test_levels_of_a_factor_are_no_copies_of_each_other(gaps):
    """The indicators of two levels have a correlation of -1; copies of the factor itself are named."""
    table = pd.DataFrame({"a": DATA["c"], "b": DATA["d"], "sex": np.where(DATA["e"] > 0, "f", "m")})
    options = {"include": {1: ["sex[f]"], 2: ["sex[m]"]}, "scale": "mixed", "na": "em" if gaps else "raise"}
    table.loc[: gaps - 1, "sex"] = None
    fit = sp.spca(table, 2, 2, **options)
    assert {"sex[f]", "sex[m]"} <= set(fit.loadings.index[fit.loadings.any(axis=1)])
    assert "copies of each other" not in said(fit) + str(fit) + said(fit.bootstrap(9))
    assert "copies of each other" in said(sp.spca(table.assign(gender=table["sex"]), 2, 2, **options))


def test_pairs_are_those_of_the_correlation_matrix():
    rng = np.random.default_rng(1)
    F = rng.normal(size=(50, 3))
    near = F[:, :2] + 0.05 * rng.normal(size=(50, 2))
    X = np.column_stack([F, near, -F[:, 0], F[:, 2] + rng.normal(size=50)])
    fit = sp.spca(X, 2, 3)
    R = np.corrcoef(X.T)
    V = fit.loadings.to_numpy().any(axis=1)
    expected = [
        (a, b)
        for a in range(7)
        for b in range(7)
        if a != b and V[a] and abs(R[a, b]) > 0.995 and (a < b or not V[b])
    ]
    found = fit._state.moments.copies
    assert [(int(a), int(b)) for a, b, _ in found] == sorted(expected)
    np.testing.assert_allclose(found[:, 2], [R[a, b] for a, b in sorted(expected)], atol=1e-12)


def test_pairs_are_exact_only_up_to_rounding():
    near = DATA.assign(shot_ft=-DATA["shot"] + 1e-4 * DATA["b"], b2=1.0 - DATA["b"])
    text = said(sp.spca(near, 2, [2, 2], scale=True))
    assert "2 pairs of variables are exact or near opposites: b and b2 (r = -1)" in text
    assert "shot and shot_ft (r = -0.9999)" in text


def test_the_advice_keeps_all_copies_together_with_the_groups_of_the_fit():
    data = DATA.assign(b2=2.0 * DATA["b"], b3=-DATA["b"])
    text = said(sp.spca(data, 2, 2, scale=True, together={"pair": ["c", "shot"]}))
    assert "exact copies of each other or opposites: " in text
    advice = ast.literal_eval(text.partition("or give together=")[2].partition("}")[0] + "}")
    assert advice == {"pair": ["shot", "c", "shot_ft"], "b": ["b", "b2", "b3"]}
    assert "copies of each other" not in said(sp.spca(data, 2, 1, scale=True, together=advice))


def test_groups_are_not_advised_where_they_cannot_be_given():
    """A variable that is excluded joins no group, and other methods have no groups."""
    excluded = said(sp.spca(DATA, 1, 2, scale=True, include={1: ["shot"]}, exclude=["shot_ft"]))
    greedy = said(sp.spca(DATA, 2, 3, scale=True, method="greedy"))
    for text in (excluded, greedy):
        assert SAID in text
        assert "Leave out one of them." in text


def test_many_copies_are_counted_and_three_pairs_listed():
    rng = np.random.default_rng(2)
    bands = rng.normal(size=(40, 1)) + 0.001 * rng.normal(size=(40, 10))
    text = said(sp.spca(bands, 1, 5))
    assert "35 pairs of variables are exact or near copies of each other: x" in text
    assert text.count("(r = 0.9999)") == 3
    assert "and 32 more. A component" in text
    assert "Leave out all but one of each, or give together=." in text


def indicators() -> pd.DataFrame:
    """Five variables with a common part, and three pairs of complementary indicators beside them."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(150, 5)) + rng.normal(size=(150, 1)), columns=list("abcde"))
    for name in ("sex", "smoker", "treated"):
        table[f"{name}_0"] = rng.integers(0, 2, 150)
        table[f"{name}_1"] = 1 - table[f"{name}_0"]
    return table


def test_a_number_of_components_that_copies_may_inflate_says_so():
    """A component that joins an indicator and its complement predicts each from the other."""
    table = indicators()
    inflated = sp.choose_k(table, scale=True, rng=0)
    alone = sp.choose_k(table.drop(columns=["sex_1", "smoker_1", "treated_1"]), scale=True, rng=0)
    assert inflated.k > alone.k == 1
    sentence = "3 pairs of variables have correlations beyond ±0.995, such as sex_0 and sex_1"
    choice = sp.choose(table, scale=True, rng=0)
    for result in (inflated, choice):
        printed = " ".join(str(result).split())
        assert "Near copies may raise k: 3 pairs of variables" in printed
        assert len(str(result).splitlines()) <= 25
        for text in (" ".join(str(result.summary()).split()), " ".join(result.notes)):
            assert sentence in text
            assert "so k may be too large. Leave one of each pair out." in text
    assert "it increased the predicted variance by at least" in alone.method_text
    assert "Copies" not in str(alone)


def test_levels_of_a_factor_are_no_copies():
    """Two levels of one factor of a formula, or of mixed data, are one variable."""
    table = indicators()[list("abcde")].assign(sex=np.where(np.arange(150) % 2, "f", "m"))
    levels = {"formula": "~ .", "categorical": "dummy", "rng": 0}
    assert "Copies" not in str(sp.choose_k(table, scale="mixed", **levels))
    assert "Copies" not in str(sp.choose_k(table, scale=True, **levels))
