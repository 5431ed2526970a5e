"""Expressions in formulas, and the transforms of columns that they may use.

An expression is read once into a syntax tree, which is checked, named and evaluated.

The transforms are formulaic's. If rows have weights, their states are computed here: a row of weight 2 counts
as two rows, so that integer weights give the same result as repeating the rows with ``np.repeat``.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from spcastat.errors import FormulaError

# --- expressions ----------------------------------------------------------------------------------


#: Largest number of characters of an expression.
LONGEST = 100_000
#: Largest depth of brackets and operators; a sum or product of many terms counts as one level.
DEEPEST = 100

_NUMERAL = re.compile(r"[0-9.]+")


class ExpressionError(Exception):
    """Raised for text that is not an expression; the message says why, without a full stop at its end."""


@dataclass(frozen=True, eq=False)
class Expression:
    """A parsed expression.

    Attributes
    ----------
    text : str
        The expression in a standard form, generated from the tree, so that equal expressions have equal
        texts. Names that are not Python identifiers are in backticks.
    tree : ast.expr
        The syntax tree; names in backticks are replaced by generated identifiers.
    quoted : mapping from str to str
        Generated identifier -> name in backticks.
    values, calls : frozenset of str
        The names whose values the expression reads, and the names that it only calls as functions.
    odd : str or None
        A line break or another unprintable character outside the backticks, if there was one.
    """

    text: str
    tree: ast.expr
    quoted: Mapping[str, str]
    values: frozenset[str]
    calls: frozenset[str]
    odd: str | None = None

    def name(self, node: ast.Name) -> str:
        """Return the name of a node as the user wrote it."""
        return self.quoted.get(node.id, node.id)

    def show(self, node: ast.AST) -> str:
        """Return the text of a part of the tree, in the form of `text`."""
        text = ast.unparse(node).replace("\n", " ")
        if not self.quoted:
            return text
        words = re.compile("|".join(re.escape(word) for word in self.quoted))
        return words.sub(lambda match: f"`{self.quoted[match[0]]}`", text)


def formula_name(label: Any) -> str:
    """Return the name of a column inside a formula: its label as text.

    Numerals get the prefix "column ", because formulaic would read a column called 1 as the intercept and one
    called "." as all columns.
    """
    name = str(label)
    return f"column {name}" if _NUMERAL.fullmatch(name) else name


def read_expression(text: str) -> Expression:
    """Parse one Python expression in which text in backticks is a name.

    Quotes and backticks are read from left to right; a backtick in quotes is part of the text, and a quote in
    backticks is part of the name. Comments are refused, since line breaks would decide where they end.

    Raises
    ------
    ExpressionError
        If it is not a single expression, too long, or nested too deeply.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"it has {len(text)} characters; allowed are {LONGEST}")
    stem = "_name"
    while stem in text:
        stem += "_"
    parts: list[str] = []
    quoted: dict[str, str] = {}
    odd = None
    for kind, part in _pieces(text):
        if kind == "name":
            plain = part.isidentifier() and not keyword.iskeyword(part)
            word = part if plain else f"{stem}{len(quoted)}_"
            if not plain:
                quoted[word] = formula_name(part)
            parts.append(f" {word} ")
        elif kind == "odd":
            odd = part
            parts.append(" ")
        else:
            parts.append(part)
    try:
        tree = ast.parse("".join(parts).strip(), mode="eval").body
        if any(isinstance(node, ast.Constant) and stem in str(node.value) for node in ast.walk(tree)):
            raise ExpressionError("it spells a name by its codes")
        found = Expression("", tree, quoted, *_names_in(tree, quoted), odd)
        return replace(found, text=found.show(tree))
    except SyntaxError as error:
        raise ExpressionError(error.msg) from None
    except (RecursionError, MemoryError):
        raise ExpressionError("it is nested too deeply") from None
    except ValueError as error:  # a null character, or a number with thousands of digits
        raise ExpressionError(str(error)) from None


