"""The output of the command: tables, pictures and reports, in files or on standard output."""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import os
import re
import sys
import unicodedata
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spcastat.arguments import listed, one_line, require_extra
from spcastat.errors import FileError, OptionError, SpcaError
from spcastat.fit.archive import write_bytes
from spcastat.labels import name_text

if TYPE_CHECKING:
    import pandas as pd

    from spcastat.results.fit import SpcaResult
    from spcastat.results.loadings import SparseLoadings
    from spcastat.show.renderings import Summary

    #: What the commands print, save and draw.
    Fit = SpcaResult | SparseLoadings

#: The file name that stands for standard input.
STDIN = "-"

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
    paths = {option: path for option, path in outputs.items() if path is not None}
    for option, path in paths.items():
        _require_place(option, path)
    for (option, path), name in product(paths.items(), inputs):
        if _is_same(path, name):
            called = "the file that standard input is read from" if name == STDIN else f"the input {name}"
            raise OptionError(f"{option} {path} is {called}, which would be lost; give another name.")
    # the same for all spellings of a path on a file system that ignores case
    spelling = {
        path: unicodedata.normalize("NFC", os.path.realpath(path)).casefold() for path in paths.values()
    }
    for (option, path), (second_option, second_path) in combinations(paths.items(), 2):
        if spelling[path] == spelling[second_path]:
            raise OptionError(
                f"{second_option} {second_path} is {option} {path}: they are one file; give another name."
            )


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


def _is_same(path: str, second_path: str) -> bool:
    """Whether two names refer to the same file; the second may be "-", for standard input."""
    try:
        status = os.fstat(sys.stdin.fileno()) if second_path == STDIN else os.stat(second_path)
        return os.path.samestat(os.stat(path), status)
    except (OSError, ValueError, AttributeError):  # no such file, or a replaced standard stream
        return False


# --- writing ------------------------------------------------------------------------------------


def csv_separator(path: str) -> str:
    """Return the field separator for a table written to `path`: a tab for .tsv and .tab, else a comma."""
    suffix = Path(path).suffix.lower()
    if suffix in _NO_TEXT:
        raise OptionError(f"--out {path} was given, and tables are written as text: name it .csv or .tsv.")
    return "\t" if suffix in (".tsv", ".tab") else ","


