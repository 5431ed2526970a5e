"""Rubin's rules: errors of estimates from multiple imputations of one table.

Rubin (1987), Multiple Imputation for Nonresponse in Surveys, Wiley; degrees of freedom: Barnard and Rubin
(1999), "Small-sample degrees of freedom with multiple imputation", Biometrika 86, 948-955.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from spcastat.linalg.standardisation import deviations


@dataclass(frozen=True, eq=False)
class Pooled:
    """Errors of m estimates from M imputations.

    Attributes
    ----------
    error : ndarray of shape (m,)
        The root of the total variance T = W + (1 + 1/M) B: W is the mean of the variances within imputations,
        B the variance of the estimates between them.
    missing : ndarray of shape (m,)
        The fraction of missing information, (1 + 1/M) B / T.
    freedom : ndarray of shape (m,)
        Degrees of freedom of T.
    """

    error: np.ndarray
    missing: np.ndarray
    freedom: np.ndarray

    @classmethod
    def of(cls, variances: np.ndarray, estimates: np.ndarray, rows: int) -> Pooled:
        """Return the errors of estimates.

        Parameters
        ----------
        variances : ndarray of shape (m,)
            Mean over imputations of the standard errors, squared.
        estimates : ndarray of shape (M, m)
        rows : int
            The number of independent rows, clusters or blocks.
        """
        count = len(estimates)
        between = (1.0 + 1.0 / count) * deviations(estimates) ** 2
        total = variances + between
        share = np.divide(between, total, out=np.zeros_like(total), where=total > 0)
        complete = rows - 1.0
        observed = (complete + 1.0) / (complete + 3.0) * complete * (1.0 - share)
        with np.errstate(divide="ignore"):
            freedom = 1.0 / (share**2 / (count - 1.0) + 1.0 / observed)
        return cls(np.sqrt(total), share, freedom)

    def half(self, level: float) -> np.ndarray:
        """Return half of the lengths of intervals."""
        return np.asarray(stdtrit(self.freedom, 0.5 + level / 2.0) * self.error)


def within_imputations(values: np.ndarray, count: int) -> np.ndarray:
    """Return the mean over imputations of the variances of bootstrap draws, shape (m,).

    Parameters
    ----------
    values : ndarray of shape (B, m)
        Draw b is from imputation b modulo `count`. NaN is returned for fewer than two draws of each.
    """
    if len(values) < 2 * count:
        return np.full(values.shape[1], np.nan)
    return np.mean([deviations(values[m::count]) ** 2 for m in range(count)], axis=0)
