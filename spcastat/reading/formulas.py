"""Formulas: their expressions and terms, the columns that they read, and the safe language for expressions.

An expression is read once into a syntax tree, which is checked and evaluated. formulaic expands the terms: it
gets generated words in place of names and expressions, so that it never parses, rewrites or runs their text.
The number of terms is computed before the formula is expanded. Names are looked up in the data, then in the
given context, then among formulaic's transforms.

Formulas given in Python run as code: ``"~ f(a)"`` calls ``f``. Formulas from a command line or a file may
only contain names of columns, numbers, operators and the functions listed here: their syntax trees are
checked by this white list before formulaic evaluates the same trees.
"""

from __future__ import annotations

import ast
import builtins
import math
import re
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from spcastat.arguments import LARGEST_WHOLE, listed, nearest, one_line, plural, shown
from spcastat.errors import DuplicateNamesError, FormulaError
from spcastat.reading import checks
from spcastat.reading.expressions import (
    Expression,
    ExpressionError,
    abridged,
    formula_name,
    owner_of,
    read_expression,
    shortened,
)
from spcastat.reading.frames import frame_numbers

# --- functions ------------------------------------------------------------------------------------


#: NumPy functions that transform each row by itself -> smallest and largest number of arguments.
NUMPY = {
    **dict.fromkeys(
        (
            "abs", "absolute", "arcsin", "arcsinh", "arctan", "cbrt", "ceil", "cos", "cosh", "exp", "exp2",
            "expm1", "floor", "log", "log10", "log1p", "log2", "sign", "sin", "sinh", "sqrt", "square", "tan",
            "tanh",
        ),
        (1, 1),
    ),
    **dict.fromkeys(("maximum", "minimum", "power"), (2, 2)),
    "clip": (3, 3),
    "round": (1, 2),
}  # fmt: skip
#: Polynomials and splines.
SMOOTH = ("poly", "bs", "cs", "cr", "cc")
#: Transforms of formulaic that learn from the rows.
LEARNING = (*SMOOTH, "center", "scale", "standardize")
#: Functions of formulaic that learn nothing from the rows.
STATELESS = ("C", "I")
#: Names of formulaic for contrasts of factors, which formulas here do not support.
CONTRASTS = ("contr", "Treatment", "Poly", "Sum", "Helmert", "Diff")
#: Largest number of entries of a list, of columns of a state in a file, and of characters of a text.
LARGEST_ROOT = 1000
#: Largest degree and df of a polynomial or spline.
LARGEST_DEGREE = 100
#: Largest number of terms (including repeated ones) and of columns, in addition to the columns of the data.
MOST_TERMS = 100_000
#: Largest exponent of numbers, and of sets of terms as in ``(a + b)**2``: larger powers take too long.
LARGEST_EXPONENT = 100

#: Codes for terminal colours in messages of formulaic.
ANSI_CODES = re.compile(r"\x1b\[[0-9;]*m")
_DIGITS_AND_POINTS = re.compile(r"[0-9.]{1,20}")
_NAME_CODE = re.compile(r"_[ne]([0-9]+)_")
#: A numeral in backticks, which formulaic would read as the intercept; see `formula_name`.
_QUOTED_NUMERAL = re.compile(r"`([0-9.]+)`")


class Part(NamedTuple):
    """A factor of a term: its text, and how it is evaluated (``lookup``, ``python`` or ``literal``)."""

    text: str
    method: str


@dataclass(frozen=True)
class Piece:
    """A token of a formula; `kind` is formulaic's name for its type."""

    text: str
    kind: str
    expression: Expression | None = None

    def reads(self, context: Mapping[str, Any]) -> frozenset[str]:
        """Return the names whose values it reads."""
        if self.expression is not None:
            return self.expression.reads(context)
        return frozenset([self.text] if self.kind == "name" else [])


