"""Missing values: the EM, available cases, numbers that stand for missing values, and fits of them."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.correlation_tools import corr_nearest

import spcastat as sp
from spcastat import cli, errors
from spcastat.errors import ConvergenceWarning, DataWarning
from spcastat.reading.missing_values import PpcaModel, em_moments, nearest_correlation, pairwise_moments
from tests.conftest import source_of

# --- EM for probabilistic PCA against closed forms and the likelihood itself ----------------------


def low_rank(n: int, p: int, q: int, seed: int, share: float = 0.15) -> np.ndarray:
    """Rows of q strong components with noise, and gaps at random."""
    rng = np.random.default_rng(seed)
    X = 2.0 * rng.standard_normal((n, q)) @ rng.standard_normal((q, p)) + rng.standard_normal((n, p)) + 3.0
    X[rng.random((n, p)) < share] = np.nan
    return X


def log_likelihood(X: np.ndarray, mean: np.ndarray, S: np.ndarray) -> float:
    """That of the normal distribution for what was measured, row by row, by SciPy."""
    from scipy.stats import multivariate_normal

    total = 0.0
    for row in X:
        o = ~np.isnan(row)
        total += multivariate_normal.logpdf(row[o], mean[o], S[np.ix_(o, o)])
    return total


def test_nothing_missing_is_the_sample_covariance():
    """S is the sample covariance whatever the rank; the model is Tipping and Bishop's closed form (1999)."""
    X = low_rank(40, 6, 2, 0, share=0.0)
    found = em_moments(X, None, 2)
    np.testing.assert_allclose(found.covariance, np.cov(X.T), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-13)
    values = np.linalg.eigvalsh(np.cov(X.T, ddof=0))[::-1]
    np.testing.assert_allclose(np.linalg.eigvalsh(found.model.covariance)[::-1][:2], values[:2], rtol=1e-10)
    sigma2 = np.linalg.eigvalsh(found.model.covariance)[0]
    assert sigma2 == pytest.approx(values[2:].mean(), rel=1e-10)
    assert (found.patterns, found.converged) == (1, True)


@pytest.mark.parametrize("scale", [False, True])
def test_a_monotone_pattern_of_two_variables_has_a_closed_form(scale):
    """Anderson (1957), JASA 52: the regression of y on x among complete rows, put to all x.

    Rank 1 of 2 variables is any covariance matrix, in any units. 1e-6: the EM ends when 1e-12 of the
    log-likelihood is left, whose root is the error of the parameters.
    """
    rng = np.random.default_rng(1)
    n = 60
    X = rng.multivariate_normal([1.0, 2.0], [[1.0, 0.7], [0.7, 2.0]], n)
    X[40:, 1] = np.nan
    x, y, both = X[:, 0], X[:40, 1], X[:40, 0]
    slope = np.cov(both, y, ddof=0)[0, 1] / both.var()
    mean = np.array([x.mean(), y.mean() + slope * (x.mean() - both.mean())])
    variance = y.var() + slope**2 * (x.var() - both.var())
    S = np.array([[x.var(), slope * x.var()], [slope * x.var(), variance]])
    found = em_moments(X, None, 1, scale=scale, tol=1e-12)
    np.testing.assert_allclose(found.model.mean, mean, atol=1e-6)
    np.testing.assert_allclose(found.model.covariance, S, atol=2e-6)
    np.testing.assert_allclose(found.covariance, S * n / (n - 1), atol=2e-6)


@pytest.mark.parametrize(("n", "p", "q"), [(40, 7, 6), (60, 10, 2), (25, 60, 2)])
def test_the_likelihood_rises_and_is_that_of_the_normal_distribution(n, p, q):
    """Every iteration raises it, up to rounding, with exact eigenvectors and with those in a subspace."""
    X = low_rank(n, p, min(q, 3), 2)
    found = em_moments(X, None, q, tol=1e-10)
    heights = found.log_likelihood
    assert np.diff(heights).min() >= -1e-10 * abs(heights[-1])
    units = found.model.scale
    jacobian = np.log(units) @ (~found.missing).sum(axis=0)
    direct = log_likelihood(X, found.model.mean, found.model.covariance)
    assert heights[-1] - jacobian == pytest.approx(direct, rel=1e-10)


