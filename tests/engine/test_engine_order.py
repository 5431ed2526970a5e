"""Order and sign of components."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import OptionError


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
    with pytest.raises(OptionError, match="whose promise holds for the components in the order"):
        sp.spca_cov(R, 3, variance=0.8, order="variance")
