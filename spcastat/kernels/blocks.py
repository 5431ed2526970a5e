"""Split work into blocks, so that intermediate arrays stay small."""

from __future__ import annotations

from collections.abc import Iterator

#: Rows, and stored entries of sparse rows, are processed in blocks of about this many numbers (16 MB).
BLOCK = 2_000_000


def blocks(count: int, each: int, most: int = BLOCK) -> Iterator[slice]:
    """Split `count` items, such as rows, into slices of consecutive items.

    An item needs `each` numbers of memory. A slice has about `most` numbers, but at least one item.
    """
    step = max(1, most // max(each, 1))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
