"""Comparison of all supports in a small problem, whose best fit a search may miss.

Good optima of PEV and the least-squares share are far apart, so climbs miss the best of a few hundred
supports more often than the best of many. If there are few supports, all are compared. The objective has
several local optima on given supports, so the result is not proven to be the best.
benchmarks/results/steering.md shows how the constants affect the objective and the run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from itertools import chain, combinations, pairwise
from math import comb, prod

import numpy as np

from spcastat.linalg.accumulate import blocks
from spcastat.linalg.eigenvectors import ROUNDING, symmetric_root
from spcastat.linalg.operators import Gram, mostly_rounding, residual_covariances
from spcastat.search import matrices
from spcastat.search.chains import distinct
from spcastat.search.climbing import LONG, SHORT, VALUE_TOLERANCE, reordered
from spcastat.search.criteria import Criterion, Fits, SupportRule, join_fits
from spcastat.search.grouped import GroupRule
from spcastat.search.moves import FLAT, GAIN, refined, steepness
from spcastat.search.objectives import OBJECTIVES, Objective
from spcastat.solvers.thresholding import fitted

#: All supports are compared if there are at most this many choices of one support for each component.
MOST_CHOICES = 20_000
#: Short ascents start from the best loadings given the other components; the ascents of this many of the best
#: fits are continued until they converge.
FULL_ASCENTS = 8


def best_of_all_supports(criterion: Criterion, fit: Fits, measure: Callable[[np.ndarray], float]) -> Fits:
    """Return the best fit that ascents on all supports reach, never worse than the single fit `fit`.

    Choices of supports are skipped if their upper bound is at most the best known value.

    Parameters
    ----------
    criterion : Criterion
        A criterion for which `spcastat.search.joint_search.few_supports` is true.
    fit : Fits
    measure : callable
        Computes the value of loadings, shape (m, k), accurately even for linearly dependent scores.
    """
    value = float(_values(criterion, fit, measure)[0])
    threshold = value * (1.0 + GAIN)
    supports, index = _choices(criterion)
    bounds = _bounds(criterion, supports, index)
    places = places_of(supports, index[:, bounds > threshold])
    if not len(places):
        return fit
    forward = range(criterion.k)
    orders = [forward, forward[::-1]] if criterion.exact_model and criterion.k > 1 else [forward]
    ends = [_ascended(criterion, places, partial(_in_turn, order=order)) for order in orders]
    best_fits = [fits.subset(distinct(_values(criterion, fits, measure), FULL_ASCENTS)) for fits in ends]
    return _best_after_ascents(criterion, join_fits([fit, *best_fits]), measure)


def _best_after_ascents(criterion: Criterion, fits: Fits, measure: Callable[[np.ndarray], float]) -> Fits:
    """Return the best fit after the ascents have converged, or the first fit if no other is better."""
    values = _values(criterion, fits, measure)
    indices = np.append(0, 1 + distinct(values[1:], FULL_ASCENTS))
    ends = join_fits(
        [fits.subset(slice(1)), reordered(criterion, refined(criterion, fits.subset(indices), LONG))]
    )
    values = _values(criterion, ends, measure)
    # if an ascent does not converge because components become dependent, its fit must be better by a larger
    # margin
    values[1:] *= np.where(steepness(criterion, ends)[1:] > FLAT, 1.0 - VALUE_TOLERANCE, 1.0)
    best_index = int(np.argmax(values)) if values.max() > values[0] * (1.0 + GAIN) else 0
    return ends.subset(slice(best_index, best_index + 1))


def _values(criterion: Criterion, fits: Fits, measure: Callable[[np.ndarray], float]) -> np.ndarray:
    """Return the values of the fits, shape (B,).

    If the variance of a score given the others is small for its loadings, the criterion is mostly rounding
    error, and `measure` replaces it.
    """
    L, size, _ = matrices.factor(fits.G)
    remaining = np.einsum("bii->bi", L) * size
    spread = (np.abs(fits.x) * np.sqrt(criterion.M.diagonal().clip(min=0.0))[fits.places]) @ criterion.member
    values = fits.value.copy()
    for b in np.flatnonzero(mostly_rounding(remaining**2, np.einsum("bii->bi", fits.G), spread**2)):
        values[b] = measure(criterion.dense(fits.subset(slice(b, b + 1)))[0])
    return values


def _supports(criterion: Criterion, i: int) -> np.ndarray:
    """Return all supports that the rule allows for component i alone, shape (n, c)."""
    rule, card = criterion.rule, criterion.cards[i]
    grouped = isinstance(rule, GroupRule)
    inner: SupportRule | None = rule.groups if isinstance(rule, GroupRule) else rule
    size, count = (
        (rule.member.shape[1], rule.counts[i]) if isinstance(rule, GroupRule) else (criterion.m, card)
    )
    supports = np.array(list(combinations(range(size), count)), dtype=int).reshape(-1, count)
    if inner is not None:
        supports = supports[inner.may[i][supports].all(axis=1)]
        supports = supports[inner.must[i][supports].sum(axis=1) == inner.must[i].sum()]
    return rule.places(supports, card) if grouped and isinstance(rule, GroupRule) else supports


def _choices(criterion: Criterion) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the supports of each component, and the choices of them that the rule allows, shape (k, n).

    If the order of components does not matter, each set of supports occurs once.
    """
    supports = [_supports(criterion, i) for i in range(criterion.k)]
    # components of different kinds do not change places
    kinds = criterion.kinds if criterion.exact_model else range(criterion.k)
    index = all_choices(supports, kinds)
    if criterion.rule is None or not criterion.rule.disjoint:
        return supports, index
    broken = criterion.rule.broken(_members(criterion, places_of(supports, index)))
    return supports, index[:, ~broken]


