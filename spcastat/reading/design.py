"""Results of reading data: options, data, the `Spec` for reading new data, and the design of the rows.

The design describes rows that are not independent: clusters, strata, blocks in time, and sampling weights.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter
from typing import Annotated, Any

import numpy as np
import pandas as pd

from spcastat.arguments import (
    MISSING_TREATMENTS,
    flag,
    is_whole,
    listed,
    nearest,
    one_of,
    plural,
    shown,
    whole_number,
)
from spcastat.errors import ConstantColumnError, OptionError, RowGroupsError
from spcastat.linalg.regression import Regression
from spcastat.reading.checks import aligned, rows_to_keep
from spcastat.reading.frames import InputTable, take_column

#: Kinds of weights.
WEIGHTS = ("frequency", "sampling")
#: With fewer clusters than this, tests reject too often: the table "clusters" of benchmarks/results/trust.md.
FEW_CLUSTERS = 20
#: So they do if the largest cluster has more rows than this multiple of the mean: 19 % for a ratio of 2.9 and
#: 20 clusters, but the nominal 5 % for a ratio of 1.5 (the same table).
UNEQUAL_CLUSTERS = 2.0


@dataclass(frozen=True, eq=False)
class RowDesign:
    """The design of the rows: which rows belong together, and how they were sampled.

    Attributes
    ----------
    clusters : ndarray of int, shape (n,), or None
        The number of the cluster of each row; clusters are independent of each other.
    strata : ndarray of int, shape (n,), or None
        The number of the stratum of each row.
    block_length : int, "auto" or None
        If given, rows are in time order, and dependent over about this many rows.
    sampling : bool
        Whether weights are sampling weights of a survey, rather than numbers of equal rows.
    mark : float or None
        For a fit from a file: the `order_mark` of the rows in the order of the labels.
    """

    clusters: Annotated[np.ndarray, "i n"] | None = None
    strata: Annotated[np.ndarray, "i n"] | None = None
    block_length: int | str | None = None
    sampling: bool = False
    mark: float | None = None

    def rows(self, keep: np.ndarray | None) -> RowDesign:
        """Return the design of the rows in a mask; None stands for all rows."""
        if keep is None:
            return self
        parts = (None if labels is None else labels[keep] for labels in (self.clusters, self.strata))
        return replace(self, clusters=next(parts), strata=next(parts))

    @property
    def as_record(self) -> dict[str, Any]:
        """The design as plain values, such as the number of clusters and the size of the smallest one."""
        record: dict[str, Any] = {"block_length": self.block_length, "sampling": self.sampling}
        if self.clusters is not None:
            sizes = np.unique(self.clusters, return_counts=True)[1]
            record |= {"clusters": len(sizes), "smallest": int(sizes.min()), "largest": int(sizes.max())}
        if self.strata is not None:
            record["strata"] = len(np.unique(self.strata))
        return record

    def require(self, n: int) -> None:
        """Raise RowGroupsError if n rows have too few clusters, or blocks, to draw from.

        Raises
        ------
        RowGroupsError
            For only one cluster, for a cluster in several strata, for a stratum with one cluster (or row),
            and for blocks longer than half of the rows.
        """
        c, h = self.clusters, self.strata
        if is_whole(self.block_length) and 2 * self.block_length > n:
            raise RowGroupsError(
                f"block_length={shown(self.block_length)} was given for {plural(n, 'row')}; a block may "
                f"contain at most half of the rows, {n // 2}."
            )
        if c is not None and len(np.unique(c)) < 2:
            raise RowGroupsError(
                "clusters has only one cluster, but whole clusters are drawn, so two or more are needed. "
                "Leave clusters out if the rows are independent."
            )
        if h is None:
            return
        unit, of = ("row", h) if c is None else ("cluster", h[np.unique(c, return_index=True)[1]])
        if c is not None and (of[np.unique(c, return_inverse=True)[1]] != h).any():
            raise RowGroupsError(
                "A cluster has rows in several strata; every cluster belongs to one stratum."
            )
        counts = np.unique(of, return_counts=True)[1]
        if (counts < 2).any():
            raise RowGroupsError(
                f"strata has {plural(int((counts < 2).sum()), 'stratum', 'strata')} with one {unit}, whose "
                f"variance cannot be estimated; join each with another, so it has two {unit}s or more."
            )


def order_mark(scores: np.ndarray) -> float:
    """Return the mean product of scores, shape (n,), and fixed numbers, which depends on the order."""
    size = max(float(np.abs(scores).max()), np.finfo(float).tiny)
    return float(np.random.default_rng(0).standard_normal(len(scores)) @ (scores / size)) / len(scores)


def design_text(record: dict[str, Any] | None) -> str:
    """Return the design in words, such as "30 clusters of 4 to 11 rows in 3 strata"; "" without one."""
    if not record:
        return ""
    parts = []
    if record.get("clusters"):
        low, high = record["smallest"], record["largest"]
        size = plural(high, "row") if low == high else f"{low} to {high} rows"
        parts.append(f"{record['clusters']} clusters of {size}")
    elif record.get("block_length"):
        parts.append(f"blocks of {plural(record['block_length'], 'row')} in their order")
    elif record.get("strata"):
        parts.append("rows")
    if record.get("strata"):
        parts.append(f"in {plural(record['strata'], 'stratum', 'strata')}")
    text = " ".join(parts)
    if record.get("sampling"):
        text += f"{', ' if text else 'rows '}with sampling weights"
    return text


@dataclass(frozen=True)
class Remark:
    """A remark on rows that may not be independent; an empty remark is false in conditions.

    Attributes
    ----------
    text : str
    brief : str
        A shorter remark for prints with little room, if there is one; it also names the remedy.
    doubtful : bool
        Whether the rows are probably not independent, so that the remark is a warning.
    """

    text: str = ""
    brief: str = ""
    doubtful: bool = False

    def __bool__(self) -> bool:
        return bool(self.text)


def about_clusters(record: dict[str, Any] | None, rows: int | None) -> Remark:
    """Return a warning for few clusters, or clusters of very unequal size.

    Parameters
    ----------
    record : dict, or None
        From `RowDesign.as_record`.
    rows : int or None
        The number of rows.
    """
    count = (record or {}).get("clusters")
    if not record or not count:
        return Remark()
    ratio = record["largest"] * count / rows if rows else 1.0
    if count < FEW_CLUSTERS:
        reason = f"With {count} clusters, fewer than {FEW_CLUSTERS},"
    elif ratio > UNEQUAL_CLUSTERS:
        reason = f"As the largest cluster has {ratio:.1f} times the mean size of clusters,"
    else:
        return Remark()
    return Remark(
        f"{reason} tests are liberal, so they find components in noise more often than their level.",
        f"{reason} tests are liberal.",
        doubtful=True,
    )


# --- reading --------------------------------------------------------------------------------------


def require_options(clusters: Any, strata: Any, block_length: Any, weights_are: Any, weights: Any) -> None:
    """Raise OptionError for arguments that contradict each other, or have values that are not allowed."""
    one_of("weights_are", weights_are, WEIGHTS)
    if weights_are == "sampling" and weights is None:
        raise OptionError("weights_are='sampling' was given without weights; give weights=.")
    if block_length is None:
        return
    if clusters is not None or strata is not None:
        option = "clusters" if clusters is not None else "strata"
        raise OptionError(
            f"block_length and {option} were given; blocks are for rows in time order, {option} for "
            "groups of rows in any order. Give one of them."
        )
    is_auto = isinstance(block_length, str) and block_length == "auto"
    if not is_auto and not (is_whole(block_length) and block_length >= 1):
        raise OptionError(
            f"block_length={shown(block_length)} was given; it is a number of rows, 1 or more, or 'auto'."
        )
    if weights is not None:
        raise OptionError(
            "block_length was given with weights, but blocks consist of successive rows without weights. "
            "Leave one of the two out."
        )


def take_labels(
    table: InputTable, values: Any, option: str, used: bool = False, in_order: bool = False
) -> tuple[InputTable, pd.Categorical | None]:
    """Return a table without the column that `values` names, and the label of each row.

    Parameters
    ----------
    table : InputTable
    values : str, array-like of shape (n,), or None
        The name of a column or of the row labels, or labels; a Series is matched by index if the rows are
        labelled.
    option : str
        The name of the argument, for messages.
    used : bool
        Whether the column stays in the table, because a formula uses it.
    in_order : bool
        Whether labels without categories are sorted, if possible, as in plots.

    Returns
    -------
    table : InputTable
    labels : Categorical of length n, or None
        Categories keep their order; other labels are sorted or in the order of the rows. Missing labels have
        the code -1.

    Raises
    ------
    RowGroupsError
        If there is no such column, or labels do not match the rows.
    ShapeError
        If there is no other column.
    """
    if values is None:
        return table, None
    if not isinstance(values, str):
        if isinstance(values, pd.Series) and table.labelled:
            values = aligned(values, table.index, option, "rows", error=RowGroupsError)
        return table, _labels(values, option, len(table.index), in_order)
    labels = list(table.columns)
    is_frame = isinstance(table.values, pd.DataFrame)
    if values in table.index.names and not (is_frame and values in labels):
        return table, _labels(table.index.get_level_values(values), option, len(table.index), in_order)
    if not is_frame:
        raise RowGroupsError(
            f"{option}={shown(values)} was given, the name of a column, and the columns of these data "
            "have no names; give one label for each row, or a data frame with that column."
        )
    table, column = take_column(table, values, option, RowGroupsError, used)
    return table, _labels(column, option, len(table.index), in_order)


def _labels(values: Any, option: str, n: int, in_order: bool) -> pd.Categorical:
    """Return the labels of n rows; labels without categories are sorted if `in_order`."""
    try:
        is_plain = isinstance(values, (list, tuple, pd.Series, pd.Index, pd.Categorical))
        array = values if is_plain else np.asarray(values)
        # pandas has no type for bytes of fixed length, which HDF5 files contain
        is_bytes = getattr(getattr(array, "dtype", None), "kind", "") == "S"
        labels = pd.Series(np.asarray(array).astype(object) if is_bytes else array)
        categories = pd.unique(labels.dropna())
    except Exception as error:  # a user's class, or an array with several columns
        raise RowGroupsError(
            f"{option} of type {type(values).__name__} was given; give the name of a column, or one label "
            "for each row."
        ) from error
    if len(labels) != n:
        raise RowGroupsError(
            f"{option} has {plural(len(labels), 'label')} for {plural(n, 'row')}; one is needed for each."
        )
    ordered = isinstance(labels.dtype, pd.CategoricalDtype)  # in the user's order
    categorical: Any = (
        pd.Categorical(labels) if ordered or in_order else pd.Categorical(labels, categories=categories)
    )
    return categorical


def label_numbers(labels: pd.Categorical | None, option: str) -> np.ndarray | None:
    """Return numbers 0, 1, ... for labels, in the order in which they occur.

    Raises
    ------
    RowGroupsError
        If a label is missing.
    """
    if labels is None:
        return None
    missing = int((labels.codes < 0).sum())
    if missing:
        raise RowGroupsError(
            f"{option} has {plural(missing, 'missing label')}; every row needs one. Leave these rows out, or "
            "give each a label."
        )
    return np.asarray(pd.factorize(labels.codes)[0])


@dataclass(frozen=True, eq=False)
class ReadOptions:
    """Options for reading data, as given in a call; they also apply to the chunks of a stream.

    Attributes
    ----------
    formula : str or None
        One-sided, such as ``"~ a + b + log(c)"`` or ``"~ . - id"``, for data with column names. The
        intercept is left out and factors are coded in full. Terms after a bar, as in
        ``"~ . | age + C(sex)"``, are covariates: the columns are then the residuals of regression on them.
        **Formulas run code**: use none from untrusted sources. Transforms such as ``scale`` learn from the
        rows that are not dropped. With weights, ``center``, ``scale`` and ``standardize`` count a row of
        weight 2 twice, and other transforms that learn are refused. Terms that depend on other rows without a
        stored state, such as ranks, are refused.
    context : Mapping or None
        Names that the formula may use in addition to the columns.
    weights : str, array-like of shape (n,), or None
        Frequencies: a weight of 2 counts the row twice, and variances are divided by ``sum(w) - 1``. Text is
        the name of a column, which is then not among the variables. A Series is aligned by label; with a
        stream, numbers are matched by position over all rows. Rows of weight 0 stay in the table.
    na : {"raise", "drop", "em", "pairwise"}
        What to do with rows that have missing values in the columns used. The last two keep them, with NaN in
        the matrix, and need rows in memory.
    k_em : int or None
        With "em": the rank of the model of missing values; by default the number of components.
    clusters, strata : str, array-like of shape (n,), or None
        Labels of the rows that belong together, and of the strata of the sample. Text is the name of a
        column, which is a variable only if a formula names it.
    block_length : int, "auto" or None
        If given, rows are in time order and dependent over about this many rows.
    weights_are : {"frequency", "sampling"}
    categorical : {"refuse", "dummy"}
        Whether a formula may use text and categories, as one 0/1 column for each level.
    codes : bool
        Whether columns of categories are read as numbers; see `spcastat.reading.value_labels.codes_of`.

    Raises
    ------
    OptionError
        For an unknown value, or for an option that needs a formula.
    """

    formula: Any = None
    context: Mapping[str, Any] | None = None
    weights: Any = None
    na: Any = "raise"
    categorical: Any = "refuse"
    k_em: Any = None
    clusters: Any = None
    strata: Any = None
    block_length: Any = None
    weights_are: Any = "frequency"
    codes: Any = False

    def __post_init__(self) -> None:
        one_of("na", self.na, MISSING_TREATMENTS)
        require_options(self.clusters, self.strata, self.block_length, self.weights_are, self.weights)
        if is_whole(self.block_length):
            object.__setattr__(self, "block_length", int(self.block_length))
        if self.k_em is not None:
            object.__setattr__(self, "k_em", whole_number("k_em", self.k_em, 1))
            if self.na != "em":
                raise OptionError(
                    f"k_em={self.k_em} was given with na={self.na!r}; it is the rank of the model of na='em'."
                )
        one_of("categorical", self.categorical, ("refuse", "dummy"))
        object.__setattr__(self, "codes", flag("codes", self.codes))
        if self.context is not None and not isinstance(self.context, Mapping):
            raise OptionError(
                f"context of type {type(self.context).__name__} was given; give a mapping such as {{'f': f}}."
            )
        if self.formula is None and self.categorical == "dummy":
            raise OptionError(
                "categorical='dummy' was given without a formula; formula='~ .' takes all columns."
            )
        if self.formula is None and self.context:
            raise OptionError("context was given without a formula; leave it out, or give a formula.")

    @property
    def grouping(self) -> list[str]:
        """The names of the given options that describe how rows depend on each other."""
        options = [name for name in ("clusters", "strata", "block_length") if getattr(self, name) is not None]
        return [*options, *["weights_are"] * (self.weights_are != "frequency")]

    def on_other_rows(self, **changes: Any) -> ReadOptions:
        """Return the options for a subset of the rows, without labels that were given for all rows."""
        designs = {name: getattr(self, name) for name in ("clusters", "strata")}
        by_column = {name: value if isinstance(value, str) else None for name, value in designs.items()}
        return replace(self, **{**by_column, "block_length": None, "weights_are": "frequency", **changes})


#: The defaults: every column is used unchanged, rows have equal weights, and missing values are an error.
DEFAULT_OPTIONS = ReadOptions()


@dataclass(frozen=True, eq=False)
class Spec:
    """How raw data were converted to the columns of a design, and how to convert new data the same way.

    Attributes
    ----------
    kind : {"array", "frame", "formula"}
        Whether columns are matched by position, matched by name, or computed by a formula.
    columns : pandas.Index
        The p labels of the design's columns: the user's, if there are any.
    formula : str or None
        The formula as the user wrote it.
    model_spec : spcastat.reading.formulas.FormulaModel or None
        The terms of the formula with the states of its transforms and factors, for use on new data with the
        names in `context`. None without a formula, and for a formula that only selects columns.
    context : Mapping or None
        The names that the formula uses in addition to the columns.
    inputs : Mapping or None
        The columns that `model_spec` reads -> their levels if they contain text or categories, else None.
    partial : Partial or None
        The covariates that the columns are adjusted for.
    whole : pandas.Index or None
        All columns of the fit, if `columns` are a subset; data without names must have all of them.
    positions : ndarray of int, or None
        The positions of `columns` in `whole`.
    codes : Mapping or None
        The numbers of the categories of columns that were read as numbers: column -> category -> number.
    """

    kind: str
    columns: pd.Index
    formula: str | None = None
    model_spec: Any = None
    context: Mapping[str, Any] | None = None
    inputs: Mapping[Hashable, tuple[Any, ...] | None] | None = None
    partial: Partial | None = None
    whole: pd.Index | None = None
    positions: np.ndarray | None = None
    codes: Mapping[Hashable, Mapping[Any, float]] | None = None

    @property
    def required_columns(self) -> list[Hashable]:
        """The columns of a frame that are read for the variables and the covariates."""
        inputs = list(self.columns if self.inputs is None else self.inputs)
        return (
            inputs
            if self.partial is None
            else list(dict.fromkeys([*inputs, *self.partial.spec.required_columns]))
        )

    @property
    def terms(self) -> dict[str, list[int]] | None:
        """Positions of the columns of each term: term -> positions; None without a formula."""
        if self.model_spec is None or not self.model_spec.widths:
            return None if self.formula is None else {str(name): [j] for j, name in enumerate(self.columns)}
        ends = np.cumsum((0, *self.model_spec.widths)).tolist()
        texts = [":".join(part.text for part in term) for term in self.model_spec.terms]
        return {name: list(range(*pair)) for name, pair in zip(texts, pairwise(ends), strict=True)}

    @property
    def learns(self) -> bool:
        """Whether computing the columns needs values that were learned from the rows of the fit."""
        return bool(self.partial or (self.model_spec and self.model_spec.states))


@dataclass(frozen=True, eq=False)
class Partial:
    """Covariates, and the regression of the variables on them.

    Attributes
    ----------
    spec : Spec
        How raw data are converted to the q columns of the covariates.
    regression : Regression
    """

    spec: Spec
    regression: Regression

    @property
    def names(self) -> list[str]:
        """The terms of the covariates, as written in the formula."""
        if self.spec.model_spec is None:
            return [str(label) for label in self.spec.columns]
        return [":".join(part.text for part in term) for term in self.spec.model_spec.terms]


@dataclass(frozen=True, eq=False)
class Design:
    """A labelled table of real numbers, all of which are finite, except missing values that `na` allows.

    Attributes
    ----------
    matrix : ndarray of shape (n, p), or scipy.sparse CSC array
        Raw values, float64 or float32, neither centred nor scaled. Never written to.
    index : pandas.Index
        The n labels of the rows used.
    spec : Spec
        How the columns were computed.
    weights : ndarray of shape (n,) or None
        Nonnegative weights of the rows used.
    dropped : int
        Number of rows dropped because of missing values.
    shared : bool
        Whether `matrix` may share memory with the caller's data.
    covariates : ndarray of shape (n, q) or None
        The covariates that `matrix` was adjusted for.
    kept : ndarray of bool or None
        Which rows of the data were kept; None if all were.
    rows : RowDesign or None
        The design of the rows used.
    """

    matrix: Any
    index: pd.Index
    spec: Spec
    weights: np.ndarray | None = None
    dropped: int = 0
    shared: bool = False
    covariates: np.ndarray | None = None
    kept: np.ndarray | None = None
    rows: RowDesign | None = None

    def check(self) -> None:
        """Raise MissingValuesError or InfiniteValuesError if a value is not finite."""
        rows_to_keep(self.matrix, self.columns, "raise")

    #: The p labels of the columns.
    columns = property(attrgetter("spec.columns"))


@dataclass(frozen=True, eq=False)
class Covariance:
    """A checked covariance or correlation matrix with its labels.

    Attributes
    ----------
    matrix : ndarray of shape (p, p)
        Symmetric, positive semidefinite up to rounding.
    columns : pandas.Index
        The p labels of the variables.
    mean, scale : ndarray of shape (p,) or None
        Subtracted from new rows by `transform`, which then divides by the scale.
    n_obs : int or None
        The number of rows that the matrix was computed from, if known.
    named : bool
        Whether the labels are the user's own.
    about : Mapping
        Facts about its origin: ``kind``, ``n_obs`` and ``n_pairs_min`` from :func:`spcastat.correlation`. If
        the nearest semidefinite matrix replaced the given one, also the ``smallest`` eigenvalue of the given
        matrix, the Frobenius norm of the change (``moved``), the ``largest`` change of a correlation, and the
        ``pair`` of variables with that change.
    """

    matrix: np.ndarray
    columns: pd.Index
    mean: np.ndarray | None = None
    scale: np.ndarray | None = None
    n_obs: int | None = None
    named: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)


def factor_columns(design: Design) -> dict[str, np.ndarray]:
    """Return the positions of the indicator columns of each factor, by the name of the factor.

    Parameters
    ----------
    design : Design
        Its rows must be dense if it has factors.

    Raises
    ------
    OptionError
        For interactions with a factor, and for contrasts other than one indicator for each level.
    ConstantColumnError
        For a factor with one level, and for levels that occur only in rows of weight zero.
    """
    model = design.spec.model_spec
    if model is None:
        return {}
    labels, positions = [str(label) for label in design.spec.columns], {}
    places_by_term = design.spec.terms or {}
    for term in model.terms:
        parts = [part.text for part in term if part.method != "literal"]
        if not set(parts) & set(model.encodings):
            continue
        name = ":".join(parts)
        places = np.array(places_by_term[":".join(part.text for part in term)], dtype=int)
        X = np.asarray(design.matrix)[:, places]
        measured = ~np.isnan(X).any(axis=1)
        X, weights = X[measured], None if design.weights is None else design.weights[measured]
        if len(parts) > 1 or not (np.isin(X, (0.0, 1.0)).all() and (X.sum(axis=1) == 1.0).all()):
            raise OptionError(
                f"scale='mixed' was given with the term {shown(name)}, whose columns are not one indicator "
                "for each level of one factor. Make a column of the combined levels, or leave the term out."
            )
        shares = np.average(X, axis=0, weights=weights)
        if shares.max() == 1.0:
            raise ConstantColumnError(
                f"Factor {shown(name)} has only one level in the rows with a positive weight. Leave it out."
            )
        if shares.min() == 0.0:
            empty = [labels[j] for j in places[shares == 0.0]]
            raise ConstantColumnError(
                f"Only rows of weight zero have {listed(empty)}. Leave these rows out for scale='mixed'."
            )
        positions[name] = places
    return positions


# --- robust fits ------------------------------------------------------------------------------------


#: Values of the option `robust`, besides False and True.
ROBUST_PARTS = ("cells", "rows")


def checked_robust(robust: Any) -> bool | str:
    """Return the value of the option `robust`: False, True, "cells" or "rows"."""
    if isinstance(robust, (bool, np.bool_)):
        return bool(robust)
    if isinstance(robust, str) and robust in ROBUST_PARTS:
        return robust
    meant = nearest(robust, ROBUST_PARTS) if isinstance(robust, str) else ""
    raise OptionError(
        f"robust={shown(robust)} was given.{meant} It must be True, False, 'cells' (rows are kept) or 'rows' "
        "(cells are not changed)."
    )
