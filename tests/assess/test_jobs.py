"""Draws depend on their number alone: how they are shared changes nothing."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import spcastat as sp
from spcastat.assess.draws import draw_generator, run_jobs, seed_of, workers
from spcastat.errors import OptionError
from spcastat.progress import listening

#: Of the package and NumPy: another process has no module of the tests.
normal = functools.partial(draw_generator, 7)


@pytest.mark.parametrize("n_jobs", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_the_same_bits_for_any_number_of_processes(n_jobs):
    alone = [one.normal(size=3) for one in run_jobs(normal, 23).results]
    shared = [one.normal(size=3) for one in run_jobs(normal, 23, n_jobs=n_jobs).results]
    np.testing.assert_array_equal(shared, alone)


@pytest.mark.slow
def test_draws_that_are_made_together_go_together_in_any_number_of_processes():
    """So that sums over a batch have the same rounding whoever makes it; the last batch is shorter."""
    for n_jobs in (1, 2):
        done = run_jobs(np.negative, 7, n_jobs=n_jobs, together=3)
        assert [int(one) for one in done.results] == [0, -1, -2, -3, -4, -5, -6]
        assert not done.interrupted
    calls = []
    run_jobs(lambda piece: calls.append(list(piece)) or list(piece), 7, together=3)
    assert calls == [[0, 1, 2], [3, 4, 5], [6]]


def test_draws_differ_from_one_another_and_from_those_of_other_seeds():
    numbers = [draw_generator(seed, i).integers(2**62) for seed in range(3) for i in range(50)]
    assert len(set(numbers)) == 150


def test_seeds():
    assert seed_of(None) == seed_of(0) != seed_of(1)
    rng = np.random.default_rng(3)
    assert seed_of(rng) != seed_of(rng)  # a generator goes on
    with pytest.raises(OptionError, match=r"rng='a' was given"):
        seed_of("a")


@pytest.mark.parametrize("bad", [0, -2, 1.5, "2", True, None, 257])
def test_numbers_of_processes_that_there_are_not(bad):
    with pytest.raises(OptionError, match="from 1 to 256, or -1"):
        workers(bad)


def test_all_processors():
    assert 1 <= workers(-1) <= (os.cpu_count() or 1)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_a_draw_raises_is_raised(n_jobs):
    with pytest.raises(ZeroDivisionError):
        run_jobs(functools.partial(divmod, 1), 4, n_jobs=n_jobs)


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


def test_an_interruption_before_the_first_draw_is_one():
    with pytest.raises(KeyboardInterrupt):
        run_jobs(interrupted_at(0), 10)


@pytest.mark.slow
def test_progress_hears_of_every_draw():
    steps = []
    with listening(steps.append):
        run_jobs(normal, 5, n_jobs=2, what="some draws")
    assert steps[-1] == sp.progress.Step("some draws", 5, 5, "draws", ended=True)


@pytest.mark.parametrize("n_jobs", [1, 2])
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
        "from spcastat.assess.draws import run_jobs\n"
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


def test_a_process_that_dies_is_an_error_that_says_what_to_do():
    with pytest.raises(RuntimeError, match=r"ended early; use n_jobs=1"):
        run_jobs(os._exit, 4, n_jobs=2)
