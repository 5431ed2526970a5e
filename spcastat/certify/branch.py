"""Branch and bound for max lambda_max(S[J, J]) over supports J of at most c variables."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from spcastat.certify.bounds import (
    eigenvalue_bound,
    enlarged,
    gershgorin_bound,
    lanczos_bound,
    shift_to_definite,
    split_bound,
    trace_bound,
)
from spcastat.certify.clock import PASS, STEP, Clock
from spcastat.certify.node import SHARES, SPLIT_ORDER, Node, examine
from spcastat.kernels.eig import EPS
from spcastat.progress import Advance, stage
from spcastat.solvers.optimality import EXACT
from spcastat.solvers.support_search import SEEDS, SWEEPS, best_support, improve_support

#: The relative tolerance that the search aims for, slightly smaller.
TARGET = 8e-10
#: A heuristic search for a good support always runs with up to SMALL variables; with more, only if there is
#: time for FEW starts.
SMALL, FEW = 1000, 10

Callback = Callable[[int], None]


class Stopped(Exception):
    """Ends a search; the argument is the reason."""


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
    def told(self) -> str:
        """The kind of proof, and in parentheses what ended the search."""
        return self.argument + (f" ({self.stopped})" if self.stopped else "")

    @property
    def closed(self) -> bool:
        """Whether value and bound agree to the tolerance `EXACT`."""
        return self.bound <= self.value * (1.0 + EXACT)

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

    must = np.arange(0) if must is None else must
    proof = Proof(bound=known, argument="leading eigenvalue")
    return searched(
        proof,
        lambda steps: _Search(S, min(c, len(S)), steps, must).run(support),
        time_limit,
        max_nodes,
        callback,
    )


@dataclass
class Steps:
    """A proof, and the limits of its search, to be checked before each node."""

    proof: Proof
    clock: Clock
    max_nodes: float
    callback: Callback | None
    advance: Advance

    def check(self) -> None:
        if not self.clock.runs():
            raise Stopped("time limit")

    def node(self) -> None:
        """Count a node, unless a limit is reached."""
        if self.callback is not None:
            self.callback(self.proof.nodes)
        if self.proof.nodes >= self.max_nodes:
            raise Stopped("node limit")
        self.check()
        self.count(1)

    def count(self, nodes: int) -> None:
        self.proof.nodes += nodes
        self.advance(nodes)


def searched(
    proof: Proof,
    search: Callable[[Steps], None],
    time_limit: float,
    max_nodes: int | None,
    callback: Callback | None,
    name: str = "branch and bound",
) -> Proof:
    """Run a search until it ends, or a limit or Ctrl-C stops it; return `proof`, which the search updates.

    `name` is the name of the stage in progress reports; `prove` describes the limits and `callback`.
    """
    begun = time.perf_counter()
    most = np.inf if max_nodes is None else max_nodes
    with stage(name, unit="nodes") as advance:
        try:
            search(Steps(proof, Clock(begun + time_limit), most, callback, advance))
        except Stopped as stop:
            proof.stopped = str(stop)
        except KeyboardInterrupt:
            proof.stopped = "interrupted"
    proof.seconds = time.perf_counter() - begun
    return proof


class _Search:
    """One run of `prove`; S is scaled so that the largest variance is one, and shifted to be semidefinite."""

    def __init__(self, S: np.ndarray, c: int, steps: Steps, must: np.ndarray):
        self.S, self.c, self.steps, self.must, self.shift = S, c, steps, must, 0.0
        self.proof, self.clock = steps.proof, steps.clock

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
        proof.lower(c * float(np.abs(S).max()) * (1.0 + 4.0 * EPS) * self.scale, "largest entry")
        if support is not None and support.size:
            self._take(support)
        if c == p:
            self._leading()
            proof.argument = "full cardinality"
            self._take(np.arange(p))
            return
        definite = self.clock.affords(2.0 * p**3)
        shift = shift_to_definite(S) if definite else 4.0 * (p + 2) * EPS * float(np.diag(S).sum())
        highest = trace_bound(variances / self.scale + shift, c)
        proof.lower(highest * self.scale, "sum of the largest variances")
        self.steps.check()
        if self.clock.affords(10.0 * PASS * p**2, 4):
            proof.lower(gershgorin_bound(S, c) * self.scale, "Gershgorin")
            self.steps.check()
        self._leading()
        self.steps.check()
        seeds = SEEDS if p <= SMALL else int(min(SEEDS, STEP / 2 * self.clock.rate / (4.0 * p**2)))
        cost = 4.0 * p**2 * seeds * SWEEPS
        affordable = p <= SMALL or (seeds >= FEW and self.clock.affords(cost, 2 * SWEEPS))
        if affordable and not self.must.size:  # `best_support` has no option for required variables
            self._take(best_support(S, c, running=self.clock.runs, seeds=seeds)[1])
        if proof.closed:
            return
        self.steps.check()
        if p <= SPLIT_ORDER and self.clock.affords(16.0 * p**3, 4):
            proof.lower(split_bound(S, c, SHARES[::3]) * self.scale, "split matrix")
        self.steps.check()
        if not definite:
            raise Stopped("time limit")
        self.S, self.shift = S + shift * np.eye(p), shift
        self._deepen()

    def _leading(self) -> None:
        """Bound by the leading eigenvalue, computed by Lanczos iterations if LAPACK would take too long."""
        p = len(self.S)
        dense = self.clock.affords(4.0 * p**3)
        bound = eigenvalue_bound(self.S) if dense else lanczos_bound(self.S.dot, p, self.clock.runs)
        self.proof.lower(bound * self.scale, "leading eigenvalue")

    def _take(self, support: np.ndarray) -> None:
        block = self.S[np.ix_(support, support)]
        value = float(np.linalg.eigvalsh(block)[-1]) - self.shift
        self.proof.raise_to(value * self.scale, support)

    def _deepen(self) -> None:
        """Try to prove, with more and more nodes, that no support is better; lower the bound in between."""
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
        """Return True if no support exceeds `bound`, None if a better support was found and stored.

        Return False if this is still undecided after `budget` nodes.
        """
        c, p = self.c, len(self.S)
        level = (bound / self.scale + self.shift) * (1.0 - 1e-13 * (c + 1) - 4.0 * EPS * c * c)
        stack = [Node(self.must, np.setdiff1d(np.arange(p), self.must))]
        left = budget
        while stack:
            if left <= 0:
                return False
            if not self.clock.affords(12.0 * p**3 if p <= SPLIT_ORDER else 2.0 * p**3, 12):
                raise Stopped("time limit")
            self.steps.node()
            left -= 1
            children, found = examine(self.S, stack.pop(), c, level)
            if found is not None:
                before = self.proof.value
                self._take(found if self.must.size else improve_support(self.S, found, c))
                if not self.proof.value > before:
                    raise Stopped("rounding")
                return None
            stack += children
        return True
