"""Thresholding under an lp constraint, 0 < p < 1, to a given number of nonzeros.

Zhao, Meng and Xu (2014), "Robust sparse principal component analysis", Theorems 2 and 3. The functions take
the columns of an array of shape (d, m) and return columns of unit length, as in `spcastat.kernels.ties`.
"""

from __future__ import annotations

import numpy as np

from spcastat.kernels.ties import LEVEL, quotients, top, unit


def half(W: np.ndarray, card: int) -> np.ndarray:
    """Half thresholding (p = 1/2) at the `card`-th largest absolute value: equation 13.

    The value at the threshold stays nonzero, shrunk to two thirds of its size.
    """
    size, kept, level = _levels(W, card)
    return unit(np.where(kept, np.sign(W) * _halved(size, np.where(kept, level, 0.0)), 0.0))


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
    size, kept, level = _levels(W, card)
    rate = (2.0 * (1.0 - power)) ** (1.0 - power) / (2.0 - power) ** (2.0 - power)
    active = kept & (size > 0)
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
    size[size <= LEVEL] = 0.0  # from rounding
    kept = top(size, card)
    return size, kept, np.where(kept, size, np.inf).min(axis=0)
