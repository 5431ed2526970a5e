"""The benchmark beside other programs: its measuring function, its rows, and what it says without R."""

from __future__ import annotations

import numpy as np
import pytest

import spcastat as sp
from benchmarks.peers import fits
from benchmarks.peers.cells import rows_of
from benchmarks.peers.measured import measured


def test_a_fit_is_measured_as_it_measures_itself():
    R = sp.datasets.load_pitprops()
    fit = sp.spca_cov(R, 3, card=4, effort="quick")
    V = fit.loadings.to_numpy()
    one = measured(V * [2.0, -1.0, 0.5], R.to_numpy())  # neither lengths nor signs count
    assert one.pev == pytest.approx(fit.measure("pev"), rel=1e-12)
    assert one.adjusted == pytest.approx(fit.measure("adjusted"), rel=1e-12)
    assert one.card == (4, 4, 4)
    assert one.variances == pytest.approx(sum(v @ R.to_numpy() @ v for v in V.T) / 13, rel=1e-12)


def test_closed_forms():
    S = np.diag([4.0, 3.0, 2.0, 1.0])
    axes = measured(np.eye(4)[:, :2], S)
    assert (axes.pev, axes.adjusted, axes.variances) == pytest.approx((0.7, 0.7, 0.7))
    assert axes.violation == 0.0
    v = np.array([1.0, 1.0, 0.0, 0.0]) / np.sqrt(2.0)
    twice = measured(np.column_stack([np.eye(4)[0], v]), S)
    # together they span the first two axes; each by itself explains 4 and 3.5
    assert twice.pev == pytest.approx(0.7)
    assert twice.variances == pytest.approx(0.75)
    assert twice.violation == pytest.approx(np.sqrt(0.5))
    # the axis first, 4, and what it leaves of the other score, whose covariance with it is sqrt(8)
    assert twice.adjusted == pytest.approx((4.0 + 3.5 - 8.0 / 4.0) / 10.0)
    assert measured(np.zeros((4, 2)), S).pev == 0.0


def test_rows_have_the_covariance_matrix_they_are_made_of():
    S = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.0]])
    X = rows_of(S)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-14)
    np.testing.assert_allclose(np.cov(X.T), S, atol=1e-13)


def test_without_r_the_page_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert "R is not installed" in fits.run_r(tmp_path)
    cells = fits.prepare(tmp_path, None)
    assert ("pitprops", 6, 4) in cells
    assert all(name != "colon" for name, *_ in cells)
    X = np.loadtxt(tmp_path / "pitprops.csv", delimiter=",")
    np.testing.assert_allclose(np.cov(X.T), sp.datasets.load_pitprops(), atol=1e-12)
