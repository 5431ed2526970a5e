"""What other libraries have in chunks gives the fit of its rows: each tried with the library itself."""

from __future__ import annotations

import os
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import ipc, parquet

import spcastat as sp
from spcastat import errors


def rows(n=600, p=5):
    """Correlated columns with means and scales of their own."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, p)) + 0.5 * rng.normal(size=(n, p))
    return pd.DataFrame(X * np.arange(1, p + 1) + 5, columns=["a", "b c", 'd"e', "f", "g"][:p])


FRAME = rows().assign(**{"b c": lambda df: df["b c"].abs().round()})
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)
#: Sums over 600 rows are joined in other pieces than in memory, and gaps of eigenvalues are of their order.
CLOSE = 1e-11


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three files of the rows, in the order of their names; they are read in blocks of 64 rows."""
    monkeypatch.setattr("spcastat.streams.chunks.rows_at_once", lambda p: 64)
    for number, start in enumerate(range(0, 600, 200)):
        parquet.write_table(TABLE.slice(start, 200), tmp_path / f"{number}.parquet", row_group_size=70)
    return tmp_path


class Interface:
    """The one method that a library needs, and a count of how often it was asked."""

    def __init__(self):
        self.asked = 0

    def __arrow_c_stream__(self, requested_schema=None):
        self.asked += 1
        return TABLE.__arrow_c_stream__(requested_schema)


def arrow_stream(folder):
    with ipc.new_stream(folder / "rows.arrows", TABLE.schema) as sink:
        sink.write_table(TABLE, 70)
    return lambda: ipc.open_stream(folder / "rows.arrows")


def csv_dataset(folder):
    FRAME.to_csv(folder / "rows.csv", index=False)
    return ds.dataset(folder / "rows.csv", format="csv")


def polars_lazy(folder):
    pl = pytest.importorskip("polars")
    if not hasattr(pl.LazyFrame, "collect_batches"):
        pytest.skip("this polars gives no batches of a lazy frame")
    return pl.scan_parquet(folder / "*.parquet")


def polars_query(folder):
    pl = pytest.importorskip("polars")
    return polars_lazy(folder).with_columns(pl.col("a") * 2.0).with_columns(pl.col("a") / 2.0)


def narwhals_lazy(folder):
    import narwhals as nw

    return nw.from_native(polars_lazy(folder))


def duckdb_relation(folder):
    duckdb = pytest.importorskip("duckdb")
    return duckdb.connect().sql(f"select * from read_parquet('{folder}/*.parquet')")


NAMED = {
    "pattern": lambda folder: str(folder / "*.parquet"),
    "paths": lambda folder: [folder / "0.parquet", str(folder / "1.parquet"), folder / "2.parquet"],
    "dataset": lambda folder: ds.dataset(folder),
    "csv dataset": csv_dataset,
    "arrow stream": arrow_stream,
    "interface": lambda folder: Interface(),
    "LazyFrame": polars_lazy,
    "query": polars_query,
    "narwhals": narwhals_lazy,
    "duckdb": duckdb_relation,
}  # fmt: skip


def same(fit, expected):
    assert list(fit.loadings.index) == list(expected.loadings.index)
    np.testing.assert_allclose(fit.loadings.to_numpy(), expected.loadings.to_numpy(), rtol=0, atol=CLOSE)
    np.testing.assert_allclose(fit.variance.to_numpy(), expected.variance.to_numpy(), rtol=CLOSE)
    expected_scores = expected.scores.to_numpy()
    # walks over the rows again, and compares them with the first pass
    np.testing.assert_allclose(
        np.asarray(fit.scores), expected_scores, rtol=0, atol=CLOSE * np.abs(expected_scores).max()
    )


@pytest.mark.sweep
@pytest.mark.parametrize("source", NAMED)
def test_what_comes_in_pieces_gives_the_fit_of_its_rows(source, folder):
    data = NAMED[source](folder)
    fit = sp.spca(data, 2, 3, method="bcd-l0")
    same(fit, sp.spca(FRAME, 2, 3, method="bcd-l0"))
    assert "600 rows and 5 variables (" in str(fit)  # the source is named: nothing was gathered


