"""The joint search for components with uncorrelated scores or orthogonal loadings.

Climbs maximise the objective minus a penalty on the constraint (`spcastat.search.constrained`), at several
levels at once: a weak penalty sees far, a strong one which supports can meet the constraint. The best ends
are then settled: variables are exchanged as long as that raises the value of loadings that meet the
constraint to rounding (`spcastat.search.exact_loadings`); exchanges are ranked to second order
(`spcastat.search.exact_exchanges`). Perturbed copies of the best fits follow until some rounds bring no gain,
or, where few loadings meet the constraint, exchanges of the best fits. In the end, many more exchanges of the
very best fits are tried.

Levels and settings were measured on correlation matrices of 13 to 100 variables, with 3 to 6 components
(``python -m benchmarks.constraints``). The exchanges at the end bring more than what they cost: for 100
variables, 3 of 5, all seeds ended at 12.61 % without them and at 12.75 % with them. A further search by
chains took 60 % of the time, and found no better fits than more starts do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

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
#: Steps along the constraint after an exchange that is tried, and for the loadings of a fit.
TRIAL_STEPS, FIT_STEPS = 3, 200
#: Rounds of exchanges of all fits, after which only so many of the best are exchanged further.
ROUNDS_OF_ALL, RETAINED = 4, 8
#: The best fits that are perturbed in a round.
PERTURBED_FITS = 4
#: The best fits of which many more exchanges are tried at the end.
LAST_FITS = 4
#: Where few loadings meet the constraint, climbs from perturbed fits hardly ever lead to supports that have
#: any, so that rounds settle exchanges of so many of the best fits. For least squares, whose plain search
#: takes longer, the number of rounds without gain is multiplied. Six components of the pitprops with four
#: variables each, three seeds: 68.62 to 68.67 % (68.40 with perturbed fits), least squares 85.92 to 86.26
#: (85.50 to 85.93).
TIGHT_FITS, TIGHT_ROUNDS = 2, 3
#: Multiples of starts, of settled ends and of rounds without gain for orthogonal loadings, whose plain
#: search, for PEV, takes three to six times as long as that for adjusted variance.
LONGER, LONGER_ROUNDS = 2, 2
#: So many components have more local optima, and a larger multiple of starts for orthogonal loadings: of six
#: seeds for four components of the pitprops with 6 variables each, all ended within .05 points of the best
#: with it and four with LONGER, in the same time.
MANY_COMPONENTS, START_MULTIPLE = 4, 8
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
    last_exchanges : int
        The same for the best fits at the end.
    neighbours : int
        Exchanges of each of the best fits that are settled where few loadings meet the constraint.
    patience : int
        Rounds of perturbed fits without gain after which the search ends.
    kicks : int
        Perturbed fits of a round at every level.
    """

    starts: int
    settled: int
    exchanges: int
    last_exchanges: int
    neighbours: int
    patience: int
    kicks: int

    def longer(self, k: int) -> ConstraintSettings:
        """Return the settings for k components with orthogonal loadings."""
        return replace(
            self,
            starts=(LONGER if k < MANY_COMPONENTS else START_MULTIPLE) * self.starts,
            settled=LONGER * self.settled,
            patience=LONGER_ROUNDS * self.patience,
        )


