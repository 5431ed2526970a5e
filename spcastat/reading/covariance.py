"""Read and check a covariance or correlation matrix.

Matrices in papers and printouts may have only one triangle, names in a column, and cells with marks. A
printed matrix is completed before it is checked: the other triangle is mirrored, a missing unit diagonal is
filled in, and a column of names becomes the labels of the rows.
"""

from __future__ import annotations

import re
from math import isqrt
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from spcastat.arguments import flag, listed, shown, whole_number
from spcastat.errors import ColumnTypeError, CovarianceError, OptionError, WeightsError
from spcastat.linalg.accumulate import is_sparse
from spcastat.linalg.operators import GRAM_ORDER, unit_of
from spcastat.reading.checks import aligned, require_numbers, vector
from spcastat.reading.design import Covariance
from spcastat.reading.frames import array_labels, as_pandas, checked_sparse, require_unique
from spcastat.reading.missing_values import nearest_correlation

#: Allowed asymmetry, as a share of the largest entry, and allowed size of a negative eigenvalue, as a share
#: of the largest eigenvalue.
MATRIX_TOLERANCE = 1e-8
#: The same for matrices in single precision.
TOLERANCE_SINGLE = 1e-5
#: Advice for rows given in place of a matrix, which applies to every function.
FOR_ROWS = (
    " For rows of observations, give their covariance matrix, or call the function for rows, such as "
    "spca(data, ...)."
)
#: Kinds of correlations other than Pearson's correlations of the raw values.
OF_CODES = ("polychoric", "mixed", "spearman")


def read_covariance(
    S: Any, *, n_obs: Any = None, mean: Any = None, sd: Any = None, nearest: Any = False
) -> Covariance:
    """Check a covariance or correlation matrix.

    Parameters
    ----------
    S : DataFrame, ndarray, polars or pyarrow table of shape (p, p)
        Symmetric up to 1e-8 of its largest absolute entry (1e-5 in single precision), and positive
        semidefinite: no eigenvalue below -1e-8 times the largest. The rows of a DataFrame must have the
        labels of its columns, in the same order; the rows of a polars or pyarrow table have no labels, and
        must be in the order of the columns. The columns of an array are called x1, ..., xp. A Covariance
        that this function returned is not checked again.
    n_obs : int, optional
        The number of rows that the matrix was computed from, at least 2.
    mean, sd : array-like of shape (p,), optional
        Subtracted from new rows, which are then divided by the (positive) standard deviations. A Series
        is aligned by label.
    nearest : bool
        Whether the nearest correlation matrix, with the variances of `S`, replaces one that is not positive
        semidefinite.

    Returns
    -------
    Covariance
        Its matrix is a symmetric read-only copy, float64.

    Raises
    ------
    CovarianceError
        If `S` is not a covariance matrix.
    ColumnTypeError, DuplicateNamesError
        If `S` does not contain real numbers, or labels are repeated.
    OptionError
        If `n_obs` is not a whole number of 2 or more.
    WeightsError
        If `mean` or `sd` are not valid.
    """
    if isinstance(S, Covariance):
        matrix, columns, is_labelled, about = S.matrix, S.columns, S.named, S.about
    else:
        matrix, columns, is_labelled, about = _validated(S, flag("nearest", nearest))
    n_obs = about.get("n_obs") if n_obs is None else n_obs
    rows = None if n_obs is None else whole_number("n_obs", n_obs, 2)
    centre = None if mean is None else _labelled_vector(mean, columns, is_labelled, "mean")
    spread = None if sd is None else _labelled_vector(sd, columns, is_labelled, "sd")
    if spread is not None and (spread <= 0).any():
        constant = columns[spread <= 0]
        raise WeightsError(
            f"sd is zero or negative for {listed(constant)}; it must contain positive standard deviations."
        )
    if centre is not None and about.get("kind") in OF_CODES:
        raise OptionError(
            f"mean was given with {about['kind']} correlations, which differ from the correlations of the "
            "numbers in the rows, so rows have no scores. Leave mean out, or fit the rows: spca(data, ..., "
            "scale=True)."
        )
    return Covariance(matrix, columns, centre, spread, rows, is_labelled, about)


