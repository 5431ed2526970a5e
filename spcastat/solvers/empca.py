"""Expectation-maximisation for sparse and nonnegative PCA.

Sigg and Buhmann (2008), "Expectation-maximization for sparse and non-negative PCA", ICML: emPCA, sections
2 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.kernels.ties import better_signs, positive_part, soft, unit
from spcastat.operators import Operator
from spcastat.solvers.power import power, renormalised, with_length
from spcastat.solvers.solver import Component, ComponentSolver, Earlier


@dataclass(frozen=True)
class EMPCA(ComponentSolver):
    """EM for the probabilistic PCA model in the limit of no noise, with constraints on the loadings.

    The E-step computes the scores y = Xw / w'w. The M-step minimises |X - y w'|^2 with a bound on the l1
    norm of w. On its solution path one variable after another enters, so the bound is chosen by the
    cardinality: X'y is soft-thresholded at its (card+1)-th largest value.

    Attributes
    ----------
    card : tuple of int
        The largest number of nonzeros of each component.
    nonneg : bool
        Whether loadings must be nonnegative (N-EMPCA). A component may then have fewer nonzeros.
    renormalise : bool
        Whether to replace the shrunken loadings by those of largest variance on the same support.
    tol : float
        Converged when no loading changes by more than this.
    max_iter : int
    deflation : str
        "orthogonalised" as in the authors' program: rows are projected on the orthogonal complement of the
        loadings.
    """

    card: tuple[int, ...]
    nonneg: bool = False
    renormalise: bool = True
    tol: float = 1e-8
    max_iter: int = 2000
    deflation: str = "orthogonalised"

    criterion = "adjusted variance"
    uses_starts = True
    first_start = "column"

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        card = self.card[earlier.done]

        def rule(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            W = q[:, None]
            return soft(positive_part(W) if self.nonneg else W, card)[:, 0]

        if self.nonneg:
            start = unit(np.maximum(better_signs(start, 0) * start, 0.0)[:, None])[:, 0]
        limit = power(view, start, rule, self.tol, self.max_iter)
        v, n_iter, converged = limit.v, limit.n_iter, limit.converged
        if not v.any():  # the deflated data are zero
            v = soft(start[:, None], card)[:, 0]
        elif self.renormalise and self.nonneg:
            support = v > 0

            more = power(
                view, v, lambda q, w: np.where(support, np.maximum(q, 0.0), 0.0), self.tol, self.max_iter
            )
            v, n_iter, converged = more.v, n_iter + more.n_iter, converged and more.converged
        elif self.renormalise:
            v = renormalised(view, v)[0]
        status = "converged" if converged else "max_iter"
        return Component(v, status, n_iter, with_length(view, v))
