"""The planted models: X = T V' + E with sparse loadings that are known.

The columns v_j of `V` have unit length and disjoint supports, which begin at the first variable; the signs
of their loadings alternate. The scores t_j are independent and normal with variance lambda_j, the noise has
variance one.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

#: Cardinalities that the choices are made from; the last two with more than 20 variables only.
GRID = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 50)
#: Variances of unequal noise, repeated along the variables.
UNEQUAL = (0.4, 1.6, 0.7, 1.3, 1.0)
#: Correlation of neighbouring variables in autoregressive noise.
NEIGHBOURS = 0.4
NOISES = ("normal", "ar", "hetero", "t5", "t3 cells", "outliers", "lognormal", "ordinal")


@dataclass(frozen=True)
class Model:
    """A planted model.

    Attributes
    ----------
    n, p : int
        Rows and variables.
    cards : tuple of int
        Nonzeros of each component; none for noise alone.
    variances : tuple of float
        The variances lambda of their scores.
    noise : str
        One of NOISES. Independent normal; correlation 0.4^|i-j|; variances 0.4 1.6 0.7 1.3 1.0 repeated; rows
        of normal noise **and** scores divided by sqrt(chi2_5 / 5), scaled back to their variances;
        independent t with 3 degrees of freedom, of variance 1; one row in twenty four times as large;
        exp(x / 2) of normal rows, columns scaled; five categories cut at -1.2, -.4, .4, 1.2, columns scaled.
    least : float
        Loadings fall linearly from 1 to this (before they are brought to unit length).
    overlap : int
        Variables that a component shares with the one before it; loadings have one sign then.
    """

    n: int
    p: int
    cards: tuple[int, ...] = ()
    variances: tuple[float, ...] = ()
    noise: str = "normal"
    least: float = 1.0
    overlap: int = 0
    scale = False

    @property
    def k(self) -> int:
        """The number of components."""
        return len(self.cards)

    @property
    def loadings(self) -> np.ndarray:
        """The true loadings, shape (p, k)."""
        V = np.zeros((self.p, self.k))
        first = 0
        for j, card in enumerate(self.cards):
            sizes = np.linspace(1.0, self.least, card)
            signed = sizes * np.where(np.arange(card) % 2 & (self.overlap == 0), -1.0, 1.0)
            V[first : first + card, j] = signed / np.linalg.norm(signed)
            first += card - self.overlap
        return V

    @property
    def covariance(self) -> np.ndarray:
        """The true covariance matrix, shape (p, p)."""
        V = self.loadings
        return V * np.array(self.variances) @ V.T + noise_covariance(self.noise, self.p)

    @property
    def grid(self) -> tuple[int, ...]:
        """The cardinalities that a choice is made from."""
        return tuple(card for card in GRID if card <= 20 or (self.p > 20 and card <= self.p))

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return rows, shape (n, p), not centred."""
        T = rng.standard_normal((self.n, self.k)) * np.sqrt(np.array(self.variances))
        E = rng.standard_normal((self.n, self.p))
        if self.noise in ("ar", "hetero"):
            E = E @ np.linalg.cholesky(noise_covariance(self.noise, self.p)).T
        if self.noise == "t3 cells":
            E = rng.standard_t(3, E.shape) / np.sqrt(3)
        X = T @ self.loadings.T + E
        if self.noise == "t5":  # the variance of t with 5 degrees of freedom is 5 / 3
            X = X / np.sqrt(rng.chisquare(5, self.n) / 5)[:, None] / np.sqrt(5 / 3)
        if self.noise == "outliers":
            X[rng.random(self.n) < 0.05] *= 4.0
        if self.noise in ("lognormal", "ordinal"):
            X = np.exp(0.5 * X) if self.noise == "lognormal" else np.digitize(X, [-1.2, -0.4, 0.4, 1.2])
            X = (X - X.mean(axis=0)) / X.std(axis=0)
        return X


def noise_covariance(noise: str, p: int) -> np.ndarray:
    """Return the covariance matrix of the noise, shape (p, p)."""
    if noise == "ar":
        return NEIGHBOURS ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    if noise == "hetero":
        return np.diag(np.resize(UNEQUAL, p))
    return np.eye(p)


#: Models for the choice of cardinalities.
CHOOSE = {
    "A": Model(100, 20, (6, 6), (6, 4)),
    "B": Model(100, 50, (6, 6, 6), (8, 5, 3.5)),
    "C": Model(50, 200, (6, 6), (10, 6)),
    "D": Model(200, 50, (6, 6), (8, 5), "ar"),
    "E": Model(200, 50, (6, 6), (8, 5), "hetero"),
    "F": Model(200, 50, (10, 10), (10, 6), least=0.4),
}
#: Models for the number of components; the first six are noise alone.
NUMBER = {
    "null": Model(100, 50),
    "null, t5": Model(200, 50, noise="t5"),
    "null, lognormal": Model(100, 50, noise="lognormal"),
    "null, ordinal": Model(100, 50, noise="ordinal"),
    "null, unequal": Model(100, 50, noise="hetero"),
    "null, outlying rows": Model(100, 50, noise="outliers"),
    "three": CHOOSE["B"],
    "weak": Model(50, 200, (6, 6), (6, 3)),
    "strong + weak": Model(200, 50, (6, 6), (60, 2)),
    "t5": Model(200, 50, (6, 6), (8, 5), "t5"),
    "overlap": Model(200, 50, (8, 8, 8), (8, 6, 5), overlap=2),
    "lognormal": Model(150, 30, (6, 5), (8, 5), "lognormal"),
    "graded": Model(200, 50, (10, 10), (10, 6), least=0.2),
    "AR": Model(200, 50, (6, 6), (8, 5), "ar"),
}
#: Models for intervals.
STRONG = {
    "n50 p20": Model(50, 20, (6, 6), (6, 4)),
    "n100 p20": Model(100, 20, (6, 6), (6, 4)),
    "n300 p20": Model(300, 20, (6, 6), (6, 4)),
    "n100 p50": Model(100, 50, (6, 6), (8, 5)),
    "graded n200 p20": Model(200, 20, (8, 6), (6, 4), least=0.4),
}
WEAK = {
    "weak p50": Model(100, 50, (6, 6), (3, 2)),
    "weak graded p30": Model(100, 30, (10,), (3,), least=0.4),
}
#: Models for stability; noise alone is fitted with ten nonzeros.
STABILITY = {
    "noise": Model(100, 100),
    "spike": Model(100, 100, (8,), (5,)),
    "spikes": Model(100, 100, (8, 8), (8, 5)),
    "spike, AR": Model(100, 100, (8,), (5,), "ar"),
    "spikes, AR": Model(100, 100, (8, 8), (8, 5), "ar"),
}


def generator(table: str, number: int) -> np.random.Generator:
    """Return the source of the draws of data set `number` of a table: the same in every run.

    Methods that are compared see the same data when they ask for the same table and number.
    """
    return np.random.default_rng([zlib.crc32(table.encode()), number])


def support_f1(found: np.ndarray, true: np.ndarray) -> float:
    """Return the F1 score of the nonzeros, (p, k) arrays, of components matched for the largest overlap."""
    from scipy.optimize import linear_sum_assignment

    overlap = (found != 0).T.astype(float) @ (true != 0)
    hits = overlap[linear_sum_assignment(-overlap)].sum()
    return float(2 * hits / (np.count_nonzero(found) + np.count_nonzero(true)))
