"""Groups of variables by which `scale` is found, in draws and folds again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class ScalingGroups:
    """Variables in groups.

    Attributes
    ----------
    kind : str
        The `scale` of the call.
    names : tuple of str
        Of the groups.
    of : ndarray of int, shape (p,)
        The group of each variable, -1 for none.
    """

    kind: str
    names: tuple[str, ...]
    of: np.ndarray

    @property
    def told(self) -> dict[str, Any]:
        """What a record keeps."""
        return {"kind": self.kind, "names": list(self.names), "of": self.of.tolist()}

    @property
    def counts(self) -> np.ndarray:
        """The number of variables of each group, and at the end of those in none."""
        return np.bincount(self.of % (len(self.names) + 1), minlength=len(self.names) + 1)

    def shares(self, variances: np.ndarray) -> np.ndarray:
        """Return the shares of the total variance, in the order of `counts`."""
        sums = np.bincount(self.of % (len(self.names) + 1), variances, len(self.names) + 1)
        return np.asarray(sums / variances.sum())
