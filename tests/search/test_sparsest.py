"""The fewest nonzeros that keep a share of the variance, and the proposals of that search."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import ComponentsError
from spcastat.linalg.operators import Gram
from spcastat.linalg.standardisation import prepare
from spcastat.measures import relative_adjusted
from spcastat.search.climbing import EFFORTS
from spcastat.search.criteria import SupportRule
from spcastat.search.matrices import Dense
from spcastat.search.penalty import (
    Shrinking,
    Sweeps,
    VarianceTarget,
)
from spcastat.search.sparsest import common_penalty, one_by_one, sparsest
from tests.search.conftest import draw
from tests.streams.test_operator import opened

# --- The fewest nonzeros that keep a share of the variance ----------------------------------------

PROMISES = ("every", "total")


def kept(S: np.ndarray, V: np.ndarray) -> np.ndarray:
    """The share of PCA's variance after each component, by NumPy's QR and eigenvalues alone."""
    values, vectors = np.linalg.eigh(S)
    root = np.sqrt(values.clip(min=0.0))[:, None] * vectors.T
    adjusted = np.diag(np.linalg.qr(root @ V)[1]) ** 2
    return np.cumsum(adjusted) / np.cumsum(values[::-1][: V.shape[1]])


def directions(size: int, rng: np.random.Generator) -> np.ndarray:
    """Unit vectors that fill the half sphere: an angle every quarter of a degree, or many at random."""
    if size == 1:
        return np.ones((1, 1))
    if size == 2:
        angles = np.arange(0.0, np.pi, np.pi / 720)
        return np.column_stack([np.cos(angles), np.sin(angles)])
    drawn = rng.standard_normal((3000, size))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def reachable(S: np.ndarray, nonzeros: int, share: float, every: bool) -> bool:
    """Whether two components with so many nonzeros in all keep the promise, over all supports.

    The first component runs over a fine grid; the best second is then an eigenvector of what is left.
    """
    p = len(S)
    rng = np.random.default_rng(0)
    goals = share * np.cumsum(np.sort(np.linalg.eigvalsh(S))[::-1][:2])
    for first in range(1, min(nonzeros - 1, p) + 1):
        second = nonzeros - first
        if second > p:
            continue
        for J in map(list, combinations(range(p), first)):
            v = np.zeros((len(directions(first, rng)), p))
            v[:, J] = directions(first, rng)
            if first > 2:
                v[0, J] = np.linalg.eigh(S[np.ix_(J, J)])[1][:, -1]
            image = v @ S
            variance = (image * v).sum(axis=1)
            some = variance >= (goals[0] if every else 0.0)
            left = S - image[some][:, :, None] * image[some][:, None, :] / variance[some][:, None, None]
            for K in combinations(range(p), second):
                block = left[:, np.array(K)[:, None], np.array(K)]
                total = variance[some] + np.linalg.eigvalsh(block)[:, -1]
                if (total >= goals[1]).any():
                    return True
    return False


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize(("p", "seed", "share"), [(4, 0, 0.8), (5, 1, 0.7), (5, 2, 0.9), (6, 3, 0.6)])
def test_two_components_have_the_fewest_nonzeros_of_all_supports(p, seed, share, promise):
    S = draw(p, seed)
    found = sparsest(Gram(S), 2, share, promise)
    every = promise == "every"
    after = kept(S, found.V)
    assert (after if every else after[-1:]).min() >= share - 1e-10
    assert found.nonzeros == 2 or not reachable(S, found.nonzeros - 1, share, every)


@pytest.mark.parametrize(("seed", "share"), [(0, 0.5), (1, 0.75), (2, 0.9), (3, 0.99)])
def test_one_component_has_the_fewest_nonzeros_of_all_supports(seed, share):
    S = draw(6, seed)
    least = least_cardinality(S, share * np.linalg.eigvalsh(S)[-1])
    assert sparsest(Gram(S), 1, share).nonzeros == least


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("seed", range(6))
def test_the_target_is_reached_with_no_more_nonzeros_than_greedy_growth(seed, promise):
    rng = np.random.default_rng(seed)
    p, k = int(rng.integers(5, 25)), int(rng.integers(1, 5))
    share = float(rng.uniform(0.3, 0.99))
    S = draw(p, seed)
    found = sparsest(Gram(S), k, share, promise, "quick")
    after = kept(S, found.V)
    assert (after if promise == "every" else after[-1:]).min() >= share - 1e-10
    np.testing.assert_allclose(found.kept_shares, after, atol=1e-9)  # the rounding of score_basis
    assert relative_adjusted(found.V, S=S) >= share - 1e-10
    grown = sp.spca_cov(S, k, variance=share, method="controlled")
    assert found.nonzeros <= grown.card.sum()
    assert found.card == tuple(np.count_nonzero(found.V, axis=0))
    assert min(found.card) >= 1
    np.testing.assert_allclose(np.linalg.norm(found.V, axis=0), 1.0, rtol=1e-12)


ODD = {
    "identity": (np.eye(5), 3),
    "identity of full rank": (np.eye(4), 4),
    "rank one": (np.ones((4, 4)), 1),
    "constant columns": (np.pad(draw(3, 0), (0, 2)), 2),
    "duplicates": (np.kron(draw(3, 1), np.ones((2, 2))), 3),
    "rank deficient": (np.cov(np.random.default_rng(0).standard_normal((4, 8)), rowvar=False), 3),
    "equal correlations": (0.5 * np.eye(6) + 0.5, 6),
    "blocks": (np.kron(np.eye(3), np.array([[1.0, 0.8], [0.8, 1.0]])), 3),
    "one variable": (np.array([[2.0]]), 1),
}


@pytest.mark.parametrize("share", [1e-9, pytest.param(0.5, marks=pytest.mark.slow), 1.0])
@pytest.mark.parametrize("name", ODD)
def test_the_target_is_reached_for_odd_data(name, share):
    S, k = ODD[name]
    for promise in PROMISES:
        found = sparsest(Gram(S), k, share, promise, "quick")
        after = found.kept_shares if promise == "every" else found.kept_shares[-1:]
        assert after.min() >= share - 1e-10
        assert np.isfinite(found.V).all()
        assert min(found.card) >= 1
        if share == 1e-9:
            assert found.nonzeros == k
            assert found.proven


def test_a_share_of_one_is_sparse_if_pca_is_sparse():
    # the eigenvectors of equal diagonal entries may be unit vectors; those of pairs have two nonzeros each
    assert sparsest(Gram(np.eye(5)), 3, 1.0).nonzeros == 3
    assert sparsest(Gram(ODD["blocks"][0]), 3, 1.0).nonzeros == 6
    dense = sparsest(Gram(draw(6, 0)), 2, 1.0)
    assert dense.nonzeros == 12
    assert dense.dense


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_the_unit_of_measurement_does_not_matter(factor):
    S = draw(8, 5)
    for promise in PROMISES:
        plain, scaled = (sparsest(Gram(M), 3, 0.8, promise, "quick") for M in (S, factor * S))
        assert plain.card == scaled.card
        np.testing.assert_allclose(plain.V, scaled.V, atol=1e-6)


def planted(n: int, p: int, card: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three disjoint groups of columns that share a score each, in noise."""
    rng = np.random.default_rng(seed)
    V = np.zeros((p, 3))
    for i in range(3):
        V[i * card : (i + 1) * card, i] = 1 / np.sqrt(card)
    return (rng.standard_normal((n, 3)) * (12.0, 10.0, 8.0)) @ V.T + rng.standard_normal((n, p)), V


