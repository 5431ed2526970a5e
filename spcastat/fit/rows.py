"""Scores, distances and reconstructions of rows of the fit and of new rows, and files of scores."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import combinations
from math import factorial
from typing import IO, Any

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.arguments import MISSING_TREATMENTS, listed, one_of, plural, shown, whole_number
from spcastat.fit import outliers
from spcastat.fit.archive import file_path, write_file
from spcastat.fit.record import deep_copy
from spcastat.fit.state import FitMoments, FitState
from spcastat.inputs.cleaning import CleaningStandardisation
from spcastat.inputs.data import Data
from spcastat.inputs.opening import require_apart, source_of, table_of
from spcastat.inputs.row_data import RowData
from spcastat.linalg.accumulate import blocks, is_sparse
from spcastat.linalg.eigenvectors import SUM_ROUNDING, orthonormalise
from spcastat.linalg.standardisation import Standardisation
from spcastat.progress import listening
from spcastat.reading.checks import LEAVE_OUT_ROWS, incomplete_rows, rows_of
from spcastat.reading.design import ReadOptions, Spec
from spcastat.reading.frames import in_library_of, open_table, with_columns
from spcastat.reading.read import replay, spec_for
from spcastat.streams.base import ScoreChunks, Stream
from spcastat.streams.chunks import require_pyarrow

# --- distances and their limits, of arrays --------------------------------------------------------


#: The largest number of components for which shares are averaged over all orders.
ALL_ORDERS = 12


def whitener(C: np.ndarray) -> np.ndarray:
    """Return W, shape (k, r), with W W' = C^+, where C is the covariance matrix of scores, of rank r."""
    size = np.sqrt(np.diag(C).clip(min=0.0))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    values, vectors = np.linalg.eigh(C * np.outer(inverse, inverse))
    # scores count as linearly dependent if an eigenvalue of their correlation matrix is at most 1e-10
    rank_mask = values > 1e-10
    return inverse[:, None] * vectors[:, rank_mask] / np.sqrt(values[rank_mask])


