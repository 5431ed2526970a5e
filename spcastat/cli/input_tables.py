"""Reading data files and saved fits for the command, by file extension and with the selected columns."""

from __future__ import annotations

import argparse
import csv
import os
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spcastat.arguments import listed, nearest, one_line
from spcastat.cli.output_files import STDIN, given_of, tell
from spcastat.errors import DuplicateNamesError, FileError, OptionError, SpcaError

if TYPE_CHECKING:
    import pandas as pd

    from spcastat.reading.textfiles import TextOptions, TextTable

DATA = (
    "a table in a .csv, .tsv, .tab (also .gz, .bz2, .xz, .zst), .xlsx, .parquet, .sav (SPSS) or .dta (Stata) "
    "file; - for CSV from standard input"
)
#: Rows of a chunk of a text file.
CHUNK_ROWS = 20_000

_PARQUET = (".parquet", ".pq")
_LABELLED = (".sav", ".zsav", ".dta")
_TABLE_ENDINGS = (".csv", ".tsv", ".tab", ".xlsx", *_PARQUET, *_LABELLED)
_TEXT_OPTIONS = ("sep", "decimal", "encoding", "skip_rows")


#: Bundled data sets, by their names in the command.
BUNDLED = ("pitprops", "harman74", "wine", "judges")


def bundled() -> dict[str, Callable[[], pd.DataFrame]]:
    """Return the loaders of bundled data sets by their names in the command."""
    from spcastat import datasets

    return {name: getattr(datasets, f"load_{name}") for name in BUNDLED}


# --- arguments ----------------------------------------------------------------------------------


def names(text: str) -> list[str]:
    """Read ``a,b,"c, d"`` as three names."""
    try:
        items = [name.strip() for name in next(csv.reader([text], skipinitialspace=True, strict=True), [])]
    except csv.Error as error:
        raise argparse.ArgumentTypeError(
            f'{text!r} was given; it must be a list of names such as A,B,"C, D" ({error})'
        ) from None
    if not items or not all(items):
        raise argparse.ArgumentTypeError(
            f'{text!r} was given, in which a name is empty; it must be a list of names such as A,B,"C, D"'
        )
    return items


def _separator(text: str) -> str:
    """Read a separator of fields: one character, or its name."""
    from spcastat.reading.textfiles import SEPARATORS

    by_name = {name: character for character, name in SEPARATORS.items()}
    character_or_name = {**by_name, "\\t": "\t", "space": " "}.get(text, text)
    if (
        len(character_or_name) != 1
        or not character_or_name.isascii()
        or character_or_name.isalnum()
        or character_or_name in "\"'\r\n\0.+-_"
    ):
        raise argparse.ArgumentTypeError(
            f"{text!r} was given; it accepts one character but no letter, digit, sign, point or quotation "
            f"mark, or one of {', '.join([*by_name, 'space'])}"
        )
    return character_or_name