@dataclass(frozen=True, eq=False)
class FormulaModel:
    """The terms of a formula, with the states of their transforms and factors.

    Attributes
    ----------
    terms : tuple of tuples of Part
        In the user's order, without the intercept.
    text : str
        The formula as the user wrote it.
    context : Mapping
        The names that the terms use in addition to columns. If it is
        :class:`Closed`, only expressions in the safe language are evaluated.
    states : dict
        The learned state of each transform; the key is the text of its call.
    encodings : dict
        The kind and the state, in formulaic, of each factor with levels; the key is the text of the factor.
    widths : tuple of int
        The number of columns of each term; empty until the columns are computed.
    """

    terms: tuple[tuple[Part, ...], ...]
    text: str
    context: Mapping[str, Any]
    states: Mapping[str, Any] = field(default_factory=dict)
    encodings: Mapping[str, tuple[Any, dict[str, Any]]] = field(default_factory=dict)
    widths: tuple[int, ...] = ()


def pieces_of(formula: str) -> list[Piece]:
    """Split a formula into names, numbers, operators, brackets and Python expressions.

    Raises
    ------
    FormulaError
        If it cannot be read.
    """
    from formulaic.parser.algos.tokenize import tokenize

    pieces = []
    try:
        for token in tokenize(_QUOTED_NUMERAL.sub(r"`column \1`", formula)):
            text, kind = token.token, token.kind.value if token.kind is not None else ""
            expression = read_expression(text) if kind == "python" else None
            if expression is None:
                pieces.append(Piece(text, "operator" if text == "." else kind))
            elif isinstance(expression.tree, ast.Name):
                pieces.append(Piece(expression.name(expression.tree), "name"))
            else:
                pieces.append(Piece(expression.text, kind, expression))
    except Exception as error:
        raise unreadable(formula, str(error)) from None
    return pieces


def expand(formula: str, pieces: list[Piece], columns: Collection[str]) -> list[tuple[Part, ...]]:
    """Return the terms of a formula in the user's order, without the intercept.

    Parameters
    ----------
    formula : str
        For messages.
    pieces : list of Piece
    columns : collection of str
        The columns that ``.`` stands for.

    Raises
    ------
    FormulaError
        If it cannot be parsed, has two sides or several parts, has too many terms, or none.
    """
    from formulaic import Formula, SimpleFormula

    words = {(name, "lookup"): f"_n{place}_" for place, name in enumerate(columns)}
    text = []
    for piece in pieces:
        if piece.kind in ("name", "python"):
            key = (piece.text, "lookup" if piece.kind == "name" else "python")
            text.append(words.setdefault(key, f"_e{len(words)}_"))
        elif piece.kind == "value" and not _DIGITS_AND_POINTS.fullmatch(piece.text):
            raise unreadable(formula, f"the text {piece.text} is not a term")
        else:
            text.append(f"%{piece.text}%" if piece.text[:1].isalpha() else piece.text)
    plain = " ".join(text)
    parts = {word: Part(*key) for key, word in words.items()}
    available = [words[name, "lookup"] for name in columns]
    context = {"__formulaic_variables_available__": available}

    def failed(error: Exception) -> FormulaError:
        message = _NAME_CODE.sub(
            lambda match: parts[match[0]].text if match[0] in parts else match[0], str(error)
        )
        return unreadable(formula, message)

    try:
        _require_few(formula, plain, context, len(available))
        parsed: Any = Formula(plain, _ordering="none", _context=context)
    except FormulaError:
        raise
    except Exception as error:
        raise failed(error) from None
    if not isinstance(parsed, SimpleFormula):
        left_side, _, terms_text = formula.partition("~")
        if left_side.strip() and terms_text.strip():
            raise FormulaError(
                f"formula={formula!r} has a left side, and formulas here have none: give "
                f"{f'~ {terms_text.strip()}'!r}."
            )
        raise FormulaError(
            f"formula={formula!r} has two sides or several parts; give one, such as '~ a + b + log(c)'."
        )
    expanded_terms = [
        tuple(parts.get(factor.expr, Part(factor.expr, "literal")) for factor in term.factors)
        for term in parsed
    ]
    terms = [term for term in expanded_terms if set(term) != {Part("1", "literal")}]
    if not terms:
        raise FormulaError(f"formula={formula!r} has no term besides the intercept, which is not a variable.")
    return terms


