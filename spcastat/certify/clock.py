"""Time limits of a proof: a clock, and the covariance matrix if there is time to compute it."""

from __future__ import annotations

import time

import numpy as np

from spcastat.kernels.eig import symmetric
from spcastat.operators import Operator

#: Number of columns of S computed at a time; order of the matrices multiplied to measure the speed.
SLAB = 256
#: No step should take longer than this, in seconds, so that Ctrl-C takes effect.
STEP = 0.8
#: Assumed cost of a pass over a matrix, per entry: the time of this many floating-point operations in a
#: matrix product.
PASS = 20.0


class Clock:
    """A deadline, and the speed of the machine.

    Parameters
    ----------
    deadline : float
        In the seconds of ``time.perf_counter``.
    """

    def __init__(self, deadline: float):
        self.deadline = deadline
        self._rate: float | None = None

    @property
    def left(self) -> float:
        """The seconds left, at least zero."""
        return max(self.deadline - time.perf_counter(), 0.0)

    def runs(self) -> bool:
        """Return whether there is time left; a method, so that it can be passed as a callable."""
        return time.perf_counter() < self.deadline

    @property
    def rate(self) -> float:
        """Floating-point operations per second in matrix products."""
        if self._rate is None:
            A = np.ones((SLAB, SLAB))
            A @ A
            begun = time.perf_counter()
            A @ A
            self._rate = 2.0 * SLAB**3 / max(time.perf_counter() - begun, 1e-6)
        return self._rate

    def until(self, deadline: float) -> Clock:
        """Return a clock with an earlier deadline and the same speed."""
        other = Clock(min(deadline, self.deadline))
        other._rate = self._rate
        return other

    def affords(self, operations: float, steps: int = 1) -> bool:
        """Return whether there is time for this many operations, in `steps` steps that can be interrupted.

        The answer is always yes for little work, so that proofs for small matrices do not depend on time.
        """
        if operations <= 2e8:
            return True
        seconds = operations / self.rate
        return seconds <= self.left and seconds / steps <= STEP


def formed(op: Operator, clock: Clock, share: float = 0.5) -> np.ndarray | None:
    """Return the covariance matrix; None if computing it takes longer than `share` of the time left."""
    if op.p <= SLAB:
        return symmetric(op.block(np.arange(op.p)))
    part = clock.until(time.perf_counter() + share * clock.left)
    S = np.empty((op.p, op.p))
    for begin in range(0, op.p, SLAB):
        if not part.runs():
            return None
        stop = min(begin + SLAB, op.p)
        S[:, begin:stop] = op.columns(np.arange(begin, stop))
    return symmetric(S)
