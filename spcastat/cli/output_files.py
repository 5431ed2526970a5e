"""Output of the command: files, of which none overwrites an input or is left incomplete, and the terminal."""

from __future__ import annotations

import csv
import io
import os
import re
import stat
import sys
import unicodedata
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spcastat.config import listed
from spcastat.errors import FileError, OptionError, SpcaError
from spcastat.labels import name_text
from spcastat.storage.atomic import write_bytes

if TYPE_CHECKING:
    import pandas as pd

#: The file name that stands for standard input.
STDIN = "-"

#: Names for the standard streams that cannot be names of files, since they have a null character.
_STANDARD_INPUT, _STANDARD_OUTPUT = "\0stdin", "\0stdout"
_STANDARD = {_STANDARD_INPUT: "stdin", _STANDARD_OUTPUT: "stdout"}
#: Characters with which a formula starts in a spreadsheet.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
#: Image formats that need an external program.
_NEED_MORE = {"pgf"}
#: File extensions that do not fit a text table.
_NO_TEXT = (".parquet", ".pq", ".xlsx", ".xls", ".gz", ".bz2", ".xz", ".zst", ".zip")


# --- inputs are not overwritten -----------------------------------------------------------------


def refuse_overlap(inputs: Sequence[str], outputs: Mapping[str, str | None]) -> None:
    """Check that the outputs can be written and do not overwrite an input or each other.

    Parameters
    ----------
    inputs : sequence of str
        Names of files to read, "-" for standard input; names that are not files are ignored.
    outputs : mapping
        Option -> name of its file, None if it was not given.

    Raises
    ------
    OptionError
        If an output is an input under any path, link or case, or two outputs are the same file.
    FileError
        If the folder of an output does not exist or cannot be written.
    """
    given = {option: path for option, path in outputs.items() if path is not None}
    for option, path in given.items():
        _require_place(option, path)
    read = {f"the input {name}": name for name in inputs if name != STDIN}
    read |= {"the file that standard input is read from": _STANDARD_INPUT} if STDIN in inputs else {}
    written = {"where standard output goes": _STANDARD_OUTPUT}
    written |= {f"{option} {path}": path for option, path in given.items()}
    for (called, path), (other, there) in product(written.items(), read.items()):
        if _is_same(path, there):
            raise OptionError(f"{called} is {other}, which would be lost; give another name.")
    # the same for all spellings of a path on a file system that ignores case
    spelling = {
        path: unicodedata.normalize("NFC", os.path.realpath(path)).casefold() for path in given.values()
    }
    for (called, path), (other, there) in combinations(written.items(), 2):
        if _is_same(path, there) or spelling.get(path) == spelling[there]:
            raise OptionError(f"{other} is {called}: they are one file; give each its own name.")