def _names_in(tree: ast.expr, quoted: Mapping[str, str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names whose values an expression reads, and the names that it only calls."""
    bound: set[str] = set()
    called: set[ast.Name] = set()
    values: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func)
            first = node.args[0] if node.args else None
            if node.func.id == "Q" and isinstance(first, ast.Constant) and isinstance(first.value, str):
                values.add(first.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node not in called and node.id not in bound:
            values.add(quoted.get(node.id, node.id))
    calls = {quoted.get(node.id, node.id) for node in called} - bound - values
    return frozenset(values), frozenset(calls)


def shortened(text: str, length: int = 300) -> str:
    """Return text in quotes, with the middle of long text left out."""
    return repr(cut(text, length))


def cut(text: str, length: int = 100) -> str:
    """Return text without its middle if it is longer than `length`."""
    return text if len(text) <= length else f"{text[: length - 40]} ... {text[-30:]}"


def parts_of(chain: ast.BinOp) -> tuple[ast.expr, list[ast.BinOp]]:
    """Return the first operand of a chain such as ``a + b + c``, and its operations in their order."""
    steps = []
    first: ast.expr = chain
    while isinstance(first, ast.BinOp):
        steps.append(first)
        first = first.left
    return first, steps[::-1]


def depth_of(tree: ast.expr) -> int:
    """Return the depth of a tree, at most DEEPEST + 1; a chain of operators counts as one level."""
    deepest = 0
    waiting: list[tuple[ast.AST, int]] = [(tree, 1)]
    while waiting and deepest <= DEEPEST:
        node, level = waiting.pop()
        deepest = max(deepest, level)
        if isinstance(node, ast.BinOp):
            first, steps = parts_of(node)
            below: list[ast.AST] = [first, *(step.right for step in steps)]
        else:
            below = list(ast.iter_child_nodes(node))
        waiting += [(child, level + 1) for child in below]
    return deepest


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Split an expression into names in backticks, text in quotes, unprintable characters, and code."""
    at = 0
    while at < len(text):
        sign = text[at]
        if sign in "'\"`":
            end = _end(text, at)
            yield ("name", text[at + 1 : end]) if sign == "`" else ("text", text[at : end + 1])
            at = end + 1
        elif sign == "#":
            raise ExpressionError("it holds a comment, '#'")
        elif not sign.isprintable():
            yield "odd", sign
            at += 1
        else:
            start = at
            while at < len(text) and text[at] not in "'\"`#" and text[at].isprintable():
                at += 1
            yield "code", text[start:at]


def _end(text: str, start: int) -> int:
    """Return the position of the closing quote or backtick for the one at `start`."""
    at = start + 1
    while at < len(text):
        if text[at] == text[start]:
            if text[start] == "`" and at == start + 1:
                raise ExpressionError("there is no name between the backticks")
            return at
        at += 2 if text[at] == "\\" and text[start] != "`" else 1
    raise ExpressionError(f"the {text[start]} is not closed")


# --- transforms -----------------------------------------------------------------------------------


_shown = partial(shortened, length=120)

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
#: NumPy functions that overflow for integers without an error; they are called with floats.
_IN_FLOATS = ("power", "square")
#: Transform -> its arguments after the values, in their order.
OPTIONS: dict[str, tuple[str, ...]] = {
    "poly": ("degree", "raw"),
    "center": (),
    "scale": ("center", "scale", "ddof"),
    "standardize": ("center", "rescale", "ddof"),
    "bs": (
        "df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound", "extrapolation",
    ),
    **dict.fromkeys(
        ("cs", "cr", "cc"), ("df", "knots", "lower_bound", "upper_bound", "constraints", "extrapolation")
    ),
}  # fmt: skip
#: Functions of formulaic without a state -> their arguments after the values.
PLAIN: dict[str, tuple[str, ...]] = {"C": ("contrasts", "levels", "spans_intercept"), "I": ()}
#: Codings of factors, such as ``contr.sum`` -> their arguments.
CONTRASTS: dict[str, tuple[str, ...]] = {
    "SAS": ("base",),
    "diff": ("backward",),
    "helmert": ("reverse", "scale"),
    "poly": ("scores",),
    "sum": (),
    "treatment": ("base",),
}
#: Largest number of columns of a call, of entries of a list, and of characters of a text in a formula.
LARGEST_ROOT = 1000
#: Largest degrees of polynomials and of splines.
HIGHEST = {"poly": 100, "bs": 20}


@dataclass(frozen=True, eq=False)
class Learning:
    """The states of transforms, and the weights with which they learn.

    Attributes
    ----------
    states : dict
        Text of a call -> its state. The state of a new call is learned and added.
    weights : ndarray of shape (n,) or None
        Weights of the rows; None for equal weights.
    """

    states: dict[str, Any]
    weights: np.ndarray | None = None


class UnknownLevels(Exception):
    """Raised for values that are not levels of a factor."""


def plain_function(name: str) -> Any:
    """Return a NumPy function that transforms each row by itself, restricted to positional arguments."""
    function = getattr(np, name)
    fewest, most = NUMPY[name]

    def call(*values: Any) -> Any:
        if not fewest <= len(values) <= most:
            raise TypeError(f"{takes(name, fewest, most)}, not {len(values)}")
        if name in _IN_FLOATS:
            values = tuple(np.asarray(value, dtype=np.float64) for value in values)
        return function(*values)

    return call


def takes(name: str, fewest: int, most: int) -> str:
    """Return text on how many arguments a function takes."""
    count = str(fewest) if fewest == most else f"{fewest} or {most}"
    return f"{name} takes {count} argument{'s' if most > 1 else ''}"


def factor(data: Any, contrasts: Any = None, *, levels: Any = None, spans_intercept: bool = True) -> Any:
    """Mark values as levels of a factor: formulaic's ``C`` with an error for unknown levels.

    Raises
    ------
    UnknownLevels
        If `levels` leave out a value.
    """
    from formulaic.transforms import C

    if levels is not None:
        require_levels(data, levels)
    return C(data, contrasts, levels=levels, spans_intercept=spans_intercept)


def require_levels(data: Any, levels: Any) -> None:
    """Raise UnknownLevels if `data` hold values that are not among `levels`."""
    import pandas as pd

    unknown = set(pd.unique(pd.Series(getattr(data, "__wrapped__", data)))).difference(levels)
    if unknown:
        raise UnknownLevels(str(unknown))


def transformed(
    name: str | None, function: Any, text: str, learning: Learning, values: Any, /, *given: Any, **named: Any
) -> Any:
    """Call a transform with its state; without a state it learns first.

    Parameters
    ----------
    name : str or None
        Its name in :data:`OPTIONS`; None for a user's own transform.
    function : callable
        A stateful transform as in formulaic.
    text : str
        The text of the call, which is the key of its state.
    learning : Learning
    values : array of shape (n,) or (n, m), or a dict of such arrays
    given, named
        Further positional and keyword arguments.

    Raises
    ------
    FormulaError
        If it would make too many columns, or is not defined for weights.
    """
    state = dict(learning.states.get(text) or {})
    if name is None:
        made = function(values, *given, _state=state, **named)
        if state and learning.weights is not None:
            raise FormulaError(
                f"{_shown(text)} learns from the rows, and weights were given, which it does not use. Make "
                "that column in the data frame first, or leave out the weights."
            )
    else:
        options = bound(text, OPTIONS[name], given, named)
        _require_moderate(name, text, values, options)
        made = _by_part(name, function, values, options, state, learning.weights)
    learning.states[text] = state
    return made


def bound(
    text: str, names: tuple[str, ...], given: tuple[Any, ...], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Return arguments by name; raise TypeError for too many, unknown or repeated arguments."""
    if len(given) > len(names):
        most = len(names) + 1
        raise TypeError(f"{_shown(text)} has {len(given) + 1} arguments; at most {most} are allowed")
    options = dict(zip(names, given, strict=False))
    for name, value in named.items():
        if name not in names:
            allowed = ", ".join(names) or "none"
            raise TypeError(f"{_shown(text)} has an argument {name!r}; allowed are {allowed}")
        if name in options:
            raise TypeError(f"{_shown(text)} has {name!r} twice")
        options[name] = value
    return options


def require_size(text: str, rows: int, columns: int, read: int) -> None:
    """Raise FormulaError if a term would need too much memory.

    Parameters
    ----------
    text : str
        The term, for the message.
    rows, columns : int
        Shape of its values.
    read : int
        Number of values of the data that it reads.
    """
    # a term may make 5e8 numbers (4 GB), or 100 times as many as it reads if that is more
    allowed = max(5 * 10**8, 100 * read)
    if rows * columns > allowed:
        raise FormulaError(
            f"{_shown(text)} makes {columns} columns of {rows} rows; {allowed} numbers are allowed."
        )


def _require_moderate(name: str, text: str, values: Any, options: Mapping[str, Any]) -> None:
    """Raise FormulaError if a transform has too many columns or too high a degree."""
    counts = {option: options[option] for option in ("degree", "df") if options.get(option) is not None}
    for option, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
            raise FormulaError(
                f"{_shown(text)} has {option}={value!r}; it must be a whole number of 0 or more."
            )
        most = HIGHEST.get(name, LARGEST_ROOT) if option == "degree" else LARGEST_ROOT
        if value > most:
            raise FormulaError(f"{_shown(text)} has {option}={value}; at most {most} is allowed.")
    knots = options.get("knots")
    if knots is not None and np.size(knots) > LARGEST_ROOT:
        raise FormulaError(f"{_shown(text)} has {np.size(knots)} knots; at most {LARGEST_ROOT} are allowed.")
    columns = sum(counts.values()) + (0 if knots is None else int(np.size(knots)))
    if not isinstance(values, dict):
        require_size(text, len(values), max(columns, 1), int(np.size(values)))


def _by_part(
    name: str, function: Any, values: Any, options: dict[str, Any], state: dict[Any, Any],
    w: np.ndarray | None,
) -> Any:  # fmt: skip
    """Transform values; if they are the dict of columns of another transform, each of its parts."""
    if not isinstance(values, dict):
        return _transform(name, function, np.asarray(values), options, state, w)
    made = {}
    for key, part in values.items():
        state[key] = dict(state.get(key) or {})
        made[key] = _transform(name, function, np.asarray(part), options, state[key], w)
    return made


def _transform(
    name: str, function: Any, x: np.ndarray, options: dict[str, Any], state: dict[str, Any],
    w: np.ndarray | None,
) -> Any:  # fmt: skip
    x = x.astype(np.float64) if x.dtype.kind in "biu" else x  # powers of integers overflow
    finite = np.isfinite(x) if x.dtype.kind == "f" else np.ones(1, dtype=bool)
    if not finite.all():  # the error for all terms is raised later
        return np.where(finite, 0.0, np.nan)
    if w is not None and not state and not (name == "poly" and options.get("raw")):
        options = _learn(name, function, x, options, state, w)
    return function(x, **options, _state=state)


def _learn(
    name: str, function: Any, x: np.ndarray, options: dict[str, Any], state: dict[str, Any], w: np.ndarray
) -> dict[str, Any]:
    """Compute the state of a transform from weighted rows; return the options for its call."""
    if name == "poly":
        state.update(_recurrence(x, int(options.get("degree", 1)), w))
    elif name == "bs":
        return _spline_options(x, options, w)
    elif name in ("cs", "cr", "cc"):
        _cubic_state(function, x, options, state, w)
    else:
        divide = options.get("rescale" if name == "standardize" else "scale", name != "center")
        ddof = options.get("ddof", 0 if name == "standardize" else 1)
        state.update(_moments(x, options.get("center", True), divide, ddof, w))
    return options


def _moments(x: np.ndarray, center: Any, divide: Any, ddof: float, w: np.ndarray) -> dict[str, Any]:
    """Return the state of ``scale``: weighted mean and standard deviation (divisor sum(w) - ddof)."""
    state: dict[str, Any] = {"ddof": ddof, "center": None, "scale": None}
    if center is not False:
        state["center"] = np.average(x, axis=0, weights=w) if center is True else np.array(center)
        x = x - state["center"]
    if divide is not False:
        square = np.tensordot(w, x**2, axes=(0, 0)) / (w.sum() - ddof)
        state["scale"] = np.sqrt(square) if divide is True else np.array(divide)
    return state


def _recurrence(x: np.ndarray, degree: int, w: np.ndarray) -> dict[str, Any]:
    """Return the state of ``poly``: the three-term recurrence of polynomials orthogonal with weights `w`."""
    alpha: dict[int, float] = {}
    norms: dict[int, float] = {}
    before, last = np.zeros_like(x), np.ones_like(x)
    for k in range(degree + 1):
        norms[k] = float(w @ last**2)
        if k == degree:
            break
        alpha[k] = float(w @ (x * last**2)) / norms[k]
        beta = norms[k] / norms[k - 1] if k else 0.0
        before, last = last, (x - alpha[k]) * last - beta * before
    return {"alpha": alpha, "norms2": norms}


def _spline_options(x: np.ndarray, options: dict[str, Any], w: np.ndarray) -> dict[str, Any]:
    """Return the options of ``bs`` with bounds and knots computed from weighted rows, instead of ``df``."""
    counted = w > 0
    low, high = options.get("lower_bound"), options.get("upper_bound")
    low = float(x[counted].min()) if low is None else low
    high = float(x[counted].max()) if high is None else high
    made = {**options, "lower_bound": low, "upper_bound": high}
    if options.get("df") and options.get("knots") is None:
        if options.get("extrapolation") in ("clip", "na", "zero"):
            counted = counted & (x >= low) & (x <= high)
        degree = options.get("degree", 3)
        inner = options["df"] - degree - bool(options.get("include_intercept", False))
        if inner >= 0 and counted.any():  # otherwise bs raises an error
            made["knots"] = _quantiles(x[counted], w[counted], np.linspace(0, 1, inner + 2)[1:-1]).tolist()
            del made["df"]
    return made


def _quantiles(x: np.ndarray, w: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return ``np.quantile(np.repeat(x, w), shares)`` without repeating the values."""
    if not len(shares):
        return shares
    if (w != np.round(w)).any():
        raise FormulaError(
            "bs(..., df=...) takes its knots from quantiles of the rows, which weights that are no whole "
            "numbers do not define. Give bs(..., knots=[...]), or whole numbers as weights."
        )
    order = np.argsort(x, kind="stable")
    sorted_x, until = x[order], np.cumsum(w[order])
    place = (until[-1] - 1) * shares
    below = sorted_x[np.searchsorted(until, np.floor(place), side="right")]
    above = sorted_x[np.searchsorted(until, np.ceil(place), side="right")]
    return below + (above - below) * (place - np.floor(place))


def _cubic_state(
    function: Any, x: np.ndarray, options: dict[str, Any], state: dict[str, Any], w: np.ndarray
) -> None:
    """Compute the state of a cubic spline from weighted rows.

    The knots are quantiles of the distinct values, which do not depend on weights. The constraint that
    centres the columns is their weighted mean.
    """
    function(x[w > 0], **options, _state=state)
    if isinstance(options.get("constraints"), str):
        free = {**state, "constraints": None}
        beyond = options.get("extrapolation", "extend")
        columns = function(x, extrapolation="extend" if beyond == "zero" else beyond, _state=free)
        matrix = np.column_stack([columns[key] for key in sorted(columns)])
        state["constraints"] = np.average(matrix, axis=0, weights=w)[None, :]
