"""A fit from a file takes the data that were fitted, and refuses others by centre, scale and moments."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import DataError


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    score = rng.standard_normal((60, 2))
    X = score @ rng.standard_normal((2, 6)) + 0.5 * rng.standard_normal((60, 6))
    return pd.DataFrame(X * [1.0, 1e3, 1e-3, 1.0, 10.0, 1.0] + [0, 5, 0, 1e6, 3, 0], columns=list("abcdef"))


def _signed(X: pd.DataFrame, name: str) -> pd.DataFrame:
    return X.assign(**{name: -X[name]})


def _moved(X: pd.DataFrame, name: str) -> pd.DataFrame:
    return X.assign(**{name: X[name] + 1000.0})


def _doubled(X: pd.DataFrame, name: str) -> pd.DataFrame:
    return X.assign(**{name: 2.0 * X[name]})


def _drawn(X: pd.DataFrame, name: str) -> pd.DataFrame:
    """Other values with the same mean and standard deviation."""
    new = np.random.default_rng(9).standard_normal(len(X))
    new = pd.Series((new - new.mean()) / new.std(ddof=1), index=X.index)
    return X.assign(**{name: (X[name].mean() + X[name].std() * new).where(X[name].notna())})


CHANGES = (_signed, _moved, _doubled, _drawn)
FITS = {
    "scaled": {"scale": True},
    "unscaled": {"scale": False},
    "not centred": {"center": False, "scale": False},
    "blocks": {"scale": "blocks", "blocks": {"one": ["a", "b", "c"], "two": ["d", "e", "f"]}},
    "divisors": {"scale": np.array([1.0, 1e3, 1e-3, 1.0, 10.0, 1.0])},
    "formula": {"scale": True, "formula": "~ a + b + c + exp(d / 1e6) + e + f"},
    "covariate": {"scale": True, "formula": "~ . | a"},
    "missing": {"scale": True, "na": "em"},
}


def _loaded(tmp_path, X: pd.DataFrame, how: dict):
    sp.spca(X, 2, 3, **how).save(tmp_path / "fit.spca")
    return sp.load(tmp_path / "fit.spca")


def _data(kind: str) -> pd.DataFrame:
    X = _frame()
    if kind == "missing":
        X.iloc[[3, 8], [1, 4]] = np.nan
    return X


@pytest.mark.parametrize("kind", list(FITS))
def test_the_data_of_the_fit_are_accepted(tmp_path, kind):
    X = _data(kind)
    loaded = _loaded(tmp_path, X, FITS[kind])
    # columns in another order are the same data; so are sums in another order
    assert "(4 draws" in str(loaded.bootstrap(4, data=X[X.columns[::-1]], rng=1))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", list(FITS))
def test_other_data_are_refused(tmp_path, kind, change):
    X = _data(kind)
    loaded = _loaded(tmp_path, X, FITS[kind])
    with pytest.raises(DataError, match="not those of the fit"):
        loaded.bootstrap(4, data=change(X, "e"), rng=1)


@pytest.mark.parametrize("call", ["bootstrap", "stability", "split_inference", "test_loadings"])
def test_every_resampling_compares(tmp_path, call):
    X = _frame()
    loaded = _loaded(tmp_path, X, {"scale": True})
    for change in CHANGES:
        with pytest.raises(DataError, match="not those of the fit, most of all for 'e'"):
            getattr(loaded, call)(data=change(X, "e"))


def test_a_column_of_small_variance_is_compared(tmp_path):
    """Its variance is 1e-12 of the largest one, but has its own digits."""
    X = _frame()
    with pytest.raises(DataError, match="not those of the fit"):
        _loaded(tmp_path, X, {"scale": False}).bootstrap(4, data=_doubled(X, "c"), rng=1)


def test_covariance_matrices_are_compared_by_their_covariances(tmp_path):
    """The same variances, and the sign of one variable changed."""
    S = _frame().corr()
    sp.spca_cov(S, 2, 3, n_obs=60, effort="quick").save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    sign = np.array([1.0, 1.0, 1.0, 1.0, -1.0, 1.0])
    with pytest.raises(DataError, match="not those of the fit"):
        loaded.bootstrap(4, data=S * np.outer(sign, sign))
    assert "(4 draws" in str(loaded.bootstrap(4, data=S))


def test_a_fit_that_scaled_its_covariance_matrix_takes_this_matrix_or_its_correlations(tmp_path):
    S = _frame().cov()
    fit = sp.spca_cov(S, 2, 3, n_obs=60, scale=True)
    fit.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    wanted = fit.stability(4, rng=1).frequency
    for data in (S, _frame().corr()):
        pd.testing.assert_frame_equal(loaded.stability(4, data=data, rng=1).frequency, wanted)
    assert "(4 draws" in str(loaded.bootstrap(4, data=S, rng=1))
    with pytest.raises(DataError, match="not those of the fit"):
        loaded.stability(4, data=_drawn(_frame(), "d").cov())
    sp.spca_cov(S, 2, 3, n_obs=60, scale=False).save(tmp_path / "other.spca")
    with pytest.raises(DataError, match="variances of data are not those of the fit"):
        sp.load(tmp_path / "other.spca").stability(4, data=_frame().corr())
