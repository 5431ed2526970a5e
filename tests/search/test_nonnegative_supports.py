"""Few supports: nonnegative fits are as good as an enumeration by NumPy and SciPy alone."""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import spcastat as sp


def pev(S: np.ndarray, V: np.ndarray) -> float:
    """The share of the total variance of the projection on the columns of V."""
    basis, sizes, _ = np.linalg.svd(V, full_matrices=False)
    basis = basis[:, sizes > 1e-9 * sizes[0]]
    return float(np.trace(basis.T @ S @ basis) / np.trace(S))


def ascended(S: np.ndarray, supports, rng: np.random.Generator) -> np.ndarray:
    """The end of an ascent by SciPy from random nonnegative loadings on given supports."""
    rows, owner = np.concatenate(supports), np.repeat(np.arange(len(supports)), list(map(len, supports)))
    V = np.zeros((len(S), len(supports)))

    def lost(x: np.ndarray) -> tuple[float, np.ndarray]:
        V[rows, owner] = x
        H = np.linalg.pinv(V.T @ V, rcond=1e-12)
        N = H @ V.T @ S @ V
        return -float(np.trace(N)), -2.0 * ((S @ V - V @ N) @ H)[rows, owner]

    start = rng.exponential(size=len(rows))
    bounds = [(1e-9, None)] * len(rows)
    options = {"ftol": 1e-14, "gtol": 1e-9}
    V[rows, owner] = minimize(lost, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return V / np.linalg.norm(V, axis=0)


@pytest.mark.parametrize("seed", [3, 6, 7])  # block coordinate descent misses the best of all three
def test_no_choice_of_few_supports_is_better(seed):
    rng = np.random.default_rng(seed)
    p, k = 5, 2 if seed % 2 else 3
    card = [int(c) for c in rng.integers(1, 4 if k == 2 else 3, size=k)]
    X = rng.standard_normal((30, p)) @ rng.standard_normal((p, p))
    S = np.cov(X.T)
    fit = sp.spca_cov(S, k, card, nonneg=True)
    V = fit.loadings.to_numpy()
    assert (V >= 0).all()
    assert sorted(np.count_nonzero(V, axis=0)) <= sorted(card)
    found = pev(S, V)
    assert fit.measure("pev") == pytest.approx(found, rel=1e-6)
    for supports in product(*(combinations(range(p), c) for c in card)):
        union = sorted(set().union(*supports))  # no loadings there have more than the leading eigenvectors
        bound = np.linalg.eigvalsh(S[np.ix_(union, union)])[-k:].sum() / np.trace(S)
        for _ in range(2 if bound > found * (1.0 + 1e-6) else 0):
            other = ascended(S, [np.array(support) for support in supports], rng)
            # components that become equal rise without an end
            if np.linalg.eigvalsh(other.T @ other)[0] > 1e-4:
                assert pev(S, other) <= found * (1.0 + 1e-6)


def test_a_method_that_is_named_ends_as_published_and_the_default_never_below_it():
    R = sp.datasets.load_pitprops()
    values = []
    for name in (None, "bcd-l0"):
        fit = sp.spca_cov(R, 3, [2, 2, 1], method=name, nonneg=True)
        values.append(fit.measure("pev"))
    assert values[0] >= values[1]
    fit = sp.spca_cov(R, 2, 2, nonneg=True)
    assert fit.status == "compared"
    assert "every choice of supports" in str(fit)
    assert "starts" not in fit.summary().as_text().split("Status")[1].split("Loadings")[0]
    assert sp.spca_cov(R, 2, 2, nonneg=True, method="bcd-l0").status == "converged"
    # more than 20,000 choices: 1,287 supports of each component
    assert sp.spca_cov(R, 2, 5, nonneg=True).status == "converged"


def nearly_equal(weights: np.ndarray) -> tuple[pd.DataFrame, float]:
    """A covariance matrix, and the largest PEV of two nonnegative components of two variables.

    Of the loadings (c, a, 0) and (c, 0, b), for small a and b, the sum is the first variable and the
    difference a contrast of the two others, which have a negative correlation. So the supremum is the
    variance of the first and that of the contrast.
    """
    S = np.zeros((4, 4))
    S[0, 0], S[3, 3] = 3.0, 0.1
    S[1:3, 1:3] = np.outer(weights, weights) * [[1.0, -0.95], [-0.95, 1.0]]
    values = np.linalg.eigvalsh(S[1:3, 1:3])
    return pd.DataFrame(S), float((3.0 + values[1]) / np.trace(S))


@pytest.mark.parametrize("seed", range(3))
def test_the_supremum_of_components_that_become_equal(seed):
    S, supremum = nearly_equal(np.random.default_rng(seed).uniform(0.7, 1.3, 2))
    fit = sp.spca_cov(S, 2, 2, nonneg=True, scale=False)
    # of loadings that differ by 1e-6, the contrast has that share of the error
    assert supremum - 3e-6 <= fit.measure("pev") <= supremum + 1e-9
    assert (fit.loadings >= 0).all(axis=None)


@pytest.mark.parametrize("seed", [9, 15])
def test_one_variable_beside_nearly_equal_components(seed):
    """No other variable in its place is better: what each adds beside equal components is mostly rounding."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 5)) @ rng.standard_normal((5, 5))
    card = rng.integers(1, 5, 3).tolist()
    S = np.cov(X.T)
    fit = sp.spca_cov(S, 3, card, nonneg=True, scale=False)
    supports = [np.flatnonzero(v) for v in fit.loadings.to_numpy().T]
    single = min(range(3), key=lambda i: len(supports[i]))
    for j in range(5):
        supports[single] = np.array([j])
        other = pev(S, ascended(S, supports, rng))
        # ascents towards components that become equal end up to 1.3e-4 below the limit, by rounding
        assert fit.measure("pev") >= other * (1.0 - 3e-4)


def value(S: np.ndarray, V: np.ndarray, objective: str) -> float:
    """An objective as a share of the total variance, from scores with the covariance matrix S."""
    values, vectors = np.linalg.eigh(S)
    rows = (vectors * np.sqrt(values.clip(0.0))).T
    basis, triangle = np.linalg.qr(rows @ (V / np.linalg.norm(V, axis=0)))
    explained = np.diag(triangle) ** 2 if objective == "adjusted" else np.sum((rows.T @ basis) ** 2, axis=0)
    return float(explained.sum() / np.trace(S))


@pytest.mark.sweep
@pytest.mark.parametrize("objective", ["adjusted", "least_squares"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_choice_of_few_supports_has_a_larger_value_of_another_objective(objective, seed):
    """The first score explains before the second, so that supports count in both orders."""
    rng = np.random.default_rng(seed)
    S = np.cov((rng.standard_normal((30, 4)) + rng.standard_normal((30, 1))).T)
    fit = sp.spca_cov(S, 2, 3, nonneg=True, scale=False, objective=objective)
    V = fit.loadings.to_numpy()
    assert fit.status == "compared"
    assert (V >= 0).all()
    assert (np.count_nonzero(V, axis=0) <= 3).all()
    found = value(S, V, objective)
    assert fit.measure(objective) == pytest.approx(found, abs=1e-7)
    for supports in product(combinations(range(4), 3), repeat=2):
        inside = np.zeros((4, 2), dtype=bool)
        inside[list(supports[0]), 0] = inside[list(supports[1]), 1] = True

        def lost(x, inside=inside):
            other = np.zeros((4, 2))
            other[inside] = x
            return -value(S, other, objective)

        for _ in range(2):
            end = minimize(lost, rng.exponential(size=6), method="L-BFGS-B", bounds=[(1e-9, None)] * 6)
            # SciPy's differences have half of the digits
            assert -end.fun <= found + 1e-6


def test_two_components_may_become_equal_but_for_their_best_contrast():
    """The limit of two components that become equal is the plane of the common part and of the difference.

    The difference is positive on variables of the first component alone, negative on those of the second
    alone, and of any sign where the common part is positive.
    """
    rng = np.random.default_rng(6)
    S = 3.0 * rng.standard_normal((30, 2)) @ rng.standard_normal((2, 5)) + rng.standard_normal((30, 5))
    S = np.cov(S.T)
    found = sp.spca_cov(S, 2, 3, nonneg=True, scale=False).measure("pev")
    best = 0.0
    for first, second in product(combinations(range(5), 3), repeat=2):
        common = [j for j in first if j in second]
        signs = [(None if j in second else 0.0, None if j in first else 0.0) for j in range(5)]
        union = sorted({*first, *second})

        def lost(x, common=common, union=union):
            plane = np.zeros((5, 2))
            plane[common, 0], plane[union, 1] = x[: len(common)], x[len(common) :]
            return -pev(S, plane)

        bounds = [(1e-9, None)] * len(common) + [signs[j] for j in union]
        for _ in range(2):
            start = [*rng.exponential(size=len(common)), *rng.standard_normal(len(union))]
            best = max(best, -minimize(lost, start, method="L-BFGS-B", bounds=bounds).fun)
    # loadings that differ by 1e-6 are that near to the limit; SciPy's differences have half of the digits
    assert found == pytest.approx(best, abs=1e-5)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", [3, 4])
def test_three_components_may_become_equal_but_for_their_best_contrasts(seed):
    """The limit of components c + e a_i is the space of c and of the differences of the a_i.

    Here each component has two common variables, where c is positive, and one of its own, where a_i is.
    """
    rng = np.random.default_rng(seed)
    S = np.cov((rng.standard_normal((15, 5)) * np.exp(rng.normal(0.0, 0.5, 5))).T)
    found = sp.spca_cov(S, 3, 3, nonneg=True, scale=False).measure("pev")
    best = 0.0
    for common in combinations(range(5), 2):
        own = [j for j in range(5) if j not in common]

        def lost(x, common=common, own=own):
            space = np.zeros((5, 3))
            space[common, 0] = x[:2]
            space[common, 1:] = x[2:6].reshape(2, 2)
            space[own[:2], [1, 2]] = x[6:8]
            space[own[2], 1:] = -x[8]
            return -pev(S, space)

        bounds = [(1e-6, None)] * 2 + [(None, None)] * 4 + [(0.0, None)] * 3
        for _ in range(5):
            start = np.append(rng.standard_normal(6), rng.exponential(size=3))
            best = max(best, -minimize(lost, np.abs(start), method="L-BFGS-B", bounds=bounds).fun)
    # SciPy's differences have half of the digits; loadings that differ by 1e-6 have an error of that share
    assert found >= best - 3e-6


@pytest.mark.parametrize("seed", [4, 6, 21])
def test_nonnegative_components_keep_the_order_of_the_largest_adjusted_variance(seed):
    """All orders of the supports are compared, and the value is that of the order that is returned."""
    S = np.cov(np.random.default_rng(seed).standard_normal((12, 4)).T)
    fit = sp.spca_cov(S, 3, 2, nonneg=True, scale=False, objective="adjusted")
    V = fit.loadings.to_numpy()
    values = [value(S, V[:, list(order)], "adjusted") for order in permutations(range(3))]
    assert fit.measure("adjusted") == pytest.approx(max(values), abs=1e-7)  # rounding, to the root


def test_nearly_equal_scores_and_dependent_columns_are_no_error():
    """Steps may end at dependent columns; and rounding does not raise a share above one."""
    for seed in (159, 178):
        rng = np.random.default_rng([9, seed])
        p, k, m = int(rng.integers(3, 7)), int(rng.integers(2, 4)), int(rng.integers(3, 9))
        few_values = rng.random() < 0.5
        X = rng.integers(0, 4, size=(m, p)).astype(float) if few_values else rng.normal(size=(m, p))
        if rng.random() < 0.4:
            X[:, 1] = X[:, 0]
        if rng.random() < 0.2:
            X[:, -1] = -X[:, 0]
        objective = ["pev", "least_squares", "adjusted"][rng.integers(3)]
        card = int(rng.integers(1, p + 1))
        fit = sp.spca_cov(np.cov(X.T), k, card, nonneg=True, scale=False, objective=objective)
        assert 0.0 < fit.measure(objective) <= 1.0
