"""The recorded parts of a fit: all numbers and texts available without further data."""

from __future__ import annotations

from typing import Any

import spcastat as sp
from benchmarks.hostile.judges import in_pandas

#: Those that there were when records began: a new one is no difference.
MEASURES = ("pev", "rre", "adjusted", "relative_adjusted", "least_squares")


def parts(fit: sp.SpcaResult) -> dict[str, Any]:
    """Return them by name; `scores` where the fit has rows."""
    found = {
        "loadings": in_pandas(fit.loadings),
        "card": fit.card,
        "variance": fit.variance,
        "total variance": fit.total_variance,
        "measures": {name: fit.measure(name) for name in MEASURES},
        "score correlation": fit.score_correlations,
        "loading products": fit.loadings.T @ fit.loadings,
        "method": fit.method,
        "options": fit.options,
        "call": fit.call,
        "status": fit.status,
        "converged": fit.converged,
        "iterations": fit.glance()["n_iter"].item(),
        "objective": fit.objective_value,
        "optima": fit.optima,
        "details": fit.details,
        "print": str(fit),
    }
    try:
        scores = fit.scores
    except sp.errors.NoRowsError as error:
        scores = str(error)
    return {**found, "scores": scores if isinstance(scores, str) else in_pandas(scores)}
