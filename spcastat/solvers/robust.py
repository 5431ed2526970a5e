"""Robust PCA: the largest l1 variance, PCA-L1, and the grid algorithm.

Zhao, Meng and Xu (2014), "Robust sparse principal component analysis", Science China Information Sciences
57: Algorithm 1. Kwak (2008), "Principal component analysis based on L1-norm maximization", IEEE PAMI 30.

Croux, Filzmoser and Fritz (2013), "Robust sparse principal component analysis", Technometrics 55; the grid
algorithm is by Croux, Filzmoser and Oliveira (2007).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Literal

import numpy as np

from spcastat.errors import OptionError
from spcastat.linalg.accumulate import blocks
from spcastat.linalg.eigenvectors import NORMAL_MAD, RELATIVE, SUM_ROUNDING, first_max, ranked, top, unit
from spcastat.linalg.operators import Operator, Rows
from spcastat.linalg.thresholds import half, hard, l1_bounded, lp, soft
from spcastat.solvers.solver import Component, ComponentSolver, Earlier

Sparse = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class LargestL1(ComponentSolver):
    """Base class of the l1 methods: iterate w <- SPARSE(sum_i sign(x_i'w) x_i) until w is constant.

    Attributes
    ----------
    max_iter : int
        The largest number of steps from one start.
    deflation : str
        A name in ROW_DEFLATIONS.
    """

    max_iter: int = 1000
    deflation: str = "projection"

    needs = "rows"
    uses_starts = True
    first_start = "ones"
    criterion = "l1 variance: the mean absolute scores on the deflated rows, summed over the components"
    in_variance_units = False
    units = (("l1 variance", 1), ("objective", 1))

    @abstractmethod
    def rule(self, j: int) -> Sparse:
        """Return the SPARSE step of component `j` (from 0), which maps a column (p, 1) to a unit column."""

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        assert isinstance(view, Rows)
        rng = np.random.default_rng(0) if earlier.rng is None else earlier.rng
        climb = _Climb(view, self.rule(earlier.count), self.max_iter, rng)
        summit = climb.climb(start)
        length = float(np.linalg.norm(view.forward(summit.w)))  # makes "residual" deflation a projection
        details = {"l1 variance": summit.value, "nudges": summit.nudges}
        status = "converged" if summit.converged else "max_iter"
        return Component(summit.w, status, summit.steps, summit.w * length, details, summit.value)


@dataclass(frozen=True)
class RSPCA(LargestL1):
    """max sum_i |x_i'w| over sparse unit w, one component after another.

    Attributes
    ----------
    norm : {"l0", "l1", "lp"}
        The constraint that makes w sparse.
    card : tuple of int or None
        Nonzeros of each component. With "l1", the threshold is the (card + 1)-th largest absolute value (the
        card-th in the paper's equation 12 would leave card - 1 nonzeros); with "lp", it is the card-th.
    t : tuple of float or None
        Bounds on the l1 norms, each in [1, sqrt(p)] ("l1" only). With these bounds, and with "l0", the l1
        variance never decreases from step to step. With `card` and "l1" or "lp", the constraint changes in
        each step, so the l1 variance may decrease; the loadings of the step with the largest l1 variance are
        returned.
    p : float
        The exponent of "lp", in (0, 1).
    max_iter, deflation
        As in `LargestL1`.
    """

    norm: Literal["l0", "l1", "lp"] = "l0"
    card: tuple[int, ...] | None = None
    t: tuple[float, ...] | None = None
    p: float = 0.5

    def rule(self, j: int) -> Sparse:
        if self.t is not None:
            return partial(l1_bounded, bound=self.t[j])
        assert self.card is not None
        card = self.card[j]
        if self.norm == "lp":
            return partial(half, card=card) if self.p == 0.5 else partial(lp, card=card, power=self.p)
        return partial(hard if self.norm == "l0" else soft, card=card)


@dataclass(frozen=True)
class PCAL1(LargestL1):
    """PCA-L1: max sum_i |x_i'w| over dense unit w, starting from ordinary PCA, as Kwak (2008) advises.

    Attributes
    ----------
    max_iter, deflation
        As in `LargestL1`.
    """

    first_start = "pca"

    def rule(self, j: int) -> Sparse:
        return unit


@dataclass(frozen=True)
class _Summit:
    """The result of an ascent: loadings w, their l1 variance, and the course of the ascent."""

    w: np.ndarray
    value: float
    steps: int
    nudges: int
    converged: bool


class _Climb:
    """Algorithm 1, steps 2.3 to 2.6, for one component.

    Rows are multiplied by the square roots of their weights (root). With the matrix Y of these rows, sum_i
    weight_i |x_i'w| is root'|Yw| and sum_i weight_i sign(x_i'w) x_i is Y'(root * sign(Yw)).
    """

    def __init__(self, view: Rows, sparse: Sparse, max_iter: int, rng: np.random.Generator):
        self.view = view
        self.sparse = sparse
        self.max_iter = max_iter
        self.rng = rng
        self.root = view.root_weights
        self.total_weight = float(self.root @ self.root)
        variances = view.diagonal()
        self.widest = first_max(variances)
        self.no_direction = 1e-13 * float(np.sqrt(variances.max() * self.total_weight))
        self.no_score = 1e-14 * float(np.sqrt(variances.sum() / view.n))

    def climb(self, w: np.ndarray) -> _Summit:
        """Ascend from `w`, shape (p,).

        The first stopping condition of the paper is that a step changes nothing. The second is that no row
        with a nonzero entry on the support has a score of zero; otherwise the l1 variance has a kink at w,
        which is not a local maximum. In that case w is moved by a random step of length 1e-3 and the ascent
        continues, until this gives no improvement. If earlier signs recur (possible only with a given
        cardinality), the iteration is in a cycle and stops. If the l1 variance may decrease, the best
        loadings are returned.
        """
        nudges, steps = 0, 0
        summit: _Summit | None = None
        while True:
            w, value, step_count, converged = self._iterate(w, self.max_iter - steps)
            steps += step_count
            if summit is not None and value <= summit.value * (1.0 + RELATIVE):
                return _Summit(summit.w, summit.value, steps, nudges, summit.converged)
            summit = _Summit(w, value, steps, nudges, converged)
            if not converged or not self._has_kink(w):
                return summit
            nudges += 1
            away = np.where(w != 0, self.rng.standard_normal(w.size), 0.0)
            w = w + 1e-3 * away / np.linalg.norm(away)

    def _iterate(self, w: np.ndarray, budget: int) -> tuple[np.ndarray, float, int, bool]:
        """Iterate until w does not change, signs recur, or the budget is used up.

        Returns the loadings with the largest l1 variance of all steps, this l1 variance, the number of steps,
        and whether the iteration converged.
        """
        fingerprints: set[bytes] = set()
        best_loadings, highest = w, -np.inf
        for step in range(1, max(budget, 1) + 1):
            signs, fingerprint = self._signs(self.view.forward(w))
            new_loadings = self._ascend(signs)
            # the mean absolute score
            value = float(self.root @ np.abs(self.view.forward(new_loadings))) / self.total_weight
            if value > highest * (1.0 + RELATIVE):
                best_loadings, highest = new_loadings, value
            # loadings that differ by at most 1e-12 in every entry count as the same
            if np.abs(new_loadings - w).max() <= 1e-12 or fingerprint in fingerprints:
                return best_loadings, highest, step, True
            fingerprints.add(fingerprint)
            w = new_loadings
        return best_loadings, highest, max(budget, 1), False

    def _signs(self, scores: np.ndarray) -> tuple[np.ndarray, bytes]:
        """Return the sign of every score (+1 for a score of zero, equation 5) and a hash of the signs."""
        negative = scores < -max(1e-13 * float(np.abs(scores).max()), self.no_score)
        fingerprint = blake2b(np.packbits(negative).tobytes(), digest_size=16).digest()
        return np.where(negative, -1.0, 1.0), fingerprint

    def _ascend(self, signs: np.ndarray) -> np.ndarray:
        """Return the next loadings from the signs of the scores: steps 2.3 to 2.5 of Algorithm 1."""
        direction = self.view.adjoint(self.root * signs)
        if np.abs(direction).max() <= self.no_direction:
            # All scores are zero because w is orthogonal to the data, for instance if w is the vector of ones
            # and all rows have equal sums. Use the variable with the largest variance instead.
            direction = np.zeros(self.view.p)
            direction[self.widest] = 1.0
        return self.sparse(direction[:, None])[:, 0]

    def _has_kink(self, w: np.ndarray) -> bool:
        """Return whether a row with a nonzero entry on the support of w has a score of zero."""
        support = np.flatnonzero(w)
        probes = np.zeros((w.size, 3))
        probes[support] = np.random.default_rng(support.size).standard_normal((support.size, 3))
        reach = np.abs(self.view.forward(probes)).max(axis=1) / np.sqrt(support.size)
        scores = np.abs(self.view.forward(w))
        return bool(np.any((scores <= 1e-12 * reach) & (reach > 1e-12 * reach.max())))


@dataclass(frozen=True)
class SPCAGrid(ComponentSolver):
    """max mad(X a)^2 - penalty |a|_1 over unit a, in the plane of a and one variable at a time.

    Neither the scale nor the loadings depend on the centre of the data. For robust scores, use a robust
    centre, as in ``center=df.median()``. Later components are computed from the deflated rows. (The paper
    instead rotates the data into the orthogonal complement, so that loadings are orthogonal but less sparse.)

    Attributes
    ----------
    card : tuple of int or None
        Nonzeros of each component, obtained with the smallest penalty that gives them (to 1 %). If no penalty
        gives them, the largest loadings of a fit with more nonzeros are kept and computed again.
    penalty : tuple of float or None
        The penalty of each component, in units of a variance.
    grid : int
        The number of angles in a plane. Sweep i tries them on an arc of pi / 2^i around the current angle.
    sweeps : int
        The largest number of sweeps over all variables after the first.
    deflation : str
        A name in ROW_DEFLATIONS.
    """

    card: tuple[int, ...] | None = None
    penalty: tuple[float, ...] | None = None
    grid: int = 25
    sweeps: int = 10
    deflation: str = "projection"

    needs = "rows"
    criterion = "squared scales of the scores on the deflated rows, summed over the components"
    in_variance_units = False
    units = (("penalty", 2), ("robust variance", 2), ("objective", 2))

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        assert isinstance(view, Rows)
        search = _GridSearch(view, self.grid, self.sweeps)
        if self.penalty is not None:
            return self._finish(view, search, search.at(self.penalty[earlier.count]), {})
        assert self.card is not None
        card = self.card[earlier.count]
        direction, hit = _by_card(search, card)
        return self._finish(view, search, direction, {"by penalty": hit})

    def _finish(
        self, view: Rows, search: _GridSearch, direction: _GridDirection, details: dict[str, object]
    ) -> Component:
        details = {"penalty": direction.penalty, **details, "robust variance": direction.variance}
        length = float(np.linalg.norm(view.forward(direction.a)))  # makes "residual" deflation a projection
        return Component(
            direction.a, "converged", direction.sweeps, direction.a * length, details, direction.variance
        )


@dataclass(frozen=True)
class _GridDirection:
    """Loadings, the squared scale of their scores, and the penalty used."""

    a: np.ndarray
    variance: float
    penalty: float
    sweeps: int

    @property
    def card(self) -> int:
        return int(np.count_nonzero(self.a))


def _by_card(search: _GridSearch, card: int) -> tuple[_GridDirection, bool]:
    """Return the loadings with `card` nonzeros, and whether a penalty alone gives this number."""
    if card >= search.view.p:
        direction = search.at(0.0)
        return direction, direction.card == card
    high = search.lone_penalty()
    best_direction: _GridDirection | None = None
    denser: _GridDirection | None = None
    low = high
    for _ in range(40):  # halve the penalty until there are more nonzeros than `card`
        direction = search.at(low)
        if direction.card > card:
            denser = direction
            break
        if direction.card == card:
            best_direction = direction
        high, low = low, 0.5 * low
    # bisection ends when the bracket of the penalty is narrower than 1 % of its upper end
    while denser is not None and high - low > 1e-2 * high:
        middle = 0.5 * (low + high)
        direction = search.at(middle)
        if direction.card > card:
            low, denser = middle, direction
        else:
            high = middle
            if direction.card == card:
                best_direction = direction
    if best_direction is not None:
        return best_direction, True
    if denser is None:  # even without a penalty there are fewer nonzeros
        return search.at(0.0), False
    support = np.flatnonzero(top(np.abs(denser.a), card))
    direction = search.at(denser.penalty, support)
    return (direction if direction.card == card else search.truncated(denser, support)), False


class _GridSearch:
    """The grid algorithm on the rows of one view."""

    def __init__(self, view: Rows, grid: int, sweeps: int):
        self.view = view
        self.grid = grid
        self.sweeps = sweeps
        self.rows, self.root = _whole_rows(view)
        self.cached_columns: np.ndarray | None = None
        if len(self.rows) * view.p <= 4_000_000:  # all columns fit in memory
            self.cached_columns = self.columns(np.arange(view.p))
        scales = np.concatenate([self.variances(self.columns(J)) for J in self._chunks(np.arange(view.p), 1)])
        self.single = scales
        self.order = ranked(scales, np.abs(view.leading(1)[1][:, 0]))  # PCA breaks ties of scaled variables
        if not scales.max() > 0:
            raise OptionError(
                "The median absolute deviation of every variable is zero (after deflation), since too many "
                "of its values are equal: remove such variables, or leave method out."
            )

    def columns(self, J: np.ndarray) -> np.ndarray:
        """Return the values of the variables J of the view, shape (len(J), n)."""
        if self.cached_columns is not None:
            return self.cached_columns[J]
        return self.view.values(J)[self.rows].T / self.root

    def variances(self, Z: np.ndarray) -> np.ndarray:
        """Return the squared scales along the last axis."""
        return mad(Z) ** 2

    def _chunks(self, J: np.ndarray, angles: int) -> list[np.ndarray]:
        return [J[block] for block in blocks(len(J), len(self.rows) * angles)]

    def in_plane(self, y: np.ndarray, Z: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """Return the squared scale of y cos + z sin for every z and angle, shape (len(Z), len(angles))."""
        c, s = np.cos(angles), np.sin(angles)
        return self.variances(y * c[:, None] + Z[:, None, :] * s[:, None])

    def lone_penalty(self) -> float:
        """Return a penalty that leaves about one nonzero.

        The penalty is the largest gain in variance from a second nonzero, relative to the increase of the l1
        norm.
        """
        leading_variable = self.order[0]
        y = self.columns(np.array([leading_variable]))[0]
        half = 0.5 * np.pi * 0.5 ** np.arange(1, 12)
        angles = np.concatenate([half, -half])
        price = np.cos(angles) + np.abs(np.sin(angles)) - 1.0
        largest_gain = 0.0
        for J in self._chunks(np.delete(np.arange(self.view.p), leading_variable), len(angles)):
            gain = self.in_plane(y, self.columns(J), angles) - self.single[leading_variable]
            largest_gain = max(largest_gain, float((gain / price).max()))
        return 1.01 * largest_gain if largest_gain > 0 else float(self.single[leading_variable])

    def truncated(self, direction: _GridDirection, support: np.ndarray) -> _GridDirection:
        """Set the loadings of all variables not in `support` to zero, and rescale to unit length."""
        a = np.zeros_like(direction.a)
        a[support] = direction.a[support] / np.linalg.norm(direction.a[support])
        scores = self.view.forward(a)[self.rows] / self.root
        return _GridDirection(a, float(self.variances(scores)), direction.penalty, direction.sweeps)

    def at(self, penalty: float, among: np.ndarray | None = None) -> _GridDirection:
        """Search with one penalty; if `among` is given, only on these variables and without a penalty."""
        order = self.order if among is None else self.order[np.isin(self.order, among)]
        price = penalty if among is None else 0.0
        state = _ComponentIterate(self, order, price)
        values: list[float] = []
        while len(values) <= self.sweeps:
            state.sweep(order, np.pi * 0.5 ** len(values), not values)
            values.append(float(self.variances(state.y)) - price * float(np.abs(state.a).sum()))
            # sweeps end when a sweep increases the criterion by at most a millionth of the largest variance
            # of a variable
            if len(values) > 2 and values[-1] - values[-2] <= 1e-6 * float(self.single.max()):
                break
        return _GridDirection(state.a, float(self.variances(state.y)), penalty, len(values))


class _ComponentIterate:
    """The current loadings a and scores y."""

    def __init__(self, search: _GridSearch, order: np.ndarray, price: float):
        self.search = search
        self.price = price
        self.a = np.zeros(search.view.p)
        self.a[order[0]] = 1.0
        self.y = search.columns(order[:1])[0]

    def sweep(self, order: np.ndarray, arc: float, is_first: bool) -> None:
        """Rotate the loadings towards each variable in turn, by the best angle of the arc."""
        search = self.search
        self.a /= np.linalg.norm(self.a)
        self.y = search.view.forward(self.a)[search.rows] / search.root
        steps = np.linspace(-0.5, 0.5, search.grid)
        steps = arc * (steps[:-1] if is_first else steps)
        # After the first sweep, variables with a zero loading are tried only at a few angles.
        trial_steps = steps if is_first else 0.5 * arc * np.array([1.0, -1.0, 1 / 3, -1 / 3, 1 / 9, -1 / 9])
        trial_steps = trial_steps[np.abs(trial_steps) > 1e-9]
        for J in search._chunks(order, len(trial_steps)):
            Z = search.columns(J)
            turning_mask = self.gains(Z, trial_steps) | (self.a[J] != 0)
            for j, z in zip(J[turning_mask], Z[turning_mask], strict=True):
                if abs(self.a[j]) < 1.0 - 1e-12:
                    self._turn(j, z, steps)

    def gains(self, Z: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """Return a mask of the variables whose zero loadings could change with a gain in the criterion."""
        level = float(self.search.variances(self.y))
        size = float(np.abs(self.a).sum())
        price = self.price * (size * np.cos(angles) + np.abs(np.sin(angles)) - size)
        return (self.search.in_plane(self.y, Z, angles) - price).max(axis=1) > level * (1.0 + SUM_ROUNDING)

    def _turn(self, j: int, z: np.ndarray, steps: np.ndarray) -> None:
        loading, other_loadings = float(self.a[j]), self.a.copy()
        other_loadings[j] = 0.0
        other_length = np.linalg.norm(other_loadings)
        other_loadings /= other_length
        y = (self.y - loading * z) / other_length
        present_angle = float(np.arcsin(loading))
        angles = np.concatenate(
            [[0.0, present_angle], present_angle + steps]
        )  # a zero loading first, then the current angle
        size = float(np.abs(other_loadings).sum())
        price = self.price * (size * np.abs(np.cos(angles)) + np.abs(np.sin(angles)))
        values = self.search.in_plane(y, z[None], angles)[0] - price
        slack = SUM_ROUNDING * abs(float(values.max()))
        best_index = int(np.argmax(values > values.max() - slack))
        c, s = float(np.cos(angles[best_index])), float(np.sin(angles[best_index]))
        self.a = c * other_loadings
        self.a[j] = s
        self.y = c * y + s * z


def mad(Z: np.ndarray) -> np.ndarray:
    """Return the median absolute deviation along the last axis, scaled to the normal distribution."""
    away = np.abs(Z - _median(Z)[..., None])
    return _median(away) / NORMAL_MAD


def _median(Z: np.ndarray) -> np.ndarray:
    n = Z.shape[-1]
    parted = np.partition(Z, n // 2, axis=-1)
    upper = parted[..., n // 2]
    return upper if n % 2 else 0.5 * (parted[..., : n // 2].max(axis=-1) + upper)


def _whole_rows(view: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the rows, repeated by weight, and the factors that multiply the rows.

    The factors satisfy factor^2 = weight / (sum of the weights - 1).
    """
    squares = view.root_weights**2
    weights = squares / (squares.sum() - 1.0)
    whole_weights = np.round(weights)
    if np.abs(weights - whole_weights).max() > 1e-6:
        raise OptionError(
            "weights that are not whole numbers were given; a robust scale needs whole numbers (how often "
            "each row counts). Round or multiply them, or use another method."
        )
    rows = np.repeat(np.arange(view.n), whole_weights.astype(int))
    return rows, view.root_weights[rows]
