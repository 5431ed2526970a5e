"""Lower bounds on the eigenvalues of bordered matrices, against LAPACK."""

import numpy as np

from spcastat.linalg.eigenvectors import bordered_lower


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


def test_the_first_bound_is_the_best_of_pairs():
    # With one eigenvector alone, of a 2 x 2 matrix, the bound is the eigenvalue: no step is needed.
    values, squares, corner, exact = problems(1, 12, 3)
    np.testing.assert_allclose(bordered_lower(values, squares, corner, 0), exact, rtol=1e-14)
    values, squares, corner, _ = problems(4, 7, 4)
    pairs = [bordered_lower(values[i : i + 1], squares[i : i + 1], corner, 0) for i in range(4)]
    np.testing.assert_array_equal(bordered_lower(values, squares, corner, 0), np.max(pairs, axis=0))


def test_a_step_is_newtons():
    # f(x) = x - d - sum b_i^2 / (x - l_i) has the slope 1 + sum b_i^2 / (x - l_i)^2; by hand at l = (1, 0),
    # b^2 = (2, 6), d = 0: the pair (0, 0) with b^2 = 6 gives sqrt(6), that of l = 1 gives 2.
    x = np.sqrt(6.0)
    value, slope = x - 2 / (x - 1) - 6 / x, 1 + 2 / (x - 1) ** 2 + 1.0
    found = bordered_lower(np.array([[1.0], [0.0]]), np.array([[2.0], [6.0]]), np.zeros(1), 1)
    np.testing.assert_allclose(found, x - value / slope, rtol=1e-14)


def test_no_coupling_leaves_the_largest_of_all():
    values, corner = np.array([[2.0, 2.0], [1.0, 1.0]]), np.array([1.0, 3.0])
    np.testing.assert_array_equal(bordered_lower(values, np.zeros((2, 2)), corner), [2.0, 3.0])
    np.testing.assert_array_equal(bordered_lower(np.zeros((2, 1)), np.zeros((2, 1)), np.zeros(1)), [0.0])
