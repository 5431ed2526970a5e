"""Rows in chunks with too many columns for folds and halves: some columns stand for all, and that is said."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat import choosing
from spcastat.assess import subsets as streamed
from spcastat.assess.folds import FoldSums
from spcastat.assess.subsets import DrawSums, columns_near
from spcastat.errors import NoRowsError, OptionError
from spcastat.fit import inputs
from spcastat.fit.inputs import opened
from spcastat.linalg.accumulate import CrossProducts
from spcastat.linalg.operators import Gram
from spcastat.streams.base import Pass, Tally, TransformedSums, sums_of
from spcastat.streams.operator import StreamRows as PassRows

N, P = 150, 20


def planted(n, p, seed=0):
    """Rows with three disjoint components of six equal loadings, and unit noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for i, sd in enumerate((5.0, 4.4, 4.0)):
        X[:, 6 * i : 6 * i + 6] += sd * rng.standard_normal((n, 1)) / np.sqrt(6)
    return pd.DataFrame(X, columns=[f"v{j + 1}" for j in range(p)])


@pytest.fixture(scope="module")
def pieces():
    X = planted(N, P)
    return [X.iloc[:60], X.iloc[60:]]


def test_a_choice_among_some_columns_says_so(pieces, monkeypatch):
    monkeypatch.setattr(choosing, "MOMENTS", P - 1)
    monkeypatch.setattr(choosing, "COLUMNS", 18)
    monkeypatch.setattr(choosing, "ROOM", 1)
    choice = sp.choose(pieces, 3, cards=[2, 4, 6])
    assert choice.card == 6
    assert "Chosen among 18 of 20 variables" in choice.reason
    assert "not considered" in " ".join(str(choice).split())
    with pytest.raises(OptionError, match="allows 6 nonzeros per component"):
        sp.choose(pieces, 3, cards=[2, 7])


def test_columns_are_those_of_the_fit_and_those_most_related_to_it():
    S = np.diag(np.arange(1.0, 31.0))
    S[3, 4] = S[4, 3] = 1.5  # the covariance of 4 with a component on 3 alone
    V = np.zeros((30, 1))
    V[3] = 1.0
    assert columns_near(Gram(S), V, 5).tolist() == [0, 1, 3, 4, 29]  # of equal ones the first
    assert columns_near(Gram(S), V, 30).tolist() == list(range(30))
    assert len(columns_near(Gram(S), V, 17)) == 17


def test_stability_among_some_columns_says_so_in_files_too(pieces, monkeypatch, tmp_path):
    fit = sp.spca(pieces, 3, 6, method="bcd-l0")
    plain = fit.stability(10)
    monkeypatch.setattr(streamed, "MOST", 20 * 18**2)
    monkeypatch.setattr(streamed, "ROOM", 1)
    found = fit.stability(10)
    assert "18 of 20 variables" in str(found)
    planted_here = (fit.loadings != 0).to_numpy()
    assert found.stable.to_numpy()[planted_here].all()
    assert plain.stable.to_numpy()[planted_here].all()
    assert (found.frequency.to_numpy()[~planted_here] < 0.3).all()
    # every half selects six variables a component: the bounds differ by the numbers of variables alone
    np.testing.assert_allclose(found.bound, 6.0**2 / (0.5 * 18) * np.array([1, 1, 1, 3]), rtol=1e-12)
    np.testing.assert_allclose(plain.bound, 6.0**2 / (0.5 * P) * np.array([1, 1, 1, 3]), rtol=1e-12)
    fit.save(tmp_path / "fit.spca")
    assert "18 of 20 variables" in str(sp.load(tmp_path / "fit.spca").resampled["stability"])
    monkeypatch.setattr(streamed, "MOST", 20 * 10**2)
    with pytest.raises(NoRowsError, match="Ask for fewer"):
        fit.stability(10)


@pytest.mark.slow
def test_more_columns_than_a_covariance_matrix_is_formed_of(monkeypatch):
    """With limits a tenth of what they are: rows known by passes, choices and halves among some columns."""
    for module in (inputs, choosing):
        monkeypatch.setattr(module, "GRAM_ORDER", 300)
    monkeypatch.setattr(choosing, "MOMENTS", 100)
    monkeypatch.setattr(choosing, "COLUMNS", 100)
    monkeypatch.setattr(streamed, "MOST", 16 * 100**2)
    X = planted(120, 310)
    pieces = [X.iloc[:50], X.iloc[50:]]
    assert isinstance(opened(pieces, None, {}, sp.choose_k)[0].source("").op, PassRows)
    for by in ("cv", "ebic"):
        choice, memory = (sp.choose(data, 3, cards=[3, 6, 9], by=by) for data in (pieces, X))
        assert choice.card == memory.card == 6
        assert "Chosen among 100 of 310" in choice.reason
    found, memory = (sp.spca(data, 3, 6).stability(8) for data in (pieces, X))
    assert "100 of 310 variables" in str(found)
    planted_here = [f"v{j + 1}" for j in range(18)]
    assert set(found.stable.index[found.stable.any(axis=1)]) >= set(planted_here)
    assert set(memory.stable.index[memory.stable.any(axis=1)]) >= set(planted_here)


@pytest.mark.parametrize(
    "make",
    [
        lambda: FoldSums(40, 3, 1, 0),
        lambda: DrawSums(40, 2, 0, 0),
        lambda: TransformedSums(lambda: CrossProducts(40), lambda X: X[:, np.arange(40)]),
    ],
)
def test_sums_of_parts_and_of_columns_travel_as_triangles(make):
    X = planted(200, 40).to_numpy()
    plain, one, other = make(), make(), make()
    for sums, rows in ((plain, X[:90]), (one, X[:90]), (other, X[90:])):
        sums.add(rows, None)
    whole = sys.getsizeof(Pass(one, Tally()))
    assert whole > 8 * 40**2
    sums_of(one).pack()
    sums_of(other).pack()
    assert sys.getsizeof(Pass(one, Tally())) < 0.56 * whole  # 41 of 80 halves, and the means
    plain.merge(other)
    one.merge(other)
    sums_of(one).unpack()
    for a, b in zip(parts_of(one), parts_of(plain), strict=True):
        np.testing.assert_allclose(a.products, b.products, rtol=1e-12)


def parts_of(sums):
    return getattr(sums, "parts", None) or [sums.inner]
