"""Sparse loadings and comparisons of groups on the command line give what the functions give."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat import cli


@pytest.fixture
def table(tmp_path):
    """Two groups of sixty rows in clusters of five; the last variable changes its component in the second."""
    rng = np.random.default_rng(0)
    T, X = rng.normal(size=(120, 1)), rng.normal(size=(120, 6))
    X[:, :3] += 1.5 * T
    X[60:, 5:] += 3.0 * T[60:]
    frame = pd.DataFrame(X, columns=[*"abcdef"])
    frame["school"], frame["country"] = np.repeat(np.arange(24), 5), np.repeat(["x", "y"], 60)
    frame.to_csv(tmp_path / "pupils.csv", index=False)
    return tmp_path / "pupils.csv", frame


def ran(capsys, *argv) -> str:
    """Run the command, which must succeed without a word on standard error, and return what it prints."""
    assert cli.main([str(arg) for arg in argv]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def refused(capsys, *argv) -> str:
    """Run the command, which must fail with one line, and return this line."""
    assert cli.main([str(arg) for arg in argv]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


# --- sparse loadings ----------------------------------------------------------------------------


def test_a_fit_of_sparse_loadings_is_printed_saved_and_shown(table, tmp_path, capsys):
    path, frame = table
    options = ["--loadings", "--k", 2, "--card", "3,2", "--scale", "--clusters", "school"]
    options += ["--drop", "country"]
    files = ["--save", tmp_path / "fit.spca", "--report", tmp_path / "fit.html"]
    said = ran(capsys, "fit", path, *options, "--bootstrap", 5, *files, "--describe")
    fit = sp.sparse_loadings(frame.drop(columns="country"), 2, [3, 2], scale=True, clusters="school")
    boot = fit.bootstrap(5)
    assert said.startswith(f"{fit}\n\n{boot}")
    assert "Adachi, K." in said
    assert ran(capsys, "show", tmp_path / "fit.spca") == f"{fit}\n\n{boot}\n"
    assert "<h1>Sparse loadings of" in (tmp_path / "fit.html").read_text(encoding="utf-8")
    ran(capsys, "show", tmp_path / "fit.spca", "--report", tmp_path / "shown.html")
    assert "<h1>Sparse loadings in" in (tmp_path / "shown.html").read_text(encoding="utf-8")
    scores = ran(capsys, "transform", tmp_path / "fit.spca", path)
    assert np.allclose(np.loadtxt(scores.splitlines()[1:], delimiter=","), fit.scores)
    for kind in ("biplot", "plot_loadings", "bootstrap"):
        ran(capsys, "plot", kind, tmp_path / "fit.spca", "--out", tmp_path / f"{kind}.png")
        assert (tmp_path / f"{kind}.png").stat().st_size > 5000
    ran(capsys, "plot", "biplot", path, *options, "--groups", "country", "--out", tmp_path / "two.svg")


def test_a_matrix_and_formats(tmp_path, capsys):
    options = ["pitprops", "--loadings", "--k", 3, "--card", "7,4,4", "--n-obs", 180]
    found = json.loads(ran(capsys, "fit", *options, "--format", "json"))
    assert found["explained"] == pytest.approx(0.60597, abs=5e-6)  # as in tests/results
    assert sum(map(len, found["loadings"].values())) == 15
    assert found["options"]["card"] == [7, 4, 4]
    for ending in ("tex", "md", "html", "txt"):
        ran(capsys, "fit", *options, "--out", tmp_path / f"fit.{ending}", "--cut", 0.3)
        assert "ovensg" in (tmp_path / f"fit.{ending}").read_text(encoding="utf-8")
    total = ran(capsys, "fit", "pitprops", "--loadings", "--k", 2, "--option", "total=9")
    assert str(sp.sparse_loadings_cov(sp.datasets.load_pitprops(), 2, total=9, n_obs=180)) in total


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--disjoint"], "--disjoint: for sparse weights"),
        (["--stability", "9"], "--stability: for sparse weights"),
        (["--objective", "pev", "--effort", "quick"], "--objective, --effort: for sparse weights"),
        (["--method", "greedy"], "--method: for sparse weights"),
        (["--tol", "0.1"], "--tol: for sparse weights"),
        (["--include", "a"], "--include: for sparse weights"),
        (["--option", "total=9"], "give one of card="),
    ],
)
def test_options_of_sparse_weights_are_refused(table, capsys, options, words):
    for data in (table[0], "pitprops"):
        fit = ["fit", data, "--loadings", "--k", 2, "--card", 2, *options]
        assert words in refused(capsys, *fit, *(["--columns", "a,b,c"] if data != "pitprops" else []))


def test_a_plot_of_weights_is_refused_for_loadings(capsys, tmp_path):
    plot = ["plot", "screeplot", "pitprops", "--loadings", "--k", 2, "--card", 2, "--out", tmp_path / "x.png"]
    assert "screeplot is for sparse weights" in refused(capsys, *plot)
    assert not (tmp_path / "x.png").exists()


# --- groups -------------------------------------------------------------------------------------


def test_groups_are_compared_as_in_python(table, tmp_path, capsys):
    path, frame = table
    files = ["--plot", tmp_path / "slopes.png", "--out", tmp_path / "groups.csv"]
    options = ["--by", "country", "--k", 1, "--card", 3, "--n-draws", 49, "--clusters", "school", "--rng", 3]
    said = ran(capsys, "groups", path, *options, *files)
    found = sp.compare_groups(frame, "country", 1, 3, n_draws=49, clusters="school", rng=3)
    assert said == f"{found}\n"
    assert found.p_value < 0.05
    assert (tmp_path / "slopes.png").stat().st_size > 5000
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "groups.csv"), found.table)
    formula = ran(capsys, "groups", path, "--by", "country", "--k", 1, "--card", 2, "--n-draws", 9, "--scale",
                  "--formula", "~ a + b + exp(c / 3)")  # fmt: skip
    how = {"n_draws": 9, "scale": True, "context": {"exp": np.exp}}
    assert formula == f"{sp.compare_groups('~ a + b + exp(c / 3)', 'country', 1, 2, data=frame, **how)}\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--by", "land"], "no column 'land'"),
        (["--by", "a"], "does not hold real numbers: 'country'"),
        (["--by", "school", "--clusters", "school"], "as --by and as --clusters"),
        (["--by", "country", "--n-draws", "0"], "n_draws=0"),
        (["--by", "country", "--card", "300"], "card"),
        (["--by", "country", "--plot", "slopes.doc"], "slopes.doc is not a picture"),
    ],
)
def test_refusals_of_groups(table, capsys, options, words):
    assert words in refused(capsys, "groups", table[0], "--k", 1, "--card", 2, *options)


def test_whole_numbers_in_a_column_of_floats_are_printed_as_whole_numbers():
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(41, 4)), columns=list("abcd"))
    data["site"] = [1.0, 2.0] * 20 + [np.nan]  # the missing label makes the column one of floats
    found = sp.compare_groups(data, "site", 1, 2, na="drop", n_draws=19)
    assert "Rows        1 20, 2 20" in str(found)
    assert found.table["group"].unique().tolist() == [1, 2]
    halves = sp.compare_groups(data.assign(site=data["site"] / 2), "site", 1, 2, na="drop", n_draws=19)
    assert halves.table["group"].unique().tolist() == [0.5, 1.0]
