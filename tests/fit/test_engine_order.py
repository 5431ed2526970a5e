"""Order and sign of components."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.fit.starts import order_and_sign
from spcastat.linalg.operators import Gram
from spcastat.measures import best_order, totals_in_orders


def rows() -> pd.DataFrame:
    X = np.random.default_rng(0).standard_normal((50, 6)) * [1, 2, 3, 4, 5, 6]
    return pd.DataFrame(X, columns=list("abcdef"))


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, lambda card: dict(enumerate(card, 1))])
def test_a_sequence_of_cardinalities_fixes_the_order(kind):
    fit = sp.spca(rows(), 3, kind([1, 2, 6]))
    assert fit.card.tolist() == [1, 2, 6]
    by_name = sp.spca(rows(), 3, {"PC3": 6, "PC1": 1, "PC2": 2})
    np.testing.assert_array_equal(by_name.loadings, fit.loadings)


def test_views_and_generators_are_sequences_too():
    card = {"x": 1, "y": 2, "z": 6}
    # of one cardinality each, so that an order by variance would show
    data = rows()[list("fedcba")]
    for given in (card.values(), (c for c in (1, 2, 6))):
        fit = sp.spca(data, 3, given)
        expected = sp.spca(data, 3, [1, 2, 6])
        np.testing.assert_array_equal(fit.loadings, expected.loadings)


def test_joint_methods_with_one_cardinality_are_sorted_by_variance():
    # The start of PCA can end in components whose variances are not in order.
    unsorted = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((25, 8)) @ rng.standard_normal((8, 8))
        fit = sp.spca(X, 3, 2, tol=1e-5, method="bcd-l0")
        assert (np.diff(fit.variance["score variance"]) <= 1e-12).all()
        given = sp.spca(X, 3, 2, tol=1e-5, method="bcd-l0", order="given")
        assert given.objective_value == fit.objective_value
        unsorted += bool((np.diff(given.variance["score variance"]) > 0).any())
        same = {tuple(np.round(v, 12)) for v in given.loadings.to_numpy().T}
        assert same == {tuple(np.round(v, 12)) for v in fit.loadings.to_numpy().T}
    assert unsorted > 0


def test_sequential_methods_keep_the_order_of_extraction():
    R = sp.datasets.load_pitprops()
    for options in ({"card": 3, "method": "greedy"}, {"variance": 0.9, "method": "controlled"}):
        one, many = sp.spca_cov(R, 1, **options), sp.spca_cov(R, 6, **options)
        np.testing.assert_allclose(many.loadings["PC1"], one.loadings["PC1"], atol=1e-14)
        given = sp.spca_cov(R, 6, order="given", **options)
        np.testing.assert_array_equal(given.loadings, many.loadings)


def test_order_by_variance_on_request():
    fit = sp.spca(rows(), 3, [1, 2, 6], order="variance")
    assert (np.diff(fit.variance["score variance"]) <= 0).all()
    # measured in the order shown: adjusted variance depends on it
    direct = sp.measures.adjusted(fit.loadings, X=rows(), cumulative=True)
    np.testing.assert_allclose(fit.variance["cumulative adjusted"], direct, rtol=1e-12)


@pytest.mark.parametrize("method", ["bcd-l0", "bcd-l1", "greedy", "controlled", "pca"])
def test_the_largest_absolute_loading_is_positive(method):
    rng = np.random.default_rng(1)
    for _ in range(5):
        X = rng.standard_normal((30, 5)) @ rng.standard_normal((5, 5))
        V = sp.spca(X, 3, 2 if method[0] in "bg" else None, method=method).loadings.to_numpy()
        assert (V[np.abs(V).argmax(axis=0), range(3)] > 0).all()


def test_of_equal_loadings_the_first_is_positive():
    S = np.array([[1.0, -0.5, 0.0], [-0.5, 1.0, 0.0], [0.0, 0.0, 0.1]])
    for options in ({"card": 2}, {"card": 2, "method": "greedy"}, {"method": "pca"}):
        v = sp.spca_cov(S, 1, **options).loadings["PC1"].to_numpy()
        np.testing.assert_allclose(v, [np.sqrt(0.5), -np.sqrt(0.5), 0.0], atol=1e-14)


def test_the_order_that_a_search_for_adjusted_variance_found_stays():
    # sorted by variance, the same components would count less where they overlap
    R = sp.datasets.load_pitprops()
    found, asked = sp.spca_cov(R, 3, 5), sp.spca_cov(R, 3, 5, order="given")
    np.testing.assert_array_equal(found.loadings, asked.loadings)
    by_variance = sp.spca_cov(R, 3, 5, order="variance")
    assert by_variance.measure("adjusted") <= found.measure("adjusted") + 1e-12
    assert by_variance.objective_value / 13 == pytest.approx(by_variance.measure("adjusted"), rel=1e-12)


def test_a_promise_after_every_component_leaves_their_order_alone():
    R = sp.datasets.load_pitprops()
    fit = sp.spca_cov(R, 3, variance=0.8, effort="quick")
    kept = fit.variance["cumulative adjusted"] / fit.variance["cumulative PCA"]
    assert (kept >= 0.8 - 1e-9).all()
    np.testing.assert_allclose(kept, fit.details["kept"].astype(float), rtol=1e-9)
    with pytest.raises(OptionError, match="whose share of variance is kept by the components in the order"):
        sp.spca_cov(R, 3, variance=0.8, order="variance")


@pytest.mark.parametrize("objective", ["adjusted", "pev", "least_squares"])
@pytest.mark.parametrize("kind", [list, np.asarray])
def test_equal_cardinalities_in_a_list_are_one_cardinality(objective, kind):
    # without the sort the last bits of sums decide which component comes first
    S = rows().corr()
    for card in (2, 3):
        one = sp.spca_cov(S, 2, card, objective=objective)
        several = sp.spca_cov(S, 2, kind([card, card]), objective=objective)
        np.testing.assert_array_equal(several.loadings, one.loadings)
        descent = sp.spca_cov(S, 2, kind([card, card]), method="bcd-l0")
        np.testing.assert_array_equal(descent.loadings, sp.spca_cov(S, 2, card, method="bcd-l0").loadings)


def test_components_of_one_cardinality_are_sorted_among_themselves():
    S = np.diag([1.0, 4.0, 2.0, 9.0, 3.0, 8.0])
    V = np.eye(6)[:, [0, 1, 2, 3, 4]]
    found, order = order_and_sign(Gram(S), V, np.array([0, 1, 0, 1, 2]))
    assert order.tolist() == [2, 3, 0, 1, 4]
    np.testing.assert_array_equal(found, V[:, order])


@pytest.mark.parametrize("swap", [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]])
def test_components_of_equal_variance_are_sorted_by_their_supports(swap):
    # variances that differ by rounding, in whatever order the components are found
    S = np.diag([1.0, 1.0 + 2e-16, 1.0 - 1e-16, 1.0])
    found, _ = order_and_sign(Gram(S), np.eye(4)[:, swap], np.zeros(4))
    np.testing.assert_array_equal(found, np.eye(4))
    V = np.array([[0.6, 0.8], [0.8, -0.6], [0.0, 0.0], [0.0, 0.0]])  # the same support: larger loadings first
    for one in (V, V[:, ::-1]):
        np.testing.assert_array_equal(
            order_and_sign(Gram(np.eye(4)), one, np.zeros(2))[0], V[:, ::-1] * [1, 1]
        )


def all_orders(S, cards, **options):
    """Adjusted variance as a share of the total, by the order of the cardinalities."""
    return {
        order: sp.spca_cov(S, len(cards), list(order), **options).measure("adjusted")
        for order in set(permutations(cards))
    }


@pytest.mark.parametrize("cards", [(3, 5), pytest.param((2, 4, 8), marks=pytest.mark.slow)])
def test_the_best_order_is_the_best_of_all(cards):
    # Figures of the pitprops data: .4069 in the order (3, 5), .4092 in (5, 3); .5632, and .5814.
    R = sp.datasets.load_pitprops()
    values = all_orders(R, cards)
    given = sp.spca_cov(R, len(cards), list(cards))
    best = sp.spca_cov(R, len(cards), list(cards), order="best")
    assert best.measure("adjusted") == pytest.approx(max(values.values()), rel=1e-6)
    assert best.measure("adjusted") > given.measure("adjusted") * 1.005
    assert best.options["card"] == best.card.tolist()
    assert sorted(best.card) == sorted(cards)
    assert best.refit().card.tolist() == best.card.tolist()
    # what the summary says of the components of the fit as it is, worked out by QR in every order
    V = given.loadings.to_numpy()
    orders = [list(order) for order in permutations(range(len(cards)))]
    shares = [sp.measures.adjusted(V[:, order], S=R) for order in orders]
    text = " ".join(str(given).split())
    names = ", ".join(f"PC{i + 1}" for i in orders[int(np.argmax(shares))])
    assert f"In the order {names} these components keep {100 * max(shares):.2f} %" in text
    assert "In the order" not in str(best)


def test_the_best_order_is_refused_where_it_means_nothing():
    R = sp.datasets.load_pitprops()
    for options in ({"objective": "pev"}, {"method": "greedy"}, {"method": "bcd-l0"}):
        with pytest.raises(OptionError, match="order='best' was given with method="):
            sp.spca_cov(R, 2, [3, 5], order="best", **options)
    with pytest.raises(OptionError, match="order='best'"):
        sp.spca_cov(R, 2, variance=0.8, order="best")


def test_orders_of_many_components_are_improved_by_exchanges():
    """A chain of seven scores: no exchange of two components of the order raises the sum, by QR."""
    rng = np.random.default_rng(4)
    T = rng.standard_normal((40, 7)) @ rng.standard_normal((7, 7))
    T[:, 6] = T[:, 0]  # depends on another
    order = best_order(T.T @ T)

    def total(order):
        return (np.linalg.qr(T[:, order])[1].diagonal() ** 2).sum()

    for i, j in combinations(range(7), 2):
        other = order.copy()
        other[[i, j]] = order[[j, i]]
        assert total(other) <= total(order) * (1 + 1e-9)
    totals = totals_in_orders(T.T @ T, np.array([order]))
    assert totals[0] == pytest.approx(total(order), rel=1e-9)


@pytest.mark.parametrize("objective", ["adjusted", "pev", "least_squares"])
def test_full_cardinality_is_pca_without_a_search(objective):
    X = np.random.default_rng(2).standard_normal((30, 9)) * np.arange(1, 10)
    pca = sp.spca(X, 3, method="pca")
    for card in (9, [9, 9, 9]):
        fit = sp.spca(X, 3, card, objective=objective)
        np.testing.assert_allclose(fit.loadings, pca.loadings, atol=1e-12)
        assert fit.glance()["n_iter"].item() == 1
        assert "proven: no other loadings" in " ".join(str(fit).split())
