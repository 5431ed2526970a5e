"""SCoTLASS: components with the largest variance given a bound on the l1 norm.

Jolliffe, Trendafilov and Uddin (2003), "A modified principal component technique based on the LASSO",
Journal of Computational and Graphical Statistics 12.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from spcastat.errors import OptionError
from spcastat.kernels.orthogonal_soft import OrthogonalSoft
from spcastat.kernels.ties import RELATIVE, levelled
from spcastat.operators import Operator
from spcastat.solvers.solver import Component, ComponentSolver, Earlier

#: The largest number of steps of a run with `card`; after that t is found by bisection.
SETTLING = 300
#: A run ends after this many consecutive steps that exceed the bound or return to earlier loadings.
PATIENCE = 5


@dataclass(frozen=True)
class ScotLASS(ComponentSolver):
    """max v'Sv with |v|_2 = 1, |v|_1 <= t and v orthogonal to the earlier components.

    Each step maximises (Sv)'x, the linearisation of the convex criterion, over the whole feasible set, so the
    variance never decreases. The step itself is exact (soft thresholding within the orthogonal complement,
    `spcastat.kernels.orthogonal_soft`).

    Attributes
    ----------
    card : tuple of int or None
        Nonzeros of each component: every step uses the largest t (the smallest threshold) that leaves at
        most this number. If this converges, it solves the problem for the t reached, which is reported; if
        not, the largest t with that number of nonzeros is found by bisection. If no orthogonal vector is
        that sparse, the sparsest one found by thresholding is returned, and "card hit" is false.
    t : tuple of float or None
        Bounds on the l1 norms, each in [1, sqrt(p)].
    tol : float
        Converged when a step changes no loading by more than this.
    max_iter : int
        The largest number of steps of one run.
    """

    card: tuple[int, ...] | None = None
    t: tuple[float, ...] | None = None
    tol: float = 1e-8
    max_iter: int = 5000

    criterion = "adjusted variance"
    uses_starts = True
    #: Because loadings are orthogonal, v'Sv is the same for S and for its projection.
    deflation = "projection"

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        before = np.zeros((view.p, 0)) if earlier.V is None else earlier.V
        soft = OrthogonalSoft(before)
        if self.t is not None:
            bound = self.t[earlier.done]
            v, converged, steps = self._run(
                view, start, partial(soft.bounded, bound=bound), bound, self.max_iter
            )
            if _exceeds(v, bound):
                shortest = float(np.abs(v).sum())
                raise OptionError(
                    f"t={bound:g} is too small for component {earlier.done + 1}: orthogonality to the "
                    f"components before asks for t in [{shortest:.6g}, {np.sqrt(view.p):.6g}] there."
                )
            return Component(v, "converged" if converged else "max_iter", steps, details={"t": bound})
        assert self.card is not None
        card = self.card[earlier.done]
        found = self._run(view, start, partial(soft.sparse, card=card), np.inf, SETTLING)
        if not found[1]:
            found = self._searched(view, start, soft, card) or found
        v, converged, steps = found
        status = "converged" if converged else "max_iter"
        return Component(v, status, steps, details={"t": float(np.abs(v).sum())})

    def _run(
        self,
        view: Operator,
        start: np.ndarray,
        step: Callable[[np.ndarray], np.ndarray],
        bound: float,
        most: int,
    ) -> tuple[np.ndarray, bool, int]:
        v, n, beyond, returns, last = start, 0, 0, 0, start
        while n < min(most, self.max_iter) and beyond < PATIENCE and returns < PATIENCE:
            n += 1
            older, last, v = last, v, step(levelled(view.dot(v)[:, None], RELATIVE)[:, 0])
            beyond = beyond + 1 if _exceeds(v, bound) else 0
            returned = np.abs(v - older).max() < 0.05 * np.abs(v - last).max()
            returns = returns + 1 if returned else 0
            if not v.any():  # the deflated data are zero
                return last, True, n
            if np.abs(v - last).max() <= self.tol:
                return v, True, n
        return v, False, n

    def _searched(
        self, view: Operator, start: np.ndarray, soft: OrthogonalSoft, card: int
    ) -> tuple[np.ndarray, bool, int] | None:
        """Return the run at the largest bound with `card` nonzeros, or None if there is none."""
        low, high = 1.0, float(np.sqrt(card))  # bounds on the l1 norm of unit vectors with `card` nonzeros
        best = None
        # bisection ends when the bracket is narrower than a thousandth of t
        while high - low > 1e-3 * high:
            middle = 0.5 * (low + high)
            run = self._run(view, start, partial(soft.bounded, bound=middle), middle, SETTLING)
            nonzeros = int(np.count_nonzero(run[0]))
            if nonzeros > card and not _exceeds(run[0], middle):
                high = middle
            else:
                low = middle
                best = run if nonzeros == card and not _exceeds(run[0], middle) else best
        return best


def _exceeds(v: np.ndarray, bound: float) -> bool:
    """Return whether the l1 norm of `v` exceeds `bound`: then no orthogonal vector satisfies the bound."""
    return float(np.abs(v).sum()) > bound * (1.0 + 1e-8)
