"""The command: ``python -m benchmarks.speed [table ...] [--scale] [--data DIR] [--small] [--write]``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from benchmarks.report import Table, command_line, read_arguments, run_tables, stamp
from benchmarks.speed import (
    cluster,
    clusters,
    controlled,
    dense,
    growth,
    methods,
    others,
    parquet,
    pieces,
    process,
    sparse,
)
from benchmarks.speed.fresh import Call

TABLES: dict[str, Callable[[Call], Table]] = {
    "tall": dense.tall,
    "wide": dense.wide,
    "planted": dense.planted_loadings,
    "kos": sparse.kos,
    "documents": sparse.documents,
    "controlled": controlled.controlled,
    "growth": growth.growth,
    "process": process.process,
    "parquet": parquet.parquet,
    "others": others.others,
    "methods": methods.methods,
}
#: Those of large data, a section of their own.
SCALE: dict[str, Callable[[Call], Table]] = {
    "command": pieces.command,
    "weak": pieces.weak,
    "single": pieces.single,
    "sparse-rows": pieces.sparse_rows,
    "workers": cluster.workers,
    "cluster-dense": clusters.dense,
    "cluster-sparse": clusters.sparse,
}
#: Packages beside those of every benchmark: module -> name of its distribution.
FURTHER = {"sklearn": "scikit-learn", "pyarrow": "pyarrow", "abess": "abess", "sparsepca": "sparsepca"}


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
    return f"{processor}, {usable} processors{memory}"


def main(arguments: list[str] | None = None) -> int:
    """Make the tables, print them, and write them where that is asked for."""
    parser = command_line("speed", __doc__, [*TABLES, *SCALE])
    parser.add_argument("--scale", action="store_true", help="the tables of large data, and no others")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the real data")
    parser.add_argument("--small", action="store_true", help="shrink the largest data, to try the benchmark")
    parser.add_argument(
        "--threads", type=int, metavar="N", help="threads of linear algebra; the libraries' own by default"
    )
    given = read_arguments(parser, [*TABLES, *SCALE], arguments)
    tables = SCALE if given.scale else {**TABLES, **SCALE} if given.tables else TABLES
    call = Call(given.data, given.small, given.threads)
    versions = ["spcastat", "numpy", "scipy", "pandas"]
    versions += [name for module, name in FURTHER.items() if find_spec(module)]
    body = [
        "## Scale" if given.scale else "## Speed",
        f"`python -m benchmarks.speed{' --scale' * given.scale}`, "
        f"{'with' if given.data else 'without'} real data"
        f"{', large data shrunk' if given.small else ''}. {machine()}; threads of linear algebra: "
        f"{given.threads or 'as the libraries choose, one a processor'} (one in the table of all methods). "
        f"{stamp(versions)}",
        "Every measurement is made in a new process. Times stand beside those of a reference that ran in "
        "turns with the fit in the same process (medians, after a round to warm up): compare the ratios, for "
        "others use the machine, too. Memory is what the system says was resident (MB of 10^6 bytes).",
    ]
    print("\n\n".join(body), flush=True)
    run_tables("scale" if given.scale else "speed", given, tables, call, body, Table.show)
    return 0


if __name__ == "__main__":
    sys.exit(main())
