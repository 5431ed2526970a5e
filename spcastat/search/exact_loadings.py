"""Loadings on given supports that meet a constraint up to rounding, computed by Newton steps.

The unknowns are the nonzero loadings x of a fit. The constraints h(x) = 0 are v_i'M v_j = 0 for any two
components and v_j'B v_j = 1, where B is S if values are quotients v'SSv / v'Sv, and otherwise the identity;
the columns of J are the gradients of h. Minimum-norm Gauss-Newton steps return to the constraints. Along the
constraints, a step maximises the quadratic model of the Lagrangian, with half the Hessian W = A - sum_j l_j
B_j - sum_{i<j} l_ij M_ij, in the null space of J'. The absolute values of the eigenvalues of W are used, so
that the step ascends.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from spcastat.linalg.eigenvectors import ROUNDING
from spcastat.search.constraints import Constraint
from spcastat.search.objectives import Objective

#: A fit whose largest violation remains above this does not meet the constraints.
NOT_MET = 1e-11
#: The same in rough ascents, which omit the last step because each step squares the error.
ROUGHLY_MET = 1e-8
#: The largest number of steps back to the constraints, from arbitrary loadings and after a step along them.
RETURNS, SHORT_RETURNS = 40, 8
#: The ridge in minimum-norm steps, as a share of the squared length of a constraint's gradient.
LEAST_NORM_RIDGE = 1e-13
#: The smallest eigenvalue in the quadratic model of a step, as a share of the largest.
CURVED = 1e-3
#: An ascent ends if the gradient along the constraints is at most a share SLOPE_SHARE of the gradient, or if
#: the value rises by at most a share RISE.
SLOPE_SHARE, RISE = 1e-12, 1e-13
#: The share of a value that counts as rounding.
VALUE_ROUNDING = 1e-15
#: The multiples of a step that are tried in turn.
LENGTHS = (1.0, 0.4, 0.16, 0.06, 0.02, 0.005, 0.001, 0.0002)
#: A rough ascent ends if the value rises by at most a share ROUGH_RISE, and tries only ROUGH_LENGTHS
#: multiples, which halves the time of a search.
ROUGH_RISE, ROUGH_LENGTHS = 1e-5, 3
#: Loadings below this are zero.
ZERO = 1e-9


class ExactLoadings:
    """Loadings under a constraint, for batches of supports of given cardinalities.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix of total variance one.
    cards : tuple of int
    constraint : Constraint
    objective : Objective
    """

    def __init__(self, S: np.ndarray, cards: tuple[int, ...], constraint: Constraint, objective: Objective):
        self.scale = float(np.diag(S).max())
        self.S = S / self.scale
        self.square = self.S @ self.S if objective.criterion.squares else None
        self.constraint = constraint
        k = self.k = len(cards)
        self.owner = np.repeat(np.arange(k), cards)
        self.parts = [np.flatnonzero(self.owner == i) for i in range(k)]
        self.member = (self.owner[:, None] == np.arange(k)).astype(float)
        self.same_component = (self.owner[:, None] == self.owner).astype(float)
        pairs = np.array(list(combinations(range(k), 2)), dtype=int).reshape(-1, 2)
        self.pair_first, self.pair_second = pairs.T

    @np.errstate(over="ignore", invalid="ignore")  # diverging steps are detected by their errors
    def best_loadings(
        self, places: np.ndarray, x: np.ndarray, steps: int, rough: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the loadings at the ends of ascents from given loadings.

        Parameters
        ----------
        places, x : ndarray of shape (n, N)
            Variables and loadings of the fits, component by component.
        steps : int
            The largest number of steps along the constraints.
        rough : bool
            Whether the ascents may end before the last digits of the value.

        Returns
        -------
        x : ndarray of shape (n, N)
            Loadings, of unit length in each component.
        values : ndarray of shape (n,)
            The objective; minus infinity if no loadings that meet the constraint were found.
        slopes : ndarray of shape (n,)
            The length of the gradient along the constraints, as a share of the length of the gradient.
        """
        problem = Problem(self, places)
        x = problem.with_lengths(x)
        least_rise, lengths = (ROUGH_RISE, LENGTHS[:ROUGH_LENGTHS]) if rough else (RISE, LENGTHS)
        tolerance = ROUGHLY_MET if rough else ROUNDING
        x, met = problem.returned(x, RETURNS, tolerance)
        values = np.where(met, problem.value(x), -np.inf)
        slopes = np.full(len(x), np.inf)
        active = np.flatnonzero(met)
        for _ in range(steps):
            if not active.size:
                break
            sub = problem.subset(active)
            direction, slopes[active] = sub.direction(x[active])
            x[active], risen = sub.searched(x[active], direction, values[active], lengths, tolerance)
            rises = risen > values[active] * (1.0 + least_rise)
            values[active] = risen
            active = active[rises & (slopes[active] > SLOPE_SHARE)]
        x = np.where(np.abs(x) < ZERO, 0.0, x)
        sizes = np.sqrt(x**2 @ self.member)
        x = x / np.where(sizes > 0, sizes, 1.0)[:, self.owner]
        cosines = problem.violations(x)[:, : len(self.pair_first)]
        met = (sizes > 0).all(axis=1) & (cosines <= max(tolerance, NOT_MET)).all(axis=1)
        return x, np.where(met, values * self.scale, -np.inf), slopes


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """Derivatives of half the value minus multipliers times constraints, at the loadings of n fits.

    Attributes
    ----------
    gradient, slope : ndarray of shape (n, N)
        Half the gradient of the value, and its component along the constraints.
    J : ndarray of shape (n, N, q)
        The gradients of the constraints.
    W : ndarray of shape (n, N, N)
        Second derivatives.
    of_pairs : ndarray of shape (n, k, k)
        The multipliers of v_i'M v_j, with zeros on the diagonal.
    of_squares : ndarray of shape (n, k)
        Twice the multipliers of v_j'B v_j.
    """

    gradient: np.ndarray
    slope: np.ndarray
    J: np.ndarray
    W: np.ndarray
    of_pairs: np.ndarray
    of_squares: np.ndarray


