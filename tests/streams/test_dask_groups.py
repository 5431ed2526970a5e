"""Many small partitions: several are computed and summed up by one task, and nothing else changes."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import DataError
from spcastat.progress import listening
from spcastat.streams.dask import DaskStream
from spcastat.streams.dask_groups import BYTES, FEWEST, groups

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

PARTS, ROWS, P = 150, 40, 12
#: Sums in another order: the digits of float64 less those that 6,000 rows and a small problem cost.
CLOSE = 1e-10


def rows_of(number):
    rng = np.random.default_rng([5, number])
    return np.repeat(rng.normal(size=(ROWS, 3)) * [3.0, 2.0, 1.5], 4, axis=1) + rng.normal(size=(ROWS, P))


def lazy(change=lambda X, number: X):
    grid = da.zeros((PARTS * ROWS, P), chunks=(ROWS, P))
    made = lambda block, block_id: change(rows_of(block_id[0]), block_id[0])  # noqa: E731
    return grid.map_blocks(made, dtype=float, meta=np.empty((0, 0)))


@pytest.fixture(scope="module")
def X():
    return np.vstack([rows_of(number) for number in range(PARTS)])


def tasks_of(data):
    from functools import partial

    from spcastat.operators import CrossProducts
    from spcastat.streams.dask_run import shared
    from spcastat.streams.dask_tasks import Summing

    stream = DaskStream.open(data)
    work = Summing(stream._reading, partial(CrossProducts, P))
    return stream._parts(work, shared(work))


def fitted(data, **how):
    with dask.config.set(scheduler="threads", num_workers=2):
        return sp.spca(data, 2, 4, method="bcd-l0", **how).loadings.to_numpy()


def test_groups_are_neighbours_below_a_size():
    sizes = [1e6] * 1000
    found = groups(sizes)
    assert [number for group in found for number in group] == list(range(1000))
    assert FEWEST / 2 < len(found) <= FEWEST
    assert max(map(len, found)) == math.ceil(1000 / FEWEST)
    large = groups([BYTES / 2.5] * 1000)
    assert {len(group) for group in large} == {2}
    assert {len(group) for group in groups([2.0 * BYTES] * 1000)} == {1}  # each too large by itself
    assert {len(group) for group in groups([math.nan] * 10_000)} == {16}  # of unknown size
    assert [len(group) for group in groups([1.0] * FEWEST)] == [1] * FEWEST
    assert groups([]) == []


@pytest.mark.parametrize("kind", ["lazy", "kept", "shared", "frame", "weights"])
def test_a_fit_in_groups_is_that_in_memory(X, kind):
    frame = pd.DataFrame(X, columns=[f"v{j}" for j in range(P)])
    w = np.random.default_rng(3).integers(1, 4, len(X)).astype(float)
    data = {
        "lazy": lambda: lazy(),
        "kept": lambda: lazy().persist(),
        "shared": lambda: da.from_array(X, chunks=(ROWS, P)),
        "frame": lambda: dd.from_pandas(frame, npartitions=PARTS),
        "weights": lambda: dd.from_pandas(frame.assign(w=w), npartitions=PARTS),
    }[kind]()
    how = {"weights": "w"} if kind == "weights" else {}
    plain = fitted(frame.assign(w=w) if kind == "weights" else X, **how)
    assert np.abs(fitted(data, **how) - plain).max() < CLOSE


def test_partitions_that_share_nothing_are_computed_where_they_are_summed_up(X):
    parts = tasks_of(lazy())
    assert [part.count for part in parts] == [3] * 50
    # only sums and what they share are tasks: no partition is a result of its own
    computed = [key for key in dict(parts[0].task.dask) if "sum" in str(key) or "hold" in str(key)]
    assert len(computed) == 1
    assert len(tasks_of(lazy().persist())) == PARTS  # a sum of 12 variables is smaller than a partition
    assert len(tasks_of(da.from_array(X, chunks=(ROWS, P)))) == PARTS
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=PARTS).persist()  # of sizes that are not known
    assert len(tasks_of(frame)) in (PARTS, 50)  # not together, unless each holds its rows as its own task


def test_the_same_partitions_give_the_same_bits():
    with dask.config.set(scheduler="synchronous"):
        one = sp.spca(lazy(), 2, 4, method="bcd-l0").loadings.to_numpy()
    assert (one == fitted(lazy())).all()


def test_progress_counts_partitions():
    told = []
    with listening(told.append):
        fitted(lazy())
    passes = [one for one in told if one.unit == "partitions"]
    assert passes[-1].done == passes[-1].total == PARTS


def test_a_partition_that_fails_is_named():
    def broken(X, number):
        return X if number != 77 else X / 0 if isinstance(number, str) else np.linalg.inv(X)

    with pytest.raises(DataError, match=r"partition 78 of the dask array .* cannot be computed: LinAlgError"):
        fitted(lazy(broken))
    with pytest.raises(DataError, match=r"partition 78 of the dask array .*missing"):
        fitted(lazy(lambda X, number: X if number != 77 else X * np.nan))


def test_tasks_with_a_place_of_their_own_stay_apart(X):
    with dask.annotate(workers=["here"]):
        data = lazy()
    assert len(tasks_of(data)) == PARTS
