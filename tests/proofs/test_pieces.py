"""The pieces of a joint proof: components alone, unions, adjusted variance and its multipliers."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from spcastat.linalg.operators import Gram
from spcastat.linalg.standardisation import prepare
from spcastat.proofs.adjusted_bounds import Sequence
from spcastat.proofs.duals import (
    ordered_bounds,
    ordered_relaxation,
)
from spcastat.proofs.eigenvalue_bounds import (
    Clock,
    Node,
    complement,
    examine,
)
from spcastat.proofs.first_components import Boxes, OpenBoxes, first_component_bounds
from spcastat.proofs.jointly import GAP_TARGET, certify_joint, relaxed, root_bound, sparse_eigenvalues
from spcastat.proofs.jointly import relaxed as problem_of
from spcastat.proofs.one_component import certify
from spcastat.proofs.relaxed import (
    bounds_alone,
    elimination_bounds,
    least_squares_frame,
    losses,
    pev_frame,
    reaches,
    union_table,
    without,
)
from spcastat.search.joint_search import joint
from spcastat.search.matrices import unit
from spcastat.search.moves import refined
from spcastat.search.objectives import OBJECTIVES

from .conftest import matrices, values_of_supports


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


def test_sparse_eigenvalues_are_the_largest_of_all_supports():
    S = covariance(8, 9)
    largest = {c: max(values_of_supports(S, c).values()) for c in (1, 3, 5)}
    expected = 2 * largest[3] + largest[5] + largest[1]
    found = sparse_eigenvalues(S, (5, 3, 1, 3), Clock(np.inf))
    assert expected <= found <= expected * (1 + 1e-8)


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
    criterion = OBJECTIVES["adjusted"].criterion.of_matrix(S, cards)
    chosen = [np.concatenate(T) for T in product(*(list(combinations(range(len(S)), c)) for c in cards))]
    places = np.array(chosen)
    fits = criterion.fits(np.concatenate([places] * 2), rng.standard_normal((2 * len(places), sum(cards))))
    fits = refined(criterion, fits, 60)
    top = fits.subset(np.array([int(np.argmax(fits.value))]))
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
    relaxed.prepare(V, best * (1.0 + GAP_TARGET), Clock(np.inf))
    kept = set(map(tuple, relaxed.supports_by_card[2].tolist()))
    assert set(map(tuple, (np.flatnonzero(v) for v in V.T))) <= kept | {()}
    left_out = [T for T in combinations(range(6), 2) if T not in kept]
    assert left_out
    criterion = OBJECTIVES["adjusted"].criterion.of_matrix(S, (2, 2))
    places = np.array([(*T, *U) for T in left_out for U in combinations(range(6), 2)])
    start = np.random.default_rng(0).standard_normal((len(places), 4))
    assert refined(criterion, criterion.fits(places, start), 60).value.max() <= best * (1.0 + GAP_TARGET)


def test_what_two_components_lose_is_that_of_two_planar_problems():
    """N = second I + spread uu': the largest sum over orthonormal q and r in the plane of u and w."""
    angles = np.linspace(0.0, np.pi, 20_001)
    for turn, (a, b) in product((0.0, 0.3, 1.0, 1.5), ((0.5, 0.5), (0.9, 0.2))):
        u, w = np.array([1.0, 0.0]), np.array([np.cos(turn), np.sin(turn)])
        q = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        r = np.stack([-np.sin(angles), np.cos(angles)], axis=1)
        exact = (a * (q @ u) ** 2 + b * (r @ w) ** 2).max()
        one, other = (bounds_alone((size * np.outer(d, d))[None]) for size, d in ((a, u), (b, w)))
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
        criterion = OBJECTIVES["adjusted"].criterion.of_matrix(S, (3, 3))
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
        box = OpenBoxes(
            leaf=np.zeros(1, dtype=int),
            first_variances=shares[None] * parts[0],
            second_variances=shares[None] * parts[1],
            a=shares[None] * a,
            bound=np.full(1, np.inf),
            start=np.zeros((1, 3 + d * d)),
        )
        boxes = Boxes(factors[0][None], factors[1][None], others[None], box)
        G = rng.standard_normal((1, d, d))
        assert (boxes.certified(G @ G.mT, rng.standard_normal((1, 3)))[0] > sum(parts)).all()
        assert (boxes.bounds(0.0, 300)[0] > sum(parts) * (1.0 - 1e-8)).all()


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


