"""What a measure of explained variance is to the rest of the package: a function, and its words in tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from spcastat.operators import Operator

#: (V of shape (p, k) with unit columns, operator) -> the measure of the first 1, ..., k columns, shape (k,).
Core = Callable[[np.ndarray, Operator], np.ndarray]


@dataclass(frozen=True)
class Measure:
    """A definition of explained variance; ``measure(V, op)`` works it out.

    Attributes
    ----------
    name : str
        What ``fit.measure()`` takes.
    function : callable
        See :data:`Core`.
    label : str
        In tables with room for words.
    heading : str
        Above a narrow column.
    legend : str
        In plots.
    of : {"total", "pca", "error"}
        A share of the total variance; of what dense PCA explains; or an error, no share of variance at all.
        Tables show the three in groups of their own.
    place : int
        Order of the columns and rows of tables, from the left or from the top.
    note : str
        What a table below its columns says of a measure that is not a share of the total variance.
    """

    name: str
    function: Core
    label: str
    heading: str
    legend: str
    of: Literal["total", "pca", "error"]
    place: int
    note: str = ""

    def __call__(self, V: np.ndarray, op: Operator) -> np.ndarray:
        """Return the measure of the first 1, ..., k columns of `V`, shape (k,)."""
        return self.function(V, op)

    @property
    def short(self) -> str:
        """The label where it fits above a narrow column, else the heading."""
        return self.label if len(self.label) <= NARROW else self.heading


#: Characters above a narrow column.
NARROW = 8
