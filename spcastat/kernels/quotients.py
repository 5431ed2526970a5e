"""Quotients that are zero where there is nothing to divide by."""

from __future__ import annotations

import numpy as np


def quotients(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a / b, and zero where `b`, which is not negative, is zero; the shapes go together.

    The result lies in memory as `a` does, so that later sums keep their order.
    """
    return np.asarray(a / np.where(b > 0, b, np.inf))
