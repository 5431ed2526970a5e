"""Simulated data with two sparse components.

The data of Zou, Hastie and Tibshirani (2006), with noise and outliers as in Zhao, Meng and Xu (2014), and
normal data whose covariance matrix has two sparse leading eigenvectors.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.config import flag, generator, real_number, whole_number
from spcastat.datasets.known import MOST_NUMBERS, labelled

if TYPE_CHECKING:
    from spcastat.argument_types import Rng

# Eigenvalues and eigenvectors as printed, to three decimals: orthogonal, of unit length to 1e-3.
_TOY = (
    (250.0, 240.0, 50.0, 50.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0),
    (0.422, 0.422, 0.422, 0.422, 0, 0, 0, 0, 0.380, 0.380),
    (0, 0, 0, 0, 0.489, 0.489, 0.489, 0.489, -0.147, 0.147),
)
_TOY_NONNEG = (
    (210.0, 190.0, 50.0, 50.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0),
    (0.474, 0, 0.158, 0, 0.316, 0, 0.791, 0, 0.158, 0),
    (0, 0.140, 0, 0.840, 0, 0.280, 0, 0.140, 0, 0.420),
)
_HIGHDIM = (400.0, 300.0, 100.0, 100.0, 50.0, 50.0, 50.0, 50.0, 30.0, 30.0)


def _completed(V: np.ndarray, k: int, draw: np.random.Generator) -> np.ndarray:
    """Return the orthonormal `V` (p, 2), completed by random columns to k orthonormal columns."""
    p, given = V.shape
    Q = np.linalg.qr(np.column_stack([V, draw.standard_normal((p, k - given))]))[0]
    Q[:, :given] = V  # equal up to sign and rounding
    return Q


def _normal(n: int, U: np.ndarray, variances: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Return n rows of N(0, I + U (D - I) U'), for orthonormal `U` (p, k) and D = diag(variances).

    The symmetric square root of the covariance is I + U (D^(1/2) - I) U', so that no p x p matrix is needed.
    """
    Z = draw.standard_normal((n, U.shape[0]))
    return Z + ((Z @ U) * (np.sqrt(variances) - 1.0)) @ U.T


def make_toy(n: int, *, rng: Rng = 0, nonneg: bool = False) -> pd.DataFrame:
    """Ten normal variables whose covariance has two sparse, or sparse nonnegative, leading eigenvectors.

    The eigenvalues are 250, 240, 50, 50, 6, 5, 4, 3, 2, 1 (210, 190, 50, ... with `nonneg`). The first two
    eigenvectors are those printed in [1]_, scaled to unit length. The other eight are random vectors, drawn
    from `rng` before the rows and orthonormalised.

    Parameters
    ----------
    n : int
        Number of rows, at least 2.
    rng : None, int or numpy.random.Generator, default 0
        Seed or generator of the random numbers; None is the seed 0.
    nonneg : bool, default False
        Whether to use the nonnegative eigenvectors of section 3.3.1, with 5 nonzeros each, instead of those
        of section 3.1.2, with 6.

    Returns
    -------
    DataFrame (n, 10)
        Columns X1..X10, mean 0. ``attrs["loadings"]`` holds the two eigenvectors as 10 rows of 2 numbers
        (see `true_loadings`), ``attrs["eigenvalues"]`` the ten eigenvalues of the covariance.

    Raises
    ------
    OptionError
        If `n` is below 2 or `rng` is of another type.

    References
    ----------
    .. [1] Q. Zhao, D. Meng, Z. Xu, C. Gao (2015), A block coordinate descent approach for sparse
       principal component analysis, Neurocomputing, sections 3.1.2 and 3.3.1.
    """
    n = whole_number("n", n, 2, MOST_NUMBERS // 10)
    draw, nonneg = generator(rng), flag("nonneg", nonneg)
    variances, *printed = _TOY_NONNEG if nonneg else _TOY
    V = np.array(printed, dtype=float).T
    V /= np.linalg.norm(V, axis=0)
    X = _normal(n, _completed(V, 10, draw), np.array(variances), draw)
    section = "3.3.1" if nonneg else "3.1.2"
    source = f"Zhao, Meng, Xu and Gao (2015), section {section}"
    return labelled(X, V, source=source, eigenvalues=list(variances))


def make_highdim(n: int, p: int = 500, *, rng: Rng = 0) -> pd.DataFrame:
    """Many normal variables whose covariance has two leading eigenvectors with 50 nonzeros each.

    The eigenvalues are 400, 300, 100, 100, 50, 50, 50, 50, 30, 30 and 1 for the rest. The first
    eigenvector is 1/sqrt(50) on X1..X50; the second is -1/sqrt(50) on X31..X40 and 1/sqrt(50) on X41..X80.
    The next eight are random vectors, drawn from `rng` before the rows and orthonormalised [1]_.

    Parameters
    ----------
    n : int
        Number of rows, at least 2 (50 and 200 in [1]_).
    p : int, default 500
        Number of variables, at least 80.
    rng : None, int or numpy.random.Generator, default 0
        Seed or generator of the random numbers; None is the seed 0.

    Returns
    -------
    DataFrame (n, p)
        Columns X1..Xp, mean 0. ``attrs["loadings"]`` holds the two eigenvectors as p rows of 2 numbers
        (see `true_loadings`), ``attrs["eigenvalues"]`` the first ten eigenvalues.

    Raises
    ------
    OptionError
        If `n` is below 2, `p` is below 80, or `rng` is of another type.

    References
    ----------
    .. [1] Y. He, R. D. C. Monteiro, H. Park (2010), A fast algorithm for sparse PCA and a new sparsity
       control criteria, section 5.1, after Shen and Huang (2008).
    """
    p = whole_number("p", p, 80, MOST_NUMBERS // 10)
    n = whole_number("n", n, 2, max(MOST_NUMBERS // p, 2))
    draw = generator(rng)
    V = np.zeros((p, 2))
    V[:50, 0] = V[40:80, 1] = 1 / np.sqrt(50)
    V[30:40, 1] = -1 / np.sqrt(50)
    X = _normal(n, _completed(V, len(_HIGHDIM), draw), np.array(_HIGHDIM), draw)
    return labelled(X, V, source="He, Monteiro and Park (2010), section 5.1", eigenvalues=list(_HIGHDIM))


_FINITE = sys.float_info.max


def make_hastie(
    n: int = 1000,
    *,
    rng: Rng = 0,
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
