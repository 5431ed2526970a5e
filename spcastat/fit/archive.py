"""Files of saved fits: an archive of arrays that is replaced only when it is complete.

Members: ``manifest.json`` (everything except the arrays, and for each array its type, shape and SHA-256),
``digest`` (the SHA-256 of the manifest) and ``arrays/NAME.npy``. There are no other members and no pickles.

A file may come from anywhere, so the sizes in it are not trusted: members are read up to their declared size,
and all of them together may not be much larger than the file. Data that compress better than that are stored
without compression, so that every file that is written can be read.
"""

from __future__ import annotations

import hashlib
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

#: All members together may have `EXPANSION` times as many bytes as the file, plus `SMALL`. Nonzero
#: floating-point numbers hardly compress, and about half of the numbers in a fit are nonzero.
EXPANSION = 50
SMALL = 16 << 20
#: Allowed types of arrays.
DTYPES = re.compile(r"[<>|](b1|[iu][1248]|f(2|4|8|16)|[mM]8(\[(generic|Y|M|W|D|h|m|s|ms|us|ns)\])?)")

_MANIFEST, _DIGEST, _ARRAYS = "manifest.json", "digest", "arrays/"
_NAME = re.compile(r"[A-Za-z0-9_]{1,40}")


@dataclass(frozen=True, eq=False)
class Archive:
    """The contents of an archive that was read.

    Attributes
    ----------
    version : int
        Version of the layout.
    writer : str
        The version of the package that wrote the file; "" if unknown.
    content : dict
    arrays : dict of str to ndarray
    """

    version: int
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
        Values that JSON can represent.
    arrays : mapping of str to ndarray
        Arrays of numbers, booleans or times.
    """
    described, parts = {}, {}
    for name, values in arrays.items():
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, values, version=(1, 0), allow_pickle=False)
        parts[f"{_ARRAYS}{name}.npy"] = part = buffer.getvalue()
        digest = hashlib.sha256(part).hexdigest()
        described[name] = {"dtype": values.dtype.str, "shape": list(values.shape), "sha256": digest}
    manifest = {"format": form, "version": version, "writer": writer, "arrays": described, "content": content}
    written = json.dumps(manifest, ensure_ascii=False, allow_nan=False, indent=1)
    text = written.encode("utf-8", "surrogatepass")
    members = {_MANIFEST: text, _DIGEST: hashlib.sha256(text).hexdigest().encode(), **parts}
    total = sum(map(len, members.values()))
    for way in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        file.seek(0)
        file.truncate()
        with zipfile.ZipFile(file, "w", way) as archive:
            for name, part in members.items():
                # a fixed time, so that equal fits make equal files
                archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), part, way)
        if _plausible(file.tell(), total, _values_in(text)):
            break


def _plausible(size: int, total: int, values: int) -> bool:
    """Whether a file of `size` bytes may have members of `total` bytes and a manifest of `values` values.

    A value takes some 80 bytes in memory.
    """
    return total <= SMALL + EXPANSION * size and values <= 500_000 + size


# --- reading --------------------------------------------------------------------------------------


def read_archive(path: Path, form: str, version: int) -> Archive:
    """Read a zip that `write_archive` wrote.

    Parameters
    ----------
    path : Path
    form : str
        The expected kind of file.
    version : int
        The newest layout that can be read.

    Raises
    ------
    FileError
        If there is no such file, or it is of another kind, damaged, of a newer layout, or would need more
        memory than its size allows.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FileError(f"{path} cannot be read: it is a folder, a device or a pipe, not a file.")
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                raise _foreign(path)
            with zipfile.ZipFile(file) as archive:
                return _Reader(path, archive, os.fstat(file.fileno()).st_size).read(form, version)
    except FileError:
        raise
    except MemoryError:
        raise FileError(f"{path} cannot be read: it takes more memory than there is.") from None
    except FileNotFoundError:
        raise FileError(f"There is no file {str(path)!r}.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from error
    except Exception as error:  # damaged data can cause any error in zipfile, zlib and NumPy
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise _damaged(path, reason) from error


def _foreign(path: Path, why: str = "") -> FileError:
    return FileError(f"{path} is not a fit that spcastat has saved{why}.")


def _damaged(path: Path, reason: str) -> FileError:
    return FileError(
        f"{path} is damaged or cut off: {reason}. Take a copy of the file from before, or fit again and save."
    )


class _Reader:
    """Reader of the members of a zip."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, size: int):
        self.path = path
        self.archive = archive
        self.size = size
        self.members = self._measured()

    def read(self, form: str, version: int) -> Archive:
        text = bytes(self._part(_MANIFEST, self.members[_MANIFEST].file_size))
        if not _plausible(self.size, 0, _values_in(text)):
            raise self._too_large(f"a manifest of {_values_in(text)} values")
        sealed = _DIGEST in self.members
        try:
            written = text.decode("utf-8", "surrogatepass")
            manifest = json.loads(written, parse_constant=_refuse, object_pairs_hook=_once)
        except RecursionError:
            raise _damaged(self.path, "its values are nested too deep") from None
        if not isinstance(manifest, dict) or manifest.get("format") != form:
            raise _foreign(self.path)
        found, writer = manifest.get("version"), manifest.get("writer", "")
        if not isinstance(writer, str) or not re.fullmatch(r"[\w.+!-]{0,40}", writer):
            writer = ""
        if type(found) is not int or found < 1:
            raise _foreign(self.path, ": it does not say the version of its layout")
        if found > version:
            raise FileError(
                f"{self.path} was written by a newer spcastat{f' ({writer})' if writer else ''}, in layout "
                f"{found}; this one reads up to {version}: upgrade spcastat to read it."
            )
        if not sealed or self._part(_DIGEST, 64) != hashlib.sha256(text).hexdigest().encode():
            raise _damaged(self.path, "its contents do not agree with their digest")
        content, described = manifest.get("content"), manifest.get("arrays")
        if not isinstance(content, dict) or not isinstance(described, dict):
            raise _damaged(self.path, "there is no content in it")
        wanted = {_MANIFEST, _DIGEST, *(f"{_ARRAYS}{name}.npy" for name in described)}
        if wanted != set(self.members):
            odd = sorted(wanted ^ set(self.members))[0]
            raise _damaged(self.path, f"its contents and its members disagree about {odd[:60]!r}")
        arrays = {name: self._array(name, about) for name, about in described.items()}
        return Archive(found, writer, content, arrays)

    def _measured(self) -> dict[str, zipfile.ZipInfo]:
        """Return the members by name, after a check of their names and of their total size."""
        every = self.archive.infolist()
        members = {one.filename: one for one in every}
        if len(members) != len(every):
            raise _damaged(self.path, "a member stands in it twice")
        if _MANIFEST not in members:
            raise _foreign(self.path, f": there is no {_MANIFEST} in it")
        total = sum(one.file_size for one in every)
        if not _plausible(self.size, total, 0):
            raise self._too_large(f"{total} bytes")
        return members

    def _too_large(self, what: str) -> FileError:
        return FileError(
            f"{self.path} cannot be read: it holds {what} in a file of {self.size} bytes, more than any fit "
            "that spcastat saves."
        )

    def _part(self, name: str, size: int) -> bytearray:
        """Return the bytes of a member, which must be exactly `size`."""
        part = bytearray()
        with self.archive.open(self.members[name]) as member:
            # members are read in chunks of one MB
            while piece := member.read(min(1 << 20, size + 1 - len(part))):
                part += piece
                if len(part) > size:
                    break
        if len(part) != size:
            raise _damaged(self.path, f"{name} has not the size that it should have")
        return part

    def _array(self, name: str, about: Any) -> np.ndarray:
        """Return an array after checking its digest, type and size."""
        if not _NAME.fullmatch(name) or not isinstance(about, dict):
            raise _damaged(self.path, f"it has an array {name[:40]!r}")
        member = f"{_ARRAYS}{name}.npy"
        part = self._part(member, self.members[member].file_size)
        if hashlib.sha256(part).hexdigest() != about.get("sha256"):
            raise _damaged(self.path, f"array {name} does not agree with its digest")
        head: Any = io.BytesIO(bytes(part[: (1 << 16) + 10]))  # the longest header: 16 bits for its length
        if np.lib.format.read_magic(head) != (1, 0):
            raise _damaged(self.path, f"array {name} has a header of another version")
        shape, in_columns, dtype = np.lib.format.read_array_header_1_0(head)
        if not DTYPES.fullmatch(dtype.str) or head.tell() + math.prod(shape) * dtype.itemsize != len(part):
            raise _damaged(self.path, f"array {name} has another type, or not the size of its shape")
        values = np.frombuffer(part, dtype, offset=head.tell())
        return values.reshape(shape, order="F" if in_columns else "C")


def _values_in(text: bytes | bytearray) -> int:
    """Return an upper bound on the number of values in a JSON text."""
    return text.count(b",") + text.count(b"[") + text.count(b"{") + 1


def _refuse(constant: str) -> float:
    raise ValueError(f"it holds {constant}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) != len(pairs):
        raise ValueError("a name stands twice in its manifest")
    return held


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
