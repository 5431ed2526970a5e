"""Many small partitions: neighbours are computed and summed up by one task, and so give one sum to be merged.

Which go together depends on the partitions alone, not on the cluster: the same partitions give the same bits,
whoever computes them, and however often.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spcastat.streams.dask_tasks import Recipe, Recipes, Summing, sum_group

#: At least so many groups are made, so that all workers have something to do; fewer partitions stay alone.
FEWEST = 64
#: A group ends once its partitions have so many bytes (64 MB), ...
BYTES = 64 * 1024 * 1024
#: ... or where these are not known, once it has so many partitions.
MOST = 16


@dataclass(frozen=True)
class Part:
    """Consecutive partitions that one task sums up.

    Attributes
    ----------
    task : Delayed
        Of their sum.
    first, count : int
        The first of them, from 0 on, and how many there are.
    """

    task: Any
    first: int
    count: int = 1


def groups(sizes: Sequence[float], most: float = BYTES) -> list[range]:
    """Return which neighbours go together.

    Parameters
    ----------
    sizes : sequence of float
        Bytes of the partitions; NaN where that is not known.
    most : float
        Bytes of a group; only one partition may have more.
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

    Partitions that share no task with others are computed within the task that sums them up. Others, such as
    those that wait on workers, are results that may have to travel to their neighbours: of these no more go
    together than have the bytes of one sum, which would have to travel instead, and none of unknown size.

    Parameters
    ----------
    held : sequence of Delayed
        One :class:`spcastat.streams.dask_tasks.Held` for each partition.
    sizes : sequence of float
        Their bytes, NaN where not known.
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
        if inside:  # an object that dask does not look into, and so no tasks of its own
            members = Recipes([Recipe(own[number] or {}, keys[number], number) for number in group])
        name = f"spcastat-sum-{work.token}-{group.start}"
        parts.append(Part(summed(shared, members, dask_key_name=name), group.start, len(group)))
    return parts


def is_plain(data: Any) -> bool:
    """Whether no task of a collection has a place, a priority or the like, which would be lost in a group."""
    layers = getattr(data.__dask_graph__(), "layers", {})
    return not any(getattr(layer, "annotations", None) for layer in layers.values())


def _own_tasks(graph: Mapping[Any, Any], keys: Sequence[Any]) -> list[dict[Any, Any] | None]:
    """Return the tasks behind each key; None where there are data, or tasks of other keys, among them."""
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
    """Yield a key and all that it needs; what waits on workers has a key that is not in the graph."""
    from dask.core import get_dependencies

    seen, waiting = {key}, [key]
    while waiting:
        one = waiting.pop()
        yield one
        task = graph.get(one)
        needed = getattr(task, "dependencies", None)  # also of what is not in the graph
        more = set(get_dependencies(graph, task=task) if needed is None else needed) - seen
        seen |= more
        waiting += sorted(more, key=str)


def is_task(task: Any) -> bool:
    """Whether a value of a graph of tasks computes something."""
    kept = type(task).__name__ in ("DataNode", "Alias", "Future")
    return not kept and (callable(task) or type(task) is tuple)
