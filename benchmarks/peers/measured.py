"""The one function by which the loadings of every program are measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.measures import adjusted, best_order, pev


@dataclass(frozen=True)
class Measured:
    """Loadings by every criterion; shares are of the total variance.

    Attributes
    ----------
    pev : float
        What the projection on the loadings reconstructs: of p variables that overlap, nothing counts twice.
    adjusted : float
        The variance of the scores, each component counting what it adds, in the best order.
    variances : float
        Sum of v'Sv, what msPCA calls the fraction of variance explained. It equals `pev` for orthogonal
        loadings, and counts the same variance again where they are not.
    violation : float
        Sum of |v_i'v_j| over pairs, msPCA's violation of orthogonality.
    card : tuple of int
        Numbers of nonzeros.
    """

    pev: float
    adjusted: float
    variances: float
    violation: float
    card: tuple[int, ...]


def measured(V: np.ndarray, S: np.ndarray) -> Measured:
    """Measure loadings of shape (p, k), of any length and sign, by the covariance matrix S, shape (p, p).

    Columns of zeros count as components that explain nothing.
    """
    lengths = np.linalg.norm(V, axis=0)
    card = tuple(int(c) for c in np.count_nonzero(V, axis=0))
    V = V[:, lengths > 0] / lengths[lengths > 0]
    if V.shape[1] == 0:
        return Measured(0.0, 0.0, 0.0, 0.0, card)
    total = float(np.trace(S))
    order = best_order(V.T @ S @ V)
    return Measured(
        pev(V, S=S),
        adjusted(V[:, order], S=S),
        float(np.einsum("ij,ik,kj->", V, S, V)) / total,
        float(np.abs(np.triu(V.T @ V, 1)).sum()),
        card,
    )
