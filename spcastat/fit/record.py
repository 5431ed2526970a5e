"""The record of how a fit was computed, the inference that it shows, and copies that share no memory.

A loading is identified by its place: the loading of variable j in component c has place j + p c.

Files are checked by the types of fields. ``Annotated[T, U]`` means a T that is stored as a U in a file.
"f p k" means an array of shape (p, k) of floating-point numbers ("f", or "f?" if some may be missing); "i"
means integers, and "b" booleans.
"""

from __future__ import annotations

import copy
import dataclasses
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Annotated, Any, Literal, TypedDict, TypeVar

import numpy as np
import pandas as pd

from spcastat.arguments import integers_if_whole
from spcastat.fit.plan import Plan
from spcastat.fit.run import Fit
from spcastat.hints import Objective
from spcastat.inputs.data import Data
from spcastat.linalg.standardisation import ScalingGroups, groups_from_record
from spcastat.search.chains import Searched
from spcastat.solvers.solver import ADVICE, Constrained, Grouping, Sparser

# --- copies ---------------------------------------------------------------------------------------


T = TypeVar("T")


def number_of_rows(record: Record) -> Any:
    """Return the number of rows for a table, where a row of weight 2 counts as two; NA if it is unknown."""
    count = record.n if record.effective_n is None else record.effective_n
    return pd.NA if count is None else integers_if_whole(np.array(count)).item()


def deep_copy(value: T) -> T:
    """Return a deep copy, which shares no writable memory with the original.

    Frames and series are copied with their labels, which pandas shares even in deep copies. Copying a million
    scores of six components takes 20 ms.

    Parameters
    ----------
    value : DataFrame, Series, Index, ndarray, list, tuple or dict of such, or any object with a ``copy``
    """
    copied: Any
    content: Any = value
    if isinstance(content, dict):
        copied = {name: deep_copy(element) for name, element in content.items()}
    elif isinstance(content, list):
        copied = [deep_copy(element) for element in content]
    elif isinstance(content, pd.Index):
        copied = content.copy(deep=True)
    else:
        copied = content.copy() if hasattr(content, "copy") else copy.copy(content)
    if isinstance(content, (pd.DataFrame, pd.Series)):
        copied.index = deep_copy(content.index)
    if isinstance(content, pd.DataFrame):
        copied.columns = deep_copy(content.columns)
    return copied


# --- facts of a record, as stored in files --------------------------------------------------------


class Options(TypedDict, total=False):
    """The options of a solver that are read from files; other options may have any type."""

    card: list[int] | None
    variance: float | None
    include: list[list[int]] | None
    exclude: list[list[int]] | None
    disjoint: bool
    together: list[tuple[str, list[int]]] | None


class EmFacts(TypedDict):
    """Missing values that are imputed by a model."""

    how: Literal["em"]
    cells: int
    rows: int
    converged: bool
    patterns: int
    iterations: int
    rank: int


class PairwiseFacts(TypedDict):
    """Missing values that are handled by pairwise deletion."""

    how: Literal["pairwise"]
    cells: int
    rows: int
    fewest: float
    smallest: float
    moved: float
    largest: float


class MatrixFacts(TypedDict, total=False):
    """Facts about a covariance matrix."""

    kind: str
    n_obs: int
    n_pairs_min: int
    smallest: float
    moved: float
    largest: float
    pair: tuple[str, str]
    completed: str


class GroupFacts(TypedDict):
    """Groups of variables used for scaling: the group of each variable, or -1."""

    kind: str
    names: list[str]
    of: list[int]


class ReadingFacts(TypedDict, total=False):
    """Options with which the command read a file."""

    index_col: str
    sep: str
    decimal: str
    header: bool
    encoding: str
    na_values: list[str]
    skip_rows: int
    sheet: str
    codes: bool


