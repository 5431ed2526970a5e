"""The command line on real fits: formulas, reports and saved fits."""

from __future__ import annotations

import html
import io
import json

import numpy as np
import pandas as pd
import pytest

import spcastat
from spcastat import cli, datasets
from spcastat.cli import input_tables
from spcastat.streams import whole


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


def test_a_formula_gives_what_it_gives_in_python(hastie, capsys):
    formula = "~ X1 + log(X2 + 1) + np.sqrt(X5) + sqrt(X6) + `my x` + C(kind)"
    out = ran(capsys, "fit", hastie, "--k", 2, "--card", 2, "--formula", formula, "--dummy")
    data = pd.read_csv(hastie, index_col=0)
    fit = spcastat.spca(data, 2, 2, formula=formula, categorical="dummy", context={"sqrt": np.sqrt})
    assert out == f"{fit}\n"


def test_a_column_of_weights_gives_what_it_gives_in_python(hastie, tmp_path, capsys):
    data = pd.read_csv(hastie, index_col=0).drop(columns="kind")
    data["times"] = np.arange(60) % 3
    path = tmp_path / "weighted.csv"
    data.to_csv(path)
    how = ("--k", 2, "--card", 2, "--weights", "times")
    assert ran(capsys, "fit", path, *how) == f"{spcastat.spca(data, 2, 2, weights='times')}\n"
    few = ran(capsys, "fit", path, *how, "--columns", "X1,X2,X5")
    assert few == f"{spcastat.spca(data[['X1', 'X2', 'X5', 'times']], 2, 2, weights='times')}\n"
    assert "as --weights and among the columns" in refused(capsys, "fit", path, *how, "--drop", "times")
    assert "no column 'time'" in refused(capsys, "fit", path, *how[:-1], "time")
    assert "as --index-col and as --weights" in refused(capsys, "fit", path, *how, "--index-col", "times")
    assert "--weights needs the rows" in refused(capsys, "fit", "pitprops", "--k", 1, "--weights", "x")


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
    monkeypatch.setattr(whole, "LARGEST_TEXT", 0)
    monkeypatch.setattr(whole, "LARGEST_PARQUET", 0)
    monkeypatch.setattr(input_tables, "ROWS", 7)
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
    monkeypatch.setattr(whole, "LARGEST_TEXT", 0)
    monkeypatch.setattr(whole, "LARGEST_PARQUET", 0)
    assert "line 32 has 2 fields" in refused(capsys, "fit", path, "--k", 1, "--card", 1)
    path.write_text("id,a,b\n" + "".join(f"00{i},{i},{'x' if i == 20 else i % 3}\n" for i in range(30)))
    monkeypatch.setattr(input_tables, "ROWS", 7)
    error = refused(capsys, "fit", path, "--k", 1, "--card", 1, "--index-col", "id")
    assert "chunk 3 of the function that reads rows.csv" in error
    assert "not hold real numbers: 'b'" in error


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("~ eval('1')", "a call of 'eval'"),
        ("~ {open('/etc/passwd').read()}", "a call of"),
        ("~ X1.values.tofile('x')", "a call of"),
        ("~ np.save('x', X1)", "a call of 'np.save'"),
        ("~ I(X1.__class__)", "looks into an object"),
        ("~ I(X1[0])", "'X1[0]'"),
        ("~ Q('X1')", "a call of 'Q'"),
        ("~ os", "'os', which is not a column"),
        ("X2 ~ X1", "two sides"),
        ("~ log(X1", "cannot be read"),
        ("~ X99", "Did you mean 'X9'?"),
    ],
)
def test_a_formula_may_hold_names_numbers_operators_and_known_functions(hastie, capsys, formula, words):
    assert words in refused(capsys, "fit", hastie, "--k", 1, "--card", 1, "--formula", formula)


def test_options_of_the_method(hastie, capsys):
    arguments = ["fit", hastie, "--k", 1, "--card", 3, "--drop", "kind", "--method", "greedy"]
    out = ran(capsys, *arguments, "--option", "c=2", "--option", "exact=True")
    data = pd.read_csv(hastie, index_col=0).drop(columns="kind")
    assert out == f"{spcastat.spca(data, 1, 3, method='greedy', c=2, exact=True)}\n"
    assert "'foo' is not an option" in refused(capsys, *arguments, "--option", "foo=1")
    assert "NAME=VALUE" in refused(capsys, *arguments, "--option", "foo", code=2)
    assert "give one" in refused(capsys, *arguments, "--option", "method=pca")


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
    assert "--cut: for tables" in refused(capsys, *arguments, "--cut", 0.1, "--format", "json")


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


def test_transform_of_rows_without_labels_has_none(saved, hastie, tmp_path, capsys):
    pd.read_csv(hastie, index_col=0).to_csv(tmp_path / "plain.csv", index=False)
    assert ran(capsys, "transform", saved, tmp_path / "plain.csv").startswith("PC1,PC2\n")


def test_transform_refuses_what_does_not_fit(saved, hastie, tmp_path, capsys):
    data = pd.read_csv(hastie, index_col=0)
    data.drop(columns="X3").to_csv(tmp_path / "less.csv")
    assert "lack 1 of the 11 columns of the fit: 'X3'" in refused(
        capsys, "transform", saved, tmp_path / "less.csv"
    )
    data.iloc[0, 0] = float("nan")
    data.to_csv(tmp_path / "holes.csv")
    assert "(Here: --na drop or --na em.)" in refused(capsys, "transform", saved, tmp_path / "holes.csv")
    assert len(ran(capsys, "transform", saved, tmp_path / "holes.csv", "--na", "drop").splitlines()) == 60
    assert "the fit comes first" in refused(capsys, "transform", hastie, saved)
    assert "There is no file" in refused(capsys, "transform", tmp_path / "no.spca", hastie)
    (tmp_path / "cut.spca").write_bytes(saved.read_bytes()[:500])
    assert "damaged or cut off" in refused(capsys, "transform", tmp_path / "cut.spca", hastie)


@pytest.mark.parametrize("command", ["choose", "explore", "show", "transform"])
def test_every_command_has_help_with_examples_and_exit_codes(capsys, command):
    out = ran(capsys, command, "--help")
    assert f"  spcastat {command} " in out
    assert "exit codes:" in out