def test_it_is_a_maximum():
    """No small change of the mean, the loadings or the noise raises the likelihood.

    A likelihood within 1e-9 a value of its maximum cannot rise by more.
    """
    X = low_rank(50, 6, 2, 3)
    model = em_moments(X, None, 2, tol=1e-9).model
    best = log_likelihood(X, model.mean, model.covariance)
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = PpcaModel(
            model.mean + 1e-3 * rng.standard_normal(6),
            model.scale,
            model.loadings + 1e-3 * rng.standard_normal((6, 2)),
            model.sigma2 * (1 + 1e-3 * rng.standard_normal()),
        )
        assert log_likelihood(X, other.mean, other.covariance) <= best + 1e-9 * X.size


def test_conditional_means_are_those_of_the_normal_distribution():
    X = low_rank(30, 6, 2, 4)
    found = em_moments(X, None, 2)
    S, mean = found.model.covariance, found.model.mean
    row = int(np.flatnonzero(found.missing.any(axis=1))[0])
    m = found.missing[row]
    expected = mean[m] + S[np.ix_(m, ~m)] @ np.linalg.solve(S[np.ix_(~m, ~m)], (X[row] - mean)[~m])
    np.testing.assert_allclose(found.rows[row, m], expected, rtol=1e-10)
    np.testing.assert_array_equal(found.rows[~found.missing], X[~found.missing])
    np.testing.assert_array_equal(found.model.filled(X), found.rows)


def test_the_covariance_keeps_the_variance_of_what_was_not_measured():
    """S - cov(rows) is the sum of the conditional covariance matrices, worked out densely, over n - 1."""
    X = low_rank(30, 6, 2, 5)
    found = em_moments(X, None, 2)
    S, added = found.model.covariance, np.zeros((6, 6))
    for m in found.missing:
        block = S[np.ix_(m, m)] - S[np.ix_(m, ~m)] @ np.linalg.solve(S[np.ix_(~m, ~m)], S[np.ix_(~m, m)])
        added[np.ix_(m, m)] += block
    np.testing.assert_allclose(found.covariance - np.cov(found.rows.T), added / 29, rtol=1e-8, atol=1e-10)


def test_weights_count_rows():
    X = low_rank(30, 6, 2, 6)
    w = np.random.default_rng(0).integers(0, 3, 30)
    weighted = em_moments(X, w.astype(float), 2)
    repeated = em_moments(np.repeat(X, w, axis=0), None, 2)
    np.testing.assert_allclose(weighted.covariance, repeated.covariance, rtol=1e-9)
    np.testing.assert_allclose(np.repeat(weighted.rows, w, axis=0), repeated.rows, rtol=1e-9)


def singular_values(rows: np.ndarray, q: int) -> np.ndarray:
    return np.linalg.svd(rows, compute_uv=False)[:q]


def test_shrunk_scores_are_those_of_optimal_shrinkage_of_singular_values():
    """Gavish and Donoho (2017), eq. 7, for singular values over sqrt(n) times the noise, from the SVD.

    The number of rows is n - 1 where columns are centred. One direction lies above the bulk edge, one in it.
    """
    n, p = 30, 60
    rng = np.random.default_rng(4)
    X = 4.0 * rng.standard_normal((n, 1)) * rng.choice([-1.0, 1.0], p) / 3.0 + rng.standard_normal((n, p))
    model = em_moments(X, None, 2).model
    Z = model.standardised(X)
    y = singular_values(Z, 2) / np.sqrt(n * model.sigma2)
    beta = p / (n - 1)
    edge = 1.0 + np.sqrt(beta)
    assert y[0] > edge > y[1]
    expected = np.sqrt((y[0] ** 2 - beta - 1.0) ** 2 - 4.0 * beta) / y[0] * np.sqrt(n * model.sigma2)
    W = model.shrunk(n).loadings
    T = Z @ W @ np.linalg.inv(W.T @ W + model.sigma2 * np.eye(2))
    np.testing.assert_allclose(singular_values(T @ W.T, 2), [expected, 0.0], rtol=1e-10, atol=1e-10)


