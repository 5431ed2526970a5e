"""Pages, examples, vignettes, the gallery, the README and what goes out with a release."""

from __future__ import annotations

import ast
import configparser
import contextlib
import doctest
import importlib
import importlib.metadata
import inspect
import io
import pkgutil
import re
import runpy
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import spcastat
import spcastat as sp
from spcastat import plots
from spcastat.plots.blocks import Block
from spcastat.plots.names import Names

# --- The API page names everything that is public -------------------------------------------------

TEXT = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
PAGE = TEXT.split()
#: Constants, records, and functions of matrices that other packages share.
NO_ENTRY = ("MEASURES", "Measure", "measures_of", "adjusted_variances", "best_order")


@pytest.mark.parametrize("name", re.findall(r"^   (?!spcastat)(\w+(?:\.\w+)+)$", TEXT, re.M))
def test_every_line_of_the_reference_is_there(name):
    module, _, attribute = f"spcastat.{name}".rpartition(".")
    assert hasattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize(
    ("module", "prefix"),
    [(sp, ""), (sp.measures, "measures."), (plots, "plots."), (sp.datasets, "datasets.")],
)
def test_every_public_function_has_its_line_in_the_reference(module, prefix):
    functions = [name for name in module.__all__ if inspect.isfunction(getattr(module, name))]
    expected = {
        f"{prefix}{name}" for name in functions if not name.endswith("_data") and name not in NO_ENTRY
    }
    assert expected
    assert expected <= set(PAGE)


# --- The examples in docstrings print what they say -----------------------------------------------

