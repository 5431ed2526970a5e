"""Moments of rows with missing values, by EM or from pairs of variables; imputed numbers and levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import OptionError
from spcastat.linalg.accumulate import CrossProducts
from spcastat.linalg.operators import Gram, Operator
from spcastat.linalg.standardisation import (
    BLOCK_SCALES,
    BlockScaling,
    ColumnUnits,
    Mixed,
    ScalingGroups,
    Standardisation,
    from_products,
    largest_of,
    prepare,
)
from spcastat.reading.missing_values import PpcaModel, em_moments, pairwise_moments, require_measured, varies

#: Largest number of variables for which a dense covariance matrix (of 200 MB) is formed.
MOST_VARIABLES = 5000


@dataclass(frozen=True, eq=False)
class Gaps:
    """The treatment of missing values.

    Attributes
    ----------
    rule : {"em", "pairwise"}
    missing : ndarray of bool, shape (n, p)
    as_record : dict
        The entries of the record: counts, and details of the estimation of moments.
    model : PpcaModel or None
        The EM model, at which EM for subsets of the rows starts; None for "pairwise".
    filling : PpcaModel or None
        The same model with shrunk scores; it imputes missing values in the rows of the fit and in new rows.
    """

    rule: str
    missing: np.ndarray
    as_record: dict[str, Any]
    model: PpcaModel | None = None
    filling: PpcaModel | None = None


def refuse_rows_methods(rule: str, method: str) -> None:
    """Raise OptionError for a method that needs the rows themselves.

    Imputed conditional means vary less than the true values, and a method that needs rows cannot account for
    the missing variance. A robust method would also rely on values that were imputed from outliers.
    """
    raise OptionError(
        f"method={method!r} needs the rows themselves, but na={rule!r} estimates only their means and "
        "covariances: use a method that accepts 'data or covariance' (spcastat.methods()), or na='drop'."
    )


def rank_of(k_em: int | None, k: int, weights: np.ndarray | None, shape: tuple[int, int]) -> int:
    """Return the rank of the EM model: `k_em`, or by default k, or less if the data are too small for k."""
    n, p = shape
    positive = n if weights is None else int(np.count_nonzero(weights))
    return max(1, min(k, p - 1, positive - 2)) if k_em is None else k_em


def prepare_with_gaps(
    X: Any,
    weights: np.ndarray | None,
    center: Any,
    scale: Any,
    names: pd.Index,
    rule: str,
    rank: int,
    *,
    index: pd.Index | None = None,
    start: PpcaModel | None = None,
    otherwise: np.ndarray | None = None,
) -> tuple[Standardisation, Operator, np.ndarray, Gaps]:
    """Return centre, scale and operator of rows with missing values, the rows for scores, and Gaps.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        NaN for missing values.
    weights, center, scale, names
        As for :func:`spcastat.linalg.standardisation.prepare`. The EM model is fitted to scaled columns: with
        ``scale=True`` they are divided by the standard deviations of their measured values, with an array by
        its values, and with blocks as the kind of blocks requires. The final scales are the standard
        deviations from EM.
    rule : {"em", "pairwise"}
    rank : int
        The rank of the model; not used for "pairwise".
    index : pandas.Index, optional
        Labels of the rows for messages.
    start : PpcaModel, optional
        The model of all rows, at which EM for a subset or a sample of the rows starts.
    otherwise : ndarray of shape (p,), optional
        For a part of the rows, the scale of columns that have fewer than two different values in this part.
        The variance of such a column is zero, and its mean is zero if it has no values. With "pairwise", two
        columns whose correlation cannot be computed in these rows are treated as uncorrelated.

    Returns
    -------
    standard : Standardisation
    op : Operator
    matrix : ndarray of shape (n, p)
        With "em", missing values are replaced by shrunk conditional means; with "pairwise" they remain
        missing.
    gaps : Gaps
    """
    X = np.asarray(X, dtype=float)
    n, p = X.shape
    varying = np.arange(p) if otherwise is None else np.flatnonzero(varies(X, weights))
    if otherwise is not None and 0 < len(varying) < p:
        return _with_constant_columns(X, weights, center, scale, names, rule, rank, start, otherwise, varying)
    if p > MOST_VARIABLES:
        raise OptionError(
            f"na={rule!r} was given with {p:,} variables; it forms their covariance matrix, of "
            f"{MOST_VARIABLES:,} at most. Leave out the variables of least variance, or impute the values "
            "first."
        )
    missing = np.isnan(X)
    record: dict[str, Any] = {
        "how": rule,
        "cells": int(missing.sum()),
        "rows": int(missing.any(axis=1).sum()),
    }
    if isinstance(scale, Mixed):
        return _prepare_mixed(X, weights, center, scale, names, rank, record, index, start, otherwise)
    # powers of two that scale all columns, or each column, to about one; 1 for columns without values
    units = ColumnUnits.of(largest_of(np.where(missing, 0.0, X)), scale)
    assert units is not None  # the values are finite
    Y, divisor = np.ldexp(X, -units.exponents), units.divisor(scale)
    model, filling, matrix = None, None, X
    if rule == "em":
        begin = None if start is None else _model_in_units(start, -units.exponents)
        spread = BLOCK_SCALES[divisor.kind] if isinstance(divisor, BlockScaling) else divisor
        em_model = em_moments(Y, weights, rank, scale=spread, names=names, index=index, start=begin)
        model = _model_in_units(em_model.model, units.exponents)
        shrunk = em_model.model.shrunk(float(n) if weights is None else float(weights.sum()))
        filling = _model_in_units(shrunk, units.exponents)
        matrix = np.where(missing, np.ldexp(shrunk.filled(Y), units.exponents), X)
        record |= {
            "patterns": em_model.patterns,
            "rank": rank,
            "iterations": em_model.iterations,
            "converged": em_model.converged,
        }
        mean, S = em_model.mean, em_model.covariance
    else:
        pairs = pairwise_moments(Y, weights, names=names, index=index, part=otherwise is not None)
        record |= {
            "fewest": pairs.fewest,
            "smallest": pairs.nearest.smallest,
            "moved": pairs.nearest.moved,
            "largest": pairs.nearest.largest,
        }
        mean, S = pairs.mean, pairs.covariance
    gaps = Gaps(rule, missing, record, model, filling)
    if not missing.any():  # then these are exactly the moments of complete rows
        return *prepare(X, weights, center, scale, names, otherwise=otherwise), matrix, gaps
    products = CrossProducts(p)
    products.weight = float(n) if weights is None else float(weights.sum())
    products.mean, products.products = mean, S * (products.weight - 1.0)
    # with conditional covariances added, the rank is not limited by the number of rows
    standard, op = from_products(products, p + 1, units.centre(center), divisor, names)
    op.unit = units.unit
    return units.restored(standard), op, matrix, gaps


def _prepare_mixed(
    X: np.ndarray,
    weights: np.ndarray | None,
    center: Any,
    scale: Mixed,
    names: pd.Index,
    rank: int,
    record: dict[str, Any],
    index: pd.Index | None,
    start: PpcaModel | None,
    otherwise: np.ndarray | None,
) -> tuple[Standardisation, Operator, np.ndarray, Gaps]:
    """Return the result of :func:`prepare_with_gaps` for mixed data, with moments of the imputed rows."""
    missing = np.isnan(X)
    units = ColumnUnits.of(largest_of(np.where(missing, 0.0, X)), scale)
    assert units is not None  # the values are finite
    exponents = np.where(scale.of < 0, units.exponents, 0)
    begin = None if start is None else _model_in_units(start, -exponents)
    imputation = impute_mixed(np.ldexp(X, -exponents), weights, scale, rank, names, index, begin)
    model = _model_in_units(imputation.model, exponents)
    matrix = np.where(missing, np.ldexp(imputation.filled, exponents), X)
    first_levels = np.unique(scale.of, return_index=True)[1][int((scale.of < 0).any()) :]
    record |= {
        "cells": int(missing[:, scale.of < 0].sum() + missing[:, first_levels].sum()),
        "patterns": len(np.unique(missing[missing.any(axis=1)], axis=0)),
        "rank": rank,
        "iterations": imputation.iterations,
        "converged": imputation.converged,
    }
    moments = prepare(matrix, weights, center, scale, names, otherwise=otherwise)
    return *moments, matrix, Gaps("em", missing, record, model, model)


def _with_constant_columns(
    X: np.ndarray,
    weights: np.ndarray | None,
    center: Any,
    scale: Any,
    names: pd.Index,
    rule: str,
    rank: int,
    start: PpcaModel | None,
    otherwise: np.ndarray,
    varying: np.ndarray,
) -> tuple[Standardisation, Operator, np.ndarray, Gaps]:
    """Return the result of :func:`prepare_with_gaps`, with zero variance except in `varying` columns."""
    p, missing = len(names), np.isnan(X)
    measured = ~missing[:, varying].all(axis=1)
    w = None if weights is None else weights[measured]
    own_center = center[varying] if isinstance(center, np.ndarray) else center
    own_scale = scale[varying] if isinstance(scale, np.ndarray) else scale
    if isinstance(scale, ScalingGroups):
        own_scale = scale.of_columns(varying)
    rank = max(1, min(rank, len(varying) - 1, int(measured.sum()) - 2))
    own_start = None if start is None else start.of_columns(varying)
    part, kept_scale = X[np.ix_(measured, varying)], otherwise[varying]
    standard, op, matrix, gaps = prepare_with_gaps(
        part, w, own_center, own_scale, names[varying], rule, rank, start=own_start, otherwise=kept_scale
    )
    values = np.where(missing, 0.0, X).sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
    mean = values.copy() if center is True else np.zeros(p) + center
    divisor = otherwise.copy()
    mean[varying], divisor[varying] = standard.mean, standard.scale
    S = np.zeros((p, p))
    S[np.ix_(varying, varying)] = op.block(np.arange(op.p))
    full_operator = Gram(S, op.rank_limit)
    full_operator.unit = op.unit
    filled = np.where(missing, mean, X)
    filled[np.ix_(measured, varying)] = matrix
    counts = {"cells": int(missing.sum()), "rows": int(missing.any(axis=1).sum())}
    models = [
        None if model is None else model.among(varying, mean, divisor) for model in (gaps.model, gaps.filling)
    ]
    full_standard = replace(standard, mean=mean, scale=divisor)
    return full_standard, full_operator, filled, Gaps(rule, missing, {**gaps.as_record, **counts}, *models)


def _model_in_units(model: PpcaModel, exponents: np.ndarray) -> PpcaModel:
    """Return the model for columns multiplied by powers of two."""
    mean, scale = np.ldexp(model.mean, exponents), np.ldexp(model.scale, exponents)
    return replace(model, mean=mean, scale=scale)


# --- numbers and levels ---------------------------------------------------------------------------
# Imputed by iterative factor analysis of mixed data (FAMD): numbers and indicators of levels are centred and
# scaled, and missing values are replaced by values of a low-rank approximation with shrunken singular values,
# until the approximation converges.


#: Convergence tolerance: relative change of the squared error of the measured values.
ERROR_CHANGE = 1e-9
#: Largest number of iterations.
IMPUTATION_STEPS = 1000
#: Lower limit of the noise variance relative to the largest eigenvalue, so that scores have a covariance
#: matrix.
LEAST_NOISE = 1e-12


@dataclass(frozen=True, eq=False)
class MixedImputation:
    """Rows of mixed data with imputed values.

    Attributes
    ----------
    filled : ndarray of shape (n, p)
        Rows with imputed values. The imputed indicators of a factor sum to one; they may be negative.
    model : PpcaModel
        The model whose conditional means are the imputed values; it also imputes new rows.
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
        Numbers, and one indicator for each level of a factor; NaN for missing values. X is not changed.
    weights : ndarray of shape (n,), optional
        Frequencies of the rows.
    scale : Mixed
        The factors of the columns.
    rank : int
        Dimensions of the approximation.
    names, index : pandas.Index, optional
        Labels of columns and rows for messages.
    start : PpcaModel, optional
        A model whose conditional means are the first imputed values; by default these are the means of the
        columns.

    Raises
    ------
    MissingValuesError
        If all values of a column or row are missing.
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
        # the error of an exact approximation is rounding error, which keeps changing
        if abs(error - previous_error) <= ERROR_CHANGE * error or error <= np.finfo(float).eps * free:
            return MixedImputation(filled, model, iteration, True)
        previous_error = error
    return MixedImputation(filled, model, IMPUTATION_STEPS, False)


def _model_of(
    X: np.ndarray, shares: np.ndarray, n: float, scale: Mixed, rank: int, free: int
) -> tuple[PpcaModel, np.ndarray]:
    """Return the model of completed rows, and these rows centred and scaled.

    The indicators of a factor are divided by the roots of the shares of levels, and by the first singular
    value of the factor, which is one if none of its values is missing.
    """
    mean = shares @ X
    is_number = scale.of < 0
    if (mean[~is_number] <= 0.0).any():
        raise OptionError(
            f"na='em' was given with k_em={rank}, but imputed levels have shares below zero: give a smaller "
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
    """Return the shrunken approximation of scaled rows, and rows with its values in missing cells."""
    W = model.loadings
    scores = Z @ W / ((W**2).sum(axis=0) + model.sigma2)
    fitted = scores @ W.T
    return fitted, np.where(missing, model.mean + model.scale * fitted, X)
