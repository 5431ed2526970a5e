"""Split work into blocks, so that intermediate arrays stay small."""

from __future__ import annotations

from collections.abc import Iterator


def blocks(count: int, each: int, most: int) -> Iterator[slice]:
    """Split `count` items into slices of consecutive items.

    An item needs `each` numbers of memory. A slice has about `most` numbers, but at least one item.
    """
    step = max(1, most // max(each, 1))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
