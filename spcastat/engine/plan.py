"""From what a call asks to a solver: which method, with which checked options, in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from spcastat.config import LARGEST_SEED, generator, listed, one_of, plural, shown, whole_number
from spcastat.engine.aim import Aim
from spcastat.engine.options import CHECKS, MOST_STARTS
from spcastat.errors import ComponentsError, MethodError, OptionError, UnknownOptionError
from spcastat.registry import CONTROLS, SOLVERS, Method
from spcastat.solvers import JointSolver, Solver


@dataclass(frozen=True)
class Request:
    """The arguments of a call that say what to fit, as they were given.

    Attributes
    ----------
    k : int
        Number of components.
    card, variance, method, nonneg, n_init, rng, order, tol, max_iter
        As for :func:`spcastat.spca`.
    further : Mapping
        Options of the method that not all methods have.
    """

    k: int
    card: Any = None
    variance: Any = None
    method: Any = None
    nonneg: Any = False
    n_init: Any = 1
    rng: Any = None
    order: Any = None
    tol: Any = None
    max_iter: Any = None
    further: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("k", self.k, 1, error=ComponentsError))

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments by name, those at their defaults too."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "further"}
        return {**own, **self.further}

    @property
    def options(self) -> dict[str, Any]:
        """The options of a method that differ from "not given"."""
        named = {"card": self.card, "variance": self.variance, "tol": self.tol, "max_iter": self.max_iter}
        given = {name: value for name, value in {**named, **self.further}.items() if value is not None}
        if not isinstance(self.nonneg, (bool, np.bool_)) or self.nonneg:
            given["nonneg"] = self.nonneg
        if whole_number("n_init", self.n_init, 1, MOST_STARTS) > 1:
            given["n_init"] = self.n_init
        return given

    @property
    def generator(self) -> np.random.Generator:
        """The source of random starts; None is a fixed seed, so that two runs agree to the last bit."""
        return generator(self.rng)

    @property
    def seed(self) -> int:
        """The seed of fits that all begin with the same random numbers."""
        return 0 if self.rng is None else whole_number("rng", self.rng, 0, LARGEST_SEED - 1)


#: Kept of PCA's explained variance where a call says nothing about sparsity.
DEFAULT_VARIANCE = 0.9
#: Options that belong to the choice between fits.
AIM = tuple(one.name for one in fields(Aim))


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
    aim : Aim or None
        What chooses between starts, for a method with that choice.
    """

    method: Method
    solver: Solver
    n_init: int
    sort: bool
    aim: Aim | None = None

    @property
    def rows_for(self) -> str:
        """The name of the method where that needs the rows themselves, not only their second moments."""
        return self.method.name if self.solver.needs == "rows" else ""


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
    if isinstance(method, str) and method == "spco":
        raise MethodError(
            "method='spco' was given, and sparse principal coordinates have a function of their own: use "
            "spcastat.spco(data, k, zeros=0.5), or penalty= instead of zeros=."
        )
    if method is not None:
        return SOLVERS[one_of("method", method, SOLVERS, MethodError)]
    return SOLVERS[{"card": "bcd-l0", "t": "bcd-l1"}.get("".join(controls), "controlled")]


def require_components(k: int, p: int) -> None:
    """Raise ComponentsError for more components than variables, before anything is made for each of them."""
    if k > p:
        raise ComponentsError(
            f"k={shown(k)} was given, but the data have rank {p} at most, the number of variables; ask for "
            f"at most {plural(p, 'component')}."
        )


def make_plan(asked: Request, p: int, hint: Callable[[str], str] = lambda name: "") -> Plan:
    """Check what a call asks for and build its solver.

    Parameters
    ----------
    asked : Request
    p : int
        Number of variables.
    hint : callable
        Returns what to do about a name that no method has, for the function that was called.

    Raises
    ------
    ComponentsError
        For more components than variables.
    UnknownOptionError
        For an option that the method does not have; the message names the methods that have it.
    OptionError
        For a value that is not allowed.
    """
    options = asked.options
    chosen = choose_method(asked.method, options)
    require_components(asked.k, p)
    for name in options:
        if name not in chosen.options:
            raise UnknownOptionError(_no_such_option(name, chosen, hint))
    if "variance" in chosen.controls:
        options.setdefault("variance", DEFAULT_VARIANCE)
    elif chosen.controls and not any(name in options for name in chosen.controls):
        wanted = " or ".join(f"{name}=" for name in chosen.controls)
        raise OptionError(f"method={chosen.name!r} needs {wanted} to know how sparse the fit shall be.")
    scalar = not any(isinstance(options[name], Iterable) for name in chosen.controls if name in options)
    checked = {name: CHECKS[name](value, asked.k, p) for name, value in options.items()}
    n_init = checked.pop("n_init", 1)
    aim = _aim(chosen, checked)
    solver = chosen.build(checked)
    if asked.order is None:
        sort = scalar and sorts(solver, aim)
    else:
        sort = one_of("order", asked.order, ("variance", "given")) == "variance"
        if sort and "variance" in chosen.controls:
            raise OptionError(
                f"order='variance' was given with method={chosen.name!r}, whose promise holds for the "
                "components in the order in which they were found; leave order out."
            )
    return Plan(chosen, solver, n_init, sort, aim)


def sorts(solver: Solver, aim: Aim | None) -> bool:
    """Return whether components of one cardinality are ordered by variance, unless the call says otherwise.

    Only those that were found together are, and where their order is not part of what was found.
    """
    own = solver.own_order or (aim is not None and aim.own_order)
    return isinstance(solver, JointSolver) and not own


def _aim(method: Method, checked: dict[str, Any]) -> Aim | None:
    """Take the options of the choice between fits out of the checked ones."""
    if not method.further:
        return None
    aim = Aim(**{name: checked.pop(name) for name in AIM if name in checked})
    if aim.search == "joint" and checked.get("nonneg"):
        raise OptionError(
            "search='joint' was given with nonneg=True; a joint search has no nonnegative form. Use n_init=20"
            " or more starts with search='single'."
        )
    if aim.screen is not None and aim.screen is not False:
        _check_screen(aim, checked)
    if aim.patience is not None and aim.search != "joint":
        raise OptionError("patience was given, but it belongs to search='joint'; give both or neither.")
    return aim


def _check_screen(aim: Aim, checked: dict[str, Any]) -> None:
    """Refuse to screen where the tests of the variables left out do not hold, or too few would be left."""
    for name, value, needed in (
        ("objective", aim.objective, "pev"),
        ("nonneg", checked.get("nonneg", False), False),
    ):
        if value != needed:
            raise OptionError(
                f"screen={shown(aim.screen)} was given with {name}={shown(value)}; variables can be screened "
                f"with {name}={shown(needed)} only. Leave out one of them."
            )
    if aim.screen is not True and int(aim.screen or 0) < max(checked["card"]):
        raise OptionError(
            f"screen={aim.screen} was given with card={max(checked['card'])}; a search needs at least as "
            "many variables as nonzeros. Give a larger number, or screen=True."
        )


def _no_such_option(name: str, method: Method, hint: Callable[[str], str]) -> str:
    owners = [other.name for other in SOLVERS.values() if name in other.options]
    has: Sequence[str] = method.options
    if owners:
        return (
            f"method={method.name!r} has no option {shown(name)}; methods that have it: {listed(owners, 30)}."
        )
    return (
        f"{shown(name)} is not an option of any method; method={method.name!r} has "
        f"{listed(has, 30) or 'none'}.{hint(name)}"
    )
