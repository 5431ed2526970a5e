"""Signs that rows are not independent: equal rows, similar neighbours, columns that group rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import fdtrc

from spcastat.config import shown
from spcastat.inputs.data import Source
from spcastat.inputs.row_groups import content_keys
from spcastat.linalg.standardisation import neighbour_correlation
from spcastat.linalg.ties import is_sparse

#: A share of rows equal to another one, from which on it is noticed.
MANY_EQUAL = 0.05


#: Correlations of neighbouring scores are noticed beyond this multiple of their standard error, 1 / sqrt(n);
#: independent rows reach it once in two thousand data sets.
FAR = 3.3


#: The same for grouping columns: the largest p-value, for all columns together.
RARE = 0.001


#: Scores of so many principal components are looked at.
SCORES = 2


#: Data with more cells than this are not looked at.
MOST_CELLS = 20_000_000


def notice(source: Source, data: Any) -> str:
    """Return a remark on rows that may not be independent, "" if there is no sign or a design was given.

    Parameters
    ----------
    source : Source
        With rows.
    data : object
        The data of the call, whose columns that are no variables may group the rows.
    """
    if source.design is not None or source.matrix is None or source.op.p * (source.n or 0) > MOST_CELLS:
        return ""
    found = [*_equal_rows(source), *_dependent(source, data)]
    return f"{' '.join(found)} Draws and tests took rows as independent." if found else ""


def _equal_rows(source: Source) -> Iterator[str]:
    """Yield a remark if many rows are equal to others, more than by chance."""
    if source.weights is not None:
        return
    keys = content_keys(source.measured, None, source.covariates)
    n = len(keys)
    times = np.unique(keys, return_counts=True)[1]
    equal = int(times[times > 1].sum())
    if equal < MANY_EQUAL * n or _pairs_by_chance(source, n) > 0.5:
        return
    yield (
        f"{equal:,} of {n:,} rows ({100 * equal / n:.0f} %) are equal to others: give clusters= if they are "
        "copies."
    )


def _pairs_by_chance(source: Source, n: int) -> float:
    """Return the expected number of pairs of equal rows if half of the columns were independent.

    Columns of few values, as answers to questionnaires, make rows equal by chance.
    """
    logs = []
    for j in range(source.op.p):
        column = source.matrix[:, [j]]
        column = column.toarray().ravel() if is_sparse(column) else np.asarray(column).ravel()
        shares = np.unique(column, return_counts=True)[1] / n
        logs.append(np.log((shares**2).sum()))
    return float(n * (n - 1.0) / 2.0 * np.exp(0.5 * np.sum(logs)))


def _dependent(source: Source, data: Any) -> Iterator[str]:
    """Yield a remark on the column that explains scores best or, without one, on similar neighbours."""
    assert source.standard is not None
    V = source.op.leading(min(SCORES, source.op.p))[1]
    T = np.nan_to_num(source.standard.project(source.matrix, V))
    column = _grouping_column(source, data, T)
    if column is not None:
        name, share = column
        yield (
            f"Column {shown(name)} explains {100 * share:.0f} % of the variance of a component's scores: "
            f"give clusters={shown(name)} if its groups were sampled."
        )
        return
    n = len(T)
    r = max((neighbour_correlation(score) for score in T.T), default=0.0)
    if n > 3 and r > FAR / np.sqrt(n):
        yield (
            f"Neighbouring rows are alike (correlation {r:.2f} of their scores): give block_length='auto' if "
            "rows are in the order of time, or clusters= if they are in groups."
        )


def _grouping_column(source: Source, data: Any, T: np.ndarray) -> tuple[Any, float] | None:
    """Return the name of a column of text or categories that explains scores, and the share that it explains.

    Its groups must be so many and small that they are rather clusters than kinds of rows: 10 or more, and of
    two rows or more on average.
    """
    if not isinstance(data, pd.DataFrame) or source.index is None or len(data) < len(T):
        return None
    if source.dropped:
        if not (data.index.is_unique and source.index.isin(data.index).all()):
            return None
        data = data.loc[source.index]
    if len(data) != len(T):
        return None
    read = set(map(str, source.spec.needed))
    best: tuple[float, Any, float] | None = None
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
        if (codes < 0).any() or groups < 10 or 2 * groups > len(T):
            continue
        for score in T.T:
            p_value, share = _one_way(score, codes, groups)
            if best is None or p_value < best[0]:
                best = p_value, data.columns[j], share
    if best is None or best[0] * len(columns) * T.shape[1] > RARE:
        return None
    return best[1], best[2]


def _one_way(score: np.ndarray, codes: np.ndarray, groups: int) -> tuple[float, float]:
    """Return the p-value of the F test of equal means of groups, and the share of variance between groups."""
    n, z = len(score), score - score.mean()
    counts = np.bincount(codes, minlength=groups)
    sums = np.bincount(codes, weights=z, minlength=groups)
    between, total = float((sums**2 / np.maximum(counts, 1)).sum()), float(z @ z)
    if not total > 0:
        return 1.0, 0.0
    within = max(total - between, np.finfo(float).tiny * total)
    F = between / (groups - 1.0) / (within / (n - groups))
    return float(fdtrc(groups - 1.0, n - groups, F)), between / total
