"""Check the structure of sparse matrices: products with invalid ones would read beyond their arrays."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import SparseStructureError


def sound(data: Any) -> Any:
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
            lengths = [[len(one) for one in lists] for lists in (data.rows, data.data)]
            if lengths[0] != lengths[1] or len(lengths[0]) != data.shape[0]:
                raise ValueError("its lists of indices and of values differ in length")
            return _compressed(data.tocsr())
        if data.format == "dia":
            inside = (data.offsets > -data.shape[0]) & (data.offsets < data.shape[1])
            _require_integers(offsets=data.offsets)
            checked = type(data)((data.data, data.offsets), shape=data.shape)  # the constructor checks
            return type(data)((checked.data[inside], data.offsets[inside]), shape=data.shape)
        found = data.tocoo()  # of COO and DOK
        _require_integers(rows=found.coords[0], columns=found.coords[1])
        return type(found)((found.data, found.coords), shape=data.shape)
    except (TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        raise SparseStructureError(
            f"The sparse matrix ({data.format.upper()}, shape {tuple(data.shape)}) is damaged: {error}. "
            "Build it again from its entries: scipy.sparse.coo_array((values, (rows, columns)), shape)."
        ) from error


def _compressed(data: Any) -> Any:
    _require_integers(indices=data.indices, indptr=data.indptr)
    # scipy's check converts and cuts off the arrays in place, and skips the pointers if the last one is 0
    checked = copy.copy(data)
    for name in ("indices", "indptr"):
        if getattr(checked, name).dtype.kind == "u":  # scipy warns about unsigned indices
            setattr(checked, name, getattr(checked, name).astype(np.int64))
    checked.check_format(full_check=True)
    if (np.diff(checked.indptr) < 0).any():
        raise ValueError("its pointers (indptr) fall")
    if data.format == "bsr" and any(n % b for n, b in zip(data.shape, data.blocksize, strict=True)):
        raise ValueError(f"its blocks of {data.blocksize} do not fill its shape")
    return checked


def _require_integers(**arrays: Any) -> None:
    for name, values in arrays.items():
        if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "iu":
            raise TypeError(f"{name} must be integers along one axis")


def require_sound_columns(frame: pd.DataFrame) -> None:
    """Raise SparseStructureError if a sparse column of a data frame is damaged."""
    for place, dtype in enumerate(frame.dtypes):
        if not isinstance(dtype, pd.SparseDtype):
            continue
        held = frame.iloc[:, place].array
        index, values = held.sp_index, held.sp_values
        arrays = (index.blocs, index.blengths) if hasattr(index, "blocs") else (index.indices,)
        try:
            made = type(index)(index.length, *arrays)  # the constructor checks; it lets starts below 0 pass
            right = made.length == len(frame) and made.npoints == len(values)
            right = right and all((np.asarray(one) >= 0).all() for one in arrays)
        except ValueError:
            right = False
        if not right:
            raise SparseStructureError(
                f"The sparse column {frame.columns[place]!r} is damaged: positions contradict its length, "
                f"{len(frame)}. Make it again from a dense column: pd.arrays.SparseArray(values)."
            )
