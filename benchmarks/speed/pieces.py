"""Rows in chunks and other large data: the command, weak structure, single precision, sparse rows."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.linalg import svds

import spcastat as sp
from benchmarks.data import counts
from benchmarks.report import Table, timed
from benchmarks.speed.fresh import Call, beyond, fresh
from benchmarks.speed.parquet import written
from benchmarks.speed.rows import HEAD, figure, ratio
from benchmarks.speed.sparse import centred, megabytes


def spent(work: Callable[[], Any], rounds: int = 3) -> float:
    """Return the smallest CPU seconds of some rounds, which other processes increase least."""
    return min(timed(work)[1] for _ in range(rounds))


def command(call: Call) -> Table:
    """Compare the peak memory of ``spcastat fit`` and ``spca(path)`` for a large file."""
    n, p = call.size(200_000), 50
    table = Table(f"The command: {n:,} x {p}", HEAD)
    folder = Path(tempfile.mkdtemp(prefix="speed-"))
    try:
        path = str(folder / "rows.parquet")
        fresh(written, threads=1, path=path, n=n, p=p)
        fresh(as_text, threads=1, path=path)
        plain = fresh(by_call, threads=1, path=path)[1]
        table.rows.append(figure("spca('rows.parquet')", plain))
        for name in ("rows.parquet", "rows.csv"):
            where = str(folder / name)
            peak = fresh(by_command, threads=1, path=where, in_memory=False)[1]
            table.rows.append(figure(f"spcastat fit {name}", peak))
            peak = fresh(by_command, threads=1, path=where, in_memory=True)[1]
            table.rows.append(figure("the same with --in-memory", peak))
    finally:
        shutil.rmtree(folder)
    table.notes.append(f"Peak memory of whole processes. The rows take {8 * n * p / 1e6:,.0f} MB as float64.")
    return table


def as_text(path: str) -> None:
    """Write the rows of a Parquet file to a CSV file in its folder."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file, open(Path(path).with_suffix(".csv"), "w", encoding="utf-8") as text:
        for number, batch in enumerate(file.iter_batches()):
            batch.to_pandas().round(4).to_csv(text, index=False, header=number == 0)


def by_call(path: str) -> None:
    """Fit by the function."""
    print(sp.spca(path, 3, card=5))


def by_command(path: str, in_memory: bool) -> None:
    """Fit by the command, in this process; files of any size count as large."""
    from spcastat import cli
    from spcastat.streams import opening

    opening.LARGEST_TEXT = opening.LARGEST_PARQUET = 0
    cli.main(["fit", path, "--k", "3", "--card", "5", *(["--in-memory"] if in_memory else [])])


def weak(call: Call) -> Table:
    """Count the passes for many variables of weak structure, and compare seconds with one pass."""
    n, p = call.size(20_000), 3200 if call.small else 6000
    found = fresh(weak_times, threads=1, n=n, p=p)[0]
    table = Table(f"Weak structure: {n:,} x {p:,} on dask, ten pieces, k = 3, card 10", HEAD)
    table.rows += [
        ratio("fit, relative to a pass for means and variances", found["pass"], found["ours"]),
        ratio("the same with passes=30", found["pass"], found["exact seconds"]),
        figure("passes of the whole fit, 4 of them for the start", found["passes"], ""),
        figure("passes with passes=30", found["exact passes"], ""),
        ["planted variables found, of 30", "-", "-", str(found["right"])],
    ]
    table.notes.append(
        f"Dense PCA explains {100 * found['pca']:.3f} % (scipy); the fit reports at least "
        f"{100 * found['bound']:.3f} %, marked as a bound, and with passes=30 "
        f"{100 * found['exact']:.3f} %. CPU seconds."
    )
    return table


