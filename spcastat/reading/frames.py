"""Tables of any kind as a matrix with names: frames, arrays, sparse matrices, blocks of variables.

Frames of other libraries (polars, pyarrow) are read through narwhals.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.arguments import LARGEST_WHOLE, elements, library_of, listed, nearest, offers, plural, shown
from spcastat.errors import DataError, ShapeError, SparseStructureError
from spcastat.linalg.accumulate import is_sparse
from spcastat.reading.checks import (
    first_rounded,
    first_rounded_of,
    kind_of,
    require_exact,
    require_numbers,
    rounding,
)

# --- sparse matrices ------------------------------------------------------------------------------


def checked_sparse(data: Any) -> Any:
    """Check the structure of a two-dimensional sparse matrix or array with scipy's checks, and return it.

    Every index is checked once; values are not checked, and the large arrays are not copied. Unsorted and
    repeated indices and explicit zeros are valid. Unused space after the last entry is valid, and is cut off.

    Parameters
    ----------
    data : scipy.sparse matrix or array of shape (n, p), of any format

    Raises
    ------
    SparseStructureError
        If indices, pointers, values and shape contradict one another.
    """
    try:
        if data.format in ("csr", "csc", "bsr"):
            return _compressed(data)
        if data.format == "lil":
            lengths = [[len(row) for row in lists] for lists in (data.rows, data.data)]
            if lengths[0] != lengths[1] or len(lengths[0]) != data.shape[0]:
                raise ValueError("its lists of indices and of values differ in length")
            return _compressed(data.tocsr())
        if data.format == "dia":
            _require_integers(offsets=data.offsets)
            data = type(data)((data.data, data.offsets), shape=data.shape)  # the constructor checks
        entries = data.tocoo()  # for COO, DIA and DOK
        _require_integers(rows=entries.coords[0], columns=entries.coords[1])
        return type(entries)((entries.data, entries.coords), shape=data.shape)
    except (TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        raise SparseStructureError(
            f"The sparse matrix ({data.format.upper()}, shape {tuple(data.shape)}) is damaged: {error}. "
            "Build it again from its entries: scipy.sparse.coo_array((values, (rows, columns)), shape)."
        ) from error


def _compressed(data: Any) -> Any:
    _require_integers(indices=data.indices, indptr=data.indptr)
    # scipy's check converts and cuts off the arrays in place, and skips the pointers if the last one is 0
    matrix = copy.copy(data)
    for name in ("indices", "indptr"):
        if getattr(matrix, name).dtype.kind == "u":  # scipy warns about unsigned indices
            setattr(matrix, name, getattr(matrix, name).astype(np.int64))
    matrix.check_format(full_check=True)
    if (np.diff(matrix.indptr) < 0).any():
        raise ValueError("its pointers (indptr) decrease")
    if data.format == "bsr" and any(n % b for n, b in zip(data.shape, data.blocksize, strict=True)):
        raise ValueError(f"its blocks of {data.blocksize} do not fill its shape")
    return matrix


def _require_integers(**arrays: Any) -> None:
    for name, values in arrays.items():
        if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "iu":
            raise TypeError(f"{name} must be integers along one axis")


# --- tables ---------------------------------------------------------------------------------------


#: Data up to this size in bytes (64 MB) are copied, so that a fit does not change when the caller later
#: changes the data in place. Larger arrays may be used without a copy and must be left unchanged.
COPY_LIMIT = 64 * 1024 * 1024

_LIBRARIES = (
    "a pandas DataFrame, a two-dimensional NumPy array, a scipy.sparse matrix or array, an eager table that "
    "narwhals knows (polars.DataFrame, pyarrow.Table); for rows in chunks the path of a Parquet file or "
    "folder, a pattern or list of paths, a polars.LazyFrame, a dataset of pyarrow, a relation of DuckDB, a "
    "numpy.memmap, a list of tables, or a function that opens them again"
)
_CHUNKS_OF_ROWS = "range(0, x.shape[0], 10_000)"
_PIECES = (
    f"a function that returns their rows in chunks, lambda: (x[i : i + 10_000] for i in {_CHUNKS_OF_ROWS})"
)
#: Libraries whose arrays are not read -> what to give instead of an array x.
_INSTEAD = {
    "xarray": f"x.to_pandas(), or for more rows than fit into memory lambda: (x[i : i + 10_000].to_pandas() "
    f"for i in {_CHUNKS_OF_ROWS})",
    **dict.fromkeys(("zarr", "h5py", "netCDF4"), _PIECES),
}


@dataclass(frozen=True, eq=False)
class InputTable:
    """Two-dimensional data from any container, not yet checked for types or missing values.

    Attributes
    ----------
    values : DataFrame, ndarray of shape (n, p), or scipy.sparse array of shape (n, p)
        Sparse values are in CSC format, or in CSR format if given in it and too large to copy.
    columns, index : pandas.Index
        p and n labels; copies, so that later changes by the caller have no effect.
    named, labelled : bool
        Whether the columns, and the rows, have labels from the user.
    """

    values: Any
    columns: pd.Index
    index: pd.Index
    named: bool
    labelled: bool


def array_labels(p: int) -> pd.Index:
    """Return the labels x1, ..., xp of columns without names."""
    return pd.Index([f"x{j}" for j in range(1, p + 1)])


def open_table(data: Any) -> InputTable:
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
        For an array that does not contain real numbers (columns of data frames are not checked here).
    SparseStructureError
        For sparse data with invalid structure, e.g. indices out of range.
    """
    if library_of(data) == "narwhals":
        import narwhals as nw

        data = nw.to_native(data, pass_through=True)
    if isinstance(data, pd.DataFrame):
        table = InputTable(data, data.columns.copy(), data.index.copy(), named=True, labelled=True)
    elif is_sparse(data):
        table = _unnamed(_open_sparse(data))
    elif isinstance(data, np.ndarray):
        table = _unnamed(_open_array(data))
    else:
        table = _open_other(data)
    if not len(table.columns):
        raise errors.ShapeError(
            f"The data have {plural(len(table.index), 'row')} and no columns; at least one is needed."
        )
    return table


