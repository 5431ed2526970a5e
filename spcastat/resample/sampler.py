"""Draws of rows, or of the covariance matrices that draws of rows would have."""

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
from spcastat.intake.formula import evaluate
from spcastat.intake.terms import Model
from spcastat.kernels.eig import symmetric
from spcastat.kernels.regression import regress
from spcastat.kernels.sparsity import is_sparse
from spcastat.operators import Blocks, Gram, Operator, Standardisation, matrix_in_blocks, prepare

#: Rows that whole-number weights stand for, at most.
MOST_UNITS = 50_000_000
#: A covariance matrix whose diagonal is one to this is a correlation matrix: its draws are scaled to it.
UNIT_DIAGONAL = 1e-8
#: Eigenvalues below this share of the largest are rounding.
RANK = 1e-12


class Sampler(ABC):
    """Data that can be drawn from.

    Attributes
    ----------
    n : int
        How many rows there are, those of weight 2 counting twice.
    """

    n: int

    def prepared(self, kind: str, count: int, seed: int) -> Sampler:
        """Return what draws; rows in memory need no pass before.

        See :meth:`spcastat.resample.streamed.StreamRows.prepared`.
        """
        return self

    @abstractmethod
    def whole(self) -> Operator:
        """Return the covariance matrix of all rows."""

    @abstractmethod
    def bootstrap(self, rng: np.random.Generator, number: int = 0) -> Operator:
        """Return the covariance matrix of n rows drawn with replacement; `number` tells prepared draws."""

    @abstractmethod
    def halves(self, rng: np.random.Generator, number: int = 0) -> tuple[Sampler, Sampler]:
        """Return the rows in two halves at random, n // 2 in the first; `number` as in `bootstrap`."""


