"""Limited-memory BFGS for problems with a few dozen unknowns.

SciPy's L-BFGS-B does the same, but on problems of this size the threads of the linear algebra library spend
most of the time waiting for one another: on a busy machine a joint search took ten times as long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

#: Number of pairs of steps and gradient changes that are stored.
MEMORY = 8
#: Armijo's condition: a step must lower the value by at least this share of what the slope predicts.
ARMIJO = 1e-4
#: Stop when a step lowers the value by no more than the share FLAT, or no partial derivative exceeds LEVEL.
FLAT, LEVEL = 1e-13, 1e-9

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


def minimise(function: Function, x: np.ndarray, max_iter: int, flat: float = FLAT) -> np.ndarray:
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
        if np.abs(gradient).max(initial=0.0) <= LEVEL:
            break
        direction = _direction(gradient, memory)
        slope = float(gradient @ direction)
        if slope >= 0:
            memory.clear()
            direction, slope = -gradient, -float(gradient @ gradient)
        step = 1.0 if memory else min(1.0, 0.5 / float(np.linalg.norm(gradient)))
        for _ in range(25):
            new = x + step * direction
            lower, turned = function(new)
            if lower <= value + ARMIJO * step * slope:
                break
            curved = 2.0 * (lower - value - step * slope)
            step *= float(np.clip(-slope * step / curved, 0.1, 0.5)) if curved > 0 else 0.5
        else:
            break
        change, bend = new - x, turned - gradient
        product = float(change @ bend)
        if product > 1e-10 * float(np.linalg.norm(change) * np.linalg.norm(bend)):
            memory.append((change, bend, 1.0 / product))
        gain = value - lower
        x, value, gradient = new, lower, turned
        if gain <= flat * max(abs(value), FLAT):
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
