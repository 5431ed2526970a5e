"""Products with the covariance matrix of a stream, and its leading eigenpairs from few of them."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sps
from hypothesis import given, settings
from hypothesis import strategies as st

import spcastat as sp
from spcastat.errors import ConvergenceWarning, OptionError
from spcastat.linalg.accumulate import CrossProducts, Sums
from spcastat.linalg.build import prepare, standard_of
from spcastat.linalg.eigenvectors import straightened
from spcastat.reading.design import ReadOptions
from spcastat.streams import operator as stream_operator
from spcastat.streams.operator import ACCURACY, Leading, Products, StreamRows, block_lanczos, krylov
from spcastat.streams.recognise import open_chunks

# --- Products with the covariance matrix of a stream: those of the matrix itself, in few passes ---


def rows(n=150, p=40, shift=2.0):
    """Columns of many scales."""
    return np.random.default_rng(1).normal(size=(n, p)) * np.linspace(5, 0.1, p) + shift


def cut(X, kind=np.asarray):
    return [kind(X[:40]), kind(X[40:41]), kind(X[41:])]


def opened(chunks, weights=None, center=True, scale=False):
    """The operator of a stream, as a fit makes it."""
    stream = open_chunks(chunks, ReadOptions(weights=weights))
    found = stream.reduce(partial(Sums, stream.p), "sums")
    sums = found.result
    standard = standard_of(sums.mean, sums.squares, sums.weight, center, scale, range(stream.p))
    return StreamRows(stream, sums, found.tally.positive, standard)


WEIGHTS = np.random.default_rng(0).integers(0, 3, 150).astype(float)
GIVEN = {"center": np.full(40, 1.5), "scale": np.linspace(1, 2, 40)}


@pytest.mark.parametrize("kind", [np.asarray, sps.csr_array, sps.csc_array], ids=["dense", "csr", "csc"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "how", [{}, {"scale": True}, {"center": False}, GIVEN], ids=["mean", "sd", "none", "given"]
)
def test_products_are_those_of_the_matrix(kind, weights, how):
    X = rows()
    X[:, 7] = 3.0  # does not vary: variance zero, not rounding
    if how.get("scale") is True:
        X[0, 7] = 4.0
    if weights is not None:
        weights = np.where(np.arange(150) == 0, 1.0, weights)
    op = opened(cut(X, kind), weights, **how)
    _, gram = prepare(X, weights, how.get("center", True), how.get("scale", False), range(40))
    V = np.random.default_rng(2).normal(size=(40, 3))
    J = np.array([9, 2, 30])
    size = gram.diagonal().max()
    close = partial(np.testing.assert_allclose, rtol=0, atol=1e-12 * size)
    close(op.dot(V), gram.dot(V), atol=1e-11 * size)
    close(op.dot(V[:, 0]), gram.dot(V[:, 0]), atol=1e-11 * size)
    close(op.diagonal(), gram.diagonal())
    close(op.columns(J), gram.columns(J))
    close(op.block(J), gram.block(J))
    close(op.take(J).S, gram.take(J).S)
    assert op.rank_limit == gram.rank_limit
    assert op.total == pytest.approx(gram.total, rel=1e-13)
    values, vectors = op.leading(3)
    exact, exact_vectors = gram.leading(3)
    np.testing.assert_allclose(values, exact, rtol=1e-10)
    np.testing.assert_allclose(vectors, exact_vectors, atol=1e-6)


def test_sparse_rows_far_from_zero_keep_their_digits():
    X = rows(shift=1e6)
    op, V = opened(cut(X, sps.csr_array)), np.eye(40)
    # Rows of 1e6 are themselves rounded to 1e-10; the variances here are 0.01 to 25.
    np.testing.assert_allclose(op.dot(V), np.cov(X.T), atol=1e-8)


@pytest.mark.parametrize("shift", [-(10**10), 10**10])
def test_sparse_whole_numbers_far_from_zero_have_the_covariances_of_small_ones(shift):
    Z = np.random.default_rng(3).integers(-50, 51, size=(150, 40)).astype(float)
    op, V = opened(cut(Z + shift, sps.csr_array)), np.eye(40)  # exact: 16 digits hold the sums
    # Means are known to 1e-6, and count as squares; products of 1e10 are known to 1e-6 times 30 or worse.
    np.testing.assert_allclose(op.dot(V), np.cov(Z.T), atol=1e-8)


def test_single_precision_is_multiplied_in_double_precision():
    X = rows().astype(np.float32)
    for kind in [np.asarray, sps.csr_array]:
        np.testing.assert_allclose(
            opened(cut(X, kind)).dot(np.eye(40)), np.cov(X.T.astype(float)), atol=1e-11
        )


def test_products_are_not_asked_for_twice():
    op, V = opened(cut(rows())), np.eye(40)[:, :2]
    first = op.dot(V)
    first[:] = 0.0
    assert op.dot(V).any()
    assert op.passes == 1
    op.leading(3)
    passes = op.passes
    assert passes < 12
    op.leading(2)
    assert op.passes == passes


@given(st.lists(st.integers(0, 60), max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_parts_add_up_to_the_whole_in_any_order(cuts, random):
    X, w = rows(60, 5), np.arange(60.0) % 4
    edges = [0, *sorted(cuts), 60]
    V = np.random.default_rng(0).normal(size=(5, 2))
    for begin in [partial(CrossProducts, 5), partial(Sums, 5), partial(Products, X.mean(axis=0), V, False)]:
        parts = []
        for start, stop in pairwise(edges):
            part = pickle.loads(pickle.dumps(begin))()
            part.add(X[start:stop], w[start:stop])
            parts.append(pickle.loads(pickle.dumps(part)))
        random.shuffle(parts)
        total = begin()
        for part in parts:
            total.merge(part)
        whole = begin()
        whole.add(X, w)
        for name in ["weight", "mean", "products", "squares", "result"]:
            if hasattr(whole, name):
                np.testing.assert_allclose(getattr(total, name), getattr(whole, name), rtol=1e-12, atol=1e-9)


# --- leading pairs --------------------------------------------------------------------------------


def spectrum(values, p=200):
    """A matrix with these eigenvalues, and its eigenvectors."""
    Q = np.linalg.qr(np.random.default_rng(5).normal(size=(p, p)))[0]
    lam = np.zeros(p)
    lam[: len(values)] = values
    return (Q * lam) @ Q.T, Q


@pytest.mark.parametrize(
    "values",
    [
        10 * 0.8 ** np.arange(200),
        1.0 / (1 + np.arange(200)),
        [5, 5, 5, 1, 1, 1],
        [3.0],
        np.r_[4, 3, 2, np.linspace(1, 0.01, 197)],
    ],
    ids=["geometric", "slow", "tied", "rank one", "spiked"],
)
def test_leading_values_are_exact(values):
    S, _ = spectrum(values)
    exact = np.linalg.eigvalsh(S)[::-1][:3]
    count = []
    found, V = block_lanczos(lambda B: count.append(1) or S @ B, 200, 3, 0, "x")
    np.testing.assert_allclose(found, exact, atol=1e-10 * exact[0])
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(S @ V, V * found, atol=1e-4 * exact[0])
    assert len(count) <= 15


@pytest.mark.slow
def test_a_basis_that_would_be_too_large_is_restarted_without_loss():
    """With 200,000 variables it has fifty vectors at most, fewer than four blocks."""
    variances = 0.85 ** np.minimum(np.arange(200_000.0), 2000)
    found = stream_operator.krylov(lambda B: variances[:, None] * B, 200_000, 3, 0, 30)
    assert found.exact
    assert found.passes > 4
    np.testing.assert_allclose(found.values, [1, 0.85, 0.85**2], rtol=1e-10)


def test_what_has_not_converged_says_so():
    S, _ = spectrum(1 + 1e-3 * np.linspace(1, 0, 200))
    with pytest.warns(ConvergenceWarning, match="of the stream are exact to .* after 2 passes"):
        found, V = block_lanczos(lambda B: S @ B, 200, 3, 0, "the stream", 2)
    # variances of directions, and as such at most the eigenvalues, which lie between 1 and 1.001
    np.testing.assert_allclose(found, np.diag(V.T @ S @ V), rtol=1e-12)
    assert (found <= np.linalg.eigvalsh(S)[::-1][:3] + 1e-12).all()
    assert (found > 1.0).all()


# --- fits -----------------------------------------------------------------------------------------


def wide(n=60, p=3100):
    """More variables than a covariance matrix is formed for; three groups go together."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(n, p))
    for i, size in enumerate([5, 4, 3]):
        X[:, 10 * i : 10 * i + size] += size * rng.normal(size=(n, 1))
    return X