ROOT = Path(spcastat.__file__).parent
MODULES = [
    ".".join(["spcastat", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")
    for path in sorted(ROOT.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name):
    if name == "spcastat.sklearn":
        pytest.importorskip("sklearn")
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed


def methods_of_fits() -> Iterator[tuple[str, str]]:
    """Yield the name and the docstring of each public method of fits."""
    for fit in (sp.SpcaResult, sp.results.loadings.SparseLoadings):
        for name in dir(fit):
            if not name.startswith("_") and inspect.isfunction(inspect.getattr_static(fit, name)):
                yield f"{fit.__name__}.{name}", inspect.getdoc(getattr(fit, name)) or ""


@pytest.mark.parametrize(("name", "text"), list(methods_of_fits()))
def test_every_method_of_a_fit_has_an_example_and_related_methods(name, text):
    for heading in ("See Also\n--------\n", "Examples\n--------\n>>> import spcastat as sp\n"):
        assert heading in text
    related = re.findall(r"(?m)^([\w., ]+) : ", text.split("See Also")[1].split("Examples")[0])
    fit = getattr(sp, name.split(".")[0], sp.SpcaResult)
    for other in [one.strip() for line in related for one in line.split(",")]:
        owner = sp if other.startswith("spcastat.") else fit
        assert hasattr(owner, other.removeprefix("spcastat.").split(".")[-1]), other


# --- The sections of docstrings name what is there ------------------------------------------------

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}
CLASSES = {
    node.name: node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
}


def documented(node: ast.AST) -> Iterator[str]:
    """Yield the names in the sections "Parameters" and "Attributes" of a docstring."""
    text = ast.get_docstring(node) or ""  # type: ignore[arg-type]
    for section in re.findall(r"(?ms)^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[\w ]*\n---+$|\Z)", text):
        for names in re.findall(r"(?m)^(?! )(.+?)(?: : .*)?$", re.sub(r",\n", ", ", section)):
            yield from (name.lstrip("*") for name in names.split(", "))


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef, tree: ast.AST) -> set[str]:
    """Return the parameters of a function, and the keywords in ``**options`` of its definitions."""
    taken = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    for other in ast.walk(tree) if function.args.kwarg else ():
        if isinstance(other, FUNCTION) and other.name == function.name and other.args.kwarg:
            words = re.findall(r"\w+", ast.unparse(other.args.kwarg.annotation or ast.Tuple([])))
            taken |= members(words[-1], tree) if "Unpack" in words else set()
    return taken


def members(name: str, tree: ast.AST) -> set[str]:
    """Return the fields, methods, arguments and attributes of a class and of its bases in the package."""
    if name not in CLASSES:
        return set()
    found = set()
    for base in CLASSES[name].bases:
        found |= members(re.findall(r"\w+", ast.unparse(base).partition("[")[0])[-1], tree)
    for node in ast.walk(CLASSES[name]):
        if isinstance(node, FUNCTION):
            found |= {node.name} | (parameters(node, tree) if node.name == "__init__" else set())
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found |= {node.attr} if ast.unparse(node.value) == "self" else set()
    for node in CLASSES[name].body:
        if isinstance(node, ast.Assign):
            found |= {ast.unparse(target) for target in node.targets}
        elif isinstance(node, ast.AnnAssign):
            found.add(ast.unparse(node.target))
    return found


@pytest.mark.parametrize("path", TREES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_docstrings_name_parameters_and_attributes_that_exist(path):
    for node in ast.walk(TREES[path]):
        if isinstance(node, FUNCTION):
            unknown = set(documented(node)) - parameters(node, TREES[path])
        elif isinstance(node, ast.ClassDef):
            unknown = set(documented(node)) - members(node.name, TREES[path])
        else:
            continue
        assert not unknown, f"{node.name}, line {node.lineno}: {sorted(unknown)}"


# --- The gallery is that of its script: every figure has its thumbnail, and a page with its code --

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture
def module(monkeypatch):
    """The script, imported as it lies among the documents."""
    monkeypatch.syspath_prepend(str(DOCS))
    found = importlib.import_module("gallery")
    yield found
    sys.modules.pop("gallery")


def test_the_pages_are_those_of_the_script(module):
    index = (DOCS / "gallery.md").read_text(encoding="utf-8")
    names = [figure.name for figure in module.FIGURES]
    sections = [name for _, section in module.SECTIONS.values() for name in section]
    assert sorted(sections) == sorted(set(names))
    assert len(set(names)) == len(names)
    for kind in ("*.png", "*.md"):
        assert {path.stem for path in (DOCS / "gallery").glob(kind)} == set(names)
    for figure in module.FIGURES:
        assert f"[![](gallery/{figure.name}.png) {figure.title}](gallery/{figure.name}.md)" in index
        assert f"\ngallery/{figure.name}\n" in index
        assert FIGURES[figure.name] == module.code_of(figure) + "\n"
        # a reader wants the call, and a screen of simulation before it hides this
        assert FIGURES[figure.name].count("\n") <= 30


def test_the_glossary_has_the_headings_of_the_prints_of_a_choice():
    """A reader who meets "of best %" or IS in a print looks it up there."""
    glossary = (DOCS / "glossary.md").read_text(encoding="utf-8")
    terms = " ".join(re.findall(r"(?m)^([^ `#\n].*)\n  ", glossary))
    choice = sp.choose(sp.datasets.load_wine(), scale=True, repeats=1)
    tables = str(choice.summary()).split("\n\n")[1:3]
    headings = [word for table in tables for word in re.split(r"  +", table.split("\n")[0].strip())]
    assert {"next p", "IS"} < set(headings)
    headings += ["adjusted", "score |r|", "partition"]
    explained = {"p", "cum. %"}  # of every statistician
    assert [word for word in headings if word not in terms and word not in explained] == []


def test_the_terms_of_the_glossary_are_in_alphabetical_order_and_there_once():
    glossary = (DOCS / "glossary.md").read_text(encoding="utf-8")
    terms = [term.casefold() for term in re.findall(r"(?m)^([^ `#\n].*)\n  ", glossary)]
    letters = [re.sub(r"[^a-z0-9 ]", "", term) for term in terms]
    assert len(terms) > 70
    assert letters == sorted(set(letters))


#: The code of each figure, by its name.
FIGURES = {
    path.stem: path.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    for path in sorted((DOCS / "gallery").glob("*.md"))
}
#: Figures drawn in each run: others differ from these in the calls, which have tests of their own.
QUICK = ("wine", "coloured", "far-row", "spectra", "dark", "one-component")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name in FIGURES
        if not name.startswith("table-")
    ],
)
def test_the_code_of_a_figure_runs_as_it_is_pasted(name):
    if "sklearn" in FIGURES[name]:
        pytest.importorskip("sklearn")
    names: dict[str, Any] = {}
    exec(FIGURES[name], names)
    assert names["ax"].figure.axes
    plt.close("all")


@pytest.mark.parametrize("name", [name for name in FIGURES if name.startswith("table-")])
def test_the_data_of_a_figure_load_as_they_are_pasted(name):
    """Numbers in two columns or more, and groups where the figure has them; the choice takes longer."""
    load, _, figure = FIGURES[name].partition("choice =")
    for library in ("sklearn", "statsmodels"):
        if library in load:
            pytest.importorskip(library)
    names: dict[str, Any] = {}
    exec(load, names)
    assert names["df"].select_dtypes("number").shape == names["df"].shape
    if "groups=group" in figure:
        assert len(names["group"]) == len(names["df"])


# --- Questions and messages ------------------------------------------------------------------------

