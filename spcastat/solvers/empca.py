"""EM and difference-of-convex iterations for one sparse component: EMPCA and DCPCA.

Sigg and Buhmann (2008), "Expectation-maximization for sparse and non-negative PCA", ICML: emPCA, sections
2 and 3.

Sriperumbudur, Torres and Lanckriet (2011), "A majorization-minimization approach to the sparse generalized
eigenvalue problem", Machine Learning: the sparse PCA algorithm of its section on special cases (DC-PCA).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spcastat.linalg.operators import Operator
from spcastat.linalg.ties import better_signs, level_for, positive_part, soft, soft_at, unit
from spcastat.solvers.penalised import Penalised, Run, correlations, power, renormalised, with_length
from spcastat.solvers.solver import Component, ComponentSolver, Earlier

# --- EM -------------------------------------------------------------------------------------------


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


# --- difference of convex functions ---------------------------------------------------------------


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
