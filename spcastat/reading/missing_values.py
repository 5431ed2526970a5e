"""Rows with missing values: EM for probabilistic PCA, available cases, and the nearest correlation matrix.

Tipping and Bishop (1999), "Probabilistic principal component analysis", Journal of the Royal Statistical
Society B 61. The model is x = m + W t + e, with t normal with covariance I and e normal with covariance
sigma2 I, for columns divided by `scale`.

E step: given the measured values of a row, its missing values have a conditional mean and a conditional
covariance matrix C. M step: the closed solution of Tipping and Bishop (1999), applied to the expected second
moments. With rank p - 1 the covariance matrix is unrestricted, and this is the EM algorithm of Dempster,
Laird and Rubin (1977) for the normal distribution; a lower rank prevents overfitting if there are few rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pandas as pd

from spcastat.arguments import listed, plural
from spcastat.errors import ConstantColumnError, MissingValuesError, OptionError
from spcastat.linalg.eigenvectors import orthonormalise, symmetric
from spcastat.linalg.standardisation import CONSTANT
from spcastat.progress import stage

#: The largest number of EM steps, after which a warning advises a smaller rank.
PPCA_STEPS = 1000

# --- the model, and expectations of missing values ------------------------------------------------


@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct patterns of missing values.

    Attributes
    ----------
    missing : ndarray of bool, shape (P, p)
        The patterns; True marks a missing value.
    of_row : ndarray of int, shape (n,)
        The index of the pattern of each row.
    weight : ndarray of shape (P,)
        The sum of the weights of the rows of each pattern.
    """

    missing: np.ndarray
    of_row: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, missing: np.ndarray, w: np.ndarray) -> Patterns:
        """Group the rows of the mask `missing`, shape (n, p), with weights `w`, shape (n,), by pattern."""
        packed = np.packbits(missing, axis=1)
        _, first_rows, of_row = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        of_row = of_row.reshape(-1)
        return cls(missing[first_rows], of_row, np.bincount(of_row, weights=w, minlength=len(first_rows)))


