"""The bootstrap of a sparse fit, and sample splitting: selection on one half, bootstrap of the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.inference.sample_fits import Resampling, SampleFits, attempted, by_place
from spcastat.kernels.eig import symmetric
from spcastat.kernels.ties import flip_signs
from spcastat.operators import Operator
from spcastat.resample import Aligned, draw_generator, run_jobs
from spcastat.resample.sampler import Sampler
from spcastat.state.resampled import Bootstrapped, Split


class _Draws(SampleFits):
    def samples(self, rng: np.random.Generator, number: int) -> list[Operator]:
        return [self.given.sampler.bootstrap(rng, number)]

    def kept(self, sample: Operator, aligned: Aligned) -> tuple[np.ndarray, ...]:
        V = aligned.V
        places = np.flatnonzero(V.T)
        variances = np.diag(sample.products(V)) * sample.unit**2
        op = self.given.op
        whole = np.diag(op.products(V)) * op.unit**2
        return places, V.T.ravel()[places], variances, whole, aligned.similarity


def bootstrap(given: Resampling, n: int, *, kind: str) -> Bootstrapped:
    """Draw rows with replacement, fit each draw and align it with the fit.

    Parameters
    ----------
    given : Resampling
    n : int
        Number of draws.
    kind : {"normal", "percentile"}

    Returns
    -------
    Bootstrapped
        If interrupted by Ctrl-C, of the draws made so far.
    """
    given = given.prepared("bootstrap", n)
    draws, again = zip(*_Draws(given).run(n, "bootstrap").results, strict=True)
    places, values, *further = zip(*(draw for (draw,) in draws), strict=True)
    variances, whole, similarity = map(np.array, further)
    return Bootstrapped(
        *by_place(given.refit.V, places, values),
        variances,
        whole,
        similarity,
        select=not given.refit.fixed,
        asked=n,
        again=sum(again),
        normal=given.normal,
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


def split(given: Resampling, n: int) -> Split:
    """Select supports on half of the rows; bootstrap the leading eigenvectors on these on the other half.

    Parameters
    ----------
    given : Resampling
    n : int
        Number of bootstrap draws from the second half.
    """
    rng = draw_generator(given.seed, 0)
    given = given.prepared("split", n)

    def draw() -> tuple[tuple[Sampler, Sampler], np.ndarray, tuple[np.ndarray, np.ndarray]]:
        first, second = given.sampler.halves(rng)
        V = given.aligned(given.refit(first.whole(), rng)).V
        return (first, second), V, leading_on(second.whole(), V)

    (halves, chosen, (V, variances)), again = attempted(draw)
    work = _Work(halves[1], V, given.seed)
    drawn = run_jobs(work, n, n_jobs=given.n_jobs, what="bootstrap of one half").results
    if len(drawn) < 2:
        raise KeyboardInterrupt  # too few for standard deviations
    places = np.flatnonzero(chosen.T)
    return Split(
        places,
        V.T.ravel()[places],
        np.array([W.T.ravel()[places] for W, _ in drawn]).std(axis=0, ddof=1),
        variances,
        np.array([values for _, values in drawn]).std(axis=0, ddof=1),
        given.aligned(chosen).similarity,
        (halves[0].n, halves[1].n),
        len(drawn),
        n,
        again,
        given.normal,
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
