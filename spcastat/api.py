"""The main functions: fits of rows or of a covariance matrix, and paths of fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from spcastat.config import generator, listed, plural, shown, warn, whole_number
from spcastat.engine import Fit, Plan, Request, make_plan, require_components, run
from spcastat.engine.inputs import Opened, Source, open_covariance, open_rows, opened
from spcastat.errors import ComponentsError, ConvergenceWarning, DataWarning, OptionError
from spcastat.intake import ReadOptions, looks_like_covariance
from spcastat.progress import listening
from spcastat.registry import SOLVERS
from spcastat.results import Call, SpcaResult
from spcastat.results.other_names import hint, refuse_controls, refuse_other_names
from spcastat.solvers import ADVICE

if TYPE_CHECKING:
    from spcastat.results.path import SpcaPath

__all__ = ["spca", "spca_cov", "spca_path"]


def spca(
    data: Any,
    k: int | None = None,
    card: Any = None,
    *,
    variance: float | None = None,
    scale: Any = False,
    center: Any = True,
    blocks: Mapping[str, Any] | None = None,
    na: str = "raise",
    weights: Any = None,
    formula: str | None = None,
    method: str | None = None,
    rng: Any = None,
    progress: Any = None,
    objective: str | None = None,
    effort: str | None = None,
    promise: str | None = None,
    include: Any = None,
    exclude: Any = None,
    disjoint: bool = False,
    together: Any = None,
    order: str | None = None,
    nonneg: bool = False,
    n_init: int | None = None,
    tol: float | None = None,
    max_iter: int | None = None,
    passes: int | None = None,
    k_em: int | None = None,
    context: Mapping[str, Any] | None = None,
    categorical: str = "refuse",
    **options: Any,
) -> SpcaResult:
    """Fit sparse principal components to rows.

    ``sp.spca(df, k=3, card=5, scale=True)`` scales the variables to unit variance and finds three components
    of five variables each; ``sp.choose(df, scale=True)`` chooses both numbers. Printing the fit shows a
    summary; `loadings`, `variance` and `scores` are data frames, and `biplot()` draws them.

    Parameters
    ----------
    data : DataFrame, array, scipy.sparse matrix, polars or pyarrow table of shape (n, p)
        Rows are observations, columns are variables. Not modified. Files (.csv, .parquet), given by name, and
        other data larger than memory are read in chunks (see Notes).
    k : int
        Number of components; :func:`choose` can choose it.
    card : int, sequence of k ints, or mapping, optional
        Number of nonzero loadings: one number for all components, one for each, or numbers by name
        (``{"PC1": 5, "PC2": 3}``).
    variance : float in (0, 1], optional
        Share of dense PCA's explained variance to keep, with as few nonzeros as the method finds; an
        alternative to `card`. If neither is given, 0.9 is used.
    scale, center : bool or array-like of shape (p,)
        Whether to divide columns by their standard deviations (ddof = 1), and whether to subtract their
        means. Arrays give other divisors and centres. With `scale=True`, columns that are not centred at
        their means are divided by their root mean square about the centre, sqrt(sum(x^2) / (n - 1)), as R's
        prcomp() does. ``scale="blocks"`` gives blocks of variables equal weight; see `blocks`.
        ``scale="mixed"`` also accepts factors (text and categories); see Notes.
    blocks : mapping of name to list of labels, optional
        The variables of each block, for multiple factor analysis with ``scale="blocks"``, as in
        ``{"chem": ["ph", "salt"], "phys": ["depth"]}``; each variable belongs to one block. Variables are
        scaled to unit variance and then divided by the square root of the first eigenvalue of their block,
        so that the first principal component of every block has variance one. This is the default of
        FactoMineR's MFA() (type "s"). ``scale="raw blocks"`` omits the scaling to unit variance (type "c"),
        for variables in the same unit.
    na : {"raise", "drop", "em", "pairwise"}
        How to treat missing values. "raise": raise an error. "drop": leave out incomplete rows. "em":
        estimate covariances by EM for probabilistic PCA of rank `k_em`; `fit.imputed` has the imputed rows,
        and scores use shrunk conditional means. "pairwise": compute each covariance from the rows that have
        both variables; a score is missing if a variable of its component is. See Notes.
    weights : str or array-like of shape (n,), optional
        Nonnegative frequency weights: a row of weight 2 counts as two rows. A string names a column of the
        data, which is then not used as a variable; new rows need not have it.
    formula : str, optional
        One-sided, as in ``"~ a + b + log(c)"`` or ``"~ . - id"``. Covariates follow a bar, as in
        ``"~ . | age + C(subject)"``: the components are then computed from the residuals of the variables
        after regression on the covariates (partial PCA, see Notes). A formula runs as code: do not use one
        from an untrusted source. Each term must depend on its own row only, or store the parameters that it
        estimates from the data, as ``scale(a)`` does; others, such as ranks, are refused. The estimates use
        the weights.
    method : str, optional
        A name in :func:`methods`. The default with `card` and with `variance` is "joint", a search over the
        supports of all components together. It has no nonnegative form: with `card` and `nonneg` the default
        is "bcd-l0". The other methods follow their papers.
    rng : None, int or numpy Generator
        Seed of random starts. None uses a fixed seed, so that repeated runs give identical results.
    progress : None, bool or callable
        True shows a bar on stderr for each pass over the data and each long search. None does so if the work
        takes longer than three seconds and stderr is a terminal or a notebook. A callable is called with each
        :class:`spcastat.progress.Step`, and may raise an exception to end the fit. Results do not depend on
        this option.

    Returns
    -------
    SpcaResult

    Other Parameters
    ----------------
    objective : {"adjusted", "pev", "least_squares"}, optional
        What is maximised, for methods with this option. "adjusted": the variance of each score that earlier
        scores do not explain (the default of "joint", because its best fits lose least by the other two
        measures). "pev": the share of the total variance that the projection on the loadings reconstructs.
        "least_squares": the share that regressions on the scores explain.
    effort : {"quick", "auto", "thorough"}, optional
        How long "joint" searches; "auto" by default.
    promise : {"every", "total"}, optional
        Whether the target `variance` applies after every component (the default), or only to all components
        together.
    include, exclude : list of names, or mapping, optional
        For "joint": variables that every component must contain, or must not contain; a mapping gives them by
        component (``include={"PC1": ["age"], "PC2": ["sex"]}``). `card` includes the variables of `include`,
        and the total variance includes excluded variables. With `variance`, the search is for the fewest
        nonzeros that satisfy these rules.
    disjoint : bool
        For "joint": whether every variable is in at most one component. Without `card` and `variance`, every
        variable is in exactly one component, and the search chooses the groups.
    together : "terms", or mapping from names to lists of names, optional
        For "joint" with `card`: groups of variables that enter a component together; `card` then counts
        groups. "terms" groups the columns of each term of the formula, or of each factor with
        ``scale="mixed"``: the indicators of a factor, the columns of a spline or of an interaction.
        ``{"size": ["topdiam", "length"]}`` names groups; each variable not listed is a group of its own.
        `include` and `exclude` then take names of groups.
    order : {None, "variance", "given", "best"}
        Order of the components. None sorts components of the same cardinality by variance, if the method fits
        all components together and does not choose their order itself, as "joint" does for adjusted variance.
        "best", for "joint" with unequal cardinalities, also tries the cardinalities in other orders (at most
        six searches) and returns the fit with the largest adjusted variance, which depends on the order.
    nonneg : bool
        Whether loadings must be nonnegative, for methods with this option.
    n_init : int, optional
        Number of starts, for published methods that use starting values; the best fit is returned. The
        default is one, the start of the method's authors (see `start` in ``methods(name)``), or two for
        "bcd-l1" with `card`. "joint" has its own starts, whose number depends on `effort`.
    tol : float, optional
        Convergence tolerance, relative to the total variance, for published methods that iterate.
    max_iter : int, optional
        Largest number of iterations, for the same methods.
    passes : int, optional
        For chunks with more than 3000 variables: largest number of passes over the data to compute dense PCA,
        which is the start and the reference of the search. The default is 4, after which PCA's variance may
        be a lower bound only (the summary says so), or 30 with `variance`, which is a share of PCA's
        variance.
    k_em : int, optional
        Rank of the EM model; `k` by default.
    context : mapping, optional
        Names other than columns that the formula may use; by default those in the scope of the caller.
    categorical : {"refuse", "dummy"}
        Whether text and categories in a formula raise an error or become 0/1 columns.
    **options
        Further options of the method; see :func:`methods`.

    Raises
    ------
    SpcaError
        The base class of all errors; see :mod:`spcastat.errors`.

    Notes
    -----
    Copies: the data are copied unless they exceed 64 MB. Do not modify a larger array while its fit is in
    use.

    Search: the default method starts from many points, and so takes longer than a single descent. The summary
    reports the number of starts, how often the best fit was found, and whether exchanging any single variable
    improves it. With more than 1000 variables the method searches among the most promising ones and tests
    exchanges with all others; the summary then also reports how many variables were searched.

    Chunks: data larger than memory are read again in every pass. They may be the path of a CSV or Parquet
    file, a folder of Parquet files, a list of files or a pattern (``"trips/*.parquet"``), a
    ``polars.LazyFrame``, a dataset of pyarrow or Ray, a DuckDB relation, any other object with
    ``__arrow_c_stream__``, arrays in files (``numpy.memmap``, zarr, h5py, xarray), a list of tables, any
    other iterable of tables that can be iterated over repeatedly, or a function without arguments that opens
    such a source, as in ``lambda: pd.read_csv(path, chunksize=100_000)``. Dask collections are processed by
    their workers. One pass computes means and covariances, and `scores` are computed chunk by chunk. All
    chunks must have the same columns; numeric `weights` are matched by position over all rows; and every term
    of a formula must depend on its own row only. Every pass is compared with the first, and an error is
    raised if a chunk has changed (partitions of dask are compared by numbers of rows and sums of columns).
    Methods that need the rows themselves are refused; with more than 3000 variables, so are all methods
    except "joint", and "bcd-l0" with `card`.

    Screening: with more than 3000 variables, and if no covariance matrix is available, "bcd-l0" with `card`
    (at most 1000 nonzeros, and without `nonneg`) searches among the variables of largest variance, exchanges
    single variables until none improves the fit, and verifies the result against all variables, adding those
    that it cannot rule out. The summary reports what was proven. ``screen=False`` searches among all
    variables; a number is the number of variables to start with.

    Mixed data: with ``scale="mixed"`` each factor in the data, or in the formula if there is one, is replaced
    by indicators of its levels, as in factor analysis of mixed data (FAMD). Numbers and booleans are scaled
    to unit variance, and the indicator of a level is divided by the square root of the level's share p of the
    rows, times n / (n - 1), so that a numeric variable has variance 1 and a factor with m levels has total
    variance m - 1: the eigenvalues are those of FactoMineR and prince, although variances have the divisor
    n - 1 here. Levels are selected one by one. `transform` refuses levels that did not occur in the fit.

    Covariates (partial PCA): the variables are replaced by ``y - (z - mean(z)) B``, where B are the
    coefficients of their weighted least-squares regression, with an intercept, on the covariates z (the
    minimum-norm solution if covariates are collinear). Factors among the covariates need no `categorical`.
    Variances keep the divisor n - 1; with ``scale=True`` the components are those of the partial
    correlations. The dot before the bar stands for the columns that do not follow it. `transform` applies B
    to new rows, whose factors may have no new levels. In draws, halves and folds of the rows the regression
    is repeated on the covariate columns of the fit, and the variances of draws are corrected for the degrees
    of freedom that this uses. Tests assume exchangeable rows, which residuals are not: :func:`choose_k` and
    `test_loadings` rotate the residuals to as many rows as there are degrees of freedom (Huh and Jhun, 2001).
    Rows with missing values raise an error or are dropped; rows in chunks are refused.

    Missing values, with ``na="em"``: S = sum(x x' + C) / (n - 1), where x are the centred rows with
    conditional means for their missing values and C is the conditional covariance of these; weights count
    rows. The values imputed for scores and in `imputed` are shrunk towards the column means (Gavish and
    Donoho, 2017), because directions that were fitted to the noise of a row predict too much of it. With many
    rows per column the shrinkage is negligible. The model is fitted to columns in the units of the analysis:
    unscaled, divided by the standard deviations of their measured values with ``scale=True`` (the components
    are then those of the correlation matrix that EM gives), or divided by numbers given as `scale`. Values
    must be missing at random, that is, for reasons that the measured values explain. With ``na="pairwise"``
    they must be missing completely at random; variances are those of the measured values of each column, and
    a correlation matrix that is not positive semidefinite is replaced by the nearest one that is, as the
    summary then reports. A term of a formula is missing if any of its columns is, so that all 0/1 columns of
    a factor are missing in a row without its level. Columns and rows without any value and constant columns
    are refused, as are sparse data, chunks, more than 5000 variables, and methods that need the rows
    themselves, because imputed rows vary too little.

    Examples
    --------
    >>> import spcastat as sp
    >>> fit = sp.spca(sp.datasets.make_hastie(), k=2, card=4)
    >>> [list(fit.loadings.index[fit.loadings[c] != 0]) for c in fit.loadings]
    [['X5', 'X6', 'X7', 'X8'], ['X1', 'X2', 'X3', 'X4']]
    """
    with listening(progress):
        rule = (include, exclude, disjoint, together)
        how = (n_init, rng, order, tol, max_iter, objective, effort, promise, *rule)
        k = _number("spca", k, method, options)
        asked = Request(k, card, variance, method, nonneg, *how, options)
        reading = ReadOptions(formula, context, weights, na, categorical, k_em)
        entered = open_rows(data, reading, center, scale, asked.k, blocks)
        if formula is None and looks_like_covariance(data):
            warn(
                "data is square and symmetric with equal row and column labels: if it is a covariance or "
                "correlation matrix, use spca_cov(S, ...); spca() takes its rows for observations.",
                DataWarning,
            )
        described = {**vars(reading), "center": center, "scale": scale, "context": entered.context}
        described["blocks"] = blocks
        described["passes"] = _passes(passes, entered)
        call = Call(spca, entered.data, {**asked.arguments, **described, "progress": progress})
        return _fitted(entered, asked, call)


def spca_cov(
    S: Any,
    k: int | None = None,
    card: Any = None,
    *,
    n_obs: int | None = None,
    mean: Any = None,
    scale: Any = None,
    blocks: Mapping[str, Any] | None = None,
    nearest: bool = False,
    given: Any = None,
    variance: float | None = None,
    promise: str | None = None,
    include: Any = None,
    exclude: Any = None,
    disjoint: bool = False,
    together: Any = None,
    objective: str | None = None,
    effort: str | None = None,
    method: str | None = None,
    nonneg: bool = False,
    n_init: int | None = None,
    rng: Any = None,
    order: str | None = None,
    tol: float | None = None,
    max_iter: int | None = None,
    progress: Any = None,
    **options: Any,
) -> SpcaResult:
    """Fit sparse principal components to a covariance or correlation matrix.

    Parameters
    ----------
    S : DataFrame or array of shape (p, p)
        Symmetric and positive semidefinite. The result of :func:`correlation` includes its kind and its
        number of rows.
    k : int
    card, variance, promise, include, exclude, disjoint, together, objective, effort, method : optional
        As for :func:`spca`.
    nonneg, n_init, rng, order, tol, max_iter, progress : optional
        As for :func:`spca`.
    n_obs : int, optional
        Number of rows from which the matrix was computed, for the summary and for resampling.
    mean, scale : array-like of shape (p,), optional
        Means of the variables and, for a correlation matrix, the standard deviations by which rows are
        divided; ``transform(rows)`` needs them. `scale` is one by default. ``scale="blocks"`` and
        ``scale="raw blocks"`` divide the variables of `S` as for :func:`spca`.
    blocks : mapping of name to list of labels, optional
        As for :func:`spca`.
    nearest : bool
        Whether to replace a matrix that is not positive semidefinite, as polychoric or pairwise correlations
        may be, by the nearest one with the same variances (in the Frobenius norm of the correlations; Higham,
        2002). The summary reports the change.
    given : list of labels, optional
        Variables for which the others are adjusted (partial PCA): the components are those of
        S_yy - S_yz S_zz^+ S_zy, or of the partial correlations if the diagonal of `S` is one.
    **options
        Further options of the method; see :func:`methods`.

    Returns
    -------
    SpcaResult
        Without `scores` and `biplot`, which need rows.
    """
    with listening(progress):
        rule = (include, exclude, disjoint, together)
        how = (n_init, rng, order, tol, max_iter, objective, effort, promise, *rule)
        k = _number("spca_cov", k, method, options)
        asked = Request(k, card, variance, method, nonneg, *how, options)
        known = {"mean": mean, "scale": scale, "blocks": blocks, "nearest": nearest, "given": given}
        entered = open_covariance(S, n_obs=n_obs, **known)
        described = {"n_obs": n_obs, **known}
        call = Call(spca_cov, entered.data, {**asked.arguments, **described, "progress": progress})
        return _fitted(entered, asked, call)


def spca_path(
    data: Any,
    k: int = 1,
    cards: Any = None,
    *,
    covariance: bool | None = None,
    objective: str | None = None,
    effort: str | None = None,
    method: str | None = None,
    order: str | None = None,
    n_init: int | None = None,
    rng: int | None = None,
    nonneg: bool = False,
    tol: float | None = None,
    max_iter: int | None = None,
    progress: Any = None,
    **options: Any,
) -> SpcaPath:
    """Fit sparse principal components for a range of cardinalities.

    Parameters
    ----------
    data : DataFrame, array, sparse matrix, polars or pyarrow table of shape (n, p); or (p, p)
        Rows, or a covariance or correlation matrix.
    k : int
        Number of components.
    cards : int, or sequence of ints or of sequences of k ints, optional
        Cardinalities of all components, or of each; an int stands for 1, 2, ..., cards. By default 1 to 10,
        about ten larger numbers up to the rank of the data (at most n - 1, or p), and p.
    covariance : bool, optional
        Whether `data` is a covariance matrix. By default a symmetric frame with equal row and column labels
        is treated as one.
    method : str, optional
        A method that takes a cardinality; "joint" by default.
    rng : int, optional
        Seed of random starts; every fit starts from it.
    objective, effort, order, n_init, nonneg, tol, max_iter, progress
        As for :func:`spca`.
    **options
        Options of the method, and those of :func:`spca` (`formula`, `center`, `scale`, `blocks`, `weights`,
        `na`, `k_em`, `context`, `categorical`) or :func:`spca_cov` (`n_obs`, `mean`, `scale`, `blocks`,
        `nearest`, `given`) that describe the data.

    Returns
    -------
    SpcaPath
        `table`, `plot()`, and the fits themselves: ``path[7]``.

    Notes
    -----
    With "joint", the objective does not decrease as the cardinalities of all components increase. By default,
    for adjusted variance, each fit also starts from the fits of neighbouring cardinalities, and its search is
    shorter than that of a single call. Its `call` and `refit` reproduce the single call, whose result may
    differ. Fits of one component, with other objectives or with more than 1000 variables are those of single
    calls, unless the objective would then decrease.

    Published methods that use starts also start each fit from the previous one, so that it is never worse
    than the same fit alone, which its `call` and `refit` return. (Exchanges in screened fits are the
    exception: they follow the best start only.) "greedy" with one component finds all cardinalities in one
    run.

    Examples
    --------
    >>> import spcastat as sp
    >>> path = sp.spca_path(sp.datasets.load_pitprops(), k=1, cards=[1, 4, 7], method="greedy")
    >>> path.table["nonzeros"].tolist()
    [1, 4, 7]
    """
    from spcastat.results.path import SpcaPath  # imported late, as few calls need it
    from spcastat.select import fit_path, path_cards

    with listening(progress):
        how = (n_init, rng, order, tol, max_iter, objective, effort)
        asked = Request(k, None, None, method, nonneg, *how)
        what = "fits a range of cardinalities"
        refuse_controls("spca_path", what, options, "such as cards=[1, 4, 7], ")
        refuse_other_names("spca_path", options, method)
        entered, covariance, described = opened(data, covariance, options, None, asked.k)
        function = spca_cov if covariance else spca
        options = {name: value for name, value in options.items() if name not in described}
        require_components(asked.k, entered.p)
        keys, wanted = path_cards(cards, asked.k, entered.p)
        asked = replace(asked, card=wanted[-1], further=options)
        plan = make_plan(asked, entered.p, partial(_hint, function, spca_path))
        source = entered.source_for(plan, asked.k)
        plan = plan.on(source.spec, check=False)
        if cards is None:
            groups = len(getattr(plan.solver, "together", None) or ())
            most = (groups, groups) if groups else (source.op.p, source.op.rank_limit)
            keys, wanted = path_cards(None, asked.k, *most)
        keys, wanted = plan.allowed(keys, wanted, source.spec.columns, cards is not None)
        fits = {}
        for key, card, fit in zip(keys, wanted, fit_path(source.op, plan, wanted, asked.seed), strict=True):
            here = {**replace(asked, card=key).arguments, **described, "progress": progress}
            fits[key] = SpcaResult.of(source, plan.with_card(card), fit, Call(function, entered.data, here))
        missed = [key for key, fit in fits.items() if not fit.converged]
        if missed:
            warn(f"{plan.method.name}: {ADVICE['max_iter']} (card {listed(missed)}).", ConvergenceWarning)
        return SpcaPath(fits)


def _number(function: str, k: int | None, method: Any, options: Mapping[str, Any]) -> int:
    """Return k; raise if it is missing, or if an option has a different name in this package."""
    refuse_other_names(function, options, method)
    if k is None:
        raise ComponentsError(
            f"{function}() was given no k, the number of components: {function}(data, k=3, card=5). If it is "
            "not known, choose(data) chooses k and card."
        )
    return k


def _hint(fit: Callable[..., Any], called: Callable[..., Any], name: str) -> str:
    homes: dict[str, Callable[..., Any]] = {
        "a fit of rows, spca(data, ...)": spca,
        "a fit of a covariance matrix, spca_cov(S, ...)": spca_cov,
        "a path, spca_path(data, ...)": spca_path,
    }
    options = {option for method in SOLVERS.values() for option in method.options}
    return hint((fit, called), homes, options, name)


def _passes(passes: Any, opened: Opened) -> int | None:
    """Return how many passes are allowed for dense PCA; raise OptionError for data that need none."""
    if passes is None:
        return None
    if opened.stream is None:
        raise OptionError(
            f"passes={shown(passes)} was given with data in memory, which are not passed over; it is for "
            "rows in chunks. Leave it out."
        )
    return whole_number("passes", passes, 1, 1000)


def _fitted(opened: Opened, asked: Request, call: Call) -> SpcaResult:
    """Plan and run a fit of opened data."""
    plan = make_plan(asked, opened.p, partial(_hint, call.function, call.function))
    rng = generator(asked.rng)  # rng=None uses a fixed seed, so that runs are reproducible
    source = opened.source_for(plan, asked.k)
    plan = plan.on(source.spec)
    if call.arguments.get("passes") is not None:
        source.op.most_passes = call.arguments["passes"]
    return finished(source, plan, run(source.op, plan, asked.k, rng), call)


def finished(source: Source, plan: Plan, fit: Fit, call: Call) -> SpcaResult:
    """Return the result of a fit that `call` would make; warn if it has not converged."""
    result = SpcaResult.of(source, plan, fit, call)
    if not result.converged:
        sweeps = plural(result.n_iter, "sweep")
        warn(f"{result.method}: {ADVICE[result.status]} ({sweeps}).", ConvergenceWarning)
    return result
