"""``spcastat groups``: test whether the components of groups of rows are the same."""

from __future__ import annotations

import argparse

from spcastat.cli import fit_command, output_files
from spcastat.cli.input_tables import DATA, columns_apart, reading_arguments
from spcastat.cli.output_files import given_of
from spcastat.errors import OptionError

EXAMPLES = """\
examples:
  spcastat groups trees.csv --by species --k 2 --card 5 --scale
  spcastat groups pupils.csv --by country --k 2 --card 5 --clusters school --plot slopes.png --out groups.csv
"""
#: Options that are passed on to `compare_groups` if given.
_OPTIONS = ("card", "n_draws", "formula", "na", "clusters", "effort", "rng", "n_jobs", "progress")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat groups``."""
    add = parser.add_argument
    add("data", metavar="DATA", help=DATA)
    add("--by", required=True, metavar="NAME", help="the column with the group of each row, not fitted")
    add("--k", type=int, required=True, help="number of components")
    add("--card", type=fit_command.card, metavar="N[,N...]", help="nonzeros of all or of each component")
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


def run(args: argparse.Namespace) -> str:
    """Compare the groups, write the requested files, and return the text to print."""
    output_files.refuse_overlap([args.data], {"--plot": args.plot, "--out": args.out})
    output_files.require_picture(args.plot)
    output_files.csv_separator(args.out or "")
    if args.by == args.clusters:
        raise OptionError(
            f"{args.by!r} was given as --by and as --clusters; a group needs several clusters."
        )
    from spcastat.groups import compare_groups

    table, columns = columns_apart(args, {"by": args.by})
    given = given_of(args, _OPTIONS) | ({"categorical": "dummy"} if args.dummy else {})
    if args.formula is not None:
        given["context"] = fit_command.checked_formula(args.formula, table.columns)
    found = compare_groups(table, columns["by"].array, args.k, scale=args.scale or None, **given)
    output_files.write_table_and_picture(args, found)
    return str(found)
