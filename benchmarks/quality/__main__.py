"""Quality of the fits: ``python -m benchmarks.quality [table ...] [--data DIR] [--full] [--write]``.

Best known fits of pitprops, the fewest nonzeros, rules for supports, sparse loadings, and proofs of one
component. ``--defaults`` compares the default search with the best known values in 184 cells instead, which
takes an hour, and ``--large`` in wide data and with many components.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

# Matrices are small: threads of the linear algebra cost more time than they save.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.quality import defaults, fewest, large, loadings, pitprops, rules
from benchmarks.quality.call import Call
from benchmarks.report import Table, command_line, read_arguments, run_tables, stamp, write_section
from spcastat.errors import ConvergenceWarning
from spcastat.search.climbing import EFFORTS

TABLES: dict[str, Callable[[Call], Table]] = {
    "joint": pitprops.joint,
    "certificates": pitprops.certificates,
    "fewest": fewest.fewest,
    "rules": rules.rules,
    "loadings-known": loadings.known,
    "loadings-planted": loadings.planted,
}


def compare_defaults(given: argparse.Namespace) -> list[Table]:
    """Compare the default search with the best known values."""
    if given.best_known:
        further = range(defaults.FURTHER, defaults.FURTHER + given.best_known)
        defaults.search_best(given.data, further, given.done)
    runs, skipped = defaults.measured(given.data, range(given.seeds), given.effort, given.done)
    tables = [defaults.summary(runs), defaults.missed(runs)]
    tables[0].notes += [defaults.sampled(runs, given.done), *skipped]
    return tables


def compare_large(given: argparse.Namespace) -> list[Table]:
    """Compare fits of wide data and of many components with the best known values."""
    return large.tables(given.data, tuple(given.effort), given.best_known or 0, given.only, given.done)


def add_comparison(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``--defaults`` and ``--large``."""
    parser.add_argument("--defaults", action="store_true", help="the default search on 184 cells instead")
    parser.add_argument("--large", action="store_true", help="wide data and many components instead")
    options = parser.add_argument_group("with --defaults or --large")
    options.add_argument("--best-known", type=int, metavar="SEEDS", help="look for better values first")
    options.add_argument(
        "--effort", nargs="+", choices=tuple(EFFORTS), default=tuple(EFFORTS), help="only these efforts"
    )
    options.add_argument(
        "--done", type=Path, metavar="FILE", help="store every run in FILE, and do not repeat stored runs"
    )
    options.add_argument("--seeds", type=int, default=1, help="--defaults: seeds, 1 by default")
    options.add_argument("--only", default="", metavar="TEXT", help="--large: cells whose name has TEXT")


def main(arguments: list[str] | None = None) -> int:
    """Make and print the tables, and write them if ``--write`` is given."""
    parser = command_line("quality", __doc__, TABLES)
    parser.add_argument("--full", action="store_true", help="five seeds, all efforts")
    add_comparison(parser)
    given = read_arguments(parser, TABLES, arguments)
    if not (given.defaults or given.large):
        warnings.simplefilter("ignore", ConvergenceWarning)
        run_tables("quality", given, TABLES, Call(given.data, given.full), ", one thread")
        return 0
    name = "defaults" if given.defaults else "large"
    tables = compare_defaults(given) if given.defaults else compare_large(given)
    print("\n\n".join(table.show(False) for table in tables))
    if given.write:
        title = f"`python -m benchmarks.quality --{name} --data DIR`, one thread. {stamp()}"
        write_section(f"quality-{name}", "\n\n".join([title, *(table.show(True) for table in tables)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
