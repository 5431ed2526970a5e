"""A proven bound for all components of a fit jointly."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from spcastat.certify.adjusted_bounds import Sequence
from spcastat.certify.best_met import Leaves
from spcastat.certify.branch import Callback, Steps, Stopped, searched
from spcastat.certify.clock import Clock, formed
from spcastat.certify.orthogonal_bounds import Orthogonal, OrthogonalLeaves
from spcastat.certify.partitions import partition_bound
from spcastat.certify.projection_bounds import Projection
from spcastat.certify.relaxed import Relaxed
from spcastat.certify.root import RootBound, root_bound, sparse_eigenvalues
from spcastat.certify.tuples import Tuples
from spcastat.kernels.ties import RELATIVE
from spcastat.measures import MEASURES, best_order
from spcastat.operators import Operator
from spcastat.search.all_partitions import MOST
from spcastat.search.partition import partition
from spcastat.search.rule import SupportRule
from spcastat.state.record import PARTITIONS, UNRULED

#: "Optimal" means proven to the relative tolerance OPTIMAL; the search aims for TARGET.
OPTIMAL, TARGET = 1e-4, 9e-5
#: Partitions are searched only if there is more time than this, in seconds.
SEARCH = 5.0


@dataclass(frozen=True, eq=False)
class JointCertificate:
    """A proven bound for a fit as a whole; all values are shares of the total variance.

    Attributes
    ----------
    measure : {"pev", "adjusted", "least_squares"}
    cardinalities : tuple of int
    value : float
        The measure of the fit.
    upper_bound : float
        A proven bound: no loadings with these cardinalities, in any order, have a larger value.
    pca_bound : float
        The share explained by the first k dense principal components: never below `upper_bound`.
    gap : float
        The difference of bound and value in percent of the value.
    optimal : bool
        Whether the gap is at most 0.01 percent.
    proof : str
        The kind of proof, and in parentheses what ended the search if the proof is not complete.
    nodes, open : int
        The number of nodes examined, and of nodes still open at the end.
    seconds : float
    best_known : float
        The largest value of the measure that was found.
    V : ndarray of shape (p, k)
        The loadings with that value.
    """

    measure: str
    cardinalities: tuple[int, ...]
    value: float
    upper_bound: float
    pca_bound: float
    gap: float = field(init=False)
    optimal: bool = field(init=False)
    proof: str
    nodes: int
    open: int
    seconds: float
    best_known: float
    V: np.ndarray

    def __post_init__(self) -> None:
        for name, found in zip(("gap", "optimal"), verdict(self.value, self.upper_bound), strict=True):
            object.__setattr__(self, name, found)


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
        Whether the loadings are orthonormal and are compared only with orthonormal loadings; for PEV.
    pca : ndarray of shape (k,), optional
        The largest eigenvalues of the covariance matrix, if known.
    time_limit : float
        In seconds.
    max_nodes : int or None
        The largest number of nodes of the search.
    callback : callable or None
        Called with the number of nodes between steps.
    rule : SupportRule, optional
        The supports with which the loadings are compared. If the bound does not use the rule, `proof` says
        so.

    Returns
    -------
    JointCertificate
        If a limit or Ctrl-C (KeyboardInterrupt) ended the search, it has the bound proven until then.
    """
    begun = time.perf_counter()
    cards = tuple(np.count_nonzero(V, axis=0).clip(min=1).tolist())
    value = float(MEASURES[measure](V, op)[-1])
    eigenvalues = op.leading(min(len(cards), op.p))[0] if pca is None else pca
    root = root_bound(op, cards, measure, eigenvalues)
    search = _Search(op, V, measure, orthogonal, value, root, rule, ruled=rule is None, best=value)
    if measure == "adjusted" and rule is None:
        search.reorder()
    if root.bound > value * (1.0 + TARGET):
        left = begun + time_limit - time.perf_counter()
        searched(root, search.run, left, max_nodes, callback, "joint proof")
    tuples = search.tuples
    search.finish()
    best = search.best
    bound = min(max(root.bound, best), max(root.pca, best))
    return JointCertificate(
        measure,
        cards,
        value,
        bound,
        max(root.pca, bound),
        root.told if search.ruled else f"{root.told}, {UNRULED}",
        root.nodes,
        0 if tuples is None or tuples.open is None else len(tuples.open),
        time.perf_counter() - begun,
        best,
        search.V,
    )


