"""Read the user's data into a Design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import GAPS, shown
from spcastat.errors import FormulaError, OptionError
from spcastat.intake import formula as formulas
from spcastat.intake import frames
from spcastat.intake.checks import (
    read_weights,
    require_rows,
    require_weight,
    rows_to_keep,
)
from spcastat.intake.design import PLAIN, Design, Partial, ReadOptions, Spec
from spcastat.intake.rowwise import evaluate_with_gaps, require_rowwise
from spcastat.intake.terms import Model
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
            f"formula={shown(formula)} was given with {kind}, whose columns have no names; give the columns "
            f"names with {hint}."
        )
    parsed = formulas.parse(formula, table.columns, reading.context or {}, reading.weights)
    kinds = formulas.inputs(table.values, parsed, reading.categorical)
    if parsed.given is not None:
        return _read_partial(table, parsed, parsed.given, kinds, w, na)
    return _read_terms(table, parsed, kinds, w, na, defer)


def _read_terms(
    table: frames.Table,
    parsed: formulas.Parsed,
    kinds: Mapping[Any, str],
    w: np.ndarray | None,
    na: str,
    defer: bool = False,
) -> Design:
    """Read the terms of a formula."""
    if parsed.plain and all(kind == "number" for kind in kinds.values()):
        return _read_columns(table, parsed, w, na, defer)
    return _read_formula(table, parsed, kinds, w, na)


def _read_partial(
    table: frames.Table,
    parsed: formulas.Parsed,
    given: formulas.Parsed,
    kinds: Mapping[Any, str],
    w: np.ndarray | None,
    na: str,
) -> Design:
    """Read variables and covariates, keep rows without missing values, and adjust the variables."""
    if na in GAPS:
        raise OptionError(
            f"na={na!r} was given with the covariates of formula={shown(parsed.text)}, and regression on "
            "them needs complete rows. Use na='drop', or fill the rows first: "
            "spca(data, k, na='em', scale=True).imputed."
        )
    others = formulas.inputs(table.values, given, "dummy")
    keep = formulas.complete_rows(table.values, {**parsed.used, **given.used}, {**kinds, **others}, na)
    _, w, dropped = _rows(table.index, w, keep)
    if keep is not None:
        table = replace(table, values=table.values.iloc[np.flatnonzero(keep)], index=table.index[keep])
    design = _read_terms(table, parsed, kinds, w, "raise")
    covariates = _read_terms(table, given, others, w, "raise")
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
        positions = [parsed.lookups[term[0].text] for term in parsed.terms]
        columns = table.columns[positions]
        spec = Spec("formula", columns, formula=parsed.text)
        matrix, shared = frames.frame_numbers(table.values, positions)
    if na in GAPS and is_sparse(matrix):
        raise OptionError(
            f"na={na!r} was given with sparse data; missing values are estimated in dense tables only: give "
            "X.toarray(), or use na='drop'."
        )
    defer = defer and na == "raise" and isinstance(matrix, np.ndarray) and matrix.nbytes > frames.COPY_LIMIT
    keep = None if defer else rows_to_keep(matrix, columns, na)
    if keep is not None:
        matrix, shared = matrix[np.flatnonzero(keep)], False
    index, w, dropped = _rows(table.index, w, keep)
    held = frames.own(matrix, shared)
    shared = shared and frames.size_of(held) > frames.COPY_LIMIT
    return Design(held, index, spec, w, dropped, checked=not defer, shared=shared)


def _read_formula(
    table: frames.Table, parsed: formulas.Parsed, kinds: Mapping[Any, str], w: np.ndarray | None, na: str
) -> Design:
    frame, model = table.values, Model(tuple(parsed.terms))
    gaps = formulas.missing_in(frame, parsed.used, kinds) if na in GAPS else {}
    context, text = parsed.context, parsed.text
    if any(one.any() for one in gaps.values()):
        index, w, dropped = _rows(table.index, w, None)
        matrix, names, model = evaluate_with_gaps(
            model, frame, parsed.used, kinds, gaps, index, context, text, weights=w
        )
    else:
        keep, gaps = formulas.complete_rows(frame, parsed.used, kinds, na), {}
        index, w, dropped = _rows(table.index, w, keep)
        frame = frame if keep is None else frame.iloc[np.flatnonzero(keep)]
        data = formulas.plain_frame(frame, parsed.used, kinds)
        matrix, names, model = formulas.evaluate(model, data, index, context, text, weights=w)
    columns = formulas.column_labels(table.columns, parsed, names)
    if not gaps:  # with missing values, terms were tested one by one
        require_rowwise(model, matrix, names, data, index, context, text)
    levels: dict[Any, Any] = {}
    for name, position in parsed.used.items():
        there = frame.iloc[np.flatnonzero(~gaps[name])] if gaps else frame
        one = formulas.plain_frame(there, {name: position}, kinds)
        levels[table.columns[position]] = formulas.levels_of(one, kinds)[name]
    spec = Spec("formula", columns, parsed.text, model, parsed.context, levels)
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
