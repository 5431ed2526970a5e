"""Divide rows into folds: rows in memory or in chunks, with missing values, or from formulas that learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spcastat.engine.inputs import Source
from spcastat.engine.missing_values import prepare_with_gaps, rank_of
from spcastat.errors import NoRowsError
from spcastat.intake import ReadOptions
from spcastat.kernels.sparsity import is_sparse
from spcastat.missing.model import Patterns
from spcastat.operators import Operator
from spcastat.resample.folds import (
    Folds,
    FoldSums,
    Held,
    MomentFolds,
    PlainRows,
    RowFolds,
    random_labels,
    require_folds,
)
from spcastat.resample.sparse_model import SparseModel

if TYPE_CHECKING:
    import pandas as pd

    from spcastat.streams.base import Stream


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


#: Up to this many variables, folds are represented by their cross-products.
MOMENTS = 1000


def require_foldable(stream: Stream | None, p: int) -> None:
    """Raise NoRowsError, before rows are read, for rows in chunks with too many variables for folds."""
    if stream is not None and p > MOMENTS:
        raise NoRowsError(
            f"The rows of {stream.title} are never all in memory, and folds of {p} variables take too much; "
            f"at most {MOMENTS} will do. Use by='ebic', or a sample of the rows."
        )


def divided(
    source: Source,
    data: Any,
    described: Mapping[str, Any],
    folds: int,
    repeats: int,
    *,
    seed: int,
    k: int,
    keep_rows: bool,
) -> Folds:
    """Divide the rows of a source into folds.

    Parameters
    ----------
    source : Source
        With rows.
    data : object
        The data that the source was opened from, for a formula that learns from rows.
    described : Mapping
        The options with which it was opened: the fields of `ReadOptions`, and others that the source knows.
    folds, repeats : int
    seed : int
        The same seed gives the same folds for all data with the same number of rows.
    k : int
        Number of components that will be fitted.
    keep_rows : bool
        Whether the method needs an operator with rows.

    Raises
    ------
    TooFewRowsError, WeightsError, DataError
        If the rows outside a fold cannot be fitted.
    NoRowsError
        For rows in chunks with too many variables.
    """
    names: pd.Index = source.spec.columns
    given = source.center_and_scale
    if source.stream is not None:
        begin = partial(FoldSums, len(names), folds, repeats, seed)
        sums = source.stream.reduce(begin, "means and cross-products of the folds").result
        require_folds(sums.rows, folds, k, source.weighted)
        return MomentFolds(sums, *given, names)
    X, w = source.matrix, source.weights
    n = X.shape[0]
    labels = random_labels(n, min(folds, n), repeats, np.random.default_rng([seed, 2]))
    kept = np.ones(n, dtype=bool) if w is None else w > 0
    counts = [int(np.sum(kept & (one == fold))) for one in labels for fold in range(min(folds, n))]
    require_folds(counts, folds, k, source.weighted)
    columns: Any = None
    if source.spec.learns:
        from spcastat.intake.read import FoldedTerms

        reading = [one.name for one in fields(ReadOptions) if one.name in described]
        columns = FoldedTerms(data, ReadOptions(**{name: described[name] for name in reading}))
    elif source.gaps is not None or keep_rows or len(names) > MOMENTS:
        rows = source.measured
        columns = PlainRows(rows.tocsr() if is_sparse(rows) else rows)
    if source.gaps is not None:
        rules = GapRules(source.gaps.how, described.get("k_em"), k)
        return GapFolds(rules, columns, w, labels, *given, names)
    if columns is not None:
        return RowFolds(columns, w, labels, *given, names, keep_rows)
    sums = FoldSums(len(names), folds, repeats, seed)
    for repeat, one in enumerate(labels):
        sums.add_to(repeat, one, X, w)
    return MomentFolds(sums, *given, names)
