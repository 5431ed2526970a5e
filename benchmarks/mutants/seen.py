"""A plugin of pytest: which functions of the package each test enters, and how long it takes.

``SEEN`` in the environment names the JSON file to write; `spcastat` is taken from the current folder.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

PACKAGE = str(Path.cwd() / "spcastat") + os.sep
_tests: dict[str, dict[str, Any]] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Look over a test's shoulder."""
    entered: set[tuple[str, int]] = set()

    def profile(frame: FrameType, kind: str, argument: Any) -> None:
        code = frame.f_code
        if kind == "call" and code.co_filename.startswith(PACKAGE):
            entered.add((code.co_filename[len(PACKAGE) :], code.co_firstlineno))

    start = time.perf_counter()
    sys.setprofile(profile)
    try:
        return (yield)
    finally:
        sys.setprofile(None)
        seen = _tests.setdefault(item.nodeid, {"passed": True})
        seen["seconds"] = time.perf_counter() - start
        seen["entered"] = sorted(f"{file}:{line}" for file, line in entered)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember which tests pass before anything is broken."""
    if report.outcome != "passed":
        _tests.setdefault(report.nodeid, {})["passed"] = False


def pytest_sessionfinish() -> None:
    """Write what was seen; a test that does not pass tells nothing of a mutant."""
    told = {name: seen for name, seen in _tests.items() if seen.get("passed") and "seconds" in seen}
    Path(os.environ["SEEN"]).write_text(json.dumps(told), encoding="utf-8")
