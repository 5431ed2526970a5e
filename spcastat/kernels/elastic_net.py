"""The elastic net from a covariance matrix: the exact path over the l1 penalty.

Solves min over w of w'(S + ridge I)w / 2 - b'w + penalty |w|_1 for all penalties, from the largest downwards,
by LARS-EN (Zou and Hastie 2005) with the lasso's rule for variables that leave the model. Only the columns of
S that belong to variables in the model are computed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spcastat.kernels.ties import RELATIVE, ROUNDING, first_max, levelled, tie_width


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
        self._held = np.empty((0, p))
        self._used = 0

    def rows(self, J: np.ndarray) -> np.ndarray:
        """Return S[J], shape (len(J), p)."""
        new = J[self._place[J] < 0]
        if new.size:
            if self._used + new.size > len(self._held):
                room = np.empty((min(self.p, 2 * (self._used + new.size)), self.p))
                room[: self._used] = self._held[: self._used]
                self._held = room
            self._held[self._used : self._used + new.size] = self._fetch(new).T
            self._place[new] = np.arange(self._used, self._used + new.size)
            self._used += new.size
        return self._held[self._place[J]]


class _Model:
    """The variables in the model, their signs, and the Cholesky factor of their block of S + ridge I."""

    def __init__(self, columns: Columns, ridge: float):
        self.columns = columns
        self.ridge = ridge
        self.active = np.empty(0, dtype=int)
        self.signs = np.empty(0)
        self.rows = np.empty((8, columns.p))
        self.factor = np.empty((8, 8))

    def add(self, j: int, sign: float) -> bool:
        """Add variable `j`; if it is collinear with those in the model, return False and add nothing."""
        m = self.active.size
        row = self.columns.rows(np.array([j]))[0]
        pivot = row[j] + self.ridge
        border = np.empty(0)
        if m:
            from scipy.linalg import solve_triangular

            border = solve_triangular(self.factor[:m, :m], row[self.active], lower=True)
            pivot = pivot - border @ border
        # a variable is collinear with those in the model if its Cholesky pivot is below 1e-11 of its diagonal
        # entry
        if pivot <= 1e-11 * (row[j] + self.ridge):
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


def path(
    columns: Columns, b: np.ndarray, ridge: float, *, penalty: float = 0.0, card: int | None = None
) -> tuple[np.ndarray, float]:
    """Follow the path of solutions down to a given penalty or a given number of variables.

    Parameters
    ----------
    columns : Columns
    b : ndarray of shape (p,)
    ridge : float
        Added to the diagonal of S. With 0, variables that are collinear with those in the model stay out.
    penalty : float
        The penalty at which to stop.
    card : int or None
        Stop earlier, just before the (card + 1)-th variable would enter the model.

    Returns
    -------
    w : ndarray of shape (p,)
        All zero if the penalty is too large for any variable to enter.
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
    model = _Model(columns, ridge)
    barred = np.zeros(p, dtype=bool)
    outside = np.ones(p, dtype=bool)
    entering: int | None = first_max(np.abs(c))
    gone: int | None = None
    for _ in range(20 * p + 100):
        if entering is not None:
            outside[entering] = False
            if not model.add(entering, np.sign(c[entering])):
                barred[entering] = True
        if model.active.size == 0:
            break
        slope = model.solve(model.signs)
        drift = slope @ model.rows[: model.active.size]  # S[:, active] slope
        step, entering, leaving = level - penalty, None, None
        free = np.flatnonzero(outside)
        if free.size:
            gap = _entry(c[free], drift[free], level, free == gone, rounding)
            first = gap.min()
            # Below a millionth of the first penalty no variable enters: rounding, or a small ridge, would
            # decide which one.
            if first < step and level - first > 1e-6 * largest:
                step = first
                entering = int(free[np.argmax(gap <= first + RELATIVE * level)])
        active = model.active
        with np.errstate(divide="ignore", invalid="ignore"):
            until_zero = -w[active] / slope
        until_zero[~(until_zero > RELATIVE * largest)] = np.inf  # a variable that has just entered with a tie
        if until_zero.min() < step:
            step, entering, leaving = float(until_zero.min()), None, int(np.argmin(until_zero))
        if card is not None and active.size == card and entering is not None:
            if step <= tie_width(np.array(level), np.array(level)):
                outside[entering] = False  # tied with a variable in the model, which has the lower index
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
            outside[gone] = True
            outside |= barred
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
        The present penalty.
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
    last: np.ndarray,
    *,
    penalty: float = 0.0,
    card: int | None = None,
) -> tuple[np.ndarray, float]:
    """Return what `path` returns, faster where the solution has the support and signs of `last`.

    `last`, shape (p,), is the solution of a similar problem.
    """
    active = np.flatnonzero(last)
    if active.size and (card is None or active.size == card):
        found = _same_support(columns, b, ridge, active, np.sign(last[active]), penalty, card)
        if found is not None:
            return found
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
        both = np.linalg.solve(block, np.column_stack([b[active], signs]))
    except np.linalg.LinAlgError:
        return None
    c, drift = b - both[:, 0] @ rows, both[:, 1] @ rows  # with the penalty x, correlations are c + x * drift
    c[active] = drift[active] = 0.0
    level = penalty
    if card is not None and active.size < b.size:
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = np.stack([c / (1.0 - drift), -c / (1.0 + drift)])
        bounds[np.stack([drift >= 1.0, drift <= -1.0]) | np.isnan(bounds)] = -np.inf
        bounds[:, active] = -np.inf
        level = max(penalty, float(bounds.max()))
    w = np.zeros(b.size)
    w[active] = both[:, 0] - level * both[:, 1]
    outside = np.abs(c + level * drift)
    outside[active] = 0.0
    scale = float(np.abs(b).max())
    least = RELATIVE * float(np.abs(both[:, 0]).max())  # smaller coefficients are rounding, due to ties
    if (w[active] * signs > least).all() and outside.max() <= level + 1e-12 * scale:
        return w, level
    return None
