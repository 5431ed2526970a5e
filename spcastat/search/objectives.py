"""The three objectives as criteria of a covariance matrix."""

from __future__ import annotations

import numpy as np

from spcastat.operators import Operator
from spcastat.search.adjusted_variance import Adjusted
from spcastat.search.criterion import Criterion
from spcastat.search.projection_criteria import Projected
from spcastat.search.symmetric_matrices import Dense, Identity, Moments, Products

#: The criteria by name.
CRITERIA = ("adjusted", "pev", "least_squares")


def held(S: np.ndarray, card: tuple[int, ...], objective: str) -> Criterion:
    """Return the criterion for a covariance matrix of total variance one, or for several, shape (D, m, m)."""
    if objective == "least_squares":
        return Projected(Dense(S), Dense(S @ S), card)
    return of_moments(Dense(S), card, objective)


def products(op: Operator, card: tuple[int, ...], objective: str) -> Criterion:
    """Return the criterion for an operator whose covariance matrix is not kept in memory."""
    if objective == "least_squares":
        return Projected(Products(op), Products(op, 2), card)
    return of_moments(Products(op), card, objective)


def of_moments(S: Moments, card: tuple[int, ...], objective: str) -> Criterion:
    """Return the criterion of adjusted variance or PEV."""
    return Adjusted(S, card) if objective == "adjusted" else Projected(Identity(S.m), S, card)
