"""The sign rule and the final order of the components, which most criteria leave undetermined."""

from __future__ import annotations

import numpy as np

from spcastat.kernels.ties import flip_signs, ranked
from spcastat.operators import Operator


def settle(op: Operator, V: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the loadings in their final order with their final signs, and the permutation.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
    groups : ndarray of int, shape (k,)
        Components of one group are sorted by the variance of their scores, the largest first; groups keep
        their places. Components of equal variance are sorted by their supports.

    Returns
    -------
    V : ndarray of shape (p, k)
        The largest absolute loading of each component is positive.
    order : ndarray of int, shape (k,)
        The previous position of each component.
    """
    order = np.arange(V.shape[1])
    if len(set(groups.tolist())) < len(order):
        variances, supports = np.diag(op.products(V)), -_by_support(V)
        for group in set(groups.tolist()):
            places = np.flatnonzero(groups == group)
            order[places] = places[ranked(variances[places], supports[places])]
    V = V[:, order]
    return V * flip_signs(V) + 0.0, order  # turns -0.0 into 0.0


def _by_support(V: np.ndarray) -> np.ndarray:
    """Return the rank of each column by its support, then by its absolute loadings."""
    used = V[V.any(axis=1)]
    sizes = -np.abs(used).round(9)  # so that rounding errors do not decide
    order = np.lexsort([*sizes[::-1], *(used == 0)[::-1]])  # lexsort sorts by its last key first
    return np.argsort(order).astype(float)
