"""The types of data that are accepted, and their conversion to one matrix of floats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.config import library_of, listed, nearest, offers, plural, shown
from spcastat.intake.checks import kind_of, require_exact, require_numbers, rounding
from spcastat.intake.sparse import require_sound_columns, sound
from spcastat.kernels.sparsity import is_sparse
from spcastat.kernels.whole_numbers import LARGEST, first_rounded, first_rounded_of

#: Data up to this size in bytes (64 MB) are copied, so that a fit does not change when the caller later
#: changes the data in place. Larger arrays may be used without a copy and must be left unchanged.
COPY_LIMIT = 64 * 1024 * 1024

_ALLOWED = (
    "a pandas DataFrame, a two-dimensional NumPy array, a scipy.sparse matrix or array, an eager table that "
    "narwhals knows (polars.DataFrame, pyarrow.Table), or an array of xarray; for rows in chunks the path of "
    "a Parquet file or folder, a pattern or list of paths, a polars.LazyFrame, a dataset of pyarrow, a "
    "relation of DuckDB, arrays in files (numpy.memmap, zarr, h5py), a list of tables, or a function that "
    "opens them again"
)


@dataclass(frozen=True, eq=False)
class Table:
    """Two-dimensional data from any container, not yet checked for types or missing values.

    Attributes
    ----------
    values : DataFrame, ndarray of shape (n, p), or scipy.sparse array of shape (n, p)
        Sparse values are in CSC format, or in CSR format if given in it and too large to copy.
    columns, index : pandas.Index
        p and n labels; copies, so that later changes by the caller have no effect.
    named, labelled : bool
        Whether the columns, and the rows, have labels from the user.
    shared : bool
        Whether `values` share memory with the caller's data.
    """

    values: Any
    columns: pd.Index
    index: pd.Index
    named: bool
    labelled: bool
    shared: bool = True


def array_labels(p: int) -> pd.Index:
    """Return the labels x1, ..., xp of columns without names."""
    return _numbered(p).copy()


@lru_cache(maxsize=1)
def _numbered(p: int) -> pd.Index:
    """Return the labels x1, ..., xp; cached, because every chunk of a stream needs the same ones."""
    return pd.Index([f"x{j}" for j in range(1, p + 1)])


def open_table(data: Any) -> Table:
    """Convert data of any accepted type to a table.

    Parameters
    ----------
    data : DataFrame, ndarray, scipy.sparse matrix or array, polars or pyarrow table

    Raises
    ------
    DataError
        For another type.
    ShapeError
        If the data are not two-dimensional or have no columns.
    ColumnTypeError
        For an array that does not hold real numbers (columns of data frames are not checked here).
    SparseStructureError
        For sparse data with invalid structure, e.g. indices out of range.
    """
    if library_of(data) == "narwhals":
        import narwhals as nw

        data = nw.to_native(data, pass_through=True)
    if isinstance(data, pd.DataFrame):
        require_sound_columns(data)
        table = Table(data, data.columns.copy(), data.index.copy(), named=True, labelled=True)
    elif is_sparse(data):
        values = _open_sparse(data)
        table = _unnamed(values, data.format == values.format and _overlap(values, data))
    elif isinstance(data, np.ndarray):
        values = _open_array(data)
        table = _unnamed(values, bool(np.may_share_memory(values, data)))
    elif library_of(data) == "xarray":
        from spcastat.intake.other_libraries import table_of

        return open_table(table_of(data))
    else:
        table = _open_other(data)
    if not len(table.columns):
        raise errors.ShapeError(
            f"The data have {plural(len(table.index), 'row')} and no columns; at least one is needed."
        )
    return table


def require_unique(columns: pd.Index) -> None:
    """Raise DuplicateNamesError if two columns share a name."""
    twice = columns[columns.duplicated()].unique()
    if len(twice):
        raise errors.DuplicateNamesError(
            f"More than one column is called {listed(twice)}; names must differ. Rename them, or drop the "
            "repeated ones with df.loc[:, ~df.columns.duplicated()]."
        )


def frame_numbers(frame: pd.DataFrame, positions: Sequence[int] | None = None) -> tuple[np.ndarray, bool]:
    """Return the columns of `frame` at `positions`, by default all, as one array.

    Raises
    ------
    ColumnTypeError
        If one of them does not hold real numbers.

    Returns
    -------
    matrix : ndarray of shape (n, p)
        float32 if every column is, float64 otherwise; missing values are NaN.
    shared : bool
        Whether the array shares memory with `frame`.
    """
    chosen = frame
    if positions is not None and list(positions) != list(range(frame.shape[1])):
        chosen = frame.iloc[:, list(positions)]
    require_numbers(chosen)
    require_exact(chosen)
    dtypes = set(chosen.dtypes)
    dtype = np.float32 if {str(d).lower() for d in dtypes} == {"float32"} else np.float64
    if all(isinstance(d, np.dtype) for d in dtypes):
        matrix = chosen.to_numpy(dtype=dtype)
    else:
        matrix = chosen.to_numpy(dtype=dtype, na_value=np.nan)
    first = frame.iloc[:, positions[0] if positions else 0]
    # A conversion allocates new memory; a view shares memory with its first column.
    shared = np.may_share_memory(matrix, first.to_numpy()) or not matrix.flags.writeable
    return matrix, bool(shared)


def numbers(table: Table) -> tuple[Any, bool]:
    """Return the matrix of a table and whether it shares the caller's memory.

    Raises
    ------
    ColumnTypeError
        If a column of a frame does not hold real numbers.
    """
    if not isinstance(table.values, pd.DataFrame):
        return table.values, table.shared
    frame: Any = table.values
    if all(isinstance(dtype, pd.SparseDtype) and dtype.fill_value == 0 for dtype in frame.dtypes):
        require_numbers(frame)
        require_exact(frame)
        return _open_sparse(frame.sparse.to_coo()), False
    return frame_numbers(frame)


def own(matrix: Any, shared: bool) -> Any:
    """Return a copy of `matrix` if it is `shared` and not above COPY_LIMIT, else `matrix` itself.

    A dense matrix is returned as a read-only view.
    """
    small = size_of(matrix) <= COPY_LIMIT
    if is_sparse(matrix):
        return matrix.copy() if shared and small else matrix
    if shared and small:
        matrix = np.array(matrix, order="K", copy=True)
    view = matrix.view()
    view.flags.writeable = False
    return view


def size_of(matrix: Any) -> int:
    """Return the size in bytes of a dense array, or of a CSC or CSR array."""
    if is_sparse(matrix):
        return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)
    return int(matrix.nbytes)


def _unnamed(values: Any, shared: bool) -> Table:
    n, p = values.shape
    return Table(values, array_labels(p), pd.RangeIndex(n), named=False, labelled=False, shared=shared)


def _overlap(a: Any, b: Any) -> bool:
    """Whether two sparse matrices of the same format share memory."""
    pairs = ((a.data, b.data), (a.indices, b.indices), (a.indptr, b.indptr))
    return any(np.may_share_memory(x, y) for x, y in pairs)


def _refuse_dtype(dtype: np.dtype, what: str) -> None:
    if dtype.kind in "biuf":
        return
    if dtype.names is not None:
        raise errors.ColumnTypeError(
            f"A structured array was given ({dtype}); use pd.DataFrame(data) instead."
        )
    hint = {
        "c": "take its real or imaginary part",
        "O": "if it holds numbers, convert it with data.astype(float); otherwise use a DataFrame",
    }.get(dtype.kind, "leave out the columns without numbers, or use a DataFrame")
    raise errors.ColumnTypeError(f"{what} of dtype {dtype} was given; it must hold real numbers: {hint}.")


def _open_array(data: np.ndarray) -> np.ndarray:
    if data.ndim != 2:
        hint = {
            0: "a single number is not a table",
            1: "use data.reshape(-1, 1) for one column or data.reshape(1, -1) for one row",
        }.get(data.ndim, "use data.reshape(len(data), -1) to put the further axes side by side")
        raise errors.ShapeError(
            f"An array of shape {data.shape} was given; it must be two-dimensional, rows by columns: {hint}."
        )
    _refuse_dtype(data.dtype, "An array")
    found = first_rounded(np.ma.compressed(data) if isinstance(data, np.ma.MaskedArray) else data)
    if found is not None:
        column = int(np.argwhere(np.ma.filled(data == found, False))[0][1])
        raise rounding(f"x{column + 1}", found)
    dtype = np.float32 if data.dtype == np.float32 else np.float64
    if isinstance(data, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(data.astype(dtype), np.nan))
    return np.asarray(data, dtype=dtype)


def _open_sparse(data: Any) -> Any:
    if data.ndim != 2:
        raise errors.ShapeError(
            f"A sparse array of shape {data.shape} was given; make it two-dimensional: data.reshape(1, -1)."
        )
    _refuse_dtype(data.dtype, "A sparse matrix")
    dtype = np.float32 if data.dtype == np.float32 else np.float64
    data = sound(data)
    if data.dtype.kind in "iu" and data.dtype.itemsize >= 8:
        entries = data.tocoo()
        if (found := first_rounded(entries.data)) is not None:
            raise rounding(f"x{int(entries.col[entries.data == found][0]) + 1}", found)
    data = data.astype(dtype, copy=False)  # before adding repeated entries, which may overflow
    from scipy.sparse import csc_array, csr_array

    rowwise = data.format == "csr" and data.data.nbytes + data.indices.nbytes > COPY_LIMIT
    matrix = csr_array(data, dtype=dtype) if rowwise else csc_array(data, dtype=dtype)
    if not matrix.has_canonical_format:
        # sum_duplicates works in place, so it must not get the caller's arrays.
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _open_other(data: Any) -> Table:
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    given = f"{type(data).__module__}.{type(data).__qualname__}".removeprefix("builtins.")
    if isinstance(data, pd.Series):
        raise errors.ShapeError(
            "A pandas Series was given; give series.to_frame() for one column, or its .T for one row."
        )
    if library_of(data) == "pyarrow" and type(data).__name__ == "RecordBatch":
        import pyarrow

        data = pyarrow.Table.from_batches([data])
    try:
        table = nw.from_native(data, eager_only=True)
    except DuplicateError as error:
        raise errors.DuplicateNamesError(
            f"Columns share a name: {error}. Names must differ; rename them."
        ) from None
    except TypeError:
        hints = {
            " It is empty.": isinstance(data, list | tuple) and not data,
            " Use np.asarray(data) if it is a list of rows.": isinstance(data, list | tuple),
            " Use pd.DataFrame(data).": isinstance(data, dict),
            " Read the file first, e.g. with pd.read_csv.": isinstance(data, str),
            " Write them to Parquet files where they are, as Spark's df.write.parquet(folder) does, and give "
            "the path.": offers(data, "collect"),
            " Use np.asarray(data), two-dimensional.": offers(data, "__array__"),
        }
        hint = next((hint for hint, applies in hints.items() if applies), "")
        raise errors.DataError(f"Data of type {given} were given; allowed are {_ALLOWED}.{hint}") from None
    native = table.to_native()
    stored = StoredIndex(
        table.columns, getattr(native, "schema", None) if library_of(native) == "pyarrow" else None
    )
    names = [name for name in table.columns if name not in stored.labels]
    try:
        columns = {name: _column(table[name]) for name in names}
    except DuplicateError as error:
        raise errors.DuplicateNamesError(
            f"Columns share a name: {error}. Names must differ; rename them."
        ) from None
    index = stored.index(lambda name: _column(table[name]), len(table))
    frame = pd.DataFrame(columns, index=index, columns=pd.Index(names), copy=False)
    labelled = bool(stored.labels) or stored.range is not None
    return Table(frame, frame.columns, frame.index, named=True, labelled=labelled)


def _column(series: Any) -> Any:
    """Convert a narwhals series to an array for a pandas column, without pyarrow."""
    import narwhals as nw

    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        wide = dtype in (nw.Int128, nw.UInt128)  # types that NumPy does not have
        plain = series.null_count() == 0 and not dtype.is_decimal() and not wide
        if not plain and (dtype.is_decimal() or dtype in (nw.Int64, nw.UInt64) or wide):
            known = series.drop_nulls()
            large = len(known) and max(abs(known.min()), abs(known.max())) > LARGEST
            if large and first_rounded_of(known.to_list()) is not None:  # refused by name if it is used
                return pd.Series(series.to_list(), dtype=object).array
        return (series if plain else series.cast(nw.Float64)).to_numpy()
    if dtype == nw.Categorical or dtype == nw.Enum:
        return pd.Categorical(series.to_list(), categories=getattr(dtype, "categories", None))
    if dtype == nw.String:
        return pd.array(series.to_list(), dtype="string" if pd.__version__ < "3" else "str")
    if dtype.is_temporal():
        return series.to_numpy()
    return pd.Series(series.to_list(), dtype=object).array


def take_weights(table: Table, weights: Any) -> tuple[Table, Any]:
    """Return a table without the column that `weights` names, and the values of that column.

    Parameters
    ----------
    table : Table
        Its column names are unique.
    weights : str or object
        If it is not text, it is returned unchanged, with the whole table. A name is also returned unchanged
        if the table is an array; :func:`spcastat.intake.checks.read_weights` then raises an error.

    Returns
    -------
    table : Table
    weights : array of shape (n,)
        In the order of the rows. It is only checked that they are numbers.

    Raises
    ------
    WeightsError
        If there is no such column, or it does not hold real numbers.
    ShapeError
        If there is no other column.
    """
    if not isinstance(weights, str) or not isinstance(table.values, pd.DataFrame):
        return table, weights
    labels = list(table.columns)
    if weights not in labels:
        raise errors.WeightsError(
            f"weights={shown(weights)} was given; the data have no such column; they have {listed(labels)}."
            f"{nearest(weights, labels)} Give the name of a column, or one number for each row."
        )
    place = labels.index(weights)
    column = table.values.iloc[:, place]
    if kind_of(column) != "number":
        raise errors.WeightsError(
            f"weights={shown(weights)} was given, a column that does not hold real numbers ({column.dtype})."
        )
    if len(table.columns) == 1:
        raise errors.ShapeError(f"The data have one column, the weights {shown(weights)}, and no variables.")
    left = table.values.drop(columns=table.values.columns[place])  # a view if possible
    return replace(table, values=left, columns=table.columns.delete(place)), column.array


#: Names that pandas gives to the levels of an index without names.
_UNNAMED = re.compile(r"__index_level_\d+__")


class StoredIndex:
    """Find the columns that hold the row labels of the stored data frame.

    pandas writes an index as columns and lists them in the metadata of the schema. If a library such as
    polars has dropped the metadata, columns called ``__index_level_0__`` and so on are recognised by their
    names.

    Parameters
    ----------
    names : sequence of str
        The names of all columns.
    schema : pyarrow.Schema, optional

    Raises
    ------
    FileError
        If the metadata of pandas are damaged.
    """

    def __init__(self, names: Any, schema: Any = None):
        stored = [] if schema is None else _stored(schema)
        self.labels = [name for name in stored if isinstance(name, str) and name in names]
        if not self.labels:
            self.labels = [name for name in names if _UNNAMED.fullmatch(str(name))]
        ranges = [one for one in stored if isinstance(one, dict) and one.get("kind") == "range"]
        self.range = ranges[0] if len(ranges) == 1 and not self.labels else None

    def index(self, columns: Any, n: int, start: int | None = None) -> pd.Index:
        """Return the labels of n rows.

        Parameters
        ----------
        columns : callable
            Returns the n values of a column, given its name.
        n : int
        start : int or None
            Number of rows of the stored frame that precede the n rows. None if these are the whole frame: if
            a stored range has another length, they are numbered from 0.
        """
        if self.labels:
            arrays = [columns(name) for name in self.labels]
            names = [None if _UNNAMED.fullmatch(name) else name for name in self.labels]
            if len(arrays) == 1:
                return pd.Index(arrays[0]).rename(names[0])  # pd.Index(name=None) would keep the array's name
            return pd.MultiIndex.from_arrays(arrays, names=names)
        if self.range is None:
            return pd.RangeIndex(n)
        first, step = self.range["start"], self.range["step"]
        if start is None and len(range(first, self.range["stop"], step)) != n:  # a slice of what was stored
            return pd.RangeIndex(n)
        if (first, step) == (0, 1):
            return pd.RangeIndex(n)
        first += step * (start or 0)
        return pd.RangeIndex(first, first + step * n, step, name=self.range.get("name"))


def _stored(schema: Any) -> list[Any]:
    """Return pandas' metadata about the index; raise FileError if they are damaged."""
    try:
        stored = (schema.pandas_metadata or {}).get("index_columns", [])
        for one in stored:
            if isinstance(one, dict) and one.get("kind") == "range":
                range(int(one["start"]), int(one["stop"]), int(one["step"]))
        return list(stored)
    except Exception as error:  # damaged metadata can cause any error
        raise errors.FileError(
            "The block that pandas writes into a Parquet file about its labels is damaged. Write the file "
            "again, or without that block: table.replace_schema_metadata(None)."
        ) from error
