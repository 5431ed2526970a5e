"""Leading eigenpairs from few products, against LAPACK."""

from __future__ import annotations

import numpy as np
import pytest

from spcastat.errors import ConvergenceWarning
from spcastat.linalg.eigenvectors import straightened
from spcastat.streams.operator import ACCURACY, Leading, block_lanczos, krylov


def matrix(values: np.ndarray, seed: int = 0) -> np.ndarray:
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return (Q * values) @ Q.T


class Counted:
    """Products with a matrix, and how wide each block was."""

    def __init__(self, S: np.ndarray):
        self.S, self.widths = S, []

    def __call__(self, V: np.ndarray) -> np.ndarray:
        np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-13)
        self.widths.append(V.shape[1])
        return self.S @ V


DECAY = matrix(0.8 ** np.arange(80.0))


@pytest.mark.parametrize("unit", [1.0, 1e-30, 1e30])
@pytest.mark.parametrize("k", [1, 4])
def test_the_largest_eigenvalues_are_found_to_ten_digits(k, unit):
    dot = Counted(DECAY * unit)
    values, vectors = block_lanczos(dot, 80, k, 0, "rows")
    np.testing.assert_allclose(values, 0.8 ** np.arange(k) * unit, rtol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(DECAY @ vectors, vectors * values / unit, atol=1e-5)  # its root
    assert dot.widths[0] == k + 10
    assert 2 <= len(dot.widths) <= 8
    again = block_lanczos(Counted(DECAY * unit), 80, k, 0, "rows")
    np.testing.assert_array_equal(again[1], vectors)  # the same seed, the same bits
    assert not np.array_equal(block_lanczos(Counted(DECAY * unit), 80, k, 1, "rows")[1], vectors)


def test_values_are_never_too_large_and_by_no_more_than_the_errors_too_small():
    exact = 0.97 ** np.arange(60.0)
    S = matrix(exact)
    for passes in (1, 2, 3, 4, 12):
        for wide in (2, 10):
            found = krylov(Counted(S), 60, 5, 0, passes, wide)
            assert found.passes <= passes
            assert (np.cumsum(found.values) <= np.cumsum(exact[:5]) * (1 + 1e-13)).all()
            assert (np.diff(found.values) <= 0).all()
            if found.errors.max() < 1e-3:
                assert (found.values + found.errors >= exact[:5] * (1 - 1e-12)).all()
            assert found.exact == (found.errors.max() <= ACCURACY * found.values[0])


def test_as_many_vectors_as_variables_need_one_product():
    S = matrix(np.array([3.0, 2.0, 1.0, 0.5]))
    dot = Counted(S)
    found = krylov(dot, 4, 2, 0, 30)
    assert (dot.widths, found.passes, found.exact) == ([4], 1, True)
    np.testing.assert_array_equal(found.errors, [0, 0])
    np.testing.assert_allclose(found.values, [3, 2], rtol=1e-13)
    assert krylov(Counted(S), 4, 2, 0, 1).exact


def test_a_matrix_of_low_rank_is_exhausted():
    S = matrix(np.r_[[5.0, 4.0, 3.0], np.zeros(57)])
    dot = Counted(S)
    found = krylov(dot, 60, 5, 0, 30)
    np.testing.assert_allclose(found.values, [5, 4, 3, 0, 0], atol=1e-13)
    assert (found.values >= 0).all()
    assert found.exact
    assert len(dot.widths) <= 3
    nothing = krylov(Counted(np.zeros((20, 20))), 20, 2, 0, 30)
    np.testing.assert_array_equal(nothing.values, [0, 0])
    assert nothing.exact


def test_too_few_passes_are_warned_of():
    S = matrix(1.0 - 1e-3 * np.arange(80.0))
    dot = Counted(S)
    told = r"The 3 leading .* of the table are exact to .* after 2 passes"
    with pytest.warns(ConvergenceWarning, match=told):
        block_lanczos(dot, 80, 3, 0, "the table", 2)
    assert len(dot.widths) == 2


def test_what_is_exact():
    def leading(values: list[float], errors: list[float]) -> Leading:
        return Leading(np.array(values), np.zeros((3, 2)), np.array(errors), 1)

    assert leading([2.0, 1.0], [0.0, 2e-11]).exact
    assert not leading([2.0, 1.0], [0.0, 2.1e-11]).exact
    assert not leading([2.0, 1.0], [2.1e-11, 0.0]).exact
    assert leading([0.0, 0.0], [0.0, 0.0]).exact


def test_the_error_of_a_value_is_its_residual_or_the_square_over_the_gap():
    """After one product with two vectors, from the two eigenvalues on their span."""
    wide = set()
    for seed in range(20):
        S, bases = matrix(0.5 ** np.arange(10.0), seed), []

        def dot(V, S=S, bases=bases):
            bases.append(V)
            return S @ V

        found = krylov(dot, 10, 1, seed, 1, 1)
        second, first = np.linalg.eigvalsh(bases[0].T @ S @ bases[0])
        v, gap = found.vectors[:, 0], first - second
        residual = np.linalg.norm(S @ v - first * v)
        wide.add(bool(gap > residual))
        assert found.errors[0] == pytest.approx(residual**2 / gap if gap > residual else residual, rel=1e-9)
    assert wide == {True, False}


def test_orthonormal_bases():
    rng = np.random.default_rng(3)
    Q = np.linalg.qr(rng.standard_normal((30, 6)))[0]
    noise = rng.standard_normal((30, 6))
    for V in (Q, Q + 1e-3 * noise, Q * np.geomspace(1, 1e-8, 6), noise):
        found = straightened(V)
        np.testing.assert_allclose(found.T @ found, np.eye(6), atol=1e-13)
        np.testing.assert_allclose(found @ (found.T @ V), V, atol=1e-12)
    assert straightened(np.zeros((5, 0))).shape == (5, 0)