@pytest.mark.parametrize("promise", PROMISES)
def test_wide_rows_give_the_planted_variables(promise):
    X, truth = planted(60, 1500, 20, 0)
    _, op = prepare(X, None, True, False, None)
    share = float(relative_adjusted(truth, X)) * 0.99
    found = sparsest(op, 3, share, promise, "quick")
    assert relative_adjusted(found.V, X) >= share - 1e-10
    # what the planted loadings keep, as many nonzeros must keep, and noise cannot replace a whole group
    assert found.nonzeros <= 60
    assert (found.V != 0)[:60].sum() >= 0.9 * found.nonzeros


def test_a_stream_gives_what_its_matrix_gives():
    X, _ = planted(60, 80, 8, 1)
    stream = sparsest(opened([X[:25], X[25:]]), 3, 0.85, "every", "quick")
    assert stream.card == sparsest(Gram(np.cov(X, rowvar=False)), 3, 0.85, "every", "quick").card


def test_more_components_than_the_rank_are_refused():
    with pytest.raises(ComponentsError, match="smaller rank"):
        sparsest(Gram(np.ones((4, 4))), 2, 0.9)


# --- The proposals for the sparsest loadings and what removes their nonzeros, against enumeration ---


def given(p=8, k=2, share=0.8, every=False, seed=3):
    """An operator of total variance one, its leading values and vectors, and a promise."""
    S = draw(p, seed)
    S /= np.trace(S)
    values, vectors = np.linalg.eigh(S)
    values, vectors = values[::-1][:k], vectors[:, ::-1][:, :k]
    return Gram(S), values, vectors, VarianceTarget(share, every, values)


