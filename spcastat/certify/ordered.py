"""Upper bounds on sums over orthonormal directions, such as adjusted variance, for batches of problems.

Let S = F'F, F_T be the columns of F on the support T, N_T = F_T F_T', and q_1, ..., q_k be the orthonormal
directions of the successive scores of a fit (Gram-Schmidt). Component j, with support Tj, adds at most
q_j' N_Tj q_j, in any order. The components of one variable, with variables I, together add at most tr S_II
minus the sum of q_j' N_I q_j over the other components j, so that

    A <= tr S_II + max over orthonormal q_j of sum_j q_j' (N_Tj - N_I) q_j,

where j runs over the other components, which may also load on the variables in I. The dual of the relaxation
to matrices, tr Z + sum_j lambda_max(N_Tj - N_I - Z), is a bound for every Z >= 0.

PEV of orthogonal loadings has the same form: it is the sum of v_j' S v_j with orthonormal v_j, each on its
support, which is spanned by the columns of D_j. The bound is tr Z + sum_j lambda_max(D_j'(S - Z) D_j).
"""

from __future__ import annotations

import numpy as np

from spcastat.certify.dual import FIRST, ROUNDING, Bases, Relaxation, Running
from spcastat.search.small_matrices import SMALLEST, divisor


def ordered_relaxation(groups: list[np.ndarray], counts: list[int], bases: Bases | None = None) -> Relaxation:
    """Return the relaxation of sum_j q_j' D_j N_j D_j' q_j over orthonormal q_j.

    Parameters
    ----------
    groups : list of ndarrays of shape (B, c, c)
        The distinct matrices N_j.
    counts : list of int
        The number of components with each matrix.
    bases : list of ndarrays of shape (B, d, c) or None, optional
        Orthonormal columns whose span contains q_j; None, with c = d, if q_j may be any vector.
    """
    scale = np.maximum(np.linalg.norm(groups[0], axis=(1, 2)), SMALLEST)
    start = [FIRST * N / scale[:, None, None] for N in groups]
    signs = np.ones((1, len(groups)))
    return Relaxation(groups, bases or [None] * len(groups), counts, signs, 1.0, scale, start)


def ordered_bounds(
    groups: list[np.ndarray],
    counts: list[int],
    threshold: np.ndarray | float,
    steps: int,
    *,
    bases: Bases | None = None,
    running: Running = lambda: True,
) -> np.ndarray:
    """Return bounds of sum_j q_j' D_j N_j D_j' q_j over orthonormal q_j, shape (B,).

    Parameters
    ----------
    groups, counts, bases
        As for `ordered_relaxation`.
    threshold, steps, running
        As for :meth:`spcastat.certify.dual.Ascent.bounds`.
    """
    return ordered_relaxation(groups, counts, bases).bounds(threshold, steps, running)[0]


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
