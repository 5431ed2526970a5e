"""Tests of a broken source, each set in a process that has imported the libraries already."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import pytest
from coverage import CoverageData

from benchmarks.mutants.mutate import Mutant

#: Imported once; no library that starts threads when it is imported, since these do not survive a fork.
LIBRARIES = (
    *("numpy", "scipy.linalg", "scipy.optimize", "scipy.sparse.linalg", "scipy.stats", "pandas", "formulaic"),
    *("narwhals", "matplotlib.pyplot", "statsmodels.api", "xml.etree.ElementTree"),
)
#: The quickest tests run by themselves first: few files are collected for them, and most mutants end there.
FIRST = 25


class Seen:
    """Which tests run which lines of an unbroken source."""

    def __init__(self, folder: Path, tree: Path) -> None:
        told = json.loads((folder / "tests.json").read_text(encoding="utf-8"))
        #: Seconds of the tests that pass; the others tell nothing of a mutant.
        self.seconds = {name: seen["seconds"] for name, seen in told.items() if passed(seen)}
        self._package = tree / "spcastat"
        self._data = CoverageData(str(folder / "lines"))
        self._data.read()
        self._users: dict[str, list[str]] = {}
        for name in self.seconds:
            for context in told[name]["contexts"]:
                self._users.setdefault(context, []).append(name)

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that execute the line, or else the body or the file around it, quickest first."""
        lines = self._data.contexts_by_lineno(str(self._package / mutant.file))
        first, last = mutant.bodies[-1] if mutant.bodies else (1, 0)
        places = [range(mutant.line, mutant.line + 1)] if first <= mutant.line <= last else []
        places += [range(start, end + 1) for start, end in reversed(mutant.bodies)]
        if not mutant.bodies:
            places.append(range(1, max(lines, default=0) + 1))
        for place in places:
            contexts = {context for line in place for context in lines.get(line, ())}
            found = {name for context in contexts for name in self._users.get(context, ())}
            if found:
                return sorted(found, key=lambda name: (self.seconds[name], name))
        return []


def passed(seen: dict[str, Any]) -> bool:
    """Whether a test ran whole and passed."""
    return bool(seen.get("passed")) and "seconds" in seen


def environment(tree: Path) -> dict[str, str]:
    """One thread, and the copy first on the path."""
    alone = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    return {**alone, "PYTHONPATH": str(tree)}


def look(folder: Path, tree: Path, tests: list[str]) -> None:
    """Run tests (none: all) of the unbroken source, and keep which lines they run."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "benchmarks.mutants.seen", *tests]
    env = {**os.environ, **environment(tree), "SEEN": str(folder)}
    subprocess.run(command, cwd=tree, env=env, check=False)


def tried(mutant: Mutant, tree: Path, tests: list[str], seen: Seen, patience: float) -> tuple[str, str]:
    """Break the line, run the tests, mend it; returns the outcome and the test that noticed."""
    path = tree / "spcastat" / mutant.file
    source, times = path.read_text(encoding="utf-8"), path.stat()
    try:
        path.write_text(mutant.applied(source), encoding="utf-8")
        for part in (tests[:FIRST], tests[FIRST:]):
            limit = patience + 5.0 * sum(seen.seconds[name] for name in part)
            by = noticed(tree, part, limit) if part else ""
            if by:
                return "killed", by
    finally:
        path.write_text(source, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # compiled files are of that time
    return "survived", ""


def noticed(tree: Path, tests: list[str], limit: float) -> str:
    """Run tests in a new process; returns which failed, or an empty text."""
    for name in LIBRARIES:
        importlib.import_module(name)
    said = tree.parent / "said.txt"
    said.write_text("", encoding="utf-8")
    child = os.fork()
    if child == 0:
        _pytest(tree, tests, said)
    end = time.monotonic() + limit
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > end:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"took longer than {limit:.0f} s"
        time.sleep(0.02)
    if os.waitstatus_to_exitcode(status) == 0:
        return ""
    return said.read_text(encoding="utf-8") or "pytest itself ended"


def _pytest(tree: Path, tests: list[str], said: Path) -> None:
    """Never returns: this is the new process."""
    code = 1
    try:
        os.setsid()
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.chdir(tree)
        os.environ.update(environment(tree))
        sys.path.insert(0, str(tree))
        for name in [name for name in sys.modules if name.split(".")[0] in ("spcastat", "benchmarks")]:
            del sys.modules[name]
        sys.dont_write_bytecode = True  # a change within the same second would not be compiled anew
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        names = tree.parent / "tests.txt"
        names.write_text("\n".join(tests), encoding="utf-8")
        arguments = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", f"@{names}"]
        code = int(pytest.main(arguments, plugins=[_InOrder(tests, said)]))
    except BaseException:  # pytest's own trouble
        said.write_text(traceback.format_exc(), encoding="utf-8")
    finally:
        os._exit(code)


class _InOrder:
    """The tests in the order in which they are given, and the first that fails."""

    def __init__(self, tests: list[str], said: Path) -> None:
        self.place = {name: number for number, name in enumerate(tests)}
        self.said = said

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self.place.get(item.nodeid, len(self.place)))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.said.write_text(f"collecting {report.nodeid}", encoding="utf-8")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.said.write_text(report.nodeid, encoding="utf-8")
