r"""Render a document as LaTeX with booktabs: as a ``table`` or, if longer than a page, a ``longtable``.

Greek letters, symbols and quotation marks become commands. Other letters outside ASCII are not changed:
Western European letters compile everywhere, other Latin letters need ``\usepackage[T1]{fontenc}``, and
other scripts need XeLaTeX or LuaLaTeX with a suitable font.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from spcastat.show import grid

# --- text and numbers ----------------------------------------------------------------------------


#: A number in a cell: sign, "<", digits, exponent.
NUMBER_CELL = re.compile(r"(-?)(<=?|>-)?(\d*[.,]?\d+)(?:e([+-]\d+))?")

#: LaTeX names of the Greek letters in order of their code points; a Latin letter if LaTeX has no command.
_LOWER_CASE = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi o pi rho varsigma sigma tau upsilon
phi chi psi omega
"""
_CAPITAL = "A B Gamma Delta E Z H Theta I K Lambda M N Xi O Pi P Sigma T Upsilon Phi X Psi Omega"


def _letters() -> dict[str, str]:
    capitals = [chr(code) for code in range(0x391, 0x3AA) if code != 0x3A2]
    names = {chr(0x3B1 + i): name for i, name in enumerate(_LOWER_CASE.split())}
    names |= dict(zip(capitals, _CAPITAL.split(), strict=True)) | {"µ": "mu"}
    letters = {char: name if len(name) == 1 else f"$\\{name}$" for char, name in names.items()}
    for i, char in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹"):
        letters |= {char: f"$^{{{i}}}$", chr(0x2080 + i): f"$_{{{i}}}$"}
    return letters


#: Symbols and punctuation that have commands in LaTeX.
_SYMBOLS = "−…–—‘’“”„«»•·°±×÷≤≥≠≈∞√→"
_SIGN_COMMANDS = r"""
$-$ \ldots{} -- --- ` ' `` '' ,, $\ll$ $\gg$ $\bullet$ $\cdot$ $^{\circ}$ $\pm$ $\times$ $\div$ $\leq$ $\geq$
$\neq$ $\approx$ $\infty$ $\surd$ $\rightarrow$
"""
#: Characters that must be written differently in LaTeX.
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
        **dict(zip(_SYMBOLS, _SIGN_COMMANDS.split(), strict=True)),
        "\N{NO-BREAK SPACE}": "~",
        # Inserted between hyphens, which would otherwise become a dash.
        "\N{WORD JOINER}": "{}",
        **_letters(),
    }
)


#: Indentation of the continuation lines of a name, in points.
INDENT = 7
#: Widths, in points, of Computer Modern characters that are much wider or narrower than others of their kind.
_LATEX_WIDTHS = {
    **{"m": 8.4, "M": 9.2, "w": 7.3, "W": 10.3, "%": 8.4, "&": 7.8, "@": 7.8},
    **dict.fromkeys("-−<|", 7.8),
    **{"i": 2.8, "l": 2.8, "j": 3.1, "f": 3.1, "t": 3.9, "r": 4.0, "I": 3.7, " ": 3.4, ".": 2.8, ",": 2.8},
}


def escape(text: str) -> str:
    """Return LaTeX that displays `text` on one line."""
    separated = re.sub(r"-(?=-)", "-\N{WORD JOINER}", text.strip())
    return " ".join(part.translate(ESCAPES) for part in re.split(r"[ \t\r\n\f\v]+", separated))


def points(text: str) -> int:
    """Return the width of `text` in 10 pt Computer Modern, in points, accurate to about 10 percent."""
    match = NUMBER_CELL.fullmatch(text)
    if match and match[4]:  # set as a power of ten
        return points(text[: match.start(4) - 1]) + 23 + 5 * len(str(int(match[4])))
    return ceil(sum(_LATEX_WIDTHS.get(c, 7.2 if c.isupper() else 5.3 if c.isalpha() else 5) for c in text))


def stacked(text: str, width: int, side: str) -> str:
    """Return a heading wrapped into lines of at most `width` points."""
    lines = [escape(line) for line in grid.wrapped(text, width, points)]
    if len(lines) == 1:
        return lines[0]
    return rf"\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}" + r"\\".join(lines) + r"\end{tabular}"


