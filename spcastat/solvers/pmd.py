"""Penalised matrix decomposition with a bound on the l1 norm of the loadings.

Witten, Tibshirani and Hastie (2009), "A penalized matrix decomposition, with applications to sparse
principal components and canonical correlation analysis", Biostatistics: SPC, section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spcastat.errors import OptionError
from spcastat.kernels.ties import l1_bounded, soft
from spcastat.operators import Operator
from spcastat.solvers.penalised import Penalised, Run
from spcastat.solvers.power import Rule, power, with_length
from spcastat.solvers.solver import Component, Earlier


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
