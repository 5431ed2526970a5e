"""Joint search: the supports and loadings of all components together, beyond a first local optimum."""

from __future__ import annotations

import numpy as np

from spcastat.progress import stage
from spcastat.search.ascent import GAIN, added_column, climb, refine
from spcastat.search.objectives import Objective
from spcastat.search.optima import Optima

#: Gains below this are left to the final climb.
ROUGH = 1e-5
#: A search may go on from an optimum that is worse by up to this, and so leaves the best it has ...
SLACK = 3e-3
#: ... to which it returns every so many vain rounds; and after so many it begins anew with all components.
RETURN, RESTART = 20, 50


def search(
    objective: Objective,
    V: np.ndarray,
    patience: int,
    rng: np.random.Generator,
    goal: float = np.inf,
    transfers: bool = False,
) -> tuple[float, np.ndarray, Optima]:
    """Take components out, build them anew beside the others, climb; stop after `patience` vain rounds.

    Parameters
    ----------
    objective : Objective
    V : ndarray of shape (m, k)
        Where to start.
    patience : int
    rng : numpy Generator
    goal : float
        A value that ends the search at once.
    transfers : bool
        Whether nonzeros may pass from one component to another; otherwise every column keeps its number.

    Returns
    -------
    value : float
    V : ndarray of shape (m, k)
    optima : Optima
    """
    value, V = climb(objective, V, ROUGH)
    best, best_value = V, value
    optima = Optima()
    optima.add(value)
    vain = 0
    with stage("joint search", unit="rounds") as advance:
        while vain < patience and best_value < goal:
            vain += 1
            advance(1)
            fresh = vain % RESTART == 0
            if vain % RETURN == 0:
                value, V = best_value, best
            trial = rebuilt(objective, V, rng, transfers, everything=fresh)
            if trial is None:
                continue
            new, W = climb(objective, trial, ROUGH)
            optima.add(new)
            if fresh or new > value - SLACK * rng.random():
                value, V = new, W
            if new > best_value + GAIN:
                vain = 0 if new > best_value + ROUGH else vain
                best_value, best = new, W
    if best_value < goal < np.inf:
        return best_value, best, optima
    value, V = climb(objective, best, GAIN)
    value, V = refine(objective, V)
    optima.polish(value)
    return value, V, optima


def rebuilt(
    objective: Objective, V: np.ndarray, rng: np.random.Generator, transfers: bool, everything: bool = False
) -> np.ndarray | None:
    """Return V with one to three of its components built anew, in random order; None where that fails."""
    k = V.shape[1]
    cards = np.count_nonzero(V, axis=0)
    chosen = rng.choice(k, size=k if everything else int(rng.integers(1, min(3, k) + 1)), replace=False)
    if transfers and len(chosen) > 1 and cards[chosen[0]] > 1 and cards[chosen[1]] < len(V):
        cards[chosen[0]] -= 1
        cards[chosen[1]] += 1
    W = V.copy()
    W[:, chosen] = 0.0
    for place, i in enumerate(chosen):
        others = np.delete(W, chosen[place:], axis=1)
        W[:, i] = added_column(objective, others, int(cards[i]), ROUGH, rng)
    return W if (np.count_nonzero(W, axis=0) == cards).all() else None


def default_patience(objective: Objective, m: int, k: int) -> int:
    """Return how many vain rounds end a search: fewer where a round costs more."""
    work = 35000 if objective.exact else 10000
    return int(np.clip(work // (m * k), 8, 600))
