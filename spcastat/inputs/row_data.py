"""Rows in memory as the data of a fit: read, standardised, weighted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.arguments import GAPS, listed, nearest, plural, shown, user_frame, warn, whole_percent
from spcastat.inputs.cleaning import Cleaning, cleaner_of, require_cleanable, require_columns, warn_of
from spcastat.inputs.data import (
    Data,
    center_and_scale,
    column_values,
    mixed_of,
    packed_names,
    packed_spec,
    require_range,
    scale_of,
)
from spcastat.inputs.missing import Gaps, prepare_with_gaps, rank_of, refuse_rows_methods
from spcastat.inputs.row_groups import RowGroups, counted
from spcastat.linalg.accumulate import is_sparse
from spcastat.linalg.operators import Operator
from spcastat.linalg.regression import regress
from spcastat.linalg.standardisation import (
    BlockScaling,
    Mixed,
    ScalingGroups,
    Standardisation,
    block_length,
    checksum,
    prepare,
)
from spcastat.reading.checks import warn_of_missing_codes, warn_of_row_numbers
from spcastat.reading.design import (
    DEFAULT_OPTIONS,
    Design,
    ReadOptions,
    Remark,
    RowDesign,
    Spec,
    checked_robust,
    order_mark,
)
from spcastat.reading.frames import open_table
from spcastat.reading.read import formula_inputs, read_data, replay, replay_table

if TYPE_CHECKING:
    from spcastat.inputs.dependence import Neighbours
    from spcastat.inputs.noise import Noise, PulledIn
    from spcastat.inputs.samplers import FoldRows, RowSampler, Rules

#: Largest number of cells of data whose rows are checked for dependence.
EXAMINED_CELLS = 20_000_000
#: Names of the options of rows: the options for reading, and all options.
ROW_READING = tuple(field_of_options.name for field_of_options in fields(ReadOptions))
ROW_OPTIONS = (*ROW_READING, "center", "scale", "blocks", "passes", "robust")


@dataclass(frozen=True, eq=False)
class Standardised:
    """Standardised rows, their moments, and the treatment of missing values.

    Attributes
    ----------
    standard : Standardisation
    op : Operator
    matrix : ndarray or scipy.sparse array of shape (n, p)
        Raw rows, with missing values imputed for ``na="em"``.
    missing : Gaps or None
    """

    standard: Standardisation
    op: Operator
    matrix: Any
    missing: Gaps | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RowData(Data):
    """Rows in memory.

    Attributes
    ----------
    contents : Design
        The rows as read, with NaN for missing values.
    reading : ReadOptions
    center, scale
        The centre and scale, as returned by :func:`column_values` and :func:`scale_of`.
    rank : int
        The default rank of the model of missing values: the number of components.
    keep_rows : bool
        Whether the method needs an operator with rows.
    checksum : int or None
        Checksum of the values, if they share memory with the caller's data.
    total_rows : int or None
        For a sample of rows in chunks, the number of rows from which it was drawn; the sample may contain all
        of them.
    otherwise : Series of length p, or None
        For a part of the rows of an analysis, the scale of columns that do not vary in this part; None raises
        an error for such columns.
    robust : {False, True, "cells", "rows"}
        Whether outlying cells are downweighted, and outlying rows have weight zero.
    components : int or None
        The number of components used to judge rows, if it is known.
    """

    contents: Design
    reading: ReadOptions = DEFAULT_OPTIONS
    center: Any = True
    scale: Any = False
    rank: int = 1
    keep_rows: bool = False
    checksum: int | None = None
    total_rows: int | None = None
    otherwise: pd.Series | None = None
    robust: bool | str = False
    components: int | None = None

    option_names: ClassVar[tuple[str, ...]] = ROW_OPTIONS

    @classmethod
    def read(
        cls,
        table: Any,
        options: Mapping[str, Any],
        otherwise: pd.Series | None = None,
        warns: bool = True,
        files: Sequence[str] = (),
    ) -> RowData:
        """Read rows in memory, with the options of :func:`spcastat.rows`.

        `otherwise` is the scale of columns that do not vary, for a part of the rows of an analysis. `files`
        are the files from which the table was read.
        """
        reading, scaling = split_options(options)
        if scaling.pop("passes", None) is not None:
            raise errors.OptionError(
                f"passes={shown(options['passes'])} was given with data in memory, but it limits the passes "
                "over rows in chunks. Leave it out."
            )
        mixed = is_mixed(options)
        robust = checked_robust(scaling.pop("robust", False))
        contents = contents_of(table, reading, mixed)
        if robust:
            require_cleanable(contents.matrix, robust, contents.covariates is not None)
        if contents.rows is not None:
            contents.rows.require(len(contents.index))
        table_view = table.copy(deep=False) if isinstance(table, pd.DataFrame) else table
        unshared = not contents.shared or reading.na in GAPS
        if reading.formula is not None:  # only the names that it uses are kept
            reading = replace(reading, context=contents.spec.context)
            options = {**options, "context": contents.spec.context}
        return cls(
            options=options,
            table=table_view,
            files=files,
            warns=warns and not is_sparse(contents.matrix),
            contents=contents,
            reading=reading,
            **_scaling_of(contents, reading, scaling),
            checksum=None if unshared else checksum(contents.matrix),
            otherwise=None if otherwise is None else otherwise.reindex(contents.columns, fill_value=1.0),
            robust=robust,
        )

    # --- the rows as read --------------------------------------------------------------------------

    @property
    def spec(self) -> Spec:
        return self.contents.spec

    @property
    def index(self) -> pd.Index:
        """Labels of the rows."""
        return self.contents.index

    @property
    def row_labels(self) -> pd.Index:
        return self.index

    @property
    def weights(self) -> np.ndarray | None:
        """Weights of the rows, shape (n,); zero for outlying rows, with `robust`."""
        weights = self.contents.weights
        return weights if self.cleaning is None else self.cleaning.weights_of(weights)

    @property
    def covariates(self) -> np.ndarray | None:
        """The covariates for which the rows were adjusted, shape (n, q)."""
        return self.contents.covariates

    @property
    def n(self) -> int:
        return int(self.contents.matrix.shape[0])

    @property
    def dropped(self) -> int:
        return self.contents.dropped

    @property
    def weighted(self) -> bool:
        return self.contents.weights is not None

    @property
    def weight(self) -> float:
        return float(self.n) if self.weights is None else float(self.weights.sum())

    @property
    def groups(self) -> ScalingGroups | None:
        return self.scale if isinstance(self.scale, ScalingGroups) else None

    @property
    def sampling_text(self) -> str:
        if self.is_sample:
            return f"a sample of {self.n:,} of {self.total_rows:,} rows"
        return super().sampling_text

    @property
    def is_sample(self) -> bool:
        return (self.total_rows or 0) > self.n

    @property
    def cells(self) -> int:
        return self.n * self.p if self.missing is None else 0

    @property
    def holds_scores(self) -> bool:
        return True

    @property
    def estimates_terms(self) -> bool:
        return self.spec.learns and self.reading.formula is not None and self.table is not None

    @property
    def divisible(self) -> bool:
        has_table = isinstance(self.table, pd.DataFrame | np.ndarray) or is_sparse(self.table)
        return has_table and self.table.shape[0] == self.n

    @cached_property
    def may_be_counts(self) -> bool:
        matrix, standard = self.raw_rows, self.standard
        if standard.scaling != "none" or standard.centring != "mean" or self.reading.formula is not None:
            return False
        values = matrix.data if is_sparse(matrix) else np.asarray(matrix)
        for cells in (values[:1000], values):  # the first cells exclude most tables
            if not ((cells >= 0) & (cells == np.rint(cells))).all():
                return False
        variances = self.op.diagonal() * self.op.unit**2
        return bool((variances > standard.mean)[variances > 0].mean() > 0.5)

    # --- cleaning ----------------------------------------------------------------------------------

    @cached_property
    def cleaning(self) -> Cleaning | None:
        """The outlying cells and rows, with `robust`."""
        if not self.robust:
            return None
        contents = self.contents
        if np.isinf(contents.matrix).any():
            contents.check()
        X = np.asarray(contents.matrix, dtype=float)
        cleaning = cleaner_of(self.robust, self.components, self.scale).of(X, contents.weights)
        require_columns(cleaning, self.robust)
        if self.warns:
            warn_of(cleaning, self.robust, self.n, contents.columns)
        return cleaning

    @property
    def _rows_judged(self) -> bool:
        """Whether `robust` gave far rows weight zero, so that tests and folds need not pull them in."""
        return self.cleaning is not None and self.cleaning.rows

    @cached_property
    def _rows(self) -> Any:
        """The fitted rows, with NaN for missing values: as given, or cleaned with `robust`."""
        matrix = self.contents.matrix
        return matrix if self.cleaning is None else self.cleaning.cleaned(np.asarray(matrix, dtype=float))

    @property
    def raw_rows(self) -> Any:
        """The rows as given, with NaN for missing values; shape (n, p)."""
        return self.contents.matrix

    # --- standardisation ---------------------------------------------------------------------------

    @cached_property
    def standardised(self) -> Standardised:
        """The rows centred and scaled, with their moments."""
        result = self._with_gaps() if self.reading.na in GAPS else self._complete()
        op, design = result.op, self.contents
        require_range(op, result.standard, design.columns)
        if design.spec.partial is not None:
            positive = self.n if self.weights is None else int(np.count_nonzero(self.weights))
            free = positive - 1 - design.spec.partial.regression.rank
            op.rank_limit = max(1, min(op.rank_limit, free))
        return replace(result, op=op.at_unit_size())

    @property
    def _fallback(self) -> np.ndarray | None:
        return None if self.otherwise is None else self.otherwise.to_numpy()

    def _with_gaps(self) -> Standardised:
        contents, na = self.contents, self.reading.na
        X, w = self._rows, self.weights
        standard, op, matrix, missing = prepare_with_gaps(
            X,
            w,
            self.center,
            self.scale,
            contents.columns,
            na,
            rank_of(self.reading.k_em, self.rank, w, X.shape),
            index=contents.index,
            otherwise=self._fallback,
        )
        record = missing.as_record
        if self.warns and isinstance(self.scale, Mixed):
            _warn_of_many_imputed(missing.missing, self.scale, contents.columns)
        if self.warns and not record.get("converged", True):
            warn(
                f"na='em': the EM stopped after {plural(record['iterations'], 'iteration')}, "
                "before it converged; a smaller k_em= converges sooner.",
                errors.ConvergenceWarning,
            )
        return Standardised(standard, op, matrix, missing)

    def _complete(self) -> Standardised:
        contents = self.contents
        if isinstance(self.scale, BlockScaling):  # eigenvalues need finite values
            contents.check()
        with np.errstate(invalid="ignore", over="ignore"):  # infinite values are reported below
            standard, op = prepare(
                self._rows,
                self.weights,
                self.center,
                self.scale,
                contents.columns,
                self.keep_rows,
                self._fallback,
            )
            finite = np.isfinite(op.total)  # False only for infinite values: prepare() does not overflow
        if not finite:
            contents.check()
        return Standardised(standard, op, self._rows)

    @property
    def op(self) -> Operator:
        return self.standardised.op

    @property
    def standard(self) -> Standardisation:
        return self.standardised.standard

    @property
    def matrix(self) -> Any:
        """Raw rows, shape (n, p), with missing values imputed for ``na="em"``."""
        return self.standardised.matrix

    @property
    def missing(self) -> Gaps | None:
        return self.standardised.missing

    @property
    def measured(self) -> Any:
        """The fitted rows, with NaN for missing values; shape (n, p)."""
        missing = self.missing
        if missing is None or not missing.missing.any():
            return self.matrix
        return np.where(missing.missing, np.nan, self.matrix)

    @cached_property
    def design(self) -> RowDesign | None:
        design = self.contents.rows
        if design is not None and design.block_length == "auto":
            return replace(design, block_length=self._block_length())
        return design

    def _block_length(self) -> int:
        """Return the larger of the block lengths for the scores of the first two principal components."""
        op, standard = self.op, self.standard
        V = op.leading(min(2, op.p))[1]
        scores = np.nan_to_num(standard.project(self.matrix, V))  # missing scores are replaced by the mean
        return max(block_length(score) for score in scores.T)

    @cached_property
    def row_groups(self) -> RowGroups:
        """The groups of rows that are drawn together; each row occurs once."""
        return RowGroups.of(self.raw_rows, self.contents.weights, self.covariates, self.design)

    @property
    def different_rows(self) -> int:
        return self.row_groups.different

    # --- requests of analyses ----------------------------------------------------------------------

    def for_method(self, method: str) -> RowData:
        if not method:
            return self
        if self.robust and method == "spco":
            raise errors.OptionError(
                f"Rows with robust={self.robust!r} were given to spco(), which has no such option; give "
                "data.changed(robust=None) in their place."
            )
        if self.robust:
            raise errors.OptionError(
                f"robust={self.robust!r} was given with method={method!r}, which is itself robust: leave "
                "robust out, or leave method out for the default, 'joint'."
            )
        if self.reading.na in GAPS:
            refuse_rows_methods(self.reading.na, method)
        return self if self.keep_rows else replace(self, keep_rows=True)

    def for_components(self, k: int) -> RowData:
        if self.robust and self.components != k:
            return replace(self, components=k).for_components(k)
        if self.reading.na != "em" or self.reading.k_em is not None or k == self.rank:
            return self
        return replace(self, rank=k)

    def rows(self, analysis: str, function: str = "spca") -> RowData:
        self.require_same()
        return self

    def rules(self, keep_rows: bool = False) -> Rules:
        """Return the rules for standardising a part of the rows; `keep_rows` for methods that need rows."""
        from spcastat.inputs.samplers import Rules

        return Rules.of(self, *center_and_scale(self.standard, self.groups), keep_rows)

    def sampler(self, analysis: str, keep_rows: bool = False) -> RowSampler:
        from spcastat.inputs.samplers import RowSampler, Terms

        terms = None
        frame = self._inputs_of_terms()
        if frame is not None:
            terms = Terms(replace(self.spec.model_spec, context=self.spec.context or {}), frame)
        rules = self.rules(keep_rows)
        if self.cleaning is not None:
            cleaner = cleaner_of(self.robust, self.cleaning.components, self.scale)
            rules = replace(rules, cleaner=cleaner, wrapping=self.cleaning.wrapping)
        return RowSampler(
            self.raw_rows if self.robust else self.measured,
            self.row_groups.unit_rows(analysis),
            self.standard,
            rules,
            terms,
            self.missing,
            self.covariates,
            ((self.free or 0.0) - 1.0) / (self.weight - 1.0),
        )

    def _inputs_of_terms(self) -> pd.DataFrame | None:
        """Return the columns in a formula for the rows of the fit; None if no term is estimated from rows."""
        model = self.spec.model_spec
        if model is None or not model.states or self.table is None:
            return None
        if self.missing is not None and self.missing.missing.any():
            raise errors.FormulaError(
                f"The terms of formula={shown(self.spec.formula)} cannot be estimated from draws of rows "
                "with missing values: compute these columns in the data frame first, and fit without the "
                "formula."
            )
        self.require_unchanged()
        table = open_table(self.table)
        if self.dropped:  # this includes rows with missing covariates
            keep = np.asarray(replay_table(self.spec, table, "drop")[1])
            table = replace(table, values=table.values[keep], index=table.index[keep])
        return formula_inputs(self.spec, table, "raise")[0]

    def noise(
        self, seed: int, cells: int, unit: float, terms: np.ndarray | None, pull: bool = True
    ) -> tuple[Noise, PulledIn | None]:
        from spcastat.inputs.noise import noise_of

        return noise_of(self, cells, unit, terms, pull and not self._rows_judged)

    def fold_rows(self, folds: int, repeats: int, seed: int, unit: float, pull: bool = True) -> FoldRows:
        from spcastat.inputs.samplers import of_rows

        replaced_cells = None
        if self.cleaning is not None and len(places := self.cleaning.replaced_cells):
            replaced_cells = np.zeros(self.raw_rows.shape, dtype=bool)
            replaced_cells[tuple(places.T)] = True
        return of_rows(self, folds, repeats, seed, unit, pull and not self._rows_judged, replaced_cells)

    def row_parts(
        self, analysis: str, function: str = "spca", task: str = "rows"
    ) -> Iterator[tuple[Any, pd.Index]]:
        self.require_same()
        if self.cleaning is None:
            yield self.matrix, self.index
        else:
            yield np.where(np.isnan(self.raw_rows), self.matrix, self.raw_rows), self.index

    def scores(self, V: np.ndarray, components: pd.Index, function: str = "spca") -> pd.DataFrame:
        self.require_same()
        return pd.DataFrame(self.standard.project(self.matrix, V), index=self.index, columns=components)

    def order_mark(self, V: np.ndarray) -> float:
        """Return a number that identifies the order of the rows."""
        return order_mark(np.nan_to_num(self.standard.project(self.matrix, V[:, :1])[:, 0]))

    def fingerprint(self, columns: pd.Index) -> tuple[np.ndarray, np.ndarray]:
        weights = np.ones(1) if self.contents.weights is None else self.contents.weights
        return abs(self.raw_rows) @ column_factors(self.columns, columns), weights

    @cached_property
    def neighbours(self) -> Neighbours:
        """The similarity of neighbouring rows."""
        from spcastat.inputs.dependence import neighbours_of

        return neighbours_of(self)

    @property
    def _order_counts(self) -> bool:
        """Whether rows are treated as independent within strata, and are not too many to be checked."""
        design = self.design
        independent = design is None or (design.clusters is None and design.block_length is None)
        return independent and self.op.p * self.n <= EXAMINED_CELLS

    def serial_correlation(self) -> float | None:
        from spcastat.inputs.dependence import SERIAL

        if not self._order_counts:
            return None
        return self.neighbours.r if self.neighbours.kind == SERIAL else None

    def remark(self) -> Remark:
        from spcastat.inputs.dependence import dependence_remark

        return dependence_remark(self) if self._order_counts else Remark()

    def by_row(self, given: Any, option: str) -> Any:
        if not isinstance(given, str):
            return given
        if self.table is None:
            return super().by_row(given, option)
        return self._column(given, option)

    def _column(self, name: str, option: str) -> pd.Series:
        """Return a column of the user's table, for the rows of the fit."""
        table = open_table(self.table)
        if not table.named:
            raise errors.OptionError(
                f"{option}={shown(name)} names a column, but the fitted data were an array without names; "
                "give the values themselves, one for each row."
            )
        frame = table.values
        if name in table.index.names and name not in frame.columns:
            frame = table.index.to_frame(index=False)[[name]]
        if name not in frame.columns:
            raise errors.OptionError(
                f"{option}={shown(name)} was given, which is not a column; give one value for each row, or "
                "one of the columns of the fitted data, "
                f"{listed(frame.columns)}.{nearest(name, frame.columns)}"
            )
        column = pd.Series(frame[name].array, index=table.index, name=name)
        if self.index.equals(table.index):
            return column
        if not table.index.is_unique:
            raise errors.ShapeError(
                f"{option}={shown(name)}: rows were left out of the fit, and row labels are not unique; "
                "give the values of the remaining rows, or give the data unique labels."
            )
        return column.reindex(self.index)

    # --- other data from these ---------------------------------------------------------------------

    def changed(self, **changes: Any) -> RowData:
        if not changes:
            self.require_same()
            return self
        options = self.changed_options(changes)
        if any(name in changes for name in ROW_READING) or is_mixed(options) != is_mixed(self.options):
            self.require_unchanged()
            return RowData.read(self.table, options, files=self.files)
        self.require_same()
        reading, scaling = split_options(options)
        if scaling.pop("passes", None) is not None or "robust" in changes:
            return RowData.read(self.table, options, files=self.files)  # raises an error for `passes`
        scaling.pop("robust", None)
        scaling = _scaling_of(self.contents, reading, scaling)
        return replace(self, options=options, otherwise=None, warns=False, **scaling)

    def part(self, places: np.ndarray) -> RowData:
        """Return the rows at `places`, read from the user's table with the same options.

        A column that does not vary in these rows is scaled as in all rows. If weights are numbers of equal
        rows, each place occurs as often as its row is counted.
        """
        options, design = dict(self.options), self.contents.rows
        places, weights = counted(places, self.contents.weights, design)
        numbers = {} if design is None else {"clusters": design.clusters, "strata": design.strata}
        for name, of_rows in numbers.items():
            if of_rows is not None and options.get(name) is not None and not isinstance(options[name], str):
                options[name] = of_rows[places]
        if options.get("weights") is not None and not isinstance(options["weights"], str):
            options["weights"] = weights
        table: Any = self.table
        if isinstance(table, pd.DataFrame):
            table = table.iloc[places]
            if isinstance(options.get("weights"), str):
                table = table.assign(**{options["weights"]: weights})
        else:
            table = table.tocsr()[places] if is_sparse(table) else table[places]
        scale = pd.Series(self.standard.scale, self.columns)
        return RowData.read(table, options, otherwise=scale, warns=False, files=self.files)

    def half(self, half: int, seed: int, columns: np.ndarray | None = None) -> RowData:
        """Return one half of the rows, without missing values, with all columns or some of them.

        If the fit centres by means, the half is centred by its own means. Other centres and the scale are
        taken from all rows, so that a column that is constant in a half can still be scaled.

        Parameters
        ----------
        half : {0, 1}
        seed : int
        columns : ndarray of int, shape (m,), optional
            Positions of the columns, in ascending order; by default all.
        """
        standard, contents = self.standard, self.contents
        column_places = slice(None) if columns is None else columns
        halves = self.row_groups.single_rows("choose_k()").halves(np.random.default_rng([seed, 2]))
        places, weights = counted(halves[half].rows, self.contents.weights, self.design)
        if self.cleaning is not None and not self.cleaning.kept.all():
            weights = np.where(self.cleaning.kept[places], 1.0 if weights is None else weights, 0.0)
        X = self.matrix if columns is None else self.matrix[:, columns]
        X = X.tocsr()[places] if is_sparse(X) else X[places]
        Z = None if self.covariates is None else self.covariates[places]
        if Z is not None:
            X = regress(X, Z, weights, self.columns[column_places], part=True).residuals(X, Z)
        mask = np.isin(np.arange(self.n), places)
        design = None if self.design is None else self.design.rows(mask)
        spec = replace(self.spec, columns=self.columns[column_places])
        return RowData(
            options={},
            contents=Design(X, contents.index[places], spec, weights, covariates=Z, rows=design),
            center=True if standard.centring == "mean" else standard.mean[column_places],
            scale=False if standard.scaling == "none" else standard.scale[column_places],
            warns=False,
        )

    # --- comparison with the original --------------------------------------------------------------

    @property
    def change_check(self) -> Callable[[], None] | None:
        return None if self.checksum is None else self.require_same

    def require_same(self) -> None:
        if self.checksum is not None and checksum(self.contents.matrix) != self.checksum:
            raise errors.DataError(
                "The data have changed since the fit: their numbers differ from the fitted numbers. Fit "
                "again, and leave arrays of more than 64 MB unchanged as long as the fit is in use."
            )

    def require_unchanged(self) -> None:
        self.require_same()
        na = self.reading.na if self.reading.na in GAPS else "raise"
        rows = self.contents.matrix
        try:
            matrix, index = replay(self.spec, self.table, na="drop" if self.dropped else na)
            is_equal = matrix.shape == rows.shape and index.equals(self.index)
            is_equal = is_equal and is_sparse(matrix) == is_sparse(rows)
            if is_sparse(matrix):
                is_equal = is_equal and checksum(matrix.tocsc()) == checksum(rows.tocsc())
            else:
                is_equal = is_equal and np.array_equal(matrix, rows, equal_nan=True)
        except errors.SpcaError as error:
            raise errors.DataError(f"The data have changed since the fit: {error}") from error
        if not is_equal:
            raise errors.DataError(
                "The data have changed since the fit: their rows differ from the fitted rows. Fit again."
            )

    def __getstate__(self) -> dict[str, Any]:
        contents = replace(self.contents, spec=packed_spec(self.spec))
        reading = replace(self.reading, context=packed_names(self.reading.context))
        return {**super().__getstate__(), "contents": contents, "reading": reading}


