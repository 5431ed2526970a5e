"""What a fit was computed from: labels, operator, and the way back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.intake import Spec
from spcastat.operators import Operator, Standardisation

if TYPE_CHECKING:
    from spcastat.streams.base import Stream


@dataclass(frozen=True, eq=False)
class Source:
    """The input of a fit.

    Attributes
    ----------
    op : Operator
        The covariance matrix, by its products, at unit size: its variances times `op.unit` squared are those
        of the data.
    spec : Spec
        How raw data become columns; its `columns` label the loadings.
    n : int or None
        Number of rows; for a covariance matrix the number it was computed from, where known.
    standard : Standardisation or None
        Centre and scale; None for a covariance matrix that came without them.
    matrix : ndarray or scipy.sparse array of shape (n, p), or None
        Raw rows; None for a covariance matrix.
    index : pandas.Index or None
        Labels of the rows.
    dropped : int
        Rows left out because of missing values.
    weights : ndarray of shape (n,) or None
        Weights of the rows.
    stream : Stream or None
        Rows that are never all in memory, instead of `matrix`.
    total_weight : float or None
        The sum of the weights of a stream.
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

    @property
    def has_rows(self) -> bool:
        """Whether the rows are in memory, and so the scores can be."""
        return self.matrix is not None

    @property
    def from_rows(self) -> bool:
        """Whether there are rows, in memory or not, rather than a covariance matrix."""
        return self.matrix is not None or self.stream is not None

    @property
    def title(self) -> str | None:
        """What a stream is, for headers; None for data in memory."""
        return None if self.stream is None else self.stream.title

    @property
    def weighted(self) -> bool:
        """Whether rows had weights."""
        return self.weights is not None or (self.stream is not None and self.stream.weighted)

    def spare(self, path: Path) -> None:
        """Raise OptionError if writing to `path` would change the rows."""
        if self.stream is not None:
            self.stream.spare(path)

    @property
    def weight(self) -> float:
        """The sum of the weights: the number of rows where there are none."""
        if self.total_weight is not None:
            return self.total_weight
        return float(self.n or 0) if self.weights is None else float(self.weights.sum())
