"""Comparison of the components of groups of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Unpack, overload

import numpy as np
import pandas as pd

from spcastat import hints
from spcastat.api import spca
from spcastat.arguments import (
    MOST_PERMUTATIONS,
    explained,
    listed,
    one_of,
    plural,
    seed_of,
    shown,
    whole_number,
)
from spcastat.assess.permutation import centred, compare, own_directions
from spcastat.errors import (
    ConstantColumnError,
    DataError,
    MissingValuesError,
    NoRowsError,
    OptionError,
    TooFewRowsError,
)
from spcastat.inputs.constructors import (
    divided_options,
    given_of,
    rows_of,
    table_and_formula,
    with_shared_entries,
)
from spcastat.inputs.data import Data
from spcastat.inputs.opening import source_of
from spcastat.inputs.row_data import ROW_OPTIONS, RowData
from spcastat.inputs.row_groups import content_keys, run_numbers, sums_of_keys
from spcastat.linalg.accumulate import is_sparse
from spcastat.linalg.standardisation import CONSTANT
from spcastat.progress import listening, workers
from spcastat.reading import frames
from spcastat.reading.design import label_numbers, take_labels
from spcastat.reading.read import looks_like_covariance, refuse_covariance
from spcastat.results.group_comparison import GroupComparison

__all__ = ["compare_groups"]

#: Smallest number of rows, and of clusters, in a group; with fewer, variances of slopes are meaningless.
MIN_GROUPED_ROWS = 3


@overload
def compare_groups(
    data: hints.Table,
    groups: hints.ByRow,
    k: hints.Whole,
    card: hints.Card | None = None,
    *,
    formula: str | None = None,
    **options: Unpack[hints.GroupKeywords],
) -> GroupComparison: ...
@overload
def compare_groups(
    formula: str,
    /,
    groups: hints.ByRow,
    k: hints.Whole,
    card: hints.Card | None = None,
    *,
    data: hints.Table,
    **options: Unpack[hints.GroupKeywords],
) -> GroupComparison: ...
@explained
@with_shared_entries
def compare_groups(  # pyright: ignore[reportInconsistentOverload]  # data= is a keyword
    data_or_formula: Any = None,
    /,
    groups: hints.ByRow | None = None,
    k: hints.Whole | None = None,
    card: hints.Card | None = None,
    *,
    data: Any = None,
    n_draws: hints.Whole = 999,
    formula: str | None = None,
    scale: bool | hints.Vector | None = None,
    na: Literal["raise", "drop"] = "raise",
    clusters: hints.ByRow | None = None,
    method: hints.MethodName | None = None,
    objective: hints.Objective | None = None,
    effort: hints.Effort | None = None,
    categorical: Literal["refuse", "dummy"] = "refuse",
    context: Mapping[str, Any] | None = None,
    codes: bool = False,
    rng: hints.Rng = None,
    n_jobs: int = 1,
    progress: hints.Progress = None,
) -> GroupComparison:
    """Test whether the components of groups of rows are the same, and name the variables that differ.

    Common components are fitted to the covariances within groups. For each group, variable and component the
    slope of the variable on the score is computed, cov(x, t) / var(t), and equality of slopes is tested by
    permutation. Groups with equal slopes are treated as equal, even if their sizes, means or variances
    differ.

    Parameters
    ----------
    data : DataFrame, array, polars or pyarrow table of shape (n, p)
        Rows in memory, or the result of :func:`rows`. The first positional argument, or ``data=``.
    groups : Series, Categorical, array of length n, or str
        The group of each row, or the name of a column of the data, which is then not a variable, or of the
        index of the rows. A Series is matched by its labels.
    k : int
        Number of components.
    card : int, sequence of k ints, or mapping, optional
        Number of nonzero loadings, as for :func:`spca`; by default the smallest number found for which the
        components explain .9 of the variance that PCA explains.
    n_draws : int
        Number of permutations. The smallest p-value is 1 / (n_draws + 1).
    formula : str, optional
        The variables, as in ``"~ a + log(b)"``; covariates are refused. See :func:`rows`.
    scale : bool or array-like of shape (p,), optional
        Whether to divide columns by their standard deviations within groups; not by default.
    na : {"raise", "drop"}
        Whether missing values, including those in `groups` and `clusters`, raise an error, or rows with
        missing values are left out.
    clusters : Series, array of length n, or str, optional
        Rows that are not independent, such as the pupils of a school: labels of whole clusters are permuted,
        and variances are computed from clusters. Each cluster belongs to one group.
    method, objective, effort
        How the common components are fitted. See :func:`spca`.
    categorical, context, codes
        As for :func:`rows`.
    rng : None, int or numpy Generator
        Seed of the permutations and of the fit. None uses a fixed seed.
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
        For fewer than two groups, for a cluster in several groups, and for ``na="em"``.
    TooFewRowsError
        If a group has fewer rows than a component has variables, or fewer than 3 rows or clusters.
    RowGroupsError
        If `groups` or `clusters` do not match the rows, or, with ``na="raise"``, if a label is missing.
    MissingValuesError
        For missing values with ``na="raise"``.

    Notes
    -----
    The statistic of a variable and a component is sum_g (b_g - b)^2 / v_g, with the slope b_g of group
    g, its variance v_g (HC0, or cluster-robust), and the weighted mean b. Labels of rows centred within
    groups are permuted; because the statistic is studentised, the test is asymptotically valid even if
    variances and sizes of groups differ (Janssen 1997; Chung and Romano 2013). P-values are adjusted by the
    step-down maximum (Westfall and Young 1993). In simulations with 60 to 300 rows in each group, tests at
    level .05 rejected equal slopes in .03 to .06 of the data sets in which slopes were equal; see
    benchmarks/results/groups.md.

    A variable that is a multiple of the scores has the same slope in every group by definition, and no
    p-value. A variable that does not vary in a group has neither a slope nor a p-value there. The test
    concerns only the common components, among which a component that occurs only in one small group may be
    missing.

    Examples
    --------
    >>> import spcastat as sp
    >>> wine = sp.datasets.load_wine()
    >>> found = sp.compare_groups(wine, wine.index, k=1, card=4, scale=True, n_draws=99)
    >>> found.table["group"].tolist()
    ['Barbera', 'Barolo', 'Grignolino']
    """
    data_options, _ = divided_options(dict(locals()), ROW_OPTIONS)
    with listening(progress):
        data, data_options["formula"] = table_and_formula("compare_groups", data_or_formula, data, formula)
        if groups is None or k is None:
            missing = "groups, the group of each row" if groups is None else "k, the number of components"
            raise OptionError(
                f"compare_groups() was given no {missing}: compare_groups(data, groups, k=2, card=5)."
            )
        n_draws = whole_number("n_draws", n_draws, 1, MOST_PERMUTATIONS)
        seed, jobs = seed_of(rng), workers(n_jobs)
        rows = _GroupedRows.read(groups, *_table_and_options(data, data_options))
        group, code, X = rows.group, rows.code, rows.Z.to_numpy()
        method_options: Any = {"method": method, "objective": objective, "effort": effort, "rng": seed}
        fit = spca(rows.Z, k, card, scale=rows.scale_of_fit, **method_options)
        W = fit.loadings.to_numpy()
        _require_rows(group, fit.card)
        _require_variation(X @ W, code, group, fit.components)
        order, unit = rows.order_by_content()
        comparison = compare(
            X[order],
            W,
            code[order],
            n_draws,
            unit=unit,
            still=rows.still,
            seed=seed,
            n_jobs=jobs,
        )
    title = groups if isinstance(groups, str) else getattr(groups, "name", None)
    categories = pd.Index(group.categories, name=title)
    count = None if unit is None else int(unit.max()) + 1
    serial = None if unit is not None or fit._source is None else fit._source.serial_correlation()
    return GroupComparison(fit, _table(X, W, code, fit, categories), comparison, categories, count, serial)


# --- the rows ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _GroupedRows:
    """Complete rows with their groups.

    Attributes
    ----------
    Z : DataFrame of shape (n, p)
        The rows, centred within groups and, if requested, scaled.
    raw : ndarray or scipy.sparse array of shape (n, p)
        The rows as given.
    group : Categorical of length n
    unit : ndarray of int, shape (n,), or None
        The cluster of each row.
    scale_of_fit : False or None
        The argument ``scale`` of the fit: None, which allows a warning about unequal variances, if the call
        gave no scale, and False otherwise.
    """

    Z: pd.DataFrame
    raw: Any
    group: pd.Categorical
    unit: np.ndarray | None
    scale_of_fit: Literal[False] | None

    @classmethod
    def read(cls, groups: hints.ByRow, data: Any, options: Mapping[str, Any]) -> _GroupedRows:
        """Read rows with the options of the call; clusters, missing values and scale are handled here."""
        na, scale = options.get("na", "raise"), options.get("scale")
        if isinstance(na, str) and na in ("em", "pairwise"):
            raise OptionError(
                f"na={na!r} was given to compare_groups(), which permutes complete rows; give na='drop', or "
                "impute the rows first (spca(data, ..., na='em').imputed) and treat p as approximate."
            )
        one_of("na", na, ("raise", "drop"))
        table = _table_of(data)
        names = table.index
        table, labels = take_labels(table, groups, "groups", in_order=True)
        table, units = take_labels(table, options.get("clusters"), "clusters")
        assert labels is not None
        source = _read(table, _labelled_rows({"groups": labels, "clusters": units}, na), options)
        places = source.index.to_numpy()
        group = _whole_numbers(labels[places].remove_unused_categories())
        _require_groups(group)
        unit = None if units is None else _clusters(units[places], group)
        Z = _standardised(source, np.asarray(group.codes, dtype=int), scale)
        frame = pd.DataFrame(Z, names[places], source.spec.columns)
        return cls(frame, source.matrix, group, unit, None if scale is None else False)

    @property
    def code(self) -> np.ndarray:
        """The group of each row as a number, shape (n,)."""
        return np.asarray(self.group.codes, dtype=int)

    @property
    def still(self) -> np.ndarray:
        """Whether each variable is constant in each group, shape (G, p)."""
        rows = self.raw.toarray() if is_sparse(self.raw) else np.asarray(self.raw, dtype=float)
        is_constant = np.empty((len(self.group.categories), rows.shape[1]), dtype=bool)
        for number, marks in enumerate(is_constant):
            members = rows[self.code == number]
            marks[:] = np.ptp(members, axis=0) <= CONSTANT * np.abs(members).max(axis=0)
        return is_constant

    def order_by_content(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return an order of the rows that depends only on their values, and their clusters in this order.

        The result, and therefore the permutations, do not depend on the given order of the rows or on labels.
        """
        keys = content_keys(self.raw)
        group_keys = sums_of_keys(keys, self.code)[self.code]
        if self.unit is None:
            return np.lexsort((group_keys, keys)), None
        order = np.lexsort((keys, self.unit, sums_of_keys(keys, self.unit)[self.unit], group_keys))
        return order, run_numbers(self.unit[order])


