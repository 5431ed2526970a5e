"""Signs of dependent rows: equal rows, similar neighbouring rows, and columns that group rows.

Neighbouring rows are similar if rows are in time order, but also if a table is sorted or grouped, which gives
no information on how its rows were sampled. To distinguish these cases, rows are shuffled within runs of two
to eight rows. Shuffling preserves sorting and trends, and groups that coincide with runs, and removes the
dependence of successive rows. Columns by which the table is sorted are regressed out first, since they also
order the rows within a run.
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
    """Constants of the checks for dependence; benchmarks/results/trust.md shows their performance.

    Attributes
    ----------
    equal_rows : float
        Smallest share of rows equal to another row that is reported.
    errors : float
        Correlations of neighbouring scores are reported if they exceed this multiple of their standard error,
        1 / sqrt(n); independent rows reach it in one of two thousand data sets. The same multiple applies to
        the standard deviation over shuffles.
    p_value : float
        The largest p-value at which a grouping column is reported, for all columns together.
    groups, rows_of_group : int
        Smallest number of groups of a grouping column, and smallest average number of rows in a group.
    scores, pooled_scores : int
        Numbers of principal components whose scores are examined separately, and together.
    scores_adjusted : int
        Number of principal components from whose scores sorting columns are regressed out first.
    run, shuffles, shuffled_rows : int
        Largest number of rows in a run, number of shuffles, and largest number of rows that are shuffled,
        from the middle of the data.
    beyond_groups : float
        In one of m shuffles, groups of m rows coincide with the runs of m rows. Neighbours are then as
        similar as in the data, at most sqrt(m - 1) standard deviations above the mean over shuffles. Rows are
        classified as serial if neighbours exceed this limit by `beyond_groups` in runs of every length. In 60
        to 100 sets, the share classified as serial was .10 for 14 groups of 5 rows without this condition,
        and .07, .03 and .00 with 0, .25 and .5; for one autoregressive factor (.8) it was .40, and .50, .42
        and .36; for AR(.3) it was .98 in each case.
    shortest_run, shortest_run_alone : int
        The shortest runs for scores examined together and separately; slow series change little within
        shorter runs.
    sorted_share, sorted_steps, step_share : float
        A column sorts the rows if it rises, or falls, in at least this share of its steps; the smallest
        number of steps, and their smallest share of the rows.
    sorting_columns : int
        Largest number of columns that are regressed out.
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


#: Last sentence of remarks on rows that are probably not independent.
TREATED_AS_INDEPENDENT = "Resampling and tests treated rows as independent."


def dependence_remark(rows: StandardRows) -> Remark:
    """Return remarks for inference that assumes independent rows.

    Columns of the user's table that are not variables of the fit may group or sort the rows.
    """
    look = rows.neighbours
    sentences = [*_equal_rows(rows), *([look.grouped] if look.grouped else []), *look.sentences()]
    doubtful = len(sentences) > (look.kind == SORTED_OR_GROUPED and not look.grouped)
    if rows.dropped and isinstance(rows.index, pd.DatetimeIndex | pd.PeriodIndex):
        sentences.append((gaps_warning(rows.dropped),) * 2)
    texts, brief_texts = zip(*sentences, strict=True) if sentences else ((), ())
    return Remark(" ".join([*texts, *[TREATED_AS_INDEPENDENT] * doubtful]), " ".join(brief_texts), doubtful)


def serial_warning(r: float) -> str:
    """Return the warning about serially dependent rows; r is the correlation of scores of neighbours."""
    return (
        f"Scores of successive rows are correlated (r = {r:.2f}) beyond what sorting or groups explain: for "
        "a time series give block_length='auto', for clusters of rows give clusters=."
    )


def gaps_warning(dropped: int) -> str:
    """Return the warning that rows in time order have gaps because some rows were dropped."""
    return (
        f"{plural(dropped, 'row')} with missing values {'was' if dropped == 1 else 'were'} dropped, so some "
        "successive rows are further apart in time than others; na='em' keeps all rows."
    )


# --- neighbouring rows -----------------------------------------------------------------------------
#: The causes of similar neighbouring rows.
SERIAL, SORTED_OR_GROUPED = "serial", "sorted or grouped"


