"""A schema language for values in files, which checks types, ranges, shapes and sizes.

A kind has one method, ``problem(value, sizes)``, which returns text on what is wrong with the value, or "".
Sizes such as p and k have names. A size that is not known yet is set by the first array that uses its name,
so that two arrays of shape ("B", "k") must have the same shape.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from spcastat.errors import FileError

#: Largest integer in a file.
LARGEST = 1 << 62

Sizes = dict[str, int]


class Kind(Protocol):
    """The interface of a kind of values."""

    def problem(self, value: Any, sizes: Sizes) -> str:
        """Return what is wrong with `value`, "" if nothing is."""


def require(kind: Kind, value: Any, sizes: Sizes, what: str) -> None:
    """Raise FileError unless a value is of a kind; `what` is its name in the message."""
    problem = kind.problem(value, sizes)
    if problem:
        raise FileError(f"its {what}: {problem}.")


@dataclass(frozen=True)
class Whole:
    """A whole number in a range; a limit may be the name of a size."""

    low: int = 0
    high: int | str = LARGEST

    def problem(self, value: Any, sizes: Sizes) -> str:
        high = sizes[self.high] if isinstance(self.high, str) else self.high
        right = type(value) is int and self.low <= value <= high
        return "" if right else f"it has no whole number from {self.low}" + f" to {high}" * (high < LARGEST)


@dataclass(frozen=True)
class Real:
    """A number in a range, finite unless `finite` is False."""

    low: float = -math.inf
    high: float = math.inf
    finite: bool = True

    def problem(self, value: Any, sizes: Sizes) -> str:
        number = isinstance(value, int | float | np.number) and not isinstance(
            value, bool | np.complexfloating
        )
        right = (
            number
            and (isinstance(value, float) or abs(value) < LARGEST)
            and (not self.finite or (math.isfinite(value) and self.low <= value <= self.high))
        )
        return "" if right else f"it has no number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Text:
    """Valid Unicode text (without unpaired surrogates) that is not too long."""

    longest: int = 10_000_000

    def problem(self, value: Any, sizes: Sizes) -> str:
        right = isinstance(value, str) and len(value) <= self.longest
        return "" if right and value.encode("utf-8", "replace").decode("utf-8") == value else "it is not text"


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def problem(self, value: Any, sizes: Sizes) -> str:
        return "" if type(value) is bool else "it is neither true nor false"


class Choice:
    """One of several texts."""

    def __init__(self, *names: str):
        self.names = names

    def problem(self, value: Any, sizes: Sizes) -> str:
        return (
            "" if isinstance(value, str) and value in self.names else f"it is none of {', '.join(self.names)}"
        )


@dataclass(frozen=True)
class Plain:
    """None, text, a number, true or false, or lists of such."""

    def problem(self, value: Any, sizes: Sizes) -> str:
        if isinstance(value, list):
            return next(filter(None, (self.problem(one, sizes) for one in value)), "")
        right = (
            value is None or type(value) in (bool, str, float) or not Whole(-LARGEST).problem(value, sizes)
        )
        return "" if right else "it holds more than numbers and text"


@dataclass(frozen=True)
class Array:
    """An array of one kind of numbers ("f", "i" or "b"), of a shape, within a range; NaN only if `nan`."""

    kind: str
    shape: tuple[int | str, ...]
    low: float = -math.inf
    high: float | str = math.inf
    nan: bool = False

    def problem(self, value: Any, sizes: Sizes) -> str:
        if not isinstance(value, np.ndarray) or value.dtype.kind != self.kind:
            return "it is not an array of such numbers"
        if value.ndim != len(self.shape):
            return f"it has shape {value.shape}, with {value.ndim} dimensions for {len(self.shape)}"
        expected = tuple(
            sizes.setdefault(name, size) if isinstance(name, str) else name
            for name, size in zip(self.shape, value.shape, strict=True)
        )
        if value.shape != expected:
            return f"it has shape {value.shape}, not {expected}"
        if self.kind == "f" and not (np.isfinite(value) | (self.nan & np.isnan(value))).all():
            return "it holds numbers that are not finite"
        high = sizes[self.high] if isinstance(self.high, str) else self.high
        if value.size and self.kind != "b" and (np.nanmin(value) < self.low or np.nanmax(value) > high):
            return f"it holds numbers outside {self.low:g} to {high:g}"
        return ""


@dataclass(frozen=True)
class List:
    """A list of values of one kind, of a given size or at most `most`; `distinct`: without repetition."""

    item: Kind
    size: int | str | None = None
    distinct: bool = False
    most: int = LARGEST

    def problem(self, value: Any, sizes: Sizes) -> str:
        if not isinstance(value, (list, tuple)):
            return "it is not a list"
        size = sizes[self.size] if isinstance(self.size, str) else self.size
        if len(value) > self.most or (size is not None and len(value) != size):
            return f"it is a list of {len(value)}, not {f'up to {self.most}' if size is None else size}"
        problem = next(filter(None, (self.item.problem(one, sizes) for one in value)), "")
        return problem or ("it repeats a value" if self.distinct and len(set(value)) < len(value) else "")


@dataclass(frozen=True)
class Map:
    """A mapping from texts (or integers) to values of one kind."""

    item: Kind
    keys: type = str

    def problem(self, value: Any, sizes: Sizes) -> str:
        if not isinstance(value, dict) or not all(type(name) is self.keys for name in value):
            return "it is not a table of named values"
        return next(filter(None, (self.item.problem(one, sizes) for one in value.values())), "")


class Fields:
    """A mapping with given names and a kind for each; a key may list names: ``{"starts hits": Whole(1)}``.

    Unknown names are ignored; those in `optional` may be missing.
    """

    def __init__(self, parts: Mapping[str, Kind], optional: Iterable[str] = ()):
        self.parts = {name: kind for names, kind in parts.items() for name in names.split()}
        self.optional = set(optional)

    def problem(self, value: Any, sizes: Sizes) -> str:
        if not isinstance(value, dict):
            return "it has no parts"
        lacking = [name for name in self.parts if name not in value and name not in self.optional]
        if lacking:
            return f"it lacks {', '.join(lacking)}"
        for name, kind in self.parts.items():
            if name in value and (problem := kind.problem(value[name], sizes)):
                return f"{name}: {problem}"
        return ""


@dataclass(frozen=True)
class Maybe:
    """A kind, or None."""

    kind: Kind

    def problem(self, value: Any, sizes: Sizes) -> str:
        return "" if value is None else self.kind.problem(value, sizes)


class Either:
    """One of several kinds."""

    def __init__(self, *kinds: Kind):
        self.kinds = kinds

    def problem(self, value: Any, sizes: Sizes) -> str:
        problems = [kind.problem(value, sizes) for kind in self.kinds]
        return "" if "" in problems else problems[-1]
