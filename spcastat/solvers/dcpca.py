"""Sparse PCA by majorisation of a logarithmic penalty.

Sriperumbudur, Torres and Lanckriet (2011), "A majorization-minimization approach to the sparse generalized
eigenvalue problem", Machine Learning: the sparse PCA algorithm of its section on special cases (DC-PCA).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spcastat.kernels.ties import level_for, soft_at
from spcastat.operators import Operator
from spcastat.solvers.penalised import Penalised, Run
from spcastat.solvers.power import correlations, power, renormalised, with_length
from spcastat.solvers.solver import Component


@dataclass(frozen=True)
class DCPCA(Penalised):
    """max x'Sx - rho sum_i log(1 + |x_i| / epsilon) / log(1 + 1 / epsilon) over |x| <= 1.

    As epsilon goes to zero, the penalty tends to rho times the number of nonzeros. Both terms are replaced
    by tangents, so each step soft-thresholds Sx, small loadings more than large ones.

    Attributes
    ----------
    card : tuple of int or None
    penalty : tuple of float or None
        rho, in units of a variance: roughly the variance that each nonzero must add.
    epsilon : float
        How closely the penalty approximates the number of nonzeros. A zero loading becomes nonzero again only
        if |Sx|_i exceeds rho / (2 epsilon log(1 + 1 / epsilon)).
    renormalise : bool
        Whether to replace the shrunken loadings by those of largest variance on the same support.
    deflation : str
    """

    epsilon: float = 1e-3
    renormalise: bool = True
    deflation: str = "projection"

    implies_penalty = False  # the penalty implied by a loading near zero depends on epsilon alone
    units = (("penalty", 2), ("objective", 2))

    def at_penalty(self, view: Operator, start: np.ndarray, penalty: float) -> Run:
        rate = 0.5 * penalty / np.log1p(1.0 / self.epsilon)
        limit = power(
            view,
            start,  # q = Sv / standard deviation of the score
            lambda q, v: soft_at(q, rate / ((np.abs(v) + self.epsilon) * _deviation(q, v))),
            self.tol,
            self.max_iter,
        )
        return Run.of(limit, penalty)

    def at_card(self, view: Operator, start: np.ndarray, card: int) -> Run:
        def rule(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            kept, level = level_for(q * (np.abs(v) + self.epsilon), card)
            return np.where(kept, soft_at(q, level / (np.abs(v) + self.epsilon)), 0.0)

        limit = power(view, start, rule, self.tol, self.max_iter)
        q = correlations(view, limit.v)
        level = level_for(q * (np.abs(limit.v) + self.epsilon), card)[1] * _deviation(q, limit.v)
        return Run.of(limit, 2.0 * level * np.log1p(1.0 / self.epsilon))

    def largest_penalty(self, view: Operator, start: np.ndarray) -> float:
        q = correlations(view, start)
        level = float((np.abs(q) * (np.abs(start) + self.epsilon)).max()) * _deviation(q, start)
        return 2.0 * level * float(np.log1p(1.0 / self.epsilon))

    def finished(self, view: Operator, run: Run, details: dict[str, Any]) -> Component:
        v, raw = renormalised(view, run.v) if self.renormalise else (run.v, with_length(view, run.v))
        return super().finished(view, replace(run, v=v, raw=raw), details)


def _deviation(q: np.ndarray, v: np.ndarray) -> float:
    """Return the standard deviation of the score of unit loadings `v`, given q = X'u: v'q."""
    return max(float(v @ q), np.finfo(float).tiny)
