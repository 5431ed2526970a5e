"""Bounds on adjusted variance: a multiplier of orthogonality, pairs, and an exact first component.

The bounds are held against the best of many loadings on every support: a value that is attained, so that no
bound may be below it, whatever its tolerance.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

import spcastat as sp
from spcastat.linalg.operators import Gram
from spcastat.measures import MEASURES
from spcastat.proofs.adjusted_bounds import Sequence, eigenvalues, largest
from spcastat.proofs.duals import gram, multiplier
from spcastat.proofs.eigenvalue_bounds import Clock
from spcastat.proofs.jointly import TARGET, certify_joint
from spcastat.proofs.relaxed import least_squares_frame, losses, support_bounds
from spcastat.proofs.two_component_bounds import Boxes, first_component_bounds, first_two_bound
from spcastat.search.criteria import criterion_of_matrix
from spcastat.search.default import joint
from spcastat.search.matrices import unit
from spcastat.search.moves import refined


def problem(seed: int, p: int, rank: int | None = None) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, rank or p)) @ rng.standard_normal((rank or p, p))
    S = np.corrcoef(X.T)
    return S / np.trace(S)


def best_of_all(S: np.ndarray, cards: tuple[int, ...], seed: int) -> tuple[float, np.ndarray]:
    """The largest adjusted variance of ascents from random loadings on all supports."""
    rng = np.random.default_rng(seed)
    criterion = criterion_of_matrix(S, cards, "adjusted")
    chosen = [np.concatenate(T) for T in product(*(list(combinations(range(len(S)), c)) for c in cards))]
    places = np.array(chosen)
    fits = criterion.fits(np.concatenate([places] * 2), rng.standard_normal((2 * len(places), sum(cards))))
    fits = refined(criterion, fits, 60)
    top = fits.some(np.array([int(np.argmax(fits.value))]))
    return float(top.value[0]), criterion.dense(top)[0]


#: Cardinalities, a seed, and the rank of the data, if it is not full.
SMALL = [((2, 2), 0, None), ((1, 3), 2, 3), ((1, 2, 3), 0, None)]
MORE = [((2, 2), 2, 3), ((3, 2), 0, None), ((3, 2), 2, 3), ((1, 3), 0, None), ((2, 2, 2), 2, 3)]


@pytest.mark.parametrize(
    ("cards", "seed", "rank"), [*SMALL, *(pytest.param(*one, marks=pytest.mark.slow) for one in MORE)]
)
def test_no_bound_is_below_the_best_over_all_supports_in_any_order(cards, seed, rank):
    S = problem(seed, 5, rank)
    best, V = max(
        (best_of_all(S, order, seed) for order in sorted({cards, cards[::-1]})), key=lambda one: one[0]
    )
    relaxed = Sequence(S, cards)
    relaxed.prepare(V, 0.0, Clock(np.inf))
    assert relaxed.multiplier.bound >= best
    assert relaxed.dense() <= float(np.linalg.eigvalsh(S)[-len(cards) :].sum()) + 1e-8
    proof = certify_joint(Gram(S), V, "adjusted", time_limit=20.0 if len(cards) == 2 else 0.3)
    assert proof.upper_bound >= best * (1.0 - 1e-12)
    if len(cards) == 2:  # with dependent variables eigenvalues of zero are raised, which leaves a little
        assert proof.gap <= (0.01 if rank is None else 0.05)


def test_supports_that_the_multiplier_leaves_out_have_no_better_fit():
    S = problem(4, 6)
    best, V = best_of_all(S, (2, 2), 0)
    relaxed = Sequence(S, (2, 2))
    relaxed.prepare(V, best * (1.0 + TARGET), Clock(np.inf))
    kept = set(map(tuple, relaxed.kept[2].tolist()))
    assert set(map(tuple, (np.flatnonzero(v) for v in V.T))) <= kept | {()}
    left_out = [T for T in combinations(range(6), 2) if T not in kept]
    assert left_out
    criterion = criterion_of_matrix(S, (2, 2), "adjusted")
    places = np.array([(*T, *U) for T in left_out for U in combinations(range(6), 2)])
    start = np.random.default_rng(0).standard_normal((len(places), 4))
    assert refined(criterion, criterion.fits(places, start), 60).value.max() <= best * (1.0 + TARGET)


def test_of_one_component_the_bound_is_the_largest_sparse_eigenvalue():
    """Where nothing is orthogonal to anything, Z = 0 is best: lambda_max over supports, by enumeration."""
    S = problem(3, 7)
    every = np.array(list(combinations(range(7), 3)))
    exact = max(np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for T in every)
    F = least_squares_frame(S, 1).F
    found = multiplier(F, {3: 1}, {3: every[:1]}, lambda G, c: largest(G, c, every, Clock(np.inf)), 0.0)
    assert exact <= found.bound <= exact * 1.01


def test_a_threshold_is_right_where_the_gram_matrix_has_no_eigenvalue_above_one():
    """lambda_max(N_T - Z) <= theta if and only if lambda_max(G_TT) <= 1: both sides are worked out."""
    rng = np.random.default_rng(5)
    S = problem(5, 6)
    F = least_squares_frame(S, 2).F
    B = rng.standard_normal((6, 6))
    Z = B @ B.T / 100.0
    for T in combinations(range(6), 3):
        theta = np.linalg.eigvalsh(F[:, T] @ F[:, T].T - Z)[-1]
        value = np.linalg.eigvalsh(gram(F, Z, theta)[np.ix_(T, T)])[-1]
        assert value == pytest.approx(1.0, rel=1e-9)


def test_bounds_of_eigenvalues_are_eigenvalues_where_they_matter():
    G = 4.0 * problem(6, 7)
    every = np.array(list(combinations(range(7), 3)))
    exact = np.linalg.eigvalsh(G[every[:, :, None], every[:, None, :]])[:, -1]
    found = eigenvalues(G, every)
    assert (found >= exact * (1.0 - 1e-12)).all()
    np.testing.assert_allclose(found[found > 0.8], exact[found > 0.8], rtol=1e-12)


def test_what_two_components_lose_is_that_of_two_planar_problems():
    """N = second I + spread uu': the largest sum over orthonormal q and r in the plane of u and w."""
    angles = np.linspace(0.0, np.pi, 20_001)
    for turn, (a, b) in product((0.0, 0.3, 1.0, 1.5), ((0.5, 0.5), (0.9, 0.2))):
        u, w = np.array([1.0, 0.0]), np.array([np.cos(turn), np.sin(turn)])
        q = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        r = np.stack([-np.sin(angles), np.cos(angles)], axis=1)
        exact = (a * (q @ u) ** 2 + b * (r @ w) ** 2).max()
        one, other = (support_bounds((size * np.outer(d, d))[None]) for size, d in ((a, u), (b, w)))
        lost = losses(one, np.array([0]), other, np.array([0]))[0, 0]
        assert a + b - lost == pytest.approx(exact, abs=1e-7)  # the angles are 1.6e-4 apart


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_leaves_of_two_components_are_closed_and_never_below_what_is_attained(seed):
    S = problem(seed, 6)
    F = least_squares_frame(S, 2).F
    rng = np.random.default_rng(seed)
    supports = [np.sort(rng.permutation(6)[:3]) for _ in range(2)]
    values = []
    for order in (supports, supports[::-1]):
        criterion = criterion_of_matrix(S, (3, 3), "adjusted")
        start = rng.standard_normal((40, 6))
        fits = criterion.fits(np.tile(np.concatenate(order), (40, 1)), start)
        values.append(float(refined(criterion, fits, 100).value.max()))
    best = max(values)
    factors = [F[:, T][None] for T in supports]
    low, high = (first_component_bounds(factors, np.array([level]), 400)[0] for level in (0.0, best * 1.0001))
    assert low >= best * (1.0 - 1e-9)
    assert high == best * 1.0001


