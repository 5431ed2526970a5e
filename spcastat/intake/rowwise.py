"""Terms of a formula on some of the rows: a test that they transform each row by itself, and missing values.

A term is missing in the rows in which a column that it reads is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed
from spcastat.errors import FormulaError, MissingValuesError, SpcaError
from spcastat.intake.expressions import read_expression, shortened
from spcastat.intake.formula import evaluate, plain_frame
from spcastat.intake.names import names_in
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


def evaluate_with_gaps(
    model: Model,
    frame: pd.DataFrame,
    used: Mapping[Any, int],
    kinds: Mapping[Any, str],
    missing: Mapping[Any, np.ndarray],
    index: pd.Index,
    context: Mapping[str, Any],
    text: str,
    error: type[SpcaError] = FormulaError,
    weights: np.ndarray | None = None,
    known: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
) -> tuple[np.ndarray, list[str], Model]:
    """Evaluate the terms of a formula, each on the rows in which all columns that it reads are present.

    Every factor learns (levels, means, bases) from the rows on which it can be evaluated, whatever is missing
    in other columns. So a term has the same values alone and in a longer formula.

    Parameters
    ----------
    model, index, context, text, error, weights
        As for :func:`spcastat.intake.formula.evaluate`; factors with a state in `model` do not learn.
    frame : DataFrame of n rows
    used, kinds : mappings
        Name of a column in the formula -> its position, and its kind.
    missing : mapping
        The result of :func:`missing_in`.
    known : callable, optional
        For new data: checks the columns that a term reads. Without it the terms are those of a fit, and it is
        tested that they transform each row by itself.

    Returns
    -------
    matrix : ndarray of shape (n, p)
        NaN where a term is missing.
    names : list of str
    model : Model
        The terms with the states of their factors.

    Raises
    ------
    MissingValuesError
        For a term that no row has all columns of.
    """
    n = len(frame)

    def rows_of(parts: tuple[Part, ...]) -> tuple[np.ndarray, pd.DataFrame]:
        read = [name for name in used if any(name in _names(part) for part in parts)]
        gaps = np.zeros(n, dtype=bool)
        for name in read:
            gaps |= missing[name]
        rows = np.flatnonzero(~gaps)
        if not rows.size and known is None:
            raise MissingValuesError(
                f"The term {shortened(':'.join(part.text for part in parts))} has no value in any row: leave "
                "it out of the formula."
            )
        data = plain_frame(frame.iloc[rows], {name: used[name] for name in read}, kinds)
        return rows, data if known is None else known(data)

    states, encodings = dict(model.states), dict(model.encodings)
    if known is None:
        for part in dict.fromkeys(part for term in model.terms for part in term if part.method != "literal"):
            rows, data = rows_of((part,))
            w = None if weights is None else weights[rows]
            alone = Model(((part,),), states, encodings)
            learnt = evaluate(alone, data, index[rows], context, text, error, w)[2]
            states |= learnt.states
            encodings |= learnt.encodings
    blocks: list[np.ndarray] = []
    names: list[str] = []
    for place, term in enumerate(model.terms):
        rows, data = rows_of(term)
        if not rows.size:  # no new row has all columns that the term reads
            if not model.widths:  # those of a file of an earlier version
                told = shortened(":".join(part.text for part in term))
                raise MissingValuesError(f"The term {told} has no value in any of the new rows.")
            blocks.append(np.full((n, model.widths[place]), np.nan))
            continue
        alone = Model((term,), states, encodings)
        values, found, _ = evaluate(alone, data, index[rows], context, text, error)
        if known is None:
            require_rowwise(alone, values, found, data, index[rows], context, text)
        blocks.append(np.full((n, len(found)), np.nan))
        blocks[-1][rows] = values
        names += found
    learnt = Model(model.terms, states, encodings, tuple(block.shape[1] for block in blocks))
    return np.asfortranarray(np.hstack(blocks)), names, learnt


def _names(part: Part) -> frozenset[str]:
    """Return the names that a factor of a term reads."""
    if part.method == "literal":
        return frozenset()
    return frozenset([part.text]) if part.method == "lookup" else names_in(read_expression(part.text)).values
