"""The search for sparse loadings, against enumeration, closed forms and the loss itself."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import polar, sqrtm

from spcastat.linalg.operators import Gram
from spcastat.search.loading_patterns import Nonzeros, ascend, search, sparsest


def best_on(S: np.ndarray, supports: list[tuple[int, ...]], rng: np.random.Generator) -> float:
    """Return the largest sum over components of |F_j q_j|^2, q_j orthonormal; F_j has the rows of a support.

    Bolla, Michaletzky, Tusnady and Ziermann (1998): with B_j = F_j'F_j, repeat Q = polar([B_1 q_1, ...]).
    Written in the space of the rows, not by the formulas of the search.
    """
    F = np.real(sqrtm(S))
    B = [F[list(T)].T @ F[list(T)] for T in supports]
    best = 0.0
    for _ in range(6):
        Q = np.linalg.qr(rng.standard_normal((len(S), len(supports))))[0]
        value = 0.0
        for _ in range(3000):
            Q = polar(np.column_stack([b @ q for b, q in zip(B, Q.T, strict=True)]))[0]
            now = sum(q @ b @ q for b, q in zip(B, Q.T, strict=True))
            if now - value < 1e-12 * now:
                break
            value = now
        best = max(best, now)
    return best


def random_correlation(seed: int, p: int = 6) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.corrcoef((rng.standard_normal((40, p)) @ rng.standard_normal((p, p))).T)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_all_supports_is_found(seed):
    """All 300 pairs of supports of 2 and 3 of 6 variables."""
    S, rng = random_correlation(seed), np.random.default_rng(0)
    pairs = [(a, b) for a in combinations(range(6), 2) for b in combinations(range(6), 3)]
    # an upper bound leaves most pairs out: the sum of first eigenvalues, without orthogonality
    first = {T: np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for pair in pairs for T in pair}
    best = 0.0
    for a, b in sorted(pairs, key=lambda pair: -(first[pair[0]] + first[pair[1]])):
        if first[a] + first[b] > best * (1 + 1e-9):
            best = max(best, best_on(S, [a, b], rng))
    found = search(Gram(S), 2, Nonzeros((2, 3)), np.random.default_rng(seed))
    assert found.explained == pytest.approx(best, rel=1e-7)  # both stop at increases of 1e-12 and less


def test_the_loss_is_the_total_less_the_sum_of_squares():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 6)) @ rng.standard_normal((6, 6))
    X -= X.mean(axis=0)
    S = X.T @ X / 49
    found = search(Gram(S), 2, Nonzeros((3, 3)), rng)
    T = X @ found.W
    np.testing.assert_allclose(T.T @ T / 49, np.eye(2), atol=1e-10)
    loss = ((X - T @ found.P.T) ** 2).sum() / 49
    assert loss == pytest.approx(np.trace(S) - (found.P**2).sum(), rel=1e-10)
    nonzero = found.P != 0
    np.testing.assert_allclose(found.P[nonzero], (X.T @ T / 49)[nonzero], rtol=1e-9)


def test_full_loadings_explain_what_pca_does():
    S = random_correlation(5)
    full = search(Gram(S), 3, Nonzeros((6, 6, 6)), np.random.default_rng(0))
    assert full.explained == pytest.approx(np.linalg.eigvalsh(S)[-3:].sum(), rel=1e-10)


def test_one_component_is_the_largest_eigenvalue_of_a_block():
    """For k = 1 the explained variance of a support is its largest eigenvalue: that of sparse PCA."""
    S = random_correlation(6, 8)
    best = max(np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for T in combinations(range(8), 3))
    found = search(Gram(S), 1, Nonzeros((3,)), np.random.default_rng(0))
    assert found.explained == pytest.approx(best, rel=1e-10)


def test_an_ascent_never_descends_and_keeps_a_given_support():
    S = random_correlation(7)
    P = np.random.default_rng(0).standard_normal((5, 6, 2))
    kept = Nonzeros((3, 3)).support(P)
    values = [ascend(S, P * kept, kept, steps, tol=0.0)[1] for steps in range(1, 12)]
    assert (np.diff(np.array(values), axis=0) >= -1e-12).all()
    found = ascend(S, P * kept, kept, 50)[0]
    assert not found[~kept].any()


def test_a_total_leaves_no_component_empty_and_ties_take_the_first_variable():
    A = np.array([[[3.0, 0.1], [3.0, 0.2], [3.0, 0.2]]])
    np.testing.assert_array_equal(
        Nonzeros(total=3).support(A)[0], [[True, False], [True, True], [False, False]]
    )
    np.testing.assert_array_equal(
        Nonzeros(card=(2, 1)).support(A)[0], [[True, False], [True, True], [False, False]]
    )


def test_a_total_explains_no_less_than_any_division_of_it():
    S = random_correlation(8)
    free = search(Gram(S), 2, Nonzeros(total=5), np.random.default_rng(0)).explained
    for first in range(1, 5):
        divided = search(Gram(S), 2, Nonzeros((first, 5 - first)), np.random.default_rng(0)).explained
        assert divided <= free * (1 + 1e-9)


def test_the_fewest_nonzeros_keep_the_share_and_one_less_does_not():
    S = random_correlation(9)
    found, total = sparsest(Gram(S), 2, 0.9, np.random.default_rng(0))
    goal = 0.9 * np.linalg.eigvalsh(S)[-2:].sum()
    assert np.count_nonzero(found.P) == total
    assert found.explained >= goal * (1 - 1e-9)
    assert search(Gram(S), 2, Nonzeros(total=total - 1), np.random.default_rng(1)).explained < goal


def test_permuted_variables_have_permuted_loadings():
    S, order = random_correlation(10), np.array([4, 2, 0, 5, 1, 3])
    one = search(Gram(S), 2, Nonzeros((3, 3)), np.random.default_rng(0)).P
    other = search(Gram(S[np.ix_(order, order)]), 2, Nonzeros((3, 3)), np.random.default_rng(0)).P
    square = one @ one.T  # without the order and signs of components
    np.testing.assert_allclose(other @ other.T, square[np.ix_(order, order)], atol=1e-6)
