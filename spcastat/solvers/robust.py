"""Robust PCA: the largest l1 variance, PCA-L1, the grid algorithm, R1-PCA, and absolute deviations.

Zhao, Meng and Xu (2014), "Robust sparse principal component analysis", Science China Information Sciences
57: Algorithm 1. Kwak (2008), "Principal component analysis based on L1-norm maximization", IEEE PAMI 30.

Croux, Filzmoser and Fritz (2013), "Robust sparse principal component analysis", Technometrics 55; the grid
algorithm is that of Croux, Filzmoser and Oliveira (2007).

Ding, Zhou, He and Zha (2006), "R1-PCA: rotational invariant L1-norm principal component analysis for robust
subspace factorization", Proceedings of the 23rd International Conference on Machine Learning.

Ke and Kanade (2005), "Robust L1 norm factorization in the presence of outliers and missing data by
alternative convex programming", IEEE Conference on Computer Vision and Pattern Recognition: section 3.

Zhao, Meng, Xu and Gao (2015), "A block coordinate descent approach for sparse principal component analysis",
Neurocomputing 153, propose absolute deviations with sparse loadings in their outlook, without an algorithm:
the blocks and starting values of bcd-lad are choices of this package.
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
from spcastat.linalg.eigenvectors import orthonormalise, symmetric, top_eigh
from spcastat.linalg.operators import Operator, Rows
from spcastat.linalg.regression import least_absolute, weighted_median
from spcastat.linalg.standardisation import SCALES
from spcastat.linalg.thresholds import half, lp
from spcastat.linalg.ties import RELATIVE, first_max, hard, l1_bounded, ranked, soft, top, unit
from spcastat.solvers.solver import Component, ComponentSolver, Earlier, JointSolver, Solution

Sparse = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class LargestL1(ComponentSolver):
    """Base class of the methods: iterate w <- SPARSE(sum_i sign(x_i'w) x_i) until w does not change.

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
        """Return the SPARSE step of component `j` (from 0): it maps (p, 1) to a unit column (p, 1)."""

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
        Nonzeros of each component. With "l1" the threshold is the (card + 1)-th largest absolute value
        (the paper's equation 12, with the card-th, would leave card - 1), with "lp" the card-th.
    t : tuple of float or None
        Bounds on the l1 norms, each in [1, sqrt(p)] ("l1" only). The l1 variance then never decreases from
        step to step, and neither does it with "l0". With `card` and "l1" or "lp" the constraint changes in
        each step, so the l1 variance may decrease; the loadings of the step with the largest are returned.
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
    """The result of an ascent: loadings w, their l1 variance, and how it ended."""

    w: np.ndarray
    value: float
    steps: int
    nudges: int
    converged: bool


class _Climb:
    """Algorithm 1, steps 2.3 to 2.6, for one component.

    Rows are multiplied by the square root of their weight: with the matrix Y of these rows,
    sum_i weight_i |x_i'w| is root'|Yw| and sum_i weight_i sign(x_i'w) x_i is Y'(root * sign(Yw)).
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
        with a nonzero entry on the support has a score of zero: there the l1 variance has a kink, and w is
        not a local maximum. In that case w is moved by a random step of length 1e-3 and the ascent
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

        Returns the loadings with the largest l1 variance of all steps, that variance, the number of steps,
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
            # loadings that differ by at most 1e-12 in every entry are the same
            if np.abs(new_loadings - w).max() <= 1e-12 or fingerprint in fingerprints:
                return best_loadings, highest, step, True
            fingerprints.add(fingerprint)
            w = new_loadings
        return best_loadings, highest, max(budget, 1), False

    def _signs(self, scores: np.ndarray) -> tuple[np.ndarray, bytes]:
        """Return the sign of every score (+1 for a score of zero: equation 5), and a hash of the signs."""
        negative = scores < -max(1e-13 * float(np.abs(scores).max()), self.no_score)
        fingerprint = blake2b(np.packbits(negative).tobytes(), digest_size=16).digest()
        return np.where(negative, -1.0, 1.0), fingerprint

    def _ascend(self, signs: np.ndarray) -> np.ndarray:
        """Return the next loadings from the signs of the scores: steps 2.3 to 2.5 of Algorithm 1."""
        direction = self.view.adjoint(self.root * signs)
        if np.abs(direction).max() <= self.no_direction:
            # All scores are zero: w is orthogonal to the data, as the vector of ones is if all rows have
            # equal sums. Use the variable with the largest variance instead.
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


#: Smallest improvement by an angle that counts, as a share of the variance.
ANGLE_GAIN = 1e-12


@dataclass(frozen=True)
class SPCAGrid(ComponentSolver):
    """max scale(X a)^2 - penalty |a|_1 over unit a, in the plane of a and one variable at a time.

    Neither the scale nor the loadings depend on the centre of the data. For robust scores use a robust
    centre, as in ``center=df.median()``. Later components are computed from the deflated rows. (The paper
    rotates the data into the orthogonal complement instead, so that loadings are orthogonal but less
    sparse.)

    Attributes
    ----------
    card : tuple of int or None
        Nonzeros of each component, by the smallest penalty that gives them (to 1 %). If there is none, the
        largest loadings of a fit with more nonzeros are kept and computed again.
    penalty : tuple of float or None
        The penalty of each component, in units of a variance.
    spread : {"mad", "sd", "qn"}
        The estimator of scale: median absolute deviation, standard deviation, or Qn (Rousseeuw and Croux
        1993; the slowest).
    grid : int
        The number of angles in a plane. Sweep i tries them on an arc of pi / 2^i around the current angle.
    sweeps : int
        The largest number of sweeps over all variables after the first.
    deflation : str
        A name in ROW_DEFLATIONS.
    """

    card: tuple[int, ...] | None = None
    penalty: tuple[float, ...] | None = None
    spread: Literal["mad", "sd", "qn"] = "mad"
    grid: int = 25
    sweeps: int = 10
    deflation: str = "projection"

    needs = "rows"
    criterion = "squared scales of the scores on the deflated rows, summed over the components"
    in_variance_units = False
    units = (("penalty", 2), ("robust variance", 2), ("objective", 2))

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        assert isinstance(view, Rows)
        search = _GridSearch(view, self.spread, self.grid, self.sweeps)
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
    """Loadings, the squared scale of their scores, and the penalty with which they were found."""

    a: np.ndarray
    variance: float
    penalty: float
    sweeps: int

    @property
    def card(self) -> int:
        return int(np.count_nonzero(self.a))


def _by_card(search: _GridSearch, card: int) -> tuple[_GridDirection, bool]:
    """Return the loadings with `card` nonzeros, and whether a penalty alone gives them."""
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

    def __init__(self, view: Rows, spread: str, grid: int, sweeps: int):
        self.view = view
        self.spread = spread
        self.grid = grid
        self.sweeps = sweeps
        self.rows, self.root = _whole_rows(view)
        self.cached_columns: np.ndarray | None = None
        if len(self.rows) * view.p <= 4_000_000:  # small enough to keep all columns in memory
            self.cached_columns = self.columns(np.arange(view.p))
        scales = np.concatenate([self.variances(self.columns(J)) for J in self._chunks(np.arange(view.p), 1)])
        self.single = scales
        self.order = ranked(scales, np.abs(view.leading(1)[1][:, 0]))  # PCA breaks ties of scaled variables
        if not scales.max() > 0:
            raise OptionError(
                f"spread={spread!r} is zero for every variable (of what deflation left): too many of their "
                "values coincide. Use another of 'mad', 'qn' and 'sd', or leave such variables out."
            )

    def columns(self, J: np.ndarray) -> np.ndarray:
        """Return the variables J of the view, shape (len(J), n)."""
        if self.cached_columns is not None:
            return self.cached_columns[J]
        return self.view.values(J)[self.rows].T / self.root

    def variances(self, Z: np.ndarray) -> np.ndarray:
        """Return the squared scales along the last axis."""
        return SCALES[self.spread](Z) ** 2

    def _chunks(self, J: np.ndarray, angles: int) -> list[np.ndarray]:
        # About a million values are processed at a time
        return [J[block] for block in blocks(len(J), len(self.rows) * angles, 1_000_000)]

    def in_plane(self, y: np.ndarray, Z: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """Return the squared scale of y cos + z sin for every z and angle, shape (len(Z), len(angles))."""
        c, s = np.cos(angles), np.sin(angles)
        if self.spread == "sd":
            dy, dZ = y - y.mean(), Z - Z.mean(axis=1, keepdims=True)
            products = np.column_stack([np.einsum("ij,ij->i", dZ, dZ), dZ @ dy]) / (len(y) - 1)
            variance_of_y = float(dy @ dy) / (len(y) - 1)
            return (
                variance_of_y * c**2 + 2.0 * np.outer(products[:, 1], c * s) + np.outer(products[:, 0], s**2)
            )
        return self.variances(y * c[:, None] + Z[:, None, :] * s[:, None])

    def lone_penalty(self) -> float:
        """Return a penalty that leaves about one nonzero.

        It is the largest gain in variance from a second nonzero, per increase of the l1 norm.
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
        """Search with one penalty; if `among` is given, on these variables only and without a penalty."""
        order = self.order if among is None else self.order[np.isin(self.order, among)]
        price = penalty if among is None else 0.0
        state = _ComponentIterate(self, order, price)
        values: list[float] = []
        while len(values) <= self.sweeps:
            state.sweep(order, np.pi * 0.5 ** len(values), not values)
            values.append(float(self.variances(state.y)) - price * float(np.abs(state.a).sum()))
            # sweeps end when one increases the criterion by at most a millionth of the largest variance of a
            # variable
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
        """Rotate a towards each variable in turn, by the best angle of the arc."""
        search = self.search
        self.a /= np.linalg.norm(self.a)
        self.y = search.view.forward(self.a)[search.rows] / search.root
        steps = np.linspace(-0.5, 0.5, search.grid)
        steps = arc * (steps[:-1] if is_first else steps)
        # After the first sweep, variables with a zero loading are tried at a few angles only.
        trial_steps = steps if is_first else 0.5 * arc * np.array([1.0, -1.0, 1 / 3, -1 / 3, 1 / 9, -1 / 9])
        trial_steps = trial_steps[np.abs(trial_steps) > 1e-9]
        for J in search._chunks(order, len(trial_steps)):
            Z = search.columns(J)
            turning_mask = self.gains(Z, trial_steps) | (self.a[J] != 0)
            for j, z in zip(J[turning_mask], Z[turning_mask], strict=True):
                if abs(self.a[j]) < 1.0 - 1e-12:
                    self._turn(j, z, steps)

    def gains(self, Z: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """Return for each variable whether turning its loading from zero by an angle raises the criterion."""
        level = float(self.search.variances(self.y))
        size = float(np.abs(self.a).sum())
        price = self.price * (size * np.cos(angles) + np.abs(np.sin(angles)) - size)
        return (self.search.in_plane(self.y, Z, angles) - price).max(axis=1) > level * (1.0 + ANGLE_GAIN)

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
        slack = ANGLE_GAIN * abs(float(values.max()))
        best_index = int(np.argmax(values > values.max() - slack))
        c, s = float(np.cos(angles[best_index])), float(np.sin(angles[best_index]))
        self.a = c * other_loadings
        self.a[j] = s
        self.y = c * y + s * z


def _whole_rows(view: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the rows, repeated by weight, and the factors by which they were multiplied.

    The weights follow from factor^2 = weight / (sum of the weights - 1).
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


# --- R1-PCA ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class R1PCA(JointSolver):
    """min sum_i loss(|x_i - UU'x_i|) over orthonormal U, p x k: all k components at once, dense.

    The loss grows linearly with the length of a residual; that of PCA grows quadratically. So a row has the
    weight 1 / length. The update is U <- orth(C U), where C is the covariance matrix of the rows with the
    weights of their current residuals; it never increases the criterion. The components are the
    eigenvectors of C in the subspace of U, in the order of their eigenvalues, the weighted variances. The
    subspace and the components rotate with the data. The first k of k + 1 components differ from those of a
    fit with k.

    The paper claims a unique solution, but the criterion has local minima: if outlying rows determine a
    direction of PCA, a descent from PCA's subspace stays near it. ``n_init=10`` also tries other subspaces
    and uses the best.

    Scores are projections. Explained variance is that of all rows, with full weight for outlying rows, and
    is at most that of PCA.

    Rows are centred at their mean by default. ``center=df.median()`` gives robust scores, and residuals from
    a robust centre.

    Attributes
    ----------
    loss : {"huber", "l1"}
        Huber's loss is quadratic up to the cutoff, the median length of PCA's residuals, so that all rows
        closer than that have the same weight. "l1" is the length itself (quadratic only up to a millionth of
        that median): a few rows may then lie in the subspace and determine it.
    tol : float
        Converged when no basis vector of the new subspace leaves the old one by more than this.
    max_iter : int
        The largest number of steps from one start.
    """

    loss: Literal["huber", "l1"] = "huber"
    tol: float = 1e-9
    max_iter: int = 5000

    needs = "rows"
    uses_starts = True
    criterion = "mean length of the residuals, short ones by Huber's loss"
    in_variance_units = False
    own_order = True  # weighted variances
    units = (("weighted variance", 2), ("cutoff", 1), ("objective", 1))

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        assert isinstance(op, Rows)
        rows = _Residuals(op, op.leading(k)[1], self.loss)
        runs = [self._descend(rows, np.linalg.qr(start.T)[0]) for start in starts]
        values = np.array([rows.mean_loss(U) for U, _, _ in runs])
        best_index = first_max(-values)
        U, steps, converged = runs[best_index]
        V, variances = rows.axes(U)
        details = {"weighted variance": variances.tolist(), "cutoff": [rows.cutoff] * k}
        status = "converged" if converged else "max_iter"
        return Solution(V, status, steps, float(values[best_index]), values, details)

    def _descend(self, rows: _Residuals, U: np.ndarray) -> tuple[np.ndarray, int, bool]:
        """Descend from the subspace of U, shape (p, k); return the subspace, steps, and convergence."""
        for step in range(1, self.max_iter + 1):
            previous_basis, U = U, np.linalg.qr(rows.covariance_times(U)[0])[0]
            if np.abs(U - previous_basis @ (previous_basis.T @ U)).max() <= self.tol:
                return U, step, True
        return U, self.max_iter, False


class _Residuals:
    """The rows with the lengths, weights and losses of their residuals.

    The rows of the operator are multiplied by the square root of their weight in the data.
    """

    def __init__(self, op: Rows, pca: np.ndarray, loss: str):
        self.op = op
        self.counts = op.root_weights**2
        self.squares = self._by_blocks(np.zeros((op.n, 0)), np.zeros((op.p, 0)))
        lengths = self.lengths(op.forward(pca), pca)
        typical = float(weighted_median(lengths, self.counts))
        mean_square = float(self.counts @ lengths**2 / self.counts.sum())
        row = float(np.sqrt(self.squares.sum() / self.counts.sum()))
        sharp = 1e-6 * (typical if typical > 0 else np.sqrt(mean_square))
        # residuals below 1e-12 of the typical length of a row are rounding
        self.cutoff = max(typical if loss == "huber" else 0.0, sharp, 1e-12 * row)

    def lengths(self, scores: np.ndarray, U: np.ndarray) -> np.ndarray:
        """Return the length of the residual of each row from the subspace of U, shape (p, k)."""
        squares = self.squares - (scores**2).sum(axis=1)
        if (squares < 1e-3 * self.squares).any():  # the difference loses digits by cancellation
            squares = self._by_blocks(scores, U)
        return np.sqrt(np.divide(squares, self.counts, out=np.zeros(self.op.n), where=self.counts > 0))

    def _by_blocks(self, scores: np.ndarray, U: np.ndarray) -> np.ndarray:
        """Compute the squared residuals for a block of variables at a time."""
        squares = np.zeros(self.op.n)
        # a block has about a million values
        for block in blocks(self.op.p, self.op.n, 1_000_000):
            J = np.arange(self.op.p)[block]
            squares += ((self.op.values(J) - scores @ U[J].T) ** 2).sum(axis=1)
        return squares

    def mean_loss(self, U: np.ndarray) -> float:
        """Return the criterion: the mean of Huber's loss divided by the cutoff."""
        lengths, cutoff = self.lengths(self.op.forward(U), U), self.cutoff
        losses = np.where(lengths <= cutoff, 0.5 * lengths**2 / cutoff, lengths - 0.5 * cutoff)
        return float(self.counts @ losses / self.counts.sum())

    def covariance_times(self, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return C U and U'C U, where C is the covariance matrix with the weights of the residuals."""
        scores = self.op.forward(U)
        weights = 1.0 / np.maximum(self.lengths(scores, U), self.cutoff)
        weights /= self.counts @ weights / self.counts.sum()
        weighted = (weights * scores.T).T
        return self.op.adjoint(weighted), scores.T @ weighted

    def axes(self, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvectors of C in the subspace of U, shape (p, k), and the eigenvalues."""
        inner = self.covariance_times(U)[1]
        values, turn = top_eigh(symmetric(inner), U.shape[1])
        return U @ turn, values


# --- the L1 factor model --------------------------------------------------------------------------


@dataclass(frozen=True)
class L1Factor(JointSolver):
    """min |X - U V'|_1, the sum over all entries, U n x k and V p x k: all k components at once, dense.

    With V fixed each row is a least absolute deviations regression, with U fixed each variable is; the two
    are solved exactly, in turn, by weighted medians. No step increases the criterion. Single outlying
    entries have little influence, whereas a method that weights whole rows loses the rest of the row, too.

    The loadings are the right singular vectors of the fitted matrix U V', in the order of its singular
    values, so they span the same space as the columns of V. As for every method, scores are projections
    (not the U of the regressions), and explained variance is that of the projections. If the best fit has
    fewer than k dimensions (it may be zero if most values are equal), the other loadings are PCA's.

    Variables are weighted by their mean absolute values: use ``scale=True`` or a robust scale for variables
    in different units. Columns are centred at their means by default; ``center=df.median()`` is robust.
    Missing values, which the authors' program leaves out of the sum, are not accepted.

    The descent ends when neither U nor V alone can be improved, usually after a few sweeps. This need not be
    a local minimum over both: ``n_init=10`` searches further.

    Attributes
    ----------
    start : {"pca", "column", "ones"}, or array of shape (p, k)
        Starting values: PCA's loadings, the longest columns of the data, equal loadings, or given loadings.
        The default, PCA's loadings, is a choice of this package.
    tol : float
        Converged when a sweep over rows and variables reduces the criterion by at most this share.
    max_iter : int
        The largest number of sweeps from one start.
    """

    tol: float = 1e-10
    max_iter: int = 1000

    needs = "rows"
    uses_starts = True
    criterion = "mean absolute residual of the entries"
    in_variance_units = False
    own_order = True  # singular values
    units = (("singular value", 1), ("objective", 1))

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        assert isinstance(op, Rows)
        problem = _Entries(op)
        runs = [self._descend(problem, np.linalg.qr(start.T)[0]) for start in starts]
        values = np.array([problem.loss(problem.X - fitted) for fitted, _, _ in runs])
        best_index = first_max(-values)
        fitted, steps, converged = runs[best_index]
        V, sizes = problem.axes(fitted, k)
        basis = orthonormalise(np.column_stack([V, op.leading(k)[1]]))[0]
        V = basis[:, basis.any(axis=0)][:, :k]
        details = {"singular value": np.pad(sizes, (0, k - len(sizes))).tolist()}
        status = "converged" if converged else "max_iter"
        return Solution(V, status, steps, float(values[best_index]), values, details)

    def _descend(self, problem: _Entries, V: np.ndarray) -> tuple[np.ndarray, int, bool]:
        """Descend from the span of V, shape (p, k); return the fitted matrix, sweeps, and convergence."""
        fitted, value = (V @ least_absolute(V, problem.X.T)).T, np.inf
        for sweep in range(1, self.max_iter + 1):
            U = np.linalg.qr(fitted @ V)[0]  # an orthonormal basis of the columns of `fitted`
            fitted = problem.best_rows(fitted, problem.by_columns(U), 0)
            V = np.linalg.qr(fitted.T @ U)[0]
            fitted = problem.best_rows(fitted, (V @ least_absolute(V, problem.X.T)).T, 1)
            previous_value, value = value, problem.loss(problem.X - fitted)
            if previous_value - value <= self.tol * value:
                return fitted, sweep, True
        return fitted, self.max_iter, False


class _Entries:
    """The rows X of positive weight, and these weights, divided by their mean."""

    def __init__(self, op: Rows):
        weighted_rows = np.flatnonzero(op.root_weights)
        self.root = op.root_weights[weighted_rows]
        self.X = op.values(np.arange(op.p))[weighted_rows] / self.root[:, None]
        self.counts = self.root**2 / np.mean(self.root**2)

    def loss(self, residuals: np.ndarray) -> float:
        """Return the mean absolute residual."""
        return float(self.counts @ np.abs(residuals).mean(axis=1) / self.counts.sum())

    def by_columns(self, U: np.ndarray) -> np.ndarray:
        """Return the best fitted matrix with columns in the span of U, shape (n, k)."""
        counts = self.counts[:, None]
        return np.asarray(U @ least_absolute(counts * U, counts * self.X))

    def best_rows(self, fitted: np.ndarray, alternative: np.ndarray, axis: int) -> np.ndarray:
        """Return the better of two fitted matrices, for each row (axis 1) or each column (axis 0)."""
        counts = self.counts[:, None] if axis == 0 else 1.0
        lost = [
            (counts * np.abs(self.X - candidate)).sum(axis=axis, keepdims=True)
            for candidate in (fitted, alternative)
        ]
        return np.where(lost[1] < lost[0], alternative, fitted)

    def axes(self, fitted: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the right singular vectors of a fitted matrix, at most k columns, and the singular values.

        Rows are weighted, so that a singular value is the standard deviation of fitted scores.
        """
        values, vectors = np.linalg.svd(self.root[:, None] * fitted, full_matrices=False)[1:]
        nonzero_values = np.flatnonzero(values[:k] > 1e-10 * values[0])
        return vectors[nonzero_values].T, values[nonzero_values]


# --- absolute deviations with sparse loadings -----------------------------------------------------


@dataclass(frozen=True)
class BCDLAD(JointSolver):
    """min |X - U V'|_1, the sum over all entries, over V, p x k, with `card` nonzeros in each column.

    This is bcd-l0 with absolute instead of squared residuals, so that single outlying entries, and rows of
    them, have little influence. For one component with U fixed, the loading of each variable is a weighted
    median, and the loadings that reduce the sum most are kept: the exact minimum for a given number of
    nonzeros. With V fixed, each row of U is a least absolute deviations regression on all components. No
    step increases the criterion. The starting components are found one after another, each from the
    variable, among the 50 with the largest mean absolute values, that leads to the smallest sum. Nothing
    is random.

    As for every method, scores are projections (not U), and explained variance is that of the projections.
    If all cardinalities are equal, components are ordered by their mean absolute scores in U. A loading
    whose optimal value is zero stays zero ("card hit"), which happens if most values are equal.

    Variables are weighted by their mean absolute values: use ``scale=True`` or a robust scale for variables
    in different units. Columns are centred at their means by default; ``center=df.median()`` is robust.

    Attributes
    ----------
    card : tuple of int
        Nonzeros of each component.
    tol : float
        Converged when a sweep over the components reduces the criterion by at most this share.
    max_iter : int
        The largest number of sweeps.
    """

    card: tuple[int, ...]
    tol: float = 1e-10
    max_iter: int = 1000

    needs = "rows"
    criterion = "mean absolute residual of the entries"
    in_variance_units = False
    own_order = True  # mean absolute scores
    units = (("mean absolute score", 1), ("objective", 1))

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        assert isinstance(op, Rows)
        blocks = _AbsoluteResiduals(op)
        U, V = blocks.starts(self.card)
        status, value, sweep = "max_iter", np.inf, 0
        while sweep < self.max_iter and status == "max_iter":
            for c, card in enumerate(self.card):
                residual = blocks.X - np.delete(U, c, axis=1) @ np.delete(V, c, axis=1).T
                U[:, c], V[:, c] = blocks.step(residual, U[:, c], card)
            U = blocks.scores(U, V)
            previous_value, value, sweep = value, blocks.loss(blocks.X - U @ V.T), sweep + 1
            if previous_value - value <= self.tol * value:
                status = "converged"
        sizes = blocks.counts @ np.abs(U) / blocks.counts.sum()
        order = ranked(sizes) if len(set(self.card)) == 1 else np.arange(k)
        details = {"mean absolute score": sizes[order].tolist()}
        return Solution(V[:, order], status, sweep, value, np.array([value]), details)


class _AbsoluteResiduals(_Entries):
    """Steps that reduce the absolute residuals, for one component or for the scores of all."""

    def starts(self, cards: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return starting values of U and V, found one component after another."""
        residual, U, V = self.X, [], []
        for card in cards:
            ends = []
            for j in ranked(self.counts @ np.abs(residual))[:50]:
                u = residual[:, j]
                # three iterations from each starting variable
                for _ in range(3):
                    u, v = self.step(residual, u, card)
                ends.append((self.loss(residual - np.outer(u, v)), u))
            u = ends[first_max(-np.array([loss for loss, _ in ends]))][1]
            for _ in range(20):
                u, v = self.step(residual, u, card)
            residual = residual - np.outer(u, v)
            U.append(u)
            V.append(v)
        return np.column_stack(U), np.column_stack(V)

    def step(self, residual: np.ndarray, u: np.ndarray, card: int) -> tuple[np.ndarray, np.ndarray]:
        """Update unit loadings, then scores, of one component, given the `residual` of the others."""
        previous_loss = self.counts @ np.abs(residual)
        v = _medians(residual.T, u, self.counts)
        gains = previous_loss - self.counts @ np.abs(residual - np.outer(u, v))
        # loadings below 1e-12 of the largest are rounding errors of zero
        v = np.where(top(gains, card) & (np.abs(v) > 1e-12 * np.abs(v).max()), v, 0.0)
        if not v.any():  # no loading reduces the residuals
            v[first_max(previous_loss)] = 1.0
        v /= np.linalg.norm(v)
        J = np.flatnonzero(v)
        return _medians(residual[:, J], v[J], np.ones(J.size)), v

    def scores(self, U: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the best scores of all components together for loadings V."""
        J = np.flatnonzero(V.any(axis=1))
        if not orthonormalise(V)[0].any(axis=0).all():  # linearly dependent loadings
            return U
        best_U = least_absolute(V[J], self.X[:, J].T).T
        lost = [np.abs(self.X - scores @ V.T).sum(axis=1, keepdims=True) for scores in (U, best_U)]
        return np.where(lost[1] < lost[0], best_U, U)


def _medians(B: np.ndarray, a: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return, for every row of B, shape (r, m), the number x that minimises counts'|row - x a|."""
    ratios = np.divide(B, a, out=np.zeros(B.shape), where=a != 0)
    return weighted_median(ratios, counts * np.abs(a))
