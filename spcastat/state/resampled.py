"""Results of resampling a fit: arrays, without the data, for tables, plots and files.

A loading is identified by its place: place j + p c is variable j in component c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Bootstrapped:
    """Loadings and variances of bootstrap draws, aligned with the fit.

    Attributes
    ----------
    places : ndarray of int, shape (m,)
        Places of the loadings that are nonzero in the fit or in some draw, ascending.
    values : ndarray of shape (B, m)
        Their values in each draw.
    variances : ndarray of shape (B, k)
        Variances of the scores of each draw's components on its own rows.
    whole : ndarray of shape (B, k)
        Variances of the same components on the rows of the fit.
    similarity : ndarray of shape (B, k)
        Absolute correlations of the scores of the draws with those of the fit.
    select : bool
        Whether the variables were selected again in each draw.
    asked, again : int
        Number of draws requested, and of samples redrawn because no fit was possible on them.
    normal : bool
        Whether the draws are normal rows with the covariance matrix of the fit.
    """

    places: np.ndarray
    values: np.ndarray
    variances: np.ndarray
    whole: np.ndarray
    similarity: np.ndarray
    select: bool
    asked: int
    again: int
    normal: bool

    @property
    def draws(self) -> int:
        """Number of draws made."""
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Halved:
    """Which loadings are nonzero in fits to halves of the rows, aligned with the fit; see `stability`.

    Attributes
    ----------
    places : ndarray of int, shape (m,)
        Places of the loadings that are nonzero in the fit or in some half.
    chosen : ndarray of bool, shape (H, m)
        Whether each of the H fits selected them; the two halves of a pair are adjacent.
    similarity : ndarray of shape (H, k)
    clusters : ndarray of int, shape (p,)
        The cluster of each variable: any two in a cluster have an absolute correlation of at least `groups`.
    associates : ndarray of shape (a, 4)
        Component, selected variable, associate (positions from 0), and their correlation.
    threshold, groups : float
    asked, again : int
        Number of pairs of halves requested, and of pairs drawn again because no fit was possible on them.
    normal : bool
        As in `Bootstrapped`.
    considered : int or None
        Number of variables to which the halves were fitted, if not all.
    """

    places: np.ndarray
    chosen: np.ndarray
    similarity: np.ndarray
    clusters: np.ndarray
    associates: np.ndarray
    threshold: float
    groups: float
    asked: int
    again: int
    normal: bool
    considered: int | None = None

    @property
    def draws(self) -> int:
        """Number of pairs of halves fitted."""
        return len(self.chosen) // 2


@dataclass(frozen=True, eq=False)
class Split:
    """Variables selected on one half of the rows, and their loadings on the other half.

    Attributes
    ----------
    places : ndarray of int, shape (m,)
        Indices, in the flattened (k, p) loadings, of those that were selected on the first half.
    estimate, std_error : ndarray of shape (m,)
        These loadings computed from the other half (the leading eigenvector on each support), and their
        standard errors.
    variances, variance_errors : ndarray of shape (k,)
        Variances of the scores on the other half, and their standard errors.
    similarity : ndarray of shape (k,)
        Absolute correlations of the scores of the selected components with those of the fit.
    rows : tuple of (int, int)
        Number of rows in the selecting half, and in the other.
    draws : int
        Number of bootstrap samples drawn from the other half.
    asked : int
        Number of bootstrap samples requested.
    again : int
        Number of splits that were drawn again.
    normal : bool
        Whether the rows are normal ones simulated from the covariance matrix of the fit.
    """

    places: np.ndarray
    estimate: np.ndarray
    std_error: np.ndarray
    variances: np.ndarray
    variance_errors: np.ndarray
    similarity: np.ndarray
    rows: tuple[int, int]
    draws: int
    asked: int
    again: int
    normal: bool


@dataclass(frozen=True, eq=False)
class Tested:
    """Permutation tests of the association of every variable with every component.

    Attributes
    ----------
    statistic : ndarray of shape (p, k)
        Correlation of the variable with the score computed from the other variables.
    p_value, q_value : ndarray of shape (p, k)
        NaN for a constant variable.
    draws, asked : int
        Number of permutations made, and number requested.
    fdr : str
        Method of controlling the false discovery rate.
    """

    statistic: np.ndarray
    p_value: np.ndarray
    q_value: np.ndarray
    draws: int
    asked: int
    fdr: str


@dataclass(frozen=True, eq=False)
class Trust:
    """The last result of each kind of resampling of a fit."""

    bootstrap: Bootstrapped | None = None
    stability: Halved | None = None
    split: Split | None = None
    tests: Tested | None = None
