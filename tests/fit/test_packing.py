"""Labels of any type come back from a file as they were."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pandas as pd
import pytest

from spcastat.errors import FileError
from spcastat.fit.saved_values import Packer, Unpacker

INDEXES = [
    pd.RangeIndex(2, 9, 3, name="rows"),
    pd.Index([1, 2], dtype="int8"),
    pd.Index([1.5, np.nan, np.inf]),
    pd.Index([True, False]),
    pd.Index(["a", "ß", "\ud800"[:0], "name with \n"], name=("a tuple", 1)),
    pd.Index([("a", 1), "b", 3, None, True, 2.5], dtype=object, tupleize_cols=False),
    pd.Index([], dtype=object),
    pd.Index([1, 2, None], dtype="Int64"),
    pd.Index(["a", None], dtype="string"),
    pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["x", None]),
    pd.date_range("2020-03-28", periods=3, tz="Europe/Berlin", freq="D"),
    pd.date_range("2020-01-01", periods=3, freq="2h").as_unit("s"),
    pd.DatetimeIndex(["2020-01-05", "2020-01-01", pd.NaT]),
    pd.timedelta_range("1h", periods=3),
    pd.period_range("2020-01", periods=3, freq="M"),
    pd.interval_range(0.0, 3.0),
    pd.CategoricalIndex(["a", "b", "a"], ordered=True, categories=["b", "a", "c"], name="c"),
]
VALUES = [
    None, True, 3, 2**70, -1.5, float("nan"), float("inf"), "text", [1, [2, "x"]], (1, ("a",)),
    {0: 1.5, "a": [None], (1, 2): "b"}, np.float32(2.5), np.int64(7), datetime.date(2020, 1, 2),
    datetime.datetime(2020, 1, 2, 3, 4), pd.Timestamp("2020-01-01 03:04:05.123456789", tz="UTC"),
    pd.Timestamp("2020-01-01", tz="Europe/Berlin"), pd.Timedelta("3s"), pd.Period("2020Q1"),
    pd.Interval(0, 1, closed="left"), pd.NaT, pd.NA,
]  # fmt: skip


@pytest.mark.parametrize("index", INDEXES, ids=lambda index: f"{type(index).__name__}-{index.dtype}")
def test_indexes_come_back(index):
    packer = Packer()
    text = json.dumps(packer.index(index, "x"), allow_nan=False)
    back = Unpacker(packer.arrays).index(json.loads(text))
    assert type(back) is type(index)
    assert list(back.names) == list(index.names)
    pd.testing.assert_index_equal(back, index, exact=True)
    assert getattr(back, "freq", None) == getattr(index, "freq", None)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back(value):
    packer = Packer()
    text = json.dumps(packer.value(value, "x"), allow_nan=False)
    back = Unpacker(packer.arrays).value(json.loads(text))
    assert type(back) is type(value)
    assert repr(back) == repr(value)


@pytest.mark.parametrize("value", [lambda: 1, {1, 2}, b"bytes", 1j, np.array(["a"]), object(), Packer])
def test_what_has_no_form_is_refused_by_its_place(value):
    with pytest.raises(FileError, match="the label of a row holds"):
        Packer().value([value], "the label of a row")
