"""Fingerprints: cheap checks that a source gives the same rows in every pass.

Rows that this process reads are compared bit by bit, by a hash (`Trail`) of all numbers and their positions
that does not depend on how the rows are split into chunks. Rows that workers compute again may come in
another order within a partition, or differ in the last digits; for partitions, the number of rows and the
sums of their columns are compared (`Print`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spcastat.kernels.blocks import blocks
from spcastat.kernels.sparsity import is_sparse

#: Number of sums that are stored: columns beyond these are added to the sums of others, with alternating
#: signs.
GROUPS = 64

_ODD = np.uint64(0x9E3779B97F4A7C15)
_MORE = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of each of `numbers`: a bijection modulo 2**64."""
    x = (numbers + np.uint64(1)) * _ODD
    x ^= x >> _HALF
    x *= _MORE
    x ^= x >> _HALF
    return x


def _row_sums(values: Any) -> np.ndarray:
    """Return for every row the sum of its numbers' bits times a factor for the column, modulo 2**64."""
    factors = _mixed(np.arange(values.shape[1], dtype=np.uint64))
    if not is_sparse(values):
        if values.dtype.itemsize == 8:
            return np.asarray(values.view(np.uint64) @ factors)
        return np.einsum("ij,j->i", values.view(np.uint32), factors)
    held = values.tocsr()
    bits = held.data.view(np.uint64 if held.dtype.itemsize == 8 else np.uint32)
    running = np.zeros(len(bits) + 1, dtype=np.uint64)
    np.cumsum(bits * factors[held.indices], out=running[1:])
    return np.asarray(np.diff(running[held.indptr]))


@dataclass
class Trail:
    """A hash of the rows so far, and its values after each chunk.

    Attributes
    ----------
    total : int
        The hash, modulo 2**64. It is equal for equal rows in the same order, in any chunks, dense or sparse.
    kept : int
        Number of rows hashed.
    marks : dict of int to int
        Number of rows read at the end of a chunk, including dropped rows -> `total`.
    """

    total: int = 0
    kept: int = 0
    marks: dict[int, int] = field(default_factory=dict)

    def add(self, values: Any, read: int) -> None:
        """Add a chunk after which `read` rows have been read; `values` has shape (m, p)."""
        m = values.shape[0]
        if m:
            places = _mixed(np.arange(self.kept, self.kept + m, dtype=np.uint64))
            found = _mixed(_row_sums(values) + places)
            self.total = (self.total + int(np.add.reduce(found))) % 2**64
            self.kept += m
        self.marks[read] = self.total

    def agrees(self, first: Trail, read: int) -> bool:
        """Return whether `first` had the same hash after `read` rows; also True if it has no mark there."""
        return first.marks.get(read, self.total) == self.total


@dataclass(frozen=True, eq=False)
class Print:
    """Number of rows of a partition, and sums of (groups of) its columns and of their absolute values."""

    rows: int
    sums: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, values: Any) -> Print:
        m, p = values.shape
        sums, sizes = np.zeros(p), np.zeros(p)
        if is_sparse(values):
            if m:
                sums += np.asarray(values.sum(axis=0, dtype=float)).ravel()
                sizes += np.asarray(abs(values).sum(axis=0, dtype=float)).ravel()
        else:
            for rows in blocks(m, p):
                sums += values[rows].sum(axis=0, dtype=float)
                sizes += np.abs(values[rows]).sum(axis=0, dtype=float)
        if p > GROUPS:
            group = np.arange(p) % GROUPS
            signs = 1.0 - 2.0 * (np.arange(p) // GROUPS % 2)
            sums, sizes = np.bincount(group, sums * signs, GROUPS), np.bincount(group, sizes, GROUPS)
        return cls(m, sums, sizes)

    def agrees(self, other: Print) -> bool:
        """Whether both may come from the same rows, apart from order and rounding."""
        if self.rows != other.rows:
            return False
        away = np.abs(self.sums - other.sums)
        # sums of a partition must agree to 1e-12 of the sums of absolute values
        return bool((away <= 1e-12 * np.maximum(self.sizes, other.sizes)).all())
