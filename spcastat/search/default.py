"""The default search: supports and loadings of all components are optimised jointly."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

import numpy as np

from spcastat.errors import OptionError
from spcastat.kernels.eig import symmetric, top_eigh
from spcastat.operators import Gram, Operator
from spcastat.search.best_predictor import best_predictor
from spcastat.search.chains import search
from spcastat.search.climbing import settled
from spcastat.search.found import Found, directly, found_of
from spcastat.search.objectives import CRITERIA, held
from spcastat.search.rule import SupportRule
from spcastat.search.settings import EFFORTS, Effort
from spcastat.search.starting_fits import from_directions
from spcastat.search.working_set import restricted
from spcastat.solvers.optimality import proves
from spcastat.solvers.support_search import best_support

#: Up to this many variables the covariance matrix is kept in memory, and all variables are searched.
HELD = 1000
#: Sparse rows with more stored values are treated like rows on disk: products with them are expensive.
MANY = 2_000_000
#: With more variables than this, products with many vectors at once would take gigabytes.
MANY_VARIABLES = 250_000
#: More components than this are found one after another: a round of exchanges takes at least k^4 operations.
SEQUENTIAL = 60
#: effort -> the effort below it, whose fit is one of the starts.
LESS = {"auto": "quick", "thorough": "auto"}


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
    """Search for the k components of given cardinalities that maximise the objective jointly.

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
        By default a generator with seed 0.
    starts : sequence of ndarray of shape (p, k)
        Further starts, which are cut to the cardinalities. The result is never worse than any of them.
    rule : SupportRule, optional
        The supports that are allowed; for up to `HELD` variables and up to `SEQUENTIAL` components.

    Returns
    -------
    Found
        The PCA fit, without a search, if every component may have all variables.

    Raises
    ------
    OptionError
        If the objective, effort or cardinalities are not valid.
    """
    settings = _checked(op, k, card, objective, effort)
    if min(card) >= op.p:
        return directly(op, op.leading(k)[1], objective, settled=True, proven=True)
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
    return restricted(op, card, objective, settings, seeded, list(starts), few)


def _checked(op: Operator, k: int, card: tuple[int, ...], objective: str, effort: str | Effort) -> Effort:
    if objective not in CRITERIA:
        raise OptionError(f"objective={objective!r} was given; it must be one of {', '.join(CRITERIA)}.")
    if isinstance(effort, str) and effort not in EFFORTS:
        raise OptionError(f"effort={effort!r} was given; it must be one of {', '.join(EFFORTS)}.")
    if len(card) != k or min(card) < 1 or max(card) > op.p:
        raise OptionError(
            f"card={card} was given; it needs {k} cardinalities, one per component, from 1 to {op.p}, "
            "the number of variables."
        )
    return EFFORTS[effort] if isinstance(effort, str) else effort


def directions(op: Operator, k: int) -> np.ndarray:
    """Return the leading eigenvectors: twice as many as components, or as many as the data have."""
    return op.leading(min(2 * k, op.p, max(op.rank_limit, k)))[1]


def _single(op: Operator, card: int, objective: str) -> Found:
    """Return the component of largest variance: the search over one support."""
    # exchanges of two variables at once are tried where they are cheap
    _, support = best_support(op, card, pairs=card * op.p <= 6000)
    V = np.zeros((op.p, 1))
    if card <= HELD:  # by LAPACK: products alone give half of the digits of an eigenvector
        S = op.block(support)
        V[support, 0] = top_eigh(symmetric(S), 1)[1][:, 0]
    else:
        V[support, 0] = op.take(support).leading(1)[1][:, 0]
    proven = card in (1, op.p)
    # an upper bound may prove that the component is optimal
    if not proven and op.p <= 200:
        S = op.block(np.arange(op.p))
        proven = proves(symmetric(S), V[:, 0], card)
    return directly(op, V, objective, True, proven)


def _one_after_another(op: Operator, card: tuple[int, ...], objective: str) -> Found:
    """Return components found one after another, each of the largest variance given the earlier ones.

    The covariance matrix is deflated by its Schur complement, so that the variances add up to the adjusted
    variance. The components are not optimised jointly afterwards.
    """
    left = op.block(np.arange(op.p))
    V = np.zeros((op.p, len(card)))
    for j, c in enumerate(card):
        _, support = best_support(Gram(left), c, pairs=False)
        V[support, j] = top_eigh(symmetric(left[np.ix_(support, support)]), 1)[1][:, 0]
        product = left @ V[:, j]
        if (variance := float(V[:, j] @ product)) > 0.0:
            left = symmetric(left - np.outer(product, product) / variance)
    return directly(op, V, objective, None, False)