#: effort -> settings.
SETTINGS = {
    "quick": ConstraintSettings(
        starts=8, settled=2, exchanges=5, last_exchanges=0, neighbours=0, patience=0, kicks=0
    ),
    "auto": ConstraintSettings(
        starts=12, settled=3, exchanges=5, last_exchanges=50, neighbours=15, patience=2, kicks=8
    ),
    "thorough": ConstraintSettings(
        starts=60, settled=8, exchanges=16, last_exchanges=200, neighbours=50, patience=10, kicks=16
    ),
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
        One of those of the constraint.
    effort : {"quick", "auto", "thorough"}
    rng : numpy Generator, optional
        By default a generator with seed 0.
    starts : sequence of ndarray of shape (p, k)
        Loadings from which fits are settled, too. The result is never worse than one that meets the
        constraint.
    rule : SupportRule, optional
    bound : float
        The search ends when it reaches this share, that of the best fit without the constraint.

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
    #: Places, loadings and values of the settled fits.
    places: list[np.ndarray] = field(default_factory=list)
    x: list[np.ndarray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    #: The places of those whose exchanges have been settled.
    exchanged: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.S = self.S / np.trace(self.S)
        self.settings, self.climbs = SETTINGS[self.effort], EFFORTS[self.effort]
        self.is_tight = self.constraint.is_tight(self.S, self.cards)
        if not self.constraint.of_scores:
            self.settings = self.settings.longer(len(self.cards))
        eigenvalues, vectors = np.linalg.eigh(self.S)
        self.vectors = vectors[:, ::-1][:, : min(2 * len(self.cards), len(self.S))]
        # products are covariances, inner products or correlations, and values are variances
        variances = self.constraint.of_scores and not self.objective.squares
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
        settings = self.settings
        ends = [self._best_of_levels(self._pool(rng))]
        if starts:
            ends.append(self.from_loadings(starts))
        fits = join_fits(ends)
        self.settle(fits.places, fits.x)
        rounds = TIGHT_ROUNDS if self.is_tight and self.objective.squares else 1
        without_gain = 0
        while self._is_improvable() and without_gain < rounds * settings.patience:
            previous_value = max(self.values)
            advance()
            self.settle(*(self._neighbours(TIGHT_FITS) if self.is_tight else self._perturbed(rng)))
            without_gain = 0 if max(self.values) > previous_value * (1.0 + ROUND_GAIN) else without_gain + 1
        if self._is_improvable() and settings.last_exchanges:
            best_fits = chains.distinct(np.array(self.values), LAST_FITS)
            places, x = np.array(self.places)[best_fits], np.array(self.x)[best_fits]
            self.settle(places, x, settings.last_exchanges)

    def _is_improvable(self) -> bool:
        """Return whether there is a fit, and none has reached the bound."""
        return bool(self.values) and max(self.values) < self.bound * (1.0 - ROUND_GAIN)

    def _pool(self, rng: np.random.Generator) -> Fits:
        """Return the starts of all levels."""
        levels = np.repeat(np.arange(len(LEVELS)), self.settings.starts)
        is_greedy = np.arange(len(levels)) % 4 == 3
        greedy = chains.greedy(self.levels, int(is_greedy.sum()), rng, False, levels[is_greedy])
        bases = chains.bases(self.vectors, len(self.cards), int((~is_greedy).sum()), rng)
        truncated = chains.from_directions(self.levels, bases, levels[~is_greedy])
        return self.levels.mended(join_fits([greedy, truncated]))

    def _best_of_levels(self, starts: Fits) -> Fits:
        """Return the best ends of climbs at every level, with the values of the strongest penalty."""
        ends = climb(self.levels, starts, self.climbs.width, self.climbs.valued)
        best_ends = []
        for level in range(len(LEVELS)):
            at_level = ends.subset(ends.of == level)
            best_ends.append(at_level.subset(chains.distinct(at_level.value, self.settings.settled)))
        fits = join_fits(best_ends)
        return self.strict.fits(fits.places, fits.x)

    def _perturbed(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the best ends of climbs from perturbed copies of the best fits: places and loadings."""
        best_fits = chains.distinct(np.array(self.values), PERTURBED_FITS)
        indices = best_fits[rng.integers(len(best_fits), size=self.settings.kicks * len(LEVELS))]
        places, x = np.array(self.places)[indices], np.array(self.x)[indices]
        copies = self.levels.fits(places, x, np.arange(len(indices)) % len(LEVELS))
        ends = self._best_of_levels(chains.perturb(self.levels, copies, rng))
        return ends.places, ends.x

    def _neighbours(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return exchanges of the best fits that have not been returned before: places and loadings."""
        ranking = chains.distinct(np.array(self.values), len(self.values))
        fits = [b for b in ranking if self.places[b].tobytes() not in self.exchanged][:count]
        self.exchanged.update(self.places[b].tobytes() for b in fits)
        N = len(self.loadings.owner)
        if not fits:
            return np.empty((0, N), dtype=int), np.empty((0, N))
        places, x = np.array(self.places)[fits], np.array(self.x)[fits]
        places, x = best_exchanges(self.loadings, places, x, self.settings.neighbours, self.rule)
        return places.reshape(-1, N), x.reshape(-1, N)

    def keep(self, places: np.ndarray, x: np.ndarray, values: np.ndarray) -> None:
        """Store the fits that meet the constraint."""
        for b in np.flatnonzero(np.isfinite(values)):
            self.places.append(places[b])
            self.x.append(x[b])
            self.values.append(float(values[b]))

    def settle(self, places: np.ndarray, x: np.ndarray, exchanges: int | None = None) -> None:
        """Exchange single variables, with loadings that meet the constraint, while that raises the value."""
        if not len(places):
            return
        places = places.copy()
        x, values, _ = self.loadings.best_loadings(places, x, FIT_STEPS, rough=True)
        active = np.flatnonzero(np.isfinite(values))
        for exchange_round in count(1):
            if exchange_round > ROUNDS_OF_ALL:
                active = active[np.argsort(-values[active], kind="stable")[:RETAINED]]
            if not active.size:
                break
            trial_places, trial_x = best_exchanges(
                self.loadings, places[active], x[active], exchanges or self.settings.exchanges, self.rule
            )
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
        x, values, _ = self.loadings.best_loadings(places, x, FIT_STEPS)
        self.keep(places, x, values)


# --- penalised ascents ---------------------------------------------------------------------------


class PenalisedCriterion(Criterion):
    """The sum of the values of single components minus a penalty on squared products, at several penalties.

    Fits numbered l in `Fits.of` have the penalty ``rhos[l]``, and values that are ``multiples[l]`` times the
    criterion.

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
        self.ratio = objective.squares
        of_variances = constraint.of_scores and not objective.squares
        #: The multiples of S.
        self.multiples = np.array(rhos) if of_variances else 1.0 / np.array(rhos)
        scaled = self.multiples[:, None, None] * S
        main = scaled @ scaled if objective.squares else scaled
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
        return None  # the last steps are those of `ExactLoadings`


def _dense(stacked: np.ndarray) -> matrices.Dense:
    """Return the matrices of shape (D, m, m); products with a single one take less time."""
    return matrices.Dense(stacked[0] if len(stacked) == 1 else stacked)
