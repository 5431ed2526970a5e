"""Fits along a path of cardinalities, each started from the previous fit if the method allows it.

He, Monteiro and Park (2010), Figure 1, draw the variance of such a path against the cardinality.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spcastat.config import elements, is_single, whole_number
from spcastat.engine import Fit, Plan, run, run_path
from spcastat.engine.options import cardinalities
from spcastat.engine.order_and_sign import settle
from spcastat.errors import CardinalityError
from spcastat.measures import adjusted_variances
from spcastat.operators import Operator
from spcastat.progress import stage
from spcastat.search.joint_method import Joint
from spcastat.solvers import Solution
from spcastat.solvers.greedy import Greedy, Growth

Cards = tuple[int, ...]

#: Largest number of cardinalities above 10 in the default grid.
GRID = 10
#: Largest number of fits in a path.
MOST_FITS = 100_000


def path_cards(cards: Any, k: int, p: int, rank: int | None = None) -> tuple[list[Any], list[Cards]]:
    """Return the ascending cardinalities of a path, as keys of its fits and as tuples of length k.

    Parameters
    ----------
    cards : None, int, or sequence of ints or of sequences of k ints
        At most MOST_FITS cardinalities. None gives a grid from 1 to the rank, and p; an int gives all
        numbers up to it.
    k, p : int
    rank : int, optional
        Rank of the centred data; p by default. With as many nonzeros, components can explain as much as PCA
        (PEV), as all scores are combinations of that many linearly independent columns.

    Raises
    ------
    CardinalityError
        If a cardinality is not possible, or `cards` is empty.
    """
    if cards is None:
        last = max(p if rank is None else rank, 10)
        further = np.geomspace(10, last, GRID).round().astype(int).tolist()
        cards = sorted({*range(1, min(p, 10) + 1), *(card for card in further if card <= p), p})
    elif is_single(cards):
        cards = range(1, whole_number("cards", cards, 1, p, CardinalityError) + 1)
    elif len(cards := elements(cards, MOST_FITS)) > MOST_FITS:
        raise CardinalityError(f"cards holds more than {MOST_FITS:,} cardinalities, the maximum; give fewer.")
    found: dict[Any, Cards] = {}
    for card in cards:
        wanted = cardinalities(card, k, p)
        found[wanted[0] if is_single(card) and not isinstance(card, Mapping) else wanted] = wanted
    if not found:
        raise CardinalityError("cards is empty; give one cardinality or more.")
    if len({isinstance(key, tuple) for key in found}) > 1:
        raise CardinalityError("cards mixes numbers and sequences; give one kind.")
    keys = sorted(found, key=lambda key: (sum(found[key]), found[key]))
    return keys, [found[key] for key in keys]


def fit_path(op: Operator, plan: Plan, cards: Sequence[Cards], seed: int) -> list[Fit]:
    """Fit every cardinality in turn.

    Parameters
    ----------
    op : Operator
    plan : Plan
        A method with a field `card`, whose value is not used.
    cards : sequence of tuples of k ints
        In ascending order, so that each fit is a good start for the next.
    seed : int
        Seed of the random starts of every fit.

    Returns
    -------
    list of Fit

    Notes
    -----
    The supports of the first greedy component are nested, so that with one component the whole path costs as
    much as its last fit. A joint method uses the previous solution as one more start besides PCA, so that no
    fit is worse than a separate fit. If the previous loadings are feasible for the next fit, as for the l0
    methods, the criterion never decreases along the path.
    """
    solver, k = plan.solver, len(cards[0])
    if isinstance(solver, Greedy) and k == 1 and solver.c == 1:
        return _nested(op, solver, [card[0] for card in cards])
    if isinstance(solver, Joint) and plan.order != "best" and not solver.ruled:
        return run_path(op, plan, cards, seed)
    fits: list[Fit] = []
    with stage("path", len(cards), "fits") as advance:
        for card in cards:
            before = fits[-1].solution.V.T[None] if fits else None
            rng = np.random.default_rng(seed)
            fits.append(run(op, plan.with_card(card), k, rng, before))
            advance(1)
    return fits


def _nested(op: Operator, solver: Greedy, cards: Sequence[int]) -> list[Fit]:
    """Grow one support and record the fit at every cardinality."""
    pca = op.leading(1)[0]
    growth = Growth(op, solver.exact)
    fits = []
    with stage("path", len(cards), "fits") as advance:
        for card in cards:
            steps = card - growth.support.size
            for _ in range(steps):
                growth.add(1)
            V, order = settle(op, growth.leading()[1][:, None], np.zeros(1))
            value = float(adjusted_variances(V, op).sum()) * op.unit**2
            fits.append(Fit(Solution(V, "exact", card, value, np.array([value])), order, pca))
            advance(1)
    return fits
