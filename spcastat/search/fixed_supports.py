"""The best loadings on fixed supports, for a batch of fits at once: limited-memory BFGS on their nonzeros.

A fit has a few dozen nonzeros, so that a loop over fits would spend its time in the interpreter. The two-loop
recursion and the line search therefore run for all fits at once; fits that have converged are left out.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from spcastat.search.criterion import Criterion, Fits
from spcastat.search.small_matrices import SMALLEST, divisor


class WithGradient(Protocol):
    """A function of loadings on fixed supports, for a batch of fits."""

    def with_gradient(self, x: np.ndarray, M: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return values, shape (B,), and gradients, shape (B, N); M and T have an entry for each fit."""


def refined(criterion: Criterion, fits: Fits, steps: int) -> Fits:
    """Return the fits after at most `steps` steps of ascent on their supports; no value decreases."""
    M, T = criterion.packed(fits.places, fits.of)
    x = ascend(criterion, fits.x, M, T, steps)
    found = criterion.fits(fits.places, x, fits.of)
    worse = ~(found.value >= fits.value)
    found.put(worse, fits.some(worse))
    return found


def ascend(criterion: WithGradient, x: np.ndarray, M: np.ndarray, T: np.ndarray, steps: int) -> np.ndarray:
    """Return loadings, shape (B, N), with values no smaller than those of `x`."""
    x = x.copy()
    value, slope = criterion.with_gradient(x, M, T)
    running = np.arange(len(x))
    memory: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for _ in range(steps):
        direction = _direction(slope[running], memory)
        step = np.ones(running.size)
        if not memory:
            step = np.minimum(1.0, 0.5 / np.maximum(np.linalg.norm(direction, axis=1), SMALLEST))
        new, better, turned = _line(
            criterion, x[running], direction, step, value[running], slope[running], M, T
        )
        change, bend = new - x[running], slope[running] - turned
        gain = better - value[running]
        x[running], value[running], slope[running] = new, better, turned
        still = gain > 1e-12 * np.abs(better)
        product = (change * bend).sum(axis=1)
        sound = product > 1e-10 * np.linalg.norm(change, axis=1) * np.linalg.norm(bend, axis=1)
        memory.append((change, bend, np.where(sound, 1.0 / divisor(product, sound), 0.0)))
        if not still.any():
            break
        if not still.all():
            running, M, T = running[still], M[still], T[still]
        memory = [(a[still], b[still], c[still]) for a, b, c in memory[-6:]]
    return x


def _line(
    criterion: WithGradient,
    x: np.ndarray,
    direction: np.ndarray,
    step: np.ndarray,
    value: np.ndarray,
    slope: np.ndarray,
    M: np.ndarray,
    T: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points along the directions, their values and gradients; a fit that no step improves stays."""
    rise = (slope * direction).sum(axis=1).clip(min=0.0)  # negative by rounding only
    new, better, turned = x.copy(), value.copy(), slope.copy()
    open_ = np.arange(len(x))
    for _ in range(12):
        point = x[open_] + step[open_, None] * direction[open_]
        found, gradient = criterion.with_gradient(point, M, T)
        short = step[open_] * rise[open_]
        # Armijo's condition: a step must gain at least 1e-4 of what the slope predicts
        enough = found >= value[open_] + 1e-4 * short
        done = open_[enough]
        new[done], better[done], turned[done] = point[enough], found[enough], gradient[enough]
        if done.size == open_.size:
            break
        left = ~enough
        open_, M, T = open_[left], M[left], T[left]
        share = short[left] / (2.0 * (short[left] - (found[left] - value[open_])))
        step[open_] *= np.where(np.isnan(share), 0.5, np.clip(share, 0.1, 0.5))
    return new, np.maximum(better, value), turned


def _direction(slope: np.ndarray, memory: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the estimated inverse of minus the Hessian times the gradient: the two-loop recursion."""
    q = slope.copy()
    factors = []
    for change, bend, inverse in reversed(memory):
        factor = inverse * (change * q).sum(axis=1)
        factors.append(factor)
        q -= factor[:, None] * bend
    if memory:
        change, bend, inverse = memory[-1]
        size = inverse * (bend**2).sum(axis=1)
        q /= divisor(size, size > 0)[:, None]
    for (change, bend, inverse), factor in zip(memory, reversed(factors), strict=True):
        q += change * (factor - inverse * (bend * q).sum(axis=1))[:, None]
    return q
