"""The notation of a text table: separator, decimal mark, and whether its first line holds names.

Options that are not given are determined from the first lines. If these are ambiguous, an error is raised.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from spcastat.config import listed
from spcastat.errors import OptionError

#: Separators that are recognised, and their names.
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
#: Fields that stand for missing values, besides empty ones.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None")

_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)
#: Mark -> patterns of numbers in which it is before decimals, and in which it may be between thousands.
_WITH_MARK = {
    mark: (
        re.compile(rf"[+-]?\d*\{mark}\d+([eE][+-]?\d+)?", re.ASCII),
        re.compile(rf"[+-]?[1-9]\d{{0,2}}(\{mark}\d{{3}})+", re.ASCII),
    )
    for mark in ".,"
}


def in_python(option: str, value: Any) -> str:
    """Return an option of reading as Python code, for messages: a call of pandas.

    `option` is "sep", "decimal", "header" or "encoding". The command has a function of its own for this.
    """
    given = ("0" if value else "None") if option == "header" else repr(value)
    return f"pd.read_csv(path, {option}={given})"


def separator_in(
    name: str, line: str, sample: Sequence[str], usual: str, say: Callable[[str, Any], str]
) -> str:
    """Determine the separator of a table from its first lines.

    It is `usual`, the usual one for the file's suffix, unless another separator is the only one in the first
    line, or the only one that gives all lines of the sample the same number of fields.

    Raises
    ------
    OptionError
        If the line has several other separators.
    """
    outside = re.sub(r'"[^"]*"', "", line)
    others = [one for one in SEPARATORS if one in outside]
    if usual in others and len(others) > 1:
        even = [one for one in others if _is_even(sample, one)]
        return even[0] if len(even) == 1 else usual
    if usual in others or not others:
        return usual
    if len(others) > 1:
        marks = " and ".join(f"a {SEPARATORS[one]}" for one in others)
        ways = " or ".join(say("sep", one) for one in others)
        raise OptionError(
            f"{name} has {marks} in its first line, and either may separate fields: give {ways}."
        )
    return others[0]


def _is_even(sample: Sequence[str], sep: str) -> bool:
    """Whether all lines, empty ones aside, have as many fields as another."""
    try:
        return len({len(record) for record in csv.reader(sample, delimiter=sep) if any(record)}) == 1
    except csv.Error:
        return False


def decimal_in(name: str, rows: Iterable[Sequence[str]], say: Callable[[str, Any], str]) -> str:
    """Determine the decimal mark from rows whose fields are not separated by commas.

    Raises
    ------
    OptionError
        If all marks may also be between thousands, as in 8.302 or 1,770.
    """
    cells = [cell.strip() for row in rows for cell in row if "," in cell or "." in cell]
    found = {}
    for mark, (decimal, thousands) in _WITH_MARK.items():
        grouped = [cell for cell in cells if thousands.fullmatch(cell)]
        if any(decimal.fullmatch(cell) and not thousands.fullmatch(cell) for cell in cells):
            found[mark] = True
        elif grouped:
            found[mark] = False
            example = listed(dict.fromkeys(grouped), 3)
    if True not in found.values() and found:
        marks = " and ".join({".": "the point", ",": "the comma"}[mark] for mark in found)
        ways = " or ".join(say("decimal", mark) for mark in found)
        raise OptionError(
            f"{name} cannot be read for certain: {marks} in {example} may stand before decimals or between "
            f"thousands. Give {ways} for decimals; otherwise write the numbers without it."
        )
    return "," if found.get(",") and not found.get(".") else "."


def require_names(name: str, first: Sequence[str], say: Callable[[str, Any], str]) -> None:
    """Raise OptionError if the first line of a table holds numbers where names of columns are expected.

    The numbers 0, 1, ... or 1, 2, ... after an empty first field, as pandas and R write them, count as names.
    """
    cells = [cell.strip() for cell in first]
    is_number = [_NUMBER.fullmatch(cell) is not None for cell in cells]
    rest = cells if len(cells) == 1 or is_number[0] else cells[1:]
    counted = [str(j) for j in range(len(rest) + 1)]
    if not all(is_number[-len(rest) :]) or (not cells[0] and rest in (counted[:-1], counted[1:])):
        return
    raise OptionError(
        f"the first line of {name} holds numbers, {listed(rest, 3)}, where the names of the columns are "
        f"expected: give {say('header', False)} if these are values (the columns are then called x1, x2, "
        f"...), {say('header', True)} if they are names."
    )
