"""The command line: reading of arguments and files, errors on one line, and whole runs."""

from __future__ import annotations

import os
import subprocess
import sys
import types

import pandas as pd
import pytest

import spcastat
from spcastat import cli, datasets
from spcastat.config import warn
from spcastat.errors import CardinalityError, DataWarning
from spcastat.fit.method_table import SOLVERS

README_COMMAND = "fit pitprops --k 6 --card 7,4,4,1,1,1"


@pytest.fixture
def calls(monkeypatch):
    """A stand-in for spcastat.api that records what it is called with."""
    record = []

    def recorder(name):
        def call(data, **given):
            record.append((name, data, given))
            return f"<{name}>"

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


def test_only_what_was_given_is_passed_on(calls, table, capsys):
    assert cli.main(["fit", str(table), "--k", "2", "--columns", "a,b,c"]) == 0
    assert capsys.readouterr().out == "<spca>\n"
    name, data, given = calls[0]
    assert (name, given) == ("spca", {"k": 2})
    assert list(data.columns) == ["a", "b", "c"]


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


@pytest.mark.parametrize(
    ("text", "card"), [("5", 5), ("7,4,4", [7, 4, 4]), ("0", 0), ("3,", None), ("x", None)]
)
def test_cardinalities(calls, table, capsys, text, card):
    code = cli.main(["fit", str(table), "--k", "3", "--card", text])
    if card is None:
        assert code == 2
        assert "7,4,4" in capsys.readouterr().err
    else:
        assert calls[0][2]["card"] == card


def test_pitprops_is_fitted_as_a_correlation_matrix_of_180_rows(calls):
    assert cli.main(README_COMMAND.split()) == 0
    name, data, given = calls[0]
    assert name == "spca_cov"
    assert given == {"k": 6, "card": [7, 4, 4, 1, 1, 1], "n_obs": 180}
    pd.testing.assert_frame_equal(data, datasets.load_pitprops())


def test_a_file_of_that_name_comes_before_the_bundled_data(calls, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pitprops").write_text("a,b\n1,2\n", encoding="utf-8")
    assert "must end in one of .csv" in refused(capsys, "fit", "pitprops", "--k", 1)


def test_options_that_need_rows_are_refused_for_a_covariance(calls, capsys):
    err = refused(capsys, "fit", "pitprops", "--k", 2, "--scale", "--na", "drop")
    assert "--scale, --na need the rows" in err
    assert "--formula needs the rows" in refused(capsys, "fit", "pitprops", "--k", 2, "--formula", "~ length")


def test_n_obs_is_refused_for_rows(calls, table, capsys):
    assert "--covariance" in refused(capsys, "fit", table, "--k", 1, "--n-obs", 9)


@pytest.mark.parametrize("labelled", [True, False])
def test_a_covariance_from_a_file(calls, tmp_path, labelled):
    R = datasets.load_pitprops()
    R.to_csv(tmp_path / "R.csv", index=labelled)
    assert cli.main(["fit", str(tmp_path / "R.csv"), "--k", "2", "--covariance", "--n-obs", "180"]) == 0
    name, data, given = calls[0]
    assert (name, given) == ("spca_cov", {"k": 2, "n_obs": 180})
    pd.testing.assert_frame_equal(data, R)


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".CSV", ".csv.gz", ".parquet"])
def test_kinds_of_files(calls, tmp_path, suffix):
    frame = pd.DataFrame({"a": [1.5, 2.0, 4.0], "größe, m": [3, 1, 2]})
    path = tmp_path / f"data{suffix}"
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",", encoding="utf-8")
    assert cli.main(["fit", str(path), "--k", "1"]) == 0
    pd.testing.assert_frame_equal(calls[0][1], frame)


def test_a_first_column_without_a_name_is_the_row_labels(calls, tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.0], "b": [3, 1]}, index=["r1", "r2"])
    frame.to_csv(tmp_path / "data.csv")
    assert cli.main(["fit", str(tmp_path / "data.csv"), "--k", "1"]) == 0
    pd.testing.assert_frame_equal(calls[0][1], frame)


def test_equal_column_names_are_not_renamed(calls, tmp_path, capsys):
    (tmp_path / "data.csv").write_text("a,b, a\n1,2,3\n", encoding="utf-8")
    assert "more than one column named 'a'" in refused(capsys, "fit", tmp_path / "data.csv", "--k", 1)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.csv", b""),
        ("latin.csv", "a,b\n1,é\n".encode("latin-1")),
        ("ragged.csv", b"a,b\n1,2\n1,2,3,4\n"),
        ("wrong.csv.gz", b"a,b\n1,2\n"),
        ("wrong.parquet", b"a,b\n1,2\n"),
    ],
)
def test_unreadable_files(calls, tmp_path, capsys, name, content):
    if "parquet" in name:
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(content)
    assert f"{name} cannot be read: " in refused(capsys, "fit", tmp_path / name, "--k", 1)
    assert not calls


