"""How rows are to be read: one value, from the user's call down to the chunks of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class ReadOptions:
    """The arguments of a call that say how rows become columns of numbers, as they were given.

    Attributes
    ----------
    formula : str or None
        One-sided, such as ``"~ a + b + log(c)"`` or ``"~ . - id"``.
    context : Mapping or None
        Names besides the columns that the formula may use.
    weights : array-like of shape (n,) or None
        Frequencies: a weight of 2 counts the row twice.
    na : {"raise", "drop"}
        What to do with rows that have missing values in the columns used.
    categorical : {"refuse", "dummy"}
        Whether a formula may use text and categories, as one 0/1 column for each level.
    """

    formula: Any = None
    context: Mapping[str, Any] | None = None
    weights: Any = None
    na: Any = "raise"
    categorical: Any = "refuse"
