"""Robust cleaning: outlying cells of each column are downweighted, and rows with far scores have weight zero.

Cells are judged as in :mod:`spcastat.linalg.wrapping`. Rows are judged by their scores on principal
components of the rows with downweighted cells, rotated by varimax, with the number of components of the
fit. A row with a far score is an outlier unless the scores predict its cells as well as the cells of other
rows (good leverage), as in ROSPCA: Hubert, Reynkens, Schmitt and Verdonck (2016), Sparse PCA for
high-dimensional data with outliers, Technometrics 58. Residuals are from the regression of the cells on the
scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Annotated, Any

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.arguments import plural, warn, whole_percent
from spcastat.labels import name_text
from spcastat.linalg.accumulate import is_sparse, weights_or_ones
from spcastat.linalg.eigenvectors import varimax
from spcastat.linalg.standardisation import Standardisation
from spcastat.linalg.wrapping import (
    BEND,
    END,
    Wrapping,
    columnwise_location_and_scale,
    mean_and_sd,
    spaced,
    wrapped,
)


@dataclass(frozen=True)
class OutlierTuning:
    """Constants of the rules for outlying rows and cells; benchmarks/results/robust.md shows their effect.

    Attributes
    ----------
    far : float
        Rows are far if a score differs from its location by more than this number of scales; this applies to
        1 in 16,000 normal rows for each component. With 3.5, real rows with good leverage are left out; with
        4.5, clusters at a distance of 4 standard deviations are found in 20 % fewer of 12 to 20 simulated
        sets.
    too_small, chosen_at : float
        The mean scale of n normal values is about 1 - 4 / n times the scale of many values (.848, .887, .911,
        .936, .956 and .977 for n = 20, 30, 43, 60, 100 and 200, from 4000 columns each). Distances of fewer
        than 100 rows are divided by 1 + 4 / n, relative to its value at n = 100, for which `far` was chosen.
    cell_limit : float
        Cells are clipped at this z in the scores that judge rows, so that a single bad cell does not make its
        row an outlier.
    rounds : int
        Largest number of rounds in which rows are left out; rows from a Cauchy distribution need up to six
        (60 sets).
    negligible : float
        A round that leaves out at most this share of the rows is the last, and cells are not judged again: it
        changes the rank of no order statistic by more than this share, which corresponds to .0013 standard
        deviations at the median of a normal distribution.
    in_line : float
        Rows that were left out are included again if their residuals are below this normal quantile of the
        residuals of the other rows.
    rows_required, rows_reliable : int
        Smallest number of rows, and smallest number without a warning: locations and scales are computed from
        half of the rows.
    group : float
        If a larger share of the rows is left out, or of the cells downweighted, these may be groups rather
        than outliers. In clean real tables 1.6 to 6.9 % of the cells are downweighted; in a table of glass
        fragments of six kinds, 13.7 %.
    named_columns : int
        Number of columns that a warning names.
    components : int
        Largest number of components used to judge rows if the number of components of the fit is not known.
    """

    far: float = 4.0
    too_small: float = 4.0
    chosen_at: int = 100
    cell_limit: float = 4.0
    rounds: int = 10
    negligible: float = 0.001
    in_line: float = NormalDist().inv_cdf(0.99)
    rows_required: int = 20
    rows_reliable: int = 50
    group: float = 0.1
    named_columns: int = 3
    components: int = 10


OUTLIERS = OutlierTuning()


@dataclass(frozen=True, eq=False)
class Cleaner:
    """The options of cleaning, and the methods that clean rows.

    Attributes
    ----------
    cells, rows : bool
        Whether cells are downweighted, and whether rows are left out.
    components : int or None
        Number of components used to judge rows; None uses the number of variances above the mean.
    divisor : bool or ndarray of shape (p,)
        The divisors of the columns: their standard deviations (True), one (False), or given numbers.
    """

    cells: bool
    rows: bool
    components: int | None = None
    divisor: bool | np.ndarray = True

    def units(self, X: np.ndarray, z: np.ndarray, wrapping: Wrapping, weights: np.ndarray) -> Any:
        """Return the standard deviations of the cleaned and scaled columns; 1.0 if scaled to unit variance.

        `X` contains the rows as given, and `z` the standardised cells.
        """
        if self.divisor is True:
            return 1.0
        sd = mean_and_sd(wrapping.cleaned(X, z), weights)[1]
        return sd if self.divisor is False else sd / self.divisor

    def of(self, X: np.ndarray, weights: np.ndarray | None) -> Cleaning:
        """Return the outlying cells and rows of X, shape (n, p), in which NaN is a missing value."""
        return self._cleaning(X, weights, Wrapping.of)

    def of_draw(self, X: np.ndarray, weights: np.ndarray | None, fit_wrapping: Wrapping) -> Cleaning:
        """Clean a draw of rows, with the powers of the columns and the bend of the fit in `fit_wrapping`."""
        return self._cleaning(X, weights, replace(fit_wrapping, bend=BEND).located, fit_wrapping.bend)

    def _cleaning(
        self,
        X: np.ndarray,
        weights: np.ndarray | None,
        wrapping_of: Callable[[np.ndarray, np.ndarray | None], Wrapping],
        bend: float | None = None,
    ) -> Cleaning:
        """Return the outlying cells and rows; by default the cells themselves determine `bend`."""
        has_weight = np.ones(len(X), dtype=bool) if weights is None else weights > 0

        def judge(is_kept: np.ndarray) -> _Judgement:
            wrapping = wrapping_of(X[is_kept], None if weights is None else weights[is_kept])
            return _Judgement(is_kept, wrapping, _RowScores.of(self, X, weights, wrapping, is_kept))

        judgement = judge(has_weight)
        settled, grouped = True, 0
        if self.rows:
            judgement, settled, grouped = _without_far_rows(judgement, judge)
            if not grouped:
                judgement = _with_rows_in_line(judgement, has_weight, judge)
        if bend is None:
            kept_weights = None if weights is None else weights[judgement.is_kept]
            wrapping = judgement.wrapping.bent_for(X[judgement.is_kept], kept_weights)
        else:
            wrapping = replace(judgement.wrapping, bend=bend)
        return self._result(X, replace(judgement, wrapping=wrapping), settled, grouped)

    def _result(self, X: np.ndarray, judgement: _Judgement, settled: bool, grouped: int) -> Cleaning:
        is_kept, wrapping, scores = judgement.is_kept, judgement.wrapping, judgement.scores
        places, z = wrapping.outlying(X)
        return Cleaning(
            wrapping=wrapping,
            kept=is_kept,
            distance=scores.distance,
            places=places,
            values=np.asarray(X[tuple(places.T)], dtype=float),
            z=z,
            cells=self.cells,
            rows=self.rows,
            components=scores.count,
            known=int((~np.isnan(X[is_kept])).sum()),
            grouped=grouped,
            settled=settled,
        )


@dataclass(frozen=True, eq=False)
class _Judgement:
    """The rows kept, and the limits for cells and rows computed from these rows."""

    is_kept: np.ndarray
    wrapping: Wrapping
    scores: _RowScores

    @property
    def is_near(self) -> np.ndarray:
        """Whether a row is kept and its scores are not far, shape (n,)."""
        return self.is_kept & (self.scores.distance <= OUTLIERS.far)

    def with_rows(self, is_kept: np.ndarray, judge: Callable[[np.ndarray], _Judgement]) -> _Judgement:
        """Return the judgement with other rows kept, recomputed unless nearly the same rows are kept."""
        if (is_kept != self.is_kept).sum() <= OUTLIERS.negligible * len(is_kept):
            return replace(self, is_kept=is_kept)
        return judge(is_kept)


def _without_far_rows(
    start: _Judgement, judge: Callable[[np.ndarray], _Judgement]
) -> tuple[_Judgement, bool, int]:
    """Leave out far rows until there are none.

    Also return whether no far rows remain, and the number of far rows if they are more than half of the rows.
    In this case all rows are kept, since the rows may be in groups.
    """
    judgement, half = start, start.is_kept.sum() / 2
    for _ in range(OUTLIERS.rounds):
        is_near = judgement.is_near
        if is_near.sum() < half:
            return start, True, int((start.is_kept & ~is_near).sum())
        if is_near.sum() == judgement.is_kept.sum():
            return judgement, True, 0
        previous, judgement = judgement, judgement.with_rows(is_near, judge)
        if judgement.wrapping is previous.wrapping:
            return judgement, True, 0
    return judgement, bool(judgement.is_near.sum() == judgement.is_kept.sum()), 0


def _with_rows_in_line(
    judgement: _Judgement, has_weight: np.ndarray, judge: Callable[[np.ndarray], _Judgement]
) -> _Judgement:
    """Include rows again that were left out but are predicted by the scores as well as other rows."""
    out = np.flatnonzero(has_weight & ~judgement.is_kept)
    back = judgement.is_kept.copy()
    back[out] = judgement.scores.in_line(judgement.is_kept, out)
    return judgement if not back[out].any() else judgement.with_rows(back, judge)


@dataclass(frozen=True, eq=False)
class Cleaning:
    """Outlying cells and rows, with the information needed to clean other rows.

    Attributes
    ----------
    wrapping : Wrapping
        The transformation and limits of cells.
    kept : ndarray of bool, shape (n,)
        Whether each row has a positive weight.
    distance : ndarray of shape (n,)
        The largest robust distance of a score of each row; the row is far if it exceeds `OutlierTuning.far`.
    places : ndarray of int, shape (m, 2)
        Row and column of the cells beyond the bend of `wrapping`, in all rows.
    values, z : ndarray of shape (m,)
        The values of these cells in the data, and their standardised values.
    cells, rows : bool
        Whether cells are downweighted, and whether rows are left out.
    components : int
        Number of components used to judge rows.
    known : int
        Number of cells in the rows kept, excluding missing values.
    grouped : int
        The number of far rows if they were more than half, so that all rows were kept; otherwise 0.
    settled : bool
        Whether no far rows remained after the last round.
    """

    wrapping: Wrapping
    kept: Annotated[np.ndarray, "b n"]
    distance: Annotated[np.ndarray, "f n"]
    places: Annotated[np.ndarray, "i cells 2"]
    values: Annotated[np.ndarray, "f cells"]
    z: Annotated[np.ndarray, "f cells"]
    cells: bool
    rows: bool
    components: int
    known: int
    grouped: int = 0
    settled: bool = True

    @property
    def option(self) -> bool | str:
        """The value of the option `robust`."""
        return True if self.cells and self.rows else "cells" if self.cells else "rows"

    @property
    def replaced_cells(self) -> np.ndarray:
        """Rows and columns of the cells that are replaced by the middle of their column, shape (c, 2)."""
        return self.places[(np.abs(self.z) >= END) & self.cells]

    def cleaned(self, X: np.ndarray) -> np.ndarray:
        """Return rows with outlying cells downweighted; the same array if there are none."""
        return self.wrapping.cleaned(X) if self.cells else X

    def weights_of(self, weights: np.ndarray | None) -> np.ndarray | None:
        """Return weights that are zero for rows left out; None if all rows have weight one."""
        if self.kept.all():
            return weights
        return np.where(self.kept, 1.0 if weights is None else weights, 0.0)

    @property
    def among_kept(self) -> np.ndarray:
        """Whether the row of each outlying cell is kept, shape (m,)."""
        return self.kept[self.places[:, 0]]

    @property
    def pulled(self) -> int:
        """Number of outlying cells in the rows kept."""
        return int(self.among_kept.sum())

    @property
    def emptied(self) -> int:
        """Number of cells beyond END in the rows kept, which are replaced by the middle of their column."""
        return int((self.among_kept & (np.abs(self.z) >= END)).sum())

    @property
    def left_out(self) -> np.ndarray:
        """Places of the rows left out, in decreasing order of distance."""
        out = np.flatnonzero(~self.kept)
        return out[np.argsort(-self.distance[out], kind="stable")]


@dataclass(frozen=True, eq=False)
class CleaningStandardisation(Standardisation):
    """A standardisation that first pulls in outlying cells by `wrapping`."""

    wrapping: Wrapping

    @classmethod
    def of(cls, standard: Standardisation, wrapping: Wrapping) -> CleaningStandardisation:
        return cls(standard.mean, standard.scale, standard.centring, standard.scaling, wrapping)

    def of_columns(self, columns: np.ndarray) -> CleaningStandardisation:
        return self.of(super().of_columns(columns), self.wrapping.of_columns(columns))

    def project(self, X: Any, V: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(V.any(axis=1))
        columns = X[:, used]
        rows = np.asarray(columns.toarray() if is_sparse(columns) else columns, dtype=float)
        part = self.of_columns(used)
        return Standardisation.project(part, part.wrapping.cleaned(rows), V[used])


def few_rows_factor(n: float) -> float:
    """Return the divisor of distances of n rows, since scales computed from few rows are too small."""
    return max((1.0 + OUTLIERS.too_small / n) / (1.0 + OUTLIERS.too_small / OUTLIERS.chosen_at), 1.0)


def _axes(W: np.ndarray, weights: np.ndarray, count: int | None) -> np.ndarray:
    """Return the leading principal axes of rows, rotated by varimax, shape (p, k).

    By default the number of axes is the number of variances above the mean, at most
    `OutlierTuning.components`.
    """
    share = weights / weights.sum()
    W -= share @ W
    W *= np.sqrt(share)[:, None]
    wide = W.shape[1] > W.shape[0]
    values, vectors = np.linalg.eigh(W @ W.T if wide else W.T @ W)
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = max(int((values > 1e-12 * values[0]).sum()), 1)
    if count is None:
        count = min(max(int((values > values.sum() / W.shape[1]).sum()), 1), OUTLIERS.components)
    V = vectors[:, : min(count, rank)]
    if wide:
        V = W.T @ V
        V = V / np.maximum(np.linalg.norm(V, axis=0), np.finfo(float).tiny)
    return varimax(V) if V.shape[1] > 1 else V


@dataclass(frozen=True, eq=False)
class _RowScores:
    """Scores that judge the rows, from cells clipped at a limit; NaN is replaced by the middle.

    Attributes
    ----------
    cells : ndarray of shape (n, p)
    values : ndarray of shape (n, k)
    distance : ndarray of shape (n,)
        The largest robust distance of a score over the components.
    weights : ndarray of shape (n,) or None
    """

    cells: np.ndarray
    values: np.ndarray
    distance: np.ndarray
    weights: np.ndarray | None

    @property
    def count(self) -> int:
        return self.values.shape[1]

    @classmethod
    def of(
        cls,
        cleaner: Cleaner,
        X: np.ndarray,
        weights: np.ndarray | None,
        wrapping: Wrapping,
        is_kept: np.ndarray,
    ) -> _RowScores:
        z = wrapping.standardised(X)
        w = weights_or_ones(weights, len(X))
        units = cleaner.units(X, z, wrapping, w * is_kept)
        if not np.isfinite(units**2).all():
            raise errors.DataError(
                "The variances of the data are too large for floating-point numbers, 2e-308 to 1e308. Divide "
                "the columns by a constant first, e.g. data / data.abs().max()."
            )
        np.nan_to_num(z, copy=False)
        V = _axes(wrapped(z) * units, w * is_kept, cleaner.components)
        cells = np.clip(z, -OUTLIERS.cell_limit, OUTLIERS.cell_limit, out=z)
        values = cells @ (V if cleaner.divisor is True else units[:, None] * V)
        location, scale = columnwise_location_and_scale(
            values[is_kept], None if weights is None else w[is_kept]
        )
        scale = scale * few_rows_factor(w[is_kept].sum())
        away = np.abs(values - location)
        distance = np.divide(away, scale, out=np.zeros_like(away), where=scale > 0).max(axis=1)
        return cls(cells, values, distance, weights)

    def in_line(self, is_kept: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Return a mask of `candidates` (places of rows) that the scores predict as well as the rows kept.

        With more than MOST_VALUES rows, the residuals of this number of rows are used, equally spaced in the
        order of the distances.
        """
        if not len(candidates):
            return np.zeros(0, dtype=bool)
        w = weights_or_ones(self.weights, len(is_kept))
        part = np.where(is_kept, w, 0.0) / w[is_kept].sum()
        scores, cells = (Y - part @ Y for Y in (self.values, self.cells))
        B = np.linalg.lstsq((scores.T * part) @ scores, (scores.T * part) @ cells, rcond=None)[0]
        sample = np.flatnonzero(is_kept)
        sample = sample[np.argsort(self.distance[sample], kind="stable")][spaced(len(sample))]
        sample_weights = None if self.weights is None else w[sample]
        usual, residual = (cells[rows] - scores[rows] @ B for rows in (sample, candidates))
        spread = columnwise_location_and_scale(usual, sample_weights)[1]

        def size(Y: np.ndarray) -> np.ndarray:
            share = np.divide(Y, spread, out=np.zeros_like(Y), where=spread > 0)
            return np.cbrt((share**2).sum(axis=1))  # nearly normal (Wilson and Hilferty 1931)

        (middle,), (scale,) = columnwise_location_and_scale(size(usual)[:, None], sample_weights)
        return np.asarray(size(residual) <= middle + OUTLIERS.in_line * scale)


