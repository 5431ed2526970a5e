"""Covariance matrices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

from spcastat.errors import ColumnTypeError, CovarianceError, DuplicateNamesError, OptionError, WeightsError
from spcastat.reading.covariance import looks_like_covariance, read_covariance


def matrix(p: int = 4, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(30, p))
    return np.cov(X, rowvar=False)


def labelled() -> pd.DataFrame:
    names = ["a", "b", "c", "d"]
    return pd.DataFrame(matrix(), index=names, columns=names)


def test_frame_keeps_its_labels():
    S = labelled()
    before = S.copy(deep=True)
    cov = read_covariance(S, n_obs=30)
    assert list(cov.columns) == ["a", "b", "c", "d"]
    assert cov.n_obs == 30
    assert cov.mean is None
    assert cov.scale is None
    np.testing.assert_allclose(cov.matrix, before.to_numpy(), rtol=1e-15)
    pd.testing.assert_frame_equal(S, before)


def test_array_gets_x_names_and_is_copied():
    S = matrix()
    cov = read_covariance(S)
    assert list(cov.columns) == ["x1", "x2", "x3", "x4"]
    assert not np.shares_memory(cov.matrix, S)
    assert not cov.matrix.flags.writeable
    S[0, 0] = 99  # still writeable
    assert cov.matrix[0, 0] != 99


def test_small_asymmetry_is_removed():
    S = matrix()
    S[0, 1] += 1e-10
    cov = read_covariance(S)
    np.testing.assert_array_equal(cov.matrix, cov.matrix.T)
    assert cov.matrix[0, 1] == pytest.approx((S[0, 1] + S[1, 0]) / 2, rel=1e-15)


def test_asymmetry_is_refused():
    S = labelled()
    S.loc["a", "c"] += 1e-3
    with pytest.raises(CovarianceError, match=r"not symmetric: the entries for 'a' and 'c' are"):
        read_covariance(S)
    with pytest.raises(CovarianceError, match="triangle"):
        read_covariance(np.tril(matrix()))


@pytest.mark.parametrize(
    ("S", "phrase"),
    [
        (np.ones((3, 2)), r"shape \(3, 2\)"),
        (np.ones(3), r"shape \(3,\)"),
        (np.ones((0, 0)), r"shape \(0, 0\)"),
        (np.zeros((3, 3)), "All entries of the matrix are zero"),
        ([[1.0, 0.0], [0.0, 1.0]], r"type list.*np.asarray"),
        (sps.eye_array(3), r"toarray\(\)"),
        (None, "NoneType"),
        (np.diag([1.0, np.nan]), "first .nan. in row 'x2', column 'x2'"),
        (np.diag([1.0, np.inf]), "finite"),
        (np.diag([1.0, -1.0]), "variance of 'x2' is -1; variances cannot be negative"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), r"smallest eigenvalue is -1 .*covariance 2 of 'x1' and 'x2'"),
    ],
)
def test_what_is_no_covariance_matrix(S, phrase):
    with pytest.raises(CovarianceError, match=phrase):
        read_covariance(S)


@pytest.mark.parametrize("S", [np.eye(2) * 1j, np.array([["a", "b"], ["b", "a"]]), np.eye(2).astype(object)])
def test_no_real_numbers(S):
    with pytest.raises(ColumnTypeError, match="real numbers"):
        read_covariance(S)


def test_frames_without_numbers():
    with pytest.raises(ColumnTypeError, match="'b'"):
        read_covariance(pd.DataFrame({"a": [1.0, 0.0], "b": ["x", "y"]}, index=["a", "b"]))


def test_indefinite_without_an_impossible_pair():
    # Each pair is possible, the three are not: typical of pairwise deletion.
    S = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    with pytest.raises(CovarianceError, match=r"smallest eigenvalue is -0.8 .*pairwise deletion") as caught:
        read_covariance(S)
    assert "exceeds" not in str(caught.value)


def test_singular_and_slightly_negative_matrices_pass():
    X = np.random.default_rng(1).normal(size=(5, 20))
    read_covariance(np.cov(X, rowvar=False))
    read_covariance(np.ones((6, 6)))
    # The tolerance is relative to the largest eigenvalue, here 6 times the largest entry.
    S = np.ones((6, 6)) - 3e-8 * np.eye(6)
    read_covariance(S)
    with pytest.raises(CovarianceError, match="semidefinite"):
        read_covariance(np.ones((6, 6)) - 3e-7 * np.eye(6))
    read_covariance(np.diag([1.0, 0.0]))
    read_covariance(np.array([[2.0]]))
    read_covariance(matrix() * 1e-200)
    read_covariance(matrix() * 1e200)


@pytest.mark.slow
def test_large_matrices_are_checked_without_eigenvalues():
    S = np.eye(3001)
    S[:6, :6] = 1.0
    read_covariance(S)
    S[0, 1] = S[1, 0] = 2.0
    with pytest.raises(CovarianceError, match="'x1' and 'x2' exceeds"):
        read_covariance(S)
    S[:3, :3] = [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]
    with pytest.raises(CovarianceError, match="not positive semidefinite"):
        read_covariance(S)


def test_single_precision_has_its_own_tolerance():
    S = np.corrcoef(np.random.default_rng(2).normal(size=(6, 12)), rowvar=False).astype("float32")
    S[0, 1] += np.float32(1e-6)
    cov = read_covariance(S)
    assert cov.matrix.dtype == np.float64
    assert read_covariance(pd.DataFrame(S)).matrix.dtype == np.float64


def test_labels_must_agree():
    S = labelled()
    with pytest.raises(CovarianceError, match=r"another order.*S.loc\[S.columns, S.columns\]"):
        read_covariance(S.loc[["b", "a", "c", "d"]])
    with pytest.raises(CovarianceError, match=r"labelled 0, 1, 2 and 1 more.*S.index = S.columns"):
        read_covariance(S.reset_index(drop=True))
    with pytest.raises(DuplicateNamesError, match="'a'"):
        read_covariance(S.set_axis(list("aacd"), axis=0).set_axis(list("aacd"), axis=1))


@pytest.mark.parametrize("n", [1, 0, -3, 2.5, 30.0, True, "30"])
def test_bad_n_obs(n):
    with pytest.raises(OptionError, match=f"n_obs={n!r}.*2 or more"):
        read_covariance(matrix(), n_obs=n)


def test_mean_and_sd():
    S = labelled()
    scale = pd.Series([4.0, 3.0, 2.0, 1.0], index=list("dcba"))
    cov = read_covariance(S, mean=[1, 2, 3, 4], sd=scale, n_obs=np.int64(10))
    np.testing.assert_array_equal(cov.mean, [1, 2, 3, 4])
    np.testing.assert_array_equal(cov.scale, [1, 2, 3, 4])
    assert cov.n_obs == 10
    assert type(cov.n_obs) is int
    by_position = read_covariance(S.to_numpy(), mean=scale)
    np.testing.assert_array_equal(by_position.mean, [4, 3, 2, 1])


@pytest.mark.parametrize(
    ("options", "phrase"),
    [
        ({"sd": True}, "pass the standard deviations"),
        ({"sd": np.False_}, "pass the standard deviations"),
        ({"mean": True}, "pass the means"),
        ({"mean": [1, 2, 3]}, r"shape \(3,\); it must be \(4,\)"),
        ({"mean": [1, 2, 3, np.nan]}, "finite"),
        ({"mean": 0.0}, r"shape \(\)"),
        ({"sd": [1, 2, 0, -1]}, "zero or negative for 'c', 'd'"),
        ({"sd": list("wxyz")}, "real numbers"),
        ({"mean": pd.Series([1.0, 2, 3, 4])}, "labels are not those of the variables"),
    ],
)
def test_bad_mean_and_sd(options, phrase):
    with pytest.raises(WeightsError, match=phrase):
        read_covariance(labelled(), **options)


def test_looks_like_covariance():
    S = labelled()
    assert looks_like_covariance(S)
    assert looks_like_covariance(S.corr())
    assert looks_like_covariance(pd.DataFrame(matrix()))


@pytest.mark.parametrize(
    "data",
    [
        None,
        matrix(),
        [[1]],
        "S",
        pd.DataFrame(),
        labelled().iloc[:3],
        labelled().reset_index(drop=True),
        labelled() + np.triu(np.ones((4, 4))),
        labelled().astype(object),
        labelled().astype(str),
        labelled() * np.nan,
        labelled() * np.inf,
        labelled().loc[["b", "a", "c", "d"]],
    ],
)
def test_what_does_not_look_like_a_covariance(data):
    assert looks_like_covariance(data) is False


def test_what_the_refusal_of_an_indefinite_matrix_advises_helps():
    deviations = np.diag([1.0, 5.0, 10.0])
    S = deviations @ np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]]) @ deviations
    with pytest.raises(CovarianceError, match="nearest=True"):
        read_covariance(S)
    found = read_covariance(S, nearest=True)
    # by symmetry all three correlations shrink alike, until the determinant 1 - 3r^2 - 2r^3 is 0
    R = np.array([[1.0, 0.5, -0.5], [0.5, 1.0, 0.5], [-0.5, 0.5, 1.0]])
    np.testing.assert_allclose(found.matrix, deviations @ R @ deviations, rtol=1e-7)
    assert found.about["largest"] == pytest.approx(0.4, abs=1e-7)
    np.testing.assert_array_equal(read_covariance(R, nearest=True).matrix, R)  # nothing to change
    S[1, 1] = 0.0
    with pytest.raises(CovarianceError, match=r"nearest=True.*'x2' is 0"):
        read_covariance(S, nearest=True)
