"""Supports grown variable by variable, the best next one first, for a batch of fits at once."""

from __future__ import annotations

import numpy as np

from spcastat.search.columns import after_bordering, eigen, ranked
from spcastat.search.exchange import NULL
from spcastat.search.factors import divisor
from spcastat.search.model import Bordered, Model


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
        gains = _added(several.bordered(support, every), support.shape[1])
        np.put_along_axis(gains, support, -1.0, axis=1)
        support = np.concatenate([support, ranked(gains, 1)], axis=1)
    return np.sort(support, axis=1).reshape(B, R, card)


def _added(parts: Bordered, c: int) -> np.ndarray:
    """Return the largest ratio with each further variable, shape (B, w), close enough to rank by."""
    own = None if parts.M is None else parts.M[:, :, :c]
    values, U = eigen(parts.A[:, :, :c], own)
    turned = U.mT
    coupling = turned @ parts.A[:, :, c:]
    if parts.M is None:
        return after_bordering(values, coupling, parts.corner)
    cross = turned @ parts.M[:, :, c:]
    left = parts.corner_M - (cross**2).sum(axis=1)
    sound = left > NULL * np.maximum(parts.corner_M, NULL)
    scale = divisor(left, sound)
    corner = parts.corner - (cross * (2.0 * coupling - values[..., None] * cross)).sum(axis=1)
    coupling = (coupling - values[..., None] * cross) / np.sqrt(scale)[:, None]
    corner = np.where(sound, corner / scale, 0.0)
    return np.where(sound, after_bordering(values, coupling, corner), values[:, -1:])
