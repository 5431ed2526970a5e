"""Draw samples of rows, or covariance matrices distributed as those of samples of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from spcastat.engine.inputs import Source
from spcastat.engine.missing_values import Gaps, prepare_with_gaps
from spcastat.errors import DataError, NoRowsError, WeightsError
from spcastat.intake.model_matrix import evaluate
from spcastat.intake.terms import Model
from spcastat.kernels.eig import symmetric
from spcastat.kernels.regression import regress
from spcastat.kernels.sparsity import is_sparse
from spcastat.missing import PpcaModel
from spcastat.operators import (
    CrossProducts,
    Gram,
    Operator,
    Standardisation,
    from_products,
    matrix_in_blocks,
    prepare,
)
from spcastat.operators.build import Given
from spcastat.operators.scaling_groups import Scale

#: Largest sum of integer weights.
MOST_UNITS = 50_000_000


@dataclass(frozen=True, eq=False)
class Rules:
    """How some of the rows, or their cross-products, become a covariance matrix.

    Attributes
    ----------
    center, scale : bool or ndarray of shape (p,)
        The options for centring and scaling; True computes them from the rows.
    names : pandas.Index of length p
    keep_rows : bool
        Whether the method needs an operator with rows.
    how : {"em", "pairwise"} or None
        How moments are estimated if values are missing.
    """

    center: Given
    scale: Scale
    names: pd.Index
    keep_rows: bool = False
    how: str | None = None

    @classmethod
    def of(cls, source: Source, keep_rows: bool = False) -> Rules:
        """Return the rules by which the rows of a source were standardised."""
        how = None if source.gaps is None else source.gaps.how
        return cls(*source.center_and_scale, source.spec.columns, keep_rows, how)

    def of_rows(
        self, X: Any, weights: np.ndarray | None, rank: int = 1, start: PpcaModel | None = None
    ) -> tuple[Standardisation, Operator]:
        """Return centre, scale and operator of rows; for `rank` and `start` see `prepare_with_gaps`."""
        given = X, weights, self.center, self.scale, self.names
        if self.how is None:
            standard, op = prepare(*given, self.keep_rows)
        else:
            standard, op = prepare_with_gaps(*given, self.how, rank, start=start)[:2]
        return standard, op.at_unit_size()

    def of_sums(self, sums: CrossProducts, rows: int) -> tuple[Standardisation, Operator]:
        """Return centre, scale and operator of `rows` different rows with these cross-products."""
        standard, op = from_products(sums, rows, self.center, self.scale, self.names)
        return standard, op.at_unit_size()


class Sampler(ABC):
    """Data from which samples are drawn.

    Attributes
    ----------
    n : int
        Number of rows; a row of weight 2 counts twice.
    """

    n: int

    def prepared(self, kind: str, count: int, seed: int) -> Sampler:
        """Return the sampler itself: only rows in chunks need preparation.

        See :meth:`spcastat.resample.streamed.StreamRows.prepared`.
        """
        return self

    @abstractmethod
    def whole(self) -> Operator:
        """Return the covariance matrix of all rows."""

    @abstractmethod
    def bootstrap(self, rng: np.random.Generator, number: int = 0) -> Operator:
        """Return the covariance matrix of n rows drawn with replacement; `number` selects a prepared draw."""

    @abstractmethod
    def halves(self, rng: np.random.Generator, number: int = 0) -> tuple[Sampler, Sampler]:
        """Divide the rows at random into two halves, n // 2 in the first; `number` as in `bootstrap`."""


