"""The fits of single imputations beside the bootstrap of a fit of all of them, for Rubin's rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from spcastat.assess.samples import Refit, Resampling
from spcastat.config import draw_generator
from spcastat.fit.record import Bootstrapped
from spcastat.linalg.operators import Operator


def with_imputations(draws: Bootstrapped, resampling: Resampling, search: str) -> Bootstrapped:
    """Return a bootstrap with the fits of the imputations.

    Parameters
    ----------
    draws : Bootstrapped
        Draw b is from imputation b modulo their number.
    resampling : Resampling
    search : {"near", "quick"}
        The search by which each imputation selects variables.
    """
    ops = [part.all_rows() for part in resampling.sampler.imputations]
    selecting = _loadings(resampling, replace(resampling.refit, fixed=False, starts=search), ops)
    estimates = _loadings(resampling, resampling.refit, ops) if resampling.refit.fixed else selecting
    places = np.union1d(draws.places, np.flatnonzero((selecting != 0).any(axis=0)))
    values = np.zeros((len(draws.values), len(places)))
    values[:, np.searchsorted(places, draws.places)] = draws.values
    V = resampling.refit.V
    return replace(
        draws,
        places=places,
        values=values,
        imputed=estimates[:, places],
        imputed_variances=np.array([np.diag(op.products(V)) * op.unit**2 for op in ops]),
        imputation_share=(selecting[:, places] != 0).mean(axis=0),
        rows=resampling.sampler.independent,
    )


def _loadings(resampling: Resampling, refit: Refit, ops: Sequence[Operator]) -> np.ndarray:
    """Return the loadings of the imputations, matched with those of the fit and flattened, shape (M, p k).

    All searches have the same random starts, so that equal imputations have equal fits.
    """
    starts = [refit.draw_starts(op, draw_generator(resampling.seed, 0)) for op in ops]
    return np.array([resampling.aligned(V).V.T.ravel() for V in refit.fitted_loadings(ops, starts)])
