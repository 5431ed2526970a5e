"""From the options of a call to a solver: which method, with which checked options, in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spcastat.config import listed, nearest, one_of
from spcastat.engine.options import CHECKS
from spcastat.errors import MethodError, OptionError, UnknownOptionError
from spcastat.solvers import CONTROLS, SOLVERS, JointSolver, Method, Solver

#: Kept of PCA's explained variance where a call says nothing about sparsity.
DEFAULT_VARIANCE = 0.9


@dataclass(frozen=True, eq=False)
class Plan:
    """A method with its solver, ready to run.

    Attributes
    ----------
    method : Method
    solver : Solver
    n_init : int
    sort : bool
        Whether components are ordered by variance afterwards.
    """

    method: Method
    solver: Solver
    n_init: int
    sort: bool


def choose_method(method: str | None, given: Mapping[str, Any]) -> Method:
    """Return the method meant by its name, or by the way in which sparsity is controlled.

    Parameters
    ----------
    method : str or None
    given : Mapping
        The options that the call gives.

    Raises
    ------
    MethodError
        For a name that does not exist.
    OptionError
        Where two options control the sparsity at once.
    """
    controls = [name for name in CONTROLS if name in given]
    if len(controls) > 1:
        raise OptionError(
            f"{' and '.join(controls)} were both given; each sets the sparsity by itself, so give one."
        )
    if method is not None:
        return SOLVERS[one_of("method", method, SOLVERS, MethodError)]
    return SOLVERS[{"card": "bcd-l0", "t": "bcd-l1"}.get("".join(controls), "controlled")]


def make_plan(k: int, p: int, method: str | None, order: str | None, given: Mapping[str, Any]) -> Plan:
    """Check the options of a call and build its solver.

    Parameters
    ----------
    k, p : int
        Number of components and of variables.
    method, order : str or None
    given : Mapping
        The options that the call gives; what it leaves at its default is not among them.

    Raises
    ------
    UnknownOptionError
        For an option that the method does not have; the message names the methods that have it.
    OptionError
        For a value that is not allowed.
    """
    chosen = choose_method(method, given)
    options = dict(given)
    for name in options:
        if name not in chosen.options:
            raise UnknownOptionError(_no_such_option(name, chosen))
    if "variance" in chosen.controls:
        options.setdefault("variance", DEFAULT_VARIANCE)
    elif chosen.controls and not any(name in options for name in chosen.controls):
        wanted = " or ".join(f"{name}=" for name in chosen.controls)
        raise OptionError(f"method={chosen.name!r} needs {wanted} to know how sparse the fit shall be.")
    scalar = all(np.ndim(options[name]) == 0 for name in ("card", "t") if name in options) and not isinstance(
        options.get("card"), Mapping
    )
    checked = {name: CHECKS[name](value, k, p) for name, value in options.items()}
    n_init = checked.pop("n_init", 1)
    solver = chosen.build(checked)
    if order is None:
        sort = isinstance(solver, JointSolver) and scalar
    else:
        sort = one_of("order", order, ("variance", "given")) == "variance"
    return Plan(chosen, solver, n_init, sort)


def _no_such_option(name: str, method: Method) -> str:
    owners = [other.name for other in SOLVERS.values() if name in other.options]
    has: Sequence[str] = method.options
    if owners:
        return f"method={method.name!r} has no option {name!r}; methods that have it: {listed(owners, 30)}."
    known = sorted({option for other in SOLVERS.values() for option in other.options})
    return (
        f"{name!r} is not an option of any method; method={method.name!r} has "
        f"{listed(has, 30) or 'none'}.{nearest(name, known)}"
    )
