"""What users call: one function for rows, one for a covariance matrix, and the list of methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import user_frame, warn, whole_number
from spcastat.engine import make_plan, run
from spcastat.errors import ComponentsError, ConvergenceWarning, DataWarning, NoRowsError, OptionError
from spcastat.intake import Spec, looks_like_covariance, read_covariance, read_data
from spcastat.intake.checks import aligned, vector
from spcastat.operators import Gram, Standardisation, build, standardise
from spcastat.results import Source, SpcaResult
from spcastat.solvers import ADVICE, CONTROLS, SOLVERS


def spca(
    data: Any,
    k: int,
    card: Any = None,
    *,
    variance: float | None = None,
    formula: str | None = None,
    method: str | None = None,
    nonneg: bool = False,
    center: Any = True,
    scale: Any = False,
    weights: Any = None,
    na: str = "raise",
    n_init: int = 1,
    rng: Any = None,
    order: str | None = None,
    tol: float | None = None,
    max_iter: int | None = None,
    context: Mapping[str, Any] | None = None,
    categorical: str = "refuse",
    **options: Any,
) -> SpcaResult:
    """Fit sparse principal components to rows.

    Parameters
    ----------
    data : DataFrame, array, scipy.sparse matrix, polars or pyarrow table, of shape (n, p)
        Never changed. The numbers are copied unless they exceed 64 MB: do not change a larger array while
        its fit is in use.
    k : int
        Number of components.
    card : int, sequence of k ints, or mapping, optional
        Number of nonzero loadings: of every component, of each, or by name (``{"PC1": 5, "PC2": 3}``).
    variance : float in (0, 1], optional
        Instead of `card`: the share of dense PCA's explained variance to keep with as few nonzeros as the
        method finds. With neither, 0.9.
    formula : str, optional
        One-sided, as in ``"~ a + b + log(c)"`` or ``"~ . - id"``. A formula runs as code: do not take one
        from strangers.
    method : str, optional
        A name in :func:`methods`; "bcd-l0" with `card`, "controlled" with `variance`.
    nonneg : bool
        Nonnegative loadings, for the methods that have them.
    center, scale : bool or array-like of shape (p,)
        Subtract the column means; divide by the standard deviations (ddof = 1). Or values of one's own.
    weights : array-like of shape (n,), optional
        Nonnegative frequency weights: a row of weight 2 counts as two rows.
    na : {"raise", "drop"}
        Whether missing values are an error or cost their rows.
    n_init : int
        Number of starts, for the methods that use starting values; the best fit is kept. One start is PCA's
        own, as published.
    rng : None, int or numpy Generator
        Seed of random starts. None is a fixed seed: two runs agree to the last bit.
    order : {None, "variance", "given"}
        Order of the components. None sorts by variance only where a joint method has one cardinality for all.
    tol : float, optional
        Relative to the total variance.
    max_iter : int, optional
    context : mapping, optional
        Names besides the columns that the formula may use; by default those where `spca` is called.
    categorical : {"refuse", "dummy"}
        Whether text and categories in a formula are an error or become 0/1 columns.
    **options
        Further options of the method; see :func:`methods`.

    Returns
    -------
    SpcaResult

    Raises
    ------
    SpcaError
        One family for each cause, under :mod:`spcastat.errors`.

    Examples
    --------
    >>> import spcastat as sp
    >>> fit = sp.spca(sp.datasets.make_hastie(), k=2, card=4)
    >>> [list(fit.loadings.index[fit.loadings[c] != 0]) for c in fit.loadings]
    [['X5', 'X6', 'X7', 'X8'], ['X1', 'X2', 'X3', 'X4']]
    """
    call = {
        **{name: value for name, value in locals().items() if name not in ("data", "options", "context")},
        **options,
    }
    k = whole_number("k", k, 1, error=ComponentsError)
    if formula is not None and context is None:
        context = _names_at_call()
    design = read_data(
        data, formula=formula, context=context, weights=weights, na=na, categorical=categorical
    )
    if formula is None and looks_like_covariance(data):
        warn(
            "data is square and symmetric with equal row and column labels: if it is a covariance or "
            "correlation matrix, use spca_cov(S, ...); spca() takes its rows for observations.",
            DataWarning,
        )
    p = len(design.columns)
    given = _given(card, variance, nonneg, n_init, tol, max_iter, options)
    plan = make_plan(k, p, method, order, given)
    generator = _generator(rng)
    standard = standardise(
        design.matrix,
        design.weights,
        _column_values("center", center, design.columns),
        _column_values("scale", scale, design.columns),
        list(design.columns),
    )
    op = build(design.matrix, design.weights, standard, keep_rows=plan.solver.needs == "rows")
    fit = run(op, plan.solver, k, n_init=plan.n_init, rng=generator, sort=plan.sort)
    source = Source(
        op=op,
        spec=design.spec,
        n=design.shape[0],
        standard=standard,
        matrix=design.matrix,
        index=design.index,
        dropped=design.dropped,
        weighted=design.weights is not None,
    )
    kept_context = design.spec.context if formula is not None else None
    again = _again(spca, data, {**call, "context": kept_context})
    return _finish(SpcaResult(source, plan, fit, again))


def spca_cov(
    S: Any,
    k: int,
    card: Any = None,
    *,
    n_obs: int | None = None,
    mean: Any = None,
    scale: Any = None,
    variance: float | None = None,
    method: str | None = None,
    nonneg: bool = False,
    n_init: int = 1,
    rng: Any = None,
    order: str | None = None,
    tol: float | None = None,
    max_iter: int | None = None,
    **options: Any,
) -> SpcaResult:
    """Fit sparse principal components to a covariance or correlation matrix.

    Parameters
    ----------
    S : DataFrame or array of shape (p, p)
        Symmetric and positive semidefinite.
    k : int
    card, variance, method, nonneg, n_init, rng, order, tol, max_iter, **options
        As for :func:`spca`.
    n_obs : int, optional
        Number of rows behind the matrix, for the header.
    mean, scale : array-like of shape (p,), optional
        Means, and the standard deviations that turned rows into a correlation matrix: with them
        ``transform(rows)`` works. `scale` is one by default.

    Returns
    -------
    SpcaResult
        Without `scores` and `biplot`, which need rows.
    """
    call = {
        **{name: value for name, value in locals().items() if name not in ("S", "options")},
        **options,
    }
    k = whole_number("k", k, 1, error=ComponentsError)
    covariance = read_covariance(S, n_obs=n_obs, mean=mean, scale=scale)
    p = len(covariance.columns)
    plan = make_plan(k, p, method, order, _given(card, variance, nonneg, n_init, tol, max_iter, options))
    if plan.solver.needs == "rows":
        raise NoRowsError(
            f"method={plan.method.name!r} depends on more than second moments, so a covariance matrix is not "
            "enough for it; give the rows to spca(data, ...)."
        )
    op = Gram(covariance.matrix)
    fit = run(op, plan.solver, k, n_init=plan.n_init, rng=_generator(rng), sort=plan.sort)
    standard = None
    if covariance.mean is not None:
        divisor = np.ones(p) if covariance.scale is None else covariance.scale
        scaling = "none" if covariance.scale is None else "given"
        standard = Standardisation(covariance.mean, divisor, "given", scaling)
    kind = "frame" if isinstance(S, pd.DataFrame) else "array"
    source = Source(op=op, spec=Spec(kind, covariance.columns), n=covariance.n_obs, standard=standard)
    return _finish(SpcaResult(source, plan, fit, _again(spca_cov, S, call)))


def methods() -> pd.DataFrame:
    """List the methods: name, title, paper, what each takes, what controls its sparsity, its options."""
    rows = [
        {
            "name": method.name,
            "title": method.title,
            "paper": method.paper,
            "takes": "data or covariance" if method.solver.needs == "gram" else "data",
            "controlled by": ", ".join(method.controls) or "nothing",
            "options": ", ".join(name for name in method.options if name not in CONTROLS),
        }
        for method in SOLVERS.values()
    ]
    return pd.DataFrame(rows)


# --- shared by the two functions ------------------------------------------------------------------


def _given(
    card: Any, variance: Any, nonneg: Any, n_init: Any, tol: Any, max_iter: Any, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Collect the options that differ from "not given"."""
    named = {"card": card, "variance": variance, "tol": tol, "max_iter": max_iter}
    given = {name: value for name, value in {**named, **options}.items() if value is not None}
    if nonneg is not False:
        given["nonneg"] = nonneg
    if isinstance(n_init, bool) or n_init != 1:
        given["n_init"] = n_init
    return given


