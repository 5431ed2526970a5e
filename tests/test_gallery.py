"""The gallery is that of its script: every figure is there, with the lines that draw it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture
def module(monkeypatch):
    """The script, imported as it lies among the documents."""
    monkeypatch.syspath_prepend(str(DOCS))
    found = importlib.import_module("gallery")
    yield found
    sys.modules.pop("gallery")


def test_the_page_is_that_of_the_script(module):
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    names = [figure.name for figure in module.FIGURES]
    assert len(set(names)) == len(names)
    assert {path.stem for path in (DOCS / "gallery").glob("*.png")} == set(names)
    for figure in module.FIGURES:
        assert f"(gallery/{figure.name}.png)" in page
        assert all(line in page for line in figure.code.splitlines())


def test_twelve_data_sets_of_the_sizes_that_people_have(module):
    used = {figure.data for figure in module.FIGURES} & set(module.SHAPES)
    assert len(used) == 12
    sizes = [module.SHAPES[name]()[0].shape for name in used]
    assert {13, 30, 100, 2000} <= {p for _, p in sizes}
    assert (min(n for n, _ in sizes), max(n for n, _ in sizes)) == (50, 10_000)


def test_the_lines_of_the_first_figure_run(module):
    figure = next(one for one in module.FIGURES if one.name == "wine")
    df, group = module.MAKERS[figure.data]()
    names = {"sp": module.sp, "pd": pd, "df": df, "group": pd.Series(group, name="group")}
    before = dict(matplotlib.rcParams)
    exec(figure.code, names)
    assert names["ax"].get_legend() is not None
    assert dict(matplotlib.rcParams) == before
    plt.close("all")