#: Start of an error message of formulaic -> the same in plain words; {} is the part of the formula it marks.
_REASONS = {
    "Could not find matching context marker": "the bracket {} has no partner",
    "Formula ended before quote context was closed": "{} is not closed",
    "Missing operator": "an operator, such as +, is missing in {}",
    "Unknown operator": "{} is not an operator",
    "Operator": "the operator {} is misplaced",
    "Numeric literals other than": "the number {} is not a term",
}
_MARKED_TEXT = re.compile("⧛(.*?)⧚", re.DOTALL)


def unreadable(formula: str, reason: str) -> FormulaError:
    """Return the error for a formula that cannot be read."""
    text = ANSI_CODES.sub("", reason)
    words = next((words for start, words in _REASONS.items() if text.startswith(start)), "")
    marked = _MARKED_TEXT.search(text)
    if words and marked is not None:
        plain = words.format(repr(marked[1].strip()))
    else:
        plain, _, _ = text.partition("\n\n")
    reason_text = one_line(" ".join(plain.split()), 300)
    return FormulaError(
        f"formula={shortened(formula)} cannot be read: {reason_text.rstrip('.')}; a formula looks like "
        "'~ a + b + log(c)' or '~ . - id'."
    )


def _require_few(formula: str, plain: str, context: Mapping[str, Any], columns: int) -> None:
    """Raise FormulaError, before a formula is expanded, if it would have too many terms."""
    from formulaic.parser import DefaultFormulaParser

    limit = MOST_TERMS + columns
    nodes: list[Any] = [DefaultFormulaParser().get_ast(plain, context=dict(context))]
    for node in nodes:  # operators before their operands
        nodes += getattr(node, "args", ())
    counts: dict[int, int] = {}
    for node in reversed(nodes):
        counts[id(node)] = count = _count(node, counts, columns)
        if count > limit:
            raise FormulaError(
                f"formula={shortened(formula)} makes more than {limit} terms, or has an exponent above "
                f"{LARGEST_EXPONENT} after a bracket. Write out the terms that you need."
            )


def _count(node: Any, counts: Mapping[int, int], columns: int) -> int:
    """Return the number of terms, including repeated ones, that a part of a formula makes."""
    if not hasattr(node, "args"):
        return 1
    symbol, argument_counts = node.operator.symbol, [counts[id(part)] for part in node.args]
    if symbol == ".":
        return columns
    if symbol in ("**", "^"):
        exponent = str(node.args[1])
        if not exponent.isdigit():  # an error will be raised when the formula is expanded
            return argument_counts[0]
        is_readable = len(exponent) < 10 and int(exponent) <= LARGEST_EXPONENT
        return argument_counts[0] ** int(exponent) if is_readable else 10 * (MOST_TERMS + columns)
    if symbol in (":", "*") and len(argument_counts) == 2:
        return argument_counts[0] * argument_counts[1] + (sum(argument_counts) if symbol == "*" else 0)
    return sum(argument_counts)


# --- names --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Parsed:
    """A formula parsed for a data frame.

    Attributes
    ----------
    model : FormulaModel
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

    model: FormulaModel
    lookups: dict[str, int]
    used: dict[str, int]
    plain: bool
    given: Parsed | None = None


def parse(
    formula: Any,
    columns: pd.Index,
    context: Mapping[str, Any],
    weights: Any = None,
    separate: Collection[str] = (),
) -> Parsed:
    """Parse a one-sided formula for a data frame with these columns.

    ``.`` stands for all of them, except those used after a bar and those in `separate`, which terms may name.
    If `weights` is text, it is the name of a column that no term may use.

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
    pieces = pieces_of(formula)
    if isinstance(context, Closed):
        require_safe(formula, pieces, names)
    if isinstance(weights, str) and any(formula_name(weights) in piece.reads(context) for piece in pieces):
        raise FormulaError(
            f"formula={shown(formula)} has {shown(weights)}, and weights={shown(weights)} removes that "
            "column from the variables, also from '.'. Leave it out of the formula, or give the weights as "
            "numbers."
        )
    used = {name for piece in pieces if piece.kind == "name" for name in piece.reads(context)}
    for piece in pieces:
        _require_known(piece, names, context, used)
    main_pieces, behind = _at_the_bar(formula, pieces)
    left_out = {formula_name(name) for name in separate}
    covariates, variables = None, {name: place for name, place in names.items() if name not in left_out}
    if behind is not None:
        covariates = _resolve(formula, behind, variables, names, context)
        variables = {name: place for name, place in variables.items() if name not in covariates.used}
    parsed = _resolve(formula, main_pieces, variables, names, context)
    if covariates is not None and (twice := [name for name in parsed.used if name in covariates.used]):
        raise FormulaError(
            f"formula={shown(formula)} has {listed(twice)} before and after the bar: leave one out."
        )
    return replace(parsed, given=covariates)


