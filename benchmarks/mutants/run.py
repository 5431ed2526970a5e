"""Tests of a broken source: pytest collects them once, and copies of that process run them for each mutant.

A mutant inside a function replaces the code of that function where it stands, and a constant of a module
its value, so that nothing is imported or collected anew. Where that cannot be (a default, the body of a
class), the source is broken on disk and the tests run in a process that imports it.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar

import pytest
from coverage import CoverageData

from benchmarks.mutants.mutate import Mutant

T = TypeVar("T")

#: CPU seconds that a test may take: so many, and so many times those that it took before.
SLOW = (4.0, 5.0)
#: Tests that mirror the package of a line are the likeliest to notice: they count as so much quicker.
OWN = 0.3


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
        """Return the tests that execute the line, or else the body or the file around it, quickest first.

        Tests of the package of the line count as quicker than they are; where no test is known to come
        there, they are all tried.
        """
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
                own = f"tests/{mutant.file.split('/')[0]}/"
                weights = {name: OWN if own in name else 1.0 for name in found}
                return sorted(found, key=lambda name: (self.seconds[name] * weights[name], name))
        own = [name for name in self.seconds if name.startswith(f"tests/{mutant.file.split('/')[0]}/")]
        return sorted(own, key=lambda name: (self.seconds[name], name))


def passed(seen: dict[str, Any]) -> bool:
    """Whether a test ran whole and passed."""
    return bool(seen.get("passed")) and "seconds" in seen


def environment(tree: Path) -> dict[str, str]:
    """One thread, the copy first on the path, and no compiled files, which a quick change would not renew."""
    alone = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    return {**os.environ, **alone, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}


def look(folder: Path, tree: Path, tests: list[str], minutes: float = float("inf")) -> None:
    """Run tests (none: all) of the unbroken source that were not run yet, and keep which lines they run."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "benchmarks.mutants.seen", *tests]
    env = {**environment(tree), "SEEN": str(folder), "SEEN_MINUTES": str(minutes)}
    subprocess.run([*command, "-p", "no:cacheprovider"], cwd=tree, env=env, check=False)


class Runner:
    """Tests of the copy, collected in this process, which never runs one itself."""

    def __init__(self, tree: Path, session: pytest.Session, seconds: dict[str, float]) -> None:
        self.tree = tree
        self._seconds = seconds
        self._session = session
        self._items = {item.nodeid: item for item in session.items}
        for module in pkgutil.walk_packages([str(tree / "spcastat")], "spcastat."):
            if not module.name.endswith("__main__"):
                with contextlib.suppress(ModuleNotFoundError):  # an extra that is not installed
                    importlib.import_module(module.name)

    def tried(self, mutant: Mutant, tests: list[str], limit: float) -> str:
        """Break the line and run the tests; returns the one that noticed, or an empty text."""
        path = self.tree / "spcastat" / mutant.file
        source = path.read_text(encoding="utf-8")
        change = _change(path, source, mutant)
        if change is not None:
            noticed = self.copy(tests, limit, change)
            if not noticed.startswith("took longer"):  # perhaps for threads, which a copy does not have
                return noticed
        try:
            path.write_text(mutant.applied(source), encoding="utf-8")
            return self._anew(tests, limit)
        finally:
            path.write_text(source, encoding="utf-8")

    def copy(self, tests: list[str], limit: float, change: Callable[[], None]) -> str:
        """Run tests in a copy of this process, after `change`; returns which failed, or an empty text."""
        said = self.tree.parent / "said.txt"
        said.write_text("", encoding="utf-8")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                _own_group()
                change()
                code = self._run([self._items[name] for name in tests], said)
            except BaseException as error:
                said.write_text(f"the run itself: {error!r}", encoding="utf-8")
            finally:
                os._exit(code)
        return _waited(child, limit, said)

    def _run(self, items: list[pytest.Item], said: Path) -> int:
        """Run tests here; returns whether one failed."""
        session = self._session
        session.items, session.testsfailed = items, 0  # files that cannot be collected were counted
        session.config.option.maxfail = 1
        session.config.pluginmanager.register(_First(said, self._seconds))
        with contextlib.suppress(pytest.Session.Interrupted, pytest.Session.Failed):
            session.config.hook.pytest_runtestloop(session=session)
        return int(session.testsfailed > 0)

    def _anew(self, tests: list[str], limit: float) -> str:
        """Run tests in a process that imports the source; returns which failed, or an empty text."""
        names = self.tree.parent / "tests.txt"
        names.write_text("\n".join(tests), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider"]
        process = subprocess.Popen(
            [*command, f"@{names}"],
            cwd=self.tree,
            env=environment(self.tree),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=_own_group,
        )
        try:
            said = process.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            _end_group(process.pid)
            process.communicate()
            return f"took longer than {limit:.0f} s"
        finally:
            _end_group(process.pid)
        if process.returncode == 0:
            return ""
        lines = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return lines[0] if lines else said.strip().splitlines()[-1]


def with_runner(tree: Path, tests: list[str], seconds: dict[str, float], work: Callable[[Runner], T]) -> T:
    """Collect tests of the copy in this process, and return what `work` makes of them.

    The process has to be a new one: the package is imported from the copy here.
    """
    assert "spcastat" not in sys.modules
    os.environ.update(environment(tree))
    os.chdir(tree)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(tree))
    for name in [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]:
        del sys.modules[name]  # tests of the copy import its own
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # a broken source is mended
    loop = _Loop(tree, seconds, work)
    place = f"--basetemp={tree.parent / 'tmp'}"
    pytest.main(["-p", "no:terminal", "-p", "no:cacheprovider", place, *tests], plugins=[loop])
    if not loop.done:
        raise SystemExit("the tests of the copy cannot be collected")
    return loop.done[0]


