"""Powers of two as units: multiplying by them changes no digit."""

from __future__ import annotations

import numpy as np

#: Units have exponents up to this, so that their squares are numbers.
LIMIT = 510


def exponent_of(size: float) -> int:
    """Return the e with `size` in [0.5, 1) times 2**e; 0 for 0 and what is not finite."""
    return int(np.frexp(size)[1]) if np.isfinite(size) else 0


def unit_of(variance: float) -> float:
    """Return the power of two that brings a largest variance into [0.5, 2) when data are divided by it."""
    return float(np.ldexp(1.0, min(max(exponent_of(variance) // 2, -LIMIT), LIMIT)))
