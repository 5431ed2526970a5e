"""A batch of fits, as the searches carry them: supports, loadings, and their products with the data."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np


@dataclass(eq=False)
class Fits:
    """A batch of B fits with k components on m variables.

    Attributes
    ----------
    places : ndarray of int, shape (B, N)
        The supports, one component after another, each ascending; N is the sum of the cardinalities.
    x : ndarray of shape (B, N)
        The loadings there, of unit length in each component; zeros for a component that is taken out.
    first : ndarray of shape (B, k, m)
        Products of the loadings with M.
    second : ndarray of shape (B, k, m) or (B, 0, m)
        Products with T.
    G, N : ndarray of shape (B, k, k)
        V'MV and V'TV (zeros for adjusted variance).
    value : ndarray of shape (B,)
        The criterion, a share of the total variance.
    of : ndarray of int, shape (B,)
        The matrices of each fit, where there are several.
    """

    places: np.ndarray
    x: np.ndarray
    first: np.ndarray
    second: np.ndarray
    G: np.ndarray
    N: np.ndarray
    value: np.ndarray
    of: np.ndarray

    def __len__(self) -> int:
        return len(self.value)

    def some(self, which: np.ndarray | slice) -> Fits:
        """Return those of an index array, a mask or a slice, copied."""
        if isinstance(which, slice):
            which = np.arange(len(self))[which]
        return Fits(*(getattr(self, field.name)[which] for field in fields(self)))

    def put(self, which: np.ndarray, other: Fits) -> None:
        """Replace those of an index array or a mask."""
        for field in fields(self):
            getattr(self, field.name)[which] = getattr(other, field.name)


def joined(parts: list[Fits]) -> Fits:
    """Return the fits of several batches as one."""
    return Fits(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Fits)))
