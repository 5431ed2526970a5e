"""The constructors of data, `rows` and `covariance`, which define and document the options of data."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pandas as pd

from spcastat import errors, hints
from spcastat.arguments import explained, flag, shown
from spcastat.inputs.chunk_data import ChunkData
from spcastat.inputs.covariance_data import COVARIANCE_OPTIONS, CovarianceData
from spcastat.inputs.data import Data, copied_option
from spcastat.inputs.imputed_data import Imputations, ImputedData, with_imputations
from spcastat.inputs.opening import Source, refuse_long_imputations, source_of, table_of, with_reader
from spcastat.inputs.row_data import ROW_OPTIONS, RowData
from spcastat.reading.read import looks_like_covariance, refuse_covariance

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- what users call --------------------------------------------------------------------------------


@explained
def rows(
    data_or_formula: Any = None,
    /,
    *,
    data: Any = None,
    imputations: hints.Imputations | None = None,
    formula: str | None = None,
    scale: hints.Scale | None = None,
    na: hints.Missing = "raise",
    weights: str | hints.Vector | None = None,
    weights_are: hints.WeightsAre = "frequency",
    clusters: hints.ByRow | None = None,
    strata: hints.ByRow | None = None,
    block_length: int | Literal["auto"] | None = None,
    robust: hints.Robust = False,
    center: bool | hints.Vector = True,
    blocks: Mapping[str, hints.Labels] | None = None,
    categorical: Literal["refuse", "dummy"] = "refuse",
    context: Mapping[str, Any] | None = None,
    codes: bool = False,
    k_em: int | None = None,
    passes: int | None = None,
) -> Data:
    """Read rows once, for any number of fits, choices and tests.

    After ``d = sp.rows(df, scale=True, clusters="school")`` the call ``sp.spca(d, k=3, card=5)`` is
    equivalent to ``sp.spca(df, k=3, card=5, scale=True, clusters="school")``, and ``sp.choose(d)`` uses the
    same rows and options. ``d.changed(na="drop")`` returns the data with other options.

    Parameters
    ----------
    data : DataFrame, array, scipy.sparse matrix, polars or pyarrow table of shape (n, p)
        The data, with observations as rows and variables as columns, as the first argument or ``data=``; they
        are not modified. The name of a file (.csv, .parquet, .sav, .dta) is also accepted: text files of up
        to 100 MB and Parquet files of up to 500 MB are read as a data frame, larger files and other large
        data in chunks.
    imputations : list of DataFrame, or DataFrame with a column ".imp", optional
        Multiple imputations of one table, in place of `data`: frames with the same rows and columns, or the
        long format of mice. Covariance matrices are averaged; intervals follow Rubin's rules.
    formula : str, optional
        A one-sided formula, such as ``"~ a + b + log(c)"`` or ``"~ . - id"``. It may be the first argument if
        the table is given as ``data=``. With ``"~ . | age + C(subject)"``, components are computed from the
        residuals of the regression on the covariates after the bar. A formula is run as code, so do not use
        untrusted formulas.
    scale : bool, {"blocks", "raw blocks", "mixed"}, or array-like of shape (p,), optional
        Whether to divide columns by their standard deviations (ddof = 1); an array gives other divisors, in
        the units of the columns. "blocks" gives blocks of variables equal weight, see `blocks`; "mixed" also
        accepts factors. By default columns are not scaled, with a warning if their variances differ by a
        factor of more than 10,000; ``scale=False`` gives no warning.
    na : {"raise", "drop", "em", "pairwise"}
        The treatment of missing values. "raise" raises an error, and "drop" omits incomplete rows. "em"
        estimates covariances by EM for probabilistic PCA of rank `k_em`, or imputes numbers and levels with
        ``scale="mixed"``. "pairwise" computes each covariance from the rows in which both variables are
        observed; a score is missing if a variable of its component is missing.
    weights : str or array-like of shape (n,), optional
        Nonnegative weights of the rows. A string names a column, which is then not used as a variable.
    weights_are : {"frequency", "sampling"}
        The kind of weights. With "frequency", a row of weight 2 counts as two rows; "sampling" means survey
        weights, which are divided by their mean.
    clusters, strata : str or array-like of shape (n,), optional
        Labels of the clusters of rows that belong together (such as a person, school, plate or day), and of
        the strata from which they were sampled: the name of a column, which is then not used as a variable,
        or one label for each row. They do not change the loadings; resampling draws whole clusters.
    block_length : int or "auto", optional
        The number of successive rows in a block, for resampling rows in time order by blocks. "auto" uses the
        rule of Politis and White (2004; corrected 2009) for the scores of the first two principal components.
    robust : {False, True, "cells", "rows"}
        With True, cells far from the other cells of their column are downweighted, and rows whose scores are
        far from the other scores have weight zero. "cells" keeps all rows, and "rows" does not change cells.
        The user's table is not changed. At least 20 rows in memory are needed. ``fit.robust`` lists the
        outlying cells and rows; docs/choosing_a_method.md describes the limits of the procedure.
    center : bool or array-like of shape (p,)
        Whether to subtract the means of the columns (the default); an array gives other centres.
    blocks : mapping of name to list of labels, optional
        The variables of each block for ``scale="blocks"`` (multiple factor analysis): every block is scaled
        to a first eigenvalue of one. "raw blocks" omits the scaling of variables to unit variance.
    categorical : {"refuse", "dummy"}
        Whether text and categories in a formula raise an error (the default) or are converted to 0/1 columns.
    context : mapping, optional
        Names other than columns that the formula may use; by default the names in the scope of the caller.
    codes : bool
        Whether categories are replaced by numbers: by the numbers of the value labels that
        :func:`pandas.read_spss` stores in ``data.attrs``, and otherwise by 1, 2, ... in the order of the
        categories. New rows are coded with the same numbers. For correlations of ordinal variables see
        :func:`correlation`; ``data.rename(columns=data.attrs["column_names_to_labels"])`` uses the variable
        labels of SPSS as names.
    k_em : int, optional
        Rank of the EM model; by default the number of components of each fit.
    passes : int, optional
        Largest number of passes over the data to compute dense PCA, for chunks with more than 3000 variables;
        4 by default, or 30 with `variance`.

    Returns
    -------
    Data
        Data that can be passed as the first argument to `spca`, `spca_path`, `choose`, `choose_k`,
        `sparse_loadings` and `spco`. The object is immutable: ``changed(**options)`` returns data with other
        options.

    Raises
    ------
    SpcaError
        Raised as by :func:`spca`.

    Notes
    -----
    The data are copied unless they exceed 64 MB; do not modify a larger array while `Data` are in use.

    Examples
    --------
    >>> import spcastat as sp
    >>> d = sp.rows(sp.datasets.load_wine(), scale=True)
    >>> sp.choose_k(d).k
    3
    >>> sp.spca(d, k=3, card=4).card.tolist()
    [4, 4, 4]
    """
    options, _ = divided_options(dict(locals()), ROW_OPTIONS)
    table, options["formula"] = table_and_formula("rows", data_or_formula, data, formula, imputations)
    return rows_of("rows", table, options)


@explained
def covariance(
    S: pd.DataFrame | NDArray[Any],
    *,
    n_obs: hints.Whole | None = None,
    scale: bool | Literal["blocks", "raw blocks"] | None = None,
    blocks: Mapping[str, hints.Labels] | None = None,
    mean: hints.Vector | None = None,
    sd: hints.Vector | None = None,
    given: hints.Labels | None = None,
    nearest: bool = False,
) -> Data:
    """Read a covariance or correlation matrix once, for any number of fits, choices and tests.

    After ``d = sp.covariance(S, n_obs=180)``, call ``sp.spca_cov(d, k=3, card=5)`` or ``sp.choose(d)``. To
    compute correlations from rows, for example polychoric correlations, use :func:`correlation`.

    Parameters
    ----------
    S : DataFrame or array of shape (p, p)
        A symmetric and positive semidefinite matrix. A result of :func:`correlation` includes its kind and
        its number of rows.
    n_obs : int, optional
        Number of rows from which the matrix was computed, for the summary and for resampling.
    scale : bool, "blocks" or "raw blocks", optional
        True replaces `S` by its correlation matrix. ``"blocks"`` and ``"raw blocks"`` divide the variables as
        for :func:`rows`. By default `S` is not scaled, with a DataWarning if the variances differ by a factor
        of more than 10,000; ``scale=False`` gives no warning.
    blocks : mapping of name to list of labels, optional
        The variables of each block, with ``scale="blocks"``. See :func:`rows`.
    mean : array-like of shape (p,), optional
        Means of the variables, which ``transform(rows)`` needs.
    sd : array-like of shape (p,), optional
        Standard deviations of the variables for a correlation matrix, by which ``transform(rows)`` divides
        the centred rows; one by default. It needs `mean`. With ``scale=True`` the rows are also divided by
        the square roots of the diagonal of `S`, so a covariance matrix needs only `mean`.
    given : list of labels, optional
        Variables for which the other variables are adjusted (partial PCA): components are computed from
        S_yy - S_yz S_zz^+ S_zy, or from the partial correlations if the diagonal of `S` is one.
    nearest : bool
        Whether to replace a matrix that is not positive semidefinite, as polychoric or pairwise correlations
        may be, by the nearest such matrix with the same variances (in the Frobenius norm of the correlations;
        Higham, 2002). The summary reports the change.

    Returns
    -------
    Data
        Data that can be passed as the first argument to `spca_cov`, `sparse_loadings_cov`, `spca_path`,
        `choose` and `choose_k`. The object is immutable: ``changed(**options)`` returns data with other
        options.

    Raises
    ------
    CovarianceError
        If `S` is not symmetric and positive semidefinite.

    Examples
    --------
    >>> import spcastat as sp
    >>> d = sp.covariance(sp.datasets.load_pitprops(), n_obs=180)
    >>> sp.spca_cov(d, k=2, card=[4, 3]).card.tolist()
    [4, 3]
    """
    options, _ = divided_options(dict(locals()), COVARIANCE_OPTIONS)
    return matrix_of("covariance", S, options)


# --- shared entries of docstrings --------------------------------------------------------------------


#: A reference in the docstring of another function: names of options documented by a constructor. The
#: reference is readable by itself. From Python 3.13 on, docstrings have no common indentation.
_SHARED_OPTIONS = re.compile(r"(?m)^((?:    )?)([\w, ]+)\n\1    As for :func:`(rows|covariance)`\.$")
#: An entry of a docstring: the line with the names, and the text.
_DOCUMENTED_OPTION = re.compile(r"(?m)^((?:    )?)(\w[\w, ]*) :.*(?:\n\1    .*)+")
Function = TypeVar("Function", bound=Callable[..., Any])


def with_shared_entries(function: Function) -> Function:
    """Replace references in a docstring by the entries of `rows()` and `covariance()` that they name.

    Signatures are not changed. Without docstrings (``python -OO``) nothing is done.
    """
    if function.__doc__ is not None:
        function.__doc__ = _SHARED_OPTIONS.sub(_entries, function.__doc__)
    return function


def _entries(reference: re.Match[str]) -> str:
    """Return the entries of a constructor for the options that a docstring refers to."""
    names = set(reference[2].split(", "))
    text = {"rows": rows, "covariance": covariance}[reference[3]].__doc__ or ""
    options = _DOCUMENTED_OPTION.finditer(text)
    return "\n".join(option[0] for option in options if names & set(option[2].split(", ")))


# --- data of a call ---------------------------------------------------------------------------------


#: Option of the data -> its default, if this is not None.
DEFAULTS = {
    option.name: option.default
    for constructor in (rows, covariance)
    for option in inspect.signature(constructor).parameters.values()
    if option.default is not None and option.default is not option.empty
}


def rows_of(function: str, data: Any, options: Mapping[str, Any]) -> Data:
    """Return the rows of a call: `Data` unchanged, or data that are read with the options of the call.

    Parameters
    ----------
    function : str
        The function that was called, for messages.
    data : object
        `Data`, or anything that `rows` accepts.
    options : Mapping
        Options of the call. Options equal to their defaults count as not given, and options that do not
        describe data are left to the caller.

    Raises
    ------
    OptionError
        If options of the data are given with data that have already been read.
    """
    options = given_of(**options)
    if isinstance(data, Data):
        return _as_it_is(function, data, options, "rows")
    if isinstance(data, Imputations):
        return ImputedData.read(data, describing(options, "rows"))
    return _read_rows(source_of(data), options)


def matrix_of(function: str, S: Any, options: Mapping[str, Any]) -> Data:
    """Return the covariance matrix of a call, as `rows_of` returns rows."""
    options = given_of(**options)
    if isinstance(S, Data):
        return _as_it_is(function, S, options, "a covariance matrix")
    if isinstance(S, Imputations):
        raise errors.OptionError("covariance=True was given with imputations=, which are rows; leave it out.")
    return _read_matrix(table_of(S), options)


def rows_or_matrix_of(function: str, data: Any, options: Mapping[str, Any], covariance: bool | None) -> Data:
    """Return the rows or the covariance matrix of a call; by default the data determine which it is."""
    if covariance is not None:
        return (matrix_of if flag("covariance", covariance) else rows_of)(function, data, options)
    if isinstance(data, Data):
        return _as_it_is(function, data, options, data.noun)
    if isinstance(data, Imputations):
        return rows_of(function, data, options)
    source = source_of(data)
    if options.get("formula") is None and looks_like_covariance(source.data):
        return _read_matrix(source, options)
    return _read_rows(source, options)


def _read_rows(source: Source, options: Mapping[str, Any]) -> Data:
    if options.get("formula") is None:
        refuse_covariance(source.data, bool(source.files))
    data_options = describing(options, "rows")
    refuse_long_imputations(source.column_names)
    if source.in_memory:
        try:
            return RowData.read(source.data, data_options, files=source.files)
        except errors.ColumnTypeError as error:
            raise errors.ColumnTypeError(with_reader(str(error), source.files)) from None
    return ChunkData.read(source, data_options)


def _read_matrix(source: Source, options: Mapping[str, Any]) -> CovarianceData:
    data_options = describing(options, "a covariance matrix")
    return CovarianceData.read(source.data, data_options, files=source.files)


#: Parameters of public functions that are not options: the data, the display of progress, and ``**options``.
NO_OPTIONS = ("data_or_formula", "data", "imputations", "S", "progress", "options")


def divided_options(
    arguments: Mapping[str, Any], names: Collection[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of a call that describe the data, and the other options.

    Parameters
    ----------
    arguments : Mapping
        The parameters of a public function by name: ``dict(locals())`` in its first statement, so that its
        signature is the only list of its options. Arguments passed as ``**options`` are included.
    names : collection of str
        The options of the data: ROW_OPTIONS or COVARIANCE_OPTIONS.
    """
    options = {name: value for name, value in arguments.items() if name not in NO_OPTIONS}
    options |= arguments.get("options", {})
    data_options = {name: options.pop(name) for name in names if name in options}
    return data_options, options


