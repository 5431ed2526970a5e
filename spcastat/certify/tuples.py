"""Best-first search over the supports of all components; its bound is valid whenever it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from spcastat.certify.branch import Stopped
from spcastat.certify.relaxed import INNER, LEAF, Relaxed, Root
from spcastat.kernels.blocks import blocks

#: Children get no dual bound if nodes have on average at most FEW children and MANY grandchildren.
FEW, MANY = 100, 10_000


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
