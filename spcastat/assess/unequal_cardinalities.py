"""Unequal cardinalities: one component at a time is given a new cardinality, until none changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from spcastat.assess.candidates import (
    BARE_MENTION,
    CRITERIA,
    LEAST_KEPT,
    WORTH,
    Candidates,
    CardinalitySet,
    Errors,
    Limit,
    by_ebic,
    by_errors,
    choose,
)
from spcastat.assess.folds import FEW, HeldMoments, HeldOutRows, SparseModel, batched_press
from spcastat.linalg.operators import Operator
from spcastat.progress import stage
from spcastat.search.default import GRAM_LIMIT

#: The search ends after this many sets of cardinalities.
MOST_SETS = 200
#: Steps along the grid, in both directions, that are tried for a component.
STEPS = (0, 1, 2)


class Unequal:
    """The search for a cardinality of each component, starting from given cardinalities.

    Every set of cardinalities is fitted to all rows and without each fold, starting from the present fit to
    the same rows and from the fit with the previous cardinality.

    Parameters
    ----------
    found : Candidates
        Must contain the fit of `start`.
    start : tuple of k ints
    by : {"cv", "ebic"}
    rule : str
        See :func:`spcastat.assess.candidates.by_errors`.
    dense : float
        The share of loadings with the best prediction among equal cardinalities.
    explained : float
        The share of the variance that the best equal cardinality explains.

    Attributes
    ----------
    card : tuple of k ints
        The choice.
    tried : int
        Number of sets of cardinalities fitted.
    """

    def __init__(
        self, found: Candidates, start: CardinalitySet, by: str, rule: str, dense: float, explained: float
    ):
        self.found, self.by, self.card = found, by, start
        self.rule = "paired" if by == "cv" and rule == "1se" else rule
        # `Limit.share` for single components: with WORTH, components of five items would get small loadings
        # on other items
        self.limit = Limit(found.cells, dense, nested=True, share=0.25, least=LEAST_KEPT * explained)
        solver = found.fitter.solver
        self.supports = None if solver is None else solver.rule(found.op.p, len(start))
        self.fits: dict[CardinalitySet, list[np.ndarray]] = {}
        self.press: dict[CardinalitySet, np.ndarray] = {}
        # the operators of all rows, and of the rows outside each fold
        self.ops = [found.op, *(op for op, _ in self._parted)]
        self._fit([start], [found.fits[start]] * len(self.ops))

    @cached_property
    def _parted(self) -> list[tuple[Operator, HeldOutRows]]:
        folds = self.found.folds
        if self.by != "cv" or folds is None:
            return []
        return [folds.split(number) for number in range(folds.count * folds.repeats)]

    @cached_property
    def _moments(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The covariance matrices outside the folds, and the cross-products inside, for few variables."""
        p, parted = self.found.op.p, self._parted
        complete = all(isinstance(held, HeldMoments) for _, held in parted)
        if not parted or not complete or p > FEW or self.found.fitter.groups(p) is not None:
            return None
        every = np.arange(p)
        blocks = [held.block(every) for _, held in parted if isinstance(held, HeldMoments)]
        return np.stack([op.block(every) for op, _ in parted]), np.stack(blocks)

    def search(self, grid: list[int]) -> CardinalitySet:
        """Change one cardinality at a time until none changes or MOST_SETS were tried; return the result.

        The sizes tried depend on the present one, so that two sets may each prefer the other; then the set
        with fewer loadings is kept.

        Parameters
        ----------
        grid : list of int
        """
        self.least = min(grid)  # a single loading is the reference, but may not be among the candidates
        grid = sorted({1, *grid})
        k, unchanged, number, seen = len(self.card), 0, 0, {self.card}
        with stage("unequal cardinalities", MOST_SETS, "sets") as advance:
            while unchanged < k:
                j, before = number % k, len(self.fits)
                sizes = sorted({1, self.least, *near(grid, self.card[j])})
                tried = [(*self.card[:j], card, *self.card[j + 1 :]) for card in sizes]
                allowed = [card for card in tried if self.supports is None or self.supports.feasible(card)]
                chosen = self._chosen(allowed, j)
                if chosen in seen:
                    unchanged, number = unchanged + 1, number + 1
                    self.card = min(self.card, chosen, key=sum)
                else:
                    unchanged, self.card = 0, chosen
                    seen.add(chosen)
                advance(len(self.fits) - before)
                if len(self.fits) >= MOST_SETS:
                    break
        return self.card

    def _chosen(self, tried: Sequence[CardinalitySet], j: int) -> CardinalitySet:
        """Return the cardinalities that the rule prefers among those that differ in component j only."""
        sizes = [card[j] for card in tried]
        if new := [card for card in tried if card not in self.fits]:
            self._fit(new, self.fits[self.card])
        if self.by == "cv":
            errors = self.errors(tried)
            place = by_errors(errors, sizes, self.rule, self.limit)[0]
            values = errors.error[: len(sizes)]
        else:
            for card in tried:
                self.found.keep(card, self.fits[card][0])
            values, error = self._criteria(tried)
            place = by_ebic(values, error, sizes, self.rule, self.limit)[0]
        place = max(place, sum(size < self.least for size in sizes))
        return tried[unless_alone(place, values, sizes)]

    def _fit(self, cards: Sequence[CardinalitySet], near: Sequence[np.ndarray]) -> None:
        """Fit sets of cardinalities to all rows and without each fold, starting from loadings for each."""
        groups, starts = self.found.fitter.groups(self.found.op.p), [[[V] for V in near]] * len(cards)
        every = self.found.fitter.fits(self.ops, cards, starts, ordered=True)
        self.fits.update(zip(cards, every, strict=True))
        if self._moments is not None:
            press = batched_press(np.array([fits[1:] for fits in every]), *self._moments)
            self.press.update(zip(cards, press, strict=True))
            return
        for card, fits in zip(cards, every, strict=True):
            folds = zip(fits[1:], self._parted, strict=True)
            errors = [held.press([SparseModel.of(V, op, groups)])[0] for V, (op, held) in folds]
            self.press[card] = np.array(errors)

    def errors(self, cards: Sequence[CardinalitySet]) -> Errors:
        """Return the errors of fitted sets."""
        dense = self.found.dense_errors
        assert dense is not None
        shape = dense.mean.shape
        press = np.stack([self.press[card].reshape(shape) for card in cards], axis=2)
        return replace(dense, press=press)

    def _criteria(self, cards: Sequence[CardinalitySet]) -> tuple[np.ndarray, np.ndarray]:
        """Return the EBIC and the in-sample errors of candidates."""
        values = [self.found.criterion("ebic", card) for card in cards]
        return np.array(values), np.array([self.found.apparent(card) for card in cards])

    def preferred(self, start: CardinalitySet) -> bool:
        """Return whether the final choice is preferred to equal cardinalities.

        It is preferred if it predicts better by more than one standard error with no more loadings; if it has
        more loadings that are worth adding; or if it has clearly fewer, and the further ones of the equal
        cardinalities are not worth adding.
        """
        both = [start, self.card]
        sizes = [sum(card) for card in both]
        limit = replace(self.limit, nested=False)
        if self.by == "cv":
            if self.card in self.fits:
                self.found.add([self.card], self.fits[self.card][0])
            errors = self.found.errors(both)
            error, surely = errors.error[:2], errors.surely(2)
        else:
            values, error = self._criteria(both)
            surely = values[:, None] - values > BARE_MENTION
        passed = limit.passed(error, surely, np.array(sizes), 0)
        if sizes[1] > sizes[0]:
            return bool(passed[1] and not passed[0])
        # Unequal cardinalities that predict no better must save a tenth of the loadings
        return bool(surely[0, 1] or (passed[1] and sizes[1] <= 0.9 * sizes[0]))

    def final(self) -> CardinalitySet:
        """Sort the components by their variances in the final fit, and add the choice to the candidates.

        Components keep their places if a rule treats them differently.
        """
        found, V = self.found, self.fits[self.card][0]
        placed = self.supports is not None and len(set(self.supports.kinds([0] * found.fitter.k))) > 1
        for quick in (True, False, False):  # the fit depends on the order
            order = np.argsort(-np.diag(found.op.products(V)) * (not placed), kind="stable")
            self.card = tuple(self.card[j] for j in order)
            V = found.search(self.card, quick).solution.V
        found.add([self.card], V)
        found.keep(self.card, V)
        return self.card


