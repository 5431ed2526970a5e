"""Iterative elimination by the smallest absolute loading."""

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import CardinalityError

PITPROPS = sp.datasets.load_pitprops()


def eliminated(S, card):
    """The support and loadings that repeated calls of NumPy's eigh lead to."""
    kept = list(range(len(S)))
    while True:
        v = np.linalg.eigh(S[np.ix_(kept, kept)])[1][:, -1]
        if len(kept) == card:
            return kept, v
        kept.pop(int(np.argmin(np.abs(v))))


def test_components_are_those_of_repeated_eigenvectors_on_what_projection_left():
    S = PITPROPS.to_numpy()
    cards = [7, 4, 4, 1, 1, 1]
    V = sp.spca_cov(PITPROPS, 6, cards, method="iterative-elimination").loadings.to_numpy()
    for card, found in zip(cards, V.T, strict=True):
        kept, v = eliminated(S, card)
        assert np.flatnonzero(found).tolist() == kept
        np.testing.assert_allclose(np.abs(found[kept]), np.abs(v), atol=1e-9)
        away = np.eye(13) - np.outer(found, found)
        S = away @ S @ away


@pytest.mark.parametrize("card", [1, 5, 20])
def test_few_rows_and_many_variables(card):
    X = np.random.default_rng(card).standard_normal((25, 60)) * np.linspace(2, 1, 60)
    v = sp.spca(X, 1, card, method="iterative-elimination").loadings.to_numpy()[:, 0]
    kept, _ = eliminated(np.cov(X, rowvar=False), card)
    assert np.flatnonzero(v).tolist() == kept


@pytest.mark.parametrize("n", [80, 400])  # few rows: eigenvectors come from those of XX'
def test_more_variables_than_are_decomposed_whole(n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 503))
    X[:, 100:110] += 3 * rng.standard_normal((n, 1))
    v = sp.spca(X, 1, 497, method="iterative-elimination").loadings.to_numpy()[:, 0]
    assert np.flatnonzero(v).tolist() == eliminated(np.cov(X, rowvar=False), 497)[0]


def test_it_is_not_cutting_small_loadings_off():
    for card in (4, 5, 6):
        adjusted = {
            method: sp.spca_cov(PITPROPS, 6, card, method=method).measure("adjusted")
            for method in ("iterative-elimination", "threshold")
        }
        assert adjusted["iterative-elimination"] > adjusted["threshold"]


def test_no_fewer_variables_than_one_and_no_more_than_there_are():
    for card in (0, 14):
        with pytest.raises(CardinalityError):
            sp.spca_cov(PITPROPS, 1, card, method="iterative-elimination")
