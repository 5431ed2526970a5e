"""Partitions of dask: names, factors, weights, many small ones."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import DataError, OptionError, WeightsError
from spcastat.linalg.accumulate import Sums
from spcastat.progress import listening
from spcastat.reading.design import ReadOptions, Spec

# --- How partitions of dask collections are named, summed and scored, and how weights are matched to them ---

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


# --- Factors of a dask data frame -----------------------------------------------------------------


#: Sums in another order of 400 rows of a small problem.
CLOSE = 1e-9


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    kind = rng.choice(["oak", "ash", "elm", "fir"], 400, p=[0.5, 0.3, 0.19, 0.01])
    size = rng.choice([1, 2, 3], 400)
    frame = pd.DataFrame(rng.normal(size=(400, 4)), columns=[*"abcd"])
    frame["a"] += 2.0 * (kind == "oak")
    frame["b"] -= 2.0 * (kind == "oak") + size
    frame["kind"], frame["size"] = pd.Categorical(kind), pd.Categorical(size, ordered=True)
    return frame.sort_values("kind", ignore_index=True)  # the first partition has one level alone


@pytest.fixture(autouse=True)
def here():
    with dask.config.set(scheduler="sync"):
        yield


@pytest.mark.parametrize("formula", ["~ a + b + c + d + kind", "~ a + b + kind + size", "~ a + b + d:kind"])
def test_dummies_are_those_in_memory(rows, formula):
    how = {"formula": formula, "categorical": "dummy", "method": "greedy"}
    memory = sp.spca(rows, 2, 3, **how)
    data = dd.from_pandas(rows, npartitions=5)
    fit = sp.spca(data, 2, 3, **how)
    assert list(fit.loadings.index) == list(memory.loadings.index)
    np.testing.assert_allclose(fit.loadings, memory.loadings, atol=CLOSE)
    np.testing.assert_allclose(fit.transform(rows.iloc[:9]), memory.transform(rows.iloc[:9]), atol=CLOSE)
    np.testing.assert_allclose(fit.scores.compute(), memory.scores, atol=CLOSE)


def test_unknown_categories_and_text_are_refused_with_what_makes_them_known(rows):
    data = dd.from_pandas(rows, npartitions=5)
    how = {"formula": "~ a + b + kind", "categorical": "dummy", "method": "bcd-l0"}
    unknown = data.assign(kind=data["kind"].cat.as_unknown())
    with pytest.raises(OptionError, match=r"'kind'.*not known.*cat\.as_known\(\)"):
        sp.spca(unknown, 1, 2, **how)
    again = unknown.assign(kind=unknown["kind"].cat.as_known())
    memory = sp.spca(rows, 1, 2, **how)
    np.testing.assert_allclose(sp.spca(again, 1, 2, **how).loadings, memory.loadings, atol=CLOSE)
    text = dd.from_pandas(rows.assign(kind=rows["kind"].astype(str)), npartitions=5)
    with pytest.raises(OptionError, match=r"'kind'.*holds text.*df\.categorize\(columns=\['kind'\]\)"):
        sp.spca(text, 1, 2, **how)
    made = sp.spca(text.categorize(columns=["kind"]), 1, 2, **how)
    np.testing.assert_allclose(made.loadings, memory.loadings, atol=CLOSE)
    single = dd.from_pandas(rows.assign(kind=pd.Categorical(["x"] * len(rows))), npartitions=5)
    assert list(sp.spca(single, 1, 2, **how).loadings.index) == ["a", "b", "kind[x]"]
    with pytest.raises(sp.errors.ColumnTypeError, match="categories"):
        sp.spca(data, 1, 2, formula="~ a + kind", method="bcd-l0")


def test_the_levels_of_a_number_are_not_known_before_its_rows(rows):
    data = dd.from_pandas(rows.assign(size=rows["size"].astype(int)), npartitions=5)
    with pytest.raises(sp.errors.FormulaError, match="learns from rows"):
        sp.spca(data, 1, 2, formula="~ a + C(size)", categorical="dummy", method="bcd-l0")


# --- Many small partitions ------------------------------------------------------------------------


PARTS, ROWS, P = 150, 40, 12
#: Sums in another order: the digits of float64 less those that 6,000 rows and a small problem cost.
MANY_CLOSE = 1e-10


def rows_of(number):
    rng = np.random.default_rng([5, number])
    return np.repeat(rng.normal(size=(ROWS, 3)) * [3.0, 2.0, 1.5], 4, axis=1) + rng.normal(size=(ROWS, P))


def lazy(change=lambda X, number: X):
    grid = da.zeros((PARTS * ROWS, P), chunks=(ROWS, P))
    made = lambda block, block_id: change(rows_of(block_id[0]), block_id[0])  # noqa: E731
    return grid.map_blocks(made, dtype=float, meta=np.empty((0, 0)))


@pytest.fixture(scope="module")
def MANY_X():
    return np.vstack([rows_of(number) for number in range(PARTS)])


def fitted(data, **how):
    with dask.config.set(scheduler="threads", num_workers=2):
        return sp.spca(data, 2, 4, method="bcd-l0", **how).loadings.to_numpy()


@pytest.mark.parametrize("kind", ["lazy", "kept", "shared", "frame", "weights"])
def test_a_fit_of_many_partitions_is_that_in_memory(MANY_X, kind):
    frame = pd.DataFrame(MANY_X, columns=[f"v{j}" for j in range(P)])
    w = np.random.default_rng(3).integers(1, 4, len(MANY_X)).astype(float)
    data = {
        "lazy": lambda: lazy(),
        "kept": lambda: lazy().persist(),
        "shared": lambda: da.from_array(MANY_X, chunks=(ROWS, P)),
        "frame": lambda: dd.from_pandas(frame, npartitions=PARTS),
        "weights": lambda: dd.from_pandas(frame.assign(w=w), npartitions=PARTS),
    }[kind]()
    how = {"weights": "w"} if kind == "weights" else {}
    plain = fitted(frame.assign(w=w) if kind == "weights" else MANY_X, **how)
    assert np.abs(fitted(data, **how) - plain).max() < MANY_CLOSE


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
