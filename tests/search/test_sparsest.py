"""The fewest nonzeros that keep a share of the variance, and the proposals of that search."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import ComponentsError, OptionError
from spcastat.linalg.build import prepare
from spcastat.linalg.operators import Gram
from spcastat.measures import relative_adjusted
from spcastat.search.chains import empty, from_directions, grow_predictor
from spcastat.search.climbing import EFFORTS
from spcastat.search.criteria import SupportRule, criterion_of_matrix, triangle
from spcastat.search.matrices import Dense
from spcastat.search.penalty import (
    Shrinking,
    TargetCriterion,
    VarianceTarget,
    penalised,
    polished,
    room,
    trimmed,
    with_products,
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
    goal = share * np.linalg.eigvalsh(S)[-1]
    least = next(
        c
        for c in range(1, 7)
        if max(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] for J in map(list, combinations(range(6), c))) >= goal
    )
    assert sparsest(Gram(S), 1, share).nonzeros == least


@pytest.mark.parametrize(("promise", "most"), [("every", 20), ("total", 18)])
def test_pitprops_needs_no_more_than_the_best_known(R, promise, most):
    # 18 is what long joint searches for all components end in; greedy growth as published needs 25
    found = sparsest(Gram(R.to_numpy()), 6, 0.9, promise, "quick")
    assert found.nonzeros <= most
    after = kept(R.to_numpy(), found.V)
    assert (after if promise == "every" else after[-1:]).min() >= 0.9 - 1e-10


def test_wine_needs_no_more_than_the_best_known():
    wine = pytest.importorskip("sklearn.datasets").load_wine().data
    S = np.corrcoef(wine, rowvar=False)
    assert sparsest(Gram(S), 3, 0.9, "every", "quick").nonzeros <= 15
    assert sparsest(Gram(S), 5, 0.9, "every", "quick").nonzeros <= 19
    assert sparsest(Gram(S), 5, 0.9, "total", "quick").nonzeros <= 18


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
    np.testing.assert_allclose(found.kept, after, atol=1e-9)  # the rounding of score_basis
    assert relative_adjusted(found.V, S=S) >= share - 1e-10
    grown = sp.spca_cov(S, k, variance=share, method="controlled")
    assert found.nonzeros <= grown.card.sum()
    assert found.card == tuple(np.count_nonzero(found.V, axis=0))
    assert min(found.card) >= 1
    np.testing.assert_allclose(np.linalg.norm(found.V, axis=0), 1.0, rtol=1e-12)


def test_a_target_for_the_total_needs_no_more_than_one_for_every_component():
    for seed in range(2):
        op = Gram(draw(12, seed))
        every, total = (sparsest(op, 3, 0.85, promise, "quick").nonzeros for promise in PROMISES)
        assert total <= every


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
        after = found.kept if promise == "every" else found.kept[-1:]
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


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits():
    S = draw(8, 7)
    for promise in PROMISES:
        first, second = (sparsest(Gram(S), 3, 0.9, promise, rng=np.random.default_rng(3)) for _ in range(2))
        assert (first.V == second.V).all()


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


def test_rows_and_their_covariance_matrix_agree():
    X, _ = planted(60, 80, 8, 1)
    _, op = prepare(X, None, True, False, None)
    rows, matrix = (sparsest(one, 3, 0.85, "every", "quick") for one in (op, Gram(np.cov(X, rowvar=False))))
    assert rows.card == matrix.card
    np.testing.assert_allclose(np.abs(rows.V), np.abs(matrix.V), atol=1e-6)


def test_a_stream_gives_what_its_matrix_gives():
    X, _ = planted(60, 80, 8, 1)
    stream = sparsest(opened([X[:25], X[25:]]), 3, 0.85, "every", "quick")
    assert stream.card == sparsest(Gram(np.cov(X, rowvar=False)), 3, 0.85, "every", "quick").card


def test_dense_results_are_marked_as_dense():
    X = np.random.default_rng(0).standard_normal((10, 1200))  # no structure: every variable counts alike
    _, op = prepare(X, None, True, False, None)
    assert sparsest(op, 2, 0.95, "every", "quick").dense
    assert not sparsest(op, 2, 0.2, "every", "quick").dense


@pytest.mark.parametrize("every", [True, False])
def test_the_gradient_of_the_criterion_is_that_of_differences(every):
    S = draw(7, 2)
    S /= np.trace(S)
    pca = np.linalg.eigvalsh(S)[::-1][:3]
    criterion = TargetCriterion(Dense(S), (3, 2, 3), VarianceTarget(0.97, every, pca))
    rng = np.random.default_rng(0)
    places = np.array([[0, 2, 5, 1, 3, 2, 4, 6]])
    x = rng.standard_normal((1, 8))
    M, _ = criterion.packed(places)
    _, gradient = criterion.with_gradient(x, M, None)
    for j in range(8):
        step = np.zeros((1, 8))
        step[0, j] = 1e-6
        above, below = (criterion.with_gradient(x + s, M, None)[0][0] for s in (step, -step))
        # central differences of step 1e-6: rounding of 1e-16 over 1e-6, and a curvature of order one
        assert gradient[0, j] == pytest.approx((above - below) / 2e-6, abs=1e-7)
    fits = criterion.fits(places, x)
    for i, part in enumerate(criterion.parts):
        pull, scale = criterion.pull(fits, i)
        slope = pull[0, places[0, part]] - scale[0] * fits.x[0, part]
        length = np.linalg.norm(x[0, part])
        np.testing.assert_allclose(2.0 * slope / length, gradient[0, part], atol=1e-9)


def test_the_triangle_makes_scores_uncorrelated():
    S = draw(6, 1)
    V = np.random.default_rng(0).standard_normal((6, 3))
    C, added = triangle(V.T @ S @ V)
    np.testing.assert_allclose((V @ C).T @ S @ (V @ C), np.diag(added), atol=1e-9 * np.trace(S))
    np.testing.assert_allclose(np.diag(C), 1.0)


@pytest.mark.parametrize(
    ("k", "variance", "options", "error", "message"),
    [
        (2, 0.0, {}, OptionError, "above 0 and at most 1"),
        (2, 1.1, {}, OptionError, "variance=1.1"),
        (2, float("nan"), {}, OptionError, "above 0"),
        (2, 0.9, {"promise": "last"}, OptionError, "every, total"),
        (2, 0.9, {"effort": "some"}, OptionError, "quick, auto, thorough"),
        (5, 0.9, {}, ComponentsError, "from 1 to 4"),
        (0, 0.9, {}, ComponentsError, "k=0"),
    ],
)
def test_bad_calls_are_refused(k, variance, options, error, message):
    with pytest.raises(error, match=message):
        sparsest(Gram(draw(4, 0)), k, variance, **options)


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


# --- loadings at one price ------------------------------------------------------------------------


def swept(S, V, penalty, promise, extend, sweeps):
    """Component after component: the variables whose gain is above the penalty, as the module has it."""
    V, p = V.copy(), len(S)
    for _ in range(sweeps):
        before = V != 0
        for i in range(promise.k):
            values, vectors = np.linalg.eigh(S)
            scores = np.sqrt(values.clip(0))[:, None] * vectors.T @ V
            own = added(S, V)
            C = np.linalg.inv(np.triu(np.linalg.qr(scores)[1]) / np.diag(np.linalg.qr(scores)[1])[:, None])
            w = promise.weights(own)
            pull = (S @ V @ C @ np.diag(w) @ C.T)[:, i] / w[i]
            gain = pull**2 / own[i]
            count = int((gain > penalty).sum())
            order = np.argsort(-gain)
            if extend:
                alone = (S @ V @ C)[order, i] ** 2 / own[i]
                need = promise.goals[i] - own[:i].sum()
                count = max(count, next((n for n in range(p) if alone[: n + 1].sum() >= need), p) + 1)
            J = order[: max(1, min(count, p))]
            V[:, i] = 0.0
            V[J, i] = pull[J] / np.linalg.norm(pull[J])
        if (before == (V != 0)).all():
            break
    return V


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("extend", [False, True])
@pytest.mark.parametrize("penalty", [0.002, 0.02, 0.06])
def test_sweeps_keep_variables_above_the_penalty_and_as_many_as_the_target_needs(every, extend, penalty):
    op, _, vectors, promise = given(k=3, every=every)
    for sweeps in (1, 2, 8):
        found = penalised(op, with_products(op, vectors, 1.0), penalty, promise, 1.0, sweeps, extend)
        expected = swept(op.S, vectors, penalty, promise, extend, sweeps)
        # the ridge of 1e-12 on correlations
        np.testing.assert_allclose(found.V, expected, atol=1e-8)
        np.testing.assert_allclose(found.F, op.S @ expected, atol=1e-8)
        np.testing.assert_allclose(found.added, added(op.S, expected), atol=1e-8)


@pytest.mark.parametrize("every", [False, True])
def test_polished_loadings_have_the_largest_margin_on_their_supports(every):
    op, values, vectors, promise = given(k=3, every=every)
    V = np.where(np.abs(vectors) > 0.3, vectors, 0.0)
    V /= np.linalg.norm(V, axis=0)
    start = with_products(op, V, 1.0)
    found = polished(op, start, promise, 1.0, 6)
    rooms, now = [(room(promise, start), V)], V.copy()
    for _ in range(6):
        for i in range(3):
            R = np.linalg.qr(np.linalg.cholesky(op.S).T @ now)[1]
            C = np.linalg.inv(R / np.diag(R)[:, None])
            pull = op.S @ now @ C @ np.diag(promise.weights(np.diag(R) ** 2)) @ C.T
            now[:, i] = np.where(V[:, i] != 0, pull[:, i], 0.0)
            now[:, i] /= np.linalg.norm(now[:, i])
        over = np.cumsum(added(op.S, now)) / np.cumsum(values) / 0.8 - 1.0
        rooms.append((over.min() if every else over[-1], now.copy()))
    best, W = max(rooms, key=lambda one: one[0])
    assert room(promise, found) == pytest.approx(best, abs=1e-9)
    assert best > rooms[0][0]
    np.testing.assert_allclose(np.abs(found.V), np.abs(W), atol=1e-6)


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
    found = trimmed(op, with_products(op, vectors, 1.0), target, 1.0)
    np.testing.assert_allclose(found.added, added(op.S, found.V), atol=1e-9)
    assert target.holds(found.added)
    assert found.nonzeros < 90
    brings = np.abs(found.V) * np.sqrt(found.added)
    brings[(found.V == 0) | (np.abs(found.V) == np.abs(found.V).max(axis=0))] = np.inf
    for some in ([0], [1], [2]) if every else ([0, 1, 2],):
        least = np.unravel_index(np.argmin(brings[:, some]), (60, len(some)))
        V = found.V.copy()
        V[least[0], some[least[1]]] = 0.0
        fewer = with_products(op, V / np.linalg.norm(V, axis=0), 1.0)
        assert not target.holds(polished(op, fewer, target, 1.0, 4).added)


def test_the_largest_loading_of_a_component_is_never_removed():
    op, values, vectors, _ = given(p=8, k=3)
    found = trimmed(op, with_products(op, vectors, 1.0), VarianceTarget(1e-6, False, values), 1.0)
    assert (found.V != 0).sum(axis=0).tolist() == [1, 1, 1]
    assert np.argmax(np.abs(found.V), axis=0).tolist() == np.argmax(np.abs(vectors), axis=0).tolist()


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_one_penalty_is_as_sparse_as_the_best_of_many(share, every):
    op, _, vectors, target = given(p=30, k=2, share=share, every=every)
    found = common_penalty(op, vectors, target, 1.0)
    assert target.holds(added(op.S, found.V))
    tried = []
    start = with_products(op, vectors, 1.0)
    for penalty in np.geomspace(1e-5, 0.1, 150):
        fit = penalised(op, start, penalty, target, 1.0, 6, every)
        if target.holds(fit.added):
            tried.append(fit.nonzeros)
            start = fit
    assert found.nonzeros <= min(tried) + 1  # twelve penalties, and six between the best of them


def test_one_penalty_gives_nothing_where_no_fit_reaches_the_target():
    op, values, vectors, _ = given(p=30, k=2)
    assert common_penalty(op, vectors, VarianceTarget(1.0, False, values * 1.01), 1.0) is None


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
        assert reached == pytest.approx(found.added.sum(), abs=1e-9)
        np.testing.assert_allclose(found.added, added(op.S, found.V), atol=1e-9)
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
        (2, "total", "quick", ["one price, rotated"]),
        (2, "total", "auto", ["one price, rotated"]),
    ],
)
def test_what_is_proposed_depends_on_target_components_and_effort(k, promise, effort, names):
    found = sparsest(Gram(draw(8, 3)), k, 0.8, promise, effort)
    assert set(found.proposals) <= {"one price", "one by one", *names}
    assert {"one price", *names} <= set(found.proposals)
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
        assert ("one price" in found.proposals) is not disjoint  # which does not keep components apart


def test_many_nonzeros_are_not_searched_jointly():
    found = sparsest(Gram(0.5 + 0.5 * np.eye(60)), 1, 0.97)  # all variables count alike
    assert found.nonzeros > 40
    assert not found.searched


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_the_model_of_one_component_has_the_slope_of_the_criterion(every, share):
    """The derivative of v'Av / v'v is that of the criterion, whether the promise is kept or not."""
    op, _, vectors, promise = given(k=3, share=share, every=every)
    criterion = TargetCriterion(Dense(op.S), (4, 3, 3), promise)
    fits = from_directions(criterion, [vectors, vectors[::-1]])
    for i, part in enumerate(criterion.parts):
        pull, scale = criterion.pull(fits, i)
        for b, V in enumerate(criterion.dense(fits)):
            support = fits.places[b, part]
            outside = np.setdiff1d(np.arange(8), support)
            parts = criterion.model(fits.some(np.array([b])), i).bordered(support[None], outside[None])
            v = V[support, i]
            Av = v @ parts.A[0]
            slope = Av - (Av[: len(v)] @ v) * np.append(v, np.zeros(len(outside)))
            both = np.append(support, outside)
            half = pull[b, both] - scale[b] * np.append(v, np.zeros(len(outside)))
            np.testing.assert_allclose(slope, half, atol=1e-9)


# --- w --------------------------------------------------------------------------------------------


def apart(seed):
    """A covariance matrix in which variable 2 covaries with none of 0, 1, 3, 4; a component of 0, 3, 4."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 9)) + rng.standard_normal((40, 1))
    X -= X.mean(axis=0)
    near = X[:, [0, 1, 3, 4]]
    X[:, 2] -= near @ np.linalg.lstsq(near, X[:, 2])[0]
    V = np.zeros((9, 2))
    V[[0, 3, 4], 1] = np.array([2.0, -1.0, 2.0]) / 3.0
    return np.cov(X, rowvar=False), V


