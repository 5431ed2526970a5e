"""Dense rows: many rows, many columns, and planted loadings."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.report import Table
from benchmarks.speed.data import expression, f1, planted
from benchmarks.speed.data import tall as tall_rows
from benchmarks.speed.fresh import Call, beyond, fresh, in_turns
from benchmarks.speed.rows import HEAD, bounded, ratio, yes

#: What `tall` may hold beyond the data, in MB.
BEYOND = 100.0
WIDE_CARD = 50


def tall(call: Call) -> Table:
    """A million rows beside their cross-products."""
    n, p = call.size(1_000_000), 200
    times = fresh(tall_times, threads=call.threads, n=n, p=p)[0]
    memory = fresh(tall_memory, threads=call.threads, n=n, p=p)[0]
    table = Table(f"Many rows: {n:,} x {p}, k = 10, card 20, bcd-l0", HEAD)
    table.rows += [
        ratio("whole fit, against X.T @ X", times["reference"], times["ours"], at_most=1.5),
        bounded("memory beyond the data, MB", memory["beyond"], BEYOND),
        ["the user's array is as it was", "-", "-", "yes", *["yes" if memory["unchanged"] else "no"] * 2],
    ]
    table.notes.append(f"The data have {8 * n * p / 1e6:,.0f} MB. Scores are not asked for.")
    return table


def tall_times(n: int, p: int) -> dict[str, float]:
    """Time the fit and the cross-products."""
    X = tall_rows(n, p)
    return in_turns(5, reference=lambda: X.T @ X, ours=lambda: sp.spca(X, 10, 20, method="bcd-l0"))


def tall_memory(n: int, p: int) -> dict[str, Any]:
    """Return what one fit holds beyond its data, and whether the data are the same afterwards."""
    sp.spca(np.random.default_rng(0).standard_normal((100, 20)), 2, 3)  # so that everything is imported
    X = tall_rows(n, p)
    before = X.sum(axis=0)
    grown = beyond(lambda: sp.spca(X, 10, 20, method="bcd-l0"))
    return {"beyond": grown, "unchanged": bool(np.array_equal(before, X.sum(axis=0)))}


def wide(call: Call) -> Table:
    """Colon, or its shape, beside scikit-learn."""
    path = call.file("micro_alon.npz")
    table = Table("Many columns: 62 x 2000, k = 20, card 50", HEAD)
    data = "Colon" if path else "Simulated intensities (no --data)"
    table.notes.append(
        f"{data}, centred. scikit-learn runs once, at its own alpha=1; how sparse that is depends on the "
        f"scale of the data. 'Cut' keeps the {WIDE_CARD} largest of its loadings in each component, as ours "
        "has."
    )
    for scale in (True, False):
        if call.small and not scale:
            continue
        found = fresh(wide_times, threads=call.threads, path=path, scale=scale)[0]
        how = "standardised" if scale else "raw"
        against = f"{how}: fit, against SparsePCA(20, max_iter=50)"
        table.rows.append(ratio(against, found["reference"], found["ours"], at_least=8.0))
        for which, theirs in (("", found["their_pev"]), (", cut", found["cut_pev"])):
            more = found["pev"] - theirs
            pair = [f"{theirs:.2f}", f"{found['pev']:.2f}"]
            table.rows.append([f"{how}: PEV %{which}", *pair, "higher", f"{more:+.2f}", yes(more > 0)])
        table.notes.append(f"{how}: scikit-learn keeps {found['nonzeros']:,} of 40,000 loadings; ours 1,000.")
    return table


def wide_times(path: str | None, scale: bool) -> dict[str, Any]:
    """Time the fit and scikit-learn's, and measure both."""
    import warnings

    from sklearn.decomposition import SparsePCA

    X = expression(62, 2000) if path is None else np.load(path)["X"].astype(float)
    X -= X.mean(axis=0)
    if scale:
        X /= X.std(axis=0, ddof=1)
    warnings.simplefilter("ignore")
    begun = time.perf_counter()
    V = SparsePCA(20, max_iter=50, random_state=0).fit(X).components_.T
    reference = time.perf_counter() - begun
    ours = in_turns(3, ours=lambda: sp.spca(X, 20, WIDE_CARD))["ours"]
    V = V[:, np.any(V != 0, axis=0)]
    cut = np.where(np.abs(V) >= np.sort(np.abs(V), axis=0)[-WIDE_CARD], V, 0.0)
    their_pev, cut_pev = (100.0 * float(sp.measures.pev(_unit(W), X)) for W in (V, cut))
    return {
        "reference": reference,
        "ours": ours,
        "their_pev": their_pev,
        "cut_pev": cut_pev,
        "pev": 100.0 * float(sp.spca(X, 20, WIDE_CARD).measure("pev")),
        "nonzeros": int(np.count_nonzero(V)),
    }


def _unit(V: np.ndarray) -> np.ndarray:
    return np.asarray(V / np.linalg.norm(V, axis=0))


def planted_loadings(call: Call) -> Table:
    """Planted loadings beside a truncated SVD."""
    found = fresh(planted_times, threads=call.threads)[0]
    table = Table("200 x 2000 with three planted loadings of 40", HEAD)
    score = found["f1"]
    met = "yes" if score >= 0.94 else "no"
    table.rows += [
        ratio("fit, against svds(X, 3)", found["reference"], found["ours"], at_most=3.0),
        ["support F1, mean of 10 data sets", "-", "-", ">= 0.94", f"{score:.3f}", met],
    ]
    return table


def planted_times() -> dict[str, float]:
    """Time the fit and a truncated SVD; score the supports on ten data sets."""
    from scipy.sparse.linalg import svds

    X, _ = planted(200, 2000, 40)
    times = in_turns(15, reference=lambda: svds(X, 3), ours=lambda: sp.spca(X, 3, 40))
    scores = []
    for seed in range(10):
        X, truth = planted(200, 2000, 40, seed)
        scores.append(f1(sp.spca(X, 3, 40).loadings.to_numpy(), truth))
    return {**times, "f1": float(np.mean(scores))}
