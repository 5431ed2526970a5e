"""Single swaps: the quick test of every pair, the tests of variables outside, and the end of a polish."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spcastat.operators import Gram
from spcastat.search.conditional import Conditional, slack
from spcastat.search.screening_tests import (
    enlarged,
    entering,
    needed_variance,
    own_parts,
    peaks_of,
    possible_by_score,
    rising,
)
from spcastat.search.swaps import polish

from .swapping import KINDS, best_swap, covariance, explained, gain, loadings, swaps

P, CARD = 11, 3


def cases() -> list[tuple[str, int, int]]:
    return [(kind, k, seed) for kind in KINDS for k in (1, 2, 3) for seed in range(6)]


def drawn(kind: str, k: int, seed: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng([KINDS.index(kind), k, seed])
    S, V = covariance(kind, P, rng), loadings(P, k, CARD, rng)
    supports = [np.flatnonzero(v) for v in V.T]
    for i, support in enumerate(supports):  # the best on its support, as the tests take for granted
        peak = Conditional(S, V, S @ V, i).peak(support, float(np.trace(S)))
        V[:, i] = 0.0
        V[support, i] = peak.vector
    return S, V, supports


@pytest.mark.parametrize(("kind", "k", "seed"), cases())
def test_peaks_and_losses_against_projections(kind, k, seed):
    S, V, supports = drawn(kind, k, seed)
    for i, peak in enumerate(peaks_of(S, V, supports, float(np.trace(S)))):
        others = np.delete(V, i, axis=1)
        # both are eigenvalues of small matrices; a null direction of B costs half the digits
        assert peak.value == pytest.approx(gain(S, others, peak.support), rel=1e-9)
        fall = [peak.value - gain(S, others, np.delete(peak.support, j)) for j in range(CARD)]
        losses = peak.losses()
        assert (losses <= np.array(fall) + 1e-9 * peak.value).all()
        if not peak.unsure.any():
            np.testing.assert_allclose(losses, fall, atol=1e-9 * peak.value)


@pytest.mark.parametrize(("kind", "k", "seed"), cases())
def test_the_quick_test_of_a_swap_is_exact(kind, k, seed):
    S, V, supports = drawn(kind, k, seed)
    total = float(np.trace(S))
    for i, peak in enumerate(peaks_of(S, V, supports, total)):
        given = Conditional(S, V, S @ V, i)
        others = np.delete(V, i, axis=1)
        entering = np.setdiff1d(np.arange(P), peak.support)
        short, rise = slack(
            peak,
            given.A(peak.support, entering),
            given.B(peak.support, entering),
            *given.corners(entering),
        )
        place = {int(variable): b for b, variable in enumerate(entering)}
        for out, variable, new in swaps(P, peak.support):
            risen = gain(S, others, new) - peak.value
            found = short[out, place[variable]]
            if abs(risen) > 1e-8 * peak.value:  # the rest is rounding
                assert (found < 0) == (risen > 0) or (found < 0 and peak.unsure[out])
            # for variables that depend on others, the upper bound is on what their free part adds
            assert risen <= max(-found, 0.0) + 1e-8 * peak.value
            assert rise[out, place[variable]] >= 0.0


@pytest.mark.parametrize(("kind", "k", "seed"), cases())
def test_no_improving_variable_is_ever_excluded(kind, k, seed):
    S, V, supports = drawn(kind, k, seed)
    peaks = peaks_of(S, V, supports, float(np.trace(S)))
    outside = np.setdiff1d(np.arange(P), np.concatenate(supports))
    improves = np.zeros(P, dtype=bool)
    for i, peak in enumerate(peaks):
        for _, variable, new in swaps(P, peak.support):
            improves[variable] |= gain(S, np.delete(V, i, axis=1), new) > peak.value * (1.0 + 1e-8)
    improves = improves[outside]
    variances = np.diag(S)[outside]
    scores = (S @ own_parts(V, peaks))[outside]
    assert not (improves & (variances <= needed_variance(peaks))).any()
    assert not (improves & ~possible_by_score(peaks, scores, variances)).any()
    used = np.unique(np.concatenate(supports))
    rise = rising(V[used], [_numbered(peak, used) for peak in peaks], S[np.ix_(used, outside)], variances)
    np.testing.assert_array_equal(rise > 0, improves)


def _numbered(peak, used):
    return replace(peak, support=np.searchsorted(used, peak.support))


def test_the_tests_exclude_and_the_dearer_ones_more():
    by_variance = by_score = exactly = 0
    for kind, k, seed in cases():
        S, V, supports = drawn(kind, k, seed)
        S = S.copy()
        weak = np.arange(P) >= P - 3  # outside all supports by construction
        size = np.where(weak, 0.1, 1.0)
        S *= np.outer(size, size)
        V, supports = polish(S[:-3, :-3], V[:-3], (CARD,) * k, float(np.trace(S)))
        V = np.vstack([V, np.zeros((3, k))])
        peaks = peaks_of(S, V, supports, float(np.trace(S)))
        variances = np.diag(S)[weak]
        by_variance += int((variances <= needed_variance(peaks)).sum())
        by_score += int((~possible_by_score(peaks, (S @ own_parts(V, peaks))[weak], variances)).sum())
        exactly += 3 - entering(Gram(S), np.arange(P - 3), V[:-3], peaks).size
    assert 0 < by_variance < by_score <= exactly


def test_a_variable_with_a_small_row_sum_may_be_in_the_optimum():
    S = np.array([[5.0, 4.0, 0.0], [4.0, 5.0, 0.5], [0.0, 0.5, 1.0]])
    assert np.linalg.eigvalsh(S)[-1] > np.linalg.eigvalsh(S[:2, :2])[-1]
    # beside a poor support, the first variable with a free place, it is found: 5 < the eigenvalue of {2, 3}
    S = S[np.ix_([1, 2, 0], [1, 2, 0])]  # in the order 2, 3, 1; {2} and {1} are the candidates
    S[0, 2] = S[2, 0] = 0.0
    V = np.array([[1.0], [0.0], [0.0]])
    peaks = peaks_of(S, V, [np.array([0, 2])], float(np.trace(S)))
    assert entering(Gram(S), np.array([0, 2]), V[[0, 2]], [replace(peaks[0], support=np.arange(2))]) == [1]


@pytest.mark.parametrize(("kind", "k", "seed"), cases())
def test_a_polish_ends_where_no_swap_improves(kind, k, seed):
    rng = np.random.default_rng([KINDS.index(kind), k, seed, 1])
    S, V = covariance(kind, P, rng), loadings(P, k, CARD, rng)
    before = explained(S, V)
    W, supports = polish(S, V, (CARD,) * k, float(np.trace(S)))
    assert [len(support) for support in supports] == [CARD] * k
    assert explained(S, W) >= before * (1.0 - 1e-12)
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1.0, rtol=1e-12)
    assert not any(W[np.setdiff1d(np.arange(P), support), i].any() for i, support in enumerate(supports))
    # GAIN is 1e-9; the other eight digits are those that brute force has where loadings nearly coincide
    assert best_swap(S, W, supports) <= 1e-8


@pytest.mark.parametrize("cards", [(1, 1), (1, 4, 2), (P,), (P, 2)])
def test_a_polish_keeps_the_cardinality_of_every_component(cards):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        S = covariance("full", P, rng)
        V = np.linalg.eigh(S)[1][:, ::-1][:, : len(cards)].copy()
        for i, card in enumerate(cards):
            V[np.argsort(-np.abs(V[:, i]))[card:], i] = 0.0
        V /= np.linalg.norm(V, axis=0)
        W, supports = polish(S, V, cards, float(np.trace(S)))
        assert tuple(map(len, supports)) == cards
        assert tuple(np.count_nonzero(W, axis=0)) == cards
        inner = [i for i, card in enumerate(cards) if card < P]
        if inner:
            assert best_swap(S, W, supports) <= 1e-8


def test_a_block_is_enlarged_by_few_columns_as_by_a_new_block():
    S = covariance("full", 40, np.random.default_rng(0))
    before = np.array([1, 4, 9, 30])
    for after in (np.array([0, 1, 4, 9, 25, 30, 39]), np.arange(40)):
        for known in (None, S[np.ix_(before, before)]):
            block = enlarged(Gram(S), known, before, after)
            np.testing.assert_array_equal(block, S[np.ix_(after, after)])


def test_a_place_that_is_worth_nothing():
    # The third variable of the support covaries with neither of the others: its swap is tested by what a
    # variable adds to all three. Of the two outside, one covaries with the first.
    S = np.diag([5.0, 4.0, 1.0, 2.0, 2.0])
    S[0, 1] = S[1, 0] = 3.0
    S[0, 3] = S[3, 0] = 0.5
    V = np.zeros((5, 1))
    peak = peaks_of(S, V, [np.arange(3)], float(np.trace(S)))[0]
    V[:3, 0] = peak.vector
    assert peak.unsure.tolist() == [False, False, True]
    assert peak.losses()[2] == 0.0
    scores = S @ own_parts(V, [peak])
    assert possible_by_score([peak], scores[3:], np.diag(S)[3:]).tolist() == [True, False]
    assert entering(Gram(S), np.arange(3), V[:3], [peak]).tolist() == [3]
    W, supports = polish(S, V, (3,), float(np.trace(S)))
    assert supports[0].tolist() == [0, 1, 3]
    assert best_swap(S, W, supports) <= 1e-8


def test_equal_variables_without_covariance_and_a_component_without_variance():
    # all swaps tie, and the second component of the last has nothing to explain
    for S in (np.eye(6), np.diag([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])):
        V = np.zeros((6, 3))
        V[[0, 1, 2], [0, 1, 2]] = 1.0
        W, supports = polish(S, V, (2, 2, 2), float(np.trace(S)))
        assert explained(S, W) == pytest.approx(min(3.0, np.trace(S)))
        assert [len(support) for support in supports] == [2, 2, 2]
