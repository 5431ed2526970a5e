"""Test whether the terms of a formula transform each row by itself, by evaluating them on some rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed
from spcastat.errors import FormulaError, SpcaError
from spcastat.intake.expressions import shortened
from spcastat.intake.formula import evaluate
from spcastat.intake.safe import problem_of
from spcastat.intake.terms import Model, Part

#: Terms are tested on subsets of at most about this many rows.
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
    """Raise FormulaError if a term has other values on a subset of the rows than on all rows.

    The values of such a term, e.g. ranks, depend on the other rows, so that scores of new rows would not be
    comparable with those of the fit. Transforms that store what they have learnt pass the test. Terms within
    the safe language of :mod:`spcastat.intake.safe` transform each row by itself and are not tested.

    Parameters
    ----------
    model : Model
        With the states of its transforms, learnt from all rows.
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
        Where the formula was given, for the message, with a leading space.
    """
    tried = Model(_unproven(model, data, context), model.states, model.encodings)
    if not tried.terms or not matrix.size:
        return
    place = {name: j for j, name in enumerate(names)}
    largest = np.maximum(matrix.max(axis=0), -matrix.min(axis=0))
    for rows in _parts(len(data)):
        part = data.iloc[rows].reset_index(drop=True)
        try:
            alone, found, _ = evaluate(tried, part, index[rows], context, text)
        except SpcaError as error:
            raise FormulaError(
                f"formula={shortened(text)} was given{where}; on {len(rows)} of its {len(data)} rows alone "
                f"it fails, so that new rows could not be transformed: {error}"
            ) from None
        columns = [place[name] for name in found]
        expected = matrix[rows][:, columns]
        # Rounding errors depend on the number of rows, and are relative to the largest value.
        slack = 1e-9 * np.abs(expected) + 1e-12 * largest[columns]
        differ = ~(np.abs(alone - expected) <= slack).all(axis=0)
        if differ.any():
            bad = listed([found[j] for j in np.flatnonzero(differ)])
            raise FormulaError(
                f"formula={shortened(text)} was given{where}; the values of {bad} depend on the other "
                f"rows: {len(rows)} of the {len(data)} rows alone give other values, so that new rows could "
                "not be transformed as those of the fit. Use terms that take each row for itself, such as "
                "log(a), or that keep what they have learnt, such as scale(a); or make the column in the "
                "data first."
            )


def _unproven(model: Model, data: pd.DataFrame, context: Mapping[str, Any]) -> tuple[tuple[Part, ...], ...]:
    """Return the terms with a part that is not in the safe language, and so must be tested."""
    proven = {
        part: part.text in data
        if part.method == "lookup"
        else problem_of(part.text, data.columns, strings=True, context=context) is None
        for term in model.terms
        for part in term
        if part.method != "literal"
    }
    return tuple(term for term in model.terms if not all(proven.get(part, True) for part in term))


def _parts(n: int) -> list[np.ndarray]:
    """Return subsets of n rows for the test: first half, second half, single rows, and some in reverse order.

    One half is not enough: for example, the largest value of an increasing column is in the second half.
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
