"""Output of a fit in the requested format: text, HTML, LaTeX, Markdown, Word or JSON."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spcastat.cli.output_files import require_encodable
from spcastat.errors import OptionError
from spcastat.labels import name_text
from spcastat.storage.atomic import write_bytes

if TYPE_CHECKING:
    import pandas as pd

    from spcastat.report.renderings import Summary
    from spcastat.results import SpcaResult

FORMATS = ("text", "html", "latex", "markdown", "docx", "json")
#: File extension -> format.
ENDINGS = {
    **{".txt": "text", ".html": "html", ".htm": "html", ".tex": "latex", ".md": "markdown"},
    **{".qmd": "markdown", ".docx": "docx", ".json": "json"},
}
#: Options for the layout of tables.
_LAYOUT = ("digits", "caption", "label", "full_names")
#: Options for which variables a table shows, and in which order.
ARRANGEMENT = ("sort", "max_rows", "cut")


def output_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the content, format and destination of the output."""
    tables = parser.add_argument_group("what is printed")
    add = tables.add_argument
    add("--format", choices=FORMATS, help="output format; by default as --out ends, else text")
    add("--out", metavar="OUT", help="write to a file: .txt, .html, .tex, .md, .docx, .json")
    switch = argparse.BooleanOptionalAction
    add("--sort", action=switch, help="variables by component and size of loading; default: if over 25")
    add("--max-rows", type=int, metavar="N", help="variables in the table, at most; by default all selected")
    add("--cut", type=float, metavar="SIZE", help="show smaller loadings as a point")
    add("--describe", action="store_true", help="add a paragraph for a methods section, with references")
    add("--digits", type=int, metavar="N", help="decimals of the loadings (3); those of other numbers follow")
    add("--caption", metavar="TEXT", help="caption of the tables, instead of the title")
    add("--label", metavar="NAME", help="label of the tables for references: tab:loadings")
    add("--full-names", action=switch, help="long names in full; by default text shortens what does not fit")


def format_of(args: argparse.Namespace) -> str:
    """Return the requested format, after checking that the other options are valid for it.

    Raises
    ------
    OptionError
        If Word is requested without a file, the extension is unknown, or an option does not apply.
    """
    suffix = Path(args.out or "").suffix.lower()
    kind = args.format or ENDINGS.get(suffix, "" if args.out else "text")
    if not kind:
        raise OptionError(
            f"--out {args.out} says no format; give --format, or name it {', '.join(dict.fromkeys(ENDINGS))}."
        )
    if kind == "docx" and suffix != ".docx":
        raise OptionError("--format docx is a file for Word; name it: --out OUT.docx.")
    refused = [f"--{name.replace('_', '-')}" for name in given_of(args, (*_LAYOUT, *ARRANGEMENT))]
    if kind == "json" and refused:
        raise OptionError(f"{', '.join(refused)}: for tables; --format json has the numbers in full.")
    if kind == "text" and args.label is not None:
        raise OptionError("--label was given, which text has no use for; leave it out.")
    return kind


def given_of(args: argparse.Namespace, names: Sequence[str] = ARRANGEMENT) -> dict[str, Any]:
    """Return those of the options that were given, by default those on the variables of a table."""
    return {name: getattr(args, name) for name in names if getattr(args, name, None) is not None}


def written(fit: SpcaResult, further: Sequence[Summary], kind: str, args: argparse.Namespace) -> str:
    """Return a fit and results of resampling in a format, or write them to ``--out`` and return a message."""
    given, arranged = given_of(args, _LAYOUT), given_of(args)
    if args.describe and kind != "json":
        further = [*further, _described(fit)]
    if kind == "docx":
        from spcastat.report.docx_file import write_tables
        from spcastat.tables import Layout

        documents = [fit.summary(**arranged)._document(), *(one._document() for one in further)]
        write_tables(args.out, documents, Layout(**given), "--format docx")
        return f"fit written to {args.out}"
    if kind == "json":
        text = as_json(fit, args.describe)
    elif kind == "text" and not given and not arranged and not args.out:
        return "\n\n".join(map(str, [fit, *further]))
    else:
        text = _rendered([fit.summary(**arranged), *further], kind, given, bool(args.out))
    if args.out:
        write_bytes(args.out, (text.rstrip("\n") + "\n").encode())
        return f"fit written to {args.out}"
    if kind == "json":
        require_encodable(text)
    return text.rstrip("\n")


def _described(fit: SpcaResult) -> Summary:
    """Return the paragraph for a methods section and its references as notes."""
    from spcastat.report.renderings import Summary
    from spcastat.tables import Document

    found = fit.describe()
    return Summary(Document("For a methods section", notes=(found.text, *found.references)), {})


def _rendered(parts: Sequence[Summary], kind: str, given: dict[str, Any], to_file: bool) -> str:
    """Return the documents one after another; the caption and the label belong to the first."""
    from spcastat.tables import Layout, render
    from spcastat.tables.plain_text import render as as_text

    texts = []
    for place, part in enumerate(parts):
        own = given if place == 0 else {k: v for k, v in given.items() if k not in ("caption", "label")}
        layout = Layout(**own)
        if kind == "text" and to_file:
            texts.append(as_text(part._document(), layout, "utf-8"))
        else:
            texts.append(render(part._document(), kind, layout=layout))
    return ("\n\n" if kind == "text" else "\n").join(texts)


# --- JSON ---------------------------------------------------------------------------------------


def as_json(fit: SpcaResult, describe: bool = False) -> str:
    """Return a fit as JSON: loadings not listed are zero, and null stands for NaN."""
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
    resampled: dict[str, Any] = {**fit.resampled}
    for name, found in resampled.items():
        content[name] = {key: _records(frame) for key, frame in found.frames.items()}
    if describe:
        words = fit.describe()
        content["description"] = {"text": words.text, "references": words.references, "bibtex": words.bibtex}
    return json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a frame as a list of rows; row labels become the first value."""
    tidy = frame.index.name is None and list(frame.index) == list(range(len(frame)))
    whole = frame if tidy else frame.rename_axis("variable").reset_index()
    return [{name_text(key): value for key, value in row.items()} for row in whole.to_dict("records")]


def _plain(value: Any) -> Any:
    """Convert values of NumPy and pandas to Python's types; values that are not finite become None."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int, bool)) else name_text(value)
