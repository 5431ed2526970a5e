"""Comparison of the components of groups of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np
import pandas as pd

from spcastat.api import spca
from spcastat.argument_types import ByRow, Card, Effort, MethodName, Objective, Progress, Rng, Table, Vector
from spcastat.assess.draws import seed_of, workers
from spcastat.assess.group_slopes import centred, compare, own_directions
from spcastat.config import elements, listed, nearest, one_of, plural, shown, whole_number
from spcastat.errors import (
    ConstantColumnError,
    DataError,
    MissingValuesError,
    NoRowsError,
    OptionError,
    ShapeError,
    TooFewRowsError,
)
from spcastat.fit.inputs import Source, open_rows, table_and_formula
from spcastat.linalg.standardisation import CONSTANT
from spcastat.linalg.ties import is_sparse
from spcastat.progress import listening
from spcastat.reading.checks import aligned
from spcastat.reading.covariance import looks_like_covariance
from spcastat.reading.design import ReadOptions as Reading
from spcastat.reading.frames import open_table
from spcastat.results.groups import GroupComparison
from spcastat.streams.opening import open_stream, read_whole

__all__ = ["compare_groups"]

#: The largest number of permutations.
MOST_DRAWS = 1_000_000
#: The smallest number of rows of a group, and of clusters: with fewer, variances of slopes mean nothing.
FEWEST = 3


@overload
def compare_groups(
    data: Table,
    /,
    groups: ByRow,
    k: int,
    card: Card | None = None,
    *,
    n_draws: int = 999,
    formula: str | None = None,
    scale: bool | Vector | None = None,
    na: Literal["raise", "drop"] = "raise",
    clusters: ByRow | None = None,
    method: MethodName | None = None,
    objective: Objective | None = None,
    effort: Effort | None = None,
    categorical: Literal["refuse", "dummy"] = "refuse",
    context: Mapping[str, Any] | None = None,
    rng: Rng = None,
    n_jobs: int = 1,
    progress: Progress = None,
) -> GroupComparison: ...
@overload
def compare_groups(
    formula: str,
    /,
    groups: ByRow,
    k: int,
    card: Card | None = None,
    *,
    data: Table,
    n_draws: int = 999,
    scale: bool | Vector | None = None,
    na: Literal["raise", "drop"] = "raise",
    clusters: ByRow | None = None,
    method: MethodName | None = None,
    objective: Objective | None = None,
    effort: Effort | None = None,
    categorical: Literal["refuse", "dummy"] = "refuse",
    context: Mapping[str, Any] | None = None,
    rng: Rng = None,
    n_jobs: int = 1,
    progress: Progress = None,
) -> GroupComparison: ...
@overload
def compare_groups(
    *,
    data: Table,
    groups: ByRow,
    k: int,
    card: Card | None = None,
    n_draws: int = 999,
    formula: str | None = None,
    scale: bool | Vector | None = None,
    na: Literal["raise", "drop"] = "raise",
    clusters: ByRow | None = None,
    method: MethodName | None = None,
    objective: Objective | None = None,
    effort: Effort | None = None,
    categorical: Literal["refuse", "dummy"] = "refuse",
    context: Mapping[str, Any] | None = None,
    rng: Rng = None,
    n_jobs: int = 1,
    progress: Progress = None,
) -> GroupComparison: ...
def compare_groups(
    data_or_formula: Any = None,
    /,
    groups: ByRow | None = None,
    k: int | None = None,
    card: Card | None = None,
    *,
    data: Any = None,
    n_draws: int = 999,
    formula: str | None = None,
    scale: bool | Vector | None = None,
    na: Literal["raise", "drop"] = "raise",
    clusters: ByRow | None = None,
    method: MethodName | None = None,
    objective: Objective | None = None,
    effort: Effort | None = None,
    categorical: Literal["refuse", "dummy"] = "refuse",
    context: Mapping[str, Any] | None = None,
    rng: Rng = None,
    n_jobs: int = 1,
    progress: Progress = None,
) -> GroupComparison:
    """Test whether the components of groups of rows are the same, and name the variables that differ.

    Common components are fitted to the covariances within groups. For each group, variable and component the
    slope of the variable on the score is computed, cov(x, t) / var(t), and equal slopes are tested by
    permutation. Groups that differ in means, in sizes, or in the variances of components or of all variables,
    but not in the slopes, count as equal.

    Parameters
    ----------
    data : DataFrame, array, polars or pyarrow table of shape (n, p)
        Rows in memory. The first argument without a name, or ``data=``.
    groups : Series, Categorical, array of length n, or str
        The group of each row, or the name of a column of the data, which is then no variable, or of the row
        labels. A Series is matched by its labels.
    k : int
        Number of components.
    card : int, sequence of k ints, or mapping, optional
        Number of nonzero loadings, as for :func:`spca`; without it the sparsest that keep .9 of PCA's
        variance.
    n_draws : int
        Number of permutations. The smallest p-value is 1 / (n_draws + 1).
    formula : str, optional
        The variables, as in ``"~ a + log(b)"``; covariates are refused. See :func:`spca`.
    scale : bool or array-like of shape (p,), optional
        Whether to divide columns by their standard deviations within groups; not by default.
    na : {"raise", "drop"}
        Whether missing values, also in `groups` and `clusters`, raise an error, or such rows are left out.
    clusters : Series, array of length n, or str, optional
        Rows that are not independent, such as those of a school: labels of whole clusters are permuted, and
        variances are those of clusters. Each cluster lies in one group.
    method, objective, effort
        How the common components are fitted. See :func:`spca`.
    categorical, context
        For a formula. See :func:`spca`.
    rng : None, int or numpy Generator
        Seed of the permutations and of the fit. None is a fixed seed.
    n_jobs : int
        Number of processes; -1 for all processors. The result does not depend on it.
    progress : None, bool or callable
        Whether to show progress. See :func:`spca`.

    Returns
    -------
    GroupComparison
        `p_value`, `p_values` by component, `p_adjusted` by variable and component, `table`, `slopes`, `fit`,
        and `plot()`.

    Raises
    ------
    OptionError
        For fewer than two groups, clusters in several groups, and ``na="em"``.
    TooFewRowsError
        If a group has fewer rows than a component has variables, or fewer than 3 rows or clusters.
    ShapeError
        If `groups` or `clusters` do not match the rows.
    MissingValuesError
        For missing values with ``na="raise"``.

    Notes
    -----
    The statistic of a variable and a component is sum_g (b_g - b)^2 / v_g, with the slope b_g of group g, its
    variance v_g (HC0, or of clusters), and the weighted mean b. Labels of rows centred within groups are
    permuted; because the statistic is studentised, the test is valid asymptotically also if variances and
    sizes of groups differ (Janssen 1997; Chung and Romano 2013). P-values are adjusted by the step-down
    maximum (Westfall and Young 1993). In simulations with 60 to 300 rows a group, tests at .05 rejected .03
    to .06 of the sets of groups with equal slopes; see benchmarks/results/groups.md.

    The test is of the common components: a component that only one small group has may not be among them.

    Examples
    --------
    >>> import spcastat as sp
    >>> wine = sp.datasets.load_wine()
    >>> found = sp.compare_groups(wine, wine.index, k=1, card=4, scale=True, n_draws=99)
    >>> found.table["group"].tolist()
    ['Barolo', 'Grignolino', 'Barbera']
    """
    with listening(progress):
        data, formula = table_and_formula("compare_groups", data_or_formula, data, formula)
        if groups is None or k is None:
            missing = "groups, the group of each row" if groups is None else "k, the number of components"
            raise OptionError(
                f"compare_groups() was given no {missing}: compare_groups(data, groups, k=2, card=5)."
            )
        n_draws = whole_number("n_draws", n_draws, 1, MOST_DRAWS)
        seed, jobs = seed_of(rng), workers(n_jobs)
        if isinstance(na, str) and na in ("em", "pairwise"):
            raise OptionError(
                f"na={na!r} was given to compare_groups(), which permutes complete rows; give na='drop', or "
                "impute the rows first (spca(data, ..., na='em').imputed) and treat p as approximate."
            )
        one_of("na", na, ("raise", "drop"))
        table, of_row = _with_columns(data, {"groups": groups, "clusters": clusters})
        kept = _known(of_row, na)
        reading = Reading(formula, context, None, na, categorical)
        source, names = _read(table, kept, reading, scale)
        assert source.index is not None
        places = source.index.to_numpy()
        group = of_row["groups"][places].remove_unused_categories()
        code = np.asarray(group.codes, dtype=int)
        _require_groups(group)
        unit = None
        if of_row["clusters"] is not None:
            unit = _clusters(of_row["clusters"][places], group)
        Z = pd.DataFrame(_within(source, code, scale), names[places], source.spec.columns)
        how: Any = {"method": method, "objective": objective, "effort": effort, "rng": seed}
        fit = spca(Z, k, card, scale=None if scale is None else False, **how)
        W = fit.loadings.to_numpy()
        _require_rows(group, fit.card)
        _require_variation(Z.to_numpy() @ W, code, group, fit.components)
        found = compare(Z.to_numpy(), W, code, n_draws, unit=unit, seed=seed, n_jobs=jobs)
    categories = pd.Index(group.categories)
    count = None if unit is None else int(unit.max()) + 1
    return GroupComparison(fit, _table(Z.to_numpy(), W, code, fit, categories), found, categories, count)


def _with_columns(data: Any, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the data without the columns that are named, and the values of every option as Categorical."""
    data = read_whole(data)
    if is_sparse(data):
        raise OptionError(
            "A sparse matrix was given to compare_groups(), which centres rows within groups; give a dense "
            "table, such as X.toarray()."
        )
    if open_stream(data, Reading()) is not None:
        raise NoRowsError(
            "The rows given to compare_groups() come in chunks, and it permutes rows in memory; give a "
            "sample of them as a data frame."
        )
    if looks_like_covariance(data):
        raise NoRowsError(
            "A covariance matrix was given to compare_groups(), which permutes rows; give the rows of all "
            "groups."
        )
    table = open_table(data)
    frame = pd.DataFrame(table.values, columns=table.columns).set_axis(table.index)
    found: dict[str, Any] = {}
    for option, value in given.items():
        values = _named(frame, value, option, table.named) if isinstance(value, str) else value
        found[option] = None if value is None else _values(values, frame.index, option)
    named = [value for value in given.values() if isinstance(value, str) and table.named]
    return frame.drop(columns=[name for name in named if name in frame.columns]), found


