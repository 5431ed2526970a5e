"""Moments of rows with missing values, by EM or from pairs of variables."""

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
from spcastat.reading.missing_values import PpcaModel, em_moments, pairwise_moments, varies
from spcastat.reading.mixed_values import impute_mixed

#: Largest number of variables for which a dense covariance matrix is formed, of 200 MB.
MOST_VARIABLES = 5000


@dataclass(frozen=True, eq=False)
class Gaps:
    """How missing values were treated.

    Attributes
    ----------
    rule : {"em", "pairwise"}
    missing : ndarray of bool, shape (n, p)
    as_record : dict
        The entries of the record: counts, and how the moments were estimated.
    model : PpcaModel or None
        The EM model, from which the EM for subsets of the rows starts; None for "pairwise".
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

    Imputed conditional means vary less than the true values, and a method that works on rows cannot account
    for the missing variance. A robust method would also trust values that were imputed from outliers.
    """
    raise OptionError(
        f"method={method!r} works on the rows themselves, and na={rule!r} estimates only their means and "
        "covariances: use a method that takes 'data or covariance' (spcastat.methods()), or na='drop'."
    )


def rank_of(k_em: int | None, k: int, weights: np.ndarray | None, shape: tuple[int, int]) -> int:
    """Return the rank of the EM model: `k_em`, or by default k, reduced if the data are too small for it."""
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
        its values, and with blocks as blocks define. The final scale is the standard deviations from the EM.
    rule : {"em", "pairwise"}
    rank : int
        The rank of the model; not used for "pairwise".
    index : pandas.Index, optional
        Labels of the rows for messages.
    start : PpcaModel, optional
        The start of the EM for a subset or a sample of the rows: the model of all rows.
    otherwise : ndarray of shape (p,), optional
        For a part of the rows: the scale of columns of which it has fewer than two different values. They
        have variance zero; a column without any value has the mean zero. With "pairwise", a pair of columns
        without a correlation in these rows is uncorrelated.

    Returns
    -------
    standard : Standardisation
    op : Operator
    matrix : ndarray of shape (n, p)
        With "em", missing values are replaced by shrunk conditional means; with "pairwise" they remain.
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
    # powers of two that scale all columns, or each column, to about one; 1 for empty columns
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
    if not missing.any():  # exactly the moments of complete rows
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
    """Return what :func:`prepare_with_gaps` returns for numbers and indicators, whose moments are those of
    the imputed rows.
    """
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
    """Return what :func:`prepare_with_gaps` returns, with variance zero for all but the `varying` columns."""
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
