"""Principal variables: the variables to keep so that all variables are reproduced well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from spcastat import hints
from spcastat.arguments import MOST_DRAWS, MOST_FOLDS, explained, seed_of, whole_number
from spcastat.assess import principal_variables as assessed
from spcastat.errors import DataError, NoRowsError, OptionError
from spcastat.fit.call import Call, arguments_of, refuse_other_names, refuse_unknown, with_table_by_name
from spcastat.fit.principal_variables import KeepRequest, fitted, requested, set_of
from spcastat.fit.state import FitState
from spcastat.inputs.constructors import (
    divided_options,
    matrix_of,
    rows_of,
    table_and_formula,
    with_shared_entries,
)
from spcastat.inputs.covariance_data import COVARIANCE_OPTIONS
from spcastat.inputs.data import Data
from spcastat.inputs.row_data import ROW_OPTIONS
from spcastat.progress import listening
from spcastat.proofs.principal_variables import first_bound
from spcastat.reading.checks import advice_for_complete_rows
from spcastat.results.principal_variables import PrincipalVariablesResult
from spcastat.search.principal_variables import SELECTION_EFFORTS

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["principal_variables", "principal_variables_cov"]

#: Default numbers of folds and of resamples, for data on which the default search has random starts.
DEFAULT_FOLDS, DEFAULT_RESAMPLES = 5, 50
#: Arguments that determine which variables are chosen.
CALL_ARGUMENTS = ("m", "k", "share", "budget", "cost", "include", "exclude", "together", "effort")


@overload
def principal_variables(
    data: hints.Rows,
    m: hints.Whole | None = None,
    k: hints.Whole | None = None,
    *,
    formula: str | None = None,
    **options: Unpack[hints.KeepKeywords],
) -> PrincipalVariablesResult: ...
@overload
def principal_variables(
    formula: str,
    /,
    m: hints.Whole | None = None,
    k: hints.Whole | None = None,
    *,
    data: hints.Rows,
    **options: Unpack[hints.KeepKeywords],
) -> PrincipalVariablesResult: ...
@with_table_by_name
@with_shared_entries
def principal_variables(  # pyright: ignore[reportInconsistentOverload]  # data= is a keyword
    data_or_formula: Any = None,
    /,
    m: hints.Whole | None = None,
    k: hints.Whole | None = None,
    *,
    data: Any = None,
    share: float | None = None,
    budget: float | None = None,
    cost: Mapping[Any, float] | pd.Series | None = None,
    include: hints.Labels | None = None,
    exclude: hints.Labels | None = None,
    together: Mapping[str, hints.Labels] | str | None = None,
    formula: str | None = None,
    scale: hints.Scale | None = None,
    na: hints.Missing = "raise",
    weights: str | hints.Vector | None = None,
    effort: hints.Effort | None = None,
    folds: hints.Whole | None = None,
    n_resamples: hints.Whole | None = None,
    rng: hints.Rng = None,
    progress: hints.Progress = None,
    **options: Any,
) -> PrincipalVariablesResult:
    """Choose the variables to keep so that all variables are reproduced as well as possible.

    Use this function to design a short form of a questionnaire, to use fewer sensors, or to select a panel of
    genes: only the variables kept have to be measured in future. :func:`spca` instead selects the few
    variables that form each component; all components together may still need many variables.

    Parameters
    ----------
    data : DataFrame, array, scipy.sparse matrix, polars or pyarrow table, file, or chunks; (n, p)
        As for :func:`spca`; or the result of :func:`rows`. The first positional argument, or ``data=``.
    m : int, optional
        Number of variables to keep; a group of `together` is counted as one variable.
    k : int, optional
        Number of scores: all variables are reproduced from the k best linear combinations of the variables
        kept, as from k principal components. By default each variable is predicted by regression on all
        variables kept.
    share : float in (0, 1], optional
        Instead of `m`: keep the smallest number of variables that explain, in held-out rows, at least this
        share of the variance that `k` principal components explain there. Without `k` the share is of the
        total variance.
    budget : float, optional
        Instead of `m`: the largest total cost of the variables kept.
    cost : mapping or Series, optional
        Costs of variables, or of groups of `together`, by name; others cost 1. Costs of the variables of a
        group add up.
    include, exclude : list of labels, optional
        Variables, or names of groups, that must be kept or must not be kept.
    together : mapping of str to list of labels, or "terms", optional
        Groups of variables that are kept or left out as a whole, such as the items of a scale; "terms" are
        the terms of a formula.
    formula, scale, na, weights
        As for :func:`rows`.
    effort : {"quick", "auto", "thorough"}, optional
        Number of starts of the search.
    folds : int, optional
        Number of folds for held-out shares; the choice is repeated without each fold, and 0 omits the shares.
        By default 5 with up to 200 variables, and 0 with more.
    n_resamples : int, optional
        Number of resamples of the rows, which show how often each variable is chosen; 0 omits these
        frequencies. By default 50 with up to 200 variables, and 0 with more. ``stability()`` of the result
        also computes them.
    rng : None, int or numpy Generator
        Seed of random starts, folds and resamples. None uses a fixed seed.
    progress : None, bool or callable
        Whether to show progress. See :func:`spca`.

    Returns
    -------
    PrincipalVariablesResult

    Other Parameters
    ----------------
    weights_are, clusters, strata, block_length, center, blocks, categorical, context, codes, k_em, passes
        As for :func:`rows`.

    Raises
    ------
    OptionError
        If not exactly one of `m`, `share` and `budget` is given, or a name is not one of the variables.
    ComponentsError
        If `m` variables cannot give `k` scores.
    CardinalityError
        If there are fewer than `m` variables to choose from, or fewer already determine all others.
    SpcaError
        The base class of all errors; see :mod:`spcastat.errors`.

    Notes
    -----
    Let U be the variables kept, S_UU = LL' their covariance matrix, and F = L^-1 S_U., where S_U. contains
    their covariances with all variables. Without `k` the share is |F|^2 / tr S, the share of variance that
    regressions of all variables on U explain (McCabe 1984, second criterion; the square of RM of Cadima and
    Jolliffe 2001). With `k` it is the sum of the k largest eigenvalues of FF' over tr S (reduced-rank
    regression; modified PCA of Tanaka and Mori 1997). Adding a variable never decreases the share, which is
    at most the share of PCA.

    The search adds the best variable one at a time. It also starts from larger sets, which it reduces, and
    from random sets, and exchanges variables until no exchange improves the share. A branch and bound search
    then tries to prove that no other set is better; :meth:`PrincipalVariablesResult.certify` continues it.

    See Also
    --------
    spca : Few variables for each component.
    sparse_loadings : Few components for each variable.

    Examples
    --------
    >>> import spcastat as sp
    >>> plan = sp.principal_variables(sp.datasets.load_wine(), m=5, k=3, scale=True)
    >>> round(plan.share, 4), plan.proven
    (0.6156, True)
    """
    data_options, set_options = divided_options(dict(locals()), ROW_OPTIONS)
    with listening(progress):
        refuse_other_names("principal_variables", options)
        table, data_options["formula"] = table_and_formula(
            "principal_variables", data_or_formula, data, formula
        )
        option_names = arguments_of(principal_variables, hints.LoadingsOptions)
        refuse_unknown("principal_variables", options, option_names)
        if folds is not None:
            folds = whole_number("folds", folds, 0, MOST_FOLDS)
        with advice_for_complete_rows(set_options["share"] is not None or bool(folds)):
            value = rows_of("principal_variables", table, data_options)
        arguments = {name: set_options[name] for name in CALL_ARGUMENTS}
        return _selection(principal_variables, value, arguments, folds, n_resamples, rng)


@explained
@with_shared_entries
def principal_variables_cov(
    S: pd.DataFrame | NDArray[Any] | hints.DataValue,
    m: hints.Whole | None = None,
    k: hints.Whole | None = None,
    *,
    budget: float | None = None,
    cost: Mapping[Any, float] | pd.Series | None = None,
    include: hints.Labels | None = None,
    exclude: hints.Labels | None = None,
    together: Mapping[str, hints.Labels] | None = None,
    n_obs: hints.Whole | None = None,
    scale: bool | None = None,
    mean: hints.Vector | None = None,
    sd: hints.Vector | None = None,
    given: hints.Labels | None = None,
    nearest: bool = False,
    effort: hints.Effort | None = None,
    n_resamples: hints.Whole | None = None,
    rng: hints.Rng = None,
    progress: hints.Progress = None,
) -> PrincipalVariablesResult:
    """Choose which variables to keep from a covariance or correlation matrix; see `principal_variables`.

    Parameters
    ----------
    S : DataFrame or array of shape (p, p)
        A symmetric positive semidefinite matrix.
    m, k, budget, cost, include, exclude, together, effort
        As for :func:`principal_variables`.
    n_obs : int, optional
        Number of rows from which the matrix was computed. With it, the frequencies of variables are computed
        from samples of that many normal rows.
    scale : bool, optional
        True replaces `S` by its correlation matrix.
    mean, sd, given, nearest
        As for :func:`covariance`.
    n_resamples : int, optional
        Number of normal samples; 50 by default with `n_obs` and up to 200 variables.
    rng : None, int or numpy Generator
        Seed of random starts and samples. None uses a fixed seed.
    progress : None, bool or callable
        Whether to show progress.

    Returns
    -------
    PrincipalVariablesResult
        The choice, without held-out shares, which need rows.

    Raises
    ------
    CovarianceError
        If `S` is not symmetric and positive semidefinite.
    OptionError, ComponentsError, CardinalityError
        As for :func:`principal_variables`.

    Examples
    --------
    >>> import spcastat as sp
    >>> plan = sp.principal_variables_cov(sp.datasets.load_pitprops(), m=4)
    >>> round(plan.share, 4)
    0.6603
    """
    data_options, set_options = divided_options(dict(locals()), COVARIANCE_OPTIONS)
    with listening(progress):
        value = matrix_of("principal_variables_cov", S, data_options)
        arguments = {name: set_options.get(name) for name in CALL_ARGUMENTS}  # a matrix has no `share`
        return _selection(principal_variables_cov, value, arguments, None, n_resamples, rng)


def _selection(
    function: Any, data: Data, arguments: Mapping[str, Any], folds: int | None, n_resamples: Any, rng: Any
) -> PrincipalVariablesResult:
    """Check the arguments, choose the number of variables and the variables, and return the result."""
    request = requested(function.__name__, data, arguments)
    is_small, seed = data.p <= SELECTION_EFFORTS["auto"].most_variables, seed_of(rng)
    if n_resamples is not None:
        n_resamples = whole_number("n_resamples", n_resamples, 0, MOST_DRAWS)
    data = data.for_components(request.k or request.m or 1)
    data.warn_of_variances()
    parts = _folds(data, request, folds, DEFAULT_FOLDS if is_small or request.share is not None else 0, seed)
    sizes: Sequence[int] = ()
    if request.share is not None:
        m, sizes = assessed.smallest_size(request, parts)
        request = replace(request, m=m)
    call = Call(function, {**arguments, "folds": folds, "n_resamples": n_resamples, "rng": rng})
    generator = np.random.default_rng(seed)
    state = fitted(data, request, generator, call.text(data), first_bound)
    if is_small or parts:
        around = assessed.sizes_around(request, len(set_of(state).chosen))
        state = assessed.with_path(state, request, generator, parts, {*sizes, *around})
    draws = (DEFAULT_RESAMPLES if is_small else 0) if n_resamples is None else n_resamples
    state = _with_frequencies(state, data, request, draws, seed, is_required=n_resamples is not None)
    return PrincipalVariablesResult(state, data, call, request)


def _folds(data: Data, request: KeepRequest, folds: int | None, usual: int, seed: int) -> list[assessed.Fold]:
    """Return the folds; none if they were not requested and the data cannot be divided."""
    if folds == 0 and request.share is None:
        return []
    count = folds or usual
    if not count:
        return []
    try:
        return assessed.folds_of(data, request, count, seed)
    except (DataError, NoRowsError, OptionError):  # a matrix, few rows, or missing values
        if folds is not None or request.share is not None:
            raise
        return []


def _with_frequencies(
    state: FitState, data: Data, request: KeepRequest, draws: int, seed: int, *, is_required: bool
) -> FitState:
    """Return the choice with frequencies in resamples, if the data can be resampled."""
    if not draws:
        return state
    try:
        return assessed.with_frequencies(state, data, request, draws, seed, "n_resamples=")
    except NoRowsError:
        if is_required:
            raise
        return state