class Counted(list):
    """Chunks that count how often they are gone through."""

    passes = 0

    def __iter__(self):
        self.passes += 1
        return super().__iter__()


def test_a_fit_with_many_variables_is_that_in_memory():
    X = wide()
    chunks = Counted([X[:25], X[25:]])
    fit = sp.spca(chunks, k=3, card=[5, 4, 3], method="bcd-l0")
    assert chunks.passes < 40
    groups = [np.flatnonzero(fit.loadings[name].to_numpy()).tolist() for name in fit.components]
    assert groups == [list(range(5)), list(range(10, 14)), list(range(20, 23))]
    V = fit.loadings.to_numpy()
    C = np.cov(X.T)
    np.testing.assert_allclose(fit.variance["score variance"], np.diag(V.T @ C @ V), rtol=1e-10)
    pca = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:3] ** 2 / (len(X) - 1)
    np.testing.assert_allclose(fit.variance["cumulative PCA"] * fit.total_variance, np.cumsum(pca), rtol=1e-9)


def test_methods_of_many_products_are_refused():
    X = wide(30)
    for options in [{"method": "zou", "card": 3}, {"method": "controlled", "variance": 0.5}]:
        with pytest.raises(OptionError, match="bcd-l0"):
            sp.spca([X], k=2, **options)


