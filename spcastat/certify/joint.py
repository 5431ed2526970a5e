"""A proven bound for all components of a fit together."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spcastat.certify.bounds import trace_bound
from spcastat.certify.leaves import Leaves
from spcastat.certify.relaxed import Relaxed, relaxed
from spcastat.certify.tuples import Stop, Tuples
from spcastat.measures import MEASURES
from spcastat.operators import Operator
from spcastat.progress import stage

#: "Optimal" means proven to this relative tolerance: what the search tries to prove, and a little more.
OPTIMAL, TARGET = 1e-4, 9e-5
#: Added to bounds that are sums of eigenvalues of a matrix that is not held, relative.
LANCZOS = 1e-9
#: Above so many variables the covariance matrix is not formed.
DENSE_VARIABLES = 2000

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
    time_limit: float = 60.0,
    max_nodes: int | None = None,
    callback: Callback | None = None,
) -> JointCertificate:
    """Bound what k components with the cardinalities of these loadings can explain together.

    Parameters
    ----------
    op : Operator
        The covariance matrix.
    V : ndarray of shape (p, k)
        Unit-length loadings.
    measure : {"pev", "adjusted", "least_squares"}
    time_limit : float
        Seconds.
    max_nodes : int or None
        Nodes of the search, at most.
    callback : callable or None
        Called with the number of nodes between steps.

    Returns
    -------
    JointCertificate
        Where limits or Ctrl-C (KeyboardInterrupt) ended the search, with the bound proven by then.
    """
    begun = time.perf_counter()
    cards = tuple(max(int(c), 1) for c in np.count_nonzero(V, axis=0))
    value = float(MEASURES[measure](V, op)[-1])
    pca, bound, proof = _cheap(op, cards, measure)
    best, W = value, V
    nodes = left = 0
    searched = op.p <= DENSE_VARIABLES and V.any(axis=0).all()
    if searched and bound > value * (1.0 + TARGET):
        problem, leaves = None, None
        stopped = "interrupted"
        tuples: Tuples | None = None
        with stage("joint proof", unit="nodes") as advance:
            try:
                S = op.block(np.arange(op.p)) / op.total
                S = 0.5 * (S + S.T)
                problem = relaxed(S, cards, measure)
                if problem.m or problem.cards:
                    leaves = Leaves(S, V, measure)

                    def step(count: int) -> None:
                        if callback is not None and tuples is not None:
                            callback(tuples.nodes)
                        advance(count)

                    tuples = Tuples(
                        problem,
                        max(value, leaves.value),
                        TARGET,
                        lambda: time.perf_counter() - begun < time_limit,
                        leaves.climb,
                        np.inf if max_nodes is None else max_nodes,
                        step,
                    )
                    tuples.run()
                stopped = ""
            except Stop as stop:
                stopped = str(stop)
            except KeyboardInterrupt:
                pass
        if leaves is not None:
            found = float(MEASURES[measure](leaves.V, op)[-1])
            if found > best:
                best, W = found, leaves.V
        if tuples is not None:
            nodes, left = tuples.nodes, 0 if tuples.open is None else len(tuples.open)
            if tuples.bound < bound:
                assert problem is not None
                bound, proof = tuples.bound, _argument(problem, tuples)
        if stopped:
            proof += f" ({stopped})"
    bound = min(max(bound, best), max(pca, best))
    gap, optimal = verdict(value, bound)
    return JointCertificate(
        measure,
        cards,
        value,
        bound,
        max(pca, bound),
        gap,
        optimal,
        proof,
        nodes,
        left,
        time.perf_counter() - begun,
        best,
        W,
    )


def verdict(value: float, bound: float) -> tuple[float, bool]:
    """Return by how much a bound exceeds a value, in percent of it, and whether that proves it optimal."""
    gap = 100.0 * (bound - value) / value if value > 0 else (0.0 if bound <= 0 else np.nan)
    return float(gap), bool(bound <= value * (1.0 + OPTIMAL))


def _cheap(op: Operator, cards: tuple[int, ...], measure: str) -> tuple[float, float, str]:
    """Return dense PCA's share, the best of the bounds that need no search, and its name."""
    k = len(cards)
    pca = float(op.leading(min(k, op.p))[0].clip(min=0.0).sum()) / op.total * (1.0 + LANCZOS)
    bound, proof = pca, "dense PCA"
    if measure != "least_squares":
        variances = trace_bound(op.diagonal() / op.total, min(sum(cards), op.p))
        if variances < bound:
            bound, proof = variances, "sum of the largest variances"
    return pca, bound, proof


def _argument(problem: Relaxed, tuples: Tuples) -> str:
    if tuples.open is None or tuples.nodes == 0:
        return "components of one variable"
    return "branch and bound over supports"
