"""Dask: the fit in memory from partitions on two worker processes, with nothing but sums on the way."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import (
    ColumnTypeError,
    DataError,
    DataWarning,
    DuplicateNamesError,
    FileError,
    FormulaError,
    MissingValuesError,
    NoRowsError,
    OptionError,
    WeightsError,
)
from spcastat.linalg.accumulate import ColumnSums, CrossProducts
from spcastat.progress import listening
from spcastat.streams.dask import DaskStream

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

PARTS, ROWS, P = 10, 3000, 12
NAMES = [f"v{j}" for j in range(P)]
#: Two computations of the same loadings from sums in another order: the digits of float64 less those that
#: the 3e4 rows and the condition of the small problem cost.
CLOSE = 1e-10


def rows_of(part, rows=ROWS):
    """One partition: three groups of variables with a factor each; the means differ with the partition."""
    rng = np.random.default_rng([7, part])
    X = np.repeat(rng.normal(size=(rows, 3)) * [3.0, 2.0, 1.5], P // 3, axis=1)
    return X + rng.normal(size=(rows, P)) + np.arange(P) + 0.1 * part


def weights_of(part):
    return np.random.default_rng([8, part]).integers(0, 4, ROWS).astype(float)


@pytest.fixture(scope="module")
def X():
    return np.vstack([rows_of(part) for part in range(PARTS)])


@pytest.fixture(scope="module")
def w():
    return np.concatenate([weights_of(part) for part in range(PARTS)])


@pytest.fixture(scope="module")
def cluster():
    with (
        dask.config.set({"distributed.admin.low-level-log-length": 10_000}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit="1GiB"
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


def scheduled(name):
    """A scheduler of dask's own by its name; None is the cluster."""
    return dask.config.set({} if name is None else {"scheduler": name})


# Functions that run on workers are made inside functions, so that they travel whole: workers do not have
# this file.


