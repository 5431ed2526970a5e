"""Moves, ascents and chains for batches of fits against the same steps of one fit after another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh, sqrtm

from spcastat.linalg.operators import Gram
from spcastat.measures import MEASURES
from spcastat.search import chains
from spcastat.search import matrices as columns
from spcastat.search.chains import interchanged
from spcastat.search.climbing import EFFORTS, VALUE_TOLERANCE, climb, falling, reordered
from spcastat.search.criteria import Fits, join_fits
from spcastat.search.joint_search import nearby_optima
from spcastat.search.moves import exchange, promising, refined, trials
from spcastat.search.objectives import OBJECTIVES
from tests.search.conftest import draw

# --- Moves for batches of fits against the same moves of one fit after another, written out or enumerated ---

CARDS, P, B = (4, 3, 3), 9, 4


def problem(objective, cards=CARDS, p=P, seed=3, count=B):
    """A criterion, its covariance matrix, and random fits."""
    S = draw(p, seed)
    S /= np.trace(S)
    criterion = OBJECTIVES[objective].criterion.of_matrix(S, cards)
    rng = np.random.default_rng(seed)
    places = np.array(
        [np.concatenate([np.sort(rng.permutation(p)[:c]) for c in cards]) for _ in range(count)]
    )
    return criterion, S, criterion.fits(places, rng.standard_normal(places.shape))


def value(objective, S, V):
    return MEASURES[objective](V, Gram(S))[-1]


def best_beside(objective, S, V, i, J):
    """The largest value with another component i on J: the others', and a largest ratio."""
    others = np.delete(V, i, axis=1)
    root = np.eye(len(S)) if objective == "pev" else np.real(sqrtm(S))
    Q = np.linalg.qr(root @ others)[0]
    left = np.eye(len(S)) - Q @ Q.T
    whole = S  # of PEV the matrix itself, and of least squares F F with F its root
    A, M = root @ left @ whole @ left @ root, root @ left @ root
    sizes, turn = np.linalg.eigh(M[np.ix_(J, J)])
    K = turn[:, sizes > 1e-9] / np.sqrt(sizes[sizes > 1e-9])  # of what the others do not span
    return float(np.trace(Q.T @ whole @ Q)) + np.linalg.eigvalsh(K.T @ A[np.ix_(J, J)] @ K)[-1]


@pytest.mark.parametrize("objective", ["pev", "least_squares"])
@pytest.mark.parametrize(("i", "cards"), [(0, CARDS), (1, CARDS), (2, CARDS), (1, (4, 1, 2))])
def test_an_exchange_is_the_best_of_all(objective, i, cards):
    """By enumeration of the supports one variable away, and of the present one."""
    criterion, S, fits = problem(objective, cards)
    before = fits.subset(slice(None))
    rose = exchange(criterion, fits, i, P, 500)
    for b, V in enumerate(criterion.dense(before)):
        J = np.flatnonzero(V[:, i])
        others = np.setdiff1d(np.arange(P), J)
        nearby_optima = [J, *(np.append(np.delete(J, a), j) for a in range(len(J)) for j in others)]
        best = max(best_beside(objective, S, V, i, one) for one in nearby_optima)
        # the ridge of 1e-9 that the inner product has as correlations
        assert fits.value[b] == pytest.approx(max(best, before.value[b]), rel=1e-7)
        assert fits.value[b] == pytest.approx(value(objective, S, criterion.dense(fits)[b]), rel=1e-8)
    assert rose.tolist() == np.flatnonzero(fits.value > before.value).tolist()


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("width", "valued"), [(P, 500), (2, 500), (P, 4), (1, 1)])
def test_columns_that_are_tried_are_valued_as_the_fits_they_are(objective, width, valued):
    criterion, S, fits = problem(objective)
    for i, part in enumerate(criterion.parts):
        places, x, values = trials(criterion, fits, i, width, valued)
        c = CARDS[i]
        assert values.shape == (B, min(valued, c * min(width, P - c)) + 1)
        np.testing.assert_array_equal(places[:, -1], fits.places[:, part])
        for b, V in enumerate(criterion.dense(fits)):
            # each another support, one variable away
            assert len({tuple(sorted(one)) for one in places[b]}) == values.shape[1]
            assert all(len(set(one) & set(places[b, -1])) == c - 1 for one in places[b, :-1])
            for one, v, found in zip(places[b], x[b], values[b], strict=True):
                W = V.copy()
                W[:, i] = 0.0
                W[one, i] = v
                # correlations have a ridge of 1e-12, where components may be nearly dependent
                assert found == pytest.approx(value(objective, S, W), rel=1e-6)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_variables_that_may_enter_have_the_steepest_slopes(objective):
    criterion, S, fits = problem(objective)
    for i in range(3):
        model = criterion.model(fits, i)
        found = promising(criterion, fits, i, model, 3)
        for b in range(B):
            V = criterion.dense(fits)[b]
            outside = np.flatnonzero(V[:, i] == 0)
            slopes = []
            for j in outside:
                step = np.zeros_like(V)
                step[j, i] = 1e-6
                slopes.append(abs(value(objective, S, V + step) - value(objective, S, V - step)) / 2e-6)
            size = model.corners()[b, outside]  # of what each has of its own in the inner product
            steepest = outside[np.argsort(-np.array(slopes) / np.sqrt(size))[:3]]
            assert found[b].tolist() == sorted(steepest)


