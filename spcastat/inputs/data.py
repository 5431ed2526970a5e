"""The base class of rows in memory, rows in chunks and covariance matrices; options by column."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.arguments import Explained, is_single, listed, plural, shown, warn
from spcastat.errors import NoRowsError, NotImputedError
from spcastat.inputs.missing import Gaps
from spcastat.inputs.opening import require_apart
from spcastat.linalg.operators import Operator
from spcastat.linalg.standardisation import (
    BLOCK_SCALES,
    BlockScaling,
    Mixed,
    Scale,
    ScalingGroups,
    Standardisation,
)
from spcastat.reading.checks import aligned, vector
from spcastat.reading.design import Design, ReadOptions, Remark, RowDesign, Spec, design_text, factor_columns
from spcastat.reading.frames import COPY_LIMIT

if TYPE_CHECKING:
    from spcastat.inputs.cleaning import Cleaning
    from spcastat.inputs.noise import Noise, PulledIn
    from spcastat.inputs.samplers import FoldRows, Sampler


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Data(Explained, ABC):
    """Data of a fit, with the options that describe them.

    Objects are created by :func:`spcastat.rows`, :func:`spcastat.covariance` or a function that fits, and are
    immutable. Every method returns a value, or raises an error that names the analysis, so callers need not
    distinguish kinds of data. Results computed from the data are cached on first use.

    Attributes
    ----------
    table : object
        The data as given; for a frame, a view of its columns at that time; for chunks, their `Source`. None
        for a part of other rows.
    options : Mapping
        The options that were given, without options equal to their defaults.
    files : sequence of str
        Files from which the data were read as a whole.
    warns : bool
        Whether very different variances of the columns give a warning.
    """

    options: Mapping[str, Any]
    table: Any = None
    files: Sequence[str] = ()
    warns: bool = True

    #: The function that makes such data, and the names of its options.
    constructor: ClassVar[str] = "rows"
    option_names: ClassVar[tuple[str, ...]] = ()
    #: The text of such data in a call, if they are not its first argument.
    argument: ClassVar[str] = ""
    #: Whether there are rows, in memory or in chunks, rather than a covariance matrix.
    from_rows: ClassVar[bool] = True
    #: The name of such data in messages.
    noun: ClassVar[str] = "rows"
    #: The default criterion of `choose` for cardinalities.
    usual_criterion: ClassVar[str] = "cv"

    # --- columns and moments -----------------------------------------------------------------------

    @property
    @abstractmethod
    def spec(self) -> Spec:
        """How raw data are converted to columns; its `columns` label the loadings."""

    @property
    @abstractmethod
    def op(self) -> Operator:
        """The covariance matrix, through its products.

        It is expressed in units of `op.unit`: the variances of the data are its variances times `op.unit`
        squared.
        """

    @property
    @abstractmethod
    def standard(self) -> Standardisation | None:
        """Centre and scale; None for a covariance matrix given without them."""

    @property
    @abstractmethod
    def n(self) -> int | None:
        """Number of rows; for a covariance matrix the number from which it was computed, if known."""

    @property
    def different_rows(self) -> int | None:
        """Number of different rows; for covariance matrices and chunks the number of all rows, if known."""
        return self.n

    @property
    @abstractmethod
    def weight(self) -> float | None:
        """The sum of the weights, or the number of rows if there are no weights; None if unknown."""

    @property
    @abstractmethod
    def groups(self) -> ScalingGroups | None:
        """The groups of variables used for scaling, for ``scale="blocks"`` and "mixed"."""

    @property
    def columns(self) -> pd.Index:
        """The labels of the p variables."""
        return self.spec.columns

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.spec.columns)

    @property
    def free(self) -> float | None:
        """The sum of the weights (or number of rows, if known) minus the degrees of freedom of covariates."""
        covariate_rank = 0 if self.spec.partial is None else self.spec.partial.regression.rank
        return None if self.weight is None else self.weight - covariate_rank

    # --- facts, with the usual values as defaults --------------------------------------------------

    @property
    def dropped(self) -> int:
        """Rows left out because of missing values."""
        return 0

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return False

    @property
    def missing(self) -> Gaps | None:
        """The treatment of missing values, for ``na="em"`` and "pairwise"."""
        return None

    @property
    def row_labels(self) -> pd.Index | None:
        """The labels of rows in memory."""
        return None

    @property
    def cleaning(self) -> Cleaning | None:
        """The outlying cells and rows, with ``robust=``."""
        return None

    @property
    def design(self) -> RowDesign | None:
        """The clusters, strata or blocks of the rows; None for independent rows."""
        return None

    @property
    def about(self) -> Mapping[str, Any]:
        """Additional facts about a covariance matrix; see :class:`spcastat.reading.design.Covariance`."""
        return {}

    @property
    def divisors(self) -> np.ndarray | None:
        """The divisors of the variables of a covariance matrix, with `scale`, shape (p,)."""
        return None

    @property
    def title(self) -> str | None:
        """The name of rows in chunks."""
        return None

    @property
    def passes(self) -> int | None:
        """The number of passes over rows in chunks so far."""
        return None

    @property
    def anew(self) -> bool:
        """Whether the rows are recomputed in each pass."""
        return False

    @property
    def sampling_text(self) -> str:
        """A description of the units drawn; "" for single rows."""
        return "" if self.design is None else design_text(self.design.as_record)

    @property
    def is_sample(self) -> bool:
        """Whether the rows are a sample of a larger number of rows."""
        return False

    @property
    def cells(self) -> int:
        """Number of values of rows that can be divided into halves; 0 for other data."""
        return 0

    @property
    def holds_scores(self) -> bool:
        """Whether the scores of all rows fit into memory."""
        return False

    @property
    def distributed(self) -> bool:
        """Whether the rows are distributed over workers, so that this process cannot iterate over them."""
        return False

    @property
    def picklable(self) -> bool:
        """Whether the data can be sent to another process."""
        return True

    @property
    def estimates_terms(self) -> bool:
        """Whether terms of a formula are estimated from rows, and can be estimated from a subset of rows."""
        return False

    @property
    def divisible(self) -> bool:
        """Whether a part of the user's table can be read: it is in memory, and all its rows were used."""
        return False

    @property
    def known_rows(self) -> int | None:
        """The number of rows in chunks, if it is known before they are read."""
        return None

    @property
    def centred(self) -> bool:
        """Whether the means of rows are subtracted."""
        return True

    @property
    def out_of_core(self) -> bool:
        """Whether the moments need a pass over rows that are not in memory."""
        return False

    @property
    def may_be_counts(self) -> bool:
        """Whether rows in memory are nonnegative whole numbers that vary more than their means, unscaled."""
        return False

    def facts(self) -> dict[str, Any]:
        """Return the facts about the data for the record of a fit."""
        standard, missing, groups, design = self.standard, self.missing, self.groups, self.design
        return {
            "n": self.n,
            "p": self.op.p,
            "from_rows": self.from_rows,
            "dropped": self.dropped,
            "weighted": self.weighted,
            "effective_n": self.weight,
            "title_of_data": self.title,
            "formula": self.spec.formula,
            "centring": None if standard is None else standard.centring,
            "scaling": None if standard is None else standard.scaling,
            "missing": None if missing is None else missing.as_record,
            "matrix": dict(self.about) or None,
            "groups": None if groups is None else groups.as_record,
            "row_design": None if design is None else design.as_record,
            "may_be_counts": self.may_be_counts,
            "dated": isinstance(self.row_labels, pd.DatetimeIndex | pd.PeriodIndex),
        }

    # --- requests of analyses ----------------------------------------------------------------------

    @abstractmethod
    def for_method(self, method: str) -> Data:
        """Return the data for the method that needs rows; `method` is "" if second moments are sufficient.

        Raises
        ------
        NoRowsError, OptionError
            If the rows are not available to the method.
        """

    def for_components(self, k: int) -> Data:
        """Return the data for k components; k is also the rank of the EM model of missing values."""
        return self

    def in_memory(self, seed: int) -> Data:
        """Return data in memory: these data, or a random sample of rows in chunks."""
        return self

    @abstractmethod
    def rows(self, analysis: str, function: str = "spca") -> Any:
        """Return the rows in memory, a :class:`spcastat.inputs.row_data.RowData`.

        Parameters
        ----------
        analysis : str
            The name of the analysis that needs the rows, for messages.
        function : str
            The function that fits such rows, for messages.

        Raises
        ------
        NoRowsError
            If the rows are not in memory; the message names an alternative.
        """

    def rows_shown(self, analysis: str, function: str = "spca") -> Any:
        """Return the rows that plots and tables of a fit show, as `rows` does."""
        return self.rows(analysis, function)

    @abstractmethod
    def sampler(self, analysis: str, keep_rows: bool = False) -> Sampler:
        """Return the sampler, which draws samples and halves; `keep_rows` is for methods that need rows."""

    @abstractmethod
    def noise(
        self, seed: int, cells: int, unit: float, terms: np.ndarray | None, pull: bool = True
    ) -> tuple[Noise, PulledIn | None]:
        """Return the simulation of noise, and the rows after large rows were shrunk.

        Parameters
        ----------
        seed : int
        cells : int
            Largest number of cells for which signs are flipped directly.
        unit : float
            A power of two by which the data of the operator are divided, to avoid overflow and underflow of
            squared covariances.
        terms : ndarray of int, shape (p,), or None
            Columns with equal numbers keep their correlations.
        pull : bool
            Whether large rows are shrunk; only dense rows in memory that were centred at their means are.
        """

    @abstractmethod
    def fold_rows(self, folds: int, repeats: int, seed: int, unit: float, pull: bool = True) -> FoldRows:
        """Return standardised rows in folds, to evaluate predictions; `unit` and `pull` as for `noise`."""

    @abstractmethod
    def row_parts(
        self, analysis: str, function: str = "spca", task: str = "rows"
    ) -> Iterator[tuple[Any, pd.Index]]:
        """Yield the values of the rows and their labels, all at once or chunk by chunk; see `rows`.

        `task` is the name in the display of progress if the rows are read again.
        """

    def random_rows(self, size: int, seed: int) -> tuple[Any, int]:
        """Return at most `size` random rows, or all rows in memory, and the number of all rows."""
        rows = self.rows("a sample of the rows")
        return rows.matrix, rows.n

    @abstractmethod
    def scores(self, V: np.ndarray, components: pd.Index, function: str = "spca") -> Any:
        """Return the scores of the rows, n x k; chunk by chunk for rows in chunks."""

    def scores_sd(self, V: np.ndarray, components: pd.Index) -> pd.DataFrame:
        """Return the standard deviations of the scores of each row between imputations, n x k."""
        raise NotImputedError(
            "scores_sd is available only for fits with imputations=, but this fit has one value for each "
            "cell."
        )

    @abstractmethod
    def fingerprint(self, columns: pd.Index) -> tuple[np.ndarray, np.ndarray]:
        """Return a number for each row, computed from its values in `columns`, and the weights of rows."""

    def remark(self) -> Remark:
        """Return a remark on rows that may not be independent."""
        return Remark()

    def serial_correlation(self) -> float | None:
        """Return the correlation of neighbouring rows if they appear serially dependent; None otherwise."""
        return None

    def require_moments(self) -> Operator:
        """Return the covariances, whose computation raises errors for invalid values of the rows."""
        return self.op

    def require_one_table(self, analysis: str) -> None:  # most data are one table
        """Raise NoRowsError for imputations, whose variation the p-values and intervals would ignore."""

    def require_folds(self) -> None:  # most data have rows
        """Raise NoRowsError if there are no rows that could be held out."""

    def by_row(self, given: Any, option: str) -> Any:
        """Return the values of an option for the rows; a string names a column of the user's table."""
        return values_by_row(given, option)

    @abstractmethod
    def changed(self, **changes: Any) -> Data:
        """Return the same data with other options; the data are read again only if the options require it.

        An example is ``data.changed(scale=True)``, for data of :func:`spcastat.rows` and
        :func:`spcastat.covariance`. None restores the default of an option.
        """

    def changed_options(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options with changes; options that are None or belong to replaced options are dropped.

        Names in a new formula are looked up in the scope where the data are read again.
        """
        merged = {**self.options, **changes}
        if "scale" in changes and "blocks" not in changes:
            merged.pop("blocks", None)
        if "formula" in changes and "context" not in changes:
            merged.pop("context", None)
        return {name: value for name, value in merged.items() if value is not None}

    # --- comparison with the original --------------------------------------------------------------

    @property
    def change_check(self) -> Callable[[], None] | None:
        """A function that raises DataError if the caller changed shared numbers; None if none are shared."""
        return None

    def require_same(self) -> None:  # only large arrays are shared
        """Raise DataError if the caller has changed the numbers in memory."""

    def require_unchanged(self) -> None:  # a matrix is not read again
        """Raise DataError if the user's table no longer has these rows, for calls that read it again."""

    def spare(self, path: Path) -> None:
        """Raise OptionError if writing to `path` would change the data."""
        require_apart(path, self.files)

    def warn_of_variances(self) -> bool:
        """Warn about columns in very different units, once per object; return True."""
        return self._variances_compared

    @cached_property
    def _variances_compared(self) -> bool:
        """True, after a warning that each object gives once."""
        if self.warns and self.options.get("scale") is None:
            warn_of_unequal_variances(self.op, self.columns)
        return True

    def __repr__(self) -> str:
        shown_options = {name: shown(value) for name, value in self.options.items() if name != "context"}
        options = "".join(f", {name}={text}" for name, text in shown_options.items())
        return f"<{self.constructor}(data{options}): {self.size}>"

    @property
    def size(self) -> str:
        """The numbers of rows and variables, in words."""
        return f"{self.n:,} rows of {plural(self.p, 'variable')}"

    # --- copies ------------------------------------------------------------------------------------

    def __copy__(self) -> Data:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Data:
        return self  # it is immutable

    def __getstate__(self) -> dict[str, Any]:
        options = dict(self.options)
        if "context" in options:
            options["context"] = packed_names(options["context"])
        return {**self.__dict__, "options": options}


def values_by_row(given: Any, option: str) -> Any:
    """Return the values of an option for rows that are not in memory; raise NoRowsError for a name."""
    if isinstance(given, str):
        raise NoRowsError(
            f"{option}={given!r} names a column of the fitted data, but this fit does not have them "
            "in memory; give the values themselves, one for each row."
        )
    return given


def center_and_scale(
    standard: Standardisation, groups: ScalingGroups | None
) -> tuple[bool | np.ndarray, Scale]:
    """Return the arguments `center` and `scale` that repeat a standardisation on other rows."""
    scale: Any = groups or {"sd": True, "none": False}.get(standard.scaling, standard.scale)
    return True if standard.centring == "mean" else standard.mean, scale


# --- names in a formula, for pickles ----------------------------------------------------------------


@dataclass(frozen=True)
class _Module:
    """A module in a pickle, stored by name; loading returns the module."""

    name: str

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return importlib.import_module, (self.name,)


def packed_names(context: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the values of names in a formula, in a form that can be pickled if the user's objects can."""
    if context is None:
        return None
    return {
        name: _Module(value.__name__) if isinstance(value, ModuleType) else value
        for name, value in context.items()
    }


def packed_spec(spec: Spec) -> Spec:
    """Return a spec in which the values that the formula uses can be pickled."""
    partial = None if spec.partial is None else replace(spec.partial, spec=packed_spec(spec.partial.spec))
    return replace(spec, context=packed_names(spec.context), partial=partial)


# --- options as given ------------------------------------------------------------------------------


def copied_option(value: Any) -> Any:
    """Return a copy of a mutable option, which the caller may change later; large arrays are not copied."""
    if type(value) is np.ndarray:
        return value.copy() if value.nbytes <= COPY_LIMIT else value
    if isinstance(value, Mapping) and all(isinstance(block, list | tuple) for block in value.values()):
        return {name: list(block) for name, block in value.items()}
    return value.copy() if isinstance(value, pd.Series) or type(value) in (list, dict) else value


# --- centring and scaling -------------------------------------------------------------------------


#: Scales of columns must lie between this and its inverse, so that both are floating-point numbers.
LEAST_SCALE = 1e-300
#: Variances of columns that differ by more than this factor are reported, unless `scale` is given.
MOST_UNEQUAL = 1e4
#: Share of the columns whose small variances are ignored, since nearly constant columns affect no component.
NEARLY_CONSTANT = 0.1


def warn_of_unequal_variances(op: Operator, names: pd.Index) -> None:
    """Warn about columns in very different units, of which a few would dominate all components.

    The largest variance is compared with the smallest variance after excluding a tenth of the columns, so
    that none is excluded from up to ten columns. The warning names the smallest variance of all columns.
    """
    variances = op.diagonal() * op.unit**2
    ascending = np.argsort(variances, kind="stable")
    ascending = ascending[variances[ascending] > 0.0]
    if not ascending.size:
        return
    largest, smallest = ascending[-1], ascending[0]
    compared = ascending[int(NEARLY_CONSTANT * (ascending.size - 1))]
    if variances[largest] > MOST_UNEQUAL * variances[compared]:
        ratio = variances[largest] / variances[smallest]
        warn(
            f"The variances of the columns differ by a factor of {ratio:.2g} (from "
            f"{variances[smallest]:.3g} of {shown(names[smallest])} to {variances[largest]:.3g} of "
            f"{shown(names[largest])}), so columns of large variance dominate the components: give "
            "scale=True if their units differ, or scale=False to keep these variances without a warning.",
            errors.DataWarning,
        )


def require_range(op: Operator, standard: Standardisation | None, columns: pd.Index) -> None:
    """Raise DataError if the variances or scales cannot be represented as floating-point numbers."""
    with np.errstate(over="ignore"):
        variances = op.diagonal() * np.float64(op.unit) ** 2
        total = float(variances.sum())
    underflow = op.diagonal().any() and variances.max() < np.finfo(float).tiny
    if underflow or not np.isfinite(total):
        raise errors.DataError(
            f"The variances of the data are too {'small' if underflow else 'large'} for floating-point "
            "numbers, 2e-308 to 1e308. Divide the columns by a constant first, e.g. data / data.abs().max()."
        )
    if standard is None or standard.scaling == "none":
        return
    extremes = (standard.scale < LEAST_SCALE) | (standard.scale > 1.0 / LEAST_SCALE)
    if extremes.any():
        raise errors.DataError(
            f"The scale of {listed(columns[extremes])} is {standard.scale[extremes][0]:.3g}; it must be from "
            f"{LEAST_SCALE:g} to {1.0 / LEAST_SCALE:g}. Multiply such columns by a constant first."
        )


def scale_of(scale: Any, blocks: Any, columns: pd.Index) -> Any:
    """Return `scale` as True, False, numbers or BlockScaling; raise OptionError if `blocks` has no effect."""
    scale = False if scale is None else scale
    if isinstance(scale, ScalingGroups):  # from an earlier fit
        return scale
    if isinstance(scale, str) and scale in BLOCK_SCALES:
        return BlockScaling.read(scale, blocks, columns)
    if blocks is not None:
        raise errors.OptionError(
            f"blocks was given with scale={shown(scale)}; it is for scale='blocks', which divides each "
            "variable by the root of its block's first eigenvalue. Give that, or leave blocks out."
        )
    return column_values("scale", scale, columns)


def mixed_of(design: Design, reading: ReadOptions, center: Any) -> Mixed:
    """Return the factors of a design; raise OptionError for options that conflict with scale="mixed"."""
    reason = ""
    if reading.na == "pairwise":
        reason = "na='pairwise', which is for numbers only; give na='em' to impute numbers and levels"
    elif center is not True:
        reason = f"center={shown(center)}, and indicators are centred at the shares of levels; leave it out"
    elif design.spec.partial is not None:
        reason = "covariates, which leave no indicators; leave them out"
    if reason:
        raise errors.OptionError(f"scale='mixed' was given with {reason}.")
    factors, of = factor_columns(design), np.full(len(design.columns), -1)
    for number, places in enumerate(factors.values()):
        of[places] = number
    return Mixed("mixed", tuple(factors), of)


#: Names of unit variance in other programs.
UNIT_VARIANCE = ("std", "sd", "standard", "standardize", "standardise", "unit", "zscore", "z", "cor", "corr")


def column_values(option: str, value: Any, columns: pd.Index) -> Any:
    """Return `center` or `scale` as True, False, or one finite number for each column."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if is_single(value):
        other_values = ", or 'mixed', or 'blocks' with blocks=" * (option == "scale")
        if option == "scale" and isinstance(value, str) and value.lower() in UNIT_VARIANCE:
            other_values += "; True scales to unit variance"
        raise errors.OptionError(
            f"{option}={shown(value)} was given; give True, False, or {len(columns):,} numbers{other_values}."
        )
    if isinstance(value, pd.Series):
        value = aligned(value, columns, option, "columns")
    numbers = vector(value, len(columns), option, "columns")
    if option == "scale" and not (numbers > 0).all():
        raise errors.OptionError(f"scale contains {numbers.min():g}; divisors of columns must be positive.")
    return numbers
