"""Comparison of printed numbers with ours, and the findings on printed rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

#: The possible findings on a printed row, from best to worst.
REPRODUCED = "reproduced"
SETTING = "with a setting"
CHANCE = "within chance"
BETTER = "better than printed"
CONTRADICTION = "print contradicts itself"
UNDECIDABLE = "undecidable"
DIFFERS = "not reproduced"
FINDINGS = (REPRODUCED, SETTING, CHANCE, BETTER, CONTRADICTION, UNDECIDABLE, DIFFERS)
RULE = (
    "Findings on printed rows: **reproduced**: all numbers agree with the paper's own settings; **with a "
    "setting**: they agree, in all columns and by one program, with a setting that the paper omits and this "
    "page names; **within chance**: the paper's draw or subset is not published, and the range of ours over "
    "20 draws or more contains its numbers; **better than printed**: ours explain more under the same "
    "constraints; **print contradicts itself**, or its own definition, as the line below the table shows; "
    "**undecidable**: what decides is not published; **not reproduced**: none of these, with what was tried. "
    "A number agrees if the difference is at most 0.5 points (0.005 for numbers that are not percentages), "
    "0.25 % of numbers above 250, or, for simulated numbers, at most the number of standard errors that "
    "chance exceeds in one row of twenty (2.0 with one simulated number in the paper, 2.5 with four). Where "
    "a standard error exceeds 5 hundredths of the range (of the sets, of 100 %, of a cosine's 1), numbers "
    "that agree are within chance. Several readings of one printed row count once, by the best finding. "
    "Seconds of the paper's machine are shown but not judged."
)
#: Probability of rejecting a row although printed numbers and ours have the same distribution.
LEVEL = 0.05
#: Numbers above 250 (mean distances of images) agree if they differ by at most this share.
LARGE, SHARE = 250.0, 0.0025


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error, which is 0 if the number is not simulated.

    Attributes
    ----------
    value, error : float
    of : float or None
        The range of the number, such as the number of sets for a count. None: 100 for percentages, else 1.
    low, high : float or None
        The smallest and the largest of our draws, if the paper has one draw.
    """

    value: float
    error: float = 0.0
    of: float | None = None
    low: float | None = None
    high: float | None = None

    def contains(self, number: float) -> bool:
        """Whether the range of the draws contains a number."""
        return self.low is not None and self.high is not None and self.low <= number <= self.high


Value = float | str | Estimate | None


@dataclass(frozen=True)
class Claim:
    """A statement of the paper about a figure, our result, and whether the result agrees."""

    text: str
    ours: str
    holds: bool


def compare(pairs: Iterable[tuple[Value, Value, int]]) -> str | None:
    """Return REPRODUCED, CHANCE or DIFFERS for printed numbers, ours and their decimals.

    None if the paper has no numbers. Numbers with three or more decimals are not percentages.
    """
    printed_pairs = [(p, o, digits) for p, o, digits in pairs if p is not None and o is not None]
    errors = [_error(p, o) for p, o, _ in printed_pairs]
    drawn = sum(error > 0 for error in errors)
    if not printed_pairs:
        return None
    z = NormalDist().inv_cdf(1.0 - LEVEL / 2.0 / max(drawn, 1))
    finding = REPRODUCED
    for (p, o, digits), error in zip(printed_pairs, errors, strict=True):
        if isinstance(p, str) or isinstance(o, str):
            if p != o:
                return DIFFERS
            continue
        if abs(value_of(p) - value_of(o)) > max(z * error, tolerance(value_of(p), digits)):
            if not (isinstance(o, Estimate) and o.contains(value_of(p))):
                return DIFFERS
            finding = CHANCE
        size = p.of if isinstance(p, Estimate) else None
        if error > 0.05 * (size or (100.0 if digits <= 2 else 1.0)):
            finding = CHANCE
    return finding


def tolerance(number: float, digits: int) -> float:
    """Return how much a number may differ from a printed number with `digits` decimals."""
    if digits > 2:
        return 0.005 + 1e-9
    return max(0.5 + 1e-9, SHARE * abs(number) if abs(number) > LARGE else 0.0)


def value_of(number: Value) -> float:
    """Return the number without its error; 0 if there is no number."""
    return number.value if isinstance(number, Estimate) else float(number or 0.0)


def _error(*pair: Value) -> float:
    """Return the standard error of a difference."""
    return sqrt(sum(number.error**2 for number in pair if isinstance(number, Estimate)))
