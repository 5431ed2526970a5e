"""Folds of rows with missing values: moments outside a fold, and predictions of the measured values in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from spcastat.engine.missing_values import prepare_with_gaps, rank_of
from spcastat.errors import ConstantColumnError, MissingValuesError
from spcastat.missing.model import Patterns
from spcastat.operators import Operator
from spcastat.operators.build import Given
from spcastat.operators.scaling_groups import Scale
from spcastat.resample.folds import Folds, Held
from spcastat.resample.sparse_model import SparseModel


@dataclass(frozen=True, eq=False)
class GapRules:
    """How means and covariances of rows with missing values are estimated.

    Attributes
    ----------
    how : {"em", "pairwise"}
    k_em : int or None
        The rank of the EM model; None for `k`, or less if the rows outside a fold do not allow that.
    k : int
        Number of components.
    """

    how: str
    k_em: int | None
    k: int


class GapFolds(Folds):
    """Folds of rows with missing values. The model does not use held-out rows.

    Parameters
    ----------
    columns : callable
        Takes a mask of rows; returns the columns, shape (m, p), of these rows and those of all other rows.
        Missing values are NaN.
    weights : ndarray of shape (n,) or None
    labels : ndarray of int, shape (repeats, n)
        The fold of each row.
    center, scale, names
        See :class:`Folds`.
    rules : GapRules
    """

    def __init__(
        self,
        columns: Callable[[np.ndarray], tuple[Any, Any]],
        weights: np.ndarray | None,
        labels: np.ndarray,
        center: Given,
        scale: Scale,
        names: pd.Index,
        rules: GapRules,
    ):
        self.columns, self.weights, self.labels, self.rules = columns, weights, labels, rules
        self.repeats, self.count = len(labels), int(labels.max()) + 1
        self.center, self.scale, self.names = center, scale, names

    def split(self, number: int) -> tuple[Operator, Held]:
        """Return the operator of the rows outside a fold, at unit size, and the rows of the fold.

        Raises
        ------
        MissingValuesError, ConstantColumnError
            If a column has no values, or only equal values, outside the fold, or a pair of columns has no
            correlation there.
        """
        try:
            return self._split(number)
        except (MissingValuesError, ConstantColumnError) as error:
            raise type(error)(
                f"Without fold {number % self.count + 1} of {self.count}: {error} More folds, which leave "
                "out fewer rows each, or another rng may do as well."
            ) from None

    def _split(self, number: int) -> tuple[Operator, Held]:
        out = self.labels[number // self.count] == number % self.count
        training, own = self.columns(~out)
        w = None if self.weights is None else self.weights[~out]
        rank = rank_of(self.rules.k_em, self.rules.k, w, training.shape)
        standard, op, _, _ = prepare_with_gaps(
            training, w, self.center, self.scale, self.names, self.rules.how, rank
        )
        Z = (own - standard.mean) / standard.scale
        return op.at_unit_size(), measured_cells(Z, None if self.weights is None else self.weights[out])


@dataclass(frozen=True, eq=False)
class PlainRows:
    """Rows of a matrix, as the `columns` of `GapFolds`."""

    X: np.ndarray

    def __call__(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows in a mask, and all other rows."""
        return self.X[which], self.X[~which]


@dataclass(frozen=True, eq=False)
class MeasuredCells(Held):
    """Held-out rows with missing values; only measured values predict and are predicted.

    The weight is the number of measured values divided by the number of columns, so that errors are means
    over values; for complete rows it is the number of rows.

    Attributes
    ----------
    Z : ndarray of shape (m, p)
        Centred and scaled rows, with zeros for missing values.
    patterns : Patterns
    row_weights : ndarray of shape (m,)
    """

    Z: np.ndarray
    patterns: Patterns
    row_weights: np.ndarray

    def press(self, models: Sequence[SparseModel]) -> np.ndarray:
        errors = [model.press_measured(self.Z, self.patterns, self.row_weights) for model in models]
        return np.array(errors)


def measured_cells(Z: np.ndarray, weights: np.ndarray | None) -> MeasuredCells:
    """Prepare held-out rows for errors of their measured values.

    Z has shape (m, p): centred and scaled, with NaN for missing values.
    """
    missing = np.isnan(Z)
    w = np.ones(len(Z)) if weights is None else weights
    Z = np.where(missing, 0.0, Z)
    weight = float(w @ (~missing).sum(axis=1)) / Z.shape[1]
    return MeasuredCells(weight, w @ (Z * Z), Z, Patterns.of(missing, w), w)
