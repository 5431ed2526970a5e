"""Rows with gaps made ready for a fit: their moments, and what is told of how these came about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spcastat.config import plural, warn
from spcastat.errors import ConvergenceWarning, OptionError
from spcastat.intake import Design
from spcastat.missing import PpcaModel, em_moments, pairwise_moments
from spcastat.operators import CrossProducts, Operator, Standardisation, from_products, prepare
from spcastat.operators.columns import ColumnUnits, largest_of

#: More variables than this have no dense covariance matrix.
MOST_VARIABLES = 5000


@dataclass(frozen=True, eq=False)
class Gaps:
    """What was done about missing values.

    Attributes
    ----------
    how : {"em", "pairwise"}
    missing : ndarray of bool, shape (n, p)
    told : dict
        What a record keeps: counts, and how the moments were found.
    model : PpcaModel or None
        The model of rows by which gaps were, and will be, filled; None for "pairwise".
    """

    how: str
    missing: np.ndarray
    told: dict[str, Any]
    model: PpcaModel | None = None


def refuse_rows_methods(how: str, method: str) -> None:
    """Raise OptionError for a method that needs the rows themselves.

    Conditional means vary less than what was not measured would have, and a method that sees rows cannot be
    told the variance that they lack; a robust one would also trust values that the normal model made of
    outliers.
    """
    raise OptionError(
        f"method={method!r} works on the rows themselves, and na={how!r} estimates their means and "
        "covariances only: filled rows vary too little, and a robust method would take for good what "
        "outliers had part in. Take a method that needs a covariance matrix only (spcastat.methods() "
        "lists them as taking 'data or covariance'), or na='drop'."
    )


def prepare_with_gaps(
    design: Design, how: str, k_em: int | None, center: Any, scale: Any, k: int
) -> tuple[Standardisation, Operator, np.ndarray, Gaps]:
    """Return centre, scale and operator of rows with gaps, the rows as scores see them, and the gaps.

    Parameters
    ----------
    design : Design
        Dense rows, NaN in gaps.
    how : {"em", "pairwise"}
    k_em : int or None
        The rank of the model; by default `k`, or the largest that is allowed.
    center, scale : bool or ndarray of shape (p,)
        As for :func:`spcastat.operators.prepare`. The model of the EM holds for columns in the units of the
        analysis: with ``scale=True`` over the standard deviations of their measured values, with numbers of
        one's own over these. What columns are divided by in the end are the standard deviations that
        the EM gives.
    k : int
        Number of components.

    Returns
    -------
    standard : Standardisation
    op : Operator
    matrix : ndarray of shape (n, p)
        With "em" the rows with conditional means in the gaps; with "pairwise" as they are.
    gaps : Gaps
    """
    X = np.asarray(design.matrix, dtype=float)
    w, names = design.weights, design.columns
    n, p = X.shape
    if p > MOST_VARIABLES:
        raise OptionError(
            f"na={how!r} was given with {p:,} variables; it forms their covariance matrix, of "
            f"{MOST_VARIABLES:,} at most. Leave out the variables of least variance, or impute the values "
            "first."
        )
    units = _units(X, scale)
    Y = np.ldexp(X, -units.exponents)
    inner_scale = units.divisor(scale)
    missing = np.isnan(X)
    told: dict[str, Any] = {
        "how": how,
        "cells": int(missing.sum()),
        "rows": int(missing.any(axis=1).sum()),
    }
    model = None
    matrix = X
    if how == "em":
        positive = n if w is None else int(np.count_nonzero(w))
        rank = max(1, min(k, p - 1, positive - 2)) if k_em is None else k_em
        found = em_moments(Y, w, rank, scale=inner_scale, names=names, index=design.index)
        if not found.converged:
            warn(
                f"na='em': the EM stopped after {plural(found.iterations, 'iteration')}, before it "
                "converged; a smaller k_em= converges sooner.",
                ConvergenceWarning,
            )
        model = replace(
            found.model,
            mean=np.ldexp(found.model.mean, units.exponents),
            scale=np.ldexp(found.model.scale, units.exponents),
        )
        matrix = np.where(missing, np.ldexp(found.rows, units.exponents), X)
        told |= {
            "patterns": found.patterns,
            "rank": rank,
            "iterations": found.iterations,
            "converged": found.converged,
        }
        moments = found.mean, found.covariance
    else:
        pairs = pairwise_moments(Y, w, names=names, index=design.index)
        told |= {
            "fewest": pairs.fewest,
            "smallest": pairs.nearest.smallest,
            "moved": pairs.nearest.moved,
            "largest": pairs.nearest.largest,
        }
        moments = pairs.mean, pairs.covariance
    gaps = Gaps(how, missing, told, model)
    if not missing.any():  # the moments of complete rows, to the last bit
        return *prepare(X, w, center, scale, names), matrix, gaps
    products = CrossProducts(p)
    products.weight = float(n) if w is None else float(w.sum())
    products.mean, products.products = moments[0], moments[1] * (products.weight - 1.0)
    # conditional covariances have no rank: rows set no limit
    standard, op = from_products(products, p + 1, units.centre(center), inner_scale, names)
    op.unit = units.unit
    return units.restored(standard), op, matrix, gaps


def _units(X: np.ndarray, scale: Any) -> ColumnUnits:
    """Return powers of two that bring all columns, or each, near one; columns without a value count as 1."""
    largest = largest_of(np.where(np.isnan(X), 0.0, X))
    units = ColumnUnits.of(largest, scale)
    assert units is not None  # the values are finite
    return units
