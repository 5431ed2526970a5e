"""Numbers in the S columns of siunitx, which line up at the decimal mark."""

from __future__ import annotations

import re

from spcastat.tables.cells import Figures
from spcastat.tables.latex_text import number, points
from spcastat.tables.table import Table

#: What siunitx reads: sign, digits, decimals, exponent.
_NUMBER = re.compile(r"(-?)(\d*)(?:\.(\d+))?(?:e([+-]\d+))?")


def column_of(tables: tuple[Table, ...], place: int, decimal: str) -> str:
    """Return the specification of a column: S with its format, or its own side where it has no number.

    Parameters
    ----------
    tables : tuple of Table
        Tables that share their columns.
    place : int
    decimal : {".", ","}
        The decimal mark that is shown; cells have a point.
    """
    shape = _shape(tables, place)
    if not shape:
        return tables[0].align[place]
    options = [f"table-format={shape}"]
    most = _stars(tables, place)
    options += [f"table-space-text-post={{$^{{{most}}}$}}"] if most else []
    options += ["output-decimal-marker={,}"] if decimal == "," else []
    return f"S[{','.join(options)}]"


def width_of(tables: tuple[Table, ...], place: int) -> int:
    """Return the points that an S column keeps free for its numbers."""
    sample = re.sub(r"\d", lambda digits: "0" * int(digits[0]), _shape(tables, place))
    return points(sample.replace("e", "00000")) + 4 * len(_stars(tables, place))


def _shape(tables: tuple[Table, ...], place: int) -> str:
    """Return the format of the numbers of a column, with a digit for each of theirs; "" without any."""
    found = [match for match in map(_read, _cells(tables, place)) if match]
    if not found:
        return ""
    sign = "-" * any(match[1] for match in found)
    whole, parts = (max(len(match[place] or "") for match in found) for place in (2, 3))
    shape = f"{sign}{max(whole, 1)}.{parts}"
    powers = [int(match[4]) for match in found if match[4]]
    if powers:
        shape += "e" + "-" * any(one < 0 for one in powers) + str(max(len(str(abs(one))) for one in powers))
    return shape


def _cells(tables: tuple[Table, ...], place: int) -> list[str]:
    return [row.cells[place] for table in tables for row in table.rows]


def _stars(tables: tuple[Table, ...], place: int) -> str:
    found = (cell.stars for cell in _cells(tables, place) if isinstance(cell, Figures))
    return max(found, key=len, default="")


def cell_of(cell: str) -> str:
    """Return a number as siunitx reads it, anything else in braces."""
    if not cell:
        return ""
    stars = cell.stars if isinstance(cell, Figures) else ""
    if _read(cell):
        return cell[: len(cell) - len(stars)] + (f"{{$^{{{stars}}}$}}" if stars else "")
    return f"{{{number(cell)}}}"


def _read(cell: str) -> re.Match[str] | None:
    stars = cell.stars if isinstance(cell, Figures) else ""
    match = _NUMBER.fullmatch(cell[: len(cell) - len(stars)])
    return match if match and (match[2] or match[3]) else None
