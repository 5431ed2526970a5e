"""Branch and bound for max lambda_max(S[J, J]) over supports J of at most c variables."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from spcastat.certify.bounds import (
    EPS,
    eigenvalue_bound,
    enlarged,
    gershgorin_bound,
    shift_to_definite,
    split_bound,
    trace_bound,
)
from spcastat.certify.clock import PASS, STEP, Clock
from spcastat.certify.node import SHARES, SPLIT_ORDER, Node, examine
from spcastat.kernels.eig import top_lanczos
from spcastat.operators.covariance_operator import lanczos_start
from spcastat.progress import Advance, stage
from spcastat.solvers.support_search import SEEDS, SWEEPS, best_support, improve_support

#: "Optimal" means proven to this relative tolerance.
OPTIMAL = 1e-9
#: The relative tolerance that the search aims for, slightly smaller.
TARGET = 8e-10
#: Relative allowance added to a leading eigenvalue from Lanczos iterations, which is more precise than this.
LANCZOS = 1e-9
#: Up to order SMALL a support is always searched for; above it only if time allows FEW starts.
SMALL, FEW = 1000, 10

Callback = Callable[[int], None]


class _Stopped(Exception):
    """The limit of time or nodes is reached; the argument says which."""


@dataclass
class Proof:
    """The best known support and the best proven bound, valid at any time during the search.

    Attributes
    ----------
    value : float
        The largest eigenvalue of the best known support.
    support : ndarray of int
    bound : float
        A proven bound: no support of at most c variables has a larger eigenvalue.
    argument : str
        The kind of proof of the bound.
    nodes : int
    seconds : float
    stopped : str
        The reason if the search ended before the proof was complete, else empty.
    """

    value: float = 0.0
    support: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))
    bound: float = np.inf
    argument: str = ""
    nodes: int = 0
    seconds: float = 0.0
    stopped: str = ""

    @property
    def closed(self) -> bool:
        """Whether value and bound agree to the tolerance `OPTIMAL`."""
        return self.bound <= self.value * (1.0 + OPTIMAL)

    def lower(self, bound: float, argument: str) -> None:
        """Store a proven bound if it is better."""
        if bound < self.bound:
            self.bound, self.argument = bound, argument

    def raise_to(self, value: float, support: np.ndarray) -> None:
        """Store a support if it is better."""
        if value > self.value:
            self.value, self.support = value, np.sort(support)


def prove(
    S: np.ndarray,
    c: int,
    *,
    support: np.ndarray | None = None,
    time_limit: float = 60.0,
    max_nodes: int | None = None,
    callback: Callback | None = None,
    known: float = np.inf,
    must: np.ndarray | None = None,
) -> Proof:
    """Find the best support of at most `c` variables, with a proven upper bound.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Symmetric, positive semidefinite up to rounding.
    c : int
        From 1 to p.
    support : ndarray of int or None
        An initial support of at most c variables.
    time_limit : float
        In seconds, zero or more. Steps that would take longer are skipped.
    max_nodes : int or None
        The largest number of nodes of the branch and bound.
    callback : callable or None
        Called with the number of nodes before each node.
    known : float
        A bound already proven, such as that of the matrix before deflation.
    must : ndarray of int or None
        Variables that every support must contain; `support` must contain them, too.

    Returns
    -------
    Proof
        If a limit or Ctrl-C (KeyboardInterrupt) ended the search, it has the bounds proven until then.
    """
    begun = time.perf_counter()
    proof = Proof()
    proof.lower(known, "leading eigenvalue")
    most = np.inf if max_nodes is None else max_nodes
    with stage("branch and bound", unit="nodes") as advance:
        try:
            given = np.arange(0) if must is None else must
            clock = Clock(begun + time_limit)
            _Search(S, min(c, len(S)), proof, clock, most, callback, advance, given).run(support)
        except _Stopped as stop:
            proof.stopped = str(stop)
        except KeyboardInterrupt:
            proof.stopped = "interrupted"
    proof.seconds = time.perf_counter() - begun
    return proof


@dataclass(eq=False)
class _Search:
    """One run of `prove`; S is scaled so that the largest variance is one, and shifted to be semidefinite."""

    S: np.ndarray
    c: int
    proof: Proof
    clock: Clock
    max_nodes: float
    callback: Callback | None
    advance: Advance
    must: np.ndarray = field(default_factory=lambda: np.arange(0))
    shift: float = 0.0

    def run(self, support: np.ndarray | None) -> None:
        S, c, proof, p = self.S, self.c, self.proof, len(self.S)
        variances = np.diag(S)
        self.scale = float(variances.max())
        if not self.scale > 0.0:
            proof.lower(max(self.scale, 0.0), "no variance left")
            proof.support = self.must if self.must.size else np.array([0])
            return
        if not self.must.size:
            proof.raise_to(self.scale, np.array([int(np.argmax(variances))]))
        self.S = S = (0.5 / self.scale) * (S + S.T)
        if c == self.must.size:
            self._take(self.must)
            proof.lower(enlarged(proof.value, c), "the only support")
            return
        if c == 1:
            proof.lower(self.scale * (1.0 + 4.0 * EPS), "largest variance")
            return
        self._root("largest entry", c * float(np.abs(S).max()) * (1.0 + 4.0 * EPS))
        if support is not None and support.size:
            self._take(support)
        if c == p:
            self._leading()
            proof.argument = "full cardinality"
            self._take(np.arange(p))
            return
        definite = self.clock.affords(2.0 * p**3)
        shift = shift_to_definite(S) if definite else 4.0 * (p + 2) * EPS * float(np.diag(S).sum())
        self._root("sum of the largest variances", trace_bound(variances / self.scale + shift, c))
        self._check()
        if self.clock.affords(10.0 * PASS * p**2, 4):
            self._root("Gershgorin", gershgorin_bound(S, c))
            self._check()
        self._leading()
        self._check()
        seeds = SEEDS if p <= SMALL else int(min(SEEDS, STEP / 2 * self.clock.rate / (4.0 * p**2)))
        cost = 4.0 * p**2 * seeds * SWEEPS
        affordable = p <= SMALL or (seeds >= FEW and self.clock.affords(cost, 2 * SWEEPS))
        if affordable and not self.must.size:  # `best_support` has no option for required variables
            self._take(best_support(S, c, running=self.clock.runs, seeds=seeds)[1])
        if proof.closed:
            return
        self._check()
        if p <= SPLIT_ORDER and self.clock.affords(16.0 * p**3, 4):
            self._root("split matrix", split_bound(S, c, SHARES[::3]))
        self._check()
        if not definite:
            raise _Stopped("time limit")
        self.S, self.shift = S + shift * np.eye(p), shift
        self._deepen()

    def _leading(self) -> None:
        """Bound by the leading eigenvalue, computed by Lanczos iterations if LAPACK would take too long."""
        p = len(self.S)
        if self.clock.affords(4.0 * p**3):
            self._root("leading eigenvalue", eigenvalue_bound(self.S))
            return

        def product(v: np.ndarray) -> np.ndarray:
            self._check()
            return np.asarray(self.S @ v)

        value = float(top_lanczos(product, p, 1, lanczos_start(p, 0))[0][0])
        self._root("leading eigenvalue", enlarged(value * (1.0 + LANCZOS), p))

    def _root(self, argument: str, bound: float) -> None:
        self.proof.lower(bound * self.scale, argument)

    def _take(self, support: np.ndarray) -> None:
        block = self.S[np.ix_(support, support)]
        value = float(np.linalg.eigvalsh(block)[-1]) - self.shift
        self.proof.raise_to(value * self.scale, support)

    def _check(self) -> None:
        if self.clock.over:
            raise _Stopped("time limit")

    def _deepen(self) -> None:
        """Try to rule out improvements with more and more nodes; tighten the bound in between."""
        proof, budget = self.proof, 64.0
        while True:
            target = proof.value * (1.0 + TARGET)
            verdict = self._refute(target, budget)
            if verdict is None and proof.closed:
                return
            if verdict is True:
                proof.lower(target, "exhaustive branch and bound")
                return
            for _ in range(2):
                middle = 0.5 * (proof.value + proof.bound)
                if verdict is None or not self._refute(middle, budget):
                    break
                proof.lower(middle, "branch and bound")
            if verdict is False:
                budget *= 4

    def _refute(self, bound: float, budget: float) -> bool | None:
        """Return True if no support exceeds `bound`, False if undecided, None if a better one was found."""
        c = self.c
        level = (bound / self.scale + self.shift) * (1.0 - 1e-13 * (c + 1) - 4.0 * EPS * c * c)
        everything = np.arange(len(self.S))
        stack = [Node(self.must, np.setdiff1d(everything, self.must))]
        left = budget
        while stack:
            if left <= 0:
                return False
            self._step()
            left -= 1
            children, found = examine(self.S, stack.pop(), c, level)
            if found is not None:
                before = self.proof.value
                self._take(found if self.must.size else improve_support(self.S, found, c))
                if not self.proof.value > before:
                    raise _Stopped("rounding")
                return None
            stack += children
        return True

    def _step(self) -> None:
        if self.callback is not None:
            self.callback(self.proof.nodes)
        if self.proof.nodes >= self.max_nodes:
            raise _Stopped("node limit")
        self._check()
        p = len(self.S)
        if not self.clock.affords(12.0 * p**3 if p <= SPLIT_ORDER else 2.0 * p**3, 12):
            raise _Stopped("time limit")
        self.proof.nodes += 1
        self.advance(1)
