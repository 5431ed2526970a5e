"""``spcastat path``, ``compare`` and ``transform``."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from spcastat.cli.fitting import card, fitting_arguments, prepare
from spcastat.cli.reading import draw, is_saved_fit, names, read_new, reading_arguments, write_text
from spcastat.errors import FileError, OptionError

if TYPE_CHECKING:
    from spcastat.results import SpcaResult

PATH_EXAMPLES = """\
examples:
  spcastat path pitprops --k 1 --plot path.png
  spcastat path trees.csv --k 3 --cards 2-8 --scale --out path.csv
  spcastat path trees.csv --k 2 --cards '4,4;5,4;6,5' --method greedy
"""
COMPARE_EXAMPLES = """\
examples:
  spcastat compare pitprops --k 3 --cards 5 --methods bcd-l0,bcd-l1,greedy
  spcastat compare trees.csv --k 2 --cards '3;5;7' --plot compare.png
  spcastat compare first.spca second.spca
"""
TRANSFORM_EXAMPLES = """\
examples:
  spcastat fit trees.csv --k 2 --card 5 --save trees.spca
  spcastat transform trees.spca more.csv --out scores.csv
"""


def _cards(text: str) -> list[Any]:
    """Read ``2-8``, ``2;5;9`` and ``4,4;5,4`` as cardinalities to try."""
    found: list[Any] = []
    for part in text.split(";"):
        low, dash, high = part.partition("-")
        if dash and low.strip().isdigit() and high.strip().isdigit():
            found += range(int(low), int(high) + 1)
        else:
            found.append(card(part))
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} holds no cardinality; it takes 2-8, or 2;5;9, or 4,4;5,4")
    return found


# --- path ---------------------------------------------------------------------------------------


def path_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat path``."""
    add = parser.add_argument
    add("data", metavar="DATA", help="a CSV, TSV or Parquet file, or a bundled data set: pitprops")
    add("--k", type=int, default=1, help="number of components (1)")
    add("--cards", type=_cards, metavar="A-B", help="cardinalities: 2-8, or 2;5;9, or 4,4;5,4")
    add("--method", help="see: spcastat methods")
    add("--plot", metavar="OUT.png", help="draw variance against cardinality")
    add("--out", metavar="OUT.csv", help="write the table")
    fitting_arguments(parser)


def run_path(args: argparse.Namespace) -> str:
    """Fit a path, print its table, and write what was asked for."""
    from spcastat import api

    data, covariance, given = prepare(args)
    path = api.spca_path(data, args.k, args.cards, covariance=covariance, **given)
    if args.plot:
        draw(args.plot, lambda ax: path.plot(ax=ax))
    if args.out:
        write_text(args.out, path.table.to_csv(index=False))
    return str(path)


# --- compare ------------------------------------------------------------------------------------


def compare_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat compare``."""
    add = parser.add_argument
    add("files", metavar="DATA | FIT", nargs="+", help="one data set to fit in several ways, or saved fits")
    add("--k", type=int, help="number of components")
    add("--cards", type=_cards, metavar="A;B", help="cardinalities: 5, or 2-8, or 2;5;9, or 4,4;5,4")
    add("--methods", type=names, metavar="A,B", help="see: spcastat methods")
    add("--plot", metavar="OUT.png", help="draw the measures")
    fitting_arguments(parser)


def run_compare(args: argparse.Namespace) -> str:
    """Compare fits of a file, or saved ones."""
    from spcastat.results.compare import compare

    saved = [is_saved_fit(file) for file in args.files]
    if all(saved):
        fits = _load_all(args)
    elif len(args.files) == 1:
        fits = _fit_all(args)
    else:
        raise OptionError(
            f"{len(args.files)} files were given, {sum(saved)} of them saved fits; give one data set, or "
            "saved fits only."
        )
    comparison = compare(fits)
    if args.plot:
        draw(args.plot, lambda ax: comparison.plot(ax=ax))
    return str(comparison)


def _load_all(args: argparse.Namespace) -> dict[str, SpcaResult]:
    from spcastat.results.load import load

    if len(args.files) < 2:
        raise OptionError("One saved fit was given; it takes two or more to compare.")
    if len(set(args.files)) < len(args.files):
        raise OptionError("A saved fit was given twice; give each once.")
    return {file: load(file) for file in args.files}


def _fit_all(args: argparse.Namespace) -> dict[str, SpcaResult]:
    from spcastat import api

    if args.k is None:
        raise OptionError("--k is needed to fit a data set: the number of components.")
    args.data, args.method = args.files[0], None
    data, covariance, given = prepare(args)
    methods: list[Any] = args.methods or [None]
    cards: list[Any] = args.cards or [None]
    if len(methods) * len(cards) < 2:
        raise OptionError("There is one fit only; give two or more of --methods, or of --cards.")
    fits = {}
    for method in methods:
        for here in cards:
            wanted = {
                name: value for name, value in (("method", method), ("card", here)) if value is not None
            }
            label = "-".join(map(str, here)) if isinstance(here, list) else str(here)
            name = " ".join([method] * (method is not None and len(methods) > 1) + [label] * (len(cards) > 1))
            fits[name] = (api.spca_cov if covariance else api.spca)(data, k=args.k, **given, **wanted)
    return fits


# --- transform ----------------------------------------------------------------------------------


def transform_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat transform``."""
    add = parser.add_argument
    add("fit", metavar="FIT", help="a file that spcastat fit --save has written")
    add("data", metavar="DATA", help="a CSV, TSV or Parquet file with the columns of the fit")
    add("--out", metavar="OUT.csv", help="where the scores go; standard output by default")
    add(
        "--na", choices=("raise", "drop"), help="rows with missing values: refuse them (default) or drop them"
    )
    reading_arguments(parser, columns=False)


def run_transform(args: argparse.Namespace) -> str:
    """Return, or write, the scores of new rows as CSV."""
    from spcastat.results.load import load

    if os.path.isfile(args.fit) and not is_saved_fit(args.fit):
        raise FileError(f"{args.fit} is not a saved fit; the fit comes first, then the data.")
    fit = load(args.fit)
    scores = fit.transform(read_new(args.data, args.index_col), na=args.na or "raise")
    plain = scores.index.name is None and list(scores.index) == list(range(len(scores)))
    text = scores.to_csv(index=not plain)
    if args.out:
        write_text(args.out, text)
        return f"{len(scores)} rows written to {args.out}"
    return text.rstrip("\n")
