"""Sparse loadings: best known fits of pitprops, and planted loadings.

Planted: 21 variables, each with a loading on one of three components; some variables of each component have a
second loading on the next component ("cross-loadings"). Supports are compared with the supports of sparse
weights of the same cardinalities.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.data import f1
from benchmarks.quality.call import Call
from benchmarks.report import Table, mean_and_error, timed
from spcastat.linalg.eigenvectors import varimax
from spcastat.search.loading_patterns import Nonzeros

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
    """Return the shares of variance of pitprops for three seeds, and for PCA."""
    R = sp.datasets.load_pitprops()
    table = Table(
        "Pitprops, share of the total variance", ["k, card", "seed 0", "seed 1", "seed 2", "PCA", "CPU s"]
    )
    for k, card in PROPS:
        runs = [timed(partial(sp.sparse_loadings_cov, R, k, card, n_obs=180, rng=seed)) for seed in range(3)]
        last = [fit.variance.iloc[-1] for fit, _ in runs]
        shares = [f"{one['cumulative']:.5f}" for one in last]
        seconds = np.mean([seconds for _, seconds in runs])
        table.rows.append([f"{k}, {card}", *shares, f"{last[0]['cumulative PCA']:.4f}", f"{seconds:.2f}"])
    return table


def truth(rng: np.random.Generator, cross: int) -> np.ndarray:
    """Return planted loadings, shape (21, 3)."""
    P, of = np.zeros((21, 3)), np.arange(21) % 3
    P[np.arange(21), of] = rng.uniform(0.6, 0.9, 21) * rng.choice([-1, 1], 21)
    for j in range(3):
        for i in np.flatnonzero(of == j)[:cross]:
            P[i, (j + 1) % 3] = rng.uniform(0.5, 0.7) * rng.choice([-1, 1])
    return P


def planted(call: Call) -> Table:
    """Return the overlap of the supports found with the planted supports."""
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
