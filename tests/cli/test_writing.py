"""What the command writes, how every call of it ends, and what an interruption leaves behind."""

from __future__ import annotations

import io
import os
import re
import shlex
import signal
import subprocess
import sys

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from spcastat import cli, datasets
from spcastat.api import spca
from spcastat.cli.output_files import csv_text

from .calls import CALLS, TEXTS, make_files, run_call

COMMAND = [sys.executable, "-m", "spcastat"]
#: The same for a shell, whatever the interpreter's path contains.
SHELL_COMMAND = shlex.join(COMMAND)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "evil.csv"
    path.write_text(TEXTS["evil.csv"], encoding="utf-8")
    spca(pd.read_csv(path, index_col=0), 2, 2).save(tmp_path / "fit.spca")
    return path


def error(capsys, *argv, code=1):
    """Run the command, which must fail, and return its one line of error."""
    assert cli.main([str(arg) for arg in argv]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("spcastat: error: ")
    assert err.count("\n") == 1
    return err


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=4))
@example(["\r=", "\r", "a\rb"])
def test_nothing_in_a_cell_of_written_text_ends_its_row(words):
    text = csv_text(pd.DataFrame({"x": words, "y": -1.5}, index=words), labelled=True)
    cells = pd.read_csv(io.StringIO(text), header=None, dtype=str, keep_default_na=False, na_filter=False)
    assert cells.shape == (len(words) + 1, 3)


# --- whole files --------------------------------------------------------------------------------


def test_a_picture_that_cannot_be_drawn_leaves_the_one_that_was_there(table, tmp_path, capsys, monkeypatch):
    picture = tmp_path / "scree.png"
    picture.write_bytes(b"what was there")

    def half(self, file, **how):
        file.write(b"\x89PNG")
        raise ValueError("no more")

    monkeypatch.setattr(Figure, "savefig", half)
    arguments = ["plot", "screeplot", table, "--index-col", "id", "--k", 1, "--card", 2, "--out", picture]
    assert "scree.png cannot be drawn: no more" in error(capsys, *arguments)
    assert picture.read_bytes() == b"what was there"
    assert not list(tmp_path.glob(".*"))


# --- standard streams ---------------------------------------------------------------------------


def run(line, **how):
    """Run a line of a shell in which `spcastat` is the command."""
    definition = f'spcastat() {{ {SHELL_COMMAND} "$@"; }}\n'
    return subprocess.run(["sh", "-c", definition + line], capture_output=True, text=True, **how)


@pytest.mark.sweep
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full device")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", ["fit pitprops --k 1 --card 2", "--help"])
def test_a_full_disk_is_reported_in_one_line(arguments, unbuffered):
    """Also where output has no buffer, so that printing the help raises the error (Python before 3.11.7)."""
    done = run(f"spcastat {arguments} > /dev/full", env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
    expected = "spcastat: error: standard output cannot be written: No space left on device.\n"
    assert (done.returncode, done.stderr) == (1, expected)


@pytest.mark.slow
def test_closed_streams_are_reported(table):
    done = run("spcastat fit pitprops --k 1 >&-")
    assert done.returncode == 1
    assert done.stderr.startswith("spcastat: error: standard output is closed")
    assert done.stderr.count("\n") == 1
    done = run("spcastat fit - --k 1 <&-")
    assert done.returncode == 1
    assert done.stderr.startswith("spcastat: error: standard input is closed")
    done = run("spcastat fit nowhere.csv --k 1 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_head_ends_a_long_output_in_silence(table, tmp_path):
    pd.concat([pd.read_csv(table, index_col=0)] * 200).to_csv(tmp_path / "long.csv", index=False)
    done = run("(spcastat transform fit.spca long.csv; echo code $? >&2) | head -1", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("PC1,PC2\n", "code 1\n")


def test_what_the_shell_redirects_counts_as_a_file(table, tmp_path):
    before = table.read_bytes()
    done = run("spcastat fit - --index-col id --k 1 --save evil.csv < evil.csv", cwd=tmp_path)
    assert done.returncode == 1
    assert "would be lost" in done.stderr
    assert table.read_bytes() == before


@pytest.mark.slow
def test_output_in_an_encoding_without_the_characters(table, tmp_path):
    how = {"cwd": tmp_path, "env": {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}}
    arguments = ["transform", "fit.spca", "evil.csv", "--index-col", "id"]
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, **how)
    assert done.returncode == 1
    assert (
        "standard output is ascii, which cannot encode '\\u03a9'; use --out FILE, which writes UTF-8"
        in done.stderr
    )
    done = subprocess.run([*COMMAND, *arguments, "--out", "Ω.csv"], capture_output=True, text=True, **how)
    assert (done.returncode, done.stderr) == (0, "")
    assert "12 rows written to" in done.stdout


def test_ctrl_c_ends_with_code_130(table, capsys, monkeypatch, request):
    monkeypatch.setattr("spcastat.api.spca", lambda data, **given: signal.raise_signal(signal.SIGINT))
    # a process in the background may have been started with the signal switched off
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    assert "interrupted" in error(capsys, "fit", table, "--index-col", "id", "--k", 1, code=130)


def test_too_little_memory_is_reported_in_one_line(table, capsys, monkeypatch):
    def out(*args, **given):
        raise MemoryError("Unable to allocate 7.28 TiB")

    monkeypatch.setattr("spcastat.api.spca", out)
    told = error(capsys, "fit", table, "--index-col", "id", "--k", 1)
    assert "not enough memory (Unable to allocate" in told


# --- Every call of the table ends as it must ------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("calls")
    make_files(path)
    return path


def _name(call):
    return call.line[:70] + (f" < {call.stdin}" if call.stdin else "")


@pytest.mark.sweep
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
