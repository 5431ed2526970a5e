"""The paragraph for a methods section says what was done, with the numbers of the fit."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.fit.method_table import SOLVERS
from spcastat.show.methods_text import entries, key_of


@pytest.mark.parametrize("method", [name for name in SOLVERS if SOLVERS[name].paper != "of this package"])
def test_the_paper_of_every_method_has_its_entry(method):
    entry = entries()[key_of(SOLVERS[method].paper)]
    assert re.search(r"year = \{(\d+)\}", entry)[1] in SOLVERS[method].paper
    assert re.search(r"author = \{.+, .+\}", entry)
    assert re.search(r"title = \{.+\}", entry)


def test_of_a_correlation_matrix():
    fit = sp.spca_cov(sp.datasets.load_pitprops(), 6, [7, 4, 4, 1, 1, 1], method="greedy", n_obs=180)
    found = fit.describe()
    assert "applied to the correlation matrix of 13 variables, from 180 rows." in found.text
    assert "has 6 components, with 7, 4, 4, 1, 1 and 1 nonzero loadings" in found.text
    last = fit.variance.iloc[-1]
    for column in ("cumulative adjusted", "cumulative least squares", "cumulative PCA"):
        assert f"{100 * last[column]:.1f} %" in found.text
    assert "He, Monteiro and Park (2010)" in found.text
    assert [line.partition("(")[2][:4] for line in found.references[:2]] == ["2010", "2006"]
    assert found.references[1].startswith("Zou, H., Hastie, T. and Tibshirani, R. (2006). Sparse principal")
    assert found.bibtex.count("@") == len(found.references) == 3
    assert f"spcastat {sp.__version__}" in found.text
    assert str(fit.describe()) == str(found)


def test_of_rows_with_missing_values_weights_and_draws():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 5)) @ np.triu(np.ones((5, 5))))
    X.iloc[3, 1] = X.iloc[7, 2] = np.nan
    fit = sp.spca(X, 2, 2, method="greedy", na="em", scale=True, weights=np.repeat([1.0, 2.0], 30))
    text = fit.describe().text
    assert "60 rows of 5 variables." in text
    assert "centred and scaled to unit variance" in text
    assert "2 (0.67 %) were missing, in 2 rows; means and covariances were estimated" in text  # of 300 values
    assert "sum of the weights 90" in text
    for absent in ("stability", "bootstrap", "permutation"):
        assert absent not in text
    fit.stability(5, rng=0)
    fit.bootstrap(20, rng=0)
    text = fit.describe().text
    assert "10 fits of complementary halves" in text
    assert "95 % bootstrap intervals (20 draws; numbers of components and of loadings as in the fit" in text


def test_how_numbers_were_chosen_is_known_to_the_fit_of_a_choice(tmp_path):
    choice = sp.choose(sp.datasets.make_hastie(), k=2, cards=[2, 4], rng=0, by="is")
    assert choice.method_text in choice.fit.describe(choice).text
    assert choice.fit.describe().text == choice.fit.describe(choice).text
    choice.fit.save(tmp_path / "chosen.spca")
    assert choice.method_text in sp.load(tmp_path / "chosen.spca").describe().text
    assert choice.method_text not in choice.fit.refit(card=3).describe().text
    with pytest.raises(OptionError, match="choice=3 was given; it must be what choose"):
        choice.fit.describe(3)


def test_the_choice_of_components_is_described_with_its_levels_and_source(planted_rows):
    found = sp.choose(planted_rows, n_draws=99).fit.describe()
    assert "parallel analysis at the level 5 %" in found.text
    assert "dense and of sparse components, at the level 1 %" in found.text
    source = "Hong, D., Sheng, Y. and Dobriban, E. (2020)"
    assert any(reference.startswith(source) for reference in found.references)
    assert "@article{hong2020" in found.bibtex


def test_split_inference_and_tests_are_described_with_their_sources(planted_rows):
    fit = sp.spca(planted_rows, 2, 4, effort="quick")
    fit.split_inference(5, repeats=2)
    fit.test_loadings(9)
    found = fit.describe()
    for author in ("Rinaldo, A.", "Meinshausen, N.", "DiCiccio, C."):
        assert any(reference.startswith(author) for reference in found.references)
    assert "control the family-wise error rate" in found.text
    assert "over all variables and components" in found.text


@pytest.fixture(scope="module")
def planted_rows():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 12))
    X[:, :4] += 1.5 * rng.normal(size=(120, 1))
    X[:, 4:8] += 1.2 * rng.normal(size=(120, 1))
    return X
