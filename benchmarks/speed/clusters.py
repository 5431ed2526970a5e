"""Clusters of one, two and four Dask workers: seconds, bytes moved, tasks, memory."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.report import Table
from benchmarks.speed.fresh import Call, forget_peak, fresh, resident

#: The rows of a partition contain this many numbers (16 MB).
NUMBERS = 2_000_000
#: Number of factors, each with its own group of variables.
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

# --- simulated rows and workers -------------------------------------------------------------------


def rows_of_a_block(p: int, rows: int, number: int) -> np.ndarray:
    """Return the simulated rows of a block, with a few factors; the number of the block is its seed."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((rows, p))
    factors = rng.standard_normal((rows, GROUPS)) * [3.0, 2.7, 2.4, 2.1, 1.8]
    X[:, : 10 * GROUPS] += np.repeat(factors, 10, axis=1)
    return X


def collection(n: int, p: int, rows: int | None = None) -> Any:
    """Return a lazy dask data frame of simulated rows, with `rows` rows or 16 MB in each partition."""
    import dask.array as da
    import dask.dataframe as dd

    rows = rows or max(NUMBERS // p, 100)
    count = -(-n // rows)
    grid = da.zeros((count * rows, p), chunks=(rows, p))
    X = grid.map_blocks(lambda block, block_id: rows_of_a_block(p, rows, block_id[0]), dtype=float)
    return dd.from_dask_array(X)


def cluster(count: int) -> Any:
    """Return the client of new worker processes of one thread each; a ``with`` block closes it."""
    from distributed import Client

    warnings.simplefilter("ignore")
    return Client(n_workers=count, threads_per_worker=1, dashboard_address=None, silence_logs=50)


def reset_peaks(client: Any) -> float:
    """Reset the peaks of all workers; return the largest current memory of a worker, in MB."""
    client.run(forget_peak)
    return float(max(client.run(resident).values()))


def dense(call: Call) -> Table:
    """Fit many rows, which every pass would compute again, by a method that needs one pass."""
    n, p, counts = call.size(10_000_000), 100, COUNTS[:2] if call.small else COUNTS
    found = [fresh(on_dense, threads=1, count=count, n=n, p=p)[0] for count in counts]
    table = Table(f"Clusters: {n:,} x {p}, computed partition by partition, k = 5, card 10, bcd-l0", HEAD)
    table.rows = [_row(count, one) for count, one in zip(counts, found, strict=True)]
    table.notes += [
        f"{found[0]['parts']:,.0f} partitions of 16 MB; the times include their simulation.",
        _of_machine(),
    ]
    return table


def on_dense(count: int, n: int, p: int) -> dict[str, float]:
    """Fit dense rows on `count` workers."""
    with cluster(count) as client:
        sp.spca(collection(4000, p), 5, 10, method="bcd-l0")  # imports are not timed
        return measured(client, collection(n, p), lambda X: sp.spca(X, 5, 10, method="bcd-l0"))


def measured(client: Any, X: Any, work: Any) -> dict[str, float]:
    """Return the seconds, bytes, tasks and memory that `work` on X needs on the workers of a client."""
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
    }


def _sent(home: bool, dask_worker: Any = None) -> float:
    """Return the bytes that a worker has sent, to the client and the scheduler or to other workers."""
    log = dask_worker.transfer_outgoing_log
    return float(sum(one["compressed"] for one in log if (one["who"] is None) == home))


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
