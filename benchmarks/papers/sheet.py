"""A table with what is printed, what comes out here, and the difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.report import markdown_table, text_table

Value = float | str | None


@dataclass
class Sheet:
    """One table of a paper.

    Attributes
    ----------
    name, title : str
    label : str
        Heading of the rows' names.
    quantities : dict
        Heading of each number -> its decimals.
    notes : list of str
        What the reader must know: deviations and their causes, what could not be remade and why.
    """

    name: str
    title: str
    label: str
    quantities: dict[str, int]
    notes: list[str] = field(default_factory=list)
    rows: list[tuple[str, list[Value], list[Value]]] = field(default_factory=list)

    def add(self, label: str, printed: Sequence[Value], ours: Sequence[Value] | str) -> None:
        """Add a row; `ours` is a reason where there are no numbers."""
        if isinstance(ours, str):
            self.notes.append(f"{label}: {ours.rstrip('.')}.")
            ours = ["n/a"] + [None] * (len(self.quantities) - 1)
        self.rows.append((label, list(printed), list(ours)))

    def grid(self) -> tuple[list[str], list[list[str]]]:
        """Return the headings and the cells as text; a quantity that is nowhere printed has one column."""
        head, compared = [self.label], []
        for j, name in enumerate(self.quantities):
            compared.append(any(printed[j] is not None for _, printed, _ in self.rows))
            head += [f"{name} print", "ours", "diff"] if compared[-1] else [name]
        table = []
        for label, printed, ours in self.rows:
            cells = [label]
            for j, digits in enumerate(self.quantities.values()):
                ours_cell = _cell(ours[j], digits)
                if compared[j]:
                    cells += [_cell(printed[j], digits), ours_cell, _difference(printed[j], ours[j], digits)]
                else:
                    cells.append(ours_cell)
            table.append(cells)
        return head, table

    def as_text(self) -> str:
        body = [f"{self.name}: {self.title}"]
        if self.rows:
            body += ["", text_table(*self.grid())]
        return "\n".join([*body, *(f"* {note}" for note in self.notes)])

    def as_markdown(self) -> str:
        body = [f"### {self.name}: {self.title}"]
        if self.rows:
            body += ["", markdown_table(*self.grid())]
        return "\n".join([*body, "", *(f"- {note}" for note in self.notes)])


def _cell(value: Value, digits: int) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{value:.{digits}f}"


def _difference(printed: Value, ours: Value, digits: int) -> str:
    if not isinstance(printed, (int, float)) or not isinstance(ours, (int, float)):
        return ""
    return f"{ours - printed:+.{digits}f}"
