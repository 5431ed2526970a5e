"""Order and sign of components, settled before anything is measured."""

from __future__ import annotations

import numpy as np

from spcastat.kernels.ties import flip_signs, tie_width
from spcastat.operators import Operator


def by_variance(op: Operator, V: np.ndarray) -> np.ndarray:
    """Return the order of the columns of V by score variance, largest first; ties keep place."""
    remaining = np.diag(op.products(V)).copy()
    largest = remaining.max()
    order: list[int] = []
    while len(order) < len(remaining):
        best = remaining.max()
        j = int(np.argmax(remaining >= best - tie_width(best, largest)))
        order.append(j)
        remaining[j] = -np.inf
    return np.array(order)


def settle(op: Operator, V: np.ndarray, sort: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the loadings in their final order and sign, and the order that was taken.

    The largest absolute loading of each component is positive.
    """
    order = by_variance(op, V) if sort else np.arange(V.shape[1])
    V = V[:, order]
    return V * flip_signs(V) + 0.0, order  # no -0
