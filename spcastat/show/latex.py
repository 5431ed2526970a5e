r"""Render a document as LaTeX with booktabs: as a ``table`` or, if longer than a page, a ``longtable``.

Greek letters, symbols and quotation marks become commands. Other letters outside ASCII are not changed:
Western European letters compile everywhere, further Latin letters need ``\usepackage[T1]{fontenc}``, and
other scripts need XeLaTeX or LuaLaTeX with a suitable font.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from spcastat.show.grid import (
    BREAKS,
    Document,
    Figures,
    Layout,
    Row,
    Table,
    below_headings,
    blocks,
    column_widths,
    label_width,
    panels,
    without_stars,
    wrapped,
)

# --- text and numbers ----------------------------------------------------------------------------


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


#: Symbols and punctuation, and their spelling in LaTeX.
_SYMBOLS = "−…–—‘’“”„«»•·°±×÷≤≥≠≈∞√→"
_COMMANDS = r"""
$-$ \ldots{} -- --- ` ' `` '' ,, $\ll$ $\gg$ $\bullet$ $\cdot$ $^{\circ}$ $\pm$ $\times$ $\div$ $\leq$ $\geq$
$\neq$ $\approx$ $\infty$ $\surd$ $\rightarrow$
"""
#: Characters that need another spelling in LaTeX.
ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{char: "\\" + char for char in "&%_#$"},
        # Fonts with OT1 encoding show <, > and | as other characters.
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
        '"': "''",
        "`": r"\`{}",
        # At the start of a row, LaTeX would read a bracket or a star as an option of the preceding line end.
        "[": "{[}",
        "]": "{]}",
        "*": "{*}",
        **dict(zip(_SYMBOLS, _COMMANDS.split(), strict=True)),
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
    cells = (row.cells[place] for table in tables for row in table.rows)
    found = [match for match in map(_read, cells) if match]
    if not found:
        return ""
    sign = "-" * any(match[1] for match in found)
    whole, parts = (max(len(match[place] or "") for match in found) for place in (2, 3))
    shape = f"{sign}{max(whole, 1)}.{parts}"
    powers = [int(match[4]) for match in found if match[4]]
    if powers:
        shape += "e" + "-" * any(one < 0 for one in powers) + str(max(len(str(abs(one))) for one in powers))
    return shape


def _stars(tables: tuple[Table, ...], place: int) -> str:
    """Return the longest stars in a column."""
    cells = (row.cells[place] for table in tables for row in table.rows)
    return max((without_stars(cell)[1] for cell in cells), key=len, default="")


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


# --- tables --------------------------------------------------------------------------------------


#: In points: width and height of the text of a page (class article), twice \\tabcolsep as set below, height
#: of a line.
PAGE, HEIGHT, GAP, LINE = 345, 530, 8, 12.5
#: In points: smallest width of a column of long labels, largest width of long headings, \\quad.
LEAST, HEADING, QUAD = 120, 62, 10


def render(document: Document, layout: Layout | None = None) -> str:
    """Return one ``table`` or ``longtable`` for each panel, with facts and notes below the last.

    Tables wider than ``layout.width`` characters are split into panels; 80 is the width of a page of the
    class ``article``. The first line names the packages that are needed.
    """
    layout = layout or Layout()
    document = layout.of(document, "." if layout.siunitx else layout.decimal)
    parts = list(_panels(document, PAGE * layout.width // 80 - GAP, layout))
    below = list(_below(document))
    if layout.longtable or any(_tall(parts, document)):
        parts = [single for part in parts for single in part.apart()]
    long = bool(parts) and (any(_tall(parts, document)) if layout.longtable is None else layout.longtable)
    names = ["booktabs"] + ["longtable"] * long + ["siunitx"] * layout.siunitx
    lines = [rf"% needs \usepackage{{{','.join(names)}}}"]
    write = _long if long else _float
    for place, part in enumerate(parts):
        lines += write(part, document, place > 0, below if place == len(parts) - 1 else [])
    if not parts:
        lines += [r"\begin{table}[htbp]", r"\centering", *_caption(document, False), *below, r"\end{table}"]
    return "\n".join(lines) + "\n"


def _tall(parts: list[Panel], document: Document) -> Iterator[bool]:
    """Yield for every panel whether it is longer than a page, including the notes below the last one."""
    for part in parts:
        yield part.height + (part is parts[-1]) * _height(document) > HEIGHT


@dataclass(frozen=True)
class Panel:
    """Tables with common columns that fit the width of a page.

    Attributes
    ----------
    tables : tuple of Table
    columns : str
        The column specification of the ``tabular``.
    room : int
        Width of the label column in points; 0 for its natural width.
    heading : int
        Largest width of a line of a heading in points.
    siunitx : bool
        Whether the columns of numbers are S columns of siunitx.
    """

    tables: tuple[Table, ...]
    columns: str
    room: int
    heading: int
    siunitx: bool

    @property
    def height(self) -> float:
        """Approximate height in points."""
        lines = 3
        for table in self.tables:
            lines += 2 + len({row.group for row in table.rows} - {""})
            lines += sum(len(self.label(row.label, row.group)) for row in table.rows)
        return lines * LINE

    def label(self, text: str, group: str = "") -> list[str]:
        """Return the lines of a label as LaTeX; all but the first are indented, and in a group all are."""
        start = r"\quad " if group else ""
        if not self.room:
            return [start + escape(text)]
        width = int(0.93 * self.room) - INDENT - (QUAD if group else 0)
        first, *rest = (escape(line) for line in wrapped(text, width, points))
        indent = INDENT + (QUAD if group else 0)
        return [start + first, *(rf"\hspace*{{{indent}pt}}{line}" for line in rest)]

    def apart(self) -> Iterator[Panel]:
        """Yield a panel for each of the tables."""
        for table in self.tables:
            yield dataclasses.replace(self, tables=(table,))

    def heads(self, title: str) -> str:
        """Return the line of headings."""
        table = self.tables[0]
        pairs = zip(table.headings, table.align, strict=True)
        heads = [stacked(text, self.heading, side) for text, side in pairs]
        heads = [f"{{{head}}}" if head and self.siunitx else head for head in heads]
        return " & ".join([r"\newline".join(self.label(title)), *heads]) + r" \\"

    def body(self, table: Table) -> Iterator[str]:
        """Yield the lines below the headings of a table."""
        cell = cell_of if self.siunitx else number
        for (group, row), label in zip(below_headings(table.rows), self._labels(table.rows), strict=True):
            if row.rule:
                yield r"\midrule"
            if group:
                yield rf"\multicolumn{{{len(table.headings) + 1}}}{{l}}{{\textit{{{escape(group)}}}}} \\"
            yield " & ".join([label, *map(cell, row.cells)]) + r" \\"

    def _labels(self, rows: tuple[Row, ...]) -> Iterator[str]:
        """Yield labels as LaTeX; further lines of a long label fill the following rows without a label."""
        waiting: list[str] = []
        for row, below in zip(rows, [*rows[1:], None], strict=True):
            waiting = self.label(row.label, row.group) if row.label else waiting
            parted = below is not None and not below.label
            now, waiting = (waiting[:1], waiting[1:]) if parted else (waiting, [])
            yield r"\newline".join(now)


def _panels(document: Document, width: int, layout: Layout) -> Iterator[Panel]:
    for block in blocks(document.tables):
        label = label_width(block, points)
        columns = _widths(block, width, layout.siunitx)
        wrap = label + sum(GAP + column for column in columns) > width
        if wrap:
            columns = _widths(block, HEADING, layout.siunitx)
        for room, parts, _ in panels(block, label, columns, width, GAP, LEAST):
            sides = parts[0].align
            if layout.siunitx:
                sides = "".join(column_of(parts, place, layout.decimal) for place in range(len(sides)))
            yield Panel(
                parts,
                (f"p{{{room}pt}}" if room < label else "l") + sides,
                room if room < label else 0,
                HEADING if wrap else width,
                layout.siunitx,
            )


def _widths(block: tuple[Table, ...], heading: int, siunitx: bool) -> list[int]:
    """Return the widths of the columns in points, if headings wider than `heading` points are wrapped."""
    without = tuple(dataclasses.replace(table, headings=("",) * len(table.headings)) for table in block)
    heads = [min(points(text), heading) for text in block[0].headings]
    found = list(map(max, heads, column_widths(without, points)))
    if siunitx:
        found = [max(width, width_of(block, place)) for place, width in enumerate(found)]
    return found


def _caption(document: Document, again: bool, part: str = "") -> list[str]:
    if not document.heading:
        return []
    label = rf"\label{{{document.label}}}" if document.label and not again else ""
    title = escape(document.heading)
    if again:
        title += f" (continued: {escape(part)})" if part else " (continued)"
    return [rf"\caption{{{title}}}{label}"]


def _float(part: Panel, document: Document, again: bool, below: list[str]) -> Iterator[str]:
    yield from (r"\begin{table}[htbp]", r"\centering", r"\setlength{\tabcolsep}{4pt}")
    caption = _caption(document, again)
    if caption:
        yield from ([r"\addtocounter{table}{-1}"] * again + caption + [r"\smallskip"])
    yield from (rf"\begin{{tabular}}{{{part.columns}}}", r"\toprule")
    for place, table in enumerate(part.tables):
        yield from [r"\midrule"] * (place > 0)
        yield from (part.heads(table.title), r"\midrule", *part.body(table))
    yield from (r"\bottomrule", r"\end{tabular}")
    if below:
        yield r"\par\medskip"
        yield from (r"\begin{minipage}{\linewidth}\footnotesize\raggedright", *below, r"\end{minipage}")
    yield r"\end{table}"


def _long(part: Panel, document: Document, again: bool, below: list[str]) -> Iterator[str]:
    """Yield the lines of a table that breaks across pages, with its headings repeated on each page."""
    (table,) = part.tables
    first = document.tables[0].title
    caption = _caption(document, again, table.title if table.title != first else "")
    yield from (r"\begingroup", r"\setlength{\tabcolsep}{4pt}")
    yield from [r"\addtocounter{table}{-1}"] * (again and bool(caption))
    yield rf"\begin{{longtable}}{{{part.columns}}}"
    yield from [line + r" \\" for line in caption]
    heads = (r"\toprule", part.heads(table.title), r"\midrule")
    yield from (*heads, r"\endfirsthead")
    yield from [rf"\caption[]{{{escape(document.heading)} (continued)}} \\"] * bool(caption)
    yield from (*heads, r"\endhead")
    yield from (
        r"\midrule",
        rf"\multicolumn{{{len(table.headings) + 1}}}{{r}}{{\footnotesize continued}} \\",
        r"\endfoot",
    )
    yield from (r"\bottomrule", r"\endlastfoot")
    yield from part.body(table)
    yield from (r"\end{longtable}", r"\endgroup")
    if below:
        yield from (r"{\footnotesize\raggedright\noindent", *below, r"\par}")


def _below(document: Document) -> Iterator[str]:
    # the x of "100 rows x 13 variables" becomes a multiplication sign
    timed = ((label, re.sub(r"(?<=\d rows) x (?=\d)", " × ", text)) for label, text in document.facts)
    facts = [rf"\textit{{{escape(label)}:}} {escape(text)}" for label, text in timed]
    key = []
    for short, whole in document.key:  # a line may end between the words of a name
        words = (escape(piece) + " " * piece.endswith(" ") for piece in BREAKS.split(whole))
        key.append(rf"\textit{{{escape(short)}:}} " + r"\allowbreak{}".join(words))
    texts = [*facts, *(escape(note) for note in document.all_notes), *key]
    if texts:
        yield " \\par\n".join(texts)


def _height(document: Document) -> float:
    """Return the height of the facts, notes and key below the tables, in points."""
    texts = [label + text for label, text in (*document.facts, *document.key)] + list(document.all_notes)
    # a line of the notes below a table has about 85 characters
    return sum(1 + len(text) // 85 for text in texts) * 0.8 * LINE
