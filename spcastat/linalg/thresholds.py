"""Thresholds: closed-form solutions under a sparsity constraint; and descent for smooth functions.

A threshold maximises w'v over unit vectors v under a constraint. It takes the vectors w as columns of an
array of shape (p, m) and returns the unit-length solutions in the same shape. A column of zeros stays zero:
every feasible v is then a solution, and the caller chooses one. Thresholds with an lp penalty: Zhao, Meng and
Xu (2014), "Robust sparse principal component analysis", Theorems 2 and 3.

The descent is a limited-memory BFGS method. SciPy's L-BFGS-B does the same, but on problems of this size the
threads of the linear algebra library spend most of the time waiting for one another: with it, a joint search
took ten times as long on a busy machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from spcastat.linalg.eigenvectors import ENTRY_TOLERANCE, first_max, levelled, quotients, tie_width, top, unit

# --- hard and soft thresholds ---------------------------------------------------------------------


def hard_at(W: np.ndarray, level: float | np.ndarray) -> np.ndarray:
    """Hard thresholding: set entries whose absolute value does not exceed `level` to zero."""
    return np.where(np.abs(W) > level, W, 0.0)


def soft_at(W: np.ndarray, level: float | np.ndarray) -> np.ndarray:
    """Soft thresholding: shrink the entries of `W` towards zero by `level`, which broadcasts against `W`."""
    return np.asarray(np.sign(W) * np.maximum(np.abs(W) - level, 0.0))


def level_for(w: np.ndarray, card: int) -> tuple[np.ndarray, float]:
    """Return a mask of the `card` largest absolute values of `w`, shape (p,), and their soft threshold.

    The threshold is the (card+1)-th largest absolute value, or the next smaller value if that ties with one
    in the mask; 0 if there is none.
    """
    size = np.abs(w)
    selection = top(size, card)
    return selection, largest_below(size, selection)


def largest_below(size: np.ndarray, selection: np.ndarray) -> float:
    """Return the largest value outside `selection` that does not tie with a selected value; 0 if none."""
    smallest = size[selection].min()
    remainder = size[~selection & (size < smallest - tie_width(smallest, size.max()))]
    return float(remainder.max()) if remainder.size else 0.0


def hard(W: np.ndarray, card: int) -> np.ndarray:
    """Hard thresholding to the `card` largest absolute values: Zhao et al. (2015), Theorem 2.

    Values that differ from zero only by rounding are set to zero, so there may be fewer nonzeros than `card`.
    """
    size = np.abs(W)
    largest = size.max(axis=0)
    selection = top(size, card, largest=largest)
    return unit(np.where(selection & (size > ENTRY_TOLERANCE * largest), W, 0.0))


def soft(W: np.ndarray, card: int) -> np.ndarray:
    """Soft thresholding at the (card+1)-th largest absolute value, which leaves `card` nonzeros.

    This is the l1 update of Zhao et al. (2015) at a given cardinality. If the (card+1)-th value ties with the
    card-th, the next smaller value is the threshold, so that ties do not reduce the number of nonzeros.
    """
    size = np.abs(W)
    selection = top(size, card)
    smallest = np.where(selection, size, np.inf).min(axis=0)
    largest = size.max(axis=0)
    width = tie_width(smallest, largest)
    level = np.where(selection | (size >= smallest - width), 0.0, size).max(axis=0)
    selection &= size > ENTRY_TOLERANCE * largest
    return unit(np.where(selection, soft_at(W, level), 0.0))


def l1_bounded(W: np.ndarray, bound: float) -> np.ndarray:
    """Solve max w'v with ||v||_2 = 1 and ||v||_1 <= bound exactly: Zhao et al. (2015), Theorem 3.

    `bound` lies in [1, sqrt(p)].
    """
    return np.column_stack([_l1_bounded_one(w, bound) for w in W.T])


def _l1_bounded_one(w: np.ndarray, bound: float) -> np.ndarray:
    size = np.abs(w)
    largest = size.max()
    if largest == 0:
        return np.zeros_like(w)
    size = size / largest
    if size.sum() <= bound * np.linalg.norm(size):
        return np.sign(w) * size / np.linalg.norm(size)
    tied = np.flatnonzero(size >= 1.0 - tie_width(np.array(1.0), np.array(1.0)))
    if bound * bound <= len(tied):
        return np.sign(w) * _spread_over_ties(len(w), tied, bound)
    # If the m largest values stay nonzero, soft thresholding at 1 - depth gives l1 norm / l2 norm = bound.
    # Differences from the largest value avoid the cancellation in sums of nearly equal values.
    drop = np.sort(1.0 - size)
    m = np.arange(1, len(w) + 1)
    sums = np.cumsum(drop)
    spread = np.maximum(m * np.cumsum(drop**2) - sums**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = (sums + bound * np.sqrt(spread / (m - bound**2))) / m
    following = np.append(drop[1:], 1.0)
    fits = (m > bound**2) & (depth > drop) & (depth <= following)
    if not fits.any():  # because of rounding at a breakpoint: take the nearest
        miss = np.where(m > bound**2, np.maximum(drop - depth, depth - following), np.inf)
        fits[np.argmin(miss)] = True
    v = np.maximum(depth[np.argmax(fits)] - (1.0 - size), 0.0)
    return np.sign(w) * v / np.linalg.norm(v)


def _spread_over_ties(p: int, tied: np.ndarray, bound: float) -> np.ndarray:
    """Return the nonnegative unit vector with l1 norm `bound` if the largest values, at `tied`, are equal.

    It uses as few of these positions as possible, from the first, which has the largest value.
    """
    used = int(np.ceil(bound * bound - 1e-12))
    v = np.zeros(p)
    if used <= 1:
        v[tied[0]] = 1.0
        return v
    # x + (used - 1) y = bound and x^2 + (used - 1) y^2 = 1 with x >= y >= 0
    root = np.sqrt(max((used - 1) * (used - bound * bound), 0.0))
    v[tied[:used]] = (bound * (used - 1) - root) / (used * (used - 1))
    v[tied[0]] = (bound + root) / used
    return v


def positive_part(W: np.ndarray) -> np.ndarray:
    """Return the positive part of every column of `W`.

    Updates with nonnegative loadings apply thresholds to these parts (Zhao et al. 2015, Theorem 5). If a
    column w has no positive entry, its result is the coordinate vector of its largest entry, which among
    nonnegative unit vectors v maximises w'v.
    """
    positive = np.maximum(W, 0.0)
    for column in np.flatnonzero(~positive.any(axis=0)):
        positive[first_max(W[:, column]), column] = 1.0
    return positive


# --- thresholds with an lp penalty ----------------------------------------------------------------


def half(W: np.ndarray, card: int) -> np.ndarray:
    """Half thresholding (p = 1/2) at the `card`-th largest absolute value: equation 13.

    The value at the threshold stays nonzero, shrunk to two thirds of its size.
    """
    size, selection, level = _levels(W, card)
    return unit(np.where(selection, np.sign(W) * _halved(size, np.where(selection, level, 0.0)), 0.0))


def _halved(size: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Apply half thresholding at `level` to absolute values of at least `level`: equation 13."""
    angle = np.arccos(np.sqrt(0.5) * quotients(level, size) ** 1.5)
    return np.asarray((2.0 / 3.0) * size * (1.0 + np.cos((2.0 / 3.0) * (np.pi - angle))))


