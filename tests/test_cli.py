"""The command line: arguments and files, errors on one line, whole runs on real fits."""

from __future__ import annotations

import html
import io
import json
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spcastat
from spcastat import cli, datasets
from spcastat.arguments import warn
from spcastat.cli import input_tables
from spcastat.errors import CardinalityError, DataWarning
from spcastat.inputs import opening

README_COMMAND = "fit harman74 --k 4 --disjoint"


class Text(str):
    """A fit, and its summary, that are their text."""

    def summary(self, **arranged) -> Text:
        return self

    def as_text(self) -> str:
        return str(self)


@pytest.fixture
def calls(monkeypatch):
    """A stand-in for spcastat.api that records what it is called with."""
    record = []

    def recorder(name):
        def call(data, **given):
            record.append((name, data, given))
            return Text(name)

        return call

    api = types.ModuleType("spcastat.api")
    api.spca, api.spca_cov = recorder("spca"), recorder("spca_cov")
    monkeypatch.setitem(sys.modules, "spcastat.api", api)
    monkeypatch.setattr(spcastat, "api", api, raising=False)
    return record


@pytest.fixture
def table(tmp_path):
    """A CSV with labels, a column of text and three numbers."""
    path = tmp_path / "trees.csv"
    path.write_text("id,kind,a,b,c\nt1,x,1,2,3\nt2,y,4,5,7\nt3,x,2,8,1\n", encoding="utf-8")
    return path


