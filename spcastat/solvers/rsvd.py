"""Sparse PCA by regularised low-rank approximation.

Shen and Huang (2008), "Sparse principal component analysis via regularized low rank matrix
approximation", Journal of Multivariate Analysis: sPCA-rSVD, Algorithm 1 and section 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from spcastat.kernels.ties import tie_width, top
from spcastat.operators import Operator
from spcastat.solvers.penalised import Penalised, Run
from spcastat.solvers.power import Limit, correlations, power

#: The knee of the SCAD penalty, as Fan and Li (2001) and the paper take it.
SCAD_A = 3.7


@dataclass(frozen=True)
class RSVD(Penalised):
    """min |X - u v'|^2 + penalty(v) over unit scores u, one component after another.

    Attributes
    ----------
    norm : {"l0", "l1", "scad"}
        Hard, soft or SCAD thresholding of X'u.
    card : tuple of int or None
    penalty : tuple of float or None
        Where X'u is thresholded: in standard deviations of the variables (the data being divided by the
        square root of n - 1). The l1 penalty of the paper is twice this, the l0 penalty its square.
    deflation : str
        "residual" as in the paper: what is left of the rows is X - u v', v at the length that the
        threshold gave it.
    """

    norm: Literal["l0", "l1", "scad"] = "l1"
    deflation: str = "residual"

    units = (("penalty", 1), ("objective", 2))

    def shrink(self, q: np.ndarray, level: float) -> np.ndarray:
        """Return `q` thresholded at `level`."""
        return {"l0": hard_at, "l1": soft_at, "scad": scad_at}[self.norm](q, level)

    def at_penalty(self, view: Operator, start: np.ndarray, penalty: float) -> Run:
        limit = power(view, start, lambda q, v: self.shrink(q, penalty), self.tol, self.max_iter)
        return _run(limit, penalty)

    def at_card(self, view: Operator, start: np.ndarray, card: int) -> Run:
        def rule(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            kept, level = level_for(q, card)
            return np.where(kept, self.shrink(q, level), 0.0)

        limit = power(view, start, rule, self.tol, self.max_iter)
        return _run(limit, level_for(correlations(view, limit.v), card)[1])

    def largest_penalty(self, view: Operator, start: np.ndarray) -> float:
        return float(np.abs(correlations(view, start)).max())

    def prefers(self, inside: Run, found: Run) -> bool:
        return constrained_l0(inside, found) if self.norm == "l0" else super().prefers(inside, found)


def constrained_l0(inside: Run, found: Run) -> bool:
    """Whether a hard-thresholded run at a preset cardinality shall be taken though a penalty was found.

    Keeping the `card` largest values solves the problem constrained to that cardinality exactly, so where the
    penalised iteration settles on another support the constrained one decides.
    """
    return inside.converged and bool(((inside.v != 0) != (found.v != 0)).any())


def _run(limit: Limit, penalty: float) -> Run:
    return Run(limit.v, limit.raw, limit.n_iter, limit.converged, penalty)


def hard_at(q: np.ndarray, level: float) -> np.ndarray:
    """Keep what exceeds `level` in absolute value."""
    return np.where(np.abs(q) > level, q, 0.0)


def soft_at(q: np.ndarray, level: float | np.ndarray) -> np.ndarray:
    """Shrink towards zero by `level`."""
    return np.sign(q) * np.maximum(np.abs(q) - level, 0.0)


def scad_at(q: np.ndarray, level: float) -> np.ndarray:
    """Shrink small values as `soft_at` does, large ones not at all: Shen and Huang (2008), section 2.2."""
    size = np.abs(q)
    between = ((SCAD_A - 1.0) * q - np.sign(q) * SCAD_A * level) / (SCAD_A - 2.0)
    return np.where(size <= 2.0 * level, soft_at(q, level), np.where(size <= SCAD_A * level, between, q))


def level_for(q: np.ndarray, card: int) -> tuple[np.ndarray, float]:
    """Mark the `card` largest absolute values of `q` and find the level at which they alone are left.

    The level is the (card+1)-th largest value; where that ties with one that is kept, the next smaller.
    """
    size = np.abs(q)
    kept = top(size, card)
    smallest = size[kept].min()
    below = size[~kept & (size < smallest - tie_width(smallest, size.max()))]
    return kept, float(below.max()) if below.size else 0.0
