"""Sparse principal coordinates, the counterpart of sparse PCA: scores instead of loadings are sparse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Unpack, overload

import numpy as np

from spcastat.arguments import nearest_name, plural, real_number, warn, whole_number
from spcastat.errors import ComponentsError, ConvergenceWarning, OptionError, UnknownOptionError
from spcastat.fit.call import arguments_of, refuse_other_names, with_table_by_name
from spcastat.fit.plan import require_components
from spcastat.hints import CoordinateKeywords, Scale, Table, TableReading, Vector, Whole
from spcastat.inputs.constructors import divided_options, rows_of, table_and_formula, with_shared_entries
from spcastat.inputs.row_data import ROW_OPTIONS
from spcastat.linalg.eigenvectors import numerical_rank
from spcastat.linalg.operators import Rows
from spcastat.reading.checks import advice_for_complete_rows
from spcastat.results.spco import SpcoResult
from spcastat.solvers.regression import SPCO
from spcastat.solvers.solver import ADVICE

__all__ = ["spco"]


@overload
def spco(
    data: Table,
    k: Whole,
    penalty: float | None = None,
    *,
    formula: str | None = None,
    **options: Unpack[CoordinateKeywords],
) -> SpcoResult: ...
@overload
def spco(
    formula: str,
    /,
    k: Whole,
    penalty: float | None = None,
    *,
    data: Table,
    **options: Unpack[CoordinateKeywords],
) -> SpcoResult: ...
@with_table_by_name
@with_shared_entries
def spco(  # pyright: ignore[reportInconsistentOverload]  # data= is a keyword
    data_or_formula: Any = None,
    /,
    k: Whole | None = None,
    penalty: float | None = None,
    *,
    data: Any = None,
    zeros: float | None = None,
    ridge: float = 0.0,
    formula: str | None = None,
    scale: Scale | None = None,
    na: Literal["raise", "drop"] = "raise",
    weights: str | Vector | None = None,
    tol: float = 1e-8,
    max_iter: Whole = 2000,
    **options: Any,
) -> SpcoResult:
    """Fit sparse principal coordinates: sparse scores on dense, orthonormal loadings.

    The coordinates Z and the loadings A minimise |X - Z A'|^2 / 2 + ridge |Z|^2 / 2 + penalty |Z|_1 subject
    to A'A = I (Dou, Dai, Xu and Zhang, Algorithm 2). The iterations start from the loadings of PCA.

    Parameters
    ----------
    data : DataFrame, array, scipy.sparse matrix, polars or pyarrow table, of shape (n, p)
        Rows in memory, or the result of :func:`rows`. The first positional argument, or ``data=``.
    k : int
        Number of components.
    penalty : float, optional
        A threshold in the units of the (scaled) data: a coordinate becomes zero if the absolute value of the
        dense score is smaller.
    zeros : float in [0, 1), optional
        The share of all coordinates that should be zero, where a row of weight 2 counts as two rows. Exactly
        one of `penalty` and `zeros` must be given.
    ridge : float
        Ridge penalty; it divides all coordinates by 1 + ridge.
    formula, scale
        As for :func:`rows`.
    na : {"raise", "drop"}
        Whether missing values raise an error, or incomplete rows are left out.
    weights
        As for :func:`rows`.
    tol : float
        The fit has converged if an iteration changes no loading by more than this tolerance.
    max_iter : int
        Largest number of iterations.
    center, blocks, categorical, context, codes
        As for :func:`rows`.

    Returns
    -------
    SpcoResult

    Examples
    --------
    >>> import spcastat as sp
    >>> fit = sp.spco(sp.datasets.make_hastie(n=50), k=2, zeros=0.5)
    >>> round(fit.measure("cpzc"), 2)
    0.5
    """
    data_options, _ = divided_options(dict(locals()), ROW_OPTIONS)
    refuse_other_names("spco", options)
    table, data_options["formula"] = table_and_formula("spco", data_or_formula, data, formula)
    option_names = arguments_of(spco, TableReading)
    for name in options:
        if name not in option_names:
            raise UnknownOptionError(
                f"spco() has no argument {name}=.", nearest_name(name, sorted(option_names))
            )
    if k is None:
        raise ComponentsError("spco() was given no k, the number of components: spco(data, k=2, zeros=0.5).")
    k = whole_number("k", k, 1, error=ComponentsError)
    solver = _solver(penalty, zeros, ridge, tol, max_iter)
    with advice_for_complete_rows():
        value = rows_of("spco", table, data_options)
    require_components(k, value.p)
    source = value.for_method("spco").rows("spco()", "spco")
    source.warn_of_variances()
    assert isinstance(source.op, Rows)
    _check_rank(source.op, k)
    unit = source.op.unit
    scaled_solver = replace(solver, penalty=None if solver.penalty is None else solver.penalty / unit)
    result = SpcoResult(source, solver, scaled_solver.solve(source.op, k).times(unit))
    _require_nonzero(result, source.op)
    if not result.converged:
        warn(f"spco: {ADVICE[result.status]} ({plural(result.n_iter, 'sweep')}).", ConvergenceWarning)
    return result


def _solver(penalty: Any, zeros: Any, ridge: Any, tol: Any, max_iter: Any) -> SPCO:
    """Check the arguments of the method, and return its solver."""
    if (penalty is None) == (zeros is None):
        raise OptionError(
            "spco() needs exactly one of penalty= (in units of the data) and zeros= (the share of "
            f"coordinates that should be zero); {'neither was' if penalty is None else 'both were'} given."
        )
    if zeros is not None:
        zeros = real_number("zeros", zeros, 0.0, 1.0)
        if zeros == 1.0:
            raise OptionError("zeros=1 would make all coordinates zero; give a number below 1.")
    return SPCO(
        penalty=None if penalty is None else real_number("penalty", penalty, 0.0, np.inf),
        zeros=zeros,
        ridge=real_number("ridge", ridge, 0.0, np.finfo(float).max),
        tol=real_number("tol", tol, 0.0, 1.0),
        max_iter=whole_number("max_iter", max_iter, 1),
    )


def _require_nonzero(result: SpcoResult, op: Rows) -> None:
    """Raise OptionError if all coordinates of a component are zero."""
    empty = (result.coordinates == 0).all()
    if empty.any():
        scores = op.forward(op.leading(1)[1])
        largest = float(np.abs(scores).max() / op.root_weights.max() * op.unit)
        raise OptionError(
            f"penalty={result.penalty:g} makes every coordinate of {', '.join(empty.index[empty])} zero; "
            f"give a smaller penalty (below {largest:g}, some coordinates remain) or fewer components."
        )


def _check_rank(op: Rows, k: int) -> None:
    values = op.leading(k)[0] if k <= op.rank_limit else np.zeros(1)
    rank = numerical_rank(values, op.p)
    if k > op.rank_limit or rank < k:
        limit = min(op.rank_limit, rank) if k <= op.rank_limit else op.rank_limit
        raise ComponentsError(
            f"k={k} was given, but the data have rank at most {limit:,}; ask for at most "
            f"{plural(limit, 'component')}."
        )
