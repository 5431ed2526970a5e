"""Search with many variables by working sets, until no variable outside the set improves the fit.

The starts are improved by sweeps over all variables if products with the covariance matrix are cheap. The
first working set consists of the supports of the starts, variables with a steep slope, and groups of strongly
correlated variables. The fit found on this set determines the next working set.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spcastat.linalg.eigenvectors import HALF_DIGITS, symmetric, varimax
from spcastat.linalg.operators import Operator, Rows
from spcastat.search import criteria
from spcastat.search.chains import (
    Evidence,
    SearchResult,
    empty,
    from_directions,
    result_of_climbs,
    search,
    twice,
)
from spcastat.search.climbing import Effort, climb, exchange_until_optimal, reordered, sweep
from spcastat.search.correlated_groups import ROWS_AT_ONCE, Groups, groups_of, groups_of_matrix
from spcastat.search.criteria import Criterion, Fits
from spcastat.search.matrices import (
    Dense,
    Known,
    QuadraticModel,
    best_vectors,
    divisor,
    eigen,
    ranked_entries,
)
from spcastat.search.moves import GAIN, iterated, rebuild, trials
from spcastat.search.objectives import OBJECTIVES
from spcastat.solvers.support_search import IMPROVED_SUPPORTS, QUICKLY_IMPROVED, best_support

# --- working sets ---------------------------------------------------------------------------------


#: Up to SEARCHED_WHOLE variables, all are searched; otherwise the working set has WORKING_SET variables or,
#: if that is more, WORKING_SET_PER_NONZERO per nonzero.
SEARCHED_WHOLE, WORKING_SET, WORKING_SET_PER_NONZERO = 2500, 1000, 3
#: The size of the working set for one component, unless the search is quick. In noise with 3000 to 5000
#: variables, sizes of 1000 and 2500 took .8 and 1.9 of the time and gave .7 % less and .5 % more on average;
#: for genes the values were the same.
WORKING_SET_OF_ONE = 1500
#: The number of rows of the covariance matrix that are examined for groups; half as many in a quick search.
EXAMINED_ROWS = 8000
#: The number of groups considered for a component.
CANDIDATE_GROUPS = 5
#: The number of sweeps over all variables, for a start and for a fit between two working sets.
WORKING_SWEEPS = 10
#: Number of exchanges with variables outside the working set that are evaluated for each component.
OUTSIDE_EXCHANGES = 32
#: The largest number of working sets.
WORKING_SETS = 4
#: Climbs on a working set end if a round raises the value by less than this share: QUICK_RISE in a quick
#: search, and LATER_RISE after the first working set, where searching again would raise the value by at most
#: .1 %. With 900 variables of noise, genes or words, a quick search gains .1 % on average over a search that
#: ends at 1e-3.
QUICK_RISE, LATER_RISE = 3e-4, 1e-5
#: The number of climbs in a quick search, and of exchanges of a component for which the criterion is
#: computed. With 320 and 900 variables of noise, genes and words, and with the colon and khan data, one climb
#: and six exchanges took .7 to 1 of the time and gave .29 % (noise), .28 % (colon) and 0 to .03 % less.
QUICK_CLIMBS, QUICKLY_VALUED = 3, 3
#: A fit is swept over all variables again if its working set raised the value by more than this share.
SWEPT_RISE = 2e-5


def greedy_from(
    criterion: criteria.Criterion, groups: Groups, B: int, rng: np.random.Generator | None
) -> criteria.Fits:
    """Return B fits, built one component after another from the groups of variables with the largest scores.

    If a generator is given, the scores are multiplied by random factors.
    """
    fits = empty(criterion, B)
    for i in range(criterion.k):
        _build(criterion, groups, fits, i, rng)
    return fits


def rebuilt(criterion: criteria.Criterion, groups: Groups, fits: criteria.Fits) -> criteria.Fits:
    """Return the fits after each component in turn is rebuilt from a group if this raises the value.

    In a greedy fit, the first component may explain variance that several other components explain better.
    """
    fits = reordered(criterion, fits)
    for i in range(criterion.k):
        trial_fits = fits.subset(slice(None))
        criterion.empty(trial_fits, np.tile(np.arange(criterion.k) == i, (len(fits), 1)))
        _build(criterion, groups, trial_fits, i)
        improved = np.flatnonzero(trial_fits.value > fits.value * (1.0 + GAIN))
        fits.put(improved, trial_fits.subset(improved))
    return fits


def _build(
    criterion: criteria.Criterion,
    groups: Groups,
    fits: criteria.Fits,
    i: int,
    rng: np.random.Generator | None = None,
) -> None:
    """Build the empty component i from the groups with the largest scores given the other components.

    For PEV, `M_products` contains the loadings, so groups of variables in other components have score zero;
    the scores of other groups are not reduced, since PEV permits correlated components.
    """
    fit_indices = np.arange(len(fits))
    seeds = groups.seeds(fits.M_products, fits.G, CANDIDATE_GROUPS, rng)
    rebuild(criterion, fits, fit_indices, i, seeds, np.zeros_like(fit_indices))


@dataclass(frozen=True, eq=False)
class Swept:
    """Fits after sweeps over all variables, and their criterion.

    Attributes
    ----------
    criterion : Criterion
        Adjusted variance instead of the least-squares share, whose sweeps would need products with S S.
    fits : Fits
        A greedy fit, the PCA fit and its rotations.
    """

    criterion: criteria.Criterion
    fits: criteria.Fits


@dataclass(frozen=True, eq=False)
class Prepared:
    """The quantities that searches of all efforts share if the covariance matrix is not kept in memory.

    Attributes
    ----------
    op : Operator
        The data, with p variables.
    card : tuple of int
    objective : str
    vectors : ndarray of shape (p, k or more)
        Leading directions.
    explained : ndarray of shape (p,)
        The variance of each variable that the leading directions explain.
    groups : Groups
        The groups for a quick search.
    truncated_starts : list of ndarray of shape (p, k)
        Truncated loadings of PCA and its rotations, the starts if there are no sweeps.
    swept : Swept or None
        None if products with all variables are too expensive for sweeps.
    """

    op: Operator
    card: tuple[int, ...]
    objective: str
    vectors: np.ndarray
    explained: np.ndarray
    groups: Groups
    truncated_starts: list[np.ndarray]
    swept: Swept | None


def prepared(
    op: Operator, card: tuple[int, ...], objective: str, rng: np.random.Generator, few_products: bool
) -> Prepared:
    """Return the leading directions, the groups and the first starts.

    `few_products` tells whether products with all variables are too expensive for sweeps, as for rows on
    disk.
    """
    k = len(card)
    # for rows on disk, exactly k directions are already known
    values, vectors, _ = op.sketched(k if few_products else twice(op, k))
    explained = vectors**2 @ values
    # starts do not need a converged rotation; with k vectors, the two rotations would be the same
    rotated = [varimax(vectors[:, :m], max_iter=30)[:, :k] for m in sorted({k, vectors.shape[1]})]
    directions = [vectors[:, :k], *rotated]
    groups = groups_of(op, max(card), explained, EXAMINED_ROWS // 2, rng)
    if few_products:
        truncated = [_truncated(D, card) for D in directions]
        return Prepared(op, card, objective, vectors, explained, groups, truncated, None)
    record = OBJECTIVES[objective]
    criterion = (record.proxy or record).criterion.of_operator(op, card)
    greedy = rebuilt(criterion, groups, greedy_from(criterion, groups, 1, None))
    fits = _swept(criterion, criteria.join_fits([greedy, from_directions(criterion, directions)]))
    return Prepared(op, card, objective, vectors, explained, groups, [], Swept(criterion, fits))


def more_groups(given: Prepared, rng: np.random.Generator) -> Groups:
    """Return the groups from more rows than a quick search examines, if there are more rows."""
    if given.op.out_of_core or given.op.p <= EXAMINED_ROWS // 2:
        return given.groups
    return groups_of(given.op, max(given.card), given.explained, EXAMINED_ROWS, rng)


def _swept(criterion: criteria.Criterion, fits: criteria.Fits) -> criteria.Fits:
    return reordered(criterion, sweep(criterion, fits, WORKING_SWEEPS))


@dataclass(frozen=True, eq=False)
class _Basis:
    """The quantities that determine a working set.

    Attributes
    ----------
    loadings : list of ndarray of shape (p, k)
        Fits whose supports the working set contains.
    images : ndarray of shape (p, k) or None
        Products of the first fit with the covariance matrix; None if they are too expensive.
    entering : ndarray of int
        Variables outside the last working set that improve the first fit by an exchange.
    """

    loadings: list[np.ndarray]
    images: np.ndarray | None
    entering: np.ndarray


@dataclass(frozen=True, eq=False)
class _Found:
    """The best fit on a working set.

    Attributes
    ----------
    criterion : Criterion
        The criterion on the variables in the working set.
    fit : Fits
        A single fit.
    variables : ndarray of int, shape (m,)
        The working set, ascending.
    """

    criterion: criteria.Criterion
    fit: criteria.Fits
    variables: np.ndarray

    @property
    def value(self) -> float:
        return float(self.fit.value[0])

    def loadings(self, p: int) -> np.ndarray:
        """Return the loadings of all p variables, shape (p, k)."""
        V = np.zeros((p, self.criterion.k))
        V[self.variables] = self.criterion.dense(self.fit)[0]
        return V


def restricted(
    problem: Prepared, groups: Groups, settings: Effort, rng: np.random.Generator, starts: list[np.ndarray]
) -> SearchResult:
    """Search for the best fit of an operator whose covariance matrix is not kept in memory.

    See `spcastat.search.joint_search.joint` for `rng`. `settings` are the settings of the effort. `groups`
    are the groups of `problem` for a quick search, and otherwise the result of `more_groups`. `starts` are
    additional starts, each of shape (p, k).
    """
    op, k, objective = problem.op, len(problem.card), problem.objective
    quick = problem.swept is not None and not settings.rounds
    loadings = _starting_loadings(problem, groups, settings, rng, starts)
    size = _size(op.p, problem.card, quick)
    images = None if problem.swept is None else op.dot(loadings[0]) / op.total
    basis = _Basis(loadings, images, np.zeros(0, dtype=int))
    deep = settings.deep if k == 1 else settings.deep_with(sum(problem.card))

    settings_inside = _settings_within(settings)
    evidence, value = Evidence(), 0.0
    tested = False  # whether exchanges, each followed by an ascent, were tried within the last working set
    sufficient: bool | None = None  # whether no variable outside the set improves the fit; None if not tested
    for count in range(WORKING_SETS):
        variables = _working_set(basis, problem.explained, groups, problem.card, size)
        criterion = criterion_on(op, variables, problem.card, objective)
        start = from_directions(criterion, [V[variables] for V in basis.loadings])
        if quick and k > 1:
            fit = _quickly_climbed(criterion, start, settings, evidence)
        elif count and settings_inside.chains == 1:
            fit = climb(criterion, start, settings.width, settings.valued, LATER_RISE)
            evidence.add(fit.value)
        else:
            fit, evidence = _searched(criterion, problem.vectors[variables], settings_inside, rng, start)
        fit_inside = _Found(criterion, fit, variables)
        # the first working sets are determined by sweeps over all variables as long as the value rises
        rose, value = fit_inside.value > value * (1.0 + SWEPT_RISE), fit_inside.value
        if problem.swept is not None and not quick and size < op.p and rose and not basis.entering.size:
            basis = _swept_again(problem, problem.swept.criterion, groups, fit_inside)
            continue
        # the last tests are exchanges within the working set, and then with all variables
        tested = deep
        if deep:
            fit_inside = replace(fit_inside, fit=exchange_until_optimal(criterion, fit))
        if not settings.rounds or len(variables) == op.p or OBJECTIVES[objective].criterion.squares:
            sufficient = True if len(variables) == op.p else None
            break
        V = fit_inside.loadings(op.p)
        entering, images = _entering(op, V, problem.card, objective, variables)
        basis = _Basis([V], images, entering)
        sufficient = entering.size == 0
        if sufficient:
            break
    evidence.chains = fit_inside.fit.value.tolist()
    settled = (sufficient and tested) or None
    return result_of_climbs(
        op,
        fit_inside.criterion,
        fit_inside.fit,
        evidence,
        objective,
        settled,
        fit_inside.variables,
        sufficient,
    )


def one_of_all(op: Operator, card: tuple[int, ...], objective: str) -> SearchResult:
    """Search for one component, like `restricted` with a working set of all variables.

    The search for one component uses no starts, so directions, groups and sweeps are not computed.
    """
    variables = np.arange(op.p)
    criterion = criterion_on(op, variables, card, objective)
    fit, evidence = _best_component(criterion, IMPROVED_SUPPORTS)
    fit = exchange_until_optimal(criterion, fit)
    evidence.chains = fit.value.tolist()
    return result_of_climbs(op, criterion, fit, evidence, objective, True, variables, True)


def _quickly_climbed(criterion: Criterion, starts: Fits, settings: Effort, evidence: Evidence) -> Fits:
    """Return the best fit of climbs from the starts, and of a climb after rebuilding its components.

    Rebuilding gains .47 % for khan (8 x 30) and .03 % on average for other genes; elsewhere it costs 2 to 10
    % of the time.
    """
    fits = climb(criterion, starts, settings.width, QUICKLY_VALUED, QUICK_RISE)
    evidence.add(fits.value)
    best_fit = fits.subset(ranked_entries(fits.value[None], 1)[0])
    if criterion.exact_model or criterion.k == 1 or not isinstance(criterion.M, Dense):
        return best_fit
    rebuilt_fit = rebuilt(criterion, groups_of_matrix(criterion.M.M, max(criterion.cards)), best_fit)
    if not rebuilt_fit.value[0] > best_fit.value[0] * (1.0 + SWEPT_RISE):
        return best_fit
    return climb(criterion, rebuilt_fit, settings.width, QUICKLY_VALUED, QUICK_RISE)


def _starting_loadings(
    problem: Prepared, groups: Groups, settings: Effort, rng: np.random.Generator, starts: list[np.ndarray]
) -> list[np.ndarray]:
    """Return the fits for the first working set, each of shape (p, k), the best first after sweeps."""
    if problem.swept is None:
        return [*starts, *problem.truncated_starts]
    criterion, fits = problem.swept.criterion, problem.swept.fits
    if starts:
        # the best of these fits led to the fit of the next lower effort, which is one of the starts
        other_fits = fits.subset(np.argsort(-fits.value, kind="stable")[1 if len(problem.card) > 1 else 0 :])
        fits = criteria.join_fits([other_fits, _swept(criterion, from_directions(criterion, starts))])
    if settings.rounds:
        fits = criteria.join_fits(
            [fits, _swept(criterion, greedy_from(criterion, groups, settings.climbs, rng))]
        )
    order = np.argsort(-fits.value, kind="stable")
    loadings = list(criterion.dense(fits.subset(order[: settings.climbs])))
    if OBJECTIVES[problem.objective].criterion.squares:  # sweeps for adjusted variance may worsen the starts
        loadings = [*starts, *loadings]
    return loadings if settings.rounds else loadings[:QUICK_CLIMBS]


def _size(p: int, card: tuple[int, ...], quick: bool) -> int:
    """Return the number of variables in a working set."""
    if quick:
        return min(p, WORKING_SET)
    size = WORKING_SET if len(card) > 1 else WORKING_SET_OF_ONE
    return p if p <= SEARCHED_WHOLE else min(p, max(size, WORKING_SET_PER_NONZERO * sum(card)))


def takes_all(p: int, card: tuple[int, ...]) -> bool:
    """Return whether the first working set contains all variables, unless the search is quick."""
    return _size(p, card, False) >= p


def _settings_within(settings: Effort) -> Effort:
    """Return the settings of the search on a working set, which starts from good fits."""
    return replace(
        settings,
        chains=1 + settings.chains // 4,
        starts=max(4 * settings.starts // 5, 3),
        climbs=max(3 * settings.climbs // 4, 1),
        rounds=settings.rounds // 2,
        deep=False,
        many_nonzeros=None,
    )


def _swept_again(
    problem: Prepared, criterion: criteria.Criterion, groups: Groups, fit_inside: _Found
) -> _Basis:
    """Return a fit after sweeps over all variables, and its products with the covariance matrix.

    `criterion` is the criterion of the sweeps.
    """
    op = problem.op
    V = fit_inside.loadings(op.p)
    if not OBJECTIVES[problem.objective].criterion.squares:  # its sweeps would need products with S S
        rebuilt_fits = rebuilt(criterion, groups, from_directions(criterion, [V]))
        V = criterion.dense(_swept(criterion, rebuilt_fits))[0]
    return _Basis([V], op.dot(V) / op.total, np.zeros(0, dtype=int))


def _searched(
    criterion: criteria.Criterion,
    vectors: np.ndarray,
    settings: Effort,
    rng: np.random.Generator,
    start: criteria.Fits,
) -> tuple[criteria.Fits, Evidence]:
    """Search for the best fit on a working set."""
    if criterion.k > 1:
        return search(criterion, vectors, settings, rng, start)
    return _best_component(criterion, IMPROVED_SUPPORTS if settings.rounds else QUICKLY_IMPROVED)


def _best_component(criterion: criteria.Criterion, improved: int) -> tuple[criteria.Fits, Evidence]:
    """Search for one component by improving `improved` supports."""
    if isinstance(criterion, criteria.Projected) and not criterion.rugged:
        return best_predictor(criterion)
    S = criterion.M if criterion.T is None else criterion.T
    assert isinstance(S, Dense)
    support = best_support(S.M, criterion.cards[0], improved=improved, pairs=False)[1][None]
    fit = criterion.fits(support, best_vectors(S.blocks(support, support), None))
    return fit, Evidence(fit.value.tolist(), fit.value.tolist())


def _truncated(D: np.ndarray, card: tuple[int, ...]) -> np.ndarray:
    """Return dense loadings, shape (p, k), truncated to the cardinalities."""
    V = np.zeros(D.shape)
    for i, c in enumerate(card):
        J = np.argsort(-np.abs(D[:, i]), kind="stable")[:c]
        V[J, i] = D[J, i]
    return V


def _working_set(
    basis: _Basis, explained: np.ndarray, groups: Groups, card: tuple[int, ...], size: int
) -> np.ndarray:
    """Return a working set, ascending.

    The set contains the supports of the known fits and the entering variables; then the variables of steepest
    slope and the groups of largest score given the first fit, whose products with the covariance matrix are
    `images`; and finally the variables that PCA explains best.
    """
    loadings, images = basis.loadings, basis.images
    p, k = loadings[0].shape
    if size >= p:
        return np.arange(p)
    need = [np.flatnonzero(V.any(axis=1)) for V in loadings] + [basis.entering]
    F, Z = np.zeros((k, p)), np.zeros((k, k))
    if images is not None:
        F = images.T
        G = loadings[0].T @ images
        G = symmetric(G)
        C = criteria.triangle(G)[0]
        Z = criteria.inverse(G[None])[0]
        slope = np.abs(images @ (C @ C.T))
        need += [ranked_entries(slope[:, i][None], max(2 * c, 30))[0] for i, c in enumerate(card)]
    working_set = np.unique(np.concatenate(need))
    if working_set.size < size:
        best_indices = groups.best_groups(
            groups.scores(F, Z), max(4, (size - working_set.size) // (3 * max(card)))
        )
        working_set = np.union1d(working_set, groups.places[best_indices].ravel())
    if working_set.size < size:
        keys = explained.copy()
        keys[working_set] = np.inf
        working_set = np.sort(np.argsort(-keys, kind="stable")[:size])
    return working_set


def criterion_on(
    op: Operator, variables: np.ndarray, card: tuple[int, ...], objective: str
) -> criteria.Criterion:
    """Return the criterion on some variables; other variables still count in the least-squares share."""
    S = op.block(variables) / op.total
    S = symmetric(S)
    if not OBJECTIVES[objective].criterion.squares:
        rows = op.values(variables) / np.sqrt(op.total) if isinstance(op, Rows) and op.n < max(card) else None
        return OBJECTIVES[objective].criterion.of_matrix(S, card, rows)
    T = np.empty_like(S)
    for start in range(0, len(variables), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        T[:, part] = op.dot(op.columns(variables[part]))[variables] / op.total**2
    return criteria.Projected(Dense(S), Dense(symmetric(T)), card)


def _entering(
    op: Operator, V: np.ndarray, card: tuple[int, ...], objective: str, variables: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the variables outside the set that raise the objective by an exchange, and S V / total."""
    supports = [_filled(v, c, variables) for v, c in zip(V.T, card, strict=True)]
    used = np.unique(np.concatenate(supports))
    matrix = Known(used, op.columns(used) / op.total, op.diagonal() / op.total)
    criterion = OBJECTIVES[objective].criterion.of_products(matrix, None, card)
    x = np.concatenate([V[support, i] for i, support in enumerate(supports)])
    fit = criterion.fits(np.concatenate(supports)[None], x[None])
    entering = []
    for i in range(len(card)):
        places, _, values = trials(criterion, fit, i, op.p, OUTSIDE_EXCHANGES)
        entering.append(places[0][values[0] > fit.value[0] * (1.0 + GAIN)].ravel())
    images = (fit.M_products if criterion.T is None else fit.T_products)[0].T
    return np.setdiff1d(np.concatenate(entering), variables), images


