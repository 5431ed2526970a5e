"""Bounds on the largest eigenvalue of small principal submatrices, nodes of a search, and time limits.

Each bound is valid for a symmetric positive semidefinite S and is enlarged to cover rounding errors. A
variable is never excluded because its own row sum is small: a row sum bounds only the supports in which that
variable has the largest loading.

Nodes: let I be the included variables, F the free variables, and r the number of free variables that may
still be included. If lambda(S_II) < level, the block of S for the support I + K has an eigenvalue of at least
`level` if and only if T_KK has one, where

    T = S_FF + S_FI (level - S_II)^-1 S_IF,

is the Schur complement. Thus a node is the same problem with cardinality r and fewer variables, and every
bound applies to T. Eigenvalues of S_II are backward stable: rounding changes T as much as a change of the
level by about c^2 eps, and the level is lowered by this amount once, at the root.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spcastat.linalg.eigenvectors import EPS, below, largest_pairs, largest_value, symmetric, top_lanczos
from spcastat.linalg.operators import Operator, lanczos_start

# --- bounds ---------------------------------------------------------------------------------------


#: Relative allowance for eigenvalues from Lanczos iterations, whose actual errors are smaller.
LANCZOS = 1e-9


def enlarged(bound: float, p: int) -> float:
    """Return `bound` enlarged by the rounding error of sums and eigenvalues of order `p`."""
    return bound * (1.0 + 8.0 * p * EPS)


def trace_bound(S: np.ndarray, c: int) -> float:
    """Return the sum of the c largest variances; `S` may also be a vector of variances."""
    variances = S if S.ndim == 1 else np.diag(S)
    p = variances.size
    return enlarged(float(np.partition(variances, p - min(c, p))[p - min(c, p) :].sum()), p)


def largest_others(S: np.ndarray, count: int) -> np.ndarray:
    """Return the `count` largest off-diagonal |S_ij| of each row, shape (p, count), unordered."""
    size = np.abs(S)
    np.fill_diagonal(size, -np.inf)
    p = len(S)
    count = min(count, p - 1)
    return np.partition(size, p - count - 1, axis=1)[:, p - count :] if count > 0 else np.zeros((p, 0))


def eigenvalue_bound(S: np.ndarray) -> float:
    """Return the largest eigenvalue of `S`, enlarged by its rounding error."""
    return largest_value(S) + 8.0 * len(S) * EPS * float(np.abs(S).sum(axis=1).max())


def lanczos_bound(product: Callable[[np.ndarray], np.ndarray], p: int, running: Callable[[], bool]) -> float:
    """Return a bound on the leading eigenvalue by Lanczos iterations; infinity if time runs out."""

    def timed_product(v: np.ndarray) -> np.ndarray:
        if not running():
            raise TimeoutError
        return np.asarray(product(v))

    try:
        value = float(top_lanczos(timed_product, p, 1, lanczos_start(p, 0))[0][0])
    except TimeoutError:
        return np.inf
    return enlarged(value * (1.0 + LANCZOS), p)


def split(S: np.ndarray, U: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix whose largest eigenvalue (split bound) is a bound for all blocks of c variables.

    Parameters
    ----------
    S : ndarray of shape (p, p)
    U : ndarray of shape (p, p)
        Any symmetric matrix with a zero diagonal.
    c : int
        Number of variables in a block, at least 2 and below p.

    Returns
    -------
    M : ndarray of shape (p, p)
        S - U + diag(g), where g_i is the sum of the c - 1 largest |U_ij| of row i.
    largest : ndarray of int, shape (p, c - 1)
        The column indices of these entries.

    Notes
    -----
    For x on a support J of c variables, x'Ux <= sum over i, j in J of |U_ij| (x_i^2 + x_j^2) / 2
    <= sum_i g_i x_i^2, so x'Sx <= x'Mx. Every U is a feasible point of the dual of a semidefinite relaxation
    (see d'Aspremont, Bach and El Ghaoui 2008). U = 0 gives the largest eigenvalue of S, the off-diagonal part
    of S gives Gershgorin's row sums, and values of U in between give better bounds.
    """
    size = np.abs(U)
    np.fill_diagonal(size, -np.inf)
    p = len(U)
    largest = np.argpartition(size, p - c, axis=1)[:, p - c + 1 :]
    M = S - U
    np.fill_diagonal(M, np.diag(S) + np.take_along_axis(size, largest, axis=1).sum(axis=1))
    return M, largest


