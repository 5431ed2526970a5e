"""A fit has each method written out in its class, and replacements of methods that are gone."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.search.joint_method import Joint

PUBLIC = [name for name in vars(sp.SpcaResult) if not name.startswith("_")]


@pytest.fixture(scope="module")
def fit():
    return sp.spca(sp.datasets.pitprops_sample(), 3, [7, 4, 4], scale=True, method="bcd-l0")


def test_every_public_name_of_a_fit_is_in_its_class(fit):
    assert sorted(PUBLIC) == [name for name in dir(fit) if not name.startswith("_")]
    assert len(PUBLIC) <= 60


@pytest.mark.parametrize("name", PUBLIC)
def test_a_definition_is_where_an_editor_looks_for_it(name):
    found = vars(sp.SpcaResult)[name]
    function = found.fget if isinstance(found, property) else found
    assert function.__code__.co_filename == inspect.getsourcefile(sp.SpcaResult)
    assert function.__name__ == name
    assert not hasattr(function, "__signature__")
    assert inspect.getdoc(found)
    assert "return" in function.__annotations__
    parameters = list(inspect.signature(function).parameters.values())[1:]
    assert all(one.annotation is not one.empty for one in parameters)


def test_eigenvalues_are_those_of_the_correlation_matrix(fit):
    wanted = np.linalg.eigvalsh(sp.datasets.pitprops_sample().corr())[::-1]
    np.testing.assert_allclose(fit.eigenvalues, wanted, rtol=1e-10)  # both from LAPACK, in double precision
    assert fit.k == 3


def test_a_summary_of_the_loadings_only_shows_percent_of_their_squares(fit):
    text = str(fit.summary(tables="loadings", contributions=True))
    largest = fit.contributions().to_numpy().max()
    assert f"{100 * largest:.1f}" in text
    assert "Variance" not in text
    assert "Loadings" not in str(fit.summary(tables="variance"))
    with pytest.raises(OptionError, match="contributions=True was given with dense=True"):
        fit.summary(contributions=True, dense=True)
    with pytest.raises(OptionError, match="tables='both'"):
        fit.summary(tables="both")


@pytest.mark.parametrize("level", [0, 1, 95, "0.95", None])
def test_every_level_is_between_zero_and_one(fit, level):
    for call in (fit.limits, lambda level: fit.biplot(level=level), lambda level: fit.tidy(level=level)):
        with pytest.raises(OptionError, match=r"level=.* a number between 0 and 1"):
            call(level=level)


def test_printing_builds_the_rule_of_a_fit_once(monkeypatch):
    fit = sp.spca_cov(sp.datasets.load_pitprops(), 2, 4, effort="quick")
    made = []
    rule = Joint.rule

    def counted(self, *sizes):
        made.append(sizes)
        return rule(self, *sizes)

    monkeypatch.setattr(Joint, "rule", counted)
    fresh = fit.rename(["first", "second"])
    str(fresh)
    str(fresh)
    assert len(made) == 1
