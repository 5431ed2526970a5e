"""Missing values of mixed data, imputed by iterative factor analysis of mixed data (FAMD).

Numbers and indicators of levels are centred and scaled, and missing values are replaced by those of a
low-rank approximation whose singular values are shrunk, until the approximation no longer changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from spcastat.errors import OptionError
from spcastat.linalg.standardisation import Mixed
from spcastat.reading.missing_values import PpcaModel, require_measured

#: The iterations end if the squared error of the measured values changes by a smaller share than this.
ERROR_CHANGE = 1e-9
#: Iterations at most.
IMPUTATION_STEPS = 1000
#: The noise variance is at least this share of the largest eigenvalue, so that scores have a covariance.
LEAST_NOISE = 1e-12


@dataclass(frozen=True, eq=False)
class MixedImputation:
    """Rows of mixed data with imputed values.

    Attributes
    ----------
    filled : ndarray of shape (n, p)
        The imputed indicators of a factor sum to one; they may be negative.
    model : PpcaModel
        Its conditional means are the imputed values. It imputes new rows.
    iterations : int
    converged : bool
    """

    filled: np.ndarray
    model: PpcaModel
    iterations: int
    converged: bool


def impute_mixed(
    X: np.ndarray,
    weights: np.ndarray | None,
    scale: Mixed,
    rank: int,
    names: pd.Index | None = None,
    index: pd.Index | None = None,
    start: PpcaModel | None = None,
) -> MixedImputation:
    """Impute missing numbers and levels by regularised iterative FAMD.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Numbers, and one indicator for each level of a factor; NaN for missing values. Not changed.
    weights : ndarray of shape (n,), optional
        Frequencies of the rows.
    scale : Mixed
        The factors of the columns.
    rank : int
        Dimensions of the approximation.
    names, index : pandas.Index, optional
        Labels of columns and rows for messages.
    start : PpcaModel, optional
        A model whose conditional means are the first imputed values; by default the means are.

    Raises
    ------
    MissingValuesError
        For columns or rows without any value.
    ConstantColumnError
        For columns whose measured values do not vary.
    OptionError
        If the rank is too large for the data.

    References
    ----------
    Audigier, Husson and Josse (2016), "A principal component method to impute missing values for mixed data",
    Advances in Data Analysis and Classification 10, as in the function imputeFAMD of missMDA (R).
    """
    missing = np.isnan(X)
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    require_measured(X, missing, w, names, index)
    free = X.shape[1] - len(scale.names)
    rank_limit = min(free - 1, int(np.count_nonzero(w)) - 2)
    if rank > rank_limit:
        raise OptionError(
            f"na='em' was given with k_em={rank} for {free} free columns of numbers and levels; the rank of "
            f"the imputation is {rank_limit} at most."
        )
    shares = w / w.sum()
    if start is None:
        measured = np.where(missing, 0.0, X)
        means = (shares @ measured) / (shares @ ~missing)
        filled = np.where(missing, means, X)
    else:
        filled = start.filled(X)
    previous_error = np.inf
    for iteration in range(1, IMPUTATION_STEPS + 1):
        model, Z = _model_of(filled, shares, float(w.sum()), scale, rank, free)
        fitted, filled = _approximated(filled, missing, model, Z)
        error = float((np.where(missing, 0.0, Z - fitted) ** 2).sum(axis=1) @ shares)
        # an exact approximation has an error of rounding, which keeps changing
        if abs(error - previous_error) <= ERROR_CHANGE * error or error <= np.finfo(float).eps * free:
            return MixedImputation(filled, model, iteration, True)
        previous_error = error
    return MixedImputation(filled, model, IMPUTATION_STEPS, False)


def _model_of(
    X: np.ndarray, shares: np.ndarray, n: float, scale: Mixed, rank: int, free: int
) -> tuple[PpcaModel, np.ndarray]:
    """Return the model of completed rows, and these rows centred and scaled.

    The indicators of a factor are divided by the roots of the shares of levels, and by the first singular
    value of the factor, which is one if all its values were measured.
    """
    mean = shares @ X
    is_number = scale.of < 0
    if (mean[~is_number] <= 0.0).any():
        raise OptionError(
            f"na='em' was given with k_em={rank}, and imputed levels have shares below zero: give a smaller "
            "k_em, or na='drop'."
        )
    centred = X - mean
    variances = shares @ centred**2
    divisor = np.sqrt(np.where(is_number, variances, mean))
    S = (centred / divisor).T @ (centred / divisor * shares[:, None])
    for factor in range(len(scale.names)):
        places = np.flatnonzero(scale.of == factor)
        divisor[places] *= np.sqrt(np.linalg.eigvalsh(S[np.ix_(places, places)])[-1])
    Z = centred / divisor
    values, vectors = np.linalg.eigh(Z.T @ (Z * shares[:, None]))
    values, vectors = values[::-1].clip(min=0.0), vectors[:, ::-1]
    freedom = (n - 1.0) * free - (n - 1.0) * rank - free * rank + rank**2
    noise = n * free / min(free, n - 1.0) * values[rank:].sum() / freedom
    sigma2 = min(noise, values[rank]) if freedom > 0 else values[rank]
    sigma2 = max(float(sigma2), LEAST_NOISE * float(values[0]))
    loadings = vectors[:, :rank] * np.sqrt((values[:rank] - sigma2).clip(min=0.0))
    return PpcaModel(mean, divisor, loadings, sigma2), Z


def _approximated(
    X: np.ndarray, missing: np.ndarray, model: PpcaModel, Z: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the shrunk approximation of scaled rows, and rows with its values where they are missing."""
    W = model.loadings
    scores = Z @ W / ((W**2).sum(axis=0) + model.sigma2)
    fitted = scores @ W.T
    return fitted, np.where(missing, model.mean + model.scale * fitted, X)
