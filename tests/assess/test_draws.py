"""Draws: shared by any number of processes, and from rows that are never all in memory."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import spcastat as sp
from spcastat.arguments import draw_generator, seed_of
from spcastat.inputs import chunk_data
from spcastat.inputs.chunk_data import SampledRows
from spcastat.progress import in_threads, listening, run_jobs

# --- Draws depend on their number alone: how they are shared changes nothing ----------------------

#: Of the package and NumPy: another process has no module of the tests.
normal = functools.partial(draw_generator, 7)


def test_seeds():
    assert seed_of(None) == seed_of(0) != seed_of(1)
    rng = np.random.default_rng(3)
    assert seed_of(rng) != seed_of(rng)  # a generator goes on


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_a_draw_raises_is_raised(n_jobs):
    with pytest.raises(ZeroDivisionError):
        run_jobs(functools.partial(divmod, 1), 4, n_jobs=n_jobs)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_keep_the_order(n_jobs):
    first_may_end = threading.Event()

    def work(number):
        if n_jobs > 1 and not number:
            assert first_may_end.wait(60)
        first_may_end.set()
        return 10 * number

    assert list(in_threads(work, range(5), n_jobs)) == [0, 10, 20, 30, 40]
    with pytest.raises(ZeroDivisionError):
        list(in_threads(functools.partial(divmod, 1), range(3), n_jobs))


def interrupted_at(limit):
    def work(number):
        if number == limit:
            raise KeyboardInterrupt
        return number

    return work


def test_an_interruption_leaves_what_is_done():
    finished = run_jobs(interrupted_at(4), 10)
    assert finished.results == [0, 1, 2, 3]
    assert finished.interrupted
    assert not run_jobs(interrupted_at(40), 10).interrupted


@pytest.mark.parametrize(
    ("n", "most", "sizes"),
    [(50, 40, [25, 25]), (7, 100, [4, 3]), (949, 100, [95] * 9 + [94]), (1, 5, [1]), (3, 1, [1] * 3)],
)
def test_batches_have_nearly_the_same_size_and_are_two_at_least(n, most, sizes):
    asked = []
    run_jobs(lambda batch: [asked.append(len(batch))] * len(batch), n, together=most)
    assert asked == sizes


def test_an_interruption_before_the_first_draw_is_one():
    with pytest.raises(KeyboardInterrupt):
        run_jobs(interrupted_at(0), 10)


@pytest.mark.parametrize("n_jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_ctrl_c_keeps_the_draws_that_are_done(tmp_path, n_jobs):
    """Six draws of a quarter of a second, then draws without end, which other processes would do as well."""
    # In an interpreter of its own: the signal goes to a whole group of processes, as a terminal's does.
    (tmp_path / "slow.py").write_text(
        "import time\ndef draw(number):\n    time.sleep(0.25 if number < 6 else 600)\n    return number"
    )
    code = (
        f"import signal, sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background ignores it\n"
        "from slow import draw\n"
        "from spcastat.progress import listening\n"
        "from spcastat.progress import run_jobs\n"
        "with listening(lambda step: print(step.done, flush=True)):\n"
        f"    finished = run_jobs(draw, 320, n_jobs={n_jobs})\n"
        "print(finished.results, finished.interrupted)"
    )
    begun = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen([sys.executable, "-W", "error", "-c", code], **begun) as child:
        timer = threading.Timer(60, child.kill)
        timer.start()
        for line in child.stdout:
            if int(line) == 6:
                break
        os.killpg(child.pid, signal.SIGINT)
        out, err = child.communicate()
        timer.cancel()
    assert child.returncode == 0
    assert out.splitlines()[-1] == "[0, 1, 2, 3, 4, 5] True"
    assert err == ""


def test_an_error_of_the_listener_ends_the_processes():
    def enough(step):
        if step.done:
            raise RuntimeError("enough")

    with listening(enough), pytest.raises(RuntimeError, match="enough"):  # and no warning of joblib
        run_jobs(normal, 50, n_jobs=2)


def test_work_that_is_dropped_at_an_end_is_not_reported(monkeypatch):
    """joblib's thread fails in one of some hundred ends; here a number of dropped work is always left."""
    from joblib.externals.loky.process_executor import _ExecutorManagerThread

    drop = _ExecutorManagerThread.flag_executor_shutting_down
    failed = threading.Event()

    def leave_a_number(thread):
        drop(thread)
        thread.work_ids_queue.put(-1)

    def recorded(thread, work=_ExecutorManagerThread.add_call_item_to_queue):
        try:
            work(thread)
        except KeyError:
            failed.set()
            raise

    monkeypatch.setattr(_ExecutorManagerThread, "flag_executor_shutting_down", leave_a_number)
    monkeypatch.setattr(_ExecutorManagerThread, "add_call_item_to_queue", recorded)
    reports = []
    monkeypatch.setattr(threading, "excepthook", reports.append)

    def enough(step):
        if step.done:
            raise RuntimeError("enough")

    with listening(enough), pytest.raises(RuntimeError, match="enough"):
        run_jobs(normal, 50, n_jobs=2)
    assert failed.wait(60)
    assert reports == []
    threading.excepthook(threading.ExceptHookArgs([ValueError, ValueError(), None, None]))
    assert len(reports) == 1  # what else threads raise is reported, and the hook is the one that was there