def _validated(S: Any, nearest: bool) -> tuple[np.ndarray, pd.Index, bool, dict[str, Any]]:
    """Return a read-only copy of a matrix, its labels, whether these are the user's, and facts about it."""
    S, completion = completed_matrix(_with_labels(as_pandas(S), S))
    raw, columns, is_labelled, tolerance = _entries(S)
    _require_finite(raw, columns)
    _require_variances(raw)
    unit = unit_of(float(np.abs(raw).max()))
    matrix = _symmetric(raw, columns, tolerance, unit)
    if not matrix.any():
        raise CovarianceError("All entries of the matrix are zero; there is no variance to explain.")
    about = _known_of(S) | ({"completed": completion} if completion else {})
    if nearest:
        matrix = _nearest(matrix, columns, about)
    _require_semidefinite(matrix, columns, tolerance, unit)
    matrix *= unit
    matrix *= unit  # twice, because the square of the unit may overflow
    matrix.flags.writeable = False
    return matrix, columns, is_labelled, about


def _known_of(S: Any) -> dict[str, Any]:
    """Return the facts that `spcastat.correlation` stored with a matrix: its kind and numbers of rows."""
    attrs = S.attrs.get("spcastat") if isinstance(S, pd.DataFrame) else None
    if not isinstance(attrs, dict) or not isinstance(attrs.get("kind"), str):
        return {}
    numbers = {name: attrs[name] for name in ("n_obs", "n_pairs_min") if type(attrs.get(name)) is int}
    return {"kind": attrs["kind"], **numbers}


def _nearest(S: np.ndarray, columns: pd.Index, about: dict[str, Any]) -> np.ndarray:
    """Return the nearest semidefinite matrix with the variances of S; record the changes in `about`."""
    variances = np.diag(S)
    if variances.min() <= 0.0:
        j = int(variances.argmin())
        raise CovarianceError(
            f"nearest=True was given, but the variance of {shown(columns[j])} is {S[j, j]:g}; the nearest "
            "matrix keeps the variances, which must be positive. Leave that variable out."
        )
    spread = np.sqrt(variances)
    correlation = S / np.outer(spread, spread)
    np.fill_diagonal(correlation, 1.0)
    nearest_matrix = nearest_correlation(correlation)
    if nearest_matrix.moved == 0.0:
        return S
    i, j = divmod(int(np.abs(nearest_matrix.correlation - correlation).argmax()), len(S))
    about |= {
        "smallest": nearest_matrix.smallest,
        "moved": nearest_matrix.moved,
        "largest": nearest_matrix.largest,
        "pair": [shown(columns[i]), shown(columns[j])],
    }
    matrix: np.ndarray = nearest_matrix.correlation * np.outer(spread, spread)
    return matrix


#: The two kinds of square symmetric tables.
MATRIX, DISTANCE_MATRIX = "a covariance or correlation matrix", "a matrix of distances"
OF_DISTANCES = "is square and symmetric with zeros on the diagonal, as a matrix of distances is"
ADVICE_OF_DISTANCES = (
    "components are computed from rows and variables, so give the table that the distances were computed "
    "from, or its principal coordinates, such as those of sklearn.manifold.MDS(metric='precomputed')"
)


def looks_like(S: np.ndarray, labelled: bool) -> str:
    """Return MATRIX or DISTANCE_MATRIX for numbers of shape (p, p) that look like such a matrix, else "".

    Without labels, entries must be covariances that the variances allow, or nonnegative distances.
    """
    # NaN and infinity make the comparisons false.
    if not (np.isfinite(S).all() and np.abs(S - S.T).max() <= MATRIX_TOLERANCE * np.abs(S).max()):
        return ""
    variances = np.diag(S)
    if len(S) > 1 and not variances.any() and S.any() and (S >= 0).all():
        return DISTANCE_MATRIX
    if labelled:
        return MATRIX
    if len(S) < 2 or not (variances > 0).all():
        return ""
    spread = np.sqrt(variances)
    return MATRIX * bool((np.abs(S) <= np.outer(spread, spread) * (1 + MATRIX_TOLERANCE)).all())