def _require_known(
    piece: Piece, columns: Collection[str], context: Mapping[str, Any], used: Collection[str]
) -> None:
    """Raise FormulaError if a piece of a formula uses a name that is unknown.

    Names in `used`, which the formula already contains, are not suggested for a misspelt column.
    """
    import formulaic.transforms

    if piece.expression is not None and "C" not in context:
        _refuse_contrasts(piece.expression)
    of_formulaic = set(formulaic.transforms.TRANSFORMS) - set(CONTRASTS)
    plain = piece.kind == "name"
    if piece.expression is not None and piece.text in columns:
        raise DuplicateNamesError(
            f"{piece.text!r} is both a column of the data and an expression of the formula. Write "
            f"`{piece.text}` in backticks for the column, or rename it."
        )
    for name in sorted(piece.reads(context)):
        if name in columns or name in context:
            continue
        if not plain and (name in of_formulaic or hasattr(builtins, name)):
            continue
        place = "" if plain else f" in {shown(piece.text)}"
        dotted = next((c for c in columns if c.startswith(name + ".") and c in piece.text), None)
        if dotted:
            hint = f" Write the name in backticks: `{dotted}`."
        else:
            variables = (n for n, v in context.items() if not (callable(v) or isinstance(v, ModuleType)))
            hint = nearest(name, [*columns, *variables], used if plain else ())
            hint += " Write names with spaces or signs in backticks."
        raise FormulaError(
            f"The formula uses {shown(name)}{place}, which is not a column of the data. The columns are "
            f"{listed(columns, 12)}.{hint}"
        )
    for name in sorted(piece.expression.calls if piece.expression else ()):
        if not (callable(context.get(name)) or name in of_formulaic or hasattr(builtins, name)):
            functions = [
                *TRANSFORMS,
                *(name_in_context for name_in_context in context if callable(context[name_in_context])),
            ]
            type_text = f"a variable of type {type(context.get(name)).__name__} and"
            description = type_text if name in context else "which is"
            raise FormulaError(
                f"The formula calls {shown(name)}, {description} not a known "
                f"function.{nearest(name, functions)} Known functions are {listed(TRANSFORMS, 40)}, NumPy "
                "functions such as np.log1p, and those in context={...}."
            )


def _refuse_contrasts(expression: Expression) -> None:
    """Raise FormulaError for a call of C with contrasts, which would change nothing."""
    for node in ast.walk(expression.tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "C"):
            continue
        contrasts = [*node.args[1:], *(word.value for word in node.keywords if word.arg == "contrasts")]
        if contrasts:
            plain = expression.show(node.args[0]) if node.args else "x"
            raise FormulaError(
                f"{shortened(expression.show(node), 120)} was given with the contrasts "
                f"{shortened(expression.show(contrasts[0]), 120)}, but every level of a factor gets a column "
                f"here, so contrasts would change nothing: write C({abridged(plain)})."
            )