def require_unique(columns: pd.Index) -> None:
    """Raise DuplicateNamesError if two columns share a name."""
    if not columns.is_unique:
        twice = columns[columns.duplicated()].unique()
        raise errors.DuplicateNamesError(
            f"More than one column is called {listed(twice)}; names must differ. Rename them, or drop the "
            "repeated ones with df.loc[:, ~df.columns.duplicated()]."
        )


def frame_numbers(frame: pd.DataFrame, positions: Sequence[int] | None = None) -> np.ndarray:
    """Return the columns of `frame` at `positions`, by default all, as one array of shape (n, p).

    It is float32 if every column is, and float64 otherwise; missing values are NaN. It may share the memory
    of the frame. Raises ColumnTypeError if a column does not contain real numbers.
    """
    columns = frame
    if positions is not None and list(positions) != list(range(frame.shape[1])):
        columns = frame.iloc[:, list(positions)]
    require_numbers(columns)
    require_exact(columns)
    dtypes = set(columns.dtypes)
    dtype = np.float32 if {str(d).lower() for d in dtypes} == {"float32"} else np.float64
    if all(isinstance(d, np.dtype) for d in dtypes):
        return columns.to_numpy(dtype=dtype)
    return columns.to_numpy(dtype=dtype, na_value=np.nan)


def numbers(table: InputTable) -> Any:
    """Return the matrix of a table; raise ColumnTypeError if a column does not contain real numbers."""
    if not isinstance(table.values, pd.DataFrame):
        return table.values
    frame: Any = table.values
    if all(isinstance(dtype, pd.SparseDtype) and dtype.fill_value == 0 for dtype in frame.dtypes):
        require_numbers(frame)
        require_exact(frame)
        return _open_sparse(frame.sparse.to_coo())
    return frame_numbers(frame)


