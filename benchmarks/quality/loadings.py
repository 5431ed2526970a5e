"""Sparse loadings: best known fits of pitprops, enumeration, planted loadings, and CPU time.

Planted: 21 variables, each with a loading on one of three components, and some of each component with another
on the next ("cross-loadings"). Supports are compared with those of sparse weights of the same cardinalities.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.data import f1
from benchmarks.quality.call import Call
from benchmarks.report import Table, mean_and_error, timed
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


def known(call: Call) -> Table:
    """Return the shares of pitprops for three seeds, and those of PCA."""
    R = sp.datasets.load_pitprops()
    table = Table(
        "Pitprops, share of the total variance", ["k, card", "seed 0", "seed 1", "seed 2", "PCA", "CPU s"]
    )
    for k, card in PROPS:
        runs = [
            timed(partial(sp.sparse_loadings_cov, R, k, card, n_obs=180, rng=seed)) for seed in range(3)
        ]
        last = [fit.variance.iloc[-1] for fit, _ in runs]
        shares = [f"{one['cumulative']:.5f}" for one in last]
        seconds = np.mean([seconds for _, seconds in runs])
        table.rows.append([f"{k}, {card}", *shares, f"{last[0]['cumulative PCA']:.4f}", f"{seconds:.2f}"])
    return table


def enumerated(call: Call) -> Table:
    """Return how often the search finds the best of all supports of 2 and 3 of 6 variables."""
    problems = 30
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


def planted(call: Call) -> Table:
    """Return the overlap of supports with those planted."""
    sets = 20
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
            found.append((f1(ours, P), f1(weights, P), f1(cut, P)))
        columns = zip(*found, strict=True)
        table.rows.append([f"{name}, n = {n}", *(mean_and_error(column) for column in columns)])
    table.notes.append("Standard errors in brackets. All methods know the cardinalities.")
    return table


def large(call: Call) -> Table:
    """Return the CPU time for 500 variables and 8 components."""
    table = Table("500 variables, 8 components", ["card", "share", "CPU s"])
    rng = np.random.default_rng(0)
    P = np.where(rng.random((500, 8)) < 0.1, rng.standard_normal((500, 8)), 0.0)
    X = rng.standard_normal((400, 8)) @ P.T + rng.standard_normal((400, 500))
    for card in (10, 20, 40):
        fit, seconds = timed(partial(sp.sparse_loadings, X, 8, card, scale=True))
        table.rows.append([str(card), f"{fit.variance['cumulative'].iloc[-1]:.4f}", f"{seconds:.1f}"])
    return table
