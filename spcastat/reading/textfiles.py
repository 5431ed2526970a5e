"""CSV and similar files: encoding, number format, and checks of every line before pandas reads it.

Separator and decimal mark are determined from the first lines if they are not given. If these are ambiguous,
an error is raised.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import os
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from spcastat.config import listed, plural
from spcastat.errors import DuplicateNamesError, FileError, OptionError, SpcaError

# --- encoding and compression ---------------------------------------------------------------------


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
        See :func:`spcastat.reading.textfiles.in_python`.
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


# --- separators, decimal marks and lines ----------------------------------------------------------


#: The attribute of a frame with the paths of the files that it was read from.
FILES = "spcastat files"
#: Separators that are recognised, and their names.
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
#: Fields that stand for missing values.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None")

_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"([+-]?\d+)(?:[.,]0*)?", re.ASCII)
#: The smallest whole number that float64 would round.
_SHORTEST = str(2**53 + 1)
#: Mark -> patterns of numbers in which it is the decimal mark, and in which it may separate thousands.
_WITH_MARK = {
    mark: (
        re.compile(rf"[+-]?\d*\{mark}\d+([eE][+-]?\d+)?", re.ASCII),
        re.compile(rf"[+-]?[1-9]\d{{0,2}}(\{mark}\d{{3}})+", re.ASCII),
    )
    for mark in ".,"
}


def in_python(option: str, value: Any) -> str:
    """Return an option of reading as Python code for messages, as in a call of pandas.

    `option` is "sep", "decimal", "header" or "encoding". The command line has its own function for this.
    """
    given = ("0" if value else "None") if option == "header" else repr(value)
    return f"pd.read_csv(path, {option}={given})"


class TextTable:
    """A table in a text file. Every line is checked when the file is opened.

    A first column without a name holds the row labels, as pandas and R write them. Labels are text, so that
    007 stays 007. Empty lines are skipped.

    Parameters
    ----------
    path : str
    usual : str
        The usual separator for the file's suffix.
    sep, decimal, encoding : str, optional
        Determined from the file by default.
    header : bool, optional
        Whether the first line holds the names of the columns.
    labels : str, optional
        The column of row labels.
    say : callable
        Returns the text for an (option, value) in messages; see :func:`in_python`.
    content : bytes, optional
        Bytes to read instead of a file.

    Attributes
    ----------
    columns : list of str
        Includes the empty name of a first column of labels.
    rows : int
    found : list of (str, str)
        Options that were not given, with the unusual values that were found in the file.

    Raises
    ------
    FileError
        If the file is not such a table; the message names the line.
    OptionError
        If the first lines are ambiguous.
    DuplicateNamesError
        For two columns with one name.
    """

    def __init__(
        self,
        path: str,
        usual: str = ",",
        *,
        sep: str | None = None,
        decimal: str | None = None,
        header: bool | None = None,
        encoding: str | None = None,
        labels: str | None = None,
        say: Callable[[str, Any], str] = in_python,
        content: bytes | None = None,
    ):
        self._file = EncodedFile(path, encoding, say, content)
        self.name, self._say = path, say
        self.found = [("encoding", self._file.encoding)] if self._file.marked else []
        with self._file.text() as text:
            # separator and decimal mark are determined from at least 100,000 characters, or the whole file
            sample = [*text.readlines(100_000), *islice(text, 2)]  # the first line alone may be longer
        first = next((line for line in sample if line.strip()), None)
        if first is None:
            raise FileError(f"{path} cannot be read: it is empty.")
        if sep is None:
            sep = separator_in(path, first, sample, usual, say)
            self.found += [("sep", sep)] if sep != usual else []
        try:
            records = [record for record in csv.reader(sample, delimiter=sep) if not _is_blank(record)]
        except csv.Error:  # reported with its line below
            records = []
        if header is None and records:
            require_names(path, records[0], say)
        self._header = header is not False
        if decimal is None:
            decimal = "." if sep == "," else decimal_in(path, records[self._header :], say)
            self.found += [("decimal", decimal)] if decimal != "." else []
        self._sep, self._decimal = sep, decimal
        self._rounded: set[str] = set()  # columns of whole numbers that float64 would round
        self.columns, self.rows = self._checked()
        if not self.columns:
            raise FileError(f"{path} cannot be read: it has no line with a field.")
        named = labels if labels in self.columns else None
        self._labels = "" if self.columns[0] == "" else named

    def read(self) -> pd.DataFrame:
        """Return the whole table."""
        (data,) = self._walk({"low_memory": False})
        return data

    def chunks(self, size: int, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """Yield `size` rows at a time, of all or of some `columns`."""
        how: dict[str, Any] = {"chunksize": size}
        if columns is not None:
            how["usecols"] = [one for one in self.columns if one in columns or one == self._labels]
        return self._walk(how)

    def _walk(self, how: dict[str, Any]) -> Iterator[pd.DataFrame]:
        how |= {"sep": self._sep, "decimal": self._decimal, "names": self.columns, "index_col": False}
        how |= {"header": 0 if self._header else None}
        self._require_header()
        # pandas makes floats of such numbers if others of the column are missing; as text they are refused
        kept = {name: str for name in self._rounded if name in how.get("usecols", self.columns)}
        if kept:
            how["dtype"] = kept
        if self._labels is not None:  # labels are text, so that 007 and NA are not converted
            how |= {"dtype": {**kept, self._labels: str}, "keep_default_na": False}
            how["na_values"] = {name: MISSING for name in self.columns if name != self._labels}
        read = 0
        with self._file.text() as text:
            given = pd.read_csv(text, **how)
            for frame in [given] if isinstance(given, pd.DataFrame) else given:
                read += len(frame)
                frame = frame.reset_index(drop=True)
                if self._labels is not None:
                    frame[self._labels] = frame[self._labels].str.strip()
                yield frame.set_index("").rename_axis(None) if self._labels == "" else frame
        if read != self.rows:
            raise FileError(
                f"{self.name} cannot be read for certain: {self.rows} lines were counted and {read} read; "
                "are there fields of nothing but spaces, or quotation marks within fields?"
            )

    def _checked(self) -> tuple[list[str], int]:
        """Return the names of the columns and the number of rows, after a check of every line."""
        names: list[str] = []
        rows, empty = 0, 0
        for line, record in self._records():
            if _is_blank(record):
                empty = empty or line
                continue
            if not names:
                names, empty = column_names(self.name, record, self._header, self._say), 0
                if self._header:
                    continue
            if len(record) != len(names):
                hint = ""
                if self._header and len(record) == len(names) + 1:
                    hint = " If its first field is the row label, give that column a name in the first line."
                raise FileError(
                    f"{self.name} cannot be read: line {line} has {plural(len(record), 'field')}, and the "
                    f"first line {'names' if self._header else 'has'} {plural(len(names), 'column')}, "
                    f"separated by {self._sep!r}.{hint} Text that holds the separator needs quotation marks; "
                    f"{self._say('sep', ';')} and {self._say('decimal', ',')} give other marks."
                )
            if len(names) == 1 and empty:
                raise FileError(
                    f"{self.name} cannot be read: line {empty} is empty, which in a single column may be a "
                    "missing value; write NA there, or take the line out."
                )
            rows += 1
            if len(max(record, key=len)) >= len(_SHORTEST):
                found = zip(names, record, strict=True)
                self._rounded.update(name for name, cell in found if _is_rounded(cell))
        return names, rows

    def _require_header(self) -> None:
        """Raise FileError if the names of the columns have changed since the file was opened."""
        if not self._header:
            return
        with closing(self._records()) as records:
            record = next((record for _, record in records if not _is_blank(record)), [])
        names = [cell.strip() for cell in record]
        if names != self.columns:
            raise FileError(
                f"{self.name} has changed since it was first read: its columns were {listed(self.columns)}, "
                f"and now are {listed(names)}. Leave files unchanged while a fit is in use, or fit again."
            )

    def _records(self) -> Generator[tuple[int, list[str]], None, None]:
        """Yield every record with the number of its last line; refuse what pandas would read differently."""
        start = 1
        with self._file.text() as text:
            reader = csv.reader(text, delimiter=self._sep, strict=True)
            try:
                for record in reader:
                    if any("\0" in cell for cell in record):
                        raise FileError(
                            f"{self.name} cannot be read: line {start} holds NUL characters. If it is UTF-16 "
                            f"without its mark, give {self._say('encoding', 'utf-16-le')} or utf-16-be."
                        )
                    yield reader.line_num, record
                    start = reader.line_num + 1
            except csv.Error as error:
                reason = str(error)
                if "unexpected end" in reason or "field limit" in reason:  # limit on the length of a field
                    reason = f"a quotation mark that is opened in the record at line {start} is never closed"
                raise FileError(f"{self.name} cannot be read: line {reader.line_num}: {reason}.") from error


def _is_rounded(cell: str) -> bool:
    """Whether a field is a whole number that float64 would round."""
    if len(cell) < len(_SHORTEST) or not (found := _WHOLE.fullmatch(cell.strip())):
        return False
    if len(found[1]) > 308:  # infinite as a float
        return False
    return int(float(found[1])) != int(found[1])


def _is_blank(record: Sequence[str]) -> bool:
    """Whether a line holds only spaces; a pair of quotation marks is a field."""
    return not record or (len(record) == 1 and bool(record[0]) and not record[0].strip(" \t"))


def column_names(name: str, first: Sequence[str], header: bool, say: Callable[[str, Any], str]) -> list[str]:
    """Return the names of the columns, among them the empty name of a first column of row labels.

    Raises
    ------
    FileError
        For any other column without a name.
    DuplicateNamesError
        For two columns with one name.
    """
    if not header:
        return [f"x{j}" for j in range(1, len(first) + 1)]
    names = [cell.strip() for cell in first]
    unnamed = [str(j + 1) for j, cell in enumerate(names) if not cell and (j or len(names) == 1)]
    if unnamed:
        which = f"column {unnamed[0]} has" if len(unnamed) == 1 else f"columns {', '.join(unnamed[:5])} have"
        raise FileError(
            f"{name} cannot be read: {which} no name in the first line (only a first column may have none: "
            "the labels of the rows). Is there a separator too many at the ends of the lines?"
        )
    twice = [one for one, times in Counter(names).items() if times > 1]
    if twice:
        raise DuplicateNamesError(
            f"{name} has more than one column named {listed(twice)}; every column needs a name of its own "
            f"({say('header', False)} if the first line holds values)."
        )
    return names


def separator_in(
    name: str, line: str, sample: Sequence[str], usual: str, say: Callable[[str, Any], str]
) -> str:
    """Determine the separator of a table from its first lines.

    It is `usual`, the usual one for the file's suffix, unless another separator is the only one in the first
    line, or the only one that gives all lines of the sample the same number of fields.

    Raises
    ------
    OptionError
        If the line has several other separators.
    """
    outside = re.sub(r'"[^"]*"', "", line)
    others = [one for one in SEPARATORS if one in outside]
    if usual in others and len(others) > 1:
        even = [one for one in others if _is_even(sample, one)]
        return even[0] if len(even) == 1 else usual
    if usual in others or not others:
        return usual
    if len(others) > 1:
        marks = " and ".join(f"a {SEPARATORS[one]}" for one in others)
        ways = " or ".join(say("sep", one) for one in others)
        raise OptionError(
            f"{name} has {marks} in its first line, and either may separate fields: give {ways}."
        )
    return others[0]


def _is_even(sample: Sequence[str], sep: str) -> bool:
    """Whether all lines that are not empty have the same number of fields."""
    try:
        return len({len(record) for record in csv.reader(sample, delimiter=sep) if any(record)}) == 1
    except csv.Error:
        return False


def decimal_in(name: str, rows: Iterable[Sequence[str]], say: Callable[[str, Any], str]) -> str:
    """Determine the decimal mark from rows whose fields are not separated by commas.

    Raises
    ------
    OptionError
        If all marks may also separate thousands, as in 8.302 or 1,770.
    """
    cells = [cell.strip() for row in rows for cell in row if "," in cell or "." in cell]
    found = {}
    for mark, (decimal, thousands) in _WITH_MARK.items():
        grouped = [cell for cell in cells if thousands.fullmatch(cell)]
        if any(decimal.fullmatch(cell) and not thousands.fullmatch(cell) for cell in cells):
            found[mark] = True
        elif grouped:
            found[mark] = False
            example = listed(dict.fromkeys(grouped), 3)
    if True not in found.values() and found:
        marks = " and ".join({".": "the point", ",": "the comma"}[mark] for mark in found)
        ways = " or ".join(say("decimal", mark) for mark in found)
        raise OptionError(
            f"{name} cannot be read for certain: {marks} in {example} may stand before decimals or between "
            f"thousands. Give {ways} for decimals; otherwise write the numbers without it."
        )
    return "," if found.get(",") and not found.get(".") else "."


def require_names(name: str, first: Sequence[str], say: Callable[[str, Any], str]) -> None:
    """Raise OptionError if the first line of a table holds numbers where names of columns are expected.

    The numbers 0, 1, ... or 1, 2, ... after an empty first field, as pandas and R write them, count as names.
    """
    cells = [cell.strip() for cell in first]
    is_number = [_NUMBER.fullmatch(cell) is not None for cell in cells]
    rest = cells if len(cells) == 1 or is_number[0] else cells[1:]
    counted = [str(j) for j in range(len(rest) + 1)]
    if not all(is_number[-len(rest) :]) or (not cells[0] and rest in (counted[:-1], counted[1:])):
        return
    raise OptionError(
        f"the first line of {name} holds numbers, {listed(rest, 3)}, where the names of the columns are "
        f"expected: give {say('header', False)} if these are values (the columns are then called x1, x2, "
        f"...), {say('header', True)} if they are names."
    )
