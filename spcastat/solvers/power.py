"""The iteration that most sequential methods share: a power step, then a threshold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spcastat.kernels.ties import RELATIVE, levelled
from spcastat.operators import Operator

#: (X'u for the unit score u = Xv / |Xv|, current loadings v) -> new loadings of any length.
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Limit:
    """The end of an iteration: unit loadings, the loadings before scaling, steps, and convergence."""

    v: np.ndarray
    raw: np.ndarray
    n_iter: int
    converged: bool


def correlations(view: Operator, v: np.ndarray) -> np.ndarray:
    """Return X'u for the unit score u = Xv / |Xv|, from products with S alone.

    The entries are a_j'u = correlation times standard deviation of variable j. They are zero if the score has
    no variance.
    """
    Sv = view.dot(v)
    variance = float(v @ Sv)
    return Sv / np.sqrt(variance) if variance > 0 else np.zeros_like(Sv)


def power(view: Operator, start: np.ndarray, rule: Rule, tol: float, max_iter: int) -> Limit:
    """Iterate v <- rule(X'u), scaled to unit length, where u is the unit score of v.

    This is alternating minimisation of |X - u v'|^2 plus a penalty on v, with u eliminated by
    X'u = Sv / sqrt(v'Sv). Entries of X'u that tie up to rounding are made equal before the rule is applied,
    so that thresholds treat them alike, and rules that count keep the lowest indices.

    Parameters
    ----------
    view : Operator
    start : ndarray of shape (p,)
    rule : callable
    tol : float
        Converged when no loading changes by more than this.
    max_iter : int

    Returns
    -------
    Limit
        Its loadings are zero if the rule returned zero.
    """
    v, raw = start, start
    for step in range(1, max_iter + 1):
        raw = rule(levelled(correlations(view, v)[:, None], RELATIVE)[:, 0], v)
        length = float(np.linalg.norm(raw))
        if length == 0:
            return Limit(raw, raw, step, True)
        new = raw / length
        change = float(np.abs(new - v).max())
        v = new
        if change <= tol:
            return Limit(v, raw, step, True)
    return Limit(v, raw, max_iter, False)


def renormalised(view: Operator, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the best unit loadings on the support of `v`, and the same scaled by the length of the score.

    Variational renormalisation (Moghaddam, Weiss and Avidan, 2006): the leading eigenvector of the
    variables in the support.
    """
    support = np.flatnonzero(v)
    best = np.zeros_like(v)
    value, vector = view.take(support).leading(1)
    best[support] = vector[:, 0]
    return best, best * np.sqrt(max(float(value[0]), 0.0))


def with_length(view: Operator, v: np.ndarray) -> np.ndarray:
    """Return w, unit loadings scaled by the length of the score, so that X - u w' = X (I - v v')."""
    return v * np.sqrt(max(float(v @ view.dot(v)), 0.0))
