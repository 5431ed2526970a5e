"""Selection and thresholds with one rule for ties: values that differ by rounding are equal, the lowest wins.

All diagonal entries of a correlation matrix tie, so without such a rule the last bit of a product
would choose the start, the support and the sign of a fit.

Selections mark entries or order them, and choose among eigenvectors of equal value; thresholds leave of a
vector what is selected, or solve max w'v over unit v under one sparsity constraint in closed form. They take
w as columns of an array of shape (p, m), one problem a column, and return the unit-length solutions in the
same shape. A column of zeros stays zero: any feasible v is a solution there, and the caller knows which to
keep.
"""

from __future__ import annotations

import numpy as np

#: Values within this share of one another are equal.
RELATIVE = 1e-10
#: Rounding in a value is at most about this share of the largest value beside it.
ROUNDING = 1e-14
#: Entries of an eigenvector at most this share of its largest entry apart are equal.
LEVEL = 1e-13
#: An axis must have this share of its length in a group's space, beside the axes before it, to count.
AXIS = 1e-3
#: The longest vector whose entries are levelled; in longer ones neighbours come too close by chance.
LEVELLED_ORDER = 5000


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
    to nothing would otherwise blow up their last bits. Neighbours that are at most the share `level` of
    the largest value of their column apart are equal.
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

    Of entries within a millionth of the largest the first decides: iterations leave their loadings no more
    exact. A column of zeros keeps its sign.
    """
    size = np.abs(V)
    first = np.argmax(size >= size.max(axis=0, initial=0.0) * (1.0 - 1e-6), axis=0)
    return np.where(V[first, np.arange(V.shape[1])] < 0, -1.0, 1.0)


def settled(values: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Choose the eigenvectors within groups of equal eigenvalues, and all signs, by rule and not by rounding.

    In a group the vectors are the projections of the first coordinate axes on the group's space, each made
    orthogonal to those before it.
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
    """Return the orthonormal basis of the span of `basis`, shape (p, g), that the first axes give."""
    chosen = np.zeros((basis.shape[1], basis.shape[1]))  # in the coordinates of `basis`
    found = 0
    for axis in basis:
        left = axis - chosen[:, :found] @ (chosen[:, :found].T @ axis)
        length = np.linalg.norm(left)
        if length > AXIS:
            left = left / length
            left -= chosen[:, :found] @ (chosen[:, :found].T @ left)
            chosen[:, found] = left / np.linalg.norm(left)
            found += 1
            if found == basis.shape[1]:
                return basis @ chosen
    return basis


# --- thresholds -----------------------------------------------------------------------------------


def quotients(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a / b, and zero where `b`, which is not negative, is zero; the shapes go together.

    The result lies in memory as `a` does, so that later sums keep their order.
    """
    return np.asarray(a / np.where(b > 0, b, np.inf))


def unit(W: np.ndarray) -> np.ndarray:
    """Scale the columns of `W` to unit length; zero columns stay zero."""
    largest = np.abs(W).max(axis=0)
    scaled = quotients(W, largest)
    return quotients(scaled, np.linalg.norm(scaled, axis=0))


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
    return hard_marked(W, card)[0]


def hard_marked(W: np.ndarray, card: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what :func:`hard` does, and the marks of `card` values in every column, zeros among them."""
    size = np.abs(W)
    marked = top(size, card)
    return unit(np.where(marked & (size > LEVEL * size.max(axis=0)), W, 0.0)), marked


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
