"""Eigenvectors against LAPACK, rotations against statsmodels, and which rows lead."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.multivariate.factor_rotation import rotate_factors

from spcastat.linalg.eigenvectors import (
    DENSE_ORDER,
    bordered_lower,
    bordered_top,
    largest_pairs,
    largest_value,
    leading,
    orthonormalise,
    pairs_of_low_rank,
    top_dense,
    top_eigh,
    top_lanczos,
    varimax,
)


def assembled(values: np.ndarray, coupling: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Return the largest eigenvalues of the bordered matrices, one LAPACK call each."""
    found = []
    for b, d in zip(coupling.T, corner, strict=True):
        M = np.diag(np.append(values, d)).astype(float)
        M[-1, :-1] = M[:-1, -1] = b
        found.append(np.linalg.eigvalsh(M)[-1])
    return np.array(found)


# --- bordered matrices ----------------------------------------------------------------------------

# Against eigvalsh, which is good to a few eps of the largest eigenvalue: 1e-13 of it leaves room for
# matrices of order ten.
CLOSE = 1e-13


def test_bordered_top_of_covariance_matrices():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        s, m = int(rng.integers(1, 8)), 5
        B = rng.standard_normal((int(rng.integers(2, s + m + 3)), s + m)) * 10.0 ** rng.integers(-1, 2, s + m)
        if seed % 3 == 0:
            B = np.round(B)  # exact zeros, repeated eigenvalues
        S = B.T @ B
        values, Q = np.linalg.eigh(S[:s, :s])
        coupling = Q.T @ S[:s, s:]
        found = bordered_top(values, coupling, np.diag(S)[s:])
        exact = assembled(values, coupling, np.diag(S)[s:])
        np.testing.assert_allclose(
            found, exact, atol=CLOSE * max(exact.max(), 1.0), rtol=0, err_msg=f"{seed=}"
        )


def test_bordered_top_at_its_limits():
    # Repeated and nearly repeated eigenvalues, couplings of zero and close to it, corners that tie.
    for seed in range(60):
        rng = np.random.default_rng(seed)
        values = np.sort(rng.choice([0.0, 0.5, 1.0, 1.0, 1 + 1e-12, 1 + 1e-9, 2.0], 5))
        coupling = rng.choice([0.0, 1e-12, 1e-8, 1e-4, 0.3, 1.0], (5, 8)) * rng.choice([-1, 1], (5, 8))
        corner = rng.choice([0.0, 1e-9, 1.0, 1 + 1e-12, 2.0, 5.0], 8)
        exact = assembled(values, coupling, corner)
        found = bordered_top(values, coupling, corner)
        np.testing.assert_allclose(found, exact, atol=CLOSE * 5, rtol=0, err_msg=f"{seed=}")


def test_bordered_top_where_the_first_eigenvector_hardly_takes_part():
    # The pair (first eigenvector, border) has the eigenvalue 2 + 2e-18 = 2 in floating point; the two others
    # together reach 1.2 + sqrt(0.04 + 1.125) = 2.279351657...
    values, coupling = np.array([2.0, 1.0, 1.0]), np.array([[1e-9], [0.75], [0.75]])
    found = bordered_top(values, coupling, np.array([1.4]))
    np.testing.assert_allclose(found, 1.2 + np.sqrt(1.165), rtol=1e-14)


# --- leading pairs --------------------------------------------------------------------------------


