"""Tables in files: text, SPSS and Stata.

Every line of a text file is checked once, then pandas reads the table. Values with labels in files of SPSS
(.sav, .zsav) and Stata (.dta) become ordered categories.

Separator, decimal mark and encoding are options. If the first line of a file contains another separator, the
error names the options that read the file.
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
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from spcastat.arguments import listed, plural, shown
from spcastat.errors import ColumnTypeError, DuplicateNamesError, FileError, OptionError, SpcaError

# --- files ----------------------------------------------------------------------------------------


#: Byte-order marks and their encodings; a mark precedes any mark that is a prefix of it.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: Control characters that do not occur at the start of text. NUL is not among them, since UTF-16 text has it.
_CONTROL_CHARACTERS = {*range(0x01, 0x09), *range(0x0E, 0x1B), *range(0x1C, 0x20)}


def _open_zst(path: Path, mode: str) -> Any:
    try:
        import zstandard
    except ImportError:
        raise FileError(
            f"{path} is compressed with Zstandard; install the package zstandard (pip install zstandard), "
            "or decompress the file."
        ) from None
    return io.BufferedReader(zstandard.open(path, mode))


#: Last suffix of a compressed file -> function that opens it.
PACKED: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zst,
}
#: Suffix -> usual separator.
_USUAL_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


def usual_separator(path: str | os.PathLike[str]) -> str | None:
    """Return the usual separator for a file's suffix, compressed or not; None if it is not a text table."""
    endings = [ending.lower() for ending in Path(path).suffixes]
    if endings and endings[-1] in PACKED:
        endings.pop()
    return _USUAL_SEPARATORS.get(endings[-1]) if endings else None


def holds_at_most(path: str | os.PathLike[str], limit: int) -> bool:
    """Return whether a file has at most `limit` bytes; a compressed file, after decompression.

    The file is decompressed block by block, up to the limit. For a damaged file, the readable bytes count.
    """
    opener, size = PACKED.get(Path(path).suffix.lower(), Path.open), 0
    if opener is Path.open or os.path.getsize(path) > limit:
        return os.path.getsize(path) <= limit
    with suppress(Exception), opener(Path(path), "rb") as file:  # reported when the table is read
        while size <= limit and (block := file.read(2**20)):
            size += len(block)
    return size <= limit


# --- options --------------------------------------------------------------------------------------


#: Separators with a name.
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
#: Strings read as missing.
MISSING_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None")


@dataclass(frozen=True)
class TextOptions:
    """The format of a table in text.

    Attributes
    ----------
    sep : str
    decimal : {".", ","}
    encoding : str or None
        Python's name of the encoding; None for the encoding of the byte-order mark, or UTF-8 without one.
    header : bool or None
        Whether the first line contains the column names. None also refuses names that are all numbers.
    na_values : sequence of str
        Strings read as missing, in addition to MISSING_TEXTS.
    skip_rows : int
        Number of lines before the table.
    """

    sep: str = ","
    decimal: str = "."
    encoding: str | None = None
    header: bool | None = None
    na_values: Sequence[str] = ()
    skip_rows: int = 0


#: Options with another name in pandas.read_csv.
_IN_PANDAS = {"skip_rows": "skiprows"}


def in_python(**options: Any) -> str:
    """Return reading options as Python code for messages; the command has its own function for this."""
    if "header" in options:
        options["header"] = 0 if options["header"] else None
    arguments = ", ".join(f"{_IN_PANDAS.get(name, name)}={value!r}" for name, value in options.items())
    return f"pd.read_csv(path, {arguments})"


# --- tables ---------------------------------------------------------------------------------------


_NUMBER_TEXT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE_NUMBER = re.compile(r"([+-]?\d+)(?:[.,]0*)?", re.ASCII)
#: The smallest whole number that float64 would round.
_SHORTEST = str(2**53 + 1)


