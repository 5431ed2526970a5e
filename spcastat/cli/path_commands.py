"""The commands that fit many cardinalities: choose, path, explore and compare."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from spcastat.cli import fit_command, output_files
from spcastat.cli.fit_command import card, fitting_arguments, prepare, require_k, rule, rule_arguments
from spcastat.cli.input_tables import DATA, is_saved_fit, names
from spcastat.cli.output_files import given_of
from spcastat.errors import OptionError
from spcastat.labels import shorten

if TYPE_CHECKING:
    from spcastat.results.fit import SpcaResult
    from spcastat.results.path import SpcaPath

PATH_EXAMPLES = """\
examples:
  spcastat path pitprops --k 1 --plot path.png
  spcastat path trees.csv --k 3 --cards 2-8 --scale --out path.csv
  spcastat path trees.csv --k 2 --cards '4,4;5,4;6,5' --method greedy
"""
EXPLORE_EXAMPLES = """\
examples:
  spcastat explore trees.csv --k 3 --scale --out trees.html
  spcastat explore pitprops --k 2 --cards 2-8 --out pitprops.html
"""
COMPARE_EXAMPLES = """\
examples:
  spcastat compare pitprops --k 3 --cards 5 --methods bcd-l0,bcd-l1,greedy
  spcastat compare trees.csv --k 2 --cards '3;5;7' --plot compare.png
  spcastat compare trees.csv --k 2 --cards '3;5;7' --held-out
  spcastat compare first.spca second.spca
"""
#: The largest number of cardinalities that --cards may expand to.
MOST_CARDS = 100_000


def cardinalities(text: str) -> list[Any]:
    """Read ``2-8``, ``2;5;9`` and ``4,4;5,4`` as cardinalities to try."""
    found: list[Any] = []
    for part in text.split(";"):
        low, dash, high = (piece.strip() for piece in part.partition("-"))
        if not (dash and low.isdecimal() and high.isdecimal()):
            found.append(card(part))
        elif max(len(low), len(high)) > 18 or int(high) - int(low) + len(found) >= MOST_CARDS:
            raise argparse.ArgumentTypeError(
                f"{shorten(text, 60)!r} holds more than {MOST_CARDS:,} cardinalities; give fewer: 5;10;20;50"
            )
        elif int(low) > int(high):
            raise argparse.ArgumentTypeError(f"{part.strip()!r} runs downwards; it takes 2-8")
        else:
            found += range(int(low), int(high) + 1)
    return found


# --- path ---------------------------------------------------------------------------------------


def _fits_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the fits of a path."""
    add = parser.add_argument
    add("data", metavar="DATA", help=DATA + "; or a bundled data set (spcastat datasets)")
    add("--k", type=int, default=1, help="number of components (1)")
    add("--cards", type=cardinalities, metavar="A-B", help="cardinalities: 2-8, or 2;5;9, or 4,4;5,4")
    add("--method", help="see: spcastat methods")
    rule_arguments(parser)


def _fitted_path(args: argparse.Namespace) -> SpcaPath:
    from spcastat import api

    data, covariance, given = prepare(args)
    return api.spca_path(data, args.k, cards=args.cards, covariance=covariance, **given, **rule(args))


def path_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat path``."""
    _fits_arguments(parser)
    add = parser.add_argument
    add("--plot", metavar="OUT.png", help="draw variance against cardinality")
    add("--out", metavar="OUT.csv", help="write the table")
    fitting_arguments(parser)


def run_path(args: argparse.Namespace) -> str:
    """Fit a path, write the requested files, and return its table as text."""
    output_files.refuse_overlap([args.data], {"--plot": args.plot, "--out": args.out})
    output_files.require_picture(args.plot)
    output_files.csv_separator(args.out or "")
    path = _fitted_path(args)
    output_files.write_table_and_picture(args, path)
    return str(path)


# --- explore ------------------------------------------------------------------------------------


def explore_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat explore``."""
    _fits_arguments(parser)
    add = parser.add_argument
    add("--out", metavar="OUT.html", required=True, help="the page to write")
    add("--title", metavar="TEXT", help="the title of the page")
    add("--max-points", type=int, default=1000, metavar="N", help="rows to draw, at most (1000); 0 for none")
    fitting_arguments(parser)


def run_explore(args: argparse.Namespace) -> str:
    """Fit a path and write the interactive page of its fits."""
    output_files.refuse_overlap([args.data], {"--out": args.out})
    path = _fitted_path(args)
    path.explore(args.out, title=args.title, max_points=args.max_points)
    return f"{path}\n\npage written to {args.out}"


# --- compare ------------------------------------------------------------------------------------