def refused(capsys, *argv, code=1):
    """Run the command, which must fail with `code`, and return its one line of error."""
    assert cli.main([str(arg) for arg in argv]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    if code == 1:
        assert err.startswith("spcastat: error: ")
        assert err.count("\n") == 1
    return err


# --- what is passed on --------------------------------------------------------------------------


def test_every_option_of_a_fit_on_rows(calls, table):
    options = "--k 2 --card 2,1 --method greedy --nonneg --scale --no-center --na drop --n-init 5 --rng 1"
    assert cli.main(["fit", str(table), *options.split(), "--index-col", "id", "--drop", "kind"]) == 0
    _, data, given = calls[0]
    assert given == {
        "k": 2, "card": [2, 1], "method": "greedy", "nonneg": True, "scale": True, "center": False,
        "na": "drop", "n_init": 5, "rng": 1,
    }  # fmt: skip
    assert list(data.index) == ["t1", "t2", "t3"]
    assert list(data.columns) == ["a", "b", "c"]


# --- files --------------------------------------------------------------------------------------


def test_an_unknown_file_names_its_neighbours(calls, table, capsys):
    assert "Did you mean 'pitprops'?" in refused(capsys, "fit", "pitprop", "--k", 1)
    assert "Did you mean 'trees.csv'?" in refused(capsys, "fit", table.parent / "tree.csv", "--k", 1)
    assert "no file 'nowhere/at/all.csv'" in refused(capsys, "fit", "nowhere/at/all.csv", "--k", 1)
    assert "is a folder, not a file" in refused(capsys, "fit", table.parent, "--k", 1)


# --- errors, warnings, help ---------------------------------------------------------------------


def test_an_unknown_option_is_answered_in_one_line(capsys):
    errors = refused(capsys, "fit", "pitprops", "--k", "2", "--scael", code=2)
    assert errors.splitlines()[0].endswith("unrecognized arguments: --scael. Did you mean '--scale'?")


def test_errors_of_the_package_and_warnings_go_to_standard_error(calls, table, capsys, monkeypatch):
    def spca(data, **given):
        warn("look here", DataWarning)
        warn("look here", DataWarning)
        raise CardinalityError("card=9 was given")

    monkeypatch.setattr(sys.modules["spcastat.api"], "spca", spca)
    assert cli.main(["fit", str(table), "--k", "1"]) == 1
    expected = "spcastat: warning: look here\nspcastat: error: --card 9 was given\n"
    assert capsys.readouterr() == ("", expected)


# --- whole runs ---------------------------------------------------------------------------------


def test_the_command_of_the_readme():
    command = [sys.executable, "-m", "spcastat", *README_COMMAND.split()]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    printed = "Together: adjusted 39.60 %, PEV 52.53 %, PCA (dense)"  # as in README
    assert printed in done.stdout
    assert printed in (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", ["--variance 0.9", "--card 3", "--scale --card 3,2 --method greedy"])
def test_a_file_prints_what_the_function_gives(tmp_path, capsys, options):
    datasets.make_hastie(60).to_csv(tmp_path / "hastie.csv")
    command = ("fit", tmp_path / "hastie.csv", "--k", "2", *options.split())
    given = {
        "--variance 0.9": {"variance": 0.9},
        "--card 3": {"card": 3},
        "--scale --card 3,2 --method greedy": {"scale": True, "card": [3, 2], "method": "greedy"},
    }[options]
    data = pd.read_csv(tmp_path / "hastie.csv", index_col=0)
    fit = spcastat.spca(data, k=2, **given)
    assert ran(capsys, *command) == as_printed(fit)
    assert ran(capsys, *command, "--format", "text") == f"{fit.summary()}\n"


# --- formulas, options, reports -----------------------------------------------------------------


@pytest.fixture
def hastie(tmp_path):
    """Sixty rows with labels, a column of text, and a name with a space."""
    data = datasets.make_hastie(60).abs()
    data["my x"] = data["X1"] ** 0.5
    data["kind"] = list("uvw") * 20
    data.index = [f"r{i}" for i in range(60)]
    path = tmp_path / "hastie.csv"
    data.to_csv(path)
    return path


def ran(capsys, *argv) -> str:
    """Run the command, which must succeed without a word on standard error, and return what it prints."""
    assert cli.main([str(arg) for arg in argv]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def as_printed(fit) -> str:
    """Return what the command prints for a fit: it names its options instead of Python's."""
    screen = re.sub(
        r"More:\s+fit\.(?:notes\s+\(\d+\),\s+fit\.)?summary\(\)\.", "More: --format text.", str(fit)
    )
    return screen.replace("scale=True gives", "--scale gives") + "\n"


def test_a_formula_gives_what_it_gives_in_python(hastie, capsys):
    formula = "~ X1 + log(X2 + 1) + np.sqrt(X5) + sqrt(X6) + `my x` + C(kind)"
    out = ran(capsys, "fit", hastie, "--k", 2, "--card", 2, "--formula", formula, "--dummy")
    data = pd.read_csv(hastie, index_col=0)
    fit = spcastat.spca(data, 2, 2, formula=formula, categorical="dummy", context={"sqrt": np.sqrt})
    assert out == as_printed(fit)


def test_a_column_of_weights_gives_what_it_gives_in_python(hastie, tmp_path, capsys):
    data = pd.read_csv(hastie, index_col=0).drop(columns="kind")
    data["times"] = np.arange(60) % 3
    path = tmp_path / "weighted.csv"
    data.to_csv(path)
    how = ("--k", 2, "--card", 2, "--weights", "times")
    assert ran(capsys, "fit", path, *how) == as_printed(spcastat.spca(data, 2, 2, weights="times"))
    few = ran(capsys, "fit", path, *how, "--columns", "X1,X2,X5")
    assert few == as_printed(spcastat.spca(data[["X1", "X2", "X5", "times"]], 2, 2, weights="times"))
    assert "as --weights and among the columns" in refused(capsys, "fit", path, *how, "--drop", "times")
    assert "no column 'time'" in refused(capsys, "fit", path, *how[:-1], "time")
    assert "as --index-col and as --weights" in refused(capsys, "fit", path, *how, "--index-col", "times")
    assert "--weights needs the rows" in refused(capsys, "fit", "pitprops", "--k", 1, "--weights", "x")


@pytest.mark.parametrize("name", [".imp", "number"])
def test_imputations_in_one_file_are_pooled(tmp_path, capsys, name):
    rng = np.random.default_rng(0)
    frames = [datasets.load_wine().select_dtypes("number").iloc[:40, :5].copy() for _ in range(3)]
    for frame in frames:
        frame.iloc[:5, 2] = rng.normal(2.0, 0.3, 5)
    long = pd.concat([frame.assign(**{name: i, ".id": range(40)}) for i, frame in enumerate(frames, 1)])
    path = tmp_path / "long.csv"
    long.to_csv(path, index=False)
    flags = ["--imputations"] if name == ".imp" else ["--imputations", name]
    call = ["fit", str(path), "--k", "2", "--card", "2", "--scale"]
    fit = spcastat.spca(imputations=frames, k=2, card=2, scale=True)
    assert ran(capsys, *call, *flags) == as_printed(fit)
    refused(capsys, *call, "--imputations", "other", code=1)
    assert "--imputations" in refused(capsys, *call, "--imputations", "--covariance", code=1)


@pytest.mark.sweep
@pytest.mark.parametrize("packing", ["rows.csv", "rows.csv.gz", "rows.parquet"])
@pytest.mark.parametrize(
    "how",
    [
        (),
        ("--columns", "X1,X2,X5"),
        ("--drop", "kind", "--weights", "times"),
        ("--formula", "~ X1 + log(X2 + 1) + X6"),
    ],
    ids=["all", "some", "weights", "formula"],
)
def test_large_files_are_read_in_chunks(hastie, tmp_path, capsys, monkeypatch, packing, how):
    data = pd.read_csv(hastie, index_col=0).assign(times=np.arange(60) % 3)
    data = data if "--drop" in how else data.drop(columns=["kind", "times"])
    path = tmp_path / packing
    data.to_parquet(path) if packing.endswith("parquet") else data.to_csv(path)
    command = ("fit", path, "--k", 2, "--card", 2, "--method", "bcd-l0", *how)
    one = ran(capsys, *command, "--save", tmp_path / "one.spca")
    monkeypatch.setattr(opening, "LARGEST_TEXT", 0)
    monkeypatch.setattr(opening, "LARGEST_PARQUET", 0)
    monkeypatch.setattr(input_tables, "CHUNK_ROWS", 7)
    assert ran(capsys, *command, "--in-memory") == one
    in_pieces = ran(capsys, *command, "--save", tmp_path / "two.spca")
    assert f"(the function that reads {packing})" in in_pieces  # never a table of all rows
    fits = [spcastat.load(tmp_path / name) for name in ("one.spca", "two.spca")]
    # sums over 60 rows, joined in other pieces
    np.testing.assert_allclose(fits[0].loadings, fits[1].loadings, rtol=0, atol=1e-12)
    assert list(fits[0].loadings.index) == list(fits[1].loadings.index)


def test_chunks_name_the_line_that_is_wrong(tmp_path, capsys, monkeypatch):
    path = tmp_path / "rows.csv"
    path.write_text("id,a,b\n" + "".join(f"00{i},{i},{i % 3}\n" for i in range(30)) + "7,8\n")
    monkeypatch.setattr(opening, "LARGEST_TEXT", 0)
    monkeypatch.setattr(opening, "LARGEST_PARQUET", 0)
    assert "line 32 has 2 fields" in refused(capsys, "fit", path, "--k", 1, "--card", 1)
    path.write_text("id,a,b\n" + "".join(f"00{i},{i},{'x' if i == 20 else i % 3}\n" for i in range(30)))
    monkeypatch.setattr(input_tables, "CHUNK_ROWS", 7)
    error = refused(capsys, "fit", path, "--k", 1, "--card", 1, "--index-col", "id")
    assert "chunk 3 of the function that reads rows.csv" in error
    assert "not contain real numbers: 'b'" in error


def test_options_of_the_method(hastie, capsys):
    arguments = ["fit", hastie, "--k", 1, "--card", 3, "--drop", "kind", "--method", "greedy"]
    out = ran(capsys, *arguments, "--option", "c=2", "--option", "exact=True")
    data = pd.read_csv(hastie, index_col=0).drop(columns="kind")
    assert out == as_printed(spcastat.spca(data, 1, 3, method="greedy", c=2, exact=True))
    assert "'foo' is not an option" in refused(capsys, *arguments, "--option", "foo=1")
    assert "NAME=VALUE" in refused(capsys, *arguments, "--option", "foo", code=2)
    assert "only as --method" in refused(capsys, *arguments, "--option", "method=pca")


def test_which_variables_a_table_has_and_the_methods_section(capsys):
    fit = spcastat.spca_cov(datasets.load_pitprops(), 2, 4, method="greedy", n_obs=180)
    arguments = ["fit", "pitprops", "--k", 2, "--card", 4, "--method", "greedy"]
    out = ran(capsys, *arguments, "--sort", "--max-rows", 3, "--cut", 0.5, "--describe")
    tables, paragraph = out.split("\n\nFor a methods section\n\n")
    assert tables == str(fit.summary(sort=True, max_rows=3, cut=0.5))
    words = " ".join(paragraph.split())
    assert words == " ".join([fit.describe().text, *fit.describe().references])
    content = json.loads(ran(capsys, *arguments, "--describe", "--format", "json"))
    assert content["description"]["bibtex"] == fit.describe().bibtex
    assert "--cut can be given for tables" in refused(capsys, *arguments, "--cut", 0.1, "--format", "json")


def test_a_report_says_the_command(hastie, tmp_path, capsys):
    page = tmp_path / "out file.html"
    out = ran(capsys, "fit", hastie, "--k", 1, "--card", 3, "--drop", "kind", "--report", page)
    text = page.read_text(encoding="utf-8")
    assert html.escape(f"spcastat fit {hastie} --k 1 --card 3 --drop kind --report '{page}'") in text
    assert out.startswith("Sparse PCA")
    assert "cannot be written" in refused(
        capsys, "fit", "pitprops", "--k", 1, "--card", 3, "--report", tmp_path / "no" / "x.html"
    )


# --- saved fits ---------------------------------------------------------------------------------


@pytest.fixture
def saved(hastie, tmp_path, capsys):
    path = tmp_path / "one.spca"
    ran(capsys, "fit", hastie, "--k", 2, "--card", 3, "--drop", "kind", "--scale", "--save", path)
    return path


def test_transform_writes_the_scores_of_new_rows(saved, hastie, tmp_path, capsys):
    data = pd.read_csv(hastie, index_col=0)
    wanted = spcastat.load(saved).transform(data)
    found = pd.read_csv(io.StringIO(ran(capsys, "transform", saved, hastie)), index_col=0)
    pd.testing.assert_frame_equal(found, wanted, check_names=False)
    assert "60 rows written" in ran(capsys, "transform", saved, hastie, "--out", tmp_path / "scores.csv")
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "scores.csv", index_col=0), wanted, check_names=False
    )


def test_messages_name_options_of_the_command(tmp_path, capsys):
    values = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 3)), columns=list("abc"))
    labelled = values.assign(kind=list("xyz") * 4, **{"type of thing": list("uv") * 6})
    labelled.to_csv(tmp_path / "a.csv", index=False)
    message = refused(capsys, "fit", tmp_path / "a.csv", "--k", 1, "--card", 2)
    assert "leave them out with --drop 'kind,type of thing'; text" in message
    assert "and --dummy. (--columns or --drop" in message
    assert "df." not in message
    values.assign(**{f"text {j}": "t" for j in range(60)}).to_csv(tmp_path / "b.csv", index=False)
    assert "with --columns, --drop or --formula" in refused(capsys, "fit", tmp_path / "b.csv", "--k", 1)
    values.mask(values == values.iloc[0, 0]).to_csv(tmp_path / "c.csv", index=False)
    assert "use --na drop to leave" in refused(capsys, "fit", tmp_path / "c.csv", "--k", 1, "--card", 2)


def test_transform_refuses_what_does_not_fit(saved, hastie, tmp_path, capsys):
    data = pd.read_csv(hastie, index_col=0)
    used = spcastat.load(saved).loadings.any(axis=1)
    name, count = used.idxmax(), used.sum()
    data.drop(columns=name).to_csv(tmp_path / "less.csv")
    assert f"lack 1 of the {count} columns that the components use: '{name}'" in refused(
        capsys, "transform", saved, tmp_path / "less.csv"
    )
    data.loc[data.index[0], name] = float("nan")
    data.to_csv(tmp_path / "holes.csv")
    message = refused(capsys, "transform", saved, tmp_path / "holes.csv")
    assert "use --na drop to leave these rows out, or --na pairwise" in message
    assert len(ran(capsys, "transform", saved, tmp_path / "holes.csv", "--na", "drop").splitlines()) == 60


@pytest.mark.parametrize("command", ["choose", "fit", "plot", "show", "transform"])
def test_every_command_has_help_with_examples_and_exit_codes(capsys, command):
    out = ran(capsys, command, "--help")
    assert f"  spcastat {command} " in out
    assert "exit codes:" in out