# --- reading ---------------------------------------------------------------------------------------


def split_options(options: Mapping[str, Any]) -> tuple[ReadOptions, dict[str, Any]]:
    """Return the options for reading, and the options for centring, scaling and passes."""
    reading = ReadOptions(**{name: value for name, value in options.items() if name in ROW_READING})
    return _in_context(reading), {name: value for name, value in options.items() if name not in ROW_READING}


def is_mixed(options: Mapping[str, Any]) -> bool:
    """Whether the columns may be numbers and factors (``scale="mixed"``)."""
    scale = options.get("scale")
    return isinstance(scale, str) and scale == "mixed"


def column_factors(columns: pd.Index, order: pd.Index) -> np.ndarray:
    """Return a factor for each column, for sums that identify rows; equal names have equal factors.

    `order` contains the same columns in another order, in which the factors are assigned.
    """
    factors = np.empty(len(order))
    factors[columns.get_indexer(order)] = np.random.default_rng(0).uniform(1.0, 2.0, len(order))
    return factors


def _in_context(reading: ReadOptions) -> ReadOptions:
    """Return the options with the values of names in a formula, by default from the user's function."""
    if reading.formula is None or reading.context is not None:
        return reading
    frame = user_frame()
    return replace(reading, context={} if frame is None else {**frame.f_globals, **frame.f_locals})


