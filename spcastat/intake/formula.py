"""One-sided formulas: parsing, evaluation, and their missing values, weights and labels.

A formula given in Python is code: ``"~ f(a)"`` calls ``f``. Do not evaluate formulas from people whose
programs you would not run, unless the context is a :class:`spcastat.intake.safe.Closed` one. Names are looked
up in the data, then in the given context, then among formulaic's transforms. formulaic only codes factors and
multiplies terms; it neither parses nor runs the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed, plural, shown
from spcastat.errors import FormulaError, SpcaError
from spcastat.intake.checks import kind_of, raise_missing, refuse, require_finite
from spcastat.intake.evaluation import Given, value_of
from spcastat.intake.expressions import cut, read_expression, shortened
from spcastat.intake.frames import frame_numbers, require_no_weights, require_unique
from spcastat.intake.names import Names, formula_names, names_in, require_known, without_words
from spcastat.intake.safe import Closed, require_safe
from spcastat.intake.terms import Model, Part, Piece, expand, pieces_of
from spcastat.intake.transforms import Learning, UnknownLevels, require_levels, require_size

#: Largest number of columns that a formula may make, in addition to those of the data.
MOST_COLUMNS = 100_000

_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, eq=False)
class Parsed:
    """A formula parsed for a data frame.

    Attributes
    ----------
    text : str
        The formula as the user wrote it.
    terms : list of tuples of Part
        In the user's order, without the intercept.
    lookups : dict
        Name -> position of the columns that are used without a transformation.
    used : dict
        Name -> position of all columns that the terms read.
    context : dict
        The part of the context that the terms read.
    plain : bool
        Whether every term is a single column without a transformation.
    given : Parsed or None
        The covariates after a bar.
    """

    text: str
    terms: list[tuple[Part, ...]]
    lookups: dict[str, int]
    used: dict[str, int]
    context: Mapping[str, Any]
    plain: bool
    given: Parsed | None = None


def parse(formula: Any, columns: pd.Index, context: Mapping[str, Any], weights: Any = None) -> Parsed:
    """Parse a one-sided formula for a data frame with these columns.

    ``.`` stands for all of them, except those used after a bar. If `weights` is text, it is the name of a
    further column, which no term may read.

    Raises
    ------
    FormulaError
        If the formula is not text, cannot be parsed, has two sides or several bars, uses unknown names or
        the weights, has no term, or has a column both before and after the bar.
    DuplicateNamesError
        If labels look alike in a formula, or an expression is also the name of a column.
    """
    if not isinstance(formula, str):
        raise FormulaError(f"formula={shown(formula)} was given; it must be text such as '~ a + b + log(c)'.")
    names = formula_names(columns)
    if isinstance(context, Closed):
        require_safe(formula, names)
    pieces = pieces_of(formula)
    named = _names_of(pieces)
    require_no_weights(formula, {name for _, found in named for name in found.values}, weights)
    require_known(named, names, context)
    before, behind = _at_the_bar(formula, pieces)
    if behind is None:
        return _resolve(formula, expand(formula, pieces, names), pieces, names, context)
    given = _resolve(formula, expand(formula, behind, names), pieces, names, context)
    others = {name: place for name, place in names.items() if name not in given.used}
    parsed = _resolve(formula, expand(formula, before, others), pieces, names, context)
    if twice := [name for name in parsed.used if name in given.used]:
        raise FormulaError(
            f"formula={shown(formula)} has {listed(twice)} before and behind the bar: nothing would be left. "
            "Leave it out on one side."
        )
    return replace(parsed, given=given)


def _at_the_bar(formula: str, pieces: list[Piece]) -> tuple[list[Piece], list[Piece] | None]:
    """Return the parts of a formula before and after the bar; None for the second if there is no bar."""
    depth = np.cumsum([(piece.text == "(") - (piece.text == ")") for piece in pieces])
    bars = [
        i for i, piece in enumerate(pieces) if piece.kind == "operator" and piece.text == "|" and not depth[i]
    ]
    if not bars:
        return pieces, None
    if len(bars) > 1 or bars[0] == len(pieces) - 1:
        raise FormulaError(
            f"formula={shown(formula)} has {plural(len(bars), 'bar')}; one bar, with terms behind it, "
            "separates the variables from the covariates, as in '~ a + b | age + sex'."
        )
    return pieces[: bars[0]], pieces[bars[0] + 1 :]


def _names_of(pieces: list[Piece]) -> list[tuple[str, Names]]:
    """Return (text, names) for each piece of a formula that contains names."""
    found = []
    for piece in pieces:
        if piece.kind == "name":
            found.append((piece.text, Names(frozenset([piece.text]), frozenset())))
        elif piece.expression is not None:
            found.append((piece.text, names_in(piece.expression)))
    return found


def _resolve(
    text: str,
    terms: list[tuple[Part, ...]],
    pieces: list[Piece],
    names: dict[str, int],
    context: Mapping[str, Any],
) -> Parsed:
    lookups: dict[str, int] = {}
    used: dict[str, int] = {}
    kept: dict[str, Any] = Closed() if isinstance(context, Closed) else {}
    plain = True
    held = dict(_names_of(pieces))
    for term in terms:
        for part in term:
            plain = plain and part.method == "lookup" and len(term) == 1 and part.text in names
            if part.method == "literal":
                continue
            if part.method == "lookup":
                found = Names(frozenset([part.text]), frozenset())
                if part.text in names:
                    lookups[part.text] = names[part.text]
            else:
                found = held[part.text]
            used.update({name: names[name] for name in sorted(found.values) if name in names})
            reads = [name for name in found.values if name not in names and name in context]
            # as in R, a variable that is not callable does not hide a function of the same name
            reads += [name for name in found.calls if callable(context.get(name))]
            kept.update({name: context[name] for name in sorted(reads)})
    return Parsed(text, terms, lookups, used, kept, plain)


def inputs(
    frame: pd.DataFrame, parsed: Parsed, categorical: str, refuse: Callable[[Any], None] = refuse
) -> dict[Hashable, str]:
    """Return the kind of each column that a formula reads, by its name in the formula.

    Raises
    ------
    ColumnTypeError
        For text and categories unless `categorical` is ``"dummy"``, for objects and complex numbers, and
        for dates and durations that are used without a transformation.
    """
    kinds: dict[Hashable, str] = {}
    bad = []
    dtypes, numeric = list(frame.dtypes), set()  # numeric dtypes need to be tested once only
    for name, position in parsed.used.items():
        if dtypes[position] in numeric:
            kinds[name] = "number"
            continue
        column = frame.iloc[:, position]
        kind = kinds[name] = kind_of(column)
        if kind == "number":
            numeric.add(dtypes[position])
        allowed = kind == "number" or (kind == "levels" and categorical == "dummy")
        if not allowed and not (kind == "other" and name not in parsed.lookups):
            bad.append((frame.columns[position], column, kind))
    refuse(bad)
    return kinds


def missing_in(
    frame: pd.DataFrame, used: Mapping[Any, int], kinds: Mapping[Any, str]
) -> dict[Any, np.ndarray]:
    """Return for each of the columns `used` which of its values are missing, shape (n,)."""
    missing = {}
    for name, position in used.items():
        if kinds[name] == "number":
            values, _ = frame_numbers(frame, [position])
            require_finite(values, frame.columns[[position]])
            missing[name] = np.isnan(values[:, 0])
        else:
            missing[name] = frame.iloc[:, position].isna().to_numpy(dtype=bool)
    return missing


def complete_rows(frame: pd.DataFrame, used: Mapping[Any, int], kinds: Mapping[Any, str], na: str) -> Any:
    """Return a mask of the rows without missing values in the `used` columns, or None if all are complete.

    Raises
    ------
    InfiniteValuesError
        If a column of numbers holds infinite values.
    MissingValuesError
        If values are missing and `na` is ``"raise"``.
    """
    missing = missing_in(frame, used, kinds)
    if not any(one.any() for one in missing.values()):
        return None
    rows = np.any([*missing.values()], axis=0)
    if na == "raise":
        where = np.array([used[name] for name, one in missing.items() if one.any()])
        count = sum(int(one.sum()) for one in missing.values())
        raise_missing(count, int(rows.sum()), len(frame), frame.columns[where])
    return ~rows


def plain_frame(frame: pd.DataFrame, used: Mapping[Any, int], kinds: Mapping[Any, str]) -> pd.DataFrame:
    """Return a copy of the `used` columns, without missing values, with types that formulaic understands.

    Booleans become 0 and 1, text becomes objects, and unused categories are removed.
    """
    columns: dict[Any, Any] = {}
    for name, position in used.items():
        series = frame.iloc[:, position].reset_index(drop=True)
        if kinds[name] == "number":
            # Integers stay integers, so that C(year) makes year[2020] and not year[2020.0].
            whole = str(series.dtype).lower().startswith(("bool", "int", "uint8", "uint16", "uint32"))
            columns[name] = series.to_numpy(dtype=np.int64 if whole else np.float64)
        elif kinds[name] == "levels" and isinstance(series.dtype, pd.CategoricalDtype):
            columns[name] = series.cat.remove_unused_categories()
        elif kinds[name] == "levels":
            columns[name] = series.astype(object)
        else:
            columns[name] = series
    return pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))


def column_labels(columns: pd.Index, parsed: Parsed, names: list[str]) -> pd.Index:
    """Return the labels of the columns that a formula makes: those of the data where it takes these.

    Raises
    ------
    FormulaError, DuplicateNamesError
        If there is no column, or two have one name.
    """
    if not names:
        raise FormulaError(f"formula={shown(parsed.text)} makes no column.")
    own = {name: columns[position] for name, position in parsed.lookups.items()}
    labels = pd.Index([own.get(name, name) for name in names], tupleize_cols=False)
    require_unique(labels)
    return labels


def levels_of(data: pd.DataFrame, kinds: Mapping[Any, str]) -> dict[Hashable, tuple[Any, ...] | None]:
    """Return the levels of the columns that have them, and None for the others."""
    return {name: tuple(data[name].unique()) if kinds[name] == "levels" else None for name in data.columns}


def evaluate(
    model: Model,
    data: pd.DataFrame,
    index: pd.Index,
    context: Mapping[str, Any],
    text: str,
    error: type[SpcaError] = FormulaError,
    weights: np.ndarray | None = None,
) -> tuple[np.ndarray, list[str], Model]:
    """Evaluate the terms of a formula on complete data.

    The function is thread-safe: it changes neither warning filters nor random states.

    Parameters
    ----------
    model : Model
    data : DataFrame
        n rows, as :func:`plain_frame` returns them.
    index : pandas.Index of length n
        Labels of the rows for messages.
    context : Mapping
        A :class:`spcastat.intake.safe.Closed` one allows only the safe language.
    text : str
        The formula, for messages.
    error : type
        The type of error if the evaluation fails.
    weights : ndarray of shape (n,), optional
        Weights for transforms without a state: a row of weight 2 counts as two rows.

    Raises
    ------
    FormulaError or `error`
        If a function in the formula fails, levels are unknown, there would be too many columns, or results
        are not n finite real numbers.

    Returns
    -------
    matrix : ndarray of shape (n, p), float64
    names : list of str
    model : Model
        The terms with the states of their transforms.
    """
    unweighted = weights is None or bool((weights == 1).all())
    learning = Learning(dict(model.states), None if unweighted else weights)
    encodings = {name: (kind, dict(state)) for name, (kind, state) in model.encodings.items()}
    given = Given(data, context, learning)
    try:
        with np.errstate(all="ignore"):
            values = _values_of(model, given, encodings)
            _require_few_columns(model, values, data, text)
            made = _combine(model, values, encodings, len(data))
    except UnknownLevels as unknown:
        raise error(
            f"formula={shortened(text)} met levels that it does not know: {unknown}. Allowed are the levels "
            "that the fit has seen, or that the formula names."
        ) from None
    except FormulaError as refused:
        raise FormulaError(f"formula={shortened(text)} cannot be evaluated: {refused}") from None
    except Exception as failure:
        raise error(
            f"formula={shortened(text)} cannot be evaluated: {cut(_ANSI.sub('', str(failure)), 1000)}"
        ) from failure
    names = list(made.model_spec.column_names)
    array = np.asarray(made.__wrapped__)
    if array.dtype.kind not in "biuf" or array.shape != (len(data), len(names)):
        raise FormulaError(
            f"formula={shortened(text)} makes values of dtype {array.dtype} and shape {array.shape}; each "
            f"term must make real numbers, one for each of the {plural(len(data), 'row')}."
        )
    matrix = np.array(array, dtype=np.float64, order="F")
    _require_finite_terms(matrix, names, index, text)
    learnt = {
        name: (kind, state)
        for name, (kind, state) in made.model_spec.encoder_state.items()
        if kind.value == "categorical"
    }
    widths = tuple(len(term.columns) for term in made.model_spec.structure)
    found = Model(model.terms, learning.states, learnt, widths)
    return matrix, [without_words(name) for name in names], found


def _values_of(model: Model, given: Given, encodings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all factors except numbers, by their texts."""
    values: dict[str, Any] = {}
    for part in dict.fromkeys(part for term in model.terms for part in term):
        if part.method == "literal":
            continue
        try:
            values[part.text] = _value_of(part, given)
        except (UnknownLevels, FormulaError):
            raise
        except Exception as failure:
            reason = f"[{type(failure).__name__}: {failure}]"
            raise ValueError(f"{cut(part.text, 120)} fails. {reason}") from failure
        known = encodings[part.text][1].get("categories") if part.text in encodings else None
        if known is not None:
            require_levels(values[part.text], known)
    return values


