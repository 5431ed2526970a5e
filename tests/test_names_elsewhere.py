"""Names of other programs are answered by the name here, and what a message names is accepted."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.arguments import FOREIGN_METHODS
from spcastat.errors import MethodError, MissingValuesError, OptionError

WINE = sp.datasets.load_wine()
FIT = sp.spca(WINE, 2, 3, scale=True)

ATTRIBUTES = [
    "components_", "loading", "rotation", "explained_variance_ratio_", "explained_variance_", "sdev", "x",
    "center", "scale", "mean_", "n_iter_", "importance", "cpev", "totvar", "coef_", "feature_names_in_",
    "n_features_in_", "fit_transform", "score", "inverse", "coord",
    "scores_", "singular_values_", "n_components_", "communality", "plotIndiv", "plotVar", "fviz_eig",
]  # fmt: skip


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_of_other_programs(name):
    with pytest.raises(AttributeError, match=f"'{name}'. Did you mean fit") as caught:
        getattr(FIT, name)
    here = re.search(r"Did you mean (fit.*)\?", str(caught.value))[1]
    assert eval(here, {"fit": FIT}) is not None  # what it names is there
    assert not hasattr(FIT, name)


def test_what_advice_names_is_the_number_that_was_meant():
    assert FIT.measure("pev") == FIT.variance["cumulative PEV"].iloc[-1]
    with pytest.raises(AttributeError, match=r"Did you mean fit\.measure\('pev'\)\?"):
        FIT.pev  # noqa: B018
    with pytest.raises(AttributeError, match=r"Did you mean fit\.loadings\.T\?"):
        FIT.components_  # noqa: B018
    with pytest.raises(OptionError, match="'ridge' is an option of 'zou'"):
        sp.spca(WINE, 1, 3, ridge_alpha=1.0)
    with pytest.raises(OptionError, match=r"from 1 to 13, the number of variables\."):
        sp.spca(WINE, 1, 30)
    with pytest.raises(OptionError, match=r"no left side: give '~ hue \+ ash'"):
        sp.spca("alcohol ~ hue + ash", 1, 1, data=WINE)


def test_the_numbers_that_are_named_are_those_of_the_other_program():
    fit = sp.spca(WINE, 3, 13, scale=True)  # dense
    values = np.linalg.eigvalsh(WINE.corr())[::-1][:3]
    np.testing.assert_allclose(fit.variance["score variance"] ** 0.5, values**0.5, rtol=1e-8)
    np.testing.assert_allclose(fit.variance["share of total"], values / 13, rtol=1e-8)


def test_misspelt_attributes_copies_and_pickles():
    with pytest.raises(AttributeError, match="Did you mean 'loadings'"):
        FIT.loadngs  # noqa: B018
    for one in (copy.copy(FIT), copy.deepcopy(FIT), pickle.loads(pickle.dumps(FIT))):
        assert one.loadings.equals(FIT.loadings)
    assert not hasattr(FIT, "__array__")
    assert not hasattr(FIT, "_repr_png_")


@pytest.mark.parametrize("method", sorted(FOREIGN_METHODS))
def test_methods_of_other_programs(method):
    with pytest.raises(MethodError, match=f"'{re.escape(method)}' is a name from another program") as caught:
        sp.spca(WINE, 1, 3, method=method)
    here = re.search(r"give method='([\w-]+)'", str(caught.value))[1]
    sp.methods(here)


def _mixed(gap: object) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(30, 3)), columns=list("abc")).assign(f=rng.choice(list("uvw"), 30))
    data.loc[3, "f" if gap == "level" else "a"] = None
    return data


@pytest.mark.parametrize("gap", ["number", "level"])
def test_mixed_data_with_gaps_and_the_advice_for_them(gap):
    data = _mixed(gap)
    with pytest.raises(MissingValuesError, match=r"1 missing value .*na='em'.*na='drop'") as caught:
        sp.spca(data, 2, 2, scale="mixed")
    assert "'pairwise'" not in str(caught.value)
    with pytest.raises(OptionError, match=r"for numbers only.*na='em'"):
        sp.spca(data, 2, 2, scale="mixed", na="pairwise")
    assert len(sp.spca(data, 2, 2, scale="mixed", na="em").scores) == 30
    assert len(sp.spca(data, 2, 2, scale="mixed", na="drop").scores) == 29
    if gap == "number":
        assert len(sp.spca(data.fillna(data.mean(numeric_only=True)), 2, 2, scale="mixed").scores) == 30