@dataclass(frozen=True)
class Neighbours:
    """The similarity of neighbouring rows.

    Attributes
    ----------
    kind : {"", "serial", "sorted or grouped"}
        The kind of similarity; "" if neighbours are not similar, or were not examined further.
    r : float
        The largest correlation between the scores of neighbouring rows, over components.
    grouped : (str, str), optional
        A remark on the column whose groups explain scores best, and a shorter version.
    """

    kind: str
    r: float
    grouped: tuple[str, str] | None = None

    def sentences(self) -> Iterator[tuple[str, str]]:
        """Yield a warning about serial dependence or a remark on sorting or groups, and a shorter version."""
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
    """Return the similarity of neighbouring rows."""
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
    """Return the scores of the rows on at most `count` leading principal components, one column each."""
    V = rows.op.leading(min(count, rows.op.p))[1]
    return np.nan_to_num(rows.standard.project(rows.matrix, V))


def _within_strata(T: np.ndarray, rows: StandardRows) -> np.ndarray:
    """Return scores minus their means in the strata, since strata do not make rows dependent."""
    strata = None if rows.design is None else rows.design.strata
    return T if strata is None else centred_within(T, strata, None)


def _sorting_columns(rows: StandardRows, table: pd.DataFrame | None, T: np.ndarray) -> Iterator[np.ndarray]:
    """Yield values that sort the rows: variables, other numbers and dates, row labels, and scores."""
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
    """Return a column of numbers or dates as floats; None for other columns."""
    if pd.api.types.is_datetime64_any_dtype(column):
        values = column.to_numpy(dtype="datetime64[ns]").astype(np.int64).astype(float)
        return np.where(column.isna(), np.nan, values)
    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        return None
    if pd.api.types.is_complex_dtype(column):
        return None
    return column.to_numpy(dtype=float, na_value=np.nan)


def _sorted_columns(X: np.ndarray) -> np.ndarray:
    """Return a mask of the columns of X, shape (n, m), that rise, or fall, in nearly all steps."""
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.diff(X, axis=0)
    up, down = (steps > 0).sum(axis=0), (steps < 0).sum(axis=0)
    count = up + down
    return np.asarray(
        (count >= max(DEPENDENCE.sorted_steps, DEPENDENCE.step_share * len(X)))
        & (np.maximum(up, down) >= DEPENDENCE.sorted_share * count)
    )


def _without(T: np.ndarray, keys: list[np.ndarray]) -> np.ndarray:
    """Return the leading components of scores after regressing out cubic functions of the keys."""
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
    """Return whether neighbours are more similar than in shuffles within runs, for every run length.

    The columns of T, shape (n, m), are examined separately and together. The shuffles depend only on the
    values.
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
    """Return the excess similarity of neighbours over shuffles within runs, in standard deviations.

    There is one value for each column of T, shape (n, m), and one for all columns together.
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
    """Return the numbers 0 to n - 1 shuffled within runs of successive numbers with a random offset."""
    offset = int(rng.integers(run))
    runs = -(-(n + offset) // run)
    rows = (np.arange(runs * run) - offset).reshape(runs, run)
    order = np.take_along_axis(rows, rng.random((runs, run)).argsort(axis=1), axis=1).ravel()
    return order[(order >= 0) & (order < n)]


# --- equal rows and groups -------------------------------------------------------------------------


def _equal_rows(rows: StandardRows) -> Iterator[tuple[str, str]]:
    """Yield a remark and a shorter version if more of the rows as given are equal than by chance."""
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
    """Return all columns of the data for the rows of the fit; None without a matching data frame."""
    data, n = rows.table, rows.n
    if not isinstance(data, pd.DataFrame) or len(data) < n:
        return None
    if rows.dropped:
        if not (data.index.is_unique and rows.index.isin(data.index).all()):
            return None
        data = data.loc[rows.index]
    return data if len(data) == n else None


def _grouping_column(rows: StandardRows, data: pd.DataFrame, T: np.ndarray) -> tuple[Any, float] | None:
    """Return the name of a column of text or categories that explains scores, and the explained share.

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
