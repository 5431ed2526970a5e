"""``spcastat verify``: check a proof in a file."""

from __future__ import annotations

import argparse

from spcastat.errors import FileError

EXAMPLES = """\
examples:
  spcastat verify proof.json trees.csv
A proof is written in Python: fit.certify().save("proof.json").
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``spcastat verify``."""
    add = parser.add_argument
    add("proof", metavar="PROOF.json", help="what certificate.save('proof.json') wrote")
    add("data", metavar="DATA.csv", help="the rows of the fit, or its covariance matrix, with a header")
    add("--sep", default=",", help="what separates columns; a comma by default")


def run(args: argparse.Namespace) -> str:
    """Check the proof; return what it proves, or raise."""
    from spcastat.proofs.checker import RefusedError
    from spcastat.proofs.verify import verify

    try:
        return "\n".join([*verify(args.proof, args.data, args.sep), "The proof holds for these data."])
    except RefusedError as error:
        raise FileError(f"{args.proof} does not prove its bound for {args.data}: {error}.") from None
    except (OSError, UnicodeError) as error:
        raise FileError(f"The proof or the data cannot be read: {error}") from None
