"""Penalised rank-one approximations: rSVD and the penalised matrix decomposition (PMD).

Witten, Tibshirani and Hastie (2009), "A penalized matrix decomposition, with applications to sparse
principal components and canonical correlation analysis", Biostatistics: SPC, section 3.2.

Shen and Huang (2008), "Sparse principal component analysis via regularized low rank matrix
approximation", Journal of Multivariate Analysis: sPCA-rSVD, Algorithm 1 and section 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from spcastat.errors import OptionError
from spcastat.linalg.operators import Operator
from spcastat.linalg.ties import hard_at, l1_bounded, level_for, soft, soft_at
from spcastat.solvers.penalised import Penalised, Rule, Run, correlations, power, with_length
from spcastat.solvers.solver import Component, Earlier

# --- penalised matrix decomposition ---------------------------------------------------------------


@dataclass(frozen=True)
class PMD(Penalised):
    """max u'Xv over unit u and v with a bounded l1 norm of v ("SPC").

    Attributes
    ----------
    card : tuple of int or None
        Nonzeros of each component: the largest bound that gives them is found by bisection.
    t : tuple of float or None
        Bounds on the l1 norms of the unit loadings, each in [1, sqrt(p)] ("sumabs" times sqrt(p)).
    orth : bool
        Whether scores are orthogonal to the earlier ones (section 3.2, equation 3.14): X is then replaced
        by its residuals on the earlier scores, which is Schur complement deflation.
    deflation : str
        "projection" by default: since u is Xv scaled to unit length, X - d u v' = X (I - v v').
    """

    t: tuple[float, ...] | None = None
    orth: bool = False
    deflation: str = "projection"

    def __post_init__(self) -> None:
        if self.orth:
            if self.deflation not in ("projection", "schur"):
                raise OptionError(
                    f"orth=True and deflation={self.deflation!r} were given; orthogonal scores are what "
                    "deflation='schur' gives, so leave deflation out."
                )
            object.__setattr__(self, "deflation", "schur")

    # The penalty of the search is sqrt(p) minus the bound, so that it increases with sparsity.

    def at_penalty(self, view: Operator, start: np.ndarray, penalty: float) -> Run:
        bound = max(np.sqrt(view.p) - penalty, 1.0)
        return self._run(view, start, lambda q, v: l1_bounded(q[:, None], bound)[:, 0], penalty)

    def at_card(self, view: Operator, start: np.ndarray, card: int) -> Run:
        return self._run(view, start, lambda q, v: soft(q[:, None], card)[:, 0], None)

    def largest_penalty(self, view: Operator, start: np.ndarray) -> float:
        return float(np.sqrt(view.p) - 1.0)

    def _run(self, view: Operator, start: np.ndarray, rule: Rule, penalty: float | None) -> Run:
        limit = power(view, start, rule, self.tol, self.max_iter)
        if penalty is None:
            penalty = float(np.sqrt(view.p) - np.abs(limit.v).sum())
        return Run(limit.v, with_length(view, limit.v), limit.n_iter, limit.converged, penalty)

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        if self.t is not None:
            bound = self.t[earlier.done]
            run = self.at_penalty(view, start, np.sqrt(view.p) - bound)
            v = run.v if run.v.any() else l1_bounded(start[:, None], bound)[:, 0]
            status = "converged" if run.converged else "max_iter"
            return Component(v, status, run.n_iter, run.raw, {"t": bound, "l1 norm": float(np.abs(v).sum())})
        part = super().component(view, earlier, start)
        t = float(np.sqrt(view.p)) - part.details["penalty"]
        return replace(part, details={"t": t, "by t": part.details["by penalty"]})


# --- rSVD -----------------------------------------------------------------------------------------


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
