"""A greedy path of supports with a certificate of optimality.

d'Aspremont, Bach and El Ghaoui (2008), "Optimal solutions for sparse principal component analysis", Journal
of Machine Learning Research: the approximate greedy search of section 3 and the conditions of section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.kernels.eig import symmetric, top_eigh
from spcastat.kernels.ties import first_max
from spcastat.operators import Operator
from spcastat.solvers.optimality import variance_bound
from spcastat.solvers.power import renormalised
from spcastat.solvers.solver import Component, ComponentSolver, Earlier

#: Deflations after which S is still a covariance matrix, as the certificate requires.
KEEPS_COVARIANCE = ("projection", "schur", "orthogonalised")


@dataclass(frozen=True)
class PathSPCA(ComponentSolver):
    """Supports that grow by the variable with the largest score (a_i'x)^2.

    x is the unit score of the current component, the leading left singular vector of the columns in the
    support; the first variable is the one with the largest variance. The score is a lower bound on the
    increase of the largest eigenvalue. It needs one product with S instead of an eigenvalue per variable.

    Attributes
    ----------
    card : tuple of int
        Nonzeros of each component.
    certify : bool
        Whether to report, for each component, an upper bound on the variance of any support of its size for
        the deflated matrix, and whether it is attained, up to 1e-6: then the support is globally optimal.
    deflation : str
        "projection" by default.
    """

    card: tuple[int, ...]
    certify: bool = True
    deflation: str = "projection"

    criterion = "adjusted variance"
    units = (("variance", 2), ("variance bound", 2), ("objective", 2))

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        card = self.card[earlier.done]
        support = np.array([first_max(view.diagonal())])
        columns = view.columns(support)
        while support.size < card:
            block = columns[support]
            vector = top_eigh(symmetric(block), 1)[1][:, 0]
            scores = (columns @ vector) ** 2  # (a_i'x)^2 up to the factor 1 / eigenvalue
            scores[support] = -np.inf
            support = np.append(support, first_max(scores))
            columns = np.column_stack([columns, view.columns(support[-1:])])
        chosen = np.zeros(view.p)
        chosen[support] = 1.0
        v, raw = renormalised(view, chosen)
        variance = float(raw @ raw)
        details: dict[str, object] = {"variance": variance}
        if self.certify and self.deflation in KEEPS_COVARIANCE and variance > 0:
            proof = (1.0 + 1e-6) * variance
            bound = variance_bound(view, v, card, proof)
            details |= {"variance bound": bound, "optimal": bound <= proof}
        return Component(v, "exact", card, raw, details)
