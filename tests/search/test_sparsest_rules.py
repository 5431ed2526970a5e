"""The rules by which the sparsest loadings are looked for, with searches that are made up, or written out."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from spcastat.operators import Gram
from spcastat.search import one_nonzero_less as shrinking
from spcastat.search import one_penalty as trimming
from spcastat.search import sparsest
from spcastat.search import sparsest_proposals as proposals
from spcastat.search.one_nonzero_less import PATIENCE, Shrinking
from spcastat.search.one_penalty import Loaded, loaded, penalised, polished, room
from spcastat.search.sparsest import _Search
from spcastat.search.starting_fits import from_directions
from spcastat.search.symmetric_matrices import Dense
from spcastat.search.variance_target import TargetCriterion, VarianceTarget
from tests.search.conftest import draw


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
def test_sweeps_at_one_price_keep_what_pays_and_what_the_promise_needs(every, extend, penalty):
    op, _, vectors, promise = given(k=3, every=every)
    for sweeps in (1, 2, 8):
        found = penalised(op, loaded(op, vectors, 1.0), penalty, promise, 1.0, sweeps, extend)
        expected = swept(op.S, vectors, penalty, promise, extend, sweeps)
        # the ridge of 1e-12 on correlations
        np.testing.assert_allclose(found.V, expected, atol=1e-8)
        np.testing.assert_allclose(found.F, op.S @ expected, atol=1e-8)
        np.testing.assert_allclose(found.added, added(op.S, expected), atol=1e-8)


@pytest.mark.parametrize("every", [False, True])
def test_loadings_are_polished_on_their_supports_to_the_most_room(every):
    op, values, vectors, promise = given(k=3, every=every)
    V = np.where(np.abs(vectors) > 0.3, vectors, 0.0)
    V /= np.linalg.norm(V, axis=0)
    start = loaded(op, V, 1.0)
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


# --- loadings taken away --------------------------------------------------------------------------


def test_the_loadings_that_bring_least_go_and_the_largest_of_a_component_stays():
    op, _, vectors, _ = given(k=3)
    fit = loaded(op, vectors, 1.0)
    size = np.abs(vectors) * np.sqrt(added(op.S, vectors))
    for which in ([0, 1, 2], [1], [0, 2]):
        for count in (1, 5, 100):
            found = trimming._without(op, fit, 1.0, np.array(which), count)
            largest = set(zip(np.argmax(np.abs(vectors), axis=0).tolist(), range(3), strict=True))
            places = [(j, i) for i in which for j in range(8) if (j, i) not in largest]
            gone = sorted(places, key=size.__getitem__)[:count]
            expected = vectors.copy()
            for place in gone:
                expected[place] = 0.0
            expected /= np.linalg.norm(expected, axis=0)
            np.testing.assert_allclose(found.V, expected, atol=1e-14)
    single = loaded(op, np.eye(8)[:, :3], 1.0)
    assert trimming._without(op, single, 1.0, np.arange(3), 1) is None


@pytest.mark.parametrize("least", range(1, 16))
def test_cuts_grow_and_shrink_until_a_single_loading_is_too_much(least, monkeypatch):
    """A tenth of what is there at first and at most, twice as many after a success, else a third."""
    tried = []

    def without(op, fit, total, which, count):
        tried.append(count)
        left = np.count_nonzero(fit.V) - count
        V = np.zeros((60, 1))
        V[: max(left, 1)] = 1.0
        return Loaded(V, V, np.array([float(left)])) if np.count_nonzero(fit.V) > 1 else None

    monkeypatch.setattr(trimming, "_without", without)
    monkeypatch.setattr(trimming, "polished", lambda op, fit, promise, total, sweeps: fit)
    promise = SimpleNamespace(k=1, every=False, holds=lambda added: added[0] >= least)
    V = np.ones((60, 1))
    found = trimming.trimmed(None, Loaded(V, V, np.array([60.0])), promise, 1.0)
    assert np.count_nonzero(found.V) == least
    left, count, expected = 60, 6, []
    while True:
        expected.append(count)
        if left == 1:
            break
        if left - count >= least:
            left -= count
            count = min(2 * count, max(1, left // 10))
        elif count == 1:
            break
        else:
            count = max(1, count // 3)
    assert tried == expected


def test_a_promise_on_every_component_is_cut_in_each_by_itself_as_well(monkeypatch):
    seen = []
    monkeypatch.setattr(trimming, "_cut", lambda op, fit, promise, total, which: seen.append(which.tolist()))
    for every in (False, True):
        trimming.trimmed(None, None, SimpleNamespace(k=3, every=every), 1.0)
    assert seen == [[0, 1, 2], [0, 1, 2], [0], [1], [2]]


# --- proposals ------------------------------------------------------------------------------------


def fit_of(nonzeros, value=0.5):
    V = np.zeros((40, 2))
    V.ravel()[:nonzeros] = 1.0
    return Loaded(V, V, np.array([value, 0.0]))


def test_the_fewest_nonzeros_that_keep_the_promise_and_of_ties_those_with_most_room():
    tried = [
        (0.1, fit_of(9, 0.9), True),
        (0.2, fit_of(7, 0.8), True),
        (0.3, fit_of(7, 0.85), True),
        (0.4, fit_of(5), False),
        (0.5, fit_of(7, 0.85), True),
    ]
    assert proposals._fewest(tried) == 2
    assert proposals._fewest(tried[3:4]) is None
    after = [(penalty, start.nonzeros) for penalty, start in proposals._between(tried, 2, False)]
    assert after == [(pytest.approx(np.sqrt(0.3 * 0.4)), 7)]
    both = list(proposals._between(tried, 1, True))
    assert [penalty for penalty, _ in both] == pytest.approx([np.sqrt(0.2 * 0.3), np.sqrt(0.2 * 0.1)])
    assert [start.nonzeros for _, start in both] == [7, 9]
    assert list(proposals._between(tried, 4, False)) == []
    assert len(list(proposals._between(tried, 0, True))) == 1


def test_prices_rise_from_nearly_all_loadings_to_less_than_one_a_component():
    op, _, vectors, _ = given(p=30, k=2)
    fit = loaded(op, vectors, 1.0)
    penalties = proposals._penalties(fit)
    gains = (op.S @ vectors) ** 2 / added(op.S, vectors)
    counts = [int((gains > penalty).sum()) for penalty in penalties]
    wanted = [int(n) + 1 for n in np.geomspace(0.98 * 60, 1.0, proposals.PENALTIES)]
    assert counts == sorted(set(wanted), reverse=True)


class Priced:
    """Sweeps at a penalty, by which so many loadings are left; down to `least` the promise is kept."""

    def __init__(self, monkeypatch, penalties, left, least, every):
        self.seen = []
        self.promise = SimpleNamespace(k=2, every=every, holds=lambda added: added[0] >= least)

        def penalised(op, start, penalty, promise, total, sweeps, extend):
            self.seen.append((penalty, start.nonzeros))
            assert extend is every
            nonzeros = left(penalty)
            return fit_of(nonzeros, float(nonzeros))

        monkeypatch.setattr(proposals, "loaded", lambda op, V, total: fit_of(60))
        monkeypatch.setattr(proposals, "_penalties", lambda fit: penalties)
        monkeypatch.setattr(proposals, "penalised", penalised)

    def run(self):
        return proposals.one_price(None, np.eye(2), self.promise, 1.0)


def test_a_price_is_raised_while_the_promise_is_kept_and_closed_in_upon(monkeypatch):
    search = Priced(monkeypatch, np.array([1.0, 2.0, 4.0, 8.0]), lambda penalty: int(60 / penalty), 25, False)
    assert search.run().nonzeros == 25
    first = [(1.0, 60), (2.0, 60), (4.0, 30)]
    # each penalty begins where the one before ended; then between the best and the next, from the best
    low, high = 2.0, 4.0
    closer = []
    for _ in range(proposals.CLOSER):
        penalty = np.sqrt(low * high)
        closer.append((penalty, int(60 / low)))
        if int(60 / penalty) >= 25:
            low = penalty
        else:
            high = penalty
    assert [start for _, start in search.seen] == [start for _, start in first + closer]
    np.testing.assert_allclose(
        [penalty for penalty, _ in search.seen], [penalty for penalty, _ in first + closer]
    )


def test_prices_end_where_supports_rest(monkeypatch):
    """After three penalties that change nothing; under "every" lost components do not end it."""
    search = Priced(monkeypatch, np.arange(1.0, 10.0), lambda penalty: 20 if penalty >= 2 else 30, 1, True)
    monkeypatch.setattr(proposals, "CLOSER", 0)
    assert search.run().nonzeros == 20
    assert [penalty for penalty, _ in search.seen] == [1, 2, 3, 4, 5]
    search = Priced(monkeypatch, np.arange(1.0, 6.0), lambda penalty: int(40 - penalty), 38, True)
    assert search.run().nonzeros == 38
    assert len(search.seen) == 5
    search = Priced(monkeypatch, np.arange(1.0, 6.0), lambda penalty: int(40 - penalty), 50, True)
    assert search.run() is None


@pytest.mark.parametrize("p", [1, 2, 3, 7, 16, 30])
def test_the_smallest_cardinality_is_found_by_doubling_and_bisection(p, monkeypatch):
    S = np.eye(p)
    for least in range(1, p + 1):
        tried = []

        def single(S, card, starts, tried=tried):
            tried.append(card)
            return float(card), np.full(len(S), card)

        monkeypatch.setattr(proposals, "_single", single)
        value, v = proposals._smallest(S, float(least))
        assert (value == least and v[0] == least) if least < p else (value == 1.0 and v.max() == 1.0)
        low, high, card, expected = 0, p, 1, []
        while high - low > 1:
            expected.append(card)
            low, high = (low, card) if card >= least else (card, high)
            card = min(2 * low, p - 1) if high == p and 2 * low < p else (low + high) // 2
        assert tried == expected


@pytest.mark.parametrize("most", [1, 5, 12, 40])
def test_the_smallest_common_cardinality_is_found_by_bisection(most, monkeypatch):
    S = Dense(np.eye(12) / 12)
    for least in range(1, 15):
        tried = []

        def common(S, vectors, promise, card, rng, least=least, tried=tried):
            tried.append(card)
            fit = SimpleNamespace(some=lambda which: SimpleNamespace(first=np.ones((1, 2, 12)), G=np.eye(2)))
            held = SimpleNamespace(
                holds=lambda fit: np.array([False, card >= least]),
                dense=lambda fit: np.full((1, 12, 2), card),
                added=lambda G: np.full((1, 2), card),
            )
            return fit, held

        monkeypatch.setattr(proposals, "_common", common)
        found = proposals.one_cardinality(None, S, np.eye(12)[:, :2], SimpleNamespace(k=2), most, None)
        top = min(most, 12)
        assert (found is None) == (least > top)
        assert found is None or found.V[0, 0] == found.added[0] == least
        assert tried[0] == top
        assert len(tried) <= 1 + int(np.ceil(np.log2(top + 1)))


@pytest.mark.parametrize(("card", "greedy"), [(3, True), (200, True), (201, False)])
def test_a_common_cardinality_is_also_built_greedily_unless_it_is_large(card, greedy, monkeypatch):
    built = []
    starts = SimpleNamespace(value=np.zeros(1))
    monkeypatch.setattr(proposals, "from_directions", lambda criterion, directions: starts)
    monkeypatch.setattr(proposals, "greedy", lambda *args, plain: built.append(plain) or starts)
    monkeypatch.setattr(proposals, "joined", lambda parts: parts)
    monkeypatch.setattr(proposals, "swept", lambda criterion, fits, sweeps: fits)

    def reordered(criterion, fits):
        assert len(fits) == 1 + greedy
        return SimpleNamespace(value=np.array([0.1, 0.3, 0.2]), some=lambda which: which.tolist())

    monkeypatch.setattr(proposals, "reordered", reordered)
    _, _, vectors, promise = given()
    fits, criterion = proposals._common(Dense(np.eye(300)), vectors, promise, card, None)
    assert built == [True] * greedy
    assert fits == [1, 2, 0]
    assert criterion.cards == (card, card)


# --- the search -----------------------------------------------------------------------------------


def search_of(effort="auto", p=8, k=2, every=False):
    op, values, vectors, goal = given(p, k, 0.8, every)
    return _Search(op, values, vectors, goal, effort, np.random.default_rng(0))


def test_proposals_by_promise_components_effort_and_size(monkeypatch):
    small = ["one by one", "greedy", "one cardinality"]
    assert search_of(every=True).proposals() == ["one price", *small]
    assert search_of(k=1).proposals() == ["one price", *small]
    rotated = ["one price", "one price, rotated", "one price, every"]
    assert search_of("quick").proposals() == [*rotated, *small]
    assert search_of("auto").proposals() == [*rotated, "one price, turned", *small]
    for p, names in ((200, small), (201, small[1:]), (300, small[1:]), (301, small[2:])):
        search = search_of(every=True)
        search.op = search.work = SimpleNamespace(p=p)
        assert search.proposals() == ["one price", *names]


def ended(search, nonzeros, shrunk=None):
    """Let a search have found these numbers of nonzeros by name, and let joint searches find others."""
    log = []
    search.found = {name: fit_of(n) for name, n in nonzeros.items()}
    search.goal = SimpleNamespace(k=2, true=lambda V, op: np.count_nonzero(V) not in search.false)
    search.false = ()

    def joint(fit, V, effort):
        log.append((fit.nonzeros, effort))
        n = (shrunk or {}).get((fit.nonzeros, effort), np.count_nonzero(V))
        return fit_of(n).V

    search._shrunk = joint
    return log


def test_the_three_sparsest_lose_single_loadings_and_the_sparsest_is_searched_on():
    search = search_of()
    log = ended(search, {"a": 12, "b": 10, "c": 11, "d": 13}, {(12, "quick"): 8, (12, "auto"): 7})
    V, name, searched = search.result()
    assert log == [(10, "quick"), (11, "quick"), (12, "quick"), (12, "auto")]
    assert (np.count_nonzero(V), name, searched) == (7, "a", True)


def test_quick_searches_lose_single_loadings_alone():
    search = search_of("quick")
    log = ended(search, {"a": 12, "b": 10})
    V, name, searched = search.result()
    assert log == [(10, "quick"), (12, "quick")]
    assert (np.count_nonzero(V), name, searched) == (10, "b", False)


@pytest.mark.parametrize(
    ("effort", "held", "searched"), [("auto", True, True), ("auto", False, False), ("thorough", False, True)]
)
def test_data_whose_covariance_matrix_is_not_held_are_searched_on_only_thoroughly(effort, held, searched):
    search = search_of(effort)
    log = ended(search, {"a": 12})
    search.work = SimpleNamespace(held=object() if held else None)
    assert search.result()[2] is searched
    assert log == [(12, "quick"), (12, effort)][: 1 + searched]


def test_what_misses_the_promise_by_the_measures_is_left_for_the_next():
    search = search_of()
    ended(search, {"a": 12, "b": 10}, {(10, "quick"): 9, (10, "auto"): 8})
    search.false = (8,)
    assert np.count_nonzero(search.result()[0]) == 10  # as it was proposed
    search.false = (8, 10)
    V, name, searched = search.result()
    assert (np.count_nonzero(V), name, searched) == (12, "a", False)
    search.false = (8, 10, 12)
    V, name, searched = search.result()
    assert V is search.pca
    assert (name, searched) == ("PCA", False)


@pytest.mark.parametrize(
    ("effort", "cards", "searchable"),
    [
        ("auto", (40, 40, 40), True),
        ("auto", (41, 40), False),
        ("quick", (40, 40, 40, 1), False),
        ("thorough", (80, 80, 40), True),
        ("thorough", (81,), False),
        ("thorough", (80, 80, 41), False),
    ],
)
def test_few_nonzeros_are_searched_together(effort, cards, searchable):
    V = np.zeros((90, len(cards)))
    for i, card in enumerate(cards):
        V[:card, i] = 1.0
    assert search_of(effort)._searchable(V) is searchable


def test_a_joint_search_is_of_the_variables_that_are_strongest(monkeypatch):
    """Four for each nonzero, here with a least number of five, the supports among them."""
    monkeypatch.setattr(sparsest, "LEAST", 5)
    search = search_of(p=12)
    seen = []

    def run(shrinking, V):
        seen.append((shrinking.S.M, V.copy()))
        return V / 2

    monkeypatch.setattr(Shrinking, "run", run)
    fit = loaded(search.op, search.vectors, 1.0)
    weakest = np.argsort((fit.F**2 / fit.added).max(axis=1))
    V = np.zeros((12, 2))
    V[weakest[0], 0] = V[weakest[5], 1] = 1.0
    found = search._shrunk(fit, V, "quick")
    np.testing.assert_array_equal(found, V / 2)
    rest = [j for j in weakest[::-1] if j not in weakest[[0, 5]]]
    some = np.sort([weakest[0], weakest[5], *rest[:6]])
    np.testing.assert_allclose(seen[0][0], search.op.S[np.ix_(some, some)])
    np.testing.assert_array_equal(seen[0][1], V[some])
    V[weakest[5], 1] = 0.0
    search._shrunk(fit, V, "quick")
    assert len(seen[1][1]) == 5


# --- one nonzero less -----------------------------------------------------------------------------


def shrinking_of(effort="auto", p=8, k=2, every=False):
    op, _, vectors, promise = given(p, k, 0.8, every)
    return Shrinking(Dense(op.S), promise, PATIENCE[effort], np.random.default_rng(0)), vectors


def test_single_loadings_are_dropped_from_every_component_that_has_another():
    """The best of all that are left, by enumeration, each with its best loadings."""
    search, vectors = shrinking_of()
    V = np.zeros((8, 2))
    V[:4, 0], V[5, 1] = vectors[:4, 0], 1.0
    V /= np.linalg.norm(V, axis=0)
    now = search._held(V)
    (found,) = search._dropped(now)
    assert found.criterion.cards == (3, 1)
    values = []
    for out in range(4):
        J = [j for j in range(4) if j != out]
        W = V.copy()
        W[:, 0] = 0.0
        W[J, 0] = now.fit.x[0, J]
        one = search.criterion((3, 1))
        values.append(
            (
                shrinking.refined(one, one.fits(np.array([[*J, 5]]), np.array([[*W[J, 0], 1.0]])), 12).value[
                    0
                ],
                J,
            )
        )
    best = sorted(values, reverse=True)[:2]  # so many are climbed from
    np.testing.assert_allclose(found.fit.value, [value for value, _ in best], rtol=1e-9)
    assert found.fit.places[:, :3].tolist() == [J for _, J in best]


def near(value, cards, kept=False, name=""):
    criterion = SimpleNamespace(cards=cards, owner=np.zeros(sum(cards)), k=len(cards), m=9)
    return SimpleNamespace(
        value=value, kept=kept, criterion=criterion, fit=SimpleNamespace(some=lambda w: name)
    )


def test_exchanges_follow_where_no_dropped_loading_keeps_the_promise(monkeypatch):
    search, _ = shrinking_of()
    kept, lost = near(0.5, (2, 1), True), near(0.9, (1, 2))
    better = near(0.6, (1, 2), True)
    monkeypatch.setattr(search, "_dropped", lambda now: [lost, kept, better])
    assert search._fewer(None) is better
    monkeypatch.setattr(search, "_dropped", lambda now: [lost, lost])
    monkeypatch.setattr(search, "_climbed", lambda criterion, fit: kept)
    assert search._fewer(None) is kept
    monkeypatch.setattr(search, "_climbed", lambda criterion, fit: lost)
    monkeypatch.setattr(search, "_transferred", lambda now: [better])
    assert search._fewer(None) is better
    monkeypatch.setattr(search, "_transferred", lambda now: [])
    monkeypatch.setattr(search, "_kicked", lambda one: kept)
    assert search._fewer(None) is kept
    quick, _ = shrinking_of("quick")
    monkeypatch.setattr(quick, "_dropped", lambda now: [lost])
    assert quick._fewer(None) is None


def test_a_loading_moves_from_one_component_to_another(monkeypatch):
    """One more in a component, the best first, then two less; the first that keeps the promise is enough."""
    search, _ = shrinking_of()
    now = near(0.5, (3, 2))
    larger = {0: near(0.6, (4, 2), name="first"), 1: near(0.7, (3, 3), name="second")}
    log = []

    def dropped(held):
        log.append((held.criterion.cards, held.fit))
        a, b = held.criterion.cards
        return [near(0.4, (a - 1, b)), near(0.5, (a, b - 1))]

    monkeypatch.setattr(search, "_grown", lambda now, i: larger[i])
    monkeypatch.setattr(search, "_dropped", dropped)
    monkeypatch.setattr(search, "_climbed", lambda criterion, fit: near(0.55, criterion.cards))
    found = search._transferred(now)
    assert [one.criterion.cards for one in found] == [(3, 1), (4, 0)]
    assert log == [((3, 3), "second"), ((3, 2), ""), ((4, 2), "first"), ((4, 1), "")]
    monkeypatch.setattr(search, "_climbed", lambda criterion, fit: near(0.55, criterion.cards, True))
    assert len(search._transferred(now)) == 1
    monkeypatch.setattr(search, "_dropped", lambda held: [])
    assert search._transferred(now) == []
    larger[0] = None
    assert search._transferred(now) == []


def test_a_component_grows_by_the_variables_of_steepest_slope(monkeypatch):
    search, vectors = shrinking_of()
    V = np.zeros((8, 2))
    V[[0, 1, 6], 0], V[[2, 5], 1] = vectors[[0, 1, 6], 0], vectors[[2, 5], 1]
    now = search._held(V / np.linalg.norm(V, axis=0))
    seen = []
    monkeypatch.setattr(
        search, "_climbed", lambda criterion, fits: seen.append((criterion.cards, fits)) or fits
    )
    refine = shrinking.refined
    tried = []
    monkeypatch.setattr(shrinking, "refined", lambda c, fits, n: tried.append(fits) or refine(c, fits, n))
    search._grown(now, 0)
    pull = np.abs(now.criterion.pull(now.fit, 0)[0][0])
    outside = [2, 3, 4, 5, 7]
    four = sorted(outside, key=lambda j: -pull[j])[:4]
    assert tried[0].places[:, :4].tolist() == [sorted([0, 1, 6, j]) for j in four]
    assert tried[0].places[:, 4:].tolist() == [[2, 5]] * 4
    for places, x in zip(tried[0].places, tried[0].x, strict=True):
        old = dict(zip(now.fit.places[0, :3].tolist(), now.fit.x[0, :3], strict=True))
        np.testing.assert_allclose(x[:4], [old.get(j, 0.0) for j in places[:4]], atol=1e-15)
    ((cards, best),) = seen
    assert cards == (4, 2)
    assert best.value.tolist() == [max(refine(search.criterion((4, 2)), tried[0], 12).value)]


def test_kicks_end_with_the_first_fit_that_keeps_the_promise(monkeypatch):
    search, vectors = shrinking_of("thorough")
    one = search._held(vectors)
    sizes, rounds = [], []
    monkeypatch.setattr(
        shrinking, "kicked", lambda c, fits, rows, rng: sizes.append((len(fits), rows)) or fits
    )
    monkeypatch.setattr(shrinking, "swept", lambda c, fits, sweeps: fits)
    monkeypatch.setattr(shrinking, "climbed", lambda c, fits, *more: fits)
    monkeypatch.setattr(one.criterion, "holds", lambda fits: rounds.append(len(fits)) or np.array([False]))
    assert search._kicked(one) is None
    assert sizes == [(16, 8)] * 6
    monkeypatch.setattr(one.criterion, "holds", lambda fits: rounds.append(len(fits)) or np.array([True]))
    rounds.clear()
    assert search._kicked(one).fit.value[0] == one.value
    assert len(rounds) == 1


# --- the form of the data -------------------------------------------------------------------------


def working(p, *, held=None, out=False, cheap=False):
    """What a search works with, of an operator of so many variables."""
    op = SimpleNamespace(
        p=p,
        held=held,
        out_of_core=out,
        total=1.0,
        rank_limit=p,
        rows_cost_less=lambda q: cheap,
        block=lambda some: np.eye(len(some)) / p,
    )
    search = object.__new__(_Search)
    search.op, search.variables, search.goal, search.total = op, None, None, 1.0
    search._held_of_stream = lambda vectors: "streamed"
    return op, search._working(None)


def test_the_covariance_matrix_is_held_where_that_costs_least(monkeypatch):
    monkeypatch.setattr(sparsest, "HELD", 5)
    monkeypatch.setattr(sparsest, "TALL", 9)
    for p, options, form in [
        (5, {"held": 1}, "itself"),
        (5, {}, "matrix"),
        (5, {"cheap": True}, "matrix"),
        (6, {"cheap": True}, "itself"),
        (9, {}, "matrix"),
        (9, {"out": True}, "matrix"),
        (10, {}, "itself"),
        (10, {"out": True}, "streamed"),
        (6, {"out": True, "cheap": True}, "streamed"),
    ]:
        op, work = working(p, **options)
        if form == "matrix":
            np.testing.assert_array_equal(work.held, np.eye(p) / p)
        else:
            assert (work is op) if form == "itself" else work == form


def test_of_a_stream_the_variables_that_pca_explains_best_are_held_until_they_are_enough(monkeypatch):
    monkeypatch.setattr(sparsest, "STREAMED", 2)
    monkeypatch.setattr(sparsest, "MOST_STREAMED", 8)
    met = set()
    for share in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        search = search_of(p=20)
        values, vectors = search.op.leading(2)
        search.goal = VarianceTarget(share, False, values)
        order = np.argsort(-(vectors**2 @ values))
        enough = [
            n
            for n in (2, 4, 8)
            if np.linalg.eigvalsh(search.op.S[np.ix_(order[:n], order[:n])])[-2:].sum()
            >= share * values.sum()
        ]
        found = search._held_of_stream(vectors)
        met.add(enough[0] if enough else None)
        if not enough:
            assert found is search.op
            assert search.variables is None
            continue
        some = np.sort(order[: enough[0]])
        assert search.variables.tolist() == some.tolist()
        np.testing.assert_allclose(found.S, search.op.S[np.ix_(some, some)])
        V = np.arange(2.0 * len(some)).reshape(-1, 2)
        whole = search._whole(V)
        np.testing.assert_array_equal(whole[some], V)
        assert not np.delete(whole, some, axis=0).any()
    assert met == {2, 4, 8, None}


def test_a_result_says_whether_it_is_dense_or_as_sparse_as_can_be():
    op, values, _, promise = given(p=9, k=2)
    for cards, dense, least in (((3, 3), False, False), ((4, 3), True, False), ((1, 1), False, True)):
        V = np.zeros((9, 2))
        for i, card in enumerate(cards):
            V[i : i + card, i] = card**-0.5
        found = sparsest._record(op, V, promise, "total", "greedy", {"greedy": 6}, False)
        assert (found.card, found.dense, found.searched) == (cards, dense, least)
        assert found.proven is (True if least else None)
        assert found.value == pytest.approx(added(op.S, V).sum(), rel=1e-9)
        np.testing.assert_allclose(found.kept, np.cumsum(added(op.S, V)) / np.cumsum(values), rtol=1e-9)
    assert sparsest._record(op, V, promise, "total", "greedy", {}, True).searched


def test_components_one_by_one_have_what_those_before_leave_them(monkeypatch):
    """Each reaches what the promise still lacks on the Schur complement, to half of the rounding allowed."""
    op, values, _, promise = given(k=3, every=True)
    seen = []

    def smallest(left, goal):
        seen.append((left.copy(), goal))
        v = np.zeros(8)
        v[len(seen) : len(seen) + 3] = 3**-0.5
        return float(v @ left @ v), v

    monkeypatch.setattr(proposals, "_smallest", smallest)
    assert proposals.one_by_one(op.S, promise) is None  # these loadings keep less
    left, reached = op.S, 0.0
    for i, (matrix, goal) in enumerate(seen):
        np.testing.assert_allclose(matrix, left, atol=1e-14)
        assert goal == pytest.approx(0.8 * values[: i + 1].sum() - reached, rel=1e-8)
        v = np.zeros(8)
        v[i + 1 : i + 4] = 3**-0.5
        reached += v @ left @ v
        left = left - np.outer(left @ v, left @ v) / (v @ left @ v)
    seen.clear()
    found = proposals.one_by_one(op.S, VarianceTarget(1e-3, True, values))
    np.testing.assert_allclose(found.added, added(op.S, found.V), atol=1e-9)
    np.testing.assert_allclose(found.F, op.S @ found.V, atol=1e-12)
    assert np.count_nonzero(found.V, axis=0).tolist() == [3, 3, 3]


@pytest.mark.parametrize("card", [1, 2, 4, 7])
def test_a_single_component_is_the_best_of_all_supports(card):
    """By enumeration, on data of eight variables."""
    S = given(seed=card)[0].S
    starts = np.linalg.eigh(S)[1][:, ::-1][:, :4].T
    value, v = proposals._single(S, card, starts)
    tops = [np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] for J in combinations(range(8), card)]
    assert value == pytest.approx(max(tops), rel=1e-9)
    assert v @ S @ v == pytest.approx(value, rel=1e-9)
    assert np.count_nonzero(v) == card


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_what_ranks_the_choices_for_a_component_has_the_slope_of_the_promise(every, share):
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


def test_every_proposal_is_made_by_its_own_rule(monkeypatch):
    search = search_of(p=12)
    for name in ("one_by_one", "one_price", "one_cardinality", "grown", "loaded"):
        monkeypatch.setattr(sparsest, name, lambda *args, name=name: name)
    made = {name: search._proposal(name) for name in ("one by one", "greedy", "one cardinality", "PCA")}
    assert made == {
        "one by one": "one_by_one",
        "greedy": "grown",
        "one cardinality": "one_cardinality",
        "PCA": "loaded",
    }
    seen = []

    def one_price(work, vectors, goal, total):
        seen.append((vectors, goal.every))
        return fit_of(20 - len(seen))

    monkeypatch.setattr(sparsest, "one_price", one_price)
    assert search._proposal("one price").nonzeros == 19
    assert search._proposal("one price, every").nonzeros == 18
    assert search._proposal("one price, rotated").nonzeros == 17
    assert search._proposal("one price, turned").nonzeros == 14  # the fewest of three
    assert [every for _, every in seen] == [False, True, *[False] * 4]
    np.testing.assert_array_equal(seen[0][0], search.vectors)
    np.testing.assert_array_equal(seen[1][0], search.vectors)
    assert np.abs(seen[2][0] - search.vectors).max() > 1e-3