# --- the option -------------------------------------------------------------------------------------


def cleaner_of(robust: bool | str, components: int | None, scale: Any) -> Cleaner:
    """Return the cleaner for the options `robust` and `scale` and the number of components."""
    divisor = scale if isinstance(scale, bool | np.ndarray) else True
    return Cleaner(robust != "rows", robust != "cells", components, divisor)


def require_cleanable(matrix: Any, robust: bool | str, adjusted: bool) -> None:
    """Raise an error, with advice, for data whose cells and rows cannot be judged."""
    option = f"robust={robust!r}"
    if is_sparse(matrix):
        raise errors.OptionError(
            f"{option} was given with a sparse matrix, but the spread of columns with many zeros cannot be "
            "estimated robustly: leave robust out, or give X.toarray() if few of its cells are zero."
        )
    if adjusted:
        raise errors.OptionError(
            f"{option} was given with covariates, but one outlying cell would change the residuals of its "
            "whole column: adjust the columns by a robust regression first, and give the residuals."
        )
    n = matrix.shape[0]
    if n < OUTLIERS.rows_required:
        raise errors.DataError(
            f"{option} needs at least {OUTLIERS.rows_required} rows, since locations and scales are computed "
            f"from half of them; there {'is' if n == 1 else 'are'} {n}."
        )


