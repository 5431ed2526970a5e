"""Match the components of a resampled fit with those of the fit, by the correlations of their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from spcastat.operators import Operator


@dataclass(frozen=True, eq=False)
class Aligned:
    """Loadings in the order and with the signs of reference loadings.

    Attributes
    ----------
    V : ndarray of shape (p, k)
    order : ndarray of shape (k,)
        The index of each column before matching.
    similarity : ndarray of shape (k,)
        Absolute correlation of the scores of each component with those of its counterpart, in [0, 1]; 0 if
        one of them has no variance.
    """

    V: np.ndarray
    order: np.ndarray
    similarity: np.ndarray


def align(
    found: np.ndarray, reference: np.ndarray, op: Operator, kinds: Sequence[int] | None = None
) -> Aligned:
    """Match the columns of `found` with those of `reference`, and adjust their order and signs.

    Parameters
    ----------
    found, reference : ndarray of shape (p, k)
        Loadings of any length.
    op : Operator
        The covariance matrix S of the fit, with which scores are compared.
    kinds : sequence of int, optional
        Labels of the components; only components with the same label may be exchanged.

    Returns
    -------
    Aligned

    Notes
    -----
    The assignment maximises the sum of the absolute correlations |v'Sw| / sqrt(v'Sv w'Sw) (Hungarian
    algorithm). The sign is that of the correlation, or of v'w if the correlation is zero. There is no
    rotation, which would destroy the zeros.
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
