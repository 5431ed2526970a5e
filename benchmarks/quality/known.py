"""The best known values, in a file whose values only increase, and the runs that were made."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.report import store_line, stored_lines, timed

FILE = Path(__file__).with_name("best_known.json")
#: A value replaces the best known value if it is larger by more than this share.
RISE = 1e-9


def load(file: Path = FILE) -> dict[str, float]:
    """Return a mapping: key of a cell and objective -> best known share of the total variance."""
    return json.loads(file.read_text()) if file.exists() else {}


def improve(values: dict[str, float], file: Path = FILE) -> int:
    """Store values that are larger than the best known, and return how many there were."""
    known = load(file)
    better = {key: value for key, value in values.items() if value > known.get(key, 0.0) * (1.0 + RISE)}
    if better:
        known.update(better)
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps(dict(sorted(known.items())), indent=0) + "\n")
        fresh.replace(file)
    return len(better)


class Runs:
    """The runs that were made: the key of a run -> the value that it reached, and its CPU seconds.

    Every run is appended to `file` at once, so that a measurement can be continued later.
    """

    def __init__(self, file: Path | None):
        self.file = file
        self.found: dict[tuple[Any, ...], tuple[float, float]] = {}
        for *key, value, seconds in stored_lines(file):
            self.found[tuple(tuple(one) if isinstance(one, list) else one for one in key)] = value, seconds

    def measure(self, key: tuple[Any, ...], run: Callable[[], float]) -> tuple[float, float]:
        """Return the value and the seconds of a run, which is made unless it is stored."""
        if key not in self.found:
            self.found[key] = timed(run)
            store_line(self.file, [*key, *self.found[key]])
        return self.found[key]
