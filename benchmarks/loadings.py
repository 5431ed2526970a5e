"""Sparse loadings against best known fits and planted ones: ``python -m benchmarks.loadings [--write]``.

Planted: 21 variables, each with a loading on one of three components, and some of each component with another
on the next ("cross-loadings"). Supports are compared with those of sparse weights of the same cardinalities.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from itertools import combinations
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

import spcastat as sp
from benchmarks.report import Table, stamp, write_section
from spcastat.linalg.eigenvectors import varimax
from spcastat.linalg.operators import Gram
from spcastat.search.loading_patterns import Nonzeros, ascend, search

#: Components and cardinalities of the pitprops.
PROPS: tuple[tuple[int, Any], ...] = ((3, 4), (3, [7, 4, 4]), (6, [7, 4, 4, 1, 1, 1]), (6, 3))
#: Name, noise variance, cross-loadings of each component, correlation of components, rows.
PLANTED = (
    ("4 cross-loadings, much noise", 1.5, 4, 0.0, 150),
    ("6 cross-loadings", 1.0, 6, 0.0, 300),
    ("6 cross-loadings, little noise", 0.4, 6, 0.0, 1000),
    ("no cross-loadings, components r = .4", 0.6, 0, 0.4, 150),
)


def known() -> Table:
    """Return the shares of the pitprops by three seeds, with those of PCA."""
    R = sp.datasets.load_pitprops()
    table = Table(
        "Pitprops, share of the total variance", ["k, card", "seed 0", "seed 1", "seed 2", "PCA", "CPU s"]
    )
    for k, card in PROPS:
        begun = time.process_time()
        fits = [
            sp.sparse_loadings_cov(R, k, card, n_obs=180, rng=seed).variance.iloc[-1] for seed in range(3)
        ]
        shares = [f"{fit['cumulative']:.5f}" for fit in fits]
        seconds = (time.process_time() - begun) / 3
        table.rows.append([f"{k}, {card}", *shares, f"{fits[0]['cumulative PCA']:.4f}", f"{seconds:.2f}"])
    return table


def enumerated(problems: int = 30) -> Table:
    """Return how often the search misses the best of all supports of 2 and 3 of 6 variables."""
    missed, least = 0, 0.0
    pairs = [(a, b) for a in combinations(range(6), 2) for b in combinations(range(6), 3)]
    kept = np.zeros((len(pairs), 6, 2), dtype=bool)
    for number, pair in enumerate(pairs):
        for j in range(2):
            kept[number, list(pair[j]), j] = True
    for seed in range(problems):
        rng = np.random.default_rng(seed)
        S = np.corrcoef((rng.standard_normal((40, 6)) @ rng.standard_normal((6, 6))).T)
        best = max(
            ascend(S, rng.standard_normal(kept.shape) * kept, kept, 2000, 1e-12)[1].max() for _ in range(6)
        )
        found = search(Gram(S), 2, Nonzeros((2, 3)), rng).explained
        missed += bool(found < best * (1 - 1e-6))
        least = min(least, found / best - 1)
    rows = [[str(problems), str(problems - missed), f"{100 * least:.4f}"]]
    return Table("All 300 pairs of supports of 6 variables", ["problems", "best found", "worst %"], rows)


def truth(rng: np.random.Generator, cross: int) -> np.ndarray:
    """Return planted loadings, shape (21, 3)."""
    P, of = np.zeros((21, 3)), np.arange(21) % 3
    P[np.arange(21), of] = rng.uniform(0.6, 0.9, 21) * rng.choice([-1, 1], 21)
    for j in range(3):
        for i in np.flatnonzero(of == j)[:cross]:
            P[i, (j + 1) % 3] = rng.uniform(0.5, 0.7) * rng.choice([-1, 1])
    return P


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Return the mean F1 of the supports of matched components."""
    A, B = (one != 0).astype(float), (other != 0).astype(float)
    common = 2 * (A.T @ B) / (A.sum(axis=0)[:, None] + B.sum(axis=0))
    return float(common[linear_sum_assignment(-common)].mean())


def planted(sets: int) -> Table:
    """Return the overlap of supports with those planted."""
    head = ["loadings", "sparse loadings", "sparse weights", "varimax, cut"]
    table = Table(f"Overlap of supports with those planted (mean F1), {sets} sets", head)
    for name, noise, cross, r, n in PLANTED:
        found: list[tuple[float, float, float]] = []
        for seed in range(sets):
            rng = np.random.default_rng(seed)
            P = truth(rng, cross)
            S = P @ ((1 - r) * np.eye(3) + r) @ P.T + noise * np.eye(21)
            X = rng.standard_normal((n, 21)) @ np.linalg.cholesky(S).T
            R = pd.DataFrame(np.corrcoef(X.T))
            card = [int(count) for count in (P != 0).sum(axis=0)]
            values, vectors = np.linalg.eigh(R)
            A = varimax(vectors[:, :-4:-1] * np.sqrt(values[:-4:-1]))
            cut = A * Nonzeros(tuple(card)).support(A[None])[0]
            ours = sp.sparse_loadings_cov(R, 3, card, n_obs=n).loadings.to_numpy()
            weights = sp.spca_cov(R, 3, card, n_obs=n).loadings.to_numpy()
            found.append((overlap(ours, P), overlap(weights, P), overlap(cut, P)))
        means = np.mean(found, axis=0)
        errors = np.std(found, axis=0, ddof=1) / np.sqrt(sets)
        cells = [f"{mean:.3f} ({error:.3f})" for mean, error in zip(means, errors, strict=True)]
        table.rows.append([f"{name}, n = {n}", *cells])
        print(*table.rows[-1], sep=" | ", flush=True)
    table.notes.append("Standard errors in brackets. All methods know the cardinalities.")
    return table


def large() -> Table:
    """Return the time for 500 variables and 8 components."""
    table = Table("500 variables, 8 components", ["card", "share", "CPU s"])
    rng = np.random.default_rng(0)
    P = np.where(rng.random((500, 8)) < 0.1, rng.standard_normal((500, 8)), 0.0)
    X = rng.standard_normal((400, 8)) @ P.T + rng.standard_normal((400, 500))
    for card in (10, 20, 40):
        begun = time.process_time()
        fit = sp.sparse_loadings(X, 8, card, scale=True)
        seconds = time.process_time() - begun
        table.rows.append([str(card), f"{fit.variance['cumulative'].iloc[-1]:.4f}", f"{seconds:.1f}"])
    return table


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and write the page if that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loadings", description=__doc__)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--write", action="store_true", help="put the tables into benchmarks/results/")
    given = parser.parse_args(arguments)
    tables = [known(), enumerated(), planted(given.sets), large()]
    for table in tables:
        print(table.show(False), flush=True)
    if given.write:
        title = f"## Sparse loadings\n\n`python -m benchmarks.loadings`. {stamp()}"
        body = "\n\n".join(table.show(True) for table in tables)
        write_section("loadings", f"{title}\n\n{body}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
