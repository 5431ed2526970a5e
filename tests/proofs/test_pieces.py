"""The pieces of a joint proof: components of one variable, free ones, unions, adjusted variance."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from spcastat.linalg.operators import Gram
from spcastat.proofs.duals import capped_simplex, ordered_bounds, ordered_relaxation, sequential
from spcastat.proofs.eigenvalue_bounds import Clock, Node, examine
from spcastat.proofs.jointly import relaxed, root_bound, sparse_eigenvalues
from spcastat.proofs.orthogonal import Orthogonal
from spcastat.proofs.projection_bounds import meeting
from spcastat.proofs.relaxed import (
    Frame,
    elimination_bounds,
    least_squares_frame,
    pev_frame,
    reaches,
    union_table,
    without,
)

from .conftest import values_of_supports


def covariance(seed: int, p: int, n: int | None = None) -> np.ndarray:
    X = np.random.default_rng(seed).standard_normal((n or 2 * p, p))
    S = X.T @ X
    return S / np.trace(S)


def pev(S: np.ndarray, V: np.ndarray) -> float:
    Q = np.linalg.qr(V)[0]
    return float(np.trace(Q.T @ S @ Q))


def least_squares(S: np.ndarray, V: np.ndarray) -> float:
    SV = S @ V
    return float(np.trace(np.linalg.pinv(V.T @ SV) @ (SV.T @ SV)))


@pytest.mark.parametrize(("build", "measure"), [(pev_frame, pev), (least_squares_frame, least_squares)])
@pytest.mark.parametrize("single", [[1], [0, 3]])
def test_elimination_is_exact(build, measure, single):
    """With the rest dense it is attained: the leading eigenvectors of what the variables leave."""
    S = covariance(1, 6)
    k = len(single) + 2
    frame = build(S, k)
    left = without(frame, np.array(single))
    values, vectors = np.linalg.eigh(left.M)
    assert left.k == 2
    assert left.dense == pytest.approx(left.offset + values[-2:].sum())
    W = np.linalg.lstsq(left.F, vectors[:, -2:], rcond=None)[0]
    V = np.zeros((6, k))
    V[single, range(len(single))] = 1.0
    V[left.variables, len(single) :] = W
    assert measure(S, V) == pytest.approx(left.dense, rel=1e-8)
    (bound,) = elimination_bounds(frame, np.array([single]))
    assert bound == pytest.approx(left.dense, rel=1e-8)


def test_least_squares_leaves_the_schur_complement():
    S = covariance(2, 5)
    left = without(least_squares_frame(S, 2), np.array([2]))
    rest = [0, 1, 3, 4]
    schur = S - np.outer(S[:, 2], S[2]) / S[2, 2]
    np.testing.assert_allclose(left.F.T @ left.F, schur[np.ix_(rest, rest)], atol=1e-14)
    assert left.offset == pytest.approx((S[:, 2] ** 2).sum() / S[2, 2])


@pytest.mark.parametrize(("build", "measure"), [(pev_frame, pev), (least_squares_frame, least_squares)])
def test_the_union_table_holds_every_fit_on_its_variables(build, measure):
    S = covariance(3, 5)
    table = union_table(build(S, 2))
    rng = np.random.default_rng(0)
    for size in (2, 3, 4):
        for U in combinations(range(5), size):
            V = np.zeros((5, 2))
            V[list(U)] = rng.standard_normal((size, 2))
            assert measure(S, V) <= table[sum(1 << i for i in U)]
    reach = reaches(table, 2)
    for bits in range(32):
        more = [bits | (1 << i) | (1 << j) for i in range(5) for j in range(5)]
        assert reach[2][bits] == table[[*more, bits]].max()


def test_the_union_table_of_small_variances_is_no_looser():
    """One component on uncorrelated variables explains the largest of their variances, in whatever unit."""
    unit, variances = 1e-8, np.array([3.0, 2.0, 1.0])
    table = union_table(Frame(unit * np.diag(variances), np.eye(3), np.arange(3), 1))
    expected = [0.0, *(max(variances[[i for i in range(3) if bits >> i & 1]]) for bits in range(1, 8))]
    # the allowance for rounding is 1e-10 of the trace
    np.testing.assert_allclose(table, unit * np.array(expected), rtol=1e-9)


def test_the_bound_of_dense_components_has_room_for_rounding_and_no_more():
    """1e-10 of the trace, while eigenvalues are exact to 1e-15 of it."""
    S = covariance(3, 5)
    frame = Frame(S, np.eye(5), np.arange(5), 2, 0.25)
    exact = 0.25 + np.linalg.eigvalsh(S)[-2:].sum()
    assert frame.dense - exact == pytest.approx(1e-10 * np.trace(S), rel=1e-3)


def test_a_component_of_all_variables_is_not_searched():
    S = covariance(5, 6)
    assert relaxed(S, (6, 2), "adjusted").cards == (2,)
    assert Orthogonal(S, (6, 2, 2)).cards == (2, 2)


def test_duplicates_span_what_one_of_them_spans():
    X = np.random.default_rng(4).standard_normal((20, 5))
    X[:, 1] = X[:, 0]
    S = X.T @ X / np.trace(X.T @ X)
    frame = least_squares_frame(S, 2)
    D, sound = frame.bases(np.array([[0, 1], [0, 2]]))
    assert sound.all()
    assert [np.linalg.matrix_rank(one) for one in D] == [1, 2]
    left = without(frame, np.array([0, 1]))  # the second adds nothing
    assert left.dense >= least_squares(S, np.eye(5)[:, :2]) - 1e-12


def test_a_component_of_p_less_k_plus_one_variables_is_free():
    """Every space of k dimensions holds a vector with k - 1 zeros wherever they are wanted."""
    S = covariance(5, 6)
    assert relaxed(S, (4, 2, 2), "pev").cards == (2, 2)
    assert relaxed(S, (3, 2, 2), "pev").cards == (2, 2, 3)
    assert relaxed(S, (4, 2, 1), "least_squares").cards == (2,)
    assert relaxed(S, (4, 2, 1), "adjusted").cards == (2, 4)


def adjusted(S: np.ndarray, V: np.ndarray) -> float:
    V = V / np.linalg.norm(V, axis=0)
    values, vectors = np.linalg.eigh(S)
    return float((np.diag(np.linalg.qr(np.sqrt(values.clip(0))[:, None] * vectors.T @ V)[1]) ** 2).sum())


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_adjusted_variance_holds_in_any_order(seed):
    rng = np.random.default_rng(seed)
    S = covariance(seed, 5)
    F = least_squares_frame(S, 3).F
    supports = [[0, 1], [1, 2, 3], [3, 4]]
    groups = [(F[:, T] @ F[:, T].T)[None] for T in supports]
    best = 0.0
    for _ in range(3000):
        V = np.zeros((5, 3))
        for j, T in enumerate(supports):
            V[T, j] = rng.standard_normal(len(T))
        best = max(best, adjusted(S, V[:, rng.permutation(3)]))
    for steps in (0, 10, 300):
        assert ordered_bounds(groups, [1, 1, 1], 0.0, steps)[0] >= best
    steps = [ordered_bounds(groups, [1, 1, 1], 0.0, steps)[0] for steps in (0, 300)]
    assert steps[1] < steps[0]  # it works until it is told to end
    Z = rng.standard_normal((1, 5, 5)) * 0.1
    assert ordered_relaxation(groups, [1, 1, 1]).certified((Z @ Z.swapaxes(1, 2))[None])[0] >= best


@pytest.mark.parametrize("n", [12, 3])
def test_components_of_one_variable_have_the_value_of_their_best_order(n):
    """All orders gone through; with three rows the fourth variable depends on the others."""
    S = covariance(6, 6, n)
    singles = np.array(list(combinations(range(6), 4)))
    for places, found in zip(singles, sequential(S, singles), strict=True):
        best = max(adjusted(S, np.eye(6)[:, list(order)]) for order in permutations(places))
        assert best - 1e-12 <= found <= best + 1e-9


def test_sparse_eigenvalues_are_the_largest_of_all_supports():
    S = covariance(8, 9)
    largest = {c: max(values_of_supports(S, c).values()) for c in (1, 3, 5)}
    expected = 2 * largest[3] + largest[5] + largest[1]
    found = sparse_eigenvalues(S, (5, 3, 1, 3), Clock(np.inf))
    assert expected <= found <= expected * (1 + 1e-8)


@pytest.mark.parametrize("cards", [(1, 3), (1, 1, 4), (2, 2)])
def test_bounds_that_need_no_search_hold(cards):
    """Against random fits, and against PCA, which is attained where every component is free."""
    rng = np.random.default_rng(3)
    for seed in range(20):
        S = covariance(seed, 5)
        values = np.linalg.eigvalsh(S)[::-1][: len(cards)]
        V = np.zeros((5, len(cards)))
        for j, c in enumerate(cards):
            V[rng.choice(5, c, replace=False), j] = rng.standard_normal(c)
        for measure, value in (("pev", pev(S, V)), ("least_squares", least_squares(S, V))):
            root = root_bound(Gram(S), cards, measure, values)
            assert value <= root.bound <= root.pca == pytest.approx(values.sum(), rel=2e-9)


def test_other_components_may_load_on_the_variable_of_a_single_one():
    """Cardinalities 4 and 1 of four variables: forbidding the first the variable of the second was wrong.

    That bound, tr S_II plus the largest eigenvalue of what regression on I leaves of the *other* variables,
    is below the fit of the leading eigenvector followed by the best variable for some matrices. So many are
    drawn that the wrong bound fails here, and the right one must hold for all.
    """
    below = 0
    for seed in range(60):
        S = covariance(seed, 4, 5)
        F = least_squares_frame(S, 2).F
        vectors = np.linalg.eigh(S)[1]
        first = vectors[:, -1]
        best = max(adjusted(S, np.column_stack([first, np.eye(4)[:, i]])) for i in range(4))
        problem = relaxed(S, (4, 1), "adjusted")
        right = problem.single_bounds(problem.singles()).max()
        wrong = 0.0
        for i in range(4):
            others = [j for j in range(4) if j != i]
            left = S - np.outer(S[:, i], S[i]) / S[i, i]
            wrong = max(wrong, S[i, i] + np.linalg.eigvalsh(left[np.ix_(others, others)])[-1])
        assert right >= best - 1e-12
        taken = np.outer(F[:, 0], F[:, 0])
        held = S[0, 0] + ordered_bounds([(F @ F.T - taken)[None]], [1], 0.0, 50)[0]
        assert held >= adjusted(S, np.column_stack([first, np.eye(4)[:, 0]])) - 1e-12
        below += wrong < best * (1 - 1e-6)
    assert below > 0


def test_supports_that_meet_are_one_group_also_by_others():
    """Checked by hand; variables beyond the 64 bits of a number count like any other."""
    supports = [[[0, 1], [0, 70]], [[2, 3], [70, 71]], [[1, 2], [3, 4]], [[5, 6], [6, 7]]]
    found = meeting([np.array(one) for one in supports], 72)
    assert found.tolist() == [[0, 0, 0, 3], [0, 0, 2, 3]]


@pytest.mark.parametrize("seed", range(3))
def test_groups_that_do_not_meet_are_problems_of_their_own(seed):
    """Two pairs of overlapping supports: at most the sum of the best of both pairs."""
    rng = np.random.default_rng(seed)
    S = covariance(seed, 8)
    supports = [[0, 1], [4, 5], [1, 2], [5, 6]]
    problem = relaxed(S, (2, 2, 2, 2), "pev")
    rows = [int(np.flatnonzero((problem.supports[0] == T).all(axis=1))[0]) for T in supports]
    root = problem.root(problem.singles()[0])
    held, loose = (
        problem.bounds([root], np.array([rows]), 0.0, steps, lambda: True)[0] for steps in (400, 0)
    )
    best = 0.0
    for pair in ((0, 2), (1, 3)):
        values = []
        for _ in range(2000):
            V = np.zeros((8, 2))
            for i, j in enumerate(pair):
                V[supports[j], i] = rng.standard_normal(2)
            values.append(pev(S, V))
        best += max(values)
    assert best <= held <= best * 1.02
    assert held <= loose <= problem.dense()


def test_what_supports_add_at_most_given_a_component_of_one_variable():
    """Closed forms: S_ii and the largest eigenvalues on the supports."""
    S = covariance(9, 6)
    single = np.array([5])
    problem = Orthogonal(S, (1, 2, 2))
    rows = [int(np.flatnonzero((problem.supports[0] == T).all(axis=1))[0]) for T in ([0, 1], [2, 3])]
    found = problem.root(single).sums.ceilings(np.array([rows]), 1, np.inf)
    own = [np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for T in ([0, 1], [2, 3])]
    assert found[0, rows[1]] == pytest.approx(S[5, 5] + sum(own), rel=1e-8)


def test_a_variable_does_not_count_among_the_others_of_its_support():
    # were the first variable taken, its own variance would become 5.2; two of the others have 0.42
    T = np.array(
        [
            [0.81, -0.16, 0.00, 0.14],
            [-0.16, 0.08, 0.04, -0.01],
            [0.00, 0.04, 0.08, 0.02],
            [0.14, -0.01, 0.02, 0.04],
        ]
    )
    best = max(np.linalg.eigvalsh(T[np.ix_(J, J)])[-1] for J in combinations(range(4), 3))
    assert best < 0.96
    assert examine(T, Node(np.arange(0), np.arange(4)), 3, 0.96) == ([], None)


def test_as_many_ones_as_entries_need_no_rounding():
    values = np.sort(np.random.default_rng(4).standard_normal((50, 6)) * np.geomspace(1e-8, 1e8, 6), axis=1)
    assert (capped_simplex(values, 6) == 1.0).all()
    assert (capped_simplex(values, 7) == 1.0).all()


@pytest.mark.parametrize("measure", ["pev", "least_squares", "adjusted"])
@pytest.mark.parametrize("steps", [0, 50])
def test_a_batch_of_nodes_is_bounded_as_each_by_itself(measure, steps):
    problem = relaxed(covariance(3, 7), (1, 3, 3, 2), measure)
    rng = np.random.default_rng(0)
    roots = [problem.root(np.array([rng.integers(7)])) for _ in range(5)]
    chosen = np.stack([rng.integers(len(supports), size=5) for supports in problem.supports], axis=1)
    batch = problem.bounds(roots, chosen, 0.78, steps, lambda: True)
    alone = [
        problem.bounds([root], rows[None], 0.78, steps, lambda: True)[0]
        for root, rows in zip(roots, chosen, strict=True)
    ]
    np.testing.assert_allclose(batch, alone, rtol=1e-12)
