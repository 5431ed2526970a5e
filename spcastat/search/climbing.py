"""Local ascent for a batch of fits, and the settings of searches by effort.

A sweep updates component i to the largest entries of w_i, which is half the gradient plus s_i v_i with a
scale s_i. The criterion is not convex in one column, so the update may lower it; only updates that raise it
are made.

benchmarks/results/steering.md shows how the constants affect the objective and the run time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from spcastat.linalg.eigenvectors import ranked
from spcastat.linalg.operators import GRAM_ORDER, residual_covariances
from spcastat.search import matrices
from spcastat.search.criteria import Criterion, Fits
from spcastat.search.moves import GAIN, exchange, refined, swapped, trials

# --- local ascent ---------------------------------------------------------------------------------


#: Values that differ by less than this share of the total variance count as one optimum.
VALUE_TOLERANCE = 1e-6


def sweep(criterion: Criterion, fits: Fits, sweeps: int) -> Fits:
    """Return the fits after at most `sweeps` sweeps; no fit gets worse.

    A fit is finished when a sweep raises its value by a share of at most VALUE_TOLERANCE.
    """
    fits = fits.subset(slice(None))
    running = np.arange(len(fits))
    for _ in range(sweeps):
        if running.size == 0:
            break
        sub = fits.subset(running)
        previous_values = sub.value.copy()
        for i in range(criterion.k):
            _step(criterion, sub, i)
        fits.put(running, sub)
        running = running[sub.value > previous_values * (1.0 + VALUE_TOLERANCE)]
    return fits


def _step(criterion: Criterion, fits: Fits, i: int) -> None:
    """Update component i in the fits in which this raises the criterion."""
    pull, _ = criterion.pull(fits, i)
    places, x = criterion.truncate(pull[:, None], i, criterion.used(fits, i), fits.of)
    values = criterion.values_with(fits, i, places, x)[:, 0]
    rose = np.flatnonzero(values > fits.value * (1.0 + GAIN))
    if rose.size:
        criterion.put(fits, rose, i, places[rose, 0], x[rose, 0], values[rose])


#: Number of steps of an ascent on supports that may still change, and on final supports.
SHORT, LONG = 12, 300
#: Number of exchanges of a component that are evaluated before a fit counts as optimal under exchanges.
VALUED = 40


#: A climb ends if this number of rounds with the gain of its last round would not reach the best fit of the
#: same data. For PEV of six tables, the last rounds of one or two climbs far below the best fit took up to
#: half of the time (with the rule, quick searches take .47 to 1.0 of it); no mean over six seeds fell by more
#: than .0014 %.
ROUNDS_TO_BEST = 5.0


def climb(criterion: Criterion, fits: Fits, width: int, valued: int, rough: float = 1e-5) -> Fits:
    """Return the fits after rounds of exchanges and short ascents, repeated as long as the value rises.

    Parameters
    ----------
    criterion : Criterion
    fits : Fits
    width, valued : int
        See `spcastat.search.moves.exchange`.
    rough : float
        A fit is finished when a round raises its value by at most this share, or by at most a share .001 if
        its supports did not change, or when it is far below the best fit of its data (`ROUNDS_TO_BEST`).
    """
    fits = refined(criterion, fits, SHORT)
    running = np.arange(len(fits))
    while running.size:
        sub = fits.subset(running)
        previous_values, previous_places = sub.value.copy(), sub.places.copy()
        for i in range(criterion.k):
            exchange(criterion, sub, i, width, valued)
        if criterion.rule is not None and criterion.rule.disjoint:
            sub = swapped(criterion, sub, width, valued, SHORT)
        sub = reordered(criterion, refined(criterion, sub, SHORT))
        fits.put(running, sub)
        # with nearly dependent components, values rise slowly for dozens of rounds without any exchange
        least_rise = np.where((sub.places != previous_places).any(axis=1), rough, 1e-3)
        goes_on = sub.value > previous_values * (1.0 + least_rise)
        shortfall = _best_values(fits)[sub.of] - sub.value
        goes_on &= shortfall <= ROUNDS_TO_BEST * (sub.value - previous_values)
        running = running[goes_on]
    return fits


def _best_values(fits: Fits) -> np.ndarray:
    """Return the best value for each covariance matrix, in the order of their numbers."""
    best_values = np.full(fits.of.max(initial=0) + 1, -np.inf)
    np.maximum.at(best_values, fits.of, fits.value)
    return best_values


def deepen(criterion: Criterion, fits: Fits, width: int, valued: int) -> Fits:
    """Return the fits after exchanges that raise the criterion only after an ascent of all loadings.

    The best exchanges of every component, even those that lower the value, are followed by a short ascent.
    """
    fits = fits.subset(slice(None))
    running = np.arange(len(fits))
    while running.size:
        sub = fits.subset(running)
        followed_fits = _followed(criterion, sub, width, valued)
        is_improved = followed_fits.value > sub.value * (1.0 + GAIN)
        running = running[is_improved]
        if running.size:
            fits.put(running, climb(criterion, followed_fits.subset(is_improved), width, valued))
    return fits


def _followed(criterion: Criterion, fits: Fits, width: int, valued: int) -> Fits:
    """Return the best fit that one exchange and a short ascent reach.

    If the ascents from all exchanges would need more memory for covariance matrices than GRAM_ORDER
    variables do, only the best exchanges are followed by an ascent.
    """
    places, x = [], []
    for i, part in enumerate(criterion.parts):
        new_places, new_x, values = trials(criterion, fits, i, width, valued)
        values = values[:, :-1]
        if values.shape[1] == 0:
            continue
        # the best two exchanges of a component
        best_exchanges = np.argsort(-values, axis=1, kind="stable")[:, :2]
        for column in best_exchanges.T:
            fit_indices = np.arange(len(fits))
            all_places, all_x = fits.places.copy(), fits.x.copy()
            order = np.argsort(new_places[fit_indices, column], axis=1)
            all_places[:, part] = np.take_along_axis(new_places[fit_indices, column], order, axis=1)
            all_x[:, part] = np.take_along_axis(new_x[fit_indices, column], order, axis=1)
            places.append(all_places)
            x.append(all_x)
    if not places:
        return fits
    B, N = fits.x.shape
    trial_fits = criterion.fits(np.concatenate(places), np.concatenate(x), np.tile(fits.of, len(places)))
    ascents_limit = max(GRAM_ORDER**2 // (B * N**2), 4)
    best_exchanges = np.argsort(-trial_fits.value.reshape(-1, B), axis=0, kind="stable")[:ascents_limit]
    trial_fits = refined(
        criterion, trial_fits.subset((np.sort(best_exchanges, axis=0) * B + np.arange(B)).ravel()), SHORT
    )
    values = trial_fits.value.reshape(-1, B)
    return trial_fits.subset(np.argmax(values, axis=0) * B + np.arange(B))


#: With more nonzeros, only a thorough search follows every exchange by an ascent of all loadings: with 1000
#: nonzeros this took 40 % of the time and raised the value by .0025 %.
FEW_NONZEROS = 300


def exchange_until_optimal(criterion: Criterion, fit: Fits) -> Fits:
    """Return a fit that no exchange of one variable improves, with the best loadings on its supports.

    Exchanges with every variable outside the support are ranked by the model of one column, which is exact
    for PEV and least squares. The criterion is computed for the best VALUED exchanges of each component, and
    an ascent follows the best of these.
    """
    while True:
        improved_fit = deepen(criterion, fit, criterion.m, VALUED)
        improved_fit = reordered(criterion, refined(criterion, improved_fit, LONG))
        if not improved_fit.value[0] > fit.value[0] * (1.0 + 1e-7):
            return improved_fit
        fit = improved_fit


# --- settings by effort ---------------------------------------------------------------------------


#: Whether a share of variance is kept after every component, or by all components together.
PROMISES = ("every", "total")


@dataclass(frozen=True)
class Patience:
    """The stopping rule of a search: it ends after rounds without improvement if its chains agree.

    Attributes
    ----------
    without_gain : int
        Rounds without improvement after which the search ends, if its chains agree and new optima are
        unlikely (see `unseen`).
    unseen : float
        Largest estimated probability that a climb ends in a new optimum.
    long : int
        Rounds without improvement after which `unseen` is not required.
    rise : float
        A fit counts as better if its value rises by more than this share.
    rough : float
        After `long` rounds without improvement, chains agree if their values differ by less than this share.
    """

    without_gain: int
    unseen: float
    long: int
    rise: float
    rough: float


@dataclass(frozen=True)
class Effort:
    """The settings of a search. A chain is an independent search.

    Attributes
    ----------
    chains : int
        Initial number of chains.
    starts : int
        Number of starts per chain.
    sweeps : int
        Largest number of sweeps per start.
    climbs : int
        Number of climbs per chain and round, from the best starts or perturbed fits.
    kicks : int
        Number of perturbed fits per chain and round.
    ordered, free : Patience
        The stopping rules if the order of the components matters (adjusted variance) and if it does not. In
        the latter case there are many good optima with similar values.
    rounds : int
        Largest number of rounds; with few nonzeros it is multiplied by 1.5 (`with_nonzeros`).
    width : int
        Number of variables that may enter a component in exchanges.
    valued : int
        Number of exchanges of a component for which the criterion itself is computed.
    deep : bool
        Whether exchanges are also tried that raise the criterion only after an ascent of all loadings.
    deep_up_to : float
        The largest number of nonzeros with which these exchanges are tried.
    many_nonzeros : Patience or None
        The stopping rule with more than `MANY_LOADINGS` nonzeros, if it differs from `ordered` and `free`.
    """

    chains: int
    starts: int
    sweeps: int
    climbs: int
    kicks: int
    ordered: Patience
    free: Patience
    rounds: int
    width: int
    valued: int
    deep: bool
    deep_up_to: float = math.inf
    many_nonzeros: Patience | None = None

    def patience(self, nonzeros: int, ordered: bool) -> Patience:
        """Return the stopping rule; `ordered` tells whether the order of the components matters."""
        return self.patience_with_many(nonzeros) or (self.ordered if ordered else self.free)

    def patience_with_many(self, nonzeros: int) -> Patience | None:
        """Return the stopping rule for many nonzeros; None if there are few, or if there is no such rule."""
        return self.many_nonzeros if nonzeros > MANY_LOADINGS else None

    def with_nonzeros(self, nonzeros: int) -> Effort:
        """Return the settings for a number of nonzeros: more rounds for few, fewer chains for very many."""
        if nonzeros <= FEW_LOADINGS:
            return replace(self, rounds=3 * self.rounds // 2)
        if nonzeros > VERY_MANY and self.patience_with_many(nonzeros):
            return replace(self, chains=min(self.chains, CHAINS_OF_MANY))
        return self

    def deepens_chains(self, nonzeros: int) -> bool:
        """Return whether every chain is deepened; with many nonzeros only the best fit is."""
        return self.deep_with(nonzeros) and not self.patience_with_many(nonzeros)

    @property
    def agree(self) -> int:
        """Number of chains that must have reached the best fit."""
        return (self.chains + 1) // 2

    def for_distant_optima(self) -> Effort:
        """Return the settings for criteria whose good optima are far apart (`Criterion.rugged`).

        Few rounds with many climbs take less time than many rounds with few climbs, because the climbs of a
        round share NumPy calls: four times the climbs from twice the perturbed fits in half the rounds took
        .75 of the time of twice the climbs, and PEV of seven problems was .02 % larger on average. A search
        without perturbed fits has no further rounds.
        """
        if not self.kicks:
            return replace(self, starts=2 * self.starts)
        doubled = replace(self, starts=2 * self.starts, kicks=2 * self.kicks, climbs=4 * self.climbs)
        return replace(doubled, rounds=self.rounds // 2)

    def deep_with(self, nonzeros: int) -> bool:
        """Return whether the search is `deep` for this number of nonzeros."""
        return self.deep and nonzeros <= self.deep_up_to


#: Up to this many variables the covariance matrix is kept in memory, and all variables are searched.
GRAM_LIMIT = 1000
#: With more components than this, they are found one after another: a round of exchanges takes at least k^4
#: operations.
SEQUENTIAL = 60
#: Up to this number of nonzeros, rounds are cheap, and 1.5 times the number of rounds is allowed.
FEW_LOADINGS = 30
#: With more nonzeros than this, rounds cost more and gain less: the search ends after one round that raises
#: the best value by less than 1e-4, if two chains are within 1e-3 of it.
MANY_LOADINGS = 80
#: With more nonzeros than VERY_MANY, a search has CHAINS_OF_MANY chains. In nine problems with 25 components
#: of 200 variables, two chains took .6 of the time of three and lost .01 % on average (standard error .05).
VERY_MANY, CHAINS_OF_MANY = 150, 2

_AUTO = Effort(
    chains=3, starts=10, sweeps=6, climbs=4, kicks=12,
    ordered=Patience(3, 0.25, 6, VALUE_TOLERANCE, VALUE_TOLERANCE),
    free=Patience(1, 0.4, 6, 1e-4, 1e-3), rounds=8, width=40, valued=6, deep=True,
    deep_up_to=FEW_NONZEROS, many_nonzeros=Patience(1, 1.0, 1, 1e-4, 1e-3),
)  # fmt: skip
#: name -> settings.
EFFORTS = {
    "quick": replace(_AUTO, chains=1, starts=14, sweeps=4, climbs=5, kicks=0, rounds=0, deep=False),
    "auto": _AUTO,
    "thorough": Effort(
        chains=5, starts=16, sweeps=6, climbs=6, kicks=16,
        ordered=Patience(4, 0.25, 8, VALUE_TOLERANCE, VALUE_TOLERANCE),
        free=Patience(4, 0.25, 8, VALUE_TOLERANCE, 3e-4), rounds=30, width=60, valued=12, deep=True,
    ),
}  # fmt: skip


# --- order of components -------------------------------------------------------------------------


def reordered(criterion: Criterion, fits: Fits) -> Fits:
    """Return the fits after sorting: each component has the largest variance given the earlier ones.

    Only components of one kind change places. If sorting does not raise its value, a fit keeps its order.
    """
    if criterion.exact_model or criterion.k == 1:
        return fits
    order = largest_first(fits.G, criterion.kinds)
    permuted_fits = permuted(criterion, fits, order)
    is_improved = permuted_fits.value > fits.value * (1.0 + GAIN)
    fits = fits.subset(slice(None))
    if is_improved.any():
        fits.put(is_improved, permuted_fits.subset(is_improved))
    return fits


def largest_first(G: np.ndarray, kinds: tuple[int, ...]) -> np.ndarray:
    """Return orders, shape (B, k), in which each component has the largest variance given the earlier ones.

    No exchange of two neighbours is better: two components with residual variances a >= d and covariance b
    add a + d - b^2 / a in this order. Components change places only with others of their kind.
    """
    B, k, _ = G.shape
    fit_indices = np.arange(B)
    residual, order = G.copy(), np.empty((B, k), dtype=int)
    unplaced = np.ones((B, k), dtype=bool)
    for place, kind in enumerate(kinds):
        variance = np.where(unplaced & (np.array(kinds) == kind), np.einsum("bii->bi", residual), -1.0)
        order[:, place] = component = variance.argmax(axis=1)
        unplaced[fit_indices, component] = False
        largest = variance[fit_indices, component]
        variances = np.where(largest > matrices.TINY, largest, 0.0)
        residual = residual_covariances(residual, residual[fit_indices, component], variances)
    return order


def falling(criterion: Criterion, fits: Fits) -> Fits:
    """Return the fits with components of one kind in descending order of variance, if that is no worse.

    Components with the same support give the same value in every order, so rounding would decide the order.
    Components of equal variance are sorted by their supports for the same reason.
    """
    if criterion.exact_model or criterion.k == 1:
        return fits
    kinds = np.array(criterion.kinds)
    order = np.broadcast_to(np.arange(criterion.k), (len(fits), criterion.k)).copy()
    variances = np.diagonal(fits.G, axis1=1, axis2=2)
    for kind in set(criterion.kinds):
        places = np.flatnonzero(kinds == kind)
        for b, fit in enumerate(fits.places):
            supports = [sorted(fit[criterion.owner == i]) for i in places]
            rank = np.array([sorted(supports).index(support) for support in supports])
            order[b, places] = places[ranked(variances[b, places], -rank.astype(float))]
    permuted_fits = permuted(criterion, fits, order)
    return permuted_fits if (permuted_fits.value >= fits.value * (1.0 - GAIN)).all() else fits


def permuted(criterion: Criterion, fits: Fits, order: np.ndarray) -> Fits:
    """Return fits with component order[b, i] of fit b in place i; the two must have the same cardinality."""
    if (order == np.arange(criterion.k)).all():
        return fits
    B = len(fits)
    starts = np.array([part.start for part in criterion.parts])
    entries = np.arange(len(criterion.owner)) - starts[criterion.owner]
    at = starts[order][:, criterion.owner] + entries
    fit_indices = np.arange(B)[:, None]
    pairs = np.arange(B)[:, None, None], order[:, :, None], order[:, None, :]
    T_products = fits.T_products[fit_indices, order] if fits.T_products.shape[1] else fits.T_products
    G, N = fits.G[pairs], fits.N[pairs]
    return Fits(
        matrices.entries_at(fits.places, at),
        matrices.entries_at(fits.x, at),
        fits.M_products[fit_indices, order],
        T_products,
        G,
        N,
        criterion.value(G, N),
        fits.of,
    )
