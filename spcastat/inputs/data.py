"""What is fitted: the data of a fit, and data that were read and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.config import shown, whole_number
from spcastat.inputs.missing import Gaps
from spcastat.inputs.opening import require_apart
from spcastat.linalg.operators import Operator
from spcastat.linalg.standardisation import Scale, ScalingGroups, Standardisation, checksum
from spcastat.reading.design import RowDesign, Spec
from spcastat.streams.base import Stream


@dataclass(frozen=True, eq=False)
class Source:
    """The input of a fit.

    Attributes
    ----------
    op : Operator
        The covariance matrix, through its products, in units of `op.unit`: the variances of the data are its
        variances times `op.unit` squared.
    spec : Spec
        How raw data become columns; its `columns` label the loadings.
    n : int or None
        Number of rows; for a covariance matrix the number it was computed from, where known.
    standard : Standardisation or None
        Centre and scale; None for a covariance matrix given without them.
    matrix : ndarray or scipy.sparse array of shape (n, p), or None
        Raw rows, with missing values imputed for ``na="em"``; None for a covariance matrix.
    index : pandas.Index or None
        Labels of the rows.
    dropped : int
        Rows left out because of missing values.
    weights : ndarray of shape (n,) or None
        Weights of the rows.
    stream : Stream or None
        Rows read in chunks, instead of `matrix`.
    total_weight : float or None
        The sum of the weights of a stream.
    gaps : Gaps or None
        How missing values were treated, for ``na="em"`` and "pairwise".
    checksum : int or None
        Checksum of `matrix`, if it shares memory with the caller's data.
    about : Mapping
        Further facts about a covariance matrix; see :class:`spcastat.reading.design.Covariance`.
    covariates : ndarray of shape (n, q) or None
        The covariates for which `matrix` was adjusted.
    groups : ScalingGroups or None
        The groups of variables by which the scale was found, for ``scale="blocks"`` and "mixed".
    files : sequence of str
        Files that the rows were read from as a whole.
    design : RowDesign or None
        Which of the rows belong together; None for independent rows.
    divisors : ndarray of shape (p,) or None
        What the variables of a covariance matrix were divided by, with `scale`.
    sampled_from : int or None
        If the rows are a sample of rows in chunks: the number of rows that it was drawn from, perhaps all.
    """

    op: Operator
    spec: Spec
    n: int | None
    standard: Standardisation | None = None
    matrix: Any = None
    index: pd.Index | None = None
    dropped: int = 0
    weights: np.ndarray | None = None
    stream: Stream | None = None
    total_weight: float | None = None
    gaps: Gaps | None = None
    checksum: int | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    covariates: np.ndarray | None = None
    groups: ScalingGroups | None = None
    files: Sequence[str] = ()
    design: RowDesign | None = None
    sampled_from: int | None = None
    divisors: np.ndarray | None = None

    @property
    def center_and_scale(self) -> tuple[bool | np.ndarray, Scale]:
        """The arguments `center` and `scale` that would repeat the standardisation on other rows."""
        standard = self.standard
        assert standard is not None
        return center_and_scale(standard, self.groups)

    def require_same(self) -> None:
        """Raise DataError if the caller has changed the rows in memory since the fit."""
        if self.checksum is not None and checksum(self.matrix) != self.checksum:
            raise errors.DataError(
                "The data have changed since the fit: their numbers are not those that were fitted. Fit "
                "again, and leave arrays of more than 64 MB unchanged as long as the fit is in use."
            )

    @property
    def measured(self) -> Any:
        """The rows as given, with NaN for missing values; shape (n, p)."""
        if self.gaps is None or not self.gaps.missing.any():
            return self.matrix
        return np.where(self.gaps.missing, np.nan, self.matrix)

    @property
    def from_rows(self) -> bool:
        """Whether the fit is from rows (in memory or in chunks) rather than from a covariance matrix."""
        return self.matrix is not None or self.stream is not None

    @property
    def weighted(self) -> bool:
        """Whether rows had weights."""
        return self.weights is not None or (self.stream is not None and self.stream.weighted)

    @property
    def distributed(self) -> bool:
        """Whether the rows are distributed over workers, so that this process cannot iterate over them."""
        return self.stream is not None and not self.stream.local

    def spare(self, path: Path) -> None:
        """Raise OptionError if writing to `path` would change the rows."""
        if self.stream is not None:
            self.stream.spare(path)
        require_apart(path, self.files)

    @property
    def weight(self) -> float:
        """The sum of the weights, or the number of rows without weights."""
        if self.total_weight is not None:
            return self.total_weight
        return float(self.n or 0) if self.weights is None else float(self.weights.sum())

    @property
    def free(self) -> float | None:
        """The sum of the weights (or number of rows, if known) minus the degrees of freedom of covariates."""
        n = self.weight if self.from_rows else self.n
        taken = 0 if self.spec.partial is None else self.spec.partial.regression.rank
        return None if n is None else n - taken


def center_and_scale(
    standard: Standardisation, groups: ScalingGroups | None
) -> tuple[bool | np.ndarray, Scale]:
    """Return the arguments `center` and `scale` that repeat a standardisation on other rows."""
    scale: Any = groups or {"sd": True, "none": False}.get(standard.scaling, standard.scale)
    return True if standard.centring == "mean" else standard.mean, scale


@dataclass(frozen=True, eq=False)
class Opened:
    """Data after reading and checking.

    Attributes
    ----------
    p : int
        Number of variables.
    source : callable
        Takes the name of a method that needs the rows themselves (an empty string if second moments are
        enough) and returns the source of a fit.
    context : mapping or None
        Names other than columns that a formula uses.
    centred : bool
        Whether rows in chunks are centred at their means.
    stream : Stream or None
        Rows in chunks.
    data : object
        The data, for calls that read them again; for a frame, a view with its present columns.
    """

    p: int
    source: Callable[[str], Source]
    context: Mapping[str, Any] | None = None
    centred: bool = True
    stream: Stream | None = None
    data: Any = None

    def with_passes(self, passes: Any) -> Opened:
        """Return the same data, with at most `passes` passes over rows in chunks to compute dense PCA."""
        if passes is None:
            return self
        if self.stream is None:
            raise errors.OptionError(
                f"passes={shown(passes)} was given with data in memory, which are not passed over; it is for "
                "rows in chunks. Leave it out."
            )
        most = whole_number("passes", passes, 1, 1000)

        def source(rows_for: str) -> Source:
            found = self.source(rows_for)
            found.op.most_passes = most
            return found

        return replace(self, source=source)
