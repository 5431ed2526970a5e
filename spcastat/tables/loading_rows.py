"""The table of sparse loadings: a blank is exactly zero, and nothing else is blank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.config import flag, real_number, whole_number
from spcastat.errors import ShapeError
from spcastat.intake.checks import frame_values
from spcastat.kernels.largest_rows import leading
from spcastat.labels import full_names
from spcastat.tables.cells import Figures, each, interval
from spcastat.tables.grid import Row, Table

#: What stands for a nonzero loading below the cutoff.
HIDDEN = "."


def loadings_table(
    loadings: pd.DataFrame,
    *,
    digits: int = 3,
    cutoff: float = 0.0,
    sort: bool = False,
    max_rows: int = 40,
    contributions: bool = False,
    dense: pd.DataFrame | None = None,
    intervals: tuple[pd.DataFrame, pd.DataFrame] | None = None,
    stars: pd.DataFrame | None = None,
) -> Table:
    """Return the loadings as a table of one row a variable and one column a component.

    A loading that is exactly zero is blank. A nonzero that rounds to zero prints as "<.001" or
    "-<.001". Variables without any loading are left out and counted in a note.

    Parameters
    ----------
    loadings : DataFrame, p x k
        Variables in the rows, components in the columns, names of any type.
    digits : int
        Decimals of a loading, 1 to 10. Contributions in percent have two fewer.
    cutoff : float
        Loadings below it in absolute value print as "." and are counted in a note.
    sort : bool
        Order the variables by the component on which their absolute loading is largest, then by its
        size. Otherwise they keep the order of the data.
    max_rows : int
        The most variables to show. If there are more, those kept have the largest loadings of every
        component, and a note counts the others.
    contributions : bool
        Show squared loadings in percent instead.
    dense : DataFrame, p x k, optional
        Loadings of dense PCA, to stand beside.
    intervals : (DataFrame, DataFrame), p x k each, optional
        Lower and upper bounds, to stand below; those of zero loadings are not shown.
    stars : DataFrame of str, p x k, optional
        What follows each loading.

    Returns
    -------
    Table

    Raises
    ------
    ShapeError, ColumnTypeError
        `loadings` is not a data frame of numbers with a row and a column, or what stands beside them is not
        of their shape.
    OptionError
        An option out of its range.
    """
    values = frame_values(loadings, "loadings")
    digits = whole_number("digits", digits, 1, 10)
    cutoff = real_number("cutoff", cutoff, 0.0, np.inf)
    max_rows = whole_number("max_rows", max_rows, 1)
    sort, contributions = flag("sort", sort), flag("contributions", contributions)
    n_loaded = int((values != 0).any(axis=1).sum())
    others = None if dense is None else _alike(frame_values(dense, "dense loadings"), values, "dense")
    kept = _kept(values, others, max_rows)
    if sort:
        kept = _by_component(values, kept)
    shown = values[kept]
    hidden = (shown != 0) & (np.abs(shown) < cutoff)
    labels = full_names([loadings.index[i] for i in kept])
    cells = list(_cells(shown, digits, cutoff, contributions))
    if stars is not None:
        cells = _starred(cells, _marks(stars, values)[kept])
    rows = [Row(label, line) for label, line in zip(labels, cells, strict=True)]
    if intervals is not None:
        lower, upper = (bound[kept] for bound in _bounds(intervals, values))
        below = (Row("", line) for line in _intervals(shown, lower, upper, digits))
        rows = [row for pair in zip(rows, below, strict=True) for row in pair]
    headings = full_names(loadings.columns)
    if dense is not None and others is not None:
        rows = _beside(rows, [each(line, digits) for line in others[kept].tolist()])
        headings = [text for pair in zip(headings, full_names(dense.columns), strict=True) for text in pair]
    return Table(
        title="Contributions, %" if contributions else "Loadings",
        headings=tuple(headings),
        rows=tuple(rows),
        notes=_notes(len(values), n_loaded, shown, int(hidden.sum()), cutoff, contributions),
        sparse=True,
        together=1 if dense is None else 2,
    )


def _alike(others: NDArray[Any], values: NDArray[np.float64], what: str) -> NDArray[Any]:
    """Return `others`, which must have the shape of the loadings."""
    if others.shape != values.shape:
        raise ShapeError(
            f"{what} of shape {others.shape} was given with loadings of shape {values.shape}; these must be "
            "equal."
        )
    return others


def _marks(stars: Any, values: NDArray[np.float64]) -> NDArray[np.object_]:
    """Return checked stars."""
    marks = stars.to_numpy(dtype=object) if isinstance(stars, pd.DataFrame) else np.empty(0, dtype=object)
    if not all(isinstance(mark, str) for mark in marks.ravel()):
        raise ShapeError("stars of something else than text were given; they are a data frame of strings.")
    return _alike(marks, values, "stars")


def _bounds(intervals: Any, values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the checked lower and upper bounds."""
    if not isinstance(intervals, (tuple, list)) or len(intervals) != 2:
        raise ShapeError(
            f"intervals of type {type(intervals).__name__} were given; they are a pair of data frames, lower "
            "and upper bounds."
        )
    return [_alike(frame_values(bound, "bounds of intervals"), values, "intervals") for bound in intervals]