def _value_of(part: Part, given: Given) -> Any:
    if part.method == "python":
        return value_of(read_expression(part.text), given)
    if part.text not in given.data:
        return given.context[part.text]
    column = given.data[part.text]
    # Products of integers would overflow without an error.
    return column.astype(np.float64) if column.dtype.kind in "biu" else column


def _require_few_columns(model: Model, values: Mapping[str, Any], data: pd.DataFrame, text: str) -> None:
    """Raise FormulaError, before factors are coded, if the terms would make too many columns."""
    widths = {name: _width(value) for name, value in values.items()}
    total = 0
    for term in model.terms:
        columns = 1
        for part in term:
            columns *= widths.get(part.text, 1)
        total += columns
        if total > MOST_COLUMNS + len(model.terms):
            raise FormulaError(
                f"it makes more than {MOST_COLUMNS} columns, {columns} of them from "
                f"{shortened(':'.join(part.text for part in term), 80)}; use fewer levels or terms."
            )
    require_size(text, len(data), total, data.size)


def _width(value: Any) -> int:
    """Return the number of columns of a factor."""
    bare = getattr(value, "__wrapped__", value)
    about = getattr(value, "__formulaic_metadata__", None)
    coded = about is not None and about.kind.value == "categorical"
    if isinstance(bare, dict):
        return len(bare)
    if coded or (isinstance(bare, pd.Series) and bare.dtype.kind == "O"):
        return int(pd.Series(bare).nunique())
    return int(np.shape(bare)[1]) if np.ndim(bare) > 1 else 1


