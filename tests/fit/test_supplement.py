"""Rows and variables beside a fit: against enumeration, scipy and statsmodels, and theorems of PCA."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.formula.api as smf
from scipy import stats

import spcastat as sp
from spcastat.errors import (
    ComponentsError,
    ShapeError,
)


@pytest.fixture(scope="module")
def X() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 7)) + 0.5 * rng.normal(size=(40, 7))
    return pd.DataFrame(values, columns=list("abcdefg"), index=[f"r{i}" for i in range(40)])


@pytest.fixture(scope="module")
def fit(X) -> sp.SpcaResult:
    return sp.spca(X, k=2, card=4, scale=True)


@pytest.fixture(scope="module")
def further(X) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {"price": X["a"] + rng.normal(size=40), "region": [["n", "s", "w"][i % 3] for i in range(40)]},
        index=X.index,
    )


def test_rows_of_the_fit_as_supplementary_rows(fit, X):
    """Scores are theirs, squared cosines those between the standardised row and the loadings."""
    found = fit.supplement(rows=X.iloc[:6])
    pd.testing.assert_frame_equal(found.rows, fit.scores.iloc[:6])
    Z = ((X - X.mean()) / X.std()).to_numpy()[:6]
    expected = (Z @ fit.loadings.to_numpy()) ** 2 / (Z**2).sum(axis=1)[:, None]
    np.testing.assert_allclose(found.frames["rows_cos2"], expected, rtol=1e-10)
    np.testing.assert_allclose(fit.cos2("rows").iloc[:6], expected, rtol=1e-10)


def test_correlations_are_those_of_pandas(fit, X, further):
    found = fit.supplement(variables=further[::-1])  # matched by label
    for component in fit.components:
        r = further["price"].corr(fit.scores[component])
        assert found.correlations.loc["price", component] == pytest.approx(r, rel=1e-12)
    own = fit.supplement(variables=X)
    pd.testing.assert_frame_equal(own.correlations, fit.correlations, atol=1e-12)


def test_scores_without_centring_are_centred_for_correlations_and_tests(X, further):
    """Against pandas and scipy: the scores of this fit have means far from zero."""
    fit = sp.spca(X + 5.0, k=2, card=4, center=False)
    found = fit.supplement(variables=further)
    levels, ratios = found.frames["levels"], found.frames["ratios"]
    n, regions = len(X), further["region"]
    for component, T in fit.scores.items():
        r = further["price"].corr(T)
        assert abs(T.mean()) > T.std()
        assert found.correlations.loc["price", component] == pytest.approx(r, rel=1e-12)
        groups = [T[regions == region] for region in "nsw"]
        F = stats.f_oneway(*groups).statistic
        assert ratios.loc["region", component] == pytest.approx(2 * F / (2 * F + n - 3), rel=1e-12)
        for region, group in zip("nsw", groups, strict=True):
            error = np.sqrt(T.var() / len(group) * (n - len(group)) / n)  # draws without replacement
            assert levels.loc[("region", region), component] == pytest.approx(group.mean(), rel=1e-12)
            test = found.frames["test_values"].loc[("region", region), component]
            assert test == pytest.approx((group.mean() - T.mean()) / error, rel=1e-12)


def test_test_values_are_those_of_draws_without_replacement():
    """The standard error is that over all ways to draw a level of 3 from 7 rows."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(7, 3)))
    fit = sp.spca(X, k=1, method="pca")
    scores = fit.scores.iloc[:, 0].to_numpy()
    means = [scores[list(rows)].mean() for rows in combinations(range(7), 3)]
    group = pd.Series(list("aaabbbb"), name="kind")
    found = fit.supplement(variables=group).frames
    mean = scores[:3].mean()
    assert found["levels"].loc[("kind", "a")].iloc[0] == pytest.approx(mean)
    assert found["test_values"].loc[("kind", "a")].iloc[0] == pytest.approx(mean / np.std(means), rel=1e-10)


