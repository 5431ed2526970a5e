"""Which component of a resampled fit is which component of the fit: by the correlation of their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from spcastat.operators import Operator


@dataclass(frozen=True, eq=False)
class Aligned:
    """Loadings in the order and with the signs of others.

    Attributes
    ----------
    V : ndarray of shape (p, k)
    order : ndarray of shape (k,)
        Where each column stood before.
    similarity : ndarray of shape (k,)
        Absolute correlation of the scores of each component with those of its counterpart, in [0, 1]; 0
        beside a component without variance.
    """

    V: np.ndarray
    order: np.ndarray
    similarity: np.ndarray


def align(
    found: np.ndarray, reference: np.ndarray, op: Operator, kinds: Sequence[int] | None = None
) -> Aligned:
    """Put the columns of `found` into the order of those of `reference` that they resemble, then turn signs.

    Parameters
    ----------
    found, reference : ndarray of shape (p, k)
        Loadings of any length.
    op : Operator
        The covariance matrix S in which scores are compared: that of the fit.
    kinds : sequence of int, optional
        Labels of the components: those of one label alone change places.

    Returns
    -------
    Aligned

    Notes
    -----
    The assignment maximises the sum of the absolute correlations |v'Sw| / sqrt(v'Sv w'Sw) (Hungarian
    algorithm); the sign is that of the correlation, or of v'w where that is zero. Nothing is rotated, which
    would destroy the zeros.
    """
    k = reference.shape[1]
    products = op.products(np.hstack([found, reference]))
    sd = np.sqrt(np.diag(products).clip(min=0.0))
    sizes = np.outer(sd[:k], sd[k:])
    correlation = np.zeros((k, k))
    np.divide(products[:k, k:], sizes, out=correlation, where=sizes > 0)
    worth = np.abs(correlation)
    if kinds is not None:
        worth = worth - 2.0 * k * (np.array(kinds)[:, None] != np.array(kinds))
    rows, columns = linear_sum_assignment(-worth)
    order = np.empty(k, dtype=int)
    order[columns] = rows
    V = found[:, order]
    matched = correlation[order, np.arange(k)]
    signs = np.where(matched != 0, matched, np.einsum("ij,ij->j", V, reference))
    V = V * np.where(signs < 0, -1.0, 1.0) + 0.0  # no -0
    return Aligned(V, order, np.abs(matched).clip(max=1.0))
