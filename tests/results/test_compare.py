"""Fits side by side: matched supports, angles, groups of rows, and what cannot be compared."""

from __future__ import annotations

import re
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from statsmodels.regression.linear_model import OLS

import spcastat as sp
from spcastat.assess.permutation import centred, compare, slopes_of, step_down
from spcastat.errors import NoRowsError, ShapeError
from spcastat.results.fit import SpcaResult


def with_loadings(fit: SpcaResult, V: np.ndarray) -> SpcaResult:
    """The same fit with other loadings."""
    return SpcaResult(replace(fit._state, V=V))


@pytest.fixture(scope="module")
def fits():
    R = sp.datasets.load_pitprops()
    return {
        "l0": sp.spca_cov(R, 3, [7, 4, 4], method="bcd-l0"),
        "l1": sp.spca_cov(R, 3, [7, 4, 4], method="bcd-l1"),
        "two": sp.spca_cov(R, 2, 5, method="greedy"),
    }


def test_frames(fits):
    both = sp.compare(fits)
    measures = both.frames["measures"]
    for name, fit in fits.items():
        for measure in ("pev", "rre", "adjusted", "relative_adjusted", "least_squares"):
            assert measures.loc[name, measure] == fit.measure(measure)
        assert measures.loc[name, "nonzeros"] == fit.card.sum()
    card = both.frames["cardinality"]
    assert card.loc["l0"].tolist() == [7, 4, 4]
    assert pd.isna(card.loc["two", "PC3"])
    for name in ("agreement", "angles"):
        frame = both.frames[name]
        pd.testing.assert_frame_equal(frame, frame.T)
    assert (np.diag(both.frames["agreement"]) == 1).all()
    assert (np.diag(both.frames["angles"]) == 0).all()


def test_fits_without_names_get_their_methods_and_cardinalities(fits):
    both = sp.compare(fits["l0"], fits["two"], fits["l0"])
    names = ["bcd-l0 7, 4, 4", "greedy 5, 5", "bcd-l0 7, 4, 4 (2)"]
    assert list(both.measures.index) == names
    named = sp.compare(dict(zip(names, (fits["l0"], fits["two"], fits["l0"]), strict=True)))
    assert str(both) == str(named)


def test_order_and_sign_do_not_count(pitprops):
    fit = sp.spca(pitprops, 3, 4, method="bcd-l0")
    turned = with_loadings(sp.spca(pitprops, 3, 4, method="bcd-l0"), -fit.loadings.to_numpy()[:, [2, 0, 1]])
    both = sp.compare({"a": fit, "b": turned})
    assert both.frames["agreement"].loc["a", "b"] == 1
    assert both.frames["angles"].loc["a", "b"] < 1e-5
    assert both.frames["matches"]["matched"].tolist() == ["PC2", "PC3", "PC1"]
    np.testing.assert_allclose(both.frames["matches"]["cosine"], 1)


def test_agreement_is_the_best_matching():
    """Worked by hand: supports {1,2},{3,4} against {3,4,5},{1}: 2/3 and 1/2, on average 7/12."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 5)), columns=list("abcde"))
    fit = sp.spca(X, 2, 2, method="bcd-l0")
    first = with_loadings(fit, np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0]]).T / np.sqrt(2))
    second = with_loadings(fit, np.array([[0, 0, 1, 1, 1], [1, 0, 0, 0, 0]]).T / np.sqrt([3, 1]))
    both = sp.compare({"first": first, "second": second})
    assert both.frames["agreement"].loc["first", "second"] == pytest.approx(7 / 12)
    # the spans: cosines of the principal angles are singular values of V'W
    cosines = np.linalg.svd(first.loadings.to_numpy().T @ second.loadings.to_numpy())[1]
    angle = both.frames["angles"].loc["first", "second"]
    assert angle == pytest.approx(np.rad2deg(np.arccos(cosines.min())))


def test_it_prints_in_80_columns_and_in_every_format(fits):
    both = sp.compare({**fits, "a much longer name of a fit": fits["l0"]})
    text = both.as_text()
    assert max(map(len, text.splitlines())) <= 80
    for label in (
        "Comparison of 4 fits",
        "Method",
        "PEV",
        "Agreement",
        "Angle, degrees",
        "Largest score |r|",
    ):
        assert label in text
    assert "<table" in both.as_html()
    assert r"\toprule" in both.as_latex()
    assert "| Fit" in both.as_markdown()


def test_fits_of_other_data_are_noted(pitprops):
    both = sp.compare(
        {"a": sp.spca(pitprops, 1, 4, method="bcd-l0"), "b": sp.spca(2 * pitprops, 1, 4, method="bcd-l0")}
    )
    assert "different total variances" in " ".join(str(both).split())


# --- held-out errors ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    T = rng.standard_normal((60, 2)) * [3.0, 2.0]
    V = np.zeros((8, 2))
    V[:4, 0], V[4:7, 1] = 0.5, 3**-0.5
    return pd.DataFrame(T @ V.T + rng.standard_normal((60, 8)), columns=[*"abcdefgh"])


def press_by_hand(X, k, card, scale, labels):
    """Errors of cells by conditional means of normal rows, from the inverse of Sigma = VLV' + s2 I."""
    total, by_mean = 0.0, 0.0
    for fold in range(labels.max() + 1):
        train, test = X[labels != fold], X[labels == fold]
        centre, unit = train.mean(axis=0), train.std(axis=0, ddof=1) if scale else 1.0
        Z, S = (test - centre) / unit, np.cov(((train - centre) / unit).T)
        V = sp.spca_cov(S, k, card, effort="quick").loadings.to_numpy()
        Q = np.linalg.qr(V)[0]
        s2 = (np.trace(S) - np.trace(Q.T @ S @ Q)) / (len(S) - k)
        Omega = np.linalg.inv(Q @ Q.T @ S @ Q @ Q.T + s2 * (np.eye(len(S)) - Q @ Q.T))
        total += (((Z @ Omega) / np.diag(Omega)) ** 2).sum()
        by_mean += (Z**2).sum()
    return total / by_mean


