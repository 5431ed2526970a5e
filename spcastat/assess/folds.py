"""Folds of the rows, and the sparse model that predicts held-out rows from fits to the other rows.

Held-out rows are centred and scaled by the other rows, so that they influence neither the means and standard
deviations nor the fit that predicts them.

The model is Sigma = V L V' + s2 I as in probabilistic PCA (Tipping and Bishop 1999), but with the span of the
sparse loadings `V` given. Within the span, Sigma equals the covariance matrix S of the data; s2 is the mean
variance outside the span.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from spcastat.arguments import plural
from spcastat.errors import ConstantColumnError, DataError, MissingValuesError, TooFewRowsError, WeightsError
from spcastat.inputs.missing import rank_of
from spcastat.inputs.row_data import RowData
from spcastat.inputs.row_groups import RowGroups, folded_design
from spcastat.inputs.samplers import Rules, constant_among, constant_in, constant_remark
from spcastat.linalg import standardisation
from spcastat.linalg.accumulate import CrossProducts, is_sparse, weights_or_ones
from spcastat.linalg.operators import Operator
from spcastat.linalg.regression import are_within
from spcastat.linalg.standardisation import ColumnUnits, Standardisation, fits, largest_of
from spcastat.reading.design import RowDesign
from spcastat.reading.missing_values import Patterns, expect, outers

# --- the sparse model -----------------------------------------------------------------------------


#: Smallest noise variance, as a share of the mean variance.
LEAST_NOISE_SHARE = 1e-10


@dataclass(frozen=True, eq=False)
class SparseModel:
    """The model Sigma = s2 I + W diag(m - s2) W', with orthonormal W.

    Attributes
    ----------
    W : ndarray of shape (u, r)
        The principal directions of S within the span of the loadings, on the variables `used`.
    used : ndarray of int, shape (u,)
        Variables with a loading.
    variances : ndarray of shape (r,)
        Variances m along W, at least s2.
    noise : float
        The noise variance s2.
    p : int
    total, span_variance : float
        The trace of S, and the trace of S within the span. The ratio span_variance / total is the PEV.
    groups : ndarray of int, shape (p,), or None
        The group of each variable, if the variables of a group are predicted from other groups only.
    """

    W: np.ndarray
    used: np.ndarray
    variances: np.ndarray
    noise: float
    p: int
    total: float
    span_variance: float
    groups: np.ndarray | None = None

    @classmethod
    def of(cls, V: np.ndarray, op: Operator, groups: np.ndarray | None = None) -> SparseModel:
        """Return the model for loadings V, shape (p, k) with p > k, and the covariance matrix `op`."""
        used = np.flatnonzero(V.any(axis=1))
        squares, turn = np.linalg.eigh(V[used].T @ V[used])
        # V'V of linearly dependent loadings has zero eigenvalues, which by rounding are up to 1e-10 of the
        # largest
        is_positive = squares > 1e-10 * squares[-1]
        Q = np.zeros((op.p, int(is_positive.sum())))
        Q[used] = V[used] @ (turn[:, is_positive] / np.sqrt(squares[is_positive]))
        variances, axes = np.linalg.eigh(op.products(Q))
        p, r = Q.shape
        span_variance = float(variances.sum())
        noise = max((op.total - span_variance) / (p - r), LEAST_NOISE_SHARE * op.total / p)
        return cls(
            Q[used] @ axes, used, np.maximum(variances, noise), noise, p, op.total, span_variance, groups
        )

    def deviance(self, n: float) -> float:
        """Return n (log |Sigma| + tr Sigma^-1 S): minus twice the log-likelihood, up to a constant."""
        log_determinant = (self.p - len(self.variances)) * np.log(self.noise) + np.log(self.variances).sum()
        shrinkage = 1.0 - self.noise / self.variances  # Sigma^-1 = (I - W diag(shrinkage) W') / s2
        # axes with the noise variance contribute nothing
        shrunk_variance = (self.variances * shrinkage).sum()
        return float(n * (log_determinant + (self.total - shrunk_variance) / self.noise))

    def press(self, squares: np.ndarray, block: np.ndarray) -> float:
        """Return the sum of squared errors if every value is predicted from the other values in its row.

        Parameters
        ----------
        squares : ndarray of shape (p,)
            Sums of squares of new rows, centred and scaled like the rows from which S was computed.
        block : ndarray of shape (u, u)
            Cross-products of the new rows for the variables `used`.

        Notes
        -----
        With Omega = Sigma^-1, the error of value j in row x is (Omega x)_j / Omega_jj. A variable that is the
        only one in its component is predicted by its mean, as are variables without a loading. With groups,
        the errors of the variables in group g are inv(Omega_gg) (Omega x)_g.
        """
        shrunk = self.W * (1.0 - self.noise / self.variances)
        image = block @ self.W
        inner = self.W.T @ image
        if self.groups is not None:
            sum_of_errors = float(squares.sum() - squares[self.used].sum())
            cross_terms = image @ shrunk.T
            residual_products = block - cross_terms - cross_terms.T + shrunk @ inner @ shrunk.T
            precision, of = np.eye(len(block)) - shrunk @ self.W.T, self.groups[self.used]
            for J in map(np.flatnonzero, of == np.unique(of)[:, None]):
                group_block = np.ix_(J, J)
                values, axes = np.linalg.eigh(precision[group_block])
                is_single = values <= LEAST_NOISE_SHARE  # directions that no other group predicts
                predicted = np.einsum("ij,ik,kj->j", axes, residual_products[group_block], axes)
                by_mean = np.einsum("ij,ik,kj->j", axes, block[group_block], axes)
                sum_of_errors += float(
                    np.where(is_single, by_mean, predicted / np.where(is_single, 1.0, values) ** 2).sum()
                )
            return sum_of_errors
        residual_squares = (
            squares[self.used]
            - 2.0 * np.einsum("ij,ij->i", shrunk, image)
            + np.einsum("ij,jk,ik->i", shrunk, inner, shrunk)
        )
        precisions = 1.0 - np.einsum("ij,ij->i", shrunk, self.W)
        is_single = precisions <= LEAST_NOISE_SHARE  # the only variable in its component
        errors = np.where(
            is_single, squares[self.used], residual_squares / np.where(is_single, 1.0, precisions) ** 2
        )
        return float(squares.sum() - squares[self.used].sum() + errors.sum())

    def press_rows(self, squares: np.ndarray, Z: np.ndarray) -> float:
        """Return the same sum of squared errors as :meth:`press`, without groups, from the rows themselves.

        Parameters
        ----------
        squares : ndarray of shape (p,)
        Z : ndarray of shape (m, u)
            New rows of the variables `used`.
        """
        return float(squares.sum() - squares[self.used].sum() + (self.errors_of(Z) ** 2).sum())

    def squares(self, Z: np.ndarray, weights: np.ndarray) -> float:
        """Return the weighted sum of squared errors of new rows; `Z` and `weights` have shape (m, p)."""
        squares = Z**2
        squares[:, self.used] = self.errors_of(Z[:, self.used]) ** 2
        return float((squares * weights).sum())

    def errors_of(self, Z: np.ndarray) -> np.ndarray:
        """Return the error of each value of new rows of the variables `used`, shape (m, u)."""
        shrunk = self.W * (1.0 - self.noise / self.variances)
        precisions = 1.0 - np.einsum("ij,ij->i", shrunk, self.W)
        is_single = precisions <= LEAST_NOISE_SHARE  # the only variable in its component
        return np.where(is_single, Z, (Z - (Z @ self.W) @ shrunk.T) / np.where(is_single, 1.0, precisions))

    def press_measured(self, Z: np.ndarray, patterns: Patterns, weights: np.ndarray) -> float:
        """Return the sum of squared errors if every measured value is predicted from the others in its row.

        Parameters
        ----------
        Z : ndarray of shape (m, p)
            New rows, centred and scaled like the rows from which S was computed; 0 for missing values.
        patterns : Patterns
            The patterns of missing values.
        weights : ndarray of shape (m,)

        Notes
        -----
        The errors are computed as in :meth:`press`, with the block of Sigma for the measured values o of a
        row: Sigma_oo = F_o F_o' + s2 I has the inverse (I - F_o M^-1 F_o') / s2 with M = F_o'F_o + s2 I.
        """
        F = self.W * np.sqrt(self.variances - self.noise)
        used_patterns = Patterns(patterns.missing[:, self.used], patterns.of_row, patterns.weight)
        used_cells = Z[:, self.used]
        expectation = expect(used_cells, used_patterns, F, self.noise)
        residuals = used_cells - expectation.scores @ F.T
        precisions = 1.0 - expectation.inverses.reshape(len(used_patterns.weight), -1) @ outers(F, F).T
        is_single = precisions <= LEAST_NOISE_SHARE  # the only variable in its component
        divisor = np.where(is_single, 1.0, precisions)[used_patterns.of_row]
        errors = np.where(is_single[used_patterns.of_row], used_cells, residuals / divisor)
        errors[used_patterns.missing[used_patterns.of_row]] = 0.0
        unused_cells = np.delete(Z, self.used, axis=1)
        return float(weights @ (errors**2).sum(axis=1) + weights @ (unused_cells**2).sum(axis=1))


#: Largest number of variables for which the errors of many fits are computed together.
BATCH_VARIABLES = 200


def batched_press(V: np.ndarray, S: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Return the sums of squared prediction errors of m fits to each of f folds, shape (m, f).

    The errors are defined as in :meth:`spcastat.assess.folds.SparseModel.press`, without groups.

    Parameters
    ----------
    V : ndarray of shape (m, f, p, k)
        Loadings, of k < p components.
    S : ndarray of shape (f, p, p)
        Covariance matrices of the rows outside each fold.
    products : ndarray of shape (f, p, p)
        Cross-products of the held-out rows, centred and scaled by the other rows.
    """
    W, shrunk, divisors = _batched_models(V, S)
    image = products @ W
    squares = np.diagonal(products, axis1=1, axis2=2)
    residual_squares = (
        squares - 2.0 * (shrunk * image).sum(axis=-1) + ((shrunk @ (W.mT @ image)) * shrunk).sum(axis=-1)
    )
    return np.asarray((residual_squares / divisors**2).sum(axis=-1))