def contents_of(table: Any, reading: ReadOptions, mixed: bool) -> Design:
    """Read data in memory; with scale="mixed", all columns of a frame, including factors."""
    options = reading
    values = open_table(table).values if mixed else None
    if mixed and (reading.formula is not None or isinstance(values, pd.DataFrame)):
        options = replace(reading, formula=reading.formula or "~ .", categorical="dummy")
    try:
        contents = read_data(table, options, defer=not mixed)
    except errors.MissingValuesError as error:
        if not mixed or not error.gaps:
            raise
        drop = ", or na='drop' to leave out the rows" if error.has_complete_rows else ""
        raise errors.MissingValuesError(
            f"{error.gaps}, and scale='mixed' was given: give na='em' to impute numbers and levels{drop}."
        ) from None
    if reading.formula is None:
        warn_of_row_numbers(contents.matrix, contents.columns)
    if isinstance(values, pd.DataFrame) and not reading.codes:
        _warn_of_levels_in_order(values, contents)
    warn_of_missing_codes(contents.matrix, contents.columns)
    return contents


def _warn_of_levels_in_order(table: pd.DataFrame, contents: Design) -> None:
    """Warn about ordered categories in mixed data, which are treated as levels without an order."""
    inputs, dtypes = contents.spec.inputs or (), zip(table.columns, table.dtypes, strict=True)
    ordered = [
        name
        for name, dtype in dtypes
        if name in inputs
        and isinstance(dtype, pd.CategoricalDtype)
        and dtype.ordered
        and len(dtype.categories) > 2
    ]
    if ordered:
        warn(
            f"scale='mixed' treats the ordered categories of {listed(ordered)} as levels without an order. "
            "Give codes=True to replace ordered categories by the numbers 1, 2, ..., or "
            f"df[{shown(ordered[0])}].cat.as_unordered() if levels are meant.",
            errors.DataWarning,
        )


