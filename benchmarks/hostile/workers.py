"""Cases in separate processes, with limits of time and memory."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.hostile.areas import AREAS, cases_of
from benchmarks.hostile.cases import Verdict, judged

#: Seconds that a worker may take to begin: imports, and the cases of its area.
BEGINNING = 120.0


def serve(module: str, megabytes: int, folder: str, pipe: Connection) -> None:
    """Judge cases by their numbers until there is no more; what a worker process runs."""
    try:
        import resource
    except ImportError:  # a system that has no such limits
        pass
    else:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 2**20, megabytes * 2**20))
    os.environ["MPLBACKEND"] = "Agg"
    os.chdir(folder)
    cases = cases_of(module)
    pipe.send(len(cases))
    while (number := pipe.recv()) is not None:
        pipe.send(judged(cases[number]))
        if number % 50 == 0 and (pyplot := sys.modules.get("matplotlib.pyplot")):
            pyplot.close("all")


class Worker:
    """One process that judges the cases of one area; a case that takes too long ends it.

    Parameters
    ----------
    module : str
        Where the cases are.
    seconds : float
        For each case.
    megabytes : int
        Address space, all libraries included.
    folder : str
        Where it works.
    """

    def __init__(self, module: str, seconds: float, megabytes: int, folder: str):
        self.module, self.seconds, self.megabytes, self.folder = module, seconds, megabytes, folder
        self.process: Any = None
        self.count = self._begin()

    def _begin(self) -> int:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        arguments = (self.module, self.megabytes, self.folder, theirs)
        self.process = context.Process(target=serve, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        if not self.pipe.poll(BEGINNING):
            self.close()
            raise TimeoutError(f"the cases of {self.module} were not ready after {BEGINNING:g} s")
        return int(self.pipe.recv())

    def judge(self, number: int) -> Verdict:
        """Return the verdict on a case; start a new process where it hangs or the process dies."""
        if self.process is None:
            self._begin()
        self.pipe.send(number)
        if not self.pipe.poll(self.seconds):
            self.close()
            return Verdict(self._named(number), "hang", f"longer than {self.seconds:g} s")
        try:
            found: Verdict = self.pipe.recv()
        except EOFError:
            self.process.join()
            code = self.process.exitcode
            self.close()
            return Verdict(self._named(number), "foreign", f"the process died with exit code {code}")
        return found

    def _named(self, number: int) -> str:
        return cases_of(self.module)[number].name

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
        self.process = None


def verdicts(area: str, step: int = 1, seconds: float = 20.0, megabytes: int = 4000) -> Iterator[Verdict]:
    """Yield the verdicts on every `step`-th case of an area."""
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker(AREAS[area], seconds, megabytes, folder)
        try:
            yield from (worker.judge(number) for number in _numbers(worker.count, step))
        finally:
            worker.close()


def _numbers(count: int, step: int) -> Iterable[int]:
    return range(0, count, step)