def _require_place(option: str, path: str) -> None:
    """Raise unless `path` names a file in a folder where files can be created."""
    if not path or path.endswith(("/", os.sep)) or "\0" in path:
        raise OptionError(f"{option} {path!r} was given, which names no file.")
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise FileError(f"{path} cannot be written: it is a folder.")
    if not os.path.isdir(folder):
        raise FileError(f"{path} cannot be written: there is no folder {folder!r}.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(f"{path} cannot be written: no file can be made in the folder {folder!r}.")


def _is_same(one: str, other: str) -> bool:
    """Whether two names, of files or standard streams, refer to the same regular file."""
    first, second = _status(one), _status(other)
    return first is not None and second is not None and os.path.samestat(first, second)


def _status(name: str) -> os.stat_result | None:
    try:
        if name in _STANDARD:
            stream = getattr(sys, _STANDARD[name])
            found = os.fstat(stream.fileno())
        else:
            found = os.stat(name)
    except (OSError, ValueError, AttributeError):  # no such file, or a replaced standard stream
        return None
    return found if stat.S_ISREG(found.st_mode) else None


# --- writing ------------------------------------------------------------------------------------


def csv_separator(path: str) -> str:
    """Return the field separator for a table written to `path`: a tab for .tsv and .tab, else a comma."""
    suffix = Path(path).suffix.lower()
    if suffix in _NO_TEXT:
        raise OptionError(f"--out {path} was given, and tables are written as text: name it .csv or .tsv.")
    return "\t" if suffix in (".tsv", ".tab") else ","


def csv_text(frame: pd.DataFrame, *, labelled: bool, raw: bool, separator: str = ",") -> str:
    """Return a frame as CSV that is safe to open in a spreadsheet.

    Labels and cells of text that start with = + - @, a tab or a carriage return, and are not numbers, get a
    leading apostrophe, so that they are not run as formulas. Numbers are not changed.

    Parameters
    ----------
    frame : DataFrame
    labelled : bool
        Whether to write the row labels.
    raw : bool
        Whether to write text without added apostrophes.
    separator : str
    """
    if not raw:
        frame = frame.copy(deep=False)
        for position, dtype in enumerate(frame.dtypes):
            if dtype.kind not in "biufc":
                frame.isetitem(position, frame.iloc[:, position].map(guarded).to_numpy())
        frame.columns = frame.columns.map(guarded)
        frame.index = _guarded_labels(frame.index)
    text = frame.to_csv(index=labelled, sep=separator, lineterminator="\n")
    if "\r" in text:  # readers take it for the end of a row, and pandas would not quote it
        text = frame.to_csv(index=labelled, sep=separator, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    return text


def _guarded_labels(index: pd.Index) -> pd.Index:
    import pandas as pd

    if isinstance(index, pd.MultiIndex):
        levels = index.to_frame(index=False, name=list(range(index.nlevels)))
        return pd.MultiIndex.from_frame(levels.map(guarded), names=[guarded(name) for name in index.names])
    labels = index if index.dtype.kind in "biufc" else index.map(guarded)
    return labels.rename(guarded(index.name))


def guarded(value: Any) -> Any:
    """Return text that a spreadsheet would run as a formula with a leading apostrophe; others unchanged."""
    risky = isinstance(value, str) and value.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(value)
    return f"'{value}" if risky else value


def write_table_and_picture(args: Namespace, found: Any) -> None:
    """Draw a choice or a path to --plot, and write its table to --out, where these are given."""
    if args.plot:
        save_figure(args.plot, lambda ax: found.plot(ax=ax))
    if args.out:
        text = csv_text(found.table, labelled=False, raw=False, separator=csv_separator(args.out))
        write_bytes(args.out, text.encode())


# --- pictures -----------------------------------------------------------------------------------


def require_picture(path: str | None) -> None:
    """Raise FileError unless the file extension is that of a supported image format."""
    if path is None:
        return
    from matplotlib.figure import Figure

    known = sorted(set(Figure().canvas.get_supported_filetypes()) - _NEED_MORE)
    if Path(path).suffix.lower().removeprefix(".") not in known:
        raise FileError(f"{path} is not a picture: its name must end in one of {listed(known, 20)}.")


def save_figure(
    path: str, plot: Callable[[Any], Any], size: tuple[float, float] | None = (6.4, 4.4), dpi: float = 150
) -> None:
    """Draw a plot and save it in the format of the file extension.

    Parameters
    ----------
    path : str
    plot : callable
        Draws on the given axes and returns them; if given None, it makes its own figure.
    size : (float, float) or None
        Width and height in inches; for None the plot sets the size.
    dpi : float
    """
    figure, close = _figure_of(plot, size)
    picture = io.BytesIO()
    try:
        figure.savefig(picture, format=Path(path).suffix.lower().removeprefix("."), dpi=dpi)
    except SpcaError:
        raise
    except Exception as error:  # the writers of image formats raise errors of any type
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileError(f"{path} cannot be drawn: {reason}. Is .png possible instead?") from error
    finally:
        close()
    write_bytes(path, picture.getvalue())


def _figure_of(plot: Callable[[Any], Any], size: tuple[float, float] | None) -> tuple[Any, Callable[[], Any]]:
    """Return a figure with the plot, and a function that closes it."""
    from matplotlib.figure import Figure

    if size is not None:
        figure = Figure(figsize=size, layout="constrained")
        plot(figure.subplots())
        return figure, lambda: None
    started = "matplotlib.pyplot" in sys.modules
    import matplotlib.pyplot as plt

    if not started:
        plt.switch_backend("agg")  # without windows
    drawn: Any = plot(None).get_figure(root=True)
    return drawn, lambda: plt.close(drawn)


def tell(kind: str, message: object) -> None:
    """Print one line to standard error: ``spcastat: error: there is no file 'x.csv'.``"""
    if sys.stderr is not None:  # with file=None print() would use standard output
        with suppress(OSError, ValueError):  # if even this cannot be written, only the exit code is left
            print(f"spcastat: {kind}: {name_text(str(message))}", file=sys.stderr, flush=True)


def require_output() -> None:
    """Raise FileError if there is no standard output to print to."""
    if sys.stdout is None or sys.stdout.closed:
        raise FileError("standard output is closed; leave it open, or send it to a file with > FILE.")


def require_encodable(text: str) -> None:
    """Raise FileError if the encoding of standard output does not have a character of `text`."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError as error:
        raise FileError(
            f"standard output is {encoding}, which has no form for {text[error.start]!r}; --out FILE writes "
            "UTF-8, and so does standard output with PYTHONUTF8=1 in the environment."
        ) from None


def show(text: str, end: str = "\n") -> None:
    """Print a result and flush standard output.

    Characters that its encoding does not have are printed as escapes.

    Raises
    ------
    FileError
        If standard output cannot be written.
    BrokenPipeError
        If its reader, such as head, has closed it.
    """
    require_output()
    try:
        try:
            print(text, end=end, flush=True)
        except UnicodeEncodeError:
            encoding = sys.stdout.encoding
            print(text.encode(encoding, "backslashreplace").decode(encoding), end=end, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_output()
        raise FileError(f"standard output cannot be written: {error.strerror or error}.") from error


def discard_output() -> None:
    """Send the rest of standard output to the null device, so that Python exits without an error."""
    with suppress(OSError, ValueError):  # a replaced standard output has no file descriptor
        number = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
