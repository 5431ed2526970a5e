"""The rules by which chains of kicks and climbs go on, with climbs that are made up."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from spcastat.search import chains
from spcastat.search.criterion import Fits
from spcastat.search.local_optima import SAME, Evidence
from spcastat.search.settings import EFFORTS, Patience

EFFORT = replace(EFFORTS["auto"], chains=2, starts=4, climbs=2, kicks=3)


def batch(values, number=0.0) -> Fits:
    """Fits that have these values, and a number of their own in place of loadings."""
    B = len(values)
    x = np.column_stack([np.full(B, number), np.arange(B)]).astype(float)
    empty = np.zeros((B, 0, 2))
    square = np.zeros((B, 1, 1))
    values = np.array(values, dtype=float)
    return Fits(np.zeros((B, 2), dtype=int), x, empty, empty, square, square, values, np.zeros(B, dtype=int))


def told(fits: Fits) -> list[tuple[float, ...]]:
    """Which fits they are."""
    return [tuple(x) for x in fits.x.tolist()]


def criterion(**changes):
    options = {"k": 1, "rugged": False, "equal": True, "exact": False, "owner": np.zeros(31), **changes}
    return SimpleNamespace(**options)


@pytest.fixture
def climbs(monkeypatch):
    """Sweeps, orders and climbs that change nothing but are told of."""
    seen = []
    monkeypatch.setattr(chains, "swept", lambda criterion, fits, sweeps: fits)
    monkeypatch.setattr(chains, "reordered", lambda criterion, fits: fits)
    monkeypatch.setattr(chains, "climbed", lambda criterion, fits, *more: seen.append(fits) or fits)
    return seen


def test_the_largest_distinct_values_are_taken_and_the_first_of_equals():
    values = np.array([0.5, 0.7, 0.5, 0.7 * (1 + 0.5 * SAME), 0.2, 0.7 * (1 + 3 * SAME), 0.1])
    assert chains.distinct(values, 10).tolist() == [5, 3, 0, 4, 6]
    assert chains.distinct(values, 3).tolist() == [5, 3, 0]
    assert chains.distinct(np.array([1.0]), 2).tolist() == [0]


def test_a_chain_climbs_from_its_best_and_goes_on_from_those_that_are_near_the_best(climbs):
    parts = [batch([0.5, 0.9, 0.9, 0.7, 0.8], 1), batch([0.3, 0.2, 0.95], 2)]
    elites = [batch([0.89, 0.6], 3), None]
    evidence = Evidence()
    found = chains.grown(criterion(), parts, elites, EFFORT, evidence, np.random.default_rng(0))
    assert told(climbs[0]) == [(1, 1), (1, 4), (2, 2), (2, 0)]
    assert [told(one) for one in found] == [[(1, 1), (3, 0)], [(2, 2)]]
    assert evidence.values == [0.9, 0.8, 0.95, 0.3]


def test_three_fits_at_most_and_none_two_percent_below_the_best_are_gone_on_from(climbs):
    part = batch([1.0, 0.9801, 0.9799, 0.99, 0.985, 0.995])
    effort = replace(EFFORT, climbs=6)
    (all_,) = chains.grown(criterion(), [part], [None], effort, Evidence(), np.random.default_rng(0))
    assert all_.value.tolist() == [1.0, 0.995, 0.99]
    part = batch([1.0, 0.9801, 0.9799])
    (two,) = chains.grown(criterion(), [part], [None], effort, Evidence(), np.random.default_rng(0))
    assert two.value.tolist() == [1.0, 0.9801]


@pytest.mark.parametrize(
    ("kicks", "known", "best", "others"), [(3, False, 4, 8), (3, True, 4, 0), (0, False, 2, 4)]
)
def test_where_good_optima_lie_far_apart_starts_are_climbed_from_that_look_no_better(
    climbs, kicks, known, best, others
):
    """Twice as many of the best once there are kicks, and of new starts twice as many again at random."""
    values = np.linspace(1.0, 0.1, 20)
    elite = batch([0.9], 3) if known else None
    effort = replace(EFFORT, kicks=kicks)
    chains.grown(
        criterion(rugged=True), [batch(values)], [elite], effort, Evidence(), np.random.default_rng(0)
    )
    places = [int(x[1]) for x in climbs[0].x]
    assert places[:best] == list(range(best))
    assert len(places) == len(set(places)) == best + others
    assert places[best:] != sorted(places[best:]) or not others


def test_where_cardinalities_differ_half_of_these_and_as_many_after_a_change_of_places(climbs, monkeypatch):
    changed = []

    def interchanged(criterion, fits):
        changed.append(fits)
        return batch(fits.value / 2, 7)

    monkeypatch.setattr(chains, "interchanged", interchanged)
    parts = [batch(np.linspace(1.0, 0.1, 20), 1), batch(np.linspace(0.9, 0.2, 20), 2), batch([0.6, 0.5], 3)]
    elites = [None, None, batch([0.7], 4)]
    evidence = Evidence()
    found = chains.grown(
        criterion(rugged=True, equal=False), parts, elites, EFFORT, evidence, np.random.default_rng(0)
    )
    # four of the best and four others of the chains that begin anew, two of the third
    assert [x[0] for x in told(climbs[0])] == [1] * 8 + [2] * 8 + [3] * 2
    # of each at most eight ends change places, by falling value; four of what comes of it are climbed from
    assert [len(fits) for fits in changed] == [8, 8]
    assert all((np.diff(fits.value) < 0).all() for fits in changed)
    assert [len(fits) for fits in climbs[1:]] == [8]
    np.testing.assert_allclose(climbs[1].value, [*(changed[0].value[:4] / 2), *(changed[1].value[:4] / 2)])
    assert len(evidence.values) == 8 + 4 + 8 + 4 + 2
    assert [one.value[0] for one in found] == [1.0, 0.9, 0.7]
    # without kicks no places are changed
    changed.clear()
    effort = replace(EFFORT, kicks=0)
    chains.grown(
        criterion(rugged=True, equal=False), parts, elites, effort, Evidence(), np.random.default_rng(0)
    )
    assert not changed


def test_a_chain_goes_on_from_kicks_of_its_own_best_fits_or_from_new_starts(monkeypatch):
    monkeypatch.setattr(chains, "kicked", lambda criterion, fits, rows, rng: fits)
    monkeypatch.setattr(
        chains, "pool", lambda criterion, vectors, size, rng, first: batch(np.zeros(size), 9 + first)
    )
    elites = [batch([0.5, 0.4], 1), batch([0.6], 2), batch([0.7, 0.6, 0.5], 3)]
    lost = np.array([False, True, False])
    parts = chains._next(criterion(), np.eye(2), elites, lost, EFFORT, 5, np.random.default_rng(0))
    assert [len(part) for part in parts] == [3, 5, 3]
    assert [{x[0] for x in told(part)} for part in parts] == [{1}, {9}, {3}]
    several = chains._next(
        criterion(), np.eye(2), elites[2:], lost[2:], replace(EFFORT, kicks=60), 5, np.random.default_rng(0)
    )
    assert {x[1] for x in told(several[0])} == {0, 1, 2}


def test_a_chain_begins_anew_where_it_is_behind_for_long_or_where_enough_agree():
    reached, stuck = np.array([1.0, 0.9, 1.0, 0.9, 1.0, 1.0 - SAME / 2]), np.array([9, 2, 9, 1, 9, 0])
    anew = chains._behind(reached, stuck, 2)
    assert anew.tolist() == [False, True, False, False, True, True]


def test_a_search_ends_after_rounds_without_a_rise_where_chains_agree():
    patience = Patience(vain=2, unseen=0.3, long=5, rise=SAME, rough=0.01)
    same, near, apart = (np.array([1.0, 1.0 - by, 0.5]) for by in (SAME / 2, 0.009, 0.02))
    for vain, unseen, reached, chains_, ends in [
        (1, 0.1, same, 2, False),
        (2, 0.1, same, 2, True),
        (2, 0.3, same, 2, True),
        (2, 0.31, same, 2, False),  # new optima are likely: the longer patience
        (4, 0.31, same, 2, False),
        (5, 0.31, same, 2, True),
        (2, 0.1, same, 3, False),
        (2, 0.1, near, 2, False),
        (4, 0.1, near, 2, False),
        (5, 0.1, near, 2, True),  # after long they need not meet in the best
        (5, 0.1, apart, 2, False),
        (5, 0.1, apart, 1, True),
    ]:
        assert chains._enough(patience, vain, unseen, reached, chains_) is ends


class Search:
    """A search of which every round has given values: those of the chains' best fits."""

    def __init__(self, monkeypatch, rounds, **options):
        self.rounds, self.sizes, self.lost, self.enough = iter(rounds), [], [], []
        self.criterion = criterion(**options)

        def pool(criterion, vectors, size, rng, first):
            self.sizes.append((size, first))
            return batch(np.zeros(size))

        def grown(criterion, parts, elites, effort, evidence, rng):
            self.parts = parts
            self.elites = elites
            return [batch([value, 0.0], number) for number, value in enumerate(next(self.rounds))]

        def enough(patience, vain, unseen, reached, agree):
            self.enough.append((vain, reached.tolist()))
            self.patience = patience
            return vain >= 3

        def following(criterion, vectors, elites, lost, effort, starts, rng):
            self.lost.append(lost.tolist())
            return [None] * len(elites)

        monkeypatch.setattr(chains, "pool", pool)
        monkeypatch.setattr(chains, "grown", grown)
        monkeypatch.setattr(chains, "_next", following)
        monkeypatch.setattr(chains, "_enough", enough)
        for name in ("reordered", "deepened", "refined"):
            monkeypatch.setattr(chains, name, lambda criterion, fits, *more: fits)

    def run(self, effort=EFFORT, start=None):
        rng = np.random.default_rng(0)
        return chains.search(self.criterion, np.eye(2), effort, rng, start)


