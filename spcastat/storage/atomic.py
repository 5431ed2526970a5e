"""Writing a file so that what was there before stays until all is written."""

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

#: Bytes of the name that the part of a file takes over: with its own it stays below the 255 that names have.
PART_OF_NAME = 100
#: Bytes of a path, at most.
LONGEST = 4096


def file_path(path: Any, endings: Sequence[str] = ()) -> Path:
    """Return what a user gave as the path of a file to write.

    Parameters
    ----------
    path : object
    endings : sequence of str
        How its name may end, such as ".html", or "" for names without an ending; by default in any way.
        Capitals do not matter.

    Raises
    ------
    OptionError
        For what is not a path, or names no file.
    FileError
        For another ending: what opens the file would take it for what it is not.
    """
    target = as_path(path)
    if not target.name:
        raise OptionError(f"path={shown(str(path))} was given, which names no file.")
    if endings and target.suffix.lower() not in endings:
        allowed = " or ".join(filter(None, endings))
        raise FileError(f"{shown(target.name)} was given; its name must end in {allowed}.")
    return target


def as_path(path: Any) -> Path:
    """Return what a user gave as a path; raise OptionError for what is none, or cannot be one."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise OptionError(f"path={shown(path)} was given; it must be the path of a file, as text or a Path.")
    if not os.fspath(path) or not _speakable(os.fspath(path)):
        raise OptionError(f"path={shown(os.fspath(path))} was given, which no file can be called.")
    return Path(path)


def _speakable(name: str) -> bool:
    """Whether a file can have this name: no NUL, and characters that the file system can hold."""
    try:
        encoded = os.fsencode(name)
        return b"\0" not in encoded and len(encoded) <= LONGEST
    except UnicodeEncodeError:
        return False


def write_file(path: str | os.PathLike[str], write: Callable[[IO[bytes]], None]) -> None:
    """Let `write` fill a new file beside `path`, then rename it.

    A link stays a link to the file, and a file that was there keeps its permissions. The new file has a name
    of its own until it is whole, so that any number of threads and processes can write to one path: the last
    to end is the one that stays.

    Raises
    ------
    OptionError
        For anything but a path.
    FileError
        Where the file cannot be written; none is left behind.
    """
    target = file_path(path)
    mode = _mode_of(target)
    target = Path(os.path.realpath(target)) if os.path.islink(target) else target
    beside = _part_of(target)
    try:
        try:
            with open(beside, "xb") as file:
                if mode is not None:
                    os.chmod(beside, mode)
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, target)
        finally:
            with suppress(OSError):  # nothing was begun
                beside.unlink()
    except FileError:  # of a file that was being read
        raise
    except OSError as error:
        raise FileError(f"{target} cannot be written: {error.strerror or error}.") from error


def _part_of(target: Path) -> Path:
    """Return a name beside the file that nobody else has: of 64 random bits."""
    known = os.fsencode(target.name)[:PART_OF_NAME].decode(errors="ignore")
    return target.with_name(f".{known}.{secrets.token_hex(8)}.part")


def _mode_of(target: Path) -> int | None:
    """Return the permissions of an existing file, None where there is none; raise if it is not a file."""
    try:
        found = os.stat(target)
    except OSError:  # reported when it is written
        return None
    if stat.S_ISDIR(found.st_mode):
        raise FileError(f"{target} cannot be written: it is a folder.")
    if not stat.S_ISREG(found.st_mode):
        raise FileError(f"{target} cannot be written: it is a device or a pipe, not a file.")
    return stat.S_IMODE(found.st_mode)
