"""Run a pass on a dask scheduler: a tree of merges, of which only the root is returned, and its errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from spcastat.config import library_of
from spcastat.errors import DataError, FileError, SpcaError
from spcastat.progress import stage
from spcastat.streams.base import A, Pass
from spcastat.streams.dask_tasks import Summing, Work, merge_parts

#: Largest number of parts that one task merges.
FAN_IN = 8
#: Largest total size, in bytes (64 MB), of the parts that one task merges; two parts may exceed it.
MEETING = 64 * 1024 * 1024
#: Arguments up to this many bytes (1 MB) are sent with the task of each partition.
LIGHT = 1024 * 1024
#: Shared arguments above this many bytes (4 MB) are scattered to the workers instead of being put in the
#: graph.
HEAVY = 4 * LIGHT


def fan_in(work: Summing[Any]) -> int:
    """Return how many parts one task merges; fewer if they are large."""
    size = getattr(work.begin(), "nbytes", 0)
    return FAN_IN if size == 0 else max(2, min(FAN_IN, MEETING // size))


def tree(parts: list[Any], work: Summing[Any], common: Any) -> Any:
    """Return the delayed merge of all delayed `parts` by a tree, in their order whichever ends first.

    `common` is `work` as :func:`shared` returns it.
    """
    from dask import annotate
    from dask.delayed import delayed

    many = fan_in(work)
    merge = delayed(merge_parts, pure=False)
    level = 0
    while level == 0 or len(parts) > 1:
        groups = [parts[start : start + many] for start in range(0, len(parts), many)]
        with annotate(priority=level + 1):  # merge first, so that sums of partitions do not pile up
            parts = [
                merge(common, group, dask_key_name=f"spcastat-merge-{work.token}-{level}-{place}")
                for place, group in enumerate(groups)
            ]
        level += 1
    return parts[0]


def carried(work: Work, common: Any = None) -> Any:
    """Return `work` as an argument for the tasks of partitions.

    `common` is what :func:`shared` returned for it.

    It is sent with each task, so that dask can fuse reading and summing into one task, and partitions are
    never sent between workers. If it is larger than LIGHT, it is sent once to each worker instead.
    """
    import cloudpickle

    return work if len(cloudpickle.dumps(work)) <= LIGHT else shared(work) if common is None else common


def shared(work: Work) -> Any:
    """Return `work` as an argument that all tasks have in common."""
    import cloudpickle
    from dask.delayed import delayed

    client = current_client()
    if client is not None and len(cloudpickle.dumps(work)) > HEAVY and client.ncores():
        # In the graph it would make dask warn of its size, with advice that does not apply.
        return client.scatter(work, hash=False, broadcast=True)
    return delayed(work, name=f"spcastat-work-{work.token}")


def run(parts: list[Any], root: Any, work: Summing[A], what: str) -> Pass[A]:
    """Compute the root of a tree on the user's scheduler, and report progress in partitions.

    Parameters
    ----------
    parts : list of Delayed
        The sum of each partition.
    root : Delayed
        From :func:`tree`.
    work : Summing
    what : str
        The purpose of the pass, for the progress display.

    Raises
    ------
    SpcaError
        The error of a partition, with its name. FileError or DataError if a partition cannot be computed for
        another reason.
    """
    with stage(what, len(parts), "partitions") as advance:
        client = current_client()
        if client is None:
            return _locally(parts, root, work, advance)
        return _on_cluster(client, parts, root, work, advance)


def compute(collection: Any, name: str) -> Any:
    """Compute a small collection; `name` describes it in messages.

    Raises
    ------
    SpcaError
        As :func:`run`.
    """
    try:
        return collection.compute()
    except (SpcaError, MemoryError):
        raise
    except Exception as error:
        raise failure(error, name) from error


def current_client() -> Any:
    """Return the client of dask.distributed that computes by default, or None.

    Also None inside a task on a worker, where dask's own compute() must be used so that other tasks can run.
    """
    from dask.base import get_scheduler

    distributed = sys.modules.get("distributed")
    owner = getattr(get_scheduler(), "__self__", None)
    if distributed is None or not isinstance(owner, distributed.Client):
        return None
    try:
        distributed.get_worker()
    except ValueError:
        return owner
    return None


def _on_cluster(
    client: Any, parts: list[Any], root: Any, work: Summing[A], advance: Callable[[int], None]
) -> Pass[A]:
    from distributed import as_completed

    *waiting, last = client.compute([*parts, root])
    numbers = {future.key: number for number, future in enumerate(waiting)}
    try:
        for future in as_completed(waiting):
            if future.status != "finished":
                _raise(future, work.reading.name(numbers[future.key]))
            # Only the merge needs it from here on; it is computed again if its worker is lost.
            future.release()
            advance(1)
        try:
            return last.result()
        except (SpcaError, MemoryError):
            raise
        except Exception as error:
            raise failure(error, f"The sum over the {work.reading.title}") from error
    finally:
        for future in [*waiting, last]:
            future.release()


def _raise(future: Any, name: str) -> None:
    """Raise the error of a failed future of the partition called `name`."""
    if future.status != "error":
        raise DataError(f"{name} cannot be computed: its task is {future.status} on the cluster.")
    error = future.exception()
    told = failure(error, name)
    raise told from (None if told is error else error)


def _locally(parts: list[Any], root: Any, work: Summing[A], advance: Callable[[int], None]) -> Pass[A]:
    from dask.callbacks import Callback

    sums = {part.key for part in parts}
    raised: list[BaseException] = []

    def posttask(key: Any, *_: Any) -> None:
        if key in sums:
            try:
                advance(1)
            except BaseException as error:
                raised.append(error)
                raise

    try:
        with Callback(posttask=posttask):
            return root.compute()
    except (SpcaError, MemoryError):
        raise
    except Exception as error:
        if raised:  # an error of the user's progress function
            raise
        raise failure(error, f"A partition of the {work.reading.title}") from error


def failure(error: BaseException, name: str) -> Exception:
    """Return an error of the package for an `error` in the computation of the partition called `name`."""
    if isinstance(error, (SpcaError, MemoryError)):
        return error
    distributed = library_of(error) == "distributed"
    lost = distributed or isinstance(error, (ConnectionError, TimeoutError))
    family = FileError if isinstance(error, OSError) and not lost else DataError
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return family(f"{name} cannot be computed: {reason}")
