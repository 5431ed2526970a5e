"""Labels in files: which come back as they were, and which become text."""

from __future__ import annotations

import json
from typing import Any, TypedDict

import numpy as np
import pandas as pd
import pytest

from spcastat.errors import DataWarning
from spcastat.fit.saved_values import has_type, pack_index, unpack_index
from spcastat.solvers.solver import Searched

SAME = [
    pd.RangeIndex(2, 9, 3, name="rows"),
    pd.Index([1, 2], dtype="int8"),
    pd.Index([1.5, np.nan, np.inf]),
    pd.Index([True, False]),
    pd.Index(["a", "ß", "\ud800"[:0], "name with \n"], name=("a tuple", 1)),
    pd.Index([("a", 1), "b", 3, None, True, 2.5], dtype=object, tupleize_cols=False),
    pd.Index([1, 2.5], dtype=object),
    pd.Index([], dtype=object),
    pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["x", None]),
    pd.MultiIndex.from_product([pd.date_range("2020", periods=2), ["u", "v"]]),
    pd.DatetimeIndex(["2020-01-05", "2020-01-01", pd.NaT]),
    pd.TimedeltaIndex(["1h", "2h"]),
]
TEXT = [
    (pd.date_range("2020-03-28", periods=2, tz="Europe/Berlin"), "2020-03-28 00:00:00+01:00"),
    (pd.period_range("2020-01", periods=3, freq="M"), "2020-01"),
    (pd.interval_range(0.0, 3.0), "(0.0, 1.0]"),
    (pd.Index([frozenset([1]), "a"], dtype=object), "frozenset({1})"),
]


def back(index: pd.Index) -> pd.Index:
    arrays: dict[str, np.ndarray] = {}
    text = json.dumps(pack_index(index, "rows", arrays, "labels of rows"))
    return unpack_index(json.loads(text), arrays, len(index))


@pytest.mark.parametrize("index", SAME, ids=lambda index: f"{type(index).__name__}-{index.dtype}")
def test_indexes_come_back(index):
    found = back(index)
    assert list(found.names) == list(index.names)
    pd.testing.assert_index_equal(found, index, exact=True)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([1, 2, None], dtype="Int64"),
        pd.Index(["a", None], dtype="string"),
        pd.CategoricalIndex(["a", "b", "a"], ordered=True, categories=["b", "a", "c"], name="c"),
    ],
    ids=lambda index: str(index.dtype),
)
def test_labels_of_other_dtypes_come_back(index):
    found = back(index)
    assert found.isna().tolist() == index.isna().tolist()
    assert found.dropna().tolist() == index.dropna().tolist()
    assert found.names == index.names


@pytest.mark.parametrize(("index", "first"), TEXT, ids=lambda one: str(getattr(one, "dtype", "")))
def test_other_labels_become_text(index, first):
    with pytest.warns(DataWarning, match=r"The file holds labels of rows of type \w+ as text"):
        found = back(index)
    assert found[0] == first
    assert len(found) == len(index)


class Pair(TypedDict):
    a: int
    b: list[float] | None


@pytest.mark.parametrize(
    ("value", "kind", "right"),
    [
        (3, int, True),
        (True, int, False),
        (2**70, int, False),
        (3, float, True),
        (float("nan"), float, False),
        ("a", str, True),
        ("\ud800", str, False),
        (None, str | None, True),
        ([1, "a"], tuple[int, str], True),
        ([1], tuple[int, str], False),
        ({"a": 1, "b": [2.0]}, Pair, True),
        ({"a": 1, "b": None, "more": {}}, Pair, True),
        ({"a": 1}, Pair, False),
        ({"a": 1, "b": ["x"]}, Pair, False),
        ({"x": [1]}, dict[str, list[int]], True),
        ([float("inf"), [None, "x"]], Any, True),
        ([object()], Any, False),
        (3, list[int], False),
        ({"starts": 1}, Searched, False),
    ],
)
def test_types_of_values(value, kind, right):
    assert has_type(value, kind) is right
