"""Least absolute deviations regression of many responses at once, solved exactly.

Barrodale and Roberts (1973), "An improved algorithm for discrete l1 linear approximation", SIAM Journal on
Numerical Analysis 10; Bloomfield and Steiger (1983), "Least Absolute Deviations".
"""

from __future__ import annotations

import numpy as np

from spcastat.kernels.blocks import blocks

#: Responses are perturbed by this share of their size, so that no more than k residuals vanish at once.
APART = 1e-10


def least_absolute(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Minimise the sum of absolute residuals |B - A C| for each column of `B` separately.

    Parameters
    ----------
    A : ndarray of shape (m, k)
        The regressors: of rank k, with columns of similar size.
    B : ndarray of shape (m, r)
        The responses, one per column.

    Returns
    -------
    ndarray of shape (k, r)
        The coefficients C.

    Notes
    -----
    A simplex method. At a vertex k residuals are zero. Each step follows an edge along which the sum
    decreases, up to its minimum, a weighted median. All responses take their steps together, which makes many
    small regressions on the same regressors fast.
    """
    from scipy.linalg import qr

    first = qr(A.T, mode="r", pivoting=True)[1][: A.shape[1]]
    C = np.empty((A.shape[1], B.shape[1]))
    for block in blocks(B.shape[1], len(A), 1_000_000):
        C[:, block] = _of_some(A, B[:, block].T, first).T
    return C


def _of_some(A: np.ndarray, responses: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the coefficients, shape (r, k), of responses, shape (r, m), from the starting vertex `first`."""
    r, k = len(responses), A.shape[1]
    moved = np.random.default_rng(0).uniform(-APART, APART, responses.shape)
    moved = responses + moved * np.abs(responses).max(axis=1, keepdims=True)
    basis = np.tile(first, (r, 1))
    lowest, idle = np.full(r, np.inf), np.zeros(r, dtype=int)
    left = np.arange(r)
    while left.size:
        moves, sums = _step(A, moved[left], basis, left)
        idle[left] = np.where(sums < lowest[left], 0, idle[left] + 1)
        lowest[left] = np.minimum(sums, lowest[left])
        left = left[moves & (idle[left] <= 10 * k)]  # rounding may cause cycling
    wanted = np.take_along_axis(responses, basis, axis=1)
    return np.asarray(np.linalg.solve(A[basis], wanted[..., None])[..., 0])


def _step(
    A: np.ndarray, responses: np.ndarray, basis: np.ndarray, left: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Move the responses with the indices `left` to a better vertex; changes their rows of `basis` in place.

    Returns a mask of the responses that moved, and the sums of absolute residuals before the move.
    """
    own = basis[left]
    inverse = np.linalg.inv(A[own])
    at_basis = np.take_along_axis(responses, own, axis=1)
    residuals = responses - (inverse @ at_basis[..., None])[..., 0] @ A.T
    np.put_along_axis(residuals, own, 0.0, axis=1)
    duals = ((np.sign(residuals) @ A)[:, None] @ inverse)[:, 0]
    leaving = np.abs(duals).argmax(axis=1)
    # a vertex is optimal if no dual variable exceeds 1
    moves = np.take_along_axis(np.abs(duals), leaving[:, None], axis=1)[:, 0] > 1.0 + 1e-9
    which = np.flatnonzero(moves)
    edges = inverse[which, :, leaving[which]]
    slopes = edges @ A.T
    np.put_along_axis(slopes, own[which], 0.0, axis=1)
    slopes[np.arange(which.size), own[which, leaving[which]]] = 1.0
    basis[left[which], leaving[which]] = _at_median(residuals[which], slopes)
    return moves, np.abs(residuals).sum(axis=1)


def _at_median(residuals: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return, for every row, which residual is zero at the t that minimises sum |residuals - t slopes|."""
    weights = np.abs(slopes)
    weights[weights <= 1e-12 * weights.max(axis=1, keepdims=True)] = 0.0  # rounding
    ratios = np.divide(residuals, slopes, out=np.full(slopes.shape, np.inf), where=weights > 0)
    order = np.argsort(ratios, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    place = np.argmax(sums >= 0.5 * sums[:, -1:], axis=1)
    return np.asarray(order[np.arange(len(order)), place])


def weighted_median(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted median along the last axis; an integer weight counts as repetitions of the value.

    The median is the x that minimises sum weights |values - x|. If all x between two values do, it is the
    mean of these two.

    Parameters
    ----------
    values, weights : ndarray of shape (..., m)
        Weights are nonnegative. If all are zero, the smallest value is returned.
    """
    weights = np.broadcast_to(weights, values.shape)
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    sums = np.cumsum(np.take_along_axis(weights, order, axis=-1), axis=-1)
    half, slack = 0.5 * sums[..., -1:], 1e-12 * sums[..., -1:]
    lower = np.argmax(sums >= half - slack, axis=-1)[..., None]
    upper = np.argmax((sums > half + slack) | (sums == sums[..., -1:]), axis=-1)[..., None]
    ends = [np.take_along_axis(ordered, one, axis=-1)[..., 0] for one in (lower, upper)]
    return 0.5 * ends[0] + 0.5 * ends[1]