def number(cell: str) -> str:
    """Return a number in math mode, with a minus sign; any other cell as text."""
    bare, stars = grid.without_stars(cell)
    if isinstance(cell, grid.Figures) and len(cell.numbers) > 1:
        return f"${NUMBER_CELL.sub(lambda match: _math(match), bare)}$".replace(", ", r",\ ").replace(
            "; ", r";\ "
        )
    match = NUMBER_CELL.fullmatch(bare)
    if not match:
        return escape(cell)
    sign, below_sign, digits, exponent = match.groups()
    plain = not (sign or below_sign or exponent or "," in digits)
    return (digits if plain else f"${_math(match)}$") + (f"$^{{{stars}}}$" if stars else "")


def _math(match: re.Match[str]) -> str:
    sign, below_sign, digits, exponent = match.groups()
    power = rf" \times 10^{{{int(exponent)}}}" if exponent else ""
    relation = (
        r"{\leq}" if below_sign == "<=" else f"{{{below_sign[0]}}}{below_sign[1:]}" if below_sign else ""
    )
    return f"{sign}{relation}{digits.replace(',', '{,}')}{power}"


# --- tables --------------------------------------------------------------------------------------


#: In points: width and height of the text area (class article), twice \\tabcolsep as set below, and height
#: of a line.
PAGE_WIDTH, PAGE_HEIGHT, COLUMN_SEPARATION, LINE_HEIGHT = 345, 530, 8, 12.5
#: In points: smallest width of a column of long labels, largest width of long headings, width of \\quad.
LABEL_MINIMUM, LONG_HEADING, QUAD = 120, 62, 10


