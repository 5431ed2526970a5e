"""The plan of a fit: the method, its solver with checked options, and the order of the components."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

import numpy as np
import pandas as pd

from spcastat.config import LARGEST_SEED, listed, one_of, plural, shown, whole_number
from spcastat.errors import ComponentsError, MethodError, OptionError, UnknownOptionError
from spcastat.fit.method_table import CONTROLS, SOLVERS, Method
from spcastat.fit.options import CHECKS, MOST_STARTS, RULE, refuse_rule, require_possible, with_positions
from spcastat.fit.starts import Aim, Start, matched
from spcastat.reading.design import Spec
from spcastat.search.climbing import PROMISES
from spcastat.solvers.solver import JointSolver, Solver


@dataclass(frozen=True)
class Request:
    """The arguments of a call that specify the fit, as given.

    Attributes
    ----------
    k : int
        Number of components.
    card, variance, method, nonneg, n_init, rng, order, tol, max_iter, objective, effort, promise, include,
    exclude, disjoint, together
        As for :func:`spcastat.spca`.
    further : Mapping
        Options of this method that not all methods have.
    """

    k: int
    card: Any = None
    variance: Any = None
    method: Any = None
    nonneg: Any = False
    n_init: Any = None
    rng: Any = None
    order: Any = None
    tol: Any = None
    max_iter: Any = None
    objective: Any = None
    effort: Any = None
    promise: Any = None
    include: Any = None
    exclude: Any = None
    disjoint: Any = False
    together: Any = None
    further: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("k", self.k, 1, error=ComponentsError))

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments by name, including defaults."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "further"}
        return {**own, **self.further}

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given."""
        names = ["card", "variance", "tol", "max_iter", "objective", "effort", "promise"]
        names += ["include", "exclude", "together"]
        named = {name: getattr(self, name) for name in names}
        given = {name: value for name, value in {**named, **self.further}.items() if value is not None}
        for name in ("nonneg", "disjoint"):
            value = getattr(self, name)
            if not isinstance(value, (bool, np.bool_)) or value:
                given[name] = value
        if self.n_init is not None and whole_number("n_init", self.n_init, 1, MOST_STARTS) > 1:
            given["n_init"] = self.n_init
        return given

    @property
    def seed(self) -> int:
        """The seed of several fits that use the same random numbers; 0 for None."""
        return 0 if self.rng is None else whole_number("rng", self.rng, 0, LARGEST_SEED - 1)


#: The default method.
DEFAULT = "joint"
#: Options for the length of an iteration, which the default method does not have.
STEPS = ("n_init", "tol", "max_iter")
#: Options for the choice between fits from several starts.
AIM = tuple(one.name for one in fields(Aim))