def spiked(p: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    U = np.linalg.qr(rng.standard_normal((p, 5)))[0]
    return np.eye(p) + (U * [50.0, 40, 30, 20, 10]) @ U.T


@pytest.mark.parametrize("p", [40, DENSE_ORDER + 50])
def test_lanczos_gives_what_lapack_gives(p):
    S = spiked(p)
    start = np.random.default_rng(2).standard_normal(p)
    values, V = top_lanczos(lambda v: S @ v, p, 5, start)
    np.testing.assert_allclose(values, [51, 41, 31, 21, 11], rtol=1e-10)
    exact = top_eigh(S, 5)[1]
    np.testing.assert_allclose(V, exact, atol=1e-8)  # eps * |S| / gap, and what Lanczos adds
    again = top_lanczos(lambda v: S @ v, p, 5, start)
    np.testing.assert_array_equal(V, again[1])  # the same start, the same bits
    np.testing.assert_allclose(top_dense(S, 5, start)[1], exact, atol=1e-8)


# --- orthonormal bases ----------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [0, 1, 30])
def test_pairs_of_low_rank_are_all_of_nonzero_eigenvalues(rank):
    """Of an indefinite matrix with known eigenvectors; to the rounding errors of products of order 600."""
    rng = np.random.default_rng(rank)
    vectors = np.linalg.qr(rng.standard_normal((600, rank)))[0]
    values = np.sort(rng.uniform(1.0, 2.0, rank) * rng.choice([-1.0, 1.0], rank))
    found = pairs_of_low_rank((vectors * values) @ vectors.T)
    assert found is not None
    np.testing.assert_allclose(found[0], values, atol=1e-13)
    np.testing.assert_allclose(np.abs((vectors * found[1]).sum(axis=0)), 1.0, atol=1e-10)


def test_a_matrix_of_high_rank_is_left_to_the_full_decomposition():
    rows = np.random.default_rng(0).standard_normal((40, 600))
    assert pairs_of_low_rank(rows.T @ rows) is None  # a sixteenth of 600 is 37


def test_orthonormalise_is_qr_in_the_given_order():
    T = np.random.default_rng(4).standard_normal((12, 5)) * [1, 1e6, 1e-6, 1, 1]
    Q, remainder = orthonormalise(T)
    np.testing.assert_allclose(Q.T @ Q, np.eye(5), atol=1e-14)
    R = np.linalg.qr(T)[1]
    np.testing.assert_allclose(remainder, np.abs(np.diag(R)), rtol=1e-12)
    np.testing.assert_allclose(Q @ (Q.T @ T), T, atol=1e-9)


def test_orthonormalise_shows_what_adds_nothing():
    rng = np.random.default_rng(5)
    A = rng.standard_normal((9, 3))
    T = np.column_stack([A[:, 0], A[:, 0], A[:, 1], np.zeros(9), A @ [1.0, 2.0, 0.0], A[:, 2]])
    Q, remainder = orthonormalise(T)
    np.testing.assert_array_equal(remainder > 0, [True, False, True, False, False, True])
    np.testing.assert_array_equal(Q[:, [1, 3, 4]], 0.0)
    kept = Q[:, [0, 2, 5]]
    np.testing.assert_allclose(kept.T @ kept, np.eye(3), atol=1e-14)
    assert T.dtype == float


@pytest.mark.parametrize("lost", [True, False])
def test_pairs_that_lapack_does_not_find_come_from_the_full_decomposition(lost, monkeypatch):
    """LAPACK's routine for some pairs may fail, or return too few, in large groups of equal eigenvalues."""
    import scipy.linalg

    def failing(S, subset_by_index, eigvals_only=False):
        if not lost:
            raise np.linalg.LinAlgError("Internal Error.")
        values, vectors = np.linalg.eigh(S)
        return values[-2:-1] if eigvals_only else (values[-2:], vectors[:, -2:])

    monkeypatch.setattr(scipy.linalg, "eigh", failing)
    rng = np.random.default_rng(5)
    exact = np.repeat([3.0, 1.0, 0.0], [4, 100, 170])
    Q = np.linalg.qr(rng.standard_normal((274, 274)))[0]
    S = (Q * exact) @ Q.T
    for k in (3, 10):
        values, vectors = top_eigh(0.5 * (S + S.T), k)
        np.testing.assert_allclose(values, exact[:k], atol=1e-12)
        np.testing.assert_allclose(S @ vectors, vectors * values, atol=1e-12)
    values, vectors = largest_pairs(S, 3)
    np.testing.assert_allclose(values, exact[:3], atol=1e-12)
    np.testing.assert_allclose(S @ vectors, vectors * values, atol=1e-12)
    assert largest_value(S) == pytest.approx(3.0, rel=1e-12)


# --- bordered matrices, against LAPACK ------------------------------------------------------------------


def problems(s: int, m: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues of m blocks, borders and corners, and the largest eigenvalues of the whole matrices."""
    rng = np.random.default_rng(seed)
    values, border, corner = rng.uniform(0, 3, (s, m)), rng.standard_normal((s, m)), rng.uniform(0, 4, m)
    exact = []
    for lam, b, d in zip(values.T, border.T, corner, strict=True):
        M = np.diag(np.append(lam, d))
        M[-1, :-1] = M[:-1, -1] = b
        exact.append(np.linalg.eigvalsh(M)[-1])
    return values, border**2, corner, np.array(exact)


def test_bounds_are_below_the_eigenvalues_and_rise_to_them():
    for seed in range(20):
        values, squares, corner, exact = problems(6, 9, seed)
        before = np.full(9, -np.inf)
        for steps in range(8):
            found = bordered_lower(values, squares, corner, steps)
            assert (found <= exact * (1 + 1e-14)).all()
            assert (found >= before).all()
            before = found
        np.testing.assert_allclose(before, exact, rtol=1e-13)  # Newton's steps: digits double


# --- varimax against statsmodels ------------------------------------------------------------------------


def criterion(L: np.ndarray) -> float:
    """Kaiser's criterion: the variances of the squared loadings, summed over the columns."""
    return float((L**2).var(axis=0).sum())


@pytest.mark.parametrize(("p", "k", "seed"), [(13, 6, 0), (40, 3, 1), (200, 4, 2)])
def test_varimax_is_that_of_statsmodels(p, k, seed):
    A = np.linalg.qr(np.random.default_rng(seed).standard_normal((p, k)) * np.linspace(1, 3, p)[:, None])[0]
    ours, theirs = varimax(A), rotate_factors(A, "varimax")[0]
    # theirs ends where a gradient is below 1e-5, ours where the criterion rises by less than 1e-10 of itself
    assert criterion(ours) >= criterion(theirs) * (1.0 - 1e-9)
    np.testing.assert_allclose(np.abs(ours.T @ theirs).max(axis=0), 1.0, atol=1e-5)


def test_varimax_of_many_rows_is_that_of_statsmodels():
    """Rows are taken 1000 at a time; five groups of 500 beside noise, as rows of one distribution have no
    rotation that is clearly the best."""
    rng = np.random.default_rng(3)
    A = np.repeat(np.eye(5), 500, axis=0) + 0.3 * rng.standard_normal((2500, 5))
    A = A @ np.linalg.qr(rng.standard_normal((5, 5)))[0]
    ours, theirs = (L / np.linalg.norm(L, axis=0) for L in (varimax(A), rotate_factors(A, "varimax")[0]))
    np.testing.assert_allclose(np.abs(ours.T @ theirs).max(axis=0), 1.0, atol=1e-5)


def test_kaisers_normalisation_rotates_variables_of_equal_length():
    A = np.linalg.qr(np.random.default_rng(3).standard_normal((20, 4)))[0]
    length = np.linalg.norm(A, axis=1, keepdims=True)
    np.testing.assert_allclose(varimax(A, normalise=True), length * varimax(A / length), atol=1e-8)


def test_varimax_of_no_matrix_needs_no_decomposition(monkeypatch):
    """Searches rotate every second of their random starts, which are none of one."""
    monkeypatch.setattr("spcastat.linalg.eigenvectors.np.linalg.svd", None)
    assert varimax(np.zeros((0, 4, 2))).shape == (0, 4, 2)


# --- which rows are shown where there is no room for all ------------------------------------------------


def turns(values: np.ndarray, count: int) -> list[int]:
    """Let the columns take turns, each giving its largest row that is left, ties to the first."""
    chosen: list[int] = []
    queues = [sorted(np.flatnonzero(v), key=lambda i, v=v: (-abs(v[i]), i)) for v in values.T]
    for place in range(len(values)):
        given = sorted({queue[place] for queue in queues if place < len(queue)})
        chosen += [row for row in given if row not in chosen]
    return sorted(int(row) for row in chosen[:count])


def test_columns_take_turns():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = rng.integers(-3, 4, (9, 3)) * (rng.random((9, 3)) < 0.6) * 1.0
        filled = int((values != 0).any(axis=1).sum())
        for count in range(1, 10):
            found = leading(values, count).tolist()
            assert found == turns(values, count)
            assert len(found) == min(count, filled)
