"""Analyses within clusters, ``~ . | C(subject)``: held-out subjects are centred by their own rows."""

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.linalg.regression import are_within, centred_within, factor_of
from spcastat.reading.design import ReadOptions
from spcastat.reading.read import FoldedTerms

SUBJECTS, ROWS = 24, 6
FORMULA = "~ . | C(subject)"


def repeated_measures(seed=0):
    """Two components of four variables within subjects, and another strong structure between them."""
    rng = np.random.default_rng(seed)
    subject = np.repeat(np.arange(SUBJECTS), ROWS)
    W = np.zeros((12, 2))
    W[:4, 0] = W[4:8, 1] = 0.8
    X = rng.standard_normal((SUBJECTS * ROWS, 2)) @ W.T + 0.6 * rng.standard_normal((SUBJECTS * ROWS, 12))
    X += (rng.standard_normal((SUBJECTS, 1)) * np.tile([2.0, 0.0], 6))[subject]
    X += rng.standard_normal((SUBJECTS, 12))[subject]
    return pd.DataFrame(X).add_prefix("v").assign(subject=[f"s{i}" for i in subject])


DATA = repeated_measures()
VALUES = DATA.drop(columns="subject")
WITHIN = VALUES - VALUES.groupby(DATA["subject"]).transform("mean")
CODES = pd.factorize(DATA["subject"])[0]
PLANTED = [[f"v{j}" for j in range(4)], [f"v{j}" for j in range(4, 8)]]


@pytest.mark.parametrize("clusters", [{"clusters": "subject"}, {}])
def test_a_choice_within_subjects_is_that_of_rows_centred_by_subject(clusters):
    choice = sp.choose(FORMULA, data=DATA, k=2, scale=True, repeats=1, **clusters)
    L = choice.fit.loadings
    assert sorted(list(L.index[L[name] != 0]) for name in L) == PLANTED
    before = sp.choose(WITHIN.assign(subject=DATA["subject"]), k=2, scale=True, repeats=1, clusters="subject")
    assert choice.card == before.card == [4, 4]
    # folds differ, as the keys of rows do: errors agree within their standard errors
    apart = choice.table["error"] - before.table["error"]
    assert (apart.abs() < 2.0 * before.table["se"]).all()
    assert "centred by their own rows" in " ".join(str(choice).split())


def test_columns_of_a_fold_are_those_of_rows_centred_by_subject():
    which = CODES % 3 != 0
    columns = FoldedTerms(DATA, ReadOptions(formula=FORMULA), CODES)
    for found, expected in zip(columns(which), (WITHIN[which], WITHIN[~which]), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_covariate_that_varies_within_subjects_is_regressed_out_of_the_training_rows():
    rng = np.random.default_rng(5)
    data = DATA.assign(age=rng.normal(size=len(DATA)))
    which = CODES % 3 != 0
    columns = FoldedTerms(data, ReadOptions(formula="~ . | C(subject) + age"), CODES)
    age = (data["age"] - data.groupby("subject")["age"].transform("mean")).to_numpy()
    slope = age[which] @ WITHIN[which].to_numpy() / (age[which] @ age[which])
    for found, mask in zip(columns(which), (which, ~which), strict=True):
        expected = WITHIN[mask].to_numpy() - np.outer(age[mask], slope)
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("clusters", [{"clusters": "subject"}, {}])
def test_held_out_errors_within_subjects_prefer_the_planted_components(clusters):
    options = {"data": DATA, "k": 2, "scale": True, **clusters}
    fits = {str(card): sp.spca(FORMULA, card=card, **options) for card in (4, 2)}
    held_out = sp.compare(fits, held_out=True).measures["held_out"]
    assert held_out["4"] < held_out["2"] - 0.1


def test_levels_of_an_ordinary_factor_stay_in_all_folds():
    data = DATA.assign(sex=np.where(np.arange(len(DATA)) % 2, "f", "m")).drop(columns="subject")
    choice = sp.choose("~ . | C(sex)", data=data, k=2, cards=[3, 4], repeats=1)
    assert "centred by their own rows" not in " ".join(str(choice).split())


def test_new_subjects_need_rows_for_their_means():
    fit = sp.spca(FORMULA, data=DATA, k=2, card=4)
    with pytest.raises(sp.errors.NewDataError, match=r"'new'.*subtracts the mean of each level"):
        fit.transform(DATA.head(3).assign(subject="new"))
    # what the message advises is accepted
    other = repeated_measures(1)
    values = other.drop(columns="subject")
    centred = values - values.groupby(other["subject"]).transform("mean")
    scores = sp.spca(WITHIN, 2, 4).transform(centred)
    assert np.isfinite(scores.to_numpy()).all()


def test_what_is_within_clusters_is_told_from_covariates_constant_in_them():
    groups = np.repeat(np.arange(5), 3)
    rng = np.random.default_rng(0)
    D = np.eye(5)[groups]
    between = rng.normal(size=(5, 2))[groups]
    assert are_within(D, groups)
    assert are_within(D[:, 1:], groups)  # with the intercept
    assert are_within(np.column_stack([D, rng.normal(size=15)]), groups)
    assert are_within(D @ rng.normal(size=(5, 5)), groups)  # spans the indicators
    assert not are_within(between, groups)
    assert not are_within(D[:, 2:], groups)
    assert not are_within(rng.normal(size=(15, 6)), groups)
    assert factor_of(np.column_stack([D, between])).tolist() == groups.tolist()
    assert factor_of(between) is None
    assert factor_of(np.column_stack([D, D[:, ::-1]])) is None  # two factors


def test_weighted_means_of_groups_are_subtracted():
    rng = np.random.default_rng(1)
    X, w, groups = rng.normal(size=(12, 2)), rng.integers(1, 4, 12).astype(float), np.repeat([0, 1, 2], 4)
    found = centred_within(X, groups, w)
    for group in range(3):
        own = groups == group
        mean = np.average(X[own], axis=0, weights=w[own])
        np.testing.assert_allclose(found[own], X[own] - mean, atol=1e-12)
