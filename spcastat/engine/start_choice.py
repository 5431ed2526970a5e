"""The choice between fits from several starts, and the decision whether to screen variables."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spcastat.engine.order_and_sign import settle
from spcastat.errors import OptionError
from spcastat.measures import MEASURES
from spcastat.operators import GRAM_ORDER, Operator
from spcastat.search.local_optima import Optima
from spcastat.search.settings import OBJECTIVES
from spcastat.solvers import Solution, Solver

Optimum = tuple[float, int]


@dataclass(frozen=True)
class Aim:
    """The objective of a choice between fits.

    Attributes
    ----------
    objective : {"pev", "adjusted", "least_squares"}
        The measure that the best start maximises.
    screen : bool, int or None
        Whether the search runs on the variables of largest variance and is then verified against all. A
        number is the number of variables to start with; None decides by the size of the data.
    """

    objective: str = "pev"
    screen: bool | int | None = None


def chosen(op: Operator, solution: Solution, aim: Aim, groups: np.ndarray) -> tuple[Solution, list[Optimum]]:
    """Choose between the starts of a joint solver by the aim's objective.

    Returns
    -------
    solution : Solution
    optima : list of (float, int)
        Every distinct value of the objective, as a share of the total variance, and the number of starts
        that reached it.
    """
    optima = Optima()
    found = solution.candidates
    if aim.objective == "pev" or found is None:  # the solver's own criterion, at its best U
        for value in solution.objectives:
            optima.add(1.0 - value / op.total)
        return solution, optima.table()
    measure = MEASURES[aim.objective]
    values = [float(measure(settle(op, V.T, groups)[0], op)[-1]) for V in found]
    for value in values:
        optima.add(value)
    best = int(np.argmax(values))
    better = replace(
        solution,
        V=found[best].T,
        objective=values[best] * op.total,
        objectives=np.array(values) * op.total,
        criterion=f"{OBJECTIVES[aim.objective]}, best of the starts",
    )
    return better, optima.table()


#: Candidates to start with: this many per nonzero loading, and at least FEWEST.
PER_NONZERO, FEWEST = 2, 200
#: With more nonzeros than this in all, variables are screened on request only.
NONZEROS = GRAM_ORDER // 3


def candidates_to_begin(op: Operator, solver: Solver, aim: Aim | None) -> int | None:
    """Return the number of candidates to start with; None if the search should run on all variables.

    Raises
    ------
    OptionError
        If the data require screening, and the method or the call does not allow it.
    """
    few = op.held is not None or op.p <= GRAM_ORDER
    return candidates_among(op.p, solver, aim, must=op.out_of_core, few=few)


def candidates_among(p: int, solver: Solver, aim: Aim | None, *, must: bool, few: bool = False) -> int | None:
    """Return the result of :func:`candidates_to_begin` before any rows are read.

    Parameters
    ----------
    p : int
        Number of variables.
    solver : Solver
    aim : Aim or None
    must : bool
        Whether neither the rows nor their covariance matrix fit into memory.
    few : bool
        Whether the covariance matrix is in memory.
    """
    asked = None if aim is None else aim.screen
    if aim is None or aim.objective != "pev" or not solver.screenable:
        if must and not solver.out_of_core:
            raise OptionError(
                f"With {p} variables (more than {GRAM_ORDER}) that are not in memory each product with "
                "the covariance matrix is a pass over the rows, and this fit needs hundreds of them. Use "
                "method='joint', or method='bcd-l0' with card=, objective='pev' and without nonneg; or give "
                "the data in memory."
            )
        return None
    if asked is False:
        if must:
            raise OptionError(
                f"screen=False was given, but with {p} variables (more than {GRAM_ORDER}) that are not in "
                "memory a fit must be screened; leave screen out, or give the data in memory."
            )
        return None
    cards: tuple[int, ...] = solver.card  # type: ignore[attr-defined]  # screenable solvers have one
    nonzeros = sum(cards)
    if asked is None and not must and (few or nonzeros > NONZEROS):
        return None
    if asked is None or asked is True:
        asked = min(max(FEWEST, PER_NONZERO * nonzeros), GRAM_ORDER)
        asked = max(asked, *cards)
    if asked < max(cards) or asked > GRAM_ORDER:
        raise OptionError(
            f"A screened fit starts with {asked} variables, but a component of {max(cards)} nonzeros "
            f"needs as many as that, and there may be at most {GRAM_ORDER}. Give a smaller card."
        )
    return min(asked, p)
