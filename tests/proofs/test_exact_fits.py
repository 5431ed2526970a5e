"""Fits that end with the exact loadings on their supports, so that a proof of the support closes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import spcastat as sp
from spcastat.linalg.operators import Gram
from spcastat.proofs.one_component import certify
from spcastat.solvers.thresholding import explained, fitted

#: Methods whose loadings are, by their papers, the leading eigenvector on the support that they find.
EXACT = ("bcd-l0", "greedy", "rsvd-l0", "gpower-l0", "gpower-l1", "gpower-l0-block", "gpower-l1-block")
EXACT += ("empca", "dcpca", "pathspca", "gspca")
R = sp.datasets.load_pitprops()


def enumerated(S: np.ndarray, card: int) -> tuple[float, tuple[int, ...]]:
    """Return the largest eigenvalue of any support of so many variables, by trying all of them."""
    blocks = list(combinations(range(len(S)), card))
    values = [np.linalg.eigvalsh(S[np.ix_(block, block)])[-1] for block in blocks]
    return float(max(values)), blocks[int(np.argmax(values))]


def case(seed: int) -> tuple[np.ndarray, int]:
    """Return a random covariance matrix, or the correlations or a part of pitprops, and a cardinality."""
    rng = np.random.default_rng(seed)
    if seed % 5 == 0:
        some = np.sort(rng.choice(13, size=int(rng.integers(6, 10)), replace=False))
        return R.to_numpy()[np.ix_(some, some)], int(rng.integers(2, 5))
    p = int(rng.integers(4, 9))
    S = np.cov((rng.standard_normal((30, p)) @ (np.eye(p) + 0.5 * rng.standard_normal((p, p)))).T)
    return S, int(rng.integers(1, p))


SEEDS = [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 16))]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_proven_support_is_proven_optimal(seed: int) -> None:
    S, card = case(seed)
    best, support = enumerated(S, card)
    met = 0
    for method in EXACT:
        fit = sp.spca_cov(S, 1, card, method=method)
        (certificate,) = certify(Gram(S), fit.loadings.to_numpy())
        found = tuple(np.flatnonzero(fit.loadings.to_numpy()[:, 0]).tolist())
        assert certificate.upper_bound >= best * (1 - 1e-12)
        if found == support:
            met += 1
            assert certificate.optimal, (method, certificate)
        else:  # another support may tie
            assert not certificate.optimal or certificate.value >= best * (1 - 2e-9)
    assert met


@pytest.mark.parametrize("card", [[8, 5, 6, 2, 3, 2], [7, 4, 4], [6, 6]])
def test_a_joint_fit_is_stationary_on_its_supports(card: list[int]) -> None:
    """The slope of the explained variance vanishes to rounding, whatever the tolerance of the sweeps."""
    fit = sp.spca_cov(R, len(card), card, method="bcd-l0")
    assert fit.converged
    V = fit.loadings.to_numpy()
    op = Gram(R.to_numpy())
    value, gradient = explained(op, V)
    # 1e-16 of the total variance, 13, in each of some ten products; by comparing values alone it is 1e-8
    assert np.abs(gradient[V != 0]).max() <= 1e-12
    assert 100 * value / 13 == pytest.approx(100 * fit.measure("pev"), rel=1e-10)
    for j, i in zip(*np.nonzero(V), strict=True):  # the gradient itself, against differences
        W = V.copy()
        W[j, i] += 1e-5
        assert explained(op, W)[0] <= value + 1e-9


def test_exact_loadings_never_explain_less_and_keep_their_supports() -> None:
    rng = np.random.default_rng(8)
    for _ in range(30):
        p, k = int(rng.integers(4, 12)), int(rng.integers(1, 4))
        S = np.cov((rng.standard_normal((25, p)) @ (np.eye(p) + 0.5 * rng.standard_normal((p, p)))).T)
        V = rng.standard_normal((p, k)) * (rng.random((p, k)) < 0.6)
        V[rng.integers(p), ~V.any(axis=0)] = 1.0
        V /= np.linalg.norm(V, axis=0)
        better = fitted(Gram(S), V)
        if better is not None:
            assert explained(Gram(S), better)[0] >= explained(Gram(S), V)[0] * (1 - 1e-13)  # rounding
            np.testing.assert_array_equal(better != 0, V != 0)
            np.testing.assert_allclose(np.linalg.norm(better, axis=0), 1.0)


def test_nonnegative_fits_stay_nonnegative_and_are_exact() -> None:
    """Perron and Frobenius: of a nonnegative matrix the leading eigenvector on any support is nonnegative."""
    S = np.abs(R.to_numpy())
    fit = sp.spca_cov(S, 1, 4, nonneg=True, method="bcd-l0")
    v = fit.loadings.to_numpy()[:, 0]
    J = np.flatnonzero(v)
    assert v @ S @ v == pytest.approx(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1], rel=1e-14)
    signed = sp.spca_cov(R, 2, 5, nonneg=True, method="bcd-l0").loadings.to_numpy()
    assert (signed >= 0).all()


def test_loadings_stay_those_of_pca_where_every_basis_explains_the_same():
    """With k = card = p every basis of the space has PEV 1: the fit ends where it began, at PCA."""
    rng = np.random.default_rng(5)
    for p in (2, 3):
        for _ in range(20):
            X = rng.normal(size=(40, p)) @ rng.normal(size=(p, p))
            fit, pca = sp.spca(X, p, p, method="bcd-l0"), sp.spca(X, p, method="pca")
            np.testing.assert_allclose(np.abs(fit.loadings), np.abs(pca.loadings), atol=1e-10)
