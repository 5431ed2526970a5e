"""The door: whatever users give becomes a table in memory or chunks, and tells its files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import spcastat as sp
from spcastat.errors import DataError, FileError
from spcastat.inputs import opening
from spcastat.inputs.opening import source_of, table_of

FRAME = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 3)), columns=list("abc"))


class Repeatable:
    """Chunks that can be iterated over again."""

    def __iter__(self):
        return iter([FRAME[:20], FRAME[20:]])


def in_files(folder):
    """Files of FRAME, by kind."""
    (folder / "parts").mkdir()
    FRAME.to_csv(folder / "rows.csv", index=False)
    FRAME.to_stata(folder / "rows.dta", write_index=False)
    FRAME.to_parquet(folder / "rows.parquet")
    FRAME[:20].to_parquet(folder / "parts" / "1.parquet")
    FRAME[20:].reset_index(drop=True).to_parquet(folder / "parts" / "2.parquet")
    parts = [folder / "parts" / "1.parquet", str(folder / "parts" / "2.parquet")]
    return {
        "text": (folder / "rows.csv", [folder / "rows.csv"]),
        "name of a text file": (str(folder / "rows.csv"), [folder / "rows.csv"]),
        "Stata": (folder / "rows.dta", [folder / "rows.dta"]),
        "Parquet": (folder / "rows.parquet", [folder / "rows.parquet"]),
        "folder": (folder / "parts", [folder / "parts", *parts]),
        "pattern": (str(folder / "parts" / "*.parquet"), parts),
        "list of paths": (parts, parts),
    }


def sums_of_rows(source):
    """The sums of all rows, from one pass."""
    return sum(block.values.sum(axis=0) for block in source.stream().blocks("test"))


def test_files_that_fit_into_memory_are_tables_that_tell_their_files(tmp_path):
    pytest.importorskip("pyarrow")
    for kind, (data, files) in in_files(tmp_path).items():
        for source in (source_of(data), table_of(data)):
            assert source.in_memory, kind
            pd.testing.assert_frame_equal(source.data, FRAME, rtol=1e-14)  # text has 17 digits
            assert set(map(str, files)) <= set(source.files), kind
            assert not source.data.attrs, f"{kind}: attributes are the user's own"
        with pytest.raises(sp.errors.OptionError, match="the rows were read from this file"):
            sp.spca(data, 1, 2).transform_to(files[-1])


@pytest.mark.parametrize("kind", ["text", "Parquet", "folder", "pattern", "list of paths"])
def test_larger_files_are_chunks_of_the_same_rows(tmp_path, monkeypatch, kind):
    pytest.importorskip("pyarrow")
    data, files = in_files(tmp_path)[kind]
    monkeypatch.setattr(opening, "LARGEST_TEXT", 10)
    monkeypatch.setattr(opening, "LARGEST_PARQUET", 10)
    source = source_of(data)
    assert not source.in_memory
    assert source.data is data
    assert set(map(str, files)) <= set(map(str, source.chunks.files))
    np.testing.assert_allclose(sums_of_rows(source), FRAME.sum(), rtol=1e-12)  # of 30 numbers near one


def memory_map(folder):
    np.save(folder / "rows.npy", FRAME.to_numpy())
    return np.load(folder / "rows.npy", mmap_mode="r")


CHUNKS = {
    "memory map": memory_map,
    "view of a memory map": lambda folder: memory_map(folder)[:, :3],
    "list of frames": lambda folder: [FRAME[:20], FRAME[20:]],
    "tuple of arrays": lambda folder: (FRAME.to_numpy()[:20], FRAME.to_numpy()[20:]),
    "list of sparse matrices": lambda folder: [sparse.csr_array(FRAME.to_numpy())],
    "function": lambda folder: lambda: [FRAME[:20], FRAME[20:]],
    "iterable": lambda folder: Repeatable(),
}
TABLES = {
    "frame": FRAME,
    "array": FRAME.to_numpy(),
    "view of an array": FRAME.to_numpy()[:, :2],
    "sparse": sparse.csr_array(FRAME.to_numpy()),
    "list of numbers": FRAME.to_numpy().tolist(),
    "series": FRAME["a"],
    "dictionary": {"a": [1.0]},
    "class": Repeatable,
    "number": 3,
}


@pytest.mark.parametrize("kind", CHUNKS)
def test_chunks_of_each_kind_have_all_rows(kind, tmp_path):
    data = CHUNKS[kind](tmp_path)
    source = source_of(data)
    assert source.data is data
    assert not source.in_memory
    for _ in range(2):  # they can be read again
        np.testing.assert_allclose(sums_of_rows(source), FRAME.sum(), rtol=1e-12)
    assert table_of(data).chunks is None


@pytest.mark.parametrize("kind", TABLES)
def test_tables_and_what_is_no_source_of_rows_pass_as_they_are(kind):
    source = source_of(TABLES[kind])
    assert source.data is TABLES[kind]
    assert source.in_memory
    assert not source.files


def test_objects_of_libraries_that_read_in_chunks(tmp_path):
    polars = pytest.importorskip("polars")
    dataset = pytest.importorskip("pyarrow.dataset")
    dask = pytest.importorskip("dask.dataframe")
    FRAME.to_parquet(tmp_path / "rows.parquet")
    assert source_of(polars.from_pandas(FRAME)).in_memory
    sources = [
        source_of(polars.from_pandas(FRAME).lazy()),
        source_of(dataset.dataset(tmp_path / "rows.parquet")),
        source_of(dask.from_pandas(FRAME, npartitions=2)),
    ]
    assert [source.on_dask for source in sources] == [False, False, True]
    for source in sources[:2]:
        np.testing.assert_allclose(sums_of_rows(source), FRAME.sum(), rtol=1e-12)


def test_what_cannot_be_opened_is_refused_at_the_door(tmp_path):
    (tmp_path / "notes.txt").write_text("a b\n1 2\n")
    with pytest.raises(DataError, match="only once"):
        source_of(chunk for chunk in [FRAME])
    with pytest.raises(DataError, match="no such file"):
        source_of(tmp_path / "none.csv")
    with pytest.raises(DataError, match=r"a path must be to Parquet files"):
        source_of(tmp_path / "notes.txt")
    with pytest.raises(FileError, match="matches the pattern"):
        source_of(str(tmp_path / "*.parquet"))


def test_covariances_from_a_file_keep_it_with_other_options(tmp_path):
    sp.datasets.load_pitprops().to_csv(path := tmp_path / "S.csv")
    data = sp.covariance(path, n_obs=180)
    assert data.changed(n_obs=100).files == data.files == [str(path)]
