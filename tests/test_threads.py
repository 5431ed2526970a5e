"""What threads share is left alone: filters of warnings, settings, locale, random state."""

from __future__ import annotations

import ast
import locale
import random
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from tests.test_imports import tree_of

matplotlib.use("Agg")


def shared() -> dict[str, Any]:
    """What all threads of a process share."""
    return {
        "errors": np.geterr(),
        "plots": dict(matplotlib.rcParams),
        "locale": locale.setlocale(locale.LC_ALL),
        "numpy": [str(part) for part in np.random.get_state()],  # noqa: NPY002
        "random": random.getstate(),
        "printing": np.get_printoptions(),
        "pandas": pd.get_option("display.width"),
    }


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.gamma(5, 1, (60, 4)), columns=["a b", "a-b", "c", "d"])
    return data.assign(g=[*"xyz"] * 20)


#: Both names in backticks look alike once their signs are gone.
FORMULA = "~ log(`a b` + `a-b`) + poly(c, 2) + bs(d, df=4) + C(g) + g:c + scale(c) + I(c.clip(0, 5) - `a b`)"


def work(number: int) -> float:
    """Fit, transform, refuse, save nothing, plot: whatever a thread may do."""
    import matplotlib.figure

    df = frame()
    fit = sp.spca(df, k=2, card=3, formula=FORMULA, categorical="dummy", rng=number, method="bcd-l0")
    fit.transform(df.iloc[:7])
    str(fit), fit.diagnostics(df)
    for bad in (df.assign(g="unseen"), df.drop(columns="c"), df.assign(c=np.nan)):
        with pytest.raises(sp.errors.SpcaError):
            fit.transform(bad)
    with pytest.raises(sp.errors.FormulaError):
        sp.spca(df, k=1, card=1, formula="~ C(g, levels=['x', 'y'])", categorical="dummy", method="bcd-l0")
    figure = matplotlib.figure.Figure()
    fit.plot_loadings(ax=figure.add_subplot(2, 2, 1))
    fit.biplot(ax=figure.add_subplot(2, 2, 2))
    fit.screeplot(ax=figure.add_subplot(2, 2, 3))
    sp.spca(df[["c", "d"]].to_numpy(), k=1, method="pca")
    return float(fit.loadings.to_numpy().sum())


def test_four_threads_leave_everything_as_it_was(monkeypatch):
    """Filters of warnings are not ours to change, nor for a moment; pandas and matplotlib do change them."""
    work(0)  # imports may set things up once
    before = shared()
    changed: list[str] = []
    enter = warnings.catch_warnings.__enter__

    def told(self: Any) -> Any:
        changed.append(sys._getframe(1).f_code.co_filename)
        return enter(self)

    monkeypatch.setattr(warnings.catch_warnings, "__enter__", told)
    with ThreadPoolExecutor(4) as pool:
        sums = list(pool.map(work, [0] * 4))
    monkeypatch.undo()
    after = shared()
    assert {name for name in before if before[name] != after[name]} == set()
    ours = str(Path(sp.__file__).parent)
    assert [name for name in changed if name.startswith(ours)] == []
    assert len(set(sums)) == 1


#: Calls that change what all threads share.
CHANGING = {
    "catch_warnings", "simplefilter", "filterwarnings", "resetwarnings", "seterr", "seterrcall", "setlocale",
    "set_printoptions", "printoptions", "set_option", "option_context", "rc_context", "rcdefaults", "seed",
    "set_state", "chdir", "umask", "setrecursionlimit",
}  # fmt: skip


def test_no_module_calls_what_changes_them():
    for path in Path(sp.__file__).parent.rglob("*.py"):
        called = {
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Call)
        }
        assert not called & CHANGING, path