def test_the_best_predictor_grows_by_the_variable_that_adds_most():
    S = draw(8, 1)
    S /= np.trace(S)
    criterion = criterion_of_matrix(S, (4,), "least_squares")
    model = criterion.model_given_others(empty(criterion, 1))

    def worth(J):
        F = (S @ S)[np.ix_(J, J)]  # v'SSv / v'Sv
        L = np.linalg.inv(np.linalg.cholesky(S[np.ix_(J, J)]))
        return np.linalg.eigvalsh(L @ F @ L.T)[-1]

    found = [grow_predictor(model, card) for card in (1, 2, 3, 4)]
    order = found[0][:, 0].tolist()
    assert sorted(order) == list(range(8))
    assert order == sorted(order, key=lambda j: -worth([j]))
    for smaller, larger in pairwise(found):
        for J, support in zip(smaller.tolist(), larger.tolist(), strict=True):
            (new,) = set(support) - set(J)
            values = {j: worth([*J, j]) for j in set(range(8)) - set(J)}
            assert values[new] >= max(values.values()) * (1.0 - 1e-3)  # ranked by a lower bound


def test_a_component_without_variance_is_left_as_it_is():
    S = np.zeros((4, 4))
    S[:2, :2] = [[2.0, 1.0], [1.0, 2.0]]
    op = Gram(S)
    V = np.zeros((4, 2))
    V[0, 0] = V[3, 1] = 1.0
    target = VarianceTarget(0.5, False, np.array([0.75, 0.25]))
    found = polished(op, with_products(op, V, 4.0), target, 4.0, 3)
    np.testing.assert_array_equal(found.V, V)