@dataclass(frozen=True, eq=False)
class Plan:
    """A method with its solver, ready to run.

    Attributes
    ----------
    method : Method
    solver : Solver
    n_init : int
    order : {None, "variance", "given", "best"}
        As for :func:`spcastat.spca`; see `groups`.
    aim : Aim or None
        How to choose between starts, for a method with that choice.
    start : str, ndarray of shape (p, k), or DataFrame
        The start of an iteration.
    """

    method: Method
    solver: Solver
    n_init: int
    order: str | None = None
    aim: Aim | None = None
    start: Start = "pca"

    @property
    def rows_for(self) -> str:
        """The name of the method if it needs the rows themselves, else an empty string."""
        return self.method.name if self.solver.needs == "rows" else ""

    def groups(self, k: int) -> np.ndarray:
        """Return labels, shape (k,), for `order_and_sign`: components of one label are sorted by variance.

        By default these are the components with equal cardinality (bound, penalty), if the method finds all
        components together and does not determine their order itself.
        """
        if self.order == "variance":
            return np.zeros(k, dtype=int)
        if self.order is None and isinstance(self.solver, JointSolver) and not self.solver.own_order:
            names = (*self.method.controls, "include", "exclude")
            values = [getattr(self.solver, name, None) for name in names]
            each = list(zip(*(value for value in values if isinstance(value, tuple)), strict=True))
            return np.array([each.index(one) for one in each]) if each else np.zeros(k, dtype=int)
        return np.arange(k)

    def on(self, spec: Spec, check: bool = True) -> Plan:
        """Return the plan for the variables of a spec, matching starts and rules that use names.

        `check` says whether supports of the plan's cardinalities must satisfy its rule.
        """
        solver = with_positions(self.solver, spec, check)
        return replace(self, start=matched(self.start, spec.columns), solver=solver)

    def with_card(self, card: Sequence[int]) -> Plan:
        """Return the plan with other cardinalities, for a method that has them."""
        return replace(self, solver=replace(cast(Any, self.solver), card=tuple(card)))

    def allowed(
        self, keys: Sequence[Any], cards: Sequence[tuple[int, ...]], columns: pd.Index, check: bool
    ) -> tuple[list[Any], list[tuple[int, ...]]]:
        """Return the cardinalities for which some supports satisfy the rule of the plan, and their keys.

        Raises
        ------
        OptionError
            If no cardinalities are allowed, or, with `check`, if some are not.
        """
        found = []
        for key, card in zip(keys, cards, strict=True):
            try:
                require_possible(self.with_card(card).solver, columns)
                found.append((key, card))
            except OptionError:
                if check:
                    raise
        if not found:
            require_possible(self.with_card(cards[0]).solver, columns)
        return [key for key, _ in found], [card for _, card in found]


