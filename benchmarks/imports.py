"""Time of the imports: ``python -m benchmarks.imports [--runs N]``.

Every line is the wall time of a new interpreter, measured in turns with the others so that a busy moment
falls on all alike; shown are medians, what each takes beyond the bare interpreter, and the ratio of that
to ``import numpy, scipy, pandas``. The promises: bare ``import spcastat`` under 0.05 s beyond the
interpreter, ``spcastat.spca`` under numpy + scipy + pandas plus 0.1 s.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

_BARE = "pass"
_STACK = "import numpy, scipy, scipy.linalg, scipy.sparse, pandas"
STATEMENTS = {
    "the interpreter": _BARE,
    "import spcastat": "import spcastat",
    "spcastat.errors": "import spcastat; spcastat.errors",
    "numpy, scipy, pandas": _STACK,
    "spcastat.datasets": "import spcastat; spcastat.datasets",
    "spcastat.spca": "import spcastat; spcastat.spca",
}


def seconds(statement: str) -> float | None:
    """Return the wall time of an interpreter that runs `statement`, or None if that fails."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", statement], capture_output=True)
    return time.perf_counter() - start if done.returncode == 0 else None


def measure(runs: int) -> dict[str, list[float]]:
    """Return the times of every statement that works, over `runs` rounds after one to warm up."""
    working = {name: line for name, line in STATEMENTS.items() if seconds(line) is not None}
    times: dict[str, list[float]] = {name: [] for name in working}
    for _ in range(runs):
        for name, line in working.items():
            taken = seconds(line)
            if taken is not None:
                times[name].append(taken)
    return times


def report(times: dict[str, list[float]]) -> str:
    """Return the table."""
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    bare = medians["the interpreter"]
    stack = medians["numpy, scipy, pandas"] - bare
    lines = [f"{'':<22}{'median s':>10}{'beyond s':>10}{'ratio':>8}"]
    for name in STATEMENTS:
        if name not in medians:
            lines.append(f"{name:<22}{'fails':>10}")
            continue
        beyond = medians[name] - bare
        lines.append(f"{name:<22}{medians[name]:>10.3f}{beyond:>10.3f}{beyond / stack:>8.2f}")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What the imports of spcastat cost.")
    parser.add_argument("--runs", type=int, default=11, help="rounds (default 11)")
    print(report(measure(max(1, parser.parse_args().runs))))


if __name__ == "__main__":
    main()
