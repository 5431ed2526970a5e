"""Combinations of options in which one makes another do nothing, or fits that cannot be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from spcastat.config import listed, shown
from spcastat.errors import OptionError
from spcastat.fit.method_table import Method
from spcastat.linalg.deflation import ROW_DEFLATIONS
from spcastat.search.objectives import ADJUSTED, OBJECTIVES
from spcastat.solvers.solver import JointSolver, Solver


@dataclass(frozen=True, eq=False)
class Combination:
    """The options of a call that go together.

    Attributes
    ----------
    method : Method
    solver : Solver
    k : int
        Number of components.
    options : Mapping
        The options of the method that were given, checked, and those that they imply.
    n_init : int
        The number of starts.
    start : object
        The first start.
    order : str or None
    """

    method: Method
    solver: Solver
    k: int
    options: Mapping[str, Any]
    n_init: int
    start: Any
    order: str | None

    @property
    def words(self) -> dict[str, Any]:
        """What messages name: the options as users write them."""
        return {
            "deflation": repr(getattr(self.solver, "deflation", None)),
            "with_bound": listed(ROW_DEFLATIONS),
            "criterion": repr(self.method.criterion_of),
            **{name: shown(value) for name, value in self.options.items()},
            "method": repr(self.method.name),
            "n_init": self.n_init,
        }


@dataclass(frozen=True)
class Conflict:
    """A combination that is refused.

    Attributes
    ----------
    option : str
        The option that would do nothing.
    applies : callable
        Returns whether a combination is of this kind.
    message : str
        A template of the fields of `Combination.words`.
    """

    option: str
    applies: Callable[[Combination], bool]
    message: str


def _orthogonal_scores(call: Combination) -> bool:
    return bool(call.options.get("orth")) and call.options.get("deflation", "schur") != "schur"


def _without_bound(call: Combination) -> bool:
    deflation = getattr(call.solver, "deflation", None)
    return bool(call.options.get("certify")) and deflation not in ROW_DEFLATIONS


def _one_start(call: Combination) -> bool:
    criterion = call.method.criterion_of
    chooses = call.options.get("objective", criterion) != criterion
    return criterion is not None and chooses and call.n_init == 1


def _no_share(call: Combination) -> bool:
    return "variance" in call.options and not OBJECTIVES[call.options.get("objective", ADJUSTED.name)].shares


def _equal_starts(call: Combination) -> bool:
    return (
        isinstance(call.solver, JointSolver)
        and call.k > 1
        and isinstance(call.start, str)
        and call.start == "ones"
    )


def _incomparable(call: Combination) -> bool:
    penalised = getattr(call.solver, "penalty", None) is not None
    return call.n_init > 1 and penalised and not call.solver.compares_penalties


CONFLICTS = (
    Conflict(
        "deflation",
        _orthogonal_scores,
        "orth=True and deflation={deflation} were given; orthogonal scores are what deflation='schur' gives, "
        "so leave one of them out.",
    ),
    Conflict(
        "certify",
        _without_bound,
        "certify=True was given with deflation={deflation}, which leaves no covariance matrix, for which "
        "the bound holds: give deflation as one of {with_bound}, or leave certify out.",
    ),
    Conflict(
        "objective",
        _one_start,
        "objective={objective} was given with method={method} and one start, and it chooses between starts: "
        "each of them maximises {criterion}. Give n_init=, such as n_init=20, or leave objective out.",
    ),
    Conflict(
        "promise",
        lambda call: "promise" in call.options and "variance" not in call.options,
        "promise={promise} was given with card=; it says when variance= is kept. Give variance= instead of "
        "card=, or leave promise out.",
    ),
    Conflict(
        "objective",
        _no_share,
        "objective={objective} was given with variance=, which is a share of the adjusted variance. Leave "
        "objective out, or give card= instead of variance=.",
    ),
    Conflict(
        "order",
        lambda call: call.order == "variance" and "variance" in call.options,
        "order='variance' was given with method={method}, whose share of variance is kept by the components "
        "in the order in which they were found; leave order out.",
    ),
    Conflict(
        "order",
        lambda call: call.order == "best" and not ("card" in call.options and call.solver.own_order),
        "order='best' was given with method={method}; it needs card= with method='joint' and "
        "objective='adjusted'. Leave order out.",
    ),
    Conflict(
        "start",
        _equal_starts,
        "start='ones' was given with a method that fits all components together, so that all would start "
        "equal; use 'pca' or 'column', or give loadings.",
    ),
    Conflict(
        "n_init",
        _incomparable,
        "n_init={n_init} was given with penalty=, under which fits from several starts have different "
        "numbers of nonzeros, so that their variances cannot be compared; use card=, or leave n_init out.",
    ),
)


def refuse_conflicts(call: Combination) -> None:
    """Raise OptionError for the first of CONFLICTS that a combination of options is."""
    for conflict in CONFLICTS:
        if conflict.applies(call):
            raise OptionError(conflict.message.format(**call.words))
