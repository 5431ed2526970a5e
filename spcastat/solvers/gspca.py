"""Greedy search in both directions with exact eigenvalues.

Moghaddam, Weiss and Avidan (2006), "Spectral bounds for sparse PCA: exact and greedy algorithms", Advances in
Neural Information Processing Systems: the bidirectional greedy search (GSPCA).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.kernels.eig import symmetric, top_eigh
from spcastat.kernels.ties import tie_width
from spcastat.operators import Operator
from spcastat.solvers.greedy import Growth
from spcastat.solvers.power import with_length
from spcastat.solvers.solver import Component, ComponentSolver, Earlier

#: The largest number of variables for elimination from all of them, whose cost grows as the fourth power.
BACKWARD_ORDER = 150


@dataclass(frozen=True)
class GSPCA(ComponentSolver):
    """Forward selection and backward elimination by the largest eigenvalue; the better support is used.

    Attributes
    ----------
    card : tuple of int
        Nonzeros of each component.
    backward : bool
        Whether to try elimination, too. It starts from all variables if there are at most BACKWARD_ORDER,
        otherwise from the forward support and as many next best variables.
    deflation : str
        "projection" by default.
    """

    card: tuple[int, ...]
    backward: bool = True
    deflation: str = "projection"

    criterion = "adjusted variance"
    units = (("variance", 2), ("objective", 2))

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        card = self.card[earlier.done]
        growth = Growth(view, exact=True)
        growth.to(card)
        value, v = growth.leading()
        direction = "forward"
        if self.backward and card < view.p:
            other, w = self._backward(view, growth, card)
            if other > value + tie_width(np.array(value), np.array(value)):
                value, v, direction = other, w, "backward"
        return Component(v, "exact", card, with_length(view, v), {"variance": value, "search": direction})

    def _backward(self, view: Operator, growth: Growth, card: int) -> tuple[float, np.ndarray]:
        if view.p <= BACKWARD_ORDER:
            support = np.arange(view.p)
        else:
            growth.add(card)
            support = np.sort(growth.support)
        S = view.block(support)
        S = symmetric(S)
        while support.size > card:
            left = without_each(*top_eigh(S, support.size))
            best = left.max()
            j = int(np.flatnonzero(left >= best - tie_width(best, best))[-1])  # of ties remove the last
            support = np.delete(support, j)
            S = np.delete(np.delete(S, j, axis=0), j, axis=1)
        value, vector = top_eigh(S, 1)
        v = np.zeros(view.p)
        v[support] = vector[:, 0]
        return float(value[0]), v


def without_each(values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return, for every j, the largest eigenvalue of a symmetric matrix without row and column j.

    Parameters
    ----------
    values : ndarray of shape (s,)
        All eigenvalues, descending; s is at least 2.
    vectors : ndarray of shape (s, s)
        The eigenvectors, in columns.

    Returns
    -------
    ndarray of shape (s,)
        By interlacing, each is between the two largest eigenvalues; it is the root of the increasing
        function sum_i vectors_ji^2 / (values_i - mu) of mu, found by bisection.
    """
    squares = vectors**2
    low = np.full(len(values), values[1])
    high = np.full(len(values), values[0])
    tiny = np.finfo(float).tiny
    for _ in range(50):
        middle = 0.5 * (low + high)
        gap = values[:, None] - middle
        gap = np.where(np.abs(gap) < tiny, tiny, gap)
        rising = (squares.T / gap).sum(axis=0) < 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return 0.5 * (low + high)
