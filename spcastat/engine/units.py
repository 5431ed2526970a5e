"""Options and figures of methods in the units of the data, which a solver sees at unit size."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

from spcastat.solvers import Solution, Solver

S = TypeVar("S", bound=Solver)


def inward(solver: S, unit: float) -> S:
    """Return a solver of data over `unit` from one with options in the units of the data.

    An option "objective" is a name: the unit under that name is that of the figure.
    """
    if unit == 1.0:
        return solver
    powers = dict(solver.units)
    changes = {
        one.name: _times(getattr(solver, one.name), unit ** -powers[one.name])
        for one in fields(solver)  # type: ignore[arg-type]  # every solver is a dataclass
        if one.name in powers and one.name != "objective"
    }
    return replace(solver, **changes) if changes else solver  # type: ignore[type-var]


def outward(solution: Solution, solver: Solver, unit: float) -> Solution:
    """Return a solution with its figures in the units of the data, from one of data over `unit`."""
    if unit == 1.0:
        return solution
    powers = dict(solver.units)
    factor = unit ** powers.get("objective", 0)
    return replace(
        solution,
        objective=solution.objective * factor,
        objectives=solution.objectives * factor,
        details={
            name: _times(values, unit ** powers[name]) if name in powers else values
            for name, values in solution.details.items()
        },
    )


def _times(value: Any, factor: float) -> Any:
    """Return a number, or a sequence of numbers, times `factor`; None stays None."""
    if value is None:
        return None
    if isinstance(value, (tuple, list)):
        return type(value)(_times(one, factor) for one in value)
    return value * factor
