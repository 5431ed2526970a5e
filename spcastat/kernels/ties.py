"""Selection with one rule for ties: values that differ by rounding are equal, the lowest index wins.

All diagonal entries of a correlation matrix tie, so without such a rule the last bit of a product
would choose the start, the support and the sign of a fit.
"""

from __future__ import annotations

import numpy as np

#: Values within this share of one another are equal.
RELATIVE = 1e-10
#: Rounding in a value is at most about this share of the largest value beside it.
ROUNDING = 1e-14
#: Entries of an eigenvector closer than this share of its largest entry are equal.
LEVEL = 1e-13


def tie_width(reference: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Return how far a value may lie from `reference` and still tie with it."""
    return RELATIVE * np.abs(reference) + ROUNDING * np.abs(largest)


def first_max(values: np.ndarray) -> int:
    """Return the lowest index of `values`, shape (p,), that ties with the largest.

    A value of -inf is not a candidate, and says nothing of the size of the others.
    """
    largest = values.max()
    return int(np.argmax(values >= largest - tie_width(largest, _size(values))))


def ranked(values: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """Return the indices of `values`, shape (p,), from the largest to the smallest.

    Tied values are put in the order of the first of the `others` in which they differ, and lastly by index.
    """
    keys = [np.arange(values.size)]
    for one in (values, *others)[::-1]:
        order = np.argsort(-one, kind="stable")
        falling = one[order]
        apart = falling[:-1] - falling[1:] > tie_width(falling[:-1], np.abs(one).max(initial=0.0))
        group = np.empty(one.size, dtype=int)
        group[order] = np.concatenate([np.zeros(min(one.size, 1), dtype=int), np.cumsum(apart)])
        keys.append(group)
    return np.lexsort(keys)


def top(values: np.ndarray, count: int, width: float = 0.0) -> np.ndarray:
    """Mark the `count` largest values of every column.

    Parameters
    ----------
    values : ndarray of shape (p,) or (p, m)
    count : int
        From 1 to p; no more than there are values above -inf, which is not a candidate.
    width : float
        Values closer than this tie, too: where they are the limits of an iteration, how far it goes.

    Returns
    -------
    ndarray of bool, shape of `values`
        Exactly `count` marks in every column; of tied values the lowest indices are marked.
    """
    p = values.shape[0]
    if count >= p:
        return np.ones(values.shape, dtype=bool)
    lowest = np.partition(values, p - count, axis=0)[p - count]
    width = np.maximum(tie_width(lowest, _size(values)), width)
    reached = values >= lowest - width
    if (reached.sum(axis=0) == count).all():
        return reached
    above = values > lowest + width
    tied = reached & ~above
    return above | (tied & (np.cumsum(tied, axis=0) <= count - above.sum(axis=0)))


def _size(values: np.ndarray) -> np.ndarray:
    """Return the largest absolute value of every column, but for -inf."""
    smallest = values.min(axis=0, where=values > -np.inf, initial=np.inf)
    return np.asarray(np.maximum(values.max(axis=0), -smallest))


def levelled(V: np.ndarray, level: float = LEVEL) -> np.ndarray:
    """Make absolute values that differ by rounding alone equal in every column of `V`, shape (p, m).

    Those that differ from zero by rounding alone become zero. An iteration that shrinks equal entries almost
    to nothing would otherwise blow up their last bits. Neighbours closer than the share `level` of the
    largest value of their column are equal.
    """
    V = np.array(V)
    for column in V.T:
        size = np.abs(column)
        ranked = np.sort(size)
        width = level * ranked[-1]
        if ranked[0] > width and (ranked[1:] - ranked[:-1] > width).all():
            continue
        order = np.argsort(size, kind="stable")
        ranked = size[order]
        apart = ranked[1:] - ranked[:-1] > width
        group = np.concatenate([[0], np.cumsum(apart)])
        mean = np.bincount(group, ranked) / np.bincount(group)
        if ranked[0] <= width:
            mean[0] = 0.0
        column[order] = np.where(column[order] < 0, -1.0, 1.0) * mean[group] + 0.0  # no -0
    return V


def flip_signs(V: np.ndarray) -> np.ndarray:
    """Return the signs, shape (m,), that make the largest absolute entry of every column positive.

    A column of zeros keeps its sign.
    """
    return np.array([-1.0 if column[first_max(np.abs(column))] < 0 else 1.0 for column in V.T])
