"""Whether the terms of a formula take each row for itself, found by evaluating them on some of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed
from spcastat.errors import FormulaError, SpcaError
from spcastat.intake.expressions import shortened
from spcastat.intake.formula import evaluate
from spcastat.intake.terms import Model

#: Rows of the largest part on which terms are tried.
TRIED = 1000


def require_rowwise(
    model: Model,
    matrix: np.ndarray,
    names: list[str],
    data: pd.DataFrame,
    index: pd.Index,
    context: Mapping[str, Any],
    text: str,
    *,
    where: str = "",
) -> None:
    """Raise FormulaError if a term gives other values on part of the rows than on all.

    Such a term, e.g. ranks, depends on which rows stand beside: the scores of new rows would not be those
    of the fit. Transforms that keep what they have learnt pass.

    Parameters
    ----------
    model : Model
        With what its transforms have learnt from all rows.
    matrix : ndarray of shape (n, p)
        The values of the terms on all rows.
    names : list of str
        The p names of the columns.
    data : DataFrame of n rows
    index : pandas.Index
        The n labels of the rows.
    context, text
        As for :func:`spcastat.intake.formula.evaluate`.
    where : str
        Where the formula was given, for the message, with a space before it.
    """
    if not matrix.size:
        return
    largest = np.maximum(matrix.max(axis=0), -matrix.min(axis=0))
    for rows in _parts(len(data)):
        part = data.iloc[rows].reset_index(drop=True)
        try:
            alone, _, _ = evaluate(model, part, index[rows], context, text)
        except SpcaError as error:
            raise FormulaError(
                f"formula={shortened(text)} was given{where}; on {len(rows)} of its {len(data)} rows alone "
                f"it fails, so that new rows could not be transformed: {error}"
            ) from None
        expected = matrix[rows]
        # Rounding depends on how many rows are computed at once, relative to the largest of them.
        slack = 1e-9 * np.abs(expected) + 1e-12 * largest
        differ = ~(np.abs(alone - expected) <= slack).all(axis=0)
        if differ.any():
            found = listed([names[j] for j in np.flatnonzero(differ)])
            raise FormulaError(
                f"formula={shortened(text)} was given{where}; the values of {found} depend on the other "
                f"rows: {len(rows)} of the {len(data)} rows alone give other values, so that new rows could not "
                "be transformed as those of the fit. Use terms that take each row for itself, such as log(a), "
                "or that keep what they have learnt, such as scale(a); or make the column in the data first."
            )


def _parts(n: int) -> list[np.ndarray]:
    """Return rows to try: the first and the later ones, single ones, and some backwards.

    Neither half alone tells all: the largest value of a rising column lies in the later one.
    """
    if n < 2:
        return []
    half = n // 2
    step = max(1, -(-half // TRIED))
    return [
        np.arange(0, half, step),
        np.arange(half, n, step),
        np.arange(1),
        np.arange(half, half + 1),
        np.arange(n - 1, -1, -max(2, step)),
    ]
