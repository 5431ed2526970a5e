"""Search with many variables, in working sets, until no variable outside improves the fit.

The starts are improved by sweeps over all variables if products with the covariance matrix are cheap. The
first working set consists of their supports, of variables with a steep slope, and of groups of strongly
correlated variables. The fit found on it determines the next working set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from spcastat.linalg.eigenvectors import symmetric, varimax
from spcastat.linalg.operators import GRAM_ORDER, Gram, Operator
from spcastat.measures import measure_named
from spcastat.search import criteria
from spcastat.search.chains import best_predictor, empty, from_directions, search
from spcastat.search.climbing import SAME, Effort, Evidence, climb, exchange_until_optimal, sweep
from spcastat.search.matrices import TINY, Dense, Known, best_vectors, ranked_entries
from spcastat.search.moves import GAIN, falling, rebuild, reordered, stationary, trials
from spcastat.solvers.solver import Searched
from spcastat.solvers.support_search import best_support

# --- what a search returns ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchResult(Searched):
    """The result of a search, and its course; starts are climbs, and chains are independent searches.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Unit loadings with at most `card` nonzeros; fewer only if more would not raise the objective.
    value : float
        The objective from :mod:`spcastat.measures`, as a share of the total variance.
    optima : tuple of (float, int)
        Distinct local optima, as shares of the total variance, the best first, and how often climbs ended
        in each.
    """

    V: np.ndarray
    value: float
    optima: tuple[tuple[float, int], ...]


def directly(op: Operator, V: np.ndarray, objective: str, settled: bool | None, proven: bool) -> SearchResult:
    """Return the result for loadings that were found without climbs."""
    value = float(measure_named(objective)(V, op)[-1])
    return SearchResult(1, 1, 1, 1, 0.0, settled, proven, V=V, value=value, optima=((value, 1),))


def found_of(
    op: Operator,
    criterion: criteria.Criterion,
    fit: criteria.Fits,
    evidence: Evidence,
    objective: str,
    settled: bool | None,
    variables: np.ndarray | None = None,
    sufficient: bool | None = None,
) -> SearchResult:
    """Return the result for the best fit of climbs, with stationary loadings in their final order.

    If the climbs ran on some variables only, these are `variables`, and `sufficient` tells whether
    exchanges with all others were tested.
    """
    fit = falling(criterion, stationary(criterion, fit))
    V = criterion.dense(fit)[0]
    if variables is not None and criterion.m < op.p:
        V, inside = np.zeros((op.p, criterion.k)), V
        V[variables] = inside
    evidence.settle(float(fit.value[0]))
    optima = evidence.table()
    return SearchResult(
        V=V,
        value=float(measure_named(objective)(V, op)[-1]),
        starts=len(evidence.values),
        hits=optima[0][1],
        chains=len(evidence.chains),
        agreeing=sum(end >= max(evidence.chains) * (1.0 - SAME) for end in evidence.chains),
        unseen=evidence.unseen(),
        optima=tuple(optima),
        settled=settled,
        proven=False,
        variables=None if variables is None else len(variables),
        sufficient=sufficient,
    )


#: Up to ALL variables, all are searched; otherwise the working set has SOME variables, or EACH per nonzero.
ALL, SOME, EACH = 2500, 1000, 3
#: Rows of the covariance matrix examined for groups, half as many by a quick search, and at once.
ROWS, AT_ONCE = 8000, 250
#: Entries of these rows at once and, above 100,000 variables, in all, which bounds memory and time.
ENTRIES_AT_ONCE, ENTRIES = 2**24, 100_000_000


# --- working sets ---------------------------------------------------------------------------------


#: Groups considered for a component.
SEEDS = 5
#: Sweeps of a start over all variables, and of a fit between two working sets.
SWEEPS = 10
#: Number of exchanges with variables outside the working set that are evaluated for each component.
VALUED = 32


@dataclass(eq=False)
class Groups:
    """Groups of variables: the c largest entries of rows of the covariance matrix.

    Attributes
    ----------
    rows : ndarray of int, shape (R,)
        The variable of each row.
    places : ndarray of int, shape (R, c)
    x : ndarray of shape (R, c)
        The entries there, scaled to unit length.
    lengths : ndarray of shape (R,)
        The lengths before scaling.
    variances : ndarray of shape (R,)
        Of the variables of these rows.
    """

    rows: np.ndarray
    places: np.ndarray
    x: np.ndarray
    lengths: np.ndarray
    variances: np.ndarray

    def scores(self, F: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return lower bounds on the variances of the groups given other components, shape (R,).

        For components with products F, shape (k, p), and inverse covariance matrix Z, the residual covariance
        matrix is S~ = S - F'ZF; for row j and its group v, v'S~v >= (e_j'S~v)^2 / S~_jj.
        """
        own = F[:, self.rows]
        R, c = self.places.shape
        rows = csr_array((self.x.ravel(), self.places.ravel(), np.arange(0, R * c + 1, c)), (R, F.shape[1]))
        along = (rows @ F.T).T
        left = self.variances - (own * (Z @ own)).sum(axis=0)
        inner = np.maximum(self.lengths - (own * (Z @ along)).sum(axis=0), 0.0)
        return np.where(left > 1e-3 * self.variances, inner**2 / np.maximum(left, TINY), 0.0)

    def best(self, scores: np.ndarray, count: int) -> np.ndarray:
        """Return up to `count` groups of large scores; no group's row variable is in an earlier group."""
        found: list[int] = []
        taken: set[int] = set()
        for j in np.argsort(-scores, kind="stable"):
            if len(found) == count:
                break
            if self.rows[j] not in taken:
                found.append(int(j))
                taken.update(self.places[j].tolist())
        return np.array(found)


