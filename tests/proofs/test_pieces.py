"""The pieces of a joint proof: components alone, unions, adjusted variance and its multipliers."""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np
import pytest

import spcastat as sp
from spcastat.linalg.operators import Gram
from spcastat.measures import MEASURES
from spcastat.proofs.adjusted_bounds import (
    Boxes,
    Sequence,
    eigenvalues,
    first_component_bounds,
    first_two_bound,
    largest,
)
from spcastat.proofs.duals import (
    capped_simplex,
    gram,
    multiplier,
    ordered_bounds,
    ordered_relaxation,
    sequential,
)
from spcastat.proofs.eigenvalue_bounds import Clock, Node, examine, meeting
from spcastat.proofs.jointly import TARGET, certify_joint, relaxed, root_bound, sparse_eigenvalues
from spcastat.proofs.orthogonal import Orthogonal
from spcastat.proofs.relaxed import (
    Frame,
    elimination_bounds,
    least_squares_frame,
    losses,
    pev_frame,
    reaches,
    support_bounds,
    union_table,
    without,
)
from spcastat.search.criteria import criterion_of_matrix
from spcastat.search.default import joint
from spcastat.search.matrices import unit
from spcastat.search.moves import refined

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


# --- Bounds on adjusted variance ------------------------------------------------------------------
# The bounds are held against the best of many loadings on every support: a value that is attained, so that no
# bound may be below it, whatever its tolerance.


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
