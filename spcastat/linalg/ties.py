"""Ties: values that agree up to rounding count as equal, and the lowest index comes first.

Values that differ only by rounding count as equal, and of equal values the one of lowest index is chosen. All
diagonal entries of a correlation matrix tie, for example: without such a rule the last bit of a product would
decide the starting values, the support and the sign of a fit.

The first half selects or ranks entries, and chooses among eigenvectors of equal eigenvalues. The second half
holds thresholds: closed solutions of max w'v over unit vectors v under a sparsity constraint. They take the
vectors w as columns of an array of shape (p, m) and return the unit-length solutions in the same shape. A
column of zeros stays zero: every feasible v is a solution then, and the caller chooses.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from spcastat.config import LARGEST_WHOLE

#: Values that differ by at most this share of their size are equal.
RELATIVE = 1e-10
#: A share of the variance that is asked for is reached by one that is smaller by at most this.
TARGET_ROUNDING = 1e-10
#: Rounding errors are at most about this share of the largest value in the same array.
ROUNDING = 1e-14
#: Rounding of sums of many products, as a share of their terms: what is left of a column after regression on
#: others that determine it, a mean, a residual, or the change of a criterion.
SUM_ROUNDING = 1e-12
#: What is left of a vector after others, as a share of it: with less than this, half of the digits are lost.
HALF_DIGITS = 1e-8
#: Entries of an eigenvector that differ by at most this share of its largest entry are equal.
ENTRY_TOLERANCE = 1e-13
#: Longer vectors are not levelled, as different entries may be that close by chance.
LEVELLED_ORDER = 5000
#: Ratio of the median absolute deviation of a normal variable to its standard deviation.
NORMAL_MAD = 0.6744897501960817
#: Squared lengths above this, and below its inverse, are computed without loss of digits.
SAFE_SQUARE = 1e-200


def tie_width(reference: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Return the largest difference from `reference` at which a value still ties with it.

    `largest` is the largest absolute value of the array.
    """
    return RELATIVE * np.abs(reference) + ROUNDING * np.abs(largest)


def first_max(values: np.ndarray) -> int:
    """Return the lowest index of `values`, shape (p,), that ties with the largest.

    Values of -inf are not candidates and do not count for the width of ties.
    """
    largest = values.max()
    return int(np.argmax(values >= largest - tie_width(largest, _size(values))))


