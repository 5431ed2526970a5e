"""Adjusted variance for a batch of fits: its gradient, and one column beside the others.

With unit columns, G = V'SV = LL' and l = diag L, the criterion is f = sum l_j^2. As l_j^2 is the minimum
over a of |X (v_j - sum_{h<j} a_h v_h)|^2, its gradient needs only the minimisers: with C = L'^-1 diag(l),
unit upper triangular,

    grad f / 2 = S V C C' - V diag(l^2).

With the other columns fixed and M_j what the Schur complement of all columns before j but i leaves of S,

    f(v) = v'S_{<i} v / v'v - sum_{j>i} (h_j'v)^2 / (v'M_j v) + constant,   h_j = M_j v_j .

The matrix A = S_{<i} - sum_{j>i} (h_j h_j' / y_j - c_j^2 M_j) with y_j = v_i'M_j v_i and c_j = h_j'v_i / y_j
gives v'Av / v'v the same slope at v_i: it ranks exchanges, f itself decides.
"""

from __future__ import annotations

import numpy as np

from spcastat.search.fits import NOTHING, Criterion, Fits, Model, factor
from spcastat.search.moments import Moments


class Adjusted(Criterion):
    """What each score adds to the variance of those before it, in the order of the components."""

    exact = False

    def __init__(self, S: Moments, cards: tuple[int, ...]):
        super().__init__(S, None, cards)

    def value(self, G: np.ndarray, N: np.ndarray) -> np.ndarray:
        L, size, present = factor(G)
        own = np.einsum("...ii->...i", L) * size
        return (own**2 * present).sum(axis=-1)

    def added(self, G: np.ndarray) -> np.ndarray:
        """Return the adjusted variance of each component, shape (..., k)."""
        L, size, present = factor(G)
        return (np.einsum("...ii->...i", L) * size) ** 2 * present

    def pull(self, fits: Fits, i: int) -> tuple[np.ndarray, np.ndarray]:
        U, own = self._weights(fits.G)
        return (U[:, i, None, :] @ fits.first)[:, 0], own[:, i]

    def _weights(self, G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return CC' and the adjusted variances."""
        L, size, present = factor(G)
        inverse = np.linalg.inv(L) / size[..., None, :]
        own = np.einsum("...ii->...i", L) * size
        C = inverse * own[..., :, None]
        return C.swapaxes(-1, -2) @ C, own**2 * present

    def model(self, fits: Fits, i: int) -> Model:
        G = fits.G
        B, k = len(fits), self.k
        alpha = np.ones(B)
        Z = inverse(G, range(i))
        for j in range(i + 1, k):
            H = inverse(G, [h for h in range(j) if h != i])
            b = -(H @ G[:, :, j, None])[:, :, 0]
            b[:, j] += 1.0
            y = G[:, i, i] - (G[:, None, i] @ H @ G[:, :, i, None])[:, 0, 0]
            sound = y > NOTHING
            y = np.where(sound, y, 1.0)
            c = np.where(sound, (G[:, i] * b).sum(axis=1) / y, 0.0)
            alpha += c**2
            Z = Z + (c**2)[:, None, None] * H + (b[:, :, None] * b[:, None, :]) * (sound / y)[:, None, None]
        return Model(self, fits.first, fits.second, alpha, Z, Z)

    def beside(self, fits: Fits) -> Model:
        Z = inverse(fits.G, range(self.k))
        return Model(self, fits.first, fits.second, np.ones(len(fits)), Z, Z)

    def with_gradient(
        self, x: np.ndarray, M: np.ndarray, T: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        lengths = np.sqrt(self.sums(x**2))
        size = np.where(lengths > 0, lengths, 1.0)[:, self.owner]
        u = x / size
        V = u[:, :, None] * self.member
        MV = M @ V
        G = V.swapaxes(1, 2) @ MV
        U, own = self._weights(G)
        half = ((MV @ U) * self.member).sum(axis=2) - u * own[:, self.owner]
        return own.sum(axis=1), 2.0 * half / size


def inverse(G: np.ndarray, columns: range | list[int]) -> np.ndarray:
    """Return the inverse of G on some columns, with zeros elsewhere: shape (B, k, k)."""
    found = np.zeros_like(G)
    at = np.array(columns, dtype=int)
    if at.size:
        L, size, present = factor(G[:, at[:, None], at])
        root = np.linalg.inv(L) / size[:, None, :] * present[:, None, :]
        found[:, at[:, None], at] = root.swapaxes(1, 2) @ root
    return found
