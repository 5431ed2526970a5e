"""The built documentation: SPCASTAT_PAGES names its folder, and these tests are skipped without it.

sphinx-build -W docs docs/_build && SPCASTAT_PAGES=docs/_build pytest tests/test_pages.py
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from spcastat import hints
from tests.show.chromium import CHROMIUM, browser

FOLDER = os.environ.get("SPCASTAT_PAGES")
pytestmark = pytest.mark.skipif(FOLDER is None, reason="SPCASTAT_PAGES is not set")
PAGES = Path(FOLDER or ".").resolve()
ROOT = Path(__file__).resolve().parents[1]
CELL = re.compile(r"```\{code-cell\}.*?\n(.*?)```", re.DOTALL)
DRAWING = re.compile(r"\.(?:biplot|screeplot|plot(?:_(?!data)[a-z]+)*)\(|\bplt\.subplot")
VIGNETTES = [path.stem for path in sorted((ROOT / "vignettes").glob("*.md"))]


@pytest.mark.parametrize("name", VIGNETTES)
def test_every_cell_that_draws_has_its_figure(name):
    cells = CELL.findall((ROOT / "vignettes" / f"{name}.md").read_text(encoding="utf-8"))
    page = (PAGES / "vignettes" / f"{name}.html").read_text(encoding="utf-8")
    figures = re.findall(r"<img[^>]*>", page)
    assert len(figures) == sum(bool(DRAWING.search(cell)) for cell in cells)
    assert all('.svg"' in figure and 'alt="Figure' in figure for figure in figures)


def test_pages_of_measurements_are_built_and_listed():
    index = (PAGES / "benchmarks" / "RESULTS.html").read_text(encoding="utf-8")
    names = [path.stem for path in (ROOT / "benchmarks" / "results").glob("*.md")]
    assert len(names) > 10
    for name in names:
        assert (PAGES / "benchmarks" / "results" / f"{name}.html").is_file()
        assert f'href="results/{name}.html"' in index
    for page in ("statements", "choosing_a_method", "proven"):
        assert 'href="benchmarks/results/' in (PAGES / f"{page}.html").read_text(encoding="utf-8")


def html_files() -> list[Path]:
    """The pages, without those of the theme and of sources of modules."""
    return sorted(path for path in PAGES.rglob("*.html") if "_modules" not in path.parts)


def test_no_page_shows_progress_or_objects():
    """Bars of tqdm, and axes as the value of a cell."""
    pages = html_files()
    assert len(pages) > 80
    for path in pages:
        text = path.read_text(encoding="utf-8")
        shown = [trace for trace in ("%|", "it/s]", "0 rounds", "&lt;Axes:") if trace in text]
        assert not shown, f"{path.name}: {shown}"


def test_no_page_shows_the_markup_it_is_written_in():
    """Fences, directives and roles of Markdown and reStructuredText that were not understood."""
    code = re.compile(r"(?s)<(pre|code|script|style)\b.*?</\1>")
    markup = re.compile(
        r":::|```|\{[a-z-]+\}`|\{grid|^\.\. [a-z-]+::|:(?:ref|doc|func|class|meth):", re.MULTILINE
    )
    for path in html_files():
        text = re.sub(r"<[^>]*>", "", code.sub("", path.read_text(encoding="utf-8")))
        assert markup.findall(text) == [], path.name


def test_reference_pages_list_members_and_name_no_files():
    """Classes begin with tables of their members, and say neither how they are made nor names of files."""
    pages = [path for path in html_files() if "generated" in path.parts]
    assert len(pages) > 60
    problems = []
    for path in pages:
        text = path.read_text(encoding="utf-8")
        problems += [f"{path.name}: {trace}" for trace in ("__new__", "docs/") if f"{trace}" in _words(text)]
        longest = max(len(_words(line)) for line in _signatures(text))
        if longest > 120:
            problems.append(f"{path.name}: a signature of {longest} characters on one line")
        members = text.count('<dt class="sig sig-object py" id="')
        if members > 4 and "autosummary longtable" not in text:
            problems.append(f"{path.name}: {members} members without a table")
    assert problems == []


@pytest.mark.parametrize(
    ("name", "keywords"), [("spca", hints.SpcaKeywords), ("choose", hints.ChoiceKeywords)]
)
def test_the_reference_of_a_function_lists_all_keywords(name, keywords):
    text = _words((PAGES / "generated" / f"spcastat.{name}.html").read_text(encoding="utf-8"))
    arguments = text.split("All arguments")[1].split("Used in")[0]
    assert [word for word in keywords.__annotations__ if not re.search(rf"\b{word}\b", arguments)] == []


def _words(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html)


def _signatures(html: str) -> list[str]:
    """The lines of signatures: parameters of long ones are list items."""
    signatures = re.findall(r'(?s)<dt class="sig sig-object py".*?</dt>', html)
    return [line for signature in signatures for line in re.split(r"<dd>|</dd>", signature)]


@pytest.fixture(scope="module")
def tab():
    if CHROMIUM is None:
        pytest.skip("no chromium")
    with browser() as one:
        yield one


@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_phones_and_screens_and_run_without_errors_or_requests(tab, width):
    tab.screen(width, 844)
    problems = []
    for path in html_files():
        if "generated" in path.parts and width == 1280:
            continue  # one template
        tab.open(path)
        problems += [f"{path.name}: {event}" for event in tab.ran()]
        if tab.js("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            problems.append(f"{path.name}: wider than {width} pixels")
    assert problems == []
