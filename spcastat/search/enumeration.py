"""All supports of a small problem: their best fit, which a search may miss.

Good optima of PEV and the least-squares share lie far apart, so that climbs miss the best of a few hundred
supports more often than that of many. Where there are few, all are compared. The value on given supports has
several local optima, of which each is reached from a few starts: the result is not proven to be the best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from math import comb, prod

import numpy as np

from spcastat.linalg.accumulate import blocks
from spcastat.search import matrices
from spcastat.search.chains import distinct
from spcastat.search.climbing import LONG, SHORT, VALUE_TOLERANCE
from spcastat.search.component_order import reordered
from spcastat.search.criteria import Criterion, Fits, SupportRule, join_fits
from spcastat.search.grouped import GroupRule
from spcastat.search.moves import FLAT, GAIN, refined, steepness

#: All supports are compared if there are at most so many choices of one for each component.
MOST_CHOICES = 20_000
#: Bounds on adjusted variance from so many multipliers, which differ from the first by powers of ten between
#: these exponents; fewer where their eigenvalues would take more operations than so many, about .1 s. For two
#: components with 11 of 13 variables, 5,972 choices of supports were open without these bounds, 27 after 10
#: multipliers, 18 after 50 and 14 after 200.
MULTIPLIERS, MULTIPLIER_SIZES, MULTIPLIER_COST = 50, (-3.0, 0.0), 1e8
#: Fits that are ascended together, which bounds the memory.
FITS_AT_ONCE = 2_000
#: Short ascents begin with the best loadings given the other components. From so many of the best choices of
#: supports there are ascents from RANDOM_LOADINGS random loadings, too, and so many of the best fits go on to
#: the end.
PROMISING_SUPPORTS, RANDOM_LOADINGS, FULL_ASCENTS = 1_000, 4, 8
#: After so many random ascents of which the last round raised the value on no supports, no others follow.
WITHOUT_RISE = 500
#: A fit whose ascent does not end, as its components become dependent, is preferred only if it is better by
#: this share.
DEGENERATE = 1e-6
#: A score is sound if its deviation given the earlier ones is at least this share of what its loadings allow:
#: its variance then has four digits.
SOUND = 1e-6


def few_supports(criterion: Criterion) -> bool:
    """Return whether there are few enough choices of supports to compare all; the rule may forbid some."""
    rule = criterion.rule
    if isinstance(rule, GroupRule):
        counts = [comb(rule.member.shape[1], c) for c in rule.counts]
    else:
        counts = [comb(criterion.m, c) for c in criterion.cards]
    return prod(counts) <= MOST_CHOICES


def best_of_all_supports(criterion: Criterion, fit: Fits, measure: Callable[[np.ndarray], float]) -> Fits:
    """Return the best fit that ascents on all supports reach; at least `fit`, which is one fit.

    Choices of supports whose bound is not above the best known value are left out.

    Parameters
    ----------
    criterion : Criterion
        With `few_supports`.
    fit : Fits
    measure : callable
        The value of loadings, shape (m, k), by a decomposition that is accurate for dependent scores.
    """
    value = float(_values(criterion, fit, measure)[0])
    threshold = value * (1.0 + GAIN)
    supports, index = _choices(criterion)
    bounds = _bounds(criterion, supports, index)
    index, bounds = index[:, bounds > threshold], bounds[bounds > threshold]
    if not criterion.exact_model:
        index, bounds = _below_multiplier_bounds(criterion, supports, index, bounds, threshold)
    places = places_of(supports, index)
    if not len(places):
        return fit
    forward = range(criterion.k)
    orders = [forward, forward[::-1]] if criterion.exact_model and criterion.k > 1 else [forward]
    ends = [_ascended(criterion, places, partial(_in_turn, order=order)) for order in orders]
    values = [_values(criterion, fits, measure) for fits in ends]
    best_values = np.max(values, axis=0)
    promising = np.argsort(-best_values, kind="stable")[:PROMISING_SUPPORTS]
    promising = promising[bounds[promising] > max(value, best_values.max()) * (1.0 + GAIN)]
    rng = np.random.default_rng(0)
    best_values = best_values[promising]
    for number in range(RANDOM_LOADINGS if len(promising) and criterion.k > 1 else 0):
        ends.append(_ascended(criterion, places[promising], partial(_random, rng=rng)))
        values.append(_values(criterion, ends[-1], measure))
        has_risen = bool((values[-1] > best_values * (1.0 + VALUE_TOLERANCE)).any())
        if not has_risen and (number + 1) * len(promising) >= WITHOUT_RISE:
            break
        best_values = np.maximum(best_values, values[-1])
    best_fits = [
        fits.subset(distinct(values_of_fits, FULL_ASCENTS))
        for fits, values_of_fits in zip(ends, values, strict=True)
    ]
    return _best_after_ascents(criterion, join_fits([fit, *best_fits]), measure)


def _best_after_ascents(criterion: Criterion, fits: Fits, measure: Callable[[np.ndarray], float]) -> Fits:
    """Return the best of the fits after ascents to the end; the first of them, if none is better."""
    values = _values(criterion, fits, measure)
    indices = np.append(0, 1 + distinct(values[1:], FULL_ASCENTS))
    ends = join_fits(
        [fits.subset(slice(1)), reordered(criterion, refined(criterion, fits.subset(indices), LONG))]
    )
    values = _values(criterion, ends, measure)
    values[1:] *= np.where(steepness(criterion, ends)[1:] > FLAT, 1.0 - DEGENERATE, 1.0)
    best_index = int(np.argmax(values)) if values.max() > values[0] * (1.0 + GAIN) else 0
    return ends.subset(slice(best_index, best_index + 1))


def _values(criterion: Criterion, fits: Fits, measure: Callable[[np.ndarray], float]) -> np.ndarray:
    """Return the values of the fits, shape (B,).

    Where a score varies little given the others, for its loadings, the criterion is mostly rounding, and the
    measure takes its place.
    """
    L, size, _ = matrices.factor(fits.G)
    remaining = np.einsum("bii->bi", L) * size
    spread = (np.abs(fits.x) * np.sqrt(criterion.M.diagonal().clip(min=0.0))[fits.places]) @ criterion.member
    values = fits.value.copy()
    for b in np.flatnonzero((remaining < SOUND * spread).any(axis=1)):
        values[b] = measure(criterion.dense(fits.subset(slice(b, b + 1)))[0])
    return values


def _supports(criterion: Criterion, i: int) -> np.ndarray:
    """Return all supports that the rule allows for component i alone, shape (n, c)."""
    rule, card = criterion.rule, criterion.cards[i]
    grouped = isinstance(rule, GroupRule)
    inner: SupportRule | None = rule.groups if isinstance(rule, GroupRule) else rule
    size, count = (
        (rule.member.shape[1], rule.counts[i]) if isinstance(rule, GroupRule) else (criterion.m, card)
    )
    supports = np.array(list(combinations(range(size), count)), dtype=int).reshape(-1, count)
    if inner is not None:
        supports = supports[inner.may[i][supports].all(axis=1)]
        supports = supports[inner.must[i][supports].sum(axis=1) == inner.must[i].sum()]
    return rule.places(supports, card) if grouped and isinstance(rule, GroupRule) else supports


def _choices(criterion: Criterion) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the supports of each component, and the choices among them that the rule allows, shape (k, n).

    If the order of components does not matter, each set of supports is there once.
    """
    supports = [_supports(criterion, i) for i in range(criterion.k)]
    # components of different kinds do not change places
    kinds = criterion.kinds if criterion.exact_model else range(criterion.k)
    index = all_choices(supports, kinds)
    if criterion.rule is None or not criterion.rule.disjoint:
        return supports, index
    broken = criterion.rule.broken(_members(criterion, places_of(supports, index)))
    return supports, index[:, ~broken]