def unshared(matrix: Any, shared: bool) -> Any:
    """Return a copy of `matrix` if it may be `shared` and is not above COPY_LIMIT, else `matrix` itself.

    A dense matrix is returned as a read-only view.
    """
    is_copied = size_of(matrix) <= COPY_LIMIT
    if is_sparse(matrix):
        return matrix.copy() if shared and is_copied else matrix
    if shared and is_copied:
        matrix = np.array(matrix, order="K", copy=True)
    view = matrix.view()
    view.flags.writeable = False
    return view


def size_of(matrix: Any) -> int:
    """Return the size in bytes of a dense array, or of a CSC or CSR array."""
    if is_sparse(matrix):
        return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)
    return int(matrix.nbytes)


def _unnamed(values: Any) -> InputTable:
    n, p = values.shape
    return InputTable(values, array_labels(p), pd.RangeIndex(n), named=False, labelled=False)


def _refuse_dtype(dtype: np.dtype, noun: str) -> None:
    if dtype.kind in "biuf":
        return
    if dtype.names is not None:
        raise errors.ColumnTypeError(
            f"A structured array was given ({dtype}); use pd.DataFrame(data) instead."
        )
    hint = {
        "c": "take its real or imaginary part",
        "O": "if it contains numbers, convert it with data.astype(float); otherwise use a DataFrame",
    }.get(dtype.kind, "leave out the columns without numbers, or use a DataFrame")
    raise errors.ColumnTypeError(f"{noun} of dtype {dtype} was given; it must contain real numbers: {hint}.")


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
    rounded = first_rounded(np.ma.compressed(data) if isinstance(data, np.ma.MaskedArray) else data)
    if rounded is not None:
        column = int(np.argwhere(np.ma.filled(data == rounded, False))[0][1])
        raise rounding(f"x{column + 1}", rounded)
    dtype = np.float32 if data.dtype == np.float32 else np.float64
    if isinstance(data, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(data.astype(dtype), np.nan))
    return np.asarray(data, dtype=dtype)


def _open_sparse(data: Any) -> Any:
    if data.ndim != 2:
        raise errors.ShapeError(
            f"A sparse array of shape {data.shape} was given; make it two-dimensional: data.reshape(-1, 1)."
        )
    _refuse_dtype(data.dtype, "A sparse matrix")
    dtype = np.float32 if data.dtype == np.float32 else np.float64
    data = checked_sparse(data)
    if data.dtype.kind in "iu" and data.dtype.itemsize >= 8:
        entries = data.tocoo()
        if (rounded := first_rounded(entries.data)) is not None:
            raise rounding(f"x{int(entries.col[entries.data == rounded][0]) + 1}", rounded)
    data = data.astype(dtype, copy=False)  # before adding repeated entries, which may overflow
    from scipy.sparse import csc_array, csr_array

    rowwise = data.format == "csr" and data.data.nbytes + data.indices.nbytes > COPY_LIMIT
    matrix = csr_array(data, dtype=dtype) if rowwise else csc_array(data, dtype=dtype)
    if not matrix.has_canonical_format:
        # sum_duplicates works in place, so it must not get the caller's arrays.
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _error_of_names(data: Any, error: Exception) -> errors.DuplicateNamesError:
    """Return the error for a table of another library in which columns share a name."""
    names = pd.Index(getattr(data, "column_names", []))
    repeated_names = names[names.duplicated()].unique()
    text = listed(repeated_names) if len(repeated_names) else " ".join(str(error).split())
    return errors.DuplicateNamesError(f"Columns share a name: {text}. Names must differ; rename them.")


