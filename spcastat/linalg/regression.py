"""Regression: least squares on covariates, and the elastic net.

The elastic net minimises w'(S + ridge I)w / 2 - b'w + penalty |w|_1 over w for all penalties, from the
largest downwards, by LARS-EN (Zou and Hastie 2005) with the lasso's rule for variables that leave the model.
Only the columns of S that belong to variables in the model are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import compress
from typing import Annotated

import numpy as np

from spcastat.arguments import listed
from spcastat.errors import ConstantColumnError
from spcastat.linalg.accumulate import weights_or_ones
from spcastat.linalg.eigenvectors import (
    RELATIVE,
    ROUNDING,
    SUM_ROUNDING,
    column_sizes,
    factors_of,
    first_max,
    levelled,
    symmetric,
    tie_width,
)

# --- least squares on covariates ------------------------------------------------------------------


#: Largest number of groups for which a rank shows whether covariates other than indicators determine them.
RANKED_GROUPS = 500


@dataclass(frozen=True, eq=False)
class Regression:
    """Regression of p variables on q covariates, with an intercept.

    Attributes
    ----------
    mean : ndarray of shape (q,)
        The means of the covariates.
    coefficients : ndarray of shape (q, p)
        Coefficients of the covariates; if covariates are collinear, those with the smallest norm.
    shares : ndarray of shape (p,)
        The share of the variance of each variable that the covariates explain; 1 only for variables that the
        covariates determine, in a part of the rows.
    rank : int
        The rank of the covariates: the degrees of freedom that they use.
    """

    mean: Annotated[np.ndarray, "f q"]
    coefficients: Annotated[np.ndarray, "f q p"]
    shares: Annotated[np.ndarray, "f p"]
    rank: int

    def residuals(self, Y: np.ndarray, Z: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Return the residuals of Y, shape (n, p), on Z, shape (n, q), plus the means of Y.

        Residuals are NaN if the variable or any of the covariates is missing. If Y contains only the
        variables at the positions `columns`, their residuals are the same to the last bit.
        """
        fitted = (np.ascontiguousarray(Z, dtype=float) - self.mean) @ self.coefficients
        out: np.ndarray = Y - (fitted if columns is None else fitted[:, columns])
        return out


def regress(
    Y: np.ndarray,
    Z: np.ndarray,
    weights: np.ndarray | None,
    names: Iterable[object],
    *,
    part: bool = False,
) -> Regression:
    """Regress the columns of Y on the columns of Z, by weighted least squares.

    Parameters
    ----------
    Y : ndarray of shape (n, p)
    Z : ndarray of shape (n, q)
    weights : ndarray of shape (n,) or None
        Frequency weights.
    names : iterable of length p
        The names of the variables, for messages.
    part : bool
        Whether these are a part of the rows of a fit. Variables that the covariates determine in this part
        have residuals of zero.

    Raises
    ------
    ConstantColumnError
        If the covariates determine a variable in all rows.
    """
    w = weights_or_ones(weights, len(Y))
    share = w / w.sum()
    root = np.sqrt(share)[:, None]
    largest = column_sizes(Y)  # so that squares stay within the range of floating-point numbers
    scaled = Y / largest
    about = root * (scaled - share @ scaled)
    size = np.linalg.norm(root * scaled, axis=0)
    mean = share @ Z
    centred = root * (Z - mean)
    spread = column_sizes(centred)
    U, values, T = factors_of(centred / spread)
    B = (T.T / values) @ (U.T @ about)
    total_norms = np.linalg.norm(about, axis=0)
    varies = total_norms > SUM_ROUNDING * size
    B[:, ~varies] = 0.0
    residual_norms = np.linalg.norm(about - (centred / spread) @ B, axis=0)
    determined = (residual_norms <= SUM_ROUNDING * size) & varies
    if not part:
        _require_left(determined, names)
    shares = 1.0 - (residual_norms / np.where(varies, total_norms, 1.0)) ** 2
    shares = np.where(determined, 1.0, np.where(varies, shares.clip(0.0, np.nextafter(1.0, 0.0)), 0.0))
    return Regression(mean, B / spread[:, None] * largest, shares, len(values))


