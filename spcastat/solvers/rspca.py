"""Components of largest l1 variance: robust sparse PCA and PCA-L1.

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

from spcastat.kernels.lp_thresholds import half, lp
from spcastat.kernels.ties import first_max, hard, l1_bounded, soft, unit
from spcastat.operators import Operator, Rows
from spcastat.solvers.solver import Component, ComponentSolver, Earlier

#: Scores below this share of the largest (or of what other loadings give the row) are zero.
ZERO_SCORE = 1e-13
#: Two loadings that nowhere differ by more than this are the same.
SAME = 1e-12
#: Length of the step away from loadings at which rows have a score of zero.
NUDGE = 1e-3
#: A start must beat the ones before it by this share.
BETTER = 1e-10

Sparse = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class LargestL1(ComponentSolver):
    """What the methods share: w -> SPARSE(sum_i sign(x_i'w) x_i) until w stays.

    Attributes
    ----------
    max_iter : int
        Steps from one start, at most.
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
        """Return the SPARSE step of the component after `done` others: (p, 1) to unit columns (p, 1)."""

    def component(self, view: Operator, earlier: Earlier, start: np.ndarray) -> Component:
        assert isinstance(view, Rows)
        rng = np.random.default_rng(0) if earlier.rng is None else earlier.rng
        climb = _Climb(view, self.rule(earlier.done), self.max_iter, rng)
        best = climb.climb(start)
        length = float(np.linalg.norm(view.forward(best.w)))  # so that "residual" is "projection" here
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
        Nonzeros of each component. Under "l1" the threshold is the (card + 1)-th largest absolute value
        (the paper's equation 12 at the card-th would leave card - 1), under "lp" the card-th.
    t : tuple of float or None
        Bounds on the l1 norms, each in [1, sqrt(p)] ("l1" only): then the l1 variance never falls from one
        step to the next, as it never does under "l0". With `card` under "l1" and "lp" the constraint changes
        with each step, and it may: of the loadings that the iteration passes those of the largest l1
        variance are kept.
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
    """PCA-L1: max sum_i |x_i'w| over unit w, dense; starts from ordinary PCA, as Kwak (2008) advises.

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
    """Where a climb ended."""

    w: np.ndarray
    value: float
    steps: int
    nudges: int
    converged: bool


class _Climb:
    """Algorithm 1, steps 2.3 to 2.6, for one component.

    Rows come times the square root of their weight, so that sum_i weight_i |x_i'w| is root'|Yw| and
    sum_i weight_i sign(x_i'w) x_i is Y'(root * sign(Yw)).
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
        """Return the summit above `w`, shape (p,).

        The first stopping condition of the paper is that a step changes nothing. The second is that no row
        with a nonzero entry on the support has a score of zero, for there the l1 variance has a kink and
        w is not a local maximum: then w is nudged at random and climbs on, until that gains nothing more.
        Signs that come back after more than one step (possible under a preset cardinality only) are a
        cycle. Where the l1 variance may fall from step to step, the best loadings passed count.
        """
        nudges, steps = 0, 0
        best: _Summit | None = None
        while True:
            w, value, taken, converged = self._rest(w, self.max_iter - steps)
            steps += taken
            if best is not None and value <= best.value * (1.0 + BETTER):
                return _Summit(best.w, best.value, steps, nudges, best.converged)
            best = _Summit(w, value, steps, nudges, converged)
            if not converged or not self._has_kink(w):
                return best
            nudges += 1
            away = np.where(w != 0, self.rng.standard_normal(w.size), 0.0)
            w = w + NUDGE * away / np.linalg.norm(away)

    def _rest(self, w: np.ndarray, budget: int) -> tuple[np.ndarray, float, int, bool]:
        """Step until w stays, signs come back, or the budget is used up.

        Returns the loadings of the largest l1 variance that a step led to, that variance, the steps
        taken, and whether the iteration came to rest.
        """
        seen: set[bytes] = set()
        best, highest = w, -np.inf
        for step in range(1, max(budget, 1) + 1):
            signs, fingerprint = self._signs(self.view.forward(w))
            new = self._ascend(signs)
            value = self._value(new)
            if value > highest * (1.0 + BETTER):
                best, highest = new, value
            if np.abs(new - w).max() <= SAME or fingerprint in seen:
                return best, highest, step, True
            seen.add(fingerprint)
            w = new
        return best, highest, max(budget, 1), False

    def _signs(self, scores: np.ndarray) -> tuple[np.ndarray, bytes]:
        """Return the polarity of every row (+1 for a score of zero: equation 5), and its fingerprint."""
        negative = scores < -max(ZERO_SCORE * float(np.abs(scores).max()), self.no_score)
        fingerprint = blake2b(np.packbits(negative).tobytes(), digest_size=16).digest()
        return np.where(negative, -1.0, 1.0), fingerprint

    def _ascend(self, signs: np.ndarray) -> np.ndarray:
        """Return SPARSE(AUGMENT(w, X)): step 2.3 to 2.5."""
        direction = self.view.adjoint(self.root * signs)
        if np.abs(direction).max() <= self.no_direction:
            # Every score was zero: w lies off the data, as the all-ones vector does where rows have equal
            # sums. The variable of the largest variance lies in them.
            direction = np.zeros(self.view.p)
            direction[self.widest] = 1.0
        return self.sparse(direction[:, None])[:, 0]

    def _value(self, w: np.ndarray) -> float:
        """Return the mean absolute score."""
        return float(self.root @ np.abs(self.view.forward(w))) / self.total_weight

    def _has_kink(self, w: np.ndarray) -> bool:
        """Say whether a row with a nonzero entry on the support of w has a score of zero."""
        support = np.flatnonzero(w)
        probes = np.zeros((w.size, 3))
        probes[support] = np.random.default_rng(support.size).standard_normal((support.size, 3))
        reach = np.abs(self.view.forward(probes)).max(axis=1) / np.sqrt(support.size)
        scores = np.abs(self.view.forward(w))
        return bool(np.any((scores <= 1e-12 * reach) & (reach > 1e-12 * reach.max())))
