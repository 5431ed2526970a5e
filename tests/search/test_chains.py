"""Chains of perturbations and climbs: what they keep, what they report, and starts that are given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spcastat.search import chains
from spcastat.search.climbing import EFFORTS, SAME, Evidence
from spcastat.search.criteria import CRITERIA, criterion_of_matrix
from tests.search.conftest import draw

P, CARDS = 10, (4, 3, 2)
S = draw(P, 2) / np.trace(draw(P, 2))
VECTORS = np.linalg.eigh(S)[1][:, :-7:-1]


def random_fits(criterion, count, seed=0):
    rng = np.random.default_rng(seed)
    places = [np.concatenate([np.sort(rng.permutation(P)[:c]) for c in CARDS]) for _ in range(count)]
    return criterion.fits(np.array(places), rng.standard_normal((count, sum(CARDS))))


def test_the_largest_distinct_values_are_taken_and_the_first_of_equals():
    values = np.array([0.5, 0.7, 0.5, 0.7 * (1 + 0.5 * SAME), 0.2, 0.7 * (1 + 3 * SAME), 0.1])
    assert chains.distinct(values, 10).tolist() == [5, 3, 0, 4, 6]
    assert chains.distinct(values, 3).tolist() == [5, 3, 0]
    assert chains.distinct(np.array([1.0]), 2).tolist() == [0]


@pytest.mark.parametrize("kicks", [0, 3])
@pytest.mark.parametrize("objective", CRITERIA)
def test_a_chain_keeps_up_to_three_distinct_fits_within_two_percent_of_its_best(objective, kicks):
    criterion = criterion_of_matrix(S, CARDS, objective)
    effort = replace(EFFORTS["auto"], kicks=kicks)
    parts = [random_fits(criterion, 12), random_fits(criterion, 12, 1)]
    evidence = Evidence()
    first = chains.grow_chains(criterion, parts, [None, None], effort, evidence, np.random.default_rng(0))
    tops = [elite.value[0] for elite in first]
    for part, elite in zip(parts, first, strict=True):
        assert elite.value[0] >= part.value.max()
        assert 1 <= len(elite) <= 3
        assert (np.diff(elite.value) < -SAME * elite.value[1:]).all()
        assert elite.value[-1] >= 0.98 * elite.value[0]
    assert max(evidence.values) == pytest.approx(max(tops), rel=1e-12)
    again = chains.grow_chains(
        criterion, [parts[1], parts[0]], first, effort, evidence, np.random.default_rng(0)
    )
    assert all(elite.value[0] >= top for elite, top in zip(again, tops, strict=True))


@pytest.mark.parametrize("objective", CRITERIA)
@pytest.mark.parametrize("effort", ["quick", "auto"])
def test_the_best_of_all_chains_is_returned_and_no_chain_is_better(objective, effort):
    criterion = criterion_of_matrix(S, CARDS, objective)
    fit, evidence = chains.search(criterion, VECTORS, EFFORTS[effort], np.random.default_rng(0))
    assert len(evidence.chains) == EFFORTS[effort].chains
    assert fit.value[0] >= max(evidence.chains) * (1 - 1e-12)
    assert fit.value[0] >= random_fits(criterion, 500).value.max()
    met = sum(value >= max(evidence.chains) * (1 - SAME) for value in evidence.chains)
    assert met >= EFFORTS[effort].agree


@pytest.mark.parametrize("objective", CRITERIA)
def test_a_start_that_is_given_is_never_lost(objective):
    criterion = criterion_of_matrix(S, CARDS, objective)
    best, _ = chains.search(criterion, VECTORS, EFFORTS["auto"], np.random.default_rng(0))
    poor = np.eye(P)[:, ::-1][:, :6]
    short = replace(EFFORTS["quick"], chains=1, starts=3, sweeps=0, rounds=0)
    found, _ = chains.search(criterion, poor, short, np.random.default_rng(0), best)
    assert found.value[0] >= best.value[0] * (1 - 1e-12)
