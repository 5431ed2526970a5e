"""The joint search for components with uncorrelated scores or orthogonal loadings.

Climbs maximise the objective minus a penalty on the constraint (`spcastat.search.penalised`), at several
levels: a weak penalty sees far, a strong one which supports can meet the constraint. The best ends are then
settled: variables are exchanged as long as that raises the value of loadings that meet the constraint to
rounding (`spcastat.search.exact_loadings`). Perturbed copies of the best fits follow until some rounds bring
no gain.

Levels and settings were measured on correlation matrices of 13 to 100 variables, with 3 to 6 components: a
search by chains took 60 % of the time, and found no better fits than more starts do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from spcastat.errors import ComponentsError
from spcastat.progress import stage
from spcastat.search import chains
from spcastat.search.climbing import EFFORTS, VALUE_TOLERANCE, climb
from spcastat.search.constraints import Constraint
from spcastat.search.criteria import Fits, SupportRule, join_fits
from spcastat.search.exact_loadings import ExactLoadings
from spcastat.search.matrices import ranked_entries
from spcastat.search.moves import trials
from spcastat.search.objectives import Objective
from spcastat.search.penalised import PenalisedCriterion

#: Levels of the penalty, in units of the value of one component.
LEVELS = (3.0, 10.0, 30.0)
#: Steps along the constraint after an exchange that is tried, and for the loadings of a fit.
TRIAL_STEPS, FIT_STEPS = 6, 200
#: Rounds of exchanges of all fits, after which only so many of the best are exchanged further.
ROUNDS_OF_ALL, RETAINED = 4, 8
#: The best fits that are perturbed in a round, and the best ends of a round that are settled.
PERTURBED_FITS, SETTLED_OF_ROUND = 4, 6
#: A gain of this share counts, of an exchange and of a round.
ROUND_GAIN = 1e-7


@dataclass(frozen=True)
class ConstraintSettings:
    """The settings of a search under a constraint.

    Attributes
    ----------
    starts : int
        Starts of the climbs at every level.
    settled : int
        The best ends of a level that are settled.
    exchanges : int
        Exchanges of a fit, the best by the penalised criterion, that are followed by loadings that meet the
        constraint.
    chains : bool
        Whether a search by chains at the lowest and at the highest level is settled, too.
    patience : int
        Rounds of perturbed fits without gain after which the search ends.
    kicks : int
        Perturbed fits of a round.
    """

    starts: int
    settled: int
    exchanges: int
    chains: bool
    patience: int
    kicks: int


#: effort -> settings.
SETTINGS = {
    "quick": ConstraintSettings(starts=24, settled=3, exchanges=6, chains=False, patience=0, kicks=0),
    "auto": ConstraintSettings(starts=80, settled=10, exchanges=8, chains=False, patience=5, kicks=16),
    "thorough": ConstraintSettings(starts=120, settled=12, exchanges=16, chains=True, patience=20, kicks=16),
}


@dataclass(frozen=True, eq=False)
class ConstrainedFit:
    """The best fit that the search found.

    Attributes
    ----------
    V : ndarray of shape (p, k)
    value : float
        The objective, as a share of the total variance.
    fits : int
        The number of settled fits.
    hits : int
        How many of them reached the best value.
    """

    V: np.ndarray
    value: float
    fits: int
    hits: int


def constrained(
    S: np.ndarray,
    cards: tuple[int, ...],
    constraint: Constraint,
    objective: Objective,
    effort: str = "auto",
    rng: np.random.Generator | None = None,
    starts: Sequence[np.ndarray] = (),
    rule: SupportRule | None = None,
) -> ConstrainedFit:
    """Search for the components that maximise the objective under a constraint.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix.
    cards : tuple of int
    constraint : Constraint
    objective : Objective
        One of those of the constraint.
    effort : {"quick", "auto", "thorough"}
    rng : numpy Generator, optional
        By default a generator with seed 0.
    starts : sequence of ndarray of shape (p, k)
        Loadings from which fits are settled, too. The result is never worse than one that meets the
        constraint.
    rule : SupportRule, optional

    Raises
    ------
    ComponentsError
        If no loadings of these cardinalities that meet the constraint were found.
    """
    search = _ConstrainedSearch(S, cards, constraint, objective, effort, rule)
    with stage("constrained search", unit="rounds") as advance:
        search.settle_ends(np.random.default_rng(0) if rng is None else rng, starts, lambda: advance(1))
    return search.result()


def nearest(
    S: np.ndarray,
    constraint: Constraint,
    objective: Objective,
    starts: Sequence[np.ndarray],
    fixed: bool,
    rule: SupportRule | None = None,
    cards: tuple[int, ...] | None = None,
) -> np.ndarray:
    """Return the best loadings under the constraint near given ones, shape (p, k).

    With `fixed` supports these stay; else single variables are exchanged. If the starts lead to no loadings
    that meet the constraint, a quick search follows.
    """
    if cards is None:
        cards = tuple(np.count_nonzero(starts[0], axis=0).tolist())
    search = _ConstrainedSearch(S, cards, constraint, objective, "quick", rule)
    fits = search.from_loadings(starts)
    if fixed:
        x, values, _ = search.loadings.best_loadings(fits.places, fits.x, FIT_STEPS)
        search.keep(fits.places, x, values)
    else:
        search.settle(fits)
    if not search.values:
        search.settle_ends(np.random.default_rng(0), starts, lambda: None)
    return search.result().V


@dataclass(eq=False)
class _ConstrainedSearch:
    """One search: its criteria by level, and the settled fits so far."""

    S: np.ndarray
    cards: tuple[int, ...]
    constraint: Constraint
    objective: Objective
    effort: str
    rule: SupportRule | None
    #: Places, loadings and values of the settled fits.
    places: list[np.ndarray] = field(default_factory=list)
    x: list[np.ndarray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.S = self.S / np.trace(self.S)
        self.settings, self.climbs = SETTINGS[self.effort], EFFORTS[self.effort]
        eigenvalues, vectors = np.linalg.eigh(self.S)
        self.vectors = vectors[:, ::-1][:, : min(2 * len(self.cards), len(self.S))]
        # products are covariances, inner products or correlations, and values are variances
        variances = self.constraint.of_scores and not self.objective.squares
        self.unit = 1.0 / eigenvalues[-1] if variances else eigenvalues[-1]
        self.criteria = [self._at(level) for level in LEVELS]
        self.loadings = ExactLoadings(self.S, self.cards, self.constraint, self.objective)

    @property
    def strict(self) -> PenalisedCriterion:
        """The criterion of the strongest penalty."""
        return self.criteria[-1]

    def from_loadings(self, starts: Sequence[np.ndarray]) -> Fits:
        """Return fits on the supports of the largest loadings."""
        return chains.from_directions(self.strict, list(starts))

    def result(self) -> ConstrainedFit:
        if not self.values:
            raise ComponentsError(
                f"constraint={self.constraint.name!r} was given with card={list(self.cards)}, and no such "
                f"components with {self.constraint.label} were found: give larger cards or fewer components. "
                "Cards of 1, 2, 3, ... or more always have them."
            )
        winner = int(np.argmax(self.values))
        V = np.zeros((len(self.S), len(self.cards)))
        V[self.places[winner], self.loadings.owner] = self.x[winner]
        hits = sum(value > self.values[winner] * (1.0 - VALUE_TOLERANCE) for value in self.values)
        return ConstrainedFit(V, self.values[winner], len(self.values), hits)

    def settle_ends(
        self, rng: np.random.Generator, starts: Sequence[np.ndarray], advance: Callable[[], None]
    ) -> None:
        """Settle the ends of climbs from all starts, and then of perturbed fits."""
        settings, climbs, ends = self.settings, self.climbs, []
        for criterion in self.criteria:
            pool = chains.pool(criterion, self.vectors, settings.starts, rng, deterministic=True)
            ends.append(self._distinct(climb(criterion, pool, climbs.width, climbs.valued), settings.settled))
        if settings.chains:
            for criterion in (self.criteria[0], self.strict):
                ends.append(chains.search(criterion, self.vectors, climbs, rng)[0])
        # one component after another, the later ones under the constraint with the earlier ones
        in_order = chains.greedy(self._at(1e3), 1, rng, plain=True)
        ends.append(climb(self.strict, self._at_strict_penalty(in_order), climbs.width, climbs.valued))
        if starts:
            ends.append(self.from_loadings(starts))
        self.settle(join_fits([self._at_strict_penalty(fits) for fits in ends]))
        without_gain = 0
        while self.values and without_gain < settings.patience:
            criterion = self.criteria[without_gain % len(LEVELS)]
            previous_value = max(self.values)
            advance()
            self.settle(self._perturbed(criterion, rng))
            without_gain = 0 if max(self.values) > previous_value * (1.0 + ROUND_GAIN) else without_gain + 1

    def _at(self, level: float) -> PenalisedCriterion:
        """Return the criterion of a level of the penalty."""
        arguments = self.S, self.cards, self.constraint, self.objective
        return PenalisedCriterion(*arguments, level * self.unit).under(self.rule)

    def _at_strict_penalty(self, fits: Fits) -> Fits:
        """Return the fits with the values of the strongest penalty."""
        return self.strict.fits(fits.places, fits.x)

    def _distinct(self, fits: Fits, count: int) -> Fits:
        return fits.subset(chains.distinct(fits.value, count))

    def _perturbed(self, criterion: PenalisedCriterion, rng: np.random.Generator) -> Fits:
        """Return the best ends of climbs from perturbed copies of the best fits."""
        settings, climbs = self.settings, self.climbs
        best_fits = chains.distinct(np.array(self.values), PERTURBED_FITS)
        indices = best_fits[rng.integers(len(best_fits), size=settings.kicks)]
        places, x = np.array(self.places)[indices], np.array(self.x)[indices]
        copies = criterion.fits(places, x)
        ends = climb(criterion, chains.perturb(criterion, copies, rng), climbs.width, climbs.valued)
        return self._at_strict_penalty(self._distinct(ends, SETTLED_OF_ROUND))

    def keep(self, places: np.ndarray, x: np.ndarray, values: np.ndarray) -> None:
        """Store the fits that meet the constraint."""
        for b in np.flatnonzero(np.isfinite(values)):
            self.places.append(places[b])
            self.x.append(x[b])
            self.values.append(float(values[b]))

    def settle(self, fits: Fits) -> None:
        """Exchange single variables, with loadings that meet the constraint, while that raises the value."""
        places = fits.places.copy()
        x, values, _ = self.loadings.best_loadings(places, fits.x, FIT_STEPS, rough=True)
        active = np.flatnonzero(np.isfinite(values))
        for exchange_round in count(1):
            if exchange_round > ROUNDS_OF_ALL:
                active = active[np.argsort(-values[active], kind="stable")[:RETAINED]]
            if not active.size:
                break
            trial_places, trial_x = self._exchanges(places[active], x[active])
            n, L, N = trial_places.shape
            if not L:
                break
            flat = trial_places.reshape(n * L, N), trial_x.reshape(n * L, N)
            new_x, new_values, _ = self.loadings.best_loadings(*flat, TRIAL_STEPS, rough=True)
            new_values = new_values.reshape(n, L)
            winners = new_values.argmax(axis=1)
            rows = np.arange(n)
            risen = new_values[rows, winners] > values[active] * (1.0 + ROUND_GAIN)
            at = active[risen]
            places[at] = trial_places[rows, winners][risen]
            x[at] = new_x.reshape(n, L, N)[rows, winners][risen]
            values[at] = new_values[rows, winners][risen]
            active = at
        final_x, final_values, _ = self.loadings.best_loadings(places, x, FIT_STEPS)
        is_better = final_values >= values
        self.keep(places, np.where(is_better[:, None], final_x, x), np.maximum(final_values, values))

    def _exchanges(self, places: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the most promising exchanges of each fit: places and loadings, shape (n, L, N)."""
        criterion, exchanges = self.strict, self.settings.exchanges
        fits = criterion.fits(places, x)
        all_places, all_x, all_values = [], [], []
        for i, part in enumerate(criterion.parts):
            new_places, new_x, values = trials(criterion, fits, i, criterion.m, exchanges)
            new_places, new_x, values = new_places[:, :-1], new_x[:, :-1], values[:, :-1]
            order = np.argsort(new_places, axis=2)
            L = values.shape[1]
            stacked = np.repeat(fits.places[:, None], L, axis=1)
            stacked[:, :, part] = np.take_along_axis(new_places, order, axis=2)
            all_places.append(stacked)
            stacked_x = np.repeat(fits.x[:, None], L, axis=1)
            stacked_x[:, :, part] = np.take_along_axis(new_x, order, axis=2)
            all_x.append(stacked_x)
            all_values.append(values)
        values = np.concatenate(all_values, axis=1)
        ranking = ranked_entries(values, min(exchanges, values.shape[1]))
        return (
            np.take_along_axis(np.concatenate(all_places, axis=1), ranking[:, :, None], axis=1),
            np.take_along_axis(np.concatenate(all_x, axis=1), ranking[:, :, None], axis=1),
        )
