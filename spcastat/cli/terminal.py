"""What the command prints: results to standard output, one line of news or errors to standard error."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from spcastat.errors import FileError
from spcastat.labels import name_text


def tell(kind: str, message: object) -> None:
    """Print one line to standard error: ``spcastat: error: there is no file 'x.csv'.``"""
    if sys.stderr is not None:  # print() would take standard output instead
        with suppress(OSError, ValueError):  # where even this cannot be written, the exit code tells
            print(f"spcastat: {kind}: {name_text(str(message))}", file=sys.stderr, flush=True)


def require_output() -> None:
    """Raise FileError if there is no standard output to print to."""
    if sys.stdout is None or sys.stdout.closed:
        raise FileError("standard output is closed; leave it open, or send it to a file with > FILE.")


def require_encodable(text: str) -> None:
    """Raise FileError if standard output has no form for a character of `text`."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError as error:
        raise FileError(
            f"standard output is {encoding}, which has no form for {text[error.start]!r}; --out FILE writes "
            "UTF-8, and so does standard output with PYTHONUTF8=1 in the environment."
        ) from None


def show(text: str, end: str = "\n") -> None:
    """Print a result, and make sure that it is written.

    What the encoding of standard output does not have is printed as an escape.

    Raises
    ------
    FileError
        Where standard output cannot be written.
    BrokenPipeError
        Where its reader, such as head, has gone.
    """
    require_output()
    try:
        try:
            print(text, end=end, flush=True)
        except UnicodeEncodeError:
            encoding = sys.stdout.encoding
            print(text.encode(encoding, "backslashreplace").decode(encoding), end=end, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_output()
        raise FileError(f"standard output cannot be written: {error.strerror or error}.") from error


def discard_output() -> None:
    """Let what is left of standard output go nowhere, so that the exit of Python is quiet, too."""
    with suppress(OSError, ValueError):  # a stand-in for standard output has no number
        number = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
