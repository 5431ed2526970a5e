"""The command ``spcastat``: a fit printed, the methods and the bundled data listed.

One `Command` a subcommand: what it is for, the function that adds its arguments, the function that runs
it. A new one is a pair of functions and a line in ``COMMANDS``. Only what the user gave is passed on, so
that the defaults are those of `spcastat.api` and stand in one place.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from spcastat import __version__
from spcastat.config import listed, nearest
from spcastat.errors import (
    ColumnTypeError,
    DuplicateNamesError,
    FileError,
    MissingValuesError,
    OptionError,
    SpcaError,
    SpcaWarning,
)

if TYPE_CHECKING:
    import pandas as pd

_EXAMPLES = """\
examples:
  spcastat fit pitprops --k 6 --card 7,4,4,1,1,1
  spcastat fit trees.csv --k 3 --variance 0.9 --scale
  spcastat fit trees.csv --k 2 --card 5 --drop id,species --na drop
  spcastat fit correlations.csv --covariance --n-obs 180 --k 3
  spcastat methods
"""
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")
_PACKED = (".gz", ".bz2", ".xz", ".zst")
_HINTS: dict[type[SpcaError], str] = {
    # the package advises on its own options; here the options of the command that do the same
    ColumnTypeError: " (Here: --columns or --drop choose the columns, --index-col the row labels.)",
    MissingValuesError: " (Here: --na drop.)",
}
_ROWS_ONLY = {"scale": "--scale", "center": "--no-center", "na": "--na"}


@dataclass(frozen=True)
class Command:
    """A subcommand: a line of help, what adds its arguments, and what runs it and returns the text."""

    about: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], str]


# --- fit ----------------------------------------------------------------------------------------


def _card(text: str) -> int | list[int]:
    """Read ``5`` as 5 and ``7,4,4`` as [7, 4, 4]; what a cardinality may be is for the fit to say."""
    try:
        cards = [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} was given; it takes a whole number, or one for each component: 7,4,4"
        ) from None
    return cards if "," in text else cards[0]


def _names(text: str) -> list[str]:
    """Read ``a,b,"c, d"`` as three names."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True))]


def _fit_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", metavar="DATA", help="a CSV, TSV or Parquet file, or a bundled data set: pitprops")
    add("--k", type=int, required=True, help="number of components")
    sparsity = parser.add_mutually_exclusive_group()
    sparsity.add_argument(
        "--card", type=_card, metavar="N[,N...]", help="nonzeros of all or of each component"
    )
    sparsity.add_argument("--variance", type=float, help="fraction of PCA's explained variance to keep: 0.9")
    add("--method", help="see: spcastat methods")
    add("--nonneg", action="store_true", help="nonnegative loadings only")
    add("--scale", action="store_true", help="scale the columns to unit variance")
    add("--no-center", dest="center", action="store_false", help="do not subtract the column means")
    add(
        "--na", choices=("raise", "drop"), help="rows with missing values: refuse them (default) or drop them"
    )
    add("--n-init", type=int, metavar="N", help="number of starts")
    add("--rng", type=int, metavar="SEED", help="seed of the random starts")
    add("--covariance", action="store_true", help="DATA is a covariance or correlation matrix")
    add("--n-obs", type=int, metavar="N", help="number of rows behind a covariance matrix")
    files = parser.add_argument_group("reading a file")
    files.add_argument(
        "--index-col", metavar="NAME", help="the column of row labels (a first column without a name is one)"
    )
    columns = files.add_mutually_exclusive_group()
    columns.add_argument("--columns", type=_names, metavar="A,B,...", help="use these columns only")
    columns.add_argument("--drop", type=_names, metavar="A,B,...", help="leave these columns out")


def _fit(args: argparse.Namespace) -> str:
    data = _load(args)
    from spcastat import api

    # argparse leaves None, or for a switch its default, where nothing was given
    optional = ("card", "variance", "method", "na", "n_init", "rng", "n_obs")
    given = {name: getattr(args, name) for name in optional if getattr(args, name) is not None}
    given |= {name: True for name in ("nonneg", "scale") if getattr(args, name)}
    given |= {} if args.center else {"center": False}
    covariance = args.covariance or data.attrs.get("kind") == "correlation"
    if not covariance:
        if "n_obs" in given:
            raise OptionError("--n-obs is for a covariance matrix; give --covariance if DATA is one.")
        return str(api.spca(data, k=args.k, **given))
    refused = [flag for name, flag in _ROWS_ONLY.items() if name in given]
    if refused:
        raise OptionError(
            f"{', '.join(refused)} need the rows of the data; {args.data} is taken as a covariance matrix, "
            "which is centred and scaled already."
        )
    if "n_obs" in data.attrs:
        given.setdefault("n_obs", data.attrs["n_obs"])
    unlabelled = list(data.index) == list(range(data.shape[1]))
    if unlabelled:  # a square file without row labels: they are those of its columns
        data = data.set_axis(data.columns, axis=0)
    return str(api.spca_cov(data, k=args.k, **given))


def _load(args: argparse.Namespace) -> pd.DataFrame:
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


# --- files --------------------------------------------------------------------------------------


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


# --- methods, datasets --------------------------------------------------------------------------


def _no_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: the subcommand takes no argument."""


def _methods(args: argparse.Namespace) -> str:
    from spcastat import api

    table = api.methods()
    return _columns([list(table.columns), *table.astype(str).to_numpy().tolist()])


def _datasets(args: argparse.Namespace) -> str:
    from spcastat import datasets

    return _columns(
        [[name, (load.__doc__ or "").strip().splitlines()[0]] for name, load in datasets.BUNDLED.items()]
    )


def _columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text set in columns, to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = (zip(row, widths, strict=True) for row in rows)
    return "\n".join("  ".join(cell.ljust(width) for cell, width in row).rstrip() for row in padded)


COMMANDS = {
    "fit": Command("fit a sparse PCA and print it", _fit_arguments, _fit),
    "methods": Command("list the methods", _no_arguments, _methods),
    "datasets": Command("list the bundled data sets", _no_arguments, _datasets),
}


# --- the command itself -------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    how: dict[str, Any] = {
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
        "epilog": _EXAMPLES,
    }
    parser = argparse.ArgumentParser(
        prog="spcastat", description="Sparse principal component analysis for statisticians.", **how
    )
    parser.add_argument("--version", action="version", version=f"spcastat {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        command.arguments(commands.add_parser(name, help=command.about, description=command.about, **how))
    return parser


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning without the place in the code, which says nothing on a command line."""
    print(f"spcastat: warning: {message}", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` and return the exit code.

    Returns
    -------
    int
        0; 1 for an error of the package or a file that cannot be read, told in one line on standard
        error; 2 for a command line that cannot be understood.
    """
    try:
        args = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed the help, the version or the usage
        return int(stop.code or 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", SpcaWarning)
            warnings.showwarning = _show_warning
            print(COMMANDS[args.command].run(args), flush=True)
    except SpcaError as error:
        print(f"spcastat: error: {error}{_HINTS.get(type(error), '')}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, such as head, has gone: keep the exit of Python quiet too
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0
