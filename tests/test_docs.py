"""Pages, examples, the gallery and what goes out with a release."""

from __future__ import annotations

import configparser
import doctest
import importlib
import importlib.metadata
import inspect
import re
import runpy
import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
import pytest

import spcastat
import spcastat as sp
from spcastat import plots

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


# --- The gallery is that of its script: every figure is there, with the lines that draw it --------

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture
def module(monkeypatch):
    """The script, imported as it lies among the documents."""
    monkeypatch.syspath_prepend(str(DOCS))
    found = importlib.import_module("gallery")
    yield found
    sys.modules.pop("gallery")


def test_the_page_is_that_of_the_script(module):
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    names = [figure.name for figure in module.FIGURES]
    assert len(set(names)) == len(names)
    assert {path.stem for path in (DOCS / "gallery").glob("*.png")} == set(names)
    for figure in module.FIGURES:
        assert f"(gallery/{figure.name}.png)" in page
        assert all(line in page for line in figure.code.splitlines())


def test_twelve_data_sets_of_the_sizes_that_people_have(module):
    used = {figure.data for figure in module.FIGURES} & set(module.SHAPES)
    assert len(used) == 12
    sizes = [module.SHAPES[name]()[0].shape for name in used]
    assert {13, 30, 100, 2000} <= {p for _, p in sizes}
    assert (min(n for n, _ in sizes), max(n for n, _ in sizes)) == (50, 10_000)


def test_the_lines_of_the_first_figure_run(module):
    figure = next(one for one in module.FIGURES if one.name == "wine")
    df, group = module.MAKERS[figure.data]()
    names = {"sp": module.sp, "pd": pd, "df": df, "group": pd.Series(group, name="group")}
    before = dict(matplotlib.rcParams)
    exec(figure.code, names)
    assert names["ax"].get_legend() is not None
    assert dict(matplotlib.rcParams) == before
    plt.close("all")


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


def test_the_description_is_read_without_the_files_beside_it():
    described = runpy.run_path(str(RELEASE_ROOT / "setup.py"))["described"]
    readme = (RELEASE_ROOT / "README.md").read_text(encoding="utf-8")
    text = described(readme)
    assert [link for link in LINK.findall(text) if not link.startswith("https://")] == []
    assert "<!--" not in text
    assert text.count("```") == readme.count("```")
    assert "Wide data: genes and words (`vignettes/08-wide-data.md`)" in text
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
