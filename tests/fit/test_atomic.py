"""Many writers of one file: the file is always whole, and nobody is in another's way."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import spcastat as sp
from spcastat.errors import FileError
from spcastat.fit.archive import write_file


def test_eight_threads_save_to_one_path(fit, tmp_path):
    path = tmp_path / "fit.spca"
    together = threading.Barrier(8)

    def save(number: int) -> None:
        together.wait()
        for _ in range(15):
            fit.save(path, scores=number % 2 == 0)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(save, number) for number in range(8)]:
            done.result()
    assert str(sp.load(path)) == str(fit)
    assert [one.name for one in tmp_path.iterdir()] == ["fit.spca"]


def test_two_processes_save_to_one_path(fit, tmp_path):
    """While they write, and in the end, the file is whole: the fit of one of them."""
    for name in ("one", "two"):
        fit.rename({"PC1": name}).save(tmp_path / name)
    code = "import sys, spcastat as sp; fit = sp.load(sys.argv[1])\nfor _ in range(20): fit.save('both')"
    run = [sys.executable, "-c", code]
    writers = [subprocess.Popen([*run, name], cwd=tmp_path) for name in ("one", "two")]
    whole = {str(sp.load(tmp_path / name)) for name in ("one", "two")}
    seen = set()
    while any(writer.poll() is None for writer in writers):
        if (tmp_path / "both").exists():
            seen.add(str(sp.load(tmp_path / "both")))
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
