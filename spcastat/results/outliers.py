"""The outlying cells and rows of a robust fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from spcastat import hints, plots
from spcastat.fit import outliers
from spcastat.fit.state import Picklable
from spcastat.show.grid import Document
from spcastat.show.outlier_tables import outlier_map, outliers_document, outliers_screen
from spcastat.show.renderings import Screen, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Outliers(Picklable, Summary):
    """Outlying cells and rows of a fit with ``robust=``, as ``fit.robust``.

    The printout lists what to inspect first: rows far from the other rows, and cells far from the middle of
    their column.
    """

    def _document(self) -> Document:
        return outliers_document(self._state)

    def _screen(self) -> Screen:
        return outliers_screen(self._state)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables `cells`, `rows` and `columns` by name."""
        return {"cells": self.cells, "rows": self.rows, "columns": self.columns}

    @property
    def cells(self) -> pd.DataFrame:
        """The outlying cells, in decreasing order of the absolute z.

        "row" and "variable" are labels, and "position" is the number of the row, from 0. "value" is the value
        in the data, and "used" the value that the fit uses. "z" is the distance from the middle of the column
        in robust standard deviations, after a power transformation for skewed columns. "low" and "high" are
        the values with a z of -2.5 and 2.5 (-4 and 4 if the table has no more cells beyond 2.5 than a table
        of normal data). "kept" indicates whether the fit uses the row.
        """
        return outliers.cells(self._state)

    @property
    def rows(self) -> pd.DataFrame:
        """The robust distances of all rows.

        "distance" is the largest robust distance of a score, "kept" indicates whether the fit uses the row,
        and "cells" is the number of outlying cells.
        """
        return outliers.rows(self._state)

    @property
    def columns(self) -> pd.DataFrame:
        """The transformation and the limits of each column.

        "judged" is False for columns that are not changed, since they have at most 5 different values, one
        value in half of their rows, or their lowest or highest value in 30 % of the rows. "transformation"
        and "power" describe the transformation of skewed columns. "middle", "low" and "high" are the values
        with a z of 0, -2.5 and 2.5 (-4 and 4 in a table with no more cells beyond 2.5 than a table of normal
        data). "cells" and "share" are the number and the share of outlying cells in the rows kept.
        """
        return outliers.columns(self._state)

    def cells_of(self, new: hints.Table) -> pd.DataFrame:
        """Return the outlying cells of new rows, which `transform` replaces: as `cells`, without "kept".

        Parameters
        ----------
        new : DataFrame, array, polars or pyarrow table
            Rows with all columns of the fit; missing values are not outlying.

        Raises
        ------
        NewDataError
            If columns are missing, or a factor has a level that did not occur in the fit.
        OptionError
            For rows in chunks.
        """
        return outliers.cells_of_new(self._state, new)

    def plot_cells(self, *, rows: int = 40, columns: int = 60, ax: Axes | None = None) -> Axes:
        """Draw a map of the outlying cells.

        Parameters
        ----------
        rows, columns : int
            Largest numbers of rows and variables to draw; fewer are drawn if `ax` has no room for their
            names. Rows left out of the fit come first, above a line, followed by the rows with the most
            extreme cells. Variables are in the order of the components; if there are more than `columns`, the
            variables with the most extreme cells in these rows are drawn.
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes
            Cells above the usual values are purple, and cells below them orange with a minus. Cells farther
            from the usual values are darker.

        Raises
        ------
        OptionError
            If a number is below 1, or `ax` is not an Axes.
        """
        row_count, column_count = plots.checked_sizes(rows, columns)
        ax = plots.axes_of_known_size(ax)
        shown = outlier_map(self._state, self._source, plots.limits_in(ax, row_count, column_count))
        return plots.draw_cell_map(shown, ax)
