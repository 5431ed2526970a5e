"""A schema of values in files: types, ranges, shapes and sizes, written as Python values.

===================  =====================================================================================
`bool`, `str`        True or False; valid Unicode text (without unpaired surrogates)
`None`               None
`object`             anything
a set of texts       one of them
a tuple of kinds     one of these kinds; errors are those of the last
a dict               a mapping with these names, and a kind for each. A key may list names,
                     ``{"starts hits": Whole(1)}``; names that end in "?" may be missing, others are ignored
a function           ``function(value, sizes)`` returns what is wrong with the value, "" if nothing is
Whole, Real, Array,  see these classes
List, Map
===================  =====================================================================================

Sizes such as p and k have names. A size that is not known yet is set by the first array that uses its name,
so that two arrays of shape ("B", "k") must have the same shape.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from spcastat.errors import FileError

#: Largest integer in a file.
LARGEST = 1 << 62
#: Largest number of characters of a text in a file.
LONGEST = 10_000_000

Kind = Any
Sizes = dict[str, int]


@dataclass(frozen=True)
class Whole:
    """A whole number in a range; a limit may be the name of a size."""

    low: int = 0
    high: int | str = LARGEST


@dataclass(frozen=True)
class Real:
    """A number in a range, finite unless `finite` is False."""

    low: float = -math.inf
    high: float = math.inf
    finite: bool = True


@dataclass(frozen=True)
class Array:
    """An array of one kind of numbers ("f", "i" or "b"), of a shape, within a range; NaN only if `nan`."""

    kind: str
    shape: tuple[int | str, ...]
    low: float = -math.inf
    high: float | str = math.inf
    nan: bool = False


@dataclass(frozen=True)
class List:
    """A list of values of one kind, of a given size or at most `most`; `distinct`: without repetition."""

    item: Kind
    size: int | str | None = None
    distinct: bool = False
    most: int = LARGEST


@dataclass(frozen=True)
class Map:
    """A mapping from texts (or integers) to values of one kind."""

    item: Kind
    keys: type = str


def require(kind: Kind, value: Any, sizes: Sizes, what: str) -> None:
    """Raise FileError unless a value is of a kind; `what` is its name in the message."""
    wrong = problem(kind, value, sizes)
    if wrong:
        raise FileError(f"its {what}: {wrong}.")


def problem(kind: Kind, value: Any, sizes: Sizes) -> str:
    """Return what is wrong with a value, "" if nothing is."""
    match kind:
        case None:
            return "" if value is None else "it is not empty"
        case type():
            right = kind is object or type(value) is kind
            if kind is str:
                right = right and len(value) <= LONGEST and value.encode("utf-8", "replace").decode() == value
            return "" if right else "it is not text" if kind is str else "it is neither true nor false"
        case set():
            return "" if type(value) is str and value in kind else f"it is none of {', '.join(sorted(kind))}"
        case tuple():
            found = [problem(one, value, sizes) for one in kind]
            return "" if "" in found else found[-1]
        case dict():
            return _of_fields(kind, value, sizes)
        case Whole():
            high = sizes[kind.high] if isinstance(kind.high, str) else kind.high
            right = type(value) is int and kind.low <= value <= high
            return (
                "" if right else f"it has no whole number from {kind.low}" + f" to {high}" * (high < LARGEST)
            )
        case Real():
            right = isinstance(value, int | float | np.integer | np.floating) and type(value) is not bool
            right = right and (isinstance(value, float) or abs(value) < LARGEST)
            right = right and (not kind.finite or (kind.low <= value <= kind.high and math.isfinite(value)))
            return "" if right else f"it has no number from {kind.low:g} to {kind.high:g}"
        case Array():
            return _of_array(kind, value, sizes)
        case List():
            return _of_list(kind, value, sizes)
        case Map():
            if not isinstance(value, dict) or not all(type(name) is kind.keys for name in value):
                return "it is not a table of named values"
            return next(filter(None, (problem(kind.item, one, sizes) for one in value.values())), "")
        case _:
            return str(kind(value, sizes))


def _of_fields(parts: dict[str, Kind], value: Any, sizes: Sizes) -> str:
    if not isinstance(value, dict):
        return "it has no parts"
    named = [(name, kind) for names, kind in parts.items() for name in names.split()]
    lacking = [name for name, _ in named if name not in value and not name.endswith("?")]
    if lacking:
        return f"it lacks {', '.join(lacking)}"
    for name, kind in named:
        name = name.removesuffix("?")
        if name in value and (wrong := problem(kind, value[name], sizes)):
            return f"{name}: {wrong}"
    return ""


def _of_array(kind: Array, value: Any, sizes: Sizes) -> str:
    if not isinstance(value, np.ndarray) or value.dtype.kind != kind.kind:
        return "it is not an array of such numbers"
    if value.ndim != len(kind.shape):
        return f"it has shape {value.shape}, with {value.ndim} dimensions for {len(kind.shape)}"
    expected = tuple(
        sizes.setdefault(name, size) if isinstance(name, str) else name
        for name, size in zip(kind.shape, value.shape, strict=True)
    )
    if value.shape != expected:
        return f"it has shape {value.shape}, not {expected}"
    if kind.kind == "f" and not (np.isfinite(value) | (kind.nan & np.isnan(value))).all():
        return "it holds numbers that are not finite"
    high = sizes[kind.high] if isinstance(kind.high, str) else kind.high
    if value.size and kind.kind != "b" and (np.nanmin(value) < kind.low or np.nanmax(value) > high):
        return f"it holds numbers outside {kind.low:g} to {high:g}"
    return ""


def _of_list(kind: List, value: Any, sizes: Sizes) -> str:
    if not isinstance(value, (list, tuple)):
        return "it is not a list"
    size = sizes[kind.size] if isinstance(kind.size, str) else kind.size
    if len(value) > kind.most or (size is not None and len(value) != size):
        return f"it is a list of {len(value)}, not {f'up to {kind.most}' if size is None else size}"
    wrong = next(filter(None, (problem(kind.item, one, sizes) for one in value)), "")
    return wrong or ("it repeats a value" if kind.distinct and len(set(value)) < len(value) else "")


def plain(value: Any, sizes: Sizes) -> str:
    """Return what is wrong with a value that should be None, text, a number, a bool or a list of these."""
    if isinstance(value, list):
        return next(filter(None, (plain(one, sizes) for one in value)), "")
    right = value is None or type(value) in (bool, str, float) or not problem(Whole(-LARGEST), value, sizes)
    return "" if right else "it holds more than numbers and text"
