"""The joint search in brief: the optimum near given loadings, for fits made hundreds of times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spcastat.operators import Operator
from spcastat.search.climbing import LONG, climbed
from spcastat.search.default import HELD, held, products
from spcastat.search.fixed import refined
from spcastat.search.order import reordered
from spcastat.search.pool import from_directions
from spcastat.search.sweeps import swept

#: Sweeps of every start, at most.
SWEEPS = 4
#: Variables that are tried in the exchanges of a component, and those of them that are valued.
WIDTH, VALUED = 24, 6


def near(
    op: Operator, card: tuple[int, ...], objective: str, starts: Sequence[np.ndarray], fixed: bool = False
) -> np.ndarray:
    """Return the best of the fits that sweeps and one climb of exchanges reach from given loadings.

    Parameters
    ----------
    op : Operator
        Of p variables, with rank k or more.
    card : tuple of int
    objective : {"adjusted", "pev", "least_squares"}
    starts : sequence of ndarray of shape (p, k)
        Cut to the cardinalities first.
    fixed : bool
        Keep the supports, and ascend on them alone.

    Returns
    -------
    ndarray of shape (p, k)
        Unit loadings. With more than 1000 variables there are sweeps and no exchanges.
    """
    if op.p <= HELD:
        S = op.block(np.arange(op.p)) / op.total
        criterion = held(0.5 * (S + S.T), card, objective)
    else:
        criterion = products(op, card, objective)
    fits = from_directions(criterion, list(starts))
    if not fixed:
        fits = reordered(criterion, swept(criterion, fits, SWEEPS))
        if op.p <= HELD:
            fits = climbed(criterion, fits, WIDTH, VALUED)
    best = fits.some(np.argsort(-fits.value, kind="stable")[:1])
    return criterion.dense(refined(criterion, best, LONG))[0]
