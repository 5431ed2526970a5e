"""The model covariance matrix of sparse components, for predictions and information criteria.

Sigma = V L V' + s2 I as in probabilistic PCA (Tipping and Bishop 1999), but with the span of the sparse
loadings `V` given. Within the span, Sigma equals the covariance matrix S of the data; s2 is the mean variance
outside the span.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.missing.model import Patterns, expect, outers
from spcastat.operators import Operator

#: Smallest noise variance, as a share of the mean variance.
LEAST_NOISE = 1e-10


@dataclass(frozen=True, eq=False)
class SparseModel:
    """Sigma = s2 I + W diag(m - s2) W', with W orthonormal.

    Attributes
    ----------
    W : ndarray of shape (u, r)
        The principal directions of S within the span of the loadings, on the variables `used`.
    used : ndarray of int, shape (u,)
        Variables with a loading.
    variances : ndarray of shape (r,)
        Variances m along W, at least s2.
    noise : float
        The noise variance s2.
    p : int
    total, kept : float
        The trace of S, and that of S within the span. Their ratio is the PEV.
    groups : ndarray of int, shape (p,), or None
        The group of each variable, if the variables of a group are predicted from other groups only.
    """

    W: np.ndarray
    used: np.ndarray
    variances: np.ndarray
    noise: float
    p: int
    total: float
    kept: float
    groups: np.ndarray | None = None

    @classmethod
    def of(cls, V: np.ndarray, op: Operator, groups: np.ndarray | None = None) -> SparseModel:
        """Return the model for loadings V, shape (p, k) with p > k, and the covariance matrix `op`."""
        used = np.flatnonzero(V.any(axis=1))
        squares, turn = np.linalg.eigh(V[used].T @ V[used])
        # V'V of linearly dependent loadings has zero eigenvalues, which by rounding are up to 1e-10 of the
        # largest
        some = squares > 1e-10 * squares[-1]
        Q = np.zeros((op.p, int(some.sum())))
        Q[used] = V[used] @ (turn[:, some] / np.sqrt(squares[some]))
        variances, axes = np.linalg.eigh(op.products(Q))
        p, r = Q.shape
        kept = float(variances.sum())
        noise = max((op.total - kept) / (p - r), LEAST_NOISE * op.total / p)
        return cls(Q[used] @ axes, used, np.maximum(variances, noise), noise, p, op.total, kept, groups)

    def deviance(self, n: float) -> float:
        """Return n (log |Sigma| + tr Sigma^-1 S): minus twice the log-likelihood, up to a constant."""
        log_determinant = (self.p - len(self.variances)) * np.log(self.noise) + np.log(self.variances).sum()
        shrinkage = 1.0 - self.noise / self.variances  # Sigma^-1 = (I - W diag(shrinkage) W') / s2
        inside = (self.variances * shrinkage).sum()  # axes with the noise variance contribute nothing
        return float(n * (log_determinant + (self.total - inside) / self.noise))

    def press(self, squares: np.ndarray, block: np.ndarray) -> float:
        """Return the sum of squared errors if every value is predicted from the others in its row.

        Parameters
        ----------
        squares : ndarray of shape (p,)
            Sums of squares of new rows, centred and scaled as the rows behind S.
        block : ndarray of shape (u, u)
            Cross-products of the new rows for the variables `used`.

        Notes
        -----
        With Omega = Sigma^-1, the error of value j in row x is (Omega x)_j / Omega_jj. A variable that is the
        only one in its component is predicted by its mean, as are variables without a loading. With groups,
        the errors of the variables in group g are inv(Omega_gg) (Omega x)_g.
        """
        shrunk = self.W * (1.0 - self.noise / self.variances)
        image = block @ self.W
        inner = self.W.T @ image
        if self.groups is not None:
            found = float(squares.sum() - squares[self.used].sum())
            both = image @ shrunk.T
            left = block - both - both.T + shrunk @ inner @ shrunk.T
            own, of = np.eye(len(block)) - shrunk @ self.W.T, self.groups[self.used]
            for J in map(np.flatnonzero, of == np.unique(of)[:, None]):
                inside = np.ix_(J, J)
                values, axes = np.linalg.eigh(own[inside])
                alone = values <= LEAST_NOISE  # directions that no other group predicts
                predicted = np.einsum("ij,ik,kj->j", axes, left[inside], axes)
                by_mean = np.einsum("ij,ik,kj->j", axes, block[inside], axes)
                found += float(np.where(alone, by_mean, predicted / np.where(alone, 1.0, values) ** 2).sum())
            return found
        left = (
            squares[self.used]
            - 2.0 * np.einsum("ij,ij->i", shrunk, image)
            + np.einsum("ij,jk,ik->i", shrunk, inner, shrunk)
        )
        own = 1.0 - np.einsum("ij,ij->i", shrunk, self.W)
        alone = own <= LEAST_NOISE  # the only variable in its component
        errors = np.where(alone, squares[self.used], left / np.where(alone, 1.0, own) ** 2)
        return float(squares.sum() - squares[self.used].sum() + errors.sum())

    def press_measured(self, Z: np.ndarray, patterns: Patterns, weights: np.ndarray) -> float:
        """Return the sum of squared errors if every measured value is predicted from the others in its row.

        Parameters
        ----------
        Z : ndarray of shape (m, p)
            New rows, centred and scaled as the rows behind S, with zeros for missing values.
        patterns : Patterns
            The patterns of missing values.
        weights : ndarray of shape (m,)

        Notes
        -----
        As :meth:`press`, with the block of Sigma for the measured values o of a row: Sigma_oo = F_o F_o' + s2
        I has the inverse (I - F_o M^-1 F_o') / s2 with M = F_o'F_o + s2 I.
        """
        F = self.W * np.sqrt(self.variances - self.noise)
        some = Patterns(patterns.missing[:, self.used], patterns.of_row, patterns.weight)
        own_cells = Z[:, self.used]
        expected = expect(own_cells, some, F, self.noise)
        left = own_cells - expected.scores @ F.T
        own = 1.0 - expected.inverses.reshape(len(some.weight), -1) @ outers(F, F).T
        alone = own <= LEAST_NOISE  # the only variable in its component
        divisor = np.where(alone, 1.0, own)[some.of_row]
        errors = np.where(alone[some.of_row], own_cells, left / divisor)
        errors[some.missing[some.of_row]] = 0.0
        outside = np.delete(Z, self.used, axis=1)
        return float(weights @ (errors**2).sum(axis=1) + weights @ (outside**2).sum(axis=1))
