"""Fixed numbers of draws: each is measured once, stored in a file with its version, and reused.

A benchmark names its cells; `Draws.measured` makes the draws that are not in the file, in one or several
processes, and raises an error if the time (``--seconds``) ends before all draws are made: every cell shown
has its full number of draws.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.report import store_line, stored_lines

#: The result of a draw: numbers in a fixed order, or the reason why there are none.
Measured = list[float] | str
#: Folders and modules of spcastat that compute fits.
COMPUTING = ("linalg", "solvers", "search", "fit", "measures.py", "datasets.py")


class NoNumbers(Exception):
    """Raised if a draw gives no numbers; the table shows the message as the reason."""


class Unfinished(Exception):
    """Raised if the time ended before all draws of a table were made."""


@dataclass(frozen=True)
class Draw:
    """The seed of a draw, and the folder with real data."""

    seed: int
    data: Path | None = None

    def file(self, name: str) -> Path:
        """Return the path of a data file; raise NoNumbers if it is not there."""
        if self.data is None:
            raise NoNumbers(f"skipped: needs {name} (--data DIR)")
        path = self.data / name
        if not path.exists():
            raise NoNumbers(f"skipped: {name} is not in the folder of --data")
        return path


@dataclass(frozen=True)
class Cell:
    """One cell of a table: a function, its arguments, and the number of draws.

    Attributes
    ----------
    name : str
        Unique in the table.
    trial : callable
        ``trial(draw, **given)`` returns numbers or raises NoNumbers. It must be a function of a module, since
        other processes import it.
    given : mapping
        Values that JSON can represent.
    draws : int
        Seeds 0, 1, ..., draws - 1.
    """

    name: str
    trial: Callable[..., Sequence[float]]
    given: Mapping[str, Any] = field(default_factory=dict)
    draws: int = 1


@dataclass(frozen=True)
class Means:
    """Means over the draws of a cell, their standard errors (NaN for one draw), and their number.

    The smallest and the largest of the draws are also stored, if they are known.
    """

    mean: np.ndarray
    error: np.ndarray
    draws: int
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    def shares(self, of: float) -> Means:
        """Return shares as counts out of `of`, with binomial standard errors that are never 0.

        The error is computed with one more success and one more failure (Agresti and Coull's n + 2).
        """
        q = (self.mean * self.draws + 1.0) / (self.draws + 2.0)
        return Means(of * self.mean, of * np.sqrt(q * (1.0 - q) / self.draws), self.draws)

    def times(self, factor: float) -> Means:
        low, high = (None if bound is None else factor * bound for bound in (self.low, self.high))
        return Means(factor * self.mean, factor * self.error, self.draws, low, high)

    def __getitem__(self, place: Any) -> Means:
        low, high = (None if bound is None else bound[place] for bound in (self.low, self.high))
        return Means(self.mean[place], self.error[place], self.draws, low, high)


@cache
def computing_version() -> str:
    """Return the version of the package and eight digits that change with the code that computes."""
    digest = hashlib.sha256()
    home = Path(sp.__file__).parent
    for name in COMPUTING:
        place = home / name
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(path.relative_to(home).as_posix().encode() + path.read_bytes())
    return f"{sp.__version__}+{digest.hexdigest()[:8]}"


def add_draws(parser: argparse.ArgumentParser) -> None:
    """Add ``--done``, ``--jobs``, ``--seconds`` and ``--any-version``."""
    parser.add_argument(
        "--done", type=Path, metavar="FILE", help="store every draw in FILE, and do not repeat stored draws"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that share the draws")
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="begin no draw after S seconds; continue with --done"
    )
    parser.add_argument(
        "--any-version", action="store_true", help="also use draws in FILE by other versions of the code"
    )


@dataclass
class Draws:
    """The draws that were made, and options for making more.

    Attributes
    ----------
    data : Path or None
        Folder with real data.
    done : Path or None
        A file with a line for every draw.
    jobs : int
    ends : float
        Value of ``time.perf_counter()`` after which no draw is begun.
    any_version : bool
        Whether draws of other versions of the code are used.
    """

    data: Path | None = None
    done: Path | None = None
    jobs: int = 1
    ends: float = math.inf
    any_version: bool = False
    versions: set[str] = field(default_factory=set)
    _known: dict[tuple[str, int], tuple[str, Measured]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for version, key, seed, found in stored_lines(self.done):
            if self.any_version or version == computing_version():
                self._known[key, seed] = version, found

    @classmethod
    def from_arguments(cls, given: argparse.Namespace) -> Draws:
        """Return an instance with the options of `add_draws`."""
        ends = time.perf_counter() + given.seconds if given.seconds is not None else math.inf
        return cls(given.data, given.done, given.jobs, ends, given.any_version)

    def measured(self, table: str, cells: Iterable[Cell]) -> dict[str, Means | str]:
        """Return the means of every cell, or the reason why it has none.

        Raises
        ------
        Unfinished
            If the time `ends` came before all draws were made. The draws that were made are stored.
        """
        cells = list(cells)
        missing = [
            (self._key(table, cell), cell, seed)
            for cell in cells
            for seed in range(cell.draws)
            if (self._key(table, cell), seed) not in self._known
        ]
        made = sum(1 for _ in self._make(missing))
        if made < len(missing):
            raise Unfinished(f"{table}: {len(missing) - made} draws are still to be made")
        return {cell.name: self._means(table, cell) for cell in cells}

    def raw(self, table: str, cell: Cell) -> list[Measured]:
        """Return the results of the draws of a cell, in the order of their seeds."""
        key = self._key(table, cell)
        return [self._known[key, seed][1] for seed in range(cell.draws)]

    def _means(self, table: str, cell: Cell) -> Means | str:
        found = self.raw(table, cell)
        self.versions |= {self._known[self._key(table, cell), seed][0] for seed in range(cell.draws)}
        for one in found:
            if isinstance(one, str):
                return one
        values = np.asarray(found, dtype=float)
        count = len(values)
        error = values.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.full(values.shape[1], np.nan)
        return Means(values.mean(axis=0), error, count, values.min(axis=0), values.max(axis=0))

    @staticmethod
    def _key(table: str, cell: Cell) -> str:
        """Return the identity of the draws of a cell: its name, its options, and the code of its trial."""
        return f"{table} | {cell.name} | {json.dumps(cell.given, sort_keys=True)} | {_source(cell.trial)}"

    def _make(self, missing: Sequence[tuple[str, Cell, int]]) -> Iterator[Measured]:
        tasks = [(cell.trial, Draw(seed, self.data), dict(cell.given)) for _, cell, seed in missing]
        for (key, _, seed), found in zip(missing, self._shared(tasks), strict=False):
            self._known[key, seed] = computing_version(), found
            store_line(self.done, [computing_version(), key, seed, found])
            yield found

    def _shared(self, tasks: Sequence[tuple[Any, Draw, dict[str, Any]]]) -> Iterator[Measured]:
        """Yield the results of the tasks in their order, until the time is over."""
        if self.jobs == 1:
            for task in tasks:
                if time.perf_counter() > self.ends:
                    return
                yield _one(task)
            return
        waiting = iter(tasks)
        with ProcessPoolExecutor(self.jobs) as pool:
            # Few tasks are submitted ahead, since tasks that have begun are finished after the end.
            ahead = [pool.submit(_one, task) for task in islice(waiting, 2 * self.jobs)]
            while ahead:
                yield ahead.pop(0).result()
                if time.perf_counter() <= self.ends:
                    ahead += [pool.submit(_one, task) for task in islice(waiting, 1)]


@cache
def _source(trial: Callable[..., Any]) -> str:
    """Return eight digits that change with the text of a trial."""
    return hashlib.sha256(inspect.getsource(trial).encode()).hexdigest()[:8]


def _one(task: tuple[Callable[..., Sequence[float]], Draw, dict[str, Any]]) -> Measured:
    trial, draw, given = task
    try:
        return [float(value) for value in trial(draw, **given)]
    except NoNumbers as reason:
        return str(reason)