def added(S, V):
    """What each score adds to the variance of those before it: by a QR decomposition of the scores."""
    values, vectors = np.linalg.eigh(S)
    return np.diag(np.linalg.qr(np.sqrt(values.clip(0))[:, None] * vectors.T @ V)[1]) ** 2


# --- fewer loadings -------------------------------------------------------------------------------


def least_cardinality(S, goal):
    """The smallest number of variables whose covariance matrix has an eigenvalue of at least the goal."""
    return next(
        card
        for card in range(1, len(S) + 1)
        if any(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] >= goal for J in combinations(range(len(S)), card))
    )


@pytest.mark.parametrize("every", [False, True])
def test_loadings_are_removed_until_one_fewer_of_any_component_misses_the_target(every):
    """The one that contributes least, as to which |v_ij| times the adjusted standard deviation decides."""
    op, _, vectors, target = given(p=60, k=3, share=0.9, every=every)
    sweeps = Sweeps(op, target, 1.0)
    found = sweeps.trimmed(sweeps.start(vectors))
    np.testing.assert_allclose(found.variances, added(op.S, found.V), atol=1e-9)
    assert target.holds(found.variances)
    assert found.nonzeros < 90
    brings = np.abs(found.V) * np.sqrt(found.variances)
    brings[(found.V == 0) | (np.abs(found.V) == np.abs(found.V).max(axis=0))] = np.inf
    for some in ([0], [1], [2]) if every else ([0, 1, 2],):
        least = np.unravel_index(np.argmin(brings[:, some]), (60, len(some)))
        V = found.V.copy()
        V[least[0], some[least[1]]] = 0.0
        fewer = sweeps.start(V / np.linalg.norm(V, axis=0))
        assert not target.holds(sweeps.polished(fewer, 4).variances)


def test_the_largest_loading_of_a_component_is_never_removed():
    op, values, vectors, _ = given(p=8, k=3)
    sweeps = Sweeps(op, VarianceTarget(1e-6, False, values), 1.0)
    found = sweeps.trimmed(sweeps.start(vectors))
    assert (found.V != 0).sum(axis=0).tolist() == [1, 1, 1]
    assert np.argmax(np.abs(found.V), axis=0).tolist() == np.argmax(np.abs(vectors), axis=0).tolist()


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_one_penalty_is_as_sparse_as_the_best_of_many(share, every):
    op, _, vectors, target = given(p=30, k=2, share=share, every=every)
    sweeps = Sweeps(op, target, 1.0)
    found = common_penalty(sweeps, vectors)
    assert target.holds(added(op.S, found.V))
    tried = []
    start = sweeps.start(vectors)
    for penalty in np.geomspace(1e-5, 0.1, 150):
        fit = sweeps.penalised(start, penalty, 6)
        if target.holds(fit.variances):
            tried.append(fit.nonzeros)
            start = fit
    assert found.nonzeros <= min(tried) + 1  # twelve penalties, and six between the best of them


def test_one_penalty_gives_nothing_where_no_fit_reaches_the_target():
    op, values, vectors, _ = given(p=30, k=2)
    assert common_penalty(Sweeps(op, VarianceTarget(1.0, False, values * 1.01), 1.0), vectors) is None


