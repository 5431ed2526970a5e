"""The best values ever found, in a file to which values are only added, and the runs that were made."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from spcastat.linalg.operators import Operator
from spcastat.measures import MEASURES

FILE = Path(__file__).with_name("best_known.json")
#: A value must lie above the best known by this share to take its place.
RISE = 1e-9


def load(file: Path = FILE) -> dict[str, float]:
    """Return key of a cell and objective -> best known share of the total variance."""
    return json.loads(file.read_text()) if file.exists() else {}


def improve(values: dict[str, float], file: Path = FILE) -> int:
    """Take over values that are better than the best known, and return how many there were."""
    known = load(file)
    better = {key: value for key, value in values.items() if value > known.get(key, 0.0) * (1.0 + RISE)}
    if better:
        known.update(better)
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps(dict(sorted(known.items())), indent=0) + "\n")
        fresh.replace(file)
    return len(better)


def share(V: np.ndarray, op: Operator, objective: str) -> float:
    """Return the objective of loadings by the package's measures, as a share of the total variance."""
    return float(MEASURES[objective](V, op)[-1])


class Ran:
    """Runs that were made: what identifies a run -> the value it reached, and its CPU seconds.

    Every run is written to `file` at once, a line each, so that a measurement may go on later.
    """

    def __init__(self, file: Path | None):
        self.file = file
        self.found: dict[tuple[Any, ...], tuple[float, float]] = {}
        lines = file.read_text().splitlines() if file is not None and file.exists() else []
        for line in lines:
            *key, value, seconds = json.loads(line)
            self.found[tuple(tuple(one) if isinstance(one, list) else one for one in key)] = value, seconds

    def timed(self, key: tuple[Any, ...], make: Callable[[], float]) -> tuple[float, float]:
        """Return value and seconds of a run, which is made where it is not known."""
        if key not in self.found:
            begun = time.process_time()
            value = make()
            self.found[key] = value, time.process_time() - begun
            if self.file is not None:
                with self.file.open("a") as out:
                    out.write(json.dumps([*key, *self.found[key]]) + "\n")
        return self.found[key]
