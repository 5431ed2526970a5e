r"""Which variables outside all supports cannot improve a fit by a swap: three tests in order of cost.

With the other loadings fixed, Q an orthonormal basis of them and P = I - QQ', what a component adds to the
explained variance tr S V (V'V)^-1 V' is v'Av / v'Bv, A = PSP and B = P. For a variable b outside all supports
Pe_b = e_b, so that B_bb = 1, B_bJ = 0 and A_bb = S_bb. Let L be the largest ratio on the support J of the
component, gain(T) that on T = J - i.

*By variance.* On T + b a vector is x + t e_b with x on T, its length squared in B is x'Bx + t^2, and A is
positive semidefinite: the largest eigenvalue of such a matrix in two blocks is at most the sum of those of
the blocks. Hence gain(T + b) <= gain(T) + S_bb, and with

    S_bb <= L - max_i gain(J - i)

no swap of b into the component raises the explained variance.

*By score.* Let theta_1 = L >= theta_2 >= ... be the eigenvalues of A relative to B on J, v the best vector,
N the pseudo-inverse of LB - A there, a = A_Jb and s = v'a = (S P v)_b, the covariance of b with the
component's own part of the score. By the formula of :func:`spcastat.search.conditional.slack` gain(T + b) > L
exactly where

    L - S_bb < |N^(1/2) (a - (s / v_i) e_i)|^2 .

A is positive semidefinite on J + b, so that s^2 / L + sum_{j>1} a_j^2 / theta_j <= S_bb in coordinates along
the eigenvectors; hence |N^(1/2) a|^2 <= theta_2 / (L - theta_2) (S_bb - s^2 / L), and by the triangle
inequality no swap of b raises the explained variance where for all i

    sqrt(theta_2 / (L - theta_2) (S_bb - s^2 / L)) + |s| sqrt(N_ii) / |v_i| <= sqrt(L - S_bb).

One product with S tests all variables in this way. Where v_i is next to nothing, or theta_2 next to L,
gain(T + b) <= gain(J + b) is used, which exceeds L' = L + tolerance only where

    L' - S_bb < s^2 / (L' - L) + theta_2 / (L' - theta_2) (S_bb - s^2 / L) .

*Exactly.* With the covariances S_Jb the formula itself answers for every pair of variables.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spcastat.kernels.eig import symmetric
from spcastat.kernels.ties import unit
from spcastat.operators import Operator
from spcastat.search.conditional import Conditional, Peak, possible_for, slack
from spcastat.search.reconstruction import basis

#: This many variables or fewer are tested exactly at once; more of them are tested by their scores first.
DIRECT = 500
#: Columns of the covariance matrix that are formed at once.
COLUMNS = 32
#: Up to this many columns of the covariance matrix cost less than its block for the candidates.
FEW = 16


def peaks_of(S: np.ndarray, V: np.ndarray, supports: list[np.ndarray], total: float) -> list[Peak]:
    """Return the best vector of every component on its support, the others as they are."""
    SV = S @ V
    return [Conditional(S, V, SV, i).peak(support, total) for i, support in enumerate(supports)]


def own_parts(V: np.ndarray, peaks: list[Peak]) -> np.ndarray:
    """Return what each component's best vector has beside the others, P v at unit length, shape (p, k)."""
    own = np.zeros(V.shape)
    for i, peak in enumerate(peaks):
        others = np.delete(V, i, axis=1)
        Q = basis(others, others)[0]
        own[peak.support, i] = peak.vector
        own[:, i] -= Q @ (Q.T @ own[:, i])
    return unit(own)


def needed_variance(peaks: list[Peak]) -> float:
    """Return the variance up to which no swap of a variable outside raises the explained variance."""
    return float(min(peak.losses().min() + peak.least for peak in peaks))


