"""Comparison of printed numbers with ours, and the verdicts on rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

MET, OPEN, DEVIATES = "as printed", "open", "unexplained"
RULE = (
    "Verdicts: a number agrees if the difference is at most 0.5 points (0.005 for numbers that are not "
    "percentages) or, for simulated numbers, at most the number of standard errors that chance exceeds in "
    "one row of twenty (2.0 with one simulated number in the paper, 2.5 with four). A row is 'as printed' if "
    "all numbers agree and no standard error of a difference exceeds 5 hundredths of the range (of the sets, "
    "of 100 %, of a cosine's 1), and 'open' if all agree but a standard error is larger, so that the "
    "comparison is weak. Other rows have the number of the cause below the table: 'tested' if a run on this "
    "page gives the paper's values in all columns, or random starts give values on both sides, or the paper "
    "contradicts itself; otherwise 'supposed'. Seconds of the paper's machine are shown but not judged."
)
#: Chance that a row is refused although ours and print are draws of the same.
LEVEL = 0.05


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error; the error of one that is not drawn is 0.

    Attributes
    ----------
    value, error : float
    of : float or None
        The range of the number: how many sets a count is of. None: 100 of percentages, 1 of other numbers.
    """

    value: float
    error: float = 0.0
    of: float | None = None


Value = float | str | Estimate | None


@dataclass(frozen=True)
class Claim:
    """What the paper states of a figure, what ours show, and whether they show that."""

    text: str
    ours: str
    holds: bool


def compare(pairs: Iterable[tuple[Value, Value, int]]) -> str | None:
    """Return MET, OPEN or DEVIATES for printed numbers, ours and their decimals; None if the paper has none.

    A number with three decimals or more is no percentage.
    """
    found = [(p, o, digits) for p, o, digits in pairs if p is not None and o is not None]
    errors = [_error(p, o) for p, o, _ in found]
    drawn = sum(error > 0 for error in errors)
    if not found:
        return None
    z = NormalDist().inv_cdf(1.0 - LEVEL / 2.0 / max(drawn, 1))
    verdict = MET
    for (p, o, digits), error in zip(found, errors, strict=True):
        if isinstance(p, str) or isinstance(o, str):
            if p != o:
                return DEVIATES
            continue
        points = 0.5 if digits <= 2 else 0.005
        if abs(value_of(p) - value_of(o)) > max(z * error, points + 1e-9):
            return DEVIATES
        given = p.of if isinstance(p, Estimate) else None
        if error > 0.05 * (given or (100.0 if digits <= 2 else 1.0)):
            verdict = OPEN
    return verdict


def value_of(one: Value) -> float:
    """Return the number without its error; 0 where there is none."""
    return one.value if isinstance(one, Estimate) else float(one or 0.0)


def _error(*pair: Value) -> float:
    """Return the standard error of a difference."""
    return sqrt(sum(one.error**2 for one in pair if isinstance(one, Estimate)))