@pytest.mark.parametrize("p", [2, 3, 5, 8])
def test_one_by_one_every_component_has_the_smallest_cardinality_for_what_is_missing(p):
    """Each on the Schur complement of the earlier ones, by enumeration of all supports."""
    for share in (0.3, 0.6, 0.8, 0.95):
        op, values, _, target = given(p, min(p, 3), share, every=True)
        found = one_by_one(op.S, target)
        left, reached = op.S, 0.0
        for i in range(target.k):
            goal = (share - 0.5e-10) * values[: i + 1].sum() - reached
            v = found.V[:, i]
            assert np.count_nonzero(v) == least_cardinality(left, goal)
            reached += v @ left @ v
            left = left - np.outer(left @ v, left @ v) / (v @ left @ v)
        assert reached == pytest.approx(found.variances.sum(), abs=1e-9)
        np.testing.assert_allclose(found.variances, added(op.S, found.V), atol=1e-9)
        np.testing.assert_allclose(found.F, op.S @ found.V, atol=1e-12)


@pytest.mark.parametrize("seed", [0, 7, 23, 27, 33, 35])
def test_nonzeros_are_removed_from_one_component_to_the_least_number(seed):
    """Without exchanges until no single one can go; with them to the least of all supports."""
    op, values, vectors, target = given(p=12, k=1, share=0.8, seed=seed)
    goal, cards = 0.8 * values[0], []
    for effort in ("quick", "auto"):
        found = Shrinking(Dense(op.S), target, EFFORTS[effort], np.random.default_rng(0)).run(vectors)
        J = np.flatnonzero(found[:, 0])
        assert found[:, 0] @ op.S @ found[:, 0] >= goal * (1 - 1e-9)
        for j in J:
            rest = np.setdiff1d(J, j)
            assert np.linalg.eigvalsh(op.S[np.ix_(rest, rest)]).max(initial=0.0) < goal
        cards.append(len(J))
    assert cards[1] == least_cardinality(op.S, goal)
    assert seed == 0 or cards[0] > cards[1]


@pytest.mark.parametrize("every", [False, True])
def test_nonzeros_are_removed_from_two_components_while_the_target_is_reached(every):
    op, _, vectors, target = given(p=8, k=2, share=0.8, every=every)
    V = Shrinking(Dense(op.S), target, EFFORTS["auto"], np.random.default_rng(0)).run(vectors)
    assert np.count_nonzero(V) <= vectors.size - 4
    assert target.true(V, op)


# --- the search -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "promise", "effort", "names"),
    [
        (2, "every", "auto", []),
        (1, "total", "auto", []),
        (2, "total", "quick", ["common penalty, rotated"]),
        (2, "total", "auto", ["common penalty, rotated"]),
    ],
)
def test_what_is_proposed_depends_on_target_components_and_effort(k, promise, effort, names):
    found = sparsest(Gram(draw(8, 3)), k, 0.8, promise, effort)
    assert set(found.proposals) <= {"common penalty", "one by one", *names}
    assert {"common penalty", *names} <= set(found.proposals)
    assert found.winner in found.proposals
    assert found.nonzeros <= min(found.proposals.values())
    assert found.searched is (effort != "quick")


@pytest.mark.parametrize("disjoint", [False, True])
def test_under_a_rule_two_variables_that_are_enough_are_found(disjoint):
    may, must = np.ones((2, 7), dtype=bool), np.zeros((2, 7), dtype=bool)
    must[0, 0], may[1, 1] = True, False
    for seed in (7, 15, 26, 34):
        S = draw(7, seed)
        both = S[0, 0] + np.diag(S) - S[0] ** 2 / S[0, 0]  # the adjusted variance with each second variable
        assert both[2:].max() >= 0.6 * np.linalg.eigvalsh(S)[-2:].sum()
        rule = SupportRule(may, must, disjoint)
        found = sparsest(Gram(S), 2, 0.6, "total", "quick", rule=rule)
        assert found.nonzeros == 2
        assert ("common penalty" in found.proposals) is not disjoint  # which does not keep components apart


def test_many_nonzeros_are_not_searched_jointly():
    found = sparsest(Gram(0.5 + 0.5 * np.eye(60)), 1, 0.97)  # all variables count alike
    assert found.nonzeros > 40
    assert not found.searched


def test_a_component_without_variance_is_left_as_it_is():
    S = np.zeros((4, 4))
    S[:2, :2] = [[2.0, 1.0], [1.0, 2.0]]
    op = Gram(S)
    V = np.zeros((4, 2))
    V[0, 0] = V[3, 1] = 1.0
    target = VarianceTarget(0.5, False, np.array([0.75, 0.25]))
    found = Sweeps(op, target, 4.0).polished(Sweeps(op, target, 4.0).start(V), 3)
    np.testing.assert_array_equal(found.V, V)
