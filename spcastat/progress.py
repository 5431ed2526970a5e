"""Progress reports of long computations, and the distribution of their parts among processes and threads.

Work is reported with :func:`stage`, which costs nothing without a listener. The listener is a context
variable, so that no function has to pass it on.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from spcastat.arguments import is_whole, shown, whole_number
from spcastat.errors import OptionError

__all__ = ["Advance", "Listener", "Step", "listening", "stage"]

#: Seconds after which progress is shown if it was not requested.
PATIENCE = 3.0
#: Seconds after which the bar of a nested stage appears, so that bars of short stages do not flicker.
DELAY = 0.5


@dataclass(frozen=True)
class Step:
    """The state of a stage of work, which is passed to a function given as ``progress=``.

    Attributes
    ----------
    stage : str
        The work of the stage, such as ``"means and cross-products"``.
    done : int
    total : int or None
        None if the total is not known in advance.
    unit : str
        What is counted, in the plural: ``"rows"``, ``"chunks"``, ``"rounds"``.
    ended : bool
        Whether the stage has ended. A stage that ends with an error does not report it.
    depth : int
        0 for an outermost stage, 1 for one within it, and so on.
    """

    stage: str
    done: int
    total: int | None
    unit: str
    ended: bool = False
    depth: int = 0


Listener = Callable[[Step], Any]
Advance = Callable[[int], None]

_listener: ContextVar[Listener | None] = ContextVar("spcastat_progress", default=None)
_depth: ContextVar[int] = ContextVar("spcastat_progress_depth", default=0)


@contextmanager
def listening(progress: Any) -> Iterator[None]:
    """Report every stage in the block to `progress`.

    Parameters
    ----------
    progress : None, bool or callable
        True shows bars on stderr; a callable is called with each :class:`Step`, and may raise an exception
        to end the work. None shows bars for work that takes longer than PATIENCE seconds, if stderr is a
        terminal or a notebook and the environment variable SPCASTAT_PROGRESS is not 0. Inside another such
        block, None and False have no effect.

    Raises
    ------
    OptionError
        If `progress` is none of these.
    """
    if progress is False or (progress is None and (_listener.get() is not None or not _watched())):
        yield
        return
    if progress is not None and progress is not True and not callable(progress):
        raise OptionError(
            f"progress of type {type(progress).__name__} was given; it must be True, False, None, or a "
            "function that takes a step (with stage, done, total and unit)."
        )
    display = None if callable(progress) else _Bars(0.0 if progress else PATIENCE)
    heard = _listener.set(display or progress)
    depth = _depth.set(0)
    try:
        yield
    finally:
        _depth.reset(depth)
        _listener.reset(heard)
        if display is not None:
            display.close_below(0)  # bars that an error left open


@contextmanager
def stage(name: str, total: int | None = None, unit: str = "steps") -> Iterator[Advance]:
    """Report a stage of work; the block gets a function to call with the amount done since the last call.

    Parameters
    ----------
    name : str
    total : int, optional
        The total amount of work, if known.
    unit : str
        What is counted.
    """
    listener = _listener.get()
    if listener is None:
        yield lambda count: None
        return
    count_done, depth = 0, _depth.get()

    def advance(count: int) -> None:
        nonlocal count_done
        count_done += count
        listener(Step(name, count_done, total, unit, depth=depth))

    listener(Step(name, 0, total, unit, depth=depth))
    token = _depth.set(depth + 1)
    try:
        yield advance
    finally:
        _depth.reset(token)
    listener(Step(name, count_done, total, unit, ended=True, depth=depth))


def _watched() -> bool:
    """Return whether stderr is a terminal or a notebook, and SPCASTAT_PROGRESS is not 0."""
    if os.environ.get("SPCASTAT_PROGRESS") == "0":
        return False
    try:
        return sys.stderr.isatty() or "ipykernel" in sys.modules
    except (AttributeError, ValueError):  # no stderr, or a closed one
        return "ipykernel" in sys.modules


def _size() -> dict[str, int]:
    """Return the usual size for a terminal that reports a width of zero, in which tqdm would show no bar."""
    try:
        width = os.get_terminal_size(sys.stderr.fileno()).columns
    except (AttributeError, ValueError, OSError):  # no terminal
        return {}
    return {} if width else {"ncols": 80, "nrows": 24}


class _Bars:
    """A tqdm bar for each stage; the bar of a nested stage is shown below, and disappears when it ends.

    Parameters
    ----------
    patience : float
        Seconds after which bars appear, for all stages that are then in progress.
    """

    def __init__(self, patience: float):
        self._from = time.monotonic() + patience
        self._stages: list[tuple[Step, Any]] = []

    def __call__(self, step: Step) -> None:
        depth = step.depth
        is_open = len(self._stages) > depth and self._stages[depth][0].stage == step.stage
        self.close_below(depth + is_open)  # a stage that an error ended has not reported its end
        bar = self._stages.pop()[1] if is_open else None
        self._stages.append((step, bar))
        if time.monotonic() >= self._from:
            self._show()
        if step.ended:
            self.close_below(depth)

    def _show(self) -> None:
        """Update the bars of all stages in progress, creating those that do not exist yet."""
        from tqdm import tqdm

        for i, (step, bar) in enumerate(self._stages):
            if bar is None:
                bar = tqdm(
                    total=step.total,
                    desc=step.stage,
                    unit=f" {step.unit}",
                    file=sys.stderr,
                    **_size(),
                    leave=step.depth == 0,
                    delay=DELAY if step.depth else 0,
                    # seconds between updates: more in a file or a pipe, where each update is a line
                    mininterval=0.1 if _watched() else 2.0,
                )
                self._stages[i] = step, bar
            bar.update(step.done - bar.n)

    def close_below(self, depth: int) -> None:
        while len(self._stages) > depth:
            bar = self._stages.pop()[1]
            if bar is not None:
                bar.close()


# --- processes that share draws and fits ----------------------------------------------------------
# The result of a draw depends only on its number, and therefore not on the distribution of draws among
# processes. joblib starts the processes, so that scripts need no ``if __name__ == "__main__"``.


#: The largest number of processes.
MOST_WORKERS = 256


@dataclass(frozen=True, eq=False)
class Finished:
    """The results of the draws.

    Attributes
    ----------
    results : list
        The results in the order of the draws; after an interruption some are missing.
    number : int
        The number of draws requested.
    """

    results: list[Any]
    number: int

    @property
    def interrupted(self) -> bool:
        """Whether there are fewer results than requested draws."""
        return len(self.results) < self.number


def workers(n_jobs: Any) -> int:
    """Return the number of processes; -1 means the number of processors that this process may use.

    Raises
    ------
    OptionError
        If `n_jobs` is not a whole number from 1 to MOST_WORKERS, or -1.
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
        A function that returns the result of a draw, which depends only on the number of the draw. It must be
        picklable if `n_jobs` is not 1, and must not change its arrays, which the processes share.
    n : int
        Number of draws.
    n_jobs : int
        Number of processes; 1 is this process. See :func:`workers`.
    what, unit : str
        Name of the stage and of the units that are counted, for the progress display.
    together : int, optional
        Largest number of draws that one call of `work` computes, so that ``work(range(0, 20))`` returns a
        list of their results. The batches have nearly the same size, and do not depend on `n_jobs`.
    first : int
        Number of the first draw.

    Returns
    -------
    Finished
        All results; after Ctrl-C, the results that were finished.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C before the first result.
    RuntimeError
        If a process died, for example for lack of memory.
    Exception
        Any error of `work`.
    """
    size = _even_size(n - first, together) if together else 1
    batches = [range(start, min(start + size, n)) for start in range(first, n, size)]
    of_batch = partial(_of_batch, work, together is not None)
    if min(n_jobs, len(batches)) < 2:
        batch_results = ((batch, of_batch(batch)) for batch in batches)
    else:
        batch_results = _in_processes(of_batch, batches, min(n_jobs, len(batches)))
    completed: dict[int, Any] = {}
    with stage(what, n - first, unit) as advance:
        try:
            for batch, results in batch_results:
                completed.update(zip(batch, results, strict=True))
                advance(len(batch))
        except BaseException as error:
            with contextlib.suppress(BaseException):
                # this ends the processes; closing the generator early would cause a warning
                batch_results.throw(error)
            if not (completed and isinstance(error, KeyboardInterrupt)):
                raise
    return Finished([completed[number] for number in sorted(completed)], n - first)


#: Smallest number of batches, if there are enough draws, so that two processes share the draws. With two
#: batches, halves of breast cancer and of 100 variables, and folds of breast cancer, took .96 to 1.01 of the
#: time of one batch; with four batches they took 1.06 to 1.12 of it.
LEAST_BATCHES = 2


def _even_size(n: int, size_limit: int) -> int:
    """Return the number of draws in each batch but the last, which is at most `size_limit`."""
    return max(1, math.ceil(n / max(math.ceil(n / size_limit), LEAST_BATCHES)))


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
        A function that spends its time in NumPy's functions on large arrays, during which other threads can
        run. Threads need no copies of these arrays and start at once, unlike processes. It must not change
        the arrays that it reads.
    items : iterable
    n_jobs : int
        Number of threads; with 1, each result is computed when it is requested.
    """
    if n_jobs == 1:
        yield from map(work, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(n_jobs) as threads:
        yield from threads.map(work, items)


def beside(work: Callable[[], Result], n_jobs: int) -> Callable[[], Result]:
    """Return a function that returns the result of `work`, which runs in another thread in the meantime.

    With one job, `work` runs when the result is requested. The requirements on `work` are the same as for
    :func:`in_threads`.
    """
    if n_jobs == 1:
        return work
    from concurrent.futures import ThreadPoolExecutor

    thread = ThreadPoolExecutor(1)
    result = thread.submit(work).result
    thread.shutdown(wait=False)
    return result


BatchResults = Generator[tuple[range, list[Any]], None, None]


def _in_processes(work: Callable[[range], list[Any]], batches: list[range], n_jobs: int) -> BatchResults:
    """Yield the batches with their results, in the order in which they finish.

    joblib sends a process several batches at once only if they take less than a fifth of a second, so that
    little is lost by an interruption.
    """
    from concurrent.futures.process import BrokenProcessPool  # imported late, as both are slow to import

    import joblib

    parallel = joblib.Parallel(n_jobs=n_jobs, backend="loky", return_as="generator_unordered")
    try:
        with _dropped_work_unreported():
            yield from parallel(joblib.delayed(_undisturbed)(os.getpid(), work, batch) for batch in batches)
    except BrokenProcessPool as error:
        raise RuntimeError("A process that shared the draws ended early; use n_jobs=1.") from error


@contextmanager
def _dropped_work_unreported() -> Iterator[None]:
    """Do not report an error of joblib's thread about work that was dropped when the processes were ended.

    After an interruption this thread drops the waiting work and ends the processes. If the number of a
    dropped piece of work is still in its queue, the thread then fails with a KeyError.
    """
    report = threading.excepthook

    def report_others(failure: threading.ExceptHookArgs) -> None:
        of_joblib = failure.thread is not None and failure.thread.name == "ExecutorManagerThread"
        if not (of_joblib and failure.exc_type is KeyError):
            report(failure)

    threading.excepthook = report_others
    try:
        yield
    finally:
        threading.excepthook = report


def _undisturbed(parent: int, work: Callable[[range], list[Any]], batch: range) -> tuple[range, list[Any]]:
    """Return a batch with its results; in a child process, ignore Ctrl-C, which the parent handles."""
    if os.getpid() == parent:
        return batch, work(batch)
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return batch, work(batch)
    finally:
        signal.signal(signal.SIGINT, handler)
