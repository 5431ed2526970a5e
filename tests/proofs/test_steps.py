"""The steps of the dual methods against the same steps written out for one problem.

Any iterate proves a bound, so that only what the iterates are tells whether the method is the one that is
documented: Chambolle and Pock (2011), Algorithm 1, with theta = 1, primal steps of twice the inverse norm of
the operator and dual ones of half of it. The bound is worked out after every ten steps from the last dual
iterate and from the mean of all. A problem rests below its threshold, and where three
times its fall over the last five rounds would not bring it there within the steps that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy.optimize import brentq

from spcastat.proofs.duals import ordered_bounds, planes, support_bounds, within_union


def covariance(seed: int, p: int) -> np.ndarray:
    X = np.random.default_rng(seed).standard_normal((2 * p, p))
    return X.T @ X / (2 * p)


def axes(supports: list[list[int]], p: int) -> list[np.ndarray]:
    return [np.eye(p)[:, T] for T in supports]


def psd(A: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(A)
    return (vectors * np.clip(values, 0.0, None)) @ vectors.T


def capped(A: np.ndarray, trace: int) -> np.ndarray:
    """The nearest matrix with eigenvalues in [0, 1] and this trace: those of A less one number, cut off."""
    values, vectors = np.linalg.eigh(A)
    if trace >= len(values):
        return np.eye(len(values))
    ends = values[0] - 2.0, values[-1] + 1.0
    t = brentq(lambda t: np.clip(values - t, 0.0, 1.0).sum() - trace, *ends, xtol=1e-15, rtol=1e-15)
    return (vectors * np.clip(values - t, 0.0, 1.0)) @ vectors.T


def top(A: np.ndarray, count: int) -> np.ndarray:
    vectors = np.linalg.eigh(A)[1][:, -count:]
    return vectors @ vectors.T


def largest(A: np.ndarray, count: int) -> float:
    return float(np.sort(np.linalg.eigvalsh(A))[::-1][:count].sum())


def followed(
    bound: Callable, iterates: Iterator[np.ndarray], first: float, threshold: float, steps: int
) -> float:
    """Return the bound of a problem when it rests; the last round may be shorter."""
    everything: list[np.ndarray] = []
    history: list[float] = []
    best = first
    while best > threshold and len(everything) < steps:
        everything += [next(iterates) for _ in range(min(10, steps - len(everything)))]
        done = len(everything)
        found = min(map(bound, (everything[-1], sum(everything) / done)))
        best = min(best, found)
        history.append(found)
        if len(history) > 5:
            fall = (history[-6] - history[-1]) / 5
            if history[-1] - 3 * fall * (steps - done) / 10 > threshold:
                break
    return best


def by_supports(
    M: np.ndarray, bases: list[np.ndarray], ranks: list[int], k: int, threshold: float, steps: int
) -> float:
    """max <M, P> over 0 <= P <= I, tr P = k, P >= D_j X_j D_j', 0 <= X_j <= I, tr X_j = rank."""
    bases = [D[:, D.any(axis=0)] for D in bases]
    scale = np.trace(M) / k
    A = M / scale
    norm = np.sqrt(len(bases) + 1)

    def bound(Y: np.ndarray) -> float:
        value = largest(M + Y.sum(axis=0), k)
        value += sum(largest(-D.T @ one @ D, rank) for D, one, rank in zip(bases, Y, ranks, strict=True))
        return value + 1e-10 * (np.linalg.norm(M) + np.trace(Y.sum(axis=0)))

    def iterates() -> Iterator[np.ndarray]:
        P, X = top(M, k), [capped(D.T @ A @ D, rank) for D, rank in zip(bases, ranks, strict=True)]
        Y = np.zeros((len(bases), *M.shape))

        def excess() -> np.ndarray:
            return np.stack([P - D @ one @ D.T for D, one in zip(bases, X, strict=True)])

        ahead = excess()
        while True:
            Y = np.stack([psd(one - a / (2 * norm)) for one, a in zip(Y, ahead, strict=True)])
            before = excess()
            P = capped(P + 2 / norm * (A + Y.sum(axis=0)), k)
            X = [
                capped(one - 2 / norm * D.T @ y @ D, rank)
                for one, D, y, rank in zip(X, bases, Y, ranks, strict=True)
            ]
            ahead = 2 * excess() - before
            yield scale * Y

    first = bound(np.zeros((len(bases), *M.shape)))
    return followed(bound, iterates(), first, threshold, steps)


#: No loadings on them come near those of dense PCA.
SUPPORTS = [[0, 1, 2], [0, 1, 3], [2, 4, 5, 6]]


#: Thresholds that are reached at once, soon, late, nearly and never, in shares of what steps bring.
REACHED = np.array([2.0, 0.6, 0.1, -0.03, -0.2])


