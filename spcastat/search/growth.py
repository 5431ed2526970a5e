"""Supports grown variable by variable, the best next one first, for a batch of fits at once."""

from __future__ import annotations

import numpy as np

from spcastat.search.columns import eigen, ranked
from spcastat.search.exchange import NULL, enlarged_ratio
from spcastat.search.model import Model


def singles(model: Model) -> np.ndarray:
    """Return the ratio v'Av / v'Bv of every single variable, shape (B, m)."""
    corner, corner_M = model.diagonal(), model.corners()
    return np.where(corner_M > NULL, corner / np.maximum(corner_M, NULL), 0.0)


def grown(model: Model, first: np.ndarray, card: int) -> np.ndarray:
    """Return supports, shape (B, R, card), grown from the variables `first`, shape (B, R)."""
    B, R = first.shape
    several = model.repeated(R)
    m = several.M.m
    support = first.reshape(B * R, 1)
    every = np.broadcast_to(np.arange(m), (B * R, m))
    while support.shape[1] < card:
        c = support.shape[1]
        parts = several.bordered(support, every)
        values, U = eigen(parts.A[:, :, :c], None if parts.M is None else parts.M[:, :, :c])
        r = np.zeros((1, c, 1)) if parts.M is None else U.mT @ parts.M[:, :, c:]
        gains = enlarged_ratio(values, U.mT @ parts.A[:, :, c:], r, parts.corner, parts.corner_M)[0]
        np.put_along_axis(gains, support, -1.0, axis=1)
        support = np.concatenate([support, ranked(gains, 1)], axis=1)
    return np.sort(support, axis=1).reshape(B, R, card)
