"""SCoTLASS: components of largest variance under a bound on the l1 norm.

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

#: How far the l1 norm may exceed its bound, from rounding.
SLACK = 1e-8
#: Most steps of a run with `card`; after them t is found by bisection instead.
SETTLING = 300
#: Bisection ends where the bracket is narrower than this share of t.
BRACKET = 1e-3
#: Steps in a row that found nothing within the bound, or led back and forth, after which a run ends.
PATIENCE = 5
#: A step leads back where it ends this much nearer to the last loadings but one than to the last.
RETURN = 0.05


@dataclass(frozen=True)
class ScotLASS(ComponentSolver):
    """max v'Sv with |v|_2 = 1, |v|_1 <= t and v orthogonal to the components before.

    Each step maximises the linear function (Sv)'x, which lies below the convex criterion, over the whole
    feasible set, so that the variance never falls; the step itself is exact (soft thresholding within
    the orthogonal complement, `spcastat.kernels.orthogonal_soft`).

    Attributes
    ----------
    card : tuple of int or None
        Nonzeros of each component: every step takes the largest t, which is the smallest threshold, that
        leaves no more. Where this settles, it solves the problem at the t reached, which is reported;
        where it does not, the largest t with that many nonzeros is found by bisection. Orthogonality may
        allow no vector as sparse as that: then it is the sparsest that thresholding finds, and "card
        hit" says so.
    t : tuple of float or None
        Bounds on the l1 norms, each in [1, sqrt(p)].
    tol : float
        Converged when a step changes no loading by more than this.
    max_iter : int
        Steps of one run, at most.
    """

    card: tuple[int, ...] | None = None
    t: tuple[float, ...] | None = None
    tol: float = 1e-8
    max_iter: int = 5000

    criterion = "adjusted variance"
    uses_starts = True
    #: The paper's constraint of orthogonality: with it, S and its projection have the same v'Sv.
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
            return Component(v, _status(converged), steps, details={"t": bound})
        assert self.card is not None
        card = self.card[earlier.done]
        found = self._run(view, start, partial(soft.sparse, card=card), np.inf, SETTLING)
        if not found[1]:
            found = self._searched(view, start, soft, card) or found
        v, converged, steps = found
        return Component(v, _status(converged), steps, details={"t": float(np.abs(v).sum())})

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
            returned = np.abs(v - older).max() < RETURN * np.abs(v - last).max()
            returns = returns + 1 if returned else 0
            if not v.any():  # nothing is left of the data in this direction
                return last, True, n
            if np.abs(v - last).max() <= self.tol:
                return v, True, n
        return v, False, n

    def _searched(
        self, view: Operator, start: np.ndarray, soft: OrthogonalSoft, card: int
    ) -> tuple[np.ndarray, bool, int] | None:
        """Return the run at the largest bound with `card` nonzeros, or None where there is none."""
        low, high = 1.0, float(np.sqrt(card))  # card nonzeros have an l1 norm of at most its root
        best = None
        while high - low > BRACKET * high:
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
    """Return whether orthogonality left no vector within the bound."""
    return float(np.abs(v).sum()) > bound * (1.0 + SLACK)


def _status(converged: bool) -> str:
    return "converged" if converged else "max_iter"
