"""``spcastat choose``: how many components, and how sparse."""

from __future__ import annotations

import argparse

from spcastat.cli import fit_command as fitting
from spcastat.cli import output_files as output
from spcastat.cli.fit_formats import given_of
from spcastat.cli.input_tables import DATA
from spcastat.cli.path_commands import cardinalities

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
    fitting.rule_arguments(parser)
    add("--plot", metavar="OUT.png", help="draw the criterion against the cardinality")
    add("--out", metavar="OUT.csv", help="write the table")
    add("--report", metavar="OUT.html", help="write a page with the choice, tables and plots")
    fitting.groups_argument(parser)
    add("--save", metavar="OUT.spca", help="store the fit in a file, for transform and compare")
    fitting.fitting_arguments(parser)


def run(args: argparse.Namespace) -> str:
    """Choose and fit, write the requested files, and return the text to print."""
    written = {"--plot": args.plot, "--out": args.out, "--report": args.report, "--save": args.save}
    output.refuse_overlap([args.data], written)
    output.require_picture(args.plot)
    output.csv_separator(args.out or "")
    from spcastat import choosing

    table, groups = fitting.grouped(args)
    data, covariance, given = fitting.prepare(args, table)
    given |= given_of(args, _OPTIONS) | fitting.rule(args)
    choice = choosing.choose(data, covariance=covariance, **given)
    if args.save:
        choice.fit.save(args.save)
    output.write_table_and_picture(args, choice)
    if args.report:
        choice.report(args.report, title=f"Sparse PCA of {args.data}", call=args.line, groups=groups)
    return f"{choice}\n\n{choice.fit}"
