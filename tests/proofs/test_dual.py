"""Bounds for given supports: the projections behind them, and that every iterate is a bound."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from spcastat.proofs.duals import (
    capped_simplex,
    fantope,
    ky_fan,
    planes,
    positive,
    support_bounds,
    supports_relaxation,
    within_union,
)


def covariance(seed: int, p: int) -> np.ndarray:
    X = np.random.default_rng(seed).standard_normal((2 * p, p))
    return X.T @ X / (2 * p)


def axes(supports: list[list[int]], p: int) -> list[np.ndarray]:
    return [np.eye(p)[None, :, T] for T in supports]


@pytest.mark.parametrize("k", [1, 2, 4])
def test_capped_simplex_solves_for_its_shift(k):
    """sum clip(values - t, 0, 1) = k has one root t, which scipy's bracketing finds, too."""
    values = np.sort(np.random.default_rng(k).normal(0.0, 1.5, (50, 6)), axis=1)
    for row, found in zip(values, capped_simplex(values, k), strict=True):
        ends = row.min() - 2, row.max() + 1
        t = brentq(lambda t, row=row: np.clip(row - t, 0, 1).sum() - k, *ends, xtol=1e-14)
        np.testing.assert_allclose(found, np.clip(row - t, 0, 1), atol=1e-12)


def test_projections_are_no_farther_than_members_of_their_sets():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((1, 5, 5))
    A = A + A.swapaxes(1, 2)
    others = np.linalg.qr(rng.standard_normal((200, 5, 5)))[0]
    sets = {
        "positive": (positive(A), others @ (rng.exponential(size=(200, 5, 1)) * others.swapaxes(1, 2))),
        "fantope": (fantope(A, 2), others[:, :, :2] @ others[:, :, :2].swapaxes(1, 2)),
        "spectraplex": (fantope(A, 1), others[:, :, :1] @ others[:, :, :1].swapaxes(1, 2)),
    }
    for found, members in sets.values():
        distance = ((members - A) ** 2).sum(axis=(1, 2))
        assert (((found - A) ** 2).sum() <= distance).all()
    assert np.trace(sets["fantope"][0][0]) == pytest.approx(2.0)
    assert np.trace(sets["spectraplex"][0][0]) == pytest.approx(1.0)


def test_without_supports_it_is_ky_fan():
    S = covariance(2, 6)
    values = np.linalg.eigvalsh(S)
    for k in (1, 3, 6):
        assert ky_fan(S[None], k)[0] == pytest.approx(values[-k:].sum())


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


def test_problems_of_a_batch_do_not_depend_on_one_another():
    S = np.stack([covariance(seed, 5) for seed in range(6)])
    bases = [np.broadcast_to(D, (6, *D.shape[1:])) for D in axes([[0, 1], [1, 2, 3]], 5)]
    together = support_bounds(S, bases, 2, 0.0, 100)
    alone = [support_bounds(S[i : i + 1], [D[i : i + 1] for D in bases], 2, 0.0, 100)[0] for i in range(6)]
    np.testing.assert_allclose(together, alone, rtol=1e-9)


def test_a_problem_below_its_threshold_rests_and_work_stops_when_told():
    S = covariance(3, 6)[None]
    bases = axes([[0, 1], [2, 3]], 6)
    dense = ky_fan(S, 2)[0]
    assert support_bounds(S, bases, 2, 2.0 * dense, 500)[0] == pytest.approx(dense)
    assert support_bounds(S, bases, 2, 0.0, 500, running=lambda: False)[0] == pytest.approx(dense)


def test_planes_are_what_two_supports_span():
    first, second, third = axes([[0, 1, 2], [2, 3], [0, 1, 2]], 5)
    found = planes([first, second, third])
    assert [int(np.linalg.matrix_rank(D[0])) for D in found] == [4, 3, 4]
    for D, T in zip(found, ([0, 1, 2, 3], [0, 1, 2], [0, 1, 2, 3]), strict=True):
        np.testing.assert_allclose(D[0] @ D[0].T, np.diag(np.isin(range(5), T).astype(float)), atol=1e-12)
    assert (found[0][0].any(axis=0)).sum() == 4
    (line,) = planes([first[:, :, :1], first[:, :, :1]])
    assert not line.any()


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