@pytest.mark.sweep
@pytest.mark.parametrize("source", NAMED)
def test_a_formula_picks_columns_and_new_rows_are_transformed(source, folder):
    data = NAMED[source](folder)
    fit = sp.spca(data, 1, 2, formula="~ a + f + log(g**2 + 1)", weights="b c")
    expected = sp.spca(FRAME, 1, 2, formula="~ a + f + log(g**2 + 1)", weights=FRAME["b c"])
    same(fit, expected)
    new = np.asarray(fit.transform(data))
    np.testing.assert_allclose(new, fit.transform(FRAME).to_numpy(), rtol=0, atol=1e-10 * np.abs(new).max())


# --- refusals -------------------------------------------------------------------------------------


class Once:
    """A stream that can be read once, as results of queries are."""

    def __init__(self):
        self._reader = TABLE.to_reader()

    def __arrow_c_stream__(self, requested_schema=None):
        return self._reader.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    ("make", "family", "message"),
    [
        (lambda f: TABLE.to_reader(), errors.DataError, "only once"),
        (lambda f: ds.dataset(f).scanner(), errors.DataError, "allowed types are"),
        (lambda f: Once(), errors.DataError, "only once"),
        (lambda f: str(f / "*.pq"), errors.FileError, "no file whose path matches the pattern"),
        (lambda f: [f / "0.parquet", f / "9.parquet"], errors.FileError, "no file"),
        (lambda f: [f / "0.parquet", f / "x.csv"], errors.DataError, "must be to Parquet files"),
        (lambda f: [f / "0.parquet", FRAME], errors.DataError, "allowed types are"),
        (lambda f: polars_lazy(f).select("nothing"), errors.DataError, "nothing"),
    ],
)  # fmt: skip
def test_what_cannot_be_walked_over_says_why(make, family, message, folder):
    (folder / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(family, match=message) as caught:
        sp.spca(make(folder), 1, 2)
    assert "collect()" not in str(caught.value)


def test_what_fails_on_the_way_is_named(folder):
    duckdb = pytest.importorskip("duckdb")
    broken = "select case when f > 5 then error('broken') else a end as a, f from read_parquet"
    with pytest.raises(errors.DataError, match=r"(?s)DuckDB relation.*broken"):
        sp.spca(duckdb.connect().sql(f"{broken}('{folder}/0.parquet')"), 1, 1)
    (folder / "1.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(errors.FileError, match=r"1\.parquet"):
        sp.spca(str(folder / "*.parquet"), 1, 2)


# --- Spark ----------------------------------------------------------------------------------------

SPARK_AND_RAY = [
    pytest.mark.slow,
    *(pytest.mark.filterwarnings(f"ignore::{one}Warning") for one in ("Deprecation", "Resource", "Future")),
]


def in_a_cluster(test):
    """Mark a test as one that starts a cluster."""
    for mark in SPARK_AND_RAY:
        test = mark(test)
    return test


#: Sums over 4000 rows are joined in other pieces than in memory.
CLUSTER_CLOSE = 1e-10


def cluster_rows(n=4000):
    """Two planted components of three variables each among eight."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 8))
    for first, sd in ((0, 3.0), (4, 2.0)):
        X[:, first : first + 3] += sd * rng.standard_normal((n, 1)) / np.sqrt(3)
    return pd.DataFrame(X, columns=[f"v{j}" for j in range(8)])


def agree(fit, plain):
    np.testing.assert_allclose(fit.loadings, plain.loadings, atol=CLUSTER_CLOSE)
    np.testing.assert_allclose(fit.variance, plain.variance, rtol=CLUSTER_CLOSE)
    scores = pd.concat(list(fit.scores))  # walks over the rows again, and compares them with the first pass
    np.testing.assert_allclose(scores, plain.scores, atol=1e-8)


@in_a_cluster
def test_a_data_frame_of_spark(monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    if not hasattr(sql.DataFrame, "__arrow_c_stream__"):
        pytest.skip("this Spark gives no stream of Arrow batches")
    monkeypatch.setitem(os.environ, "PYSPARK_PYTHON", sys.executable)
    spark = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        df = cluster_rows()
        agree(sp.spca(spark.createDataFrame(df).coalesce(2).cache(), 2, 3), sp.spca(df, 2, 3))
    finally:
        spark.stop()
