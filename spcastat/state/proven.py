"""The record of a proof of optimality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

#: What a proof covers: each component given the earlier ones, or all components jointly.
SCOPES = ("components", "joint")
#: The measures for which there are joint proofs.
JOINT = ("pev", "adjusted", "least_squares")

#: Added to the description of a bound computed without the rule for supports, which still holds under it.
UNRULED = "without the rule"
#: Beginning of `proof` if the bound is that of disjoint components of all variables, with groups of any size.
PARTITIONS = "all partitions"


@dataclass(frozen=True, eq=False)
class Proven:
    """A proof in numbers and text, as in the summary and in files.

    Attributes
    ----------
    scope : {"components", "joint"}
    measure : str
        The measure of a joint proof; "adjusted" for components.
    rows : list of dict
        One per component, or one for all: the columns of ``fit.certify()``, with positions of variables
        instead of names.
    orthogonal : bool
        Whether the bound applies to orthogonal loadings only.
    """

    scope: str
    measure: str
    rows: list[dict[str, Any]]
    orthogonal: bool = False

    @property
    def optimal(self) -> bool:
        """Whether the whole fit is proven optimal."""
        return all(row["optimal"] for row in self.rows)

    @property
    def gap(self) -> float:
        """The largest gap, as a percentage of the value."""
        return float(np.max([row["gap"] for row in self.rows]))

    @property
    def bound(self) -> float:
        """The sum of the bounds, by which proofs are compared; a smaller bound proves more."""
        return float(sum(row["upper_bound"] for row in self.rows))
