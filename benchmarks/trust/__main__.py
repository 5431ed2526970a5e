"""Choices, intervals, tests: ``python -m benchmarks.trust [table ...] [--data DIR] [--sets N] [--write]``.

Every table measures 100 simulated data sets for each model of `benchmarks.trust.models`, or ``--sets``. With
``--done FILE`` measured data sets are stored, and a run that ``--seconds`` ended can be continued; the title
and the last column of a table give the number of data sets.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.report import Table, command_line, read_arguments, run_tables
from benchmarks.trust import (
    assumptions,
    choosing,
    cluster_sizes,
    groups,
    imputations,
    intervals,
    missing,
    real_choices,
    robust,
    robust_inputs,
    selections,
    together,
)
from benchmarks.trust.sets import Call, with_number_of_sets

TABLES: dict[str, Callable[[Call], Table]] = {
    "choose-rules": choosing.table_rules,
    "choose-k": choosing.table_k,
    "choose-numbers": choosing.table_numbers,
    "choose-partitions": choosing.table_partitions,
    "choose-noise": choosing.table_noise,
    "choose-real": real_choices.table_real,
    "choose-batteries": real_choices.table_batteries,
    "choose-time": real_choices.table_time,
    "correlated-noise": choosing.table_correlated_noise,
    "few-rows": choosing.table_few_rows,
    "missing": missing.missing,
    "imputations": imputations.intervals,
    "intervals": intervals.intervals,
    "intervals-real": intervals.intervals_of_real_correlations,
    "given": intervals.without_selection,
    "stability": selections.stability,
    "tests": selections.loading_tests,
    "together": together.dependent_rows,
    "clusters": cluster_sizes.cluster_sizes,
    "neighbours": together.similar_neighbours,
    "groups": groups.groups,
    "noise": assumptions.statements_in_noise,
    "noise-split": assumptions.splits_in_noise,
    "rows": assumptions.misleading_rows,
    "robust": robust.supports,
    "robust-loss": robust.losses,
    "robust-real": robust.real,
    "robust-k": robust.number_of_components,
    "robust-intervals": robust.intervals,
    "robust-inputs": robust_inputs.inputs,
}


def _counted(make: Callable[[Call], Table], call: Call) -> Table:
    """Return a table that has the number of data sets in its title."""
    return with_number_of_sets(make(call))


def main(arguments: list[str] | None = None) -> int:
    """Make the tables, print them, and write them if the command line says so."""
    parser = command_line("trust", __doc__, TABLES)
    parser.add_argument("--sets", type=int, default=100, metavar="N", help="data sets for each model")
    parser.add_argument("--done", type=Path, metavar="FILE", help="store measured data sets, and continue")
    parser.add_argument("--seconds", type=float, metavar="S", help="begin no data set after so many seconds")
    given = read_arguments(parser, TABLES, arguments)
    ends = time.perf_counter() + given.seconds if given.seconds else float("inf")
    call = Call(given.sets, given.data, given.done, ends)
    tables = {name: partial(_counted, make) for name, make in TABLES.items()}
    run_tables("trust", given, tables, call, ", standard errors in parentheses")
    return 0


if __name__ == "__main__":
    sys.exit(main())
