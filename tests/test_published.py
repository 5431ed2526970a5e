"""Figures that the papers print, remade: each with its source and the reason for its tolerance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp

# The papers print PEV in percent to two decimals and RRE to four: half a unit of the last digit. (Where
# they misprint, the converged figure stands here: PEV = 1 - RRE^2 for their definitions.)
PEV_TOLERANCE = 0.005
RRE_TOLERANCE = 0.00005

PITPROPS_BCD = [
    # Zhao, Meng, Xu and Gao (2015), Table 3, six components of pitprops
    ("bcd-l0", (8, 5, 6, 2, 3, 2), 83.07, 0.4115),
    ("bcd-l0", (7, 4, 4, 1, 1, 1), 80.47, 0.4419),
    ("bcd-l0", (7, 2, 3, 1, 1, 1), 80.47, 0.4419),
    ("bcd-l1", (7, 2, 3, 1, 1, 1), 80.46, 0.4420),
]

#: Under l1 with preset cardinalities the criterion may rise from one sweep to the next, and the best loadings
#: passed are kept: print has those of the last sweep, which leave more (PEV 83.96 of its RRE at 8-5-6-2-3-2,
#: beside which it has 83.50, of another fit).
PITPROPS_BCD_L1 = [((8, 5, 6, 2, 3, 2), 0.4005), ((7, 4, 4, 1, 1, 1), 0.4343)]

# Zou, Hastie and Tibshirani's sparse components as Dou, Dai, Xu and Zhang print them (Table 1), the
# variables in the order of the bundled matrix.
DOU_TABLE_1 = """
    -0.4796  0       0       0  0  0
    -0.4689  0       0       0  0  0
     0       0.7769  0       0  0  0
     0       0.6289  0       0  0  0
     0.1903  0       0.6551  0  0  0
     0       0       0.6048  0  0  0
    -0.2802  0       0.4528  0  0  0
    -0.3401 -0.0312  0       0  0  0
    -0.4148  0       0       0  0  0
    -0.3844  0       0       0  0  0
     0       0       0      -1  0  0
     0       0       0       0 -1  0
     0       0       0       0  0  1
"""

# He, Monteiro and Park (2010), Table 4.
HE_TABLE_4 = """
    0.4229  0       0       0       0       0
    0.4295  0      -0.2610  0       0       0
    0       0.6676  0       0       0       0
    0       0.6435  0       0       0       0
    0       0       0.5377  0       0       0.7157
    0.2695  0       0.4897  0       0.2898  0
    0.4043  0       0.3682  0       0       0
    0.3131  0       0       0      -0.3549  0
    0.3782  0       0       0       0       0
    0.3994  0       0       0      -0.3332  0
    0       0.2030  0       0.8723  0.4030  0
    0       0.3147  0      -0.4890  0.7188  0
    0       0      -0.5172  0       0       0.6984
"""

# Zou, Hastie and Tibshirani (2006), Table 3, to three decimals.
ZOU_TABLE_3 = """
    -0.477  0      0      0  0  0
    -0.476  0      0      0  0  0
     0      0.785  0      0  0  0
     0      0.620  0      0  0  0
     0.177  0      0.640  0  0  0
     0      0      0.589  0  0  0
    -0.250  0      0.492  0  0  0
    -0.344 -0.021  0      0  0  0
    -0.416  0      0      0  0  0
    -0.400  0      0      0  0  0
     0      0      0     -1  0  0
     0      0.013  0      0 -1  0
     0      0     -0.015  0  0  1
