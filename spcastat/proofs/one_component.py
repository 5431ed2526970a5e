"""Certificates of single components, by branch and bound over variables or groups."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from spcastat.linalg.deflation import Removed, deflate
from spcastat.linalg.eigenvectors import EPS, largest_pairs, symmetric
from spcastat.linalg.operators import Gram, Operator
from spcastat.measures import adjusted_variances
from spcastat.progress import Advance, stage
from spcastat.proofs.eigenvalue_bounds import (
    CLIPPING_SHARES,
    PASS_COST,
    SPLIT_ORDER,
    Clock,
    Node,
    eigenvalue_bound,
    enlarged,
    examine,
    formed,
    lanczos_bound,
    shift_to_definite,
    split_bound,
    trace_bound,
)
from spcastat.search.climbing import reordered
from spcastat.search.constrained import constrained
from spcastat.search.constraints import ORTHOGONAL
from spcastat.search.criteria import SupportRule
from spcastat.search.exact_loadings import ExactLoadings
from spcastat.search.grouped import GroupRule
from spcastat.search.joint_search import joint
from spcastat.search.moves import refined
from spcastat.search.objectives import OBJECTIVES, PEV
from spcastat.solvers.optimality import OPTIMALITY_TOLERANCE
from spcastat.solvers.support_search import POWER_ITERATIONS, STARTING_ROWS, best_support, improve_support

# --- branch and bound over variables --------------------------------------------------------------


#: The relative tolerance that the search aims for, slightly smaller than `OPTIMALITY_TOLERANCE`.
VALUE_TARGET = 8e-10
#: A heuristic search for a good support always runs with up to HEURISTIC_VARIABLES variables; with more
#: variables, it runs if there is time.
HEURISTIC_VARIABLES = 1000


class Stopped(Exception):
    """Raised to end a search; the argument is the reason."""


#: The kind of proof for a bound from all variables, valid for every cardinality.
LEADING_EIGENVALUE = "leading eigenvalue"


@dataclass
class Proof:
    """The best known support and the best proven bound; both are valid at any time during a search.

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
    stopped : str
        The reason if the search ended before the proof was complete, otherwise empty.
    """

    value: float = 0.0
    support: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))
    bound: float = np.inf
    argument: str = ""
    nodes: int = 0
    stopped: str = ""

    @property
    def description(self) -> str:
        """The kind of proof, and in parentheses the reason why the search ended."""
        return self.argument + (f" ({self.stopped})" if self.stopped else "")

    @property
    def closed(self) -> bool:
        """Whether value and bound agree to within `OPTIMALITY_TOLERANCE`."""
        return self.bound <= self.value * (1.0 + OPTIMALITY_TOLERANCE)

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
    known_bound: float = np.inf,
    must: np.ndarray | None = None,
) -> Proof:
    """Find the best support of at most `c` variables, with a proven upper bound.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Symmetric, positive semidefinite up to rounding.
    c : int
        Largest number of variables, from 1 to p.
    support : ndarray of int or None
        An initial support of at most c variables.
    time_limit : float
        Time limit in seconds, at least zero. Steps that would take longer are skipped.
    max_nodes : int or None
        The largest number of nodes of the branch and bound.
    known_bound : float
        A bound already proven, such as the bound for the matrix before deflation.
    must : ndarray of int or None
        Variables that every support, including `support`, must contain.

    Returns
    -------
    Proof
        If a limit or Ctrl-C (KeyboardInterrupt) ended the search, it contains the bounds proven so far.
    """
    must = np.arange(0) if must is None else must

    def search(steps: Steps) -> None:
        _SupportSearch(S, min(c, len(S)), steps, must).run(support)

    proof = Proof(bound=known_bound, argument=LEADING_EIGENVALUE)
    return run_search(proof, search, time_limit, max_nodes)


@dataclass
class Steps:
    """A proof, and the limits of its search, which are checked before each node."""

    proof: Proof
    clock: Clock
    max_nodes: float
    advance: Advance

    def check(self) -> None:
        if not self.clock.runs():
            raise Stopped("time limit")

    def node(self) -> None:
        """Count a node; raise `Stopped` if a limit is reached."""
        if self.proof.nodes >= self.max_nodes:
            raise Stopped("node limit")
        self.check()
        self.count(1)

    def count(self, nodes: int) -> None:
        self.proof.nodes += nodes
        self.advance(nodes)


def run_search(
    proof: Proof,
    search: Callable[[Steps], None],
    time_limit: float,
    max_nodes: int | None,
    name: str = "branch and bound",
) -> Proof:
    """Run a search that updates `proof` until it ends or a limit or Ctrl-C stops it; return `proof`.

    `name` is the name of the stage in progress reports; see `prove` for the limits.
    """
    clock = Clock(time.perf_counter() + time_limit)
    node_limit = np.inf if max_nodes is None else max_nodes
    with stage(name, unit="nodes") as advance:
        try:
            search(Steps(proof, clock, node_limit, advance))
        except Stopped as stop:
            proof.stopped = str(stop)
        except KeyboardInterrupt:
            proof.stopped = "interrupted"
    return proof


class _SupportSearch:
    """One run of `prove`; S is scaled so that the largest variance is one, and shifted to be semidefinite."""

    def __init__(self, S: np.ndarray, c: int, steps: Steps, must: np.ndarray):
        self.S, self.c, self.steps, self.must, self.shift = S, c, steps, must, 0.0
        self.proof, self.clock = steps.proof, steps.clock

    def run(self, support: np.ndarray | None) -> None:  # noqa: C901  the main loop of a proof
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
        if support is not None and support.size:
            self._take(support)
        if c == p:
            self._leading()
            proof.argument = "full cardinality"
            self._take(np.arange(p))
            return
        definite = self.clock.affords(2.0 * p**3)
        shift = shift_to_definite(S) if definite else 4.0 * (p + 2) * EPS * float(np.diag(S).sum())
        sums = trace_bound(variances / self.scale + shift, c)
        proof.lower(sums * self.scale, "sum of the largest variances")
        self.steps.check()
        self._leading()
        self.steps.check()
        affordable = p <= HEURISTIC_VARIABLES or self.clock.affords(
            4.0 * p**2 * STARTING_ROWS * POWER_ITERATIONS, 2 * POWER_ITERATIONS
        )
        if affordable and not self.must.size:  # `best_support` has no option for required variables
            self._take(best_support(S, c, running=self.clock.runs)[1])
        if proof.closed:
            return
        self.steps.check()
        if p <= SPLIT_ORDER and self.clock.affords(16.0 * p**3, 4):
            proof.lower(split_bound(S, c, CLIPPING_SHARES[::3]) * self.scale, "split matrix")
        self.steps.check()
        if not definite:
            raise Stopped("time limit")
        self.S, self.shift = S + shift * np.eye(p), shift
        self._deepen()

    def _leading(self) -> None:
        """Lower the bound to the leading eigenvalue, by Lanczos iterations if LAPACK would take too long."""
        p = len(self.S)
        dense = self.clock.affords(4.0 * p**3)
        bound = eigenvalue_bound(self.S) if dense else lanczos_bound(self.S.dot, p, self.clock.runs)
        self.proof.lower(bound * self.scale, LEADING_EIGENVALUE)

    def _take(self, support: np.ndarray) -> None:
        block = self.S[np.ix_(support, support)]
        value = float(np.linalg.eigvalsh(block)[-1]) - self.shift
        self.proof.raise_to(value * self.scale, support)

    def _deepen(self) -> None:
        """Try to prove, with increasing numbers of nodes, that no support is better; lower the bound."""
        proof, budget = self.proof, 64.0
        while True:
            target = proof.value * (1.0 + VALUE_TARGET)
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
        """Return True if no support exceeds `bound`, and None if a better support was found and stored.

        Return False if neither is decided after `budget` nodes.
        """
        c, p = self.c, len(self.S)
        level = (bound / self.scale + self.shift) * (1.0 - 1e-13 * (c + 1) - 4.0 * EPS * c * c)
        stack = [Node(self.must, np.setdiff1d(np.arange(p), self.must))]
        remaining_nodes = budget
        while stack:
            if remaining_nodes <= 0:
                return False
            if not self.clock.affords(12.0 * p**3 if p <= SPLIT_ORDER else 2.0 * p**3, 12):
                raise Stopped("time limit")
            self.steps.node()
            remaining_nodes -= 1
            children, better_support = examine(self.S, stack.pop(), c, level)
            if better_support is not None:
                previous_value = self.proof.value
                self._take(better_support if self.must.size else improve_support(self.S, better_support, c))
                if not self.proof.value > previous_value:
                    raise Stopped("rounding")
                return None
            stack += children
        return True


# --- branch and bound over groups -----------------------------------------------------------------


def prove_groups(
    S: np.ndarray,
    *,
    of: np.ndarray,
    count: int,
    support: np.ndarray,
    must: np.ndarray,
    time_limit: float = 60.0,
    max_nodes: int | None = None,
    known_bound: float = np.inf,
) -> Proof:
    """Maximise the largest eigenvalue of S[J, J] over unions J of at most `count` groups, with a bound.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Symmetric matrix.
    of : ndarray of int, shape (p,)
        The group of each variable.
    count : int
    support, must : ndarray of int
        The variables of a known union, and of the groups that every union must contain.
    time_limit, max_nodes, known_bound
        See :func:`spcastat.proofs.one_component.prove`.

    Returns
    -------
    Proof
        If a limit or Ctrl-C ended the search, it contains the bound proven so far.
    """

    def search(steps: Steps) -> None:
        proof = steps.proof
        tree = _GroupProof(S, np.unique(of, return_inverse=True)[1], count, proof)
        required_groups = np.unique(tree.of[must])
        tree.take(np.unique(tree.of[support]))
        for bound in tree.bounds(
            required_groups, np.setdiff1d(np.arange(tree.of.max() + 1), required_groups)
        ):
            exhausted = bound <= proof.value * (1.0 + VALUE_TARGET)
            argument = "exhaustive branch and bound" if exhausted else "branch and bound"
            proof.lower(bound, argument if proof.nodes else "split matrix of groups")
            if exhausted:
                return
            steps.node()

    proof = Proof(bound=known_bound, argument=LEADING_EIGENVALUE)
    return run_search(proof, search, time_limit, max_nodes)


class _GroupProof:
    """One run of `prove_groups`; a node consists of included groups and groups that may still be added."""

    def __init__(self, S: np.ndarray, of: np.ndarray, c: int, proof: Proof):
        self.S, self.of, self.proof = S, of, proof
        groups = range(of.max() + 1)
        self.c = min(c, len(groups))
        blocks = [[S[np.ix_(of == g, of == h)] for h in groups] for g in groups]
        self.sizes = np.array([[np.linalg.norm(B, 2) for B in row] for row in blocks]) * (1.0 + len(S) * EPS)
        np.fill_diagonal(self.sizes, 0.0)

    def bounds(self, included: np.ndarray, free: np.ndarray) -> Iterator[float]:
        """Yield bounds on all unions, in descending order, until every union is evaluated or excluded."""
        number = itertools.count()
        queue = [(-self.bound(included, free), next(number), included, free)]
        while queue:
            bound, _, included, free = heapq.heappop(queue)
            yield max(-bound, self.proof.value)
            J = np.flatnonzero(np.isin(self.of, np.concatenate([included, free])))
            v = largest_pairs(self.S[np.ix_(J, J)], 1)[1][:, -1]
            weights = np.bincount(self.of[J], v**2, self.of.max() + 1)[free]
            groups_by_weight = free[np.argsort(-weights, kind="stable")]
            self.take(np.concatenate([included, groups_by_weight[: self.c - len(included)]]))
            other_groups = np.setdiff1d(free, groups_by_weight[:1])
            for branch in (np.append(included, groups_by_weight[0]), included):
                if len(branch) + len(other_groups) <= self.c or len(branch) == self.c:
                    self.take(branch if len(branch) == self.c else np.concatenate([branch, other_groups]))
                elif (branch_bound := self.bound(branch, other_groups)) > self.proof.value * (
                    1.0 + VALUE_TARGET
                ):
                    key = bound if branch_bound > -bound else -branch_bound
                    heapq.heappush(queue, (key, next(number), branch, other_groups))
        yield enlarged(self.proof.value, len(self.S))

    def take(self, groups: np.ndarray) -> None:
        """Evaluate a union of groups, and store it if it is the best so far."""
        J = np.flatnonzero(np.isin(self.of, groups))
        self.proof.raise_to(float(np.linalg.eigvalsh(self.S[np.ix_(J, J)])[-1]), J)

    def bound(self, included: np.ndarray, free: np.ndarray) -> float:
        """Return a bound on the unions of the included groups with any of the free groups.

        For U with zero diagonal blocks and x on such a union, x'Ux is at most the sum over its groups g and h
        of |U_gh| (|x_g|^2 + |x_h|^2) / 2. So x'Sx <= x'Mx, where M is S - U plus, on the diagonal of each
        group g, the sum of |U_gh| over the included groups h and over the largest values for as many free
        groups as may still be added. U contains the blocks of S between groups, scaled down to a norm of at
        most a cap; U = 0 gives the leading eigenvalue.
        """
        used = np.concatenate([included, free])
        J = np.flatnonzero(np.isin(self.of, used))
        block, of = self.S[np.ix_(J, J)], self.of[J]
        room = self.c - len(included)
        if room >= len(free):
            return eigenvalue_bound(block)
        sizes = self.sizes[np.ix_(used, used)]
        lowest_bound = eigenvalue_bound(block)
        for cap in np.append(CLIPPING_SHARES, 1.0) * sizes.max():
            norms = np.minimum(sizes, cap)
            largest_norms = np.sort(norms[:, len(included) :], axis=1)[:, ::-1]
            rooms = np.where(np.arange(len(used)) < len(included), room, room - 1)
            sums = np.cumsum(np.pad(largest_norms, ((0, 0), (1, 0))), axis=1)[np.arange(len(used)), rooms]
            gamma = np.zeros(len(self.sizes))
            gamma[used] = sums + norms[:, : len(included)].sum(axis=1)
            shares = np.zeros_like(self.sizes)
            shares[np.ix_(used, used)] = norms / np.where(sizes > 0.0, sizes, 1.0)
            M = block * (1.0 - shares[of[:, None], of])
            M[np.diag_indices_from(M)] += gamma[of] * (1.0 + len(J) * EPS)
            lowest_bound = min(lowest_bound, eigenvalue_bound(M))
        return lowest_bound


# --- the certificate ------------------------------------------------------------------------------


#: The largest number of variables for which S is computed and searched; with more, only cheap bounds are
#: given.
DENSE_VARIABLES = 5000


@dataclass(frozen=True, eq=False)
class ComponentBound:
    """A proven bound for one component.

    Attributes
    ----------
    cardinality : int
        Number of nonzeros of the loadings v.
    value : float
        The adjusted variance of the component, v'Sv, where S is the covariance matrix after deflation by the
        earlier components (Schur complement). Zero if the score depends linearly on the earlier scores.
    upper_bound : float
        A proven bound: no unit vector z with this number of nonzeros, of any sign, has a larger z'Sz.
    gap : float
        The difference of bound and value in percent of the value; infinite if only the value is zero.
    optimal : bool
        Whether value and bound agree to a relative 1e-9, or up to the rounding of the whole matrix.
    proof : str
        The kind of proof, and in parentheses what ended the search if the proof is not complete.
    nodes : int
        Number of nodes of the branch and bound.
    seconds : float
    best_known : float
        The largest z'Sz found. If it exceeds `value` by more than rounding, the component can be improved.
    support : ndarray of int
        The variables that give `best_known`.
    """

    cardinality: int
    value: float
    upper_bound: float
    gap: float
    optimal: bool
    proof: str
    nodes: int
    seconds: float
    best_known: float
    support: np.ndarray


def certify(
    op: Operator,
    V: np.ndarray,
    *,
    time_limit: float = 60.0,
    max_nodes: int | None = None,
    rule: SupportRule | None = None,
) -> tuple[ComponentBound, ...]:
    """Compute a proven upper bound for each component, given its number of nonzeros.

    Parameters
    ----------
    op : Operator
        The covariance matrix.
    V : ndarray of shape (p, k)
        Unit-length loadings in the order shown. Each column is compared with the best loadings for the
        covariance matrix deflated by the earlier columns, whatever method found them.
    time_limit : float
        Time limit in seconds for all components together; each component may use an equal share of the
        remaining time. Steps that would take longer, or that Ctrl-C could not interrupt soon, are skipped.
    max_nodes : int or None
        The largest number of nodes of the branch and bound for each component.
    rule : SupportRule, optional
        The rule for the supports with which each component is compared. A forced loading may be zero. If
        components are disjoint, variables that earlier components use or later components must use are
        excluded.

    Returns
    -------
    tuple of ComponentBound, one per component

    Notes
    -----
    The bounds are for the problem without further constraints; for nonnegative loadings they are valid but
    may not be attainable. Ctrl-C ends the search: the bounds proven so far are returned, with cheap bounds
    for the other components. With more than `DENSE_VARIABLES` variables, or too little time to compute the
    covariance matrix, only cheap bounds are given: the sum of the largest variances, and the leading
    eigenvalue, which is computed once.
    """
    run = _ComponentProof(op, V, Clock(time.perf_counter() + time_limit), max_nodes, rule)
    with stage("certificates", V.shape[1], "components") as advance:
        while len(run.certificates) < V.shape[1]:
            try:
                run.one_more()
            except KeyboardInterrupt:  # the component is restarted with cheap bounds
                run.stopped = "interrupted"
                continue
            advance(1)
    return tuple(run.certificates)


@dataclass(eq=False)
class _ComponentProof:
    """One run of `certify`: the certificates so far, and the deflated covariance matrix."""

    op: Operator
    V: np.ndarray
    clock: Clock
    max_nodes: int | None
    rule: SupportRule | None
    certificates: list[ComponentBound] = field(default_factory=list)
    dense: bool | None = None
    stopped: str = ""
    #: A bound on the leading eigenvalue, which deflation does not increase.
    known_bound: float = np.inf

    def __post_init__(self) -> None:
        self.floor = 1e-13 * float(self.op.diagonal().max())  # smaller variances after deflation are rounding
        # the deflated matrix, and the number of components removed from it
        self.deflation: tuple[Operator, int] = (self.op, 0)

    @cached_property
    def values(self) -> np.ndarray:
        """The adjusted variances, shape (k,)."""
        return adjusted_variances(self.V, self.op)

    def admissible_variables(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the variables that component i may use, and its support, both ascending."""
        used = self.V != 0
        if self.rule is None:
            return np.arange(len(used)), np.flatnonzero(used[:, i])
        used = used | self.rule.must.T
        may = self.rule.admissible(i, used[:, :i].any(axis=1))
        if isinstance(self.rule, GroupRule):  # a group counts as used even if some of its loadings are zero
            may = (self.rule.by_group(~may) == 0)[self.rule.of]
        return np.flatnonzero(may), np.flatnonzero(used[:, i])

    def one_more(self) -> None:
        """Certify the next component."""
        i, k = len(self.certificates), self.V.shape[1]
        view, removed_count = self.deflation
        if self.dense is None and not self.stopped:
            S = formed(view, self.clock) if view.p <= DENSE_VARIABLES else None
            if S is not None:
                view = Gram(S, view.rank_limit)
                self.deflation = (view, removed_count)
            self.dense = S is not None
        if removed_count < i:
            if self.values[i - 1] > 0.0:  # a linearly dependent component does not change the matrix
                v = self.V[:, i - 1]
                view = deflate(view, Removed(v, v, self.V[:, : i - 1]), "schur")
            self.deflation = (view, i)
        start_time = time.perf_counter()
        # for each component, a p x p matrix is computed, symmetrised and scaled
        if self.dense and not self.stopped and self.clock.affords(6.0 * PASS_COST * view.p**2, 6):
            proof = self._search(i, view, self.clock.seconds_left / (k - i))
        else:
            proof = self._cheap(i, view)
        fit_support, value = np.flatnonzero(self.V[:, i]), float(self.values[i])
        bound = max(proof.bound, value)  # only rounding can make the bound smaller
        nothing = 0.0 if bound <= self.floor else np.inf
        component_bound = ComponentBound(
            cardinality=fit_support.size,
            value=value,
            upper_bound=bound,
            gap=float(100.0 * (bound - value) / value if value > 0.0 else nothing),
            optimal=bool(bound <= value * (1.0 + OPTIMALITY_TOLERANCE) or bound <= self.floor),
            proof=proof.description,
            nodes=proof.nodes,
            seconds=time.perf_counter() - start_time,
            best_known=max(proof.value, value),
            # for a component that adds nothing, there may be no better support
            support=fit_support if proof.value < value or not proof.support.size else proof.support,
        )
        self.certificates.append(component_bound)

    def _search(self, i: int, view: Operator, time_limit: float) -> Proof:
        """Return a proof for component i by branch and bound; `view` is the deflated covariance matrix."""
        variables, support = self.admissible_variables(i)
        must = np.flatnonzero(self.rule.must[i]) if self.rule is not None else np.arange(0)
        find: Callable[..., Proof] = partial(prove, c=max(support.size, 1))
        if isinstance(self.rule, GroupRule):
            find = partial(prove_groups, of=self.rule.of[variables], count=self.rule.counts[i])
        proof = find(
            symmetric(view.block(variables)),
            support=np.searchsorted(variables, support),
            must=np.searchsorted(variables, must),
            time_limit=time_limit,
            max_nodes=self.max_nodes,
            known_bound=self.known_bound,
        )
        if not np.isfinite(proof.bound):  # Ctrl-C came before the first bound: use cheap bounds
            raise KeyboardInterrupt
        proof.support = variables[proof.support]
        if proof.stopped == "interrupted":
            self.stopped = proof.stopped
        if self.rule is None and proof.argument == LEADING_EIGENVALUE:
            self.known_bound = min(self.known_bound, proof.bound)
        return proof

    def _cheap(self, i: int, view: Operator) -> Proof:
        """Return a proof for component i from the variances and, if there is time, the leading eigenvalue."""
        note = "too many variables for a search" if view.p > DENSE_VARIABLES else "time limit"
        if not self.stopped and not np.isfinite(self.known_bound) and self.clock.runs():
            try:
                self.known_bound = lanczos_bound(view.dot, view.p, self.clock.runs)
            except KeyboardInterrupt:
                self.stopped = "interrupted"
        card = max(int(np.count_nonzero(self.V[:, i])), 1)
        if isinstance(self.rule, GroupRule):
            card = self.rule.rooms[i]
        proof = Proof(stopped=self.stopped or note)
        proof.lower(trace_bound(view.diagonal() + self.floor, card), "sum of the largest variances")
        proof.lower(self.known_bound, LEADING_EIGENVALUE)
        return proof


