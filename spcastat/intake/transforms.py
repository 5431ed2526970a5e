"""Functions in formulas: functions of single rows, and transforms that learn from all rows.

The transforms are formulaic's. If rows have weights, their states are computed here: a row of weight 2 counts
as two rows, so that integer weights give the same result as repeating the rows with ``np.repeat``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from spcastat.errors import FormulaError
from spcastat.intake.expressions import shortened

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
LARGEST = 1000
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
        most = HIGHEST.get(name, LARGEST) if option == "degree" else LARGEST
        if value > most:
            raise FormulaError(f"{_shown(text)} has {option}={value}; at most {most} is allowed.")
    knots = options.get("knots")
    if knots is not None and np.size(knots) > LARGEST:
        raise FormulaError(f"{_shown(text)} has {np.size(knots)} knots; at most {LARGEST} are allowed.")
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