def _filled(v: np.ndarray, card: int, variables: np.ndarray) -> np.ndarray:
    """Return the support of v, ascending, padded to `card` entries with other variables."""
    support = np.flatnonzero(v)
    return np.sort(np.append(support, np.setdiff1d(variables, support)[: card - support.size]))


# --- the best predictor --------------------------------------------------------------------------


#: The number of first variables from which supports are grown, and of supports improved by exchanges.
GROWN = 30
#: The number of exchanges of each fit for which the least-squares share itself is computed.
EVALUATED_EXCHANGES = 4


def best_predictor(criterion: Criterion) -> tuple[Fits, Evidence]:
    """Return the best fit found with one component, and the local optima reached by the climbs.

    Parameters
    ----------
    criterion : Criterion
        The least-squares share for one component, over all m variables.
    """
    card = criterion.cards[0]
    model = criterion.model_given_others(empty(criterion, 1))
    all_variables = np.arange(criterion.m)[None]
    supports = [grow_predictor(model, card), iterated(criterion, model, all_variables, 0)[0][0]]
    places = np.unique(np.concatenate(supports), axis=0)
    parts = model.repeat(len(places)).bordered(places, places[:, :0])
    fits = criterion.fits(places, best_vectors(parts.A, parts.M))
    fits = fits.subset(ranked_entries(fits.value[None], GROWN)[0])
    fits = climb(criterion, fits, criterion.m, EVALUATED_EXCHANGES)
    evidence = Evidence()
    evidence.add(fits.value)
    best_fit = exchange_until_optimal(criterion, fits.subset(ranked_entries(fits.value[None], 1)[0]))
    evidence.chains = [float(best_fit.value[0])]
    return best_fit, evidence


