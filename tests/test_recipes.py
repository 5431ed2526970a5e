"""The recipes of docs/recipes.md fit the sources, touch few files, and work."""

from __future__ import annotations

import pytest

from benchmarks.recipes import MOST, copied, recipes, run_suite

RECIPES = recipes()


def test_the_changes_that_recur_have_a_recipe():
    subjects = ("solver", "measure", "column", "keyword")
    assert [sum(subject in recipe.name for recipe in RECIPES) for subject in subjects] == [1, 1, 1, 1]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_recipe_fits_the_sources_and_touches_few_files(recipe, tmp_path):
    copied(place := tmp_path / "copy")
    touched = recipe.follow(place, run=False)
    assert 1 <= len(touched) <= MOST
    for name in touched:
        if name.endswith(".py"):
            compile((place / name).read_text(encoding="utf-8"), name, "exec")


@pytest.mark.slow
def test_the_recipes_work_when_they_are_followed_to_the_letter_and_the_tests_pass(tmp_path):
    pytest.importorskip("ruff", reason="recipes end with ruff, which comes with the extra dev")
    copied(place := tmp_path / "copy")
    for recipe in RECIPES:
        recipe.follow(place)
    run_suite(place)
