"""Powers of two as units: multiplication by them is exact."""

from __future__ import annotations

import numpy as np

#: The largest exponent of a unit: its square does not overflow.
LIMIT = np.finfo(float).maxexp // 2 - 2


def unit_of(variance: float) -> float:
    """Return the power of two such that data divided by it have a largest variance in [0.5, 2).

    `variance` is the largest variance of the data as they are; for 0 and values that are not finite, 1.
    """
    exponent = int(np.frexp(variance)[1]) if np.isfinite(variance) else 0
    return float(np.ldexp(1.0, min(max(exponent // 2, -LIMIT), LIMIT)))


def deviations(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation (divisor: rows minus one) of each column, for values of any size.

    Columns are divided by powers of two before they are squared, which is exact.

    Parameters
    ----------
    values : ndarray of shape (n, m)
        At least two rows.
    """
    exponents = np.frexp(np.abs(values).max(axis=0))[1]
    return np.asarray(np.ldexp(np.ldexp(values, -exponents).std(axis=0, ddof=1), exponents))