def render(document: grid.Document, layout: grid.Layout) -> str:
    """Return one ``table`` or ``longtable`` for each panel, with facts and notes below the last.

    Tables wider than ``layout.width`` characters are split into panels; 80 is the width of a page of the
    class ``article``. The first line names the packages that are needed.
    """
    document = layout.of(document)
    parts = list(_panels(document, PAGE_WIDTH * layout.width // 80 - COLUMN_SEPARATION))
    caption_lines = list(_notes(document))
    if layout.longtable or any(_tall(parts, document)):
        parts = [dataclasses.replace(part, tables=(table,)) for part in parts for table in part.tables]
    long = bool(parts) and (any(_tall(parts, document)) if layout.longtable is None else layout.longtable)
    lines = [rf"% needs \usepackage{{{'booktabs,longtable' if long else 'booktabs'}}}"]
    write = _long if long else _float
    for place, part in enumerate(parts):
        lines += write(part, document, place > 0, caption_lines if place == len(parts) - 1 else [])
    if not parts:
        lines += [
            r"\begin{table}[htbp]",
            r"\centering",
            *_caption(document, False),
            *caption_lines,
            r"\end{table}",
        ]
    return "\n".join(lines) + "\n"


def _tall(parts: list[Panel], document: grid.Document) -> Iterator[bool]:
    """Yield, for every panel, whether it is longer than a page; the last one includes the notes."""
    for part in parts:
        yield part.height + (part is parts[-1]) * _height(document) > PAGE_HEIGHT


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
    """

    tables: tuple[grid.Table, ...]
    columns: str
    room: int
    heading: int

    @property
    def height(self) -> float:
        """Approximate height in points."""
        lines = 3
        for table in self.tables:
            lines += 2 + len({row.group for row in table.rows} - {""})
            lines += sum(len(self.label(row.label, row.group)) for row in table.rows)
        return lines * LINE_HEIGHT

    def label(self, text: str, group: str = "") -> list[str]:
        """Return the lines of a label as LaTeX; lines after the first are indented, in a group all lines."""
        start = r"\quad " if group else ""
        if not self.room:
            return [start + escape(text)]
        width = int(0.93 * self.room) - INDENT - (QUAD if group else 0)
        first_line, *tail = (escape(line) for line in grid.wrapped(text, width, points))
        indent = INDENT + (QUAD if group else 0)
        return [start + first_line, *(rf"\hspace*{{{indent}pt}}{line}" for line in tail)]

    def heads(self, title: str) -> str:
        """Return the line of headings."""
        table = self.tables[0]
        pairs = zip(table.headings, table.align, strict=True)
        heads = [stacked(text, self.heading, side) for text, side in pairs]
        return " & ".join([r"\newline".join(self.label(title)), *heads]) + r" \\"

    def body(self, table: grid.Table) -> Iterator[str]:
        """Yield the lines below the headings of a table."""
        for (group, row), label in zip(
            grid.below_headings(table.rows), self._labels(table.rows), strict=True
        ):
            if row.rule:
                yield r"\midrule"
            if group:
                yield rf"\multicolumn{{{len(table.headings) + 1}}}{{l}}{{\textit{{{escape(group)}}}}} \\"
            yield " & ".join([label, *map(number, row.cells)]) + r" \\"

    def _labels(self, rows: tuple[grid.Row, ...]) -> Iterator[str]:
        """Yield labels as LaTeX; the next rows without labels contain the continuation of a long label."""
        waiting: list[str] = []
        for row, next_row in zip(rows, [*rows[1:], None], strict=True):
            waiting = self.label(row.label, row.group) if row.label else waiting
            parted = next_row is not None and not next_row.label
            current_lines, waiting = (waiting[:1], waiting[1:]) if parted else (waiting, [])
            yield r"\newline".join(current_lines)


def _panels(document: grid.Document, width: int) -> Iterator[Panel]:
    for block in grid.blocks(document.tables):
        label, heading = grid.label_width(block, points), width
        columns = grid.column_widths(block, points)
        if label + sum(COLUMN_SEPARATION + column for column in columns) > width:  # headings are wrapped
            heading = LONG_HEADING
            bare = tuple(dataclasses.replace(table, headings=("",) * len(table.headings)) for table in block)
            heads = [min(points(text), heading) for text in block[0].headings]
            columns = list(map(max, heads, grid.column_widths(bare, points)))
        for room, parts, _ in grid.panels(block, label, columns, width, COLUMN_SEPARATION, LABEL_MINIMUM):
            label_column = f"p{{{room}pt}}" if room < label else "l"
            yield Panel(parts, label_column + parts[0].align, room if room < label else 0, heading)


def _caption(document: grid.Document, continued: bool, part: str = "") -> list[str]:
    if not document.heading:
        return []
    label = rf"\label{{{document.label}}}" if document.label and not continued else ""
    title = escape(document.heading)
    if continued:
        title += f" (continued: {escape(part)})" if part else " (continued)"
    return [rf"\caption{{{title}}}{label}"]


def _float(part: Panel, document: grid.Document, continued: bool, notes: list[str]) -> Iterator[str]:
    yield from (r"\begin{table}[htbp]", r"\centering", r"\setlength{\tabcolsep}{4pt}")
    caption = _caption(document, continued)
    if caption:
        yield from ([r"\addtocounter{table}{-1}"] * continued + caption + [r"\smallskip"])
    yield from (rf"\begin{{tabular}}{{{part.columns}}}", r"\toprule")
    for place, table in enumerate(part.tables):
        yield from [r"\midrule"] * (place > 0)
        yield from (part.heads(table.title), r"\midrule", *part.body(table))
    yield from (r"\bottomrule", r"\end{tabular}")
    if notes:
        yield r"\par\medskip"
        yield from (r"\begin{minipage}{\linewidth}\footnotesize\raggedright", *notes, r"\end{minipage}")
    yield r"\end{table}"


def _long(part: Panel, document: grid.Document, continued: bool, notes: list[str]) -> Iterator[str]:
    """Yield the lines of a table that breaks across pages, with its headings repeated on each page."""
    (table,) = part.tables
    title = document.tables[0].title
    caption = _caption(document, continued, table.title if table.title != title else "")
    yield from (r"\begingroup", r"\setlength{\tabcolsep}{4pt}")
    yield from [r"\addtocounter{table}{-1}"] * (continued and bool(caption))
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
    if notes:
        yield from (r"{\footnotesize\raggedright\noindent", *notes, r"\par}")


def _notes(document: grid.Document) -> Iterator[str]:
    # the x of "100 rows x 13 variables" becomes a multiplication sign
    timed = ((label, re.sub(r"(?<=\d rows) x (?=\d)", " × ", text)) for label, text in document.facts)
    facts = [rf"\textit{{{escape(label)}:}} {escape(text)}" for label, text in timed]
    key = []
    for short, full_name in document.key:  # a line may end between the words of a name
        words = (escape(piece) + " " * piece.endswith(" ") for piece in grid.BREAKS.split(full_name))
        key.append(rf"\textit{{{escape(short)}:}} " + r"\allowbreak{}".join(words))
    texts = [*facts, *(escape(note) for note in document.all_notes), *key]
    if texts:
        yield " \\par\n".join(texts)


def _height(document: grid.Document) -> float:
    """Return the height of the facts, notes and key below the tables, in points."""
    texts = [label + text for label, text in (*document.facts, *document.key)] + list(document.all_notes)
    # a line of the notes below a table has about 85 characters
    return sum(1 + len(text) // 85 for text in texts) * 0.8 * LINE_HEIGHT
