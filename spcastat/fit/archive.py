"""Files of saved fits: arrays and one text, in one npz file that is replaced only when it is complete.

A file is a zip of ``manifest.json`` (everything except arrays) and one ``NAME.npy`` for each array, which
``numpy.load`` reads too. There are no other members and no pickles. The checksums of zip detect damage.

A file may come from anywhere, so the sizes in it are not trusted: members are read up to their declared size,
and all of them together may not be much larger than the file. Data that compress better than that are stored
without compression, so that every file that is written can be read.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import secrets
import stat
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from spcastat.config import shown
from spcastat.errors import FileError, OptionError

MANIFEST = "manifest.json"
#: All members together may have `EXPANSION` times as many bytes as the file, plus `SMALL`. Nonzero
#: floating-point numbers hardly compress, and about half of the numbers in a fit are nonzero.
EXPANSION, SMALL = 50, 16 << 20
#: The same for the manifest, whose values take up to 30 times as many bytes in memory.
TEXT_EXPANSION, SMALL_TEXT = 5, 2 << 20
#: Allowed types of arrays.
DTYPES = re.compile(r"[<>|](b1|[iu][1248]|f(2|4|8|16)|[mM]8(\[(generic|Y|M|W|D|h|m|s|ms|us|ns)\])?)")


@dataclass(frozen=True, eq=False)
class Archive:
    """The contents of an archive that was read.

    Attributes
    ----------
    writer : str
        The version of the package that wrote the file; "" if unknown.
    content : dict
    arrays : dict of str to ndarray
    """

    writer: str
    content: dict[str, Any]
    arrays: dict[str, np.ndarray]


# --- writing --------------------------------------------------------------------------------------


def write_archive(
    file: IO[bytes],
    form: str,
    version: int,
    writer: str,
    content: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> None:
    """Write content and arrays as one zip.

    Parameters
    ----------
    file : binary file
    form : str
        The kind of file.
    version : int
        Version of the layout.
    writer : str
        The version of the package.
    content : mapping
        Values that JSON can represent, and numbers that are not finite.
    arrays : mapping of str to ndarray
        Arrays of numbers, booleans or times.
    """
    manifest = {"format": form, "version": version, "writer": writer, "content": content}
    members = {MANIFEST: json.dumps(manifest, indent=1, default=_of_python).encode()}
    for name, values in arrays.items():
        buffer = io.BytesIO()
        # the type by its name, as types that older pandas restores from a pickle have metadata
        plain = np.asarray(values, dtype=np.dtype(np.asarray(values).dtype.str))
        np.lib.format.write_array(buffer, plain, version=(1, 0), allow_pickle=False)
        members[f"{name}.npy"] = buffer.getvalue()
    sizes = {name: len(part) for name, part in members.items()}
    for way in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        file.seek(0)
        file.truncate()
        with zipfile.ZipFile(file, "w", way) as archive:
            for name, part in members.items():
                # a fixed time, so that equal fits make equal files
                archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), part, way)
        if _plausible(file.tell(), sizes):
            break


def _of_python(value: Any) -> Any:
    """Return a number of NumPy as one of Python, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} of type {type(value).__qualname__} cannot be stored")


def _plausible(size: int, members: Mapping[str, int]) -> bool:
    """Return whether a file of `size` bytes may have members of these sizes."""
    return (
        sum(members.values()) <= SMALL + EXPANSION * size
        and members[MANIFEST] <= SMALL_TEXT + TEXT_EXPANSION * size
    )


# --- reading --------------------------------------------------------------------------------------


