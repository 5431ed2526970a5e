"""Values for the rows of a fit, under labels of every kind: matched by label, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.hostile.areas.arrays import CARD, K, numbers
from benchmarks.hostile.cases import Case
from benchmarks.hostile.judges import different

N = len(numbers())
#: Labels of the rows.
ROWS: dict[str, pd.Index] = {
    "numbered": pd.RangeIndex(N),
    "names": pd.Index([f"r{i}" for i in range(N)]),
    "from 7": pd.RangeIndex(7, 7 + N),
    "dates": pd.date_range("2020", periods=N),
    "two levels": pd.MultiIndex.from_product([["a", "b"], range(N // 2)]),
    "repeated": pd.Index([f"r{i // 2}" for i in range(N)]),
}
#: How the labels of the values differ from those of the rows, and what must become of it.
CHANGES: dict[str, tuple[Callable[[pd.Series], pd.Series], str]] = {
    "as they are": (lambda x: x, "accept"),
    "reversed": (lambda x: x[::-1], ""),
    "one other": (lambda x: x.set_axis([*x.index[:-1], "other"]), "refuse"),
    "one fewer": (lambda x: x[:-1], "refuse"),
    "one twice": (lambda x: x.iloc[[0, 0, *range(1, N - 1)]], "refuse"),
    "none in common": (lambda x: x.set_axis([f"other{i}" for i in range(N)]), "refuse"),
    "overlapping numbers": (lambda x: x.set_axis(pd.RangeIndex(3, 3 + N)), "refuse"),
}


def _values() -> np.ndarray:
    return np.random.default_rng(1).integers(1, 4, N)


def _correlations(fit: Any, data: pd.DataFrame, given: Any) -> Any:
    return fit.supplement(variables=given.astype(float).rename("v")).correlations


def _groups(fit: Any, data: pd.DataFrame, given: Any) -> Any:
    return fit.biplot_data(groups=given).points["group"].astype(str).tolist()


def _colours(fit: Any, data: pd.DataFrame, given: Any) -> Any:
    return fit.biplot_data(color=given).points["color"].to_numpy()


def _diagnostics(fit: Any, data: pd.DataFrame, given: Any) -> Any:
    return fit.plot_diagnostics_data(groups=given).points["group"].astype(str).tolist()


def _weights(fit: Any, data: pd.DataFrame, given: Any) -> Any:
    return sp.spca(data, K, CARD, weights=given)


USES = {"supplement": _correlations, "groups": _groups, "color": _colours, "T2": _diagnostics, "w": _weights}


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for rows, index in ROWS.items():
        for change, (move, must) in CHANGES.items():
            if rows == "repeated" and change == "one twice":
                continue
            for name, use in USES.items():
                run, judge = partial(_used, use, index, move), partial(_as, use, index)
                yield Case(f"{name}, {rows}, {change}", run, judge, must)


def _frame(index: pd.Index) -> pd.DataFrame:
    return pd.DataFrame(numbers(), columns=list("abcde"), index=index)


def _used(use: Any, index: pd.Index, move: Any) -> Any:
    data = _frame(index)
    return use(sp.spca(data, K, CARD), data, move(pd.Series(_values(), index=index)))


def _as(use: Any, index: pd.Index, given: Any) -> str:
    """Compare with the values in the order of the rows."""
    data = _frame(index)
    expected = use(sp.spca(data, K, CARD), data, pd.Series(_values(), index=index))
    if isinstance(given, list):
        return "" if given == expected else "other groups"
    return different(given, expected)