@pytest.mark.parametrize("scale", [False, True])
def test_held_out_errors_are_those_of_conditional_means(rows, scale):
    from spcastat.inputs.constructors import rows_of

    fits = {"true": sp.spca(rows, 2, [4, 3], scale=scale), "few": sp.spca(rows, 1, 1, scale=scale)}
    both = sp.compare(fits, held_out=True, rng=3)
    found = both.frames["measures"]
    source = rows_of("", rows, {})
    labels = source.row_groups.folds(5, 1, np.random.default_rng([3, 2]))[0]
    # the searches without a fold start otherwise here and there: the same loadings to their tolerance
    assert found.loc["true", "held_out"] == pytest.approx(
        press_by_hand(rows.to_numpy(), 2, [4, 3], scale, labels), abs=1e-6
    )
    # a variable alone in the only component is predicted by its mean
    assert found.loc["few", "held_out"] == pytest.approx(1.0, abs=1e-12)
    assert found.loc["true", "held_out_excess"] == 0.0
    assert found.loc["few", "held_out_excess"] == pytest.approx(1 - found.loc["true", "held_out"])
    text = both.as_text()
    assert "Held-out error" in text
    assert max(map(len, text.splitlines())) <= 80


def test_many_fits_print_what_held_out_errors_are_and_how_sure_their_differences(rows):
    fits = [sp.spca(rows, 2, card, method="greedy") for card in ([4, 3], [3, 2], 1, 2, 3)]
    both = sp.compare(*fits, held_out=True)
    text = " ".join(str(both).split())
    assert "Error, held out: mean squared error of predicted cells (1: by column means)" in text
    excess = both.measures[["held_out_excess", "held_out_excess_se"]]
    spread = excess["held_out_excess_se"][excess["held_out_excess"] > 0]
    ends = f"{spread.min():.3f} to {spread.max():.3f}"
    assert f"standard errors of differences from the smallest: {ends}." in text
    assert "held out" not in str(sp.compare(*fits))


def test_held_out_errors_of_equal_fits_are_equal_and_the_same_for_any_number_of_processes(rows):
    fits = {"one": sp.spca(rows, 2, 3, effort="quick"), "again": sp.spca(rows, 2, 3, effort="quick")}
    fits["greedy"] = sp.spca(rows, 2, 3, method="greedy")
    one = sp.compare(fits, held_out=True, repeats=2).frames["measures"]
    assert one.loc["one", "held_out"] == one.loc["again", "held_out"]
    two = sp.compare(fits, held_out=True, repeats=2, n_jobs=2).frames["measures"]
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_fits_from_files_have_held_out_errors_with_their_rows(rows, tmp_path):
    fits = {"four": sp.spca(rows, 2, 4, effort="quick"), "two": sp.spca(rows, 2, 2, effort="quick")}
    for name, fit in fits.items():
        fit.save(tmp_path / f"{name}.spca")
    loaded = {name: sp.load(tmp_path / f"{name}.spca") for name in fits}
    with pytest.raises(NoRowsError, match="compare\\(data="):
        sp.compare(loaded, held_out=True)
    found = sp.compare(loaded, held_out=True, data=rows).frames["measures"]
    expected = sp.compare(fits, held_out=True).frames["measures"]
    np.testing.assert_allclose(found["held_out"], expected["held_out"], rtol=1e-9)


