"""Methods with an l1 penalty or constraint: DSPCA and SCoTLASS.

d'Aspremont, El Ghaoui, Jordan and Lanckriet (2007), "A direct formulation for sparse PCA using
semidefinite programming", SIAM Review 49.

Jolliffe, Trendafilov and Uddin (2003), "A modified principal component technique based on the LASSO",
Journal of Computational and Graphical Statistics 12.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from spcastat.errors import OptionError
from spcastat.linalg.eigenvectors import (
    RELATIVE,
    first_max,
    levelled,
    next_ties,
    symmetric,
    top,
    top_eigh,
    unit,
    whole_groups,
)
from spcastat.linalg.operators import Operator
from spcastat.linalg.thresholds import OrthogonalSoft, soft_at
from spcastat.solvers.solver import Component, ComponentSolver, Earlier

# --- DSPCA ----------------------------------------------------------------------------------------


#: The largest number of variables: each step computes all eigenvectors of a matrix of this order.
LARGEST_ORDER = 1000
#: Loadings that differ by at most this count as ties, since the relaxation is not solved more precisely.
TIED = 1e-4


@dataclass(frozen=True, eq=False)
class _SemidefiniteSolution:
    """A solution of the relaxation: the sparse matrix Z, the dual matrix U, and how the iteration ended."""

    Z: np.ndarray
    U: np.ndarray
    value: float
    bound: float
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class DSPCA(ComponentSolver):
    """max tr(SX) - penalty 1'|X|1 over positive semidefinite X with tr X = 1.

    The problem is solved by the alternating direction method of multipliers. The dual, the minimum of the
    largest eigenvalue of S + U over |U_ij| <= penalty, gives the reported bound: no X has a larger value, and
    therefore no unit vector v has a larger v'Sv - penalty |v|_1^2. The component is the leading eigenvector
    of the sparse X.

    Attributes
    ----------
    card : tuple of int or None
        Nonzeros of each component. The smallest penalty that gives them is found by bisection; if no penalty
        gives them, the leading eigenvector for the largest penalty with more nonzeros is truncated.
    penalty : tuple of float or None
        The penalty of each component, in units of a variance; variables with a smaller variance drop out.
    deflation : str
        A name in DEFLATIONS; the paper uses Hotelling's.
    tol : float
        Converged when the gap between bound and value is at most this share of the largest eigenvalue.
    max_iter : int
        The largest number of steps for one penalty.
    """

    card: tuple[int, ...] | None = None
    penalty: tuple[float, ...] | None = None
    deflation: str = "hotelling"
    tol: float = 1e-4
    max_iter: int = 2000

    criterion = "adjusted variance"
    units = (("penalty", 2), ("dual bound", 2), ("gap", 2), ("objective", 2))

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        p = view.p
        if p > LARGEST_ORDER:
            raise OptionError(
                f"method='dspca' computes all eigenvectors of a {p} x {p} matrix in every step; it is meant "
                f"for a few hundred variables, at most {LARGEST_ORDER}. Choose variables, or another method."
            )
        S = symmetric(view.block(np.arange(p)))
        largest = float(np.diag(S).max())
        if self.penalty is not None:
            penalty = self.penalty[earlier.count]
            if penalty > largest:
                size = view.unit**2
                raise OptionError(
                    f"penalty={penalty * size:g} leaves no nonzero loading in component {earlier.count + 1}; "
                    f"give a value in [0, {largest * size:g}], up to the largest remaining variance, for "
                    "this component."
                )
            relaxation = self.relaxed(S, penalty, None)
            v, extra = leading(relaxation.Z), {}
        else:
            assert self.card is not None
            relaxation, v, penalty, hit = self._at_card(S, self.card[earlier.count], largest)
            extra = {"by penalty": hit}
        details = {
            "penalty": penalty,
            "dual bound": relaxation.bound,
            "gap": relaxation.bound - relaxation.value,
            **extra,
        }
        return Component(
            v, "converged" if relaxation.converged else "max_iter", relaxation.n_iter, details=details
        )

    def _at_card(
        self, S: np.ndarray, card: int, largest: float
    ) -> tuple[_SemidefiniteSolution, np.ndarray, float, bool]:
        """Return the relaxation, loadings, penalty, and whether the penalty alone gives the cardinality."""
        low, high = 0.0, largest
        denser: tuple[_SemidefiniteSolution, np.ndarray, float] | None = None
        best_solution: tuple[_SemidefiniteSolution, np.ndarray, float] | None = None
        relaxation: _SemidefiniteSolution | None = None
        for halving in range(21):
            penalty = 0.5 * (low + high) if halving else 0.0
            relaxation = self.relaxed(S, penalty, relaxation)
            v = leading(relaxation.Z)
            nonzeros = int(np.count_nonzero(v))
            if nonzeros > card:
                low, denser = penalty, (relaxation, v, penalty)
            else:
                high = penalty
                if nonzeros == card:
                    best_solution = relaxation, v, penalty
            close = high - low <= 0.01 * high
            if close and (
                best_solution is not None or (denser is not None and next_ties(denser[1], card, TIED))
            ):
                break
        solution_at_card = best_solution or denser
        if solution_at_card is None:
            assert relaxation is not None
            solution_at_card = relaxation, leading(relaxation.Z), 0.0
        solution, v, penalty = solution_at_card
        v = unit(np.where(top(np.abs(v), card, TIED), v, 0.0)[:, None])[:, 0]
        return solution, v, penalty, best_solution is not None

    def relaxed(
        self, S: np.ndarray, penalty: float, neighbour: _SemidefiniteSolution | None
    ) -> _SemidefiniteSolution:
        """Solve the relaxation for one penalty, starting from the solution for another penalty, if given."""
        p = len(S)
        active = np.flatnonzero(np.diag(S) > penalty * (1.0 + RELATIVE))  # tied variables drop out together
        if penalty == 0.0 or active.size < 2:
            if penalty == 0.0:  # all tied leading eigenvectors: the next penalty starts here
                values, vectors = whole_groups(S, 1)
                value = float(values[0])
            else:
                j = first_max(np.diag(S))
                value, vectors = float(S[j, j]) - penalty, np.eye(p)[:, [j]]
            Z = vectors @ vectors.T / vectors.shape[1]
            return _SemidefiniteSolution(Z, -np.clip(S, -penalty, penalty), value, value, 1, True)
        block = np.ix_(active, active)
        start = None if neighbour is None else (neighbour.Z[block], neighbour.U[block])
        inner = _admm(S[block], penalty, start, self.tol, self.max_iter)
        Z, U = np.zeros((p, p)), np.zeros((p, p))
        Z[block], U[block] = inner.Z, inner.U
        return replace(inner, Z=Z, U=U)


def leading(Z: np.ndarray) -> np.ndarray:
    """Return the unit leading eigenvector of Z, with entries below 0.1 % of the largest set to zero."""
    v = top_eigh(Z, 1)[1][:, 0]
    v[np.abs(v) < 1e-3 * np.abs(v).max()] = 0.0
    return np.asarray(v / np.linalg.norm(v))


def _admm(
    S: np.ndarray, penalty: float, start: tuple[np.ndarray, np.ndarray] | None, tol: float, max_iter: int
) -> _SemidefiniteSolution:
    """Solve by ADMM: X is in the spectahedron, Z is its soft-thresholded copy, and U is the multiplier."""
    p = S.shape[0]
    scale = max(float(np.abs(np.linalg.eigvalsh(S)).max()), np.finfo(float).tiny)
    rho = scale
    if start is None:
        Z, U = np.zeros((p, p)), np.zeros((p, p))
    else:
        Z, U = start[0], np.clip(start[1], -penalty, penalty)
    best_value, bound = -np.inf, np.inf
    best_Z = Z
    n = 0
    while n < max_iter:
        n += 1
        X = _spectahedron(Z + (S + U) / rho)
        shifted = X - U / rho
        previous_Z = Z
        Z = soft_at(shifted, penalty / rho)
        U = U + rho * (Z - X)
        primal = float(np.linalg.norm(X - Z))
        dual = float(np.linalg.norm(Z - previous_Z))
        if n % 10 == 0 or n == max_iter:
            V = np.clip(U, -penalty, penalty)
            bound = min(bound, float(top_eigh(S + V, 1)[0][0]))
            value = float((S * X).sum() - penalty * np.abs(X).sum())
            if value > best_value:
                best_value, best_Z = value, Z
            if bound - best_value <= tol * scale and primal <= 10 * tol:
                return _SemidefiniteSolution(Z, V, best_value, bound, n, True)
            if primal > 5.0 * dual:
                rho *= 2.0
            elif dual > 5.0 * primal:
                rho *= 0.5
    return _SemidefiniteSolution(
        best_Z if best_Z.any() else Z, np.clip(U, -penalty, penalty), best_value, bound, n, False
    )


def _spectahedron(W: np.ndarray) -> np.ndarray:
    """Return the nearest positive semidefinite matrix of trace one."""
    values, vectors = np.linalg.eigh(symmetric(W))
    ordered = values[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, len(values) + 1)
    level = excess[np.flatnonzero(ordered > excess)[-1]]
    weights = np.maximum(values - level, 0.0)
    used = np.flatnonzero(weights)
    return np.asarray((vectors[:, used] * weights[used]) @ vectors[:, used].T)


# --- SCoTLASS -------------------------------------------------------------------------------------


#: The largest number of steps of a run with `card`; after that t is found by bisection.
SETTLING = 300
#: A run ends after this many consecutive steps that exceed the bound or return to earlier loadings.
STALLED_STEPS = 5


@dataclass(frozen=True)
class ScotLASS(ComponentSolver):
    """max v'Sv with |v|_2 = 1, |v|_1 <= t and v orthogonal to the earlier components.

    Each step maximises (Sv)'x, the linearisation of the convex criterion, over the whole feasible set, so the
    variance never decreases. The step itself is exact (soft thresholding within the orthogonal complement,
    `spcastat.linalg.thresholds`).

    Attributes
    ----------
    card : tuple of int or None
        Nonzeros of each component: every step uses the largest t (the smallest threshold) that leaves at
        most this number. If the iteration converges, it solves the problem for the last t, which is reported;
        if not, the largest t with this number of nonzeros is found by bisection. If no orthogonal vector is
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
        earlier_loadings = np.zeros((view.p, 0)) if earlier.V is None else earlier.V
        soft = OrthogonalSoft(earlier_loadings)
        if self.t is not None:
            bound = self.t[earlier.count]
            v, converged, steps = self._run(
                view, start, partial(soft.bounded, bound=bound), bound, self.max_iter
            )
            if _exceeds(v, bound):
                shortest = float(np.abs(v).sum())
                raise OptionError(
                    f"t={bound:g} is too small for component {earlier.count + 1}: orthogonality to the "
                    f"earlier components requires t in [{shortest:.6g}, {np.sqrt(view.p):.6g}] there."
                )
            return Component(v, "converged" if converged else "max_iter", steps, details={"t": bound})
        assert self.card is not None
        card = self.card[earlier.count]
        run = self._run(view, start, partial(soft.sparse, card=card), np.inf, SETTLING)
        if not run[1]:
            run = self._searched(view, start, soft, card) or run
        v, converged, steps = run
        status = "converged" if converged else "max_iter"
        return Component(v, status, steps, details={"t": float(np.abs(v).sum())})

    def _run(
        self,
        view: Operator,
        start: np.ndarray,
        step: Callable[[np.ndarray], np.ndarray],
        bound: float,
        step_limit: int,
    ) -> tuple[np.ndarray, bool, int]:
        v, n, exceedances, returns, previous = start, 0, 0, 0, start
        while n < min(step_limit, self.max_iter) and exceedances < STALLED_STEPS and returns < STALLED_STEPS:
            n += 1
            older, previous, v = previous, v, step(levelled(view.dot(v)[:, None], RELATIVE)[:, 0])
            exceedances = exceedances + 1 if _exceeds(v, bound) else 0
            returned = np.abs(v - older).max() < 0.05 * np.abs(v - previous).max()
            returns = returns + 1 if returned else 0
            if not v.any():  # the deflated data are zero
                return previous, True, n
            if np.abs(v - previous).max() <= self.tol:
                return v, True, n
        return v, False, n

    def _searched(
        self, view: Operator, start: np.ndarray, soft: OrthogonalSoft, card: int
    ) -> tuple[np.ndarray, bool, int] | None:
        """Return the run at the largest bound with `card` nonzeros, or None if there is no such bound."""
        low, high = 1.0, float(np.sqrt(card))  # bounds on the l1 norm of unit vectors with `card` nonzeros
        best_run = None
        # bisection ends when the bracket is narrower than a thousandth of t
        while high - low > 1e-3 * high:
            middle = 0.5 * (low + high)
            run = self._run(view, start, partial(soft.bounded, bound=middle), middle, SETTLING)
            nonzeros = int(np.count_nonzero(run[0]))
            if nonzeros > card and not _exceeds(run[0], middle):
                high = middle
            else:
                low = middle
                best_run = run if nonzeros == card and not _exceeds(run[0], middle) else best_run
        return best_run


def _exceeds(v: np.ndarray, bound: float) -> bool:
    """Return whether the l1 norm of `v` exceeds `bound`, so that no orthogonal vector satisfies it."""
    return float(np.abs(v).sum()) > bound * (1.0 + 1e-8)