@dataclass(frozen=True, eq=False)
class PpcaModel:
    """A probabilistic PCA model, fitted to rows with missing values.

    Attributes
    ----------
    mean : ndarray of shape (p,)
        In the units of the data.
    scale : ndarray of shape (p,)
        The model describes the columns divided by these numbers.
    loadings : ndarray of shape (p, q)
        W, for the divided columns.
    sigma2 : float
        Noise variance, for the divided columns.
    """

    mean: Annotated[np.ndarray, "f p"]
    scale: Annotated[np.ndarray, "f p"]
    loadings: Annotated[np.ndarray, "f p rank"]
    sigma2: float

    @property
    def covariance(self) -> np.ndarray:
        """The covariance matrix (WW' + sigma2 I) of the model in the units of the data, shape (p, p)."""
        S = self.loadings @ self.loadings.T
        S[np.diag_indices_from(S)] += self.sigma2
        return S * self.scale * self.scale[:, None]

    def shrunk(self, n: float) -> PpcaModel:
        """Return a model with smaller loadings, for imputing the rows that this model was fitted to.

        The loadings were fitted to the noise of these rows too. Their scores are therefore too large,
        especially with many columns per row. Let y be the variance along a component divided by the noise
        variance, and g = p / (n - 1). This model shrinks scores by the factor 1 - 1 / y. The factor with the
        least squared reconstruction error is sqrt((y - 1 - g)^2 - 4 g) / y, and 0 for y up to (1 +
        sqrt(g))^2, which noise alone can reach; the returned model has this factor. Both agree for g near 0.

        Parameters
        ----------
        n : float
            Number of rows, or the sum of their weights.

        References
        ----------
        Gavish and Donoho (2017), "Optimal shrinkage of singular values", IEEE Trans. Inf. Theory 63, eq. 7.
        """
        w = (self.loadings**2).sum(axis=0)
        y, g = 1.0 + w / self.sigma2, len(self.mean) / (n - 1.0)
        excess = y - 1.0 - g
        keep = np.where(excess > 2.0 * np.sqrt(g), np.sqrt(np.maximum(excess**2 - 4.0 * g, 0.0)) / y, 0.0)
        size = np.sqrt(self.sigma2 * keep / (1.0 - keep) / np.where(w > 0.0, w, 1.0))
        return replace(self, loadings=self.loadings * size)

    def filled(self, X: np.ndarray) -> np.ndarray:
        """Return rows with missing values replaced by their conditional means, given the measured values.

        Parameters
        ----------
        X : ndarray of shape (n, p)
            Missing values are NaN. Not changed. A row without any value is filled with the means.

        Returns
        -------
        ndarray of shape (n, p), float64
            Measured values are exactly those of `X`.
        """
        filled = np.array(X, dtype=float)
        gaps = np.isnan(filled)
        rows = np.flatnonzero(gaps.any(axis=1))
        if rows.size:
            part = gaps[rows]
            patterns = Patterns.of(part, np.ones(rows.size))
            expectation = expect(self.standardised(filled[rows]), patterns, self.loadings, self.sigma2)
            values = self.mean + self.scale * (expectation.scores @ self.loadings.T)
            filled[rows] = np.where(part, values, filled[rows])
        return filled

    def of_columns(self, columns: np.ndarray) -> PpcaModel:
        """Return the model of the columns at these positions."""
        return replace(
            self, mean=self.mean[columns], scale=self.scale[columns], loadings=self.loadings[columns]
        )

    def among(self, places: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> PpcaModel:
        """Return a model of p columns: this model at `places`, and zero loadings for the other columns.

        The other columns have the given `mean` and `scale`, shape (p,).
        """
        mean, scale, loadings = mean.copy(), scale.copy(), np.zeros((len(mean), self.loadings.shape[1]))
        mean[places], scale[places], loadings[places] = self.mean, self.scale, self.loadings
        return PpcaModel(mean, scale, loadings, self.sigma2)

    def standardised(self, X: np.ndarray) -> np.ndarray:
        """Return (X - mean) / scale, with zeros for missing values."""
        Z = (X - self.mean) / self.scale
        Z[np.isnan(Z)] = 0.0
        return Z


@dataclass(frozen=True, eq=False)
class Expected:
    """Conditional expectations of rows given their measured values.

    Attributes
    ----------
    scores : ndarray of shape (n, q)
        E[t] = M^-1 W_o'(x_o - m_o) with M = W_o'W_o + sigma2 I, where o are the measured columns of the row.
    inverses : ndarray of shape (P, q, q)
        M^-1 for each pattern of missing values; sigma2 M^-1 is the conditional covariance of t.
    log_likelihood : ndarray of shape (n,)
        Log-likelihood of the measured values of each row.
    """

    scores: np.ndarray
    inverses: np.ndarray
    log_likelihood: np.ndarray


def expect(Z: np.ndarray, patterns: Patterns, W: np.ndarray, sigma2: float) -> Expected:
    """Return the expectations of all rows, by solving a q x q system for each pattern of missing values.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Centred, scaled rows, with zeros for missing values.
    patterns : Patterns
    W : ndarray of shape (p, q)
    sigma2 : float
    """
    q = W.shape[1]
    measured = (~patterns.missing).astype(float)
    M = (measured @ outers(W, W)).reshape(-1, q, q)
    M[:, np.arange(q), np.arange(q)] += sigma2
    inverses = np.linalg.inv(M)
    inverses = 0.5 * (inverses + inverses.transpose(0, 2, 1))
    of_row = patterns.of_row
    scores = np.einsum("iab,ib->ia", inverses[of_row], Z @ W)
    counts = measured.sum(axis=1)
    log_det = (counts - q) * np.log(sigma2) + np.linalg.slogdet(M)[1]
    # r'(W_o W_o' + sigma2 I)^-1 r is the minimum of |r - W_o t|^2 / sigma2 + |t|^2; this form avoids
    # cancellation
    residual = (Z - scores @ W.T) * measured[of_row]
    square = np.einsum("ij,ij->i", residual, residual) / sigma2 + np.einsum("ij,ij->i", scores, scores)
    likelihood = -0.5 * (counts * np.log(2.0 * np.pi) + log_det)[of_row] - 0.5 * square
    return Expected(scores, inverses, likelihood)


def outers(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the outer products of the rows of A, shape (p, a), and B, shape (p, b), as rows of length ab."""
    return (A[:, :, None] * B[:, None, :]).reshape(len(A), -1)


# --- EM -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EmMoments:
    """Moments of rows with missing values, and the model from which they are computed.

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
) -> EmMoments:
    """Estimate means and covariances of rows with missing values, and impute the values, by EM.

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
        The starting values, e.g. the model of all rows for a fold or a resample. By default, PCA with missing
        values replaced by the means.
    tol : float
        Stop when the log-likelihood is expected to gain less than this for each measured value; the expected
        gain is extrapolated from the last two.

    Raises
    ------
    MissingValuesError
        For a column or a row without any value.
    ConstantColumnError
        For a column whose measured values do not vary.
    OptionError
        If the rank is too large for the data.
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
        state = _begin(Z, w, k_em)
    else:
        W = start.loadings * (start.scale / model.scale)[:, None]
        state = _standard((start.mean - model.mean) / model.scale, W, start.sigma2)
    heights: list[float] = []
    cells = float(w @ (~missing).sum(axis=1))
    converged = False
    with stage("EM", PPCA_STEPS, "iterations") as advance:
        while True:
            filled, expectation = _expectation(Z, patterns, state)
            heights.append(float(w @ expectation.log_likelihood))
            converged = _settled(heights, tol * cells)
            if converged or len(heights) > PPCA_STEPS:
                break
            state = _maximisation(_EmMoments(filled, w, patterns, state, expectation), k_em, state)
            advance(1)
    moments = _EmMoments(filled, w, patterns, state, expectation)
    units = model.scale
    total = w.sum()
    fitted = PpcaModel(model.mean + units * state.mean, units, state.loadings, state.sigma2)
    return EmMoments(
        mean=model.mean + units * moments.mean,
        covariance=moments.dense() * (total / (total - 1.0)) * units * units[:, None],
        rows=fitted.filled(X),
        missing=missing,
        model=fitted,
        patterns=len(patterns.weight),
        iterations=len(heights) - 1,
        converged=converged,
        log_likelihood=np.array(heights),
    )


def _standard(mean: np.ndarray, W: np.ndarray, sigma2: float) -> PpcaModel:
    """Return a model of standardised rows, whose scales are one."""
    return PpcaModel(mean, np.ones(len(mean)), W, sigma2)


class _EmMoments:
    """The operator of S, the expected covariance matrix of standardised rows (divisor: sum of the weights).

    With B the centred rows, and W and M as in :func:`spcastat.reading.missing_values.expect`,
    S = (B' diag(w) B + sum_i w_i C_i) / sum(w), where C_i = sigma2 (W_m M^-1 W_m' + I) for the missing values
    m of row i.
    """

    def __init__(
        self, filled: np.ndarray, w: np.ndarray, patterns: Patterns, state: PpcaModel, expectation: Expected
    ):
        self.total = w.sum()
        self.mean = w @ filled / self.total
        self.B = (filled - self.mean) * np.sqrt(w / self.total)[:, None]
        gaps = np.flatnonzero(patterns.missing.any(axis=1) & (patterns.weight > 0))
        self.missing = patterns.missing[gaps].astype(float)
        share = patterns.weight[gaps] / self.total * state.sigma2
        self.inverses = expectation.inverses[gaps] * share[:, None, None]
        self.noise = share @ self.missing
        self.W = state.loadings

    def dot(self, V: np.ndarray) -> np.ndarray:
        """Return S V for V of shape (p, m)."""
        q, m = self.W.shape[1], V.shape[1]
        product = self.B.T @ (self.B @ V)
        if len(self.missing):
            inner = (self.missing @ outers(self.W, V)).reshape(-1, q, m)
            middle = (self.inverses @ inner).reshape(-1, q * m)
            back = (self.missing.T @ middle).reshape(-1, q, m)
            product += np.einsum("ja,jam->jm", self.W, back) + self.noise[:, None] * V
        return product

    def diagonal(self) -> np.ndarray:
        """Return the variances, shape (p,)."""
        variances = np.einsum("ij,ij->j", self.B, self.B) + self.noise
        if len(self.missing):
            q = self.W.shape[1]
            variances += np.einsum(
                "jc,jc->j", self.missing.T @ self.inverses.reshape(-1, q * q), outers(self.W, self.W)
            )
        return variances

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

    The scales contain a common factor that makes the mean variance of the scaled columns one.
    """
    count = w @ ~missing
    mean = w @ np.where(missing, 0.0, X) / count
    variances = w @ np.where(missing, 0.0, X - mean) ** 2 / count
    divisor = np.sqrt(variances) if scale is True else np.ones(len(mean)) if scale is False else scale
    size = np.sqrt(np.mean(variances / divisor**2))
    return PpcaModel(mean, divisor * size, np.zeros((X.shape[1], q)), 1.0)


def _begin(Z: np.ndarray, w: np.ndarray, q: int) -> PpcaModel:
    """Return the starting values: PCA of standardised rows with zeros for missing values."""
    rows = np.sqrt(w / w.sum())[:, None] * Z
    n, p = rows.shape
    short = n < p
    values, vectors = np.linalg.eigh(rows @ rows.T if short else rows.T @ rows)
    U = vectors[:, ::-1][:, :q]
    if short:
        U = orthonormalise(rows.T @ U)[0]
    return _from_pairs(np.zeros(p), U, values[::-1][:q], float(np.einsum("ij,ij->", rows, rows)))


def _expectation(Z: np.ndarray, patterns: Patterns, state: PpcaModel) -> tuple[np.ndarray, Expected]:
    """E step: return standardised rows with missing values imputed, and the expectations."""
    gaps = patterns.missing[patterns.of_row]
    expectation = expect(np.where(gaps, 0.0, Z - state.mean), patterns, state.loadings, state.sigma2)
    return np.where(gaps, state.mean + expectation.scores @ state.loadings.T, Z), expectation


def _maximisation(moments: _EmMoments, q: int, state: PpcaModel) -> PpcaModel:
    """M step: return the parameters that maximise the expected likelihood.

    The leading eigenvectors of S are sought in the span of U, SU and S^2 U, where U are the eigenvectors of
    the last iteration. This is exact if the span is the whole space. Otherwise the Ritz values cannot
    decrease (interlacing), so the likelihood, which increases with them, cannot decrease either.
    """
    p = len(moments.mean)
    total = float(moments.diagonal().sum())
    if 3 * q >= p:
        values, vectors = np.linalg.eigh(moments.dense())
        return _from_pairs(moments.mean, vectors[:, ::-1][:, :q], values[::-1][:q], total)
    U = np.linalg.qr(state.loadings)[0]
    SU = moments.dot(U)
    basis = np.linalg.qr(np.hstack([U, SU, moments.dot(SU)]))[0]
    inner = basis.T @ moments.dot(basis)
    values, vectors = np.linalg.eigh(symmetric(inner))
    return _from_pairs(moments.mean, basis @ vectors[:, ::-1][:, :q], values[::-1][:q], total)


def _from_pairs(mean: np.ndarray, U: np.ndarray, values: np.ndarray, total: float) -> PpcaModel:
    """Return Tipping and Bishop's closed solution W = U (L - sigma2 I)^1/2; `total` is the trace of S."""
    p, q = U.shape
    sigma2 = max((total - float(values.sum())) / (p - q), 1e-8 * total / p)  # positive if the rank is exact
    return _standard(mean, U * np.sqrt((values - sigma2).clip(min=0.0)), sigma2)


def _settled(heights: list[float], tolerance: float) -> bool:
    """Whether the gain of the log-likelihood, extrapolated from the last two, is below `tolerance`."""
    if len(heights) < 3:
        return len(heights) == 2 and heights[1] - heights[0] <= 1e-3 * tolerance
    previous_step, last_step = heights[-2] - heights[-3], heights[-1] - heights[-2]
    if last_step <= 1e-3 * tolerance:
        return True
    rate = last_step / previous_step if previous_step > 0 else 1.0
    return rate < 1.0 and last_step * rate / (1.0 - rate) <= tolerance


def require_measured(
    X: np.ndarray, missing: np.ndarray, w: np.ndarray, names: pd.Index | None, index: pd.Index | None
) -> None:
    """Raise an error for columns without values or variation, and for rows without values.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    missing : ndarray of bool, shape (n, p)
    w : ndarray of shape (n,)
        Weights of the rows. Values in rows of weight 0 are ignored.
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
            f"The data have {plural(int(empty.sum()), 'column')} without any value: "
            f"{listed(columns[np.flatnonzero(empty)])}. Leave such columns out, e.g. df.dropna(axis=1, "
            "how='all')."
        )
    blank = missing.all(axis=1)
    if blank.any():
        raise MissingValuesError(
            f"The data have {plural(int(blank.sum()), 'row')} without any value: "
            f"{listed(rows[np.flatnonzero(blank)])}. Leave such rows out, e.g. df.dropna(how='all')."
        )
    still = ~varies(X, w)
    if still.any():
        raise ConstantColumnError(
            f"The values measured in {plural(int(still.sum()), 'column')} do not vary: "
            f"{listed(columns[np.flatnonzero(still)])}. Drop these columns."
        )


def varies(X: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return a mask, shape (p,), of the columns that have two different values in rows of positive weight.

    X has shape (n, p), with NaN for missing values. Values that differ only by rounding count as equal.
    """
    measured = ~np.isnan(X)
    if weights is not None:
        measured &= (weights > 0)[:, None]
    highest = np.where(measured, X, -np.inf).max(axis=0)
    lowest = np.where(measured, X, np.inf).min(axis=0)
    observed = measured.any(axis=0)
    width = np.subtract(highest, lowest, out=np.zeros(len(observed)), where=observed)
    largest = np.where(observed, np.maximum(np.abs(highest), np.abs(lowest)), 0.0)
    return np.asarray(width > CONSTANT * largest)


def require_rank(k_em: int, n: int, p: int) -> None:
    """Raise OptionError unless a model of rank `k_em` can be fitted to n rows of p variables."""
    rank_limit = min(p, n - 1) - 1
    if rank_limit < 1:
        raise OptionError(
            f"na='em' was given for {plural(n, 'row')} (of positive weight) and {plural(p, 'column')}; it "
            "needs at least two columns and three rows. Use na='drop'."
        )
    if not 1 <= k_em <= rank_limit:
        raise OptionError(
            f"k_em={k_em} was given for {plural(n, 'row')} (of positive weight) and {plural(p, 'column')}; "
            f"the rank of the model of na='em' must be at least 1 and at most {rank_limit}."
        )


# --- the nearest correlation matrix ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Nearest:
    """A positive semidefinite correlation matrix, and its distance from the given one.

    Attributes
    ----------
    correlation : ndarray of shape (p, p)
        Positive semidefinite, with a diagonal of ones.
    smallest : float
        The smallest eigenvalue of the given matrix.
    moved : float
        The Frobenius norm of the difference; 0 if the given matrix was positive semidefinite.
    largest : float
        The largest absolute change of a correlation.
    """

    correlation: np.ndarray
    smallest: float
    moved: float = 0.0
    largest: float = 0.0


#: Iterate until the diagonal differs from one by less than this.
DIAGONAL_TOLERANCE = 1e-10
#: Largest numbers of Newton steps, of halvings of a step, and of conjugate gradient steps for each step.
NEWTON_STEPS, STEP_HALVINGS, GRADIENT_STEPS = 50, 20, 50


def nearest_correlation(R: np.ndarray) -> Nearest:
    """Return the positive semidefinite correlation matrix nearest to `R` in the Frobenius norm.

    Newton's method for the dual problem: Qi and Sun (2006), A quadratically convergent Newton method for
    computing the nearest correlation matrix, SIAM J. Matrix Anal. Appl. 28, with the improvements of Borsdorf
    and Higham (2010), IMA J. Numer. Anal. 30. The solution is the positive part of R + Diag(y), where y
    minimises the convex function theta(y) = 0.5 norm(positive part of R + Diag(y))^2 - sum(y), whose gradient
    is the diagonal of the positive part minus one. At the end, the diagonal is scaled to exactly one.

    Parameters
    ----------
    R : ndarray of shape (p, p)
        Symmetric, with a diagonal of ones.
    """
    y = np.zeros(len(R))
    part = PositivePart.of(R, y)
    smallest = float(part.values[0])
    if smallest >= -1e-8:  # rounding
        return Nearest(R, smallest)
    for _ in range(NEWTON_STEPS):
        gradient = part.diagonal() - 1.0
        if np.abs(gradient).max() <= DIAGONAL_TOLERANCE:
            break
        y, part, decreased = _newton_step(R, y, part, gradient)
        if not decreased:  # theta is at its minimum, up to rounding
            break
    matrix = symmetric(part.matrix())
    deviations = np.sqrt(np.diag(matrix))
    matrix = matrix / deviations / deviations[:, None]
    np.fill_diagonal(matrix, 1.0)
    difference = matrix - R
    return Nearest(matrix, smallest, float(np.linalg.norm(difference)), float(np.abs(difference).max()))


@dataclass(frozen=True, eq=False)
class PositivePart:
    """The positive part of a symmetric matrix, whose negative eigenvalues are replaced by zero.

    Attributes
    ----------
    values : ndarray of shape (p,)
        All eigenvalues of the matrix, ascending.
    below, above : ndarray of shapes (p, p - r) and (p, r)
        Eigenvectors of the eigenvalues that are not positive, and of the r positive ones.
    """

    values: np.ndarray
    below: np.ndarray
    above: np.ndarray

    @classmethod
    def of(cls, R: np.ndarray, y: np.ndarray) -> PositivePart:
        """Return the positive part of R + Diag(y)."""
        values, vectors = np.linalg.eigh(R + np.diag(y))
        n_negative = int(np.searchsorted(values, 0.0, side="right"))
        return cls(values, vectors[:, :n_negative], vectors[:, n_negative:])

    @property
    def positive(self) -> np.ndarray:
        """The positive eigenvalues, shape (r,)."""
        return self.values[self.below.shape[1] :]

    def diagonal(self) -> np.ndarray:
        """Return the diagonal of the positive part, shape (p,)."""
        return (self.above**2) @ self.positive

    def matrix(self) -> np.ndarray:
        """Return the positive part, shape (p, p)."""
        return (self.above * self.positive) @ self.above.T

    def theta(self, y: np.ndarray) -> float:
        """Return the dual function at `y`."""
        return 0.5 * float(self.positive @ self.positive) - float(y.sum())

    def quotients(self) -> np.ndarray:
        """Return a / (a - b) for the positive eigenvalues a and the others b, shape (r, p - r)."""
        a, b = self.positive[:, None], self.values[None, : self.below.shape[1]]
        return a / (a - b)


def _newton_step(
    R: np.ndarray, y: np.ndarray, part: PositivePart, gradient: np.ndarray
) -> tuple[np.ndarray, PositivePart, bool]:
    """Return `y` after one step, the positive part at this `y`, and whether theta decreased.

    The step is halved until theta decreases by at least 1e-4 of the decrease that the gradient predicts.
    """
    step = _direction(part, gradient)
    previous, slope = part.theta(y), float(gradient @ step)
    rounding = 1e-14 * (abs(previous) + float(np.abs(y).sum()))
    for _ in range(STEP_HALVINGS):
        part_next = PositivePart.of(R, y + step)
        if part_next.theta(y + step) <= previous + 1e-4 * slope + rounding:
            return y + step, part_next, True
        step, slope = 0.5 * step, 0.5 * slope
    return y, part, False


def _direction(part: PositivePart, gradient: np.ndarray) -> np.ndarray:
    """Return an approximate Newton step: conjugate gradients, preconditioned by the Hessian's diagonal.

    The generalised Hessian maps h to the diagonal of P (W * (P' Diag(h) P)) P', where P are all eigenvectors
    and W is 1 for two positive eigenvalues, `quotients` for one positive eigenvalue, and 0 for none.
    """
    from scipy.sparse.linalg import LinearOperator, cg

    quotients = part.quotients()
    upper, lower = part.above, part.below

    def hessian(h: np.ndarray) -> np.ndarray:
        scaled = upper.T * h
        mixed = quotients * (scaled @ lower)
        half = 0.5 * (scaled @ upper) @ upper.T + mixed @ lower.T
        return 2.0 * (upper * half.T).sum(axis=1)

    a, b = upper**2, lower**2
    diagonal = np.maximum((a.sum(axis=1)) ** 2 + 2.0 * ((a @ quotients) * b).sum(axis=1), 1e-12)
    shape = (len(gradient), len(gradient))
    step, _ = cg(
        LinearOperator(shape, hessian, dtype=float),
        -gradient,
        rtol=min(0.05, float(np.linalg.norm(gradient))),
        maxiter=GRADIENT_STEPS,
        M=LinearOperator(shape, lambda v: v / diagonal, dtype=float),
    )
    return np.asarray(step)


# --- available cases ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairwiseMoments:
    """Available-case moments.

    Attributes
    ----------
    mean : ndarray of shape (p,)
        Means of the measured values of each column.
    covariance : ndarray of shape (p, p)
        Correlations times the standard deviations of the measured values of each column; positive
        semidefinite.
    missing : ndarray of bool, shape (n, p)
    fewest : float
        The smallest sum of weights (number of rows) on which a correlation is based.
    nearest : Nearest
        The correlations, and how much they were changed to be positive semidefinite.
    """

    mean: np.ndarray
    covariance: np.ndarray
    missing: np.ndarray
    fewest: float
    nearest: Nearest


def pairwise_moments(
    X: np.ndarray,
    weights: np.ndarray | None,
    *,
    names: pd.Index | None = None,
    index: pd.Index | None = None,
    part: bool = False,
) -> PairwiseMoments:
    """Return available-case moments of rows with missing values.

    Means and variances are computed from all measured values of a column (divisor: the sum of the weights
    minus one). The correlation of two columns uses the rows in which both variables are observed, and the
    means and variances of these rows, as ``DataFrame.corr`` does. Since pairs use different rows, the matrix
    of correlations may not be positive semidefinite; the nearest correlation matrix then replaces it.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Missing values are NaN.
    weights : ndarray of shape (n,) or None
        Nonnegative frequencies.
    names, index : pandas.Index, optional
        Labels of columns and rows for messages.
    part : bool
        Whether X is a subset of the rows: a correlation that it does not determine is then zero.

    Raises
    ------
    MissingValuesError
        For a column or row without any value, and for two columns that share fewer than two measured rows.
    ConstantColumnError
        For a column whose measured values do not vary, or do not vary in the rows in which another column is
        also measured.
    """
    X = np.asarray(X, dtype=float)
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    missing = np.isnan(X)
    require_measured(X, missing, w, names, index)
    names = pd.RangeIndex(X.shape[1]) if names is None else names
    measured = (~missing).astype(float)
    weighted = measured * w[:, None]
    pair_weights = measured.T @ weighted
    rows = measured.T @ (measured * (w > 0)[:, None])
    unpaired = rows < 2
    if not part:
        _require_pairs(unpaired, names, "fewer than two rows have both")
    count = np.diag(pair_weights)
    mean = w @ np.where(missing, 0.0, X) / count
    centred = np.where(missing, 0.0, X - mean)
    size = np.sqrt(w @ centred**2 / count)
    Z = centred / size
    sums = Z.T @ weighted  # [j, k]: sum of column j over the rows that have both columns
    squares = (Z * Z).T @ weighted
    shared = np.where(unpaired, 1.0, pair_weights)
    variances = squares / shared - (sums / shared) ** 2
    still = variances <= CONSTANT
    if not part:
        _require_pairs(still | still.T, names, "one of them does not vary in the rows that have both")
    covariances = (Z * w[:, None]).T @ Z / shared - sums * sums.T / shared**2
    unknown = unpaired | still | still.T
    R = np.where(unknown, 0.0, covariances / np.sqrt(np.where(unknown, 1.0, variances * variances.T)))
    R = R.clip(-1.0, 1.0)
    np.fill_diagonal(R, 1.0)
    nearest = nearest_correlation(symmetric(R))
    deviations = size * np.sqrt(count / (count - 1.0))
    S = nearest.correlation * deviations * deviations[:, None]
    return PairwiseMoments(mean, S, missing, float(pair_weights.min()), nearest)


def _require_pairs(bad: np.ndarray, names: pd.Index, reason: str) -> None:
    """Raise an error for the pairs of columns in the mask `bad`; the message gives the `reason`."""
    np.fill_diagonal(bad, False)
    if not bad.any():
        return
    pairs = np.argwhere(np.triu(bad, 1))
    pair = listed(names[pairs[0]])
    ending = f" (and {len(pairs) - 1} more pairs)" if len(pairs) > 1 else ""
    error = MissingValuesError if reason.startswith("fewer") else ConstantColumnError
    raise error(
        f"na='pairwise' needs a correlation of every pair of columns, and {pair}{ending} have none: "
        f"{reason}. Use na='em', or leave a column out."
    )
