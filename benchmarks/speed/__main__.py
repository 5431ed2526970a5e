"""Time and memory: ``python -m benchmarks.speed [table ...] [--scale] [--data DIR] [--small] [--write]``.

Every measurement uses a new process. Times are medians after a warm-up round, alternating with a reference in
the same process: compare the ratios, since other programs may share the machine. Memory is resident memory as
the system reports it, in MB of 10^6 bytes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from benchmarks.report import Table, command_line, read_arguments, run_tables
from benchmarks.speed import calls, clusters, growth, memory, methods, parquet
from benchmarks.speed.fresh import Call
from spcastat.arguments import plural

TABLES: dict[str, Callable[[Call], Table]] = {
    "tall": memory.tall,
    "kos": memory.kos,
    "process": calls.process,
    "parquet": parquet.parquet,
    "methods": methods.methods,
    "fits": calls.fits,
    "growth": growth.growth,
    "resampling": calls.resampling,
}
#: Tables of large data, on the page scale.md.
SCALE: dict[str, Callable[[Call], Table]] = {
    "cluster-dense": clusters.dense,
    "limits": calls.limits,
}
#: Optional packages: module -> name of its distribution.
FURTHER = {"sklearn": "scikit-learn", "pyarrow": "pyarrow", "dask": "dask"}


def machine() -> str:
    """Return the processor, the number that this process may use, and the memory."""
    processor, memory = "an unknown processor", ""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        processor = next(line.split(":", 1)[1].strip() for line in text.splitlines() if "model name" in line)
        first = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()[0]
        memory = f", {int(first.split()[1]) * 1024 / 1e9:.0f} GB"
    except (OSError, StopIteration):
        pass
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{processor}, {plural(usable or 1, 'processor')}{memory}"


def main(arguments: list[str] | None = None) -> int:
    """Make and print the tables, and write them if ``--write`` is given."""
    parser = command_line("speed", __doc__, [*TABLES, *SCALE])
    parser.add_argument("--scale", action="store_true", help="the tables of large data, and no others")
    parser.add_argument("--small", action="store_true", help="shrink the largest data, to try the benchmark")
    parser.add_argument(
        "--threads", type=int, metavar="N", help="threads of linear algebra; one per processor by default"
    )
    given = read_arguments(parser, [*TABLES, *SCALE], arguments)
    tables = SCALE if given.scale else {**TABLES, **SCALE} if given.tables else TABLES
    call = Call(given.data, given.small, given.threads)
    versions = ["spcastat", "numpy", "scipy", "pandas"]
    versions += [name for module, name in FURTHER.items() if find_spec(module)]
    run_tables("speed", given, tables, call, f". {machine()}", versions)
    if given.write and "growth" in (given.tables or tables):
        growth.draw()
    return 0


if __name__ == "__main__":
    sys.exit(main())
