"""``spcastat explore``: a page with a slider over the cardinalities."""

from __future__ import annotations

import argparse

from spcastat.cli.choose_command import cardinalities
from spcastat.cli.fit_command import fitting_arguments, prepare, rule, rule_arguments
from spcastat.cli.input_tables import DATA
from spcastat.cli.output_files import refuse_overlap

EXAMPLES = """\
examples:
  spcastat explore trees.csv --k 3 --scale --out trees.html
  spcastat explore pitprops --k 2 --cards 2-8 --out pitprops.html
"""


def arguments(parser: argparse.ArgumentParser) -> None:
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


def run(args: argparse.Namespace) -> str:
    """Fit a path, write the interactive page of its fits, and return the table of the path as text."""
    refuse_overlap([args.data], {"--out": args.out})
    from spcastat import api

    data, covariance, given = prepare(args)
    path = api.spca_path(data, args.k, cards=args.cards, covariance=covariance, **given, **rule(args))
    path.explore(args.out, title=args.title, max_points=args.max_points)
    return f"{path}\n\npage written to {args.out}"
