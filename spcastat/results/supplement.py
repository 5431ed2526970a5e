"""The result of ``fit.supplement``: tables for supplementary rows and variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import OptionError
from spcastat.labels import full_names, name_text
from spcastat.report.summary import Summary
from spcastat.state.supplementary import Further
from spcastat.tables import Document, Row, Table
from spcastat.tables.cells import fixed

#: Largest number of rows in a printed table; frames have all.
MOST_ROWS = 30
#: The description of the option of plots.
DRAWN = """supplement : Supplement, optional
    What `supplement` returned: its rows are drawn as crosses, the means of levels as diamonds, and numeric
    variables as arrows among the correlations."""


class Supplement(Summary):
    """Supplementary rows and variables, the result of ``fit.supplement()``; plots take it as ``supplement=``.

    Notes
    -----
    Its `frames` are, depending on the rows and variables given:

    "rows", "rows_cos2"
        Scores of the rows, m x k, and their squared cosines with the components.
    "correlations", "correlations_cos2"
        Correlations of numeric variables with the scores, s x k, and their squares.
    "levels", "test_values"
        Means of the scores for the levels of factors, by (variable, level), and their test values. A test
        value above 2 in absolute value is significant at about 5 %.
    "ratios"
        Share of the variance of each score between the levels of each factor.
    "sizes"
        Number of rows (sum of weights) for each of these.
    """

    def __init__(self, rows: pd.DataFrame | None, cos2: pd.DataFrame | None, further: Further | None):
        self._further = further
        frames: dict[str, pd.DataFrame] = {}
        if rows is not None and cos2 is not None:
            frames |= {"rows": rows, "rows_cos2": cos2}
        if further is not None and len(further.correlations):
            frames |= {
                "correlations": further.correlations,
                "correlations_cos2": further.correlations**2,
            }
        if further is not None and len(further.levels):
            frames |= {"levels": further.levels, "test_values": further.test_values, "ratios": further.ratios}
        if further is not None:
            frames["sizes"] = further.sizes.to_frame("n")
        super().__init__(_document(frames, further), frames)

    @property
    def rows(self) -> pd.DataFrame | None:
        """Scores of the supplementary rows, m x k; None without them."""
        return self.frames.get("rows")

    @property
    def correlations(self) -> pd.DataFrame | None:
        """Correlations of the numeric variables with the scores, s x k; None without them."""
        return self.frames.get("correlations")

    @property
    def levels(self) -> pd.DataFrame | None:
        """Mean scores of the levels of factors, labelled "variable = level"; None without factors."""
        if "levels" not in self._frames:
            return None
        frame = self.frames["levels"]
        return frame.set_axis([_level(key) for key in frame.index])


def _document(frames: dict[str, pd.DataFrame], further: Further | None) -> Document:
    tables, notes = [], []
    if "rows" in frames:
        scores, cos2 = frames["rows"], frames["rows_cos2"]
        tables.append(_pairs("Row", scores, cos2, full_names(scores.index), "cos2"))
        if len(scores) > MOST_ROWS:
            notes.append(f"{MOST_ROWS} of {len(scores)} rows are shown.")
    if further is not None and "correlations" in frames:
        sizes = [f"{further.sizes[name]:g}" for name in frames["correlations"].index]
        names = full_names(frames["correlations"].index)
        tables.append(_plain("Correlation", frames["correlations"], names, sizes))
    if further is not None and "levels" in frames:
        names = [_level(key) for key in frames["levels"].index]
        tables.append(_pairs("Level: mean score", frames["levels"], frames["test_values"], names, "test"))
        notes.append("test: test value; beyond 2 in size a level goes with the component (5 %).")
    if "rows" in frames:
        notes.append("cos2: squared cosine of the row with the component.")
    return Document("Supplementary rows and variables", (), tuple(tables), tuple(notes))


def _plain(title: str, frame: pd.DataFrame, names: list[str], sizes: list[str]) -> Table:
    rows = [
        Row(name, (*(fixed(value, 2) for value in values), size))
        for name, values, size in zip(names, frame.to_numpy().tolist(), sizes, strict=True)
    ]
    return Table(title, (*full_names(frame.columns), "n"), tuple(rows[:MOST_ROWS]))


def _pairs(title: str, frame: pd.DataFrame, second: pd.DataFrame, names: list[str], what: str) -> Table:
    rows = [
        Row(
            name,
            tuple(
                cell
                for pair in zip(first, other, strict=True)
                for cell in (fixed(pair[0], 2), fixed(pair[1], 2))
            ),
        )
        for name, first, other in zip(
            names, np.asarray(frame).tolist(), np.asarray(second).tolist(), strict=True
        )
    ]
    headings = tuple(text for name in full_names(frame.columns) for text in (name, what))
    return Table(title, headings, tuple(rows[:MOST_ROWS]), together=2)


def _level(key: Any) -> str:
    return f"{name_text(key[0])} = {name_text(key[1])}"


def checked(given: Any) -> Supplement:
    """Return the option ``supplement=`` of a plot; raise OptionError if it is not a Supplement."""
    if isinstance(given, Supplement):
        return given
    raise OptionError(
        f"supplement of type {type(given).__name__} was given; it must be what fit.supplement(rows=..., "
        "variables=...) returns."
    )