def test_wide_rows_are_filled_with_less_error_than_by_the_means_of_the_model():
    """Two weak components among 200 columns of 50 rows: directions are half noise."""
    rng = np.random.default_rng(3)
    V = np.zeros((200, 2))
    V[:6, 0] = V[6:12, 1] = 1.0
    errors_of = {"means": 0.0, "model": 0.0, "shrunk": 0.0}
    for _ in range(5):
        whole = rng.standard_normal((50, 2)) @ V.T + rng.standard_normal((50, 200))
        gone = rng.random(whole.shape) < 0.1
        X = np.where(gone, np.nan, whole)
        model = em_moments(X, None, 2).model
        filled = {"means": np.where(gone, np.nanmean(X, axis=0), X), "model": model.filled(X)}
        filled["shrunk"] = model.shrunk(50).filled(X)
        for name, rows in filled.items():
            errors_of[name] += ((rows - whole)[gone] ** 2).mean()
    assert errors_of["shrunk"] < errors_of["means"] < errors_of["model"]


@pytest.mark.parametrize(
    ("where", "value", "error", "words"),
    [
        ((slice(None), 1), np.nan, errors.MissingValuesError, "1 column without any value: 'b'"),
        ((3, slice(None)), np.nan, errors.MissingValuesError, "1 row without any value: 'r3'"),
        ((slice(None), 2), 7.0, errors.ConstantColumnError, "1 column do not vary: 'c'"),
    ],
)
def test_what_cannot_be_estimated_is_named(where, value, error, words):
    X = low_rank(20, 4, 1, 11)
    X[where] = value
    with pytest.raises(error, match=words):
        em_moments(X, None, 1, names=pd.Index(list("abcd")), index=pd.Index([f"r{i}" for i in range(20)]))


# --- What a fit says when the EM of its gaps has not converged ------------------------------------


