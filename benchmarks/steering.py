"""Numbers that steer the searches: ``python -m benchmarks.steering [table ...] [--data DIR] [--write]``.

Each number is replaced in turn by one that lets what it limits act always, never or less, and the same
problems are solved again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import spcastat as sp
from benchmarks.data import correlation, real_rows
from benchmarks.report import Table, command_line, read_arguments, run_tables, timed
from spcastat.linalg.operators import Gram
from spcastat.search import chains, climbing, loading_patterns, moves, partition
from spcastat.search.climbing import EFFORTS
from spcastat.search.default import joint
from spcastat.search.objectives import OBJECTIVES

#: Values that differ by a smaller share are the same, in percent.
SAME = 1e-4
ALWAYS = 10**9
#: Cardinalities of the components, and data sets.
CARDS = ((6, 6, 6), (3, 3, 3, 3, 3), (8, 6, 4, 3, 2))
DATA = ("pitprops", "breast cancer", "digits")
#: Data sets, numbers of components and cardinalities of sparse loadings; data sets of partitions.
LOADINGS = (("pitprops", "wine", "breast cancer", "diabetes", "glass", "dermatology"), (2, 3, 5), (3, 6, 10))
PARTITIONS = ("pitprops", "glass", "dermatology", "segment", "diabetes", "breast cancer")


class Change(NamedTuple):
    """A number and what takes its place: of a module or, if that is None, of the default effort."""

    module: Any
    name: str
    instead: Any

    def made(self) -> AbstractContextManager[Any]:
        """Return the context in which the number is replaced."""
        if self.module is not None:
            return mock.patch.object(self.module, self.name, self.instead)
        return mock.patch.dict(EFFORTS, auto=replace(EFFORTS["auto"], **{self.name: self.instead}))

    def words(self) -> list[str]:
        """Return the file, the name, the number and what takes its place."""
        file = "climbing, effort auto" if self.module is None else self.module.__name__.rsplit(".", 1)[-1]
        number = getattr(EFFORTS["auto"] if self.module is None else self.module, self.name)
        instead = "no limit" if self.instead == ALWAYS else str(self.instead)
        return [f"{file}: {self.name}", str(number), instead]


SEARCH = (
    Change(chains, "SUFFIX_SHARE", 0.0),
    Change(chains, "ROTATION_SHARE", 0.0),
    Change(chains, "BEST_PICK_SHARE", 0.0),
    Change(chains, "ALL_ROWS_LIMIT", ALWAYS),
    Change(chains, "START_ROWS_LEAST", 25),
    Change(chains, "ELITE", 1),
    Change(chains, "BELOW_BEST", 1.0),
    Change(chains, "REBUILT_TRIED", 1),
    Change(chains, "REBUILT_CLIMBS", 1),
    Change(climbing, "SHORT", 3),
    Change(climbing, "VALUED", 6),
    Change(climbing, "ROUNDS_TO_BEST", np.inf),
    Change(climbing, "FEW_LOADINGS", 0),
    Change(climbing, "MANY_LOADINGS", ALWAYS),
    Change(moves, "EXACT_EXCHANGES", 1),
    Change(None, "chains", 1),
    Change(None, "climbs", 1),
    Change(None, "kicks", 4),
    Change(None, "rounds", 3),
    Change(None, "width", 10),
    Change(None, "valued", 1),
    Change(None, "deep", False),
)
OF_PARTITIONS = (
    Change(partition, "OPTIMISED_PARTITIONS", 1),
    Change(partition, "ALL_TRIED", 0),
    Change(partition, "FITTED", 300),
)
OF_LOADINGS = (
    Change(loading_patterns, "REFINED", 1),
    Change(loading_patterns, "ALL_EXCHANGES", 0),
    Change(loading_patterns, "PROMISING_EXCHANGES", 12),
    Change(loading_patterns, "FOLLOWED", 1),
    Change(loading_patterns, "START_STEPS", 30),
)

Problem = Callable[[], float]


def compared(title: str, changes: Sequence[Change], problems: Sequence[Problem]) -> Table:
    """Return the table of the problems solved with each change."""

    def solved() -> tuple[np.ndarray, float]:
        with np.errstate(invalid="ignore"):  # no limit times no rise
            values, seconds = timed(lambda: [problem() for problem in problems])
        return np.array(values), seconds

    problems[0]()  # imports
    values, seconds = solved()
    head = ["file: name", "number", "instead", "changed", "mean %", "worst %", "best %", "time"]
    table = Table(title, head)
    for change in changes:
        with change.made():
            new_values, new_seconds = solved()
        percent = 100.0 * (new_values / values - 1.0)
        figures = [f"{x:+.4f}" for x in (percent.mean(), percent.min(), percent.max())]
        count = f"{(np.abs(percent) > SAME).sum()} of {len(values)}"
        table.rows.append([*change.words(), count, *figures, f"{new_seconds / seconds:.2f}"])
    table.notes.append(
        f"{len(values)} problems, seed 0: how many values change by more than {SAME:g} %; the mean, the "
        "smallest and the largest change; CPU time relative to that with the numbers as they are, on a "
        "machine with other work."
    )
    return table


def matrices(names: Sequence[str], folder: Path | None) -> dict[str, np.ndarray]:
    """Return the correlation matrices that are at hand."""
    found = {name: correlation(name, folder) for name in names}
    return {name: S for name, S in found.items() if S is not None}


def search(given: argparse.Namespace) -> Table:
    """Compare searches of several components, by every objective, quick and auto, and of wide data."""

    def value(op: Gram, card: tuple[int, ...], objective: str, effort: str) -> float:
        return joint(op, len(card), card, objective, effort, np.random.default_rng(0)).value

    def wide(X: np.ndarray, k: int, card: int) -> float:
        return float(sp.spca(X, k, card, scale=True, rng=0).measure("adjusted"))

    problems: list[Problem] = [
        partial(value, Gram(S), card, objective, effort)
        for S in matrices(DATA, given.data).values()
        for card in CARDS
        for objective in OBJECTIVES
        for effort in ("quick", "auto")
    ]
    S = correlation("communities", given.data)
    if S is not None:
        problems.append(partial(value, Gram(S), (5,) * 20, "adjusted", "auto"))
    X = real_rows("khan", given.data)
    if X is not None:
        problems.append(partial(wide, X, 5, 10))
    return compared("Numbers of the search of all components together", SEARCH, problems)


def partitions(given: argparse.Namespace) -> Table:
    """Compare partitions into three and four groups."""

    def value(S: np.ndarray, k: int, objective: str) -> float:
        fit = sp.spca_cov(S, k, disjoint=True, objective=objective, effort="quick", rng=0)
        return float(fit.measure(objective))

    problems: list[Problem] = [
        partial(value, S, k, objective)
        for S in matrices(PARTITIONS, given.data).values()
        for k in (3, 4)
        for objective in OBJECTIVES
    ]
    return compared("Numbers of the search of partitions", OF_PARTITIONS, problems)


def sparse_loadings(given: argparse.Namespace) -> Table:
    """Compare sparse loadings."""
    names, ks, cards = LOADINGS

    def value(op: Gram, k: int, card: int) -> float:
        nonzeros = loading_patterns.Nonzeros((card,) * k)
        return loading_patterns.search(op, k, nonzeros, np.random.default_rng(0)).explained

    problems: list[Problem] = [
        partial(value, Gram(S), k, card)
        for S in matrices(names, given.data).values()
        for k in ks
        for card in cards
        if card < len(S)
    ]
    return compared("Numbers of the search of sparse loadings", OF_LOADINGS, problems)


TABLES: dict[str, Callable[[argparse.Namespace], Table]] = {
    "search": search,
    "partitions": partitions,
    "loadings": sparse_loadings,
}


def main(arguments: list[str] | None = None) -> int:
    """Make the tables, print them, and write them if the command line says so."""
    given = read_arguments(command_line("steering", __doc__, TABLES), TABLES, arguments)
    run_tables("steering", given, TABLES, given, ", one thread")
    return 0


if __name__ == "__main__":
    sys.exit(main())