def groups_of(op: Operator, card: int, explained: np.ndarray, most: int, rng: np.random.Generator) -> Groups:
    """Return the groups of at most `most` rows: those that PCA explains best, and random ones."""
    p = op.p
    count = min(p, AT_ONCE if op.out_of_core else max(most * min(most, p) // p, min(1000, ENTRIES // p), 2))
    first = np.argsort(-explained, kind="stable")[: count // 2]
    rest = rng.permutation(np.setdiff1d(np.arange(p), first))[: count - len(first)]
    rows = np.sort(np.concatenate([first, rest]))
    places = np.empty((count, card), dtype=int)
    x = np.empty((count, card))
    at_once = max(min(AT_ONCE, ENTRIES_AT_ONCE // p), 1)
    for a in range(0, count, at_once):
        part = slice(a, a + at_once)
        C = np.ascontiguousarray(op.columns(rows[part]).T) / op.total
        places[part] = np.argpartition(-np.abs(C), card - 1, axis=1)[:, :card]
        x[part] = np.take_along_axis(C, places[part], axis=1)
    lengths = np.linalg.norm(x, axis=1)
    x /= np.maximum(lengths, TINY)[:, None]
    return Groups(rows, places, x, lengths, op.diagonal()[rows] / op.total)


def twice(op: Operator, k: int) -> int:
    """Return how many leading eigenvectors serve as starts for k components."""
    return min(2 * k, op.p, max(op.rank_limit, k))


def greedy_from(
    criterion: criteria.Criterion, groups: Groups, B: int, rng: np.random.Generator | None
) -> criteria.Fits:
    """Return B fits, built one component after another from the groups of variables with the largest scores.

    With a generator the scores are multiplied by random factors.
    """
    fits = empty(criterion, B)
    for i in range(criterion.k):
        _build(criterion, groups, fits, i, rng)
    return fits


def rebuilt(criterion: criteria.Criterion, groups: Groups, fits: criteria.Fits) -> criteria.Fits:
    """Return the fits with every component in turn rebuilt from a group, if that raises the value.

    The first component of a greedy fit may explain what several others explain better.
    """
    fits = reordered(criterion, fits)
    for i in range(criterion.k):
        other = fits.some(slice(None))
        criterion.empty(other, np.tile(np.arange(criterion.k) == i, (len(fits), 1)))
        _build(criterion, groups, other, i)
        better = np.flatnonzero(other.value > fits.value * (1.0 + GAIN))
        fits.put(better, other.some(better))
    return fits


def _build(
    criterion: criteria.Criterion,
    groups: Groups,
    fits: criteria.Fits,
    i: int,
    rng: np.random.Generator | None = None,
) -> None:
    """Build component i, which is empty, from the groups with the largest scores given the others."""
    B = len(fits)
    Z = criteria.inverse(fits.G)
    seeds = np.empty((B, SEEDS), dtype=int)
    for b in range(B):
        scores = groups.scores(fits.first[b], Z[b])
        if rng is not None:
            # standard deviation of log scores
            scores = scores * np.exp(0.15 * rng.standard_normal(len(scores)))
        seeds[b] = np.resize(groups.rows[groups.best(scores, SEEDS)], SEEDS)
    rebuild(criterion, fits, np.arange(B), i, seeds, np.zeros(B, dtype=int))


@dataclass(frozen=True, eq=False)
class Prepared:
    """What searches of any effort share, if the covariance matrix is not kept in memory.

    Attributes
    ----------
    op : Operator
        Of p variables.
    card : tuple of int
    objective : str
    vectors : ndarray of shape (p, k or more)
        Leading directions.
    explained : ndarray of shape (p,)
        The variance of each variable that these directions explain.
    groups : Groups
        Those of a quick search.
    whole : Criterion or None
        Of all variables: adjusted variance in place of the least-squares share, whose sweeps would take
        products of products. None if products with all variables are too expensive for sweeps.
    swept : Fits or list of ndarray of shape (p, k)
        A greedy fit, PCA and its rotations: after sweeps, or truncated if there are no sweeps.
    """

    op: Operator
    card: tuple[int, ...]
    objective: str
    vectors: np.ndarray
    explained: np.ndarray
    groups: Groups
    whole: criteria.Criterion | None
    swept: criteria.Fits | list[np.ndarray]


def prepared(
    op: Operator, card: tuple[int, ...], objective: str, rng: np.random.Generator, few_products: bool
) -> Prepared:
    """Return the leading directions, groups and first starts.

    `few_products` tells whether products with all variables are too expensive for sweeps, as for rows on
    disk.
    """
    k = len(card)
    # for rows on disk, exactly k directions are already known
    values, vectors, _ = op.sketched(k if few_products else twice(op, k))
    explained = vectors**2 @ values
    # starts need no converged rotation; with as many vectors as components both would be the same
    rotated = [varimax(vectors[:, :m], max_iter=30)[:, :k] for m in sorted({k, vectors.shape[1]})]
    turned = [vectors[:, :k], *rotated]
    groups = groups_of(op, max(card), explained, ROWS // 2, rng)
    if few_products:
        cut = [_cut(D, card) for D in turned]
        return Prepared(op, card, objective, vectors, explained, groups, None, cut)
    whole = criteria.criterion_of_operator(op, card, "pev" if objective == "pev" else "adjusted")
    greedy = rebuilt(whole, groups, greedy_from(whole, groups, 1, None))
    swept = _swept(whole, criteria.joined([greedy, from_directions(whole, turned)]))
    return Prepared(op, card, objective, vectors, explained, groups, whole, swept)


def _groups_for(given: Prepared, settings: Effort, rng: np.random.Generator) -> Groups:
    """Return the groups for an effort: of more rows than a quick search examines, if there are more."""
    if not settings.rounds or given.op.out_of_core or given.op.p <= ROWS // 2:
        return given.groups
    return groups_of(given.op, max(given.card), given.explained, ROWS, rng)


def _swept(criterion: criteria.Criterion, fits: criteria.Fits) -> criteria.Fits:
    return reordered(criterion, sweep(criterion, fits, SWEEPS))


def restricted(
    given: Prepared, settings: Effort, rng: np.random.Generator, starts: list[np.ndarray]
) -> SearchResult:
    """Search for the best fit of an operator whose covariance matrix is not kept in memory.

    `settings` and `rng` are as for `spcastat.search.default.joint`; `starts` are more starts, each (p, k).
    """
    op, card, objective, whole = given.op, given.card, given.objective, given.whole
    groups = _groups_for(given, settings, rng)
    k, p = len(card), op.p
    quick = whole is not None and not settings.rounds
    if whole is None:
        assert isinstance(given.swept, list)
        known = [*starts, *given.swept]
    else:
        assert isinstance(given.swept, criteria.Fits)
        fits = given.swept
        if starts:
            # the best of these is where the fit of less effort began, which is among the starts
            others = fits.some(np.argsort(-fits.value, kind="stable")[1 if k > 1 else 0 :])
            fits = criteria.joined([others, _swept(whole, from_directions(whole, starts))])
        if not quick:
            fits = criteria.joined([fits, _swept(whole, greedy_from(whole, groups, settings.climbs, rng))])
        best = np.argsort(-fits.value, kind="stable")
        known = list(whole.dense(fits.some(best[: settings.climbs])))
        if objective == "least_squares":  # sweeps of adjusted variance may make these worse
            known = [*starts, *known]
    size = p if p <= ALL else min(p, max(SOME, EACH * sum(card)))
    if quick:
        known, size = known[:1], SOME // 2
    within = replace(
        settings,
        chains=1 + settings.chains // 4,
        starts=max(settings.starts // 3, 3),
        climbs=(settings.climbs + 1) // 2,
        rounds=settings.rounds // 2,
        deep=False,
        many=None,
    )
    images = None if whole is None else op.dot(known[0]) / op.total
    entering = np.zeros(0, dtype=int)
    value, sufficient, tested, evidence = 0.0, None, False, Evidence()
    for count in range(4):
        variables = _chosen(known, images, given.explained, groups, card, size, entering)
        criterion = inside(op, variables, card, objective)
        start = from_directions(criterion, [one[variables] for one in known])
        # searching again raises the value by .1 % at most
        if quick or (count and k > 1 and within.chains == 1):
            fit = climb(criterion, start, settings.width, settings.valued, 1e-3 if quick else 1e-5)
            evidence.add(fit.value)
        else:
            fit, evidence = _searched(criterion, given.vectors[variables], within, rng, start)
        now = float(fit.value[0])
        rose, value = now > value * (1.0 + 2e-5), now
        if whole is not None and not quick and rose and entering.size == 0 and size < p:
            known = [_of_all(criterion, fit, variables, p)]
            if objective != "least_squares":  # its sweeps would take products of products
                again = rebuilt(whole, groups, from_directions(whole, known))
                known = list(whole.dense(_swept(whole, again)))
            images = op.dot(known[0]) / op.total
            continue
        tested = settings.deep if k == 1 else settings.deep_with(sum(card))
        if tested:
            fit = exchange_until_optimal(criterion, fit)
        if not settings.rounds or len(variables) == p or objective == "least_squares":
            sufficient = True if len(variables) == p else None
            break
        known = [_of_all(criterion, fit, variables, p)]
        entering, images = _entering(op, known[0], card, objective, variables)
        sufficient = entering.size == 0
        if sufficient:
            break
    evidence.chains = fit.value.tolist()
    settled = (sufficient and tested) or None
    return found_of(op, criterion, fit, evidence, objective, settled, variables, sufficient)


def _of_all(criterion: criteria.Criterion, fit: criteria.Fits, variables: np.ndarray, p: int) -> np.ndarray:
    """Return the loadings of a fit on some variables, shape (p, k)."""
    V = np.zeros((p, criterion.k))
    V[variables] = criterion.dense(fit)[0]
    return V


def _searched(
    criterion: criteria.Criterion,
    vectors: np.ndarray,
    settings: Effort,
    rng: np.random.Generator,
    start: criteria.Fits,
) -> tuple[criteria.Fits, Evidence]:
    """Search on a working set."""
    if criterion.k > 1:
        return search(criterion, vectors, settings, rng, start)
    if isinstance(criterion, criteria.Projected) and not criterion.rugged:
        return best_predictor(criterion)
    S = criterion.M if criterion.T is None else criterion.T
    assert isinstance(S, Dense)
    support = best_support(S.M, criterion.cards[0], pairs=False)[1][None]
    best = criterion.fits(support, best_vectors(S.blocks(support, support), None))
    return best, Evidence(best.value.tolist(), best.value.tolist())


def _cut(D: np.ndarray, card: tuple[int, ...]) -> np.ndarray:
    """Return dense loadings, shape (p, k), truncated to the cardinalities."""
    V = np.zeros(D.shape)
    for i, c in enumerate(card):
        J = np.argsort(-np.abs(D[:, i]), kind="stable")[:c]
        V[J, i] = D[J, i]
    return V


@dataclass(frozen=True, eq=False)
class Improved:
    """Loadings that no exchange with any variable improves.

    Attributes
    ----------
    V : ndarray of shape (m, k)
        On the working set.
    variables : ndarray of int, shape (m,)
        Ascending.
    sub : Gram
        Their covariance matrix.
    rounds : int
        How often the working set was searched.
    left : int
        Number of variables outside that would improve the fit but did not fit into the working set.
    """

    V: np.ndarray
    variables: np.ndarray
    sub: Gram
    rounds: int
    left: int


def improved(
    op: Operator,
    variables: np.ndarray,
    starts: Sequence[np.ndarray],
    card: tuple[int, ...],
    advance: Callable[[int], object] = lambda _: None,
) -> Improved:
    """Improve PEV by exchanges, first within a working set and then with all variables.

    Parameters
    ----------
    op : Operator
    variables : ndarray of int, shape (m,)
        The working set, ascending.
    starts : sequence of ndarray of shape (m, k)
        Loadings on it, with at most `card` nonzeros; the start that leads to the best fit is used.
    card : tuple of int
    advance : callable
        Called after each round.
    """
    rounds = 0
    while True:
        rounds += 1
        sub = gram_of(op, variables)
        criterion = criteria.criterion_of_matrix(sub.S / op.total, card, "pev")
        fits = climb(criterion, from_directions(criterion, starts), len(variables), VALUED)
        V = criterion.dense(
            exchange_until_optimal(criterion, fits.some(ranked_entries(fits.value[None], 1)[0]))
        )[0]
        advance(1)
        whole = np.zeros((op.p, len(card)))
        whole[variables] = V
        more = _entering(op, whole, card, "pev", variables)[0]
        room = GRAM_ORDER - len(variables)
        if more.size == 0 or room <= 0:
            return Improved(V, variables, sub, rounds, len(more))
        variables = np.union1d(variables, more[:room])
        starts = [whole[variables]]


def gram_of(op: Operator, variables: np.ndarray) -> Gram:
    """Return the covariance matrix of some variables."""
    return Gram(symmetric(op.block(variables)), op.rank_limit)


def _chosen(
    known: list[np.ndarray],
    images: np.ndarray | None,
    explained: np.ndarray,
    groups: Groups,
    card: tuple[int, ...],
    size: int,
    entering: np.ndarray,
) -> np.ndarray:
    """Return a working set, ascending.

    It contains the supports of the known fits and the entering variables; given the first fit, whose
    products with the covariance matrix are `images`, the variables of steepest slope and the groups of
    largest score; and then the variables that PCA explains best.
    """
    p, k = known[0].shape
    if size >= p:
        return np.arange(p)
    need = [np.flatnonzero(V.any(axis=1)) for V in known] + [entering]
    F, Z = np.zeros((k, p)), np.zeros((k, k))
    if images is not None:
        F = images.T
        G = known[0].T @ images
        G = symmetric(G)
        C = criteria.triangle(G)[0]
        Z = criteria.inverse(G[None])[0]
        slope = np.abs(images @ (C @ C.T))
        need += [ranked_entries(slope[:, i][None], max(2 * c, 30))[0] for i, c in enumerate(card)]
    chosen = np.unique(np.concatenate(need))
    if chosen.size < size:
        best = groups.best(groups.scores(F, Z), max(4, (size - chosen.size) // (3 * max(card))))
        chosen = np.union1d(chosen, groups.places[best].ravel())
    if chosen.size < size:
        keys = explained.copy()
        keys[chosen] = np.inf
        chosen = np.sort(np.argsort(-keys, kind="stable")[:size])
    return chosen


def inside(op: Operator, variables: np.ndarray, card: tuple[int, ...], objective: str) -> criteria.Criterion:
    """Return the criterion on some variables; the others still count in the least-squares objective."""
    S = op.block(variables) / op.total
    S = symmetric(S)
    if objective != "least_squares":
        return criteria.criterion_of_matrix(S, card, objective)
    T = np.empty_like(S)
    for start in range(0, len(variables), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        T[:, part] = op.dot(op.columns(variables[part]))[variables] / op.total**2
    return criteria.Projected(Dense(S), Dense(symmetric(T)), card)


def _entering(
    op: Operator, V: np.ndarray, card: tuple[int, ...], objective: str, variables: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the variables outside whose exchange raises adjusted variance or PEV, and S V / total."""
    supports = [_filled(v, c, variables) for v, c in zip(V.T, card, strict=True)]
    used = np.unique(np.concatenate(supports))
    known = Known(used, op.columns(used) / op.total, op.diagonal() / op.total)
    criterion = criteria.of_moments(known, card, objective)
    x = np.concatenate([V[support, i] for i, support in enumerate(supports)])
    fit = criterion.fits(np.concatenate(supports)[None], x[None])
    found = []
    for i in range(len(card)):
        places, _, values = trials(criterion, fit, i, op.p, VALUED)
        found.append(places[0][values[0] > fit.value[0] * (1.0 + GAIN)].ravel())
    images = (fit.first if criterion.T is None else fit.second)[0].T
    return np.setdiff1d(np.concatenate(found), variables), images


def _filled(v: np.ndarray, card: int, variables: np.ndarray) -> np.ndarray:
    """Return the support of v, ascending, filled up to `card` with other variables from `variables`."""
    own = np.flatnonzero(v)
    return np.sort(np.append(own, np.setdiff1d(variables, own)[: card - own.size]))
