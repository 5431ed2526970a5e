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


def with_products(V: np.ndarray, F: np.ndarray) -> WithProducts:
    """Return unit loadings V with their products F = S V, over the total variance."""
    return WithProducts(V, F, _triangle(V, F)[1])


def _triangle(V: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return triangle(symmetric(V.T @ F))


#: Share of the nonzeros that the first cut removes.
FIRST = 0.1


@dataclass(frozen=True, eq=False)
class Sweeps:
    """Sweeps over loadings that shall reach a target.

    Attributes
    ----------
    op : Operator
        Of p variables.
    target : VarianceTarget
    total : float
        The total variance of all variables, which may be more than those of `op`.
    rule : SupportRule, optional
        Its forced variables are included, and forbidden ones are not.
    """

    op: Operator
    target: VarianceTarget
    total: float
    rule: SupportRule | None = None

    def start(self, V: np.ndarray) -> WithProducts:
        """Return unit loadings with their products."""
        return with_products(V, self.op.dot(V) / self.total)

    def penalised(self, start: WithProducts, penalty: float, sweeps: int) -> WithProducts:
        """Return loadings after sweeps at one penalty, which is a share of the total variance.

        With a target for every component, variables below the penalty are included if the target is not
        reached without them. The sweeps end when the supports no longer change.
        """
        V, F = start.V.copy(), start.F.copy()
        for _ in range(sweeps):
            before = V != 0
            for i in range(self.target.k):
                self._update(V, F, i, penalty)
            if (before == (V != 0)).all():
                break
        return with_products(V, F)

    def _update(self, V: np.ndarray, F: np.ndarray, i: int, penalty: float) -> None:
        """Replace component i of V and F in place, by the rule in the module's docstring."""
        C, added = _triangle(V, F)
        size = max(float(added[i]), TINY)
        w = self.target.weights(added)
        pull = F @ (C @ (w * C[i])) / w[i]
        gain = pull**2 / size
        if not gain.any():
            return
        p, most = len(V), len(V)
        if self.rule is not None:
            gain = np.where(self.rule.must[i], np.inf, np.where(self.rule.may[i], gain, 0.0))
            most = int(self.rule.may[i].sum())
        count = int(np.count_nonzero(gain > penalty))
        order = np.argsort(-gain * (1.0 - TIE_TOLERANCE * np.arange(p) / p), kind="stable")
        if self.target.every:
            need = self.target.goals[i] - float(added[:i].sum())
            reached = np.cumsum((F @ C[:, i])[order] ** 2) / size
            count = max(count, int(np.searchsorted(reached, need)) + 1)
        J = order[: min(max(count, 1), most)]
        J = J[pull[J] != 0]
        V[:, i] = 0.0
        V[J, i] = pull[J] / np.linalg.norm(pull[J])
        F[:, i] = self.op.dot(V[:, i]) / self.total

    def polished(self, start: WithProducts, sweeps: int) -> WithProducts:
        """Optimise the loadings on the supports; return those of the sweep with the largest `room`."""
        V, F = start.V.copy(), start.F.copy()
        supports = V != 0
        best = start
        for _ in range(sweeps):
            for i in range(self.target.k):
                C, added = _triangle(V, F)
                w = self.target.weights(added)
                pull = np.where(supports[:, i], F @ (C @ (w * C[i])), 0.0)
                if pull.any():
                    V[:, i] = pull / np.linalg.norm(pull)
                    F[:, i] = self.op.dot(V[:, i]) / self.total
            found = with_products(V.copy(), F.copy())
            if room(self.target, found) > room(self.target, best):
                best = found
        return best

    def trimmed(self, fit: WithProducts) -> WithProducts:
        """Return a fit that reaches the target after removing loadings, but none that the rule forces.

        They are removed first from all components together, then from each.
        """
        every = list(range(self.target.k))
        for which in [every, *([i] for i in every)] if self.target.every else [every]:
            fit = self._cut(fit, which)
        return fit

    def _cut(self, fit: WithProducts, which: list[int]) -> WithProducts:
        """Remove loadings of some components until removing a single one misses the target."""
        count = max(1, int(FIRST * np.count_nonzero(fit.V[:, which])))
        for _ in range(60):
            fewer = self._without(fit, which, count)
            if fewer is None:
                return fit
            if not self.target.holds(fewer.added):
                fewer = self.polished(fewer, 4)
            if self.target.holds(fewer.added):
                fit = fewer
                count = min(2 * count, max(1, int(FIRST * np.count_nonzero(fit.V[:, which]))))
            elif count == 1:
                return fit
            else:
                count = max(1, count // 3)
        return fit

    def _without(self, fit: WithProducts, which: list[int], count: int) -> WithProducts | None:
        """Return the fit without the `count` loadings that contribute least; None if none can be removed.

        Each component keeps its largest loading and those that the rule forces.
        """
        removable = fit.V != 0
        removable[np.argmax(np.abs(fit.V), axis=0), np.arange(self.target.k)] = False
        removable[:, np.setdiff1d(np.arange(self.target.k), which)] = False
        if self.rule is not None:
            removable &= ~self.rule.must.T
        if not removable.any():
            return None
        brings = np.where(removable, np.abs(fit.V) * np.sqrt(np.maximum(fit.added, TINY)), np.inf)
        smallest = np.argsort(brings, axis=None, kind="stable")[: min(count, int(removable.sum()))]
        V = fit.V.copy()
        V.ravel()[smallest] = 0.0
        return self.start(V / np.linalg.norm(V, axis=0))


def room(target: VarianceTarget, fit: WithProducts) -> float:
    """Return the smallest margin over all targets, relative to the target; negative if one is missed."""
    over = target.kept(fit.added) / target.share - 1.0
    return float(over.min() if target.every else over[-1])


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


@dataclass(eq=False)
class Shrinking:
    """A search for fewer and fewer nonzeros.

    Attributes
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

    S: Moments
    target: VarianceTarget
    effort: Effort
    rng: np.random.Generator
    rule: SupportRule | None = None

    def __post_init__(self) -> None:
        no_rule = np.zeros((self.target.k, self.S.m), dtype=bool)
        self.must = no_rule if self.rule is None else self.rule.must
        self._criteria: dict[tuple[int, ...], TargetCriterion] = {}

    def run(self, V: np.ndarray) -> np.ndarray:
        """Return loadings, shape (m, k), with as few nonzeros as found; V must reach the target."""
        now = self._held(V)
        while (fewer := self._fewer(now)) is not None:
            now = fewer
        fit = refined(now.criterion, now.fit, LONG)
        if now.criterion.holds(fit)[0]:
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
        climbed = []
        for one in tries:
            fits = climb(one.criterion, one.fit, self.effort.width, self.effort.valued)
            best_two = np.argsort(-fits.value, kind="stable")[:2]
            climbed.append(FitAtCard(one.criterion, fits.some(best_two)))
        kept = _first(climbed)
        if kept is not None:
            return kept
        kicked = (self._kicked(one) for one in sorted(climbed, key=lambda one: -one.value))
        return next((one for one in kicked if one is not None), None)

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