"""


def printed(table: str, R: pd.DataFrame) -> pd.DataFrame:
    values = np.array(table.split(), dtype=float).reshape(13, -1)
    return pd.DataFrame(values, index=R.index)


# --- block coordinate descent ---------------------------------------------------------------------


@pytest.mark.parametrize(("method", "card", "pev", "rre"), PITPROPS_BCD)
def test_bcd_on_pitprops(R, method, card, pev, rre):
    fit = sp.spca_cov(R, 6, card, method=method, n_obs=180)
    assert fit.converged
    assert tuple(fit.card) == card
    assert 100 * fit.measure("pev") == pytest.approx(pev, abs=PEV_TOLERANCE)
    assert fit.measure("rre") == pytest.approx(rre, abs=RRE_TOLERANCE)


@pytest.mark.parametrize(("card", "printed"), PITPROPS_BCD_L1)
def test_bcd_l1_on_pitprops_leaves_no_more_than_print(R, card, printed):
    fit = sp.spca_cov(R, 6, card, method="bcd-l1", n_obs=180)
    assert fit.converged
    assert tuple(fit.card) == card
    assert fit.measure("rre") <= printed + RRE_TOLERANCE
    # The best of all sweeps of an iteration written apart from the package's (dense algebra, PEV by QR): the
    # loadings of sweeps 22 and 8 keep 84.215 and 81.146 %, to half a unit of the last digit.
    assert 100 * fit.measure("pev") == pytest.approx({8: 84.215, 7: 81.146}[max(card)], abs=0.0006)


# --- sparsity control -----------------------------------------------------------------------------


def test_controlled_on_pitprops(R):
    fit = sp.spca_cov(R, 6, variance=0.9, method="controlled")
    assert fit.method == "controlled"
    assert fit.card.tolist() == [7, 4, 5, 2, 5, 2]  # He, Monteiro and Park (2010), Table 4: exact
    kept = sp.measures.relative_adjusted(fit.loadings, S=R, cumulative=True)
    assert kept.shape == (6,)
    assert kept.min() >= 0.9 - 1e-9  # the method promises 0.9 to 1e-10 of the explained variance


def test_controlled_finds_the_printed_components(R):
    # The first four components of Table 4. (In the fifth the table has whorls where the exact leading
    # vectors give diaknot: its first loadings are off by 6e-4, and the deflations carry that on.)
    fit = sp.spca_cov(R, 6, variance=0.9, c=1, method="controlled")
    V, table = fit.loadings.to_numpy()[:, :4], printed(HE_TABLE_4, R).to_numpy()[:, :4]
    np.testing.assert_array_equal(V != 0, table != 0)
    np.testing.assert_allclose(np.abs((V * table).sum(axis=0)), 1.0, atol=0.005)  # cosines: the same vectors


def test_measures_of_the_loadings_printed_for_controlled(R):
    # Printed as 0.907 in the text of section 5.5: half a unit of the third decimal.
    value = sp.measures.relative_adjusted(printed(HE_TABLE_4, R), S=R)
    assert value == pytest.approx(0.907, abs=0.0005)


# --- Hastie's data --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["bcd-l0", "greedy"])
def test_both_supports_in_all_hundred_sets(method):
    # Zou, Hastie and Tibshirani (2006): V2 (variance 300) drives X5..X8, V1 (290) X1..X4. Which of the two
    # comes first is decided by the sample, as variances 300 and 290 swap in one sample of three.
    truth = {(0, 1, 2, 3), (4, 5, 6, 7)}
    missed = []
    for seed in range(100):
        V = sp.spca(sp.datasets.make_hastie(1000, rng=seed), 2, 4, method=method).loadings.to_numpy()
        if {tuple(np.flatnonzero(v).tolist()) for v in V.T} != truth:
            missed.append(seed)
    assert missed == []


# --- many definitions of explained variance -------------------------------------------------------


def test_cumulative_adjusted_variance_of_the_loadings_of_dou(R):
    # 0.05 percentage points, as the loadings are rounded: what is printed gives 42.02 and not 42.06 after
    # the second component, and stays 0.04 below from there on.
    value = 100 * sp.measures.adjusted(printed(DOU_TABLE_1, R), S=R, cumulative=True)
    np.testing.assert_allclose(value, [28.06, 42.06, 55.16, 62.61, 69.45, 75.76], atol=0.05)


def test_one_fit_has_many_explained_variances(R):
    # Zou, Hastie and Tibshirani (2006), Table 3. 0.01 percentage points: the figures have two
    # decimals, and loadings rounded to three move them by up to 0.009.
    V = printed(ZOU_TABLE_3, R)
    unit = V / np.sqrt((V**2).sum())
    shares = {
        "adjusted": 100 * sp.measures.adjusted(V, S=R),
        "pev": 100 * sp.measures.pev(V, S=R),
        "scores": 100 * np.trace(unit.T @ R @ unit) / 13,
        "least_squares": 100 * sp.measures.least_squares(V, S=R),
        "pca": 100 * np.sort(np.linalg.eigvalsh(R))[-6:].sum() / 13,
    }
    assert shares == pytest.approx(
        {"adjusted": 75.77, "pev": 80.22, "scores": 80.48, "least_squares": 85.18, "pca": 87.00}, abs=0.01
    )


def test_dense_components_of_pitprops(R):
    # Jeffers (1967), to four decimals; the first six explain 86.9985 %.
    eigenvalues = [4.2186, 2.3781, 1.8782, 1.1094, 0.9100, 0.8154, 0.5763, 0.4396, 0.3527, 0.1908]
    eigenvalues += [0.0506, 0.0415, 0.0387]
    fit = sp.spca_cov(R, 13, method="pca")
    np.testing.assert_allclose(fit.variance["score variance"], eigenvalues, atol=0.00005)
    np.testing.assert_allclose(fit.variance["adjusted variance"], eigenvalues, atol=0.00005)
    assert 100 * fit.variance["cumulative PCA"]["PC6"] == pytest.approx(86.9985, abs=0.00005)
    for name in ("pev", "adjusted", "least_squares"):  # for dense components all definitions agree
        assert 100 * sp.spca_cov(R, 6, method="pca").measure(name) == pytest.approx(86.9985, abs=0.00005)
