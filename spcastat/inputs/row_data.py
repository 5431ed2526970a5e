"""Reading and checking of the data of a fit, in the form in which the method needs them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.config import (
    GAPS,
    flag,
    is_single,
    listed,
    nearest,
    plural,
    shown,
    user_frame,
    warn,
    whole_number,
)
from spcastat.inputs.missing import Gaps, prepare_with_gaps, rank_of, refuse_rows_methods
from spcastat.inputs.opening import files_of, open_stream, read_whole, require_apart
from spcastat.linalg.accumulate import CrossProducts, Nothing, Sums
from spcastat.linalg.operators import GRAM_ORDER, Gram, Operator
from spcastat.linalg.regression import partial_covariance
from spcastat.linalg.standardisation import (
    KINDS,
    Blocks,
    ColumnUnits,
    Extremes,
    Mixed,
    Scale,
    ScalingGroups,
    Standardisation,
    block_length,
    checksum,
    fits,
    from_products,
    matrix_in_blocks,
    prepare,
    standard_of,
)
from spcastat.linalg.ties import is_sparse
from spcastat.reading.checks import aligned, vector, warn_of_missing_codes, warn_of_row_numbers
from spcastat.reading.covariance import looks_like_covariance, read_covariance, refuse_covariance
from spcastat.reading.design import Covariance, Design, Partial, ReadOptions, RowDesign, Spec, factor_columns
from spcastat.reading.frames import open_table
from spcastat.reading.read import read_data, replay
from spcastat.streams.base import Stream, Tally, of_quotients
from spcastat.streams.operator import StreamRows

# --- the source of a fit --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Source:
    """The input of a fit.

    Attributes
    ----------
    op : Operator
        The covariance matrix, through its products, in units of `op.unit`: the variances of the data are its
        variances times `op.unit` squared.
    spec : Spec
        How raw data become columns; its `columns` label the loadings.
    n : int or None
        Number of rows; for a covariance matrix the number it was computed from, where known.
    standard : Standardisation or None
        Centre and scale; None for a covariance matrix given without them.
    matrix : ndarray or scipy.sparse array of shape (n, p), or None
        Raw rows, with missing values imputed for ``na="em"``; None for a covariance matrix.
    index : pandas.Index or None
        Labels of the rows.
    dropped : int
        Rows left out because of missing values.
    weights : ndarray of shape (n,) or None
        Weights of the rows.
    stream : Stream or None
        Rows read in chunks, instead of `matrix`.
    total_weight : float or None
        The sum of the weights of a stream.
    gaps : Gaps or None
        How missing values were treated, for ``na="em"`` and "pairwise".
    checksum : int or None
        Checksum of `matrix`, if it shares memory with the caller's data.
    about : Mapping
        Further facts about a covariance matrix; see :class:`spcastat.reading.design.Covariance`.
    covariates : ndarray of shape (n, q) or None
        The covariates for which `matrix` was adjusted.
    groups : ScalingGroups or None
        The groups of variables by which the scale was found, for ``scale="blocks"`` and "mixed".
    files : sequence of str
        Files that the rows were read from as a whole.
    design : RowDesign or None
        Which of the rows belong together; None for independent rows.
    sampled_from : int or None
        If the rows are a sample of rows in chunks: the number of rows that it was drawn from, perhaps all.
    """

    op: Operator
    spec: Spec
    n: int | None
    standard: Standardisation | None = None
    matrix: Any = None
    index: pd.Index | None = None
    dropped: int = 0
    weights: np.ndarray | None = None
    stream: Stream | None = None
    total_weight: float | None = None
    gaps: Gaps | None = None
    checksum: int | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    covariates: np.ndarray | None = None
    groups: ScalingGroups | None = None
    files: Sequence[str] = ()
    design: RowDesign | None = None
    sampled_from: int | None = None

    @property
    def center_and_scale(self) -> tuple[bool | np.ndarray, Scale]:
        """The arguments `center` and `scale` that would repeat the standardisation on other rows."""
        standard = self.standard
        assert standard is not None
        return center_and_scale(standard, self.groups)

    def require_same(self) -> None:
        """Raise DataError if the caller has changed the rows in memory since the fit."""
        if self.checksum is not None and checksum(self.matrix) != self.checksum:
            raise errors.DataError(
                "The data have changed since the fit: their numbers are not those that were fitted. Fit "
                "again, and leave arrays of more than 64 MB unchanged as long as the fit is in use."
            )

    @property
    def measured(self) -> Any:
        """The rows as given, with NaN for missing values; shape (n, p)."""
        if self.gaps is None or not self.gaps.missing.any():
            return self.matrix
        return np.where(self.gaps.missing, np.nan, self.matrix)

    @property
    def from_rows(self) -> bool:
        """Whether the fit is from rows (in memory or in chunks) rather than from a covariance matrix."""
        return self.matrix is not None or self.stream is not None

    @property
    def weighted(self) -> bool:
        """Whether rows had weights."""
        return self.weights is not None or (self.stream is not None and self.stream.weighted)

    @property
    def distributed(self) -> bool:
        """Whether the rows are distributed over workers, so that this process cannot iterate over them."""
        return self.stream is not None and not self.stream.local

    def spare(self, path: Path) -> None:
        """Raise OptionError if writing to `path` would change the rows."""
        if self.stream is not None:
            self.stream.spare(path)
        require_apart(path, self.files)

    @property
    def weight(self) -> float:
        """The sum of the weights, or the number of rows without weights."""
        if self.total_weight is not None:
            return self.total_weight
        return float(self.n or 0) if self.weights is None else float(self.weights.sum())

    @property
    def free(self) -> float | None:
        """The sum of the weights (or number of rows, if known) minus the degrees of freedom of covariates."""
        n = self.weight if self.from_rows else self.n
        taken = 0 if self.spec.partial is None else self.spec.partial.regression.rank
        return None if n is None else n - taken


def center_and_scale(
    standard: Standardisation, groups: ScalingGroups | None
) -> tuple[bool | np.ndarray, Scale]:
    """Return the arguments `center` and `scale` that repeat a standardisation on other rows."""
    scale: Any = groups or {"sd": True, "none": False}.get(standard.scaling, standard.scale)
    return True if standard.centring == "mean" else standard.mean, scale


#: Scales of columns must lie between this and its inverse, so that both are floating-point numbers.
LEAST_SCALE = 1e-300


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


# --- data after reading ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Opened:
    """Data after reading and checking.

    Attributes
    ----------
    p : int
        Number of variables.
    source : callable
        Takes the name of a method that needs the rows themselves (an empty string if second moments are
        enough) and returns the source of a fit.
    context : mapping or None
        Names other than columns that a formula uses.
    centred : bool
        Whether rows in chunks are centred at their means.
    stream : Stream or None
        Rows in chunks.
    data : object
        The data, for calls that read them again; for a frame, a view with its present columns.
    """

    p: int
    source: Callable[[str], Source]
    context: Mapping[str, Any] | None = None
    centred: bool = True
    stream: Stream | None = None
    data: Any = None

    def with_passes(self, passes: Any) -> Opened:
        """Return the same data, with at most `passes` passes over rows in chunks to compute dense PCA."""
        if passes is None:
            return self
        if self.stream is None:
            raise errors.OptionError(
                f"passes={shown(passes)} was given with data in memory, which are not passed over; it is for "
                "rows in chunks. Leave it out."
            )
        most = whole_number("passes", passes, 1, 1000)

        def source(rows_for: str) -> Source:
            found = self.source(rows_for)
            found.op.most_passes = most
            return found

        return replace(self, source=source)


# --- rows in memory -------------------------------------------------------------------------------


def open_rows(
    data: Any,
    reading: ReadOptions,
    center: Any = True,
    scale: Any = False,
    k: int = 1,
    blocks: Any = None,
    certain: bool = False,
    otherwise: pd.Series | None = None,
) -> Opened:
    """Read rows.

    Parameters
    ----------
    data : object
        Data of any supported kind, or `Fitted` rows, for which `reading` must be that of their fit.
    reading : ReadOptions
    center, scale
        As for :func:`spcastat.spca`.
    k : int
        Number of components, which is the default rank of the model of missing values.
    blocks : mapping, optional
        As for :func:`spcastat.spca`.
    certain : bool
        Whether the caller has said that the data are rows, and not a covariance matrix.
    otherwise : Series, optional
        For some of the rows of an analysis: the scale of columns that do not vary in them, by name.

    Raises
    ------
    DataError
        Among others, for data that look like a covariance matrix.
    """
    mixed = isinstance(scale, str) and scale == "mixed"
    reading = _in_context(reading)
    fitted = data.source if isinstance(data, Fitted) else None
    table = data.data if isinstance(data, Fitted) else read_whole(data)
    if fitted is None and not certain and reading.formula is None:
        refuse_covariance(table, bool(files_of(table)))
    stream = _stream_of(table, reading, mixed) if fitted is None else fitted.stream
    if stream is not None:
        if mixed:
            raise errors.OptionError(MIXED_IN_CHUNKS)
        if fitted is None and reading.formula is None:
            warn_of_row_numbers(None, stream.spec.columns)
        return replace(open_streamed(stream, center, scale, blocks), data=table)
    design = _design_of(table, reading, mixed) if fitted is None else _design_of_fit(fitted)
    if design.rows is not None:
        design.rows.require(len(design.index))
    if design.spec.partial is not None and center is not True:
        raise errors.OptionError(
            f"center={shown(center)} was given with the covariates of formula={shown(reading.formula)}; "
            "regression on them has an intercept, so that what is left has mean zero. Leave center out."
        )
    center = _column_values("center", center, design.columns)
    if mixed and blocks is None:
        scale = _mixed(design, reading, center)
    else:
        scale = _scale(scale, blocks, design.columns)
    if otherwise is not None:
        otherwise = otherwise.reindex(design.columns, fill_value=1.0)
    rows = InMemory(table, design, reading, center, scale, k, fitted, otherwise)
    context = design.spec.context if reading.formula is not None else None
    kept = table.copy(deep=False) if isinstance(table, pd.DataFrame) else table
    return Opened(len(design.columns), rows.source, context, data=kept)


#: The message for mixed data that are not in memory.
MIXED_IN_CHUNKS = (
    "scale='mixed' was given for data that are read in chunks; it needs all rows in memory. "
    "Give a DataFrame, as pd.read_csv(path) makes it, or one of a sample of the rows."
)


def _in_context(reading: ReadOptions) -> ReadOptions:
    """Return the options with the names that a formula may use: by default those of the user's function."""
    if reading.formula is None or reading.context is not None:
        return reading
    frame = user_frame()
    return replace(reading, context={} if frame is None else {**frame.f_globals, **frame.f_locals})