def test_rounds_without_a_better_fit_are_counted_and_the_best_chain_wins(monkeypatch):
    rounds = [(0.5, 0.4), (0.5, 0.45), (0.6, 0.45), (0.55, 0.6), (0.5, 0.5), (0.6 * (1 + SAME / 2), 0.5)]
    search = Search(monkeypatch, rounds)
    best, evidence = search.run()
    assert search.sizes == [(4, True), (4, False)]
    assert search.enough == [
        (0, [0.5, 0.4]),
        (1, [0.5, 0.45]),
        (0, [0.6, 0.45]),
        (1, [0.6, 0.6]),
        (2, [0.6, 0.6]),
        (3, [0.6 * (1 + SAME / 2), 0.6]),
    ]
    assert search.patience is EFFORT.ordered
    assert told(best) == [(0, 0)]
    # chains that met in the best have its value, wherever they were in the end
    assert evidence.chains == [0.6 * (1 + SAME / 2)] * 2


def test_chains_that_did_not_meet_in_the_best_have_values_of_their_own(monkeypatch):
    search = Search(monkeypatch, [(0.4, 0.5), (0.3, 0.5), (0.3, 0.5), (0.3, 0.5)], exact=True)
    best, evidence = search.run()
    assert told(best) == [(1, 0)]
    assert evidence.chains == [0.3, 0.5]
    assert search.patience is EFFORT.free
    assert search.lost == [[False, False]] * 3


