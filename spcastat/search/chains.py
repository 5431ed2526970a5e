"""Starting fits, perturbed fits, and independent chains of climbs that run until they agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise

import numpy as np

from spcastat.linalg.eigenvectors import varimax
from spcastat.progress import stage
from spcastat.search import climbing
from spcastat.search.correlated_groups import groups_of_matrix
from spcastat.search.criteria import Criterion, Fits, joined
from spcastat.search.matrices import Dense, largest
from spcastat.search.moves import CHOICE, permuted, rebuild, refined, reordered
from spcastat.search.result import Evidence

# --- perturbed fits -------------------------------------------------------------------------------


#: From this many components on, the last of them are rebuilt together with probability LAST.
MANY, LAST = 5, 0.3
#: Where components can be rotated in pairs, the probability of that instead of rebuilding some.
TURNED = 0.25
#: The probability that the best rebuilt component is taken, and not one of the best few.
BEST = 0.6


def perturb(criterion: Criterion, fits: Fits, rng: np.random.Generator) -> Fits:
    """Return the fits with some components rebuilt, mostly one to three, or with two of them rotated.

    If the order matters and all cardinalities are equal, rebuilt components are placed last; otherwise they
    stay in place. With `MANY` components of that kind, the last half or fewer may be rebuilt together: they
    share what the first leave, so that a better choice often differs in all of them.

    Parameters
    ----------
    criterion : Criterion
    fits : Fits
    rng : numpy Generator
    """
    fits = fits.some(slice(None))
    B, k = len(fits), criterion.k
    turned = np.zeros(B, dtype=bool)
    if _pairs(criterion):
        turned = rng.random(B) < TURNED
        _turn(criterion, fits, np.flatnonzero(turned), rng)
    # one disjoint component alone would be rebuilt from the same remaining variables
    least = 1 if criterion.rule is None or not criterion.rule.disjoint else min(2, k)
    count = np.where(turned, 0, rng.integers(least, min(3, k) + 1, size=B))
    chosen = rng.permuted(np.tile(np.arange(k), (B, 1)), axis=1)
    out = np.zeros((B, k), dtype=bool)
    np.put_along_axis(out, chosen, np.arange(k) < count[:, None], axis=1)
    if criterion.equal and not criterion.exact:
        if k >= MANY:
            together = rng.random(B) < LAST
            last = k - rng.integers(2, k // 2 + 2, size=B)
            out[together] = np.arange(k) >= last[together, None]
        order = np.argsort(out, axis=1, kind="stable")
        fits, out = permuted(criterion, fits, order), np.take_along_axis(out, order, axis=1)
    criterion.empty(fits, out)
    stages = range(k) if criterion.equal else rng.permutation(k)
    # starts from all rows would always give the same component
    rows = max(1, min(8, criterion.m // 4))
    for i in stages:
        which = np.flatnonzero(out[:, i])
        if which.size:
            seeds = rng.permuted(np.tile(np.arange(criterion.m), (which.size, 1)), axis=1)[:, :rows]
            best = rng.random(which.size) < BEST
            pick = np.where(best, 0, rng.integers(0, CHOICE, size=which.size))
            rebuild(criterion, fits, which, int(i), seeds, pick)
    fits.value = criterion.value(fits.G, fits.N)
    return criterion.mended(fits)


def interchanged(criterion: Criterion, fits: Fits) -> Fits:
    """Return the fits with two components of different kinds exchanged, B fits for each such pair.

    The products S v of the two change places and are truncated again. Climbs alone hardly ever change which
    direction has which cardinality.
    """
    images = fits.first if criterion.T is None else fits.second
    every = np.arange(len(fits))
    found = []
    for a, b in combinations(range(criterion.k), 2):
        if criterion.kinds[a] != criterion.kinds[b]:
            new = fits.some(slice(None))
            _recut(criterion, new, every, {a: images[:, b], b: images[:, a]})
            found.append(new)
    return criterion.mended(joined(found))


def _recut(criterion: Criterion, fits: Fits, which: np.ndarray, directions: dict[int, np.ndarray]) -> None:
    """Truncate directions, shape (len(which), m) each, to give new components of some fits."""
    out = np.zeros((len(fits), criterion.k), dtype=bool)
    out[which[:, None], list(directions)] = True
    criterion.empty(fits, out)
    for i, direction in directions.items():
        used = criterion.used(fits, i)
        criterion.put(fits, which, i, *criterion.cut(direction, i, None if used is None else used[which]))


def _turn(criterion: Criterion, fits: Fits, which: np.ndarray, rng: np.random.Generator) -> None:
    """Rotate the products S v of two components in their plane, and truncate them to their cardinalities.

    A quarter turn exchanges their directions. Criteria that depend on the span only use any angle.
    """
    images = fits.first if criterion.T is None else fits.second
    pairs = _pairs(criterion)
    drawn = rng.integers(0, len(pairs), size=which.size)
    angles = rng.uniform(0.0, np.pi, size=which.size) if criterion.exact else np.full(which.size, np.pi / 2)
    for number in np.unique(drawn):
        a, b = pairs[number]
        some = which[drawn == number]
        cos, sin = np.cos(angles[drawn == number])[:, None], np.sin(angles[drawn == number])[:, None]
        one, other = images[some, a], images[some, b]
        _recut(criterion, fits, some, {a: cos * one + sin * other, b: cos * other - sin * one})


def _pairs(criterion: Criterion) -> list[tuple[int, int]]:
    """Return the pairs of components for which a rotation may give a different fit."""
    kinds, every = criterion.kinds, combinations(range(criterion.k), 2)
    return [(a, b) for a, b in every if criterion.exact or kinds[a] != kinds[b]]


#: With more than EVERY variables a component is started from FEW rows of largest variance and as many random
#: ones; with more than 300 from fewer, so that about WORK numbers are examined, but at least FEWER.
EVERY, FEW, FEWER, WORK = 100, 25, 10, 7500


# --- starting fits --------------------------------------------------------------------------------


def empty(criterion: Criterion, B: int) -> Fits:
    """Return fits without any loadings."""
    places = np.concatenate([np.arange(card) for card in criterion.cards])
    N = len(places)
    return criterion.fits(np.broadcast_to(places, (B, N)), np.zeros((B, N)))


def greedy(criterion: Criterion, B: int, rng: np.random.Generator, plain: bool) -> Fits:
    """Return fits whose components are found one after another.

    Parameters
    ----------
    criterion : Criterion
    B : int
    rng : numpy Generator
    plain : bool
        Whether the first fit takes the best component at every stage, in the given order. The other fits
        take one of the best at random and, if cardinalities differ, a random order.
    """
    fits = empty(criterion, B)
    order = np.tile(np.arange(criterion.k), (B, 1))
    if not criterion.equal:
        order = rng.permuted(order, axis=1)
        if plain:
            order[0] = np.arange(criterion.k)
    for place in range(criterion.k):
        pick = rng.integers(0, CHOICE, size=B)
        seeds = _rows(criterion, fits, rng)
        if plain:
            pick[0] = 0
        for i in np.unique(order[:, place]):
            which = np.flatnonzero(order[:, place] == i)
            rebuild(criterion, fits, which, int(i), seeds[which], pick[which])
    return fits


def _rows(criterion: Criterion, fits: Fits, rng: np.random.Generator) -> np.ndarray:
    """Return the variables from whose rows a component is started, shape (B, R)."""
    m, B = criterion.m, len(fits)
    if m <= EVERY:
        return np.broadcast_to(np.arange(m), (B, m))
    few = int(np.clip(WORK // m, FEWER, FEW))
    spread = rng.permuted(np.tile(np.arange(m), (B, 1)), axis=1)[:, :few]
    model = criterion.model_given_others(fits)
    diagonal = np.einsum("bkm,bkl,blm->bm", model.first, model.Z, model.first)
    main = criterion.M if criterion.T is None else criterion.T
    left = np.maximum(main.of(fits.of).diagonal() - diagonal, 0.0)
    return np.concatenate([largest(left, few), spread], axis=1)


def from_directions(
    criterion: Criterion, directions: Sequence[np.ndarray], of: np.ndarray | None = None
) -> Fits:
    """Return fits from dense loadings, each of shape (m, k), truncated to the allowed supports.

    `of` is as for `Criterion.fits`.
    """
    stacked = np.stack([D.T for D in directions])
    used = None if criterion.rule is None else np.zeros((len(stacked), criterion.m), dtype=bool)
    cut = []
    for i in range(criterion.k):
        cut.append(criterion.cut(stacked[:, i], i, used, of))
        if used is not None:
            np.put_along_axis(used, cut[-1][0], True, axis=1)
    places, x = (np.concatenate(one, axis=1) for one in zip(*cut, strict=True))
    return criterion.mended(criterion.fits(places, x, of))


def mixed(vectors: np.ndarray, k: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return random rotations of the leading directions, shape (count, m, k)."""
    order = vectors.shape[1]
    return np.asarray(vectors @ np.linalg.qr(rng.standard_normal((count, order, order)))[0][:, :, :k])