def near(grid: Sequence[int], card: int) -> list[int]:
    """Return sizes of a grid: a few steps from `card`, and smaller ones at halves of its place."""
    at = grid.index(card)
    places = {at + step for step in STEPS} | {at - step for step in STEPS} | {at // 2, at // 4, 1}
    return [grid[i] for i in sorted(places) if 0 <= i < len(grid)]


def unless_alone(place: int, values: np.ndarray, sizes: Sequence[int]) -> int:
    """Return the choice, or the next larger size if the choice is one variable that does not stand alone.

    A variable stands alone if its component predicts no better with a second variable.

    Parameters
    ----------
    place : int
        The choice among m sizes.
    values : ndarray of shape (m,)
        The errors, or another criterion of which smaller values are better.
    sizes : sequence of m ints
        The cardinalities of one component, ascending.
    """
    alone = sizes[place] > 1 or place + 1 == len(sizes) or values[place + 1] >= values[place]
    return place if alone else place + 1


@dataclass(frozen=True)
class Selected:
    """A choice among candidates.

    Attributes
    ----------
    keys : list
        Labels of the candidates in the table: a number, or a tuple for unequal cardinalities.
    cards : list of tuples of k ints
    place, best, equal : int
        Indices of the choice, of the best value, and of the choice among equal cardinalities.
    tried : int
        Number of sets of unequal cardinalities tried; 0 without that search.
    price : float
        Required improvement per further loading under the rule "worth", as a share of the mean improvement
        per loading.
    readings : dict
        The best equal cardinality by each available criterion.
    by_division : tuple
        The equal cardinality by the same rule for every division into folds; empty for other criteria.
    """

    keys: list[Any]
    cards: list[CardinalitySet]
    place: int
    best: int
    equal: int
    tried: int
    price: float
    readings: dict[str, Any]
    by_division: tuple[Any, ...] = ()


def select(
    found: Candidates,
    keys: list[Any],
    cards: list[CardinalitySet],
    by: str,
    rule: str,
    each: str,
    share: float,
) -> Selected:
    """Choose among fitted candidates and, if requested, among unequal cardinalities.

    Parameters
    ----------
    found, cards, by, rule, share
        See :func:`spcastat.assess.candidates.choose`.
    keys : list
        See :class:`Selected`.
    each : {"auto", "equal", "free"}
        With "auto", unequal cardinalities are tried under the rule "worth" for up to GRAM_LIMIT variables,
        and chosen if preferred.
    """
    place, best = choose(found, cards, by, rule, share)
    if by in ("cv", "ebic") and rule == "worth" and not any(isinstance(key, tuple) for key in keys):
        values = found.values(by, cards)
        place = unless_alone(place, values, [card[0] for card in cards])
    dense = 1.0
    if by in ("cv", "ebic"):
        dense = sum(cards[choose(found, cards, by, "paired", share)[0]]) / found.cells
    unknown = {"bic", *(["cv"] if found.folds is None else []), *(["ebic"] if found.n is None else [])}
    known = [one for one in CRITERIA if one not in unknown]
    readings = {one: keys[choose(found, cards, one, "min", share)[0]] for one in known}
    plain = not any(isinstance(key, tuple) for key in keys)
    divisions = found.folds.repeats if by == "cv" and plain and found.folds is not None else 0
    alone = tuple(keys[found.of_division(cards, rule, i)] for i in range(divisions))
    equal = Selected(keys, cards, place, best, place, 0, WORTH * np.sqrt(dense), readings, alone)
    may = by in ("cv", "ebic") and rule == "worth" and plain and len(keys) > 1
    if each == "equal" or found.fitter.k == 1 or (each == "auto" and not (may and found.op.p <= GRAM_LIMIT)):
        return equal
    error = found.values("cv", cards) if by == "cv" else np.array([found.apparent(card) for card in cards])
    unequal = Unequal(found, cards[place], by, rule, dense, 1.0 - float(error.min()))
    unequal.search([card[0] for card in cards])
    if each == "auto" and not unequal.preferred(cards[place]):
        return replace(equal, tried=len(unequal.fits))
    card = unequal.final()
    # the final fit may be another one than that of the search
    if each == "auto" and not unequal.preferred(cards[place]):
        return replace(equal, tried=len(unequal.fits))
    if card not in cards:
        keys, cards = [*keys, card], [*cards, card]
    best = choose(found, cards, by, "min", share)[1]
    place = best if rule == "min" else unbeaten(found, cards, cards.index(card), by)
    return replace(equal, keys=keys, cards=cards, place=place, best=best, tried=len(unequal.fits))


def unbeaten(found: Candidates, cards: list[CardinalitySet], place: int, by: str) -> int:
    """Return the choice, or the best candidate with no more loadings that is clearly better, if there is one.

    A search that changes one cardinality at a time may end in a set that equal cardinalities beat.

    Parameters
    ----------
    found : Candidates
    cards : list of tuples of k ints
    place : int
        The choice.
    by : {"cv", "ebic"}
    """
    values, sizes = found.values(by, cards), np.array([sum(card) for card in cards])
    surely = values[:, None] - values > BARE_MENTION
    if by == "cv":
        surely = found.errors(cards).surely(len(cards))
    while (better := np.flatnonzero(surely[place] & (sizes <= sizes[place]))).size:
        place = int(better[np.argmin(values[better])])
    return place
