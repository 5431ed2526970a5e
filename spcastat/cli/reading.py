"""Tables and saved fits that the command reads: which reader a name asks for, and the columns asked for."""

from __future__ import annotations

import argparse
import csv
import os
import zipfile
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spcastat.cli.columns import needed_columns, read_parquet
from spcastat.cli.layout import separator_of
from spcastat.cli.pieces import ROWS, Pieces, is_large, parquet_pieces
from spcastat.cli.sources import PACKED
from spcastat.cli.writing import STDIN
from spcastat.config import listed, nearest
from spcastat.errors import DuplicateNamesError, FileError, OptionError, SpcaError

if TYPE_CHECKING:
    import pandas as pd

DATA = (
    "a table in a .csv, .tsv, .tab (also .gz, .bz2, .xz, .zst), .xlsx or .parquet file; - for CSV from "
    "standard input"
)

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_WORKBOOKS = (".xlsx",)
_PARQUET = (".parquet", ".pq")
_TABLES = (*_SEPARATORS, *_WORKBOOKS, *_PARQUET)


# --- arguments ----------------------------------------------------------------------------------


def names(text: str) -> list[str]:
    """Read ``a,b,"c, d"`` as three names."""
    try:
        found = [name.strip() for name in next(csv.reader([text], skipinitialspace=True, strict=True), [])]
    except csv.Error as error:
        raise argparse.ArgumentTypeError(f'it takes names, as in A,B,"C, D" ({error})') from None
    if not found or not all(found):
        raise argparse.ArgumentTypeError(f'{text!r} was given, where a name is empty; it takes A,B,"C, D"')
    return found


def _separator(text: str) -> str:
    try:
        return separator_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def reading_arguments(parser: argparse.ArgumentParser, columns: bool = True) -> None:
    """Add the arguments that say how a file is read."""
    files = parser.add_argument_group("reading a file")
    files.add_argument(
        "--index-col", metavar="NAME", help="the column of row labels (a first column without a name is one)"
    )
    if columns:
        either = files.add_mutually_exclusive_group()
        either.add_argument("--columns", type=names, metavar="A,B,...", help="use these columns only")
        either.add_argument("--drop", type=names, metavar="A,B,...", help="leave these columns out")
    files.add_argument(
        "--sep", type=_separator, metavar="CHAR", help="what separates fields: a character, or tab, space"
    )
    files.add_argument("--decimal", choices=(".", ","), metavar="MARK", help="the decimal mark, . or ,")
    files.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="the first line holds the names of the columns, or it does not: they are x1, x2, ... then",
    )
    files.add_argument("--encoding", metavar="NAME", help="of text: utf-8 (default), cp1252, utf-16, ...")
    files.add_argument("--sheet", metavar="NAME", help="the sheet of a workbook; the first by default")


# --- files --------------------------------------------------------------------------------------


def load_table(args: argparse.Namespace) -> pd.DataFrame | Pieces:
    """Return the file, or the bundled data set where no such file is, with the columns asked for.

    A large file of rows comes in pieces.
    """
    from spcastat import datasets

    if args.data != STDIN and os.path.isfile(args.data) and is_large(args):
        walk = _read(args, ROWS)
        if callable(walk):
            return Pieces(args.data, walk, lambda frame: _selected(frame, args))
        return _selected(walk, args)
    if args.data == STDIN or os.path.isfile(args.data):
        data: pd.DataFrame = _read(args)
        return _selected(data, args)
    if args.data not in datasets.BUNDLED:
        raise FileError(
            f"{_no_file(args.data)}, nor a bundled data set of that name "
            f"(bundled: {listed(datasets.BUNDLED)}).{_near_file(args.data, datasets.BUNDLED)}"
        )
    used = [f"--{name.replace('_', '-')}" for name in _READING if _given(args, name)]
    if used:
        raise OptionError(f"{', '.join(used)}: for files only; a bundled data set is used whole.")
    return datasets.BUNDLED[args.data]()


_TEXT_ONLY = ("sep", "decimal", "encoding")
_READING = ("index_col", "columns", "drop", *_TEXT_ONLY, "header", "sheet")


def _given(args: argparse.Namespace, name: str) -> bool:
    return getattr(args, name, None) is not None


def read_new(args: argparse.Namespace) -> pd.DataFrame:
    """Return a file of new rows, with its row labels set."""
    if args.data != STDIN and not os.path.isfile(args.data):
        raise FileError(f"{_no_file(args.data)}.{_near_file(args.data, ())}")
    return _selected(_read(args), args)


