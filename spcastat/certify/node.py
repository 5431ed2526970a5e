"""One node of the search: does a support with given variables have an eigenvalue above a level?

Let I be the variables taken, F the free variables, and r the number of free variables that may still be
taken. If lambda(S_II) < level, a support I + K has an eigenvalue of at least `level` if and only if K has one
in

    T = S_FF + S_FI (level - S_II)^-1 S_IF,

the Schur complement. So a node is the same problem with cardinality r and fewer variables, and every bound
applies to T. Eigenvalues of S_II are backward stable: rounding changes T as much as a change of the level by
about c^2 eps would, and the level is lowered by that much once, at the root.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.certify.bounds import cut_off, improved, largest_others, leading_pairs, split
from spcastat.kernels.eig import EPS, below

#: Shares of the largest off-diagonal |S_ij| at which the initial U of the split bound may be clipped; see
#: `spcastat.certify.bounds.split`.
SHARES = np.array([0.85, 0.72, 0.6, 0.5, 0.42, 0.35, 0.28, 0.22, 0.16, 0.11, 0.07])
#: Above this order the split bound is not used, since its factorisations take too long.
SPLIT_ORDER = 2000


@dataclass(frozen=True, eq=False)
class Node:
    """The supports that contain all variables in `taken` and otherwise only variables in `free`.

    Attributes
    ----------
    taken, free : ndarray of int
    U : ndarray of shape (len(free), len(free)) or None
        The matrix U of the parent's split bound, see `spcastat.certify.bounds.split`.
    """

    taken: np.ndarray
    free: np.ndarray
    U: np.ndarray | None = None


def complement(S: np.ndarray, node: Node, level: float) -> np.ndarray | None:
    """Return the T of the module's docstring; None if the taken variables alone reach the level."""
    T = S[np.ix_(node.free, node.free)]
    if node.taken.size:
        values, vectors = np.linalg.eigh(S[np.ix_(node.taken, node.taken)])
        if values[-1] >= level:
            return None
        W = (vectors.T @ S[np.ix_(node.taken, node.free)]) / np.sqrt(level - values)[:, None]
        T = T + W.T @ W
    return T


def examine(S: np.ndarray, node: Node, c: int, level: float) -> tuple[list[Node], np.ndarray | None]:
    """Exclude the node, find a support in it, or branch.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Positive semidefinite.
    node : Node
    c : int
        Cardinality of the supports.
    level : float

    Returns
    -------
    children : list of Node
        Empty if no support of the node reaches the level. The child to examine first is the last.
    found : ndarray of int or None
        A support of at most c variables that reaches the level.
    """
    T = complement(S, node, level)
    if T is None:
        return [], node.taken
    free, U, r = node.free, node.U, c - node.taken.size
    while free.size and r > 0:
        top = int(np.argmax(np.diag(T)))
        if T[top, top] >= level:
            return [], np.concatenate([node.taken, free[[top]]])
        if r == 1:
            break
        if r == 2:
            pair = _best_pair(T, level)
            return [], None if pair is None else np.concatenate([node.taken, free[pair]])
        if below(T, level):
            break
        if free.size <= r:
            return [], np.concatenate([node.taken, free])
        others = largest_others(T, r - 1)
        if _closed_by_sums(T, others, r, level):
            break
        possible = _possible_by_sums(T, others, r, level)
        if possible.all() and free.size <= SPLIT_ORDER:
            closed, U = closed_by_split(T, first_split(T, r) if U is None else U, r, level)
            if closed:
                break
            possible = _possible_by_split(T, U, r, level)
        if possible.all():
            j = branching_variable(T, others, U, r)
            rest = np.delete(np.arange(free.size), j)
            U = None if U is None else U[np.ix_(rest, rest)]
            taken = np.array([*node.taken, free[j]])
            return [Node(node.taken, free[rest], U), Node(taken, free[rest], U)], None
        kept = np.ix_(possible, possible)
        free, T, U = free[possible], T[kept], None if U is None else U[kept]
    return [], None


def _best_pair(T: np.ndarray, level: float) -> np.ndarray | None:
    """Return a pair of variables that reaches the level: (level - T_aa)(level - T_bb) <= T_ab^2; or None."""
    slack = level - np.diag(T)
    gain = T**2 - np.outer(slack, slack) * (1.0 - 8.0 * EPS)
    np.fill_diagonal(gain, -np.inf)
    best = int(np.argmax(gain))
    return np.array(divmod(best, len(T))) if gain.flat[best] >= 0.0 else None


