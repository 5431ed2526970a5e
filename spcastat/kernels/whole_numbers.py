"""Whole numbers that float64 cannot hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

#: Every whole number up to this size is a float64.
LARGEST = 2**53


def first_rounded(values: Any) -> Any:
    """Return the first whole number that float64 would round; None if there is none.

    Parameters
    ----------
    values : ndarray
        Of any shape. Arrays of another dtype than 64-bit integers have no such number.
    """
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return None
    large = values > LARGEST
    if values.dtype.kind == "i":
        large |= values < -LARGEST
    return first_rounded_of(values[large].tolist()) if large.any() else None


def first_rounded_of(values: Iterable[Any]) -> Any:
    """Return the first of some numbers beyond 2**53 that float64 would round; None if there is none.

    Parameters
    ----------
    values : iterable of int or decimal.Decimal
        Comparisons of both with floats are exact.
    """
    for value in values:
        if abs(value) > LARGEST and value != float(value):
            return value
    return None
