"""Bounds for one component, for given supports and for planes: never below the true optimum."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import brentq

from spcastat.linalg.eigenvectors import below
from spcastat.proofs.duals import (
    capped_simplex,
    fantope,
    ky_fan,
    planes,
    positive,
    sequential,
    support_bounds,
    supports_relaxation,
    within_union,
)
from spcastat.proofs.eigenvalue_bounds import (
    Node,
    complement,
    cut_off,
    eigenvalue_bound,
    examine,
    gershgorin_bound,
    largest_others,
    shift_to_definite,
    spanned_bounds,
    split,
    split_bound,
    subgradient_step,
    trace_bound,
)
from spcastat.proofs.orthogonal import Orthogonal

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
                "Gershgorin": gershgorin_bound(S, c),
                "eigenvalue": eigenvalue_bound(S),
                "split": split_bound(S, c, SHARES),
                "split by any U": split_bound_of(S, c, rng),
            }
            for name, bound in bounds.items():
                assert bound >= best, f"{name} for {kind}, p={len(S)}, c={c}: {bound} < {best}"


def test_bounds_are_sharp_where_they_should_be():
    S = np.diag([3.0, 2.0, 1.0])
    assert gershgorin_bound(S, 2) == pytest.approx(3.0, rel=1e-12)
    ones = np.ones((5, 5))
    assert gershgorin_bound(ones, 3) == pytest.approx(3.0, rel=1e-12)
    assert trace_bound(ones, 3) == pytest.approx(3.0, rel=1e-12)
    assert eigenvalue_bound(ones) == pytest.approx(5.0, rel=1e-12)


def test_split_runs_from_gershgorin_to_the_leading_eigenvalue(rng):
    for _, S in matrices(rng, 40, 9):
        c = max(len(S) // 2, 2)
        # With all of S in U a diagonal of Gershgorin's row sums is left, with nothing S itself.
        top = split(S, cut_off(S, 1.0), c)[0]
        assert np.linalg.eigvalsh(top)[-1] == pytest.approx(gershgorin_bound(S, c), rel=1e-9)
        np.testing.assert_array_equal(split(S, 0.0 * S, c)[0], S)


def test_steps_lower_the_split_bound():
    S = np.corrcoef(np.random.default_rng(3).standard_normal((60, 30)), rowvar=False)
    U = cut_off(S, 0.5)
    level = 0.9 * eigenvalue_bound(split(S, U, 6)[0])
    bounds = []
    for _ in range(60):
        U, bound = subgradient_step(S, U, 6, level)
        bounds.append(bound)
    assert min(bounds) < 0.97 * bounds[0]


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


def test_shift_makes_semidefinite_and_stays_rounding(rng):
    for kind, S in matrices(rng, 80, 12):
        shift = shift_to_definite(S)
        assert np.linalg.eigvalsh(S)[0] + shift >= 0.0, kind
        assert shift <= 1e-11 * np.trace(S)


def test_shift_of_an_indefinite_matrix():
    assert shift_to_definite(np.array([[1.0, 2.0], [2.0, 1.0]])) >= 1.0


def random_node(rng: np.random.Generator, p: int, c: int) -> Node:
    order = rng.permutation(p)
    taken = int(rng.integers(0, c + 1))
    free = int(rng.integers(0, p - taken + 1))
    return Node(np.sort(order[:taken]), np.sort(order[taken : taken + free]))


def best_in(node: Node, values: dict[tuple[int, ...], float], S: np.ndarray, c: int) -> float:
    """The largest eigenvalue over the supports of a node."""
    taken, reach = set(node.taken), {*node.taken, *node.free}
    if len(reach) <= c:
        J = sorted(reach)
        return float(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1]) if J else -np.inf
    return max((v for J, v in values.items() if taken <= set(J) <= reach), default=-np.inf)


def prepared(S: np.ndarray) -> np.ndarray:
    return S / np.diag(S).max() + 1e-13 * len(S) * np.eye(len(S))


def test_interior_nodes_lose_nothing(rng):
    """A node with a support above the level is neither closed nor split so that no child has it."""
    closed = branched = 0
    for kind, S in matrices(rng, 320, 12):
        S = prepared(S)
        c = int(rng.integers(1, len(S) + 1))
        values = values_of_supports(S, c)
        for _ in range(10):
            node = random_node(rng, len(S), c)
            best = best_in(node, values, S, c)
            if not best > 0:
                continue
            level = best * (1.0 + rng.choice([-0.1, -1e-2, -1e-6, 1e-6, 1e-2, 0.1]))
            children, found = examine(S, node, c, level)
            where = f"{kind}, p={len(S)}, c={c}, taken={node.taken}, free={node.free}, {level / best}"
            if found is not None:
                assert np.linalg.eigvalsh(S[np.ix_(found, found)])[-1] >= level * (1 - 1e-12), where
                assert len(set(found)) == len(found) <= c, where
            elif level < best:
                assert children, where
                kept = max(best_in(child, values, S, c) for child in children)
                assert kept >= level * (1 - 1e-12), where
                branched += 1
            closed += not children and found is None
    assert closed > 300
    assert branched > 50


def test_the_complement_is_the_same_problem(rng):
    """A support I + K reaches the level exactly where K does in the Schur complement."""
    for _, S in matrices(rng, 80, 9):
        S = prepared(S)
        p = len(S)
        taken, free = np.arange(p // 3), np.arange(p // 3, p)
        level = float(np.linalg.eigvalsh(S)[-1]) * 0.9
        T = complement(S, Node(taken, free), level)
        if T is None:
            assert np.linalg.eigvalsh(S[: taken.size, : taken.size])[-1] >= level
            continue
        assert T.shape == (free.size, free.size)
        for size in range(1, free.size + 1):
            K = np.arange(size)
            whole = np.linalg.eigvalsh(S[: taken.size + size, : taken.size + size])[-1]
            if abs(whole - level) > 1e-9 * level:
                assert (np.linalg.eigvalsh(T[np.ix_(K, K)])[-1] >= level) == (whole >= level)


def test_numbers_of_largest_others():
    S = np.array([[9.0, -3.0, 2.0], [-3.0, 9.0, 1.0], [2.0, 1.0, 9.0]])
    assert [sorted(row) for row in largest_others(S, 1).tolist()] == [[3.0], [3.0], [2.0]]
    assert largest_others(S, 5).shape == (3, 2)
    assert largest_others(S, 0).shape == (3, 0)


# --- Bounds for given supports: the projections behind them, and that every iterate is a bound ----


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


# --- Pieces of the bounds against enumeration and closed forms, in any unit -----------------------


def spread(seed: int, d: int) -> np.ndarray:
    """A covariance matrix whose variances are far apart."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3 * d, d)) * np.geomspace(1.0, 50.0, d)
    return np.cov(X, rowvar=False)


