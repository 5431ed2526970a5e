"""What ``spcastat fit`` and ``spcastat show`` print in every format, and ``spcastat plot``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat import cli
from spcastat.cli.commands import KINDS_OF_VARIABLES, PLOT_KINDS
from spcastat.cli.fit_command import named_value
from spcastat.results.fit import SpcaResult
from spcastat.show.summary import SCREEN

FIT = ["fit", "pitprops", "--k", "2", "--card", "4", "--method", "greedy"]


def out_of(capsys, *call: str) -> str:
    assert cli.main([*map(str, call)]) == 0
    return capsys.readouterr().out


def refused(capsys, *call: str) -> str:
    assert cli.main([*map(str, call)]) == 1
    return capsys.readouterr().err


@pytest.fixture(scope="module")
def summary():
    return sp.spca_cov(sp.datasets.load_pitprops(), k=2, card=4, n_obs=180, method="greedy").summary()


@pytest.mark.parametrize("kind", ["text", "html", "latex", "markdown"])
def test_every_format_is_that_of_the_summary(capsys, summary, kind):
    found = out_of(capsys, *FIT, "--format", kind)
    assert found.strip() == getattr(summary, f"as_{kind}")().strip()


@pytest.mark.parametrize("kind", ["text", "html", "latex", "markdown", "json"])
def test_a_saved_fit_is_shown_as_it_was_printed(capsys, tmp_path, kind):
    path = tmp_path / "fit.spca"
    printed = out_of(capsys, *FIT, "--format", kind, "--save", path)
    assert out_of(capsys, "show", path, "--format", kind) == printed


def test_json_holds_the_numbers_in_full(capsys):
    fit = sp.spca_cov(sp.datasets.load_pitprops(), k=2, card=4, n_obs=180, method="greedy")
    found = json.loads(out_of(capsys, *FIT, "--format", "json"))
    for component, loadings in found["loadings"].items():
        known = fit.loadings[component]
        assert loadings == known[known != 0].to_dict()
    assert found["variables"] == list(fit.loadings.index)
    assert found["variance"]["PC2"]["adjusted variance"] == fit.variance.loc["PC2", "adjusted variance"]
    assert found["call"] == fit.call


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.html", "<div"), ("a.tex", "% needs"), ("a.md", "**Sparse"), ("a.json", "{"), ("a.txt", "Sparse")],
)
def test_the_ending_of_a_file_says_the_format(capsys, tmp_path, name, start):
    assert out_of(capsys, *FIT, "--out", tmp_path / name) == f"fit written to {tmp_path / name}\n"
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "docx"], "name it: --out OUT.docx"),
        (["--out", "t.xyz"], "has no format; give --format"),
        (["--format", "json", "--digits", "2"], "--digits can be given for tables only"),
        (["--label", "a"], "--label was given, which text output does not use"),
        (["--digits", "12"], "--digits 12 was given"),
    ],
)
def test_what_does_not_go_together_is_refused(capsys, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused(capsys, *FIT, *options)
    assert not list(tmp_path.iterdir())


# --- plot ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    frame = sp.datasets.pitprops_sample().assign(site=["north", "south"] * 90)
    path = tmp_path_factory.mktemp("plot") / "props.csv"
    frame.to_csv(path, index=False)
    return path


def test_kinds_are_methods_of_a_fit():
    drawing = {name for name in dir(SpcaResult) if name.startswith("plot_") or "plot" in name}
    drawing = {name for name in drawing if not name.endswith("_data")}
    assert drawing == set(PLOT_KINDS) - {"bootstrap", "stability"}


def test_a_biplot_with_groups_that_are_not_fitted(capsys, data, tmp_path):
    call = ["plot", "biplot", data, "--k", 2, "--card", 4, "--method", "greedy", "--groups", "site"]
    found = out_of(capsys, *call, "--set", "outline=hull", "--out", tmp_path / "b.svg", "--size", "5x4")
    assert found == f"biplot written to {tmp_path / 'b.svg'}\n"
    picture = (tmp_path / "b.svg").read_text(encoding="utf-8")
    assert "<!-- north -->" in picture
    assert 'width="360pt" height="288pt"' in picture  # 72 points an inch


@pytest.mark.sweep
@pytest.mark.parametrize(
    "call", [["fit", "--card", 3], ["choose", "--cards", 3, "--by", "is"]], ids=lambda call: call[0]
)
def test_groups_mark_the_rows_in_a_report(capsys, data, tmp_path, call):
    name, *options = call
    pages = {"--drop": tmp_path / "plain.html", "--groups": tmp_path / "grouped.html"}
    call = [name, data, "--k", 2, *options, "--method", "greedy"]
    for option, page in pages.items():
        out_of(capsys, *call, option, "site", "--report", page)
    fill = r"fill: %23([0-9a-f]{6})"
    plain, grouped = (set(re.findall(fill, page.read_text(encoding="utf-8"))) for page in pages.values())
    assert len(grouped) > len(plain)  # each group has a colour of its own
    assert "give --report, too" in refused(capsys, *call, "--groups", "site")


@pytest.mark.parametrize(("kind", "start"), [("screeplot", b"\x89PNG"), ("plot_loadings", b"%PDF")])
def test_pictures_by_the_ending_of_their_names(capsys, tmp_path, kind, start):
    path = tmp_path / ("p.png" if start[1:] == b"PNG" else "p.pdf")
    out_of(capsys, "plot", kind, *FIT[1:], "--out", path, "--dpi", 50)
    assert path.read_bytes().startswith(start)


def test_saved_fits_are_drawn(capsys, tmp_path):
    fit = sp.spca(sp.datasets.pitprops_sample(), k=2, card=4, method="greedy")
    fit.with_inference(fit.stability(3)).save(tmp_path / "fit.spca")
    out_of(capsys, "plot", "stability", tmp_path / "fit.spca", "--out", tmp_path / "s.svg")
    assert "--k can be given for data only" in refused(
        capsys, "plot", "screeplot", tmp_path / "fit.spca", "--k", 2, "--out", tmp_path / "x.svg"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["biplt", "pitprops", "--k", "2"], "Did you mean 'biplot'?"),
        (["screeplot", "pitprops"], "--k, the number of components, is needed"),
        (["screeplot", "pitprops", "--k", "2", "--labels"], "screeplot has no option labels; it has"),
        (["screeplot", "pitprops", "--k", "2", "--set", "kin=bar"], "Did you mean 'kind'?"),
        (["bootstrap", "pitprops", "--k", "2"], "give --bootstrap as well"),
        (["screeplot", "pitprops", "--k", "2", "--dpi", "5"], "--dpi 5 was given"),
        (["biplot", "pitprops", "--k", "2", "--groups", "lengh"], "Did you mean 'length'?"),
        (["biplot", "pitprops", "--k", "2"], "rows"),
    ],
)
def test_plots_that_are_refused(capsys, tmp_path, options, message):
    options = [*options, "--card", "4", "--method", "greedy", "--out", str(tmp_path / "p.png")]
    assert message in refused(capsys, "plot", *options)
    assert not list(tmp_path.iterdir())


# --- values on the command line -------------------------------------------------------------------


def test_true_and_false_of_a_shell():
    assert named_value("centroids=true") == ("centroids", True)
    assert named_value("exact=false") == ("exact", False)
    assert named_value("exact=False") == ("exact", False)
    assert named_value("outline=hull") == ("outline", "hull")


def test_advice_names_the_option_of_the_command(capsys, tmp_path):
    path = tmp_path / "units.csv"
    table = sp.datasets.pitprops_sample().assign(kind="pine")
    table.assign(length=1000.0 * table["length"]).to_csv(path, index=False)
    call = ["fit", str(path), "--drop", "kind", "--k", "1", "--card", "3", "--method", "greedy"]
    assert cli.main([*call, "--format", "text"]) == 0
    out, told = capsys.readouterr()
    assert "give --scale if their units differ." in told
    assert "--scale gives all variables" in " ".join(out.split())
    assert "scale=" not in told
    told = refused(capsys, "fit", path, "--k", 1, "--card", 3)
    assert "by --formula and --dummy" in told
    assert told.count("--dummy") == 1


# --- Sparse loadings and groups of rows give what the functions give --------------------------------


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


def refused_in_one_line(capsys, *argv) -> str:
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
    said = ran(capsys, "fit", path, *options, "--bootstrap", 39, *files, "--describe")
    fit = sp.sparse_loadings(frame.drop(columns="country"), 2, [3, 2], scale=True, clusters="school")
    boot = fit.bootstrap(39)
    assert said.startswith(f"{fit.summary()}\n\n{boot.summary()}")
    assert "Adachi, K." in said
    assert ran(capsys, "show", tmp_path / "fit.spca") == f"{fit.summary()}\n\n{boot.summary()}\n"
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
    command = ("fit", "pitprops", "--loadings", "--k", 2, "--option", "total=9")
    total = ran(capsys, *command, "--format", "text")
    assert str(sp.sparse_loadings_cov(sp.datasets.load_pitprops(), 2, total=9, n_obs=180).summary()) in total


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--disjoint"], "--disjoint can be given for sparse weights"),
        (["--stability", "9"], "--stability can be given for sparse weights"),
        (
            ["--objective", "pev", "--effort", "quick"],
            "--objective, --effort can be given for sparse weights",
        ),
        (["--method", "greedy"], "--method can be given for sparse weights"),
        (["--tol", "0.1"], "--tol can be given for sparse weights"),
        (["--include", "a"], "--include can be given for sparse weights"),
        (["--option", "total=9"], "give only one of --card"),
    ],
)
def test_options_of_sparse_weights_are_refused(table, capsys, options, words):
    for data in (table[0], "pitprops"):
        fit = ["fit", data, "--loadings", "--k", 2, "--card", 2, *options]
        assert words in refused_in_one_line(
            capsys, *fit, *(["--columns", "a,b,c"] if data != "pitprops" else [])
        )


def test_a_plot_of_weights_is_refused_for_loadings(capsys, tmp_path):
    plot = ["plot", "screeplot", "pitprops", "--loadings", "--k", 2, "--card", 2, "--out", tmp_path / "x.png"]
    assert "screeplot is for sparse weights" in refused_in_one_line(capsys, *plot)
    assert not (tmp_path / "x.png").exists()


def test_whole_numbers_in_a_column_of_floats_are_printed_as_whole_numbers():
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(41, 4)), columns=list("abcd"))
    data["site"] = [1.0, 2.0] * 20 + [np.nan]  # the missing label makes the column one of floats
    found = sp.compare_groups(data, "site", 1, 2, na="drop", n_draws=19)
    assert "Rows: 20 in group 1, 20 in group 2" in str(found)
    assert found.table["group"].unique().tolist() == [1, 2]
    halves = sp.compare_groups(data.assign(site=data["site"] / 2), "site", 1, 2, na="drop", n_draws=19)
    assert halves.table["group"].unique().tolist() == [0.5, 1.0]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Saved principal variables, and what they are."""
    plan = sp.principal_variables_cov(sp.datasets.load_pitprops(), 4, 2, n_obs=180, n_resamples=0)
    path = tmp_path_factory.mktemp("kept") / "kept.spca"
    plan.save(path)
    return path, plan


