"""A pytest plugin that records the lines of the package that each test runs, and its time.

``SEEN`` in the environment is a folder: coverage.py keeps the lines of each test there, each a context,
and ``tests.json`` the seconds and the contexts of each. Tests that stand there are not run again, and a run
ends after the minutes in ``SEEN_MINUTES``; ``whole`` is there when none was left. `spcastat` is taken from
the current folder.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

FOLDER = Path(os.environ["SEEN"])
TESTS = FOLDER / "tests.json"
_cover = coverage.Coverage(
    data_file=str(FOLDER / "lines"), source=[str(Path.cwd() / "spcastat")], config_file=False, messages=False
)
_known: dict[str, dict[str, Any]] = json.loads(TESTS.read_text(encoding="utf-8")) if TESTS.exists() else {}
_tests: dict[str, dict[str, Any]] = {}
_end = time.monotonic() + 60.0 * float(os.environ.get("SEEN_MINUTES", "inf"))
_context = "import"


def _switch(context: str) -> str:
    """Count the lines for `context` from here on; returns what they were counted for."""
    global _context
    before, _context = _context, context
    _cover.switch_context(context)
    return before


def pytest_sessionstart() -> None:
    """Begin before the tests are imported; lines seen earlier are kept."""
    if (FOLDER / "lines").exists():
        _cover.load()
    _cover.start()
    _switch("import")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what was seen before."""
    items[:] = [item for item in items if item.nodeid not in _known]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Look over a test's shoulder."""
    for value in vars(getattr(item, "module", None) or object).values():
        if hasattr(value, "cache_clear"):  # a fit that another test has made is this test's as well
            value.cache_clear()
    before = _switch(item.nodeid)
    start = time.process_time()
    try:
        return (yield)
    finally:
        seen = _tests.setdefault(item.nodeid, {"passed": True})
        seen["seconds"] = time.process_time() - start
        seen["contexts"] = [item.nodeid, *_shared(item)]
        _switch(before)
        if time.monotonic() > _end:
            item.session.shouldstop = "the rest next time"


def _shared(item: pytest.Item) -> list[str]:
    """Return the fixtures of a test that are made once for many."""
    info = getattr(item, "_fixtureinfo", None)
    found = info.name2fixturedefs.values() if info else ()
    return [_name(one[-1]) for one in found if one and one[-1].scope != "function"]


def _name(fixture: Any) -> str:
    return f"fixture {fixture.baseid}::{fixture.argname}"


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Iterator[Any]:
    """Count what a shared fixture does for the fixture, not for the test that came first."""
    if fixturedef.scope == "function":
        return (yield)
    before = _switch(_name(fixturedef))
    try:
        return (yield)
    finally:
        _switch(before)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember which tests pass before anything is broken."""
    if report.outcome != "passed":
        _tests.setdefault(report.nodeid, {})["passed"] = False


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was seen; a test that does not pass tells nothing of a mutant."""
    _cover.stop()
    _cover.save()
    TESTS.write_text(json.dumps(_known | _tests), encoding="utf-8")
    if not session.shouldstop:
        (FOLDER / "whole").touch()