def sparse_looks_like(S: Any) -> str:
    """Return the result of :func:`looks_like` for an unlabelled scipy.sparse matrix, which stays sparse."""
    if len(S.shape) != 2 or S.shape[0] != S.shape[1] or S.shape[0] < 2:
        return ""
    entries = checked_sparse(S).tocsr().astype(np.float64).tocoo()
    entries.sum_duplicates()
    values = entries.data
    if not (values.any() and np.isfinite(values).all()):
        return ""
    if abs(entries - entries.T).max() > MATRIX_TOLERANCE * np.abs(values).max():
        return ""
    variances = entries.diagonal()
    if not variances.any() and (values >= 0).all():
        return DISTANCE_MATRIX
    if not (variances > 0).all():
        return ""
    spread = np.sqrt(variances) * np.sqrt(1 + MATRIX_TOLERANCE)
    return MATRIX * bool((np.abs(values) <= spread[entries.row] * spread[entries.col]).all())


def _with_labels(frame: Any, table: Any) -> Any:
    """Label the rows of a square `frame` like its columns, if it comes from a `table` without row labels."""
    if frame is table or frame.shape[0] != frame.shape[1]:
        return frame
    return frame.set_axis(frame.columns, axis=0)


def _entries(S: Any) -> tuple[np.ndarray, pd.Index, bool, float]:
    """Return the entries, the labels, whether these are the user's, and the tolerance."""
    _require_no_vector(S)
    if isinstance(S, pd.DataFrame):
        _require_square(S.shape)
        require_unique(S.columns)
        _require_labels(S)
        require_numbers(S)
        single = any(str(dtype).lower() in ("float32", "float16") for dtype in S.dtypes)
        raw = S.to_numpy(dtype=np.float64, na_value=np.nan)
        return raw, S.columns.copy(), True, TOLERANCE_SINGLE if single else MATRIX_TOLERANCE
    if is_sparse(S):
        raise CovarianceError("A sparse covariance matrix was given; it must be dense: use S.toarray().")
    if not isinstance(S, np.ndarray):
        raise CovarianceError(
            f"A covariance matrix of type {type(S).__name__} was given; give a DataFrame or np.asarray(S)."
        )
    _require_square(S.shape)
    if S.dtype.kind not in "biuf":
        raise ColumnTypeError(f"A matrix of dtype {S.dtype} was given; it must contain real numbers.")
    single = S.dtype.kind == "f" and S.dtype.itemsize <= 4
    masked = isinstance(S, np.ma.MaskedArray)
    raw = np.ma.filled(S.astype(np.float64), np.nan) if masked else np.asarray(S, dtype=np.float64)
    return raw, array_labels(len(raw)), False, TOLERANCE_SINGLE if single else MATRIX_TOLERANCE


def _require_no_vector(S: Any) -> None:
    """Raise CovarianceError for a vector; the message shows how to give a triangle stored row by row."""
    is_list = isinstance(S, list | tuple) and len(S) > 0 and all(isinstance(entry, Real) for entry in S)
    if not (is_list or (isinstance(S, np.ndarray | pd.Series) and S.ndim == 1)):
        return
    p = (isqrt(8 * len(S) + 1) - 1) // 2
    advice = FOR_ROWS
    if p > 1 and p * (p + 1) // 2 == len(S):
        readings = ((p, "", "with"), (p + 1, ", -1", "without"))
        codes = [
            f"for {size} variables, {word} the diagonal: S = np.full(({size}, {size}), np.nan); "
            f"S[np.tril_indices({size}{offset})] = vector"
            for size, offset, word in readings
        ]
        advice = f" If it is a lower triangle row by row, give S instead, {', or '.join(codes)}."
    raise CovarianceError(f"A vector of {len(S)} numbers was given; a covariance matrix is square.{advice}")


