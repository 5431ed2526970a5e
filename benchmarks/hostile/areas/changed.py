"""Data that change after a fit: what was fitted stays fitted, or the change is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import scipy.sparse as sps

import spcastat as sp
from benchmarks.hostile.areas.arrays import CARD, K, numbers
from benchmarks.hostile.cases import Case
from benchmarks.hostile.judges import different, in_pandas


def _frame() -> pd.DataFrame:
    return pd.DataFrame(numbers(), columns=list("abcde"))


def _polars() -> Any:
    import polars as pl

    return pl.DataFrame(numbers(), schema=list("abcde"))


def _chunks() -> list[pd.DataFrame]:
    return [_frame()[:7], _frame()[7:]]


def _first(data: Any) -> None:
    data[0, 0] = 1000.0


def _stored(data: Any) -> None:
    data.data[0] = 1000.0


#: What is fitted, and how it changes afterwards.
DATA: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "array": (numbers, _first),
    "Fortran": (lambda: np.asfortranarray(numbers()), _first),
    "view": (lambda: np.repeat(numbers(), 2, axis=1)[:, ::2], _first),
    "csr": (lambda: sps.csr_array(numbers()), _stored),
    "csc": (lambda: sps.csc_array(numbers()), _stored),
    "column added": (_frame, lambda x: x.insert(0, "PC1", x["a"] * 5)),
    "column replaced": (_frame, lambda x: x.__setitem__("a", x["b"] * 5)),
    "cell of a frame": (_frame, lambda x: x.__setitem__("a", x["a"].mask(x.index == 0, 1000.0))),
    "rows relabelled": (_frame, lambda x: x.__setattr__("index", x.index[::-1])),
    "columns renamed": (_frame, lambda x: x.rename(columns={"a": "z"}, inplace=True)),
    "rows sorted": (_frame, lambda x: x.sort_values("a", inplace=True)),
    "rows dropped": (_frame, lambda x: x.drop(index=[0, 3], inplace=True)),
    "polars": (_polars, lambda x: x.replace_column(0, x["b"].alias("a"))),
    "chunk replaced": (_chunks, lambda x: x.__setitem__(0, x[0] + 1)),
    "chunks swapped": (_chunks, lambda x: x.reverse()),
    "chunk added": (_chunks, lambda x: x.append(x[0])),
}
#: What is asked of the fit then.
CALLS: dict[str, Callable[[Any], Any]] = {
    "refit card": lambda fit: fit.refit(card=2),
    "refit na": lambda fit: fit.refit(na="drop"),
    "scores": lambda fit: in_pandas(fit.scores),
    "bootstrap": lambda fit: fit.bootstrap(3).conf_int(),
}


def cases() -> Iterator[Case]:
    """Yield the cases: data below the size up to which they are copied, and above it."""
    for limit in (2**26, 100):
        for name, (make, change) in DATA.items():
            for call, ask in CALLS.items():
                run = partial(_after, make, change, ask, limit)
                yield Case(f"{name}, {call}, copies to {limit}", run, partial(_as_before, make, ask))


def _after(make: Any, change: Any, ask: Any, limit: int) -> Any:
    with mock.patch("spcastat.reading.frames.COPY_LIMIT", limit):
        data = make()
        fit = sp.spca(data, K, CARD)
        change(data)
        return ask(fit)


def _as_before(make: Any, ask: Any, given: Any) -> str:
    """Compare with the same call on data that did not change."""
    return different(given, ask(sp.spca(make(), K, CARD)))
