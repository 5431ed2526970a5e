"""Sparse PCA by regularised low-rank approximation.

Shen and Huang (2008), "Sparse principal component analysis via regularized low rank matrix
approximation", Journal of Multivariate Analysis: sPCA-rSVD, Algorithm 1 and section 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from spcastat.kernels.ties import hard_at, level_for, soft_at
from spcastat.operators import Operator
from spcastat.solvers.penalised import Penalised, Run
from spcastat.solvers.power import correlations, power

#: The parameter a of the SCAD penalty, as in Fan and Li (2001) and the paper.
SCAD_A = 3.7


def scad_at(q: np.ndarray, level: float) -> np.ndarray:
    """SCAD thresholding: as `soft_at` for small values, none for large ones (Shen and Huang 2008, 2.2)."""
    size = np.abs(q)
    between = ((SCAD_A - 1.0) * q - np.sign(q) * SCAD_A * level) / (SCAD_A - 2.0)
    return np.where(size <= 2.0 * level, soft_at(q, level), np.where(size <= SCAD_A * level, between, q))


#: Norm -> function of (values, level).
THRESHOLDS = {"l0": hard_at, "l1": soft_at, "scad": scad_at}


@dataclass(frozen=True)
class RSVD(Penalised):
    """min |X - u v'|^2 + penalty(v) over unit scores u, one component after another.

    Attributes
    ----------
    norm : {"l0", "l1", "scad"}
        Hard, soft or SCAD thresholding of X'u.
    card : tuple of int or None
    penalty : tuple of float or None
        The threshold for X'u, in units of the standard deviations of the variables (the data are divided by
        the square root of n - 1). The l1 penalty of the paper is twice this, the l0 penalty its square.
    deflation : str
        "residual" as in the paper: the rows become X - u v', where v has the length after thresholding.
    """

    norm: Literal["l0", "l1", "scad"] = "l1"
    deflation: str = "residual"

    units = (("penalty", 1), ("objective", 2))

    def at_penalty(self, view: Operator, start: np.ndarray, penalty: float) -> Run:
        limit = power(view, start, lambda q, v: THRESHOLDS[self.norm](q, penalty), self.tol, self.max_iter)
        return Run.of(limit, penalty)

    def at_card(self, view: Operator, start: np.ndarray, card: int) -> Run:
        def rule(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            kept, level = level_for(q, card)
            return np.where(kept, THRESHOLDS[self.norm](q, level), 0.0)

        limit = power(view, start, rule, self.tol, self.max_iter)
        return Run.of(limit, level_for(correlations(view, limit.v), card)[1])

    def largest_penalty(self, view: Operator, start: np.ndarray) -> float:
        return float(np.abs(correlations(view, start)).max())
