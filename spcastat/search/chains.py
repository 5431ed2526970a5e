"""Independent chains of perturbations (kicks) and climbs, run side by side until they agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from spcastat.progress import stage
from spcastat.search.climbing import LONG, climbed, deepened, swept
from spcastat.search.component_order import reordered
from spcastat.search.criterion import Criterion, Fits, joined
from spcastat.search.fixed_supports import refined
from spcastat.search.local_optima import SAME, Evidence
from spcastat.search.perturbed_fits import interchanged, kicked
from spcastat.search.settings import EFFORTS, Effort, Patience
from spcastat.search.starting_fits import pool

#: Fits a chain keeps for its next round, at most.
ELITE = 3
#: With more nonzeros than this, rounds cost more and gain less: the search ends after one round that raises
#: the best value by less than 1e-4, if two chains are within 1e-3 of it.
LARGE, SOON = 80, Patience(1, 1.0, 1, 1e-4, 1e-3)


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
        One more start, for the first chain.

    Returns
    -------
    best : Fits
        One fit.
    evidence : Evidence
        The local optima that the climbs reached.
    """
    evidence = Evidence()
    starts = effort.starts * (2 if criterion.rugged else 1)
    chains = [pool(criterion, vectors, starts, rng, first=chain == 0) for chain in range(effort.chains)]
    if start is not None:
        chains[0] = joined([start, chains[0]])
    with stage("joint search", unit="rounds") as advance:
        elites = grown(criterion, chains, [None] * len(chains), effort, evidence, rng)
        reached = np.array([elite.value[0] for elite in elites])
        best, without_gain = reached.max(), 0
        stuck = np.zeros(len(chains), dtype=int)
        patience = effort.free if criterion.exact else effort.ordered
        if len(criterion.owner) > LARGE and effort is EFFORTS["auto"]:
            patience = SOON
        # up to 30 nonzeros rounds are cheap, and half as many again are allowed
        for _ in range(int(effort.rounds * (1.5 if len(criterion.owner) <= 30 else 1))):
            if _enough(patience, without_gain, evidence.unseen(), reached, effort.agree):
                break
            advance(1)
            lost = criterion.rugged & _behind(reached, stuck, effort.agree)
            stuck[lost] = 0
            parts = _next(criterion, vectors, elites, lost, effort, starts, rng)
            known = [None if again else elite for again, elite in zip(lost, elites, strict=True)]
            elites = grown(criterion, parts, known, effort, evidence, rng)
            now = np.array([elite.value[0] for elite in elites])
            stuck = np.where(now > reached * (1.0 + SAME), 0, stuck + 1)
            reached = np.maximum(reached, now)
            without_gain += 1
            if reached.max() > best * (1.0 + patience.rise):
                best, without_gain = reached.max(), 0
    ends = joined([elite.some(slice(0, 1)) for elite in elites])
    if effort.deep:
        ends = deepened(criterion, ends, effort.width, effort.valued)
    met = reached >= reached.max() * (1.0 - SAME)
    evidence.chains = np.where(met, ends.value[met].max(), ends.value).tolist()
    best_fit = ends.some(np.argsort(-ends.value, kind="stable")[:1])
    return reordered(criterion, refined(criterion, best_fit, LONG)), evidence


def _enough(patience: Patience, without_gain: int, unseen: float, reached: np.ndarray, chains: int) -> bool:
    """Return whether to end after `without_gain` rounds without improvement.

    It ends if `chains` chains have reached the best fit or, after many rounds, fits nearly as good.
    """
    if without_gain < (patience.without_gain if unseen <= patience.unseen else patience.long):
        return False
    near = patience.rough if without_gain >= patience.long else SAME
    return bool((reached >= reached.max() * (1.0 - near)).sum() >= chains)


def _behind(reached: np.ndarray, stuck: np.ndarray, agree: int) -> np.ndarray:
    """Return which chains restart: those that fell behind, and those that are not needed for agreement."""
    behind = reached < reached.max() * (1.0 - SAME)
    return np.where(behind, stuck >= 2, np.cumsum(~behind) > agree)


