"""Dense principal components, for comparison and as the limit of the sparse methods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.operators import Operator
from spcastat.solvers.solver import JointSolver, Solution


@dataclass(frozen=True)
class PCA(JointSolver):
    """The leading eigenvectors of the covariance matrix."""

    criterion = "variance of the components"

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        V = starts[0].T
        value = float(np.trace(op.products(V)))
        return Solution(V, "exact", 1, value, np.array([value]))
