"""Simulated data sets of a table: each is measured once, and stored in a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Table, mean_and_error, store_line, stored_lines

#: What was measured on one data set: figures by name, NaN (or no figure) where there is nothing to measure.
Measured = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """Options of the tables.

    Attributes
    ----------
    sets : int
        Data sets for each model.
    data : Path or None
        Folder with real data.
    done : Path or None
        A file with a line for every data set that was measured; these are not measured again. Delete it when
        the package changes what is measured.
    ends : float
        Value of ``time.perf_counter()`` after which no data set is begun.
    """

    sets: int = 100
    data: Path | None = None
    done: Path | None = None
    ends: float = np.inf
    known: dict[tuple[str, str, int], Measured] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for table, model, number, found in stored_lines(self.done):
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
                store_line(self.done, [table, model, number, found])
        return {
            model: [
                self.known[table, model, number]
                for number in range(self.sets)
                if (table, model, number) in self.known
            ]
            for model in models
        }


def with_number_of_sets(table: Table) -> Table:
    """Return the table with the number of its data sets in the title, from its column or row "data sets"."""
    column = [row[-1] for row in table.rows] if table.head[-1] == "data sets" else []
    row = [cells[1:] for cells in table.rows if cells[0] == "data sets"]
    numbers = sorted({int(text) for text in (*column, *(row[0] if row else []))})
    if numbers:
        few = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        table.title = f"{table.title} ({few} data sets)"
    return table


def shares(found: Sequence[Measured], names: Iterable[str]) -> list[str]:
    """Return the means of figures by name over data sets, with standard errors, and the number of sets."""
    return [*(mean_and_error(one.get(name, np.nan) for one in found) for name in names), str(len(found))]
