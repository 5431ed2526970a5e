"""Decompressed and decoded text of a file, which can be read repeatedly from its start."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from spcastat.errors import FileError, OptionError, SpcaError

#: Byte-order marks and their encodings; a mark precedes any mark that is a prefix of it.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: Control characters that do not occur at the start of text. NUL is not among them, since UTF-16 text has it.
_CONTROLS = {*range(0x01, 0x09), *range(0x0E, 0x1B), *range(0x1C, 0x20)}


def _open_zst(path: Path) -> Any:
    try:
        import zstandard
    except ImportError:
        raise FileError(
            f"{path} is packed by Zstandard, which needs zstandard: pip install zstandard, or unpack it."
        ) from None
    return io.BufferedReader(zstandard.open(path, "rb"))


#: Last suffix of a compressed file -> function that opens it.
PACKED: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zst,
}
#: Suffix -> usual separator.
_ENDINGS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


def usual_separator(path: str | os.PathLike[str]) -> str | None:
    """Return the usual separator for a file's suffix, compressed or not; None if it is not a text table."""
    endings = [ending.lower() for ending in Path(path).suffixes]
    if endings and endings[-1] in PACKED:
        endings.pop()
    return _ENDINGS.get(endings[-1]) if endings else None


def holds_at_most(path: str | os.PathLike[str], most: int) -> bool:
    """Return whether a file has at most `most` bytes, those of a compressed one after decompression.

    It is decompressed block by block, and no further than that. A damaged file counts by what can be read.
    """
    opener = PACKED.get(Path(path).suffix.lower())
    if opener is None:
        return os.path.getsize(path) <= most
    if os.path.getsize(path) > most:
        return False
    size = 0
    try:
        with opener(Path(path)) as file:
            while block := file.read(2**20):
                size += len(block)
                if size > most:
                    return False
    except Exception:  # reported with its reason when the table is read
        return True
    return True


class EncodedFile:
    """The text of a file, or of given bytes.

    Parameters
    ----------
    path : str
        A file whose name ends in .gz, .bz2, .xz or .zst is decompressed.
    encoding : str or None
        Python's name of the encoding; by default that of the byte-order mark, or else UTF-8.
    say : callable
        See :func:`spcastat.textfiles.delimited.in_python`.
    content : bytes, optional
        Bytes to read instead of the file; `path` is then their name in messages.

    Raises
    ------
    FileError
        If the bytes are not text.
    OptionError
        For an unknown encoding, and for one that contradicts the byte-order mark.
    """

    def __init__(
        self, path: str, encoding: str | None, say: Callable[[str, Any], str], content: bytes | None = None
    ):
        self.name = path
        self._path, self._content, self._say = Path(path), content, say
        try:
            with self._bytes() as file:
                start = file.read(64)
        except SpcaError:
            raise
        except Exception as error:
            raise self._unreadable(error) from error
        mark = next((mark for mark in _MARKS if start.startswith(mark)), None)
        self.marked = encoding is None and mark not in (None, codecs.BOM_UTF8)
        if mark is None and _CONTROLS.intersection(start):
            raise FileError(
                f"{path} cannot be read: it is not a table of text, it starts with the bytes {start[:8]!r}. "
                f"A packed table needs a name that ends in {', '.join(PACKED)}."
            )
        self.encoding = _MARKS[mark] if mark else "utf-8" if encoding is None else encoding
        if encoding is not None:
            try:
                "".encode(encoding)  # also raises an error for codecs such as "hex" that do not encode text
            except (LookupError, ValueError):
                raise OptionError(
                    f"{say('encoding', encoding)}: this encoding is not known; it takes a name such as "
                    "utf-8, latin-1, cp1252 or utf-16."
                ) from None
            family = self.encoding.removesuffix("-sig")
            if mark and not codecs.lookup(encoding).name.startswith(family):
                raise OptionError(
                    f"{say('encoding', encoding)} was given, and {path} starts with the byte-order mark of "
                    f"{family.upper()}; leave it out."
                )

    @contextmanager
    def text(self) -> Iterator[TextIO]:
        """Open the text, without converting line ends.

        Raises
        ------
        FileError
            At the end of the ``with`` block, if the text could not be read. The message names the line of
            bytes that cannot be decoded.
        """
        with self._bytes() as file:
            lines = io.TextIOWrapper(file, encoding=self.encoding, newline="")
            try:
                yield lines
            except UnicodeError as error:
                raise self._undecodable() from error
            except (SpcaError, MemoryError):
                raise
            except Exception as error:  # pandas and the decompressing modules raise errors of many types
                raise self._unreadable(error) from error
            finally:
                lines.detach()

    def _bytes(self) -> Any:
        if self._content is not None:
            return io.BytesIO(self._content)
        opener: Callable[[Path], Any] = PACKED.get(self._path.suffix.lower(), lambda path: path.open("rb"))
        return opener(self._path)

    def _unreadable(self, error: Exception) -> FileError:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        return FileError(f"{self.name} cannot be read: {reason}.")

    def _undecodable(self) -> FileError:
        name, where = self.encoding.removesuffix("-sig"), ""
        if not name.startswith(("utf-16", "utf-32")):  # in all other encodings lines end in the byte of "\n"
            with self._bytes() as file:
                for number, line in enumerate(file, start=1):
                    try:
                        line.decode(name)
                    except UnicodeDecodeError as error:
                        where = f" (line {number} has the byte 0x{line[error.start]:02X})"
                        break
        return FileError(
            f"{self.name} cannot be read: it is not text in {name.upper()}{where}. Give its encoding: "
            f"{self._say('encoding', 'cp1252')} or latin-1 (Western Europe), cp1250 (Central Europe), "
            "cp1251 (Cyrillic), utf-16."
        )
