"""What a fit of several starts is chosen by, and whether it is screened."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spcastat.engine.order import settle
from spcastat.measures import MEASURES
from spcastat.operators import Operator
from spcastat.search.names import OBJECTIVES
from spcastat.search.optima import Optima
from spcastat.solvers import Solution

Optimum = tuple[float, int]


@dataclass(frozen=True)
class Aim:
    """The objective of a choice between fits.

    Attributes
    ----------
    objective : {"pev", "adjusted", "least_squares"}
        The measure that the best start maximises.
    screen : bool, int or None
        Whether the search runs on the variables of largest variance and is then verified against all; a
        number is that of the variables to begin with. None decides by the size of the data.
    """

    objective: str = "pev"
    screen: bool | int | None = None


def chosen(op: Operator, solution: Solution, aim: Aim, sort: bool) -> tuple[Solution, list[Optimum]]:
    """Choose between the starts of a joint solver by the aim's objective.

    Returns
    -------
    solution : Solution
    optima : list of (float, int)
        Every distinct value of the objective, a share of the total variance, and how many starts gave it.
    """
    optima = Optima()
    found = solution.candidates
    if aim.objective == "pev" or found is None:  # the solver's own criterion, at its best U
        for value in solution.objectives:
            optima.add(1.0 - value / op.total)
        return solution, optima.table()
    measure = MEASURES[aim.objective]
    values = [float(measure(settle(op, V.T, sort)[0], op)[-1]) for V in found]
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
