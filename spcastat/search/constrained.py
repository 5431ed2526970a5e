"""The joint search for components with uncorrelated scores or orthogonal loadings.

Climbs maximise the objective minus a penalty on violations of the constraint (`PenalisedCriterion`), at
several levels of the penalty: with a weak penalty they reach distant supports, with a strong one they find
supports that can meet the constraint. The best ends are then settled: variables are exchanged as long as this
raises the value of loadings that meet the constraint up to rounding (`spcastat.search.exact_loadings`), in
the order of a second-order approximation of their values (`spcastat.search.exact_exchanges`). The search
continues from perturbed copies of the best fits or, if few loadings meet the constraint, from exchanges of
the best fits, until some rounds bring no gain. Searches for many orthogonal components are restarted until
two agree. At the end, many more exchanges of the best fits are tried.

Levels and settings were measured on correlation matrices of 13 to 100 variables, with 3 to 6 components
(``python -m benchmarks.constraints``). The exchanges at the end are worth their time: for six orthogonal
components of the pitprops data with four variables each, they raised the value from 82.41 or 82.50 to 82.67 %
for three of six seeds. New starts gain more than further rounds: 20 more rounds from a fit with 82.25 %
brought no gain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from spcastat.errors import ComponentsError
from spcastat.progress import stage
from spcastat.search import chains, matrices
from spcastat.search.climbing import EFFORTS, VALUE_TOLERANCE, climb
from spcastat.search.constraints import Constraint
from spcastat.search.criteria import Blocks, Criterion, Expansion, Fits, SupportRule, join_fits
from spcastat.search.exact_exchanges import best_exchanges
from spcastat.search.exact_loadings import ExactLoadings
from spcastat.search.objectives import Objective

#: Levels of the penalty, in units of the value of one component.
LEVELS = (3.0, 10.0, 30.0)
#: The number of steps along the constraint after each exchange that is tried; the number of the best
#: exchanges of a fit that take further steps, and of these steps; and the number of steps for the loadings of
#: a fit. Ten exchanges then take no more steps than five that take all three steps.
FIRST_STEPS, FINALISTS, MORE_STEPS, FIT_STEPS = 1, 2, 2, 200
#: The number of the best fits that are perturbed in a round.
PERTURBED_FITS = 4
#: The number of the best fits for which many more exchanges are tried at the end. If few loadings meet the
#: constraint, this improved none of eleven searches.
LAST_FITS = 4
#: If few loadings meet the constraint, climbs from perturbed fits rarely lead to supports on which it can be
#: met. Rounds then settle exchanges of TIGHT_FITS of the best fits, and the number of exchanges compared for
#: each fit is divided by TIGHT_SHARE. Six components of the pitprops data with four variables each reached
#: 68.62 to 68.67 % with four seeds (68.40 % with perturbed fits, 66.51 to 66.71 % with twice the exchanges).
TIGHT_FITS, TIGHT_SHARE = 2, 2
#: For least squares, whose unconstrained search takes longer, the number of rounds without gain is multiplied
#: by TIGHT_ROUNDS, and half as many exchanges are settled for each of twice as many fits: 86.18 to 86.26 %
#: instead of 85.92 to 86.26 %.
TIGHT_ROUNDS = 3
#: For orthogonal loadings, starts, settled ends and rounds without gain are multiplied by this number; the
#: unconstrained search, for PEV, takes three to six times as long as a search for adjusted variance.
LONGER = 2
#: With MANY_COMPONENTS or more orthogonal components there are more local optima: searches are restarted
#: until AGREEING of them agree, with START_MULTIPLE times the starts, KICK_MULTIPLE times the perturbed fits
#: of a round, and half the rounds without gain. For six components of the pitprops data with four variables
#: each, all of six seeds ended at the best known value; with twice the rounds and two thirds of the perturbed
#: fits, four did, in 1.4 times the time.
MANY_COMPONENTS, AGREEING, START_MULTIPLE, KICK_MULTIPLE = 4, 2, 4, 3
#: The smallest relative gain of an exchange or of a round that counts as a gain.
ROUND_GAIN = 1e-7


@dataclass(frozen=True)
class ConstraintSettings:
    """The settings of a search under a constraint.

    Attributes
    ----------
    starts : int
        Number of starts of climbs at every level.
    settled : int
        Number of the best ends at each level that are settled.
    exchanges : int
        Number of exchanges of a fit, the best to second order, for which loadings that meet the constraint
        are computed.
    last_exchanges : int
        The same number for the best fits at the end.
    neighbours : int
        Number of exchanges of each of the best fits that are settled if few loadings meet the constraint.
    patience : int
        Number of rounds without gain after which a search ends.
    kicks : int
        Number of perturbed fits in a round at every level.
    searches : int
        Largest number of searches.
    """

    starts: int
    settled: int
    exchanges: int
    last_exchanges: int
    neighbours: int
    patience: int
    kicks: int
    searches: int

    def of(self, constraint: Constraint, k: int, is_tight: bool) -> ConstraintSettings:
        """Return the settings for k components under a constraint."""
        if constraint.of_scores:
            exchanges = self.exchanges // TIGHT_SHARE if is_tight else self.exchanges
            return replace(self, exchanges=exchanges, searches=1)
        if k < MANY_COMPONENTS:
            starts, patience = LONGER * self.starts, LONGER * self.patience
            return replace(self, starts=starts, settled=LONGER * self.settled, patience=patience, searches=1)
        return replace(
            self,
            starts=START_MULTIPLE * self.starts,
            settled=LONGER * self.settled,
            patience=self.patience // 2,
            kicks=KICK_MULTIPLE * self.kicks,
        )


#: effort -> settings.
SETTINGS = {
    "quick": ConstraintSettings(
        starts=8, settled=2, exchanges=10, last_exchanges=0, neighbours=0, patience=0, kicks=0, searches=1
    ),
    "auto": ConstraintSettings(
        starts=12, settled=3, exchanges=10, last_exchanges=50, neighbours=15, patience=2, kicks=8, searches=3
    ),
    "thorough": ConstraintSettings(
        starts=60,
        settled=8,
        exchanges=32,
        last_exchanges=200,
        neighbours=50,
        patience=10,
        kicks=16,
        searches=4,
    ),
}


#: The supports of a fit, in any order.
Supports = tuple[bytes, ...]


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
        The number of settled fits that reached the best value.
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
    bound: float = np.inf,
) -> ConstrainedFit:
    """Search for the components that maximise the objective under a constraint.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix.
    cards : tuple of int
    constraint : Constraint
    objective : Objective
        One of the objectives of the constraint.
    effort : {"quick", "auto", "thorough"}
    rng : numpy Generator, optional
        By default a generator with seed 0.
    starts : sequence of ndarray of shape (p, k)
        Loadings from which the search also settles fits. The result is never worse than a start that meets
        the constraint.
    rule : SupportRule, optional
    bound : float
        The search ends when it reaches this share of the total variance, which is the value of the best fit
        without the constraint.

    Raises
    ------
    ComponentsError
        If no loadings of these cardinalities that meet the constraint were found.
    """
    search = _ConstrainedSearch(S, cards, constraint, objective, effort, rule, bound)
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
    """Return the best loadings under the constraint near the starts, shape (p, k).

    If `fixed`, the supports of the starts are kept; otherwise single variables are exchanged. If the starts
    lead to no loadings that meet the constraint, a quick search follows.
    """
    if cards is None:
        cards = tuple(np.count_nonzero(starts[0], axis=0).tolist())
    search = _ConstrainedSearch(S, cards, constraint, objective, "quick", rule)
    fits = search.from_loadings(starts)
    if fixed:
        x, values, _ = search.loadings.best_loadings(fits.places, fits.x, FIT_STEPS)
        search.keep(fits.places, x, values)
    else:
        search.settle(fits.places, fits.x)
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
    bound: float = np.inf
    #: Places, loadings and values of the settled fits, which no exchange improves; all are different.
    places: list[np.ndarray] = field(default_factory=list)
    x: list[np.ndarray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    #: Supports from which exchanges have been tried -> their number, and the number of the course that tried
    #: them.
    followed: dict[Supports, tuple[int, int]] = field(default_factory=dict)
    #: The number of courses; a course is the sequence of exchanges that settles one fit.
    courses: int = 0
    #: Courses that reached supports of an earlier course -> the earlier course.
    joined_courses: dict[int, int] = field(default_factory=dict)
    #: Other courses -> the fits at their ends, or -1 if no loadings there meet the constraint.
    ends: dict[int, int] = field(default_factory=dict)
    #: Fits whose exchanges have been settled.
    exchanged: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.S = self.S / np.trace(self.S)
        self.is_tight = self.constraint.is_tight(self.S, self.cards)
        self.settings = SETTINGS[self.effort].of(self.constraint, len(self.cards), self.is_tight)
        self.climbs = EFFORTS[self.effort]
        eigenvalues, vectors = np.linalg.eigh(self.S)
        self.vectors = vectors[:, ::-1][:, : min(2 * len(self.cards), len(self.S))]
        # products are covariances, inner products or correlations, and values are variances
        variances = self.constraint.of_scores and not self.objective.criterion.squares
        self.unit = 1.0 / eigenvalues[-1] if variances else eigenvalues[-1]
        self.levels, self.strict = self._with_penalties(LEVELS), self._with_penalties(LEVELS[-1:])
        self.loadings = ExactLoadings(self.S, self.cards, self.constraint, self.objective)

    def _with_penalties(self, levels: tuple[float, ...]) -> PenalisedCriterion:
        rhos = tuple(level * self.unit for level in levels)
        return PenalisedCriterion(self.S, self.cards, self.constraint, self.objective, rhos).under(self.rule)

    def from_loadings(self, starts: Sequence[np.ndarray]) -> Fits:
        """Return fits on the supports of the largest loadings."""
        return chains.from_directions(self.strict, list(starts))

    def result(self) -> ConstrainedFit:
        if not self.values:
            raise ComponentsError(
                f"constraint={self.constraint.name!r} was given with card={list(self.cards)}, but no such "
                f"components with {self.constraint.label} were found: give larger cards or fewer components. "
                "Such components always exist for cards of at least 1, 2, 3, ...."
            )
        winner = int(np.argmax(self.values))
        V = np.zeros((len(self.S), len(self.cards)))
        V[self.places[winner], self.loadings.owner] = self.x[winner]
        values = np.array(self.values)[self._ends_of(range(self.courses))]
        hits = int((values > self.values[winner] * (1.0 - VALUE_TOLERANCE)).sum())
        return ConstrainedFit(V, self.values[winner], len(values), hits)

    def settle_ends(
        self, rng: np.random.Generator, starts: Sequence[np.ndarray], advance: Callable[[], None]
    ) -> None:
        """Settle the ends of climbs from all starts, and then of perturbed fits, in one search or several."""
        best_values: list[float] = []
        for search in range(self.settings.searches):
            ends = self._searched(rng, [] if search else starts, advance)
            best_values.append(self._value(ends))
            is_best = np.array(best_values) >= max(best_values) * (1.0 - VALUE_TOLERANCE)
            if not self._is_improvable() or is_best.sum() >= AGREEING:
                break
        if self._is_improvable() and self.settings.last_exchanges and not self.is_tight:
            best_fits = chains.distinct(np.array(self.values), LAST_FITS)
            places, x = np.array(self.places)[best_fits], np.array(self.x)[best_fits]
            self.settle(places, x, self.settings.last_exchanges)

    def _searched(
        self, rng: np.random.Generator, starts: Sequence[np.ndarray], advance: Callable[[], None]
    ) -> np.ndarray:
        """Settle the ends of climbs from new starts and of further rounds; return the numbers of the fits."""
        places, x = self._best_of_levels(self._pool(rng))
        if starts:
            start_fits = self.from_loadings(starts)
            places, x = np.concatenate([places, start_fits.places]), np.concatenate([x, start_fits.x])
        ends = self.settle(places, x)
        patience = self.settings.patience
        if self.is_tight and self.objective.criterion.squares:
            patience *= TIGHT_ROUNDS
        without_gain = 0
        while ends.size and self._is_improvable() and without_gain < patience:
            advance()
            ranking = self._ranked_fits(ends)
            places, x = self._neighbours(ranking) if self.is_tight else self._perturbed(ranking, rng)
            ends = np.union1d(ends, self.settle(places, x))
            has_gain = self._value(ends) > self._value(ranking) * (1.0 + ROUND_GAIN)
            without_gain = 0 if has_gain else without_gain + 1
        return ends

    def _is_improvable(self) -> bool:
        """Return whether there is a fit, and none has reached the bound."""
        return bool(self.values) and max(self.values) < self.bound * (1.0 - ROUND_GAIN)

    def _value(self, ends: np.ndarray) -> float:
        """Return the largest value of the settled fits `ends`."""
        return max((self.values[end] for end in ends), default=-np.inf)

    def _ranked_fits(self, ends: np.ndarray) -> np.ndarray:
        """Return the settled fits with different values, the best first."""
        return ends[chains.distinct(np.array(self.values)[ends], len(ends))]

    def _pool(self, rng: np.random.Generator) -> Fits:
        """Return the starts at all levels."""
        levels = np.repeat(np.arange(len(LEVELS)), self.settings.starts)
        is_greedy = np.arange(len(levels)) % 4 == 3
        greedy = chains.greedy(self.levels, int(is_greedy.sum()), rng, False, levels[is_greedy])
        bases = chains.bases(self.vectors, len(self.cards), int((~is_greedy).sum()), rng)
        truncated = chains.from_directions(self.levels, bases, levels[~is_greedy])
        return self.levels.mended(join_fits([greedy, truncated]))

    def _best_of_levels(self, starts: Fits) -> tuple[np.ndarray, np.ndarray]:
        """Return the best ends of climbs at every level: places and loadings."""
        ends = climb(self.levels, starts, self.climbs.width, self.climbs.valued)
        at_levels = [np.flatnonzero(ends.of == level) for level in range(len(LEVELS))]
        best_ends = np.concatenate(
            [at[chains.distinct(ends.value[at], self.settings.settled)] for at in at_levels]
        )
        return ends.places[best_ends], ends.x[best_ends]

    def _perturbed(self, ends: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the best ends of climbs from perturbed copies of the best fits: places and loadings."""
        best_fits = ends[:PERTURBED_FITS]
        indices = best_fits[rng.integers(len(best_fits), size=self.settings.kicks * len(LEVELS))]
        places, x = np.array(self.places)[indices], np.array(self.x)[indices]
        copies = self.levels.fits(places, x, np.arange(len(indices)) % len(LEVELS))
        return self._best_of_levels(chains.perturb(self.levels, copies, rng))

    def _neighbours(self, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return exchanges of the best fits that have not been exchanged before: places and loadings."""
        fit_count, neighbours = TIGHT_FITS, self.settings.neighbours
        if self.objective.criterion.squares:
            fit_count, neighbours = 2 * fit_count, (neighbours + 1) // 2
        fits = [end for end in ends.tolist() if end not in self.exchanged][:fit_count]
        self.exchanged.update(fits)
        N = len(self.loadings.owner)
        if not fits:
            return np.empty((0, N), dtype=int), np.empty((0, N))
        places, x = np.array(self.places)[fits], np.array(self.x)[fits]
        places, x = best_exchanges(self.loadings, places, x, neighbours, self.rule)
        return places.reshape(-1, N), x.reshape(-1, N)

    def keep(self, places: np.ndarray, x: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Store the fits that meet the constraint, and return their numbers."""
        numbers = np.full(len(values), -1)
        for b in np.flatnonzero(np.isfinite(values)):
            numbers[b] = len(self.values)
            self.places.append(places[b])
            self.x.append(x[b])
            self.values.append(float(values[b]))
        return numbers

    def settle(self, places: np.ndarray, x: np.ndarray, exchanges: int | None = None) -> np.ndarray:
        """Exchange single variables under the constraint as long as this raises the value.

        A fit joins an earlier course if that course tried at least as many exchanges from the same supports.

        Parameters
        ----------
        places, x : ndarray of shape (n, N)
        exchanges : int, optional
            Number of exchanges of a fit that are compared; the default is in the settings.

        Returns
        -------
        ndarray of int
            The numbers of the fits at the ends.
        """
        exchanges = exchanges or self.settings.exchanges
        courses = np.arange(self.courses, self.courses + len(places))
        self.courses += len(places)
        places, x, values = places.copy(), x.copy(), np.full(len(places), -np.inf)
        untried = [b for b in range(len(places)) if not self._joins(courses[b], places[b], exchanges)]
        x[untried], values[untried], _ = self.loadings.best_loadings(
            places[untried], x[untried], FIT_STEPS, rough=True
        )
        active = np.flatnonzero(np.isfinite(values))
        end_parts = [active[:0]]
        while True:
            ranked = active[np.argsort(-values[active], kind="stable")]
            active = self._not_joined(ranked, courses, places, exchanges)
            if not active.size:
                break
            trial_places, trial_x = best_exchanges(
                self.loadings, places[active], x[active], exchanges, self.rule
            )
            n, L, N = trial_places.shape
            if not L:
                end_parts.append(active)
                break
            new_x, new_values = self._followed(trial_places.reshape(n * L, N), trial_x.reshape(n * L, N), L)
            new_values = new_values.reshape(n, L)
            winners = new_values.argmax(axis=1)
            rows = np.arange(n)
            risen = new_values[rows, winners] > values[active] * (1.0 + ROUND_GAIN)
            end_parts.append(active[~risen])
            at = active[risen]
            places[at] = trial_places[rows, winners][risen]
            x[at] = new_x.reshape(n, L, N)[rows, winners][risen]
            values[at] = new_values[rows, winners][risen]
            active = at
        end_fits = np.concatenate(end_parts)
        exact_x, exact_values, _ = self.loadings.best_loadings(places[end_fits], x[end_fits], FIT_STEPS)
        numbers = self.keep(places[end_fits], exact_x, exact_values)
        self.ends.update(zip(courses[end_fits].tolist(), numbers.tolist(), strict=True))
        return np.unique(self._ends_of(courses))

    def _followed(self, places: np.ndarray, x: np.ndarray, L: int) -> tuple[np.ndarray, np.ndarray]:
        """Return loadings and values after L exchanges of each fit; only the best take all steps."""
        x, values, _ = self.loadings.best_loadings(places, x, FIRST_STEPS, rough=True)
        ranking = np.argsort(-values.reshape(-1, L), axis=1, kind="stable")[:, :FINALISTS]
        finalists = (ranking + L * np.arange(len(ranking))[:, None]).ravel()
        x[finalists], values[finalists], _ = self.loadings.best_loadings(
            places[finalists], x[finalists], MORE_STEPS, rough=True
        )
        return x, values

    def _joins(self, course: int, places: np.ndarray, exchanges: int) -> bool:
        """Join an earlier course through these supports, if there is one; return whether there is."""
        tried_count, earlier_course = self.followed.get(self._supports(places), (0, -1))
        if tried_count < exchanges or self._last_course(earlier_course) == course:
            return False
        self.joined_courses[int(course)] = earlier_course
        return True

    def _not_joined(
        self, ranked: np.ndarray, courses: np.ndarray, places: np.ndarray, exchanges: int
    ) -> np.ndarray:
        """Return the fits with new supports, one for each set of supports, and record their supports."""
        remaining = []
        for b in ranked.tolist():
            if not self._joins(courses[b], places[b], exchanges):
                self.followed[self._supports(places[b])] = exchanges, int(courses[b])
                remaining.append(b)
        return np.array(remaining, dtype=int)

    def _supports(self, places: np.ndarray) -> Supports:
        return tuple(sorted(places[part].tobytes() for part in self.loadings.parts))

    def _last_course(self, course: int) -> int:
        """Return the course that this course has joined, directly or through others, or the course itself."""
        while course in self.joined_courses:
            course = self.joined_courses[course]
        return course

    def _ends_of(self, courses: Iterable[int]) -> np.ndarray:
        """Return the fits at the ends of the courses that lead to a fit."""
        ends = [self.ends.get(self._last_course(int(course)), -1) for course in courses]
        return np.array([end for end in ends if end >= 0], dtype=int)


# --- penalised ascents ---------------------------------------------------------------------------


class PenalisedCriterion(Criterion):
    """The sum of the values of single components minus a penalty on squared products, at several penalties.

    Fits with number l in `Fits.of` have the penalty ``rhos[l]``, and their values are ``multiples[l]`` times
    the criterion.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix of total variance one.
    cards : tuple of int
    constraint : Constraint
    objective : Objective
    rhos : tuple of float
        Penalties.
    """

    exact_model = True  # the model of one column is exact, and the order of the components does not matter
    rugged = True

    def __init__(
        self,
        S: np.ndarray,
        cards: tuple[int, ...],
        constraint: Constraint,
        objective: Objective,
        rhos: tuple[float, ...],
    ):
        self.ratio = objective.criterion.squares
        of_variances = constraint.of_scores and not objective.criterion.squares
        #: The multiples of S, one for each penalty.
        self.multiples = np.array(rhos) if of_variances else 1.0 / np.array(rhos)
        scaled = self.multiples[:, None, None] * S
        main = scaled @ scaled if objective.criterion.squares else scaled
        M: matrices.SymmetricMatrix = matrices.Identity(len(S))
        if constraint.of_scores:
            M = _dense(scaled)
        super().__init__(M, None if of_variances else _dense(main), cards)

    def _parts(self, G: np.ndarray, N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the scales s_j and the values f_j, each of shape (..., k)."""
        scales = np.maximum(np.einsum("...ii->...i", G), matrices.TINY)
        values = np.einsum("...ii->...i", G if self.T is None else N).copy()
        return (scales, values / scales) if self.ratio else (np.ones_like(scales), values)

    def value(self, G: np.ndarray, N: np.ndarray) -> np.ndarray:
        scales, values = self._parts(G, N)
        products = G * (1.0 - np.eye(self.k))
        penalty = (products**2 / (scales[..., :, None] * scales[..., None, :])).sum((-1, -2))
        return np.asarray(values.sum(-1) - penalty)

    def _weights(self, fits: Fits) -> np.ndarray:
        """Return 2 / s_j of the components that are present, shape (B, k)."""
        present = np.einsum("bii->bi", fits.G) > matrices.TINY
        return 2.0 / self._parts(fits.G, fits.N)[0] * present

    def _model(self, fits: Fits, weights: np.ndarray) -> matrices.QuadraticModel:
        Z = weights[:, :, None] * np.eye(self.k)
        alpha = np.ones(len(fits))
        return matrices.QuadraticModel(
            self.M, self.T, fits.M_products, fits.T_products, alpha, np.zeros_like(Z), Z, fits.of
        )

    def model(self, fits: Fits, i: int) -> matrices.QuadraticModel:
        weights = self._weights(fits)
        weights[:, i] = 0.0
        return self._model(fits, weights)

    def model_given_others(self, fits: Fits) -> matrices.QuadraticModel:
        return self._model(fits, self._weights(fits))

    def pull(self, fits: Fits, i: int) -> tuple[np.ndarray, np.ndarray]:
        weights = self._weights(fits)
        weights[:, i] = 0.0
        products = fits.M_products[:, i] if self.T is None else fits.T_products[:, i]
        Av = products - ((fits.G[:, i] * weights)[:, None] @ fits.M_products)[:, 0]
        part = self.parts[i]
        support = np.arange(len(fits))[:, None], fits.places[:, part]
        x = fits.x[:, part]
        value = (Av[support] * x).sum(axis=1)
        if self.ratio:
            variances = np.maximum(fits.G[:, i, i], matrices.TINY)
            value = value / variances
            half = (Av - value[:, None] * fits.M_products[:, i]) / variances[:, None]
        else:
            half = Av.copy()
            half[support] -= value[:, None] * x
        half[support] += np.abs(value)[:, None] * x
        return half, np.abs(value)

    def with_gradient(self, x: np.ndarray, M: Blocks, T: Blocks) -> tuple[np.ndarray, np.ndarray]:
        u, size = self.directions(x)
        V = u[:, :, None] * self.member
        MV = self.times(M, V, u)
        TV = MV if self.T is None else self.times(T, V, u)
        G, N = V.mT @ MV, V.mT @ TV
        scales, values = self._parts(G, N)
        products = G * (1.0 - np.eye(self.k))
        W = 2.0 * products / (scales[:, :, None] * scales[:, None, :])
        slope = TV
        if self.ratio:  # of N_jj / G_jj and of the squared correlations
            slope = (TV - MV * values[:, None, :]) / scales[:, None, :]
            slope = slope + MV * ((W * products).sum(axis=1) / scales)[:, None, :]
        half = ((slope - MV @ W) * self.member).sum(axis=2)
        half -= u * ((half * u) @ self.member)[:, self.owner]
        return self.value(G, N), 2.0 * half / size

    def expansion(self, x: np.ndarray, M: np.ndarray, T: np.ndarray) -> Expansion | None:
        return None  # `ExactLoadings` takes the last steps


def _dense(stacked: np.ndarray) -> matrices.Dense:
    """Return the matrices of shape (D, m, m) as one operand of products, which is faster if D is 1."""
    return matrices.Dense(stacked[0] if len(stacked) == 1 else stacked)
