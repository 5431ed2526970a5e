"""Check the structure of sparse matrices: products with invalid ones would read beyond their arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import SparseStructureError

#: Pointers are compared in chunks of this many.
PIECE = 1_000_000


def sound(data: Any) -> Any:
    """Check the structure of a two-dimensional sparse matrix or array, and return it.

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
    check = _CHECKS.get(data.format)
    if check is None:
        return data
    try:
        return check(data)
    except SparseStructureError:
        raise
    except (TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        raise _damaged(data, f"its arrays cannot be read ({type(error).__name__}: {error})") from error


def require_sound_columns(frame: pd.DataFrame) -> None:
    """Raise SparseStructureError if a sparse column of `frame` has positions that contradict its length."""
    for place, dtype in enumerate(frame.dtypes):
        if isinstance(dtype, pd.SparseDtype):
            _require_sound_column(frame.columns[place], frame.iloc[:, place].array, len(frame))


def _require_sound_column(label: Any, held: Any, n: int) -> None:
    index, values = held.sp_index, held.sp_values
    if hasattr(index, "blocs"):
        starts = np.asarray(index.blocs, dtype=np.int64)
        lengths = np.asarray(index.blengths, dtype=np.int64)
        low, high = _ends(starts)
        right = low >= 0 and not (lengths < 0).any() and high < max(n, 1)
        ends = starts + lengths
        right = right and bool((ends <= n).all() and (starts[1:] >= ends[:-1]).all())
        right = right and int(lengths.sum()) == len(values)
    else:
        places = np.asarray(index.indices)
        low, high = _ends(places)
        right = low >= 0 and high < max(n, 1) and bool((places[1:] > places[:-1]).all())
        right = right and len(places) == len(values)
    if not right or index.length != n:
        raise SparseStructureError(
            f"The sparse column {label!r} is damaged: the positions of its values contradict its length, "
            f"{n}. Make it anew from a dense column, e.g. with pd.arrays.SparseArray(values)."
        )


def _damaged(data: Any, reason: str) -> SparseStructureError:
    return SparseStructureError(
        f"The sparse matrix ({data.format.upper()}, shape {tuple(data.shape)}) is damaged: {reason}. Build "
        "it anew from its entries, e.g. scipy.sparse.coo_array((values, (rows, columns)), shape=shape)."
    )


def _compressed(data: Any) -> Any:
    """Check CSR, CSC and BSR arrays; unused space after the last entry is cut off."""
    block = data.data.shape[1:] if data.format == "bsr" else (1, 1)
    outer, inner = (size // b for size, b in zip(data.shape, block, strict=True))
    if data.format == "bsr" and (outer * block[0], inner * block[1]) != tuple(data.shape):
        raise _damaged(data, f"its blocks of {block} do not fill its shape")
    if data.format == "csc":
        outer, inner = inner, outer
    pointers = _integers(data, "indptr", data.indptr)
    if len(pointers) != outer + 1:
        raise _damaged(data, f"indptr has {len(pointers)} entries; {outer + 1} are needed")
    if pointers[0] != 0:
        raise _damaged(data, f"indptr begins with {pointers[0]} instead of 0")
    for start in range(0, outer, PIECE):
        piece = pointers[start : start + PIECE + 1]
        falls = piece[1:] < piece[:-1]
        if falls.any():
            at = start + int(falls.argmax())
            raise _damaged(data, f"indptr falls from {pointers[at]} to {pointers[at + 1]} at entry {at + 1}")
    stored = int(pointers[-1])
    indices = _integers(data, "indices", data.indices)
    dimensions = 3 if data.format == "bsr" else 1
    if data.data.ndim != dimensions:
        raise _damaged(data, f"data has {data.data.ndim} axes instead of {dimensions}")
    if len(indices) != len(data.data):
        raise _damaged(data, f"there are {len(indices)} indices and {len(data.data)} values")
    if stored > len(indices):
        raise _damaged(data, f"indptr ends with {stored}, and there are {len(indices)} entries")
    _require_within(data, "indices", indices[:stored], inner)
    plain = pointers.dtype == indices.dtype and pointers.dtype in (np.int32, np.int64)
    if stored == len(indices) and plain:
        return data
    return type(data)((data.data[:stored], indices[:stored], pointers), shape=data.shape)


def _coordinates(data: Any) -> Any:
    if len(data.coords) != 2:
        raise _damaged(data, f"it has {len(data.coords)} arrays of coordinates instead of 2")
    for name, places, size in zip(("row", "col"), data.coords, data.shape, strict=True):
        places = _integers(data, name, places)
        if len(places) != len(data.data):
            raise _damaged(data, f"{name} has {len(places)} entries for {len(data.data)} values")
        _require_within(data, name, places, size)
    return data


def _diagonals(data: Any) -> Any:
    offsets = _integers(data, "offsets", data.offsets)
    if data.data.ndim != 2 or len(data.data) != len(offsets):
        raise _damaged(data, f"there are {len(offsets)} offsets for data of shape {data.data.shape}")
    if len(np.unique(offsets)) != len(offsets):
        raise _damaged(data, "offsets holds a diagonal twice")
    inside = (offsets > -data.shape[0]) & (offsets < data.shape[1])
    if inside.all():
        return data
    return type(data)((data.data[inside], offsets[inside]), shape=data.shape)


def _lists(data: Any) -> Any:
    n = data.shape[0]
    if data.rows.shape != (n,) or data.data.shape != (n,):
        raise _damaged(data, f"there are {len(data.rows)} lists of indices and {len(data.data)} of values")
    for i, (places, values) in enumerate(zip(data.rows, data.data, strict=True)):
        if len(places) != len(values):
            raise _damaged(data, f"row {i} has {len(places)} indices and {len(values)} values")
    return _compressed(data.tocsr())


def _integers(data: Any, name: str, values: Any) -> np.ndarray:
    """Return `values` after checking that they are a one-dimensional array of integers."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "iu":
        found = f"{values.dtype}, shape {values.shape}" if isinstance(values, np.ndarray) else type(values)
        raise _damaged(data, f"{name} must be integers along one axis, not {found}")
    return values


def _require_within(data: Any, name: str, values: np.ndarray, size: int) -> None:
    """Raise SparseStructureError unless all values lie between 0 and size - 1."""
    low, high = _ends(values)
    if len(values) and (low < 0 or high >= size):
        wrong = low if low < 0 else high
        at = int(values.argmin() if low < 0 else values.argmax())
        raise _damaged(data, f"{name} holds {wrong} at entry {at}; allowed are 0 to {size - 1}")


def _ends(values: np.ndarray) -> tuple[int, int]:
    """Return the smallest and the largest value; (0, 0) for an empty array."""
    return (int(values.min()), int(values.max())) if len(values) else (0, 0)


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "csr": _compressed,
    "csc": _compressed,
    "bsr": _compressed,
    "coo": _coordinates,
    "dia": _diagonals,
    "lil": _lists,
    "dok": lambda data: _coordinates(data.tocoo()),
}
