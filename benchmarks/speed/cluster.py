"""Rows on a dask worker: time of a fit compared with cross-products, and its memory."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.report import Table
from benchmarks.speed.fresh import Call, forget_peak, fresh, resident
from benchmarks.speed.rows import HEAD, figure, ratio

#: Rows of a partition hold so many numbers (16 MB).
NUMBERS = 2_000_000
#: Groups of variables that go together.
GROUPS = 5


def rows_of_a_block(p: int, rows: int, number: int) -> np.ndarray:
    """Return rows of a few factors; the number of a block is its seed."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((rows, p))
    factors = rng.standard_normal((rows, GROUPS)) * [3.0, 2.7, 2.4, 2.1, 1.8]
    X[:, : 10 * GROUPS] += np.repeat(factors, 10, axis=1)
    return X


def collection(n: int, p: int, rows: int | None = None) -> Any:
    """Return a lazy dask array of such rows, as many to a block as have 16 MB, or `rows`."""
    import dask.array as da

    rows = rows or max(NUMBERS // p, 100)
    count = -(-n // rows)
    grid = da.zeros((count * rows, p), chunks=(rows, p))
    return grid.map_blocks(lambda block, block_id: rows_of_a_block(p, rows, block_id[0]), dtype=float)


def workers(call: Call) -> Table:
    """Sums on one worker of a single thread, beside the product that they need."""
    table = Table("Dask: one worker of one thread", HEAD)
    for p, n in ((1000, 10_000), (2000, 16_000)):
        size = call.size(n) if call.small else n
        found = fresh(one_worker, threads=1, n=size, p=p)[0]
        work = f"{found['n']:,} x {p:,}, {found['parts']} partitions"
        table.rows += [
            ratio(f"{work}: fit, relative to X'X", found["reference"], found["ours"]),
            figure(f"{work}: memory of the worker beyond the data", found["added"]),
        ]
    table.notes.append(
        "k = 3, card 10, bcd-l0, rows kept on the worker by persist(). CPU seconds of the worker and of the "
        "client together; X'X is dask's own X.T @ X. Memory: the peak of the worker's process during the fit "
        "minus its memory before."
    )
    return table


def one_worker(n: int, p: int) -> dict[str, float]:
    """Time a fit and dask's own cross-products on one worker, and measure what each adds to its memory."""
    with cluster(1) as client:
        X = collection(n, p).persist()
        X.sum().compute()
        found: dict[str, dict[str, float]] = {}
        small = collection(2000, p).persist()
        sp.spca(small, 3, 10, method="bcd-l0")  # everything is imported, here and there
        for name, work in (
            ("reference", lambda: (X.T @ X).compute()),
            ("ours", lambda: sp.spca(X, 3, 10, method="bcd-l0")),
        ):
            taken, added = [], []
            for _ in range(3):
                before, memory = _spent(client), settled(client)
                work()
                taken.append(_spent(client) - before)
                added.append(max(client.run(resident, "VmHWM").values()) - memory)
            found[name] = {"seconds": float(np.median(taken)), "added": float(np.median(added))}
        return {
            "n": X.shape[0],
            "parts": X.npartitions,
            "reference": found["reference"]["seconds"],
            "ours": found["ours"]["seconds"],
            "added": found["ours"]["added"],
        }


def cluster(count: int) -> Any:
    """Return the client of new processes of one thread each, to be closed by ``with``."""
    from distributed import Client

    warnings.simplefilter("ignore")
    return Client(n_workers=count, threads_per_worker=1, dashboard_address=None, silence_logs=50)


def _spent(client: Any) -> float:
    """CPU seconds of the client, the scheduler among it, and of all workers."""
    return time.process_time() + sum(client.run(time.process_time).values())


def settled(client: Any) -> float:
    """Forget the peaks of all workers; return the most that one of them holds now, in MB."""
    client.run(forget_peak)
    return float(max(client.run(resident).values()))
