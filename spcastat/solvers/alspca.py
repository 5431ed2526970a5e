"""ALSPCA: sparse components with nearly orthogonal loadings and nearly uncorrelated scores.

Lu and Zhang (2012), "An augmented Lagrangian approach for sparse principal component analysis",
Mathematical Programming 135.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.linalg.eigenvectors import RELATIVE, first_max, levelled, unit
from spcastat.linalg.operators import Operator
from spcastat.linalg.thresholds import hard, soft_at
from spcastat.solvers.gpower import largest_entries
from spcastat.solvers.solver import JointSolver, Solution

#: Loadings, the number of updates of the multipliers, and whether they converged.
MultiplierFit = tuple[np.ndarray, int, bool]


@dataclass(frozen=True)
class ALSPCA(JointSolver):
    """max tr(V'SV) - penalty |V|_1 with unit columns, |v_i'v_j| <= orthogonal, |v_i'Sv_j| <= uncorrelated.

    The two sets of inequalities are handled by an augmented Lagrangian. Its inner problems are solved by
    proximal gradient steps with a nonmonotone line search, starting from PCA's loadings. Each step keeps
    unit length exactly, so no component can vanish. (In the paper, V'V = I is an equality constraint that is
    satisfied up to a tolerance; here `orthogonal` is this tolerance.)

    Attributes
    ----------
    card : tuple of int or None
        Nonzeros of each component: the penalties that give them are found by bisection, one component after
        another. If a component still has too many nonzeros, its smallest loadings are dropped.
    total : int or None
        Nonzeros of all components together: the smallest common penalty that gives this number is found by
        bisection. If no penalty gives it, the smallest loadings of a fit with slightly more nonzeros are
        dropped.
    penalty : tuple of float or None
        The penalty of each component, in units of a variance.
    orthogonal : float
        Bound on the inner products of different loadings, in [0, 1]. 0 requires orthogonality.
    uncorrelated : float
        Bound on the covariances of different scores, in units of the mean variance of the variables (for
        a correlation matrix these are the paper's units). Infinity removes the bound.
    tol : float
        Converged when no bound is exceeded by more than this and the criterion changes, from one update of
        the multipliers to the next, by at most this share of the total variance.
    max_iter : int
        The largest number of updates of the multipliers.
    """

    card: tuple[int, ...] | None = None
    total: int | None = None
    penalty: tuple[float, ...] | None = None
    orthogonal: float = 0.2
    uncorrelated: float = 1.0
    tol: float = 1e-5
    max_iter: int = 200

    uses_starts = True
    at_once = False
    compares_penalties = False
    criterion = "penalised variance tr(V'SV) - penalty |V|_1"
    in_variance_units = False
    units = (("penalty", 2), ("objective", 2))

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        problem = _PenalisedProblem(op, k, self.orthogonal, self.uncorrelated * op.total / op.p, self.tol)
        start = starts[0].T
        extra: dict[str, list[bool]] = {}
        if self.penalty is not None:
            penalty = np.array(self.penalty)
            V, n, converged = problem.solve(start, penalty, self.max_iter)
        elif self.card is not None:
            (V, n, converged), penalty, hit = self._at_cards(problem, start, np.array(self.card))
            extra = {"by penalty": [hit] * k}
        else:
            assert self.total is not None
            (V, n, converged), penalty, hit = self._at_total(problem, start, self.total)
            total_hit = int(np.count_nonzero(V)) == self.total
            extra = {"by penalty": [hit] * k, "total hit": [total_hit] * k}
        value = float(np.trace(op.products(V)) - penalty @ np.abs(V).sum(axis=0))
        details = {"penalty": [float(value_of_penalty) for value_of_penalty in penalty], **extra}
        status = "converged" if converged else "max_iter"
        return Solution(V, status, n, value, np.array([value]), details)

    def _at_cards(
        self, problem: _PenalisedProblem, start: np.ndarray, cards: np.ndarray
    ) -> tuple[MultiplierFit, np.ndarray, bool]:
        """Adjust the penalties one after another to meet the cardinalities.

        Returns the fit, its penalties, and whether the penalties alone give the cardinalities.
        """
        highest = float(np.abs(problem.op.dot(start)).max())
        penalty = np.zeros(len(cards))
        fit_at_penalty = problem.solve(start, penalty, self.max_iter)
        best_fit, smallest_miss = (penalty, fit_at_penalty), _missed(fit_at_penalty[0], cards)
        for j in range(len(cards)):
            # the number of nonzeros jumps, so the last penalty may miss by more than an earlier one
            penalty, fit_at_penalty = best_fit[0].copy(), best_fit[1]
            low, high = 0.0, highest
            for _ in range(7):
                nonzeros = int(np.count_nonzero(fit_at_penalty[0][:, j]))
                if nonzeros == cards[j]:
                    break
                low, high = (penalty[j], high) if nonzeros > cards[j] else (low, penalty[j])
                if high == 0.0:  # too few nonzeros even without a penalty
                    break
                penalty[j] = 0.5 * (low + high)
                fit_at_penalty = problem.solve(start, penalty, self.max_iter)
                if (miss := _missed(fit_at_penalty[0], cards)) < smallest_miss:
                    best_fit, smallest_miss = (penalty.copy(), fit_at_penalty), miss
        penalty, (V, n, converged) = best_fit
        V = np.column_stack([hard(V[:, [j]], int(card))[:, 0] for j, card in enumerate(cards)])
        return (V, n, converged), penalty, smallest_miss == 0

    def _at_total(
        self, problem: _PenalisedProblem, start: np.ndarray, total: int
    ) -> tuple[MultiplierFit, np.ndarray, bool]:
        """Find the smallest common penalty that gives `total` nonzeros; return values as in `_at_cards`."""
        k = start.shape[1]
        low, high = 0.0, float(np.abs(problem.op.dot(start)).max())
        V, n, converged = problem.solve(start, np.zeros(k), self.max_iter)
        denser, best_fit = (V, n, converged, 0.0), None
        for _ in range(25 if np.count_nonzero(V) > total else 0):
            middle = 0.5 * (low + high)
            V, n, converged = problem.solve(start, np.full(k, middle), self.max_iter)
            nonzeros = int(np.count_nonzero(V))
            if nonzeros > total:
                low, denser = middle, (V, n, converged, middle)
            else:
                high = middle
                if nonzeros == total:
                    best_fit = V, n, converged, middle
            if high - low <= 1e-2 * high and best_fit is not None:
                break
        V, n, converged, penalty = best_fit or denser
        if np.count_nonzero(V) > total:
            V = unit(np.where(largest_entries(np.abs(V), total)[0], V, 0.0))
        return (V, n, converged), np.full(k, penalty), best_fit is not None


class _PenalisedProblem:
    """The problem for any penalty, scaled by the largest variance of the starting components."""

    def __init__(self, op: Operator, k: int, orthogonal: float, uncorrelated: float, tol: float):
        self.op = op
        self.k = k
        self.tol = tol
        self.off = ~np.eye(k, dtype=bool)
        self.orthogonal, self.uncorrelated = orthogonal, uncorrelated

    def solve(self, start: np.ndarray, penalty: np.ndarray, max_updates: int) -> MultiplierFit:
        """Fit from `start`, with at most `max_updates` updates of the multipliers."""
        k, op = self.k, self.op
        scale = float(np.diag(op.products(start)).max())
        weight = 1.0  # the weight of squared violations, relative to `scale`
        multipliers = np.zeros((2, k, k))
        V = start
        last_value, last_excess = np.inf, np.inf
        for outer in range(1, max_updates + 1):
            V = self._descend(V, penalty / scale, multipliers, weight, scale)
            SV = op.dot(V)
            V_products, S_products = V.T @ V, V.T @ SV
            constraints = self._constraints(V_products, S_products, scale)
            multipliers = _clipped(multipliers + weight * constraints[0], constraints[1], weight)
            excess = float(np.maximum(np.abs(constraints[0]) - constraints[1], 0.0).max(initial=0.0))
            value = float(np.trace(S_products) - penalty @ np.abs(V).sum(axis=0)) / op.total
            if excess <= self.tol and abs(value - last_value) <= self.tol:
                return V, outer, True
            if excess > 0.5 * last_excess:
                weight *= 2.0
            last_value, last_excess = value, excess
        return V, max_updates, False

    def _constraints(self, VV: np.ndarray, SS: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """Return v_i'v_j and v_i'Sv_j / scale for i != j, with zeros on the diagonal, and their bounds."""
        bounds = np.array([self.orthogonal, self.uncorrelated / scale])[:, None, None]
        return np.stack([VV, SS / scale]) * self.off, bounds

    def _smooth(
        self, V: np.ndarray, multipliers: np.ndarray, weight: float, scale: float
    ) -> tuple[float, np.ndarray]:
        """Return the smooth part of the augmented Lagrangian, divided by `scale`, and its gradient."""
        SV = self.op.dot(V) / scale
        values, bounds = self._constraints(V.T @ V, scale * (V.T @ SV), scale)
        pull = _clipped(multipliers + weight * values, bounds, weight)
        value = -float((V * SV).sum()) + 0.25 / weight * float((pull**2).sum())
        return value, -2.0 * SV + V @ pull[0] + SV @ pull[1]

    def _descend(
        self, V: np.ndarray, penalty: np.ndarray, multipliers: np.ndarray, weight: float, scale: float
    ) -> np.ndarray:
        value, slope = self._smooth(V, multipliers, weight, scale)
        recent = [value + float(penalty @ np.abs(V).sum(axis=0))]
        curvature = 2.0
        # at most 100 steps between two updates of the multipliers
        for _ in range(100):
            while True:
                trial = _step(curvature * V - slope, penalty)
                new_value, new_slope = self._smooth(trial, multipliers, weight, scale)
                displacement = trial - V
                distance = float((displacement**2).sum())
                penalised_value = new_value + float(penalty @ np.abs(trial).sum(axis=0))
                if penalised_value <= max(recent) - 1e-4 * curvature * distance or curvature > 1e8:
                    break
                curvature *= 2.0
            V, change = trial, new_slope - slope
            slope = new_slope
            # The nonmonotone line search compares with the last five values
            recent = [*recent[-4:], penalised_value]
            if np.sqrt(distance) <= self.tol or curvature > 1e8:
                break
            curvature = float(np.clip((displacement * change).sum() / distance, 1e-2, 1e6))
        return V


def _clipped(pull: np.ndarray, bounds: np.ndarray, weight: float) -> np.ndarray:
    """Return `pull` (multiplier plus weight times value), soft-thresholded at weight times bound."""
    return np.asarray(np.sign(pull) * np.maximum(np.abs(pull) - weight * bounds, 0.0))


def _step(W: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Return the unit vectors v that maximise w'v - penalty |v|_1, one for each column w of W."""
    W = levelled(W, RELATIVE)
    V = soft_at(W, penalty)
    for j in np.flatnonzero(~V.any(axis=0)):
        i = first_max(np.abs(W[:, j]))
        V[i, j] = 1.0 if W[i, j] >= 0 else -1.0
    return unit(V)


def _missed(V: np.ndarray, cards: np.ndarray) -> int:
    """Return the total deviation from the cardinalities; one nonzero too few counts more than any excess."""
    away = np.count_nonzero(V, axis=0) - cards
    return int(np.where(away < 0, -away * V.size, away).sum())
