"""One penalty for all loadings, the removal of one nonzero at a time, and a target share of PCA's variance.

For the target the search maximises a criterion whose maximisation reaches it.

With V unit loadings, V'SV = G and C of `spcastat.search.criteria.triangle`, the part of score i that
is uncorrelated with earlier scores has covariances S V C e_i with the variables, and

    z_ij^2 = ((S V C diag(w) C')_ji / w_i)^2 / r_i^2

is, to first order, the gain from including variable j in component i, where w are the weights of the adjusted
variances r_i^2. A sweep keeps the variables with z^2 above the penalty, with loadings proportional to z. If
the target after component i is not reached, further variables are added according to the cumulative sum of
squares: for a unit score x that is orthogonal to the earlier ones, loadings proportional to x'X_J have a
score whose part uncorrelated with the earlier ones has at least the variance sum_J (x'X_j)^2. The matrix S
itself is never formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.linalg.eigenvectors import symmetric
from spcastat.linalg.operators import Operator
from spcastat.measures import MEASURES
from spcastat.search.chains import distinct, perturb
from spcastat.search.climbing import LONG, SHORT, Effort, climb, sweep
from spcastat.search.criteria import Adjusted, Fits, SupportRule, joined, triangle
from spcastat.search.matrices import TIE_TOLERANCE, TINY, Moments
from spcastat.search.moves import refined, reordered, stationary

#: A shortfall of the share up to this counts as rounding.
REACHED = 1e-10
#: Weight of the total adjusted variance relative to the targets not yet reached.
SLACK = 0.05


@dataclass(frozen=True, eq=False)
class VarianceTarget:
    """A target share of PCA's variance, after every component or for all of them together.

    Attributes
    ----------
    share : float
        From 0, exclusive, to 1.
    every : bool
        Whether the share must be kept after every component, not only by all of them together.
    pca : ndarray of shape (k,)
        The leading eigenvalues as shares of the total variance.
    """

    share: float
    every: bool
    pca: np.ndarray

    @property
    def k(self) -> int:
        return len(self.pca)

    @property
    def goals(self) -> np.ndarray:
        """The adjusted variance needed after each component, shape (k,), less half of REACHED."""
        goals = (self.share - 0.5 * REACHED) * np.cumsum(self.pca)
        return goals if self.every else np.where(np.arange(self.k) == self.k - 1, goals, 0.0)

    def kept(self, added: np.ndarray) -> np.ndarray:
        """Return the share of PCA's variance after each component, shape (..., k), for adjusted variances."""
        return np.cumsum(added, axis=-1) / np.cumsum(self.pca)

    def holds(self, added: np.ndarray) -> np.ndarray:
        """Return whether adjusted variances, shape (..., k), reach the target."""
        return np.asarray((np.cumsum(added, axis=-1) >= self.goals).all(axis=-1))

    def reached(self, added: np.ndarray) -> np.ndarray:
        """Return how nearly the target is reached, shape (...,), for adjusted variances, shape (..., k).

        With f_i the adjusted variance of the first i components and g_i the target, this is
        (1 - a) mean of min(f_i / g_i, 1) + a f_k / g_k. The first term is largest where all targets are
        reached; the second then increases the margin. With a target for the total only, it is f_k / g_k.
        """
        parts = np.cumsum(added, axis=-1) / np.maximum(self.goals, TINY)
        if not self.every:
            return np.asarray(parts[..., -1])
        return np.asarray((1.0 - SLACK) * np.minimum(parts, 1.0).mean(axis=-1) + SLACK * parts[..., -1])

    def weights(self, added: np.ndarray) -> np.ndarray:
        """Return the weight of the adjusted variance of each component, shape (k,); the first is 1.

        A component counts towards the targets after it and after all later components, and a target weighs
        more the larger its shortfall.
        """
        if not self.every:
            return np.ones(self.k)
        over = self.kept(added) / self.share - 1.0
        # weights differ by a factor e where shares of the target differ by .005
        close = np.exp(-(over - over.min()) / 0.005)
        counts = np.cumsum(close[::-1])[::-1]
        return np.maximum(counts / counts[0], 1e-3)

    def measured(self, V: np.ndarray, op: Operator) -> np.ndarray:
        """Return the share after each component, shape (k,), from :mod:`spcastat.measures`."""
        return MEASURES["adjusted"](V, op) / np.cumsum(self.pca)

    def true(self, V: np.ndarray, op: Operator) -> bool:
        """Return whether loadings reach the target according to :mod:`spcastat.measures`."""
        kept = self.measured(V, op)
        return bool((kept if self.every else kept[-1:]).min() >= self.share - REACHED)


