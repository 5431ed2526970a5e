"""Bootstrap draws of sparse loadings, aligned with the fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from spcastat.assess.draws import CovarianceSampler, Sampler, draw_generator, run_jobs
from spcastat.assess.refit import align
from spcastat.assess.samples import attempted, by_place
from spcastat.fit.record import Bootstrapped
from spcastat.fit.sparse_loadings import require_rank, with_loadings, with_matrix
from spcastat.fit.state import FitState
from spcastat.linalg.operators import Operator
from spcastat.search.loading_patterns import Nonzeros, Pattern, best_on_support, near


@dataclass(frozen=True, eq=False)
class LoadingDraws:
    """The job of fitting sparse loadings to draws with given numbers.

    Attributes
    ----------
    sampler : Sampler
    op : Operator
        The data of the fit, on which scores are compared.
    P, W : ndarray of shape (p, k)
        Loadings and weights of the fit, in the unit of `op`.
    nonzeros : Nonzeros
    select : bool
        Whether variables are selected again.
    seed : int
    """

    sampler: Sampler
    op: Operator
    P: np.ndarray
    W: np.ndarray
    nonzeros: Nonzeros
    select: bool
    seed: int

    @classmethod
    def of(cls, state: FitState, sampler: Sampler, op: Operator, select: bool, seed: int) -> LoadingDraws:
        """Return the job for a fit, with as many nonzeros as it has; `op` has its data."""
        P = with_loadings(state).V
        card = tuple(np.count_nonzero(P, axis=0).tolist())
        given = state.record.options.get("card") is not None
        nonzeros = Nonzeros(card=card) if given else Nonzeros(total=sum(card))
        return cls(sampler, op, P / op.unit, state.V * op.unit, nonzeros, select, seed)

    def __call__(self, number: int) -> tuple[tuple[np.ndarray, ...], int]:
        """Return the loadings of a draw and their variances, and how many samples failed before."""
        return attempted(partial(self._fitted, draw_generator(self.seed, number)))

    def _fitted(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        drawn = with_matrix(self.sampler.bootstrap(rng))
        require_rank(drawn, self.P.shape[1])
        found = near(drawn, self.P, self.nonzeros) if self.select else best_on_support(drawn, self.P)
        return self._aligned(found, drawn.unit)

    def _aligned(self, found: Pattern, unit: float) -> tuple[np.ndarray, ...]:
        """Return places, values, variances on the draw and on the fit's rows, and similarity."""
        aligned = align(found.W, self.W, self.op, self.nonzeros.card)
        signs = np.where((aligned.V * found.W[:, aligned.order]).sum(axis=0) < 0, -1.0, 1.0)
        P = found.P[:, aligned.order] * signs * unit
        A = self.op.dot(aligned.V)
        sizes = np.sqrt(np.einsum("ij,ij->j", aligned.V, A))
        whole = ((A * (P != 0)) ** 2).sum(axis=0) / sizes**2 * self.op.unit**2
        places = np.flatnonzero(P.T)
        return places, P.T.ravel()[places], (P**2).sum(axis=0), whole, aligned.similarity


def bootstrap(draws: LoadingDraws, n: int, n_jobs: int, drawn: str = "", notice: str = "") -> Bootstrapped:
    """Draw rows with replacement, fit sparse loadings to each draw and align them with the fit.

    Parameters
    ----------
    draws : LoadingDraws
    n, n_jobs : int
    drawn, notice : str
        See :class:`spcastat.fit.record.Bootstrapped`.

    Returns
    -------
    Bootstrapped
        Its variances are sums of squared loadings. If interrupted by Ctrl-C, the result covers the completed
        draws.
    """
    finished = run_jobs(draws, n, n_jobs=n_jobs, what="bootstrap")
    fits, again = zip(*finished.results, strict=True)
    places, values, variances, whole, similarity = zip(*fits, strict=True)
    normal = isinstance(draws.sampler, CovarianceSampler)
    return Bootstrapped(
        *by_place(draws.P, places, values),
        np.array(variances),
        np.array(whole),
        np.array(similarity),
        select=draws.select,
        asked=n,
        again=sum(again),
        normal=normal,
        drawn=drawn,
        notice=notice,
    )
