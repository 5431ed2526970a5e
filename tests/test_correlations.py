"""Correlation matrices of ordinal variables, against closed forms and SciPy's normal distribution."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal, norm

import spcastat as sp
from spcastat.kernels.polychoric import bivariate_normal


def cut(rng: np.random.Generator, n: int, r: float, first: list[float], second: list[float]) -> pd.DataFrame:
    """Return two items, normal variables of correlation r that are cut at thresholds."""
    z = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], size=n)
    return pd.DataFrame({"a": np.searchsorted(first, z[:, 0]), "b": np.searchsorted(second, z[:, 1])})


@pytest.mark.parametrize("r", [-0.99, -0.5, 0.1, 0.9, 0.99])
def test_the_bivariate_normal_distribution_is_scipys(r):
    h, k = np.array([0.3, -1.2, 2.5]), np.array([-0.7, 0.0, 2.4])
    expected = [
        multivariate_normal.cdf([a, b], [0, 0], [[1, r], [r, 1]], abseps=1e-13)
        for a, b in zip(h, k, strict=True)
    ]
    # 32 nodes give 3e-15 up to 0.99; SciPy's own integration about 1e-13
    np.testing.assert_allclose(bivariate_normal(h, k, np.array(r)), expected, atol=2e-12)


def test_items_cut_at_their_medians_have_the_closed_form():
    # P(both above) = 1/4 + asin(r) / (2 pi), so 340 of 1000 in either corner mean r = sin(2 pi (0.34 - 0.25))
    rows = [(0, 0)] * 340 + [(0, 1)] * 160 + [(1, 0)] * 160 + [(1, 1)] * 340
    found = sp.correlation(pd.DataFrame(rows, columns=["a", "b"]))
    assert found.loc["a", "b"] == pytest.approx(np.sin(2 * np.pi * 0.09), abs=1e-9)


def test_the_likelihood_is_at_its_maximum_given_the_thresholds():
    items = cut(np.random.default_rng(0), 400, 0.6, [-0.5, 0.4, 1.5], [0.2, 1.0])
    table = pd.crosstab(items["a"], items["b"]).to_numpy()
    h, k = (
        np.r_[-9.0, norm.ppf(np.cumsum(margin)[:-1] / margin.sum()), 9.0]
        for margin in (table.sum(axis=1), table.sum(axis=0))
    )

    def deviance(r: float) -> float:
        corners = np.array(
            [[multivariate_normal.cdf([a, b], [0, 0], [[1, r], [r, 1]]) for b in k] for a in h]
        )
        return -(table * np.log(np.diff(np.diff(corners, axis=0), axis=1))).sum()

    best = minimize_scalar(deviance, bounds=(0.2, 0.9), method="bounded", options={"xatol": 1e-8}).x
    # a deviance that is known to 1e-7 places its minimum to about 1e-4
    assert sp.correlation(items).loc["a", "b"] == pytest.approx(best, abs=2e-4)


def test_what_the_categories_weaken_is_restored():
    # 60 draws: the mean has a standard error of about .05 / sqrt(60); four of them, and a small-sample bias
    rng = np.random.default_rng(1)
    sets = [cut(rng, 500, 0.5, [0.8, 1.4], [-1.0, -0.4]) for _ in range(60)]
    polychoric = [sp.correlation(items).loc["a", "b"] for items in sets]
    pearson = [sp.correlation(items, "pearson").loc["a", "b"] for items in sets]
    assert np.mean(polychoric) == pytest.approx(0.5, abs=0.035)
    assert np.mean(pearson) < 0.35


def test_rows_are_left_out_pair_by_pair_as_pandas_does():
    rng = np.random.default_rng(2)
    items = pd.concat([cut(rng, 200, 0.4, [0.0, 1.0], [-1.0, 0.5]), cut(rng, 200, 0.2, [0.3], [0.0])], axis=1)
    items.columns = list("abcd")
    items = items.astype(float).mask(rng.random(items.shape) < 0.1)
    # the same sums in another order
    for method in ("pearson", "spearman"):
        found = sp.correlation(items, method)
        np.testing.assert_allclose(found, items.corr(method), rtol=0, atol=1e-12)
    found = sp.correlation(items)
    alone = sp.correlation(items[["a", "d"]].dropna())
    assert found.loc["a", "d"] == pytest.approx(alone.loc["a", "d"], abs=1e-9)
    assert found.attrs["spcastat"]["n_obs"] == 200
    assert (
        found.attrs["spcastat"]["n_pairs_min"]
        == items.notna().astype(int).T.dot(items.notna().astype(int)).min().min()
    )


def test_categories_count_by_their_order_and_labels_stay():
    numbers = cut(np.random.default_rng(3), 300, 0.5, [-0.5, 0.5], [0.0, 1.0])
    named = numbers.apply(lambda x: pd.Categorical.from_codes(x, ["low", "middle", "high"], ordered=True))
    pd.testing.assert_frame_equal(sp.correlation(named), sp.correlation(numbers))
    assert sp.correlation(numbers.to_numpy()).columns.tolist() == ["x1", "x2"]
    # strictly rising codes change nothing
    pd.testing.assert_frame_equal(sp.correlation(numbers**3), sp.correlation(numbers))


def test_a_pair_without_a_corner_is_named():
    rows = [(0, 0)] * 50 + [(1, 0)] * 20 + [(1, 1)] * 30
    found = sp.correlation(pd.DataFrame(rows, columns=["a", "b"]), bound=0.99)
    assert found.attrs["spcastat"]["at_bound"] == [("a", "b")]
    assert found.loc["a", "b"] == 0.99


@pytest.mark.parametrize(
    ("items", "options", "error", "words"),
    [
        ({"a": ["x", "y", "x"], "b": [1, 2, 1]}, {}, sp.errors.ColumnTypeError, "'a'.*ordered=True"),
        ({"a": pd.Categorical(["x", "y", "x"]), "b": [1, 2, 1]}, {}, sp.errors.ColumnTypeError, "'a'.*order"),
        (
            {"a": range(12), "b": [1, 2] * 6},
            {},
            sp.errors.ColumnTypeError,
            "max_levels=10.*'a'.*12 in the first",
        ),
        ({"a": [1, 1, 1], "b": [1, 2, 1]}, {}, sp.errors.ConstantColumnError, "'a' has one value"),
        ({"a": [np.nan] * 3, "b": [1, 2, 1]}, {}, sp.errors.MissingValuesError, "'a' holds no value"),
        ({"a": [1, 2, np.nan], "b": [np.nan, 2, 1]}, {}, sp.errors.MissingValuesError, "'a' and 'b'"),
        (
            {"a": [1, 2, np.nan], "b": [np.nan, 2, 1]},
            {"method": "pearson"},
            sp.errors.MissingValuesError,
            "'b'",
        ),
        ({"a": [1, 2, np.inf], "b": [1, 2, 1]}, {}, sp.errors.InfiniteValuesError, "'a'"),
        ({"a": [1, 2], "b": [2, 1]}, {"method": "kendall"}, sp.errors.OptionError, "method='kendall'"),
        ({"a": [1, 2], "b": [2, 1]}, {"bound": 1.0}, sp.errors.OptionError, "bound=1.0"),
        ({"a": [1, 2], "b": [2, 1]}, {"max_levels": 1}, sp.errors.OptionError, "max_levels=1"),
    ],
)
def test_what_has_no_correlation_is_refused_by_name(items, options, error, words):
    with pytest.raises(error, match=words):
        sp.correlation(pd.DataFrame(items), **options)


def indefinite() -> pd.DataFrame:
    """Return polychoric correlations of 6 items that no sample has."""
    z = np.random.default_rng(3).normal(size=(40, 6))
    items = pd.DataFrame(np.digitize(z[:, [0]] + 0.3 * z, [-1.0, 0.0, 1.0]), columns=list("abcdef"))
    return sp.correlation(items)


def test_correlations_that_no_sample_has_are_replaced_by_the_nearest_and_the_print_says_so(tmp_path):
    R = indefinite()
    assert R.attrs["spcastat"]["smallest_eigenvalue"] < -1e-3
    with pytest.raises(sp.errors.CovarianceError, match="nearest=True"):
        sp.spca_cov(R, 1, 3)
    fit = sp.spca_cov(R, 1, 3, nearest=True)
    text = " ".join(str(fit).split())
    assert "polychoric correlation matrix of 6 variables, from 40 rows" in text
    assert f"smallest eigenvalue {R.attrs['spcastat']['smallest_eigenvalue']:.2g}" in text
    assert "replaced by the nearest matrix" in fit.describe().text
    assert fit.total_variance == pytest.approx(6)
    fit.save(tmp_path / "fit.spca")
    assert str(sp.load(tmp_path / "fit.spca")) == str(fit)
    assert str(fit.refit(card=3)) == str(fit)
    assert str(sp.spca_path(R, 1, [3], nearest=True)[3]) == str(fit)


def test_polychoric_correlations_have_no_scores_of_codes_and_no_draws_of_normal_rows():
    R = indefinite()
    fit = sp.spca_cov(R, 1, 3, nearest=True)
    with pytest.raises(sp.errors.NoRowsError, match="than polychoric correlations"):
        fit.bootstrap(10)
    with pytest.raises(sp.errors.NoRowsError, match="not those of the numbers"):
        fit.transform(R)
    with pytest.raises(sp.errors.OptionError, match="mean was given with polychoric"):
        sp.spca_cov(R, 1, 3, nearest=True, mean=np.zeros(6))
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 4)))
    assert sp.spca_cov(sp.correlation(rows, "pearson"), 1, 2).bootstrap(10) is not None  # n_obs is known
    assert sp.choose(sp.correlation(rows, "pearson"), 1, [1, 2]).by == "ebic"
    assert "Data       Pearson correlation matrix of" in str(
        sp.spca_cov(sp.correlation(rows, "pearson"), 1, 2)
    )
    with pytest.raises(sp.errors.NoRowsError, match="correlations of 29 to 30 rows"):
        sp.spca_cov(sp.correlation(rows.mask(rows == rows.iloc[0, 0]), "pearson"), 1, 2).bootstrap(10)
