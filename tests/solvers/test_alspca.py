"""ALSPCA: both bounds, the total cardinality, the published figures."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import spcastat as sp
from spcastat.errors import OptionError

R = sp.datasets.load_pitprops()


@pytest.mark.parametrize(("total", "printed"), [(26, 82.63), (18, 80.67), (15, 79.42)])
def test_pitprops_as_in_table_3(total: int, printed: float) -> None:
    # Zhao et al. (2015), Table 3, row ALSPCA, where only the totals are matched; its tolerances are not
    # printed, hence 0.8.
    fit = sp.spca_cov(R, 6, total=total, method="alspca")
    assert fit.converged
    assert fit.card.sum() == total
    assert fit.details["total hit"].all()
    assert 100 * fit.measure("pev") > printed - 0.8


@pytest.mark.parametrize("card", [4, [7, 3]])
def test_a_cardinality_is_that_of_each_component(card: int | list[int]) -> None:
    fit = sp.spca_cov(R, 2, card, method="alspca", order="given")
    assert fit.card.tolist() == (card if isinstance(card, list) else [card] * 2)
    assert fit.details["card hit"].all()


@pytest.mark.parametrize(("orthogonal", "uncorrelated"), [(0.0, np.inf), (0.1, 0.3), (0.3, 0.0)])
def test_both_bounds_hold(orthogonal: float, uncorrelated: float) -> None:
    fit = sp.spca_cov(R, 4, method="alspca", penalty=0.3, orthogonal=orthogonal, uncorrelated=uncorrelated)
    assert fit.converged
    off = ~np.eye(4, dtype=bool)
    V = fit.loadings.to_numpy()
    assert np.abs(V.T @ V)[off].max() <= orthogonal + 1e-4
    # the tolerance counts in shares of the largest variance of a component
    assert np.abs(V.T @ R.to_numpy() @ V)[off].max() <= uncorrelated + 1e-4


def test_no_penalty_is_pca() -> None:
    fit = sp.spca_cov(R, 3, method="alspca", penalty=0.0, orthogonal=0.0, uncorrelated=0.0)
    np.testing.assert_allclose(fit.loadings, sp.spca_cov(R, 3, method="pca").loadings, atol=1e-3)


def test_a_penalty_for_each_component() -> None:
    fit = sp.spca_cov(R, 2, method="alspca", penalty=[0.0, 1.0])
    assert fit.card.iloc[0] == 13
    assert fit.card.iloc[1] < 8
    everything = sp.spca_cov(R, 2, method="alspca", penalty=50.0)
    assert everything.card.tolist() == [1, 1]  # unit length is kept: no penalty is too large


def test_hastie() -> None:
    fit = sp.spca(sp.datasets.make_hastie(n=500), 2, 4, method="alspca")
    found = {tuple(fit.loadings.index[fit.loadings[name] != 0]) for name in fit.loadings}
    assert found == {("X1", "X2", "X3", "X4"), ("X5", "X6", "X7", "X8")}


def test_rows_sparse_rows_and_covariance_agree() -> None:
    X = sp.datasets.pitprops_sample(n=60) * np.linspace(1, 2, 13)
    fits = [
        sp.spca(X, 2, method="alspca", penalty=0.5),
        sp.spca(scipy.sparse.csr_array(X.to_numpy()), 2, method="alspca", penalty=0.5),
        sp.spca_cov(X.cov(), 2, method="alspca", penalty=0.5),
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.loadings.to_numpy(), fits[0].loadings.to_numpy(), atol=1e-4)


def test_refusals() -> None:
    with pytest.raises(OptionError, match="orthogonal"):
        sp.spca_cov(R, 2, 4, method="alspca", orthogonal=1.5)
    with pytest.raises(OptionError, match="uncorrelated"):
        sp.spca_cov(R, 2, 4, method="alspca", uncorrelated=-1.0)


@pytest.mark.slow
def test_of_several_starts_the_one_of_largest_adjusted_variance_is_kept() -> None:
    one, many = (sp.spca_cov(R, 3, [6, 4, 2], method="alspca", n_init=n) for n in (1, 4))
    assert many.measure("adjusted") > one.measure("adjusted") + 0.01  # PCA's loadings are not the best start


def test_one_component_is_where_the_soft_threshold_leaves_it() -> None:
    # The gradient of v'Sv - penalty |v|_1 on the sphere vanishes.
    S = R.to_numpy()
    for penalty in (0.2, 1.0):
        v = sp.spca_cov(R, 1, method="alspca", penalty=penalty).loadings.to_numpy()[:, 0]
        w = np.sign(S @ v) * np.maximum(np.abs(S @ v) - penalty / 2, 0.0)
        np.testing.assert_allclose(v, w / np.linalg.norm(w), atol=1e-4)


def test_a_total_has_the_smallest_penalty_but_for_one_percent() -> None:
    fit = sp.spca_cov(R.iloc[:8, :8], 2, total=7, method="alspca")
    assert fit.details["by penalty"].all()
    penalty = float(fit.details["penalty"].iloc[0])
    for less, more in ((penalty, 0), (0.985 * penalty, 1)):  # below the bracket that was left
        found = sp.spca_cov(R.iloc[:8, :8], 2, penalty=less, method="alspca")
        assert found.card.sum() >= 7 + more
