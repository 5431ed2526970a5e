"""Bounds for one component, for given supports and for planes: never below the true optimum."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from spcastat.linalg.eigenvectors import below
from spcastat.proofs.duals import (
    ky_fan,
    planes,
    sequential,
    support_bounds,
    supports_relaxation,
    within_union,
)
from spcastat.proofs.eigenvalue_bounds import (
    Node,
    cut_off,
    eigenvalue_bound,
    examine,
    shift_to_definite,
    split,
    split_bound,
    subgradient_step,
    trace_bound,
)

from .conftest import matrices, values_of_supports

# --- No bound is ever below the true optimum, at the root and inside the search -------------------

SHARES = np.array([1.0, 0.7, 0.4, 0.1])


def any_matrix(S: np.ndarray, c: int, rng: np.random.Generator) -> np.ndarray:
    """A symmetric U with a zero diagonal: S cut off, or noise, and improved by some steps."""
    U = cut_off(S, float(rng.choice(SHARES)))
    if rng.random() < 0.3:
        U = rng.standard_normal(S.shape) * np.diag(S).max()
        U = np.triu(U, 1) + np.triu(U, 1).T
    level = float(np.diag(S).max()) * (1.0 + 0.3 * c)
    for _ in range(int(rng.integers(4))):
        U = subgradient_step(S, U, c, level)[0]
    np.testing.assert_array_equal(U, U.T)
    return U


def split_bound_of(S: np.ndarray, c: int, rng: np.random.Generator) -> float:
    return eigenvalue_bound(split(S, any_matrix(S, c, rng), c)[0] if 2 <= c < len(S) else S)


def test_no_bound_lies_below_the_optimum(rng):
    for kind, S in matrices(rng, 80, 9):
        shift = shift_to_definite(S)
        for c in range(1, len(S) + 1):
            best = max(values_of_supports(S, c).values())
            bounds = {
                "trace": trace_bound(S + shift * np.eye(len(S)), c),
                "eigenvalue": eigenvalue_bound(S),
                "split": split_bound(S, c, SHARES),
                "split by any U": split_bound_of(S, c, rng),
            }
            for name, bound in bounds.items():
                assert bound >= best, f"{name} for {kind}, p={len(S)}, c={c}: {bound} < {best}"


def test_the_optimum_may_contain_a_variable_of_small_row_sum():
    """A row sum bounds only the supports in which its variable has the largest loading."""
    S = np.diag([5.0, 5.0, 1.0])
    S[0, 1] = S[1, 0] = 4.0
    S[1, 2] = S[2, 1] = 0.5
    assert np.abs(S[2]).sum() == 1.5
    best = np.linalg.eigvalsh(S)[-1]
    assert best > np.linalg.eigvalsh(S[:2, :2])[-1]
    everything = Node(np.array([], dtype=int), np.arange(3))
    children, found = examine(S, everything, 3, best * (1 - 1e-12))
    assert children or found is not None


def test_below_proves_only_what_is_true(rng):
    for _, S in matrices(rng, 80, 12):
        best = np.linalg.eigvalsh(S)[-1]
        assert below(S, best * (1 + 1e-9))
        assert not below(S, best * (1 - 1e-12))
        # `best` itself is rounded, and may lie above the eigenvalue; here it is exact: 1'11'1 / p = p
        p = len(S)
        assert not below(np.ones((p, p)), p)


# --- Bounds for given supports: the projections behind them, and that every iterate is a bound ----


def covariance(seed: int, p: int) -> np.ndarray:
    X = np.random.default_rng(seed).standard_normal((2 * p, p))
    return X.T @ X / (2 * p)


def axes(supports: list[list[int]], p: int) -> list[np.ndarray]:
    return [np.eye(p)[None, :, T] for T in supports]


@pytest.mark.parametrize("seed", range(4))
def test_every_iterate_is_a_bound(seed):
    """No loadings on the supports explain more, however few steps were made, and any Y >= 0 is a proof."""
    rng = np.random.default_rng(seed)
    p, supports = 6, [[0, 1, 2], [2, 3], [1, 4, 5]]
    S = covariance(seed, p)
    V = np.zeros((4000, p, 3))
    for j, T in enumerate(supports):
        V[:, T, j] = rng.standard_normal((4000, len(T)))
    Q = np.linalg.qr(V)[0]
    best = np.einsum("bij,ik,bkj->b", Q, S, Q).max()
    bases = axes(supports, p)
    Y = rng.standard_normal((1, 3, p, p))
    assert supports_relaxation(S[None], bases, 3).certified(Y @ Y.swapaxes(2, 3) * 0.1)[0] >= best
    bounds = [support_bounds(S[None], bases, 3, 0.0, steps)[0] for steps in (0, 10, 50, 400)]
    assert (np.diff(bounds) <= 0).all()
    assert bounds[0] == pytest.approx(ky_fan(S[None], 3)[0])
    assert bounds[-1] >= best
    inner = within_union(S[None], bases)
    assert best <= support_bounds(*inner, 3, 0.0, 400)[0] <= bounds[-1] * (1 + 1e-3)


def test_one_component_and_disjoint_ones_have_their_eigenvalues():
    """There the relaxation is exact: closed forms. 1e-3 is what 2000 steps of a first-order method leave."""
    S = covariance(7, 7)
    T, U = [0, 2, 5], [1, 3]
    own = np.linalg.eigvalsh(S[np.ix_(T, T)])[-1]
    inner = within_union(S[None], axes([T], 7))
    assert support_bounds(*inner, 1, 0.0, 10)[0] == pytest.approx(own, rel=1e-8)
    both = own + np.linalg.eigvalsh(S[np.ix_(U, U)])[-1]
    inner = within_union(S[None], axes([T, U], 7))
    assert both <= support_bounds(*inner, 2, 0.0, 2000)[0] <= both * (1 + 1e-3)


@pytest.mark.parametrize("angle", [1e-3, 1e-8, 1e-10])
def test_directions_that_nearly_agree_span_a_plane(angle):
    """Two components on them explain all that there is in the plane, however small the angle."""
    first = np.array([[1.0], [0.0], [0.0]])
    second = np.array([[np.cos(angle)], [np.sin(angle)], [0.0]])
    M, bases = within_union(np.diag([2.0, 1.0, 0.5])[None], [first[None], second[None]])
    for steps in (0, 50):
        # eigenvectors of so small an angle have half of the digits
        assert support_bounds(M, bases, 2, 0.0, steps)[0] == pytest.approx(3.0, rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_planes_close_most_of_the_gap_and_every_iterate_is_a_bound(seed):
    """Two components on one support: as single mixtures they may be the same one, as a plane they may not."""
    rng = np.random.default_rng(seed)
    p, supports = 6, [[0, 1, 2], [0, 1, 2], [2, 3, 4]]
    S = covariance(seed, p)
    centre, best = np.zeros((p, 3)), 0.0
    for width in (1.0, 0.3, 0.1, 0.03, 0.01, 0.003):  # random loadings, then others near the best of them
        V = np.zeros((4000, p, 3))
        for j, T in enumerate(supports):
            V[:, T, j] = centre[T, j] + width * rng.standard_normal((4000, len(T)))
        V /= np.linalg.norm(V, axis=1, keepdims=True)
        Q = np.linalg.qr(V)[0]
        values = np.einsum("bij,ik,bkj->b", Q, S, Q, optimize=True)
        if values.max() > best:
            best, centre = values.max(), V[values.argmax()]
    M, bases = within_union(S[None], axes(supports, p))
    both = bases + planes(bases)
    ranks = [1, 1, 1, 2, 2, 2]
    single = support_bounds(M, bases, 3, 0.0, 800)[0]
    bounds = [support_bounds(M, both, 3, 0.0, steps, ranks=ranks)[0] for steps in (0, 10, 50, 800)]
    assert (np.diff(bounds) <= 0).all()
    assert best <= bounds[-1] < single
    assert bounds[-1] - best < 0.2 * (single - best)
    Y = rng.standard_normal((1, 6, *M.shape[1:])) * 0.3
    assert supports_relaxation(M, both, 3, ranks).certified(Y @ Y.swapaxes(2, 3))[0] >= best


# --- Pieces of the bounds against enumeration and closed forms, in any unit -----------------------


def spread(seed: int, d: int) -> np.ndarray:
    """A covariance matrix whose variances are far apart."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3 * d, d)) * np.geomspace(1.0, 50.0, d)
    return np.cov(X, rowvar=False)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_the_best_order_of_single_variables_is_that_of_enumeration(unit):
    S = unit * spread(2, 5)
    singles = np.array([[0, 2, 4], [1, 3, 4]])

    def in_order(order: tuple[int, ...]) -> float:
        # What each variable adds is its variance given those before it: squared pivots of Cholesky.
        return float((np.diag(np.linalg.cholesky(S[np.ix_(order, order)])) ** 2).sum())

    best = [max(map(in_order, permutations(one))) for one in singles.tolist()]
    found = sequential(S, singles)
    assert (found >= best).all()
    np.testing.assert_allclose(found, best, rtol=1e-9)  # but for the rounding that it allows for
