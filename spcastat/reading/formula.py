"""One-sided formulas: parsing, known names, and the columns of a data frame that they read.

A formula given in Python is code: ``"~ f(a)"`` calls ``f``. Do not evaluate formulas from people whose
programs you would not run, unless the context is :class:`spcastat.reading.terms.Closed`. Names are
looked up in the data, then in the given context, then among formulaic's transforms.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed, nearest, plural, shown
from spcastat.errors import DuplicateNamesError, FormulaError
from spcastat.reading import checks
from spcastat.reading.frames import frame_numbers
from spcastat.reading.terms import Closed, Model, Piece, expand, formula_name, pieces_of, require_safe


@dataclass(frozen=True, eq=False)
class Parsed:
    """A formula parsed for a data frame.

    Attributes
    ----------
    model : Model
        Its terms, and the part of the context that they read.
    lookups : dict
        Name -> position of the columns that are used without a transformation.
    used : dict
        Name -> position of all columns that the terms read.
    plain : bool
        Whether every term is a single column without a transformation.
    given : Parsed or None
        The covariates after a bar.
    """

    model: Model
    lookups: dict[str, int]
    used: dict[str, int]
    plain: bool
    given: Parsed | None = None


def parse(
    formula: Any,
    columns: pd.Index,
    context: Mapping[str, Any],
    weights: Any = None,
    apart: Collection[str] = (),
) -> Parsed:
    """Parse a one-sided formula for a data frame with these columns.

    ``.`` stands for all of them, except those used after a bar and those in `apart`, which terms may name. If
    `weights` is text, it is the name of a further column, which no term may read.

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
    names = {formula_name(label): position for position, label in enumerate(columns)}
    if len(names) < len(columns):
        texts = pd.Index([formula_name(label) for label in columns])
        alike = columns[texts.duplicated(keep=False)]
        raise DuplicateNamesError(f"Columns look alike in a formula: {listed(alike)}. Rename them.")
    if isinstance(context, Closed):
        require_safe(formula, names)
    pieces = pieces_of(formula)
    if isinstance(weights, str) and any(formula_name(weights) in piece.values for piece in pieces):
        raise FormulaError(
            f"formula={shown(formula)} has {shown(weights)}, and weights={shown(weights)} takes that column "
            "out of the variables, '.' included. Leave it out of the formula, or give the weights as numbers."
        )
    for piece in pieces:
        _require_known(piece, names, context)
    before, behind = _at_the_bar(formula, pieces)
    left_out = {formula_name(name) for name in apart}
    given, others = None, {name: place for name, place in names.items() if name not in left_out}
    if behind is not None:
        given = _resolve(formula, behind, others, names, context)
        others = {name: place for name, place in others.items() if name not in given.used}
    parsed = _resolve(formula, before, others, names, context)
    if given is not None and (twice := [name for name in parsed.used if name in given.used]):
        raise FormulaError(
            f"formula={shown(formula)} has {listed(twice)} before and behind the bar: leave one out."
        )
    return replace(parsed, given=given)


def _require_known(piece: Piece, columns: Collection[str], context: Mapping[str, Any]) -> None:
    """Raise FormulaError if a piece of a formula uses a name that is unknown."""
    from formulaic.transforms import TRANSFORMS

    plain = piece.kind == "name"
    if piece.values | piece.calls and piece.text in columns and not plain:
        raise DuplicateNamesError(
            f"{piece.text!r} is both a column of the data and an expression of the formula. Write "
            f"`{piece.text}` in backticks for the column, or rename it."
        )
    for name in sorted(piece.values):
        if name in columns or name in context:
            continue
        if not plain and (name in TRANSFORMS or hasattr(builtins, name)):
            continue
        inside = "" if plain else f" in {shown(piece.text)}"
        dotted = next((c for c in columns if c.startswith(name + ".") and c in piece.text), None)
        if dotted:
            hint = f" Write the name in backticks: `{dotted}`."
        else:
            variables = (n for n, v in context.items() if not (callable(v) or isinstance(v, ModuleType)))
            hint = nearest(name, [*columns, *variables])
            hint += " Names go in backticks if they hold spaces or signs."
        raise FormulaError(
            f"The formula uses {shown(name)}{inside}, which is not a column of the data. The columns are "
            f"{listed(columns, 12)}.{hint}"
        )
    for name in sorted(piece.calls):
        if not (callable(context.get(name)) or name in TRANSFORMS or hasattr(builtins, name)):
            known = [*TRANSFORMS, *(one for one in context if callable(context[one]))]
            given = f"a variable of type {type(context.get(name)).__name__} and"
            what = given if name in context else "which is"
            raise FormulaError(
                f"The formula calls {shown(name)}, {what} not a known function.{nearest(name, known)} "
                f"Known are {listed(TRANSFORMS, 40)}, and what context={{...}} holds."
            )


def _at_the_bar(formula: str, pieces: list[Piece]) -> tuple[list[Piece], list[Piece] | None]:
    """Return the parts of a formula before and after the bar; None for the second if there is no bar."""
    depth = np.cumsum([(piece.text == "(") - (piece.text == ")") for piece in pieces])
    bars = [i for i, one in enumerate(pieces) if one.kind == "operator" and one.text == "|" and not depth[i]]
    if not bars:
        return pieces, None
    if len(bars) > 1 or bars[0] == len(pieces) - 1:
        raise FormulaError(
            f"formula={shown(formula)} has {plural(len(bars), 'bar')}; one bar, with terms behind it, "
            "separates the variables from the covariates, as in '~ a + b | age + sex'."
        )
    return pieces[: bars[0]], pieces[bars[0] + 1 :]