def all_choices(supports: Sequence[np.ndarray], kinds: Sequence[int]) -> np.ndarray:
    """Return all choices of a support for each component, shape (k, n).

    Components of one kind may change places, and each set of their supports is there once.
    """
    index = np.indices([len(rows_of_component) for rows_of_component in supports]).reshape(len(supports), -1)
    for i, j in combinations(range(len(supports)), 2):
        if kinds[i] == kinds[j]:
            index = index[:, index[i] <= index[j]]
    return index


def places_of(supports: Sequence[np.ndarray], index: np.ndarray) -> np.ndarray:
    """Return the supports of choices, one component after another, shape (n, N)."""
    return np.concatenate(
        [rows_of_component[rows] for rows_of_component, rows in zip(supports, index, strict=True)], axis=1
    )


def _members(criterion: Criterion, places: np.ndarray) -> np.ndarray:
    """Return which variables each component has, shape (n, k, m)."""
    membership = np.zeros((len(places), criterion.k, criterion.m), dtype=bool)
    for i, part in enumerate(criterion.parts):
        np.put_along_axis(membership[:, i], places[:, part], True, axis=1)
    return membership


def _bounds(criterion: Criterion, supports: list[np.ndarray], index: np.ndarray) -> np.ndarray:
    """Return upper bounds, shape (n,), on the values that the choices of supports allow.

    Adjusted variance is at most the sum of the variances of the components. For PEV and least squares no
    components in the union of the supports have more than the leading eigenvectors there.
    """
    if not criterion.exact_model:
        return sum(
            np.linalg.eigvalsh(criterion.M.blocks(J, J))[rows, -1]
            for J, rows in zip(supports, index, strict=True)
        )
    assert criterion.T is not None
    T = criterion.T

    def leading_sums(J: np.ndarray) -> np.ndarray:
        M = None if criterion.M.identity else criterion.M.blocks(J, J)
        return matrices.eigen(T.blocks(J, J), M)[0][:, -criterion.k :].sum(axis=1)

    membership = np.asarray(_members(criterion, places_of(supports, index)).any(axis=1))
    return union_bounds(membership, leading_sums) * (1.0 + DEGENERATE)  # the ridge of B lowers eigenvalues


