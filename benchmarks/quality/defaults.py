"""The default search on 184 cells: loss relative to the best known value, and CPU time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.data import correlation
from benchmarks.quality import known
from benchmarks.report import Table
from spcastat.linalg.operators import Gram
from spcastat.search.climbing import EFFORTS
from spcastat.search.joint_search import joint
from spcastat.search.objectives import OBJECTIVES

#: Data sets, by their names in `benchmarks.data`.
DATA = (
    *("pitprops", "wine", "breast cancer", "diabetes", "digits", "communities", "dermatology", "glass"),
    *("segment", "letter", "pendigits", "page blocks", "khan", "alon"),
)
#: Cardinalities for every k, and cardinalities for one k only.
COMMON = (3, 6, 10)
MIXED = {3: (6, 4, 3), 5: (8, 6, 4, 3, 2)}
KS = (1, 2, 3, 5)
#: Seeds from this number on are used to look for values better than the best known.
FURTHER = 1000
#: A run reaches the best known value if its relative loss is at most this.
REACHED = 1e-3


@dataclass(frozen=True)
class Cell:
    """One problem: k components of given cardinalities on the correlation matrix of a data set."""

    data: str
    card: tuple[int, ...]

    @property
    def k(self) -> int:
        return len(self.card)

    def key(self, objective: str) -> str:
        return f"{self.data} | {'-'.join(map(str, self.card))} | {objective}"


def cells(name: str, p: int) -> Iterator[Cell]:
    """Yield the cells of a data set with p variables whose cardinalities are below p."""
    for k in KS:
        for card in COMMON:
            if card < p:
                yield Cell(name, (card,) * k)
        if k in MIXED and max(MIXED[k]) < p:
            yield Cell(name, MIXED[k])


#: Cell, number of variables, objective, effort, seed.
Key = tuple[Cell, int, str, str, int]


@dataclass(frozen=True)
class Run:
    """A run: its cell, objective, effort and seed, the share reached, the best known, and CPU seconds."""

    cell: Cell
    p: int
    objective: str
    effort: str
    seed: int
    value: float
    best: float
    seconds: float

    @property
    def loss(self) -> float:
        return max(0.0, 100.0 * (1.0 - self.value / self.best))


def measured(
    folder: Path | None,
    seeds: Iterable[int],
    efforts: Iterable[str] = tuple(EFFORTS),
    done: Path | None = None,
) -> tuple[list[Run], list[str]]:
    """Search in all cells and store values better than the best known; return runs and skipped data sets.

    Every run is stored in the file `done`, if there is one, and stored runs are not repeated. Quick searches
    of all data come first, thorough searches last.
    """
    ran = known.Runs(done)
    keys, skipped = [], []
    for effort in sorted(efforts, key=list(EFFORTS).index):
        wanted = list(product(seeds, OBJECTIVES, [effort]))
        for name in DATA:
            S = correlation(name, folder)
            if S is None:
                skipped.append(f"{name} skipped: its file is not in the folder of --data")
                continue
            keys += _of_data(name, Gram(S), wanted, ran)
    best = known.load()
    runs = []
    for key in keys:
        value, seconds = ran.found[key[0].data, key[0].card, *key[1:]]
        runs.append(Run(*key, value, best[key[0].key(key[2])], seconds))
    return runs, list(dict.fromkeys(skipped))


def _of_data(name: str, op: Gram, wanted: list[tuple[int, str, str]], ran: known.Runs) -> list[Key]:
    """Make the runs of one data set, store values better than the best known, and return their keys."""
    fresh: dict[str, float] = {}
    keys = []
    for cell in cells(name, op.p):
        for seed, objective, effort in wanted:
            key = (cell, op.p, objective, effort, seed)
            row = (cell.data, cell.card, *key[1:])
            value, _ = ran.measure(row, partial(_value, op, cell, objective, effort, seed))
            keys.append(key)
            best = cell.key(objective)
            fresh[best] = max(value, fresh.get(best, 0.0))
    known.improve(fresh)
    return keys


def _value(op: Gram, cell: Cell, objective: str, effort: str, seed: int) -> float:
    return joint(op, cell.k, cell.card, objective, effort, np.random.default_rng(seed)).value


def summary(runs: list[Run]) -> Table:
    """Return the table of losses and CPU seconds by objective and effort."""
    table = Table(
        "The default search against the best known",
        [
            "objective, effort, k",
            *("cells", "within .1 %", "worst %", "mean %", "median s", "max s", "max s, p=500"),
        ],
    )
    for one in (True, False):
        for objective in OBJECTIVES:
            for effort in EFFORTS:
                part = [r for r in runs if (r.objective, r.effort, r.cell.k == 1) == (objective, effort, one)]
                if not part:
                    continue
                label = f"{objective}, {effort}, k {'= 1' if one else '> 1'}"
                cells = _cells(part)
                if effort == "thorough":  # the best known values are mostly its own
                    cells[1] = "-"
                table.rows.append([label, *cells])
    table.notes = [
        "Loss relative to the best known value; CPU seconds of one thread on a machine with other work.",
    ]
    return table


def _cells(part: list[Run]) -> list[str]:
    loss = np.array([r.loss for r in part])
    seconds = np.array([r.seconds for r in part])
    wide = np.array([r.p >= 500 for r in part])
    figures = [
        f"{100.0 * (loss <= 100.0 * REACHED).mean():.1f}",
        f"{loss.max():.2f}",
        f"{loss.mean():.3f}",
        f"{np.median(seconds):.3f}",
        f"{seconds[~wide].max(initial=0.0):.2f}",
        f"{seconds[wide].max(initial=0.0):.2f}",
    ]
    return [str(len(part)), *figures]


def missed(runs: list[Run]) -> Table:
    """Return the runs with a loss of more than REACHED."""
    head = ["setting", "effort", "seed", "reached", "best known", "loss %"]
    table = Table("Settings with a loss of more than .1 %", head)
    for r in sorted(runs, key=lambda r: -r.loss):
        if r.loss > 100.0 * REACHED:
            row = [r.cell.key(r.objective).replace(" | ", ", "), r.effort, str(r.seed)]
            table.rows.append([*row, f"{r.value:.6f}", f"{r.best:.6f}", f"{r.loss:.3f}"])
    return table


def sampled(runs: list[Run], done: Path | None) -> str:
    """Return a note on the runs, and on the origin of the best known values."""
    parts = []
    for effort in EFFORTS:
        some = [r for r in runs if r.effort == effort]
        if some:
            seeds, data = len({r.seed for r in some}), len({r.cell.data for r in some})
            parts.append(f"{effort}: {len(some)} runs, {seeds} seed{'s' * (seeds > 1)}, {data} data sets")
    beyond = sum(row[-1] >= FURTHER for row in known.Runs(done).found)
    others = f"of {beyond} thorough runs with other seeds, " if beyond else ""
    return (
        f"{'; '.join(parts)}. Best known: the largest value of these runs, {others}and of "
        "benchmarks/quality/best_known.json. It may be below the optimum, so losses are lower bounds. The "
        "share within .1 % is not given for thorough, whose own runs are among the best known."
    )


def search_best(folder: Path | None, seeds: Iterable[int], done: Path | None = None) -> None:
    """Search thoroughly, seed by seed, for values better than the best known, and store them."""
    for seed in seeds:
        earlier = known.load()
        measured(folder, [seed], ["thorough"], done)
        found = known.load()
        rose = [k for k, v in found.items() if v > earlier.get(k, 0.0) * (1.0 + 1e-6)]
        print(f"seed {seed}: {len(rose)} of {len(found)} best known values rose", flush=True)
