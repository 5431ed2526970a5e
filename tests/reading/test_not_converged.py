"""What a fit says when the EM of its gaps has not converged."""

import warnings

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import ConvergenceWarning
from spcastat.reading.missing_values import em_moments


def gappy():
    X = np.random.default_rng(0).standard_normal((40, 6)) @ np.diag([3.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    X[::7, 2] = X[3::5, 0] = np.nan
    return X


@pytest.mark.filterwarnings("error")
def test_steps_that_do_not_suffice_are_warned_of(monkeypatch):
    monkeypatch.setitem(em_moments.__kwdefaults__, "max_iter", 2)
    with pytest.warns(ConvergenceWarning, match="the EM stopped after 2 iterations, before it converged"):
        sp.spca(gappy(), 2, 3, na="em")


def test_steps_that_suffice_are_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = sp.spca(gappy(), 2, 3, na="em")
    assert fit.status != "max_iter"
