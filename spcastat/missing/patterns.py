"""Rows by what is measured in them: rows with the same gaps share all matrices of the EM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct patterns of missing values.

    Attributes
    ----------
    missing : ndarray of bool, shape (P, p)
        The patterns: where a value is missing.
    of_row : ndarray of int, shape (n,)
        The pattern of each row.
    weight : ndarray of shape (P,)
        The sum of the weights of the rows of each pattern.
    """

    missing: np.ndarray
    of_row: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, missing: np.ndarray, w: np.ndarray) -> Patterns:
        """Group rows; `missing`, shape (n, p), marks the gaps, and `w`, shape (n,), holds the weights."""
        packed = np.packbits(missing, axis=1)
        _, first, of_row = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        of_row = of_row.reshape(-1)
        return cls(missing[first], of_row, np.bincount(of_row, weights=w, minlength=len(first)))

    @property
    def count(self) -> int:
        """The number of patterns, that of rows without gaps among them."""
        return len(self.weight)
