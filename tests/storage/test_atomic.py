"""Many writers of one file: the file is always whole, and nobody is in another's way."""

from __future__ import annotations

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import spcastat as sp
from spcastat.errors import FileError
from spcastat.storage.atomic import write_file


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
