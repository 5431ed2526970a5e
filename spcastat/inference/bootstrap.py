"""The bootstrap of a sparse fit: variables are selected again in every draw."""

from __future__ import annotations

import numpy as np

from spcastat.inference.sample_fits import SampleFits, by_place
from spcastat.operators import Operator
from spcastat.resample import Aligned, run_jobs
from spcastat.resample.refit import Refit
from spcastat.resample.sampler import CovarianceSampler, Sampler
from spcastat.resample.streamed import StreamRows
from spcastat.state.resampled import Bootstrapped


class _Draws(SampleFits):
    def samples(self, rng: np.random.Generator, number: int) -> list[Operator]:
        return [self.sampler.bootstrap(rng, number)]

    def kept(self, sample: Operator, aligned: Aligned) -> tuple[np.ndarray, ...]:
        V = aligned.V
        places = np.flatnonzero(V.T)
        variances = np.diag(sample.products(V)) * sample.unit**2
        whole = np.diag(self.op.products(V)) * self.op.unit**2
        return places, V.T.ravel()[places], variances, whole, aligned.similarity


def bootstrap(
    sampler: Sampler | StreamRows,
    refit: Refit,
    op: Operator,
    n: int,
    *,
    kind: str,
    seed: int,
    n_jobs: int = 1,
) -> Bootstrapped:
    """Draw rows with replacement, fit each draw and align it with the fit.

    Parameters
    ----------
    sampler : Sampler or StreamRows
    refit : Refit
    op : Operator
        The data of the fit, on which the scores of draws and fit are compared.
    n : int
        Number of draws.
    kind : {"normal", "percentile"}
    seed, n_jobs : int

    Returns
    -------
    Bootstrapped
        If interrupted by Ctrl-C, of the draws made so far.
    """
    sampler = sampler.prepared("bootstrap", n, seed)
    work = _Draws(sampler, refit, op, seed)
    finished = run_jobs(work, n, n_jobs=n_jobs, what="bootstrap", together=refit.together or 1)
    draws, again = zip(*finished.results, strict=True)
    places, values, *further = zip(*(draw for (draw,) in draws), strict=True)
    variances, whole, similarity = map(np.array, further)
    return Bootstrapped(
        *by_place(refit.V, places, values),
        variances,
        whole,
        similarity,
        select=not refit.fixed,
        asked=n,
        again=sum(again),
        normal=isinstance(sampler, CovarianceSampler),
        kind=kind,
    )
