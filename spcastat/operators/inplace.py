"""Rank-one changes of a large symmetric matrix in place, some rows at a time: symmetric to the last bit."""

from __future__ import annotations

import numpy as np

from spcastat.operators.blocks import row_blocks

#: Numbers that are worked on at once (a quarter of a MB of float64).
SOME = 30_000


def add_outer(S: np.ndarray, a: np.ndarray, factor: float) -> None:
    """Add factor a a' to S, shape (p, p)."""
    for rows in row_blocks(len(S), len(S), SOME):
        S[rows] += factor * np.multiply.outer(a[rows], a)


def add_outers(S: np.ndarray, a: np.ndarray, b: np.ndarray, factor: float) -> None:
    """Add factor (a b' + b a') to S, shape (p, p)."""
    for rows in row_blocks(len(S), len(S), SOME):
        S[rows] += factor * (np.multiply.outer(a[rows], b) + np.multiply.outer(b[rows], a))


def scale_outer(S: np.ndarray, r: np.ndarray) -> None:
    """Multiply S, shape (p, p), by r r' entry by entry."""
    for rows in row_blocks(len(S), len(S), SOME):
        S[rows] *= np.multiply.outer(r[rows], r)
