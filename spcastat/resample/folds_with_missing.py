"""Folds of rows with gaps: moments of the measured cells outside a fold, predictions of those in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from spcastat.engine.missing_values import prepare_with_gaps, rank_of
from spcastat.errors import ConstantColumnError, MissingValuesError
from spcastat.missing.patterns import Patterns
from spcastat.operators import Operator
from spcastat.operators.build import Given
from spcastat.operators.variable_blocks import Scale
from spcastat.resample.folds import Folds, Held
from spcastat.resample.sparse_model import SparseModel


@dataclass(frozen=True, eq=False)
class GapRules:
    """How means and covariances of rows with gaps are estimated.

    Attributes
    ----------
    how : {"em", "pairwise"}
    k_em : int or None
        The rank of the model of the EM; None for `k`, or what the rows outside a fold can give.
    k : int
    """

    how: str
    k_em: int | None
    k: int


class GapFolds(Folds):
    """Folds of rows with gaps: nothing of a held-out row, nor of its gaps, is known to the model.

    Parameters
    ----------
    columns : callable
        A mask of rows -> the columns of these, shape (m, p), and those of all others, NaN in gaps.
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
            Where a column has no value outside the fold, or one value only, or where a pair of columns has
            no correlation there.
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
    """Rows that are parted as they are."""

    X: np.ndarray

    def __call__(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of a mask, and all others."""
        return self.X[which], self.X[~which]


@dataclass(frozen=True, eq=False)
class MeasuredCells(Held):
    """Rows with gaps that were held out: what was not measured neither predicts nor is predicted.

    The weight is the number of measured cells over that of columns, so that errors are means over cells;
    for complete rows it is the number of rows.

    Attributes
    ----------
    Z : ndarray of shape (m, p)
        Centred and scaled, zero in gaps.
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
    """Return held-out rows, centred and scaled, shape (m, p), with NaN in their gaps."""
    missing = np.isnan(Z)
    w = np.ones(len(Z)) if weights is None else weights
    Z = np.where(missing, 0.0, Z)
    weight = float(w @ (~missing).sum(axis=1)) / Z.shape[1]
    return MeasuredCells(weight, w @ (Z * Z), Z, Patterns.of(missing, w), w)