@pytest.mark.parametrize("seed", range(6))
def test_no_box_of_the_first_two_components_has_a_bound_below_a_fit_in_it(seed):
    """For random multipliers and the best ones; in small boxes of the best multipliers little is lost."""
    rng = np.random.default_rng(seed)
    d, k = 6, 3 + seed % 2
    factors = [rng.standard_normal((d, c)) for c in rng.integers(2, 5, size=k)]
    factors[1][:, 0] = factors[0][:, 0]
    Q, parts, a = np.zeros((d, 0)), [], 0.0
    for A in factors:
        score = A @ unit(rng.standard_normal(A.shape[1]))
        left = score - Q @ (Q.T @ score)
        a = abs(float(Q[:, 0] @ score)) / float(np.linalg.norm(left)) if len(parts) == 1 else a
        parts.append(float(left @ left))
        Q = np.column_stack([Q, unit(left)])
    others = np.stack([A @ A.T for A in factors[2:]])
    for width in (1e-9, 0.3):
        shares = 1.0 + width * np.array([-1.0, rng.uniform(0.1, 1.0)])
        ends = np.concatenate([shares * parts[0], shares * parts[1], shares * a])[None]
        boxes = Boxes(factors[0], factors[1], others, ends)
        G = rng.standard_normal((1, d, d))
        assert (boxes.certified(G @ G.mT, rng.standard_normal((1, 3)))[0] > sum(parts)).all()
        assert (boxes.bounds(0.0, 300)[0] > sum(parts) * (1.0 - 1e-8)).all()


