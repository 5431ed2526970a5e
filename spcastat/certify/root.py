"""Bounds for fits without a search over supports, as shares of the total variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.certify.bounds import LANCZOS, enlarged, gershgorin_bound, trace_bound
from spcastat.certify.branch import Proof, prove
from spcastat.certify.clock import PASS, Clock
from spcastat.operators import Operator

#: The largest number of variables for which sparse eigenvalues are searched for.
SEARCHED = 200


@dataclass
class RootBound(Proof):
    """The best bound so far for a fit.

    Attributes
    ----------
    pca : float
        The bound from dense PCA with the same number of components. The reported bound never exceeds it.
    """

    pca: float = 1.0


def root_bound(op: Operator, cards: tuple[int, ...], measure: str, eigenvalues: np.ndarray) -> RootBound:
    """Bound a fit by dense PCA and by variances.

    Parameters
    ----------
    op : Operator
    cards : tuple of k ints
    measure : {"pev", "adjusted", "least_squares"}
    eigenvalues : ndarray of shape (k,)
        The largest eigenvalues of the covariance matrix, descending.

    Notes
    -----
    For PEV and adjusted variance, m one-variable components explain at most the m largest variances, and the
    others at most as much as k - m dense components of the remaining variables.
    """
    total = op.total
    leading = eigenvalues.clip(min=0.0) / total * (1.0 + LANCZOS)
    pca = min(float(leading.sum()), 1.0)
    root = RootBound(bound=pca, argument="dense PCA", pca=pca)
    if measure != "least_squares":
        variances = op.diagonal() / total
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
    p, different = len(S), sorted(set(cards))
    ends = clock.left * 0.1 / len(different)
    found = {}
    for c in different:
        if c == 1 or p <= SEARCHED:
            found[c] = prove(S, c, time_limit=ends, max_nodes=200).bound
            continue
        found[c] = trace_bound(S, c)
        if clock.affords(10.0 * PASS * p**2, 4):
            found[c] = min(found[c], gershgorin_bound(S, c))
    return enlarged(sum(found[c] for c in cards), p)
