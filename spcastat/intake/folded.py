"""Formulas in cross-validation: columns for held-out rows, by terms that learnt only from the other rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import GAPS
from spcastat.errors import DataError, FormulaError, NewDataError
from spcastat.intake.design import ReadOptions
from spcastat.intake.frames import open_table, take_weights
from spcastat.intake.read import read_data
from spcastat.intake.replay import replay


class FoldedTerms:
    """Reads subsets of the rows as all rows were read; picklable if the context is.

    Parameters
    ----------
    data : DataFrame, polars or pyarrow table
    reading : ReadOptions
        With a formula.
    """

    def __init__(self, data: Any, reading: ReadOptions):
        table, weights = take_weights(open_table(data), reading.weights)
        assert isinstance(table.values, pd.DataFrame)
        frame = table.values.set_axis(table.columns, axis=1).reset_index(drop=True)
        if isinstance(weights, pd.Series) and table.labelled:
            weights = weights.reindex(table.index)
        weights = None if weights is None else np.asarray(weights, dtype=float)
        na = reading.na if reading.na in GAPS else "raise"
        self.reading = replace(reading, na=na, weights=None)
        whole = read_data(frame, replace(reading, weights=weights))
        kept = whole.index.to_numpy()
        self.frame = frame.iloc[kept].reset_index(drop=True)
        self.weights = None if weights is None else weights[kept]
        self.columns = whole.columns

    def __call__(self, which: np.ndarray) -> tuple[Any, Any]:
        """Return the columns for the rows in a mask, and those for all other rows by the same terms.

        Raises
        ------
        DataError
            If the other rows have a level or a value that does not occur in the rows of the mask.
        """
        w = None if self.weights is None else self.weights[which]
        try:
            learnt = read_data(self.frame[which], replace(self.reading, weights=w))
            if not learnt.columns.equals(self.columns):
                raise NewDataError("its columns are not those of all rows")
            others = replay(learnt.spec, self.frame[~which], na=self.reading.na)[0]
        except (NewDataError, FormulaError) as error:
            raise DataError(
                f"The formula cannot be learnt without a fold: {error} Give fewer folds, leave rare levels "
                "out, or make the columns before."
            ) from None
        return learnt.matrix, others