def _require_square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 1:
        raise CovarianceError(
            f"A matrix of shape {shape} was given; a covariance matrix is square.{FOR_ROWS}"
        )


def _require_labels(S: pd.DataFrame) -> None:
    if S.index.equals(S.columns):
        return
    if S.index.is_unique and len(S.index.difference(S.columns, sort=False)) == 0:
        raise CovarianceError(
            "The rows of the matrix have the labels of the columns in another order: use "
            "S.loc[S.columns, S.columns]."
        )
    raise CovarianceError(
        f"The rows of the matrix are labelled {listed(S.index, 3)}, its columns {listed(S.columns, 3)}; both "
        "must have the same labels. If the rows are in the order of the columns, set S.index = S.columns."
    )


def _require_finite(raw: np.ndarray, columns: pd.Index) -> None:
    if not np.isfinite(raw).all():
        i, j = np.argwhere(~np.isfinite(raw))[0]
        raise CovarianceError(
            f"The matrix has missing or infinite entries, the first ({raw[i, j]}) in row "
            f"{shown(columns[i])}, column {shown(columns[j])}: leave out variables without variance or data."
        )


def _require_variances(raw: np.ndarray) -> None:
    if looks_like(raw, labelled=True) == DISTANCE_MATRIX:
        raise CovarianceError(f"The matrix {OF_DISTANCES}; {ADVICE_OF_DISTANCES}.")


def _symmetric(raw: np.ndarray, columns: pd.Index, tolerance: float, unit: float) -> np.ndarray:
    """Return the symmetric part of raw / unit**2, after checking that asymmetry is within `tolerance`."""
    matrix = raw / unit
    matrix /= unit
    gap = np.abs(matrix - matrix.T)
    largest_gap = float(gap.max())
    if largest_gap > tolerance * float(np.abs(matrix).max()):
        i, j = divmod(int(gap.argmax()), len(raw))
        raise CovarianceError(
            f"The matrix is not symmetric: the entries for {shown(columns[i])} and {shown(columns[j])} are "
            f"{raw[i, j]:.10g} and {raw[j, i]:.10g}. If that is rounding, use (S + S.T) / 2; if one triangle "
            "contains other values, give only the other one: S.where(np.tril(np.ones(S.shape)) > 0) is the "
            "lower triangle of a data frame."
        )
    return (matrix + matrix.T) / 2


def _require_semidefinite(S: np.ndarray, columns: pd.Index, tolerance: float, unit: float) -> None:
    """Raise CovarianceError unless S, the matrix divided by unit**2, is positive semidefinite."""
    largest = float(np.abs(S).max())
    if np.diag(S).min() < -tolerance * largest:
        j = int(np.diag(S).argmin())
        raise CovarianceError(
            f"The variance of {shown(columns[j])} is {S[j, j] * unit * unit:g}; variances cannot be negative."
        )
    # The largest diagonal entry is at most the largest eigenvalue: if this succeeds, S is semidefinite.
    shifted = S.copy()
    shifted.flat[:: len(S) + 1] += tolerance * (float(np.diag(S).max()) if len(S) <= GRAM_ORDER else largest)
    try:
        np.linalg.cholesky(shifted)
        return
    except np.linalg.LinAlgError:
        pass
    eigenvalue_text = ""
    if len(S) <= GRAM_ORDER:
        values = np.linalg.eigvalsh(S)
        if values[0] >= -tolerance * values[-1]:
            return
        ends = f"{values[0] * unit * unit:.4g} (the largest is {values[-1] * unit * unit:.4g})"
        eigenvalue_text = f": its smallest eigenvalue is {ends}"
        decimals = _decimals_that_explain(S * unit * unit, float(values[0]) * unit * unit)
        if decimals:
            raise CovarianceError(
                f"The matrix is not positive semidefinite{eigenvalue_text}. Its entries have {decimals} "
                "decimals, and rounding can cause this: give the matrix with more decimals, or use the "
                "nearest correlation matrix, nearest=True."
            )
    raise CovarianceError(
        "The matrix is not positive "
        f"semidefinite{eigenvalue_text}{_impossible_pair(S, columns, tolerance, unit)}. This often happens "
        "to rounded matrices and to pairwise deletion of missing values: compute the matrix from complete "
        "or imputed rows, or use the nearest correlation matrix, nearest=True."
    )


