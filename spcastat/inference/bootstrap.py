"""The bootstrap of a sparse fit: variables are selected again in every draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spcastat.inference.attempts import attempted
from spcastat.operators import Operator
from spcastat.resample import align, draw_generator, run_jobs
from spcastat.resample.refit import Refit
from spcastat.resample.sampler import CovarianceSampler, Sampler
from spcastat.resample.streamed import StreamRows
from spcastat.state.resampled import Bootstrapped


@dataclass(frozen=True, eq=False)
class Draw:
    """Loadings and variances of one draw.

    Attributes
    ----------
    places : ndarray of int, shape (m,)
        Positions of the nonzero loadings in V.T, flattened.
    values : ndarray of shape (m,)
        The nonzero loadings.
    variances, whole, similarity : ndarray of shape (k,)
        As in :class:`spcastat.state.resampled.Bootstrapped`.
    again : int
        Number of samples before this one that could not be fitted.
    """

    places: np.ndarray
    values: np.ndarray
    variances: np.ndarray
    whole: np.ndarray
    similarity: np.ndarray
    again: int


@dataclass(frozen=True, eq=False)
class _Work:
    """The job of computing the draws with given numbers, which is sent to other processes."""

    sampler: Sampler
    refit: Refit
    op: Operator
    seed: int

    def __call__(self, numbers: Sequence[int]) -> list[Draw]:
        drawn = [self._drawn(number) for number in numbers]
        ops = [op for (op, _), _ in drawn]
        found = self.refit.ended(ops, [begun for (_, begun), _ in drawn])
        return [self._kept(op, V, again) for op, V, (_, again) in zip(ops, found, drawn, strict=True)]

    def _drawn(self, number: int) -> tuple[tuple[Operator, Sequence[np.ndarray]], int]:
        """Return a sample with the starts of its fit, and how many samples failed before it."""
        rng = draw_generator(self.seed, number)

        def draw() -> tuple[Operator, Sequence[np.ndarray]]:
            drawn = self.sampler.bootstrap(rng, number)
            return drawn, self.refit.begun(drawn, rng)

        return attempted(draw)

    def _kept(self, drawn: Operator, V: np.ndarray, again: int) -> Draw:
        """Return the parts of a fit that are stored."""
        aligned = align(V, self.refit.V, self.op, self.refit.kinds)
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
    work = _Work(sampler, refit, op, seed)
    finished = run_jobs(work, n, n_jobs=n_jobs, what="bootstrap", together=refit.together or 1)
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