def centred_within(X: np.ndarray, groups: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return rows minus the weighted means of their groups; columns constant in all groups become zero.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    groups : ndarray of int, shape (n,)
        The number of the group of each row.
    weights : ndarray of shape (n,) or None
    """
    w = weights_or_ones(weights, len(X))
    number = np.unique(groups, return_inverse=True)[1]
    count = np.bincount(number, weights=w)
    sizes = column_sizes(X)
    scaled = np.asarray(X, dtype=float) / sizes
    sums = np.zeros((len(count), X.shape[1]))
    np.add.at(sums, number, scaled * w[:, None])
    out = scaled - (sums / np.where(count > 0, count, 1.0)[:, None])[number]
    out[:, np.abs(out).max(axis=0) <= SUM_ROUNDING] = 0.0
    return np.asarray(out * sizes)


def are_within(Z: np.ndarray, groups: np.ndarray) -> bool:
    """Return whether regression on Z, with an intercept, subtracts the mean of every group.

    It does so if Z spans the indicators of the groups, as the indicators of a factor do.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
    groups : ndarray of int, shape (n,)
    """
    _, first_rows, number = np.unique(groups, return_index=True, return_inverse=True)
    constant = (Z[first_rows[number]] == Z).all(axis=0)
    at = Z[first_rows][:, constant]
    is_single = at[:, (at != 0).sum(axis=0) == 1]
    if (is_single != 0).any(axis=1).sum() >= len(first_rows) - 1:
        return True
    if at.shape[1] < len(first_rows) - 1 or len(first_rows) > RANKED_GROUPS:
        return False
    return int(np.linalg.matrix_rank(np.column_stack([np.ones(len(at)), at]))) == len(first_rows)


def factor_of(Z: np.ndarray) -> np.ndarray | None:
    """Return the number of the level of each row, shape (n,), if Z contains the indicators of one factor.

    The columns that contain only zeros and ones are taken as the indicators. The result is None if they are
    not the indicators of one factor.
    """
    binary = ((Z == 0) | (Z == 1)).all(axis=0)
    indicators = Z[:, binary]
    if not (indicators.shape[1] and (indicators.sum(axis=1) == 1).all()):
        return None
    return np.asarray(indicators.argmax(axis=1))


def partial_covariance(
    S: np.ndarray, given: np.ndarray, names: Iterable[object]
) -> tuple[np.ndarray, Regression]:
    """Return the covariance matrix of the residuals of all other variables on the given ones.

    The matrix is S_yy - S_yz S_zz^+ S_zy. For a correlation matrix, it is scaled to partial correlations.

    Parameters
    ----------
    S : ndarray of shape (p + q, p + q)
    given : ndarray of int, shape (q,)
        The indices of the covariates.
    names : iterable of length p + q

    Returns
    -------
    left : ndarray of shape (p, p)
    found : Regression

    Raises
    ------
    ConstantColumnError
        If the covariates determine a variable.
    """
    complement = np.setdiff1d(np.arange(len(S)), given)
    spread = np.where(np.diag(S) > 0.0, np.sqrt(np.diag(S).clip(0.0)), 1.0)
    R = S / np.outer(spread, spread)
    values, vectors = np.linalg.eigh(R[np.ix_(given, given)])
    rank_mask = values > max(values[-1], 0.0) * len(given) * np.finfo(float).eps
    B = (vectors[:, rank_mask] / values[rank_mask]) @ (vectors[:, rank_mask].T @ R[np.ix_(given, complement)])
    residual = symmetric(R[np.ix_(complement, complement)] - R[np.ix_(complement, given)] @ B)
    shares = np.where(np.diag(R)[complement] > 0.0, 1.0 - np.diag(residual), 0.0)
    _require_left(shares >= 1.0 - SUM_ROUNDING, np.array(list(names), dtype=object)[complement])
    scales = spread[complement]
    if (np.diag(S) == 1.0).all():
        scales = 1.0 / np.sqrt(np.diag(residual))
    coefficients = B * spread[complement] / spread[given][:, None]
    regression = Regression(np.zeros(len(given)), coefficients, shares.clip(0.0), int(rank_mask.sum()))
    return residual * np.outer(scales, scales), regression


def _require_left(empty: np.ndarray, names: Iterable[object]) -> None:
    """Raise ConstantColumnError for variables that the covariates determine."""
    if empty.any():
        determined = list(compress(names, empty))
        raise ConstantColumnError(
            f"The covariates determine {listed(determined)}: no residual variance is left for "
            f"{'it' if len(determined) == 1 else 'them'}. Leave such variables, or covariates, out."
        )


# --- the elastic net ------------------------------------------------------------------------------


class Columns:
    """A cache of the columns of S.

    Parameters
    ----------
    fetch : callable
        Returns S[:, J], shape (p, len(J)), for an index array J.
    p : int
        The number of variables.
    """

    def __init__(self, fetch: Callable[[np.ndarray], np.ndarray], p: int):
        self.p = p
        self._fetch = fetch
        self._place = np.full(p, -1)
        self._cached_rows = np.empty((0, p))
        self._used = 0

    def rows(self, J: np.ndarray) -> np.ndarray:
        """Return S[J], shape (len(J), p)."""
        missing = J[self._place[J] < 0]
        if missing.size:
            if self._used + missing.size > len(self._cached_rows):
                room = np.empty((min(self.p, 2 * (self._used + missing.size)), self.p))
                room[: self._used] = self._cached_rows[: self._used]
                self._cached_rows = room
            self._cached_rows[self._used : self._used + missing.size] = self._fetch(missing).T
            self._place[missing] = np.arange(self._used, self._used + missing.size)
            self._used += missing.size
        return self._cached_rows[self._place[J]]


class _LassoActiveSet:
    """The variables in the model, their signs, and the Cholesky factor of their block of S + ridge I."""

    def __init__(self, columns: Columns, ridge: float):
        self.columns = columns
        self.ridge = ridge
        self.active = np.empty(0, dtype=int)
        self.signs = np.empty(0)
        self.rows = np.empty((8, columns.p))
        self.factor = np.empty((8, 8))

    def add(self, j: int, sign: float) -> bool:
        """Add variable `j`; if it is collinear with variables in the model, return False and add nothing."""
        m = self.active.size
        row, border, pivot = self._bordered(j)
        if self._is_rounding(pivot, row[j]):
            return False
        if m == len(self.rows):
            self.rows = np.vstack([self.rows, np.empty_like(self.rows)])
            factor = np.empty((2 * m, 2 * m))
            factor[:m, :m] = self.factor
            self.factor = factor
        self.rows[m] = row
        self.factor[m, :m] = border
        self.factor[:m, m] = 0.0
        self.factor[m, m] = np.sqrt(pivot)
        self.active = np.append(self.active, j)
        self.signs = np.append(self.signs, sign)
        return True

    def determines(self, j: int) -> bool:
        """Return whether variable `j` is collinear with variables in the model."""
        row, _, pivot = self._bordered(j)
        return self._is_rounding(pivot, row[j])

    def _bordered(self, j: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Return row `j` of S, and the row and the pivot that the variable adds to the Cholesky factor."""
        m = self.active.size
        row = self.columns.rows(np.array([j]))[0]
        border = np.empty(0)
        if m:
            from scipy.linalg import solve_triangular

            border = solve_triangular(self.factor[:m, :m], row[self.active], lower=True)
        return row, border, float(row[j] + self.ridge - border @ border)

    def _is_rounding(self, pivot: float, diagonal: float) -> bool:
        """Return whether a pivot is below 1e-11 of its diagonal entry, as for a collinear variable."""
        return pivot <= 1e-11 * (diagonal + self.ridge)

    def remove(self, position: int) -> None:
        m = self.active.size - 1
        self.rows[position:m] = self.rows[position + 1 : m + 1].copy()
        self.active = np.delete(self.active, position)
        self.signs = np.delete(self.signs, position)
        block = self.rows[:m, self.active] + self.ridge * np.eye(m)
        self.factor[:m, :m] = np.linalg.cholesky(block)

    def solve(self, right: np.ndarray) -> np.ndarray:
        m = self.active.size
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve((self.factor[:m, :m], True), right))


