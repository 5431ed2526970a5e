"""Processes that share draws and fits.

The result of a draw depends only on its number, and therefore not on the distribution of draws among
processes. The processes are started by joblib, so that scripts need no ``if __name__ == "__main__"``.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from spcastat.config import is_whole, shown, whole_number
from spcastat.errors import OptionError
from spcastat.progress import stage

#: The largest number of processes.
MOST_WORKERS = 256


@dataclass(frozen=True, eq=False)
class Finished:
    """The results of the draws.

    Attributes
    ----------
    results : list
        In the order of the draws; after an interruption some are missing.
    asked : int
        The number of draws requested.
    """

    results: list[Any]
    asked: int

    @property
    def interrupted(self) -> bool:
        """Whether there are fewer results than requested draws."""
        return len(self.results) < self.asked


def workers(n_jobs: Any) -> int:
    """Return the number of processes; -1 means the number of processors that this process may use.

    Raises
    ------
    OptionError
        For anything but a whole number from 1 to MOST_WORKERS, or -1.
    """
    if is_whole(n_jobs) and n_jobs == -1:
        import joblib

        return min(int(joblib.cpu_count()), MOST_WORKERS)
    try:
        return whole_number("n_jobs", n_jobs, 1, MOST_WORKERS)
    except OptionError:
        raise OptionError(
            f"n_jobs={shown(n_jobs)} was given; it must be a whole number from 1 to {MOST_WORKERS}, or -1 "
            "for all processors."
        ) from None


def run_jobs(
    work: Callable[[Any], Any],
    n: int,
    *,
    n_jobs: int = 1,
    what: str = "draws",
    unit: str = "draws",
    together: int | None = None,
    first: int = 0,
) -> Finished:
    """Return ``work(first), ..., work(n - 1)``.

    Parameters
    ----------
    work : callable
        Takes the number of a draw and returns its result, which depends on nothing else. It must be picklable
        if `n_jobs` is not 1, and must not change its arrays, which the processes share.
    n : int
        Number of draws.
    n_jobs : int
        Number of processes; 1 is this process. See :func:`workers`.
    what, unit : str
        Name of the stage and of the units that are counted, for the progress display.
    together : int, optional
        Number of draws that one call of `work` computes (fewer at the end): ``work(range(0, together))``
        returns a list of their results. The batches do not depend on `n_jobs`.
    first : int
        Number of the first draw.

    Returns
    -------
    Finished
        All results; after Ctrl-C, those finished so far.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C before the first result.
    RuntimeError
        If a process died, for example for lack of memory.
    Exception
        Any error of `work`.
    """
    size = together or 1
    batches = [range(start, min(start + size, n)) for start in range(first, n, size)]
    of_batch = partial(_of_batch, work, together is not None)
    if min(n_jobs, len(batches)) < 2:
        found = ((batch, of_batch(batch)) for batch in batches)
    else:
        found = _in_processes(of_batch, batches, min(n_jobs, len(batches)))
    done: dict[int, Any] = {}
    with stage(what, n - first, unit) as advance:
        try:
            for batch, results in found:
                done.update(zip(batch, results, strict=True))
                advance(len(batch))
        except BaseException as error:
            with contextlib.suppress(BaseException):
                found.throw(error)  # ends the processes; closing the generator early would cause a warning
            if not (done and isinstance(error, KeyboardInterrupt)):
                raise
    return Finished([done[number] for number in sorted(done)], n - first)


def _of_batch(work: Callable[[Any], Any], at_once: bool, batch: range) -> Any:
    """Return the results of a batch of draws; `work` computes the whole batch or one draw at a time."""
    return work(batch) if at_once else [work(number) for number in batch]


Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(work: Callable[[Item], Result], items: Iterable[Item], n_jobs: int) -> Iterator[Result]:
    """Yield the results of `work` for each item, in their order, as :func:`map` does.

    Parameters
    ----------
    work : callable
        Spends its time in NumPy's functions on large arrays, during which other threads can run. Threads need
        no copies of these arrays and start at once, unlike processes. It must not change what it reads.
    items : iterable
    n_jobs : int
        Number of threads; with 1, results are computed one at a time as they are taken.
    """
    if n_jobs == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(n_jobs) as threads:
        yield from threads.map(work, items)


Found = Generator[tuple[range, list[Any]], None, None]


def _in_processes(work: Callable[[range], list[Any]], batches: list[range], n_jobs: int) -> Found:
    """Yield the batches with their results, in the order in which they finish.

    joblib sends a process several batches at once only if they take less than a fifth of a second, so that
    little is lost by an interruption.
    """
    import joblib

    parallel = joblib.Parallel(n_jobs=n_jobs, backend="loky", return_as="generator_unordered")
    try:
        yield from parallel(joblib.delayed(_undisturbed)(os.getpid(), work, batch) for batch in batches)
    except BrokenProcessPool as error:
        raise RuntimeError("A process that shared the draws ended early; use n_jobs=1.") from error


def _undisturbed(parent: int, work: Callable[[range], list[Any]], batch: range) -> tuple[range, list[Any]]:
    """Return a batch with its results; in a child process, ignore Ctrl-C, which the parent handles."""
    if os.getpid() == parent:
        return batch, work(batch)
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return batch, work(batch)
    finally:
        signal.signal(signal.SIGINT, handler)
