"""Sparse principal coordinates, the counterpart of sparse PCA: scores instead of loadings are sparse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from spcastat.config import plural, real_number, warn, whole_number
from spcastat.engine import require_components
from spcastat.engine.inputs import open_rows
from spcastat.errors import ComponentsError, ConvergenceWarning, OptionError
from spcastat.intake import ReadOptions
from spcastat.operators import Rows
from spcastat.results.other_names import answered
from spcastat.results.spco import SpcoResult
from spcastat.solvers import ADVICE
from spcastat.solvers.spco import SPCO

__all__ = ["spco"]


@answered
def spco(
    data: Any,
    k: int,
    penalty: float | None = None,
    *,
    zeros: float | None = None,
    ridge: float = 0.0,
    formula: str | None = None,
    center: Any = True,
    scale: Any = False,
    blocks: Mapping[str, Any] | None = None,
    weights: Any = None,
    na: str = "raise",
    tol: float = 1e-8,
    max_iter: int = 2000,
    context: Mapping[str, Any] | None = None,
    categorical: str = "refuse",
) -> SpcoResult:
    """Fit sparse principal coordinates: sparse scores on dense, orthonormal loadings.

    min |X - Z A'|^2 / 2 + ridge |Z|^2 / 2 + penalty |Z|_1 over coordinates Z and loadings A with A'A = I
    (Dou, Dai, Xu and Zhang, Algorithm 2), from PCA's loadings.

    Parameters
    ----------
    data : DataFrame, array, scipy.sparse matrix, polars or pyarrow table, of shape (n, p)
    k : int
        Number of components.
    penalty : float, optional
        In the units of the (scaled) data: coordinates whose dense score is smaller become zero.
    zeros : float in [0, 1), optional
        Instead of `penalty`: the share of all coordinates that should be zero. One of the two must be given.
    ridge : float
        Divides all coordinates by 1 + ridge.
    formula, center, scale, blocks, weights, na, context, categorical
        As for :func:`spcastat.spca`.
    tol : float
        The fit has converged when a sweep changes no loading by more than this.
    max_iter : int
        Largest number of sweeps.

    Returns
    -------
    SpcoResult

    Examples
    --------
    >>> import spcastat as sp
    >>> fit = sp.spco(sp.datasets.make_hastie(n=50), k=2, zeros=0.5)
    >>> round(fit.cpzc, 2)
    0.5
    """
    k = whole_number("k", k, 1, error=ComponentsError)
    if (penalty is None) == (zeros is None):
        raise OptionError(
            "spco() needs exactly one of penalty= (in units of the data) and zeros= (the share of "
            f"coordinates that should be zero); {'neither' if penalty is None else 'both'} was given."
        )
    if zeros is not None:
        zeros = real_number("zeros", zeros, 0.0, 1.0)
        if zeros == 1.0:
            raise OptionError("zeros=1 would leave no coordinate; it must be below 1.")
    solver = SPCO(
        penalty=None if penalty is None else real_number("penalty", penalty, 0.0, np.inf),
        zeros=zeros,
        ridge=real_number("ridge", ridge, 0.0, np.finfo(float).max),
        tol=real_number("tol", tol, 0.0, 1.0),
        max_iter=whole_number("max_iter", max_iter, 1),
    )
    reading = ReadOptions(formula, context, weights, na, categorical)
    opened = open_rows(data, reading, center, scale, blocks=blocks)
    require_components(k, opened.p)
    source = opened.source("spco")
    assert isinstance(source.op, Rows)
    _check_rank(source.op, k)
    unit = source.op.unit
    inside = replace(solver, penalty=None if solver.penalty is None else solver.penalty / unit)
    result = SpcoResult(source, solver, inside.solve(source.op, k).times(unit))
    empty = (result.coordinates == 0).all()
    if empty.any():
        scores = source.op.forward(source.op.leading(1)[1])
        largest = float(np.abs(scores).max() / source.op.root_weights.max() * unit)
        raise OptionError(
            f"penalty={result.penalty:g} makes every coordinate of {', '.join(empty.index[empty])} zero; "
            f"take a smaller one (in [0, {largest:g}) for any component to be left) or fewer components."
        )
    if not result.converged:
        warn(f"spco: {ADVICE[result.status]} ({plural(result.n_iter, 'sweep')}).", ConvergenceWarning)
    return result


def _check_rank(op: Rows, k: int) -> None:
    values = op.leading(k)[0] if k <= op.rank_limit else np.zeros(1)
    rank = int(np.count_nonzero(values > np.finfo(float).eps * op.p * max(values[0], 0.0)))
    if k > op.rank_limit or rank < k:
        most = min(op.rank_limit, rank) if k <= op.rank_limit else op.rank_limit
        raise ComponentsError(
            f"k={k} was given, but the data have rank {most} at most; ask for at most "
            f"{plural(most, 'component')}."
        )