def test_parquet_without_pyarrow(calls, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # importing it raises ImportError
    (tmp_path / "data.parquet").write_bytes(b"")
    assert "pip install pyarrow" in refused(capsys, "fit", tmp_path / "data.parquet", "--k", 1)


def test_an_unknown_file_names_its_neighbours(calls, table, capsys):
    assert "Did you mean 'pitprops'?" in refused(capsys, "fit", "pitprop", "--k", 1)
    assert "Did you mean 'trees.csv'?" in refused(capsys, "fit", table.parent / "tree.csv", "--k", 1)
    assert "no file 'nowhere/at/all.csv'" in refused(capsys, "fit", "nowhere/at/all.csv", "--k", 1)
    assert "no file" in refused(capsys, "fit", table.parent, "--k", 1)


@pytest.mark.parametrize("option", ["--index-col", "--columns", "--drop"])
def test_an_unknown_column_names_its_neighbour(calls, table, capsys, option):
    err = refused(capsys, "fit", table, "--k", 1, option, "kinds")
    assert "no column 'kinds'" in err
    assert "Did you mean 'kind'?" in err


# --- errors, warnings, help ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv",
    [
        "",
        "fti pitprops --k 1",
        "fit pitprops --k two",
        "fit pitprops --k 2 --card 3 --variance 0.9",
        "fit pitprops --k 2 --na fill",
        "fit x.csv --k 2 --columns a --drop b",
        "fit pitprops --k 2 --unknown",
    ],
)
def test_usage_errors_have_code_2(calls, capsys, argv):
    assert "usage: spcastat" in refused(capsys, *argv.split(), code=2)
    assert not calls


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
    expected = "spcastat: warning: look here\nspcastat: error: card=9 was given\n"
    assert capsys.readouterr() == ("", expected)


def test_errors_that_are_not_the_users_are_not_hidden(calls, table, monkeypatch):
    monkeypatch.setattr(sys.modules["spcastat.api"], "spca", lambda data, **given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cli.main(["fit", str(table), "--k", "1"])


@pytest.mark.parametrize("argv", [["--help"], ["fit", "--help"]])
def test_help_has_examples(capsys, argv):
    assert cli.main(argv) == 0
    assert "spcastat fit pitprops --k 6 --card 7,4,4,1,1,1" in capsys.readouterr().out


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"spcastat {spcastat.__version__}\n"


def test_methods_and_datasets_are_listed(capsys):
    assert cli.main(["methods"]) == 0
    first = [line.split(maxsplit=1)[0] for line in capsys.readouterr().out.splitlines() if line]
    assert [word for word in first if word in SOLVERS] == list(SOLVERS)
    assert cli.main(["datasets"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("pitprops  ")
    assert "Jeffers" in out


def test_a_reader_that_has_gone_is_no_traceback():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "spcastat", "datasets"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


# --- whole runs ---------------------------------------------------------------------------------


def test_the_command_of_the_readme():
    command = [sys.executable, "-m", "spcastat", *README_COMMAND.split()]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "topdiam" in done.stdout
    assert "PC6" in done.stdout


@pytest.mark.parametrize("options", ["--variance 0.9", "--card 3", "--scale --card 3,2 --method greedy"])
def test_a_file_prints_what_the_function_gives(tmp_path, capsys, options):
    datasets.make_hastie(60).to_csv(tmp_path / "hastie.csv")
    assert cli.main(["fit", str(tmp_path / "hastie.csv"), "--k", "2", *options.split()]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    given = {
        "--variance 0.9": {"variance": 0.9},
        "--card 3": {"card": 3},
        "--scale --card 3,2 --method greedy": {"scale": True, "card": [3, 2], "method": "greedy"},
    }[options]
    data = pd.read_csv(tmp_path / "hastie.csv", index_col=0)
    assert out == f"{spcastat.spca(data, k=2, **given)}\n"


def test_advice_on_a_column_of_text_can_be_followed(table, capsys):
    err = refused(capsys, "fit", table, "--k", 1, "--card", 2, "--index-col", "id")
    assert "kind" in err
    assert "--drop" in err
    assert cli.main(["fit", str(table), "--k", "1", "--card", "2", "--drop", "id,kind"]) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--k 2 --card 14", "card"),
        ("--k 2 --card 0", "card"),
        ("--k 2 --card 3,3,3", "card"),
        ("--k 99", "k="),
        ("--k 2 --variance 1.5", "variance=1.5"),
        ("--k 2 --card 3 --method bdc-l0", "Did you mean 'bcd-l0'?"),
    ],
)
def test_refusals_of_the_package_reach_the_user_on_one_line(capsys, options, words):
    assert words in refused(capsys, "fit", "pitprops", *options.split())


def test_the_real_methods_are_listed(capsys):
    assert cli.main(["methods"]) == 0
    out = capsys.readouterr().out
    assert "bcd-l0" in out
    assert "controlled by: variance" in out
    assert max(map(len, out.splitlines())) <= 80