#: Held-out rows, shape (n, p), centred and scaled by the other rows, and weights of their cells.
WeightedCells = tuple[np.ndarray, np.ndarray]


def batched_squares(V: np.ndarray, S: np.ndarray, cells: Sequence[WeightedCells]) -> np.ndarray:
    """Return weighted sums of squared prediction errors of the cells of each fold, shape (m, f).

    `V` and `S` are as in :func:`batched_press`.
    """
    W, shrunk, divisors = _batched_models(V, S)
    sums = [
        (((Z - (Z @ W[:, fold]) @ shrunk[:, fold].mT) / divisors[:, fold, None]) ** 2 * weights).sum(
            axis=(1, 2)
        )
        for fold, (Z, weights) in enumerate(cells)
    ]
    return np.stack(sums, axis=1)


def _batched_models(V: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return W, its shrunk copy, both of shape (m, f, p, k), and divisors of the errors, shape (m, f, p).

    The error of value j in row x is (x_j - x'W shrunk_j) / divisor_j; for variables that are predicted by
    their mean, shrunk_j is zero and the divisor one.
    """
    p = V.shape[2]
    total = np.trace(S, axis1=1, axis2=2)
    lengths, turn = np.linalg.eigh(V.mT @ V)
    # squared lengths of linearly dependent loadings are zero up to rounding
    is_positive = lengths > 1e-10 * lengths[..., -1:]
    Q = V @ (
        turn * np.where(is_positive, 1.0 / np.sqrt(np.where(is_positive, lengths, 1.0)), 0.0)[..., None, :]
    )
    variances, axes = np.linalg.eigh(Q.mT @ (S @ Q))
    residual_variance = (total - variances.sum(axis=-1)) / (p - is_positive.sum(axis=-1))
    noise = np.maximum(residual_variance, LEAST_NOISE_SHARE * total / p)[..., None]
    W = Q @ axes
    shrunk = W * (1.0 - noise / np.maximum(variances, noise))[..., None, :]
    precisions = 1.0 - (shrunk * W).sum(axis=-1)
    # the only variable in its component, or unused
    by_mean = (precisions <= LEAST_NOISE_SHARE) | ~V.any(axis=-1)
    return W, np.where(by_mean[..., None], 0.0, shrunk), np.where(by_mean, 1.0, precisions)


# --- held-out rows --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeldOutRows(ABC):
    """Held-out rows, centred and scaled by the other rows.

    Attributes
    ----------
    weight : float
        The number of rows, or the sum of their weights.
    squares : ndarray of shape (p,)
        Sums of squares of the columns.
    """

    weight: float
    squares: np.ndarray

    @abstractmethod
    def press(self, models: Sequence[SparseModel]) -> np.ndarray:
        """Return the sum of squared prediction errors of each of m models, shape (m,).

        Every value is predicted from the other values in its row.
        """


@dataclass(frozen=True, eq=False)
class HeldMoments(HeldOutRows):
    """Complete held-out rows, represented by their cross-products.

    Attributes
    ----------
    block : callable
        Returns the cross-products, shape (u, u), of u variables, given their indices.
    """

    block: Callable[[np.ndarray], np.ndarray]

    def press(self, models: Sequence[SparseModel]) -> np.ndarray:
        used = np.unique(np.concatenate([model.used for model in models]))
        block = self.block(used)
        places = [np.searchsorted(used, model.used) for model in models]
        pairs = zip(models, places, strict=True)
        return np.array([model.press(self.squares, block[np.ix_(at, at)]) for model, at in pairs])


@dataclass(frozen=True, eq=False)
class HeldRows(HeldOutRows):
    """Complete held-out rows, which are centred and scaled by the other rows when they are used.

    Errors need products of the rows with the model only, so that many variables with loadings cost little.

    Attributes
    ----------
    columns : callable
        Returns the rows, shape (m, u), of u variables, given their indices.
    """

    columns: Callable[[np.ndarray], np.ndarray]

    def block(self, indices: np.ndarray) -> np.ndarray:
        """Return the cross-products, shape (u, u), of u variables, given their indices."""
        Z = self.columns(indices)
        return Z.T @ Z

    def press(self, models: Sequence[SparseModel]) -> np.ndarray:
        used = np.unique(np.concatenate([model.used for model in models]))
        Z = self.columns(used)
        sums = np.empty(len(models))
        for i, model in enumerate(models):
            places = np.searchsorted(used, model.used)
            model_rows = Z if len(places) == len(used) else Z[:, places]
            by_rows = model.groups is None
            squares = self.squares
            sums[i] = (
                model.press_rows(squares, model_rows)
                if by_rows
                else model.press(squares, model_rows.T @ model_rows)
            )
        return sums


@dataclass(frozen=True, eq=False)
class MeasuredCells(HeldOutRows):
    """Held-out rows with missing values; only measured values predict and are predicted.

    The weight is the number of measured values divided by the number of columns, so that errors are means
    over values; for complete rows it is the number of rows.

    Attributes
    ----------
    Z : ndarray of shape (m, p)
        Centred and scaled rows, with zeros for missing values.
    patterns : Patterns
    row_weights : ndarray of shape (m,)
    """

    Z: np.ndarray
    patterns: Patterns
    row_weights: np.ndarray

    def press(self, models: Sequence[SparseModel]) -> np.ndarray:
        return np.array([model.press_measured(self.Z, self.patterns, self.row_weights) for model in models])


def measured_cells(Z: np.ndarray, weights: np.ndarray | None) -> MeasuredCells:
    """Return held-out rows, prepared for the errors of their measured values.

    `Z` has shape (m, p); it is centred and scaled, with NaN for missing values.
    """
    missing = np.isnan(Z)
    w = weights_or_ones(weights, len(Z))
    Z = np.where(missing, 0.0, Z)
    weight = float(w @ (~missing).sum(axis=1)) / Z.shape[1]
    return MeasuredCells(weight, w @ (Z * Z), Z, Patterns.of(missing, w), w)


class Folds(ABC):
    """Rows divided into `count` folds, `repeats` times; picklable.

    Attributes
    ----------
    count, repeats : int
    rules : Rules
    remark : str
        How often columns do not vary outside a fold; "" if they always vary.
    """

    count: int
    repeats: int
    rules: Rules
    remark: str = ""

    @abstractmethod
    def _split(self, number: int) -> tuple[Operator, HeldOutRows]: ...

    def split(self, number: int) -> tuple[Operator, HeldOutRows]:
        """Return the operator of the rows outside a fold, at unit size, and the rows of the fold.

        Parameters
        ----------
        number : int
            Number of the fold, from 0; the folds of the second repeat follow those of the first.

        Raises
        ------
        ConstantColumnError, MissingValuesError
            With ``na="pairwise"``, if a pair of columns has no correlation outside the fold.
        """
        try:
            return self._split(number)
        except (MissingValuesError, ConstantColumnError) as error:
            raise type(error)(
                f"The rows outside fold {number % self.count + 1} of {self.count} cannot be fitted: {error}"
            ) from None


class MomentFolds(Folds):
    """Folds of complete rows, represented by their cross-products.

    Parameters
    ----------
    X : ndarray or scipy.sparse array of shape (n, p)
    weights : ndarray of shape (n,) or None
    labels : ndarray of int, shape (repeats, n)
        The fold of each row.
    rules : Rules
    """

    def __init__(self, X: Any, weights: np.ndarray | None, labels: np.ndarray, rules: Rules):
        self.repeats, self.count, self.rules = len(labels), int(labels.max()) + 1, rules
        X = X.tocsr() if is_sparse(X) else X
        folds = [np.flatnonzero(division == fold) for division, fold in product(labels, range(self.count))]
        weights_of_folds = [None if weights is None else weights[rows] for rows in folds]
        self.rows = [  # with positive weight
            int(rows.size if w is None else np.count_nonzero(w))
            for rows, w in zip(folds, weights_of_folds, strict=True)
        ]
        self.unit = 1.0
        self.parts = [_sums(X[rows], w) for rows, w in zip(folds, weights_of_folds, strict=True)]
        if not all(fits(part.mean, part.squares, partial(largest_of, X)) for part in self.parts):
            self._divide(X, folds, weights_of_folds)

    def _divide(self, X: Any, folds: list[np.ndarray], weights: list[np.ndarray | None]) -> None:
        """Compute the cross-products of rows divided by powers of two, because squares over- or underflow."""
        units = ColumnUnits.of(largest_of(X), self.rules.scale)
        if units is None:
            return
        divided_rows = standardisation.divided(X, units.exponents)
        self.parts = [_sums(divided_rows[rows], w) for rows, w in zip(folds, weights, strict=True)]
        otherwise = self.rules.otherwise
        self.rules = replace(
            self.rules,
            center=units.centre(self.rules.center),
            scale=units.divisor(self.rules.scale),
            otherwise=None if otherwise is None else units.divisor(otherwise),
        )
        self.unit = units.unit

    def _split(self, number: int) -> tuple[Operator, HeldOutRows]:
        first_fold = number // self.count * self.count
        training_sums = CrossProducts(len(self.rules.names))
        rows = 0
        for i in range(first_fold, first_fold + self.count):
            if i != number:
                training_sums.merge(self.parts[i])
                rows += self.rows[i]
        standard, op = self.rules.of_sums(training_sums, rows)
        fold_sums = self.parts[number]
        op.unit *= self.unit
        products = fold_sums.about(standard.mean) / np.outer(standard.scale, standard.scale) * self.unit**2
        holdout = HeldMoments(
            fold_sums.weight, np.diag(products), lambda indices: products[np.ix_(indices, indices)]
        )
        return op, holdout


def _sums(X: Any, weights: np.ndarray | None) -> CrossProducts:
    """Return the cross-products of rows."""
    sums = CrossProducts(X.shape[1])
    sums.add(X, weights)
    return sums


@dataclass(frozen=True, eq=False)
class PlainRows:
    """Rows of a matrix, for the argument `columns` of `RowFolds`; a sparse matrix is in CSR format."""

    X: Any

    def __call__(self, mask: np.ndarray) -> tuple[Any, Any]:
        """Return the rows in a mask, and all other rows; sparse rows are in CSC format."""
        parts = self.X[np.flatnonzero(mask)], self.X[np.flatnonzero(~mask)]
        return (parts[0].tocsc(), parts[1].tocsc()) if is_sparse(self.X) else parts


class RowFolds(Folds):
    """Folds of rows in memory, for many variables, methods that need rows, and formulas estimated from rows.

    Parameters
    ----------
    columns : callable
        A function of a mask of rows that returns the columns for these rows, shape (m, p), and for all other
        rows. The terms of a formula are estimated from the rows in the mask.
    weights : ndarray of shape (n,) or None
    labels : ndarray of int, shape (repeats, n)
        The fold of each row.
    rules : Rules
    k_em, k : int or None, int
        With missing values (NaN): the rank of the EM model, and the number of components, which is the
        default rank if the rows outside a fold allow it. The model does not use held-out rows.
    """

    def __init__(
        self,
        columns: Callable[[np.ndarray], tuple[Any, Any]],
        weights: np.ndarray | None,
        labels: np.ndarray,
        rules: Rules,
        k_em: int | None = None,
        k: int = 1,
    ):
        self.columns, self.weights, self.labels, self.k_em, self.k = columns, weights, labels, k_em, k
        self.repeats, self.count, self.rules = len(labels), int(labels.max()) + 1, rules

    def _split(self, number: int) -> tuple[Operator, HeldOutRows]:
        out = self.labels[number // self.count] == number % self.count
        training, fold_rows = self.columns(~out)
        w, v = (None, None) if self.weights is None else (self.weights[~out], self.weights[out])
        if self.rules.missing_rule is None:
            standard, op = self.rules.of_rows(training, w)
            return op, _held_rows(fold_rows, v, standard)
        standard, op = self.rules.of_rows(training, w, rank_of(self.k_em, self.k, w, training.shape))
        return op, measured_cells((fold_rows - standard.mean) / standard.scale, v)


def _held_rows(X: Any, weights: np.ndarray | None, standard: Standardisation) -> HeldRows:
    """Return held-out rows, which are centred and scaled by `standard` when they are used."""

    def columns(indices: np.ndarray) -> np.ndarray:
        part = X[:, indices]
        part = part.toarray() if is_sparse(part) else np.asarray(part, dtype=float)
        Z = (part - standard.mean[indices]) / standard.scale[indices]
        return Z if weights is None else Z * np.sqrt(weights)[:, None]

    p = X.shape[1]
    pieces = (columns(np.arange(a, min(a + 500, p))) for a in range(0, p, 500))
    squares = np.concatenate([(Z**2).sum(axis=0) for Z in pieces])
    return HeldRows(float(X.shape[0] if weights is None else weights.sum()), squares, columns)


# --- the folds of rows ------------------------------------------------------------------------------


def require_folds(rows: Sequence[int], count: int, k: int, weighted: bool, copies: bool = False) -> None:
    """Raise TooFewRowsError, WeightsError or DataError if the rows outside a fold cannot be fitted.

    Parameters
    ----------
    rows : sequence of int
        Number of rows with positive weight in each fold.
    count, k : int
    weighted : bool
    copies : bool
        Whether `rows` contains numbers of different rows, because equal rows are copies.
    """
    n = sum(rows[:count])
    kind = "rows with a positive weight" if weighted else "rows"
    kind = "different " * copies + kind
    if n < k + 3:
        raise (WeightsError if weighted else TooFewRowsError)(
            f"There are {n} {kind}; cross-validation of {plural(k, 'component')} needs {k + 3} or more. "
            "Give fewer components, or use by='ebic'."
        )
    if n < count:
        raise (WeightsError if weighted else TooFewRowsError)(
            f"folds={count} was given for {n} {kind}; give at most as many folds as rows."
        )
    if min(rows) == 0:
        raise DataError(
            f"One of the {count} folds is empty, since rows that belong together, and equal rows, are in the "
            "same fold: give fewer folds, or another rng."
        )
    rows_outside = n - max(rows)
    if rows_outside < k + 2:
        fewer = f", or at most {plural(rows_outside - 2, 'component')}" if rows_outside > 2 else ""
        raise TooFewRowsError(
            f"The rows outside a fold, {rows_outside}, are too few for {plural(k, 'component')}; give more "
            f"folds{fewer}."
        )


def clusters_within(rows: RowData, design: RowDesign | None) -> np.ndarray | None:
    """Return the cluster number of each row if covariates subtract the means of clusters, else None.

    A cluster that is held out as a whole can then be centred by its own rows.
    """
    Z = rows.covariates
    if Z is None or design is None or design.clusters is None or not are_within(Z, design.clusters):
        return None
    return design.clusters


#: Largest number of variables for which folds are represented by their cross-products.
MOMENTS_VARIABLES = 1000


def divided(
    rows: RowData,
    folds: int,
    repeats: int,
    *,
    seed: int,
    k: int,
    rank: int | None,
    keep_rows: bool,
) -> Folds:
    """Divide rows into folds.

    Parameters
    ----------
    rows : RowData
    folds, repeats : int
    seed : int
        The same seed gives the same folds for the same rows, whatever their order.
    k : int
        Number of components that will be fitted.
    rank : int or None
        The rank of the EM model of missing values; by default `k`, or less with few rows.
    keep_rows : bool
        Whether the method needs an operator with rows.

    Raises
    ------
    TooFewRowsError, WeightsError, DataError
        If the rows outside a fold cannot be fitted.
    """
    names: pd.Index = rows.columns
    rules = rows.rules(keep_rows)
    design, measured, X = folded_design(rows, folds), rows.measured, rows.matrix
    groups = RowGroups.of(measured, rows.weights, rows.covariates, design)
    if groups.design is not None and groups.count < folds:
        raise TooFewRowsError(
            f"folds={folds} was given for {groups.count} {'blocks' if groups.block > 1 else 'clusters'}, "
            "which are held out as a whole; give at most as many folds."
        )
    count = int(min(folds, groups.observations))
    if not rows.estimates_terms:
        groups = groups.divided(count)
    labels = groups.folds(count, repeats, np.random.default_rng([seed, 2]))
    places, w = groups.in_data
    if len(places) > rows.n:
        measured, X = ((M.tocsr() if is_sparse(M) else M)[places] for M in (measured, X))
    has_weight = np.ones(len(places), dtype=bool) if w is None else w > 0
    sizes = w if w is not None and groups.counts else has_weight
    in_folds = [has_weight & (division == fold) for division in labels for fold in range(count)]
    counts = [int(sizes[in_fold].sum()) for in_fold in in_folds]
    if groups.copies:
        alike = groups.alike[np.argsort(groups.rows)]
        counts = [len(np.unique(alike[in_fold])) for in_fold in in_folds]
    require_folds(counts, folds, k, rows.weighted, groups.copies)
    columns: Any = None
    if rows.estimates_terms:
        from spcastat.reading.read import FoldedTerms

        columns = FoldedTerms(rows.table, rows.reading, clusters_within(rows, design))
    elif rows.missing is not None or keep_rows or len(names) > MOMENTS_VARIABLES:
        columns = PlainRows(measured.tocsr() if is_sparse(measured) else measured)
    parts: Folds
    if columns is not None:
        parts = RowFolds(columns, w, labels, rules, rank, k)
    else:
        parts = MomentFolds(X, w, labels, rules)
    if not has_weight.all():
        measured, labels = (
            (measured.tocsr() if is_sparse(measured) else measured)[has_weight],
            labels[:, has_weight],
        )
    if rows.covariates is None:
        constant = constant_among(
            measured, [division != fold for division in labels for fold in range(parts.count)]
        )
    else:  # residuals differ in every fold
        splits = range(parts.count * parts.repeats)
        constant = [constant_in(parts.split(number)[0], rows.op) for number in splits]
    covariate_remark = "Whole levels of the covariate are held out, and centred by their own rows."
    remarks = (
        covariate_remark * (columns is not None and clusters_within(rows, design) is not None),
        constant_remark(constant, "training sets of the folds", names),
    )
    parts.remark = " ".join(filter(None, remarks))
    return parts