def _count(text: str) -> int:
    """Read a number of lines."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} was given; it accepts a whole number of at least 0")
    return int(text)


def reading_arguments(parser: argparse.ArgumentParser, columns: bool = True) -> None:
    """Add the arguments for reading a file."""
    files = parser.add_argument_group("reading a file")
    add = files.add_argument
    add("--index-col", metavar="NAME", help="the column of row labels (a first column without a name is one)")
    if columns:
        either = files.add_mutually_exclusive_group()
        either.add_argument("--columns", type=names, metavar="A,B,...", help="use these columns only")
        either.add_argument("--drop", type=names, metavar="A,B,...", help="leave these columns out")
    add("--sep", type=_separator, metavar="CHAR", help="the separator of fields: a character, tab or space")
    add("--decimal", choices=(".", ","), metavar="MARK", help="the decimal mark, . or ,")
    about = "whether the first line contains the names of the columns; otherwise they are x1, x2, ..."
    add("--header", action=argparse.BooleanOptionalAction, help=about)
    add("--encoding", metavar="NAME", help="encoding of the text: utf-8 (default), cp1252, utf-16, ...")
    about = "fields that stand for missing values, in addition to empty ones, NA, NaN, NULL, ...: k.A.,999"
    add("--na-values", type=names, metavar="A,B,...", help=about)
    add("--skip-rows", type=_count, metavar="N", help="lines before the table, which are skipped")
    add("--sheet", metavar="NAME", help="the sheet of a workbook; the first by default")
    about = "numbers in place of the labels of values, in files of SPSS and Stata"
    add("--codes", action="store_true", default=None, help=about)


#: Options for reading a file that are saved with a fit, in the order of the help.
FILE_OPTIONS = ("index_col", *_TEXT_OPTIONS, "header", "na_values", "sheet", "codes")


def as_fitted(args: argparse.Namespace, fit_options: Mapping[str, Any]) -> None:
    """Set reading options that were not given to the values of the fit, if they apply to the new file.

    If the file lacks the fit's column of row labels, its rows are numbered.
    """
    from spcastat.reading.textfiles import usual_separator

    suffix = ".csv" if args.data == STDIN or usual_separator(args.data) else Path(args.data).suffix.lower()
    unused = _unused(suffix)
    args.labels_if_there = args.index_col is None
    for name in FILE_OPTIONS:
        if name in fit_options and name not in unused and getattr(args, name, None) is None:
            setattr(args, name, fit_options[name])


def as_options(**options: Any) -> str:
    """Return reading options as written on the command line: ``--sep semicolon --decimal ,``."""
    from spcastat.reading.textfiles import SEPARATORS

    if "header" in options:
        return "--header" if options["header"] else "--no-header"
    if "sep" in options:
        options["sep"] = SEPARATORS.get(options["sep"], options["sep"])
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in options.items())


# --- tables -------------------------------------------------------------------------------------


def _in_chunks(
    args: argparse.Namespace, walk: Callable[[], Iterator[pd.DataFrame]]
) -> Callable[[], Iterator[pd.DataFrame]]:
    """Return a function that reads the selected columns of a large file in chunks, from the start.

    Its attribute `files` contains the file that must not be overwritten.
    """

    def read() -> Iterator[pd.DataFrame]:
        return (_selected(frame, args) for frame in walk())

    # headers and messages call the data "the function that reads data.csv"
    read.__name__ = f"that reads {one_line(os.path.basename(args.data), 60)}"
    read.files = [os.path.abspath(args.data)]  # type: ignore[attr-defined]
    return read


def load_table(args: argparse.Namespace) -> Any:
    """Return the selected columns of a file, or a bundled data set if there is no file of that name.

    A large file of rows gives a function without arguments that returns an iterator over chunks.
    """
    if args.data == STDIN or os.path.isfile(args.data):
        return _read(args, chunked=_is_large(args))
    data_sets = bundled()
    if args.data not in data_sets:
        raise FileError(
            f"{_no_file(args.data)}, nor a bundled data set of that name "
            f"(bundled: {listed(data_sets)}).{_near_file(args.data, data_sets)}"
        )
    for_files = ("index_col", "columns", "drop", *_TEXT_OPTIONS, "header", "na_values", "sheet", "codes")
    used = [f"--{name.replace('_', '-')}" for name in for_files if getattr(args, name, None) is not None]
    if used:
        raise OptionError(f"{', '.join(used)} can be given for files only; a bundled data set is used whole.")
    return data_sets[args.data]()


def read_new(args: argparse.Namespace) -> pd.DataFrame:
    """Return the data of a file of new rows, with row labels."""
    if args.data != STDIN and not os.path.isfile(args.data):
        raise FileError(f"{_no_file(args.data)}.{_near_file(args.data, ())}")
    return _read(args)


def _is_large(args: argparse.Namespace) -> bool:
    if args.data == STDIN or getattr(args, "in_memory", None) or getattr(args, "covariance", None):
        return False
    from spcastat.inputs.opening import fits_in_memory
    from spcastat.reading.textfiles import usual_separator

    if usual_separator(args.data) is None and Path(args.data).suffix.lower() not in _PARQUET:
        return False  # a workbook, or a file that will be refused
    return not fits_in_memory(args.data)


def _no_file(path: str) -> str:
    if os.path.isdir(path):
        return f"{path!r} is a folder, not a file"
    if os.path.exists(path):
        return f"{path!r} is a device or a pipe, not a file (- reads standard input)"
    return f"there is no file {path!r}"


def _near_file(given: str, bundled: Iterable[str]) -> str:
    """Return a hint with the most similar name of a bundled data set or a file in the same folder."""
    folder, name = os.path.split(given)
    try:
        files = [entry.name for entry in os.scandir(folder or ".") if entry.is_file()]
    except (OSError, ValueError):
        files = []
    return nearest(name, [*bundled, *files])


def _read(args: argparse.Namespace, chunked: bool = False) -> Any:
    """Read a table in the format of its file extension; errors contain the name of the file."""
    from spcastat.reading.textfiles import TextTable, usual_separator

    path = args.data
    separator = "," if path == STDIN else usual_separator(path)
    suffix = ".csv" if separator else Path(path).suffix.lower()
    if suffix not in _TABLE_ENDINGS:
        if is_saved_fit(path):
            raise FileError(
                f"{path} is a saved fit, but data are expected; scores of new rows: spcastat transform FIT "
                "DATA."
            )
        raise FileError(
            f"{path} cannot be read: its name must end in one of {', '.join(_TABLE_ENDINGS)}. Text can be "
            "sent to standard input: spcastat ... - < FILE."
        )
    _refuse_unused(args, path, suffix)
    if separator:
        content = _standard_input() if path == STDIN else None
        name = "standard input" if path == STDIN else path
        options = _text_options(args, separator)
        table = TextTable(name, options, labels=args.index_col, say=as_options, content=content)
        if chunked:
            return _in_chunks(args, lambda: table.chunks(CHUNK_ROWS))
        return _selected(table.read(), args)
    if suffix in _LABELLED:
        return _labelled(args)
    try:
        if suffix in _PARQUET:
            return _parquet(args, chunked)
        table = workbook_table(path, args.sheet, _text_options(args, ","), args.index_col, as_options)
        return _selected(table.read(), args)
    except SpcaError:
        raise
    except Exception as error:  # readers and the decompression below them raise errors of any type
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileError(f"{path} cannot be read: {reason}") from error


def _text_options(args: argparse.Namespace, usual: str) -> TextOptions:
    """Return the options of a text table; `usual` is the separator if none was given."""
    from spcastat.reading.textfiles import TextOptions

    options = given_of(args, (*_TEXT_OPTIONS, "header", "na_values"))
    return TextOptions(**{"sep": usual, **options})


def _standard_input() -> bytes:
    if sys.stdin is None or sys.stdin.closed:
        raise FileError("standard input is closed; give a file, or send one: spcastat ... - < FILE.")
    return sys.stdin.buffer.read()


def _parquet(args: argparse.Namespace, chunked: bool) -> Any:
    """Read the columns that the command needs from a Parquet file."""
    import pandas as pd

    from spcastat.streams.chunks import ArrowSchema, parquet_chunks, require_pyarrow

    require_pyarrow()
    from pyarrow import parquet

    layout = ArrowSchema(parquet.read_schema(args.data))
    columns = needed_columns(args, [name for name in layout.names if name not in layout.labels])
    if not chunked:
        return _selected(pd.read_parquet(args.data, columns=columns), args)
    chunks = parquet_chunks(args.data)
    return _in_chunks(args, lambda: (frame for _, frame in chunks.walk(columns)))


def _labelled(args: argparse.Namespace) -> pd.DataFrame:
    """Read a file of SPSS or Stata; only columns that the command needs must have labels for all values."""
    from spcastat.reading.textfiles import read_codes, with_labels

    frame, labels = read_codes(args.data)
    columns = needed_columns(args, list(frame.columns))
    frame = _selected(frame if columns is None else frame[columns], args)
    return frame if args.codes else with_labels(frame, labels, args.data, "--codes")


def _refuse_unused(args: argparse.Namespace, path: str, suffix: str) -> None:
    """Raise OptionError for options that do not apply to files of this type."""
    for name, kind in _unused(suffix).items():
        if getattr(args, name, None) is not None:
            option = name.replace("_", "-")
            raise OptionError(f"--{option} is for {kind}, which {path} is not; leave it out.")


def _unused(suffix: str) -> dict[str, str]:
    """Return the options that do not apply to a file extension, each with the kind of file it is for."""
    unused = {} if suffix == ".xlsx" else {"sheet": "workbooks"}
    if suffix != ".csv":
        unused |= dict.fromkeys(_TEXT_OPTIONS, "tables of text")
    if suffix in _PARQUET or suffix in _LABELLED:
        unused |= dict.fromkeys(("header", "na_values"), "tables of text")
    if suffix not in _LABELLED:
        unused["codes"] = "files of SPSS and Stata"
    return unused


def is_saved_fit(path: str) -> bool:
    """Return whether a file is a saved fit.

    It must be a zip archive; with the extension of a table, it must also contain a manifest.
    """
    try:
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                return False
        if not path.lower().endswith(_TABLE_ENDINGS):
            return True
        with zipfile.ZipFile(path) as archive:
            return "manifest.json" in archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return False


# --- workbooks -----------------------------------------------------------------------------------


#: The largest unpacked size of a workbook in bytes. Reading this much takes a minute and 2 GB.
MAX_BYTES = 2**29


def workbook_table(
    path: str, sheet: str | None, options: TextOptions, labels: str | None, say: Callable[..., str]
) -> TextTable:
    """Return a sheet of a workbook (.xlsx) as a table of text; formulas give the values Excel stored.

    Empty rows above and below the table, and empty columns, are left out.

    Parameters
    ----------
    path : str
    sheet : str or None
        The name of the sheet; by default the first, with a note on standard error if there are several.
    options, labels, say
        As for :class:`spcastat.reading.textfiles.TextTable`.

    Raises
    ------
    FileError
        If the file cannot be read as a workbook, is empty or too large, or openpyxl is not installed.
    OptionError
        If there is no such sheet.
    """
    import pandas as pd

    from spcastat.reading.textfiles import TextTable

    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise FileError(
            f"{path} is an Excel workbook, which needs openpyxl: pip install openpyxl, or save it as CSV."
        ) from None
    with zipfile.ZipFile(path) as packed:
        size = sum(member.file_size for member in packed.infolist())
    if size > MAX_BYTES:
        raise FileError(
            f"{path} cannot be read: it unpacks to {size:,} bytes; the limit is {MAX_BYTES:,}. "
            "Save it as CSV."
        )
    with pd.ExcelFile(path, engine="openpyxl") as book:
        sheets = book.sheet_names
        sheet_name: Any = sheets[0] if sheet is None else sheet
        if sheet_name not in sheets:
            raise OptionError(
                f"there is no sheet {sheet!r} in {path}; it has {listed(sheets)}.{nearest(sheet, sheets)}"
            )
        if sheet is None and len(sheets) > 1:
            tell(
                "note",
                f"{path} contains the sheets {listed(sheets)}; {sheet_name!r} is read, and --sheet selects "
                "another one.",
            )
        cells = pd.read_excel(book, sheet_name=sheet_name, header=None, dtype=object, na_filter=False)
    text = cells.map(lambda value: "" if pd.isna(value) else str(value).strip())
    filled = text.ne("")
    rows = filled.any(axis=1).to_numpy().nonzero()[0]
    table = text.loc[rows.min() : rows.max(), filled.any()] if len(rows) else text[:0]
    content = table.to_csv(header=False, index=False).encode()
    return TextTable(f"sheet {sheet_name!r} of {path}", options, labels=labels, say=say, content=content)


# --- columns ------------------------------------------------------------------------------------


#: Options that name a column that is not fitted.
_ASIDE = ("weights", "clusters", "strata")


def _selected(data: pd.DataFrame, args: argparse.Namespace) -> pd.DataFrame:
    """Return `data` with row labels and the selected columns."""
    labels = args.index_col
    if getattr(args, "labels_if_there", False) and labels not in data.columns:
        labels = None
    aside = {f"--{name}": getattr(args, name, None) for name in _ASIDE}
    aside = {option: name for option, name in aside.items() if name is not None}
    keep, leave = getattr(args, "columns", None) or [], getattr(args, "drop", None) or []
    markers = {**({} if labels is None else {"--index-col": labels}), **aside}
    _require_columns(data, [*markers.values(), *keep, *leave], args)
    for option, name in markers.items():
        if name in {*keep, *leave}:
            raise OptionError(f"{name!r} was given as {option} and among the columns; give it once.")
    for option, name in aside.items():
        if name == labels:
            raise OptionError(f"{name!r} was given as --index-col and as {option}; give it once.")
    twice = [name for name, times in Counter(keep).items() if times > 1]
    if twice:
        raise DuplicateNamesError(f"--columns names {listed(twice)} more than once.")
    if labels is not None:
        data = data.set_index(labels)
    if keep:
        data = data[[*keep, *dict.fromkeys(aside.values())]]
    return data.drop(columns=leave) if leave else data


def _require_columns(data: pd.DataFrame, names: Iterable[str], args: argparse.Namespace) -> None:
    """Raise OptionError for the first of the names that is not a column."""
    column_names = list(names)
    for name in column_names:
        if name not in data.columns:
            hint = nearest(name, data.columns, used=column_names)
            raise OptionError(
                f"there is no column {name!r} in {args.data}; it has {listed(data.columns)}.{hint}"
            )


def columns_apart(args: argparse.Namespace, colouring: dict[str, str]) -> tuple[Any, dict[str, Any]]:
    """Return the data without the columns used only to mark rows in figures, and these columns.

    Parameters
    ----------
    colouring : dict of str to str
        Option -> name of its column. A column that --columns also names stays in the data. A column that
        --drop names can still mark rows.
    """
    args.drop = args.drop and [name for name in args.drop if name not in colouring.values()]
    selection = list(args.columns or [])
    if selection:
        args.columns = list(dict.fromkeys([*selection, *colouring.values()]))
    args.in_memory = True  # rows that are drawn must be in memory
    table: Any = load_table(args)
    _require_columns(table, colouring.values(), args)
    columns = {option: table[name] for option, name in colouring.items()}
    return table.drop(columns=[name for name in set(colouring.values()) if name not in selection]), columns


def needed_columns(args: argparse.Namespace, available: Sequence[str]) -> list[str] | None:
    """Return the columns that a command needs, in the order of the file.

    None stands for all columns: if --columns is not given, or if a named column does not exist, so that the
    error can list the columns that do.
    """
    selection = getattr(args, "columns", None)
    if selection is None or len(set(available)) < len(available):
        return None
    markers = [getattr(args, name, None) for name in ("index_col", *_ASIDE, "groups", "color")]
    markers += str(getattr(args, "partial", None) or "").split(",")
    required = {*selection, *filter(None, markers)}
    return [name for name in available if name in required] if required <= set(available) else None