class ComponentRow(TypedDict):
    """A row of a proof of single components; a gap may be infinite."""

    cardinality: int
    value: float
    upper_bound: float
    seconds: float
    best_known: float
    gap: Any
    nodes: int
    proof: str
    optimal: bool
    support: list[int]


class JointRow(TypedDict):
    """The row of a joint proof."""

    measure: str
    cardinalities: list[int]
    value: float
    upper_bound: float
    seconds: float
    best_known: float
    gap: Any
    nodes: int
    proof: str
    optimal: bool
    pca_bound: float
    open: int
    supports: list[list[int]]


# --- how the fit was made -------------------------------------------------------------------------


#: The name of the method of `sparse_loadings` in records and files.
SPARSE_LOADINGS = "sparse-loadings"
#: The name of the method of `principal_variables` in records and files.
PRINCIPAL_VARIABLES = "principal-variables"
#: The names of methods of functions other than `spca`.
NOT_SOLVERS = (SPARSE_LOADINGS, PRINCIPAL_VARIABLES)
#: The packages whose versions are recorded, if imported.
PACKAGES = ("spcastat", "numpy", "scipy", "pandas", "formulaic", "matplotlib")

#: Descriptions of `Standardisation.centring` and `Standardisation.scaling`.
CENTRING = {"mean": "centred", "given": "centred at given values", "none": "not centred"}
SCALING = {
    "sd": "scaled to unit variance",
    "blocks": "scaled to unit variance and by blocks",
    "raw blocks": "scaled by blocks",
    "mixed": "scaled as mixed data",
    "given": "scaled by given values",
    "none": "not scaled",
}