def given_of(**arguments: Any) -> dict[str, Any]:
    """Return the arguments that differ from their defaults."""
    differing = {}
    for name, value in arguments.items():
        default = DEFAULTS.get(name)
        if value is not default and not (isinstance(value, (bool, str)) and value == default):
            differing[name] = value
    return differing


#: Name of a kind of data in messages -> the options that describe such data.
KINDS = {"rows": ROW_OPTIONS, "a covariance matrix": COVARIANCE_OPTIONS}


def describing(options: Mapping[str, Any], noun: str) -> dict[str, Any]:
    """Return the options for data of the kind `noun`; raise an error for options of the other kind."""
    (other_noun,) = KINDS.keys() - {noun}
    for name in options:
        if name in KINDS[other_noun] and name not in KINDS[noun]:
            of_rows = noun == "rows"
            raise errors.UnknownOptionError(
                f"{name}= was given with {noun}, but describes {other_noun}; leave it out, or give "
                f"covariance={of_rows} if the data are {'one' if of_rows else 'rows'}."
            )
    return {name: copied_option(value) for name, value in options.items() if name in KINDS[noun]}


def _as_it_is(function: str, data: Data, options: Mapping[str, Any], noun: str) -> Data:
    """Return data that have already been read; raise OptionError for options that affect reading."""
    if noun != data.noun:
        fit = "spca" if data.from_rows else "spca_cov"
        raise errors.OptionError(
            f"{function}() needs {noun} here, but the data are {data.noun} from {data.constructor}(); give "
            f"them to {fit}(), spca_path() or choose(), without covariance=."
        )
    for name in options:
        if name in data.option_names:
            raise errors.OptionError(
                f"{name}= was given to {function}() with data that {data.constructor}() has already read; "
                f"give data.changed({name}={shown(options[name])}) in their place, or {name}= to "
                f"{data.constructor}()."
            )
    describing(options, noun)
    return data