class TargetCriterion(Adjusted):
    """How nearly a target is reached: the mean attained share, plus a small multiple of the total."""

    def __init__(self, S: Moments, cards: tuple[int, ...], target: VarianceTarget):
        super().__init__(S, cards)
        self.target = target
        self.goals = np.maximum(target.goals, TINY)

    def holds(self, fits: Fits) -> np.ndarray:
        """Return which of the fits reach the target, shape (B,)."""
        return self.target.holds(self.added(fits.G))

    def _of(self, added: np.ndarray) -> np.ndarray:
        return self.target.reached(added)

    def _worth_at(self, G: np.ndarray) -> np.ndarray:
        return self._worth(self.added(G))

    def _worth(self, added: np.ndarray) -> np.ndarray:
        """Return the derivative of the value in each adjusted variance, shape (B, k)."""
        last = 1.0 / self.goals[-1]
        if not self.target.every:
            return np.full(added.shape, last)
        short = np.cumsum(added, axis=-1) < self.goals
        each = (1.0 - SLACK) / self.k * short / self.goals
        each[..., -1] += SLACK * last
        return np.cumsum(each[..., ::-1], axis=-1)[..., ::-1]


# --- one penalty for all loadings -----------------------------------------------------------------


@dataclass(eq=False)
class WithProducts:
    """Loadings and their products.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Unit loadings.
    F : ndarray of shape (p, k)
        S V over the total variance.
    added : ndarray of shape (k,)
        The adjusted variances, as shares of the total.
    """

    V: np.ndarray
    F: np.ndarray
    added: np.ndarray

    @property
    def nonzeros(self) -> int:
        return int(np.count_nonzero(self.V))


def with_products(op: Operator, V: np.ndarray, total: float) -> WithProducts:
    """Return unit loadings with their products; `total` is the total variance of all variables."""
    F = op.dot(V) / total
    return WithProducts(V, F, triangle(_gram(V, F))[1])


def _gram(V: np.ndarray, F: np.ndarray) -> np.ndarray:
    G = V.T @ F
    return symmetric(G)


def penalised(
    op: Operator,
    start: WithProducts,
    penalty: float,
    target: VarianceTarget,
    total: float,
    sweeps: int,
    extend: bool = True,
    rule: SupportRule | None = None,
) -> WithProducts:
    """Return loadings after sweeps at one penalty.

    Parameters
    ----------
    op : Operator
    start : WithProducts
    penalty : float
        The penalty, as a share of the total variance.
    target : VarianceTarget
    total : float
        The total variance.
    sweeps : int
        Number of sweeps at most; they end when the supports no longer change.
    extend : bool
        Whether variables below the penalty are included if the target is not reached without them.
    rule : SupportRule, optional
        Its forced variables are included, and forbidden ones are not.
    """
    V, F = start.V.copy(), start.F.copy()
    for _ in range(sweeps):
        before = V != 0
        for i in range(target.k):
            _update(op, V, F, i, penalty, target, total, extend, rule)
        if (before == (V != 0)).all():
            break
    return WithProducts(V, F, triangle(_gram(V, F))[1])


def _update(
    op: Operator,
    V: np.ndarray,
    F: np.ndarray,
    i: int,
    penalty: float,
    target: VarianceTarget,
    total: float,
    extend: bool,
    rule: SupportRule | None,
) -> None:
    """Replace component i of V and F in place, by the rule in the module's docstring."""
    C, added = triangle(_gram(V, F))
    alone = F @ C[:, i]
    size = max(float(added[i]), TINY)
    w = target.weights(added)
    pull = F @ (C @ (w * C[i])) / w[i]
    gain = pull**2 / size
    if not gain.any():
        return
    if rule is not None:
        gain = np.where(rule.must[i], np.inf, np.where(rule.may[i], gain, 0.0))
    count = int(np.count_nonzero(gain > penalty))
    order = np.argsort(-gain * (1.0 - TIE_TOLERANCE * np.arange(op.p) / op.p), kind="stable")
    if extend:
        need = target.goals[i] - float(added[:i].sum())
        reached = np.cumsum(alone[order] ** 2) / size
        count = max(count, int(np.searchsorted(reached, need)) + 1)
    J = order[: min(max(count, 1), op.p if rule is None else int(rule.may[i].sum()))]
    J = J[pull[J] != 0]
    v = np.zeros(op.p)
    v[J] = pull[J] / np.linalg.norm(pull[J])
    V[:, i] = v
    F[:, i] = op.dot(v) / total