def test_held_out_errors_are_paired_by_row(rows):
    first = sp.spca(rows[:30], 2, 3, effort="quick")
    half = rows[:30]
    for other, options in (
        (rows[30:], {}),
        (half[::-1], {}),
        (half, {"weights": np.arange(1, 31)}),
        ([half[:15], half[15:]], {}),
    ):
        with pytest.raises(ShapeError, match="rows"):
            sp.compare({"a": first, "b": sp.spca(other, 2, 2, **options)}, held_out=True)
    turned = sp.spca(half[half.columns[::-1]], 2, 3, effort="quick")
    errors = sp.compare({"a": first, "b": turned}, held_out=True).frames["measures"]["held_out"]
    # sums of products in another order, and ascents that end within 1e-6 of their loadings
    assert errors["a"] == pytest.approx(errors["b"], rel=1e-6)


def test_rows_with_gaps_and_rows_in_pieces_are_held_out_as_choose_does_it(rows):
    gaps = rows.copy()
    gaps.iloc[::5, 2] = np.nan
    chunks = [rows.iloc[:25], rows.iloc[25:]]
    for data, how in ((gaps, {"na": "em"}), (chunks, {})):
        fits = {str(card): sp.spca(data, 2, card, effort="quick", **how) for card in (4, 5)}
        found = sp.compare(fits, held_out=True).frames["measures"]["held_out"]
        choice = sp.choose(data, 2, cards=[4, 5], effort="quick", **how).table["error"]
        np.testing.assert_allclose(found, choice, rtol=0.02)  # searches from other starts, 48 rows


# --- Components of groups of rows -----------------------------------------------------------------

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


def group_rows(
    seed: int, one: np.ndarray, other: np.ndarray, n: tuple[int, int] = (120, 120)
) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    parts = [
        rng.standard_normal((m, P)) @ np.linalg.cholesky(S).T for m, S in zip(n, (one, other), strict=True)
    ]
    return pd.DataFrame(np.vstack(parts), columns=[f"v{j + 1}" for j in range(P)])


GROUP = np.repeat(["a", "b"], 120)
CODE = np.repeat([0, 1, 2], 30)


@pytest.fixture(scope="module")
def swapped() -> pd.DataFrame:
    return group_rows(1, covariance(), covariance(swap=True))


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
    assert "Rows: 120 in a, 120 in b" in text


def test_equal_components_of_unequal_variance_count_as_equal():
    """Ten sets of which groups differ in means, sizes, and the variance of a component, not in slopes."""
    p = []
    for seed in range(10):
        X = group_rows(seed, covariance(), covariance(variances=(18.0, 4.0)), (80, 160))
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


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_a_variable_that_does_not_vary_in_a_group_has_no_slope_there_and_no_test(swapped, scale, clustered):
    """The slopes, and the p-values of the others, are those of the tests without it."""
    clusters = np.arange(240) // 5 if clustered else None
    still = swapped.assign(v6=swapped["v6"].where(GROUP == "a", 0.1))
    given = {"n_draws": 99, "effort": "quick", "scale": scale, "clusters": clusters}
    compared = sp.compare_groups(still, GROUP, 2, 4, **given)
    of_still = (compared.slopes["term"] == "v6").to_numpy()
    gap = of_still & (compared.slopes["group"] == "b").to_numpy()
    for column in ("estimate", "std_error"):
        assert compared.slopes[column].isna().to_numpy().tolist() == gap.tolist()
    assert compared.slopes["p_adjusted"].isna().to_numpy().tolist() == of_still.tolist()
    assert compared.p_adjusted.loc["v6"].isna().all()
    assert compared.p_values.notna().all()
    assert compared.p_value <= compared.p_adjusted.min().min()
    text = " ".join(str(compared).split())
    assert "ariables that do not vary in a group have no slope there, and are not tested: v6 (b)." in text
    assert "v6" not in text.split("Differing:")[1].split("Congruence")[0]
    assert "v6 (b)" not in str(sp.compare_groups(swapped, GROUP, 2, 4, **given))