def all_choices(supports: Sequence[np.ndarray], kinds: Sequence[int]) -> np.ndarray:
    """Return all choices of a support for each component, shape (k, n).

    Components of one kind are interchangeable, so each set of their supports occurs once.
    """
    index = np.indices([len(rows_of_component) for rows_of_component in supports]).reshape(len(supports), -1)
    for i, j in combinations(range(len(supports)), 2):
        if kinds[i] == kinds[j]:
            index = index[:, index[i] <= index[j]]
    return index


def places_of(supports: Sequence[np.ndarray], index: np.ndarray) -> np.ndarray:
    """Return the supports of the choices `index`, one component after another, shape (n, N)."""
    return np.concatenate(
        [rows_of_component[rows] for rows_of_component, rows in zip(supports, index, strict=True)], axis=1
    )


def _members(criterion: Criterion, places: np.ndarray) -> np.ndarray:
    """Return masks of the variables of each component, shape (n, k, m)."""
    membership = np.zeros((len(places), criterion.k, criterion.m), dtype=bool)
    for i, part in enumerate(criterion.parts):
        np.put_along_axis(membership[:, i], places[:, part], True, axis=1)
    return membership


def _bounds(criterion: Criterion, supports: list[np.ndarray], index: np.ndarray) -> np.ndarray:
    """Return upper bounds, shape (n,), on the values that the choices of supports allow.

    Adjusted variance is at most the sum of the variances of the components. For PEV and least squares, no
    components on the union of the supports exceed the leading eigenvectors on it.
    """
    if not criterion.exact_model:
        return sum(
            np.linalg.eigvalsh(criterion.M.blocks(J, J))[rows, -1]
            for J, rows in zip(supports, index, strict=True)
        )
    assert criterion.T is not None
    T = criterion.T

    def leading_sums(J: np.ndarray) -> np.ndarray:
        M = None if criterion.M.identity else criterion.M.blocks(J, J)
        return matrices.eigen(T.blocks(J, J), M)[0][:, -criterion.k :].sum(axis=1)

    membership = np.asarray(_members(criterion, places_of(supports, index)).any(axis=1))
    # the ridge added to B lowers the eigenvalues
    return union_bounds(membership, leading_sums) * (1.0 + VALUE_TOLERANCE)


