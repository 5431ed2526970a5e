"""The unit of the data changes nothing but units: every method and public call, from 1e-150 to 1e150.

A factor that is a power of two changes no digit of the data, and so must change none of the loadings; another
one rounds the data once, and loadings may then move by what the method makes of 1e-16 (iterations stop a step
earlier or later: the tolerance of the method).
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import spcastat as sp
from spcastat.errors import ConstantColumnError, DataError, OptionError
from spcastat.fit.method_table import SOLVERS
from spcastat.linalg.standardisation import deviations

RNG = np.random.default_rng(3)
N, P = 40, 8
BLOCKS = np.kron(np.eye(2), np.ones((1, 4))) * np.array([1.2, 1.1, 1.0, 0.9, 0.85, 0.8, 0.75, 0.7])
X = RNG.normal(size=(N, 2)) @ BLOCKS + 0.4 * RNG.normal(size=(N, P)) + 5.0
S = np.cov(X, rowvar=False)
#: What rounding of the data may do to loadings: 1e-7, the coarsest tolerance of a method but one.
ROUNDED = {"alspca": 1e-3}

#: Methods that search long for a cardinality.
SLOW = ("alspca",)


def control(name, unit=1.0):
    """Return how sparse a fit should be; two methods search long for a cardinality, and have a penalty."""
    if name in SLOW:
        return {"penalty": 0.1 * unit**2}
    return {"card": 3} if "card" in SOLVERS[name].controls else {}


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore::spcastat.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", SOLVERS)
def test_rows_in_other_units(name):
    base = sp.spca(X, 2, method=name, **control(name))
    for factor in (2.0**-498, 2.0**498):
        fit = sp.spca(X * factor, 2, method=name, **control(name, factor))
        pd.testing.assert_frame_equal(fit.loadings, base.loadings, check_exact=True)
        columns = ["score variance", "adjusted variance"]
        np.testing.assert_allclose(
            fit.variance[columns] / factor / factor, base.variance[columns], rtol=1e-14
        )
        shares = [name for name in base.variance if name.startswith("cumulative")]
        pd.testing.assert_frame_equal(fit.variance[shares], base.variance[shares], rtol=1e-13)
        power = dict(SOLVERS[name].solver.units).get("objective", 0)
        assert fit.objective_value / factor**power == pytest.approx(base.objective_value, rel=1e-13)
    for factor in (1e-150, 1e12):
        fit = sp.spca(X * factor, 2, method=name, **control(name, factor))
        atol = ROUNDED.get(name, 1e-7)
        np.testing.assert_allclose(fit.loadings, base.loadings, rtol=0, atol=atol)
        assert np.array_equal(fit.loadings != 0, base.loadings != 0)


#: Methods whose penalty has a unit: power of the unit of the data.
PENALTIES = {
    "zou": 2, "spca-os": 1, "rsvd-l0": 1, "rsvd-l1": 1, "rsvd-scad": 1, "dspca": 2, "alspca": 2,
    "nspca": 2, "spcagrid": 2, "gpower-l0": 0, "gpower-l1": 0, "gpower-l0-block": 0, "gpower-l1-block": 0,
}  # fmt: skip


def test_every_method_with_a_penalty_is_here():
    assert set(PENALTIES) == {name for name, method in SOLVERS.items() if "penalty" in method.controls}


@pytest.mark.filterwarnings("ignore::spcastat.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", PENALTIES)
def test_penalties_are_in_the_units_of_the_data(name):
    unit = 2.0**60
    base = sp.spca(X, 2, method=name, penalty=0.1)
    fit = sp.spca(X * unit, 2, method=name, penalty=0.1 * unit ** PENALTIES[name])
    assert np.array_equal(fit.loadings, base.loadings)
    assert fit.options["penalty"] == [0.1 * unit ** PENALTIES[name]] * 2
    for column, values in base.details.items():
        if values.dtype == float:
            power = dict(SOLVERS[name].solver.units).get(column, 0)
            np.testing.assert_allclose(fit.details[column] / unit**power, values, rtol=1e-13)


@pytest.mark.parametrize("name", ["zou", "spca-os", "rsvd-l1", "dspca", "nspca"])
def test_messages_tell_penalties_in_the_units_of_the_data(name):
    unit = 2.0**100  # 1.27e30
    told = []
    for factor in (1.0, unit):
        penalty = 1e3 * factor ** PENALTIES[name]
        words = re.escape(f"penalty={penalty:g} leaves no nonzero loading")
        with pytest.raises(OptionError, match=words) as error:
            sp.spca(X * factor, 2, method=name, penalty=penalty)
        told.append(float(re.search(r"(?:\[0,|below) ([\d.e+]*\d)", str(error.value))[1]))
    assert told[1] == pytest.approx(told[0] * unit ** PENALTIES[name], rel=1e-4)  # six digits are printed


# --- columns in units of their own, and every way that rows come -----------------------------------

MIXED = 10.0 ** np.array([-150, 0, 150, -10, 10, -290, 290, 3])


def _rows(values):
    return values


def _chunks(values):
    return [values[:17], values[17:]]


def _csr(values):
    return sparse.csr_array(values)


def _csc(values):
    return sparse.csc_array(values)


@pytest.fixture(scope="module")
def standardised() -> sp.SpcaResult:
    return sp.spca(X, 2, 3, scale=True, effort="quick")


@pytest.mark.parametrize("hold", [_rows, _chunks, _csr, _csc])
@pytest.mark.parametrize("factors", [MIXED, 1e-160, 1e-300 / 2, 1e160, 1e290])
def test_standardised_columns_may_have_any_unit(standardised, hold, factors):
    if np.isscalar(factors) and factors < 1e-300:
        with pytest.raises(DataError, match=r"The scale of .*; it must be from 1e-300 to 1e"):
            sp.spca(hold(X * factors), 2, 3, scale=True)
        return
    fit = sp.spca(hold(X * factors), 2, 3, scale=True, effort="quick")
    np.testing.assert_allclose(fit.loadings, standardised.loadings, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.asarray(fit.scores), standardised.scores, rtol=0, atol=1e-11)
    assert fit.measure("pev") == pytest.approx(standardised.measure("pev"), rel=1e-12)


def test_more_variables_than_are_summed_up():
    rng = np.random.default_rng(5)
    wide = rng.normal(size=(30, 3100))
    wide[:, :4] += 4.0 * rng.normal(size=(30, 1))
    base = sp.spca(wide, 1, 4, objective="pev", effort="quick")
    small, large = wide * 1e-150, wide * 1e150
    for data in (small, _csr(large), [small[:15], small[15:]], [large[:15], large[15:]]):
        fit = sp.spca(data, 1, 4, objective="pev", effort="quick")
        # swaps and sweeps end where a step gains less than 1e-13 of the variance: loadings to 1e-6.5
        np.testing.assert_allclose(fit.loadings, base.loadings, rtol=0, atol=1e-6)


def test_beyond_the_range_the_message_is_true():
    for factor in (1e-160, 1e-300):
        for hold in (_rows, _chunks, _csr):
            with pytest.raises(DataError, match="too small for floating-point numbers"):
                sp.spca(hold(X * factor), 2, 3)
    for factor in (1e155, 1e300):
        for hold in (_rows, _chunks, _csr):
            with pytest.raises(DataError, match="too large for floating-point numbers"):
                sp.spca(hold(X * factor), 2, 3)
    with pytest.raises(DataError, match="too small"):
        sp.spca_cov(S * 1e-310, 2, 3)
    with pytest.raises(DataError, match="too large"):
        sp.spca_cov(S * (1.7e308 / S.max()), 2, 3)


def test_constant_columns_are_constant_at_any_size():
    for factor in (1e-200, 1e-20, 1.0, 1e200):
        held = X * factor
        held[:, 2] = 3.0 * factor
        for hold in (_rows, _chunks, _csr):
            with pytest.raises(ConstantColumnError, match="1 of 8 columns does not vary: 'x3'"):
                sp.spca(hold(held), 2, 3, scale=True)
    zero = X.copy()
    zero[:, 5] = 0.0  # zeros are looked at twice: they are no squares that got lost
    assert sp.spca(zero, 2, 3, effort="quick").loadings.loc["x6"].eq(0).all()


def test_small_numbers_about_an_exact_zero_are_no_zeros():
    balanced = np.tile([[1.0, 1.0, 2.0], [1.0, -1.0, 2.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, -3.0]], (5, 1))
    assert not balanced.mean(axis=0).any()
    base = sp.spca(balanced, 1, 2, scale=True)
    for hold in (_rows, _csr):
        assert np.array_equal(sp.spca(hold(balanced * 2.0**-700), 1, 2, scale=True).loadings, base.loadings)


# --- Every public call in units from 1e-150 to 1e150 --------------------------------------------

ROWS = pd.DataFrame(X, columns=list("abcdefgh"))
GAPS = ROWS.mask(RNG.random(X.shape) < 0.05)
COVARIANCE = ROWS.cov()
UNITS = [2.0**-498, 2.0**498]  # 1.2e-150 and 8.2e149

#: What a call returns: a table or an array, and the power of the unit in which each column is given.
Result = tuple[pd.DataFrame, dict[str, int]]


def fit(u: float) -> sp.SpcaResult:
    return sp.spca(ROWS * u, 2, 3, effort="quick")


def spca(u: float) -> Result:
    return sp.spca(ROWS * u, 2, 3).loadings, {}


def spca_cov(u: float) -> Result:
    found = sp.spca_cov(COVARIANCE * u * u, 2, 3, n_obs=40, effort="quick").variance
    return found, {"score variance": 2, "adjusted variance": 2}


def spca_path(u: float) -> Result:
    return sp.spca_path(ROWS * u, 2, cards=[2, 4], effort="quick").table, {"objective": 2}


def choose(u: float) -> Result:
    return sp.choose(ROWS * u, 2, cards=[2, 4], effort="quick", repeats=1).fit.loadings, {}


TESTED = {"observed": 2, "noise": 2}


def choose_k(u: float) -> Result:
    return sp.choose_k(ROWS * u, n_draws=39).table, TESTED


def choose_k_of_a_covariance_matrix(u: float) -> Result:
    return sp.choose_k(COVARIANCE * u * u, n_obs=40, n_draws=39).table, TESTED


def choose_k_with_gaps(u: float) -> Result:
    return sp.choose_k(GAPS * u, na="em", n_draws=39).table, TESTED


def polychoric(u: float) -> Result:
    return sp.correlation((ROWS / 2).round() * u, method="polychoric"), {}


def spco(u: float) -> Result:
    return sp.spco(ROWS * u, 2, zeros=0.5).loadings, {}


def bootstrap(u: float) -> Result:
    return fit(u).bootstrap(20).table, {}


def stability(u: float) -> Result:
    return fit(u).stability(5).frequency, {}


def split_inference(u: float) -> Result:
    columns = ("estimate", "std_error", "lower", "upper")
    return fit(u).split_inference(20).variance_ci().set_index("component"), dict.fromkeys(columns, 2)


def loading_tests(u: float) -> Result:
    return fit(u).test_loadings(19).p_values, {}


def certify_jointly(u: float) -> Result:  # values are shares of the total variance
    return fit(u).certify().table[["value", "upper_bound", "pca_bound", "gap", "optimal"]], {}


def diagnostics(u: float) -> Result:
    return fit(u).diagnostics(), {"Q": 2}


def em(u: float) -> Result:
    return fit_with_gaps(u, "em").variance, {"score variance": 2, "adjusted variance": 2}


def pairwise(u: float) -> Result:
    return fit_with_gaps(u, "pairwise").variance, {"score variance": 2, "adjusted variance": 2}


def fit_with_gaps(u: float, na: str) -> sp.SpcaResult:
    return sp.spca(GAPS * u, 2, 3, na=na, effort="quick")


CALLS = [
    spca, spca_cov, spca_path, choose, choose_k, choose_k_of_a_covariance_matrix, choose_k_with_gaps,
    polychoric, spco, bootstrap, stability, split_inference, loading_tests, certify_jointly, diagnostics,
    em, pairwise,
]  # fmt: skip


@pytest.mark.sweep
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
    scaled, base = (sp.correlation(GAPS * u, "pearson") for u in (unit, 1.0))
    np.testing.assert_allclose(scaled, base, atol=1e-13)
