"""The unit of the data changes nothing but units: every method, from 1e-150 to 1e150.

A factor that is a power of two changes no digit of the data, and so must change none of the loadings; another
one rounds the data once, and loadings may then move by what the method makes of 1e-16 (iterations stop a step
earlier or later: the tolerance of the method).
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import spcastat as sp
from spcastat.errors import ConstantColumnError, DataError, OptionError
from spcastat.fit.method_table import SOLVERS

RNG = np.random.default_rng(3)
N, P = 40, 8
BLOCKS = np.kron(np.eye(2), np.ones((1, 4))) * np.array([1.2, 1.1, 1.0, 0.9, 0.85, 0.8, 0.75, 0.7])
X = RNG.normal(size=(N, 2)) @ BLOCKS + 0.4 * RNG.normal(size=(N, P)) + 5.0
S = np.cov(X, rowvar=False)
ON_S = [name for name, method in SOLVERS.items() if method.solver.needs != "rows"]
#: What rounding of the data may do to loadings: 1e-7, the coarsest tolerance of a method but one.
ROUNDED = {"alspca": 1e-3}

#: Methods that search long for a cardinality.
SLOW = ("dcpca", "alspca")


def control(name, unit=1.0):
    """Return how sparse a fit should be; two methods search long for a cardinality, and have a penalty."""
    if name in SLOW:
        return {"penalty": 0.1 * unit**2}
    return {"card": 3} if "card" in SOLVERS[name].controls else {}


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


@pytest.mark.slow  # rows are tried in other units with every method
@pytest.mark.filterwarnings("ignore::spcastat.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", ON_S)
def test_covariances_in_other_units(name):
    base = sp.spca_cov(S, 2, method=name, **control(name))
    for factor in (4.0**-498, 4.0):
        fit = sp.spca_cov(S * factor, 2, method=name, **control(name, factor**0.5))
        pd.testing.assert_frame_equal(fit.loadings, base.loadings, check_exact=True)
        assert fit.total_variance / factor == pytest.approx(base.total_variance, rel=1e-14)
    for factor in (1e-24, 1e300):
        fit = sp.spca_cov(S * factor, 2, method=name, **control(name, factor**0.5))
        np.testing.assert_allclose(fit.loadings, base.loadings, rtol=0, atol=ROUNDED.get(name, 1e-7))


#: Methods whose penalty has a unit: power of the unit of the data.
PENALTIES = {
    "zou": 2, "spca-os": 1, "rsvd-l0": 1, "rsvd-l1": 1, "rsvd-scad": 1, "dcpca": 2, "dspca": 2, "alspca": 2,
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


@pytest.mark.parametrize("name", ["zou", "spca-os", "rsvd-l1", "dcpca", "dspca", "nspca"])
def test_messages_tell_penalties_in_the_units_of_the_data(name):
    unit = 2.0**100  # 1.27e30
    told = []
    for factor in (1.0, unit):
        penalty = 1e3 * factor ** PENALTIES[name]
        with pytest.raises(OptionError, match=re.escape(f"penalty={penalty:g} leaves no loading")) as error:
            sp.spca(X * factor, 2, method=name, penalty=penalty)
        told.append(float(re.search(r"(?:\[0,|below) ([\d.e+]*\d)", str(error.value))[1]))
    assert told[1] == pytest.approx(told[0] * unit ** PENALTIES[name], rel=1e-4)  # six digits are printed


def test_what_is_reported_of_a_fit_is_in_the_units_of_the_data(tmp_path):
    """To 1e-13: a power of two changes no digit, but sums depend on where the rows lie in memory."""
    unit = 2.0**-450
    base, fit = (sp.spca(data, 2, 3, effort="quick") for data in (X, X * unit))
    fit.save(tmp_path / "fit")
    for one in (fit, sp.load(tmp_path / "fit")):
        np.testing.assert_allclose(one.correlations, base.correlations, rtol=1e-13)
        np.testing.assert_allclose(one.communalities, base.communalities, rtol=1e-13)
        np.testing.assert_allclose(one.component_shares, base.component_shares, rtol=1e-13)
        np.testing.assert_allclose(one.limits() / [1, unit * unit], base.limits(), rtol=1e-13)
        np.testing.assert_allclose(one.diagnostics(X * unit) / [1, unit**2], base.diagnostics(X), rtol=1e-12)
    # sums of products of either sign: their rounding is relative to the data
    np.testing.assert_allclose(fit.scores / unit, base.scores, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(fit.residuals / unit, base.residuals, rtol=1e-13, atol=1e-13)
    told, wanted = fit.certify(joint=False), base.certify(joint=False)
    for column in ("value", "upper_bound", "best_known"):
        np.testing.assert_allclose(told.table[column] / unit**2, wanted.table[column], rtol=1e-13)
    assert fit.measure("pev") == pytest.approx(base.measure("pev"), rel=1e-13)
    assert fit.measure("pev") == pytest.approx(sp.measures.pev(fit.loadings.to_numpy(), X * unit), rel=1e-13)


@pytest.mark.parametrize("options", [{"zeros": 0.5}, {"penalty": 0.7}])
def test_principal_coordinates(options):
    unit = 2.0**300
    base = sp.spco(X, 2, **options)
    fit = sp.spco(X * unit, 2, **{k: v * unit if k == "penalty" else v for k, v in options.items()})
    np.testing.assert_allclose(fit.loadings, base.loadings, rtol=1e-13)
    np.testing.assert_allclose(fit.coordinates / unit, base.coordinates, rtol=1e-13)
    assert fit.penalty / unit == pytest.approx(base.penalty, rel=1e-13)
    assert fit.objective_value / unit**2 == pytest.approx(base.objective_value, rel=1e-13)
    np.testing.assert_allclose(fit.variance / [1, 1, unit**2, 1, 1, 1], base.variance, rtol=1e-13)
    with pytest.raises(OptionError, match=r"\[0, 1.24526e\+91\) for any component to be left"):
        sp.spco(X * unit, 2, penalty=1e3 * unit)


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


@pytest.fixture(scope="module")
def plain() -> sp.SpcaResult:
    return sp.spca(X, 2, 3, effort="quick")


@pytest.mark.parametrize("hold", [_rows, _chunks, _csr, _csc])
@pytest.mark.parametrize("factors", [MIXED, 1e-160, 1e-300 / 2, 1e160, 1e290])
def test_standardised_columns_may_have_any_unit(standardised, hold, factors):
    if np.isscalar(factors) and factors < 1e-300:
        with pytest.raises(DataError, match=r"The scale of .*; it can be from 1e-300 to 1e"):
            sp.spca(hold(X * factors), 2, 3, scale=True)
        return
    fit = sp.spca(hold(X * factors), 2, 3, scale=True, effort="quick")
    np.testing.assert_allclose(fit.loadings, standardised.loadings, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.asarray(fit.scores), standardised.scores, rtol=0, atol=1e-11)
    assert fit.measure("pev") == pytest.approx(standardised.measure("pev"), rel=1e-12)


@pytest.mark.parametrize("hold", [_rows, _chunks, _csr, _csc])
@pytest.mark.parametrize("factor", [1e-150, 1e150])
def test_large_and_small_rows_of_every_kind(plain, hold, factor):
    fit = sp.spca(hold(X * factor), 2, 3, effort="quick")
    np.testing.assert_allclose(fit.loadings, plain.loadings, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.asarray(fit.scores) / factor, plain.scores, rtol=0, atol=1e-11)
    assert fit.total_variance / factor / factor == pytest.approx(plain.total_variance, rel=1e-12)


def test_dask(standardised):
    da = pytest.importorskip("dask.array")
    fit = sp.spca(da.from_array(X * MIXED, chunks=(15, P)), 2, 3, scale=True, effort="quick")
    np.testing.assert_allclose(fit.loadings, standardised.loadings, rtol=0, atol=1e-12)


def test_divisors_and_centres_of_ones_own(standardised):
    sd, mean = X.std(axis=0, ddof=1), X.mean(axis=0)
    fit = sp.spca(X * MIXED, 2, 3, scale=sd * MIXED, center=mean * MIXED, effort="quick")
    np.testing.assert_allclose(fit.loadings, standardised.loadings, rtol=0, atol=1e-12)
    weights = np.random.default_rng(4).integers(1, 4, N)
    base, large = (sp.spca(X * unit, 2, 3, weights=weights, effort="quick") for unit in (1.0, 2.0**480))
    assert np.array_equal(large.loadings, base.loadings)


def test_more_variables_than_are_summed_up():
    rng = np.random.default_rng(5)
    wide = rng.normal(size=(30, 3100))
    wide[:, :4] += 4.0 * rng.normal(size=(30, 1))
    base = sp.spca(wide, 1, 4, method="bcd-l0")
    for hold in (_rows, _csr, lambda values: [values[:15], values[15:]]):
        for factor in (1e-150, 1e150):
            fit = sp.spca(hold(wide * factor), 1, 4, method="bcd-l0")
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


def test_a_correlation_matrix_times_a_small_number():
    """Scores of variables far below 1 once tied with one another: PEV .368 instead of .519."""
    R = sp.datasets.load_pitprops()
    base = sp.spca_cov(R, 3, 4, method="pathspca")
    assert base.measure("pev") == pytest.approx(0.519, abs=5e-4)  # three digits
    for factor in (1e-9, 1e9, 1e-300):
        fit = sp.spca_cov(R * factor, 3, 4, method="pathspca")
        assert np.array_equal(fit.loadings != 0, base.loadings != 0)
        assert fit.measure("pev") == pytest.approx(base.measure("pev"), rel=1e-12)


def test_a_matrix_near_the_largest_number():
    R = sp.datasets.load_pitprops()
    fit, base = (sp.spca_cov(S, 2, 4, effort="quick") for S in (R * 1e307, R))
    np.testing.assert_allclose(fit.loadings, base.loadings, atol=1e-12)
    assert fit.total_variance == pytest.approx(13e307)


def test_columns_of_zeros_cost_a_stream_no_further_pass():
    passes = []

    def source():
        passes.append(1)
        return iter([zero[:20], zero[20:]])

    zero = X.copy()
    zero[:, 5] = 0.0
    sp.spca(source, 2, 3)
    assert len(passes) == 2  # one to learn the columns, one for the covariances


def test_small_numbers_about_an_exact_zero_are_no_zeros():
    balanced = np.tile([[1.0, 1.0, 2.0], [1.0, -1.0, 2.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, -3.0]], (5, 1))
    assert not balanced.mean(axis=0).any()
    base = sp.spca(balanced, 1, 2, scale=True)
    for hold in (_rows, _csr):
        assert np.array_equal(sp.spca(hold(balanced * 2.0**-700), 1, 2, scale=True).loadings, base.loadings)