class _Loop:
    """Stands where pytest would run what it has collected."""

    def __init__(self, tree: Path, seconds: dict[str, float], work: Callable[[Runner], Any]) -> None:
        self.tree, self.seconds, self.work = tree, seconds, work
        self.done: list[Any] = []
        self._copy = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if self._copy:
            return None
        self._copy = True  # a copy of this process runs tests
        capture = session.config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            self.done.append(self.work(Runner(self.tree, session, self.seconds)))
        return True


class _First:
    """The first test that fails; one that computes much longer than it did before ends the process."""

    def __init__(self, said: Path, seconds: dict[str, float]) -> None:
        self.said = said
        self.seconds = seconds

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        limit = SLOW[0] + SLOW[1] * self.seconds[item.nodeid]
        self.said.write_text(f"{item.nodeid}: {limit:.0f} s were not enough", encoding="utf-8")
        signal.setitimer(signal.ITIMER_PROF, limit)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.said.write_text(report.nodeid, encoding="utf-8")


def _own_group() -> None:
    """Give this process a group of its own, and an end with its parent (Linux: prctl PR_SET_PDEATHSIG)."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _end_group(leader: int) -> None:
    """End what is left of a group: workers that a test has started, too."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _waited(child: int, limit: float, said: Path) -> str:
    end = time.monotonic() + limit
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            _end_group(child)
            break
        if time.monotonic() > end:
            _end_group(child)
            os.waitpid(child, 0)
            return f"took longer than {limit:.0f} s"
        time.sleep(0.01)
    if os.waitstatus_to_exitcode(status) == 0:
        return ""
    return said.read_text(encoding="utf-8") or f"the process ended with {os.waitstatus_to_exitcode(status)}"


def _change(path: Path, source: str, mutant: Mutant) -> Callable[[], None] | None:
    """Return what breaks the source where it stands in memory; None where that cannot be."""
    return _constant(path, source, mutant) if not mutant.bodies else _function(path, source, mutant)


def _constant(path: Path, source: str, mutant: Mutant) -> Callable[[], None] | None:
    """Return what puts another value in place of a constant of a module, wherever that was imported."""
    module = next((one for one in sys.modules.values() if getattr(one, "__file__", None) == str(path)), None)
    broken = mutant.applied(source)
    statement = next(
        (one for one in ast.parse(broken).body if one.lineno <= mutant.line <= (one.end_lineno or 0)), None
    )
    if module is None or not isinstance(statement, ast.Assign | ast.AnnAssign):
        return None
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    if not isinstance(target, ast.Name) or not hasattr(module, target.id):
        return None
    name, old = target.id, getattr(module, target.id)

    def change() -> None:
        scope = dict(vars(module))
        exec(compile(ast.Module([statement], []), str(path), "exec"), scope)
        for one in list(sys.modules.values()):
            if getattr(one, "__dict__", {}).get(name) is old:
                setattr(one, name, scope[name])

    return change


def _function(path: Path, source: str, mutant: Mutant) -> Callable[[], None] | None:
    """Return what puts the broken function in place of the whole one; None where there is none."""
    if not mutant.bodies[0][0] <= mutant.line <= mutant.bodies[0][1]:
        return None
    if len(mutant.bodies) > 1 and not mutant.bodies[-1][0] <= mutant.line <= mutant.bodies[-1][1]:
        return None
    old, new = ([*_codes(compile(text, str(path), "exec"))] for text in (source, mutant.applied(source)))
    if [code.co_qualname for code in old] != [code.co_qualname for code in new]:
        return None
    changed = {
        (code.co_qualname, code.co_firstlineno): other
        for code, other in zip(old, new, strict=True)
        if code.co_firstlineno < mutant.line + 1 and code != other
    }
    found = [
        (function, changed[place])
        for function in gc.get_objects()
        if isinstance(function, FunctionType)
        and function.__code__.co_filename == str(path)
        and (place := (function.__code__.co_qualname, function.__code__.co_firstlineno)) in changed
    ]
    if not found or any(function.__code__.co_freevars != code.co_freevars for function, code in found):
        return None

    def change() -> None:
        for function, code in found:
            function.__code__ = code

    return change


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the codes of all functions in one, in their order."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            if one.co_flags & 0x1:  # optimised: a function, not the body of a class
                yield one
            yield from _codes(one)