FAQ = (DOCS / "faq.md").read_text(encoding="utf-8")
ROWS = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)), columns=list("abcd"))
IMPOSSIBLE = pd.DataFrame([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]], list("abc"), list("abc"))
#: The calls whose messages are headings of the page.
QUESTIONS: dict[str, Callable[[], Any]] = {
    "there is no such file": lambda: sp.spca("nowhere.csv", 2),
    "does not contain real numbers": lambda: sp.spca(ROWS.assign(kind="x"), 2, card=2),
    "missing value": lambda: sp.spca(ROWS.where(ROWS < 2), 2, card=2),
    "look like a covariance or correlation matrix": lambda: sp.spca(ROWS.corr(), 2, card=2),
    "The matrix is not positive semidefinite": lambda: sp.spca_cov(IMPOSSIBLE, 2, card=2),
    "does not vary": lambda: sp.spca(ROWS.assign(e=1.0), 2, card=2, scale=True),
    "has no attribute 'explained_variance_ratio_'": lambda: (
        sp.spca(ROWS, 2, card=2).explained_variance_ratio_
    ),
}


def test_every_quoted_question_is_a_message():
    walk = np.random.default_rng(0).normal(size=(100, 4)).cumsum(axis=0)
    messages = {"Scores of successive rows are correlated": " ".join(sp.spca(walk, 2, card=2).notes)}
    for heading, call in QUESTIONS.items():
        with pytest.raises((sp.errors.SpcaError, AttributeError)) as raised:
            call()
        messages[heading] = str(raised.value)
    assert set(re.findall(r'(?m)^### "(.*)"$', FAQ)) == set(messages)
    for heading, message in messages.items():
        assert heading in " ".join(message.split())


def test_the_page_of_measures_has_the_figures_of_its_example():
    text = (DOCS / "measures.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names: dict[str, Any] = {}
    *lines, last = code.strip().splitlines()
    exec("\n".join(lines), names)
    pev, adjusted, least_squares = eval(last, names)
    assert (pev, adjusted, least_squares) == pytest.approx((2.5 / 3, (2.5 - 0.125 / 1.5) / 3, 29 / 33))
    for value in (pev, adjusted, least_squares):
        assert f"{value:.4f}".lstrip("0") in text
    # the eigenvalues of this tridiagonal matrix are 1 + sqrt(1/2), 1 and 1 - sqrt(1/2)
    assert f"{(2 + 0.5**0.5) / 3:.4f}".lstrip("0") in text


def test_the_page_of_methods_states_the_figures_of_its_table():
    """The times and shares in the text are those of the table of all methods, rounded."""
    text = (DOCS / "choosing_a_method.md").read_text(encoding="utf-8")
    prose = " ".join(text.split())
    rows = {row[0]: row for row in cells_of(text.split("### Every method")[1].split("###")[0])}
    by_pev, by_least_squares = rows["joint, objective='pev'"], rows["joint, objective='least_squares'"]
    fits = (rows["joint"], rows["joint, effort='quick'"], by_pev, by_least_squares)
    default, quick, pev, least_squares = (f"{int(row[-1]) / 1000:.2f} s" for row in fits)
    assert (
        f"The fit of the pitprops takes {default} for adjusted variance ({quick} with "
        f'`effort="quick"`), {pev} for PEV and {least_squares} for the least-squares share'
    ) in prose
    assert f"| adjusted variance {float(rows['joint'][2]):.1f} %; the other" in prose
    assert f"one descent of `bcd-l0` reaches {float(rows['bcd-l0'][2]):.1f} %" in prose
    assert f"| PEV {float(by_pev[3]):.1f} %; the other" in prose
    assert f"One descent of `bcd-l1` reaches {float(rows['bcd-l1'][3]):.1f} %" in prose
    assert f"adjusted variance {float(rows['pca'][2]):.1f} % with 78 nonzeros" in prose


# --- What goes out with a release -----------------------------------------------------------------

RELEASE_ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\(([^)]*)\)")


def setup_cfg() -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(RELEASE_ROOT / "setup.cfg", encoding="utf-8")
    return config


def test_the_version_is_written_in_one_place():
    assert setup_cfg()["metadata"]["version"] == "attr: spcastat.version.__version__"
    assert importlib.metadata.version("spcastat") == spcastat.__version__
    written = f'__version__ = "{spcastat.__version__}"'
    assert written in (RELEASE_ROOT / "spcastat" / "version.py").read_text(encoding="utf-8")
    for name in ("setup.cfg", "setup.py", "pyproject.toml", "CITATION.cff", "docs/conf.py", "README.md"):
        text = (RELEASE_ROOT / name).read_text(encoding="utf-8")
        assert not re.search(rf"(?<![\d.]){re.escape(spcastat.__version__)}(?![\d.])", text), name
    changelog = (RELEASE_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"(?m)^## (\S+)", changelog).group(1) == spcastat.__version__  # type: ignore[union-attr]


