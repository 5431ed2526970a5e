"""Signs that rows are not independent: equal rows, similar neighbours, columns that group rows.

Neighbouring rows are alike if rows are in the order of time, but also if a table is sorted or lies in
groups, which says nothing about how its rows were sampled. To tell these apart, rows are shuffled within runs
of two to eight rows. This keeps sorting and trends, and groups where runs and groups coincide, and removes
dependence of successive rows. Columns by which the table is sorted are regressed out first, as they also
order the rows of a run.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import fdtrc

from spcastat.arguments import plural, shown, whole_percent
from spcastat.inputs.row_groups import StandardRows, content_keys, equal_by_chance
from spcastat.linalg.accumulate import blocks, is_sparse
from spcastat.linalg.regression import centred_within
from spcastat.linalg.standardisation import neighbour_correlation
from spcastat.reading.design import Remark


@dataclass(frozen=True)
class DependenceTuning:
    """Constants of the signs of dependence; benchmarks/results/trust.md shows what they find.

    Attributes
    ----------
    equal_rows : float
        A share of rows equal to another one, from which on it is noticed.
    errors : float
        Correlations of neighbouring scores are noticed beyond this multiple of their standard error,
        1 / sqrt(n); independent rows reach it once in two thousand data sets. The same in standard deviations
        over shuffles.
    p_value : float
        The same for grouping columns: the largest p-value, for all columns together.
    groups, rows_of_group : int
        A grouping column has at least so many groups, of at least so many rows on average.
    scores, pooled_scores : int
        Scores of so many principal components are looked at alone, and of so many together, ...
    scores_adjusted : int
        ... after sorting columns were regressed out of so many.
    run, shuffles, shuffled_rows : int
        Rows are shuffled within runs of so many, so many times; of many rows so many in the middle.
    beyond_groups : float
        Groups of m rows lie whole in the runs of m rows of one shuffle in m. Neighbours are then as alike as
        in the data, at most sqrt(m - 1) standard deviations above the mean of shuffles. Rows are serial if
        neighbours are more alike by so much more, in runs of every length. Of 60 to 100 sets, 14 groups of 5
        were called serial in .10 without this condition, .07, .03 and .00 with 0, .25 and .5; one
        autoregressive factor (.8) in .40, and .50, .42 and .36; AR(.3) in .98 with each.
    shortest_run, shortest_run_alone : int
        The shortest runs for scores together and alone: in shorter ones, slow series change little.
    sorted_share, sorted_steps, step_share : float
        A column sorts the rows if it rises, or falls, in this share of its steps, which are at least so many
        and so large a share of the rows.
    sorting_columns : int
        At most so many columns are regressed out.
    """

    equal_rows: float = 0.05
    errors: float = 3.3
    p_value: float = 0.001
    groups: int = 10
    rows_of_group: int = 2
    scores: int = 2
    pooled_scores: int = 3
    scores_adjusted: int = 10
    run: int = 8
    shuffles: int = 99
    shuffled_rows: int = 5_000
    beyond_groups: float = 0.5
    shortest_run: int = 2
    shortest_run_alone: int = 4
    sorted_share: float = 0.9
    sorted_steps: int = 10
    step_share: float = 0.2
    sorting_columns: int = 4


DEPENDENCE = DependenceTuning()


#: Ends remarks on rows that are probably not independent.
TREATED_AS_INDEPENDENT = "Resampling and tests treated rows as independent."


def dependence_remark(rows: StandardRows) -> Remark:
    """Return remarks for inference that takes rows as independent.

    Columns of the user's table that are no variables may group or sort the rows.
    """
    look = rows.neighbours
    sentences = [*_equal_rows(rows), *([look.grouped] if look.grouped else []), *look.sentences()]
    doubtful = len(sentences) > (look.kind == SORTED_OR_GROUPED and not look.grouped)
    if rows.dropped and isinstance(rows.index, pd.DatetimeIndex | pd.PeriodIndex):
        sentences.append((gaps_warning(rows.dropped),) * 2)
    texts, brief_texts = zip(*sentences, strict=True) if sentences else ((), ())
    return Remark(" ".join([*texts, *[TREATED_AS_INDEPENDENT] * doubtful]), " ".join(brief_texts), doubtful)


def serial_warning(r: float) -> str:
    """Return the warning of serially dependent rows; r is the correlation of the scores of neighbours."""
    return (
        f"Scores of successive rows are correlated (r = {r:.2f}) beyond what sorting or groups explain: for "
        "a time series give block_length='auto', for clusters of rows give clusters=."
    )


def gaps_warning(dropped: int) -> str:
    """Return the warning that rows in the order of time have gaps, since some were dropped."""
    return (
        f"{plural(dropped, 'row')} with missing values {'was' if dropped == 1 else 'were'} dropped, so some "
        "successive rows are further apart in time than others; na='em' keeps all rows."
    )


# --- neighbouring rows -----------------------------------------------------------------------------
#: What similar neighbours come from.
SERIAL, SORTED_OR_GROUPED = "serial", "sorted or grouped"


@dataclass(frozen=True)
class Neighbours:
    """How alike neighbouring rows are.

    Attributes
    ----------
    kind : {"", "serial", "sorted or grouped"}
        "" if they are not alike, or if a column groups the rows.
    r : float
        The largest correlation of neighbours, of scores.
    grouped : (str, str), optional
        A remark on the column whose groups explain scores best, and the same in fewer words.
    """

    kind: str
    r: float
    grouped: tuple[str, str] | None = None

    def sentences(self) -> Iterator[tuple[str, str]]:
        """Yield a warning of serial dependence, or a remark on sorting or groups, and a shorter one."""
        if self.kind == SERIAL and not self.grouped:
            brief = f"Successive rows are correlated (r = {self.r:.2f}): give block_length= or clusters=."
            yield serial_warning(self.r), brief
        if self.kind == SORTED_OR_GROUPED and not self.grouped:
            yield (
                f"Rows look sorted or grouped (scores of successive rows: r = {self.r:.2f}), which matters "
                "only if groups of rows were sampled (clusters=).",
                f"Rows look sorted or grouped (r = {self.r:.2f}): give clusters= if groups were sampled.",
            )


def neighbours_of(rows: StandardRows) -> Neighbours:
    """Return how alike neighbouring rows are."""
    T = _scores(rows, DEPENDENCE.pooled_scores)
    table = _table_of(rows)
    column = None if table is None else _grouping_column(rows, table, T[:, : DEPENDENCE.scores])
    grouped = None
    if column is not None:
        name, share = column
        grouped = (
            f"Column {shown(name)} explains {whole_percent(share)} of the variance of a component's scores: "
            f"give clusters={shown(name)} if its groups were sampled.",
            f"Column {shown(name)} groups the rows: give clusters={shown(name)} if groups were sampled.",
        )
    n = len(T)
    T = _within_strata(T, rows)
    correlations = [neighbour_correlation(score) for score in T.T]
    r = max(correlations[: DEPENDENCE.scores], default=0.0)
    mean = np.mean(correlations) * np.sqrt(len(correlations)) if correlations else 0.0
    if (
        rows.total_rows is not None
        or n <= DEPENDENCE.run
        or not max(r, mean) > DEPENDENCE.errors / np.sqrt(n)
    ):
        return Neighbours("", r, grouped)
    sorting = list(
        islice(_sorting_columns(rows, table, T[:, : DEPENDENCE.scores]), DEPENDENCE.sorting_columns)
    )
    if sorting:
        T = _without(_within_strata(_scores(rows, DEPENDENCE.scores_adjusted), rows), sorting)
    return Neighbours(SERIAL if _is_serial(T) else SORTED_OR_GROUPED, r, grouped)


def _scores(rows: StandardRows, count: int) -> np.ndarray:
    """Return the scores of the rows on the leading principal components, shape (n, count) at most."""
    V = rows.op.leading(min(count, rows.op.p))[1]
    return np.nan_to_num(rows.standard.project(rows.matrix, V))


def _within_strata(T: np.ndarray, rows: StandardRows) -> np.ndarray:
    """Return scores less their means in the strata of the sample, which make no rows dependent."""
    strata = None if rows.design is None else rows.design.strata
    return T if strata is None else centred_within(T, strata, None)


def _sorting_columns(rows: StandardRows, table: pd.DataFrame | None, T: np.ndarray) -> Iterator[np.ndarray]:
    """Yield what sorts the rows: variables, other numbers and dates of the table, row labels, and scores."""
    if not is_sparse(rows.matrix):
        for block in blocks(rows.matrix.shape[1], len(T)):
            X = np.asarray(rows.measured[:, block], dtype=float)
            yield from X[:, _sorted_columns(X)].T
    fit_columns = set(map(str, rows.spec.required_columns)) if rows.covariates is None else set()
    unused = (
        [] if table is None else [j for j, name in enumerate(table.columns) if str(name) not in fit_columns]
    )
    other_columns = [table.iloc[:, j] for j in unused] if table is not None else []
    if not isinstance(rows.index, pd.RangeIndex | pd.MultiIndex):
        other_columns.append(rows.index.to_series())
    for column in other_columns:
        values = _as_numbers(column)
        if values is not None and _sorted_columns(values[:, None])[0]:
            yield values
    yield from T[:, _sorted_columns(T)].T


def _as_numbers(column: pd.Series) -> np.ndarray | None:
    """Return a column of numbers or dates as floats; None for others."""
    if pd.api.types.is_datetime64_any_dtype(column):
        values = column.to_numpy(dtype="datetime64[ns]").astype(np.int64).astype(float)
        return np.where(column.isna(), np.nan, values)
    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        return None
    if pd.api.types.is_complex_dtype(column):
        return None
    return column.to_numpy(dtype=float, na_value=np.nan)


def _sorted_columns(X: np.ndarray) -> np.ndarray:
    """Return a mask of the columns of X, shape (n, m), that rise, or fall, in nearly all of their steps."""
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.diff(X, axis=0)
    up, down = (steps > 0).sum(axis=0), (steps < 0).sum(axis=0)
    count = up + down
    return np.asarray(
        (count >= max(DEPENDENCE.sorted_steps, DEPENDENCE.step_share * len(X)))
        & (np.maximum(up, down) >= DEPENDENCE.sorted_share * count)
    )


def _without(T: np.ndarray, keys: list[np.ndarray]) -> np.ndarray:
    """Return the leading directions of scores from which cubic functions of the keys were regressed out."""
    powers = [np.ones(len(T))]
    for key in keys:
        x = np.where(np.isfinite(key), key, np.nan)
        x = x / max(np.nanmax(np.abs(x)), np.finfo(float).tiny)
        spread = np.nanstd(x)
        z = np.nan_to_num((x - np.nanmean(x)) / (spread if spread > 0 else 1.0))
        powers += [z, z**2, z**3]
    K = np.column_stack(powers)
    U, values, _ = np.linalg.svd(T - K @ np.linalg.lstsq(K, T, rcond=None)[0], full_matrices=False)
    return np.asarray(U[:, : DEPENDENCE.pooled_scores] * values[: DEPENDENCE.pooled_scores])


def _is_serial(T: np.ndarray) -> bool:
    """Return whether neighbours are more alike than in shuffles within runs of every length.

    The columns of T, shape (n, m), are looked at alone, and together. The shuffles depend on the values only.
    """
    start = max(0, (len(T) - DEPENDENCE.shuffled_rows) // 2)
    T = T[start : start + DEPENDENCE.shuffled_rows]
    T = T - T.mean(axis=0)
    T = T / np.maximum(np.abs(T).max(axis=0), np.finfo(float).tiny)
    rng = np.random.default_rng(zlib.crc32(np.rint(np.abs(T) * 1e4).astype(np.int32)))
    T = T / np.maximum(np.linalg.norm(T, axis=0), np.finfo(float).tiny)
    is_serial_score = is_serial_sum = True
    for run in range(DEPENDENCE.run, DEPENDENCE.shortest_run - 1, -1):
        threshold = (
            DEPENDENCE.errors if run == DEPENDENCE.run else np.sqrt(run - 1) + DEPENDENCE.beyond_groups
        )
        *scores, total = _beyond_shuffles(T, run, rng)
        is_serial_score &= run < DEPENDENCE.shortest_run_alone or max(scores[: DEPENDENCE.scores]) > threshold
        is_serial_sum &= total > threshold
        if not (is_serial_score or is_serial_sum):
            return False
    return True


def _beyond_shuffles(T: np.ndarray, run: int, rng: np.random.Generator) -> list[float]:
    """Return by how many standard deviations neighbours are more alike than in shuffles within runs.

    For each column of T, shape (n, m), and for all together.
    """
    shuffled_products = np.array(
        [_products(T[_shuffled(len(T), run, rng)]) for _ in range(DEPENDENCE.shuffles)]
    )
    spread = shuffled_products.std(axis=0, ddof=1)
    z = (_products(T) - shuffled_products.mean(axis=0)) / np.where(spread > 0, spread, np.inf)
    return [float(value) for value in z]


def _products(T: np.ndarray) -> np.ndarray:
    """Return the sums of products of neighbours in each column, and their total."""
    sums = (T[1:] * T[:-1]).sum(axis=0)
    return np.append(sums, sums.sum())


def _shuffled(n: int, run: int, rng: np.random.Generator) -> np.ndarray:
    """Return the numbers 0 to n - 1 shuffled within runs of successive ones; the runs begin at random."""
    offset = int(rng.integers(run))
    runs = -(-(n + offset) // run)
    rows = (np.arange(runs * run) - offset).reshape(runs, run)
    order = np.take_along_axis(rows, rng.random((runs, run)).argsort(axis=1), axis=1).ravel()
    return order[(order >= 0) & (order < n)]


# --- equal rows and groups -------------------------------------------------------------------------


def _equal_rows(rows: StandardRows) -> Iterator[tuple[str, str]]:
    """Yield a remark, and a shorter one, if many rows are equal to others as given, more than by chance."""
    if rows.weights is not None:
        return
    keys = content_keys(rows.raw_rows, None, rows.covariates)
    n = len(keys)
    times = np.unique(keys, return_counts=True)[1]
    equal = int(times[times > 1].sum())
    if equal < DEPENDENCE.equal_rows * n or equal_by_chance(rows.raw_rows, None):
        return
    yield (
        f"{equal:,} of {n:,} rows ({whole_percent(equal / n)}) are equal to others: give clusters= if they "
        "are copies.",
        f"{equal:,} of {n:,} rows are equal to others: give clusters= if they are copies.",
    )


def _table_of(rows: StandardRows) -> pd.DataFrame | None:
    """Return all columns of the data for the rows of a source; None if the data are no such frame."""
    data, n = rows.table, rows.n
    if not isinstance(data, pd.DataFrame) or len(data) < n:
        return None
    if rows.dropped:
        if not (data.index.is_unique and rows.index.isin(data.index).all()):
            return None
        data = data.loc[rows.index]
    return data if len(data) == n else None


def _grouping_column(rows: StandardRows, data: pd.DataFrame, T: np.ndarray) -> tuple[Any, float] | None:
    """Return the name of a column of text or categories that explains scores, and the share that it explains.

    The groups must be numerous and small enough to be clusters rather than kinds of rows.
    """
    read = set(map(str, rows.spec.required_columns))
    smallest: tuple[float, Any, float] | None = None
    columns = [j for j, name in enumerate(data.columns) if str(name) not in read]
    for j in columns:
        column = data.iloc[:, j]
        if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
            continue
        try:
            codes = pd.factorize(column)[0]
        except TypeError:  # values that cannot be compared, such as lists
            continue
        groups = int(codes.max()) + 1
        if (codes < 0).any() or groups < DEPENDENCE.groups or DEPENDENCE.rows_of_group * groups > len(T):
            continue
        for score in T.T:
            p_value, share = _one_way(score, codes, groups)
            if smallest is None or p_value < smallest[0]:
                smallest = p_value, data.columns[j], share
    if smallest is None or smallest[0] * len(columns) * T.shape[1] > DEPENDENCE.p_value:
        return None
    return smallest[1], smallest[2]


def _one_way(score: np.ndarray, codes: np.ndarray, groups: int) -> tuple[float, float]:
    """Return the p-value of the F test of equal means of groups, and the share of variance between groups."""
    n, z = len(score), score - score.mean()
    counts = np.bincount(codes, minlength=groups)
    sums = np.bincount(codes, weights=z, minlength=groups)
    between, total = float((sums**2 / np.maximum(counts, 1)).sum()), float(z @ z)
    if not total > 0:
        return 1.0, 0.0
    within_groups = max(total - between, np.finfo(float).tiny * total)
    F = between / (groups - 1.0) / (within_groups / (n - groups))
    return float(fdtrc(groups - 1.0, n - groups, F)), between / total
