"""A table of printed values, values obtained here, and the causes of differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from benchmarks.draws import Means
from benchmarks.papers.verdicts import DEVIATES, MET, Claim, Estimate, Value, compare
from benchmarks.report import markdown_table, text_table


@dataclass(frozen=True)
class Cause:
    """Why rows differ from the paper.

    Attributes
    ----------
    text : str
    rows : tuple of str
        What the rows begin with; after a space what they end with.
    tested : bool
        Whether a run showed it; otherwise it is supposed.
    """

    text: str
    rows: tuple[str, ...]
    tested: bool

    @property
    def kind(self) -> str:
        return "tested" if self.tested else "supposed"

    def covers(self, row: str) -> bool:
        return any(row.endswith(name) if name[0] == " " else row.startswith(name) for name in self.rows)


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
    causes : list of Cause
        The first that covers a row explains it.
    notes : list of str
        What else the reader must know.
    claims : list of Claim
        What the paper states of a figure in words; a cause covers a claim by the beginning of its text.
    not_judged : tuple of str
        Quantities that are shown, but not judged: seconds of another machine.
    """

    name: str
    title: str
    label: str
    quantities: dict[str, int]
    causes: list[Cause] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rows: list[tuple[str, list[Value], list[Value], int]] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    not_judged: tuple[str, ...] = ()

    def add(self, label: str, printed: Sequence[Value], ours: Sequence[Value] | Means | str) -> None:
        """Add a row; `ours` is a reason where there are no numbers."""
        draws = 1
        if isinstance(ours, Means):
            draws, ours = ours.draws, estimates(ours)
        if isinstance(ours, str):
            if ours.startswith("skipped"):
                if f"{ours}." not in self.notes:
                    self.notes.append(f"{ours}.")
                return
            self.notes.append(f"{label}: {ours.rstrip('.')}.")
            ours = ["n/a"] + [None] * (len(self.quantities) - 1)
        self.rows.append((label, list(printed), list(ours), draws))

    def verdict(self, row: tuple[str, list[Value], list[Value], int]) -> str:
        """Return whether a row is as printed, which cause it has, or that it has none; "" if not printed."""
        label, printed, ours, _ = row
        columns = zip(printed, ours, self.quantities, self.quantities.values(), strict=True)
        found = compare((p, o, digits) for p, o, name, digits in columns if name not in self.not_judged)
        return self._caused(label) if found == DEVIATES else found or ""

    def claimed(self, claim: Claim) -> str:
        """Return the verdict on a claim."""
        return MET if claim.holds else self._caused(claim.text)

    def _caused(self, label: str) -> str:
        for number, cause in enumerate(self.causes, 1):
            if cause.covers(label):
                return f"({number}) {cause.kind}"
        return DEVIATES

    def verdicts(self) -> list[str]:
        """Return the verdicts of all rows that the paper has, and of its claims."""
        rows = [found for row in self.rows if (found := self.verdict(row))]
        return [*rows, *(self.claimed(claim) for claim in self.claims)]

    def grid(self) -> tuple[list[str], list[list[str]]]:
        """Return the headings and the cells as text; a quantity without printed values has one column."""
        head, compared = [self.label], []
        for j, name in enumerate(self.quantities):
            compared.append(any(row[1][j] is not None for row in self.rows))
            head += [f"{name}, paper", "ours"] if compared[-1] else [name]
        judged, drawn = any(compared), any(row[3] > 1 for row in self.rows)
        head += [*(["draws"] if drawn else []), *(["verdict"] if judged else [])]
        table = []
        for row in self.rows:
            label, printed, ours, draws = row
            cells = [label]
            for j, digits in enumerate(self.quantities.values()):
                cells += [_cell(printed[j], digits)] if compared[j] else []
                cells.append(_cell(ours[j], digits))
            cells += [str(draws)] if drawn else []
            cells += [self.verdict(row)] if judged else []
            table.append(cells)
        return head, table

    def lines(self) -> list[str]:
        """Return the causes that are needed, numbered, and the notes."""
        used = {verdict.split(")")[0] for verdict in self.verdicts()}
        causes = [
            f"({number}) {cause.kind}: {cause.text}"
            for number, cause in enumerate(self.causes, 1)
            if f"({number}" in used
        ]
        drawn = any(row[3] > 1 for row in self.rows)
        return [*causes, *self.notes, *(["Standard errors in parentheses."] if drawn else [])]

    def as_text(self) -> str:
        body = [f"{self.name}: {self.title}"]
        if self.rows:
            body += ["", text_table(*self.grid())]
        if self.claims:
            body += ["", text_table(*self._claims())]
        return "\n".join([*body, *(f"* {line}" for line in self.lines())])

    def as_markdown(self) -> str:
        body = [f"### {self.name}: {self.title}"]
        compared = replace(self, rows=[row for row in self.rows if self.verdict(row)])
        trials = replace(self, rows=[row for row in self.rows if not self.verdict(row)])
        if compared.rows:
            body += ["", markdown_table(*compared.grid())]
        if compared.rows and trials.rows:
            body += ["", "Trials that are not in the paper:"]
        if trials.rows:
            body += ["", markdown_table(*trials.grid())]
        if self.claims:
            body += ["", markdown_table(*self._claims())]
        return "\n".join([*body, "", *(f"- {line}" for line in self.lines())])

    def _claims(self) -> tuple[list[str], list[list[str]]]:
        head = ["the paper states", "ours", "verdict"]
        return head, [[c.text, c.ours, self.claimed(c)] for c in self.claims]


def estimates(found: Means) -> list[Value]:
    """Return means with their standard errors, or without where there is one draw."""
    pairs = zip(np.atleast_1d(found.mean), np.atleast_1d(found.error), strict=True)
    return [Estimate(float(m), float(e)) if isfinite(e) else float(m) for m, e in pairs]


def _cell(value: Value, digits: int) -> str:
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return ""
    if isinstance(value, Estimate):
        return f"{value.value:.{digits}f}" + (f" ({value.error:.{digits}f})" if value.error else "")
    return value if isinstance(value, str) else f"{value:.{digits}f}"
