"""Greedy supports, the search for the best support, its dual bound, and loadings on given supports."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
import scipy.sparse
from scipy.linalg import sqrtm

import spcastat as sp
from spcastat.linalg.deflation import Removed, deflate
from spcastat.linalg.eigenvectors import TARGET_ROUNDING
from spcastat.linalg.operators import Gram
from spcastat.solvers import support_search
from spcastat.solvers.greedy import Growth
from spcastat.solvers.optimality import _short, proves
from spcastat.solvers.support_search import _gains, best_support, improve_support
from spcastat.solvers.thresholding import explained, fitted

# --- Greedy supports and their certificates, and growth by steps under control ----------------------


def covariance(p: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.cov(rng.standard_normal((3 * p, p)) @ rng.standard_normal((p, p)), rowvar=False)


def best_variance(S: np.ndarray, card: int) -> float:
    """The largest variance that `card` nonzeros can have, by enumeration."""
    supports = itertools.combinations(range(len(S)), card)
    return max(float(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1]) for J in supports)


@pytest.mark.parametrize(
    ("card", "printed"),
    [([8, 5, 6, 2, 3, 2], 83.35), ([7, 4, 4, 1, 1, 1], 80.11), ([7, 2, 3, 1, 1, 1], 80.13)],
)
def test_pathspca_is_exactly_as_published(pitprops, card, printed):
    """Zhao et al. (2015), Table 3, to the digits printed."""
    fit = sp.spca_cov(pitprops, 6, card, method="pathspca")
    assert round(100 * fit.measure("pev"), 2) == printed
    assert list(fit.card) == card


def test_nine_tenths_of_what_pca_explains_are_kept_unless_more_or_less_is_asked_for(pitprops):
    fit = sp.spca_cov(pitprops, 3, method="controlled")
    same = sp.spca_cov(pitprops, 3, method="controlled", variance=0.9)
    pd.testing.assert_frame_equal(fit.loadings, same.loadings)
    kept = fit.variance["cumulative adjusted"] / fit.variance["cumulative PCA"]
    assert (kept >= 0.9 - 1e-9).all()
    assert fit.card.sum() < sp.spca_cov(pitprops, 3, method="controlled", variance=0.95).card.sum()


# --- steps ----------------------------------------------------------------------------------------


def step_by_step(S, k, variance, c, exact):
    """Number of nonzeros of each component when the variance is looked at after every step."""
    view = Gram(S)
    eigenvalues = np.linalg.eigvalsh(S)[::-1]
    explained, sizes, before = 0.0, [], np.zeros((len(S), 0))
    for i in range(k):
        goal = (variance - TARGET_ROUNDING) * eigenvalues[: i + 1].sum() - explained
        growth = Growth(view, exact)
        while True:
            growth.add(c)
            value, v = growth.leading()
            if value >= goal or growth.support.size == len(S):
                break
        sizes.append(int(np.count_nonzero(v)))
        explained += float(v @ view.dot(v))
        view = deflate(view, Removed(v, v, before), "schur")
        before = np.column_stack([before, v])
    return sizes


@pytest.mark.sweep
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("c", [1, 2, 5])
@pytest.mark.parametrize("variance", [0.5, 0.8, 0.97])
def test_no_step_more_than_when_every_step_is_looked_at(variance, c, exact):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 6)) @ rng.standard_normal((6, 60)) + 2.0 * rng.standard_normal(
            (200, 60)
        )
        S = np.cov(X.T)
        fit = sp.spca_cov(S, k=2, variance=variance, c=c, exact=exact, method="controlled")
        assert fit.card.tolist() == step_by_step(S, 2, variance, c, exact)


# --- The search for the best support of one component, against all supports -----------------------


def supports_covariance(seed: int, p: int = 9) -> np.ndarray:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((2 * p, p)) @ rng.standard_normal((p, p))
    return A.T @ A / (2 * p)


def largest(S: np.ndarray, J) -> float:
    return float(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1])


def best(S: np.ndarray, c: int) -> float:
    return max(largest(S, J) for J in itertools.combinations(range(len(S)), c))


def exchanges(S: np.ndarray, J: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    """All supports with `count` variables of J exchanged for others."""
    free = [j for j in range(len(S)) if j not in J]
    return [
        tuple(sorted({*J} - {*out} | {*into}))
        for out in itertools.combinations(J, count)
        for into in itertools.combinations(free, count)
    ]


@pytest.fixture(params=["all supports", "search"])
def compared(request, monkeypatch):
    """Compare all of the few supports, or search as among more."""
    if request.param == "search":
        monkeypatch.setattr(support_search, "COMPARED_ENTRIES", 0)


@pytest.mark.parametrize("c", range(1, 10))
def test_the_best_of_all_supports_is_found(compared, c):
    for seed, unit in enumerate((1.0, 2.0**-80, 2.0**80)):
        S = supports_covariance(seed)
        value, support = best_support(S * unit, c)
        assert value == pytest.approx(best(S, c) * unit, rel=1e-12)
        assert value == pytest.approx(largest(S, support) * unit, rel=1e-12)
        assert support.tolist() == sorted(set(support.tolist()))
        assert len(support) == c
        np.testing.assert_array_equal(best_support(Gram(S * unit), c)[1], support)


def exchanged_ends(S, c, count):
    """Return the best value of plain truncated power iterations from all rows and of exchanges from `count`.

    Written out here: the best of all exchanges of one variable is taken until none raises the eigenvalue.
    """
    supports = set()
    for v in S:
        support = None
        while True:
            chosen = tuple(np.sort(np.argsort(-np.abs(v), kind="stable")[:c]).tolist())
            if chosen == support:
                break
            support = chosen
            x = np.zeros(len(S))
            x[list(chosen)] = v[list(chosen)]
            v = S @ (x / np.linalg.norm(x))
        supports.add(support)
    values = {J: np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] for J in supports}
    best = 0.0
    for support in sorted(values, key=values.get)[-count:]:
        value, J = values[support], np.array(support)
        while True:
            others = np.setdiff1d(np.arange(len(S)), J)
            trials = np.array([np.append(np.delete(J, a), j) for a in range(c) for j in others])
            trial_values = np.linalg.eigvalsh(S[trials[:, :, None], trials[:, None, :]])[:, -1]
            if trial_values.max() <= value * (1.0 + 1e-10):
                break
            value, J = trial_values.max(), trials[trial_values.argmax()]
        best = max(best, value)
    return best


@pytest.mark.slow
def test_a_search_in_noise_finds_no_less_than_exchanges_from_all_rows():
    # 40 rows of 150 variables have many local optima. Ten starts are fewer than the search improves.
    for seed in range(6):
        S = np.corrcoef(np.random.default_rng(seed).standard_normal((40, 150)), rowvar=False)
        value, support = best_support(S, 12)
        assert value == pytest.approx(np.linalg.eigvalsh(S[np.ix_(support, support)])[-1], rel=1e-12)
        assert value >= exchanged_ends(S, 12, 10) * (1.0 - 1e-9)  # eigenvalues are exact to about 1e-15


def test_of_equal_variables_the_first_are_taken(compared):
    for S in (np.eye(6), np.full((6, 6), 0.5) + 0.5 * np.eye(6)):
        for c in (1, 2, 3, 6):
            assert best_support(S, c)[1].tolist() == list(range(c))
    assert best_support(np.zeros((4, 4)), 2)[0] == 0.0


@pytest.mark.parametrize("c", [2, 3, 4, 6])
def test_no_exchange_of_one_or_two_variables_improves_an_improved_support(c):
    for seed in (*range(8), 26, 51, 55, 106):
        S = supports_covariance(seed)
        start = np.random.default_rng(seed).permutation(9)[: c - seed % 2]
        found = improve_support(S, start, c)
        assert len(set(found.tolist())) == c
        assert largest(S, found) >= largest(S, start)
        values = [largest(S, K) for n in (1, min(c - 1, 2)) for K in exchanges(S, tuple(found), n)]
        assert max(values) <= largest(S, found) * (1 + 1e-9)
        top = best_support(S, c)[1]
        np.testing.assert_array_equal(improve_support(S, top, c), top)


def test_exchanges_of_many_supports_are_those_of_each(monkeypatch):
    """In one batch, in batches of one, and beside supports that no exchange improves."""
    S = supports_covariance(3)
    supports = np.array(list(itertools.combinations(range(9), 3)))
    values = np.array([largest(S, J) for J in supports])
    op = Gram(S)
    batch = support_search._best_exchanges(op, op.diagonal(), supports, values)
    monkeypatch.setattr(support_search, "CACHED", 1)
    singles = support_search._best_exchanges(op, op.diagonal(), supports, values)
    for J, value, exchange, single in zip(supports, values, batch, singles, strict=True):
        better = max(largest(S, K) for K in exchanges(S, tuple(J), 1))
        assert (exchange is None) == (single is None) == (better <= value * (1 + 1e-11))
        if exchange is not None:  # twelve of at most 18 exchanges are computed, ranked by a lower bound
            np.testing.assert_array_equal(exchange[0], single[0])
            assert exchange[1] == pytest.approx(largest(S, exchange[0]), rel=1e-12)
            assert exchange[1] > value


def test_supports_grow_by_the_best_variable():
    for seed in range(6):
        S = supports_covariance(seed)
        J = [int(np.argmax(np.diag(S)))]
        for _ in range(4):
            gains = {j: largest(S, [*J, j]) for j in range(9) if j not in J}
            J.append(max(gains, key=gains.__getitem__))
        assert largest(S, improve_support(S, np.array(J[:2]), 5)) >= largest(S, J) * (1 - 1e-12)


def test_a_search_that_is_stopped_has_a_support_all_the_same(monkeypatch):
    monkeypatch.setattr(support_search, "COMPARED_ENTRIES", 0)
    S = supports_covariance(7)
    for calls in (0, 1, 3, 8):
        left = iter([True] * calls)
        value, support = best_support(S, 4, running=lambda left=left: next(left, False))
        assert value == pytest.approx(largest(S, support), rel=1e-12)
        assert len(support) == 4
    monkeypatch.setattr("spcastat.solvers.support_search.STARTING_ROWS", 1)
    assert best_support(S, 4, pairs=False)[0] <= best(S, 4) * (1 + 1e-12)


@pytest.mark.parametrize("rank", [2, 40])
def test_gains_of_exchanges_are_positive_where_the_eigenvalue_rises(rank):
    """Against the eigenvalues of all exchanges; those that change by rounding alone may have either sign."""
    rng = np.random.default_rng(rank)
    rows = rng.standard_normal((rank, 11))
    rows[:, 7] = rows[:, 1]  # an exchange that changes nothing
    S = rows.T @ rows / rank
    for c in (1, 2, 5):
        value = np.linalg.eigvalsh(S[:c, :c])[-1]
        (gains,) = _gains(S[None, :c, :c], S[None, :c, c:], np.diag(S)[None, c:], np.array([value]))
        for i, f in itertools.product(range(c), range(c, 11)):
            J = [*(j for j in range(c) if j != i), f]
            change = np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] / value - 1.0
            if abs(change) > 1e-9:
                assert (gains[i, f - c] > 0.0) == (change > 0.0)


# --- The dual bound on one component's variance, against the matrices of the paper written out ----


def bounded_covariance(p: int, seed: int, n: int = 30) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.3, 2.0, p) + rng.standard_normal((n, 1))
    return np.cov(X, rowvar=False)


def bounded_best(S: np.ndarray, card: int) -> tuple[float, np.ndarray]:
    """The largest variance of all supports, and its loadings."""
    values = {}
    for J in itertools.combinations(range(len(S)), card):
        values[J] = np.linalg.eigvalsh(S[np.ix_(J, J)])[-1]
    J = max(values, key=values.__getitem__)
    v = np.zeros(len(S))
    v[list(J)] = np.linalg.eigh(S[np.ix_(J, J)])[1][:, -1]
    return values[J], v


def dual(S: np.ndarray, v: np.ndarray, rho: float, card: int) -> float:
    """The bound at one level, by the matrices Y_i of d'Aspremont, Bach and El Ghaoui (2008), section 4.

    Of columns a of a square root of S, and x the unit score of v: Y = B x x'B / x'Bx where B = aa' - rho I
    has x'Bx > 0, and else (rho |a|^2 - rho^2) / (rho - (a'x)^2) times the projector on what of a is across x.
    """
    A = np.real(sqrtm(S))
    x = A @ v / np.linalg.norm(A @ v)
    total = np.zeros_like(S)
    for a in A.T:
        B = np.outer(a, a) - rho * np.eye(len(S))
        along = float(x @ B @ x)
        if along > 0:
            total += np.outer(B @ x, B @ x) / along
        elif a @ a > rho:
            across = a - (a @ x) * x
            size = rho * (a @ a - rho) / (rho - (a @ x) ** 2)
            total += size * np.outer(across, across) / (across @ across)
    return float(np.linalg.eigvalsh(total)[-1]) + card * rho


def levels(S: np.ndarray, v: np.ndarray, card: int, shares: np.ndarray) -> np.ndarray:
    """Levels between the squared correlations at which the next variable enters and the last one goes."""
    ordered = np.append(np.sort((S @ v) ** 2 / (v @ S @ v))[::-1], 0.0)
    return ordered[card] + shares * (ordered[card - 1] - ordered[card])


def test_what_is_proven_is_the_best_and_the_bound_says_when():
    proven = 0
    for seed in range(25):
        for card in (1, 2, 3, 4):
            S = bounded_covariance(6, seed, 200)
            value, v = bounded_best(S, card)
            shares = [dual(S, v, rho, card) for rho in levels(S, v, card, np.arange(1, 8) / 8)]
            lowest = min(*shares, np.linalg.eigvalsh(S)[-1])
            if lowest <= value * (1 + 0.99e-9):  # better by that share is none
                assert proves(S, v, card)
                assert proves(S * 1e-30, v, card)
                assert proves(S * 1e30, v, card)
                proven += 1
            elif lowest > value * (1 + 1.01e-9):
                assert not proves(S, v, card)
            other = v.copy()  # another variable in place of the last
            other[np.flatnonzero(v)[-1]] = 0.0
            other[np.flatnonzero(v == 0)[0]] = 1e-3
            assert not proves(S, other / np.linalg.norm(other), card)
    assert 20 <= proven < 100  # neither nothing nor everything is


def test_nothing_is_proven_of_what_is_no_covariance_matrix():
    assert not proves(np.zeros((3, 3)), np.eye(3)[0], 1)
    assert not proves(np.diag([3.0, 1.0, -1e-6]), np.eye(3)[0], 1)
    assert proves(np.diag([3.0, 1.0, 0.0]), np.eye(3)[0], 1)
    assert not proves(np.diag([3.0, 1.0, 0.0]), np.eye(3)[1], 1)


def test_by_how_much_rounding_breaks_a_constraint():
    # f f' + rho I - a a' in the plane of x and a: by its eigenvalues, from NumPy.
    rng = np.random.default_rng(0)
    q, r, alpha, beta = rng.standard_normal((4, 30))
    for rho in (0.0, 0.3, 5.0):
        smallest = []
        for i in range(30):
            a, f = np.array([q[i], abs(r[i])]), np.array([alpha[i] * q[i] + beta[i], alpha[i] * abs(r[i])])
            smallest.append(np.linalg.eigvalsh(np.outer(f, f) + rho * np.eye(2) - np.outer(a, a))[0])
        diagonal = q**2 + r**2
        summed = (np.abs(alpha) * np.sqrt(diagonal) + np.abs(beta)) ** 2 + rho + diagonal
        for eps in (0.0, 0.1):
            wanted = max(0.0, np.max(eps * summed - smallest))
            assert _short(q, diagonal, alpha, beta, rho, eps) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


# --- Loadings on given supports: eigenvectors, stationary points, and when nothing is changed -----

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 7)) @ RNG.standard_normal((7, 7))
X -= X.mean(axis=0)
S = X.T @ X / 39


def at(*columns: list[float]) -> np.ndarray:
    V = np.array(columns).T
    return V / np.linalg.norm(V, axis=0)


def share(V: np.ndarray) -> float:
    """What projection on the columns of V leaves of the variance, by least squares."""
    left = X - X @ V @ np.linalg.pinv(V)
    return float(np.trace(S) - (left**2).sum() / 39)


def test_explained_variance_and_its_gradient():
    V = np.random.default_rng(1).standard_normal((7, 3))
    value, gradient = explained(Gram(S), V)
    assert value == pytest.approx(share(V), rel=1e-12)
    slopes = scipy.optimize.approx_fprime(V.ravel(), lambda v: share(v.reshape(7, 3)), 1e-6)
    np.testing.assert_allclose(gradient.ravel(), slopes, atol=1e-4)  # one-sided differences


def test_one_component_is_the_leading_eigenvector_on_its_support():
    for sign in (1.0, -1.0):
        V = at([0, 1.0, -1.0, 0, 1.0, 0, 0]) * sign
        J = [1, 2, 4]
        vector = np.zeros(7)
        vector[J] = np.linalg.eigh(S[np.ix_(J, J)])[1][:, -1]
        found = fitted(Gram(S), V)
        assert found is not None
        assert float(found[:, 0] @ V[:, 0]) >= 0  # the sign stays
        np.testing.assert_allclose(np.abs(found[:, 0]), np.abs(vector), atol=1e-13)
        assert (found[[0, 3, 5, 6]] == 0).all()


def test_several_components_climb_to_where_no_slope_is_left():
    V = at([0, 1.0, 1.0, 0, 1.0, 0, 0], [1.0, 0, 0.5, 0, 0, 1.0, 0.5])
    found = fitted(Gram(S), V)
    assert found is not None
    np.testing.assert_array_equal(found != 0, V != 0)
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), 1.0, rtol=1e-14)
    assert share(found) >= share(V)
    slope = explained(Gram(S), found)[1][V != 0]
    assert np.abs(slope).max() < 1e-8 * np.trace(S)  # the value is at its maximum to the square of it
    other = -scipy.optimize.minimize(lambda x: -share(spread(x, V)), V[V != 0]).fun
    assert other * (1 - 1e-7) <= share(found) <= other * (1 + 1e-9)


def spread(x: np.ndarray, V: np.ndarray) -> np.ndarray:
    W = np.zeros_like(V)
    W[V != 0] = x
    return W


def test_nonnegative_loadings_stay_so_or_are_left_alone():
    A = np.array([[2.0, 0.9, -0.5], [0.9, 2.0, 0.1], [-0.5, 0.1, 1.5]])
    positive = at([1.0, 1.0, 0.0])
    found = fitted(Gram(A), positive, nonneg=True)
    np.testing.assert_allclose(found, np.sqrt([[0.5], [0.5], [0.0]]), atol=1e-12)
    # The eigenvector on all three has a negative loading, and no nonnegative one beside it is stationary.
    assert fitted(Gram(A), at([1.0, 1.0, 0.1]), nonneg=True) is None
    assert fitted(Gram(A), at([1.0, 1.0, -0.1])) is not None


def test_what_depends_on_one_another_or_loses_a_loading_is_left_alone():
    v = [0, 1.0, 1.0, 0, 1.0, 0, 0]
    assert fitted(Gram(S), at(v, v)) is None
    assert fitted(Gram(np.diag([2.0, 1.0])), at([1.0, 0.5])) is None  # the eigenvector is an axis