@dataclass(frozen=True, eq=False)
class Record:
    """The method, data and options of a fit, and how it was computed.

    Attributes
    ----------
    method, title, paper, criterion : str
        Name of the method, its description, its source, and the name of its objective.
    sparse : bool
        Whether the method has an option that controls sparsity.
    options : dict
        The options of the solver, including defaults.
    n, p, k : int
        Numbers of rows (None if not known for a covariance matrix), variables and components.
    from_rows : bool
        Whether the fit is from rows rather than from a covariance matrix.
    dropped : int
        Rows left out because of missing values.
    weighted : bool
    effective_n : float or None
        The sum of the weights, or n.
    formula : str or None
    centring, scaling : str or None
        See `Standardisation`.
    status, advice : str
    n_iter : int
    objective, objective_share : float
        The value of the objective, and its share of the total variance if it is a variance.
    optima : list of [float, int]
        Distinct values of the objective reached by the starts or a joint search, as shares of the total
        variance, and the number of times each was reached.
    n_init, reached : int
        Number of starts, and number of starts that reached the best objective.
    details : dict of str to list
        Results of the method for each component.
    evidence : dict, or None
        Report on a search over supports: the fields of :class:`spcastat.search.chains.Searched`.
    call : str
        The call that reproduces the fit, with `data` in place of the data.
    versions : dict of str to str
        Versions of Python and of the packages used.
    missing : dict, or None
        With ``na="em"`` or ``"pairwise"``: ``how``, the numbers of missing ``cells`` and of incomplete
        ``rows``, and how the moments were estimated; see
        :func:`spcastat.inputs.missing.prepare_with_gaps`.
    names : list of str, or None
        Names of the components, if not PC1, ..., PCk.
    title_of_data : str or None
        Source of rows in chunks, such as "Parquet file trips.parquet".
    passes : int or None
        Number of passes over rows in chunks.
    anew : bool
        Whether a scheduler recomputes the rows in each pass.
    pca_errors : list of float, or None
        Estimated errors of the variances of dense PCA, as shares of the total variance, if they were computed
        in few passes; the variances are then lower bounds.
    chosen : list of str, callable, or None
        Sentences on how the numbers of components and of nonzero loadings were chosen, for a fit by `choose`,
        or a function that returns them; see `how_chosen` and `as_text`.
    k_found : int or None
        Number of components that `choose_k` found on the same rows, if known.
    row_design : dict, or None
        Numbers of clusters, of their rows and of strata; see
        :attr:`spcastat.reading.design.RowDesign.as_record`.
    serial : float, callable, or None
        The correlation of the scores of neighbouring rows if the rows are serially dependent, or a function
        that computes it; see :func:`spcastat.inputs.dependence.neighbours_of`.
    matrix : dict, or None
        Additional facts about a covariance matrix; see :class:`spcastat.reading.design.Covariance`.
    groups : dict, or None
        Groups of variables used for scaling; see :class:`spcastat.linalg.standardisation.ScalingGroups`.
    imputations : int or None
        Number of imputations of one table whose covariance matrices were averaged.
    dated : bool
        Whether the labels of the rows are dates.
    may_be_counts : bool
        Whether rows in memory are nonnegative whole numbers, most variables vary more than their means, and
        the fit is unscaled.
    reading : dict, or None
        Options with which the command line program read the file, and with which it reads new rows.
    """

    method: str
    title: str
    paper: str
    criterion: str
    sparse: bool
    options: Annotated[dict[str, Any], Options]
    n: int | None
    p: int
    k: int
    from_rows: bool
    dropped: int
    weighted: bool
    effective_n: float | None
    formula: str | None
    centring: str | None
    scaling: str | None
    status: str
    advice: str
    n_iter: int
    objective: float
    objective_share: float | None
    optima: Annotated[list[list[Any]], list[tuple[float, int]]] = field(default_factory=list)
    n_init: int = 1
    reached: int = 1
    details: dict[str, list[Any]] = field(default_factory=dict)
    call: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    title_of_data: str | None = None
    evidence: Annotated[dict[str, Any] | None, Searched | Sparser | Grouping | Constrained | None] = None
    missing: Annotated[dict[str, Any] | None, EmFacts | PairwiseFacts | None] = None
    names: list[str] | None = None
    passes: int | None = None
    anew: bool = False
    pca_errors: list[float] | None = None
    chosen: list[str] | Callable[[], list[str]] | None = None
    matrix: Annotated[dict[str, Any] | None, MatrixFacts | None] = None
    groups: Annotated[dict[str, Any] | None, GroupFacts | None] = None
    k_found: int | None = None
    reading: Annotated[dict[str, Any] | None, ReadingFacts | None] = None
    row_design: dict[str, Any] | None = None
    serial: float | Callable[[], float | None] | None = None
    imputations: int | None = None
    may_be_counts: bool = False
    dated: bool = False

    @property
    def converged(self) -> bool:
        """Whether the fit converged before reaching `max_iter`."""
        return self.status != "max_iter"

    @property
    def is_pca(self) -> bool:
        """Whether the components are dense PCA; other methods without zeros explain less variance."""
        return self.method == "pca"

    def how_chosen(self) -> list[str]:
        """Return the sentences on how the numbers of components and of nonzero loadings were chosen."""
        return (self.chosen() if callable(self.chosen) else self.chosen) or []

    def as_text(self) -> Record:
        """Return the record for a file: functions are replaced by the values that they return."""
        return dataclasses.replace(self, chosen=self.how_chosen() or None, serial=self.serial_correlation())

    @property
    def scaling_groups(self) -> ScalingGroups | None:
        """The groups of variables used for scaling, for ``scale="blocks"`` and "mixed"."""
        return None if self.groups is None else groups_from_record(self.groups)

    def serial_correlation(self) -> float | None:
        """Return the correlation of neighbouring rows if they are serially dependent."""
        return self.serial() if callable(self.serial) else self.serial


