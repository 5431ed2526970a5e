"""Numbers as the strings that stand in a cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def fixed(value: float, digits: int) -> str:
    """Return `value` with `digits` decimals; a nonzero that would print as zero becomes "<.001".

    The sign of such a small number is kept in front: "-<.001". NaN is "NA", as in R.
    """
    if math.isnan(value):
        return "NA"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    text = f"{value:.{digits}f}"
    if value != 0 and not text.strip("-0."):
        least = "." + "0" * (digits - 1) + "1" if digits else "1"
        return f"-<{least}" if value < 0 else f"<{least}"
    return text.removeprefix("-") if value == 0 else text


def each(values: Iterable[float], digits: int) -> tuple[str, ...]:
    """Return every value with `digits` decimals; see :func:`fixed`."""
    return tuple(fixed(value, digits) for value in values)


def alike(values: Sequence[float], digits: int = 4) -> tuple[str, ...]:
    """Format values that belong together: equal decimals, `digits` figures for the largest of them.

    Decimals are kept below seven; values that reach 10^7 or stay below 10^-4 are all written in
    scientific notation.
    """
    sizes = [abs(value) for value in values if math.isfinite(value) and value != 0]
    if not sizes:
        return each(values, digits - 1)
    largest = max(sizes)
    if largest >= 1e7 or largest < 1e-4:
        return tuple(
            f"{value:.{digits - 1}e}" if math.isfinite(value) else fixed(value, 0) for value in values
        )
    decimals = min(max(digits - 1 - math.floor(math.log10(largest)), 0), 7)
    return each(values, decimals)


def percent(share: float, digits: int = 2) -> str:
    """Return a fraction in percent, without the sign for percent."""
    return fixed(100 * share, digits)


def percents(shares: Iterable[float], digits: int = 2) -> tuple[str, ...]:
    """Return every fraction in percent; see :func:`percent`."""
    return tuple(percent(share, digits) for share in shares)
