"""Evaluate an expression of a formula, and the transforms of columns that it may use.

formulaic evaluates expressions as Python code, with the states of their transforms. With a
:class:`spcastat.reading.formula_safety.Closed` context, only expressions whose syntax tree is in the safe
language of that module get there.

The transforms are formulaic's. With weights, a row of weight 2 counts as two rows in the means and standard
deviations of ``center``, ``scale`` and ``standardize``; other transforms that learn are refused.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import FormulaError
from spcastat.reading import formula_safety
from spcastat.reading.expressions import LARGEST_ROOT, Expression, shortened

#: Transforms with states from weighted rows.
WEIGHTED = ("center", "scale", "standardize")
#: Transform -> its degree and number of columns, by position after the values.
COLUMNS = {
    "poly": ("degree",),
    "bs": ("df", "knots", "degree"),
    **dict.fromkeys(("cs", "cr", "cc"), ("df", "knots")),
}
#: Largest degrees of polynomials and of splines.
HIGHEST = {"poly": 100, "bs": 20}


class UnknownLevels(Exception):
    """Raised for values that are not levels of a factor."""


@dataclass(frozen=True, eq=False)
class Given:
    """The data and names on which expressions are evaluated.

    Attributes
    ----------
    data : DataFrame of n rows
    context : mapping
        Further names; if it is a :class:`Closed`, only expressions in the safe language are evaluated.
    states : dict
        Text of a call -> the state of its transform. The state of a new call is learned and added.
    weights : ndarray of shape (n,) or None
        Weights of the rows; None for equal weights.
    """

    data: pd.DataFrame
    context: Mapping[str, Any]
    states: dict[str, Any]
    weights: np.ndarray | None = None


def value_of(expression: Expression, given: Given) -> Any:
    """Return the value of an expression: an array of n numbers, or what formulaic converts to columns.

    Raises
    ------
    FormulaError
        If the context is closed and the expression is not in the safe language, if a transform would make too
        many columns, or if it learns from the rows in a way that is not defined for weights.
    Exception
        Any error of the functions that it calls.
    """
    from formulaic.utils.stateful_transforms import stateful_eval

    _require_allowed(expression, given)
    plain = _WithoutText(expression)
    names = {**_names(expression, given), **plain.texts}
    pairs = zip(_calls(plain.tree), _calls(expression.tree), strict=True)
    texts = {ast.unparse(call).replace("\n", " "): expression.show(shown) for call, shown in pairs}
    states = {key: dict(given.states[text]) for key, text in texts.items() if given.states.get(text)}
    known = set(states)
    value = stateful_eval(ast.unparse(plain.tree), names, None, states, None)
    for key, state in states.items():
        text, name = texts[key], key.partition("(")[0]
        weighted = name in WEIGHTED and name not in given.context
        if given.weights is not None and state and key not in known and not weighted:
            raise FormulaError(
                f"{shortened(text, 120)} learns from the rows, and weights were given, which it does not "
                "use. Use center(), scale() or standardize(), make that column in the data frame first, or "
                "leave out the weights."
            )
        given.states[text] = state
    return value


class _WithoutText(ast.NodeTransformer):
    """A tree in which names stand for text, since formulaic makes code of calls without escaping quotes.

    Attributes
    ----------
    tree : ast.expr
    texts : dict of str to str
        Name -> text.
    """

    def __init__(self, expression: Expression):
        self.stem = "_text"
        while self.stem in expression.text:
            self.stem += "_"
        self.texts: dict[str, str] = {}
        self.tree = self.visit(copy.deepcopy(expression.tree))

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Replace text by a name."""
        if not isinstance(node.value, str):
            return node
        word = f"{self.stem}{len(self.texts)}_"
        self.texts[word] = node.value
        return ast.Name(word, ast.Load())

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """Leave the text of a formatted string, which a file cannot hold, as it is."""
        return node


def _calls(tree: ast.expr) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _require_allowed(expression: Expression, given: Given) -> None:
    """Raise FormulaError for an expression that a closed context does not allow, or for a misleading name."""
    if isinstance(given.context, formula_safety.Closed):
        values = {name for name, value in given.context.items() if not callable(value)}
        names = {*given.data.columns, *values}
        problem = formula_safety.problem_of(expression, names, strings=True, context=given.context)
        if problem is not None:
            raise FormulaError(f"{shortened(expression.text, 120)} holds {problem}; it is not run.")
    for name in expression.calls:
        if name in formula_safety.REASONS and name not in given.context:
            raise FormulaError(
                f"{shortened(expression.text, 120)} calls {name!r}{formula_safety.REASONS[name]}."
            )


def _names(expression: Expression, given: Given) -> dict[str, Any]:
    """Return the values and functions that an expression uses, by their names in its tree.

    As in R, a column does not hide a function of the same name.
    """
    words = {name: word for word, name in expression.quoted.items()}
    functions = {**_functions(given), **given.context}
    named = {name: functions[name] for name in expression.calls if name in functions}
    for name in expression.values:
        if name in given.data:
            named[name] = given.data[name]
        elif name in functions:
            named[name] = functions[name]
    return {words.get(name, name): value for name, value in named.items()}


