"""Row labels that pandas stores among the columns: no variables, whatever the table came through."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import spcastat as sp
from spcastat.errors import FileError

pa = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")

FRAME = pd.DataFrame(
    np.random.default_rng(0).normal(size=(60, 4)), columns=list("abcd"), index=np.arange(60) * 1000 + 7
)
TABLE = pa.Table.from_pandas(FRAME)


def file(folder):
    FRAME.to_parquet(folder / "a.parquet")
    return folder / "a.parquet"


class Stream:
    def __arrow_c_stream__(self, schema=None):
        return TABLE.__arrow_c_stream__(schema)


SOURCES = {
    "table": lambda folder: TABLE,
    "batch": lambda folder: TABLE.to_batches()[0],
    "list of batches": lambda folder: TABLE.to_batches(max_chunksize=20),
    "list of tables": lambda folder: [TABLE.slice(0, 20), TABLE.slice(20)],
    "function": lambda folder: lambda: iter(TABLE.to_batches(max_chunksize=20)),
    "stream": lambda folder: Stream(),
    "dataset": lambda folder: dataset.dataset(TABLE),
    "path": file,
    "ParquetFile": lambda folder: parquet.ParquetFile(file(folder)),
    "narwhals": lambda folder: nw.from_native(TABLE),
    "narwhals of pandas": lambda folder: nw.from_native(FRAME),
    "polars": lambda folder: pl.from_arrow(TABLE),
    "LazyFrame": lambda folder: pl.scan_parquet(file(folder)),
}


@pytest.mark.parametrize("source", SOURCES)
def test_the_index_of_pandas_labels_the_rows(source, tmp_path):
    if source == "LazyFrame" and not hasattr(pl.LazyFrame, "collect_batches"):
        pytest.skip("this version of polars gives no batches")
    fit = sp.spca(SOURCES[source](tmp_path), 1, 2)
    assert list(fit.correlations.index) == list(FRAME.columns)
    # the trace of pandas' covariance matrix; sums over chunks have another order
    assert fit.total_variance == pytest.approx(FRAME.var().sum(), rel=1e-12)
    scores = fit.scores if isinstance(fit.scores, pd.DataFrame) else fit.scores.to_frame()
    assert scores.index.equals(FRAME.index)


def test_a_named_index_and_ranges():
    named = pa.Table.from_pandas(FRAME.rename_axis("id"))
    assert sp.spca(named, 1, 2).scores.index.equals(FRAME.index)
    levels = FRAME.set_axis(pd.MultiIndex.from_product([range(6), range(10)]))
    assert sp.spca(pa.Table.from_pandas(levels), 1, 2).scores.index.equals(levels.index)
    numbered = pa.Table.from_pandas(FRAME.set_axis(pd.RangeIndex(5, 65)))
    assert sp.spca(numbered, 1, 2).scores.index.equals(pd.RangeIndex(5, 65))
    # the metadata of a slice are those of the whole: its rows are numbered
    assert sp.spca(numbered.slice(3), 1, 2).scores.index.equals(pd.RangeIndex(57))


def test_damaged_metadata_are_refused():
    with pytest.raises(FileError, match="damaged"):
        sp.spca(TABLE.replace_schema_metadata({b"pandas": b"{"}), 1, 2)
