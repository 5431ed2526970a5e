"""Draws and halves of rows or of a covariance matrix; columns near a fit, and constant columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from spcastat.arguments import listed
from spcastat.errors import ComponentsError, DataError, NoRowsError, TooFewRowsError
from spcastat.inputs.cleaning import Cleaner
from spcastat.inputs.missing import Gaps, prepare_with_gaps
from spcastat.inputs.noise import RowNoise, covariance_noise, pulled_in, standardised
from spcastat.inputs.row_groups import RowGroups, StandardRows, are_counts, folded_design
from spcastat.linalg.accumulate import CrossProducts, blocks, is_sparse, weights_or_ones
from spcastat.linalg.eigenvectors import symmetric, symmetric_root, top
from spcastat.linalg.operators import Gram, Operator, averaged
from spcastat.linalg.regression import regress
from spcastat.linalg.standardisation import (
    Given,
    Scale,
    ScalingGroups,
    Standardisation,
    from_products,
    matrix_in_blocks,
    prepare,
)
from spcastat.linalg.wrapping import Wrapping
from spcastat.reading.formulas import FormulaModel
from spcastat.reading.missing_values import PpcaModel
from spcastat.reading.model_matrix import evaluate

# --- draws ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rules:
    """The rules that convert a part of the rows, or their cross-products, to a covariance matrix.

    Attributes
    ----------
    center, scale : bool or ndarray of shape (p,)
        The options for centring and scaling; True computes them from the rows.
    names : pandas.Index of length p
    keep_rows : bool
        Whether the method needs an operator with rows.
    missing_rule : {"em", "pairwise"} or None
        The estimation of moments if values are missing.
    otherwise : ndarray of shape (p,) or None
        The scale of columns that do not vary in a part of the rows, in which their variance is zero.
    cleaner : Cleaner or None
        The cleaning of the rows, with ``robust=``.
    wrapping : Wrapping or None
        The transformation and limits of cells in the fit. Each draw uses the same powers, and recomputes
        locations and scales.
    """

    center: Given
    scale: Scale
    names: pd.Index
    keep_rows: bool = False
    missing_rule: str | None = None
    otherwise: np.ndarray | None = None
    cleaner: Cleaner | None = None
    wrapping: Wrapping | None = None

    @classmethod
    def of(cls, rows: StandardRows, center: Given, scale: Scale, keep_rows: bool = False) -> Rules:
        """Return the rules that standardised `rows`, with centre and scale for other rows."""
        rule = None if rows.missing is None else rows.missing.rule
        return cls(center, scale, rows.spec.columns, keep_rows, rule, rows.standard.scale)

    def of_rows(
        self, X: Any, weights: np.ndarray | None, rank: int = 1, start: PpcaModel | None = None
    ) -> tuple[Standardisation, Operator]:
        """Return centre, scale and operator of rows; for `rank` and `start` see `prepare_with_gaps`."""
        if self.cleaner is not None and self.wrapping is not None:
            cleaning = self.cleaner.of_draw(X, weights, self.wrapping)
            X, weights = cleaning.cleaned(X), cleaning.weights_of(weights)
        arguments = X, weights, self.center, self.scale, self.names
        if self.missing_rule is None:
            standard, op = prepare(*arguments, self.keep_rows, self.otherwise)
        else:
            standard, op = prepare_with_gaps(
                *arguments, self.missing_rule, rank, start=start, otherwise=self.otherwise
            )[:2]
        return standard, op.at_unit_size()

    def of_sums(self, sums: CrossProducts, rows: int) -> tuple[Standardisation, Operator]:
        """Return centre, scale and operator of `rows` different rows with these cross-products."""
        standard, op = from_products(sums, rows, self.center, self.scale, self.names, self.otherwise)
        return standard, op.at_unit_size()


class Sampler(ABC):
    """Data from which samples are drawn.

    Attributes
    ----------
    n : int
        Number of rows; a row of weight 2 counts twice.
    independent : int
        Number of rows, clusters or blocks that are drawn independently of each other.
    normal : bool
        Whether draws are simulated normal rows, because the rows themselves are not available.
    """

    n: int
    normal: ClassVar[bool] = False

    @property
    def independent(self) -> int:
        return self.n

    @property
    def imputations(self) -> tuple[Sampler, ...]:
        """The samplers of multiple imputations; none for other data."""
        return ()

    def of_draw(self, number: int) -> Sampler:
        """Return the data for a bootstrap draw; successive draws use successive imputations."""
        return self.imputations[number % len(self.imputations)] if self.imputations else self

    @abstractmethod
    def all_rows(self) -> Operator:
        """Return the covariance matrix of all rows."""

    @abstractmethod
    def bootstrap(self, rng: np.random.Generator) -> Operator:
        """Return the covariance matrix of n rows drawn with replacement."""

    def jackknife(self, limit: int, rng: np.random.Generator) -> list[Sampler]:
        """Return the data without each independent row or cluster, or without each of `limit` sets of these.

        The list is empty if the jackknife does not estimate sampling errors: for a covariance matrix, blocks
        in time, and strata.
        """
        return []

    @abstractmethod
    def halves(self, rng: np.random.Generator) -> tuple[Sampler, Sampler]:
        """Divide the rows at random into two halves, with n // 2 of n independent rows in the first half."""


