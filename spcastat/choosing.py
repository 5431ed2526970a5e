"""Functions that choose the number of components, `choose_k`, and their cardinalities, `choose`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Unpack, overload

import numpy as np

from spcastat import argument_types as types
from spcastat.api import FITS, finished, request_of
from spcastat.assess import candidates
from spcastat.assess.candidates import RULES, CardinalitySet, Fitter, path_cards
from spcastat.assess.component_tests import (
    Draws,
    about_rows,
    checked_numbers,
    component_tests,
    require_variance,
)
from spcastat.assess.constant_columns import constant_among, constant_remark
from spcastat.assess.folds import MOMENTS, divided
from spcastat.assess.jobs import workers
from spcastat.assess.unequal_cardinalities import Selected, select
from spcastat.config import draw_generator, one_of, real_number, seed_of, shown, whole_number
from spcastat.errors import ComponentsError, NoComponentsError, OptionError
from spcastat.fit.arguments import arguments_of, hint, refuse_controls, refuse_other_names, with_table_by_name
from spcastat.fit.call import Call
from spcastat.fit.plan import RULE, Plan, Request, make_plan, require_feasible
from spcastat.inputs.constructors import data_of, given_of, table_and_formula
from spcastat.inputs.data import Data
from spcastat.inputs.row_data import RowData
from spcastat.linalg.operators import Operator
from spcastat.progress import listening, stage
from spcastat.results.choice import Choice, ComponentChoice
from spcastat.search.default import together as fitted_together
from spcastat.search.joint_method import Joint
from spcastat.show.choice_facts import Chosen

# --- requests of fits -----------------------------------------------------------------------------


def request(fitting: Mapping[str, Any], k: int, card: Any) -> Request:
    """Return the request of a call of :func:`spcastat.spca` with these options and cardinalities."""
    return request_of({**fitting, "k": k, "card": card})


def largest(wanted: Sequence[CardinalitySet]) -> CardinalitySet:
    """Return the largest cardinality of each component."""
    return tuple(map(max, zip(*wanted, strict=True)))


# --- the number of components ---------------------------------------------------------------------


@overload
def choose_k(
    data: types.Rows,
    *,
    formula: str | None = None,
    n_obs: types.Whole | None = None,
    covariance: bool | None = None,
    **options: Unpack[types.ComponentChoiceKeywords],
) -> ComponentChoice: ...
@overload
def choose_k(
    formula: str, /, *, data: types.Rows, **options: Unpack[types.ComponentChoiceKeywords]
) -> ComponentChoice: ...
@with_table_by_name
def choose_k(  # pyright: ignore[reportInconsistentOverload]  # data= is a keyword
    data_or_formula: Any = None,
    /,
    *,
    data: Any = None,
    kmax: types.Whole | None = None,
    sparse_card: types.Whole | None = None,
    alpha: float = 0.05,
    n_draws: int = 199,
    formula: str | None = None,
    scale: types.Scale | None = None,
    na: types.Missing = "raise",
    weights: str | types.Vector | None = None,
    weights_are: types.WeightsAre = "frequency",
    clusters: types.ByRow | None = None,
    strata: types.ByRow | None = None,
    block_length: int | Literal["auto"] | None = None,
    n_obs: types.Whole | None = None,
    covariance: bool | None = None,
    rng: types.Rng = None,
    progress: types.Progress = None,
    **options: Any,
) -> ComponentChoice:
    """Find how many components exceed noise.

    Parameters
    ----------
    data : DataFrame, array, sparse matrix, polars or pyarrow table of shape (n, p); or (p, p)
        Rows, as for :func:`spca`, or a covariance or correlation matrix; also what :func:`rows` or
        :func:`covariance` returned. The first argument without a name, or ``data=``.
    kmax : int, optional
        Largest number of components that are tested; by default 8, or more until two in a row are noise.
    sparse_card : int, optional
        Variables in a component of the sequential sparse test; 1.5 log(p) by default.
    alpha : float
        Level of parallel analysis; the two sequential tests use a fifth of it.
    n_draws : int
        Number of draws of simulated noise for each test; up to four times as many are made if a p-value is
        too near its level.
    formula : str, optional
        One-sided, as in ``"~ a + log(b)"``; also the first argument if the table is given as ``data=``. See
        :func:`rows`.
    scale : bool, {"blocks", "raw blocks", "mixed"}, or array-like of shape (p,), optional
        Whether to divide columns by their standard deviations; not by default. See :func:`rows`.
    na : {"raise", "drop", "em", "pairwise"}
        How to treat missing values. See :func:`rows` and Notes.
    weights : str or array-like of shape (n,), optional
        Nonnegative weights of the rows. See :func:`rows`.
    weights_are : {"frequency", "sampling"}
        Whether weights are numbers of equal rows, or those of a survey. See :func:`rows`.
    clusters, strata : str or array-like of shape (n,), optional
        Labels of the rows that belong together, and of the strata of the sample. See :func:`rows`.
    block_length : int or "auto", optional
        For dependent rows in the order of time. See :func:`rows`.
    n_obs : int, optional
        Number of rows from which a covariance matrix was computed; needed for one.
    covariance : bool, optional
        Whether `data` is a covariance matrix. By default a symmetric frame with equal row and column labels
        is treated as one.
    rng : None, int or numpy Generator
        Seed of the draws; None uses a fixed seed.
    progress : None, bool or callable
        Whether to show progress. See :func:`spca`.
    **options
        Options of the data: `center`, `blocks`, `categorical`, `context`, `k_em` and `passes` of :func:`rows`
        for rows; `mean`, `sd`, `blocks`, `given` and `nearest` of :func:`covariance` for a covariance matrix.

    Returns
    -------
    ComponentChoice
        ``.k``, the number of components; ``.parallel``, ``.deflated`` and ``.sequential``, the numbers P, D
        and Q of the three tests, and ``.major``, M (see Notes); ``.table``, eigenvalues and p-values of the
        components; ``.reason``, the choice in words; ``.spectrum``, all eigenvalues; ``.plot()``.

    Raises
    ------
    OptionError
        If a covariance matrix is given without `n_obs` or has polychoric correlations, or a value is not
        allowed.

    Notes
    -----
    Noise is simulated by flipping signs of the centred (and scaled) values at random, which keeps the norms
    of rows and columns and removes the correlations (Hong, Sheng and Dobriban, 2020). The n centred rows are
    first rotated to n - 1, so that noise has the rank of the data. The choice combines
    three tests, k = max(min(P, D, M), Q):

    - P, parallel analysis, keeps the leading components whose eigenvalues are exceeded by the eigenvalue of
      the same rank in at most a share `alpha` of the draws. In pure noise, rows of very unequal norms do not
      look like components; next to real ones, P may count them.
    - D compares the first eigenvalue of the residuals given the earlier components with sign flips of these
      residuals, at the level `alpha` / 5.
    - Q does the same with sparse components, and so finds weak components that strong ones mask in P. Each is
      removed before the next test, extended to all variables correlated with it; or, if the leading principal
      component weights a quarter of the variables or more (1 / sum(u^4) of them in effect) and exceeds that
      of noise, this component is removed. A component that explains less than .1 of the mean correlation of
      its variables, or less than .05 when extended, is not counted, as with many rows any small correlation
      is significant; if it is significant, none is counted after it.
    - M counts those of the leading min(P, D) components, rotated by varimax, that explain at least .1, too.
      The others are detectable but minor: they are reported but not chosen.

    Drawing stops once the outcome of a test is certain. While a p-value is within two of its standard errors
    of the level, `n_draws` draws are added, up to four times `n_draws`, so that the number seldom depends on
    the seed; a larger `n_draws` makes it more certain. A component whose variance exceeds the mean of the
    draws by so many standard deviations that its p-value is below the level for any distribution of the draws
    (Cantelli's inequality) needs no further draws. A level of `alpha` / 5 needs 5 / `alpha` - 1 draws;
    with fewer, the level of D and Q is the lowest possible, 1 / (`n_draws` + 1).

    The signs of the indicators of a factor, of the columns of a polynomial, and of all terms of a formula
    that read a common column are flipped together, since they are correlated by construction.

    A covariance matrix is treated as the sample covariance matrix of normal rows; a matrix of polychoric
    correlations from :func:`spcastat.correlation` raises an error, as these vary more. For more than 20
    million cells, draws are made from the covariance matrix by the central limit theorem, with the fourth
    moments of the rows and the norms of the largest rows, so that these draws also allow for rows of very
    unequal norms. The signs of a weighted row, and of a variable in a cluster or block, are flipped together.
    From rows in chunks a sample of at most 50,000 is drawn in one pass (64 million values, if these are
    fewer). One very large row can hide all components, or appear as one. If one of the dense rows in memory
    has more than 2.5 times the median size, with the variables standardised by median and median absolute
    deviation, then all rows of more than 1.5 times the median size are first shrunk to that size. The
    eigenvalues are computed from the shrunk rows; each variable keeps its variance. Rows that change the
    number are reported.

    Correlated noise, as between neighbours in time or space, is not noise in this sense: all tests find
    components in it, unless `clusters` or `block_length` say which rows belong together.

    With ``na="em"`` or ``na="pairwise"``, missing values are replaced by the mean of their column, in the
    data and in the draws, and measured values are scaled to the variance of the column. A model of the
    missing values is not used, as it would create as many components in noise as its rank. The power is
    reduced, as with fewer rows.

    Examples
    --------
    >>> import spcastat as sp
    >>> sp.choose_k(sp.datasets.load_pitprops(), n_obs=180).k
    6
    """
    with listening(progress):
        data, formula = table_and_formula("choose_k", data_or_formula, data, formula)
        refuse_other_names("choose_k", options)
        draws = Draws(alpha, n_draws, seed_of(rng))
        options |= given_of(formula=formula, scale=scale, na=na, weights=weights, weights_are=weights_are)
        options |= given_of(clusters=clusters, strata=strata, block_length=block_length, n_obs=n_obs)
        value = data_of("choose_k", data, options, covariance, whole=choose_k)
        if value.out_of_core:  # before rows are read
            checked_numbers(value.p, value.p, kmax, sparse_card, False)
        value.variance_check  # noqa: B018  # may warn
        return ComponentChoice(component_tests(value.in_memory(draws.seed), kmax, sparse_card, draws))


# --- the cardinalities ----------------------------------------------------------------------------


#: Default candidates.
GRID = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 50)
#: Further ones, and the number of variables, if the prediction still improves at the last.
FURTHER = (100, 200, 400, 700)
#: Default number of divisions into folds, if that takes little time.
REPEATS = 4
#: Up to this many cells of the data, several divisions into folds make a difference, and take little time.
FEW_CELLS = 1_000_000
#: Whether all components have the same cardinality, each has its own, or the better of both.
EACH = ("auto", "equal", "free")
#: Largest number of folds and of repeats.
MOST_FOLDS = 1000


@overload
def choose(
    data: types.Rows,
    k: types.Whole | None = None,
    *,
    cards: types.Cards | None = None,
    by: Literal["cv", "ebic", "bic", "is", "variance"] | None = None,
    rule: Literal["worth", "1se", "paired", "min"] = "worth",
    each: Literal["auto", "equal", "free"] = "auto",
    share: float = 0.9,
    folds: types.Whole = 5,
    repeats: int | None = None,
    kmax: types.Whole | None = None,
    alpha: float = 0.05,
    n_draws: int = 199,
    formula: str | None = None,
    scale: types.Scale | None = None,
    na: types.Missing = "raise",
    weights: str | types.Vector | None = None,
    weights_are: types.WeightsAre = "frequency",
    clusters: types.ByRow | None = None,
    strata: types.ByRow | None = None,
    block_length: int | Literal["auto"] | None = None,
    n_obs: types.Whole | None = None,
    covariance: bool | None = None,
    method: types.MethodName | None = None,
    objective: types.Objective | None = None,
    effort: types.Effort | None = None,
    rng: types.Rng = None,
    n_jobs: int = 1,
    progress: types.Progress = None,
    **options: Unpack[types.ScanOptions],
) -> Choice: ...
@overload
def choose(
    formula: str,
    /,
    k: types.Whole | None = None,
    *,
    data: types.Rows,
    **options: Unpack[types.ChoiceKeywords],
) -> Choice: ...
@with_table_by_name
def choose(  # pyright: ignore[reportInconsistentOverload]  # data= is a keyword
    data_or_formula: Any = None,
    /,
    k: types.Whole | None = None,
    *,
    data: Any = None,
    cards: types.Cards | None = None,
    by: Literal["cv", "ebic", "bic", "is", "variance"] | None = None,
    rule: Literal["worth", "1se", "paired", "min"] = "worth",
    each: Literal["auto", "equal", "free"] = "auto",
    share: float = 0.9,
    folds: types.Whole = 5,
    repeats: int | None = None,
    kmax: types.Whole | None = None,
    alpha: float = 0.05,
    n_draws: int = 199,
    formula: str | None = None,
    scale: types.Scale | None = None,
    na: types.Missing = "raise",
    weights: str | types.Vector | None = None,
    weights_are: types.WeightsAre = "frequency",
    clusters: types.ByRow | None = None,
    strata: types.ByRow | None = None,
    block_length: int | Literal["auto"] | None = None,
    n_obs: types.Whole | None = None,
    covariance: bool | None = None,
    method: types.MethodName | None = None,
    objective: types.Objective | None = None,
    effort: types.Effort | None = None,
    rng: types.Rng = None,
    n_jobs: int = 1,
    progress: types.Progress = None,
    **options: Any,
) -> Choice:
    """Choose the cardinalities of sparse components and, if `k` is not given, their number.

    Parameters
    ----------
    data : DataFrame, array, sparse matrix, polars or pyarrow table of shape (n, p); or (p, p)
        Rows, as for :func:`spca`, or a covariance or correlation matrix; also what :func:`rows` or
        :func:`covariance` returned. The first argument without a name, or ``data=``.
    k : int, optional
        Number of components, less than the number of variables; by default from :func:`choose_k`.
    cards : sequence of ints, optional
        Cardinalities to choose from, as in ``cards=range(2, 9)``; numbers of groups with `together`. By
        default 1 to 8, 10, 12, 15, 20, 30, 50 up to the number of variables (groups), and all if there are 20
        or fewer. If more predict better, then 100, 200, 400, 700 and all of up to 1000 variables as well.
    by : {"cv", "ebic", "bic", "is", "variance"}, optional
        Cross-validation, the default with rows; the extended BIC, the default for a covariance matrix with
        `n_obs`; the BIC of Allen and Maletic-Savatic; the index of sparseness; or the sparsest fit that keeps
        the `share` of dense PCA's variance, all components together (``spca(variance=)`` keeps it after every
        component, unless ``promise="total"``).
    rule : {"worth", "1se", "paired", "min"}
        "worth" is the sparsest fit to which no further loadings are worth adding. Further loadings are worth
        adding if they improve the prediction by more than one standard error of the difference, paired by
        fold, and if their improvement per loading is at least a fifth of the average improvement per loading
        of the fit. The fraction is 1/5 if prediction is best with all loadings, and sqrt(q)/5 if the sparsest
        best fit has a share q of them; at least four fifths of what the best fit explains are kept. "1se" is
        the sparsest fit whose error is within one standard error of the smallest error; "paired" the sparsest
        whose error exceeds the smallest by less than one standard error of that difference ("cv" only); "min"
        the best value. With "ebic", a difference of 2 takes the place of one standard error, and "worth" uses
        the prediction error within the data.
    each : {"auto", "equal", "free"}
        "equal": one cardinality for all components. "free" ("cv" and "ebic" only): one for each. Starting
        from the equal choice, the cardinality of one component at a time is chosen by the same rule, with the
        others fixed, until none changes or 200 sets of cardinalities have been tried; "worth" then compares
        with what a component explains beyond its first loading, and requires a quarter instead of a fifth.
        "auto" tries "free" under the rule "worth" and up to 1000 variables. It takes the result if that has
        at least a tenth fewer loadings and those saved are not worth adding; if it has as many loadings and
        predicts better by more than one standard error; or if it has more and these are worth adding.
    share : float
        Share of the variance to keep, for ``by="variance"``.
    folds : int
        Number of folds.
    repeats : int, optional
        Number of divisions into folds, over which errors are averaged; by default 4 where that takes little
        time (by the default method without rules, up to 200 variables and a million cells), and 1 otherwise.
    kmax : int, optional
        Largest number of components that are tested, if `k` is not given. See :func:`choose_k`.
    alpha : float
        Level of parallel analysis, if `k` is not given. See :func:`choose_k`.
    n_draws : int
        Largest number of draws of simulated noise for each test, if `k` is not given.
    formula : str, optional
        One-sided, as in ``"~ a + log(b)"``; also the first argument if the table is given as ``data=``. See
        :func:`rows`.
    scale : bool, {"blocks", "raw blocks", "mixed"}, or array-like of shape (p,), optional
        Whether to divide columns by their standard deviations; not by default. See :func:`rows`.
    na : {"raise", "drop", "em", "pairwise"}
        How to treat missing values. See :func:`rows`.
    weights : str or array-like of shape (n,), optional
        Nonnegative weights of the rows. See :func:`rows`.
    weights_are : {"frequency", "sampling"}
        Whether weights are numbers of equal rows, or those of a survey. See :func:`rows`.
    clusters, strata : str or array-like of shape (n,), optional
        Labels of the rows that belong together, and of the strata of the sample. See :func:`rows`.
    block_length : int or "auto", optional
        For dependent rows in the order of time. See :func:`rows`.
    n_obs : int, optional
        Number of rows from which a covariance matrix was computed.
    covariance : bool, optional
        Whether `data` is a covariance matrix. By default a symmetric frame with equal row and column labels
        is treated as one.
    method : str, optional
        A method that takes a cardinality; "joint" by default.
    objective : {"adjusted", "pev", "least_squares"}, optional
        What is maximised. See :func:`spca`.
    effort : {"quick", "auto", "thorough"}, optional
        How long "joint" searches.
    rng : None, int or numpy Generator
        Seed of folds and draws; None uses a fixed seed.
    n_jobs : int
        Number of processes among which folds are distributed (not used for unequal cardinalities); -1 for
        all processors. Results do not depend on it.
    progress : None, bool or callable
        Whether to show progress. See :func:`spca`.
    **options
        Options of the rules (`include`, `exclude`, `disjoint`, `together`, `nonneg`), of the method (`order`,
        `n_init`, `tol`, `max_iter` and those in :func:`methods`), and of the data: `center`, `blocks`,
        `categorical`, `context`, `k_em` and `passes` of :func:`rows` for rows; `mean`, `sd`, `blocks`,
        `given` and `nearest` of :func:`covariance` for a covariance matrix.

    Returns
    -------
    Choice
        ``.card`` and ``.k``, the chosen cardinalities and number of components; ``.table``, the candidates;
        ``.reason``, the choice in words; ``.fit``, the fit; ``.k_choice``, the result of
        :func:`spcastat.choose_k`, if it was called; ``.plot()``, ``.report()``.

    Raises
    ------
    TooFewRowsError
        If there are fewer rows than folds, or too few outside a fold.
    ConstantColumnError
        If a column is constant, with ``scale=True`` or ``na="em"`` or "pairwise".
    MissingValuesError
        If a column has no value; with ``na="pairwise"``, if a pair of columns has no correlation outside a
        fold.
    ComponentsError
        If k is not less than the number of variables, or no component exceeds noise.
    OptionError
        If a criterion needs `n_obs` and a covariance matrix was given without it.
    NoRowsError
        If cross-validation is requested for a covariance matrix.

    Notes
    -----
    A fit implies the covariance matrix Sigma = V L V' + s2 I. In element-wise cross-validation each cell of a
    held-out row is predicted from the *other* cells of that row, with the model fitted to the rows outside
    the fold: the error is (Omega x)_j / Omega_jj with Omega = Sigma^-1, and is reported relative to the error
    of the column means. Centring, scaling and formulas that estimate from rows are repeated without each
    fold; a column that does not vary without a fold has no loading there, and its cells in the fold are
    predicted by the mean. A weighted row is in one fold with its whole weight. Equal rows share a fold, as
    do rows of a cluster or block; folds depend on the values of the rows and the seed, not on their order.

    If the covariates of a formula subtract the mean of every cluster, as in ``"~ . | C(subject)"``, clusters
    are held out as a whole and centred by their own rows. The levels of a single factor after the bar are
    such clusters if ``clusters=`` is not given, each has two rows or more, and there is one for each fold.

    Of rows in chunks a sample of at most 50,000 is drawn in one pass (64 million values, if these are fewer).
    The choice is made from it, as the print says; ``.fit`` uses all rows.

    With ``na="em"`` or ``na="pairwise"``, means and covariances are estimated without each fold from the
    measured values of the other rows. A held-out cell is predicted from the other *measured* cells of its
    row, with the corresponding part of Sigma; missing cells have no error. The EM model has rank `k_em`, or
    k.

    Candidates are fitted quickly from several starts, unless `method` is given; ``.fit`` is the result of
    ``spca(data, k, card)`` with the same options.

    If the data are not exactly sparse, prediction is best with nearly all loadings, and the choice is a
    matter of interpretation: the printout says so, and shows the choices of other criteria. Loadings below
    .45 of the root mean square of their component are then dropped. Errors at different cardinalities are
    strongly correlated, so their difference varies much less than either. The rule "1se" does not use this,
    and chooses too few loadings for few rows (n = 50, say) and for skewed or heavy-tailed data.

    Examples
    --------
    >>> import spcastat as sp
    >>> choice = sp.choose(sp.datasets.make_hastie(), k=2, cards=[2, 4, 6])
    >>> choice.card
    [6, 4]
    """
    with listening(progress):
        data, formula = table_and_formula("choose", data_or_formula, data, formula)
        one_of("rule", rule, RULES)
        one_of("each", each, EACH)
        share = real_number("share", share, 0.0, 1.0, open_low=True)
        folds = whole_number("folds", folds, 2, MOST_FOLDS)
        repeats = None if repeats is None else whole_number("repeats", repeats, 1, MOST_FOLDS)
        jobs, seed = workers(n_jobs), seed_of(rng)
        draws = Draws(alpha, n_draws, seed)
        if kmax is not None:
            kmax = whole_number("kmax", kmax, 1, error=ComponentsError)
        refuse_controls("choose", "chooses the sparsity", options)
        refuse_constraint(options)
        refuse_other_names("choose", options, method)
        options |= given_of(formula=formula, scale=scale, na=na, weights=weights, weights_are=weights_are)
        options |= given_of(clusters=clusters, strata=strata, block_length=block_length, n_obs=n_obs)
        options |= given_of(method=method, objective=objective, effort=effort)
        if k is not None:
            k = whole_number("k", k, 1, error=ComponentsError)
        how = Settings(by, rule, each, share, folds, repeats, jobs, seed)
        value = data_of("choose", data, options, covariance)
        fitting = {name: option for name, option in options.items() if name not in value.option_names}
        return _chosen(value, Asked(k, cards, kmax, draws, how, fitting))


def refuse_constraint(options: Mapping[str, Any]) -> None:
    """Refuse a constraint, under which candidates are not fitted."""
    if options.get("constraint") is not None:
        raise OptionError(
            f"constraint={shown(options['constraint'])} was given to choose(), which compares components "
            "without a constraint: leave it out, and give it to spca() or spca_cov() with the chosen k and "
            "card."
        )


# --- the steps of choose() ------------------------------------------------------------------------


def _chosen(data: Data, call: Asked) -> Choice:
    """Return the result of `choose` for its checked arguments."""
    k, cards, kmax, fitting = call.k, call.cards, call.kmax, call.fitting
    how = replace(call.how, by=_criterion(call.how.by, call.how.rule, call.how.each, data))
    _require_possible(data, fitting, k, cards, kmax)
    whole = (data if k is None else data.for_components(k)).for_method(_rows_for(fitting, k or 1, data.p))
    sample = whole.in_memory(how.seed)
    require_variance(sample)
    whole.variance_check  # noqa: B018  # may warn
    _require_number_of_rows(sample, how.by)

    components = None
    if k is None:
        components = ComponentChoice(component_tests(sample, kmax, None, call.draws))
        k = _number_chosen(components, sample.op)
        whole, sample = whole.for_components(k), sample.for_components(k)
    compared = _compared(sample, fitting, how, k, cards)
    return _result(whole, sample, how, compared, components, call)


@dataclass(frozen=True, eq=False)
class Asked:
    """The checked arguments of `choose`, without the data.

    Attributes
    ----------
    k, kmax : int or None
    cards : sequence or None
    draws : Draws
    how : Settings
    fitting : dict
        Options of the fits.
    """

    k: int | None
    cards: Any
    kmax: int | None
    draws: Draws
    how: Settings
    fitting: dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """The checked arguments of `choose` on how cardinalities are chosen.

    Attributes
    ----------
    by : str or None
        None for the default of the data.
    rule, each : str
    share : float
    folds : int
    repeats : int or None
        None for the default number.
    jobs, seed : int
    """

    by: Any
    rule: str
    each: str
    share: float
    folds: int
    repeats: int | None
    jobs: int
    seed: int


@dataclass(frozen=True, eq=False)
class Compared:
    """The fitted candidates, and the choice among them.

    Attributes
    ----------
    found : Candidates
    chosen : Selected
    plan : Plan
        The plan of the fits, for any cardinality.
    repeats : int
        Number of divisions into folds.
    groups : int or None
        Number of groups of variables, if cardinalities count these.
    remark : str
        How often variables do not vary outside a fold.
    """

    found: candidates.Candidates
    chosen: Selected
    plan: Plan
    repeats: int
    groups: int | None
    remark: str


def _require_possible(
    data: Data, fitting: Mapping[str, Any], k: int | None, cards: Any, kmax: int | None
) -> None:
    """Raise an error if k is too large, or if rows in chunks, before they are read, do not allow the fits."""
    if k is not None and k + 1 > data.p:
        raise ComponentsError(
            f"k={shown(k)} was given for {data.p} variables; the choice compares components with the "
            f"residual variance, so give at most {max(data.p - 1, 0)}."
        )
    if not data.out_of_core:
        return
    wanted = path_cards(_candidates(cards, data.p), k or 1, data.p)[1]
    plan = make_plan(request(fitting, k or 1, largest(wanted)), data.p)
    require_feasible(data, plan, k or 1)
    if k is None:
        checked_numbers(data.p, data.p, kmax, None, False)


def _require_number_of_rows(data: Data, criterion: str) -> None:
    """Raise OptionError if a criterion depends on the number of rows, and this is not known."""
    if criterion in ("ebic", "bic") and data.free is None:
        raise OptionError(
            f"by={criterion!r} depends on the number of rows, and n_obs is not given; give n_obs=, the "
            "number of rows behind the matrix, or use by='is' or by='variance'."
        )


#: Variances that differ by more than this factor may hide components of the columns of small variance.
UNEQUAL = 10.0


def _number_chosen(components: ComponentChoice, op: Operator) -> int:
    """Return the chosen number of components; raise NoComponentsError if there is none.

    Unless they are scaled, the variances of the columns in `op` may differ much.
    """
    if components.k == 0:
        variances = op.diagonal()
        variances = variances[variances > 0]
        ratio = variances.max() / variances.min() if variances.size else 1.0
        if ratio > UNEQUAL:
            raise NoComponentsError(
                "No component is chosen. Give scale=True if the units of the columns differ: their variances "
                f"differ by a factor of {ratio:.2g}, and columns of large variance hide the others. Give "
                "k= to choose cardinalities nevertheless."
            )
        lead = "No component is clear enough" if components.parallel else "No component exceeds noise"
        raise NoComponentsError(f"{lead}. {components.reason} Give k= to choose cardinalities nevertheless.")
    return components.k


def _compared(sample: Data, fitting: Mapping[str, Any], how: Settings, k: int, cards: Any) -> Compared:
    """Fit the candidates, and choose one of them; `cards` are those of the call."""
    p = sample.p
    keys, wanted = path_cards(_candidates(cards, p), k, p)
    if how.each == "free" and any(isinstance(key, tuple) for key in keys):
        raise OptionError("cards holds sequences; with each='free' give numbers, for every component.")
    plan = make_plan(request(fitting, k, 1), p)
    repeats = how.repeats or _repeats(sample, _fitter(plan, k, how.seed), how.folds)
    parts = None
    if how.by == "cv":
        rows = sample.rows("by='cv'")
        parts = divided(
            rows,
            how.folds,
            repeats,
            seed=how.seed,
            k=k,
            rank=rows.reading.k_em,
            keep_rows=bool(plan.rows_for),
        )
    plan = plan.on(sample.spec, check=False)
    groups = len(getattr(plan.solver, "together", None) or ()) or None
    if groups and how.by == "cv" and sample.missing is not None and sample.missing.missing.any():
        raise OptionError(
            "together= was given to choose() with missing values; by='cv' predicts a group from the "
            "others of its row, which must be complete. Give na='drop', or by='ebic'."
        )
    if groups and cards is None:
        keys, wanted = path_cards(_candidates(None, groups), k, p)
    ruled = any(fitting.get(name) for name in RULE)
    if ruled:
        keys, wanted = plan.allowed(keys, wanted, sample.columns, cards is not None)
    fitters = _fitter(plan, k, how.seed), Fitter(k, plan)
    found = candidates.Candidates(sample.op, *fitters, sample.free, parts, how.jobs, groups)
    found.add(wanted)
    if cards is None and not ruled:
        keys, wanted = _extended(found, keys, wanted, how.by, how.share)
    chosen = select(found, keys, wanted, how.by, how.rule, how.each, how.share)
    return Compared(found, chosen, plan, repeats, groups, "" if parts is None else parts.remark)


def _result(
    whole: Data,
    sample: Data,
    how: Settings,
    compared: Compared,
    components: ComponentChoice | None,
    asked: Asked,
) -> Choice:
    """Return the result of `choose`.

    Parameters
    ----------
    whole, sample : Data
        All rows, and those in memory from which the choice is made: a sample if rows come in chunks.
    how : Settings
    compared : Compared
    components : ComponentChoice or None
    asked : Asked
        The arguments that repeat the choice on other rows.
    """
    found, chosen = compared.found, compared.chosen
    each_card, card = chosen.cards[chosen.place], chosen.keys[chosen.place]
    card = list(card) if isinstance(card, tuple) else card
    arguments = {"k": len(each_card), "card": card, **asked.fitting}
    call = Call(FITS[whole.constructor], {**arguments, "progress": False})
    best = found.search(each_card) if whole is sample else found.final.run(whole.op, each_card)
    fit = finished(whole, compared.plan.with_card(each_card), best, call)
    table = candidates.table(found, chosen.cards, chosen.keys)
    reasons = Chosen(
        table=table.assign(chosen=np.arange(len(table)) == chosen.place),
        state=fit._state,
        card=card,
        by=how.by,
        rule=how.rule,
        share=how.share,
        folds=how.folds,
        repeats=compared.repeats,
        selected=chosen,
        dense=float(found.errors(chosen.cards).error[-1]) if how.by == "cv" else None,
        groups=compared.groups,
        call=call.text(whole),
        drawn=sample.drawn,
        remarks=[*(about_rows(sample) if components is None else []), *filter(None, [compared.remark])],
    )
    repeat = None
    if whole.divisible:
        repeat = partial(halves, whole, replace(asked, how=replace(asked.how, jobs=1)))
    return Choice(fit, reasons, components, repeat)


# --- choices on halves of the rows ----------------------------------------------------------------


def halves(data: Data, asked: Asked, n: int, seed: int) -> tuple[list[np.ndarray], str]:
    """Return the loadings, shape (p, k), that :func:`choose` chooses in each of n random halves of the rows.

    Without a component that stands out from noise they have the shape (p, 0). Columns that do not vary in a
    half, and levels that do not occur in it, have loadings of zero there; the second result says how often.

    Parameters
    ----------
    data : Data
        Rows in memory; rows that belong together are in the same half.
    asked : Asked
        The arguments of :func:`choose`.
    n, seed : int
    """
    rows = data.rows("stability()")
    loadings, parts = [], []
    with stage("halves", n, "choices") as advance:
        for number in range(n):
            places = np.sort(rows.row_groups.halves(draw_generator(seed, number))[0].rows)
            loadings.append(_chosen_among(rows, asked, places))
            parts.append(np.isin(np.arange(rows.n), places))
            advance(1)
    constant = constant_among(rows.measured, parts)
    return loadings, constant_remark(constant, "halves", rows.columns)


def _chosen_among(rows: RowData, asked: Asked, places: np.ndarray) -> np.ndarray:
    """Return the loadings, shape (p, k), that :func:`choose` chooses for some of the rows."""
    try:
        with listening(False):
            choice = _chosen(rows.part(places), asked)
    except NoComponentsError:
        return np.zeros((rows.p, 0))
    return choice.fit.loadings.reindex(rows.columns, fill_value=0.0).to_numpy()


# --- defaults -------------------------------------------------------------------------------------


def _candidates(cards: Any, p: int) -> Any:
    """Return the candidates of the call, or the default ones for p variables."""
    if cards is not None:
        return cards
    return sorted({card for card in GRID if card <= p} | ({p} if p <= 20 else set()))


def _extended(
    found: candidates.Candidates, keys: list[Any], cards: list[CardinalitySet], by: str, share: float
) -> tuple[list[Any], list[CardinalitySet]]:
    """Return the candidates, and larger ones if fits with more loadings may be better."""
    p, last = found.op.p, max(cards[-1])
    if last == p or p > MOMENTS or not candidates.gains_beyond(found, cards, by, share):
        return keys, cards
    further = [card for card in FURTHER if last < card < p]
    new_keys, new = path_cards([*further, p], len(cards[-1]), p)
    found.add(new)
    return [*keys, *new_keys], [*cards, *new]


def _repeats(data: Data, fitter: Fitter, folds: int) -> int:
    """Return the default number of divisions into folds.

    The average over several divisions depends less on the seed. One is used if the folds are fitted one at a
    time, by another method, under rules or with missing values, and for many cells, where folds are much
    alike; and if every fold is one row.
    """
    p, n = data.p, data.n or 0
    slow = fitter.plan is not None or fitter.solver is not None or data.missing is not None
    # the fits of all folds are computed together
    if slow or n <= folds or n * p > FEW_CELLS:
        return 1
    return int(np.clip(fitted_together(p) // (2 * folds), 1, REPEATS))


def _criterion(by: str | None, rule: str, each: str, data: Data) -> str:
    """Return the checked criterion, or the default one for the data."""
    by = data.usual_criterion if by is None else one_of("by", by, candidates.CRITERIA)
    if by == "cv":
        data.require_folds()
    if rule == "paired" and by != "cv":
        raise OptionError(
            f"rule='paired' was given with by={by!r}; it compares errors by fold, and goes with by='cv'."
        )
    if each == "free" and by not in ("cv", "ebic"):
        raise OptionError(f"each='free' was given with by={by!r}; it goes with by='cv' and by='ebic'.")
    return by


def _rows_for(fitting: Mapping[str, Any], k: int, p: int) -> str:
    """Return the name of the method if it needs rows, else an empty string."""
    if not fitting:
        return ""
    return make_plan(request(fitting, k, 1), p, _hint).rows_for


def _hint(name: str) -> str:
    """Return advice about an option that no method has."""
    return hint("choose", arguments_of(choose, types.ScanOptions), {}, (), name)


def _fitter(plan: Plan, k: int, seed: int) -> Fitter:
    """Return what fits candidates: sweeps if the method is the default search, else the method itself."""
    solver = plan.solver
    if not isinstance(solver, Joint):
        return Fitter(k, plan, seed=seed)
    if solver.ruled:  # sweeps know no rules for supports
        return Fitter(k, objective=solver.objective, seed=seed, solver=solver)
    return Fitter(k, objective=solver.objective, seed=seed)