def lp(W: np.ndarray, card: int, power: float) -> np.ndarray:
    """Apply lp thresholding at the `card`-th largest absolute value of each column (Theorem 2).

    Parameters
    ----------
    W : ndarray of shape (d, m)
    card : int
    power : float
        The exponent p in (0, 1). Near 0 this is hard thresholding, near 1 soft thresholding at the `card`-th
        value.

    Notes
    -----
    With theta the `card`-th value and lambda = [2(1-p)]^(1-p) / (2-p)^(2-p) theta^(2-p), a kept entry w
    becomes the root of b + lambda p b^(p-1) = |w| in [2(1-p)/(2-p) theta, |w|] (the printed bracket lacks the
    factor theta). The left side is convex and increasing there, so Newton steps from |w| fall to the root
    without overshooting.
    """
    size, selection, level = _levels(W, card)
    rate = (2.0 * (1.0 - power)) ** (1.0 - power) / (2.0 - power) ** (2.0 - power)
    active = selection & (size > 0)
    w = size[active]
    c = np.broadcast_to(rate * power * level ** (2.0 - power), size.shape)[active]
    b = w.copy()
    for _ in range(100):
        miss = b + c * b ** (power - 1.0) - w
        step = miss / (1.0 - c * (1.0 - power) * b ** (power - 2.0))
        b = b - step
        if not step.size or step.max() <= 1e-15:
            break
    shrunk = np.zeros_like(size)
    shrunk[active] = b
    return unit(np.sign(W) * shrunk)


