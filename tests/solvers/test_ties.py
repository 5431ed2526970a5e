"""Every method of the table: ties never depend on rounding, and without them the order of columns is free.

Values within 1e-10 relative are equal and the lowest index wins. The tied data have exactly equal entries in
exact arithmetic; perturbing them by 1e-14, or computing S from rows, sparse rows or beforehand, changes
last bits alone, and so may change no support.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.sparse as sps

import spcastat as sp
from spcastat.errors import ConvergenceWarning
from spcastat.fit.method_table import SOLVERS
from spcastat.linalg.ties import levelled, ranked

ROWS = 40


def equicorrelated(p: int, r: float) -> np.ndarray:
    return r + (1.0 - r) * np.eye(p)


def rows_of(S: np.ndarray) -> np.ndarray:
    """Return rows whose covariance matrix is S up to rounding."""
    rng = np.random.default_rng(17)
    Q = np.linalg.qr(np.column_stack([np.ones(ROWS), rng.standard_normal((ROWS, len(S)))]))[0][:, 1:]
    values, vectors = np.linalg.eigh(S)
    return np.sqrt(ROWS - 1) * Q @ (vectors * np.sqrt(values.clip(min=0.0))).T


def duplicated() -> np.ndarray:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((ROWS, 5))
    X[:, 1] += X[:, 0]
    X[:, 2] += 0.7 * X[:, 0]
    X[:, 4] += X[:, 3]
    X = np.column_stack([X, X[:, [1, 3]]])
    return X - X.mean(axis=0)


def untied(seed: int) -> np.ndarray:
    """Return rows with two planted directions and different variances."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 9))
    X[:, :5] += rng.standard_normal((50, 1)) * [4.0, 3.5, 3.0, 2.5, 2.0]
    X[:, 4:] += rng.standard_normal((50, 1)) * [1.0, 2.8, 2.4, 2.1, 1.8]
    return X


PITPROPS = sp.datasets.load_pitprops().to_numpy()
EXACT = {"equicorrelated": equicorrelated(5, 0.5), "identity": np.eye(5), "pitprops": PITPROPS}
TIED = {name: rows_of(S) for name, S in EXACT.items()} | {"duplicated": duplicated()}


#: All supports are equally good where no variables are correlated: rounding chooses among their kinds.
OPEN = {("joint", "identity")}


def options(method: str, card: int | list[int]) -> dict[str, Any]:
    return {"card": card} if "card" in SOLVERS[method].options else {}


def fit(data: Any, k: int, method: str, card: int | list[int], covariance: bool = False) -> Any:
    call = sp.spca_cov if covariance else sp.spca
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return call(data, k, method=method, **options(method, card))


def supports(fitted: Any) -> list[tuple[int, ...]]:
    return [tuple(np.flatnonzero(column).tolist()) for column in fitted.loadings.to_numpy().T]


def variants(method: str, name: str, k: int, card: int) -> list[Any]:
    """Return fits of data that differ by rounding."""
    X = TIED[name]
    fits = [fit(X, k, method, card), fit(sps.csr_array(X), k, method, card)]
    noise = np.random.default_rng(1).uniform(-1e-14, 1e-14, X.shape)
    fits.append(fit(X * (1.0 + noise), k, method, card))
    if SOLVERS[method].solver.needs == "gram":
        S = EXACT.get(name, np.cov(X.T))
        fits.append(fit(S, k, method, card, covariance=True))
        for seed in range(2):
            noise = np.random.default_rng(seed).uniform(-1e-14, 1e-14, S.shape)
            fits.append(fit(S * (1.0 + 0.5 * (noise + noise.T)), k, method, card, covariance=True))
    return fits


@pytest.mark.slow
@pytest.mark.parametrize("name", TIED)
@pytest.mark.parametrize("method", SOLVERS)
def test_rounding_chooses_no_support(method: str, name: str) -> None:
    if (method, name) in OPEN:
        pytest.xfail("of fits that are equally good, the first that the search meets is kept")
    if (method, name) == ("alspca", "duplicated"):
        pytest.xfail("its inner iteration rests near a saddle and leaves it, or not, by its last bits")
    for k, card in ((1, 3), (2, 2)):
        found = [supports(one) for one in variants(method, name, k, card)]
        assert all(one == found[0] for one in found), (k, card, found)


@pytest.mark.parametrize("method", SOLVERS)
def test_of_equal_variables_the_first_is_taken(method: str) -> None:
    # the identity is a tie of variances; of other scales its rows have none
    if "card" in SOLVERS[method].options and SOLVERS[method].solver.needs == "gram":
        assert supports(fit(rows_of(np.eye(5)), 1, method, 1)) == [(0,)]


