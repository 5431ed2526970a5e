"""PCA's loadings with small ones set to zero, with or without a rotation.

Cadima and Jolliffe (1995), "Loadings and correlations in the interpretation of principal components",
discuss simple thresholding and its dangers; Jolliffe (1995), "Rotation of principal components", discusses
the choice of a rotation criterion. Sparse methods are compared with this informal practice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.errors import OptionError
from spcastat.kernels.ties import hard, ranked, tie_width, unit
from spcastat.operators import Operator
from spcastat.solvers.solver import JointSolver, Solution

#: Rotations of statsmodels' factor_rotation that need no further argument; the last two are oblique.
ROTATIONS = (
    "varimax",
    "quartimax",
    "biquartimax",
    "equamax",
    "parsimax",
    "parsimony",
    "quartimin",
    "biquartimin",
)


@dataclass(frozen=True)
class Threshold(JointSolver):
    """Simple thresholding of the PCA loadings, which are then scaled to unit length.

    Attributes
    ----------
    card : tuple of int or None
        The number of loadings kept in each component: the largest in absolute value.
    threshold : tuple of float or None
        Loadings of at least this absolute value are kept; from 0 to 1, since loadings have unit length.
    """

    card: tuple[int, ...] | None = None
    threshold: tuple[float, ...] | None = None

    criterion = "adjusted variance"

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        V = starts[0].T
        sparse = np.column_stack([self._cut(V[:, i], i) for i in range(k)])
        value = float(op.score_basis(sparse)[0].sum())
        smallest = [float(np.abs(v[s != 0]).min()) for v, s in zip(V.T, sparse.T, strict=True)]
        details = {"smallest kept": smallest}
        return Solution(sparse, "exact", 1, value, np.array([value]), details)

    def _cut(self, v: np.ndarray, i: int) -> np.ndarray:
        if self.threshold is None:
            assert self.card is not None
            return hard(v[:, None], self.card[i])[:, 0]
        size, level = np.abs(v), self.threshold[i]
        largest = size.max()
        kept = size >= level - tie_width(np.array(level), largest)
        if not kept.any():
            raise OptionError(
                f"threshold={level:g} leaves no loading in component {i + 1}, whose largest is "
                f"{largest:.6g}; it must be in [0, {largest:.6g}]."
            )
        return unit(np.where(kept, v, 0.0)[:, None])[:, 0]


@dataclass(frozen=True)
class Rotate(Threshold):
    """Rotation of the PCA loadings towards simple structure, then simple thresholding.

    The k unit-length loadings are rotated by statsmodels, scaled to unit length (which has no effect after
    an orthogonal rotation), and ordered by the variances of their scores, since a rotation does not define an
    order. A sequence of cardinalities refers to that order.

    Attributes
    ----------
    rotation : str
        A name in ROTATIONS; all but the two last are orthogonal.
    """

    rotation: str = "varimax"

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        V = starts[0].T
        if k > 1:
            from statsmodels.multivariate.factor_rotation import rotate_factors

            with np.errstate(divide="ignore"):  # statsmodels takes the logarithm of a possibly zero gradient
                V = unit(np.asarray(rotate_factors(V, self.rotation)[0]))
        V = V[:, ranked(np.diag(op.products(V)))]
        return super().solve(op, k, V.T[None], rng)