# --- The rules of the proofs, against closed forms and enumeration ------------------------------


def of_rows(seed: int, p: int) -> np.ndarray:
    X = np.random.default_rng(seed).standard_normal((2 * p, p))
    S = X.T @ X
    return S / np.trace(S)


# --- one node -------------------------------------------------------------------------------------


def of_node(node: Node, S: np.ndarray, c: int) -> dict[tuple[int, ...], float]:
    """The largest eigenvalue on every support of a node, of at most c variables."""
    found = {}
    for r in range(c - node.included.size + 1):
        for K in combinations(node.free.tolist(), r):
            J = np.sort([*node.included.tolist(), *K]).astype(int)
            if J.size:
                found[tuple(J.tolist())] = np.linalg.eigvalsh(S[np.ix_(J, J)])[-1]
    return found


def test_a_node_loses_no_support_that_reaches_the_level(rng):
    """By enumeration: what is neither found nor closed is in a child, and what is found is true."""
    branched = found_ = closed = 0
    for _, S in matrices(rng, 160, 8):
        S = S / np.diag(S).max() + 1e-9 * np.eye(len(S))  # definite, as in a search
        p = len(S)
        c = int(rng.integers(2, p))
        order = rng.permutation(p)
        taken = int(rng.integers(0, c))
        node = Node(order[:taken], order[taken : p - int(rng.integers(0, 2))])
        values = of_node(node, S, c)
        best = max(values.values())
        for level in best * np.array([0.9, 0.999999, 1.000001, 1.02, 1.1]):
            children, found = examine(S, node, c, level)
            reaching = {J for J, value in values.items() if value >= level}
            if found is not None:
                found_ += 1
                J = tuple(np.sort(found).tolist())
                assert set(node.included) <= set(J) <= set(order)
                assert len(set(J)) == len(J) <= c
                assert np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] >= level * (1 - 1e-9)
                continue
            held = [set(of_node(child, S, c)) for child in children]
            assert not reaching - set().union(*held)
            closed += not children
            if children:
                branched += 1
                without, with_ = children
                assert without.included.tolist() == node.included.tolist()
                (new,) = set(with_.included) - set(node.included)
                assert new not in without.free
                assert without.free.tolist() == with_.free.tolist()
                assert set(without.free) < set(node.free)
                for child in children:
                    assert child.U is None or child.U.shape == (len(child.free),) * 2
            if level < best:
                assert reaching
    assert min(branched, found_, closed) > 20


def test_the_complement_of_taken_variables_has_the_level_where_the_support_has():
    S = of_rows(3, 7)
    node = Node(np.array([1, 4]), np.array([0, 2, 3, 6]))
    for J in combinations(range(4), 2):
        whole = [1, 4, *node.free[list(J)]]
        level = np.linalg.eigvalsh(S[np.ix_(whole, whole)])[-1]
        T = complement(S, node, level)
        assert np.linalg.eigvalsh(T[np.ix_(J, J)])[-1] == pytest.approx(level, rel=1e-9)
    assert complement(S, node, np.linalg.eigvalsh(S[np.ix_([1, 4], [1, 4])])[-1] * (1 - 1e-12)) is None


# --- certificates ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("card", "argument"), [(1, "sum of the largest variances"), (300, "leading eigenvalue")]
)
def test_more_than_5000_variables_get_the_better_of_two_cheap_bounds(card, argument):
    X = np.random.default_rng(0).standard_normal((20, 5001))
    op = prepare(X, None, True, False, None)[1]
    v = np.zeros((5001, 1))
    v[:card] = card**-0.5
    (found,) = certify(op, v)
    sums = np.sort(X.var(axis=0, ddof=1))[::-1][:card].sum()
    top = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[0] ** 2 / 19
    assert min(sums, top) <= found.upper_bound <= min(sums, top) * (1 + 3e-9)
    assert found.proof == f"{argument} (too many variables for a search)"
    assert found.value == found.best_known == pytest.approx((X @ v).var(ddof=1))
    assert found.support.tolist() == list(range(card))
    assert found.nodes == 0


