"""The recipes of CONTRIBUTING.md fit the sources, touch few files, and work."""

from __future__ import annotations

import shutil

import pytest

from benchmarks.recipes import MOST, ROOT, copied, recipes

RECIPES = recipes()


def test_the_changes_that_recur_have_a_recipe():
    subjects = ("solver", "measure", "column", "keyword")
    assert [sum(subject in recipe.name for recipe in RECIPES) for subject in subjects] == [1, 1, 1, 1]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_recipe_fits_the_sources_and_touches_few_files(recipe, tmp_path):
    shutil.copytree(ROOT / "spcastat", tmp_path / "spcastat", ignore=shutil.ignore_patterns("__pycache__"))
    touched = recipe.follow(tmp_path, run=False)
    assert 1 <= len(touched) <= MOST
    for name in touched:
        compile((tmp_path / name).read_text(encoding="utf-8"), name, "exec")


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_recipe_works_when_it_is_followed_to_the_letter(recipe, tmp_path):
    pytest.importorskip("ruff", reason="recipes end with ruff, which comes with the extra dev")
    copied(tmp_path)
    recipe.follow(tmp_path)
