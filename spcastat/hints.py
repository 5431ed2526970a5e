"""Types of the arguments of public functions and methods, for signatures.

Tables of optional libraries are described by their methods, so that a type checker reports a wrong argument
whichever libraries are installed. Keys of a TypedDict are keyword arguments that a function passes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, TypedDict, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import sparray, spmatrix

from spcastat.progress import Step

Path: TypeAlias = str | PathLike[str]


class ArrayColumn(Protocol):  # a column of polars or pyarrow
    def __array__(self) -> NDArray[Any]: ...


Vector: TypeAlias = Sequence[float] | NDArray[Any] | pd.Series | ArrayColumn
Labels: TypeAlias = list[Any] | tuple[Any, ...] | pd.Index  # names of variables
Rng: TypeAlias = int | np.random.Generator | None
Progress: TypeAlias = bool | Callable[[Step], object] | None
WeightsAre: TypeAlias = Literal["frequency", "sampling"]
Robust: TypeAlias = bool | Literal["cells", "rows"]
Missing: TypeAlias = Literal["raise", "drop", "em", "pairwise"]
Scale: TypeAlias = bool | Literal["blocks", "raw blocks", "mixed"] | Vector
Whole: TypeAlias = SupportsIndex  # whole numbers: int, and integers of NumPy
Card: TypeAlias = (
    Whole | Sequence[Whole] | NDArray[Any] | pd.Series | Mapping[str, Whole] | Mapping[int, Whole]
)
Cards: TypeAlias = Sequence[Whole] | Sequence[Sequence[Whole]] | NDArray[Any]
ByRow: TypeAlias = (
    str | pd.Series | pd.Categorical | NDArray[Any] | list[Any] | tuple[Any, ...] | ArrayColumn  # str: a name
)
Sections: TypeAlias = pd.Series | Mapping[Any, Any] | NDArray[Any] | Labels
Pair: TypeAlias = (
    tuple[int | str, int | str] | list[int] | list[str]  # two components, by number from 1 or by name
)
Several: TypeAlias = tuple[int | str, ...] | list[int] | list[str] | list[int | str] | pd.Index
Palette: TypeAlias = str | Mapping[Any, Any] | list[Any] | tuple[Any, ...]
Rule: TypeAlias = (
    str | Labels | Mapping[str, str | Labels]  # for include and exclude; a mapping is by component
)
Objective: TypeAlias = Literal["adjusted", "pev", "least_squares"]
MeasureName: TypeAlias = Literal["adjusted", "pev", "least_squares", "relative_adjusted", "rre"]
Effort: TypeAlias = Literal["quick", "auto", "thorough"]
Of: TypeAlias = Literal["variables", "rows"]
IntervalKind: TypeAlias = Literal["hull", "percentile"]
Outline: TypeAlias = Literal["normal", "t", "hull"]
Status: TypeAlias = Literal["converged", "exact", "searched", "compared", "max_iter"]
MethodName: TypeAlias = Literal[
    "joint",
    "bcd-l0",
    "bcd-l1",
    "greedy",
    "controlled",
    "zou",
    "spca-os",
    "threshold",
    "rotate",
    "rsvd-l0",
    "rsvd-l1",
    "rsvd-scad",
    "pmd",
    "gpower-l0",
    "gpower-l1",
    "gpower-l0-block",
    "gpower-l1-block",
    "empca",
    "pathspca",
    "dspca",
    "alspca",
    "nspca",
    "scotlass",
    "pca",
    "rspca-l0",
    "rspca-l1",
    "rspca-lhalf",
    "rspca-lp",
    "pca-l1",
    "spcagrid",
]


# Tables of optional libraries, described by their methods.
class ArrowTable(Protocol):  # polars.DataFrame, pyarrow.Table
    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...
    def to_pandas(self) -> pd.DataFrame: ...


class DaskTable(Protocol):  # dask.dataframe.DataFrame
    @property
    def npartitions(self) -> int: ...
    def __dask_graph__(self) -> Any: ...


class LazyTable(Protocol):  # polars.LazyFrame
    def collect(self) -> Any: ...


class ArrowStream(Protocol):  # a DuckDB relation, a reader of record batches
    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...


class BatchSource(Protocol):  # a dataset of pyarrow
    def to_batches(self) -> Any: ...


Matrix: TypeAlias = pd.DataFrame | NDArray[Any] | sparray | spmatrix  # scores are returned in pandas types
Table: TypeAlias = Matrix | ArrowTable
Files: TypeAlias = Path | list[str] | list[PathLike[str]]
Streams: TypeAlias = LazyTable | ArrowStream | BatchSource
Chunks: TypeAlias = Files | Iterable[Table] | Callable[[], Iterable[Table]] | Streams


class DataValue(Protocol):  # what rows() and covariance() return
    def changed(self, **changes: Any) -> Any: ...
    def facts(self) -> dict[str, Any]: ...


#: Imputations of one table, or the long format of mice.
Imputations: TypeAlias = "Sequence[pd.DataFrame] | pd.DataFrame"
Rows: TypeAlias = Table | DaskTable | Chunks | DataValue
EagerT = TypeVar("EagerT", bound=ArrowTable)
OwnT = TypeVar("OwnT", bound=ArrowTable | DaskTable)

# --- options that are passed on: each key is a keyword argument ---


class TableReading(TypedDict, total=False):
    """Options for reading a table, which supplement formula= and scale=."""

    center: bool | Vector
    blocks: Mapping[str, Labels] | None
    categorical: Literal["refuse", "dummy"]
    context: Mapping[str, Any] | None
    codes: bool


class RowOptions(TableReading, total=False):
    """Options for reading rows, which supplement na=: the EM model, passes over chunks, and robustness."""

    k_em: int | None
    passes: int | None
    robust: Robust


class SampleOptions(TypedDict, total=False):
    """Options that describe how rows were sampled: the meaning of weights, and which rows are dependent."""

    weights_are: WeightsAre
    clusters: ByRow | None
    strata: ByRow | None
    block_length: int | Literal["auto"] | None


class LoadingsOptions(RowOptions, SampleOptions, total=False):
    """Further keywords of sparse_loadings()."""


class MatrixOptions(TypedDict, total=False):
    """Options of a covariance matrix, in functions that accept rows or a matrix."""

    mean: Vector | None
    sd: Vector | None
    given: Labels | None
    nearest: bool


class SupportRules(TypedDict, total=False):
    """Rules for supports, for method="joint" (nonneg: bcd-l0, bcd-l1, empca)."""

    include: Rule | None
    exclude: Rule | None
    disjoint: bool
    together: Literal["terms"] | Mapping[str, Labels] | None
    nonneg: bool


class TuningOptions(TypedDict, total=False):
    """Options of methods other than the controls of sparsity.

    Each method has its own defaults; see `methods`.
    """

    constraint: Literal["uncorrelated", "orthogonal"] | None
    order: Literal["variance", "given", "best"] | None
    n_init: Whole | None
    tol: float | None
    max_iter: Whole | None
    start: Literal["pca", "column", "ones"] | NDArray[Any] | pd.DataFrame
    deflation: Literal["schur", "projection", "hotelling", "orthogonalised", "residual"]
    ridge: float | None
    c: int
    exact: bool
    refit: bool
    orth: bool
    fixed_penalty: bool
    mu: float | Vector
    renormalise: bool
    orthogonal: float
    uncorrelated: float
    orthonormality: float
    p: float
    grid: int
    sweeps: int


class MethodOptions(TuningOptions, total=False):
    """All options of methods that are not arguments of spca(), including the controls of sparsity."""

    promise: Literal["every", "total"] | None
    total: int | None
    t: float | Vector | None
    penalty: float | Vector | None
    threshold: float | Vector | None


class SpcaOptions(RowOptions, MethodOptions, total=False):
    """Further keywords of spca()."""


class DataOptions(RowOptions, MatrixOptions, total=False):
    """Further keywords of choose_k()."""


class ScanOptions(DataOptions, SupportRules, TuningOptions, total=False):
    """Further keywords of choose() and spca_path(), which set the sparsity themselves."""


# --- all keywords of functions that take a table or a formula first, except data= and formula= ---


class FitKeywords(SampleOptions, total=False):
    """Keywords of functions that fit rows."""

    scale: Scale | None
    na: Missing
    weights: str | Vector | None
    rng: Rng
    progress: Progress


class SearchKeywords(FitKeywords, total=False):
    """Keywords of functions that fit rows by a method."""

    method: MethodName | None
    objective: Objective | None
    effort: Effort | None


class SpcaKeywords(SearchKeywords, SupportRules, SpcaOptions, total=False):
    """Keywords of spca()."""

    variance: float | None


class PathKeywords(SearchKeywords, ScanOptions, total=False):
    """Keywords of spca_path()."""

    cards: Cards | None


class NoiseKeywords(TypedDict, total=False):
    """Keywords of the tests for the number of components."""

    kmax: Whole | None
    least: float
    alpha: float
    n_draws: int


class ComponentChoiceKeywords(NoiseKeywords, FitKeywords, DataOptions, total=False):
    """Keywords of choose_k()."""

    n_jobs: int


class ChoiceKeywords(NoiseKeywords, PathKeywords, total=False):
    """Keywords of choose()."""

    by: Literal["cv", "ebic", "bic", "is", "variance"] | None
    rule: Literal["worth", "keep", "1se", "paired", "min"]
    share: float | None
    family: Literal["auto", "equal", "rotated", "partition"]
    folds: Whole
    repeats: int | None
    n_jobs: int


class LoadingsKeywords(FitKeywords, LoadingsOptions, total=False):
    """Keywords of sparse_loadings()."""

    total: int | None
    variance: float | None
    n_init: Whole | None


class KeepKeywords(FitKeywords, LoadingsOptions, total=False):
    """Keywords of principal_variables()."""

    share: float | None
    budget: float | None
    cost: Mapping[Any, float] | pd.Series | None
    include: Labels | None
    exclude: Labels | None
    together: Mapping[str, Labels] | str | None
    effort: Effort | None
    folds: Whole | None
    n_resamples: Whole | None


class CoordinateKeywords(TableReading, total=False):
    """Keywords of spco()."""

    zeros: float | None
    ridge: float
    scale: Scale | None
    na: Literal["raise", "drop"]
    weights: str | Vector | None
    tol: float
    max_iter: Whole


class GroupKeywords(TypedDict, total=False):
    """Keywords of compare_groups()."""

    n_draws: Whole
    scale: bool | Vector | None
    na: Literal["raise", "drop"]
    clusters: ByRow | None
    method: MethodName | None
    objective: Objective | None
    effort: Effort | None
    categorical: Literal["refuse", "dummy"]
    context: Mapping[str, Any] | None
    codes: bool
    rng: Rng
    n_jobs: int
    progress: Progress


class TableOptions(TypedDict, total=False):
    """Options of tables in all formats; see :class:`spcastat.show.renderings.Summary`."""

    digits: int | None
    decimal: Literal[".", ","]
    full_names: bool | None
    caption: str | None
    notes: bool | None


class EstimatorOptions(SupportRules, MethodOptions, total=False):
    """Keys of options= of the estimator for scikit-learn."""


class Changes(SpcaKeywords, MatrixOptions, total=False):
    """Keywords of refit(): all arguments of spca() and spca_cov()."""

    data: Rows
    S: pd.DataFrame | NDArray[Any] | DataValue
    k: Whole
    card: Card | None
    formula: str | None
    n_obs: Whole | None


# --- further arguments of plots ---

#: Which rows a biplot labels: a number of rows, all, none, or one label per row.
RowLabels: TypeAlias = "int | bool | list[str] | tuple[str, ...] | pd.Series"


class ParallelAnalysis(Protocol):  # what choose_k() and choose() return
    def _noise_for(self, spectrum: NDArray[Any]) -> NDArray[Any] | pd.Series: ...
    @property
    def k(self) -> int: ...


class DescribedChoice(Protocol):  # what choose() returns
    @property
    def method_text(self) -> str: ...
