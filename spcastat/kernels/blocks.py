"""Work cut into blocks, so that its tables stay small."""

from __future__ import annotations

from collections.abc import Iterator


def blocks(count: int, each: int, most: int) -> Iterator[slice]:
    """Cut `count` things of `each` numbers into slices of about `most` numbers, and of one thing at least."""
    step = max(1, most // max(each, 1))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
