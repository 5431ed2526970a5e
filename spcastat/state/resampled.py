"""What draws from the data of a fit gave: arrays, without the data, that tables, plots and files read.

Loadings are told apart by their places: place j + p c is that of variable j in component c.
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
        The loadings that are not zero in the fit or in some draw, ascending.
    values : ndarray of shape (B, m)
        What they are in each draw.
    variances : ndarray of shape (B, k)
        Variances of the scores of each draw's components on its own rows.
    whole : ndarray of shape (B, k)
        The same on the rows of the fit.
    similarity : ndarray of shape (B, k)
        Absolute correlations of their scores with those of the fit.
    select : bool
        Whether each draw selected its variables anew.
    asked, again : int
        Draws that were asked for, and samples that were drawn anew since no fit was possible on them.
    normal : bool
        Whether draws are those of normal rows with the covariance matrix of the fit.
    kind : {"normal", "percentile"}
        Whether intervals are estimates and standard errors, or quantiles of the draws.
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
    kind: str


@dataclass(frozen=True, eq=False)
class Halved:
    """Which loadings fits of complementary halves selected, aligned with the fit.

    Attributes
    ----------
    places : ndarray of int, shape (m,)
        The loadings that are not zero in the fit or in some half.
    chosen : ndarray of bool, shape (H, m)
        Whether each of the H fits of halves selected them; both halves of a pair follow one another.
    similarity : ndarray of shape (H, k)
    clusters : ndarray of int, shape (p,)
        The cluster of each variable: every two of one have an absolute correlation of `groups` or more.
    associates : ndarray of shape (a, 4)
        Component, selected variable, associate (positions from 0), and their correlation.
    threshold, groups : float
    asked, again : int
        Pairs that were asked for; pairs drawn anew.
    normal : bool
    considered : int or None
        How many variables halves were fitted to, where these were not all.
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


@dataclass(frozen=True, eq=False)
class Split:
    """Variables chosen on one half of the rows, and their loadings on the other.

    Attributes
    ----------
    places : ndarray of int, shape (m,)
        The loadings that one half selected.
    estimate, std_error : ndarray of shape (m,)
        Of the leading eigenvector on each support, on the other half.
    variances, variance_errors : ndarray of shape (k,)
        Of the scores, on the other half.
    similarity : ndarray of shape (k,)
        Absolute correlation of the scores of the chosen component with those of the fit's.
    rows : tuple of (int, int)
        Rows of the half that chose, and of the other.
    draws, asked, again : int
        Bootstrap samples of the other half, how many were asked for, and splits drawn anew.
    normal : bool
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
    """Permutation tests of every variable with every component.

    Attributes
    ----------
    statistic : ndarray of shape (p, k)
        Correlation of the variable with the score that the other variables make of the component.
    p_value, q_value : ndarray of shape (p, k)
        NaN for a variable that does not vary.
    draws, asked : int
        Permutations, and how many were asked for.
    fdr : str
        How false discoveries are controlled.
    """

    statistic: np.ndarray
    p_value: np.ndarray
    q_value: np.ndarray
    draws: int
    asked: int
    fdr: str


@dataclass(frozen=True, eq=False)
class Trust:
    """What was resampled of a fit, the last of each kind."""

    bootstrap: Bootstrapped | None = None
    stability: Halved | None = None
    split: Split | None = None
    tests: Tested | None = None

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return any(part is not None for part in (self.bootstrap, self.stability, self.split, self.tests))
