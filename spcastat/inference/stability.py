"""Stability selection by complementary halves: which loadings are selected again on half of the rows.

Shah and Samworth (2013), "Variable selection with error control: another look at stability selection",
JRSS B 75; Meinshausen and Buehlmann (2010), "Stability selection", JRSS B 72.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spcastat.inference.sample_fits import Resampling, SampleFits, by_place
from spcastat.kernels.eig import symmetric
from spcastat.operators import Operator
from spcastat.resample import Aligned
from spcastat.resample.streamed import StreamRows
from spcastat.state.resampled import Halved


class _Halves(SampleFits):
    def samples(self, rng: np.random.Generator, number: int) -> list[Operator]:
        return [half.whole() for half in self.given.sampler.halves(rng, number)]

    def kept(self, sample: Operator, aligned: Aligned) -> tuple[np.ndarray, ...]:
        places = np.flatnonzero(aligned.V.T)
        return places, np.ones(len(places), dtype=bool), aligned.similarity


def stability(given: Resampling, n_pairs: int, *, threshold: float, groups: float) -> Halved:
    """Repeatedly split the rows at random, fit both halves, and align them with the fit.

    Parameters
    ----------
    given : Resampling
    n_pairs : int
        Number of splits.
    threshold : float in (0.5, 1]
        Selection frequency above which a loading is stable.
    groups : float in (0, 1]
        Smallest absolute correlation of two variables in a group.

    Notes
    -----
    If rows come in chunks and have too many columns to store the cross-products of all halves, only the
    columns for which there is memory are used: see :mod:`spcastat.resample.subsets`.
    """
    sampler, refit, op = given.sampler, given.refit, given.op
    fewer = None
    if isinstance(sampler, StreamRows) and not refit.plan.solver.ruled:
        fewer = sampler.near(refit.V, 2 * n_pairs)
    if fewer is not None:
        own, J = fewer
        some = replace(given, sampler=own, refit=replace(refit, V=refit.V[J]), op=own.source.op)
        return _of_all(stability(some, n_pairs, threshold=threshold, groups=groups), J, op.p)
    given = given.prepared("halves", n_pairs)
    finished = _Halves(given).run(n_pairs, "complementary halves", "pairs")
    pairs, again = zip(*finished.results, strict=True)
    kept, ones, similarity = zip(*(half for pair in pairs for half in pair), strict=True)
    places, chosen = by_place(refit.V, kept, ones)
    met = np.unique(places % op.p)
    correlation = _correlations(op, met)
    labels = np.arange(op.p)
    labels[met] = met[_clusters(correlation, groups)]
    return Halved(
        places,
        chosen,
        np.array(similarity),
        labels,
        _associates(refit.V, places, chosen, met, correlation),
        threshold,
        groups,
        n_pairs,
        sum(again),
        given.normal,
    )


def _of_all(found: Halved, J: np.ndarray, p: int) -> Halved:
    """Convert results on the columns J, shape (m,), to positions among all p columns."""
    labels, associates = np.arange(p), found.associates.copy()
    labels[J] = J[found.clusters]
    associates[:, 1:3] = J[associates[:, 1:3].astype(int)]
    places = found.places // len(J) * p + J[found.places % len(J)]
    return replace(found, places=places, clusters=labels, associates=associates, considered=len(J))


def _correlations(op: Operator, J: np.ndarray) -> np.ndarray:
    """Return the correlations of the variables J; zero for variables that do not vary."""
    S = op.block(J)
    sd = np.sqrt(np.diag(S).clip(min=0.0))
    sizes = np.outer(sd, sd)
    r = np.zeros_like(S)
    np.divide(S, sizes, out=r, where=sizes > 0)
    return r.clip(-1.0, 1.0)


def _clusters(correlation: np.ndarray, groups: float) -> np.ndarray:
    """Return for each variable the first of its cluster; all pairs in it correlate by at least `groups`."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    m = len(correlation)
    if m < 2:
        return np.arange(m)
    distance = 1.0 - np.abs(symmetric(correlation))
    np.fill_diagonal(distance, 0.0)
    labels = fcluster(linkage(squareform(distance), "complete"), 1.0 - groups + 1e-12, "distance")
    first: dict[int, int] = {}
    for position, label in enumerate(labels.tolist()):
        first.setdefault(label, position)
    return np.array([first[label] for label in labels.tolist()])


def _associates(
    V: np.ndarray, places: np.ndarray, chosen: np.ndarray, met: np.ndarray, correlation: np.ndarray
) -> np.ndarray:
    """Return rows of component, selected variable, a variable that replaces it, and their correlation."""
    p, k = V.shape
    found = []
    for component in range(k):
        own = np.flatnonzero(places // p == component)
        variables = places[own] % p
        picked = chosen[:, own]
        selected = V[variables, component] != 0
        for a in np.flatnonzero(selected):
            without = ~picked[:, a]
            # Substitutes are listed of a selected variable that at least five fits of halves leave out: those
            # that a quarter of these fits selects, and a tenth more than of the fits with that variable
            if without.sum() < 5:
                continue
            beside = picked[~without].mean(axis=0) if (~without).any() else np.zeros(len(own))
            instead = picked[without].mean(axis=0)
            for b in np.flatnonzero(~selected & (instead >= 0.25) & (instead >= beside + 0.1)):
                r = correlation[np.searchsorted(met, variables[a]), np.searchsorted(met, variables[b])]
                found.append((component, variables[a], variables[b], r))
    return np.array(found, dtype=float).reshape(-1, 4)