def table_and_formula(
    function: str, positional: Any, data: Any, formula: Any, imputations: Any = None
) -> tuple[Any, Any]:
    """Return the table and the formula of a call; either may be the first argument.

    Parameters
    ----------
    function : str
        The function that was called, for messages.
    positional : object
        The positional argument: a table or, if `data` is given, a formula.
    data, formula, imputations : object
        The arguments with these names.

    Raises
    ------
    DataError
        If there is no table.
    OptionError
        If the table or the formula is given twice, or a formula is given without `data`.
    """
    if imputations is not None:
        is_formula = isinstance(positional, str) and positional.lstrip().startswith("~")
        table = positional if data is None and not is_formula else data
        data = with_imputations(function, table, imputations)
    if data is None:
        if positional is None:
            raise errors.DataError(f"{function}() was given no data; give a table first, or data=.")
        home = positional.lstrip().startswith(("~/", "~\\")) if isinstance(positional, str) else False
        if isinstance(positional, str) and positional.lstrip().startswith("~") and not home:
            raise errors.OptionError(
                f"The formula {shown(positional)} was given to {function}() without data=; give the table by "
                f"that name: {function}({shown(positional)}, data=df, ...)."
            )
        return positional, formula
    if positional is None:
        return data, formula
    if not isinstance(positional, str):
        raise errors.OptionError(
            f"{function}() was given data twice, as the first argument and as data=; give them once."
        )
    if not positional.lstrip().startswith("~"):
        left_side, _, terms_text = positional.partition("~")
        if terms_text.strip() and not set("/\\") & set(left_side):
            raise errors.OptionError(
                f"The formula {shown(positional)} was given to {function}(), but formulas here have no left "
                f"side: give {shown(f'~ {terms_text.strip()}')}."
            )
        raise errors.OptionError(
            f"{shown(positional)} was given to {function}() before data=, but is not a formula, which begins "
            "with ~; give a formula such as '~ a + b', or a file as data= alone."
        )
    if formula is not None:
        raise errors.OptionError(
            f"A formula was given to {function}() twice, {shown(positional)} first and formula="
            f"{shown(formula)}; give one."
        )
    return data, positional
