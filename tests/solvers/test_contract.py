"""The contract that every method of the table keeps: a new one is in here by its line in ``SOLVERS`` alone.

Where a method's own definition excludes a clause, `DECLARED` says why.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
import scipy.sparse as sps
import scipy.special
import scipy.stats

import spcastat as sp
from spcastat.errors import ComponentsError, ConvergenceWarning, NoRowsError, OptionError
from spcastat.fit.method_table import SOLVERS

#: (method, clause) -> why the clause cannot hold for the method as it is defined.
DECLARED: dict[tuple[str, str], str] = {
    ("joint", "status"): "it ends by what it has seen: searched",
    ("nspca", "PCA"): "loadings are nonnegative",
    ("rotate", "PCA"): "the components are rotated",
    ("pca-l1", "PCA"): "the l1 variance of the scores is largest, not their variance",
    ("rspca-l0", "PCA"): "the l1 variance of the scores is largest, not their variance",
    ("rspca-l1", "PCA"): "the l1 variance of the scores is largest, not their variance",
    ("rspca-lhalf", "PCA"): "the l1 variance of the scores is largest, and loadings shrink at any number",
    ("rspca-lp", "PCA"): "the l1 variance of the scores is largest, and loadings shrink at any number",
    ("spcagrid", "PCA"): "a robust scale of the scores is largest, not their variance",
    ("alspca", "nothing left"): "loadings keep unit length whatever the penalty",
    ("spcagrid", "nothing left"): "loadings keep unit length whatever the penalty",
    ("nspca", "implied penalty"): "the fit without a penalty is cut to the cardinality",
    ("dspca", "one step fewer"): "the gap is looked at after every tenth step, and after the last allowed",
    ("gpower-l1-block", "one step fewer"): "n_iter counts two iterations, each of max_iter steps at most",
}

#: Methods that search long for a cardinality: their cases are among the slow tests.
SEARCHING = ("alspca",)

K = 2
CARD = (4, 3)
P = 8


def methods(clause: str, among: Callable[[str], bool] = lambda method: True, quick: bool = False) -> Any:
    """Parametrise over the methods for which `clause` is promised."""
    cases = []
    for method in filter(among, SOLVERS):
        if (method, clause) in DECLARED:
            continue
        marks = [pytest.mark.slow] if method in SEARCHING and not quick else []
        cases.append(pytest.param(method, marks=marks))
    return pytest.mark.parametrize("method", cases)


def takes(option: str) -> Callable[[str], bool]:
    return lambda method: option in SOLVERS[method].options


def takes_covariance(method: str) -> bool:
    return SOLVERS[method].solver.needs == "gram"


def sparsity(method: str, card: Any = CARD) -> dict[str, Any]:
    """The option that makes a fit sparse: the cardinality, where the method has it."""
    controls = SOLVERS[method].controls
    return {"card": card} if "card" in controls else {"variance": 0.9} if "variance" in controls else {}


def rows(seed: int = 0, n: int = 40, p: int = P) -> pd.DataFrame:
    """Half-empty rows with two planted directions and different variances: no ties."""
    rng = np.random.default_rng(seed)
    V = np.zeros((p, 2))
    V[: p // 2, 0] = rng.uniform(0.5, 1.0, p // 2)
    V[p // 2 :, 1] = rng.uniform(0.5, 1.0, p - p // 2)
    X = rng.standard_normal((n, 2)) * [4.0, 2.5] @ V.T + rng.standard_normal((n, p))
    return pd.DataFrame(X * (rng.random((n, p)) < 0.9), columns=[f"v{j}" for j in range(p)])


def fitted(method: str, data: Any = None, k: int = K, card: Any = CARD, **options: Any) -> Any:
    given = {**sparsity(method, card), **options}
    return sp.spca(rows() if data is None else data, k, method=method, **given)


@cache
def plain(method: str) -> Any:
    """The fit that most clauses look at."""
    return fitted(method)


def same(fit: Any, other: Any, atol: float = 1e-6) -> None:
    """Assert that two fits agree: the same supports, and loadings to `atol`."""
    np.testing.assert_array_equal(other.card, fit.card)
    np.testing.assert_allclose(other.loadings.to_numpy(), fit.loadings.to_numpy(), atol=atol)


# --- loadings --------------------------------------------------------------------------------------


@methods("unit norm")
def test_loadings_have_unit_length(method):
    V = plain(method).loadings.to_numpy()
    assert V.shape == (P, K)
    np.testing.assert_allclose(np.linalg.norm(V, axis=0), 1.0, rtol=0, atol=1e-14)


@pytest.mark.sweep
@methods("sign")
def test_the_largest_loading_is_positive(method):
    for data in (-rows(), rows() * [1, -1, 1, -1, 1, -1, 1, -1]):
        V = fitted(method, data).loadings.to_numpy()
        assert (V[np.abs(V).argmax(axis=0), range(K)] > 0).all()


@methods("zeros", takes("card"))
def test_zeros_are_exact(method):
    V = plain(method).loadings.to_numpy()
    assert (V == 0).sum() == P * K - sum(CARD)
    assert np.abs(V[V != 0]).min() > 1e-6  # none of the others is rounding


@pytest.mark.sweep
@methods("cardinality", takes("card"))
def test_every_component_has_its_cardinality(method):
    for card in ((1, 1), (4, 3), (2, 6), (7, 5)):
        fit = fitted(method, card=card)
        assert fit.card.tolist() == list(card)
        if "card hit" in fit.details:
            assert fit.details["card hit"].tolist() == [True] * K


@methods("planted", lambda method: "variance" not in SOLVERS[method].controls)
def test_planted_supports_are_found(method):
    # Two blocks of variables, each moved by a factor of its own, and noise of a small part of its size.
    rng = np.random.default_rng(1)
    F = rng.standard_normal((60, 2)) * [4.0, 2.5]
    V = np.kron(np.eye(2), [[1.0], [0.9], [0.8], [0.7]])
    X = pd.DataFrame(F @ V.T + 0.1 * rng.standard_normal((60, P)))
    loadings = fitted(method, X, card=4).loadings.to_numpy()
    np.testing.assert_array_equal(np.abs(loadings) > 0.2, V != 0)


@methods("near the best", takes("card"))
def test_one_component_is_never_above_the_best_subset_and_near_it(method):
    S = rows().cov().to_numpy()
    best = max(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] for J in itertools.combinations(range(P), 3))
    v = fitted(method, k=1, card=3).loadings.to_numpy()[:, 0]
    J = np.flatnonzero(v)
    assert v @ S @ v <= best * (1 + 1e-12)
    # The support is judged: penalties also shrink the loadings on it, to as little as 0.75 of the best here.
    assert np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] >= 0.95 * best


# --- the same from every input ---------------------------------------------------------------------


@pytest.mark.sweep
@methods("inputs")
def test_dense_sparse_and_covariance_agree(method):
    X = rows()
    dense = plain(method)
    sparse = fitted(method, sps.csr_array(X.to_numpy()))
    same(dense, sparse)
    assert sparse.glance()["n_iter"].item() == dense.glance()["n_iter"].item()
    if takes_covariance(method):
        covariance = sp.spca_cov(X.cov(), K, method=method, **sparsity(method))
        same(dense, covariance)
        np.testing.assert_allclose(covariance.variance, dense.variance, rtol=1e-6)
        assert covariance.glance()["n_iter"].item() == dense.glance()["n_iter"].item()
    else:
        with pytest.raises(NoRowsError, match=method):
            sp.spca_cov(X.cov(), K, method=method, **sparsity(method))


@pytest.mark.sweep
@methods("columns permuted")
def test_permuted_columns_permute_the_loadings(method):
    for seed, card in ((1, (3, 5)), (2, 2)):
        X = rows(seed)
        order = np.random.default_rng(seed).permutation(X.columns)
        fit, permuted = fitted(method, X, card=card), fitted(method, X[order], card=card)
        np.testing.assert_allclose(permuted.loadings.loc[X.columns], fit.loadings, atol=1e-6)


@methods("rows permuted")
def test_permuted_rows_change_nothing(method):
    X = rows()
    same(plain(method), fitted(method, X.iloc[np.random.default_rng(0).permutation(len(X))]))


@methods("scaling", takes_covariance)
def test_the_unit_of_a_covariance_matrix_does_not_matter(method):
    """That of rows: tests/fit/test_units.py."""
    for unit in (1e-12, 1e12):
        scaled = sp.spca_cov(rows().cov() * unit**2, K, method=method, **sparsity(method))
        same(plain(method), scaled)
        expected = unit**2 * plain(method).variance["adjusted variance"]
        np.testing.assert_allclose(scaled.variance["adjusted variance"], expected, rtol=1e-6)


@pytest.mark.sweep
@methods("no unit inside", quick=True)
def test_no_method_has_a_number_of_the_size_of_the_data_in_it(method, monkeypatch):
    # Solvers see variances near one. Without that, numbers with a unit would show: a power of two changes no
    # digit of anything that is relative.
    monkeypatch.setattr("spcastat.linalg.operators.unit_of", lambda variance: 1.0)
    priced = any(takes(name)(method) for name in ("penalty", "t", "threshold"))
    units = dict(SOLVERS[method].solver.units)
    searches = method in SEARCHING  # which are asked at a price alone
    for options in (*(() if searches else (sparsity(method),)), *(prices(method)[1:3] if priced else ())):
        fit = sp.spca(rows(), K, method=method, **options)
        for unit in (2.0**-100, 2.0**100):
            turned = dict(options)
            if "penalty" in options:
                turned["penalty"] = options["penalty"] * unit ** units.get("penalty", 0)
            scaled = sp.spca(rows() * unit, K, method=method, **turned)
            # Sums of the same numbers in another order differ by rounding, and ties are resolved to 1e-10;
            # iterations enlarge both, so that unit loadings agree to 1e-8.
            np.testing.assert_allclose(scaled.loadings, fit.loadings, rtol=0, atol=1e-8)
            # An absolute tolerance would end at once, or never; rounding may only move the last steps.
            steps = fit.glance()["n_iter"].item()
            assert abs(scaled.glance()["n_iter"].item() - steps) <= 1 + steps // 50
            power = unit ** units.get("objective", 0)
            assert scaled.objective_value / power == pytest.approx(fit.objective_value, rel=1e-9)
            for name, told in fit.details.items():
                if told.dtype == float:
                    power = unit ** units.get(name, 0)
                    # a gap is the difference of two bounds, with their rounding
                    rounding = 1e-12 * abs(fit.objective_value) if name == "gap" else 0.0
                    np.testing.assert_allclose(scaled.details[name] / power, told, rtol=1e-8, atol=rounding)


@pytest.mark.sweep
@methods("weights")
def test_weights_count_as_repeated_rows(method):
    X = rows()
    weights = np.random.default_rng(3).integers(0, 4, len(X))
    repeated = X.loc[X.index.repeat(weights)].reset_index(drop=True)
    same(fitted(method, repeated), fitted(method, X, weights=weights))


@pytest.mark.sweep
@methods("determinism")
def test_two_runs_are_bit_identical(method):
    more = {"n_init": 3} if takes("n_init")(method) else {}
    first, second = (fitted(method, rng=5, **more) for _ in range(2))
    np.testing.assert_array_equal(first.loadings, second.loadings)
    assert first.objective_value == second.objective_value
    assert first.glance()["n_iter"].item() == second.glance()["n_iter"].item()
    pd.testing.assert_frame_equal(first.details, second.details, check_exact=True)


# --- uncorrelated variables ------------------------------------------------------------------------

# Rows of a factorial design: the columns are orthogonal to the last bit, with variances of 4**j. The axes are
# PCA's loadings, from which methods start, and the sparsest loadings at once.
FACTORIAL = np.array(list(itertools.product([-1.0, 1.0], repeat=4))) * [8.0, 4.0, 2.0, 1.0]

#: What a step is where the start is the solution -> steps for k components of `card` variables.
STEPS: dict[str, Callable[[int, int], int]] = {
    **dict.fromkeys(("threshold", "rotate", "pca", "zou", "spca-os"), lambda k, card: 1),
    **dict.fromkeys(("greedy", "pathspca"), lambda k, card: k * card),
    **dict.fromkeys(
        ("rsvd-l0", "rsvd-l1", "rsvd-scad", "pmd", "gpower-l0", "gpower-l1", "empca", "dspca"),
        lambda k, card: k,
    ),
    **dict.fromkeys(("scotlass", "pca-l1", "controlled"), lambda k, card: k),
}


@methods("uncorrelated", quick=True)
@pytest.mark.parametrize("k", [1, 2])
def test_on_uncorrelated_variables_the_axes_are_found_at_once_and_nothing_moves(method, k):
    exactly = {"tol": 1e-14} if takes("tol")(method) else {}  # nothing moves but by rounding
    fit = fitted(method, FACTORIAL, k, 2, **exactly)
    np.testing.assert_allclose(fit.loadings, np.eye(4)[:, :k], rtol=0, atol=1e-14)
    assert fit.status in ("exact", "converged", "searched")
    taken = fit.glance()["n_iter"].item()
    assert taken == STEPS.get(method, lambda k, card: taken)(k, 2)


# --- equal and dependent variables -----------------------------------------------------------------


def equicorrelated(p: int, r: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose variables all have the correlation r, and the matrix: they differ by rounding alone."""
    rng = np.random.default_rng(17)
    R = (1 - r) * np.eye(p) + r
    Q = np.linalg.qr(np.column_stack([np.ones(40), rng.standard_normal((40, p))]))[0][:, 1:]
    return np.sqrt(39) * Q @ np.linalg.cholesky(R).T, R


