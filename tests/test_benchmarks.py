"""What the benchmarks promise: fixed draws, verdicts by a rule, and a page for every table."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

import spcastat as sp
from benchmarks.peers import fits
from benchmarks.peers.cells import measured
from benchmarks.report import PAPERS
from spcastat.errors import UnknownOptionError

ROOT = Path(__file__).resolve().parents[1]
#: Benchmarks that are one module, not a package.
ONE_FILE = ("proofs", "constraints", "steering")


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the folder be imported: it is not installed."""
    monkeypatch.syspath_prepend(str(ROOT))


def drawn(draw, scale=1.0):
    """A trial: what the seed says."""
    return [scale * draw.seed, 1.0]


def refused(draw):
    from benchmarks.draws import NoNumbers

    raise NoNumbers("refused: there is nothing to fit")


def test_draws_are_fixed_numbers_that_a_file_keeps(tmp_path):
    import benchmarks.draws as draws

    cells = [draws.Cell("a", drawn, {"scale": 2.0}, 4), draws.Cell("b", refused)]
    file = tmp_path / "done.jsonl"
    found = draws.Draws(done=file).measured("table", cells)
    assert found["b"] == "refused: there is nothing to fit"
    # Of 0, 2, 4, 6: mean 3, variance 20 / 3, so that the error of the mean is sqrt(20 / 3 / 4).
    assert found["a"].mean.tolist() == [3.0, 1.0]
    assert found["a"].error == pytest.approx([(5 / 3) ** 0.5, 0.0])
    assert found["a"].draws == 4
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 5
    assert {line[0] for line in lines} == {draws.computing_version()}

    again = draws.Draws(done=file, ends=-1.0)  # no time is left, and none is needed
    assert again.measured("table", cells)["a"].mean.tolist() == [3.0, 1.0]
    more = [draws.Cell("a", drawn, {"scale": 2.0}, 6)]
    with pytest.raises(draws.Unfinished, match="2 draws are still to be made"):
        again.measured("table", more)
    with pytest.raises(draws.Unfinished):  # other options are another cell
        again.measured("table", [draws.Cell("a", drawn, {"scale": 3.0}, 4)])

    file.write_text(file.read_text(encoding="utf-8").replace(draws.computing_version(), "earlier"))
    with pytest.raises(draws.Unfinished, match="5 draws"):
        draws.Draws(done=file, ends=-1.0).measured("table", cells)
    older = draws.Draws(done=file, ends=-1.0, any_version=True)
    older.measured("table", cells)
    assert older.versions == {"earlier"}


def test_a_row_is_reproduced_or_has_a_cause():
    from benchmarks.papers.sheet import Cause, Sheet
    from benchmarks.papers.verdicts import CONTRADICTION, Estimate

    sheet = Sheet("t", "title", "method", {"PEV": 2, "RRE": 4})
    sheet.causes = [Cause("the two numbers exclude each other.", ("far",), CONTRADICTION)]
    sheet.add("near", [80.0, 0.44], [80.49, 0.4449])
    sheet.add("drawn", [Estimate(80.0, 0.6), None], [Estimate(81.9, 0.8), None])  # 1.9 of 2 errors of 1
    sheet.add("far", [80.0, 0.44], [80.0, 0.4451])
    sheet.add("other", [80.0, None], [80.51, None])
    sheet.add("large", [905.06, None], [906.8, None])  # 0.19 % of it
    sheet.add("not printed", [None, None], [3.0, 0.1])
    assert sheet.verdicts() == [
        *("reproduced", "reproduced", "(1) print contradicts itself", "not reproduced", "reproduced")
    ]
    assert "(1) print contradicts itself: the two numbers exclude each other." in sheet.as_markdown()
    with pytest.raises(ValueError, match="no finding"):
        Cause("it was not tried.", ("far",), "supposed")


def test_a_row_is_reproduced_only_where_so_many_draws_could_refuse_it():
    from benchmarks.papers.sheet import Cause, Sheet
    from benchmarks.papers.verdicts import Claim, Estimate

    sheet = Sheet("t", "title", "method", {"of 1000": 0, "CPU s": 1}, [Cause("said.", ("far", "it"))])
    sheet.not_judged = ("CPU s",)
    print_of = Estimate(122.0, 10.4, 1000)
    sheet.add("few draws", [print_of, 1.0], [Estimate(250.0, 100.0), 9.0])  # z = 1.3
    sheet.add("far", [print_of, 1.0], [Estimate(253.0, 25.0), 9.0])  # z = 4.8
    sheet.add("near", [print_of, 1.0], [Estimate(150.0, 20.0), 9.0])  # z = 1.2
    sheet.claims = [Claim("it rises", "it falls", False), Claim("it ends", "it ends", True)]
    differs = "(1) not reproduced"
    assert sheet.verdicts() == ["within chance", differs, "reproduced", differs, "reproduced"]
    assert f"| it rises | it falls | {differs} |" in sheet.as_markdown()