def test_tests_are_those_of_scipy_and_statsmodels(fit, further):
    table = fit.describe_components(further, alpha=1.0).set_index(["component", "kind", "term"])
    r = stats.pearsonr(further["price"], fit.scores["PC1"])
    found = table.loc[("PC1", "supplementary", "price")]
    assert found["p_value"] == pytest.approx(r.pvalue, rel=1e-9)
    data = further.assign(score=fit.scores["PC2"])
    model = smf.ols("score ~ C(region)", data).fit()
    found = table.loc[("PC2", "factor", "region")]
    assert found["estimate"] == pytest.approx(model.rsquared, rel=1e-9)
    assert found["statistic"] == pytest.approx(model.fvalue, rel=1e-9)
    assert found["p_value"] == pytest.approx(model.f_pvalue, rel=1e-9)


def test_only_what_reaches_the_level_is_described_the_strongest_first(fit, further):
    whole, some = (fit.describe_components(further, alpha=alpha) for alpha in (1.0, 0.05))
    own = some["loading"].fillna(0.0) != 0.0
    assert own.sum() == fit.card.sum()
    assert some["p_value"][own].isna().all()
    assert (some["p_value"][~own] <= 0.05).all()
    assert len(some) < len(whole)
    for _, part in some[some["kind"] == "variable"].groupby("component"):
        assert part["estimate"].abs().is_monotonic_decreasing


def test_a_fit_of_a_covariance_matrix_is_described_without_rows():
    R = sp.datasets.load_pitprops()
    table = sp.spca_cov(R, 2, 5, n_obs=180).describe_components()
    first = table[table["loading"] == 0.0].iloc[0]
    t = first["estimate"] * np.sqrt(178 / (1 - first["estimate"] ** 2))
    assert first["statistic"] == pytest.approx(t)
    unknown = sp.spca_cov(R, 2, 5).describe_components()
    assert unknown["p_value"].isna().all()
    assert len(unknown) == 26


def test_weights_count_rows():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(30, 4)), columns=list("abcd"))
    w = rng.integers(1, 4, 30)
    extra = pd.DataFrame({"x": rng.normal(size=30), "f": list("pq") * 15})
    weighted = sp.spca(X, k=2, card=3, weights=w)
    rows = np.repeat(np.arange(30), w)
    repeated = sp.spca(X.iloc[rows].reset_index(drop=True), k=2, card=3)
    first = weighted.supplement(variables=extra).frames
    second = repeated.supplement(variables=extra.iloc[rows].reset_index(drop=True)).frames
    for name in ("correlations", "levels", "test_values", "ratios", "sizes"):
        pd.testing.assert_frame_equal(first[name], second[name], atol=1e-9)


def test_missing_values_leave_out_their_variable_only(fit, further):
    holes = further.copy()
    holes.iloc[:4, 0] = np.nan
    holes.iloc[5, 1] = None
    found = fit.supplement(variables=holes).frames
    r = holes["price"].corr(fit.scores["PC1"])
    assert found["correlations"].loc["price", "PC1"] == pytest.approx(r)
    assert found["sizes"].loc["price", "n"] == 36
    assert found["sizes"].loc["region", "n"] == 39


def test_contributions_and_cos2_of_pca(X):
    """All components show every row and variable wholly; contributions are cos2 over eigenvalues."""
    fit = sp.spca(X, k=7, method="pca", scale=True)
    np.testing.assert_allclose(fit.contributions().sum(), 1)
    np.testing.assert_allclose(fit.contributions("rows").sum(), 1)
    np.testing.assert_allclose(fit.cos2().sum(axis=1), 1)
    np.testing.assert_allclose(fit.cos2("rows").sum(axis=1), 1)
    eigenvalues = fit.variance["score variance"].to_numpy()
    np.testing.assert_allclose(fit.contributions(), fit.cos2() / eigenvalues, atol=1e-10)


def wrong_labels(index: pd.Index) -> list[pd.Index]:
    """Labels of which one is another's, of which some repeat, and that have nothing in common."""
    return [
        index[:-1].append(pd.Index(["other"])),
        index[[1, 0, *range(1, len(index) - 1)]],
        index + "_",
        pd.RangeIndex(1, len(index) + 1),
    ]


