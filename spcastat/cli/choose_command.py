"""``spcastat choose``: choose how many components and how sparse, and fit them."""

from __future__ import annotations

import argparse
from typing import Any

from spcastat.cli import fit_command, output_files
from spcastat.cli.fit_command import card
from spcastat.cli.input_tables import DATA
from spcastat.cli.output_files import given_of
from spcastat.labels import shorten

EXAMPLES = """\
examples:
  spcastat choose trees.csv --scale --report trees.html
  spcastat choose trees.csv --k 2 --cards 2-8 --by ebic --out choice.csv
  spcastat choose trees.csv --k 3 --rule paired --plot choice.png --save trees.spca
  spcastat choose pitprops
"""
#: The largest number of cardinalities that --cards may expand to.
MOST_CARDS = 100_000
#: Options that are passed on to `choose` if given.
_OPTIONS = ("k", "cards", "by", "rule", "each", "folds", "repeats", "share", "n_jobs")


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
    add("--save", metavar="OUT.spca", help="store the fit in a file, for show, transform and plot")
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
