"""What a joint search maximises: one record for each objective, from which its searches derive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spcastat.errors import OptionError
from spcastat.linalg.operators import Operator
from spcastat.measures import MEASURES, Measure
from spcastat.search.criteria import Adjusted, Criterion, Projected
from spcastat.search.group_values import (
    GroupSearch,
    adjusted_slope,
    adjusted_values,
    pev_slope,
    pev_values,
    regression_slope,
    regression_values,
)
from spcastat.search.matrices import Dense, Identity, Products, SymmetricMatrix


@dataclass(frozen=True)
class Objective:
    """An objective of joint searches.

    Attributes
    ----------
    name, label : str
        The value of ``objective=``, and the name in prints.
    measure : Measure
        The share of the total variance that is maximised.
    criterion : callable
        Takes S, the product S S if `squares` (else None), and the cardinalities.
    squares : bool
        Whether the criterion needs S S, products with which are expensive.
    ordered : bool
        Whether the value depends on the order of the components, as each counts what it adds to earlier ones.
    equals_variance : bool
        Whether the value of a single component is its variance.
    proxy : Objective or None
        What sweeps over many variables maximise instead, as products with S S are expensive.
    groups : GroupSearch or None
        What a search over partitions of all variables needs; None: there is none.
    relaxation : str or None
        The name of its bounds over all supports in :mod:`spcastat.proofs.jointly`; None: there are none.
    shares : bool
        Whether ``variance=`` can ask for a share of it.
    """

    name: str
    label: str
    measure: Measure
    criterion: Callable[[SymmetricMatrix, SymmetricMatrix | None, tuple[int, ...]], Criterion]
    squares: bool = False
    ordered: bool = False
    equals_variance: bool = False
    proxy: Objective | None = None
    groups: GroupSearch | None = None
    relaxation: str | None = None
    shares: bool = False

    def of_matrix(self, S: np.ndarray, cards: tuple[int, ...]) -> Criterion:
        """Return the criterion for a covariance matrix of total variance one, or for several, (D, m, m)."""
        return self.criterion(Dense(S), Dense(S @ S) if self.squares else None, cards)

    def of_operator(self, op: Operator, cards: tuple[int, ...]) -> Criterion:
        """Return the criterion for an operator whose covariance matrix is not kept in memory."""
        return self.criterion(Products(op), Products(op, 2) if self.squares else None, cards)

    def group_search(self) -> GroupSearch:
        """Return what a search over partitions of all variables needs.

        Raises
        ------
        OptionError
            If there is no such search for the objective.
        """
        if self.groups is None:
            raise OptionError(
                f"objective={self.name!r} was given with disjoint=True and without card=, and has no search "
                f"over groups of all variables: give card=, or {_those_with('groups')}."
            )
        return self.groups

    def joint_relaxation(self) -> str:
        """Return the name of the bounds over all supports.

        Raises
        ------
        OptionError
            If there are none for the objective.
        """
        if self.relaxation is None:
            raise OptionError(
                f"objective={self.name!r} has no joint proof: give {_those_with('relaxation')}, or "
                "joint=False for proofs of single components."
            )
        return self.relaxation


def _adjusted(S: SymmetricMatrix, T: SymmetricMatrix | None, cards: tuple[int, ...]) -> Criterion:
    return Adjusted(S, cards)


def _reconstruction(S: SymmetricMatrix, T: SymmetricMatrix | None, cards: tuple[int, ...]) -> Criterion:
    return Projected(Identity(S.m), S, cards)


def _regression(S: SymmetricMatrix, T: SymmetricMatrix | None, cards: tuple[int, ...]) -> Criterion:
    assert T is not None
    return Projected(S, T, cards)


ADJUSTED = Objective(
    "adjusted",
    "adjusted variance",
    MEASURES["adjusted"],
    _adjusted,
    ordered=True,
    equals_variance=True,
    groups=GroupSearch("upper", adjusted_slope, adjusted_values),
    relaxation="sequence",
    shares=True,
)
PEV = Objective(
    "pev",
    "PEV",
    MEASURES["pev"],
    _reconstruction,
    equals_variance=True,
    groups=GroupSearch("equal", pev_slope, pev_values),
    relaxation="projection",
)
LEAST_SQUARES = Objective(
    "least_squares",
    "least-squares share",
    MEASURES["least_squares"],
    _regression,
    squares=True,
    proxy=ADJUSTED,
    groups=GroupSearch(None, regression_slope, regression_values, ratio=True),
    relaxation="regression",
)
#: The objectives by name.
OBJECTIVES: dict[str, Objective] = {record.name: record for record in (ADJUSTED, PEV, LEAST_SQUARES)}


def provable() -> list[str]:
    """Return the names of the objectives that have joint proofs."""
    return [name for name, record in OBJECTIVES.items() if record.relaxation is not None]


def _those_with(field: str) -> str:
    """Return the options of the objectives that have a field, for messages."""
    return " or ".join(f"objective={name!r}" for name, record in OBJECTIVES.items() if getattr(record, field))
