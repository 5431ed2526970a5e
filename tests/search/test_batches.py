"""Moves for batches of fits against the same moves of one fit after another, written out or enumerated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh, sqrtm

from spcastat.linalg.operators import Gram
from spcastat.measures import MEASURES
from spcastat.search import matrices as columns
from spcastat.search.chains import interchanged
from spcastat.search.climbing import climb, deepen, sweep
from spcastat.search.criteria import CRITERIA, criterion_of_matrix, joined
from spcastat.search.moves import exchange, falling, promising, refined, reordered, trials
from tests.search.conftest import draw

CARDS, P, B = (4, 3, 3), 9, 4


def problem(objective, cards=CARDS, p=P, seed=3, count=B):
    """A criterion, its covariance matrix, and random fits."""
    S = draw(p, seed)
    S /= np.trace(S)
    criterion = criterion_of_matrix(S, cards, objective)
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
    before = fits.some(slice(None))
    rose = exchange(criterion, fits, i, P, 500)
    for b, V in enumerate(criterion.dense(before)):
        J = np.flatnonzero(V[:, i])
        others = np.setdiff1d(np.arange(P), J)
        near = [J, *(np.append(np.delete(J, a), j) for a in range(len(J)) for j in others)]
        best = max(best_beside(objective, S, V, i, one) for one in near)
        # the ridge of 1e-9 that the inner product has as correlations
        assert fits.value[b] == pytest.approx(max(best, before.value[b]), rel=1e-7)
        assert fits.value[b] == pytest.approx(value(objective, S, criterion.dense(fits)[b]), rel=1e-8)
    assert rose.tolist() == np.flatnonzero(fits.value > before.value).tolist()


@pytest.mark.parametrize("objective", CRITERIA)
def test_an_exchange_is_the_best_of_those_that_are_valued(objective):
    """Where the model of one component is exact, its three best are enough."""
    criterion, _, fits = problem(objective)
    for i in range(3):
        best = trials(criterion, fits, i, P, 3 if criterion.exact else 20)[2].max(axis=1)
        new = fits.some(slice(None))
        exchange(criterion, new, i, P, 20)
        np.testing.assert_allclose(new.value, np.maximum(fits.value, best), rtol=1e-9)


@pytest.mark.parametrize("objective", CRITERIA)
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


@pytest.mark.parametrize("objective", CRITERIA)
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


@pytest.mark.parametrize("objective", CRITERIA)
@pytest.mark.parametrize("sweeps", [1, 10])
def test_sweeps_take_the_best_of_three_steps_while_it_rises(objective, sweeps):
    """Components in turn, the pull plus 0, 1 and 5 times the present loadings, cut to the largest entries."""
    criterion, S, fits = problem(objective)
    found = sweep(criterion, fits, sweeps)
    for b in range(B):
        one = fits.some(np.array([b]))
        for _ in range(sweeps):
            moved = False
            for i, card in enumerate(CARDS):
                pull, scale = criterion.pull(one, i)
                V = criterion.dense(one)[0]
                tried = []
                for weight in (0.0, 1.0, 5.0):
                    w = pull[0] + weight * scale[0] * V[:, i]
                    J = np.sort(np.argsort(-np.abs(w))[:card])
                    W = V.copy()
                    W[:, i] = 0.0
                    W[J, i] = w[J] / np.linalg.norm(w[J])
                    tried.append((value(objective, S, W), J, W[J, i]))
                best, J, v = max(tried, key=lambda one: one[0])
                if best > one.value[0] * (1 + 1e-9):
                    criterion.put(one, np.array([0]), i, J[None], v[None])
                    moved = True
            if not moved:
                break
        assert found.value[b] == pytest.approx(one.value[0], rel=1e-9)
        np.testing.assert_array_equal(found.places[b], one.places[0])
        np.testing.assert_allclose(found.x[b], one.x[0], atol=1e-7)


def climb_alone(criterion, fit, width, valued, rough):
    """Rounds of exchanges of every component and an ascent of twelve steps, of one fit."""
    fit = refined(criterion, fit, 12)
    while True:
        before, support = fit.value[0], fit.places.copy()
        for i in range(criterion.k):
            exchange(criterion, fit, i, width, valued)
        fit = reordered(criterion, refined(criterion, fit, 12))
        least = rough if (fit.places != support).any() else 1e-3
        if not fit.value[0] > before * (1 + least):
            return fit


@pytest.mark.parametrize("objective", CRITERIA)
@pytest.mark.parametrize("rough", [1e-5, 0.03])
def test_climbs_continue_while_a_round_raises_the_value(objective, rough):
    criterion, _, fits = problem(objective)
    found = climb(criterion, fits, 4, 6, rough)
    for b in range(B):
        alone = climb_alone(criterion, fits.some(np.array([b])), 4, 6, rough)
        np.testing.assert_array_equal(found.places[b], alone.places[0])
        assert found.value[b] == pytest.approx(alone.value[0], rel=1e-10)


@pytest.mark.parametrize("objective", CRITERIA)
def test_a_deep_climb_follows_the_two_best_exchanges_of_every_component(objective):
    """Each by an ascent of twelve steps, and the best of them by a climb, as long as it rises."""
    criterion, _, fits = problem(objective)
    fits = climb(criterion, fits, 3, 2)
    found = deepen(criterion, fits, 5, 4)
    for b in range(B):
        one = fits.some(np.array([b]))
        while True:
            ends = []
            for i, part in enumerate(criterion.parts):
                places, x, values = trials(criterion, one, i, 5, 4)
                for at in np.argsort(-values[0, :-1])[:2]:
                    order = np.argsort(places[0, at])
                    new = one.some(slice(None))
                    new.places[0, part], new.x[0, part] = places[0, at][order], x[0, at][order]
                    ends.append(refined(criterion, criterion.fits(new.places, new.x), 12))
            best = max(ends, key=lambda end: end.value[0])
            if not best.value[0] > one.value[0] * (1 + 1e-9):
                break
            one = climb(criterion, best, 5, 4, 1e-5)
        np.testing.assert_array_equal(found.places[b], one.places[0])
        assert found.value[b] == pytest.approx(one.value[0], rel=1e-10)


def test_components_of_equal_cardinality_are_sorted_by_variance_if_the_value_stays():
    S = np.diag([3.0, 5.0, 4.0, 1.0, 4.0, 2.0, 9.0, 8.0]) / 36.0
    criterion = criterion_of_matrix(S, (1, 2, 1, 1, 3), "adjusted")
    fits = criterion.fits(np.array([[4, 0, 3, 2, 1, 5, 6, 7]]), np.ones((1, 8)))
    # uncorrelated scores: every order is as good; of the variances 4, 4 and 5 of the single variables
    expected = [1, 0, 3, 2, 4, 5, 6, 7]
    assert falling(criterion, fits).places.tolist() == [expected]
    two = joined([fits, criterion.fits(np.array([expected]), np.ones((1, 8)))])
    assert falling(criterion, two).places.tolist() == [expected] * 2
    # where an order is better it stays
    criterion, S, fits = problem("adjusted", (2, 2, 2))
    fits = reordered(criterion, fits)
    for b in range(B):
        one = fits.some(np.array([b]))
        V = criterion.dense(one)[0]
        order = np.argsort(-np.einsum("ij,ik,kj->j", V, S, V))
        turned = value("adjusted", S, V[:, order])
        expected = V[:, order] if turned >= one.value[0] * (1 - 1e-9) else V
        np.testing.assert_allclose(criterion.dense(falling(criterion, one))[0], expected, atol=1e-14)


@pytest.mark.parametrize("objective", CRITERIA)
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