#: The share of missing values of a variable from which its imputed variance is reported as too small.
MANY_IMPUTED = 0.3


def _warn_of_many_imputed(missing: np.ndarray, scale: Mixed, columns: pd.Index) -> None:
    """Warn about numbers and factors with a large share of imputed values; `missing` has shape (n, p)."""
    shares = missing.mean(axis=0)
    large_shares = {
        (str(columns[j]) if scale.of[j] < 0 else scale.names[scale.of[j]]): shares[j]
        for j in np.flatnonzero(shares > MANY_IMPUTED).tolist()
    }
    if large_shares:
        name, share = max(large_shares.items(), key=lambda item: item[1])
        suffix = f", and more than 30 % of {len(large_shares) - 1} others" if len(large_shares) > 1 else ""
        warn(
            f"{whole_percent(share)} of {shown(name)} is missing{suffix}: imputed values vary less than "
            "measured values, so such variables have too little weight. Leave them out, or give "
            "imputations=[...], tables from a program for multiple imputation.",
            errors.DataWarning,
        )


def _scaling_of(contents: Design, reading: ReadOptions, scaling: Mapping[str, Any]) -> dict[str, Any]:
    """Return centre and scale by column, from the options `center`, `scale` and `blocks`."""
    center = scaling.get("center", True)
    if contents.spec.partial is not None and center is not True:
        raise errors.OptionError(
            f"center={shown(center)} was given with the covariates of formula={shown(reading.formula)}; "
            "regression on them has an intercept, so residuals have mean zero. Leave center out."
        )
    center = column_values("center", center, contents.columns)
    scale, blocks = scaling.get("scale"), scaling.get("blocks")
    if is_mixed(scaling) and blocks is None:
        return {"center": center, "scale": mixed_of(contents, reading, center)}
    return {"center": center, "scale": scale_of(scale, blocks, contents.columns)}