def possible_by_score(peaks: list[Peak], scores: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return which variables outside the test by score does not exclude.

    Parameters
    ----------
    peaks : list of Peak
        Of the k components.
    scores : ndarray of shape (q, k)
        Covariances of the variables with the own parts of the scores, S times `own_parts`.
    variances : ndarray of shape (q,)

    Returns
    -------
    ndarray of bool, shape (q,)
    """
    possible = np.zeros(len(variances), dtype=bool)
    for peak, s in zip(peaks, scores.T, strict=True):
        possible |= possible_for(peak, s, variances)
    return possible


def rising(V: np.ndarray, peaks: list[Peak], cross: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return by how much each variable would raise the explained variance by a swap into a component.

    Parameters
    ----------
    V : ndarray of shape (u, k)
        Loadings on the variables of all supports.
    peaks : list of Peak
        Of the components, their supports numbered as the rows of V.
    cross : ndarray of shape (u, q)
        Covariances of these variables with others.
    variances : ndarray of shape (q,)
        Of the others.

    Returns
    -------
    ndarray of shape (q,)
        An estimate, for ranking, where a swap with the variable raises it, or may; zero where no swap does.
    """
    found = np.zeros(len(variances))
    for i, peak in enumerate(peaks):
        others = np.delete(V, i, axis=1)
        Q = basis(others, others)[0]
        J = peak.support
        short, rise = slack(
            peak,
            cross[J] - Q[J] @ (Q.T @ cross),
            np.zeros((len(J), len(variances))),
            variances,
            np.ones(len(variances)),
        )
        rise = np.maximum(rise, np.finfo(float).tiny)
        found = np.maximum(found, np.where(short < -peak.least, rise, 0.0).max(axis=0))
    return found


def entering(op: Operator, candidates: np.ndarray, V: np.ndarray, peaks: list[Peak]) -> np.ndarray:
    """Return the variables that are not candidates and may improve a fit by a swap, the most promising first.

    Parameters
    ----------
    op : Operator
    candidates : ndarray of int, shape (m,)
        Among them all supports.
    V : ndarray of shape (m, k)
        Loadings of the candidates.
    peaks : list of Peak
        Of the components.

    Returns
    -------
    ndarray of int
        For every variable that is neither here nor a candidate it is proven that no single swap with it into
        any component, the others as they are, raises the explained variance by more than ``peak.least``.
    """
    variances = op.diagonal()
    outside = np.ones(op.p, dtype=bool)
    outside[candidates] = False
    outside &= variances > needed_variance(peaks)
    possible = np.flatnonzero(outside)
    if possible.size > DIRECT:
        own = np.zeros((op.p, V.shape[1]))
        own[candidates] = own_parts(V, peaks)
        scores = op.dot(own)[possible]
        possible = possible[possible_by_score(peaks, scores, variances[possible])]
    if possible.size == 0:
        return possible
    used, places = np.unique(np.concatenate([peak.support for peak in peaks]), return_inverse=True)
    ends = np.cumsum([0, *(len(peak.support) for peak in peaks)])
    renumbered = [
        replace(peak, support=places[start:stop])
        for peak, start, stop in zip(peaks, ends[:-1], ends[1:], strict=True)
    ]
    cross = _cross(op, candidates[used], possible)
    rise = rising(V[used], renumbered, cross, variances[possible])
    found = np.flatnonzero(rise > 0)
    order = np.lexsort((possible[found], -variances[possible[found]], -rise[found]))
    return possible[found[order]]


def enlarged(op: Operator, S: np.ndarray | None, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return S[after, after] of an operator, given S[before, before] for some of these variables.

    Parameters
    ----------
    op : Operator
    S : ndarray of shape (m, m) or None
    before, after : ndarray of int, shapes (m,) and (q,)
        Ascending, `before` among `after`.
    """
    new = np.setdiff1d(after, before)
    if S is None or new.size > FEW:
        block = op.block(after)
        return symmetric(block) if (block != block.T).any() else block
    block = np.empty((after.size, after.size))
    old, places = np.searchsorted(after, before), np.searchsorted(after, new)
    block[np.ix_(old, old)] = S
    columns = op.columns(new)[after]
    columns[places] = 0.5 * (columns[places] + columns[places].T)
    block[:, places] = columns
    block[places] = columns.T
    return block


def _cross(op: Operator, used: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return S[used][:, others]."""
    if others.size <= FEW:
        return op.columns(others)[used]
    if others.size <= DIRECT:
        both = np.concatenate([used, others])
        return op.block(both)[: used.size, used.size :]
    cross = np.empty((used.size, others.size))
    for start in range(0, used.size, COLUMNS):
        part = slice(start, start + COLUMNS)
        cross[part] = op.columns(used[part])[others].T
    return cross
