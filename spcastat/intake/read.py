"""Read the user's data into a Design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import GAPS, shown
from spcastat.errors import DataError, FormulaError, NewDataError, OptionError
from spcastat.intake import formula as formulas
from spcastat.intake import frames
from spcastat.intake.checks import read_weights, require_rows, require_weight, rows_to_keep
from spcastat.intake.design import PLAIN, Design, Partial, ReadOptions, Spec
from spcastat.intake.model_matrix import learnt
from spcastat.intake.replay import replay
from spcastat.kernels.regression import regress
from spcastat.kernels.sparsity import is_sparse


def read_data(data: Any, reading: ReadOptions = PLAIN, *, defer: bool = False) -> Design:
    """Convert data to a checked table of numbers.

    Without a formula all columns are used. Columns and rows keep their order and labels; booleans count as 0
    and 1. The caller's data are never written to. Data up to :data:`spcastat.intake.COPY_LIMIT` bytes are
    copied; larger arrays may be used without a copy, so leave them unchanged as long as the fit is in use.

    Parameters
    ----------
    data : DataFrame, ndarray, scipy.sparse matrix or array, polars or pyarrow table, of shape (n, p)
        Sparse data stay sparse. Arrays get the columns x1, ..., xp. The mask of a masked array marks
        missing values.
    reading : ReadOptions
        By default all columns without transformation, and no missing values.
    defer : bool
        Do not check an array above :data:`spcastat.intake.COPY_LIMIT` for missing and infinite values, which
        takes a pass over it. The caller must call ``Design.check`` if a sum over all values is not finite.

    Returns
    -------
    Design

    Raises
    ------
    DataError
        Among others ShapeError, TooFewRowsError, ColumnTypeError, DuplicateNamesError,
        MissingValuesError, InfiniteValuesError and WeightsError.
    FormulaError
        For a formula that cannot be parsed or evaluated.
    """
    formula, na = reading.formula, reading.na
    table = frames.open_table(data)
    frames.require_unique(table.columns)
    require_rows(len(table.index))
    table, weights = frames.take_weights(table, reading.weights)
    w = None if weights is None else read_weights(weights, table.index, table.labelled)
    if formula is None:
        return _read_columns(table, None, w, na, defer)
    if not isinstance(table.values, pd.DataFrame):
        kind = "a NumPy array" if isinstance(table.values, np.ndarray) else "sparse data"
        hint = "pd.DataFrame(data, columns=[...])"
        if kind != "a NumPy array":
            hint = "pd.DataFrame.sparse.from_spmatrix(data, columns=[...]), or leave the formula out"
        raise FormulaError(
            f"formula={shown(formula)} was given with {kind}, whose columns have no names; use {hint}."
        )
    parsed = formulas.parse(formula, table.columns, reading.context or {}, reading.weights)
    kinds = formulas.kinds_of(table.values, parsed, reading.categorical)
    if parsed.given is None:
        return _read_formula(table, parsed, kinds, w, na, defer)
    return _read_partial(table, parsed, kinds, w, na)


def _read_partial(
    table: frames.Table, parsed: formulas.Parsed, kinds: Mapping[Any, str], w: np.ndarray | None, na: str
) -> Design:
    """Read variables and covariates, keep rows without missing values, and adjust the variables."""
    if na in GAPS:
        raise OptionError(
            f"na={na!r} was given with the covariates of formula={shown(parsed.model.text)}, which need "
            "complete rows. Use na='drop', or fill the rows: spca(data, k, na='em', scale=True).imputed."
        )
    given = parsed.given
    assert given is not None
    others = formulas.kinds_of(table.values, given, "dummy")
    every = formulas.Inputs(table.values, {**parsed.used, **given.used}, {**kinds, **others})
    keep = every.complete_rows(na)
    _, w, dropped = _rows(table.index, w, keep)
    if keep is not None:
        table = replace(table, values=every.rows(keep).frame, index=table.index[keep])
    design = _read_formula(table, parsed, kinds, w, "raise", False)
    covariates = _read_formula(table, given, others, w, "raise", False)
    Y, Z = np.asarray(design.matrix, dtype=float), np.array(covariates.matrix, dtype=float)
    partial = Partial(covariates.spec, regress(Y, Z, w, design.columns))
    adjusted = frames.own(partial.regression.residuals(Y, Z), False)
    spec = replace(design.spec, partial=partial)
    return replace(design, matrix=adjusted, spec=spec, dropped=dropped, shared=False, covariates=Z)


def _read_columns(
    table: frames.Table, parsed: formulas.Parsed | None, w: np.ndarray | None, na: str, defer: bool
) -> Design:
    """Read columns without transformation: all of them, or those that a plain formula selects."""
    if parsed is None:
        columns = table.columns
        spec = Spec("frame" if table.named else "array", columns)
        matrix, shared = frames.numbers(table)
    else:
        positions = [parsed.lookups[term[0].text] for term in parsed.model.terms]
        columns = table.columns[positions]
        spec = Spec("formula", columns, formula=parsed.model.text)
        matrix, shared = frames.frame_numbers(table.values, positions)
    if na in GAPS and is_sparse(matrix):
        raise OptionError(f"na={na!r} was given with sparse data; give X.toarray(), or use na='drop'.")
    defer = defer and na == "raise" and isinstance(matrix, np.ndarray) and matrix.nbytes > frames.COPY_LIMIT
    keep = None if defer else rows_to_keep(matrix, columns, na)
    if keep is not None:
        matrix, shared = matrix[np.flatnonzero(keep)], False
    index, w, dropped = _rows(table.index, w, keep)
    held = frames.own(matrix, shared)
    shared = shared and frames.size_of(held) > frames.COPY_LIMIT
    return Design(held, index, spec, w, dropped, shared=shared)


def _read_formula(
    table: frames.Table, parsed: formulas.Parsed, kinds: Any, w: np.ndarray | None, na: str, defer: bool
) -> Design:
    """Read the terms of a formula."""
    if parsed.plain and all(kind == "number" for kind in kinds.values()):
        return _read_columns(table, parsed, w, na, defer)
    inputs, keep = formulas.Inputs(table.values, parsed.used, kinds), None
    missing = inputs.missing() if na in GAPS else {}
    if not any(one.any() for one in missing.values()):
        keep, missing = inputs.complete_rows(na), {}
    index, w, dropped = _rows(table.index, w, keep)
    matrix, spec = learnt(parsed, inputs.rows(keep), table.columns, index, w, missing)
    return Design(frames.own(matrix, False), index, spec, w, dropped)


def _rows(
    index: pd.Index, w: np.ndarray | None, keep: np.ndarray | None
) -> tuple[pd.Index, np.ndarray | None, int]:
    """Return index and weights of the rows in the mask `keep`, and the number of dropped rows."""
    dropped = 0
    if keep is not None:
        dropped = int((~keep).sum())
        index = index[keep]
        w = None if w is None else w[keep]
    require_rows(len(index), dropped)
    if w is not None:
        require_weight(w)
        w.flags.writeable = False
    return index, w, dropped


class FoldedTerms:
    """Reads subsets of the rows as all rows were read, for cross-validation; picklable if the context is.

    The columns of held-out rows are computed with terms that were learned from the other rows only.

    Parameters
    ----------
    data : DataFrame, polars or pyarrow table
    reading : ReadOptions
        With a formula.
    """

    def __init__(self, data: Any, reading: ReadOptions):
        table, weights = frames.take_weights(frames.open_table(data), reading.weights)
        assert isinstance(table.values, pd.DataFrame)
        frame = table.values.set_axis(table.columns, axis=1).reset_index(drop=True)
        if isinstance(weights, pd.Series) and table.labelled:
            weights = weights.reindex(table.index)
        weights = None if weights is None else np.asarray(weights, dtype=float)
        na = reading.na if reading.na in GAPS else "raise"
        self.reading = replace(reading, na=na, weights=None)
        whole = read_data(frame, replace(reading, weights=weights))
        kept = whole.index.to_numpy()
        self.frame = frame.iloc[kept].reset_index(drop=True)
        self.weights = None if weights is None else weights[kept]
        self.columns = whole.columns

    def __call__(self, which: np.ndarray) -> tuple[Any, Any]:
        """Return the columns for the rows in a mask, and those for all other rows by the same terms.

        Raises
        ------
        DataError
            If the other rows have a level or a value that does not occur in the rows of the mask.
        """
        w = None if self.weights is None else self.weights[which]
        try:
            learnt = read_data(self.frame[which], replace(self.reading, weights=w))
            if not learnt.columns.equals(self.columns):
                raise NewDataError("its columns are not those of all rows")
            others = replay(learnt.spec, self.frame[~which], na=self.reading.na)[0]
        except (NewDataError, FormulaError) as error:
            raise DataError(
                f"The formula cannot be learnt without a fold: {error} Give fewer folds, leave rare levels "
                "out, or make the columns before."
            ) from None
        return learnt.matrix, others