def _decimals_that_explain(S: np.ndarray, smallest: float) -> int:
    """Return the number of decimals of all entries, 2 to 6, if rounding explains an eigenvalue < 0.

    Rounding changes entries by at most half a unit of the last decimal, and eigenvalues by at most p times
    as much. Return 0 if the entries have fewer or more decimals, or the eigenvalue is lower.
    """
    for decimals in range(2, 7):
        if np.abs(S - np.round(S, decimals)).max() <= 1e-9 * 10.0**-decimals * max(1.0, np.abs(S).max()):
            return decimals if -smallest <= len(S) * 0.5 * 10.0**-decimals else 0
    return 0


def _impossible_pair(S: np.ndarray, columns: pd.Index, tolerance: float, unit: float) -> str:
    """Return text about a covariance that exceeds what its variances allow; empty if there is none."""
    spread = np.sqrt(np.clip(np.diag(S), 0, None))
    excess = np.abs(S) - np.outer(spread, spread)
    if excess.max() <= tolerance * np.abs(S).max():
        return ""
    i, j = divmod(int(excess.argmax()), len(S))
    covariance, variance1, variance2 = (float(S[at]) * unit * unit for at in ((i, j), (i, i), (j, j)))
    return (
        f"; the covariance {covariance:.4g} of {shown(columns[i])} and {shown(columns[j])} exceeds what "
        f"their variances {variance1:.4g} and {variance2:.4g} allow"
    )


def _labelled_vector(values: Any, columns: pd.Index, is_labelled: bool, option: str) -> np.ndarray:
    """Return mean or scale in the order of the columns."""
    if isinstance(values, bool | np.bool_):
        noun = {"sd": "the standard deviations", "mean": "the means"}[option]
        raise WeightsError(
            f"{option}={values} was given; pass {noun} of the {len(columns)} variables, or None."
        )
    if isinstance(values, pd.Series) and is_labelled:
        values = aligned(values, columns, option, "variables")
    out = vector(values, len(columns), option, "variables")
    out.flags.writeable = False
    return out


# --- matrices as they are printed -----------------------------------------------------------------


#: The text of blank cells.
BLANK_CELLS = ("", "-", "--", "\N{EN DASH}", "\N{EM DASH}", ".")
#: A heading that numbers a column: 1, "2." or "(3)".
_HEADING_NUMBER = re.compile(r"\(?(\d+)[.)]?")
#: Row labels that are not names of variables.
_ROW_NUMBER = re.compile(r"(row )?\(?\d+[.)]?")
#: A number with marks of significance, such as ".58**" or "0.42a".
_MARKED = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))\s*([*\N{DAGGER}\N{DOUBLE DAGGER}]*|[a-z])", re.ASCII)


def completed_matrix(S: Any) -> tuple[Any, str]:
    """Complete a matrix that was printed in part; return it and, for the header, what was completed.

    Parameters
    ----------
    S : object
        A complete matrix, or anything but a data frame or a two-dimensional array, is returned unchanged.

    Raises
    ------
    CovarianceError
        If a column of names contradicts the names of the columns, if a triangle has gaps, or if a diagonal is
        left out and entries exceed 1.
    ColumnTypeError
        If a table contains numbers as text, and a cell is not a number.
    """
    if isinstance(S, pd.DataFrame):
        matrix, numbered = _with_names_of_numbers(S)
        numbers, marked = _without_marks(_with_row_names(matrix))
        values, remarks = _completed(_values(numbers), numbers.columns)
        remarks += ["marks of significance left out"] * marked + ["numbered columns named by rows"] * numbered
        if values is not None:
            numbers = pd.DataFrame(values, index=numbers.index, columns=numbers.columns)
            numbers.attrs = S.attrs
        return numbers, ", ".join(remarks)
    if isinstance(S, np.ndarray):
        values, remarks = _completed(_values(S), None)
        return (S if values is None else values), ", ".join(remarks)
    return S, ""


