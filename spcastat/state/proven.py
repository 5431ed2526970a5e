"""A proof of how good a fit is, as it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

#: What a proof is of: each component beside those before it, or all of them together.
SCOPES = ("components", "joint")
#: The measures that a joint proof can be of.
JOINT = ("pev", "adjusted", "least_squares")

#: Said at the end of what proved a bound without the rule for supports, under which it holds all the same.
UNRULED = "without the rule"


@dataclass(frozen=True, eq=False)
class Proven:
    """A proof, in plain numbers and text: what the summary tells and a file keeps.

    Attributes
    ----------
    scope : {"components", "joint"}
    measure : str
        Of a joint proof; "adjusted" for components.
    rows : list of dict
        One a component, or one for all: the columns of what ``fit.certify()`` gives, with the positions of
        variables for their names.
    orthogonal : bool
        Whether the bound is for orthogonal loadings only.
    """

    scope: str
    measure: str
    rows: list[dict[str, Any]]
    orthogonal: bool = False

    @property
    def optimal(self) -> bool:
        """Whether all of it is proven to be the best."""
        return all(row["optimal"] for row in self.rows)

    @property
    def gap(self) -> float:
        """The largest gap, in percent of the value."""
        return float(np.max([row["gap"] for row in self.rows]))

    @property
    def bound(self) -> float:
        """The sum of the bounds: the smaller, the more is proven."""
        return float(sum(row["upper_bound"] for row in self.rows))
