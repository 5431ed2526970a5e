"""Sparse loadings, the other sense of sparse PCA, in which each variable depends on few components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, overload

from spcastat import hints
from spcastat.arguments import explained
from spcastat.fit.call import Call, arguments_of, refuse_other_names, refuse_unknown, with_table_by_name
from spcastat.fit.sparse_loadings import fitted, requested
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
from spcastat.results.loadings import SparseLoadings

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["sparse_loadings", "sparse_loadings_cov"]


@overload
def sparse_loadings(
    data: hints.Rows,
    k: hints.Whole,
    card: hints.Card | None = None,
    *,
    formula: str | None = None,
    **options: Unpack[hints.LoadingsKeywords],
) -> SparseLoadings: ...
@overload
def sparse_loadings(
    formula: str,
    /,
    k: hints.Whole,
    card: hints.Card | None = None,
    *,
    data: hints.Rows,
    **options: Unpack[hints.LoadingsKeywords],
) -> SparseLoadings: ...
@with_table_by_name
@with_shared_entries
def sparse_loadings(  # pyright: ignore[reportInconsistentOverload]  # data= is a keyword
    data_or_formula: Any = None,
    /,
    k: hints.Whole | None = None,
    card: hints.Card | None = None,
    *,
    data: Any = None,
    total: int | None = None,
    variance: float | None = None,
    formula: str | None = None,
    scale: hints.Scale | None = None,
    na: hints.Missing = "raise",
    weights: str | hints.Vector | None = None,
    n_init: hints.Whole | None = None,
    rng: hints.Rng = None,
    progress: hints.Progress = None,
    **options: Any,
) -> SparseLoadings:
    """Fit sparse loadings to rows: X ≈ TP′, where P is sparse and the scores T are uncorrelated.

    "Sparse PCA" has two meanings. :func:`spca` fits sparse *weights*: a component is the weighted sum of a
    few variables, and the fit shows which few variables to measure. With sparse loadings each variable
    depends on few components, as in factor analysis, while scores may use all variables; the fit shows which
    components each variable reflects. The vignette "Weights or loadings?" compares both.

    Parameters
    ----------
    data : DataFrame, array, scipy.sparse matrix, polars or pyarrow table, file, or chunks; (n, p)
        As for :func:`spca`; or the result of :func:`rows`. The first positional argument, or ``data=``.
    k : int
        Number of components. :func:`choose_k` can choose it; :func:`choose` chooses cardinalities of weights,
        but not of loadings.
    card : int, sequence of k ints, or mapping, optional
        Number of nonzero loadings: one number for all components, one for each, or numbers by name.
    total : int, optional
        Number of nonzero loadings of all components together, instead of `card`.
    variance : float in (0, 1], optional
        Share of dense PCA's explained variance that the fit must reach, with as few nonzero loadings as the
        search finds, instead of `card`. If none of the three is given, 0.9 is used.
    formula, scale, na, weights
        As for :func:`rows`.
    n_init : int, optional
        Number of starts; 30 by default. The starts are the principal components, their varimax rotation, and
        random rotations of them.
    rng : None, int or numpy Generator
        Seed of the random rotations. None uses a fixed seed.
    progress : None, bool or callable
        Whether to show progress. See :func:`spca`.

    Returns
    -------
    SparseLoadings

    Other Parameters
    ----------------
    weights_are, clusters, strata, block_length, center, blocks, categorical, context, codes, k_em, passes
        As for :func:`rows`.

    Raises
    ------
    ComponentsError
        If `k` exceeds the rank of the data.
    CardinalityError
        If a number of nonzeros is out of range, or the best loadings are linearly dependent.
    OptionError
        If more than one of `card`, `total` and `variance` is given.
    SpcaError
        The base class of all errors; see :mod:`spcastat.errors`.

    Notes
    -----
    Adachi and Trendafilov (2016), Computational Statistics 31, minimise |X - T P'|^2 subject to T'T = (n - 1)
    I and to given numbers of nonzeros in P. For given P the best scores are X W with W = P (P'SP)^(-1/2),
    where S is the covariance matrix. For given scores the best nonzero loadings are the covariances of the
    scores with the variables. The loss is the total variance less the sum of squared loadings, so explained
    variances add up over components and variables. The search repeats these two steps from `n_init` starts,
    and then exchanges nonzeros with zeros in the best local optima as long as this improves them. The result
    need not be the global optimum.

    Components of the same cardinality are sorted by explained variance; other components remain in the order
    of `card`. Loadings are not rotated after the fit, and there is no likelihood; factor models offer both.

    Examples
    --------
    >>> import spcastat as sp
    >>> fit = sp.sparse_loadings(sp.datasets.load_wine(), k=2, card=6, scale=True)
    >>> round(float(fit.scores.corr().iloc[0, 1]), 8) == 0
    True
    """
    data_options, _ = divided_options(dict(locals()), ROW_OPTIONS)
    with listening(progress):
        refuse_other_names("sparse_loadings", options)
        table, data_options["formula"] = table_and_formula("sparse_loadings", data_or_formula, data, formula)
        refuse_unknown("sparse_loadings", options, arguments_of(sparse_loadings, hints.LoadingsOptions))
        value = rows_of("sparse_loadings", table, data_options)
        return _fitted(sparse_loadings, value, (k, card, total, variance, n_init, rng))


@explained
@with_shared_entries
def sparse_loadings_cov(
    S: pd.DataFrame | NDArray[Any] | hints.DataValue,
    k: hints.Whole,
    card: hints.Card | None = None,
    *,
    total: int | None = None,
    variance: float | None = None,
    n_obs: hints.Whole | None = None,
    scale: bool | None = None,
    mean: hints.Vector | None = None,
    sd: hints.Vector | None = None,
    given: hints.Labels | None = None,
    nearest: bool = False,
    n_init: hints.Whole | None = None,
    rng: hints.Rng = None,
    progress: hints.Progress = None,
) -> SparseLoadings:
    """Fit sparse loadings to a covariance or correlation matrix; see :func:`sparse_loadings`.

    Parameters
    ----------
    S : DataFrame or array of shape (p, p)
        A symmetric positive semidefinite matrix. The result of :func:`correlation` includes its kind and its
        number of rows.
    k : int
        Number of components.
    card : int, sequence of k ints, or mapping, optional
        Number of nonzero loadings: one number for all components, or one for each.
    total : int, optional
        Number of nonzero loadings of all components together, instead of `card`.
    variance : float in (0, 1], optional
        Share of dense PCA's explained variance to keep, instead of `card`; 0.9 if none is given.
    n_obs
        As for :func:`covariance`.
    scale : bool, optional
        True replaces `S` by its correlation matrix.
    mean, sd, given, nearest
        As for :func:`covariance`.
    n_init : int, optional
        Number of starts; 30 by default.
    rng : None, int or numpy Generator
        Seed of the random starts. None uses a fixed seed.
    progress : None, bool or callable
        Whether to show progress.

    Returns
    -------
    SparseLoadings
        The fit. `scores` and `biplot` need rows, so this fit does not have them.

    Raises
    ------
    CovarianceError
        If `S` is not symmetric and positive semidefinite.
    ComponentsError, CardinalityError, OptionError
        As for :func:`sparse_loadings`.

    Examples
    --------
    >>> import spcastat as sp
    >>> fit = sp.sparse_loadings_cov(sp.datasets.load_pitprops(), k=3, card=[7, 4, 4], n_obs=180)
    >>> round(float(fit.variance["cumulative"].iloc[-1]), 5)
    0.60597
    """
    data_options, _ = divided_options(dict(locals()), COVARIANCE_OPTIONS)
    with listening(progress):
        value = matrix_of("sparse_loadings_cov", S, data_options)
        return _fitted(sparse_loadings_cov, value, (k, card, total, variance, n_init, rng))


def _fitted(function: Any, data: Data, arguments: tuple[Any, ...]) -> SparseLoadings:
    """Check the arguments k, card, total, variance, n_init and rng, fit the loadings, and return them."""
    request = requested(*arguments, p=data.p, function=function.__name__)
    data = data.for_components(request.k)
    data.warn_of_variances()
    names = ("k", "card", "total", "variance", "n_init", "rng")
    call = Call(function, dict(zip(names, arguments, strict=True)))
    return SparseLoadings(fitted(data, request, call.text(data)), data, call)
