"""Planted data sets for a table, each measured once and stored in a file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

#: What was measured on one data set: figures by name, NaN (or no figure) where there is nothing to measure.
Measured = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """What a table is made of.

    Attributes
    ----------
    sets : int
        Data sets for each model.
    data : Path or None
        Folder with real data.
    done : Path or None
        A file with what was measured before: of every data set a line. It is not measured again, and what is
        new goes there at once. To be deleted when the package changes what is measured.
    ends : float
        When ``time.perf_counter()`` has come there, no further data set is begun.
    """

    sets: int = 100
    data: Path | None = None
    done: Path | None = None
    ends: float = np.inf
    known: dict[tuple[str, str, int], Measured] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.done is not None and self.done.exists():
            for line in self.done.read_text().splitlines():
                table, model, number, found = json.loads(line)
                self.known[table, model, number] = found

    def measured(
        self, table: str, models: Iterable[str], one: Callable[[str, int], Measured]
    ) -> dict[str, list[Measured]]:
        """Return what was measured on the data sets of every model; all models get the same number of them.

        Parameters
        ----------
        table : str
        models : iterable of str
        one : callable
            Model and number of the data set -> what is measured.
        """
        models = list(models)
        for number in range(self.sets):
            for model in models:
                if (table, model, number) in self.known or time.perf_counter() > self.ends:
                    continue
                found = one(model, number)
                self.known[table, model, number] = found
                if self.done is not None:
                    with self.done.open("a") as out:
                        out.write(json.dumps([table, model, number, found]) + "\n")
        return {
            model: [
                self.known[table, model, number]
                for number in range(self.sets)
                if (table, model, number) in self.known
            ]
            for model in models
        }


def share(hits: Sequence[float]) -> str:
    """Return a mean with its standard error, as in ``.880 (.032)``; a dash where there is nothing."""
    values = np.asarray([value for value in hits if not np.isnan(value)], dtype=float)
    if not len(values):
        return "-"
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():.3f} ({error:.3f})"


def shares(found: Sequence[Measured], names: Iterable[str]) -> list[str]:
    """Return the means of figures by name over data sets, with standard errors, and the number of sets."""
    return [*(share([one.get(name, np.nan) for one in found]) for name in names), str(len(found))]
