"""``spcastat show``: print a saved fit."""

from __future__ import annotations

import argparse
import os
from typing import Any

from spcastat.cli.input_tables import is_saved_fit
from spcastat.cli.output_files import format_of, given_of, output_arguments, refuse_overlap, written
from spcastat.errors import FileError

EXAMPLES = """\
examples:
  spcastat show trees.spca
  spcastat show trees.spca --sort --cut 0.1
  spcastat show trees.spca --out table.tex --caption 'Three components' --label tab:trees
  spcastat show trees.spca --report trees.html
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat show``."""
    add = parser.add_argument
    add("fit", metavar="FIT", help="a file that spcastat fit --save or fit.save() has written")
    add("--report", metavar="OUT.html", help="write a page with tables and plots; for Word with OUT.docx")
    output_arguments(parser)


def run(args: argparse.Namespace) -> str:
    """Return a saved fit, with the results of resampling that were saved with it, as text."""
    refuse_overlap([args.fit], {"--report": args.report, "--out": args.out})
    kind = format_of(args)
    from spcastat.results.fit import SpcaResult, load

    if os.path.isfile(args.fit) and not is_saved_fit(args.fit):
        raise FileError(f"{args.fit} is not a saved fit; spcastat fit DATA --save FIT.spca makes one.")
    fit = load(args.fit)
    if args.report:
        what = "Sparse PCA" if isinstance(fit, SpcaResult) else "Sparse loadings"
        fit.report(args.report, title=f"{what} in {args.fit}", call=args.line, **given_of(args))
    resampled: dict[str, Any] = {**fit.resampled}
    return written(fit, list(resampled.values()), kind, args)
