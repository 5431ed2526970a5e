"""Rows that are not independent: clusters, strata, blocks in time, and weights of a sampling design."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import is_whole, listed, nearest, one_of, plural, shown
from spcastat.errors import OptionError, RowGroupsError, ShapeError
from spcastat.reading.checks import aligned, real_array
from spcastat.reading.frames import Table

#: What weights may be.
WEIGHTS = ("frequency", "sampling")
#: With fewer clusters than this, tests reject too often.
FEW_CLUSTERS = 20


@dataclass(frozen=True, eq=False)
class RowDesign:
    """Which rows belong together, and how they were sampled.

    Attributes
    ----------
    clusters : ndarray of int, shape (n,), or None
        The number of the cluster of each row; clusters are independent of each other.
    strata : ndarray of int, shape (n,), or None
        The number of the stratum of each row.
    block_length : int, "auto" or None
        Rows are in the order of time, and dependent over about as many rows.
    sampling : bool
        Whether weights are those of a sampling design, and not numbers of equal rows.
    mark : float or None
        For a fit from a file: the `order_mark` of the rows in the order of the labels.
    """

    clusters: np.ndarray | None = None
    strata: np.ndarray | None = None
    block_length: int | str | None = None
    sampling: bool = False
    mark: float | None = None

    def rows(self, keep: np.ndarray | None) -> RowDesign:
        """Return the design of the rows in a mask; None for all rows."""
        if keep is None:
            return self
        parts = (None if one is None else one[keep] for one in (self.clusters, self.strata))
        return replace(self, clusters=next(parts), strata=next(parts))

    @property
    def as_record(self) -> dict[str, Any]:
        """The numbers of clusters, of rows in them, of strata, and the rest, as plain values."""
        found: dict[str, Any] = {"block_length": self.block_length, "sampling": self.sampling}
        if self.clusters is not None:
            sizes = np.unique(self.clusters, return_counts=True)[1]
            found |= {"clusters": len(sizes), "smallest": int(sizes.min()), "largest": int(sizes.max())}
        if self.strata is not None:
            found["strata"] = len(np.unique(self.strata))
        return found

    def require(self, n: int) -> None:
        """Raise RowGroupsError if n rows have too few clusters, or blocks, to draw from.

        Raises
        ------
        RowGroupsError
            For one cluster only, for a cluster in several strata, for a stratum with one cluster (or row),
            and for blocks longer than half of the rows.
        """
        c, h = self.clusters, self.strata
        if is_whole(self.block_length) and 2 * int(self.block_length) > n:  # type: ignore[arg-type]
            raise RowGroupsError(
                f"block_length={self.block_length} was given for {plural(n, 'row')}; a block has half of the "
                f"rows at most, {n // 2}."
            )
        if c is not None and len(np.unique(c)) < 2:
            raise RowGroupsError(
                "clusters has one cluster only; draws take whole clusters, so two or more are needed. Leave "
                "clusters out if the rows are independent."
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
                f"variance cannot be estimated; join each with another, so that it has two {unit}s or more."
            )


#: Kinds of replicate weights: the multiple of the sum of squared deviations that estimates a variance.
REPLICATES = ("bootstrap", "brr", "jk1")


def replicate_factors(kind: str, scale: Any, R: int) -> np.ndarray | None:
    """Return the factors by which deviations of R replicates become those of bootstrap draws; None for 1.

    Parameters
    ----------
    kind : {"bootstrap", "brr", "jk1"}
        The variance is the sum of squared deviations from the mean over the replicates times 1 / (R - 1), 1 /
        R or (R - 1) / R.
    scale : float, array-like of shape (R,), or None
        Another multiple, or one for each replicate.
    """
    one_of("replicate_type", kind, REPLICATES)
    if scale is None:
        if kind == "bootstrap":
            return None
        return np.full(R, np.sqrt((R - 1.0) / R * (R - 1.0 if kind == "jk1" else 1.0)))
    scales = real_array(scale)
    if scales is None or scales.shape not in ((), (R,)) or not (np.isfinite(scales) & (scales > 0)).all():
        raise RowGroupsError(
            f"replicate_scale={shown(scale)} was given; it is a positive number, or {R} of them, one for "
            "each replicate."
        )
    return np.sqrt(np.broadcast_to(scales.astype(float), (R,)) * (R - 1.0))


def read_replicates(values: Any, index: pd.Index) -> np.ndarray:
    """Return replicate weights of the rows with these labels as an array, shape (n, R).

    Raises
    ------
    RowGroupsError
        If they do not match the rows, or are not finite, nonnegative numbers with two or more rows each.
    """
    if isinstance(values, pd.DataFrame):
        values = aligned(values, index, "replicate_weights", "rows", part=True, error=RowGroupsError)
    found = real_array(values)
    if found is None or found.ndim != 2 or len(found) != len(index) or found.shape[1] < 2:
        shape = "" if found is None else f" of shape {found.shape}"
        raise RowGroupsError(
            f"replicate_weights of type {type(values).__name__}{shape} was given; give numbers of shape "
            f"({len(index)}, R), one column for each of R replicates, 2 or more."
        )
    found = found.astype(float)
    if not np.isfinite(found).all():
        raise RowGroupsError("replicate_weights holds missing or infinite values; all must be finite.")
    if (found < 0).any():
        raise RowGroupsError(
            f"replicate_weights holds {plural(int((found < 0).sum()), 'negative value')}; weights must be 0 "
            "or more."
        )
    if ((found > 0).sum(axis=0) < 2).any():
        raise RowGroupsError("replicate_weights has a column with fewer than two positive weights.")
    return found


def order_mark(scores: np.ndarray) -> float:
    """Return the mean product of scores, shape (n,), with fixed numbers, which changes with their order."""
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


def few_clusters(record: dict[str, Any] | None) -> str:
    """Return a warning for few clusters, "" for enough."""
    count = (record or {}).get("clusters")
    if not count or count >= FEW_CLUSTERS:
        return ""
    return (
        f"With {count} clusters, fewer than {FEW_CLUSTERS}, tests are liberal: they find components in "
        "noise, and intervals are too short, more often than they state."
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
        other = "clusters" if clusters is not None else "strata"
        raise OptionError(
            f"block_length and {other} were given; blocks are for rows in the order of time, {other} for "
            "groups of rows in any order. Give one of them."
        )
    is_auto = isinstance(block_length, str) and block_length == "auto"
    if not is_auto and not (is_whole(block_length) and block_length >= 1):
        raise OptionError(
            f"block_length={shown(block_length)} was given; it is a number of rows, 1 or more, or 'auto'."
        )
    if weights is not None:
        raise OptionError(
            "block_length was given with weights; draws of blocks take rows in their order, each once. Leave "
            "one of them out."
        )


def take_labels(
    table: Table, values: Any, option: str, used: bool = False
) -> tuple[Table, pd.Categorical | None]:
    """Return a table without the column that `values` names, and the label of each row.

    Parameters
    ----------
    table : Table
    values : str, array-like of shape (n,), or None
        The name of a column or of the row labels, or labels; a Series is matched by index if the rows are
        labelled.
    option : str
        The name of the argument, for messages.
    used : bool
        Whether the column stays in the table, as a formula uses it.

    Returns
    -------
    table : Table
    labels : Categorical of length n, or None
        Categories are in their order, or in that of the rows. Missing labels have the code -1.

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
        return table, _labels(values, option, len(table.index))
    labels = list(table.columns)
    is_frame = isinstance(table.values, pd.DataFrame)
    if values == table.index.name and not (is_frame and values in labels):
        return table, _labels(table.index, option, len(table.index))
    if not is_frame:
        raise RowGroupsError(
            f"{option}={shown(values)} was given, the name of a column, and the columns of these data "
            "have no names; give one label for each row, or a data frame with that column."
        )
    if values not in labels:
        raise RowGroupsError(
            f"{option}={shown(values)} was given; the data have no such column; they have "
            f"{listed(labels)}.{nearest(values, labels)} Give the name of a column, or one label for "
            "each row."
        )
    place = labels.index(values)
    column = table.values.iloc[:, place]
    if not used:
        if len(labels) == 1:
            raise ShapeError(f"The data have one column, {option}={shown(values)}, and no variables.")
        left = table.values.drop(columns=table.values.columns[place])
        table = replace(table, values=left, columns=table.columns.delete(place))
    return table, _labels(column, option, len(table.index))


def _labels(values: Any, option: str, n: int) -> pd.Categorical:
    """Return the labels of n rows."""
    try:
        is_plain = isinstance(values, (list, tuple, pd.Series, pd.Index, pd.Categorical))
        labels = pd.Series(values if is_plain else np.asarray(values))
        categories = pd.unique(labels.dropna())
    except Exception as error:  # a user's class, or an array with several columns
        raise RowGroupsError(
            f"{option} of type {type(values).__name__} was given; give the name of a column, or one label "
            "for each row."
        ) from error
    if len(labels) != n:
        raise RowGroupsError(
            f"{option} has {plural(len(labels), 'label')} for {plural(n, 'row')}; one each is needed."
        )
    ordered = isinstance(labels.dtype, pd.CategoricalDtype)  # in the user's order
    found: Any = pd.Categorical(labels) if ordered else pd.Categorical(labels, categories=categories)
    return found


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
