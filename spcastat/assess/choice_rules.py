"""The rules by which one of several fits is chosen: sparse, and nearly as good as the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

#: The rules; see `by_errors`.
RULES = ("worth", "keep", "1se", "paired", "min")
#: Required improvement per further loading, as a share of the mean improvement per loading of the fit, if
#: prediction is best with all loadings. It drops loadings below .45 of the root mean square of their
#: component.
WORTH = 0.2
#: The choice explains at least this share of what the best fit explains.
LEAST_KEPT = 0.8
#: Difference in EBIC "not worth more than a bare mention": Kass and Raftery (1995), "Bayes factors".
BARE_MENTION = 2.0


@dataclass(frozen=True)
class Limit:
    """What a rule requires.

    Attributes
    ----------
    cells : int
        Number of all loadings, variables times components.
    share : float
        For the rule "keep": the share of the best prediction that is kept.
    """

    cells: int
    share: float = 0.9

    def price(self, within: int) -> float:
        """Return the required improvement per further loading, relative to the mean of the fit.

        `within` is the number of loadings of the sparsest fit that predicts as well as the best. If this is a
        sparse one, even small loadings are not noise, and are kept.
        """
        return float(WORTH * np.sqrt(within / self.cells))

    def passed(
        self, explained: np.ndarray, surely: np.ndarray, sizes: np.ndarray, within: int, best: float
    ) -> np.ndarray:
        """Return for each of m fits whether no larger fit is worth its further loadings, shape (m,).

        Parameters
        ----------
        explained : ndarray of shape (m,)
            The share g of the variance that each fit predicts.
        surely : ndarray of bool, shape (m, m)
            Whether fit j predicts better than fit i by more than one standard error.
        sizes : ndarray of shape (m,)
            Number of loadings s of each fit.
        within : int
            Index of the sparsest fit that predicts as well as the best.
        best : float
            The largest share of all fits, dense PCA included.

        Notes
        -----
        A larger fit with s' loadings is worth it if it is better by more than one standard error and by more
        than .2 sqrt(q) (s' - s) g / s, where q is the share of loadings of `within`. A fit that explains less
        than LEAST_KEPT of what the best explains does not pass if any is clearly better: many small
        improvements add up. Nor does a fit if one with no more loadings is clearly better.
        """
        explained = np.maximum(explained, 0.0)
        each = self.price(int(sizes[within])) * explained / sizes
        further = sizes - sizes[:, None]
        worth = surely & (further > 0) & (explained - explained[:, None] > further * each[:, None])
        beaten = surely & (sizes <= sizes[:, None])
        passed = ~(worth | beaten).any(axis=1)
        return np.asarray(passed & (~surely.any(axis=1) | (explained >= LEAST_KEPT * best)))


def by_errors(errors: Errors, sizes: Sequence[int], rule: str, limit: Limit) -> tuple[int, int]:
    """Return the choice by a rule among cross-validated fits, and the fit with the smallest error.

    Parameters
    ----------
    errors : Errors
        Errors of m fits, and then of dense PCA.
    sizes : sequence of m ints
        Their numbers of loadings; of equal errors, fewer loadings are preferred.
    rule : {"worth", "keep", "1se", "paired", "min"}
        The sparsest fit to which no further loadings are worth adding; the sparsest that keeps a share of the
        best prediction; the sparsest within one standard error of the smallest error (Breiman, Friedman,
        Olshen and Stone 1984); or within that of the difference, paired by fold, which is much smaller; or
        the fit with the smallest error.
    limit : Limit
    """
    m = len(sizes)
    error, most = errors.error[:m], 1.0 - float(errors.error.min())
    best = min(range(m), key=lambda i: (error[i], sizes[i]))
    away, se = errors.excess(best)
    width = np.full(m, errors.spread(errors.relative)[best]) if rule == "1se" else se[:m]
    within = _sparsest(away[:m] <= width, sizes, error)
    if rule == "keep":
        enough = 1.0 - error >= limit.share * most - 1e-12
        return (_sparsest(enough, sizes, error) if enough.any() and most > 0 else best), best
    if rule != "worth":
        return (best if rule == "min" else within), best
    passed = limit.passed(1.0 - error, errors.surely(m), np.array(sizes), within, most)
    return (_sparsest(passed, sizes, error) if passed.any() else best), best


def by_ebic(
    values: np.ndarray, errors: np.ndarray, sizes: Sequence[int], rule: str, limit: Limit
) -> tuple[int, int]:
    """Return the choice by a rule among fits with an EBIC, and the fit with the smallest EBIC.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The EBIC of every fit.
    errors : ndarray of shape (m,)
        Their in-sample prediction errors, as shares of the variance.
    sizes, rule, limit
        See :func:`by_errors`. A difference of 2 in EBIC takes the place of one standard error.
    """
    best = int(np.argmin(values))
    within = _sparsest(values < values[best] + BARE_MENTION, sizes, values)
    if rule != "worth":
        return (best if rule == "min" else within), best
    explained, surely = 1.0 - errors, values[:, None] - values > BARE_MENTION
    most = float(explained[~surely.any(axis=1)].max())
    passed = limit.passed(explained, surely, np.array(sizes), within, most)
    return (_sparsest(passed, sizes, errors) if passed.any() else best), best


def _sparsest(which: np.ndarray, sizes: Sequence[int], errors: np.ndarray) -> int:
    return min(np.flatnonzero(which).tolist(), key=lambda i: (sizes[i], errors[i]))


# --- errors by fold ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Errors:
    """Sums of squared errors by fold.

    Attributes
    ----------
    press : ndarray of shape (repeats, folds, m)
        Sums for each of m candidates.
    mean : ndarray of shape (repeats, folds)
        Sums for prediction by the column means of the other rows.
    weight : ndarray of shape (repeats, folds)
        Number of rows, or sum of their weights; with missing values, measured cells over the number of
        columns.
    """

    press: np.ndarray
    mean: np.ndarray
    weight: np.ndarray

    @cached_property
    def relative(self) -> np.ndarray:
        """Mean squared errors relative to the error of the column means, shape (repeats, folds, m).

        The error of the column means is that over all folds of the repeat.
        """
        unit = self.mean.sum(axis=1) / self.weight.sum(axis=1)
        return np.asarray(self.press / self.weight[:, :, None] / unit[:, None, None])

    @property
    def of_means(self) -> np.ndarray:
        """Relative errors of the column means by fold, shape (repeats, folds, 1)."""
        unit = self.mean.sum(axis=1) / self.weight.sum(axis=1)
        return np.asarray(self.mean / self.weight / unit[:, None])[:, :, None]

    def divisions(self) -> Iterator[Errors]:
        """Yield the errors of every division into folds."""
        for number in range(len(self.press)):
            part = slice(number, number + 1)
            yield Errors(self.press[part], self.mean[part], self.weight[part])

    def average(self, values: np.ndarray) -> np.ndarray:
        """Return the mean of values, shape (repeats, folds, m), over folds and repeats, shape (m,)."""
        shares = self.weight / self.weight.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("rf,rfm->rm", shares, values).mean(axis=0))

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return the standard error of the mean that `average` returns, shape (m,).

        It is the standard error of the mean over the folds of one repeat, as the root mean square over
        repeats. More repeats do not reduce it, since they are not independent.
        """
        folds = values.shape[1]
        variances: np.ndarray = values.var(axis=1, ddof=1) / folds
        return np.sqrt(variances.mean(axis=0))

    @property
    def error(self) -> np.ndarray:
        """Relative error of each candidate, shape (m,)."""
        return self.average(self.relative)

    def excess(self, other: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the difference of each error from that of candidate `other`, and its standard error."""
        away = self.relative - self.relative[:, :, other : other + 1]
        return self.average(away), self.spread(away)

    def surely(self, m: int) -> np.ndarray:
        """Return whether candidate j is better than i by more than one standard error, shape (m, m)."""
        differences = [self.excess(j) for j in range(m)]
        return np.stack([(away > se)[:m] for away, se in differences], axis=1)
