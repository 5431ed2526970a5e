"""The sparsest loadings that keep a share of PCA's variance: proposals, improved by a joint search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from spcastat.errors import ComponentsError, OptionError
from spcastat.linalg.eigenvectors import TARGET_ROUNDING, symmetric, varimax
from spcastat.linalg.operators import Gram, Operator, Rows, residual_covariances
from spcastat.measures import best_order
from spcastat.progress import stage
from spcastat.search.climbing import EFFORTS, GRAM_LIMIT, climb
from spcastat.search.criteria import Adjusted, SupportRule
from spcastat.search.matrices import SMALLEST, Dense, ranked_entries
from spcastat.search.objectives import ADJUSTED
from spcastat.search.partition import Climber, as_mask, members
from spcastat.search.penalty import (
    Shrinking,
    Sweeps,
    VarianceTarget,
    WithProducts,
    with_products,
)
from spcastat.solvers.solver import Sparser

# --- proposals ------------------------------------------------------------------------------------


#: Largest number of sweeps per penalty.
PENALTY_SWEEPS = 6
#: Number of leading directions, and of rows of S, from which a single component is started.
DIRECTIONS = 4
#: Number of sweeps over the loadings on all allowed variables.
POLISHING_SWEEPS = 20


def common_penalty(sweeps: Sweeps, vectors: np.ndarray) -> WithProducts | None:
    """Return the sparsest loadings found with one penalty for all components, or None.

    Parameters
    ----------
    sweeps : Sweeps
        The sweeps, without a rule for disjoint components.
    vectors : ndarray of shape (p, k)
        The start of the sweeps: leading directions, or a rotation of them.
    """
    target = sweeps.target
    fit = sweeps.start(vectors.copy())
    trials: list[tuple[float, WithProducts, bool]] = []
    settled = 0
    for penalty in _penalties(fit):
        fit = sweeps.penalised(fit, penalty, PENALTY_SWEEPS)
        succeeds = bool(target.holds(fit.variances))
        if trials and fit.nonzeros == trials[-1][1].nonzeros:
            settled += 1
        trials.append((penalty, fit, succeeds))
        if (not succeeds and not target.cumulative) or settled == 3:
            break
    # refinements around the best penalty
    for _ in range(6):
        best_index = _index_of_fewest(trials)
        if best_index is None:
            break
        for penalty, start in _between(trials, best_index, target.cumulative):
            fit_at_penalty = sweeps.penalised(start, penalty, PENALTY_SWEEPS)
            trials.append((penalty, fit_at_penalty, bool(target.holds(fit_at_penalty.variances))))
        trials.sort(key=lambda trial: trial[0])
    best_index = _index_of_fewest(trials)
    return None if best_index is None else trials[best_index][1]


def _penalties(fit: WithProducts) -> np.ndarray:
    """Return increasing penalties: the first keeps nearly all loadings of a dense fit, the last few."""
    gains = np.sort((fit.F**2 / np.maximum(fit.variances, SMALLEST)).ravel())[::-1]
    counts = np.geomspace(0.98 * gains.size, max(0.5 * fit.V.shape[1], 1.0), 12)
    penalties = gains[np.clip(counts.astype(int), 0, gains.size - 1)]
    penalties = penalties * (1.0 - 1e-9)
    return np.unique(penalties[penalties > 0])


def _index_of_fewest(trials: list[tuple[float, WithProducts, bool]]) -> int | None:
    """Return the index of the sparsest fit that reaches the target, with ties broken by variance."""
    successes = [i for i, (_, _, succeeds) in enumerate(trials) if succeeds]
    if not successes:
        return None
    return min(successes, key=lambda i: (trials[i][1].nonzeros, -trials[i][1].variances.sum(), i))


def _between(
    trials: list[tuple[float, WithProducts, bool]], best_index: int, both_sides: bool
) -> Iterator[tuple[float, WithProducts]]:
    """Yield penalties between the best penalty and its neighbours, each with the fit at the lower one."""
    if best_index + 1 < len(trials):
        yield float(np.sqrt(trials[best_index][0] * trials[best_index + 1][0])), trials[best_index][1]
    if both_sides and best_index > 0:
        yield float(np.sqrt(trials[best_index][0] * trials[best_index - 1][0])), trials[best_index - 1][1]


def one_by_one(S: np.ndarray, target: VarianceTarget, rule: SupportRule | None = None) -> WithProducts | None:
    """Return components found one at a time, each with the smallest cardinality that reaches the target.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix over the total variance.
    target : VarianceTarget
        Applied after every component, even if it is a target for the total.
    rule : SupportRule, optional
    """
    p, k = len(S), target.k
    residual = S
    goals = (target.share - 0.5 * TARGET_ROUNDING) * np.cumsum(target.pca)
    V = np.zeros((p, k))
    attained_variance = 0.0
    for i in range(k):
        if rule is None:
            value, v = _smallest(residual, goals[i] - attained_variance)
        else:
            J = np.flatnonzero(rule.admissible(i, np.asarray(V.any(axis=1))))
            if not J.size:
                return None
            v = np.zeros(p)
            value, v[J] = _smallest(residual[np.ix_(J, J)], goals[i] - attained_variance, rule.must[i, J])
        V[:, i] = v
        attained_variance += value
        residual = residual_covariances(residual, residual @ v, np.array(value))
    fit = with_products(V, S @ V)
    return fit if target.holds(fit.variances) else None


def _smallest(S: np.ndarray, goal: float, must: np.ndarray | None = None) -> tuple[float, np.ndarray]:
    """Return variance and loadings, shape (p,), with the smallest cardinality found to reach `goal`.

    `must`, shape (p,), is a mask of the forced variables.
    """
    p = len(S)
    smallest_card = 1 if must is None else max(1, int(must.sum()))
    values, U = np.linalg.eigh(S)
    starts = U[:, ::-1][:, :DIRECTIONS].T
    low, high, best_solution = smallest_card - 1, p, (float(values[-1]), U[:, -1])
    card = smallest_card  # doubled until it suffices, then bisected
    while high - low > 1:
        value, v = _single(S, card, starts, must)
        if value >= goal:
            high, best_solution = card, (value, v)
        else:
            low = card
        card = min(2 * low, p - 1) if high == p and 2 * low < p else (low + high) // 2
    return best_solution


def _single(
    S: np.ndarray, card: int, starts: np.ndarray, must: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """Return the best component of a given cardinality that exchanges find from the starts."""
    criterion = Adjusted(Dense(S), (card,))
    if must is not None:
        criterion.under(SupportRule(np.ones((1, len(S)), dtype=bool), must[None]))
    rows = ranked_entries(np.diag(S)[None], DIRECTIONS)[0]
    W = np.concatenate([starts, S[rows]])
    for _ in range(6):
        places, x = criterion.truncate(W, 0, None)
        W = criterion.M.products(places, x)
    fits = criterion.fits(*criterion.truncate(W, 0, None))
    fits = fits.subset(ranked_entries(fits.value[None], 2)[0])
    fits = climb(criterion, fits, EFFORTS["auto"].width, EFFORTS["auto"].valued)
    fit = fits.subset(ranked_entries(fits.value[None], 1)[0])
    return float(fit.value[0]), criterion.dense(fit)[0, :, 0]


def fullest(S: np.ndarray, vectors: np.ndarray, target: VarianceTarget, rule: SupportRule) -> WithProducts:
    """Return components of all variables that the rule allows; disjoint ones partition the variables.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix over the total variance.
    vectors : ndarray of shape (p, k)
        Leading directions. Their varimax rotation assigns variables to disjoint components; if the target is
        not reached, a climb moves single variables.
    target : VarianceTarget
        The target towards which the loadings are improved.
    rule : SupportRule
    """
    if not rule.disjoint:
        return _on_supports(S, [np.flatnonzero(mask) for mask in rule.may], target)
    k, gains = len(rule.may), varimax(vectors).T ** 2
    keys = np.where(rule.may, gains, -1.0)
    firsts = rule.assigned(gains, rule.nearest(1))
    assert firsts is not None  # the rule was checked before
    for i, J in enumerate(firsts):
        keys[:, J] = np.where(np.arange(k) == i, np.inf, -1.0)[:, None]
    labels = np.where(rule.may.any(axis=0), keys.argmax(axis=0), -1)
    groups = [np.flatnonzero(labels == i) for i in range(k)]
    climber = Climber(S, k, ADJUSTED, rule, target)
    for climbs in (False, True):
        if climbs:
            groups = [members(group) for group in climber.climb([*map(as_mask, groups)])[1]]
        if climber.sorts:
            V = climber.vectors([*map(as_mask, groups)])
            groups = [groups[i] for i in best_order(V.T @ S @ V)]
        fit = _on_supports(S, groups, target)
        if target.holds(fit.variances):
            break
    return fit


def _on_supports(S: np.ndarray, supports: list[np.ndarray], target: VarianceTarget) -> WithProducts:
    V, residual = np.zeros((len(S), len(supports))), S
    for i, J in enumerate(supports):
        V[J, i] = Gram(symmetric(residual[np.ix_(J, J)])).leading(1)[1][:, 0]
        image = residual @ V[:, i]
        residual = residual_covariances(residual, image, np.asarray(V[:, i] @ image))
    sweeps = Sweeps(Gram(S), target, 1.0)
    return sweeps.polished(sweeps.start(V), POLISHING_SWEEPS)


# --- the search -----------------------------------------------------------------------------------


#: With up to this many variables, "one by one" is one of the proposals.
ONE_BY_ONE = 200
#: effort -> the largest numbers of nonzeros, in total and in one component, for which the joint search runs.
SEARCHED = {"quick": (120, 40), "auto": (120, 40), "thorough": (200, 80)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Sparsest(Sparser):
    """The sparsest fit found, with a record of the search.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Unit loadings.
    card : tuple of int
        Cardinalities.
    value : float
        Adjusted variance of all components, as a share of the total variance.
    kept_shares : ndarray of shape (k,)
        The share of PCA's variance that is kept after each component; see :mod:`spcastat.measures`.
    """

    V: np.ndarray
    card: tuple[int, ...]
    value: float
    kept_shares: np.ndarray


def sparsest(
    op: Operator,
    k: int,
    variance: float,
    promise: str = "every",
    effort: str = "auto",
    rng: np.random.Generator | None = None,
    rule: SupportRule | None = None,
) -> Sparsest:
    """Search for the fewest nonzero loadings that keep a share of the variance that PCA explains.

    Parameters
    ----------
    op : Operator
        The data, with p variables and positive total variance.
    k : int
        Number of components, at most the rank.
    variance : float
        The share, above 0 and at most 1. With "every", the adjusted variance of the first i components is at
        least this share of the sum of the i largest eigenvalues (to 1e-10) for every i; with "total", only
        for i = k.
    promise : {"every", "total"}
    effort : {"quick", "auto", "thorough"}
        "auto" runs a joint search if the sparsest proposal has few nonzeros and the covariance matrix is in
        memory; "thorough" searches longer, and also with many variables.
    rng : numpy Generator, optional
        By default a generator with seed 0.
    rule : SupportRule, optional
        The supports that are allowed, for up to GRAM_LIMIT variables.

    Returns
    -------
    Sparsest

    Raises
    ------
    OptionError
        If no loadings under the rule are found to reach the share.
    ComponentsError
        If k exceeds the rank of the data.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    values, vectors = op.leading(k)
    if values[-1] <= np.finfo(float).eps * op.p * max(float(values[0]), 0.0):
        raise ComponentsError(f"k={k} was given, but the data have a smaller rank; ask for fewer components.")
    goal = VarianceTarget(float(variance), promise == "every", values / op.total)
    with stage("fewest nonzeros", unit="proposals") as advance:
        search = _Search(op, values, vectors, goal, effort, rng, rule)
        for proposal in search.proposals():
            search.propose(*proposal)
            advance(1)
        if not search.fits and rule is not None:
            raise OptionError(search.missed(promise))
        if not search.fits:
            search.propose("PCA", search.sweeps.start(search.vectors))
        V, winner, searched = search.result()
    card = tuple(int(c) for c in np.count_nonzero(V, axis=0))
    kept_shares = goal.measured(V, op)
    is_smallest = sum(card) == k
    return Sparsest(
        proposals={name: fit.nonzeros for name, fit in search.fits.items()},
        winner=winner,
        nonzeros=sum(card),
        searched=searched or is_smallest,
        dense=bool(3 * sum(card) > V.size),
        proven=is_smallest,
        V=V,
        card=card,
        value=float(kept_shares[-1] * goal.pca.sum()),
        kept_shares=kept_shares,
    )


