"""Tables for great_tables: cells as they are printed, groups, notes, and the error without the package."""

from __future__ import annotations

import sys
from html import escape

import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import ExtraError, OptionError


@pytest.fixture(scope="module")
def fit() -> sp.SpcaResult:
    wine = sp.datasets.load_wine().rename(columns={"flavanoids": "fl <b> & co"})
    return sp.spca(wine, 2, 4, scale=True, effort="quick")


def test_the_error_without_the_package(fit, monkeypatch):
    monkeypatch.setitem(sys.modules, "great_tables", None)
    with pytest.raises(ExtraError, match=r"as_gt\(\) needs great_tables.*spcastat\[great_tables\]"):
        fit.summary().as_gt()


def test_cells_are_those_of_the_print(fit):
    """Every loading of the summary, names in which nothing is markup, groups, and the facts."""
    pytest.importorskip("great_tables")
    page = fit.summary().as_gt(caption="Two components").as_raw_html()
    loadings = fit.loadings
    for value in loadings.to_numpy()[loadings.to_numpy() != 0]:
        assert f"{value:.3f}" in page
    assert escape("fl <b> & co") in page  # once, not twice
    assert "<b>" not in page
    assert "Two components" in page
    assert "178 rows x 13 variables" in fit.summary().as_gt(notes=True).as_raw_html()
    assert "178 rows" not in fit.summary().as_gt(notes=False).as_raw_html()
    with pytest.raises(OptionError, match="table"):
        fit.summary().as_gt(table=99)


def test_every_result_that_prints_as_tables_has_it(fit):
    pytest.importorskip("great_tables")
    wine = sp.datasets.load_wine()
    plan = sp.principal_variables(wine, 3, 2, scale=True, folds=0, n_resamples=0)
    first, second = (plan.summary().as_gt(table=number).as_raw_html() for number in (1, 2))
    assert all(name in first for name in plan.kept)
    assert plan.represented.index[0] in second
    assert isinstance(plan.represented, pd.DataFrame)
    assert "great_tables" in type(fit.bootstrap(3).as_gt()).__module__