@pytest.mark.parametrize("kind", [np.asarray, sps.csr_array], ids=["dense", "csr"])
def test_a_column_that_does_not_vary_is_exactly_zero(kind):
    """Tenths are no sums of powers of two: the mean of many is another number."""
    X = rows()
    X[:, 7] = 0.1
    op = opened(cut(X, kind))
    assert op.diagonal()[7] == 0.0
    assert not op.dot(np.eye(40))[7].any()
    assert not op.columns(np.array([7])).any()


# --- few passes for dense PCA ---------------------------------------------------------------------


def weak(n=250, p=3200):
    """Three components of eight variables each that stand out little from noise."""
    rng = np.random.default_rng(3)
    V = np.zeros((3, p))
    for i in range(3):
        V[i, 100 * i : 100 * i + 8] = 8**-0.5
    return (rng.normal(size=(n, 3)) * [4.5, 4.0, 3.5]) @ V + rng.normal(size=(n, p))


WEAK = weak()


@pytest.fixture(scope="module")
def shares():
    """What dense PCA explains, cumulative: by the singular values of all rows."""
    values = np.linalg.svd(WEAK - WEAK.mean(axis=0), compute_uv=False) ** 2
    return np.cumsum(values)[:3] / values.sum()


@pytest.mark.parametrize("how", [{"effort": "quick"}, {"method": "bcd-l0"}], ids=["joint", "bcd-l0"])
def test_a_search_begins_after_few_passes_and_calls_dense_pca_a_bound(how, shares, tmp_path):
    chunks = Counted([WEAK[:150], WEAK[150:]])
    fit = sp.spca(chunks, 3, card=8, **how)
    assert chunks.passes <= 3 + 4 + 4  # kind, columns, sums; the start; cross-products, columns, measures
    supports = [np.flatnonzero(fit.loadings[name]).tolist() for name in fit.components]
    assert sorted(supports) == [list(range(100 * i, 100 * i + 8)) for i in range(3)]
    found = fit.variance["cumulative PCA"].to_numpy()
    assert np.all(found <= shares * (1 + 1e-12))
    np.testing.assert_allclose(found, shares, atol=1e-4)
    assert "The variance of dense PCA is a lower bound" in str(fit)
    fit.save(tmp_path / "weak.spca")
    assert str(sp.load(tmp_path / "weak.spca")) == str(fit)


def test_more_passes_are_made_where_they_are_asked_for(shares):
    chunks = [WEAK[:150], WEAK[150:]]
    fit = sp.spca(chunks, 3, card=8, passes=30, method="bcd-l0")
    np.testing.assert_allclose(fit.variance["cumulative PCA"], shares, rtol=1e-9)
    assert "at least what is given" not in str(fit)
    assert "passes=30" in fit.call


def test_a_share_of_what_pca_explains_needs_pca_itself():
    X = wide()
    fit = sp.spca([X[:25], X[25:]], 2, variance=0.5, effort="quick")
    assert "Dense PCA explains at least" not in str(fit)