@pytest.mark.parametrize(("pairs", "shift"), [(False, 0), (False, 2), (True, 1)])
def test_bounds_for_supports_take_the_steps_of_chambolle_and_pock(pairs, shift):
    S = [covariance(seed, 8) for seed in range(5)]
    M, bases = within_union(np.stack(S), [np.stack([D] * 5) for D in axes(SUPPORTS, 8)])
    held = bases + planes(bases) if pairs else bases
    ranks = [1, 1, 1, 2, 2, 2][: len(held)]
    loosest = support_bounds(M, held, 3, 0.0, 0, ranks=ranks)
    tightest = support_bounds(M, held, 3, 0.0, 200, ranks=ranks)
    threshold = np.roll(REACHED, shift) * (loosest - tightest) + tightest
    for steps in (10, 200):
        found = support_bounds(M, held, 3, threshold, steps, ranks=ranks)
        expected = [by_supports(M[b], [D[b] for D in held], ranks, 3, threshold[b], steps) for b in range(5)]
        # rounding of 200 steps, none of which enlarges it
        np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("k", [4, 5])
def test_components_that_may_be_dense_are_among_those_of_the_bound(k):
    """Also where there are as many components as dimensions: P is the identity then."""
    M, bases = covariance(8, 5), axes(SUPPORTS[:2], 5)
    found = support_bounds(M[None], [D[None] for D in bases], k, 0.0, 50)
    assert found[0] == pytest.approx(by_supports(M, bases, [1, 1], k, 0.0, 50), rel=1e-11)


def test_the_mean_of_the_iterates_may_be_the_better_proof():
    """As it is here after twenty steps, with a component that may be dense."""
    M, bases = covariance(3, 8), axes([[0, 1], [0, 2], [1, 3]], 8)
    for steps in (10, 20, 30):
        found = support_bounds(M[None], [D[None] for D in bases], 4, 0.0, steps)
        assert found[0] == pytest.approx(by_supports(M, bases, [1, 1, 1], 4, 0.0, steps), rel=1e-11)


@pytest.mark.parametrize("steps", [1, 2, 13])
def test_work_ends_within_a_round_when_told(steps):
    """The bound is what the steps until then prove."""
    M, bases = covariance(4, 8), axes(SUPPORTS, 8)
    asked = iter([True] * (1 + steps + steps // 10) + [False] * 100)
    found = support_bounds(M[None], [D[None] for D in bases], 3, 0.0, 500, running=lambda: next(asked))
    assert found[0] == pytest.approx(by_supports(M, bases, [1, 1, 1], 3, 0.0, steps), rel=1e-11)


def in_order(
    N: list[np.ndarray], counts: list[int], bases: list[np.ndarray | None], threshold: float, steps: int
) -> float:
    """max sum_j <N_j, X_j> over 0 <= X_j <= I, tr X_j = count, sum_j D_j X_j D_j' <= I."""
    d = next((len(D) for D in bases if D is not None), len(N[0]))
    held = [np.eye(d) if D is None else D for D in bases]
    scale = np.sqrt((N[0] ** 2).sum())
    norm = np.sqrt(len(N))

    def bound(Z: np.ndarray) -> float:
        value = np.trace(Z)
        size = value + sum(np.sqrt((one**2).sum()) for one in N)
        value += sum(largest(one - D.T @ Z @ D, c) for one, D, c in zip(N, held, counts, strict=True))
        return value + 1e-10 * size

    def iterates() -> Iterator[np.ndarray]:
        X = [top(one, count) for one, count in zip(N, counts, strict=True)]
        Z = np.zeros((d, d))

        def together() -> np.ndarray:
            return sum(D @ one @ D.T for one, D in zip(X, held, strict=True))

        ahead = together()
        while True:
            Z = psd(Z + (ahead - np.eye(d)) / (2 * norm))
            before = together()
            X = [
                capped(one + 2 / norm * (n / scale - D.T @ Z @ D), count)
                for one, n, D, count in zip(X, N, held, counts, strict=True)
            ]
            ahead = 2 * together() - before
            yield scale * Z

    first = bound(np.zeros((d, d)))
    return followed(bound, iterates(), first, threshold, steps)


@pytest.mark.parametrize("within", [False, True])
def test_bounds_for_orthonormal_directions_take_the_steps_of_chambolle_and_pock(within):
    """Groups of two components, of one, and with spans of their own for two of three."""
    S = [covariance(seed, 8) for seed in range(5)]
    held: list[np.ndarray | None] = [*axes(SUPPORTS[:2], 8), None] if within else [None] * 3
    own = [D if D is not None else np.eye(8) for D in held]
    N = [[D.T @ one @ D for D in own] if within else [one, one[::-1, ::-1] / 2, one**2 / 9] for one in S]
    groups = [np.stack([one[j] for one in N]) for j in range(3)]
    bases = [None if D is None else np.stack([D] * 5) for D in held]
    counts = [1, 2, 1]
    loosest, tightest = (ordered_bounds(groups, counts, 0.0, n, bases=bases) for n in (0, 200))
    threshold = np.roll(REACHED, 2) * (loosest - tightest) + tightest
    for steps in (10, 200):
        found = ordered_bounds(groups, counts, threshold, steps, bases=bases)
        expected = [in_order(N[b], counts, held, threshold[b], steps) for b in range(5)]
        np.testing.assert_allclose(found, expected, rtol=1e-11)