class TextTable:
    """A table in a text file. Every line is checked when the file is opened.

    A first column without a name contains the row labels, as pandas and R write them. Labels are text, so
    that 007 stays 007. Empty lines are skipped.

    Parameters
    ----------
    path : str
        A file whose name ends in .gz, .bz2, .xz or .zst is decompressed.
    options : TextOptions
    labels : str, optional
        The column of row labels.
    say : callable
        Returns the text for options in messages; see :func:`in_python`.
    content : bytes, optional
        Bytes to read instead of the file; `path` is then their name in messages.

    Attributes
    ----------
    columns : list of str
        Includes the empty name of a first column of labels.
    rows : int

    Raises
    ------
    FileError
        If the file is not such a table; the message names the line, and options that may help.
    OptionError
        If the encoding is unknown or contradicts the byte-order mark, or if the column names are numbers.
    DuplicateNamesError
        For two columns with one name.
    """

    def __init__(
        self,
        path: str,
        options: TextOptions,
        *,
        labels: str | None = None,
        say: Callable[..., str] = in_python,
        content: bytes | None = None,
    ):
        self.name, self._path, self._content = path, Path(path), content
        self._options, self._say = options, say
        self._encoding = self._find_encoding()
        self._rounded: set[str] = set()  # columns of whole numbers that float64 would round
        self.columns, self.rows = self._header_and_count()
        self._labels = "" if self.columns[0] == "" else labels if labels in self.columns else None

    def read(self) -> pd.DataFrame:
        """Return the whole table."""
        (data,) = self._walk({"low_memory": False})
        return data

    def chunks(self, size: int, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """Yield `size` rows at a time, of all or of some `columns`."""
        settings: dict[str, Any] = {"chunksize": size}
        if columns is not None:
            settings["usecols"] = [
                column for column in self.columns if column in columns or column == self._labels
            ]
        return self._walk(settings)

    def _walk(self, settings: dict[str, Any]) -> Iterator[pd.DataFrame]:
        self._require_header()
        options = self._options
        settings |= {
            "sep": options.sep,
            "decimal": options.decimal,
            "names": self.columns,
            "index_col": False,
        }
        settings |= {"header": None if options.header is False else 0, "keep_default_na": False}
        # labels are text, so that 007 and NA are not converted
        missing = [*MISSING_TEXTS, *options.na_values]
        settings["na_values"] = {name: missing for name in self.columns if name != self._labels}
        # pandas rounds such numbers to floats if the column has missing values; as text they raise an error
        as_text = self._rounded | ({self._labels} if self._labels is not None else set())
        settings["dtype"] = {name: str for name in as_text if name in settings.get("usecols", self.columns)}
        read = 0
        with self._text() as text:
            chunk = pd.read_csv(text, **settings)
            for frame in [chunk] if isinstance(chunk, pd.DataFrame) else chunk:
                read += len(frame)
                frame = frame.reset_index(drop=True)
                if self._labels is not None:
                    frame[self._labels] = frame[self._labels].str.strip()
                yield frame.set_index("").rename_axis(None) if self._labels == "" else frame
        if read != self.rows:
            raise FileError(
                f"{self.name} cannot be read reliably: {self.rows} lines were counted and {read} read; "
                "fields may consist of spaces only, or contain quotation marks."
            )

    # --- every line, once ---

    def _header_and_count(self) -> tuple[list[str], int]:
        """Check every line; return the names of the columns and the number of rows."""
        names: list[str] = []
        rows, empty = 0, 0
        for line, record in self._records():
            if _is_blank(record):
                empty = empty or line
                continue
            if not names:
                names, empty = self._names(record), 0
                if self._options.header is not False:
                    continue
            if len(record) != len(names):
                raise self._ragged(line, record, names)
            if len(names) == 1 and empty:
                raise FileError(
                    f"{self.name} cannot be read: line {empty} is empty, which in a single column may be a "
                    "missing value; write NA there, or delete the line."
                )
            rows += 1
            if len(max(record, key=len)) >= len(_SHORTEST):
                fields = zip(names, record, strict=True)
                self._rounded.update(name for name, cell in fields if _is_rounded(cell))
        if not names:
            raise FileError(f"{self.name} cannot be read: it is empty.")
        separator = self._other_separator() if len(names) == 1 else ""
        if separator:
            raise FileError(
                f"{self.name} has one column with the separator {self._options.sep!r}; give {separator}."
            )
        return names, rows

    def _names(self, first_row: Sequence[str]) -> list[str]:
        """Return the names of the columns, including the empty name of a first column of row labels."""
        if self._options.header is False:
            return [f"x{j}" for j in range(1, len(first_row) + 1)]
        names = column_names(self.name, first_row, self._say)
        if self._options.header is None and _are_numbers(names, self._options.decimal):
            raise OptionError(
                f"the first line of {self.name} contains numbers, {listed(names[1:] or names, 3)}, where the "
                f"names of the columns are expected: give {self._say(header=False)} if these are values (the "
                f"columns are then called x1, x2, ...), {self._say(header=True)} if they are names."
            )
        return names

    def _ragged(self, line: int, record: Sequence[str], names: Sequence[str]) -> FileError:
        """Return the error for a line whose number of fields differs from the first line."""
        verb = "has" if self._options.header is False else "names"
        separator = self._other_separator()
        if separator:
            hint = f"give {separator}"
        elif len(record) == len(names) + 1 and verb == "names":
            hint = "if its first field is the row label, give that column a name in the first line"
        elif len(names) == 1:
            skip = self._options.skip_rows + line - 1
            hint = f"if that line contains the column names, give {self._say(skip_rows=skip)}"
        else:
            hint = (
                "put text that contains the separator into quotation marks, or give another separator, such "
                f"as {self._say(sep=';')}"
            )
        return FileError(
            f"{self.name} cannot be read: line {line} has {plural(len(record), 'field')}, and the first line "
            f"{verb} {plural(len(names), 'column')}, separated by {self._options.sep!r}; {hint}."
        )

    def _other_separator(self) -> str:
        """Return, as text, options with another separator found in the first line; "" if there is none."""
        with self._text() as text:
            header, *rows = islice(text, 50)
        separator = next(
            (mark for mark in (";", "\t", "|") if mark in header and mark != self._options.sep), None
        )
        if separator is None:
            return ""
        commas = self._options.decimal == "." and any(re.search(r"\d,\d", row) for row in rows)
        return self._say(sep=separator, decimal=",") if commas else self._say(sep=separator)

    def _require_header(self) -> None:
        """Raise FileError if the names of the columns have changed since the file was opened."""
        if self._options.header is False:
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
        """Yield records with the numbers of their last lines; refuse those that pandas reads differently."""
        skipped, start = self._options.skip_rows, self._options.skip_rows + 1
        with self._text() as text:
            reader = csv.reader(text, delimiter=self._options.sep, strict=True)
            try:
                for record in reader:
                    if any("\0" in cell for cell in record):
                        raise FileError(
                            f"{self.name} cannot be read: line {start} contains NUL characters. If it is "
                            f"UTF-16 without its mark, give {self._say(encoding='utf-16-le')} or utf-16-be."
                        )
                    yield skipped + reader.line_num, record
                    start = skipped + reader.line_num + 1
            except csv.Error as error:
                reason = str(error)
                if "unexpected end" in reason or "field limit" in reason:  # limit on the length of a field
                    reason = f"a quotation mark that is opened in the record at line {start} is never closed"
                separator = self._other_separator()
                raise FileError(
                    f"{self.name} cannot be read: line {skipped + reader.line_num}: {reason}"
                    f"{f'; give {separator}' if separator else ''}."
                ) from error

    # --- the text ---

    def _find_encoding(self) -> str:
        """Return the given encoding or the one of the byte-order mark; refuse files that are not text."""
        encoding = self._options.encoding
        try:
            with self._bytes() as file:
                start = file.read(64)
        except SpcaError:
            raise
        except Exception as error:
            raise self._unreadable(error) from error
        mark = next((_MARKS[mark] for mark in _MARKS if start.startswith(mark)), None)
        if mark is None and _CONTROL_CHARACTERS.intersection(start):
            raise FileError(
                f"{self.name} cannot be read: it is not a table of text, it starts with the bytes "
                f"{start[:8]!r}. The name of a compressed table must end in {', '.join(PACKED)}."
            )
        if encoding is None:
            return mark or "utf-8"
        try:
            "".encode(encoding)  # also raises an error for codecs such as "hex" that do not encode text
        except (LookupError, ValueError):
            raise OptionError(
                f"{self._say(encoding=encoding)}: this encoding is not known; it accepts a name such as "
                "utf-8, latin-1, cp1252 or utf-16."
            ) from None
        if mark and not codecs.lookup(encoding).name.startswith(mark.removesuffix("-sig")):
            raise OptionError(
                f"{self._say(encoding=encoding)} was given, and {self.name} starts with the byte-order mark "
                f"of {mark.removesuffix('-sig').upper()}; leave it out."
            )
        return mark or encoding

    @contextmanager
    def _text(self) -> Iterator[TextIO]:
        """Open the text after the lines to skip, without converting line ends.

        Raises
        ------
        FileError
            At the end of the ``with`` block, if the text could not be read.
        """
        with self._bytes() as file:
            text = io.TextIOWrapper(file, encoding=self._encoding, newline="")
            try:
                for _ in range(self._options.skip_rows):
                    if not text.readline():  # the text has fewer lines
                        break
                yield text
            except UnicodeError as error:
                raise self._undecodable() from error
            except (SpcaError, MemoryError):
                raise
            except Exception as error:  # pandas and the decompressing modules raise errors of many types
                raise self._unreadable(error) from error
            finally:
                text.detach()

    def _bytes(self) -> Any:
        if self._content is not None:
            return io.BytesIO(self._content)
        return PACKED.get(self._path.suffix.lower(), Path.open)(self._path, "rb")

    def _unreadable(self, error: Exception) -> FileError:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        return FileError(f"{self.name} cannot be read: {reason}.")

    def _undecodable(self) -> FileError:
        name, place = self._encoding.removesuffix("-sig"), ""
        with self._bytes() as file:
            # in UTF-16 and UTF-32 lines do not end in the byte of "\n"
            lines = [] if name.startswith(("utf-16", "utf-32")) else file
            for number, line in enumerate(lines, start=1):
                try:
                    line.decode(name)
                except UnicodeDecodeError as error:
                    place = f" (line {number} has the byte 0x{line[error.start]:02X})"
                    break
        return FileError(
            f"{self.name} cannot be read: it is not text in {name.upper()}{place}. Give its encoding: "
            f"{self._say(encoding='cp1252')} or latin-1 (Western Europe), cp1250 (Central Europe), "
            "cp1251 (Cyrillic), utf-16."
        )


# --- parts of a check -----------------------------------------------------------------------------


def may_be_matrix(path: str | os.PathLike[str]) -> bool:
    """Whether a text table may be a square matrix: it has as many rows as columns, or one row fewer."""
    opener = PACKED.get(Path(path).suffix.lower(), Path.open)
    try:
        with opener(Path(path), "rb") as file:
            text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
            records = csv.reader(text, delimiter=usual_separator(path) or ",")
            width = len(next(records, []))
            rows = sum(1 for record in islice(records, width + 1) if record)
            text.detach()
    except Exception:  # reported when the table is read
        return False
    return rows > 1 and rows in (width, width - 1)  # with row labels there is one column more


def column_names(name: str, first_row: Sequence[str], say: Callable[..., str]) -> list[str]:
    """Return the names in the first line of a table called `name` in messages.

    Raises
    ------
    FileError
        For a column without a name, except the first one, which then contains the row labels.
    DuplicateNamesError
        For two columns with one name.
    """
    names = [cell.strip() for cell in first_row]
    unnamed = [str(j + 1) for j, cell in enumerate(names) if not cell and (j or len(names) == 1)]
    if unnamed:
        columns_text = (
            f"column {unnamed[0]} has" if len(unnamed) == 1 else f"columns {', '.join(unnamed[:5])} have"
        )
        raise FileError(
            f"{name} cannot be read: {columns_text} no name in the first line (only a first column may have "
            "none: the labels of the rows). Check for separators at the ends of the lines."
        )
    twice = [label for label, times in Counter(names).items() if times > 1]
    if twice:
        raise DuplicateNamesError(
            f"{name} has more than one column named {listed(twice)}; every column needs a name of its own "
            f"({say(header=False)} if the first line contains values)."
        )
    return names


def _are_numbers(names: Sequence[str], decimal: str) -> bool:
    """Whether names are numbers; 0, 1, ... or 1, 2, ... after an empty first field count as names."""
    is_number = [_NUMBER_TEXT.fullmatch(name.replace(decimal, ".")) is not None for name in names]
    data_names = names if len(names) == 1 or is_number[0] else names[1:]
    counted = [str(j) for j in range(len(data_names) + 1)]
    # as pandas and R write them
    are_counted = not names[0] and list(data_names) in (counted[:-1], counted[1:])
    return all(is_number[-len(data_names) :]) and not are_counted


def _is_rounded(cell: str) -> bool:
    """Whether a field is a whole number that float64 would round."""
    if len(cell) < len(_SHORTEST) or not (match := _WHOLE_NUMBER.fullmatch(cell.strip())):
        return False
    if len(match[1]) > 308:  # infinite as a float
        return False
    return int(float(match[1])) != int(match[1])


def _is_blank(record: Sequence[str]) -> bool:
    """Whether a line contains only spaces; a pair of quotation marks is a field."""
    return not record or (len(record) == 1 and bool(record[0]) and not record[0].strip(" \t"))


#: The attribute of frames in which `pandas.read_spss` stores value labels, column -> number -> label.
VALUE_LABELS = "variable_value_labels"
#: Suffixes of SPSS files, and of Stata files.
SPSS, STATA = (".sav", ".zsav"), (".dta",)
#: Column -> number -> label.
Labels = Mapping[str, Mapping[Any, str]]


def is_labelled_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path has the suffix of a file of SPSS or Stata."""
    return Path(path).suffix.lower() in (*SPSS, *STATA)


def read_labelled(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the rows of a file of SPSS or Stata; see :func:`with_labels`.

    Raises
    ------
    FileError, OptionError
        As :func:`read_codes`.
    ColumnTypeError
        As :func:`with_labels`.
    """
    frame, labels = read_codes(path)
    reader = "read_stata" if Path(path).suffix.lower() in STATA else "read_spss"
    rows = with_labels(frame, labels, path, f"pd.{reader}(path, convert_categoricals=False)")
    if labels:
        rows.attrs[VALUE_LABELS] = {name: dict(of_column) for name, of_column in labels.items()}
    return rows


def read_codes(path: str | os.PathLike[str]) -> tuple[pd.DataFrame, Labels]:
    """Return the rows of a file of SPSS or Stata with numbers in place of labels, and the labels.

    Values that the file declares missing are NaN, and so are empty strings.

    Raises
    ------
    FileError
        If the file is empty, damaged, or of another kind.
    OptionError
        If pyreadstat is not installed, which files of SPSS need.
    """
    read = _read_stata if Path(path).suffix.lower() in STATA else _read_spss
    try:
        frame, labels = read(path)
    except (OptionError, MemoryError):
        raise
    except Exception as error:  # the readers raise errors of many types
        kind = "Stata" if read is _read_stata else "SPSS"
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        is_empty = os.path.isfile(path) and os.path.getsize(path) == 0
        about = "it is empty" if is_empty else f"is it a complete file of {kind}? ({reason[:200]})"
        raise FileError(f"{path} cannot be read: {about}.") from error
    if frame.empty:
        raise FileError(f"{path} cannot be read: it has {len(frame.columns)} columns and no rows.")
    text = [name for name in frame.columns if frame[name].dtype.kind not in "biufcM"]
    frame[text] = frame[text].replace("", None)
    return frame, labels


def _read_spss(path: str | os.PathLike[str]) -> tuple[pd.DataFrame, Labels]:
    try:
        import pyreadstat
    except ImportError:
        raise OptionError(
            f"{path} is from SPSS, which needs pyreadstat: pip install 'spcastat[spss]'; or save it as CSV."
        ) from None
    frame, about = pyreadstat.read_sav(os.fspath(path))
    return frame, about.variable_value_labels


def _read_stata(path: str | os.PathLike[str]) -> tuple[pd.DataFrame, Labels]:
    frame = pd.read_stata(path, convert_categoricals=False)
    labelled = pd.read_stata(path)
    labels: dict[str, dict[Any, str]] = {}
    for name in labelled.columns:
        if isinstance(labelled[name].dtype, pd.CategoricalDtype):  # values without a label stay numbers
            pairs = zip(frame[name], labelled[name].astype(object), strict=True)
            labels[name] = {value: text for value, text in pairs if isinstance(text, str)}
    return frame, labels


def with_labels(
    frame: pd.DataFrame, labels: Labels, path: str | os.PathLike[str], otherwise: str
) -> pd.DataFrame:
    """Return a frame whose columns with labels are ordered categories, in the order of their numbers.

    Labels that do not occur are left out. A column stays numeric if none of its values has a label, such as
    an age with labels only for codes of missing values.

    Parameters
    ----------
    frame : DataFrame
    labels : mapping
        The labels of some columns; columns that are not in `frame` are ignored.
    path : str or path
    otherwise : str
        The option that reads all values as numbers, for messages.

    Raises
    ------
    ColumnTypeError
        If some values of a column have labels and others have none, or two values have the same label.
    """
    frame = frame.copy(deep=False)
    for name in frame.columns:
        if not labels.get(name):
            continue
        values = sorted(frame[name].dropna().unique())
        bare = [value for value in values if value not in labels[name]]
        if len(bare) == len(values):
            continue
        if bare:
            codes = listed(
                [int(code) if isinstance(code, float) and code.is_integer() else code for code in bare]
            )
            raise ColumnTypeError(
                f"In {path}, some values of {shown(name)} have labels, but {codes} have none: label all "
                f"values or none, declare these missing, or read numbers in place of labels with {otherwise}."
            )
        texts = [labels[name][value] for value in values]
        twice = sorted({text for text in texts if texts.count(text) > 1})
        if twice:
            raise ColumnTypeError(
                f"In {path}, several values of {shown(name)} have the label {shown(twice[0])}: give each "
                f"another label, or read numbers in place of labels with {otherwise}."
            )
        labelled = frame[name].map(labels[name])
        frame[name] = labelled.astype(pd.CategoricalDtype(texts, ordered=True))
    return frame