def weak_times(n: int, p: int) -> dict[str, float]:
    """Time fits of rows in chunks, and count their passes."""
    import dask.array as da

    rng = np.random.default_rng(0)
    V = np.zeros((3, p))
    for i, J in enumerate(rng.choice(p, (3, 10), replace=False)):
        V[i, J] = 10**-0.5
    X = (rng.standard_normal((n, 3)) * [2.0, 1.9, 1.8]) @ V
    X += rng.standard_normal((n, p))
    rows = da.from_array(X, chunks=(-(-n // 10), p), name=False)
    from spcastat.linalg.accumulate import Sums
    from spcastat.streams.opening import open_stream

    def one_pass() -> None:
        stream = open_stream(rows)
        assert stream is not None
        stream.reduce(partial(Sums, p), "sums")

    fits: dict[str, Any] = {}

    def fitted(name: str, **how: Any) -> None:
        fits[name] = sp.spca(rows, 3, 10, **how)

    sp.spca(rows[:, :3001], 3, 10)  # imports
    seconds = {"pass": spent(one_pass), "ours": spent(lambda: fitted("ours"), 1)}
    seconds["exact seconds"] = spent(lambda: fitted("exact", passes=30), 1)
    X = X - X.mean(axis=0)
    shares = svds(X, 3, return_singular_vectors=False) ** 2 / (X**2).sum()
    made = {name: fit._state.record.passes for name, fit in fits.items()}
    right = (fits["ours"].loadings.to_numpy() != 0).any(axis=1) & V.any(axis=0)
    return {
        **seconds,
        "passes": made["ours"],
        "exact passes": made["exact"],
        "right": int(right.sum()),
        "pca": float(shares.sum()),
        "bound": float(fits["ours"].variance["cumulative PCA"].iloc[-1]),
        "exact": float(fits["exact"].variance["cumulative PCA"].iloc[-1]),
    }


def single(call: Call) -> Table:
    """Compare fits in single precision with X'X, and measure the memory that they add."""
    n, p = call.size(200_000), 200
    table = Table(f"Single precision: {n:,} x {p}, k = 3, card 10, bcd-l0", HEAD)
    for order, name in (("C", "rows together"), ("F", "columns together")):
        found = fresh(single_times, threads=1, n=n, p=p, order=order)[0]
        table.rows += [
            ratio(f"{name}: fit, relative to X'X in double", found["double"], found["ours"]),
            ratio(f"{name}: fit, relative to X'X in single", found["single"], found["ours"]),
            figure(f"{name}: memory beyond the data", found["beyond"]),
        ]
    table.notes.append(
        f"The data take {4 * n * p / 1e6:,.0f} MB. Sums are in double precision; a product in double "
        "precision takes twice as long as in single precision. CPU seconds."
    )
    return table


def single_times(n: int, p: int, order: str) -> dict[str, float]:
    """Time the fit and both products."""
    rng = np.random.default_rng(0)
    X = np.asarray(rng.standard_normal((n, p), dtype=np.float32), order=order)
    X[:, :10] += 2.0 * rng.standard_normal((n, 1), dtype=np.float32)
    sp.spca(X[:1000], 3, 10, method="bcd-l0")
    grown = beyond(lambda: sp.spca(X, 3, 10, method="bcd-l0"))
    D = X.astype(float)
    return {
        "ours": spent(lambda: sp.spca(X, 3, 10, method="bcd-l0"), 5),
        "single": spent(lambda: X.T @ X, 5),
        "double": spent(lambda: D.T @ D, 5),
        "beyond": grown,
    }


def sparse_rows(call: Call) -> Table:
    """Compare fits of sparse rows with a truncated SVD of the centred matrix."""
    n, p, cells = call.size(1_000_000), 20_000 if call.small else 50_000, call.size(50_000_000)
    found = fresh(sparse_times, threads=1, n=n, p=p, cells=cells)[0]
    table = Table(f"Sparse: {n:,} x {p:,}, {found['nonzeros']:,} nonzeros, k = 3, card 20", HEAD)
    for name in ("joint", "bcd-l0"):
        table.rows.append(ratio(f"{name}, relative to svds(k=3), centred", found["reference"], found[name]))
    over = 1.0 + found["beyond"] / found["data"]
    table.rows.append(figure("joint: memory of data and fit, relative to the data", over, "x", 2))
    table.notes.append(f"The data take {found['data']:,.0f} MB. CPU seconds.")
    return table


def sparse_times(n: int, p: int, cells: int) -> dict[str, float]:
    """Time fits and a truncated SVD."""
    X = counts(n, p, cells)
    sp.spca(X[:2000], 3, 20)
    grown = beyond(lambda: sp.spca(X, 3, 20))
    return {
        "reference": spent(lambda: svds(centred(X), 3), 1),
        "joint": spent(lambda: sp.spca(X, 3, 20), 1),
        "bcd-l0": spent(lambda: sp.spca(X, 3, 20, method="bcd-l0"), 1),
        "nonzeros": int(X.nnz),
        "data": megabytes(X),
        "beyond": grown,
    }
