"""Backward elimination: a joint search at neighbouring cardinalities removes one nonzero at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.search.adjusted_variance import Adjusted
from spcastat.search.chains import distinct
from spcastat.search.climbing import LONG, SHORT, climbed, swept
from spcastat.search.component_order import reordered
from spcastat.search.criterion import Fits, joined
from spcastat.search.fixed_supports import refined
from spcastat.search.newton_ascent import stationary
from spcastat.search.perturbed_fits import kicked
from spcastat.search.rule import SupportRule
from spcastat.search.settings import Effort
from spcastat.search.symmetric_matrices import Moments
from spcastat.search.variance_target import TargetCriterion, VarianceTarget


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
            now = Held(now.criterion, fit)
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
        if kept is not None or not self.effort.kicks:
            return kept
        climbed_ = [self._climbed(one.criterion, one.fit) for one in tries]
        kept = _first(climbed_)
        if kept is not None:
            return kept
        best = sorted(climbed_, key=lambda one: -one.value)
        kicked_ = (self._kicked(one) for one in best)
        return next((one for one in kicked_ if one is not None), None)

    def _dropped(self, now: Held) -> list[Held]:
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
            found.append(Held(criterion, fits.some(distinct(fits.value, self.effort.climbs // 2))))
        return found

    def _climbed(self, criterion: TargetCriterion, fits: Fits) -> Held:
        fits = climbed(criterion, fits, self.effort.width, self.effort.valued)
        return Held(criterion, fits.some(np.argsort(-fits.value, kind="stable")[:2]))

    def _kicked(self, one: Held) -> Held | None:
        """Return a fit with the same cardinalities that reaches the target after perturbations, or None."""
        criterion, elite = one.criterion, one.fit
        for _ in range(self.effort.rounds // 4):
            bases = elite.some(self.rng.integers(0, len(elite), size=self.effort.kicks))
            tried = kicked(criterion, bases, self.rng)
            tried = reordered(criterion, swept(criterion, tried, self.effort.sweeps))
            tried = tried.some(distinct(tried.value, self.effort.climbs // 2))
            tried = climbed(criterion, tried, self.effort.width, self.effort.valued)
            elite = joined([elite, tried])
            elite = elite.some(distinct(elite.value, 3))
            if criterion.holds(elite)[0]:
                return Held(criterion, elite)
        return None


def _first(tries: list[Held]) -> Held | None:
    """Return the best fit that reaches the target."""
    kept = [one for one in tries if one.kept]
    return max(kept, key=lambda one: one.value, default=None)