def _with_names_of_numbers(S: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """Name numbered columns (1, 2, ...) like the rows; return the matrix and whether columns were numbered.

    The names are the row labels or the first column; "2. Anxiety" gives the name "Anxiety". Labels such as
    "row 2" show that the rows are observations.
    """
    p = len(S)
    in_column = S.shape == (p, p + 1) and p > 1 and not _is_numeric(S.dtypes.iloc[0])
    if not in_column and S.shape != (p, p):
        return S, False
    headings = [_HEADING_NUMBER.fullmatch(str(column).strip()) for column in S.columns[int(in_column) :]]
    labels = S.iloc[:, 0] if in_column else S.index
    names = [label.strip() for label in labels if isinstance(label, str)]
    if [int(heading[1]) for heading in headings if heading] != [*range(1, p + 1)]:
        return S, False
    if len({*names}) < p or "" in names or all(map(_ROW_NUMBER.fullmatch, names)):
        return S, False
    parts = [re.fullmatch(rf"\(?{number}[.):]?\s+(.+)", name) for number, name in enumerate(names, 1)]
    bare_names = {part[1]: None for part in parts if part}
    names = list(bare_names) if len(bare_names) == p else names
    matrix = S.iloc[:, 1:] if in_column else S
    return matrix.set_axis(names, axis=0).set_axis(names, axis=1), True


def _with_row_names(S: pd.DataFrame) -> pd.DataFrame:
    """Make the first column the row labels if it contains the names of the other columns."""
    p = len(S)
    if p < 1 or S.shape[1] != p + 1 or _is_numeric(S.dtypes.iloc[0]):
        return S
    names, columns = [str(name).strip() for name in S.iloc[:, 0]], S.columns[1:]
    column_names = [str(column).strip() for column in columns]
    if names == column_names:
        return S.iloc[:, 1:].set_axis(columns, axis=0)
    if len({*names} & {*column_names}) < 1:
        return S  # text, but no names of columns
    row = next(i for i in range(p) if names[i] != column_names[i])
    raise CovarianceError(
        f"The matrix has names of rows in column {shown(S.columns[0])}: row {row + 1} is "
        f"{shown(names[row])}, and column {row + 1} is {shown(column_names[row])}. "
        "Both must have the same names in the same order."
    )


def _is_numeric(dtype: Any) -> bool:
    """Return whether a column of this type has real numbers."""
    return pd.api.types.is_numeric_dtype(dtype) and dtype.kind != "c"


def _without_marks(S: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """Convert numbers written as text in a square table; return it, and whether marks were left out."""
    text = [j for j, dtype in enumerate(S.dtypes) if pd.api.types.is_string_dtype(dtype)]
    if S.shape[0] != S.shape[1] or not text or not S.columns.is_unique:
        return S, False
    columns, marked = {}, False
    for j, name in enumerate(S.columns):
        column = S.iloc[:, j]
        if j in text:
            cells = [_number(cell, name, label) for label, cell in zip(S.index, column, strict=True)]
            marked = marked or any(mark for _, mark in cells)
            column = pd.Series([value for value, _ in cells], index=S.index, dtype=float)
        columns[name] = column
    numbers = pd.concat(list(columns.values()), axis=1).set_axis(S.columns, axis=1)
    numbers.attrs = S.attrs
    return numbers, marked


def _number(cell: Any, column: Any, row: Any) -> tuple[float, bool]:
    """Return the number in a cell, NaN if it is blank, and whether a mark was left out."""
    if cell is None or cell is pd.NA:
        return float("nan"), False
    if isinstance(cell, Real):
        return float(cell), False
    text = cell.strip().replace("\N{MINUS SIGN}", "-") if isinstance(cell, str) else shown(cell)
    if text in BLANK_CELLS or text.lower() in ("nan", "na"):
        return float("nan"), False
    match = _MARKED.fullmatch(text)
    if match is None:
        raise ColumnTypeError(
            f"The matrix has {shown(cell)} in row {shown(row)}, column {shown(column)}; cells must be "
            "numbers, or blank above or below the diagonal. Write only the number."
        )
    return float(match[1]), bool(match[2])


def _values(S: Any) -> np.ndarray | None:
    """Return the entries of a square matrix of two or more numeric columns; None for anything else."""
    if S.ndim != 2 or S.shape[0] != S.shape[1] or len(S) < 2:
        return None
    if isinstance(S, pd.DataFrame):
        if not all(map(_is_numeric, S.dtypes)):
            return None
        return S.to_numpy(dtype=np.float64, na_value=np.nan)
    if S.dtype.kind != "f":
        masked = isinstance(S, np.ma.MaskedArray) and S.dtype.kind in "biuf"
        return np.ma.filled(S.astype(float), np.nan) if masked else None
    ends = np.ma.filled(S[[0, -1, 0], [-1, 0, 0]].astype(float), np.nan)
    if not np.isnan(ends).any():  # a quick answer, without reading all of a large array in a file
        return None
    return np.asarray(np.ma.filled(S.astype(np.float64), np.nan))


def _completed(values: np.ndarray | None, columns: pd.Index | None) -> tuple[np.ndarray | None, list[str]]:
    """Return the complete matrix and remarks on what was done; None and [] if it cannot be completed."""
    if values is None or not np.isnan(values).any():
        return None, []
    p = len(values)
    upper = np.triu(np.ones((p, p), dtype=bool), 1)
    gaps = np.isnan(values)
    remarks = []
    for name, empty in (("lower", upper), ("upper", upper.T)):
        if gaps[empty].all() and not gaps[empty.T].all():
            if gaps[empty.T].any():
                i, j = np.argwhere(gaps & empty.T)[0]
                raise CovarianceError(
                    f"The matrix is a {name} triangle, and its entry in {_cell(columns, i, j)} is missing: "
                    "fill it in, or leave one of the two variables out."
                )
            values = np.where(empty, values.T, values)
            remarks = [f"{name} triangle, mirrored"]
            break
    missing = np.isnan(np.diag(values))
    if np.isnan(values[upper | upper.T]).any() or not (remarks or missing.any()):
        return None, []
    if missing.any():
        _require_correlations(values, missing, columns)
        if not remarks:
            raise CovarianceError(
                "The diagonal of the matrix is missing, and both triangles are given: fill in the variances "
                "(1 for correlations), or give one triangle of correlations without its diagonal."
            )
        values = values.copy()
        np.fill_diagonal(values, 1.0)
        remarks.append("unit diagonal filled in")
    return values, remarks


def _require_correlations(values: np.ndarray, missing: np.ndarray, columns: pd.Index | None) -> None:
    """Raise CovarianceError unless the whole diagonal is missing and the other entries are correlations."""
    if not missing.all():
        j = int(np.flatnonzero(missing)[0])
        raise CovarianceError(
            f"The diagonal entry in {_cell(columns, j, j)} is missing: leave out variables without "
            "variance or data, or fill in the diagonal."
        )
    largest = np.nanmax(np.abs(values))
    if largest > 1.0:
        i, j = np.argwhere(np.abs(values) == largest)[0]
        raise CovarianceError(
            f"The diagonal of the matrix is missing, and the entry in {_cell(columns, i, j)} is "
            f"{values[i, j]:.6g}, not a correlation: fill in the variances."
        )


def _cell(columns: pd.Index | None, i: int, j: int) -> str:
    """Return the place of an entry as text."""
    names = [f"x{place + 1}" if columns is None else columns[place] for place in (i, j)]
    return f"row {shown(names[0])}, column {shown(names[1])}"
