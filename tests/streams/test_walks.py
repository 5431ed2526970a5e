"""What a walk over each source gives: chunks, their names, the columns that were read; what streams say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import scipy.sparse as sps
from pyarrow import ipc, parquet

from spcastat.errors import DataError, FileError
from spcastat.linalg.accumulate import Sums as Squares
from spcastat.linalg.build import standard_of
from spcastat.reading.design import PLAIN, ReadOptions
from spcastat.streams.arrow import (
    arrow_chunks,
    even,
    of_dataset,
    of_ipc_file,
    of_lazy_frame,
    of_parquet_file,
    parquet_chunks,
)
from spcastat.streams.base import Block, Tally, of_columns, of_quotients
from spcastat.streams.local import LocalStream
from spcastat.streams.opening import open_stream
from spcastat.streams.operator import StreamRows
from spcastat.streams.sources import (
    array_chunks,
    in_file,
    is_chunk,
    iterable_chunks,
    on_dask,
    rows_at_once,
    same_file,
)

FRAME = pd.DataFrame(np.arange(40.0).reshape(10, 4) ** 1.5 % 7, columns=list("abcd"))
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)


@pytest.fixture
def four_rows(monkeypatch):
    """Blocks of four rows, whatever the number of columns."""
    for module in ("sources", "arrow"):
        monkeypatch.setattr(f"spcastat.streams.{module}.rows_at_once", lambda p, chunks=None: 4)


def walked(chunks: Any, needed: list[str] | None = None) -> tuple[list[str], list[int], Any]:
    """Names, rows of each chunk, and the rows together."""
    found = [(name, chunk) for name, chunk in chunks.walk(needed)]
    tables = [chunk.to_pandas() if hasattr(chunk, "to_pandas") else pd.DataFrame(chunk) for _, chunk in found]
    return [name for name, _ in found], [len(one) for one in tables], pd.concat(tables, ignore_index=True)


# --- how much is read at once ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "chunks", "rows"),
    [
        (1, None, 500_000),  # half a million numbers, ...
        (5, None, 100_000),
        (0, None, 500_000),
        (500, None, 1000),
        (1000, None, 1000),  # ... but a thousand rows, ...
        (5000, None, 1000),
        (10_000, None, 500),  # ... unless these are five million numbers,
        (10_000_000, None, 1),  # and at least one row.
        (5, (70, 5), 100_030),  # whole pieces of a file,
        (5, (200_000, 5), 200_000),
        (5, (1_000_000, 5), 1_000_000),  # up to five million numbers
        (5, (1_000_001, 5), 100_000),
        (5, (), 100_000),
    ],
)
def test_rows_that_are_read_at_once(p, chunks, rows):
    assert rows_at_once(p, chunks) == rows


def test_batches_are_cut_and_joined():
    def sizes(given: list[int], size: int) -> list[int]:
        starts = np.cumsum([0, *given])
        batches = [TABLE.slice(a, n).to_batches()[0] for a, n in zip(starts, given, strict=False) if n]
        tables = list(even(iter(batches), size))
        if tables:
            assert pa.concat_tables(tables).equals(TABLE.slice(0, sum(given)))
        return [one.num_rows for one in tables]

    assert sizes([10], 4) == [4, 4, 2]
    assert sizes([8], 4) == [4, 4]
    assert sizes([1, 1, 1, 1, 5], 4) == [4, 4, 1]
    assert sizes([3, 3, 3], 4) == [4, 4, 1]
    assert sizes([3], 4) == [3]
    assert sizes([2, 8], 10) == [10]
    assert sizes([], 4) == []


# --- each source -----------------------------------------------------------------------------------


def test_of_record_batches_the_columns_that_are_needed_are_asked_for(four_rows):
    asked = []

    def batches(names, size):
        asked.append((names, size))
        return TABLE.select(names or TABLE.schema.names).to_batches(max_chunksize=3)

    chunks = arrow_chunks(batches, TABLE.schema, "table", 10)
    assert (chunks.title, chunks.total, chunks.holds("x")) == ("table", 10, False)
    for needed, names in ((None, None), (["d", "b"], ["b", "d"]), (["d", "c", "b", "a"], None)):
        labels, sizes, rows = walked(chunks, needed)
        assert asked.pop() == (names, 4)
        assert labels == ["chunk 1 of the table", "chunk 2 of the table", "chunk 3 of the table"]
        assert sizes == [4, 4, 2]
        pd.testing.assert_frame_equal(rows, FRAME[names or list("abcd")])


def test_what_gives_more_columns_than_asked_for_is_cut(four_rows):
    chunks = arrow_chunks(lambda names, size: TABLE.to_batches(), TABLE.schema, "table")
    assert chunks.total is None
    pd.testing.assert_frame_equal(walked(chunks, ["c"])[2], FRAME[["c"]])


def test_no_rows_still_have_columns():
    chunks = arrow_chunks(lambda names, size: [], TABLE.schema, "table", 0)
    for needed in (None, ["b"]):
        labels, sizes, rows = walked(chunks, needed)
        assert (labels, sizes) == (["chunk 1 of the table"], [0])
        assert list(rows.columns) == (needed or list("abcd"))


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("bad\n  block.", r"chunk 3 of the table cannot be obtained: RuntimeError: bad block\.$"),
        ("", r"chunk 3 of the table cannot be obtained: RuntimeError\.$"),
        ("x" * 600, r"cannot be obtained: RuntimeError: x{500}\.$"),
    ],
)
def test_what_fails_on_the_way_says_where(four_rows, reason, message):
    def batches(names, size):
        yield from TABLE.slice(0, 8).to_batches(max_chunksize=4)
        raise RuntimeError(reason)

    with pytest.raises(DataError, match=message):
        walked(arrow_chunks(batches, TABLE.schema, "table"))


def test_rows_of_datasets_are_counted_where_that_costs_nothing(tmp_path):
    parquet.write_table(TABLE, tmp_path / "x.parquet", row_group_size=3)
    FRAME.to_csv(tmp_path / "x.csv", index=False)
    in_parquet, in_text = (
        of_dataset(ds.dataset(tmp_path / "x.parquet")),
        of_dataset(ds.dataset(tmp_path / "x.csv", format="csv")),
    )
    assert (in_parquet.total, in_text.total) == (10, None)
    assert in_parquet.holds(tmp_path / "x.parquet")
    assert not in_parquet.holds(tmp_path / "x.csv")
    opened = of_parquet_file(parquet.ParquetFile(tmp_path / "x.parquet"))
    assert (opened.title, opened.total) == ("pyarrow ParquetFile", 10)
    with ipc.new_file(tmp_path / "x.arrow", TABLE.schema) as sink:
        for batch in TABLE.to_batches(max_chunksize=3):
            sink.write_batch(batch)
    arrow = of_ipc_file(ipc.open_file(tmp_path / "x.arrow"))
    assert (arrow.title, arrow.total) == ("Arrow file", None)
    for chunks in (in_parquet, in_text, opened, arrow):
        pd.testing.assert_frame_equal(walked(chunks)[2], FRAME)
        pd.testing.assert_frame_equal(walked(chunks, ["d", "a"])[2], FRAME[["a", "d"]])


def test_of_a_lazy_frame_the_columns_that_are_needed_are_collected(four_rows):
    pl = pytest.importorskip("polars")
    if not hasattr(pl.LazyFrame, "collect_batches"):
        pytest.skip("this polars gives no batches of a lazy frame")
    lazy, asked = pl.from_pandas(FRAME).lazy(), []

    class Recorded:
        def collect_batches(self, **options: Any) -> Any:
            return []

        def collect_schema(self) -> Any:
            return lazy.collect_schema()

        def select(self, names: list[str]) -> Any:
            asked.append(names)
            return lazy.select(names)

    chunks = of_lazy_frame(Recorded())
    assert (chunks.title, chunks.total, chunks.holds("x")) == ("polars LazyFrame", None, False)
    for needed, names in ((None, list("abcd")), (["d", "b"], ["b", "d"])):
        labels, _, rows = walked(chunks, needed)
        assert asked.pop() == names
        assert labels[0] == "chunk 1 of the polars LazyFrame"
        assert labels == [f"chunk {i} of the polars LazyFrame" for i in range(1, len(labels) + 1)]
        pd.testing.assert_frame_equal(rows, FRAME[names])


def test_arrays_in_files_are_cut_by_rows(tmp_path, four_rows):
    path = tmp_path / "x.npy"
    np.save(path, FRAME.to_numpy())
    chunks = array_chunks(np.load(path, mmap_mode="r"), path)
    assert (chunks.title, chunks.total) == ("memory-mapped array x.npy", 10)
    labels, sizes, rows = walked(chunks, ["never asked"])
    assert labels == [f"chunk {i} of the memory-mapped array x.npy" for i in (1, 2, 3)]
    assert sizes == [4, 4, 2]
    np.testing.assert_array_equal(rows, FRAME)
    assert chunks.holds(path)
    assert not chunks.holds(tmp_path / "y.npy")
    without = array_chunks(np.zeros((3, 2)), title="zarr Array")
    assert (without.title, without.holds(path)) == ("zarr Array", False)
    flat = array_chunks(np.zeros(5))
    assert flat.total is None
    ((name, chunk),) = flat.walk(None)
    assert (name, chunk.ndim) == ("chunk 1 of the memory-mapped array", 1)


def test_chunks_of_a_function_are_numbered_and_closed():
    closed = []

    def begin():
        try:
            yield from (FRAME[:4], FRAME[4:])
        finally:
            closed.append(True)

    chunks = iterable_chunks(begin, "the function begin")
    assert (chunks.title, chunks.total, chunks.holds("x")) == ("the function begin", None, False)
    labels, sizes, rows = walked(chunks)
    assert labels == ["chunk 1 of the function begin", "chunk 2 of the function begin"]
    assert sizes == [4, 6]
    pd.testing.assert_frame_equal(rows, FRAME)
    assert closed == [True]
    walk = chunks.walk(None)
    next(walk)
    walk.close()  # whoever stops early closes what is open
    assert closed == [True, True]


@pytest.mark.parametrize(
    ("fails", "family", "message"),
    [
        (OSError("no disk"), FileError, "chunk 2 of the list cannot be read: no disk"),
        (ValueError("bad"), DataError, "chunk 2 of the list cannot be obtained: ValueError: bad"),
    ],
)
def test_a_chunk_that_cannot_be_made_is_numbered(fails, family, message):
    def begin():
        yield FRAME
        raise fails

    with pytest.raises(family, match=message):
        walked(iterable_chunks(begin, "the list"))


def test_which_values_are_chunks():
    pl = pytest.importorskip("polars")
    frame = pl.from_pandas(FRAME)
    yes = [FRAME, TABLE, TABLE.to_batches()[0], frame, np.zeros((2, 2)), sps.csr_array((2, 2))]
    no = [FRAME["a"], TABLE["a"], frame["a"], np.zeros(3), np.zeros((2, 2, 2)), [FRAME], "a", 1]
    assert [is_chunk(one) for one in yes] == [True] * len(yes)
    assert [is_chunk(one) for one in no] == [False] * len(no)
    assert is_chunk(SimpleNamespace(__dataframe__=None))
    assert is_chunk(SimpleNamespace(__narwhals_dataframe__=None))


def test_names_of_files_are_compared_as_files(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert same_file(tmp_path / "a", tmp_path / "b")
    assert not same_file(tmp_path / "a", tmp_path / "new")
    assert same_file(tmp_path / "new", tmp_path / "new")


def test_of_parquet_files_the_needed_columns_and_the_labels_are_read(tmp_path, four_rows):
    frame = FRAME.set_axis([f"r{i}" for i in range(10)])
    for name, rows in (("1.parquet", frame[:6]), ("2.pq", frame[6:]), ("3.txt", frame)):
        rows.to_parquet(tmp_path / name)
    (tmp_path / "_hidden").mkdir()
    frame.to_parquet(tmp_path / "_hidden" / "0.parquet")
    folder = parquet_chunks(tmp_path)
    assert folder.title == f"Parquet folder {tmp_path.name} (2 files)"
    assert folder.total == 10
    found = list(folder.walk(["d", "b"]))
    assert [name for name, _ in found] == [
        f"chunk {i} of Parquet file {file} in folder {tmp_path.name}"
        for i, file in enumerate(["1.parquet", "1.parquet", "2.pq"], 1)
    ]
    assert [len(chunk) for _, chunk in found] == [4, 2, 4]
    pd.testing.assert_frame_equal(pd.concat([chunk for _, chunk in found]), frame[["b", "d"]])
    single = parquet_chunks(tmp_path / "1.parquet")
    assert [name for name, _ in single.walk(None)] == [f"chunk {i} of Parquet file 1.parquet" for i in (1, 2)]
    several = parquet_chunks([tmp_path / "2.pq", tmp_path / "1.parquet"])
    assert several.title == "Parquet files (2 files)"
    assert several.total == 10
    assert [name for name, _ in several.walk(None)] == [
        f"chunk {i} of Parquet file {file}" for i, file in enumerate(["2.pq", "1.parquet", "1.parquet"], 1)
    ]
    for chunks, inside in ((folder, True), (single, False), (several, False)):
        assert chunks.holds(tmp_path / "new.parquet") == inside
        assert chunks.holds(tmp_path / "1.parquet")


def test_labels_that_count_go_on_from_chunk_to_chunk(tmp_path, four_rows):
    frame = FRAME.set_axis(pd.RangeIndex(5, 35, 3, name="time"))
    frame.to_parquet(tmp_path / "x.parquet")
    found = pd.concat([chunk for _, chunk in parquet_chunks(tmp_path / "x.parquet").walk(["a"])])
    pd.testing.assert_frame_equal(found, frame[["a"]])
    pairs = pd.MultiIndex.from_product([[1, 2], range(5)], names=["i", None])
    FRAME.set_axis(pairs).to_parquet(tmp_path / "y")
    labels = pd.concat([chunk for _, chunk in parquet_chunks(tmp_path / "y").walk(None)]).index
    assert labels.tolist() == [(i, j) for i in (1, 2) for j in range(5)]
    assert labels.names == ["i", None]


def test_numbers_of_all_kinds_come_from_parquet(tmp_path):
    frame = FRAME.assign(b=range(10), c=[True, False] * 5)
    frame.to_parquet(tmp_path / "x.parquet")
    ((_, chunk),) = parquet_chunks(tmp_path / "x.parquet").walk(None)
    pd.testing.assert_frame_equal(chunk, frame.astype(float), check_dtype=False)
    FRAME.astype("float32").to_parquet(tmp_path / "s.parquet")
    ((_, chunk),) = parquet_chunks(tmp_path / "s.parquet").walk(None)
    pd.testing.assert_frame_equal(chunk, FRAME.astype("float32"))


def test_xarray_in_files_is_read_by_whole_pieces(tmp_path):
    xr = pytest.importorskip("xarray")
    pytest.importorskip("netCDF4")
    array = xr.DataArray(FRAME.to_numpy(), dims=("t", "v"), coords={"v": list("abcd")}, name="x")
    array.to_netcdf(tmp_path / "x.nc", encoding={"x": {"chunksizes": (3, 4)}})
    with xr.open_dataarray(tmp_path / "x.nc") as opened:
        chunks = in_file(opened)
        assert (chunks.title, chunks.total) == ("xarray DataArray", 10)
        assert (chunks.holds(tmp_path / "x.nc"), chunks.holds(tmp_path / "y.nc")) == (True, False)
        assert on_dask(opened) is opened
        assert [len(chunk) for _, chunk in chunks.walk(None)] == [10]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("spcastat.streams.sources.BLOCK_SIZE", 16)
            patch.setattr("spcastat.streams.sources.MANY", 1)
            found = list(chunks.walk(None))  # four rows make two pieces of three
        assert [name for name, _ in found] == [f"chunk {i} of the xarray DataArray" for i in (1, 2)]
        assert [len(chunk) for _, chunk in found] == [6, 4]
        rows = pd.concat([chunk for _, chunk in found], ignore_index=True)
        pd.testing.assert_frame_equal(rows, FRAME, check_names=False)
    assert in_file(array) is None
    assert not in_file(xr.DataArray(FRAME.to_numpy()[:0], dims=("t", "v")).chunk()).holds("x")


# --- streams ---------------------------------------------------------------------------------------


class Recorded:
    """Chunks of FRAME that remember which columns were asked for."""

    title, total = "recorded rows", 10

    def __init__(self, pieces: Any = None):
        self.asked: list[Any] = []
        self.pieces = [FRAME[:4], FRAME[4:]] if pieces is None else pieces

    def walk(self, needed: list[str] | None) -> Any:
        self.asked.append(needed)
        yield from ((f"piece {i}", piece) for i, piece in enumerate(self.pieces, 1))

    def holds(self, path: Any) -> bool:
        return path == "there"


def test_of_a_source_the_columns_that_a_fit_takes_are_asked_for():
    def asked(reading=PLAIN, spec=None, pieces=None) -> Any:
        chunks = Recorded(pieces)
        list(LocalStream(chunks, reading, spec).blocks("rows"))
        return chunks.asked[-1]

    assert asked() is None  # all are variables
    assert asked(ReadOptions(formula="~ a + log(d + 1)")) == ["a", "d"]
    assert asked(ReadOptions(formula="~ a + b", weights="c")) == ["a", "b", "c"]
    assert asked(ReadOptions(weights="c")) is None
    spec = LocalStream(Recorded([FRAME[["d", "b"]]])).spec
    assert asked(spec=spec) == ["d", "b"]  # new data may have more
    assert asked(ReadOptions(weights="c"), spec) == ["d", "b", "c"]
    assert asked(pieces=[FRAME.to_numpy()]) is None
    numbered = FRAME.set_axis([1, 2, 3, 4], axis=1)
    assert asked(spec=LocalStream(Recorded([numbered])).spec, pieces=[numbered]) is None


def test_what_a_stream_says_of_itself():
    stream = LocalStream(Recorded())
    assert (stream.title, stream.rows, stream.p) == ("recorded rows", 10, 4)
    assert (stream.local, stream.anew, stream.weighted) == (True, False, False)
    assert (stream.holds("there"), stream.holds("elsewhere")) == (True, False)
    assert stream.counted is None
    tally = stream.tally
    assert (tally.rows, tally.dropped, tally.positive, tally.weight) == (10, 0, 10, 10.0)
    assert stream.counted == 10
    for weights in ("c", np.arange(10.0)):
        weighted = LocalStream(Recorded(), ReadOptions(weights=weights))
        assert weighted.weighted
        w = FRAME["c"] if isinstance(weights, str) else weights
        assert weighted.tally.weight == pytest.approx(w.sum(), rel=1e-14)
        assert weighted.tally.positive == np.count_nonzero(w)
    for flags in ((False, True, True), (True, False, False)):
        source: Any = SimpleNamespace(spec=stream.spec, title="t", rows=7)
        source.local, source.anew, source.weighted = flags
        some, divided = of_columns(source, np.array([1, 3])), of_quotients(source, np.zeros(4, dtype=int))
        assert list(some.spec.columns) == ["b", "d"]
        assert some.rows == 7
        for one in (some, divided):
            assert (one.local, one.anew, one.weighted, one.title) == (*flags, "t")


def test_what_lies_on_workers_says_so():
    da = pytest.importorskip("dask.array")
    rows = da.from_array(FRAME.to_numpy(), chunks=(4, 4))
    plain, weighted = (open_stream(rows, ReadOptions(weights=w)) for w in (None, np.ones(10)))
    assert (plain.weighted, weighted.weighted) == (False, True)
    assert (plain.local, plain.rows, plain.p) == (False, 10, 4)
    computed = open_stream((rows + 1).persist(scheduler="synchronous"))
    assert (open_stream(rows + 1).anew, computed.anew) == (True, False)


def test_chunks_are_named_with_their_rows():
    holes = FRAME.copy()
    holes.loc[[2, 5], "b"] = np.nan
    stream = LocalStream(Recorded([holes[:4], holes[4:4], holes[4:]]), ReadOptions(na="drop"))
    blocks = list(stream.blocks("rows"))
    assert [(len(one.values), one.dropped) for one in blocks] == [(3, 1), (0, 0), (5, 1)]
    assert (stream.tally.rows, stream.tally.dropped) == (8, 2)
    for first, name in ((2, r"piece 1 \(rows 0 to 3\)"), (5, r"piece 3 \(rows 4 to 9\)")):
        broken = FRAME.copy()
        broken.loc[first, "b"] = np.nan
        with pytest.raises(DataError, match=name):
            list(LocalStream(Recorded([broken[:4], broken[4:4], broken[4:]])).blocks("rows"))


def test_a_pass_counts_what_it_adds():
    w = np.arange(10.0)
    found = LocalStream(Recorded(), ReadOptions(weights=w)).reduce(lambda: Squares(4), "moments")
    assert (found.tally.rows, found.tally.positive, found.tally.weight) == (10, 9, 45.0)
    centre = np.average(FRAME, axis=0, weights=w)
    np.testing.assert_allclose(found.result.mean, centre, rtol=1e-13)
    added = []
    sums: Any = SimpleNamespace(add=lambda X, u: added.append((len(X), None if u is None else len(u))))
    pieces = [FRAME[:0], FRAME[:4], FRAME[4:4], FRAME[4:]]
    for weights, sizes in ((None, [(4, None), (6, None)]), (w, [(4, 4), (6, 6)])):
        LocalStream(Recorded(pieces), ReadOptions(weights=weights)).reduce(lambda: sums, "rows")
        assert added == sizes  # pieces without rows have nothing to add
        added.clear()
    tally = Tally()
    tally.count(Block(np.ones((3, 2)), None, pd.RangeIndex(3), 2))
    tally.count(Block(np.ones((2, 2)), np.array([0.0, 2.5]), pd.RangeIndex(2)))
    assert (tally.rows, tally.dropped, tally.positive, tally.weight) == (5, 2, 4, 5.5)
    other = Tally(1, 2, 3, 4.0)
    other.merge(tally)
    assert (other.rows, other.dropped, other.positive, other.weight) == (6, 4, 7, 9.5)


def test_what_is_in_memory_or_nothing_that_comes_in_pieces_is_no_stream():
    whole = [FRAME, TABLE, FRAME.to_numpy(), sps.csr_array((2, 2)), FRAME.to_numpy().tolist(), (), []]
    others = [5, 2.5, None, object(), int, pd.DataFrame, {"a": [1]}, {1}, frozenset(), b"x", bytearray(2)]
    for data in (*whole, *others):
        assert open_stream(data) is None
    for data in ([FRAME, FRAME], (FRAME,), lambda: [FRAME, FRAME]):
        stream = open_stream(data)
        assert isinstance(stream, LocalStream)
        assert stream.tally.rows == (10 if isinstance(data, tuple) else 20)
    assert open_stream([FRAME]).title == "the list of 1 chunk"
    assert open_stream((FRAME, FRAME)).title == "the tuple of 2 chunks"
    assert open_stream(lambda: [FRAME]).title == "the lambda function"


@pytest.mark.parametrize(("center", "lost"), [(True, 1), (False, 0), (np.zeros(4), 0)])
def test_the_rank_of_few_rows_is_their_number_less_one_where_they_are_centred(center, lost):
    stream = LocalStream(Recorded([FRAME[:2], FRAME[2:3]]))
    sums = stream.reduce(lambda: Squares(4), "sums").result
    standard = standard_of(sums.mean, sums.squares, sums.weight, center, False, range(4))
    op = StreamRows(stream, sums, stream.tally.positive, standard)
    assert op.rank_limit == 3 - lost
    assert StreamRows(stream, sums, 9, standard).rank_limit == 4
