"""Dask: one worker, and clusters of one, two and four: seconds, bytes moved, tasks, memory; estimates."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse

import spcastat as sp
from benchmarks.report import Table
from benchmarks.speed.fresh import Call, forget_peak, fresh, resident
from benchmarks.speed.rows import HEAD as RATIOS
from benchmarks.speed.rows import figure, ratio

#: Rows of a partition hold so many numbers (16 MB).
NUMBERS = 2_000_000
#: Groups of variables that go together.
GROUPS = 5
HEAD = [
    "workers",
    "seconds",
    "CPU s of workers",
    "of client",
    "passes",
    "tasks",
    "MB between workers",
    "to the client",
    "MB added, a worker",
    "client",
]
COUNTS = (1, 2, 4)
#: Rows of a partition of sparse rows, and nonzeros of a row.
SPARSE_ROWS, NONZEROS = 20_000, 50
#: Bytes a second between two machines of a cluster: a tenth of 10 Gbit/s, several transfers at a time.
NETWORK = 125e6


# --- simulated rows and workers -------------------------------------------------------------------


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
    """Compare a fit on one worker of a single thread with the product that it needs."""
    table = Table("Dask: one worker of one thread", RATIOS)
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
                before, memory = _spent(client), reset_peaks(client)
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


def reset_peaks(client: Any) -> float:
    """Reset the peaks of all workers; return the largest present memory of a worker, in MB."""
    client.run(forget_peak)
    return float(max(client.run(resident).values()))


# --- clusters -------------------------------------------------------------------------------------


def dense(call: Call) -> Table:
    """Many rows, computed again by every pass: one pass."""
    n, p, counts = call.size(10_000_000), 100, _counts(call)
    found = [fresh(on_dense, threads=1, count=count, n=n, p=p)[0] for count in counts]
    table = Table(f"Clusters: {n:,} x {p}, computed partition by partition, k = 5, card 10, bcd-l0", HEAD)
    table.rows = [_row(count, one) for count, one in zip(counts, found, strict=True)]
    per_row = fresh(on_dense, threads=1, count=1, n=call.size(400_000), p=1000)[0]
    made = fresh(seconds_of_a_million, threads=1)[0]
    table.notes += [
        f"{found[0]['parts']:,.0f} partitions of 16 MB, simulated with one seed each: simulating the "
        f"numbers takes {made:.4f} CPU seconds per million, {n * p / 1e6 * made:.1f} of the workers' seconds "
        "in all.",
        _of_machine(),
        _thousand(per_row, made),
    ]
    return table


def sparse(call: Call) -> Table:
    """Sparse rows of many variables, kept on the workers: some passes."""
    n, p, counts = call.size(1_000_000), 4000 if call.small else 100_000, _counts(call)
    found = [fresh(on_sparse, threads=1, count=count, n=n, p=p)[0] for count in counts]
    nonzeros = found[0]["nonzeros"]
    table = Table(
        f"Clusters: sparse {n:,} x {p:,}, {nonzeros:,.0f} nonzeros, kept by persist(), k = 5, card 20", HEAD
    )
    table.rows = [_row(count, one) for count, one in zip(counts, found, strict=True)]
    table.notes += [
        f"{found[0]['parts']:,.0f} partitions; the rows have {found[0]['data']:,.0f} MB. With more than "
        "3000 variables a fit makes one pass for means and variances, four for the start, and one for the "
        "cross-products of candidates.",
        _of_machine(),
        _many_sparse(found[0], nonzeros, p),
    ]
    return table


def _counts(call: Call) -> tuple[int, ...]:
    """Return the numbers of workers."""
    return COUNTS[:2] if call.small else COUNTS


# --- calls in new processes -----------------------------------------------------------------------


def on_dense(count: int, n: int, p: int) -> dict[str, float]:
    """Fit dense rows on `count` workers."""
    with cluster(count) as client:
        sp.spca(collection(4000, p), 5, 10, method="bcd-l0")  # everything is imported, here and there
        return measured(client, collection(n, p), lambda X: sp.spca(X, 5, 10, method="bcd-l0"))


def on_sparse(count: int, n: int, p: int) -> dict[str, float]:
    """Fit sparse rows on `count` workers, where they are kept."""
    from distributed import wait

    with cluster(count) as client:
        X = sparse_collection(n, p).persist()
        wait(X)
        nonzeros = X.map_blocks(lambda b: np.array([[b.nnz]]), dtype=int, chunks=(1, 1)).sum().compute()
        sp.spca(sparse_collection(4000, min(p, 4000)), 5, 20)  # everything is imported, here and there
        found = measured(client, X, lambda X: sp.spca(X, 5, 20))
        return {**found, "nonzeros": int(nonzeros), "data": 12e-6 * int(nonzeros)}


def sparse_collection(n: int, p: int) -> Any:
    """Return a lazy dask array of sparse rows."""
    import dask.array as da

    rows = min(SPARSE_ROWS, n // 4)
    grid = da.zeros((n // rows * rows, p), chunks=(rows, p))
    empty = scipy.sparse.csr_array((0, p))
    return da.map_blocks(
        lambda block_id: sparse_rows(p, rows, block_id[0]), chunks=grid.chunks, dtype=float, meta=empty
    )


def sparse_rows(p: int, rows: int, number: int) -> scipy.sparse.csr_array:
    """Return counts whose columns have frequencies that fall as 1 / rank, with five groups of twenty."""
    rng = np.random.default_rng(number)
    ranks = np.minimum(np.exp(rng.random((rows, NONZEROS)) * np.log(p)).astype(np.int64), p - 1)
    group = rng.integers(0, 5, rows)[:, None]
    ranks[:, :10] = 100 + 20 * group + rng.integers(0, 20, (rows, 10))
    ends = np.arange(0, rows * NONZEROS + 1, NONZEROS)
    found = scipy.sparse.csr_array((np.ones(rows * NONZEROS), ranks.ravel(), ends), shape=(rows, p))
    found.sum_duplicates()
    return found


def measured(client: Any, X: Any, work: Any) -> dict[str, float]:
    """Return what `work` on X takes on the workers of a client."""
    from distributed.diagnostics.plugin import SchedulerPlugin

    class Counted(SchedulerPlugin):  # type: ignore[misc]
        tasks = 0

        def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
            self.tasks += start == "processing" and finish == "memory"

    counted = Counted()
    client.cluster.scheduler.add_plugin(counted)
    client.run(lambda dask_worker: dask_worker.transfer_outgoing_log.clear())
    forget_peak()
    client_before, worker_before = resident(), reset_peaks(client)
    cpu_before = sum(client.run(time.process_time).values())
    begun, cpu = time.perf_counter(), time.process_time()
    fit = work(X)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    between, returned = (sum(client.run(_sent, home).values()) for home in (False, True))
    return {
        "seconds": seconds,
        "cpu": sum(client.run(time.process_time).values()) - cpu_before,
        "client": cpu,
        "passes": fit._state.record.passes or 1,
        "tasks": counted.tasks,
        "moved": between / 1e6,
        "returned": returned / 1e6,
        "worker added": max(client.run(resident, "VmHWM").values()) - worker_before,
        "client added": resident("VmHWM") - client_before,
        "parts": X.npartitions,
        "rows": X.shape[0],
    }


def _sent(home: bool, dask_worker: Any = None) -> float:
    """Return the bytes that a worker has sent, to the client and the scheduler or to other workers."""
    log = dask_worker.transfer_outgoing_log
    return float(sum(one["compressed"] for one in log if (one["who"] is None) == home))


def seconds_of_a_million() -> float:
    """Return the CPU seconds of drawing a million numbers as a partition draws them."""
    begun = time.process_time()
    for number in range(5):
        rows_of_a_block(100, 20_000, number)
    return (time.process_time() - begun) / 10.0


# --- rows and the model ---------------------------------------------------------------------------


def _row(count: int, one: dict[str, float]) -> list[str]:
    return [
        str(count),
        f"{one['seconds']:.1f}",
        f"{one['cpu']:.1f}",
        f"{one['client']:.2f}",
        f"{one['passes']:.0f}",
        f"{one['tasks']:,.0f}",
        f"{one['moved']:.1f}",
        f"{one['returned']:.1f}",
        f"{one['worker added']:.0f}",
        f"{one['client added']:.0f}",
    ]


def _of_machine() -> str:
    import os

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{usable} processors are shared by workers, scheduler and client, so elapsed time does not improve "
        "with the number of workers; bytes, tasks and memory are valid for that number."
    )


def _thousand(one: dict[str, float], made: float) -> str:
    """Return the estimate for 1e9 x 1000, from the CPU seconds of a row of a thousand numbers."""
    row = one["cpu"] / one["rows"]
    draw = made * 1000 / 1e6
    n, workers, numbers = 1e9, 64, 2e6
    parts = n * 1000 / numbers
    groups = parts / 4  # 64 MB together
    sums = groups * 8 / 7 * 4e6  # a triangle of 4 MB from each group, and from the merges of eight
    merges = sums / workers / NETWORK
    return (
        f"Estimate for 1e9 x 1000 on {workers} workers of one thread: a row of 1000 numbers takes "
        f"{1e6 * row:.1f} us of CPU ({1e6 * draw:.1f} for simulating it), so the sums take "
        f"{n * (row - draw) / workers:,.0f} s in addition to reading; {groups:,.0f} sums of 4 MB move "
        f"{sums / 1e9:,.0f} GB, {merges:,.0f} s at {NETWORK / 1e6:.0f} MB/s per worker without "
        f"overlap; {groups * 8 / 7:,.0f} tasks."
    )


def _many_sparse(one: dict[str, float], nonzeros: float, p: int) -> str:
    """Return the estimate for 1e7 x 1e5 with 5e8 nonzeros."""
    workers, wanted, parts, width = 64, 5e8, 512, 8e-6 * 1e5 * 45
    cell = one["cpu"] / one["passes"] / nonzeros
    moved = 4 * parts * 8 / 7 * width
    return (
        f"Estimate for 1e7 x 1e5 with 5e8 nonzeros in {parts} partitions on {workers} workers: "
        f"{1e9 * cell:.0f} ns per nonzero and pass give {cell * wanted * one['passes'] / workers:,.0f} s for "
        f"{one['passes']:.0f} passes; four of them sum 1e5 x 45 numbers ({width:.0f} MB) per partition, "
        f"which move {moved / 1e3:,.0f} GB at most, {moved * 1e6 / workers / NETWORK:,.0f} s; the "
        f"client's part is proportional to the number of variables and takes {one['client'] * 1e5 / p:.0f} s."
    )