def _next(
    criterion: Criterion,
    vectors: np.ndarray,
    elites: Sequence[Fits],
    lost: np.ndarray,
    effort: Effort,
    starts: int,
    rng: np.random.Generator,
) -> list[Fits]:
    """Return the next starts of every chain: perturbed best fits, or new starts for the chains `lost`."""
    going = [elite for elite, again in zip(elites, lost, strict=True) if not again]
    bases = [elite.some(rng.integers(0, len(elite), size=effort.kicks)) for elite in going]
    tried = kicked(criterion, joined(bases), rng)
    parts = iter([tried.some(slice(a, a + effort.kicks)) for a in range(0, len(tried), effort.kicks)])
    return [pool(criterion, vectors, starts, rng, first=False) if again else next(parts) for again in lost]


def grown(
    criterion: Criterion,
    parts: list[Fits],
    elites: Sequence[Fits | None],
    effort: Effort,
    evidence: Evidence,
    rng: np.random.Generator,
) -> list[Fits]:
    """Sweep and climb from the fits of every chain; return the best fits of each, old and new.

    Climbs start from the best m fits of a chain, where m is ``effort.climbs``, or twice that if good optima
    lie far apart (`Criterion.rugged`) and fits are perturbed. In a new chain with such optima, they also
    start from 2m random ones of the other fits; if cardinalities differ and fits are perturbed, from m random
    ones and from m fits in which two components have exchanged their cardinalities.
    """
    climbs = effort.climbs * (2 if criterion.rugged and effort.kicks else 1)
    changing = criterion.rugged and effort.kicks > 0 and not criterion.equal

    def chosen(chain: int, values: np.ndarray) -> np.ndarray:
        some = distinct(values, climbs)
        if elites[chain] is None and criterion.rugged:
            rest = np.setdiff1d(np.arange(len(values)), some)
            some = np.concatenate([some, rng.permutation(rest)[: climbs if changing else 2 * climbs]])
        return some

    fresh = _tops(criterion, parts, effort, chosen)
    new = [chain for chain, elite in enumerate(elites) if elite is None]
    if changing and new:
        # the best of the new climbs, with the cardinalities of pairs of components exchanged
        tried = [interchanged(criterion, one.some(distinct(one.value, 8))) for one in (fresh[c] for c in new)]
        changed = _tops(criterion, tried, effort, lambda _, values: distinct(values, climbs))
        for chain, more in zip(new, changed, strict=True):
            fresh[chain] = joined([fresh[chain], more])
    found = []
    for elite, fits in zip(elites, fresh, strict=True):
        evidence.add(fits.value)
        both = fits if elite is None else joined([elite, fits])
        kept = distinct(both.value, ELITE)
        # not worse than the best by more than 2 %
        kept = kept[both.value[kept] >= both.value[kept[0]] * (1.0 - 0.02)]
        found.append(both.some(kept))
    return found


def _tops(
    criterion: Criterion, parts: list[Fits], effort: Effort, chosen: Callable[[int, np.ndarray], np.ndarray]
) -> list[Fits]:
    """Sweep the fits of every chain, and climb from some of them.

    `chosen` takes the number of a chain and the values of its fits, and returns the positions of those.
    """
    everything = reordered(criterion, swept(criterion, joined(parts), effort.sweeps))
    ends = np.cumsum([0, *map(len, parts)])
    some = [a + chosen(chain, everything.value[a:b]) for chain, (a, b) in enumerate(pairwise(ends))]
    tops = climbed(criterion, everything.some(np.concatenate(some)), effort.width, effort.valued)
    return [tops.some(slice(a, b)) for a, b in pairwise(np.cumsum([0, *map(len, some)]))]


def distinct(values: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of the `count` largest distinct values, the largest first."""
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = ranked[:-1] - ranked[1:] > SAME * np.abs(ranked[:-1])
    return order[new][:count]
