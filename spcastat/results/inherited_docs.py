"""A method that calls a function says what the function says, less the parameters that it fills in."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from spcastat.results.other_names import answered

Method = TypeVar("Method", bound=Callable[..., Any])

#: A heading of a NumPy-style docstring with its line of dashes.
_HEADING = re.compile(r"^\w[\w ]*\n-+$", re.MULTILINE)


def documented(function: Callable[..., Any], *filled: str, **entries: str) -> Callable[[Method], Method]:
    """Give a method the docstring of `function`, without the parameters named in `filled`.

    `entries` are sentences that the method adds to what is said of a parameter; one that begins with
    "name : type" is said in its place.
    """

    def dress(method: Method) -> Method:
        text = without_parameters(inspect.getdoc(function) or "", filled)
        for name, sentence in entries.items():
            text = _with_entry(text, name, sentence)
        method.__doc__ = text
        return answered(method)

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


def _with_entry(text: str, name: str, sentence: str) -> str:
    """Return a docstring in which the entry of a parameter ends with a sentence, or is another one."""
    replaced = re.match(r"(\w+) : ", sentence)
    entry = re.search(rf"^{name} : .*(?:\n(?:    .*|$))*", text, re.MULTILINE)
    if entry is None:
        raise KeyError(f"no parameter {name} is described")
    old = entry[0].rstrip("\n")
    if replaced is not None:
        new = sentence
    else:
        new = old + "\n" + textwrap.fill(sentence, 100, initial_indent="    ", subsequent_indent="    ")
    return text[: entry.start()] + new + text[entry.start() + len(old) :]
