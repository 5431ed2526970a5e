"""The command: ``python -m benchmarks.trust [table ...] [--data DIR] [--sets N] [--done FILE] [--write]``."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.report import Table, add_data, command_line, stamp, write_section
from benchmarks.trust.sets import Call

#: Name of a table -> "module:function" that makes it of a `Call`, and of what else follows: ":A"
TABLES: dict[str, str] = {
    **{f"choose-{model}": f"choosing:table_choose:{model}" for model in "ABCDEF"},
    "choose-others": "choosing:table_others",
    "choose-rules": "choosing:table_rules",
    "choose-free": "choosing:table_free",
    "choose-k": "choosing:table_k",
    "choose-speed": "choosing:table_speed",
    "missing": "missing:missing",
    "missing-elsewhere": "missing:missing_elsewhere",
    "missing-wide": "missing:missing_wide",
    "intervals": "intervals:intervals",
    "given": "intervals:without_selection",
    "stability": "stable:stability",
    "tests": "tests:loading_tests",
    "together": "together:dependent_rows",
}


def _maker(target: str) -> Callable[[Call], Table]:
    """Return a function that imports the table's module when it is made."""
    module, name, *further = target.split(":")

    def make(call: Call) -> Table:
        return getattr(importlib.import_module(f"benchmarks.trust.{module}"), name)(call, *further)

    return make


def main(arguments: list[str] | None = None) -> int:
    parser = command_line("trust", __doc__, TABLES)
    add_data(parser, "400 data sets for each model")
    parser.add_argument("--sets", type=int, metavar="N", help="data sets for each model; 100 by default")
    parser.add_argument("--done", type=Path, metavar="FILE", help="keep what was measured, and go on from it")
    parser.add_argument("--seconds", type=float, metavar="S", help="begin no data set after so many seconds")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.tables if name not in TABLES]
    if unknown:
        parser.error(f"unknown table {', '.join(unknown)}; there are {', '.join(TABLES)}")
    ends = time.perf_counter() + given.seconds if given.seconds else float("inf")
    call = Call(given.sets or (400 if given.full else 100), given.data, given.done, ends)
    for name in given.tables or TABLES:
        table = _maker(TABLES[name])(call)
        table.notes.append(
            f"`python -m benchmarks.trust {name}`, {call.sets} data sets for each model of "
            "`benchmarks/trust/models.py`, or fewer (last column) if --seconds ended the run. Standard "
            f"errors in parentheses. {stamp()}"
        )
        print(f"\n{table.show(False)}", flush=True)
        if given.write:  # a section for each table: they are remade one by one
            write_section(f"trust-{name}", table.show(True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