def exchangeable() -> np.ndarray:
    """Rows that hold every order of five numbers: whatever the method, no variable differs from another."""
    return np.array(list(itertools.permutations([4.0, 1.0, 0.5, -2.0, -3.0])))


@methods("ties", takes("card"))
def test_of_equal_variables_the_first_is_taken(method):
    for data in (exchangeable(), sps.csr_array(exchangeable())):
        loadings = fitted(method, data, 1, 1).loadings.to_numpy()
        np.testing.assert_array_equal(loadings, np.eye(5)[:, :1])
    if takes_covariance(method):
        loadings = sp.spca_cov(np.eye(5), 2, 1, method=method).loadings
        np.testing.assert_array_equal(loadings, np.eye(5)[:, :2])


def supports_of_equals(method: str, k: int, card: int, p: int, r: float) -> list[Any]:
    """The supports that rows, sparse rows, other units and the matrix of equal correlations give."""
    X, R = equicorrelated(p, r)
    more = {"max_iter": 500} if takes("max_iter")(method) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the same path is taken, whether it ends or not
        fits = [fitted(method, data, k, card, **more) for data in (X, sps.csr_array(X), X[::-1] * 1e3)]
        fits.append(sp.spca_cov(R, k, card, method=method, **more))
    # A loading that deflation makes zero but for rounding counts as one.
    return [np.abs(fit.loadings.to_numpy()) > 1e-9 for fit in fits]