class _Search:
    """The proposals, and the search that starts from the best of them."""

    def __init__(
        self,
        op: Operator,
        values: np.ndarray,
        vectors: np.ndarray,
        goal: VarianceTarget,
        effort: str,
        rng: np.random.Generator,
        rule: SupportRule | None = None,
    ):
        self.rule = rule
        self.op, self.values, self.goal, self.effort, self.rng = op, values, goal, effort, rng
        self.total = op.total
        self.variables: np.ndarray | None = None
        self.work = self._working(vectors)
        self.vectors = vectors if self.variables is None else vectors[self.variables]
        self.sweeps = Sweeps(self.work, goal, self.total, rule)
        self.fits: dict[str, WithProducts] = {}
        self.pca = vectors
        self.largest_share = 0.0

    def _working(self, vectors: np.ndarray) -> Operator:
        """Return the operator with the cheapest products."""
        op = self.op
        # there are few enough variables, and at most twice as many as rows
        tall = op.p <= 3 * GRAM_LIMIT and not (isinstance(op, Rows) and 2 * op.n < op.p)
        if op.p <= GRAM_LIMIT or tall:
            if op.held_matrix is not None:
                return op
            return op.with_matrix()
        if not op.out_of_core:
            return op
        return self._held_of_stream(vectors)

    def _held_of_stream(self, vectors: np.ndarray) -> Operator:
        """Return the covariance matrix of the variables that PCA explains best, enough for the target.

        If too many variables would be needed, the operator of all variables is returned.
        """
        op, size = self.op, 2 * GRAM_LIMIT
        order = np.argsort(-(vectors**2 @ self.values), kind="stable")
        while size <= 8 * GRAM_LIMIT:
            variables = np.sort(order[:size])
            S = op.block(variables)
            work = Gram(symmetric(S), op.rank_limit)
            if self.goal.holds(work.leading(self.goal.k)[0] / self.total):
                self.variables = variables
                return work
            size *= 2
        return op

    def proposals(self) -> Iterator[tuple[str, WithProducts | None]]:
        """Yield the name and the fit of each proposal; the fit is None if none was found."""
        work, goal, rule, total = self.work, self.goal, self.rule, self.total
        if rule is not None:
            S = work.block(np.arange(work.p)) / total
            orders = self._exchanges() if rule.disjoint else []
            starts = [self.vectors, *(self.vectors[:, order] for order in orders)]
            fits = [fullest(S, start, goal, rule) for start in starts]
            reach = [fit for fit in fits if goal.holds(fit.variances)]
            nearest = max(fits, key=lambda fit: float(goal.attainment(fit.variances)))
            yield "all allowed", min(reach, key=lambda fit: fit.nonzeros, default=nearest)
        if rule is None or not rule.disjoint:
            yield "common penalty", common_penalty(self.sweeps, self.vectors)
            if not goal.cumulative and goal.k > 1:
                yield "common penalty, rotated", common_penalty(self.sweeps, varimax(self.vectors))
        if work.p <= ONE_BY_ONE:
            yield "one by one", one_by_one(work.block(np.arange(work.p)) / total, goal, rule)

    def propose(self, name: str, fit: WithProducts | None) -> None:
        """Trim and store a fit if it reaches the target."""
        if fit is not None:
            kept_shares = self.goal.kept_shares(fit.variances)
            self.largest_share = max(
                self.largest_share, float(kept_shares.min() if self.goal.cumulative else kept_shares[-1])
            )
            if self.goal.holds(fit.variances):
                self.fits[name] = self.sweeps.trimmed(fit)

    def missed(self, promise: str) -> str:
        """Return the error message for the case that no proposal reaches the target."""
        when = "after every component" if promise == "every" else "by all components together"
        return (
            f"variance={self.goal.share:g} was given with a rule for the variables, under which the "
            f"components found explain {self.largest_share:.4f} of the variance that PCA explains {when}. "
            f"Give variance={np.floor(1e3 * self.largest_share) / 1e3:g} or less, or a rule that leaves more "
            "variables."
        )

    def _exchanges(self) -> list[np.ndarray]:
        """Return up to six orders, each with two components exchanged that the rule treats differently."""
        k, orders = self.goal.k, []
        kinds = (0,) * k if self.rule is None else self.rule.kinds([0] * k)
        pairs = [(i, j) for i, j in combinations(range(k), 2) if kinds[i] != kinds[j]]
        for i, j in pairs[:6]:
            order = np.arange(k)
            order[[i, j]] = j, i
            orders.append(order)
        return orders

    def _reordered(self, V: np.ndarray, order: np.ndarray) -> WithProducts | None:
        """Return a fit under the rule with the columns of V reordered, or None if it misses the target."""
        assert self.rule is not None
        V = np.where(self.rule.may.T, V[:, order], 0.0)
        if self.rule.disjoint:
            V[np.any(self.rule.must, axis=0)[:, None] & ~self.rule.must.T] = 0.0
        if not V.any(axis=0).all():
            return None
        fit = self.sweeps.polished(self.sweeps.start(V / np.linalg.norm(V, axis=0)), POLISHING_SWEEPS)
        return fit if self.goal.holds(fit.variances) else None

    def result(self) -> tuple[np.ndarray, str, bool]:
        """Return the loadings, the name of their proposal, and whether a joint search confirmed them."""
        ends = {name: fit.V for name, fit in self.fits.items()}
        searched = False
        # single loadings are removed from the sparsest three before the joint search
        for name in self._ranked(ends)[:3]:
            if self._searchable(ends[name]):
                ends[name] = self._shrunk(self.fits[name], ends[name], "quick")
        best_names = self._ranked(ends)[:1]
        deep = self.effort == "thorough" or (self.effort == "auto" and self.work.held_matrix is not None)
        if best_names and deep and self._searchable(ends[best_names[0]]):
            ends[best_names[0]] = self._shrunk(self.fits[best_names[0]], ends[best_names[0]], self.effort)
            searched = True
        for order in self._exchanges() if best_names and self._searchable(ends[best_names[0]]) else ():
            reordered_fit = self._reordered(ends[best_names[0]], order)
            if reordered_fit is not None:
                V = self._shrunk(reordered_fit, reordered_fit.V, self.effort if deep else "quick")
                if np.count_nonzero(V) < np.count_nonzero(ends[best_names[0]]):
                    ends[best_names[0]] = V
        for name in self._ranked(ends):
            for V in (ends[name], self.fits[name].V):
                all_loadings = self._in_all_variables(V)
                if self.goal.true(all_loadings, self.op):
                    return all_loadings, name, searched and name in best_names
        return self.pca, "PCA", False

    def _ranked(self, ends: dict[str, np.ndarray]) -> list[str]:
        """Return the names of the proposals, the one with the fewest nonzeros first."""

        def key(name: str) -> tuple[int, float]:
            return int(np.count_nonzero(ends[name])), -float(self.fits[name].variances.sum())

        return sorted(ends, key=key)

    def _searchable(self, V: np.ndarray) -> bool:
        """Return whether V has few enough nonzeros for a joint search of all components."""
        cards = np.count_nonzero(V, axis=0)
        total_limit, card_limit = SEARCHED[self.effort]
        return bool(cards.sum() <= total_limit and cards.max() <= card_limit)

    def _in_all_variables(self, V: np.ndarray) -> np.ndarray:
        if self.variables is None:
            return V
        all_loadings = np.zeros((self.op.p, V.shape[1]))
        all_loadings[self.variables] = V
        return all_loadings

    def _shrunk(self, fit: WithProducts, V: np.ndarray, effort: str) -> np.ndarray:
        """Return the sparsest loadings that a joint search finds from V, which was derived from `fit`."""
        size = max(4 * int(np.count_nonzero(V)), ONE_BY_ONE)
        strength = (fit.F**2 / np.maximum(fit.variances, SMALLEST)).max(axis=1)
        strength[V.any(axis=1)] = np.inf
        if self.rule is not None:
            strength[self.rule.must.any(axis=0)] = np.inf
        variables = np.sort(np.argsort(-strength, kind="stable")[:size])
        S = self.work.block(variables) / self.total
        rule = None if self.rule is None else self.rule.among(variables)
        shrinking = Shrinking(Dense(symmetric(S)), self.goal, EFFORTS[effort], self.rng, rule)
        shrunk_loadings = np.zeros_like(V)
        shrunk_loadings[variables] = shrinking.run(V[variables])
        return shrunk_loadings
