"""Refits of what was fitted, whatever became of the data since, under the names of the fit."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.errors import CardinalityError, DataError


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
    fit, of_covariance = sp.spca(X, 2, 3, weights=w, scale=scale), sp.spca_cov(S, 2, 3)
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
