"""Forward selection of variables: greedy supports, sparsity control, PathSPCA.

He, Monteiro and Park (2010), "A fast algorithm for sparse PCA and a new sparsity control criteria":
S_c-SPCA and M_c-SPCA (Algorithm 1, section 3) and SC_c-PCA (Algorithm 2).

PathSPCA: d'Aspremont, Bach and El Ghaoui (2008), "Optimal solutions for sparse principal component analysis",
Journal of Machine Learning Research: the approximate greedy search of section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.linalg.eigenvectors import (
    TARGET_ROUNDING,
    bordered_top,
    first_max,
    symmetric,
    top,
    top_eigh,
)
from spcastat.linalg.operators import Operator
from spcastat.solvers.penalised import leading_on, renormalised
from spcastat.solvers.solver import Component, ComponentSolver, Earlier

# --- forward selection, and sparsity control ------------------------------------------------------


class Growth:
    """A support that grows by the variables that increase the variance most.

    Parameters
    ----------
    view : Operator
        The deflated covariance matrix.
    exact : bool
        Whether to rank variables by the leading eigenvalue of the extended support, instead of the paper's
        surrogate: the gain S_jj + 2 |S_j. x|, where x is a vector of +1 and -1 on the support.
    support : ndarray of int, optional
        The initial support, for exact growth; empty by default.
    """

    def __init__(self, view: Operator, exact: bool, support: np.ndarray | None = None):
        self.view = view
        self.exact = exact
        self.support = np.empty(0, dtype=int) if support is None else support
        self.variances = view.diagonal()
        self._free = np.ones(view.p, dtype=bool)
        self._free[self.support] = False
        self._signed = np.zeros(view.p)  # S x (surrogate)
        self._columns = np.empty((view.p, 0)) if support is None else view.columns(support)  # exact

    def to(self, size: int) -> np.ndarray:
        """Add single variables up to this size; return the support in the order of entry."""
        while self.support.size < size:
            self.add(1)
        return self.support

    def add(self, count: int) -> None:
        """Add the `count` best variables at once, or all remaining ones if there are fewer."""
        gains = self._gains()
        gains = np.where(self._free, gains, -np.inf)
        count = min(count, self.view.p - self.support.size)
        entering = np.array([first_max(gains)]) if count == 1 else np.flatnonzero(top(gains, count))
        if self.exact:
            self._columns = np.hstack([self._columns, self.view.columns(entering)])
        else:
            signs = np.zeros(self.view.p)
            signs[entering] = np.where(self._signed[entering] < 0, -1.0, 1.0)
            self._signed = self._signed + self.view.dot(signs)
        self._free[entering] = False
        self.support = np.concatenate([self.support, entering])

    def _gains(self) -> np.ndarray:
        """Return the gain of adding each variable; values for variables in the support are not used."""
        if not self.exact:
            return self.variances + 2.0 * np.abs(self._signed)
        gains = self.variances.copy()
        if self.support.size:
            free = np.flatnonzero(self._free)
            block = self._columns[self.support]
            values, vectors = np.linalg.eigh(symmetric(block))
            gains[free] = bordered_top(values, vectors.T @ self._columns[free].T, gains[free])
        return gains

    def leading(self, size: int | None = None) -> tuple[float, np.ndarray]:
        """Return the largest variance on the support and its unit loadings, shape (p,).

        Parameters
        ----------
        size : int, optional
            Use only the first `size` variables that entered; all by default.
        """
        return leading_on(self.view, np.sort(self.support[:size]))


@dataclass(frozen=True)
class Greedy(ComponentSolver):
    """Supports of given sizes by greedy forward selection.

    Attributes
    ----------
    card : tuple of int
        Nonzeros of each component.
    c : int
        The number of variables that enter at a time; larger values are faster and slightly worse.
    exact : bool
        Whether to choose each variable by the leading eigenvalue instead of the paper's surrogate.
    deflation : str
        A name in DEFLATIONS.
    """

    card: tuple[int, ...]
    c: int = 1
    exact: bool = False
    deflation: str = "schur"

    criterion = "adjusted variance"

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        card = self.card[earlier.count]
        growth = Growth(view, self.exact)
        steps = 0
        while growth.support.size < card:
            growth.add(min(self.c, card - growth.support.size))
            steps += 1
        return Component(growth.leading()[1], "exact", steps)


@dataclass(frozen=True)
class Controlled(ComponentSolver):
    """The fewest nonzeros, by greedy forward selection, that keep a share of the variance PCA explains.

    Attributes
    ----------
    variance : float
        The share of PCA's variance to keep: the adjusted variance of the first i components is at least this
        share of the sum of the i largest eigenvalues (to 1e-10) for every i. Every component has at least one
        nonzero.
    c : int
        The number of variables that enter at a time.
    exact : bool
        Whether to choose each variable by the leading eigenvalue instead of the paper's surrogate.
    """

    variance: float
    c: int = 1
    exact: bool = False

    deflation = "schur"  # because the target is for adjusted variance
    criterion = "adjusted variance"

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        largest = float(earlier.pca[: earlier.count + 1].sum())  # the adjusted variance of PCA
        goal = (self.variance - TARGET_ROUNDING) * largest - earlier.explained
        growth = Growth(view, self.exact)
        short, steps = 0, 0  # the largest number of steps known to be too few, and steps so far
        while True:
            # The variance increases with every step, so it is enough to check it after every 20 % more steps.
            for _ in range(1 if self.exact else 1 + int(0.2 * steps)):
                growth.add(self.c)
                steps += 1
                if growth.support.size == view.p:
                    break
            value, v = growth.leading()
            if value >= goal or growth.support.size == view.p:
                break
            short = steps
        while steps - short > 1:
            middle = (short + steps) // 2
            value, loadings = growth.leading(middle * self.c)
            if value >= goal:
                steps, v = middle, loadings
            else:
                short = middle
        return Component(v, "exact", steps)


# --- PathSPCA -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PathSPCA(ComponentSolver):
    """Supports that grow by the variable with the largest score (a_i'x)^2.

    Here x is the unit score of the current component, the leading left singular vector of the columns in the
    support; the first variable is the one with the largest variance. The score (a_i'x)^2 is a lower bound on
    the increase of the largest eigenvalue, and needs one product with S instead of an eigenvalue per
    variable.

    Attributes
    ----------
    card : tuple of int
        Nonzeros of each component.
    deflation : str
        "projection" by default.
    """

    card: tuple[int, ...]
    deflation: str = "projection"

    criterion = "adjusted variance"
    units = (("variance", 2), ("objective", 2))

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        card = self.card[earlier.count]
        support = np.array([first_max(view.diagonal())])
        columns = view.columns(support)
        while support.size < card:
            block = columns[support]
            vector = top_eigh(symmetric(block), 1)[1][:, 0]
            scores = (columns @ vector) ** 2  # (a_i'x)^2 up to the factor 1 / eigenvalue
            scores[support] = -np.inf
            support = np.append(support, first_max(scores))
            columns = np.column_stack([columns, view.columns(support[-1:])])
        indicator = np.zeros(view.p)
        indicator[support] = 1.0
        v, raw = renormalised(view, indicator)
        return Component(v, "exact", card, raw, {"variance": float(raw @ raw)})
