"""The number of components of many columns: half of the rows choose columns, the other half tests them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import spcastat as sp
from spcastat import choosing
from spcastat.assess.subsets import half_of
from spcastat.errors import OptionError

P, TESTED = 80, 30


def planted(n, p, seed=0, strengths=(3.0, 2.5)):
    """Rows with disjoint components of five equal loadings, and unit noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for i, sd in enumerate(strengths):
        X[:, 5 * i : 5 * i + 5] += sd * rng.standard_normal((n, 1)) / np.sqrt(5)
    return pd.DataFrame(X, columns=[f"v{j + 1}" for j in range(p)])


@pytest.fixture
def small(monkeypatch):
    """Let data of 80 columns be large, and 30 of them be tested."""
    monkeypatch.setattr(choosing, "GRAM_ORDER", P - 1)
    monkeypatch.setattr(choosing, "MOST_CELLS", 1000)
    monkeypatch.setattr(choosing, "COLUMNS", TESTED)


def as_dask(X):
    return pytest.importorskip("dask.dataframe").from_pandas(X, npartitions=3)


KINDS = {
    "pieces": lambda X: [X.iloc[:70], X.iloc[70:]],
    "dask": as_dask,
    "frame": lambda X: X,
    "sparse": lambda X: scipy.sparse.csr_array(X.to_numpy()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [False, True])
def test_planted_components_are_counted(small, kind, scale):
    # a third has a chance of .05 in every case: with this seed in none
    rows = KINDS[kind](planted(240, P, 3))
    found = sp.choose_k(rows, kmax=3, sparse_card=5, n_draws=39, scale=scale, rng=3)
    assert (found.k, found.sequential) == (2, 2)
    assert f"Tested were {TESTED} of {P} variables" in found.reason
    assert "Kaiser" not in str(found)
    assert found.kaiser is found.broken_stick is None
    assert len(found.spectrum) == TESTED


@pytest.mark.parametrize("kind", ["pieces", "frame"])
def test_noise_is_rejected_at_the_level(small, kind):
    """Columns chosen and tested in the same rows would show a component in nearly all of these."""
    found = [
        sp.choose_k(KINDS[kind](planted(150, P, seed, ())), kmax=2, sparse_card=5, n_draws=19, rng=seed)
        for seed in range(16)
    ]
    # level .05: five or more of sixteen have probability .001
    assert sum(one.k > 0 for one in found) < 5
    assert sum(one.sequential > 0 for one in found) < 5


def test_a_half_in_memory_is_centred_by_itself_and_scaled_by_all_rows():
    X = planted(101, 12)
    source = choosing.opened(X, None, {"scale": True}, sp.choose_k)[0].source("")
    ones = [half_of(source, half, 5) for half in (0, 1)]
    assert [one.n for one in ones] == [50, 51]
    rows = np.vstack([one.matrix for one in ones])
    np.testing.assert_array_equal(np.sort(rows[:, 0]), np.sort(X["v1"]))
    own = ones[0].matrix / X.std().to_numpy()
    found = ones[0].op.block(np.arange(12)) * ones[0].op.unit ** 2
    np.testing.assert_allclose(found, np.cov(own, rowvar=False), rtol=1e-10, atol=1e-12)


def test_the_number_is_chosen_before_cardinalities_of_many_columns(small):
    choice = sp.choose(KINDS["pieces"](planted(240, P)), cards=[3, 5, 8], kmax=3, n_draws=39)
    assert choice.k == 2
    assert choice.card == 5


def test_refusals(small):
    pieces = KINDS["pieces"](planted(240, P))
    with pytest.raises(OptionError, match="allows 5 in each"):
        sp.choose_k(pieces, kmax=3, sparse_card=6)
    found = sp.choose_k(pieces, kmax=2, sparse_card=5, n_draws=19)
    with pytest.raises(OptionError, match=f"analysis of {TESTED} of {P} variables"):
        sp.spca(planted(240, P), 2, 5).screeplot(parallel=found)


@pytest.mark.slow
def test_more_columns_than_a_covariance_matrix_is_formed_of(monkeypatch):
    monkeypatch.setattr(choosing, "COLUMNS", 200)
    X = planted(400, 3100, strengths=(4.0, 3.6))
    found = sp.choose_k([X.iloc[:250], X.iloc[250:]], kmax=3, sparse_card=5, n_draws=19)
    assert (found.k, found.sequential) == (2, 2)
    assert "Tested were 200 of 3,100 variables" in found.reason
