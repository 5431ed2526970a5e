"""What the time that is left allows: steps of linear algebra that cannot be stopped are weighed before."""

from __future__ import annotations

import time

import numpy as np

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