@dataclass(frozen=True, eq=False)
class RowSampler(Sampler):
    """Rows in memory; centre, scale and estimated terms of formulas are recomputed in every draw.

    Attributes
    ----------
    matrix : ndarray or scipy.sparse array of shape (m, p)
        Raw values.
    groups : RowGroups
        The groups of rows that are drawn together; a row of weight 2 occurs twice.
    standard : Standardisation
        The centring and scaling of the fit.
    rules : Rules
    terms : Terms or None
        A formula whose terms are estimated from the rows.
    gaps : Gaps or None
        The treatment of missing values in the fit and in every draw; they are NaN in `matrix`.
    covariates : ndarray of shape (m, q) or None
        The covariates for which `matrix` was adjusted. Every draw is adjusted again; regressing the residuals
        gives the same result as regressing the variables. The variances of a draw are corrected for the
        degrees of freedom of its regression, so that they are comparable with the variances of the fit.
    variance_share : float
        The share of the degrees of freedom that remained after the regression in the fit.
    """

    matrix: Any
    groups: RowGroups
    standard: Standardisation
    rules: Rules
    terms: Terms | None = None
    gaps: Gaps | None = None
    covariates: np.ndarray | None = None
    variance_share: float = 1.0

    @property
    def n(self) -> int:  # type: ignore[override]
        return len(self.groups.rows)

    @property
    def independent(self) -> int:
        return self.groups.count

    def all_rows(self) -> Operator:
        return self.operator(self.groups.rows, self.groups.weights, self.variance_share)

    def bootstrap(self, rng: np.random.Generator) -> Operator:
        return self.operator(*self.groups.bootstrap(rng))

    def jackknife(self, limit: int, rng: np.random.Generator) -> list[Sampler]:
        if self.groups.block > 1 or self.groups.stratified:
            return []
        return [replace(self, groups=groups) for groups in self.groups.without_each(limit, rng)]

    def halves(self, rng: np.random.Generator) -> tuple[RowSampler, RowSampler]:
        first_half, second_half = self.groups.halves(rng)
        return replace(self, groups=first_half), replace(self, groups=second_half)

    @cached_property
    def _ranks(self) -> np.ndarray:
        """The ranks of the rows in canonical order, so that rounding does not depend on the given order."""
        ranks = np.zeros(self.matrix.shape[0], dtype=int)
        ranks[self.groups.rows] = np.arange(len(self.groups.rows))
        return ranks

    @cached_property
    def _by_row(self) -> Any:
        return self.matrix.tocsr() if is_sparse(self.matrix) else self.matrix

    def operator(
        self, rows: np.ndarray, weights: np.ndarray | None = None, residual_share: float = 1.0
    ) -> Operator:
        """Return the covariance matrix of the rows at some places.

        Parameters
        ----------
        rows : ndarray of int, shape (m,)
            Places of the rows; a row may occur several times.
        weights : ndarray of shape (m,), optional
        residual_share : float
            As `variance_share`; it is 1 for draws, which are regressed again.
        """
        names, w = self.rules.names, weights
        if not (len(rows) if w is None else w.sum()) > 1:
            raise ComponentsError(
                "a sample consists of one row, such as a cluster of one row, and has no variance."
            )
        order = np.argsort(self._ranks[rows], kind="stable")
        rows, w = rows[order], None if w is None else w[order]
        if self.terms is not None:
            X = self.terms.learnt_from(rows, names, w)
        else:
            X = self._by_row[rows]
            if is_sparse(X):
                X = X.tocsc()
        if self.covariates is not None:
            Z, free = self.covariates[rows], (len(rows) if w is None else w.sum()) - 1.0
            regression = regress(X, Z, w, names, part=True)
            X = regression.residuals(X, Z) * np.sqrt(residual_share * free / (free - regression.rank))
            X[:, regression.shares == 1.0] = 0.0  # exactly zero, so that these columns are constant
        if self.gaps is None:
            return self.rules.of_rows(X, w)[1]
        rank = min(self.gaps.as_record.get("rank", 1), max(1, len(rows) - 2))
        return self.rules.of_rows(X, w, rank, self.gaps.model)[1]