def cut_off(S: np.ndarray, share: float) -> np.ndarray:
    """Return the off-diagonal part of `S`, clipped at `share` times its largest absolute value."""
    U = S.copy()
    np.fill_diagonal(U, 0.0)
    cap = share * float(np.abs(U).max())
    return np.clip(U, -cap, cap)


def subgradient_step(S: np.ndarray, U: np.ndarray, c: int, level: float) -> tuple[np.ndarray, float]:
    """Take one subgradient step from `U` towards a split bound (see `split`) of `level`.

    Returns
    -------
    U : ndarray of shape (p, p)
    bound : float
        The split bound before the step, without an allowance for rounding.

    Notes
    -----
    The step is Polyak's, for the largest eigenvalue of the split matrix. The subgradient is smoothed over the
    three leading eigenvectors, with weights that decline over 0.2 times the distance to `level`.
    """
    M, largest = split(S, U, c)
    p = len(S)
    values, vectors = leading_pairs(M, min(3, p))
    bound = float(values[-1])
    excess = bound - level
    if excess <= 0.0:
        return U, bound
    weights: np.ndarray = np.exp((values - bound) / (0.2 * excess))
    weights /= weights.sum()
    X = (vectors * weights) @ vectors.T
    pull = np.zeros((p, p))
    np.put_along_axis(pull, largest, 0.5 * np.diag(X)[:, None], axis=1)
    G = (pull + pull.T) * np.sign(U) - X
    np.fill_diagonal(G, 0.0)
    square = float((G**2).sum())
    U = U - (excess / square) * G if square > 0.0 else U
    return symmetric(U), bound