@dataclass(eq=False)
class _Search:
    """One run: the bounds that need the covariance matrix, then the search over supports."""

    op: Operator
    V: np.ndarray
    measure: str
    orthogonal: bool
    value: float
    root: RootBound
    rule: SupportRule | None
    ruled: bool
    best: float
    leaves: Leaves | None = None
    tuples: Tuples | None = None

    def reorder(self) -> None:
        """Put the components in the order with the largest adjusted variance."""
        V = self.V[:, best_order(self.op.products(self.V))]
        value = float(MEASURES[self.measure](V, self.op)[-1])
        if value > self.best * (1.0 + RELATIVE):
            self.V, self.best = V, value

    def run(self, steps: Steps) -> None:
        if self.op.p > 2000:
            raise Stopped("too many variables for a search")
        if not self.V.any(axis=0).all():
            raise Stopped("a component without loadings")
        clock, cards = steps.clock, tuple(np.count_nonzero(self.V, axis=0).tolist())
        S = formed(self.op, clock)
        if S is None:
            raise Stopped("time limit")
        S = S / self.op.total
        if self.orthogonal or (self.measure == "adjusted" and len(cards) == 1):
            self.root.lower(sparse_eigenvalues(S, cards, clock), "sum of sparse eigenvalues")
        problem = relaxed(S, cards, self.measure, self.orthogonal)
        if self.rule is not None and not self.orthogonal:
            self.ruled = problem.under(self.rule, cards)
        left_out = 0.0
        if isinstance(problem, Sequence) and not problem.free and problem.k > problem.m:
            level = self.best * (1.0 + TARGET)
            problem.prepare(self.V, level, clock)
            self.root.lower(problem.dense(), "multiplier of orthogonality")
            if self.root.bound <= level:
                return
            left_out = level  # supports that `prepare` excluded can reach this value
        if not (problem.m or problem.cards):
            raise Stopped("free components" if problem.free else "too many supports")

        def step(count: int) -> None:
            steps.count(count)
            if steps.callback is not None:
                steps.callback(self.root.nodes)

        self.leaves = (OrthogonalLeaves if self.orthogonal else Leaves)(S, self.V, self.measure)
        self.tuples = Tuples(
            problem,
            max(self.value, self.leaves.value),
            TARGET,
            clock.runs,
            self.leaves.climb,
            steps.max_nodes,
            step,
        )
        self.tuples.begin()
        self.tuples.closed = max(self.tuples.closed, left_out)
        # with many choices of supports, a better fit lets the search exclude more of them
        if problem.choices > 10_000 and len(S) <= 60 and clock.left > 2.0:
            self.tuples.value = max(self.tuples.value, self.leaves.improve(self.op, cards, self.rule))
        self.tuples.run()

    def finish(self) -> None:
        """Add the results of the search over supports."""
        if self.leaves is not None:
            found = float(MEASURES[self.measure](self.leaves.V, self.op)[-1])
            if found > self.best:
                self.best, self.V = found, self.leaves.V
        if self.tuples is not None:
            self.root.lower(self.tuples.bound, self.tuples.argument)


def certify_partition(
    op: Operator, V: np.ndarray, measure: str, pca: np.ndarray | None = None, time_limit: float = 60.0
) -> JointCertificate:
    """Bound what k disjoint components can explain together if every variable is in one of them.

    The groups may have any sizes, as in the search for them.

    Parameters
    ----------
    op, V, measure, pca, time_limit
        As for `certify_joint`.

    Returns
    -------
    JointCertificate
        For more than `MOST` variables the bound is that of dense PCA. For fewer, the best known fit is that
        of a search over partitions, if it is better.
    """
    begun = time.perf_counter()
    cards = tuple(np.count_nonzero(V, axis=0).clip(min=1).tolist())
    k, clock = V.shape[1], Clock(begun + time_limit)
    eigenvalues = op.leading(k)[0] if pca is None else pca
    value, most = float(MEASURES[measure](V, op)[-1]), float(eigenvalues.sum()) / op.total
    best = value
    S = formed(op, clock)
    bound, how = most, "bounded by dense PCA (time limit)"
    if S is not None:
        S = S / op.total
        if op.p <= MOST and clock.left > SEARCH:
            found = partition(S, k, measure, "quick")
            reached = float(MEASURES[measure](found.V, op)[-1])
            if reached > best * (1.0 + RELATIVE):
                best, V = reached, found.V
        bound, how = partition_bound(S, k, measure, best, clock)
    bound = max(min(bound, most), best)
    return JointCertificate(
        measure,
        cards,
        value,
        bound,
        max(most, bound),
        ", ".join([PARTITIONS, how] if how else [PARTITIONS]),
        0,
        0,
        time.perf_counter() - begun,
        best,
        V,
    )


def verdict(value: float, bound: float) -> tuple[float, bool]:
    """Return the gap in percent of the value, and whether it is small enough for "optimal"."""
    gap = 100.0 * (bound - value) / value if value > 0 else (0.0 if bound <= 0 else np.inf)
    return float(gap), bool(bound <= value * (1.0 + OPTIMAL))


def relaxed(S: np.ndarray, cards: tuple[int, ...], measure: str, orthogonal: bool = False) -> Relaxed:
    """Return the object that bounds `measure` over all supports of the given cardinalities.

    If `orthogonal`, it bounds the PEV of orthogonal loadings, and `measure` is not used.
    """
    if orthogonal:
        return Orthogonal(S, cards)
    return Sequence(S, cards) if measure == "adjusted" else Projection(S, cards, measure)
