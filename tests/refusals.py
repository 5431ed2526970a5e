"""Calls that are refused: a line of the tables of refusals, and the test of one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest


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
    """Evaluate the call of a line, require its error, and return the message."""
    with pytest.raises(refused.error, match=refused.words) as caught:
        eval(refused.call, dict(names))
    return str(caught.value)
