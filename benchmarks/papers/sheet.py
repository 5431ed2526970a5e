"""A table of printed values, values obtained here, and the causes of differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from benchmarks.draws import Means
from benchmarks.papers.counting import counts_of
from benchmarks.papers.verdicts import (
    DIFFERS,
    FINDINGS,
    REPRODUCED,
    SETTING,
    Claim,
    Estimate,
    Value,
    compare,
)
from benchmarks.report import markdown_table, text_table


@dataclass(frozen=True)
class Cause:
    """Why rows differ from the paper.

    Attributes
    ----------
    text : str
    rows : tuple of str
        Beginnings of the names of the rows; texts that begin with a space are endings.
    finding : str
        The finding for these rows: one of FINDINGS, except the first.
    """

    text: str
    rows: tuple[str, ...]
    finding: str = DIFFERS

    def __post_init__(self) -> None:
        if self.finding not in FINDINGS[1:]:
            raise ValueError(f"{self.finding!r} is no finding")

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
        Remarks below the table.
    claims : list of Claim
        Statements of the paper about a figure; a cause covers a claim by the beginning of its text.
    not_judged : tuple of str
        Quantities that are shown, but not judged: seconds of another machine.
    readings : tuple of str
        Endings of the names of rows that read a printed row with a setting which the paper omits: if such a
        row agrees, the finding on the printed row is "with a setting".
    one_draw : bool
        Whether the paper has one draw, so that the range of ours decides whether it is within chance.
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
    readings: tuple[str, ...] = ()
    one_draw: bool = False

    def add(self, label: str, printed: Sequence[Value], ours: Sequence[Value] | Means | str) -> None:
        """Add a row; `ours` is the reason if there are no numbers."""
        draws = 1
        if isinstance(ours, Means):
            draws, ours = ours.draws, estimates(ours, self.one_draw)
        if isinstance(ours, str):
            if ours.startswith("skipped"):
                if f"{ours}." not in self.notes:
                    self.notes.append(f"{ours}.")
                return
            self.notes.append(f"{label}: {ours.rstrip('.')}.")
            ours = ["n/a"] + [None] * (len(self.quantities) - 1)
        self.rows.append((label, list(printed), list(ours), draws))

    def add_trials(self, results: Mapping[str, Means | str]) -> None:
        """Add a row for each result, none of which the paper prints."""
        for label, ours in results.items():
            self.add(label, [None] * len(self.quantities), ours)

    def verdict(self, row: tuple[str, list[Value], list[Value], int]) -> str:
        """Return the finding of a row, with the number of its cause; "" if it is not printed."""
        label, printed, ours, _ = row
        columns = zip(printed, ours, self.quantities, self.quantities.values(), strict=True)
        finding = compare((p, o, digits) for p, o, name, digits in columns if name not in self.not_judged)
        if finding == REPRODUCED and label.endswith(self.readings) and self.readings:
            return SETTING
        return self._caused(label) if finding == DIFFERS else finding or ""

    def claimed(self, claim: Claim) -> str:
        """Return the finding of a claim."""
        return REPRODUCED if claim.holds else self._caused(claim.text)

    def _caused(self, label: str) -> str:
        for number, cause in enumerate(self.causes, 1):
            if cause.covers(label):
                return f"({number}) {cause.finding}"
        return DIFFERS

    def verdicts(self) -> list[str]:
        """Return the findings on all printed rows, and on the claims of the paper."""
        rows = [finding for row in self.rows if (finding := self.verdict(row))]
        return [*rows, *(self.claimed(claim) for claim in self.claims if self.rows)]

    @property
    def lacks_data(self) -> bool:
        """Whether rows were skipped because a file of data is missing."""
        return any(note.startswith("skipped") for note in self.notes)

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
        """Return the numbered causes that apply, and the notes."""
        used = {verdict.split(")")[0] for verdict in self.verdicts()}
        causes = [
            f"({number}) {cause.finding}: {cause.text}"
            for number, cause in enumerate(self.causes, 1)
            if f"({number}" in used
        ]
        drawn = any(row[3] > 1 for row in self.rows)
        errors = (
            "Ranges over the draws in parentheses." if self.one_draw else "Standard errors in parentheses."
        )
        return [*causes, *self.notes, *([errors] if drawn else [])]

    def as_text(self) -> str:
        body = [f"{self.name}: {self.title}"]
        if self.rows:
            body += ["", text_table(*self.grid())]
        if self.claims and self.rows:
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
        if self.claims and self.rows:
            body += ["", markdown_table(*self._claims())]
        counts = counts_of("\n".join(body))
        return "\n".join([*body, "", *([counts] if counts else []), *(f"- {line}" for line in self.lines())])

    def _claims(self) -> tuple[list[str], list[list[str]]]:
        head = ["the paper states", "ours", "verdict"]
        return head, [[c.text, c.ours, self.claimed(c)] for c in self.claims]


def estimates(found: Means, ranges: bool = False) -> list[Value]:
    """Return means, with standard errors if there are several draws, and with ranges if `ranges`."""
    values: list[Value] = []
    for j, (mean, error) in enumerate(
        zip(np.atleast_1d(found.mean), np.atleast_1d(found.error), strict=True)
    ):
        if not isfinite(error):
            values.append(float(mean))
        elif ranges and found.low is not None and found.high is not None:
            low, high = float(np.atleast_1d(found.low)[j]), float(np.atleast_1d(found.high)[j])
            values.append(Estimate(float(mean), float(error), low=low, high=high))
        else:
            values.append(Estimate(float(mean), float(error)))
    return values


def _cell(value: Value, digits: int) -> str:
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return ""
    if not isinstance(value, Estimate):
        return value if isinstance(value, str) else f"{value:.{digits}f}"
    if value.low is not None and value.high is not None:
        span = f" ({value.low:.{digits}f} to {value.high:.{digits}f})" if value.low < value.high else ""
        return f"{value.value:.{digits}f}{span}"
    return f"{value.value:.{digits}f}" + (f" ({value.error:.{digits}f})" if value.error else "")
