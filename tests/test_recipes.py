"""The recipes of docs/recipes.md can be followed literally, change few files, and pass the tests.

A recipe is a section "### Recipe: ...", whose blocks of code are followed in their order. A Python block that
starts with the comment of a path is a new file. A diff changes one file, whose path follows ``---``, at the
only place with its lines. Other Python blocks are run, and so is each line of ``sh``, a module with
arguments.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: Files of the checkout that are not copied.
LEFT_OUT = shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "build", "dist", "_build", "*.egg-info")
#: Largest number of files of a recipe: a keyword has its type, its description, and three steps of a fit.
MOST = 5

#: Tests that cover all methods, measures, columns and keywords, run after the recipes. The README shows the
#: table of variances, to which a recipe adds a line.
TOUCHED = """
    tests/test_imports.py tests/test_api.py tests/test_docs.py tests/measures tests/fit/test_archive.py
    tests/fit/test_units.py tests/show/test_tables.py
    tests/show/test_summary.py tests/results/test_described.py
    --deselect tests/test_docs.py::test_the_block_of_python_runs_as_pasted_and_prints_what_is_shown
"""

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Recipe:
    """A section of docs/recipes.md.

    Attributes
    ----------
    name : str
        Its heading, without "Recipe: ".
    blocks : tuple of (str, str)
        Language and text of each block of code.
    """

    name: str
    blocks: tuple[tuple[str, str], ...]

    def follow(self, place: Path, run: bool = True) -> list[str]:
        """Follow the recipe in the copy at `place`, and return the files that it changes.

        With ``run=False`` files are written and changed, but nothing is run.
        """
        touched: list[str] = []
        for language, text in self.blocks:
            head = re.match(r"# (spcastat/\S+\.py)\n", text)
            if language == "python" and head:
                (place / head[1]).write_text(text[head.end() :], encoding="utf-8")
                touched.append(head[1])
            elif language == "diff":
                touched.append(_changed(place, text))
            elif language == "python" and run:
                _run([sys.executable, "-c", text], place)
            elif language == "sh" and run:
                for line in text.strip().splitlines():
                    _run([sys.executable, "-m", *line.split()], place)
            elif run:
                pytest.fail(f"{self.name} has a block of {language!r}")
        touched = list(dict.fromkeys(touched))
        assert 1 <= len(touched) <= MOST, f"{self.name} changes {touched}"
        if run:
            sources = [name for name in touched if name.endswith(".py")]
            _run([sys.executable, "-m", "ruff", "check", "-q", *sources], place)
        return touched


def _changed(place: Path, diff: str) -> str:
    """Apply a diff without line numbers, and return the file that it changes."""
    first, *lines = diff.splitlines()
    name = first.removeprefix("--- ")
    old = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    new = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
    path = place / name
    source = path.read_text(encoding="utf-8")
    assert source.count(old) == 1, f"{name} has these lines {source.count(old)} times:\n{old}"
    path.write_text(source.replace(old, new), encoding="utf-8")
    return name


def _run(command: list[str], place: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, f"{' '.join(command)[:500]}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


def recipes() -> Iterator[Recipe]:
    """Yield the recipes of docs/recipes.md."""
    text = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    for section in re.split(r"^(?=##+ )", text, flags=re.M):
        if section.startswith("### Recipe: "):
            blocks = tuple((found[1], found[2]) for found in BLOCK.finditer(section))
            yield Recipe(section.splitlines()[0].removeprefix("### Recipe: "), blocks)


def copied(place: Path) -> Path:
    """Copy the checkout to a new folder, with the bundled data where the installed package has them."""
    shutil.copytree(ROOT, place, ignore=LEFT_OUT)
    shutil.copytree(place / "data", place / "spcastat" / "data", dirs_exist_ok=True)
    return place


RECIPES = list(recipes())


def test_frequent_changes_have_a_recipe():
    subjects = ("solver", "measure", "column", "keyword")
    assert [sum(subject in recipe.name for recipe in RECIPES) for subject in subjects] == [1, 1, 1, 1]


@pytest.mark.sweep
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_recipe_fits_the_sources(recipe, tmp_path):
    place = copied(tmp_path / "copy")
    for name in recipe.follow(place, run=False):
        if name.endswith(".py"):
            compile((place / name).read_text(encoding="utf-8"), name, "exec")


@pytest.mark.slow
def test_the_tests_pass_after_all_recipes(tmp_path):
    pytest.importorskip("ruff", reason="recipes end with ruff, which comes with the extra dev")
    place = copied(tmp_path / "copy")
    for recipe in RECIPES:
        recipe.follow(place)
    _run([sys.executable, "-m", *f"pytest -q -p no:cacheprovider -n 2 {TOUCHED}".split()], place)