def test_passes_are_for_rows_in_pieces():
    with pytest.raises(OptionError, match=r"passes=5 was given with data in memory"):
        sp.spca(WEAK, 2, card=3, passes=5)
    with pytest.raises(OptionError, match="passes=0"):
        sp.spca([WEAK[:10], WEAK[10:]], 2, card=3, passes=0)


def test_a_joint_bound_never_rests_on_a_pca_that_is_too_small(shares):
    fit = sp.spca([WEAK[:150], WEAK[150:]], 3, card=8, method="bcd-l0")
    found = fit.certify(joint=True, time_limit=0.5)
    assert found.table["pca_bound"].iloc[0] >= shares[-1] * (1 - 1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sps.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("mean", [-1e8, 1e8])
def test_means_far_from_zero_cost_no_digits(mean, kind):
    X = rows(shift=0.0)
    V = np.random.default_rng(2).normal(size=(40, 3))
    near, far = opened(cut(X)), opened(cut(X + mean, kind))
    # Of 16 digits 8 are the mean's: entries of the rows are known to 1.5e-8, and their products to as much.
    np.testing.assert_allclose(far.dot(V), near.dot(V), rtol=0, atol=2e-7)


# --- Leading eigenpairs from few products, against LAPACK -----------------------------------------


def matrix(values: np.ndarray, seed: int = 0) -> np.ndarray:
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return (Q * values) @ Q.T


class CountedProducts:
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
    dot = CountedProducts(DECAY * unit)
    values, vectors = block_lanczos(dot, 80, k, 0, "rows")
    np.testing.assert_allclose(values, 0.8 ** np.arange(k) * unit, rtol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(DECAY @ vectors, vectors * values / unit, atol=1e-5)  # its root
    assert dot.widths[0] == k + 10
    assert 2 <= len(dot.widths) <= 8
    again = block_lanczos(CountedProducts(DECAY * unit), 80, k, 0, "rows")
    np.testing.assert_array_equal(again[1], vectors)  # the same seed, the same bits
    assert not np.array_equal(block_lanczos(CountedProducts(DECAY * unit), 80, k, 1, "rows")[1], vectors)


def test_values_are_never_too_large_and_by_no_more_than_the_errors_too_small():
    exact = 0.97 ** np.arange(60.0)
    S = matrix(exact)
    for passes in (1, 2, 3, 4, 12):
        for wide in (2, 10):
            found = krylov(CountedProducts(S), 60, 5, 0, passes, wide)
            assert found.passes <= passes
            assert (np.cumsum(found.values) <= np.cumsum(exact[:5]) * (1 + 1e-13)).all()
            assert (np.diff(found.values) <= 0).all()
            if found.errors.max() < 1e-3:
                assert (found.values + found.errors >= exact[:5] * (1 - 1e-12)).all()
            assert found.exact == (found.errors.max() <= ACCURACY * found.values[0])


def test_as_many_vectors_as_variables_need_one_product():
    S = matrix(np.array([3.0, 2.0, 1.0, 0.5]))
    dot = CountedProducts(S)
    found = krylov(dot, 4, 2, 0, 30)
    assert (dot.widths, found.passes, found.exact) == ([4], 1, True)
    np.testing.assert_array_equal(found.errors, [0, 0])
    np.testing.assert_allclose(found.values, [3, 2], rtol=1e-13)
    assert krylov(CountedProducts(S), 4, 2, 0, 1).exact


def test_a_matrix_of_low_rank_is_exhausted():
    S = matrix(np.r_[[5.0, 4.0, 3.0], np.zeros(57)])
    dot = CountedProducts(S)
    found = krylov(dot, 60, 5, 0, 30)
    np.testing.assert_allclose(found.values, [5, 4, 3, 0, 0], atol=1e-13)
    assert (found.values >= 0).all()
    assert found.exact
    assert len(dot.widths) <= 3
    nothing = krylov(CountedProducts(np.zeros((20, 20))), 20, 2, 0, 30)
    np.testing.assert_array_equal(nothing.values, [0, 0])
    assert nothing.exact


def test_too_few_passes_are_warned_of():
    S = matrix(1.0 - 1e-3 * np.arange(80.0))
    dot = CountedProducts(S)
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
