"""The fewest nonzeros, over all components together, that keep a share of the variance."""

from __future__ import annotations

import numpy as np

from spcastat.progress import Advance, stage
from spcastat.search.ascent import SHORT, refine
from spcastat.search.joint import search
from spcastat.search.objectives import Objective

#: A first cut takes this share of the nonzeros at once while the promise holds.
FIRST_CUT = 0.1
#: The smallest loadings, at most so many, are tried for removal.
TRIED = 30


def sparsest(
    objective: Objective, V: np.ndarray, goal: float, patience: int, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Take nonzeros away while the objective can be kept at `goal`.

    Parameters
    ----------
    objective : Objective
    V : ndarray of shape (m, k)
        Loadings that reach the goal.
    goal : float
        As a share of the total variance.
    patience : int
        Vain rounds of joint search, at each number of nonzeros, before it is given up.
    rng : numpy Generator

    Returns
    -------
    value : float
    V : ndarray of shape (m, k)
        Every component keeps at least one nonzero.
    """
    with stage("fewest nonzeros", unit="nonzeros tried") as advance:
        return _cut_down(objective, V, goal, patience, rng, advance)


def _cut_down(
    objective: Objective,
    V: np.ndarray,
    goal: float,
    patience: int,
    rng: np.random.Generator,
    advance: Advance,
) -> tuple[float, np.ndarray]:
    value, V = refine(objective, V)
    cut = max(1, int(FIRST_CUT * np.count_nonzero(V)))
    while True:
        fewer = V
        for _ in range(cut):
            fewer = _without_one(objective, fewer)
            advance(1)
        if np.count_nonzero(fewer) == np.count_nonzero(V):
            return value, V
        new, W = refine(objective, fewer)
        if new < goal and cut == 1:
            new, W, _ = search(objective, fewer, patience, rng, goal=goal, transfers=True)
        if new >= goal:
            value, V = new, W
        elif cut == 1:
            return value, V
        else:
            cut = max(1, cut // 2)


def _without_one(objective: Objective, V: np.ndarray) -> np.ndarray:
    """Return V without the nonzero whose loss costs least; a component's last nonzero stays."""
    cards = np.count_nonzero(V, axis=0)
    rows, columns = np.nonzero(V * (cards > 1))
    if rows.size == 0:
        return V
    small = np.argsort(np.abs(V[rows, columns]), kind="stable")[:TRIED]
    best, kept = -np.inf, V
    for place in small:
        W = V.copy()
        W[rows[place], columns[place]] = 0.0
        value, W = refine(objective, W, SHORT)
        if value > best and np.count_nonzero(W) == cards.sum() - 1:
            best, kept = value, W
    return kept
