"""Of a Parquet file only the columns that a command looks at are read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from spcastat import cli
from spcastat.streams import whole

pytest.importorskip("pyarrow")


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 6)), columns=[*"abcdef"])
    X["a"] += X["b"]
    X["w"], X["who"], X["text"] = rng.integers(1, 3, 60), [f"r{i}" for i in range(60)], "words"
    X.to_parquet(tmp_path / "rows.parquet")
    return str(tmp_path / "rows.parquet")


@pytest.fixture
def read(monkeypatch):
    """The columns that pyarrow was asked for."""
    from pyarrow import parquet

    told = []
    in_batches, whole = parquet.ParquetFile.iter_batches, pd.read_parquet

    def batches(self, *given, columns=None, **further):
        told.append(columns)
        return in_batches(self, *given, columns=columns, **further)

    def table(path, columns=None, **further):
        told.append(columns)
        return whole(path, columns=columns, **further)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", batches)
    monkeypatch.setattr(pd, "read_parquet", table)
    return told


CASES = [
    (["--columns", "c,a,b"], ["a", "b", "c"]),
    (["--columns", "c,a,b", "--weights", "w"], ["a", "b", "c", "w"]),
    (["--columns", "c,a,b", "--index-col", "who"], ["a", "b", "c", "who"]),
    (["--formula", "~ a + log(b**2 + 1) + d"], ["a", "b", "d"]),
    (["--formula", "~ a + b + f", "--weights", "w"], ["a", "b", "f", "w"]),
]


@pytest.mark.parametrize(("arguments", "wanted"), CASES)
@pytest.mark.parametrize("large", [False, True])
def test_only_what_a_command_looks_at_is_read(path, read, capsys, monkeypatch, arguments, wanted, large):
    if large:
        monkeypatch.setattr(whole, "LARGEST_PARQUET", 0)
    assert cli.main(["fit", path, "--k", "1", "--card", "2", "--method", "bcd-l0", *arguments]) == 0
    assert read
    assert all(one == wanted for one in read)
    found = capsys.readouterr().out
    read.clear()
    monkeypatch.setattr("spcastat.cli.input_tables.needed_columns", lambda args, available: None)
    assert cli.main(["fit", path, "--k", "1", "--card", "2", "--method", "bcd-l0", *arguments]) == 0
    assert capsys.readouterr().out == found  # and nothing depends on the others


def test_a_column_that_is_not_there_is_told_with_all_that_are(path, capsys):
    assert cli.main(["fit", path, "--k", "1", "--card", "2", "--columns", "a,bb"]) != 0
    said = capsys.readouterr().err
    assert "there is no column 'bb'" in said
    assert "'who' and 1 more" in said


def test_groups_of_a_figure_are_read_too(path, read, tmp_path, capsys):
    made = tmp_path / "biplot.png"
    arguments = ["--k", "2", "--card", "2", "--columns", "a,b,c", "--groups", "w", "--out", str(made)]
    assert cli.main(["plot", "biplot", path, *arguments]) == 0, capsys.readouterr().err
    assert read == [["a", "b", "c", "w"]]
