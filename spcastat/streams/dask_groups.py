"""Group many small partitions, so that one task computes and sums up several neighbours.

The groups depend only on the partitions and not on the cluster, so that the same partitions always give the
same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spcastat.streams.dask_tasks import Recipe, Recipes, Summing, sum_group

#: There are at least this many groups, so that all workers are busy; up to this many partitions are not
#: grouped.
FEWEST = 64
#: Largest total size of the partitions of a group, in bytes (64 MB).
BYTES = 64 * 1024 * 1024
#: Largest number of partitions of a group if their sizes are unknown.
MOST = 16


@dataclass(frozen=True)
class Part:
    """Consecutive partitions that one task sums up.

    Attributes
    ----------
    task : Delayed
        The task.
    first, count : int
        Number of the first partition, from 0, and how many there are.
    """

    task: Any
    first: int
    count: int = 1


def groups(sizes: Sequence[float], most: float = BYTES) -> list[range]:
    """Divide consecutive partitions into groups.

    Parameters
    ----------
    sizes : sequence of float
        Sizes of the partitions in bytes; NaN if unknown.
    most : float
        Largest size of a group in bytes; only a single partition may exceed it.
    """
    limit = -(-len(sizes) // FEWEST)
    found, start, held = [], 0, 0.0
    for number, size in enumerate(sizes):
        unknown = math.isnan(size)
        size = most / MOST if unknown else size
        if number > start and (number - start >= limit or held + size > most):
            found.append(range(start, number))
            start, held = number, 0.0
        held += size
    return [*found, range(start, len(sizes))] if sizes else []


def grouped(held: Sequence[Any], sizes: Sequence[float], work: Summing[Any], shared: Any) -> list[Part]:
    """Return the tasks that sum up groups of partitions.

    If no partition shares a task with another, a group is computed within the task that sums it up.
    Otherwise, e.g. for persisted partitions, partitions may have to be sent to their neighbours. Groups are
    then no larger than half of a sum, which would have to be sent otherwise, and partitions of unknown size
    stay alone.

    Parameters
    ----------
    held : sequence of Delayed
        One :class:`spcastat.streams.dask_tasks.Held` for each partition.
    sizes : sequence of float
        Sizes of the partitions in bytes; NaN if unknown.
    work : Summing
    shared : object
        `work` as an argument of tasks.
    """
    from dask.delayed import delayed

    graph = dict(held[0].dask)
    keys = [one.key for one in held]
    own = _own_tasks(graph, keys)
    inside = all(tasks is not None for tasks in own)
    summed = delayed(sum_group, pure=False)
    most = float(BYTES)
    if not inside:
        most = 0.5 * getattr(work.begin(), "nbytes", 0)
        sizes = [math.inf if math.isnan(size) else size for size in sizes]
    parts = []
    for group in groups(sizes, most):
        members: Any = [held[number] for number in group]
        if inside:  # hidden in an object, so that dask does not make separate tasks of them
            members = Recipes([Recipe(own[number] or {}, keys[number], number) for number in group])
        name = f"spcastat-sum-{work.token}-{group.start}"
        parts.append(Part(summed(shared, members, dask_key_name=name), group.start, len(group)))
    return parts


def is_plain(data: Any) -> bool:
    """Whether no task of a collection has annotations (worker, priority), which would be lost in a group."""
    layers = getattr(data.__dask_graph__(), "layers", {})
    return not any(getattr(layer, "annotations", None) for layer in layers.values())


def _own_tasks(graph: Mapping[Any, Any], keys: Sequence[Any]) -> list[dict[Any, Any] | None]:
    """Return the tasks that each key needs; None if it needs stored data or shares tasks with other keys."""
    behind = [list(_behind(graph, key)) for key in keys]
    times: dict[Any, int] = {}
    for tasks in behind:
        for key in tasks:
            times[key] = times.get(key, 0) + 1
    return [
        {key: graph[key] for key in tasks}
        if all(times[key] == 1 and key in graph and is_task(graph[key]) for key in tasks)
        else None
        for tasks in behind
    ]


def _behind(graph: Mapping[Any, Any], key: Any) -> Iterator[Any]:
    """Yield a key and all keys that it needs; those of data stored on workers are not in the graph."""
    from dask.core import get_dependencies

    seen, waiting = {key}, [key]
    while waiting:
        one = waiting.pop()
        yield one
        task = graph.get(one)
        needed = getattr(task, "dependencies", None)  # includes keys that are not in the graph
        more = set(get_dependencies(graph, task=task) if needed is None else needed) - seen
        seen |= more
        waiting += sorted(more, key=str)


def is_task(task: Any) -> bool:
    """Whether a value of a dask graph is a computation rather than data."""
    kept = type(task).__name__ in ("DataNode", "Alias", "Future")
    return not kept and (callable(task) or type(task) is tuple)
