"""Components as scales, against R's psych, statsmodels and published formulas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.multivariate.factor import Factor

import spcastat as sp
from spcastat.errors import NoRowsError
from spcastat.fit.unit_weights import alpha, one_factor


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


def test_a_factor_leaves_no_better_residuals():
    """Minimum residuals: no other loadings have a smaller sum of squared residual correlations."""
    R = sp.datasets.load_pitprops().iloc[:5, :5].to_numpy()
    loadings, rng = one_factor(R), np.random.default_rng(0)

    def loss(one: np.ndarray) -> float:
        return float(((R - np.outer(one, one))[~np.eye(5, dtype=bool)] ** 2).sum())

    least = loss(loadings)
    assert all(loss(loadings + 0.01 * rng.standard_normal(5)) > least for _ in range(200))


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


def test_prints_and_refuses(tmp_path):
    fit = sp.spca_cov(sp.datasets.load_pitprops(), 2, 4)
    found = fit.scales()
    text = str(found)
    assert "the sums have" in text
    assert "std. alpha" in text
    assert max(map(len, text.splitlines())) <= 80
    assert found.as_latex(label="tab:scales").count("tabular") == 4
    assert set(found.frames) == {"scales", "items"}
    fit.save(tmp_path / "fit.spca")
    with pytest.raises(NoRowsError, match="scales"):
        sp.load(tmp_path / "fit.spca").scales()