def _table_and_options(data: Any, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the table of a call and the options that describe it; a `Data` value contains both."""
    if not isinstance(data, Data):
        return data, given_of(**options)
    value = rows_of("compare_groups", data, options)
    rows = value.rows("compare_groups()")
    foreign = [name for name in rows.options if name not in options]
    if foreign:
        raise OptionError(
            f"Rows with {' and '.join(f'{name}=' for name in foreign)} were given to compare_groups(), which "
            f"has no such option; give data.changed({', '.join(f'{name}=None' for name in foreign)}) in "
            "their place."
        )
    return rows.table, dict(rows.options)


def _table_of(data: Any) -> frames.InputTable:
    """Return dense rows in memory as a table."""
    source = source_of(data)
    if is_sparse(source.data):
        raise OptionError(
            "A sparse matrix was given to compare_groups(), which centres rows within groups; give a dense "
            "table, such as X.toarray()."
        )
    if not source.in_memory:
        raise NoRowsError(
            "The rows given to compare_groups() come in chunks, but it permutes rows in memory; give a "
            "sample of the rows as a data frame."
        )
    if looks_like_covariance(source.data):
        raise NoRowsError(
            "A covariance matrix was given to compare_groups(), which permutes rows; give the rows of all "
            "groups."
        )
    advice = "compare_groups() permutes rows; give the rows of all groups"
    refuse_covariance(source.data, bool(source.files), advice)
    return frames.open_table(source.data)


def _labelled_rows(of_row: Mapping[str, pd.Categorical | None], na: str) -> np.ndarray:
    """Return the positions of rows with known labels; raise RowGroupsError if `na` requires all labels."""
    labels_by_option = {option: labels for option, labels in of_row.items() if labels is not None}
    if na == "raise":
        for option, labels in labels_by_option.items():
            label_numbers(labels, option)
    return np.flatnonzero(np.all([labels.codes >= 0 for labels in labels_by_option.values()], axis=0))


def _read(table: frames.InputTable, row_places: np.ndarray, options: Mapping[str, Any]) -> RowData:
    """Return the rows at the positions `row_places`, which become their labels."""
    scale, formula = options.get("scale"), options.get("formula")
    if isinstance(scale, str):
        raise OptionError(f"scale={shown(scale)} was given; give True, False, or one number for each column.")
    by = scale if scale is not None and not isinstance(scale, (bool, np.bool_)) else False
    numbered = pd.DataFrame(table.values, columns=table.columns).reset_index(drop=True).iloc[row_places]
    numbered.attrs = getattr(table.values, "attrs", {})  # value labels of files
    try:
        data_options = {name: value for name, value in options.items() if name not in ("clusters", "scale")}
        source = RowData.read(numbered, {**data_options, "scale": by})
        source.require_moments()
    except MissingValuesError as error:  # its message recommends na='em'
        drops = "give na='drop', which leaves out incomplete rows, or "
        drop = drops if error.has_complete_rows else ""
        raise MissingValuesError(
            "The variables have missing values, and compare_groups() permutes complete rows; "
            f"{drop}leave out the columns with most missing values."
        ) from error
    if source.spec.partial is not None:
        raise OptionError(
            f"formula={shown(formula)} has covariates, but residuals cannot be permuted like rows; leave out "
            "the bar and the terms after it."
        )
    return source


def _whole_numbers(labels: pd.Categorical) -> pd.Categorical:
    """Return labels with 1.0, as in a column of floats with missing values, changed to 1."""
    if not pd.api.types.is_float_dtype(labels.categories):
        return labels
    numbers = labels.categories.to_numpy(dtype=float)
    if not (np.abs(numbers) < 2**53).all() or (numbers % 1 != 0).any():
        return labels
    return labels.rename_categories(int)


def _label(labels: pd.Categorical, number: Any) -> str:
    """Return the label with a given code as text for messages."""
    return shown(labels.categories.tolist()[int(number)])


def _require_groups(group: pd.Categorical) -> None:
    """Raise OptionError for fewer than two groups, TooFewRowsError for groups of very few rows."""
    if len(group.categories) < 2:
        raise OptionError(
            f"groups has {plural(len(group.categories), 'different value')} "
            f"({listed(group.categories.tolist())}); a comparison needs two groups or more."
        )
    _require_several(np.bincount(group.codes), group, "row")


def _require_several(counts: np.ndarray, group: pd.Categorical, unit: str) -> None:
    """Raise TooFewRowsError if a group has very few rows or clusters."""
    if counts.min() < MIN_GROUPED_ROWS:
        raise TooFewRowsError(
            f"group {_label(group, counts.argmin())} has {plural(int(counts.min()), unit)}, and a group "
            f"needs at least {MIN_GROUPED_ROWS}; leave it out, or merge it with another."
        )


def _clusters(values: pd.Categorical, group: pd.Categorical) -> np.ndarray:
    """Return the cluster of each row as a number; raise an error unless each cluster lies in one group."""
    values = values.remove_unused_categories()
    unit = np.asarray(values.codes, dtype=int)
    pairs = pd.DataFrame({"unit": unit, "group": group.codes}).drop_duplicates()
    twice = pairs["unit"][pairs["unit"].duplicated()]
    if len(twice):
        raise OptionError(
            f"cluster {_label(values, twice.iloc[0])} has rows in more than one group; labels of whole "
            "clusters are permuted, so each must lie in one group."
        )
    _require_several(np.bincount(pairs["group"]), group, "cluster")
    return unit


def _standardised(source: RowData, code: np.ndarray, scale: Any) -> np.ndarray:
    """Return the rows centred within groups and scaled, shape (n, p)."""
    rows = source.matrix  # a data frame of sparse columns is read as a sparse matrix
    X = rows.toarray() if is_sparse(rows) else np.asarray(rows, dtype=float)
    X = X / source.standard.scale
    Z = centred(X, code)
    sd = np.sqrt(np.square(Z).sum(axis=0) / (len(Z) - code.max() - 1))
    still = sd <= CONSTANT * np.abs(X).max(axis=0)
    if still.any():
        vary = "do" if still.sum() > 1 else "does"
        raise ConstantColumnError(
            f"{listed(source.spec.columns[still])} {vary} not vary within any group; leave such columns out "
            "(a column named by groups= is already left out)."
        )
    return np.asarray(Z / sd) if isinstance(scale, (bool, np.bool_)) and scale else Z


def _require_rows(group: pd.Categorical, card: pd.Series) -> None:
    """Raise TooFewRowsError if a group has fewer rows than a component has variables."""
    sizes = np.bincount(group.codes)
    if sizes.min() < card.max():
        name = card.index[int(card.to_numpy().argmax())]
        raise TooFewRowsError(
            f"group {_label(group, sizes.argmin())} has {plural(int(sizes.min()), 'row')}, and {name} has "
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
            f"{names[j]} does not vary in group {_label(group, g)}, so it has no slopes in this group; leave "
            "the group out."
        )


def _table(Z: np.ndarray, W: np.ndarray, code: np.ndarray, fit: Any, categories: pd.Index) -> pd.DataFrame:
    sizes = np.bincount(code)
    rows = [
        (group, component, int(size), *numbers)
        for group, size, directions in zip(categories, sizes, own_directions(Z, W, code), strict=True)
        for component, numbers in zip(fit.components, directions, strict=True)
    ]
    return pd.DataFrame(rows, columns=["group", "component", "rows", "variance", "congruence", "kept"])
