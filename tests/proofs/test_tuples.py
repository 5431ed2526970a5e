"""The search over the supports of all components, on problems whose bounds are numbers that are made up.

With them the nodes that have to be looked at can be counted by going through the tree one by one, as long as
the best value is known from the beginning; and every answer is known by enumeration.
"""

from __future__ import annotations

from itertools import combinations, pairwise, product
from math import comb

import numpy as np
import pytest

from spcastat.proofs.jointly import Open, Tuples
from spcastat.proofs.one_component import Stopped
from spcastat.proofs.relaxed import Relaxed, Root, Sums, SupportBounds, reaches

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