@dataclass(frozen=True, eq=False)
class ImputedSampler(Sampler):
    """Multiple imputations: the same rows are drawn from each, and covariance matrices are averaged.

    Attributes
    ----------
    parts : tuple of RowSampler
    """

    parts: tuple[RowSampler, ...]

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.parts[0].n

    @property
    def independent(self) -> int:
        return self.parts[0].independent

    @property
    def imputations(self) -> tuple[Sampler, ...]:
        return self.parts

    def all_rows(self) -> Operator:
        return self._pooled([part.all_rows() for part in self.parts])

    def bootstrap(self, rng: np.random.Generator) -> Operator:
        rows, weights = self.parts[0].groups.bootstrap(rng)
        return self._pooled([part.operator(rows, weights) for part in self.parts])

    def halves(self, rng: np.random.Generator) -> tuple[ImputedSampler, ImputedSampler]:
        first_half, second_half = self.parts[0].groups.halves(rng)
        return self._with_rows(first_half), self._with_rows(second_half)

    def _with_rows(self, groups: RowGroups) -> ImputedSampler:
        return ImputedSampler(tuple(replace(part, groups=groups) for part in self.parts))

    def _pooled(self, operators: list[Operator]) -> Operator:
        return averaged(operators, self.n)


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of a formula, and the data on which they are evaluated.

    Attributes
    ----------
    model : FormulaModel
        Terms and levels, with the states of transforms estimated from all rows.
    data : DataFrame
        The data, as returned by :meth:`spcastat.reading.formulas.Inputs.plain`.
    """

    model: FormulaModel
    data: pd.DataFrame

    def learnt_from(self, rows: np.ndarray, columns: pd.Index, weights: np.ndarray | None) -> np.ndarray:
        """Return the columns of the formula for some rows, with transforms estimated from these rows only.

        Transforms of columns that are constant in these rows use the states from all rows.
        """
        data = self.data.iloc[rows].reset_index(drop=True)
        model, states = replace(self.model, states={}), self.model.states
        matrix, names, _ = evaluate(model, data, data.index, weights=weights, otherwise=states)
        if len(names) != len(columns):
            raise DataError(
                f"The formula {self.model.text} gives {len(names)} columns for the rows of a draw and "
                f"{len(columns)} for all rows; make these columns in the data frame first."
            )
        return matrix


@dataclass(frozen=True, eq=False)
class CovarianceSampler(Sampler):
    """A covariance matrix; samples are drawn from the Wishart distribution of normal rows.

    Attributes
    ----------
    S : ndarray of shape (p, p)
    n : int
        The number of rows from which S was computed.
    scaled : bool
        Whether samples are scaled to unit variances, for a correlation matrix.
    groups : ScalingGroups or None
        The scaling of samples, if the variables were scaled by blocks.
    columns : pandas.Index of length p, optional

    Notes
    -----
    Halves are drawn from their exact distribution given S: if the scatter matrices A and B of the halves are
    independent and Wishart with sum T, then T^-1/2 A T^-1/2 is independent of T (Muirhead, 1982, theorem
    3.3.1).
    """

    S: np.ndarray
    n: int
    scaled: bool
    groups: Any = None
    columns: Any = None
    normal: ClassVar[bool] = True

    def all_rows(self) -> Operator:
        return self._operator(self.S)

    def bootstrap(self, rng: np.random.Generator) -> Operator:
        df = self.n - 1
        root = self._root
        half = root @ _wishart_root(rng, root.shape[1], df)
        return self._operator(half @ half.T / df)

    def halves(self, rng: np.random.Generator) -> tuple[CovarianceSampler, CovarianceSampler]:
        root = self._root
        rank, df = root.shape[1], self.n - 1
        if rank > df:
            raise DataError(
                f"A covariance matrix of rank {rank} was given for {self.n} rows, which have rank {df} at "
                "most; give the correct n_obs."
            )
        sizes = self.n // 2, self.n - self.n // 2
        parts = [_wishart_root(rng, rank, size - 1) for size in sizes]
        scatter = [part @ part.T for part in parts]
        between = rng.standard_normal((rank, 1))
        lower = np.linalg.cholesky(scatter[0] + scatter[1] + between @ between.T)
        samplers = []
        for part, size in zip(parts, sizes, strict=True):
            share = root @ np.linalg.solve(lower, part)
            samplers.append(replace(self, S=share @ share.T * (df / (size - 1)), n=size))
        return samplers[0], samplers[1]

    @cached_property
    def _root(self) -> np.ndarray:
        """A matrix R of shape (p, rank) with R R' = S."""
        values, vectors = np.linalg.eigh(self.S)
        numerical_rank_mask = values > 1e-12 * values[-1]  # smaller values are rounding errors
        return vectors[:, numerical_rank_mask] * np.sqrt(values[numerical_rank_mask])

    def _operator(self, S: np.ndarray) -> Operator:
        S = symmetric(S)
        if self.groups is not None:
            S = matrix_in_blocks(S, self.groups, self.columns)[1].S
        if self.scaled:
            sd = np.sqrt(np.diag(S))
            S = S / np.outer(sd, sd)
            np.fill_diagonal(S, 1.0)
        return Gram(S, min(len(S), self.n - 1)).at_unit_size()


