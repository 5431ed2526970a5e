"""Cheap checks that a source gives the same rows in every pass.

Rows that this process walks over are compared bit by bit, through a sum over all numbers that depends on
the place of each, and not on how the rows are cut into chunks. What workers compute anew may come in another
order within a partition, or differ in the last digits: of partitions the rows are counted, and their columns
added up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spcastat.kernels.sparsity import is_sparse
from spcastat.operators.accumulate import row_blocks

#: Sums of a partition agree to this share of the sums of absolute values.
SAME = 1e-12
#: Columns are added up one by one up to this many; more of them share sums, with different signs.
GROUPS = 64

_ODD = np.uint64(0x9E3779B97F4A7C15)
_MORE = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Return 64-bit integers that look random, one for each of `numbers`: a bijection modulo 2**64."""
    x = (numbers + np.uint64(1)) * _ODD
    x ^= x >> _HALF
    x *= _MORE
    x ^= x >> _HALF
    return x


def _row_sums(values: Any) -> np.ndarray:
    """Return for every row the sum of the bits of its numbers, times a factor of the column, modulo 2**64."""
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
    """The sum over the rows so far, and what it was after each chunk.

    Attributes
    ----------
    total : int
        Modulo 2**64; equal for equal rows in equal order, however they are cut, dense or sparse.
    kept : int
        Rows added.
    marks : dict of int to int
        Rows read, left out ones counted, at the end of a chunk -> `total`.
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
        """Return False where `first` was elsewhere after as many rows; True also where it made no mark."""
        return first.marks.get(read, self.total) == self.total


@dataclass(frozen=True, eq=False)
class Print:
    """The rows of a partition, and the sums of its columns, or of groups of them, and of absolute values."""

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
            for rows in row_blocks(m, p):
                sums += values[rows].sum(axis=0, dtype=float)
                sizes += np.abs(values[rows]).sum(axis=0, dtype=float)
        if p > GROUPS:
            group = np.arange(p) % GROUPS
            signs = 1.0 - 2.0 * (np.arange(p) // GROUPS % 2)
            sums, sizes = np.bincount(group, sums * signs, GROUPS), np.bincount(group, sizes, GROUPS)
        return cls(m, sums, sizes)

    def agrees(self, other: Print) -> bool:
        """Whether both may be of the same rows, but for their order and rounding."""
        if self.rows != other.rows:
            return False
        away = np.abs(self.sums - other.sums)
        return bool((away <= SAME * np.maximum(self.sizes, other.sizes)).all())
