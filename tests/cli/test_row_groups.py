"""Clusters, strata, blocks and sampling weights on the command line give what the functions give."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat import cli


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    X[:, :3] += 1.5 * rng.normal(size=(120, 1))
    groups = np.repeat(np.arange(24), 5)
    frame = pd.DataFrame(X, columns=[*"abcdef"])
    frame = frame.assign(
        school=[f"s{one}" for one in groups], region=groups // 8, w=rng.uniform(0.5, 2.0, 120)
    )
    frame.to_csv(tmp_path / "pupils.csv", index=False)
    return tmp_path / "pupils.csv", frame


def test_columns_that_group_rows_are_not_fitted(table, capsys):
    path, frame = table
    options = ["--clusters", "school", "--strata", "region", "--weights", "w", "--weights-are", "sampling"]
    assert cli.main(["fit", str(path), "--k", "1", "--card", "3", *options, "--bootstrap", "9"]) == 0
    said = capsys.readouterr().out
    given = {"clusters": "school", "strata": "region", "weights": "w", "weights_are": "sampling"}
    fit = sp.spca(frame, 1, 3, **given)
    assert str(fit.bootstrap(9)) in said
    assert "24 clusters of 5 rows in 3 strata, with sampling weights" in said


def test_a_choice_among_named_columns_and_blocks(table, capsys):
    path, frame = table
    columns = ["--columns", "a,b,c,d,e"]
    assert cli.main(["choose", str(path), "--k", "1", *columns, "--clusters", "school"]) == 0
    assert str(sp.choose(frame[[*"abcde", "school"]], 1, clusters="school")) in capsys.readouterr().out
    assert cli.main(["fit", str(path), "--k", "1", "--card", "2", *columns, "--block-length", "7"]) == 0
    assert "blocks of 7 rows in their order" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--block-length", "long"], "a number of rows, or auto"),
        (["--clusters", "class"], "there is no column 'class'"),
        (["--clusters", "school", "--drop", "school"], "give it once"),
        (["--block-length", "5", "--clusters", "school"], "Give one of them"),
    ],
)
def test_refusals(table, capsys, options, words):
    try:
        code = cli.main(["fit", str(table[0]), "--k", "1", "--card", "2", *options])
    except SystemExit as ended:  # argparse
        code = ended.code
    assert code != 0
    assert words in capsys.readouterr().err
