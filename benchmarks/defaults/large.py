"""The default search on wide data, with many components and nonzeros, compared with the best known values."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import spcastat as sp
from benchmarks.defaults import known
from benchmarks.defaults.cells import correlation
from benchmarks.report import Table
from benchmarks.speed.data import expression, planted, tall

FILE = Path(__file__).with_name("large_known.json")
#: The other methods with cardinalities whose objective must not be larger.
CHEAP = ("bcd-l0", "empca", "gpower-l0")
#: Real data -> file.
REAL = {
    "colon": "micro_alon.npz",
    "khan": "micro_khan.npz",
    "leukemia": "micro_golub.npz",
    "KOS": "text_kos.npz",
    "NIPS": "text_nips_uci_subset.npz",
    "mnist": "mnist_t10k.npz",
}
#: "data", "data raw" -> "k x card" for wide data; data are standardised but for "raw".
WIDE = {
    "colon": "5x10 10x20 20x50",
    "colon raw": "10x20 20x50",
    "khan": "5x10 8x30",
    "khan raw": "8x30",
    "leukemia": "6x50 10x20",
    "leukemia raw": "10x20",
    "KOS": "6x50 10x20",
    "KOS raw": "3x100 6x50",
    "NIPS": "6x20 10x50",
    "NIPS raw": "6x20",
    "planted 200 x 2000": "3x40 6x20",
    "planted 300 x 20000": "3x40",
    "expression 60 x 3000": "10x20 5x50",
    "expression 80 x 8000": "6x30",
    "noise 80 x 1500": "6x30 10x20",
    "weak 100 x 2000": "8x40 10x20",
    "weak 200 x 4000": "5x20 10x30",
    "weak 400 x 12000": "5x20",
    "autoregressive 150 x 1500": "6x30 15x10",
    "autoregressive 100 x 3000": "10x50",
    "sparse 3000 x 8000": "5x20 10x10",
}
MANY = {
    "communities": "6x10 10x8 10x20 20x5",
    "breast cancer": "6x5 10x4",
    "digits": "6x20 10x6 20x5",
    "dermatology": "6x6 10x5",
    "khan 500": "6x30 10x10 20x5",
    "alon 500": "6x30 10x10 20x20",
    "mnist": "6x50 10x20",
    "tall 100": "6x10 10x10 20x5",
    "tall 200": "6x5 10x20 6x40",
    "tall 1000": "10x50",
    "noise 300 x 200": "6x10 10x20",
    "noise 200 x 600": "10x10 6x40",
    "weak 400 x 100": "6x10 20x5",
    "weak 300 x 300": "10x15 20x10",
    "weak 300 x 1000": "6x20 10x30",
    "autoregressive 400 x 60": "6x5 12x5",
    "autoregressive 300 x 250": "10x10 20x12",
    "expression 100 x 400": "8x12 15x20",
}
#: Cells of the two other objectives.
OTHERS = (("colon", 10, 20), ("KOS", 6, 50), ("weak 400 x 12000", 5, 20), ("communities", 10, 8))


@dataclass(frozen=True)
class Cell:
    """k components of `card` nonzeros each; `wide` has rows, the others a covariance matrix."""

    data: str
    k: int
    card: int
    objective: str
    wide: bool

    @property
    def key(self) -> str:
        return f"{self.data} | {self.k} x {self.card} | {self.objective}"


def cells() -> list[Cell]:
    """Return all cells, those of one data set next to one another."""
    found = []
    for group in (WIDE, MANY):
        for data, sizes in group.items():
            for size in sizes.split():
                k, card = map(int, size.split("x"))
                others = ("pev", "least_squares") if (data, k, card) in OTHERS else ()
                found += [Cell(data, k, card, one, group is WIDE) for one in ("adjusted", *others)]
    return found


def data_of(name: str, wide: bool, folder: Path | None) -> Any:
    """Return the rows of wide data, or a covariance matrix; None where a file is not at hand."""
    first, *size = name.removesuffix(" raw").split()
    if first in REAL and (wide or first == "mnist"):
        path = None if folder is None else folder / REAL[first]
        if path is None or not path.exists():
            return None
        if path.name.startswith("text"):
            return sparse.load_npz(path).astype(float).tocsr()
        X = np.load(path)["X"].astype(float)
    elif first in ("planted", "noise", "weak", "autoregressive", "expression", "sparse"):
        X = _drawn(first, int(size[0]), int(size[-1]))
    elif first == "tall":
        X = tall(5000, int(size[0]))
    else:
        return correlation(name.removesuffix(" 500"), folder)
    if wide:
        return X
    X = X[:, X.std(axis=0) > 0]
    return np.cov(X.T) if first in ("tall", "mnist") else np.corrcoef(X.T)


def _drawn(kind: str, n: int, p: int) -> Any:
    rng = np.random.default_rng(p)
    if kind == "planted":
        return planted(n, p, 40, 0, (6.0, 5.0, 4.0))[0]
    if kind == "expression":
        return np.log(expression(n, p))
    if kind == "sparse":
        return sparse.random(n, p, 0.01, "csr", rng=rng)
    X = rng.standard_normal((n, p))
    if kind == "weak":  # twenty overlapping factors, none of which stands out of the noise
        members = rng.random((20, p)) < 0.05
        X += 0.7 * rng.standard_normal((n, 20)) @ (members * rng.choice([-1.0, 1.0], (20, p)))
    elif kind == "autoregressive":
        for j in range(1, p):
            X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    return X


def fitted(cell: Cell, data: Any, **options: Any) -> tuple[float, float, np.ndarray]:
    """Return the share reached, CPU seconds and the loadings of one call."""
    options = {"card": cell.card, **options}
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if cell.wide:
            fit = sp.spca(data, cell.k, scale=not cell.data.endswith(" raw"), **options)
        else:
            fit = sp.spca_cov(data, cell.k, **options)
    seconds = time.process_time() - begun
    return float(fit.measure(cell.objective)), seconds, fit.loadings.to_numpy()


def best_of(cell: Cell, data: Any, seeds: range) -> float:
    """Return the largest share that other seeds of the thorough search and the other methods reach."""
    runs: list[dict[str, Any]] = [{"method": method} for method in CHEAP]
    runs += [{"objective": cell.objective, "effort": "thorough", "rng": seed} for seed in seeds]
    return max(fitted(cell, data, **run)[0] for run in runs)


def measured(
    folder: Path | None, efforts: tuple[str, ...], seeds: int, only: str
) -> Iterator[tuple[Cell, dict[str, tuple[float, float]]]]:
    """Yield every cell with what each effort reaches and takes; better values than known are stored."""
    before: tuple[str, Any] = "", None
    for cell in cells():
        if only not in cell.key:
            continue
        name = f"{cell.data}, {cell.wide}"
        if before[0] != name:
            before = name, data_of(cell.data, cell.wide, folder)
        if before[1] is None:
            continue
        found = {}
        for effort in efforts:
            found[effort] = fitted(cell, before[1], objective=cell.objective, effort=effort)[:2]
        values = [value for value, _ in found.values()]
        if seeds:
            values.append(best_of(cell, before[1], range(1, 1 + seeds)))
        known.improve({cell.key: max(values, default=0.0)}, FILE)
        print(cell.key, *(f"{e} {v:.7f} {s:.2f} s" for e, (v, s) in found.items()), sep=", ", flush=True)
        yield cell, found


def tables(folder: Path | None, efforts: tuple[str, ...], seeds: int = 0, only: str = "") -> list[Table]:
    """Return a summary and the cells one by one."""
    runs = list(measured(folder, efforts, seeds, only))
    best = known.load(FILE)
    summary = Table(
        "The plain call in the large: loss against the best known",
        ["cells, effort", "cells", "within .1 %", "within .2 %", "mean %", "worst %", "median s", "max s"],
    )
    for wide, effort in product((True, False), efforts):
        some = [(100.0 * (1.0 - f[effort][0] / best[c.key]), f[effort][1]) for c, f in runs if c.wide == wide]
        if some:
            loss, seconds = np.array(some).T
            near = [f"{100.0 * (loss <= level).mean():.0f}" for level in (0.1, 0.2)]
            rest = [
                f"{loss.mean():.3f}",
                f"{loss.max():.2f}",
                f"{np.median(seconds):.2f}",
                f"{seconds.max():.1f}",
            ]
            label = "wide" if wide else "many components and nonzeros"
            summary.rows.append([f"{label}, {effort}", str(len(some)), *near, *rest])
    single = Table("Cell by cell: loss in percent / CPU seconds", ["cell", *efforts, "best known"])
    for cell, found in runs:
        loss = [f"{100.0 * (1.0 - v / best[cell.key]):.3f} / {s:.2f}" for v, s in found.values()]
        single.rows.append([cell.key.replace(" | ", ", "), *loss, f"{best[cell.key]:.6f}"])
    return [summary, single]
