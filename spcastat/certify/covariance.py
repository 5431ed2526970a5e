"""The covariance matrix of an operator, formed while the time allows it."""

from __future__ import annotations

import time

import numpy as np

from spcastat.certify.clock import Clock
from spcastat.kernels.eig import symmetric
from spcastat.operators import Operator

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
