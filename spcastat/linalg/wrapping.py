"""Wrapping: robust location and scale, transformations of skewed columns, and shrinkage of outlying cells.

Every column is treated separately. A value is standardised by the location and scale of the half of the
values with the smallest variance, after a power transformation if the column is skewed, and an outlying value
is shrunk towards the middle (Raymaekers and Rousseeuw 2021, but with Hampel's two-part function instead of
theirs).

References: Rousseeuw and Leroy (1987), Robust regression and outlier detection, chapter 4 (univariate minimum
covariance determinant); Raymaekers and Rousseeuw (2021), Fast robust correlation for high-dimensional data,
Technometrics 63; Raymaekers and Rousseeuw (2024), Transforming variables to central normality, Machine
Learning 113; Yeo and Johnson (2000), Biometrika 87; Royston (1993), The Statistician 42; Hampel, Ronchetti,
Rousseeuw and Stahel (1986), Robust statistics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, erf, exp, pi, sqrt
from statistics import NormalDist
from typing import Annotated

import numpy as np

from spcastat.linalg.accumulate import weights_or_ones
from spcastat.linalg.eigenvectors import NORMAL_MAD

#: Standardised values are unchanged up to BEND, shrunk towards the middle beyond it, and equal to the middle
#: from END on. With 2.5 and 5 the location keeps 99.1 % and the correlation 98.1 % of the efficiency at
#: normal data (by quadrature).
BEND, END = 2.5, 5.0
#: Cells are unchanged up to NORMAL_BEND if no more cells than in normal tables are beyond BEND. Of n normal
#: values the share of TAIL_SHARE (1 + TAIL_FEW / n) is beyond BEND, because locations and scales are
#: estimated from the same values (TAIL_FEW is 39 to 55 for n = 20 to 1000, 400,000 values each). TAIL_ERRORS
#: binomial standard errors are allowed; the share varies 1.3 to 1.5 times as much. With BEND for all tables,
#: fits of clean normal rows lost .3 to 1.1 % more of the population's adjusted variance than plain fits; with
#: NORMAL_BEND they lost .2 to .6 % without the allowance, and about .1 % with it (four designs, 30 to 60 sets
#: each).
NORMAL_BEND, TAIL_SHARE, TAIL_FEW, TAIL_ERRORS = 4.0, 0.01242, 48.0, 2.0
#: Columns with at most this many different values are not changed.
FEW_VALUES = 5
#: Columns in which the values at the shares PILE_START and PILE_END are equal, counted from the lowest or
#: from the highest value, are not changed either. Examples are zeros of counts and values at a limit of
#: detection: half of the values would hardly vary. If 30, 40 and 45 % of the values of 12 columns were at a
#: limit, robust fits lost 4, 34 and 40 % of the adjusted variance; with 20 % they lost .2 % (80 rows, six
#: sets each).
PILE_START, PILE_END = 0.05, 0.3
#: Powers that are compared.
POWERS = np.arange(-2.0, 4.01, 0.25)
#: Values within this standardised distance determine the power: 99 % of a normal distribution.
CENTRAL = 2.576
#: A power is used if twice its gain in log-likelihood over the power 1 exceeds this, chi2(1) at .001.
LIKELIHOOD_GAIN = 10.83
#: A power is used if at most this share of the values is then beyond `FAR`.
MOST_FAR, FAR = 0.05, 3.0
#: Steps of the EM algorithm for two groups of values. 200 steps raise the log-likelihood by less than 1e-4 in
#: half of the columns, and by .2 in one of 100; limits at which powers are chosen differ by several units.
EM_STEPS = 20
#: Number of equally spaced order statistics that represent a longer column. With 5000 to 100,000 values of a
#: normal, t3 or lognormal distribution, or with a fifth of the values 4 standard deviations out, locations
#: then differ from the locations of all values by at most .001 scales, and scales by at most .1 % (root mean
#: squares over 20 columns); with 500 order statistics, by .003 scales and .4 %.
ORDER_STATISTICS = 2000
#: A spread below this share of the largest absolute value is rounding error, and is set to zero.
SPREAD_ROUNDING = 1e-9
#: Values this many median absolute deviations from the median are never in the half with the smallest
#: variance; larger ones are reduced to this, so that squares do not overflow and sums keep twelve digits.
HUGE = 1e3
#: Values further from the centre than this many units are treated as if they were at this distance.
FARTHEST = 1e15

_NORMAL = NormalDist()
#: Reweighting keeps values within this standardised distance, 97.5 % of a normal distribution.
CUT = _NORMAL.inv_cdf(0.9875)


# --- location and scale -----------------------------------------------------------------------------


def wrapped(z: np.ndarray, bend: float = BEND) -> np.ndarray:
    """Return standardised values, unchanged up to `bend`, shrunk beyond it, and 0 from END on."""
    z = z + 0.0  # a copy, without negative zeros
    far = np.abs(z) > bend
    z[far] = np.sign(z[far]) * np.clip(bend * (END - np.abs(z[far])) / (END - bend), 0.0, None) + 0.0
    return z


def bend_of(z: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the z up to which cells are unchanged: NORMAL_BEND if a normal share is beyond BEND, else BEND.

    Parameters
    ----------
    z : ndarray of shape (n, p)
        Standardised cells; NaN is a missing value.
    weights : ndarray of shape (n,), optional
        A row of weight 2 counts twice.
    """
    w = weights_or_ones(weights, len(z))
    cell_count = float((w @ ~np.isnan(z)).sum())
    if not cell_count:
        return BEND
    share = float((w @ (np.abs(z) > BEND)).sum()) / cell_count
    normal_share = TAIL_SHARE * (1.0 + TAIL_FEW * z.shape[1] / cell_count)
    allowance = TAIL_ERRORS * sqrt(normal_share / cell_count)
    return NORMAL_BEND if share <= normal_share + allowance else BEND


