"""Imputation of missing values in new rows and in the rows of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed, plural
from spcastat.engine.inputs import Source
from spcastat.errors import MissingValuesError, NoRowsError, NotImputedError, OptionError
from spcastat.kernels.sparsity import is_sparse
from spcastat.state.copies import own
from spcastat.state.fitstate import FitState


def filled(state: FitState, matrix: Any, index: pd.Index, na: str, what: str) -> Any:
    """Return new rows for the computation of scores; with ``na="em"``, missing values are imputed.

    Parameters
    ----------
    matrix : ndarray of shape (m, p)
        NaN for missing values.
    index : pandas.Index
        The m labels of the rows.
    na : {"raise", "drop", "em", "pairwise"}
    what : str
        Names the operation in error messages.

    Raises
    ------
    MissingValuesError
        If a row has no value at all.
    OptionError
        If the fit has no model of missing values.
    """
    if na != "em":
        return matrix
    model = state.need_model(f"{what} with na='em'")
    if is_sparse(matrix):
        raise OptionError("na='em' was given with sparse data; give a dense table, such as X.toarray().")
    blank = np.isnan(matrix).all(axis=1)
    if blank.any():
        raise MissingValuesError(
            f"{plural(int(blank.sum()), 'row')} without any value: {listed(index[blank])}. "
            "Leave such rows out, e.g. df.dropna(how='all')."
        )
    return model.filled(matrix)


def imputed(state: FitState, source: Source | None) -> pd.DataFrame:
    """The rows of a fit with ``na="em"``, n x p, with missing values replaced by conditional means.

    The means are shrunk according to the columns measured in each row; see :func:`spcastat.spca`. The frame
    has the labels of the rows and of the fitted columns (those that a formula creates). Columns of whole
    numbers, or of 0 and 1, are imputed by means too, not by whole numbers.

    Imputed values are for inspection and for methods that do not accept missing values. They vary less than
    measured values would; the covariances of the fit account for that, but a table cannot.

    Raises
    ------
    NotImputedError
        For a fit without ``na="em"``.
    NoRowsError
        For a fit from a file, which has no data.
    """
    if state.model is None:
        raise NotImputedError("imputed is for fits with na='em'; this one has no model of missing values.")
    if source is None or source.gaps is None:
        raise NoRowsError(
            "imputed needs the data, and a fit from a file does not have them; fit again: "
            f"{state.record.call}."
        )
    columns = own(state.spec.columns)
    return pd.DataFrame(np.array(source.matrix), index=own(source.index), columns=columns)
