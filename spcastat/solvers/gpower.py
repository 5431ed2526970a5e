"""The generalised power method, one component at a time.

Journee, Nesterov, Richtarik and Sepulchre (2010), "Generalized power method for sparse principal component
analysis", Journal of Machine Learning Research: Algorithms 2 and 3, and the post-processing of section 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from spcastat.kernels.ties import hard_at, level_for, soft_at
from spcastat.operators import Operator
from spcastat.solvers.penalised import Penalised, Run
from spcastat.solvers.power import correlations, power, renormalised


@dataclass(frozen=True)
class GPower(Penalised):
    """max sum_i [|a_i'x| - gamma]_+^2 ("l1") or sum_i [(a_i'x)^2 - gamma]_+ ("l0") over unit x.

    The a_i are the columns of the data. The maximiser gives a support; the loadings are then the leading
    eigenvector on it.

    Attributes
    ----------
    norm : {"l0", "l1"}
    card : tuple of int or None
    penalty : tuple of float or None
        gamma relative to its theoretical upper bound, as in the authors' program: in units of max_i |a_i|
        ("l1") or of max_i |a_i|^2 ("l0"), the a_i being those of the deflated data; from 0 up to below 1.
    deflation : str
        "projection" as in the authors' program: A - (A z) z'.
    """

    norm: Literal["l0", "l1"] = "l1"
    deflation: str = "projection"

    first_start = "column"

    def at_penalty(self, view: Operator, start: np.ndarray, penalty: float) -> Run:
        level = np.sqrt(penalty) if self.norm == "l0" else penalty
        level = float(level) * longest_column(view)
        shrink = hard_at if self.norm == "l0" else soft_at
        limit = power(view, start, lambda q, v: shrink(q, level), self.tol, self.max_iter)
        return Run.of(limit, penalty)

    def at_card(self, view: Operator, start: np.ndarray, card: int) -> Run:
        def rule(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            kept, level = level_for(q, card)
            return np.where(kept, q if self.norm == "l0" else soft_at(q, level), 0.0)

        limit = power(view, start, rule, self.tol, self.max_iter)
        level = level_for(correlations(view, limit.v), card)[1] / longest_column(view)
        penalty = level**2 if self.norm == "l0" else level
        return Run.of(limit, penalty)

    def largest_penalty(self, view: Operator, start: np.ndarray) -> float:
        largest = float(np.abs(correlations(view, start)).max()) / longest_column(view)
        return largest**2 if self.norm == "l0" else largest

    def finished(self, view: Operator, run: Run) -> Run:
        v, raw = renormalised(view, run.v)
        return replace(run, v=v, raw=raw)

    @property
    def exact_at_card(self) -> bool:
        return self.norm == "l0"


def longest_column(view: Operator) -> float:
    """Return max_i |a_i|: the largest standard deviation that is left."""
    return float(np.sqrt(max(view.diagonal().max(), np.finfo(float).tiny)))
