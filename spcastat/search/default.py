"""The default search: the best supports and loadings of all components together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.errors import OptionError
from spcastat.kernels.eig import symmetric, top_eigh
from spcastat.kernels.ties import top
from spcastat.measures import MEASURES
from spcastat.operators import Operator
from spcastat.search.chains import search
from spcastat.search.climbing import LONG, SHORT, settled
from spcastat.search.criterion import Criterion
from spcastat.search.effort import EFFORTS, Effort
from spcastat.search.evidence import SAME, Evidence
from spcastat.search.fits import Fits
from spcastat.search.fixed import refined
from spcastat.search.moments import Dense, Identity, Moments, Products, Several
from spcastat.search.nested import Adjusted
from spcastat.search.newton import stationary
from spcastat.search.order import falling, reordered
from spcastat.search.predictor import best_predictor
from spcastat.search.projected import Projected
from spcastat.search.swaps import polish
from spcastat.search.wide import ROUNDS, agree, begun, improving, searchable, working_set
from spcastat.search.widened import FEWEST, gram_of, widened
from spcastat.solvers.optimality import proves
from spcastat.solvers.support_search import best_support

#: Up to this many variables the covariance matrix is held, and all of them are searched.
HELD = 1000
#: Up to this many, fits of many nonzeros are polished by swaps for PEV.
POLISHED = 3000
#: With more, the first candidates are as many for each nonzero loading, those of largest variance.
PER_NONZERO = 2
#: A cardinality times the number of variables up to which one component exchanges two variables at once.
PAIRS = 6000
#: Up to this many variables a bound may prove one component: with more it would take too much of the time.
BOUNDED = 200
#: The criteria by name.
CRITERIA = ("adjusted", "pev", "least_squares")


@dataclass(frozen=True, eq=False)
class Found:
    """What a search returns.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Unit loadings with at most `card` nonzeros; fewer only where more would add nothing.
    value : float
        The objective, by :mod:`spcastat.measures`, as a share of the total variance.
    order_counts : bool
        Whether the value belongs to this order of the components (adjusted variance).
    starts : int
        Starts and kicks that were climbed from.
    hits : int
        How many of these climbs ended in the best fit.
    chains, agreeing : int
        Searches that know nothing of one another, and how many of them ended in the best fit.
    unseen : float
        Good and Turing's estimate of the chance that one more climb ends in an optimum not met before.
    optima : tuple of (float, int)
        Distinct optima that climbs ended in, as shares of the total variance, the best first, and how often.
    settled : bool or None
        True where every exchange of one variable of one component for another was looked at, the loadings
        fitted anew to the best of them, and none raises the objective; None where that was not done.
    proven : bool
        Whether no other loadings of these cardinalities are better.
    variables : ndarray of int or None
        The working set, where the search ran on some of the variables.
    sufficient : bool or None
        For a working set, whether exchanges with all other variables were tested and none improves the fit.
    """

    V: np.ndarray
    value: float
    order_counts: bool
    starts: int
    hits: int
    chains: int
    agreeing: int
    unseen: float
    optima: tuple[tuple[float, int], ...]
    settled: bool | None
    proven: bool
    variables: np.ndarray | None = None
    sufficient: bool | None = None


def joint(
    op: Operator,
    k: int,
    card: tuple[int, ...],
    objective: str = "adjusted",
    effort: str | Effort = "auto",
    rng: np.random.Generator | None = None,
) -> Found:
    """Search for the k components of given cardinalities that are best together.

    Parameters
    ----------
    op : Operator
        Of p variables, with positive total variance.
    k : int
        Number of components, at most the rank.
    card : tuple of int
        Cardinality of each component, from 1 to p.
    objective : {"adjusted", "pev", "least_squares"}
    effort : {"quick", "auto", "thorough"} or Effort
    rng : numpy Generator, optional
        The same generator gives the same bits; without one it is that of seed 0.

    Returns
    -------
    Found
        PCA, without a search, where every component may have all variables.

    Raises
    ------
    OptionError
        For an objective, effort or cardinality that there is not.
    """
    settings = _checked(op, k, card, objective, effort)
    if min(card) >= op.p:
        V = op.leading(k)[1]
        value = float(MEASURES[objective](V, op)[-1])
        return Found(V, value, True, 1, 1, 1, 1, 0.0, ((value, 1),), True, True)
    rng = np.random.default_rng(0) if rng is None else rng
    if k == 1 and objective != "least_squares":
        return _single(op, card[0], objective)
    if op.p <= HELD:
        S = op.block(np.arange(op.p)) / op.total
        criterion = held(symmetric(S), card, objective)
        if k == 1:
            fit, evidence = best_predictor(criterion)
            return _found(op, criterion, fit, evidence, objective, True)
        fit, evidence = search(criterion, _directions(op, k), settings, rng)
        rests = None
        if settings.deep:
            fit, rests = settled(criterion, fit), True
        return _found(op, criterion, fit, evidence, objective, rests)
    return _wide(op, k, card, objective, settings, rng)


def joint_on(
    op: Operator,
    variables: np.ndarray,
    k: int,
    card: tuple[int, ...],
    objective: str,
    settings: Effort,
    rng: np.random.Generator,
) -> Found:
    """Search among some of the variables, all others still counting where the objective looks at them."""
    criterion = _on(op, variables, card, objective)
    if k == 1:
        fit, evidence = best_predictor(criterion)
        return _found(op, criterion, fit, evidence, objective, True, variables)
    fit, evidence = search(criterion, op.leading(k)[1][variables], settings, rng)
    if settings.deep:
        fit = settled(criterion, fit)
    return _found(op, criterion, fit, evidence, objective, settings.deep or None, variables)


def held(S: np.ndarray, card: tuple[int, ...], objective: str) -> Criterion:
    """Return the criterion of a covariance matrix of total variance one, or of several: shape (D, m, m)."""
    of = Dense if S.ndim == 2 else Several
    if objective == "adjusted":
        return Adjusted(of(S), card)
    if objective == "pev":
        return Projected(Identity(S.shape[-1]), of(S), card)
    return Projected(of(S), of(S @ S), card)


def products(op: Operator, card: tuple[int, ...], objective: str) -> Criterion:
    """Return the criterion of an operator whose covariance matrix is not held."""
    S: Moments = Products(op)
    if objective == "adjusted":
        return Adjusted(S, card)
    if objective == "pev":
        return Projected(Identity(op.p), S, card)
    return Projected(S, Products(op, 2), card)


def _checked(op: Operator, k: int, card: tuple[int, ...], objective: str, effort: str | Effort) -> Effort:
    if objective not in CRITERIA:
        raise OptionError(f"objective={objective!r} was given; it must be one of {', '.join(CRITERIA)}.")
    if isinstance(effort, str) and effort not in EFFORTS:
        raise OptionError(f"effort={effort!r} was given; it must be one of {', '.join(EFFORTS)}.")
    if len(card) != k or min(card) < 1 or max(card) > op.p:
        raise OptionError(
            f"card={card} was given; it needs {k} cardinalities, one a component, from 1 to {op.p}, "
            "the number of variables."
        )
    return EFFORTS[effort] if isinstance(effort, str) else effort


def _directions(op: Operator, k: int) -> np.ndarray:
    """Return twice as many leading directions as components, as far as there are."""
    return op.leading(min(2 * k, op.p, max(op.rank_limit, k)))[1]


def _single(op: Operator, card: int, objective: str) -> Found:
    """Return the component of largest variance: the search over one support."""
    _, support = best_support(op, card, pairs=card * op.p <= PAIRS)
    V = np.zeros((op.p, 1))
    if card <= HELD:  # from products alone, eigenvectors would have half of the digits
        S = op.block(support)
        V[support, 0] = top_eigh(symmetric(S), 1)[1][:, 0]
    else:
        V[support, 0] = op.take(support).leading(1)[1][:, 0]
    value = float(MEASURES[objective](V, op)[-1])
    proven = card in (1, op.p)
    if not proven and op.p <= BOUNDED:
        S = op.block(np.arange(op.p))
        proven = proves(symmetric(S), V[:, 0], card)
    return Found(V, value, objective == "adjusted", 1, 1, 1, 1, 0.0, ((value, 1),), True, proven)


def _found(
    op: Operator,
    criterion: Criterion,
    fit: Fits,
    evidence: Evidence,
    objective: str,
    rests: bool | None,
    variables: np.ndarray | None = None,
    sufficient: bool | None = None,
) -> Found:
    fit = falling(criterion, stationary(criterion, fit))
    V = criterion.dense(fit)[0]
    if variables is not None and criterion.m < op.p:
        V, inside = np.zeros((op.p, criterion.k)), V
        V[variables] = inside
    value = float(MEASURES[objective](V, op)[-1])
    evidence.settle(float(fit.value[0]))
    optima = evidence.table()
    return Found(
        V,
        value,
        not criterion.exact,
        starts=len(evidence.values),
        hits=optima[0][1],
        chains=len(evidence.chains),
        agreeing=sum(end >= max(evidence.chains) * (1.0 - SAME) for end in evidence.chains),
        unseen=evidence.unseen(),
        optima=tuple(optima),
        settled=rests,
        proven=min(criterion.cards) >= op.p,
        variables=variables,
        sufficient=sufficient,
    )


def _wide(
    op: Operator, k: int, card: tuple[int, ...], objective: str, settings: Effort, rng: np.random.Generator
) -> Found:
    """Search with more variables than a covariance matrix is held for."""
    whole = products(op, card, objective)
    values, vectors = op.leading(min(2 * k, op.p, max(op.rank_limit, k)))
    if settings.polished and objective == "pev" and not searchable(whole) and op.p > POLISHED:
        return _widened(op, whole, vectors, settings, rng)
    fits = begun(whole, vectors, settings, rng)
    evidence = Evidence(fits.value.tolist(), fits.value.tolist())
    if settings.polished and objective == "pev" and not searchable(whole):
        best = fits.some(slice(0, settings.polished))
        return _found(op, whole, _polished(op, whole, best), evidence, objective, True)
    fit = reordered(whole, refined(whole, fits.some(slice(0, 1)), SHORT))
    if settings.deep and agree(fits, settings.agree):
        end = refined(whole, fit, LONG)
        if improving(whole, end, np.zeros(0, dtype=int)).size == 0:
            return _found(op, whole, end, evidence, objective, True)
    elif not settings.deep or not searchable(whole):
        return _found(op, whole, fit, evidence, objective, None)
    variables = working_set(whole, fit, vectors[:, :k] ** 2 @ values[:k])
    sufficient = False
    for _ in range(ROUNDS):
        criterion = _on(op, variables, card, objective)
        start = criterion.fits(np.searchsorted(variables, fit.places), fit.x)
        found, evidence = search(criterion, vectors[variables], settings, rng, start)
        found = settled(criterion, found)
        fit = whole.fits(variables[found.places], found.x)
        entering = improving(whole, fit, variables)
        if entering.size == 0:
            sufficient = True
            break
        variables = np.union1d(variables, entering)
    return _found(op, whole, fit, evidence, objective, True if sufficient else None, variables, sufficient)


def _polished(op: Operator, whole: Criterion, fits: Fits) -> Fits:
    """Return the best of the fits after swaps of single variables until none raises PEV."""
    S = op.block(np.arange(op.p)) / op.total
    found = []
    for V in whole.dense(fits):
        V, supports = polish(symmetric(S), V, whole.cards, 1.0)
        x = np.concatenate([V[support, i] for i, support in enumerate(supports)])
        found.append(whole.fits(np.concatenate(supports)[None], x[None]))
    return max(found, key=lambda fit: float(fit.value[0]))


def _widened(
    op: Operator, whole: Criterion, vectors: np.ndarray, settings: Effort, rng: np.random.Generator
) -> Found:
    """Return the best fit for PEV among variables of large variance, and others that may improve it."""
    inside = top(op.diagonal(), min(max(FEWEST, PER_NONZERO * len(whole.owner)), op.p))
    for v, card in zip(vectors.T, whole.cards, strict=False):
        inside |= top(np.abs(v), card)
    candidates = np.flatnonzero(inside)
    sub = gram_of(op, candidates)
    criterion = held(sub.S / op.total, whole.cards, "pev")
    fits = begun(criterion, vectors[candidates], settings, rng)
    evidence = Evidence(fits.value.tolist(), fits.value.tolist())
    found = []
    for V in criterion.dense(fits.some(slice(0, settings.polished))):
        end = widened(op, sub, candidates, V, whole.cards)
        places = np.concatenate([end.candidates[support] for support in end.supports])
        x = np.concatenate([end.V[support, i] for i, support in enumerate(end.supports)])
        found.append((whole.fits(places[None], x[None]), end))
    fit, end = max(found, key=lambda one: float(one[0].value[0]))
    sufficient = end.unexcluded == 0
    return _found(op, whole, fit, evidence, "pev", True if sufficient else None, end.candidates, sufficient)


def _on(op: Operator, variables: np.ndarray, card: tuple[int, ...], objective: str) -> Criterion:
    """Return the criterion on some variables, all others still counting where the objective looks at them."""
    S = op.block(variables) / op.total
    S = symmetric(S)
    if objective != "least_squares":
        return held(S, card, objective)
    T = np.empty_like(S)
    for start in range(0, len(variables), 200):
        part = slice(start, start + 200)
        T[:, part] = op.dot(op.columns(variables[part]))[variables] / op.total**2
    return Projected(Dense(S), Dense(symmetric(T)), card)
