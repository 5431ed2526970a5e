"""Numbers formatted as the text of table cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

#: Largest number of decimals.
MOST_DIGITS = 10


class Figures(str):
    """The text of a number or an interval, which can be formatted again with other digits.

    Attributes
    ----------
    numbers : tuple of float
        One number, or the two ends of an interval.
    digits : int
        Number of decimals; in scientific notation, of the mantissa.
    scientific : bool
        Whether the number is in scientific notation.
    stars : str
        Marks of significance that follow the number.
    """

    numbers: tuple[float, ...]
    digits: int
    scientific: bool
    stars: str

    @classmethod
    def of(
        cls,
        numbers: Iterable[float],
        digits: int,
        *,
        scientific: bool = False,
        stars: str = "",
        decimal: str = ".",
    ) -> Figures:
        """Return numbers as text, with the decimal mark `decimal`; two of them as "[0.1, 0.2]"."""
        numbers = tuple(numbers)
        texts = [_written(number, digits, scientific).replace(".", decimal) for number in numbers]
        between = "; " if decimal == "," else ", "
        made = cls((texts[0] if len(texts) == 1 else f"[{between.join(texts)}]") + stars)
        made.numbers, made.digits, made.scientific, made.stars = numbers, digits, scientific, stars
        return made

    def again(self, more: int = 0, decimal: str = ".") -> Figures:
        """Return the same numbers with `more` decimals (fewer if negative) and another decimal mark."""
        digits = min(max(self.digits + more, 0), MOST_DIGITS)
        return Figures.of(self.numbers, digits, scientific=self.scientific, stars=self.stars, decimal=decimal)


def without_stars(cell: str) -> tuple[str, str]:
    """Return a cell without the stars of its number, and these stars."""
    stars = cell.stars if isinstance(cell, Figures) else ""
    return cell[: len(cell) - len(stars)], stars


def fixed(value: float, digits: int) -> Figures:
    """Return `value` with `digits` decimals; a nonzero that would print as zero becomes "<.001".

    A negative number of that kind becomes "-<.001". NaN is "NA", as in R.
    """
    return Figures.of((value,), digits)


def interval(low: float, high: float, digits: int) -> Figures:
    """Return an interval as "[0.123, 0.456]"."""
    return Figures.of((low, high), digits)


def _written(value: float, digits: int, scientific: bool) -> str:
    if not math.isfinite(value):
        return "NA" if math.isnan(value) else "Inf" if value > 0 else "-Inf"
    text = f"{value:.{digits}{'e' if scientific else 'f'}}"
    if value != 0 and not scientific and not text.strip("-0."):
        least = "." + "0" * (digits - 1) + "1" if digits else "1"
        return f"-<{least}" if value < 0 else f"<{least}"
    return text.removeprefix("-") if value == 0 else text


def each(values: Iterable[float], digits: int) -> tuple[Figures, ...]:
    """Return every value with `digits` decimals; see :func:`fixed`."""
    return tuple(fixed(value, digits) for value in values)


def alike(values: Sequence[float], digits: int = 4) -> tuple[Figures, ...]:
    """Format values with the same number of decimals, so that the largest has `digits` significant digits.

    There are at most seven decimals. If the largest absolute value is at least 10^7 or below 10^-4, all
    values are in scientific notation.
    """
    sizes = [abs(value) for value in values if math.isfinite(value) and value != 0]
    if not sizes:
        return each(values, digits - 1)
    largest = max(sizes)
    if largest >= 1e7 or largest < 1e-4:
        return tuple(Figures.of((value,), digits - 1, scientific=True) for value in values)
    decimals = min(max(digits - 1 - math.floor(math.log10(largest)), 0), 7)
    return each(values, decimals)


def percent(share: float, digits: int = 2) -> Figures:
    """Return a fraction in percent, without the percent sign."""
    return fixed(100 * share, digits)


def percents(shares: Iterable[float], digits: int = 2) -> tuple[Figures, ...]:
    """Return every fraction in percent; see :func:`percent`."""
    return tuple(percent(share, digits) for share in shares)
