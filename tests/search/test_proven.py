"""One component that the dual bound proves: what is said against enumeration and branch and bound."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.solvers.optimality import EXACT, proves
from tests.search.conftest import draw


def enumerated(S: np.ndarray, card: int) -> float:
    """The largest variance of any loadings with `card` nonzeros, over all supports."""
    return max(
        float(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1]) for J in map(list, combinations(range(len(S)), card))
    )


def leading(S: np.ndarray, support: tuple[int, ...]) -> np.ndarray:
    """The leading eigenvector on a support."""
    v = np.zeros(len(S))
    v[list(support)] = np.linalg.eigh(S[np.ix_(support, support)])[1][:, -1]
    return v


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_only_optima_are_proven(seed, scale):
    # Every support of every cardinality is tried: those that are called optimal are, to the share EXACT that
    # the proof leaves open, and the rounding of the enumeration, which is far below it.
    p = 7
    S = scale * draw(p, seed)
    if seed % 2:  # fewer rows than variables
        A = np.linalg.cholesky(S)[:, :4]
        S = A @ A.T
    proven = 0
    for card in range(1, p):
        best = enumerated(S, card)
        for support in combinations(range(p), card):
            v = leading(S, support)
            if proves(S, v, card):
                assert v @ S @ v * (1 + 2 * EXACT) >= best
                proven += 1
    assert proven


def test_nearly_equal_supports_are_told_apart():
    # Two blocks apart, of which one has a share of 1e-8 more variance: only its loadings are proven.
    block = np.full((3, 3), 0.5) + 0.5 * np.eye(3)
    S = np.zeros((6, 6))
    S[:3, :3], S[3:, 3:] = block, (1 + 1e-8) * block
    assert proves(S, leading(S, (3, 4, 5)), 3)
    assert not proves(S, leading(S, (0, 1, 2)), 3)


def test_nothing_is_proven_of_what_is_no_covariance_matrix():
    S = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 3.0], [0.0, 3.0, 1.0]])  # eigenvalues 4, 1, -2
    assert not proves(S, np.array([1.0, 0.0, 0.0]), 1)
    assert not proves(S, np.array([0.0, 1.0, 1.0]) / np.sqrt(2), 2)
    assert not proves(np.zeros((3, 3)), np.array([1.0, 0.0, 0.0]), 1)


@pytest.mark.parametrize("objective", ["adjusted", "pev"])
def test_pitprops_are_proven_where_the_bound_closes(R, objective):
    S = R.to_numpy()
    said = []
    for card in range(1, 14):
        fit = sp.spca_cov(R, 1, card, objective=objective)
        if "proven: no other loadings" in " ".join(str(fit).split()):
            said.append(card)
            assert fit.objective_value == pytest.approx(enumerated(S, card), rel=2 * EXACT)
            assert bool(fit.certify().table["optimal"].iloc[0])
    assert {1, 11, 12, 13} <= set(said)


def test_a_clear_component_is_proven_by_every_kind_of_data(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 40))
    X[:, :4] += 4 * rng.standard_normal((400, 1))
    fits = [sp.spca(X, 1, 4), sp.spca(sps.csr_array(X), 1, 4), sp.spca_cov(np.cov(X, rowvar=False), 1, 4)]
    for fit in fits:
        assert fit.loadings.to_numpy()[:4].all()
        assert "proven: no other loadings" in " ".join(str(fit).split())
        assert bool(fit.certify().table["optimal"].iloc[0])
    fits[0].save(tmp_path / "fit.spca")
    assert str(sp.load(tmp_path / "fit.spca")) == str(fits[0])


@pytest.mark.parametrize("card", [4, 11, 12])
def test_the_least_squares_share_is_not_proven_by_a_bound_on_variance(R, card):
    assert "proven" not in str(sp.spca_cov(R, 1, card, objective="least_squares"))
