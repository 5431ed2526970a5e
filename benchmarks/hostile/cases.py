"""One hostile call and its outcome.

``right``
    It gave something, and that is right: its judge had nothing to say.
``refused``
    It ended in an error of the package (an exit code and a line, on the command line).
``wrong``
    It gave something that is not right, was refused where it must not be, or with a message that users cannot
    read.
``foreign``
    It ended in any other exception, or its process died.
``hang``
    It took longer than it may.
"""

from __future__ import annotations

import contextlib
import io
import re
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spcastat.errors import SpcaError

VERDICTS = ("right", "refused", "wrong", "foreign", "hang")
#: Those of which there may be none.
FAULTS = ("wrong", "foreign", "hang")
#: Characters of a message, at most.
LONGEST = 3000


class Refused(Exception):
    """A refusal that is no exception, as that of the command line."""


@dataclass(frozen=True)
class Case:
    """One hostile call.

    Attributes
    ----------
    name : str
        What is called with what, the same in each run.
    run : callable
        Makes the call and returns what it gives.
    judge : callable
        What was given -> what is wrong with it, an empty string if nothing is.
    must : {"", "refuse", "accept"}
        Whether one of the two is the only right end.
    """

    name: str
    run: Callable[[], Any]
    judge: Callable[[Any], str] = lambda given: ""
    must: str = ""


@dataclass(frozen=True)
class Verdict:
    """What became of a case: one of `VERDICTS`, and why."""

    name: str
    verdict: str
    why: str = ""


def judged(case: Case) -> Verdict:
    """Make the call and judge what comes of it."""
    quiet = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
            warnings.simplefilter("ignore")
            given = case.run()
            wrong = "was accepted" if case.must == "refuse" else case.judge(given)
    except (SpcaError, Refused) as error:
        fault = unreadable(str(error)) or ("was refused" if case.must == "accept" else "")
        return Verdict(case.name, "wrong" if fault else "refused", f"{fault} {type(error).__name__}: {error}")
    except Exception as error:
        return _foreign(case, error)
    return Verdict(case.name, "wrong" if wrong else "right", wrong)


def unreadable(message: str) -> str:
    """Return what is wrong with the message of an error, or an empty string."""
    if not message.strip():
        return "no message"
    if len(message) > LONGEST:
        return f"{len(message)} characters of message"
    if re.search(r"[\x00-\x09\x0b-\x1f\ud800-\udfff]", message):
        return "unprintable characters in the message"
    return ""


def _foreign(case: Case, error: Exception) -> Verdict:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
    return Verdict(case.name, "foreign", f"{type(error).__name__} at {where}: {str(error)[:200]}")
