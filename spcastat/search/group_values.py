"""Values and gradients of components of disjoint groups, for searches over partitions of all variables.

Loadings are unit vectors with disjoint supports, so that they are orthonormal: V'V = I.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from spcastat.search.criteria import inverse_root, triangle

#: The smallest divisor of remaining variances, as shares of the total.
SMALLEST_VARIANCE = 1e-10


@dataclass(frozen=True)
class GroupSearch:
    """What a search over partitions of all variables needs to know of an objective.

    Attributes
    ----------
    bound : {"equal", "upper", None}
        The sum of the first eigenvalues of the groups equals the value of their first eigenvectors, which are
        the best loadings ("equal"), or bounds the value of any loadings ("upper"), or neither (None).
    slope : callable
        Takes V, S V and S S V (None if the objective does not need it), each of shape (n, p, k), and returns
        half the gradient of the value with respect to V, of this shape, and the values, shape (n,). Its part
        along the columns of V is subtracted.
    values : callable
        Takes V'SV and V'SSV (or None), of shape (n, k, k), and returns the values, shape (n,).
    ratio : bool
        Whether the value of a single component is v'SSv / v'Sv, rather than v'Sv.
    """

    bound: Literal["equal", "upper"] | None
    slope: Callable[[np.ndarray, np.ndarray, np.ndarray | None], tuple[np.ndarray, np.ndarray]]
    values: Callable[[np.ndarray, np.ndarray | None], np.ndarray]
    ratio: bool = False


# --- adjusted variance ----------------------------------------------------------------------------


def adjusted_slope(V: np.ndarray, SV: np.ndarray, SSV: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return S V C C' - V diag(adjusted variances), with C as in `triangle`, and the values."""
    C, variances = triangle(V.mT @ SV)
    return SV @ (C @ C.mT) - V * variances[:, None, :], variances.sum(axis=1)


def adjusted_values(G: np.ndarray, N: np.ndarray | None) -> np.ndarray:
    """Return the adjusted variances of components that are put in order one by one, the largest first."""
    return added_variances(G).sum(axis=0)


def added_variances(G: np.ndarray, sorts: bool = True) -> np.ndarray:
    """Return what each component adds, shape (k, n), from G = V'SV of shape (n, k, k).

    If `sorts`, the next component is that of the largest remaining variance; else they have the order of G.
    """
    k, indices = G.shape[1], np.arange(len(G))
    residual, increments = G.copy(), np.zeros((k, len(G)))
    for i in range(k):
        variances = np.diagonal(residual, axis1=1, axis2=2)
        component = variances.argmax(axis=1) if sorts else np.full(len(G), i)
        increments[i] = variances[indices, component].clip(min=0.0)
        column = residual[indices, :, component]
        divisors = np.maximum(increments[i], SMALLEST_VARIANCE)[:, None, None]
        residual = residual - column[:, :, None] * column[:, None, :] / divisors
    return increments


# --- PEV ------------------------------------------------------------------------------------------


def pev_slope(V: np.ndarray, SV: np.ndarray, SSV: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return S V - V diag(variances), and the sums of the variances."""
    variances = np.einsum("bii->bi", V.mT @ SV)
    return SV - V * variances[:, None, :], variances.sum(axis=1)


def pev_values(G: np.ndarray, N: np.ndarray | None) -> np.ndarray:
    """Return the sums of the variances."""
    return np.asarray(np.trace(G, axis1=1, axis2=2))


# --- the least-squares share ----------------------------------------------------------------------


def regression_slope(V: np.ndarray, SV: np.ndarray, SSV: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return S S V H - S V H N H, with H = (V'SV)^-1 and N = V'SSV, and the values tr H N."""
    assert SSV is not None
    root = inverse_root(V.mT @ SV)
    H = root.mT @ root
    HN = H @ (V.mT @ SSV)
    return SSV @ H - SV @ (HN @ H), np.einsum("bii->b", HN)


def regression_values(G: np.ndarray, N: np.ndarray | None) -> np.ndarray:
    """Return tr (V'SV)^-1 V'SSV."""
    assert N is not None
    return np.asarray(np.trace(np.linalg.pinv(G, hermitian=True) @ N, axis1=1, axis2=2))