def _at_the_bar(formula: str, pieces: list[Piece]) -> tuple[list[Piece], list[Piece] | None]:
    """Return the parts of a formula before and after the bar; None for the second if there is no bar."""
    depth = np.cumsum([(piece.text == "(") - (piece.text == ")") for piece in pieces])
    bars = [
        i for i, part in enumerate(pieces) if part.kind == "operator" and part.text == "|" and not depth[i]
    ]
    if not bars:
        return pieces, None
    if len(bars) > 1 or bars[0] == len(pieces) - 1:
        raise FormulaError(
            f"formula={shown(formula)} has {plural(len(bars), 'bar')}; one bar, with terms after it, "
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
    """Expand the terms of one side of the bar (``.`` stands for `columns`), and find the names they read."""
    lookups: dict[str, int] = {}
    used: dict[str, int] = {}
    constants: dict[str, Any] = Closed() if isinstance(context, Closed) else {}
    plain = True
    terms = expand(formula, pieces, columns)
    for term in terms:
        for part in term:
            plain = plain and part.method == "lookup" and len(term) == 1 and part.text in names
            if part.method == "lookup" and part.text in names:
                lookups[part.text] = names[part.text]
            values = names_read(part, context)
            used.update({name: names[name] for name in sorted(values) if name in names})
            other_names = [name for name in sorted(values) if name not in names and name in context]
            constants.update({name: context[name] for name in other_names})
            if part.method == "python":
                constants.update(functions_of(read_expression(part.text), context))
    return Parsed(FormulaModel(tuple(terms), formula, constants), lookups, used, plain)


def names_read(part: Part, context: Mapping[str, Any]) -> frozenset[str]:
    """Return the names whose values a part of a term reads; a number reads none."""
    if part.method == "literal":
        return frozenset()
    return frozenset([part.text]) if part.method == "lookup" else read_expression(part.text).reads(context)


def functions_of(expression: Expression, context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the functions, and the modules, of a context that an expression calls.

    As in R, a variable that is not callable does not hide a function of the same name.
    """
    owners = {name: owner_of(name, attribute, context) for name, attribute in sorted(expression.owners)}
    modules = {name for name, owner in owners.items() if owner is not None and owner is context.get(name)}
    calls = {name for name in expression.calls if callable(context.get(name))}
    return {name: context[name] for name in sorted(calls | modules)}


# --- columns ------------------------------------------------------------------------------------


def kinds_of(frame: pd.DataFrame, parsed: Parsed, categorical: str) -> dict[Hashable, str]:
    """Return the kind of each column that a formula reads, by its name in the formula.

    Raises
    ------
    ColumnTypeError
        For text and categories unless `categorical` is ``"dummy"``, for objects and complex numbers, and
        for dates and durations that are used without a transformation.
    """
    kinds_by_name = checks.kinds_of(frame, parsed.used.values())
    kinds: dict[Hashable, str] = {name: kinds_by_name[position] for name, position in parsed.used.items()}
    kinds_allowed = {"number", "levels"} if categorical == "dummy" else {"number"}
    free = [name for name in kinds if kinds[name] == "other" and name not in parsed.lookups]
    bad = [name for name, kind in kinds.items() if kind not in kinds_allowed and name not in free]
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
        """Return column -> mask of its missing values, shape (n,)."""
        missing = {}
        for name, position in self.used.items():
            if self.kinds[name] == "number":
                values = frame_numbers(self.frame, [position])
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
            If a column of numbers contains infinite values.
        MissingValuesError
            If values are missing and `na` is ``"raise"``.
        """
        missing = self.missing()
        if not any(mask.any() for mask in missing.values()):
            return None
        rows = np.any([*missing.values()], axis=0)
        if na == "raise":
            columns = np.array([self.used[name] for name, mask in missing.items() if mask.any()])
            count = sum(int(mask.sum()) for mask in missing.values())
            empty = int(np.all([*missing.values()], axis=0).sum())
            checks.raise_missing(count, int(rows.sum()), len(self.frame), self.frame.columns[columns], empty)
        return ~rows

    def rows(self, keep: np.ndarray | None) -> Inputs:
        """Return the rows in a mask; None stands for all rows."""
        return self if keep is None else replace(self, frame=self.frame.iloc[np.flatnonzero(keep)])

    def plain(self, names: Collection[Any] | None = None) -> pd.DataFrame:
        """Return a copy of the columns, or of the columns `names`, with types that formulaic understands.

        They must have no missing values. Booleans become 0 and 1, text becomes objects, unused
        categories are removed, and categories such as intervals become text, which files can store.
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
    plain = all(isinstance(level, str | bool | int | float | np.number | np.bool_) for level in levels)
    return series if plain else series.cat.rename_categories([str(level) for level in levels])


# --- the safe language ----------------------------------------------------------------------------


#: Functions of formulaic that are allowed.
TRANSFORMS = ("log", "log2", "log10", "exp", "exp2", *LEARNING, *STATELESS)
#: Operators that are allowed.
OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.UAdd, ast.USub, ast.Invert,
)  # fmt: skip
#: Names of all functions that are allowed.
FUNCTIONS = frozenset({*TRANSFORMS, *NUMPY})
#: Functions of formulaic that are not allowed, and why.
REASONS = {
    "lag": ", which takes values from other rows",
    "exp10": ", which is x**10 in formulaic; write np.power(10.0, x) for ten to the power of x",
}


class Closed(dict[str, Any]):
    """The context of a formula from a command line or a file.

    With this context only expressions in the language of this module are evaluated.
    """

    def __bool__(self) -> bool:
        return True  # so that ``context or {}`` does not replace an empty one by an open context


def safe_context() -> Closed:
    """Return the context of safe formulas: the NumPy functions that they may call."""
    return Closed({name: getattr(np, name) for name in NUMPY if name not in TRANSFORMS})


def require_safe(formula: str, pieces: list[Piece], columns: Collection[str]) -> None:
    """Raise FormulaError unless the expressions in a formula are in the safe language.

    Parameters
    ----------
    formula : str
        For the message.
    pieces : list of Piece
    columns : collection of str
        The names of the columns in a formula.
    """
    for piece in pieces:
        problem = None if piece.expression is None else problem_of(piece.expression, columns)
        if problem is not None:
            raise FormulaError(
                f"formula={shortened(formula)} contains {problem}. A formula may contain names of "
                f"columns, numbers, operators, {listed(TRANSFORMS, 40)} and NumPy functions such as "
                "np.log1p; write names with signs or spaces in backticks, and compute other terms as "
                "columns first."
            )


def problem_of(
    expression: str | Expression,
    columns: Collection[str],
    *,
    strings: bool = False,
    context: Mapping[str, Any] | None = None,
) -> str | None:
    """Return, as text for a message, what is not allowed in a Python expression; None if all is allowed.

    Parameters
    ----------
    expression : str or Expression
    columns : collection of str
        Names of values.
    strings : bool
        Whether text is allowed, for names of levels and options.
    context : mapping, optional
        The user's names. If one of them hides an allowed function, calls of it are not allowed.
    """
    if isinstance(expression, str):
        text = expression
        try:
            expression = read_expression(text)
        except ExpressionError as error:
            return f"{shortened(text, 120)}, which cannot be read: {one_line(str(error), 300)}"
    return next(_problems(expression, columns, strings, context or {}), None)


def _is_moderate(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= LARGEST_ROOT
    return value is None or (abs(value) <= LARGEST_WHOLE if isinstance(value, int) else math.isfinite(value))


def _problems(  # noqa: C901  one branch for each kind of syntax
    expression: Expression, columns: Collection[str], strings: bool, context: Mapping[str, Any]
) -> Iterator[str]:
    waiting: list[tuple[ast.AST, bool]] = [(expression.tree, False)]  # nodes, and whether they may be lists
    while waiting:
        node, listed_here = waiting.pop()
        children: list[tuple[ast.AST, bool]] = []
        if isinstance(node, ast.Call):
            yield from _call_problems(expression, node, context)
            children = [(child, True) for child in (*node.args, *(word.value for word in node.keywords))]
        elif isinstance(node, ast.Attribute):
            yield f"{_source_text(expression, node)}, which looks into an object"
        elif isinstance(node, ast.Name):
            name = expression.name(node)
            if name not in columns:
                hint = nearest(name, sorted(columns))
                yield f"the name {shortened(name, 120)}, which is not a column{hint}"
        elif isinstance(node, ast.Constant):
            types = (int, float, str, type(None)) if strings else (int, float, type(None))
            if not isinstance(node.value, types) or "`" in str(node.value):
                yield f"the text or value {abridged(ast.unparse(node))}"
            elif not _is_moderate(node.value):
                yield f"the value {abridged(ast.unparse(node))}, which is too large"
        elif isinstance(node, (ast.List, ast.Tuple)) and listed_here:
            if len(node.elts) > LARGEST_ROOT:
                yield f"a list of {len(node.elts)} values; at most {LARGEST_ROOT} are allowed"
            children = [(child, False) for child in node.elts]
        elif isinstance(node, (ast.BinOp, ast.UnaryOp)) and isinstance(node.op, OPERATORS):
            sides = [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right]
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and not _small_power(node):
                powers = f"exponents are numbers up to {LARGEST_EXPONENT}"
                yield f"the power {_source_text(expression, node)}; {powers}"
            children = [(side, False) for side in sides]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], OPERATORS):
            children = [(node.left, False), (node.comparators[0], False)]
        elif isinstance(node, (ast.Compare, ast.BoolOp)):
            yield f"{_source_text(expression, node)}; write (1 < a) & (a < 2)"
        else:
            yield f"{_source_text(expression, node)}"
        waiting += reversed(children)


def _call_problems(expression: Expression, node: ast.Call, context: Mapping[str, Any]) -> Iterator[str]:
    name = called_name(expression, node.func)
    root = (name or "").partition(".")[0]
    meant = np if root == "np" else getattr(np, root, None)
    fewest_arguments, limit = NUMPY.get((name or "").removeprefix("np."), (0, math.inf))
    if name is None or context.get(root, meant) is not meant:  # the user may give the name another meaning
        text = abridged(expression.show(node.func))
        reason = REASONS.get(text) or nearest(text, sorted(FUNCTIONS)) or ", which is not a known function"
        yield f"a call of {text!r}{reason}"
    elif any(word.arg is None for word in node.keywords):
        yield "'**' before an argument"
    elif limit < math.inf and (node.keywords or not fewest_arguments <= len(node.args) <= limit):
        count = str(fewest_arguments) if fewest_arguments == limit else f"{fewest_arguments} or {limit}"
        text = _source_text(expression, node)
        yield f"{text}; {name} takes {count} argument{'s' * (limit > 1)} without names"
    elif name in {*STATELESS, *LEARNING} and not node.args:
        yield f"{_source_text(expression, node)} without values"
    elif name in SMOOTH and not all(isinstance(size, ast.Constant) for size in sizes_of(node)):
        yield f"{_source_text(expression, node)}, whose degree or df is not a number"


def sizes_of(node: ast.Call) -> list[ast.expr]:
    """Return the arguments that give the degree or df in a call to a polynomial or spline."""
    return [*node.args[1::2], *(word.value for word in node.keywords if word.arg in ("degree", "df"))]


def require_moderate(expression: Expression) -> None:
    """Raise FormulaError for a polynomial or spline whose degree or df is so large that it takes too long."""
    for node in ast.walk(expression.tree):
        if not isinstance(node, ast.Call) or called_name(expression, node.func) not in SMOOTH:
            continue
        for size in sizes_of(node):
            value = size.value if isinstance(size, ast.Constant) else None
            if isinstance(size, ast.BinOp) or (isinstance(value, int) and value > LARGEST_DEGREE):
                raise FormulaError(
                    f"{_source_text(expression, node)} has the degree or df {expression.show(size)}; give a "
                    f"number up to {LARGEST_DEGREE}."
                )


def called_name(expression: Expression, function: ast.expr) -> str | None:
    """Return the name of an allowed function, such as ``bs`` or ``np.log``, or None."""
    if isinstance(function, ast.Name):
        name = expression.name(function)
        return name if name in FUNCTIONS else None
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return None
    is_known = expression.name(function.value) == "np" and function.attr in NUMPY
    return f"np.{function.attr}" if is_known else None


def _source_text(expression: Expression, node: ast.AST) -> str:
    return shortened(expression.show(node), 120)


def _small_power(node: ast.BinOp) -> bool:
    """Whether the exponent is at most LARGEST_EXPONENT, and the base is a number or contains a name."""
    power = node.right
    if isinstance(power, ast.UnaryOp) and isinstance(power.op, (ast.USub, ast.UAdd)):
        power = power.operand
    is_number = isinstance(power, ast.Constant) and isinstance(power.value, (int, float))
    moderate = is_number and abs(power.value) <= LARGEST_EXPONENT  # type: ignore[attr-defined]
    plain = isinstance(node.left, ast.Constant)
    return moderate and (plain or any(isinstance(part, ast.Name) for part in ast.walk(node.left)))