#: Number of steps of an ascent from loadings on the supports of a leaf.
CLIMB_STEPS = 60


class Incumbent:
    """The best known fit, as judged by a measure.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix of total variance one.
    V : ndarray of shape (p, k)
        The initial fit; no column is zero.
    measure : {"pev", "adjusted", "least_squares"}
    """

    def __init__(self, S: np.ndarray, V: np.ndarray, measure: str):
        self.S = S
        self.V = V
        self.cards = tuple(int(c) for c in np.count_nonzero(V, axis=0))
        self.measure = measure
        self.criterion = OBJECTIVES[measure].criterion.of_matrix(S, self.cards)
        self.rng = np.random.default_rng(0)
        self.value = self._measured(V)

    def _measured(self, V: np.ndarray) -> float:
        places = np.concatenate([np.flatnonzero(v) for v in V.T])[None, :]
        x = np.concatenate([v[np.flatnonzero(v)] for v in V.T])[None, :]
        return float(self.criterion.fits(places, x).value[0])

    def adopt(self, V: np.ndarray, value: float) -> float:
        """Store a fit if it is better; return the best value."""
        if value > self.value:
            self.V, self.value = V, value
        return self.value

    def climb(self, tuples: list[list[np.ndarray]]) -> float:
        """Optimise loadings on given supports, store the best fit, and return the best known value.

        Each list in `tuples` contains the supports of one fit, in any order.
        """
        assignments = [
            assignment
            for supports in tuples
            if (assignment := assign_supports(supports, self.cards, self.V)) is not None
        ]
        if assignments:
            for V, value in self._climbed(assignments):
                self.adopt(V, value)
        return self.value

    def _climbed(self, assignments: list[list[np.ndarray]]) -> Iterator[tuple[np.ndarray, float]]:
        """Yield the best fits and their values; `assignments` contain a support for every component."""
        places, starts = self._starts(assignments, 2)
        fits = self.criterion.fits(np.concatenate([places] * len(starts)), np.concatenate(starts))
        fits = reordered(self.criterion, refined(self.criterion, fits, CLIMB_STEPS))
        argmax = int(np.argmax(fits.value))
        yield self.criterion.dense(fits.subset(np.array([argmax])))[0], float(fits.value[argmax])

    def _starts(self, assignments: list[list[np.ndarray]], count: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the places and values of starting loadings: leading eigenvectors and `count` random ones."""
        places = np.stack([np.concatenate(supports) for supports in assignments])
        leading = [
            [np.linalg.eigh(self.S[np.ix_(T, T)])[1][:, -1] for T in supports] for supports in assignments
        ]
        starts = [np.stack([np.concatenate(vectors) for vectors in leading])]
        return places, starts + [self.rng.standard_normal(places.shape) for _ in range(count)]

    def improve(self, op: Operator, cards: tuple[int, ...], rule: SupportRule | None = None) -> float:
        """Run the quick search and store its result if it is better; return the best known value."""
        V = joint(op, len(cards), cards, self.measure, "quick", rule=rule).V
        value = float(OBJECTIVES[self.measure].measure(V, op)[-1]) if V.any(axis=0).all() else -np.inf
        return self.adopt(V, value)


class OrthogonalLeaves(Incumbent):
    """The best known fit with orthogonal loadings, as measured by PEV."""

    def _measured(self, V: np.ndarray) -> float:
        return float(np.einsum("ij,ik,kj->", V, self.S, V))

    def improve(self, op: Operator, cards: tuple[int, ...], rule: SupportRule | None = None) -> float:
        """Search among orthogonal loadings from this fit; return the best value."""
        if max(cards) < len(self.S):  # with all variables, PCA loadings are optimal
            result = constrained(self.S, self.cards, ORTHOGONAL, PEV, "quick", self.rng, [self.V])
            return self.adopt(result.V, self._measured(result.V))
        return self.value

    def _climbed(self, assignments: list[list[np.ndarray]]) -> Iterator[tuple[np.ndarray, float]]:
        loadings = ExactLoadings(self.S, self.cards, ORTHOGONAL, PEV)
        places, starts = self._starts(assignments, 3)
        for start in starts:
            x, values, _ = loadings.best_loadings(places, start, CLIMB_STEPS)
            argmax = int(np.argmax(values))
            V = np.zeros_like(self.V)
            V[places[argmax], loadings.owner] = x[argmax]
            yield V, float(values[argmax])


def assign_supports(
    supports: list[np.ndarray], cards: tuple[int, ...], V: np.ndarray
) -> list[np.ndarray] | None:
    """Assign supports to components by cardinality; other components keep their supports in V.

    Return None if the supports cannot be assigned, or a component has no support of its cardinality.
    """
    free = sorted(range(len(supports)), key=lambda j: len(supports[j]))
    assignment = []
    for i, card in enumerate(cards):
        match = next((j for j in free if len(supports[j]) == card), None)
        if match is None:
            assignment.append(np.flatnonzero(V[:, i]))
        else:
            free.remove(match)
            assignment.append(np.sort(supports[match]))
    fits = all(len(T) == c for T, c in zip(assignment, cards, strict=True))
    return assignment if fits and not free else None
