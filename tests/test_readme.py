"""What the README says in figures, measured again; and its block of Python."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import spcastat as sp
from spcastat.fit.method_table import SOLVERS

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
CARD = [7, 4, 4, 1, 1, 1]


def gram_methods_with_cardinalities() -> list[str]:
    return [
        name for name, method in SOLVERS.items() if "card" in method.options and method.solver.needs == "gram"
    ]


@pytest.fixture(scope="module")
def shares() -> dict[str, float]:
    """PEV of one start of every method that gives just these cardinalities on the pitprops."""
    R = sp.datasets.load_pitprops()
    single = [name for name in gram_methods_with_cardinalities() if name != "joint"]
    fits = {name: sp.spca_cov(R, 6, CARD, method=name) for name in single}
    return {name: fit.measure("pev") for name, fit in fits.items() if fit.card.tolist() == CARD}


@pytest.mark.slow
def test_what_one_start_gives(shares):
    figures = r"# (0\.\d+), where one start of published methods gives (.*) to (.*)"
    joint, low, high = re.findall(figures, README)[0]
    assert len(shares) >= 15
    assert (low, high) == (f"{min(shares.values()):.2f}", f"{max(shares.values()):.2f}"), shares
    found = sp.spca_cov(sp.datasets.load_pitprops(), 6, CARD, objective="pev").measure("pev")
    assert joint == f"{found:.3f}"
    assert found > max(shares.values())


@pytest.mark.slow
def test_the_ends_of_that_range():
    R = sp.datasets.load_pitprops()
    ends = [sp.spca_cov(R, 6, CARD, method=name).measure("pev") for name in ("scotlass", "gpower-l0-block")]
    assert "gives {:.2f} to {:.2f}".format(*ends) in README


def test_the_published_control_keeps_the_share_with_more_nonzeros():
    """README: the fewest nonzeros found that keep 90 %."""
    R = sp.datasets.load_pitprops()
    found, published = (sp.spca_cov(R, 6, variance=0.9, method=name) for name in ("joint", "controlled"))
    for fit in (found, published):
        assert (fit.variance["cumulative adjusted"] >= 0.9 * fit.variance["cumulative PCA"] - 1e-9).all()
    assert found.card.sum() < published.card.sum()


# --- the examples and the counts ----------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[1]


def test_the_block_of_python_runs_as_pasted_and_prints_what_is_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"(?s)```python\n(.*?)```", README)
    (shown,) = re.findall(r"(?s)```text\n(.*?)```", README)
    with matplotlib.rc_context({"backend": "Agg"}):
        exec(compile(block, "README.md", "exec"), {})
        plt.close("all")
    assert shown in capsys.readouterr().out
    assert (tmp_path / "wine.html").stat().st_size > 10_000


def test_the_picture_has_the_figures_of_its_title():
    """docs/first.png: 96 loadings of PCA and 24 sparse ones, and the abilities of the tests."""
    drawing = runpy.run_path(str(ROOT / "docs" / "first.py"))
    R = sp.datasets.load_harman74()
    fit = sp.spca_cov(R, 4, disjoint=True, n_obs=145)
    assert fit.card.sum() == 24
    table = drawing["in_order"](fit.loadings, R.attrs["abilities"])
    component = dict(zip(table.index, np.abs(table.to_numpy()).argmax(axis=1), strict=True))
    found: dict[str, set[int]] = {name: set() for name in drawing["ABILITIES"]}
    for test, ability in zip(R, R.attrs["abilities"], strict=True):
        found[ability].add(int(component[test]))
    assert found == {"verbal": {0}, "speed": {1}, "deduction": {1, 2}, "spatial": {2}, "memory": {3}}
    assert "96 numbers by PCA, 24 by sparse PCA" in README
    assert (ROOT / "docs" / "first.png").is_file()


def test_the_counts_of_the_papers_are_those_of_the_record():
    record = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    rows = [line for line in record.splitlines() if line.startswith("| [papers-")]
    assert len(rows) == 4
    counts = {
        word: sum(int(number) for number in re.findall(rf"(\d+) {word}", "\n".join(rows)))
        for word in ("as printed", "tested", "supposed", "open")
    }
    sentence = (
        r"(\d+) rows from the tables and figures of five papers: (\d+) as printed, (\d+) that differ\s+"
        r"for a tested cause .*?, (\d+) that differ .*? supposed, and (\d+) open"
    )
    stated = re.search(sentence, README)
    assert stated is not None
    assert list(map(int, stated.groups())) == [sum(counts.values()), *counts.values()]


def test_the_figures_of_other_programs_are_those_of_the_record():
    record = (ROOT / "benchmarks" / "results" / "peers.md").read_text(encoding="utf-8")
    short, pev = (record.split(head)[1].split("\n### ")[0] for head in ("### In short", "### PEV, ours"))
    medians = {row[0].split(" (")[0]: row for row in cells_of(short)}
    names, *values = cells_of(pev)
    pitprops = next(dict(zip(names, row, strict=True)) for row in values if row[0] == "pitprops, 6 of 4")
    own_table = record.split("### PEV of scikit-learn's SparsePCA")[1]
    refitted = next(row[2] for row in cells_of(own_table) if row[0] == "pitprops, 6 of 4")
    (table,) = re.findall(r"(?s)\n\| program \|.*?\n\n", README)
    rows = cells_of(table)[2:]
    assert len(rows) == 6
    for program, _, counts, behind, share, seconds in rows:
        name = {"scikit-learn `SparsePCA`, refitted": "sklearn"}.get(program, program.split(" (")[0])
        assert share == (refitted if name == "sklearn" else pitprops[name])
        if name == "spcastat":
            assert seconds == medians["spcastat-pev"][6]
            continue
        assert seconds == medians[name][6]
        if name == "sklearn":  # refitted on its supports, in a table of its own
            assert f"after refitting: {counts}; median points behind: {behind}." in own_table
            continue
        ahead, level, lost = medians[name][3].split(" / ")
        assert counts == f"{lost} / {level} / {ahead}"
        assert behind == medians[name][5]


def cells_of(table: str) -> list[list[str]]:
    """Return the cells of the rows of a Markdown table in a text."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_readme_fits_on_a_few_screens():
    assert len(README.splitlines()) <= 133
