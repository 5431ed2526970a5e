"""Printing: results to standard output, notes, warnings and errors as single lines to standard error."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from spcastat.errors import FileError
from spcastat.labels import name_text


def tell(kind: str, message: object) -> None:
    """Print one line to standard error: ``spcastat: error: there is no file 'x.csv'.``"""
    if sys.stderr is not None:  # with file=None print() would use standard output
        with suppress(OSError, ValueError):  # if even this cannot be written, only the exit code is left
            print(f"spcastat: {kind}: {name_text(str(message))}", file=sys.stderr, flush=True)


def require_output() -> None:
    """Raise FileError if there is no standard output to print to."""
    if sys.stdout is None or sys.stdout.closed:
        raise FileError("standard output is closed; leave it open, or send it to a file with > FILE.")


def require_encodable(text: str) -> None:
    """Raise FileError if the encoding of standard output does not have a character of `text`."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError as error:
        raise FileError(
            f"standard output is {encoding}, which has no form for {text[error.start]!r}; --out FILE writes "
            "UTF-8, and so does standard output with PYTHONUTF8=1 in the environment."
        ) from None


def show(text: str, end: str = "\n") -> None:
    """Print a result and flush standard output.

    Characters that its encoding does not have are printed as escapes.

    Raises
    ------
    FileError
        If standard output cannot be written.
    BrokenPipeError
        If its reader, such as head, has closed it.
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
    """Send the rest of standard output to the null device, so that Python exits without an error."""
    with suppress(OSError, ValueError):  # a replaced standard output has no file descriptor
        number = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