def grow_predictor(model: QuadraticModel, card: int) -> np.ndarray:
    """Return supports, shape (GROWN, card), grown from the best single variables.

    The entering variable j maximises the ratio v'Av / v'Bv in the plane of two vectors: the best vector on
    the support, and e_j minus its projection on the support in the metric of B.
    """
    all_variables = np.arange(model.M.m)[None]
    single_variables = model.bordered(all_variables[:, :0], all_variables)
    support = ranked_entries(
        single_variables.corner
        / np.maximum(single_variables.corner_M, HALF_DIGITS)
        * (single_variables.corner_M > HALF_DIGITS),
        GROWN,
    ).T
    model, all_variables = model.repeat(len(support)), np.repeat(all_variables, len(support), axis=0)
    for c in range(1, card):
        parts = model.bordered(support, all_variables)
        assert parts.M is not None
        values, U = eigen(parts.A[:, :, :c], parts.M[:, :, :c])
        a, r = U.mT @ parts.A[:, :, c:], U.mT @ parts.M[:, :, c:]
        residual_variances = parts.corner_M - (r**2).sum(axis=1)
        sound = residual_variances > HALF_DIGITS * np.maximum(parts.corner_M, HALF_DIGITS)
        residual_variances = divisor(residual_variances, sound)
        corner = (parts.corner - (r * (2.0 * a - values[..., None] * r)).sum(axis=1)) / residual_variances
        half_gap = 0.5 * (corner - values[:, -1:])
        along = a[:, -1] - values[:, -1:] * r[:, -1]
        gains = np.where(sound, half_gap + np.sqrt(half_gap**2 + along**2 / residual_variances), 0.0)
        np.put_along_axis(gains, support, -1.0, axis=1)
        support = np.sort(np.concatenate([support, ranked_entries(gains, 1)], axis=1), axis=1)
    return support
