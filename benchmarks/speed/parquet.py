"""A table larger than the memory that a fit may use, from a Parquet file."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.report import Table
from benchmarks.speed.fresh import HEAD, Call, figure, fresh, ratio

ROW_GROUP = 50_000


def parquet(call: Call) -> Table:
    """Fit five million rows: seconds relative to one bare pass, and the peak memory of the process."""
    n, p = call.size(5_000_000), 100
    table = Table(f"Parquet: {n:,} x {p}, k = 5, card 10", HEAD)
    folder = tempfile.mkdtemp(prefix="speed-")
    path = str(Path(folder) / "rows.parquet")
    try:
        fresh(written, threads=call.threads, path=path, n=n, p=p)
        size = Path(path).stat().st_size / 1e6
        bare, ours = [], []
        for _ in range(3):
            bare.append(fresh(read_once, threads=call.threads, path=path))
            ours.append(fresh(fitted, threads=call.threads, path=path))
        scores = fresh(scored, threads=call.threads, path=path, out=str(Path(folder) / "scores.parquet"))
    finally:
        shutil.rmtree(folder)
    median = {name: float(np.median([one[0] for one in runs])) for name, runs in (("b", bare), ("o", ours))}
    table.rows += [
        ratio("fit, relative to one pass over the file", median["b"], median["o"]),
        figure("peak of the whole process, fit", max(one[1] for one in ours)),
        figure("peak of the whole process, fit and transform_to", scores[1]),
    ]
    table.notes.append(
        f"float64, {size:,.0f} MB on disk in row groups of {ROW_GROUP:,}. Three processes each; the pass "
        f"only reads every batch, and its process has {max(one[1] for one in bare):,.0f} MB. With "
        f"scores written, a fit takes {scores[0]:.1f} s."
    )
    return table


def written(path: str, n: int, p: int) -> None:
    """Write rows with five factors."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(p)]
    groups = np.arange(p) % 5
    with pq.ParquetWriter(
        path, pa.schema([(name, pa.float64()) for name in names]), compression="none", use_dictionary=False
    ) as writer:
        for start in range(0, n, ROW_GROUP):
            m = min(ROW_GROUP, n - start)
            X = rng.standard_normal((m, p))
            X += (rng.standard_normal((m, 5)) * [3.0, 2.7, 2.4, 2.1, 1.8])[:, groups] * np.linspace(
                1.0, 0.4, p
            )
            writer.write_table(pa.table(list(np.ascontiguousarray(X.T)), names=names), row_group_size=m)


def read_once(path: str) -> float:
    """Return the seconds of one pass that does nothing with the rows."""
    import pyarrow.parquet as pq

    begun = time.perf_counter()
    with pq.ParquetFile(path) as file:
        for _ in file.iter_batches():
            pass
    return time.perf_counter() - begun


def fitted(path: str) -> float:
    """Return the seconds of a fit."""
    begun = time.perf_counter()
    sp.spca(path, k=5, card=10, method="bcd-l0")
    return time.perf_counter() - begun


def scored(path: str, out: str) -> float:
    """Return the seconds of a fit that also writes its scores."""
    begun = time.perf_counter()
    fit: Any = sp.spca(path, k=5, card=10, method="bcd-l0")
    fit.transform_to(out)
    return time.perf_counter() - begun