def _stream_of(table: Any, reading: ReadOptions, mixed: bool) -> Stream | None:
    """Return the rows of data that are read in chunks; None for data in memory."""
    try:
        return open_stream(table, reading)
    except errors.ColumnTypeError as error:
        raise errors.OptionError(MIXED_IN_CHUNKS) if mixed else error from None


def _design_of(table: Any, reading: ReadOptions, mixed: bool) -> Design:
    """Read data in memory; with scale="mixed" all columns of a frame, of which some may be factors."""
    how = reading
    if mixed and (reading.formula is not None or isinstance(open_table(table).values, pd.DataFrame)):
        how = replace(reading, formula=reading.formula or "~ .", categorical="dummy")
    design = read_data(table, how, defer=not mixed)
    if reading.formula is None:
        warn_of_row_numbers(design.matrix, design.columns)
    warn_of_missing_codes(design.matrix, design.columns)
    return design


def _design_of_fit(source: Source) -> Design:
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
        As :func:`_column_values` and :func:`_scale` return them.
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
        _require_range(op, standard, design.columns)
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


# --- rows in chunks -------------------------------------------------------------------------------


def open_streamed(stream: Stream, center: Any, scale: Any, blocks: Any = None) -> Opened:
    """Open rows that come in chunks; one pass is made when the source is requested."""
    columns = stream.spec.columns
    center = _column_values("center", center, columns)
    scale = _scale(scale, blocks, columns)
    if isinstance(scale, Blocks) and len(columns) > GRAM_ORDER:
        raise errors.OptionError(
            f"scale={scale.kind!r} was given for {stream.title}, with {len(columns):,} variables; in chunks "
            f"it takes {GRAM_ORDER:,} or fewer. Fit a sample of the rows in memory."
        )

    rows = InChunks(stream, center, scale)
    return Opened(len(columns), rows.source, stream.spec.context, center is True, stream)


