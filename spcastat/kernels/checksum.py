"""A checksum of the bits of a matrix, by which a change in place is noticed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from spcastat.kernels.sparsity import is_sparse

#: Rows that are copied at once where an array is not contiguous.
ROWS = 4096


def checksum(matrix: Any) -> int:
    """Return the CRC-32 of a dense array of shape (n, p), or of the arrays of a CSC or CSR array."""
    parts: Iterable[Any]
    if is_sparse(matrix):
        parts = [matrix.data, matrix.indices, matrix.indptr]
    elif matrix.flags.c_contiguous:
        parts = [matrix]
    elif matrix.flags.f_contiguous:
        parts = [matrix.T]
    else:
        parts = (np.ascontiguousarray(matrix[i : i + ROWS]) for i in range(0, len(matrix), ROWS))
    found = 0
    for part in parts:
        found = zlib.crc32(part, found)
    return found