def union_bounds(membership: np.ndarray, leading_sums: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return an upper bound for each choice of supports, shape (n,), from the union of the supports.

    Parameters
    ----------
    membership : ndarray of bool, shape (n, m)
        The union of the supports of each choice.
    leading_sums : callable
        Returns the sums of the leading eigenvalues, shape (u,), for sets of variables, shape (u, size).
    """
    unions, union_indices = np.unique(membership, axis=0, return_inverse=True)
    sizes, bounds = unions.sum(axis=1), np.empty(len(unions))
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        bounds[rows] = leading_sums(np.nonzero(unions[rows])[1].reshape(-1, size))
    return bounds[union_indices.reshape(-1)]


def _ascended(criterion: Criterion, places: np.ndarray, initial_fits: Callable[..., Fits]) -> Fits:
    """Return fits after short ascents on supports, shape (n, N), from the loadings of `initial_fits`."""
    parts = blocks(len(places), criterion.m**2)
    return join_fits([refined(criterion, initial_fits(criterion, places[part]), SHORT) for part in parts])


def _in_turn(criterion: Criterion, places: np.ndarray, order: range) -> Fits:
    """Return fits in which each component is the best given the components before it in `order`."""
    fits = criterion.fits(places, np.ones(places.shape))
    criterion.empty(fits, np.ones((len(fits), criterion.k), dtype=bool))
    fit_indices = np.arange(len(fits))
    for i in order:
        support = places[:, criterion.parts[i]]
        block = criterion.model_given_others(fits).bordered(support, support[:, :0])
        x = _of_variables(criterion, support, matrices.best_vectors(block.A, block.M))
        criterion.put(fits, fit_indices, i, support, x)
    return criterion.fits(fits.places, fits.x)


def _of_variables(criterion: Criterion, places: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return loadings that are zero for the variable that pads a union of groups (see `GroupRule`).

    For PEV, two components could otherwise differ in the loadings of this variable; ascents keep zeros.
    """
    rule = criterion.rule
    return np.where(places < len(rule.of), x, 0.0) if isinstance(rule, GroupRule) else x


# --- nonnegative loadings ------------------------------------------------------------------------


#: The number of the best choices of supports for which ascents start from random loadings, and the number of
#: these ascents for each choice.
PROMISING_SUPPORTS, RANDOM_LOADINGS = 1_000, 4
#: Added to the inner products of unit loadings, so that their matrix is invertible if loadings are dependent.
#: With 1e-12, values of nearly equal components were mostly rounding error and displaced other fits.
INVERSE_RIDGE = 1e-10
#: The share of random loadings that differs between components: at good optima, components are either
#: different or nearly equal; the difference of nearly equal components is a contrast.
SIMILAR = (1.0, 0.1)
#: Components closer than NEARLY_EQUAL are moved together at DRAWINGS distances down to LEAST_DISTANCE, at
#: which their contrast still has ten digits.
NEARLY_EQUAL, DRAWINGS, LEAST_DISTANCE = 0.3, 8, 1e-6
#: The size of the contrasts that are added to the common part when ascents continue in the components
#: themselves.
CONTRAST = 1e-3
#: The number of steps of ascents in the common part and the contrasts of such components.
CONTRAST_STEPS = 40
#: Final loadings smaller than this share of the largest loading count as zero, and so do singular values of
#: the components.
NEGLIGIBLE_SHARE = 1e-7
#: The length of the longest step along the gradient, and the inverse of the shortest length.
LONGEST = 1e6
#: A step is shortened by the factor SHORTER if its value is below the lowest of the last REMEMBERED_STEPS
#: values.
SHORTER, REMEMBERED_STEPS = 0.25, 4


def few_choices(p: int, cards: Sequence[int]) -> bool:
    """Return whether all choices of supports among p variables are few enough to be compared."""
    return prod(comb(p, card) for card in cards) <= MOST_CHOICES


def best_of_all_choices(
    S: np.ndarray, cards: Sequence[int], V: np.ndarray, objective: str = "pev"
) -> np.ndarray:
    """Return the nonnegative loadings with the largest objective that ascents on all supports reach.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix.
    cards : sequence of int
        The largest number of nonzeros of each component; `few_choices` must be true.
    V : ndarray of shape (p, k)
        Nonnegative unit loadings. Choices of supports whose upper bound is at most their value are skipped.
    objective : {"adjusted", "pev", "least_squares"}

    Returns
    -------
    ndarray of shape (p, k)
        Unit loadings; V itself if none is better.
    """
    problem = _NonnegativeProblem(S / np.trace(S), tuple(cards), OBJECTIVES[objective])
    places, bounds = problem.choices()
    value = float(problem.values_of(V.T[None])[0])
    is_open = bounds > value * (1.0 + GAIN)
    places, bounds = places[is_open], bounds[is_open]
    if not len(places):
        return V
    ends = [problem.ascended(places, problem.in_turn(places), SHORT)]
    best_values = ends[0].values
    promising = np.argsort(-best_values, kind="stable")[:PROMISING_SUPPORTS]
    promising = promising[bounds[promising] > max(value, best_values.max()) * (1.0 + GAIN)]
    rng = np.random.default_rng(0)
    if len(promising):
        ends.append(problem.ascended(places[promising], ends[0].x[promising], SHORT))
    for number in range(RANDOM_LOADINGS if len(promising) else 0):
        size = SIMILAR[number % len(SIMILAR)]
        common = rng.exponential(size=(len(promising), len(S)))
        x = (1.0 - size) * np.take_along_axis(common, places[promising], axis=1)
        x += size * rng.exponential(size=x.shape)
        ends.append(problem.ascended(places[promising], x, SHORT))
    # adjusted variance does not increase as components become equal
    k = 0 if OBJECTIVES[objective].ordered else len(cards)
    for group in chain.from_iterable(combinations(range(k), m) for m in range(2, k + 1)):
        supports = problem.members(places[promising])[:, list(group)]
        is_sharing = np.any(np.all(supports, axis=1), axis=1)
        for _ in range(RANDOM_LOADINGS if is_sharing.any() else 0):
            ends.append(problem.nearly_equal(places[promising][is_sharing], group, rng))
    all_ends = _concatenation(ends)
    accurate_values = problem.values_of(problem.dense(all_ends))
    final = problem.finished(all_ends.subset(distinct(accurate_values, FULL_ASCENTS)))
    final_values = problem.values_of(final)
    best_index = int(np.argmax(final_values))
    return final[best_index].T if final_values[best_index] > value * (1.0 + GAIN) else V


@dataclass(frozen=True, eq=False)
class _Ends:
    """The ends of ascents on supports: places and loadings, shape (B, N), and values, shape (B,)."""

    places: np.ndarray
    x: np.ndarray
    values: np.ndarray

    def subset(self, indices: np.ndarray) -> _Ends:
        return _Ends(self.places[indices], self.x[indices], self.values[indices])


@dataclass(frozen=True, eq=False)
class _NonnegativeProblem:
    """A covariance matrix of total variance one, the largest cardinalities, and the objective."""

    S: np.ndarray
    cards: tuple[int, ...]
    aim: Objective

    @cached_property
    def criterion(self) -> Criterion:
        return self.aim.criterion.of_matrix(self.S, self.cards)

    @cached_property
    def root(self) -> np.ndarray:
        """The symmetric square root of the covariance matrix, used as rows with this covariance matrix."""
        return symmetric_root(self.S)

    @property
    def owner(self) -> np.ndarray:
        """The component of each of the N nonzeros."""
        return np.repeat(np.arange(len(self.cards)), self.cards)

    @property
    def parts(self) -> list[slice]:
        return [slice(a, b) for a, b in pairwise(np.cumsum((0, *self.cards)).tolist())]

    def choices(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all choices of supports, shape (n, N), and upper bounds on their values, shape (n,).

        No components on the union of supports have a larger PEV than the leading eigenvectors on it, and no
        scores explain more than the best linear combinations of its variables. Components of the same
        cardinality may change places unless the value depends on their order.
        """
        p, k = len(self.S), len(self.cards)
        supports = [np.array(list(combinations(range(p), card))) for card in self.cards]
        kinds = tuple(range(k)) if self.aim.ordered else self.cards
        places = places_of(supports, all_choices(supports, kinds))
        membership = np.zeros((len(places), p), dtype=bool)
        np.put_along_axis(membership, places, True, axis=1)

        def leading_sums(J: np.ndarray) -> np.ndarray:
            if self.aim.criterion.squares:
                _, sizes, bases = np.linalg.svd(self.root[J], full_matrices=False)
                bases = bases * (sizes > NEGLIGIBLE_SHARE * sizes[:, :1])[:, :, None]
                explained = np.linalg.eigvalsh(bases @ self.S @ bases.mT)
                return np.asarray(explained[:, -k:].sum(axis=1))
            blocks_of_unions = self.S[J[:, :, None], J[:, None, :]]
            return np.asarray(np.linalg.eigvalsh(blocks_of_unions)[:, -k:].sum(axis=1))

        return places, union_bounds(membership, leading_sums)

    def dense(self, fits: _Ends) -> np.ndarray:
        """Return the loadings of all variables, shape (B, k, p)."""
        V = np.zeros((len(fits.x), len(self.cards), len(self.S)))
        V[np.arange(len(fits.x))[:, None], self.owner, fits.places] = fits.x
        return V

    def values_of(self, V: np.ndarray) -> np.ndarray:
        """Return the objective for loadings, shape (B, k, p), accurately even for dependent components."""
        if self.aim.ordered:
            triangles = np.linalg.qr(self.root @ V.mT, mode="r")
            return np.asarray((np.einsum("bii->bi", triangles) ** 2).sum(axis=1))
        if self.aim.criterion.squares:
            V = V @ self.root
            V = V / np.linalg.norm(V, axis=2, keepdims=True).clip(min=np.finfo(float).tiny)
        Q = np.linalg.svd(V, full_matrices=False)
        rank = Q[1] > NEGLIGIBLE_SHARE * Q[1][:, :1]
        return np.asarray((np.einsum("bip,pq,biq->bi", Q[2], self.S, Q[2]) * rank).sum(axis=1))

    def in_turn(self, places: np.ndarray) -> np.ndarray:
        """Return positive parts of loadings, shape (B, N), each component the best given earlier ones."""
        x = np.empty(places.shape)
        residual = np.broadcast_to(self.S, (len(places), *self.S.shape))
        batch = np.arange(len(places))[:, None]
        for i, part in enumerate(self.parts):
            J = places[:, part]
            v = np.linalg.eigh(residual[batch[:, :, None], J[:, :, None], J[:, None, :]])[1][:, :, -1]
            v = v * np.where(np.abs(v.min(axis=1)) > v.max(axis=1), -1.0, 1.0)[:, None]
            x[:, part] = _unit(np.maximum(v, 0.0))
            if i + 1 < len(self.cards):
                image = np.einsum("bpc,bc->bp", residual[batch, :, J].swapaxes(1, 2), x[:, part])
                variance = np.einsum("bc,bc->b", np.take_along_axis(image, J, axis=1), x[:, part])
                residual = residual_covariances(residual, image, variance)
        return x

    def ascended(
        self,
        places: np.ndarray,
        x: np.ndarray,
        steps: int,
        bounds: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> _Ends:
        """Return the ends of ascents from loadings x, shape (B, N), within bounds, by default x >= 0."""
        if bounds is None:
            bounds = np.zeros(x.shape), np.full(x.shape, np.inf)
        return _concatenation(
            [
                self._ascended(places[rows], x[rows], steps, bounds[0][rows], bounds[1][rows])
                for rows in blocks(len(places), len(self.S) ** 2)
            ]
        )

    def members(self, places: np.ndarray) -> np.ndarray:
        """Return a mask of the variables in the support of each component, shape (B, k, p)."""
        return self.dense(_Ends(places, np.ones(places.shape), np.empty(0))) > 0.0

    def nearly_equal(self, places: np.ndarray, group: tuple[int, ...], rng: np.random.Generator) -> _Ends:
        """Return ends of ascents from random loadings; the components of `group` differ only by contrasts."""
        other_numbers = [number for number in range(len(self.cards)) if number not in group]
        supports = [places[:, self.parts[number]] for number in (*group, *other_numbers)]
        problem = _ContrastProblem(
            self.S,
            tuple(support.shape[1] for support in (supports[0], *supports)),
            self.aim,
            len(group),
        )
        variables = np.concatenate([supports[0], *supports], axis=1)
        is_common = self.members(places)[:, list(group)].all(axis=1)
        of_common = np.take_along_axis(is_common, variables, axis=1)
        lower = np.where(of_common & (problem.part == 1), -np.inf, 0.0)
        upper = np.where(of_common | (problem.part > 0), np.inf, 0.0)
        x = np.where(lower < 0.0, rng.standard_normal(lower.shape), rng.exponential(size=lower.shape))
        ends = problem.ascended(variables, x, CONTRAST_STEPS, (lower, upper))
        middle, *components = problem.dense(ends).swapaxes(0, 1)
        V = np.empty((len(places), len(self.cards), len(self.S)))
        for number, component in zip((*group, *other_numbers), components, strict=True):
            V[:, number] = (middle + CONTRAST * component).clip(min=0.0) if number in group else component
        x = np.concatenate(
            [
                np.take_along_axis(V[:, number], places[:, part], axis=1)
                for number, part in enumerate(self.parts)
            ],
            axis=1,
        )
        return _Ends(places, self._projected(x), ends.values)

    def _ascended(
        self, places: np.ndarray, x: np.ndarray, steps: int, lower: np.ndarray, upper: np.ndarray
    ) -> _Ends:
        """Return the ends of ascents by projected steps along the gradient.

        Steps have Barzilai-Borwein lengths. The value after a step must not be below the lowest of the last
        values (Birgin, Martinez and Raydan, 2000).
        """
        own_blocks = self._blocks(places)
        x = self._projected(x, lower, upper)
        values, slope = self._values_and_slopes(*own_blocks, x)
        step = 1.0 / np.abs(slope).max(axis=1).clip(min=1.0)
        best_x, best_values = x, values
        history = np.repeat(values[None], REMEMBERED_STEPS, axis=0)
        for number in range(steps):
            trial = self._projected(x + step[:, None] * slope, lower, upper)
            trial_values, trial_slope = self._values_and_slopes(*own_blocks, trial)
            rises = trial_values >= history.min(axis=0)
            change, bend = trial - x, slope - trial_slope
            product = np.einsum("bn,bn->b", change, bend)
            size = np.einsum("bn,bn->b", change, change)
            length = np.where(product > 0.0, size / np.where(product > 0.0, product, 1.0), LONGEST)
            step = np.where(rises, np.clip(length, 1.0 / LONGEST, LONGEST), step * SHORTER)
            x = np.where(rises[:, None], trial, x)
            slope = np.where(rises[:, None], trial_slope, slope)
            values = np.where(rises, trial_values, values)
            history[number % REMEMBERED_STEPS] = values
            is_better = values > best_values
            best_x, best_values = np.where(is_better[:, None], x, best_x), np.maximum(values, best_values)
        return _Ends(places, best_x, best_values)

    @property
    def member(self) -> np.ndarray:
        """Indicators of the components among the nonzeros, shape (N, k)."""
        return (self.owner[:, None] == np.arange(len(self.cards))).astype(float)

    def _blocks(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the blocks, shape (B, N, N), at the places; for PEV, of S and of the identity."""
        if not self.aim.reconstructs:
            return self.criterion.packed(places)
        S_blocks = self.S[places[:, :, None], places[:, None, :]]
        return S_blocks, (places[:, :, None] == places[:, None, :]).astype(float)

    def _values_and_slopes(
        self, S_blocks: np.ndarray, identity_blocks: np.ndarray, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return values, shape (B,), and half their gradients, (B, N), from `_blocks`."""
        if not self.aim.reconstructs:
            values, gradients = self.criterion.with_gradient(x, S_blocks, identity_blocks)
            return values, 0.5 * gradients
        return _ratio_and_slope(S_blocks, identity_blocks, x, self.member)

    def _projected(
        self, x: np.ndarray, lower: np.ndarray | float = 0.0, upper: np.ndarray | float = np.inf
    ) -> np.ndarray:
        """Return loadings within bounds, shape (B, N), with components of unit length."""
        x = np.clip(x, lower, upper)
        lengths = np.sqrt((x**2 @ self.member).clip(min=np.finfo(float).tiny))
        return np.asarray(x / lengths[:, self.owner])

    def finished(self, fits: _Ends) -> np.ndarray:
        """Return unit loadings, shape (B, k, p), after ascents to convergence and Newton steps.

        The ascents use L-BFGS-B, which follows the narrow ridges along which components become equal until
        rounding stops it. No value decreases.
        """
        ends = self.dense(fits)
        for b, start in enumerate(ends):
            V = self._at_end(fits.places[b], fits.x[b])
            polished = fitted(Gram(self.S), V.T, nonneg=True) if self.aim.reconstructs else None
            trials = np.array([start, V, *([] if polished is None else [polished.T])])
            # among equal values take the last, whose loadings are the most accurate
            values = self.values_of(trials)
            best_number = np.flatnonzero(values >= values.max() * (1.0 - ROUNDING))[-1]
            ends[b] = self._with_contrasts(self._drawn_together(trials[best_number]), fits.places[b])
        return ends

    def _drawn_together(self, V: np.ndarray) -> np.ndarray:
        """Return unit loadings, shape (k, p), with nearly equal components moved together if this is better.

        If the value keeps increasing as components become equal, ascents end far from its supremum.
        """
        for i, j in combinations(range(len(V)), 2):
            pair = V[[i, j]]
            distance = float(np.linalg.norm(pair[0] - pair[1]))
            if not LEAST_DISTANCE < distance < NEARLY_EQUAL:
                continue
            common = pair.mean(axis=0) * (pair > 0.0).all(axis=0)
            sizes = np.geomspace(LEAST_DISTANCE / distance, 1.0, DRAWINGS)[:, None, None]
            trials = np.repeat(V[None], DRAWINGS, axis=0)
            trials[:, [i, j]] = common + sizes * (pair - common)
            trials /= np.linalg.norm(trials, axis=2, keepdims=True)
            values = self.values_of(trials)
            if values.max() > values[-1] * (1.0 + GAIN):
                V = trials[int(np.argmax(values))]
        return V

    def _with_contrasts(self, V: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return unit loadings, shape (k, p), after fitting three or more nearly equal ones by contrasts.

        See :class:`_ContrastProblem`.
        """
        k = len(V)
        is_near = np.linalg.norm(V[:, None] - V, axis=2) < NEARLY_EQUAL
        group = is_near[int(np.argmax(is_near.sum(axis=1)))]
        m = int(group.sum())
        if m < 3 or self.aim.ordered:
            return V
        in_support = np.zeros(V.shape, dtype=bool)
        in_support[self.owner, places] = True
        in_all = in_support[group].all(axis=0)
        # the common part, the a_i, and the other components
        upper = np.where(np.vstack([in_all, in_support[group], in_support[~group]]), np.inf, 0.0)
        lower = np.zeros(upper.shape)
        lower[1 : m + 1, in_all] = -np.inf
        span = _ContrastProblem(self.S, (1,) * (k + 1), self.aim, m).span
        image = self.root if self.aim.criterion.squares else np.eye(V.shape[1])

        def negative(y: np.ndarray) -> tuple[float, np.ndarray]:
            Q, R = np.linalg.qr(image @ (span @ y.reshape(upper.shape)).T)
            scores = self.S @ Q
            slope = np.linalg.lstsq(R, (scores - Q @ (Q.T @ scores)).T, rcond=None)[0]
            return -float((Q * scores).sum()), -2.0 * (span.T @ slope @ image).ravel()

        def components(y: np.ndarray) -> np.ndarray:
            parts = y.reshape(upper.shape)
            trials = np.repeat(V[None], DRAWINGS, axis=0)
            middle, contrasts = parts[0], parts[1 : m + 1]
            middle, contrasts = (A / max(np.linalg.norm(A), matrices.SMALLEST) for A in (middle, contrasts))
            sizes = np.geomspace(LEAST_DISTANCE, CONTRAST, DRAWINGS)[:, None, None]
            trials[:, group] = (middle + sizes * contrasts).clip(min=0.0)
            trials[:, ~group] = parts[m + 1 :]
            return trials / np.linalg.norm(trials, axis=2, keepdims=True).clip(min=np.finfo(float).tiny)

        from scipy.optimize import fmin_l_bfgs_b

        middle = V[group].mean(axis=0) * in_all
        starts = [np.vstack([middle, V[group] - middle, V[~group]])]
        rng = np.random.default_rng(0)
        for _ in range(RANDOM_LOADINGS):
            starts.append(np.vstack([middle, rng.standard_normal((m, V.shape[1])), V[~group]]))
        bounds = list(zip(lower.ravel(), upper.ravel(), strict=True))
        ends = [
            fmin_l_bfgs_b(negative, start.clip(lower, upper).ravel(), bounds=bounds, maxiter=LONG)[0]
            for start in starts
        ]
        trials = np.concatenate([V[None], *(components(y) for y in ends)])
        values = self.values_of(trials)
        best_number = int(np.argmax(values))
        return trials[best_number] if values[best_number] > values[0] * (1.0 + GAIN) else V

    def _at_end(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return unit loadings, shape (k, p), at the end of an ascent on given supports."""
        from scipy.optimize import fmin_l_bfgs_b  # imported here, as few fits need it

        V = np.zeros((len(self.cards), len(self.S)))

        def loadings(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            V[self.owner, places] = x
            lengths = np.linalg.norm(V, axis=1, keepdims=True).clip(min=np.finfo(float).tiny)
            return V / lengths, lengths

        own_blocks = self._blocks(places[None])

        def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
            if not self.aim.reconstructs:
                values, gradients = self.criterion.with_gradient(x[None], *own_blocks)
                return -float(values[0]), -gradients[0]
            U, lengths = loadings(x)
            Q, R = np.linalg.qr(U.T)
            image = self.S @ Q
            value = float((Q * image).sum())
            # half the gradient is (SQ - QQ'SQ) R'^-1
            slope = np.linalg.lstsq(R, (image - Q @ (Q.T @ image)).T, rcond=None)[0]
            return -value, (-2.0 * slope / lengths)[self.owner, places]

        bounds = [(0.0, None)] * len(x)
        end = fmin_l_bfgs_b(negative, x, bounds=bounds, factr=1.0, pgtol=1e-10, maxiter=LONG)[0]
        return loadings(np.where(end > NEGLIGIBLE_SHARE * end.max(), end, 0.0))[0]


@dataclass(frozen=True, eq=False)
class _ContrastProblem(_NonnegativeProblem):
    """Components c + e a_i, which become equal as e tends to zero, and other components.

    In the limit, their span is the span of the common part c, which has nonnegative loadings on common
    variables, and of the differences of the a_i, which have any sign on common variables and are nonnegative
    on others. Ascents in c and the a_i are well conditioned; ascents in the components are not.

    Attributes
    ----------
    cards : tuple of int
        The cardinalities of c, of each a_i, and of the other components.
    m : int
        The number of vectors a_i.
    """

    m: int

    @cached_property
    def part(self) -> np.ndarray:
        """The part of each loading, shape (N,): 0 for c, 1 for the a_i, and 2, 3, ... for the others."""
        return np.maximum(self.owner - self.m + 1, (self.owner > 0).astype(int))

    @cached_property
    def member(self) -> np.ndarray:
        """The sign of each loading in c, the differences and the other components, shape (N, k)."""
        return self.span[:, self.owner].T

    @property
    def span(self) -> np.ndarray:
        """Coefficients of c, the a_i and the others in a basis of their limiting span, shape (k, k + 1)."""
        count, m = len(self.cards), self.m
        span = np.eye(count - 1, count)
        span[1:m, m] = -1.0
        span[m:, m:] = np.eye(count - 1 - m, count - m, 1)
        return span

    def _blocks(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        T, M = (self.S @ self.S, self.S) if self.aim.criterion.squares else (self.S, np.eye(len(self.S)))
        return T[places[:, :, None], places[:, None, :]], M[places[:, :, None], places[:, None, :]]

    def _values_and_slopes(
        self, S_blocks: np.ndarray, identity_blocks: np.ndarray, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        return _ratio_and_slope(S_blocks, identity_blocks, x, self.member)

    def _projected(
        self, x: np.ndarray, lower: np.ndarray | float = 0.0, upper: np.ndarray | float = np.inf
    ) -> np.ndarray:
        """Return loadings within bounds, shape (B, N), with each part scaled to unit length."""
        x = np.clip(x, lower, upper)
        of_part = (self.part[:, None] == np.arange(self.part.max() + 1)).astype(float)
        lengths = np.sqrt((x**2 @ of_part).clip(min=np.finfo(float).tiny))
        return np.asarray(x / lengths[:, self.part])


def _ratio_and_slope(
    T: np.ndarray, M: np.ndarray, x: np.ndarray, member: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return tr (W'MW)^-1 W'TW, shape (B,), and half its gradient, (B, N), for W = x member.

    T and M have shape (B, N, N), and `member` has shape (N, k).
    """
    W = x[:, :, None] * member
    TW, MW = T @ W, M @ W
    G = W.mT @ MW
    squares = np.einsum("bii->bi", G)
    sizes = np.sqrt(np.where(squares > 0.0, squares, 1.0))
    scales = sizes[:, :, None] * sizes[:, None, :]
    H = np.linalg.inv(G / scales + INVERSE_RIDGE * np.eye(member.shape[1])) / scales
    N = H @ (W.mT @ TW)
    return np.einsum("bii->b", N), (((TW - MW @ N) @ H) * member).sum(axis=2)


def _concatenation(parts: Sequence[_Ends]) -> _Ends:
    return _Ends(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(_Ends)))


def _unit(x: np.ndarray) -> np.ndarray:
    """Return the rows of x scaled to unit length."""
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))