@dataclass(frozen=True, eq=False)
class InChunks:
    """Rows in chunks, and how to centre and scale them.

    Attributes
    ----------
    stream : Stream
    center, scale
        As :func:`_column_values` and :func:`_scale` return them.
    """

    stream: Stream
    center: Any
    scale: Any

    def source(self, rows_for: str = "") -> Source:
        """Return the source of a fit, for which one pass is made; raise NoRowsError if it needs the rows."""
        stream = self.stream
        if rows_for:
            raise errors.NoRowsError(
                f"This method works on the rows, and those of {stream.title} are read in chunks: use a "
                "method that takes 'data or covariance' (spcastat.methods()), or fit rows that fit into "
                "memory, such as a sample."
            )
        with np.errstate(invalid="ignore", over="ignore"):  # reported below
            standard, op, tally = _summed(stream, self.center, self.scale)
        _require_range(op, standard, stream.spec.columns)
        return Source(
            op=op.at_unit_size(),
            spec=stream.spec,
            n=tally.rows,
            standard=standard,
            dropped=tally.dropped,
            stream=stream,
            total_weight=tally.weight,
            groups=self.scale if isinstance(self.scale, ScalingGroups) else None,
        )


def _summed(stream: Stream, center: Any, scale: Any) -> tuple[Standardisation, Operator, Tally]:
    """Return centre and scale, the operator, and the counts of a pass.

    If squares of the values overflow or underflow, two more passes are made: for the largest values of the
    columns, and for the sums of the columns divided by these.
    """
    columns = stream.spec.columns
    p = len(columns)
    begin: Any = partial(CrossProducts if p <= GRAM_ORDER else Sums, p)
    what = "means and cross-products" if p <= GRAM_ORDER else "means and variances"
    found = stream.reduce(begin, what)
    tally, sums, rows = found.tally, found.result, stream
    tally.require_enough(stream.title)
    units = None
    if not fits(sums.mean, sums.squares):
        largest = stream.reduce(partial(Extremes, p), "largest values").result.largest
        units = ColumnUnits.of(largest, scale)
    if units is not None:
        rows = of_quotients(stream, units.exponents)
        center, scale = units.centre(center), units.divisor(scale)
        sums = rows.reduce(begin, what).result
    op: Operator
    if isinstance(sums, CrossProducts):
        standard, op = from_products(sums, tally.positive, center, scale, columns)
    else:
        standard = standard_of(sums.mean, sums.squares, sums.weight, center, scale, columns)
        op = StreamRows(rows, sums, tally.positive, standard)
    if units is None:
        return standard, op, tally
    op.unit = units.unit
    return units.restored(standard), op, tally