def _wishart_root(rng: np.random.Generator, size: int, df: int) -> np.ndarray:
    """Return A such that A A' is Wishart with `df` degrees of freedom and identity scale (Bartlett)."""
    if df < size:
        return rng.standard_normal((size, df))
    A = np.tril(rng.standard_normal((size, size)), -1)
    A[np.diag_indices(size)] = np.sqrt(rng.chisquare(df - np.arange(size)))
    return A


def covariance_sampler(
    op: Operator,
    columns: pd.Index,
    rows: tuple[int | None, float | None],
    about: Mapping[str, Any],
    groups: ScalingGroups | None,
    analysis: str,
) -> CovarianceSampler:
    """Return the sampler of a covariance matrix.

    Parameters
    ----------
    op : Operator
    columns : pandas.Index of length p
    rows : tuple
        The number of rows from which the matrix was computed, if known, and this number minus the degrees of
        freedom of covariates.
    about : Mapping
        See :class:`spcastat.reading.design.Covariance`.
    groups : ScalingGroups or None
    analysis : str
        The name of the analysis, for messages.

    Raises
    ------
    NoRowsError
        If the number of rows is unknown, and for correlations that vary more than Pearson correlations of
        normal rows.
    """
    n, free = rows
    if n is None:
        raise NoRowsError(
            f"{analysis} of a covariance matrix needs the number of rows; fit the matrix again with n_obs=."
        )
    _require_normal(about, analysis)
    S = op.block(np.arange(op.p)) * op.unit**2
    if n < 3:
        raise NoRowsError(f"{analysis} needs 3 rows or more, but n_obs={n} was given.")
    unit = bool(np.abs(np.diag(S) - 1.0).max() <= 1e-8)  # a correlation matrix
    return CovarianceSampler(S, int(free or 0), groups is None and unit, groups, columns)


