"""A checksum of a matrix, used to detect that it was changed in place."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from spcastat.kernels.sparsity import is_sparse


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
        step = 4096  # rows to copy at a time
        parts = (np.ascontiguousarray(matrix[i : i + step]) for i in range(0, len(matrix), step))
    found = 0
    for part in parts:
        found = zlib.crc32(part, found)
    return found