def _kept(values: NDArray[np.float64], dense: NDArray[np.float64] | None, count: int) -> NDArray[np.intp]:
    """Return the rows to show: the leading ones, and where dense loadings stand beside, theirs."""
    kept = leading(values, count)
    if dense is None or len(kept) == count:
        return kept
    others = dense.copy()
    others[kept] = 0.0
    return np.sort(np.concatenate([kept, leading(others, count - len(kept))]))


def _starred(cells: list[tuple[str, ...]], stars: NDArray[np.object_]) -> list[tuple[str, ...]]:
    """Return the cells of numbers with their stars."""
    return [
        tuple(
            Figures.of(cell.numbers, cell.digits, stars=mark) if isinstance(cell, Figures) else cell
            for cell, mark in zip(line, marks, strict=True)
        )
        for line, marks in zip(cells, stars.tolist(), strict=True)
    ]


def _intervals(
    shown: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64], digits: int
) -> Iterator[tuple[str, ...]]:
    """Yield the line of intervals below each variable, blank where a loading is zero."""
    for values, lows, highs in zip(shown.tolist(), lower.tolist(), upper.tolist(), strict=True):
        yield tuple(
            interval(low, high, digits) if value else ""
            for value, low, high in zip(values, lows, highs, strict=True)
        )


def _beside(rows: list[Row], dense: list[tuple[Figures, ...]]) -> list[Row]:
    """Return the rows with the dense loading beside every sparse one; lines without a label have none."""
    found = iter(dense)
    blank = ("",) * len(dense[0])
    return [
        replace(
            row,
            cells=tuple(
                cell
                for pair in zip(row.cells, next(found) if row.label else blank, strict=True)
                for cell in pair
            ),
        )
        for row in rows
    ]


def _by_component(values: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    size = np.abs(np.nan_to_num(values[rows], nan=np.inf))
    return rows[np.lexsort((-size.max(axis=1), size.argmax(axis=1)))]


def _cells(
    shown: NDArray[np.float64], digits: int, cutoff: float, contributions: bool
) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each variable."""
    values = shown.ravel()
    if contributions:
        # The square of a loading below 1e-162 is zero in floating point; the loading is not.
        values, digits = np.maximum(100 * values**2, 5e-324), max(digits - 2, 0)
    texts = np.array(each(values.tolist(), digits), dtype=object).reshape(shown.shape)
    texts[np.abs(shown) < cutoff] = HIDDEN
    texts[shown == 0] = ""
    return (tuple(line) for line in texts.tolist())


def _notes(
    n_variables: int,
    n_loaded: int,
    shown: NDArray[np.float64],
    n_hidden: int,
    cutoff: float,
    contributions: bool,
) -> tuple[str, ...]:
    notes = []
    if contributions:
        notes.append("Contributions are squared loadings in percent.")
    if len(shown) and (shown == 0).any():
        notes.append(f"A blank is {'a loading of ' if contributions else ''}exactly zero.")
    if n_hidden:
        noun = "nonzero loading" if n_hidden == 1 else "nonzero loadings"
        notes.append(f'"{HIDDEN}" stands for {n_hidden} {noun} below {cutoff:g} in absolute value.')
    if len(shown) < n_loaded:
        notes.append(
            f"{len(shown)} of {n_loaded} variables with a loading are shown, those with the largest of every "
            "component; print_loadings(max_rows=...) shows more."
        )
    unloaded = n_variables - n_loaded
    if unloaded:
        verb = "has" if unloaded == 1 else "have"
        notes.append(f"{unloaded} of {n_variables} variables {verb} no loading.")
    return tuple(notes)
