"""What users call: a fit of rows or of a covariance matrix, and a path of fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from spcastat.config import listed, plural, shown, warn, whole_number
from spcastat.engine import Request, make_plan, require_components, run
from spcastat.engine.inputs import Opened, open_covariance, open_rows, opened
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

    ``sp.spca(df, k=3, card=5, scale=True)`` finds three components of five variables each, of variables that
    are scaled to unit variance; ``sp.choose(df, scale=True)`` finds both numbers. Printing the fit shows what
    was found; `loadings`, `variance` and `scores` are data frames, and `biplot()` draws them.

    Parameters
    ----------
    data : DataFrame, array, scipy.sparse matrix, polars or pyarrow table of shape (n, p)
        Rows are observations, columns are variables. Never changed. The name of a file (.csv, .parquet), and
        other data larger than memory, are read in chunks (see Notes).
    k : int
        Number of components; :func:`choose` finds one.
    card : int, sequence of k ints, or mapping, optional
        Number of nonzero loadings: of every component, of each, or by name (``{"PC1": 5, "PC2": 3}``).
    variance : float in (0, 1], optional
        Instead of `card`: the share of dense PCA's explained variance to keep with as few nonzeros as the
        method finds. With neither, 0.9.
    scale, center : bool or array-like of shape (p,)
        Divide by the standard deviations (ddof = 1); subtract the column means. Arrays give other values.
        With `scale=True` columns that are not centred at their means are divided by their root mean square
        about the centre, sqrt(sum(x^2) / (n - 1)), as R's prcomp() does. ``scale="blocks"`` gives blocks of
        variables the same weight; see `blocks`. ``scale="mixed"`` takes factors (text and categories), too;
        see Notes.
    blocks : mapping of name to list of labels, optional
        With ``scale="blocks"``, multiple factor analysis: the variables of each block, as in
        ``{"chem": ["ph", "salt"], "phys": ["depth"]}``; each variable belongs to one block. Variables are
        scaled to unit variance and then divided by the square root of the first eigenvalue of their block,
        so that no block has a component of larger variance than one. FactoMineR's MFA() does so by default
        (type "s"). ``scale="raw blocks"`` leaves out the unit variance (type "c"), for variables in one unit.
    na : {"raise", "drop", "em", "pairwise"}
        Missing values: an error; their rows are left out; covariances by EM for probabilistic PCA of rank
        `k_em`, with `fit.imputed` as the filled rows and scores from conditional means, shrunk; or each
        covariance from the rows that have both variables, with a missing score where one of the component's
        own variables is missing. See Notes.
    weights : str or array-like of shape (n,), optional
        Nonnegative frequency weights: a row of weight 2 counts as two rows. Text is the name of a column of
        the data, which then is not one of the variables; new rows need not have it.
    formula : str, optional
        One-sided, as in ``"~ a + b + log(c)"`` or ``"~ . - id"``. Behind a bar stand covariates, as in
        ``"~ . | age + C(subject)"``: the components are those of what is left of the variables after
        regression on them (partial PCA, see Notes). A formula runs as code: do not take one from strangers.
        Its terms take each row for itself, or keep what they have learnt, as ``scale(a)``
        does; others, such as ranks, are refused. Weights count in what they learn.
    method : str, optional
        A name in :func:`methods`; "joint" by default, with `card` and with `variance`: a search over the
        supports of all components together. It has no nonnegative form: `card` with `nonneg` means "bcd-l0".
        The other methods are what their papers say.
    rng : None, int or numpy Generator
        Seed of random starts. None is a fixed seed: two runs agree to the last bit.
    progress : None, bool or callable
        True shows a bar on stderr for each pass over the data and each long search. None does so if the work
        takes longer than three seconds and stderr is a terminal or a notebook. A function is called with a
        :class:`spcastat.progress.Step`; an error that it raises ends the fit. Results do not depend on it.

    Returns
    -------
    SpcaResult

    Other Parameters
    ----------------
    objective : {"adjusted", "pev", "least_squares"}, optional
        What is maximised, for the methods that have it: the variance of the scores, each component counting
        what it adds to those before it (the default of "joint", whose best fit loses least in the two
        others); the share of the variables that their projection on the loadings reconstructs; or the share
        that regressions on the scores predict.
    effort : {"quick", "auto", "thorough"}, optional
        How long "joint" searches; "auto" by default.
    promise : {"every", "total"}, optional
        Whether `variance` is kept after every component (the default), or by all of them together.
    include, exclude : list of names, or mapping, optional
        For "joint": variables that every component must have and must not have, or those of some components
        (``include={"PC1": ["age"], "PC2": ["sex"]}``). `card` counts what is included, and what is excluded
        stays in the total variance. With `variance` the fewest nonzeros under the rule are searched for.
    disjoint : bool
        For "joint": no variable is in two components; without `card` and `variance` every variable is in one,
        and the groups are searched for.
    together : "terms", or mapping from names to lists of names, optional
        For "joint" with `card`, which counts groups then: groups of variables that enter a component
        together. "terms" are those of the formula, or of ``scale="mixed"``: the indicators of a factor, the
        columns of a spline or of an interaction. ``{"size": ["topdiam", "length"]}`` names groups; each
        variable that it does not name is a group of its own. `include` and `exclude` take groups by name.
    order : {None, "variance", "given", "best"}
        Order of the components. None sorts components of the same cardinality by variance, if the method fits
        all components together and has not chosen their order itself, as "joint" does for adjusted variance.
        "best", for "joint" with several cardinalities, searches with these in other orders, too (at most six
        searches), and takes the fit with the largest adjusted variance, which depends on the order.
    nonneg : bool
        Nonnegative loadings, for the methods that have them.
    n_init : int, optional
        Number of starts, for the published methods that use starting values; the best fit is kept. By default
        one, at the start of its authors (see `start` in ``methods(name)``), and two for "bcd-l1" with `card`.
        "joint" has starts of its own, as many as its `effort` says.
    tol : float, optional
        Relative to the total variance, for the published methods that iterate, as is `max_iter`.
    max_iter : int, optional
    passes : int, optional
        For chunks with more than 3000 variables: the largest number of passes over them for dense
        PCA, where the search begins and which it is compared with. By default 4, after which the summary
        says where PCA's figure is a lower bound only; 30 with `variance`, which is a share of it.
    k_em : int, optional
        Rank of the model behind "em"; `k` by default.
    context : mapping, optional
        Names besides the columns that the formula may use; by default those where `spca` is called.
    categorical : {"refuse", "dummy"}
        Whether text and categories in a formula are an error or become 0/1 columns.
    **options
        Further options of the method; see :func:`methods`.

    Raises
    ------
    SpcaError
        One family for each cause, under :mod:`spcastat.errors`.

    Notes
    -----
    Copies: the numbers are copied unless they exceed 64 MB. Do not change a larger array while its fit is in
    use.

    The default method looks for the best fit from many starts and takes longer than one descent. The summary
    says how many starts there were, how often the best fit was found, and whether exchanging any single
    variable improves it. With more than 1000 variables it searches among the most promising ones and tests
    exchanges with all others; the summary then also says how many were searched.

    Chunks: rows that are larger than memory are read again whenever they are needed. They are given as
    the path of a CSV or Parquet file, of a folder with Parquet files, a list or a pattern of such
    (``"trips/*.parquet"``), a ``polars.LazyFrame``, a dataset of pyarrow or Ray, a relation of DuckDB,
    anything else with ``__arrow_c_stream__``, arrays in files (``numpy.memmap``, zarr, h5py, xarray), a
    list of tables, anything else that gives tables and can be iterated over again, or a function without
    arguments that opens such a source, as in ``lambda: pd.read_csv(path, chunksize=100_000)``. A
    collection of dask stays where its workers are. One pass gives the means and covariances, and `scores`
    are computed chunk by chunk. All chunks must have the same columns, `weights` given as numbers run by
    position over all rows, and a formula may only have terms that take each row by itself. Every pass is
    compared with the first, and a chunk that has changed is an error (partitions of dask are compared by
    their numbers of rows and sums of columns). Methods that need the rows themselves are refused, and
    with more than 3000 variables so is every method but "joint" and "bcd-l0" with `card`.

    Screening: with more than 3000 variables, and where no covariance matrix is at hand, "bcd-l0" with `card`
    (at most 1000 nonzeros, and without `nonneg`) searches among the variables of largest variance, exchanges
    single variables until none improves the fit, and verifies the result against all variables, bringing in
    those it cannot rule out. The summary says what was proven. ``screen=False`` searches among all variables;
    a number says with how many to begin.

    Mixed data: with ``scale="mixed"`` each factor becomes the indicators of its levels, as in factor analysis
    of mixed data (FAMD), without a formula or where one names it. Numbers and booleans are scaled to unit
    variance, and the indicator of a level is divided by the square root of the level's share p of the rows,
    times n / (n - 1), so that a number has variance 1 and a factor as many as it has levels, less one: the
    eigenvalues are those of FactoMineR and prince, though variances have the divisor n - 1 here. Levels are
    selected one by one. `transform` refuses levels that the fit has not seen.

    Covariates (partial PCA): the variables are replaced by ``y - (z - mean(z)) B``, where B are the
    coefficients of their least-squares regression on the covariates z, with the weights and an intercept
    (those of least norm where covariates are collinear). Factors among the covariates need no
    `categorical`. Variances keep the divisor n - 1; with ``scale=True`` the components are those of the
    partial correlations. The dot on the left stands for the columns that are not on the right. `transform`
    applies B to new rows, whose factors may have no new levels; draws, halves and folds of the rows are
    regressed again, on the columns of the covariates that the fit made, and draws get back the degrees of
    freedom that this takes. Tests take rows for exchangeable, which residuals are not: :func:`choose_k` and
    `test_loadings` rotate them to as many as there are degrees of freedom (Huh and Jhun, 2001). Rows with
    missing values are an error or dropped; rows in chunks are refused.

    Missing values, with ``na="em"``: S = sum(x x' + C) / (n - 1), where x are the centred rows with
    conditional means for their missing values and C is the conditional covariance of these; weights count
    rows. What is filled in for scores and `imputed` is nearer to the column means, by the shrinkage of
    Gavish and Donoho (2017): directions that were fitted to the noise of a row predict too much of it. With
    many rows for each column that is no difference. The model is fitted to columns in the units of the
    analysis: as they are, divided by the standard deviations of their measured values with ``scale=True``
    (the components are then those of the correlation matrix that EM gives), or divided by numbers given as
    `scale`. Values must be missing at random, that is, for reasons that the measured values explain. With
    ``na="pairwise"`` they must be missing completely at random; variances are those of each column, and a
    matrix of correlations that no sample could have is replaced by the nearest one that a sample could have,
    as the summary then says. A term of a formula is missing where any of its columns is, so a factor without
    its level has no 0/1 columns in that row. Columns and rows without any value and columns that do not vary
    are refused, and so are sparse data, chunks, more than 5000 variables, and methods that need the rows
    themselves, because filled rows vary too little.

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
        Symmetric and positive semidefinite. What :func:`correlation` returns says what it is, and from how
        many rows.
    k : int
    card, variance, promise, include, exclude, disjoint, together, objective, effort, method : optional
        As for :func:`spca`.
    nonneg, n_init, rng, order, tol, max_iter, progress : optional
        As for :func:`spca`.
    n_obs : int, optional
        Number of rows behind the matrix, for the header.
    mean, scale : array-like of shape (p,), optional
        Means, and the standard deviations that turned rows into a correlation matrix: with them
        ``transform(rows)`` works. `scale` is one by default. ``scale="blocks"`` and ``scale="raw blocks"``
        divide the variables of `S` as they do for :func:`spca`.
    blocks : mapping of name to list of labels, optional
        As for :func:`spca`.
    nearest : bool
        Whether a matrix that is not positive semidefinite, as one of polychoric or pairwise correlations may
        be, is replaced by the nearest one with the same variances (in the Frobenius norm of the correlations;
        Higham, 2002). The summary says what changed.
    given : list of labels, optional
        Variables that the others are adjusted for (partial PCA): the components are those of
        S_yy - S_yz S_zz^+ S_zy. Where the matrix has a diagonal of ones, that of partial correlations.
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
    """Fit sparse principal components for each of many cardinalities, and see what a nonzero buys.

    Parameters
    ----------
    data : DataFrame, array, sparse matrix, polars or pyarrow table of shape (n, p); or (p, p)
        Rows, or a covariance or correlation matrix.
    k : int
        Number of components.
    cards : int, or sequence of ints or of sequences of k ints, optional
        Cardinalities of all components, or of each; an int stands for 1, 2, ..., cards. By default every
        number to 10, then some ten more up to the rank of the data (at most n - 1, or p), and p.
    covariance : bool, optional
        Whether `data` is a covariance matrix. By default it is taken for one if it is a symmetric frame
        with equal row and column labels.
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
    With "joint" the objective does not fall where the cardinalities of all components rise. By default, for
    adjusted variance, fits of neighbouring cardinalities are starts for one another, and the search of each
    is shorter than that of a single call. Its `call` and `refit` are those of the single call, whose fit may
    differ. Fits of one component, of other objectives and of more than 1000 variables are those of the single
    call, except where these would fall.
    Published methods that use starts begin each fit from the one before it, so a fit of the path is
    never worse than the same fit alone, which is what its `call` and `refit` give. (Exchanges in screened
    fits are the exception: they follow the best start only.) "greedy" with one component finds all
    cardinalities in one run.

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
        refuse_other_names("spca_path", options, _options_of(method))
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
    """Return k; raise where it is missing, or where an option has another name here."""
    refuse_other_names(function, options, _options_of(method))
    if k is None:
        raise ComponentsError(
            f"{function}() was given no k, the number of components: {function}(data, k=3, card=5). If it is "
            "not known, choose(data) chooses k and card."
        )
    return k


def _options_of(method: Any) -> tuple[str, ...]:
    return SOLVERS[method].options if isinstance(method, str) and method in SOLVERS else ()


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
    rng = asked.generator
    source = opened.source_for(plan, asked.k)
    plan = plan.on(source.spec)
    if call.arguments.get("passes") is not None:
        source.op.limit_passes(call.arguments["passes"])
    fit = run(source.op, plan, asked.k, rng)
    result = SpcaResult.of(source, plan, fit, call)
    if not result.converged:
        sweeps = plural(result.n_iter, "sweep")
        warn(f"{result.method}: {ADVICE[result.status]} ({sweeps}).", ConvergenceWarning)
    return result