@dataclass(frozen=True, eq=False)
class RowSampler(Sampler):
    """Rows in memory. Centre, scale, and what a formula learns are found anew in every draw.

    Attributes
    ----------
    matrix : ndarray or scipy.sparse array of shape (m, p)
        Raw values.
    units : ndarray of int, shape (n,)
        The row of each unit that is drawn: a row of weight 2 is there twice.
    standard : Standardisation
        How the fit was centred and scaled.
    how : tuple
        What finds centre and scale of a draw: `center_and_scale` of the source.
    columns : pandas.Index
    keep_rows : bool
        Whether the method needs rows.
    terms : Terms or None
        A formula whose terms learn from the rows.
    gaps : Gaps or None
        What the fit did about missing values, which are NaN in `matrix`; draws do the same anew.
    covariates : ndarray of shape (m, q) or None
        What `matrix` was adjusted for. Draws are adjusted again: what regression leaves of residuals is what
        it leaves of the variables. What it takes of the degrees of freedom again is given back to the
        variances, which then have the size of those of the fit.
    left : float
        The share of its degrees of freedom that regression left to the fit.
    """

    matrix: Any
    units: np.ndarray
    standard: Standardisation
    how: tuple[Any, Any]
    columns: pd.Index
    keep_rows: bool = False
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
        X, (center, scale) = None, self.how
        if self.terms is not None:
            X = self.terms.learnt_from(rows, self.columns)
        else:
            X = self._by_row[np.sort(rows)]
            if is_sparse(X):
                X = X.tocsc()
        if self.covariates is not None:
            Z, free = self.covariates[np.sort(rows)], len(rows) - 1
            found = regress(X, Z, None, self.columns)
            X = found.residuals(X, Z) * np.sqrt(left * free / (free - found.rank))
        if self.gaps is not None:
            how, rank = self.gaps.how, min(self.gaps.told.get("rank", 1), max(1, len(rows) - 2))
            return prepare_with_gaps(X, None, center, scale, self.columns, how, rank, start=self.gaps.model)[
                1
            ].at_unit_size()
        return prepare(X, None, center, scale, self.columns, self.keep_rows)[1].at_unit_size()


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of a formula, and the data that they are evaluated on.

    Attributes
    ----------
    model : Model
        Terms and levels, without what transforms have learnt.
    data : DataFrame
        As :func:`spcastat.intake.formula.plain_frame` makes it.
    context : Mapping
    text : str
    """

    model: Model
    data: pd.DataFrame
    context: Any
    text: str

    def learnt_from(self, rows: np.ndarray, columns: pd.Index) -> np.ndarray:
        """Return the columns that the formula makes of some rows, learning from these alone."""
        data = self.data.iloc[np.sort(rows)].reset_index(drop=True)
        matrix, names, _ = evaluate(self.model, data, data.index, self.context, self.text)
        if len(names) != len(columns):
            raise DataError(
                f"The formula {self.text} makes {len(names)} columns of the rows of a draw and "
                f"{len(columns)} of all rows; make these columns in the data frame first."
            )
        return matrix


@dataclass(frozen=True, eq=False)
class CovarianceSampler(Sampler):
    """The covariance matrix of normal rows, whose draws have Wishart distributions.

    Attributes
    ----------
    S : ndarray of shape (p, p)
    n : int
        How many rows it was computed from.
    scaled : bool
        Whether draws are scaled to unit variances, as a correlation matrix is.
    blocks : Blocks or None
        How draws are scaled where blocks of variables were.
    columns : pandas.Index of length p, optional

    Notes
    -----
    Halves are drawn from their exact distribution given S: where the scatter matrices of two halves are
    independent and Wishart, T^-1/2 A T^-1/2 is independent of their sum T (Muirhead, 1982, theorem 3.3.1).
    """

    S: np.ndarray
    n: int
    scaled: bool
    blocks: Blocks | None = None
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
        kept = values > RANK * values[-1]
        return vectors[:, kept] * np.sqrt(values[kept])

    def _operator(self, S: np.ndarray) -> Operator:
        S = symmetric(S)
        if self.blocks is not None:
            S = matrix_in_blocks(S, self.blocks, self.columns)[1].S
        if self.scaled:
            sd = np.sqrt(np.diag(S))
            S = S / np.outer(sd, sd)
            np.fill_diagonal(S, 1.0)
        return Gram(S, min(len(S), self.n - 1)).at_unit_size()


def _wishart_root(rng: np.random.Generator, size: int, df: int) -> np.ndarray:
    """Return A with A A' from the Wishart distribution of the identity matrix (Bartlett's decomposition)."""
    if df < size:
        return rng.standard_normal((size, df))
    A = np.tril(rng.standard_normal((size, size)), -1)
    A[np.diag_indices(size)] = np.sqrt(rng.chisquare(df - np.arange(size)))
    return A


def sampler_of(source: Source, keep_rows: bool, frame: pd.DataFrame | None, what: str) -> Sampler:
    """Return what draws from the data of a fit.

    Parameters
    ----------
    source : Source
    keep_rows : bool
        Whether the method of the fit needs rows.
    frame : DataFrame or None
        The data that a formula reads, where its terms learn from the rows: those rows that were kept.
    what : str
        Who asks, for messages.

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
        scaled = source.blocks is None and bool(np.abs(np.diag(S) - 1.0).max() <= UNIT_DIAGONAL)
        return CovarianceSampler(S, int(source.free or 0), scaled, source.blocks, source.spec.columns)
    assert source.standard is not None
    spec, terms = source.spec, None
    if frame is not None:
        terms = Terms(replace(spec.model_spec, states={}), frame, spec.context or {}, str(spec.formula))
    units, matrix = _units(source, what), source.measured
    how = source.center_and_scale
    left = ((source.free or 0.0) - 1.0) / (source.weight - 1.0)
    return RowSampler(
        matrix,
        units,
        source.standard,
        how,
        spec.columns,
        keep_rows,
        terms,
        source.gaps,
        source.covariates,
        left,
    )


def _require_normal(source: Source, what: str) -> None:
    """Raise NoRowsError for correlations whose errors are not those of draws of n normal rows."""
    kind, n, fewest = (source.about.get(name) for name in ("kind", "n_obs", "n_pairs_min"))
    if kind in (None, "pearson") and fewest == n:
        return
    why = f"correlations of {fewest} to {n} rows" if kind == "pearson" else f"{kind} correlations"
    raise NoRowsError(
        f"{what} draws covariance matrices of normal rows, which vary less than {why} do. Fit the rows, with "
        "spca(data, ..., scale=True, na='pairwise'), or fit spca_cov(correlation(drawn)) to draws of them."
    )


def _units(source: Source, what: str) -> np.ndarray:
    """Return the row of each unit that can be drawn."""
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
