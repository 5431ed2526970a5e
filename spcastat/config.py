"""Checks of options that every layer shares: literal names, numbers, and the nearest name to a typo."""

from __future__ import annotations

import inspect
import numbers
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

from spcastat.errors import OptionError


def nearest(word: object, names: Iterable[object]) -> str:
    """Return ``" Did you mean 'x'?"`` for the name closest to `word`, or an empty string."""
    import difflib  # only once something is misspelt

    found = difflib.get_close_matches(str(word), [str(name) for name in names], n=1, cutoff=0.6)
    return f" Did you mean {found[0]!r}?" if found else ""


def listed(names: Iterable[object], limit: int = 8) -> str:
    """Join names for a message, the first `limit` of them and a count of the rest."""
    shown = [repr(name) for name in names]
    rest = len(shown) - limit
    return ", ".join(shown[:limit]) + (f" and {rest} more" if rest > 0 else "")


def one_of(option: str, value: object, allowed: Iterable[str], error: type[OptionError] = OptionError) -> str:
    """Return `value` if it is one of the `allowed` names; raise `error` with the nearest name if not."""
    allowed = tuple(allowed)
    if isinstance(value, str) and value in allowed:
        return value
    raise error(
        f"{option}={value!r} is not known; allowed are {listed(allowed, 40)}.{nearest(value, allowed)}"
    )


def whole_number(
    option: str, value: Any, low: int, high: int | None = None, error: type[OptionError] = OptionError
) -> int:
    """Return `value` as an int between `low` and `high`; a bool or a fraction is refused."""
    fits = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if fits and int(value) >= low and (high is None or int(value) <= high):
        return int(value)
    reach = f"from {low} to {high}" if high is not None else f"of {low} or more"
    raise error(f"{option}={value!r} was given; it must be a whole number {reach}.")


def real_number(
    option: str,
    value: Any,
    low: float,
    high: float,
    *,
    open_low: bool = False,
    error: type[OptionError] = OptionError,
) -> float:
    """Return `value` as a float in [low, high], or in (low, high] with `open_low`."""
    fits = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if fits and (float(value) > low if open_low else float(value) >= low) and float(value) <= high:
        return float(value)
    reach = f"{'(' if open_low else '['}{low:g}, {high:g}]"
    raise error(f"{option}={value!r} was given; it must be a number in {reach}.")


def user_frame() -> FrameType | None:
    """Return the innermost frame of the call stack that lies outside the package."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "spcastat":
        frame = frame.f_back
    return frame


#: Who is told instead of Python's warnings, in this thread.
_told: ContextVar[Callable[[str], None] | None] = ContextVar("_told", default=None)


@contextmanager
def warnings_told(to: Callable[[str], None]) -> Iterator[None]:
    """Give the text of each warning of the package to a function, once each, in this thread only.

    Python's filters of warnings, which all threads share, stay as they are.
    """
    seen: set[str] = set()

    def tell(message: str) -> None:
        if message not in seen:
            seen.add(message)
            to(message)

    before = _told.set(tell)
    try:
        yield
    finally:
        _told.reset(before)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the user's line, however deep in the package the reason was found."""
    told = _told.get()
    if told is not None:
        told(message)
        return
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "spcastat":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