def polished(
    op: Operator, start: WithProducts, target: VarianceTarget, total: float, sweeps: int
) -> WithProducts:
    """Optimise the loadings on the supports; return those of the sweep with the largest margin (`room`)."""
    V, F = start.V.copy(), start.F.copy()
    supports = V != 0
    best = start
    for _ in range(sweeps):
        for i in range(target.k):
            C, added = triangle(_gram(V, F))
            w = target.weights(added)
            pull = np.where(supports[:, i], F @ (C @ (w * C[i])), 0.0)
            if pull.any():
                V[:, i] = pull / np.linalg.norm(pull)
                F[:, i] = op.dot(V[:, i]) / total
        found = WithProducts(V.copy(), F.copy(), triangle(_gram(V, F))[1])
        if room(target, found) > room(target, best):
            best = found
    return best


def room(target: VarianceTarget, fit: WithProducts) -> float:
    """Return the smallest margin over all targets, relative to the target; negative if one is missed."""
    over = target.kept(fit.added) / target.share - 1.0
    return float(over.min() if target.every else over[-1])


#: Share of the nonzeros that the first cut removes.
FIRST = 0.1


def trimmed(
    op: Operator, fit: WithProducts, target: VarianceTarget, total: float, rule: SupportRule | None = None
) -> WithProducts:
    """Return the fit after removing loadings, first from all components together, then from each.

    Parameters
    ----------
    op : Operator
    fit : WithProducts
        Must reach the target.
    target : VarianceTarget
    total : float
        The total variance.
    rule : SupportRule, optional
        The loadings that it forces are kept.
    """
    fixed = None if rule is None else rule.must.T
    fit = _cut(op, fit, target, total, np.arange(target.k), fixed)
    if target.every:
        for i in range(target.k):
            fit = _cut(op, fit, target, total, np.array([i]), fixed)
    return fit


