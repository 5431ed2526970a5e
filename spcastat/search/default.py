"""The default search: the best supports and loadings of all components together."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from spcastat.errors import OptionError
from spcastat.kernels.eig import symmetric, top_eigh
from spcastat.measures import MEASURES
from spcastat.operators import Gram, Operator
from spcastat.search.best_predictor import best_predictor
from spcastat.search.chains import search
from spcastat.search.climbing import settled
from spcastat.search.component_order import falling
from spcastat.search.criterion import Criterion, Fits
from spcastat.search.local_optima import SAME, Evidence
from spcastat.search.newton_ascent import stationary
from spcastat.search.objectives import CRITERIA, held
from spcastat.search.rule import SupportRule
from spcastat.search.settings import EFFORTS, Effort
from spcastat.search.starting_fits import from_directions
from spcastat.search.working_set import restricted
from spcastat.solvers.optimality import proves
from spcastat.solvers.support_search import best_support

#: Up to this many variables the covariance matrix is held, and all of them are searched.
HELD = 1000
#: Sparse rows that store more numbers are treated like rows that are not in memory: products cost much.
MANY = 2_000_000
#: With more variables than this, products with many vectors at once would take gigabytes.
MANY_VARIABLES = 250_000
#: A cardinality times the number of variables up to which one component exchanges two variables at once.
PAIRS = 6000
#: Up to this many variables a bound may prove one component: with more it would take too much of the time.
BOUNDED = 200
#: More components are found one after another: a round of exchanges takes k^4 operations and more.
SEQUENTIAL = 60
#: An effort contains the one below it: its fit is one of the starts.
LESS = {"auto": "quick", "thorough": "auto"}


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
    starts: Sequence[np.ndarray] = (),
    rule: SupportRule | None = None,
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
    starts : sequence of ndarray of shape (p, k)
        Loadings to start from, too, cut to the cardinalities. No fit that is returned is worse.
    rule : SupportRule, optional
        The supports that are allowed, on up to `HELD` variables and for up to `SEQUENTIAL` components.

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
    seeded = np.random.default_rng(0) if rng is None else rng
    if rule is None and k == 1 and objective != "least_squares" and op.p <= HELD:
        return _single(op, card[0], objective)
    if k > SEQUENTIAL and op.p <= HELD:
        return _one_after_another(op, card, objective)
    if isinstance(effort, str) and effort in LESS and k > 1:
        less = joint(op, k, card, objective, LESS[effort], deepcopy(seeded), rule=rule)
        starts = (*starts, less.V)
    if op.p <= HELD:
        S = op.block(np.arange(op.p)) / op.total
        criterion = held(symmetric(S), card, objective).under(rule)
        if rule is None and k == 1:
            fit, evidence = best_predictor(criterion)
            return found_of(op, criterion, fit, evidence, objective, True)
        given = from_directions(criterion, starts) if starts else None
        fit, evidence = search(criterion, directions(op, k), settings, seeded, given)
        if settings.deep:
            fit = settled(criterion, fit)
        return found_of(op, criterion, fit, evidence, objective, settings.deep or None)
    settings = EFFORTS["auto"] if k == 1 else settings
    few = op.out_of_core or op.stored > MANY or op.p > MANY_VARIABLES
    end = restricted(op, card, objective, settings, seeded, list(starts), few)
    rests = True if end.sufficient else None
    return found_of(op, end.criterion, end.fit, end.evidence, objective, rests, end.variables, end.sufficient)


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


def directions(op: Operator, k: int) -> np.ndarray:
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


def _one_after_another(op: Operator, card: tuple[int, ...], objective: str) -> Found:
    """Return components of which each has the largest variance that is left given the earlier ones.

    What is left of the covariance matrix is its Schur complement, so that the variances add up to the
    adjusted variance. The components are not improved together.
    """
    left = op.block(np.arange(op.p))
    V = np.zeros((op.p, len(card)))
    for j, c in enumerate(card):
        _, support = best_support(Gram(left), c, pairs=False)
        V[support, j] = top_eigh(symmetric(left[np.ix_(support, support)]), 1)[1][:, 0]
        product = left @ V[:, j]
        if (variance := float(V[:, j] @ product)) > 0.0:
            left = symmetric(left - np.outer(product, product) / variance)
    value = float(MEASURES[objective](V, op)[-1])
    return Found(V, value, objective == "adjusted", 1, 1, 1, 1, 0.0, ((value, 1),), None, False)


def found_of(
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