def make_record(data: Data, plan: Plan, fit: Fit, call: str) -> Record:
    """Return the record of a fit."""
    method, solution = plan.method, fit.solution
    total, start = data.op.total * data.op.unit**2, plan.start if isinstance(plan.start, str) else "given"
    solver: Any = plan.solver
    options = {
        option.name: plain_value(getattr(solver, option.name)) for option in dataclasses.fields(solver)
    }
    for name, value in options.items():  # options with one value per component are sorted like them
        if isinstance(value, list) and len(value) == len(fit.order):
            options[name] = [value[j] for j in fit.order]
    return Record(
        method=method.name,
        title=method.title,
        paper=method.paper,
        criterion=solution.criterion or plan.solver.criterion,
        sparse=bool(method.controls),
        options={
            **options,
            "n_init": plan.n_init,
            **({"start": start} if plan.solver.uses_starts else {}),
            **({} if plan.aim is None else {"objective": plan.aim.name}),
        },
        k=solution.V.shape[1],
        status=solution.status,
        advice=(ADVICE[solution.status] if solution.search is None else solution.search.in_words(data.op.p)),
        n_iter=solution.n_iter,
        objective=solution.objective,
        objective_share=solution.objective / total if plan.solver.in_variance_units else None,
        optima=[[float(value), int(hits)] for value, hits in fit.optima],
        n_init=plan.n_init,
        # a start has reached the best objective if its value differs by at most a relative 1e-6
        reached=int(np.isclose(solution.objectives, solution.objective, rtol=1e-6, atol=0.0).sum()),
        details={name: [plain_value(value) for value in values] for name, values in solution.details.items()},
        call=call,
        evidence=None if solution.search is None else dataclasses.asdict(solution.search),
        passes=data.passes,
        anew=data.anew,
        pca_errors=None if fit.pca_errors is None else (fit.pca_errors / data.op.total).tolist(),
        **facts_of(data),
    )


def facts_of(data: Data) -> dict[str, Any]:
    """Return the fields of a record that describe the data, and the versions of the packages."""
    return {**data.facts(), "serial": data.serial_correlation, "versions": versions()}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages in PACKAGES that have been imported."""
    packages = {"python": platform.python_version()}
    for name in PACKAGES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            packages[name] = str(version)
    return packages


def plain_value(value: Any) -> Any:
    """Return a value as a number, text, or nested lists of these."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return [plain_value(element) for element in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


# --- proofs ----------------------------------------------------------------------------------------


#: Added to the description of a bound computed without the rule for supports; it remains valid under it.
UNRULED = "without the rule"
#: Beginning of `proof` for a bound over all partitions of the variables into groups of any size.
PARTITIONS = "all partitions"


@dataclass(frozen=True, eq=False)
class Proven:
    """A proof in numbers and text, as in the summary and in files.

    Attributes
    ----------
    scope : {"components", "joint"}
    measure : str
        The measure of a joint proof; "adjusted" for components.
    rows : list of dict
        One dictionary per component, or one for all components, with the columns of ``fit.certify().table``;
        variables are given by position instead of name.
    orthogonal : bool
        Whether the bound applies to orthogonal loadings only.
    best : ndarray of shape (p, k), or None
        The best loadings found; None for a proof from a file.
    """

    scope: Annotated[str, Literal["components", "joint"]]
    measure: Annotated[str, Objective]
    rows: Annotated[list[dict[str, Any]], list[JointRow | ComponentRow]]
    orthogonal: bool = False
    best: np.ndarray | None = None

    #: A fit has at most one proof of each kind.
    kind = property(attrgetter("scope", "measure", "orthogonal"))