def rounds_alone(criterion, fit, rough):
    """Rounds of exchanges of every component and an ascent of twelve steps, of one fit, and their rises."""
    fit = refined(criterion, fit, 12)
    while True:
        before, support = fit.value[0], fit.places.copy()
        for i in range(criterion.k):
            exchange(criterion, fit, i, 4, 6)
        fit = reordered(criterion, refined(criterion, fit, 12))
        yield fit, fit.value[0] - before
        least = rough if (fit.places != support).any() else 1e-3
        if not fit.value[0] > before * (1 + least):
            return


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("rough", [1e-5, 0.03])
def test_climbs_continue_while_a_round_raises_the_value_and_the_best_is_within_reach(objective, rough):
    criterion, _, fits = problem(objective)
    found = climb(criterion, fits, 4, 6, rough)
    climbs = {b: rounds_alone(criterion, fits.subset(np.array([b])), rough) for b in range(B)}
    ends = {}
    while climbs:
        rises = {}
        for b in list(climbs):
            if (last := next(climbs[b], None)) is None:
                del climbs[b]
            else:
                ends[b], rises[b] = last
        best = max(fit.value[0] for fit in ends.values())
        for b, rise in rises.items():
            if best - ends[b].value[0] > 5 * rise:  # five such rounds would not reach the best
                del climbs[b]
    for b in range(B):
        np.testing.assert_array_equal(found.places[b], ends[b].places[0])
        assert found.value[b] == pytest.approx(ends[b].value[0], rel=1e-10)


def test_components_of_equal_cardinality_are_sorted_by_variance_if_the_value_stays():
    S = np.diag([3.0, 5.0, 4.0, 1.0, 4.0, 2.0, 9.0, 8.0]) / 36.0
    criterion = OBJECTIVES["adjusted"].criterion.of_matrix(S, (1, 2, 1, 1, 3))
    fits = criterion.fits(np.array([[4, 0, 3, 2, 1, 5, 6, 7]]), np.ones((1, 8)))
    # uncorrelated scores: every order is as good; of the variances 4, 4 and 5 of the single variables
    expected = [1, 0, 3, 2, 4, 5, 6, 7]
    assert falling(criterion, fits).places.tolist() == [expected]
    two = join_fits([fits, criterion.fits(np.array([expected]), np.ones((1, 8)))])
    assert falling(criterion, two).places.tolist() == [expected] * 2
    # where an order is better it stays
    criterion, S, fits = problem("adjusted", (2, 2, 2))
    fits = reordered(criterion, fits)
    for b in range(B):
        one = fits.subset(np.array([b]))
        V = criterion.dense(one)[0]
        order = np.argsort(-np.einsum("ij,ik,kj->j", V, S, V))
        turned = value("adjusted", S, V[:, order])
        expected = V[:, order] if turned >= one.value[0] * (1 - 1e-9) else V
        np.testing.assert_allclose(criterion.dense(falling(criterion, one))[0], expected, atol=1e-14)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_interchanged_components_are_truncated_again(objective):
    cards = (4, 2, 4, 3)
    criterion, S, fits = problem(objective, cards, p=11)
    found = interchanged(criterion, fits)
    images = S if objective != "least_squares" else S @ S
    at = 0
    for a in range(4):
        for b in range(a + 1, 4):
            if cards[a] == cards[b]:
                continue
            for V in criterion.dense(fits):
                expected = V.copy()
                for i, j in ((a, b), (b, a)):
                    image = images @ V[:, j]
                    J = np.argsort(-np.abs(image))[: cards[i]]
                    expected[:, i] = 0.0
                    expected[J, i] = image[J] / np.linalg.norm(image[J])
                np.testing.assert_allclose(criterion.dense(found)[at], expected, atol=1e-12)
                assert found.value[at] == pytest.approx(value(objective, S, expected), rel=1e-8)
                at += 1
    assert at == len(found)


# --- the largest entries --------------------------------------------------------------------------


