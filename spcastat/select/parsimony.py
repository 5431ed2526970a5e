"""Rules of choice: how much more error than the best fit a sparser one may have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spcastat.select.crossvalidation import Errors

#: The rules; see `by_errors`.
RULES = ("worth", "1se", "paired", "min")
#: The share of `Limit`: loadings below .45 of the root mean square of their component are dropped.
WORTH = 0.2
#: Fits whose EBIC exceeds the smallest by less are as good: Kass and Raftery (1995), "Bayes factors".
BARE_MENTION = 2.0


@dataclass(frozen=True)
class Limit:
    """What a further loading must bring under the rule "worth".

    Attributes
    ----------
    cells : int
        The most loadings there can be, variables times components.
    dense : float, optional
        The share of these that prediction wants; by default that of the fits between which is chosen.
    nested : bool
        Whether the fits differ in one component, the first has one loading there, and only what this
        component explains counts.
    share : float
        What a further loading must bring where prediction is best with all loadings, as a share of what the
        loadings of the fit bring on average.
    """

    cells: int
    dense: float | None = None
    nested: bool = False
    share: float = WORTH

    def passed(self, errors: np.ndarray, surely: np.ndarray, sizes: np.ndarray, within: int) -> np.ndarray:
        """Return which of m fits have no larger one that is worth it, shape (m,).

        Parameters
        ----------
        errors : ndarray of shape (m,)
            Errors of prediction, as shares of those of the column means.
        surely : ndarray of bool, shape (m, m)
            Whether fit j predicts better than fit i by more than chance.
        sizes : ndarray of shape (m,)
            The number of loadings of each fit.
        within : int
            The sparsest fit of those that predict as well as the best.

        Notes
        -----
        A fit with s loadings explains g. A larger one, with s' loadings, is worth it if it surely predicts
        better, and by more than share sqrt(dense) (s' - s) g / s. Where prediction is best with all variables
        this drops loadings below .45 of the root mean square of their component; where it is best with few
        of them, the small loadings among these are not noise, and are kept.
        """
        dense = sizes[within] / self.cells if self.dense is None else self.dense
        explained = np.maximum((errors[0] if self.nested else 1.0) - errors, 0.0)
        each = self.share * np.sqrt(dense) * explained / sizes
        further = sizes - sizes[:, None]
        better = surely & (further > 0) & (errors[:, None] - errors > further * each[:, None])
        passed: np.ndarray = ~better.any(axis=1)
        return passed


def by_errors(errors: Errors, sizes: Sequence[int], rule: str, limit: Limit) -> tuple[int, int]:
    """Return the choice by a rule among cross-validated fits, and the fit with the smallest error.

    Parameters
    ----------
    errors : Errors
        Of m fits, the first of those that it holds.
    sizes : sequence of m ints
        Their loadings; of equal errors, the fewer the better.
    rule : {"worth", "1se", "paired", "min"}
        The sparsest fit to which no further loadings are worth adding; the sparsest within one standard error
        of the smallest error (Breiman, Friedman, Olshen and Stone 1984); or within that of the difference,
        paired by fold, which is much smaller; or the fit with the smallest error.
    limit : Limit
    """
    m = len(sizes)
    error = errors.error[:m]
    best = min(range(m), key=lambda i: (error[i], sizes[i]))
    away, se = errors.excess(best)
    width = np.full(m, errors.se[best]) if rule == "1se" else se[:m]
    within = _sparsest(away[:m] <= width, sizes, error)
    if rule != "worth":
        return (best if rule == "min" else within), best
    passed = limit.passed(error, errors.surely(m), np.array(sizes), within)
    return _sparsest(passed, sizes, error), best


def by_ebic(
    values: np.ndarray, errors: np.ndarray, sizes: Sequence[int], rule: str, limit: Limit
) -> tuple[int, int]:
    """Return the choice by a rule among fits with an EBIC, and the fit with the smallest one.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The EBIC of every fit.
    errors : ndarray of shape (m,)
        Their errors of prediction in the data that they were fitted to, as shares of the variance.
    sizes, rule, limit
        See :func:`by_errors`. An EBIC that is lower by 2 stands in the place of the standard error.
    """
    best = int(np.argmin(values))
    within = _sparsest(values < values[best] + BARE_MENTION, sizes, values)
    if rule != "worth":
        return (best if rule == "min" else within), best
    passed = limit.passed(errors, values[:, None] - values > BARE_MENTION, np.array(sizes), within)
    return _sparsest(passed, sizes, errors), best


def _sparsest(which: np.ndarray, sizes: Sequence[int], errors: np.ndarray) -> int:
    return min(np.flatnonzero(which).tolist(), key=lambda i: (sizes[i], errors[i]))
