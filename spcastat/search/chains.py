"""Independent chains of perturbations (kicks) and climbs, run side by side until they agree."""

from __future__ import annotations

from collections.abc import Sequence
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

#: Fits a chain keeps for its next round: at most this many, and not worse than its best by more than this
#: share.
ELITE, NEAR = 3, 0.02
#: Up to this many nonzeros rounds are cheap, and this many times more of them are allowed.
SMALL, LONGER = 30, 1.5
#: With more nonzeros than this, rounds cost more and gain less: the search ends after one round that raises
#: the best value by less than 1e-4, if two chains are within 1e-3 of it.
LARGE, SOON = 80, Patience(1, 1.0, 1, 1e-4, 1e-3)
#: Where good optima lie far apart, a chain that is behind another restarts after this many rounds without
#: improvement.
PATIENT = 2
#: Best results of climbs from new starts in which pairs of components then exchange their cardinalities.
CHANGED = 8


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
        for _ in range(int(effort.rounds * (LONGER if len(criterion.owner) <= SMALL else 1))):
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
    return np.where(behind, stuck >= PATIENT, np.cumsum(~behind) > agree)


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

    With m = ``effort.climbs``, the best m fits are climbed from. Where good optima lie far apart, it is the
    best 2m as soon as fits are perturbed, and in addition 2m random ones of the other new starts; where
    cardinalities differ, m random ones and m made by exchanging the cardinalities of two components.
    """
    climbs = effort.climbs * (2 if criterion.rugged and effort.kicks else 1)
    changing = criterion.rugged and effort.kicks > 0 and not criterion.equal
    sizes = [len(part) for part in parts]
    everything = reordered(criterion, swept(criterion, joined(parts), effort.sweeps))
    ends = np.cumsum([0, *sizes])
    chosen = []
    for elite, (start, stop) in zip(elites, pairwise(ends), strict=True):
        some = distinct(everything.value[start:stop], climbs)
        if elite is None and criterion.rugged:
            rest = np.setdiff1d(np.arange(stop - start), some)
            some = np.concatenate([some, rng.permutation(rest)[: climbs if changing else 2 * climbs]])
        chosen.append(start + some)
    tops = climbed(criterion, everything.some(np.concatenate(chosen)), effort.width, effort.valued)
    ends = np.cumsum([0, *(len(some) for some in chosen)])
    fresh = [tops.some(slice(start, stop)) for start, stop in pairwise(ends)]
    if changing:
        new = [chain for chain, elite in enumerate(elites) if elite is None]
        changed = _changed(criterion, [fresh[chain] for chain in new], climbs, effort)
        for chain, more in zip(new, changed, strict=True):
            fresh[chain] = joined([fresh[chain], more])
    found = []
    for elite, fits in zip(elites, fresh, strict=True):
        evidence.add(fits.value)
        both = fits if elite is None else joined([elite, fits])
        kept = distinct(both.value, ELITE)
        kept = kept[both.value[kept] >= both.value[kept[0]] * (1.0 - NEAR)]
        found.append(both.some(kept))
    return found


def _changed(criterion: Criterion, parts: list[Fits], climbs: int, effort: Effort) -> list[Fits]:
    """Exchange the cardinalities of two components in the fits of every chain, and climb from there."""
    if not parts:
        return []
    tried = [interchanged(criterion, part.some(distinct(part.value, CHANGED))) for part in parts]
    everything = swept(criterion, joined(tried), effort.sweeps)
    ends = np.cumsum([0, *(len(part) for part in tried)])
    chosen = [start + distinct(everything.value[start:stop], climbs) for start, stop in pairwise(ends)]
    tops = climbed(criterion, everything.some(np.concatenate(chosen)), effort.width, effort.valued)
    ends = np.cumsum([0, *(len(some) for some in chosen)])
    return [tops.some(slice(start, stop)) for start, stop in pairwise(ends)]


def distinct(values: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of the `count` largest distinct values, the largest first."""
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = ranked[:-1] - ranked[1:] > SAME * np.abs(ranked[:-1])
    return order[new][:count]
