"""Many small partitions: the fit is that of the rows in memory, and errors name the partition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import DataError
from spcastat.progress import listening

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


def fitted(data, **how):
    with dask.config.set(scheduler="threads", num_workers=2):
        return sp.spca(data, 2, 4, method="bcd-l0", **how).loadings.to_numpy()


@pytest.mark.parametrize("kind", ["lazy", "kept", "shared", "frame", "weights"])
def test_a_fit_of_many_partitions_is_that_in_memory(X, kind):
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
        return X if number != 47 else np.linalg.inv(X)

    with pytest.raises(DataError, match="A partition of the dask array cannot be computed: LinAlgError"):
        fitted(lazy(broken))
    with pytest.raises(DataError, match=r"partition 48 of the dask array .*missing"):
        fitted(lazy(lambda X, number: X if number != 47 else X * np.nan))