def _open_other(data: Any) -> InputTable:
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    type_name = f"{type(data).__module__}.{type(data).__qualname__}".removeprefix("builtins.")
    if isinstance(data, pd.Series):
        raise errors.ShapeError(
            "A pandas Series was given; give series.to_frame() for one column, or its .T for one row."
        )
    if instead := _INSTEAD.get(library_of(data)):
        raise errors.DataError(f"Data of type {type_name} were given, which cannot be read; give {instead}.")
    if library_of(data) == "pyarrow" and type(data).__name__ == "RecordBatch":
        import pyarrow

        data = pyarrow.Table.from_batches([data])
    try:
        table = nw.from_native(data, eager_only=True)
    except DuplicateError as error:
        raise _error_of_names(data, error) from None
    except TypeError:
        if isinstance(data, dict):
            raise errors.DataError(
                "A dictionary was given as data, and a table is needed: give pd.DataFrame(data)."
            ) from None
        rows = list | tuple | dict | np.ndarray | Real
        if isinstance(data, list | tuple) and len(data) and isinstance(data[0], rows):
            raise errors.DataError(
                f"A {type_name} was given as data, and a table is needed: give pd.DataFrame(data, "
                "columns=names) with the names of the variables."
            ) from None
        hints = {
            " It is empty.": isinstance(data, list | tuple),
            " Read the file first, e.g. with pd.read_csv.": isinstance(data, str),
            " Write them to Parquet files where they are, as Spark's df.write.parquet(folder) does, and give "
            "the path.": offers(data, "collect"),
            " Use np.asarray(data), two-dimensional.": offers(data, "__array__"),
        }
        hint = next((hint for hint, applies in hints.items() if applies), "")
        raise errors.DataError(
            f"Data of type {type_name} were given; allowed types are {_LIBRARIES}.{hint}"
        ) from None
    native = table.to_native()
    stored_index = StoredIndex(
        table.columns, getattr(native, "schema", None) if library_of(native) == "pyarrow" else None
    )
    names = [name for name in table.columns if name not in stored_index.labels]
    try:
        columns = {name: _column(table[name]) for name in names}
    except DuplicateError as error:
        raise _error_of_names(data, error) from None
    index = stored_index.index(lambda name: _column(table[name]), len(table))
    frame = pd.DataFrame(columns, index=index, columns=pd.Index(names), copy=False)
    labelled = bool(stored_index.labels) or stored_index.range is not None
    return InputTable(frame, frame.columns, frame.index, named=True, labelled=labelled)


def _column(series: Any) -> Any:
    """Convert a narwhals series to an array for a pandas column, without pyarrow."""
    import narwhals as nw

    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        wide = dtype in (nw.Int128, nw.UInt128)  # types that NumPy does not have
        plain = series.null_count() == 0 and not dtype.is_decimal() and not wide
        if not plain and (dtype.is_decimal() or dtype in (nw.Int64, nw.UInt64) or wide):
            values = series.drop_nulls()
            is_rounded = len(values) and max(abs(values.min()), abs(values.max())) > LARGEST_WHOLE
            if is_rounded and first_rounded_of(values.to_list()) is not None:  # an error if used
                return pd.Series(series.to_list(), dtype=object).array
        return (series if plain else series.cast(nw.Float64)).to_numpy()
    if dtype == nw.Categorical or dtype == nw.Enum:
        return pd.Categorical(series.to_list(), categories=getattr(dtype, "categories", None))
    if dtype == nw.String:
        return pd.array(series.to_list(), dtype="string" if pd.__version__ < "3" else "str")
    if dtype.is_temporal():
        return series.to_numpy()
    return pd.Series(series.to_list(), dtype=object).array


def take_weights(table: InputTable, weights: Any) -> tuple[InputTable, Any]:
    """Return a table without the column that `weights` names, and the values of that column.

    Parameters
    ----------
    table : InputTable
        Its column names are unique.
    weights : str or object
        If it is not text, it is returned unchanged, with the whole table. A name is also returned unchanged
        if the table is an array; :func:`spcastat.reading.checks.read_weights` then raises an error.

    Returns
    -------
    table : InputTable
    weights : array of shape (n,)
        In the order of the rows. They are only checked to be numbers.

    Raises
    ------
    WeightsError
        If there is no such column, or it does not contain real numbers.
    ShapeError
        If there is no other column.
    """
    if not isinstance(weights, str) or not isinstance(table.values, pd.DataFrame):
        return table, weights
    remainder, column = take_column(table, weights, "weights", errors.WeightsError)
    if kind_of(column) != "number":
        raise errors.WeightsError(
            f"weights={shown(weights)} was given, a column that does not contain real numbers "
            f"({column.dtype})."
        )
    return remainder, column.array


