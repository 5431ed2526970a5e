"""The default search: for one set of cardinalities, along a path of them, and near given loadings."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from math import comb, prod

import numpy as np

from spcastat.linalg.eigenvectors import symmetric, top_eigh, varimax
from spcastat.linalg.operators import Gram, Operator, Rows, nearly_dependent, residual_covariances
from spcastat.progress import stage
from spcastat.search import chains, enumeration
from spcastat.search.chains import Evidence, SearchResult, directly, result_of_climbs
from spcastat.search.climbing import (
    EFFORTS,
    GRAM_LIMIT,
    LONG,
    SEQUENTIAL,
    VALUE_TOLERANCE,
    Effort,
    climb,
    exchange_until_optimal,
    reordered,
    sweep,
)
from spcastat.search.criteria import (
    Criterion,
    Fits,
    SupportRule,
    join_fits,
)
from spcastat.search.equal_variables import single_variables
from spcastat.search.grouped import GroupRule
from spcastat.search.moves import refined
from spcastat.search.objectives import OBJECTIVES
from spcastat.search.working_set import (
    Prepared,
    best_predictor,
    more_groups,
    one_of_all,
    prepared,
    restricted,
    takes_all,
)
from spcastat.solvers.optimality import proves
from spcastat.solvers.support_search import QUICKLY_IMPROVED, best_support

# --- one fit --------------------------------------------------------------------------------------


#: With more variables than this, up to GRAM_LIMIT, a search for adjusted variance of several components first
#: sweeps over all variables, as it does with more than GRAM_LIMIT. With 500 variables of four real tables
#: this takes .6 of the time of climbs from all starts and loses up to .1 % (.12 % in quick searches).
SWEPT_FIRST = 300
#: Sparse rows with more stored values than this are treated like rows on disk, since products are expensive.
NONZEROS_LIMIT = 2_000_000
#: With more variables than this, products with many vectors at once would take gigabytes.
MANY_VARIABLES = 250_000
#: A criterion whose value exceeds the measure by more than VALUE_TOLERANCE is mostly rounding error, because
#: scores are linearly dependent; the search is then repeated with variances increased by this share.
VARIANCE_RIDGE = 1e-7
#: effort -> the next lower effort, whose fit is one of the starts.
LOWER_EFFORTS = {"auto": "quick", "thorough": "auto"}


def joint(
    op: Operator,
    k: int,
    card: tuple[int, ...],
    objective: str = "adjusted",
    effort: str = "auto",
    rng: np.random.Generator | None = None,
    starts: Sequence[np.ndarray] = (),
    rule: SupportRule | None = None,
) -> SearchResult:
    """Search for the k components of given cardinalities that maximise the objective jointly.

    Parameters
    ----------
    op : Operator
        The data, with p variables and positive total variance.
    k : int
        Number of components, at most the rank.
    card : tuple of int
        Cardinality of each component, from 1 to p.
    objective : {"adjusted", "pev", "least_squares"}
    effort : {"quick", "auto", "thorough"}
    rng : numpy Generator, optional
        By default a generator with seed 0.
    starts : sequence of ndarray of shape (p, k)
        Additional starts, which are truncated to the cardinalities. The result is never worse than any of
        them.
    rule : SupportRule, optional
        The supports that are allowed; for up to `GRAM_LIMIT` variables and up to `SEQUENTIAL` components.

    Returns
    -------
    SearchResult
        The PCA fit, without a search, if every component may include all variables.
    """
    if min(card) >= op.p:
        return directly(op, op.leading(k)[1], objective, settled=True, proven=True)
    seeded = np.random.default_rng(0) if rng is None else rng
    sums_variances = OBJECTIVES[objective].equals_variance and not OBJECTIVES[objective].ordered
    if rule is None and max(card) == 1 and sums_variances:
        return directly(op, single_variables(op, k), objective, settled=True, proven=True)
    if rule is None and k == 1 and OBJECTIVES[objective].equals_variance and op.p <= GRAM_LIMIT:
        return _single(op.with_matrix(), card[0], objective, effort)
    if k > SEQUENTIAL and op.p <= GRAM_LIMIT:
        return _one_after_another(op, card, objective)
    if k == 1 and op.p > GRAM_LIMIT and effort != "quick" and takes_all(op.p, card):
        return one_of_all(op, card, objective)
    if op.p > GRAM_LIMIT:
        wide = prepared(op, card, objective, deepcopy(seeded), needs_few_products(op))
        return _wide(wide, effort, seeded, starts)
    if op.p > SWEPT_FIRST and rule is None and k > 1 and OBJECTIVES[objective].ordered:
        wide = prepared(_with_quick_products(op), card, objective, deepcopy(seeded), False)
        return _wide(wide, effort, seeded, starts)
    search_result = _among_all(op, k, card, objective, effort, seeded, starts, rule)
    is_rounding = search_result.value < search_result.optima[0][0] * (1.0 - VALUE_TOLERANCE)
    if OBJECTIVES[objective].criterion.squares:
        remaining = op.score_basis(search_result.V)[0]
        is_rounding = is_rounding or nearly_dependent(op, search_result.V, remaining)
    if not is_rounding:
        return search_result
    measure, S = OBJECTIVES[objective].measure, symmetric(op.block(np.arange(op.p)))
    ridged = Gram(S + VARIANCE_RIDGE * np.diag(np.diag(S)))
    ridged_result = _among_all(ridged, k, card, objective, effort, seeded, starts, rule)
    ridged_result = replace(ridged_result, value=float(measure(ridged_result.V, op)[-1]))
    # with the ridge, neither value is mostly rounding error
    return max(search_result, ridged_result, key=lambda result: float(measure(result.V, ridged)[-1]))


def _among_all(
    op: Operator,
    k: int,
    card: tuple[int, ...],
    objective: str,
    effort: str,
    rng: np.random.Generator,
    starts: Sequence[np.ndarray],
    rule: SupportRule | None,
    compares_all: bool = True,
) -> SearchResult:
    """Search among all variables, with their covariance matrix in memory; see `joint`.

    If `compares_all` is true and there are few supports, all are compared.
    """
    settings = EFFORTS[effort]
    if effort in LOWER_EFFORTS and k > 1:
        lower_result = _among_all(
            op, k, card, objective, LOWER_EFFORTS[effort], deepcopy(rng), (), rule, compares_all=False
        )
        starts = (*starts, lower_result.V)
    S = op.block(np.arange(op.p)) / op.total
    criterion = OBJECTIVES[objective].criterion.of_matrix(symmetric(S), card).under(rule)
    if rule is None and k == 1:
        fit, evidence = best_predictor(criterion)
        return result_of_climbs(op, criterion, fit, evidence, objective, True)
    start_fits = chains.from_directions(criterion, starts) if starts else None
    fit, evidence = chains.search(criterion, directions(op, k), settings, rng, start_fits)
    deep = settings.deep_with(sum(card))
    if deep:
        fit = exchange_until_optimal(criterion, fit)
    compares_all = compares_all and few_supports(criterion)
    if compares_all:
        fit = _compared(op, criterion, fit, evidence, objective)
    return result_of_climbs(op, criterion, fit, evidence, objective, deep or compares_all or None)


def few_supports(criterion: Criterion) -> bool:
    """Return whether all choices of supports that the rule allows are few enough to be compared."""
    rule = criterion.rule
    if isinstance(rule, GroupRule):
        counts = [comb(rule.member.shape[1], c) for c in rule.counts]
    else:
        counts = [comb(criterion.m, c) for c in criterion.cards]
    return prod(counts) <= enumeration.MOST_CHOICES


def _compared(op: Operator, criterion: Criterion, fit: Fits, evidence: Evidence, objective: str) -> Fits:
    """Return the best fit of all supports; if it is better than `fit`, it counts as another climb."""
    best_fit = enumeration.best_of_all_supports(
        criterion, fit, lambda V: float(OBJECTIVES[objective].measure(V, op)[-1])
    )
    if best_fit.value[0] > fit.value[0] * (1.0 + VALUE_TOLERANCE):
        evidence.add(best_fit.value)
        evidence.chains[int(np.argmax(evidence.chains))] = float(best_fit.value[0])
    return best_fit


def _wide(
    problem: Prepared, effort: str, rng: np.random.Generator, starts: Sequence[np.ndarray]
) -> SearchResult:
    """Search with many variables; the fit of the next lower effort is one of the starts.

    The search for one component uses no starts, and its effort is at most "auto".
    """
    order = list(EFFORTS)
    efforts = order[: order.index(effort) + 1]
    if len(problem.card) == 1:
        efforts = ["quick" if effort == "quick" else "auto"]
    first_state = deepcopy(rng)
    few_groups = len(problem.card) == 1 or efforts == ["quick"]
    all_groups = problem.groups if few_groups else more_groups(problem, rng)
    loadings: list[np.ndarray] = []
    for name in efforts[:-1]:
        # every effort draws the same random numbers as when it runs alone
        draws, groups = (first_state, problem.groups) if name == "quick" else (deepcopy(rng), all_groups)
        loadings = [restricted(problem, groups, EFFORTS[name], draws, loadings).V]
    return restricted(problem, all_groups, EFFORTS[efforts[-1]], rng, [*starts, *loadings])


def needs_few_products(op: Operator) -> bool:
    """Whether products with all variables are too expensive for sweeps, as for rows on disk."""
    return op.out_of_core or op.stored_count > NONZEROS_LIMIT or op.p > MANY_VARIABLES


def _with_quick_products(op: Operator) -> Operator:
    """Return the operator with its covariance matrix in memory, unless products with few rows are faster."""
    if op.held_matrix is not None or (isinstance(op, Rows) and 2 * op.n < op.p):
        return op
    return op.with_matrix()


def directions(op: Operator, k: int) -> np.ndarray:
    """Return the leading eigenvectors, twice as many as components if the data have so many."""
    return op.leading(chains.twice(op, k))[1]


def _single(op: Operator, card: int, objective: str, effort: str) -> SearchResult:
    """Return the single component of largest variance.

    A quick search improves fewer supports and exchanges only single variables.
    """
    if effort == "quick":
        _, support = best_support(op, card, improved=QUICKLY_IMPROVED, pairs=False)
    else:
        # exchanges of two variables at once are tried if they are cheap
        _, support = best_support(op, card, pairs=card * op.p <= 6000)
    V = np.zeros((op.p, 1))
    # by LAPACK, since products alone give only half of the digits of an eigenvector
    V[support, 0] = top_eigh(symmetric(op.block(support)), 1)[1][:, 0]
    proven = card in (1, op.p)
    # an upper bound may prove that the component is optimal
    if not proven and op.p <= 200:
        S = op.block(np.arange(op.p))
        proven = proves(symmetric(S), V[:, 0], card)
    return directly(op, V, objective, True, proven)


def _one_after_another(op: Operator, card: tuple[int, ...], objective: str) -> SearchResult:
    """Return components found one after another, each with the largest variance given the earlier ones.

    Deflation replaces the covariance matrix by its Schur complement, so that the variances add up to the
    adjusted variance. The components are not optimised jointly afterwards.
    """
    residual = op.block(np.arange(op.p))
    V = np.zeros((op.p, len(card)))
    for j, c in enumerate(card):
        _, support = best_support(Gram(residual), c, pairs=False)
        V[support, j] = top_eigh(symmetric(residual[np.ix_(support, support)]), 1)[1][:, 0]
        product = residual @ V[:, j]
        residual = symmetric(residual_covariances(residual, product, np.asarray(V[:, j] @ product)))
    return directly(op, V, objective, None, False)


# --- a path of cardinalities ----------------------------------------------------------------------


def along_path(
    op: Operator, k: int, cards: Sequence[tuple[int, ...]], objective: str, effort: str, seed: int
) -> list[SearchResult]:
    """Search for the best fit at each of many cardinalities.

    Parameters
    ----------
    op, k, objective
        See `spcastat.search.joint_search.joint`.
    cards : sequence of tuples of k ints
        Cardinalities in ascending order.
    effort : {"quick", "auto", "thorough"}
    seed : int
        The seed of the random generator at every cardinality.

    Returns
    -------
    list of SearchResult
        Results in the order of `cards`. Their values never decrease.

    Notes
    -----
    One chain runs for each cardinality. Every pass over the path adds one round to each chain: it climbs
    from new starts (in later passes, from perturbed fits) and from the best fits of the previous cardinality.
    Passes alternate between ascending and descending cardinalities. The number of passes equals the number of
    chains of a search at one cardinality (one, three or five).

    The cardinalities are searched separately for objectives other than adjusted variance, whose good optima
    are far apart, and for one component, more than GRAM_LIMIT variables or more than SEQUENTIAL components.
    If a fit is then worse than the previous fit, the search is repeated with the previous fit as an
    additional start.
    """
    if k == 1 or op.p > GRAM_LIMIT or k > SEQUENTIAL or not OBJECTIVES[objective].ordered:
        return _one_by_one_along_path(op, k, cards, objective, effort, seed)
    settings, m = EFFORTS[effort], len(cards)
    results: list[SearchResult] = []
    S = symmetric(op.block(np.arange(op.p)) / op.total)
    vectors = directions(op, k)
    generators = [np.random.default_rng(seed) for _ in cards]
    evidence = [Evidence() for _ in cards]
    best_loadings: list[list[np.ndarray]] = [[] for _ in cards]
    with stage("path", m * settings.chains, "searches") as advance:
        for remaining_passes in reversed(range(settings.chains)):
            previous_loadings: list[np.ndarray] = []
            for i in reversed(range(m)) if remaining_passes % 2 else range(m):
                advance(1)
                criterion = OBJECTIVES[objective].criterion.of_matrix(S, cards[i])
                if min(cards[i]) >= op.p:
                    ends = chains.from_directions(criterion, [vectors[:, :k]])
                else:
                    earlier_fits = best_loadings[i], previous_loadings
                    ends = _ends_of_round(
                        criterion, vectors, settings, *earlier_fits, evidence[i], generators[i]
                    )
                    if settings.deep_with(sum(cards[i])) and not remaining_passes:
                        ends.put(np.arange(1), exchange_until_optimal(criterion, ends.subset(slice(0, 1))))
                previous_loadings = best_loadings[i] = list(criterion.dense(ends))
    for i, card in enumerate(cards):
        if min(card) >= op.p:
            results.append(joint(op, k, card, objective))
            continue
        criterion = OBJECTIVES[objective].criterion.of_matrix(S, card)
        fit = chains.from_directions(criterion, best_loadings[i][:1])
        evidence[i].chains = fit.value.tolist()
        if few_supports(criterion):
            fit = _compared(op, criterion, fit, evidence[i], objective)
        settled = settings.deep_with(sum(card)) or None
        results.append(result_of_climbs(op, criterion, fit, evidence[i], objective, settled))
    return results


def _one_by_one_along_path(
    op: Operator, k: int, cards: Sequence[tuple[int, ...]], objective: str, effort: str, seed: int
) -> list[SearchResult]:
    """Return the fits of separate searches, repeated from the previous fit if that is better."""
    results: list[SearchResult] = []
    with stage("path", len(cards), "fits") as advance:
        for card in cards:
            search_alone = partial(joint, op, k, card, objective, effort)
            search_result = search_alone(np.random.default_rng(seed))
            if results and search_result.value < results[-1].value:
                second_result = search_alone(np.random.default_rng(seed), [results[-1].V])
                search_result = max(search_result, second_result, key=lambda result: result.value)
            results.append(search_result)
            advance(1)
    return results


def _ends_of_round(
    criterion: Criterion,
    vectors: np.ndarray,
    settings: Effort,
    best_loadings: Sequence[np.ndarray],
    previous_loadings: Sequence[np.ndarray],
    evidence: Evidence,
    rng: np.random.Generator,
) -> Fits:
    """Return the best distinct fits after a round of the chain of one cardinality of a path.

    Parameters
    ----------
    criterion : Criterion
    vectors : ndarray of shape (p, m)
        Directions for the starts of the first round.
    settings : Effort
    best_loadings, previous_loadings : sequences of ndarray, shape (p, k)
        The best fits at this cardinality in the previous pass, if any, and the best fits at the previous
        cardinality, if any.
    evidence : Evidence
        The final values of the climbs are added to it.
    rng : numpy Generator
    """
    known_fits = chains.from_directions(criterion, best_loadings) if best_loadings else None
    if known_fits is None:
        parts = [chains.pool(criterion, vectors, settings.starts, rng, deterministic=True)]
    else:
        indices = rng.integers(0, len(known_fits), size=settings.agree * settings.kicks)
        parts = [chains.perturb(criterion, known_fits.subset(indices), rng)]
    if previous_loadings:
        parts.append(chains.from_directions(criterion, previous_loadings))
    fits_of_parts = [known_fits] * len(parts)
    ends = join_fits(chains.grow_chains(criterion, parts, fits_of_parts, settings, evidence, rng))
    return ends.subset(chains.distinct(ends.value, chains.ELITE))


# --- near given loadings --------------------------------------------------------------------------


def batch_size(p: int) -> int:
    """Return the number of covariance matrices of p variables that are searched at once."""
    return int(np.clip(400_000 // p**2, 1, 100))


#: The number of starts of a search on one of several data sets, and of climbs from the best starts;
#: MANY_STARTS is for criteria whose good optima are far apart.
SET_STARTS, MANY_STARTS = (14, 8), (28, 15)
#: The number of starts for adjusted variance in addition to the fit of the whole data; climbs start from all.
#: In draws of wine, breast cancer and noise the value is .01 to .03 % smaller on average than with 14 starts
#: and 8 climbs, and smaller by 1e-4 in 4 to 15 % of the draws, in .7 of the time; for 33 data sets from four
#: models, intervals had the same coverage. For PEV the value would be .15 % smaller.
STARTS_BESIDE_FIT = 5
#: The number of exchanges of a component for which the criterion is computed. With 2 instead of 6, no value
#: was worse by 1e-4 in 300 draws of wine, breast cancer and noise, in .65 to .95 of the time.
VALUED_IN_SETS = 2
#: The number of fits of other data sets, the best ones on a data set, that are starts, and the number of
#: climbs from these and PCA. Among 100 draws of wine and of breast cancer, 7 and 18 % were below the best
#: known value if the fits of 80 other draws were used, and 10 and 39 % with the starts above.
BEST_OF_KNOWN, CLIMBS_BESIDE_KNOWN = 3, 2


def starts_and_climbs(objective: str, disjoint: bool) -> tuple[int, int]:
    """Return the numbers of starts and of climbs of a search on one of several data sets."""
    return MANY_STARTS if disjoint or not OBJECTIVES[objective].ordered else SET_STARTS


def data_starts(
    op: Operator, k: int, objective: str, disjoint: bool, rng: np.random.Generator, beside_fit: bool = False
) -> list[np.ndarray]:
    """Return starts that depend only on the data, each of shape (p, k); `simplified` rotates some of them.

    The starts are the loadings of PCA, twice, and random rotations of 2k directions; with more than
    `GRAM_LIMIT` variables or `SEQUENTIAL` components, only the first two are used. There are fewer starts if
    the search also starts from the fit of the whole data (`beside_fit`).
    """
    vectors = directions(op, max(k, 2) if op.p <= GRAM_LIMIT else k)
    leading_starts = [vectors[:, :k], vectors[:, :k]]
    if op.p > GRAM_LIMIT or k > SEQUENTIAL:
        return leading_starts
    starts, _ = starts_and_climbs(objective, disjoint)
    if beside_fit and starts == SET_STARTS[0]:
        starts = STARTS_BESIDE_FIT
    count = starts - len(leading_starts)
    bases = chains.mixed if OBJECTIVES[objective].ordered else chains.bases
    return [*leading_starts, *bases(vectors, k, count, rng)]


def simplified(starts: Sequence[Sequence[np.ndarray]], objective: str, offset: int) -> list[list[np.ndarray]]:
    """Rotate starts of several data sets to simple structure, all at once for speed.

    The second start of `data_starts` is rotated and, for adjusted variance, every second one; `offset` is the
    number of other starts that precede them.
    """
    simplified_starts = [list(starts_of_set) for starts_of_set in starts]
    places = range(
        offset + 1,
        len(simplified_starts[0]),
        2 if OBJECTIVES[objective].ordered else len(simplified_starts[0]),
    )
    rotations = varimax(np.array([[starts_of_set[i] for i in places] for starts_of_set in simplified_starts]))
    for starts_of_set, rotated in zip(simplified_starts, rotations, strict=True):
        for i, V in zip(places, rotated, strict=True):
            starts_of_set[i] = V
    return simplified_starts


def nearby_optima(
    ops: Sequence[Operator],
    card: tuple[int, ...],
    objective: str,
    starts: Sequence[Sequence[np.ndarray]],
    fixed: bool = False,
    rule: SupportRule | None = None,
    climbs: int | None = None,
    known_fits: Sequence[np.ndarray] = (),
) -> list[np.ndarray]:
    """Return, for each data set, the best fit that sweeps and climbs reach from given loadings.

    Parameters
    ----------
    ops : sequence of Operator
        The data sets, with p variables and rank k or more.
    card : tuple of int
    objective : {"adjusted", "pev", "least_squares"}
    starts : sequence of sequences of ndarray of shape (p, k)
        Starts for each data set, the same number for all. They are first truncated to the cardinalities.
    fixed : bool
        Whether to keep the supports and optimise only the loadings.
    rule : SupportRule, optional
        The supports that are allowed, on up to 1000 variables.
    climbs : int, optional
        Number of climbs, from the starts that are best after the sweeps; by default from all.
    known_fits : sequence of ndarray of shape (p, k)
        Fits of other data sets, with the same cardinalities, for at most 1000 variables. The BEST_OF_KNOWN
        fits with the largest value on a data set are additional starts.

    Returns
    -------
    list of ndarray of shape (p, k)
        Unit loadings. With more than 1000 variables there are sweeps but no exchanges.
    """
    is_large = ops[0].p > GRAM_LIMIT
    if is_large and len(ops) > 1:
        return [
            nearby_optima([op], card, objective, [starts_of_set], fixed)[0]
            for op, starts_of_set in zip(ops, starts, strict=True)
        ]
    if is_large:
        criterion = OBJECTIVES[objective].criterion.of_operator(ops[0], card)
    else:
        criterion = several(ops, card, objective).under(rule)
    fits = fits_at_starts(criterion, starts)
    if known_fits:
        fits = join_fits([_best_of_known(criterion, known_fits, len(ops)), fits])
    if not fixed:
        fits = reordered(criterion, sweep(criterion, fits, 4))
        if climbs is not None:
            starts_of_set = [np.flatnonzero(fits.of == number) for number in range(len(ops))]
            best_indices = [
                indices[chains.distinct(fits.value[indices], climbs)] for indices in starts_of_set
            ]
            fits = fits.subset(np.concatenate(best_indices))
        fits = fits if is_large else climb(criterion, fits, 24, VALUED_IN_SETS)
    return list(criterion.dense(refined(criterion, best_of_each(fits, len(ops)), LONG)))


def several(ops: Sequence[Operator], card: tuple[int, ...], objective: str) -> Criterion:
    """Return the criterion for the covariance matrices of operators with up to 1000 variables."""
    all_variables = np.arange(ops[0].p)
    S = np.stack([op.block(all_variables) / op.total for op in ops])
    S = 0.5 * (S + S.mT)
    return OBJECTIVES[objective].criterion.of_matrix(S if len(ops) > 1 else S[0], card)


def fits_at_starts(criterion: Criterion, starts: Sequence[Sequence[np.ndarray]]) -> Fits:
    """Return the starts as fits: dense loadings truncated to the allowed supports, not yet improved.

    `starts[i]` contains the loadings for data set i; every data set has the same number of starts.
    """
    of = np.repeat(np.arange(len(starts)), len(starts[0]))
    return chains.from_directions(criterion, [V for starts_of_set in starts for V in starts_of_set], of)


def _best_of_known(criterion: Criterion, known_fits: Sequence[np.ndarray], count: int) -> Fits:
    """Return the fits of other data sets that are best on each of `count` data sets, not yet improved."""
    of = np.repeat(np.arange(count), len(known_fits))
    fits = chains.from_directions(criterion, [*known_fits] * count, of)
    order = np.lexsort((-fits.value, fits.of)).reshape(count, -1)
    return fits.subset(order[:, :BEST_OF_KNOWN].ravel())


def best_of_each(fits: Fits, count: int) -> Fits:
    """Return the best fit for each of `count` data sets, the first if there are ties."""
    order = np.lexsort((-fits.value, fits.of))
    return fits.subset(order[np.searchsorted(fits.of[order], np.arange(count))])
