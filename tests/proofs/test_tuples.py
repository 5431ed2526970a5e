"""The search over the supports of all components, and the steps of the dual methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise, product
from math import comb

import numpy as np
import pytest
from scipy.optimize import brentq

from spcastat.proofs.duals import ordered_bounds, planes, support_bounds, within_union
from spcastat.proofs.jointly import Open, Tuples
from spcastat.proofs.one_component import Stopped
from spcastat.proofs.relaxed import Relaxed, Root, Sums, SupportBounds, reaches

# --- The search over the supports of all components, with bounds that are made up ------------------
# With them the nodes that have to be looked at can be counted by going through the tree one by one, as long
# as the best value is known from the beginning; and every answer is known by enumeration.

#: Large enough for bounds that are closed between the best value and the threshold.
TOLERANCE = 0.03


class Toy(Relaxed):
    """Values of all choices are random; a choice that is not complete is bounded by its best completion.

    Bounds are too large by less and less: by `loose` for each support that is still to be chosen, by a tenth
    of that where all are, and by nothing the second time. `reached` gives tables of unions, `ceilings` what
    supports add at most.
    """

    def __init__(self, cards, p=5, loose=0.2, reached=False, ceilings=False, seed=0):
        super().__init__(np.eye(p) / p, cards)
        self.every = cards
        self.loose, self.reached = loose, reached
        rng = np.random.default_rng(seed)
        shape = comb(p, self.m), *(len(one) for one in self.supports)
        self.values = rng.uniform(0.2, 0.6, shape)
        self.steps: dict[tuple[int, ...], list[int]] = {}
        self.calls: list[tuple[int, int, int]] = []
        self.table = rng.uniform(0.5, 0.7, 1 << self.p)
        self.own = 0.1
        self.alone = tuple(rng.uniform(0.1, 0.4, n) for n in shape[1:]) if ceilings else None

    def searched(self, c):
        return c < self.p

    def dense(self):
        return 0.9

    def single_bounds(self, singles):
        every = [tuple(one) for one in self.singles()]
        return np.array([self.best((every.index(tuple(one)),)) for one in singles]) + self.loose

    def best(self, key):
        """The largest value of all that begin so; of components alike only one order counts."""
        tails = product(*(range(n) for n in self.values.shape[len(key) :]))
        return max(self.values[(*key, *tail)] for tail in tails if self.ascending((*key, *tail)))

    def ascending(self, key):
        rows = key[1:]
        return all(rows[t] <= rows[t + 1] or self.cards[t] != self.cards[t + 1] for t in range(len(rows) - 1))

    def root(self, singles):
        every = [tuple(one) for one in self.singles()]
        reach = reaches(self.table, sum(self.cards)) if self.reached else None
        sums = None if self.alone is None else Sums(self.own, tuple(map(self.without_pairs, self.alone)))
        root = Root(self.frame, singles, reach, sums=sums)
        object.__setattr__(root, "number", every.index(tuple(singles)))
        return root

    @staticmethod
    def without_pairs(values):
        """Components whose two largest eigenvalues are the same: pairs of them lose nothing."""
        return SupportBounds(values, values, np.zeros((len(values), 1)))

    def reach(self, key):
        """The bound of the union of the supports and of any others that the rest may have."""
        if not self.reached:
            return np.inf
        union = {i for t, row in enumerate(key[1:]) for i in self.supports[t][row]}
        others = set(range(self.p)) - union
        sets = (T for r in range(sum(self.cards[len(key) - 1 :]) + 1) for T in combinations(others, r))
        return max(self.table[sum(1 << int(i) for i in union.union(T))] for T in sets)

    def ceiling(self, key):
        """The sum of what supports add at most."""
        if self.alone is None:
            return np.inf
        chosen = sum(one[row] for one, row in zip(self.alone, key[1:], strict=False))
        return self.own + chosen + sum(one.max() for one in self.alone[len(key) - 1 :])

    def above(self, key, again=False):
        """The bound of a choice."""
        open_ = len(self.cards) - len(key) + 1
        if again and not open_:
            return self.best(key)
        return self.best(key) + self.loose * (open_ or 0.1)

    def bounds(self, roots, chosen, threshold, steps, running):
        self.calls.append((chosen.shape[1], len(roots), steps))
        found = []
        for root, rows in zip(roots, chosen, strict=True):
            key = root.number, *map(int, rows)
            self.steps.setdefault(key, []).append(steps)
            found.append(self.above(key, len(self.steps[key]) > 1))
        return np.array(found)

    def alike(self, roots, chosen, threshold, steps, running): ...

    def counted(self, threshold, few=False):
        """Return the nodes that are looked at, by level, and the largest bound of those that are not.

        Of a node with few children those are looked at instead, unless they are leaves.
        """
        counts, closed = np.zeros((len(self.cards) + 1, 2), dtype=int), 0.0

        def close(bound):
            nonlocal closed
            closed = max(closed, bound)

        def down(key, bound):
            level = len(key) - 1
            if level == len(self.cards) or (level and not few):
                counts[level, 0] += 1
                bound = min(bound, self.above(key))
                if level == len(self.cards) and bound > threshold:
                    counts[level, 1] += 1
                    bound = min(bound, self.above(key, again=True))
                if bound <= threshold or level == len(self.cards):
                    close(bound)
                    return
            counts[level, 1] += 1
            for row in range(len(self.supports[level])):
                child = (*key, row)
                if self.ascending(child):
                    own = min(bound, self.ceiling(child), self.reach(child))
                    down(child, own) if own > threshold else close(own)

        singles = self.singles()
        for number, bound in enumerate(self.single_bounds(singles) if self.m else [self.dense()]):
            bound = min(bound, self.dense())
            down((number,), bound) if bound > threshold else close(bound)
        return counts, closed


def searching(problem, value, **options):
    climbed = []

    def climb(some):
        climbed.append(some)
        for fit in some:  # of single variables and supports, in the order of the cardinalities
            assert [len(T) for T in fit] == sorted(problem.every)
        return value

    search = Tuples(problem, value, TOLERANCE, lambda: True, climb, **options)
    search.begin()
    return search, climbed


@pytest.mark.parametrize("cards", [(2,), (2, 2), (2, 3), (1, 2), (1, 2, 2), (1, 1, 2)])
@pytest.mark.parametrize(("loose", "ceilings"), [(0.3, False), (0.3, True), (0.05, False)])
def test_only_nodes_that_may_hold_something_better_are_examined(cards, loose, ceilings):
    problem = Toy(cards, 6 if len(cards) < 3 else 4, loose, ceilings=ceilings)
    best = max(problem.best((number,)) for number in range(len(problem.singles())))
    steps = []
    search, climbed = searching(problem, best, step=steps.append)
    search.run()
    # of two components pairs of supports are looked at without a bound of the first
    counts, closed = problem.counted(best * (1.0 + TOLERANCE), ceilings and len(problem.cards) == 2)
    assert search.nodes == sum(steps) == counts.sum()
    # of what is not better nothing is lost: a little below the threshold bounds may be left
    assert search.bound == max(closed, best) <= best * (1.0 + TOLERANCE)
    assert search.argument == "branch and bound over supports"
    by_level = [sum(n for level, n, _ in problem.calls if level == t) for t in range(1, len(counts))]
    inner, leaves = counts[1:-1, 0].tolist(), counts[-1].sum()
    assert by_level == [*inner, leaves]
    # where the bound of a leaf is not enough at once, the supports are climbed on before it is bounded again
    assert sum(map(len, climbed)) == counts[-1, 1]


def test_bounds_of_leaves_take_more_steps_and_more_the_second_time():
    problem = Toy((2, 2), loose=0.3)
    search, _ = searching(problem, problem.best((0,)))
    search.run()
    inner = {tuple(steps) for key, steps in problem.steps.items() if len(key) == 2}
    leaves = {tuple(steps) for key, steps in problem.steps.items() if len(key) == 3}
    ((first,),) = inner
    assert {len(steps) for steps in leaves} == {1, 2}
    assert all(first < steps[0] for steps in leaves)
    assert all(steps[0] < steps[1] for steps in leaves if len(steps) == 2)


@pytest.mark.parametrize("cards", [(2, 2), (2, 3), (1, 2), (1, 2, 2)])
def test_the_best_is_found_from_a_poor_beginning(cards):
    """The value is that of the leaves that are climbed on; the bound never rises and is never too small."""
    problem = Toy(cards, 5 if len(cards) < 3 else 4, 0.1)
    keys = {}
    for key in np.ndindex(*problem.values.shape):
        if problem.ascending(key):
            fit = problem.variables_of(problem.root(problem.singles()[key[0]]), np.array(key[1:], dtype=int))
            keys[tuple(map(tuple, fit))] = problem.values[key]
    found, bounds = 0.0, []

    def climb(some):
        nonlocal found
        found = max(found, *(keys[tuple(map(tuple, fit))] for fit in some))
        return found

    search = Tuples(problem, 0.01, 1e-4, lambda: True, climb, step=lambda n: bounds.append(search.bound))
    search.begin()
    search.run()
    assert all(max(keys.values()) <= after <= before for before, after in pairwise([*bounds, search.bound]))
    assert search.value * 1.0001 >= max(keys.values())
    assert search.bound <= search.value * 1.0001


@pytest.mark.parametrize(("cards", "p"), [((2, 2), 6), ((2, 3), 6), ((2, 2, 2), 5), ((3, 4, 4), 6)])
def test_tables_of_unions_close_all_nodes_that_they_bound(cards, p):
    """Of sets that hold the supports, with as many further variables as the other components may have.

    Nodes with few children, as all of these problems have, are not bounded by themselves.
    """
    problem = Toy(cards, p, 0.1, reached=True)
    best = problem.best((0,))
    search, _ = searching(problem, best)
    search.run()
    counts, closed = problem.counted(best * (1.0 + TOLERANCE), True)
    assert search.nodes == counts.sum()
    assert search.bound == max(closed, best)
    leaves = sum(n for level, n, _ in problem.calls if level == len(cards))
    assert leaves == counts[-1].sum()


def test_limits_and_what_is_proven_by_then():
    problem = Toy((2, 3), loose=0.3)
    best = problem.best((0,))
    for most in (0, 1, 5, 17):
        search, _ = searching(Toy((2, 3), loose=0.3), best, max_nodes=most)
        with pytest.raises(Stopped, match="node limit"):
            search.run()
        assert search.nodes == most
        assert search.bound >= best
    left = iter([True] * 3)
    search = Tuples(Toy((2, 3), loose=0.3), best, 1e-4, lambda: next(left, False), lambda some: best)
    search.begin()
    with pytest.raises(Stopped, match="time limit"):
        search.run()
    search = Tuples(Toy((1, 3)), best, 1e-4, lambda: False, lambda some: best)
    assert search.bound == 0.9
    assert search.argument == "dense PCA"
    with pytest.raises(Stopped, match="time limit"):
        search.begin()


def test_the_argument_for_the_bound_from_the_beginning_to_the_end():
    """One component of one variable, two of two: the argument is that of the open node of largest bound."""
    problem, told = Toy((1, 2, 2), 4), []
    best = max(problem.best((number,)) for number in range(4))
    search, _ = searching(problem, best, step=lambda n: told.append(search.argument))
    search.run()
    told.append(search.argument)
    assert list(dict.fromkeys(told)) == [
        "components of one variable, the others dense",
        "tables of supports",
        "dual bound of supports, 1 open",
        "dual bound of supports",
        "branch and bound over supports",
    ]


@pytest.mark.parametrize(
    ("level", "stage", "told"),
    [
        (0, 1, "components of one variable, the others dense"),
        (1, 0, "tables of supports"),
        (1, 1, "dual bound of supports, 1 open"),
        (2, 1, "dual bound of supports"),
    ],
)
def test_the_argument_is_that_of_the_largest_bound(level, stage, told):
    search, _ = searching(Toy((1, 2, 2), 4), 0.3)
    levels, stages = np.array([0, level, 2]), np.array([1, stage, 2])
    search.open = Open(np.zeros(3), np.zeros((3, 2)), levels, stages, np.array([0.5, 0.6, 0.4]))
    assert search.argument == told
    assert search.bound == 0.6
    search.closed = 0.6
    assert search.argument == "branch and bound over supports"


def test_where_all_components_have_one_variable_no_others_are_dense():
    problem = Toy((1, 1), 4)
    search, _ = searching(problem, 0.1)
    assert search.argument == "components of one variable"


def test_a_bound_that_is_the_best_value_closes_a_node():
    """To the last bit, by whatever bound: of single variables, of supports, of what they add at most."""
    cases = ((1, 1), 0, False), ((2,), 11, False), ((2, 2), 11, False), ((2, 2), 1, True)
    for cards, nodes, ceilings in cases:
        problem = Toy(cards, 5, loose=0.0)
        problem.best = lambda key: 0.5
        if ceilings:
            problem.own, problem.alone = 0.0, tuple(np.full(10, 0.25) for _ in cards)
        search = Tuples(problem, 0.5, 0.0, lambda: True, lambda some: 1 / 0)
        search.begin()
        search.run()
        assert search.bound == 0.5
        assert search.nodes == nodes


def test_a_leaf_whose_bound_stays_above_ends_the_search():
    problem = Toy((2, 2))
    problem.best = lambda key: 0.8  # bounds of all, while no value is found to be that large
    search, _ = searching(problem, 0.5)
    with pytest.raises(Stopped, match="bound not tight"):
        search.run()
    assert max(map(len, problem.steps.values())) == 2
    assert search.bound == pytest.approx(0.8)


# --- The steps of the dual methods against the same steps written out for one problem -------------
# Any iterate proves a bound, so that only what the iterates are tells whether it is the documented method:
# Chambolle and Pock (2011), Algorithm 1, with theta = 1, primal steps of twice the inverse norm of the
# operator and dual ones of half of it. The bound is worked out after every ten steps from the last dual
# iterate and from the mean of all. A problem rests below its threshold, and where three
# times its fall over the last five rounds would not bring it there within the steps that are left.


def covariance(seed: int, p: int) -> np.ndarray:
    X = np.random.default_rng(seed).standard_normal((2 * p, p))
    return X.T @ X / (2 * p)


def axes(supports: list[list[int]], p: int) -> list[np.ndarray]:
    return [np.eye(p)[:, T] for T in supports]


def psd(A: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(A)
    return (vectors * np.clip(values, 0.0, None)) @ vectors.T


def capped(A: np.ndarray, trace: int) -> np.ndarray:
    """The nearest matrix with eigenvalues in [0, 1] and this trace: those of A less one number, cut off."""
    values, vectors = np.linalg.eigh(A)
    if trace >= len(values):
        return np.eye(len(values))
    ends = values[0] - 2.0, values[-1] + 1.0
    t = brentq(lambda t: np.clip(values - t, 0.0, 1.0).sum() - trace, *ends, xtol=1e-15, rtol=1e-15)
    return (vectors * np.clip(values - t, 0.0, 1.0)) @ vectors.T


def top(A: np.ndarray, count: int) -> np.ndarray:
    vectors = np.linalg.eigh(A)[1][:, -count:]
    return vectors @ vectors.T


def largest(A: np.ndarray, count: int) -> float:
    return float(np.sort(np.linalg.eigvalsh(A))[::-1][:count].sum())


def followed(
    bound: Callable, iterates: Iterator[np.ndarray], first: float, threshold: float, steps: int
) -> float:
    """Return the bound of a problem when it rests; the last round may be shorter."""
    everything: list[np.ndarray] = []
    history: list[float] = []
    best = first
    while best > threshold and len(everything) < steps:
        everything += [next(iterates) for _ in range(min(10, steps - len(everything)))]
        done = len(everything)
        found = min(map(bound, (everything[-1], sum(everything) / done)))
        best = min(best, found)
        history.append(found)
        if len(history) > 5:
            fall = (history[-6] - history[-1]) / 5
            if history[-1] - 3 * fall * (steps - done) / 10 > threshold:
                break
    return best


def by_supports(
    M: np.ndarray, bases: list[np.ndarray], ranks: list[int], k: int, threshold: float, steps: int
) -> float:
    """max <M, P> over 0 <= P <= I, tr P = k, P >= D_j X_j D_j', 0 <= X_j <= I, tr X_j = rank."""
    bases = [D[:, D.any(axis=0)] for D in bases]
    scale = np.trace(M) / k
    A = M / scale
    norm = np.sqrt(len(bases) + 1)

    def bound(Y: np.ndarray) -> float:
        value = largest(M + Y.sum(axis=0), k)
        value += sum(largest(-D.T @ one @ D, rank) for D, one, rank in zip(bases, Y, ranks, strict=True))
        return value + 1e-10 * (np.linalg.norm(M) + np.trace(Y.sum(axis=0)))

    def iterates() -> Iterator[np.ndarray]:
        P, X = top(M, k), [capped(D.T @ A @ D, rank) for D, rank in zip(bases, ranks, strict=True)]
        Y = np.zeros((len(bases), *M.shape))

        def excess() -> np.ndarray:
            return np.stack([P - D @ one @ D.T for D, one in zip(bases, X, strict=True)])

        ahead = excess()
        while True:
            Y = np.stack([psd(one - a / (2 * norm)) for one, a in zip(Y, ahead, strict=True)])
            before = excess()
            P = capped(P + 2 / norm * (A + Y.sum(axis=0)), k)
            X = [
                capped(one - 2 / norm * D.T @ y @ D, rank)
                for one, D, y, rank in zip(X, bases, Y, ranks, strict=True)
            ]
            ahead = 2 * excess() - before
            yield scale * Y

    first = bound(np.zeros((len(bases), *M.shape)))
    return followed(bound, iterates(), first, threshold, steps)


