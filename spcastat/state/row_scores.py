"""Scores, residuals and distances of the rows of a fit and of new rows, and imputed values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.config import MISSING, listed, one_of, plural, shown, whole_number
from spcastat.engine.inputs import Source
from spcastat.intake import ReadOptions, replay
from spcastat.intake.checks import rows_of
from spcastat.intake.frames import open_table
from spcastat.intake.other_libraries import in_library_of, with_columns
from spcastat.kernels.sparsity import is_sparse
from spcastat.state import distances
from spcastat.state.copies import own
from spcastat.state.fitstate import FitState
from spcastat.streams import open_stream, read_whole
from spcastat.streams.base import Stream

#: Residuals of sparse data are dense; with more numbers than this (400 MB) they are refused.
MOST_RESIDUALS = 50_000_000


def need_rows(state: FitState, source: Source | None, what: str) -> Source:
    """Return the source of a fit whose rows are in memory; `what` names the operation for messages.

    Raises
    ------
    NoRowsError
        If they are not in memory; the message names an alternative.
    """
    if source is not None and source.matrix is not None:
        source.require_same()
        return source
    if source is not None and source.stream is not None:
        every = (
            "in chunks, and scores.to_frame() all of them"
            if source.stream.local
            else "as a dask collection, and scores.compute() all of them"
        )
        raise errors.NoRowsError(
            f"{what} needs the rows in memory, and those of {source.stream.title} come in chunks. Use some "
            f"of them, e.g. transform(sample) or diagnostics(sample); `scores` gives the scores {every}."
        )
    if state.record.from_rows:
        raise errors.NoRowsError(
            f"{what} needs the rows, and a fit from a file does not have them: use transform(data) or "
            "diagnostics(data) with the data, save with scores=True to keep the scores, or fit again: "
            f"{state.record.call}."
        )
    raise errors.NoRowsError(
        f"{what} needs rows, and this is a fit of a covariance matrix. Fit the rows with "
        "spca(data, ...), or give mean= (and sd=) to spca_cov and use transform(rows)."
    )


def scores(state: FitState, source: Source | None) -> Any:
    """Return the scores of the rows of the fit, n x k, or chunk by chunk for rows in chunks."""
    if state.scores is not None:
        return state.scores
    if source is not None and source.stream is not None:
        return source.stream.scores(state.need_centre("scores"), state.V, state.components)
    source = need_rows(state, source, "scores")
    values = state.need_centre("scores").project(source.matrix, state.V)
    return pd.DataFrame(values, index=own(source.index), columns=state.components)


def transform(state: FitState, new: Any, na: str = "raise") -> Any:
    """Return the scores of new rows, m x k, in the library of the rows; see `SpcaResult.transform`."""
    return in_library_of(new, scores_of_new(state, new, na))


def scores_of_new(state: FitState, new: Any, na: str = "raise") -> Any:
    """Return the scores from :func:`transform` as a DataFrame, whatever the type of the rows."""
    standard = state.need_centre("transform()")
    new = read_whole(new)
    stream = open_stream(new, ReadOptions(na=na), state.spec)
    if stream is not None:
        return stream.scores(standard, state.V, state.components)
    matrix, index = replay(state.spec, new, na=na)
    matrix = filled(state, matrix, index, na, "transform()")
    values = standard.project(matrix, state.V)
    return pd.DataFrame(values, index=own(index), columns=state.components)


def inverse_transform(state: FitState, scores: Any, k: int | None = None) -> pd.DataFrame:
    """Return the rows T (V'V)^-1 V', rescaled, plus the mean, n x p, from the first `k` scores T.

    The pseudoinverse is used if V'V is singular.
    """
    standard = state.need_centre("inverse_transform()")
    most = state.V.shape[1]
    used = most if k is None else whole_number("k", k, 0, most, errors.ComponentsError)
    T = rows_of(scores, "scores", most, fewer=used)
    names = list(state.components[: T.shape[1]])
    if isinstance(scores, pd.DataFrame) and list(scores.columns) != names:
        raise errors.ShapeError(
            f"scores has the columns {list(scores.columns)}; they must be {names} in this order (or "
            "give an array)."
        )
    fitted = np.zeros((len(T), len(state.V)))
    if used:
        fitted = np.linalg.lstsq(state.V[:, :used].T, T[:, :used].T, rcond=None)[0].T
    index = own(scores.index) if isinstance(scores, pd.DataFrame) else None
    return pd.DataFrame(standard.restore(fitted), index=index, columns=own(state.spec.columns))


def residuals(state: FitState, source: Source | None) -> pd.DataFrame:
    """Return the rows of the fit minus ``inverse_transform(scores)``, n x p; see `SpcaResult.residuals`."""
    source = need_rows(state, source, "residuals")
    matrix = source.matrix
    n, p = matrix.shape
    if is_sparse(matrix):
        if n * p > MOST_RESIDUALS:
            raise errors.DataError(
                f"The residuals of these sparse data would be a dense table of {n} x {p}; "
                "diagnostics()['Q'] has the squared length of each row of it."
            )
        matrix = matrix.toarray()
    found = scores(state, source).to_numpy()
    fitted = np.full(matrix.shape, np.nan)
    known = np.isfinite(found).all(axis=1)
    fitted[known] = inverse_transform(state, found[known]).to_numpy()
    if source.gaps is not None:
        matrix = source.measured
    return pd.DataFrame(matrix - fitted, index=own(source.index), columns=own(state.spec.columns))


# --- distances ------------------------------------------------------------------------------------


def diagnostics(state: FitState, source: Source | None) -> pd.DataFrame:
    """Return T2 and Q of the rows of the fit, n x 2.

    With ``na="em"`` missing values are replaced by conditional means; with ``na="pairwise"`` incomplete rows
    have NaN.
    """
    if source is not None and source.stream is not None:
        return _distances_in(state, source.stream)
    source = need_rows(state, source, "diagnostics() without data")
    return _distances_of(state, source.matrix, source.index)


def diagnostics_of(state: FitState, new: Any, na: str = "raise") -> pd.DataFrame:
    """Return T2 and Q of new rows, n x 2; the parameters are those of :func:`transform`."""
    state.need_centre("diagnostics()")
    new = read_whole(new)
    stream = open_stream(new, ReadOptions(na=na), state.spec)
    if stream is not None:
        return _distances_in(state, stream)
    matrix, index = replay(state.spec, new, na=na)
    return _distances_of(state, filled(state, matrix, index, na, "diagnostics()"), index)


def diagnostics_in_kind(state: FitState, new: Any, na: str = "raise") -> Any:
    """Return T2 and Q of new rows, n x 2, in the library of the rows."""
    return in_library_of(new, diagnostics_of(state, new, na))


def _distances_in(state: FitState, stream: Stream) -> pd.DataFrame:
    blocks = stream.blocks("diagnostics")
    parts = [_distances_of(state, block.values, block.index) for block in blocks if len(block.index)]
    return pd.concat(parts) if parts else pd.DataFrame({"T2": [], "Q": []}, dtype=float)


def _distances_of(state: FitState, matrix: Any, index: Any) -> pd.DataFrame:
    standard = state.need_centre("diagnostics()")
    t2, q = distances.distances(matrix, standard, state.V, state.moments.scores)
    far = ~(np.isfinite(t2) & np.isfinite(q))
    if far.any() and not is_sparse(matrix):
        far &= ~np.isnan(matrix).any(axis=1)  # na="pairwise": incomplete rows have no distances
    if far.any():
        first = shown(index[int(np.argmax(far))])
        raise errors.DataError(
            f"T2 or Q of {plural(int(far.sum()), 'row')}, the first {first}, are too large for "
            "floating-point numbers (beyond 1e308). They are not in the units of the fit: leave them out."
        )
    return pd.DataFrame({"T2": t2, "Q": q}, index=own(index))


# --- the data with their scores -------------------------------------------------------------------


def augment(state: FitState, source: Source | None, new: Any = None, na: str = "raise") -> Any:
    """Return rows with their scores appended as columns ``.fittedPC1`` and so on."""
    names = [f".fitted{name}" for name in state.components]
    one_of("na", na, MISSING)
    if new is None:
        source = need_rows(state, source, "augment() without new rows")
        frame = _frame(source.measured, source.index, state.spec.columns)
        found = scores(state, source).to_numpy()
    else:
        table = open_table(read_whole(new))
        frame = _frame(table.values, table.index, table.columns)
        # by position, as labels may repeat
        plain = frame.set_axis(pd.RangeIndex(len(frame))) if table.named else table.values
        kept = scores_of_new(state, plain, na)
        found = np.full((len(frame), len(names)), np.nan)
        found[kept.index.to_numpy()] = kept.to_numpy()
    if frame.columns.nlevels > 1:
        raise errors.ShapeError("augment() needs columns with one level of names; flatten them first.")
    taken = [name for name in names if name in frame.columns]
    if taken:
        raise errors.DuplicateNamesError(
            f"The data have a column called {shown(taken[0])} already; rename it, or use transform(data)."
        )
    for name, column in zip(names, found.T, strict=True):  # keeps the type of the labels
        frame[name] = column
    return frame if new is None else with_columns(new, frame, names)


def _frame(values: Any, index: pd.Index | None, columns: pd.Index) -> pd.DataFrame:
    if isinstance(values, pd.DataFrame):
        return own(values)
    if is_sparse(values):
        sparse: Any = pd.DataFrame.sparse
        return sparse.from_spmatrix(values.copy(), index=own(index), columns=own(columns))
    return pd.DataFrame(np.array(values), index=own(index), columns=own(columns))


# --- imputed values -------------------------------------------------------------------------------


def filled(state: FitState, matrix: Any, index: pd.Index, na: str, what: str) -> Any:
    """Return new rows for the computation of scores; with ``na="em"``, missing values are imputed.

    Parameters
    ----------
    matrix : ndarray of shape (m, p)
        NaN for missing values.
    index : pandas.Index
        The m labels of the rows.
    na : {"raise", "drop", "em", "pairwise"}
    what : str
        Names the operation in error messages.

    Raises
    ------
    MissingValuesError
        If a row has no value at all.
    OptionError
        If the fit has no model of missing values.
    """
    if na != "em":
        return matrix
    model = state.need_model(f"{what} with na='em'")
    if is_sparse(matrix):
        raise errors.OptionError(
            "na='em' was given with sparse data; give a dense table, such as X.toarray()."
        )
    blank = np.isnan(matrix).all(axis=1)
    if blank.any():
        raise errors.MissingValuesError(
            f"{plural(int(blank.sum()), 'row')} without any value: {listed(index[blank])}. "
            "Leave such rows out, e.g. df.dropna(how='all')."
        )
    return model.filled(matrix)


def imputed(state: FitState, source: Source | None) -> pd.DataFrame:
    """Return the rows of a fit with ``na="em"``, n x p, with conditional means for missing values."""
    if state.model is None:
        raise errors.NotImputedError(
            "imputed is for fits with na='em'; this one has no model of missing values."
        )
    if source is None or source.gaps is None:
        raise state.no_data("imputed")
    columns = own(state.spec.columns)
    return pd.DataFrame(np.array(source.matrix), index=own(source.index), columns=columns)
