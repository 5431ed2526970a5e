"""Measurements in new processes: seconds and peak memory; rows of tables.

``python -m benchmarks.speed.fresh MODULE FUNCTION ARGUMENTS`` calls one function and prints its result, as
JSON, with the peak memory of the process.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
#: Environment variables for the number of threads of linear algebra.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
MEGABYTE = 1e6


@dataclass(frozen=True)
class Call:
    """The options of the command line.

    Attributes
    ----------
    data : Path or None
        Folder with the real data.
    small : bool
        Shrink the largest data, to try the benchmark itself.
    threads : int or None
        Threads of linear algebra; None leaves them to the libraries.
    """

    data: Path | None
    small: bool
    threads: int | None = None

    def file(self, name: str) -> str | None:
        """Return the path of a real data set, or None if it is missing."""
        path = None if self.data is None else (self.data / name).resolve()
        return str(path) if path is not None and path.exists() else None

    def size(self, n: int) -> int:
        """Return the number of rows to use: n, or a twentieth of n if `small`."""
        return n // 20 if self.small else n


def environment(threads: int | None) -> dict[str, str]:
    """Return the environment of a new process, with the number of threads of linear algebra."""
    others = {name: value for name, value in os.environ.items() if name not in THREADS}
    return others if threads is None else others | dict.fromkeys(THREADS, str(threads))


class TooLong(Exception):
    """Raised if a measurement was stopped after its time limit."""


def fresh(
    function: Callable[..., Any], *, threads: int | None = None, limit: float | None = None, **given: Any
) -> tuple[Any, float]:
    """Call a function of a module of the benchmarks in a new process.

    Parameters
    ----------
    function : callable
        Its result must be representable in JSON.
    threads : int, optional
        Threads of linear algebra; by default the libraries decide.
    limit : float, optional
        Seconds after which the process is stopped.
    **given
        Arguments, which must be representable in JSON.

    Returns
    -------
    result : object
    peak : float
        The largest resident memory of the process, in MB (NaN if the system does not report it).

    Raises
    ------
    TooLong
        After `limit`.
    """
    command = [sys.executable, "-m", __name__, function.__module__, function.__name__, json.dumps(given)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment(threads), stdout=subprocess.PIPE, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        raise TooLong from None
    if done.returncode != 0:
        raise RuntimeError(f"{function.__module__}.{function.__name__} failed in its process; see above.")
    answer = json.loads(done.stdout.splitlines()[-1])
    return answer["result"], answer["peak"]


def in_turns(rounds: int, **work: Callable[[], Any]) -> dict[str, float]:
    """Run pieces of work in turns, after a warm-up round; return the median seconds of each."""
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(rounds + 1):
        for name, one in work.items():
            begun = time.perf_counter()
            one()
            if turn:
                seconds[name].append(time.perf_counter() - begun)
    return {name: float(np.median(taken)) for name, taken in seconds.items()}


def resident(field: str = "VmRSS") -> float:
    """Return the resident memory of this process in MB: current, or the largest so far with "VmHWM"."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024 / MEGABYTE
    return float("nan")


def forget_peak() -> bool:
    """Reset "VmHWM", and return whether the system allows this."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def beyond(work: Callable[[], Any]) -> float:
    """Return the largest increase in resident memory, in MB, while `work` runs."""
    before = resident()
    if not forget_peak() and resident("VmHWM") > 1.02 * before:
        return float("nan")
    work()
    return resident("VmHWM") - before


# --- rows of tables -------------------------------------------------------------------------------

#: A time or a size compared with a reference, or a figure without one.
HEAD = ["measurement", "reference", "spcastat", "result"]


def ratio(work: str, reference: float, ours: float) -> list[str]:
    """Return a row of seconds, with ours divided by the reference."""
    return [work, seconds(reference), seconds(ours), f"{ours / reference:.2f} x"]


def figure(work: str, measured: float, unit: str = "MB", digits: int = 0) -> list[str]:
    """Return a row for a figure without a reference."""
    return [work, "-", "-", f"{measured:,.{digits}f} {unit}".strip()]


def seconds(value: float) -> str:
    """Return seconds with three significant digits."""
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.3g} ms"


# --- the new process ------------------------------------------------------------------------------


def main() -> None:
    """Call the function that the command line names."""
    module, function, given = sys.argv[1:]
    result = getattr(importlib.import_module(module), function)(**json.loads(given))
    print(json.dumps({"result": result, "peak": resident("VmHWM")}))


if __name__ == "__main__":
    main()