def test_no_eigenvalues_have_the_sum_zero_for_every_matrix():
    M = np.stack([spread(0, 4), spread(1, 4)])
    assert ky_fan(M, 0).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(ky_fan(M, 5), np.trace(M, axis1=1, axis2=2))


def test_the_sum_of_all_eigenvalues_is_the_trace_without_rounding():
    M = np.stack([seed + np.round(spread(seed, 7)) for seed in range(5)])  # sums of whole numbers are exact
    assert (np.linalg.eigvalsh(M).sum(axis=1) != np.trace(M, axis1=1, axis2=2)).any()
    assert (ky_fan(M, 7) == np.trace(M, axis1=1, axis2=2)).all()


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


def test_sparse_eigenvalues_are_searched_for_where_that_takes_moments():
    assert Orthogonal(np.eye(40), (3, 3)).searched(3)
    assert not Orthogonal(np.eye(40), (20, 20)).searched(20)  # 1.4e11 supports
    assert not Orthogonal(np.eye(6), (6, 6)).searched(6)


# --- Bounds for three components on given supports, two of which hold a plane each ----------------

SUPPORTS = ([0, 1, 2], [2, 3, 4], [1, 4, 5])


def problems(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2, 30, 7))
    bases = [np.broadcast_to(np.eye(7)[:, J], (2, 7, len(J))).copy() for J in SUPPORTS]
    return np.einsum("bni,bnj->bij", X, X) / 30, bases


def explained(M, rng):
    """The variance that the best of many loadings on the supports explain together, from below."""
    best = 0.0
    for _ in range(300):
        V = np.zeros((7, 3))
        for i, J in enumerate(SUPPORTS):
            V[J, i] = rng.standard_normal(len(J))
        Q = np.linalg.qr(V)[0]
        best = max(best, float(np.trace(Q.T @ M @ Q)))
    return best


def test_planes_lower_what_is_not_below_its_level_yet():
    lowered = 0
    for seed in range(4):
        M, bases = problems(seed)
        alone = support_bounds(M, bases, 3, -np.inf, 200)
        both = spanned_bounds(M, bases, 3, -np.inf, 200, lambda: True)
        assert (both <= alone).all()
        lowered += int((both < alone - 1e-3).sum())
        rng = np.random.default_rng(seed)
        assert (both >= [explained(one, rng) for one in M]).all()
    assert lowered >= 3


def test_bounds_below_their_level_are_left_as_they_are():
    M, bases = problems(0)
    alone = support_bounds(M, bases, 3, np.inf, 200)
    np.testing.assert_array_equal(spanned_bounds(M, bases, 3, np.inf, 200, lambda: True), alone)
