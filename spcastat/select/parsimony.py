"""Rules of choice between fits, which trade prediction error for sparsity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spcastat.select.crossvalidation import Errors

#: The rules; see `by_errors`.
RULES = ("worth", "1se", "paired", "min")
#: Default for `Limit.share`: drops loadings below .45 of the root mean square of their component.
WORTH = 0.2
#: Difference in EBIC "not worth more than a bare mention": Kass and Raftery (1995), "Bayes factors".
BARE_MENTION = 2.0


@dataclass(frozen=True)
class Limit:
    """The improvement required of further loadings under the rule "worth".

    Attributes
    ----------
    cells : int
        Number of all loadings, variables times components.
    dense : float, optional
        The share of loadings in the best-predicting fit; by default that among the candidates.
    nested : bool
        Whether the fits differ in one component only, of which the first fit has one loading; then only
        the variance explained by this component counts.
    share : float
        Required improvement per further loading, as a share of the mean improvement per loading of the fit,
        if prediction is best with all loadings.
    """

    cells: int
    dense: float | None = None
    nested: bool = False
    share: float = WORTH

    def passed(self, errors: np.ndarray, surely: np.ndarray, sizes: np.ndarray, within: int) -> np.ndarray:
        """Return which of m fits have no larger fit that is worth its further loadings, shape (m,).

        Parameters
        ----------
        errors : ndarray of shape (m,)
            Prediction errors relative to those of the column means.
        surely : ndarray of bool, shape (m, m)
            Whether fit j predicts better than fit i by more than one standard error.
        sizes : ndarray of shape (m,)
            Number of loadings of each fit.
        within : int
            Index of the sparsest fit that predicts as well as the best.

        Notes
        -----
        Let g be the variance explained by a fit with s loadings. A larger fit with s' loadings is worth it if
        it is better by more than one standard error and by more than share sqrt(dense) (s' - s) g / s. If
        prediction is best with all variables, this drops loadings below .45 of the root mean square of their
        component. If it is best with few, small loadings among these are not noise and are kept.
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
        Errors of m fits, which come first in `errors`.
    sizes : sequence of m ints
        Their numbers of loadings; of equal errors, fewer loadings are preferred.
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
    passed = limit.passed(errors, values[:, None] - values > BARE_MENTION, np.array(sizes), within)
    return _sparsest(passed, sizes, errors), best


def _sparsest(which: np.ndarray, sizes: Sequence[int], errors: np.ndarray) -> int:
    return min(np.flatnonzero(which).tolist(), key=lambda i: (sizes[i], errors[i]))
