"""Writing a file so that what was there before stays until all is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from spcastat.errors import FileError


def write_file(path: str | os.PathLike[str], write: Callable[[IO[bytes]], None]) -> None:
    """Let `write` fill a new file beside `path`, then rename it.

    Raises
    ------
    FileError
        Where the file cannot be written; none is left behind.
    """
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        try:
            with open(beside, "xb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
    except FileError:  # of a file that was being read
        raise
    except OSError as error:
        raise FileError(f"{target} cannot be written: {error.strerror or error}.") from error