def test_in_rugged_problems_there_are_twice_as_many_starts_and_chains_begin_anew(monkeypatch):
    rounds = [(0.5, 0.4), *[(0.5, 0.4)] * 2, (0.7, 0.4), (0.7, 0.4), (0.7, 0.69), (0.7, 0.69)]
    search = Search(monkeypatch, rounds, rugged=True)
    search.run()
    assert search.sizes == [(8, True), (8, False)]
    # stuck for two rounds behind the other; then anew it has two rounds again
    behind = [one[1] for one in search.lost]
    assert behind == [False, False, True, False, True, False][: len(behind)]
    assert not any(one[0] for one in search.lost)
    assert search.elites[0] is not None


def test_a_chain_that_rises_has_its_patience_again(monkeypatch):
    rounds = [(0.5, 0.4), (0.5, 0.4), (0.51, 0.45), (0.52, 0.45), (0.53, 0.45), (0.53, 0.45)]
    search = Search(monkeypatch, [*rounds, *rounds[-1:] * 2], rugged=True)
    search.run()
    assert [one[1] for one in search.lost] == [False, False, False, False, True, False, True]


@pytest.mark.parametrize("deep", [True, False])
def test_the_ends_of_all_chains_are_followed_in_a_deep_search(monkeypatch, deep):
    search = Search(monkeypatch, [(0.4, 0.5)] * 4)
    monkeypatch.setattr(
        chains, "deepened", lambda criterion, fits, *more: batch(fits.value + np.array([0.2, 0.0]), 6)
    )
    best, _ = search.run(replace(EFFORT, deep=deep))
    assert told(best) == [(6, 0) if deep else (1, 0)]


@pytest.mark.parametrize(("loadings", "rounds"), [(30, 12), (31, 8)])
def test_rounds_at_most_and_half_as_many_again_of_few_loadings(monkeypatch, loadings, rounds):
    search = Search(monkeypatch, [(0.1 + 0.01 * n, 0.1) for n in range(20)], owner=np.zeros(loadings))
    best, _ = search.run()
    assert len(search.lost) == rounds
    assert best.value[0] == 0.1 + 0.01 * rounds


def test_a_start_that_is_given_belongs_to_the_first_chain(monkeypatch):
    parts = []
    search = Search(monkeypatch, [(0.4, 0.5)] * 4)
    inner = chains.grown
    monkeypatch.setattr(chains, "grown", lambda c, some, *more: parts.append(some) or inner(c, some, *more))
    search.run(start=batch([0.3], 5))
    assert [len(part) for part in parts[0]] == [5, 4]
    assert told(parts[0][0])[0] == (5, 0)
