"""Stability selection by complementary halves: which loadings are selected again on half of the rows.

Shah and Samworth (2013), "Variable selection with error control: another look at stability selection",
JRSS B 75; Meinshausen and Buehlmann (2010), "Stability selection", JRSS B 72.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from spcastat.inference.attempts import attempted
from spcastat.kernels.eig import symmetric
from spcastat.operators import Operator
from spcastat.resample import align, draw_generator, run_jobs
from spcastat.resample.refit import Refit
from spcastat.resample.sampler import CovarianceSampler, Sampler
from spcastat.resample.streamed import StreamRows
from spcastat.state.resampled import Halved


@dataclass(frozen=True, eq=False)
class _Work:
    """The job of fitting the pairs of halves with given numbers."""

    sampler: Sampler
    refit: Refit
    op: Operator
    seed: int

    def __call__(self, numbers: Sequence[int]) -> list[tuple[list[np.ndarray], np.ndarray, int]]:
        drawn = [self._drawn(number) for number in numbers]
        halves = [half for pair, _ in drawn for half in pair]
        found = self.refit.ended([op for op, _ in halves], [begun for _, begun in halves])
        aligned = [align(V, self.refit.V, self.op, self.refit.kinds) for V in found]
        kept = []
        for i, (_, again) in enumerate(drawn):
            pair = aligned[2 * i : 2 * i + 2]
            places = [np.flatnonzero(one.V.T) for one in pair]
            kept.append((places, np.array([one.similarity for one in pair]), again))
        return kept

    def _drawn(self, number: int) -> tuple[list[tuple[Operator, Sequence[np.ndarray]]], int]:
        """Return both halves with the starts of their fits, and how many pairs failed before them."""
        rng = draw_generator(self.seed, number)

        def draw() -> list[tuple[Operator, Sequence[np.ndarray]]]:
            halves = [half.whole() for half in self.sampler.halves(rng, number)]
            return [(half, self.refit.begun(half, rng)) for half in halves]

        return attempted(draw)


def stability(
    sampler: Sampler | StreamRows,
    refit: Refit,
    op: Operator,
    n_pairs: int,
    *,
    threshold: float,
    groups: float,
    seed: int,
    n_jobs: int = 1,
) -> Halved:
    """Repeatedly split the rows at random, fit both halves, and align them with the fit.

    Parameters
    ----------
    sampler : Sampler or StreamRows
    refit : Refit
    op : Operator
    n_pairs : int
        Number of splits.
    threshold : float in (0.5, 1]
        Selection frequency above which a loading is stable.
    groups : float in (0, 1]
        Smallest absolute correlation of two variables in a group.
    seed, n_jobs : int

    Notes
    -----
    If rows come in chunks and have too many columns to store the cross-products of all halves, only the
    columns for which there is memory are used: see :mod:`spcastat.resample.screened_columns`.
    """
    fewer = None
    if isinstance(sampler, StreamRows) and not refit.plan.solver.ruled:
        fewer = sampler.near(refit.V, 2 * n_pairs)
    if fewer is not None:
        own, J = fewer
        found = stability(
            own,
            replace(refit, V=refit.V[J]),
            own.source.op,
            n_pairs,
            threshold=threshold,
            groups=groups,
            seed=seed,
            n_jobs=n_jobs,
        )
        return _of_all(found, J, op.p)
    sampler = sampler.prepared("halves", n_pairs, seed)
    finished = run_jobs(
        _Work(sampler, refit, op, seed),
        n_pairs,
        n_jobs=n_jobs,
        what="complementary halves",
        unit="pairs",
        together=refit.together or 1,
    )
    halves = [places for pair, _, _ in finished.results for places in pair]
    places = np.unique(np.concatenate([np.flatnonzero(refit.V.T), *halves]))
    chosen = np.zeros((len(halves), len(places)), dtype=bool)
    for row, found in zip(chosen, halves, strict=True):
        row[np.searchsorted(places, found)] = True
    met = np.unique(places % op.p)
    correlation = _correlations(op, met)
    labels = np.arange(op.p)
    labels[met] = met[_clusters(correlation, groups)]
    return Halved(
        places,
        chosen,
        np.concatenate([similarity for _, similarity, _ in finished.results]),
        labels,
        _associates(refit.V, places, chosen, met, correlation),
        threshold,
        groups,
        n_pairs,
        sum(again for _, _, again in finished.results),
        isinstance(sampler, CovarianceSampler),
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