def test_one_draw_of_a_paper_is_within_chance_where_the_range_of_ours_contains_it():
    from benchmarks.draws import Means
    from benchmarks.papers.sheet import Sheet

    draws = np.array([[10.0, 1.0], [20.0, 1.0], [30.0, 1.0]])
    means = Means(draws.mean(axis=0), np.array([5.8, 0.0]), 3, draws.min(axis=0), draws.max(axis=0))
    sheet = Sheet("t", "title", "method", {"wrong, %": 1, "sets": 0}, one_draw=True)
    sheet.add("inside", [29.0, 1.0], means)
    sheet.add("outside", [45.0, 1.0], means)
    sheet.add("other", [29.0, 3.0], means)
    assert sheet.verdicts() == ["within chance", "not reproduced", "not reproduced"]
    assert "| inside | 29.0 | 20.0 (10.0 to 30.0) | 1 | 1 | 3 | within chance |" in sheet.as_markdown()


def test_readings_of_a_printed_row_count_once_by_the_best_finding():
    from benchmarks.papers.counting import totals
    from benchmarks.papers.sheet import Sheet

    sheet = Sheet("t", "title", "method", {"PEV": 2}, readings=("projection",))
    sheet.add("rSVD", [70.0], [60.0])
    sheet.add("rSVD, projection", [70.0], [70.1])
    sheet.add("BCD", [75.0], [75.2])
    sheet.add("BCD, other data", [80.0], [75.2])
    every, own = totals(sheet.as_markdown())
    assert every == {"with a setting": 1, "reproduced": 1, "not reproduced": 1}
    assert own == {"reproduced": 1, "not reproduced": 1}


def test_every_row_of_the_papers_is_remade_or_says_why_not():
    from benchmarks.papers.__main__ import TABLES
    from benchmarks.papers.rows import ROWS

    where = [place for items in ROWS.values() for place in items.values()]
    assert set(TABLES) <= {place.split(" ")[0] for place in where}
    for place in where:
        first = place.split(" ")[0]
        if "::" not in place and first.partition("-")[0] in ROWS:
            assert first in TABLES
        for part in place.split("tests/")[1:]:  # a file and the tests in it
            file, _, names = part.partition("::")
            text = (ROOT / "tests" / file).read_text(encoding="utf-8")
            assert names
            for name in re.findall(r"test_\w+", names):
                assert f"def {name}(" in text


def test_pages_of_the_papers_count_the_rows_that_they_show():
    from benchmarks.papers.counting import recounted
    from benchmarks.report import PAPERS, page_of

    for paper in PAPERS:
        page = page_of(f"papers-{paper}").read_text(encoding="utf-8")
        assert recounted(page) == page


def test_the_page_of_figures_states_what_the_pages_of_results_found():
    from benchmarks.papers import pictures

    shown = pictures.FOLDER.with_suffix(".md").read_text(encoding="utf-8")
    assert shown == pictures.page(pictures.all_pictures())


def test_without_data_a_table_names_the_file_and_the_page_stays(tmp_path, capsys):
    from benchmarks.papers.__main__ import main
    from benchmarks.report import page_of

    before = page_of("papers-dou2011").read_text(encoding="utf-8")
    assert main(["dou2011-fig4", "he2010-5", "--data", str(tmp_path), "--write"]) == 0
    said = capsys.readouterr().out
    assert "skipped: micro_khan.npz is not in the folder of --data." in said
    assert "skipped: micro_golub.npz is not in the folder of --data." in said
    assert "dou2011-fig4 is not written" in said
    assert "the paper states" not in said
    assert page_of("papers-dou2011").read_text(encoding="utf-8") == before


class FirstCells(Exception):
    """Raised instead of measuring; the first argument has the cells."""


def test_every_fit_of_the_papers_names_options_that_exist(tmp_path):
    from benchmarks.draws import Draws
    from benchmarks.papers.__main__ import TABLES
    from benchmarks.papers.fits import Call, fit_or_none

    class Unmeasured(Draws):
        def measured(self, table, cells):
            raise FirstCells(list(cells))

    fits = {}
    for table in TABLES.values():
        try:
            table(Call(tmp_path, full=True, draws=Unmeasured()))
        except FirstCells as first:
            given = [cell.given for cell in first.args[0] if "method" in cell.given]
            fits |= {(call["method"], *call.get("options", ())): call.get("options", {}) for call in given}
    assert len(fits) > 50
    data = np.random.default_rng(0).standard_normal((12, 4))
    for (method, *_), options in fits.items():
        named = {name: value for name, value in options.items() if name != "nonzeros"}  # of a search
        fit_or_none(data, 2, method, **named)  # None if the values suit other data only