@pytest.mark.parametrize("kind", ["text", "html", "latex", "markdown"])
def test_saved_principal_variables_are_shown_in_every_format(capsys, kept, kind):
    path, plan = kept
    summary = plan.summary(max_rows=SCREEN) if kind == "text" else plan.summary()
    assert out_of(capsys, "show", path, "--format", kind).strip() == getattr(summary, f"as_{kind}")().strip()


def test_saved_principal_variables_have_numbers_a_page_and_figures(capsys, kept, tmp_path):
    path, plan = kept
    numbers = json.loads(out_of(capsys, "show", path, "--format", "json", "--describe"))
    assert [row["variable"] for row in numbers["variables"]] == list(plan.kept)
    assert numbers["share"] == plan.share
    assert numbers["description"]["text"] == plan.describe().text
    out_of(capsys, "show", path, "--report", tmp_path / "page.html")
    assert "Variables to keep in" in (tmp_path / "page.html").read_text()
    for kind in KINDS_OF_VARIABLES:
        out_of(capsys, "plot", kind, path, "--out", tmp_path / f"{kind}.png")
        assert (tmp_path / f"{kind}.png").read_bytes().startswith(b"\x89PNG")


def test_what_principal_variables_do_not_have_is_refused(capsys, kept, tmp_path):
    path, picture = kept[0], tmp_path / "a.png"
    assert "applies to loadings" in refused(capsys, "show", path, "--sort")
    message = refused(capsys, "plot", "biplot", path, "--out", picture)
    assert "choose one of 'plot', 'plot_represented'" in message
    assert "spcastat keep DATA" in refused(capsys, "plot", "plot", "pitprops", "--out", picture)
    out_of(capsys, *FIT, "--save", tmp_path / "fit.spca")
    message = refused(capsys, "plot", "plot", tmp_path / "fit.spca", "--out", picture)
    assert "choose one of 'biplot'" in message


@pytest.mark.parametrize("arguments", [["pitprops"], ["wine", "--scale"], ["wine"]])
def test_a_choice_names_no_attributes_of_python(capsys, arguments):
    """Readers of the command have options and files, and not `choice.summary()`."""
    text = out_of(capsys, "choose", *arguments)
    assert text.startswith("Choice: ")
    assert "Sparse" in text
    for name in ("choice.", "fit.", "More:"):
        assert name not in text


def test_a_table_without_structure_has_an_answer_and_no_error(capsys, tmp_path):
    rows = np.random.default_rng(0).standard_normal((60, 5))
    pd.DataFrame(rows).add_prefix("v").to_csv(tmp_path / "noise.csv", index=False)
    assert out_of(capsys, "choose", tmp_path / "noise.csv").startswith("Choice: no component\n")