@pytest.mark.sweep
@methods("rounding of ties", lambda method: takes("card")(method) and takes_covariance(method))
def test_rounding_does_not_choose_among_equals(method):
    for p, r in ((4, 0.8), (5, 0.3)):
        for card in (1, 3):
            for support in supports_of_equals(method, 1, card, p, r):
                assert np.flatnonzero(support).tolist() == list(range(card))


def tied() -> dict[str, np.ndarray]:
    """Rows of which several variables, or all variances, are equal up to rounding."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((40, 5))
    X[:, 1] += X[:, 0]
    X[:, 2] += 0.7 * X[:, 0]
    X[:, 4] += X[:, 3]
    return {
        "duplicated": np.column_stack([X, X[:, [1, 3]]]),
        "identity": equicorrelated(5, 0.0)[0],
        "pitprops": sp.datasets.pitprops_sample(40).to_numpy(),
    }


#: Why rounding may choose among fits of tied data.
OPEN = {
    ("joint", "identity"): "of fits that are equally good, the first that the search meets is kept",
    ("alspca", "duplicated"): "its inner iteration rests near a saddle; its last bits decide when it leaves",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", tied())
@pytest.mark.parametrize("method", SOLVERS)
def test_noise_of_some_roundings_chooses_no_support(method, name):
    if (method, name) in OPEN:
        pytest.xfail(OPEN[method, name])
    X = tied()[name]
    noise = 1.0 + np.random.default_rng(1).uniform(-1e-14, 1e-14, X.shape)
    for k, card in ((1, 3), (2, 2)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fits = [fitted(method, data, k, card) for data in (X, sps.csr_array(X), X * noise)]
            if takes_covariance(method):
                S = np.cov(X.T)
                once = 1.0 + np.random.default_rng(0).uniform(-1e-14, 1e-14, S.shape)
                fits += [
                    sp.spca_cov(one, k, method=method, **sparsity(method, card))
                    for one in (S, S * 0.5 * (once + once.T))
                ]
        for other in fits[1:]:
            np.testing.assert_array_equal(other.loadings != 0, fits[0].loadings != 0)


@pytest.mark.sweep
@methods("ties of later components", lambda method: takes("card")(method) and takes_covariance(method))
def test_rounding_does_not_choose_for_later_components(method):
    for p, r, card in ((4, 0.8, 1), (5, 0.3, 3)):
        first, *others = supports_of_equals(method, 2, card, p, r)
        for support in others:
            np.testing.assert_array_equal(support, first)


@pytest.mark.sweep
@methods("duplicates", takes("card"))
def test_of_a_variable_and_its_copy_the_first_is_taken(method):
    X = rows()
    top = X.var().idxmax()
    for place in (0, P):
        twice = X.copy()
        twice.insert(place, "copy", X[top])
        first = next(name for name in twice if name in (top, "copy"))
        for data in (twice, sps.csr_array(twice.to_numpy())):
            v = fitted(method, data, 1, 1).loadings.to_numpy()[:, 0]
            assert np.flatnonzero(v).tolist() == [list(twice).index(first)]
        pair = fitted(method, twice, 1, 5).loadings.loc[[top, "copy"], "PC1"]
        assert pair[first] > 0
        # Both at the same size, or the first alone. The angles of a grid are of 5e-3 apart where it ends.
        assert np.ptp(pair) <= (1e-2 if method == "spcagrid" else 1e-6) or pair.min() == 0


@pytest.mark.sweep
@methods("rank")
def test_dependent_and_constant_variables(method):
    X = rows(15, 40, 4)
    X = X.assign(same=X["v0"], constant=3.0, sum=X["v1"] + X["v2"])
    for k in (1, 4):
        fit = fitted(method, X, k, 2)
        V = fit.loadings
        np.testing.assert_allclose((V**2).sum(), 1.0, atol=1e-12)
        assert (V.loc["constant"].abs() <= 1e-12).all()
        shares = fit.variance[["cumulative adjusted", "cumulative PEV", "cumulative least squares"]]
        assert (shares.le(fit.variance["cumulative PCA"] + 1e-10, axis=0)).all(axis=None)
    with pytest.raises(ComponentsError, match="rank 4; ask for at most 4"):
        fitted(method, X, 5, 2)


@methods("more variables than rows")
def test_more_variables_than_rows(method):
    X = rows(4, 6, 10)
    fit = fitted(method, X)
    np.testing.assert_allclose(np.linalg.norm(fit.loadings, axis=0), 1.0, atol=1e-12)
    same(fit, fitted(method, sps.csr_array(X.to_numpy())))


@pytest.mark.parametrize("method", ["bcd-l0", "greedy", "pathspca", "rsvd-l1", "gpower-l1", "pmd", "empca"])
def test_wide_rows_whose_covariance_matrix_is_not_formed(method):
    X = rows(5, 30, 410)
    dense = fitted(method, X, card=5)
    same(dense, fitted(method, sps.csr_array(X.to_numpy()), card=5))
    same(dense, sp.spca_cov(X.cov(), K, 5, method=method))


@methods("one variable")
def test_one_variable(method):
    fit = fitted(method, rows()[["v0"]], 1, 1)
    assert fit.loadings.to_numpy().tolist() == [[1.0]]
    assert fit.measure("pev") == pytest.approx(1.0, abs=1e-14)


# --- what it says of itself ------------------------------------------------------------------------


@methods("PCA")
def test_full_cardinality_is_pca(method):
    options = {"variance": 1.0} if SOLVERS[method].controls == ("variance",) else {}
    fit = fitted(method, card=P, **options)
    V = np.linalg.eigh(rows().cov())[1][:, ::-1][:, :K]
    np.testing.assert_allclose(np.abs(fit.loadings.T @ V), np.eye(K), atol=1e-5)


def prices(method: str) -> list[dict[str, Any]]:
    """Values of the option that makes a method sparse by something else than a number, the laxest first."""
    controls = SOLVERS[method].controls
    if "t" in controls:
        return [{"t": bound} for bound in (P**0.5, 2.2, 1.6, 1.0)]
    if "threshold" in controls:
        levels = (0.0, 0.2, 0.6, 0.85) if method == "rotate" else (0.0, 0.1, 0.3, 0.42)  # of correlations
        return [{"threshold": level} for level in levels]
    # In the method's own units: shares of the penalty that leaves three, or of the largest standard deviation
    # where a method does not price a cardinality.
    largest = float(plain_one(method).details["penalty"].iloc[0]) or 3.2
    return [{"penalty": share * largest} for share in (0.0, 0.2, 0.6, 1.0)]


@cache
def plain_one(method: str) -> Any:
    return fitted(method, k=1, card=3)


def natural(method: str, options: dict[str, Any], k: int = 1, **more: Any) -> Any:
    return sp.spca(rows(), k, method=method, **options, **more)


@methods("penalty", lambda method: any(takes(name)(method) for name in ("penalty", "t", "threshold")))
def test_a_higher_price_leaves_fewer_loadings(method):
    fits = [natural(method, options) for options in prices(method)]
    cards = [int(fit.card.iloc[0]) for fit in fits]
    assert cards == sorted(cards, reverse=True)
    assert cards[0] == P or not takes_covariance(method)  # a robust scale may be largest without a variable
    assert cards[0] > cards[-1]


@methods("implied penalty", takes("penalty"))
def test_the_penalty_that_a_cardinality_implies_gives_that_fit(method):
    fit = plain_one(method)
    if bool(fit.details.get("by penalty", pd.Series([True])).iloc[0]):
        again = natural(method, {"penalty": float(fit.details["penalty"].iloc[0])})
        # The penalty is the one at which the next variable enters, and iterations from other starts reach
        # it to their tolerance (1e-4 of the largest eigenvalue for a relaxation: some 1e-3 in loadings).
        np.testing.assert_allclose(again.loadings, fit.loadings, atol=5e-3)


def counted(method: str) -> list[dict[str, Any]]:
    """Fits of one component that end by themselves after some steps, without a search among fits."""
    return prices(method)[1:3] if {"t", "penalty"} & {*SOLVERS[method].controls} else [sparsity(method, 3)]


@methods("nothing left", takes("penalty"))
def test_a_penalty_that_leaves_nothing_is_refused(method):
    with pytest.raises(OptionError, match="leaves no nonzero loading in component 1"):
        sp.spca_cov(rows().corr(), K, method=method, penalty=0.99 if "block" in method else 50.0)


@methods("steps", takes("max_iter"))
def test_as_many_steps_as_were_taken_are_enough(method):
    for options in counted(method):
        fit = natural(method, options)
        assert fit.status == "converged"
        taken = fit.glance()["n_iter"].item()
        enough = natural(method, options, max_iter=taken)
        np.testing.assert_array_equal(enough.loadings, fit.loadings)
        assert (enough.status, enough.glance()["n_iter"].item()) == ("converged", taken)


@methods("one step fewer", takes("max_iter"))
def test_one_step_fewer_is_too_few_and_says_so(method):
    for options in counted(method):
        steps = natural(method, options).glance()["n_iter"].item()
        if steps > 1:
            with pytest.warns(ConvergenceWarning, match=method):
                fewer = natural(method, options, max_iter=steps - 1)
            assert (fewer.status, fewer.converged) == ("max_iter", False)
            assert fewer.glance()["n_iter"].item() == steps - 1


@methods("status", lambda method: not takes("max_iter")(method))
def test_what_does_not_iterate_has_nothing_to_stop(method):
    fit = plain(method)
    assert fit.status == ("converged" if takes("sweeps")(method) else "exact")
    assert fit.converged


# --- the objective, by other means -----------------------------------------------------------------


def deflated(X: np.ndarray, V: np.ndarray) -> list[np.ndarray]:
    """The rows on which each component was sought: projected off those before, one after another."""
    views = [X - X.mean(axis=0)]
    for v in V.T[:-1]:
        views.append(views[-1] - np.outer(views[-1] @ v, v))
    return views


def adjusted(fit: Any, X: np.ndarray, S: np.ndarray, V: np.ndarray) -> float:
    R = np.linalg.qr((X - X.mean(axis=0)) @ V)[1]
    return float((np.diag(R) ** 2).sum() / (len(X) - 1))


def variances(fit: Any, X: np.ndarray, S: np.ndarray, V: np.ndarray) -> float:
    return float(np.var(X @ V, axis=0, ddof=1).sum())


def residual(fit: Any, X: np.ndarray, S: np.ndarray, V: np.ndarray) -> float:
    left = (X - X.mean(axis=0)).T - V @ np.linalg.lstsq(V, (X - X.mean(axis=0)).T, rcond=None)[0]
    return float((left**2).sum() / (len(X) - 1))


def price(fit: Any, V: np.ndarray) -> np.ndarray:
    return fit.details["penalty"].to_numpy(dtype=float) * np.abs(V).sum(axis=0)


def penalised_variance(fit: Any, X: np.ndarray, S: np.ndarray, V: np.ndarray) -> float:
    return variances(fit, X, S, V) - float(price(fit, V).sum())


def elastic_net(fit: Any, X: np.ndarray, S: np.ndarray, V: np.ndarray) -> float:
    """|X - XWA'|^2 + ridge |W|^2 + sum penalty |w|, minimised over the lengths of W and orthonormal A."""
    ridge = 1e-6 * np.trace(S) / P  # what None stands for where S has full rank
    lengths = np.ones(K)
    for _ in range(500):
        left, _, right = np.linalg.svd(S @ V * lengths, full_matrices=False)
        A = left @ right
        lengths = (np.diag(V.T @ S @ A) - price(fit, V) / 2) / (np.diag(V.T @ S @ V) + ridge)
    W = V * lengths
    E = np.eye(P) - W @ A.T
    return float(np.trace(E.T @ S @ E) + ridge * (W**2).sum() + lengths @ price(fit, V))


