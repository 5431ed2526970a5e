"""Few clusters and clusters of unequal size: how often a component is found in noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import spcastat as sp
from benchmarks.report import Table
from benchmarks.trust.models import generator
from benchmarks.trust.sets import Call, Measured, shares

#: Variables, the intraclass correlation, and the level of the p-values that are counted.
P, CORRELATION, LEVEL = 24, 0.5, 0.05
#: Numbers of clusters.
COUNTS = (5, 10, 20, 40)
#: Figures of the table.
FIGURES = ("largest / mean size", "p <= .05", "k > 0")


@dataclass(frozen=True)
class Sizes:
    """How many rows the clusters have.

    Attributes
    ----------
    count : int
        Number of clusters.
    draw : callable
        Generator and number of clusters -> rows of each cluster.
    """

    count: int
    draw: Callable[[np.random.Generator, int], np.ndarray]


#: Kinds of sizes -> generator and number of clusters -> rows of each cluster.
KINDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "8 rows each": lambda rng, count: np.full(count, 8),
    "4 to 12 rows": lambda rng, count: rng.integers(4, 13, size=count),
    "3 rows or more, geometric, mean 10": lambda rng, count: 2 + rng.geometric(1 / 8, size=count),
    "8 rows each, and one with a quarter of all rows": lambda rng, count: np.append(
        np.full(count - 1, 8), -(-8 * (count - 1) // 3)
    ),
}
CASES = {f"{count} clusters, {kind}": Sizes(count, draw) for kind, draw in KINDS.items() for count in COUNTS}


def noise_in_clusters(rng: np.random.Generator, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows without components that are correlated within clusters, and their clusters."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    common = rng.standard_normal((len(sizes), P))[labels]
    own = rng.standard_normal((len(labels), P))
    return np.sqrt(CORRELATION) * common + np.sqrt(1 - CORRELATION) * own, labels


def cluster_sizes(call: Call) -> Table:
    """Return how often a component is found in noise, by the number of clusters and their sizes."""
    table = Table("Noise in clusters: share with a component", ["clusters", *FIGURES, "data sets"])

    def one(name: str, number: int) -> Measured:
        case, rng = CASES[name], generator(f"clusters {name}", number)
        sizes = case.draw(rng, case.count)
        X, labels = noise_in_clusters(rng, sizes)
        found = sp.choose_k(X, clusters=labels, rng=number)
        figures = (sizes.max() / sizes.mean(), float(found.table["p"].iloc[0] <= LEVEL), float(found.k > 0))
        return dict(zip(FIGURES, figures, strict=True))

    for name, found in call.measured("clusters", CASES, one).items():
        table.rows.append([name, *shares(found, FIGURES)])
    table.notes.append(
        f"choose_k(clusters=) of noise: {P} variables with variance 1 and intraclass correlation "
        f"{CORRELATION:g}. p: of the first component in parallel analysis; k > 0: a component is chosen, "
        "which also requires that it predicts held-out rows."
    )
    return table
