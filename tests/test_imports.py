"""The house: imports point down only, every module is installed and explained, the face stays light."""

from __future__ import annotations

import ast
import configparser
import graphlib
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import spcastat

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "spcastat"
# Without data/, which stands beside the package and is installed into it.
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "data")

# A module may import from the rows above its own, and from its own package; never from a neighbour.
ROWS = [
    ["errors", "version"],
    ["labels", "arguments"],
    ["progress"],
    ["hints", "linalg"],
    ["reading", "datasets"],
    ["streams", "solvers", "measures"],
    ["search", "inputs"],
    ["fit", "correlations"],
    ["plots", "assess", "proofs"],
    ["show"],
    ["results"],
    ["api", "catalogue"],
    ["choosing", "coordinates", "groups", "loadings", "selection"],
    ["cli", "sklearn"],
    ["__main__", "__init__"],
]
HEIGHT = {unit: row for row, units in enumerate(ROWS) for unit in units}


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _trees_for_this_file_only():
    """Drop the syntax trees, which slow down Python's collector."""
    yield
    tree_of.cache_clear()


def unit_of(path: Path) -> str:
    """The name in ROWS that a file belongs to."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported_units(tree: ast.Module, package: list[str]) -> set[str]:
    """Every unit of the package that a module imports anywhere, also inside a function."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name + ("" if "." in alias.name else ".__init__") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            if base == ["spcastat"]:
                names += [f"spcastat.{alias.name}" for alias in node.names]
            else:
                names.append(".".join(base))
    return {name.split(".")[1] for name in names if name.startswith("spcastat.")}


@pytest.mark.parametrize("unit", sorted({unit_of(path) for path in MODULES}))
def test_imports_point_down(unit):
    assert unit in HEIGHT, f"{unit} has no row yet: give it one in ROWS and in CONTRIBUTING.md"
    for path in MODULES:
        if unit_of(path) == unit:
            package = ["spcastat", *path.relative_to(PACKAGE).parts[:-1]]
            for other in imported_units(tree_of(path), package) - {unit}:
                assert other in HEIGHT, f"{path} imports spcastat.{other}, which has no row"
                assert HEIGHT[other] < HEIGHT[unit], f"{path} must not import {other}: see {ROWS}"


def imported_modules(tree: ast.Module) -> set[str]:
    """Every module or name that a module imports with an absolute path, for type hints, too."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found.update({f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)})
    return found


def test_no_module_imports_itself_by_way_of_others():
    # Nor inside functions, nor for type hints. A package's __init__ collects names: no step of a circle.
    names = {
        "spcastat." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
        for path in MODULES
        if path.name != "__init__.py"
    }
    graph = {name: imported_modules(tree_of(path)) & set(names) for name, path in names.items()}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, with the circle
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()


def test_every_folder_with_code_is_a_package():
    folders = {path.parent for path in MODULES}
    assert not [folder for folder in folders if not (folder / "__init__.py").is_file()]


def test_setup_cfg_installs_every_package():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    listed = config["options"]["packages"].split()
    folders = {".".join(path.parent.relative_to(ROOT).parts) for path in MODULES}
    assert listed == sorted({*folders, "spcastat.data"}), "list every package in setup.cfg, in this order"


def modules_after(code: str) -> set[str]:
    """The names of the modules loaded after `code` has run in a new interpreter."""
    run = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


#: Shaken arithmetic (tests/shake) imports NumPy when Python starts.
unshaken = pytest.mark.skipif("SHAKE_SEED" in os.environ, reason="shaken arithmetic imports NumPy itself")


@unshaken
def test_the_bare_import_is_light():
    loaded = modules_after("import spcastat; spcastat.__version__; dir(spcastat)")
    assert not loaded & {"numpy", "scipy", "pandas", "matplotlib", "formulaic", "statsmodels", "narwhals"}


def test_a_fit_that_is_not_drawn_does_not_wait_for_matplotlib():
    data = "import spcastat as sp\nwine = sp.datasets.load_wine()"
    loaded = modules_after(
        f"{data}\nfit = sp.spca(wine, 2, 3, scale=True)\nstr(fit), fit.summary(), fit.describe()"
    )
    assert not loaded & {"matplotlib", "formulaic", "statsmodels"}


def typed_names(path: Path) -> set[str]:
    """The names that a module imports for type checkers."""
    blocks = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.If)]
    lines = [line for node in blocks for line in node.body if isinstance(line, ast.ImportFrom)]
    return {alias.name for line in lines for alias in line.names}


def test_plots_are_those_that_type_checkers_know():
    assert set(spcastat.plots._MODULES) == typed_names(PACKAGE / "plots" / "__init__.py")
    assert set(spcastat.plots.__all__) <= set(dir(spcastat.plots)) <= set(spcastat.plots._MODULES)
    for name, module in spcastat.plots._MODULES.items():
        found = getattr(spcastat.plots, name)
        assert getattr(found, "__module__", None) in (None, f"spcastat.plots.{module}"), name
    with pytest.raises(AttributeError, match="no attribute 'biplots3'"):
        spcastat.plots.biplots3  # noqa: B018


def test_the_package_offers_the_names_it_lists():
    typed = typed_names(PACKAGE / "__init__.py")
    assert {*spcastat.__all__, "sklearn", *spcastat._CLASSES} == {*typed, "__version__"}
    for name in spcastat._CLASSES:
        assert getattr(spcastat, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'sppca'"):
        spcastat.sppca  # noqa: B018


@pytest.mark.parametrize("name", sorted({*spcastat.__all__} - {"__version__"}))
def test_every_public_name_is_there_and_explained(name):
    value = getattr(spcastat, name)
    assert (value.__doc__ or "").strip(), f"spcastat.{name} has no docstring"


def test_modules_have_docstrings():
    assert [path for path in MODULES if not ast.get_docstring(tree_of(path))] == []


def test_a_name_of_a_module_is_assigned_once():
    """Two constants of one name in one file: the second would replace the first without a word."""
    for path in MODULES:
        targets = [
            target.id
            for node in tree_of(path).body
            if isinstance(node, (ast.Assign, ast.AnnAssign))
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        ]
        assert len(targets) == len(set(targets)), path
