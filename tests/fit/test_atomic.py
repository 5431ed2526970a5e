"""Writing files: many writers of one file, and the labels that files can hold."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import DataWarning, FileError
from spcastat.fit.archive import write_file
from spcastat.fit.saved_values import has_type, pack_index, unpack_index
from spcastat.solvers.solver import Searched

# --- Many writers of one file: the file is always whole, and nobody is in another's way -----------


def test_eight_threads_save_to_one_path(fit, tmp_path):
    path = tmp_path / "fit.spca"
    together = threading.Barrier(8)

    def save(number: int) -> None:
        together.wait()
        for _ in range(5):
            fit.save(path, scores=number % 2 == 0)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(save, number) for number in range(8)]:
            done.result()
    assert str(sp.load(path)) == str(fit)
    assert [one.name for one in tmp_path.iterdir()] == ["fit.spca"]


def test_two_processes_save_to_one_path(fit, tmp_path):
    """While they write, and in the end, the file is whole: the fit of one of them."""
    for name in ("one", "two"):
        fit.rename({"PC1": name}).save(tmp_path / name, scores=False)
    code = "import sys, spcastat as sp; fit = sp.load(sys.argv[1])\nfor _ in range(8): fit.save('both')"
    run = [sys.executable, "-c", code]
    writers = [subprocess.Popen([*run, name], cwd=tmp_path) for name in ("one", "two")]
    whole = {str(sp.load(tmp_path / name)) for name in ("one", "two")}
    seen = set()
    while any(writer.poll() is None for writer in writers):
        if (tmp_path / "both").exists():
            seen.add(str(sp.load(tmp_path / "both")))
        time.sleep(0.02)
    seen.add(str(sp.load(tmp_path / "both")))
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen <= whole
    assert sorted(os.listdir(tmp_path)) == ["both", "one", "two"]


@pytest.mark.parametrize("folder", ["missing", "file", "/proc"])
def test_folders_in_which_nothing_can_be_written(covariance_fit, tmp_path, folder):
    """/proc refuses new files to root, too; nothing is left behind, and the message says which file."""
    if folder == "/proc" and not Path("/proc/self/status").exists():
        pytest.skip("no /proc here")
    (tmp_path / "file").write_bytes(b"")
    target = tmp_path / folder / "fit"  # /proc, being absolute, stands alone
    for save, path in ((covariance_fit.save, target), (covariance_fit.report, target.with_suffix(".html"))):
        with pytest.raises(FileError, match=r"fit(\.html)? cannot be written"):
            save(path)
    assert os.listdir(tmp_path) == ["file"]


def test_a_home_that_is_no_folder(tmp_path):
    """Fits, draws in processes, plots and files need no place of their own."""
    (tmp_path / "home").write_bytes(b"")
    code = (
        "import spcastat as sp; data = sp.datasets.make_hastie(60, rng=0); fit = sp.spca(data, 2, card=4)\n"
        "fit.bootstrap(4, n_jobs=2); fit.biplot().figure.savefig('plot.png'); fit.save('fit')\n"
        "print(sp.load('fit').card.tolist())"
    )
    home = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": "", "MPLCONFIGDIR": "", "MPLBACKEND": "agg"}
    environment = {**os.environ, **home}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[4, 4]"
    assert sorted(os.listdir(tmp_path)) == ["fit", "home", "plot.png"]


def test_a_writer_that_fails_does_not_touch_the_parts_of_others(tmp_path):
    path = tmp_path / "out"
    inside, go_on = threading.Event(), threading.Event()

    def slow(file):
        file.write(b"slow")
        inside.set()
        assert go_on.wait(10)

    def broken(file):
        raise OSError(28, "No space left on device")

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(write_file, path, slow)
        assert inside.wait(10)
        with pytest.raises(FileError, match="No space left"):
            write_file(path, broken)
        write_file(path, lambda file: file.write(b"quick") and None)
        assert path.read_bytes() == b"quick"
        go_on.set()
        first.result()
    assert path.read_bytes() == b"slow"
    assert os.listdir(tmp_path) == ["out"]


def test_parts_left_behind_block_nobody(fit, tmp_path):
    path = tmp_path / "fit.spca"
    for name in (f".fit.spca.{os.getpid()}.part", ".fit.spca.part", ".fit.spca.0000000000000000.part"):
        (tmp_path / name).write_bytes(b"left by a process that was killed")
    fit.save(path)
    assert str(sp.load(path)) == str(fit)


@pytest.mark.parametrize("name", ["f" * 250, "ß" * 120, "fit"])
def test_long_names(name, tmp_path):
    write_file(tmp_path / name, lambda file: file.write(b"x") and None)
    assert os.listdir(tmp_path) == [name]


def test_links_permissions_and_the_mask_stay(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_file(link, lambda file: file.write(b"new") and None)
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    (tmp_path / "plain").write_bytes(b"")
    write_file(tmp_path / "fresh", lambda file: None)
    assert (tmp_path / "fresh").stat().st_mode == (tmp_path / "plain").stat().st_mode


# --- Labels in files: which come back as they were, and which become text -------------------------

SAME = [
    pd.RangeIndex(2, 9, 3, name="rows"),
    pd.Index([1, 2], dtype="int8"),
    pd.Index([1.5, np.nan, np.inf]),
    pd.Index([True, False]),
    pd.Index(["a", "ß", "\ud800"[:0], "name with \n"], name=("a tuple", 1)),
    pd.Index([("a", 1), "b", 3, None, True, 2.5], dtype=object, tupleize_cols=False),
    pd.Index([1, 2.5], dtype=object),
    pd.Index([], dtype=object),
    pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["x", None]),
    pd.MultiIndex.from_product([pd.date_range("2020", periods=2), ["u", "v"]]),
    pd.DatetimeIndex(["2020-01-05", "2020-01-01", pd.NaT]),
    pd.TimedeltaIndex(["1h", "2h"]),
]
TEXT = [
    (pd.date_range("2020-03-28", periods=2, tz="Europe/Berlin"), "2020-03-28 00:00:00+01:00"),
    (pd.period_range("2020-01", periods=3, freq="M"), "2020-01"),
    (pd.interval_range(0.0, 3.0), "(0.0, 1.0]"),
    (pd.Index([frozenset([1]), "a"], dtype=object), "frozenset({1})"),
]


def back(index: pd.Index) -> pd.Index:
    arrays: dict[str, np.ndarray] = {}
    text = json.dumps(pack_index(index, "rows", arrays, "labels of rows"))
    return unpack_index(json.loads(text), arrays, len(index))


@pytest.mark.parametrize("index", SAME, ids=lambda index: f"{type(index).__name__}-{index.dtype}")
def test_indexes_come_back(index):
    found = back(index)
    assert list(found.names) == list(index.names)
    pd.testing.assert_index_equal(found, index, exact=True)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([1, 2, None], dtype="Int64"),
        pd.Index(["a", None], dtype="string"),
        pd.CategoricalIndex(["a", "b", "a"], ordered=True, categories=["b", "a", "c"], name="c"),
    ],
    ids=lambda index: str(index.dtype),
)
def test_labels_of_other_dtypes_come_back(index):
    found = back(index)
    assert found.isna().tolist() == index.isna().tolist()
    assert found.dropna().tolist() == index.dropna().tolist()
    assert found.names == index.names


@pytest.mark.parametrize(("index", "first"), TEXT, ids=lambda one: str(getattr(one, "dtype", "")))
def test_other_labels_become_text(index, first):
    with pytest.warns(DataWarning, match=r"The file holds labels of rows of type \w+ as text"):
        found = back(index)
    assert found[0] == first
    assert len(found) == len(index)


class Pair(TypedDict):
    a: int
    b: list[float] | None


@pytest.mark.parametrize(
    ("value", "kind", "right"),
    [
        (3, int, True),
        (True, int, False),
        (2**70, int, False),
        (3, float, True),
        (float("nan"), float, False),
        ("a", str, True),
        ("\ud800", str, False),
        (None, str | None, True),
        ([1, "a"], tuple[int, str], True),
        ([1], tuple[int, str], False),
        ({"a": 1, "b": [2.0]}, Pair, True),
        ({"a": 1, "b": None, "more": {}}, Pair, True),
        ({"a": 1}, Pair, False),
        ({"a": 1, "b": ["x"]}, Pair, False),
        ({"x": [1]}, dict[str, list[int]], True),
        ([float("inf"), [None, "x"]], Any, True),
        ([object()], Any, False),
        (3, list[int], False),
        ({"starts": 1}, Searched, False),
    ],
)
def test_types_of_values(value, kind, right):
    assert has_type(value, kind) is right
