"""Sparse counts: KOS, and a large matrix of documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, svds

import spcastat as sp
from benchmarks.data import counts
from benchmarks.report import Table
from benchmarks.speed.fresh import Call, beyond, fresh, in_turns, resident
from benchmarks.speed.rows import HEAD, figure, ratio


def centred(X: scipy.sparse.csr_array) -> LinearOperator:
    """Return X less its column means, as an operator."""
    n, p = X.shape
    mean = np.asarray(X.mean(axis=0)).ravel()
    Xt = X.T  # CSC: products with it walk over the same memory

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
    """KOS, or its shape: seconds relative to a truncated SVD, memory relative to the data."""
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
        f"{'KOS' if path else 'Simulated counts (no --data)'}: {times['nonzeros']:,} nonzeros, "
        f"{data:.1f} MB as float64; the fit adds {memory['beyond']:.1f} MB at most (dense rows would take "
        f"{8 * 3430 * 6906 / 1e6:.0f} MB)."
    )
    return table


def _kos(path: str | None) -> scipy.sparse.csr_array:
    if path is None:
        return counts(3430, 6906, 353_000)
    return scipy.sparse.csr_array(scipy.sparse.load_npz(path)).astype(float)


def kos_times(path: str | None) -> dict[str, Any]:
    """Time the fit and a truncated SVD of the centred operator."""
    X = _kos(path)
    times = in_turns(
        5, reference=lambda: svds(centred(X), 6), ours=lambda: sp.spca(X, 6, 50, method="bcd-l0")
    )
    return {**times, "nonzeros": int(X.nnz)}


def kos_memory(path: str | None) -> dict[str, float]:
    """Return the memory that one fit adds to its data."""
    sp.spca(
        counts(600, 4000, 20_000), 2, 5, method="bcd-l0"
    )  # on the same route, so that everything is imported
    X = _kos(path)
    return {"data": megabytes(X), "beyond": beyond(lambda: sp.spca(X, 6, 50, method="bcd-l0"))}


def documents(call: Call) -> Table:
    """300,000 documents: seconds relative to a truncated SVD, and memory relative to the data."""
    n, p = call.size(300_000), 100_000 // (10 if call.small else 1)
    shape = {"n": n, "p": p, "nonzeros": 7e7 * n / 300_000}
    times = fresh(documents_times, threads=call.threads, **shape)[0]
    memory = fresh(documents_memory, threads=call.threads, **shape)[0]
    data = memory["data"]
    table = Table(f"Documents: {n:,} x {p:,}, k = 5, card 20", HEAD)
    table.rows += [
        ratio("fit, relative to svds(k=5), centred", times["reference"], times["ours"]),
        ratio("fit, relative to svds(X, 5)", times["plain"], times["ours"]),
        figure("memory of data and fit, relative to the data", 1.0 + memory["beyond"] / data, "x", 2),
    ]
    table.notes += [
        f"{times['nonzeros']:,} simulated nonzeros, {data:,.0f} MB as float64 with indices of 32 bits; the "
        f"fit adds {memory['beyond']:,.0f} MB at most to a process of {memory['before']:,.0f} MB that "
        "contains the data.",
        f"PEV {times['pev']:.2f} %, with {times['support']} different words.",
    ]
    return table


def documents_times(n: int, p: int, nonzeros: float) -> dict[str, Any]:
    """Time the fit and truncated SVDs, of the centred operator and of the matrix itself."""
    X = counts(n, p, nonzeros)
    kept: list[Any] = []

    def ours() -> None:
        kept[:] = [sp.spca(X, 5, 20, method="bcd-l0")]

    times = in_turns(2, reference=lambda: svds(centred(X), 5), plain=lambda: svds(X, 5), ours=ours)
    fit = kept[0]
    support = int(np.count_nonzero((fit.loadings != 0).any(axis=1)))
    return {**times, "nonzeros": int(X.nnz), "pev": 100.0 * float(fit.measure("pev")), "support": support}


def documents_memory(n: int, p: int, nonzeros: float) -> dict[str, float]:
    """Return the memory that one fit adds to its data."""
    sp.spca(counts(200, 300, 2000), 2, 3, method="bcd-l0")  # so that everything is imported
    X = counts(n, p, nonzeros)
    before = resident()
    return {
        "data": megabytes(X),
        "before": before,
        "beyond": beyond(lambda: sp.spca(X, 5, 20, method="bcd-l0")),
    }