def _require_normal(about: Mapping[str, Any], analysis: str) -> None:
    """Raise NoRowsError for correlations whose sampling errors differ from those under normality."""
    kind, n, smallest_n = (about.get(name) for name in ("kind", "n_obs", "n_pairs_min"))
    if kind in (None, "pearson") and smallest_n == n:
        return
    source = f"correlations of {smallest_n} to {n} rows" if kind == "pearson" else f"{kind} correlations"
    raise NoRowsError(
        f"{analysis} draws covariance matrices of normal rows, which vary less than {source} do. Fit the "
        "rows, with spca(data, ..., scale=True, na='pairwise'), or fit spca_cov(correlation(drawn)) to "
        "draws of them."
    )


# --- some of the columns ---------------------------------------------------------------------------


def columns_near(op: Operator, V: np.ndarray, size: int) -> np.ndarray:
    """Return the indices of the selected columns, ascending.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
        The loadings of the fit.
    size : int
        Number of columns to select, at least the number of columns with a nonzero loading. Three quarters of
        the additional columns have the largest covariances with a score, divided by the standard deviation of
        the score; the others have the largest variances.
    """
    if size >= op.p:
        return np.arange(op.p)
    SV = op.dot(V)
    deviations = np.sqrt(np.maximum(np.einsum("ij,ij->j", V, SV), np.finfo(float).tiny))
    reach = np.abs(SV / deviations).max(axis=1)
    selection = V.any(axis=1)
    for values, share in ((reach, 0.75), (op.diagonal(), 1.0)):
        extra_columns = int(share * (size - np.count_nonzero(selection)))
        if extra_columns > 0:
            selection |= top(np.where(selection, -1.0, values), extra_columns)
    return np.flatnonzero(selection)


# --- folds ---------------------------------------------------------------------------------------


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
        The rules for standardising the rows outside a fold.
    replaced_cells : ndarray of bool, shape (m, p), or None
        Cells that are not compared with their predictions, because they were replaced by the middle of their
        column.
    """

    Z: np.ndarray
    weights: np.ndarray | None
    labels: np.ndarray
    rules: Rules
    replaced_cells: np.ndarray | None = None


def of_rows(
    source: StandardRows,
    folds: int,
    repeats: int,
    seed: int,
    unit: float,
    pull: bool,
    replaced_cells: np.ndarray | None = None,
) -> FoldRows:
    """Return rows in memory in at most `folds` folds; `unit` and `pull` as for `Data.noise`.

    `replaced_cells`, of shape (n, p), marks cells that were replaced by the middle of their column.
    """
    Z, w = standardised(source, unit), source.weights
    if pull and not is_sparse(source.matrix) and source.standard.centring == "mean":
        Z = pulled_in(Z, w).Z
    Z = np.nan_to_num(Z)
    groups = RowGroups.of(source.measured, w, source.covariates, folded_design(source, folds))
    count = int(min(folds, groups.observations))
    if count < 2:
        raise TooFewRowsError(
            "The number of components is chosen by prediction of held-out rows, but there is only one row "
            "or cluster; give two or more, or k= to choose()."
        )
    if groups.block == 1 and groups.has_equal and are_counts(w, source.design):
        groups = groups.merged().divided(count)  # so that equal rows and weights give the same result
    labels = groups.folds(count, repeats, np.random.default_rng([seed, 3]))
    if groups.weights is not None:
        places, w = groups.in_data
        Z, replaced_cells = Z[places], None if replaced_cells is None else replaced_cells[places]
    if w is not None and not w.all():
        replaced_cells = None if replaced_cells is None else replaced_cells[w > 0]
        Z, labels, w = Z[w > 0], labels[:, w > 0], w[w > 0]
    weights = weights_or_ones(w, len(Z))
    if min(weights.sum() - np.bincount(division, weights).max() for division in labels) <= 1.0:
        raise TooFewRowsError(
            "The number of components is chosen by prediction of held-out rows, but only one row is outside "
            "a fold, which has no variance; give three rows or more."
        )
    centred = source.standard.centring == "mean" or source.covariates is not None
    rules = Rules(
        centred, source.standard.scaling == "sd", source.spec.columns, otherwise=np.ones(Z.shape[1])
    )
    return FoldRows(Z, w, labels, rules, replaced_cells)


def of_covariance(
    op: Operator, n: float | None, kind: str | None, folds: int, repeats: int, seed: int, unit: float
) -> FoldRows:
    """Return normal rows, in folds, from a covariance matrix of n rows; see `covariance_noise`."""
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
    """Return p rows A for each fold, so that A'A / p is the covariance matrix of the rows of the fold.

    Wishart matrices W_i of the folds are drawn and transformed so that their sum equals the sum for all rows.
    They then have their conditional distribution given the sum.
    """
    p = len(S)
    factors = []
    for _ in range(folds):
        L = np.tril(rng.standard_normal((p, p)), -1)
        L[np.diag_indices(p)] = np.sqrt(rng.chisquare(np.maximum(n / folds - np.arange(p), 1.0)))
        factors.append(L.T)  # W = L L'
    total = sum(A.T @ A for A in factors)
    turn = np.linalg.solve(np.linalg.cholesky(total), np.eye(p)).T @ symmetric_root(S)
    return [A @ turn * np.sqrt(folds * p) for A in factors]


# --- columns that are constant in a part of the rows ----------------------------------------------
# A rare 0/1 variable is constant in a half that contains none of its ones. Its variance in this half is zero,
# so its loadings are zero in all components of the half, and its held-out values are predicted by the mean.


def constant_in(part: Operator, all_rows: Operator) -> np.ndarray:
    """Return the places of the columns that are constant in a part of the rows but vary in all rows."""
    return np.flatnonzero((part.diagonal() == 0.0) & (all_rows.diagonal() > 0.0))


def constant_among(X: Any, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the places of the columns that are constant in each part of the rows, but not in all rows.

    Parameters
    ----------
    X : ndarray or scipy.sparse array of shape (n, p)
        NaN for missing values.
    parts : sequence of ndarray of bool, shape (n,)
        The rows of each part.
    """
    n, p = X.shape
    columns = X.tocsc() if is_sparse(X) else X
    share = min(int(mask.sum()) for mask in parts) / n
    constant_places: list[list[int]] = [[] for _ in parts]
    for block in blocks(p, n):
        values_of_block = columns[:, block]
        values_of_block = (
            values_of_block.toarray()
            if is_sparse(values_of_block)
            else np.asarray(values_of_block, dtype=float)
        )
        for j in np.flatnonzero(_mostly_equal(values_of_block, share)).tolist():
            x = values_of_block[:, j]
            values, counts = np.unique(x[~np.isnan(x)], return_counts=True)
            if not values.size:  # the column has no values in a half
                continue
            differs = ~np.isnan(x) & (x != values[counts.argmax()])
            for part, mask in enumerate(parts):
                if differs.any() and not (differs & mask).any():
                    constant_places[part].append(block.start + j)
    return [np.array(places, dtype=int) for places in constant_places]