def _named(frame: pd.DataFrame, name: str, option: str, has_names: bool) -> Any:
    """Return the values of a column, or the row labels if these have the name."""
    if has_names and name in frame.columns:
        return frame[name].array
    if name == frame.index.name:
        return frame.index
    raise OptionError(
        f"{option}={shown(name)} is not a column of the data; give a column, or the values themselves, one "
        f"for each row.{nearest(name, map(str, frame.columns))}"
    )


def _values(values: Any, index: pd.Index, option: str) -> pd.Categorical:
    """Return the values of the rows, in the order of the data; their categories in their order."""
    if isinstance(values, pd.Series):
        values = aligned(values, index, option, "rows", error=ShapeError).array
    if isinstance(values, pd.Index):
        values = values.array
    if not isinstance(values, pd.api.extensions.ExtensionArray):
        values = elements(values, len(index) + 1)
    if len(values) != len(index):
        raise ShapeError(
            f"{option} has {plural(len(values), 'value')} for {plural(len(index), 'row')}; give one each."
        )
    if isinstance(values, pd.Categorical):
        return values
    return pd.Categorical(values, categories=pd.unique(pd.Series(values).dropna()))


def _known(of_row: Mapping[str, Any], na: str) -> np.ndarray:
    """Return the rows whose group and cluster are known; raise MissingValuesError if all must be."""
    missing = {name: np.asarray(one.codes < 0) for name, one in of_row.items() if one is not None}
    for name, is_missing in missing.items():
        if na == "raise" and is_missing.any():
            raise MissingValuesError(
                f"{name} has {plural(int(is_missing.sum()), 'missing value')}; give all, or na='drop', which "
                "leaves out such rows."
            )
    return np.flatnonzero(~np.any(list(missing.values()), axis=0))