#: No loadings on them come near those of dense PCA.
SUPPORTS = [[0, 1, 2], [0, 1, 3], [2, 4, 5, 6]]


#: Thresholds that are reached at once, soon, late, nearly and never, in shares of what steps bring.
REACHED = np.array([2.0, 0.6, 0.1, -0.03, -0.2])


@pytest.mark.parametrize(("pairs", "shift"), [(False, 0), (False, 2), (True, 1)])
def test_bounds_for_supports_take_the_steps_of_chambolle_and_pock(pairs, shift):
    S = [covariance(seed, 8) for seed in range(5)]
    M, bases = within_union(np.stack(S), [np.stack([D] * 5) for D in axes(SUPPORTS, 8)])
    held = bases + planes(bases) if pairs else bases
    ranks = [1, 1, 1, 2, 2, 2][: len(held)]
    loosest = support_bounds(M, held, 3, 0.0, 0, ranks=ranks)
    tightest = support_bounds(M, held, 3, 0.0, 200, ranks=ranks)
    threshold = np.roll(REACHED, shift) * (loosest - tightest) + tightest
    for steps in (10, 200):
        found = support_bounds(M, held, 3, threshold, steps, ranks=ranks)
        expected = [by_supports(M[b], [D[b] for D in held], ranks, 3, threshold[b], steps) for b in range(5)]
        # rounding of 200 steps, none of which enlarges it
        np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("k", [4, 5])
