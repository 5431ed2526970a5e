"""What a joint search maximises: one record for each objective, from which its searches derive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spcastat.linalg.operators import Operator
from spcastat.measures import MEASURES, Measure
from spcastat.search.criteria import Adjusted, Criterion, Projected
from spcastat.search.matrices import Dense, Identity, Moments, Products


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
        Whether the value depends on the order of the components.
    equals_variance : bool
        Whether the value of a single component is its variance.
    proxy : Objective or None
        What sweeps over many variables maximise instead, as products with S S are expensive.
    """

    name: str
    label: str
    measure: Measure
    criterion: Callable[[Moments, Moments | None, tuple[int, ...]], Criterion]
    squares: bool = False
    ordered: bool = False
    equals_variance: bool = False
    proxy: Objective | None = None

    def of_matrix(self, S: np.ndarray, cards: tuple[int, ...]) -> Criterion:
        """Return the criterion for a covariance matrix of total variance one, or for several, (D, m, m)."""
        return self.criterion(Dense(S), Dense(S @ S) if self.squares else None, cards)

    def of_operator(self, op: Operator, cards: tuple[int, ...]) -> Criterion:
        """Return the criterion for an operator whose covariance matrix is not kept in memory."""
        return self.criterion(Products(op), Products(op, 2) if self.squares else None, cards)


def _adjusted(S: Moments, T: Moments | None, cards: tuple[int, ...]) -> Criterion:
    return Adjusted(S, cards)


def _reconstruction(S: Moments, T: Moments | None, cards: tuple[int, ...]) -> Criterion:
    return Projected(Identity(S.m), S, cards)


def _regression(S: Moments, T: Moments | None, cards: tuple[int, ...]) -> Criterion:
    assert T is not None
    return Projected(S, T, cards)


ADJUSTED = Objective(
    "adjusted", "adjusted variance", MEASURES["adjusted"], _adjusted, ordered=True, equals_variance=True
)
PEV = Objective("pev", "PEV", MEASURES["pev"], _reconstruction, equals_variance=True)
LEAST_SQUARES = Objective(
    "least_squares",
    "least-squares share",
    MEASURES["least_squares"],
    _regression,
    squares=True,
    proxy=ADJUSTED,
)
#: The objectives by name.
OBJECTIVES: dict[str, Objective] = {one.name: one for one in (ADJUSTED, PEV, LEAST_SQUARES)}