@dataclass(frozen=True, eq=False)
class RowSampler(Sampler):
    """Rows in memory. Centre, scale and the estimates of formulas are computed again in every draw.

    Attributes
    ----------
    matrix : ndarray or scipy.sparse array of shape (m, p)
        Raw values.
    units : ndarray of int, shape (n,)
        The row of each sampling unit; a row of weight 2 occurs twice.
    standard : Standardisation
        The centring and scaling of the fit.
    rules : Rules
    terms : Terms or None
        A formula whose terms are estimated from the rows.
    gaps : Gaps or None
        How the fit handled missing values, which are NaN in `matrix`; every draw does the same.
    covariates : ndarray of shape (m, q) or None
        The covariates for which `matrix` was adjusted. Every draw is adjusted again; regressing the residuals
        gives the same result as regressing the variables. The variances of a draw are corrected for the
        degrees of freedom that its regression uses, so that they are comparable with those of the fit.
    left : float
        The share of the degrees of freedom that remained after the regression in the fit.
    """

    matrix: Any
    units: np.ndarray
    standard: Standardisation
    rules: Rules
    terms: Terms | None = None
    gaps: Gaps | None = None
    covariates: np.ndarray | None = None
    left: float = 1.0

    @property
    def n(self) -> int:  # type: ignore[override]
        return len(self.units)

    def whole(self) -> Operator:
        return self._operator(self.units, self.left)

    def bootstrap(self, rng: np.random.Generator, number: int = 0) -> Operator:
        return self._operator(self.units[rng.integers(self.n, size=self.n)])

    def halves(self, rng: np.random.Generator, number: int = 0) -> tuple[RowSampler, RowSampler]:
        order = rng.permutation(self.n)
        first, second = np.sort(order[: self.n // 2]), np.sort(order[self.n // 2 :])
        return replace(self, units=self.units[first]), replace(self, units=self.units[second])

    @cached_property
    def _by_row(self) -> Any:
        return self.matrix.tocsr() if is_sparse(self.matrix) else self.matrix

    def _operator(self, rows: np.ndarray, left: float = 1.0) -> Operator:
        X, names = None, self.rules.names
        if self.terms is not None:
            X = self.terms.learnt_from(rows, names)
        else:
            X = self._by_row[np.sort(rows)]
            if is_sparse(X):
                X = X.tocsc()
        if self.covariates is not None:
            Z, free = self.covariates[np.sort(rows)], len(rows) - 1
            found = regress(X, Z, None, names)
            X = found.residuals(X, Z) * np.sqrt(left * free / (free - found.rank))
        if self.gaps is None:
            return self.rules.of_rows(X, None)[1]
        rank = min(self.gaps.told.get("rank", 1), max(1, len(rows) - 2))
        return self.rules.of_rows(X, None, rank, self.gaps.model)[1]


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of a formula, and the data that they are evaluated on.

    Attributes
    ----------
    model : Model
        Terms and levels, without the states of transforms.
    data : DataFrame
        As :meth:`spcastat.intake.formula.Inputs.plain` returns it.
    """

    model: Model
    data: pd.DataFrame

    def learnt_from(self, rows: np.ndarray, columns: pd.Index) -> np.ndarray:
        """Return the columns of the formula for some rows, with transforms estimated from these rows only."""
        data = self.data.iloc[np.sort(rows)].reset_index(drop=True)
        matrix, names, _ = evaluate(self.model, data, data.index)
        if len(names) != len(columns):
            raise DataError(
                f"The formula {self.model.text} makes {len(names)} columns of the rows of a draw and "
                f"{len(columns)} of all rows; make these columns in the data frame first."
            )
        return matrix


@dataclass(frozen=True, eq=False)
class CovarianceSampler(Sampler):
    """A covariance matrix; samples are drawn from the Wishart distribution of normal rows.

    Attributes
    ----------
    S : ndarray of shape (p, p)
    n : int
        The number of rows from which it was computed.
    scaled : bool
        Whether samples are scaled to unit variances, for a correlation matrix.
    groups : ScalingGroups or None
        The scaling of samples, if blocks of variables were scaled.
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

    def whole(self) -> Operator:
        return self._operator(self.S)

    def bootstrap(self, rng: np.random.Generator, number: int = 0) -> Operator:
        df = self.n - 1
        root = self._root
        half = root @ _wishart_root(rng, root.shape[1], df)
        return self._operator(half @ half.T / df)

    def halves(
        self, rng: np.random.Generator, number: int = 0
    ) -> tuple[CovarianceSampler, CovarianceSampler]:
        root = self._root
        rank, df = root.shape[1], self.n - 1
        if rank > df:
            raise DataError(
                f"A covariance matrix of rank {rank} was given for {self.n} rows, which have rank {df} at "
                "most; give the right n_obs."
            )
        sizes = self.n // 2, self.n - self.n // 2
        parts = [_wishart_root(rng, rank, size - 1) for size in sizes]
        scatter = [part @ part.T for part in parts]
        between = rng.standard_normal((rank, 1))
        lower = np.linalg.cholesky(scatter[0] + scatter[1] + between @ between.T)
        made = []
        for part, size in zip(parts, sizes, strict=True):
            share = root @ np.linalg.solve(lower, part)
            made.append(replace(self, S=share @ share.T * (df / (size - 1)), n=size))
        return made[0], made[1]

    @cached_property
    def _root(self) -> np.ndarray:
        """A matrix R of shape (p, rank) with R R' = S."""
        values, vectors = np.linalg.eigh(self.S)
        kept = values > 1e-12 * values[-1]  # others are rounding
        return vectors[:, kept] * np.sqrt(values[kept])

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


def sampler_of(source: Source, keep_rows: bool, frame: pd.DataFrame | None, what: str) -> Sampler:
    """Return the sampler for the data of a fit.

    Parameters
    ----------
    source : Source
    keep_rows : bool
        Whether the method of the fit needs rows.
    frame : DataFrame or None
        If the terms of a formula are estimated from the rows: the columns that it uses, for the fitted rows.
    what : str
        Name of the analysis, for messages.

    Raises
    ------
    NoRowsError
        For a covariance matrix without the number of its rows.
    WeightsError
        For weights that are not whole numbers.
    """
    if source.matrix is None:
        if source.n is None:
            raise NoRowsError(
                f"{what} needs the number of rows behind a covariance matrix; fit with spca_cov(S, ..., "
                "n_obs=...)."
            )
        _require_normal(source, what)
        S = source.op.block(np.arange(source.op.p)) * source.op.unit**2
        if source.n < 3:
            raise NoRowsError(f"{what} needs 3 rows or more, and n_obs={source.n} was given.")
        unit = bool(np.abs(np.diag(S) - 1.0).max() <= 1e-8)  # a correlation matrix
        scaled = source.groups is None and unit
        return CovarianceSampler(S, int(source.free or 0), scaled, source.groups, source.spec.columns)
    assert source.standard is not None
    spec, terms = source.spec, None
    if frame is not None:
        terms = Terms(replace(spec.model_spec, states={}, context=spec.context or {}), frame)
    units, matrix = _units(source, what), source.measured
    left = ((source.free or 0.0) - 1.0) / (source.weight - 1.0)
    return RowSampler(
        matrix,
        units,
        source.standard,
        Rules.of(source, keep_rows),
        terms,
        source.gaps,
        source.covariates,
        left,
    )


def _require_normal(source: Source, what: str) -> None:
    """Raise NoRowsError for correlations whose sampling errors differ from those of n normal rows."""
    kind, n, fewest = (source.about.get(name) for name in ("kind", "n_obs", "n_pairs_min"))
    if kind in (None, "pearson") and fewest == n:
        return
    why = f"correlations of {fewest} to {n} rows" if kind == "pearson" else f"{kind} correlations"
    raise NoRowsError(
        f"{what} draws covariance matrices of normal rows, which vary less than {why} do. Fit the rows, with "
        "spca(data, ..., scale=True, na='pairwise'), or fit spca_cov(correlation(drawn)) to draws of them."
    )


def _units(source: Source, what: str) -> np.ndarray:
    """Return the row of each sampling unit: rows repeated by their weights."""
    n, w = source.matrix.shape[0], source.weights
    if w is None:
        return np.arange(n)
    if (w != np.round(w)).any():
        raise WeightsError(
            f"{what} draws rows, and a weight says how many equal rows a row stands for: with weights that "
            f"are not whole numbers (such as {float(w[w != np.round(w)][0]):g}) there is no number of rows "
            "to draw. Fit with whole weights, or without weights."
        )
    if w.sum() > MOST_UNITS:
        raise WeightsError(
            f"{what} draws rows, and the weights stand for {w.sum():.3g} of them, more than {MOST_UNITS:,}; "
            "use spca_cov() with n_obs=, whose draws are those of normal rows."
        )
    return np.repeat(np.arange(n), w.astype(int))
