"""What dask is given: how partitions are cut, named and merged, and what travels with them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from spcastat.errors import WeightsError
from spcastat.intake import ReadOptions, Spec
from spcastat.operators.accumulate import CrossProducts, Sums

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

from spcastat.streams import dask as module  # noqa: E402
from spcastat.streams import dask_tasks  # noqa: E402
from spcastat.streams.dask import DaskStream, _head, _pieces, _whole_rows  # noqa: E402
from spcastat.streams.dask_inputs import array_weights, frame_weights  # noqa: E402
from spcastat.streams.dask_tasks import Reading, Summing  # noqa: E402

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


def test_rows_are_cut_into_equal_pieces():
    assert _pieces(10, 4) == (4, 3, 3)
    assert _pieces(8, 4) == (4, 4)
    assert _pieces(9, 4) == (3, 3, 3)
    assert _pieces(3, 4) == (3,)
    assert _pieces(4, 4) == (4,)
    assert _pieces(0, 4) == (0,)
    assert _pieces(3, 1) == (1, 1, 1)


def test_columns_of_an_array_are_put_together_in_blocks_of_bounded_size(monkeypatch):
    whole = da.from_array(X, chunks=(10, 4))
    assert _whole_rows(whole) is whole
    cut = da.from_array(X, chunks=(10, 2))
    assert _whole_rows(cut).chunks == ((10, 10, 10), (4,))
    monkeypatch.setattr(module, "BLOCK_BYTES", 5 * 4 * 8)  # five rows
    assert _whole_rows(cut).chunks == ((5,) * 6, (4,))
    monkeypatch.setattr(module, "BLOCK_BYTES", 5 * 4 * 8 - 1)
    assert _whole_rows(cut).chunks == ((4, 3, 3) * 3, (4,))
    monkeypatch.setattr(module, "BLOCK_BYTES", 1)
    assert _whole_rows(cut).chunks == ((1,) * 30, (4,))
    np.testing.assert_array_equal(_whole_rows(cut).compute(scheduler="synchronous"), X)
    unknown = cut[cut[:, 0] > -9]
    assert _whole_rows(unknown).numblocks == (3, 1)


@pytest.mark.parametrize(
    ("begin", "meeting", "parts"),
    [
        (lambda: Sums(4), 64 * 1024 * 1024, 8),  # whose size is nothing
        (lambda: CrossProducts(100), 64 * 1024 * 1024, 8),
        (lambda: CrossProducts(100), 80_000 * 8, 8),
        (lambda: CrossProducts(100), 80_000 * 8 - 1, 7),
        (lambda: CrossProducts(100), 80_000 * 3, 3),
        (lambda: CrossProducts(100), 80_000, 2),  # two meet whatever their size
        (lambda: CrossProducts(100), 1, 2),
    ],
)
def test_the_larger_sums_are_the_fewer_meet(begin, meeting, parts, monkeypatch):
    monkeypatch.setattr(dask_tasks, "MEETING", meeting)
    assert dask_tasks.fan_in(Summing(reading(), begin)) == parts


def test_small_work_goes_with_each_task_and_large_work_once(monkeypatch):
    import cloudpickle

    work = Summing(reading(), Sums)
    size = len(cloudpickle.dumps(work))
    monkeypatch.setattr(dask_tasks, "LIGHT", size)
    assert dask_tasks.carried(work) is work
    assert dask_tasks.carried(work, "common") is work
    monkeypatch.setattr(dask_tasks, "LIGHT", size - 1)
    assert dask_tasks.carried(work, "common") == "common"
    once = dask_tasks.carried(work)
    assert once.key == f"spcastat-work-{work.token}"
    assert once.compute(scheduler="synchronous") is work


@pytest.mark.parametrize("count", [1, 2, 8, 9, 65])
def test_parts_are_merged_in_a_tree_in_their_order(count, monkeypatch):
    from dask import delayed

    merged = []

    def merge(work: Any, group: list[Any]) -> tuple[int, ...]:
        merged.append(len(group))
        return tuple(number for one in group for number in one)

    monkeypatch.setattr(Summing, "merged", merge)
    parts = [delayed((number,)) for number in range(count)]
    work = Summing(reading(), lambda: Sums(4))
    root = dask_tasks.tree(parts, work, delayed(None))
    assert root.compute(scheduler="synchronous") == tuple(range(count))
    assert max(merged) <= 8
    sizes = {1: 1, 2: 1, 8: 1, 9: 3, 65: 12}  # 65 parts: 9 merges, then 2 of these, and one
    assert len(merged) == sizes[count]


def test_a_pass_over_a_collection_is_that_over_its_rows():
    w = np.random.default_rng(1).integers(0, 3, 30).astype(float)
    for data in (da.from_array(X, chunks=((7, 0, 20, 3), 4)), dd.from_pandas(FRAME, npartitions=4)):
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
            assert sorted(found.tally.prints) == list(range(4))
    assert DaskStream.open(da.from_array(X, chunks=(7, 4))).rows == 30
    assert DaskStream.open(dd.from_pandas(FRAME, npartitions=2)).rows is None


def test_the_first_partition_that_has_rows_is_looked_at(monkeypatch):
    parts = [FRAME[:0], FRAME[:0], FRAME[:12], FRAME[12:]]
    frame = dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])
    looked = []
    compute = dask_tasks.compute

    def counted(some: Any, name: str) -> Any:
        looked.append(name)
        return compute(some, name)

    monkeypatch.setattr(module, "compute", counted)
    monkeypatch.setattr(module, "HEAD", 5)
    pd.testing.assert_frame_equal(_head(frame, "table"), FRAME[:5])
    assert looked == [f"partition {i} of the table" for i in (1, 2, 3)]


def test_weights_come_in_the_blocks_of_the_rows():
    rows, w = da.from_array(X, chunks=((7, 20, 3), 4)), np.arange(30.0)
    assert array_weights(None, rows) is None
    for weights in (w, w.tolist(), da.from_array(w, chunks=30), dd.from_pandas(pd.Series(w), npartitions=2)):
        if isinstance(weights, dd.Series):
            weights = weights.to_dask_array(lengths=True)
        found = array_weights(weights, rows)
        assert found.chunks == ((7, 20, 3), (1,))
        np.testing.assert_array_equal(found.compute(scheduler="synchronous")[:, 0], w)
    frame = dd.from_pandas(FRAME, npartitions=3)
    series = dd.from_pandas(pd.Series(w), npartitions=3)
    assert frame_weights(None, frame) == (None, False)
    assert frame_weights(series, frame) == (series, True)
    assert frame_weights(series.to_dask_array(), frame)[1] is False
    with pytest.raises(WeightsError, match="weights are in 2 partitions, the rows in 3"):
        frame_weights(dd.from_pandas(pd.Series(w), npartitions=2), frame)
    shifted = dd.from_pandas(pd.Series(w, index=np.arange(30) + 1), npartitions=3)
    with pytest.raises(WeightsError, match="cut into partitions at different labels"):
        frame_weights(shifted, frame)
    with pytest.raises(WeightsError, match="29 values for 30 rows"):
        array_weights(da.from_array(w[:29], chunks=29), rows)
    with pytest.raises(WeightsError, match="array with 2 axes"):
        array_weights(da.from_array(X, chunks=30), rows)
    unknown = rows[rows[:, 0] > -9]
    with pytest.raises(WeightsError, match="in 1 blocks, the rows in 3"):
        array_weights(da.from_array(w, chunks=30), unknown)
    with pytest.raises(WeightsError, match="not known"):
        array_weights(w, unknown)
    assert array_weights(da.from_array(w, chunks=((7, 20, 3),)), unknown).numblocks == (3, 1)


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
