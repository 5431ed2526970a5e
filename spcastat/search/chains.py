"""Chains of kicks and climbs that know nothing of one another, run side by side until they agree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from spcastat.progress import Advance, stage
from spcastat.search.climbing import LONG, climbed, deepened
from spcastat.search.effort import Effort
from spcastat.search.evidence import Evidence
from spcastat.search.fits import Criterion, Fits, joined
from spcastat.search.fixed import refined
from spcastat.search.kicks import kicked
from spcastat.search.order import reordered
from spcastat.search.pool import pool
from spcastat.search.sweeps import swept

#: A chain goes on from its best fits, at most so many, that are not worse than the best by this share.
ELITE, NEAR = 3, 0.02
#: Up to so many variables rounds are cheap, and there may be so many times more of them.
SMALL, LONGER = 50, 2
#: Fits whose criteria differ by less than this share are one.
SAME = 1e-6


def search(
    criterion: Criterion,
    vectors: np.ndarray,
    effort: Effort,
    rng: np.random.Generator,
    start: Fits | None = None,
) -> tuple[Fits, Evidence]:
    """Search for the best fit.

    Parameters
    ----------
    criterion : Criterion
    vectors : ndarray of shape (m, k or more)
        Leading directions of the data.
    effort : Effort
    rng : numpy Generator
    start : Fits or None
        One more start, of the first chain.

    Returns
    -------
    best : Fits
        One fit.
    evidence : Evidence
        What was met on the way.
    """
    with stage("joint search", unit="rounds") as advance:
        return _search(criterion, vectors, effort, rng, start, advance)


def _search(
    criterion: Criterion,
    vectors: np.ndarray,
    effort: Effort,
    rng: np.random.Generator,
    start: Fits | None,
    advance: Advance,
) -> tuple[Fits, Evidence]:
    evidence = Evidence()
    chains = [
        pool(criterion, vectors, effort.starts, rng, first=chain == 0) for chain in range(effort.chains)
    ]
    if start is not None:
        chains[0] = joined([start, chains[0]])
    elites = _grown(criterion, chains, [None] * len(chains), effort, evidence)
    vain = 0
    for _ in range(effort.rounds * (LONGER if criterion.m <= SMALL else 1)):
        best = max(float(elite.value[0]) for elite in elites)
        held = [elite.value[0] >= best * (1.0 - SAME) for elite in elites]
        enough = effort.vain if evidence.unseen() <= effort.unseen else 2 * effort.vain
        if vain >= enough and sum(held) >= effort.agree:
            break
        advance(1)
        bases = [elite.some(rng.integers(0, len(elite), size=effort.kicks)) for elite in elites]
        tried = kicked(criterion, joined(bases), effort.rows, rng)
        parts = [tried.some(slice(a, a + effort.kicks)) for a in range(0, len(tried), effort.kicks)]
        elites = _grown(criterion, parts, elites, effort, evidence)
        risen = max(float(elite.value[0]) for elite in elites) > best * (1.0 + SAME)
        vain = 0 if risen else vain + 1
    ends = joined([elite.some(slice(0, 1)) for elite in elites])
    if effort.deep:
        ends = deepened(criterion, ends, effort.width, effort.valued)
    evidence.chains = [float(value) for value in ends.value]
    best_fit = ends.some(np.argsort(-ends.value, kind="stable")[:1])
    return reordered(criterion, refined(criterion, best_fit, LONG)), evidence


def _grown(
    criterion: Criterion,
    parts: list[Fits],
    elites: Sequence[Fits | None],
    effort: Effort,
    evidence: Evidence,
) -> list[Fits]:
    """Sweep and climb from the fits of every chain, and return the best of each with those it had."""
    sizes = [len(part) for part in parts]
    everything = reordered(criterion, swept(criterion, joined(parts), effort.sweeps))
    ends = np.cumsum([0, *sizes])
    chosen = [
        start + distinct(everything.value[start:stop], effort.climbs) for start, stop in pairwise(ends)
    ]
    tops = climbed(criterion, everything.some(np.concatenate(chosen)), effort.width, effort.valued)
    ends = np.cumsum([0, *(len(some) for some in chosen)])
    found = []
    for elite, (start, stop) in zip(elites, pairwise(ends), strict=True):
        fresh = tops.some(slice(start, stop))
        evidence.add(fresh.value)
        both = fresh if elite is None else joined([elite, fresh])
        kept = distinct(both.value, ELITE)
        kept = kept[both.value[kept] >= both.value[kept[0]] * (1.0 - NEAR)]
        found.append(both.some(kept))
    return found


def distinct(values: np.ndarray, count: int) -> np.ndarray:
    """Return where the `count` largest distinct values are, the largest first."""
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = ranked[:-1] - ranked[1:] > SAME * np.abs(ranked[:-1])
    return order[new][:count]
