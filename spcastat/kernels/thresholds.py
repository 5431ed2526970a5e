"""Thresholds, and closed-form updates of a loading vector: max w'v over unit v under one sparsity constraint.

An update takes w as columns of an array of shape (p, m), one problem a column, and returns the
unit-length solutions in the same shape. A column of zeros stays zero: any feasible v is a solution
there, and the caller knows which to keep.
"""

from __future__ import annotations

import numpy as np

from spcastat.kernels.ties import LEVEL, first_max, tie_width, top


def unit(W: np.ndarray) -> np.ndarray:
    """Scale the columns of `W` to unit length; zero columns stay zero."""
    largest = np.abs(W).max(axis=0)
    scaled = W / np.where(largest > 0, largest, 1.0)
    return scaled / np.where(largest > 0, np.linalg.norm(scaled, axis=0), 1.0)


def hard_at(W: np.ndarray, level: float | np.ndarray) -> np.ndarray:
    """Keep what exceeds `level` in absolute value."""
    return np.where(np.abs(W) > level, W, 0.0)


def soft_at(W: np.ndarray, level: float | np.ndarray) -> np.ndarray:
    """Shrink towards zero by `level`, a number or an array that goes with `W`."""
    return np.asarray(np.sign(W) * np.maximum(np.abs(W) - level, 0.0))


def level_for(w: np.ndarray, card: int) -> tuple[np.ndarray, float]:
    """Mark the `card` largest absolute values of `w`, shape (p,), and find the level that leaves them alone.

    The level is the (card+1)-th largest value; where that ties with one that is kept, the next smaller.
    """
    size = np.abs(w)
    kept = top(size, card)
    smallest = size[kept].min()
    below = size[~kept & (size < smallest - tie_width(smallest, size.max()))]
    return kept, float(below.max()) if below.size else 0.0


def hard(W: np.ndarray, card: int) -> np.ndarray:
    """Keep the `card` largest absolute values: Zhao et al. (2015), Theorem 2.

    What differs from zero by rounding alone is zero, so that fewer may stay.
    """
    size = np.abs(W)
    return unit(np.where(top(size, card) & (size > LEVEL * size.max(axis=0)), W, 0.0))


def soft(W: np.ndarray, card: int) -> np.ndarray:
    """Shrink by the (card+1)-th largest absolute value, so that `card` entries stay.

    The l1 update of Zhao et al. (2015) at a preset cardinality. Where the (card+1)-th value ties with
    one that is kept, the next smaller value takes its place, so that ties do not cost nonzeros.
    """
    size = np.abs(W)
    kept = top(size, card)
    smallest = np.where(kept, size, np.inf).min(axis=0)
    largest = size.max(axis=0)
    width = tie_width(smallest, largest)
    level = np.where(kept | (size >= smallest - width), 0.0, size).max(axis=0)
    kept &= size > LEVEL * largest
    return unit(np.where(kept, soft_at(W, level), 0.0))


def l1_bounded(W: np.ndarray, bound: float) -> np.ndarray:
    """Solve max w'v with ||v||_2 = 1 and ||v||_1 <= bound exactly: Zhao et al. (2015), Theorem 3.

    `bound` lies in [1, sqrt(p)].
    """
    return np.column_stack([_l1_bounded_one(w, bound) for w in W.T])


def _l1_bounded_one(w: np.ndarray, bound: float) -> np.ndarray:
    size = np.abs(w)
    largest = size.max()
    if largest == 0:
        return np.zeros_like(w)
    size = size / largest
    if size.sum() <= bound * np.linalg.norm(size):
        return np.sign(w) * size / np.linalg.norm(size)
    tied = np.flatnonzero(size >= 1.0 - tie_width(np.array(1.0), np.array(1.0)))
    if bound * bound <= len(tied):
        return np.sign(w) * _spread_over_ties(len(w), tied, bound)
    # With the m largest values active, shrinking by 1 - depth gives l1 norm / l2 norm = bound. Differences
    # from the largest value keep the digits that sums of nearly equal values would lose.
    drop = np.sort(1.0 - size)
    m = np.arange(1, len(w) + 1)
    sums = np.cumsum(drop)
    spread = np.maximum(m * np.cumsum(drop**2) - sums**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = (sums + bound * np.sqrt(spread / (m - bound**2))) / m
    following = np.append(drop[1:], 1.0)
    fits = (m > bound**2) & (depth > drop) & (depth <= following)
    if not fits.any():  # rounding at a breakpoint: the nearest one
        miss = np.where(m > bound**2, np.maximum(drop - depth, depth - following), np.inf)
        fits[np.argmin(miss)] = True
    v = np.maximum(depth[np.argmax(fits)] - (1.0 - size), 0.0)
    return np.sign(w) * v / np.linalg.norm(v)


def _spread_over_ties(p: int, tied: np.ndarray, bound: float) -> np.ndarray:
    """Return the solution on tied largest values: the fewest of them, the first one largest."""
    used = int(np.ceil(bound * bound - 1e-12))
    v = np.zeros(p)
    if used <= 1:
        v[tied[0]] = 1.0
        return v
    # x + (used - 1) y = bound and x^2 + (used - 1) y^2 = 1 with x >= y >= 0
    root = np.sqrt(max((used - 1) * (used - bound * bound), 0.0))
    v[tied[:used]] = (bound * (used - 1) - root) / (used * (used - 1))
    v[tied[0]] = (bound + root) / used
    return v


def positive_part(W: np.ndarray) -> np.ndarray:
    """Return what a nonnegative update thresholds: the positive part of every column of `W`.

    Zhao et al. (2015), Theorem 5. Where a column has no positive entry, max w'v over nonnegative unit
    vectors is the unit vector at its largest entry.
    """
    positive = np.maximum(W, 0.0)
    for column in np.flatnonzero(~positive.any(axis=0)):
        positive[first_max(W[:, column]), column] = 1.0
    return positive