# --- whole fits -----------------------------------------------------------------------------------


def test_bounds_of_whole_fits_before_any_search():
    """Closed forms, to the rounding of iterations, 1e-9."""
    S = 3.0 * of_rows(4, 6)
    values, variances = np.linalg.eigvalsh(S)[::-1] / 3.0, np.sort(np.diag(S))[::-1] / 3.0
    for cards in ((2, 2), (1, 1), (1, 2, 1), (4, 4, 1)):
        k, single = len(cards), cards.count(1)
        for measure in ("pev", "adjusted", "least_squares"):
            found = root_bound(Gram(S), cards, measure, values[:k] * (1.0 + 1e-9))
            bounds = {"dense PCA": values[:k].sum()}
            if measure != "least_squares":
                bounds["sum of the largest variances"] = variances[: sum(cards)].sum()
                if 0 < single < k:
                    mixed = variances[:single].sum() + values[: k - single].sum()
                    bounds["components of one variable, the others dense"] = mixed
            best = min(bounds, key=bounds.__getitem__)
            assert found.argument == best
            assert bounds[best] <= found.bound <= bounds[best] * (1 + 2e-9)


def test_nine_components_of_one_variable_have_the_bound_of_pev():
    """Up to eight all orders are gone through, by their subsets, and the bound is exact."""
    S = of_rows(2, 9)
    eight = problem_of(S, (1,) * 8, "adjusted")
    singles = eight.singles()[:1]
    T = S[:8, :8]
    bound = eight.single_bounds(singles)[0]
    assert bound < np.trace(T) - 1e-3
    nine = problem_of(S, (1,) * 9, "adjusted")
    assert nine.single_bounds(nine.singles())[0] == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize(
    ("p", "V", "why"),
    [
        (2001, np.eye(2001)[:, :2], "too many variables for a search"),
        (3, np.diag([1.0, 0.0, 0.0])[:, :2], "a component without loadings"),
        (257, np.eye(257)[:, :2], "time limit"),
        (3, np.full((3, 2), 3**-0.5), "free components"),
    ],
)
def test_why_nothing_is_searched(p, V, why):
    X = np.random.default_rng(0).standard_normal((5, p))
    found = certify_joint(prepare(X, None, True, False, None)[1], V, "pev", time_limit=0.0)
    assert found.proof.endswith(f"({why})")
    assert found.nodes == 0


@pytest.mark.parametrize("chosen", [1, 2])
def test_bounds_of_adjusted_variance_given_a_component_of_one_variable(chosen):
    """Closed form: S_ii, the largest eigenvalues of N_T - N_i, and of N - N_i for what may be dense."""
    S = of_rows(3, 6)
    problem = problem_of(S, (1, 2, 2), "adjusted")
    values, vectors = np.linalg.eigh(S)
    F = (vectors * np.sqrt(values)) @ vectors.T
    single = np.outer(F[:, 5], F[:, 5])
    supports = [problem.supports[0][row] for row in (3, 11)][:chosen]
    parts = [F[:, T] @ F[:, T].T - single for T in supports] + [F @ F.T - single] * (2 - chosen)
    expected = S[5, 5] + sum(np.linalg.eigvalsh(one)[-1] for one in parts)
    root_ = problem.root(np.array([5]))
    found = problem.bounds([root_], np.array([[3, 11][:chosen]]), 0.0, 0, lambda: True)[0]
    assert found == pytest.approx(min(expected, root_.frame.dense), rel=1e-8)
    (alone,) = problem.alike([root_], np.array([[3, 11][:chosen]]), 0.0, 0, lambda: True)
    assert alone == pytest.approx(expected, rel=1e-8)
