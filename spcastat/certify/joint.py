"""A proven bound for all components of a fit together."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spcastat.certify.adjusted_bounds import Sequence
from spcastat.certify.best_met import Leaves
from spcastat.certify.clock import Clock, formed
from spcastat.certify.orthogonal_bounds import Orthogonal, OrthogonalLeaves
from spcastat.certify.projection_bounds import Projection
from spcastat.certify.relaxed import Relaxed
from spcastat.certify.root import RootBound, root_bound, sparse_eigenvalues
from spcastat.certify.tuples import Stop, Tuples
from spcastat.kernels.ties import RELATIVE
from spcastat.measures import MEASURES, best_order
from spcastat.operators import Operator
from spcastat.progress import stage
from spcastat.search.rule import SupportRule
from spcastat.state.proven import UNRULED

#: "Optimal" means proven to this relative tolerance: what the search tries to prove, and a little more.
OPTIMAL, TARGET = 1e-4, 9e-5
#: Above this many variables the covariance matrix is not formed.
DENSE_VARIABLES = 2000

#: From this many choices of supports, up to this many variables, and with this many seconds left, the
#: default search looks for a better fit first: the better the fit that is known, the more can be closed.
CHOICES, IMPROVED, PATIENCE = 10_000, 60, 2.0

Callback = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class JointCertificate:
    """How good a fit is as a whole, proven; all figures are shares of the total variance.

    Attributes
    ----------
    measure : {"pev", "adjusted", "least_squares"}
    cardinalities : tuple of int
    value : float
        The measure of the fit.
    upper_bound : float
        Proven: no loadings with as many nonzeros have more, in whatever order the components come.
    pca_bound : float
        What as many dense principal components explain: never below `upper_bound`.
    gap : float
        By how much the bound exceeds the value, in percent of the value.
    optimal : bool
        Whether that is at most 0.01 percent.
    proof : str
        What gave the bound; and, in parentheses, what ended the search before the proof was complete.
    nodes, open : int
        Nodes that were looked at, and those still open at the end.
    seconds : float
    best_known : float
        The largest measure that was met.
    V : ndarray of shape (p, k)
        The loadings that have it.
    """

    measure: str
    cardinalities: tuple[int, ...]
    value: float
    upper_bound: float
    pca_bound: float
    gap: float
    optimal: bool
    proof: str
    nodes: int
    open: int
    seconds: float
    best_known: float
    V: np.ndarray


def certify_joint(
    op: Operator,
    V: np.ndarray,
    measure: str,
    *,
    orthogonal: bool = False,
    pca: np.ndarray | None = None,
    time_limit: float = 60.0,
    max_nodes: int | None = None,
    callback: Callback | None = None,
    rule: SupportRule | None = None,
) -> JointCertificate:
    """Bound what k components with the cardinalities of these loadings can explain together.

    Parameters
    ----------
    op : Operator
        The covariance matrix.
    V : ndarray of shape (p, k)
        Unit-length loadings.
    measure : {"pev", "adjusted", "least_squares"}
    orthogonal : bool
        Whether the loadings are orthonormal, and compared with such alone; for PEV.
    pca : ndarray of shape (k,), optional
        Its largest eigenvalues, where they are known.
    time_limit : float
        Seconds.
    max_nodes : int or None
        Nodes of the search, at most.
    callback : callable or None
        Called with the number of nodes between steps.
    rule : SupportRule, optional
        The supports that the loadings are compared with. `proof` says where the bound is one without it.

    Returns
    -------
    JointCertificate
        Where limits or Ctrl-C (KeyboardInterrupt) ended the search, with the bound proven by then.
    """
    begun = time.perf_counter()
    cards = tuple(max(int(c), 1) for c in np.count_nonzero(V, axis=0))
    value = float(MEASURES[measure](V, op)[-1])
    eigenvalues = op.leading(min(len(cards), op.p))[0] if pca is None else pca
    root = root_bound(op, cards, measure, eigenvalues)
    search = _Search(op, V, measure, orthogonal, cards, value, root, rule)
    if measure == "adjusted" and rule is None:
        search.reorder()
    if search.root.bound > value * (1.0 + TARGET):
        search.run(Clock(begun + time_limit), np.inf if max_nodes is None else max_nodes, callback)
    root, best, tuples = search.root, search.best, search.tuples
    bound = min(max(root.bound, best), max(root.pca, best))
    gap, optimal = verdict(value, bound)
    return JointCertificate(
        measure,
        cards,
        value,
        bound,
        max(root.pca, bound),
        gap,
        optimal,
        root.proof if search.ruled else f"{root.proof}, {UNRULED}",
        0 if tuples is None else tuples.nodes,
        0 if tuples is None or tuples.open is None else len(tuples.open),
        time.perf_counter() - begun,
        best,
        search.V,
    )


class _Search:
    """One run: the bounds that need the covariance matrix, then the search over supports."""

    def __init__(
        self,
        op: Operator,
        V: np.ndarray,
        measure: str,
        orthogonal: bool,
        cards: tuple[int, ...],
        value: float,
        root: RootBound,
        rule: SupportRule | None = None,
    ):
        self.rule = rule
        self.ruled = rule is None
        self.op = op
        self.V = V
        self.measure = measure
        self.orthogonal = orthogonal
        self.cards = cards
        self.value = self.best = value
        self.root = root
        self.leaves: Leaves | OrthogonalLeaves | None = None
        self.tuples: Tuples | None = None

    def reorder(self) -> None:
        """Go on from the components in the order in which they have the largest adjusted variance."""
        V = self.V[:, best_order(self.op.products(self.V))]
        value = float(MEASURES[self.measure](V, self.op)[-1])
        if value > self.best * (1.0 + RELATIVE):
            self.V, self.best = V, value
            self.cards = tuple(max(int(c), 1) for c in np.count_nonzero(V, axis=0))

    def run(self, clock: Clock, max_nodes: float, callback: Callback | None) -> None:
        stopped = "interrupted"
        with stage("joint proof", unit="nodes") as advance:

            def step(count: int) -> None:
                if callback is not None and self.tuples is not None:
                    callback(self.tuples.nodes)
                advance(count)

            try:
                self._bound(clock, max_nodes, step)
                stopped = ""
            except Stop as stop:
                stopped = str(stop)
            except KeyboardInterrupt:
                pass
        if self.leaves is not None:
            found = float(MEASURES[self.measure](self.leaves.V, self.op)[-1])
            if found > self.best:
                self.best, self.V = found, self.leaves.V
        if self.tuples is not None:
            self.root.lower(self.tuples.bound, self.tuples.argument)
        if stopped:
            self.root.proof += f" ({stopped})"

    def _bound(self, clock: Clock, max_nodes: float, step: Callable[[int], None]) -> None:
        if self.op.p > DENSE_VARIABLES:
            raise Stop("too many variables for a search")
        if not self.V.any(axis=0).all():
            raise Stop("a component without loadings")
        S = formed(self.op, clock)
        if S is None:
            raise Stop("time limit")
        S = S / self.op.total
        if self.orthogonal or (self.measure == "adjusted" and len(self.cards) == 1):
            self.root.lower(sparse_eigenvalues(S, self.cards, clock), "sum of sparse eigenvalues")
        problem = relaxed(S, self.cards, self.measure, self.orthogonal)
        if self.rule is not None and not self.orthogonal:
            self.ruled = problem.under(self.rule, self.cards)
        left_out = 0.0
        if isinstance(problem, Sequence) and not problem.free and 1 < problem.k > problem.m:
            level = self.best * (1.0 + TARGET)
            problem.prepare(self.V, level, clock)
            self.root.lower(problem.dense(), "multiplier of orthogonality")
            if self.root.bound <= level:
                return
            left_out = level
        if not (problem.m or problem.cards):
            raise Stop(problem.unsearched)
        self.leaves = OrthogonalLeaves(S, self.V) if self.orthogonal else Leaves(S, self.V, self.measure)
        self.tuples = Tuples(
            problem,
            max(self.value, self.leaves.value),
            TARGET,
            lambda: not clock.over,
            self.leaves.climb,
            max_nodes,
            step,
        )
        self.tuples.begin()
        self.tuples.closed = max(self.tuples.closed, left_out)
        if problem.choices > CHOICES and len(S) <= IMPROVED and clock.left > PATIENCE:
            self.tuples.value = max(self.tuples.value, self.leaves.improve(self.op, self.cards, self.rule))
        self.tuples.run()


def verdict(value: float, bound: float) -> tuple[float, bool]:
    """Return by how much a bound exceeds a value, in percent of it, and whether that proves it optimal."""
    gap = 100.0 * (bound - value) / value if value > 0 else (0.0 if bound <= 0 else np.inf)
    return float(gap), bool(bound <= value * (1.0 + OPTIMAL))


def relaxed(S: np.ndarray, cards: tuple[int, ...], measure: str, orthogonal: bool = False) -> Relaxed:
    """Return the problem of "pev", "adjusted" or "least_squares", or of PEV of orthogonal loadings."""
    if orthogonal:
        return Orthogonal(S, cards)
    return Sequence(S, cards) if measure == "adjusted" else Projection(S, cards, measure)
