"""The data of Zou, Hastie and Tibshirani (2006), with noise and outliers as in Zhao, Meng and Xu (2014)."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import generator, real_number, whole_number
from spcastat.datasets.known import MOST_NUMBERS, labelled

_FINITE = sys.float_info.max


def make_hastie(
    n: int = 1000,
    rng: Any = 0,
    noise: float = 1.0,
    outliers: int = 0,
    outlier_variance: float = 6000.0,
) -> pd.DataFrame:
    """Ten variables driven by three hidden factors, with two true sparse components.

    ``V1 ~ N(0, 290)``, ``V2 ~ N(0, 300)`` and ``V3 = -0.3 V1 + 0.925 V2 + e`` with ``e ~ N(0, 1)``, where
    290 and 300 are variances; X1..X4 = V1, X5..X8 = V2 and X9, X10 = V3, each plus independent noise. The
    first sparse component is V2, with loadings on X5..X8, and the second is V1, with loadings on X1..X4 [1]_.

    Parameters
    ----------
    n : int, default 1000
        Number of rows, at least 2, including the outliers.
    rng : None, int or numpy.random.Generator, default 0
        Seed or generator of the random numbers; None is the seed 0.
    noise : float, default 1.0
        Variance of the noise of every variable (sigma^2 in [2]_, up to 4000 there).
    outliers : int, default 0
        Number of outliers among the `n` rows, which are the last ones (500 of 10000 in [2]_). Their X1..X8
        are 0. The other rows are the same as without outliers.
    outlier_variance : float, default 6000.0
        Variance of X9 and X10 in the outliers, drawn independently (delta^2 in [2]_, 6000 in its Table 3).

    Returns
    -------
    DataFrame (n, 10)
        Columns X1..X10. ``attrs["loadings"]`` holds the two sparse components as 10 rows of 2 numbers
        (see `true_loadings`), ``attrs["outliers"]`` their number.

    Raises
    ------
    OptionError
        If a number is out of its range.

    References
    ----------
    .. [1] H. Zou, T. Hastie, R. Tibshirani (2006), Sparse principal component analysis, Journal of
       Computational and Graphical Statistics 15, 265-286.
    .. [2] Q. Zhao, D. Meng, Z. Xu (2014), Robust sparse principal component analysis, Science China
       Information Sciences 57, 092115, section 3.2, equation (15).
    """
    n = whole_number("n", n, 2, MOST_NUMBERS // 10)
    noise = real_number("noise", noise, 0.0, _FINITE)
    outliers = whole_number("outliers", outliers, 0, n)
    outlier_variance = real_number("outlier_variance", outlier_variance, 0.0, _FINITE)
    draw = generator(rng)
    V1, V2, e = (np.sqrt(variance) * draw.standard_normal(n) for variance in (290.0, 300.0, 1.0))
    V3 = -0.3 * V1 + 0.925 * V2 + e
    X = np.column_stack([V1] * 4 + [V2] * 4 + [V3] * 2) + np.sqrt(noise) * draw.standard_normal((n, 10))
    if outliers:
        X[-outliers:] = 0.0
        X[-outliers:, 8:] = np.sqrt(outlier_variance) * draw.standard_normal((outliers, 2))
    V = np.zeros((10, 2))
    V[4:8, 0] = V[0:4, 1] = 0.5
    return labelled(X, V, source="Zou, Hastie and Tibshirani (2006)", outliers=outliers)
