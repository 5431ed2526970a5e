"""Iterative elimination: remove the variable with the smallest loading, fit the component again, and so on.

Wang and Wu (2012), "Sparse PCA by iterative elimination algorithm", Advances in Computational Mathematics 36.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.kernels.eig import DENSE_ORDER, largest_pairs, symmetric, top_eigh, top_lanczos
from spcastat.kernels.ties import ranked
from spcastat.operators import Operator
from spcastat.solvers.power import with_length
from spcastat.solvers.solver import Component, ComponentSolver, Earlier


@dataclass(frozen=True)
class Elimination(ComponentSolver):
    """PCA's first component, with the variable of the smallest loading removed until `card` are left.

    After each elimination the leading eigenvector of the remaining variables is computed, unlike in simple
    thresholding (``method="threshold"``). Of equal loadings the last is removed.

    This is the paper's criterion of the minimal absolute value. Its second criterion, the approximate
    minimal variance loss, is not available; ``method="gspca"`` eliminates by the exact loss.

    Attributes
    ----------
    card : tuple of int
        Nonzeros of each component.
    deflation : str
        A name in DEFLATIONS.
    """

    card: tuple[int, ...]
    deflation: str = "projection"

    criterion = "adjusted variance"
    units = (("variance", 2), ("objective", 2))

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        card = self.card[earlier.done]
        kept = _left(view, card)
        value, vector = view.take(kept).leading(1)
        v = np.zeros(view.p)
        v[kept] = vector[:, 0]
        steps = max(view.p - card, 1)
        return Component(v, "exact", steps, with_length(view, v), {"variance": float(value[0])})


def _left(view: Operator, card: int) -> np.ndarray:
    """Return the `card` variables that remain after the eliminations, ascending."""
    kept, v = np.arange(view.p), np.ones(view.p)
    S = symmetric(view.block(kept))
    if 2 * view.rank_limit < view.p > DENSE_ORDER:
        kept = _left_of_rows(_rows(S), max(card, DENSE_ORDER))
        S, v = S[np.ix_(kept, kept)], v[kept]
    while kept.size > card:
        if kept.size <= DENSE_ORDER:
            v = top_eigh(S, 1)[1][:, 0]
        else:
            v = top_lanczos(S.__matmul__, kept.size, 1, v)[1][:, 0]
        j = ranked(np.abs(v))[-1]
        kept, v = np.delete(kept, j), np.delete(v, j)
        S = np.delete(np.delete(S, j, axis=0), j, axis=1)
    return kept


def _rows(S: np.ndarray) -> np.ndarray:
    """Return F, shape (rank, p), with F'F = S, by Cholesky factorisation with pivoting."""
    from scipy.linalg.lapack import dpstrf

    factor, order, rank, _ = dpstrf(S)
    F = np.empty((rank, len(S)))
    F[:, order - 1] = np.triu(factor[:rank])
    return F


def _left_of_rows(F: np.ndarray, least: int) -> np.ndarray:
    """Return the `least` variables that remain, computed from eigenvectors of the smaller matrix FF'."""
    kept, G = np.arange(F.shape[1]), F @ F.T
    while kept.size > least:
        loadings = np.abs(largest_pairs(G, 1)[1][:, 0] @ F)
        j = ranked(loadings)[-1]
        G -= np.outer(F[:, j], F[:, j])
        kept, F = np.delete(kept, j), np.delete(F, j, axis=1)
    return kept
