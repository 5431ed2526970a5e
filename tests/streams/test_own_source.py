"""What a fit reads its rows from is never written over, by any way of writing and any name of the file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import OptionError

FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"))


def contents(folder):
    """The bytes of every file below a folder."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def writers(fit):
    """The ways of a fit to write a file."""
    return {
        "save": fit.save,
        "report": fit.report,
        "transform_to": fit.transform_to,
        "transform_to of others": lambda path: fit.transform_to(path, FRAME),
    }


@pytest.mark.parametrize("way", ["save", "report", "transform_to", "transform_to of others"])
@pytest.mark.parametrize("kind", ["file", "folder", "array"])
def test_the_rows_of_a_fit_are_not_written_over(tmp_path, monkeypatch, way, kind):
    folder = tmp_path / "data"
    folder.mkdir()
    if kind == "array":
        source = folder / "x.npy"
        np.save(source, FRAME.to_numpy())
        data = np.load(source, mmap_mode="r")[2:]
    else:
        pytest.importorskip("pyarrow")
        source = folder / "x.parquet"
        FRAME.to_parquet(source)
        data = folder if kind == "folder" else source
    monkeypatch.chdir(tmp_path)
    ending = ".html" if way == "report" else source.suffix  # reports have no other
    os.symlink(source, tmp_path / f"link{ending}")
    os.link(source, tmp_path / f"hard{ending}")
    os.symlink(folder, tmp_path / "linked")
    targets: list[Any] = [f"link{ending}", f"hard{ending}"]
    targets += [f"data/new{ending}", f"linked/new{ending}"] if kind == "folder" else []
    if way != "report":
        targets += [source, str(source), f"data/../data/{source.name}", f"linked/{source.name}"]
    before = contents(tmp_path)
    for target in targets:
        with pytest.raises(OptionError, match="is read from; give another"):
            writers(sp.spca(data, 1, 2, method="bcd-l0"))[way](target)
        assert contents(tmp_path) == before
    writers(sp.spca(data, 1, 2, na="raise", method="bcd-l0"))["save"](tmp_path / "fit.spca")
    assert sp.load(tmp_path / "fit.spca").card.tolist() == [2]
