"""Calls that are refused: a line of the tables of refusals, and the test of one line."""

from __future__ import annotations

import ast
import contextlib
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

import spcastat as sp

#: An option with a value that can be written in a call: ``na='drop'``.
OPTION = re.compile(r"(?<![\w.])([a-z_]+)=('[^']*'|\"[^\"]*\"|True|False|None|-?\d+(?:\.\d+)?)(?![\w(]|\.\w)")
#: Words after which a sentence advises something.
ADVISES = re.compile(r"\b([Gg]ive|[Uu]se|or)\b")
#: Advice for another call, or that needs a value of the user's beside it: ``with n_obs=``.
NOT_ALONE = re.compile(r"^Fit with|\b[a-z_]+=(?=[\s,.;:)]|$)")


class Refused(NamedTuple):
    """A call that is refused.

    Attributes
    ----------
    call : str
        A Python expression in the names that the table describes.
    error : type
        The class of the error.
    words : str
        A regular expression that the message contains.
    """

    call: str
    error: type[BaseException]
    words: str


def each(*tables: list[tuple[str, type[BaseException], str]]) -> pytest.MarkDecorator:
    """Return the mark that gives a test the lines of some tables, one at a time, as `refused`."""
    lines = [Refused(*line) for table in tables for line in table]
    return pytest.mark.parametrize("refused", lines, ids=[line.call[:70] for line in lines])


def require_refusal(refused: Refused, names: Mapping[str, Any]) -> str:
    """Evaluate the call of a line, require its error, and return the message.

    Each option that the message advises for the same function is then given to the call, which must not be
    refused for that option.
    """
    with pytest.raises(refused.error, match=refused.words) as caught:
        eval(refused.call, dict(names))
    message = str(caught.value)
    for option, call in advised(refused.call, message):
        refusal = ""
        with warnings.catch_warnings(), contextlib.suppress(FileNotFoundError):
            warnings.simplefilter("ignore")
            try:
                eval(call, dict(names))
            except sp.errors.SpcaError as error:
                refusal = str(error)
        assert not refuses(refusal, option), f"{message}\n{call}\n{refusal}"
    return message


def advised(call: str, message: str) -> Iterator[tuple[str, str]]:
    """Yield each option that a message advises beyond what was given, and the call with it."""
    tree = ast.parse(call, mode="eval").body
    if not isinstance(tree, ast.Call):
        return
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in tree.keywords}
    for sentence in re.split(r"(?<=[.;:]) ", message):
        for found in OPTION.finditer(sentence):
            name, value = found.groups()
            advice = ADVISES.search(sentence[: found.start()])
            inside = re.search(r"[\w.]+\([^()]*$", sentence[: found.start()])  # of a call that is written out
            echoed = given.get(name) == value or "was given" in sentence[found.end() :]
            if not advice or inside or echoed or NOT_ALONE.search(sentence):
                continue
            keywords = [keyword for keyword in tree.keywords if keyword.arg != name]
            keywords.append(ast.keyword(name, ast.parse(value, mode="eval").body))
            yield found[0], ast.unparse(ast.Call(tree.func, tree.args, keywords))


def refuses(refusal: str, option: str) -> bool:
    """Return whether a message refuses an option: its value, or its name."""
    name = option.partition("=")[0]
    has_none = re.search(rf"has no (option|argument) '?{name}\b|'{name}' is not an option", refusal)
    starts = (f"{option} was given", f"{option} is not", f"{name} was given")
    return bool(has_none) or refusal.startswith(starts)
