"""Certificates: proven bounds on how far each component is from the best of its cardinality."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from spcastat.certify.bounds import enlarged, trace_bound
from spcastat.certify.branch import LANCZOS, OPTIMAL, Callback, Proof, prove
from spcastat.certify.clock import PASS, Clock, formed
from spcastat.certify.grouped import prove_groups
from spcastat.kernels.eig import symmetric, top_lanczos
from spcastat.measures import adjusted_variances
from spcastat.operators import Gram, Operator, Removed, deflate
from spcastat.operators.covariance_operator import lanczos_start
from spcastat.progress import stage
from spcastat.search.grouped import GroupRule
from spcastat.search.rule import SupportRule

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


class _Run:
    """The certificates so far, and the covariance matrix deflated by as many components."""

    def __init__(
        self,
        op: Operator,
        V: np.ndarray,
        clock: Clock,
        max_nodes: int | None,
        callback: Callback | None,
        rule: SupportRule | None = None,
    ):
        self.rule = rule
        self.V = V
        self.op = op
        self.clock = clock
        self.max_nodes = max_nodes
        self.callback = callback
        self.floor = 1e-13 * float(op.diagonal().max())  # smaller variances after deflation are rounding
        self.certificates: list[Certificate] = []
        self.left: tuple[Operator, int] = (op, 0)
        self.dense: bool | None = None
        self.stopped = ""
        self.known = np.inf  # a bound on the leading eigenvalue, which deflation does not increase

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
        if isinstance(self.rule, GroupRule):  # a group of which a loading is zero is used, too
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
        v, value, clock, known = self.V[:, i], float(self.values[i]), self.clock, self.known
        must = np.flatnonzero(self.rule.must[i]) if self.rule is not None else np.arange(0)
        find: Callable[..., Proof] = prove
        card = max(int(np.count_nonzero(v)), 1)
        if isinstance(self.rule, GroupRule):
            card, of = self.rule.rooms[i], self.rule.of[self.allowed(i)[0]]
            find = partial(prove_groups, of=of, count=self.rule.counts[i])
        # for each component a p x p matrix is computed, made symmetric and scaled
        if self.dense and not self.stopped and clock.affords(6.0 * PASS * view.p**2, 6):
            own = clock.until(time.perf_counter() + clock.left / (k - i))
            certificate, stopped = _search(
                find,
                view,
                v,
                value,
                self.floor,
                own,
                self.max_nodes,
                self.callback,
                known,
                *self.allowed(i),
                must,
            )
            if self.rule is None and "leading" in certificate.proof:  # the bound is for all variables
                known = min(known, certificate.upper_bound)
        else:
            certificate, known, stopped = _cheap(view, v, card, value, self.floor, self.stopped, clock, known)
        self.known, self.stopped = known, stopped or self.stopped
        self.certificates.append(certificate)


def _search(
    find: Callable[..., Proof],
    view: Operator,
    v: np.ndarray,
    value: float,
    floor: float,
    clock: Clock,
    max_nodes: int | None,
    callback: Callback | None,
    known: float,
    allowed: np.ndarray,
    support: np.ndarray,
    must: np.ndarray,
) -> tuple[Certificate, str]:
    """Certify one component by search; also return "interrupted" if the user ended it."""
    begun = time.perf_counter()
    S = symmetric(view.block(allowed))
    card = max(support.size, 1)
    proof = find(
        S,
        card,
        support=np.searchsorted(allowed, support),
        must=np.searchsorted(allowed, must),
        time_limit=clock.left,
        max_nodes=max_nodes,
        callback=callback,
        known=known,
    )
    if not np.isfinite(proof.bound):  # Ctrl-C came before the first bound: use cheap ones
        raise KeyboardInterrupt
    argument = proof.argument + (f" ({proof.stopped})" if proof.stopped else "")
    certificate = _certificate(
        value, v, proof.bound, floor, argument, proof.nodes, begun, proof.value, allowed[proof.support]
    )
    return certificate, proof.stopped if proof.stopped == "interrupted" else ""


def _cheap(
    view: Operator,
    v: np.ndarray,
    card: int,
    value: float,
    floor: float,
    stopped: str,
    clock: Clock,
    known: float,
) -> tuple[Certificate, float, str]:
    """Certify one component by the variances and, if there is time, the leading eigenvalue.

    Also return a bound on the leading eigenvalue, and "interrupted" if the user ended it.
    """
    begun = time.perf_counter()
    note = "too many variables for a search" if view.p > DENSE_VARIABLES else "time limit"
    if not stopped and not np.isfinite(known) and not clock.over:
        try:
            known = _leading(view, clock)
        except KeyboardInterrupt:
            stopped = "interrupted"
    bound, argument = trace_bound(view.diagonal() + floor, card), "sum of the largest variances"
    if known < bound:
        bound, argument = known, "leading eigenvalue"
    told = f"{argument} ({stopped or note})"
    certificate = _certificate(value, v, bound, floor, told, 0, begun, value, np.flatnonzero(v))
    return certificate, known, stopped


def _leading(view: Operator, clock: Clock) -> float:
    """Return a bound on the leading eigenvalue by Lanczos iterations; infinity if time runs out."""

    def product(v: np.ndarray) -> np.ndarray:
        if clock.over:
            raise TimeoutError
        return view.dot(v)

    try:
        value = float(top_lanczos(product, view.p, 1, lanczos_start(view.p, 0))[0][0])
    except TimeoutError:
        return np.inf
    return enlarged(value * (1.0 + LANCZOS), view.p)


def _certificate(
    value: float,
    v: np.ndarray,
    bound: float,
    floor: float,
    proof: str,
    nodes: int,
    begun: float,
    best: float,
    support: np.ndarray,
) -> Certificate:
    bound = max(bound, value)  # the bound can be smaller only by rounding
    nothing = 0.0 if bound <= floor else np.inf
    gap = 100.0 * (bound - value) / value if value > 0.0 else nothing
    return Certificate(
        cardinality=int(np.count_nonzero(v)),
        value=value,
        upper_bound=bound,
        gap=float(gap),
        optimal=bool(bound <= value * (1.0 + OPTIMAL) or bound <= floor),
        proof=proof,
        nodes=nodes,
        seconds=time.perf_counter() - begun,
        best_known=max(best, value),
        support=support if best >= value else np.flatnonzero(v),
    )