def compare_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat compare``."""
    add = parser.add_argument
    add("files", metavar="DATA | FIT", nargs="+", help="one data set to fit in several ways, or saved fits")
    add("--k", type=int, help="number of components")
    add("--cards", type=cardinalities, metavar="A;B", help="cardinalities: 5, or 2-8, or 2;5;9, or 4,4;5,4")
    add("--methods", type=names, metavar="A,B", help="see: spcastat methods")
    add("--plot", metavar="OUT.png", help="draw the measures")
    add("--held-out", action="store_true", help="compare by the errors of predicting rows left out")
    fitting_arguments(parser)


def run_compare(args: argparse.Namespace) -> str:
    """Compare fits of one data set, or saved fits."""
    output_files.refuse_overlap(args.files, {"--plot": args.plot})
    output_files.require_picture(args.plot)
    from spcastat.results.compare import compare

    saved = [is_saved_fit(file) for file in args.files]
    if args.held_out and any(saved):
        raise OptionError(
            "--held-out was given with saved fits, which do not have their rows; give the data set and "
            "--methods or --cards, or use spcastat.compare(fits, held_out=True, data=...) in Python."
        )
    if all(saved):
        fits = _load_all(args)
    elif len(args.files) == 1:
        fits = _fit_all(args)
    else:
        raise OptionError(
            f"{len(args.files)} files were given, {sum(saved)} of them saved fits; give a data set or fits."
        )
    comparison = compare(fits, held_out=args.held_out)
    if args.plot:
        output_files.save_figure(args.plot, lambda ax: comparison.plot(ax=ax))
    return str(comparison)


def _load_all(args: argparse.Namespace) -> dict[str, SpcaResult]:
    from spcastat.results.fit import load

    if len(args.files) < 2:
        raise OptionError("One saved fit was given; it takes two or more to compare.")
    if len({os.path.realpath(file) for file in args.files}) < len(args.files):
        raise OptionError("A saved fit was given twice; give each once.")
    return {file: load(file) for file in args.files}


def _fit_all(args: argparse.Namespace) -> dict[str, SpcaResult]:
    from spcastat import api

    args.data, args.method = args.files[0], None
    require_k(args)
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


# --- choose ---------------------------------------------------------------------------------------


EXAMPLES = """\
examples:
  spcastat choose trees.csv --scale --report trees.html
  spcastat choose trees.csv --k 2 --cards 2-8 --by ebic --out choice.csv
  spcastat choose trees.csv --k 3 --rule paired --plot choice.png --save trees.spca
  spcastat choose pitprops
"""
#: Options that are passed on to `choose` if given.
_OPTIONS = ("k", "cards", "by", "rule", "each", "folds", "repeats", "share", "n_jobs")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat choose``."""
    add = parser.add_argument
    add("data", metavar="DATA", help=DATA + "; or a bundled data set (spcastat datasets)")
    add("--k", type=int, help="number of components; chosen by the tests of choose_k where it is not given")
    add("--cards", type=cardinalities, metavar="A-B", help="cardinalities to choose from: 2-8, or 2;5;9")
    add("--by", metavar="NAME", help="cv (default with rows), ebic, bic, is or variance")
    add("--rule", metavar="NAME", help="worth (default): no more loadings are worth it; 1se; paired; min")
    add("--each", metavar="NAME", help="equal cardinalities, free ones, or auto (default), the better")
    add("--folds", type=int, metavar="N", help="folds of the rows (5)")
    add("--repeats", type=int, metavar="N", help="how often they are drawn again (1)")
    add("--share", type=float, help="share of the variance of dense PCA to keep, with --by variance: 0.9")
    add("--n-jobs", type=int, metavar="N", help="processes that share the folds; -1 for all processors")
    add("--method", help="see: spcastat methods")
    fit_command.rule_arguments(parser)
    add("--plot", metavar="OUT.png", help="draw the criterion against the cardinality")
    add("--out", metavar="OUT.csv", help="write the table")
    add("--report", metavar="OUT.html", help="write a page with the choice, tables and plots")
    fit_command.groups_argument(parser)
    add("--save", metavar="OUT.spca", help="store the fit in a file, for transform and compare")
    fit_command.fitting_arguments(parser)


def run(args: argparse.Namespace) -> str:
    """Choose and fit, write the requested files, and return the text to print."""
    written = {"--plot": args.plot, "--out": args.out, "--report": args.report, "--save": args.save}
    output_files.refuse_overlap([args.data], written)
    output_files.require_picture(args.plot)
    output_files.csv_separator(args.out or "")
    from spcastat import choosing

    table, groups = fit_command.grouped(args)
    data, covariance, given = fit_command.prepare(args, table)
    given |= given_of(args, _OPTIONS) | fit_command.rule(args)
    choice = choosing.choose(data, covariance=covariance, **given)
    if args.save:
        choice.fit.save(args.save)
    output_files.write_table_and_picture(args, choice)
    if args.report:
        choice.report(args.report, title=f"Sparse PCA of {args.data}", call=args.line, groups=groups)
    return f"{choice}\n\n{choice.fit}"