def test_ranked_entries_fall_and_of_ties_the_first_come_first():
    keys = np.array(
        [[1.0, 3.0, 3.0 * (1 + 1e-12), 2.0, 3.0], [0.0, 0.0, 0.0, 0.0, 0.0], [-1.0, -3.0, 5.0, 2.0, 4.0]]
    )
    for count in (1, 2, 3, 5, 9):
        expected = [[1, 2, 4, 3, 0], [0, 1, 2, 3, 4], [2, 4, 3, 0, 1]]
        assert columns.ranked_entries(keys, count).tolist() == [one[:count] for one in expected]
    assert columns.largest(np.abs(keys), 2).tolist() == [[1, 2], [0, 1], [2, 4]]
    assert columns.largest(np.abs(keys), 7).tolist() == [[0, 1, 2, 3, 4]] * 3


def test_vectors_have_unit_length_and_zero_is_the_first_axis():
    x = columns.unit(np.array([[3.0, 4.0], [0.0, 0.0], [1e-200, 0.0], [-3e200, 4e200]]))
    np.testing.assert_allclose(x, [[0.6, 0.8], [1.0, 0.0], [1.0, 0.0], [-0.6, 0.8]], rtol=1e-15)
    places, x = columns.hard(np.array([[1.0, -4.0, 0.5, 3.0]]), 2)
    assert places.tolist() == [[1, 3]]
    np.testing.assert_allclose(x, [[-0.8, 0.6]], rtol=1e-15)


@pytest.mark.parametrize("inner", [False, True])
def test_the_best_vectors_are_leading_generalised_eigenvectors(inner):
    rng = np.random.default_rng(0)
    A, M = rng.standard_normal((2, 7, 9, 4))
    A, M = A.mT @ A, (M.mT @ M) * np.geomspace(1e-3, 1e3, 7)[:, None, None]
    found = columns.best_vectors(A, M if inner else None)
    for b in range(7):
        v = eigh(A[b], M[b] if inner else None)[1][:, -1]
        # the ridge of 1e-9 on correlations
        assert abs(found[b] @ v) / np.linalg.norm(v) == pytest.approx(1.0, abs=1e-9)


# --- The length of a step of an ascent ------------------------------------------------------------


class Alone:
    """A criterion of one component, which is any function of its loadings; they need no unit length."""

    def for_ascent(self, places, of):
        return self.M[of], self.T[of]

    def fits(self, places, x, of):
        value = self.with_gradient(x, self.M[of], self.T[of])[0]
        return Fits(places, x, places, places, places, places, value, of)


class Given(Alone):
    """A function of one loading, which is 0 with slope 1/2 at 0, and the places where it is evaluated."""

    M = T = np.ones((1, 1))

    def __init__(self, value):
        self.value, self.lengths = value, []

    def with_gradient(self, x, M, T):
        self.lengths.append(2.0 * x[0, 0])  # the first step is half a unit long
        return np.array([0.25 * self.value(2.0 * x[0, 0])]), np.full(x.shape, 0.5)


@pytest.mark.parametrize(
    ("value", "lengths"),
    [
        (lambda t: 1.5e-4 * t, [1.0]),  # just more than 1e-4 of what the slope of one predicts
        (lambda t: t if t < 0.3 else -1.0, [1.0, 0.25]),  # the top of the parabola through the two values
        (lambda t: t if t < 0.3 else np.nan, [1.0, 0.5, 0.25]),
        (lambda t: t if t < 0.3 else 0.0, [1.0, 0.5, 0.25]),
        (lambda t: t if t < 2e-11 else -1e9, 0.1 ** np.arange(12.0)),
        (lambda t: t if t < 2e-12 else -1e9, 0.1 ** np.arange(12.0)),
        (lambda t: 0.5e-4 * t, 0.5 ** np.arange(12.0)),
    ],
)
def test_the_length_of_a_step(value, lengths):
    """A tenth to a half of the previous one, twelve at most; where none is enough the fit stays."""
    given, zero = Given(value), np.zeros((1, 1))
    found = refined(given, given.fits(zero.astype(int), zero, np.zeros(1, dtype=int)), 1)
    np.testing.assert_allclose(given.lengths[2:-1], lengths, rtol=1e-6)
    enough = value(lengths[-1]) >= 1e-4 * lengths[-1]
    assert found.x[0, 0] == pytest.approx(lengths[-1] / 2 if enough else 0.0, rel=1e-6)
    assert found.value[0] == 0.25 * value(2.0 * found.x[0, 0])


# --- Chains of perturbations and climbs -----------------------------------------------------------

CHAIN_P, CHAIN_CARDS = 10, (4, 3, 2)
S = draw(CHAIN_P, 2) / np.trace(draw(CHAIN_P, 2))
VECTORS = np.linalg.eigh(S)[1][:, :-7:-1]


def random_fits(criterion, count, seed=0):
    rng = np.random.default_rng(seed)
    places = [
        np.concatenate([np.sort(rng.permutation(CHAIN_P)[:c]) for c in CHAIN_CARDS]) for _ in range(count)
    ]
    return criterion.fits(np.array(places), rng.standard_normal((count, sum(CHAIN_CARDS))))


