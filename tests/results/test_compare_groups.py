"""Components of groups of rows: slopes by regression, level and power, adjusted p-values, refusals."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from statsmodels.regression.linear_model import OLS

import spcastat as sp
from spcastat.assess.group_slopes import slopes_of, step_down
from spcastat.errors import (
    ConstantColumnError,
    DataError,
    MissingValuesError,
    NoRowsError,
    OptionError,
    RowGroupsError,
    TooFewRowsError,
)

P = 12


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def covariance(swap: bool = False, variances: tuple[float, float] = (6.0, 4.0)) -> np.ndarray:
    """Two components of four variables; with `swap` the ninth variable takes the place of the fourth."""
    V = np.zeros((P, 2))
    V[:4, 0] = V[4:8, 1] = 0.5
    if swap:
        V[3, 0], V[8, 0] = 0.0, 0.5
    return np.eye(P) + (V * np.array(variances)) @ V.T


def rows(seed: int, one: np.ndarray, other: np.ndarray, n: tuple[int, int] = (120, 120)) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    parts = [
        rng.standard_normal((m, P)) @ np.linalg.cholesky(S).T for m, S in zip(n, (one, other), strict=True)
    ]
    return pd.DataFrame(np.vstack(parts), columns=[f"v{j + 1}" for j in range(P)])


GROUP = np.repeat(["a", "b"], 120)


@pytest.fixture(scope="module")
def swapped() -> pd.DataFrame:
    return rows(1, covariance(), covariance(swap=True))


@pytest.fixture(scope="module")
def found(swapped):
    return sp.compare_groups(swapped, GROUP, 2, 4, n_draws=199, effort="quick")


def test_a_swapped_variable_is_named_and_no_other(found):
    """p of 199 permutations is .005 at least, and adjusted p-values hold for all 24 at once."""
    assert found.p_value == 0.005
    differing = found.p_adjusted.stack()
    assert sorted({term for term, _ in differing.index[differing <= 0.05]}) == ["v4", "v9"]
    assert found.n == 199
    assert not found.interrupted
    text = " ".join(str(found).split())
    assert "v4 (PC" in text
    assert "Rows a 120, b 120" in text


def test_equal_components_of_unequal_variance_count_as_equal():
    """Ten sets of which groups differ in means, sizes, and the variance of a component, not in slopes."""
    p = []
    for seed in range(10):
        X = rows(seed, covariance(), covariance(variances=(18.0, 4.0)), (80, 160))
        X.iloc[80:] += 5.0
        p.append(sp.compare_groups(X, [1] * 80 + [2] * 160, 2, 4, n_draws=99, effort="quick").p_value)
    # at a level of .05 more than two of ten rejections have a probability of .01
    assert sum(one <= 0.05 for one in p) <= 2


def test_slopes_and_errors_are_those_of_regression(swapped, found):
    """statsmodels: HC0 standard errors of regressions without intercept of centred variables on scores."""
    Z = swapped - swapped.groupby(GROUP).transform("mean")
    for g, name in enumerate("ab"):
        z = Z[name == GROUP]
        T = z.to_numpy() @ found.fit.loadings.to_numpy()
        own = found.slopes[found.slopes["group"] == name]
        for component, term in (("PC1", "v4"), ("PC2", "v9"), ("PC1", "v6")):
            j = list(found.fit.components).index(component)
            theirs = OLS(z[term].to_numpy(), T[:, j]).fit(cov_type="HC0")
            line = own[(own["component"] == component) & (own["term"] == term)].iloc[0]
            assert line["estimate"] == pytest.approx(theirs.params[0], rel=1e-9)
            assert line["std_error"] == pytest.approx(theirs.bse[0], rel=1e-9)
        assert found.table["rows"].iloc[2 * g] == 120


def test_errors_of_clusters_are_those_of_regression():
    rng = np.random.default_rng(0)
    Z, unit = rng.standard_normal((60, 3)), np.repeat(np.arange(12), 5)
    Z -= Z.mean(axis=0)
    b, v = slopes_of(Z, np.array([[1.0], [0.5], [0.0]]), np.zeros(60, dtype=int), unit)
    options = {"groups": unit, "use_correction": False}
    theirs = OLS(Z[:, 2], Z @ [1.0, 0.5, 0.0]).fit(cov_type="cluster", cov_kwds=options)
    assert b[0, 2, 0] == pytest.approx(theirs.params[0])
    assert np.sqrt(v[0, 2, 0]) == pytest.approx(theirs.bse[0])


def test_clusters_are_permuted_whole():
    """Rows of a cluster are nearly equal: as rows they reject equal components, as clusters they do not."""
    rng = np.random.default_rng(4)
    root = np.linalg.cholesky(covariance())
    few = rng.standard_normal((24, P)) @ root.T
    X = pd.DataFrame(np.repeat(few, 12, axis=0) + 0.2 * rng.standard_normal((288, P)))
    X["school"], X["kind"] = np.repeat(np.arange(24), 12), np.repeat(["x", "y"], 144)
    X = X.rename(columns=str)
    given = {"n_draws": 99, "effort": "quick", "rng": 0}
    by_rows = sp.compare_groups(X.drop(columns="school"), "kind", 2, 4, **given)
    by_clusters = sp.compare_groups(X, "kind", 2, 4, clusters="school", **given)
    assert by_rows.p_value <= 0.05 < by_clusters.p_value
    assert "in 24 clusters" in str(by_clusters)
    assert by_clusters.fit.loadings.shape == (P, 2)  # the two columns are no variables


def test_step_down_by_hand():
    """Three statistics 5, 3, 1 and four permutations; Westfall and Young (1993), algorithm 2.8."""
    null = np.array([[1.0, 2.0, 0.0], [6.0, 0.0, 0.0], [0.0, 4.0, 2.0], [0.0, 0.0, 0.0]])
    # 5: one maximum of all three (6) reaches it; 3: one maximum of the other two (4); 1: one value (2)
    np.testing.assert_allclose(step_down(np.array([5.0, 3.0, 1.0]), null), [2 / 5, 2 / 5, 2 / 5])
    np.testing.assert_allclose(step_down(np.array([7.0, 3.0, 3.0]), null), [1 / 5, 2 / 5, 2 / 5])


def test_p_values_are_ordered_and_adjusted(found):
    assert found.p_value <= found.p_adjusted.to_numpy().min()
    assert (found.p_values >= 1 / 200).all()
    assert found.p_values.min() == found.p_value


def test_common_components_come_from_covariances_within_groups(swapped, found):
    Z = swapped - swapped.groupby(GROUP).transform("mean")
    direct = sp.spca(Z, 2, 4, effort="quick", rng=0)
    np.testing.assert_allclose(found.fit.loadings, direct.loadings)
    table = found.table
    assert ((table["congruence"] > 0) & (table["congruence"] <= 1 + 1e-12)).all()
    assert ((table["kept"] > 0) & (table["kept"] <= 1 + 1e-12)).all()
    a = Z[GROUP == "a"].to_numpy() @ found.fit.loadings.to_numpy()
    np.testing.assert_allclose(table["variance"][table["group"] == "a"], a.var(axis=0, ddof=1))


def test_all_ways_to_give_groups(swapped, found):
    p = found.p_adjusted
    labelled = swapped.set_axis([f"r{i}" for i in range(240)])
    series = pd.Series(GROUP, labelled.index).sample(frac=1, random_state=0)
    given = {"k": 2, "card": 4, "n_draws": 199, "effort": "quick"}
    for one in (
        sp.compare_groups(labelled, series, **given),
        sp.compare_groups(swapped, pd.Categorical(GROUP), **given),
        sp.compare_groups(swapped.assign(site=GROUP), "site", **given),
        sp.compare_groups("~ .", "site", data=swapped.assign(site=GROUP), **given),
        sp.compare_groups(pl.from_pandas(swapped.assign(site=GROUP)), "site", **given),
        sp.compare_groups(swapped, GROUP, n_jobs=2, **given),
    ):
        np.testing.assert_allclose(one.p_adjusted, p)
    array = sp.compare_groups(swapped.to_numpy(), list(GROUP), **given)
    np.testing.assert_allclose(array.p_adjusted, p)
    assert sp.compare_groups(labelled, series, **given).fit.scores.index.equals(labelled.index)
    by_label = swapped.set_axis(pd.Index(GROUP, name="site"))
    np.testing.assert_allclose(sp.compare_groups(by_label, "site", **given).p_adjusted, p)


def test_units_do_not_matter(swapped, found):
    other = sp.compare_groups(swapped * 1e-6 + 100.0, GROUP, 2, 4, n_draws=199, effort="quick")
    np.testing.assert_allclose(other.p_adjusted, found.p_adjusted)
    given = {"n_draws": 99, "effort": "quick", "scale": True}
    units = np.logspace(-2, 2, P)
    one, two = (sp.compare_groups(X, GROUP, 2, 4, **given) for X in (swapped, swapped * units))
    np.testing.assert_allclose(one.p_adjusted, two.p_adjusted)


def test_missing_rows_are_dropped_with_their_groups(swapped):
    gaps, groups = swapped.copy(), pd.Series(GROUP, dtype=object)
    gaps.iloc[3, 2] = np.nan
    groups[7] = None
    left = sp.compare_groups(gaps, groups, 2, 4, n_draws=49, effort="quick", na="drop")
    kept = np.delete(np.arange(240), [3, 7])
    same = sp.compare_groups(swapped.iloc[kept], GROUP[kept], 2, 4, n_draws=49, effort="quick")
    np.testing.assert_allclose(left.p_adjusted, same.p_adjusted)
    assert left.table["rows"].tolist() == [118, 118, 120, 120]


def test_the_figure(found):
    ax = found.plot()
    drawn = plt.Axes.get_yticklabels(ax)
    assert {"v4", "v9"} <= {label.get_text() for label in drawn}
    stars = [text for text in ax.texts if text.get_gid() == "differs"]
    assert len(stars) == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    bars = [one for one in ax.collections if one.get_gid() == "interval"]
    assert len(bars) == 2
    assert len(found.plot(components=["PC1"], max_rows=2).get_yticklabels()) == 2
    data = sp.plots.slopes_plot.plot_slopes_data(found.slopes)
    assert ((data["loading"] != 0) | (data["p_adjusted"] <= 0.05)).all()


def refused(X: pd.DataFrame):
    twice = pd.Series(GROUP, X.index)
    gaps = X.copy()
    gaps.iloc[0, 0] = np.nan
    few = np.array(["a"] * 236 + ["b"] * 4)
    units = np.repeat(np.arange(40), 6)
    return [
        (lambda: sp.compare_groups(X, ["a"] * 240, 2, 4), OptionError, "two groups or more"),
        (lambda: sp.compare_groups(X, GROUP[:239], 2, 4), RowGroupsError, "239 labels for 240 rows"),
        (lambda: sp.compare_groups(X, twice.set_axis(range(5, 245)), 2, 4), RowGroupsError, "labels"),
        (lambda: sp.compare_groups(X, "site", 2, 4), RowGroupsError, "no such column"),
        (lambda: sp.compare_groups(X.to_numpy(), "site", 2, 4), RowGroupsError, "have no names"),
        (lambda: sp.compare_groups(X, few, 2, 5, n_draws=9), TooFewRowsError, "has 4 rows"),
        (lambda: sp.compare_groups(X, few == "b", 2, 5, n_draws=9), TooFewRowsError, "group True has 4 rows"),
        (lambda: sp.compare_groups(X, {"a": 1}, 2, 5), RowGroupsError, "of type dict"),
        (lambda: sp.compare_groups(X, ["a", np.nan] * 120, 2, 4), RowGroupsError, "120 missing labels"),
        (lambda: sp.compare_groups(X.mask(X > 0), GROUP, 2, 4, na="drop"), TooFewRowsError, "had been dropped"),
        (lambda: sp.compare_groups(X, ["a"] * 238 + ["b"] * 2, 2, 4), TooFewRowsError, "needs 3"),
        (lambda: sp.compare_groups(X, GROUP, 2, 4, na="em"), OptionError, "na='drop'"),
        (lambda: sp.compare_groups(gaps, GROUP, 2, 4), MissingValuesError, "give na='drop'"),
        (lambda: sp.compare_groups(X, [None, *GROUP[1:]], 2, 4), RowGroupsError, "groups has 1 missing"),
        (lambda: sp.compare_groups(X, GROUP, 2, 4, clusters=[0] * 240), OptionError, "cluster 0 has rows in"),
        (
            lambda: sp.compare_groups(X, GROUP, 2, 4, clusters=np.where(units < 20, 0, units)),
            TooFewRowsError,
            "1 cluster",
        ),
        (lambda: sp.compare_groups(X, GROUP, 2, 4, scale="blocks"), OptionError, "scale"),
        (lambda: sp.compare_groups("~ . | v1", GROUP, 2, 4, data=X), OptionError, "covariates"),
        (lambda: sp.compare_groups(X, GROUP, 2, 4, n_draws=0), OptionError, "n_draws"),
        (lambda: sp.compare_groups([X, X], GROUP, 2, 4), NoRowsError, "chunks"),
        (lambda: sp.compare_groups(X.corr(), list("abc") * 4, 2, 4), NoRowsError, "covariance matrix"),
        (
            lambda: sp.compare_groups(X.assign(v1=(GROUP == "a") * 1.0), GROUP, 2, 4),
            ConstantColumnError,
            "v1",
        ),
        (
            lambda: sp.compare_groups(X.mul(GROUP == "b", axis=0), GROUP, 1, 2, n_draws=9, scale=False),
            DataError,
            "does not vary in group",
        ),
    ]


@pytest.mark.parametrize("number", range(23))
def test_refusals(swapped, number):
    call, error, said = refused(swapped)[number]
    with pytest.raises(error) as raised:
        call()
    assert said in str(raised.value)