@pytest.mark.parametrize("which", range(4))
def test_values_with_other_labels_never_go_by_position(which, fit, further):
    moved = further.set_axis(wrong_labels(further.index)[which])
    for call in (
        lambda: fit.supplement(variables=moved),
        lambda: fit.describe_components(moved["price"]),
        lambda: fit.biplot_data(groups=moved["region"]),
        lambda: fit.biplot_data(color=moved["price"]),
        lambda: fit.plot_scores(groups=moved["region"]),
        lambda: fit.plot_diagnostics(groups=moved["region"]),
    ):
        with pytest.raises(ShapeError, match="whose labels are not those of the rows"):
            call()


def test_values_without_labels_go_by_position(fit, further):
    expected = fit.supplement(variables=further)
    unnamed = further.reset_index(drop=True)
    for given in (unnamed, pl.from_pandas(unnamed)):
        pd.testing.assert_frame_equal(fit.supplement(variables=given).correlations, expected.correlations)
    rows = fit.biplot_data(groups=unnamed["region"].iloc[::-1].to_numpy()).points["group"]
    assert rows.astype(str).tolist() == further["region"].tolist()[::-1]


# --- names of components ------------------------------------------------------------------------


def test_names_of_components_stand_everywhere(fit, tmp_path):
    named = fit.rename({"PC1": "size", 2: "shape"})
    assert list(fit.components) == ["PC1", "PC2"]
    for one in (named, _saved(named, tmp_path)):
        for frame in (one.loadings, one.scores, one.correlations, one.score_correlations):
            assert list(frame.columns) == ["size", "shape"]
        assert list(one.variance.index) == ["size", "shape"]
        assert "size" in one.summary().as_text()
        assert one.equations().startswith("size")
        assert one.biplot(components=("shape", "size")).get_xlabel().startswith("shape")
        assert set(one.tidy()["component"]) == {"size", "shape"}
    np.testing.assert_array_equal(named.loadings, fit.loadings)


def _saved(fit: sp.SpcaResult, folder) -> sp.SpcaResult:
    fit.save(folder / "fit.spca", scores=True)
    return sp.load(folder / "fit.spca")


# --- reconstruction -----------------------------------------------------------------------------


def test_reconstruction_with_some_components(fit, X):
    """The error drawn is that of the rows that inverse_transform gives back, in units of the fit."""
    drawn = {line.get_label(): line for line in fit.screeplot(kind="error").lines}
    curves = {"error": drawn["sparse PCA"].get_ydata(), "dense": drawn["dense PCA"].get_ydata()}
    errors = pd.DataFrame(curves) / 100
    Z = (X - X.mean()) / X.std()
    for count in (0, 1, 2):
        back = fit.inverse_transform(fit.scores, k=count)
        left = Z - (back - X.mean()) / X.std()
        error = np.linalg.norm(left) / np.linalg.norm(Z)
        assert errors.loc[count, "error"] == pytest.approx(error, rel=1e-9)
    same = fit.inverse_transform(fit.scores[["PC1"]], k=1)
    pd.testing.assert_frame_equal(same, fit.inverse_transform(fit.scores, k=1))
    assert (errors["dense"] <= errors["error"] + 1e-12).all()
    with pytest.raises(ComponentsError, match="k=3"):
        fit.inverse_transform(fit.scores, k=3)


def test_the_spectrum_is_that_of_numpy(X):
    fit = sp.spca(X, k=2, card=3, scale=True)
    expected = np.linalg.eigvalsh(X.corr())[::-1]
    np.testing.assert_allclose(fit.eigenvalues, expected, rtol=1e-9)
    wide = sp.spca(X.T.set_axis(range(40), axis=1), k=2, card=3)
    values = np.linalg.eigvalsh(np.cov(X.to_numpy()))[::-1]
    np.testing.assert_allclose(wide.eigenvalues[:6], values[:6], rtol=1e-8)
