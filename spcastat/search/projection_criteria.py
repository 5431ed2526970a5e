"""PEV and the least-squares share for a batch of fits: traces tr G^-1 N with G = V'MV and N = V'TV.

PEV has M = I and T = S, least squares M = S and T = SS. With H = G^-1 half the gradient is (TV - MVHN) H.
With the other columns fixed, and V, H and N those of the other columns, the criterion of all columns is that
of the others plus v'Av / v'Bv,

    A = T - TVHV'M - MVHV'T + MVHNHV'M,   B = M - MVHV'M .
"""

from __future__ import annotations

import numpy as np

from spcastat.search.column_model import Model
from spcastat.search.criterion import Criterion, Expansion, Fits
from spcastat.search.small_matrices import DEPENDENT, JITTER, factor, well_apart
from spcastat.search.symmetric_matrices import Moments


class Projected(Criterion):
    """The share of the variance in a projection: on the span of the loadings or of the scores."""

    exact = True

    def __init__(self, M: Moments, T: Moments, cards: tuple[int, ...]):
        super().__init__(M, T, cards)
        self.rugged = M.identity

    def value(self, G: np.ndarray, N: np.ndarray) -> np.ndarray:
        root = inverse_root(G)
        return np.einsum("...ij,...ij->...", root @ N, root)

    def pull(self, fits: Fits, i: int) -> tuple[np.ndarray, np.ndarray]:
        H, W = self._weights(fits.G, fits.N)
        half = (H[:, i, None, :] @ fits.second - W[:, i, None, :] @ fits.first)[:, 0]
        scale = W[:, i, i] * fits.G[:, i, i]
        part = self.parts[i]
        at = np.arange(len(fits))[:, None], fits.places[:, part]
        half[at] += scale[:, None] * fits.x[:, part]
        return half, scale

    def _weights(self, G: np.ndarray, N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        root = inverse_root(G)
        H = root.mT @ root
        return H, H @ N @ H

    def model(self, fits: Fits, i: int) -> Model:
        G, N = fits.G.copy(), fits.N.copy()
        for K in (G, N):
            K[:, i, :] = 0.0
            K[:, :, i] = 0.0
        return self._model(fits, G, N)

    def model_given_others(self, fits: Fits) -> Model:
        return self._model(fits, fits.G, fits.N)

    def _model(self, fits: Fits, G: np.ndarray, N: np.ndarray) -> Model:
        H, W = self._weights(G, N)
        return Model(self.M, self.T, fits.first, fits.second, np.ones(len(fits)), H, -W, fits.of)

    def with_gradient(self, x: np.ndarray, M: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u, size = self.directions(x)
        V = u[:, :, None] * self.member
        MV, TV = M @ V, T @ V
        turned = V.mT
        G, N = turned @ MV, turned @ TV
        root = inverse_root(G)
        H = root.mT @ root
        HN = H @ N
        half = ((TV @ H - MV @ (HN @ H)) * self.member).sum(axis=2)
        return np.einsum("bii->b", HN), 2.0 * half / size

    def expansion(self, x: np.ndarray, M: np.ndarray, T: np.ndarray) -> Expansion | None:
        V = x[:, None] * self.member
        MV, TV = M @ V, T @ V
        G, N = V.T @ MV, V.T @ TV
        if not well_apart(G):
            return None
        root = inverse_root(G, jitter=0.0)
        H = root.T @ root
        W = H @ N @ H
        left = TV @ H - MV @ W
        half = left[np.arange(len(x)), self.owner]
        return Expansion(float(np.sum(H * N)), half, lambda: self._curvature(M, T, MV, TV, H, W, left))

    def _curvature(
        self,
        M: np.ndarray,
        T: np.ndarray,
        MV: np.ndarray,
        TV: np.ndarray,
        H: np.ndarray,
        W: np.ndarray,
        left: np.ndarray,
    ) -> np.ndarray:
        """Return half the second derivative, shape (N, N).

        With P = MVH, W = HNH and the slope E = TVH - MVW, the entry for a of component i and b of component
        j is H_ij (T - MVHV'T - TVHV'M + MVWV'M)_ba - W_ij (M - MVHV'M)_ba - P_bi E_aj - E_bi P_aj.
        """
        at = np.ix_(self.owner, self.owner)
        P = MV @ H
        cross = P @ TV.T
        K = H[at] * (T - cross - cross.T + MV @ W @ MV.T) - W[at] * (M - P @ MV.T)
        turned = P[:, self.owner] * left[:, self.owner].T
        return K - turned - turned.T


def inverse_root(G: np.ndarray, jitter: float = JITTER) -> np.ndarray:
    """Return R with R'R = G^-1; columns that depend on earlier ones are left out.

    With G scaled to correlations, rounding of N changes the trace of R N R' by the squared length of the rows
    of R, so this length decides which columns count as dependent. One small pivot may make all later rows
    long: only the first column is left out at a time.
    """
    L, size, present = factor(G, jitter)
    root = np.linalg.inv(L)
    depends = present & (DEPENDENT * (root**2).sum(axis=-1) >= 1.0)
    root = root / size[..., None, :] * present[..., :, None]
    again = depends.any(axis=-1)
    if again.any():
        kept = ~(depends & (np.cumsum(depends, axis=-1) == 1))[again]
        root[again] = inverse_root(G[again] * kept[..., :, None] * kept[..., None, :], jitter)
    return np.asarray(root)