def path(  # noqa: C901  the steps of one algorithm, coordinates and tests
    columns: Columns, b: np.ndarray, ridge: float, *, penalty: float = 0.0, card: int | None = None
) -> tuple[np.ndarray, float]:
    """Follow the path of solutions down to a given penalty or a given number of variables.

    Parameters
    ----------
    columns : Columns
    b : ndarray of shape (p,)
    ridge : float
        Added to the diagonal of S. With 0, variables that are collinear with the model do not enter it.
    penalty : float
        The penalty at which to stop.
    card : int or None
        Stop earlier, just before the (card + 1)-th variable would enter the model.

    Returns
    -------
    w : ndarray of shape (p,)
        The solution; zeros if the penalty is too large for any variable to enter.
    penalty : float
        The penalty at which the path was stopped.
    """
    p = b.size
    w = np.zeros(p)
    c = levelled(b[:, None].astype(float), RELATIVE)[:, 0]
    level = largest = float(np.abs(c).max())
    if level <= penalty:
        return w, penalty
    rounding = ROUNDING * level
    model = _LassoActiveSet(columns, ridge)
    barred = np.zeros(p, dtype=bool)
    candidate_mask = np.ones(p, dtype=bool)
    entering: int | None = first_max(np.abs(c))
    gone: int | None = None
    for _ in range(20 * p + 100):
        if entering is not None:
            candidate_mask[entering] = False
            if not model.add(entering, np.sign(c[entering])):
                barred[entering] = True
        if model.active.size == 0:
            break
        slope = model.solve(model.signs)
        drift = slope @ model.rows[: model.active.size]  # S[:, active] slope
        step, entering, leaving = level - penalty, None, None
        free = np.flatnonzero(candidate_mask)
        if free.size:
            gap = _entry(c[free], drift[free], level, free == gone, rounding)
            first_gap = gap.min()
            # Below a millionth of the first penalty no variable enters: rounding, or a small ridge, would
            # decide which one.
            if first_gap < step and level - first_gap > 1e-6 * largest:
                step = first_gap
                entering = int(free[np.argmax(gap <= first_gap + RELATIVE * level)])
        active = model.active
        with np.errstate(divide="ignore", invalid="ignore"):
            until_zero = -w[active] / slope
        until_zero[~(until_zero > RELATIVE * largest)] = np.inf  # a variable that has just entered with a tie
        if until_zero.min() < step:
            step, entering, leaving = float(until_zero.min()), None, int(np.argmin(until_zero))
        if card is not None and active.size == card and entering is not None:
            # A collinear variable keeps the same correlation as the variables in the model, so that rounding
            # alone decides when it would enter; of tied variables the one in the model has the lower index.
            if step <= tie_width(np.array(level), np.array(level)) or model.determines(entering):
                candidate_mask[entering] = False
                barred[entering] = True
                entering = None
                continue
            w[active] += step * slope
            return w, level - step
        w[active] += step * slope
        level -= step
        c -= step * drift
        gone = None
        if leaving is not None:
            gone = int(active[leaving])
            w[gone] = 0.0
            model.remove(leaving)
            candidate_mask[gone] = True
            candidate_mask |= barred
            barred[:] = False
        elif entering is None:
            break
    return w, level