def scoring(fit: Any, X: np.ndarray, S: np.ndarray, V: np.ndarray) -> float:
    """|Y - XW|^2 / 2 + ridge |W|^2 / 2 + sum penalty |w|, minimised over the lengths of W and Y'Y = I."""
    Z = (X - X.mean(axis=0)) / np.sqrt(len(X) - 1)
    ridge = np.trace(S) / P
    lengths = np.ones(K)
    for _ in range(500):
        left, _, right = np.linalg.svd(Z @ V * lengths, full_matrices=False)
        Y = left @ right
        lengths = (np.diag(V.T @ Z.T @ Y) - price(fit, V)) / (np.diag(V.T @ S @ V) + ridge)
    W = V * lengths
    return float(((Y - Z @ W) ** 2).sum() / 2 + ridge * (W**2).sum() / 2 + lengths @ price(fit, V))


def nonnegative(fit: Any, X: np.ndarray, S: np.ndarray, V: np.ndarray) -> float:
    """tr(V'SV) / 2 - orthonormality |I - V'V|^2 / 4, maximised over the lengths of the columns."""
    alpha = np.linalg.eigvalsh(S)[-1]

    def loss(lengths: np.ndarray) -> float:
        W = V * lengths
        return float(alpha * ((np.eye(K) - W.T @ W) ** 2).sum() / 4 - np.trace(W.T @ S @ W) / 2)

    return -float(scipy.optimize.minimize(loss, np.ones(K), tol=1e-12).fun)