def leading_pairs(M: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k leading eigenvalues of `M`, ascending, and eigenvectors; approximate if M is large."""
    f = len(M)
    if f > 100:  # Lanczos iterations are faster than LAPACK, and accurate enough for a step
        from scipy.sparse.linalg import ArpackError, eigsh

        try:
            values, vectors = eigsh(M, k=k, which="LA", v0=np.ones(f), tol=1e-3)
        except ArpackError:
            pass
        else:
            order = np.argsort(values)
            return values[order], vectors[:, order]
    return largest_pairs(M, k)


def split_bound(S: np.ndarray, c: int, shares: np.ndarray) -> float:
    """Return a bound on the eigenvalues of all blocks of c variables, the smallest over `shares`.

    For each share, U is the off-diagonal part of S, clipped at this share of its largest absolute value, and
    the bound is the largest eigenvalue of the matrix that `split` computes from S and U. For c = 1 and c >= p
    the bound is exact and does not depend on the shares.
    """
    if c == 1 or c >= len(S):
        return trace_bound(S, 1) if c == 1 else eigenvalue_bound(S)
    return min(eigenvalue_bound(split(S, cut_off(S, float(share)), c)[0]) for share in shares)


def shift_to_definite(S: np.ndarray) -> float:
    """Return d >= 0 such that S + d I is proven to be positive semidefinite.

    Bounds by variances are valid only for semidefinite matrices, and rounding can cause eigenvalues of
    -1e-16. Adding d to the diagonal adds d to every value and bound, so d can be subtracted afterwards.
    """
    p = len(S)
    d = 4.0 * (p + 2) * EPS * float(np.diag(S).sum())
    while d > 0.0 and not below(-S, d):
        d *= 10.0
    return d


# --- nodes ----------------------------------------------------------------------------------------


#: Shares of the largest off-diagonal |S_ij| at which the initial U of the split bound may be clipped; see
#: `spcastat.proofs.eigenvalue_bounds.split`.
CLIPPING_SHARES = np.array([0.85, 0.72, 0.6, 0.5, 0.42, 0.35, 0.28, 0.22, 0.16, 0.11, 0.07])
#: Above this order the split bound is not used, since its factorisations take too long.
SPLIT_ORDER = 2000


@dataclass(frozen=True, eq=False)
class Node:
    """The supports that contain all variables in `included` and otherwise only variables in `free`.

    Attributes
    ----------
    included, free : ndarray of int
    U : ndarray of shape (len(free), len(free)) or None
        The matrix U of the parent's split bound; see `spcastat.proofs.eigenvalue_bounds.split`.
    """

    included: np.ndarray
    free: np.ndarray
    U: np.ndarray | None = None


def complement(S: np.ndarray, node: Node, level: float) -> np.ndarray | None:
    """Return T (see the module's docstring); None if the included variables alone reach the level."""
    T = S[np.ix_(node.free, node.free)]
    if node.included.size:
        values, vectors = np.linalg.eigh(S[np.ix_(node.included, node.included)])
        if values[-1] >= level:
            return None
        W = (vectors.T @ S[np.ix_(node.included, node.free)]) / np.sqrt(level - values)[:, None]
        T = T + W.T @ W
    return T


def examine(S: np.ndarray, node: Node, c: int, level: float) -> tuple[list[Node], np.ndarray | None]:
    """Exclude the node, find a support in it that reaches the level, or branch.

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
        Empty if no support of the node reaches the level. The last child should be examined first.
    found : ndarray of int or None
        A support of at most c variables that reaches the level.
    """
    T = complement(S, node, level)
    if T is None:
        return [], node.included
    free, U, r = node.free, node.U, c - node.included.size
    while free.size and r > 0:
        top = int(np.argmax(np.diag(T)))
        if T[top, top] >= level:
            return [], np.concatenate([node.included, free[[top]]])
        if r == 2:
            pair = _best_pair(T, level)
            return [], None if pair is None else np.concatenate([node.included, free[pair]])
        if r == 1 or below(T, level):
            break
        if free.size <= r:
            return [], np.concatenate([node.included, free])
        possible_mask = np.ones(free.size, dtype=bool)
        if free.size <= SPLIT_ORDER:
            closed, U = closed_by_split(T, first_split(T, r) if U is None else U, r, level)
            if closed:
                break
            possible_mask = _possible_by_split(T, U, r, level)
        if possible_mask.all():
            j = int(np.argmax(np.diag(T) + largest_others(T, r - 1).sum(axis=1)))
            other_places = np.delete(np.arange(free.size), j)
            U = None if U is None else U[np.ix_(other_places, other_places)]
            included = np.array([*node.included, free[j]])
            return [Node(node.included, free[other_places], U), Node(included, free[other_places], U)], None
        submatrix = np.ix_(possible_mask, possible_mask)
        free, T, U = free[possible_mask], T[submatrix], None if U is None else U[submatrix]
    return [], None


def _best_pair(T: np.ndarray, level: float) -> np.ndarray | None:
    """Return a pair of variables that reaches the level: (level - T_aa)(level - T_bb) <= T_ab^2; or None."""
    slack = level - np.diag(T)
    gain = T**2 - np.outer(slack, slack) * (1.0 - 8.0 * EPS)
    np.fill_diagonal(gain, -np.inf)
    argmax = int(np.argmax(gain))
    return np.array(divmod(argmax, len(T))) if gain.flat[argmax] >= 0.0 else None


def first_split(T: np.ndarray, r: int) -> np.ndarray:
    """Return the initial U: the candidate with the smallest split bound (see `split`).

    The candidates are the off-diagonal part of T, clipped at each of CLIPPING_SHARES of its largest
    absolute value.
    """
    candidates = [cut_off(T, float(share)) for share in CLIPPING_SHARES]
    return min(candidates, key=lambda U: float(leading_pairs(split(T, U, r)[0], 1)[0][0]))


def closed_by_split(T: np.ndarray, U: np.ndarray, r: int, level: float) -> tuple[bool, np.ndarray]:
    """Return whether a split bound below the level was found, which excludes the node, and the best U."""
    best_U, lowest = U, np.inf
    for _ in range(6):
        if below(split(T, U, r)[0], level):
            return True, U
        next_U, bound = subgradient_step(T, U, r, level)
        if bound < lowest:
            best_U, lowest = U, bound
        U = next_U
    return False, best_U


def _possible_by_split(T: np.ndarray, U: np.ndarray, r: int, level: float) -> np.ndarray:
    """Return a mask of the variables j for which the child with j is not excluded by its split bound.

    All variables are tested at once.

    Including j adds w w', w = T_.j / (level - T_jj)^(1/2), to the matrix of the others and lowers r by one.
    If A = level - (split matrix for r - 1 variables) is positive definite, all eigenvalues of the new split
    matrix are below the level if and only if w' (A without j)^-1 w < 1, where the inverse of A without j is
    computed from the inverse of A.
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


# --- time limits ----------------------------------------------------------------------------------


#: Number of columns of S computed at a time, and order of the matrices multiplied to measure the speed.
BLOCK_COLUMNS = 256
#: No step should take longer than this, in seconds, so that Ctrl-C takes effect.
LONGEST_STEP = 0.8
#: Assumed cost of a pass over a matrix, per entry: the time of this many floating-point operations in a
#: matrix product.
PASS_COST = 20.0


class Clock:
    """A deadline, and the measured speed of the machine.

    Parameters
    ----------
    deadline : float
        The deadline in seconds of ``time.perf_counter``.
    """

    def __init__(self, deadline: float):
        self.deadline = deadline
        self._rate: float | None = None

    @property
    def seconds_left(self) -> float:
        """The seconds left, at least zero."""
        return max(self.deadline - time.perf_counter(), 0.0)

    def runs(self) -> bool:
        """Return whether there is time left; a method, so that it can be passed as a callable."""
        return time.perf_counter() < self.deadline

    @property
    def rate(self) -> float:
        """Floating-point operations per second in matrix products."""
        if self._rate is None:
            A = np.ones((BLOCK_COLUMNS, BLOCK_COLUMNS))
            A @ A
            start_time = time.perf_counter()
            A @ A
            self._rate = 2.0 * BLOCK_COLUMNS**3 / max(time.perf_counter() - start_time, 1e-6)
        return self._rate

    def until(self, deadline: float) -> Clock:
        """Return a clock with an earlier deadline and the same speed."""
        clock = Clock(min(deadline, self.deadline))
        clock._rate = self._rate
        return clock

    def affords(self, operations: float, steps: int = 1) -> bool:
        """Return whether there is time for this many operations, in `steps` steps that can be interrupted.

        The result is always True for little work, so that proofs for small matrices do not depend on time.
        """
        if operations <= 2e8:
            return True
        seconds = operations / self.rate
        return seconds <= self.seconds_left and seconds / steps <= LONGEST_STEP


def formed(op: Operator, clock: Clock) -> np.ndarray | None:
    """Return the covariance matrix; None if computing it takes more than half of the remaining time."""
    if op.p <= BLOCK_COLUMNS:
        return symmetric(op.block(np.arange(op.p)))
    part = clock.until(time.perf_counter() + 0.5 * clock.seconds_left)
    S = np.empty((op.p, op.p))
    for begin in range(0, op.p, BLOCK_COLUMNS):
        if not part.runs():
            return None
        stop = min(begin + BLOCK_COLUMNS, op.p)
        S[:, begin:stop] = op.columns(np.arange(begin, stop))
    return symmetric(S)