def _closed_by_sums(T: np.ndarray, others: np.ndarray, r: int, level: float) -> bool:
    """Return whether sums of variances or of rows prove that no r variables reach the level."""
    variances = np.diag(T)
    f = len(T)
    safe = level * (1.0 - 4.0 * r * EPS)
    return bool(
        np.partition(variances, f - r)[f - r :].sum() < safe or (variances + others.sum(axis=1)).max() < safe
    )


def _possible_by_sums(T: np.ndarray, others: np.ndarray, r: int, level: float) -> np.ndarray:
    """Mark the variables that may be in a support that reaches the level.

    If j is in the support and b bounds the largest eigenvalue of the other r - 1 variables, all r reach the
    level only if (level - T_jj)(level - b) <= the sum of the r - 1 largest T_jk^2. Also, after j is taken,
    the variances of the others become T_kk + T_jk^2 / (level - T_jj), and r - 1 of these must sum to at least
    the level.
    """
    variances = np.diag(T)
    f = len(T)
    slack = level - variances
    smallest = others.min(axis=1)
    rest = min(
        float(np.partition(variances, f - r + 1)[f - r + 1 :].sum()),
        float((variances + others.sum(axis=1) - smallest).max()),
    )
    wide = 1.0 + 8.0 * (r + 2) * EPS
    possible = slack * (level - rest) <= (others**2).sum(axis=1) * wide + 8.0 * EPS * level**2
    raised = T**2 / slack[:, None] + variances
    np.fill_diagonal(raised, -np.inf)
    possible &= np.partition(raised, f - r + 1, axis=1)[:, f - r + 1 :].sum(axis=1) * wide >= level
    return np.asarray(possible)


def first_split(T: np.ndarray, r: int) -> np.ndarray:
    """Return the U with the smallest split bound (see `spcastat.certify.bounds.split`), to start from.

    The candidates are the off-diagonal part of T, clipped at each of SHARES of its largest absolute value.
    """
    candidates = [cut_off(T, float(share)) for share in SHARES]
    return min(candidates, key=lambda U: float(leading_pairs(split(T, U, r)[0], 1)[0][0]))


def closed_by_split(T: np.ndarray, U: np.ndarray, r: int, level: float) -> tuple[bool, np.ndarray]:
    """Return whether some U has a split bound below the level, which excludes the node, and the best U."""
    best, lowest = U, np.inf
    for _ in range(6):
        if below(split(T, U, r)[0], level):
            return True, U
        new, bound = improved(T, U, r, level)
        if bound < lowest:
            best, lowest = U, bound
        U = new
    return False, best


def _possible_by_split(T: np.ndarray, U: np.ndarray, r: int, level: float) -> np.ndarray:
    """Mark the variables j for which the node with j taken is not excluded by its split bound.

    All j are tested at once.

    Taking j adds w w', w = T_.j / (level - T_jj)^(1/2), to the matrix of the others and lowers r by one. If
    A = level - (split matrix for r - 1 variables) is positive definite, all eigenvalues of the new split
    matrix are below the level if and only if w' (A without j)^-1 w < 1, where the inverse of A without j is
    computed from that of A.
    """
    f = len(T)
    M = split(T, U, r - 1)[0]
    # A margin of 1e-6 bounds the condition number of A, so the error is far below the test's margin of 1e-3.
    if not below(M, level * (1.0 - 1e-6 * (1.0 + (f / 500.0) ** 2))):
        return np.ones(f, dtype=bool)
    inverse = np.linalg.inv(level * np.eye(f) - M)
    border = T.copy()
    np.fill_diagonal(border, 0.0)
    product = inverse @ border
    form = np.einsum("ij,ij->j", border, product) - np.diag(product) ** 2 / np.diag(inverse)
    return np.asarray(form >= 0.999 * (level - np.diag(T)))


def branching_variable(T: np.ndarray, others: np.ndarray, U: np.ndarray | None, r: int) -> int:
    """Return the variable with the largest entry in the leading eigenvector of the split matrix.

    If U is None, return the variable with the largest row sum.
    """
    if U is None:
        return int(np.argmax(np.diag(T) + others.sum(axis=1)))
    return int(np.argmax(np.abs(leading_pairs(split(T, U, r)[0], 1)[1])))