@pytest.mark.slow
def test_three_components_of_pitprops_are_closed_on_the_best_supports():
    """With the exact variance of the first component support_bounds, 0.9 % is left."""
    S = sp.datasets.load_pitprops().to_numpy() / 13.0
    F = least_squares_frame(S, 3).F
    V = joint(Gram(S), 3, (3, 3, 3), "adjusted", "auto", np.random.default_rng(0)).V
    best = float(MEASURES["adjusted"](V, Gram(S))[-1])
    factors = [F[:, np.flatnonzero(v)] for v in V.T]
    assert first_two_bound(factors, 1.0001 * best) == 1.0001 * best


@pytest.mark.slow
def test_three_components_of_pitprops_are_proven():
    S = sp.datasets.load_pitprops().to_numpy() / 13.0
    V = joint(Gram(S), 3, (3, 3, 3), "adjusted", "auto", np.random.default_rng(0)).V
    assert certify_joint(Gram(S), V, "adjusted").optimal


@pytest.mark.parametrize("cards", [(2, 2), pytest.param((5, 3), marks=pytest.mark.slow), (6, 6), (6, 1)])
def test_two_components_of_pitprops_are_proven(cards):
    S = sp.datasets.load_pitprops().to_numpy() / 13.0
    V = joint(Gram(S), 2, cards, "adjusted", "auto", np.random.default_rng(0)).V
    proof = certify_joint(Gram(S), V, "adjusted")
    assert proof.optimal
    assert proof.value == pytest.approx(float(MEASURES["adjusted"](V, Gram(S))[-1]))


def test_many_supports_have_a_bound_that_is_close():
    """60 variables, 5 million supports of each component: none is listed; PCA's bound is far above."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6)) @ rng.standard_normal((6, 60)) + rng.standard_normal((300, 60))
    S = np.corrcoef(X.T) / 60.0
    V = joint(Gram(S), 2, (5, 5), "adjusted", "auto", np.random.default_rng(0)).V
    proof = certify_joint(Gram(S), V, "adjusted", time_limit=20.0)
    assert proof.pca_bound > 2.5 * proof.value
    assert proof.value <= proof.upper_bound <= proof.value * 1.1
    assert "multiplier" in proof.proof