def consistency(share: float) -> float:
    """Return the variance of a standard normal variable, divided by the variance of its central share."""
    q = _NORMAL.inv_cdf((1.0 + share) / 2.0)
    return share / (share - 2.0 * q * exp(-q * q / 2.0) / sqrt(2.0 * pi))


def location_and_scale(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return robust locations and scales of complete columns, each of shape (p,).

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Finite values; rows have equal weights.

    Returns
    -------
    location, scale : ndarray of shape (p,)
        Location and scale of the half of the values with the smallest variance, reweighted once; the location
        has one further step with the weights of `wrapped`. A scale is zero if half of the values are equal.
    """
    return _of_ordered(_sorted_columns(X))


def _sorted_columns(X: np.ndarray) -> np.ndarray:
    """Return the sorted columns of X, shape (n, p), as rows."""
    Y = np.array(X.T, order="C")
    Y.sort(axis=1)
    return Y


def _of_ordered(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return locations and scales of columns whose sorted values are the rows of Y, shape (p, m)."""
    n, h = Y.shape[1], Y.shape[1] // 2 + 1
    middle = Y[:, n // 2, None]
    with np.errstate(over="ignore"):
        Y = Y - middle
        unit = np.median(np.abs(Y), axis=1)[:, None]
        largest = np.maximum(np.abs(Y[:, :1] + middle), np.abs(Y[:, -1:] + middle))
        varies = unit > SPREAD_ROUNDING * largest.clip(max=HUGE * unit)
        divisor = np.where(varies, unit, 1.0)
        Y = np.clip(Y / divisor, -HUGE, HUGE)
    sums = np.zeros((2, len(Y), n + 1))
    np.cumsum(Y, axis=1, out=sums[0, :, 1:])
    np.cumsum(Y * Y, axis=1, out=sums[1, :, 1:])
    mean, square = (sums[:, :, h:] - sums[:, :, :-h]) / h
    variance = square - mean**2
    at = np.arange(len(Y)), variance.argmin(axis=1)
    location, scale = mean[at], np.sqrt(np.maximum(variance[at], 0.0) * consistency(h / n))
    is_central = np.abs(Y - location[:, None]) <= CUT * scale[:, None]
    count = np.maximum(is_central.sum(axis=1), 1)
    location = (is_central * Y).sum(axis=1) / count
    Y = Y - location[:, None]
    spread = (is_central * Y**2).sum(axis=1) / count * consistency(erf(CUT / sqrt(2.0)))
    scale = np.where(varies[:, 0] & (spread > SPREAD_ROUNDING**2), np.sqrt(spread), 0.0)
    z = Y / np.where(scale > 0, scale, 1.0)[:, None]
    bounded = wrapped(z)
    weight = np.divide(bounded, z, out=np.ones(z.shape), where=z != 0)
    step = bounded.sum(axis=1) / np.maximum(weight.sum(axis=1), 1.0) * scale
    location = middle[:, 0] + (location + step) * divisor[:, 0]
    return np.where(varies[:, 0], location, middle[:, 0]), scale * divisor[:, 0]


def representatives(x: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return a sorted column without its missing values, in which a row of weight 2 occurs twice.

    If there are more than ORDER_STATISTICS values, as many equally spaced ones are returned. Weights that are
    not whole numbers are represented by order statistics of the weighted distribution.
    """
    if weights is None:
        is_known = np.sort(x[~np.isnan(x)])
        return is_known[spaced(len(is_known))]
    is_known = ~np.isnan(x) & (weights > 0)
    x, w = x[is_known], weights[is_known]
    order = np.argsort(x, kind="stable")
    upto = np.cumsum(w[order])
    if not len(upto):
        return x
    count = max(min(round(upto[-1]), ORDER_STATISTICS), 1)
    places = np.searchsorted(upto, (np.arange(count) + 0.5) * upto[-1] / count, side="right")
    return np.asarray(x[order[np.minimum(places, len(order) - 1)]])


def spaced(n: int) -> np.ndarray | slice:
    """Return the places of equally spaced order statistics of n values, at most ORDER_STATISTICS."""
    if n <= ORDER_STATISTICS:
        return slice(None)
    return ((np.arange(ORDER_STATISTICS) + 0.5) * n / ORDER_STATISTICS).astype(int)


# --- powers -----------------------------------------------------------------------------------------


def bent(x: np.ndarray, power: np.ndarray | float, box_cox: np.ndarray | bool) -> np.ndarray:
    """Return Yeo and Johnson's transformation of x, or Box and Cox's transformation of 1 + x."""
    up = np.where((x >= 0) | box_cox, power, 2.0 - np.asarray(power))
    side = np.where((x >= 0) | box_cox, 1.0, -1.0)
    size, straight = np.maximum(1.0 + side * x, 1e-12), np.abs(up) < 1e-9
    safe = np.where(straight, 1.0, up)
    return side * np.where(straight, np.log(size), (size**safe - 1.0) / safe)


def unbent(y: np.ndarray, power: np.ndarray | float, box_cox: np.ndarray | bool) -> np.ndarray:
    """Return the values that `bent` transforms to y."""
    up = np.where((y >= 0) | box_cox, power, 2.0 - np.asarray(power))
    side = np.where((y >= 0) | box_cox, 1.0, -1.0)
    straight = np.abs(up) < 1e-9
    safe = np.where(straight, 1.0, up)
    root = np.maximum(1.0 + safe * side * y, 1e-12) ** (1.0 / safe)
    return side * (np.where(straight, np.exp(np.where(straight, side * y, 0.0)), root) - 1.0)


def normal_places(n: int) -> np.ndarray:
    """Return the normal quantiles of (i - 1/3) / (n + 1/3), i = 1, ..., n: medians of order statistics."""
    from scipy.special import ndtri  # imported late, as it is slow to import

    return np.asarray(ndtri((np.arange(1, n + 1) - 1.0 / 3.0) / (n + 1.0 / 3.0)))


def curvature(z: np.ndarray) -> tuple[float, float]:
    """Return 1 - R^2 of the normal plot of the values within FAR, and its 25 % limit (Royston 1993).

    The limit is kept between .008 and .03: at n = 300, no column with 20 % of its values 4 to 8 standard
    deviations out is then transformed, and 98 % of lognormal columns are.
    """
    from scipy.special import ndtr, ndtri

    z = np.sort(z[np.abs(z) <= FAR])
    n = len(z)
    if n < FEW_VALUES:
        return 1.0, 0.0
    low, high = ndtr(-FAR), ndtr(FAR)
    places = ndtri(low + (high - low) * (np.arange(1, n + 1) - 0.375) / (n + 0.25))
    r = np.corrcoef(z, places)[0, 1]
    u, v = np.log(n), np.log(np.log(n))
    limit = np.exp(-1.2725 + 1.0521 * (v - u) + 0.6745 * (1.0308 - 0.26758 * (v + 2.0 / u)))
    return float(1.0 - r**2), float(np.clip(limit, 0.008, 0.03))


def _central_power(u: np.ndarray, box_cox: bool) -> float:
    """Return the power whose normal plot is straightest in its middle, for sorted values."""
    Y = bent(u[:, None], POWERS, box_cox)
    Y -= np.median(Y, axis=0)
    mad = np.median(np.abs(Y), axis=0) / NORMAL_MAD
    off = (Y / np.where(mad > 0, mad, 1.0) - normal_places(len(u))[:, None]) / 0.5
    loss = (1.0 - (1.0 - np.clip(off, -1.0, 1.0) ** 2) ** 3).mean(axis=0)
    return float(POWERS[np.where(mad > 0, loss, np.inf).argmin()])


def likelihood_of_two_groups(x: np.ndarray) -> float:
    """Return the largest log-likelihood of a mixture of two normal distributions of equal variance.

    `x` is sorted. The EM algorithm starts from the split into low and high values that has the largest
    likelihood with every value in one group.
    """
    n = len(x)
    total = ((x - x.mean()) ** 2).sum()
    low_count = np.arange(1, n)
    high_count = n - low_count
    low_mean = np.cumsum(x)[:-1] / low_count
    high_mean = (x.sum() - low_count * low_mean) / high_count
    residual_squares = total - low_count * high_count / n * (high_mean - low_mean) ** 2
    residual_squares = np.maximum(residual_squares, np.finfo(float).eps * total)
    of_splits = low_count * np.log(low_count / n) + high_count * np.log(high_count / n)
    at = int((of_splits - 0.5 * n * np.log(residual_squares)).argmax())
    means, shares = np.array([low_mean[at], high_mean[at]]), np.array([at + 1, n - at - 1]) / n
    variance = residual_squares[at] / n
    for _ in range(EM_STEPS):
        squares = (x - means[:, None]) ** 2
        logs = np.log(shares)[:, None] - 0.5 * squares / variance
        in_group = np.exp(logs - np.logaddexp(*logs))
        counts = np.maximum(in_group.sum(axis=1), np.finfo(float).tiny)
        means, shares = in_group @ x / counts, counts / n
        variance = (in_group * (x - means[:, None]) ** 2).sum() / n
    logs = np.log(shares)[:, None] - 0.5 * (x - means[:, None]) ** 2 / variance
    return float(np.logaddexp(*logs).sum() - 0.5 * n * np.log(variance))


def power_of(u: np.ndarray, box_cox: bool, multiple: float = 1.0) -> tuple[float, float]:
    """Return the power that makes a sorted column normal except for 5 %, and the remaining curvature.

    If there is no such power, the power is 1 and the curvature infinite. The power has the largest likelihood
    of the values near the middle (Raymaekers and Rousseeuw 2024). It is not used if two groups of values have
    a larger likelihood: without this rule, 42 % of columns of 100 values, a fifth of which are shifted by 4
    standard deviations, had a power, and with it none has one; 95 % of lognormal columns have one (150
    columns). Each value represents `multiple` rows.
    """
    logs = np.log1p(u) if box_cox else np.sign(u) * np.log1p(np.abs(u))
    power = _central_power(u, box_cox)
    for _ in range(3):
        y = bent(u, power, box_cox)
        m, s = _of_ordered(y[None])
        is_central = np.abs(y - m[0]) <= CENTRAL * s[0]
        variance = bent(u[is_central, None], POWERS, box_cox).var(axis=0)
        likelihood = -0.5 * is_central.sum() * np.log(np.maximum(variance, np.finfo(float).tiny))
        likelihood += (POWERS - 1.0) * logs[is_central].sum()
        power = float(POWERS[likelihood.argmax()])
    gain = 2.0 * multiple * (likelihood.max() - likelihood[np.abs(POWERS - 1.0).argmin()])
    y = bent(u, power, box_cox)
    m, s = _of_ordered(y[None])
    if not s[0] > 0:
        return 1.0, np.inf
    z = (y - m[0]) / s[0]
    curvature_left, limit = curvature(z)
    is_usual = np.abs(z) <= FAR
    good = gain > LIKELIHOOD_GAIN and is_usual.mean() >= 1.0 - MOST_FAR and curvature_left <= limit
    if good:
        of_power = (power - 1.0) * logs[is_usual].sum()
        of_power -= 0.5 * is_usual.sum() * (1.0 + np.log(y[is_usual].var()))
        good = of_power >= likelihood_of_two_groups(u[is_usual])
    return (power, curvature_left) if good else (1.0, np.inf)


# --- columns ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Wrapping:
    """The standardisation of the cells of p columns, and the shrinkage of outlying cells.

    Attributes
    ----------
    power : ndarray of shape (p,)
        The power of each column; 1 for a column that is not transformed.
    box_cox : ndarray of bool, shape (p,)
        Whether Box and Cox's transformation is applied to x / median, instead of Yeo and Johnson's to
        (x - centre) / unit.
    centre, unit : ndarray of shape (p,)
        Centre and unit of each column, in units of the data.
    location, scale : ndarray of shape (p,)
        Location and scale of the transformed values.
    plain : ndarray of bool, shape (p,)
        Whether a column is not changed; such columns are standardised by mean and standard deviation.
    bend : float
        Cells beyond this z are outlying, and are shrunk.
    """

    power: Annotated[np.ndarray, "f p"]
    box_cox: Annotated[np.ndarray, "b p"]
    centre: Annotated[np.ndarray, "f p"]
    unit: Annotated[np.ndarray, "f p"]
    location: Annotated[np.ndarray, "f p"]
    scale: Annotated[np.ndarray, "f p"]
    plain: Annotated[np.ndarray, "b p"]
    bend: float = BEND

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray | None = None) -> Wrapping:
        """Return the rules for the columns of X, shape (n, p), in which NaN is a missing value."""
        Y = _Ordered.of(X, weights)
        centre, spread = Y.medians()
        plain = Y.few() | Y.piled_up() | (Y.location_and_scale()[1] <= 0)
        p = X.shape[1]
        power, box_cox = np.ones(p), np.zeros(p, dtype=bool)
        unit = np.where(plain, 1.0, spread)
        for j in np.flatnonzero(~plain & Y.skewed()).tolist():
            x = Y.column(j)
            power[j], curvature_left = power_of((x - centre[j]) / unit[j], False, Y.multiple(j))
            if x[0] > 0:
                box_cox_power, straighter = power_of(x / centre[j] - 1.0, True, Y.multiple(j))
                if straighter < curvature_left:
                    power[j], box_cox[j], unit[j] = box_cox_power, True, centre[j]
        zero = np.zeros(p)
        wrapping = cls(power, box_cox, centre, unit, zero, np.ones(p), plain)
        return wrapping._located(Y, X, weights)

    def located(self, X: np.ndarray, weights: np.ndarray | None = None) -> Wrapping:
        """Return the same transformations with the locations and scales of these rows.

        If the middle half of a column does not vary in these rows, its location and scale are retained.
        """
        return self._located(_Ordered.of(X, weights), X, weights)

    def _located(self, Y: _Ordered, X: np.ndarray, weights: np.ndarray | None) -> Wrapping:
        """Return the rules with locations and scales of the rows `X`, whose values in order are `Y`."""
        location, scale = Y.transformed(self).location_and_scale()
        plain = np.flatnonzero(self.plain)
        if len(plain):
            U = self.of_columns(plain).transformed(X[:, plain])
            location[plain], scale[plain] = mean_and_sd(U, weights)
        varies = scale > 0
        location, scale = np.where(varies, location, self.location), np.where(varies, scale, self.scale)
        return replace(self, location=location, scale=scale)

    def of_columns(self, columns: np.ndarray) -> Wrapping:
        """Return the rules for some of the columns."""
        arrays = {name: value[columns] for name, value in vars(self).items() if name != "bend"}
        return replace(self, **arrays)

    def bent_for(self, X: np.ndarray, weights: np.ndarray | None) -> Wrapping:
        """Return the rules with the `bend` for these rows; see :func:`bend_of`."""
        return replace(self, bend=bend_of(self.standardised(X)[:, ~self.plain], weights))

    def transformed(self, X: np.ndarray) -> np.ndarray:
        """Return the centred values after the power transformation, before they are standardised."""
        with np.errstate(over="ignore"):
            U = X - self.centre
            U /= self.unit
        np.clip(U, -FARTHEST, FARTHEST, out=U)
        is_bent = self.power != 1.0
        if is_bent.any():
            U[:, is_bent] = bent(U[:, is_bent], self.power[is_bent], self.box_cox[is_bent])
        return U

    def standardised(self, X: np.ndarray) -> np.ndarray:
        """Return the z-values of cells, shape (n, p), of rows in the units of the data."""
        z = self.transformed(X)
        z -= self.location
        z /= self.scale
        return z

    def restored(self, z: np.ndarray) -> np.ndarray:
        """Return the cells, in the units of the data, that have these z-values."""
        U = self.location + self.scale * z
        is_bent = self.power != 1.0
        if is_bent.any():
            U[:, is_bent] = unbent(U[:, is_bent], self.power[is_bent], self.box_cox[is_bent])
        return np.asarray(self.centre + self.unit * U)

    def outlying(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows and columns of cells beyond `bend`, shape (m, 2), and their z-values."""
        z = self.standardised(X)
        places = np.argwhere((np.abs(z) > self.bend) & ~self.plain)
        return places, z[tuple(places.T)]

    def cleaned(self, X: np.ndarray, z: np.ndarray | None = None) -> np.ndarray:
        """Return the rows with cells beyond `bend` shrunk; other cells are unchanged."""
        z = self.standardised(X) if z is None else z
        at = np.nonzero((np.abs(z) > self.bend) & ~self.plain)
        if not len(at[0]):
            return X
        X = X.copy()
        X[at] = self.of_columns(at[1]).restored(wrapped(z[at], self.bend)[None])[0]
        return X


@dataclass(frozen=True, eq=False)
class _Ordered:
    """Sorted known values of p columns, at most ORDER_STATISTICS of each column.

    Attributes
    ----------
    blocks : list
        Indices of columns, shape (c,), and their sorted values, shape (c, m), for each number m of values.
    totals : ndarray of shape (p,)
        Number of rows that these values represent; a row of weight 2 counts twice.
    """

    blocks: list[tuple[np.ndarray, np.ndarray]]
    totals: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray | None) -> _Ordered:
        is_known = ~np.isnan(X)
        if weights is None and is_known.all():
            Y = _sorted_columns(X)[:, spaced(len(X))]
            return cls([(np.arange(len(Y)), Y)], np.full(len(Y), float(len(X))))
        columns = [representatives(x, weights) for x in X.T]
        lengths = np.array([len(x) for x in columns])
        indices = [np.flatnonzero(lengths == length) for length in np.unique(lengths)]
        blocks = [
            (columns_of_length, np.stack([columns[j] for j in columns_of_length.tolist()]))
            for columns_of_length in indices
        ]
        return cls(blocks, is_known.sum(axis=0) if weights is None else weights @ is_known)

    def column(self, j: int) -> np.ndarray:
        """Return the sorted values of a column, shape (m,)."""
        return next(
            Y[np.searchsorted(block_columns, j)] for block_columns, Y in self.blocks if j in block_columns
        )

    def multiple(self, j: int) -> float:
        """Return how many rows each value of a column represents."""
        return float(self.totals[j]) / max(len(self.column(j)), 1)

    def transformed(self, wrapping: Wrapping) -> _Ordered:
        """Return the centred values after the power transformation, in the same order."""
        blocks = [
            (block_columns, wrapping.of_columns(block_columns).transformed(Y.T).T)
            for block_columns, Y in self.blocks
        ]
        return _Ordered(blocks, self.totals)

    def _by_column(
        self, statistic: Callable[[np.ndarray], np.ndarray], smallest_length: int = 1
    ) -> np.ndarray:
        """Return a statistic of every column, shape (..., p); too short columns are replaced by zeros."""
        statistics = [
            (
                block_columns,
                statistic(Y if Y.shape[1] >= smallest_length else np.zeros((len(Y), smallest_length))),
            )
            for block_columns, Y in self.blocks
        ]
        result = np.zeros((*statistics[0][1].shape[:-1], len(self.totals)), dtype=statistics[0][1].dtype)
        for block_columns, values in statistics:
            result[..., block_columns] = values
        return result

    def location_and_scale(self) -> tuple[np.ndarray, np.ndarray]:
        location, scale = self._by_column(lambda Y: np.stack(_of_ordered(Y)), smallest_length=2)
        return location, scale

    def medians(self) -> tuple[np.ndarray, np.ndarray]:
        """Return medians, and median absolute deviations divided by those of a standard normal variable."""

        def centre_and_spread(Y: np.ndarray) -> np.ndarray:
            centre = np.median(Y, axis=1)
            return np.stack([centre, np.median(np.abs(Y - centre[:, None]), axis=1) / NORMAL_MAD])

        centre, spread = self._by_column(centre_and_spread)
        return centre, spread

    def few(self) -> np.ndarray:
        """Whether each column has at most FEW_VALUES different values."""
        return self._by_column(lambda Y: (np.diff(Y, axis=1) > 0).sum(axis=1) < FEW_VALUES)

    def piled_up(self) -> np.ndarray:
        """Whether the values at PILE_START and PILE_END are equal, counted from below or from above."""

        def is_one_value(Y: np.ndarray) -> np.ndarray:
            start, end = int(PILE_START * Y.shape[1]), ceil(PILE_END * Y.shape[1]) - 1
            return (Y[:, start] == Y[:, end]) | (Y[:, -1 - start] == Y[:, -1 - end])

        return self._by_column(is_one_value)

    def skewed(self) -> np.ndarray:
        """Whether the outer deciles are asymmetric by more than two standard errors under normality."""
        low, mid, high = self._by_column(lambda Y: np.quantile(Y, [0.1, 0.5, 0.9], axis=1))
        return np.abs(high + low - 2.0 * mid) > 2.1 / np.sqrt(np.maximum(self.totals, 1)) * (high - low)


def columnwise_location_and_scale(X: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return robust locations and scales of columns that may have missing values; rows may have weights."""
    return _Ordered.of(X, weights).location_and_scale()


def mean_and_sd(U: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations of the known cells of columns."""
    w = weights_or_ones(weights, len(U))
    is_known = ~np.isnan(U)
    if is_known.all():
        total, is_known = np.full(U.shape[1], w.sum()), np.ones(())
    else:
        total, U = w @ is_known, np.where(is_known, U, 0.0)
    total = np.maximum(total, np.finfo(float).tiny)
    mean = (w @ U) / total
    return mean, np.sqrt((w @ (is_known * (U - mean) ** 2)) / total)
