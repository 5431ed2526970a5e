"""Calls of the command: how each ends, and what an interruption leaves behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest

from spcastat import datasets

from .calls import CALLS, make_files, run_call

# --- Every call of the table ends as it must ------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("calls")
    make_files(path)
    return path


def _name(call):
    return call.line[:70] + (f" < {call.stdin}" if call.stdin else "")


@pytest.mark.parametrize("call", CALLS, ids=_name)
def test_a_call_ends_as_it_must(folder, call):
    if ".parquet" in call.line:
        pytest.importorskip("pyarrow")
    if ".xlsx" in call.line:
        pytest.importorskip("openpyxl")
    assert run_call(call, folder) in ("right", "refused")


# --- An interrupted or terminated command leaves files as they were, and no process behind it -----


@pytest.fixture(autouse=True)
def _interruptible():
    """Let commands receive SIGINT: a shell ignores it in the background, which child processes inherit."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _started(folder, *options: str) -> subprocess.Popen[bytes]:
    """Start a long bootstrap, and return when some of its draws are complete."""
    datasets.make_hastie(n=60, rng=0).to_csv(folder / "x.csv", index=False)
    (folder / "t.txt").write_text("old")
    command = ["fit", "x.csv", "--k", "2", "--card", "4", "--out", "t.txt", "--progress"]
    command += ["--method", "bcd-l0"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "spcastat", *command, "--bootstrap", "99999", *options],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    seen = b""
    while not re.search(rb"[1-9]\d*/99999", seen):
        piece = os.read(process.stderr.fileno(), 4096)
        assert piece, seen
        seen += piece
    return process


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "code", "jobs"),
    [
        (signal.SIGINT, 130, ()),
        pytest.param(signal.SIGINT, 130, ("--jobs", "2"), marks=pytest.mark.slow),
        (signal.SIGTERM, 143, ("--jobs", "2")),
    ],
)
def test_an_end_before_all_draws(tmp_path, number, code, jobs):
    process = _started(tmp_path, *jobs)
    process.send_signal(number)
    # communicate() returns when every process that holds the pipes has ended
    printed, told = process.communicate(timeout=60)
    assert process.returncode == code
    assert printed == b""
    assert b"Traceback" not in told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.txt", "x.csv"]
    assert (tmp_path / "t.txt").read_text() == "old"
