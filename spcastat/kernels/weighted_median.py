"""Medians of numbers that count more than once."""

from __future__ import annotations

import numpy as np

#: Sums of weights closer to one half than this share of the whole are one half.
HALF = 1e-12


def weighted_median(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted median along the last axis: whole weights are repeated values.

    It is a value x that minimises sum weights |values - x|; where all between two values do, their mean.

    Parameters
    ----------
    values, weights : ndarray of shape (..., m)
        Weights are nonnegative; where all are zero the median is the smallest of the values.
    """
    weights = np.broadcast_to(weights, values.shape)
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    sums = np.cumsum(np.take_along_axis(weights, order, axis=-1), axis=-1)
    half, slack = 0.5 * sums[..., -1:], HALF * sums[..., -1:]
    lower = np.argmax(sums >= half - slack, axis=-1)[..., None]
    upper = np.argmax((sums > half + slack) | (sums == sums[..., -1:]), axis=-1)[..., None]
    ends = [np.take_along_axis(ordered, one, axis=-1)[..., 0] for one in (lower, upper)]
    return 0.5 * ends[0] + 0.5 * ends[1]
