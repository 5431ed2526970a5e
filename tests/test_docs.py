"""The API page names everything that is public."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

import spcastat as sp
from spcastat import plots

TEXT = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
PAGE = TEXT.split()
#: Constants, records, and functions of matrices that other packages share.
NO_ENTRY = ("MEASURES", "Measure", "measures_of", "adjusted_variances", "best_order")


@pytest.mark.parametrize("name", re.findall(r"^   (?!spcastat)(\w+(?:\.\w+)+)$", TEXT, re.M))
def test_every_line_of_the_reference_is_there(name):
    module, _, attribute = f"spcastat.{name}".rpartition(".")
    assert hasattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize(
    ("module", "prefix"),
    [(sp, ""), (sp.measures, "measures."), (plots, "plots."), (sp.datasets, "datasets.")],
)
def test_every_public_function_has_its_line_in_the_reference(module, prefix):
    functions = [name for name in module.__all__ if inspect.isfunction(getattr(module, name))]
    expected = {
        f"{prefix}{name}" for name in functions if not name.endswith("_data") and name not in NO_ENTRY
    }
    assert expected
    assert expected <= set(PAGE)
