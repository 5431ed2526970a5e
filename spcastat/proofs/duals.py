"""Upper bounds from the dual of a semidefinite relaxation, for given supports and for all supports.

**The relaxation.** In the relaxation of a fit, matrices X_g replace projections on its components, each in
the span of the orthonormal columns of D_g:

    max sum_g <C_g, X_g>  over  0 <= X_g <= I, tr X_g = n_g,  sum_g s_cg D_g X_g D_g' <= room I  for all c.

Here <A, B> = tr A'B, the signs s_cg are -1, 0 or 1, and room is a number. For any matrices Z_c >= 0, with
KF_n the sum of the n largest eigenvalues (Ky Fan), the dual objective

    room sum_c tr Z_c + sum_g KF_n_g(C_g - D_g' (sum_c s_cg Z_c) D_g)

is a bound by weak duality, so a first-order method can be stopped at any iteration.

**Explained variance on given supports.** Given supports T_1, ..., T_m and k - m other components that may be
dense, a fit explains <M, P>, where P is the projection on the span of all components. A unit vector v_j on
T_j is in that span, so that

    max <M, P>  over  0 <= P <= I, tr P = k,  P >= D_j X_j D_j',  X_j >= 0, tr X_j = 1

is a relaxation of this form, where the columns of D_j are an orthonormal basis of the span of T_j. It is
loose because X_j may be a mixture of several loadings, and the same mixture for two components with the same
support. However, two components span a plane within the span of their two supports, and P contains the
projection on this plane. This gives a constraint of the same form with 0 <= X <= I and tr X = 2.

**Adjusted variance on given supports.** Let S = F'F, F_T be the columns of F on the support T, N_T = F_T
F_T', and q_1, ..., q_k be the orthonormal directions of the successive scores of a fit (Gram-Schmidt).
Component j, with support Tj, adds at most q_j' N_Tj q_j, in any order. The components of one variable, with
variables I, together add at most tr S_II minus the sum of q_j' N_I q_j over the other components j, so that

    A <= tr S_II + max over orthonormal q_j of sum_j q_j' (N_Tj - N_I) q_j,

where j runs over the other components, which may also load on the variables in I. The dual of the relaxation
to matrices, tr Z + sum_j lambda_max(N_Tj - N_I - Z), is a bound for every Z >= 0.

PEV of orthogonal loadings has the same form: it is the sum of v_j' S v_j with orthonormal v_j, each on its
support, which is spanned by the columns of D_j. The bound is tr Z + sum_j lambda_max(D_j'(S - Z) D_j).

**Adjusted variance on all supports.** For every Z >= 0, the sum of q_j' Z q_j is at most tr Z, so that

    A <= tr Z + sum_j theta_j  with  theta_j >= lambda_max(N_T - Z) for all supports T of c_j variables.

The condition concerns a sparse eigenvalue: lambda_max(N_T - Z) <= theta if all eigenvalues of G_TT are at
most one, where G = F'(theta I + Z)^{-1} F. If the largest eigenvalue g exceeds 1, then g Z and g theta
satisfy it, so every Z yields a bound. Z = sum_i (lambda_i - lambda_{k+1})_+ u_i u_i' gives the bound of PCA.

The best Z is found by column generation: the relaxation to matrices X_T >= 0 with sum_T X_T <= I is solved
for some supports, and the supports whose G_TT has the largest eigenvalues are added.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from spcastat.linalg.eigenvectors import SUM_ROUNDING
from spcastat.linalg.operators import residual_covariances
from spcastat.search.matrices import SMALLEST

# --- the relaxation, and explained variance on given supports -------------------------------------


#: Allowance for rounding in every bound, relative to the norms of its matrices; actual rounding is 1e-14.
BOUND_ALLOWANCE = 1e-10
#: Number of steps between two evaluations of the bound.
STEPS_PER_BOUND = 10
#: Ratio of primal to dual step length; 2 worked best for random supports of pitprops.
RATIO = 2.0
#: The nearest matrix in `fantope` to a matrix times PROJECTION_SCALE is the projection on its leading
#: eigenvectors, unless eigenvalues tie. The iterations for three components also start from such projections.
PROJECTION_SCALE = 1e6

Running = Callable[[], bool]
Bases = list[np.ndarray | None]


def ky_fan(M: np.ndarray, k: int) -> np.ndarray:
    """Return the sums of the k largest eigenvalues, shape (...), of matrices of shape (..., d, d).

    If d < k, all eigenvalues are summed.
    """
    d = M.shape[-1]
    if k >= d:
        return np.asarray(np.trace(M, axis1=-2, axis2=-1))
    if k <= 0:
        return np.zeros(M.shape[:-2])
    return np.asarray(np.linalg.eigvalsh(M)[..., d - k :].sum(axis=-1))


class Ascent(ABC):
    """The iterates of a primal-dual method for a batch of problems."""

    #: The attributes that are arrays, or lists of arrays, with an entry for each problem.
    batched: ClassVar[tuple[str, ...]]

    @abstractmethod
    def step(self) -> None:
        """Take one step."""

    @abstractmethod
    def proof(self) -> tuple[np.ndarray, np.ndarray]:
        """Return bounds, shape (B,), and an array to store with them, shape (B, ...)."""

    def subset(self, selection: np.ndarray) -> Ascent:
        """Return the problems selected by a mask or by indices."""
        ascent = copy(self)
        for name in self.batched:
            arrays = getattr(self, name)
            several = isinstance(arrays, list)
            parts = [A if A is None else A[selection] for A in (arrays if several else [arrays])]
            setattr(ascent, name, parts if several else parts[0])
        return ascent

    def bounds(
        self, threshold: np.ndarray | float, steps: int, running: Running = lambda: True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the best bound of each problem, shape (B,), and the array stored with it, shape (B, ...).

        Parameters
        ----------
        threshold : float or ndarray of shape (B,)
            A bound is not improved further once it is below this, or if it is unlikely to fall below it.
        steps : int
            The largest number of steps; bounds are evaluated at the start and after each round of
            STEPS_PER_BOUND.
        running : callable
            Called between steps; if it returns False, the bounds so far are returned.
        """
        bound, best_proofs = (part.copy() for part in self.proof())
        level = np.broadcast_to(np.asarray(threshold, dtype=float), bound.shape)
        at = np.flatnonzero(bound > level)
        state = self.subset(at)
        history: list[np.ndarray] = []
        window = 5
        for rounds_left in reversed(range(steps // STEPS_PER_BOUND)):
            if not (at.size and running()):
                break
            for _ in range(STEPS_PER_BOUND):
                if running():
                    state.step()
            lowest, proof = state.proof()
            is_lower = lowest < bound[at]
            bound[at[is_lower]], best_proofs[at[is_lower]] = lowest[is_lower], proof[is_lower]
            history = [*history[-window:], lowest]  # excludes the start, whose bound is larger
            is_open = bound[at] > level[at]
            if len(history) > window:
                # abandon a problem that needs three times the remaining rounds at the rate of the last rounds
                fall = (history[0] - lowest) / window
                is_open &= lowest - 3.0 * fall * rounds_left <= level[at]
            at, state = at[is_open], state.subset(is_open)
            history = [values[is_open] for values in history]
        return bound, best_proofs


class Relaxation(Ascent):
    """A batch of B relaxations, with the iterates of the method of Chambolle and Pock (2011).

    Each step projects by eigendecomposition.

    Parameters
    ----------
    C : list of g ndarrays of shape (B, c, c)
    bases : list of g ndarrays of shape (B, d, c) or None
        D_g, with orthonormal or zero columns; None, with c = d, for the identity.
    counts : list of g ints
        The traces n_g.
    signs : ndarray of shape (m, g)
        The signs s_cg of m constraints.
    room : float
    scale : ndarray of shape (B,)
        The scale of C.
    X : list of g ndarrays of shape (B, c, c)
        The method starts from the nearest feasible matrices.
    """

    batched = ("C", "bases", "away", "scale", "X", "Z", "excess", "ahead")

    def __init__(
        self,
        C: list[np.ndarray],
        bases: Bases,
        counts: list[int],
        signs: np.ndarray,
        room: float,
        scale: np.ndarray,
        X: list[np.ndarray],
    ):
        self.C, self.bases, self.counts, self.signs, self.room, self.X = C, bases, counts, signs, room, X
        self.away = [_unspanned(A, D, n) for A, D, n in zip(C, bases, counts, strict=True)]
        self.scale = scale[:, None, None]
        d = (C[0] if bases[0] is None else bases[0]).shape[1]
        self.Z = self.excess = self.ahead = np.zeros((len(scale), len(signs), d, d))
        self.begins = True
        size = np.linalg.norm(signs, 2)  # bounds the norm of the map from X to the constraints
        self.tau, self.sigma = RATIO / size, 1.0 / (RATIO * size)

    def _excess(self) -> np.ndarray:
        """Return the violations of the constraints, shape (B, m, d, d)."""
        parts = [A if D is None else D @ A @ D.mT for A, D in zip(self.X, self.bases, strict=True)]
        sums = np.tensordot(self.signs, np.stack(parts), 1).swapaxes(0, 1)
        return np.asarray(sums - self.room * np.eye(sums.shape[-1]))

    def _slopes(self, Z: np.ndarray) -> list[np.ndarray]:
        """Return C_g - D_g' (sum_c s_cg Z_c) D_g for all g, given Z, shape (B, m, d, d)."""
        sums = np.tensordot(self.signs.T, Z.swapaxes(0, 1), 1)
        compressions = [A if D is None else D.mT @ A @ D for A, D in zip(sums, self.bases, strict=True)]
        return [A - B for A, B in zip(self.C, compressions, strict=True)]

    def step(self) -> None:
        if self.begins:
            self.begins = False
            start = zip(self.X, self.away, self.counts, strict=True)
            self.X = [fantope(A - PROJECTION_SCALE * far, n) for A, far, n in start]
            self.excess = self.ahead = self._excess()
        self.Z = positive(self.Z + self.sigma * self.scale[:, None] * self.ahead)
        self.X = [
            fantope(A + self.tau * slope / self.scale - far, n)
            for A, slope, far, n in zip(self.X, self._slopes(self.Z), self.away, self.counts, strict=True)
        ]
        previous_excess, self.excess = self.excess, self._excess()
        self.ahead = 2.0 * self.excess - previous_excess

    def proof(self) -> tuple[np.ndarray, np.ndarray]:
        return self.certified(self.Z), self.Z

    def certified(self, Z: np.ndarray) -> np.ndarray:
        """Return the bounds that Z >= 0, shape (B, m, d, d), proves, with an allowance for rounding."""
        trace = np.trace(Z, axis1=2, axis2=3).sum(axis=1)
        bound, size = self.room * trace, trace
        for A, slope, far, n in zip(self.C, self._slopes(Z), self.away, self.counts, strict=True):
            bound = bound + ky_fan(slope - trace[:, None, None] * far, n)
            size = size + np.linalg.norm(A, axis=(1, 2))
        return np.asarray(bound + BOUND_ALLOWANCE * size)


def _unspanned(C: np.ndarray, D: np.ndarray | None, count: int) -> np.ndarray:
    """Return a penalty on zero columns of D, shape (B, c, c): 10 in their places on the diagonal.

    If fewer than `count` columns are nonzero, the penalty is zero, since a matrix of trace `count` with
    eigenvalues of at most one must use zero columns.
    """
    if D is None:
        return np.zeros((len(C), 1, 1))
    zero = ~D.any(axis=1)
    zero &= ((~zero).sum(axis=1) >= count)[:, None]
    return np.asarray(10.0 * zero[:, :, None] * np.eye(zero.shape[1]))


def supports_relaxation(
    M: np.ndarray, bases: list[np.ndarray], k: int, ranks: list[int] | None = None
) -> Relaxation:
    """Return the relaxation for given supports.

    Parameters
    ----------
    M : ndarray of shape (B, d, d)
        Positive semidefinite.
    bases : list of m ndarrays of shape (B, d, c_j)
        The columns are orthonormal or zero.
    k : int
        The number of all components, at least m.
    ranks : list of m ints, optional
        The dimensions of the subspaces of a fit within each span, by default one.
    """
    m, scale = len(bases), np.maximum(np.trace(M, axis1=1, axis2=2) / k, SMALLEST)
    A = M / scale[:, None, None]
    inner = [D.mT @ A @ D for D in bases]
    return Relaxation(
        [M, *(np.zeros_like(A) for A in inner)],
        [None, *bases],
        [k, *(ranks or [1] * m)],
        np.column_stack([-np.ones(m), np.eye(m)]),
        0.0,
        scale,
        [PROJECTION_SCALE * A, *inner],
    )


def support_bounds(
    M: np.ndarray,
    bases: list[np.ndarray],
    k: int,
    threshold: np.ndarray | float,
    steps: int,
    *,
    ranks: list[int] | None = None,
    running: Running = lambda: True,
) -> np.ndarray:
    """Return the bounds of a batch of problems, shape (B,).

    Parameters
    ----------
    M, bases, k, ranks
        See `supports_relaxation`.
    threshold, steps, running
        See `Ascent.bounds`.
    """
    return supports_relaxation(M, bases, k, ranks).bounds(threshold, steps, running)[0]


def planes(bases: list[np.ndarray]) -> list[np.ndarray]:
    """Return orthonormal bases of the span of each pair of supports, for constraints of rank two.

    Linearly dependent columns are zero. If the rank is not clearly two or more, all columns are zero.
    """
    plane_bases = []
    for basis, other_basis in combinations(bases, 2):
        U, sizes, _ = np.linalg.svd(np.concatenate([basis, other_basis], axis=2), full_matrices=False)
        clear = sizes[:, 1] > 1e-5 if sizes.shape[1] > 1 else np.zeros(len(U), dtype=bool)
        plane_bases.append(U * ((sizes > SUM_ROUNDING) & clear[:, None])[:, None, :])
    return plane_bases


def union_basis(columns: list[np.ndarray]) -> np.ndarray:
    """Return orthonormal bases of the joint spans of the matrices, shape (B, d, c), padded with zeros."""
    Q, sizes, _ = np.linalg.svd(np.concatenate(columns, axis=2), full_matrices=False)
    return np.asarray(Q * (sizes > SUM_ROUNDING * sizes[:, :1])[:, None, :])


def within_union(M: np.ndarray, bases: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Restrict the problems to the span of all bases, valid if every component has a basis.

    The restricted problems are smaller and have smaller bounds.
    """
    Q = union_basis(bases)
    return Q.mT @ M @ Q, [Q.mT @ D for D in bases]


def positive(A: np.ndarray) -> np.ndarray:
    """Return the nearest positive semidefinite matrices, of shape (..., d, d)."""
    values, vectors = np.linalg.eigh(A)
    return (vectors * np.maximum(values, 0.0)[..., None, :]) @ vectors.mT


def fantope(A: np.ndarray, k: int) -> np.ndarray:
    """Return the nearest matrices with eigenvalues in [0, 1] and trace k, of shape (B, d, d)."""
    values, vectors = np.linalg.eigh(A)
    return (vectors * capped_simplex(values, k)[:, None, :]) @ vectors.mT


def capped_simplex(values: np.ndarray, k: int) -> np.ndarray:
    """Return the nearest vectors with entries in [0, 1] and sum k; rows of `values` ascend, shape (B, d).

    The result is clip(values - t, 0, 1). Its sum decreases in t and is piecewise linear with knots at
    `values` and `values - 1`; one comparison of all knots gives the interval of t in which the sum is k.
    """
    d = values.shape[1]
    if k >= d:
        return np.ones_like(values)
    knots = np.sort(np.concatenate([values, values - 1.0], axis=1), axis=1)
    terms = values[:, None, :] - knots[:, :, None]
    sums = np.clip(terms, 0.0, 1.0, out=terms).sum(axis=2)
    right = np.clip((sums > k).sum(axis=1), 1, 2 * d - 1)[:, None]
    low, high = np.take_along_axis(knots, right - 1, axis=1), np.take_along_axis(knots, right, axis=1)
    high_sum, low_sum = np.take_along_axis(sums, right - 1, axis=1), np.take_along_axis(sums, right, axis=1)
    share = np.divide(high_sum - k, high_sum - low_sum, out=np.zeros_like(high_sum), where=high_sum > low_sum)
    return np.asarray(np.clip(values - (low + share * (high - low)), 0.0, 1.0))


# --- adjusted variance on given supports ----------------------------------------------------------


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
    start = [PROJECTION_SCALE * N / scale[:, None, None] for N in groups]
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
    """Return bounds on sum_j q_j' D_j N_j D_j' q_j over orthonormal q_j, shape (B,).

    Parameters
    ----------
    groups, counts, bases
        See `ordered_relaxation`.
    threshold, steps, running
        See :meth:`spcastat.proofs.duals.Ascent.bounds`.
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
    A component adds the residual variance of its variable after regression on the earlier variables, whatever
    their order. Therefore the best order of a set extends the best order of a set with one variable fewer
    (dynamic programming). Variables with a residual share of at most 1e-5 are not used as regressors; the
    result is still a bound.
    """
    B, m = singles.shape
    blocks = S[singles[:, :, None], singles[:, None, :]]
    size = np.einsum("bii->bi", blocks)
    residuals, best_values = {0: blocks}, {0: np.zeros(B)}
    for count in range(m):
        next_residuals: dict[int, np.ndarray] = {}
        for bits in [members for members in residuals if members.bit_count() == count]:
            D = residuals.pop(bits)
            for i in [i for i in range(m) if not bits >> i & 1]:
                extension, variances = bits | 1 << i, D[:, i, i].clip(min=0.0)
                total = best_values[bits] + variances
                best_values[extension] = (
                    np.maximum(best_values[extension], total) if extension in best_values else total
                )
                if extension not in next_residuals and count < m - 1:
                    variances = np.where(variances > 1e-5 * size[:, i], variances, 0.0)
                    next_residuals[extension] = residual_covariances(D, D[:, i], variances)
        residuals.update(next_residuals)
    return np.asarray(best_values[(1 << m) - 1] + BOUND_ALLOWANCE * size.sum(axis=1))


#: In each round: the largest number of supports added, and the number of steps of the dual method.
SUPPORTS_ADDED, STEPS_PER_ROUND = 3, 60


# --- adjusted variance on all supports ------------------------------------------------------------


#: Thresholds theta are raised to at least this share of the largest eigenvalue, which keeps the bound valid.
THRESHOLD_SHARE = 1e-6

#: Takes a matrix G (p, p) and c; returns an upper bound on the largest eigenvalue of G_TT over all supports T
#: of c variables, and supports (n, c) with a large eigenvalue.
Largest = Callable[[np.ndarray, int], tuple[float, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Multiplier:
    """A bound and the multiplier that proves it.

    Attributes
    ----------
    Z : ndarray of shape (d, d)
        Positive semidefinite.
    thresholds : dict of int to float
        Cardinality -> theta.
    bound : float
        tr Z plus the sum of the thresholds of all components.
    """

    Z: np.ndarray
    thresholds: dict[int, float]
    bound: float


def gram(F: np.ndarray, Z: np.ndarray, threshold: float) -> np.ndarray:
    """Return G = F'(threshold I + Z)^{-1} F, shape (p, p)."""
    values, vectors = np.linalg.eigh(Z)
    A = (vectors / np.sqrt(threshold + values.clip(min=0.0))).T @ F
    return np.asarray(A.T @ A)


def multiplier(
    F: np.ndarray,
    counts: dict[int, int],
    supports: dict[int, np.ndarray],
    largest: Largest,
    target: float,
    running: Running = lambda: True,
) -> Multiplier:
    """Find a Lagrange multiplier that proves a small upper bound on the adjusted variance.

    Parameters
    ----------
    F : ndarray of shape (d, p)
        Factor of the covariance matrix, S = F'F.
    counts : dict of int to int
        Cardinality -> number of components.
    supports : dict of int to ndarray of int, shape (n, c)
        Cardinality -> initial supports; the search adds the supports that limit the bound.
    largest : callable
        Bounds the largest eigenvalue over supports; see `Largest`.
    target : float
        The search ends once the bound is at most this.
    running : callable
        Called between steps; if it returns False, the best multiplier so far is returned.
    """
    state = _DualIterates.begin(F, counts, supports)
    best_multiplier = state.proven(largest)
    rounds = [best_multiplier.bound]
    while len(rounds) <= 30 and best_multiplier.bound > target and running():
        state.solve(running)
        candidate = state.proven(largest)
        best_multiplier = min(best_multiplier, candidate, key=lambda entry: entry.bound)
        rounds.append(best_multiplier.bound)
        if len(rounds) > 3 and rounds[-1] > rounds[-4] * (1.0 - 1e-4):
            break  # the last three rounds decreased the bound too little
    return best_multiplier


@dataclass(eq=False)
class _DualIterates:
    """The iterates of the method of Chambolle and Pock (2011): Z, and X_T for each support in use."""

    F: np.ndarray
    counts: dict[int, int]
    supports: dict[int, np.ndarray]
    X: dict[int, np.ndarray]
    Z: np.ndarray
    thresholds: dict[int, float]
    scale: float

    @classmethod
    def begin(cls, F: np.ndarray, counts: dict[int, int], supports: dict[int, np.ndarray]) -> _DualIterates:
        values, vectors = np.linalg.eigh(F @ F.T)
        k, d = sum(counts.values()), len(F)
        tail_value = max(float(values[-k - 1]), 0.0) if k < d else 0.0
        Z = (vectors * (values - tail_value).clip(min=0.0)) @ vectors.T
        scale = float(values[-1])
        X = {c: np.zeros((len(T), d, d)) for c, T in supports.items()}
        return cls(
            F,
            counts,
            dict(supports),
            X,
            Z,
            dict.fromkeys(counts, max(tail_value, THRESHOLD_SHARE * scale)),
            scale,
        )

    def proven(self, largest: Largest) -> Multiplier:
        """Return the multiplier, scaled to be valid for all supports; add the supports that it violates."""
        bounds = {}
        for c, threshold in self.thresholds.items():
            bounds[c], top_supports = largest(gram(self.F, self.Z, threshold), c)
            known_supports = set(map(tuple, self.supports[c].tolist()))
            entering = [T for T in top_supports.tolist() if tuple(T) not in known_supports][:SUPPORTS_ADDED]
            if entering:
                self.supports[c] = np.concatenate([self.supports[c], entering])
                empty = np.zeros((len(entering), *self.Z.shape))
                self.X[c] = np.concatenate([self.X[c], empty])
        up = max(1.0, *bounds.values())
        # if the largest eigenvalue g is below one, the smaller threshold theta g is also valid
        thresholds = {c: max(t * bounds[c], THRESHOLD_SHARE * self.scale) for c, t in self.thresholds.items()}
        Z = up * self.Z
        bound = float(np.trace(Z)) + sum(n * thresholds[c] for c, n in self.counts.items())
        return Multiplier(Z, thresholds, bound + BOUND_ALLOWANCE * (1.0 + sum(self.counts.values())))

    def solve(self, running: Running) -> None:
        """Take STEPS_PER_ROUND steps with the current supports, store the best Z and drop unused supports."""
        N = {}
        for c, T in self.supports.items():
            A = self.F[:, T].transpose(1, 0, 2)
            N[c] = A @ A.mT
        size = np.sqrt(sum(len(T) for T in self.supports.values()))
        tau, sigma = RATIO / size, self.scale / (RATIO * size)
        identity = np.eye(len(self.Z))
        ahead, Z, lowest = self._sum(), self.Z, np.inf
        for step in range(1, STEPS_PER_ROUND + 1):
            if not running():
                break
            Z = positive(Z + sigma * (ahead - identity))
            previous_total = self._sum()
            for c, count in self.counts.items():
                self.X[c] = shared(self.X[c] + tau * (N[c] - Z) / self.scale, count)
            ahead = 2.0 * self._sum() - previous_total
            if step % STEPS_PER_BOUND == 0:
                values = {c: float(np.linalg.eigvalsh(N[c] - Z)[:, -1].max()) for c in N}
                value = float(np.trace(Z)) + sum(n * values[c] for c, n in self.counts.items())
                if value < lowest:
                    lowest, self.Z = value, Z
                    self.thresholds = {c: max(t, THRESHOLD_SHARE * self.scale) for c, t in values.items()}
        for c, X in self.X.items():
            used = np.trace(X, axis1=1, axis2=2) > 1e-4
            self.X[c], self.supports[c] = X[used], self.supports[c][used]

    def _sum(self) -> np.ndarray:
        return np.asarray(sum(X.sum(axis=0) for X in self.X.values()))


def shared(A: np.ndarray, count: int) -> np.ndarray:
    """Return the nearest matrices with eigenvalues in [0, 1] whose traces sum to `count`, (n, d, d)."""
    values, vectors = np.linalg.eigh(A)
    flat = values.ravel()
    order = np.argsort(flat)
    projected_values = np.empty_like(flat)
    projected_values[order] = capped_simplex(flat[order][None], count)[0]
    return np.asarray((vectors * projected_values.reshape(len(values), 1, -1)) @ vectors.mT)