def ranked(values: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """Return the indices of `values`, shape (p,), from the largest to the smallest.

    Ties are broken by the first of the `others` in which the entries differ, in descending order, then by
    index.
    """
    keys = [np.arange(values.size)]
    for sort_keys in (values, *others)[::-1]:
        order = np.argsort(-sort_keys, kind="stable")
        falling = sort_keys[order]
        is_distinct = falling[:-1] - falling[1:] > tie_width(falling[:-1], np.abs(sort_keys).max(initial=0.0))
        group = np.empty(sort_keys.size, dtype=int)
        group[order] = np.concatenate([np.zeros(min(sort_keys.size, 1), dtype=int), np.cumsum(is_distinct)])
        keys.append(group)
    return np.lexsort(keys)


def top(values: np.ndarray, count: int, width: float = 0.0, largest: np.ndarray | None = None) -> np.ndarray:
    """Mark the `count` largest values of every column.

    Parameters
    ----------
    values : ndarray of shape (p,) or (p, m)
    count : int
        From 1 to p. A value of -inf is not a candidate: each column needs `count` values above it.
    width : float
        Values closer than this tie too; for results of an iteration, its accuracy.
    largest : ndarray of shape () or (m,), optional
        The largest absolute value of every column, -inf not counted, where it is known.

    Returns
    -------
    ndarray of bool, shape of `values`
        Exactly `count` entries of each column are True; of tied values, those of lowest index.
    """
    p = values.shape[0]
    if count >= p:
        return np.ones(values.shape, dtype=bool)
    lowest = np.partition(values, p - count, axis=0)[p - count]
    width = np.maximum(tie_width(lowest, _size(values) if largest is None else largest), width)
    at_least = values >= lowest - width
    if np.count_nonzero(at_least) == count * lowest.size:  # every column has `count` or more
        return at_least
    exceeds = values > lowest + width
    tied = at_least & ~exceeds
    return exceeds | (tied & (np.cumsum(tied, axis=0) <= count - exceeds.sum(axis=0)))


def next_ties(v: np.ndarray, card: int, width: float) -> bool:
    """Return whether the `card`-th largest absolute value, card < p, ties with the next, up to `width`."""
    ordered = np.sort(np.abs(v))[::-1]
    return bool(ordered[card - 1] - ordered[card] <= width)


def _size(values: np.ndarray) -> np.ndarray:
    """Return the largest absolute value of every column, without counting -inf."""
    smallest = values.min(axis=0, where=values > -np.inf, initial=np.inf)
    return np.asarray(np.maximum(values.max(axis=0), -smallest))


def levelled(V: np.ndarray, level: float = ENTRY_TOLERANCE) -> np.ndarray:
    """Return a copy of `V`, shape (p, m), in which absolute values that differ only by rounding are equal.

    In each column the absolute values are sorted; neighbours that differ by at most `level` times the largest
    are replaced by their mean, and those so close to zero by zero. Otherwise an iteration that shrinks equal
    entries to almost nothing would magnify the differences in their last bits.
    """
    V = np.array(V)
    for column in V.T:
        size = np.abs(column)
        ranked = np.sort(size)
        width = level * ranked[-1]
        is_distinct = ranked[1:] - ranked[:-1] > width
        is_single = np.append(is_distinct, True) & np.append(ranked[0] > width, is_distinct)
        if is_single.all():
            continue
        ranked = ranked[~is_single]
        place = np.searchsorted(ranked, size).clip(max=len(ranked) - 1)
        tied = np.flatnonzero(ranked[place] == size)
        order = tied[np.argsort(size[tied])]
        group = np.append(0, np.cumsum(ranked[1:] - ranked[:-1] > width))
        mean = np.bincount(group, ranked) / np.bincount(group)
        if ranked[0] <= width:
            mean[0] = 0.0
        column[order] = np.where(column[order] < 0, -1.0, 1.0) * mean[group] + 0.0  # no -0
    return V


def flip_signs(V: np.ndarray) -> np.ndarray:
    """Return the signs, shape (m,), that make the largest absolute entry of every column positive.

    Of entries within a relative 1e-6 of the largest, the first decides, since iterations do not determine
    loadings more exactly. For a column of zeros the sign is 1.
    """
    size = np.abs(V)
    places = np.argmax(size >= size.max(axis=0, initial=0.0) * (1.0 - 1e-6), axis=0)
    return np.where(V[places, np.arange(V.shape[1])] < 0, -1.0, 1.0)


def better_signs(V: np.ndarray, axis: int) -> np.ndarray:
    """Return signs that give the positive parts larger norms; as V in shape, but 1 along `axis`."""
    up, down = ((np.maximum(sign * V, 0.0) ** 2).sum(axis=axis, keepdims=True) for sign in (1.0, -1.0))
    return np.where(down > up * (1.0 + 1e-10), -1.0, 1.0)


def canonical_eigenvectors(values: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Choose eigenvectors of equal eigenvalues, and all signs, by a rule that does not depend on rounding.

    The eigenvectors of a group of equal eigenvalues are the projections of the coordinate axes on their
    eigenspace, in the order of the axes, made orthogonal by Gram-Schmidt. Axes that add (almost) no new
    direction are left out.
    """
    vectors = np.array(vectors)
    start = 0
    for stop in range(1, len(values) + 1):
        tied = stop < len(values) and values[stop] >= values[start] - tie_width(values[start], values[0])
        if tied:
            continue
        if stop - start > 1:
            vectors[:, start:stop] = _by_axes(vectors[:, start:stop])
        start = stop
    if len(vectors) <= LEVELLED_ORDER:
        vectors = levelled(vectors)
    return values, vectors * flip_signs(vectors)


def _by_axes(basis: np.ndarray) -> np.ndarray:
    """Return the basis that `canonical_eigenvectors` takes of the span of `basis`, orthonormal, (p, g)."""
    axes = np.zeros((basis.shape[1], basis.shape[1]))  # in the coordinates of `basis`
    count = 0
    for axis in basis:
        residual = axis - axes[:, :count] @ (axes[:, :count].T @ axis)
        length = np.linalg.norm(residual)
        if length > 1e-3:  # the axis is not almost a combination of earlier ones
            residual = residual / length
            residual -= axes[:, :count] @ (axes[:, :count].T @ residual)
            axes[:, count] = residual / np.linalg.norm(residual)
            count += 1
            if count == basis.shape[1]:
                return basis @ axes
    return basis


# --- thresholds -----------------------------------------------------------------------------------


def quotients(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a / b, with 0 where b = 0; b is nonnegative, and the shapes broadcast.

    The result has the memory layout of `a`, so that the order of later summations does not change.
    """
    return np.asarray(a / np.where(b > 0, b, np.inf))


def unit(W: np.ndarray) -> np.ndarray:
    """Scale the columns of `W` to unit length; zero columns stay zero."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.vecdot(W.T, W.T)
    if squares.min(initial=np.inf) > SAFE_SQUARE and squares.max(initial=0.0) < 1.0 / SAFE_SQUARE:
        return np.asarray(W / np.sqrt(squares))
    largest = np.abs(W).max(axis=0)
    scaled = quotients(W, largest)
    return quotients(scaled, np.linalg.norm(scaled, axis=0))


def hard_at(W: np.ndarray, level: float | np.ndarray) -> np.ndarray:
    """Hard thresholding: set entries to zero whose absolute value does not exceed `level`."""
    return np.where(np.abs(W) > level, W, 0.0)


def soft_at(W: np.ndarray, level: float | np.ndarray) -> np.ndarray:
    """Soft thresholding: shrink the entries of `W` towards zero by `level`, which broadcasts against `W`."""
    return np.asarray(np.sign(W) * np.maximum(np.abs(W) - level, 0.0))


def level_for(w: np.ndarray, card: int) -> tuple[np.ndarray, float]:
    """Return a mask of the `card` largest absolute values of `w`, shape (p,), and their soft threshold.

    The threshold is the (card+1)-th largest absolute value, or the next smaller one if that ties with a value
    in the mask; 0 if there is none.
    """
    size = np.abs(w)
    selection = top(size, card)
    return selection, largest_below(size, selection)


def largest_below(size: np.ndarray, selection: np.ndarray) -> float:
    """Return the largest value that is not kept and does not tie with one that is; 0 if there is none."""
    smallest = size[selection].min()
    remainder = size[~selection & (size < smallest - tie_width(smallest, size.max()))]
    return float(remainder.max()) if remainder.size else 0.0


def hard(W: np.ndarray, card: int) -> np.ndarray:
    """Hard thresholding to the `card` largest absolute values: Zhao et al. (2015), Theorem 2.

    Values that differ from zero only by rounding are set to zero, so there may be fewer nonzeros than `card`.
    """
    size = np.abs(W)
    largest = size.max(axis=0)
    selection = top(size, card, largest=largest)
    return unit(np.where(selection & (size > ENTRY_TOLERANCE * largest), W, 0.0))


def soft(W: np.ndarray, card: int) -> np.ndarray:
    """Soft thresholding at the (card+1)-th largest absolute value, which leaves `card` nonzeros.

    The l1 update of Zhao et al. (2015) at a given cardinality. If the (card+1)-th value ties with the
    card-th, the next smaller value is the threshold, so that ties do not reduce the number of nonzeros.
    """
    size = np.abs(W)
    selection = top(size, card)
    smallest = np.where(selection, size, np.inf).min(axis=0)
    largest = size.max(axis=0)
    width = tie_width(smallest, largest)
    level = np.where(selection | (size >= smallest - width), 0.0, size).max(axis=0)
    selection &= size > ENTRY_TOLERANCE * largest
    return unit(np.where(selection, soft_at(W, level), 0.0))


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
    # If the m largest values stay nonzero, soft thresholding at 1 - depth gives l1 norm / l2 norm = bound.
    # Differences from the largest value avoid the cancellation in sums of nearly equal values.
    drop = np.sort(1.0 - size)
    m = np.arange(1, len(w) + 1)
    sums = np.cumsum(drop)
    spread = np.maximum(m * np.cumsum(drop**2) - sums**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = (sums + bound * np.sqrt(spread / (m - bound**2))) / m
    following = np.append(drop[1:], 1.0)
    fits = (m > bound**2) & (depth > drop) & (depth <= following)
    if not fits.any():  # because of rounding at a breakpoint: take the nearest
        miss = np.where(m > bound**2, np.maximum(drop - depth, depth - following), np.inf)
        fits[np.argmin(miss)] = True
    v = np.maximum(depth[np.argmax(fits)] - (1.0 - size), 0.0)
    return np.sign(w) * v / np.linalg.norm(v)


def _spread_over_ties(p: int, tied: np.ndarray, bound: float) -> np.ndarray:
    """Return the nonnegative unit vector with l1 norm `bound` if the largest values, at `tied`, are equal.

    Only the first of these positions are nonzero, as few as possible, and the first has the largest value.
    """
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
    """Return the positive part of every column of `W`.

    Updates with nonnegative loadings apply thresholds to it (Zhao et al. 2015, Theorem 5). If a column w has
    no positive entry, its result is the coordinate vector of its largest entry, which among nonnegative unit
    vectors v maximises w'v.
    """
    positive = np.maximum(W, 0.0)
    for column in np.flatnonzero(~positive.any(axis=0)):
        positive[first_max(W[:, column]), column] = 1.0
    return positive


# --- sparse matrices ------------------------------------------------------------------------------


def is_sparse(X: Any) -> bool:
    """Return whether `X` is a scipy.sparse matrix or array.

    scipy.sparse is not imported: if it has not been imported yet, `X` cannot be one.
    """
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


# --- whole numbers --------------------------------------------------------------------------------


def first_rounded(values: Any) -> Any:
    """Return the first whole number that float64 would round; None if there is none.

    Parameters
    ----------
    values : ndarray
        Of any shape. Arrays of another dtype than 64-bit integers have no such number.
    """
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return None
    if max(int(values.max()), -int(values.min())) <= LARGEST_WHOLE:
        return None
    is_large = values > LARGEST_WHOLE
    if values.dtype.kind == "i":
        is_large |= values < -LARGEST_WHOLE
    return first_rounded_of(values[is_large].tolist())


def first_rounded_of(values: Iterable[Any]) -> Any:
    """Return the first of some numbers beyond 2**53 that float64 would round; None if there is none.

    Parameters
    ----------
    values : iterable of int or decimal.Decimal
        Comparisons of both with floats are exact.
    """
    for value in values:
        if abs(value) > LARGEST_WHOLE and value != float(value):
            return value
    return None