# --- a covariance matrix --------------------------------------------------------------------------


def open_covariance(
    S: Any,
    *,
    n_obs: int | None = None,
    mean: Any = None,
    sd: Any = None,
    scale: Any = None,
    nearest: Any = False,
    given: Any = None,
    blocks: Any = None,
) -> Opened:
    """Read a covariance matrix; the parameters are those of :func:`spcastat.spca_cov`."""
    by_blocks = isinstance(scale, (str, ScalingGroups)) or blocks is not None
    if not (by_blocks or scale is None or isinstance(scale, (bool, np.bool_))):
        raise errors.OptionError(
            f"scale={shown(scale)} was given for a covariance matrix; give True, False, or 'blocks' or 'raw "
            "blocks' with blocks=. The standard deviations by which transform() divides rows are sd=, and "
            "scale=True takes the correlations of the matrix."
        )
    correlations = not by_blocks and bool(scale)
    S = labelled_matrix(read_whole(S))
    covariance = read_covariance(S, n_obs=n_obs, mean=mean, sd=sd, nearest=nearest)
    if sd is not None and mean is None:
        raise errors.OptionError(
            "sd was given without mean; transform() needs both. Give mean= as well, or leave sd out."
        )
    spec = Spec("frame" if covariance.named else "array", covariance.columns)
    left = covariance.matrix
    if given is not None:
        left, spec = _given(covariance, given, spec)
    op: Operator = Gram(left)
    _require_range(op, None, spec.columns)
    op = op.at_unit_size()
    if isinstance(scale, str) and scale == "mixed":
        raise errors.OptionError(
            "scale='mixed' was given for a covariance matrix; give rows to spca(data, ..., scale='mixed')."
        )
    groups = _scale(scale, blocks, spec.columns) if by_blocks else None
    standard = _given_standard(covariance)
    if groups is not None:
        scaled, in_blocks = matrix_in_blocks(op.block(np.arange(op.p)), groups, spec.columns)
        if standard is not None:
            standard = replace(standard, scale=scaled.scale * op.unit, scaling=groups.kind)
        op = in_blocks.at_unit_size()
    elif correlations:
        op, deviations = _correlations(op, spec.columns)
        if standard is not None:
            standard = replace(standard, scale=standard.scale * deviations, scaling="given")
    source = Source(
        op=op,
        spec=spec,
        n=covariance.n_obs,
        standard=standard,
        about=covariance.about,
        groups=groups,
        files=files_of(S),
    )
    return Opened(op.p, partial(_without_rows, source), data=covariance)


