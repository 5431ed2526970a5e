"""The rules of the proofs, each against a closed form, an enumeration, or parts that are made up."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from spcastat.linalg.build import prepare
from spcastat.linalg.eigenvectors import EPS
from spcastat.linalg.operators import Gram
from spcastat.measures import MEASURES
from spcastat.proofs import eigenvalue_bounds as clock
from spcastat.proofs import jointly as root
from spcastat.proofs.eigenvalue_bounds import (
    SHARES,
    Clock,
    Node,
    complement,
    cut_off,
    examine,
    gershgorin_bound,
    largest_others,
    leading_pairs,
    split,
    split_bound,
    subgradient_step,
    trace_bound,
)
from spcastat.proofs.jointly import RootBound, certify_joint, root_bound, sparse_eigenvalues
from spcastat.proofs.jointly import relaxed as problem_of
from spcastat.proofs.one_component import Incumbent, Proof, assign_supports, certify
from spcastat.proofs.orthogonal import Orthogonal, OrthogonalLeaves

from .conftest import matrices, values_of_supports


def covariance(seed: int, p: int) -> np.ndarray:
    X = np.random.default_rng(seed).standard_normal((2 * p, p))
    S = X.T @ X
    return S / np.trace(S)


# --- time -----------------------------------------------------------------------------------------


@pytest.fixture
def now(monkeypatch):
    """The time of day, to be set, and by how much it moves on whenever it is asked for."""
    time = SimpleNamespace(now=100.0, tick=0.0)

    def perf_counter():
        time.now += time.tick
        return time.now

    monkeypatch.setattr(clock, "time", SimpleNamespace(perf_counter=perf_counter))
    return time


def test_a_clock_knows_what_is_left(now):
    watch = Clock(103.0)
    assert (watch.left, watch.runs()) == (3.0, True)
    now.now = 103.0
    assert (watch.left, watch.runs()) == (0.0, False)
    now.now = 105.0
    assert watch.left == 0.0


@pytest.mark.parametrize(
    ("seconds", "steps", "left", "fits"),
    [
        (4.0, 8, 4.0, True),
        (4.0, 8, 3.9, False),
        (4.0, 5, 10.0, True),
        (4.0, 4, 10.0, False),  # a step of a second, which nothing interrupts, takes too long
        (0.7, 1, 10.0, True),
        (0.9, 1, 10.0, False),
    ],
)
def test_work_is_weighed_before_it_begins(now, seconds, steps, left, fits):
    watch = Clock(100.0 + left)
    assert watch.affords(seconds * watch.rate, steps) is fits
    assert steps > 1 or watch.affords(seconds * watch.rate) is fits
    assert Clock(0.0).affords(2e8)  # little work always fits
    assert not Clock(0.0).affords(2.1e8)


def test_speed_is_that_of_a_product_of_matrices_and_is_measured_once(now):
    """2 n^3 operations."""
    now.tick = 0.5
    watch = Clock(103.0)
    assert watch.rate == watch.rate == 2.0 * clock.BLOCK_COLUMNS**3 / 0.5
    now.tick = 0.1
    assert [watch.until(at).deadline for at in (101.0, 104.0)] == [101.0, 103.0]
    assert watch.until(101.0).rate == watch.rate


# --- bounds by sums and split matrices ------------------------------------------------------------


def test_bounds_by_sums_have_closed_forms():
    """To the rounding that is added: 8 p eps of them."""
    for seed in range(5):
        S = covariance(seed, 7)
        for c in (1, 3, 7, 9):
            largest = np.sort(np.diag(S))[::-1][:c].sum()
            rows = [S[i, i] + sum(sorted(np.abs(np.delete(S[i], i)))[::-1][: c - 1]) for i in range(7)]
            for bound, exact in ((trace_bound(S, c), largest), (gershgorin_bound(S, c), max(rows))):
                assert exact * (1.0 + EPS) <= bound <= exact * (1.0 + 60 * EPS)
            assert trace_bound(np.diag(S), c) == trace_bound(S, c)
        np.testing.assert_allclose(
            np.sort(largest_others(S, 3)), [sorted(np.abs(np.delete(S[i], i)))[-3:] for i in range(7)]
        )
        assert largest_others(S, 0).shape == (7, 0)


@pytest.mark.parametrize("c", [2, 3, 5])
def test_a_split_matrix_has_the_sums_of_the_removed_entries(c):
    S = covariance(1, 6)
    for share in (0.1, 0.5, 1.0):
        U = cut_off(S, share)
        cap = share * np.abs(S - np.diag(np.diag(S))).max()
        expected = [[0.0 if i == j else np.clip(S[i, j], -cap, cap) for j in range(6)] for i in range(6)]
        np.testing.assert_allclose(U, expected)
        M, largest = split(S, U, c)
        others = [sorted(np.abs(np.delete(U[i], i)))[::-1][: c - 1] for i in range(6)]
        np.testing.assert_allclose(M, S - U + np.diag([sum(one) for one in others]), atol=1e-15)
        for i in range(6):
            assert i not in largest[i]
            np.testing.assert_allclose(sorted(np.abs(U[i, largest[i]]))[::-1], others[i])
    shares = np.array([0.1, 0.5, 1.0])
    bounds = [np.linalg.eigvalsh(split(S, cut_off(S, share), c)[0])[-1] for share in shares]
    assert split_bound(S, c, shares) == pytest.approx(min(bounds), rel=1e-13)
    assert split_bound(S, 1, shares) == pytest.approx(np.diag(S).max(), rel=1e-13)
    assert split_bound(S, 6, shares) == pytest.approx(np.linalg.eigvalsh(S)[-1], rel=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_a_step_on_the_split_bound_is_that_of_polyak(seed):
    """Along the derivative by differences, as long as the excess over the level asks for.

    The level is so near that the other eigenvalues, which smooth the derivative, weigh less than e^-40.
    """
    S, c = covariance(seed, 7), 3
    U = 0.4 * cut_off(S, 1.0)  # no two of its entries tie

    def bound(U):
        return np.linalg.eigvalsh(split(S, U, c)[0])[-1]

    values = np.linalg.eigvalsh(split(S, U, c)[0])
    excess = (values[-1] - values[-2]) / (0.2 * 40.0)
    G = np.zeros((7, 7))
    for i, j in combinations(range(7), 2):
        E = np.zeros((7, 7))
        E[i, j] = E[j, i] = 1e-7
        G[i, j] = G[j, i] = (bound(U + E) - bound(U - E)) / 4e-7  # two entries share it
    new, before = subgradient_step(S, U, c, values[-1] - excess)
    assert before == pytest.approx(values[-1], rel=1e-13)
    np.testing.assert_allclose(new - U, -excess / (G**2).sum() * G, atol=1e-7 * excess / np.abs(G).max())
    assert subgradient_step(S, U, c, values[-1] * 1.01)[0] is U


def test_the_derivative_is_smoothed_over_three_eigenvectors():
    """Weights fall by e for every fifth of the excess that an eigenvalue lies below the largest."""
    S, c = covariance(7, 6), 3
    U = cut_off(S, 0.4)
    M, largest = split(S, U, c)
    values, vectors = np.linalg.eigh(M)
    level = values[-1] - 5 * (values[-1] - values[-3])
    excess = values[-1] - level
    weights = np.exp((values[-3:] - values[-1]) / (0.2 * excess))
    X = (vectors[:, -3:] * (weights / weights.sum())) @ vectors[:, -3:].T
    G = -X
    for i in range(6):
        for j in largest[i]:
            G[i, j] += 0.5 * X[i, i] * np.sign(U[i, j])
            G[j, i] += 0.5 * X[i, i] * np.sign(U[i, j])
    np.fill_diagonal(G, 0.0)
    np.testing.assert_allclose(subgradient_step(S, U, c, level)[0], U - excess / (G**2).sum() * G, atol=1e-13)


@pytest.mark.parametrize("p", [6, 130])
def test_leading_pairs_ascend(p):
    """By Lanczos iterations with more than a hundred variables, to a thousandth."""
    S = np.diag(np.linspace(1.0, 2.0, p) ** 8)
    values, vectors = leading_pairs(S, 3)
    np.testing.assert_allclose(values, np.diag(S)[-3:], rtol=1e-3)
    assert np.abs(vectors).argmax(axis=0).tolist() == [p - 3, p - 2, p - 1]


# --- one node -------------------------------------------------------------------------------------


def of_node(node: Node, S: np.ndarray, c: int) -> dict[tuple[int, ...], float]:
    """The largest eigenvalue on every support of a node, of at most c variables."""
    found = {}
    for r in range(c - node.taken.size + 1):
        for K in combinations(node.free.tolist(), r):
            J = np.sort([*node.taken.tolist(), *K]).astype(int)
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
                assert set(node.taken) <= set(J) <= set(order)
                assert len(set(J)) == len(J) <= c
                assert np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] >= level * (1 - 1e-9)
                continue
            held = [set(of_node(child, S, c)) for child in children]
            assert not reaching - set().union(*held)
            closed += not children
            if children:
                branched += 1
                without, with_ = children
                assert without.taken.tolist() == node.taken.tolist()
                (new,) = set(with_.taken) - set(node.taken)
                assert new not in without.free
                assert without.free.tolist() == with_.free.tolist()
                assert set(without.free) < set(node.free)
                for child in children:
                    assert child.U is None or child.U.shape == (len(child.free),) * 2
            if level < best:
                assert reaching
    assert min(branched, found_, closed) > 20


def test_the_complement_of_taken_variables_has_the_level_where_the_support_has():
    S = covariance(3, 7)
    node = Node(np.array([1, 4]), np.array([0, 2, 3, 6]))
    for J in combinations(range(4), 2):
        whole = [1, 4, *node.free[list(J)]]
        level = np.linalg.eigvalsh(S[np.ix_(whole, whole)])[-1]
        T = complement(S, node, level)
        assert np.linalg.eigvalsh(T[np.ix_(J, J)])[-1] == pytest.approx(level, rel=1e-9)
    assert complement(S, node, np.linalg.eigvalsh(S[np.ix_([1, 4], [1, 4])])[-1] * (1 - 1e-12)) is None


# --- branch and bound -----------------------------------------------------------------------------


def test_a_proof_stores_better_bounds_and_supports_only():
    proof = Proof()
    proof.lower(3.0, "first")
    proof.lower(3.0, "second")
    proof.raise_to(2.0, np.array([3, 1]))
    proof.raise_to(2.0, np.array([0, 1]))
    assert (proof.bound, proof.argument, proof.value, proof.support.tolist()) == (3.0, "first", 2.0, [1, 3])
    proof.lower(2.0 * (1 + 1e-9), "third")
    assert proof.closed
    proof.bound = 2.0 * (1 + 1.01e-9)
    assert not proof.closed


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
    S = 3.0 * covariance(4, 6)
    values, variances = np.linalg.eigvalsh(S)[::-1] / 3.0, np.sort(np.diag(S))[::-1] / 3.0
    for cards in ((2, 2), (1, 1), (1, 2, 1), (4, 4, 1)):
        k, single = len(cards), cards.count(1)
        for measure in ("pev", "adjusted", "least_squares"):
            found = root_bound(Gram(S), cards, measure, 3.0 * values[:k])
            bounds = {"dense PCA": values[:k].sum()}
            if measure != "least_squares":
                bounds["sum of the largest variances"] = variances[: sum(cards)].sum()
                if 0 < single < k:
                    mixed = variances[:single].sum() + values[: k - single].sum()
                    bounds["components of one variable, the others dense"] = mixed
            best = min(bounds, key=bounds.__getitem__)
            assert found.argument == best
            assert bounds[best] <= found.bound <= bounds[best] * (1 + 2e-9)
            assert found.pca == pytest.approx(values[:k].sum(), rel=2e-9)
    assert root_bound(Gram(S), (2,) * 6, "pev", 3.0 * values).pca == 1.0
    told = RootBound(bound=0.5, argument="this")
    told.lower(0.5, "that")
    assert told.argument == "this"


def test_sparse_eigenvalues_of_many_variables_are_bounded_by_sums():
    S = covariance(4, root.SEARCHED + 1)
    cheap = {c: min(trace_bound(S, c), gershgorin_bound(S, c)) for c in (2, 4)}
    found = sparse_eigenvalues(S, (4, 1, 2, 4), Clock(np.inf))
    assert found == pytest.approx(2 * cheap[4] + cheap[2] + np.diag(S).max(), rel=1e-13)


@pytest.mark.parametrize(
    ("supports", "cards", "expected"),
    [
        ([[4, 2], [3]], (1, 2), [[3], [2, 4]]),
        ([[1, 2], [3, 4]], (2, 2), [[1, 2], [3, 4]]),
        ([[5]], (1, 2), [[5], [0, 6]]),  # the other stays as it was
        ([[1, 2, 3]], (1, 2), None),
        ([[1], [2]], (1, 2), None),
    ],
)
def test_supports_go_to_the_components_of_their_size(supports, cards, expected):
    V = np.zeros((7, 2))
    V[1, 0] = V[0, 1] = V[6, 1] = 1.0
    found = assign_supports([np.array(T) for T in supports], cards, V)
    assert (found is None) == (expected is None)
    assert found is None or [T.tolist() for T in found] == expected


@pytest.mark.parametrize("measure", ["pev", "adjusted", "least_squares"])
def test_climbs_on_supports_keep_the_best(measure):
    """Against many random loadings on them; a value that is known is never given up."""
    S = covariance(6, 6)
    V = np.zeros((6, 2))
    V[[0, 1], [0, 0]] = V[[2, 3], [1, 1]] = 0.5**0.5
    leaves = Incumbent(S, V, measure)
    assert leaves.value == pytest.approx(MEASURES[measure](V, Gram(S))[-1], rel=1e-9)
    supports = [[np.array(T) for T in fit] for fit in ([[0, 1], [1, 2]], [[4, 5], [3, 4]], [[1, 2, 3]])]
    rng = np.random.default_rng(0)
    best = leaves.value
    for fit in supports[:2]:
        for _ in range(400):
            W = np.zeros((6, 2))
            for j in rng.permutation(2):
                W[fit[j], j] = rng.standard_normal(2)
            W /= np.linalg.norm(W, axis=0)
            best = max(best, *(MEASURES[measure](W[:, order], Gram(S))[-1] for order in ([0, 1], [1, 0])))
    found = leaves.climb(supports)
    assert best * (1 - 1e-9) <= found <= best * 1.01
    assert MEASURES[measure](leaves.V, Gram(S))[-1] == pytest.approx(found, rel=1e-9)
    assert leaves.climb([]) == leaves.climb(supports[2:]) == found
    improved_ = leaves.improve(Gram(S), (2, 2))
    assert improved_ == leaves.value >= found
    assert np.count_nonzero(leaves.V, axis=0).tolist() == [2, 2]
    assert leaves.improve(Gram(S), (1, 1)) == improved_


def test_orthogonal_climbs_keep_the_best():
    S = covariance(6, 6)
    leaves = OrthogonalLeaves(S, np.eye(6)[:, :2], "pev")
    leaves.cards = (2, 2)
    assert leaves.value == pytest.approx(S[0, 0] + S[1, 1])
    fits = [[np.array(T) for T in fit] for fit in ([[0, 1], [2, 3]], [[0, 1], [1, 2]], [[4, 5], [2, 5]])]
    best = leaves.value
    for (a, b), (c, d) in ([[0, 1], [2, 3]], [[0, 1], [1, 2]], [[4, 5], [2, 5]]):
        tops = [np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for T in ([a, b], [c, d])]
        shared = {a, b} & {c, d}
        if not shared:
            best = max(best, sum(tops))
        else:  # one of them is an axis of its own variable
            (one,), (other,) = {a, b} - shared, {c, d} - shared
            best = max(best, tops[0] + S[other, other], tops[1] + S[one, one])
    assert leaves.climb(fits) == pytest.approx(best, rel=1e-9)
    np.testing.assert_allclose(leaves.V.T @ leaves.V, np.eye(2), atol=1e-8)
    assert np.trace(leaves.V.T @ S @ leaves.V) == pytest.approx(best, rel=1e-9)


def test_which_components_are_searched():
    S = covariance(0, 6)
    for measure in ("pev", "adjusted", "least_squares"):
        problem = problem_of(S, (1, 3, 1, 2), measure)
        assert (problem.m, problem.cards, problem.k, problem.p) == (
            2,
            (2,) if measure != "adjusted" else (2, 3),
            4,
            6,
        )
        assert problem.variables == (6 if measure == "adjusted" else 4)
    problem = problem_of(S, (2, 3), "adjusted")
    assert problem.choices == 15 * 20
    assert problem_of(S, (1, 2), "pev").choices == 6 * 10
    assert problem_of(S, (5, 6), "pev").free
    assert not problem_of(S, (4, 6), "pev").free
    assert Orthogonal(S, (6, 7)).free
    assert not Orthogonal(S, (6, 5)).free


@pytest.mark.parametrize("measure", ["pev", "adjusted", "least_squares"])
def test_nodes_have_the_bounds_that_each_has_alone_and_dense_ones_without_time(measure):
    problem = problem_of(covariance(3, 7), (1, 3, 2), measure)
    rng = np.random.default_rng(0)
    roots = [problem.root(np.array([i])) for i in rng.integers(7, size=9)]
    chosen = rng.integers(10, size=(9, 1))
    whole = problem.bounds(roots, chosen, 0.0, 10, lambda: True)
    for root_, rows, bound in zip(roots, chosen, whole, strict=True):
        alone = problem.bounds([root_], rows[None], 0.0, 10, lambda: True)[0]
        assert bound == pytest.approx(alone, rel=1e-10)
    late = problem.bounds(roots, chosen, 0.0, 0, lambda: False)
    assert (late == [one.frame.dense for one in roots]).all()


def test_nine_components_of_one_variable_have_the_bound_of_pev():
    """Up to eight all orders are gone through, by their subsets, and the bound is exact."""
    S = covariance(2, 9)
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


def test_a_split_bound_closes_nodes_that_sums_leave_open():
    """Without branching, where the matrix cut off at one of the shares is below the level."""
    closed = 0
    for seed in range(20):
        S = np.corrcoef(np.random.default_rng(seed).standard_normal((24, 9)), rowvar=False)
        for c in (4, 5):
            sums = min(trace_bound(S, c), gershgorin_bound(S, c))
            level = split_bound(S, c, SHARES) * (1.0 + 1e-9)
            best = max(values_of_supports(S, c).values())
            if best < level < sums:
                closed += 1
                assert examine(S, Node(np.arange(0), np.arange(9)), c, level) == ([], None)
    assert closed > 10


@pytest.mark.parametrize("chosen", [1, 2])
def test_bounds_of_adjusted_variance_given_a_component_of_one_variable(chosen):
    """Closed form: S_ii, the largest eigenvalues of N_T - N_i, and of N - N_i for what may be dense."""
    S = covariance(3, 6)
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


def test_nodes_with_a_component_of_one_variable_are_closed_if_possible():
    """The level that a bound has to get below is that of the whole, of which the variable explains a part."""
    S = covariance(3, 7)
    problem = problem_of(S, (1, 3, 3), "pev")
    root_, tried = problem.root(np.array([5])), 0
    assert root_.frame.offset > 0.1
    for rows in combinations(range(len(problem.supports[0])), 2):
        chosen = np.array([rows])

        def bound(threshold, steps, chosen=chosen):
            return problem.alike([root_], chosen, threshold, steps, lambda: True)[0]

        loose, tight = bound(-np.inf, 0), bound(-np.inf, 100)
        if tight < loose - 1e-3:
            tried += 1
            level = 0.5 * (loose + tight)
            assert bound(level, 100) <= level
        if tried == 5:
            break
    assert tried == 5
