"""Patterns of missing values: rows with the same pattern share all matrices of the EM algorithm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct patterns of missing values.

    Attributes
    ----------
    missing : ndarray of bool, shape (P, p)
        The patterns; True marks a missing value.
    of_row : ndarray of int, shape (n,)
        The index of the pattern of each row.
    weight : ndarray of shape (P,)
        The sum of the weights of the rows of each pattern.
    """

    missing: np.ndarray
    of_row: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, missing: np.ndarray, w: np.ndarray) -> Patterns:
        """Group the rows of the mask `missing`, shape (n, p), with weights `w`, shape (n,), by pattern."""
        packed = np.packbits(missing, axis=1)
        _, first, of_row = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        of_row = of_row.reshape(-1)
        return cls(missing[first], of_row, np.bincount(of_row, weights=w, minlength=len(first)))

    @property
    def count(self) -> int:
        """The number of patterns; complete rows are one pattern."""
        return len(self.weight)
