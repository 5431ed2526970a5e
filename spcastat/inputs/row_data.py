"""Rows in memory as the data of a fit: read, standardised, weighted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.config import (
    GAPS,
    plural,
    warn,
)
from spcastat.inputs.data import Source
from spcastat.inputs.missing import Gaps, prepare_with_gaps, rank_of, refuse_rows_methods
from spcastat.inputs.opening import files_of
from spcastat.inputs.scaling import COMPLETE, require_range
from spcastat.linalg.accumulate import Nothing
from spcastat.linalg.operators import Operator
from spcastat.linalg.standardisation import (
    Blocks,
    ScalingGroups,
    Standardisation,
    block_length,
    checksum,
    prepare,
)
from spcastat.linalg.ties import is_sparse
from spcastat.reading.checks import warn_of_missing_codes, warn_of_row_numbers
from spcastat.reading.design import Design, ReadOptions
from spcastat.reading.frames import open_table
from spcastat.reading.read import read_data, replay

# --- the rows of an earlier fit -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fitted:
    """The rows of a fit, passed in place of data so that they are refitted as they were read.

    Attributes
    ----------
    data : object
        The data that the fit was given.
    source : Source
    """

    data: Any
    source: Source


def require_unchanged(data: Any, source: Source) -> None:
    """Raise DataError unless `data` contain the rows of a fit, for calls that read them again.

    Parameters
    ----------
    data : object
        The data that the fit was given.
    source : Source
        The source of the fit.
    """
    if source.stream is not None:
        source.stream.reduce(Nothing, "comparison with the fit")  # raises if the number of rows has changed
        return
    source.require_same()
    how = "raise" if source.gaps is None else source.gaps.how
    try:
        matrix, index = replay(source.spec, data, na="drop" if source.dropped else how)
        same = matrix.shape == source.matrix.shape and index.equals(source.index)
        same = same and is_sparse(matrix) == is_sparse(source.matrix)
        if is_sparse(matrix):
            same = same and checksum(matrix.tocsc()) == checksum(source.measured.tocsc())
        else:
            same = same and np.array_equal(matrix, source.measured, equal_nan=True)
    except errors.SpcaError as error:
        raise errors.DataError(f"The data have changed since the fit: {error}") from error
    if not same:
        raise errors.DataError(
            "The data have changed since the fit: their rows are not those that were fitted. Fit again."
        )


# --- rows in memory -------------------------------------------------------------------------------


def design_of(table: Any, reading: ReadOptions, mixed: bool) -> Design:
    """Read data in memory; with scale="mixed" all columns of a frame, of which some may be factors."""
    how = reading
    if mixed and (reading.formula is not None or isinstance(open_table(table).values, pd.DataFrame)):
        how = replace(reading, formula=reading.formula or "~ .", categorical="dummy")
    try:
        design = read_data(table, how, defer=not mixed)
    except errors.MissingValuesError as error:
        if not mixed:
            raise
        found = str(error).partition(". Use ")[0]
        raise errors.MissingValuesError(f"{found}, and {COMPLETE}.") from None
    if reading.formula is None:
        warn_of_row_numbers(design.matrix, design.columns)
    warn_of_missing_codes(design.matrix, design.columns)
    return design


def design_of_fit(source: Source) -> Design:
    """Return the rows of a fit as they were read; raise DataError if they have changed since."""
    source.require_same()
    assert source.index is not None
    return Design(
        matrix=source.measured,
        index=source.index,
        spec=source.spec,
        weights=source.weights,
        dropped=source.dropped,
        covariates=source.covariates,
        rows=source.design,
    )


@dataclass(frozen=True, eq=False)
class InMemory:
    """Rows in memory that were read and checked, and how to centre and scale them.

    Attributes
    ----------
    table : object
        The data of the call.
    design : Design
        The same rows as numbers.
    reading : ReadOptions
    center, scale
        As :func:`column_values` and :func:`_scale` return them.
    k : int
        Number of components, which is the default rank of the model of missing values.
    fitted : Source or None
        The source of an earlier fit to these rows.
    otherwise : Series of length p, or None
        The scale of columns that do not vary; None for an error.
    """

    table: Any
    design: Design
    reading: ReadOptions
    center: Any
    scale: Any
    k: int
    fitted: Source | None
    otherwise: pd.Series | None = None

    @property
    def _fallback(self) -> np.ndarray | None:
        return None if self.otherwise is None else self.otherwise.to_numpy()

    def source(self, rows_for: str = "") -> Source:
        """Return the source of a fit; `rows_for` is the name of a method that needs the rows themselves."""
        design, gaps = self.design, None
        X, w, rows = design.matrix, design.weights, design.rows
        if self.reading.na in GAPS:
            standard, op, X, gaps = self._with_gaps(rows_for)
        else:
            standard, op = self._complete(rows_for)
        require_range(op, standard, design.columns)
        if design.spec.partial is not None:
            positive = X.shape[0] if w is None else int(np.count_nonzero(w))
            free = positive - 1 - design.spec.partial.regression.rank
            op.rank_limit = max(1, min(op.rank_limit, free))
        if rows is not None and rows.block_length == "auto":
            rows = replace(rows, block_length=_block_length(op, standard, X))
        if self.fitted is not None:
            mark = self.fitted.checksum
        else:
            mark = checksum(X) if design.shared and gaps is None else None
        return Source(
            op=op.at_unit_size(),
            spec=design.spec,
            n=X.shape[0],
            standard=standard,
            matrix=X,
            index=design.index,
            dropped=design.dropped,
            weights=w,
            gaps=gaps,
            checksum=mark,
            covariates=design.covariates,
            groups=self.scale if isinstance(self.scale, ScalingGroups) else None,
            files=files_of(self.table),
            design=rows,
        )

    def _with_gaps(self, rows_for: str) -> tuple[Standardisation, Operator, np.ndarray, Gaps]:
        """Return centre and scale, the operator, the rows for scores, and how missing values were treated."""
        design, na = self.design, self.reading.na
        if rows_for:
            refuse_rows_methods(na, rows_for)
        X, w = design.matrix, design.weights
        rank = rank_of(self.reading.k_em, self.k, w, X.shape)
        prepared = prepare_with_gaps(
            X,
            w,
            self.center,
            self.scale,
            design.columns,
            na,
            rank,
            index=design.index,
            otherwise=self._fallback,
        )
        record = prepared[-1].as_record
        if not record.get("converged", True):
            warn(
                f"na='em': the EM stopped after {plural(record['iterations'], 'iteration')}, "
                "before it converged; a smaller k_em= converges sooner.",
                errors.ConvergenceWarning,
            )
        return prepared

    def _complete(self, rows_for: str) -> tuple[Standardisation, Operator]:
        """Return centre and scale and the operator of rows without missing values."""
        design = self.design
        if isinstance(self.scale, Blocks):  # eigenvalues need finite values
            design.check()
        with np.errstate(invalid="ignore", over="ignore"):  # infinite values are reported below
            standard, op = prepare(
                design.matrix,
                design.weights,
                self.center,
                self.scale,
                design.columns,
                bool(rows_for),
                self._fallback,
            )
            finite = np.isfinite(op.total)  # False for infinite values only: prepare() does not overflow
        if not finite:
            design.check()
        return standard, op


def _block_length(op: Operator, standard: Standardisation, X: Any) -> int:
    """Return the length of blocks for the scores of the first two principal components, the larger one."""
    V = op.leading(min(2, op.p))[1]
    scores = np.nan_to_num(standard.project(X, V))  # a missing score counts as the mean
    return max(block_length(score) for score in scores.T)
