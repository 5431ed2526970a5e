"""Tables of the outlying cells and rows of a robust fit, with their labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import OptionError
from spcastat.fit.record import deep_copy
from spcastat.fit.state import FitState
from spcastat.inputs.cleaning import Cleaning
from spcastat.inputs.opening import source_of
from spcastat.linalg.wrapping import wrapped
from spcastat.reading.read import replay


def cleaning_of(state: FitState) -> Cleaning:
    """Return the outlying cells and rows of a fit; raise OptionError if it is not robust."""
    if state.cleaning is None:
        raise OptionError(
            "robust is available only for fits with robust=True, 'cells' or 'rows'; this one is not robust."
        )
    return state.cleaning


def labels_of(state: FitState) -> pd.Index:
    """Return the labels of the rows; for a file without labels, the numbers of the rows from 0."""
    if state.row_labels is not None:
        return state.row_labels
    return pd.RangeIndex(len(cleaning_of(state).kept))


def cells(state: FitState) -> pd.DataFrame:
    """Return the outlying cells, one row per cell, in decreasing order of the absolute z.

    "row" and "variable" are labels, and "position" is the number of the row, from 0. "value" is the value in
    the data, "z" the standardised value after the power transformation, and "used" the value that the fit
    uses. "low" and "high" are the limits of values that are not outlying. "kept" indicates whether the fit
    uses the row.
    """
    cleaning, labels = cleaning_of(state), labels_of(state)
    frame = _cells(state, labels, cleaning.places, cleaning.values, cleaning.z)
    return frame.assign(kept=cleaning.kept[frame["position"]])


def cells_of_new(state: FitState, new: Any) -> pd.DataFrame:
    """Return the outlying cells of new rows, with the columns and order of `cells`, without "kept".

    Raises
    ------
    OptionError
        For rows in chunks.
    """
    cleaning, source = cleaning_of(state), source_of(new)
    if not source.in_memory:
        raise OptionError("cells_of() needs rows in memory; give one chunk after another.")
    matrix, index = replay(state.spec, source.data, na="pairwise")
    X = np.asarray(matrix, dtype=float)
    places, z = cleaning.wrapping.outlying(X)
    return _cells(state, index, places, X[tuple(places.T)], z)


def _order(places: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the order of cells by distance, then by row and column."""
    return np.lexsort((places[:, 1], places[:, 0], -np.abs(z)))


def _cells(
    state: FitState, labels: pd.Index, places: np.ndarray, values: np.ndarray, z: np.ndarray
) -> pd.DataFrame:
    order, cleaning = _order(places, z), cleaning_of(state)
    rows, columns = places[order].T
    wrapping = cleaning.wrapping.of_columns(columns)
    limits = [wrapping.restored(np.full((1, len(order)), side * wrapping.bend))[0] for side in (-1.0, 1.0)]
    pulled_in = (
        wrapping.restored(wrapped(z[order], wrapping.bend)[None])[0] if cleaning.cells else values[order]
    )
    return pd.DataFrame(
        {
            "row": deep_copy(labels[rows]),
            "position": rows,
            "variable": deep_copy(state.spec.columns[columns]),
            "value": values[order],
            "z": z[order],
            "used": pulled_in,
            "low": limits[0],
            "high": limits[1],
        }
    )


def rows(state: FitState) -> pd.DataFrame:
    """Return a table of all rows: "distance" of the scores, "kept", and "cells", the outlying cells."""
    cleaning = cleaning_of(state)
    counts = np.bincount(cleaning.places[:, 0], minlength=len(cleaning.kept))
    values = {"distance": cleaning.distance, "kept": cleaning.kept, "cells": counts}
    index = deep_copy(labels_of(state))
    return pd.DataFrame({name: np.array(column) for name, column in values.items()}, index=index)


def columns(state: FitState) -> pd.DataFrame:
    """Return the transformation and the limits of each column.

    "judged" is False for columns that are not changed. "transformation" is "Box-Cox", "Yeo-Johnson" or ""
    (none), and "power" its exponent. "middle", "low" and "high" are the values at z = 0 and at the negative
    and positive bend. "cells" is the number of outlying cells in the rows kept, and "share" their share of
    these rows.
    """
    cleaning = cleaning_of(state)
    wrapping = cleaning.wrapping
    p = len(wrapping.power)
    middle, low, high = (
        wrapping.restored(np.full((1, p), z))[0] for z in (0.0, -wrapping.bend, wrapping.bend)
    )
    plain = wrapping.plain
    counts = np.bincount(cleaning.places[cleaning.among_kept, 1], minlength=p)
    kinds = np.where(wrapping.power == 1.0, "", np.where(wrapping.box_cox, "Box-Cox", "Yeo-Johnson"))
    return pd.DataFrame(
        {
            "judged": ~plain,
            "transformation": kinds,
            "power": np.array(wrapping.power),
            "middle": np.where(plain, np.nan, middle),
            "low": np.where(plain, np.nan, low),
            "high": np.where(plain, np.nan, high),
            "cells": counts,
            "share": counts / max(int(cleaning.kept.sum()), 1),
        },
        index=deep_copy(state.spec.columns),
    )
