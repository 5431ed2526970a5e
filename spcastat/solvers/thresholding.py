"""PCA's loadings with the small ones cut off, as they are or after a rotation.

Cadima and Jolliffe (1995), "Loadings and correlations in the interpretation of principal components",
discuss simple thresholding and its dangers; Jolliffe (1995), "Rotation of principal components", the
choice between criteria. Both are the informal practice that sparse methods are compared with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.errors import OptionError
from spcastat.kernels.ties import hard, tie_width, unit
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
    """Simple thresholding of the PCA loadings; what is kept is brought back to unit length.

    Attributes
    ----------
    card : tuple of int or None
        How many of the largest absolute loadings of each component are kept.
    threshold : tuple of float or None
        Keep the loadings of at least this absolute value; loadings have unit length, so from 0 to 1.
    """

    card: tuple[int, ...] | None = None
    threshold: tuple[float, ...] | None = None

    criterion = "adjusted variance"

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        V = self.dense(op, starts[0].T)
        sparse = np.column_stack([self._cut(V[:, i], i) for i in range(k)])
        value = float(op.score_basis(sparse)[0].sum())
        smallest = [float(np.abs(v[s != 0]).min()) for v, s in zip(V.T, sparse.T, strict=True)]
        details = {"smallest kept": smallest}
        return Solution(sparse, "exact", 1, value, np.array([value]), details)

    def dense(self, op: Operator, V: np.ndarray) -> np.ndarray:
        """Return the loadings, shape (p, k), that are thresholded."""
        return V

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

    The k unit-length loadings are rotated by statsmodels, brought to unit length (which changes nothing
    after an orthogonal rotation), and put in the order of the variances of their scores, since a rotation
    leaves no order behind: a sequence of cardinalities counts in that order.

    Attributes
    ----------
    rotation : str
        A name in ROTATIONS; all but the two last are orthogonal.
    """

    rotation: str = "varimax"

    def dense(self, op: Operator, V: np.ndarray) -> np.ndarray:
        if V.shape[1] > 1:
            from statsmodels.multivariate.factor_rotation import rotate_factors

            with np.errstate(divide="ignore"):  # it takes the logarithm of a gradient, which may be zero
                V = unit(np.asarray(rotate_factors(V, self.rotation)[0]))
        return V[:, op.by_variance(V)]
