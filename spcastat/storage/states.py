"""What a file may hold of the state of a formula: what each transform learns, and nothing else.

The numbers of entries are bounded by what a formula can make
(:data:`spcastat.intake.transforms.LARGEST` columns a call).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import FileError
from spcastat.intake.expressions import Expression, read_expression, shortened
from spcastat.intake.safe import called_name
from spcastat.intake.terms import Part
from spcastat.intake.transforms import LARGEST, OPTIONS

#: Whether a value may stand under each name.
_Checks = dict[str, Callable[[Any], bool]]
#: Levels of a factor, and characters of one.
MOST_LEVELS, LONGEST_LEVEL = 1_000_000, 100_000
#: Knots, with those that are repeated at both ends.
_KNOTS = 3 * LARGEST


def states_of(terms: Iterable[tuple[Part, ...]], learnt: Any) -> dict[str, Any]:
    """Return what the transforms in terms have learnt.

    Parameters
    ----------
    terms : iterable of tuples of Part
        Whose expressions were checked.
    learnt : Any
        Their states by the texts of their calls, as a file gives it.

    Raises
    ------
    FileError
        If something is not a state of such a transform, or belongs to none.
    """
    if not isinstance(learnt, dict):
        raise FileError("The file holds no states of transforms.")
    waiting = dict(learnt)
    states = {}
    for part in dict.fromkeys(part for term in terms for part in term):
        if part.method != "python":
            continue
        expression = read_expression(part.text)
        for node in ast.walk(expression.tree):
            name = called_name(expression, node.func) if isinstance(node, ast.Call) else None
            if name not in OPTIONS or not isinstance(node, ast.Call):
                continue
            text = expression.show(node)
            key = next((key for key in (text, _earlier(node, expression)) if key in waiting), None)
            if key is not None:
                states[text] = _state(str(name), text, waiting.pop(key))
            if not states.get(text) and not _raw(node):
                raise FileError(f"The file does not hold what {shortened(text)} has learnt.")
    if waiting:
        name = shortened(str(next(iter(waiting))))
        raise FileError(f"The file holds the state of {name}, which is not a call in its formula.")
    return states


def require_encoding(state: Any) -> dict[str, Any]:
    """Return the state of a factor: its levels. Raise FileError for anything else."""
    if not isinstance(state, dict) or set(state) - {"categories"}:
        raise FileError("The file holds something else than levels of a factor.")
    return {name: require_levels(levels) for name, levels in state.items()}


def require_levels(levels: Any) -> list[Any]:
    """Return levels as a list; raise FileError if they are too many, or no plain values."""
    if not isinstance(levels, (list, tuple)) or len(levels) > MOST_LEVELS:
        raise FileError(f"The file holds levels that are no list of up to {MOST_LEVELS}.")
    if not all(_is_level(level) for level in levels):
        raise FileError("The file holds levels that are not text, numbers or dates.")
    return list(levels)


def require_value(value: Any) -> Any:
    """Return a number, text, or list of them; raise FileError for anything else, or for too many."""
    many = value.ravel().tolist() if isinstance(value, np.ndarray) else value
    listed = list(many) if isinstance(many, (list, tuple)) else [many]
    if len(listed) > LARGEST or not all(one is None or _is_level(one) for one in listed):
        raise FileError(
            f"The formula in the file uses what is not a number, text or list of up to {LARGEST} of them."
        )
    return value


def _is_level(level: Any) -> bool:
    if isinstance(level, str):
        return len(level) <= LONGEST_LEVEL
    return isinstance(level, (bool, int, float, np.generic, pd.Timestamp, pd.Timedelta, pd.Interval)) and (
        isinstance(level, Hashable)
    )


def _earlier(node: ast.Call, expression: Expression) -> str:
    """Return the text of a call under which files of earlier versions keep its state.

    Names in backticks stand there as words, other signs as underscores.
    """
    text = ast.unparse(node)
    for word, name in expression.quoted.items():
        plain = re.sub(r"\W", "_", name)
        text = text.replace(word, f"_{plain}" if plain[:1].isdigit() else plain)
    return text


def _raw(node: ast.Call) -> bool:
    """Whether a call is one of powers of the values themselves, ``raw=True``, which learns nothing."""
    given = [*node.args[2:3], *(word.value for word in node.keywords if word.arg == "raw")]
    raw = bool(given) and isinstance(given[0], ast.Constant) and given[0].value is True
    return raw and isinstance(node.func, ast.Name) and node.func.id == "poly"


def has_levels(text: str) -> bool:
    """Whether an expression marks its values as levels of a factor."""
    expression = read_expression(text)
    return isinstance(expression.tree, ast.Call) and called_name(expression, expression.tree.func) == "C"


def _state(name: str, text: str, state: Any) -> dict[Any, Any]:
    """Return the state of one call, or of its parts where it transforms what another has made."""
    allowed = _STATES[name]
    if not isinstance(state, dict) or len(state) > LARGEST:
        raise _foreign(text)
    if state and all(isinstance(part, dict) for part in state.values()) and not set(state) & set(allowed):
        return {_key(key, text): _fields(allowed, text, part) for key, part in state.items()}
    return _fields(allowed, text, state)


def _key(key: Any, text: str) -> Any:
    if not isinstance(key, (int, str)) or (isinstance(key, str) and len(key) > LONGEST_LEVEL):
        raise _foreign(text)
    return key


def _fields(allowed: _Checks, text: str, state: Mapping[Any, Any]) -> dict[Any, Any]:
    if set(state) - set(allowed) or not all(allowed[key](value) for key, value in state.items()):
        raise _foreign(text)
    if state and set(allowed) - set(state):
        raise _foreign(text)
    return dict(state)


def _foreign(text: str) -> FileError:
    return FileError(f"The file holds something else than what {shortened(text)} learns.")


def _number(value: Any) -> bool:
    plain = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return bool(plain and abs(value) < 1e308)


def _numbers(value: Any, dimensions: int, most: int = LARGEST) -> bool:
    array = isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and value.ndim <= dimensions
    return bool(array and value.size <= most and np.isfinite(value).all())


def _moment(value: Any) -> bool:
    return value is None or _number(value) or _numbers(value, 1)


def _knots(value: Any) -> bool:
    return isinstance(value, list) and 2 <= len(value) <= _KNOTS and all(map(_number, value))


def _by_degree(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= LARGEST
        and all(type(key) is int and _number(one) for key, one in value.items())
    )


def _constraints(value: Any) -> bool:
    return value is None or _numbers(value, 2, LARGEST**2) or (
        isinstance(value, list) and len(value) <= LARGEST and all(map(_number, value))
    )


_SCALE: _Checks = {"ddof": _number, "center": _moment, "scale": _moment}
_CUBIC: _Checks = {
    "lower_bound": _number,
    "upper_bound": _number,
    "constraints": _constraints,
    "cyclic": lambda value: isinstance(value, bool),
    "knots": _knots,
}
_STATES: dict[str, _Checks] = {
    "poly": {"alpha": _by_degree, "norms2": _by_degree},
    "center": _SCALE,
    "scale": _SCALE,
    "standardize": _SCALE,
    "bs": {"lower_bound": _number, "upper_bound": _number, "knots": _knots},
    "cs": _CUBIC,
    "cr": _CUBIC,
    "cc": _CUBIC,
}
