"""Messages of the command are in its own words, and new rows are read as the fit was."""

from __future__ import annotations

import io
import re
import shlex

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat import cli
from spcastat.cli.output_files import require_encodable
from tests.cli.calls import OPTIONS, make_files

#: Arguments and calls of Python, except NAME=VALUE after the options that take it.
PYTHON = re.compile(
    r"(?<![\w'-])(?<!--option )(?<!--set )(?<!--include )(?<!--together )[A-Za-z_]\w*=(?!=)"
    r"|\bsp\.|\bfit\.[a-z_]+\b(?!-)|\bdf\b|\bpd\.|\bnp\.|\b[a-z_]\w*\(\)|\b(?:spca|choose|spca_cov|choose_k)\("
)

#: Calls that are refused, or warn.
BAD = """
fit q.csv --k 2 --card 99
fit q.csv --k 2 --card 2,3,4
fit q.csv --k 2 --variance 2
fit q.csv --k 2 --card 3 --effort slow
fit q.csv --k 2 --objective pev
fit q.csv --k 2 --card 3 --method greed
fit q.csv --k 2 --card 3 --nonneg --method greedy
fit q.csv --k 2 --card 3 --promise every
fit q.csv --k 2 --include length
fit q.csv --k 2 --card 8 --disjoint
fit q.csv --k 2 --card 3 --disjoint --method greedy
fit q.csv --k 2 --card 3 --together size=zz
fit q.csv --k 2 --card 3 --together terms
fit q.csv --k 2 --card 3 --n-init 3
fit q.csv --k 2 --card 3 --max-iter 0
fit q.csv --k 2 --card 3 --rng -1
fit q.csv --k 2 --card 3 --k-em 2
fit q.csv --k 2 --card 3 --na em --k-em 99
fit q.csv --k 2 --card 3 --weights zz
fit q.csv --k 2 --card 3 --weights-are sampling
fit q.csv --k 2 --card 3 --block-length 1
fit q.csv --k 2 --card 3 --block-length 99
fit q.csv --k 2 --card 3 --formula ~zz
fit q.csv --k 2 --card 3 --partial zz
fit q.csv --k 2 --card 3 --blocks a=length
fit q.csv --k 2 --card 3 --option alpha=1
fit q.csv --k 2 --card 3 --option threshold=.9
fit q.csv --k 2 --dummy
fit q.csv --k 2 --card 3 --option seed=1
fit q.csv --k 2 --card 3 --option lasso=1
fit q.csv --k 2 --option penalty=1
fit q.csv --k 2 --option t=.5
fit q.csv --k 2 --method rotate --option threshold=.99
fit q.csv --k 2 --card 3 --bootstrap 1
fit q.csv --k 2 --card 3 --stability 0
fit q.csv --k 2 --card 3 --bootstrap 19 --jobs 0
fit q.csv --k 2 --card 3 --covariance
fit q.csv --k 2 --card 3 --n-obs 3
fit q.csv --k 2 --card 3 --nearest
fit q.csv --k 2 --card 3 --loadings --effort quick
fit q.csv --k 2 --card 3 --method zz
fit q.csv --k 2 --card 3 --option order=zz
fit q.csv --k 2 --card 3 --option start=zz
fit q.csv --k 2 --card 3 --method greedy --option deflation=zz
fit q.csv --k 2 --card 3 --digits 99
fit q.csv --k 2 --card 3 --method pca
fit q.csv --k 2 --method pca --nonneg
fit q.csv --k 2 --card 2 --exclude length --include PC9=moist
fit q.csv --k 2 --card 13 --exclude length
fit q.csv --k 2 --card 3 --no-center --scale
fit q.csv --k 2 --card 3 --block-length auto --clusters length
fit p.csv --k 2 --card 3
fit p.csv --k 2 --card 3 --drop kind
fit p.csv --k 2 --card 3 --drop kind,hole
fit p.csv --k 2 --card 3 --mixed
fit p.csv --k 2 --card 3 --weights negative
fit p.csv --k 2 --card 3 --weights hole
fit p.csv --k 2 --card 3 --weights kind
fit p.csv --k 2 --card 3 --drop kind,hole --scale
fit indefinite.csv --k 2 --card 2
fit indefinite.csv --k 2 --card 2 --covariance
fit lopsided.csv --k 2 --card 2
fit lopsided.csv --k 2 --card 2 --covariance
fit units.csv --k 2 --card 2 --method greedy
fit R.csv --covariance --k 2 --card 2 --stability
fit R.csv --covariance --k 2 --card 2 --method spcagrid
fit R.csv --covariance --k 2 --card 2 --n-obs 1
fit R.csv --covariance --k 2 --card 2 --partial zz
choose noise.csv
choose q.csv --k 99
choose q.csv --k 2 --by zz
choose q.csv --k 2 --rule zz
choose q.csv --k 2 --family zz
choose q.csv --k 2 --folds 1
choose q.csv --k 2 --folds 99
choose q.csv --k 2 --repeats 0
choose q.csv --k 2 --share 2
choose q.csv --k 2 --n-jobs 0
choose q.csv --k 2 --cards 99
choose q.csv --k 2 --method pca
choose R.csv --covariance
choose R.csv --covariance --by cv
choose q.csv --k 2 --option card=3
choose q.csv --k 2 --option penalty=3
choose q.csv --k 2 --option seed=3
choose q.csv --k 2 --option cv=3
choose q.csv --option kmax=99
choose q.csv --option alpha=2
choose q.csv --option n_draws=1
choose q.csv --block-length 30 --k 2
transform s.spca noise.csv
transform s.spca q.csv --na em
plot biplot s.spca --out a.png --set color=zz
plot biplot s.spca --out a.png --set groups=3
plot biplot s.spca --out a.png --set scale=zz
plot biplot s.spca --out a.png --set arrows=zz
plot biplot s.spca --out a.png --set max_arrows=-1
plot biplot s.spca --out a.png --components 1
plot biplot s.spca --out a.png --components 1,9
plot biplot s.spca --out a.png --set level=2
plot zz s.spca --out a.png
plot biplot R.csv --covariance --k 2 --card 2 --out a.png
fit cells.csv --k 2 --card 4 --robust
fit groups.csv --k 2 --card 4 --robust
fit far.csv --k 2 --card 4 --robust
plot plot_loadings s.spca --out a.png --set kind=zz
plot plot_loadings s.spca --out a.png --set conf_int=true
plot biplot q.csv --k 1 --card 2 --out a.png
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wording")
    make_files(folder)
    rows = sp.datasets.pitprops_sample(40)
    rows.to_csv(folder / "q.csv", index=False)
    more = {"kind": list("abcd") * 10, "negative": -1.0, "hole": rows["length"].where(rows.index > 3)}
    rows.assign(**more, constant=1.0).to_csv(folder / "p.csv", index=False)
    rows.assign(length=1e6 * rows["length"]).to_csv(folder / "units.csv", index=False)
    names = list("abcd")
    R = np.array([[1, 0.99, 0.36, 0.99], [0.99, 1, 0.34, 0.99], [0.36, 0.34, 1, 0.2], [0.99, 0.99, 0.2, 1]])
    pd.DataFrame(R, names, names).to_csv(folder / "indefinite.csv")
    pd.DataFrame(R + np.eye(4, k=1), names, names).to_csv(folder / "lopsided.csv")
    noise = np.random.default_rng(0).normal(size=(30, 5))
    pd.DataFrame(noise, columns=list("abcde")).to_csv(folder / "noise.csv", index=False)
    values = np.random.default_rng(20).normal(size=(100, 8))
    values[:, :4] += 2 * values[:, [0]]
    values[:, 4:] += 2 * values[:, [4]]
    named = [f"part {number}" for number in range(8)]
    cells = values + 12
    cells[:20, :3], cells[20:45, 3:5] = 0.0, 30.0  # many outlying cells
    pd.DataFrame(cells, columns=named).to_csv(folder / "cells.csv", index=False)
    scattered = values * np.where(np.arange(100) < 35, 0.05, 5)[:, None]  # none of the far rows is left out
    pd.DataFrame(scattered, columns=named).to_csv(folder / "groups.csv", index=False)
    cluster = values + 8 * (np.arange(100) < 30)[:, None] * np.tile([1, -1], 4)  # 30 rows are left out
    pd.DataFrame(cluster, columns=named).to_csv(folder / "far.csv", index=False)
    sp.spca(rows, 2, 3).save(folder / "s.spca")
    return folder


def told(capsys, line: str) -> str:
    """What a call writes to standard error."""
    capsys.readouterr()
    cli.main(shlex.split(line))
    return capsys.readouterr().err


def test_no_message_names_python(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    refused = [call.line for call in OPTIONS if call.code == 1 and call.stdin is None]
    messages = 0
    for line in [*BAD.strip().splitlines(), *refused]:
        for message in told(capsys, line).splitlines():
            messages += 1
            assert not PYTHON.search(message), f"{line}: {message}"
    assert messages > BAD.count("\n")  # every bad call is answered


def test_what_is_printed_names_no_attribute_of_a_fit(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    lines = ("choose q.csv --scale --k 2", "choose cells.csv --k 2 --robust", "fit far.csv --k 2 --robust")
    for line in lines:
        assert cli.main(shlex.split(line)) == 0
        printed = capsys.readouterr().out
        assert re.search(r"^Sparse PCA|Robust", printed, re.MULTILINE)
        assert not re.search(r"\bfit\.[a-z]", printed), line


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("use na='em' or na=\"drop\"", "use --na em or --na drop"),
        ("give card=[4, 3], card=5 or card=", "give --card 4,3, --card 5 or --card"),
        ("scale=True, scale='mixed', center=False", "--scale, --mixed, --no-center"),
        ("use the nearest one: nearest=True.", "use the nearest one: --nearest."),
        ("give n_obs=, the rows, or use by='is'", "give --n-obs, the rows, or use --by is"),
        ("threshold=0.99 leaves nothing", "--option threshold=0.99 leaves nothing"),
        ("palette='zz' is no colour map", "--set palette=zz is no colour map"),
        ("choose(data, k=3) chooses", "spcastat choose DATA --k 3 chooses"),
        ("stability() needs rows", "--stability needs rows"),
        ("a feature's name, 'k=1.csv', PCA's rank", "a feature's name, 'k=1.csv', PCA's rank"),
        ("--option c=... was given; --set a=b", "--option c=... was given; --set a=b"),
        ('include={"PC1": ["age"]}', "--include PC1=NAME"),
        (
            "with codes=True, or sp.correlation(df, codes=True) gives their polychoric correlations for "
            "spca_cov; text",
            "with --codes; text",
        ),
        ("cut numbers into classes with pandas.cut, or", "cut numbers into classes, or"),
        ("k=2 of 3 components (n=3 rows)", "--k 2 of 3 components (--option n=3 rows)"),
    ],
)
def test_words_of_the_command(python, command):
    assert cli.in_words(python) == command


def test_an_indefinite_matrix_is_replaced_by_the_nearest(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    for more in ("", "--loadings"):
        call = f"fit indefinite.csv --covariance --k 2 --card 2 {more}"
        assert "--nearest" in told(capsys, call)
        assert cli.main(shlex.split(f"{call} --nearest --format json")) == 0
    R = pd.read_csv("indefinite.csv", index_col=0)
    capsys.readouterr()
    assert (
        cli.main(shlex.split("fit indefinite.csv --covariance --k 2 --card 2 --nearest --save n.spca")) == 0
    )
    fit = sp.spca_cov(R, 2, 2, nearest=True)
    pd.testing.assert_frame_equal(sp.load("n.spca").loadings, fit.loadings)
    assert cli.main(shlex.split("choose indefinite.csv --covariance --k 2 --nearest --n-obs 99")) == 0
    assert "--nearest is for a covariance matrix; give --covariance" in told(
        capsys, "fit q.csv --k 2 --card 2 --nearest"
    )


@pytest.mark.parametrize(
    "command", ["fit table.csv --card 3", "choose table.csv --cards 3-4", "keep table.csv --m 3"]
)
def test_new_rows_are_read_as_the_rows_of_the_fit(tmp_path, capsys, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    rows = sp.datasets.pitprops_sample(40)
    rows.insert(0, "tree", [f"t{i:02d}" for i in range(40)])
    how = {"index": False, "sep": ";", "decimal": ","}
    rows.to_csv("table.csv", **how)
    rows.tail(5).to_csv("new.csv", **how)
    rows.tail(5).drop(columns="tree").to_csv("bare.csv", **how)
    reading = "--index-col tree --sep semicolon --decimal ,"
    assert cli.main(shlex.split(f"{command} --k 2 {reading} --save fit.spca")) == 0
    capsys.readouterr()
    assert cli.main(["transform", "fit.spca", "new.csv", "--out", "scores.csv"]) == 0
    scores = pd.read_csv("scores.csv", index_col=0)
    assert list(scores.index) == ["t35", "t36", "t37", "t38", "t39"]
    assert scores.index.name == "tree"
    expected = sp.load("fit.spca").transform(rows.tail(5).set_index("tree"))
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    assert cli.main(["transform", "fit.spca", "bare.csv", "--out", "bare-scores.csv"]) == 0
    np.testing.assert_array_equal(pd.read_csv("bare-scores.csv"), scores)  # without labels
    rows.tail(5).to_csv("commas.csv", index=False)
    assert (
        cli.main(["transform", "fit.spca", "commas.csv"]) == 1
    )  # an option that is given replaces the fit's
    assert cli.main(["transform", "fit.spca", "commas.csv", "--sep", ",", "--decimal", "."]) == 0
    rows.tail(5).to_parquet("new.parquet", index=False)
    assert cli.main(["transform", "fit.spca", "new.parquet", "--out", "parquet.csv"]) == 0
    np.testing.assert_array_equal(pd.read_csv("parquet.csv", index_col=0), scores)


def test_variables_of_the_environment_stay_as_they_are():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
        with pytest.raises(sp.errors.FileError) as raised:
            require_encodable("größe")
    message = str(raised.value)
    assert message.endswith("or set the environment variable PYTHONUTF8 to 1.")
    assert cli.in_words(message) == message
