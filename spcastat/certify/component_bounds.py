"""Certificates: proven bounds on how far each component is from the best of its cardinality."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from spcastat.certify.bounds import lanczos_bound, trace_bound
from spcastat.certify.branch import Callback, Proof, prove
from spcastat.certify.clock import PASS, Clock, formed
from spcastat.certify.grouped import prove_groups
from spcastat.kernels.eig import symmetric
from spcastat.measures import adjusted_variances
from spcastat.operators import Gram, Operator, Removed, deflate
from spcastat.progress import stage
from spcastat.search.grouped import GroupRule
from spcastat.search.rule import SupportRule
from spcastat.solvers.optimality import EXACT

#: The largest number of variables for which S is computed and searched; above it only cheap bounds are given.
DENSE_VARIABLES = 5000


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proven bound for one component.

    Attributes
    ----------
    cardinality : int
        Nonzeros of the loadings v.
    value : float
        The adjusted variance of the component: v'Sv, where S is the covariance matrix after deflation by the
        earlier components (Schur complement). Zero if the score depends linearly on the earlier scores.
    upper_bound : float
        A proven bound: no unit vector z with as many nonzeros, of any sign, has a larger z'Sz.
    gap : float
        The difference of bound and value in percent of the value; infinite if only the value is zero.
    optimal : bool
        Whether value and bound agree to a relative 1e-9, or to the rounding of the whole matrix.
    proof : str
        The kind of proof, and in parentheses what ended the search if the proof is not complete.
    nodes : int
        Nodes of the branch and bound.
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
    callback: Callback | None = None,
    rule: SupportRule | None = None,
) -> tuple[Certificate, ...]:
    """Compute a proven upper bound for each component, given its number of nonzeros.

    Parameters
    ----------
    op : Operator
        The covariance matrix.
    V : ndarray of shape (p, k)
        Unit-length loadings in the order shown. Each column is compared with the best one for the matrix
        deflated by the earlier columns, whatever method found them.
    time_limit : float
        Seconds for all components together; each may use an equal share of the time left. Steps that would
        take longer, or that Ctrl-C could not interrupt soon, are skipped.
    max_nodes : int or None
        The largest number of nodes of the branch and bound for each component.
    callback : callable or None
        Called before each node with the number of nodes of the current component.
    rule : SupportRule, optional
        The supports with which each component is compared. A forced loading may be zero. If components are
        disjoint, variables that earlier components use or later ones must use are excluded.

    Returns
    -------
    tuple of Certificate, one per component

    Notes
    -----
    The bounds are for the problem without further constraints; for nonnegative loadings they are valid, but
    may not be attainable. Ctrl-C ends the search: the bounds proven until then are returned, with cheap
    bounds for the other components. With more than `DENSE_VARIABLES` variables, or too little time to compute
    the covariance matrix, there are only cheap bounds: the sum of the largest variances, and the leading
    eigenvalue, which is computed once.
    """
    run = _Run(op, V, Clock(time.perf_counter() + time_limit), max_nodes, callback, rule)
    with stage("certificates", V.shape[1], "components") as advance:
        while len(run.certificates) < V.shape[1]:
            try:
                run.one_more()
            except KeyboardInterrupt:  # the component is started again, with cheap bounds
                run.stopped = "interrupted"
                continue
            advance(1)
    return tuple(run.certificates)


@dataclass(eq=False)
class _Run:
    """One run of `certify`: the certificates so far, and the deflated covariance matrix."""

    op: Operator
    V: np.ndarray
    clock: Clock
    max_nodes: int | None
    callback: Callback | None
    rule: SupportRule | None
    certificates: list[Certificate] = field(default_factory=list)
    dense: bool | None = None
    stopped: str = ""
    #: A bound on the leading eigenvalue, which deflation does not increase.
    known: float = np.inf

    def __post_init__(self) -> None:
        self.floor = 1e-13 * float(self.op.diagonal().max())  # smaller variances after deflation are rounding
        # the deflated matrix, and the number of components removed from it
        self.left: tuple[Operator, int] = (self.op, 0)

    @cached_property
    def values(self) -> np.ndarray:
        """The adjusted variances, shape (k,)."""
        return adjusted_variances(self.V, self.op)

    def allowed(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the variables that component i may use, and its support, ascending."""
        used = self.V != 0
        if self.rule is None:
            return np.arange(len(used)), np.flatnonzero(used[:, i])
        used = used | self.rule.must.T
        may = self.rule.open(i, used[:, :i].any(axis=1))
        if isinstance(self.rule, GroupRule):  # a group counts as used even if some of its loadings are zero
            may = (self.rule.by_group(~may) == 0)[self.rule.of]
        return np.flatnonzero(may), np.flatnonzero(used[:, i])

    def one_more(self) -> None:
        """Certify the next component."""
        i, k = len(self.certificates), self.V.shape[1]
        view, done = self.left
        if self.dense is None and not self.stopped:
            S = formed(view, self.clock) if view.p <= DENSE_VARIABLES else None
            if S is not None:
                view = Gram(S, view.rank_limit)
                self.left = (view, done)
            self.dense = S is not None
        if done < i:
            if self.values[i - 1] > 0.0:  # a linearly dependent component does not change the matrix
                v = self.V[:, i - 1]
                view = deflate(view, Removed(v, v, self.V[:, : i - 1]), "schur")
            self.left = (view, i)
        begun = time.perf_counter()
        # for each component a p x p matrix is computed, made symmetric and scaled
        if self.dense and not self.stopped and self.clock.affords(6.0 * PASS * view.p**2, 6):
            proof = self._search(i, view, self.clock.left / (k - i))
        else:
            proof = self._cheap(i, view)
        own, value = np.flatnonzero(self.V[:, i]), float(self.values[i])
        bound = max(proof.bound, value)  # the bound can be smaller only by rounding
        nothing = 0.0 if bound <= self.floor else np.inf
        found = Certificate(
            cardinality=own.size,
            value=value,
            upper_bound=bound,
            gap=float(100.0 * (bound - value) / value if value > 0.0 else nothing),
            optimal=bool(bound <= value * (1.0 + EXACT) or bound <= self.floor),
            proof=proof.told,
            nodes=proof.nodes,
            seconds=time.perf_counter() - begun,
            best_known=max(proof.value, value),
            # a component that adds nothing may have no better support
            support=own if proof.value < value or not proof.support.size else proof.support,
        )
        self.certificates.append(found)

    def _search(self, i: int, view: Operator, time_limit: float) -> Proof:
        """Return a proof for component i by branch and bound; `view` is the deflated covariance matrix."""
        allowed, support = self.allowed(i)
        must = np.flatnonzero(self.rule.must[i]) if self.rule is not None else np.arange(0)
        find: Callable[..., Proof] = prove
        if isinstance(self.rule, GroupRule):
            find = partial(prove_groups, of=self.rule.of[allowed], count=self.rule.counts[i])
        proof = find(
            symmetric(view.block(allowed)),
            max(support.size, 1),
            support=np.searchsorted(allowed, support),
            must=np.searchsorted(allowed, must),
            time_limit=time_limit,
            max_nodes=self.max_nodes,
            callback=self.callback,
            known=self.known,
        )
        if not np.isfinite(proof.bound):  # Ctrl-C came before the first bound: use cheap ones
            raise KeyboardInterrupt
        proof.support = allowed[proof.support]
        if proof.stopped == "interrupted":
            self.stopped = proof.stopped
        if self.rule is None and "leading" in proof.argument:  # the bound is for all variables
            self.known = min(self.known, proof.bound)
        return proof

    def _cheap(self, i: int, view: Operator) -> Proof:
        """Return a proof for component i from the variances and, if there is time, the leading eigenvalue."""
        note = "too many variables for a search" if view.p > DENSE_VARIABLES else "time limit"
        if not self.stopped and not np.isfinite(self.known) and self.clock.runs():
            try:
                self.known = lanczos_bound(view.dot, view.p, self.clock.runs)
            except KeyboardInterrupt:
                self.stopped = "interrupted"
        card = max(int(np.count_nonzero(self.V[:, i])), 1)
        if isinstance(self.rule, GroupRule):
            card = self.rule.rooms[i]
        proof = Proof(stopped=self.stopped or note)
        proof.lower(trace_bound(view.diagonal() + self.floor, card), "sum of the largest variances")
        proof.lower(self.known, "leading eigenvalue")
        return proof
