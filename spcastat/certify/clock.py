"""Time limits of a proof: a clock, and the covariance matrix as far as there is time to form it."""

from __future__ import annotations

import time

import numpy as np

from spcastat.kernels.eig import symmetric
from spcastat.operators import Operator

#: Order of the products by which the speed of this machine, as busy as it is, is measured.
TRIAL = 256
#: No step should take longer than this, so that Ctrl-C is answered.
STEP = 0.8
#: A pass over the entries of a matrix costs as much as this many operations on each in products.
PASS = 20.0


class Clock:
    """A deadline, and the speed of the machine.

    Parameters
    ----------
    deadline : float
        By ``time.perf_counter``.
    """

    def __init__(self, deadline: float):
        self.deadline = deadline
        self._rate: float | None = None

    @property
    def left(self) -> float:
        """Seconds that are left, not below zero."""
        return max(self.deadline - time.perf_counter(), 0.0)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return not self.runs()

    def runs(self) -> bool:
        """Return whether there is time left; for what is asked again and again."""
        return time.perf_counter() < self.deadline

    @property
    def rate(self) -> float:
        """Floating-point operations a second in products of matrices."""
        if self._rate is None:
            A = np.ones((TRIAL, TRIAL))
            A @ A
            begun = time.perf_counter()
            A @ A
            self._rate = 2.0 * TRIAL**3 / max(time.perf_counter() - begun, 1e-6)
        return self._rate

    def until(self, deadline: float) -> Clock:
        """Return a clock with an earlier deadline and the same speed."""
        other = Clock(min(deadline, self.deadline))
        other._rate = self._rate
        return other

    def affords(self, operations: float, steps: int = 1) -> bool:
        """Return whether so many operations, in `steps` steps between which the clock is read, fit in.

        Small work always does, so that what is proven of small matrices depends on no clock.
        """
        if operations <= 2e8:
            return True
        seconds = operations / self.rate
        return seconds <= self.left and seconds / steps <= STEP


#: Columns of S that are formed at once.
SLAB = 256


def formed(op: Operator, clock: Clock, share: float = 0.5) -> np.ndarray | None:
    """Return the covariance matrix, by slabs of columns; None where this share of the time is too little."""
    if op.p <= SLAB:
        return symmetric(op.block(np.arange(op.p)))
    part = clock.until(time.perf_counter() + share * clock.left)
    S = np.empty((op.p, op.p))
    for begin in range(0, op.p, SLAB):
        if part.over:
            return None
        stop = min(begin + SLAB, op.p)
        S[:, begin:stop] = op.columns(np.arange(begin, stop))
    return symmetric(S)
