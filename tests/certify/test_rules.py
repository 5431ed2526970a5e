"""The rules of the proofs, each against a closed form, an enumeration, or parts that are made up."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from spcastat.certify import branch, clock, joint, relaxed, root
from spcastat.certify import component_bounds as certificate
from spcastat.certify.best_met import Leaves, placed
from spcastat.certify.bounds import (
    EPS,
    cut_off,
    gershgorin_bound,
    improved,
    largest_others,
    leading_pairs,
    split,
    split_bound,
    trace_bound,
)
from spcastat.certify.branch import Proof
from spcastat.certify.clock import Clock
from spcastat.certify.joint import relaxed as problem_of
from spcastat.certify.node import SHARES, Node, complement, examine
from spcastat.certify.orthogonal_bounds import Orthogonal, OrthogonalLeaves
from spcastat.certify.root import RootBound, root_bound, sparse_eigenvalues
from spcastat.certify.tuples import Stop, Tuples
from spcastat.measures import MEASURES
from spcastat.operators import Gram

from .conftest import matrices, values_of_supports


def covariance(seed: int, p: int) -> np.ndarray:
    X = np.random.default_rng(seed).standard_normal((2 * p, p))
    S = X.T @ X
    return S / np.trace(S)


# --- time -----------------------------------------------------------------------------------------


@pytest.fixture
def now(monkeypatch):
    """The time of day, to be set."""
    time = SimpleNamespace(now=100.0)
    monkeypatch.setattr(clock, "time", SimpleNamespace(perf_counter=lambda: time.now))
    return time


def test_a_clock_knows_what_is_left(now):
    watch = Clock(103.0)
    assert (watch.left, watch.over, watch.runs()) == (3.0, False, True)
    now.now = 103.0
    assert (watch.left, watch.over, watch.runs()) == (0.0, True, False)
    now.now = 105.0
    assert watch.left == 0.0


@pytest.mark.parametrize(
    ("operations", "steps", "left", "fits"),
    [
        (2e8, 1, 0.0, True),  # small work always does
        (2.1e8, 1, 0.0, False),
        (4e9, 8, 4.0, True),
        (4e9, 8, 3.9, False),
        (4e9, 5, 10.0, True),
        (4e9, 4, 10.0, False),  # a step of a second, which nothing interrupts, takes too long
        (0.8e9, 1, 10.0, True),
    ],
)
def test_steps_are_weighed_before(now, operations, steps, left, fits):
    watch = Clock(100.0 + left)
    watch._rate = 1e9
    assert watch.affords(operations, steps) is fits


def test_work_is_one_step_where_nothing_else_is_said(now):
    watch = Clock(110.0)
    watch._rate = 1e9
    assert [watch.affords(operations) for operations in (0.7e9, 0.9e9)] == [True, False]


def test_a_clock_with_an_earlier_deadline_has_the_same_speed(now):
    watch = Clock(103.0)
    watch._rate = 5.0
    assert [watch.until(at).deadline for at in (101.0, 104.0)] == [101.0, 103.0]
    assert watch.until(101.0).rate == 5.0


def test_speed_is_that_of_a_product_of_matrices(monkeypatch):
    """2 n^3 operations; the first product, by which libraries are loaded, does not count."""
    ticks = iter([10.0, 10.5])
    monkeypatch.setattr(clock, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    watch = Clock(0.0)
    assert watch.rate == watch.rate == 2.0 * clock.TRIAL**3 / 0.5


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
def test_a_split_matrix_has_sums_of_what_is_split_off(c):
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
    new, before = improved(S, U, c, values[-1] - excess)
    assert before == pytest.approx(values[-1], rel=1e-13)
    np.testing.assert_allclose(new - U, -excess / (G**2).sum() * G, atol=1e-7 * excess / np.abs(G).max())
    assert improved(S, U, c, values[-1] * 1.01)[0] is U


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
    np.testing.assert_allclose(improved(S, U, c, level)[0], U - excess / (G**2).sum() * G, atol=1e-13)


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


def test_a_proof_takes_what_is_better():
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


class Refuting(branch._Search):
    """A branch and bound whose verdicts are given: whether a bound is above the true one, and its cost."""

    def __init__(self, true, value, bound, cost=1.0):
        super().__init__(np.eye(3), 2, Proof(value, np.array([0]), bound), Clock(np.inf), np.inf, None, None)
        self.true, self.cost, self.tried = true, cost, []

    def _refute(self, bound, budget):
        self.tried.append((bound, budget))
        if bound < self.true:
            self.proof.value = self.true
            return None
        return bool(budget * (bound / self.true) ** 8 >= self.cost)


def test_a_search_in_depth_lowers_the_bound_between_attempts():
    """Attempts have 64 nodes, then 4 times as many; between them the bound is halved towards the value."""
    search = Refuting(1.0, 1.0, 4.0, cost=1000.0)
    search._deepen()
    proof = search.proof
    assert proof.argument == "exhaustive branch and bound"
    assert proof.bound == pytest.approx(1.0 + 8e-10, rel=1e-12)
    budgets = [budget for _, budget in search.tried]
    assert sorted(set(budgets)) == [64.0, 256.0, 1024.0]
    bounds = [bound for bound, budget in search.tried if budget == 64.0]
    # the target fails; half-way to 4 and then to 2.5 succeed
    np.testing.assert_allclose(bounds, [1.0, 2.5, 1.75], rtol=1e-9)


def test_a_better_support_is_taken_up_at_once():
    search = Refuting(1.5, 1.0, 4.0)
    search._deepen()
    assert search.proof.value == 1.5
    assert search.proof.bound == pytest.approx(1.5 * (1 + 8e-10), rel=1e-12)
    assert len(search.tried) == 2
    closed = Refuting(1.5, 1.0, 1.5)
    closed._deepen()
    assert len(closed.tried) == 1
    assert closed.proof.bound == 1.5


@pytest.mark.parametrize("budget", [1.0, 5.0, 30.0])
def test_a_refutation_ends_with_its_nodes(budget):
    S = covariance(0, 12)
    search = branch._Search(S, 5, Proof(), Clock(np.inf), np.inf, None, lambda n: None)
    search.run(None)
    search.proof.nodes = 0
    verdict = search._refute(search.proof.value * (1 + 1e-9), budget)
    assert verdict in (True, False)
    assert search.proof.nodes <= budget
    assert verdict or search.proof.nodes == budget


# --- certificates ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "bound", "best", "gap", "optimal"),
    [
        (2.0, 2.5, 2.2, 25.0, False),
        (2.0, 2.0 * (1 + 0.9e-9), 1.0, 0.9e-7, True),
        (2.0, 2.0 * (1 + 1.1e-9), 1.0, 1.1e-7, False),
        (2.0, 1.9, 1.0, 0.0, True),  # rounding
        (0.0, 0.05, 0.0, 0.0, True),  # below the floor
        (0.0, 0.2, 0.1, np.inf, False),
        (0.01, 0.1, 0.0, 900.0, True),
    ],
)
def test_a_certificate_says_how_far_the_bound_is(value, bound, best, gap, optimal):
    v, support = np.array([0.6, 0.0, -0.8]), np.array([1])
    made = certificate._certificate(value, v, bound, 0.1, "because", 7, 0.0, best, support)
    np.testing.assert_allclose(made.gap, gap, rtol=1e-6)
    assert made.optimal is optimal
    assert (made.cardinality, made.value, made.upper_bound) == (2, value, max(bound, value))
    assert (made.best_known, made.nodes, made.proof) == (max(best, value), 7, "because")
    assert made.support.tolist() == ([1] if best >= value else [0, 2])


@pytest.mark.parametrize(
    ("card", "argument"), [(1, "sum of the largest variances"), (4, "leading eigenvalue")]
)
def test_a_cheap_certificate_is_the_better_of_two_bounds(card, argument):
    S = covariance(2, 6)
    v = np.zeros(6)
    v[:card] = card**-0.5
    floor = 1e-6
    clock = Clock(np.inf)
    made, known, stopped = certificate._cheap(Gram(S), v, card, v @ S @ v, floor, "", clock, np.inf)
    value = np.linalg.eigvalsh(S)[-1]
    sums = np.sort(np.diag(S))[::-1][:card].sum() + card * floor
    assert made.upper_bound == pytest.approx(min(value, sums), rel=3e-9)
    assert made.upper_bound >= min(value, sums)
    assert made.proof == f"{argument} (time limit)"
    assert made.value == made.best_known == pytest.approx(v @ S @ v)
    assert made.support.tolist() == list(range(card))
    assert known == pytest.approx(value, rel=3e-9)
    assert not stopped
    again, same, _ = certificate._cheap(Gram(S), v, card, v @ S @ v, floor, "interrupted", clock, 0.01)
    assert (again.upper_bound, same) == (max(0.01, again.value), 0.01)
    assert again.proof == "leading eigenvalue (interrupted)"
    never, unknown, _ = certificate._cheap(Gram(S), v, card, v @ S @ v, floor, "", Clock(0.0), np.inf)
    assert never.upper_bound == pytest.approx(sums, rel=1e-12)
    assert unknown == np.inf


def test_components_share_the_time_that_is_left(monkeypatch, now):
    """Each may use an equal share; what one leaves the others have."""
    monkeypatch.setattr(certificate, "time", clock.time)
    shares = []

    def search(find, view, v, value, floor, watch, *more):
        shares.append(watch.left)
        now.now += 2.0 if len(shares) == 1 else watch.left
        return certificate._certificate(1.0, v, 2.0, 0.0, "", 0, 0.0, 0.0, np.array([0])), ""

    monkeypatch.setattr(certificate, "_search", search)
    certificate.certify(Gram(covariance(0, 4)), np.eye(4)[:, :3], time_limit=12.0)
    assert shares == [4.0, 5.0, 5.0]


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
            assert found.proof == best
            assert bounds[best] <= found.bound <= bounds[best] * (1 + 2e-9)
            assert found.pca == pytest.approx(values[:k].sum(), rel=2e-9)
    assert root_bound(Gram(S), (2,) * 6, "pev", 3.0 * values).pca == 1.0
    told = RootBound(1.0, 0.5, "this")
    told.lower(0.5, "that")
    assert told.proof == "this"


def test_sparse_eigenvalues_of_many_variables_are_bounded_by_sums(monkeypatch):
    monkeypatch.setattr(root, "SEARCHED", 5)
    S = covariance(4, 6)
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
    found = placed([np.array(T) for T in supports], cards, V)
    assert (found is None) == (expected is None)
    assert found is None or [T.tolist() for T in found] == expected


@pytest.mark.parametrize("measure", ["pev", "adjusted", "least_squares"])
def test_climbs_on_supports_keep_the_best(measure):
    """Against many random loadings on them; a value that is known is never given up."""
    S = covariance(6, 6)
    V = np.zeros((6, 2))
    V[[0, 1], [0, 0]] = V[[2, 3], [1, 1]] = 0.5**0.5
    leaves = Leaves(S, V, measure)
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
    leaves = OrthogonalLeaves(S, np.eye(6)[:, :2] @ np.eye(2))
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


def test_what_of_a_problem_is_searched(monkeypatch):
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
    assert problem_of(S, (5, 6), "pev").unsearched == "free components"
    assert not problem_of(S, (4, 6), "pev").free
    # with too many choices components of one variable are dense
    monkeypatch.setattr(relaxed, "MOST_SINGLES", 15)
    assert problem_of(S, (1, 1, 2), "pev").m == 2
    monkeypatch.setattr(relaxed, "MOST_SINGLES", 14)
    problem = problem_of(S, (1, 1, 2), "pev")
    assert (problem.m, problem.cards) == (0, (2,))
    monkeypatch.setattr(relaxed, "MOST_SINGLES", 15)
    monkeypatch.setattr(relaxed, "MOST_WORK", 15 * relaxed.single_work(6) - 1)
    assert problem_of(S, (1, 1, 2), "pev").m == 0
    assert Orthogonal(S, (6, 7)).free
    assert not Orthogonal(S, (6, 5)).free


@pytest.mark.parametrize("measure", ["pev", "adjusted", "least_squares"])
def test_nodes_are_bounded_by_parts_that_memory_and_time_allow(measure, monkeypatch):
    problem = problem_of(covariance(3, 7), (1, 3, 2), measure)
    rng = np.random.default_rng(0)
    roots = [problem.root(np.array([i])) for i in rng.integers(7, size=9)]
    chosen = rng.integers(10, size=(9, 1))
    whole = problem.bounds(roots, chosen, 0.0, 10, lambda: True)
    sizes, alike = [], problem.alike
    monkeypatch.setattr(problem, "alike", lambda part, *more: sizes.append(len(part)) or alike(part, *more))
    d = problem.shape(roots[0])[0]
    matrices_ = d * d * 3
    monkeypatch.setattr(relaxed, "BATCH", 4 * matrices_)
    np.testing.assert_allclose(problem.bounds(roots, chosen, 0.0, 10, lambda: True), whole, rtol=1e-10)
    assert sizes == [4, 4, 1]
    sizes.clear()
    monkeypatch.setattr(relaxed, "STEP_WORK", 2.5 * relaxed.EIGEN * d * matrices_)
    np.testing.assert_allclose(problem.bounds(roots, chosen, 0.0, 10, lambda: True), whole, rtol=1e-10)
    assert sizes == [2, 2, 2, 2, 1]
    left = iter([True] * 2)
    sizes.clear()
    found = problem.bounds(roots, chosen, 0.0, 0, lambda: next(left, False))
    assert sizes == [2, 2]
    assert (found[4:] == [root.frame.dense for root in roots[4:]]).all()


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
    ("changes", "why"),
    [
        ({"p": 2001}, "too many variables for a search"),
        ({"V": np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])}, "a component without loadings"),
        ({"formed": None}, "time limit"),
        ({"V": np.full((3, 2), 0.5)}, "free components"),
    ],
)
def test_why_nothing_is_searched(changes, why, monkeypatch):
    V = changes.get("V", np.eye(3)[:, :2])
    op = SimpleNamespace(p=changes["p"], total=1.0) if "p" in changes else Gram(covariance(0, 3))
    monkeypatch.setattr(
        joint, "formed", lambda op, watch: changes.get("formed", op.held if "p" not in changes else None)
    )
    cards = tuple(np.count_nonzero(V, axis=0).tolist())
    search = joint._Search(op, V, "pev", False, cards, 0.5, RootBound(1.0, 1.0, "dense PCA"))
    with pytest.raises(Stop, match=why):
        search._bound(Clock(np.inf), np.inf, lambda n: None)


@pytest.mark.parametrize("measure", ["pev", "adjusted", "least_squares"])
def test_children_have_the_bound_of_the_union_of_their_supports(measure):
    """With as many variables more as the others may have; of adjusted variance with those of singles."""
    S = covariance(5, 6)
    problem = problem_of(S, (1, 2, 2), measure)
    search = Tuples(problem, 1e-9, 0.0, lambda: True, lambda some: 0.0)
    search.begin()
    roots = [search._root(int(number)) for number in search.open.root]
    children = search._children(search.open, roots, 0)
    for number, row, bound in zip(children.root, children.chosen[:, 0], children.bound, strict=True):
        held = roots[number].reach
        bits = int(problem.masks[0][row])
        if measure == "adjusted":
            bits |= 1 << int(roots[number].singles[0])
        found = min(search.open.bound[number], held[2][bits])
        assert roots[number].sums == ()
        assert bound == found


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
def test_adjusted_variance_beside_a_single_variable_without_any_step(chosen):
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


def test_beside_a_single_variable_what_can_be_closed_is_closed():
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