def mean_absolute_scores(fit: Any, X: np.ndarray, S: np.ndarray, V: np.ndarray) -> float:
    return float(sum(np.abs(view @ v).mean() for view, v in zip(deflated(X, V), V.T, strict=True)))


def squared_deviations(fit: Any, X: np.ndarray, S: np.ndarray, V: np.ndarray) -> float:
    mad = scipy.stats.median_abs_deviation
    return float(sum(mad(view @ v, scale="normal") ** 2 for view, v in zip(deflated(X, V), V.T, strict=True)))


#: Beginning of the criterion -> how it is computed from the rows and the loadings that the fit gives.
CRITERIA: dict[str, Callable[..., float]] = {
    "adjusted variance": adjusted,
    "variance of the components": variances,
    "residual variance": residual,
    "penalised residual variance": elastic_net,
    "penalised residual |Y - XW|^2 / 2": scoring,
    "penalised variance": penalised_variance,
    "tr(V'SV) / 2 - orthonormality": nonnegative,
    "l1 variance": mean_absolute_scores,
    "squared scales": squared_deviations,
}


@methods("objective")
def test_the_objective_is_that_of_the_loadings(method):
    criterion = SOLVERS[method].solver.criterion
    computed = [how for beginning, how in CRITERIA.items() if criterion.startswith(beginning)]
    assert len(computed) == 1, f"a line in CRITERIA must say how {criterion!r} is computed"
    fit, X = plain(method), rows().to_numpy()
    value = computed[0](fit, X, np.cov(X, rowvar=False), fit.loadings.to_numpy())
    # A criterion that is minimised over something else, too, is reached to its square: tol is 1e-7 at most.
    assert fit.objective_value == pytest.approx(value, rel=1e-6)