# --- principal variables --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PrincipalSet:
    """The variables kept, how well they reproduce all variables, and the alternatives compared.

    Groups are the units that are kept or left out: first the groups of several variables, then every other
    variable as a group of one. Shares refer to the variance of all variables.

    Attributes
    ----------
    together : list of (str, list of int)
        Names and variables of the groups of several variables.
    cost : ndarray of shape (g,)
        The cost of each group; ones without a budget.
    budget : float or None
    chosen : ndarray of int, shape (m,)
        The groups kept, the most needed first.
    share, pca_share, bound : float
        The share reproduced by the groups kept, the share of PCA, and a bound on the share of any set.
    nodes : int
        Nodes visited for the bound.
    criteria : dict of str to float
        Coefficients RM, RV and GCD of Cadima and Jolliffe (2001); the names end with the number of principal
        components.
    without, with_other : ndarray of shape (m,)
        Shares without each group, and with the best other group in its place.
    other : ndarray of int, shape (m,)
        That other group; -1 if there is none.
    nearest : ndarray of int, shape (p,)
        The kept variable with which each variable correlates most.
    correlation : ndarray of shape (p,)
        This correlation; 0 for a constant variable.
    further : ndarray of int, shape (a,)
        The groups whose addition would increase the share most.
    with_further : ndarray of shape (a,)
        The share after adding each of these groups.
    sizes : ndarray of int, shape (s,)
        Numbers of groups that were compared, ascending.
    sets : ndarray of bool, shape (s, g)
        The groups kept for each size.
    shares, pca_shares : ndarray of shape (s,)
        The shares of these sets, and of PCA.
    rm, gcd : ndarray of shape (s,)
    held_out, held_out_pca, held_out_error : ndarray of shape (s,), or None
        Shares in held-out rows of sets chosen from the other rows and of PCA, and standard errors of the
        former.
    folds : int
    frequency : ndarray of shape (g,), or None
        Shares of resamples of the rows in which each group was chosen.
    draws : int
        Number of resamples.
    is_normal : bool
        Whether the resamples are simulated normal rows with the covariance matrix of the data.
    determined : list of (int, list of int)
        Variables that are exact combinations of other variables, with these other variables.
    """

    together: list[tuple[str, list[int]]]
    cost: Annotated[np.ndarray, "f g"]
    budget: float | None
    chosen: Annotated[np.ndarray, "i m"]
    share: float
    pca_share: float
    bound: float
    nodes: int
    criteria: dict[str, float]
    without: Annotated[np.ndarray, "f m"]
    with_other: Annotated[np.ndarray, "f m"]
    other: Annotated[np.ndarray, "i m"]
    nearest: Annotated[np.ndarray, "i p"]
    correlation: Annotated[np.ndarray, "f p"]
    further: Annotated[np.ndarray, "i a"]
    with_further: Annotated[np.ndarray, "f a"]
    sizes: Annotated[np.ndarray, "i s"]
    sets: Annotated[np.ndarray, "b s g"]
    shares: Annotated[np.ndarray, "f s"]
    pca_shares: Annotated[np.ndarray, "f s"]
    rm: Annotated[np.ndarray, "f s"]
    gcd: Annotated[np.ndarray, "f s"]
    held_out: Annotated[np.ndarray, "f s"] | None = None
    held_out_pca: Annotated[np.ndarray, "f s"] | None = None
    held_out_error: Annotated[np.ndarray, "f s"] | None = None
    folds: int = 0
    frequency: Annotated[np.ndarray, "f g"] | None = None
    draws: int = 0
    is_normal: bool = False
    determined: list[tuple[int, list[int]]] = field(default_factory=list)

    @property
    def is_proven(self) -> bool:
        """Whether it is proven that no other set reproduces more variance than this set."""
        return self.bound <= self.share * (1.0 + 1e-8)  # allows for rounding of shares in files


