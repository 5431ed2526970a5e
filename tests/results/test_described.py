"""Equations, the three frames of broom, and components as scales."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from statsmodels.multivariate.factor import Factor

import spcastat as sp
from spcastat.fit.supplementary import alpha, one_factor

# --- Equations, and the three frames of broom -----------------------------------------------------

TERM = re.compile(r"([+-]?) ?([\d.]+(?:e[+-]\d+)?) (`[^`]*`|[^\s+-]+)")


def read(equation: str) -> dict[str, float]:
    """The coefficients of an equation, by name; "" is the constant."""
    text = " ".join(equation.split())
    _, right = text.split(" = ")
    constant = re.match(r"(-?[\d.e]+)(?= [+-])", right)
    found = {"": float(constant[1])} if constant else {}
    right = right[constant.end() :] if constant else right
    for sign, size, label in TERM.findall(right):
        found[label.strip("`")] = float(size) * (-1 if sign == "-" else 1)
    return found


def equations(text: str) -> list[str]:
    """The equations of a wrapped text, one string each, without the line on the variables."""
    return re.split(r"\n(?=PC)", text.partition("\n(in the")[0])


# --- equations ----------------------------------------------------------------------------------


def test_equations_are_the_nonzero_loadings(fit):
    text = fit.equations(digits=6)
    for equation, component in zip(equations(text), fit.components, strict=True):
        wanted = fit.loadings[component]
        found = pd.Series(read(equation))
        pd.testing.assert_series_equal(found, wanted[wanted != 0], atol=1e-6, rtol=0, check_names=False)


def test_raw_equations_give_the_scores_of_raw_rows(mixed):
    fit = sp.spca(mixed.drop(columns="kind"), k=2, card=3, scale=True, method="bcd-l0")
    for equation, component in zip(
        equations(fit.equations(digits=10, raw=True)), fit.components, strict=True
    ):
        terms = read(equation)
        constant = terms.pop("")
        columns = {str(name): name for name in mixed.columns}
        value = constant + sum(c * mixed[columns[name]] for name, c in terms.items())
        np.testing.assert_allclose(value, fit.scores[component], atol=1e-6)


def test_equations_say_what_was_done_to_the_variables(mixed):
    table = mixed.drop(columns="kind")
    done = {(True, True): "centred and scaled", (True, False): "centred", (False, True): "scaled"}
    for (center, scale), words in done.items():
        fit = sp.spca(table, k=1, card=3, center=center, scale=scale, method="bcd-l0")
        assert fit.equations().endswith(f"\n(in the {words} variables)")
        assert "(in the" not in fit.equations(raw=True)
    plain = sp.spca(table, k=1, card=3, center=False, scale=False, method="bcd-l0")
    assert "(in the" not in plain.equations()


def test_names_that_are_no_words_stand_in_backticks(mixed):
    formula = "~ a + log(b) + `my x` + a:b + C(kind)"
    fit = sp.spca(mixed, k=1, method="pca", formula=formula, scale=False, categorical="dummy")
    text = fit.equations()
    assert "`my x`" in text
    assert "log(b)" in text
    assert "`log(b)`" not in text
    assert "C(kind)[x]" in text
    assert " a:b" in text


def test_terms_that_are_not_written_are_counted():
    fit = sp.spca(sp.datasets.make_hastie(50), k=1, method="pca")
    text, about = fit.equations(max_terms=4).splitlines()
    assert text.endswith("+ 6 smaller terms")
    assert about == "(in the centred variables)"
    largest = fit.loadings["PC1"].abs().nlargest(4)
    assert set(read(text.removesuffix("+ 6 smaller terms"))) == set(largest.index)


# --- broom --------------------------------------------------------------------------------------


def test_tidy_has_a_row_for_each_nonzero(fit):
    tidy = fit.tidy()
    assert list(tidy.columns) == ["term", "component", "loading"]
    assert (tidy["loading"] != 0).all()
    assert len(tidy) == fit.card.sum()
    whole = fit.tidy(zeros=True).pivot(index="term", columns="component", values="loading")
    pd.testing.assert_frame_equal(
        whole.loc[fit.loadings.index], fit.loadings, check_names=False, check_index_type=False
    )


def test_glance_is_one_row(fit, covariance_fit):
    glance = fit.glance().iloc[0]
    assert len(fit.glance()) == 1
    assert (glance["n"], glance["p"], glance["k"], glance["nonzeros"]) == (180, 13, 6, 18)
    for name in ("pev", "rre", "adjusted", "relative_adjusted", "least_squares"):
        assert glance[name] == fit.measure(name)
    C = fit.score_correlations.to_numpy() - np.eye(6)
    assert glance["score_correlation"] == pytest.approx(np.abs(C).max())
    assert pd.isna(sp.spca_cov(sp.datasets.load_pitprops(), 1, 3, method="bcd-l0").glance()["n"].iloc[0])


def test_augment_keeps_the_data_and_their_labels(mixed):
    data = mixed.set_index("kind", append=True)
    fit = sp.spca(mixed[["a", "b", "my x"]], k=2, card=2, scale=False, method="bcd-l0")
    data = mixed.copy()
    wide = fit.augment(data)
    pd.testing.assert_frame_equal(wide[list(mixed.columns)], mixed)
    np.testing.assert_array_equal(wide[[".fittedPC1", ".fittedPC2"]], fit.transform(mixed))
    pd.testing.assert_frame_equal(data, mixed)  # the user's frame is not changed


def test_augment_keeps_rows_with_missing_values(mixed):
    fit = sp.spca(mixed[["a", "b"]], k=1, card=2, method="bcd-l0")
    holes = mixed.set_axis(["same"] * len(mixed))  # labels that repeat
    holes.iloc[[2, 5], 0] = np.nan
    wide = fit.augment(holes, na="drop")
    assert wide[".fittedPC1"].isna().to_numpy().nonzero()[0].tolist() == [2, 5]
    assert len(wide) == len(holes)


# --- Components as scales, against R's psych, statsmodels and published formulas ------------------


@pytest.fixture(scope="module")
def judges() -> pd.DataFrame:
    return sp.datasets.load_judges().iloc[:, 1:6]


#: psych 2.5.3, with R = cor(judges): alpha(judges), alpha(R), sum(fa(R, 1, fm="minres")$loadings)^2 / sum(R).
PSYCH = {
    "alpha": 0.967090,
    "alpha_std": 0.973537,
    "mean_r": 0.880349,
    "omega": 0.973716,
    "rest": [0.913390, 0.885789, 0.950204, 0.932382, 0.926635],
    "rest_std": [0.900601, 0.889641, 0.956149, 0.937738, 0.930178],
}


def test_figures_of_psych(judges):
    """Printed to six digits; those of the factor depend on where its iteration stops."""
    scaled = sp.spca(judges, 1, 5, scale=True).scales()
    table = scaled.table.loc["PC1"]
    assert table["alpha"] == pytest.approx(PSYCH["alpha"], abs=1e-6)
    assert table["alpha_std"] == pytest.approx(PSYCH["alpha_std"], abs=1e-6)
    assert table["mean_r"] == pytest.approx(PSYCH["mean_r"], abs=1e-6)
    assert table["omega"] == pytest.approx(PSYCH["omega"], abs=5e-4)
    np.testing.assert_allclose(scaled.items["r_rest"], PSYCH["rest_std"], atol=1e-6)
    raw = sp.spca(judges, 1, 5, scale=False).scales()
    np.testing.assert_allclose(raw.items["r_rest"], PSYCH["rest"], atol=1e-6)
    assert raw.table.loc["PC1", "alpha"] == pytest.approx(PSYCH["alpha"], abs=1e-6)


@pytest.mark.parametrize("names", [slice(0, 5), slice(5, 13), slice(13, 20)])
def test_the_factor_is_that_of_statsmodels(names):
    R = sp.datasets.load_harman74().iloc[names, names].to_numpy()
    theirs = Factor(corr=R, n_factor=1, method="pa", smc=True).fit(maxiter=5000, tol=1e-12).loadings[:, 0]
    # both iterate principal axes, which agree to the root of the last change
    np.testing.assert_allclose(one_factor(R), np.abs(theirs), atol=1e-6)


def test_alpha_of_parallel_items_is_spearman_and_brown():
    for c, r in ((2, 0.3), (5, 0.5), (10, 0.2)):
        assert alpha(np.full((c, c), r) + (1 - r) * np.eye(c)) == pytest.approx(c * r / (1 + (c - 1) * r))
    assert np.isnan(alpha(np.eye(1)))


def test_numbers_are_those_of_sums_of_the_rows():
    wine = sp.datasets.load_wine()
    fit = sp.spca(wine, 3, 4, scale=True)
    found, Z = fit.scales(), (wine - wine.mean()) / wine.std()
    sums = pd.DataFrame(Z.to_numpy() @ np.sign(fit.loadings.to_numpy()), columns=fit.components)
    scores = fit.scores.reset_index(drop=True)
    for name in fit.components:
        assert found.table.loc[name, "r_component"] == pytest.approx(sums[name].corr(scores[name]), abs=1e-10)
    for component, key, term, rest, other_r, other in found.items.itertuples(index=False):
        sign = -1.0 if key == "-" else 1.0
        assert np.sign(fit.loadings.loc[term, component]) == sign
        z = sign * Z[term].reset_index(drop=True)
        assert rest == pytest.approx(z.corr(sums[component] - z), abs=1e-10)
        assert other_r == pytest.approx(
            max(abs(z.corr(sums[one])) for one in sums if one != component), abs=1e-10
        )
        assert other_r == pytest.approx(abs(z.corr(sums[other])), abs=1e-10)
    R = np.linalg.qr((sums - sums.mean()).to_numpy() / np.sqrt((fit.loadings != 0).sum().to_numpy()))[1]
    adjusted = (np.diag(R) ** 2).sum() / 177
    assert found.kept == pytest.approx(adjusted / fit.variance["adjusted variance"].sum(), rel=1e-9)


def test_what_cannot_be_computed_is_blank():
    fit = sp.spca_cov(sp.datasets.load_pitprops(), 3, [3, 2, 1], n_obs=180)
    found = fit.scales()
    assert found.table["omega"].isna().tolist() == [False, True, True]
    assert found.table["alpha_std"].isna().tolist() == [False, False, True]
    assert found.table["alpha"].isna().all()  # a correlation matrix does not have the units
    assert found.items["r_rest"].isna().tolist() == [False] * 5 + [True]
    assert found.table.loc["PC3", "r_component"] == pytest.approx(1.0)
    one = sp.spca_cov(sp.datasets.load_pitprops(), 1, 3).scales()
    assert one.items["r_other"].isna().all()
    assert "NA" not in str(found)
    assert "NA" not in str(one)


def test_units_are_known_from_a_covariance_matrix(judges):
    rows = sp.spca(judges, 1, 5, scale=True).scales().table
    matrix = sp.spca_cov(judges.cov(), 1, 5).scales().table
    given = sp.spca_cov(judges.corr(), 1, 5, mean=judges.mean(), sd=judges.std()).scales().table
    for one in (matrix, given):
        assert one.loc["PC1", "alpha"] == pytest.approx(rows.loc["PC1", "alpha"], abs=1e-9)
