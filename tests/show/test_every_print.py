"""The print of every result has at most 25 lines of 80 characters, for small, wide, mixed and long tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.results.component_fit import ComponentFit
from spcastat.results.resampling import FromDraws
from spcastat.show.grid import display_width
from spcastat.show.renderings import LINES, WIDTH, Outcome, Shown, Summary

QUESTION = "How often did you feel in the last four weeks that you had no time for question {}?"


def factors(n: int, p: int, name: str = "x{}") -> pd.DataFrame:
    """Rows of p variables, of which groups depend on four factors."""
    rng = np.random.default_rng(p)
    size = max(p // 8, 2)
    weights = np.kron(np.eye(4), np.full(size, 1.2))[:, :p]
    X = rng.normal(size=(n, p))
    X[:, : weights.shape[1]] += rng.normal(size=(n, 4)) @ weights
    return pd.DataFrame(X, columns=[name.format(j) for j in range(p)])


def expression() -> pd.DataFrame:
    """62 sorted rows of 2,000 large numbers, some of them much larger: with every caution of a choice."""
    size = np.exp(np.random.default_rng(0).normal(size=62) / 2)
    return (1e4 * np.exp(factors(62, 2000) / 2)).mul(np.sort(size), axis=0)


def mixed() -> pd.DataFrame:
    return factors(60, 10).assign(site=list("abcd") * 15, colour=["red", "green", "blue"] * 20)


def dated() -> pd.DataFrame:
    """Rows in the order of time, a tenth of which have missing values."""
    table = factors(200, 8).ewm(alpha=0.3).mean()
    rare = np.random.default_rng(1).random(table.shape) < 0.02
    return table.mask(rare).set_axis(pd.date_range("2020-01-01", periods=200), axis=0)


pytestmark = pytest.mark.filterwarnings("ignore::spcastat.errors.DataWarning")

#: Name of a table -> a function that makes it, and the options with which it is read.
TABLES: dict[str, tuple[Callable[[], pd.DataFrame], dict[str, Any]]] = {
    "small": (lambda: factors(30, 5), {"scale": True}),
    "wide": (expression, {"scale": True}),
    "long names": (lambda: factors(60, 24, QUESTION), {"scale": True}),
    "mixed": (mixed, {"scale": "mixed"}),
    "dated": (dated, {"scale": True, "na": "drop"}),
    "blocks": (dated, {"scale": True, "na": "drop", "block_length": 8}),
}


@cache
def results(name: str) -> list[Any]:
    """Return every kind of result that there is for a table, with few draws."""
    make, options = TABLES[name]
    return list(_results(make(), options))


def _results(table: pd.DataFrame, options: dict[str, Any]) -> Iterator[Any]:
    n, p = table.shape
    fit = sp.spca(table, 2, 4, method="greedy", **options)
    yield fit
    yield sp.spca(table, 2, method="pca", **options)
    yield sp.compare(fit, sp.spca(table, 2, 2, method="greedy", **options))
    yield sp.spca_path(table, 2, cards=[2, 3], method="greedy", **options)
    choice = sp.choose(table, 2 if p <= 30 else None, **options)
    yield choice
    yield choice.k_choice or sp.choose_k(table, **options)
    if p <= 30 and "na" not in options:
        yield choice.stability(2)
    if "na" not in options and options["scale"] != "mixed":
        yield sp.compare_groups(table, ["a", "b"] * (n // 2), k=2, card=3, n_draws=3, **options)
    yield fit.bootstrap(40, rng=0)
    yield fit.stability(3, rng=0)
    yield fit.test_loadings(3, rng=0)
    yield fit.split_inference(3, rng=0)
    yield fit.scales()
    yield fit.describe_components(alpha=1.0)
    if p <= 30:
        yield sp.choose(table, **options)
        yield fit.certify(joint=False, max_nodes=1)
        yield fit.certify(joint=True, max_nodes=1)
    loadings = sp.sparse_loadings(table, 2, 3, n_init=1, **options)
    yield loadings
    yield loadings.bootstrap(5, rng=0)
    yield fit.supplement(table.dropna(), pd.DataFrame({"age": range(len(fit.scores))}, fit.scores.index))
    if options["scale"] != "mixed":
        rows = table.dropna()
        coordinates = sp.spco(rows, 2, zeros=0.5, scale=True)
        yield coordinates
        yield coordinates.path()
        yield sp.spca(rows.iloc[:, :40], 2, 4, method="greedy", robust=True, scale=True).robust
        yield sp.principal_variables(rows.iloc[:, :40], 3, scale=True)
        yield sp.choose_k(rows.iloc[:, :40].cov(), n_obs=n)


@pytest.mark.sweep
@pytest.mark.parametrize("name", TABLES)
def test_every_print_is_one_screen(name):
    for result in results(name):
        lines = str(result).splitlines()
        text = "\n".join([type(result).__name__, *lines])
        assert len(lines) <= LINES, text
        assert max(map(display_width, lines)) <= WIDTH, text


def test_a_choice_with_every_caution_is_one_screen():
    """Sorted rows of unequal size and of large numbers: what is for comparison is in the summary."""
    k_choice = sp.choose_k(expression())
    lines = str(k_choice).splitlines()
    assert "Rows look sorted or grouped" in str(k_choice)
    assert "18 large rows of 62 were shrunk" in str(k_choice)
    assert "next p: test against noise" in " ".join(lines)
    assert len(lines) <= LINES
    assert sum(line.startswith("     predicts %") for line in lines) == 1
    assert "cum. %" in str(k_choice.summary())


def classes(base: type) -> Iterator[type]:
    for derived in base.__subclasses__():
        yield derived
        yield from classes(derived)


def test_every_class_of_results_is_printed():
    printed = {type(result) for result in results("small")}
    bases = {Summary, Outcome, ComponentFit, FromDraws}
    assert {found for found in classes(Shown) if found.__module__.startswith("spcastat")} - bases == printed
