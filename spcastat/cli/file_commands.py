"""``spcastat show``, ``transform`` and ``verify``: commands on saved fits and proofs."""

from __future__ import annotations

import argparse
import os
from typing import Any

from spcastat.cli.input_tables import DATA, is_saved_fit, read_new, reading_arguments
from spcastat.cli.output_files import (
    csv_separator,
    csv_text,
    format_of,
    given_of,
    output_arguments,
    refuse_overlap,
    require_encodable,
    written,
)
from spcastat.config import MISSING
from spcastat.errors import FileError
from spcastat.fit.archive import write_bytes

# --- show -----------------------------------------------------------------------------------------


SHOW = """\
examples:
  spcastat show trees.spca
  spcastat show trees.spca --sort --cut 0.1
  spcastat show trees.spca --out table.tex --caption 'Three components' --label tab:trees
  spcastat show trees.spca --report trees.html
"""


def show_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat show``."""
    add = parser.add_argument
    add("fit", metavar="FIT", help="a file that spcastat fit --save or fit.save() has written")
    add("--report", metavar="OUT.html", help="write a page with tables and plots; for Word with OUT.docx")
    output_arguments(parser)


def show(args: argparse.Namespace) -> str:
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


# --- transform ------------------------------------------------------------------------------------


TRANSFORM = """\
examples:
  spcastat fit trees.csv --k 2 --card 5 --save trees.spca
  spcastat transform trees.spca more.csv --out scores.csv
"""


def transform_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat transform``."""
    add = parser.add_argument
    add("fit", metavar="FIT", help="a file that spcastat fit --save has written")
    add("data", metavar="DATA", help=DATA + ", with the columns that the components use")
    add("--out", metavar="OUT.csv", help="where the scores go; standard output by default")
    about = (
        "missing values: refuse, drop their rows, expected scores (em), or no score (pairwise); by default "
        "em and pairwise if the fit used them, and otherwise refuse"
    )
    add("--na", choices=MISSING, help=about)
    about = "write labels as they are; by default those that a spreadsheet would run get an apostrophe"
    add("--raw-labels", action="store_true", help=about)
    reading_arguments(parser, columns=False)


def transform(args: argparse.Namespace) -> str:
    """Compute the scores of new rows; write them as CSV and return a message, or return the CSV."""
    refuse_overlap([args.fit, args.data], {"--out": args.out})
    separator = csv_separator(args.out or "")
    from spcastat.results.fit import load

    if os.path.isfile(args.fit) and not is_saved_fit(args.fit):
        raise FileError(f"{args.fit} is not a saved fit; the fit comes first, then the data.")
    fit = load(args.fit)
    scores = fit.transform(read_new(args), na=args.na)
    plain = scores.index.name is None and list(scores.index) == list(range(len(scores)))
    text = csv_text(scores, labelled=not plain, raw=args.raw_labels, separator=separator)
    if args.out:
        write_bytes(args.out, text.encode())
        return f"{len(scores)} rows written to {args.out}"
    require_encodable(text)
    return text.removesuffix("\n")


# --- verify ---------------------------------------------------------------------------------------


VERIFY = """\
examples:
  spcastat verify proof.json trees.csv
A proof is written in Python: fit.certify().save("proof.json").
"""


def verify_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat verify``."""
    add = parser.add_argument
    add("proof", metavar="PROOF.json", help="what certificate.save('proof.json') wrote")
    add("data", metavar="DATA.csv", help="the rows of the fit, or its covariance matrix, with a header")
    add("--sep", default=",", help="what separates columns; a comma by default")


def verify(args: argparse.Namespace) -> str:
    """Check the proof; return what it proves, or raise."""
    from spcastat.proofs.checker import RefusedError
    from spcastat.proofs.verify import verify as verified

    try:
        return "\n".join([*verified(args.proof, args.data, args.sep), "The proof holds for these data."])
    except RefusedError as error:
        raise FileError(f"{args.proof} does not prove its bound for {args.data}: {error}.") from None
    except (OSError, UnicodeError) as error:
        raise FileError(f"The proof or the data cannot be read: {error}") from None
