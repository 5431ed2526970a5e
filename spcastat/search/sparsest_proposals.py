"""Proposals for the sparsest loadings that reach a target, each with its own rule for the cardinalities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spcastat.kernels.eig import symmetric
from spcastat.operators import Operator, Removed, deflate
from spcastat.search.adjusted_variance import Adjusted, triangle
from spcastat.search.climbing import climbed, swept
from spcastat.search.component_order import reordered
from spcastat.search.criterion import Fits, joined
from spcastat.search.one_penalty import Loaded, loaded, penalised
from spcastat.search.small_matrices import SMALLEST, hard, ranked
from spcastat.search.starting_fits import from_directions, greedy
from spcastat.search.symmetric_matrices import Dense, Moments
from spcastat.search.variance_target import REACHED, TargetCriterion, VarianceTarget
from spcastat.solvers.greedy import Controlled
from spcastat.solvers.solver import Earlier

#: Penalties that are tried, and refinements around the best one.
PENALTIES, CLOSER = 12, 6
#: Sweeps per penalty.
SWEEPS = 6
#: Starting directions for a single component, and truncated power iterations from each.
DIRECTIONS, POWER = 4, 6
#: Exchanges: variables that may enter, and exchanges that are evaluated.
WIDTH, VALUED = 40, 8
#: Sweeps for a common cardinality, and the largest cardinality that is built greedily.
COMMON, GREEDY = 8, 200


def one_price(op: Operator, vectors: np.ndarray, target: VarianceTarget, total: float) -> Loaded | None:
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
    """
    fit = loaded(op, vectors.copy(), total)
    tried: list[tuple[float, Loaded, bool]] = []
    settled = 0
    for penalty in _penalties(fit):
        fit = penalised(op, fit, penalty, target, total, SWEEPS, target.every)
        kept = bool(target.holds(fit.added))
        if tried and fit.nonzeros == tried[-1][1].nonzeros:
            settled += 1
        tried.append((penalty, fit, kept))
        if (not kept and not target.every) or settled == 3:
            break
    for _ in range(CLOSER):
        best = _fewest(tried)
        if best is None:
            break
        for penalty, start in _between(tried, best, target.every):
            new = penalised(op, start, penalty, target, total, SWEEPS, target.every)
            tried.append((penalty, new, bool(target.holds(new.added))))
        tried.sort(key=lambda one: one[0])
    best = _fewest(tried)
    return None if best is None else tried[best][1]


def _penalties(fit: Loaded) -> np.ndarray:
    """Return increasing penalties, at which a dense fit keeps nearly all of its loadings, or none."""
    gains = np.sort((fit.F**2 / np.maximum(fit.added, SMALLEST)).ravel())[::-1]
    counts = np.geomspace(0.98 * gains.size, max(0.5 * fit.V.shape[1], 1.0), PENALTIES)
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
    """Yield penalties between the best and its neighbours, with the fit at the lower one as the start."""
    if best + 1 < len(tried):
        yield float(np.sqrt(tried[best][0] * tried[best + 1][0])), tried[best][1]
    if both and best > 0:
        yield float(np.sqrt(tried[best][0] * tried[best - 1][0])), tried[best - 1][1]


def one_by_one(S: np.ndarray, target: VarianceTarget) -> Loaded | None:
    """Return components found one after another, each of the smallest cardinality that reaches the target.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix over the total variance.
    target : VarianceTarget
        Applied after every component, even if it is a target for the total.
    """
    p, k = len(S), target.k
    left = S.copy()
    goals = (target.share - 0.5 * REACHED) * np.cumsum(target.pca)
    V = np.zeros((p, k))
    reached = 0.0
    for i in range(k):
        value, v = _smallest(left, goals[i] - reached)
        V[:, i] = v
        reached += value
        if value > 0:
            image = left @ v
            left -= np.outer(image, image / value)
    F = S @ V
    G = V.T @ F
    found = Loaded(V, F, triangle(symmetric(G))[1])
    return found if target.holds(found.added) else None


def _smallest(S: np.ndarray, goal: float) -> tuple[float, np.ndarray]:
    """Return variance and loadings, shape (p,), of the smallest cardinality that is found to reach `goal`."""
    p = len(S)
    values, U = np.linalg.eigh(S)
    starts = U[:, ::-1][:, :DIRECTIONS].T
    low, high, best = 0, p, (float(values[-1]), U[:, -1])
    card = 1  # doubled until it is enough, then bisected
    while high - low > 1:
        value, v = _single(S, card, starts)
        if value >= goal:
            high, best = card, (value, v)
        else:
            low = card
        card = min(2 * low, p - 1) if high == p and 2 * low < p else (low + high) // 2
    return best


def _single(S: np.ndarray, card: int, starts: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the best component of one cardinality found from the starts by exchanges."""
    criterion = Adjusted(Dense(S), (card,))
    rows = ranked(np.diag(S)[None], DIRECTIONS)[0]
    W = np.concatenate([starts, S[rows]])
    for _ in range(POWER):
        places, x = hard(W, card)
        W = criterion.M.products(places, x)
    fits = criterion.fits(*hard(W, card))
    fits = fits.some(ranked(fits.value[None], 2)[0])
    fits = climbed(criterion, fits, WIDTH, VALUED)
    fit = fits.some(ranked(fits.value[None], 1)[0])
    return float(fit.value[0]), criterion.dense(fit)[0, :, 0]


def one_cardinality(
    op: Operator,
    S: Moments,
    vectors: np.ndarray,
    target: VarianceTarget,
    most: int,
    rng: np.random.Generator,
) -> Loaded | None:
    """Return the fit with the smallest cardinality common to all components that reaches the target.

    Parameters
    ----------
    op : Operator
    S : Moments
        The covariance matrix over the total variance.
    vectors : ndarray of shape (p, k)
        Leading directions.
    target : VarianceTarget
    most : int
        The largest cardinality to try.
    rng : numpy Generator
    """
    low, high, best = 0, min(most, S.m) + 1, None
    card = high - 1
    while high - low > 1:
        fit, criterion = _common(S, vectors, target, card, rng)
        kept = np.flatnonzero(criterion.holds(fit))
        if kept.size:
            one = fit.some(kept[:1])
            V = criterion.dense(one)[0]
            best = Loaded(V, one.first[0].T.copy(), criterion.added(one.G)[0])
            high = card
        else:
            low = card
        card = (low + high) // 2
    return best


def _common(
    S: Moments, vectors: np.ndarray, target: VarianceTarget, card: int, rng: np.random.Generator
) -> tuple[Fits, TargetCriterion]:
    criterion = TargetCriterion(S, (card,) * target.k, target)
    starts = [from_directions(criterion, [vectors])]
    if card <= GREEDY:
        starts.append(greedy(criterion, 1, rng, plain=True))
    fits = reordered(criterion, swept(criterion, joined(starts), COMMON))
    return fits.some(np.argsort(-fits.value, kind="stable")), criterion


def grown(op: Operator, target: VarianceTarget, eigenvalues: np.ndarray, total: float) -> Loaded:
    """Return the fit of controlled greedy growth: He, Monteiro and Park (2010), Algorithm 2."""
    solver = Controlled(target.share)
    V = np.zeros((op.p, target.k))
    view, explained = op, 0.0
    for i in range(target.k):
        earlier = Earlier(i, explained, eigenvalues, V=V[:, :i])
        v = solver.component(view, earlier, np.zeros(op.p)).v
        V[:, i] = v
        explained += float(v @ view.dot(v))
        view = deflate(view, Removed(v, v, V[:, :i]), "schur")
    return loaded(op, V, total)
