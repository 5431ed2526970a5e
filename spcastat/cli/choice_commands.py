"""``spcastat choose``, ``explore`` and ``groups``: commands that make several fits."""

from __future__ import annotations

import argparse
from typing import Any

from spcastat.cli.fit_command import (
    card,
    checked_formula,
    fitting_arguments,
    grouped,
    groups_argument,
    prepare,
    rule,
    rule_arguments,
)
from spcastat.cli.input_tables import DATA, columns_apart, reading_arguments
from spcastat.cli.output_files import (
    csv_separator,
    given_of,
    refuse_overlap,
    require_picture,
    write_table_and_picture,
)
from spcastat.errors import OptionError
from spcastat.labels import shorten

# --- choose ---------------------------------------------------------------------------------------


CHOOSE = """\
examples:
  spcastat choose trees.csv --scale --report trees.html
  spcastat choose trees.csv --k 2 --cards 2-8 --by ebic --out choice.csv
  spcastat choose trees.csv --k 3 --rule paired --plot choice.png --save trees.spca
  spcastat choose pitprops
"""
#: The largest number of cardinalities that --cards may expand to.
MOST_CARDS = 100_000
#: Options that are passed on to `choose` if given.
_OF_CHOICE = ("k", "cards", "by", "rule", "each", "folds", "repeats", "share", "n_jobs")


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


def choose_arguments(parser: argparse.ArgumentParser) -> None:
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
    rule_arguments(parser)
    add("--plot", metavar="OUT.png", help="draw the criterion against the cardinality")
    add("--out", metavar="OUT.csv", help="write the table")
    add("--report", metavar="OUT.html", help="write a page with the choice, tables and plots")
    groups_argument(parser)
    add("--save", metavar="OUT.spca", help="store the fit in a file, for show, transform and plot")
    fitting_arguments(parser)


def choose(args: argparse.Namespace) -> str:
    """Choose and fit, write the requested files, and return the text to print."""
    written = {"--plot": args.plot, "--out": args.out, "--report": args.report, "--save": args.save}
    refuse_overlap([args.data], written)
    require_picture(args.plot)
    csv_separator(args.out or "")
    from spcastat import choosing

    table, of_rows = grouped(args)
    data, covariance, given = prepare(args, table)
    given |= given_of(args, _OF_CHOICE) | rule(args)
    choice = choosing.choose(data, covariance=covariance, **given)
    if args.save:
        choice.fit.save(args.save)
    write_table_and_picture(args, choice)
    if args.report:
        choice.report(args.report, title=f"Sparse PCA of {args.data}", call=args.line, groups=of_rows)
    return f"{choice}\n\n{choice.fit}"


# --- explore --------------------------------------------------------------------------------------


EXPLORE = """\
examples:
  spcastat explore trees.csv --k 3 --scale --out trees.html
  spcastat explore pitprops --k 2 --cards 2-8 --out pitprops.html
"""


def explore_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat explore``."""
    add = parser.add_argument
    add("data", metavar="DATA", help=DATA + "; or a bundled data set (spcastat datasets)")
    add("--k", type=int, default=1, help="number of components (1)")
    add("--cards", type=cardinalities, metavar="A-B", help="cardinalities: 2-8, or 2;5;9, or 4,4;5,4")
    add("--method", help="see: spcastat methods")
    rule_arguments(parser)
    add("--out", metavar="OUT.html", required=True, help="the page to write")
    add("--title", metavar="TEXT", help="the title of the page")
    add("--max-points", type=int, default=1000, metavar="N", help="rows to draw, at most (1000); 0 for none")
    fitting_arguments(parser)


def explore(args: argparse.Namespace) -> str:
    """Fit a path, write the interactive page of its fits, and return the table of the path as text."""
    refuse_overlap([args.data], {"--out": args.out})
    from spcastat import api

    data, covariance, given = prepare(args)
    path = api.spca_path(data, args.k, cards=args.cards, covariance=covariance, **given, **rule(args))
    path.explore(args.out, title=args.title, max_points=args.max_points)
    return f"{path}\n\npage written to {args.out}"


# --- groups ---------------------------------------------------------------------------------------


GROUPS = """\
examples:
  spcastat groups trees.csv --by species --k 2 --card 5 --scale
  spcastat groups pupils.csv --by country --k 2 --card 5 --clusters school --plot slopes.png --out groups.csv
"""
#: Options that are passed on to `compare_groups` if given.
_OF_GROUPS = ("card", "n_draws", "formula", "na", "clusters", "effort", "rng", "n_jobs", "progress")


def groups_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat groups``."""
    add = parser.add_argument
    add("data", metavar="DATA", help=DATA)
    add("--by", required=True, metavar="NAME", help="the column with the group of each row, not fitted")
    add("--k", type=int, required=True, help="number of components")
    add("--card", type=card, metavar="N[,N...]", help="nonzeros of all or of each component")
    add("--scale", action="store_true", help="scale the columns to unit variance within groups")
    add("--clusters", metavar="NAME", help="a column of clusters, which are permuted whole; not fitted")
    add("--n-draws", type=int, metavar="N", help="number of permutations (999)")
    add("--na", choices=("raise", "drop"), help="missing values: refuse them (default), or drop their rows")
    add("--formula", metavar="'~ A + B'", help="columns made by a formula; known functions only")
    add("--dummy", action="store_true", help="make columns of 0 and 1 of text in a formula")
    add("--effort", metavar="NAME", help="effort of the search: quick, auto or thorough")
    add("--rng", type=int, metavar="SEED", help="seed of the permutations")
    add("--n-jobs", type=int, metavar="N", help="processes that share them; -1 for all processors")
    about = "show progress; by default on a terminal, after some seconds"
    add("--progress", action=argparse.BooleanOptionalAction, help=about)
    add("--plot", metavar="OUT.png", help="draw the slopes of the variables in every group")
    add("--out", metavar="OUT.csv", help="write the table of groups and components")
    reading_arguments(parser)


def groups(args: argparse.Namespace) -> str:
    """Compare the groups, write the requested files, and return the text to print."""
    refuse_overlap([args.data], {"--plot": args.plot, "--out": args.out})
    require_picture(args.plot)
    csv_separator(args.out or "")
    if args.by == args.clusters:
        raise OptionError(f"{args.by!r} was given as --by and as --clusters; a group needs several clusters.")
    from spcastat.groups import compare_groups

    table, columns = columns_apart(args, {"by": args.by})
    given = given_of(args, _OF_GROUPS) | ({"categorical": "dummy"} if args.dummy else {})
    if args.formula is not None:
        given["context"] = checked_formula(args.formula, table.columns)
    found = compare_groups(table, columns["by"].array, args.k, scale=args.scale or None, **given)
    write_table_and_picture(args, found)
    return str(found)
