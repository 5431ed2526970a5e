"""Operators against the explicit covariance matrix, by every route; sums over rows, and scales."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse as sps
from statsmodels.robust.scale import mad

import spcastat as sp
from spcastat.errors import (
    ConstantColumnError,
    DataError,
    InfiniteValuesError,
    MissingValuesError,
    OptionError,
)
from spcastat.linalg import operators
from spcastat.linalg.accumulate import ColumnSums, CrossProducts, column_sums, extremes, product, sparse_sums
from spcastat.linalg.deflation import ROW_DEFLATIONS, Deflated, Removed, deflate, deflate_rows
from spcastat.linalg.standardisation import checksum, prepare
from spcastat.reading import frames
from spcastat.solvers.robust import mad as median_absolute_deviation

SHAPES = {"tall": (60, 7), "wide": (8, 30)}
CENTRES: dict[str, Any] = {"mean": True, "none": False, "given": "given"}


def data(n: int, p: int, seed: int = 0) -> np.ndarray:
    """Counts-like data: half of the entries are zero, columns differ in mean and spread."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.5, 3.0, p) + rng.uniform(-2, 2, p)
    return X * (rng.random((n, p)) < 0.5)


def explicit(X: np.ndarray, weights: Any, center: Any, scale: Any) -> np.ndarray:
    """Return the covariance matrix with frequency weights, from repeated rows."""
    rows = np.repeat(X, np.ones(len(X), int) if weights is None else weights, axis=0).astype(float)
    mean = rows.mean(axis=0) if center is True else 0.0 if center is False else np.asarray(center)
    Y = rows - mean
    if scale is True:
        Y = Y / np.sqrt((Y**2).sum(axis=0) / (len(rows) - 1))
    elif scale is not False:
        Y = Y / np.asarray(scale)
    return Y.T @ Y / (len(rows) - 1)


def routes(X: np.ndarray, weights: Any, center: Any, scale: Any):
    """Yield a name and an operator for each way in which rows are served."""
    w = None if weights is None else np.asarray(weights, dtype=float)
    for form in ("gram", "rows"):
        for kind, held in (("dense", X), ("sparse", sps.csc_array(X))):
            op = prepare(held, w, center, scale, range(X.shape[1]), keep_rows=form == "rows")[1]
            yield f"{form} of {kind}", op


def removed(view: operators.Operator, Z: np.ndarray, i: int, how: str = "schur") -> Deflated:
    """Return what is left after column i of `Z`, the earlier ones having been removed before."""
    return deflate(view, Removed(v=Z[:, i], raw=Z[:, i], before=Z[:, :i]), how)


def compare(op: operators.Operator, S: np.ndarray, name: str, atol: float) -> None:
    """Compare all that an operator offers with the explicit matrix `S`."""
    p = len(S)
    rng = np.random.default_rng(9)
    V = rng.standard_normal((p, 3))
    J = np.array([p - 1, 0, p // 2])
    thin = np.zeros((p, 2))  # few nonzeros take another path than many
    thin[J[0], 0] = thin[J[1], 1] = -2.0
    close = {"atol": atol, "rtol": 0, "err_msg": name}
    assert op.p == p
    np.testing.assert_allclose(op.diagonal(), np.diag(S), **close)
    np.testing.assert_allclose(op.total, np.trace(S), atol=p * atol, rtol=0, err_msg=name)
    np.testing.assert_allclose(op.dot(V), S @ V, **close)
    np.testing.assert_allclose(op.dot(V[:, 0]), S @ V[:, 0], **close)
    np.testing.assert_allclose(op.dot(thin), S @ thin, **close)
    np.testing.assert_allclose(op.dot(thin[:, 0]), S @ thin[:, 0], **close)
    np.testing.assert_array_equal(op.dot(np.zeros((p, 2))), np.zeros((p, 2)))
    np.testing.assert_allclose(op.columns(J), S[:, J], **close)
    np.testing.assert_allclose(op.block(J), S[np.ix_(J, J)], **close)
    np.testing.assert_allclose(op.products(V), V.T @ S @ V, atol=20 * atol, rtol=0, err_msg=name)
    part = op.take(J)
    np.testing.assert_allclose(part.dot(np.eye(3)), S[np.ix_(J, J)], **close)
    np.testing.assert_allclose(part.diagonal(), np.diag(S)[J], **close)
    values, vectors = op.leading(3)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(S)[::-1][:3], **close)
    np.testing.assert_allclose(S @ vectors, vectors * values, **close)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-10, err_msg=name)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("centre", CENTRES)
