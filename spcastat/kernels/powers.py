"""Powers of two as units: multiplication by them is exact."""

from __future__ import annotations

import numpy as np

#: The largest exponent of a unit: its square does not overflow.
LIMIT = 510


def exponent_of(size: float) -> int:
    """Return the integer e such that `size` = m 2**e with m in [0.5, 1); 0 if `size` is 0 or not finite."""
    return int(np.frexp(size)[1]) if np.isfinite(size) else 0


def unit_of(variance: float) -> float:
    """Return the power of two such that data divided by it have a largest variance in [0.5, 2).

    `variance` is the largest variance of the data as they are.
    """
    return float(np.ldexp(1.0, min(max(exponent_of(variance) // 2, -LIMIT), LIMIT)))
