"""One penalty for every nonzero loading of all components: sweeps that keep variables worth more than it.

With V unit loadings, V'SV = G and C of `spcastat.search.adjusted_variance.triangle`, the part of score i that
is uncorrelated with earlier scores has covariances S V C e_i with the variables, and

    z_ij^2 = ((S V C diag(w) C')_ji / w_i)^2 / r_i^2

is what variable j brings to component i, beside those that are there, to first order: w are the weights of
the adjusted variances r_i^2. A sweep keeps the variables with z^2 above the price, with loadings in
proportion to z; where a promise is not kept after component i, as many more as the sum of squares of the
sequential z needs:
for a unit score x that is orthogonal to the earlier ones, loadings in proportion to x'X_J have a score whose
part beside the earlier ones has at least the variance sum over J of (x'X_j)^2. Nothing is as large as S.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.kernels.eig import symmetric
from spcastat.operators import Operator
from spcastat.search.adjusted_variance import triangle
from spcastat.search.small_matrices import NOTHING, TIE
from spcastat.search.variance_target import Promise


@dataclass(eq=False)
class Loaded:
    """Loadings and their products.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Unit loadings.
    F : ndarray of shape (p, k)
        S V over the total variance.
    added : ndarray of shape (k,)
        The adjusted variances, as shares of the total.
    """

    V: np.ndarray
    F: np.ndarray
    added: np.ndarray

    @property
    def nonzeros(self) -> int:
        return int(np.count_nonzero(self.V))


def loaded(op: Operator, V: np.ndarray, total: float) -> Loaded:
    """Return unit loadings with their products; `total` is the total variance of all variables."""
    F = op.dot(V) / total
    return Loaded(V, F, triangle(_gram(V, F))[1])


def _gram(V: np.ndarray, F: np.ndarray) -> np.ndarray:
    G = V.T @ F
    return symmetric(G)


def priced(
    op: Operator,
    start: Loaded,
    price: float,
    promise: Promise,
    total: float,
    sweeps: int,
    extend: bool = True,
) -> Loaded:
    """Return loadings after sweeps at one price.

    Parameters
    ----------
    op : Operator
    start : Loaded
    price : float
        In shares of the total variance.
    promise : Promise
    total : float
        The total variance.
    sweeps : int
        At most; fewer where the supports rest.
    extend : bool
        Whether variables that do not pay enter where the promise is not kept without them.
    """
    V, F = start.V.copy(), start.F.copy()
    for _ in range(sweeps):
        before = V != 0
        for i in range(promise.k):
            _update(op, V, F, i, price, promise, total, extend)
        if (before == (V != 0)).all():
            break
    return Loaded(V, F, triangle(_gram(V, F))[1])


def _update(
    op: Operator,
    V: np.ndarray,
    F: np.ndarray,
    i: int,
    price: float,
    promise: Promise,
    total: float,
    extend: bool,
) -> None:
    """Replace component i."""
    C, added = triangle(_gram(V, F))
    alone = F @ C[:, i]
    size = max(float(added[i]), NOTHING)
    w = promise.weights(added)
    pull = F @ (C @ (w * C[i])) / w[i]
    gain = pull**2 / size
    if not gain.any():
        return
    count = int(np.count_nonzero(gain > price))
    order = np.argsort(-gain * (1.0 - TIE * np.arange(op.p) / op.p), kind="stable")
    if extend:
        need = promise.goals[i] - float(added[:i].sum())
        reached = np.cumsum(alone[order] ** 2) / size
        count = max(count, int(np.searchsorted(reached, need)) + 1)
    J = order[: min(max(count, 1), op.p)]
    J = J[pull[J] != 0]
    v = np.zeros(op.p)
    v[J] = pull[J] / np.linalg.norm(pull[J])
    V[:, i] = v
    F[:, i] = op.dot(v) / total


def polished(op: Operator, start: Loaded, promise: Promise, total: float, sweeps: int) -> Loaded:
    """Return better loadings on the supports: of all sweeps those that keep most of the promise."""
    V, F = start.V.copy(), start.F.copy()
    supports = V != 0
    best = start
    for _ in range(sweeps):
        for i in range(promise.k):
            C, added = triangle(_gram(V, F))
            w = promise.weights(added)
            pull = np.where(supports[:, i], F @ (C @ (w * C[i])), 0.0)
            if pull.any():
                V[:, i] = pull / np.linalg.norm(pull)
                F[:, i] = op.dot(V[:, i]) / total
        found = Loaded(V.copy(), F.copy(), triangle(_gram(V, F))[1])
        if room(promise, found) > room(promise, best):
            best = found
    return best


def room(promise: Promise, fit: Loaded) -> float:
    """Return by how much of it the promise is more than kept where it is closest; negative if it is not."""
    over = promise.kept(fit.added) / promise.share - 1.0
    return float(over.min() if promise.every else over[-1])


#: A first cut takes this share of the nonzeros.
FIRST = 0.1
#: Sweeps over the loadings on what is left of the supports.
SWEEPS = 4
#: Cuts that are tried at most.
CUTS = 60


def trimmed(op: Operator, fit: Loaded, promise: Promise, total: float) -> Loaded:
    """Return the fit with loadings taken away, first of all components together, then of each by itself.

    Parameters
    ----------
    op : Operator
    fit : Loaded
        Keeps the promise.
    promise : Promise
    total : float
        The total variance.
    """
    fit = _cut(op, fit, promise, total, np.arange(promise.k))
    if promise.every:
        for i in range(promise.k):
            fit = _cut(op, fit, promise, total, np.array([i]))
    return fit


def _cut(op: Operator, fit: Loaded, promise: Promise, total: float, which: np.ndarray) -> Loaded:
    """Take away loadings of some components until a single one is too much."""
    count = max(1, int(FIRST * np.count_nonzero(fit.V[:, which])))
    for _ in range(CUTS):
        fewer = _without(op, fit, total, which, count)
        if fewer is None:
            return fit
        if not promise.holds(fewer.added):
            fewer = polished(op, fewer, promise, total, SWEEPS)
        if promise.holds(fewer.added):
            fit = fewer
            count = min(2 * count, max(1, int(FIRST * np.count_nonzero(fit.V[:, which]))))
        elif count == 1:
            return fit
        else:
            count = max(1, count // 3)
    return fit


def _without(op: Operator, fit: Loaded, total: float, which: np.ndarray, count: int) -> Loaded | None:
    """Return the fit without the `count` loadings that bring least; the largest of a component stays."""
    size = np.sqrt(np.maximum(fit.added, NOTHING))
    brings = np.abs(fit.V) * size
    brings[fit.V == 0] = np.inf
    brings[np.argmax(np.abs(fit.V), axis=0), np.arange(fit.V.shape[1])] = np.inf
    rest = np.full(fit.V.shape[1], True)
    rest[which] = False
    brings[:, rest] = np.inf
    there = np.count_nonzero(np.isfinite(brings))
    if there == 0:
        return None
    smallest = np.argsort(brings, axis=None, kind="stable")[: min(count, there)]
    V = fit.V.copy()
    V.ravel()[smallest] = 0.0
    V /= np.linalg.norm(V, axis=0)
    return loaded(op, V, total)