def test_slopes_of_a_variable_that_does_not_vary_in_a_group_have_a_gap():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 1)) + 0.5 * rng.standard_normal((90, 4))
    X[60:, 3] = 7.0
    compared = sp.compare_groups(X, np.repeat(["u", "v", "w"], 30), 1, 4, n_draws=39)
    ax = compared.plot()
    marks = [line.get_xdata() for line in ax.lines if line.get_marker() not in ("None", "")]
    assert [int(np.isfinite(np.asarray(one, dtype=float)).sum()) for one in marks] == [4, 4, 3]
    (note,) = (text.get_text() for text in ax.texts if text.get_gid() == "note")
    assert "Gap: does not vary in the group, not tested." in note.replace("\n", " ")
    others = compare(centred(X, CODE), compared.fit.loadings.to_numpy(), CODE, 39)
    np.testing.assert_allclose(compared.slopes["estimate"].dropna(), others.slopes.ravel()[:-1])


def test_p_values_are_those_of_tests_of_the_variables_that_vary():
    """By construction: the step-down maximum of the permuted statistics of these variables alone."""
    rng = np.random.default_rng(1)
    Z = centred(rng.standard_normal((90, 5)) * np.array([2.0, 1.5, 1.0, 1.0, 1.0]), CODE)
    Z[CODE == 2, 4] = 0.0
    W = np.array([[0.8], [0.6], [0.0], [0.0], [0.0]])
    still = np.zeros((3, 5), dtype=bool)
    still[2, 4] = True
    found, others = compare(Z, W, CODE, 59, still=still), compare(Z[:, :4], W[:4], CODE, 59)
    np.testing.assert_array_equal(found.adjusted[:4], others.adjusted)
    assert np.isnan(found.adjusted[4]).all()
    assert found.p_value == others.p_value
    assert found.by_component == others.by_component
    assert np.isfinite(found.slopes[:2]).all()


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


def test_missing_rows_are_dropped_with_their_groups(swapped):
    gaps, groups = swapped.copy(), pd.Series(GROUP, dtype=object)
    gaps.iloc[3, 2] = np.nan
    groups[7] = None
    left = sp.compare_groups(gaps, groups, 2, 4, n_draws=49, effort="quick", na="drop")
    kept = np.delete(np.arange(240), [3, 7])
    same = sp.compare_groups(swapped.iloc[kept], GROUP[kept], 2, 4, n_draws=49, effort="quick")
    np.testing.assert_allclose(left.p_adjusted, same.p_adjusted)
    assert left.table["rows"].tolist() == [118, 118, 120, 120]


def test_groups_are_in_the_order_of_the_biplot(swapped):
    """Sorted, or in the order of the categories; never that of the rows."""
    rows, named = swapped, np.where(GROUP == "a", "late", "early")
    for groups, order in (
        (named, ["early", "late"]),
        (pd.Categorical(named, ["late", "early"]), ["late", "early"]),
    ):
        found = sp.compare_groups(rows, groups, 1, 4, n_draws=19, effort="quick")
        assert list(dict.fromkeys(found.slopes["group"])) == order
        names = [text.get_text() for text in found.plot().get_legend().get_texts()]
        assert names == [
            text.get_text() for text in sp.spca(rows, 2, 4).biplot(groups=groups).get_legend().get_texts()
        ]
        assert names == order


def test_the_figure(found):
    ax = found.plot()
    drawn = plt.Axes.get_yticklabels(ax)
    assert {"v4", "v9"} <= {label.get_text() for label in drawn}
    stars = [text for text in ax.texts if text.get_gid() == "differs"]
    assert len(stars) == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    (note,) = (text.get_text() for text in ax.texts if text.get_gid() == "note")
    assert note.startswith("Slopes: regressions of variables on scores. * differs between groups (familywise")
    assert "p ≤ .05" in note
    bars = [one for one in ax.collections if one.get_gid() == "interval"]
    assert len(bars) == 2
    assert len(found.plot(components=["PC1"], max_rows=2).get_yticklabels()) == 2
    data = sp.plots.plot_slopes_data(found.slopes)
    assert ((data["loading"] != 0) | (data["p_adjusted"] <= 0.05)).all()


def test_a_print_explains_its_measures():
    R = sp.datasets.load_pitprops()
    text = str(sp.compare(sp.spca_cov(R, 2, 5), sp.spca_cov(R, 2, 4)))
    assert "its error RRE: square root of 1 - PEV" in " ".join(text.split())
    rows = sp.datasets.pitprops_sample(60)
    groups = sp.compare_groups(rows, ["a", "b"] * 30, k=2, card=3, n_draws=19)
    assert "Congruence: cosine of the angle to the first principal component" in " ".join(str(groups).split())


