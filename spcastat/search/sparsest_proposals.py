"""Proposals for the sparsest loadings that reach a target, each with its own rule for the cardinalities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spcastat.kernels.eig import symmetric
from spcastat.kernels.orthonormal import varimax
from spcastat.measures import best_order
from spcastat.operators import Gram, Operator
from spcastat.search.adjusted_variance import Adjusted, triangle
from spcastat.search.all_partitions import members
from spcastat.search.climbing import climbed
from spcastat.search.one_penalty import Loaded, loaded, penalised, polished
from spcastat.search.partition import Climber, as_mask
from spcastat.search.rule import SupportRule
from spcastat.search.settings import EFFORTS
from spcastat.search.small_matrices import SMALLEST, ranked
from spcastat.search.symmetric_matrices import Dense
from spcastat.search.variance_target import REACHED, VarianceTarget

#: Sweeps per penalty.
SWEEPS = 6
#: Number of directions from which a single component is started, and of rows of S.
DIRECTIONS = 4
#: Sweeps over the loadings on all allowed variables.
POLISHED = 20


def one_price(
    op: Operator,
    vectors: np.ndarray,
    target: VarianceTarget,
    total: float,
    rule: SupportRule | None = None,
) -> Loaded | None:
    """Return the sparsest loadings found with one penalty for all components, or None.

    Parameters
    ----------
    op : Operator
        Of p variables.
    vectors : ndarray of shape (p, k)
        Where the sweeps start: leading directions, or a rotation of them.
    target : VarianceTarget
    total : float
        The total variance.
    rule : SupportRule, optional
        Which variables components must and may have; components cannot be required to be disjoint.
    """
    fit = loaded(op, vectors.copy(), total)
    tried: list[tuple[float, Loaded, bool]] = []
    settled = 0
    for penalty in _penalties(fit):
        fit = penalised(op, fit, penalty, target, total, SWEEPS, target.every, rule)
        kept = bool(target.holds(fit.added))
        if tried and fit.nonzeros == tried[-1][1].nonzeros:
            settled += 1
        tried.append((penalty, fit, kept))
        if (not kept and not target.every) or settled == 3:
            break
    # refinements around the best penalty
    for _ in range(6):
        best = _fewest(tried)
        if best is None:
            break
        for penalty, start in _between(tried, best, target.every):
            new = penalised(op, start, penalty, target, total, SWEEPS, target.every, rule)
            tried.append((penalty, new, bool(target.holds(new.added))))
        tried.sort(key=lambda one: one[0])
    best = _fewest(tried)
    return None if best is None else tried[best][1]


def _penalties(fit: Loaded) -> np.ndarray:
    """Return increasing penalties: a dense fit keeps nearly all loadings at the first, few at the last."""
    gains = np.sort((fit.F**2 / np.maximum(fit.added, SMALLEST)).ravel())[::-1]
    counts = np.geomspace(0.98 * gains.size, max(0.5 * fit.V.shape[1], 1.0), 12)
    penalties = gains[np.clip(counts.astype(int), 0, gains.size - 1)]
    penalties = penalties * (1.0 - 1e-9)
    return np.unique(penalties[penalties > 0])


def _fewest(tried: list[tuple[float, Loaded, bool]]) -> int | None:
    """Return the index of the sparsest fit that reaches the target; of ties, that of the largest margin."""
    some = [i for i, (_, _, kept) in enumerate(tried) if kept]
    if not some:
        return None
    return min(some, key=lambda i: (tried[i][1].nonzeros, -tried[i][1].added.sum(), i))


def _between(
    tried: list[tuple[float, Loaded, bool]], best: int, both: bool
) -> Iterator[tuple[float, Loaded]]:
    """Yield penalties between the best and its neighbours, each with the fit at the lower of the two."""
    if best + 1 < len(tried):
        yield float(np.sqrt(tried[best][0] * tried[best + 1][0])), tried[best][1]
    if both and best > 0:
        yield float(np.sqrt(tried[best][0] * tried[best - 1][0])), tried[best - 1][1]


def one_by_one(S: np.ndarray, target: VarianceTarget, rule: SupportRule | None = None) -> Loaded | None:
    """Return components found one after another, each of the smallest cardinality that reaches the target.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix over the total variance.
    target : VarianceTarget
        Applied after every component, even if it is a target for the total.
    rule : SupportRule, optional
    """
    p, k = len(S), target.k
    left = S.copy()
    goals = (target.share - 0.5 * REACHED) * np.cumsum(target.pca)
    V = np.zeros((p, k))
    reached = 0.0
    for i in range(k):
        if rule is None:
            value, v = _smallest(left, goals[i] - reached)
        else:
            J = np.flatnonzero(rule.open(i, np.asarray(V.any(axis=1))))
            if not J.size:
                return None
            v = np.zeros(p)
            value, v[J] = _smallest(left[np.ix_(J, J)], goals[i] - reached, rule.must[i, J])
        V[:, i] = v
        reached += value
        if value > 0:
            image = left @ v
            left -= np.outer(image, image / value)
    F = S @ V
    G = V.T @ F
    found = Loaded(V, F, triangle(symmetric(G))[1])
    return found if target.holds(found.added) else None


def _smallest(S: np.ndarray, goal: float, must: np.ndarray | None = None) -> tuple[float, np.ndarray]:
    """Return variance and loadings, shape (p,), of the smallest cardinality that is found to reach `goal`.

    `must`, shape (p,), says which variables are forced.
    """
    p = len(S)
    least = 1 if must is None else max(1, int(must.sum()))
    values, U = np.linalg.eigh(S)
    starts = U[:, ::-1][:, :DIRECTIONS].T
    low, high, best = least - 1, p, (float(values[-1]), U[:, -1])
    card = least  # doubled until it is enough, then bisected
    while high - low > 1:
        value, v = _single(S, card, starts, must)
        if value >= goal:
            high, best = card, (value, v)
        else:
            low = card
        card = min(2 * low, p - 1) if high == p and 2 * low < p else (low + high) // 2
    return best


def _single(
    S: np.ndarray, card: int, starts: np.ndarray, must: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """Return the best component of one cardinality found from the starts by exchanges."""
    criterion = Adjusted(Dense(S), (card,))
    if must is not None:
        criterion.under(SupportRule(np.ones((1, len(S)), dtype=bool), must[None]))
    rows = ranked(np.diag(S)[None], DIRECTIONS)[0]
    W = np.concatenate([starts, S[rows]])
    for _ in range(6):
        places, x = criterion.cut(W, 0, None)
        W = criterion.M.products(places, x)
    fits = criterion.fits(*criterion.cut(W, 0, None))
    fits = fits.some(ranked(fits.value[None], 2)[0])
    fits = climbed(criterion, fits, EFFORTS["auto"].width, EFFORTS["auto"].valued)
    fit = fits.some(ranked(fits.value[None], 1)[0])
    return float(fit.value[0]), criterion.dense(fit)[0, :, 0]


def fullest(S: np.ndarray, vectors: np.ndarray, target: VarianceTarget, rule: SupportRule) -> Loaded:
    """Return components of all the variables that a rule allows; each variable is in one if disjoint.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix over the total variance.
    vectors : ndarray of shape (p, k)
        Leading directions. Their varimax rotation shares out the variables of disjoint components; if the
        target is not reached, a climb moves single variables.
    target : VarianceTarget
        The loadings are improved towards it.
    rule : SupportRule
    """
    if not rule.disjoint:
        return _on_supports(S, [np.flatnonzero(one) for one in rule.may], target)
    k, gains = len(rule.may), varimax(vectors).T ** 2
    keys = np.where(rule.may, gains, -1.0)
    firsts = rule.assigned(gains, rule.nearest(1))
    assert firsts is not None  # the rule has been checked before
    for i, J in enumerate(firsts):
        keys[:, J] = np.where(np.arange(k) == i, np.inf, -1.0)[:, None]
    labels = np.where(rule.may.any(axis=0), keys.argmax(axis=0), -1)
    groups = [np.flatnonzero(labels == i) for i in range(k)]
    climber = Climber(S, k, "adjusted", rule, target)
    for climbs in (False, True):
        if climbs:
            groups = [members(group) for group in climber.climb([*map(as_mask, groups)])[1]]
        if climber.sorts:
            V = climber.vectors([*map(as_mask, groups)])
            groups = [groups[i] for i in best_order(V.T @ S @ V)]
        fit = _on_supports(S, groups, target)
        if target.holds(fit.added):
            break
    return fit


def _on_supports(S: np.ndarray, supports: list[np.ndarray], target: VarianceTarget) -> Loaded:
    V, left = np.zeros((len(S), len(supports))), S
    for i, J in enumerate(supports):
        V[J, i] = Gram(symmetric(left[np.ix_(J, J)])).leading(1)[1][:, 0]
        image = left @ V[:, i]
        left = left - np.outer(image, image / max(float(V[:, i] @ image), SMALLEST))
    op = Gram(S)
    return polished(op, loaded(op, V, 1.0), target, 1.0, POLISHED)