def gappy():
    X = np.random.default_rng(0).standard_normal((40, 6)) @ np.diag([3.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    X[::7, 2] = X[3::5, 0] = np.nan
    return X


@pytest.mark.filterwarnings("error")
def test_steps_that_do_not_suffice_are_warned_of(monkeypatch):
    monkeypatch.setattr("spcastat.reading.missing_values.PPCA_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match="the EM stopped after 2 iterations, before it converged"):
        sp.spca(gappy(), 2, 3, na="em")


# --- Available cases against pandas, and the nearest correlation matrix against statsmodels and Higham's ---
# example.


def frame(seed: int, n: int = 40, p: int = 5, share: float = 0.2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + 10
    data = pd.DataFrame(X, columns=list("abcdefgh"[:p]))
    return data.mask(rng.random(data.shape) < share)


def test_correlations_and_variances_are_those_of_pandas():
    data = frame(0)
    found = pairwise_moments(data.to_numpy(), None)
    sd = data.std().to_numpy()
    np.testing.assert_allclose(found.covariance, data.corr() * sd * sd[:, None], rtol=1e-10)
    np.testing.assert_allclose(found.mean, data.mean(), rtol=1e-12)
    there = data.notna().to_numpy().astype(int)
    assert found.fewest == (there.T @ there).min()
    assert found.nearest.moved == 0.0


def test_the_nearest_correlation_matrix_of_highams_example():
    """Higham (2002), section 4: distance 0.5278 and off-diagonal 0.7607, 0.1573, to the digits printed
    there."""
    R = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    found = nearest_correlation(R)
    assert found.moved == pytest.approx(0.5278, abs=5e-5)
    assert found.correlation[0, 1] == pytest.approx(0.7607, abs=5e-5)
    assert found.correlation[0, 2] == pytest.approx(0.1573, abs=5e-5)
    assert found.smallest == pytest.approx(1 - np.sqrt(2))
    assert np.linalg.eigvalsh(found.correlation)[0] >= -1e-8


# statsmodels reaches its limit of iterations where the result is singular, and warns
@pytest.mark.filterwarnings("ignore")
def test_the_nearest_correlation_matrix_is_that_of_statsmodels():
    data = frame(2, n=24, p=8, share=0.45)
    R = data.corr().to_numpy()
    found = nearest_correlation(R)
    assert found.smallest < -0.01
    np.testing.assert_allclose(found.correlation, corr_nearest(R), atol=1e-6)
    assert found.moved == pytest.approx(np.linalg.norm(found.correlation - R))
    assert found.largest == pytest.approx(np.abs(found.correlation - R).max())


def optimality(R: np.ndarray, X: np.ndarray) -> float:
    """Return by how much X fails the conditions for the nearest correlation matrix to R.

    X is nearest exactly if it is positive semidefinite with a diagonal of ones, and S = X - R - Diag(y) is
    positive semidefinite with X S = 0 for some y (Higham 2002, Theorem 2.4). The diagonal of X S gives y.
    """
    S = X - R - np.diag(np.einsum("ij,ji->i", X, X - R))
    failures = [np.abs(X @ S).max(), np.abs(np.diag(X) - 1).max()]
    return max(*failures, *(-np.linalg.eigvalsh(M)[0] for M in (X, S)))


def test_the_nearest_correlation_matrix_meets_the_conditions_of_optimality():
    factors, gaps = np.random.default_rng(0), np.random.default_rng(1)
    rows = factors.normal(size=(60, 4)) @ factors.normal(size=(4, 120)) + factors.normal(size=(60, 120))
    available = pd.DataFrame(rows).mask(gaps.random(rows.shape) < 0.2).corr().to_numpy()
    signs = np.sign(np.random.default_rng(2).normal(size=(40, 40)))
    signs = np.triu(signs, 1) + np.triu(signs, 1).T + np.eye(40)
    uniform = np.random.default_rng(3).uniform(-1, 1, size=(50, 50))
    uniform = np.triu(uniform, 1) + np.triu(uniform, 1).T + np.eye(50)
    for R in (available, signs, uniform):
        assert np.linalg.eigvalsh(R)[0] < -0.1
        # Newton's method ends at a diagonal within 1e-10 of one, usually far closer
        assert optimality(R, nearest_correlation(R).correlation) < 1e-9


def test_pairs_without_a_correlation_are_named():
    data = frame(3)
    data.loc[:19, "a"], data.loc[20:, "b"] = np.nan, np.nan
    with pytest.raises(errors.MissingValuesError, match="'a', 'b' have none: fewer than two rows have both"):
        pairwise_moments(data.to_numpy(), None, names=data.columns)
    data = frame(4, share=0.0)
    data.loc[:29, "a"], data.loc[30:, "b"] = np.nan, 1.0
    with pytest.raises(errors.ConstantColumnError, match="does not vary in the rows that have both"):
        pairwise_moments(data.to_numpy(), None, names=data.columns)


# --- Numbers that stand for missing values are pointed out; ordinary large numbers are not --------

N = 50
RNG = np.random.default_rng(1)
FRAME = pd.DataFrame(RNG.normal(size=(N, 3)), columns=list("abc"))


def with_code(values, code, rows=(7,)):
    values = np.array(values, dtype=float)
    values[list(rows)] = code
    return values


CODED = {
    "-99 among answers": (with_code(RNG.integers(1, 8, N), -99), "-99 in 'x', whose other values are 1 to 7"),
    "99 among answers": (with_code(RNG.integers(1, 8, N), 99, (1, 2, 9)), "99 in 'x'"),
    "999 among ages": (with_code(RNG.integers(18, 91, N), 999), "999 in 'x', whose other values are 19"),
    "9999": (with_code(RNG.normal(0, 30, N), 9999), "9999 in 'x'"),
    "-9999": (with_code(RNG.normal(0, 30, N), -9999), "-9999 in 'x'"),
}
ORDINARY = {
    "99 among ages": with_code(RNG.integers(18, 91, N), 99),
    "percent": with_code(RNG.integers(0, 100, N), 99),
    "999 among hundreds": with_code(RNG.integers(100, 998, N), 999),
    "cents": with_code(RNG.integers(0, 99, N), 99) / 100,
    "another outlier": with_code(RNG.integers(1, 8, N), 998),
    "only codes": np.where(np.arange(N) % 2, 99.0, 999.0),
}


@pytest.mark.parametrize("name", CODED)
def test_a_code_is_named_with_its_column_in_one_line(name):
    values, words = CODED[name]
    with pytest.warns(DataWarning, match="Are these numbers codes for missing values") as caught:
        sp.spca(FRAME.assign(x=values), 1, 2, scale=True)
    assert len(caught) == 1
    assert words in str(caught[0].message)
    assert "\n" not in str(caught[0].message)
    assert caught[0].filename == __file__
    with pytest.warns(DataWarning, match="codes for missing"):
        sp.spca(FRAME.assign(x=values), 1, 2, formula="~ a + b + x", scale=True)


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_numbers_are_not(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sp.spca(FRAME.assign(x=ORDINARY[name]), 1, 2, scale=True)


def test_both_codes_of_a_column_and_missing_values_beside_them():
    values = with_code(with_code(with_code(RNG.integers(1, 8, N), -99, [3]), 999, [4]), np.nan, [5])
    with pytest.warns(DataWarning) as caught:
        fit = sp.spca(FRAME.assign(x=values), 1, 2, na="em", scale=True)
    text = next(str(one.message) for one in caught if "codes for" in str(one.message))
    assert "-99 in 'x'" in text
    assert "999 in 'x'" in text
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        fit.refit(card=1)  # has been reported


# --- Missing values in fits: from the call to files, new rows and the command -------------------


def whole(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Two components of four variables each, three of noise."""
    rng = np.random.default_rng(seed)
    T = rng.standard_normal((n, 2)) * [3.0, 2.0]
    V = np.zeros((11, 2))
    V[:4, 0] = V[4:8, 1] = 0.5
    X = T @ V.T + 0.5 * rng.standard_normal((n, 11)) + np.arange(11)
    return pd.DataFrame(X, index=[f"r{i}" for i in range(n)], columns=[f"v{j}" for j in range(11)])


def gapped(share: float = 0.1, **how) -> pd.DataFrame:
    data = whole(**how)
    return data.mask(np.random.default_rng(99).random(data.shape) < share)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("na", ["em", "pairwise"])
def test_planted_supports_are_found(na, scale):
    fit = sp.spca(gapped(), 2, 4, na=na, scale=scale, effort="quick")
    found = [set(fit.loadings.index[fit.loadings[c] != 0]) for c in fit.loadings]
    assert {frozenset(one) for one in found} == {
        frozenset(f"v{j}" for j in r) for r in (range(4), range(4, 8))
    }


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("na", ["em", "pairwise"])
def test_without_gaps_it_is_the_same_fit(na, scale):
    how = {"scale": scale, "effort": "quick"}
    a, b = sp.spca(whole(), 2, 4, na=na, **how), sp.spca(whole(), 2, 4, **how)
    pd.testing.assert_frame_equal(a.loadings, b.loadings, check_exact=True)
    pd.testing.assert_frame_equal(a.scores, b.scores, check_exact=True)
    assert "Missing    no value" in str(a.summary())


def test_imputed_keeps_what_was_measured():
    data = gapped()
    before = data.copy()
    imputed = sp.spca(data, 2, 4, na="em", scale=True, effort="quick").imputed
    pd.testing.assert_frame_equal(data, before, check_exact=True)
    assert imputed.index.equals(data.index)
    assert imputed.columns.equals(data.columns)
    assert imputed.notna().all(axis=None)
    pd.testing.assert_frame_equal(imputed.where(data.notna()), data, check_exact=True)
    # what follows from others is met better than by means
    error = ((imputed - whole()).iloc[:, :8] ** 2).where(data.isna()).stack().mean()
    assert error < 0.6 * ((data.mean() - whole()).iloc[:, :8] ** 2).where(data.isna()).stack().mean()


@pytest.mark.parametrize("na", ["em", "pairwise"])
def test_rows_of_the_fit_and_the_same_rows_as_new_ones_agree(na, tmp_path):
    data = gapped()
    fit = sp.spca(data, 2, 4, na=na, scale=True, effort="quick")
    pd.testing.assert_frame_equal(fit.transform(data, na=na), fit.scores, check_exact=True)
    pd.testing.assert_frame_equal(fit.diagnostics(data, na=na), fit.diagnostics(), check_exact=True)
    pd.testing.assert_frame_equal(fit.augment(data, na=na), fit.augment(), check_exact=True)
    assert fit.augment()[list(data)].isna().equals(data.isna())
    fit.save(tmp_path / "a.spca")
    kept = sp.load(tmp_path / "a.spca")
    pd.testing.assert_frame_equal(kept.scores, fit.scores, check_exact=True)
    pd.testing.assert_frame_equal(kept.transform(data, na=na), fit.scores, check_exact=True)
    assert str(kept) == str(fit)
    for twin in (copy.deepcopy(fit), pickle.loads(pickle.dumps(fit))):
        pd.testing.assert_frame_equal(twin.transform(data, na=na), fit.scores, check_exact=True)


def test_a_score_of_available_cases_needs_its_own_variables_only():
    data = gapped()
    fit = sp.spca(data, 2, 4, na="pairwise", effort="quick")
    for name in fit.loadings:
        own = fit.loadings.index[fit.loadings[name] != 0]
        assert fit.scores[name].isna().equals(data[own].isna().any(axis=1))
    assert fit.diagnostics()["Q"].isna().equals(data.isna().any(axis=1))
    complete = data.dropna()
    pd.testing.assert_frame_equal(fit.transform(complete), fit.scores.loc[complete.index])


def test_variances_allow_for_what_was_not_measured():
    """The components' share is that of S; conditional means alone vary less than their scores would have."""
    fit = sp.spca(gapped(0.3), 2, 4, na="em", effort="quick")
    assert (fit.scores.var() < fit.variance["score variance"]).all()
    assert fit.measure("pev") < 1.0


def test_own_centre_and_scale_and_units():
    data = gapped()
    one = sp.spca(data, 2, 4, na="em", scale=np.full(11, 4.0), effort="quick")
    two = sp.spca(data, 2, 4, na="em", effort="quick")
    np.testing.assert_allclose(one.loadings, two.loadings, atol=1e-12)
    np.testing.assert_allclose(
        one.variance["score variance"] * 16, two.variance["score variance"], rtol=1e-12
    )
    centre = np.zeros(11)
    about = sp.spca(data, 2, 4, na="em", center=centre, effort="quick")
    moved = sp.spca(data, 2, 4, na="em", center=False, effort="quick")
    np.testing.assert_allclose(about.loadings, moved.loadings, atol=1e-14)
    large = sp.spca(data * 1e140, 2, 4, na="em", scale=True, effort="quick")
    np.testing.assert_allclose(large.loadings, sp.spca(data, 2, 4, na="em", scale=True).loadings, atol=1e-12)


@pytest.mark.parametrize("na", ["em", "pairwise"])
def test_weights_count_rows_of_fits(na):
    data, w = gapped(), np.random.default_rng(5).integers(0, 3, 60)
    weighted = sp.spca(data, 2, 4, na=na, weights=w, effort="quick")
    repeated = sp.spca(data.loc[data.index.repeat(w)], 2, 4, na=na, effort="quick")
    np.testing.assert_allclose(weighted.loadings, repeated.loadings, atol=1e-9)
    np.testing.assert_allclose(weighted.variance, repeated.variance, rtol=1e-9)


# --- draws of rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("na", ["em", "pairwise"])
def test_draws_estimate_missing_values_again(na, tmp_path):
    """A draw with all rows once has the covariance matrix of the fit; others that of a fit of the same rows.

    1e-3: the EM of a draw begins with the model of the fit, and both end within 1e-8 of the likelihood.
    """

    data = gapped()
    fit = sp.spca(data, 2, 4, na=na, scale=True, effort="quick")
    source = source_of(data, na=na, scale=True)
    sampler = source.sampler("bootstrap()")
    every = np.arange(11)
    np.testing.assert_allclose(sampler.all_rows().block(every), source.op.block(every), atol=1e-3)
    rng = np.random.default_rng(4)
    rows = data.iloc[sampler.groups.bootstrap(np.random.default_rng(4))[0]]
    again = source_of(rows, na=na, scale=True).op
    np.testing.assert_allclose(sampler.bootstrap(rng).block(every), again.block(every), atol=1e-3)
    table = fit.bootstrap(20, rng=0).table
    own = table[table["estimate"] != 0]
    assert own["selected"].min() > 0.5
    fit.save(tmp_path / "a.spca")
    given = sp.load(tmp_path / "a.spca").bootstrap(20, rng=0, data=data).table
    pd.testing.assert_frame_equal(given, table, rtol=1e-6)
    with pytest.raises(errors.OptionError, match="permutes values"):
        fit.test_loadings(9)


# --- formulas and columns of other types ------------------------------------------------------------


def test_a_term_is_missing_where_a_column_in_it_is():
    data = gapped()
    data["site"] = pd.Categorical(np.resize(["a", "b", "c"], 60))
    data.loc["r3", "site"] = np.nan
    formula = "~ exp(v0 / 9) + v1 + v2 + v3 + v4:v5 + scale(v6) + site"
    fit = sp.spca(data, 2, 4, formula=formula, categorical="dummy", na="em", scale=True, effort="quick")
    imputed = fit.imputed
    expected = pd.DataFrame(
        {
            "exp(v0 / 9)": np.exp(data.v0 / 9),
            "v1": data.v1,
            "v4:v5": data.v4 * data.v5,
            "scale(v6)": (data.v6 - data.v6.mean()) / data.v6.std(),
            "site[b]": (data.site == "b").astype(float).where(data.site.notna()),
        }
    )
    for name, column in expected.items():
        there = column.notna()
        np.testing.assert_allclose(imputed.loc[there, name], column[there], rtol=1e-12, atol=1e-12)
    assert 0 < imputed.loc["r3", "site[b]"] < 1
    pd.testing.assert_frame_equal(fit.transform(data, na="em"), fit.scores, check_exact=True)
    alone = data.loc[["r3"]].assign(v1=np.nan, site=None)
    assert fit.transform(alone, na="em").notna().all(axis=None)
    with pytest.raises(errors.NewDataError, match="levels that do not occur in the fit: 'x'"):
        fit.transform(data.assign(site="x"), na="em")


# --- paths, refusals, the faces ---------------------------------------------------------------------


def test_a_path_is_its_fits():
    data = gapped()
    path = sp.spca_path(data, 2, cards=[2, 4], na="em", k_em=3, scale=True)
    alone = sp.spca(data, 2, 4, na="em", k_em=3, scale=True, effort="quick")
    np.testing.assert_allclose(path[4].loadings, alone.loadings, atol=1e-10)
    assert "of rank 3" in " ".join(str(path[2].summary()).split())
    assert "na='em', k_em=3" in path[4].call


def test_what_was_moved_is_told():
    """Many gaps in few rows: no sample has such correlations."""
    fit = sp.spca(gapped(0.45, n=25, seed=2), 2, 4, na="pairwise", scale=True, effort="quick")
    words = " ".join(str(fit.summary()).split())
    assert "no sample has such correlations (smallest eigenvalue -" in words
    assert "so the nearest correlation matrix is used: it differs by" in words
    assert max(map(len, str(fit).splitlines())) <= 80
    summary = fit.summary()
    for text in (summary.as_latex(notes=True), summary.as_html(notes=True), summary.as_markdown(notes=True)):
        assert "nearest" in text


@pytest.mark.parametrize(
    ("data", "how", "error", "words"),
    [
        ("rows", {"na": "omit"}, errors.OptionError, "'raise', 'drop', 'em', 'pairwise'"),
        ("rows", {"na": "em", "method": "spcagrid"}, errors.OptionError, "needs the rows themselves"),
        (
            "rows",
            {"na": "pairwise", "method": "rspca-l0"},
            errors.OptionError,
            "needs the rows themselves",
        ),
        ("rows", {"na": "em", "k_em": 11}, errors.OptionError, "at least 1 and at most 10"),
        ("rows", {"na": "drop", "k_em": 2}, errors.OptionError, "rank of the model of na='em'"),
        ("chunks", {"na": "em"}, errors.OptionError, "with rows in chunks"),
        ("sparse", {"na": "pairwise"}, errors.OptionError, "sparse data"),
        ("infinite", {"na": "em"}, errors.InfiniteValuesError, "1 infinite value"),
        ("constant", {"na": "pairwise"}, errors.ConstantColumnError, "do not vary: 'v2'"),
    ],
)
def test_refusals(data, how, error, words):
    import scipy.sparse as ss

    rows = gapped()
    if data == "infinite":
        rows.loc["r1", "v1"] = np.inf
    if data == "constant":
        rows["v2"] = rows["v2"].where(rows["v2"].isna(), 1.0)
    given = {"chunks": [rows[:30], rows[30:]], "sparse": ss.csr_array(whole().to_numpy())}.get(data, rows)
    with pytest.raises(error, match=words):
        sp.spca(given, 2, 4, **how)


def test_new_rows_need_a_model_and_a_value(tmp_path):
    data = gapped()
    with pytest.raises(errors.OptionError, match="needs the model of missing values of a fit with na='em'"):
        sp.spca(whole(), 2, 4).transform(data, na="em")
    fit = sp.spca(data, 2, 4, na="em", effort="quick")
    with pytest.raises(errors.MissingValuesError, match="1 row without any value: 'r0'"):
        fit.transform(data.head(2).assign(**dict.fromkeys(data, np.nan)).head(1), na="em")
    with pytest.raises(errors.OptionError, match="na='em'"):
        _ = sp.spca(whole(), 2, 4).imputed
    fit.save(tmp_path / "a.spca")
    with pytest.raises(errors.NoRowsError, match="imputed needs the data"):
        _ = sp.load(tmp_path / "a.spca").imputed


def test_the_command(tmp_path, capsys):
    data = gapped()
    data.to_csv(tmp_path / "a.csv")
    for na in ("em", "pairwise"):
        given = ["--k", "2", "--card", "4", "--na", na, "--save", f"{tmp_path}/{na}.spca", "--format=text"]
        assert cli.main(["fit", f"{tmp_path}/a.csv", *given]) == 0
        assert "% of the values" in capsys.readouterr().out
        assert cli.main(["transform", f"{tmp_path}/{na}.spca", f"{tmp_path}/a.csv", "--na", na]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 61
        fit = sp.spca(data, 2, 4, na=na)
        gaps = sum(line.count(",,") + line.endswith(",") for line in lines[1:])
        assert gaps == fit.scores.isna().to_numpy().sum()


@pytest.mark.parametrize("formula", [None, "~ a + b + np.exp(c)"])
def test_rows_without_any_value_are_named_first(formula):
    """The three ways do what the message says, also if a column that is not used has a value."""
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 3)), columns=list("abc"))
    table.iloc[3], table.iloc[5, 1] = np.nan, np.nan
    table["group"] = ["x", "y"] * 10
    options = {"data": table, "formula": formula, "clusters": "group"}
    message = (
        r"in 2 of 20 rows \(1 without any value, which na='em' and na='pairwise' refuse\), in 'a', 'b', 'c'"
    )
    with pytest.raises(errors.MissingValuesError, match=message):
        sp.spca(k=2, card=2, **options)
    for na in ("em", "pairwise"):
        with pytest.raises(errors.MissingValuesError, match="1 row without any value"):
            sp.spca(k=2, card=2, na=na, **options)
    assert len(sp.spca(k=2, card=2, na="drop", **options).scores) == 18


def test_the_error_keeps_what_is_missing_in_other_processes_and_in_other_advice():
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 3)), columns=list("abc"))
    table.iloc[3, 1] = np.nan
    with pytest.raises(errors.MissingValuesError) as raised:
        sp.spca(table, k=1, card=2)
    error = pickle.loads(pickle.dumps(raised.value))
    assert str(error) == str(raised.value)
    assert (error.gaps, error.has_complete_rows) == ("1 missing value in 1 of 20 rows, in 'b'", True)
    with pytest.raises(errors.MissingValuesError, match=r"in 'b': use na='drop' to leave these rows out\.$"):
        sp.spco(table, k=1, zeros=0.5)
