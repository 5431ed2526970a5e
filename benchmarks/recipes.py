"""``python -m benchmarks.recipes``: the recipes of docs/recipes.md, applied literally to a copy.

A recipe is a section "### Recipe: ...", whose blocks of code are taken in their order. A Python block that
begins with the comment of a path is a new file. A diff changes one file, whose path stands behind ``---``, at
the only place that has its lines. Any other Python block is run, and so is each line of a block of ``sh``: a
module with its arguments. A recipe fails where a block does, where it changes more than four files, or where
ruff finds fault with one of them; with ``--suite`` also where a quick test of `TOUCHED` fails afterwards.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import text_table

ROOT = Path(__file__).resolve().parents[1]
#: What of the checkout is not copied.
LEFT_OUT = shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "build", "dist", "_build", "*.egg-info")
#: Files that a recipe may touch, at most: a keyword has its type, its description, and three steps of a fit.
MOST = 5

#: Tests of the layers that recipes touch: what goes through all methods, measures, columns and keywords.
TOUCHED = """
    tests/test_imports.py tests/test_api.py tests/test_docs.py tests/measures tests/fit/test_fits.py
    tests/fit/test_method_pages.py tests/fit/test_units.py tests/show/test_variance.py
    tests/show/test_summary.py tests/show/test_methods_text.py tests/results/test_described.py
"""

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


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
        """Do in the copy at `place` what the recipe says; return the files that it touched.

        Without `run` files are written and changed, and nothing is run.

        Raises
        ------
        RuntimeError
            Where a block cannot be followed.
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
                raise RuntimeError(f"{self.name}: a block of {language!r} is no part of a recipe")
        touched = list(dict.fromkeys(touched))
        if len(touched) > MOST:
            raise RuntimeError(f"{self.name} touches {len(touched)} files: {', '.join(touched)}")
        if run:
            sources = [name for name in touched if name.endswith(".py")]
            _run([sys.executable, "-m", "ruff", "check", "-q", *sources], place)
        return touched


def _changed(place: Path, diff: str) -> str:
    """Apply a diff without line numbers; return the file that it is of."""
    first, *lines = diff.splitlines()
    name = first.removeprefix("--- ")
    old = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    new = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
    path = place / name
    source = path.read_text(encoding="utf-8")
    if source.count(old) != 1:
        raise RuntimeError(f"{name} has these lines {source.count(old)} times:\n{old}")
    path.write_text(source.replace(old, new), encoding="utf-8")
    return name


def _run(command: list[str], place: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)[:500]}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")


def recipes() -> list[Recipe]:
    """Return the recipes of docs/recipes.md."""
    return list(_read((ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")))


def _read(text: str) -> Iterator[Recipe]:
    for section in re.split(r"^(?=##+ )", text, flags=re.M):
        if section.startswith("### Recipe: "):
            blocks = tuple((found[1], found[2]) for found in _BLOCK.finditer(section))
            yield Recipe(section.splitlines()[0].removeprefix("### Recipe: "), blocks)


def copied(place: Path) -> None:
    """Copy the checkout to `place`, which does not exist yet; bundled data go where the package has them."""
    shutil.copytree(ROOT, place, ignore=LEFT_OUT)
    shutil.copytree(place / "data", place / "spcastat" / "data", dirs_exist_ok=True)


def run_suite(place: Path, processes: int = 2) -> None:
    """Run the quick tests of `TOUCHED` in the copy at `place`.

    Raises
    ------
    RuntimeError
        Where a test fails; the message holds the end of what pytest printed.
    """
    _run([sys.executable, "-m", *f"pytest -q -p no:cacheprovider -n {processes} {TOUCHED}".split()], place)


def main(arguments: list[str] | None = None) -> int:
    """Follow them; 1 where one fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recipes", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="recipes whose name holds this")
    parser.add_argument("--suite", action="store_true", help="then run the tests of the layers touched")
    given = parser.parse_args(arguments)
    rows, failed = [], []
    for recipe in recipes():
        if given.only not in recipe.name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "copy")
            copied(place)
            try:
                rows.append([recipe.name, "followed", ", ".join(recipe.follow(place))])
                if given.suite:
                    run_suite(place)
            except RuntimeError as error:
                failed.append(str(error))
                rows = [row for row in rows if row[0] != recipe.name] + [[recipe.name, "failed", ""]]
    print("\n\n".join([text_table(["recipe", "", "files"], rows), *failed]))
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