# --- resampling -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Bootstrapped:
    """Loadings and variances of bootstrap draws, aligned with the fit.

    Attributes
    ----------
    places : ndarray of int, shape (m,)
        Places of the loadings that are nonzero in the fit or in some draw, ascending.
    values : ndarray of shape (B, m)
        The values of these loadings in each draw.
    variances : ndarray of shape (B, k)
        Variances of the scores of each draw's components on the rows of the draw.
    whole : ndarray of shape (B, k)
        Variances of the same components on the rows of the fit.
    similarity : ndarray of shape (B, k)
        Absolute correlations of the scores of the draws with the scores of the fit.
    select : bool
        Whether the variables were selected again in each draw.
    asked, again : int
        Number of draws requested, and number of samples redrawn because they could not be fitted.
    normal : bool
        Whether the draws are simulated normal rows with the covariance matrix of the fit.
    of_fit : ndarray of shape (B, k), or None
        Variances of the scores of the fit's components on the rows of each draw; None in older files.
    drawn : str
        The units drawn, if not single rows of the fit, such as "30 clusters of 4 to 11 rows".
    notice : str
        Remarks on rows that may not be independent, and on columns that do not vary in some draws.
    search : str
        The search by which the default method fitted the draws, "quick" or "near"; "" for other methods, for
        draws with the variables of the fit, and in older files.
    k_found : int or None
        Number of components that `choose_k` found for the same rows, if its result was passed.
    imputed : ndarray of shape (M, m), or None
        For M imputations of one table, the loadings of the fit of each imputation. Draw b is from imputation
        b modulo M.
    imputed_variances : ndarray of shape (M, k), or None
        Variances of the scores of the fit's components in each imputation.
    imputation_share : ndarray of shape (m,), or None
        The share of the imputations whose fit selects the variable.
    rows : int or None
        For imputations, the number of rows, clusters or blocks that are drawn independently.
    """

    places: Annotated[np.ndarray, "i m"]
    values: Annotated[np.ndarray, "f draws m"]
    variances: Annotated[np.ndarray, "f draws k"]
    whole: Annotated[np.ndarray, "f draws k"]
    similarity: Annotated[np.ndarray, "f draws k"]
    select: bool
    asked: int
    again: int
    normal: bool
    of_fit: Annotated[np.ndarray, "f draws k"] | None = None
    drawn: str = ""
    notice: str = ""
    search: str = ""
    k_found: int | None = None
    imputed: Annotated[np.ndarray, "f imputations m"] | None = None
    imputed_variances: Annotated[np.ndarray, "f imputations k"] | None = None
    imputation_share: Annotated[np.ndarray, "f m"] | None = None
    rows: int | None = None

    @property
    def draws(self) -> int:
        """Number of draws made."""
        return len(self.values)


@dataclass(frozen=True, eq=False)
class HalfSamples:
    """Which loadings are nonzero in fits to halves of the rows, aligned with the fit; see `stability`.

    Attributes
    ----------
    places : ndarray of int, shape (m,)
        Places of the loadings that are nonzero in the fit or in some half.
    chosen : ndarray of bool, shape (H, m)
        Whether each of the H fits selected these loadings; the two halves of a pair are adjacent.
    similarity : ndarray of shape (H, k)
    clusters : ndarray of int, shape (p,)
        The cluster of each variable; any two variables in a cluster have an absolute correlation of at least
        `groups`.
    associates : ndarray of shape (a, 4)
        Component, selected variable, associate (positions from 0), and their correlation.
    threshold, groups : float
    asked, again : int
        Number of pairs of halves requested, and number of pairs redrawn because they could not be fitted.
    normal : bool
    drawn, notice : str
        As in `Bootstrapped`.
    """

    places: Annotated[np.ndarray, "i m"]
    chosen: Annotated[np.ndarray, "b draws m"]
    similarity: Annotated[np.ndarray, "f draws k"]
    clusters: Annotated[np.ndarray, "i p"]
    associates: Annotated[np.ndarray, "f pairs 4"]
    threshold: float
    groups: float
    asked: int
    again: int
    normal: bool
    drawn: str = ""
    notice: str = ""

    @property
    def draws(self) -> int:
        """Number of pairs of halves fitted."""
        return len(self.chosen) // 2


