"""A proven bound for all components of a fit jointly, or for all partitions of the variables.

**Partitions.** Components of disjoint groups explain at most the sum of the first eigenvalues of the
groups. For PEV they explain exactly that, so that programming over subsets finds the best partition. Under
adjusted variance only partitions with a larger sum than the best known value can be better; each is bounded
by `spcastat.proofs.duals`. The least-squares share may be larger than the sum, so that every partition is
bounded, by `spcastat.proofs.duals`. For more variables or partitions than that allows, dense PCA is the
bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations, islice
from math import comb

import numpy as np

from spcastat.fit.record import PARTITIONS, UNRULED
from spcastat.linalg.accumulate import blocks
from spcastat.linalg.eigenvectors import EPS
from spcastat.linalg.operators import Operator
from spcastat.linalg.ties import RELATIVE
from spcastat.measures import best_order, measure_named
from spcastat.proofs.adjusted_bounds import Cover, Sequence, Supports
from spcastat.proofs.duals import ordered_bounds, union_basis
from spcastat.proofs.eigenvalue_bounds import (
    LANCZOS,
    Clock,
    enlarged,
    formed,
    trace_bound,
)
from spcastat.proofs.one_component import Incumbent, Proof, Steps, Stopped, prove, run_search
from spcastat.proofs.orthogonal import Orthogonal, OrthogonalLeaves
from spcastat.proofs.relaxed import INNER, LEAF, Projection, Relaxed, Root, spanned_bounds
from spcastat.search.criteria import SupportRule
from spcastat.search.partition import MOST, Partitions, first_eigenvalues, partition

#: The largest number of partitions that are bounded one by one.
LISTED = 20_000
#: Number of partitions bounded at once, and the largest number of steps for each.
TOGETHER, STEPS = 500, 400
#: Least-squares bounds need bases of what groups span; below this smallest eigenvalue they are not reliable.
REGULAR = 1e-8

DENSE, SUMS = "bounded by dense PCA", "bounded by their PEV"


def partition_bound(S: np.ndarray, k: int, measure: str, value: float, clock: Clock) -> tuple[float, str]:
    """Return a bound on disjoint components of all variables, and what gave it.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Of total variance one.
    k : int
    measure : {"pev", "adjusted", "least_squares"}
    value : float
        The measure of the best known fit.
    clock : Clock
    """
    p = len(S)
    dense = enlarged(float(np.linalg.eigvalsh(S)[-k:].sum()), p)
    if p > MOST:
        return dense, f"{DENSE} (more than {MOST} variables)"
    first = first_eigenvalues(S, clock.runs)
    if first is None:
        return dense, f"{DENSE} (time limit)"
    partitions = Partitions(first, k)
    if measure == "least_squares":
        return _each_bounded(S, partitions, value, dense, clock)
    rounding = enlarged(1.0, p * k)
    largest = rounding * next(partitions.descending(-np.inf))[0]
    if measure == "pev":
        return largest, ""
    above = partitions.descending(value * (1.0 - p * k * EPS))
    found = list(islice(above, LISTED + 1))
    if len(found) > LISTED:
        return min(dense, largest), f"{SUMS} (more than {LISTED} of them may be better)"
    groups = np.array([one for _, one in found]).reshape(-1, k)
    sums = np.array([total for total, _ in found])
    values, vectors = np.linalg.eigh(S)
    F = np.sqrt(values.clip(min=0.0))[:, None] * vectors.T
    most = value
    for part in blocks(len(found), 1, TOGETHER):
        inside = (groups[part, :, None] >> np.arange(p) & 1).astype(float)
        own = [np.einsum("ap,bp,cp->bac", F, inside[:, j], F) for j in range(k)]
        bounds = ordered_bounds(own, [1] * k, value, STEPS, running=clock.runs)
        most = max(most, float(np.minimum(bounds, rounding * sums[part]).max()))
    return min(dense, largest, most), f"{len(found)} of them bounded by multipliers" if found else ""


def _each_bounded(
    S: np.ndarray, partitions: Partitions, value: float, dense: float, clock: Clock
) -> tuple[float, str]:
    """Return a bound on the least-squares share, and what gave it; `dense` is that of dense PCA.

    With S = F'F the share is the part of FF' in the span of the scores, one of which is in the span of the
    columns of F for each group.
    """
    p, k = partitions.p, partitions.k
    if partitions.count > LISTED:
        return dense, f"{DENSE} (more than {LISTED} partitions)"
    values, vectors = np.linalg.eigh(S)
    if values[0] <= REGULAR * values[-1]:
        return dense, f"{DENSE} (variables are linearly dependent)"
    F = np.sqrt(values)[:, None] * vectors.T
    groups = np.array([one for _, one in partitions.descending(-np.inf)])
    most = value
    for part in blocks(len(groups), 1, TOGETHER):
        if not clock.runs():
            return dense, f"{DENSE} (time limit)"
        inside = groups[part, :, None] >> np.arange(p) & 1
        bases = [union_basis([F * inside[:, j, None, :]]) for j in range(k)]
        M = np.repeat(np.diag(values)[None], len(inside), axis=0)
        bounds = spanned_bounds(M, bases, k, value, STEPS, clock.runs)
        most = max(most, float(bounds.max()))
    return min(dense, most), f"{len(groups)} of them bounded by multipliers"


#: Children get no dual bound if nodes have on average at most FEW children and MANY grandchildren.
FEW, MANY = 100, 10_000


# --- tuples of supports ---------------------------------------------------------------------------


@dataclass(eq=False)
class Open:
    """The open nodes, as arrays of the same length.

    Attributes
    ----------
    root : ndarray of int
        The index of the choice of variables for the one-variable components.
    chosen : ndarray of int, shape (N, m)
        Indices of the chosen supports; entries from `level` on are not used.
    level : ndarray of int
        The number of supports chosen.
    stage : ndarray of int
        The number of dual bounds computed so far.
    bound : ndarray of shape (N,)
    """

    root: np.ndarray
    chosen: np.ndarray
    level: np.ndarray
    stage: np.ndarray
    bound: np.ndarray

    def __len__(self) -> int:
        return len(self.bound)

    def some(self, which: np.ndarray) -> Open:
        return Open(*(part[which] for part in vars(self).values()))

    def joined(self, other: Open) -> Open:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Open(*(np.concatenate(pair) for pair in pairs))


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
        Returns False once the time is up.
    climb : callable
        Takes a list of leaves, each with supports for all components; optimises loadings on them and returns
        the best known value.
    max_nodes : float
    step : callable
        Called with the number of nodes of each batch that is examined.
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
    open: Open | None = None

    @property
    def threshold(self) -> float:
        return self.value * (1.0 + self.tolerance)

    @property
    def bound(self) -> float:
        """The bound proven so far."""
        if self.open is None:
            return self.problem.dense()
        return float(self.open.bound.max(initial=max(self.closed, self.value)))

    @property
    def argument(self) -> str:
        """The kind of proof of `bound`."""
        nodes, count = self.open, len(self.problem.cards)
        if nodes is None:
            return "dense PCA"
        if not len(nodes) or nodes.bound.max() <= max(self.closed, self.value):
            return "branch and bound over supports" if count else "all choices of single variables"
        top = int(np.argmax(nodes.bound))
        level, stage = int(nodes.level[top]), int(nodes.stage[top])
        if level == 0:
            others = ", the others dense" if self.problem.k > self.problem.m else ""
            return f"components of one variable{others}" if self.problem.m else "dense PCA"
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
        while self.open is not None and len(self.open):
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
        for part in blocks(len(singles) if problem.m else 0, problem.single_work, 1_000_000_000):
            self._check()
            bounds[part] = np.minimum(problem.single_bounds(singles[part]), bounds[part])
        kept = self._kept(bounds)
        self._singles = singles[kept]
        self._made: dict[int, Root] = {}
        N = int(kept.sum())
        width = len(problem.cards)
        stage = np.full(N, bool(width), dtype=int)
        chosen = np.zeros((N, width), dtype=int)
        self.open = Open(np.arange(N), chosen, np.zeros(N, dtype=int), stage, bounds[kept])

    def _kept(self, bounds: np.ndarray) -> np.ndarray:
        """Return which nodes with these bounds stay open; the others are closed."""
        kept = bounds > self.threshold
        self.closed = max(self.closed, float(bounds[~kept].max(initial=0.0)))
        return kept

    def _root(self, index: int) -> Root:
        if index not in self._made:
            self._made[index] = self.problem.root(self._singles[index])
        return self._made[index]

    def _advance(self) -> None:
        """Examine a batch of open nodes with large bounds: lower the bounds, or replace nodes by children."""
        assert self.open is not None
        nodes = self.open
        done = (nodes.level == len(self.problem.cards)) & (nodes.stage > len(self.problem.leaf_bounds))
        if done.all():
            raise Stopped("bound not tight")
        top = int(np.argmax(np.where(done, -np.inf, nodes.bound)))
        level, stage = int(nodes.level[top]), int(nodes.stage[top])
        leaf = level == len(self.problem.cards)
        alike = np.flatnonzero((nodes.level == level) & (nodes.stage == stage))
        together = 10 if leaf and stage == 2 else 500  # the last bounds of leaves take longest
        most = int(min(together, self.max_nodes - self.nodes, len(alike)))
        alike = alike[np.argpartition(nodes.bound[alike], len(alike) - most)[-most:]]
        batch = nodes.some(alike)
        rest = np.ones(len(nodes), dtype=bool)
        rest[alike] = False
        roots = [self._root(int(r)) for r in batch.root]
        self.nodes += len(batch)
        self.step(len(batch))
        if leaf or stage == 0:
            new = self._bounded(batch, roots, level, leaf)
        else:
            new = self._children(batch, roots, level)
        found = nodes.some(rest).joined(new.some(self._kept(new.bound)))
        if len(found) > 3_000_000:
            raise Stopped("too many nodes")
        self.open = found

    def _bounded(self, batch: Open, roots: list[Root], level: int, leaf: bool) -> Open:
        """Return the batch after the next bound; after the first bound of leaves, climb from the best."""
        stage = int(batch.stage[0])
        chosen = batch.chosen[:, :level]
        if leaf and stage:
            found = self.problem.leaf_bounds[stage - 1](roots, chosen, self.threshold, self.running)
        else:
            steps = LEAF if leaf else INNER
            found = self.problem.bounds(roots, chosen, self.threshold, steps, self.running)
        batch.bound = np.minimum(batch.bound, found)
        if self.running():
            batch.stage = batch.stage + 1
        if leaf and stage == 0:
            best = np.flatnonzero(batch.bound > self.threshold)
            best = best[np.argsort(batch.bound[best])[::-1][:50]]
            if best.size:
                tuples = [self.problem.variables_of(roots[b], batch.chosen[b]) for b in best]
                self.value = max(self.value, self.climb(tuples))
        return batch

    def _children(self, batch: Open, roots: list[Root], level: int) -> Open:
        """Return the children of the nodes, one for each support of the next component that stays open."""
        problem = self.problem
        cards, count = problem.cards, len(problem.supports[level])
        bounds = np.repeat(batch.bound[:, None], count, axis=1)
        groups: dict[int, list[int]] = {}
        for b, root in enumerate(roots):
            groups.setdefault(id(root), []).append(b)
        if roots[0].reach is not None or problem.apart:
            union = np.array([root.taken for root in roots], dtype=int)
            for t in range(level):
                union |= problem.masks[t][batch.chosen[:, t]]
        if problem.apart:
            bounds[(union[:, None] & problem.masks[level]) != 0] = -np.inf
        if roots[0].reach is not None:
            left = sum(cards[level + 1 :])
            both = union[:, None] | problem.masks[level]
        for members in groups.values():
            reach, sums = roots[members[0]].reach, roots[members[0]].sums
            if reach is not None:
                bounds[members] = np.minimum(bounds[members], reach[left][both[members]])
            if sums is not None:
                ceilings = sums.ceilings(batch.chosen[members], level, self.threshold)
                bounds[members] = np.minimum(bounds[members], ceilings)
        # with equal cardinalities the index may not be smaller than the one before; at level 0 all remain
        if cards[level] == cards[level - 1]:
            bounds[np.arange(count) < batch.chosen[:, level - 1][:, None]] = -np.inf
        which, row = np.nonzero(self._kept(bounds))
        chosen = batch.chosen[which]
        chosen[:, level] = row
        # children that are few, or have cheap bounds, start at stage 1: they branch without a dual bound
        paired = len(cards) == 2 and roots[0].sums is not None
        few = level + 1 < len(cards) and (paired or roots[0].reach is not None)
        if few and not paired:
            few = len(which) <= FEW * len(batch)
            few = few and len(which) * len(problem.supports[level + 1]) <= MANY * len(batch)
        stage = np.full(len(which), int(few))
        return Open(batch.root[which], chosen, np.full(len(which), level + 1), stage, bounds[which, row])


# --- the bound at the root ------------------------------------------------------------------------


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
    others at most as much as k - m dense components of the remaining variables.
    """
    root = Proof(bound=min(float(leading.sum()), 1.0), argument="dense PCA")
    if measure != "least_squares":
        variances = op.diagonal() / op.total
        root.lower(trace_bound(variances, min(sum(cards), op.p)), "sum of the largest variances")
        single = sum(c == 1 for c in cards)
        if 0 < single < len(cards):
            rest = float(leading[: len(cards) - single].sum())
            root.lower(trace_bound(variances, single) + rest, "components of one variable, the others dense")
    return root


