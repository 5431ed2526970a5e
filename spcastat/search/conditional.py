"""One component given the others: what its support explains, and which swaps would raise that.

With Q an orthonormal basis of the other loadings and P = I - QQ', the explained variance tr S V (V'V)^-1 V'
is that of Q plus the ratio v'Av / v'Bv with A = PSP and B = P. The largest ratio of vectors on a support J is
called its gain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.kernels.eig import bordered_top
from spcastat.search.factors import SMALLEST, divisor
from spcastat.search.rayleigh import NULL
from spcastat.search.reconstruction import basis

#: A swap counts where it raises the gain by more than this share of it ...
GAIN = 1e-9
#: ... and of the total variance, below which there is rounding only.
ROUNDING = 1e-13
#: A loading below this, or an eigenvalue this close to the largest, makes the test of a swap uncertain.
UNSURE = 1e-6
#: Steps of a bracket; what is left of it is on the safe side.
HALVINGS = 30


class Conditional:
    """The matrices A and B of one component given the others, by parts.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance matrix.
    V, SV : ndarray of shape (m, k)
        Unit loadings, and their product with S.
    i : int
        The component.
    """

    def __init__(self, S: np.ndarray, V: np.ndarray, SV: np.ndarray, i: int):
        others = np.delete(V, i, axis=1)
        self.S = S
        self.Q, coordinates, _ = basis(others, others)
        SQ = np.delete(SV, i, axis=1) @ coordinates
        self.half = SQ - 0.5 * self.Q @ (self.Q.T @ SQ)

    def A(self, J: np.ndarray, K: np.ndarray) -> np.ndarray:
        """Return A[J, K]."""
        Q, half = self.Q, self.half
        return self.S[np.ix_(J, K)] - half[J] @ Q[K].T - Q[J] @ half[K].T

    def along(self, J: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return A[:, J] v."""
        return v @ self.S[J] - self.half @ (v @ self.Q[J]) - self.Q @ (v @ self.half[J])

    def B(self, J: np.ndarray, K: np.ndarray) -> np.ndarray:
        """Return B[J, K]."""
        return np.equal.outer(J, K) - self.Q[J] @ self.Q[K].T

    def corners(self, K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the diagonals of A and B at K."""
        Q = self.Q[K]
        return self.S[K, K] - 2.0 * (self.half[K] * Q).sum(axis=1), 1.0 - (Q**2).sum(axis=1)

    def peak(self, support: np.ndarray, total: float) -> Peak:
        """Return the best vector on a support; `total` is the total variance.

        Notes
        -----
        B on the support is I less a matrix of rank k - 1, whose eigenvectors give the inverse root of B.
        """
        A = self.A(support, support)
        Q = self.Q[support]
        shares, turn = np.linalg.eigh(Q.T @ Q)
        some = shares > NULL
        shares, directions = shares[some], Q @ turn[:, some]
        left = 1.0 - shares
        null = left < NULL
        size = np.where(null, 0.0, 1.0 / np.sqrt(divisor(left, ~null)))
        root = (directions * ((size - 1.0) / shares)) @ directions.T
        root[np.diag_indices_from(root)] += 1.0
        values, turned = np.linalg.eigh(root @ A @ root)
        U = root @ turned
        vector = U[:, -1]
        if np.linalg.norm(vector) < UNSURE:  # the others span all that the support can
            vector = np.eye(len(support))[0]
        return Peak(support, values, U, vector / np.linalg.norm(vector), bool(null.any()), total)


@dataclass(frozen=True, eq=False)
class Peak:
    """The best vector on a support.

    Attributes
    ----------
    support : ndarray of int, shape (c,)
    values : ndarray of shape (c,)
        The eigenvalues of A relative to B on the support, ascending.
    U : ndarray of shape (c, c)
        The vectors that belong to them: U'AU is diagonal, and U'BU = I but for null directions of B.
    vector : ndarray of shape (c,)
        The best, of unit length.
    singular : bool
        Whether B has null directions on the support: vectors that the other loadings span.
    total : float
        Total variance, the measure of rounding.
    """

    support: np.ndarray
    values: np.ndarray
    U: np.ndarray
    vector: np.ndarray
    singular: bool
    total: float

    @property
    def value(self) -> float:
        """The gain of the support."""
        return float(self.values[-1])

    @property
    def least(self) -> float:
        """By how much a swap must raise the gain."""
        return GAIN * self.value + ROUNDING * self.total

    @property
    def gaps(self) -> np.ndarray:
        """How far each of the other eigenvalues lies below the largest, shape (c - 1,)."""
        return np.maximum(self.value - self.values[:-1], UNSURE * self.least)

    @property
    def unsure(self) -> np.ndarray:
        """For which variables of the support a swap cannot be tested by itself: bool, shape (c,)."""
        close = self.values[:-1] > (1.0 - UNSURE) * self.value
        if self.singular or self.value <= ROUNDING * self.total or close.any():
            return np.ones(len(self.support), dtype=bool)
        return np.asarray(np.abs(self.U[:, -1]) < UNSURE)

    @property
    def leverage(self) -> np.ndarray:
        """Diagonal of the pseudo-inverse of (gain B - A) on the support, shape (c,)."""
        return np.asarray((self.U[:, :-1] ** 2 / self.gaps).sum(axis=1))

    def losses(self) -> np.ndarray:
        """Return by how much the gain falls without each variable of the support, shape (c,).

        Notes
        -----
        With u the row of U that belongs to the variable, the largest ratio of vectors that vanish there is
        the root x of sum_j u_j^2 / (x - values_j) between the two largest values. It is enclosed by halving,
        and the lower end of the loss is returned.
        """
        if len(self.support) == 1:
            return np.array([self.value])
        if self.unsure.all():
            return np.zeros(len(self.support))
        squares = self.U**2
        low, high = np.zeros(len(squares)), np.full(len(squares), self.gaps[-1])
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            below = self.gaps - middle[:, None]
            rest = (squares[:, :-1] / np.maximum(below, SMALLEST)).sum(axis=1)
            past = rest * middle > squares[:, -1]
            low, high = np.where(past, low, middle), np.where(past, middle, high)
        return np.where(self.unsure, 0.0, low)


def slack(
    peak: Peak, cross_A: np.ndarray, cross_B: np.ndarray, corner_A: np.ndarray, corner_B: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return for every swap how far it is from raising the gain, and how much it may raise it.

    Parameters
    ----------
    peak : Peak
        The best vector on a support of c variables.
    cross_A, cross_B : ndarray of shape (c, q)
        A and B between the support and the q variables that may enter.
    corner_A, corner_B : ndarray of shape (q,)
        Their diagonals.

    Returns
    -------
    short : ndarray of shape (c, q)
        For variable i leaving and b entering: negative exactly where the gain rises, and then by at most
        -short. Where that is not known (``peak.unsure``) the rise with b in place of none stands for it,
        which is at least as large. Zero where b depends on the support and the other loadings.
    rise : ndarray of shape (c, q)
        An estimate of the rise, for ranking, where short is negative.

    Notes
    -----
    With L the gain of J and M = LB - A, the gain of T + b, T = J - i, exceeds L exactly where the Schur
    complement M_bb - M_bT M_TT^-1 M_Tb is negative: M_TT is positive definite. M_JJ has the null vector v,
    the best on J; with N its pseudo-inverse, g = N M_Jb and s = v'M_Jb, bringing coordinate i of the solution
    to zero by a multiple of v gives

        M_bT M_TT^-1 M_Tb = M_bJ g - 2 s g_i / v_i + s^2 N_ii / v_i^2,

    a few operations for a pair, where one eigenvalue problem for each would cost c^3. In x the complement of
    xB - A is concave, and its slope is at least the share of b that is free of J and Q, which bounds the
    rise; the slope at L, here without a mixed term, gives the estimate.
    """
    if len(peak.support) == 1:
        free = divisor(corner_B, corner_B > NULL)
        short = peak.value - corner_A / free
        return np.where(corner_B > NULL, short, 0.0)[None], np.maximum(-short, 0.0)[None]
    U, inverse = peak.U, 1.0 / peak.gaps
    lead = U[:, -1]
    lead = np.where(np.abs(lead) < UNSURE, UNSURE, lead)[:, None]
    m = U.T @ (peak.value * cross_B - cross_A)
    s, rest = m[-1], m[:-1]
    scaled = rest * inverse[:, None]
    g = U[:, :-1] @ scaled
    push = -s / lead
    own = peak.leverage[:, None]
    held = (rest * scaled).sum(axis=0) + push * (2.0 * g + push * own)
    left = corner_B - ((U.T @ cross_B) ** 2).sum(axis=0)
    sound = left > NULL
    short = (peak.value * corner_B - corner_A - held) / divisor(left, sound)
    along = (g + push * own) / lead
    length = along**2 + (scaled**2).sum(axis=0)
    rise = np.maximum(-short, 0.0) * np.maximum(left, 0.0) / np.maximum(corner_B + length, NULL)
    short = np.where(sound, short, 0.0)
    unsure = peak.unsure
    if unsure.any():
        size = np.sqrt(divisor(left, sound))
        crossed = U.T @ cross_B
        coupling = (U.T @ cross_A - peak.values[:, None] * crossed) / size
        corner = corner_A - 2.0 * (crossed * (U.T @ cross_A)).sum(axis=0) + peak.values @ crossed**2
        added = bordered_top(peak.values, coupling, np.where(sound, corner / size**2, 0.0)) - peak.value
        short[unsure] = np.where(sound, -added, 0.0)
        rise[unsure] = np.where(sound, added, 0.0)
    return short, rise


def possible_for(peak: Peak, scores: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return for which variables outside all supports a swap is not excluded by their scores.

    Parameters
    ----------
    peak : Peak
    scores : ndarray of shape (q,)
        Covariances of the variables with the component's own part of the score, of unit length.
    variances : ndarray of shape (q,)

    Returns
    -------
    ndarray of bool, shape (q,)
        See :mod:`spcastat.search.screening_tests` for the proof.
    """
    level = peak.value + peak.least
    if len(peak.support) == 1:
        return np.asarray(variances > level)
    second = max(float(peak.values[-2]), 0.0)
    squares = scores**2
    rest = np.maximum(variances - squares / max(peak.value, peak.least), 0.0) * (second / (level - second))
    room = np.maximum(level - variances, 0.0)
    possible = variances > level
    unsure = peak.unsure
    if unsure.any():
        possible |= squares / peak.least + rest > room
    if not unsure.all():
        reach = np.sqrt((peak.leverage[~unsure] / peak.U[~unsure, -1] ** 2).max())
        possible |= np.sqrt(rest) + reach * np.abs(scores) > np.sqrt(room)
    return np.asarray(possible)
