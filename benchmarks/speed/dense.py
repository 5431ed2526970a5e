"""Dense rows: many rows, many columns, and planted loadings."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.data import expression, f1, planted
from benchmarks.data import tall as tall_rows
from benchmarks.report import Table
from benchmarks.speed.fresh import Call, beyond, fresh, in_turns
from benchmarks.speed.rows import HEAD, figure, ratio, speedup

WIDE_CARD = 50
#: Whether colon is standardised -> the penalty at which scikit-learn keeps about as many loadings as ours.
ALPHAS = {True: 6.5, False: 1600.0}


def tall(call: Call) -> Table:
    """A million rows compared with their cross-products."""
    n, p = call.size(1_000_000), 200
    times = fresh(tall_times, threads=call.threads, n=n, p=p)[0]
    memory = fresh(tall_memory, threads=call.threads, n=n, p=p)[0]
    table = Table(f"Many rows: {n:,} x {p}, k = 10, card 20, bcd-l0", HEAD)
    table.rows += [
        ratio("whole fit, relative to X.T @ X", times["reference"], times["ours"]),
        figure("memory beyond the data", memory["beyond"]),
        ["the user's array is unchanged", "-", "-", "yes" if memory["unchanged"] else "no"],
    ]
    table.notes.append(f"The data take {8 * n * p / 1e6:,.0f} MB. Scores are not computed.")
    return table


def tall_times(n: int, p: int) -> dict[str, float]:
    """Time the fit and the cross-products."""
    X = tall_rows(n, p)
    return in_turns(5, reference=lambda: X.T @ X, ours=lambda: sp.spca(X, 10, 20, method="bcd-l0"))


def tall_memory(n: int, p: int) -> dict[str, Any]:
    """Return the memory that one fit adds to its data, and whether the data are the same afterwards."""
    sp.spca(
        np.random.default_rng(0).standard_normal((100, 20)), 2, 3, method="bcd-l0"
    )  # so that everything is imported
    X = tall_rows(n, p)
    before = X.sum(axis=0)
    grown = beyond(lambda: sp.spca(X, 10, 20, method="bcd-l0"))
    return {"beyond": grown, "unchanged": bool(np.array_equal(before, X.sum(axis=0)))}


def wide(call: Call) -> Table:
    """Colon, or its shape, compared with scikit-learn."""
    path = call.file("micro_alon.npz")
    table = Table("Many columns: 62 x 2000, k = 20, card 50", HEAD)
    data = "Colon" if path else "Simulated intensities (no --data)"
    table.notes.append(
        f"{data}, centred. scikit-learn's SparsePCA(20, max_iter=50) runs once, at its default alpha=1 and, "
        "on the real data, at an alpha that gives about the same number of nonzeros as ours, 1000; only "
        "there are the explained variances comparable. 'Rough' is our fit with tol=1e-5 instead of 1e-7."
    )
    for scale in (True, False):
        if call.small and not scale:
            continue
        alphas = [1.0] if path is None else [1.0, ALPHAS[scale]]
        found = fresh(wide_times, threads=call.threads, path=path, scale=scale, alphas=alphas)[0]
        how = "standardised" if scale else "raw"
        for theirs in found["theirs"]:
            at = f"{how}, alpha={theirs['alpha']:g}"
            for name, one in found["ours"].items():
                table.rows.append(speedup(f"{at}: {name}", theirs["seconds"], one["seconds"]))
                more = one["pev"] - theirs["pev"]
                pair = [f"{theirs['pev']:.2f}", f"{one['pev']:.2f}"]
                table.rows.append([f"{at}: {name}, PEV %", *pair, f"{more:+.2f}"])
            table.notes.append(f"{at}: scikit-learn keeps {theirs['nonzeros']:,} of 40,000 loadings.")
    return table


def wide_times(path: str | None, scale: bool, alphas: list[float]) -> dict[str, Any]:
    """Time our fits and scikit-learn's, and measure all."""
    import warnings

    from sklearn.decomposition import SparsePCA

    X = expression(62, 2000) if path is None else np.load(path)["X"].astype(float)
    X -= X.mean(axis=0)
    if scale:
        X /= X.std(axis=0, ddof=1)
    warnings.simplefilter("ignore")
    theirs = []
    for alpha in alphas:
        begun = time.perf_counter()
        V = SparsePCA(20, alpha=alpha, max_iter=50, random_state=0).fit(X).components_.T
        taken = time.perf_counter() - begun
        V = V[:, np.any(V != 0, axis=0)]
        pev = 100.0 * float(sp.measures.pev(V / np.linalg.norm(V, axis=0), X))
        theirs.append({"alpha": alpha, "seconds": taken, "pev": pev, "nonzeros": int(np.count_nonzero(V))})
    calls: dict[str, Any] = {"fit": {"method": "bcd-l0"}, "rough": {"method": "bcd-l0", "tol": 1e-5}}
    times = in_turns(3, **{name: partial(sp.spca, X, 20, WIDE_CARD, **how) for name, how in calls.items()})
    ours = {
        name: {
            "seconds": times[name],
            "pev": 100.0 * sp.spca(X, 20, WIDE_CARD, **how).measure("pev"),
        }
        for name, how in calls.items()
    }
    return {"theirs": theirs, "ours": ours}


def planted_loadings(call: Call) -> Table:
    """Planted loadings compared with a truncated SVD."""
    found = fresh(planted_times, threads=call.threads)[0]
    table = Table("200 x 2000 with three planted loadings of 40", HEAD)
    score = found["f1"]
    table.rows += [
        ratio("fit, relative to svds(X, 3)", found["reference"], found["ours"]),
        ["support F1, mean of 10 data sets", "-", "-", f"{score:.3f}"],
    ]
    return table


def planted_times() -> dict[str, float]:
    """Time the fit and a truncated SVD; score the supports on ten data sets."""
    from scipy.sparse.linalg import svds

    X, _ = planted(200, 2000, 40)
    times = in_turns(15, reference=lambda: svds(X, 3), ours=lambda: sp.spca(X, 3, 40, method="bcd-l0"))
    scores = []
    for seed in range(10):
        X, truth = planted(200, 2000, 40, seed)
        scores.append(f1(sp.spca(X, 3, 40, method="bcd-l0").loadings.to_numpy(), truth))
    return {**times, "f1": float(np.mean(scores))}
