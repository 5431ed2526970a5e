"""Printed output for outlying cells and rows, the most outlying first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.arguments import plural
from spcastat.fit import outliers
from spcastat.fit.state import FitState
from spcastat.inputs.cleaning import OUTLIERS
from spcastat.inputs.data import Data
from spcastat.labels import full_names, short_names
from spcastat.show import renderings
from spcastat.show.facts import robust
from spcastat.show.grid import Document, Layout, Picture, Row, Table, fixed
from spcastat.show.renderings import CELL_NAME_WIDTH, TABLE_LINES, WIDTH, Excerpt, Screen, render
from spcastat.show.templates import lines

#: The largest numbers of outlying cells and rows that are printed; frames contain all.
CELLS_LISTED, ROWS_LISTED = 20, 10
#: Rows with at least this many outlying cells, in more than this share of the columns, are printed, too.
FEWEST_CELLS, MUCH_OF_A_ROW = 5, 0.1
#: The largest numbers of rows and variables in the map of a report.
REPORT_MAP = (30, 24)


def outliers_document(state: FitState) -> Document:
    """Return tables of far rows, the farthest first, and of outlying cells, the largest |z| first."""
    cleaning = outliers.cleaning_of(state)
    cells, rows = outliers.cells(state), outliers.rows(state)
    tables, notes = [], []
    rows["position"] = np.arange(len(rows))
    far = _rows_to_look_at(rows, cleaning.rows, len(state.spec.columns))
    if len(far):
        tables.append(_rows_table(far, rows.index.is_unique))
        notes += [f"{plural(len(far) - ROWS_LISTED, 'other row')}: see rows."] * (len(far) > ROWS_LISTED)
        notes.append(
            f"distance: largest robust distance of a score; rows beyond {OUTLIERS.far:g} are left out, "
            "unless the scores predict them as well as the others."
        )
    if len(cells):
        tables.append(_cells_table(cells, rows.index.is_unique))
        hidden_count = len(cells) - CELLS_LISTED
        notes += [f"{plural(hidden_count, 'other cell')}: see cells, and plot_cells()."] * (hidden_count > 0)
        notes.append(
            "z: distance from the middle of the column in robust standard deviations; usual: the values with "
            f"z within {cleaning.wrapping.bend:g}, which are used as they are."
        )
    if not tables:
        notes.append("There are no outlying cells or rows.")
    header = tuple(lines([robust(state, cleaning)]))
    return Document("Outlying cells and rows", header, tuple(tables), tuple(notes))


def outliers_screen(state: FitState) -> Screen:
    """Return the print: as many of the first rows and cells of `outliers_document` as fit."""
    document = outliers_document(state)

    def body(room: int) -> Excerpt:
        tables, left_out = [], 0
        for i, table in enumerate(document.tables):
            remaining = room // (len(document.tables) - i) - TABLE_LINES
            rows = table.rows[: max(remaining, 1)]
            room -= len(rows) + TABLE_LINES
            left_out += len(table.rows) - len(rows)
            tables.append(replace(table, rows=rows))
        layout = Layout(width=WIDTH)
        if not tables:
            return Excerpt([])
        return Excerpt(render(Document("", tables=tuple(tables)), "text", layout).splitlines(), left_out)

    header = " ".join(f"{label}: {text}." for label, text in document.facts)
    keys = tuple(note for note in document.notes if not note[0].isdigit())
    return Screen(header, body, keys, (), renderings.ending("fit.robust", [], "as_text()"))


def outlier_map(state: FitState, source: Data | None, limits: tuple[int, int]) -> plots.CellMap:
    """Return the map with at most `limits` rows and columns; variables are in the order of the components."""
    cleaning = outliers.cleaning_of(state)
    V = np.abs(state.V if state.pattern is None else state.pattern)
    component = np.where(V.any(axis=1), V.argmax(axis=1), V.shape[1])
    order = np.lexsort((-V.max(axis=1), component))
    missing = None if source is None else np.isnan(source.rows("plot_cells()").raw_rows)
    table, judged = outliers.rows(state), ~cleaning.wrapping.plain
    return plots.cell_map_of(
        pd.Series(cleaning.z),
        cleaning.places,
        table,
        state.spec.columns,
        judged,
        order,
        limits,
        missing,
        cleaning.wrapping.bend,
    )


def map_picture(state: FitState, source: Data | None) -> Picture:
    """Return the figure of the outlying cells for a report."""
    cell_map = outlier_map(state, source, REPORT_MAP)
    rows, columns = cell_map.values.shape
    about = f"Map of outlying cells: {plural(rows, 'row')} by {plural(columns, 'variable')}."
    height = 2.2 + plots.ROW_INCHES * max(rows, 6)
    return Picture(lambda ax: plots.draw_cell_map(cell_map, ax), 6.4, height, "outlying-cells", about, about)


def _rows_to_look_at(rows: pd.DataFrame, judged: bool, columns: int) -> pd.DataFrame:
    """Return rows left out, other far rows, and rows with many outlying cells, the farthest first."""
    far = (~rows["kept"] | (rows["distance"] > OUTLIERS.far)) & judged
    often = rows["cells"] >= max(FEWEST_CELLS, MUCH_OF_A_ROW * columns)
    selected_rows = rows[far | often]
    return selected_rows.iloc[
        np.lexsort((-selected_rows["cells"], -selected_rows["distance"], selected_rows["kept"]))
    ]


def _names(labels: Iterable[Any], positions: Iterable[int], unique: bool) -> list[str]:
    """Return row labels, followed by the position of the row, from 0, if labels are not unique."""
    names = full_names(labels)
    if unique:
        return names
    return [f"{name} [{place}]" for name, place in zip(names, positions, strict=True)]


def _rows_table(far: pd.DataFrame, unique: bool) -> Table:
    visible_rows = far.iloc[:ROWS_LISTED]
    names = _names(visible_rows.index, visible_rows["position"], unique)
    lines_of = zip(names, visible_rows["distance"], visible_rows["cells"], visible_rows["kept"], strict=True)
    return Table(
        "Row",
        ("distance", "outlying cells", "used"),
        tuple(
            Row(name, (fixed(distance, 1), str(count), "yes" if is_used else "left out"))
            for name, distance, count, is_used in lines_of
        ),
        align="rrl",
    )


def _short(value: float) -> str:
    """Return a value with four significant digits, without an exponent below 10^7."""
    text = f"{value:.4g}"
    return f"{float(text):.0f}" if 1e4 <= abs(value) < 1e7 else text


def _cells_table(cells: pd.DataFrame, unique: bool) -> Table:
    visible_cells = cells.iloc[:CELLS_LISTED]
    names, rows = _names(visible_cells["row"], visible_cells["position"], unique), []
    labels = list(dict.fromkeys(visible_cells["variable"]))
    short = dict(zip(labels, short_names(labels, CELL_NAME_WIDTH), strict=True))
    records: list[Any] = list(visible_cells.itertuples(index=False))
    for name, cell in zip(names, records, strict=True):
        usual = f"{_short(cell.low)} to {_short(cell.high)}"
        used = _short(cell.used) if cell.kept else "left out"
        texts = (short[cell.variable], _short(cell.value), usual, fixed(cell.z, 1), used)
        rows.append(Row(name, texts))
    return Table("Cell: row", ("variable", "value", "usual", "z", "used as"), tuple(rows), align="lrrrr")
