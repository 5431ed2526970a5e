"""A proven bound for principal variables: branch and bound over sets of variables of equal cost.

A node has the variables I that are kept and the set A of those that may be added, t of them. The variance
reproduced never falls when a variable is added, and by Ky Fan's inequality for the projections on I and on
what A adds to it

    value <= min( f(I and A),  f(I) + the sum of the min(k, t) largest eigenvalues of GG' ),

with G the covariances of all variables with uncorrelated combinations of A given I, and f the variance that
the k best combinations reproduce. Nodes with the largest bound come first, so
that the largest bound of the open nodes falls all the time.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spcastat.errors import OptionError
from spcastat.progress import stage
from spcastat.search.matrices import PIVOT_TOLERANCE
from spcastat.search.principal_variables import Selection, covariances, reproduced, top_sum
from spcastat.solvers.optimality import OPTIMALITY_TOLERANCE

#: Nodes of the first attempt, in .1 to .3 s with 30 variables; it proves sets of five of 13 variables in 95.
FIRST_NODES = 500
#: Up to so many variables a first attempt is made: a node has an eigenproblem for each of them.
FIRST_VARIABLES = 60


@dataclass(frozen=True)
class ProvenSet:
    """A set of groups with a bound for every other set.

    Attributes
    ----------
    groups : tuple of int
        The best set found, ascending.
    value, bound : float
        The variance that it reproduces, and the largest that any set can reproduce.
    nodes : int
        Number of nodes visited.
    """

    groups: tuple[int, ...]
    value: float
    bound: float
    nodes: int


def provable(problem: Selection) -> bool:
    """Whether branch and bound applies: variables enter one by one and cost the same."""
    return problem.equal_costs and all(len(problem.groups[g]) == 1 for g in problem.candidates)


def first_bound(problem: Selection, groups: Sequence[int]) -> tuple[list[int], float, int]:
    """Return the best groups known, a bound for the variance that any set reproduces, and the nodes visited.

    The bound is infinite, or that of a few nodes of the search over all sets if there are few variables.
    """
    if len(problem.S) > FIRST_VARIABLES:
        return list(groups), np.inf, 0
    if not provable(problem):
        return list(groups), problem.value(problem.candidates), 0
    result = proven(problem, groups, nodes=FIRST_NODES)
    return list(result.groups), result.bound, result.nodes


def certified(problem: Selection, groups: Sequence[int], seconds: float) -> ProvenSet:
    """Return the best groups and a bound, from a search of so many seconds.

    Raises
    ------
    OptionError
        For groups of several variables, and different costs.
    """
    if not provable(problem):
        raise OptionError(
            "certify() compares sets of the same number of variables, but this choice has groups of several "
            "variables or different costs; its bound is the share of all candidates together. For a proof "
            "give m= without together=."
        )
    return proven(problem, groups, seconds=seconds)


def proven(
    problem: Selection, groups: Sequence[int], *, nodes: int | None = None, seconds: float | None = None
) -> ProvenSet:
    """Search all sets, with bounds, for one better than `groups`.

    Parameters
    ----------
    problem : Selection
        With candidates of equal cost, and of one variable each.
    groups : sequence of int
        The best set known.
    nodes : int, optional
        Largest number of nodes.
    seconds : float, optional
        Largest processor time.
    """
    end = np.inf if seconds is None else time.process_time() + seconds
    node_limit = np.inf if nodes is None else nodes
    value, best_groups, size = problem.value(groups), tuple(sorted(groups)), len(groups)
    if size == len(problem.include):  # nothing is left to choose
        return ProvenSet(best_groups, value, value, 0)
    candidates = tuple(g for g in problem.candidates if g not in problem.include)
    bound = problem.value((*problem.include, *candidates))
    heap: list[tuple[float, int, tuple[int, ...], tuple[int, ...]]] = [
        (-bound, 0, problem.include, candidates)
    ]
    count = visited = 0
    with stage("Nodes", unit="nodes") as advance:
        while heap and -heap[0][0] > value * (1.0 + OPTIMALITY_TOLERANCE):
            if visited >= node_limit or time.process_time() > end:
                return ProvenSet(best_groups, value, -heap[0][0], visited)
            _, _, selection, open_groups = heapq.heappop(heap)
            visited += 1
            advance(1)
            if size - len(selection) == 1:
                values = problem.values_after(
                    covariances(problem.S, problem.variables(selection)), np.array(open_groups), value
                )
                if values.max() > value * (1.0 + OPTIMALITY_TOLERANCE):
                    better_groups = (*selection, open_groups[int(np.argmax(values))])
                    value, best_groups = problem.value(better_groups), tuple(sorted(better_groups))
                continue
            for child, remaining_groups, upper in _children(problem, selection, open_groups, size, value):
                count += 1
                heapq.heappush(heap, (-upper, count, child, remaining_groups))
    return ProvenSet(best_groups, value, value, visited)


def _children(
    problem: Selection, selection: tuple[int, ...], open_groups: tuple[int, ...], size: int, value: float
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], float]]:
    """Yield the nodes below a node whose bound exceeds the best value: kept groups, open groups, bound.

    The first of the open groups with the largest gain is kept in the first; it is out in all others.
    """
    S, k, missing = problem.S, problem.k, size - len(selection)
    F = covariances(S, problem.variables(selection))
    gains = problem.values_after(F, np.array(open_groups), -np.inf)
    order = [open_groups[i] for i in np.argsort(-gains, kind="stable")]
    residual, present = S - F.T @ F, reproduced(F, k)
    for i in range(len(order) - missing + 1):
        columns = [j for j in problem.variables(order[i:]) if residual[j, j] > PIVOT_TOLERANCE * S[j, j]]
        G = covariances(residual, columns)
        stacked = np.vstack([F, G])
        increment = float(top_sum(G @ G.T, min(k, missing)))
        upper = min(reproduced(stacked, k), present + increment)
        if upper <= value * (1.0 + OPTIMALITY_TOLERANCE):
            return  # the bounds of the following nodes, which have fewer open groups, are smaller
        yield (*selection, order[i]), tuple(order[i + 1 :]), upper
