"""Adjusted variance for a batch of fits: its gradient, and its dependence on one column given the others.

With unit columns, G = V'SV = LL' and l = diag L, the criterion is f = sum l_j^2. As l_j^2 is the minimum
over a of |X (v_j - sum_{h<j} a_h v_h)|^2, its gradient needs only the minimisers: with C = L'^-1 diag(l),
unit upper triangular,

    grad f / 2 = S V C C' - V diag(l^2).

With the other columns fixed, S_{<i} the Schur complement of S given the columns before i, and M_j that given
all columns before j except i,

    f(v) = v'S_{<i} v / v'v - sum_{j>i} (h_j'v)^2 / (v'M_j v) + constant,   h_j = M_j v_j .

The matrix A = S_{<i} - sum_{j>i} (h_j h_j' / y_j - c_j^2 M_j) with y_j = v_i'M_j v_i and c_j = h_j'v_i / y_j
gives v'Av / v'v the same gradient at v_i. A ranks the exchanges; f itself decides whether one is made.
"""

from __future__ import annotations

import numpy as np

from spcastat.search.column_model import Model
from spcastat.search.criterion import Criterion, Expansion, Fits
from spcastat.search.small_matrices import JITTER, NOTHING, divisor, factor, well_apart
from spcastat.search.symmetric_matrices import Moments


class Adjusted(Criterion):
    """Adjusted variance: the variance that each score adds to that of the earlier scores."""

    exact = False

    def __init__(self, S: Moments, cards: tuple[int, ...]):
        super().__init__(S, None, cards)

    def value(self, G: np.ndarray, N: np.ndarray) -> np.ndarray:
        return self._of(self.added(G))

    def added(self, G: np.ndarray) -> np.ndarray:
        """Return the adjusted variance of each component, shape (..., k)."""
        L, size, present = factor(G)
        return (np.einsum("...ii->...i", L) * size) ** 2 * present

    def _of(self, added: np.ndarray) -> np.ndarray:
        """Return the criterion, shape (...,), of adjusted variances, shape (..., k)."""
        return added.sum(axis=-1)

    def _worth(self, added: np.ndarray) -> np.ndarray:
        """Return the derivative of the criterion with respect to each adjusted variance, shape (..., k)."""
        return np.ones(added.shape)

    def _turned(self, G: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return C diag(w) C', the adjusted variances times their weights w (`_worth`), and the criterion."""
        C, own = triangle(G)
        worth = self._worth(own)
        return (C * worth[..., None, :]) @ C.mT, own * worth, self._of(own)

    def pull(self, fits: Fits, i: int) -> tuple[np.ndarray, np.ndarray]:
        U, own, _ = self._turned(fits.G)
        return (U[:, i, None, :] @ fits.first)[:, 0], own[:, i]

    def model(self, fits: Fits, i: int) -> Model:
        G = fits.G
        others = np.delete(np.arange(self.k), i)
        L, size, present = factor(G[:, others[:, None], others])
        root = np.linalg.inv(L) / size[:, None, :] * present[:, None, :]
        worth = self._worth(self.added(G))
        # y_j = v_i'M_j v_i; the square of `own` is v_j'M_j v_j
        own = np.einsum("bii->bi", L) * size * present
        u = (root @ G[:, others, i, None])[:, :, 0]
        y = G[:, i, i, None] - np.cumsum(u**2, axis=1) + u**2
        later = (others > i) & (y > NOTHING)
        y = divisor(y, later)
        share = worth[:, others] * later / y
        c = share * (own * u) ** 2 / y
        alpha = worth[:, i] + c.sum(axis=1)
        weights = np.cumsum(c[:, ::-1], axis=1)[:, ::-1] - c + own**2 * share
        weights += worth[:, i, None] * (others < i)
        Z = np.zeros_like(G)
        Z[:, others[:, None], others] = (root * weights[:, :, None]).mT @ root
        return Model(self.M, self.T, fits.first, fits.second, alpha, Z, Z, fits.of)

    def model_given_others(self, fits: Fits) -> Model:
        Z = inverse(fits.G)
        return Model(self.M, self.T, fits.first, fits.second, np.ones(len(fits)), Z, Z, fits.of)

    def with_gradient(self, x: np.ndarray, M: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u, size = self.directions(x)
        V = u[:, :, None] * self.member
        MV = M @ V
        U, own, value = self._turned(V.mT @ MV)
        half = ((MV @ U) * self.member).sum(axis=2) - u * own[:, self.owner]
        return value, 2.0 * half / size

    def expansion(self, x: np.ndarray, M: np.ndarray, T: np.ndarray) -> Expansion | None:
        V = x[:, None] * self.member
        MV = M @ V
        G = V.T @ MV
        if not well_apart(G):
            return None
        C, own = triangle(G, jitter=0.0)
        worth = self._worth(own)
        U = (C * worth) @ C.T
        half = (MV @ U)[np.arange(len(x)), self.owner] - x * (own * worth)[self.owner]
        return Expansion(float(self._of(own)), half, lambda: self._curvature(M, MV @ C, C, own, worth))

    def _curvature(
        self, M: np.ndarray, Z: np.ndarray, C: np.ndarray, own: np.ndarray, worth: np.ndarray
    ) -> np.ndarray:
        """Return half the second derivative along unit columns, shape (N, N).

        r_j = |X V c_j|^2 has the derivative S V c_j c_j', and c_j changes so that the scores stay
        uncorrelated with earlier scores. With Z = S V C, the entry for a of component i and b of component h
        is

            sum_j w_j [C_hj C_ij (S_ba - sum_{l<j} Z_bl Z_al / r_l) - Z_bj Z_aj sum_{l<j} C_hl C_il / r_l
                       - sum_{l<j} (Z_bl Z_aj C_il C_hj + Z_bj Z_al C_ij C_hl) / r_l] ,

        and w_i r_i is subtracted on the diagonal because the lengths are fixed.
        """
        U = (C * worth) @ C.T
        K = U[np.ix_(self.owner, self.owner)] * M
        K[np.diag_indices(len(K))] -= (own * worth)[self.owner]
        for h, rows in enumerate(self.parts):
            for i, columns in enumerate(self.parts[: h + 1]):
                both = C[h] * C[i]
                after = np.cumsum((both * worth)[::-1])[::-1] - both * worth
                before = np.cumsum(both / own) - both / own
                Y = np.triu(np.outer(C[i] / own, C[h] * worth), 1)
                Y += np.triu(np.outer(C[h] / own, C[i] * worth), 1).T
                Y[np.diag_indices(self.k)] += after / own + before * worth
                K[rows, columns] -= Z[rows] @ Y @ Z[columns].T
                if h != i:
                    K[columns, rows] = K[rows, columns].T
        return K


def inverse(G: np.ndarray) -> np.ndarray:
    """Return the inverse of G, shape (B, k, k), with zeros for components without loadings."""
    L, size, present = factor(G)
    root = np.linalg.inv(L) / size[:, None, :] * present[:, None, :]
    return root.mT @ root


def triangle(G: np.ndarray, jitter: float = JITTER) -> tuple[np.ndarray, np.ndarray]:
    """Return C, shape (..., k, k), and the adjusted variances, shape (..., k), of G = V'SV.

    C is unit upper triangular. The scores XVC are uncorrelated, and their variances are the adjusted
    variances: column i of VC is v_i minus a combination of the earlier columns. Components without loadings
    have zeros.
    """
    L, size, present = factor(G, jitter)
    own = np.einsum("...ii->...i", L) * size * present
    root = np.linalg.inv(L) / size[..., None, :] * present[..., None, :]
    return (root * own[..., :, None]).mT, own**2