def sparse_eigenvalues(S: np.ndarray, cards: tuple[int, ...], clock: Clock) -> float:
    """Return a bound on the sum of the largest sparse eigenvalue for the cardinality of each component.

    A sparse eigenvalue is the largest eigenvalue of a block of as many variables. The sum bounds adjusted
    variance, since a component's adjusted variance is at most its variance, and PEV of orthogonal loadings,
    which is the sum of the variances of the components.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix of total variance one.
    cards : tuple of int
    clock : Clock
    """
    ends = clock.left * 0.1 / len(set(cards))
    found = {c: prove(S, c, time_limit=ends, max_nodes=200).bound for c in set(cards)}
    return enlarged(sum(found[c] for c in cards), len(S))


#: The largest number of supports of a component for which the proof for two components is used.
MOST_FIRST = 100_000
#: The share of the time that it takes, and the source of its bound.
SHARE = 0.8
COVERED = "multipliers for the first component"

#: "Optimal" means proven to the relative tolerance OPTIMAL; the search aims for TARGET.
OPTIMAL, TARGET = 1e-4, 9e-5


# --- the certificate ------------------------------------------------------------------------------


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
    value = float(measure_named(measure)(V, op)[-1])
    eigenvalues = op.leading(min(len(cards), op.p))[0] if pca is None else pca
    leading = eigenvalues.clip(min=0.0) / op.total * (1.0 + LANCZOS)
    root = root_bound(op, cards, measure, leading)
    most = min(float(leading.sum()), 1.0)
    search = _Search(op, V, measure, orthogonal, value, root, rule, ruled=rule is None, best=value)
    if measure == "adjusted" and rule is None:
        search.reorder()
    if root.bound > value * (1.0 + TARGET):
        left = begun + time_limit - time.perf_counter()
        run_search(root, search.run, left, max_nodes, "joint proof")
    tuples = search.tuples
    search.finish()
    best = search.best
    bound = max(min(root.bound, most), best)
    return JointCertificate(
        measure,
        cards,
        value,
        bound,
        max(most, bound),
        *verdict(value, bound),
        root.description if search.ruled else f"{root.description}, {UNRULED}",
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
    root: Proof
    rule: SupportRule | None
    ruled: bool
    best: float
    leaves: Incumbent | None = None
    tuples: Tuples | None = None

    def reorder(self) -> None:
        """Put the components in the order with the largest adjusted variance."""
        V = self.V[:, best_order(self.op.products(self.V))]
        value = float(measure_named(self.measure)(V, self.op)[-1])
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
        if (
            isinstance(problem, Sequence)
            and coverable(problem, cards, clock)
            and self._cover(problem, cards, steps)
        ):
            return
        if isinstance(problem, Sequence) and not problem.free and problem.k > problem.m:
            level = self.best * (1.0 + TARGET)
            problem.prepare(self.V, level, clock)
            self.root.lower(problem.dense(), "multiplier of orthogonality")
            if self.root.bound <= level:
                return
            left_out = level  # supports that `prepare` excluded can reach this value
        if not (problem.m or problem.cards):
            raise Stopped("free components" if problem.free else "too many supports")

        self.leaves = (OrthogonalLeaves if self.orthogonal else Incumbent)(S, self.V, self.measure)
        self.tuples = Tuples(
            problem,
            max(self.value, self.leaves.value),
            TARGET,
            clock.runs,
            self.leaves.climb,
            steps.max_nodes,
            steps.count,
        )
        self.tuples.begin()
        self.tuples.closed = max(self.tuples.closed, left_out)
        # with many choices of supports, a better fit lets the search exclude more of them
        if problem.choices > 10_000 and len(S) <= 60 and clock.left > 2.0:
            self.tuples.value = max(self.tuples.value, self.leaves.improve(self.op, cards, self.rule))
        self.tuples.run()

    def _cover(self, problem: Sequence, cards: tuple[int, ...], steps: Steps) -> bool:
        """Bound two components by multipliers for supports of the first; return whether that is a proof."""
        S, clock = problem.S, steps.clock
        every = {c: np.array(list(combinations(range(len(S)), c))) for c in set(cards)}
        supports = {c: Supports.of(S, problem.allowed(places)) for c, places in every.items()}
        known = []
        for order in [[0, 1], [1, 0]][: len(set(cards))]:
            found = Incumbent(S, self.V[:, order], self.measure)
            own_order = order == [0, 1] or self.rule is None
            if problem.choices > 10_000 and len(S) <= 60 and clock.left > 2.0 and own_order:
                found.improve(self.op, found.cards, self.rule)
            known.append(found)

        def level() -> float:
            return max(self.best, *(one.value for one in known)) * (1.0 + TARGET)

        part = clock.until(time.perf_counter() + SHARE * clock.left)

        def node() -> None:
            if not part.runs():
                raise Stopped("time limit")
            steps.node()

        covers = [
            Cover(S, problem.factor, supports[one.cards[0]], supports[one.cards[1]], level()) for one in known
        ]
        try:
            for one, cover in zip(known, covers, strict=True):

                def climb(pairs: list[list[np.ndarray]], one: Incumbent = one) -> float:
                    one.climb(pairs)
                    return level()

                if not cover.run(node, climb):
                    return False
        except (Stopped, KeyboardInterrupt) as stop:
            self.root.lower(max(cover.bound for cover in covers), COVERED)
            if isinstance(stop, Stopped) and not part.runs() and clock.runs():
                return False
            raise
        finally:
            for one in known:
                self._adopt(one.V)
        self.root.lower(level(), COVERED)
        return True

    def _adopt(self, V: np.ndarray) -> None:
        """Store a fit if it is better than the best known one."""
        found = float(measure_named(self.measure)(V, self.op)[-1])
        if found > self.best:
            self.best, self.V = found, V

    def finish(self) -> None:
        """Add the results of the search over supports."""
        if self.leaves is not None:
            self._adopt(self.leaves.V)
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
    value, most = float(measure_named(measure)(V, op)[-1]), float(eigenvalues.sum()) / op.total
    best = value
    S = formed(op, clock)
    bound, how = most, "bounded by dense PCA (time limit)"
    if S is not None:
        S = S / op.total
        if op.p <= MOST and clock.left > SEARCH:
            found = partition(S, k, measure, "quick")
            reached = float(measure_named(measure)(found.V, op)[-1])
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
        *verdict(value, bound),
        ", ".join([PARTITIONS, how] if how else [PARTITIONS]),
        0,
        0,
        time.perf_counter() - begun,
        best,
        V,
    )


def coverable(problem: Sequence, cards: tuple[int, ...], clock: Clock) -> bool:
    """Return whether the proof for two components is possible: see `adjusted_bounds`."""
    if problem.k != 2 or problem.m == 2 or problem.free or problem.apart:
        return False
    counts = [comb(problem.p, c) for c in cards]
    return all(n <= MOST_FIRST and n * c**2 <= 2e7 for n, c in zip(counts, cards, strict=True)) and all(
        clock.affords(20.0 * c**3 * n) for n, c in zip(counts, cards, strict=True)
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