def frame(change=None, weighted=False):
    """These rows as a dask data frame with labels r000000, ...; `change(part, df)` may change a part."""
    names = list(NAMES)

    def make(part):
        rng = np.random.default_rng([7, part])
        rows, p = 3000, 12
        X = np.repeat(rng.normal(size=(rows, 3)) * [3.0, 2.0, 1.5], p // 3, axis=1)
        X = X + rng.normal(size=(rows, p)) + np.arange(p) + 0.1 * part
        df = pd.DataFrame(X, columns=names, index=[f"r{part * rows + i:06d}" for i in range(rows)])
        if weighted:
            df["weight"] = np.random.default_rng([8, part]).integers(0, 4, rows).astype(float)
        return df if change is None else change(part, df)

    meta = pd.DataFrame(columns=names + ["weight"] * weighted, index=pd.Index([], dtype=str), dtype=float)
    return dd.from_map(make, range(PARTS), meta=meta, enforce_metadata=False)


def in_memory(X):
    return pd.DataFrame(X, columns=NAMES, index=[f"r{i:06d}" for i in range(len(X))])


def bits(source, p=P):
    return DaskStream.open(source).reduce(partial(CrossProducts, p), "sums").result.products.tobytes()


# --- the same fit -------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"scale": True}])
def test_a_fit_is_that_in_memory(client, X, options):
    expected = sp.spca(in_memory(X), k=3, card=4, **options, method="bcd-l0")
    fit = sp.spca(frame(), k=3, card=4, **options, method="bcd-l0")
    assert np.abs(fit.loadings.to_numpy() - expected.loadings.to_numpy()).max() < CLOSE
    np.testing.assert_allclose(fit.variance.to_numpy(), expected.variance.to_numpy(), rtol=CLOSE)
    assert list(fit.loadings.index) == NAMES
    assert "30,000 rows and 12 variables (dask data frame)" in str(fit)


def test_weights_are_those_in_memory(client, X, w):
    expected = sp.spca(X, k=2, card=4, weights=w, method="bcd-l0").loadings.to_numpy()
    fit = sp.spca(frame(weighted=True), k=2, card=4, weights="weight", method="bcd-l0")
    assert np.abs(fit.loadings.to_numpy() - expected).max() < CLOSE


def test_sums_of_many_partitions_are_merged_in_several_steps(w):
    rows = rows_of(0)
    data = dd.from_pandas(pd.DataFrame(rows, columns=NAMES).assign(w=w[:ROWS]), npartitions=150)
    with scheduled("threads"):
        fit = sp.spca(data, 2, 4, method="bcd-l0", weights="w")
    expected = sp.spca(rows, 2, 4, method="bcd-l0", weights=w[:ROWS])
    assert np.abs(fit.loadings.to_numpy() - expected.loadings.to_numpy()).max() < CLOSE


def test_rows_with_missing_values_are_dropped_in_each_partition(client, X):
    def change(part, df):
        df.iloc[part, part] = np.nan
        return df

    fit = sp.spca(frame(change), k=2, card=4, na="drop", method="bcd-l0")
    holes = [part * ROWS + part for part in range(PARTS)]
    expected = sp.spca(in_memory(X).drop(index=[f"r{i:06d}" for i in holes]), k=2, card=4, method="bcd-l0")
    assert np.abs(fit.loadings.to_numpy() - expected.loadings.to_numpy()).max() < CLOSE
    pd.testing.assert_frame_equal(fit.scores.compute(), expected.scores, atol=CLOSE, check_index_type=False)
    assert f"{PARTS} rows" in str(fit)


def test_a_formula_takes_only_what_it_uses_to_the_workers(client, X):
    def square(x):
        return x**2

    lock = threading.Lock()  # stands beside the call, and cannot be pickled
    formula = "~ v0 + square(v5) + log(abs(v9) + 1)"
    fit = sp.spca(frame(weighted=True), k=1, card=2, formula=formula, scale=False, method="bcd-l0")
    made = np.c_[X[:, 0], X[:, 5] ** 2, np.log(np.abs(X[:, 9]) + 1)]
    expected = sp.spca(made, k=1, card=2, scale=False, method="bcd-l0")
    assert np.abs(fit.loadings.to_numpy() - expected.loadings.to_numpy()).max() < CLOSE
    assert list(fit.loadings.index) == ["v0", "square(v5)", "log(abs(v9) + 1)"]
    np.testing.assert_allclose(fit.scores.compute(), expected.scores, atol=1e-10 * np.abs(made).max())

    def locked(x):
        with lock:
            return x

    with pytest.raises(FormulaError, match="uses 'locked' of type function, which cannot be sent"):
        sp.spca(frame(), k=1, card=1, formula="~ v0 + locked(v1)", method="bcd-l0")


# --- what travels -------------------------------------------------------------------------------


def transfers(client):
    """The size of every value that left a worker, for the client or another worker."""

    def log(dask_worker):
        return [size for entry in dask_worker.transfer_outgoing_log for size in entry["keys"].values()]

    return [size for sizes in client.run(log).values() for size in sizes]


def forget_transfers(client):
    client.run(lambda dask_worker: dask_worker.transfer_outgoing_log.clear())


def test_no_partition_ever_travels(client):
    partition = ROWS * P * 8
    forget_transfers(client)
    sp.spca(frame(), k=2, card=4, method="bcd-l0")
    sent = transfers(client)
    # Twelve means and 144 products: 1.2 kB a partition, where a partition has 288 kB.
    assert 0 < max(sent) < partition / 20
    assert sum(sent) < partition / 2
    # The log sees partitions, where one does travel.
    forget_transfers(client)
    frame().partitions[3].compute()
    assert max(transfers(client)) >= partition


def test_the_same_partitions_give_the_same_bits(client):
    def late(part, df):
        time.sleep(0.02 * (7 * part % 5))  # another order of completion
        return df

    expected = bits(frame())
    assert bits(frame(late)) == expected
    for scheduler in ("sync", "threads"):
        with scheduled(scheduler):
            assert bits(frame()) == expected


# --- a cluster as it is -------------------------------------------------------------------------


@pytest.mark.slow
def test_a_worker_killed_in_mid_pass_changes_nothing(client, tmp_path):
    log = str(tmp_path / "runs")

    def slow(part, df):
        with open(log, "a") as file:
            file.write(f"{part} {os.getpid()}\n")
        time.sleep(0.1)
        return df

    expected = sp.spca(frame(), k=3, card=4, method="bcd-l0")
    victim = next(iter(client.run(os.getpid).values()))

    def kill():
        """Kill a worker after five of ten partitions, so that the sums of the victim are lost."""
        path = tmp_path / "runs"
        while not path.exists() or len(path.read_text().splitlines()) < 5:
            time.sleep(0.01)
        os.kill(victim, 9)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    fit = sp.spca(frame(slow), k=3, card=4, method="bcd-l0")
    killer.join(timeout=10)
    assert not killer.is_alive()
    np.testing.assert_array_equal(fit.loadings, expected.loadings)
    runs = [line.split() for line in (tmp_path / "runs").read_text().splitlines()]
    assert {int(part) for part, _ in runs} == set(range(PARTS))
    assert len(runs) > PARTS, "nothing was lost: the worker was killed too late to test anything"
    client.wait_for_workers(2, timeout=20)


def test_progress_counts_partitions(client):
    for scheduler in (None, "sync"):
        steps = []
        with scheduled(scheduler), listening(steps.append):
            DaskStream.open(frame()).reduce(partial(ColumnSums, P), "means")
        assert [step.done for step in steps] == [0, PARTS, PARTS]
        assert {(step.stage, step.total, step.unit) for step in steps} == {("means", PARTS, "partitions")}
        assert [step.ended for step in steps] == [False, False, True]


@pytest.mark.parametrize("scheduler", [None, "sync", "threads"])
def test_a_listener_may_end_the_work(client, scheduler):
    class Enough(Exception):
        pass

    def listener(step):
        if step.done == PARTS:
            raise Enough

    with scheduled(scheduler), listening(listener), pytest.raises(Enough):
        DaskStream.open(frame()).reduce(partial(ColumnSums, P), "means")


def test_a_fit_inside_a_task_does_not_wait_for_itself(client, X):
    source = frame()

    def task():
        import spcastat

        return spcastat.spca(source, k=1, card=4, method="bcd-l0").loadings

    # As many tasks as there are threads on the cluster.
    found = client.gather([client.submit(task, pure=False) for _ in range(2)])
    expected = sp.spca(in_memory(X), k=1, card=4, method="bcd-l0").loadings.to_numpy()
    for loadings in found:
        assert np.abs(loadings.to_numpy() - expected).max() < CLOSE


# --- scores -------------------------------------------------------------------------------------


def test_scores_are_lazy_and_those_in_memory(client, X, tmp_path):
    expected = sp.spca(in_memory(X), k=2, card=4, method="bcd-l0").scores
    fit = sp.spca(frame(), k=2, card=4, method="bcd-l0")
    scores = fit.scores
    assert isinstance(scores, dd.DataFrame)
    assert scores.npartitions == PARTS
    assert (scores.dtypes == np.float64).all()
    pd.testing.assert_frame_equal(scores.compute(), expected, atol=CLOSE, check_index_type=False)
    scores.to_parquet(tmp_path / "scores")
    written = pd.read_parquet(tmp_path / "scores")
    pd.testing.assert_frame_equal(written, expected, atol=CLOSE, check_names=False, check_index_type=False)
    # The partitions are those of the data, so that the scores can stand beside them.
    beside = fit.transform(frame()).PC1.corr(frame().v0).compute()
    assert beside == pytest.approx(np.corrcoef(expected.PC1, X[:, 0])[0, 1], abs=CLOSE)


def test_scores_compute_nothing_until_they_are_asked_for(tmp_path):
    log = tmp_path / "runs"

    def watched(part, df):
        log.write_text("computed")
        return df

    with scheduled("sync"):
        fit = sp.spca(frame(watched), k=1, card=4, method="bcd-l0")
        log.unlink()
        scores = fit.scores
        assert not log.exists()
        scores.partitions[0].compute()
        assert log.exists()


def test_known_divisions_stay(X):
    df = pd.DataFrame(X[:1000], columns=NAMES)
    source = dd.from_pandas(df, npartitions=4)
    scores = sp.spca(source, k=1, card=4, method="bcd-l0").scores
    assert scores.divisions == source.divisions
    assert scores.loc[10:12].compute().index.tolist() == [10, 11, 12]


def test_new_data_go_through_a_fit_by_name_or_by_position(X):
    df = pd.DataFrame(X[:600], columns=NAMES)
    fit, expected = (
        sp.spca(df, k=2, card=4, method="bcd-l0"),
        sp.spca(df, k=2, card=4, method="bcd-l0").scores.to_numpy(),
    )
    turned = dd.from_pandas(df[NAMES[::-1]].assign(other="text"), npartitions=3)
    np.testing.assert_allclose(fit.transform(turned).compute(), expected, atol=CLOSE)
    unnamed = sp.spca(df.to_numpy(), k=2, card=4, method="bcd-l0")
    with pytest.warns(DataWarning, match="taken by position"):
        scores = unnamed.transform(dd.from_pandas(df, npartitions=3))
    np.testing.assert_allclose(scores.compute(), expected, atol=CLOSE)
    used = fit.loadings.any(axis=1).idxmax()
    with pytest.raises(DataError, match=f"'{used}'"):
        fit.transform(dd.from_pandas(df.drop(columns=used), npartitions=3))


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", [None, "threads"])
def test_errors_name_the_partition(client, scheduler):
    def hole(part, df):
        if part == 2:
            df.iloc[5] = np.nan
        return df

    def text(part, df):
        return df.assign(v3="a") if part == 2 else df

    def column(part, df):
        return df.rename(columns={"v3": "strange"}) if part == 2 else df

    cases = [
        (hole, MissingValuesError, "12 missing values in 1 of 3,000 rows"),
        (text, ColumnTypeError, "'v3'"),
    ]
    cases += [(column, DataError, "lacks 'v3' and has in addition 'strange'")]
    with scheduled(scheduler):
        for change, error, message in cases:
            with pytest.raises(error, match=f"^partition 3 of the dask data frame: .*{message}"):
                sp.spca(frame(change), k=1, card=4, method="bcd-l0")


def test_a_partition_that_cannot_be_computed_is_reported_with_its_error(client):
    def lost(part, df):
        if part == 4:
            raise FileNotFoundError(2, "No such file or directory", "rows-4.parquet")
        return df

    def broken(part, df):
        return 1 / (part - 4) * df

    for scheduler in (None, "sync"):
        with scheduled(scheduler):
            with pytest.raises(FileError, match=r"^A partition of the dask data frame .*rows-4\.parquet"):
                sp.spca(frame(lost), k=1, card=4, method="bcd-l0")
            with pytest.raises(DataError, match=r"^A partition of the .* be computed: ZeroDivisionError"):
                sp.spca(frame(broken), k=1, card=4, method="bcd-l0")


def test_weights_that_do_not_fit_are_refused(X, w):
    df = dd.from_pandas(pd.DataFrame(X[:100], columns=NAMES), npartitions=4)
    cases = [
        (df, w[:100], "give the name of one of its columns"),
        (df, dd.from_pandas(pd.Series(w[:100]), npartitions=4), "give the name of one of its columns"),
        (df, "v99", "which is not a column"),
        (df.assign(w=-1.0), "w", "^partition [1-4] of the dask data frame: weights contains"),
    ]
    with scheduled("sync"):
        for source, weights, message in cases:
            with pytest.raises(WeightsError, match=message):
                sp.spca(source, k=1, card=4, weights=weights, method="bcd-l0")
    twice = dd.from_pandas(pd.DataFrame(X[:100, [0, 1, 2, 2]], columns=list("abww")), npartitions=4)
    with pytest.raises(DuplicateNamesError, match="column is called 'w'"):
        sp.spca(twice, k=1, card=1, weights="w")


def test_what_is_no_table_of_numbers_is_refused(X):
    df = dd.from_pandas(pd.DataFrame(X[:100], columns=NAMES).assign(t="text"), npartitions=4)
    cases = [
        (df["v0"], DataError, "dask Series was given"),
        (df[NAMES].to_dask_array(), DataError, r"from_dask_array\(x\)"),
        (df, ColumnTypeError, "real numbers: 't'"),
        (dask.delayed(df), DataError, "from_delayed"),
    ]
    with scheduled("sync"):
        for source, error, message in cases:
            with pytest.raises(error, match=message):
                sp.spca(source, k=1, card=1, method="bcd-l0")
        with pytest.raises(FormulaError, match="is estimated from all rows"):
            sp.spca(df, k=1, card=1, formula="~ v0 + scale(v1)", method="bcd-l0")
        with pytest.raises(OptionError, match="dummy"):
            sp.spca(df, k=1, card=1, formula="~ .", categorical="dummy", method="bcd-l0")


def test_a_dask_array_is_fitted_as_the_message_says(X):
    x = da.from_array(X[:600], chunks=(200, 5))
    with pytest.raises(DataError, match=r"Use dask\.dataframe\.from_dask_array\(x\) for an array"):
        sp.spca(x, k=2, card=4)
    with scheduled("sync"):
        fit = sp.spca(dd.from_dask_array(x), k=2, card=4, method="bcd-l0")
        found = fit.scores.compute()
    np.testing.assert_allclose(found, sp.spca(X[:600], k=2, card=4, method="bcd-l0").scores, atol=CLOSE)


def test_a_source_that_gives_other_rows_is_noticed():
    count = [100]

    def make(part):
        count[0] += 1
        return pd.DataFrame(rows_of(part, count[0]), columns=NAMES)

    meta = pd.DataFrame(columns=NAMES, dtype=float)
    with scheduled("sync"):
        stream = DaskStream.open(dd.from_map(make, range(2), meta=meta))
        stream.reduce(partial(ColumnSums, P), "means")
        with pytest.raises(DataError, match="had 203 rows in an earlier pass and has 207 now"):
            stream.reduce(partial(ColumnSums, P), "means")


def test_dask_is_not_imported_for_other_data():
    code = (
        "import sys, numpy as np, spcastat as sp\n"
        "sp.spca(np.random.default_rng(0).normal(size=(20, 3)), k=1, card=2)\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'dask', 'distributed'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_scores_of_dask_are_told_as_such(tmp_path):
    fit = sp.spca(dd.from_pandas(pd.DataFrame(rows_of(0)), npartitions=3), k=2, card=4, method="bcd-l0")
    with pytest.raises(NoRowsError, match=r"scores.compute\(\) all of them"):
        fit.residuals  # noqa: B018
    with pytest.raises(OptionError, match=r"write them with fit.scores.to_parquet\(folder\)"):
        fit.save(tmp_path / "fit", scores=True)


@pytest.mark.slow
def test_partitions_that_are_computed_anew_are_told_of():
    """Told as dask has it: what persist() returns has no task left to run."""

    def random(part):
        return pd.DataFrame(np.random.default_rng(part).normal(size=(20, 3001)))

    lazy = dd.from_map(random, range(2), meta=random(0)[:0])
    told = "computed again in each of"
    kept = lazy.persist()
    assert told in " ".join(sp.spca(lazy, 1, card=3, effort="quick").notes)
    assert told not in " ".join(sp.spca(kept, 1, card=3, effort="quick").notes)
    frame = dd.from_pandas(pd.DataFrame({"a": range(6), "b": 1.0}), npartitions=2) + 1.0
    assert DaskStream.open(frame).anew
    assert not DaskStream.open(frame.persist()).anew
