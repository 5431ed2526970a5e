"""Every public call in units from 1e-150 to 1e150: a power of two changes only the unit of the results.

A power of two changes no digit of the data, so that results may differ only by the rounding of sums whose
terms lie elsewhere in memory: 1e-11 relative, and supports, counts and p-values not at all. Numpy's warnings
of overflow are errors in all tests.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.linalg.scales import deviations

RNG = np.random.default_rng(3)
BLOCKS = np.kron(np.eye(2), np.ones((1, 4))) * np.array([1.2, 1.1, 1.0, 0.9, 0.85, 0.8, 0.75, 0.7])
X = RNG.normal(size=(40, 2)) @ BLOCKS + 0.4 * RNG.normal(size=(40, 8)) + 5.0
ROWS = pd.DataFrame(X, columns=list("abcdefgh"))
GAPS = ROWS.mask(RNG.random(X.shape) < 0.05)
S = ROWS.cov()
UNITS = [2.0**-498, 2.0**498]  # 1.2e-150 and 8.2e149

#: What a call returns: a table or an array, and the power of the unit in which each column is given.
Result = tuple[pd.DataFrame, dict[str, int]]


def fit(u: float) -> sp.SpcaResult:
    return sp.spca(ROWS * u, 2, 3, effort="quick")


def spca(u: float) -> Result:
    return sp.spca(ROWS * u, 2, 3).loadings, {}


def spca_scaled(u: float) -> Result:
    return sp.spca(ROWS * u, 2, 3, scale=True, effort="quick").variance, {}


def spca_variance(u: float) -> Result:
    return sp.spca(ROWS * u, 2, variance=0.9, effort="quick").loadings, {}


def spca_cov(u: float) -> Result:
    found = sp.spca_cov(S * u * u, 2, 3, n_obs=40, effort="quick").variance
    return found, {"score variance": 2, "adjusted variance": 2}


def spca_path(u: float) -> Result:
    return sp.spca_path(ROWS * u, 2, cards=[2, 4], effort="quick").table, {"objective": 2}


def choose(u: float) -> Result:
    return sp.choose(ROWS * u, 2, cards=[2, 4], effort="quick", repeats=1).fit.loadings, {}


TESTED = {"observed": 2, "noise": 2, "sparse_observed": 2}


def choose_k(u: float) -> Result:
    return sp.choose_k(ROWS * u, n_draws=39).table, TESTED


def choose_k_of_a_covariance_matrix(u: float) -> Result:
    return sp.choose_k(S * u * u, n_obs=40, n_draws=39).table, TESTED


def choose_k_with_gaps(u: float) -> Result:
    return sp.choose_k(GAPS * u, na="em", n_draws=39).table, TESTED


def choose_k_of_moments(u: float) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spcastat.choosing.MOST_CELLS", 0)
        patch.setattr("spcastat.choosing.is_tested_in_part", lambda *_: False)
        return sp.choose_k(ROWS * u, n_draws=39).table, TESTED


def pearson(u: float) -> Result:
    return sp.correlation(GAPS * u, "pearson"), {}


def spearman(u: float) -> Result:
    return sp.correlation(GAPS * u, "spearman"), {}


def polychoric(u: float) -> Result:
    return sp.correlation((ROWS / 2).round() * u), {}


def spco(u: float) -> Result:
    return sp.spco(ROWS * u, 2, zeros=0.5).loadings, {}


def measures(u: float) -> Result:
    found = fit(u).variance
    return found, {"score variance": 2, "adjusted variance": 2}


def bootstrap(u: float) -> Result:
    return fit(u).bootstrap(20).conf_int(), {}


def bootstrapped_variances(u: float) -> Result:
    columns = ("estimate", "std_error", "lower", "upper", "held_out")
    return fit(u).bootstrap(20).variance_ci().set_index("component"), dict.fromkeys(columns, 2)


def stability(u: float) -> Result:
    return fit(u).stability(5).frequency, {}


def split_inference(u: float) -> Result:
    columns = ("estimate", "std_error", "lower", "upper")
    return fit(u).split_inference(20).variance_ci().set_index("component"), dict.fromkeys(columns, 2)


def loading_tests(u: float) -> Result:
    return fit(u).test_loadings(19).p_values, {}


def certify(u: float) -> Result:
    found = fit(u).certify(joint=False).table
    return found[["value", "upper_bound", "gap", "optimal"]], {"value": 2, "upper_bound": 2}


def certify_jointly(u: float) -> Result:  # values are shares of the total variance
    return fit(u).certify().table[["value", "upper_bound", "pca_bound", "gap", "optimal"]], {}


def diagnostics(u: float) -> Result:
    return fit(u).diagnostics(), {"Q": 2}


def transform(u: float) -> Result:
    return fit(u).transform(ROWS * u), {"PC1": 1, "PC2": 1}


def em(u: float) -> Result:
    return fit_with_gaps(u, "em").variance, {"score variance": 2, "adjusted variance": 2}


def pairwise(u: float) -> Result:
    return fit_with_gaps(u, "pairwise").variance, {"score variance": 2, "adjusted variance": 2}


def fit_with_gaps(u: float, na: str) -> sp.SpcaResult:
    return sp.spca(GAPS * u, 2, 3, na=na, effort="quick")


CALLS = [
    spca, spca_scaled, spca_variance, spca_cov, spca_path, choose, choose_k, choose_k_of_a_covariance_matrix,
    choose_k_with_gaps, choose_k_of_moments, pearson, spearman, polychoric, spco, measures, bootstrap,
    bootstrapped_variances, stability, split_inference, loading_tests, certify, certify_jointly, diagnostics,
    transform, em, pairwise,
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_a_call_in_other_units(call: Callable[[float], Result]) -> None:
    base, powers = call(1.0)
    assert set(powers) <= set(base.columns)
    for unit in UNITS:
        found = call(unit)[0]
        for column in base:
            expected, values = base[column], found[column]
            if pd.api.types.is_float_dtype(expected):
                # divided twice, as a squared unit may overflow
                for _ in range(powers.get(column, 0)):
                    values = values / unit
                pd.testing.assert_series_equal(values, expected, rtol=1e-11, atol=1e-13)
            else:
                pd.testing.assert_series_equal(values, expected)


def test_standard_deviations_of_values_whose_squares_overflow_or_vanish():
    # those of 1, 2, 3 and of 1, 3 are 1 and sqrt(2)
    values = np.array([[1.0, 1e300], [2.0, 2e300], [3.0, 3e300]])
    np.testing.assert_allclose(deviations(values), [1.0, 1e300], rtol=1e-14)
    np.testing.assert_allclose(deviations(np.array([[1e-300], [3e-300]])), [2**0.5 * 1e-300], rtol=1e-14)
    assert deviations(np.zeros((3, 1))) == 0


@pytest.mark.parametrize("unit", [1e-160, 1e160])
def test_variances_beyond_floating_point_numbers_are_refused(unit):
    for call in (sp.choose_k, sp.choose):
        with pytest.raises(sp.errors.DataError, match=r"variances of the data are too.*Divide the columns"):
            call(ROWS * unit)
    with pytest.raises(sp.errors.DataError, match=r"variances of the data are too.*Divide the columns"):
        fit(unit)
    # correlations have no unit; 1e160 rounds the data once
    np.testing.assert_allclose(pearson(unit)[0], pearson(1.0)[0], atol=1e-13)