def take_column(
    table: InputTable, name: str, option: str, error: type[DataError], keep: bool = False
) -> tuple[InputTable, pd.Series]:
    """Return a table without the column called `name`, unless `keep` is true, and that column.

    Raises
    ------
    DataError
        Of type `error` if there is no such column; ShapeError if there is no other column.
    """
    labels = list(table.columns)
    if name not in labels:
        raise error(
            f"{option}={shown(name)} was given, which is not a column; the columns are {listed(labels)}."
            f"{nearest(name, labels)} Give the name of a column, or one value for each row."
        )
    place = labels.index(name)
    column = table.values.iloc[:, place]
    if keep:
        return table, column
    if len(labels) == 1:
        raise ShapeError(f"The data have one column, {option}={shown(name)}, and no variables.")
    remainder = table.values.drop(columns=table.values.columns[place])  # a view if possible
    return replace(table, values=remainder, columns=table.columns.delete(place)), column


#: Names that pandas gives to the levels of an index without names.
_UNNAMED_LEVELS = re.compile(r"__index_level_\d+__")


class StoredIndex:
    """Find the columns that contain the row labels of the stored data frame.

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
        entries = [] if schema is None else _index_metadata(schema)
        self.labels = [name for name in entries if isinstance(name, str) and name in names]
        if not self.labels:
            self.labels = [name for name in names if _UNNAMED_LEVELS.fullmatch(str(name))]
        ranges = [entry for entry in entries if isinstance(entry, dict) and entry.get("kind") == "range"]
        self.range = ranges[0] if len(ranges) == 1 and not self.labels else None

    def index(self, columns: Any, n: int, start: int | None = None) -> pd.Index:
        """Return the labels of n rows.

        Parameters
        ----------
        columns : callable
            Takes the name of a column and returns its n values.
        n : int
        start : int or None
            Number of rows of the stored frame that precede the n rows. None if the n rows are the whole
            frame; they are then numbered from 0 if a stored range has another length.
        """
        if self.labels:
            arrays = [columns(name) for name in self.labels]
            names = [None if _UNNAMED_LEVELS.fullmatch(name) else name for name in self.labels]
            if len(arrays) == 1:
                return pd.Index(arrays[0]).rename(names[0])  # pd.Index(name=None) would keep the array's name
            return pd.MultiIndex.from_arrays(arrays, names=names)
        if self.range is None:
            return pd.RangeIndex(n)
        origin, step = self.range["start"], self.range["step"]
        if start is None and len(range(origin, self.range["stop"], step)) != n:  # a slice of the stored frame
            return pd.RangeIndex(n)
        if (origin, step) == (0, 1):
            return pd.RangeIndex(n)
        origin += step * (start or 0)
        return pd.RangeIndex(origin, origin + step * n, step, name=self.range.get("name"))


def _index_metadata(schema: Any) -> list[Any]:
    """Return pandas' metadata about the index; raise FileError if they are damaged."""
    try:
        entries = (schema.pandas_metadata or {}).get("index_columns", [])
        for entry in entries:
            if isinstance(entry, dict) and entry.get("kind") == "range":
                range(int(entry["start"]), int(entry["stop"]), int(entry["step"]))
        return list(entries)
    except Exception as error:  # damaged metadata can cause any error
        raise errors.FileError(
            "The metadata about labels that pandas writes into a Parquet file are damaged. Write the file "
            "again, or without these metadata: table.replace_schema_metadata(None)."
        ) from error


# --- groups of variables --------------------------------------------------------------------------


def variable_groups(groups: Any, index: pd.Index) -> pd.Categorical:
    """Return the group of every variable, in the order of `index`, as a categorical.

    `groups` is a sequence of names, a mapping or Series from variables to names, or a Categorical. Groups
    given by names are in the order of their first occurrence. Raises ShapeError for anything else.
    """
    if isinstance(groups, pd.DataFrame):
        raise ShapeError(
            f"sections is a data frame of shape {groups.shape}; give one column, a section for each variable."
        )
    if hasattr(groups, "keys") and not isinstance(groups, pd.Series):
        groups = pd.Series(dict(groups), dtype=object)
    if isinstance(groups, pd.Series) and not groups.index.equals(index):
        if not groups.index.is_unique or not any(name in index for name in groups.index.to_flat_index()):
            raise ShapeError(
                "sections names none of the variables; its labels must be names of variables. For groups of "
                "rows use groups= of biplot(), plot_scores() and report()."
            )
        groups = groups.reindex(index)
    values = groups.array if isinstance(groups, pd.Series) else groups
    group_labels = values if isinstance(values, pd.Categorical) else _named_groups(values, len(index))
    if len(group_labels) != len(index):
        raise ShapeError(
            f"sections has {len(group_labels)} values for {len(index)} variables; give one for each."
        )
    return group_labels


