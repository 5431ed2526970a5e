"""The bootstrap of a sparse fit, and sample splitting: selection on one half, bootstrap of the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.inference.sample_fits import SampleFits, attempted, by_place
from spcastat.kernels.eig import symmetric
from spcastat.kernels.ties import flip_signs
from spcastat.operators import Operator
from spcastat.resample import Aligned, align, draw_generator, run_jobs
from spcastat.resample.refit import Refit
from spcastat.resample.sampler import CovarianceSampler, Sampler
from spcastat.resample.streamed import StreamRows
from spcastat.state.resampled import Bootstrapped, Split


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


# --- sample splitting -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Work:
    """The job of bootstrapping the second half once."""

    half: Sampler
    chosen: np.ndarray
    seed: int

    def __call__(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        drawn = self.half.bootstrap(draw_generator(self.seed, number + 1), number)
        return leading_on(drawn, self.chosen)


def split(
    sampler: Sampler | StreamRows, refit: Refit, op: Operator, n: int, *, seed: int, n_jobs: int = 1
) -> Split:
    """Select supports on half of the rows; bootstrap the leading eigenvectors on these on the other half.

    Parameters
    ----------
    sampler : Sampler or StreamRows
    refit : Refit
    op : Operator
    n : int
        Number of bootstrap draws from the second half.
    seed, n_jobs : int
    """
    rng = draw_generator(seed, 0)
    sampler = sampler.prepared("split", n, seed)

    def draw() -> tuple[tuple[Sampler, Sampler], np.ndarray, tuple[np.ndarray, np.ndarray]]:
        first, second = sampler.halves(rng)
        found = align(refit(first.whole(), rng), refit.V, op, refit.kinds)
        return (first, second), found.V, leading_on(second.whole(), found.V)

    (halves, chosen, (V, variances)), again = attempted(draw)
    finished = run_jobs(_Work(halves[1], V, seed), n, n_jobs=n_jobs, what="bootstrap of one half")
    if len(finished.results) < 2:
        raise KeyboardInterrupt  # too few for standard deviations
    places = np.flatnonzero(chosen.T)
    drawn = np.array([W.T.ravel()[places] for W, _ in finished.results])
    return Split(
        places,
        V.T.ravel()[places],
        drawn.std(axis=0, ddof=1),
        variances,
        np.array([values for _, values in finished.results]).std(axis=0, ddof=1),
        align(chosen, refit.V, op, refit.kinds).similarity,
        (halves[0].n, halves[1].n),
        len(finished.results),
        n,
        again,
        isinstance(sampler, CovarianceSampler),
    )


def leading_on(op: Operator, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the leading eigenvector on each support of `V`, shape (p, k), and its variance, shape (k,).

    Its product with the column of `V` is positive; if that is zero, its largest absolute loading is.
    """
    W, variances = np.zeros(V.shape), np.zeros(V.shape[1])
    for j, v in enumerate(V.T):
        support = np.flatnonzero(v)
        S = op.block(support)
        values, vectors = np.linalg.eigh(symmetric(S))
        W[support, j], variances[j] = vectors[:, -1], values[-1] * op.unit**2
    W = W * flip_signs(W)
    return W * np.where(np.einsum("ij,ij->j", W, V) < 0, -1.0, 1.0), variances
