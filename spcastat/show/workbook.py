"""Excel workbooks, written by pandas with openpyxl: one sheet per table, with numeric cells."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import require_extra
from spcastat.errors import OptionError
from spcastat.fit import frames, rows
from spcastat.fit.archive import file_path, write_bytes
from spcastat.fit.frames import variance
from spcastat.fit.inputs import Source
from spcastat.fit.record import deep_copy
from spcastat.fit.state import FitState
from spcastat.labels import name_text, printable

#: Excel's limits: rows and columns of a sheet, characters of a cell.
MOST_ROWS, MOST_COLUMNS, MOST_TEXT = 1_048_576, 16_384, 32_767
#: The heading of the column of labels, for each table of a fit.
HEADS = {
    **dict.fromkeys(("loadings", "correlations", "standardisation", "stability"), "variable"),
    **dict.fromkeys(("variance", "score correlation", "shares"), "component"),
    **dict.fromkeys(("scores", "diagnostics"), "row"),
}


def write_workbook(
    path: str | PathLike[str], sheets: Mapping[str, pd.DataFrame], about: Sequence[tuple[str, str]]
) -> None:
    """Write frames as sheets of a workbook, after a first sheet, "about", that describes them.

    Text stays text even if it looks like a formula; missing numbers are blank.

    Parameters
    ----------
    path : str or path
        A name that ends in .xlsx.
    sheets : mapping
        Sheet name, at most 31 characters, -> frame.
    about : sequence of (str, str)
        Labels and texts of the first sheet.

    Raises
    ------
    ExtraError
        If openpyxl is not installed.
    FileError
        If the file cannot be written, or its name has another extension.
    OptionError
        If a frame has more rows or columns than a sheet can have.
    """
    target = file_path(path, [".xlsx"])
    require_extra("openpyxl", "excel", "to_excel()")
    for name, frame in sheets.items():
        height, columns = len(frame) + 1, frame.shape[1] + _levels(frame)
        if height > MOST_ROWS or columns > MOST_COLUMNS:
            raise OptionError(
                f"The table of {name} has {height:,} rows and {columns:,} columns with its labels; a sheet "
                f"holds {MOST_ROWS:,} and {MOST_COLUMNS:,}. Use DataFrame.to_csv or transform_to for larger "
                "tables."
            )
    pieces = [
        (label if start == 0 else "", text[start : start + MOST_TEXT])
        for label, text in about
        for start in range(0, max(len(text), 1), MOST_TEXT)
    ]
    buffer = io.BytesIO()
    with pd.ExcelWriter(buffer, engine="openpyxl") as book:
        first = pd.DataFrame(pieces, columns=["", ""]).map(_plain)
        first.to_excel(book, sheet_name="about", header=False, index=False)
        for name, frame in sheets.items():
            levels = _levels(frame)
            labels = ["" if one is None else name_text(one) for one in frame.index.names][:levels]
            heads = labels + [name_text(column) for column in frame.columns]
            cells = _cells(frame)
            cells.to_excel(book, sheet_name=name, header=heads, index=False, freeze_panes=(1, levels))
        for sheet in book.book:
            _finish(sheet)
    write_bytes(target, buffer.getvalue())


def _levels(frame: pd.DataFrame) -> int:
    """Return the number of columns for labels: 0 if the rows are only numbered."""
    numbered = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
    return 0 if numbered else frame.index.nlevels


def _cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Return labels and values of each row as values for cells."""
    labels = [frame.index.get_level_values(i) for i in range(_levels(frame))]
    columns = [*labels, *(frame.iloc[:, j] for j in range(frame.shape[1]))]
    plain = [pd.Series([_plain(one) for one in column], dtype=object) for column in columns]
    return pd.DataFrame(dict(enumerate(plain)))


def _finish(sheet: Any) -> None:
    """Set the widths of the columns of a sheet, and keep text that looks like a formula as text."""
    for column in sheet.iter_cols():
        values = [cell.value for cell in column[:1000]]
        longest = max(10 if isinstance(one, int | float) else len(str(one or "")) for one in values)
        sheet.column_dimensions[column[0].column_letter].width = min(max(longest, 8) + 2, 60)
        for cell in column:
            if cell.data_type == "f":
                cell.data_type = "s"


def _plain(value: Any) -> Any:
    """Return a value for a cell: None if it is missing, text if Excel has no such type."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value) if abs(int(value)) < 2**53 else str(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if np.isfinite(number) else None if np.isnan(number) else str(number).title()
    if value is None or value is pd.NaT or value is pd.NA or value == "":
        return None
    if isinstance(value, dt.datetime) and value.tzinfo is None and value.year >= 1900:
        return pd.Timestamp(value).to_pydatetime(warn=False)
    return (printable(value) if isinstance(value, str) else name_text(value))[:MOST_TEXT]


def fit_sheets(state: FitState, source: Source | None) -> dict[str, pd.DataFrame]:
    """Return all tables of a fit as sheet name -> frame."""
    loadings = frames.loadings(state)
    sheets = {
        "loadings": loadings,
        "variance": variance(state),
        "correlations": frames.correlations(state).assign(communality=frames.communalities(state)),
        "score correlation": frames.score_correlation(state),
        "shares": frames.component_shares(state),
    }
    if state.standard is not None:
        columns = {"mean": state.standard.mean, "scale": state.standard.scale}
        sheets["standardisation"] = pd.DataFrame(columns, index=loadings.index)
    if state.spec.partial is not None:
        given, found = state.spec.partial.spec.columns, state.spec.partial.regression
        sheets["covariates"] = pd.DataFrame(found.coefficients.T, index=loadings.index, columns=given)
    known = state.resampled
    if known.bootstrap is not None:
        sheets["bootstrap"] = frames.conf_int(state, known.bootstrap)
        sheets["bootstrap variance"] = frames.variance_ci(state, known.bootstrap)
    if known.stability is not None:
        sheets["stability"] = frames.frequency(state, known.stability)
    if known.split is not None:
        sheets["split"] = frames.split_conf_int(state, known.split)
    if known.tests is not None:
        sheets["tests"] = frames.tests(state, known.tests)
    for proven in state.proofs:
        joint = proven.scope == "joint"
        name = f"proof {proven.measure}{' orthogonal' * proven.orthogonal}" if joint else "proof"
        labels = pd.Index(["fit"] if joint else state.components, name="component")
        table = pd.DataFrame(proven.rows, index=labels)
        sheets[name] = table.drop(columns=["support", "supports"], errors="ignore")  # lists of variables
    if state.scores is not None or (source is not None and source.matrix is not None):
        sheets["scores"] = deep_copy(rows.scores(state, source))
    if source is not None and source.matrix is not None:
        sheets["diagnostics"] = rows.diagnostics(state, source)
    return {name: _headed(frame, name) for name, frame in sheets.items()}


def _headed(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return a frame with a heading for its column of labels."""
    what = HEADS.get(name)
    plain = what is None or frame.index.nlevels > 1 or frame.index.name is not None
    return frame if plain else frame.rename_axis(what, axis=0)