@pytest.mark.slow
@pytest.mark.parametrize("method", SOLVERS)
def test_nonzeros_are_as_asked_for_or_the_fit_says_so(method: str) -> None:
    X = untied(5)
    if "card" not in SOLVERS[method].options:
        pytest.skip("takes no cardinality")
    for data, cards in ((X, (3, [4, 2])), (TIED["identity"], (3,))):
        for card in cards:
            found = fit(data, 2, method, card)
            asked = np.array(card) * np.ones(2, dtype=int)
            hit = found.card.to_numpy() == asked if isinstance(card, list) else found.card.to_numpy() == card
            if not found.details.empty:
                np.testing.assert_array_equal(found.details["card hit"], hit)
            else:
                assert hit.all()
            assert ("Cardinality missed" in str(found)) == (not hit.all())
            if data is X and method not in MAY_MISS:
                assert hit.all()


#: Nonnegative and orthogonal loadings: neither need exist with so many nonzeros.
MAY_MISS = ("nspca", "scotlass")


@pytest.mark.parametrize("seed", range(4))
def test_nonnegative_fits_do_not_depend_on_the_order_of_correlated_columns(seed: int) -> None:
    """All variances of a correlation matrix tie; its loadings do not."""
    rng = np.random.default_rng(seed)
    R = np.corrcoef((rng.standard_normal((60, 12)) @ (np.eye(12) + 0.5 * rng.standard_normal((12, 12)))).T)
    here = fit(R, 3, "nspca", 4, covariance=True).loadings.to_numpy()
    for other in range(3):
        order = np.random.default_rng(other).permutation(12)
        there = fit(R[np.ix_(order, order)], 3, "nspca", 4, covariance=True).loadings.to_numpy()
        np.testing.assert_allclose(there, here[order], atol=1e-5)  # sweeps end at changes of 1e-7


def test_ranked_orders_ties_by_the_other_keys_and_then_by_index() -> None:
    values = np.array([1.0, 2.0 * (1 + 1e-12), 2.0, 1.0 + 1e-13, 3.0])
    np.testing.assert_array_equal(ranked(values), [4, 1, 2, 0, 3])
    np.testing.assert_array_equal(ranked(values, np.array([0.0, 1.0, 5.0, 7.0, 0.0])), [4, 2, 1, 3, 0])
    assert ranked(np.empty(0)).size == 0


def test_levelled_makes_equal_what_ties_and_zero_what_is_rounding() -> None:
    V = levelled(np.array([[1.0, -1.0 - 1e-14, 1e-16, 0.5]]).T)[:, 0]
    assert V[0] == -V[1]
    assert V[2] == 0.0
    assert V[3] == 0.5


# --- equal ----------------------------------------------------------------------------------------------


#: The method that test_contract.py tries with its slow tests only.
METHODS = ("alspca",)


@pytest.mark.parametrize("method", METHODS)
def test_of_equal_variables_the_first_are_taken(method: str) -> None:
    np.testing.assert_array_equal(sp.spca_cov(np.eye(5), 2, 1, method=method).loadings, np.eye(5)[:, :2])


@pytest.mark.parametrize("method", METHODS)
def test_rounding_does_not_choose_the_supports(method: str) -> None:
    # rows with exactly equal correlations: dense, sparse and covariance input differ by rounding alone
    rng = np.random.default_rng(17)
    R = 0.5 * np.eye(5) + 0.5
    Q = np.linalg.qr(np.column_stack([np.ones(40), rng.standard_normal((40, 5))]))[0][:, 1:]
    X = np.sqrt(39) * Q @ np.linalg.cholesky(R).T
    fits = [sp.spca(X, 1, 2, method=method), sp.spca(scipy.sparse.csr_array(X), 1, 2, method=method)]
    fits.append(sp.spca_cov(R, 1, 2, method=method))
    for fit in fits:
        np.testing.assert_array_equal(np.flatnonzero(fit.loadings), [0, 1])


@pytest.mark.parametrize("method", METHODS)
def test_a_dependent_and_a_constant_variable(method: str) -> None:
    X = pd.DataFrame(
        np.random.default_rng(15).standard_normal((40, 4)) * [1.0, 2.0, 3.0, 1.5], columns=[*"abcd"]
    )
    X = X.assign(same=X["b"], constant=3.0, sum=X["b"] + X["c"])
    fit = sp.spca(X, 2, 3, method=method)
    V = fit.loadings.to_numpy()
    assert np.isfinite(V).all()
    np.testing.assert_allclose(np.linalg.norm(V, axis=0), 1.0)
    assert fit.loadings.loc["constant"].abs().max() < 1e-12
    # the unit of the data does not matter
    np.testing.assert_allclose(sp.spca(X * 1e-6, 2, 3, method=method).loadings, V, atol=1e-4)


@pytest.mark.parametrize("method", ["zou", "spca-os", "scotlass", "dspca", "alspca", "nspca"])
def test_one_variable(method: str) -> None:
    X = sp.datasets.make_hastie(n=20)[["X1"]]
    assert sp.spca(X, 1, 1, method=method).loadings.to_numpy().tolist() == [[1.0]]
