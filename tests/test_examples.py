"""The examples in docstrings print what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import spcastat

ROOT = Path(spcastat.__file__).parent
MODULES = [
    ".".join(["spcastat", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")
    for path in sorted(ROOT.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name):
    if name == "spcastat.sklearn":
        pytest.importorskip("sklearn")
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed
