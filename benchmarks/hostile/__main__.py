"""Thousands of hostile calls: ``python -m benchmarks.hostile [AREA ...] [--every N] [--jobs N]``.

Each call is made in a worker process, with a limit of seconds and of memory, and judged: right, refused,
wrong, foreign or hang. It ends with the counts by area, after every case of the last three, and with exit
code 1 if there is any.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from benchmarks.hostile.areas import AREAS
from benchmarks.hostile.cases import FAULTS, VERDICTS, Verdict
from benchmarks.hostile.workers import verdicts
from benchmarks.report import text_table


def main(arguments: Sequence[str] | None = None) -> int:
    """Attack the areas that are named, all by default, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"any of {', '.join(AREAS)}")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th case")
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of each case")
    parser.add_argument("--megabytes", type=int, default=4000, help="limit of the memory of a worker")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="workers at a time")
    given = parser.parse_args(arguments)
    areas = given.areas or list(AREAS)
    if unknown := [area for area in areas if area not in AREAS]:
        parser.error(f"unknown area {', '.join(unknown)}; there are {', '.join(AREAS)}")
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    attack = partial(_attacked, step=given.every, seconds=given.seconds, megabytes=given.megabytes)
    with ThreadPoolExecutor(given.jobs) as pool:
        counts = dict(zip(areas, pool.map(attack, areas), strict=True))
    total: Counter[str] = sum(counts.values(), Counter())
    rows = [
        [area, *(str(found[one]) for one in VERDICTS), str(found.total())] for area, found in counts.items()
    ]
    rows.append(["all", *(str(total[one]) for one in VERDICTS), str(total.total())])
    print("\n" + text_table(["area", *VERDICTS, "cases"], rows))
    return int(any(total[one] for one in FAULTS))


def _attacked(area: str, step: int, seconds: float, megabytes: int) -> Counter[str]:
    """Attack one area, print its faults, and count its verdicts."""
    found: Counter[str] = Counter()
    for verdict in verdicts(area, step, seconds, megabytes):
        found[verdict.verdict] += 1
        if verdict.verdict in FAULTS:
            print(_line(area, verdict), flush=True)
    return found


def _line(area: str, verdict: Verdict) -> str:
    text = f"{verdict.verdict:8}{area}: {verdict.name} | {verdict.why[:300]}"
    return " ".join(text.split()).encode("ascii", "backslashreplace").decode()


if __name__ == "__main__":
    sys.exit(main())
