"""Products with the covariance matrix of a stream, its leading eigenpairs, and scores of its rows."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import spcastat as sp
from spcastat.errors import ConvergenceWarning, DataWarning, NewDataError, NoRowsError, OptionError
from spcastat.inputs.opening import source_of
from spcastat.linalg.accumulate import ColumnSums, CrossProducts
from spcastat.linalg.standardisation import prepare, standard_of
from spcastat.reading.design import ReadOptions
from spcastat.streams.operator import ACCURACY, ProductSums, StreamRows, block_lanczos, krylov

# --- Products with the covariance matrix of a stream: those of the matrix itself, in few passes ---


def rows(n=150, p=40, shift=2.0):
    """Columns of many scales."""
    return np.random.default_rng(1).normal(size=(n, p)) * np.linspace(5, 0.1, p) + shift


def cut(X, kind=np.asarray):
    return [kind(X[:40]), kind(X[40:41]), kind(X[41:])]


def opened(chunks, weights=None, center=True, scale=False):
    """The operator of a stream, as a fit makes it."""
    stream = source_of(chunks).stream(ReadOptions(weights=weights))
    found = stream.reduce(partial(ColumnSums, stream.p), "sums")
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
    for begin in [
        partial(CrossProducts, 5),
        partial(ColumnSums, 5),
        partial(ProductSums, X.mean(axis=0), V, False),
    ]:
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
    fit = sp.spca(chunks, k=3, card=[5, 4, 3], objective="pev", effort="quick")
    assert chunks.passes < 40
    groups = [np.flatnonzero(fit.loadings[name].to_numpy()).tolist() for name in fit.components]
    assert groups == [list(range(5)), list(range(10, 14)), list(range(20, 23))]
    V = fit.loadings.to_numpy()
    C = np.cov(X.T)
    np.testing.assert_allclose(fit.variance["score variance"], np.diag(V.T @ C @ V), rtol=1e-10)
    pca = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:3] ** 2 / (len(X) - 1)
    np.testing.assert_allclose(fit.variance["cumulative PCA"] * fit.total_variance, np.cumsum(pca), rtol=1e-9)


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


def test_products_of_variables_whose_cross_products_are_known_need_no_pass():
    op = opened([WEAK[:150], WEAK[150:]])
    V = np.zeros((WEAK.shape[1], 2))
    V[[3, 9], 0], V[[5, 9], 1] = [0.6, 0.8], [0.8, -0.6]
    expected = V.T @ np.cov(WEAK.T) @ V
    op.block(np.array([3, 5, 9, 11]))
    passes = op.passes
    # sums of 250 products in another order
    np.testing.assert_allclose(op.products(V), expected, rtol=1e-12)
    np.testing.assert_allclose(op.forms(V), np.diag(expected), rtol=1e-12)
    assert op.passes == passes
    V[40, 0] = 1.0  # not among the known variables
    np.testing.assert_allclose(op.products(V), V.T @ np.cov(WEAK.T) @ V, rtol=1e-12)
    assert op.passes == passes + 1


@pytest.fixture(scope="module")
def shares():
    """What dense PCA explains, cumulative: by the singular values of all rows."""
    values = np.linalg.svd(WEAK - WEAK.mean(axis=0), compute_uv=False) ** 2
    return np.cumsum(values)[:3] / values.sum()


@pytest.mark.parametrize("how", [{}, {"objective": "pev"}], ids=["adjusted", "pev"])
def test_a_search_begins_after_few_passes_and_calls_dense_pca_a_bound(how, shares, tmp_path):
    chunks = Counted([WEAK[:150], WEAK[150:]])
    fit = sp.spca(chunks, 3, card=8, effort="quick", **how)
    allowed = 3 + 4 + 2 + (1 if how else 2)  # kind, columns, sums; the start; columns, block; measures
    assert chunks.passes <= allowed
    supports = [np.flatnonzero(fit.loadings[name]).tolist() for name in fit.components]
    assert sorted(supports) == [list(range(100 * i, 100 * i + 8)) for i in range(3)]
    found = fit.variance["cumulative PCA"].to_numpy()
    assert np.all(found <= shares * (1 + 1e-12))
    np.testing.assert_allclose(found, shares, atol=1e-4)
    assert "Warning: the variance of dense PCA is a lower bound" in str(fit)
    fit.save(tmp_path / "weak.spca")
    assert str(sp.load(tmp_path / "weak.spca")) == str(fit)


def test_more_passes_are_made_where_they_are_asked_for(shares):
    chunks = [WEAK[:150], WEAK[150:]]
    fit = sp.spca(chunks, 3, card=8, passes=30, effort="quick")
    np.testing.assert_allclose(fit.variance["cumulative PCA"], shares, rtol=1e-9)
    assert "at least what is given" not in str(fit)
    assert "passes=30" in fit.call


def test_the_joint_search_takes_the_place_of_a_method_that_needs_many_passes():
    chunks = [WEAK[:150], WEAK[150:]]
    with pytest.raises(OptionError, match="use method='joint', with objective='pev' to maximise"):
        sp.spca(chunks, 3, card=8, method="bcd-l0")
    advised = sp.spca(chunks, 3, card=8, method="joint", objective="pev", effort="quick")
    in_memory = sp.spca(WEAK, 3, card=8, method="bcd-l0")  # on all variables
    # a published method may stop earlier, and sums over two chunks have other last digits
    assert advised.measure("pev") >= in_memory.measure("pev") * (1.0 - 1e-9)
    assert set(np.flatnonzero(in_memory.loadings.any(axis=1))) == {
        100 * i + j for i in range(3) for j in range(8)
    }


def test_passes_are_for_rows_in_pieces():
    with pytest.raises(OptionError, match=r"passes=5 was given with data in memory"):
        sp.spca(WEAK, 2, card=3, passes=5)
    with pytest.raises(OptionError, match="passes=0"):
        sp.spca([WEAK[:10], WEAK[10:]], 2, card=3, passes=0)


def test_a_joint_bound_never_rests_on_a_pca_that_is_too_small(shares):
    fit = sp.spca([WEAK[:150], WEAK[150:]], 3, card=8, objective="pev", effort="quick")
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


# --- Scores and diagnostics of streams: the same numbers as in memory, in chunks, in files ---------

RNG = np.random.default_rng(1)
FRAME = pd.DataFrame(RNG.normal(size=(200, 5)) @ RNG.normal(size=(5, 5)) + 2, columns=list("abcde"))
PIECES = [FRAME[:70], FRAME[70:71], FRAME[71:]]
#: Sums in other pieces: rounding of some hundred additions.
TOLERANCE = 1e-11


@pytest.fixture
def fits():
    """One fit from chunks, one from the whole."""
    how = {"k": 2, "card": 3, "scale": True, "method": "greedy"}
    return sp.spca(PIECES, **how), sp.spca(FRAME, **how)


def test_scores_come_in_chunks_again_and_again(fits):
    fit, whole = fits
    for _ in range(2):
        chunks = list(fit.scores)
        assert [len(chunk) for chunk in chunks] == [70, 1, 129]
        pd.testing.assert_frame_equal(pd.concat(chunks), whole.scores, rtol=TOLERANCE)
    assert fit.scores.shape == (200, 2)
    assert list(fit.scores.columns) == ["PC1", "PC2"]
    assert len(fit.scores) == 200
    np.testing.assert_allclose(np.asarray(fit.scores), whole.scores, rtol=TOLERANCE)
    np.testing.assert_allclose(fit.inverse_transform(fit.scores), whole.inverse_transform(whole.scores))
    text = repr(fit.scores)
    for part in ["the list of 3 chunks", "200 rows x 2 components", "for chunk in scores", "to_frame()"]:
        assert part in text


def test_diagnostics_are_those_in_memory(fits):
    fit, whole = fits
    pd.testing.assert_frame_equal(fit.diagnostics(), whole.diagnostics(), rtol=1e-9, check_index_type=False)
    pd.testing.assert_frame_equal(fit.diagnostics(PIECES), whole.diagnostics(FRAME), rtol=1e-9)
    np.testing.assert_allclose(fit.limits(), whole.limits(), rtol=1e-9)
    np.testing.assert_allclose(fit.correlations, whole.correlations, rtol=1e-9)


def test_what_needs_the_rows_in_memory_says_so(fits):
    fit, _ = fits
    for ask in [
        lambda: fit.residuals,
        lambda: fit.augment(),
    ]:
        with pytest.raises(NoRowsError, match=r"needs the rows in memory.*transform\(sample\)"):
            ask()


def test_new_data_may_be_a_stream_and_have_more_columns(fits, tmp_path):
    fit, whole = fits
    more = FRAME.assign(z=1.0, a=FRAME["a"] + 1)[list("zedcba")]
    more.to_parquet(tmp_path / "new.parquet", row_group_size=64)
    for one in fits:
        for new in [tmp_path / "new.parquet", [more[:100], more[100:]], lambda: iter([more])]:
            pd.testing.assert_frame_equal(one.transform(new).to_frame(), whole.transform(more), rtol=1e-10)
    assert fit.transform([more[:9], more[9:]]).shape == (200, 2)
    with pytest.raises(NewDataError, match=r"^chunk 1 of the list of 1 chunk \(rows 0 to 199\): .* 'b'"):
        fit.transform([FRAME.drop(columns="b")]).to_frame()


def test_new_arrays_are_taken_by_position_with_a_warning(fits):
    with pytest.warns(DataWarning, match="in the order of the fit"):
        found = fits[0].transform([FRAME.to_numpy()]).to_frame()
    pd.testing.assert_frame_equal(found, fits[1].scores, rtol=TOLERANCE)


def test_scores_go_into_a_file(fits, tmp_path):
    for one in fits:
        one.transform_to(tmp_path / "scores.parquet")
        found = pd.read_parquet(tmp_path / "scores.parquet")
        pd.testing.assert_frame_equal(found, fits[1].scores, rtol=TOLERANCE)
        assert isinstance(found.index, pd.RangeIndex)
    fits[0].transform_to(str(tmp_path / "new.parquet"), FRAME[:5])
    assert len(pd.read_parquet(tmp_path / "new.parquet")) == 5
    fits[0].transform_to(tmp_path / "new.parquet", [FRAME[:5], FRAME[:7]])
    assert len(pd.read_parquet(tmp_path / "new.parquet")) == 12
    fits[1].transform_to(tmp_path / "none.parquet", lambda: [])
    assert pd.read_parquet(tmp_path / "none.parquet").shape == (0, 2)


def test_labels_go_along_even_if_the_first_chunk_has_none(tmp_path):
    target = tmp_path / "scores.parquet"
    named = FRAME.set_axis([f"r{i}" for i in range(200)])
    sp.spca([named[:50], named[50:]], k=2, card=3, method="bcd-l0").transform_to(target)
    assert list(pd.read_parquet(target).index) == list(named.index)
    holes = FRAME.copy()
    holes.loc[100, "a"] = np.nan
    sp.spca([holes[:50], holes[50:]], k=2, card=3, na="drop", method="bcd-l0").transform_to(target)
    assert list(pd.read_parquet(target).index) == [i for i in range(200) if i != 100]


def test_a_fit_is_saved_without_scores_that_are_not_in_memory(fits, tmp_path):
    fit, whole = fits
    fit.save(tmp_path / "fit")
    again = sp.load(tmp_path / "fit")
    assert str(again) == str(fit)
    pd.testing.assert_frame_equal(again.loadings, fit.loadings)
    pd.testing.assert_frame_equal(again.transform(FRAME), whole.scores, rtol=TOLERANCE)
    again.transform_to(tmp_path / "scores.parquet", PIECES)
    with pytest.raises(NoRowsError):
        again.scores  # noqa: B018
    with pytest.raises(OptionError, match=r"fit.transform_to\(path\)"):
        fit.save(tmp_path / "other", scores=True)
    whole.save(tmp_path / "whole")
    pd.testing.assert_frame_equal(sp.load(tmp_path / "whole").scores, whole.scores)


def test_refit_walks_over_the_source_again(fits):
    fit, whole = fits
    np.testing.assert_allclose(fit.refit(card=2).loadings, whole.refit(card=2).loadings, atol=TOLERANCE)


# --- Rows that are never all in memory, and what shows single rows --------------------------------

N = 6000


def many_rows():
    X = np.random.default_rng(2).normal(size=(N, 6)) * [4, 4, 3, 3, 1, 1]
    X[:, 1] += X[:, 0]
    X[:, 3] -= X[:, 2]
    return X


X = many_rows()


def fitted(*cuts):
    return sp.spca([X[a:b] for a, b in zip([0, *cuts], [*cuts, N], strict=True)], 2, card=2)


@pytest.fixture(scope="module")
def fit():
    return fitted(2500)


def place_of(scores, fit, rows=None):
    """Where rows of a sample stand among all rows, by their scores."""
    every = pd.Index(fit.transform(X if rows is None else rows).to_numpy()[:, 0].round(9))
    return every.get_indexer(scores.to_numpy()[:, 0].round(9))


def drawn_scores(fit):
    """The scores that plots of the fit draw."""
    return fit._scores_to_draw("plot_scores")


def test_a_biplot_shows_a_sample_and_says_so(fit):
    ax = fit.biplot()
    assert ax.get_title(loc="right") == "2000 of 6000 rows, drawn at random (seed 0)"
    shown = drawn_scores(fit)
    places = place_of(shown, fit)
    assert len(shown) == 2000 == len(set(places))
    assert places.min() >= 0
    # Every row has the same chance: places are uniform (Kolmogorov and Smirnov).
    assert stats.kstest(places / N, "uniform").pvalue > 0.001


def test_the_sample_does_not_depend_on_the_size_of_chunks(fit):
    other = fitted(7, 1000, 4999)
    assert set(place_of(drawn_scores(fit), fit)) == set(place_of(drawn_scores(other), other))


def test_few_rows_are_all_drawn():
    fit = sp.spca([X[:30], X[30:50]], 1, card=2)
    ax = fit.plot_scores()
    assert ax.get_title(loc="right") == ""
    assert sorted(place_of(drawn_scores(fit), fit)) == list(range(50))


def test_rows_without_weight_are_not_drawn():
    w = (np.arange(N) % 3 == 0).astype(float)
    fit = sp.spca([X], 1, card=2, weights=w)
    assert (place_of(drawn_scores(fit), fit) % 3 == 0).all()


def test_values_of_all_rows_are_refused_for_a_sample(fit):
    with pytest.raises(NoRowsError, match=r"groups=.* represented by a sample"):
        fit.biplot(groups=np.zeros(N))


def test_diagnostics_on_workers_are_those_of_a_sample():
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X)
    fit = sp.spca(dd.from_pandas(frame, npartitions=6), 2, card=2)
    with pytest.warns(DataWarning, match="2000 of 6000 rows, drawn at random"):
        found = fit.diagnostics()
    every = sp.spca(X, 2, card=2).diagnostics()
    places = place_of(drawn_scores(fit), fit, frame)
    np.testing.assert_allclose(found.to_numpy(), every.to_numpy()[places], rtol=1e-8)
    assert fit.plot_diagnostics().get_title(loc="right").startswith("2000 of 6000")
    small = sp.spca(dd.from_pandas(pd.DataFrame(X[:100]), npartitions=4), 2, card=2)
    assert len(small.diagnostics()) == 100
