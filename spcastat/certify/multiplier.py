"""An upper bound on adjusted variance over all supports: a Lagrange multiplier of orthogonality.

Let S = F'F, F_T be the columns of F on the support T, N_T = F_T F_T', and q_1, ..., q_k be the orthonormal
directions of the scores. Component j, with support Tj, adds at most q_j' N_Tj q_j. For every Z >= 0 the sum
of q_j' Z q_j is at most tr Z, so that the adjusted variance is

    A <= tr Z + sum_j theta_j  with  theta_j >= lambda_max(N_T - Z) for all supports T of c_j variables.

The condition concerns a sparse eigenvalue: lambda_max(N_T - Z) <= theta if all eigenvalues of G_TT are at
most one, where G = F'(theta I + Z)^{-1} F. If the largest is g > 1, then g Z and g theta satisfy it, so every
Z gives a bound. Z = sum_i (lambda_i - lambda_{k+1})_+ u_i u_i' gives the bound of PCA.

The best Z is found by column generation: the relaxation to matrices X_T >= 0 with sum_T X_T <= I is solved
for some supports, and the supports whose G_TT has the largest eigenvalues are added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spcastat.certify.dual import EVERY, RATIO, ROUNDING, Running, capped_simplex, positive

#: In each round: the largest number of supports added, and the number of steps of the dual method.
ADDED, STEPS = 12, 60
#: Thresholds theta are raised to at least this share of the largest eigenvalue, which keeps the bound valid.
LEAST = 1e-6

#: Takes a matrix G (p, p) and c; returns an upper bound on the largest eigenvalue of G_TT over all supports T
#: of c variables, and supports (n, c) with a large eigenvalue.
Largest = Callable[[np.ndarray, int], tuple[float, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Multiplier:
    """A proven bound with the multiplier that proves it.

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
        Cardinality -> supports to begin with; the search adds those that limit the bound.
    largest : callable
        Bounds the largest eigenvalue over supports, see `Largest`.
    target : float
        The search ends once the bound is at most this.
    running : callable
        Called between steps; if it returns False, the best multiplier so far is returned.
    """
    state = _State.begin(F, counts, supports)
    best = state.proven(largest)
    rounds = [best.bound]
    while len(rounds) <= 30 and best.bound > target and running():
        state.solve(running)
        found = state.proven(largest)
        best = min(best, found, key=lambda one: one.bound)
        rounds.append(best.bound)
        if len(rounds) > 3 and rounds[-1] > rounds[-4] * (1.0 - 1e-4):
            break  # three rounds decreased the bound too little
    return best


@dataclass(eq=False)
class _State:
    """The iterates of the method of Chambolle and Pock (2011): Z, and X_T for each support in use."""

    F: np.ndarray
    counts: dict[int, int]
    supports: dict[int, np.ndarray]
    X: dict[int, np.ndarray]
    Z: np.ndarray
    thresholds: dict[int, float]
    scale: float

    @classmethod
    def begin(cls, F: np.ndarray, counts: dict[int, int], supports: dict[int, np.ndarray]) -> _State:
        values, vectors = np.linalg.eigh(F @ F.T)
        k, d = sum(counts.values()), len(F)
        rest = max(float(values[-k - 1]), 0.0) if k < d else 0.0
        Z = (vectors * (values - rest).clip(min=0.0)) @ vectors.T
        scale = float(values[-1])
        X = {c: np.zeros((len(T), d, d)) for c, T in supports.items()}
        return cls(F, counts, dict(supports), X, Z, dict.fromkeys(counts, max(rest, LEAST * scale)), scale)

    def proven(self, largest: Largest) -> Multiplier:
        """Return the multiplier, scaled to be valid for all supports; add supports that violated it."""
        bounds = {}
        for c, threshold in self.thresholds.items():
            bounds[c], large = largest(gram(self.F, self.Z, threshold), c)
            known = set(map(tuple, self.supports[c].tolist()))
            new = [T for T in large.tolist() if tuple(T) not in known][:ADDED]
            if new:
                self.supports[c] = np.concatenate([self.supports[c], new])
                empty = np.zeros((len(new), *self.Z.shape))
                self.X[c] = np.concatenate([self.X[c], empty])
        up = max(1.0, *bounds.values())
        # if the largest eigenvalue g is below one, the smaller threshold theta g is valid, too
        thresholds = {c: max(t * bounds[c], LEAST * self.scale) for c, t in self.thresholds.items()}
        Z = up * self.Z
        bound = float(np.trace(Z)) + sum(n * thresholds[c] for c, n in self.counts.items())
        return Multiplier(Z, thresholds, bound + ROUNDING * (1.0 + sum(self.counts.values())))

    def solve(self, running: Running) -> None:
        """Take STEPS steps with the current supports, store the best Z, and drop unused supports."""
        N = {}
        for c, T in self.supports.items():
            A = self.F[:, T].transpose(1, 0, 2)
            N[c] = A @ A.mT
        size = np.sqrt(sum(len(T) for T in self.supports.values()))
        tau, sigma = RATIO / size, self.scale / (RATIO * size)
        one = np.eye(len(self.Z))
        ahead, Z, lowest = self._sum(), self.Z, np.inf
        for step in range(1, STEPS + 1):
            if not running():
                break
            Z = positive(Z + sigma * (ahead - one))
            before = self._sum()
            for c, count in self.counts.items():
                self.X[c] = _shared(self.X[c] + tau * (N[c] - Z) / self.scale, count)
            ahead = 2.0 * self._sum() - before
            if step % EVERY == 0:
                found = {c: float(np.linalg.eigvalsh(N[c] - Z)[:, -1].max()) for c in N}
                value = float(np.trace(Z)) + sum(n * found[c] for c, n in self.counts.items())
                if value < lowest:
                    lowest, self.Z = value, Z
                    self.thresholds = {c: max(t, LEAST * self.scale) for c, t in found.items()}
        for c, X in self.X.items():
            used = np.trace(X, axis1=1, axis2=2) > 1e-4
            self.X[c], self.supports[c] = X[used], self.supports[c][used]

    def _sum(self) -> np.ndarray:
        return np.asarray(sum(X.sum(axis=0) for X in self.X.values()))


def _shared(A: np.ndarray, count: int) -> np.ndarray:
    """Return the nearest matrices with eigenvalues in [0, 1] whose traces sum to `count`, (n, d, d)."""
    values, vectors = np.linalg.eigh(A)
    flat = values.ravel()
    order = np.argsort(flat)
    cut = np.empty_like(flat)
    cut[order] = capped_simplex(flat[order][None], count)[0]
    return np.asarray((vectors * cut.reshape(len(values), 1, -1)) @ vectors.mT)
