"""Rows in memory: a million dense rows, and the word counts of KOS."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, svds

import spcastat as sp
from benchmarks.data import tall as tall_rows
from benchmarks.report import Table
from benchmarks.speed.fresh import HEAD, Call, beyond, figure, fresh, in_turns, ratio


def tall(call: Call) -> Table:
    """Compare a fit of a million rows with computing their cross-products."""
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


def centred(X: scipy.sparse.csr_array) -> LinearOperator:
    """Return X minus its column means, as an operator."""
    n, p = X.shape
    mean = np.asarray(X.mean(axis=0)).ravel()
    Xt = X.T  # in CSC format, which shares the memory of X

    def forth(v: np.ndarray) -> np.ndarray:
        return X @ v - mean @ v

    def back(u: np.ndarray) -> np.ndarray:
        down = u.sum(axis=0)
        return Xt @ u - (mean * down if u.ndim == 1 else np.outer(mean, down))

    return LinearOperator((n, p), matvec=forth, rmatvec=back, matmat=forth, rmatmat=back, dtype=float)


def megabytes(X: scipy.sparse.csr_array) -> float:
    """Return the size of a sparse matrix."""
    return (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 1e6


def kos(call: Call) -> Table:
    """Compare a fit of KOS, or of simulated counts, with a truncated SVD (seconds) and the data (memory)."""
    path = call.file("text_kos.npz")
    times = fresh(kos_times, threads=call.threads, path=path)[0]
    single = fresh(kos_times, threads=1, path=path)[0]
    memory = fresh(kos_memory, threads=call.threads, path=path)[0]
    data = memory["data"]
    table = Table("Sparse: 3430 x 6906, k = 6, card 50", HEAD)
    table.rows += [
        ratio("fit, relative to svds(k=6), centred", times["reference"], times["ours"]),
        ratio("the same with one thread", single["reference"], single["ours"]),
        figure("memory of data and fit, relative to the data", 1.0 + memory["beyond"] / data, "x", 2),
    ]
    table.notes.append(
        f"{'KOS' if path else 'Simulated (no --data)'}: {times['nonzeros']:,} nonzeros, "
        f"{data:.1f} MB as float64; the fit adds {memory['beyond']:.1f} MB at most (dense rows would take "
        f"{8 * 3430 * 6906 / 1e6:.0f} MB)."
    )
    return table


def _kos(path: str | None) -> scipy.sparse.csr_array:
    if path is None:
        return _counts(3430, 6906)
    return scipy.sparse.csr_array(scipy.sparse.load_npz(path)).astype(float)


def _counts(n: int, p: int) -> scipy.sparse.csr_array:
    """Return counts of words: frequencies fall as 1 / rank, and each document has a topic of 40 words."""
    rng = np.random.default_rng(0)
    means = np.tile(12.0 / (np.arange(p) + 31.0), (n, 1))
    for topic, rows in enumerate(np.array_split(np.arange(n), 8)):
        means[rows, 100 + 40 * topic : 140 + 40 * topic] += 0.5
    return scipy.sparse.csr_array(rng.poisson(means).astype(float))


def kos_times(path: str | None) -> dict[str, Any]:
    """Time the fit and a truncated SVD of the centred operator."""
    X = _kos(path)
    times = in_turns(
        5, reference=lambda: svds(centred(X), 6), ours=lambda: sp.spca(X, 6, 50, method="bcd-l0")
    )
    return {**times, "nonzeros": int(X.nnz)}


def kos_memory(path: str | None) -> dict[str, float]:
    """Return the memory that one fit adds to its data."""
    sp.spca(_counts(600, 4000), 2, 5, method="bcd-l0")  # the same method, so that everything is imported
    X = _kos(path)
    return {"data": megabytes(X), "beyond": beyond(lambda: sp.spca(X, 6, 50, method="bcd-l0"))}
