"""Quotients that are zero where there is nothing to divide by."""

from __future__ import annotations

import numpy as np


def quotients(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a / b, and zero where `b`, which is not negative, is zero; the shapes go together."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b))), where=b > 0)