def _levels(W: np.ndarray, card: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each column its absolute values, a mask of the `card` largest, and the smallest of these.

    The absolute values are divided by the largest one of their column.
    """
    size = np.abs(W)
    largest = size.max(axis=0)
    size = quotients(size, largest)
    size[size <= ENTRY_TOLERANCE] = 0.0  # from rounding
    selection = top(size, card)
    return size, selection, np.where(selection, size, np.inf).min(axis=0)


# --- soft thresholds orthogonal to given vectors --------------------------------------------------


#: How close the l1 norm must come to its bound, relative to the bound.
NORM_TOLERANCE = 1e-12


class OrthogonalSoft:
    """Solutions of min |x - g|^2 / 2 + level |x|_1 over all x with Q'x = 0.

    The dual problem min |soft(g - Q nu, level)|^2 / 2 is convex and piecewise quadratic, with one unknown in
    nu for each column of Q; Newton's method ends after finitely many steps. The last nu and level are stored
    and start the next call, since successive problems in an iteration are similar.

    Parameters
    ----------
    Q : ndarray of shape (p, m)
        The vectors to which solutions are orthogonal; m may be 0.
    """

    def __init__(self, Q: np.ndarray):
        self.Q = Q
        self._nu = np.zeros(Q.shape[1])
        self._level = np.nan

    def threshold(self, g: np.ndarray, level: float) -> np.ndarray:
        """Return the solution, shape (p,); zeros if it is rounding error relative to `g`, shape (p,)."""
        Q, nu = self.Q, self._nu
        size = float(np.abs(g).max())
        x = soft_at(g - Q @ nu, level)
        value = 0.5 * float(x @ x)
        for _ in range(100):
            slope = x @ Q
            if np.abs(slope).max(initial=0.0) <= 1e-13 * np.sqrt(2.0 * value) + 1e-16 * size:
                break
            part = Q[x != 0]
            step = np.linalg.lstsq(part.T @ part, slope, rcond=1e-12)[0]
            gain, length = float(slope @ step), 1.0
            while True:
                trial = soft_at(g - Q @ (nu + length * step), level)
                value_next = 0.5 * float(trial @ trial)
                if value_next <= value - 1e-4 * length * gain or length < 1e-3:
                    break
                length *= 0.5
            if value_next >= value:
                break
            nu, x, value = nu + length * step, trial, value_next
        self._nu = nu
        largest = float(np.abs(x).max())
        if not largest > 1e-9 * size:
            return np.zeros_like(x)
        return levelled(x[:, None], 1e-12 * size / largest)[:, 0]  # tied entries vanish together

    def bounded(self, g: np.ndarray, bound: float) -> np.ndarray:
        """Return the unit vector x that maximises g'x subject to Q'x = 0 and |x|_1 <= bound.

        If no threshold reaches the bound, the result is the unit vector with the smallest l1 norm that
        thresholding of g can reach. If g lies in the span of Q, the result is zero.
        """
        if not self.Q.shape[1]:
            return l1_bounded(g[:, None], bound)[:, 0]
        low, high = 0.0, float(np.abs(g).max())
        x_feasible = x = self.threshold(g, 0.0)
        if not x.any() or np.abs(x).sum() / np.linalg.norm(x) <= bound * (1.0 + NORM_TOLERANCE):
            return _unit(x)
        level = self._level if low < self._level < high else _level_on_support(g, self.Q, x, bound)
        for _ in range(200):
            if not low < level < high:
                level = 0.5 * (low + high)
            if high - low <= 1e-12 * high or level in (low, high):
                break
            x = self.threshold(g, level)
            ratio = np.abs(x).sum() / np.linalg.norm(x) if x.any() else 0.0
            if ratio >= bound * (1.0 - NORM_TOLERANCE):
                low, x_feasible = level, x
                if ratio <= bound * (1.0 + NORM_TOLERANCE):
                    break
            else:
                high = level
            level = _level_on_support(g, self.Q, x, bound) if x.any() else np.nan
        self._level = low
        return _unit(x_feasible)

    def sparse(self, g: np.ndarray, card: int) -> np.ndarray:
        """Return the unit vector at the smallest threshold that leaves at most `card` nonzeros.

        If every threshold leaves more than `card` nonzeros or none, the sparsest solution is restricted to
        its `card` largest values (of ties, those with the lowest index) and made orthogonal to Q. If this
        gives zero, the sparsest solution itself is returned.
        """
        if not self.Q.shape[1]:
            return soft(g[:, None], card)[:, 0]
        low, high = 0.0, float(np.abs(g).max())
        v = self.threshold(g, 0.0)
        if np.count_nonzero(v) <= card:
            return _unit(v)
        for _ in range(60):
            level = 0.5 * (low + high)
            x = self.threshold(g, level)
            if np.count_nonzero(x) > card:
                low = level
                if np.count_nonzero(x) <= np.count_nonzero(v):
                    v = x
            else:
                high = level
                if x.any():
                    v = x
            if high - low <= 1e-12 * high:
                break
        v = levelled(v[:, None], 1e-6)[:, 0]  # bisection leaves tiny values in place of zeros
        if np.count_nonzero(v) > card:
            J = np.flatnonzero(top(np.abs(v), card))
            part = OrthogonalSoft(self.Q[J]).threshold(g[J], 0.0)
            if part.any():
                v = np.zeros_like(v)
                v[J] = part
        return _unit(v)


def _level_on_support(g: np.ndarray, Q: np.ndarray, x: np.ndarray, bound: float) -> float:
    """Return the level at which the solution with the support and signs of x meets the l1 bound, or NaN."""
    J = np.flatnonzero(x)
    part, s = Q[J], np.sign(x[J])
    columns = np.column_stack([g[J], s])
    u, d = (columns - part @ np.linalg.lstsq(part, columns, rcond=1e-12)[0]).T
    along, norm = float(u @ d), float(d @ d)
    if norm <= bound * bound * (1.0 + 1e-14):
        return np.nan
    residual = max(float(u @ u) - along * along / norm, 0.0)
    return (along - bound * np.sqrt(residual / (1.0 - bound * bound / norm))) / norm


def _unit(x: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(x)
    return np.asarray(x / length) if length > 0 else x


# --- descent for smooth functions -----------------------------------------------------------------


#: Number of pairs of steps and gradient changes that are stored.
MEMORY = 8
#: Armijo's condition: a step must lower the value by at least this share of what the slope predicts.
ARMIJO = 1e-4
#: Stop when a step lowers the value by no more than the share FLAT_STEP, or no partial derivative exceeds
#: SAME_OBJECTIVE.
FLAT_STEP, SAME_OBJECTIVE = 1e-13, 1e-9

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


def minimise(function: Function, x: np.ndarray, max_iter: int, flat: float = FLAT_STEP) -> np.ndarray:
    """Minimise a smooth function from the point `x`.

    Parameters
    ----------
    function : callable
        Returns the value at a point and the gradient, shape (m,).
    x : ndarray of shape (m,)
        The starting point.
    max_iter : int
        The largest number of steps.
    flat : float
        Stop when a step lowers the value by no more than this share; with 0, when rounding prevents progress.

    Returns
    -------
    ndarray of shape (m,)
        A local minimum if `max_iter` steps suffice. Its value is never larger than that of `x`.
    """
    value, gradient = function(x)
    memory: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=MEMORY)
    for _ in range(max_iter):
        if np.abs(gradient).max(initial=0.0) <= SAME_OBJECTIVE:
            break
        direction = _direction(gradient, memory)
        slope = float(gradient @ direction)
        if slope >= 0:
            memory.clear()
            direction, slope = -gradient, -float(gradient @ gradient)
        step = 1.0 if memory else min(1.0, 0.5 / float(np.linalg.norm(gradient)))
        for _ in range(25):
            x_next = x + step * direction
            lower, slope_next = function(x_next)
            if lower <= value + ARMIJO * step * slope:
                break
            curved = 2.0 * (lower - value - step * slope)
            step *= float(np.clip(-slope * step / curved, 0.1, 0.5)) if curved > 0 else 0.5
        else:
            break
        change, bend = x_next - x, slope_next - gradient
        product = float(change @ bend)
        if product > 1e-10 * float(np.linalg.norm(change) * np.linalg.norm(bend)):
            memory.append((change, bend, 1.0 / product))
        gain = value - lower
        x, value, gradient = x_next, lower, slope_next
        if gain <= flat * max(abs(value), FLAT_STEP):
            break
    return x


def _direction(gradient: np.ndarray, memory: deque[tuple[np.ndarray, np.ndarray, float]]) -> np.ndarray:
    """Return minus the estimated inverse Hessian times the gradient, by the two-loop recursion."""
    q = gradient.copy()
    factors = []
    for change, bend, inverse in reversed(memory):
        factor = inverse * float(change @ q)
        factors.append(factor)
        q -= factor * bend
    if memory:
        change, bend, inverse = memory[-1]
        q /= inverse * float(bend @ bend)
    for (change, bend, inverse), factor in zip(memory, reversed(factors), strict=True):
        q += change * (factor - inverse * float(bend @ q))
    return -q