def _cut(
    op: Operator,
    fit: WithProducts,
    target: VarianceTarget,
    total: float,
    which: np.ndarray,
    fixed: np.ndarray | None,
) -> WithProducts:
    """Remove loadings of some components until removing a single one misses the target."""
    count = max(1, int(FIRST * np.count_nonzero(fit.V[:, which])))
    for _ in range(60):
        fewer = _without(op, fit, total, which, count, fixed)
        if fewer is None:
            return fit
        if not target.holds(fewer.added):
            fewer = polished(op, fewer, target, total, 4)
        if target.holds(fewer.added):
            fit = fewer
            count = min(2 * count, max(1, int(FIRST * np.count_nonzero(fit.V[:, which]))))
        elif count == 1:
            return fit
        else:
            count = max(1, count // 3)
    return fit


def _without(
    op: Operator,
    fit: WithProducts,
    total: float,
    which: np.ndarray,
    count: int,
    fixed: np.ndarray | None = None,
) -> WithProducts | None:
    """Return the fit without the `count` loadings that contribute least.

    Each component keeps its largest loading and those that are `fixed`, shape (p, k).
    """
    size = np.sqrt(np.maximum(fit.added, TINY))
    brings = np.abs(fit.V) * size
    brings[fit.V == 0] = np.inf
    if fixed is not None:
        brings[fixed] = np.inf
    brings[np.argmax(np.abs(fit.V), axis=0), np.arange(fit.V.shape[1])] = np.inf
    rest = np.full(fit.V.shape[1], True)
    rest[which] = False
    brings[:, rest] = np.inf
    there = np.count_nonzero(np.isfinite(brings))
    if there == 0:
        return None
    smallest = np.argsort(brings, axis=None, kind="stable")[: min(count, there)]
    V = fit.V.copy()
    V.ravel()[smallest] = 0.0
    V /= np.linalg.norm(V, axis=0)
    return with_products(op, V, total)


# --- one nonzero less -----------------------------------------------------------------------------


@dataclass(eq=False)
class FitAtCard:
    """A fit and the criterion for its cardinalities."""

    criterion: TargetCriterion
    fit: Fits

    @property
    def value(self) -> float:
        return float(self.fit.value[0])

    @property
    def kept(self) -> bool:
        """Whether the fit reaches the target."""
        return bool(self.criterion.holds(self.fit)[0])


class Shrinking:
    """A search for fewer and fewer nonzeros.

    Parameters
    ----------
    S : Moments
        The covariance matrix over the total variance.
    target : VarianceTarget
    effort : Effort
        Without `kicks`, single nonzeros are removed, and no exchanges are tried.
    rng : numpy Generator
    rule : SupportRule, optional
        The supports that are allowed.
    """

    def __init__(
        self,
        S: Moments,
        target: VarianceTarget,
        effort: Effort,
        rng: np.random.Generator,
        rule: SupportRule | None = None,
    ):
        self.S = S
        self.target = target
        self.effort = effort
        self.rng = rng
        self.rule = rule
        self.must = np.zeros((target.k, S.m), dtype=bool) if rule is None else rule.must
        self._criteria: dict[tuple[int, ...], TargetCriterion] = {}

    def run(self, V: np.ndarray) -> np.ndarray:
        """Return loadings, shape (m, k), with as few nonzeros as found; V must reach the target."""
        now = self._held(V)
        while True:
            fewer = self._fewer(now)
            if fewer is None:
                break
            now = fewer
        fit = refined(now.criterion, now.fit, LONG)
        if bool(now.criterion.holds(fit)[0]):
            now = FitAtCard(now.criterion, fit)
        # Where every target is exceeded, the total adjusted variance alone is maximised. Its stationary point
        # does not depend on the rounding of the search.
        total = Adjusted(self.S, now.criterion.cards)
        exact = stationary(total, total.fits(now.fit.places, now.fit.x))
        return now.criterion.dense(exact if now.criterion.holds(exact)[0] else now.fit)[0]

    def criterion(self, cards: tuple[int, ...]) -> TargetCriterion:
        """Return the criterion for given cardinalities."""
        if cards not in self._criteria:
            self._criteria[cards] = TargetCriterion(self.S, cards, self.target).under(self.rule)
        return self._criteria[cards]

    def _held(self, V: np.ndarray) -> FitAtCard:
        given = (V != 0) | self.must.T  # forced loadings may be zero
        criterion = self.criterion(tuple(int(c) for c in np.count_nonzero(given, axis=0)))
        supports = [np.flatnonzero(column) for column in given.T]
        x = np.concatenate([V[J, i] for i, J in enumerate(supports)])
        fit = criterion.fits(np.concatenate(supports)[None], x[None])
        better = refined(criterion, fit, SHORT)
        return FitAtCard(criterion, better if criterion.holds(better)[0] else fit)

    def _fewer(self, now: FitAtCard) -> FitAtCard | None:
        """Return a fit with one nonzero less that reaches the target, or None."""
        tries = self._dropped(now)
        kept = _first(tries)
        if kept is not None or not self.effort.kicks:
            return kept
        climbed_ = [self._climbed(one.criterion, one.fit) for one in tries]
        kept = _first(climbed_)
        if kept is not None:
            return kept
        best = sorted(climbed_, key=lambda one: -one.value)
        kicked_ = (self._kicked(one) for one in best)
        return next((one for one in kicked_ if one is not None), None)

    def _dropped(self, now: FitAtCard) -> list[FitAtCard]:
        """Return, for each component, the best fits with one nonzero less in this component."""
        found = []
        for i, card in enumerate(now.criterion.cards):
            if card == max(1, self.must[i].sum()):
                continue
            cards = tuple(c - (j == i) for j, c in enumerate(now.criterion.cards))
            criterion = self.criterion(cards)
            part = now.criterion.parts[i]
            size = np.where(self.must[i][now.fit.places[0, part]], np.inf, np.abs(now.fit.x[0, part]))
            some = part.start + np.argsort(size, kind="stable")[: min(30, card - self.must[i].sum())]
            stay = np.array([np.delete(np.arange(now.fit.x.shape[1]), one) for one in some])
            fits = refined(criterion, criterion.fits(now.fit.places[0][stay], now.fit.x[0][stay]), SHORT)
            fits = reordered(criterion, fits)
            found.append(FitAtCard(criterion, fits.some(distinct(fits.value, self.effort.climbs // 2))))
        return found

    def _climbed(self, criterion: TargetCriterion, fits: Fits) -> FitAtCard:
        fits = climb(criterion, fits, self.effort.width, self.effort.valued)
        return FitAtCard(criterion, fits.some(np.argsort(-fits.value, kind="stable")[:2]))

    def _kicked(self, one: FitAtCard) -> FitAtCard | None:
        """Return a fit with the same cardinalities that reaches the target after perturbations, or None."""
        criterion, elite = one.criterion, one.fit
        for _ in range(self.effort.rounds // 4):
            bases = elite.some(self.rng.integers(0, len(elite), size=self.effort.kicks))
            tried = perturb(criterion, bases, self.rng)
            tried = reordered(criterion, sweep(criterion, tried, self.effort.sweeps))
            tried = tried.some(distinct(tried.value, self.effort.climbs // 2))
            tried = climb(criterion, tried, self.effort.width, self.effort.valued)
            elite = joined([elite, tried])
            elite = elite.some(distinct(elite.value, 3))
            if criterion.holds(elite)[0]:
                return FitAtCard(criterion, elite)
        return None


def _first(tries: list[FitAtCard]) -> FitAtCard | None:
    """Return the best fit that reaches the target."""
    kept = [one for one in tries if one.kept]
    return max(kept, key=lambda one: one.value, default=None)
