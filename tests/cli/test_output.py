"""What ``spcastat fit`` and ``spcastat show`` print in every format, and ``spcastat plot``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat import cli
from spcastat.cli.fit_command import named_value
from spcastat.cli.plot_command import KINDS
from spcastat.results.fit import SpcaResult

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


def test_a_saved_fit_is_shown_with_the_results_of_resampling(capsys, tmp_path):
    path = tmp_path / "fit.spca"
    fit = sp.spca(sp.datasets.load_wine(), 2, 4, scale=True, method="greedy")
    stability = fit.stability(4)
    fit.save(path)
    found = out_of(capsys, "show", path)
    assert found == f"{fit}\n\n{stability}\n"


def test_options_of_tables(capsys, summary):
    found = out_of(capsys, *FIT, "--format", "latex", "--digits", 2, "--caption", "A & B", "--label", "tab:x")
    assert found.strip() == summary.as_latex(digits=2, caption="A & B", label="tab:x").strip()
    assert out_of(capsys, *FIT, "--digits", 2).strip() == summary.as_text(digits=2)


def test_json_holds_the_numbers_in_full(capsys):
    fit = sp.spca_cov(sp.datasets.load_pitprops(), k=2, card=4, n_obs=180, method="greedy")
    found = json.loads(out_of(capsys, *FIT, "--format", "json"))
    for component, loadings in found["loadings"].items():
        known = fit.loadings[component]
        assert loadings == known[known != 0].to_dict()
    assert found["variables"] == list(fit.loadings.index)
    assert found["variance"]["PC2"]["adjusted variance"] == fit.variance.loc["PC2", "adjusted variance"]
    assert found["call"] == fit.call


def test_json_has_null_for_what_is_no_number(capsys, tmp_path):
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(30, 4)), columns=list("abcd")).to_csv(tmp_path / "d.csv", index=False)
    text = out_of(
        capsys, "fit", tmp_path / "d.csv", "--k", 1, "--card", 2, "--method", "greedy", "--bootstrap", 5,
        "--format", "json",
    )  # fmt: skip
    found = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert {"component", "term", "lower", "upper"} <= set(found["bootstrap"]["loadings"][0])


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.html", "<div"), ("a.tex", "% needs"), ("a.md", "**Sparse"), ("a.json", "{"), ("a.txt", "Sparse")],
)
def test_the_ending_of_a_file_says_the_format(capsys, tmp_path, name, start):
    assert out_of(capsys, *FIT, "--out", tmp_path / name) == f"fit written to {tmp_path / name}\n"
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_word(capsys, tmp_path):
    docx = pytest.importorskip("docx")
    out_of(capsys, *FIT, "--out", tmp_path / "t.docx", "--caption", "Three")
    word = docx.Document(str(tmp_path / "t.docx"))
    assert word.paragraphs[0].text == "Table 1. Three"
    assert len(word.tables) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "docx"], "name it: --out OUT.docx"),
        (["--out", "t.xyz"], "says no format; give --format"),
        (["--format", "json", "--digits", "2"], "--digits: for tables"),
        (["--label", "a"], "--label was given, which text has no use for"),
        (["--digits", "12"], "digits=12 was given"),
    ],
)
def test_what_does_not_go_together_is_refused(capsys, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused(capsys, *FIT, *options)
    assert not list(tmp_path.iterdir())


def test_the_input_file_is_not_written_over(capsys, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n2,1\n3,5\n", encoding="utf-8")
    assert "is the input" in refused(capsys, "fit", path, "--k", 1, "--out", path, "--format", "text")


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
    assert drawing == set(KINDS) - {"bootstrap", "stability"}


def test_a_biplot_with_groups_that_are_not_fitted(capsys, data, tmp_path):
    call = ["plot", "biplot", data, "--k", 2, "--card", 4, "--method", "greedy", "--groups", "site"]
    found = out_of(capsys, *call, "--set", "outline=hull", "--out", tmp_path / "b.svg", "--size", "5x4")
    assert found == f"biplot written to {tmp_path / 'b.svg'}\n"
    picture = (tmp_path / "b.svg").read_text(encoding="utf-8")
    assert "<!-- north -->" in picture
    assert 'width="360pt" height="288pt"' in picture  # 72 points an inch


@pytest.mark.parametrize(
    "call", [["fit", "--card", 3], ["choose", "--cards", 3, "--by", "is"]], ids=lambda call: call[0]
)
def test_groups_mark_the_rows_in_a_report(capsys, data, tmp_path, call):
    name, *options = call
    pages = {"--drop": tmp_path / "plain.html", "--groups": tmp_path / "grouped.html"}
    call = [name, data, "--k", 2, *options, "--method", "greedy"]
    for option, page in pages.items():
        out_of(capsys, *call, option, "site", "--report", page)
    plain, grouped = (page.read_text(encoding="utf-8").count("PathCollection") for page in pages.values())
    assert grouped > plain  # the marks of each group, and those of the legend
    assert "give --report, too" in refused(capsys, *call, "--groups", "site")


@pytest.mark.parametrize(("kind", "start"), [("screeplot", b"\x89PNG"), ("plot_loadings", b"%PDF")])
def test_pictures_by_the_ending_of_their_names(capsys, tmp_path, kind, start):
    path = tmp_path / ("p.png" if start[1:] == b"PNG" else "p.pdf")
    out_of(capsys, "plot", kind, *FIT[1:], "--out", path, "--dpi", 50)
    assert path.read_bytes().startswith(start)


def test_saved_fits_are_drawn(capsys, tmp_path):
    fit = sp.spca(sp.datasets.pitprops_sample(), k=2, card=4, method="greedy")
    fit.stability(3)
    fit.save(tmp_path / "fit.spca")
    out_of(capsys, "plot", "stability", tmp_path / "fit.spca", "--out", tmp_path / "s.svg")
    assert "--k: for data" in refused(
        capsys, "plot", "screeplot", tmp_path / "fit.spca", "--k", 2, "--out", tmp_path / "x.svg"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["biplt", "pitprops", "--k", "2"], "Did you mean 'biplot'?"),
        (["screeplot", "pitprops"], "--k is needed"),
        (["screeplot", "pitprops", "--k", "2", "--labels"], "screeplot has no option labels; it has"),
        (["screeplot", "pitprops", "--k", "2", "--set", "kin=bar"], "Did you mean 'kind'?"),
        (["bootstrap", "pitprops", "--k", "2"], "give --bootstrap, too"),
        (["screeplot", "pitprops", "--k", "2", "--dpi", "5"], "--dpi 5 was given"),
        (["biplot", "pitprops", "--k", "2", "--groups", "lengh"], "Did you mean 'length'?"),
        (["biplot", "pitprops", "--k", "2"], "rows"),
    ],
)
def test_plots_that_are_refused(capsys, tmp_path, options, message):
    options = [*options, "--card", "4", "--method", "greedy", "--out", str(tmp_path / "p.png")]
    assert message in refused(capsys, "plot", *options)
    assert not list(tmp_path.iterdir())


def test_a_size_that_is_none(capsys, tmp_path):
    assert cli.main(["plot", "screeplot", "pitprops", "--out", "p.png", "--size", "5"]) == 2
    assert "it takes inches" in capsys.readouterr().err


# --- values on the command line -------------------------------------------------------------------


def test_true_and_false_of_a_shell():
    assert named_value("centroids=true") == ("centroids", True)
    assert named_value("exact=false") == ("exact", False)
    assert named_value("exact=False") == ("exact", False)
    assert named_value("outline=hull") == ("outline", "hull")