def _entry(c: np.ndarray, drift: np.ndarray, level: float, gone: np.ndarray, rounding: float) -> np.ndarray:
    """Return, for each variable outside the model, by how much the penalty can fall before it enters.

    Parameters
    ----------
    c, drift : ndarray of shape (q,)
        Correlations of the variables with the residual, and how fast they fall with the penalty.
    level : float
        The current penalty.
    gone : ndarray of bool, shape (q,)
        Marks the variable that has just left.
    rounding : float
        Size of rounding errors in c.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        up = (level - c) / (1.0 - drift)
        down = (level + c) / (1.0 + drift)
    up[(drift >= 1.0) | np.isnan(up)] = np.inf
    down[(drift <= -1.0) | np.isnan(down)] = np.inf
    gap = np.maximum(np.minimum(up, down), 0.0)
    # The correlation of the variable that has just left equals one of its bounds, plus or minus the penalty:
    # it can reach the other bound, or this one again later.
    late = np.stack([up[gone], down[gone]])
    late[late <= 1e3 * rounding] = np.inf
    gap[gone] = late.min(axis=0)
    return gap


def elastic_net(
    columns: Columns,
    b: np.ndarray,
    ridge: float,
    previous: np.ndarray,
    *,
    penalty: float = 0.0,
    card: int | None = None,
) -> tuple[np.ndarray, float]:
    """Return the result of `path`, faster if the solution has the support and signs of `previous`.

    `previous`, shape (p,), is the solution of a similar problem.
    """
    active = np.flatnonzero(previous)
    if active.size and (card is None or active.size == card):
        solution = _same_support(columns, b, ridge, active, np.sign(previous[active]), penalty, card)
        if solution is not None:
            return solution
    return path(columns, b, ridge, penalty=penalty, card=card)


def _same_support(
    columns: Columns,
    b: np.ndarray,
    ridge: float,
    active: np.ndarray,
    signs: np.ndarray,
    penalty: float,
    card: int | None,
) -> tuple[np.ndarray, float] | None:
    """Return the solution with the given support and signs, and its penalty; None if it is not optimal."""
    rows = columns.rows(active)
    block = rows[:, active] + ridge * np.eye(active.size)
    try:
        solutions = np.linalg.solve(block, np.column_stack([b[active], signs]))
    except np.linalg.LinAlgError:
        return None
    # with the penalty x, correlations are c + x * drift
    c, drift = b - solutions[:, 0] @ rows, solutions[:, 1] @ rows
    c[active] = drift[active] = 0.0
    level = penalty
    if card is not None and active.size < b.size:
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = np.stack([c / (1.0 - drift), -c / (1.0 + drift)])
        bounds[np.stack([drift >= 1.0, drift <= -1.0]) | np.isnan(bounds)] = -np.inf
        bounds[:, active] = -np.inf
        level = max(penalty, float(bounds.max()))
    w = np.zeros(b.size)
    w[active] = solutions[:, 0] - level * solutions[:, 1]
    inactive = np.abs(c + level * drift)
    inactive[active] = 0.0
    scale = float(np.abs(b).max())
    # smaller coefficients are rounding, due to ties
    rounding = RELATIVE * float(np.abs(solutions[:, 0]).max())
    if (w[active] * signs > rounding).all() and inactive.max() <= level + 1e-12 * scale:
        return w, level
    return None
