"""Numbers as the strings that stand in a cell."""

from __future__ import annotations

import math
from collections.abc import Sequence


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


def alike(values: Sequence[float], digits: int = 4) -> tuple[str, ...]:
    """Format values that belong together: equal decimals, `digits` figures for the largest of them.

    Decimals are kept below seven; values that reach 10^7 or stay below 10^-4 are all written in
    scientific notation.
    """
    sizes = [abs(value) for value in values if math.isfinite(value) and value != 0]
    if not sizes:
        return tuple(fixed(value, digits - 1) for value in values)
    largest = max(sizes)
    if largest >= 1e7 or largest < 1e-4:
        return tuple(
            f"{value:.{digits - 1}e}" if math.isfinite(value) else fixed(value, 0) for value in values
        )
    decimals = min(max(digits - 1 - math.floor(math.log10(largest)), 0), 7)
    return tuple(fixed(value, decimals) for value in values)


def percent(share: float, digits: int = 2) -> str:
    """Return a fraction in percent, without the sign for percent."""
    return fixed(100 * share, digits)
