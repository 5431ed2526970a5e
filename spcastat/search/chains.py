"""Starting fits, perturbed fits, and independent chains of climbs that run until they agree.

benchmarks/results/steering.md shows how the constants affect the objective and the run time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

import numpy as np

from spcastat.linalg.eigenvectors import varimax
from spcastat.linalg.operators import Operator
from spcastat.progress import stage
from spcastat.search import climbing
from spcastat.search.climbing import VALUE_TOLERANCE, falling, permuted, reordered
from spcastat.search.correlated_groups import groups_of_matrix
from spcastat.search.criteria import Criterion, Fits, join_fits
from spcastat.search.matrices import Dense, largest
from spcastat.search.moves import CHOICE, FLAT, rebuild, refined, stationary, steepness
from spcastat.search.objectives import OBJECTIVES

# --- perturbed fits -------------------------------------------------------------------------------


#: With at least SUFFIX_COMPONENTS components, the last few are rebuilt together with probability
#: SUFFIX_SHARE.
SUFFIX_COMPONENTS, SUFFIX_SHARE = 5, 0.3
#: If pairs of components can be rotated, the probability of rotating one pair instead of rebuilding
#: components.
ROTATION_SHARE = 0.25
#: The probability of taking the best rebuilt component; otherwise one of the best few is drawn at random.
BEST_PICK_SHARE = 0.6


def perturb(criterion: Criterion, fits: Fits, rng: np.random.Generator) -> Fits:
    """Return the fits with some components rebuilt, mostly one to three, or with two of them rotated.

    If the order matters and all cardinalities are equal, rebuilt components are placed last; otherwise they
    stay in place. In the first case, with at least `SUFFIX_COMPONENTS` components, the last half or fewer may
    be rebuilt together: they share the variance that the first components leave unexplained, so a better fit
    often differs in all of them.

    Parameters
    ----------
    criterion : Criterion
    fits : Fits
    rng : numpy Generator
    """
    fits = fits.subset(slice(None))
    B, k = len(fits), criterion.k
    rotated_fits = np.zeros(B, dtype=bool)
    if _pairs(criterion):
        rotated_fits = rng.random(B) < ROTATION_SHARE
        _turn(criterion, fits, np.flatnonzero(rotated_fits), rng)
    # a single disjoint component would be rebuilt from the same remaining variables
    smallest_count = 1 if criterion.rule is None or not criterion.rule.disjoint else min(2, k)
    count = np.where(rotated_fits, 0, rng.integers(smallest_count, min(3, k) + 1, size=B))
    component_order = rng.permuted(np.tile(np.arange(k), (B, 1)), axis=1)
    out = np.zeros((B, k), dtype=bool)
    np.put_along_axis(out, component_order, np.arange(k) < count[:, None], axis=1)
    if criterion.equal and not criterion.exact_model:
        if k >= SUFFIX_COMPONENTS:
            suffix_fits = rng.random(B) < SUFFIX_SHARE
            suffix_start = k - rng.integers(2, k // 2 + 2, size=B)
            out[suffix_fits] = np.arange(k) >= suffix_start[suffix_fits, None]
        order = np.argsort(out, axis=1, kind="stable")
        fits, out = permuted(criterion, fits, order), np.take_along_axis(out, order, axis=1)
    criterion.empty(fits, out)
    stages = range(k) if criterion.equal else rng.permutation(k)
    # starts from all rows would always give the same component
    rows = max(1, min(8, criterion.m // 4))
    for i in stages:
        fit_indices = np.flatnonzero(out[:, i])
        if fit_indices.size:
            seeds = rng.permuted(np.tile(np.arange(criterion.m), (fit_indices.size, 1)), axis=1)[:, :rows]
            picks_best = rng.random(fit_indices.size) < BEST_PICK_SHARE
            pick = np.where(picks_best, 0, rng.integers(0, CHOICE, size=fit_indices.size))
            rebuild(criterion, fits, fit_indices, int(i), seeds, pick)
    fits.value = criterion.value(fits.G, fits.N)
    return criterion.mended(fits)


def interchanged(criterion: Criterion, fits: Fits) -> Fits:
    """Return copies of the B fits with two components of different kinds exchanged, B for each such pair.

    The products S v of the two components are swapped and truncated to the other cardinality. Climbs alone
    rarely change which direction has which cardinality.
    """
    images = fits.M_products if criterion.T is None else fits.T_products
    fit_indices = np.arange(len(fits))
    exchanged_fits = []
    for a, b in combinations(range(criterion.k), 2):
        if criterion.kinds[a] != criterion.kinds[b]:
            exchanged = fits.subset(slice(None))
            _recut(criterion, exchanged, fit_indices, {a: images[:, b], b: images[:, a]})
            exchanged_fits.append(exchanged)
    return criterion.mended(join_fits(exchanged_fits))


def _recut(
    criterion: Criterion, fits: Fits, fit_indices: np.ndarray, directions: dict[int, np.ndarray]
) -> None:
    """Replace components of some fits by truncated directions, each of shape (len(fit_indices), m)."""
    out = np.zeros((len(fits), criterion.k), dtype=bool)
    out[fit_indices[:, None], list(directions)] = True
    criterion.empty(fits, out)
    for i, direction in directions.items():
        used = criterion.used(fits, i)
        criterion.put(
            fits,
            fit_indices,
            i,
            *criterion.truncate(direction, i, None if used is None else used[fit_indices]),
        )


def _turn(criterion: Criterion, fits: Fits, fit_indices: np.ndarray, rng: np.random.Generator) -> None:
    """Rotate the products S v of two components in their plane, and truncate them to their cardinalities.

    If the criterion has an exact model, angles are random; otherwise a rotation by 90 degrees exchanges the
    two directions.
    """
    images = fits.M_products if criterion.T is None else fits.T_products
    pairs = _pairs(criterion)
    pair_numbers = rng.integers(0, len(pairs), size=fit_indices.size)
    angles = (
        rng.uniform(0.0, np.pi, size=fit_indices.size)
        if criterion.exact_model
        else np.full(fit_indices.size, np.pi / 2)
    )
    for number in np.unique(pair_numbers):
        a, b = pairs[number]
        selection = fit_indices[pair_numbers == number]
        cos, sin = (
            np.cos(angles[pair_numbers == number])[:, None],
            np.sin(angles[pair_numbers == number])[:, None],
        )
        image_a, image_b = images[selection, a], images[selection, b]
        _recut(
            criterion, fits, selection, {a: cos * image_a + sin * image_b, b: cos * image_b - sin * image_a}
        )


def _pairs(criterion: Criterion) -> list[tuple[int, int]]:
    """Return the pairs of components for which a rotation may give a different fit."""
    kinds, component_pairs = criterion.kinds, combinations(range(criterion.k), 2)
    return [(a, b) for a, b in component_pairs if criterion.exact_model or kinds[a] != kinds[b]]


#: With more than ALL_ROWS_LIMIT variables, a component is started from the START_ROWS rows with the largest
#: variance and from the same number of random rows. With more than 300 variables these numbers decrease, to
#: no less than START_ROWS_LEAST, so that about START_ROWS_WORK matrix entries are examined for each.
ALL_ROWS_LIMIT, START_ROWS, START_ROWS_LEAST, START_ROWS_WORK = 100, 25, 10, 7500


# --- starting fits --------------------------------------------------------------------------------


def empty(criterion: Criterion, B: int, of: np.ndarray | None = None) -> Fits:
    """Return fits with zero loadings; see `Criterion.fits` for `of`."""
    places = np.concatenate([np.arange(card) for card in criterion.cards])
    N = len(places)
    return criterion.fits(np.broadcast_to(places, (B, N)), np.zeros((B, N)), of)


def greedy(
    criterion: Criterion, B: int, rng: np.random.Generator, plain: bool, of: np.ndarray | None = None
) -> Fits:
    """Return fits whose components are found one after another.

    Parameters
    ----------
    criterion : Criterion
    B : int
    rng : numpy Generator
    plain : bool
        Whether the first fit takes the best component at every stage, in the given order. The other fits take
        one of the best components at random and, if cardinalities differ, use a random order.
    of : ndarray of int, shape (B,), optional
        See `Criterion.fits`.
    """
    fits = empty(criterion, B, of)
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
            fit_indices = np.flatnonzero(order[:, place] == i)
            rebuild(criterion, fits, fit_indices, int(i), seeds[fit_indices], pick[fit_indices])
    return fits


def _rows(criterion: Criterion, fits: Fits, rng: np.random.Generator) -> np.ndarray:
    """Return the variables whose covariances are the starts of a component, shape (B, R)."""
    m, B = criterion.m, len(fits)
    if m <= ALL_ROWS_LIMIT:
        return np.broadcast_to(np.arange(m), (B, m))
    row_count = int(np.clip(START_ROWS_WORK // m, START_ROWS_LEAST, START_ROWS))
    spread = rng.permuted(np.tile(np.arange(m), (B, 1)), axis=1)[:, :row_count]
    model = criterion.model_given_others(fits)
    diagonal = np.einsum("bkm,bkl,blm->bm", model.M_products, model.Z, model.M_products)
    main = criterion.M if criterion.T is None else criterion.T
    residual_variances = np.maximum(main.of(fits.of).diagonal() - diagonal, 0.0)
    return np.concatenate([largest(residual_variances, row_count), spread], axis=1)


def twice(op: Operator, k: int) -> int:
    """Return the number of leading eigenvectors that serve as starts for k components."""
    return min(2 * k, op.p, max(op.rank_limit, k))


def from_directions(
    criterion: Criterion, directions: Sequence[np.ndarray], of: np.ndarray | None = None
) -> Fits:
    """Return fits from dense loadings, each of shape (m, k), truncated to the allowed supports.

    See `Criterion.fits` for `of`.
    """
    stacked = np.stack([D.T for D in directions])
    used = None if criterion.rule is None else np.zeros((len(stacked), criterion.m), dtype=bool)
    truncations = []
    for i in range(criterion.k):
        truncations.append(criterion.truncate(stacked[:, i], i, used, of))
        if used is not None:
            np.put_along_axis(used, truncations[-1][0], True, axis=1)
    places, x = (np.concatenate(arrays, axis=1) for arrays in zip(*truncations, strict=True))
    return criterion.mended(criterion.fits(places, x, of))


def mixed(vectors: np.ndarray, k: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return random rotations of the leading directions, shape (count, m, k)."""
    order = vectors.shape[1]
    return np.asarray(vectors @ np.linalg.qr(rng.standard_normal((count, order, order)))[0][:, :, :k])


