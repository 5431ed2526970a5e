"""Convert new data to the columns of a fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import GAPS, MISSING, listed, nearest, one_of, plural, warn
from spcastat.errors import DataWarning, DuplicateNamesError, NewDataError, SpcaError, TooFewRowsError
from spcastat.intake import formula as formulas
from spcastat.intake.checks import kinds_of, refuse, rows_to_keep
from spcastat.intake.design import Spec
from spcastat.intake.expressions import formula_name
from spcastat.intake.frames import Table, frame_numbers, numbers, open_table
from spcastat.intake.model_matrix import evaluate, evaluate_with_gaps
from spcastat.kernels.sparsity import is_sparse


def replay(spec: Spec, new: Any, *, na: str = "raise") -> tuple[Any, pd.Index]:
    """Convert new data to the columns that `spec` describes.

    If the fit had column names, the columns of a data frame are matched by name, in any order, and others are
    ignored. Arrays and sparse matrices are matched by position, with a warning if the fit had names. If the
    fit had no names, a data frame is matched by position, with a warning unless its names are x1, ..., xp. A
    formula needs names.

    Parameters
    ----------
    spec : Spec
    new : any container that :func:`read_data` takes, of shape (m, q); one row is enough
    na : {"raise", "drop", "em", "pairwise"}
        What to do with rows that have missing values. "drop" may leave no rows; the last two keep all rows,
        with NaN in the matrix.

    Returns
    -------
    matrix : ndarray of shape (m', p), or scipy.sparse CSC array
        Raw values, float64 or float32. It may share the memory of `new`: do not write to it.
    index : pandas.Index
        The labels of the m' rows that are kept.

    Raises
    ------
    NewDataError
        For missing columns, a different number of columns, an array if a formula needs names, levels that did
        not occur in the fit, or values that a transform does not accept.
    DataError
        ShapeError, ColumnTypeError, DuplicateNamesError, MissingValuesError and InfiniteValuesError as in
        :func:`read_data`; TooFewRowsError if `new` has no rows.
    FormulaError
        If the formula makes missing or infinite values.

    Warns
    -----
    DataWarning
        If columns are matched by position although there are names.
    """
    one_of("na", na, MISSING)
    table = open_table(new)
    matrix, keep = replay_table(spec, table, na)
    index = table.index if keep is None else table.index[keep]
    return matrix, index


def replay_table(
    spec: Spec, table: Table, na: str, error: type[SpcaError] = NewDataError
) -> tuple[Any, np.ndarray | None]:
    """Convert an opened table to the columns that `spec` describes; see :func:`replay`.

    Parameters
    ----------
    spec : Spec
    table : Table
    na : {"raise", "drop", "em", "pairwise"}
    error : type
        The type of error if a formula cannot be evaluated.

    Returns
    -------
    matrix : ndarray of shape (m', p), or scipy.sparse CSC array
    keep : ndarray of shape (m,) or None
        A mask of the m' rows kept; None if all are.
    """
    if spec.partial is not None:
        Y, Z, keep = replay_both(spec, table, na, error)
        return spec.partial.regression.residuals(Y, Z), keep
    if spec.kind == "formula" and spec.model_spec is not None:
        return _formula(spec, table, na, error)
    matrix, columns = _columns(spec, table)
    keep = rows_to_keep(matrix, columns, na)
    if keep is not None:
        matrix = matrix[np.flatnonzero(keep)]
    return matrix, keep


def replay_both(
    spec: Spec, table: Table, na: str, error: type[SpcaError] = NewDataError
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Convert an opened table to the variables, before adjustment, and the covariates that `spec` describes.

    Returns
    -------
    Y : ndarray of shape (m', p)
    Z : ndarray of shape (m', q)
    keep : ndarray of shape (m,) or None
        A mask of the m' rows kept, those without missing values in either; None if all are.
    """
    assert spec.partial is not None
    made = [replay_table(one, table, na, error) for one in (replace(spec, partial=None), spec.partial.spec)]
    every = np.ones(len(table.index), dtype=bool)
    masks = [every if kept is None else kept for _, kept in made]
    keep = masks[0] & masks[1]
    Y, Z = (np.asarray(X, dtype=float)[keep[own]] for (X, _), own in zip(made, masks, strict=True))
    return Y, Z, None if keep.all() else keep


def _columns(spec: Spec, table: Table) -> tuple[Any, pd.Index]:
    """Select columns by name or by position; return them with their labels in the new data."""
    p = len(spec.columns)
    framed = isinstance(table.values, pd.DataFrame)
    if spec.kind == "formula" and not framed:
        _refuse_array(spec)
    if framed and spec.kind in ("frame", "formula"):
        positions = _find(spec.columns, table.columns)
        _require_rows(table)
        if positions == list(range(len(table.columns))):
            return numbers(table)[0], spec.columns
        return frame_numbers(table.values, positions)[0], spec.columns
    if len(table.columns) != p:
        names = f" ({listed(spec.columns, 4)})" if spec.kind == "frame" else ""
        raise NewDataError(
            f"The new data have {plural(len(table.columns), 'column')}; the fit has {p}{names}. Give the "
            "same columns in the same order."
        )
    _require_rows(table)
    if spec.kind == "frame":
        kind = "a sparse matrix" if is_sparse(table.values) else "an array"
        warn(
            f"The new data are {kind} without names: its {plural(p, 'column is', 'columns are')} taken in "
            "the order of the fit, "
            f"{listed(spec.columns, 4)}. Pass a DataFrame with these columns to be sure.",
            DataWarning,
        )
    elif framed and not table.columns.equals(spec.columns):
        warn(
            f"The fit had no names: the {plural(p, 'column')} {listed(table.columns, 4)} "
            f"{'is' if p == 1 else 'are'} taken by position. Pass "
            "df.to_numpy() if that is what you mean.",
            DataWarning,
        )
    return numbers(table)[0], table.columns


def _formula(
    spec: Spec, table: Table, na: str, error: type[SpcaError]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the columns that a formula with transforms makes of new data, and a mask of the rows kept."""
    inputs, levels = _formula_columns(spec, table)
    model = replace(spec.model_spec, context=spec.context or {})
    missing = inputs.missing() if na in GAPS else {}
    keep = None
    if any(one.any() for one in missing.values()):
        known = partial(_with_known_levels, known=levels)
        matrix, _, _ = evaluate_with_gaps(model, inputs, missing, table.index, error, known=known)
    else:
        data, keep = formula_inputs(spec, table, na)
        if not len(data):
            return np.empty((0, len(spec.columns))), keep
        index = table.index if keep is None else table.index[keep]
        matrix, _, _ = evaluate(model, data, index, error)
    if matrix.shape[1] != len(spec.columns):
        raise error(
            f"formula={spec.formula!r} makes {matrix.shape[1]} columns of the new data; the fit has "
            f"{len(spec.columns)}. Fit again: what is kept of the formula is not what was fitted."
        )
    return matrix, keep


def formula_inputs(spec: Spec, table: Table, na: str) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Return the columns that a formula reads, as input of :func:`spcastat.intake.model_matrix.evaluate`.

    Returns
    -------
    data : DataFrame of m' rows
    keep : ndarray of shape (m,) or None
        A mask of the m' rows kept; None if all are.
    """
    inputs, levels = _formula_columns(spec, table)
    keep = inputs.complete_rows(na)
    inputs = inputs.rows(keep)
    if not len(inputs.frame):
        return pd.DataFrame(), keep
    return _with_known_levels(inputs.plain(), levels), keep


def _formula_columns(spec: Spec, table: Table) -> tuple[formulas.Inputs, dict[Any, tuple[Any, ...] | None]]:
    """Return the columns that a formula reads, and their known levels by their names in the formula."""
    if not isinstance(table.values, pd.DataFrame):
        _refuse_array(spec)
    frame = table.values
    positions = _find(spec.inputs or {}, table.columns)
    _require_rows(table)
    known = {formula_name(label): levels for label, levels in (spec.inputs or {}).items()}
    used = dict(zip(known, positions, strict=True))
    found = kinds_of(frame, [used[name] for name in known if known[name] is None])
    refuse(frame, {position: kind for position, kind in found.items() if kind not in ("number", "other")})
    # Levels may be numbers, and the type of a column without values says nothing.
    kinds = {name: found.get(position, "levels") for name, position in used.items()}
    return formulas.Inputs(frame, used, kinds), known


def _with_known_levels(data: pd.DataFrame, known: Mapping[Any, tuple[Any, ...] | None]) -> pd.DataFrame:
    """Convert the factors among the columns to objects in place, after a check of their levels."""
    for name, levels in known.items():
        if levels is None or name not in data:
            continue
        data[name] = data[name].astype(object)
        unseen = [level for level in data[name].unique() if level not in levels]
        if unseen:
            raise NewDataError(
                f"Column {str(name)!r} has levels that the fit has not seen: {listed(unseen)}. Known are "
                f"{listed(levels, 12)}. Leave these rows out, or fit to data that have these levels."
            )
    return data


def _find(wanted: Iterable[Any], columns: pd.Index) -> list[int]:
    """Return the positions of the wanted labels in `columns`."""
    wanted = list(wanted)
    asked = set(wanted)
    needed = pd.Index([label for label in columns if label in asked], dtype=object, tupleize_cols=False)
    twice = needed[needed.duplicated()].unique()
    if len(twice):
        raise DuplicateNamesError(
            f"The new data have more than one column called {listed(twice)}; names must differ."
        )
    place = {label: position for position, label in enumerate(columns)}
    missing = [label for label in wanted if label not in place]
    if missing:
        hint = nearest(missing[0], columns)
        raise NewDataError(
            f"The new data lack {len(missing)} of the {len(wanted)} columns of the fit: {listed(missing)}. "
            f"They have {listed(columns)}.{hint}"
        )
    return [place[label] for label in wanted]


def _refuse_array(spec: Spec) -> None:
    raise NewDataError(
        f"The fit used formula={spec.formula!r}, which needs column names: give a DataFrame with them."
    )


def _require_rows(table: Table) -> None:
    if not len(table.index):
        raise TooFewRowsError("The new data have no rows; at least one is needed.")