def read_archive(path: Path, form: str, version: int) -> Archive:
    """Read a zip that `write_archive` wrote.

    Parameters
    ----------
    path : Path
    form : str
        The expected kind of file.
    version : int
        The layout that can be read.

    Raises
    ------
    FileError
        If there is no such file, or it is of another kind, damaged, of another layout, or would need more
        memory than its size allows.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FileError(f"{path} cannot be read: it is a folder, a device or a pipe, not a file.")
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                raise _foreign(path)
            with zipfile.ZipFile(file) as archive:
                members = _members(path, archive, os.fstat(file.fileno()).st_size)
                manifest = _manifest(path, _part(archive, members.pop(MANIFEST)), form, version)
                arrays = {
                    name.removesuffix(".npy"): _array(name, _part(archive, member))
                    for name, member in members.items()
                }
        return Archive(manifest["writer"], manifest["content"], arrays)
    except FileError:
        raise
    except MemoryError:
        raise FileError(f"{path} cannot be read: it takes more memory than there is.") from None
    except FileNotFoundError:
        raise FileError(f"There is no file {str(path)!r}.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from error
    except Exception as error:  # damaged data can cause any error in zipfile, zlib, json and NumPy
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise FileError(
            f"{path} is damaged or cut off: {reason.rstrip('.')}. Take a copy of the file from before, or "
            "fit again and save."
        ) from error


def _foreign(path: Path, why: str = "") -> FileError:
    return FileError(f"{path} is not a fit that spcastat has saved{why}.")


def _members(path: Path, archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name, after a check of their names and sizes in a file of `size` bytes."""
    every = archive.infolist()
    members = {one.filename: one for one in every}
    if len(members) != len(every):
        raise ValueError("a member stands in it twice")
    if MANIFEST not in members:
        raise _foreign(path, f": there is no {MANIFEST} in it")
    if not _plausible(size, {name: one.file_size for name, one in members.items()}):
        total = sum(one.file_size for one in every)
        raise FileError(
            f"{path} cannot be read: it unpacks to {total} bytes from a file of {size}, more than any fit "
            "that spcastat saves."
        )
    return members


def _part(archive: zipfile.ZipFile, about: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a member, which must have their declared size and checksum."""
    part = bytearray()
    with archive.open(about) as member:
        # read at once, a member would be unpacked beyond its declared size
        while piece := member.read(1 << 20):
            part += piece
    if len(part) != about.file_size:
        raise ValueError(f"{about.filename} does not have its size")
    return bytes(part)


def _manifest(path: Path, text: bytes, form: str, version: int) -> dict[str, Any]:
    """Return the manifest after a check of its format and version."""
    try:
        manifest = json.loads(text)
    except RecursionError:
        raise ValueError("its values are nested too deep") from None
    if not isinstance(manifest, dict) or manifest.get("format") != form:
        raise _foreign(path)
    found, writer = manifest.get("version"), manifest.get("writer")
    if not isinstance(writer, str) or not re.fullmatch(r"[\w.+!-]{0,40}", writer):
        writer = manifest["writer"] = ""
    if type(found) is not int or found < 1:
        raise _foreign(path, ": it does not say the version of its layout")
    if found != version:
        by = f" ({writer})" if writer else ""
        newer = f"a newer spcastat{by}, in layout {found}: upgrade spcastat to read it"
        older = f"an earlier spcastat{by}, in layout {found}, which is no longer read: fit again and save"
        raise FileError(f"{path} was written by {newer if found > version else older}.")
    if not isinstance(manifest.get("content"), dict):
        raise ValueError("there is no content in it")
    return manifest


def _array(name: str, part: bytes) -> np.ndarray:
    """Return an array after a check of its type and size."""
    head = io.BytesIO(part)
    if np.lib.format.read_magic(head) != (1, 0):
        raise ValueError(f"{name} has a header of another version")
    shape, _, dtype = np.lib.format.read_array_header_1_0(head)
    if not DTYPES.fullmatch(dtype.str) or head.tell() + math.prod(shape) * dtype.itemsize != len(part):
        raise ValueError(f"{name} has another type, or not the size of its shape")
    head.seek(0)
    values: np.ndarray = np.lib.format.read_array(head, allow_pickle=False)
    return values


# --- replacement of files -------------------------------------------------------------------------


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
        *first, last = filter(None, endings)
        allowed = f"{', '.join(first)} or {last}" if first else last
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