def _generator(rng: Any) -> np.random.Generator:
    if isinstance(rng, bool):
        raise OptionError(f"rng={rng!r} was given; it must be None, a whole number or a numpy Generator.")
    try:
        return np.random.default_rng(0 if rng is None else rng)
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"rng={rng!r} was given; it must be None, a whole number of 0 or more, or a numpy Generator."
        ) from error


def _names_at_call() -> Mapping[str, Any]:
    frame = user_frame()
    return {} if frame is None else {**frame.f_globals, **frame.f_locals}


def _again(
    function: Callable[..., SpcaResult], data: Any, call: Mapping[str, Any]
) -> Callable[..., SpcaResult]:
    """Return a function that repeats `call` with changes."""

    def refit(**changes: Any) -> SpcaResult:
        arguments = {**call, **changes}
        new_controls = [name for name in CONTROLS if changes.get(name) is not None]
        if new_controls:
            for name in CONTROLS:
                if name not in changes:
                    arguments.pop(name, None)
            method = SOLVERS.get(arguments.get("method") or "")
            if method and "method" not in changes and new_controls[0] not in method.controls:
                arguments["method"] = None
        if "formula" in changes and "context" not in changes:
            arguments["context"] = None
        return function(arguments.pop("data", data), **arguments)

    return refit


def _finish(result: SpcaResult) -> SpcaResult:
    if not result.converged:
        warn(f"{result.method}: {ADVICE[result.status]} ({result.n_iter} sweeps).", ConvergenceWarning)
    return result


def _column_values(option: str, value: Any, columns: pd.Index) -> Any:
    """Return `center` or `scale` as True, False, or one finite number for each column."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if value is None or np.ndim(value) == 0:
        raise OptionError(
            f"{option}={value!r} was given; it must be True, False, or {len(columns)} numbers, one a column."
        )
    if isinstance(value, pd.Series):
        value = aligned(value, columns, option, "columns")
    numbers = vector(value, len(columns), option, "columns")
    if option == "scale" and not (numbers > 0).all():
        raise OptionError(f"scale holds {numbers.min():g}; what columns are divided by must be positive.")
    return numbers
