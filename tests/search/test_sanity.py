"""No method reports more than PCA explains; at full cardinality most explain as much."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import ConvergenceWarning

from .conftest import draw

MEASURES = ["cumulative adjusted", "cumulative PEV", "cumulative least squares"]
#: Methods whose limit is not PCA, and why.
OTHER_LIMIT = {"nspca": "its loadings are nonnegative, whatever their number"}
METHODS = sp.methods().query("function != 'spco'").set_index("name")
FROM_COVARIANCE = [name for name in METHODS.index if "covariance" in METHODS.at[name, "takes"]]
FROM_ROWS = [name for name in METHODS.index if name not in FROM_COVARIANCE]
#: `variance` has this in the place of a cardinality, for the method that takes no other control.
SHARES = {2: 0.7, 4: 0.9, None: 1.0}


def fitted(data: Any, k: int, name: str, card: int | None) -> Any:
    """A fit with `card` nonzeros in each component; None stands for all."""
    controls = METHODS.at[name, "controlled by"]
    options: dict[str, Any] = {}
    if "card" in controls:
        options["card"] = card or np.shape(data)[1]
    elif "variance" in controls:
        options["variance"] = SHARES[card]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        function = sp.spca if name in FROM_ROWS else sp.spca_cov
        return function(data, k, method=name, **options)


def shares(fit: Any) -> pd.DataFrame:
    return fit.variance[MEASURES].sub(fit.variance["cumulative PCA"], axis=0)


@pytest.fixture(scope="module")
def covariances(R):
    return [draw(6, 11), draw(8, 12), R.to_numpy()]


@pytest.mark.slow
@pytest.mark.parametrize("name", FROM_COVARIANCE)
def test_no_share_above_pca(name, covariances):
    for S in covariances:
        for card in (2, 4):
            assert (shares(fitted(S, 3, name, card)) <= 1e-9).all(axis=None)


@pytest.mark.parametrize("name", FROM_COVARIANCE)
def test_full_cardinality(name, covariances):
    for S in covariances:
        fit = fitted(S, 3, name, None)
        below = shares(fit)
        assert (below <= 1e-9).all(axis=None)
        reaches = (below[MEASURES[1:]].iloc[-1] >= -1e-6).all()
        assert reaches == (name not in OTHER_LIMIT), OTHER_LIMIT.get(name)
        if name not in OTHER_LIMIT:
            assert (fit.card == len(S)).all()


@pytest.mark.parametrize("name", FROM_ROWS)
def test_methods_for_rows(name):
    X = np.random.default_rng(3).standard_normal((30, 6)) * np.arange(1, 7)
    for card in (2, 4, 6):
        assert (shares(fitted(X, 2, name, card)) <= 1e-9).all(axis=None)


@pytest.mark.parametrize("objective", ["pev", "adjusted", "least_squares"])
def test_joint_search_stays_below_pca(objective, covariances):
    for S in covariances[:2]:
        fit = sp.spca_cov(S, 3, card=(3, 2, 2), objective=objective, effort="quick")
        assert (shares(fit) <= 1e-9).all(axis=None)
        full = sp.spca_cov(S, 3, card=len(S), objective=objective, effort="quick")
        # with all variables the span is that of PCA; only adjusted variance asks for its axes
        own = {"adjusted": MEASURES, "pev": MEASURES[1:], "least_squares": MEASURES[1:]}[objective]
        assert shares(full)[own].iloc[-1].to_numpy() == pytest.approx(0.0, abs=1e-8)
