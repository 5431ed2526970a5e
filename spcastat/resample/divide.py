"""Divide rows into folds: rows in memory or in chunks, with missing values, or from formulas that learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spcastat.engine.inputs import Source
from spcastat.errors import NoRowsError
from spcastat.intake import ReadOptions
from spcastat.kernels.sparsity import is_sparse
from spcastat.resample.folds import (
    Folds,
    FoldSums,
    MomentFolds,
    PlainRows,
    RowFolds,
    random_labels,
    require_folds,
)
from spcastat.resample.folds_with_missing import GapFolds, GapRules

if TYPE_CHECKING:
    import pandas as pd

    from spcastat.streams.base import Stream

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
        from spcastat.intake.folded import FoldedTerms

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
