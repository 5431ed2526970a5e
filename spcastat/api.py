"""The main functions: fits of rows or of a covariance matrix, and paths of fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np

from spcastat import hints
from spcastat.arguments import explained, generator, listed, plural, seed_of, warn
from spcastat.errors import ComponentsError, ConvergenceWarning
from spcastat.fit.call import (
    Call,
    arguments_of,
    hint,
    refuse_controls,
    refuse_other_names,
    with_table_by_name,
)
from spcastat.fit.method_table import SOLVERS, needs_rows
from spcastat.fit.plan import Plan, Request, data_for, make_plan, require_components
from spcastat.fit.run import Fit, run
from spcastat.fit.state import FitState
from spcastat.inputs.constructors import (
    divided_options,
    given_of,
    matrix_of,
    rows_of,
    rows_or_matrix_of,
    table_and_formula,
    with_shared_entries,
)
from spcastat.inputs.covariance_data import COVARIANCE_OPTIONS
from spcastat.inputs.data import Data
from spcastat.inputs.row_data import ROW_OPTIONS
from spcastat.progress import listening
from spcastat.reading.checks import advice_for_complete_rows
from spcastat.results.fit import SpcaResult
from spcastat.solvers.solver import ADVICE

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from spcastat.results.path import SpcaPath

__all__ = ["spca", "spca_cov", "spca_path"]


@overload
def spca(
    data: hints.Rows,
    k: hints.Whole,
    card: hints.Card | None = None,
    *,
    formula: str | None = None,
    **options: Unpack[hints.SpcaKeywords],
) -> SpcaResult: ...
@overload
def spca(
    formula: str,
    /,
    k: hints.Whole,
    card: hints.Card | None = None,
    *,
    data: hints.Rows,
    **options: Unpack[hints.SpcaKeywords],
) -> SpcaResult: ...
@overload
def spca(
    formula: str | None = None,
    /,
    *,
    k: hints.Whole,
    card: hints.Card | None = None,
    imputations: hints.Imputations,
    **options: Unpack[hints.SpcaKeywords],
) -> SpcaResult: ...
@with_table_by_name
@with_shared_entries
def spca(  # pyright: ignore[reportInconsistentOverload]  # data= is a keyword
    data_or_formula: Any = None,
    /,
    k: hints.Whole | None = None,
    card: hints.Card | None = None,
    *,
    data: Any = None,
    imputations: hints.Imputations | None = None,
    variance: float | None = None,
    formula: str | None = None,
    scale: hints.Scale | None = None,
    na: hints.Missing = "raise",
    weights: str | hints.Vector | None = None,
    weights_are: hints.WeightsAre = "frequency",
    clusters: hints.ByRow | None = None,
    strata: hints.ByRow | None = None,
    block_length: int | Literal["auto"] | None = None,
    method: hints.MethodName | None = None,
    objective: hints.Objective | None = None,
    effort: hints.Effort | None = None,
    include: hints.Rule | None = None,
    exclude: hints.Rule | None = None,
    disjoint: bool = False,
    together: Literal["terms"] | Mapping[str, hints.Labels] | None = None,
    nonneg: bool = False,
    rng: hints.Rng = None,
    progress: hints.Progress = None,
    **options: Any,
) -> SpcaResult:
    """Fit sparse principal components to rows: scores X V with sparse weights V.

    ``sp.spca(df, k=3, card=5, scale=True)`` scales the variables to unit variance and finds three components
    of five variables each; ``sp.choose(df, scale=True)`` chooses both numbers. The columns of V are called
    loadings in this package, although they are weights: a zero means that the variable is not needed to
    compute the score. For sparse loadings in the sense of factor analysis, see :func:`sparse_loadings`.

    Parameters
    ----------
    data : DataFrame, array, scipy.sparse matrix, polars or pyarrow table of shape (n, p)
        Rows are observations and columns are variables; the data are not modified. They are the first
        positional argument, or ``data=``. The data may also be the name of a file (.csv, .parquet, .sav,
        .dta), rows in chunks, or the result of :func:`rows`.
    imputations : list of DataFrame, or DataFrame with a column ".imp", optional
        Multiple imputations of one table, in place of `data`: frames with the same rows and columns, or the
        long format of mice. Their covariance matrices are averaged, and ``fit.bootstrap()`` follows Rubin's
        rules. See docs/data.md.
    k : int
        Number of components; :func:`choose` can choose it.
    card : int, sequence of k ints, or mapping, optional
        Number of nonzero loadings: one number for all components, one for each, or numbers by name
        (``{"PC1": 5, "PC2": 3}``).
    variance : float in (0, 1], optional
        Share of dense PCA's explained variance that the fit must reach, with as few nonzero loadings as the
        method finds; an alternative to `card`. If neither is given, 0.9 is used.
    formula, scale, na, weights, weights_are, clusters, strata, block_length
        As for :func:`rows`.
    method : str, optional
        A name that :func:`methods` lists. The default is "joint", which searches the supports of all
        components together from many starts, or "bcd-l0" with `card` and `nonneg`. The other methods follow
        the papers that propose them.
    objective : {"adjusted", "pev", "least_squares"}, optional
        The measure that is maximised. "adjusted", the default of "joint": the variance of each score that
        earlier scores do not explain. "pev": the share of the total variance that the projection on the
        loadings reconstructs (the default with ``disjoint=True`` alone). "least_squares": the share that
        regressions on the scores explain.
    effort : {"quick", "auto", "thorough"}, optional
        How long "joint" searches; "auto" by default.
    include, exclude : list of names, or mapping, optional
        For "joint": variables that every component must contain, or must not contain; a mapping gives them by
        component (``include={"PC1": ["age"]}``). Included variables count towards `card`.
    disjoint : bool
        For "joint": whether every variable is in at most one component; False by default. Without `card` and
        `variance`, every variable is in exactly one, and the search chooses the groups.
    together : "terms", or mapping from names to lists of names, optional
        For "joint" with `card`: groups of variables that enter a component together; `card` then counts
        groups. "terms" groups the columns of each term of the formula or of each factor.
    nonneg : bool
        Whether loadings must be nonnegative, for methods with this option.
    rng : None, int or numpy Generator
        Seed of random starts. None uses a fixed seed, so repeated runs give identical results.
    progress : None, bool or callable
        True shows a bar on stderr; None does so after three seconds in a terminal or notebook. A function is
        called with each :class:`spcastat.progress.Step`, and may raise an exception to end the fit.

    Returns
    -------
    SpcaResult
        Printing it shows a summary. `loadings`, `variance` and `scores` are data frames.

    Other Parameters
    ----------------
    robust, center, blocks, categorical, context, codes, k_em, passes
        As for :func:`rows`.
    promise : {"every", "total"}, optional
        Whether the share `variance` must be reached after every component ("every", the default), or only by
        all components together ("total").
    order : {None, "variance", "given", "best"}
        Order of the components. None sorts components of equal cardinality by variance, unless the method
        chooses the order. "best", for "joint" with unequal cardinalities, tries up to six orders.
    n_init : int, optional
        Number of starts of published methods; the best fit is returned. The default is 1 for most methods,
        and 20 for `nonneg` with an `objective` other than "pev".
    tol : float, optional
        Convergence tolerance of published methods, relative to the total variance; :func:`methods` lists the
        defaults.
    max_iter : int, optional
        Largest number of iterations of published methods.
    **options
        Further options of the method; see :func:`methods`. For "joint" with `card`,
        ``constraint="uncorrelated"`` finds scores that are exactly uncorrelated, and ``"orthogonal"``
        loadings that are exactly orthogonal.

    Raises
    ------
    SpcaError
        The base class of all errors; see :mod:`spcastat.errors`.

    Notes
    -----
    Data of up to 64 MB are copied; do not modify a larger array while its fit is in use. The summary reports
    the number of starts, how often the best fit was found, and whether exchanging any single variable
    improves it. ``fit.transform(new)`` computes scores of new rows.

    See docs/data.md for files and chunks, formulas and covariates, blocks, mixed data, missing values,
    dependent rows, and rules for supports.

    Examples
    --------
    >>> import spcastat as sp
    >>> fit = sp.spca(sp.datasets.make_hastie(), k=2, card=4)
    >>> [list(fit.loadings.index[fit.loadings[c] != 0]) for c in fit.loadings]
    [['X5', 'X6', 'X7', 'X8'], ['X1', 'X2', 'X3', 'X4']]
    """
    data_options, fit_options = divided_options(dict(locals()), ROW_OPTIONS)
    with listening(progress):
        table, data_options["formula"] = table_and_formula(
            "spca", data_or_formula, data, formula, imputations
        )
        refuse_other_names("spca", options, method)
        _require_number(k)
        request = request_of(fit_options)
        call = Call(spca, {**request.arguments, "progress": progress})
        with advice_for_complete_rows(needs_rows(method)):
            value = rows_of("spca", table, data_options)
        return _fitted(value, request, call)


@explained
@with_shared_entries
def spca_cov(
    S: pd.DataFrame | NDArray[Any] | hints.DataValue,
    k: hints.Whole,
    card: hints.Card | None = None,
    *,
    variance: float | None = None,
    n_obs: hints.Whole | None = None,
    scale: bool | Literal["blocks", "raw blocks"] | None = None,
    blocks: Mapping[str, hints.Labels] | None = None,
    mean: hints.Vector | None = None,
    sd: hints.Vector | None = None,
    given: hints.Labels | None = None,
    nearest: bool = False,
    method: hints.MethodName | None = None,
    objective: hints.Objective | None = None,
    effort: hints.Effort | None = None,
    include: hints.Rule | None = None,
    exclude: hints.Rule | None = None,
    disjoint: bool = False,
    together: Literal["terms"] | Mapping[str, hints.Labels] | None = None,
    nonneg: bool = False,
    rng: hints.Rng = None,
    progress: hints.Progress = None,
    **options: Unpack[hints.MethodOptions],
) -> SpcaResult:
    """Fit sparse principal components to a covariance or correlation matrix.

    The loadings are weights, as for :func:`spca`; :func:`sparse_loadings_cov` fits loadings in the sense of
    factor analysis.

    Parameters
    ----------
    S : DataFrame or array of shape (p, p)
        A symmetric positive semidefinite matrix, such as :func:`correlation` returns, or the result of
        :func:`covariance`, which already specifies `n_obs`, `scale` and the options from `blocks` to
        `nearest`.
    k : int
        Number of components.
    card : int, sequence of k ints, or mapping, optional
        Number of nonzero loadings: one number for all components, or one for each. See :func:`spca`.
    variance : float in (0, 1], optional
        Share of dense PCA's explained variance that the fit must reach, instead of `card`.
    n_obs, scale, blocks, mean, sd, given, nearest
        As for :func:`covariance`.
    method : str, optional
        A method that does not need rows, as listed by :func:`methods`; "joint" by default.
    objective : {"adjusted", "pev", "least_squares"}, optional
        The measure that is maximised; see :func:`spca`.
    effort : {"quick", "auto", "thorough"}, optional
        How long "joint" searches; "auto" by default.
    include, exclude : list of names, or mapping, optional
        Variables that components must contain, or must not contain. See :func:`spca`.
    disjoint : bool
        Whether every variable is in at most one component.
    together : mapping from names to lists of names, optional
        Groups of variables that enter a component together. See :func:`spca`.
    nonneg : bool
        Whether loadings must be nonnegative, for methods with this option.
    rng : None, int or numpy Generator
        Seed of random starts; None uses a fixed seed.
    progress : None, bool or callable
        Whether to show progress. See :func:`spca`.
    **options
        `promise`, `order`, `n_init`, `tol` and `max_iter`, as for :func:`spca`, and further options of the
        method; see :func:`methods`.

    Returns
    -------
    SpcaResult
        The fit. `scores` and `biplot` need rows, so this fit does not have them.

    Raises
    ------
    CovarianceError
        If `S` is not symmetric and positive semidefinite.
    SpcaError
        The base class of all errors; see :mod:`spcastat.errors`.

    Examples
    --------
    >>> import spcastat as sp
    >>> fit = sp.spca_cov(sp.datasets.load_pitprops(), k=2, card=[4, 3], n_obs=180)
    >>> fit.card.tolist()
    [4, 3]
    """
    data_options, fit_options = divided_options(dict(locals()), COVARIANCE_OPTIONS)
    with listening(progress):
        refuse_other_names("spca_cov", options, method)
        request = request_of(fit_options)
        call = Call(spca_cov, {**request.arguments, "progress": progress})
        return _fitted(matrix_of("spca_cov", S, data_options), request, call)


@overload
def spca_path(
    data: hints.Rows,
    k: hints.Whole = 1,
    *,
    formula: str | None = None,
    n_obs: hints.Whole | None = None,
    covariance: bool | None = None,
    **options: Unpack[hints.PathKeywords],
) -> SpcaPath: ...
@overload
def spca_path(
    formula: str, /, k: hints.Whole = 1, *, data: hints.Rows, **options: Unpack[hints.PathKeywords]
) -> SpcaPath: ...
@overload
def spca_path(
    formula: str | None = None,
    /,
    *,
    k: hints.Whole = 1,
    imputations: hints.Imputations,
    **options: Unpack[hints.PathKeywords],
) -> SpcaPath: ...
@with_table_by_name
@with_shared_entries
def spca_path(  # pyright: ignore[reportInconsistentOverload]  # data= is a keyword
    data_or_formula: Any = None,
    /,
    k: hints.Whole = 1,
    *,
    data: Any = None,
    imputations: hints.Imputations | None = None,
    cards: hints.Cards | None = None,
    formula: str | None = None,
    scale: hints.Scale | None = None,
    na: hints.Missing = "raise",
    weights: str | hints.Vector | None = None,
    weights_are: hints.WeightsAre = "frequency",
    clusters: hints.ByRow | None = None,
    strata: hints.ByRow | None = None,
    block_length: int | Literal["auto"] | None = None,
    n_obs: hints.Whole | None = None,
    covariance: bool | None = None,
    method: hints.MethodName | None = None,
    objective: hints.Objective | None = None,
    effort: hints.Effort | None = None,
    rng: hints.Rng = None,
    progress: hints.Progress = None,
    **options: Any,
) -> SpcaPath:
    """Fit sparse principal components for a range of cardinalities.

    Parameters
    ----------
    data : DataFrame, array, sparse matrix, polars or pyarrow table of shape (n, p); or (p, p)
        Rows, a covariance or correlation matrix, or the result of :func:`rows` or :func:`covariance`. The
        first positional argument, or ``data=``.
    imputations : list of DataFrame, or DataFrame with a column ".imp", optional
        Multiple imputations of one table, in place of `data`. See :func:`spca`.
    k : int
        Number of components.
    cards : sequence of ints or of sequences of k ints, optional
        Each element is one cardinality for all components, as in ``cards=range(1, 11)``, or a sequence with
        one cardinality for each component. The default is 1 to 10, about ten larger numbers up to the rank
        of the data (at most n - 1, or p), and p; with ``constraint="uncorrelated"`` the smallest is the first
        cardinality for which uncorrelated scores exist.
    formula, scale, na, weights, weights_are, clusters, strata, block_length
        As for :func:`rows`.
    n_obs : int, optional
        Number of rows from which a covariance matrix was computed.
    covariance : bool, optional
        Whether `data` is a covariance matrix. By default a symmetric frame with equal row and column labels
        is treated as one.
    method : str, optional
        A method that takes a cardinality; "joint" by default.
    objective : {"adjusted", "pev", "least_squares"}, optional
        The measure that is maximised; see :func:`spca`.
    effort : {"quick", "auto", "thorough"}, optional
        How long "joint" searches; "auto" by default.
    rng : None, int or numpy Generator
        Seed of random starts, the same for every fit. None uses a fixed seed.
    progress : None, bool or callable
        Whether to show progress. See :func:`spca`.
    robust, center, blocks, categorical, context, codes, k_em, passes
        As for :func:`rows`.
    mean, sd, given, nearest
        As for :func:`covariance`.
    **options
        Options that restrict the supports (`include`, `exclude`, `disjoint`, `together`, `nonneg`), and
        options of the method (`order`, `n_init`, `tol`, `max_iter` and those in :func:`methods`).

    Returns
    -------
    SpcaPath
        The path has a `table`, a `plot()`, and the fits; ``path[7]`` is the fit of cardinality 7.

    Notes
    -----
    With "joint", the objective does not decrease as the cardinalities of all components increase. By default,
    for adjusted variance, each fit also starts from the fits of neighbouring cardinalities, and its search is
    shorter than the search of a single call. `call` and `refit` repeat such a fit without its neighbours, so
    their result may differ from the fit on the path. Fits of one component, fits for other objectives, and
    fits with more than 1000 variables equal the fits of single calls, unless the objective would then
    decrease along the path.

    Published methods that use starts also start each fit from the previous fit, so a fit on the path is never
    worse than the fit that its `call` and `refit` return. "greedy" with one component finds all cardinalities
    in one run.

    Examples
    --------
    >>> import spcastat as sp
    >>> path = sp.spca_path(sp.datasets.load_pitprops(), k=1, cards=[1, 4, 7], method="greedy")
    >>> path.table["nonzeros"].tolist()
    [1, 4, 7]
    """
    data_options, _ = divided_options(dict(locals()), (*ROW_OPTIONS, *COVARIANCE_OPTIONS))
    from spcastat.assess.cross_validation import fit_path, path_cards
    from spcastat.results.path import SpcaPath  # imported late, as few calls need it

    with listening(progress):
        table, data_options["formula"] = table_and_formula(
            "spca_path", data_or_formula, data, formula, imputations
        )
        purpose = "fits a range of cardinalities"
        refuse_controls("spca_path", purpose, options, "such as cards=[1, 4, 7], ")
        refuse_other_names("spca_path", options, method)
        options |= given_of(**data_options)
        k = request_of({"k": k}).k
        with advice_for_complete_rows(needs_rows(method)):
            value = rows_or_matrix_of("spca_path", table, options, covariance)
        function = FITS[value.constructor]
        require_components(k, value.p)
        keys, cardinalities = path_cards(cards, k, value.p)
        request = request_of(
            {
                "k": k,
                "card": cardinalities[-1],
                "method": method,
                "objective": objective,
                "effort": effort,
                "rng": seed_of(rng) if isinstance(rng, np.random.Generator) else rng,
                **{name: option for name, option in options.items() if name not in value.option_names},
            }
        )
        plan = make_plan(request, value.p, partial(_hint, function, spca_path))
        fitted = _fitting_data(value, plan, request.k)
        plan = plan.on(fitted.spec, check=False)
        if cards is None:
            groups = len(getattr(plan.solver, "together", None) or ())
            limits = (groups, groups) if groups else (fitted.op.p, fitted.op.rank_limit)
            keys, cardinalities = path_cards(None, request.k, *limits)
        keys, cardinalities = plan.admissible_cards(keys, cardinalities, fitted.columns, cards is not None)
        fits = {}
        for key, card, fit in zip(
            keys, cardinalities, fit_path(fitted.op, plan, cardinalities, request.seed), strict=True
        ):
            call = Call(function, {**replace(request, card=key).arguments, "progress": progress})
            fits[key] = _result_of(fitted, plan.with_card(card), fit, call)
        missed = [key for key, fit in fits.items() if not fit.converged]
        if missed:
            warn(f"{plan.method.name}: {ADVICE['max_iter']} (card {listed(missed)}).", ConvergenceWarning)
        return SpcaPath(fits)


#: The constructor of data -> the function that fits them.
FITS: dict[str, Callable[..., SpcaResult]] = {"rows": spca, "covariance": spca_cov}


def request_of(arguments: Mapping[str, Any]) -> Request:
    """Return the request for a fit; arguments that are not fields of Request are its `method_options`."""
    names = {field_of_request.name for field_of_request in fields(Request)} - {"method_options"}
    named_arguments = {name: value for name, value in arguments.items() if name in names}
    return Request(
        **named_arguments, method_options={n: value for n, value in arguments.items() if n not in names}
    )


def _require_number(k: Any) -> None:
    """Raise ComponentsError if k is missing."""
    if k is None:
        raise ComponentsError(
            "spca() was given no k, the number of components: spca(data, k=3, card=5). If it is not known, "
            "choose(data) chooses k and card."
        )


def _hint(fit: Callable[..., Any], called: Callable[..., Any], name: str) -> tuple[str, str]:
    """Return advice about an unknown argument of a fit that the function `called` makes."""
    homes = {
        "a fit of rows, spca(data, ...)": arguments_of(spca, hints.SpcaOptions),
        "a fit of a covariance matrix, spca_cov(S, ...)": arguments_of(spca_cov, hints.MethodOptions),
        "a path, spca_path(data, ...)": arguments_of(spca_path, hints.MatrixOptions),
    }
    options = {option for method in SOLVERS.values() for option in method.options}
    option_types = {spca: hints.SpcaOptions, spca_cov: hints.MethodOptions, spca_path: hints.ScanOptions}
    option_names = arguments_of(fit, option_types[fit]) | arguments_of(called, option_types[called])
    return hint(fit.__name__, option_names, homes, options, name)


def _fitted(data: Data, request: Request, call: Call) -> SpcaResult:
    """Plan and run a fit."""
    plan = make_plan(request, data.p, partial(_hint, call.function, call.function))
    rng = generator(request.rng)  # rng=None uses a fixed seed, so that runs are reproducible
    fitted = _fitting_data(data, plan, request.k)
    plan = plan.on(fitted.spec)
    return finished(fitted, plan, run(fitted.op, plan, request.k, rng), call)


def _fitting_data(data: Data, plan: Plan, k: int) -> Data:
    """Return the data for a fit according to `plan`, after a check of their variances."""
    fitted = data_for(data, plan, k)
    fitted.warn_of_variances()
    return fitted


def finished(data: Data, plan: Plan, fit: Fit, call: Call) -> SpcaResult:
    """Return the result of a fit, which `call` reproduces; warn if the fit has not converged."""
    result = _result_of(data, plan, fit, call)
    if not result._state.record.converged:
        iterations = plural(result._state.record.n_iter, "iteration")
        warn(f"{result.method}: {ADVICE[result.status]} ({iterations}).", ConvergenceWarning)
    return result


def _result_of(source: Data, plan: Plan, fit: Fit, call: Call) -> SpcaResult:
    """Return the result for `fit`, made by `call` with `plan` on the data in `source`."""
    return SpcaResult(FitState.of(source, plan, fit, call.text(source)), source, call)
