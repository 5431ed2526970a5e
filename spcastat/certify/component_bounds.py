"""Certificates: how far each component of a fit is, at most, from the best of its cardinality."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spcastat.certify.bounds import enlarged, trace_bound
from spcastat.certify.branch import LANCZOS, OPTIMAL, Callback, prove
from spcastat.certify.clock import PASS, Clock, formed
from spcastat.kernels.eig import symmetric, top_lanczos
from spcastat.measures import adjusted_variances
from spcastat.operators import Gram, Operator, Removed, deflate
from spcastat.operators.covariance_operator import lanczos_start
from spcastat.progress import stage
from spcastat.search.rule import SupportRule

#: Up to this many variables S is formed and searched; above it only cheap bounds are given.
DENSE_VARIABLES = 5000
#: What is left of a variance after deflation is rounding below this share of the largest variance.
NOTHING_LEFT = 1e-13


@dataclass(frozen=True, eq=False)
class Certificate:
    """How good one component is, proven.

    Attributes
    ----------
    cardinality : int
        Nonzeros of the loadings v.
    value : float
        The adjusted variance of the component: v'Sv, where S is what remains of the covariance matrix after
        the earlier components (Schur complement). Zero where the score depends on the earlier scores.
    upper_bound : float
        Proven: no unit vector z with as many nonzeros, of any sign, has a larger z'Sz.
    gap : float
        By how much the bound exceeds the value, in percent of the value; infinite where the value is zero
        and the bound is not.
    optimal : bool
        Whether value and bound agree to a relative 1e-9, or to the rounding of the whole matrix.
    proof : str
        What gave the bound; and, in parentheses, what ended the search before the proof was complete.
    nodes : int
        Nodes of the branch and bound.
    seconds : float
    best_known : float
        The largest z'Sz that was met: above `value` by more than rounding, it shows that the component can
        be improved.
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
    """Bound each component by the best that its number of nonzeros allows.

    Parameters
    ----------
    op : Operator
        The covariance matrix.
    V : ndarray of shape (p, k)
        Unit-length loadings in the order shown. Each column is compared with the best for the matrix that
        remains after the columns before it, whatever method found them.
    time_limit : float
        Seconds for all components together: each may use an equal share of what is left. Steps that would
        take longer are left out, and so are those that Ctrl-C would wait for.
    max_nodes : int or None
        Nodes of the branch and bound for each component, at most.
    callback : callable or None
        Called with the number of nodes of the present component before each node.
    rule : SupportRule, optional
        The supports that each component is compared with. A forced loading may be zero. Of disjoint
        components those variables are left out that earlier components have and later ones must have.

    Returns
    -------
    tuple of Certificate, one a component

    Notes
    -----
    The problem bounded is the one without further constraints: for nonnegative loadings the bound is valid
    and may be out of reach. Ctrl-C ends the search; all bounds proven by then are returned, and components
    not yet reached have cheap ones. Above `DENSE_VARIABLES` variables, and where the time is too short to
    form a covariance matrix, there are only cheap bounds: the sum of the largest variances, and the leading
    eigenvalue, which is worked out once.
    """
    run = _Run(op, V, Clock(time.perf_counter() + time_limit), max_nodes, callback, rule)
    with stage("certificates", V.shape[1], "components") as advance:
        while len(run.certificates) < V.shape[1]:
            try:
                run.one_more()
            except KeyboardInterrupt:  # wherever it came: the component is taken up again, with cheap bounds
                run.stopped = "interrupted"
                continue
            advance(1)
    return tuple(run.certificates)


class _Run:
    """The certificates so far, and what remains of the covariance matrix after so many components."""

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
        self.floor = NOTHING_LEFT * float(op.diagonal().max())
        self.certificates: list[Certificate] = []
        self.left: tuple[Operator, int] = (op, 0)
        self.dense: bool | None = None
        self.stopped = ""
        self.known = np.inf  # what remains after a component has no larger eigenvalues than before

    @cached_property
    def values(self) -> np.ndarray:
        """The adjusted variances, shape (k,)."""
        return adjusted_variances(self.V, self.op)

    def allowed(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the variables that component i may have, and the support that it has, ascending."""
        used = self.V != 0
        if self.rule is None:
            return np.arange(len(used)), np.flatnonzero(used[:, i])
        used = used | self.rule.must.T
        may = self.rule.open(i, used[:, :i].any(axis=1))
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
            if self.values[i - 1] > 0.0:  # a dependent component takes nothing away
                v = self.V[:, i - 1]
                view = deflate(view, Removed(v, v, self.V[:, : i - 1]), "schur")
            self.left = (view, i)
        v, value, clock, known = self.V[:, i], float(self.values[i]), self.clock, self.known
        must = np.flatnonzero(self.rule.must[i]) if self.rule is not None else np.arange(0)
        # a matrix of p^2 numbers is formed, made symmetric and scaled for each component
        if self.dense and not self.stopped and clock.affords(6.0 * PASS * view.p**2, 6):
            own = clock.until(time.perf_counter() + clock.left / (k - i))
            certificate, stopped = _search(
                view, v, value, self.floor, own, self.max_nodes, self.callback, known, *self.allowed(i), must
            )
            if self.rule is None and "leading" in certificate.proof:  # of all variables
                known = min(known, certificate.upper_bound)
        else:
            certificate, known, stopped = _cheap(view, v, value, self.floor, self.stopped, clock, known)
        self.known, self.stopped = known, stopped or self.stopped
        self.certificates.append(certificate)


def _search(
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
    proof = prove(
        S,
        card,
        support=np.searchsorted(allowed, support),
        must=np.searchsorted(allowed, must),
        time_limit=clock.left,
        max_nodes=max_nodes,
        callback=callback,
        known=known,
    )
    if not np.isfinite(proof.bound):  # Ctrl-C came before any bound: cheap ones are left
        raise KeyboardInterrupt
    argument = proof.argument + (f" ({proof.stopped})" if proof.stopped else "")
    certificate = _certificate(
        value, v, proof.bound, floor, argument, proof.nodes, begun, proof.value, allowed[proof.support]
    )
    return certificate, proof.stopped if proof.stopped == "interrupted" else ""


def _cheap(
    view: Operator, v: np.ndarray, value: float, floor: float, stopped: str, clock: Clock, known: float
) -> tuple[Certificate, float, str]:
    """Certify one component by its variances and, while there is time, the leading eigenvalue.

    Also return a bound on the leading eigenvalue, and "interrupted" if the user ended it.
    """
    begun = time.perf_counter()
    card = max(int(np.count_nonzero(v)), 1)
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
    """Return a bound on the leading eigenvalue by iterations; infinity where the time does not allow them."""

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
    bound = max(bound, value)  # the two differ by rounding at most
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
