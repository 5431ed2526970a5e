"""Covariance matrices and sparse matrices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from spcastat.errors import (
    CovarianceError,
    SparseStructureError,
)
from spcastat.reading.covariance import read_covariance
from spcastat.reading.frames import checked_sparse
from spcastat.reading.read import looks_like_covariance, read_data
from spcastat.streams.base import read_block, spec_of


def matrix(p: int = 4, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(30, p))
    return np.cov(X, rowvar=False)


def labelled() -> pd.DataFrame:
    names = ["a", "b", "c", "d"]
    return pd.DataFrame(matrix(), index=names, columns=names)


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


# --- Sparse matrices whose arrays contradict one another are refused before any product sees them ---
# A compiled product follows an index wherever it points, so that a fit of such a matrix may end the
# interpreter. That the check refuses is therefore tested without any product after it; whole calls run in a
# process of their own, whose death is a failure and not the end of all tests.

N, P = 12, 7
RNG = np.random.default_rng(1)
DENSE = np.where(RNG.random((N, P)) < 0.4, RNG.normal(size=(N, P)), 0.0)


def put(name, place, value):
    def change(matrix):
        array = getattr(matrix, name).copy()
        array[place] = value
        setattr(matrix, name, array)

    return change


def become(name, make):
    return lambda matrix: setattr(matrix, name, make(getattr(matrix, name)))


COMPRESSED = {
    "index too large": put("indices", 3, 99),
    "index negative": put("indices", 2, -1),
    "pointers fall": lambda matrix: put("indptr", 3, int(matrix.indptr[-1]) - 1)(matrix),
    "pointer negative": put("indptr", 1, -5),
    "pointers begin late": put("indptr", 0, 1),
    "pointers beyond the end": put("indptr", -1, 10**6),
    "one pointer too few": become("indptr", lambda a: a[:-1]),
    "fewer values than indices": become("data", lambda a: a[:-2]),
    "fewer indices than values": become("indices", lambda a: a[:-2]),
    "fractions as indices": become("indices", lambda a: a.astype(float)),
    "text as pointers": become("indptr", lambda a: a.astype(str)),
    "pointers in two axes": become("indptr", lambda a: a[None]),
}


def damaged(format, change, dtype=np.int32, kind=sparse.csr_array):
    matrix = kind(DENSE).asformat(format)
    matrix.indices, matrix.indptr = matrix.indices.astype(dtype), matrix.indptr.astype(dtype)
    change(matrix)
    return matrix


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("what", COMPRESSED)
def test_a_damaged_matrix_is_refused_by_name(what, format, dtype, kind):
    with pytest.raises(SparseStructureError, match=f"{format.upper()}, shape .12, 7.. is damaged: "):
        checked_sparse(damaged(format, COMPRESSED[what], dtype, kind))


def _coo(name, change):
    matrix = sparse.coo_array(DENSE)
    row, col = (places.copy() for places in matrix.coords)
    matrix.coords = (change(row), col) if name == "row" else (row, change(col))
    return matrix


def _with(array, place, value):
    array[place] = value
    return array


OTHERS = {
    "coo row": lambda: _coo("row", lambda a: _with(a, 0, N)),
    "coo column": lambda: _coo("col", lambda a: _with(a, 0, -1)),
    "coo lengths": lambda: _coo("col", lambda a: a[:-1]),
    "coo fractions": lambda: _coo("col", lambda a: a + 0.5),
}


def other(change, format):
    def make():
        matrix = sparse.csr_array(DENSE[:, :6])
        matrix = matrix.tobsr((2, 3)) if format == "bsr" else matrix.asformat(format)
        change(matrix)
        return matrix

    return make


def _add_key(matrix):
    matrix._dict[(N + 50, 1)] = 1.0


OTHERS |= {
    "bsr index": other(put("indices", 0, 50), "bsr"),
    "bsr shape of blocks": other(become("data", lambda a: np.repeat(a, 2, axis=2)[:, :, :5]), "bsr"),
    "dia lengths": other(become("offsets", lambda a: a[:-1]), "dia"),
    "dia twice": other(lambda m: put("offsets", 0, int(m.offsets[1]))(m), "dia"),
    "dia fractions": other(become("offsets", lambda a: a + 0.5), "dia"),
    "lil index": other(lambda m: m.rows[0].append(77) or m.data[0].append(1.0), "lil"),
    "lil lengths": other(lambda m: m.data[0].append(1.0), "lil"),
    "dok key": other(_add_key, "dok"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_damage_in_every_other_format_is_refused(what):
    with pytest.raises(SparseStructureError, match="is damaged"):
        checked_sparse(OTHERS[what]())


@pytest.mark.parametrize(("dtype", "value"), [("int8", 100), ("bool", True), ("uint8", 200)])
@pytest.mark.parametrize("format", ["coo", "csr", "csc", "bsr"])
def test_repeated_entries_of_narrow_types_are_added_up_as_floats(format, dtype, value):
    rows, columns = np.array([0, 0, 1, 2, 3, 3]), np.array([0, 0, 1, 0, 1, 1])
    expected = np.zeros((4, 2))
    np.add.at(expected, (rows, columns), float(value))
    values = np.full(6, value, dtype=dtype)
    by_column = np.argsort(columns, kind="stable")
    matrix = {
        "coo": lambda: sparse.coo_array((values, (rows, columns)), shape=(4, 2)),
        "csr": lambda: sparse.csr_array((values, columns, [0, 2, 3, 4, 6]), shape=(4, 2)),
        "csc": lambda: sparse.csc_array((values, rows[by_column], [0, 3, 6]), shape=(4, 2)),
        "bsr": lambda: sparse.bsr_array((values[:, None, None], columns, [0, 2, 3, 4, 6]), shape=(4, 2)),
    }[format]()
    np.testing.assert_array_equal(read_data(matrix).matrix.toarray(), expected)


def test_what_is_legal_stays_and_the_callers_matrix_is_not_changed():
    # two entries at (0, 1), unsorted, an explicit zero, and room behind the last entry
    data = np.array([1.0, 2.0, 3.0, 0.0, 5.0, 9.0, 9.0])
    indices = np.array([2, 1, 1, 0, 2, 90, -4])
    indptr = np.array([0, 3, 5])
    for dtype in (np.int32, np.int64, np.int16, np.uint32):
        matrix = sparse.csr_array((2, 3))
        matrix.data, matrix.indices, matrix.indptr = data.copy(), indices.astype(dtype), indptr.astype(dtype)
        before = [array.copy() for array in (matrix.data, matrix.indices, matrix.indptr)]
        assert np.array_equal(read_data(matrix).matrix.toarray(), [[0, 5, 1], [0, 0, 5]])
        after = (matrix.data, matrix.indices, matrix.indptr)
        assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(before, after, strict=True))


def test_chunks_are_checked_too():
    spec = spec_of(sparse.csr_array(DENSE))
    for format in ("csr", "csc"):
        with pytest.raises(SparseStructureError, match=r"chunk 3: .*(indices|index values) must be <"):
            read_block(spec, damaged(format, COMPRESSED["index too large"]), name="chunk 3")


def test_a_large_matrix_is_looked_through_though_its_values_are_not():
    # above COPY_LIMIT values are not read beforehand; an index at the far end must be found all the same
    n = 5_700_000
    places, pointers = np.zeros(n, dtype=np.int32), np.arange(n + 1, dtype=np.int32)
    matrix = sparse.csr_array((np.ones(n), places, pointers), (n, 2))
    matrix.indices[-1] = 2
    with pytest.raises(SparseStructureError, match=r"(indices|index values) must be < 2"):
        read_data(matrix, defer=True)