def choose_method(method: str | None, given: Mapping[str, Any]) -> Method:
    """Return the method with a given name, or the method implied by the control of sparsity.

    Parameters
    ----------
    method : str or None
    given : Mapping
        The options of the call.

    Raises
    ------
    MethodError
        If no method has that name.
    OptionError
        If two options control the sparsity.

    Notes
    -----
    The default method is "joint", with `card`, with `variance` or with neither. It has no nonnegative form
    and no bound on the l1 norm: without a name, `nonneg` with `card` selects "bcd-l0", and `t` "bcd-l1".
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
    if controls == ["t"]:
        return SOLVERS["bcd-l1"]
    return SOLVERS["bcd-l0" if controls == ["card"] and "nonneg" in given else DEFAULT]


def require_components(k: int, p: int) -> None:
    """Raise ComponentsError for more components than variables."""
    if k > p:
        raise ComponentsError(
            f"k={shown(k)} was given, but the data have rank {p} at most, the number of variables; ask for "
            f"at most {plural(p, 'component')}."
        )


def require_rank(k: int, rows: int | None, centred: bool) -> None:
    """Raise ComponentsError if k exceeds the rank that the number of rows allows, if that is known."""
    most = None if rows is None else max(rows - int(centred), 1)
    if most is not None and k > most:
        raise ComponentsError(
            f"k={k} was given, but {plural(rows or 0, 'row')} have rank {most} at most; ask for at most "
            f"{plural(most, 'component')}."
        )


def make_plan(asked: Request, p: int, hint: Callable[[str], str] = lambda name: "") -> Plan:
    """Check the arguments of a call and build the solver.

    Parameters
    ----------
    asked : Request
    p : int
        Number of variables.
    hint : callable
        Returns advice about an option that no method has, for the function that was called.

    Raises
    ------
    ComponentsError
        If k exceeds the number of variables.
    UnknownOptionError
        If the method does not have an option; the message names the methods that have it.
    OptionError
        If a value is not allowed.
    """
    options = asked.options
    chosen = choose_method(asked.method, options)
    require_components(asked.k, p)
    for name in options:
        if name not in chosen.options:
            raise UnknownOptionError(_no_such_option(name, chosen, asked.method is None, hint))
    if chosen.controls and not any(name in options for name in (*chosen.controls, "disjoint")):
        if "variance" not in chosen.controls:
            wanted = " or ".join(f"{name}=" for name in chosen.controls)
            raise OptionError(f"method={chosen.name!r} needs {wanted} to know how sparse the fit should be.")
        # the default, if no control of sparsity is given
        options["variance"] = 0.9
    checked = {name: CHECKS[name](value, asked.k, p) for name, value in options.items()}
    if checked.get("disjoint") and not any(name in checked for name in ("card", "variance")):
        checked.setdefault("objective", "pev")  # adjusted variance would make one general group
    _check_promise(options, checked)
    refuse_rule(checked, asked.order, p)
    if "variance" in options and "promise" in chosen.options:
        checked.setdefault("promise", PROMISES[0])
    n_init, start = checked.pop("n_init", 0), checked.pop("start", None)
    aim = _aim(chosen, checked)
    solver = chosen.build(checked)
    n_init = n_init or (solver.n_init if asked.n_init is None else 1)
    start = solver.first_start if start is None else start
    _check_starts(solver, asked.k, n_init, start)
    return Plan(chosen, solver, n_init, _order(asked.order, chosen, solver, options), aim, start)


def _order(order: Any, method: Method, solver: Solver, options: Mapping[str, Any]) -> str | None:
    """Check the option `order`."""
    if order is None:
        return None
    one_of("order", order, ("variance", "given", "best"))
    if order == "variance" and "variance" in options:
        raise OptionError(
            f"order='variance' was given with method={method.name!r}, whose share of variance is kept by the "
            "components in the order in which they were found; leave order out."
        )
    if order == "best" and not ("card" in options and solver.own_order):
        raise OptionError(
            f"order='best' was given with method={method.name!r}; it needs card= with method='joint' and "
            "objective='adjusted'. Leave order out."
        )
    return str(order)


def _check_starts(solver: Solver, k: int, n_init: int, start: Any) -> None:
    """Refuse starts that cannot work, and several starts if their fits cannot be compared."""
    if isinstance(solver, JointSolver) and k > 1 and isinstance(start, str) and start == "ones":
        raise OptionError(
            "start='ones' was given with a method that fits all components together, so that all would start "
            "equal; use 'pca' or 'column', or give loadings."
        )
    if n_init > 1 and not solver.compares_penalties and getattr(solver, "penalty", None) is not None:
        raise OptionError(
            f"n_init={n_init} was given with penalty=, under which fits from several starts have different "
            "numbers of nonzeros, so that their variances cannot be compared; use card=, or leave n_init out."
        )


def _check_promise(options: Mapping[str, Any], checked: Mapping[str, Any]) -> None:
    """Refuse options that conflict with `variance`, and `promise` without it."""
    if "promise" in options and "variance" not in options:
        raise OptionError(
            f"promise={shown(options['promise'])} was given with card=; it says when variance= is kept. Give "
            "variance= instead of card=, or leave promise out."
        )
    if "variance" in options and checked.get("objective", "adjusted") != "adjusted":
        raise OptionError(
            f"objective={shown(options['objective'])} was given with variance=, which is a share of the "
            "adjusted variance. Leave objective out, or give card= instead of variance=."
        )


def _aim(method: Method, checked: dict[str, Any]) -> Aim | None:
    """Remove the options for the choice between fits from `checked`, and return them.

    Screening is refused if its tests do not apply, or if it would leave too few variables.
    """
    if not method.further:
        return None
    aim = Aim(**{name: checked.pop(name) for name in AIM if name in checked})
    if aim.screen is None or aim.screen is False:
        return aim
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
    return aim


def _no_such_option(name: str, method: Method, default: bool, hint: Callable[[str], str]) -> str:
    owners = [other.name for other in SOLVERS.values() if name in other.options]
    has: Sequence[str] = method.options
    called = f"method={method.name!r}{', the default,' if default else ''}"
    if owners:
        advice = " It sets its own starts and its own end: effort= says how long it searches." * (
            name in STEPS and method.name == DEFAULT
        )
        if name in RULE:
            advice += f" Only its search has rules: give card= and {name}= without method= and nonneg=."
        return f"{called} has no option {shown(name)}; methods that have it: {listed(owners, 30)}.{advice}"
    return (
        f"{shown(name)} is not an option of any method; {called} has {listed(has, 30) or 'none'}.{hint(name)}"
    )