#: Methods whose steps never lose, by their papers: how they are called, and where the criterion goes.
PROMISES: list[tuple[str, dict[str, Any], int, int]] = [
    ("bcd-l0", {"card": 3}, 3, -1),
    ("bcd-l0", {"card": 3, "nonneg": True}, 3, -1),
    ("bcd-l1", {"t": 1.5}, 3, -1),
    ("bcd-l1", {"t": 1.5, "nonneg": True}, 3, -1),
    ("zou", {"penalty": 1.0}, 3, -1),
    ("spca-os", {"penalty": 0.2}, 3, -1),
    ("nspca", {"penalty": 0.1}, 3, 1),
    ("pmd", {"t": 1.5}, 1, 1),
    ("scotlass", {"t": 1.5}, 1, 1),
    ("rspca-l0", {"card": 3}, 1, 1),
    ("rspca-l1", {"t": 1.5}, 1, 1),
    ("pca-l1", {}, 1, 1),
]


@pytest.mark.parametrize(("method", "options", "k", "direction"), PROMISES)
def test_steps_never_lose_where_that_is_promised(method, options, k, direction):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((30, 8)) @ rng.standard_normal((8, 8))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fits = [sp.spca(X, k, method=method, max_iter=steps, **options) for steps in range(1, 9)]
        values = np.array([fit.objective_value for fit in fits])
        assert (direction * np.diff(values)).min() >= -1e-12 * np.abs(values).max()


@methods("no warning")
def test_no_warning_leaks(method):
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        for data in (rows() * [1e-6, 1, 1, 1, 1, 1, 1, 1e6], rows(2) + 1e6):
            fit = fitted(method, data, 1, 2, scale=False)
            assert fit.converged or [one.category for one in caught] == [ConvergenceWarning]
    assert [str(one.message) for one in caught if one.category is not ConvergenceWarning] == []
