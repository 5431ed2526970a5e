"""Checks of a table: its values, names, weights, and columns that look like identifiers or row numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.arguments import GAPS, LARGEST_WHOLE, listed, plural, shown, warn
from spcastat.errors import DataWarning
from spcastat.labels import flat_labels
from spcastat.linalg.accumulate import extremes, is_sparse
from spcastat.reading.expressions import formula_without

# --- identifiers and row numbers ------------------------------------------------------------------


#: Names that pandas gives to columns without a name, such as the row names that R and pandas write into
#: files.
UNNAMED = re.compile(r"(Unnamed: \d+(_level_\d+)?|__index_level_\d+__|)")
#: Names of identifiers, such as id, patient_id and row.
_IDENTIFIER = re.compile(r"(.*[\W_])?(id|idx|index|key|row|rownames|obs|case|nr|no)", re.IGNORECASE)
#: Names of columns of subjects, who may have several rows each: subject, patient_id and participantId.
_SUBJECT = re.compile(
    r"(.*[\W_])?(id|(subject|patient|participant|person|individual|respondent)([\W_]?(id|nr|no))?)",
    re.IGNORECASE,
)
#: Names of variables that may increase by one from row to row: times and ranks.
_COUNTED = re.compile(
    r".*(year|yr|time|date|month|week|day|hour|minute|second|quarter|period|wave|age|rank|order|trend)s?\d*|t",
    re.IGNORECASE,
)


def warn_of_row_numbers(matrix: Any, columns: pd.Index) -> None:
    """Warn if a column seems to contain row numbers or identifiers rather than measurements.

    The warning names columns with a name from pandas, such as "Unnamed: 0"; columns with an empty name and
    different whole numbers in all rows; columns whose values increase by exactly one from row to row, unless
    the name suggests a time or a rank; columns of increasing whole numbers with the name of an identifier;
    and columns of repeated whole numbers with a name such as "subject", if the rows are sorted by them or
    every number occurs equally often. Times give no warning: a year may be a variable.

    Parameters
    ----------
    matrix : ndarray of shape (n, p), sparse array, or None
        If it is not dense, only the names are examined.
    columns : pandas.Index of length p

    Warns
    -----
    DataWarning
    """
    names = [str(label) for label in columns]
    unnamed = {j for j, name in enumerate(names) if name and UNNAMED.fullmatch(name)}
    # with fewer than ten rows, whole numbers may be in order by chance
    if matrix is not None and not is_sparse(matrix) and len(matrix) >= 10:
        first_step = matrix[1] - matrix[0]
        counted = set(np.flatnonzero((first_step >= 1.0) & (first_step == np.floor(first_step))).tolist())
        for j, name in enumerate(names):
            rows = j in counted and _numbers_rows(matrix[:, j], name)
            rows = rows or (not name and _numbers_all(matrix[:, j]))
            if rows or (_SUBJECT.fullmatch(name) and _numbers_subjects(matrix[:, j])):
                unnamed.add(j)
    if not unnamed:
        return
    labels = [columns[j] for j in sorted(unnamed)]
    look, are, them = ("look", "are variables", "them")
    if len(labels) == 1:
        look, are, them = ("looks", "is a variable", "it")
    warn(
        f"{listed(labels)} {look} like row numbers or identifiers, and {are} of this analysis. Leave {them} "
        f"out with data.drop(columns=[{listed(labels, 3)}]), or read {them} as row labels, e.g. "
        f"pd.read_csv(path, index_col=0). A formula that names {them} gives no warning.",
        DataWarning,
    )


def _numbers_rows(values: np.ndarray, name: str) -> bool:
    """Whether whole numbers increase by one, or merely increase if the name suggests an identifier."""
    with np.errstate(invalid="ignore"):
        steps = np.diff(values)
        is_whole = bool((values == np.floor(values)).all())
    if not is_whole or _COUNTED.fullmatch(name):
        return False
    return bool((steps == 1.0).all() or (_IDENTIFIER.fullmatch(name) and (steps > 0.0).all()))


def _numbers_all(values: np.ndarray) -> bool:
    """Whether the values are whole numbers, all different."""
    is_whole = np.isfinite(values).all() and (values == np.floor(values)).all()
    return bool(is_whole) and len(np.unique(values)) == len(values)


def _numbers_subjects(values: np.ndarray) -> bool:
    """Whether the values are repeated whole numbers that never decrease or all occur equally often."""
    if not np.isfinite(values).all() or (values != np.floor(values)).any():
        return False
    counts = np.unique(values, return_counts=True)[1]
    balanced = counts[0] > 1 and (counts == counts[0]).all()
    return bool(len(counts) > 1 and (balanced or (np.diff(values) >= 0.0).all()))


# --- codes of missing values ----------------------------------------------------------------------


#: Numbers that often stand for missing values.
MISSING_CODES = (-9999.0, -999.0, -99.0, 99.0, 999.0, 9999.0, 99999.0)


def warn_of_missing_codes(matrix: Any, columns: pd.Index) -> None:
    """Warn if a column contains a number such as 999 that is far from its other values.

    The number must be the smallest or largest value of the column. There must be at least three other values,
    and the distance from the nearest of them must exceed their range.

    Parameters
    ----------
    matrix : ndarray of shape (n, p), or sparse array, which is not examined
        It may contain NaN.
    columns : pandas.Index of length p

    Warns
    -----
    DataWarning
    """
    if is_sparse(matrix) or not len(matrix):
        return
    smallest, largest = extremes(matrix)
    codes = []
    for j in np.flatnonzero(np.isin(smallest, MISSING_CODES) | np.isin(largest, MISSING_CODES)).tolist():
        values = matrix[:, j]
        other_values = values[~np.isin(values, MISSING_CODES) & np.isfinite(values)]
        if len(other_values) < 3:
            continue
        low, high = float(other_values.min()), float(other_values.max())
        for code in {float(smallest[j]), float(largest[j])}.intersection(MISSING_CODES):
            if max(low - code, code - high) > high - low:
                codes.append((columns[j], int(code), f"{low:g} to {high:g}"))
    if not codes:
        return
    examples = [f"{code} in {shown(label)}, whose other values are {span}" for label, code, span in codes[:3]]
    ending = f" and in {len(codes) - 3} more cases" if len(codes) > 3 else ""
    label, code, _ = codes[0]
    warn(
        f"Are these numbers codes for missing values: {'; '.join(examples)}{ending}? If so, mark them as "
        "missing, "
        f"e.g. data.replace({{{shown(label)}: {{{code}: np.nan}}}}).",
        DataWarning,
    )


# --- values, names and weights --------------------------------------------------------------------


_HINTS = {
    "items": "ordinal items enter as numbers with codes=True, or sp.correlation(df, codes=True) gives their "
    "polychoric correlations for spca_cov",
    "levels": "text and categories can enter as 0/1 columns, by a formula and categorical='dummy'",
    "object": "if an object column contains numbers, convert it with df.convert_dtypes() or pd.to_numeric",
    "complex": "take the real or the imaginary part of a complex column",
    "other": "turn dates and durations into numbers first, e.g. (df['t'] - df['t'].min()).dt.days",
}


def kind_of(column: pd.Series) -> str:
    """Return ``"number"``, ``"levels"``, ``"object"``, ``"complex"`` or ``"other"`` for a column.

    Booleans are numbers. An object column that contains only text (and missing values) has levels.
    """
    dtype: Any = column.dtype
    if isinstance(dtype, pd.SparseDtype):
        dtype = dtype.subtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "levels"
    if pd.api.types.is_complex_dtype(dtype):
        return "complex"
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
        return "number"
    if pd.api.types.is_object_dtype(dtype):
        return "levels" if pd.api.types.infer_dtype(column, skipna=True) == "string" else "object"
    return "levels" if pd.api.types.is_string_dtype(dtype) else "other"


def _about_text(name: str, column: pd.Series) -> str | None:
    """Return a hint on text among numbers, or on numbers written as text; None for other columns."""
    values = column[column.notna()]
    if isinstance(column.dtype, pd.CategoricalDtype) or not len(values):
        return None
    if _holds_numbers(values):
        return (
            f"{name} contains numbers but has the dtype {column.dtype}: convert it, df[{name}].astype(float)"
        )
    numbers = pd.to_numeric(values.astype(str), errors="coerce").notna()
    if numbers.any() and not numbers.all():
        value = values[~numbers].iloc[0]
        return f"{name} contains {shown(value)} among numbers: correct it, or mark it as missing"
    if all(re.fullmatch(r"\s*[+-]?\d[\d.,]*\s*", str(value)) for value in values.head(20)):
        example = shown(values.iloc[0])
        way = (
            f"convert it with pd.to_numeric(df[{name}])"
            if numbers.all()
            else "read it with decimal= or thousands="
        )
        return f"{name} contains numbers as text, {example}: {way}"
    return None


def _holds_numbers(values: pd.Series) -> bool:
    """Whether all values of a column of objects are numbers, and none is text."""
    kind = pd.api.types.infer_dtype(values)
    return kind in ("floating", "integer", "mixed-integer-float", "decimal", "boolean")


def kinds_of(frame: pd.DataFrame, positions: Iterable[int] | None = None) -> dict[int, str]:
    """Return the kinds of the columns at `positions`, by default all; see :func:`kind_of`."""
    # A numeric dtype is examined once; other columns are examined one by one.
    dtypes = list(frame.dtypes)
    numeric: set[Any] = set()
    kinds = {}
    for position in range(len(dtypes)) if positions is None else positions:
        dtype = dtypes[position]
        kinds[position] = "number" if dtype in numeric else kind_of(frame.iloc[:, position])
        if kinds[position] == "number":
            numeric.add(dtype)
    return kinds


#: Whole numbers in text that may be larger than 2**53, which has 16 digits.
_LONG_WHOLE = re.compile(r"\s*[+-]?\d{16,}(?:\.0*)?\s*", re.ASCII)


def rounded_in(column: pd.Series) -> Any:
    """Return the first whole number of a column, also in text, that float64 would round, or None."""
    dtype: Any = column.dtype
    if isinstance(dtype, pd.SparseDtype):
        return first_rounded(np.asarray(column.array.sp_values))
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        return first_rounded(column.to_numpy())
    if dtype.kind in "iu":  # integers of pandas, which may be missing
        return first_rounded(column.dropna().to_numpy(dtype=f"{dtype.kind}8"))
    if dtype.kind not in "OUT" or isinstance(dtype, pd.CategoricalDtype):
        return None
    for value in column.dropna():
        if isinstance(value, str) and _LONG_WHOLE.fullmatch(value):
            value = int(value.strip().partition(".")[0])
        if isinstance(value, int | Decimal) and first_rounded_of([value]) is not None:
            return value
    return None


def first_rounded(values: Any) -> Any:
    """Return the first whole number that float64 would round; None if there is none.

    Parameters
    ----------
    values : ndarray
        Of any shape. Only arrays of 64-bit integers can contain such a number.
    """
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return None
    if max(int(values.max()), -int(values.min())) <= LARGEST_WHOLE:
        return None
    is_large = values > LARGEST_WHOLE
    if values.dtype.kind == "i":
        is_large |= values < -LARGEST_WHOLE
    return first_rounded_of(values[is_large].tolist())


def first_rounded_of(values: Iterable[Any]) -> Any:
    """Return the first number beyond 2**53 that float64 would round; None if there is none.

    Parameters
    ----------
    values : iterable of int or decimal.Decimal
        Comparisons of both with floats are exact.
    """
    for value in values:
        if abs(value) > LARGEST_WHOLE and value != float(value):
            return value
    return None


def require_exact(frame: pd.DataFrame, positions: Iterable[int] | None = None) -> None:
    """Raise ColumnTypeError if a column, by default any, has a whole number that float64 would round."""
    dtypes = list(frame.dtypes)
    of_dtype: dict[Any, list[int]] = {}
    for position in range(len(dtypes)) if positions is None else positions:
        if getattr(dtypes[position], "kind", "O") in "iuO" and not _is_short(dtypes[position]):
            of_dtype.setdefault(dtypes[position], []).append(position)
    for dtype, places in of_dtype.items():
        plain = isinstance(dtype, np.dtype) and dtype.kind in "iu"
        if plain and first_rounded(frame.iloc[:, places].to_numpy()) is None:  # all columns at once
            continue
        for position in places:
            rounded = rounded_in(frame.iloc[:, position])
            if rounded is not None:
                raise rounding(shown(frame.columns[position]), rounded)


def _is_short(dtype: Any) -> bool:
    """Whether float64 represents all numbers of an integer dtype exactly."""
    return bool(getattr(dtype, "kind", "O") in "iu" and getattr(dtype, "itemsize", 8) < 8)


def rounding(name: str, value: Any) -> errors.ColumnTypeError:
    """Return the error for a whole number that float64 would round, in the column called `name`."""
    return errors.ColumnTypeError(
        f"Column {name} contains {value}, a whole number beyond 2**53, which floating-point numbers would "
        f"round to {int(float(value))}: subtract a constant from the column first, or leave it out if it is "
        "an identifier."
    )


def refuse(frame: pd.DataFrame, bad: Mapping[int, str], new: bool = False) -> None:
    """Raise ColumnTypeError for columns that do not contain numbers.

    Parameters
    ----------
    frame : DataFrame
    bad : mapping of int to str
        Positions and kinds of the columns to refuse; no error is raised if there are none.
    new : bool
        Whether the rows are new rows for a fit that needs these columns.
    """
    if not bad:
        return
    require_exact(frame, [position for position, kind in bad.items() if kind in ("levels", "object")])
    columns = [(frame.columns[position], frame.iloc[:, position], kind) for position, kind in bad.items()]
    if all(kind == "object" and _holds_numbers(column.dropna()) for _, column, kind in columns):
        have, names = "has" if len(bad) == 1 else "have", listed([label for label, _, _ in columns])
        leave = "" if len(bad) == frame.shape[1] else f", or leave them out with df.drop(columns=[{names}])"
        raise errors.ColumnTypeError(
            f"{names} {have} the dtype object, with numbers as values: convert them, e.g. by "
            f"df.astype(float){leave}."
        )
    descriptions = [f"{shown(label)} ({column.dtype})" for label, column, _ in columns[:8]]
    text = ", ".join(descriptions) + (f" and {len(bad) - 8} more" if len(bad) > 8 else "")
    categories = any(isinstance(column.dtype, pd.CategoricalDtype) for _, column, _ in columns)
    kinds = {*bad.values(), *["items"] * categories}
    hints = [hint for kind, hint in _HINTS.items() if kind in kinds]
    of_text = [(shown(label), column) for label, column, kind in columns[:8] if kind in ("levels", "object")]
    about = next(filter(None, (_about_text(name, column) for name, column in of_text)), None)
    noun = "column does" if len(bad) == 1 else "columns do"
    if new:
        raise errors.ColumnTypeError(
            f"{len(bad)} {noun} not contain real numbers, which the fit needs: {text}; "
            f"{about or 'give numbers in the units of the rows of the fit'}."
        )
    if about is not None:
        hints = [about] if list(bad.values()) == ["levels"] else [about, *hints]
    if any(UNNAMED.fullmatch(str(label)) for label, _, _ in columns):
        hints.insert(0, "a column without a name usually contains row labels: pd.read_csv(path, index_col=0)")
    if len(bad) == frame.shape[1]:
        raise errors.ColumnTypeError(
            f"The data have no numeric column at all: {text}. One column must contain real numbers; "
            f"{'; '.join(hints)}."
        )
    labels = [label for label, _, _ in columns]
    way = "df.select_dtypes(['number', 'bool']) or a formula"
    if len(bad) <= 8:
        formula = formula_without(labels)
        way = f"df.drop(columns=[{listed(labels)}])" + (f" or formula={formula!r}" if formula else "")
    out = "it out" if len(bad) == 1 else "them out"
    raise errors.ColumnTypeError(
        f"{len(bad)} {noun} not contain real numbers: {text}; leave {out} with {way}; {'; '.join(hints)}."
    )


def frame_values(frame: Any, role: str) -> np.ndarray:
    """Return the values of a data frame given to a plot or a table, with NaN for missing values.

    Parameters
    ----------
    frame : DataFrame
    role : str
        Plural noun for the values in messages.

    Raises
    ------
    ShapeError
        If `frame` is not a data frame with rows and columns.
    ColumnTypeError
        If a column does not contain real numbers.
    """
    if not isinstance(frame, pd.DataFrame) or 0 in frame.shape:
        size = f" and shape {frame.shape}" if isinstance(frame, pd.DataFrame) else ""
        raise errors.ShapeError(
            f"{role} of type {type(frame).__name__}{size} were given; give a frame with rows and columns."
        )
    require_numbers(frame)
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)


def require_numbers(frame: pd.DataFrame, positions: Iterable[int] | None = None, new: bool = False) -> None:
    """Raise ColumnTypeError unless the columns at `positions`, by default all, contain real numbers.

    If `new`, the message is about new rows for a fit.
    """
    kinds = kinds_of(frame, positions)
    refuse(frame, {position: kind for position, kind in kinds.items() if kind != "number"}, new)


def require_rows(n: int, dropped: int = 0) -> None:
    """Raise TooFewRowsError for fewer than two rows; `dropped` is the number dropped for missing values."""
    if n < 2:
        reason = f" after {plural(dropped, 'row')} with missing values had been dropped" if dropped else ""
        advice = " Impute missing values, or leave out the columns with most of them." if dropped else ""
        raise errors.TooFewRowsError(
            f"The data have {plural(n, 'row')}{reason}; at least two are needed.{advice}"
        )


def require_finite(matrix: Any, columns: pd.Index) -> None:
    """Raise InfiniteValuesError if `matrix`, dense or sparse of shape (n, p), contains infinite values."""
    rows, places = _entries(matrix, np.isinf)
    if len(rows):
        raise errors.InfiniteValuesError(
            f"The data contain {plural(len(rows), 'infinite value')} in "
            f"{plural(len(np.unique(rows)), 'row')}, in {listed(columns[np.unique(places)])}: give finite "
            "numbers, or mark them as missing, df.replace([np.inf, -np.inf], np.nan), and choose a "
            "treatment by na=."
        )


def rows_to_keep(matrix: Any, columns: pd.Index, na: str) -> np.ndarray | None:
    """Return a mask of the rows without missing values, or None if all are kept; refuse infinite values.

    Parameters
    ----------
    matrix : ndarray of shape (n, p) or scipy.sparse CSC or CSR array
    columns : pandas.Index of length p
    na : {"raise", "drop", "em", "pairwise"}
        With the last two all rows are kept.

    Raises
    ------
    InfiniteValuesError
        If there are infinite values.
    MissingValuesError
        If there are missing values and `na` is ``"raise"``.
    """
    if not suspicious(matrix):
        return None
    require_finite(matrix, columns)
    rows, places = _entries(matrix, np.isnan)
    if not len(rows) or na in GAPS:
        return None
    if na == "raise":
        counts = np.bincount(rows, minlength=matrix.shape[0])
        empty = int((counts == matrix.shape[1]).sum())
        affected = int((counts > 0).sum())
        raise_missing(len(rows), affected, matrix.shape[0], columns[np.unique(places)], empty)
    keep = np.ones(matrix.shape[0], dtype=bool)
    keep[rows] = False
    return keep


#: Advice on missing values if some rows are complete, and if no row is.
LEAVE_OUT_ROWS = "na='drop' to leave these rows out"
LEAVE_OUT_COLUMNS = (
    "df.dropna(axis=1, thresh=...) to leave out the columns with most of them: no row has all values"
)


def raise_missing(values: int, rows: int, n: int, columns: pd.Index, empty: int = 0) -> None:
    """Raise MissingValuesError that reports the numbers of missing values and of rows with them.

    `empty` is the number of rows without any value in these columns.
    """
    way = (
        f"{LEAVE_OUT_ROWS}, na='em' to estimate from all measured values, or na='pairwise' "
        "to compute each covariance from the rows in which both variables are measured"
    )
    if rows == n:
        way = f"na='em' or na='pairwise' to estimate from the measured values, or {LEAVE_OUT_COLUMNS}"
    without = f" ({empty} without any value, which na='em' and na='pairwise' refuse)" if empty else ""
    gaps = f"{plural(values, 'missing value')} in {rows} of {plural(n, 'row')}{without}, in {listed(columns)}"
    raise incomplete_rows(gaps, way, rows < n)


def incomplete_rows(gaps: str, way: str, has_complete_rows: bool) -> errors.MissingValuesError:
    """Return the error for missing values: `gaps` describes them, and `way` is the advice."""
    return errors.MissingValuesError(f"{gaps}: use {way}.", gaps, has_complete_rows)


@contextmanager
def advice_for_complete_rows(condition: bool = True) -> Iterator[None]:
    """If `condition`, limit the advice in errors of the ``with`` block to what gives complete rows."""
    try:
        yield
    except errors.MissingValuesError as error:
        if not condition or not error.gaps:
            raise
        way = LEAVE_OUT_ROWS if error.has_complete_rows else LEAVE_OUT_COLUMNS
        raise incomplete_rows(error.gaps, way, error.has_complete_rows) from None


def read_weights(weights: Any, index: pd.Index, labelled: bool) -> np.ndarray:
    """Check row weights and return them in the order of the rows.

    A weight of 2 counts a row twice: variances are divided by ``sum(weights) - 1``.

    Parameters
    ----------
    weights : array-like of shape (n,)
        A Series is aligned by label if the rows are `labelled`; anything else is matched by position.
    index : pandas.Index of length n
        Labels of the rows.

    Raises
    ------
    WeightsError
        If the weights do not match the rows, or are not finite, nonnegative real numbers.

    Returns
    -------
    ndarray of shape (n,), float64
    """
    if isinstance(weights, str):
        raise errors.WeightsError(
            f"weights={shown(weights)} was given, the name of a column, and the columns of these data have "
            "no names; give one number for each row, or a data frame with that column."
        )
    if isinstance(weights, pd.Series) and labelled:
        weights = aligned(weights, index, "weights", "rows")
    w = vector(weights, len(index), "weights", "rows")
    if (w < 0).any():
        place = int(np.flatnonzero(w < 0)[0])
        raise errors.WeightsError(
            f"weights contains {plural(int((w < 0).sum()), 'negative value')}, the first ({w[place]:g}) for "
            f"row {shown(index[place])}; weights must be 0 or more."
        )
    return w


def require_weight(w: np.ndarray) -> None:
    """Raise WeightsError unless at least two weights are positive and the sum of all exceeds 1."""
    total = float(w.sum())
    if (w > 0).sum() < 2:
        raise errors.WeightsError(
            f"The data have {plural(int((w > 0).sum()), 'row')} with a positive weight"
            f"{'' if w.any() else ' (every weight is zero)'}; at least two are needed."
        )
    if total <= 1:
        raise errors.WeightsError(
            f"The weights sum to {total:g}; a row of weight 2 is treated as two rows, and variances are "
            "divided by sum(w) - 1, so the sum must exceed 1. For shares, pass w * len(w) / w.sum()."
        )


def aligned(
    values: Any,
    labels: pd.Index,
    option: str,
    role: str,
    *,
    part: bool = False,
    error: type[errors.DataError] = errors.WeightsError,
) -> Any:
    """Return a Series or a data frame in the order of `labels`.

    Parameters
    ----------
    values : Series or DataFrame
    labels : pandas.Index
    option : str
        The name of the argument, for messages.
    role : str
        Plural noun for the labelled items in messages, such as "rows".
    part : bool
        Whether `values` may have more labels than `labels`, e.g. also for rows that a fit dropped. If
        `values` have the default labels 0, 1, ..., n - 1 and share none of `labels`, they are matched by
        position.
    error : type
        The type of the error.

    Raises
    ------
    DataError
        Of type `error`, if a label is missing, or if labels are repeated and in another order.
    """
    if values.index.equals(labels):
        return values
    value_labels, labels, n = flat_labels(values.index), flat_labels(labels), len(labels)
    if (
        part
        and len(value_labels) == n
        and value_labels.equals(pd.RangeIndex(n))
        and not labels.isin(value_labels).any()
    ):
        return values
    if len(value_labels) != n and not part:
        raise error(f"{option} has {plural(len(value_labels), 'value')} for {n} {role}; give one for each.")
    if value_labels.is_unique and (part or labels.is_unique):
        order = value_labels.get_indexer(labels)
        if (order >= 0).all():
            return values.iloc[order]
        lacking = labels[order < 0]
        strange = f"{plural(len(lacking), 'label is', 'labels are')} missing, {listed(lacking, 3)}"
    else:
        strange = "repeated labels are in another order"
    way = "to_numpy()" if isinstance(values, pd.Series) else "set_axis(fit.scores.index)"
    by_position = f", or pass {option}.{way} to match by position" if len(value_labels) == n else ""
    raise error(
        f"{option} has labels that do not match the {role}: {strange}. Give it the same labels{by_position}."
    )


def vector(values: Any, length: int, option: str, unit: str) -> np.ndarray:
    """Return `length` finite real numbers as a new float64 array, or raise WeightsError.

    `option` is the name of the argument, and `unit` the plural noun for the items that have one number each.
    """
    v = real_array(values)
    if v is None:
        kind = f" ({values.dtype})" if isinstance(values, (np.ndarray, pd.Series, pd.Index)) else ""
        raise errors.WeightsError(
            f"{option} of type {type(values).__name__}{kind} was given; give {length} real numbers."
        )
    if v.shape != (length,):
        raise errors.WeightsError(
            f"{option} has shape {v.shape}; it must be ({length},), one number for each of the {unit}."
        )
    v = np.array(v, dtype=np.float64)
    bad = int((~np.isfinite(v)).sum())
    if bad:
        raise errors.WeightsError(
            f"{option} contains {plural(bad, 'missing or infinite value')}; all must be finite."
        )
    return v


def real_array(values: Any) -> np.ndarray | None:
    """Return real numbers in any container as an array, with NaN for masked ones; None for anything else."""
    if isinstance(values, bytes | bytearray | memoryview):
        return None
    if isinstance(values, range) and len(values) > 2**24:  # a short expression could exhaust the memory
        return None
    try:
        masked = isinstance(values, np.ma.MaskedArray)
        v = np.ma.filled(values.astype(float), np.nan) if masked else np.asarray(values)
        if v.dtype == object and v.ndim == 1:
            array = pd.array(v.tolist())
            if not (pd.api.types.is_numeric_dtype(array.dtype) or pd.api.types.is_bool_dtype(array.dtype)):
                return None
            v = array.to_numpy(dtype=np.float64, na_value=np.nan)
    except Exception:  # a user's class may raise any error when it is converted
        return None
    return v if v.dtype.kind in "biuf" else None


def rows_of(values: Any, role: str, k: int, fewer: int = 0) -> np.ndarray:
    """Return an array of shape (n, k), or (n, fewer), of finite real numbers, or raise ShapeError.

    `role` is the plural noun for the rows in messages.
    """
    numbers = real_array(values)
    if numbers is None or not np.isfinite(numbers).all():
        content = "missing or infinite values" if numbers is not None else "something else"
        raise errors.ShapeError(
            f"{role} of type {type(values).__name__} was given, containing {content}; it must contain finite "
            "real numbers."
        )
    if numbers.ndim != 2 or numbers.shape[1] not in ({k, fewer} if fewer else {k}):
        raise errors.ShapeError(
            f"{role} has shape {numbers.shape}; it must have {plural(k, 'column')} for the components."
        )
    return numbers.astype(np.float64)


def suspicious(matrix: Any) -> bool:
    """Whether the sum of all values is not finite: a cheap test without a mask as large as the data."""
    values = matrix.data if is_sparse(matrix) else matrix
    with np.errstate(all="ignore"):
        return not np.isfinite(np.add.reduce(values, axis=None))


def _entries(matrix: Any, test: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and column numbers of the stored entries that pass `test`."""
    if is_sparse(matrix):
        entries = np.flatnonzero(test(matrix.data))
        inner = matrix.indices[entries]
        outer = np.searchsorted(matrix.indptr, entries, side="right") - 1
        return (outer, inner) if matrix.format == "csr" else (inner, outer)
    rows, columns = np.nonzero(test(matrix))
    return rows, columns