def csv_text(frame: pd.DataFrame, *, labelled: bool, separator: str = ",") -> str:
    """Return a frame as CSV, with or without the row labels."""
    text = frame.to_csv(index=labelled, sep=separator, lineterminator="\n")
    if "\r" in text:  # programs read it as the end of a row, and pandas would not quote it
        text = frame.to_csv(index=labelled, sep=separator, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    return text


def write_table_and_picture(args: Namespace, choice: Any) -> None:
    """Draw a choice to --plot and write its table to --out, if these options were given."""
    if args.plot:
        save_figure(args.plot, lambda ax: choice.plot(ax=ax))
    if args.out:
        text = csv_text(choice.table, labelled=False, separator=csv_separator(args.out))
        write_bytes(args.out, text.encode())


# --- pictures -----------------------------------------------------------------------------------


def require_picture(path: str | None) -> None:
    """Raise FileError unless the file extension belongs to a supported image format."""
    if path is None:
        return
    from matplotlib.figure import Figure

    extensions = sorted(set(Figure().canvas.get_supported_filetypes()) - _NEED_MORE)
    if Path(path).suffix.lower().removeprefix(".") not in extensions:
        raise FileError(f"{path} is not a picture: its name must end in one of {listed(extensions, 20)}.")


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
        raise FileError(f"{path} cannot be drawn: {reason}. Try .png instead.") from error
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
    figure_drawn: Any = plot(None).get_figure(root=True)
    return figure_drawn, lambda: plt.close(figure_drawn)


def tell(kind: str, message: object) -> None:
    """Print one line to standard error: ``spcastat: error: there is no file 'x.csv'.``"""
    if sys.stderr is not None:  # with file=None print() would use standard output
        with suppress(OSError, ValueError):  # if even this cannot be written, only the exit code is left
            text = one_line(" ".join(str(message).split()), LONGEST_MESSAGE)
            print(f"spcastat: {kind}: {text}", file=sys.stderr, flush=True)


#: The largest number of characters of a message.
LONGEST_MESSAGE = 2000


def printed(text: str, complete_option: str = "") -> str:
    """Return a printed result with the command's options in place of Python's.

    ``--scale`` replaces the advice to use ``scale=True``, and attributes of a fit or a choice are left out.
    `complete_option` is the option that prints complete tables, if the subcommand has one.
    """
    sentence = rf"\1More: {complete_option}." if complete_option else ""
    text = re.sub(r"(\s+)More:\s+(fit|choice)\.(?:notes\s+\(\d+\),\s+\2\.)?summary\(\)\.", sentence, text)
    text = re.sub(r"\s+\(fit\.robust\)|\nAll loadings: choice\.fit\.summary\(\)\.", "", text)
    text = re.sub(r":\s+(?:see\s+choice\.summary\(\)|choice\.alternatives|choice\.k_choice)", "", text)
    return re.sub(r"(?:choose\(data, scale=True\)|scale=True)(?=\s+gives)", "--scale", text)


def require_output() -> None:
    """Raise FileError if there is no standard output to print to."""
    if sys.stdout is None or sys.stdout.closed:
        raise FileError("standard output is closed; leave it open, or send it to a file with > FILE.")


def require_encodable(text: str) -> None:
    """Raise FileError if the encoding of standard output lacks a character of `text`."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError as error:
        raise FileError(
            f"standard output is {encoding}, which cannot encode {text[error.start]!r}; use "
            "--out FILE, which writes UTF-8, or set the environment variable PYTHONUTF8 to 1."
        ) from None


def show(text: str, end: str = "\n") -> None:
    """Print a result and flush standard output.

    Characters that the encoding lacks are printed as escapes.

    Raises
    ------
    FileError
        If standard output cannot be written.
    BrokenPipeError
        If the program that reads standard output, such as head, has closed it.
    """
    require_output()
    with errors_of_output():
        try:
            print(text, end=end, flush=True)
        except UnicodeEncodeError:
            encoding = sys.stdout.encoding
            print(text.encode(encoding, "backslashreplace").decode(encoding), end=end, flush=True)


@contextmanager
def errors_of_output() -> Iterator[None]:
    """Raise FileError if the block cannot write to standard output; BrokenPipeError is passed on."""
    try:
        yield
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


# --- formats of a fit -----------------------------------------------------------------------------


FORMATS = ("text", "html", "latex", "markdown", "docx", "json")
#: File extension -> format.
FORMATS_BY_ENDING = {
    **{".txt": "text", ".html": "html", ".htm": "html", ".tex": "latex", ".md": "markdown"},
    **{".qmd": "markdown", ".docx": "docx", ".json": "json"},
}
#: Options for the layout of tables.
_LAYOUT = ("digits", "caption", "label", "full_names")
#: Options that select and order the variables of a table.
ARRANGEMENT = ("sort", "max_rows", "cut")


def output_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the content, format and destination of the output."""
    tables = parser.add_argument_group("what is printed")
    add = tables.add_argument
    about = "output format, by default that of the name of --out; text: complete tables"
    add("--format", choices=FORMATS, help=about)
    add("--out", metavar="OUT", help="write to a file: .txt, .html, .tex, .md, .docx, .json")
    switch = argparse.BooleanOptionalAction
    add("--sort", action=switch, help="sort variables by component and loading (default for more than 25)")
    about = "largest number of variables in the table; by default all selected"
    add("--max-rows", type=int, metavar="N", help=about)
    add("--cut", type=float, metavar="SIZE", help="show smaller loadings as a point")
    add("--describe", action="store_true", help="add a paragraph for a methods section, with references")
    add(
        "--digits",
        type=int,
        metavar="N",
        help="decimals of the loadings (3); other numbers change accordingly",
    )
    add("--caption", metavar="TEXT", help="caption of the tables, instead of the title")
    add("--label", metavar="NAME", help="label of the tables for references: tab:loadings")
    add(
        "--full-names",
        action=switch,
        help="print long names in full; by default text output shortens names that do not fit",
    )


def format_of(args: argparse.Namespace) -> str:
    """Return the requested format, after checking that the other options are valid for it.

    Raises
    ------
    OptionError
        If Word is requested without a file, the extension is unknown, or an option does not apply.
    """
    suffix = Path(args.out or "").suffix.lower()
    kind = args.format or FORMATS_BY_ENDING.get(suffix, "" if args.out else "text")
    if not kind:
        raise OptionError(
            f"--out {args.out} has no format; give --format, or name it "
            f"{', '.join(dict.fromkeys(FORMATS_BY_ENDING))}."
        )
    if kind == "docx" and suffix != ".docx":
        raise OptionError("--format docx is a file for Word; name it: --out OUT.docx.")
    refused = [f"--{name.replace('_', '-')}" for name in given_of(args, (*_LAYOUT, *ARRANGEMENT))]
    if kind == "json" and refused:
        raise OptionError(
            f"{', '.join(refused)} can be given for tables only; --format json contains the numbers in full."
        )
    if kind == "text" and args.label is not None:
        raise OptionError("--label was given, which text output does not use; leave it out.")
    return kind


def given_of(args: argparse.Namespace, names: Sequence[str] = ARRANGEMENT) -> dict[str, Any]:
    """Return the options in `names` that were given; by default, of those that arrange a table."""
    return {name: getattr(args, name) for name in names if getattr(args, name, None) is not None}


def output(fit: Any, further: Sequence[Summary], kind: str, args: argparse.Namespace) -> str:
    """Return a fit and resampling results in a format, or write them to ``--out`` and return a message."""
    from spcastat.show.grid import Document
    from spcastat.show.renderings import Summary
    from spcastat.show.summary import SCREEN

    layout_options, arranged = given_of(args, _LAYOUT), given_of(args)
    if args.describe and kind != "json":
        words = fit.describe()
        methods = Document("For a methods section", notes=(words.text, *words.references))
        further = [*further, Summary(methods, {})]
    if kind == "docx":
        require_extra("docx", "docx", "--format docx for Word", "python-docx")
        from spcastat.show.grid import Layout
        from spcastat.show.word import write_tables

        documents = [fit.summary(**arranged)._document(), *(summary._document() for summary in further)]
        write_tables(args.out, documents, Layout(notes=None, **layout_options))
        return f"fit written to {args.out}"
    if kind == "json":
        text = as_json(fit, args.describe)
    elif args.format is None and not (further or layout_options or arranged or args.out):
        return printed(str(fit), "--format text")
    elif kind == "text" and not layout_options and not arranged and not args.out:
        parts = [fit.summary(max_rows=SCREEN), *further]
        return printed("\n\n".join(part.as_text() for part in parts))
    else:
        text = printed(_rendered([fit.summary(**arranged), *further], kind, layout_options, bool(args.out)))
    if args.out:
        write_bytes(args.out, (text.rstrip("\n") + "\n").encode())
        return f"fit written to {args.out}"
    if kind == "json":
        require_encodable(text)
    return text.rstrip("\n")


def _rendered(parts: Sequence[Summary], kind: str, given: dict[str, Any], to_file: bool) -> str:
    """Render the documents one after another; the caption and the label belong to the first."""
    from spcastat.show.grid import Layout
    from spcastat.show.renderings import render, render_text

    texts = []
    for place, part in enumerate(parts):
        options = given if place == 0 else {k: v for k, v in given.items() if k not in ("caption", "label")}
        layout = Layout(**options) if kind == "text" else Layout(notes=None, **options)
        if kind == "text" and to_file:
            texts.append(render_text(part._document(), layout, "utf-8"))
        else:
            texts.append(render(part._document(), kind, layout))
    return ("\n\n" if kind == "text" else "\n").join(texts)


# --- JSON ---------------------------------------------------------------------------------------


def draws_of(fit: Fit) -> dict[str, Any]:
    """Return the resampling results of a fit; the keys are the names of the methods."""
    return {name: result for name, result in fit.inference.items() if name != "certificates"}


def _json_of_variables(plan: Any, describe: bool) -> str:
    """Return principal variables as JSON."""
    content = {"call": plan.call, "share": plan.share, "pca_share": plan.pca_share, "bound": plan.bound}
    content |= {"options": plan.options}
    for name in ("variables", "represented", "path"):
        content[name] = _records(getattr(plan, name))
    return _json_text(content, plan, describe)


def as_json(fit: Any, describe: bool = False) -> str:
    """Return a fit as JSON: loadings not listed are zero, and null stands for NaN."""
    if not hasattr(fit, "glance"):
        return _json_of_variables(fit, describe)
    glance = fit.glance().iloc[0].to_dict()
    content: dict[str, Any] = {
        "call": fit.call,
        **{str(name): value for name, value in glance.items()},
        "options": fit.options,
        "components": [name_text(name) for name in fit.components],
        "variables": [name_text(name) for name in fit.loadings.index],
        "loadings": {
            name_text(name): {name_text(term): value for term, value in column[column != 0].items()}
            for name, column in fit.loadings.items()
        },
        "variance": {name_text(name): row.to_dict() for name, row in fit.variance.iterrows()},
    }
    for name, draws in draws_of(fit).items():
        content[name] = {key: _records(frame) for key, frame in draws.frames.items()}
    return _json_text(content, fit, describe)


def _json_text(content: dict[str, Any], fit: Any, describe: bool) -> str:
    if describe:
        words = fit.describe()
        content["description"] = {"text": words.text, "references": words.references, "bibtex": words.bibtex}
    return json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a frame as a list of rows; row labels become the first value."""
    tidy = frame.index.name is None and list(frame.index) == list(range(len(frame)))
    table = frame if tidy else frame.rename_axis("variable").reset_index()
    return [{name_text(key): value for key, value in row.items()} for row in table.to_dict("records")]


def _plain(value: Any) -> Any:
    """Convert values of NumPy and pandas to Python's types; values that are not finite become None."""
    if isinstance(value, dict):
        return {str(key): _plain(element) for key, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(element) for element in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int, bool)) else name_text(value)