def test_an_option_that_does_not_exist_ends_the_table():
    from benchmarks.papers.fits import fit

    with pytest.raises(UnknownOptionError, match="alpha"):
        fit(sp.datasets.load_pitprops(), 2, "nspca", covariance=True, alpha=1.0)


def test_the_index_names_every_page_and_every_section_is_on_its_page():
    from benchmarks.report import ELSEWHERE, PAGES, RESULTS, page_of

    index = RESULTS.with_name("RESULTS.md").read_text(encoding="utf-8")
    pages = {page.stem: page.read_text(encoding="utf-8") for page in RESULTS.glob("*.md")}
    assert pages.keys() == {*PAGES.values(), *ELSEWHERE.values()}
    for name, text in pages.items():
        assert f"(results/{name}.md)" in index
        for section in re.findall(r"<!-- (\S+):begin -->", text):
            assert page_of(section).stem == name
            assert f"<!-- {section}:end -->" in text


@pytest.mark.parametrize("command", ["quality", "proofs", "speed", "trust", "constraints", "steering"])
def test_every_table_is_on_a_page(command):
    from benchmarks.report import page_of

    module = importlib.import_module(f"benchmarks.{command}{'' if command in ONE_FILE else '.__main__'}")
    for name in {**module.TABLES, **getattr(module, "SCALE", {})}:
        page = page_of(f"{command}-{name}").read_text(encoding="utf-8")
        section = page.split(f"<!-- {command}-{name}:begin -->")[1].split(":end -->")[0]
        assert f"`python -m benchmarks.{command} {name}" in section


#: Tables of errors that need no data but those they draw.
DRAWN = ["few-rows", "missing", "imputations", "intervals", "given", "together", "neighbours", "groups"]
DRAWN += ["clusters", "correlated-noise", "noise", "noise-split", "rows", "robust", "robust-loss"]


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_tables_of_errors_are_measured(name):
    """One data set for each model, as the functions that they call may have changed."""
    from benchmarks.trust.__main__ import TABLES
    from benchmarks.trust.sets import Call

    assert TABLES[name](Call(sets=1)).rows


def test_rules_and_numbers_that_are_replaced_exist():
    from benchmarks import ablation, steering

    assert all(hasattr(place, name) for _, place, name, _ in ablation.RULES.values())
    numbers = [number for name, table in vars(steering).items() if name.startswith("OF_") for number in table]
    assert numbers
    assert all(number.words() for number in (*steering.SEARCH, *numbers))


INDEX = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", re.findall(r"`python -m (benchmarks\.[^`]*)`", INDEX))
def test_the_commands_of_the_index_are_valid(command, monkeypatch, capsys):
    """With ``--help`` a command line ends before anything is measured; unknown options end it with 2."""
    module, *words = command.split()
    target = importlib.import_module(
        module if module.removeprefix("benchmarks.") in ONE_FILE else f"{module}.__main__"
    )
    with pytest.raises(SystemExit) as end:
        target.main(["--help"])
    assert end.value.code == 0
    options = capsys.readouterr().out
    assert all(word in options for word in words if word.startswith("--"))
    tables = {**target.TABLES, **getattr(target, "SCALE", {})}
    known = {*tables, "DIR", "WORK", *PAPERS}
    assert all(word in known for word in words if not word.startswith("--"))


# --- Beside other programs: the measuring function, its rows, what is said without R --------------


def test_closed_forms():
    S = np.diag([4.0, 3.0, 2.0, 1.0])
    axes = measured(np.eye(4)[:, :2], S)
    assert (axes.pev, axes.adjusted, axes.variances) == pytest.approx((0.7, 0.7, 0.7))
    assert axes.violation == 0.0
    v = np.array([1.0, 1.0, 0.0, 0.0]) / np.sqrt(2.0)
    twice = measured(np.column_stack([np.eye(4)[0], v]), S)
    # together they span the first two axes; each by itself explains 4 and 3.5
    assert twice.pev == pytest.approx(0.7)
    assert twice.variances == pytest.approx(0.75)
    assert twice.violation == pytest.approx(np.sqrt(0.5))
    # the axis first, 4, and what it leaves of the other score, whose covariance with it is sqrt(8)
    assert twice.adjusted == pytest.approx((4.0 + 3.5 - 8.0 / 4.0) / 10.0)
    assert measured(np.zeros((4, 2)), S).pev == 0.0


def test_without_r_the_page_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert "R is not installed" in fits.run_r(tmp_path)
    cells = fits.prepare(tmp_path, None)
    assert ("pitprops", 6, 4) in cells
    X = np.loadtxt(tmp_path / "pitprops.csv", delimiter=",")
    np.testing.assert_allclose(np.cov(X.T), sp.datasets.load_pitprops(), atol=1e-12)