def distances(
    matrix: Any, standard: Standardisation, V: np.ndarray, C: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return Hotelling's T2 and the squared residual Q of every row, each of shape (n,).

    Parameters
    ----------
    matrix : ndarray or scipy.sparse array of shape (n, p)
        Unstandardised rows; sparse rows are converted to dense blocks. Distances of incomplete rows are NaN.
    standard : Standardisation
    V : ndarray of shape (p, k)
    C : ndarray of shape (k, k)
        Covariance matrix of the scores.
    """
    n, p = matrix.shape
    basis, W = orthonormalise(V)[0], whitener(C)
    t2, q = np.empty(n), np.empty(n)
    matrix_rows = matrix.tocsr() if is_sparse(matrix) else matrix
    for rows in blocks(n, p):
        block = matrix_rows[rows].toarray() if is_sparse(matrix_rows) else matrix_rows[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            block = (block - standard.mean) / standard.scale
            t2[rows] = ((block @ V @ W) ** 2).sum(axis=1)
            length = (block**2).sum(axis=1)
            residual_squares = length - ((block @ basis) ** 2).sum(axis=1)
            residual_squares = np.where(np.isfinite(length), residual_squares, np.inf)  # squares overflowed
            q[rows] = np.where(
                (residual_squares > SUM_ROUNDING * length) | (residual_squares == np.inf),
                residual_squares,
                0.0,
            )
            q[rows][np.isnan(block).any(axis=1)] = np.nan
    return t2, q


def t2_limit(n: float | None, rank: int, level: float) -> float:
    """Return the limit of T2 for a new row, r (n^2 - 1) / (n (n - r)) F(level; r, n - r).

    If n is not known, this is the chi-squared limit; with too few rows it is NaN.
    """
    from scipy import stats  # imported late, as it is slow to import

    if n is None:
        return float(stats.chi2.ppf(level, rank))
    if n <= rank:
        return float("nan")
    return float(rank * (n**2 - 1) / (n * (n - rank)) * stats.f.ppf(level, rank, n - rank))


def q_limit(traces: np.ndarray, level: float) -> float:
    """Return the limit of Q by Jackson and Mudholkar (1979), Technometrics 21, equation 3.3.

    Parameters
    ----------
    traces : ndarray of shape (3,)
        Sums of the first, second and third powers of the eigenvalues of the residual covariance matrix.
    level : float
    """
    from statistics import NormalDist

    trace1, trace2, trace3 = (float(value) for value in traces)
    if trace1 <= 0 or trace2 <= 0:
        return 0.0
    h = 1.0 - 2.0 * trace1 * trace3 / (3.0 * trace2**2)
    c = NormalDist().inv_cdf(level)
    if abs(h) < 1e-8:  # limit of the formula as h -> 0
        return float(trace1 * np.exp(c * np.sqrt(2.0 * trace2) / trace1 - trace2 / trace1**2))
    # the sign of h selects the upper tail
    base = 1.0 + np.sign(h) * c * np.sqrt(2.0 * trace2 * h**2) / trace1 + trace2 * h * (h - 1.0) / trace1**2
    return float(trace1 * base ** (1.0 / h)) if base > 0 else float("nan")


def limits(moments: FitMoments, n: float | None, level: float) -> dict[str, float]:
    """Return the limits of "T2" and "Q"; see :func:`spcastat.fit.frames.limits`."""
    traces = moments.residual_traces
    if traces is None:
        q = float("nan")
    else:
        size = moments.unit**2
        nothing = traces[0] <= SUM_ROUNDING * moments.total / size
        q = 0.0 if nothing else q_limit(traces, level) * size
    return {"T2": t2_limit(n, whitener(moments.scores).shape[1], level), "Q": q}


def regression_share(C: np.ndarray, G: np.ndarray, components: tuple[int, ...]) -> float:
    """Return the variance explained by regression on the chosen scores.

    Parameters
    ----------
    C : ndarray of shape (k, k)
        Covariance matrix of the scores.
    G : ndarray of shape (k, k)
        (SV)'SV, products of the covariances between variables and scores.
    components : tuple of int
    """
    if not components:
        return 0.0
    pick = np.ix_(components, components)
    W = whitener(C[pick])
    return float(np.trace(W.T @ G[pick] @ W))


def shares(C: np.ndarray, G: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return three shares of each component, (k,) each: alone, averaged over all orders, and entered last.

    The averages (Lindeman, Merenda and Gold 1980; Shapley value) add up to the share of all components. They
    are NaN with more than ALL_ORDERS components.
    """
    k = len(C)
    everything = tuple(range(k))
    total_share = regression_share(C, G, everything)
    single_shares = np.array([regression_share(C, G, (j,)) for j in everything])
    without = [regression_share(C, G, everything[:j] + everything[j + 1 :]) for j in everything]
    unique_shares = total_share - np.array(without)
    if k > ALL_ORDERS:
        return single_shares, np.full(k, np.nan), unique_shares.clip(min=0.0)
    value = {
        subset: regression_share(C, G, subset)
        for size in range(k + 1)
        for subset in combinations(everything, size)
    }
    average = np.zeros(k)
    for subset, explained in value.items():
        size = len(subset)
        for j in subset:
            weight = factorial(size - 1) * factorial(k - size) / factorial(k)
            average[j] += weight * (explained - value[tuple(i for i in subset if i != j)])
    return single_shares, average, unique_shares.clip(min=0.0)


# --- scores and residuals -------------------------------------------------------------------------


#: Largest number of entries (400 MB) of the dense residuals of sparse data; more raise an error.
MOST_RESIDUALS = 50_000_000


def need_rows(state: FitState, data: Data | None, analysis: str) -> RowData:
    """Return the rows in memory of a fit; `analysis` names the operation for messages.

    Raises
    ------
    NoRowsError
        If the rows are not in memory; the message names an alternative.
    """
    if data is not None:
        rows: RowData = data.rows_shown(analysis, state.function)
        return rows
    if state.record.from_rows:
        raise errors.NoRowsError(
            f"{analysis} needs the rows, which a fit from a file does not have: use transform(data) or "
            "diagnostics(data) with the data, save with scores=True to keep the scores, or fit again: "
            f"{state.record.call}."
        )
    raise errors.NoRowsError(
        f"{analysis} needs rows, but this is a fit of a covariance matrix: fit the rows with "
        f"{state.function}(data, ...), or give mean= (and sd=) to {state.function}_cov and use "
        "transform(rows)."
    )


def scores(state: FitState, data: Data | None) -> Any:
    """Return the scores of the rows of the fit, n x k, or chunk by chunk for rows in chunks."""
    if state.scores is not None:
        return state.scores
    rows: Data = need_rows(state, data, "scores") if data is None else data
    return rows.scores(state.V, state.components, state.function)


def scores_sd(state: FitState, data: Data | None) -> pd.DataFrame:
    """Return the standard deviations of the scores between imputations, n x k."""
    if data is None:
        raise state.no_data("scores_sd")
    return data.scores_sd(state.V, state.components)


def transform(state: FitState, new: Any, na: str | None = None) -> Any:
    """Return the scores of new rows, m x k, in the library of the rows; see `SpcaResult.transform`."""
    return in_library_of(new, scores_of_new(state, new, na))


def scores_of_new(state: FitState, new: Any, na: str | None = None) -> Any:
    """Return the scores from :func:`transform` as a DataFrame, for rows of any type.

    Only columns with a nonzero loading are read, unless the EM model needs the other columns to impute.
    """
    require_gaps_rule(na)
    spec, standard, V = scoring(state, "transform()")
    source = source_of(new)
    if not source.in_memory:
        stream = source.stream(ReadOptions(na=na or "raise"), spec)
        return stream.scores(standard, V, state.components)
    table, na = source.data, rule_for_gaps(state, na)
    with _advice_for_new_rows(state, "to get NaN for scores that need a missing value"):
        matrix, index = replay(spec, table, na="pairwise" if na == "em" else na)
    if na == "em":
        state.need_model("transform() with na='em'")
        if np.isnan(matrix.data if is_sparse(matrix) else matrix).any():
            matrix, index = replay(state.spec, table, na=na)
            if state.cleaning is not None:  # the model was fitted to cleaned rows
                matrix = state.cleaning.cleaned(np.asarray(matrix, dtype=float))
            matrix = filled(state, matrix, index, na, "transform()")
            standard, V = state.need_centre("transform()"), state.V
    values = standard.project(matrix, V)
    return pd.DataFrame(values, index=deep_copy(index), columns=state.components)


@contextmanager
def _advice_for_new_rows(state: FitState, pairwise: str) -> Iterator[None]:
    """Add advice on missing values in new rows to errors raised in the ``with`` block.

    `pairwise` describes the effect of na="pairwise".
    """
    try:
        yield
    except errors.MissingValuesError as error:
        if not error.gaps:
            raise
        ways = [LEAVE_OUT_ROWS] if error.has_complete_rows else []
        if state.model is not None:
            ways.append("na='em' to impute them by the model of the fit")
        ways.append(f"na='pairwise' {pairwise}")
        raise incomplete_rows(error.gaps, ", or ".join(ways), error.has_complete_rows) from error


def scoring(state: FitState, analysis: str) -> tuple[Spec, Standardisation, np.ndarray]:
    """Return the spec, standardisation and loadings of the columns that scores need.

    Columns whose loadings are zero in all components are left out. `analysis` names the operation for
    messages.
    """
    standard = state.need_centre(analysis)
    if state.cleaning is not None and state.cleaning.cells:
        standard = CleaningStandardisation.of(standard, state.cleaning.wrapping)
    spec = spec_for(state.spec, np.flatnonzero(state.V.any(axis=1)))
    if spec.positions is None:
        return spec, standard, state.V
    return spec, standard.of_columns(spec.positions), state.V[spec.positions]


def require_gaps_rule(na: str | None) -> None:
    """Raise OptionError unless `na` is a treatment of missing values, or None (the treatment of the fit)."""
    if na is not None:
        one_of("na", na, MISSING_TREATMENTS)


def rule_for_gaps(state: FitState, na: str | None) -> str:
    """Return the treatment of missing values in new rows in memory: `na`, or the treatment of the fit."""
    if na is not None:
        return na
    return "raise" if state.record.missing is None else str(state.record.missing["how"])


def inverse_transform(state: FitState, scores: Any, k: int | None = None) -> pd.DataFrame:
    """Return the rows T (V'V)^-1 V', rescaled, plus the mean, n x p, from the first `k` scores T.

    The pseudoinverse is used if V'V is singular.
    """
    standard = state.need_centre("inverse_transform()")
    limit = state.V.shape[1]
    used = limit if k is None else whole_number("k", k, 0, limit, errors.ComponentsError)
    T = rows_of(scores, "scores", limit, fewer=used)
    names = list(state.components[: T.shape[1]])
    if isinstance(scores, pd.DataFrame) and list(scores.columns) != names:
        raise errors.ShapeError(
            f"scores has the columns {list(scores.columns)}; they must be {names} in this order (or "
            "give an array)."
        )
    fitted = np.zeros((len(T), len(state.V)))
    if used:
        fitted = np.linalg.lstsq(state.V[:, :used].T, T[:, :used].T, rcond=None)[0].T
    index = deep_copy(scores.index) if isinstance(scores, pd.DataFrame) else None
    return pd.DataFrame(standard.restore(fitted), index=index, columns=deep_copy(state.spec.columns))


def residuals(state: FitState, data: Data | None) -> pd.DataFrame:
    """Return the rows of the fit minus ``inverse_transform(scores)``, n x p; see `SpcaResult.residuals`."""
    source = need_rows(state, data, "residuals")
    matrix = source.raw_rows
    n, p = matrix.shape
    if is_sparse(matrix):
        if n * p > MOST_RESIDUALS:
            raise errors.DataError(
                f"The residuals of these sparse data would be a dense table of {n} x {p}; diagnostics()['Q'] "
                "contains the squared length of each row."
            )
        matrix = matrix.toarray()
    scores_of_rows = scores(state, data).to_numpy()
    fitted = np.full(matrix.shape, np.nan)
    finite = np.isfinite(scores_of_rows).all(axis=1)
    fitted[finite] = inverse_transform(state, scores_of_rows[finite]).to_numpy()
    return pd.DataFrame(matrix - fitted, index=deep_copy(source.index), columns=deep_copy(state.spec.columns))


# --- tables of distances --------------------------------------------------------------------------


def diagnostics(state: FitState, data: Data | None) -> pd.DataFrame:
    """Return T2 and Q of the rows of the fit, n x 2, or n x 5 with the table of rows of a robust fit.

    With ``na="em"`` missing values are replaced by conditional means; with ``na="pairwise"`` the values of
    incomplete rows are NaN.
    """
    analysis = "diagnostics() without data"
    rows: Data = need_rows(state, data, analysis) if data is None else data
    parts = rows.row_parts(analysis, state.function, "diagnostics")
    frames = [_distances_of(state, matrix, index) for matrix, index in parts if len(index)]
    frame = pd.concat(frames) if frames else pd.DataFrame({"T2": [], "Q": []}, dtype=float)
    if state.cleaning is None:
        return frame
    return pd.concat([frame, outliers.rows(state).set_axis(frame.index)], axis=1)


def diagnostics_of(state: FitState, new: Any, na: str | None = None) -> pd.DataFrame:
    """Return T2 and Q of new rows, n x 2; parameters as for :func:`transform`.

    Q is the squared distance from the span of the loadings, so all columns of the fit are needed.
    """
    state.need_centre("diagnostics()")
    source = source_of(new)
    if not source.in_memory:
        return _distances_in(state, source.stream(ReadOptions(na=na or "raise"), state.spec))
    table, na = source.data, rule_for_gaps(state, na)
    with _advice_for_new_rows(state, "to get NaN for these rows"):
        matrix, index = replay(state.spec, table, na=na)
    return _distances_of(state, filled(state, matrix, index, na, "diagnostics()"), index)


def diagnostics_in_kind(state: FitState, new: Any, na: str | None = None) -> Any:
    """Return T2 and Q of new rows, n x 2, in the library of the rows."""
    return in_library_of(new, diagnostics_of(state, new, na))


def _distances_in(state: FitState, stream: Stream) -> pd.DataFrame:
    blocks = stream.blocks("diagnostics")
    parts = [_distances_of(state, block.values, block.index) for block in blocks if len(block.index)]
    return pd.concat(parts) if parts else pd.DataFrame({"T2": [], "Q": []}, dtype=float)


def _distances_of(state: FitState, matrix: Any, index: Any) -> pd.DataFrame:
    standard = state.need_centre("diagnostics()")
    t2, q = distances(matrix, standard, state.V, state.moments.scores)
    far = ~(np.isfinite(t2) & np.isfinite(q))
    if far.any() and not is_sparse(matrix):
        far &= ~np.isnan(matrix).any(axis=1)  # na="pairwise": incomplete rows have no distances
    if far.any():
        first_label = shown(index[int(np.argmax(far))])
        raise errors.DataError(
            f"T2 or Q of {plural(int(far.sum()), 'row')}, the first {first_label}, are too large for "
            "floating-point numbers (beyond 1e308). Such rows are not in the units of the fit: leave them "
            "out."
        )
    return pd.DataFrame({"T2": t2, "Q": q}, index=deep_copy(index))


# --- the data with their scores -------------------------------------------------------------------


def augment(state: FitState, data: Data | None, new: Any = None, na: str | None = None) -> Any:
    """Return rows with their scores appended as columns ``.fittedPC1`` and so on."""
    names = [f".fitted{name}" for name in state.components]
    require_gaps_rule(na)
    if new is None:
        source = need_rows(state, data, "augment() without new rows")
        frame = _frame(source.raw_rows, source.index, state.spec.columns)
        score_values = scores(state, data).to_numpy()
    else:
        table = open_table(table_of(new).data)
        frame = _frame(table.values, table.index, table.columns)
        # matched by position, as labels may repeat
        plain = frame.set_axis(pd.RangeIndex(len(frame))) if table.named else table.values
        score_frame = scores_of_new(state, plain, na)
        score_values = np.full((len(frame), len(names)), np.nan)
        score_values[score_frame.index.to_numpy()] = score_frame.to_numpy()
    if frame.columns.nlevels > 1:
        raise errors.ShapeError("augment() needs columns with one level of names; flatten them first.")
    duplicates = [name for name in names if name in frame.columns]
    if duplicates:
        raise errors.DuplicateNamesError(
            f"The data already have a column called {shown(duplicates[0])}; rename it, or use "
            "transform(data)."
        )
    for name, column in zip(names, score_values.T, strict=True):  # this preserves the type of the labels
        frame[name] = column
    return frame if new is None else with_columns(new, frame, names)


def _frame(values: Any, index: pd.Index | None, columns: pd.Index) -> pd.DataFrame:
    if isinstance(values, pd.DataFrame):
        return deep_copy(values)
    if is_sparse(values):
        sparse: Any = pd.DataFrame.sparse
        return sparse.from_spmatrix(values.copy(), index=deep_copy(index), columns=deep_copy(columns))
    return pd.DataFrame(np.array(values), index=deep_copy(index), columns=deep_copy(columns))


# --- imputed values -------------------------------------------------------------------------------


def filled(state: FitState, matrix: Any, index: pd.Index, na: str, analysis: str) -> Any:
    """Return new rows for the computation of scores; with ``na="em"``, missing values are imputed.

    Parameters
    ----------
    matrix : ndarray of shape (m, p)
        NaN for missing values.
    index : pandas.Index
        The m labels of the rows.
    na : {"raise", "drop", "em", "pairwise"}
    analysis : str
        Name of the operation for error messages.

    Raises
    ------
    MissingValuesError
        If all values of a row are missing.
    OptionError
        If the fit has no model of missing values.
    """
    if na != "em":
        return matrix
    model = state.need_model(f"{analysis} with na='em'")
    if is_sparse(matrix):
        raise errors.OptionError(
            "na='em' was given with sparse data; give a dense table, such as X.toarray()."
        )
    blank = np.isnan(matrix).all(axis=1)
    if blank.any():
        raise errors.MissingValuesError(
            f"The new data have {plural(int(blank.sum()), 'row')} without any value: {listed(index[blank])}. "
            "Leave such rows out, e.g. df.dropna(how='all')."
        )
    return model.filled(matrix)


def imputed(state: FitState, data: Data | None, analysis: str = "imputed") -> pd.DataFrame:
    """Return the rows of a fit with ``na="em"``, n x p, with conditional means for missing values.

    `analysis` is the name in error messages.
    """
    if state.model is None:
        raise errors.NotImputedError(
            f"{analysis} is available only for fits with na='em'; this one has no model of missing values."
        )
    if data is None:
        raise state.no_data(analysis)
    source = need_rows(state, data, analysis)
    columns = deep_copy(state.spec.columns)
    return pd.DataFrame(np.array(source.matrix), index=deep_copy(source.index), columns=columns)


def completed(state: FitState, data: Data | None) -> pd.DataFrame:
    """Return the imputed rows of a fit with ``na="em"``, with the most likely level of each factor."""
    table = imputed(state, data, "completed")
    groups, model = need_rows(state, data, "completed").groups, state.spec.model_spec
    if groups is None or model is None:
        return table
    columns = {}
    for j, label in enumerate(table.columns):
        number = groups.of[j]
        if number < 0:
            columns[label] = table[label]
        elif (name := groups.names[number]) not in columns:
            likeliest = table.loc[:, groups.of == number].to_numpy().argmax(axis=1)
            levels = pd.Categorical.from_codes(likeliest, categories=model.encodings[name][1]["categories"])
            columns[name] = pd.Series(levels, index=table.index)
    return pd.DataFrame(columns)


# --- files of scores ------------------------------------------------------------------------------


class _OwnLabels(Exception):
    """Raised if labelled rows follow rows that were written without labels."""


def transform_to(
    state: FitState,
    data: Data | None,
    path: str | os.PathLike[str],
    new: Any = None,
    na: str | None = None,
    progress: Any = False,
) -> None:
    """Write scores to a Parquet file, chunk by chunk.

    Parameters
    ----------
    path : str or path
        An existing file is replaced when the new one is complete, and is not changed if there is an error.
    new : optional
        New rows, as for `transform`; by default the rows of the fit.
    na : {"raise", "drop", "em", "pairwise"}, optional
        The treatment of rows of `new` with missing values, as for `transform`.
    progress : bool or callable
        As for :func:`spcastat.spca`.

    Raises
    ------
    FileError
        If the file cannot be written, or rows cannot be read.
    OptionError
        If `path` is not a path or is a file from which these rows or the rows of the fit are read, or if
        pyarrow is not installed.
    """
    path = file_path(path)
    require_gaps_rule(na)
    if data is not None:
        data.spare(path)
    if new is None:
        scores_of_rows = scores(state, data)
    else:
        source = source_of(new)
        require_apart(path, source.files)
        spec, standard, V = scoring(state, "transform_to()")
        if source.in_memory:
            scores_of_rows = scores_of_new(state, source.data, na)
        else:
            stream = source.stream(ReadOptions(na=na or "raise"), spec)
            stream.spare(path)
            scores_of_rows = stream.scores(standard, V, state.components)
    with listening(progress):
        write_scores(scores_of_rows, path)


def write_scores(scores: Any, path: str | os.PathLike[str]) -> None:
    """Write scores to a Parquet file; an existing file is replaced when the new one is complete.

    Default row labels 0, 1, ... are not written, since programs that read the file number the rows in the
    same way.

    Parameters
    ----------
    scores : DataFrame or ScoreChunks, n x k
    path : str or path

    Raises
    ------
    FileError
        If the file cannot be written, or the labels cannot be stored in it.
    OptionError
        If pyarrow is not installed, or the scores are a dask collection.
    """
    pyarrow = require_pyarrow()
    if not isinstance(scores, pd.DataFrame | ScoreChunks):
        raise errors.OptionError(
            "The scores are a dask collection, which has its own method: fit.scores.to_parquet(folder)."
        )
    frames: Iterable[pd.DataFrame] = [scores] if isinstance(scores, pd.DataFrame) else scores
    empty = pd.DataFrame(columns=scores.columns, index=pd.RangeIndex(0), dtype=float)
    try:
        try:
            write_file(path, lambda file: _write(file, frames, empty, labelled=False))
        except _OwnLabels:
            write_file(path, lambda file: _write(file, frames, empty, labelled=True))
    except (pyarrow.ArrowException, TypeError) as error:
        reason = " ".join(str(error.args[0] if error.args else error).split())
        raise errors.FileError(
            f"{path} cannot be written: {reason}. The labels of all rows must be of one simple type."
        ) from error


def _write(file: IO[bytes], frames: Iterable[pd.DataFrame], empty: pd.DataFrame, labelled: bool) -> None:
    import pyarrow
    from pyarrow import parquet

    writer, schema, rows = None, None, 0
    try:
        for frame in frames:
            if not labelled and not frame.index.equals(pd.RangeIndex(rows, rows + len(frame))):
                raise _OwnLabels
            rows += len(frame)
            table = pyarrow.Table.from_pandas(frame, schema=schema, preserve_index=labelled)
            if writer is None:
                schema = table.schema
                writer = parquet.ParquetWriter(file, schema)
            writer.write_table(table)
        if writer is None:
            parquet.write_table(pyarrow.Table.from_pandas(empty, preserve_index=False), file)
    finally:
        if writer is not None:
            writer.close()


#: The largest number of rows in chunks that plots draw, since more points overlap.
DRAWN_ROWS = 2000


def drawn_rows(state: FitState, data: Data) -> pd.DataFrame:
    """Return scores, T2 and Q of at most DRAWN_ROWS rows in chunks, after one pass.

    Parameters
    ----------
    state : FitState
    data : Data
        The rows of the fit.

    Returns
    -------
    DataFrame of shape (m, k + 2)
        The rows have no labels and are in arbitrary order. ``attrs["sample"]`` describes the sample, unless
        it contains all rows.
    """
    standard = state.need_centre("a sample of the rows")
    X, total = data.random_rows(DRAWN_ROWS, seed=0)
    t2, q = distances(X, standard, state.V, state.moments.scores)
    values = np.column_stack([standard.project(X, state.V), t2, q])
    frame = pd.DataFrame(values, columns=[*state.components, "T2", "Q"])
    if len(frame) < total:
        frame.attrs["sample"] = f"{len(frame)} of {total} rows, drawn at random (seed 0)"
    return frame
