"""A proven bound for all components of a fit jointly, or for all partitions of the variables.

**Partitions.** Components of disjoint groups explain at most the sum of the first eigenvalues of the groups.
For PEV they explain exactly this sum, so dynamic programming over subsets finds the best partition. For
adjusted variance, only partitions with a larger sum than the best known value can be better; each is bounded
by `spcastat.proofs.duals`. The least-squares share may be larger than the sum, so every partition is bounded
by `spcastat.proofs.duals`. If there are too many variables or partitions for this, dense PCA gives the bound.

benchmarks/results/proofs.md shows how each rule of the proofs affects the gap and the run time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, islice
from math import comb

import numpy as np

from spcastat.fit.record import PARTITIONS, UNRULED
from spcastat.linalg.accumulate import blocks
from spcastat.linalg.eigenvectors import EPS, HALF_DIGITS, RELATIVE
from spcastat.linalg.operators import Operator
from spcastat.measures import best_order
from spcastat.proofs.adjusted_bounds import Sequence
from spcastat.proofs.duals import ordered_bounds, union_basis
from spcastat.proofs.eigenvalue_bounds import LANCZOS, Clock, enlarged, formed, trace_bound
from spcastat.proofs.one_component import (
    Incumbent,
    OrthogonalLeaves,
    Proof,
    Steps,
    Stopped,
    prove,
    run_search,
)
from spcastat.proofs.relaxed import (
    INNER,
    LEAF,
    Orthogonal,
    Projection,
    RegressionProjection,
    Relaxed,
    Root,
    spanned_bounds,
)
from spcastat.proofs.three_components import Others, Trios
from spcastat.proofs.two_components import Cover, Supports
from spcastat.search.criteria import SupportRule
from spcastat.search.objectives import OBJECTIVES
from spcastat.search.partition import VARIABLES_LIMIT, Partitions, first_eigenvalues, partition

#: The largest number of partitions that are bounded one by one.
LISTED = 20_000
#: Number of partitions bounded at once, and the largest number of steps for each.
PARTITION_BATCH, BOUND_STEPS = 500, 400

DENSE_PCA, SUMS = "bounded by dense PCA", "bounded by their PEV"


def partition_bound(S: np.ndarray, k: int, measure: str, value: float, clock: Clock) -> tuple[float, str]:
    """Return a bound on disjoint components of all variables, and a description of its source.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix of total variance one.
    k : int
    measure : {"pev", "adjusted", "least_squares"}
    value : float
        The measure of the best known fit.
    clock : Clock
    """
    p = len(S)
    dense = enlarged(float(np.linalg.eigvalsh(S)[-k:].sum()), p)
    if p > VARIABLES_LIMIT:
        return dense, f"{DENSE_PCA} (more than {VARIABLES_LIMIT} variables)"
    leading_values = first_eigenvalues(S, clock.runs)
    if leading_values is None:
        return dense, f"{DENSE_PCA} (time limit)"
    return PARTITION_BOUNDS[OBJECTIVES[measure].joint_relaxation()](
        S, Partitions(leading_values, k), value, dense, clock
    )


def _largest_sum(
    S: np.ndarray, partitions: Partitions, value: float, dense: float, clock: Clock
) -> tuple[float, str]:
    """Return the largest sum of first eigenvalues, which bounds PEV and adjusted variance, and its source."""
    rounding = enlarged(1.0, partitions.p * partitions.k)
    return rounding * next(partitions.descending(-np.inf))[0], ""


def _sums_bounded(
    S: np.ndarray, partitions: Partitions, value: float, dense: float, clock: Clock
) -> tuple[float, str]:
    """Return a bound on adjusted variance and its source; only partitions of larger sums can be better."""
    p, k = partitions.p, partitions.k
    rounding = enlarged(1.0, p * k)
    largest, _ = _largest_sum(S, partitions, value, dense, clock)
    larger_partitions = partitions.descending(value * (1.0 - p * k * EPS))
    candidates = list(islice(larger_partitions, LISTED + 1))
    if len(candidates) > LISTED:
        return min(dense, largest), f"{SUMS} (more than {LISTED} of them may be better)"
    groups = np.array([bits for _, bits in candidates]).reshape(-1, k)
    sums = np.array([total for total, _ in candidates])
    values, vectors = np.linalg.eigh(S)
    F = np.sqrt(values.clip(min=0.0))[:, None] * vectors.T
    bound = value
    for part in blocks(len(candidates), 1, PARTITION_BATCH):
        membership = (groups[part, :, None] >> np.arange(p) & 1).astype(float)
        group_matrices = [np.einsum("ap,bp,cp->bac", F, membership[:, j], F) for j in range(k)]
        bounds = ordered_bounds(group_matrices, [1] * k, value, BOUND_STEPS, running=clock.runs)
        bound = max(bound, float(np.minimum(bounds, rounding * sums[part]).max()))
    argument = f"{len(candidates)} of them bounded by multipliers" if candidates else ""
    return min(dense, largest, bound), argument


def _each_bounded(
    S: np.ndarray, partitions: Partitions, value: float, dense: float, clock: Clock
) -> tuple[float, str]:
    """Return a bound on the least-squares share and its source; `dense` is the bound of dense PCA.

    With S = F'F, the share is the part of FF' in the span of the scores. For each group, one score is in the
    span of the columns of F of the group.
    """
    p, k = partitions.p, partitions.k
    if partitions.count > LISTED:
        return dense, f"{DENSE_PCA} (more than {LISTED} partitions)"
    values, vectors = np.linalg.eigh(S)
    if values[0] <= HALF_DIGITS * values[-1]:
        return dense, f"{DENSE_PCA} (variables are linearly dependent)"
    F = np.sqrt(values)[:, None] * vectors.T
    groups = np.array([bits for _, bits in partitions.descending(-np.inf)])
    bound = value
    for part in blocks(len(groups), 1, PARTITION_BATCH):
        if not clock.runs():
            return dense, f"{DENSE_PCA} (time limit)"
        membership = groups[part, :, None] >> np.arange(p) & 1
        bases = [union_basis([F * membership[:, j, None, :]]) for j in range(k)]
        M = np.repeat(np.diag(values)[None], len(membership), axis=0)
        bounds = spanned_bounds(M, bases, k, value, BOUND_STEPS, clock.runs)
        bound = max(bound, float(bounds.max()))
    return min(dense, bound), f"{len(groups)} of them bounded by multipliers"


#: The name of the bounds over all supports -> the bound over all partitions.
PARTITION_BOUNDS: dict[str, Callable[[np.ndarray, Partitions, float, float, Clock], tuple[float, str]]] = {
    "projection": _largest_sum,
    "sequence": _sums_bounded,
    "regression": _each_bounded,
}

#: Children get no dual bound if nodes have on average at most this many.
CHILDREN_LIMIT = 100
#: The search stops if more nodes are open, which limits memory: a node takes 32 bytes, and 8 per component.
MOST_OPEN = 3_000_000
#: Single bounds of one-variable components are computed together for choices of about this much work.
SINGLES_TOGETHER = 1_000_000_000
#: The number of nodes examined together, and of leaves at their last bound, which takes longest.
NODES_TOGETHER, LAST_TOGETHER = 500, 10
#: The number of leaves of a batch, those with the largest bounds, on which climbs are tried.
CLIMBED_LEAVES = 50


# --- tuples of supports ---------------------------------------------------------------------------


@dataclass(eq=False)
class OpenNodes:
    """The open nodes, as arrays of the same length.

    Attributes
    ----------
    root : ndarray of int
        The index of the choice of variables for the one-variable components.
    choices : ndarray of int, shape (N, m)
        Indices of the chosen supports; entries from `level` on are not used.
    level : ndarray of int
        The number of supports chosen.
    stage : ndarray of int
        The number of dual bounds computed so far.
    bound : ndarray of shape (N,)
    """

    root: np.ndarray
    choices: np.ndarray
    level: np.ndarray
    stage: np.ndarray
    bound: np.ndarray

    def __len__(self) -> int:
        return len(self.bound)

    def subset(self, selection: np.ndarray) -> OpenNodes:
        return OpenNodes(*(part[selection] for part in vars(self).values()))

    def with_nodes(self, nodes: OpenNodes) -> OpenNodes:
        pairs = zip(vars(self).values(), vars(nodes).values(), strict=True)
        return OpenNodes(*(np.concatenate(pair) for pair in pairs))


@dataclass(eq=False)
class Tuples:
    """A best-first search over tuples of supports, one support for each component.

    Parameters
    ----------
    problem : Relaxed
    value : float
        The best known value; nodes whose bound exceeds it by at most `tolerance` are closed.
    tolerance : float
        The relative tolerance.
    running : callable
        Returns False once the time has run out.
    climb : callable
        Takes a list of leaves, each with supports for all components; optimises loadings on these supports
        and returns the best known value.
    max_nodes : float
    step : callable
        Called with the number of nodes in each examined batch.
    nodes : int
        The number of nodes examined.
    closed : float
        The largest bound of the closed nodes.
    """

    problem: Relaxed
    value: float
    tolerance: float
    running: Callable[[], bool]
    climb: Callable[[list[list[np.ndarray]]], float]
    max_nodes: float = np.inf
    step: Callable[[int], None] = lambda nodes: None
    nodes: int = 0
    closed: float = 0.0
    roots: list[Root] = field(default_factory=list)
    open_nodes: OpenNodes | None = None

    @property
    def threshold(self) -> float:
        return self.value * (1.0 + self.tolerance)

    @property
    def bound(self) -> float:
        """The bound proven so far."""
        if self.open_nodes is None:
            return self.problem.dense()
        return float(self.open_nodes.bound.max(initial=max(self.closed, self.value)))

    @property
    def argument(self) -> str:
        """The kind of proof of `bound`."""
        nodes, count = self.open_nodes, len(self.problem.cards)
        if nodes is None:
            return "dense PCA"
        if not len(nodes) or nodes.bound.max() <= max(self.closed, self.value):
            return "branch and bound over supports" if count else "all choices of single variables"
        top = int(np.argmax(nodes.bound))
        level, stage = int(nodes.level[top]), int(nodes.stage[top])
        if level == 0:
            dense_note = ", the others dense" if self.problem.k > self.problem.m else ""
            return f"components of one variable{dense_note}" if self.problem.m else "dense PCA"
        if stage == 0:
            return "tables of supports"
        return "dual bound of supports" + (f", {count - level} open" if level < count else "")

    def run(self) -> None:
        """Search until all nodes are closed; `begin` must be called first.

        Raises
        ------
        Stopped
            If a limit is reached or the bound cannot be improved.
        """
        while self.open_nodes is not None and len(self.open_nodes):
            self._check()
            self._advance()

    def _check(self) -> None:
        if not self.running():
            raise Stopped("time limit")
        if self.nodes >= self.max_nodes:
            raise Stopped("node limit")

    def begin(self) -> None:
        """Open a node for every choice of variables for the one-variable components.

        Raises
        ------
        Stopped
            If a limit is reached.
        """
        problem = self.problem
        singles = problem.singles()
        bounds = np.full(len(singles), problem.dense())
        for part in blocks(len(singles) if problem.m else 0, problem.single_work, SINGLES_TOGETHER):
            self._check()
            bounds[part] = np.minimum(problem.single_bounds(singles[part]), bounds[part])
        is_open = self._open_mask(bounds)
        self._singles = singles[is_open]
        self._root_cache: dict[int, Root] = {}
        N = int(is_open.sum())
        width = len(problem.cards)
        stage = np.full(N, bool(width), dtype=int)
        choices = np.zeros((N, width), dtype=int)
        self.open_nodes = OpenNodes(np.arange(N), choices, np.zeros(N, dtype=int), stage, bounds[is_open])

    def _open_mask(self, bounds: np.ndarray) -> np.ndarray:
        """Return a mask of the nodes that stay open given their bounds; the others are closed."""
        is_open = bounds > self.threshold
        self.closed = max(self.closed, float(bounds[~is_open].max(initial=0.0)))
        return is_open

    def _root(self, index: int) -> Root:
        if index not in self._root_cache:
            self._root_cache[index] = self.problem.root(self._singles[index])
        return self._root_cache[index]

    def _advance(self) -> None:
        """Examine a batch of open nodes with large bounds: lower the bounds, or replace nodes by children."""
        assert self.open_nodes is not None
        nodes = self.open_nodes
        is_complete = (nodes.level == len(self.problem.cards)) & (nodes.stage > len(self.problem.leaf_bounds))
        if is_complete.all():
            raise Stopped("bound not tight")
        top = int(np.argmax(np.where(is_complete, -np.inf, nodes.bound)))
        level, stage = int(nodes.level[top]), int(nodes.stage[top])
        leaf = level == len(self.problem.cards)
        alike = np.flatnonzero((nodes.level == level) & (nodes.stage == stage))
        batch_size = LAST_TOGETHER if leaf and stage == 2 else NODES_TOGETHER
        batch_count = int(min(batch_size, self.max_nodes - self.nodes, len(alike)))
        alike = alike[np.argpartition(nodes.bound[alike], len(alike) - batch_count)[-batch_count:]]
        batch = nodes.subset(alike)
        remainder_mask = np.ones(len(nodes), dtype=bool)
        remainder_mask[alike] = False
        roots = [self._root(int(r)) for r in batch.root]
        self.nodes += len(batch)
        self.step(len(batch))
        if leaf or stage == 0:
            new_nodes = self._bounded(batch, roots, level, leaf)
        else:
            new_nodes = self._children(batch, roots, level)
        open_nodes = nodes.subset(remainder_mask).with_nodes(
            new_nodes.subset(self._open_mask(new_nodes.bound))
        )
        if len(open_nodes) > MOST_OPEN:
            raise Stopped("too many nodes")
        self.open_nodes = open_nodes

    def _bounded(self, batch: OpenNodes, roots: list[Root], level: int, leaf: bool) -> OpenNodes:
        """Return the batch after the next bound; after the first bound of leaves, climb from the best."""
        stage = int(batch.stage[0])
        choices = batch.choices[:, :level]
        if leaf and stage:
            new_bounds = self.problem.leaf_bounds[stage - 1](roots, choices, self.threshold, self.running)
        else:
            steps = LEAF if leaf else INNER
            new_bounds = self.problem.bounds(roots, choices, self.threshold, steps, self.running)
        batch.bound = np.minimum(batch.bound, new_bounds)
        if self.running():
            batch.stage = batch.stage + 1
        if leaf and stage == 0:
            top_leaves = np.flatnonzero(batch.bound > self.threshold)
            top_leaves = top_leaves[np.argsort(batch.bound[top_leaves])[::-1][:CLIMBED_LEAVES]]
            if top_leaves.size:
                tuples = [self.problem.variables_of(roots[b], batch.choices[b]) for b in top_leaves]
                self.value = max(self.value, self.climb(tuples))
        return batch

    def _children(self, batch: OpenNodes, roots: list[Root], level: int) -> OpenNodes:
        """Return the children of the nodes, one for each support of the next component that stays open."""
        bounds = self._bounds_of_children(batch, roots, level)
        parents, row = np.nonzero(self._open_mask(bounds))
        choices = batch.choices[parents]
        choices[:, level] = row
        at_once = self._branches_at_once(len(parents), len(batch), roots[0], level)
        stage = np.full(len(parents), int(at_once))
        return OpenNodes(
            batch.root[parents], choices, np.full(len(parents), level + 1), stage, bounds[parents, row]
        )

    def _bounds_of_children(self, batch: OpenNodes, roots: list[Root], level: int) -> np.ndarray:
        """Return a bound for each node and support of the next component; -inf for excluded supports."""
        problem = self.problem
        cards, count = problem.cards, len(problem.supports[level])
        bounds = np.repeat(batch.bound[:, None], count, axis=1)
        has_reach = roots[0].reach is not None
        if has_reach or problem.disjoint:
            union = np.array([root.mask for root in roots], dtype=int)
            for t in range(level):
                union |= problem.masks[t][batch.choices[:, t]]
        if problem.disjoint:
            bounds[(union[:, None] & problem.masks[level]) != 0] = -np.inf
        unions = union[:, None] | problem.masks[level] if has_reach else None
        for number in np.unique(batch.root):
            members = np.flatnonzero(batch.root == number)
            root = roots[members[0]]
            if root.reach is not None and unions is not None:
                reach = root.reach[sum(cards[level + 1 :])]
                bounds[members] = np.minimum(bounds[members], reach[unions[members]])
            if root.sums is not None:
                ceilings = root.sums.ceilings(batch.choices[members], level, self.threshold)
                bounds[members] = np.minimum(bounds[members], ceilings)
        # with equal cardinalities, the index may not be smaller than the previous one; at level 0 all remain
        if cards[level] == cards[level - 1]:
            bounds[np.arange(count) < batch.choices[:, level - 1][:, None]] = -np.inf
        return bounds

    def _branches_at_once(self, children: int, nodes: int, root: Root, level: int) -> bool:
        """Return whether children start at stage 1, and branch without a dual bound.

        They do if there are few of them, or if their bounds are cheap.
        """
        problem = self.problem
        if level + 1 == len(problem.cards):
            return False
        if len(problem.cards) == 2 and root.sums is not None:
            return True
        return root.reach is not None and children <= CHILDREN_LIMIT * nodes


# --- the bound at the root ------------------------------------------------------------------------

#: The name of the bounds over all supports, as in the records of objectives -> the class of the problem.
RELAXATIONS: dict[str, type[Relaxed]] = {
    "projection": Projection,
    "sequence": Sequence,
    "regression": RegressionProjection,
}


def root_bound(op: Operator, cards: tuple[int, ...], measure: str, leading: np.ndarray) -> Proof:
    """Bound a fit by dense PCA and by variances.

    Parameters
    ----------
    op : Operator
    cards : tuple of k ints
    measure : {"pev", "adjusted", "least_squares"}
    leading : ndarray of shape (k,)
        Bounds on the largest eigenvalues of the covariance matrix, as shares of the total variance.

    Notes
    -----
    For PEV and adjusted variance, m one-variable components explain at most the m largest variances, and the
    other components explain at most as much as k - m dense components of the remaining variables.
    """
    root = Proof(bound=min(float(leading.sum()), 1.0), argument="dense PCA")
    if RELAXATIONS[OBJECTIVES[measure].joint_relaxation()].by_variances:
        variances = op.diagonal() / op.total
        root.lower(trace_bound(variances, min(sum(cards), op.p)), "sum of the largest variances")
        single = sum(c == 1 for c in cards)
        if 0 < single < len(cards):
            dense_share = float(leading[: len(cards) - single].sum())
            root.lower(
                trace_bound(variances, single) + dense_share, "components of one variable, the others dense"
            )
    return root


def sparse_eigenvalues(S: np.ndarray, cards: tuple[int, ...], clock: Clock) -> float:
    """Return a bound on the sum of the largest sparse eigenvalues for the cardinalities of the components.

    A sparse eigenvalue is the largest eigenvalue of a block with the given number of variables. The sum
    bounds adjusted variance, since the adjusted variance of a component is at most its variance. It also
    bounds PEV of orthogonal loadings, which is the sum of the variances of the components.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix of total variance one.
    cards : tuple of int
    clock : Clock
    """
    ends = clock.seconds_left * 0.1 / len(set(cards))
    bounds = {c: prove(S, c, time_limit=ends, max_nodes=200).bound for c in set(cards)}
    return enlarged(sum(bounds[c] for c in cards), len(S))


#: The largest number of supports of a component for which the proof for two components is used.
MOST_FIRST = 100_000
#: The same for three components, and the largest number of entries in the matrices of these supports.
MOST_FIRST_OF_THREE, MOST_ENTRIES = 3_000, 1_000_000
#: The share of the time that this proof may take, and the source of its bound.
TIME_SHARE = 0.8
COVERED = "multipliers for the first component"

#: "Optimal" means proven to the relative tolerance OPTIMAL; the search aims for the tolerance GAP_TARGET.
OPTIMAL, GAP_TARGET = 1e-4, 9e-5


# --- the certificate ------------------------------------------------------------------------------


#: With more variables than this, supports are not searched.
SEARCHED_VARIABLES = 2000
#: A quick search for a better fit precedes a proof with more than QUICK_CHOICES choices of supports, because
#: a larger known value excludes more of them. It is used with at most QUICK_VARIABLES variables and with more
#: than QUICK_TIME seconds left, so that it takes a small part of the time.
QUICK_CHOICES, QUICK_VARIABLES, QUICK_TIME = 10_000, 60, 2.0
#: Partitions are searched only if more time than this is left, in seconds.
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
        A proven bound: no loadings with these cardinalities, in any order, give a larger value.
    pca_bound : float
        The share explained by the first k dense principal components, never below `upper_bound`.
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
        The largest value of the measure found.
    V : ndarray of shape (p, k)
        The loadings with that value.
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
    rule: SupportRule | None = None,
) -> JointCertificate:
    """Bound the variance that k components with the cardinalities of these loadings explain jointly.

    Parameters
    ----------
    op : Operator
        The covariance matrix.
    V : ndarray of shape (p, k)
        Unit-length loadings.
    measure : {"pev", "adjusted", "least_squares"}
    orthogonal : bool
        For PEV: whether the loadings are orthonormal and are compared only with orthonormal loadings.
    pca : ndarray of shape (k,), optional
        The largest eigenvalues of the covariance matrix, if known.
    time_limit : float
        Time limit in seconds.
    max_nodes : int or None
        The largest number of nodes of the search.
    rule : SupportRule, optional
        The rule for the supports with which the loadings are compared. If the bound does not use the rule,
        `proof` states this.

    Returns
    -------
    JointCertificate
        If a limit or Ctrl-C (KeyboardInterrupt) ended the search, it contains the bound proven so far.
    """
    start_time = time.perf_counter()
    cards = tuple(np.count_nonzero(V, axis=0).clip(min=1).tolist())
    value = float(OBJECTIVES[measure].measure(V, op)[-1])
    eigenvalues = op.leading(min(len(cards), op.p))[0] if pca is None else pca
    leading = eigenvalues.clip(min=0.0) / op.total * (1.0 + LANCZOS)
    root = root_bound(op, cards, measure, leading)
    dense_bound = min(float(leading.sum()), 1.0)
    best_fit = _BestFit(op, measure, V, value)
    if OBJECTIVES[measure].ordered and rule is None:
        best_fit.reorder()
    search = _JointSearch(op, measure, orthogonal, value, rule, root, best_fit, ruled=rule is None)
    if root.bound > value * (1.0 + GAP_TARGET):
        seconds_left = start_time + time_limit - time.perf_counter()
        run_search(root, search.run, seconds_left, max_nodes, "joint proof")
    bound = max(min(root.bound, dense_bound), best_fit.value)
    return JointCertificate(
        measure,
        cards,
        value,
        bound,
        max(dense_bound, bound),
        *verdict(value, bound),
        root.description if search.ruled else f"{root.description}, {UNRULED}",
        root.nodes,
        search.open_count,
        time.perf_counter() - start_time,
        best_fit.value,
        best_fit.V,
    )


@dataclass(eq=False)
class _BestFit:
    """The best known fit, as judged by a measure."""

    op: Operator
    measure: str
    V: np.ndarray
    value: float

    def reorder(self) -> None:
        """Put the components in the order with the largest adjusted variance."""
        V = self.V[:, best_order(self.op.products(self.V))]
        value = float(OBJECTIVES[self.measure].measure(V, self.op)[-1])
        if value > self.value * (1.0 + RELATIVE):
            self.V, self.value = V, value

    def adopt(self, V: np.ndarray) -> None:
        """Store a fit if it is better."""
        value = float(OBJECTIVES[self.measure].measure(V, self.op)[-1])
        if value > self.value:
            self.V, self.value = V, value


@dataclass(eq=False)
class _JointSearch:
    """One run of a joint proof: bounds that need the covariance matrix, then the search over supports.

    The run lowers the bound of `root` and stores better fits in `best_fit`.

    Attributes
    ----------
    value : float
        The measure of the fit to be proven.
    ruled : bool
        False if there is a rule that the bounds do not use.
    open_count : int
        The number of nodes that the search over supports left open.
    """

    op: Operator
    measure: str
    orthogonal: bool
    value: float
    rule: SupportRule | None
    root: Proof
    best_fit: _BestFit
    ruled: bool
    open_count: int = 0

    def run(self, steps: Steps) -> None:
        V = self.best_fit.V
        if self.op.p > SEARCHED_VARIABLES:
            raise Stopped("too many variables for a search")
        if not V.any(axis=0).all():
            raise Stopped("a component without loadings")
        clock, cards = steps.clock, tuple(np.count_nonzero(V, axis=0).tolist())
        S = formed(self.op, clock)
        if S is None:
            raise Stopped("time limit")
        S = S / self.op.total
        if self.orthogonal or (OBJECTIVES[self.measure].equals_variance and len(cards) == 1):
            self.root.lower(sparse_eigenvalues(S, cards, clock), "sum of sparse eigenvalues")
        problem = relaxed(S, cards, self.measure, self.orthogonal)
        if self.rule is not None and not self.orthogonal:
            self.ruled = problem.under(self.rule, cards)
        if isinstance(problem, Sequence) and coverable(problem, cards, clock) and self._cover(problem, steps):
            return
        left_out = 0.0
        if isinstance(problem, Sequence) and not problem.free and problem.k > problem.m:
            level = self.best_fit.value * (1.0 + GAP_TARGET)
            problem.prepare(self.best_fit.V, level, clock)
            self.root.lower(level if problem.excluded else problem.dense(), "multiplier of orthogonality")
            if self.root.bound <= level:
                return
            left_out = level  # fits with supports that `prepare` excluded reach at most this value
        if not (problem.m or problem.cards):
            raise Stopped("free components" if problem.free else "too many supports")
        self._search(S, problem, cards, left_out, steps)

    def _search(
        self, S: np.ndarray, problem: Relaxed, cards: tuple[int, ...], left_out: float, steps: Steps
    ) -> None:
        """Search over supports; fits with excluded supports reach at most the value `left_out`."""
        leaves = (OrthogonalLeaves if self.orthogonal else Incumbent)(S, self.best_fit.V, self.measure)
        value = max(self.value, leaves.value)
        clock = steps.clock
        tuples = Tuples(problem, value, GAP_TARGET, clock.runs, leaves.climb, steps.max_nodes, steps.count)
        try:
            tuples.begin()
            tuples.closed = max(tuples.closed, left_out)
            if self._quick_search_pays(problem, clock):
                tuples.value = max(tuples.value, leaves.improve(self.op, cards, self.rule))
            tuples.run()
        finally:
            self.best_fit.adopt(leaves.V)
            self.root.lower(tuples.bound, tuples.argument)
            self.open_count = 0 if tuples.open_nodes is None else len(tuples.open_nodes)

    def _quick_search_pays(self, problem: Relaxed, clock: Clock) -> bool:
        return (
            problem.choices > QUICK_CHOICES
            and problem.p <= QUICK_VARIABLES
            and clock.seconds_left > QUICK_TIME
        )

    def _cover(self, problem: Sequence, steps: Steps) -> bool:
        """Bound two or three components by multipliers for the first; return whether it is a proof."""
        clock, V, cards = steps.clock, self.best_fit.V, np.count_nonzero(self.best_fit.V, axis=0).tolist()
        fits = []
        for first_component in [cards.index(c) for c in dict.fromkeys(cards)]:
            order = [first_component, *(j for j in range(len(cards)) if j != first_component)]
            fit = Incumbent(problem.S, V[:, order], self.measure)
            # a rule applies to components in the order of the fit
            if (first_component == 0 or self.rule is None) and self._quick_search_pays(problem, clock):
                fit.improve(self.op, fit.cards, self.rule)
            fits.append(fit)
        part = clock.until(time.perf_counter() + TIME_SHARE * clock.seconds_left)
        covering = _Covering(problem, fits, self.best_fit.value, part, steps)
        complete = False
        try:
            complete = covering.run()
        except Stopped:
            if part.runs() or not clock.runs():  # a limit of the whole proof was reached
                raise
        finally:
            if not complete:
                self.root.lower(covering.bound, COVERED)
            for fit in fits:
                self.best_fit.adopt(fit.V)
        if complete:
            self.root.lower(max(self.best_fit.value * (1.0 + GAP_TARGET), covering.level), COVERED)
        return complete


class _Covering:
    """Multipliers for the first component, for each of its possible cardinalities.

    Parameters
    ----------
    problem : Sequence
        The problem, with two or three components.
    fits : list of Incumbent
        The best known fits, one for each cardinality of the first component.
    value : float
        The best known value.
    part : Clock
        The time for the multipliers, a part of the time for the proof.
    steps : Steps
    """

    def __init__(self, problem: Sequence, fits: list[Incumbent], value: float, part: Clock, steps: Steps):
        self.fits, self.value, self.part, self.steps = fits, value, part, steps
        S, F = problem.S, problem.factor
        all_supports = {
            c: np.array(list(combinations(range(len(S)), c))) for c in dict.fromkeys(fits[0].cards)
        }
        places = {c: problem.admissible_supports(T) for c, T in all_supports.items()}
        supports = {c: Supports.of(S, T) for c, T in places.items()}
        self.bounds: list[tuple[Incumbent, Cover | Trios]] = []
        for fit in fits:
            first_card, *other_cards = fit.cards
            if len(other_cards) == 1:
                self.bounds.append(
                    (fit, Cover(S, F, supports[first_card], supports[other_cards[0]], self.level))
                )
            else:
                pairs = Others.of(F, places, (other_cards[0], other_cards[1]))
                self.bounds.append((fit, Trios(F, supports[first_card], pairs, self.level, part.runs)))

    @property
    def level(self) -> float:
        """The value to be proven: the best known value plus the tolerance."""
        return max(self.value, *(fit.value for fit in self.fits)) * (1.0 + GAP_TARGET)

    @property
    def bound(self) -> float:
        """The bound proven so far."""
        return max(cover.bound for _, cover in self.bounds)

    def run(self) -> bool:
        """Find multipliers for all cardinalities; return False as soon as one cannot be proven."""
        for _, cover in self.bounds:
            cover.begin(self._node)
        return all(cover.run(self._node, partial(self._climb, fit)) for fit, cover in self.bounds)

    def _node(self) -> None:
        """Count a node; raise `Stopped` if a limit is reached."""
        if not self.part.runs():
            raise Stopped("time limit")
        self.steps.node()

    def _climb(self, fit: Incumbent, supports: list[list[np.ndarray]]) -> float:
        """Optimise loadings on the supports, store the best in `fit`, and return the value to be proven."""
        fit.climb(supports)
        return self.level


def certify_partition(
    op: Operator, V: np.ndarray, measure: str, pca: np.ndarray | None = None, time_limit: float = 60.0
) -> JointCertificate:
    """Bound the variance that k disjoint components explain jointly if every variable is in one of them.

    The groups may have any sizes, as in the search over partitions.

    Parameters
    ----------
    op, V, measure, pca, time_limit
        See `certify_joint`.

    Returns
    -------
    JointCertificate
        For more than `VARIABLES_LIMIT` variables, the bound is the bound of dense PCA. Otherwise a search
        over partitions runs, and its fit is the best known fit if it is better.
    """
    start_time = time.perf_counter()
    cards = tuple(np.count_nonzero(V, axis=0).clip(min=1).tolist())
    k, clock = V.shape[1], Clock(start_time + time_limit)
    eigenvalues = op.leading(k)[0] if pca is None else pca
    value, dense_bound = float(OBJECTIVES[measure].measure(V, op)[-1]), float(eigenvalues.sum()) / op.total
    best_value = value
    S = formed(op, clock)
    bound, argument = dense_bound, "bounded by dense PCA (time limit)"
    if S is not None:
        S = S / op.total
        if op.p <= VARIABLES_LIMIT and clock.seconds_left > SEARCH:
            search_fit = partition(S, k, measure, "quick")
            search_value = float(OBJECTIVES[measure].measure(search_fit.V, op)[-1])
            if search_value > best_value * (1.0 + RELATIVE):
                best_value, V = search_value, search_fit.V
        bound, argument = partition_bound(S, k, measure, best_value, clock)
    bound = max(min(bound, dense_bound), best_value)
    return JointCertificate(
        measure,
        cards,
        value,
        bound,
        max(dense_bound, bound),
        *verdict(value, bound),
        ", ".join([PARTITIONS, argument] if argument else [PARTITIONS]),
        0,
        0,
        time.perf_counter() - start_time,
        best_value,
        V,
    )


def coverable(problem: Sequence, cards: tuple[int, ...], clock: Clock) -> bool:
    """Return whether a proof by multipliers for the first component is possible.

    It needs two or three components with few supports; see `two_components` and `three_components`.
    """
    if problem.k not in (2, 3) or problem.m == problem.k or problem.free or problem.disjoint:
        return False
    counts = [comb(problem.p, c) for c in cards]
    if problem.k == 3:
        return all(n <= MOST_FIRST_OF_THREE and n * problem.p**2 <= MOST_ENTRIES for n in counts)
    return all(n <= MOST_FIRST and n * c**2 <= 2e7 for n, c in zip(counts, cards, strict=True)) and all(
        clock.affords(20.0 * c**3 * n) for n, c in zip(counts, cards, strict=True)
    )


def verdict(value: float, bound: float) -> tuple[float, bool]:
    """Return the gap in percent of the value, and whether it is small enough to call the fit optimal."""
    gap = 100.0 * (bound - value) / value if value > 0 else (0.0 if bound <= 0 else np.inf)
    return float(gap), bool(bound <= value * (1.0 + OPTIMAL))


def relaxed(S: np.ndarray, cards: tuple[int, ...], measure: str, orthogonal: bool = False) -> Relaxed:
    """Return the object that bounds `measure` over all supports of the given cardinalities.

    If `orthogonal`, the object bounds the PEV of orthogonal loadings, and `measure` is not used.
    """
    if orthogonal:
        return Orthogonal(S, cards)
    return RELAXATIONS[OBJECTIVES[measure].joint_relaxation()](S, cards)
