r"""LaTeX with the rules of booktabs: ``\usepackage{booktabs}`` is all that a document needs.

Greek letters, signs and quotes of names are written as commands. Other letters outside ASCII are left
as they are: those of Western Europe compile everywhere, further Latin letters need
``\usepackage[T1]{fontenc}``, other scripts XeLaTeX or LuaLaTeX with a font that has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import ceil

from spcastat.tables.table import Document, Table
from spcastat.tables.text import blocks, column_widths, label_width, panels

#: Points: the width of a page of the class article, and twice \\tabcolsep as it is set below.
PAGE, GAP = 345, 8

_NUMBER = re.compile(r"(-?)(<?)(\d*\.?\d+)(?:e([+-]\d+))?")

#: Names of the Greek letters in the order of their code points; those that LaTeX lacks are Latin letters.
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


#: Every character that is not written as itself.
ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{char: "\\" + char for char in "&%_#$"},
        # Fonts of OT1 show these three as other characters.
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
        '"': "''",
        "`": r"\`{}",
        # After the end of a row, LaTeX would read these as an option.
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
        # Put between hyphens, which would become a dash.
        "\N{WORD JOINER}": "{}",
        **_letters(),
    }
)


def render(document: Document, width: int = 80) -> str:
    """Return one ``table`` float for each panel, with the facts and notes below the last.

    Tables are split into panels as in text of `width` characters, 80 being the width of a page of the
    class ``article``.
    """
    floats = list(_tabulars(document, PAGE * width // 80 - GAP))
    below = list(_below(document))
    lines = []
    for number, tabular in enumerate(floats or [[]]):
        title = escape(document.title) + (" (continued)" if number else "")
        lines += [r"\begin{table}[htbp]", r"\centering", r"\setlength{\tabcolsep}{4pt}"]
        lines += [rf"\caption{{{title}}}", r"\smallskip"] if document.title else []
        lines += tabular
        lines += below if number >= len(floats) - 1 else []
        lines += [r"\end{table}"]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Return `text` on one line as LaTeX that shows it."""
    apart = re.sub(r"-(?=-)", "-\N{WORD JOINER}", text.strip())
    return " ".join(part.translate(ESCAPES) for part in re.split(r"[ \t\r\n\f\v]+", apart))


def _points(text: str) -> int:
    """Return the width of `text` in Computer Modern of 10 pt, to about a tenth."""
    return ceil(sum(7.8 if c in "-−<|" else 2.8 if c in ".," else 7.2 if c.isupper() else 5 for c in text))


def _number(cell: str) -> str:
    """Return a number in math mode, with a true minus; any other cell as text."""
    match = _NUMBER.fullmatch(cell)
    if not match:
        return escape(cell)
    sign, less, digits, exponent = match.groups()
    if not (sign or less or exponent):
        return cell
    power = rf" \times 10^{{{int(exponent)}}}" if exponent else ""
    return f"${sign}{'{<}' if less else ''}{digits}{power}$"


def _tabulars(document: Document, width: int) -> Iterator[list[str]]:
    for block in blocks(document.tables):
        label, columns = label_width(block, _points), column_widths(block, _points)
        for start, stop in panels(min(label, width - GAP - max(columns, default=0)), columns, width, GAP):
            parts = [table.columns(start, stop) for table in block]
            lines = [rf"\begin{{tabular}}{{l{parts[0].align}}}", r"\toprule"]
            for number, table in enumerate(parts):
                lines += [r"\midrule"] if number else []
                lines += _rows(table)
            yield [*lines, r"\bottomrule", r"\end{tabular}"]


def _rows(table: Table) -> Iterator[str]:
    heads = [escape(heading) for heading in table.headings]
    yield " & ".join([escape(table.title), *heads]) + r" \\"
    yield r"\midrule"
    group = ""
    for row in table.rows:
        if row.rule:
            yield r"\midrule"
        if row.group and row.group != group:
            yield rf"\multicolumn{{{len(heads) + 1}}}{{l}}{{\textit{{{escape(row.group)}}}}} \\"
        group = row.group
        label = (r"\quad " if row.group else "") + escape(row.label)
        yield " & ".join([label, *(_number(cell) for cell in row.cells)]) + r" \\"


def _below(document: Document) -> Iterator[str]:
    facts = [rf"\textit{{{escape(label)}:}} {escape(text)}" for label, text in document.facts]
    texts = facts + [escape(note) for note in document.all_notes]
    if texts:
        yield r"\par\medskip"
        yield r"\begin{minipage}{\linewidth}\footnotesize\raggedright"
        yield " \\par\n".join(texts)
        yield r"\end{minipage}"