def _read(frame: pd.DataFrame, kept: np.ndarray, reading: Reading, scale: Any) -> tuple[Source, pd.Index]:
    """Return the rows as read, labelled by their positions in `frame`, and the labels of `frame`."""
    numbered = frame.reset_index(drop=True).iloc[kept]
    if isinstance(scale, str):
        raise OptionError(f"scale={shown(scale)} was given; give True, False, or one number for each column.")
    by = scale if scale is not None and not isinstance(scale, (bool, np.bool_)) else False
    source = open_rows(numbered, reading, True, by, certain=True).source("")
    if source.spec.partial is not None:
        raise OptionError(
            f"formula={shown(reading.formula)} has covariates, and residuals cannot be permuted like rows; "
            "leave out what follows the bar."
        )
    return source, frame.index


def _require_groups(group: pd.Categorical) -> None:
    """Raise OptionError for fewer than two groups, TooFewRowsError for groups of very few rows."""
    if len(group.categories) < 2:
        raise OptionError(
            f"groups has {plural(len(group.categories), 'different value')} ({listed(group.categories)}); "
            "a comparison needs two groups or more."
        )
    sizes = np.bincount(group.codes)
    if sizes.min() < FEWEST:
        small = group.categories[int(sizes.argmin())]
        raise TooFewRowsError(
            f"group {shown(small)} has {plural(int(sizes.min()), 'row')}, and a group needs {FEWEST} at "
            "least; leave it out, or merge it with another."
        )


