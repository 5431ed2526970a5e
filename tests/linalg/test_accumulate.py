"""Sums over rows in chunks and scales, in exact or extended arithmetic and against statsmodels."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sps
from statsmodels.robust.scale import mad, qn_scale

import spcastat as sp
from spcastat.errors import ConstantColumnError, DataError, InfiniteValuesError, MissingValuesError
from spcastat.linalg.accumulate import CrossProducts, Sums, product, sparse_sums
from spcastat.linalg.build import prepare
from spcastat.linalg.scales import SCALES, blocks, unit_of
from spcastat.reading import frames

# --- Sums over rows in chunks, against numpy's covariance of the whole in exact or extended arithmetic ---


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
        for kind in (Sums, CrossProducts):
            whole = kind(3)
            for i in order:
                part = kind(3)
                part.add(X[cuts[i] : cuts[i + 1]], w[cuts[i] : cuts[i + 1]] if weighted else None)
                whole.merge(part)
            np.testing.assert_allclose(whole.mean, mean, rtol=4e-16, atol=1e-14)
            found = whole.squares if kind is Sums else whole.products
            target = np.diag(products) if kind is Sums else products
            # The means of pieces of rows at `far` are known to its last bit, 1e-16 far, and enter with the
            # distances between pieces, of about the standard deviation: a relative 1e-16 far / 0.1.
            size = np.sqrt(np.outer(np.diag(products), np.diag(products)))
            bound = (1e-14 + 1e-14 * far) * (np.diag(size) if kind is Sums else size)
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


def test_single_precision_is_summed_in_double():
    rng = np.random.default_rng(3)
    X = (rng.standard_normal((4000, 5)) + 50.0).astype(np.float32)
    sums = CrossProducts(5)
    sums.add(X, None)
    assert sums.products.dtype == np.float64
    # single precision alone would be off by about 1e-7 * 50^2
    np.testing.assert_allclose(sums.products / 3999, np.cov(X.T.astype(float)), rtol=1e-10, atol=1e-12)


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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [True, False])
def test_rows_stored_by_row_give_what_rows_stored_by_column_give(weighted, center):
    rng = np.random.default_rng(5)
    dense = rng.random((4100, 500)) * (rng.random((4100, 500)) < 0.1)
    w = rng.uniform(0.1, 2.0, 4100) if weighted else None
    J = rng.permutation(500)[:120]
    v, found = rng.standard_normal(500), []
    for held in (sps.csr_array(dense), sps.csc_array(dense), dense):
        _, op = prepare(held, w, center, False, range(500), keep_rows=True)
        found.append([op.diagonal(), op.dot(v), op.block(J), op.columns(J), op.take(J).diagonal()])
    for one in found[1:]:
        for a, b in zip(found[0], one, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("shape", [(50, 6), (30, 450)])
@pytest.mark.parametrize("center", [True, False, "given"])
@pytest.mark.parametrize("scale", [True, False, "given"])
def test_one_pass_gives_means_scales_and_products(shape, center, scale):
    rng = np.random.default_rng(6)
    X = rng.standard_normal(shape) + 2.0
    w = rng.uniform(0.1, 2.0, shape[0])
    center = rng.standard_normal(shape[1]) if center == "given" else center
    scale = rng.uniform(1.0, 2.0, shape[1]) if scale == "given" else scale
    standard, op = prepare(X, w, center, scale, range(shape[1]))
    mean = w @ X / w.sum() if center is True else np.zeros(shape[1]) if center is False else center
    variances = w @ (X - mean) ** 2 / (w.sum() - 1.0)
    spread = np.sqrt(variances) if scale is True else np.ones(shape[1]) if scale is False else scale
    np.testing.assert_allclose(standard.mean, mean, atol=1e-14)
    np.testing.assert_allclose(standard.scale, spread, rtol=1e-13)
    V = rng.standard_normal((shape[1], 2))
    Y = (X - mean) / spread
    np.testing.assert_allclose(
        op.dot(V), Y.T @ (w[:, None] * (Y @ V)) / (w.sum() - 1.0), rtol=1e-9, atol=1e-11
    )


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


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shift", [0.0, 1e3], ids=["near", "far"])
def test_single_precision_of_any_order_and_mean_is_summed_in_double(order, shift):
    rows = np.random.default_rng(0).normal(size=(700, 5)) * [1, 2, 3, 4, 5] + shift
    X = np.asarray(rows, dtype=np.float32, order=order)
    found = CrossProducts(5)
    for part in (X[:300], X[300:]):
        found.add(part, None)
    exact = np.cov(X.astype(float), rowvar=False) * 699
    # 700 products of double precision; single precision would be wrong by 1e-7 and, far from zero, by 1e-1
    np.testing.assert_allclose(found.products, exact, rtol=0, atol=1e-12 * np.abs(exact).max())


def test_packed_triangles_are_merged_as_such_to_the_same_bits():
    X = np.random.default_rng(0).normal(size=(90, 7))
    plain, parts = CrossProducts(7), []
    for rows in (X[:40], X[40:41], X[41:]):
        one = CrossProducts(7)
        one.add(rows, None)
        plain.merge(one)
        one.pack()
        parts.append(pickle.loads(pickle.dumps(one)))
    assert parts[0].products.nbytes == 7 * 8 // 2 * 8  # 28 of 49 numbers
    merged = CrossProducts(7)
    for one in parts:
        merged.merge(one)
    assert merged.products.ndim == 1  # no whole matrix is made on the way
    merged.unpack()
    assert merged.products.tobytes() == plain.products.tobytes()
    parts[2].unpack()
    np.testing.assert_array_equal(parts[2].products, parts[2].products.T)


# --- Scales against statsmodels, which computes them by other means; units and blocks of work -----


@pytest.mark.parametrize("n", [2, 3, 10, 11, 400, 401])
def test_mad_and_qn_are_those_of_statsmodels(n):
    Z = np.random.default_rng(n).standard_normal((2, n))
    np.testing.assert_allclose(SCALES["mad"](Z), mad(Z, axis=1), rtol=1e-13)
    np.testing.assert_allclose(SCALES["qn"](Z), [qn_scale(row) for row in Z], rtol=1e-12)


@pytest.mark.parametrize("n", [50, 600])
def test_qn_of_values_that_mostly_coincide_is_zero(n):
    z = np.zeros(n)
    z[: n // 5] = np.arange(n // 5)
    assert SCALES["qn"](z) == 0.0
    assert SCALES["mad"](z) == 0.0


@pytest.mark.parametrize("name", SCALES)
def test_scales_do_not_move_with_the_data_and_grow_with_their_unit(name):
    z = np.random.default_rng(5).standard_normal(30)
    assert SCALES[name](7.0 - 3.0 * z) == pytest.approx(3.0 * SCALES[name](z), rel=1e-12)


# --- units that are powers of two -----------------------------------------------------------------


@pytest.mark.parametrize("exponent", [-1000, -301, -2, -1, 0, 1, 2, 17, 300, 999])
def test_a_unit_brings_the_largest_variance_to_between_a_half_and_two(exponent):
    for digits in (1.0, 1.1, 1.9999):
        variance = digits * 2.0**exponent
        unit = unit_of(variance)
        assert np.frexp(unit)[0] == 0.5  # a power of two
        assert 0.5 <= variance / unit / unit < 2.0


@pytest.mark.parametrize("variance", [5e-324, 1e-300, 1.7e308])
def test_squares_of_units_are_numbers(variance):
    square = unit_of(variance) ** 2
    assert np.isfinite(square)
    assert square >= np.finfo(float).tiny


@pytest.mark.parametrize("size", [0.0, np.inf, np.nan])
def test_what_has_no_size_is_left_as_it_is(size):
    assert unit_of(size) == 1.0


# --- blocks of work -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "each", "most", "sizes"),
    [
        (7, 10, 30, [3, 3, 1]),
        (7, 10, 39, [3, 3, 1]),  # a fourth would have one number more than there may be
        (6, 10, 30, [3, 3]),
        (3, 10, 9, [1, 1, 1]),  # one thing at a time, be it too large
        (3, 0, 9, [3]),
        (0, 10, 30, []),
    ],
)
def test_blocks_are_in_order_and_as_large_as_allowed(count, each, most, sizes):
    found = [np.arange(count)[one] for one in blocks(count, each, most)]
    assert [len(one) for one in found] == sizes
    assert [i for one in found for i in one] == list(range(count))
