"""The bytes of a table, from a file or from standard input, unpacked, and the text in them."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from spcastat.cli.printing import note
from spcastat.cli.writing import STDIN
from spcastat.errors import FileError, OptionError

#: The bytes that files of other kinds start with; a control character among the first is needed, too.
_KINDS = {
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a zip file, as saved fits and Excel workbooks are",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word document",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x93NUMPY": "a NumPy array",
    b"SQLite format 3": "a SQLite database",
    b"\x1f\x8b": "packed by gzip",
    b"BZh": "packed by bzip2",
    b"\xfd7zXZ": "packed by xz",
    b"\x28\xb5\x2f\xfd": "packed by Zstandard",
    b"\x7fELF": "a program",
}
_PACKINGS = {
    "packed by gzip": ".gz",
    "packed by bzip2": ".bz2",
    "packed by xz": ".xz",
    "packed by Zstandard": ".zst",
}
_CONTROLS = {*range(0x09), *range(0x0E, 0x1B), *range(0x1C, 0x20)}
#: Byte-order marks, the longer before those that they start with, and what Python calls the encoding.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def _open_zst(path: Path) -> Any:
    try:
        import zstandard
    except ImportError:
        raise FileError(
            f"{path} is packed by Zstandard, which needs zstandard: pip install zstandard, or unpack it."
        ) from None
    return io.BufferedReader(zstandard.open(path, "rb"))


#: How a file is opened, by the last ending of its name.
PACKED: dict[str, Callable[[Path], Any]] = {
    ".gz": partial(gzip.open, mode="rb"),
    ".bz2": partial(bz2.open, mode="rb"),
    ".xz": partial(lzma.open, mode="rb"),
    ".zst": _open_zst,
}


class TextSource:
    """The text of a table, which can be read from its start as often as asked for.

    Parameters
    ----------
    path : str
        A file, which is unpacked if its name ends in .gz, .bz2, .xz or .zst; or "-" for standard input,
        which is read to its end and kept.
    encoding : str, optional
        As Python calls it; by default UTF-8, or what a byte-order mark says.

    Raises
    ------
    FileError
        For what cannot be read or is not text.
    OptionError
        For an encoding that is not known, or that is not that of the byte-order mark.
    """

    def __init__(self, path: str, encoding: str | None = None):
        self.name = "standard input" if path == STDIN else path
        self._path = Path(path)
        self._kept = _standard_input() if path == STDIN else None
        self.encoding = self._encoding(encoding)
        self._asked = encoding is not None

    def _bytes(self) -> Any:
        if self._kept is not None:
            return io.BytesIO(self._kept)
        opened = PACKED.get(self._path.suffix.lower())
        return opened(self._path) if opened else open(self._path, "rb")

    def _encoding(self, given: str | None) -> str:
        with self._bytes() as file:
            start = file.read(64)
        mark = next((mark for mark in _MARKS if start.startswith(mark)), None)
        if mark is None:
            _refuse_other_kinds(self.name, start)
            return "utf-8" if given is None else _known(given)
        marked = _MARKS[mark]
        family = marked.removesuffix("-sig")
        if given is not None:
            if not codecs.lookup(_known(given)).name.startswith(family):
                raise OptionError(
                    f"--encoding {given} was given, and {self.name} starts with the mark of "
                    f"{family.upper()}; leave --encoding out."
                )
        elif family != "utf-8":
            note(f"{self.name} is read as {family.upper()}, as its first bytes say.")
        return marked

    @contextmanager
    def text(self) -> Iterator[TextIO]:
        """Open the text, its line ends as they are; what is not text in the encoding is told by its line."""
        with self._bytes() as file:
            lines = io.TextIOWrapper(file, encoding=self.encoding, newline="")
            try:
                yield lines
            except UnicodeError as error:
                raise FileError(self._no_text()) from error
            finally:
                lines.detach()

    def _no_text(self) -> str:
        name = self.encoding.removesuffix("-sig")
        where = ""
        if not name.startswith(("utf-16", "utf-32")):  # lines end in the byte of "\n" in all the others
            with self._bytes() as file:
                for number, line in enumerate(file, start=1):
                    try:
                        line.decode(name)
                    except UnicodeDecodeError as error:
                        where = f" (line {number} has the byte 0x{line[error.start]:02X})"
                        break
                    except UnicodeError:
                        break
        advice = (
            "give another --encoding."
            if self._asked
            else "say how it is written, e.g. --encoding cp1252 or latin-1 (Western Europe), cp1250 (Central "
            "Europe), cp1251 (Cyrillic), utf-16."
        )
        return f"{self.name} cannot be read: it is not text in {name.upper()}{where}; {advice}"


def _standard_input() -> bytes:
    """Return all of standard input."""
    if sys.stdin is None or sys.stdin.closed:
        raise FileError("standard input is closed; give a file, or send one: spcastat ... - < FILE.")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise FileError(f"standard input cannot be read: {error.strerror or error}.") from error


def _refuse_other_kinds(name: str, start: bytes) -> None:
    """Raise FileError for bytes that a table of text does not start with."""
    kind = next((kind for mark, kind in _KINDS.items() if start.startswith(mark)), None)
    if kind is None or not _CONTROLS.intersection(start):
        return
    advice = "tables of text are read here."
    if kind in _PACKINGS:
        advice = (
            f"unpack it first, or give a file whose name ends in {_PACKINGS[kind]}."
            if name == "standard input"
            else f"let its name end in {_PACKINGS[kind]}, or unpack it first."
        )
    raise FileError(f"{name} cannot be read: it is {kind}; {advice}")


def _known(encoding: str) -> str:
    """Return an encoding of text that Python knows, or raise OptionError."""
    try:
        found = codecs.lookup(encoding)
        "".encode(encoding)  # refuses encodings that are not of text, such as "hex"
    except (LookupError, ValueError, UnicodeError):
        found = None
    if found is None or found.name in ("idna", "punycode", "undefined", "unicode_escape", "unicode-escape"):
        raise OptionError(
            f"--encoding {encoding!r} is not known; it takes a name such as utf-8, latin-1, cp1252 or utf-16."
        )
    return encoding


