"""Backward elimination: a joint search at neighbouring cardinalities removes one nonzero at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.search.chains import distinct
from spcastat.search.climbing import LONG, SHORT, climbed, swept
from spcastat.search.component_order import reordered
from spcastat.search.criterion import Fits, joined
from spcastat.search.fixed_supports import refined
from spcastat.search.perturbed_fits import kicked
from spcastat.search.rule import SupportRule
from spcastat.search.small_matrices import ranked
from spcastat.search.sparsest_proposals import VALUED, WIDTH
from spcastat.search.symmetric_matrices import Moments
from spcastat.search.variance_target import TargetCriterion, VarianceTarget

#: Removal is tried for this many of the smallest loadings of a component.
TRIED = 30
#: Fits kept for each set of cardinalities.
KEPT = 2
#: Variables tried as an additional nonzero of a component.
ENTERING = 4


@dataclass(frozen=True)
class Patience:
    """How much is tried before the search for fewer nonzeros ends.

    Attributes
    ----------
    climbs : int
        Fits per set of cardinalities for which exchanges are tried.
    transfers : int
        Number of cardinalities tried that add one nonzero to a component and take two from others.
    kicks, rounds : int
        Perturbed fits per round, and rounds at each neighbouring set of cardinalities.
    neighbours : int
    """

    climbs: int
    transfers: int
    kicks: int
    rounds: int
    neighbours: int


#: effort -> patience.
PATIENCE = {
    "quick": Patience(0, 0, 0, 0, 0),
    "auto": Patience(2, 3, 8, 2, 4),
    "thorough": Patience(3, 8, 16, 6, 8),
}


@dataclass(eq=False)
class Held:
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
    patience : Patience
    rng : numpy Generator
    rule : SupportRule, optional
        The supports that are allowed.
    """

    def __init__(
        self,
        S: Moments,
        target: VarianceTarget,
        patience: Patience,
        rng: np.random.Generator,
        rule: SupportRule | None = None,
    ):
        self.S = S
        self.target = target
        self.patience = patience
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
            now = Held(now.criterion, fit)
        return now.criterion.dense(now.fit)[0]

    def criterion(self, cards: tuple[int, ...]) -> TargetCriterion:
        """Return the criterion for given cardinalities."""
        if cards not in self._criteria:
            self._criteria[cards] = TargetCriterion(self.S, cards, self.target).under(self.rule)
        return self._criteria[cards]

    def _held(self, V: np.ndarray) -> Held:
        given = (V != 0) | self.must.T  # forced loadings may be zero
        criterion = self.criterion(tuple(int(c) for c in np.count_nonzero(given, axis=0)))
        supports = [np.flatnonzero(column) for column in given.T]
        x = np.concatenate([V[J, i] for i, J in enumerate(supports)])
        fit = criterion.fits(np.concatenate(supports)[None], x[None])
        better = refined(criterion, fit, SHORT)
        return Held(criterion, better if criterion.holds(better)[0] else fit)

    def _fewer(self, now: Held) -> Held | None:
        """Return a fit with one nonzero less that reaches the target, or None."""
        tries = self._dropped(now)
        kept = _first(tries)
        if kept is not None or not self.patience.climbs:
            return kept
        climbed_ = [self._climbed(one.criterion, one.fit) for one in tries]
        kept = _first(climbed_)
        if kept is not None:
            return kept
        neighbours = climbed_ + self._transferred(now)
        kept = _first(neighbours)
        if kept is not None:
            return kept
        best: dict[tuple[int, ...], Held] = {}
        for one in sorted(neighbours, key=lambda one: -one.value):
            best.setdefault(one.criterion.cards, one)
        for one in list(best.values())[: self.patience.neighbours]:
            found = self._kicked(one)
            if found is not None:
                return found
        return None

    def _dropped(self, now: Held) -> list[Held]:
        """Return the best fit with one nonzero less in each component."""
        found = []
        for i, card in enumerate(now.criterion.cards):
            if card == max(1, self.must[i].sum()):
                continue
            cards = tuple(c - (j == i) for j, c in enumerate(now.criterion.cards))
            criterion = self.criterion(cards)
            part = now.criterion.parts[i]
            size = np.where(self.must[i][now.fit.places[0, part]], np.inf, np.abs(now.fit.x[0, part]))
            some = part.start + np.argsort(size, kind="stable")[: min(TRIED, card - self.must[i].sum())]
            stay = np.array([np.delete(np.arange(now.fit.x.shape[1]), one) for one in some])
            fits = refined(criterion, criterion.fits(now.fit.places[0][stay], now.fit.x[0][stay]), SHORT)
            fits = reordered(criterion, fits)
            count = max(self.patience.climbs, 1)
            found.append(Held(criterion, fits.some(distinct(fits.value, count))))
        return found

    def _climbed(self, criterion: TargetCriterion, fits: Fits) -> Held:
        fits = climbed(criterion, fits, WIDTH, VALUED)
        return Held(criterion, fits.some(np.argsort(-fits.value, kind="stable")[:KEPT]))

    def _grown(self, now: Held, i: int) -> Held | None:
        """Return the fit with one more nonzero in component i."""
        criterion, part = now.criterion, now.criterion.parts[i]
        if criterion.cards[i] >= criterion.m:
            return None
        pull = np.abs(criterion.pull(now.fit, i)[0])
        if self.rule is not None:
            pull = np.where(self.rule.open(i, criterion.used(now.fit, i)), pull, -1.0)
        np.put_along_axis(pull, now.fit.places[:, part], -1.0, axis=1)
        entering = ranked(pull, min(ENTERING, criterion.m - criterion.cards[i]))[0]
        entering = entering[pull[0, entering] >= 0.0]
        if not entering.size:
            return None
        larger = self.criterion(tuple(c + (j == i) for j, c in enumerate(criterion.cards)))
        places, x = now.fit.places[0], now.fit.x[0]
        at = [part.start + int(np.searchsorted(places[part], new)) for new in entering]
        added = [np.insert(places, where, new) for where, new in zip(at, entering, strict=True)]
        fits = larger.fits(np.array(added), np.array([np.insert(x, where, 0.0) for where in at]))
        fits = refined(larger, fits, SHORT)
        return self._climbed(larger, fits.some(distinct(fits.value, 1)))

    def _transferred(self, now: Held) -> list[Held]:
        """Return fits with one nonzero less in total, but one more in some component."""
        larger = [self._grown(now, i) for i in range(now.criterion.k)]
        some = sorted((one for one in larger if one is not None), key=lambda one: -one.value)
        found: list[Held] = []
        for one in some[: self.patience.transfers]:
            for _ in range(2):
                tries = self._dropped(Held(one.criterion, one.fit.some(slice(0, 1))))
                if not tries:
                    break
                one = max(tries, key=lambda held: held.value)
                one = self._climbed(one.criterion, one.fit)
            if len(one.criterion.owner) < len(now.criterion.owner):
                found.append(one)
                if one.kept:
                    break
        return found

    def _kicked(self, one: Held) -> Held | None:
        """Return a fit with the same cardinalities that reaches the target after perturbations, or None."""
        criterion, elite = one.criterion, one.fit
        for _ in range(self.patience.rounds):
            bases = elite.some(self.rng.integers(0, len(elite), size=self.patience.kicks))
            tried = kicked(criterion, bases, self.rng)
            tried = reordered(criterion, swept(criterion, tried, 6))
            tried = tried.some(distinct(tried.value, max(self.patience.climbs, 1)))
            tried = climbed(criterion, tried, WIDTH, VALUED)
            elite = joined([elite, tried])
            elite = elite.some(distinct(elite.value, 3))
            if criterion.holds(elite)[0]:
                return Held(criterion, elite)
        return None


def _first(tries: list[Held]) -> Held | None:
    """Return the best fit that reaches the target."""
    kept = [one for one in tries if one.kept]
    return max(kept, key=lambda one: one.value, default=None)