def test_a_print_has_all_measures_and_names_what_was_maximised():
    """Methods and cardinalities have a row each; rows that follow from others may give way."""
    table = sp.datasets.pitprops_sample(80)
    one = {name: sp.spca(table, 1, 4, scale=True, objective=name) for name in ("adjusted", "pev")}
    plain = str(sp.compare(one))
    assert re.search(r"^Cardinalities +4 +4$", plain, re.MULTILINE)
    assert re.search(r"^RRE +0\.", plain, re.MULTILINE)
    fits = {name: sp.spca(table, 3, 4, scale=True, objective=name) for name in ("adjusted", "pev")}
    fits["greedy"] = sp.spca(table, 2, 4, scale=True, method="greedy")
    crowded = sp.compare(fits, held_out=True)
    text = str(crowded)
    assert re.search(r"^Method +joint, adjusted +joint, PEV +greedy$", text, re.MULTILINE)
    assert re.search(r"^Cardinalities +4, 4, 4 +4, 4, 4 +4, 4$", text, re.MULTILINE)
    error, spread = crowded.measures.loc["pev", ["held_out", "held_out_se"]]
    assert f" {error:.4f} ({spread:.4f}) " in text
    for printed in (plain, text):
        assert "Largest score |r|" in printed
        assert " more row" not in printed
        assert len(printed.splitlines()) <= 25
    summary = str(crowded.summary())
    assert re.search(r"^Maximised +adjusted +PEV *$", summary, re.MULTILINE)
    assert re.search(r"^  PC3 +4 +4 *$", summary, re.MULTILINE)


def test_every_print_defines_and_shows_agreement_and_angle():
    table = sp.datasets.pitprops_sample(80)
    fits = {f"card {card}": sp.spca(table, 2, card, scale=True, method="greedy") for card in range(2, 8)}
    for names in (["card 2", "card 3"], ["card 2", "card 4", "card 5"], list(fits)):
        compared = sp.compare({name: fits[name] for name in names})
        text = str(compared)
        assert "mean Jaccard index of the" in " ".join(text.split())
        shared, angles = compared.agreement.iloc[0], compared.angles.iloc[0]
        if len(names) <= 4:
            assert re.findall(r"^  Agreement +(.*?) *$", text, re.MULTILINE)[0].split() == [
                f"{value:.2f}" for value in shared
            ]
            assert re.findall(r"^  Angle, degrees +(.*?) *$", text, re.MULTILINE)[0].split() == [
                f"{value:.1f}" for value in angles
            ]
        else:  # a row for each fit
            for name in names:
                assert re.search(rf"^{name} .* {shared[name]:.2f} +{angles[name]:.1f}$", text, re.MULTILINE)
        assert "more row" not in text
        assert "more column" not in text


def test_the_print_of_four_fits_has_all_rows_and_defines_no_others():
    """Methods and objectives in one row would be too wide for four columns."""
    table = sp.datasets.load_wine().select_dtypes("number")
    fits = [sp.spca(table, 2, card, scale=True, effort="quick") for card in (4, 5, 6)]
    fits.append(sp.spca(table, 2, 4, scale=True, method="greedy"))
    text = str(sp.compare(*fits))
    assert "more row" not in text
    assert all(f"\n{label} " in text for label in ("Method", "Maximised", "  Agreement", "  Angle, degrees"))
    names = (f"a very long name of the fit number {number}" for number in range(4))
    text = str(sp.compare(dict(zip(names, fits, strict=True))))
    assert "more row" not in text
    assert "  Angle, degrees" in text


def test_the_print_of_groups_has_every_group_and_component_and_the_level():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(240, 12)) + np.repeat(rng.normal(size=(240, 3)), 4, axis=1))
    for k, count in ((5, 4), (2, 9), (8, 6), (10, 20)):
        compared = sp.compare_groups(rows, np.arange(240) % count, k=k, card=2, n_draws=19, effort="quick")
        text = str(compared)
        assert len(text.splitlines()) <= 25
        assert max(map(len, text.splitlines())) <= 80
        assert "p <= .05, adjusted for all variables and components" in " ".join(text.split())
        cosines = re.findall(r"[01]\.\d{3}\b", text[text.index("\nCongruence") :])
        if k * count <= 48:
            table = compared.table.pivot(index="component", columns="group", values="congruence")
            assert {f"{value:.3f}" for value in table.to_numpy().ravel()} <= set(cosines)
        else:
            smallest = compared.table.groupby("component", sort=False)["congruence"].min()
            assert {f"{value:.3f}" for value in smallest.iloc[:8]} <= set(cosines)
            assert "and 2 more components" in text
