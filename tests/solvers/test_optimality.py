"""The dual bound on one component's variance, against the matrices of the paper written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.linalg import sqrtm

from spcastat.linalg.eigenvectors import EPS, below
from spcastat.linalg.operators import Gram
from spcastat.solvers.optimality import _short, proves, variance_bound


def covariance(p: int, seed: int, n: int = 30) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.3, 2.0, p) + rng.standard_normal((n, 1))
    return np.cov(X, rowvar=False)


def best(S: np.ndarray, card: int) -> tuple[float, np.ndarray]:
    """The largest variance of all supports, and its loadings."""
    values = {}
    for J in itertools.combinations(range(len(S)), card):
        values[J] = np.linalg.eigvalsh(S[np.ix_(J, J)])[-1]
    J = max(values, key=values.__getitem__)
    v = np.zeros(len(S))
    v[list(J)] = np.linalg.eigh(S[np.ix_(J, J)])[1][:, -1]
    return values[J], v


def dual(S: np.ndarray, v: np.ndarray, rho: float, card: int) -> float:
    """The bound at one level, by the matrices Y_i of d'Aspremont, Bach and El Ghaoui (2008), section 4.

    Of columns a of a square root of S, and x the unit score of v: Y = B x x'B / x'Bx where B = aa' - rho I
    has x'Bx > 0, and else (rho |a|^2 - rho^2) / (rho - (a'x)^2) times the projector on what of a is across x.
    """
    A = np.real(sqrtm(S))
    x = A @ v / np.linalg.norm(A @ v)
    total = np.zeros_like(S)
    for a in A.T:
        B = np.outer(a, a) - rho * np.eye(len(S))
        along = float(x @ B @ x)
        if along > 0:
            total += np.outer(B @ x, B @ x) / along
        elif a @ a > rho:
            across = a - (a @ x) * x
            size = rho * (a @ a - rho) / (rho - (a @ x) ** 2)
            total += size * np.outer(across, across) / (across @ across)
    return float(np.linalg.eigvalsh(total)[-1]) + card * rho


def levels(S: np.ndarray, v: np.ndarray, card: int, shares: np.ndarray) -> np.ndarray:
    """Levels between the squared correlations at which the next variable enters and the last one goes."""
    ordered = np.append(np.sort((S @ v) ** 2 / (v @ S @ v))[::-1], 0.0)
    return ordered[card] + shares * (ordered[card - 1] - ordered[card])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("card", [1, 2, 3, 5])
def test_the_bound_is_nearly_the_lowest_of_all_levels(seed, card):
    S = covariance(6, seed)
    value, v = best(S, card)
    along = np.array([dual(S, v, rho, card) for rho in levels(S, v, card, np.linspace(0, 1, 402)[1:-1])])
    top = np.linalg.eigvalsh(S)[-1]
    found = variance_bound(Gram(S), v, card, 0.0)
    lowest = min(along.min(), top)
    assert found >= value * (1 - 1e-12)
    # It looks at 7 levels and 4 times halves their distance around the best: 1/128 of the range is left,
    # which 402 levels resolve to a third of that.
    step = np.abs(np.diff(along)).max()
    assert lowest - step - 1e-9 <= found <= lowest + 4 * step + 1e-9
    on_grid = [dual(S, v, rho, card) for rho in levels(S, v, card, np.arange(1, 8) / 8)]
    assert found <= min(on_grid) * (1 + 1e-12)


def test_the_search_ends_at_the_goal():
    looked = 0
    for seed, card in itertools.product(range(12), (1, 2)):
        S = covariance(6, seed, 200)
        v, top = best(S, card)[1], np.linalg.eigvalsh(S)[-1]
        on_grid = [dual(S, v, rho, card) for rho in levels(S, v, card, np.arange(1, 8) / 8)]
        assert variance_bound(Gram(S), v, card, np.inf) == pytest.approx(min(on_grid[0], top), rel=1e-9)
        lowest, full = min(on_grid), variance_bound(Gram(S), v, card, 0.0)
        assert full <= min(lowest, top) * (1 + 1e-12)
        if lowest < top:
            found = variance_bound(Gram(S), v, card, lowest * (1 + 1e-9))
            assert found == pytest.approx(lowest, rel=2e-9)
            looked += 1
            if full < lowest * (1 - 1e-6):  # some of the way around the best level
                some = variance_bound(Gram(S), v, card, 0.5 * (full + lowest))
                assert full <= some <= 0.5 * (full + lowest)
    assert looked >= 3


def test_all_variables_have_no_more_than_the_largest_eigenvalue():
    S = covariance(5, 1)
    values, vectors = np.linalg.eigh(S)
    assert variance_bound(Gram(S), vectors[:, -1], 5, 0.0) == pytest.approx(values[-1], rel=1e-12)
    # Equal variables: no level parts the ones from the others.
    assert variance_bound(Gram(np.eye(4)), np.eye(4)[0], 1, 0.0) == pytest.approx(1.0, rel=1e-12)


def test_what_is_proven_is_the_best_and_the_bound_says_when():
    proven = 0
    for seed in range(25):
        for card in (1, 2, 3, 4):
            S = covariance(6, seed, 200)
            value, v = best(S, card)
            shares = [dual(S, v, rho, card) for rho in levels(S, v, card, np.arange(1, 8) / 8)]
            lowest = min(*shares, np.linalg.eigvalsh(S)[-1])
            if lowest <= value * (1 + 0.99e-9):  # better by that share is none
                assert proves(S, v, card)
                assert proves(S * 1e-30, v, card)
                assert proves(S * 1e30, v, card)
                proven += 1
            elif lowest > value * (1 + 1.01e-9):
                assert not proves(S, v, card)
            other = v.copy()  # another variable in place of the last
            other[np.flatnonzero(v)[-1]] = 0.0
            other[np.flatnonzero(v == 0)[0]] = 1e-3
            assert not proves(S, other / np.linalg.norm(other), card)
    assert 20 <= proven < 100  # neither nothing nor everything is


def test_nothing_is_proven_of_what_is_no_covariance_matrix():
    assert not proves(np.zeros((3, 3)), np.eye(3)[0], 1)
    assert not proves(np.diag([3.0, 1.0, -1e-6]), np.eye(3)[0], 1)
    assert proves(np.diag([3.0, 1.0, 0.0]), np.eye(3)[0], 1)
    assert not proves(np.diag([3.0, 1.0, 0.0]), np.eye(3)[1], 1)


def test_rounding_counts_against_a_matrix_being_positive_definite():
    # The largest eigenvalue of a matrix of ones is its order, exactly: at any level up to it, -S is not
    # positive definite, whatever a factorisation in rounded numbers says.
    for p in (2, 5, 20, 60):
        S = np.ones((p, p))
        assert not below(S, p * (1 - EPS))
        assert not below(S, float(p))
        assert below(S, p * (1 + 1e-9))
        assert not below(-S, 0.0)  # singular
        assert below(-S, 1e-9)
    assert not below(np.eye(3), 1.0 - EPS)


def test_by_how_much_rounding_breaks_a_constraint():
    # f f' + rho I - a a' in the plane of x and a: by its eigenvalues, from NumPy.
    rng = np.random.default_rng(0)
    q, r, alpha, beta = rng.standard_normal((4, 30))
    for rho in (0.0, 0.3, 5.0):
        smallest = []
        for i in range(30):
            a, f = np.array([q[i], abs(r[i])]), np.array([alpha[i] * q[i] + beta[i], alpha[i] * abs(r[i])])
            smallest.append(np.linalg.eigvalsh(np.outer(f, f) + rho * np.eye(2) - np.outer(a, a))[0])
        diagonal = q**2 + r**2
        summed = (np.abs(alpha) * np.sqrt(diagonal) + np.abs(beta)) ** 2 + rho + diagonal
        for eps in (0.0, 0.1):
            wanted = max(0.0, np.max(eps * summed - smallest))
            assert _short(q, diagonal, alpha, beta, rho, eps) == pytest.approx(wanted, rel=1e-9, abs=1e-12)
