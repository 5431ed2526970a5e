"""A proven bound for principal variables: branch and bound over sets of variables of equal cost.

A node consists of the selected variables I and the set A of variables of which t may be added. The variance
reproduced never falls when a variable is added. By Ky Fan's inequality for the projections on I and on the
part of A that is orthogonal to I,

    value <= min( f(I and A),  f(I) + the sum of the min(k, t) largest eigenvalues of GG' ),

where G contains the covariances of all variables with uncorrelated combinations of A given I, and f is the
variance that the k best combinations reproduce. Nodes with the largest bound are examined first, so the
largest bound of the open nodes keeps decreasing.
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

#: Number of nodes of the first attempt, which takes .1 to .3 s with 30 variables; 95 nodes prove a set of
#: five of 13 variables.
FIRST_NODES = 500
#: A first attempt is made with up to this many variables: a node requires an eigenproblem for each variable.
FIRST_VARIABLES = 60


@dataclass(frozen=True)
class ProvenSet:
    """A set of groups, and an upper bound for all other sets.

    Attributes
    ----------
    groups : tuple of int
        The best set found, ascending.
    value, bound : float
        The variance that the set reproduces, and an upper bound on the variance that any set can reproduce.
    nodes : int
        Number of nodes visited.
    """

    groups: tuple[int, ...]
    value: float
    bound: float
    nodes: int


def provable(problem: Selection) -> bool:
    """Return whether branch and bound applies: variables enter one by one and have equal costs."""
    return problem.equal_costs and all(len(problem.groups[g]) == 1 for g in problem.candidates)


def first_bound(problem: Selection, groups: Sequence[int]) -> tuple[list[int], float, int]:
    """Return the best known groups, a bound on the variance reproduced, and the number of nodes.

    The bound is for every set of groups. It comes from a few nodes of the search over all sets if there are
    few variables, and is infinite otherwise.
    """
    if len(problem.S) > FIRST_VARIABLES:
        return list(groups), np.inf, 0
    if not provable(problem):
        return list(groups), problem.value(problem.candidates), 0
    result = proven(problem, groups, nodes=FIRST_NODES)
    return list(result.groups), result.bound, result.nodes


def certified(problem: Selection, groups: Sequence[int], seconds: float) -> ProvenSet:
    """Return the best groups and a bound, from a search that takes at most `seconds`.

    Raises
    ------
    OptionError
        If groups have several variables or costs differ.
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
    """Search all sets for one better than `groups`, by branch and bound.

    Parameters
    ----------
    problem : Selection
        The problem; candidates have equal costs and one variable each.
    groups : sequence of int
        The best known set.
    nodes : int, optional
        Largest number of nodes.
    seconds : float, optional
        Largest processor time.
    """
    end = np.inf if seconds is None else time.process_time() + seconds
    node_limit = np.inf if nodes is None else nodes
    value, best_groups, size = problem.value(groups), tuple(sorted(groups)), len(groups)
    if size == len(problem.include):  # there is nothing left to choose
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
    """Yield the children with bounds above `value`: selected groups, open groups and bound.

    The first child includes the open group with the largest gain; all other children exclude it.
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
            return  # the following children have fewer open groups and smaller bounds
        yield (*selection, order[i]), tuple(order[i + 1 :]), upper