def test_a_process_that_dies_is_an_error_that_says_what_to_do():
    with pytest.raises(RuntimeError, match=r"ended early; use n_jobs=1"):
        run_jobs(os._exit, 4, n_jobs=2)


# --- Draws of rows that are never all in memory ---------------------------------------------------

N = 240


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N, 8))
    X[:, :3] += 1.5 * rng.normal(size=(N, 1))
    X[:, 3:6] += rng.normal(size=(N, 1))
    return pd.DataFrame(X, columns=[*"abcdefgh"])


@pytest.fixture(scope="module")
def pieces(rows):
    return sp.spca([rows.iloc[:100], rows.iloc[100:]], 2, 3)


def test_few_rows_are_drawn_as_in_memory(rows, pieces):
    inside = sp.spca(rows, 2, 3)
    for one, two in (
        (pieces.bootstrap(12).table, inside.bootstrap(12).table),
        (pieces.bootstrap(12).frames["variance"], inside.bootstrap(12).frames["variance"]),
        (pieces.split_inference(12).conf_int(), inside.split_inference(12).conf_int()),
        (pieces.test_loadings(19).table, inside.test_loadings(19).table),
    ):
        # an ascent ends within 1e-6 of its loadings
        pd.testing.assert_frame_equal(one, two, rtol=1e-6, atol=1e-6)
    pd.testing.assert_frame_equal(pieces.stability(6).frequency, inside.stability(6).frequency)
    assert "sample" not in str(pieces.bootstrap(12))


def test_every_row_is_drawn_with_equal_probability(rows):
    """Chi-squared test of how often each of 240 rows is in 200 samples of 60."""
    X, counts = rows.to_numpy(), np.zeros(N)
    place = pd.Series(range(N), index=X[:, 0])
    for seed in range(200):
        sample = SampledRows(60, seed)
        for part in np.split(X, [50, 130]):
            sample.add(part, None)
        counts[place[sample.X[:, 0]]] += 1
    assert counts.sum() == 200 * 60
    statistic = ((counts - 50.0) ** 2 / (200 * 0.25 * 0.75)).sum() * (N - 1) / N
    assert 1e-4 < stats.chi2(N - 1).sf(statistic) < 1 - 1e-4


def test_a_sample_says_so_also_in_files(rows, monkeypatch, tmp_path):
    monkeypatch.setattr(chunk_data, "SAMPLE_ROWS", 150)
    data = [rows.iloc[:100], rows.iloc[100:]]
    fit = sp.spca(data, 2, 3)
    said = "a sample of 150 of 240 rows"
    results = [fit.bootstrap(9), fit.stability(3), fit.split_inference(9), fit.test_loadings(9)]
    for result in results:
        assert said in " ".join(str(result).split())
    choice = sp.choose(data, cards=[3], n_draws=39, repeats=1)
    assert said in str(choice)
    assert said in str(choice.k_choice)
    assert choice.fit._state.record.n == N  # the fit has all rows
    np.testing.assert_allclose(choice.fit.loadings, sp.spca(rows, choice.k, 3).loadings, atol=1e-7)
    fit.with_inference(*results).save(tmp_path / "fit.spca")
    assert said in str(sp.load(tmp_path / "fit.spca").inference["bootstrap"])
    assert "held" in str(sp.compare({"a": fit, "b": sp.spca(data, 2, 4)}, held_out=True)).lower()


def test_partitions_of_dask_are_drawn_where_they_lie(rows):
    dd = pytest.importorskip("dask.dataframe")
    fit = sp.spca(dd.from_pandas(rows, npartitions=3), 2, 3)
    found = fit.bootstrap(12).table
    pd.testing.assert_frame_equal(found, sp.spca(rows, 2, 3).bootstrap(12).table, rtol=1e-6, atol=1e-8)