def require_columns(cleaning: Cleaning, robust: bool | str) -> None:
    """Raise DataError if no column can be judged."""
    if cleaning.wrapping.plain.all():
        raise errors.DataError(
            f"robust={robust!r} changes no column, since each has at most 5 different values, or "
            "its lowest or highest value in at least 30 % of the rows. Leave robust out."
        )


def warn_of(cleaning: Cleaning, robust: bool | str, row_count: int, columns: pd.Index) -> None:
    """Warn about few rows, rows or cells in groups, and rows that are still far after the last round."""
    n, out = len(cleaning.kept), int((~cleaning.kept).sum())
    if n < OUTLIERS.rows_reliable:
        warn(
            f"robust={robust!r} computes locations and scales from half of the rows, here {n // 2 + 1} of "
            f"{n}: cells and rows near the limits depend on single rows.",
            errors.DataWarning,
        )
    if cleaning.grouped:
        warn(
            f"{cleaning.grouped} of {n} rows are far from the half of the rows that is closest together, so "
            "no row was left out: the rows may be in groups. Colour fit.plot_scores() by variables that may "
            "explain the groups, fit the groups separately, or give robust='cells', which keeps all rows.",
            errors.DataWarning,
        )
    elif out > OUTLIERS.group * row_count:
        warn(
            f"{plural(out, 'row')} of {n} ({whole_percent(out / n)}) were left out. These may be a group "
            "rather than outliers: see fit.robust.rows and fit.plot_scores(); robust='cells' keeps all "
            "rows.",
            errors.DataWarning,
        )
    elif cleaning.cells and cleaning.pulled > OUTLIERS.group * cleaning.known:
        _warn_of_many_cells(cleaning, columns)
    if not cleaning.settled:
        warn(
            f"Rows were left out in {OUTLIERS.rounds} rounds, and some of the other rows are still far: see "
            "fit.robust.rows; robust='cells' keeps all rows.",
            errors.ConvergenceWarning,
        )


def _warn_of_many_cells(cleaning: Cleaning, columns: pd.Index) -> None:
    counts = np.bincount(cleaning.places[cleaning.among_kept, 1], minlength=len(columns))
    leading_columns = np.argsort(-counts, kind="stable")[: OUTLIERS.named_columns]
    shares = [
        f"{name_text(columns[j])} {whole_percent(counts[j] / cleaning.kept.sum())}" for j in leading_columns
    ]
    pulled = whole_percent(cleaning.pulled / cleaning.known)
    warn(
        f"{cleaning.pulled} of {cleaning.known} cells ({pulled}) were downweighted, most in "
        f"{', '.join(shares)} of the rows. These may be groups of values rather than outliers: see "
        "fit.robust.columns and fit.robust.plot_cells(); robust='rows' does not change cells.",
        errors.DataWarning,
    )
