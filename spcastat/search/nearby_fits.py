"""A short joint search for the optimum near given loadings, used where hundreds of fits are made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spcastat.operators import Operator
from spcastat.search.climbing import LONG, climbed, swept
from spcastat.search.component_order import reordered
from spcastat.search.criterion import Criterion, Fits
from spcastat.search.default import HELD
from spcastat.search.fixed_supports import refined
from spcastat.search.objectives import held, products
from spcastat.search.rule import SupportRule
from spcastat.search.starting_fits import from_directions


def together(p: int) -> int:
    """Return how many covariance matrices of p variables to search at once."""
    return int(np.clip(400_000 // p**2, 1, 100))


def near(
    ops: Sequence[Operator],
    card: tuple[int, ...],
    objective: str,
    starts: Sequence[Sequence[np.ndarray]],
    fixed: bool = False,
    rule: SupportRule | None = None,
) -> list[np.ndarray]:
    """Return for each of several data sets the best fit that sweeps and one climb reach from given loadings.

    Parameters
    ----------
    ops : sequence of Operator
        Of p variables, with rank k or more.
    card : tuple of int
    objective : {"adjusted", "pev", "least_squares"}
    starts : sequence of sequences of ndarray of shape (p, k)
        Starts for each data set, the same number for all. They are cut to the cardinalities first.
    fixed : bool
        Keep the supports, and optimise the loadings only.
    rule : SupportRule, optional
        The supports that are allowed, on up to 1000 variables.

    Returns
    -------
    list of ndarray of shape (p, k)
        Unit loadings. With more than 1000 variables there are sweeps but no exchanges.
    """
    large = ops[0].p > HELD
    if large and len(ops) > 1:
        return [near([op], card, objective, [own], fixed)[0] for op, own in zip(ops, starts, strict=True)]
    criterion = products(ops[0], card, objective) if large else several(ops, card, objective).under(rule)
    fits = fits_at_starts(criterion, starts)
    if not fixed:
        fits = reordered(criterion, swept(criterion, fits, 4))
        fits = fits if large else climbed(criterion, fits, 24, 6)
    return list(criterion.dense(refined(criterion, best_of_each(fits, len(ops)), LONG)))


def several(ops: Sequence[Operator], card: tuple[int, ...], objective: str) -> Criterion:
    """Return the criterion of the covariance matrices of operators of up to 1000 variables."""
    every = np.arange(ops[0].p)
    S = np.stack([op.block(every) / op.total for op in ops])
    S = 0.5 * (S + S.mT)
    return held(S if len(ops) > 1 else S[0], card, objective)


def fits_at_starts(criterion: Criterion, starts: Sequence[Sequence[np.ndarray]]) -> Fits:
    """Return the starts as fits: dense loadings truncated to the allowed supports, not yet improved.

    `starts[i]` has the loadings for data set i; every data set has the same number of starts.
    """
    of = np.repeat(np.arange(len(starts)), len(starts[0]))
    return from_directions(criterion, [V for own in starts for V in own], of)


def best_of_each(fits: Fits, count: int) -> Fits:
    """Return the best fit for each of `count` data sets; of ties the first."""
    order = np.lexsort((-fits.value, fits.of))
    return fits.some(order[np.searchsorted(fits.of[order], np.arange(count))])
