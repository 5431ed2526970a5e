"""Files that the command reads and writes: tables, saved fits, pictures."""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spcastat.config import listed, nearest
from spcastat.errors import DuplicateNamesError, FileError, OptionError, SpcaError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")
_PACKED = (".gz", ".bz2", ".xz", ".zst")


def names(text: str) -> list[str]:
    """Read ``a,b,"c, d"`` as three names."""
    try:
        return [name.strip() for name in next(csv.reader([text], skipinitialspace=True))]
    except csv.Error:
        raise argparse.ArgumentTypeError(f"{text!r} was given; it takes names on one line: a,b") from None


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


def load_table(args: argparse.Namespace) -> pd.DataFrame:
    """Return the file, or the bundled data set where no such file is, with the columns asked for."""
    from spcastat import datasets

    if os.path.isfile(args.data):
        return _selected(_read(Path(args.data)), args)
    if args.data not in datasets.BUNDLED:
        raise FileError(
            f"there is no file {args.data!r}, nor a bundled data set of that name "
            f"(bundled: {listed(datasets.BUNDLED)}).{_near_file(args.data, datasets.BUNDLED)}"
        )
    if args.index_col or args.columns or args.drop:
        raise OptionError(
            "--index-col, --columns and --drop are for files; a bundled data set is used whole."
        )
    return datasets.BUNDLED[args.data]()


def _near_file(given: str, bundled: Iterable[str]) -> str:
    """Return a hint at the bundled data set, or the file of the same folder, with the nearest name."""
    folder, name = os.path.split(given)
    try:
        files = [entry.name for entry in os.scandir(folder or ".") if entry.is_file()]
    except OSError:
        files = []
    return nearest(name, [*bundled, *files])


def _selected(data: pd.DataFrame, args: argparse.Namespace) -> pd.DataFrame:
    """Return `data` with its row labels set and with the columns asked for."""
    wanted = [*([args.index_col] if args.index_col else []), *(args.columns or []), *(args.drop or [])]
    for name in wanted:
        if name not in data.columns:
            raise OptionError(
                f"there is no column {name!r} in {args.data}; it has {listed(data.columns)}."
                f"{nearest(name, data.columns)}"
            )
    if args.index_col:
        data = data.set_index(args.index_col)
    if args.columns:
        data = data[args.columns]
    return data.drop(columns=args.drop or [])


def read_new(path: str, index_col: str | None) -> pd.DataFrame:
    """Return a file of new rows, with its row labels set."""
    if not os.path.isfile(path):
        raise FileError(f"there is no file {path!r}.{_near_file(path, ())}")
    args = argparse.Namespace(data=path, index_col=index_col, columns=None, drop=None)
    return _selected(_read(Path(path)), args)


def is_saved_fit(path: str) -> bool:
    """Whether a file starts as a saved fit does, and not as a table by its name."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if any(suffix in (*_SEPARATORS, *_PARQUET) for suffix in suffixes):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"PK"
    except OSError:
        return False


def write_text(path: str, text: str) -> None:
    """Write a text file, or say why not."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}.") from error


def draw(path: str, plot: Callable[[Axes], Any]) -> None:
    """Draw a plot into a file whose name says its format."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    known = sorted(figure.canvas.get_supported_filetypes())
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in known:
        raise FileError(f"{path} is no picture: its name must end in one of {listed(known, 20)}.")
    plot(figure.subplots())
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}.") from error


def _read(path: Path) -> pd.DataFrame:
    """Read a table by the suffix of its file; whatever goes wrong becomes a FileError that says what."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    suffix = next((suffix for suffix in reversed(suffixes) if suffix not in _PACKED), "")
    if suffix not in _SEPARATORS and suffix not in _PARQUET:
        known = ", ".join([*_SEPARATORS, *_PARQUET])
        raise FileError(f"{path} is not a file that can be read: its name must end in one of {known}.")
    try:
        return _read_text(path, _SEPARATORS[suffix]) if suffix in _SEPARATORS else _read_parquet(path)
    except SpcaError:
        raise
    except Exception as error:  # the readers and the unpackers below them raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileError(f"{path} cannot be read: {reason}") from error


def _read_text(path: Path, separator: str) -> pd.DataFrame:
    """Read a table of text, with the names of the columns in its first line.

    pandas would rename the second of two equal names: they are looked at first. A first column without
    a name is the row labels, as pandas and R write them.
    """
    import pandas as pd

    how: dict[str, Any] = {"sep": separator, "encoding": "utf-8-sig"}
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **how)
    names = header.iloc[0].str.strip().tolist()
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise DuplicateNamesError(
            f"{path} has more than one column named {listed(twice)}; every column needs a name of its own."
        )
    labels_first = len(names) > 1 and not names[0]
    data = pd.read_csv(path, index_col=0 if labels_first else None, low_memory=False, **how)
    data.columns = data.columns.str.strip()
    if labels_first:
        data.index.name = None
    return data


def _read_parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(path)
    except ImportError as error:
        raise FileError(
            f"{path} is a Parquet file, which needs pyarrow: pip install pyarrow, or give a CSV file."
        ) from error
