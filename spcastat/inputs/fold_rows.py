"""Standardised rows in folds, on which the prediction by components is judged before any fit.

They are the rows of the tests of the number of components: large rows are pulled in, and a missing value is
the mean. Rows that belong together are in one fold. For a covariance matrix they are normal rows that have
exactly this matrix, or if there are many, the cross-products of the folds of such rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from spcastat.errors import TooFewRowsError
from spcastat.inputs.noise import RowNoise, covariance_noise, pulled_in, standardised
from spcastat.inputs.row_groups import RowGroups, StandardRows, folded_design
from spcastat.inputs.samplers import Rules
from spcastat.linalg.operators import Operator
from spcastat.linalg.ties import is_sparse


@dataclass(frozen=True, eq=False)
class FoldRows:
    """Rows in folds.

    Attributes
    ----------
    Z : ndarray of shape (m, p)
    weights : ndarray of shape (m,) or None
    labels : ndarray of int, shape (repeats, m)
        The fold of each row, for every division.
    rules : Rules
        How the rows outside a fold are standardised.
    """

    Z: np.ndarray
    weights: np.ndarray | None
    labels: np.ndarray
    rules: Rules


def of_rows(source: StandardRows, folds: int, repeats: int, seed: int, unit: float, pull: bool) -> FoldRows:
    """Return rows in memory in at most `folds` folds; `unit` and `pull` as for `Data.noise`."""
    Z, w = standardised(source, unit), source.weights
    if pull and not is_sparse(source.matrix) and source.standard.centring == "mean":
        Z = pulled_in(Z, w).Z
    Z = np.nan_to_num(Z)
    groups = RowGroups.of(source.measured, w, source.covariates, folded_design(source, folds))
    count = min(folds, groups.count)
    if count < 2:
        raise TooFewRowsError(
            "The number of components is chosen by prediction of held-out rows, and there is one row or "
            "cluster; give two or more, or k=."
        )
    labels = groups.folds(count, repeats, np.random.default_rng([seed, 3]))
    if w is not None and not w.all():
        Z, labels, w = Z[w > 0], labels[:, w > 0], w[w > 0]
    centred = source.standard.centring == "mean" or source.covariates is not None
    rules = Rules(
        centred, source.standard.scaling == "sd", source.spec.columns, otherwise=np.ones(Z.shape[1])
    )
    return FoldRows(Z, w, labels, rules)


def of_covariance(
    op: Operator, n: float | None, kind: str | None, folds: int, repeats: int, seed: int, unit: float
) -> FoldRows:
    """Return normal rows with a covariance matrix of n rows, in folds; see `covariance_noise`."""
    noise, rng = covariance_noise(op, n, kind, seed, unit), np.random.default_rng([seed, 4])
    variances = noise.variances
    names = pd.RangeIndex(len(variances))
    correlations = bool(np.ptp(variances) <= 1e-10 * variances.max())
    rules = Rules(False, correlations, names, otherwise=np.ones(len(variances)))
    if isinstance(noise, RowNoise):
        count = min(folds, len(noise.Z))
        labels = np.stack([rng.permutation(len(noise.Z)) % count for _ in range(repeats)])
        return FoldRows(noise.Z, None, labels, rules)
    parts = _products_of_folds(noise.S, noise.rows, folds, rng)
    p = len(variances)
    return FoldRows(
        np.vstack(parts),
        np.full(folds * p, noise.rows / folds / p),
        np.repeat(np.arange(folds), p)[None],
        rules,
    )


def _products_of_folds(S: np.ndarray, n: float, folds: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return for each fold p rows A of which A'A / p is the covariance matrix of the rows of the fold.

    Wishart matrices W_i of the folds are drawn and transformed so that their sum is that of all rows, which
    is their distribution given the sum.
    """
    p = len(S)
    factors = []
    for _ in range(folds):
        L = np.tril(rng.standard_normal((p, p)), -1)
        L[np.diag_indices(p)] = np.sqrt(rng.chisquare(np.maximum(n / folds - np.arange(p), 1.0)))
        factors.append(L.T)  # W = L L'
    total = sum(A.T @ A for A in factors)
    values, vectors = np.linalg.eigh(S)
    root = (vectors * np.sqrt(values.clip(min=0.0))) @ vectors.T
    turn = np.linalg.solve(np.linalg.cholesky(total), np.eye(p)).T @ root
    return [A @ turn * np.sqrt(folds * p) for A in factors]