def _functions(given: Given) -> dict[str, Any]:
    """Return formulaic's functions, of which some have limits, or learn from weighted rows."""
    from formulaic.transforms import TRANSFORMS

    limited = {name: _limited(name, TRANSFORMS[name]) for name in COLUMNS}
    own = {} if given.weights is None else _weighted(given.weights)
    return {**TRANSFORMS, **limited, **own, "C": factor, "Q": given.data.__getitem__}


def factor(data: Any, contrasts: Any = None, *, levels: Any = None, spans_intercept: bool = True) -> Any:
    """Mark values as levels of a factor: formulaic's ``C`` with an error for unknown levels.

    Whole numbers are levels without a decimal point: year[2020], not year[2020.0].

    Raises
    ------
    UnknownLevels
        If `levels` leave out a value.
    """
    from formulaic.transforms import C

    kind = getattr(getattr(data, "dtype", None), "kind", "")
    if kind == "f" and np.isfinite(data).all() and (data == np.round(data)).all():
        data = data.astype(np.int64)
    if levels is not None:
        require_levels(data, levels)
    return C(data, contrasts, levels=levels, spans_intercept=spans_intercept)


def require_levels(data: Any, levels: Any) -> None:
    """Raise UnknownLevels if `data` hold values that are not among `levels`."""
    unknown = set(pd.unique(pd.Series(getattr(data, "__wrapped__", data)))).difference(levels)
    if unknown:
        raise UnknownLevels(str(unknown))


# --- limits ---------------------------------------------------------------------------------------


def _limited(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a transform with limits on its degree and its number of columns."""

    @functools.wraps(function)
    def call(values: Any, *given: Any, **named: Any) -> Any:
        options = {**dict(zip(COLUMNS[name], given, strict=False)), **named}
        columns = _columns_of(name, options)
        if not isinstance(values, dict):
            require_size(name, len(values), columns, int(np.size(values)))
        return function(values, *given, **named)

    return call


def _columns_of(name: str, options: Mapping[str, Any]) -> int:
    """Return about how many columns a transform makes; raise FormulaError for too many."""
    counts = {option: options[option] for option in ("degree", "df") if options.get(option) is not None}
    for option, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise FormulaError(f"{name}() has {option}={value!r}; it must be a whole number of 0 or more.")
        most = HIGHEST.get(name, LARGEST_ROOT) if option == "degree" else LARGEST_ROOT
        if value > most:
            raise FormulaError(f"{name}() has {option}={value}; at most {most} is allowed.")
    knots = 0 if options.get("knots") is None else int(np.size(options["knots"]))
    if knots > LARGEST_ROOT:
        raise FormulaError(f"{name}() has {knots} knots; at most {LARGEST_ROOT} are allowed.")
    return max(sum(counts.values()) + knots, 1)


def require_size(what: str, rows: int, columns: int, read: int) -> None:
    """Raise FormulaError if a term would need too much memory.

    Parameters
    ----------
    what : str
        Its function or its text, for the message.
    rows, columns : int
        Shape of its values.
    read : int
        Number of values of the data that it reads.
    """
    # a term may make 5e8 numbers (4 GB), or 100 times as many as it reads if that is more
    allowed = max(5 * 10**8, 100 * read)
    if rows * columns > allowed:
        raise FormulaError(
            f"{shortened(what, 120)} makes {columns} columns of {rows} rows; {allowed} numbers are allowed."
        )


# --- weights --------------------------------------------------------------------------------------


def _weighted(w: np.ndarray) -> dict[str, Any]:
    """Return ``center``, ``scale`` and ``standardize``, which learn from rows with weights `w`."""
    from formulaic.transforms import stateful_transform

    @stateful_transform
    def center(data: Any, _state: dict[str, Any]) -> np.ndarray:
        return _scaled(data, True, False, 1, _state, w)

    @stateful_transform
    def scale(
        data: Any, center: Any = True, scale: Any = True, ddof: float = 1, *, _state: dict[str, Any]
    ) -> np.ndarray:
        return _scaled(data, center, scale, ddof, _state, w)

    @stateful_transform
    def standardize(
        x: Any, center: Any = True, rescale: Any = True, ddof: float = 0, *, _state: dict[str, Any]
    ) -> np.ndarray:
        return _scaled(x, center, rescale, ddof, _state, w)

    return {"center": center, "scale": scale, "standardize": standardize}


def _scaled(
    data: Any, center: Any, divide: Any, ddof: float, state: dict[str, Any], w: np.ndarray
) -> np.ndarray:
    """Return data centred and scaled, by the weighted mean and standard deviation (divisor sum(w) - ddof).

    `center` and `divide` are True, False, or numbers. Means and scales in `state` are used.
    """
    x = np.asarray(data, dtype=float)
    if not state:
        state |= {"ddof": ddof, "center": None, "scale": None}
        if center is not False:
            state["center"] = np.average(x, axis=0, weights=w) if center is True else np.array(center)
        if divide is not False:
            centred = x if state["center"] is None else x - state["center"]
            square = np.tensordot(w, centred**2, axes=(0, 0)) / (w.sum() - ddof)
            state["scale"] = np.sqrt(square) if divide is True else np.array(divide)
    x = x if state["center"] is None else x - state["center"]
    return x if state["scale"] is None else x / state["scale"]