def _resolve(
    formula: str,
    pieces: list[Piece],
    columns: Collection[str],
    names: dict[str, int],
    context: Mapping[str, Any],
) -> Parsed:
    """Expand the terms of one side of the bar, where ``.`` stands for `columns`, and find what they read."""
    lookups: dict[str, int] = {}
    used: dict[str, int] = {}
    kept: dict[str, Any] = Closed() if isinstance(context, Closed) else {}
    plain = True
    terms = expand(formula, pieces, columns)
    held = {piece.text: piece for piece in pieces}
    for term in terms:
        for part in term:
            plain = plain and part.method == "lookup" and len(term) == 1 and part.text in names
            values, calls = frozenset([part.text]), frozenset[str]()
            if part.method == "literal":
                continue
            if part.method == "python":
                values, calls = held[part.text].values, held[part.text].calls
            elif part.text in names:
                lookups[part.text] = names[part.text]
            used.update({name: names[name] for name in sorted(values) if name in names})
            reads = [name for name in values if name not in names and name in context]
            # as in R, a variable that is not callable does not hide a function of the same name
            reads += [name for name in calls if callable(context.get(name))]
            kept.update({name: context[name] for name in sorted(reads)})
    return Parsed(Model(tuple(terms), formula, kept), lookups, used, plain)


# --- columns ------------------------------------------------------------------------------------


def kinds_of(frame: pd.DataFrame, parsed: Parsed, categorical: str) -> dict[Hashable, str]:
    """Return the kind of each column that a formula reads, by its name in the formula.

    Raises
    ------
    ColumnTypeError
        For text and categories unless `categorical` is ``"dummy"``, for objects and complex numbers, and
        for dates and durations that are used without a transformation.
    """
    found = checks.kinds_of(frame, parsed.used.values())
    kinds: dict[Hashable, str] = {name: found[position] for name, position in parsed.used.items()}
    allowed = {"number", "levels"} if categorical == "dummy" else {"number"}
    free = [name for name in kinds if kinds[name] == "other" and name not in parsed.lookups]
    bad = [name for name, kind in kinds.items() if kind not in allowed and name not in free]
    checks.refuse(frame, {parsed.used[name]: kinds[name] for name in bad})  # type: ignore[index]
    return kinds


@dataclass(frozen=True, eq=False)
class Inputs:
    """The columns of a data frame that a formula reads.

    Attributes
    ----------
    frame : DataFrame of n rows
    used, kinds : mappings
        Name of a column in the formula -> its position, and its kind.
    """

    frame: pd.DataFrame
    used: Mapping[Any, int]
    kinds: Mapping[Any, str]

    def missing(self) -> dict[Any, np.ndarray]:
        """Return for each of the columns which of its values are missing, shape (n,)."""
        missing = {}
        for name, position in self.used.items():
            if self.kinds[name] == "number":
                values, _ = frame_numbers(self.frame, [position])
                checks.require_finite(values, self.frame.columns[[position]])
                missing[name] = np.isnan(values[:, 0])
            else:
                missing[name] = self.frame.iloc[:, position].isna().to_numpy(dtype=bool)
        return missing

    def complete_rows(self, na: str) -> np.ndarray | None:
        """Return a mask of the rows without missing values in these columns, or None if all are complete.

        Raises
        ------
        InfiniteValuesError
            If a column of numbers holds infinite values.
        MissingValuesError
            If values are missing and `na` is ``"raise"``.
        """
        missing = self.missing()
        if not any(one.any() for one in missing.values()):
            return None
        rows = np.any([*missing.values()], axis=0)
        if na == "raise":
            where = np.array([self.used[name] for name, one in missing.items() if one.any()])
            count = sum(int(one.sum()) for one in missing.values())
            checks.raise_missing(count, int(rows.sum()), len(self.frame), self.frame.columns[where])
        return ~rows

    def rows(self, keep: np.ndarray | None) -> Inputs:
        """Return the rows in a mask; all of them for None."""
        return self if keep is None else replace(self, frame=self.frame.iloc[np.flatnonzero(keep)])

    def plain(self, names: Collection[Any] | None = None) -> pd.DataFrame:
        """Return a copy of the columns, or of those `names`, with types that formulaic understands.

        They must be without missing values. Booleans become 0 and 1, text becomes objects, unused
        categories are removed, and categories such as intervals become text, which files can hold.
        """
        columns: dict[Any, Any] = {}
        for name in self.used if names is None else names:
            series = self.frame.iloc[:, self.used[name]].reset_index(drop=True)
            if self.kinds[name] == "number":
                truth = str(series.dtype).lower().startswith("bool")
                # other integers would overflow without an error
                columns[name] = series.to_numpy(dtype=np.int64 if truth else np.float64)
            elif self.kinds[name] == "levels" and isinstance(series.dtype, pd.CategoricalDtype):
                columns[name] = _text_categories(series.cat.remove_unused_categories())
            else:
                columns[name] = series.astype(object) if self.kinds[name] == "levels" else series
        return pd.DataFrame(columns, index=pd.RangeIndex(len(self.frame)))


def _text_categories(series: pd.Series) -> pd.Series:
    """Return a factor whose categories are text, numbers or booleans; others become text."""
    levels = series.cat.categories
    plain = all(isinstance(one, str | bool | int | float | np.number | np.bool_) for one in levels)
    return series if plain else series.cat.rename_categories([str(one) for one in levels])
