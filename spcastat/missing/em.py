"""Means and covariances of rows with missing values, by an EM algorithm for probabilistic PCA.

E step: given the measured values of a row, its missing values have a conditional mean and a conditional
covariance matrix C. M step: the closed solution of Tipping and Bishop (1999), applied to the expected second
moments. With rank p - 1 the covariance matrix is unrestricted, and this is the EM algorithm of Dempster,
Laird and Rubin (1977) for the normal distribution; a lower rank prevents overfitting if there are few rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from spcastat.config import listed, plural
from spcastat.errors import ConstantColumnError, MissingValuesError, OptionError
from spcastat.kernels.eig import symmetric
from spcastat.kernels.orthonormal import orthonormalise
from spcastat.missing.model import Expected, Patterns, PpcaModel, expect, outers
from spcastat.operators.standardisation import CONSTANT
from spcastat.progress import stage


@dataclass(frozen=True, eq=False)
class EmMoments:
    """Moments of rows with missing values, with the model that they come from.

    Attributes
    ----------
    mean : ndarray of shape (p,)
        The means of `rows`.
    covariance : ndarray of shape (p, p)
        S = sum_i w_i ((x_i - mean)(x_i - mean)' + C_i) / (sum_i w_i - 1), where x_i are the `rows` and C_i is
        the conditional covariance matrix of the missing values of row i. In the units of the data.
    rows : ndarray of shape (n, p)
        The rows with missing values replaced by their conditional means; measured values are unchanged.
    missing : ndarray of bool, shape (n, p)
        Marks the missing values.
    model : PpcaModel
        The fitted model, which also imputes missing values of new rows.
    patterns : int
        Number of distinct patterns of missing values; complete rows are one pattern.
    iterations : int
    converged : bool
    log_likelihood : ndarray of shape (iterations + 1,)
        Log-likelihood of the measured values, divided by the model's scale, before each iteration and at the
        end. It never decreases.
    """

    mean: np.ndarray
    covariance: np.ndarray
    rows: np.ndarray
    missing: np.ndarray
    model: PpcaModel
    patterns: int
    iterations: int
    converged: bool
    log_likelihood: np.ndarray


def em_moments(
    X: np.ndarray,
    weights: np.ndarray | None,
    k_em: int,
    *,
    scale: bool | np.ndarray = False,
    names: pd.Index | None = None,
    index: pd.Index | None = None,
    start: PpcaModel | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> EmMoments:
    """Estimate means and covariances of rows with missing values, and impute these, by EM.

    All columns share one noise variance, so their units matter, as they do in PCA: `scale` sets the units of
    the model. The results are in the units of the data in any case.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Missing values are NaN. Not changed.
    weights : ndarray of shape (n,) or None
        Nonnegative frequencies: a row of weight 2 counts as two rows. Missing values in rows of weight 0 are
        imputed as well.
    k_em : int
        Rank of the model: at least 1, and less than p and than the number of rows minus one.
    scale : bool or ndarray of shape (p,)
        True divides every column by the standard deviation of its measured values first; an array gives
        other divisors.
    names, index : pandas.Index, optional
        Labels of columns and rows for messages.
    start : PpcaModel, optional
        The model at which to start, e.g. that of all rows for a fold or a resample. By default the start is
        PCA with missing values replaced by the means.
    tol : float
        Stop when the log-likelihood is expected to gain less than this for each measured value; the expected
        gain is extrapolated from the last two.
    max_iter : int

    Raises
    ------
    MissingValuesError
        For a column or a row without any value.
    ConstantColumnError
        For a column whose measured values do not vary.
    OptionError
        For a rank that the data do not allow.
    """
    X = np.asarray(X, dtype=float)
    n, p = X.shape
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    missing = np.isnan(X)
    require_measured(X, missing, w, names, index)
    require_rank(k_em, int(np.count_nonzero(w)), p)
    model = _in_units(X, missing, w, scale, k_em)
    patterns = Patterns.of(missing, w)
    Z = model.standardised(X)
    if start is None:
        state = _begin(Z, patterns, w, k_em)
    else:
        state = _State(
            (start.mean - model.mean) / model.scale,
            start.loadings * (start.scale / model.scale)[:, None],
            start.sigma2,
        )
    heights: list[float] = []
    cells = float(w @ (~missing).sum(axis=1))
    converged = False
    with stage("EM", max_iter, "iterations") as advance:
        while True:
            filled, expected = _expectation(Z, patterns, state)
            heights.append(float(w @ expected.log_likelihood))
            converged = _settled(heights, tol * cells)
            if converged or len(heights) > max_iter:
                break
            state = _maximisation(_Moments(filled, w, patterns, state, expected), k_em, state)
            advance(1)
    found = _Moments(filled, w, patterns, state, expected)
    units = model.scale
    total = w.sum()
    fitted = replace(model, mean=model.mean + units * state.mean, loadings=state.W, sigma2=state.sigma2)
    return EmMoments(
        mean=model.mean + units * found.mean,
        covariance=found.dense() * (total / (total - 1.0)) * units * units[:, None],
        rows=fitted.filled(X),
        missing=missing,
        model=fitted,
        patterns=len(patterns.weight),
        iterations=len(heights) - 1,
        converged=converged,
        log_likelihood=np.array(heights),
    )


@dataclass(frozen=True, eq=False)
class _State:
    """Parameters for standardised rows: mean (p,), loadings (p, q) and noise variance."""

    mean: np.ndarray
    W: np.ndarray
    sigma2: float


class _Moments:
    """The expected covariance matrix S of standardised rows (divisor: the sum of the weights), not formed.

    With B the centred rows, and W and M as in :func:`spcastat.missing.model.expect`,
    S = (B' diag(w) B + sum_i w_i C_i) / sum(w), where C_i = sigma2 (W_m M^-1 W_m' + I) for the missing values
    m of row i.
    """

    def __init__(
        self, filled: np.ndarray, w: np.ndarray, patterns: Patterns, state: _State, expected: Expected
    ):
        self.total = w.sum()
        self.mean = w @ filled / self.total
        self.B = (filled - self.mean) * np.sqrt(w / self.total)[:, None]
        gaps = np.flatnonzero(patterns.missing.any(axis=1) & (patterns.weight > 0))
        self.missing = patterns.missing[gaps].astype(float)
        share = patterns.weight[gaps] / self.total * state.sigma2
        self.inverses = expected.inverses[gaps] * share[:, None, None]
        self.noise = share @ self.missing
        self.W = state.W

    def dot(self, V: np.ndarray) -> np.ndarray:
        """Return S V for V of shape (p, m)."""
        q, m = self.W.shape[1], V.shape[1]
        found = self.B.T @ (self.B @ V)
        if len(self.missing):
            inner = (self.missing @ outers(self.W, V)).reshape(-1, q, m)
            middle = (self.inverses @ inner).reshape(-1, q * m)
            back = (self.missing.T @ middle).reshape(-1, q, m)
            found += np.einsum("ja,jam->jm", self.W, back) + self.noise[:, None] * V
        return found

    def diagonal(self) -> np.ndarray:
        """Return the variances, shape (p,)."""
        found = np.einsum("ij,ij->j", self.B, self.B) + self.noise
        if len(self.missing):
            q = self.W.shape[1]
            found += np.einsum(
                "jc,jc->j", self.missing.T @ self.inverses.reshape(-1, q * q), outers(self.W, self.W)
            )
        return found

    def dense(self) -> np.ndarray:
        """Return S, shape (p, p)."""
        S = self.B.T @ self.B
        S[np.diag_indices_from(S)] += self.noise
        for gaps, inverse in zip(self.missing, self.inverses, strict=True):
            m = np.flatnonzero(gaps)
            S[np.ix_(m, m)] += self.W[m] @ inverse @ self.W[m].T
        return symmetric(S)


def _in_units(
    X: np.ndarray, missing: np.ndarray, w: np.ndarray, scale: bool | np.ndarray, q: int
) -> PpcaModel:
    """Return a model with the means and scales of the columns; its loadings are not fitted yet.

    A common factor makes the mean variance of the scaled columns one.
    """
    count = w @ ~missing
    mean = w @ np.where(missing, 0.0, X) / count
    variances = w @ np.where(missing, 0.0, X - mean) ** 2 / count
    divisor = np.sqrt(variances) if scale is True else np.ones(len(mean)) if scale is False else scale
    size = np.sqrt(np.mean(variances / divisor**2))
    return PpcaModel(mean, divisor * size, np.zeros((X.shape[1], q)), 1.0)


def _begin(Z: np.ndarray, patterns: Patterns, w: np.ndarray, q: int) -> _State:
    """Return the starting parameters: PCA of standardised rows with zeros for missing values."""
    rows = np.sqrt(w / w.sum())[:, None] * Z
    n, p = rows.shape
    short = n < p
    values, vectors = np.linalg.eigh(rows @ rows.T if short else rows.T @ rows)
    U = vectors[:, ::-1][:, :q]
    if short:
        U = orthonormalise(rows.T @ U)[0]
    return _from_pairs(np.zeros(p), U, values[::-1][:q], float(np.einsum("ij,ij->", rows, rows)))


def _expectation(Z: np.ndarray, patterns: Patterns, state: _State) -> tuple[np.ndarray, Expected]:
    """E step: return standardised rows with missing values imputed, and the expectations."""
    gaps = patterns.missing[patterns.of_row]
    expected = expect(np.where(gaps, 0.0, Z - state.mean), patterns, state.W, state.sigma2)
    return np.where(gaps, state.mean + expected.scores @ state.W.T, Z), expected


def _maximisation(moments: _Moments, q: int, state: _State) -> _State:
    """M step: return the parameters that maximise the expected likelihood.

    The leading eigenvectors of S are sought in the span of U, SU and S^2 U, where U are the eigenvectors of
    the last iteration. This is exact if the span is the whole space. Otherwise the Ritz values cannot
    decrease (interlacing), and so the likelihood, which increases with them, cannot either.
    """
    p = len(moments.mean)
    total = float(moments.diagonal().sum())
    if 3 * q >= p:
        values, vectors = np.linalg.eigh(moments.dense())
        return _from_pairs(moments.mean, vectors[:, ::-1][:, :q], values[::-1][:q], total)
    U = np.linalg.qr(state.W)[0]
    SU = moments.dot(U)
    basis = np.linalg.qr(np.hstack([U, SU, moments.dot(SU)]))[0]
    inner = basis.T @ moments.dot(basis)
    values, vectors = np.linalg.eigh(symmetric(inner))
    return _from_pairs(moments.mean, basis @ vectors[:, ::-1][:, :q], values[::-1][:q], total)


def _from_pairs(mean: np.ndarray, U: np.ndarray, values: np.ndarray, total: float) -> _State:
    """Return Tipping and Bishop's closed solution W = U (L - sigma2 I)^1/2; `total` is the trace of S."""
    p, q = U.shape
    sigma2 = max((total - float(values.sum())) / (p - q), 1e-8 * total / p)  # positive for data of exact rank
    return _State(mean, U * np.sqrt((values - sigma2).clip(min=0.0)), sigma2)


def _settled(heights: list[float], left: float) -> bool:
    """Whether the log-likelihood will gain less than `left`, if its gains decrease as the last two did."""
    if len(heights) < 3:
        return len(heights) == 2 and heights[1] - heights[0] <= 1e-3 * left
    before, last = heights[-2] - heights[-3], heights[-1] - heights[-2]
    if last <= 1e-3 * left:
        return True
    rate = last / before if before > 0 else 1.0
    return rate < 1.0 and last * rate / (1.0 - rate) <= left


def require_measured(
    X: np.ndarray, missing: np.ndarray, w: np.ndarray, names: pd.Index | None, index: pd.Index | None
) -> None:
    """Raise an error for columns without values or variation, and for rows without values.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    missing : ndarray of bool, shape (n, p)
    w : ndarray of shape (n,)
        Weights of the rows. Values of rows of weight 0 do not count.
    names, index : pandas.Index or None
        Labels of columns and rows.

    Raises
    ------
    MissingValuesError
        For columns or rows without any value.
    ConstantColumnError
        For columns whose measured values do not vary.
    """
    columns: pd.Index = pd.RangeIndex(X.shape[1]) if names is None else names
    rows: pd.Index = pd.RangeIndex(X.shape[0]) if index is None else index
    measured = ~missing & (w > 0)[:, None]
    empty = ~measured.any(axis=0)
    if empty.any():
        raise MissingValuesError(
            f"{plural(int(empty.sum()), 'column')} without any value: "
            f"{listed(columns[np.flatnonzero(empty)])}; what was never measured cannot be estimated. "
            "Leave such columns out, e.g. df.dropna(axis=1, how='all')."
        )
    blank = missing.all(axis=1)
    if blank.any():
        raise MissingValuesError(
            f"{plural(int(blank.sum()), 'row')} without any value: {listed(rows[np.flatnonzero(blank)])}; "
            "nothing is known of them. Leave such rows out, e.g. df.dropna(how='all')."
        )
    highest = np.where(measured, X, -np.inf).max(axis=0)
    lowest = np.where(measured, X, np.inf).min(axis=0)
    still = highest - lowest <= CONSTANT * np.maximum(np.abs(highest), np.abs(lowest))
    if still.any():
        raise ConstantColumnError(
            f"The values measured in {plural(int(still.sum()), 'column')} do not vary: "
            f"{listed(columns[np.flatnonzero(still)])}; they tell nothing of those that are missing, nor "
            "of other columns. Drop these columns."
        )


def require_rank(k_em: int, n: int, p: int) -> None:
    """Raise OptionError unless a model of rank `k_em` can be fitted to n rows of p variables."""
    most = min(p, n - 1) - 1
    if most < 1:
        raise OptionError(
            f"na='em' was given for {plural(n, 'row')} (of positive weight) and {plural(p, 'column')}; it "
            "learns what is missing from other columns and rows, and needs two columns and three rows at "
            "least. Use na='drop'."
        )
    if not 1 <= k_em <= most:
        raise OptionError(
            f"k_em={k_em} was given for {plural(n, 'row')} (of positive weight) and "
            f"{plural(p, 'column')}; the rank of the model behind na='em' must be at least 1 and at most "
            f"{most}, less than the number of columns and of rows less one."
        )