def test_components_that_may_be_dense_are_among_those_of_the_bound(k):
    """Also where there are as many components as dimensions: P is the identity then."""
    M, bases = covariance(8, 5), axes(SUPPORTS[:2], 5)
    found = support_bounds(M[None], [D[None] for D in bases], k, 0.0, 50)
    assert found[0] == pytest.approx(by_supports(M, bases, [1, 1], k, 0.0, 50), rel=1e-11)


def test_the_mean_of_the_iterates_may_be_the_better_proof():
    """As it is here after twenty steps, with a component that may be dense."""
    M, bases = covariance(3, 8), axes([[0, 1], [0, 2], [1, 3]], 8)
    for steps in (10, 20, 30):
        found = support_bounds(M[None], [D[None] for D in bases], 4, 0.0, steps)
        assert found[0] == pytest.approx(by_supports(M, bases, [1, 1, 1], 4, 0.0, steps), rel=1e-11)


@pytest.mark.parametrize("steps", [1, 2, 13])
def test_work_ends_within_a_round_when_told(steps):
    """The bound is what the steps until then prove."""
    M, bases = covariance(4, 8), axes(SUPPORTS, 8)
    asked = iter([True] * (1 + steps + steps // 10) + [False] * 100)
    found = support_bounds(M[None], [D[None] for D in bases], 3, 0.0, 500, running=lambda: next(asked))
    assert found[0] == pytest.approx(by_supports(M, bases, [1, 1, 1], 3, 0.0, steps), rel=1e-11)


def in_order(
    N: list[np.ndarray], counts: list[int], bases: list[np.ndarray | None], threshold: float, steps: int
) -> float:
    """max sum_j <N_j, X_j> over 0 <= X_j <= I, tr X_j = count, sum_j D_j X_j D_j' <= I."""
    d = next((len(D) for D in bases if D is not None), len(N[0]))
    held = [np.eye(d) if D is None else D for D in bases]
    scale = np.sqrt((N[0] ** 2).sum())
    norm = np.sqrt(len(N))

    def bound(Z: np.ndarray) -> float:
        value = np.trace(Z)
        size = value + sum(np.sqrt((one**2).sum()) for one in N)
        value += sum(largest(one - D.T @ Z @ D, c) for one, D, c in zip(N, held, counts, strict=True))
        return value + 1e-10 * size

    def iterates() -> Iterator[np.ndarray]:
        X = [top(one, count) for one, count in zip(N, counts, strict=True)]
        Z = np.zeros((d, d))

        def together() -> np.ndarray:
            return sum(D @ one @ D.T for one, D in zip(X, held, strict=True))

        ahead = together()
        while True:
            Z = psd(Z + (ahead - np.eye(d)) / (2 * norm))
            before = together()
            X = [
                capped(one + 2 / norm * (n / scale - D.T @ Z @ D), count)
                for one, n, D, count in zip(X, N, held, counts, strict=True)
            ]
            ahead = 2 * together() - before
            yield scale * Z

    first = bound(np.zeros((d, d)))
    return followed(bound, iterates(), first, threshold, steps)


@pytest.mark.parametrize("within", [False, True])
def test_bounds_for_orthonormal_directions_take_the_steps_of_chambolle_and_pock(within):
    """Groups of two components, of one, and with spans of their own for two of three."""
    S = [covariance(seed, 8) for seed in range(5)]
    held: list[np.ndarray | None] = [*axes(SUPPORTS[:2], 8), None] if within else [None] * 3
    own = [D if D is not None else np.eye(8) for D in held]
    N = [[D.T @ one @ D for D in own] if within else [one, one[::-1, ::-1] / 2, one**2 / 9] for one in S]
    groups = [np.stack([one[j] for one in N]) for j in range(3)]
    bases = [None if D is None else np.stack([D] * 5) for D in held]
    counts = [1, 2, 1]
    loosest, tightest = (ordered_bounds(groups, counts, 0.0, n, bases=bases) for n in (0, 200))
    threshold = np.roll(REACHED, 2) * (loosest - tightest) + tightest
    for steps in (10, 200):
        found = ordered_bounds(groups, counts, threshold, steps, bases=bases)
        expected = [in_order(N[b], counts, held, threshold[b], steps) for b in range(5)]
        np.testing.assert_allclose(found, expected, rtol=1e-11)
