"""A method that calls a function says what the function says, less the parameters that it fills in."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

#: A heading of a NumPy-style docstring with its line of dashes.
_HEADING = re.compile(r"^\w[\w ]*\n-+$", re.MULTILINE)


def documented(function: Callable[..., Any], *filled: str) -> Callable[[Method], Method]:
    """Give a method the docstring of `function`, without the parameters named in `filled`."""

    def dress(method: Method) -> Method:
        method.__doc__ = without_parameters(inspect.getdoc(function) or "", filled)
        return method

    return dress


def without_parameters(text: str, names: tuple[str, ...]) -> str:
    """Return a NumPy-style docstring without these parameters, and without the section if none is left."""
    start = text.find("Parameters\n----------\n")
    if start < 0 or not names:
        return text
    body = start + len("Parameters\n----------\n")
    following = _HEADING.search(text, body)
    end = following.start() if following else len(text)
    kept = []
    for entry in re.split(r"\n(?=\S)", text[body:end].rstrip("\n")):
        before, colon, kind = entry.partition("\n")[0].partition(" : ")
        left = [name for name in before.split(", ") if name.strip() not in names]
        if left:
            kept.append(", ".join(left) + colon + kind + entry[len(entry.partition("\n")[0]) :])
    section = "Parameters\n----------\n" + "\n".join(kept) + "\n\n" if kept else ""
    return (text[:start] + section + text[end:]).rstrip()
