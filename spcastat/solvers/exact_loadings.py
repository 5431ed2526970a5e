"""The best loadings on given supports, the last step of every l0 fit.

Sweeps and power steps converge to them linearly, at a rate that depends on the data. On given supports the
problem is smooth, and quasi-Newton steps solve it to machine precision.
"""

from __future__ import annotations

import numpy as np

from spcastat.kernels.descent import FLAT, minimise
from spcastat.kernels.eig import symmetric
from spcastat.kernels.ties import unit
from spcastat.operators import GRAM_ORDER, Gram, Operator, Rows


def fitted(
    op: Operator, V: np.ndarray, nonneg: bool = False, steps: int = 500, flat: float = 0.0
) -> np.ndarray | None:
    """Return the loadings of largest explained variance (PEV) on the supports of `V`.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
        Unit-length columns near a stationary point. A single component becomes the leading eigenvector on its
        support; several are optimised together from `V`.
    nonneg : bool
        Whether no loading may become negative.
    steps : int
        The largest number of quasi-Newton steps.
    flat : float
        Stop when a step increases the explained variance by at most this share; 0 for machine precision.

    Returns
    -------
    ndarray of shape (p, k) or None
        Unit-length columns with the same supports that explain at least as much as those of `V`, up to
        rounding; None if none were found.
    """
    used = np.flatnonzero(V.any(axis=1))
    view: Operator = op.take(used)
    if used.size <= GRAM_ORDER and not (isinstance(op, Rows) and 2 * op.n < used.size):
        S = view.block(np.arange(used.size))
        view = Gram(symmetric(S))
    W = V[used]
    better = _eigenvector(view, W) if W.shape[1] == 1 else _climbed(view, W, steps, flat)
    if nonneg and (better < 0).any():
        better = _climbed(view, W, steps, flat)
    supports_stay = bool(((better != 0) == (W != 0)).all())
    if better is W or not supports_stay or (nonneg and (better < 0).any()):
        return None
    if explained(view, better)[0] < explained(view, W)[0] * (1.0 - FLAT):
        return None
    out = np.zeros_like(V)
    out[used] = better
    return out


def explained(op: Operator, V: np.ndarray) -> tuple[float, np.ndarray]:
    """Return tr((V'V)^-1 V'SV), the variance of the rows projected on the columns of V, and its gradient."""
    SV = op.dot(V)
    inner = np.linalg.solve(V.T @ V, V.T @ SV)  # (V'V)^-1 V'SV
    return float(np.trace(inner)), 2.0 * np.linalg.solve(V.T @ V, (SV - V @ inner).T).T


def _eigenvector(view: Operator, W: np.ndarray) -> np.ndarray:
    v = view.leading(1)[1]
    return v if float(v[:, 0] @ W[:, 0]) >= 0 else -v


def _climbed(view: Operator, W: np.ndarray, steps: int, flat: float) -> np.ndarray:
    values = np.linalg.eigvalsh(W.T @ W)
    # V is returned unchanged if its columns are linearly dependent: if V'V has an eigenvalue of at most 1e-10
    # times the largest
    if values[0] <= 1e-10 * values[-1]:
        return W
    total = view.total
    where = np.nonzero(W)
    point = np.zeros(W.shape)

    def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
        point[where] = x
        lengths = np.linalg.norm(point, axis=0)
        value, gradient = explained(view, point / lengths)  # does not depend on the lengths of columns
        return -value / total, -(gradient / lengths)[where] / total

    x = W[where]
    if np.abs(negative(x)[1]).max() <= FLAT:  # a zero gradient: steps would follow rounding errors
        return W
    point[where] = minimise(negative, x, steps, flat)
    return unit(point)
