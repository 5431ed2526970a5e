"""Names of prcomp, scikit-learn, mixOmics, elasticnet, psych, FactoMineR and seaborn are answered by ours."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

import spcastat as sp
from spcastat.registry import SOLVERS
from spcastat.results.other_names import ARGUMENTS, ATTRIBUTES, METHOD_ARGUMENTS


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


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_of_other_programs_are_answered_by_what_is_there(fit, name):
    with pytest.raises(AttributeError, match=rf"has no {name}; it is fit\.") as caught:
        getattr(fit, name)
    if name not in ("plot", "predict", "to_csv"):  # those need an argument or draw
        eval(str(caught.value).split("it is ")[1].removesuffix(" here."), {"fit": fit})


def test_results_are_copied_and_pickled_as_before(fit):
    assert pickle.loads(pickle.dumps(fit)).card.tolist() == copy.deepcopy(fit).card.tolist() == [4, 4]
    assert not hasattr(fit, "_repr_nothing_")


def test_what_a_fit_does_not_have_is_asked_for_by_hasattr():
    """Debuggers and notebooks ask so, and nothing else than AttributeError may come out."""
    rows = sp.spca(sp.datasets.pitprops_sample(), 1, 3, method="greedy")
    covariance = sp.spca_cov(sp.datasets.load_pitprops(), 1, 3, method="greedy")
    public = [name for name in dir(covariance) if not name.startswith("_")]
    missing = ["imputed", "q_statistic", "residuals", "scores", "t2"]
    assert [name for name in public if not hasattr(covariance, name)] == missing
    assert not hasattr(rows, "imputed")
    with pytest.raises(sp.errors.NoRowsError, match="scores needs rows, and this is a fit of a covariance"):
        _ = covariance.scores
    with pytest.raises(sp.errors.OptionError, match="imputed is for fits with na='em'"):
        _ = rows.imputed


@pytest.mark.parametrize("name", METHOD_ARGUMENTS)
def test_plots_answer_by_their_own_name(fit, name):
    if name in inspect.signature(fit.biplot).parameters:
        return
    with pytest.raises(sp.errors.UnknownOptionError, match=rf"^biplot\(\) has no argument {name}="):
        fit.biplot(**{name: 1})


@pytest.mark.parametrize(
    ("call", "name", "words"),
    [
        ("biplot", "alpha", "ax="),
        ("biplot", "cmap", "palette="),
        ("biplot", "save", "savefig"),
        ("plot_loadings", "top", "max_rows="),
        ("bootstrap", "B", "number of draws is n="),
        ("stability", "random_state", "seed is rng="),
        ("certify", "timeout", "time_limit="),
    ],
)
def test_methods_answer_with_what_they_have(fit, call, name, words):
    with pytest.raises(sp.errors.UnknownOptionError, match=rf"^{call}\(\) has no .*{name}=; .*{words}"):
        getattr(fit, call)(**{name: 1})


def test_arguments_that_are_missing_or_too_many_are_named_without_the_class(fit):
    with pytest.raises(TypeError, match=r"^report\(\): missing a required argument: 'path'"):
        fit.report()
    with pytest.raises(TypeError, match=r"^bootstrap\(\): too many positional"):
        fit.bootstrap(9, True)


def test_no_method_names_the_class_that_it_comes_from(fit):
    for call in (fit.transform, fit.summary, fit.tidy, fit.plot_loadings):
        with pytest.raises(TypeError, match=rf"^{call.__name__}\(\) has no argument xyz="):
            call(xyz=1)


def test_results_that_are_no_fit_name_the_fit_or_the_rendering(fit):
    choice = sp.choose_k(sp.datasets.make_hastie(60), n_draws=19)
    with pytest.raises(AttributeError, match=r"ComponentChoice has no to_latex; it is as_latex\(\) here"):
        choice.to_latex()
    with pytest.raises(AttributeError, match=r"Summary has no to_html; it is as_html\(\) here"):
        fit.summary().to_html()
    chosen = sp.choose(sp.datasets.make_hastie(60), 2, cards=[4, 6])
    with pytest.raises(AttributeError, match=r"A choice has no loadings; it is choice.fit.loadings here"):
        chosen.loadings  # noqa: B018
    assert not hasattr(chosen, "nothing")


def test_names_of_other_packages_at_the_top_level():
    with pytest.raises(AttributeError, match=r"dense PCA is spca\(data, k, card=p\)"):
        sp.prcomp  # noqa: B018


def test_scores_in_chunks_tell_how_to_get_a_frame():
    X = sp.datasets.make_hastie(40)
    fit = sp.spca([X[:20], X[20:]], 1, 4)
    with pytest.raises(AttributeError, match=r"to_frame\(\)"):
        fit.scores.head()
    with pytest.raises(TypeError, match=r"to_frame\(\)"):
        fit.scores["PC1"]
