"""The criterion of the search under a constraint: the objective minus a penalty on what must be zero.

With G = V'MV, and f_j the value of component j alone, it is

    sum_j f_j - rho sum_{i != j} G_ij^2 / (s_i s_j),

where f_j = v_j'Sv_j and s_j = 1, or f_j = v_j'SSv_j / v_j'Sv_j and s_j = G_jj. Given the other columns it is
a quotient in one of them, v'Av / v'Bv, so that sweeps and exchanges of the joint search run on it unchanged.

Several penalties at once are one penalty on several multiples of S. With aS for S, the criterion is a sum f -
rho a^2 sum G^2 if f_j = v_j'Sv_j and M = S, and else a sum f - rho sum G^2 / (s_i s_j): with rho = 1 it is a
times the criterion above if a is rho in the first case, and 1 / rho in the others.
"""

from __future__ import annotations

import numpy as np

from spcastat.search import matrices
from spcastat.search.constraints import Constraint
from spcastat.search.criteria import Blocks, Criterion, Expansion, Fits
from spcastat.search.objectives import Objective


class PenalisedCriterion(Criterion):
    """The sum of the values of single components minus a penalty on squared products, at several penalties.

    Fits numbered l in `Fits.of` have the penalty ``rhos[l]``, and values that are ``multiples[l]`` times the
    criterion.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix of total variance one.
    cards : tuple of int
    constraint : Constraint
    objective : Objective
    rhos : tuple of float
        Penalties.
    """

    exact_model = True  # the model of one column is exact, and the order of the components does not matter
    rugged = True

    def __init__(
        self,
        S: np.ndarray,
        cards: tuple[int, ...],
        constraint: Constraint,
        objective: Objective,
        rhos: tuple[float, ...],
    ):
        self.ratio = objective.squares
        of_variances = constraint.of_scores and not objective.squares
        #: The multiples of S.
        self.multiples = np.array(rhos) if of_variances else 1.0 / np.array(rhos)
        scaled = self.multiples[:, None, None] * S
        main = scaled @ scaled if objective.squares else scaled
        M: matrices.SymmetricMatrix = matrices.Identity(len(S))
        if constraint.of_scores:
            M = _dense(scaled)
        super().__init__(M, None if of_variances else _dense(main), cards)

    def _parts(self, G: np.ndarray, N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the scales s_j and the values f_j, each of shape (..., k)."""
        scales = np.maximum(np.einsum("...ii->...i", G), matrices.TINY)
        values = np.einsum("...ii->...i", G if self.T is None else N).copy()
        return (scales, values / scales) if self.ratio else (np.ones_like(scales), values)

    def value(self, G: np.ndarray, N: np.ndarray) -> np.ndarray:
        scales, values = self._parts(G, N)
        products = G * (1.0 - np.eye(self.k))
        penalty = (products**2 / (scales[..., :, None] * scales[..., None, :])).sum((-1, -2))
        return np.asarray(values.sum(-1) - penalty)

    def _weights(self, fits: Fits) -> np.ndarray:
        """Return 2 / s_j of the components that are present, shape (B, k)."""
        present = np.einsum("bii->bi", fits.G) > matrices.TINY
        return 2.0 / self._parts(fits.G, fits.N)[0] * present

    def _model(self, fits: Fits, weights: np.ndarray) -> matrices.QuadraticModel:
        Z = weights[:, :, None] * np.eye(self.k)
        alpha = np.ones(len(fits))
        return matrices.QuadraticModel(
            self.M, self.T, fits.M_products, fits.T_products, alpha, np.zeros_like(Z), Z, fits.of
        )

    def model(self, fits: Fits, i: int) -> matrices.QuadraticModel:
        weights = self._weights(fits)
        weights[:, i] = 0.0
        return self._model(fits, weights)

    def model_given_others(self, fits: Fits) -> matrices.QuadraticModel:
        return self._model(fits, self._weights(fits))

    def pull(self, fits: Fits, i: int) -> tuple[np.ndarray, np.ndarray]:
        weights = self._weights(fits)
        weights[:, i] = 0.0
        products = fits.M_products[:, i] if self.T is None else fits.T_products[:, i]
        Av = products - ((fits.G[:, i] * weights)[:, None] @ fits.M_products)[:, 0]
        part = self.parts[i]
        support = np.arange(len(fits))[:, None], fits.places[:, part]
        x = fits.x[:, part]
        value = (Av[support] * x).sum(axis=1)
        if self.ratio:
            variances = np.maximum(fits.G[:, i, i], matrices.TINY)
            value = value / variances
            half = (Av - value[:, None] * fits.M_products[:, i]) / variances[:, None]
        else:
            half = Av.copy()
            half[support] -= value[:, None] * x
        half[support] += np.abs(value)[:, None] * x
        return half, np.abs(value)

    def with_gradient(self, x: np.ndarray, M: Blocks, T: Blocks) -> tuple[np.ndarray, np.ndarray]:
        u, size = self.directions(x)
        V = u[:, :, None] * self.member
        MV = self.times(M, V, u)
        TV = MV if self.T is None else self.times(T, V, u)
        G, N = V.mT @ MV, V.mT @ TV
        scales, values = self._parts(G, N)
        products = G * (1.0 - np.eye(self.k))
        W = 2.0 * products / (scales[:, :, None] * scales[:, None, :])
        slope = TV
        if self.ratio:  # of N_jj / G_jj and of the squared correlations
            slope = (TV - MV * values[:, None, :]) / scales[:, None, :]
            slope = slope + MV * ((W * products).sum(axis=1) / scales)[:, None, :]
        half = ((slope - MV @ W) * self.member).sum(axis=2)
        half -= u * ((half * u) @ self.member)[:, self.owner]
        return self.value(G, N), 2.0 * half / size

    def expansion(self, x: np.ndarray, M: np.ndarray, T: np.ndarray) -> Expansion | None:
        return None  # the last steps are those of `ExactLoadings`


def _dense(stacked: np.ndarray) -> matrices.Dense:
    """Return the matrices of shape (D, m, m); products with a single one take less time."""
    return matrices.Dense(stacked[0] if len(stacked) == 1 else stacked)