def _clusters(values: pd.Categorical, group: pd.Categorical) -> np.ndarray:
    """Return the cluster of each row as a number; raise an error unless each lies in one group."""
    values = values.remove_unused_categories()
    unit = np.asarray(values.codes, dtype=int)
    pairs = pd.DataFrame({"unit": unit, "group": group.codes}).drop_duplicates()
    if pairs["unit"].duplicated().any():
        name = values.categories[int(pairs["unit"][pairs["unit"].duplicated()].iloc[0])]
        raise OptionError(
            f"cluster {shown(name)} has rows in more than one group; labels of whole clusters are permuted, "
            "so that each must lie in one group."
        )
    counts = np.bincount(pairs["group"])
    if counts.min() < FEWEST:
        small = group.categories[int(counts.argmin())]
        raise TooFewRowsError(
            f"group {shown(small)} has {plural(int(counts.min()), 'cluster')}, and a group needs {FEWEST} at "
            "least; leave it out, or merge it with another."
        )
    return unit


def _within(source: Source, code: np.ndarray, scale: Any) -> np.ndarray:
    """Return the rows centred within groups and scaled, shape (n, p)."""
    X = np.asarray(source.matrix, dtype=float)
    assert source.standard is not None
    X = X / source.standard.scale
    Z = centred(X, code)
    sd = np.sqrt(np.square(Z).sum(axis=0) / (len(Z) - code.max() - 1))
    still = sd <= CONSTANT * np.abs(X).max(axis=0)
    if still.any():
        raise ConstantColumnError(
            f"{listed(source.spec.columns[still])} does not vary within any group; leave such columns out "
            "(that of the groups is left out if groups= is its name)."
        )
    return np.asarray(Z / sd) if isinstance(scale, (bool, np.bool_)) and scale else Z


def _require_rows(group: pd.Categorical, card: pd.Series) -> None:
    """Raise TooFewRowsError if a group has fewer rows than a component has variables."""
    sizes = np.bincount(group.codes)
    if sizes.min() < card.max():
        small, name = group.categories[int(sizes.argmin())], card.index[int(card.to_numpy().argmax())]
        raise TooFewRowsError(
            f"group {shown(small)} has {plural(int(sizes.min()), 'row')}, and {name} has "
            f"{plural(int(card.max()), 'variable')}; leave the group out, or give a smaller card."
        )


def _require_variation(T: np.ndarray, code: np.ndarray, group: pd.Categorical, names: pd.Index) -> None:
    """Raise DataError if a component does not vary in a group."""
    squares = np.zeros((len(group.categories), T.shape[1]))
    np.add.at(squares, code, T**2)
    still = squares <= (CONSTANT**2) * squares.max(axis=0)
    if still.any():
        g, j = (int(place[0]) for place in np.nonzero(still))
        raise DataError(
            f"{names[j]} does not vary in group {shown(group.categories[g])}, so that it has no slopes "
            "there; leave the group out."
        )


def _table(Z: np.ndarray, W: np.ndarray, code: np.ndarray, fit: Any, categories: pd.Index) -> pd.DataFrame:
    sizes = np.bincount(code)
    rows = [
        (group, component, int(size), *numbers)
        for group, size, own in zip(categories, sizes, own_directions(Z, W, code), strict=True)
        for component, numbers in zip(fit.components, own, strict=True)
    ]
    return pd.DataFrame(rows, columns=["group", "component", "rows", "variance", "congruence", "kept"])