class Problem:
    """The blocks of the matrices at the places of n fits, each of shape (n, N, N)."""

    def __init__(self, loadings: ExactLoadings, places: np.ndarray):
        self.loadings = loadings
        blocks = places[:, :, None], places[:, None, :]
        S = loadings.S[blocks]
        self.M = S if loadings.constraint.of_scores else (blocks[0] == blocks[1]).astype(float)
        self.A = (S if loadings.square is None else loadings.square[blocks]) * loadings.same_component
        #: None for the identity.
        self.B = None if loadings.square is None else S * loadings.same_component

    def subset(self, indices: np.ndarray) -> Problem:
        subset = object.__new__(Problem)
        subset.loadings = self.loadings
        subset.M, subset.A = self.M[indices], self.A[indices]
        subset.B = None if self.B is None else self.B[indices]
        return subset

    def value(self, x: np.ndarray) -> np.ndarray:
        return np.asarray((x * _times(self.A, x)).sum(axis=1))

    def with_lengths(self, x: np.ndarray) -> np.ndarray:
        """Return loadings with v_j'B v_j = 1."""
        squares = (x * self.B_times(x)) @ self.loadings.member
        return x / np.sqrt(np.maximum(squares, np.finfo(float).tiny))[:, self.loadings.owner]

    def B_times(self, x: np.ndarray) -> np.ndarray:
        return x if self.B is None else _times(self.B, x)

    def violations(self, x: np.ndarray) -> np.ndarray:
        """Return the cosines of pairs, and the errors of squared lengths, in absolute value."""
        return _PairProducts(self, x).violations()

    def returned(self, x: np.ndarray, returns: int, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
        """Return loadings near x, and a mask of the fits in which they meet the constraints.

        No further step is taken once violations are at most `tolerance`.
        """
        x, products = x.copy(), _PairProducts(self, x)
        largest = products.violations().max(axis=1, initial=0.0)
        active = np.flatnonzero(largest > tolerance)
        sub, products = self.subset(active), products.subset(active)
        for _ in range(returns):
            if not active.size:
                break
            J = products.jacobian()
            trial = x[active] - _times(J, _solved(J, products.constraints()[:, :, None])[:, :, 0])
            trial_products = _PairProducts(sub, trial)
            errors = trial_products.violations().max(axis=1)
            # the error is down to rounding if it meets the constraints and no longer decreases
            is_final = (errors <= tolerance) | (largest[active] <= NOT_MET) & (errors > 0.5 * largest[active])
            lower = (errors <= largest[active]) | (largest[active] > NOT_MET)
            x[active[lower]], largest[active[lower]] = trial[lower], errors[lower]
            wild = ~np.isfinite(errors) | (np.abs(trial).max(axis=1) > 1e6)
            largest[active[wild]] = np.inf
            unfinished = np.flatnonzero(~is_final & ~wild)
            if len(unfinished) < len(active):
                sub = sub.subset(unfinished)
            active, products = active[unfinished], trial_products.subset(unfinished)
        return x, largest <= max(tolerance, NOT_MET)

    def lagrangian(self, x: np.ndarray) -> Lagrangian:
        """Return the derivatives of the Lagrangian at n loadings, shape (n, N)."""
        loadings = self.loadings
        gradient, q = _times(self.A, x), len(loadings.pair_first)
        J = _PairProducts(self, x).jacobian()
        multipliers = _solved(J, _times(J.mT, gradient)[:, :, None])[:, :, 0]
        weights = np.zeros((len(x), loadings.k, loadings.k))
        weights[:, loadings.pair_first, loadings.pair_second] = multipliers[:, :q]
        weights = weights + weights.mT
        W = self.A - self.M * weights[:, loadings.owner][:, :, loadings.owner]
        of_squares = 2.0 * multipliers[:, q:]
        squares = of_squares[:, loadings.owner]
        if self.B is None:
            diagonal = np.arange(x.shape[1])
            W[:, diagonal, diagonal] -= squares
        else:
            W = W - self.B * squares[:, :, None]
        return Lagrangian(gradient, gradient - _times(J, multipliers), J, _symmetric(W), weights, of_squares)

    def direction(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the steps of the quadratic model, and the gradient's share along the constraints."""
        lagrangian = self.lagrangian(x)
        gradient, slope, J, W = lagrangian.gradient, lagrangian.slope, lagrangian.J, lagrangian.W
        P = np.eye(x.shape[1]) - J @ _solved(J, J.mT)
        values, vectors = np.linalg.eigh(_symmetric(P @ W @ P))
        sizes = np.abs(values)
        sizes = np.maximum(sizes, CURVED * sizes.max(axis=1, keepdims=True) + np.finfo(float).tiny)
        step = _times(vectors, _times(vectors.mT, slope) / sizes)
        lengths = np.linalg.norm(gradient, axis=1)
        return _times(P, step), np.linalg.norm(slope, axis=1) / np.where(lengths > 0, lengths, 1.0)

    def searched(
        self,
        x: np.ndarray,
        direction: np.ndarray,
        values: np.ndarray,
        lengths: tuple[float, ...],
        tolerance: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the first better loadings among the multiples of the step, and their values."""
        x, values = x.copy(), values.copy()
        open_fits = np.arange(len(x))
        for length in lengths:
            sub = self.subset(open_fits)
            trial, met = sub.returned(x[open_fits] + length * direction[open_fits], SHORT_RETURNS, tolerance)
            trial_values = np.where(met, sub.value(trial), -np.inf)
            # a last step whose gain is lost in rounding still reduces the gradient
            is_higher = trial_values > values[open_fits] * (1.0 - VALUE_ROUNDING)
            at = open_fits[is_higher]
            x[at], values[at] = trial[is_higher], trial_values[is_higher]
            open_fits = open_fits[~is_higher]
            if not open_fits.size:
                break
        return x, values


class _PairProducts:
    """The products in the constraints at the loadings of n fits: MV, Bx, v_i'M v_j and v_j'B v_j.

    Parameters
    ----------
    problem : Problem
    x : ndarray of shape (n, N)
    """

    def __init__(self, problem: Problem, x: np.ndarray):
        self.loadings = problem.loadings
        V = x[:, :, None] * self.loadings.member
        self.MV, self.Bx = problem.M @ V, problem.B_times(x)
        self.of_pairs = V.mT @ self.MV
        self.squares = (x * self.Bx) @ self.loadings.member

    def subset(self, indices: np.ndarray) -> _PairProducts:
        subset = object.__new__(_PairProducts)
        subset.loadings = self.loadings
        subset.MV, subset.Bx = self.MV[indices], self.Bx[indices]
        subset.of_pairs, subset.squares = self.of_pairs[indices], self.squares[indices]
        return subset

    def violations(self) -> np.ndarray:
        """Return the cosines of pairs, and the errors of squared lengths, in absolute value."""
        lengths = np.sqrt(np.maximum(np.einsum("bii->bi", self.of_pairs), np.finfo(float).tiny))
        i, j = self.loadings.pair_first, self.loadings.pair_second
        cosines = self.of_pairs[:, i, j] / (lengths[:, i] * lengths[:, j])
        return np.abs(np.concatenate([cosines, self.squares - 1.0], axis=1))

    def constraints(self) -> np.ndarray:
        """Return h, shape (n, q)."""
        i, j = self.loadings.pair_first, self.loadings.pair_second
        return np.concatenate([self.of_pairs[:, i, j], self.squares - 1.0], axis=1)

    def jacobian(self) -> np.ndarray:
        """Return the gradients of h, shape (n, N, q)."""
        member, i, j = self.loadings.member, self.loadings.pair_first, self.loadings.pair_second
        pairs = member[:, i] * self.MV[:, :, j] + member[:, j] * self.MV[:, :, i]
        return np.concatenate([pairs, 2.0 * self.Bx[:, :, None] * member], axis=2)


def _times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the products of n matrices with n vectors."""
    return np.asarray((A @ x[:, :, None])[:, :, 0])


def _symmetric(A: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * (A + A.mT))


def _solved(J: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Return Y with J'J Y = H, shape (n, q, r), for J of shape (n, N, q), with columns of unit length.

    A ridge replaces the pseudoinverse if constraints are dependent.
    """
    lengths = np.sqrt((J**2).sum(axis=1))
    sizes = np.where(lengths > 0, lengths, 1.0)[:, :, None]
    unit = J / sizes.mT
    products = unit.mT @ unit + LEAST_NORM_RIDGE * np.eye(J.shape[2])
    return np.asarray(np.linalg.solve(products, H / sizes) / sizes)