def _given(covariance: Covariance, given: Any, spec: Spec) -> tuple[np.ndarray, Spec]:
    """Return the partial covariance matrix given some of the variables, and the spec of the others."""
    if isinstance(given, pd.Index | np.ndarray):
        names = np.ravel(given).tolist()
    else:
        names = list(given) if isinstance(given, list | tuple) else [given]
    columns = list(spec.columns)
    found = [isinstance(name, Hashable) and name in columns for name in names]
    unknown = [name for name, is_found in zip(names, found, strict=True) if not is_found]
    known = {columns.index(name) for name, is_found in zip(names, found, strict=True) if is_found}
    places = np.array(sorted(known), dtype=int)
    if unknown or not 0 < len(places) < len(columns):
        hint = nearest(unknown[0], spec.columns) if unknown else ""
        raise errors.OptionError(
            f"given={shown(given)} must name some of the variables, not all: {listed(spec.columns)}.{hint}"
        )
    if covariance.mean is not None:
        raise errors.OptionError(
            "mean was given with given=. Leave it out, or fit rows: spca(data, k, formula='~ . | ...')."
        )
    left, regression = partial_covariance(covariance.matrix, places, spec.columns)
    partial = Partial(replace(spec, columns=spec.columns[places]), regression)
    return left, replace(spec, columns=spec.columns.delete(places), partial=partial)


def _given_standard(covariance: Covariance) -> Standardisation | None:
    """Return the centre and scale that were given with a covariance matrix; None without them."""
    if covariance.mean is None:
        return None
    if covariance.scale is None:
        return Standardisation(covariance.mean, np.ones(len(covariance.mean)), "given", "none")
    return Standardisation(covariance.mean, covariance.scale, "given", "given")


def _without_rows(source: Source, rows_for: str = "") -> Source:
    """Return the source of a covariance matrix; raise NoRowsError for a method that needs rows."""
    if rows_for:
        raise errors.NoRowsError(
            f"method={rows_for!r} needs more than a covariance matrix; give the rows to spca(data, ...)."
        )
    return source


def _correlations(op: Operator, columns: pd.Index) -> tuple[Operator, np.ndarray]:
    """Return the correlation matrix of a covariance matrix, and the standard deviations, shape (p,).

    Raises
    ------
    ConstantColumnError
        For a variable without variance.
    """
    deviations = np.sqrt(op.diagonal())
    still = deviations == 0.0
    if still.any():
        raise errors.ConstantColumnError(
            f"scale=True was given, and the variance of {listed(columns[still])} is zero; leave such "
            "variables out of the matrix."
        )
    S = op.block(np.arange(op.p)) / np.outer(deviations, deviations)
    np.fill_diagonal(S, 1.0)
    return Gram(S).at_unit_size(), deviations * op.unit


# --- a warning of unequal variances ---------------------------------------------------------------


#: Variances of columns that differ by more than this factor are reported, unless `scale` is given.
MOST_UNEQUAL = 1e4
#: Share of the columns whose small variances do not count, as they change no component: nearly constant ones.
NEARLY_CONSTANT = 0.1


