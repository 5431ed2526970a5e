"""Rows of Spark and of Ray, taken as they are: each in a local cluster of its own, where it is installed."""

from __future__ import annotations

import os
import sys
import time

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import DataError

pytestmark = [
    pytest.mark.slow,
    *(pytest.mark.filterwarnings(f"ignore::{one}Warning") for one in ("Deprecation", "Resource", "Future")),
]
#: Sums over 4000 rows are joined in other pieces than in memory.
CLOSE = 1e-10


def rows(n=4000):
    """Two planted components of three variables each among eight."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 8))
    for first, sd in ((0, 3.0), (4, 2.0)):
        X[:, first : first + 3] += sd * rng.standard_normal((n, 1)) / np.sqrt(3)
    return pd.DataFrame(X, columns=[f"v{j}" for j in range(8)])


def agree(fit, plain):
    np.testing.assert_allclose(fit.loadings, plain.loadings, atol=CLOSE)
    np.testing.assert_allclose(fit.variance, plain.variance, rtol=CLOSE)
    scores = pd.concat(list(fit.scores))  # walks over the rows again, and compares them with the first pass
    np.testing.assert_allclose(scores, plain.scores, atol=1e-8)


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    ray.init(num_cpus=2, object_store_memory=100_000_000, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def test_a_dataset_of_ray(ray):
    df = rows()
    plain = sp.spca(df, 2, 3)
    ds = ray.data.from_pandas([df.iloc[:1500], df.iloc[1500:]])
    fit = sp.spca(ds, 2, 3)
    agree(fit, plain)
    assert "Ray Dataset" in str(fit)
    agree(sp.spca(lambda: ds.iter_batches(batch_format="pyarrow", batch_size=700), 2, 3), plain)
    some = sp.spca(ds, 2, 3, formula="~ v0 + v1 + v2 + v4 + v5 + v6")
    agree(some, sp.spca(df, 2, 3, formula="~ v0 + v1 + v2 + v4 + v5 + v6"))
    with pytest.raises(DataError, match="no rows"):
        sp.spca(ds.limit(0), 2, 3)


def test_blocks_that_ray_computes_at_once_keep_their_order(ray):
    """Later blocks are done first; every pass must have the rows of the first in the same order."""

    def late(batch):
        time.sleep(0.4 if batch["id"][0] == 0 else 0.0)
        return {"a": batch["id"].astype(float), "b": (batch["id"] % 7).astype(float)}

    ds = ray.data.range(2000, override_num_blocks=4).map_batches(late, batch_size=500)
    fit = sp.spca(ds, 1, 1)
    scores = pd.concat(list(fit.scores)).to_numpy()[:, 0]
    np.testing.assert_allclose(np.abs(np.diff(scores)), 1.0, atol=1e-9)
    assert ds.context.execution_options.preserve_order is False


def test_a_data_frame_of_spark(monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    if not hasattr(sql.DataFrame, "__arrow_c_stream__"):
        pytest.skip("this Spark gives no stream of Arrow batches")
    monkeypatch.setitem(os.environ, "PYSPARK_PYTHON", sys.executable)
    spark = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        df = rows()
        agree(sp.spca(spark.createDataFrame(df).coalesce(2).cache(), 2, 3), sp.spca(df, 2, 3))
    finally:
        spark.stop()
