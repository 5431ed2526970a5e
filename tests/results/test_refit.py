"""Refits, and the data of a fit from a file: the same data are taken, others are refused."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.errors import CardinalityError, DataError

# --- Refits of what was fitted, whatever became of the data since, under the names of the fit -----


def numbers() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(60, 5))


def frame() -> pd.DataFrame:
    return pd.DataFrame(numbers(), columns=list("abcde"))


@pytest.mark.parametrize("changes", [{"card": 2}, {"na": "drop"}, {"scale": True, "card": 2}])
def test_columns_that_the_frame_got_later_are_not_fitted(changes):
    data = frame()
    fit = sp.spca(data, 2, 3, effort="quick")
    before = fit.refit(**changes)
    data["PC1"] = fit.scores["PC1"]
    after = fit.refit(**changes)
    pd.testing.assert_frame_equal(after.loadings, before.loadings)
    assert list(after.refit(card=3).loadings.index) == list("abcde")


def test_data_changed_in_place_are_not_fitted():
    X, w, scale, S = numbers(), np.arange(1.0, 61.0), np.arange(1.0, 6.0), np.cov(numbers(), rowvar=False)
    fit = sp.spca(X, 2, 3, weights=w, scale=scale, effort="quick")
    of_covariance = sp.spca_cov(S, 2, 3, effort="quick")
    expected = fit.refit(card=2), of_covariance.refit(card=2)
    X[0], w[:], scale[:], S[0, 0] = 1000.0, 1.0, 9.0, 1000.0
    for one, other in zip((fit, of_covariance), expected, strict=True):
        again = pickle.loads(pickle.dumps(one)).refit(card=2)
        assert again.total_variance == one.refit(card=2).total_variance == other.total_variance
        pd.testing.assert_frame_equal(again.loadings, other.loadings)
    with pytest.raises(DataError, match="changed since the fit"):
        fit.refit(na="drop")  # reads the array again
    assert fit.refit(data=X, weights=None, scale=False).total_variance == pytest.approx(
        X.var(axis=0, ddof=1).sum()
    )


@pytest.mark.parametrize("kind", ["rows", "columns", "frame", "view", "csc", "csr"])
def test_large_data_changed_in_place_are_noticed(kind, monkeypatch):
    monkeypatch.setattr("spcastat.reading.frames.COPY_LIMIT", 100)
    X = np.asfortranarray(numbers()) if kind in ("columns", "frame") else numbers()
    if kind == "view":
        X = np.repeat(X, 2, axis=1)[:, ::2]
    made = {"frame": lambda: pd.DataFrame(X, copy=False), "csc": lambda: sps.csc_array(X)}
    data = sps.csr_array(X) if kind == "csr" else made.get(kind, lambda: X)()
    fit = sp.spca(data, 2, 3, effort="quick")
    fit.refit(card=2), fit.scores
    if sps.issparse(data):
        data.data[0] = 1000.0
    else:
        X[0, 0] = 1000.0
    fit = fit.__copy__()
    fit.__dict__.pop("_scores", None)
    for call in (
        lambda: fit.refit(card=2),
        lambda: fit.refit(na="drop"),
        lambda: fit.scores,
        lambda: fit.residuals,
        lambda: fit.certify(),
        lambda: fit.bootstrap(5),
        lambda: fit.stability(5),
        lambda: sp.compare({"a": fit, "b": fit}, held_out=True),
    ):
        with pytest.raises(DataError, match="changed since the fit"):
            call()


def test_formulas_that_learn_do_not_read_changed_data():
    data = [frame()]
    table = pytest.importorskip("polars").from_pandas(data[0])
    fit = sp.spca(table, 2, 2, formula="~ scale(a) + b + c + d", effort="quick")
    fit.refit(card=3)
    table.replace_column(0, table["b"].alias("a"))
    for call in (lambda: fit.bootstrap(5), lambda: fit.refit(formula="~ a + b + c")):
        with pytest.raises(DataError, match="changed since the fit"):
            call()


def test_chunks_are_compared_with_those_of_the_fit():
    chunks = [frame()[:30], frame()[30:]]
    fit = sp.spca(chunks, 2, 3, effort="quick")
    assert fit.refit(card=2).total_variance == fit.total_variance
    chunks[0] = chunks[0][:-1]  # passes are compared by their numbers of rows
    for changes in ({"card": 2}, {"formula": "~ a + b + c"}):
        with pytest.raises(DataError, match="rows"):
            fit.refit(**changes)


def test_missing_values_stay_as_they_were_read():
    data = frame()
    data.iloc[3, 1] = np.nan
    for na in ("em", "drop", "pairwise"):
        fit = sp.spca(data, 2, 3, na=na, effort="quick")
        fresh = sp.spca(data, 1, 2, na=na, effort="quick")
        pd.testing.assert_frame_equal(fit.refit(k=1, card=2).loadings, fresh.loadings)
    assert fit.refit(na="drop").total_variance == pytest.approx(data.dropna().var().sum())


def test_components_keep_their_names():
    fit = sp.spca(frame(), 2, [3, 2], effort="quick").rename({"PC1": "size"})
    assert list(fit.refit().components) == ["size", "PC2"]
    assert list(fit.refit(k=3, card=2).components) == ["size", "PC2", "PC3"]
    assert list(fit.refit(k=1, card=2).components) == ["size"]
    assert fit.refit(card={"size": 4}).card.to_dict() == {"size": 4, "PC2": 2}
    assert fit.refit(card=pd.Series({"PC2": 5, "size": 4})).card.to_dict() == {"size": 4, "PC2": 5}
    assert fit.refit(k=3, card={"size": 4, 3: 1}).card.to_dict() == {"size": 4, "PC2": 2, "PC3": 1}
    for wrong in ({"shape": 3}, {"size": 3, "PC1": 3}):
        with pytest.raises(CardinalityError, match="must name components of the fit, 'size', 'PC2'"):
            fit.refit(card=wrong)


# --- A fit from a file takes the data that were fitted, and refuses others by centre, scale and moments ---


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


@pytest.mark.sweep
@pytest.mark.parametrize("kind", list(FITS))
def test_the_data_of_the_fit_are_accepted(tmp_path, kind):
    X = _data(kind)
    loaded = _loaded(tmp_path, X, FITS[kind])
    # columns in another order are the same data; so are sums in another order
    assert "(4 draws" in str(loaded.bootstrap(4, data=X[X.columns[::-1]], rng=1))


@pytest.mark.sweep
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", list(FITS))
def test_other_data_are_refused(tmp_path, kind, change):
    X = _data(kind)
    loaded = _loaded(tmp_path, X, FITS[kind])
    with pytest.raises(DataError, match="different from the fit"):
        loaded.bootstrap(4, data=change(X, "e"), rng=1)


def test_a_column_of_small_variance_is_compared(tmp_path):
    """Its variance is 1e-12 of the largest one, but has its own digits."""
    X = _frame()
    with pytest.raises(DataError, match="different from the fit"):
        _loaded(tmp_path, X, {"scale": False}).bootstrap(4, data=_doubled(X, "c"), rng=1)


def test_a_fit_that_scaled_its_covariance_matrix_takes_this_matrix_or_its_correlations(tmp_path):
    S = _frame().cov()
    fit = sp.spca_cov(S, 2, 3, n_obs=60, scale=True)
    fit.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    wanted = fit.stability(4, rng=1).frequency
    for data in (S, _frame().corr()):
        pd.testing.assert_frame_equal(loaded.stability(4, data=data, rng=1).frequency, wanted)
    assert "(4 draws" in str(loaded.bootstrap(4, data=S, rng=1))
    with pytest.raises(DataError, match="different from the fit"):
        loaded.stability(4, data=_drawn(_frame(), "d").cov())
    sp.spca_cov(S, 2, 3, n_obs=60, scale=False).save(tmp_path / "other.spca")
    with pytest.raises(DataError, match="variances of data are different from the fit"):
        sp.load(tmp_path / "other.spca").stability(4, data=_frame().corr())
