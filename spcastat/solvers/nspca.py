"""Nonnegative sparse PCA by coordinate ascent.

Zass and Shashua (2007), "Nonnegative sparse PCA", Advances in Neural Information Processing Systems 19:
Algorithm 1, where each coordinate is set to the best root of its cubic equation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spcastat.errors import OptionError
from spcastat.linalg.accumulate import blocks
from spcastat.linalg.eigenvectors import ENTRY_TOLERANCE, better_signs, first_max, ranked, top, unit
from spcastat.linalg.operators import Operator
from spcastat.linalg.regression import Columns
from spcastat.solvers.solver import JointSolver, Solution

#: Tolerance for a fit that is truncated to a cardinality afterwards.
ROUGH = 1e-6


@dataclass(frozen=True)
class NSPCA(JointSolver):
    """max tr(V'SV) / 2 - orthonormality / 4 |I - V'V|_F^2 - penalty 1'V 1 over nonnegative V, p x k.

    Unit length and orthogonality are enforced only by the penalty `orthonormality` (the paper's alpha); the
    columns are scaled to unit length at the end. Orthogonal nonnegative vectors share no variable, so a large
    value makes the components disjoint, and a small one lets them overlap.

    Attributes
    ----------
    card : tuple of int or None
        The largest number of nonzeros of each component: the fit without a penalty is truncated to the
        largest loadings of each component and continued on these supports. A component with fewer nonzeros
        may use variables that other components dropped. If nonnegative loadings of these variables would
        reduce the criterion, it keeps fewer nonzeros, and "card hit" is false.
    penalty : tuple of float or None
        The paper's beta, for each component, in units of a variance; with 0, sparsity is due only to
        `orthonormality`.
    orthonormality : float
        Penalty on V'V - I, in units of the largest eigenvalue of S.
    tol : float
        Converged when a sweep over all variables changes no loading by more than this.
    max_iter : int
        The largest number of sweeps.
    """

    card: tuple[int, ...] | None = None
    penalty: tuple[float, ...] | None = None
    orthonormality: float = 1.0
    tol: float = 1e-7
    max_iter: int = 2000

    criterion = "tr(V'SV) / 2 - orthonormality |I - V'V|^2 / 4 - penalty 1'V1"
    in_variance_units = False
    units = (("penalty", 2), ("objective", 2))
    uses_starts = True

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        size = float(op.leading(1)[0][0])
        alpha = self.orthonormality * size
        beta = np.array(self.penalty) if self.penalty is not None else np.zeros(k)
        ascent = _NonnegativeAscent(op, alpha, beta, self.tol, self.max_iter)
        runs = [self._run(ascent, start.T) for start in starts]
        values = np.array([run[3] for run in runs])
        best_index = first_max(values - values.min())
        V, n, converged, value = runs[best_index]
        empty = np.flatnonzero(~V.any(axis=0))
        if empty.size:
            raise OptionError(
                f"penalty={beta[empty[0]] * op.unit**2:g} leaves no nonzero loading in component "
                f"{empty[0] + 1}; give a value below {size * op.unit**2:g}, the largest eigenvalue, for this "
                "component (with this orthonormality usually a much smaller one)."
            )
        details: dict[str, list[object]] = {"penalty": [float(value_of_penalty) for value_of_penalty in beta]}
        return Solution(unit(V), "converged" if converged else "max_iter", n, value, values, details)

    def _run(self, ascent: _NonnegativeAscent, start: np.ndarray) -> tuple[np.ndarray, int, bool, float]:
        # The ascent depends on the order of the variables, so it uses an order that does not depend on the
        # order of the columns.
        order = ranked(np.linalg.norm(start, axis=1))
        runs = []
        for direction in (order, order[::-1]):
            ascent.order = direction
            runs.append(self._climbed(ascent, start))
            if self.card is None or (np.count_nonzero(runs[-1][0], axis=0) >= self.card).all():
                break
        nonzeros = np.array([np.count_nonzero(run[0]) for run in runs])
        longest_runs = [
            run for run, is_longest in zip(runs, nonzeros == nonzeros.max(), strict=True) if is_longest
        ]
        return longest_runs[first_max(np.array([run[3] for run in longest_runs]))]

    def _climbed(self, ascent: _NonnegativeAscent, start: np.ndarray) -> tuple[np.ndarray, int, bool, float]:
        rough = 0.0 if self.card is None or min(self.card) >= len(start) else ROUGH
        V, n, converged = ascent.climb(
            unit(np.maximum(better_signs(start, 0) * start, 0.0)), np.ones(start.shape, dtype=bool), rough
        )
        if self.card is None:
            return V, n, converged, ascent.value(V)
        cards, short = np.array(self.card), np.zeros(len(self.card), dtype=bool)
        # at most ten times, components with too few nonzeros may use variables that others dropped
        for _ in range(10):
            membership = _largest(V, self.card)
            previous_short, short = short, np.count_nonzero(membership, axis=0) < cards
            if not short.any() or (previous_short & ~short).sum() == 0 < previous_short.sum():
                break
            # components with too few nonzeros may use all variables
            V, sweeps, _ = ascent.climb(np.where(membership, V, 0.0), membership | short, rough)
            n += sweeps
        membership = _largest(V, self.card)
        V, sweeps, converged = ascent.climb(np.where(membership, V, 0.0), membership, 0.0)
        return V, n + sweeps, converged, ascent.value(V)


class _NonnegativeAscent:
    """Coordinate ascent: each coordinate maximises a quartic polynomial over the nonnegative numbers."""

    def __init__(self, op: Operator, alpha: float, beta: np.ndarray, tol: float, max_iter: int):
        self.op, self.alpha, self.beta, self.tol, self.max_iter = op, alpha, beta, tol, max_iter
        self.columns = Columns(op.columns, op.p)
        self.variances = op.diagonal()
        self.order = np.arange(op.p)  # the order of the variables in a sweep

    def value(self, V: np.ndarray) -> float:
        """Return the criterion."""
        away = np.eye(V.shape[1]) - V.T @ V
        products = self.op.products(V)
        return float(
            0.5 * np.trace(products) - 0.25 * self.alpha * (away**2).sum() - self.beta @ V.sum(axis=0)
        )

    def climb(self, V: np.ndarray, membership: np.ndarray, rough: float) -> tuple[np.ndarray, int, bool]:
        """Sweep over the coordinates in `membership` until none changes by more than `rough` or `tol`.

        Only every tenth sweep includes variables without a nonzero loading.
        """
        V = V.copy()
        tol = max(rough, self.tol)
        reach = self.order[membership[self.order].any(axis=1)]
        places = {r: np.flatnonzero(membership[r]).tolist() for r in reach.tolist()}
        for sweep in range(1, self.max_iter + 1):
            full = sweep % 10 == 1
            rows = reach if full else reach[V[reach].any(axis=1)]
            G = np.ascontiguousarray(self.op.dot(V).T)
            C = V.T @ V
            change = 0.0
            for batch in blocks(rows.size, self.op.p):
                part = rows[batch]
                # for up to 4000 variables the columns of S are cached
                columns = self.columns.rows(part) if self.op.p <= 4000 else self.op.columns(part).T
                for r, column in zip(part.tolist(), columns, strict=True):
                    change = max(change, self._row(V[r], G, C, r, column, places[r]))
            if change <= tol and (full or rows.size == reach.size):
                return V, sweep, True
        return V, self.max_iter, False

    def _row(
        self, v: np.ndarray, G: np.ndarray, C: np.ndarray, r: int, column: np.ndarray, places: list[int]
    ) -> float:
        """Update the loadings v of variable r in place; return the largest change."""
        alpha, variance, largest = self.alpha, float(self.variances[r]), 0.0
        for s in places:
            previous_value = float(v[s])
            # the quartic -alpha/4 x^4 + c2/2 x^2 + c1 x in x = v_rs, given all other loadings
            diagonal = float(C[s, s])
            other_squares = float(v @ v) - previous_value * previous_value
            c2 = variance + alpha * (1.0 - (diagonal - previous_value * previous_value) - other_squares)
            cross = float(C[s] @ v) - diagonal * previous_value - previous_value * other_squares
            c1 = float(G[s, r]) - variance * previous_value - alpha * cross - float(self.beta[s])
            # smaller slopes are rounding errors, and the cube root of a rounding error is not small
            threshold = 1e-13 * (variance + alpha)
            new_value = best_root(
                alpha, c2 if abs(c2) > threshold else 0.0, c1 if abs(c1) > threshold else 0.0
            )
            if new_value != previous_value:
                step = new_value - previous_value
                C[s] += step * v
                C[:, s] = C[s]
                C[s, s] = diagonal + step * (2.0 * previous_value + step)
                v[s] = new_value
                G[s] += step * column
                largest = max(largest, abs(step))
        return largest


def _largest(V: np.ndarray, card: tuple[int, ...]) -> np.ndarray:
    """Mark the `card` largest positive loadings of every column, or all if there are fewer.

    Loadings that differ by less than the accuracy of the ascent are ties, of which the first are marked.
    """
    size = V / np.maximum(V.max(axis=0), np.finfo(float).tiny)
    marks = [top(column, count, 10.0 * ROUGH) for column, count in zip(size.T, card, strict=True)]
    return np.column_stack(marks) & (size > ENTRY_TOLERANCE)


def best_root(alpha: float, c2: float, c1: float) -> float:
    """Return the x >= 0 that maximises -alpha/4 x^4 + c2/2 x^2 + c1 x."""
    if c2 <= 0.0 and c1 <= 0.0:
        return 0.0
    # x^3 + q x + d = 0
    q, d = -c2 / alpha, -c1 / alpha
    half, third = 0.5 * d, q / 3.0
    discriminant = half * half + third**3
    if discriminant > 0.0:
        root = math.sqrt(discriminant)
        x = math.cbrt(-half - root) if half > 0 else math.cbrt(-half + root)
        x = x - third / x if x != 0.0 else 0.0
    else:  # three real roots: the largest (rounding may have made all of them zero)
        size = math.sqrt(max(-third, 0.0))
        cube = size**3
        x = 2.0 * size * math.cos(math.acos(max(-1.0, min(1.0, -half / cube))) / 3.0) if cube > 0.0 else size
    if x <= 0.0:
        return 0.0
    slope = 3.0 * x * x + q
    if slope != 0.0:
        x -= (x**3 + q * x + d) / slope
    return x if x > 0.0 and x * x * (0.5 * c2 - 0.25 * alpha * x * x) + c1 * x > 0.0 else 0.0
