"""Functions that choose the number of components, `choose_k`, and their cardinalities, `choose`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Unpack, overload

import numpy as np

from spcastat import hints
from spcastat.api import FITS, finished, request_of
from spcastat.arguments import (
    MOST_FOLDS,
    draw_generator,
    elements,
    is_single,
    one_of,
    real_number,
    seed_of,
    shown,
    whole_number,
)
from spcastat.assess.candidates import (
    CANDIDATES,
    FAMILIES,
    Candidate,
    Candidates,
    Compared,
    Selected,
    Settings,
    cardinalities_of,
    families_of,
    fitter_of,
    partition_sizes,
    repeats_of,
    select,
    table,
)
from spcastat.assess.component_tests import (
    NoiseDraws,
    about_rows,
    checked_numbers,
    component_tests,
    require_variance,
)
from spcastat.assess.cross_validation import MOST_FITS, RULES, CardinalitySet, path_cards
from spcastat.assess.folds import MOMENTS_VARIABLES, divided
from spcastat.assess.many_sets import sizes
from spcastat.assess.prediction import PREDICTION
from spcastat.errors import CardinalityError, ComponentsError, OptionError
from spcastat.fit.call import (
    Call,
    arguments_of,
    hint,
    refuse_controls,
    refuse_other_names,
    refuse_unknown,
    with_table_by_name,
)
from spcastat.fit.method_table import RULE, needs_rows
from spcastat.fit.plan import Request, make_plan, require_feasible
from spcastat.fit.run import run
from spcastat.inputs.constructors import (
    divided_options,
    given_of,
    rows_or_matrix_of,
    table_and_formula,
    with_shared_entries,
)
from spcastat.inputs.covariance_data import COVARIANCE_OPTIONS
from spcastat.inputs.data import Data
from spcastat.inputs.row_data import ROW_OPTIONS, RowData
from spcastat.inputs.samplers import constant_among, constant_remark
from spcastat.linalg.standardisation import variance_ratio
from spcastat.progress import listening, stage, workers
from spcastat.reading.checks import advice_for_complete_rows
from spcastat.reading.design import Remark
from spcastat.results.choice import Choice, ComponentChoice
from spcastat.results.fit import SpcaResult
from spcastat.search.objectives import OBJECTIVES, OF_GROUPS
from spcastat.show.choice_facts import Chosen, NothingChosen

# --- requests of fits -----------------------------------------------------------------------------


def request(fitting: Mapping[str, Any], k: int, card: Any) -> Request:
    """Return the request for a call of :func:`spcastat.spca` with these options and cardinalities."""
    return request_of({**fitting, "k": k, "card": card})


def largest(wanted: Sequence[CardinalitySet]) -> CardinalitySet:
    """Return the largest of the `wanted` cardinalities of each component."""
    return tuple(map(max, zip(*wanted, strict=True)))


# --- the number of components ---------------------------------------------------------------------


@overload
def choose_k(
    data: hints.Rows,
    *,
    formula: str | None = None,
    n_obs: hints.Whole | None = None,
    covariance: bool | None = None,
    **options: Unpack[hints.ComponentChoiceKeywords],
) -> ComponentChoice: ...
@overload
def choose_k(
    formula: str, /, *, data: hints.Rows, **options: Unpack[hints.ComponentChoiceKeywords]
) -> ComponentChoice: ...
@with_table_by_name
@with_shared_entries
def choose_k(  # pyright: ignore[reportInconsistentOverload]  # data= is a keyword
    data_or_formula: Any = None,
    /,
    *,
    data: Any = None,
    kmax: hints.Whole | None = None,
    least: float = PREDICTION.least,
    alpha: float = 0.05,
    n_draws: int = 199,
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
    rng: hints.Rng = None,
    n_jobs: int = 1,
    progress: hints.Progress = None,
    **options: Any,
) -> ComponentChoice:
    """Choose the number of components that predict held-out rows and exceed noise.

    Parameters
    ----------
    data : DataFrame, array, sparse matrix, polars or pyarrow table of shape (n, p); or (p, p)
        Rows, as for :func:`spca`, a covariance or correlation matrix, or the result of :func:`rows` or
        :func:`covariance`. The first positional argument, or ``data=``.
    kmax : int, optional
        Largest number of components to compare. By default at least 8 are compared, and more until two
        successive components fail to improve the prediction. In both cases the comparison ends with the first
        component that does not exceed noise.
    least : float
        The additional variance of held-out rows that a further component must predict, in multiples of the
        mean variance of a variable; 0.2 by default.
    alpha : float
        Level of parallel analysis, 0.05 by default; the test of each component after the removal of earlier
        components uses a fifth of this level.
    n_draws : int
        Number of draws of simulated noise for each test, 199 by default. Up to four times this number are
        made if a p-value is close to its level.
    formula, scale, na, weights, weights_are, clusters, strata, block_length
        As for :func:`rows`.
    n_obs : int, optional
        Number of rows from which a covariance matrix was computed; required for a covariance matrix.
    covariance : bool, optional
        Whether `data` is a covariance matrix. By default a symmetric frame with equal row and column labels
        is treated as one.
    rng : None, int or numpy Generator
        Seed of the draws; None uses a fixed seed.
    n_jobs : int
        Number of threads that draw noise and, with more than 200 variables, of processes that fit the folds;
        -1 for all processors. Results do not depend on it.
    progress : None, bool or callable
        Whether to show progress. See :func:`spca`.
    robust, center, blocks, categorical, context, codes, k_em, passes
        As for :func:`rows`.
    mean, sd, given, nearest
        As for :func:`covariance`.

    Returns
    -------
    ComponentChoice
        ``.k``, the number of components; ``.predicting`` and ``.deflated``, the numbers C and D (see Notes);
        ``.parallel``, ``.kaiser`` and ``.broken_stick``, for comparison; ``.table``, the variance that each
        component predicts, eigenvalues and p-values; ``.reason``, the choice in words; ``.spectrum``, all
        eigenvalues; ``.plot()``.

    Raises
    ------
    OptionError
        If a covariance matrix is given without `n_obs` or has polychoric correlations, or a value is not
        allowed.
    TooFewRowsError
        If there is only one row or cluster, or one row outside a fold.

    Notes
    -----
    The choice is k = min(C, D):

    - C is the number of components that predict held-out rows. Each cell of a held-out row is predicted from
      the other cells of its row, by the model of :func:`choose` fitted to the other rows (ten folds). For
      each number of components, the best of several sparse fits with at most p nonzero loadings in total is
      used. These fits are partitions of the variables, some of which may be left out, and fits with the
      largest rotated loadings; if there are more variables than rows, but at most 500, also fits with the
      largest slopes on sparse components that are found one after another. A number of components is accepted
      if it increases the predicted variance, relative to the last number accepted, by at least `least` times
      the mean variance of a variable for each additional component, and by more than two standard errors,
      paired by fold. The fits are sparse because, with many rows, each minor component would improve the
      prediction by PCA. PCA with one more component than the last number accepted is also tried (with up to
      200 variables, without `disjoint`). It must increase the predicted variance by 1.5 times `least` for
      every p loadings beyond the first p.
    - D is the number of components before the first one that does not exceed noise. The earlier components
      are removed, and the largest eigenvalue of the residuals is compared with its values after random sign
      flips of these residuals, at the level `alpha` / 5. If there are more variables than rows, but at most
      500, an eigenvalue rarely reveals a component of few variables. Components that do not exceed noise by
      their eigenvalues are then tested by the variance of a sparse component, at the same level, after
      regression on the earlier sparse components.

    For comparison, parallel analysis is reported: it retains the leading components whose eigenvalues are
    exceeded, in at most a share `alpha` of the draws, by the eigenvalue of the same rank. A strong general
    component masks the others in parallel analysis.

    Noise is simulated by flipping signs of the centred (and scaled) values at random, which keeps the norms
    of rows and columns and removes the correlations (Hong, Sheng and Dobriban, 2020). The n centred rows are
    first rotated to n - 1, so noise has the rank of the data.

    All other correlations between variables therefore count as components. If the noise of neighbouring
    variables is correlated, as in spectra or on maps, `k` is much too large: 6 to 14 instead of 2 in
    simulations with correlations of .4 between neighbours. If you know the number of components, give it to
    :func:`choose`, or use ``least=1`` to include strong components only (see docs/statements.md).

    If a p-value for D is within two of its standard errors of the level, `n_draws` draws are added, up to a
    total of four times `n_draws`, so that D seldom depends on the seed. Drawing stops after 40 draws or more
    if the variance of the component exceeds their mean by so many standard deviations that the p-value is
    below the level for any distribution of the draws (Cantelli's inequality); the remaining draws are then
    assumed to be smaller. A level of `alpha` / 5 requires at least 5 / `alpha` - 1 draws. With fewer draws
    the level of D is the smallest possible one, 1 / (`n_draws` + 1).

    The signs of the indicators of a factor, of the columns of a polynomial, and of all terms of a formula
    that read a common column are flipped together, since they are correlated by construction.

    A row with a frequency weight of 2 is treated as two equal rows. Rows of a few columns with few values,
    such as answers to a questionnaire, may be equal by chance; they are separate observations. Other equal
    rows are copies of one observation, which would look like components: they are in one fold, and their
    signs are flipped together (for data of up to 20 million cells). A row with a sampling weight has one set
    of signs, whatever its weight.

    A covariance matrix is treated as the covariance matrix of normal rows, which are simulated so that they
    have exactly this matrix. A matrix of polychoric correlations from :func:`spcastat.correlation` raises
    an error, since polychoric correlations vary more. For data of more than 20 million cells, covariance
    matrices are drawn from their asymptotic normal distribution, with the fourth moments of the rows and
    the norms of the largest rows; these draws also allow for rows of very unequal norms. The signs of a
    variable within a cluster or block are flipped together. If rows come in chunks, a random sample of at
    most 50,000 rows (and at most 64 million values) is drawn in one pass. One very large row can hide all
    components, or appear as one. The size of a row is its norm, with the variables standardised by median
    and median absolute deviation. If a row of dense data in memory has more than 2.5 times the median size,
    all rows of more than 1.5 times the median size are therefore shrunk to 1.5 times the median size.
    Eigenvalues are computed from the shrunk rows, and each variable keeps its variance. The printed output
    reports rows that change the number of components.

    If noise is correlated between neighbouring rows, in time or space, its components predict held-out rows
    and exceed the simulated noise, unless `clusters` or `block_length` define the rows that belong together,
    which are then held out together.

    With ``na="em"`` or ``na="pairwise"``, missing values are replaced by the mean of their column, in the
    data and in the draws, and measured values are scaled to the variance of the column. A model of the
    missing values is not used, because it would create as many components in noise as its rank. The power is
    lower, as it would be with fewer rows.

    Examples
    --------
    >>> import spcastat as sp
    >>> sp.choose_k(sp.datasets.load_pitprops(), n_obs=180).k
    3
    """
    data_options, _ = divided_options(dict(locals()), (*ROW_OPTIONS, *COVARIANCE_OPTIONS))
    with listening(progress):
        refuse_other_names("choose_k", options)
        table, data_options["formula"] = table_and_formula("choose_k", data_or_formula, data, formula)
        draws, least = NoiseDraws(alpha, n_draws, seed_of(rng)), real_number("least", least, 0.0, np.inf)
        jobs = workers(n_jobs)
        refuse_unknown("choose_k", options, {*ROW_OPTIONS, *COVARIANCE_OPTIONS})
        options |= given_of(**data_options)
        value = rows_or_matrix_of("choose_k", table, options, covariance)
        if value.out_of_core:  # before rows are read
            checked_numbers(value.p, value.p, kmax)
        value.warn_of_variances()
        sample = value.in_memory(draws.seed)
        return ComponentChoice(component_tests(sample, kmax, draws, least, n_jobs=jobs))


# --- the cardinalities ----------------------------------------------------------------------------


@overload
def choose(
    data: hints.Rows,
    k: hints.Whole | None = None,
    *,
    cards: hints.Cards | None = None,
    by: Literal["cv", "ebic", "bic", "is", "variance"] | None = None,
    rule: Literal["worth", "keep", "1se", "paired", "min"] = "worth",
    share: float | None = None,
    family: Literal["auto", "equal", "rotated", "partition"] = "auto",
    folds: hints.Whole = 5,
    repeats: int | None = None,
    kmax: hints.Whole | None = None,
    least: float = PREDICTION.least,
    alpha: float = 0.05,
    n_draws: int = 199,
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
    n_jobs: int = 1,
    progress: hints.Progress = None,
    **options: Unpack[hints.ScanOptions],
) -> Choice: ...
@overload
def choose(
    formula: str,
    /,
    k: hints.Whole | None = None,
    *,
    data: hints.Rows,
    **options: Unpack[hints.ChoiceKeywords],
) -> Choice: ...
@overload
def choose(
    formula: str | None = None,
    /,
    *,
    k: hints.Whole | None = None,
    imputations: hints.Imputations,
    **options: Unpack[hints.ChoiceKeywords],
) -> Choice: ...
@with_table_by_name
@with_shared_entries
def choose(  # pyright: ignore[reportInconsistentOverload]  # data= is a keyword
    data_or_formula: Any = None,
    /,
    k: hints.Whole | None = None,
    *,
    data: Any = None,
    imputations: hints.Imputations | None = None,
    cards: hints.Cards | None = None,
    by: Literal["cv", "ebic", "bic", "is", "variance"] | None = None,
    rule: Literal["worth", "keep", "1se", "paired", "min"] = "worth",
    share: float | None = None,
    family: Literal["auto", "equal", "rotated", "partition"] = "auto",
    folds: hints.Whole = 5,
    repeats: int | None = None,
    kmax: hints.Whole | None = None,
    least: float = PREDICTION.least,
    alpha: float = 0.05,
    n_draws: int = 199,
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
    n_jobs: int = 1,
    progress: hints.Progress = None,
    **options: Any,
) -> Choice:
    """Choose the cardinalities of sparse components and, if `k` is not given, their number.

    Parameters
    ----------
    data : DataFrame, array, sparse matrix, polars or pyarrow table of shape (n, p); or (p, p)
        Rows, as for :func:`spca`, a covariance or correlation matrix, or the result of :func:`rows` or
        :func:`covariance`. The first positional argument, or ``data=``.
    imputations : list of DataFrame, or DataFrame with a column ".imp", optional
        Multiple imputations of one table, in place of `data`: the choice is made for their averaged
        covariance matrix, by "ebic" by default. See :func:`spca`.
    k : int, optional
        Number of components, which must be less than the number of variables. By default :func:`choose_k`
        chooses it.
    cards : sequence of ints, optional
        Cardinalities that are compared in place of the families, as in ``cards=range(2, 9)``; with
        `together`, numbers of groups. An element such as (5, 3) has one cardinality for each component.
    by : {"cv", "ebic", "bic", "is", "variance"}, optional
        The criterion. "cv", the default with rows, is cross-validation. "ebic", the default for a covariance
        matrix with `n_obs`, is the extended BIC. "bic" is the BIC of Allen and Maletic-Savatic, and "is" the
        index of sparseness. "variance" selects the sparsest fit whose components together explain the `share`
        of dense PCA's variance (``spca(variance=)`` requires the share after every component, unless
        ``promise="total"``). The last three compare only equal cardinalities.
    rule : {"worth", "keep", "1se", "paired", "min"}
        "worth", the default, selects the sparsest fit to which no further loadings are worth adding (see
        Notes). "keep" selects the sparsest fit that reaches the `share` of the best prediction ("cv" only).
        "1se" selects the sparsest fit whose error is within one standard error of the smallest error.
        "paired" selects the sparsest fit whose error exceeds the smallest error by less than one standard
        error of the difference ("cv" only). "min" selects the fit with the best value. With "ebic", a
        difference of 2 takes the place of one standard error, and "worth" uses the prediction error within
        the data.
    share : float, optional
        The share to reach, 0.9 by default, for ``rule="keep"`` and ``by="variance"``.
    family : {"auto", "equal", "rotated", "partition"}
        The families of fits that are compared. "equal": all components have the same cardinality. "rotated":
        the cardinalities are the numbers of the largest varimax-rotated loadings in each component, for
        sixteen total numbers. "partition": every variable belongs to at most one component, and the variables
        with the smallest loadings are left out. "auto", the default, compares all three families. With
        `disjoint` it compares only partitions, and with other rules or another method it compares no
        partitions.
    folds : int
        Number of folds, 5 by default.
    repeats : int, optional
        Number of divisions into folds, over which errors are averaged. The default is 4 for small problems
        (the default method without rules, up to 200 variables and a million cells), and 1 otherwise.
    kmax : int, optional
        Largest number of components to compare, if `k` is not given. See :func:`choose_k`.
    least : float
        The additional variance that a further component must predict, if `k` is not given; 0.2 by default.
        See :func:`choose_k`.
    alpha : float
        Level of parallel analysis, if `k` is not given; 0.05 by default. See :func:`choose_k`.
    n_draws : int
        Number of draws of simulated noise for each test, if `k` is not given; 199 by default.
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
        How long "joint" searches.
    rng : None, int or numpy Generator
        Seed for the folds and draws; None uses a fixed seed.
    n_jobs : int
        Number of processes among which folds are distributed, and of threads that draw noise; -1 for all
        processors. Results do not depend on it. Several processes are useful only if a choice takes several
        seconds, because starting them takes one or two seconds; with few variables all folds are fitted at
        once, in one process.
    progress : None, bool or callable
        Whether to show progress. See :func:`spca`.
    robust, center, blocks, categorical, context, codes, k_em, passes
        As for :func:`rows`.
    mean, sd, given, nearest
        As for :func:`covariance`.
    **options
        Options that restrict the supports (`include`, `exclude`, `disjoint`, `together`, `nonneg`),
        `constraint` of :func:`spca`, and options of the method (`order`, `n_init`, `tol`, `max_iter` and
        those in :func:`methods`).

    Returns
    -------
    Choice
        ``.fit``, the fit; ``.k`` and ``.card``, the number of components and their cardinalities; ``.table``,
        the candidates; ``.alternatives``, two or three other fits with their options; ``.reason``, the choice
        in words; ``.notes``, remarks and explanations; ``.k_choice``, the result of
        :func:`spcastat.choose_k`, if it was called; ``.plot()``, ``.report()``. If no component both predicts
        held-out rows and exceeds noise, ``.k`` is 0, and ``.fit`` raises NoComponentsError.

    Raises
    ------
    TooFewRowsError
        If there are fewer rows than folds, or too few rows outside a fold.
    ConstantColumnError
        If a column is constant, with ``scale=True`` or ``na="em"`` or "pairwise".
    MissingValuesError
        If a column has no value; with ``na="pairwise"``, if a pair of columns has no correlation outside a
        fold.
    ComponentsError
        If k is not less than the number of variables.
    OptionError
        If a criterion needs `n_obs` and a covariance matrix was given without it.
    NoRowsError
        If cross-validation is requested for a covariance matrix.

    Notes
    -----
    A fit implies the covariance matrix Sigma = V L V' + s2 I. In element-wise cross-validation each cell of a
    held-out row is predicted from the *other* cells of that row, with the model fitted to the rows outside
    the fold: the error is (Omega x)_j / Omega_jj with Omega = Sigma^-1, and is reported relative to the error
    of the column means. Centring, scaling and the estimates within formulas are computed again for the rows
    outside each fold. A column that does not vary outside a fold has no loading in that fit, and its cells in
    the fold are predicted by the mean. A row is in one fold with its whole weight. Equal rows share a fold,
    as do rows of a cluster or block; folds depend on the values of the rows and the seed, not on their order.

    If the covariates of a formula subtract the mean of every cluster, as in ``"~ . | C(subject)"``, clusters
    are held out as a whole and centred by their own means. If ``clusters=`` is not given, the levels of a
    single factor after the bar are treated as clusters, provided that each level has two rows or more and
    there are at least as many levels as folds.

    If rows come in chunks, a random sample of at most 50,000 rows (and at most 64 million values) is drawn
    in one pass. The choice is made from this sample, as the printed output reports; ``.fit`` uses all rows.

    With ``na="em"`` or ``na="pairwise"``, means and covariances are estimated for each fold from the measured
    values of the rows outside it. A held-out cell is predicted from the other *measured* cells of its row,
    with the corresponding part of Sigma. Missing cells do not contribute to the error. The EM model has rank
    `k_em`, or k.

    The rule "worth": let g be the share of the variance of held-out cells that a fit with s nonzero loadings
    predicts. A fit with s' > s loadings is worth the additional loadings if the share that it predicts
    exceeds g by more than one standard error of the difference, paired by fold, and by more than .2 sqrt(q)
    (s' - s) g / s. Here q is the share of nonzero loadings in the sparsest fit whose error is within one such
    standard error of the smallest. The rule chooses the sparsest fit that reaches at least four fifths of the
    best prediction, such that no fit with more loadings is worth its additional loadings, and no other fit
    with at most this number of loadings predicts better. If prediction is best with all loadings, the rule
    drops loadings below .45 times the root mean square loading of their component. Errors of different fits
    are strongly correlated, so their difference varies much less than each error. The rule "1se" ignores
    this, and selects too few loadings if there are few rows (such as n = 50) or the data are skewed or
    heavy-tailed.

    With `constraint`, all candidates and all fits outside a fold satisfy the constraint. The candidates have
    equal cardinalities or the cardinalities of rotated loadings; the smallest cardinalities are not used,
    since uncorrelated scores may not exist for them. The number of components is chosen without the
    constraint. With a constraint, choosing three components of the wine data takes about ten times as long.

    Candidates are fitted quickly from several starts, unless `method` is given; ``.fit`` is the result of its
    ``.call``, an ordinary call of ``spca()``. With more than 1000 variables, a candidate retains the largest
    rotated loadings and sets the others to zero, for numbers of loadings up to all, and the call has
    ``effort="quick"`` unless another effort is given.

    Examples
    --------
    >>> import spcastat as sp
    >>> choice = sp.choose(sp.datasets.make_hastie(), k=2, cards=[2, 4, 6])
    >>> choice.card
    6
    """
    data_options, _ = divided_options(dict(locals()), (*ROW_OPTIONS, *COVARIANCE_OPTIONS))
    with listening(progress):
        table, data_options["formula"] = table_and_formula(
            "choose", data_or_formula, data, formula, imputations
        )
        one_of("rule", rule, RULES)
        one_of("family", family, ("auto", *FAMILIES))
        if share is not None:
            share = real_number("share", share, 0.0, 1.0, open_low=True)
        folds = whole_number("folds", folds, 2, MOST_FOLDS)
        repeats = None if repeats is None else whole_number("repeats", repeats, 1, MOST_FOLDS)
        jobs, seed = workers(n_jobs), seed_of(rng)
        draws, least = NoiseDraws(alpha, n_draws, seed), real_number("least", least, 0.0, np.inf)
        if kmax is not None:
            kmax = whole_number("kmax", kmax, 1, error=ComponentsError)
        refuse_controls("choose", "chooses the sparsity", options)
        refuse_other_names("choose", options, method)
        options |= given_of(**data_options)
        options |= given_of(method=method, objective=objective, effort=effort)
        if k is not None:
            k = whole_number("k", k, 1, error=ComponentsError)
            _refuse_tests(
                k,
                kmax=(kmax, None),
                least=(least, PREDICTION.least),
                alpha=(alpha, 0.05),
                n_draws=(n_draws, 199),
            )
        settings = Settings(by, rule, family, share, folds, repeats, jobs, seed)
        by_rows = options.get("together") is not None and (by is None or (isinstance(by, str) and by == "cv"))
        with advice_for_complete_rows(by_rows or needs_rows(options.get("method"))):
            value = rows_or_matrix_of("choose", table, options, covariance)
        fitting = {name: option for name, option in options.items() if name not in value.option_names}
        return _chosen(value, Asked(k, cards, kmax, least, draws, settings, fitting))


# --- the steps of choose() ------------------------------------------------------------------------


def _refuse_tests(k: int, **tests: tuple[Any, Any]) -> None:
    """Raise OptionError if k is given together with an option that only applies if k is chosen.

    `tests` contains the value and the default of each such option.
    """
    for name, (value, default) in tests.items():
        if not (value is default or (isinstance(value, int | float) and value == default)):
            raise OptionError(
                f"{name}={shown(value)} was given with k={k}; it is used only if the number of components is "
                f"chosen: leave out k= or {name}=."
            )


def _chosen(data: Data, asked: Asked) -> Choice:
    """Return the result of `choose` for its checked arguments."""
    k, cards, fitting = asked.k, asked.cards, asked.fitting
    asked = replace(asked, settings=asked.settings.with_criterion(data))
    _require_possible(data, asked)
    whole = (data if k is None else data.for_components(k)).for_method(_rows_for(fitting, k or 1, data.p))
    sample = whole.in_memory(asked.settings.seed)
    require_variance(sample)
    whole.warn_of_variances()
    _require_number_of_rows(sample, asked.settings.by, k)

    components = None
    if k is None:
        disjoint = bool(fitting.get("disjoint"))
        tests = component_tests(
            sample, asked.kmax, asked.draws, asked.least, disjoint, n_jobs=asked.settings.jobs
        )
        components = ComponentChoice(tests)
        if not components.k:
            if cards is not None:
                _require_cards(cards, sample.p)
            ratio = variance_ratio(sample.op.diagonal())
            nothing = NothingChosen(tests=tests, ratio=ratio, n=sample.n, p=sample.p)
            return Choice(None, nothing, components, _on_halves(whole, asked))
        k = components.k
        whole, sample = whole.for_components(k), sample.for_components(k)
    compared = _compared(sample, asked, k)
    return _result(whole, sample, asked, compared, components)


@dataclass(frozen=True, eq=False)
class Asked:
    """The checked arguments of `choose`, without the data.

    Attributes
    ----------
    k, kmax : int or None
    cards : sequence or None
    least : float
    draws : NoiseDraws
    settings : Settings
    fitting : dict
        Options of the fits.
    """

    k: int | None
    cards: Any
    kmax: int | None
    least: float
    draws: NoiseDraws
    settings: Settings
    fitting: dict[str, Any]


def _require_possible(data: Data, asked: Asked) -> None:
    """Raise an error if k is too large, or if rows in chunks, before being read, do not allow the fits."""
    k, cards = asked.k, asked.cards
    if k is not None and k + 1 > data.p:
        raise ComponentsError(
            f"k={shown(k)} was given for {data.p} variables; the choice compares components with the "
            f"residual variance, so give at most {max(data.p - 1, 0)}."
        )
    if not data.out_of_core:
        return
    number = k or _components_of(cards, data.p)
    wanted = path_cards(range(1, min(data.p, 50) + 1) if cards is None else cards, number, data.p)[1]
    plan = make_plan(request(asked.fitting, number, largest(wanted)), data.p)
    require_feasible(data, plan, number)
    if k is None:
        checked_numbers(data.p, data.p, asked.kmax)


def _require_cards(cards: Any, p: int) -> None:
    """Raise CardinalityError if `cards` are not possible for any number of components."""
    path_cards(cards, _components_of(cards, p), p)


def _components_of(cards: Any, p: int) -> int:
    """Return the number of components that `cards` imply: the length of the first sequence, or 1."""
    if cards is None or is_single(cards):
        return 1
    lists = [card if is_single(card) else elements(card, p) for card in elements(cards, MOST_FITS)]
    k = max(next((len(card) for card in lists if isinstance(card, (list, Mapping))), 1), 1)
    if k > p:
        raise CardinalityError(
            f"cards has {k} values, one for each component, but there are only {p} variables; give at most "
            f"{p} values."
        )
    return k


def _require_number_of_rows(data: Data, criterion: str, k: int | None) -> None:
    """Raise OptionError if a criterion or the choice of k needs the number of rows and it is not known."""
    if data.free is not None or (k is not None and criterion not in ("ebic", "bic")):
        return
    given_k = "k= with " * (k is None)
    raise OptionError(
        "n_obs was not given, and this choice depends on it: give n_obs=, the number of rows from which the "
        f"matrix was computed, or {given_k}by='is' or by='variance'."
    )


def _compared(sample: Data, asked: Asked, k: int) -> Compared:
    """Fit the candidates, and choose one of them."""
    p, cards, fitting, settings = sample.p, asked.cards, asked.fitting, asked.settings
    plan = make_plan(request(fitting, k, 1), p)
    families = families_of(settings, plan, fitting, cards, k, p)
    repeats = settings.repeats or repeats_of(sample, fitter_of(plan, k, settings.seed), settings.folds)
    parts = None
    if settings.by == "cv":
        rows = sample.rows("by='cv'")
        parts = divided(
            rows,
            settings.folds,
            repeats,
            seed=settings.seed,
            k=k,
            rank=rows.reading.k_em,
            keep_rows=bool(plan.rows_for),
        )
    plan = plan.on(sample.spec, check=False)
    groups = len(getattr(plan.solver, "together", None) or ()) or None
    if groups and settings.by == "cv" and sample.missing is not None and sample.missing.missing.any():
        raise OptionError(
            "together= was given to choose() with missing values; by='cv' predicts a group from the other "
            "groups of its row, which must be complete. Give na='drop', or by='ebic'."
        )
    found = Candidates(
        sample.op, fitter_of(plan, k, settings.seed), sample.free, parts, settings.jobs, groups
    )
    wanted = cardinalities_of(found, families, cards)
    if any(fitting.get(name) for name in RULE) and wanted:
        wanted = plan.admissible_cards(wanted, wanted, sample.columns, cards is not None)[1]
    if wanted:
        found.add(wanted)
    if cards is None and p > MOMENTS_VARIABLES and "rotated" in families:
        found.add_rotated(sizes(2 * k, p * k, CANDIDATES.sizes))
    if "partition" in families:
        found.add_partitions(partition_sizes(k, p))
    return Compared(
        found,
        select(found, settings.by, settings.rule, settings.share_kept),
        repeats,
        groups,
        "" if parts is None else parts.remark,
    )


def _options_of(candidate: Candidate, fitting: Mapping[str, Any], p: int) -> dict[str, Any]:
    """Return the arguments of `spca` that fit a candidate."""
    k, key = len(candidate.card), candidate.key
    card = list(key) if isinstance(key, tuple) else key
    if p > MOMENTS_VARIABLES and fitting.get("method") in (None, "joint"):
        fitting = {"effort": "quick", **fitting}
    if candidate.family != "partition":
        return {"k": k, "card": card, **fitting}
    groups = OBJECTIVES[fitting.get("objective") or OF_GROUPS.name].groups
    if candidate.is_whole(p) and groups is not None and groups.bound == "equal":
        return {"k": k, **fitting, "disjoint": True}
    return {"k": k, "card": card, **fitting, "disjoint": True}


def _result(
    whole: Data,
    sample: Data,
    asked: Asked,
    compared: Compared,
    components: ComponentChoice | None,
) -> Choice:
    """Return the result of `choose`.

    Parameters
    ----------
    whole, sample : Data
        All rows, and the rows in memory from which the choice is made: a sample if rows come in chunks.
    asked : Asked
        The arguments, with which the choice is repeated on other rows.
    compared : Compared
    components : ComponentChoice or None
    """
    found, settings = compared.found, asked.settings
    function = FITS[whole.constructor]
    calls = [
        Call(function, {**_options_of(one, asked.fitting, whole.p), "progress": False}) for one in found.found
    ]
    selected, fit = _selected_fit(whole, sample, settings, compared, calls)
    chosen, V = found.found[selected.place], fit._state.V
    candidates = table(found)
    card = np.count_nonzero(V, axis=0).tolist() if chosen.family == "partition" else chosen.key
    card = list(card) if isinstance(card, (tuple, list)) else card
    reasons = Chosen(
        table=candidates.assign(
            chosen=np.arange(len(candidates)) == selected.place, call=[one.text(whole) for one in calls]
        ),
        state=fit._state,
        card=card,
        by=settings.by,
        rule=settings.rule,
        share=settings.share_kept,
        folds=settings.folds,
        repeats=compared.repeats,
        selected=selected,
        dense=found.dense,
        dense_error=float(found.errors.error[-1]) if settings.by == "cv" else None,
        groups=compared.groups,
        sampling_text=sample.sampling_text,
        remarks=[
            *(about_rows(sample) if components is None else []),
            *[Remark(compared.remark)] * bool(compared.remark),
        ],
    )
    return Choice(fit, reasons, components, _on_halves(whole, asked))


def _selected_fit(
    whole: Data, sample: Data, settings: Settings, compared: Compared, calls: Sequence[Call]
) -> tuple[Selected, SpcaResult]:
    """Return the selected candidate, and its fit to all rows by its call.

    This fit replaces the fit of the candidate, which was found together with the other candidates, so that
    the printed choice describes the fit that is returned. Criteria that are computed from the fits may then
    be better for another candidate, which is fitted in turn.
    """
    found, selected = compared.found, compared.chosen
    fits: dict[int, SpcaResult] = {}
    while selected.place not in fits:
        place = selected.place
        call, k = calls[place], len(found.found[place].card)
        arguments = {name: value for name, value in call.arguments.items() if name != "progress"}
        plan = make_plan(request_of(arguments), whole.p).on(whole.spec, check=False)
        fits[place] = finished(whole, plan, run(whole.op, plan, k, np.random.default_rng(0)), call)
        if whole is sample:
            found.keep(found.found[place], fits[place]._state.V)
            if settings.by != "cv":  # cross-validation errors come from fits to parts of the rows
                selected = select(found, settings.by, settings.rule, settings.share_kept)
    return selected, fits[selected.place]


# --- choices on halves of the rows ----------------------------------------------------------------


def _on_halves(data: Data, asked: Asked) -> Callable[[int, int], tuple[list[np.ndarray], str]] | None:
    """Return a function of n and the seed that calls :func:`halves`; None if the data cannot be divided."""
    return (
        partial(halves, data, replace(asked, settings=replace(asked.settings, jobs=1)))
        if data.divisible
        else None
    )


def halves(data: Data, asked: Asked, n: int, seed: int) -> tuple[list[np.ndarray], str]:
    """Return the loadings, shape (p, k), that :func:`choose` chooses in each of n random halves of the rows.

    If no component exceeds noise in a half, its loadings have the shape (p, 0). Columns that do not vary in a
    half, and levels that do not occur in it, have loadings of zero; the second result reports how often.

    Parameters
    ----------
    data : Data
        Rows in memory; rows that belong together are in the same half.
    asked : Asked
        The arguments of :func:`choose`.
    n, seed : int
    """
    rows = data.rows("stability()")
    groups = rows.row_groups.single_rows("stability()")
    loadings, parts = [], []
    with stage("halves", n, "choices") as advance:
        for number in range(n):
            places = groups.halves(draw_generator(seed, number))[0].rows
            loadings.append(_chosen_among(rows, asked, places))
            parts.append(np.isin(np.arange(rows.n), places))
            advance(1)
    constant = constant_among(rows.measured, parts)
    return loadings, constant_remark(constant, "halves", rows.columns)


def _chosen_among(rows: RowData, asked: Asked, places: np.ndarray) -> np.ndarray:
    """Return the loadings, shape (p, k), that :func:`choose` chooses for some of the rows."""
    with listening(False):
        choice = _chosen(rows.part(places), asked)
    if not choice.k:
        return np.zeros((rows.p, 0))
    return choice.fit.loadings.reindex(rows.columns, fill_value=0.0).to_numpy()


# --- methods and advice -----------------------------------------------------------------------------


def _rows_for(fitting: Mapping[str, Any], k: int, p: int) -> str:
    """Return the name of the method if it needs rows, else an empty string."""
    if not fitting:
        return ""
    return make_plan(request(fitting, k, 1), p, _hint).rows_for


def _hint(name: str) -> tuple[str, str]:
    """Return advice about an option that no method has."""
    return hint("choose", arguments_of(choose, hints.ScanOptions), {}, (), name)