def warn_of_unequal_variances(source: Source, scale: Any) -> None:
    """Warn of columns in very different units, of which few would make up all components.

    The largest variance is compared with the smallest one but for a tenth of the columns, so that with up to
    ten columns all count; the warning names the smallest of all. A sparse matrix, whose columns are counts of
    the same kind, gives no warning.

    Parameters
    ----------
    source : Source
    scale : object
        The argument of the call; only None, the default, leads to a warning.
    """
    if scale is not None or is_sparse(source.matrix):
        return
    variances = source.op.diagonal() * source.op.unit**2
    ascending = np.argsort(variances, kind="stable")
    ascending = ascending[variances[ascending] > 0.0]
    if not ascending.size:
        return
    largest, smallest = ascending[-1], ascending[0]
    compared = ascending[int(NEARLY_CONSTANT * (ascending.size - 1))]
    if variances[largest] > MOST_UNEQUAL * variances[compared]:
        ratio = variances[largest] / variances[smallest]
        names = source.spec.columns
        warn(
            f"The variances of the columns differ by a factor of {ratio:.2g} (from "
            f"{variances[smallest]:.3g} of {shown(names[smallest])} to {variances[largest]:.3g} of "
            f"{shown(names[largest])}), so columns of large variance dominate the components: give "
            "scale=True if their units differ, or scale=False to keep these variances without a warning.",
            errors.DataWarning,
        )


# --- arguments of the functions that fit ----------------------------------------------------------


#: Names of arguments: for centre and scale; all that describe rows; all that describe a covariance matrix.
SCALING = ("center", "scale", "blocks")
ROWS = (*(one.name for one in fields(ReadOptions)), *SCALING, "passes")
COVARIANCE = ("n_obs", "mean", "sd", "scale", "blocks", "nearest", "given")


def labelled_matrix(S: Any) -> Any:
    """Return a matrix from a file, whose rows are unlabelled or numbered, with the names of its columns."""
    if not files_of(S) or S.shape[0] != S.shape[1]:
        return S
    numbered = [str(j) for j in range(len(S) + 1)]  # from 0 as pandas, from 1 as R numbers rows
    labels = [str(label) for label in S.index]
    unnamed = labels in (numbered[:-1], numbered[1:]) and set(labels) != set(map(str, S.columns))
    return S.set_axis(S.columns, axis=0) if unnamed else S


class Entered(NamedTuple):
    """Opened data, and how they were opened.

    Attributes
    ----------
    data : Opened
    covariance : bool
        Whether they are a covariance matrix.
    options : dict
        The options of the call that describe them, and the names to which a formula refers.
    """

    data: Opened
    covariance: bool
    options: dict[str, Any]


def opened(
    data: Any,
    covariance: bool | None,
    options: Mapping[str, Any],
    function: Any,
    k: int = 1,
    otherwise: pd.Series | None = None,
) -> Entered:
    """Open rows or a covariance matrix.

    Parameters
    ----------
    data : object
    covariance : bool or None
        Whether `data` is a covariance matrix; None determines it from the data.
    options : mapping
        Options of the call.
    function : callable or None
        A function all of whose further options describe the data.
    k : int
    otherwise : Series, optional
        See :func:`open_rows`.
    """
    data, certain = read_whole(data), covariance is not None
    if covariance is None:
        covariance = options.get("formula") is None and looks_like_covariance(data)
    covariance = flag("covariance", covariance)
    if not covariance and not certain and options.get("formula") is None:
        refuse_covariance(data, bool(files_of(data)))
    described = _describing(options, covariance, function)
    if covariance:
        return Entered(open_covariance(data, **described), True, described)
    scaling = {name: value for name, value in described.items() if name in SCALING}
    reading = {name: value for name, value in described.items() if name not in (*SCALING, "passes")}
    rows = open_rows(data, ReadOptions(**reading), k=k, certain=True, otherwise=otherwise, **scaling)
    if rows.context is not None:
        described = {**described, "context": rows.context}
    return Entered(rows.with_passes(described.get("passes")), False, described)