@dataclass(frozen=True, eq=False)
class Split:
    """Components computed from one half of the rows, and their associations with variables on the other.

    Attributes
    ----------
    places : ndarray of int, shape (m,)
        Places of the loadings that are nonzero in the fit of the first half.
    loadings : ndarray of shape (m,)
        These loadings.
    correlation : ndarray of shape (m,)
        Correlation, on the second half, of the variable with the score computed from the other selected
        variables of the component; NaN without other variables.
    std_error : ndarray of shape (m,)
        Standard errors of Fisher's z of these correlations.
    variances, variance_errors : ndarray of shape (k,)
        Variances of the scores on the second half, and their standard errors.
    similarity : ndarray of shape (k,)
        Absolute correlations of the scores of the components with the scores of the fit.
    p_value : ndarray of shape (p, k)
        P-values of zero correlations, combined over all splits and adjusted for all loadings; NaN for a
        variable that was never selected together with other variables.
    rows : tuple of (int, int)
        Number of rows in the selecting half, and in the second half.
    repeats : int
        Number of splits. All fields except `p_value` describe the first split.
    draws : int
        Number of bootstrap samples drawn from the second half.
    asked : int
        Number of bootstrap samples requested.
    again : int
        Number of splits, and of draws of the second half, that were repeated because no fit was possible.
    normal : bool
        Whether the rows are normal rows simulated from the covariance matrix of the fit.
    drawn : str
        As for `Bootstrapped`.
    independent : int
        Number of clusters or blocks in the second half; 0 for independent rows.
    notice : str
        As for `Bootstrapped`.
    """

    places: Annotated[np.ndarray, "i m"]
    loadings: Annotated[np.ndarray, "f m"]
    correlation: Annotated[np.ndarray, "f? m"]
    std_error: Annotated[np.ndarray, "f? m"]
    variances: Annotated[np.ndarray, "f k"]
    variance_errors: Annotated[np.ndarray, "f k"]
    similarity: Annotated[np.ndarray, "f k"]
    p_value: Annotated[np.ndarray, "f? p k"]
    rows: tuple[int, int]
    repeats: int
    draws: int
    asked: int
    again: int
    normal: bool
    drawn: str = ""
    independent: int = 0
    notice: str = ""


@dataclass(frozen=True, eq=False)
class Tested:
    """Permutation tests of the association of every variable with every component.

    Attributes
    ----------
    statistic : ndarray of shape (p, k)
        Correlation of the variable with the score computed from the other variables. The tests use a
        studentised form of this statistic.
    p_value, q_value : ndarray of shape (p, k)
        NaN for a constant variable. The q-values are computed over the whole table; in earlier files, over
        each component.
    draws, asked : int
        Number of permutations made, and number requested.
    fdr : str
        Method of controlling the false discovery rate.
    signs : bool
        Whether random signs of the contributions of clusters were drawn instead of permutations.
    drawn, notice : str
        As for `Bootstrapped`.
    """

    statistic: Annotated[np.ndarray, "f? p k"]
    p_value: Annotated[np.ndarray, "f? p k"]
    q_value: Annotated[np.ndarray, "f? p k"]
    draws: int
    asked: int
    fdr: Annotated[str, Literal["fdr_bh", "fdr_by"]]
    signs: bool = False
    drawn: str = ""
    notice: str = ""


# --- the inference that fits show ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Inference:
    """The results of resampling and the proofs that a fit shows and saves, at most one of each kind."""

    bootstrap: Bootstrapped | None = None
    stability: HalfSamples | None = None
    split: Split | None = None
    tests: Tested | None = None
    proofs: tuple[Proven, ...] = ()

    @property
    def is_resampled(self) -> bool:
        """Whether there are results of resampling."""
        return any(part is not None for part in (self.bootstrap, self.stability, self.split, self.tests))

    def including(self, kind: str, numbers: Any) -> Inference:
        """Return the inference with another result in the field `kind`, replacing any of the same kind."""
        if kind != "proofs":
            return dataclasses.replace(self, **{kind: numbers})
        proofs = {proof.kind: proof for proof in (*self.proofs, numbers)}
        return dataclasses.replace(self, proofs=tuple(proofs.values()))