def union_bounds(membership: np.ndarray, leading_sums: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the bound of each choice of supports, shape (n,), from the union of its supports.

    Parameters
    ----------
    membership : ndarray of bool, shape (n, m)
        The union of the supports of each choice.
    leading_sums : callable
        For sets of variables of one size, shape (u, size), the sums of their leading eigenvalues, shape (u,).
    """
    unions, union_indices = np.unique(membership, axis=0, return_inverse=True)
    sizes, bounds = unions.sum(axis=1), np.empty(len(unions))
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        bounds[rows] = leading_sums(np.nonzero(unions[rows])[1].reshape(-1, size))
    return bounds[union_indices.reshape(-1)]


def _below_multiplier_bounds(
    criterion: Criterion, supports: list[np.ndarray], index: np.ndarray, bounds: np.ndarray, threshold: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the choices whose adjusted variance may exceed the threshold, with smaller upper bounds.

    With X'X = S and orthonormal scores q_i, component i of support T_i adds at most q_i'A_i q_i, where A_i is
    X_T X_T'. For every positive semidefinite matrix Y,

        sum q_i'A_i q_i <= sum of the largest eigenvalues of A_i - Y, plus the trace of Y,

    as the sum of q_i'Y q_i is at most the trace. Each Y gives a bound for all choices from one eigenvalue of
    each support. The first Y has the leading eigenvectors of XX' with the excess of their eigenvalues over
    the last, with which the bound of full supports is that of PCA; others differ from it at random.
    """
    k, diagonal = criterion.k, np.arange(criterion.m)
    count = min(MULTIPLIERS, int(MULTIPLIER_COST / (sum(map(len, supports)) * criterion.m**3)))
    if k == 1 or not count or not len(bounds):
        return index, bounds
    variables = diagonal[None]
    values, vectors = np.linalg.eigh(criterion.M.blocks(variables, variables)[0])
    values, vectors = values[::-1].clip(min=0.0), vectors[:, ::-1]
    X = np.sqrt(values)[:, None] * vectors.T  # scores in the coordinates of the eigenvectors of XX'
    products = [np.einsum("inc,jnc->nij", X[:, J], X[:, J]) for J in supports]
    rng = np.random.default_rng(0)
    for number in range(count):
        if not len(bounds):
            break
        size = values[k - 1] * 10.0 ** rng.uniform(*MULTIPLIER_SIZES) if number else 0.0
        Y = np.zeros(criterion.m)
        Y[:k] = (values[:k] - values[k - 1] + size * rng.standard_normal(k)).clip(min=0.0)
        upper = np.full(index.shape[1], Y.sum())
        for products_of_component, rows in zip(products, index, strict=True):
            shifted = products_of_component.copy()
            shifted[:, diagonal, diagonal] -= Y
            upper += np.linalg.eigvalsh(shifted)[rows, -1]
        bounds = np.minimum(bounds, upper)
        index, bounds = index[:, bounds > threshold], bounds[bounds > threshold]
    return index, bounds


def _ascended(criterion: Criterion, places: np.ndarray, initial_fits: Callable[..., Fits]) -> Fits:
    """Return fits after short ascents on supports, shape (n, N), from the loadings with which they begin."""
    parts = blocks(len(places), 1, FITS_AT_ONCE)
    return join_fits([refined(criterion, initial_fits(criterion, places[part]), SHORT) for part in parts])


def _in_turn(criterion: Criterion, places: np.ndarray, order: range) -> Fits:
    """Return fits whose components are the best given those before them in an order."""
    fits = criterion.fits(places, np.ones(places.shape))
    criterion.empty(fits, np.ones((len(fits), criterion.k), dtype=bool))
    fit_indices = np.arange(len(fits))
    for i in order:
        support = places[:, criterion.parts[i]]
        block = criterion.model_given_others(fits).bordered(support, support[:, :0])
        criterion.put(fits, fit_indices, i, support, matrices.best_vectors(block.A, block.M))
    return criterion.fits(fits.places, fits.x)


def _random(criterion: Criterion, places: np.ndarray, rng: np.random.Generator) -> Fits:
    return criterion.fits(places, rng.standard_normal(places.shape))