def _describing(options: Mapping[str, Any], covariance: bool, function: Any) -> dict[str, Any]:
    """Return the options that describe the data; refuse those that describe data of the other kind.

    If `function` is given, all options must describe the data.
    """
    names, others = (COVARIANCE, ROWS) if covariance else (ROWS, COVARIANCE)
    further = [name for name in options if name not in names]
    for name in further:
        if name in others:
            raise errors.UnknownOptionError(
                f"{name}= was given with {'a covariance matrix' if covariance else 'rows'}, and it describes "
                f"{'rows' if covariance else 'a covariance matrix'}; leave it out, or give "
                f"covariance={not covariance} if the data are {'rows' if covariance else 'one'}."
            )
    if function is not None and further:
        raise errors.UnknownOptionError(
            f"{function.__name__}() has no option {further[0]}; it takes {', '.join(names)}"
            f"{' for a covariance matrix' if covariance else ' for rows'}, in addition to its own options."
            f"{nearest(further[0], names)}"
        )
    return {name: value for name, value in options.items() if name in names}


# --- checks that rows and matrices share ----------------------------------------------------------


def _require_range(op: Operator, standard: Standardisation | None, columns: pd.Index) -> None:
    """Raise DataError if the variances or scales cannot be represented as floating-point numbers."""
    with np.errstate(over="ignore"):
        variances = op.diagonal() * np.float64(op.unit) ** 2
        total = float(variances.sum())
    small = op.diagonal().any() and variances.max() < np.finfo(float).tiny
    if small or not np.isfinite(total):
        raise errors.DataError(
            f"The variances of the data are too {'small' if small else 'large'} for floating-point numbers, "
            "2e-308 to 1e308. Divide the columns by a constant first, e.g. data / data.abs().max()."
        )
    if standard is None or standard.scaling == "none":
        return
    outside = (standard.scale < LEAST_SCALE) | (standard.scale > 1.0 / LEAST_SCALE)
    if outside.any():
        raise errors.DataError(
            f"The scale of {listed(columns[outside])} is {standard.scale[outside][0]:.3g}; it can be from "
            f"{LEAST_SCALE:g} to {1.0 / LEAST_SCALE:g}. Multiply such columns by a constant first."
        )


def _scale(scale: Any, blocks: Any, columns: pd.Index) -> Any:
    """Return `scale` as True, False, numbers or Blocks; raise OptionError if `blocks` has no use."""
    scale = False if scale is None else scale
    if isinstance(scale, ScalingGroups):  # from an earlier fit
        return scale
    if isinstance(scale, str) and scale in KINDS:
        return Blocks.read(scale, blocks, columns)
    if blocks is not None:
        raise errors.OptionError(
            f"blocks was given with scale={shown(scale)}; it is for scale='blocks', which divides each "
            "variable by the root of its block's first eigenvalue. Give that, or leave blocks out."
        )
    return _column_values("scale", scale, columns)


def _mixed(design: Design, reading: ReadOptions, center: Any) -> Mixed:
    """Return the factors of a design; raise OptionError for options that conflict with scale="mixed"."""
    reason = ""
    if reading.na in GAPS:
        reason = f"na={reading.na!r}, and a missing level has no indicators; na='drop' leaves out such rows"
    elif center is not True:
        reason = f"center={shown(center)}, and indicators are centred at the shares of levels; leave it out"
    elif design.spec.partial is not None:
        reason = "covariates, which leave no indicators; leave them out"
    if reason:
        raise errors.OptionError(f"scale='mixed' was given with {reason}.")
    factors, of = factor_columns(design), np.full(len(design.columns), -1)
    for number, places in enumerate(factors.values()):
        of[places] = number
    return Mixed("mixed", tuple(factors), of)


def _column_values(option: str, value: Any, columns: pd.Index) -> Any:
    """Return `center` or `scale` as True, False, or one finite number for each column."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if is_single(value):
        further = ", or 'mixed', or 'blocks' with blocks=" * (option == "scale")
        raise errors.OptionError(
            f"{option}={shown(value)} was given; give True, False, or {len(columns)} numbers{further}."
        )
    if isinstance(value, pd.Series):
        value = aligned(value, columns, option, "columns")
    numbers = vector(value, len(columns), option, "columns")
    if option == "scale" and not (numbers > 0).all():
        raise errors.OptionError(f"scale holds {numbers.min():g}; divisors of columns must be positive.")
    return numbers
