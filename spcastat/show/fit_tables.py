"""The tables of a fit: loadings, variance, and scales of unit weights.

A loading is blank if, and only if, it is exactly zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.config import flag, listed, plural, real_number, shown, whole_number
from spcastat.errors import OptionError, ShapeError
from spcastat.fit.frames import VARIANCE, Column
from spcastat.labels import full_names, name_text, short_names
from spcastat.linalg.eigenvectors import leading
from spcastat.reading.checks import frame_values, real_array
from spcastat.reading.frames import variable_groups
from spcastat.show.grid import Document, Figures, Row, Table, alike, each, fixed, percent

#: Shown for a nonzero loading below the cut.
HIDDEN = "."
#: Tables with more variables than this are sorted by default.
UNSORTED = 25
#: Returns an array of numbers as cells with the given decimals.
_fixed = np.vectorize(fixed, otypes=[object])
#: Variables that are zero in all components are named if their names have at most this many characters.
NAMED = 240


@dataclass(frozen=True)
class Arrangement:
    """Which variables a table of loadings shows, and in which order.

    Attributes
    ----------
    sort : bool, optional
        Whether to sort the variables by the component on which their absolute loading is largest, then by its
        size; False keeps the order of the data. By default tables of more than 25 variables are sorted.
    max_rows : int, optional
        The largest number of variables to show; by default all with a nonzero loading are shown. If there are
        more, those with the largest loadings of every component are shown, and a note counts the others.
    groups : Series, mapping or sequence of length p, optional
        A group for each variable, such as the scale of a questionnaire to which it belongs. The variables of
        a group are shown together under its name.
    cut : float
        Loadings below it in absolute value are shown as "." and counted in a note.

    Raises
    ------
    OptionError
        If an option is out of its range.
    """

    sort: bool | None = None
    max_rows: int | None = None
    groups: Any = None
    cut: float = 0.0

    def __post_init__(self) -> None:
        if self.sort is not None:
            flag("sort", self.sort)
        if self.max_rows is not None:
            whole_number("max_rows", self.max_rows, 1)
        object.__setattr__(self, "cut", real_number("cut", self.cut, 0.0, np.inf))

    def rows(
        self, values: NDArray[np.float64], names: pd.Index, others: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.intp], list[str]]:
        """Return the indices of the variables to show, in order, and the group heading of each ("": none).

        Parameters
        ----------
        values : ndarray of shape (p, k)
            Loadings.
        names : Index of length p
        others : ndarray of shape (p, k), optional
            Loadings of dense PCA. Variables with the largest of these are shown too, if there is room.
        """
        kept = leading(values, len(values) if self.max_rows is None else self.max_rows)
        room = (UNSORTED if self.max_rows is None else self.max_rows) - len(kept)
        if others is not None and room > 0:
            further = others.copy()
            further[kept] = 0.0
            kept = np.sort(np.concatenate([kept, leading(further, room)]))
        if self.sort or (self.sort is None and len(kept) > UNSORTED):
            size = np.abs(np.nan_to_num(values[kept], nan=np.inf))
            kept = kept[np.lexsort((-size.max(axis=1), size.argmax(axis=1)))]
        if self.groups is None:
            return kept, [""] * len(kept)
        found = variable_groups(self.groups, names)
        codes = np.where(found.codes < 0, len(found.categories), found.codes)[kept]
        order = np.argsort(codes, kind="stable")
        heads = [*full_names(found.categories), "no group"]
        return kept[order], [heads[code] for code in codes[order]]


def loadings_table(
    loadings: pd.DataFrame,
    arrangement: Arrangement | None = None,
    *,
    digits: int = 3,
    contributions: bool = False,
    columns: pd.DataFrame | None = None,
    dense: pd.DataFrame | None = None,
    intervals: tuple[pd.DataFrame, pd.DataFrame] | None = None,
    stars: pd.DataFrame | None = None,
) -> Table:
    """Return the loadings as a table with one row for each variable and one column for each component.

    A loading that is exactly zero is blank. A nonzero loading that rounds to zero is shown as "<.001" or
    "-<.001". Variables that are zero in all components are omitted, and a note names or counts them.

    Parameters
    ----------
    loadings : DataFrame, p x k
        Variables in the rows, components in the columns, with labels of any type.
    arrangement : Arrangement, optional
        Which variables are shown, and in which order.
    digits : int
        Number of decimals, 1 to 10. Contributions in percent have two fewer.
    contributions : bool
        Whether to show squared loadings in percent instead.
    columns : DataFrame, p rows, optional
        Further numbers of each variable, such as its communality, shown as last columns with two decimals.
    dense : DataFrame, p x k, optional
        Loadings of dense PCA, shown next to the sparse ones.
    intervals : (DataFrame, DataFrame), p x k each, optional
        Lower and upper bounds, shown below nonzero loadings.
    stars : DataFrame of str, p x k, optional
        Marks that follow each loading.

    Returns
    -------
    Table

    Raises
    ------
    ShapeError, ColumnTypeError
        If `loadings` is not a data frame of numbers with rows and columns, or another frame does not have its
        shape.
    OptionError
        If an option is out of its range.
    """
    if arrangement is not None and not isinstance(arrangement, Arrangement):
        raise OptionError(f"arrangement={shown(arrangement)} was given; it must be an Arrangement or None.")
    arrangement = arrangement or Arrangement()
    values = frame_values(loadings, "loadings")
    digits, contributions = whole_number("digits", digits, 1, 10), flag("contributions", contributions)
    others = None if dense is None else _alike(frame_values(dense, "dense loadings"), values, "dense")
    kept, groups = arrangement.rows(values, loadings.index, others)
    kept_values = values[kept]
    labels = full_names([loadings.index[i] for i in kept])
    cells = _cells(kept_values, digits, arrangement.cut, contributions)
    if stars is not None:
        marks = stars.to_numpy(dtype=object) if isinstance(stars, pd.DataFrame) else np.empty(0, dtype=object)
        if not all(isinstance(mark, str) for mark in marks.ravel()):
            raise ShapeError(
                "stars of something else than text were given; they are a data frame of strings."
            )
        pairs = zip(cells.ravel(), _alike(marks, values, "stars")[kept].ravel(), strict=True)
        for place, (cell, mark) in enumerate(pairs):
            if isinstance(cell, Figures):
                cells.flat[place] = Figures.of(cell.numbers, cell.digits, stars=mark)
    headings, step = full_names(loadings.columns), 1
    if dense is not None and others is not None:
        cells = np.stack([cells, _fixed(others[kept], digits)], axis=2).reshape(len(cells), -1)
        headings = [text for pair in zip(headings, full_names(dense.columns), strict=True) for text in pair]
        step = 2
    if columns is not None:
        further = frame_values(columns, "further columns")
        if len(further) != len(values):
            raise ShapeError(
                f"further columns of {plural(len(further), 'row')} were given with loadings of "
                f"{len(values)}; these must be as many."
            )
        cells = np.hstack([cells, _fixed(further[kept], 2)])
        headings += full_names(columns.columns)
    lines = zip(labels, cells, groups, strict=True)
    rows = [Row(label, tuple(line), group) for label, line, group in lines]
    if intervals is not None:
        if not isinstance(intervals, (tuple, list)) or len(intervals) != 2:
            raise ShapeError(
                f"intervals of type {type(intervals).__name__} were given; they are a pair of data frames, "
                "lower and upper bounds."
            )
        bounds = (frame_values(bound, "bounds of intervals") for bound in intervals)
        lower, upper = (_alike(bound, values, "intervals")[kept] for bound in bounds)
        below = np.full_like(cells, "")
        for i, j in np.argwhere(kept_values != 0).tolist():
            below[i, step * j] = Figures.of((lower[i, j], upper[i, j]), digits)
        under = [Row("", tuple(line), group) for line, group in zip(below, groups, strict=True)]
        rows = [row for pair in zip(rows, under, strict=True) for row in pair]
    return Table(
        title="Contributions, %" if contributions else "Loadings",
        headings=tuple(headings),
        rows=tuple(rows),
        notes=tuple(_notes(values, loadings.index, kept_values, arrangement.cut, contributions)),
        sparse=True,
        together=1 if dense is None else 2,
    )


def _alike(others: NDArray[Any], values: NDArray[np.float64], what: str) -> NDArray[Any]:
    """Check that `others` has the shape of the loadings, and return it."""
    if others.shape != values.shape:
        raise ShapeError(
            f"{what} of shape {others.shape} was given with loadings of shape {values.shape}; these must be "
            "equal."
        )
    return others


def _cells(shown: NDArray[np.float64], digits: int, cut: float, contributions: bool) -> NDArray[np.object_]:
    """Return the cells of the variables to be shown, one row each."""
    values = shown
    if contributions:
        # The square of a loading below 1e-162 is zero in floating point; the loading is not.
        values, digits = np.maximum(100 * values**2, 5e-324), max(digits - 2, 0)
    texts: NDArray[np.object_] = _fixed(values, digits)
    texts[np.abs(shown) < cut] = HIDDEN
    texts[shown == 0] = ""
    return texts


def _notes(
    values: NDArray[np.float64], names: pd.Index, shown: NDArray[np.float64], cut: float, contributions: bool
) -> Iterator[str]:
    """Yield the notes: what blanks and marks mean, and which variables are not in the table."""
    loaded, hidden = (values != 0).any(axis=1), int(((shown != 0) & (np.abs(shown) < cut)).sum())
    if contributions:
        yield "Contributions are squared loadings in percent."
    if len(shown) and (shown == 0).any():
        yield f"A blank is {'a loading of ' if contributions else ''}exactly zero."
    if hidden:
        loadings = plural(hidden, "nonzero loading")
        yield f'"{HIDDEN}" stands for {loadings} below {cut:g} in absolute value.'
    count = int(loaded.sum())
    if len(shown) < count:
        yield (
            f"{len(shown)} of {count} variables with a loading are shown, those with the largest loadings of "
            "each component; max_rows sets the number."
        )
    if count < len(values):
        rest = list(names[~loaded].to_flat_index())
        yield _zero_in_all(rest, len(values))


def _zero_in_all(names: list[Any], p: int) -> str:
    """Return the note on variables that are zero in all components; it names them if they are few."""
    count = f"{len(names)} of {plural(p, 'variable')}"
    for some in (full_names(names), short_names(names)) if len(names) < NAMED else ():
        if len(text := ", ".join(some)) <= NAMED:
            return f"Zero in all components ({count}): {text}."
    return f"{count} {'is' if len(names) == 1 else 'are'} zero in all components."


# --- variance -------------------------------------------------------------------------------------


#: With at least this many components, each component has a row instead of a column.
MANY = 9


def variance_table(variance: pd.DataFrame, correlation: pd.Series | None = None) -> Table:
    """Return the variance of the components as a table.

    Parameters
    ----------
    variance : DataFrame
        One row for each component, with some or all of the columns of
        :data:`spcastat.fit.frames.VARIANCE`, which are all shown. Variances are in the units of the
        analysis; shares are fractions of the total variance, shown in percent with two decimals.
    correlation : Series of length k, optional
        The largest absolute correlation of the scores of each component with those of another.

    Returns
    -------
    Table
        One column for each component. With nine components or more, one row for each component, and a note
        that explains the short headings.

    Raises
    ------
    ShapeError
        If there is no component, no column, or an unknown column.
    """
    known = {column.name: column for column in VARIANCE}
    given = list(getattr(variance, "columns", ()))
    strange = [name for name in given if name not in known]
    if strange or not given or variance.empty:
        raise ShapeError(
            f"A frame of variances of shape {getattr(variance, 'shape', None)} was given"
            + (f", with the columns {listed(strange)}" if strange else "")
            + f"; it needs a row for each component, and columns among {listed(known)}."
        )
    largest = None if correlation is None else real_array(correlation)
    if correlation is not None and (largest is None or largest.shape != (len(variance),)):
        raise ShapeError(
            f"correlation of type {type(correlation).__name__} was given; it must be a Series of "
            f"{plural(len(variance), 'number')}, one for each component."
        )
    frame_values(variance, "variances")
    columns = [column for column in VARIANCE if column.name in given]
    cells = _variance_cells(variance, columns)
    rows = [Row(column.label, cells[column.name], column.group) for column in columns]
    if largest is not None:
        rows.append(Row("Largest score |r|", each(largest.tolist(), 2)))
    names = full_names(variance.index)
    if len(names) < MANY:
        return Table("Variance", tuple(names), tuple(rows))
    return _one_row_a_component(names, rows, columns, correlation is not None)


def _variance_cells(variance: pd.DataFrame, columns: Sequence[Column]) -> dict[str, tuple[str, ...]]:
    """Return the cells of every column; all variances have the same decimals."""
    k = len(variance)
    several = [column.name for column in columns if column.kind == "variance"]
    together = alike(list(chain.from_iterable(variance[name].tolist() for name in several)))
    cells: dict[str, tuple[str, ...]] = {
        name: together[i * k : (i + 1) * k] for i, name in enumerate(several)
    }
    for column in columns:
        values = variance[column.name].tolist()
        if column.kind == "count":
            cells[column.name] = tuple(f"{count:.0f}" for count in values)
        elif column.kind == "share":
            cells[column.name] = tuple(map(percent, values))
    return cells


def _one_row_a_component(
    names: list[str], rows: list[Row], columns: Sequence[Column], correlated: bool
) -> Table:
    """Return the table with components as rows, and a note that explains its narrow headings."""
    lines = zip(*(row.cells for row in rows), strict=True)
    parts = [
        f"{column.heading}: {column.key or column.label[0].lower() + column.label[1:]}"
        for column in columns
        if not column.group
    ]
    cumulative = [column.key or column.label for column in columns if column.group]
    parts += [f"then cumulative % of the total: {', '.join(cumulative)}"] * bool(cumulative)
    parts += ["|r|: largest correlation with the scores of another component"] * correlated
    headings = [column.heading for column in columns] + ["|r|"] * correlated
    rows_of = tuple(Row(name, cells) for name, cells in zip(names, lines, strict=True))
    return Table("Variance", tuple(headings), rows_of, notes=("; ".join(parts) + ".",))


def document(table: pd.DataFrame, items: pd.DataFrame, kept: float) -> Document:
    """Return the scales as a document; the frames are those of `spcastat.fit.supplementary.ScaleNumbers`."""
    headings = ("items", "alpha", "std. alpha", "omega", "mean r", "r with PC")
    names = full_names(table.index)
    reliability = [
        Row(name, (str(int(count)), *(_cell(value, 3) for value in values)))
        for name, (count, *values) in zip(names, table.itertuples(index=False), strict=True)
    ]
    lines = [
        Row(
            f"{key} {name_text(term)}",
            (_cell(rest, 2), _cell(largest, 2), "" if other is None else name_text(other)),
            name_text(component),
        )
        for component, key, term, rest, largest, other in items.itertuples(index=False)
    ]
    notes = (
        "Scales are sums of the variables with the signs of their loadings. alpha: Cronbach's, for the "
        "variables in their units and standardised; omega: McDonald's, for one factor (minimum residuals); "
        "r with PC: the correlation of sum and component.",
        "r with rest: the correlation of the variable with the sum of the others; largest with another: its "
        "largest |r| with the sum of another component, which is inflated if the variable is in both.",
        "The same data selected the variables, so these figures are optimistic for new rows.",
    )
    return Document(
        f"Scales: {plural(len(table), 'component')} as sums of variables",
        (("Kept", f"the sums have {100 * kept:.1f} % of the adjusted variance of the components"),),
        (
            Table("Reliability", headings, tuple(reliability)),
            Table("Variable", ("r with rest", "largest with another", "which"), tuple(lines)),
        ),
        notes,
    )


def _cell(value: float, digits: int) -> str:
    """Return a number as text; what cannot be computed is blank."""
    return "" if np.isnan(value) else fixed(value, digits)
