"""The choice of cardinalities and of k: independent of the seed, complete, and stated in full."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.assess.batched_errors import batched_press
from spcastat.assess.candidates import Limit, beaten
from spcastat.assess.refit import SparseModel
from spcastat.assess.unequal_cardinalities import unless_alone
from spcastat.errors import NoRowsError, OptionError
from spcastat.linalg.operators import Gram
from spcastat.results.choice import support_overlap


def test_two_seeds_choose_nearly_the_same_supports():
    """Wine: with one division into folds the overlap of two seeds was .80, with these four .93."""
    fits = [sp.choose(sp.datasets.load_wine(), 3, scale=True, rng=seed).fit for seed in (1, 2, 3)]
    supports = [fit.loadings.to_numpy() for fit in fits]
    pairs = [support_overlap(supports[i], supports[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert np.mean(pairs) >= 0.9


def test_errors_of_many_fits_are_those_of_each():
    rng = np.random.default_rng(0)
    m, f, p, k = 3, 4, 9, 3
    V = rng.standard_normal((m, f, p, k)) * (rng.random((m, f, p, k)) < 0.5)
    V /= np.maximum(np.linalg.norm(V, axis=2, keepdims=True), 1e-9)
    V[0, 0, :, 1] = V[0, 0, :, 0]  # dependent loadings
    V[1, 1] = 0.0
    V[1, 1, 0, 0] = V[1, 1, 1, 1] = V[1, 1, 2, 2] = 1.0  # components of one variable
    A, B = rng.standard_normal((2, f, 30, p))
    S, products = A.mT @ A / 29.0, B.mT @ B
    found = batched_press(V, S, products)
    for i in range(m):
        for j in range(f):
            model = SparseModel.of(V[i, j], Gram(S[j]))
            block = products[j][np.ix_(model.used, model.used)]
            assert found[i, j] == pytest.approx(model.press(np.diag(products[j]), block), rel=1e-9)


def test_candidates_go_beyond_50_where_prediction_improves():
    """One factor behind 70 variables, all of equal strength: with 50 of them, 20 are not predicted."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 1)) + 0.5 * rng.standard_normal((80, 70))
    choice = sp.choose(X, k=1, scale=True)
    assert choice.card == 70
    assert "It is the largest that was tried" not in choice.reason


def test_what_is_kept_is_relative_to_the_best_known_prediction():
    """Dense PCA predicts better than cardinality 2 of 8 variables with one factor."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((100, 1)) + 0.5 * rng.standard_normal((100, 8))
    table = sp.choose(X, k=1, cards=[1, 2], scale=True).table
    assert table["kept"].max() < 0.5


def test_many_components_are_found_without_kmax():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((300, 12)), 3, axis=1) + 0.7 * rng.standard_normal((300, 36))
    found = sp.choose_k(X, scale=True, n_draws=99)
    assert found.k == 12
    assert "larger kmax" not in found.reason
    assert len(found.table) == 14  # two in a row are noise
    assert sp.choose_k(X, scale=True, n_draws=99, kmax=8).k == 8


@pytest.mark.parametrize("k", [2, 4])
def test_no_candidate_with_fewer_loadings_has_a_clearly_smaller_ebic(k):
    """Correlations of the wines: the search chose 23 loadings (EBIC 9.1 above the smallest) for 20 (0.0)."""
    wine = sp.datasets.load_wine()
    table = sp.choose(wine.corr(), k, n_obs=len(wine), by="ebic").table
    chosen = table[table["chosen"]].iloc[0]
    fewer = table[table["nonzeros"] <= chosen["nonzeros"]]
    assert fewer["ebic"].min() >= chosen["ebic"] - 2.0


def test_a_fit_that_another_of_no_more_loadings_beats_does_not_pass():
    surely = np.array([[False, False, False], [True, False, False], [False, False, False]])
    sizes = np.array([4, 6, 8])
    assert beaten(surely, sizes).tolist() == [False, True, False]
    passed = Limit(8).passed(np.array([0.3, 0.4, 0.3]), surely, sizes, 0)
    assert passed.tolist() == [True, False, True]


def test_one_variable_is_a_component_only_if_a_second_does_not_help():
    assert unless_alone(0, np.array([0.5, 0.4]), [1, 2]) == 1
    assert unless_alone(0, np.array([0.5, 0.6]), [1, 2]) == 0
    assert unless_alone(1, np.array([0.5, 0.4, 0.3]), [1, 2, 3]) == 1


def test_the_print_names_a_variable_that_stands_alone():
    rng = np.random.default_rng(9)  # noise, in which a second variable helps by chance in one of four sets
    X = pd.DataFrame(rng.standard_normal((200, 7)), columns=list("abcdefg"))
    X["g"] *= 5.0
    choice = sp.choose(X, k=1, cards=[1, 2, 3])
    assert choice.card == 1
    assert "PC1 is one variable that stands alone, g: a second one predicts no better." in choice.reason


def test_levels_of_the_tests_are_printed_with_their_tables():
    X = sp.datasets.load_wine()
    levels = "Levels of the tests: p 10 %, deflated p and sparse p 2 %."
    choice = sp.choose(X, cards=[4, 6], scale=True, alpha=0.1, n_draws=99, each="equal")
    assert levels in " ".join(str(choice).split())
    assert levels in " ".join(str(choice.k_choice).split())


def test_polychoric_matrices_are_refused_by_tests_for_normal_rows():
    """Independent binary items, a share of .15: components were found in 17 of 17 such matrices."""
    items = (np.random.default_rng(0).random((200, 8)) < 0.15).astype(int)
    R = sp.correlation(items)
    for call in (sp.choose_k, sp.choose):
        with pytest.raises(OptionError, match=r"polychoric correlations.* Give k=, or the rows"):
            call(R, n_obs=200)
    assert sp.choose(R, 2, n_obs=200, cards=[1, 2]).k == 2
    assert sp.choose_k(items, scale=True).k == 0


def test_stability_is_that_of_choices_from_halves():
    X = sp.datasets.make_toy(80, rng=1)
    choice = sp.choose(X, 2, cards=[2, 4, 6], scale=True)
    found = choice.stability(3)
    assert found.table["share"].sum() == pytest.approx(1.0)
    assert found.draws["k"].tolist() == [2, 2, 2]
    assert 0.0 <= found.overlap <= 1.0
    assert "3 random halves" in str(found)
    pd.testing.assert_frame_equal(found.draws, choice.stability(3).draws)
    with pytest.raises(NoRowsError, match="halves of the rows"):
        sp.choose(X.corr(), 2, n_obs=80, cards=[2, 4]).stability(2)


def test_overlap_matches_components():
    """By hand: {a, b}, {c} and {c}, {a}: the best matching has 1 + 1 common of 3 + 2 loadings."""
    A = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    B = np.array([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    assert support_overlap(A, B) == pytest.approx(0.8)
    assert support_overlap(A, A) == 1.0
    assert support_overlap(A, np.zeros((3, 0))) == 0.0
