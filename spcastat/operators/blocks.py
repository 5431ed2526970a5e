"""Rows in blocks that fit the caches of a processor."""

from __future__ import annotations

from collections.abc import Iterator

#: Rows are worked through in blocks of about this many numbers (16 MB of float64).
BLOCK = 2_000_000


def row_blocks(n: int, p: int, size: int | None = None) -> Iterator[slice]:
    """Cut n rows of p numbers into slices of about `size` numbers, BLOCK by default."""
    step = max(1, (size or BLOCK) // max(p, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))
