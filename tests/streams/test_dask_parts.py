"""How partitions of dask collections are named, summed and scored, and how weights are matched to them."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from spcastat.errors import WeightsError
from spcastat.linalg.accumulate import Sums
from spcastat.reading.design import ReadOptions, Spec

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

from spcastat.streams.dask import DaskStream, Reading, Summing, is_large, weight_parts  # noqa: E402

X = np.random.default_rng(0).standard_normal((30, 4))
FRAME = pd.DataFrame(X, columns=list("abcd"))


def reading(starts: Any = None) -> Reading:
    return Reading(Spec("array", pd.RangeIndex(4)), "raise", "dask array", True, starts)


def test_partitions_are_named_with_their_rows_where_these_are_known():
    known = reading((0, 4, 4, 9))
    assert known.name(0) == "partition 1 of the dask array (rows 0 to 3)"
    assert known.name(1) == "partition 2 of the dask array"  # it has none
    assert known.name(2) == "partition 3 of the dask array (rows 4 to 8)"
    assert reading().name(1) == "partition 2 of the dask array"


def begun(names: np.ndarray) -> Sums:
    return Sums(4)


def test_large_arguments_are_sent_once_and_change_nothing():
    small, large = partial(begun, np.arange(9)), partial(begun, np.arange(200_000))
    assert not is_large(Summing(reading(), small))
    assert is_large(Summing(reading(), large))  # 1.6 MB
    stream = DaskStream.open(da.from_array(X, chunks=(7, 4)))
    one, other = stream.reduce(small, "sums"), stream.reduce(large, "sums")
    assert one.result.mean.tobytes() == other.result.mean.tobytes()
    np.testing.assert_allclose(one.result.mean, X.mean(axis=0), rtol=1e-12, atol=1e-15)


def test_a_pass_over_a_collection_is_that_over_its_rows():
    w = np.random.default_rng(1).integers(0, 3, 30).astype(float)
    arrays = (da.from_array(X, chunks=chunks) for chunks in (((7, 0, 20, 3), 4), ((7, 0, 20, 3), (1, 3))))
    for data in (*arrays, dd.from_pandas(FRAME, npartitions=4)):
        weights = (
            da.from_array(w, chunks=7)
            if isinstance(data, da.Array)
            else dd.from_pandas(pd.Series(w), npartitions=4)
        )
        for options in (ReadOptions(), ReadOptions(weights=weights)):
            stream = DaskStream.open(data, options)
            assert stream.weighted == (options.weights is not None)
            found = stream.reduce(lambda: Sums(4), "sums")
            u = np.ones(30) if options.weights is None else w
            assert (found.tally.rows, found.tally.dropped) == (30, 0)
            assert found.tally.weight == pytest.approx(u.sum(), rel=1e-14)
            assert found.tally.positive == np.count_nonzero(u)
            np.testing.assert_allclose(found.result.mean, np.average(X, axis=0, weights=u), rtol=1e-12)
    assert DaskStream.open(da.from_array(X, chunks=(7, 4))).rows == 30
    assert DaskStream.open(dd.from_pandas(FRAME, npartitions=2)).rows is None
    late = [dd.from_pandas(part, npartitions=1) for part in (FRAME[:0], FRAME[:0], FRAME)]
    assert DaskStream.open(dd.concat(late)).reduce(lambda: Sums(4), "sums").tally.rows == 30


def test_weights_come_in_the_partitions_of_the_rows():
    rows, w = da.from_array(X, chunks=((7, 20, 3), 4)), np.arange(30.0)

    def computed(parts):
        return [np.asarray(one) for one in dask.compute(*parts, scheduler="synchronous")]

    assert weight_parts(None, rows) is None
    series = dd.from_pandas(pd.Series(w), npartitions=2)
    for weights in (w, w.tolist(), da.from_array(w, chunks=30), series.to_dask_array(lengths=True)):
        found = computed(weight_parts(weights, rows))
        assert [len(one) for one in found] == [7, 20, 3]
        np.testing.assert_array_equal(np.concatenate(found), w)
    frame = dd.from_pandas(FRAME, npartitions=3)
    series = dd.from_pandas(pd.Series(w), npartitions=3)
    for weights in (series, series.to_dask_array()):
        np.testing.assert_array_equal(np.concatenate(computed(weight_parts(weights, frame))), w)
    with pytest.raises(WeightsError, match="weights are in 2 partitions, the rows in 3"):
        weight_parts(dd.from_pandas(pd.Series(w), npartitions=2), frame)
    shifted = dd.from_pandas(pd.Series(w, index=np.arange(30) + 1), npartitions=3)
    with pytest.raises(WeightsError, match="have other divisions"):
        weight_parts(shifted, frame)
    with pytest.raises(WeightsError, match="29 values for 30 rows"):
        weight_parts(da.from_array(w[:29], chunks=29), rows)
    with pytest.raises(WeightsError, match="array with 2 axes"):
        weight_parts(da.from_array(X, chunks=30), rows)
    unknown = rows[rows[:, 0] > -9]
    with pytest.raises(WeightsError, match="in 1 partitions, the rows in 3"):
        weight_parts(da.from_array(w, chunks=30), unknown)
    with pytest.raises(WeightsError, match="unknown numbers"):
        weight_parts(w, unknown)
    assert len(weight_parts(da.from_array(w, chunks=((7, 20, 3),)), unknown)) == 3


def test_scores_are_as_lazy_as_the_rows():
    rows = da.from_array(X, chunks=(10, 4))
    standard = SimpleNamespace(project=lambda values, V: values @ V, mean=np.zeros(4), scale=np.ones(4))
    names = pd.Index(["PC1", "PC2"])
    for na, sizes in (("raise", (10, 10, 10)), ("drop", (np.nan,) * 3)):
        scores = DaskStream.open(rows, ReadOptions(na=na)).scores(standard, np.eye(4)[:, :2], names)
        np.testing.assert_array_equal(scores.chunks[0], sizes)
        assert scores.chunks[1] == (2,)
        np.testing.assert_allclose(scores.compute(scheduler="synchronous"), X[:, :2])
    framed = DaskStream.open(dd.from_pandas(FRAME, npartitions=3)).scores(standard, np.eye(4)[:, :2], names)
    assert list(framed.columns) == ["PC1", "PC2"]
    np.testing.assert_allclose(framed.compute(scheduler="synchronous"), X[:, :2])