def _no_file(path: str) -> str:
    if os.path.isdir(path):
        return f"there is no file {path!r}: it is a folder"
    if os.path.exists(path):
        return f"there is no file {path!r}: it is a device or a pipe (- reads standard input)"
    return f"there is no file {path!r}"


def _near_file(given: str, bundled: Iterable[str]) -> str:
    """Return a hint at the bundled data set, or the file of the same folder, with the nearest name."""
    folder, name = os.path.split(given)
    try:
        files = [entry.name for entry in os.scandir(folder or ".") if entry.is_file()]
    except (OSError, ValueError):
        files = []
    return nearest(name, [*bundled, *files])


def _selected(data: pd.DataFrame, args: argparse.Namespace) -> pd.DataFrame:
    """Return `data` with its row labels set and with the columns asked for."""
    labels, weights = args.index_col, getattr(args, "weights", None)
    keep, leave = getattr(args, "columns", None) or [], getattr(args, "drop", None) or []
    apart = {"--index-col": labels, "--weights": weights}
    for name in [*(name for name in apart.values() if name is not None), *keep, *leave]:
        if name not in data.columns:
            raise OptionError(
                f"there is no column {name!r} in {args.data}; it has {listed(data.columns)}."
                f"{nearest(name, data.columns)}"
            )
    for option, name in apart.items():
        if name in {*keep, *leave}:
            raise OptionError(f"{name!r} was given as {option} and among the columns; give it once.")
    if weights is not None and weights == labels:
        raise OptionError(f"{weights!r} was given as --index-col and as --weights; give it once.")
    twice = [name for name, times in Counter(keep).items() if times > 1]
    if twice:
        raise DuplicateNamesError(f"--columns names {listed(twice)} more than once.")
    if labels is not None:
        data = data.set_index(labels)
    if keep:
        data = data[[*keep, *([] if weights is None else [weights])]]
    return data.drop(columns=leave) if leave else data


def _read(args: argparse.Namespace, pieces: int | None = None) -> Any:
    """Read a table by the ending of its name; whatever goes wrong becomes an error that says what.

    With `pieces`, text and Parquet give a function that walks over them, of text so many rows at a time.
    """
    path = args.data
    suffix = ".csv" if path == STDIN else _suffix(path)
    if suffix not in _TABLES:
        if is_saved_fit(path):
            raise FileError(f"{path} is a saved fit, where data are expected: spcastat transform FIT DATA.")
        raise FileError(
            f"{path} is not a file that can be read: its name must end in one of {', '.join(_TABLES)}. "
            "Text can be sent to standard input: spcastat ... - < FILE."
        )
    _refuse_unused(args, path, suffix)
    try:
        if suffix in _SEPARATORS:
            from spcastat.cli.texts import read_text, text_pieces

            how = {"separator": args.sep, "decimal": args.decimal, "header": args.header}
            how |= {"encoding": args.encoding, "labels": args.index_col}
            if pieces is not None:
                return text_pieces(path, _SEPARATORS[suffix], pieces, **how)
            return read_text(path, _SEPARATORS[suffix], **how)
        if suffix in _WORKBOOKS:
            from spcastat.cli.workbooks import read_workbook

            return read_workbook(path, sheet=args.sheet, header=args.header, labels=args.index_col)
        needed = partial(needed_columns, args)
        return read_parquet(path, needed) if pieces is None else parquet_pieces(path, needed)
    except SpcaError:
        raise
    except Exception as error:  # the readers and the unpackers below them raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileError(f"{path} cannot be read: {reason}") from error


def _suffix(path: str) -> str:
    """Return what the name of a file ends in, without that of its packing."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
        return suffixes[-1] if suffixes and suffixes[-1] in _SEPARATORS else ""
    return suffixes[-1] if suffixes else ""


def _refuse_unused(args: argparse.Namespace, path: str, suffix: str) -> None:
    """Raise OptionError for options that a file of this kind has no use for."""
    unused = ["sheet"] if suffix not in _WORKBOOKS else []
    if suffix not in _SEPARATORS:
        unused += _TEXT_ONLY
        unused += ["header"] if suffix in _PARQUET else []
    for name in unused:
        if _given(args, name):
            kind = "workbooks" if name == "sheet" else "tables of text"
            raise OptionError(f"--{name} is for {kind}, and {path} is none; leave it out.")


def is_saved_fit(path: str) -> bool:
    """Whether a file starts as a saved fit does; one with the name of a table must also be one inside."""
    try:
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                return False
        if _suffix(path) not in _TABLES:
            return True
        with zipfile.ZipFile(path) as archive:
            return "manifest.json" in archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return False
