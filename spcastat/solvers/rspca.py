"""Components with the largest l1 variance: robust sparse PCA and PCA-L1.

Zhao, Meng and Xu (2014), "Robust sparse principal component analysis", Science China Information Sciences
57: Algorithm 1. Kwak (2008), "Principal component analysis based on L1-norm maximization", IEEE PAMI 30.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Literal

import numpy as np

from spcastat.linalg.operators import Operator, Rows
from spcastat.linalg.thresholds import half, lp
from spcastat.linalg.ties import RELATIVE, first_max, hard, l1_bounded, soft, unit
from spcastat.solvers.solver import Component, ComponentSolver, Earlier

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
    def rule(self, done: int) -> Sparse:
        """Return the SPARSE step of component `done` (from 0): it maps (p, 1) to a unit column (p, 1)."""

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        assert isinstance(view, Rows)
        rng = np.random.default_rng(0) if earlier.rng is None else earlier.rng
        climb = _Climb(view, self.rule(earlier.done), self.max_iter, rng)
        best = climb.climb(start)
        length = float(np.linalg.norm(view.forward(best.w)))  # makes "residual" deflation a projection
        details = {"l1 variance": best.value, "nudges": best.nudges}
        status = "converged" if best.converged else "max_iter"
        return Component(best.w, status, best.steps, best.w * length, details, best.value)


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

    def rule(self, done: int) -> Sparse:
        if self.t is not None:
            return partial(l1_bounded, bound=self.t[done])
        assert self.card is not None
        card = self.card[done]
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

    def rule(self, done: int) -> Sparse:
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
        best: _Summit | None = None
        while True:
            w, value, taken, converged = self._rest(w, self.max_iter - steps)
            steps += taken
            if best is not None and value <= best.value * (1.0 + RELATIVE):
                return _Summit(best.w, best.value, steps, nudges, best.converged)
            best = _Summit(w, value, steps, nudges, converged)
            if not converged or not self._has_kink(w):
                return best
            nudges += 1
            away = np.where(w != 0, self.rng.standard_normal(w.size), 0.0)
            w = w + 1e-3 * away / np.linalg.norm(away)

    def _rest(self, w: np.ndarray, budget: int) -> tuple[np.ndarray, float, int, bool]:
        """Iterate until w does not change, signs recur, or the budget is used up.

        Returns the loadings with the largest l1 variance of all steps, that variance, the number of steps,
        and whether the iteration converged.
        """
        seen: set[bytes] = set()
        best, highest = w, -np.inf
        for step in range(1, max(budget, 1) + 1):
            signs, fingerprint = self._signs(self.view.forward(w))
            new = self._ascend(signs)
            # the mean absolute score
            value = float(self.root @ np.abs(self.view.forward(new))) / self.total_weight
            if value > highest * (1.0 + RELATIVE):
                best, highest = new, value
            # loadings that differ by at most 1e-12 in every entry are the same
            if np.abs(new - w).max() <= 1e-12 or fingerprint in seen:
                return best, highest, step, True
            seen.add(fingerprint)
            w = new
        return best, highest, max(budget, 1), False

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