def test_the_largest_distinct_values_are_taken_and_the_first_of_equals():
    values = np.array(
        [0.5, 0.7, 0.5, 0.7 * (1 + 0.5 * VALUE_TOLERANCE), 0.2, 0.7 * (1 + 3 * VALUE_TOLERANCE), 0.1]
    )
    assert chains.distinct(values, 10).tolist() == [5, 3, 0, 4, 6]
    assert chains.distinct(values, 3).tolist() == [5, 3, 0]
    assert chains.distinct(np.array([1.0]), 2).tolist() == [0]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("effort", ["quick", "auto"])
def test_the_best_of_all_chains_is_returned_and_no_chain_is_better(objective, effort):
    criterion = OBJECTIVES[objective].criterion.of_matrix(S, CHAIN_CARDS)
    fit, evidence = chains.search(criterion, VECTORS, EFFORTS[effort], np.random.default_rng(0))
    assert len(evidence.chains) == EFFORTS[effort].chains
    assert fit.value[0] >= max(evidence.chains) * (1 - 1e-12)
    assert fit.value[0] >= random_fits(criterion, 500).value.max()
    met = sum(value >= max(evidence.chains) * (1 - VALUE_TOLERANCE) for value in evidence.chains)
    assert met >= EFFORTS[effort].agree


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_start_that_is_given_is_never_lost(objective):
    criterion = OBJECTIVES[objective].criterion.of_matrix(S, CHAIN_CARDS)
    best, _ = chains.search(criterion, VECTORS, EFFORTS["auto"], np.random.default_rng(0))
    poor = np.eye(CHAIN_P)[:, ::-1][:, :6]
    short = replace(EFFORTS["quick"], chains=1, starts=3, sweeps=0, rounds=0)
    found, _ = chains.search(criterion, poor, short, np.random.default_rng(0), best)
    assert found.value[0] >= best.value[0] * (1 - 1e-12)


# --- The joint search in brief: of several data at once what it is of each alone ------------------

NEAR_P, K, CARD = 9, 3, (4, 3, 3)


def problems(count):
    ops = [Gram(draw(NEAR_P, seed)) for seed in range(count)]
    return ops, [[np.roll(np.eye(NEAR_P)[:, :K], 2, axis=0), op.leading(K)[1]] for op in ops]


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_several_data_at_once_give_what_each_gives_alone(objective, fixed):
    ops, starts = problems(5)
    found = nearby_optima(ops, CARD, objective, starts, fixed)
    for op, own, V in zip(ops, starts, found, strict=True):
        alone = nearby_optima([op], CARD, objective, [own], fixed)[0]
        values = [MEASURES[objective](W, op)[-1] for W in (V, alone)]
        # both end where a step raises the share by less than 1e-12 of itself
        assert values[0] == pytest.approx(values[1], rel=1e-10)
        assert {tuple(np.flatnonzero(v)) for v in V.T} == {tuple(np.flatnonzero(v)) for v in alone.T}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_more_variables_than_a_covariance_matrix_is_held_for_are_searched_by_products(objective):
    p = 1001
    X = np.random.default_rng(0).standard_normal((40, p))
    X[:, :9] += 3.0 * np.random.default_rng(1).standard_normal((40, 1))
    op, start = Gram(np.cov(X, rowvar=False)), np.roll(np.eye(p)[:, :K], 2, axis=0)
    start[20:30] = 1e-3
    fixed = nearby_optima([op], CARD, objective, [[start]], fixed=True)[0]
    free = nearby_optima([op], CARD, objective, [[start]])[0]
    supports = [np.flatnonzero(v).tolist() for v in fixed.T]
    assert supports == [[i + 2, *range(20, 19 + c)] for i, c in enumerate(CARD)]
    # Unit vectors are far from the best supports, and sweeps leave them.
    assert MEASURES[objective](free, op)[-1] > 1.01 * MEASURES[objective](fixed, op)[-1]


def test_products_of_many_sparse_columns_are_those_of_full_columns():
    # enough columns for the sparse product; both sums have eight terms, so that they differ by rounding only
    rng = np.random.default_rng(0)
    M = rng.standard_normal((2, 60, 60))
    M = M + M.mT
    places = rng.permuted(np.tile(np.arange(60), (400, 1)), axis=1)[:, :8]
    x = rng.standard_normal(places.shape)
    full = np.zeros((400, 60))
    np.put_along_axis(full, places, x, axis=1)
    np.testing.assert_allclose(columns.Dense(M[0]).products(places, x), full @ M[0], atol=1e-12)
    which = np.arange(400) % 2
    expected = np.einsum("lm,lmn->ln", full, M[which])
    np.testing.assert_allclose(columns.Dense(M, which).products(places, x), expected, atol=1e-12)
