"""The bootstrap of a sparse fit: variables are selected anew in every draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.inference.attempts import attempted
from spcastat.operators import Operator
from spcastat.resample import align, draw_generator, run_jobs
from spcastat.resample.refit import Refit
from spcastat.resample.sampler import CovarianceSampler, Sampler
from spcastat.state.resampled import Bootstrapped


@dataclass(frozen=True, eq=False)
class Draw:
    """Loadings and variances of one draw.

    Attributes
    ----------
    places : ndarray of int, shape (m,)
        The loadings that are not zero.
    values : ndarray of shape (m,)
    variances, whole, similarity : ndarray of shape (k,)
        As in :class:`spcastat.state.resampled.Bootstrapped`.
    again : int
    """

    places: np.ndarray
    values: np.ndarray
    variances: np.ndarray
    whole: np.ndarray
    similarity: np.ndarray
    again: int


@dataclass(frozen=True, eq=False)
class _Work:
    """One draw after another: what is sent to other processes."""

    sampler: Sampler
    refit: Refit
    op: Operator
    seed: int

    def __call__(self, number: int) -> Draw:
        rng = draw_generator(self.seed, number)

        def draw() -> tuple[Operator, np.ndarray]:
            drawn = self.sampler.bootstrap(rng)
            return drawn, self.refit(drawn, rng)

        (drawn, found), again = attempted(draw)
        aligned = align(found, self.refit.V, self.op)
        places = np.flatnonzero(aligned.V.T)
        return Draw(
            places,
            aligned.V.T.ravel()[places],
            np.diag(drawn.products(aligned.V)) * drawn.unit**2,
            np.diag(self.op.products(aligned.V)) * self.op.unit**2,
            aligned.similarity,
            again,
        )


def bootstrap(
    sampler: Sampler, refit: Refit, op: Operator, n: int, *, kind: str, seed: int, n_jobs: int = 1
) -> Bootstrapped:
    """Draw rows with replacement, fit each draw and align it with the fit.

    Parameters
    ----------
    sampler : Sampler
    refit : Refit
    op : Operator
        The data of the fit, in which scores are compared.
    n : int
        Number of draws.
    kind : {"normal", "percentile"}
    seed, n_jobs : int

    Returns
    -------
    Bootstrapped
        Of the draws that were made before Ctrl-C.
    """
    finished = run_jobs(_Work(sampler, refit, op, seed), n, n_jobs=n_jobs, what="bootstrap")
    draws: list[Draw] = finished.results
    places = np.unique(np.concatenate([np.flatnonzero(refit.V.T), *(draw.places for draw in draws)]))
    values = np.zeros((len(draws), len(places)))
    for row, draw in zip(values, draws, strict=True):
        row[np.searchsorted(places, draw.places)] = draw.values
    return Bootstrapped(
        places,
        values,
        np.array([draw.variances for draw in draws]),
        np.array([draw.whole for draw in draws]),
        np.array([draw.similarity for draw in draws]),
        select=not refit.fixed,
        asked=n,
        again=sum(draw.again for draw in draws),
        normal=isinstance(sampler, CovarianceSampler),
        kind=kind,
    )
