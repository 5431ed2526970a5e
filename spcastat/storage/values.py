"""What a value from a file can be; nothing of it is believed unseen."""

from __future__ import annotations

import math
from typing import Any

from spcastat.errors import FileError


def require(right: Any, what: str) -> None:
    """Raise FileError unless something is right."""
    if not right:
        raise FileError(f"{what}.")


def whole(value: Any, least: int) -> bool:
    """Whether a value is a whole number, `least` or more, that fits into 63 bits."""
    return type(value) is int and least <= value < 1 << 62


def real(value: Any) -> bool:
    """Whether a value is a finite number."""
    return (type(value) is float and math.isfinite(value)) or (type(value) is int and abs(value) < 1 << 62)


def writable(value: Any) -> bool:
    """Whether a value is text that every table can hold: without half a character."""
    return isinstance(value, str) and value.encode("utf-8", "replace").decode("utf-8") == value


def named(value: Any) -> bool:
    """Whether a value is a mapping whose keys are texts."""
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


def plain(value: Any) -> bool:
    """Whether a value is None, text, a number, true or false, or a list of such."""
    if isinstance(value, list):
        return all(plain(one) for one in value)
    return value is None or type(value) in (bool, str, float) or (type(value) is int and abs(value) < 1 << 62)
