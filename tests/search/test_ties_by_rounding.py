"""Fits of tables in another order of rows, whose covariances differ by rounding, are the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.linalg.operators import Gram
from spcastat.search.objectives import OBJECTIVES

OPTIONS = [{"objective": "pev", "effort": "quick"}, {"nonneg": True}]


def table(kind: str, rng: np.random.Generator) -> pd.DataFrame:
    rows = rng.standard_normal((30, 6)) + rng.standard_normal((30, 1))
    if kind == "answers":
        rows = rng.integers(0, 4, (30, 6)).astype(float)
    if kind == "units":
        rows = rows * 10.0 ** rng.integers(-3, 4, 6) + 1000.0
    return pd.DataFrame(rows).add_prefix("v")


@pytest.mark.sweep
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", ["numbers", "answers", "units"])
def test_variances_that_scaling_makes_equal(kind, options):
    """PEV of a component of one variable is its variance, if the others do not have the variable."""
    rng = np.random.default_rng(len(kind))
    for card in ([3, 1], [2, 1, 1]):
        rows = table(kind, rng)
        first, *others = (
            sp.spca(rows.iloc[order], len(card), card, scale=True, **options).loadings
            for order in [np.arange(len(rows)), *(rng.permutation(len(rows)) for _ in range(3))]
        )
        for other in others:
            # loadings at the end of an ascent have at least half of the digits
            np.testing.assert_allclose(other, first, atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_the_first_of_equal_variables_that_the_rule_allows(seed):
    """One pair is correlated; of the other variables, which are all alike, the first are taken."""
    R = np.eye(7)
    R[4, 5] = R[5, 4] = 0.5
    R += np.diag(1e-15 * np.random.default_rng(seed).standard_normal(7))
    R = pd.DataFrame(R).add_prefix("v").set_axis([f"v{i}" for i in range(7)])

    def names(**rule):
        loadings = sp.spca_cov(R, 3, [2, 1, 1], objective="pev", effort="quick", **rule).loadings
        return [list(loadings.index[column != 0]) for _, column in loadings.items()]

    assert names() == [["v4", "v5"], ["v0"], ["v1"]]
    assert names(exclude=["v0"]) == [["v4", "v5"], ["v1"], ["v2"]]
    assert names(include={"PC3": ["v6"]})[1:] == [["v0"], ["v6"]]
    assert names(disjoint=True, exclude={"PC2": ["v0", "v1"]})[1:] == [["v2"], ["v0"]]


@pytest.mark.filterwarnings("ignore::spcastat.errors.DataWarning")
@pytest.mark.parametrize("seed", [1, 27, 39])
def test_least_squares_shares_of_as_many_components_as_the_rank_are_one(seed):
    """Any two independent scores explain three rows, and a share is not the rounding of other scores.

    Scores with correlations of 1 - 1e-9 had shares of up to 1.004 here, or others for the rows in another
    order, and were preferred to all others.
    """
    rows = np.random.default_rng(seed).standard_normal((3, 8))
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        fit = sp.spca(rows[order], 2, 2, effort="quick", objective="least_squares")
        # the errors of products, 1e-16, divided by what remains of a variance, 1e-9 at least
        assert fit.variance["cumulative least squares"].iloc[-1] == pytest.approx(1.0, abs=1e-7)
        assert np.abs(np.corrcoef(fit.scores, rowvar=False)[0, 1]) < 1.0 - 1e-6
        assert any("the data do not determine the loadings" in note for note in fit.notes)
    one = sp.spca(rows, 1, 2, effort="quick", objective="least_squares")
    assert not any("determine" in note for note in one.notes)


@pytest.mark.parametrize("closeness", [3e-5, 1e-5, 1e-6])
@pytest.mark.parametrize("seed", range(3))
def test_the_share_of_nearly_equal_scores_is_that_of_their_span(seed, closeness):
    """Regression on v and v + e d explains what v and d explain, whatever e; 1 - abs(r) is 1e-9 to 1e-12.

    Shares from V'SV alone, with rounding of 1e-16 over e squared, are off by 1e-8 to 1e-4 here.
    """
    S = np.cov(np.random.default_rng(seed).standard_normal((40, 6)).T)
    v, d = np.array([1.0, 1, 1, 0, 0, 0]), np.array([0, 0, 0, 1, -1, 0.5])
    share, same_span = (
        share_of("least_squares", np.stack([v, second], axis=1), S) for second in (v + closeness * d, d)
    )
    assert share == pytest.approx(same_span, abs=1e-10)
    assert share <= 1.0


def share_of(name: str, V: np.ndarray, S: np.ndarray) -> float:
    return float(OBJECTIVES[name].measure(V / np.linalg.norm(V, axis=0), Gram(S))[-1])


@pytest.mark.filterwarnings("ignore::spcastat.errors.DataWarning")
def test_scores_that_explain_as_much_as_pca_are_not_the_only_ones():
    """Five rows have four dimensions, in which three scores of three variables each span those of PCA.

    Supports of other variables do as well: five variables have ten supports of three.
    """
    rows = np.random.default_rng([1, 1]).normal(size=(5, 5))
    note = "explains as much as regression on the principal components"
    fit = sp.spca(rows, 3, 3, objective="least_squares")
    shares = fit.variance.iloc[-1]
    assert shares["cumulative least squares"] == pytest.approx(shares["cumulative PCA"], abs=1e-9)
    assert any(note in text for text in fit.notes)
    other = sp.spca(rows, 3, 3, objective="least_squares", exclude={"PC1": ["x1"]})
    assert other.measure("least_squares") == pytest.approx(fit.measure("least_squares"), abs=1e-9)
    assert not any(note in text for text in sp.spca(rows, 3, 3).notes)
    assert not any(note in text for text in sp.spca(rows, 1, 1, objective="least_squares").notes)
