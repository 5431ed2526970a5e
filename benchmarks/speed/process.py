"""A whole process with a small fit, compared with one that only imports."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from benchmarks.report import Table
from benchmarks.speed.fresh import Call
from benchmarks.speed.rows import HEAD, ratio

CALL = "sp.spca_cov(sp.datasets.load_pitprops(), 6, card=[7, 4, 4, 1, 1, 1])"
STATEMENTS = {
    "imports": "import numpy, scipy, pandas",
    "more imports": "import numpy, scipy, scipy.linalg, scipy.sparse, pandas",
    "fit": f"import spcastat as sp; {CALL}",
    "print": f"import spcastat as sp; print({CALL})",
}
ROUNDS = 15


def wall(statement: str) -> float | None:
    """Return the wall time of an interpreter that runs `statement`, or None if that fails."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", statement], capture_output=True)
    return time.perf_counter() - start if done.returncode == 0 else None


def process(call: Call) -> Table:
    """Pitprops from the start of the interpreter to its end."""
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for turn in range((3 if call.small else ROUNDS) + 1):
        for name, statement in STATEMENTS.items():
            taken = wall(statement)
            if taken is None:
                raise RuntimeError(f"this fails in a new interpreter: {statement}")
            if turn:
                times[name].append(taken)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    bare, more, fit, printed = medians.values()
    table = Table("Pitprops, the whole process", HEAD)
    table.rows += [
        ratio("fit, relative to importing numpy, scipy, pandas", bare, fit),
        ratio("fit, relative to the same with scipy.linalg, scipy.sparse", more, fit),
        ratio("fit and print, relative to importing numpy, scipy, pandas", bare, printed),
    ]
    table.notes.append(f'`python -c "{STATEMENTS["fit"]}"`; medians of {ROUNDS} processes each, in turns.')
    return table
