"""Weak planted loadings of 200 x 2000 data: supports and variance by methods of the package, and others.

``python -m benchmarks.planted [--seeds N] [--write]``. The algorithm of R's nsprcomp is the method "empca".
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import spcastat as sp
from benchmarks.report import Table, stamp, write_section
from benchmarks.speed.data import COMPONENTS, f1, planted
from spcastat.errors import ConvergenceWarning
from spcastat.linalg.operators import Gram
from spcastat.measures import MEASURES

SHAPE, CARD = (200, 2000), 40
#: Standard deviations of the planted scores, the noise having 1: weak enough that supports are missed.
STRENGTHS = (5.0, 4.0, 3.5)
METHODS = ("bcd-l0", "greedy", "empca", "gpower-l0", "rsvd-l0", "pmd", "threshold", "rotate")
Fit = Callable[[np.ndarray], np.ndarray]


def fits() -> dict[str, Fit]:
    """Return what is compared: name -> function of centred rows that returns loadings, shape (p, 3)."""
    found: dict[str, Fit] = {
        f"joint, {effort}": partial(_ours, method="joint", effort=effort) for effort in ("quick", "auto")
    }
    found |= {name: partial(_ours, method=name) for name in METHODS}
    if importlib.util.find_spec("sklearn") is not None:
        found["scikit-learn SparsePCA, cut"] = _sklearn
    return found


def _ours(X: np.ndarray, **options: str) -> np.ndarray:
    return sp.spca(X, COMPONENTS, card=CARD, **options).loadings.to_numpy()  # type: ignore[arg-type]


def _sklearn(X: np.ndarray) -> np.ndarray:
    """Fit with the default penalty, and keep the CARD largest loadings of each component."""
    from sklearn.decomposition import SparsePCA

    V = SparsePCA(COMPONENTS, random_state=0, max_iter=50).fit(X).components_.T.copy()
    for v in V.T:
        v[np.argsort(-np.abs(v), kind="stable")[CARD:]] = 0.0
    return V / np.maximum(np.linalg.norm(V, axis=0), 1e-300)


def compared(seeds: int) -> Table:
    """Return the table of means over the seeds."""
    table = Table(
        f"Planted: {SHAPE[0]} x {SHAPE[1]}, three loadings of {CARD}, means over {seeds} seeds",
        ["fit", "support F1, mean", "F1, smallest", "adjusted %", "seconds"],
    )
    got: dict[str, list[tuple[float, float, float]]] = {}
    for seed in range(seeds):
        X, truth = planted(*SHAPE, CARD, seed, STRENGTHS)
        X = X - X.mean(axis=0)
        for name, fit in fits().items():
            begun = time.process_time()
            V = fit(X)
            seconds = time.process_time() - begun
            used = np.flatnonzero(V.any(axis=1))
            share = MEASURES["adjusted"](V[used], Gram(X[:, used].T @ X[:, used]))[-1]
            share *= (X[:, used] ** 2).sum() / (X**2).sum()
            got.setdefault(name, []).append((f1(V, truth), 100.0 * float(share), seconds))
    for name, rows in got.items():
        score, share, seconds = np.array(rows).T
        cells = [f"{score.mean():.3f}", f"{score.min():.3f}", f"{share.mean():.3f}"]
        table.rows.append([name, *cells, f"{np.median(seconds):.2f}"])
    table.notes = [
        f"Standard deviations of the planted scores {STRENGTHS}, of the noise 1. CPU seconds, median, on a "
        "machine with other work. The method empca is the algorithm of R's nsprcomp.",
        "scikit-learn: default penalty, then the largest loadings.",
    ]
    return table


def main(arguments: list[str] | None = None) -> int:
    """Make the table, print it, and write it where that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/results/")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ConvergenceWarning)
    fits()["joint, quick"](planted(50, 200, CARD)[0])  # imports are not timed
    table = compared(given.seeds)
    print(table.show(False))
    if given.write:
        title = f"## Planted loadings\n\n`python -m benchmarks.planted --seeds {given.seeds}`. {stamp()}"
        write_section("planted", f"{title}\n\n{table.show(True)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