@pytest.mark.parametrize("scale", [False, True, "given"])
def test_every_operator_of_the_same_rows_is_the_same_matrix(shape, weighted, centre, scale):
    X = data(*SHAPES[shape])
    n, p = X.shape
    weights = (
        np.random.default_rng(1).integers(1, 4, n) * np.arange(1, n + 1).clip(max=2) if weighted else None
    )
    if weighted:
        weights[3] = 0
    center = np.linspace(-1, 1, p) if centre == "given" else CENTRES[centre]
    spread = np.linspace(0.5, 2, p) if scale == "given" else scale
    rows = X if weights is None else np.repeat(X, weights, axis=0)
    X = X[:, (rows != rows[0]).any(axis=0)]  # a sparse column may be constant by chance
    center = center[: X.shape[1]] if centre == "given" else center
    spread = spread[: X.shape[1]] if scale == "given" else spread
    S = explicit(X, weights, center, spread)
    for name, op in routes(X, weights, center, spread):
        compare(op, S, name, 1e-12)  # variances are of order 1 to 10: some hundred roundings


@pytest.mark.parametrize("kind", [np.asarray, sps.csc_array])
def test_wide_data_have_an_operator_of_rows(kind):
    X = data(20, 450)  # above 400, with fewer rows than variables
    op = prepare(kind(X), None, True, False, range(450))[1]
    assert isinstance(op, operators.Rows)
    assert op.rank_limit == 19
    compare(op, np.cov(X, rowvar=False), "rows", 1e-11)  # sums over 450 variables


# --- accuracy -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("shape", [(50, 4), (1000, 4), (10, 30)])
def test_dense_data_far_from_zero(ratio, shape):
    X = np.random.default_rng(5).standard_normal(shape) + ratio
    centred = X - X[0]  # exact: neighbours of one size
    S = np.cov(centred, rowvar=False)
    for name, op in routes(X, None, True, False):
        if "sparse" not in name:
            compare(op, S, name, 1e-12)  # centred before anything is multiplied: no loss at all


