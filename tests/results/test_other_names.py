"""Names of prcomp, scikit-learn, mixOmics, elasticnet, psych, FactoMineR and seaborn are answered by ours."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

import spcastat as sp
from spcastat.fit.method_table import SOLVERS
from spcastat.results.other_names import ARGUMENTS


@pytest.fixture(scope="module")
def fit():
    return sp.spca(sp.datasets.make_hastie(60), k=2, card=4, method="greedy")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("n_components", "number of components is k="),
        ("ncomp", "number of components is k="),
        ("random_state", "seed is rng="),
        ("seed", "seed is rng="),
        ("keepX", "card="),
        ("keep", "card="),
        ("sparsity", "card="),
        ("alpha", "card=.*penalty="),
        ("covariates", "formula="),
        ("n_jobs", "bootstrap"),
    ],
)
def test_arguments_of_other_programs_are_answered(name, words):
    data = sp.datasets.make_hastie(20)
    for call in (lambda **one: sp.spca(data, **one), lambda **one: sp.spca_path(data, **one)):
        with pytest.raises(sp.errors.UnknownOptionError, match=rf"has no argument {name}=; .*{words}"):
            call(**{name: 3})


def test_no_answer_hides_an_option_that_a_method_has():
    options = {option for method in SOLVERS.values() for option in method.options}
    assert not set(ARGUMENTS) & options
    own = set(inspect.signature(sp.spca).parameters)
    assert not own & set(ARGUMENTS)


def test_a_call_without_k_says_what_k_is():
    with pytest.raises(sp.errors.ComponentsError, match=r"given no k, .*choose\(data\) chooses"):
        sp.spca(sp.datasets.pitprops_sample())
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'k'"):
        sp.spca_cov(sp.datasets.load_pitprops())


def test_sparse_coordinates_answer_too():
    assert sp.spco(data=sp.datasets.make_hastie(20), k=1, zeros=0.5).components.size == 1
    with pytest.raises(sp.errors.UnknownOptionError, match=r"spco\(\) has no argument ncomp=; .* k="):
        sp.spco(sp.datasets.make_hastie(20), 2, ncomp=2)


@pytest.mark.parametrize(
    "name", ["t2", "q_statistic", "loading_products", "cite", "n_iter", "of", "print_loadings", "rotation_"]
)
def test_names_that_a_fit_does_not_have_are_answered_by_python(fit, name):
    with pytest.raises(AttributeError, match=f"'SpcaResult' object has no attribute '{name}'"):
        getattr(fit, name)


def test_results_are_copied_and_pickled_as_before(fit):
    assert pickle.loads(pickle.dumps(fit)).card.tolist() == copy.deepcopy(fit).card.tolist() == [4, 4]
    assert not hasattr(fit, "_repr_nothing_")


def test_what_a_fit_does_not_have_is_asked_for_by_hasattr():
    """Debuggers and notebooks ask so, and nothing else than AttributeError may come out."""
    rows = sp.spca(sp.datasets.pitprops_sample(), 1, 3, method="greedy")
    covariance = sp.spca_cov(sp.datasets.load_pitprops(), 1, 3, method="greedy")
    public = [name for name in dir(covariance) if not name.startswith("_")]
    missing = ["imputed", "residuals", "scores"]
    assert [name for name in public if not hasattr(covariance, name)] == missing
    assert not hasattr(rows, "imputed")
    with pytest.raises(sp.errors.NoRowsError, match="scores needs rows, and this is a fit of a covariance"):
        _ = covariance.scores
    with pytest.raises(sp.errors.OptionError, match="imputed is for fits with na='em'"):
        _ = rows.imputed


@pytest.mark.parametrize("call", ["biplot", "plot_loadings", "bootstrap", "summary", "transform", "tidy"])
def test_arguments_that_a_method_does_not_have_are_answered_by_python(fit, call):
    with pytest.raises(TypeError, match=rf"{call}\(\) got an unexpected keyword argument 'xyz'"):
        getattr(fit, call)(xyz=1)


def test_results_that_are_no_fit_answer_as_python_does(fit):
    choice = sp.choose_k(sp.datasets.make_hastie(60), n_draws=19)
    chosen = sp.choose(sp.datasets.make_hastie(60), 2, cards=[4, 6])
    for result, name in ((choice, "to_latex"), (fit.summary(), "to_html"), (chosen, "loadings")):
        what = type(result).__name__
        with pytest.raises(AttributeError, match=f"'{what}' object has no attribute '{name}'"):
            getattr(result, name)


def test_names_of_other_packages_at_the_top_level():
    with pytest.raises(AttributeError, match=r"dense PCA is spca\(data, k, card=p\)"):
        sp.prcomp  # noqa: B018
