"""A source that gives other rows in a later pass is refused, with the chunk that changed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import spcastat as sp
from spcastat.errors import DataError
from spcastat.streams.base import PartitionSums, RowHash
from spcastat.streams.opening import open_stream

N, P = 4000, 6
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 2)) @ RNG.normal(size=(2, P)) + RNG.normal(size=(N, P))


def pieces(values, size=1000):
    return [values[start : start + size] for start in range(0, len(values), size)]


def swapped(values, i, j):
    other = values.copy()
    other[[i, j]] = values[[j, i]]
    return other


CHANGES = {
    "one bit of one number": lambda: np.where(np.arange(N * P).reshape(N, P) == 12345, np.nextafter(X, 9), X),
    "two rows swapped": lambda: swapped(X, 2100, 2101),
    "two numbers swapped in a column": lambda: np.column_stack([swapped(X[:, :1], 2500, 2999), X[:, 1:]]),
    "one sign": lambda: np.where(np.arange(N * P).reshape(N, P) == 12345, -X, X),
    "other numbers": lambda: np.concatenate([X[:2000], RNG.normal(size=(1000, P)), X[3000:]]),
    "two columns swapped in some rows": lambda: np.concatenate([X[:2000], X[2000:3000, ::-1], X[3000:]]),
}


class Source:
    """Chunks that can be exchanged between passes."""

    def __init__(self, chunks):
        self.chunks = chunks

    def __call__(self):
        return iter(self.chunks)


def walk_scores(fit, tmp_path):
    fit.scores.to_frame()


def walk_diagnostics(fit, tmp_path):
    fit.diagnostics()["T2"]


def walk_transform(fit, tmp_path):
    fit.transform_to(tmp_path / "scores.parquet")


WALKS = {"scores": walk_scores, "diagnostics": walk_diagnostics, "transform_to": walk_transform}


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_told_with_its_chunk_and_rows(change, walk, tmp_path):
    source = Source(pieces(X))
    fit = sp.spca(source, 2, 3, method="bcd-l0")
    source.chunks = pieces(CHANGES[change]())
    told = r"^chunk 3 of the function Source \(rows 2000 to 2999\) has other numbers"
    with pytest.raises(DataError, match=told):
        walk(fit, tmp_path)
    assert not list(tmp_path.iterdir())  # no file of half the scores
    source.chunks = pieces(X)
    walk(fit, tmp_path)


def test_no_wrong_scores_are_handed_out_before_the_error():
    source = Source(pieces(X))
    fit = sp.spca(source, 2, 3, method="bcd-l0")
    wanted, seen = fit.scores.to_frame(), []
    source.chunks = pieces(CHANGES["two rows swapped"]())
    with pytest.raises(DataError, match="chunk 3"):
        seen.extend(fit.scores)
    pd.testing.assert_frame_equal(pd.concat(seen), wanted.iloc[:2000])
    source.chunks = pieces(X[::-1])
    with pytest.raises(DataError, match=r"chunk 1 .* \(rows 0 to 999\)"):
        fit.scores.to_frame()


@pytest.mark.parametrize("size", [7, 999, 1000, 1500, N])
def test_other_chunks_of_the_same_rows_are_no_change(size):
    source = Source(pieces(X))
    fit = sp.spca(source, 2, 3, method="bcd-l0")
    wanted = fit.scores.to_frame().to_numpy()
    source.chunks = pieces(X, size)
    np.testing.assert_allclose(fit.scores.to_frame().to_numpy(), wanted, rtol=0, atol=1e-12)
    source.chunks = pieces(CHANGES["one bit of one number"](), size)
    with pytest.raises(DataError, match="has other numbers"):
        fit.scores.to_frame()


def test_a_sum_over_rows_does_not_depend_on_how_they_are_cut_or_held():
    Z = np.where(np.abs(X) < 1.0, 0.0, X)
    found = set()
    for size in (37, 1000, N):
        for hold in (np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array):
            trail, read = RowHash(), 0
            for piece in pieces(Z, size):
                read += len(piece)
                trail.add(hold(piece), read)
            found.add(trail.total)
    assert len(found) == 1
    single = RowHash()
    single.add(X.astype(np.float32), N)
    again = RowHash()
    again.add(np.asfortranarray(X.astype(np.float32)), N)
    assert single.total == again.total


def test_a_memory_map_written_to(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.tile(X, (50, 1)))
    rows = np.load(path, mmap_mode="r+")
    fit = sp.spca(rows, 2, 3, method="bcd-l0")
    fit.scores.to_frame()
    held = rows[150_000, 2]
    rows[150_000, 2] = held + 1.0
    with pytest.raises(DataError, match=r"chunk 2 of the memory.* rows.npy \(rows 83333 to 166665\)"):
        fit.scores.to_frame()
    rows[150_000, 2] = held
    fit.scores.to_frame()


def test_a_part_of_a_parquet_folder_replaced(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    for number, start in enumerate(range(0, N, 1000)):
        frame.iloc[start : start + 1000].to_parquet(folder / f"part-{number}.parquet")
    fit = sp.spca(folder, 2, 3, method="bcd-l0")
    fit.scores.to_frame()
    frame.iloc[1000:2000].sample(frac=1.0, random_state=1).to_parquet(folder / "part-1.parquet")
    told = r"chunk 2 of Parquet file part-1.parquet in folder parts \(rows 1000 to 1999\)"
    with pytest.raises(DataError, match=told):
        fit.scores.to_frame()


def test_an_iterable_that_shuffles():
    class Shuffling:
        def __init__(self):
            self.rng = np.random.default_rng(0)

        def __iter__(self):
            return iter(pieces(self.rng.permutation(X)))

    fit = sp.spca(Shuffling(), 2, 3, method="bcd-l0")
    with pytest.raises(DataError, match="chunk 1 of the chunks of the Shuffling"):
        fit.scores.to_frame()


def test_rows_dropped_elsewhere_are_a_change():
    holed = X.copy()
    holed[2100, 0] = np.nan
    source = Source(pieces(holed))
    fit = sp.spca(source, 2, 3, na="drop", method="bcd-l0")
    other = X.copy()
    other[2200, 0] = np.nan
    source.chunks = pieces(other)
    with pytest.raises(DataError, match="chunk 3"):
        fit.scores.to_frame()


def test_sparse_chunks():
    Z = sparse.csr_array(np.where(np.abs(X) < 1.0, 0.0, X))
    source = Source([Z[:2000], Z[2000:]])
    fit = sp.spca(source, 2, 3, method="bcd-l0")
    fit.scores.to_frame()
    other = Z[2000:].copy()
    other.data[77] *= 2.0
    source.chunks = [Z[:2000], other]
    with pytest.raises(DataError, match=r"chunk 2 .*rows 2000 to 3999"):
        fit.scores.to_frame()


def test_passes_within_a_screened_fit():
    # more than 3000 variables: a pass for each product; the third pass gives other rows
    wide = RNG.normal(size=(60, 3001))
    wide[:, :5] += 3.0 * RNG.normal(size=(60, 1))
    calls = []

    def source():
        calls.append(1)
        return iter([wide[:30], wide[30:] + (len(calls) > 3)])

    with pytest.raises(DataError, match="chunk 2 of the function source"):
        sp.spca(source, 1, 4, method="bcd-l0")


def test_new_rows_are_compared_with_their_own_first_pass():
    fit = sp.spca(X, 2, 3, method="bcd-l0")
    source = Source(pieces(X))
    scores = fit.transform(source)
    scores.to_frame()
    source.chunks = pieces(CHANGES["other numbers"]())
    with pytest.raises(DataError, match="chunk 3"):
        scores.to_frame()
    fit.transform(source).to_frame()  # opened anew: other rows, and rightly so


def test_prints_of_partitions_allow_for_order_and_rounding_alone():
    shuffled = RNG.permutation(X)
    for values in (X, shuffled, np.nextafter(X, 9), sparse.csr_array(X), np.asfortranarray(X)):
        assert PartitionSums.of(X).agrees(PartitionSums.of(values))
    for change in ("other numbers", "one sign", "two columns swapped in some rows"):
        assert not PartitionSums.of(X).agrees(PartitionSums.of(CHANGES[change]()))
    assert not PartitionSums.of(X).agrees(PartitionSums.of(X[:-1]))
    wide = RNG.normal(size=(40, 500))
    moved = wide.copy()
    moved[3, 400], moved[3, 400 - 64] = wide[3, 400 - 64], wide[3, 400]  # in columns that share a sum
    assert len(PartitionSums.of(wide).sums) == 64
    assert not PartitionSums.of(wide).agrees(PartitionSums.of(moved))


@pytest.mark.parametrize("share", [1e-7, 1e-9, 1e-11])
def test_a_partition_with_one_number_a_little_different_is_not_the_same(share):
    """Another order changes sums of 4,000 terms by 4,000 times 1.1e-16 of their sizes at most."""
    other = X.copy()
    other[1234, 3] += share * np.abs(X[:, 3]).sum()
    assert not PartitionSums.of(X).agrees(PartitionSums.of(other))
    assert not PartitionSums.of(sparse.csr_array(X)).agrees(PartitionSums.of(sparse.csr_array(other)))


@pytest.mark.parametrize("framed", [False, True])
def test_partitions_of_dask(framed):
    dask = pytest.importorskip("dask")
    import dask.array as da
    import dask.dataframe as dd

    held = [X[:1500].copy(), X[1500:].copy()]

    def part(number):
        return pd.DataFrame(held[number], columns=list("abcdef")) if framed else held[number].copy()

    lazy = [dask.delayed(part, pure=False)(number) for number in range(2)]
    if framed:
        data = dd.from_delayed(lazy, meta=part(0).iloc[:0])
    else:
        blocks = zip(lazy, held, strict=True)
        data = da.concatenate([da.from_delayed(one, (len(rows), P), float) for one, rows in blocks])
    with dask.config.set(scheduler="sync"):
        fit = sp.spca(data, 2, 3, method="bcd-l0")
        fit.scores.compute()
        held[1][7, 2] += 1.0
        with pytest.raises(DataError, match=r"partition 2 of the dask .* has other rows than when"):
            fit.scores.compute()
        stream = open_stream(data)
        from spcastat.linalg.accumulate import Nothing

        stream.reduce(Nothing, "rows")
        held[0][7, 2] += 1.0
        with pytest.raises(DataError, match=r"partition 1 of the dask .* has other rows"):
            stream.reduce(Nothing, "rows")


def test_the_sum_over_no_rows_is_zero():
    trail = RowHash()
    trail.add(X[:0], 0)
    assert (trail.total, trail.kept, trail.marks) == (0, 0, {0: 0})
