"""Many independent draws: each with its own seed, here or in several processes, until done or interrupted.

The processes are new interpreters that import spcastat and nothing of the user's program: a script needs no
``if __name__ == "__main__"``, and no state of this process is copied. A draw is computed from its number
alone, so that results do not depend on how draws are shared.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np

from spcastat.config import generator, shown, whole_number
from spcastat.errors import OptionError
from spcastat.progress import stage

#: A process is handed this many shares of the draws, so that all end at about the same time.
SHARES = 8
#: Seconds after which the main thread looks for an interruption.
GLANCE = 0.2
#: Processes, at most.
MOST_WORKERS = 256


@dataclass(frozen=True, eq=False)
class Finished:
    """What draws gave.

    Attributes
    ----------
    results : list
        In the order of the draws; those not done are left out.
    asked : int
        How many draws were wanted.
    """

    results: list[Any]
    asked: int

    @property
    def interrupted(self) -> bool:
        """Whether there are fewer results than draws that were asked for."""
        return len(self.results) < self.asked


def seed_of(rng: Any) -> int:
    """Return the seed of all draws: 0 for None, a whole number as it is, one drawn from a generator.

    Raises
    ------
    OptionError
        For anything else.
    """
    drawn = generator(rng)
    if rng is None:
        return 0
    return int(drawn.integers(2**63)) if rng is drawn else int(rng)


def draw_generator(seed: int, number: int) -> np.random.Generator:
    """Return the random numbers of one draw: independent of those of every other."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))


def workers(n_jobs: Any) -> int:
    """Return a checked number of processes; -1 stands for the processors that this process may use.

    Raises
    ------
    OptionError
        For anything but a whole number of 1 or more, or -1.
    """
    if isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, (bool, np.bool_)) and n_jobs == -1:
        has = getattr(os, "sched_getaffinity", None)
        return len(has(0)) if has is not None else os.cpu_count() or 1
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
) -> Finished:
    """Return ``work(0), ..., work(n - 1)``.

    Parameters
    ----------
    work : callable
        Draw number -> result. It depends on nothing else, and can be pickled where `n_jobs` is not 1.
    n : int
    n_jobs : int
        Processes; 1 is this one. See :func:`workers`.
    what, unit : str
        The stage, and what is counted, for `progress`.
    together : int, optional
        Work is done on so many draws at once (fewer at the end): ``work(range(0, together))`` returns a list
        of their results. Which draws go together does not depend on `n_jobs`.

    Returns
    -------
    Finished
        All results; those there are where Ctrl-C ended the work.

    Raises
    ------
    KeyboardInterrupt
        Where it came before the first result.
    Exception
        What a draw raises.
    """
    done: dict[int, Any] = {}
    pieces = [range(first, min(first + (together or 1), n)) for first in range(0, n, together or 1)]
    of_piece = _Single(work) if together is None else work
    with stage(what, n, unit) as advance:
        try:
            if n_jobs == 1 or len(pieces) < 2:
                for piece in pieces:
                    results = of_piece(piece)
                    done.update(zip(piece, results, strict=True))
                    advance(len(piece))
            else:
                _shared(of_piece, pieces, min(n_jobs, len(pieces)), done, advance)
        except KeyboardInterrupt:
            if not done:
                raise
    return Finished([done[number] for number in sorted(done)], n)


@dataclass(frozen=True, eq=False)
class _Single:
    """Work on one draw, as work on a piece of one."""

    work: Callable[[int], Any]

    def __call__(self, piece: range) -> list[Any]:
        return [self.work(number) for number in piece]


# --- several processes ----------------------------------------------------------------------------


@dataclass(eq=False)
class _Worker:
    """An interpreter that answers pieces of the draws with their results."""

    work: bytes
    process: subprocess.Popen[bytes] = field(init=False)
    thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        path = [entry for entry in sys.path if isinstance(entry, str)]
        begin = (
            # the process that was interrupted ends this one, from its first moment on
            "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
            f"sys.path[:] = {path!r}; from spcastat.resample.jobs import serve; serve()"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", begin], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def answer(self, share: Sequence[range]) -> Any:
        """Return (True, results of each piece), or (False, what was raised)."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        pickle.dump(list(share), self.process.stdin)
        self.process.stdin.flush()
        return pickle.load(self.process.stdout)

    def begin(self) -> None:
        """Hand over the work."""
        assert self.process.stdin is not None
        self.process.stdin.write(self.work)
        self.process.stdin.flush()

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        if self.thread is not None:
            self.thread.join()  # its last read has met the end
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what was not flushed has no reader any more
                    pipe.close()
        self.process.wait()


def _shared(
    work: Callable[[range], Any],
    pieces: Sequence[range],
    n_jobs: int,
    done: dict[int, Any],
    advance: Callable[[int], None],
) -> None:
    """Let processes draw; `done` is filled as their answers come in."""
    shares: queue.SimpleQueue[Any] = queue.SimpleQueue()
    size = max(1, len(pieces) // (n_jobs * SHARES))
    for first in range(0, len(pieces), size):
        shares.put(pieces[first : first + size])
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    packed = pickle.dumps(work, protocol=pickle.HIGHEST_PROTOCOL)
    started: list[_Worker] = []
    try:
        for _ in range(n_jobs):
            started.append(_Worker(packed))
        for worker in started:
            worker.thread = threading.Thread(target=_feed, args=(worker, shares, answers), daemon=True)
            worker.thread.start()
        left = len(pieces)
        while left:
            try:
                share, good, results = answers.get(timeout=GLANCE)
            except queue.Empty:
                continue
            if not good:
                raise results
            for piece, found in zip(share, results, strict=True):
                done.update(zip(piece, found, strict=True))
                advance(len(piece))
            left -= len(share)
    finally:
        for worker in started:
            worker.end()


def _feed(worker: _Worker, shares: Any, answers: Any) -> None:
    """Give one process shares of the draws until none is left."""
    share: Sequence[range] = ()
    try:
        worker.begin()
        while True:
            try:
                share = shares.get_nowait()
            except queue.Empty:
                return
            good, results = worker.answer(share)
            answers.put((share, good, results))
    except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
        cause = type(error).__name__
        died = RuntimeError(f"A process that shared the draws ended early ({cause}); use n_jobs=1.")
        answers.put((share, False, died))


def serve(stdin: BinaryIO | None = None, stdout: BinaryIO | None = None) -> None:
    """Answer lists of pieces from the standard input, after the work itself: what a process does."""
    read = sys.stdin.buffer if stdin is None else stdin
    write = sys.stdout.buffer if stdout is None else stdout
    sys.stdout = sys.stderr  # nothing but answers goes there
    try:
        work = pickle.load(read)
        while True:
            share = pickle.load(read)
            answer: tuple[bool, Any]
            try:
                answer = True, [work(piece) for piece in share]
            except Exception as error:
                answer = False, error
            pickle.dump(answer, write)
            write.flush()
    except EOFError:
        return
