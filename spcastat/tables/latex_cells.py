r"""Convert text to LaTeX that displays it, and numbers to S columns of siunitx.

Greek letters, symbols and quotation marks become commands. Other letters outside ASCII are not changed:
Western European letters compile everywhere, further Latin letters need ``\usepackage[T1]{fontenc}``, and
other scripts need XeLaTeX or LuaLaTeX with a suitable font.
"""

from __future__ import annotations

import re
from math import ceil

from spcastat.tables.cells import Figures, without_stars
from spcastat.tables.grid import Table
from spcastat.tables.panels import BREAKS, wrapped

#: A number in a cell: sign, "<", digits, exponent.
NUMBER = re.compile(r"(-?)(<?)(\d*[.,]?\d+)(?:e([+-]\d+))?")

#: LaTeX names of the Greek letters in order of their code points; a Latin letter if LaTeX has no command.
_SMALL = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi o pi rho varsigma sigma tau upsilon
phi chi psi omega
"""
_CAPITAL = "A B Gamma Delta E Z H Theta I K Lambda M N Xi O Pi P Sigma T Upsilon Phi X Psi Omega"


def _letters() -> dict[str, str]:
    capitals = [chr(code) for code in range(0x391, 0x3AA) if code != 0x3A2]
    names = {chr(0x3B1 + i): name for i, name in enumerate(_SMALL.split())}
    names |= dict(zip(capitals, _CAPITAL.split(), strict=True)) | {"µ": "mu"}
    letters = {char: name if len(name) == 1 else f"$\\{name}$" for char, name in names.items()}
    for i, char in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹"):
        letters |= {char: f"$^{{{i}}}$", chr(0x2080 + i): f"$_{{{i}}}$"}
    return letters


#: Characters that need another spelling in LaTeX.
ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{char: "\\" + char for char in "&%_#$"},
        # Fonts with OT1 encoding show these three as other characters.
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
        '"': "''",
        "`": r"\`{}",
        # At the start of a row, LaTeX would read these as an option of the preceding line end.
        "[": "{[}",
        "]": "{]}",
        "*": "{*}",
        "−": "$-$",
        "…": r"\ldots{}",
        "–": "--",
        "—": "---",
        "‘": "`",
        "’": "'",
        "“": "``",
        "”": "''",
        "„": ",,",
        "«": r"$\ll$",
        "»": r"$\gg$",
        "•": r"$\bullet$",
        "·": r"$\cdot$",
        "°": r"$^{\circ}$",
        "±": r"$\pm$",
        "×": r"$\times$",
        "÷": r"$\div$",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "≠": r"$\neq$",
        "≈": r"$\approx$",
        "∞": r"$\infty$",
        "√": r"$\surd$",
        "→": r"$\rightarrow$",
        "\N{NO-BREAK SPACE}": "~",
        # Inserted between hyphens, which would become a dash otherwise.
        "\N{WORD JOINER}": "{}",
        **_letters(),
    }
)


#: Indentation of further lines of a name, in points.
INDENT = 7
#: Widths, in points, of Computer Modern characters that are much wider or narrower than others of their kind.
_WIDTHS = {
    **{"m": 8.4, "M": 9.2, "w": 7.3, "W": 10.3, "%": 8.4, "&": 7.8, "@": 7.8},
    **dict.fromkeys("-−<|", 7.8),
    **{"i": 2.8, "l": 2.8, "j": 3.1, "f": 3.1, "t": 3.9, "r": 4.0, "I": 3.7, " ": 3.4, ".": 2.8, ",": 2.8},
}


def escape(text: str) -> str:
    """Return LaTeX that displays `text` on one line."""
    apart = re.sub(r"-(?=-)", "-\N{WORD JOINER}", text.strip())
    return " ".join(part.translate(ESCAPES) for part in re.split(r"[ \t\r\n\f\v]+", apart))


def points(text: str) -> int:
    """Return the width of `text` in 10 pt Computer Modern, in points, accurate to about 10 percent."""
    match = NUMBER.fullmatch(text)
    if match and match[4]:  # set as a power of ten
        return points(text[: match.start(4) - 1]) + 23 + 5 * len(str(int(match[4])))
    return ceil(sum(_WIDTHS.get(c, 7.2 if c.isupper() else 5.3 if c.isalpha() else 5) for c in text))


def stacked(text: str, width: int, side: str) -> str:
    """Return a heading wrapped into lines of at most `width` points."""
    lines = [escape(line) for line in wrapped(text, width, points)]
    if len(lines) == 1:
        return lines[0]
    return rf"\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}" + r"\\".join(lines) + r"\end{tabular}"


def hanging(text: str, width: int) -> list[str]:
    """Return the lines of a name for a column of `width` points; all but the first are indented."""
    first, *rest = (escape(line) for line in wrapped(text, int(0.93 * width) - INDENT, points))
    return [first, *(rf"\hspace*{{{INDENT}pt}}{line}" for line in rest)]


def breakable(text: str) -> str:
    """Return a name with line breaks allowed between its words."""
    return r"\allowbreak{}".join(escape(piece) + " " * piece.endswith(" ") for piece in BREAKS.split(text))


def number(cell: str) -> str:
    """Return a number in math mode, with a minus sign; any other cell as text."""
    bare, stars = without_stars(cell)
    if isinstance(cell, Figures) and len(cell.numbers) > 1:
        return f"${NUMBER.sub(lambda match: _math(match), bare)}$".replace(", ", r",\ ").replace("; ", r";\ ")
    match = NUMBER.fullmatch(bare)
    if not match:
        return escape(cell)
    sign, less, digits, exponent = match.groups()
    plain = not (sign or less or exponent or "," in digits)
    return (digits if plain else f"${_math(match)}$") + (f"$^{{{stars}}}$" if stars else "")


def _math(match: re.Match[str]) -> str:
    sign, less, digits, exponent = match.groups()
    power = rf" \times 10^{{{int(exponent)}}}" if exponent else ""
    return f"{sign}{'{<}' if less else ''}{digits.replace(',', '{,}')}{power}"


# --- S columns of siunitx, which align numbers at the decimal mark ---------------------------------

#: A number that siunitx can read: sign, digits, decimals, exponent.
_PLAIN = re.compile(r"(-?)(\d*)(?:\.(\d+))?(?:e([+-]\d+))?")


def column_of(tables: tuple[Table, ...], place: int, decimal: str) -> str:
    """Return the specification of a column: S with a format, or l, c or r for a column without numbers.

    Parameters
    ----------
    tables : tuple of Table
        Tables with common columns.
    place : int
        Index of the column.
    decimal : {".", ","}
        The decimal mark to show; the cells have a point.
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
    """Return the width that an S column reserves for its numbers, in points."""
    sample = re.sub(r"\d", lambda digits: "0" * int(digits[0]), _shape(tables, place))
    return points(sample.replace("e", "00000")) + 4 * len(_stars(tables, place))


def _shape(tables: tuple[Table, ...], place: int) -> str:
    """Return siunitx's table-format for the numbers of a column; "" if it has none."""
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
    return max((without_stars(cell)[1] for cell in _cells(tables, place)), key=len, default="")


def cell_of(cell: str) -> str:
    """Return a cell for an S column: numbers unchanged, other text in braces."""
    if not cell:
        return ""
    if _read(cell):
        bare, stars = without_stars(cell)
        return bare + (f"{{$^{{{stars}}}$}}" if stars else "")
    return f"{{{number(cell)}}}"


def _read(cell: str) -> re.Match[str] | None:
    match = _PLAIN.fullmatch(without_stars(cell)[0])
    return match if match and (match[2] or match[3]) else None
