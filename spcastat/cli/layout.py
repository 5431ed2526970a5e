"""How a table of text is laid out: what separates fields and decimals, and whether it starts with names.

What is not given is guessed from the first lines, where only one answer makes sense, and said. Where two do,
the error names the options.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from spcastat.cli.printing import note
from spcastat.config import listed
from spcastat.errors import DuplicateNamesError, FileError, OptionError

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
#: Lines and characters that a guess looks at, at most, but always a few lines.
_LINES, _CHARACTERS, _FEW = 200, 1_000_000, 5

_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)
_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?", re.ASCII)
_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+", re.ASCII)


@dataclass(frozen=True)
class Layout:
    """How the lines of a table are read.

    Attributes
    ----------
    separator, decimal : str
        One character each.
    header : bool
        Whether the first line holds the names of the columns.
    """

    separator: str
    decimal: str
    header: bool


def separator_of(text: str) -> str:
    """Return what ``--sep`` names: one character, or tab, comma, semicolon, bar, space."""
    named = {name: character for character, name in SEPARATORS.items()}
    found = {**named, "\\t": "\t", "space": " "}.get(text, text)
    if len(found) != 1 or not found.isascii() or found.isalnum() or found in "\"'\r\n\0.+-_":
        raise ValueError(
            f"{text!r} was given; it takes one character but no letter, digit, sign, point or quotation "
            "mark, or one of tab, comma, semicolon, bar, space"
        )
    return found


def find_layout(
    name: str,
    text: TextIO,
    usual: str,
    separator: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
) -> Layout:
    """Return the layout of a table: what was given, and for the rest what its first lines say.

    Parameters
    ----------
    name : str
        What the table is called in messages.
    text : file
        At its start.
    usual : str
        The separator that the name of the file stands for.
    separator, decimal, header
        What was given.

    Raises
    ------
    FileError
        For a table without lines, or where more than one layout makes sense.
    """
    lines, whole = _first_lines(text)
    if not any(line.strip() for line in lines):
        raise FileError(f"{name} cannot be read: it is empty.")
    guesses = []
    if separator is None:
        separator = _separator(lines, whole, usual)
        if separator != usual:
            guesses.append(f"--sep {SEPARATORS[separator]}")
    sample = _records(lines, separator, whole) or []
    if decimal is None:
        decimal = "." if separator == "," else _decimal(name, sample[1:])
        if decimal != ".":
            guesses.append(f"--decimal {decimal}")
    if header is None and sample:
        header = starts_with_names(name, sample[0])
        if not header:
            guesses.append("--no-header")
    if guesses:
        note(f"{name} is read with {' '.join(guesses)}, as its first lines say.")
    return Layout(separator, decimal, header is not False)


def _first_lines(text: TextIO) -> tuple[list[str], bool]:
    """Return the first lines, and whether these are all."""
    lines: list[str] = []
    size = 0
    for line in text:
        if len(lines) >= _LINES or (size >= _CHARACTERS and len(lines) >= _FEW):
            return lines, False
        lines.append(line)
        size += len(line)
    return lines, True


def is_blank(record: Sequence[str]) -> bool:
    """Whether a line has nothing in it but spaces; a field in quotation marks is something."""
    return not record or (len(record) == 1 and bool(record[0]) and not record[0].strip(" \t"))


def _records(lines: Sequence[str], separator: str, whole: bool) -> list[list[str]] | None:
    """Return the fields of the first lines, None where they cannot be read."""
    try:
        found = [record for record in csv.reader(iter(lines), delimiter=separator) if not is_blank(record)]
    except csv.Error:
        return None
    return found if whole or len(found) < 2 else found[:-1]  # a field may go on behind the last line


def _separator(lines: Sequence[str], whole: bool, usual: str) -> str:
    """Return what splits every line into equally many fields, most of them numbers."""
    best, most = usual, -1.0
    for candidate in dict.fromkeys([usual, *SEPARATORS]):
        sample = _records(lines, candidate, whole)
        if not sample or len({len(record) for record in sample}) > 1 or len(sample[0]) < 2:
            continue
        rows = sample[1:]
        share = sum(_is_number(cell) for row in rows for cell in row) / max(1, sum(map(len, rows)))
        if share > most:
            best, most = candidate, share
    return best


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell.strip()) is not None


def _decimal(name: str, rows: Sequence[Sequence[str]]) -> str:
    """Return the decimal mark of fields that commas do not separate."""
    cells = [cell.strip() for row in rows for cell in row if "," in cell or "." in cell]
    commas = [cell for cell in cells if _COMMA.fullmatch(cell) or _THOUSANDS.fullmatch(cell)]
    if not commas or any(_POINT.fullmatch(cell) for cell in cells):
        return "."
    if all(_THOUSANDS.fullmatch(cell) for cell in commas):
        raise OptionError(
            f"{name} cannot be read for certain: the comma in {listed(dict.fromkeys(commas), 3)} may stand "
            "before decimals or between thousands. Give --decimal , for decimals; otherwise write the "
            "numbers without it."
        )
    return ","


# --- names --------------------------------------------------------------------------------------


def starts_with_names(name: str, first: Sequence[str]) -> bool:
    """Whether the first line of a table holds names, and not numbers.

    Raises
    ------
    OptionError
        Where it holds numbers that may be either.
    """
    cells = [cell.strip() for cell in first]
    rest = cells if len(cells) == 1 or _is_number(cells[0]) else cells[1:]
    if not all(map(_is_number, rest)):
        return True
    counted = [str(j) for j in range(len(rest) + 1)]
    if not cells[0] and rest in (counted[:-1], counted[1:]):  # columns that were numbered when written
        return True
    if len(set(rest)) < len(rest) or any(cell.startswith("-") for cell in rest):
        return False
    raise OptionError(
        f"the first line of {name} holds numbers, {listed(rest, 3)}, where the names of the columns are "
        "expected: give --no-header if these are values (the columns are then called x1, x2, ...), --header "
        "if they are names."
    )


def column_names(name: str, first: Sequence[str], header: bool) -> list[str]:
    """Return the names of the columns; an empty first one, of the labels of the rows, is kept.

    Raises
    ------
    FileError
        For a column without a name.
    DuplicateNamesError
        For two of one name.
    """
    if not header:
        return [f"x{j}" for j in range(1, len(first) + 1)]
    names = [cell.strip() for cell in first]
    unnamed = [j + 1 for j, cell in enumerate(names) if not cell and (j or len(names) == 1)]
    if unnamed:
        which = f"column {unnamed[0]} has" if len(unnamed) == 1 else f"columns {_numbers(unnamed)} have"
        raise FileError(
            f"{name} cannot be read: {which} no name in the first line (only a first column may have none: "
            "the labels of the rows). Is there a separator too many at the ends of the lines?"
        )
    twice = [one for one, times in Counter(names).items() if times > 1]
    if twice:
        raise DuplicateNamesError(
            f"{name} has more than one column named {listed(twice)}; every column needs a name of its own "
            "(--no-header if the first line holds values)."
        )
    return names


def _numbers(values: Sequence[int]) -> str:
    return ", ".join(map(str, values[:5])) + (" and more" if len(values) > 5 else "")


def strict_records(name: str, text: TextIO, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every record with the number of the line where it ends; what is not a table of text is refused.

    Raises
    ------
    FileError
        For NUL characters, and for quotation marks that do not fit.
    """
    reader = csv.reader(text, delimiter=separator, strict=True)
    start = 1
    try:
        for record in reader:
            if any("\0" in cell for cell in record):
                raise FileError(
                    f"{name} cannot be read: line {start} holds NUL characters: it is not a table of text, "
                    "or one in UTF-16 without its mark: --encoding utf-16-le or utf-16-be."
                )
            yield reader.line_num, record
            start = reader.line_num + 1
    except csv.Error as error:
        reason = str(error)
        if "unexpected end" in reason or "field limit" in reason:
            reason = f"a quotation mark that is opened in the record at line {start} is never closed"
        raise FileError(f"{name} cannot be read: line {reader.line_num}: {reason}.") from error