@pytest.mark.parametrize("ratio", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("shape", [(50, 4), (1000, 4), (10, 30)])
def test_sparse_data_far_from_zero(ratio, shape):
    X = np.random.default_rng(5).standard_normal(shape) + ratio
    S = np.cov(X - X[0], rowvar=False)
    # Implicit centring subtracts numbers of size `ratio`: eps * ratio, over up to 30 terms. A matrix that
    # is a difference of squares loses eps * ratio^2: harmless at 1e3 (1e-9), all digits at 1e8.
    for name, op in routes(X, None, True, False):
        if "sparse" in name:
            compare(op, S, name, 1e-9 + 1e-13 * ratio)


def test_single_precision_is_computed_in_double():
    X = data(50, 6).astype(np.float32)
    S = np.cov(X.astype(float), rowvar=False)
    for name, op in routes(X, None, True, False):
        compare(op, S, name, 1e-12)
        assert op.dot(np.eye(6)).dtype == float


@pytest.mark.parametrize("kind", [sps.csr_array, sps.csc_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_many_columns_of_sparse_rows_take_no_dense_products(kind, weighted, center, scale, monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.poisson(1.0, (90, 70)) * (rng.random((90, 70)) < 0.05).astype(float)
    X[0] = 1.0  # so that no column is constant
    w = rng.integers(1, 4, 90).astype(float) if weighted else None
    op = prepare(kind(X), w, center, scale, range(70), True)[1]
    S = explicit(X, None if w is None else w.astype(int), center, scale)
    J = rng.permutation(70)[:40]

    def no_dense_products(*_: Any) -> np.ndarray:
        raise AssertionError

    monkeypatch.setattr(operators.SparseRows, "forward", no_dense_products)
    np.testing.assert_allclose(op.columns(J) * op.unit**2, S[:, J], atol=1e-13 * S.max())
    thin = np.zeros((70, 3))
    thin[[5, 9, 30], [0, 1, 1]] = -2.0, 1.0, 3.0
    if kind is sps.csc_array:  # of these, a product with sparse vectors reads the rows with entries alone
        np.testing.assert_allclose(op.dot(thin) * op.unit**2, S @ thin, atol=1e-12 * S.max())
    monkeypatch.undo()
    np.testing.assert_allclose(op.columns(J[:5]) * op.unit**2, S[:, J[:5]], atol=1e-13 * S.max())


def test_data_are_not_changed():
    X = data(30, 5)
    X.flags.writeable = False
    held = sps.csc_array(X)
    before = (held.data.copy(), held.indices.copy(), held.indptr.copy())
    w = np.linspace(0.5, 2, 30)
    for source in (X, held):
        for keep_rows in (False, True):
            op = prepare(source, w, True, True, range(5), keep_rows)[1]
            op.leading(2)
            op.score_basis(np.eye(5)[:, :2])
            removed(op, np.eye(5)[:, :1], 0).dot(np.eye(5))
    for now, then in zip((held.data, held.indices, held.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


# --- bases of scores ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_score_basis_is_the_qr_of_the_scores(shape):
    X = data(*SHAPES[shape])
    V = np.random.default_rng(7).standard_normal((X.shape[1], 4))
    V[:, 2] = V[:, 0]  # adds nothing
    Y = (X - X.mean(axis=0)) / np.sqrt(len(X) - 1)
    Q, R = np.linalg.qr(Y @ V[:, [0, 1, 3]])
    adjusted = np.diag(R) ** 2
    coupling = ((Y.T @ Q) ** 2).sum(axis=0)
    for name, op in routes(X, None, True, False):
        found, basis = op.score_basis(V)
        # Where only the covariance matrix is at hand, its square root is good to 1e-10 of the total.
        np.testing.assert_allclose(found[[0, 1, 3]], adjusted, rtol=1e-9, err_msg=name)
        np.testing.assert_allclose((basis**2).sum(axis=0)[[0, 1, 3]], coupling, rtol=1e-7, err_msg=name)
        assert found[2] <= 1e-10 * op.total
        assert basis.shape == (X.shape[1], 4)
        np.testing.assert_array_equal(basis[:, 2], 0.0)


# --- deflation ------------------------------------------------------------------------------------


def test_other_deflations_by_their_formulas():
    A = np.random.default_rng(10).standard_normal((30, 6))
    S = A.T @ A / 29
    Z = np.random.default_rng(11).standard_normal((6, 2))
    Z /= np.linalg.norm(Z, axis=0)
    for how in ("projection", "hotelling", "orthogonalised"):
        view: operators.Operator = operators.Gram(S)
        left = S
        for i in range(2):
            view = removed(view, Z, i, how)
            z = Z[:, i]
            if how == "hotelling":
                left = left - (z @ left @ z) * np.outer(z, z)
            else:
                q = z - Z[:, :i] @ (Z[:, :i].T @ z) if how == "orthogonalised" else z
                P = np.eye(6) - np.outer(q, q) / (q @ q)
                left = P @ left @ P
            np.testing.assert_allclose(view.dot(np.eye(6)), left, atol=1e-13, err_msg=how)


# --- Deflated rows must be what the deflated covariance matrix says, whatever the rows are held as ---


def rows_operator(n, p, sparse, weighted):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.4) * np.linspace(3, 1, p) + 0.0
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    held = scipy.sparse.csc_array(X) if sparse else X
    return prepare(held, weights, True, False, range(p), keep_rows=True)[1]


@pytest.mark.parametrize("how", ROW_DEFLATIONS)
@pytest.mark.parametrize(("n", "p", "sparse", "weighted"), [(40, 7, False, True), (6, 15, True, False)])
def test_rows_and_gram_deflate_to_the_same_covariance(how, n, p, sparse, weighted):
    op = rows_operator(n, p, sparse, weighted)
    rng = np.random.default_rng(4)
    rows, gram, V = op, op, np.zeros((p, 0))
    for _ in range(3):
        v = rng.standard_normal(p) * (rng.random(p) < 0.6)
        v[0] = 1.0
        v /= np.linalg.norm(v)
        part = Removed(v, 1.7 * v, V)
        rows, gram, V = deflate_rows(rows, part, how), deflate(gram, part, how), np.column_stack([V, v])
    S = gram.dot(np.eye(p))
    J = np.array([4, 1])
    close = {"atol": 1e-12 * op.total, "rtol": 0}  # rounding of products of size `total`
    np.testing.assert_allclose(rows.dot(np.eye(p)), S, **close)
    np.testing.assert_allclose(rows.columns(J), S[:, J], **close)
    np.testing.assert_allclose(rows.block(J), S[np.ix_(J, J)], **close)
    np.testing.assert_allclose(rows.diagonal(), np.diag(S), **close)
    np.testing.assert_allclose(rows.take(J).dot(np.eye(2)), S[np.ix_(J, J)], **close)
    cross = rows.cross_products()
    Y = rows.forward(np.eye(p))
    np.testing.assert_allclose(cross, Y @ Y.T if n < p else Y.T @ Y, **close)
    np.testing.assert_allclose(rows.leading(2)[0], np.linalg.eigvalsh(S)[::-1][:2], **close)


@pytest.mark.parametrize("sparse", [False, True])
def test_adjoint_is_the_adjoint(sparse):
    op = rows_operator(12, 9, sparse, True)
    v = np.eye(9)[2]
    view = deflate_rows(op, Removed(v, v, np.zeros((9, 0))), "schur")
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(9), rng.standard_normal(12)
    assert view.forward(a) @ b == pytest.approx(a @ view.adjoint(b), rel=1e-12)


@pytest.mark.parametrize(("n", "p", "sparse", "weighted"), [(40, 7, False, True), (6, 15, True, False)])
def test_schur_deflation_projects_on_the_complement_of_all_scores(n, p, sparse, weighted):
    """He, Monteiro and Park (2010), proposition 3.1, with NumPy's QR factorization of V Z."""
    view = rows_operator(n, p, sparse, weighted)
    rows = view.forward(np.eye(p))
    rng = np.random.default_rng(7)
    Z = np.zeros((p, 0))
    for _ in range(4):
        z = rng.standard_normal(p) * (rng.random(p) < 0.6)
        z[-1] = 1.0
        z /= np.linalg.norm(z)
        view, Z = deflate_rows(view, Removed(z, z, Z), "schur"), np.column_stack([Z, z])
        Q = np.linalg.qr(rows @ Z)[0]
        np.testing.assert_allclose(
            view.forward(np.eye(p)), rows - Q @ (Q.T @ rows), rtol=0, atol=1e-12 * np.linalg.norm(rows)
        )


def test_hotelling_is_refused_for_rows_and_the_others_named():
    op = rows_operator(30, 8, False, False)
    v = np.eye(8)[0]
    with pytest.raises(OptionError, match=r"not the covariance matrix of any rows.*'schur', 'projection'"):
        deflate_rows(op, Removed(v, v, np.zeros((8, 0))), "hotelling")


# --- Sums over rows in chunks, and scales -------------------------------------------------------


def exact_moments(X, w):
    """Means and cross-products about them in rational arithmetic: no rounding at all."""
    rows = [[Fraction(float(x)) for x in row] for row in X]
    weights = [Fraction(float(x)) for x in w]
    total = sum(weights)
    p = len(rows[0])
    mean = [sum(a * row[j] for a, row in zip(weights, rows, strict=True)) / total for j in range(p)]
    products = [
        [
            sum(a * (row[i] - mean[i]) * (row[j] - mean[j]) for a, row in zip(weights, rows, strict=True))
            for j in range(p)
        ]
        for i in range(p)
    ]
    return np.array(mean, dtype=float), np.array(products, dtype=float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("far", [0.0, 3.0, 1e4, 1e8])
def test_chunks_merged_in_any_order_have_the_moments_of_the_whole(far, weighted):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 3)) * [1.0, 10.0, 0.1] + far
    w = rng.uniform(0.0, 2.0, 60) if weighted else np.ones(60)
    mean, products = exact_moments(X, w)
    cuts = [0, 7, 8, 31, 60]
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        for kind in (ColumnSums, CrossProducts):
            whole = kind(3)
            for i in order:
                part = kind(3)
                part.add(X[cuts[i] : cuts[i + 1]], w[cuts[i] : cuts[i + 1]] if weighted else None)
                whole.merge(part)
            np.testing.assert_allclose(whole.mean, mean, rtol=4e-16, atol=1e-14)
            found = whole.squares if kind is ColumnSums else whole.products
            target = np.diag(products) if kind is ColumnSums else products
            # The means of pieces of rows at `far` are known to its last bit, 1e-16 far, and enter with the
            # distances between pieces, of about the standard deviation: a relative 1e-16 far / 0.1.
            size = np.sqrt(np.outer(np.diag(products), np.diag(products)))
            bound = (1e-14 + 1e-14 * far) * (np.diag(size) if kind is ColumnSums else size)
            assert (np.abs(found - target) <= bound).all()


def test_rows_that_drift_away_from_zero_lose_no_digits():
    """The first rows lie near zero, the last far away: the quick products must give way."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((500, 4))
    near = CrossProducts(4)
    near.add(X, None)
    np.testing.assert_allclose(near.products, np.cov(X.T) * 499, rtol=1e-12, atol=1e-11)
    X[300:] += 1e9
    drift = CrossProducts(4)
    drift.add(X, None)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(drift.products, centred.T @ centred, rtol=1e-12)


@pytest.mark.parametrize("kind", [sps.csr_array, sps.csc_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_sums_and_products_in_blocks(kind, weighted, dtype):
    n, p = 4000, 60  # 48,000 values, more than two million products with 50 columns
    rng = np.random.default_rng(4)
    dense = (rng.random((n, p)) * (rng.random((n, p)) < 0.2)).astype(dtype)
    dense[:, 3] = 0.0
    dense[5] = 0.0
    held = kind(dense)
    w = rng.uniform(0.1, 2.0, n) if weighted else None
    ones = np.ones(n) if w is None else w
    weight, mean, squares = sparse_sums(held, w)
    X = dense.astype(float)
    target = ones @ X / ones.sum()
    np.testing.assert_allclose(mean, target, atol=1e-15)
    np.testing.assert_allclose(squares, ones @ (X - target) ** 2, rtol=1e-12)
    assert weight == pytest.approx(ones.sum())
    V, U = rng.standard_normal((p, 50)), rng.standard_normal(n)
    np.testing.assert_allclose(product(held, V), X @ V, atol=1e-12)
    np.testing.assert_allclose(product(held.T, U), X.T @ U, atol=1e-11)
    assert product(held, V).dtype == np.float64


@pytest.mark.parametrize("kind", [sps.csr_array, sps.csc_array])
def test_columns_that_do_not_vary_have_no_negative_squares(kind):
    """Rounding of weighted means must not make the squares of a constant sparse column negative."""
    rng = np.random.default_rng(9)
    dense = rng.standard_normal((30, 100))
    dense[:, :99] = rng.standard_normal(99)
    w = rng.uniform(0.1, 3.0, 30)
    held = kind(dense)
    assert (sparse_sums(held, w)[2] >= 0).all()
    with pytest.raises(ConstantColumnError, match="99 of 100 columns do not vary"):
        prepare(held, w, True, True, range(100))
    _, op = prepare(held, w, True, False, range(100), keep_rows=True)
    np.testing.assert_array_equal(op.diagonal()[:99], 0.0)


@pytest.mark.parametrize("scale", [False, True])
def test_large_arrays_are_checked_by_their_sums(scale, monkeypatch):
    """Arrays above the limit are not looked through beforehand; what is not finite is found all the same."""
    rng = np.random.default_rng(7)
    monkeypatch.setattr(frames, "COPY_LIMIT", 100)
    for n, p in ((40, 6), (20, 450)):
        X = rng.standard_normal((n, p))
        X[3, 2] = np.nan
        with pytest.raises(MissingValuesError, match="1 missing value in 1 of"):
            sp.spca(X, 1, 2, scale=scale, method="bcd-l0")
        X[3, 2] = -np.inf
        with pytest.raises(InfiniteValuesError, match="x3"):
            sp.spca(X, 1, 2, scale=scale, method="bcd-l0")
        X[3, 2] = np.nan
        assert len(sp.spca(X, 1, 2, na="drop", scale=scale, method="bcd-l0").scores) == n - 1
        X[3, 2] = 0.0
        with pytest.raises(DataError, match="too large"):
            sp.spca(1e200 * X, 1, 2, method="bcd-l0")


@pytest.mark.parametrize(("n", "p"), [(1, 3), (7, 300), (2501, 4), (40, 5000), (130_001, 1)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_and_extremes_of_columns(n, p, order):
    # whole numbers, of which sums in any order are exact; shapes with and without rows left over
    X = np.asarray(np.random.default_rng(0).integers(-50, 50, (n, p)), dtype=float, order=order)
    np.testing.assert_array_equal(column_sums(X), X.sum(axis=0))
    np.testing.assert_array_equal(extremes(X), (X.min(axis=0), X.max(axis=0)))
    X[:, 0], X[: n // 2, 1:] = np.nan, np.nan
    smallest, largest = extremes(X)
    assert np.isnan([smallest[0], largest[0]]).all()
    np.testing.assert_array_equal(smallest[1:], X[n // 2 :, 1:].min(axis=0))
    np.testing.assert_array_equal(largest[1:], X[n // 2 :, 1:].max(axis=0))


CHANGES = {
    "one value": lambda X: X.__setitem__((3000, 4), np.nextafter(X[3000, 4], X.dtype.type(9))),
    "signs": lambda X: np.negative(X, out=X),
    "signs of a column": lambda X: np.negative(X[:, 3], out=X[:, 3]),
    "signs of two rows": lambda X: np.negative(X[100:102], out=X[100:102]),
    "two rows": lambda X: X.__setitem__([10, 11], X[[11, 10]]),
    "two columns": lambda X: X.__setitem__((slice(None), [2, 7]), X[:, [7, 2]]),
    "order of a column": lambda X: X[:, 4].sort(),
    "order of the rows": lambda X: np.random.default_rng(1).shuffle(X),
    "unit": lambda X: np.multiply(X, 1024.0, out=X),
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("change", CHANGES)
def test_the_checksum_changes_with_the_values_and_their_order(change, dtype, order):
    X = np.asarray(np.random.default_rng(0).standard_normal((20_000, 12)), dtype=dtype, order=order)
    before = checksum(X), checksum(X[:, ::2])
    assert before == (checksum(X.copy(order="K")), checksum(X[:, ::2]))
    CHANGES[change](X)
    after = checksum(X), checksum(X[:, ::2])
    assert after[0] != before[0]
    assert (after[1] != before[1]) == (change != "signs of a column")  # column 3 is not among the even ones


def test_the_checksum_changes_where_margins_of_a_binary_table_do_not():
    X = (np.random.default_rng(0).random((20_000, 12)) < 0.5).astype(float)
    before = checksum(X)
    pair = np.flatnonzero(X[:, 0] != X[:, 1])
    one, other = pair[X[pair, 0] == 1][0], pair[X[pair, 0] == 0][0]
    X[np.ix_([one, other], [0, 1])] = X[np.ix_([other, one], [0, 1])]
    assert checksum(X) != before


# --- Scales against statsmodels, which computes them by other means; units and blocks of work -----


@pytest.mark.parametrize("n", [2, 3, 10, 11, 400, 401])
def test_mad_is_that_of_statsmodels(n):
    Z = np.random.default_rng(n).standard_normal((2, n))
    np.testing.assert_allclose(median_absolute_deviation(Z), mad(Z, axis=1), rtol=1e-13)
