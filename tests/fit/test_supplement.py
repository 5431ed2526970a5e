"""Rows and variables beside a fit, and new rows: against enumeration, scipy, statsmodels and theorems."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as ss
import statsmodels.formula.api as smf
from scipy import stats

import spcastat as sp
from spcastat import errors
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
    found = fit.describe_components(further, alpha=1.0)
    table = found.frames["components"].set_index(["component", "kind", "term"])
    r = stats.pearsonr(further["price"], fit.scores["PC1"])
    found = table.loc[("PC1", "supplementary", "price")]
    assert found["p_value"] == pytest.approx(r.pvalue, rel=1e-9)
    data = further.assign(score=fit.scores["PC2"])
    model = smf.ols("score ~ C(region)", data).fit()
    found = table.loc[("PC2", "factor", "region")]
    assert found["estimate"] == pytest.approx(model.rsquared, rel=1e-9)
    assert found["statistic"] == pytest.approx(model.fvalue, rel=1e-9)
    assert found["p_value"] == pytest.approx(model.f_pvalue, rel=1e-9)


def test_descriptions_print_whole_and_a_series_is_a_variable(fit, further):
    printed = str(fit.describe_components(further, alpha=1.0).summary()).splitlines()
    assert max(map(len, printed)) <= 80
    assert any("price" in line and "supplementary" in line for line in printed)
    words = " ".join(str(fit.describe_components(further, alpha=0.2).summary()).split())
    assert "Of the others, those with p <= 0.2 are shown; p is not adjusted for multiple tests." in words
    assert "Selected variables are not tested. p is not adjusted for multiple tests." in " ".join(
        " ".join(printed).split()
    )
    alone = fit.supplement(further["price"]).correlations
    pd.testing.assert_frame_equal(alone, fit.supplement(variables=further[["price"]]).correlations)


def test_a_fit_of_a_covariance_matrix_is_described_without_rows():
    R = sp.datasets.load_pitprops()
    table = sp.spca_cov(R, 2, 5, n_obs=180).describe_components().frames["components"]
    first = table[table["loading"] == 0.0].iloc[0]
    t = first["estimate"] * np.sqrt(178 / (1 - first["estimate"] ** 2))
    assert first["statistic"] == pytest.approx(t)
    unknown = sp.spca_cov(R, 2, 5).describe_components().frames["components"]
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
        with pytest.raises(ShapeError, match="has labels that do not match the rows"):
            call()


def test_a_part_of_the_rows_is_not_advised_to_go_by_position(fit, further):
    with pytest.raises(ShapeError, match=r"variables has labels .* Give it the same labels\.$"):
        fit.supplement(variables=further["price"].head(5))


def test_groups_may_be_a_frame_of_one_column(fit, further):
    alone = fit.biplot_data(groups=further["region"])
    pd.testing.assert_frame_equal(fit.biplot_data(groups=further[["region"]]).points, alone.points)


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
    """The squared error of the rows that inverse_transform returns is what cumulative PEV leaves."""
    errors = (1 - fit.variance["cumulative PEV"]) ** 0.5
    Z = (X - X.mean()) / X.std()
    for count in (1, 2):
        back = fit.inverse_transform(fit.scores, k=count)
        left = Z - (back - X.mean()) / X.std()
        error = np.linalg.norm(left) / np.linalg.norm(Z)
        assert errors.iloc[count - 1] == pytest.approx(error, rel=1e-9)
    same = fit.inverse_transform(fit.scores[["PC1"]], k=1)
    pd.testing.assert_frame_equal(same, fit.inverse_transform(fit.scores, k=1))
    with pytest.raises(ComponentsError, match="k=3"):
        fit.inverse_transform(fit.scores, k=3)


# --- New rows need only the variables with a nonzero loading ------------------------------------


def rows() -> pd.DataFrame:
    """60 rows of two factors with three variables each, and two columns of small noise."""
    rng = np.random.default_rng(3)
    factors = rng.normal(size=(60, 2)) * [3.0, 2.0]
    values = np.column_stack([factors[:, [0, 0, 0, 1, 1, 1]], np.zeros((60, 2))])
    return pd.DataFrame(values + 0.3 * rng.normal(size=(60, 8)), columns=list("abcdefgh"))


@pytest.fixture(scope="module")
def small_fit() -> sp.SpcaResult:
    found = sp.spca(rows(), 2, 3)
    assert not found.loadings.loc[["g", "h"]].to_numpy().any()
    return found


def same(scores: object, small_fit: sp.SpcaResult) -> None:
    np.testing.assert_array_equal(np.asarray(scores), small_fit.scores.to_numpy())


def test_unused_columns_may_be_absent_or_missing(small_fit):
    data = rows()
    same(small_fit.transform(data), small_fit)
    for new in (
        data.drop(columns=["g", "h"]),
        data[list("fbdace")],
        data.assign(g=np.nan),
        data.assign(g=np.inf, h="text"),
    ):
        pd.testing.assert_frame_equal(small_fit.transform(new), small_fit.scores, check_exact=True)
    appended = small_fit.augment(data.drop(columns="h").assign(g=np.nan))
    same(appended[[".fittedPC1", ".fittedPC2"]], small_fit)
    assert appended["g"].isna().all()


def test_arrays_have_all_columns_and_unused_ones_may_be_missing():
    values = rows().to_numpy()
    small_fit = sp.spca(values, 2, 3)
    holes = values.copy()
    holes[:, 6:] = np.nan
    same(small_fit.transform(holes), small_fit)
    same(small_fit.transform(pd.DataFrame(holes, columns=[f"x{j}" for j in range(1, 9)])), small_fit)
    with pytest.raises(errors.NewDataError, match="have 6 columns; the fit has 8"):
        small_fit.transform(holes[:, :6])
    sparse = sp.spca(ss.csc_array(values), 2, 3)
    same(sparse.transform(ss.csr_array(holes)), sparse)


def test_chunks_and_dask(small_fit, tmp_path):
    less = rows()[list("abcdef")]
    same(small_fit.transform([less[:25], less[25:].assign(h=np.nan)]), small_fit)
    dask = pytest.importorskip("dask.dataframe")
    same(small_fit.transform(dask.from_pandas(less, npartitions=2)).compute(), small_fit)
    unnamed = sp.spca(rows().to_numpy(), 2, 3)
    frame = dask.from_pandas(rows().assign(h=np.nan), npartitions=2)
    with pytest.warns(errors.DataWarning, match="taken by position"):
        same(unnamed.transform(frame).compute(), unnamed)
    pytest.importorskip("pyarrow")
    small_fit.transform_to(tmp_path / "scores.parquet", less)
    same(pd.read_parquet(tmp_path / "scores.parquet"), small_fit)


def test_used_columns_are_needed(small_fit):
    with pytest.raises(errors.NewDataError, match="lack 1 of the 6 columns that the components use: 'b'"):
        small_fit.transform(rows().drop(columns="b"))
    holes = rows()
    holes.loc[4, "b"] = np.nan
    with pytest.raises(errors.MissingValuesError, match=r"in 'b': use na='drop' .* or na='pairwise' to get"):
        small_fit.transform(holes)
    # without a model na="em" is not possible, and without a used column nothing is left
    with pytest.raises(errors.MissingValuesError, match=r"in 'b': use na='pairwise' to get [^=]*$"):
        small_fit.transform(rows().assign(b=np.nan))
    assert small_fit.transform(holes, na="drop").index.tolist() == [i for i in range(60) if i != 4]
    assert small_fit.transform(holes, na="pairwise").isna().to_numpy().sum() == 1
    # the distance from the span of the loadings depends on all variables
    with pytest.raises(errors.NewDataError, match="lack 1 of the 8 columns of the fit: 'h'"):
        small_fit.diagnostics(rows().drop(columns="h"))


@pytest.mark.parametrize(
    "formula", ["~ a + b + c + d + e + f + g + h", "~ scale(a) + b + c + d + e + f + scale(g) + h"]
)
def test_terms_without_loadings_are_not_evaluated(formula):
    small_fit = sp.spca(rows(), 2, 3, formula=formula)
    assert (small_fit.loadings.iloc[6:] == 0).all(axis=None)
    new = rows().drop(columns="h").assign(g=np.nan)
    np.testing.assert_allclose(
        small_fit.transform(new), small_fit.scores, rtol=1e-14
    )  # scale(a) in another layout
    np.testing.assert_array_equal(small_fit.transform(new), small_fit.transform(rows()))
    with pytest.raises(errors.NewDataError, match="lack 1 of the 6 columns that the components use: 'd'"):
        small_fit.transform(new.drop(columns="d"))


def test_a_factor_is_needed_if_one_of_its_levels_is():
    data = rows().assign(site=np.where(rows()["a"] > 0, "north", "south"), other=list("uvw") * 20)
    small_fit = sp.spca(
        data,
        2,
        card=[2, 3],
        formula="~ a + site + d + e + f + other",
        categorical="dummy",
        exclude=["site[north]"],
    )
    loadings = small_fit.loadings
    assert loadings.loc["site[south]"].any()
    assert not loadings.filter(like="other", axis=0).to_numpy().any()
    np.testing.assert_array_equal(small_fit.transform(data.drop(columns="other")), small_fit.transform(data))
    np.testing.assert_array_equal(small_fit.transform(data.assign(other="new")), small_fit.transform(data))
    with pytest.raises(errors.NewDataError, match="'site'"):
        small_fit.transform(data.drop(columns="site"))


def test_covariates_are_needed():
    data = rows().assign(age=np.random.default_rng(5).normal(size=60))
    small_fit = sp.spca(data, 2, 3, formula="~ . | age")
    assert not small_fit.loadings.loc[["g", "h"]].to_numpy().any()
    same(small_fit.transform(data.drop(columns=["g", "h"])), small_fit)
    with pytest.raises(errors.NewDataError, match="'age'"):
        small_fit.transform(data.drop(columns="age"))


def test_missing_values_are_treated_as_in_the_fit(tmp_path):
    holes = rows().mask(np.random.default_rng(4).random((60, 8)) < 0.05)
    for na in ("pairwise", "em"):
        small_fit = sp.spca(holes, 2, 3, na=na)
        pd.testing.assert_frame_equal(small_fit.transform(holes), small_fit.scores, check_exact=True)
        pd.testing.assert_frame_equal(
            small_fit.augment(holes).iloc[:, -2:].set_axis(["PC1", "PC2"], axis=1), small_fit.scores
        )
        with pytest.raises(errors.MissingValuesError, match="use na='drop'"):
            small_fit.transform(holes, na="raise")
        small_fit.save(tmp_path / "a.spca")
        pd.testing.assert_frame_equal(sp.load(tmp_path / "a.spca").transform(holes), small_fit.scores)
    # em: imputing needs all columns, and without missing values nothing is imputed
    complete = rows()[list("abcdef")]
    np.testing.assert_array_equal(small_fit.transform(complete, na="em"), small_fit.transform(rows()))
    with pytest.raises(errors.NewDataError, match="lack 2 of the 8 columns of the fit: 'g', 'h'"):
        small_fit.transform(holes[list("abcdef")])
    dropped = sp.spca(holes, 2, 3, na="drop")
    with pytest.raises(errors.MissingValuesError):
        dropped.transform(holes)
