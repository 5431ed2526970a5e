"""Growing a support index by index: the first phase of He, Monteiro and Park (2010), Algorithms 1 and 2."""

from __future__ import annotations

import numpy as np

from spcastat.kernels.eig import bordered_top, symmetric, top_eigh
from spcastat.kernels.ties import first_max, top
from spcastat.operators import Operator


class Growth:
    """A support that grows by the indices that raise the variance most.

    Parameters
    ----------
    view : Operator
        The deflated covariance matrix.
    exact : bool
        Rank an index by the leading eigenvalue of the support with it, instead of the paper's surrogate:
        the gain S_jj + 2 |S_j. x| of entering x, a vector of +1 and -1 on the support.
    """

    def __init__(self, view: Operator, exact: bool):
        self.view = view
        self.exact = exact
        self.support = np.empty(0, dtype=int)
        self.variances = view.diagonal()
        self._free = np.ones(view.p, dtype=bool)
        self._signed = np.zeros(view.p)  # S x (surrogate)
        self._columns = np.empty((view.p, 0))  # S[:, support] (exact)

    @property
    def full(self) -> bool:
        """Whether every variable is in the support."""
        return self.support.size == self.view.p

    def add(self, count: int) -> None:
        """Add the `count` best indices at once, or as many as are left."""
        gains = self._gains()
        gains = np.where(self._free, gains, -np.inf)
        count = min(count, self.view.p - self.support.size)
        chosen = np.array([first_max(gains)]) if count == 1 else np.flatnonzero(top(gains, count))
        if self.exact:
            self._columns = np.hstack([self._columns, self.view.columns(chosen)])
        else:
            signs = np.zeros(self.view.p)
            signs[chosen] = np.where(self._signed[chosen] < 0, -1.0, 1.0)
            self._signed = self._signed + self.view.dot(signs)
        self._free[chosen] = False
        self.support = np.concatenate([self.support, chosen])

    def _gains(self) -> np.ndarray:
        """Return what each variable would bring; what stands for those in the support says nothing."""
        if not self.exact:
            return self.variances + 2.0 * np.abs(self._signed)
        gains = self.variances.copy()
        if self.support.size:
            free = np.flatnonzero(self._free)
            block = self._columns[self.support]
            values, vectors = top_eigh(symmetric(block), self.support.size)
            gains[free] = bordered_top(values, vectors.T @ self._columns[free].T, gains[free])
        return gains

    def leading(self, size: int | None = None) -> tuple[float, np.ndarray]:
        """Return the largest variance on the support and the unit loadings, shape (p,), that have it.

        Parameters
        ----------
        size : int, optional
            How many of the indices that entered count, the first ones; all by default.
        """
        support = np.sort(self.support[:size])
        value, vector = self.view.take(support).leading(1)
        v = np.zeros(self.view.p)
        v[support] = vector[:, 0]
        return float(value[0]), v