def mixtures(vectors: np.ndarray, k: int, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return random rotations of the leading directions, every second one rotated to simple structure."""
    found = mixed(vectors, k, count, rng)
    found[1::2] = varimax(found[1::2])
    return list(found)


def bases(vectors: np.ndarray, k: int, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return bases of the space of the k leading directions, or of a nearby space.

    In turn: rotations of the k directions, oblique bases of them and of one more, and `mixtures` of all. PEV
    depends on the span of the loadings only, so that the truncation makes the difference.
    """
    more = min(k + 1, vectors.shape[1])
    found = []
    for draw in range(count):
        if draw % 4 == 0:
            found.append(vectors[:, :k] @ np.linalg.qr(rng.standard_normal((k, k)))[0])
        elif draw % 4 == 3:
            found += mixtures(vectors, k, 1, rng)
        else:
            of = k if draw % 4 == 1 else more
            found.append(vectors[:, :of] @ rng.standard_normal((of, k)))
    return found


def pool(criterion: Criterion, vectors: np.ndarray, size: int, rng: np.random.Generator, first: bool) -> Fits:
    """Return `size` starting fits.

    Parameters
    ----------
    criterion : Criterion
    vectors : ndarray of shape (m, k or more)
        Leading directions.
    size : int
        How many starts, at least 3.
    rng : numpy Generator
    first : bool
        Whether the deterministic starts are among them: greedy, PCA, varimax.
    """
    k = criterion.k
    fixed = [vectors[:, :k], varimax(vectors[:, :k])] if first else []
    mixed = max(1, 3 * size // 4 if criterion.rugged else size // (2 if criterion.exact else 4))
    drawn = size - len(fixed) - mixed
    directions = fixed + (bases if criterion.exact else mixtures)(vectors, k, mixed, rng)
    starts = greedy(criterion, max(1, drawn), rng, plain=first)
    return criterion.mended(joined([starts, from_directions(criterion, directions)]))


# --- chains ---------------------------------------------------------------------------------------


#: Fits a chain keeps for its next round, at most, and by which share they may be worse than the best of them.
ELITE, BELOW_BEST = 3, 0.02


def search(
    criterion: Criterion,
    vectors: np.ndarray,
    effort: climbing.Effort,
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
        elites = grow_chains(criterion, chains, [None] * len(chains), effort, evidence, rng)
        reached = np.array([elite.value[0] for elite in elites])
        best, without_gain = reached.max(), 0
        stuck = np.zeros(len(chains), dtype=int)
        patience = effort.patience(len(criterion.owner), not criterion.exact)
        # up to 30 nonzeros rounds are cheap, and half as many again are allowed
        for _ in range(int(effort.rounds * (1.5 if len(criterion.owner) <= 30 else 1))):
            if _enough(patience, without_gain, evidence.unseen(), reached, effort.agree):
                break
            advance(1)
            lost = criterion.rugged & _behind(reached, stuck, effort.agree)
            stuck[lost] = 0
            parts = _next(criterion, vectors, elites, lost, effort, starts, rng)
            known = [None if again else elite for again, elite in zip(lost, elites, strict=True)]
            elites = grow_chains(criterion, parts, known, effort, evidence, rng)
            now = np.array([elite.value[0] for elite in elites])
            stuck = np.where(now > reached * (1.0 + climbing.SAME), 0, stuck + 1)
            reached = np.maximum(reached, now)
            without_gain += 1
            if reached.max() > best * (1.0 + patience.rise):
                best, without_gain = reached.max(), 0
    ends = joined([elite.some(slice(0, 1)) for elite in elites])
    if effort.deep_with(len(criterion.owner)):
        ends = climbing.deepen(criterion, ends, effort.width, effort.valued)
    met = reached >= reached.max() * (1.0 - climbing.SAME)
    evidence.chains = np.where(met, ends.value[met].max(), ends.value).tolist()
    best_fit = ends.some(np.argsort(-ends.value, kind="stable")[:1])
    best_fit = reordered(criterion, refined(criterion, best_fit, climbing.LONG))
    # for adjusted variance only: for least squares it took a quarter of the time without gain, as it did with
    # 1000 nonzeros, and for PEV it was not tried
    few = len(criterion.owner) <= climbing.FEW_NONZEROS
    if effort.rounds and criterion.m > EVERY and few and not criterion.exact:
        replaced = with_components_replaced(criterion, best_fit, effort, evidence)
        if replaced.value[0] > best_fit.value[0]:  # a fit that no other chain has reached
            best_fit = replaced
            evidence.chains[int(np.argmax(evidence.chains))] = float(replaced.value[0])
    return best_fit, evidence


#: Groups from which a component is rebuilt, how many of the components found are tried, and climbs from the
#: best of these fits.
REBUILT_FROM, REBUILT_TRIED, REBUILT_CLIMBS = 40, 2, 2


def with_components_replaced(
    criterion: Criterion, fit: Fits, effort: climbing.Effort, evidence: Evidence
) -> Fits:
    """Return one fit after replacements of single components, while these raise the value.

    Every component in turn is rebuilt from the groups of variables with the largest scores given the others;
    sweeps of all components follow, and climbs from the best. Random perturbations start from few of many
    rows and miss groups far from the present supports, which exchanges of single variables do not reach.

    Parameters
    ----------
    criterion : Criterion
        Adjusted variance, of one covariance matrix in memory.
    fit : Fits
        One fit.
    effort : Effort
    evidence : Evidence
        The ends of the climbs are added.
    """
    k = criterion.k
    if k == 1 or not isinstance(criterion.M, Dense):
        return fit
    groups = groups_of_matrix(criterion.M.M, max(criterion.cards))
    for _ in range(k):
        tried = fit.some(np.zeros(k * REBUILT_TRIED, dtype=int))
        place, pick = np.repeat(np.arange(k), REBUILT_TRIED), np.arange(REBUILT_TRIED)
        criterion.empty(tried, place[:, None] == np.arange(k))
        # the scores are the same for all fits without the same component
        seeds = groups.seeds(tried.first[::REBUILT_TRIED], tried.G[::REBUILT_TRIED], REBUILT_FROM)
        for i in range(k):
            which = np.flatnonzero(place == i)
            rebuild(criterion, tried, which, i, np.tile(seeds[i], (len(which), 1)), pick)
        tried = reordered(criterion, climbing.sweep(criterion, criterion.mended(tried), effort.sweeps))
        tried = tried.some(distinct(tried.value, REBUILT_CLIMBS))
        tried = climbing.climb(criterion, tried, effort.width, effort.valued)
        evidence.add(tried.value)
        best = tried.some(distinct(tried.value, 1))
        if not best.value[0] > fit.value[0] * (1.0 + climbing.SAME):
            break
        fit = reordered(criterion, refined(criterion, best, climbing.LONG))
    return fit


def _enough(
    patience: climbing.Patience, without_gain: int, unseen: float, reached: np.ndarray, chains: int
) -> bool:
    """Return whether to end after `without_gain` rounds without improvement.

    It ends if `chains` chains have reached the best fit or, after many rounds, fits nearly as good.
    """
    if without_gain < (patience.without_gain if unseen <= patience.unseen else patience.long):
        return False
    near = patience.rough if without_gain >= patience.long else climbing.SAME
    return bool((reached >= reached.max() * (1.0 - near)).sum() >= chains)


def _behind(reached: np.ndarray, stuck: np.ndarray, agree: int) -> np.ndarray:
    """Return which chains restart: those that fell behind, and those that are not needed for agreement."""
    behind = reached < reached.max() * (1.0 - climbing.SAME)
    return np.where(behind, stuck >= 2, np.cumsum(~behind) > agree)


def _next(
    criterion: Criterion,
    vectors: np.ndarray,
    elites: Sequence[Fits],
    lost: np.ndarray,
    effort: climbing.Effort,
    starts: int,
    rng: np.random.Generator,
) -> list[Fits]:
    """Return the next starts of every chain: perturbed best fits, or new starts for the chains `lost`."""
    going = [elite for elite, again in zip(elites, lost, strict=True) if not again]
    bases = [elite.some(rng.integers(0, len(elite), size=effort.kicks)) for elite in going]
    tried = perturb(criterion, joined(bases), rng)
    parts = iter([tried.some(slice(a, a + effort.kicks)) for a in range(0, len(tried), effort.kicks)])
    return [pool(criterion, vectors, starts, rng, first=False) if again else next(parts) for again in lost]


def grow_chains(
    criterion: Criterion,
    parts: list[Fits],
    elites: Sequence[Fits | None],
    effort: climbing.Effort,
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
        kept = kept[both.value[kept] >= both.value[kept[0]] * (1.0 - BELOW_BEST)]
        found.append(both.some(kept))
    return found


def _tops(
    criterion: Criterion,
    parts: list[Fits],
    effort: climbing.Effort,
    chosen: Callable[[int, np.ndarray], np.ndarray],
) -> list[Fits]:
    """Sweep the fits of every chain, and climb from some of them.

    `chosen` takes the number of a chain and the values of its fits, and returns the positions of those.
    """
    everything = reordered(criterion, climbing.sweep(criterion, joined(parts), effort.sweeps))
    ends = np.cumsum([0, *map(len, parts)])
    some = [a + chosen(chain, everything.value[a:b]) for chain, (a, b) in enumerate(pairwise(ends))]
    tops = climbing.climb(criterion, everything.some(np.concatenate(some)), effort.width, effort.valued)
    return [tops.some(slice(a, b)) for a, b in pairwise(np.cumsum([0, *map(len, some)]))]


def distinct(values: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of the `count` largest distinct values, the largest first."""
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = ranked[:-1] - ranked[1:] > climbing.SAME * np.abs(ranked[:-1])
    return order[new][:count]