#: Number of rows inspected to find columns with mostly equal values, and tolerance for the share of equal
#: values.
INSPECTED_ROWS, SHARE_ALLOWANCE = 400, 0.2


def _mostly_equal(X: np.ndarray, share: float) -> np.ndarray:
    """Return a mask of the columns of X, shape (n, m), in which about a share `share` of values may be equal.

    Only equally spaced rows are inspected, so that continuous columns need little time.
    """
    rows = X[:: max(1, len(X) // INSPECTED_ROWS)]
    missing = np.isnan(rows)
    ordered = np.sort(rows, axis=0)  # NaN come last
    middle = ordered[(~missing).sum(axis=0).clip(max=len(rows) - 1) // 2, np.arange(X.shape[1])]
    return np.asarray(((rows == middle) | missing).mean(axis=0) >= share - SHARE_ALLOWANCE)


def constant_remark(parts: Sequence[np.ndarray], unit: str, names: pd.Index) -> str:
    """Return a sentence on columns that are constant in some parts of the rows, "" if there are none.

    Parameters
    ----------
    parts : sequence of ndarray of int
        The places of the constant columns in each part.
    unit : str
        The name of the parts in the plural, such as "draws".
    names : pandas.Index of length p
    """
    times = sum(len(places) > 0 for places in parts)
    if not times:
        return ""
    places = np.unique(np.concatenate(list(parts)))
    subject = "a constant variable was" if len(places) == 1 else "constant variables were"
    return f"In {times:,} of {len(parts):,} {unit} {subject} not selected: {listed(names[places], 3)}."