def _named_groups(values: Any, p: int) -> pd.Categorical:
    """Return the groups of a sequence of p names; raise ShapeError for anything else."""
    try:
        names = pd.Series(elements(values, p), dtype=object)
        names_given = list(dict.fromkeys(names.dropna()))
        return pd.Categorical(names, categories=pd.Index(names_given, dtype=object, tupleize_cols=False))
    except Exception:  # values that cannot be hashed or compared, or text that is not valid
        raise ShapeError(
            f"sections={shown(values)} was given; give {p} names or None, or a mapping from variables to "
            "names."
        ) from None


# --- tables of other libraries --------------------------------------------------------------------


#: Name of the column with the numbers of the remaining rows, if some were dropped.
ROW = "row"


def in_library_of(data: Any, frame: pd.DataFrame) -> Any:
    """Return a table of numbers in the library of `data`.

    Parameters
    ----------
    data : any data
        The user's data: a polars or Arrow table, or a narwhals frame of one. For anything else, `frame`
        itself is returned.
    frame : DataFrame
        The result. If its row labels are not 0, 1, ..., they become the first columns, with the names of the
        index or "row". Missing values become null.

    Returns
    -------
    DataFrame, or table of the other library
    """
    table = _other_library(data)
    if table is None:
        return frame
    import narwhals as nw

    if not frame.index.equals(pd.RangeIndex(len(frame))):
        frame = frame.rename_axis([name or ROW for name in frame.index.names]).reset_index()
    columns = {str(name): _values(column) for name, column in frame.items()}
    return nw.from_dict(columns, backend=table.implementation).to_native()


def with_columns(data: Any, frame: pd.DataFrame, names: list[str]) -> Any:
    """Return `data` with the additional columns `names` of `frame`, in the library of `data`.

    Parameters
    ----------
    data : any data
    frame : DataFrame
        The data with the additional columns, in pandas.
    names : list of str
    """
    table = _other_library(data)
    if table is None:
        return frame
    import narwhals as nw

    frame_of_library = nw.from_dict(
        {name: _values(frame[name]) for name in names}, backend=table.implementation
    )
    return table.with_columns(*(frame_of_library[name] for name in names)).to_native()


def is_polars(data: Any) -> bool:
    """Return whether the data are a frame of polars, or a narwhals frame of one."""
    table = _other_library(data)
    return table is not None and table.implementation.is_polars()


def _other_library(data: Any) -> Any:
    """Return `data` as a narwhals frame; None if their library is pandas or has the interface of pandas."""
    if isinstance(data, (pd.DataFrame, np.ndarray)):
        return None
    import narwhals as nw

    table = nw.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame) or table.implementation.is_pandas_like():
        return None
    return table


def _values(column: pd.Series) -> Any:
    """Return the values of a column as Python or NumPy types, with None for missing values."""
    if column.dtype.kind in "fiub" and column.notna().all():
        return column.to_numpy()
    cells = zip(column.to_list(), column.isna(), strict=True)
    return [None if missing else value for value, missing in cells]


def as_pandas(data: Any) -> Any:
    """Return a small square table of polars, pyarrow or narwhals as a pandas frame; other data unchanged.

    A table with one column more than rows is also converted, since one column may contain the names.
    """
    try:
        if library_of(data) not in ("polars", "pyarrow", "narwhals"):
            return data
        if data.shape[1] - data.shape[0] not in (0, 1):
            return data
        table = open_table(data)
    except Exception:  # a lazy frame without a shape, or a table that is refused later with its reason
        return data
    return table.values
