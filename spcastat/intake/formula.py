"""Formulas: one-sided, read by formulaic, with missing values and labels decided here.

A formula is code: ``"~ f(a)"`` calls ``f``. Do not evaluate formulas from people whose programs you would
not run. Names come from the data, then from the context that is passed, then from formulaic's
transforms; nothing is taken from the caller's frame.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed, one_line, plural, shown
from spcastat.errors import FormulaError, SpcaError
from spcastat.intake.checks import raise_missing, require_finite
from spcastat.intake.columntypes import kind_of, refuse
from spcastat.intake.frames import frame_numbers
from spcastat.intake.names import (
    Names,
    formula_names,
    names_in,
    require_known,
    with_words,
    without_words,
)

_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, eq=False)
class Parsed:
    """A formula understood for one frame.

    Attributes
    ----------
    text : str
        The formula as given.
    terms : list of formulaic terms, in the user's order, without the intercept
    lookups : dict
        The positions of the columns that stand in the formula as they are, by name.
    used : dict
        The positions of all columns that the terms read, by name.
    context : dict
        The part of the context that the terms read.
    plain : bool
        Whether every term is one column as it is.
    """

    text: str
    terms: list[Any]
    lookups: dict[str, int]
    used: dict[str, int]
    context: dict[str, Any]
    plain: bool


def parse(formula: Any, columns: pd.Index, context: Mapping[str, Any]) -> Parsed:
    """Read a one-sided formula for a frame with these columns; ``.`` stands for all of them.

    Raises
    ------
    FormulaError
        If the formula is not text, cannot be read, has two sides or several parts, uses names that are
        not known, or has no term.
    DuplicateNamesError
        If labels look alike in a formula, or an expression is also the name of a column.
    """
    if not isinstance(formula, str):
        raise FormulaError(f"formula={shown(formula)} was given; it must be text such as '~ a + b + log(c)'.")
    from formulaic import Formula, SimpleFormula

    names = formula_names(columns)
    worded = with_words(formula)
    tokens = _tokens(worded, formula)
    require_known(tokens, names, context)
    try:
        parsed: Any = Formula(
            worded, _ordering="none", _context={"__formulaic_variables_available__": list(names)}
        )
    except Exception as error:
        raise _unreadable(formula, error) from None
    if not isinstance(parsed, SimpleFormula):
        raise FormulaError(
            f"formula={formula!r} has two sides or several parts; here a formula has one right-hand side "
            "only, such as '~ a + b + log(c)'."
        )
    terms = [term for term in parsed if {factor.expr for factor in term.factors} != {"1"}]
    if not terms:
        raise FormulaError(f"formula={formula!r} has no term that makes a column; the intercept is not one.")
    return _resolve(formula, terms, names, context)


def _resolve(text: str, terms: list[Any], names: dict[str, int], context: Mapping[str, Any]) -> Parsed:
    lookups: dict[str, int] = {}
    used: dict[str, int] = {}
    kept: dict[str, Any] = {}
    plain = True
    for term in terms:
        for factor in term.factors:
            method = factor.eval_method.value
            plain = plain and method == "lookup" and len(term.factors) == 1 and factor.expr in names
            if method == "literal":
                continue
            if method == "lookup":
                found = Names(frozenset([factor.expr]), frozenset())
                if factor.expr in names:
                    lookups[factor.expr] = names[factor.expr]
            else:
                found = names_in(factor.expr)
            used.update({name: names[name] for name in sorted(found.values) if name in names})
            reads = [name for name in found.values if name not in names] + list(found.calls)
            kept.update({name: context[name] for name in sorted(reads) if name in context})
    return Parsed(text, terms, lookups, used, kept, plain)


def _tokens(worded: str, formula: str) -> list[tuple[str, Names]]:
    from formulaic.parser.algos.sanitize_tokens import sanitize_tokens
    from formulaic.parser.algos.tokenize import tokenize

    found = []
    try:
        for token in sanitize_tokens(tokenize(worded)):
            kind = token.kind.value if token.kind is not None else ""
            if kind == "name":
                found.append((token.token, Names(frozenset([token.token]), frozenset())))
            elif kind == "python":
                found.append((token.token, names_in(token.token)))
    except Exception as error:
        raise _unreadable(formula, error) from None
    return found


def _unreadable(formula: str, error: Exception) -> FormulaError:
    reason = " ".join(_ANSI.sub("", str(error)).replace("⧛", ">>").replace("⧚", "<<").split())
    return FormulaError(
        f"formula={shown(formula)} cannot be read: {one_line(reason, 300)} A formula looks like '~ a + b + "
        "log(c)' or '~ . - id'."
    )


def inputs(frame: pd.DataFrame, parsed: Parsed, categorical: str) -> dict[Hashable, str]:
    """Return the kind of each column that a formula reads, by its name in the formula.

    Raises
    ------
    ColumnTypeError
        For text and categories unless `categorical` is ``"dummy"``, for objects and complex numbers, and
        for dates and durations that stand in the formula as they are.
    """
    kinds: dict[Hashable, str] = {}
    bad = []
    for name, position in parsed.used.items():
        column = frame.iloc[:, position]
        kind = kinds[name] = kind_of(column)
        allowed = kind == "number" or (kind == "levels" and categorical == "dummy")
        if not allowed and not (kind == "other" and name not in parsed.lookups):
            bad.append((frame.columns[position], column, kind))
    refuse(bad)
    return kinds


def complete_rows(frame: pd.DataFrame, used: Mapping[Any, int], kinds: Mapping[Any, str], na: str) -> Any:
    """Return a mask of the rows without missing values in the `used` columns, or None if all are.

    Raises
    ------
    InfiniteValuesError
        If a column of numbers holds infinite values.
    MissingValuesError
        If values are missing and `na` is ``"raise"``.
    """
    missing = np.zeros((len(frame), len(used)), dtype=bool)
    for j, (name, position) in enumerate(used.items()):
        if kinds[name] == "number":
            values, _ = frame_numbers(frame, [position])
            require_finite(values, frame.columns[[position]])
            missing[:, j] = np.isnan(values[:, 0])
        else:
            missing[:, j] = frame.iloc[:, position].isna().to_numpy()
    if not missing.any():
        return None
    rows = missing.any(axis=1)
    if na == "raise":
        where = np.array(list(used.values()))[missing.any(axis=0)]
        raise_missing(int(missing.sum()), int(rows.sum()), len(frame), frame.columns[where])
    return ~rows


def plain_frame(frame: pd.DataFrame, used: Mapping[Any, int], kinds: Mapping[Any, str]) -> pd.DataFrame:
    """Copy the `used` columns, without missing values, into types that formulaic understands.

    Booleans become 0 and 1, text becomes objects, categories lose the levels that no row has.
    """
    columns: dict[Any, Any] = {}
    for name, position in used.items():
        series = frame.iloc[:, position].reset_index(drop=True)
        if kinds[name] == "number":
            # Whole numbers stay whole, so that C(year) makes year[2020] and not year[2020.0].
            whole = str(series.dtype).lower().startswith(("bool", "int", "uint8", "uint16", "uint32"))
            columns[name] = series.to_numpy(dtype=np.int64 if whole else np.float64)
        elif kinds[name] == "levels" and isinstance(series.dtype, pd.CategoricalDtype):
            columns[name] = series.cat.remove_unused_categories()
        elif kinds[name] == "levels":
            columns[name] = series.astype(object)
        else:
            columns[name] = series
    return pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))


def levels_of(data: pd.DataFrame, kinds: Mapping[Any, str]) -> dict[Hashable, tuple[Any, ...] | None]:
    """Return the levels of the columns that have them, and None for the others."""
    return {name: tuple(data[name].unique()) if kinds[name] == "levels" else None for name in data.columns}


def evaluate(
    spec: Any,
    data: pd.DataFrame,
    index: pd.Index,
    context: Mapping[str, Any],
    text: str,
    error: type[SpcaError] = FormulaError,
) -> tuple[np.ndarray, list[str], Any]:
    """Evaluate a model spec on complete data.

    Parameters
    ----------
    spec : formulaic.ModelSpec
    data : DataFrame
        As :func:`plain_frame` makes it, n rows.
    index : pandas.Index of length n
        Labels of the rows for messages.
    context : Mapping
    text : str
        The formula, for messages.
    error : type
        What to raise if the evaluation fails.

    Raises
    ------
    FormulaError or `error`
        If a function of the formula fails, levels are unknown, or results are not n finite real numbers.

    Returns
    -------
    matrix : ndarray of shape (n, p), float64
    names : list of str
    spec : formulaic.ModelSpec
        With the state of the transforms.
    """
    from formulaic.errors import DataMismatchWarning

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error", DataMismatchWarning)
            made = spec.get_model_matrix(data, context=dict(context))
    except DataMismatchWarning as unseen:
        levels = re.search(r"\{.*\}", str(unseen), re.DOTALL)
        raise error(
            f"formula={text!r} met levels that it does not know: {levels[0] if levels else unseen}. Allowed "
            "are the levels that the fit has seen, or that the formula names."
        ) from None
    except Exception as failure:
        raise error(f"formula={text!r} cannot be evaluated: {_ANSI.sub('', str(failure))}") from failure
    state = made.model_spec
    names = list(state.column_names)
    values = np.asarray(made.__wrapped__)
    if values.dtype.kind not in "biuf" or values.shape != (len(data), len(names)):
        raise FormulaError(
            f"formula={text!r} makes values of dtype {values.dtype} and shape {values.shape}; each term must "
            f"make real numbers, one for each of the {plural(len(data), 'row')}."
        )
    matrix = np.array(values, dtype=np.float64, order="F")
    _require_finite_terms(matrix, names, index, text)
    return matrix, [without_words(name) for name in names], state


def _require_finite_terms(matrix: np.ndarray, names: list[str], index: pd.Index, text: str) -> None:
    bad = ~np.isfinite(matrix)
    if not bad.any():
        return
    where = np.flatnonzero(bad.any(axis=0))
    first = bad[:, where[0]]
    others = f", and so do {listed([names[j] for j in where[1:]])}" if len(where) > 1 else ""
    raise FormulaError(
        f"In formula={text!r} the term {names[where[0]]!r} makes missing or infinite values in "
        f"{plural(int(first.sum()), 'row')}, the first of them {index[int(first.argmax())]!r}{others}. "
        "Check where the function is defined (log needs positive numbers), or leave these rows out."
    )


def build(parsed: Parsed) -> Any:
    """Return the formulaic ModelSpec of a parsed formula: full dummy coding, no intercept, no NA handling."""
    from formulaic import ModelSpec, SimpleFormula

    formula = SimpleFormula(parsed.terms, _ordering="none")
    return ModelSpec(formula=formula, ensure_full_rank=False, na_action="ignore", output="numpy")
