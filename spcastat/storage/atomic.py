"""Write files atomically: an existing file is replaced only when the new one is complete."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from spcastat.config import shown
from spcastat.errors import FileError, OptionError


def file_path(path: Any, endings: Sequence[str] = ()) -> Path:
    """Check a user's path of a file to write, and return it.

    Parameters
    ----------
    path : object
    endings : sequence of str
        Allowed suffixes, such as ".html", or "" for names without a suffix, in lower or upper case; by
        default any suffix is allowed.

    Raises
    ------
    OptionError
        If `path` is not a path, or does not name a file.
    FileError
        For another suffix, with which other programs would misread the file.
    """
    target = as_path(path)
    if not target.name:
        raise OptionError(f"path={shown(str(path))} was given, which names no file.")
    if endings and target.suffix.lower() not in endings:
        allowed = " or ".join(filter(None, endings))
        raise FileError(f"{shown(target.name)} was given; its name must end in {allowed}.")
    return target


def as_path(path: Any) -> Path:
    """Return a user's path as a Path; raise OptionError if it is not a valid path."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise OptionError(f"path={shown(path)} was given; it must be the path of a file, as text or a Path.")
    if not os.fspath(path) or not _speakable(os.fspath(path)):
        raise OptionError(f"path={shown(os.fspath(path))} was given, which no file can be called.")
    return Path(path)


def _speakable(name: str) -> bool:
    """Whether a file can have this name: without NUL, not too long, and with encodable characters."""
    try:
        encoded = os.fsencode(name)
        # a path has at most 4096 bytes
        return b"\0" not in encoded and len(encoded) <= 4096
    except UnicodeEncodeError:
        return False


def write_file(path: str | os.PathLike[str], write: Callable[[IO[bytes]], None]) -> None:
    """Write a new file in the same folder with the function `write`, then rename it to `path`.

    Symbolic links and the permissions of an existing file are preserved. The new file has a unique name until
    it is complete, so that threads and processes can write to the same path: the last one to finish wins.

    Raises
    ------
    OptionError
        If `path` is not a path.
    FileError
        If the file cannot be written; no partial file is left.
    """
    target = file_path(path)
    mode = _mode_of(target)
    target = Path(os.path.realpath(target)) if os.path.islink(target) else target
    part = _part_of(target)
    try:
        try:
            with open(part, "xb") as file:
                if mode is not None:
                    os.chmod(part, mode)
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target)
        finally:
            with suppress(OSError):  # it was renamed, or never created
                part.unlink()
    except FileError:  # the rows could not be read
        raise
    except OSError as error:
        raise FileError(f"{target} cannot be written: {error.strerror or error}.") from error


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a new file with this content; see :func:`write_file`."""
    write_file(path, lambda file: file.writelines([content]))


def _part_of(target: Path) -> Path:
    """Return a unique path for a temporary file in the folder of `target`.

    Its name has 64 random bits and at most 100 bytes of the name of `target`, to stay below the limit of 255.
    """
    known = os.fsencode(target.name)[:100].decode(errors="ignore")
    return target.with_name(f".{known}.{secrets.token_hex(8)}.part")


def _mode_of(target: Path) -> int | None:
    """Return the permissions of an existing file, or None; raise FileError if the path is not a file."""
    try:
        found = os.stat(target)
    except OSError:  # writing will report the error
        return None
    if stat.S_ISDIR(found.st_mode):
        raise FileError(f"{target} cannot be written: it is a folder.")
    if not stat.S_ISREG(found.st_mode):
        raise FileError(f"{target} cannot be written: it is a device or a pipe, not a file.")
    return stat.S_IMODE(found.st_mode)