def test_the_links_of_the_readme_lead_to_files():
    links = LINK.findall((RELEASE_ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 10
    assert [link for link in links if ":" not in link and not (RELEASE_ROOT / link).exists()] == []


def test_the_links_of_pages_lead_to_pages():
    """Vignettes are built in a folder of docs/, and conf.py changes their links to pages of docs/."""
    pages = [*DOCS.glob("*.md"), *VIGNETTES]
    written = {"changelog.md", "references.md"}  # by conf.py
    for page in pages:
        text = re.sub(r"(?s)```.*?```", "", page.read_text(encoding="utf-8"))
        for link in LINK.findall(text):
            target = link.partition("#")[0]
            if ":" in link or not target or target in written:
                continue
            if page.parent == DOCS and not target.startswith("../benchmarks/"):  # which conf.py copies
                assert not target.startswith("../"), f"{page.name}: {link} leads out of docs/"
            folder = RELEASE_ROOT if target.startswith("vignettes/") else page.parent
            assert (folder / target).exists(), f"{page.name}: {link}"


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/bounds.md", "CONTRIBUTING.md"])
def test_modules_files_and_names_of_pages_for_developers_exist(page):
    """Names such as `fit.plan.make_plan`, and files such as `fit/frames.py:communalities`."""
    package = RELEASE_ROOT / "spcastat"
    text = (RELEASE_ROOT / page).read_text(encoding="utf-8")
    quoted = re.findall(r"`([^`\n]+)`", text)
    for name in quoted:
        module = package.joinpath(*name.split(".")[:2])
        exists = module.with_suffix(".py").is_file() or (module / "__init__.py").is_file()
        if exists and "." in name and all(one.isidentifier() for one in name.split(".")):
            pkgutil.resolve_name(f"spcastat.{name}")
    for path, member in re.findall(r"`([\w/]+/\w+\.py)(?::(\w+))?`", text):
        found = [folder / path for folder in (package, RELEASE_ROOT) if (folder / path).is_file()]
        assert found, path
        assert member in found[0].read_text(encoding="utf-8"), (path, member)


def test_the_description_is_read_without_the_files_beside_it():
    described = runpy.run_path(str(RELEASE_ROOT / "setup.py"))["described"]
    readme = (RELEASE_ROOT / "README.md").read_text(encoding="utf-8")
    text = described(readme)
    assert [link for link in LINK.findall(text) if not link.startswith("https://")] == []
    assert "<!--" not in text
    assert text.count("```") == readme.count("```")
    assert "<" not in text.split("```")[0]
    assert "wide data: genes and words (`vignettes/08-wide-data.md`)" in text
    kept = "[x](https://a.org) ![y](https://a.org/y.png)\n"
    assert described(f"{kept}![z](z.png)\n\n[a b](a.md), [c.md](c.md)") == f"{kept}a b (`a.md`), `c.md`"


def test_every_lower_bound_is_one_that_is_tried():
    oldest = {}
    for line in (RELEASE_ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, version = line.split("==")
            oldest[name] = tuple(map(int, version.split(".")))
    config = setup_cfg()
    wanted = config["options"]["install_requires"].splitlines()
    extras = config["options.extras_require"]
    wanted += [line for extra in ("test", "parquet", "sklearn") for line in extras[extra].splitlines()]
    wanted = [line for line in wanted if line]
    bounds = dict(re.fullmatch(r"([\w-]+) >= ([\d.]+)", line).groups() for line in wanted if "[" not in line)
    for name, bound in bounds.items():
        asked = tuple(map(int, bound.split(".")))
        assert oldest[name][: len(asked)] == asked, f"{name} >= {bound}, but .ci/oldest.txt tries another"
        assert not any(oldest[name][len(asked) :])


# --- The commands and examples of the README -------------------------------------------------------

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_published_control_keeps_the_share_with_more_nonzeros():
    """README: the fewest nonzeros found that keep 90 %."""
    R = sp.datasets.load_pitprops()
    found, published = (sp.spca_cov(R, 6, variance=0.9, method=name) for name in ("joint", "controlled"))
    for fit in (found, published):
        assert (fit.variance["cumulative adjusted"] >= 0.9 * fit.variance["cumulative PCA"] - 1e-9).all()
    assert found.card.sum() < published.card.sum()


# --- the examples and the counts ----------------------------------------------------------------


def test_the_blocks_of_python_run_as_pasted_and_print_what_is_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    sp.datasets.load_wine().to_csv("wines.csv", index=False)
    first, second = re.findall(r"(?s)```python\n(.*?)```", README)
    (shown,) = re.findall(r"(?s)```text\n(.*?)```", README)
    names: dict[str, Any] = {}
    with matplotlib.rc_context({"backend": "Agg"}):
        exec(compile(first, "README.md", "exec"), names)
        assert capsys.readouterr().out == shown
        exec(compile(second, "README.md", "exec"), names)
        plt.close("all")
    assert (tmp_path / "wines.html").stat().st_size > 10_000


def test_the_first_page_shows_what_its_code_prints(capsys):
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"(?s)```python\n(.*?)```", index)
    (shown,) = re.findall(r"(?s)```text\n(.*?)```", index)
    exec(compile(code, "index.md", "exec"), {})
    assert capsys.readouterr().out == shown


def test_the_citation_has_one_title_and_its_code_runs_as_pasted(capsys):
    page = (DOCS / "cite.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"(?s)```python\n(.*?)```", page)
    exec(compile(code, "cite.md", "exec"), {})
    shown = capsys.readouterr().out
    (title,) = re.findall(r"title = \{(spcastat[^}]*)\}", shown)
    citation = (RELEASE_ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'\ntitle: "{title}"\n' in citation
    assert f"title = {{{title}}}," in page
    assert f"The spcastat developers. {title}. Version X." in page
    assert f"The spcastat developers. {title}. Version" in shown


@pytest.mark.parametrize("folder", [DOCS, RELEASE_ROOT / "vignettes"], ids=["docs", "vignettes"])
def test_a_page_begins_with_its_answer(folder):
    """A reader of the first lines learns something, and not what the page is about."""
    for page in sorted(folder.glob("*.md")):
        text = re.sub(r"\A---.*?\n---\n", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.match(r"\s*# [^\n]*\n+(?:This|The) page\b", text), page.name


@pytest.mark.parametrize("folder", [DOCS, RELEASE_ROOT / "vignettes"], ids=["docs", "vignettes"])
def test_fences_of_directives_stand_on_lines_of_their_own(folder):
    """In a line of prose they would be shown to the reader, and the directive would not take effect."""
    for page in sorted(folder.glob("*.md")):
        lines = [line.strip() for line in page.read_text(encoding="utf-8").splitlines() if ":::" in line]
        assert [line for line in lines if not re.fullmatch(r":{3,}(?:\{[^}]*\}.*)?", line)] == [], page.name


def test_the_picture_has_the_figures_that_its_caption_states():
    """docs/first.png: the loadings and PEV of the three panels, in the caption and on the first page."""
    drawing = runpy.run_path(str(RELEASE_ROOT / "docs" / "first.py"))
    _, panels = drawing["panels"]()
    numbers = [int((panel.values != 0).sum()) for panel in panels]
    assert numbers == [96, 35, 24]
    assert ((panels[1].values != 0).sum(axis=1) > 1).sum() == 10
    assert [round(100 * panel.pev, 1) for panel in panels] == [55.9, 54.3, 52.5]
    caption = (
        "Varimax with the usual cut-off of .3 leaves 35 of 96 loadings: a test may load on several "
        "components, and ten do. The sparse fit has 24, because `disjoint=True` assigns each test to one "
        "component."
    )
    for page in (DOCS / "index.md", RELEASE_ROOT / "README.md"):
        assert caption in " ".join(page.read_text(encoding="utf-8").split())
    for name in ("first.png", "first-dark.png"):
        assert (DOCS / name).is_file()


def test_the_counts_of_the_papers_are_those_of_the_record():
    """README's counts, RESULTS.md and the pages agree, and so do the heads of the pages."""
    from benchmarks.papers.counting import in_words, totals
    from benchmarks.report import PAPERS, page_of

    record = (RELEASE_ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    every: Counter[str] = Counter()
    own: Counter[str] = Counter()
    for paper in PAPERS:
        counts, own_counts = totals(page_of(f"papers-{paper}").read_text(encoding="utf-8"))
        (row,) = [line for line in record.splitlines() if line.startswith(f"| [papers-{paper}]")]
        assert row.split("|")[3].strip() == in_words(counts)
        every += counts
        own += own_counts
    stated = re.search(
        r"Of (\d+) printed rows, (\d+) are reproduced, (\d+) of these with a setting that the paper omits or "
        r"within its sampling error, and (\d+) are better than printed. Of the others, (\d+) contradict "
        r"another printed figure, (\d+) cannot be decided from the papers, and (\d+) are not reproduced. Of "
        r"the (\d+) rows of the papers' own methods, (\d+) are not",
        " ".join(README.split()),
    )
    assert stated is not None
    indirect = every["with a setting"] + every["within chance"]
    assert list(map(int, stated.groups())) == [
        every.total(),
        every["reproduced"] + indirect,
        indirect,
        every["better than printed"],
        every["print contradicts itself"],
        every["undecidable"],
        every["not reproduced"],
        own.total(),
        own["not reproduced"],
    ]


def test_the_figures_of_other_programs_are_those_of_the_record():
    record = (RELEASE_ROOT / "benchmarks" / "results" / "peers.md").read_text(encoding="utf-8")
    short, pev = (record.split(head)[1].split("\n### ")[0] for head in ("### In short", "### PEV, ours"))
    summary = {row[0].split(" (")[0]: row for row in cells_of(short)}
    names, *values = cells_of(pev)
    pitprops = next(dict(zip(names, row, strict=True)) for row in values if row[0] == "pitprops, 6 of 4")
    own_table = record.split("### PEV of scikit-learn's SparsePCA")[1]
    refitted = next(row[2] for row in cells_of(own_table) if row[0] == "pitprops, 6 of 4")
    (table,) = re.findall(r"(?s)\n\| program \|.*?\n\n", README)
    rows = cells_of(table)[2:]
    assert len(rows) == 6
    for program, _, counts, behind, share, faster in rows:
        name = {"scikit-learn `SparsePCA`, refitted": "sklearn"}.get(program, program.split(" (")[0])
        assert share == (refitted if name == "sklearn" else pitprops[name])
        if name == "spcastat":
            continue
        assert faster == summary[name][6]
        if name == "sklearn":  # refitted on its supports, in a table of its own
            assert f"after refitting: {counts}; median points" in own_table
            assert f"points behind on the 25 common settings: {behind}." in own_table
            assert f"({summary[name][5]} points below without refitting)" in README
            continue
        ahead, level, lost = summary[name][3].split(" / ")
        assert counts == f"{lost} / {level} / {ahead}"
        assert behind == summary[name][5]


def test_medians_of_other_programs_are_over_the_settings_that_all_of_them_fit():
    """The medians of README and of the record, from the record's PEV of each setting (two decimals)."""
    record = (RELEASE_ROOT / "benchmarks" / "results" / "peers.md").read_text(encoding="utf-8")
    short, pev = (record.split(head)[1].split("\n### ")[0] for head in ("### In short", "### PEV, ours"))
    names, _, *settings = cells_of(pev)
    found = pd.DataFrame(settings, columns=names).set_index(names[0]).replace("-", np.nan).astype(float)
    compared = ["msPCA", "nsprcomp", "elasticnet", "PMA", "sklearn"]
    common = found.dropna(subset=compared)
    assert len(common) == 25
    for program, *_, behind, _, _ in cells_of(short)[2:]:
        gaps = common["spcastat"] - common[program.split(" (")[0]]
        if behind == "-":
            assert gaps.isna().any()
        else:
            assert float(behind) == pytest.approx(gaps.median(), abs=0.06)  # rounded, from rounded figures


def cells_of(table: str) -> list[list[str]]:
    """Return the cells of the rows of a Markdown table in a text."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_readme_fits_on_a_few_screens():
    assert len(README.splitlines()) <= 130


# --- The vignettes run from beginning to end -------------------------------------------------------

VIGNETTES = sorted((Path(__file__).resolve().parents[1] / "vignettes").glob("*.md"))


class Piece(NamedTuple):
    """A stretch of a file: a cell to run, or text; `line` is the number of its first line."""

    line: int
    source: str
    cell: bool
    raises: bool


def pieces_of(text: str) -> Iterator[Piece]:
    """Cut MyST Markdown into code cells and the text between them; other code blocks are neither."""
    lines: list[str] = []
    start, fence = 1, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            cell = fence.startswith("```{code-cell}")
            if cell or not fence:
                yield Piece(start, "\n".join(lines), cell, _raises(lines))
            fence = "" if fence else line
            lines, start = [], number + 1
        else:
            lines.append(line)
    assert not fence, f"the block that opens as {fence!r} in line {start - 1} is never closed"
    yield Piece(start, "\n".join(lines), False, False)


def _raises(lines: list[str]) -> bool:
    return any(line.startswith(":tags:") and "raises-exception" in line for line in lines)


def run(piece: Piece, path: Path, names: dict[str, Any]) -> str:
    """Run a cell as a notebook does, and return what it shows: what it prints, and its last expression."""
    source = re.sub(r"(?m)^:\w+:.*$", "", piece.source)
    tree = ast.parse("\n" * (piece.line - 1) + source, str(path))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(compile(tree, str(path), "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), str(path), "eval"), names)
            if value is not None:
                getattr(value, "_repr_html_", str)()
                print(repr(value))
    return shown.getvalue()


#: Characters of code that a page shows without scrolling, on a screen of 1280 pixels.
CODE_WIDTH = 90


@pytest.mark.parametrize("path", [*VIGNETTES, DOCS / "study.md"], ids=lambda path: path.stem)
def test_code_fits_the_width_of_its_page(path):
    """Rows of numbers, which are data, may be longer."""
    lines = [
        line
        for piece in pieces_of(path.read_text(encoding="utf-8"))
        for line in piece.source.splitlines()
        if piece.cell
    ]
    assert [line for line in lines if len(line) > CODE_WIDTH and re.search("[a-z]{2}", line)] == []


def place(error: BaseException, path: Path) -> str:
    """Return file:line of the innermost line of `path` in a traceback."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = frames[-1].lineno if frames else getattr(error, "lineno", "?")
    return f"{path.name}:{line}"


def names_in_tables(prose: str) -> list[str]:
    """Return the names of lines, rows, columns and marks of printed tables that a text explains."""
    quoted = re.findall(r'\b(?:line|row|column|mark|table) (?:"([^"]+)"|`([^`]+)`)', prose)
    return [first or second for first, second in quoted]


def read_through(path: Path) -> dict[str, Any]:
    """Run the cells of a file in turn and look for the figures of the text in what they have shown.

    Returns the names that the cells have defined.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = ""
    explained: list[str] = []
    for piece in pieces_of(path.read_text(encoding="utf-8")):
        if not piece.cell:
            explained += names_in_tables(piece.source)
            prose = re.sub(r"`[^`]*`", "", piece.source)
            missing = [figure for figure in re.findall(r"(?<![\w.])\d+\.\d+\b", prose) if figure not in shown]
            assert not missing, f"{path.name}:{piece.line}: no cell above shows {', '.join(missing)}"
            continue
        try:
            shown += run(piece, path, names)
        except Exception as error:
            if not piece.raises:
                raise AssertionError(f"{place(error, path)}: {type(error).__name__}: {error}") from error
            shown += f"{type(error).__name__}: {error}\n"
        else:
            assert not piece.raises, f"{path.name}:{piece.line}: the cell was to raise an error and did not"
    absent = [name for name in explained if name not in shown]
    assert not absent, f"{path.name}: no cell prints {', '.join(absent)}"
    return names


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """A folder of one's own, no windows, and frames shown whole."""
    monkeypatch.chdir(tmp_path)
    with (
        matplotlib.rc_context({"backend": "Agg"}),
        pd.option_context("display.max_columns", None, "display.width", 200, "display.max_colwidth", None),
    ):
        yield
    plt.close("all")


def test_the_readme_and_the_first_page_list_all_vignettes():
    readme = (VIGNETTES[0].parents[1] / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\(vignettes/(.*?)\)", readme)) == [path.name for path in VIGNETTES]
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"(?m)^vignettes/(.*)$", index)) == [path.stem for path in VIGNETTES]


#: Those that take seconds: with the slow tests.
LONG = (
    "01-getting-started",
    "03-explained-variance",
    "05-nonnegative-and-coordinates",
    "07-into-a-report",
    "08-wide-data",
    "09-coming-from-r",
    "10-larger-than-memory",
    "12-choosing",
    "13-figures-for-a-paper",
    "14-setting-the-sparsity",
)
CASES = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in LONG else [])
    for path in VIGNETTES
]


NUMBERS = ["zero", "one", "two", "three", "four", "five", "six"]
NUMBERS += ["seven", "eight", "nine", "ten", "eleven", "twelve"]


def named_after_their_largest_loadings(text: str, names: dict[str, Any]) -> None:
    """Page 1: the variables in parentheses are those with the largest loadings of each component."""
    described = text.split("- **Loadings.**")[1].split("- **")[0]
    found = re.findall(r"(PC\d)\b[^()]*\(((?:`\w+`[,\s]*)+)\)", described)
    loadings = names["choice"].fit.loadings.abs()
    assert [name for name, _ in found] == list(loadings)
    for name, variables in found:
        described_by = set(re.findall(r"\w+", variables))
        assert described_by == set(loadings[name].nlargest(len(described_by)).index), name


def as_many_definitions_as_the_table(text: str, names: dict[str, Any]) -> None:
    """Page 3: the numbers of measures in the text, and the rows of the table that defines them."""
    (table,) = re.findall(r"(?s)\n\| Name \|.*?\n\n", text)
    number = NUMBERS[len(cells_of(table)) - 2]
    for sentence in ("At least {} different quantities", "One fit, {} answers", "the {} measures range"):
        assert sentence.format(number) in " ".join(text.split())
    assert list(names["answers"].index) == [row[0] for row in cells_of(table)[2:]] + ["PCA"]


def centre_of_intervals(text: str, names: dict[str, Any]) -> None:
    """Page 11: the estimate for new rows is the centre of its interval on the logarithmic scale."""
    assert "is the centre of the interval on the logarithmic scale" in " ".join(text.split())
    table = names["boot"].variance_ci()
    np.testing.assert_allclose(table["held_out"], np.sqrt(table["lower"] * table["upper"]), rtol=1e-12)


def calls_that_agree_with_r(text: str, names: dict[str, Any]) -> None:
    """Page 9: as many calls agree to four decimals as the text says."""
    (agree, of) = re.findall(r"(\w+) of the (\w+) calls agree to four decimals", text)[0]
    differences = [row["largest difference"] for row in names["rows"].values()]
    assert NUMBERS.index(agree.lower()) == sum(one == 0.0 for one in differences)  # rounded to four decimals
    assert NUMBERS.index(of) == len(differences)


def numbers_of_components(text: str, names: dict[str, Any]) -> None:
    """Page 12: the numbers of components in the text are those of the tests."""
    sentence = (
        r"(\d+) components predict held-out rows and (\d+) or more exceed noise, so the number is (\d+)"
    )
    stated = re.findall(sentence, " ".join(text.split()))
    number = names["number"]
    assert [tuple(map(int, one)) for one in stated] == [(number.predicting, number.deflated, number.k)]
    words = " ".join(text.split())
    (stated,) = re.findall(r"Without the labels `choose_k` finds (\w+), and its printed output", words)
    assert NUMBERS.index(stated) == names["plain"].k
    assert "Warning: scores of successive rows are correlated" in str(names["plain"])
    assert "with the labels it finds none" in words
    assert names["by_class"].k == 0
    choice = names["choice"]
    assert "less than four fifths of what the best fit predicts" in " ".join(text.split())
    assert choice.table.loc[choice.table["chosen"], "kept"].min() >= 0.8


def tables_as_described(text: str, names: dict[str, Any]) -> None:
    """Page 7: the first line of LaTeX names packages, and contributions are percentages of a component."""
    words = " ".join(text.split())
    assert "its first line lists the packages needed" in words
    assert names["summary"].as_latex().splitlines()[0].startswith("% needs \\usepackage{")
    assert "as contributions in percent" in words
    fit = names["fit"]
    printed = fit.summary(tables="loadings", contributions=True).as_text(notes=False)
    shares = fit.loadings.to_numpy() ** 2
    assert all(f"{100 * share:.1f}" in printed for share in shares[shares > 0])
    np.testing.assert_allclose(shares.sum(axis=0), 1.0)
    assert "The page contains tables, plots, the call and the versions" in words
    page = Path("report.html").read_text(encoding="utf-8")
    assert all(word in page for word in ("<table", "<img", "spca(", np.__version__))


def figures_whose_texts_have_room(text: str, names: dict[str, Any]) -> None:
    """Page 13: no legend covers a name or a block of variables, and nothing leaves the figure."""
    figures = [plt.figure(number) for number in plt.get_fignums()]
    assert len(figures) >= 4
    for figure in figures:
        figure.canvas.draw()
        page = figure.bbox.expanded(1.01, 1.01)
        for ax in figure.axes:
            blocks = [part.get_window_extent() for part in ax.get_children() if isinstance(part, Block)]
            names_drawn = [box for part in ax.get_children() if isinstance(part, Names) for box in part.boxes]
            assert all(page.x0 <= box.x0 and box.x1 <= page.x1 for box in blocks if box.width > 0)
            if (legend := ax.get_legend()) is not None:
                covered = legend.get_window_extent()
                assert not any(covered.overlaps(box) for box in blocks + names_drawn if box.width > 0)


def scales_that_nearly_coincide(text: str, names: dict[str, Any]) -> None:
    """Page 16: the correlation of the scores, and of `retention` with both sums."""
    fit = names["fit"]
    (stated,) = re.findall(r"the two scores have a correlation of ([\d.]+)", text)
    assert f"{fit.score_correlations.iloc[0, 1]:.2f}" == stated
    retention = fit.scales().items.set_index("term").loc["retention"]
    assert retention["r_other"] > retention["r_rest"]


#: Function of (text, names after the last cell) that checks claims other than decimal figures.
CLAIMS: dict[str, Callable[[str, dict[str, Any]], None]] = {
    "01-getting-started": named_after_their_largest_loadings,
    "07-into-a-report": tables_as_described,
    "03-explained-variance": as_many_definitions_as_the_table,
    "09-coming-from-r": calls_that_agree_with_r,
    "11-how-sure": centre_of_intervals,
    "12-choosing": numbers_of_components,
    "13-figures-for-a-paper": figures_whose_texts_have_room,
    "16-groups-and-scales": scales_that_nearly_coincide,
}


def counts_of_stable_loadings(text: str, names: dict[str, Any]) -> None:
    """The study: four, four and two of five are stable."""
    text = " ".join(text.split())
    words = (
        "Four of the five properties of each of the first two components are stable, and two of the third."
    )
    assert words in text
    stable = names["halves"].stable & (names["fit"].loadings != 0)
    assert stable.sum().tolist() == [4, 4, 2]
    assert "reach 89 % of the PEV of three dense components, and 84 % of their adjusted variance" in text
    last = names["fit"].variance.iloc[-1]
    shares = [last[f"cumulative {measure}"] / last["cumulative PCA"] for measure in ("PEV", "adjusted")]
    assert [round(100 * share) for share in shares] == [89, 84]
    number = names["number"]
    assert number.k == number.parallel == number.deflated == number.kaiser == 3


CLAIMS["study"] = counts_of_stable_loadings
CASES.append(pytest.param(DOCS / "study.md", id="study", marks=[pytest.mark.slow]))


@pytest.mark.parametrize("path", CASES)
def test_vignette(path, notebook):
    names = read_through(path)
    if path.stem in CLAIMS:
        CLAIMS[path.stem](path.read_text(encoding="utf-8"), names)
