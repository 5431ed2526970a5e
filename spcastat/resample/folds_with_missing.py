"""Folds of rows with missing values: moments outside a fold, and predictions of the measured values in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spcastat.engine.missing_values import prepare_with_gaps, rank_of
from spcastat.missing.model import Patterns
from spcastat.operators import Operator
from spcastat.resample.folds import Held, RowFolds
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


class GapFolds(RowFolds):
    """Folds of rows with missing values, which are NaN. The model does not use held-out rows.

    Parameters
    ----------
    rules : GapRules
    columns, weights, labels, center, scale, names
        See :class:`RowFolds`.
    """

    def __init__(self, rules: GapRules, *rows: Any):
        super().__init__(*rows)
        self.rules = rules

    def _parted(
        self, training: Any, own: Any, w: np.ndarray | None, own_weights: np.ndarray | None
    ) -> tuple[Operator, Held]:
        rank = rank_of(self.rules.k_em, self.rules.k, w, training.shape)
        standard, op, _, _ = prepare_with_gaps(
            training, w, self.center, self.scale, self.names, self.rules.how, rank
        )
        return op.at_unit_size(), measured_cells((own - standard.mean) / standard.scale, own_weights)


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
