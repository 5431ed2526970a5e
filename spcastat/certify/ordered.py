"""Upper bounds on sums over orthonormal directions, such as adjusted variance, for batches of problems.

Let S = F'F, N_T = F_T F_T' and q_1, ..., q_k be the orthonormal directions of the successive scores of a fit
(Gram-Schmidt). Component j adds at most q_j' N_Tj q_j, in any order. The components of one variable, with
variables I, together add at most tr S_II minus the sum of q_j' N_I q_j over the other components j, so that

    A <= tr S_II + max over orthonormal q_j of sum_j q_j' (N_Tj - N_I) q_j,

where j runs over the other components, which may also load on the variables in I. The dual of the relaxation
to matrices, tr Z + sum_j lambda_max(N_Tj - N_I - Z), is a bound for every Z >= 0.

PEV of orthogonal loadings has the same form: it is the sum of v_j' S v_j with orthonormal v_j, each on its
support, which is spanned by the columns of D_j. The bound is tr Z + sum_j lambda_max(D_j'(S - Z) D_j).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.certify.dual import (
    EVERY,
    HOPELESS,
    ROUNDING,
    WINDOW,
    Running,
    fantope,
    ky_fan,
    leading,
    positive,
)
from spcastat.search.small_matrices import SMALLEST, divisor

#: Ratio of primal to dual step length.
RATIO = 2.0


Bases = list[np.ndarray | None]


def certified(groups: list[np.ndarray], counts: list[int], Z: np.ndarray, bases: Bases) -> np.ndarray:
    """Return the bound that `Z` proves, enlarged by its rounding, shape (B,).

    Parameters
    ----------
    groups : list of ndarrays of shape (B, c, c)
        The distinct matrices N_j.
    counts : list of int
        The number of components with each matrix.
    Z : ndarray of shape (B, d, d)
        Positive semidefinite up to rounding.
    bases : list of ndarrays of shape (B, d, c) or None
        Orthonormal columns whose span contains q_j; None, with c = d, if q_j may be any vector.
    """
    bound = np.trace(Z, axis1=1, axis2=2)
    size = bound.copy()
    for N, count, D in zip(groups, counts, bases, strict=True):
        bound = bound + ky_fan(N - _inside(Z, D), count)
        size = size + np.sqrt((N**2).sum(axis=(1, 2)))
    return np.asarray(bound + ROUNDING * size * sum(counts))


def ordered_bounds(
    groups: list[np.ndarray],
    counts: list[int],
    threshold: np.ndarray | float,
    steps: int,
    *,
    bases: Bases | None = None,
    running: Running = lambda: True,
    multipliers: np.ndarray | None = None,
) -> np.ndarray:
    """Return bounds of sum_j q_j' D_j N_j D_j' q_j over orthonormal q_j, shape (B,).

    Parameters
    ----------
    groups, counts, bases
        As for `certified`; without bases every q_j may be any vector.
    threshold, steps, running
        As for :func:`spcastat.certify.dual.support_bounds`.
    multipliers : ndarray of shape (B, d, d), optional
        Zeros, replaced by the Z that prove the bounds.
    """
    inside: Bases = [None] * len(groups) if bases is None else bases
    B, d = groups[0].shape[:2] if inside[0] is None else inside[0].shape[:2]
    level = np.broadcast_to(np.asarray(threshold, dtype=float), (B,))
    bound = certified(groups, counts, np.zeros((B, d, d)), inside)
    at = np.flatnonzero(bound > level)
    state = _State.begin([N[at] for N in groups], counts, _some(inside, at), d)
    history = [bound[at]]
    for left in reversed(range(steps // EVERY)):
        if not (at.size and running()):
            break
        for _ in range(EVERY):
            if running():
                state.step()
        found = certified(state.groups, counts, state.Z, state.bases)
        if multipliers is not None:
            multipliers[at[found < bound[at]]] = state.Z[found < bound[at]]
        bound[at] = np.minimum(bound[at], found)
        history = [*history[-WINDOW:], bound[at]]
        open_ = bound[at] > level[at]
        if len(history) > WINDOW:
            fall = (history[0] - history[-1]) / WINDOW
            open_ &= bound[at] - HOPELESS * fall * left <= level[at]
        at, state = at[open_], state.some(open_)
        history = [values[open_] for values in history]
    return bound


def _inside(Z: np.ndarray, D: np.ndarray | None) -> np.ndarray:
    return Z if D is None else D.mT @ Z @ D


def _outside(X: np.ndarray, D: np.ndarray | None) -> np.ndarray:
    return X if D is None else D @ X @ D.mT


def _some(bases: Bases, which: np.ndarray) -> Bases:
    return [None if D is None else D[which] for D in bases]


def sequential(S: np.ndarray, singles: np.ndarray) -> np.ndarray:
    """Return the largest adjusted variance of components of one variable each, in their best order.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Positive semidefinite up to rounding.
    singles : ndarray of int, shape (B, m)
        The variables of each fit.

    Returns
    -------
    ndarray of shape (B,), enlarged by rounding

    Notes
    -----
    A component adds the residual variance of its variable after regression on the earlier ones, whatever
    their order. So the best order of a set extends the best order of a set with one variable less (dynamic
    programming). A variable with a residual share up to 1e-5 is not regressed on; the result is still a
    bound.
    """
    B, m = singles.shape
    whole = S[singles[:, :, None], singles[:, None, :]]
    size = np.einsum("bii->bi", whole)
    left, best = {0: whole}, {0: np.zeros(B)}
    for count in range(m):
        after: dict[int, np.ndarray] = {}
        for bits in [one for one in left if one.bit_count() == count]:
            D = left.pop(bits)
            for i in [i for i in range(m) if not bits >> i & 1]:
                new, own = bits | 1 << i, D[:, i, i].clip(min=0.0)
                total = best[bits] + own
                best[new] = np.maximum(best[new], total) if new in best else total
                if new not in after and count < m - 1:
                    clear = own > 1e-5 * size[:, i]
                    share = np.where(clear, 1.0 / divisor(own, clear), 0.0)
                    after[new] = D - share[:, None, None] * D[:, :, i, None] * D[:, None, i, :]
        left.update(after)
    return np.asarray(best[(1 << m) - 1] + ROUNDING * size.sum(axis=1))


@dataclass(eq=False)
class _State:
    """The iterates of Chambolle and Pock's method: X_j with traces `counts`, and Z for their sum <= I."""

    groups: list[np.ndarray]
    counts: list[int]
    bases: Bases
    X: list[np.ndarray]
    Z: np.ndarray
    ahead: np.ndarray
    scale: np.ndarray

    @classmethod
    def begin(cls, groups: list[np.ndarray], counts: list[int], bases: Bases, d: int) -> _State:
        scale = np.maximum(np.sqrt((groups[0] ** 2).sum(axis=(1, 2))), SMALLEST)[:, None, None]
        X = [leading(N, count) for N, count in zip(groups, counts, strict=True)]
        zero = np.zeros((len(scale), d, d))
        state = cls(groups, counts, bases, X, zero, zero, scale)
        state.ahead = state._sum()
        return state

    def _sum(self) -> np.ndarray:
        """Return the sum over j of D_j X_j D_j'."""
        parts = [_outside(X, D) for X, D in zip(self.X, self.bases, strict=True)]
        return np.asarray(sum(parts, np.zeros_like(self.Z)))

    def step(self) -> None:
        size = np.sqrt(len(self.groups))
        tau, sigma = RATIO / size, 1.0 / (RATIO * size)
        self.Z = positive(self.Z + sigma * self.scale * (self.ahead - np.eye(self.Z.shape[1])))
        before = self._sum()
        self.X = [
            fantope(X + tau * (N - _inside(self.Z, D)) / self.scale, count)
            for X, N, D, count in zip(self.X, self.groups, self.bases, self.counts, strict=True)
        ]
        self.ahead = 2.0 * self._sum() - before

    def some(self, which: np.ndarray) -> _State:
        """Return the problems selected by a mask."""
        return _State(
            [N[which] for N in self.groups],
            self.counts,
            _some(self.bases, which),
            [X[which] for X in self.X],
            self.Z[which],
            self.ahead[which],
            self.scale[which],
        )