def _combine(model: Model, values: Mapping[str, Any], encodings: dict[str, Any], rows: int) -> Any:
    """Code factors and multiply terms with formulaic: full dummy coding, no intercept, no NA handling."""
    from formulaic import ModelSpec, SimpleFormula
    from formulaic.parser.types import Factor, Term

    terms = [
        Term(
            [
                Factor(part.text, eval_method="literal" if part.method == "literal" else "lookup")
                for part in term
            ]
        )
        for term in model.terms
    ]
    spec = ModelSpec(
        formula=SimpleFormula(terms, _ordering="none"),
        ensure_full_rank=False,
        na_action="ignore",
        output="numpy",
        encoder_state=encodings,
    )
    return spec.get_model_matrix(pd.DataFrame(index=pd.RangeIndex(rows)), context=values)


def _require_finite_terms(matrix: np.ndarray, names: list[str], index: pd.Index, text: str) -> None:
    bad = ~np.isfinite(matrix)
    if not bad.any():
        return
    where = np.flatnonzero(bad.any(axis=0))
    first = bad[:, where[0]]
    others = f", and so do {listed([names[j] for j in where[1:]])}" if len(where) > 1 else ""
    raise FormulaError(
        f"In formula={shortened(text)} the term {names[where[0]]!r} makes missing or infinite values in "
        f"{plural(int(first.sum()), 'row')}, the first of them {index[int(first.argmax())]!r}{others}. "
        "Check where the function is defined (log needs positive numbers), or leave these rows out."
    )