def mixtures(vectors: np.ndarray, k: int, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return random rotations of the leading directions, every second one rotated to simple structure."""
    rotations = mixed(vectors, k, count, rng)
    rotations[1::2] = varimax(rotations[1::2])
    return list(rotations)


def bases(vectors: np.ndarray, k: int, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return bases of the space of the k leading directions, or of a nearby space.

    The bases are, in turn, rotations of the k directions, oblique bases of their span, oblique bases that
    include one more direction, and `mixtures` of all directions. PEV depends only on the span of the
    loadings, so bases of one space differ only after truncation.
    """
    dimension = min(k + 1, vectors.shape[1])
    directions = []
    for draw in range(count):
        if draw % 4 == 0:
            directions.append(vectors[:, :k] @ np.linalg.qr(rng.standard_normal((k, k)))[0])
        elif draw % 4 == 3:
            directions += mixtures(vectors, k, 1, rng)
        else:
            of = k if draw % 4 == 1 else dimension
            directions.append(vectors[:, :of] @ rng.standard_normal((of, k)))
    return directions


def pool(
    criterion: Criterion, vectors: np.ndarray, size: int, rng: np.random.Generator, deterministic: bool
) -> Fits:
    """Return `size` starting fits.

    Parameters
    ----------
    criterion : Criterion
    vectors : ndarray of shape (m, k or more)
        Leading directions.
    size : int
        Number of starts, at least 3.
    rng : numpy Generator
    deterministic : bool
        Whether to include the deterministic starts: greedy, PCA and varimax.
    """
    k = criterion.k
    fixed = [vectors[:, :k], varimax(vectors[:, :k])] if deterministic else []
    mixed = max(1, 3 * size // 4 if criterion.rugged else size // (2 if criterion.exact_model else 4))
    greedy_count = size - len(fixed) - mixed
    directions = fixed + (bases if criterion.exact_model else mixtures)(vectors, k, mixed, rng)
    starts = greedy(criterion, max(1, greedy_count), rng, plain=deterministic)
    return criterion.mended(join_fits([starts, from_directions(criterion, directions)]))


# --- local optima ---------------------------------------------------------------------------------


def optima_of(values: Iterable[float]) -> list[tuple[float, int]]:
    """Return the distinct values that the starts of a method reach, the best first, and their frequencies.

    Values are shares of the total variance. Values that differ by at most VALUE_TOLERANCE count as equal, and
    the first of them is returned. The tolerance is absolute because block coordinate descent ends when a
    sweep changes its objective by a small share of the total variance. `Evidence.table` has a relative
    tolerance because climbs end when a sweep raises the value by a small share of the value itself.
    """
    hits: dict[float, int] = {}
    for value in values:
        nearest = next((optimum for optimum in hits if abs(optimum - value) <= VALUE_TOLERANCE), value)
        hits[nearest] = hits.get(nearest, 0) + 1
    return sorted(hits.items(), reverse=True)


@dataclass(eq=False)
class Evidence:
    """The local optima of a search.

    Attributes
    ----------
    values : list of float
        The criterion at the end of every climb.
    chains : list of float
        The best value of each chain.
    """

    values: list[float] = field(default_factory=list)
    chains: list[float] = field(default_factory=list)

    def add(self, values: np.ndarray) -> None:
        """Add the final values of climbs."""
        self.values += values.tolist()

    def settle(self, value: float) -> None:
        """Replace the value of the best optimum by the value that a final ascent from it reaches."""
        best_value = max(self.values)
        self.values = [max(value, v) if v >= best_value * (1.0 - VALUE_TOLERANCE) else v for v in self.values]

    def table(self) -> list[tuple[float, int]]:
        """Return the distinct optima, the best first, and the number of climbs that reached each.

        Optima count as equal if they differ by at most a share VALUE_TOLERANCE of the larger one, the
        smallest relative increase with which a climb continues; the largest of them is returned. `optima_of`
        has an absolute tolerance because its methods have a different stopping rule.
        """
        optima: list[tuple[float, int]] = []
        for value in sorted(self.values, reverse=True):
            if optima and optima[-1][0] - value <= VALUE_TOLERANCE * abs(value):
                optima[-1] = (optima[-1][0], optima[-1][1] + 1)
            else:
                optima.append((value, 1))
        return optima

    def unseen(self) -> float:
        """Return the Good-Turing estimate of the probability that the next climb ends in a new optimum."""
        table = self.table()
        return sum(hits == 1 for _, hits in table) / max(len(self.values), 1)


# --- chains ---------------------------------------------------------------------------------------


#: The largest number of fits that a chain keeps for its next round, and the largest share by which their
#: values may fall below the best of them.
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
        An additional start for the first chain.

    Returns
    -------
    best : Fits
        One fit.
    evidence : Evidence
        The local optima that the climbs reached.
    """
    evidence = Evidence()
    if criterion.rugged:
        effort = effort.for_distant_optima()
    nonzeros = len(criterion.owner)
    effort = effort.with_nonzeros(nonzeros)
    chains = [
        pool(criterion, vectors, effort.starts, rng, deterministic=chain == 0)
        for chain in range(effort.chains)
    ]
    if start is not None:
        chains[0] = join_fits([start, chains[0]])
    with stage("joint search", unit="rounds") as advance:
        elites = grow_chains(criterion, chains, [None] * len(chains), effort, evidence, rng)
        chain_values = np.array([elite.value[0] for elite in elites])
        best_value, without_gain = chain_values.max(), 0
        stuck = np.zeros(len(chains), dtype=int)
        patience = effort.patience(nonzeros, not criterion.exact_model)
        for _ in range(effort.rounds):
            if _is_finished(patience, without_gain, evidence.unseen(), chain_values, effort.agree):
                break
            advance(1)
            lost = criterion.rugged & _behind(chain_values, stuck, effort.agree)
            stuck[lost] = 0
            parts = _next_starts(criterion, vectors, elites, lost, effort, rng)
            retained_elites = [
                None if restarts else elite for restarts, elite in zip(lost, elites, strict=True)
            ]
            elites = grow_chains(criterion, parts, retained_elites, effort, evidence, rng)
            round_values = np.array([elite.value[0] for elite in elites])
            stuck = np.where(round_values > chain_values * (1.0 + VALUE_TOLERANCE), 0, stuck + 1)
            chain_values = np.maximum(chain_values, round_values)
            without_gain += 1
            if chain_values.max() > best_value * (1.0 + patience.rise):
                best_value, without_gain = chain_values.max(), 0
    ends = join_fits([elite.subset(slice(0, 1)) for elite in elites])
    if effort.deepens_chains(nonzeros):
        ends = climbing.deepen(criterion, ends, effort.width, effort.valued)
    met = chain_values >= chain_values.max() * (1.0 - VALUE_TOLERANCE)
    evidence.chains = np.where(met, ends.value[met].max(), ends.value).tolist()
    best_fit = ends.subset(np.argsort(-ends.value, kind="stable")[:1])
    best_fit = reordered(criterion, refined(criterion, best_fit, climbing.LONG))
    # only for adjusted variance: for least squares, and with 1000 nonzeros, this took a quarter of the time
    # and gained nothing; it was not tried for PEV
    is_small = nonzeros <= climbing.FEW_NONZEROS
    if effort.rounds and criterion.m > ALL_ROWS_LIMIT and is_small and not criterion.exact_model:
        replacement = with_components_replaced(criterion, best_fit, effort, evidence)
        if replacement.value[0] > best_fit.value[0]:  # a fit that no other chain has reached
            best_fit = replacement
            evidence.chains[int(np.argmax(evidence.chains))] = float(replacement.value[0])
    return best_fit, evidence


#: The number of groups from which a component is rebuilt, and of climbs from the best of the resulting fits.
REBUILT_FROM, REBUILT_CLIMBS = 40, 2


def with_components_replaced(
    criterion: Criterion, fit: Fits, effort: climbing.Effort, evidence: Evidence
) -> Fits:
    """Return the fit after single components have been replaced as long as this raises the value.

    Each component in turn is rebuilt from the groups of variables with the largest scores given the other
    components; then all components are swept, and climbs start from the best fits. Random perturbations use
    only a few of the rows, so they miss groups of variables far from the current supports, which exchanges of
    single variables do not reach either.

    Parameters
    ----------
    criterion : Criterion
        Adjusted variance for a single covariance matrix in memory.
    fit : Fits
        One fit.
    effort : Effort
    evidence : Evidence
        The final values of the climbs are added to it.
    """
    k = criterion.k
    if k == 1 or not isinstance(criterion.M, Dense):
        return fit
    groups = groups_of_matrix(criterion.M.M, max(criterion.cards))
    for _ in range(k):
        trial_fits = fit.subset(np.zeros(k, dtype=int))
        criterion.empty(trial_fits, np.eye(k, dtype=bool))
        seeds = groups.seeds(trial_fits.M_products, trial_fits.G, REBUILT_FROM)
        for i in range(k):
            rebuild(criterion, trial_fits, np.array([i]), i, seeds[[i]], np.zeros(1, dtype=int))
        trial_fits = reordered(
            criterion, climbing.sweep(criterion, criterion.mended(trial_fits), effort.sweeps)
        )
        trial_fits = trial_fits.subset(distinct(trial_fits.value, REBUILT_CLIMBS))
        trial_fits = climbing.climb(criterion, trial_fits, effort.width, effort.valued)
        evidence.add(trial_fits.value)
        best_fit = trial_fits.subset(distinct(trial_fits.value, 1))
        if not best_fit.value[0] > fit.value[0] * (1.0 + VALUE_TOLERANCE):
            break
        fit = reordered(criterion, refined(criterion, best_fit, climbing.LONG))
    return fit


def _is_finished(
    patience: climbing.Patience, without_gain: int, unseen: float, chain_values: np.ndarray, chains: int
) -> bool:
    """Return whether the search ends after `without_gain` rounds without improvement.

    It ends if `chains` chains have reached the best fit or, after many rounds, fits that are nearly as good.
    """
    if without_gain < (patience.without_gain if unseen <= patience.unseen else patience.long):
        return False
    tolerance = patience.rough if without_gain >= patience.long else VALUE_TOLERANCE
    return bool((chain_values >= chain_values.max() * (1.0 - tolerance)).sum() >= chains)


def _behind(chain_values: np.ndarray, stuck: np.ndarray, agree: int) -> np.ndarray:
    """Return a mask of the chains that restart: chains that fell behind or are not needed for agreement."""
    behind = chain_values < chain_values.max() * (1.0 - VALUE_TOLERANCE)
    return np.where(behind, stuck >= 2, np.cumsum(~behind) > agree)


def _next_starts(
    criterion: Criterion,
    vectors: np.ndarray,
    elites: Sequence[Fits],
    lost: np.ndarray,
    effort: climbing.Effort,
    rng: np.random.Generator,
) -> list[Fits]:
    """Return the next starts of each chain: perturbed copies of its best fits, or new starts if `lost`."""
    going = [elite for elite, restarts in zip(elites, lost, strict=True) if not restarts]
    bases = [elite.subset(rng.integers(0, len(elite), size=effort.kicks)) for elite in going]
    perturbed = perturb(criterion, join_fits(bases), rng)
    parts = iter(
        [perturbed.subset(slice(a, a + effort.kicks)) for a in range(0, len(perturbed), effort.kicks)]
    )
    return [
        pool(criterion, vectors, effort.starts, rng, deterministic=False) if restarts else next(parts)
        for restarts in lost
    ]


def grow_chains(
    criterion: Criterion,
    parts: list[Fits],
    elites: Sequence[Fits | None],
    effort: climbing.Effort,
    evidence: Evidence,
    rng: np.random.Generator,
) -> list[Fits]:
    """Sweep and climb from the fits of every chain, and return the best of its old and new fits.

    Climbs start from the best m fits of a chain, where m is ``effort.climbs``. If the criterion has good
    optima that are far apart (`Criterion.rugged`), climbs in a new chain also start from 2m of the other
    fits, drawn at random. If, in addition, cardinalities differ and the search perturbs fits, they start from
    m random fits and from m fits in which two components have exchanged their cardinalities.
    """
    changing = criterion.rugged and effort.kicks > 0 and not criterion.equal

    def positions_to_climb(chain: int, values: np.ndarray) -> np.ndarray:
        positions = distinct(values, effort.climbs)
        if elites[chain] is None and criterion.rugged:
            remainder = np.setdiff1d(np.arange(len(values)), positions)
            positions = np.concatenate(
                [positions, rng.permutation(remainder)[: effort.climbs if changing else 2 * effort.climbs]]
            )
        return positions

    fresh = _tops(criterion, parts, effort, positions_to_climb)
    new_chains = [chain for chain, elite in enumerate(elites) if elite is None]
    if changing and new_chains:
        # the best fits of the new climbs, with the cardinalities of two components exchanged
        exchanged_starts = [
            interchanged(criterion, start_fits.subset(distinct(start_fits.value, 8)))
            for start_fits in (fresh[c] for c in new_chains)
        ]
        changed = _tops(
            criterion, exchanged_starts, effort, lambda _, values: distinct(values, effort.climbs)
        )
        for chain, exchanged in zip(new_chains, changed, strict=True):
            fresh[chain] = join_fits([fresh[chain], exchanged])
    best_fits = []
    for elite, fits in zip(elites, fresh, strict=True):
        evidence.add(fits.value)
        candidates = fits if elite is None else join_fits([elite, fits])
        retained = distinct(candidates.value, ELITE)
        retained = retained[candidates.value[retained] >= candidates.value[retained[0]] * (1.0 - BELOW_BEST)]
        best_fits.append(candidates.subset(retained))
    return best_fits


def _tops(
    criterion: Criterion,
    parts: list[Fits],
    effort: climbing.Effort,
    positions_to_climb: Callable[[int, np.ndarray], np.ndarray],
) -> list[Fits]:
    """Sweep the fits of every chain, and climb from some of them.

    `positions_to_climb` takes the number of a chain and the values of its fits, and returns the positions of
    the fits from which to climb.
    """
    everything = reordered(criterion, climbing.sweep(criterion, join_fits(parts), effort.sweeps))
    ends = np.cumsum([0, *map(len, parts)])
    positions = [
        a + positions_to_climb(chain, everything.value[a:b]) for chain, (a, b) in enumerate(pairwise(ends))
    ]
    tops = climbing.climb(
        criterion, everything.subset(np.concatenate(positions)), effort.width, effort.valued
    )
    return [tops.subset(slice(a, b)) for a, b in pairwise(np.cumsum([0, *map(len, positions)]))]


def distinct(values: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of the `count` largest distinct values, the largest first."""
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    is_distinct = np.ones(len(order), dtype=bool)
    is_distinct[1:] = ranked[:-1] - ranked[1:] > VALUE_TOLERANCE * np.abs(ranked[:-1])
    return order[is_distinct][:count]


# --- the result of a search -----------------------------------------------------------------------


@dataclass(frozen=True)
class Searched:
    """The record of a search, which helps to judge whether a better fit is likely.

    Attributes
    ----------
    starts : int
        The number of starts.
    hits : int
        The number of starts that ended in the best fit.
    chains, agreeing : int
        The number of independent searches, and the number of these that ended in the best fit.
    unseen : float
        The Good-Turing estimate of the probability that another start ends in a new optimum.
    settled : bool or None
        Whether every exchange of one variable in one component was tried and none improves the fit; None if
        not all were tried.
    proven : bool
        Whether it is proven that no other loadings with these cardinalities are better.
    variables : int or None
        The size of the working set, if only some of the variables were searched.
    sufficient : bool or None
        For a working set: whether exchanges with all other variables were tested and none improves the fit.
    flat : bool or None
        Whether the gradient of the objective is zero on the supports. If not, the objective increases as
        components or scores approach linear dependence, and no loadings on these supports attain its
        supremum. None if there was no search.
    """

    starts: int
    hits: int
    chains: int
    agreeing: int
    unseen: float
    settled: bool | None
    proven: bool
    variables: int | None = None
    sufficient: bool | None = None
    flat: bool | None = None

    def in_words(self, p: int) -> str:
        """Return a description of the search as text; `p` is the number of variables."""
        if self.proven:
            return "proven: no other loadings with the same numbers of nonzeros are better"
        parts = []
        if self.starts > 1:
            agreement = ""
            if self.chains > 1 and self.agreeing == self.chains:
                agreement = (
                    f" and by {'both' if self.chains == 2 else f'all {self.chains}'} independent searches"
                )
            elif self.chains > 1:
                agreement = f" and by {self.agreeing} of {self.chains} independent searches"
            parts.append(f"reached from {self.hits} of {self.starts} starts{agreement}")
        if self.variables is not None and self.variables < p:
            parts.append(f"searched among {self.variables:,} of {p:,} variables")
        if self.sufficient is False:
            parts.append("exchanges with the others may improve it")
        else:
            parts.append("no single exchange improves it" if self.settled else "not all exchanges were tried")
        if self.flat is False:
            parts.append("its value can still increase as components or scores become dependent")
        return "; ".join(parts)


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchResult(Searched):
    """The result and the record of a search; starts are climbs, and chains are independent searches.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Unit loadings with at most `card` nonzeros; fewer only if more would not raise the objective.
    value : float
        The objective from :mod:`spcastat.measures`, as a share of the total variance.
    optima : tuple of (float, int)
        Distinct local optima, as shares of the total variance, the best first, and the number of climbs that
        ended in each.
    """

    V: np.ndarray
    value: float
    optima: tuple[tuple[float, int], ...]


def directly(op: Operator, V: np.ndarray, objective: str, settled: bool | None, proven: bool) -> SearchResult:
    """Return the result for loadings that were found without climbs."""
    value = float(OBJECTIVES[objective].measure(V, op)[-1])
    return SearchResult(1, 1, 1, 1, 0.0, settled, proven, V=V, value=value, optima=((value, 1),))


def result_of_climbs(
    op: Operator,
    criterion: Criterion,
    fit: Fits,
    evidence: Evidence,
    objective: str,
    settled: bool | None,
    variables: np.ndarray | None = None,
    sufficient: bool | None = None,
) -> SearchResult:
    """Return the result for the best fit of the climbs, with stationary loadings in their final order.

    If the climbs used only some of the variables, these are `variables`, and `sufficient` tells whether
    exchanges with all other variables were tested.
    """
    fit = falling(criterion, stationary(criterion, fit))
    V = criterion.dense(fit)[0]
    if variables is not None and criterion.m < op.p:
        V, inner_loadings = np.zeros((op.p, criterion.k)), V
        V[variables] = inner_loadings
    evidence.settle(float(fit.value[0]))
    optima = evidence.table()
    return SearchResult(
        V=V,
        value=float(OBJECTIVES[objective].measure(V, op)[-1]),
        starts=len(evidence.values),
        hits=optima[0][1],
        chains=len(evidence.chains),
        agreeing=sum(end >= max(evidence.chains) * (1.0 - VALUE_TOLERANCE) for end in evidence.chains),
        unseen=evidence.unseen(),
        optima=tuple(optima),
        settled=settled,
        proven=False,
        variables=None if variables is None else len(variables),
        sufficient=sufficient,
        flat=bool(steepness(criterion, fit)[0] <= FLAT),
    )
