"""``spcastat transform``: scores of new rows."""

from __future__ import annotations

import argparse
import os

from spcastat.cli.input_tables import DATA, is_saved_fit, read_new, reading_arguments
from spcastat.cli.output_files import csv_separator, csv_text, refuse_overlap, require_encodable
from spcastat.config import MISSING
from spcastat.errors import FileError
from spcastat.fit.archive import write_bytes

EXAMPLES = """\
examples:
  spcastat fit trees.csv --k 2 --card 5 --save trees.spca
  spcastat transform trees.spca more.csv --out scores.csv
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat transform``."""
    add = parser.add_argument
    add("fit", metavar="FIT", help="a file that spcastat fit --save has written")
    add("data", metavar="DATA", help=DATA + ", with the columns of the fit")
    add("--out", metavar="OUT.csv", help="where the scores go; standard output by default")
    about = "missing values: refuse (default), drop their rows, expected scores (em), or no score (pairwise)"
    add("--na", choices=MISSING, help=about)
    about = "write labels as they are; by default those that a spreadsheet would run get an apostrophe"
    add("--raw-labels", action="store_true", help=about)
    reading_arguments(parser, columns=False)


def run(args: argparse.Namespace) -> str:
    """Compute the scores of new rows; write them as CSV and return a message, or return the CSV."""
    refuse_overlap([args.fit, args.data], {"--out": args.out})
    separator = csv_separator(args.out or "")
    from spcastat.results.fit import load

    if os.path.isfile(args.fit) and not is_saved_fit(args.fit):
        raise FileError(f"{args.fit} is not a saved fit; the fit comes first, then the data.")
    fit = load(args.fit)
    scores = fit.transform(read_new(args), na=args.na or "raise")
    plain = scores.index.name is None and list(scores.index) == list(range(len(scores)))
    text = csv_text(scores, labelled=not plain, raw=args.raw_labels, separator=separator)
    if args.out:
        write_bytes(args.out, text.encode())
        return f"{len(scores)} rows written to {args.out}"
    require_encodable(text)
    return text.removesuffix("\n")
