"""Statistics of what does not vary are NaN and have no p-value, whatever its value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp

#: The ascent of a fit ends where steps change its value by rounding only, by 1e-16 of it. Loadings that
#: differ by the root of that, 1e-8 times the root of the condition of the maximum, have equal values.
END_OF_ASCENT = 1e-6
CONSTANTS = [0.0, 0.1, 1 / 3, -0.7, 1e8 + 0.1, 1e-300, 1e300, -1e300]
N = 60


def rows(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 2)) @ rng.standard_normal((2, 5)) + 0.5 * rng.standard_normal((N, 5))
    return pd.DataFrame(X, columns=list("abcde"))


WEIGHTS = {
    "none": {},
    "frequencies": {"weights": 1 + np.arange(N) % 3},
    "fractions": {"weights": 0.3 + np.arange(N) / 7},
    "sampling": {"weights": 0.3 + np.arange(N) / 7, "weights_are": "sampling"},
}


@pytest.mark.sweep
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("constant", CONSTANTS)
def test_a_constant_variable(constant, weights):
    """Its correlations are NaN, and no p-value or association names it; the others are as without it."""
    fit, alone = (sp.spca(X, 2, 3, **WEIGHTS[weights]) for X in (rows().assign(k=constant), rows()))
    assert fit.correlations.loc["k"].isna().all()
    np.testing.assert_allclose(fit.correlations.drop("k"), alone.correlations, atol=END_OF_ASCENT)
    assert "k" not in set(fit.describe_components(alpha=1.0).frames["components"]["term"])
    if weights in ("none", "frequencies"):
        tests = [one.test_loadings(19).table.set_index("term") for one in (fit, alone)]
        assert tests[0].loc["k", ["correlation", "p_value", "q_value"]].isna().all(axis=None)
        others, without = tests[0].drop("k")["correlation"], tests[1]["correlation"]
        np.testing.assert_allclose(others, without, atol=END_OF_ASCENT)


@pytest.mark.sweep
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("constant", CONSTANTS)
def test_a_constant_supplementary_variable(constant, weights):
    fit = sp.spca(rows(), 2, 3, **WEIGHTS[weights])
    given = pd.DataFrame({"number": constant, "gaps": constant, "level": "one"}, index=range(N))
    given.loc[::7, "gaps"] = np.nan
    supplement = fit.supplement(variables=given)
    assert supplement.correlations.isna().all(axis=None)
    assert supplement.ratios.isna().all(axis=None)
    assert supplement.test_values.isna().all(axis=None)
    found = fit.describe_components(supplement, alpha=1.0).frames["components"]
    assert set(found["kind"]) == {"variable"}


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_a_supplementary_variable_that_varies_in_any_unit(unit):
    """Its correlations, from numpy, are those of the variable in another unit."""
    fit, x = sp.spca(rows(), 2, 3), np.random.default_rng(5).random(N)
    r = fit.supplement(variables=pd.DataFrame({"x": x * unit})).correlations.loc["x"]
    expected = [np.corrcoef(x, t)[0, 1] for t in fit.scores.to_numpy().T]
    np.testing.assert_allclose(r, expected, atol=1e-12)  # rounding


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"weights": 1 + np.arange(N) % 3}], ids=str)
@pytest.mark.parametrize("rank", [1, 2])
def test_components_beyond_the_rank_have_no_p_value(rank, options):
    """Their eigenvalues are rounding errors, and so are those of their noise."""
    rng = np.random.default_rng(rank)
    X = rng.standard_normal((N, rank)) @ rng.standard_normal((rank, 6)) + 0.1
    table = sp.choose_k(X, kmax=4, n_draws=39, alpha=0.2, **options).table
    p_values = table[[name for name in table.columns if name == "p" or name.endswith("_p")]]
    # parallel analysis, and after removing the earlier components, dense and sparse
    assert p_values.shape[1] == 3
    assert p_values.iloc[0].notna().any()
    assert p_values.iloc[rank:].isna().all(axis=None)


@pytest.mark.parametrize("scale", [False, True])
def test_the_slope_of_the_one_variable_of_a_component_is_not_tested(scale):
    """It is 1 in every group; the p-values of the others are those of the tests without it."""
    groups = np.repeat(["u", "v"], N // 2)
    compared = sp.compare_groups(rows(), groups, 2, 1, scale=scale, n_draws=39)
    alone = compared.fit.loadings != 0
    assert compared.p_adjusted.isna().to_numpy().tolist() == alone.to_numpy().tolist()
    assert compared.p_values.notna().all()
    str(compared)
    slopes = compared.slopes.set_index(["term", "component"])
    assert (
        slopes.loc[[pair for pair, one in alone.stack().items() if one], "estimate"] - 1
    ).abs().max() < 1e-12


def test_a_comparison_of_one_variable_has_no_p_value():
    compared = sp.compare_groups(rows()[["a"]], np.repeat(["u", "v"], N // 2), 1, 1, n_draws=19)
    assert np.isnan(compared.p_value)
    assert compared.p_values.isna().all()
    str(compared)
