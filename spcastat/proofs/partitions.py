"""A bound on disjoint components of all variables, over all partitions into as many groups.

Components of disjoint groups explain at most the sum of the first eigenvalues of the groups. For PEV they
explain exactly that, so that programming over subsets finds the best partition. Under adjusted variance only
partitions with a larger sum than the best known value can be better; each is bounded by
`spcastat.proofs.duals`. The least-squares share may be larger than the sum, so that every partition is
bounded, by `spcastat.proofs.duals`. For more variables or partitions than that allows, dense PCA is the
bound.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from spcastat.linalg.eigenvectors import EPS
from spcastat.linalg.scales import blocks
from spcastat.proofs.duals import ordered_bounds, union_basis
from spcastat.proofs.eigenvalue_bounds import Clock, enlarged
from spcastat.proofs.projection_bounds import spanned_bounds
from spcastat.search.partition import MOST, Partitions, first_eigenvalues

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
