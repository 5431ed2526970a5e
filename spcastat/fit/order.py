"""The final form of a solution: order and signs of its components, and the units of the data."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from spcastat.linalg.operators import Operator
from spcastat.linalg.ties import flip_signs, ranked
from spcastat.solvers.solver import Solution, Solver

# --- order and signs ------------------------------------------------------------------------------


def order_and_sign(op: Operator, V: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the loadings in their final order with their final signs, and the permutation.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
    groups : ndarray of int, shape (k,)
        Components of one group are sorted by the variance of their scores, the largest first; groups keep
        their places. Components of equal variance are sorted by their supports.

    Returns
    -------
    V : ndarray of shape (p, k)
        The largest absolute loading of each component is positive.
    order : ndarray of int, shape (k,)
        The previous position of each component.
    """
    order = np.arange(V.shape[1])
    if len(set(groups.tolist())) < len(order):
        variances, supports = np.diag(op.products(V)), -_by_support(V)
        for group in set(groups.tolist()):
            places = np.flatnonzero(groups == group)
            order[places] = places[ranked(variances[places], supports[places])]
    V = V[:, order]
    return V * flip_signs(V) + 0.0, order  # turns -0.0 into 0.0


def _by_support(V: np.ndarray) -> np.ndarray:
    """Return the rank of each column by its support, then by its absolute loadings."""
    used = V[V.any(axis=1)]
    sizes = -np.abs(used).round(9)  # so that rounding errors do not decide
    order = np.lexsort([*sizes[::-1], *(used == 0)[::-1]])  # lexsort sorts by its last key first
    return np.argsort(order).astype(float)


# --- units ----------------------------------------------------------------------------------------


S = TypeVar("S", bound=Solver)


def inward(solver: S, unit: float) -> S:
    """Return the solver for data divided by `unit`, with its options converted from the units of the data.

    Under "objective", `units` has the unit of the objective's value; the option of this name has no unit.
    """
    if unit == 1.0:
        return solver
    powers = dict(solver.units)
    changes = {
        option.name: _times(getattr(solver, option.name), unit ** -powers[option.name])
        for option in fields(solver)  # type: ignore[arg-type]  # every solver is a dataclass
        if option.name in powers and option.name != "objective"
    }
    return replace(solver, **changes) if changes else solver  # type: ignore[type-var]


def outward(solution: Solution, solver: Solver, unit: float) -> Solution:
    """Convert the values of a solution for data divided by `unit` back to the units of the data."""
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
        return type(value)(_times(element, factor) for element in value)
    return value * factor
