"""Multiple imputations of one table as the data of a fit: their covariance matrices are averaged.

As in Rubin (1987), Multiple Imputation for Nonresponse in Surveys, Wiley, estimates are means over
imputations. Here covariance matrices are averaged, so that all imputations have the same components and
supports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.arguments import shown
from spcastat.errors import DataError, OptionError
from spcastat.inputs.data import Data
from spcastat.inputs.opening import IMPUTATION_COLUMN, ROW_COLUMN
from spcastat.inputs.row_data import ROW_OPTIONS, RowData
from spcastat.inputs.row_groups import content_keys
from spcastat.linalg.operators import Operator, averaged
from spcastat.linalg.standardisation import ScalingGroups, Standardisation
from spcastat.reading.design import Remark, RowDesign, Spec
from spcastat.reading.read import looks_like_covariance

if TYPE_CHECKING:
    from spcastat.inputs.noise import Noise, PulledIn
    from spcastat.inputs.samplers import FoldRows, ImputedSampler

#: Options that imputations do not support, and what to do instead.
REFUSED = {
    "na": "imputations have no missing values: leave na out",
    "robust": "each imputation would be cleaned differently: clean the table before it is imputed",
    "passes": "the imputations are in memory: leave passes out",
}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ImputedData(Data):
    """Imputations of one table.

    Attributes
    ----------
    parts : tuple of RowData
        The imputations, with the same rows, columns, weights and clusters.
    """

    parts: tuple[RowData, ...]

    option_names: ClassVar[tuple[str, ...]] = ROW_OPTIONS
    argument: ClassVar[str] = "imputations=imputations"
    usual_criterion: ClassVar[str] = "ebic"

    @classmethod
    def read(cls, table: Imputations, options: Mapping[str, Any]) -> ImputedData:
        """Read imputations, each with the same options of :func:`spcastat.rows`."""
        for name, advice in REFUSED.items():
            if options.get(name) is not None:
                raise errors.OptionError(
                    f"{name}={shown(options[name])} was given with imputations=, but {advice}."
                )
        parts = []
        for number, frame in enumerate(table.frames, 1):
            try:
                parts.append(RowData.read(frame, options, warns=number == 1))
            except errors.MissingValuesError as error:
                raise errors.MissingValuesError(
                    f"Imputation {number} has missing values: {error.gaps}. Impute them too, or give the "
                    "table as data with na='em'."
                ) from None
            _require_same_rows(parts[0], parts[-1], number)
        return cls(options=parts[0].options, table=table, parts=tuple(parts))

    @property
    def reference(self) -> RowData:
        """The first imputation, for properties that all imputations share."""
        return self.parts[0]

    # --- columns and moments -----------------------------------------------------------------------

    @property
    def spec(self) -> Spec:
        return self.reference.spec

    @cached_property
    def _operator(self) -> Operator:
        return averaged([part.op for part in self.parts], self.n)

    @property
    def op(self) -> Operator:
        return self._operator

    @cached_property
    def standard(self) -> Standardisation:
        """The means of the centres and scales of the imputations, for scores."""
        standards = [part.standard for part in self.parts]
        centre = np.mean([standard.mean for standard in standards], axis=0)
        scale = np.mean([standard.scale for standard in standards], axis=0)
        return replace(standards[0], mean=centre, scale=scale)

    @property
    def n(self) -> int:
        return self.reference.n

    @property
    def weight(self) -> float:
        return self.reference.weight

    @property
    def weighted(self) -> bool:
        return self.reference.weighted

    @property
    def groups(self) -> ScalingGroups | None:
        return self.reference.groups

    @property
    def row_labels(self) -> pd.Index:
        return self.reference.index

    @property
    def design(self) -> RowDesign | None:
        return self.reference.design

    @property
    def holds_scores(self) -> bool:
        return True

    @property
    def size(self) -> str:
        return f"{super().size}, {len(self.parts)} imputations"

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "imputations": len(self.parts)}

    # --- requests of analyses ----------------------------------------------------------------------

    def for_method(self, method: str) -> ImputedData:
        if method:
            raise errors.NoRowsError(
                f"{method} needs the rows of one table, but imputations are averaged as covariance matrices: "
                "give one of them as data, or use spca() with another method."
            )
        return self

    def rows(self, analysis: str, function: str = "spca") -> Any:
        raise errors.NoRowsError(
            f"{analysis} needs the rows of one table, but this is a fit of {len(self.parts)} imputations: "
            f"use it with each imputation, for instance {function}(imputations[0], ...)."
        )

    @cached_property
    def _means(self) -> RowData:
        mean = np.mean([part.matrix for part in self.parts], axis=0)
        standard = self.standard
        return replace(
            self.reference,
            table=None,
            contents=replace(self.reference.contents, matrix=mean),
            center=standard.mean,
            scale=standard.scale,
            checksum=None,
            warns=False,
        )

    def rows_shown(self, analysis: str, function: str = "spca") -> RowData:
        """Return the means of the imputations; the scores of these means are the means of the scores."""
        self.require_same()
        return self._means

    def require_one_table(self, analysis: str) -> None:
        self.rows(analysis)  # raises an error

    def require_folds(self) -> None:
        raise errors.NoRowsError(
            "by='cv' was given with imputations=, but needs rows, not their averaged covariance matrix; omit "
            "by= to use by='ebic', or give one of the imputations as data."
        )

    def sampler(self, analysis: str, keep_rows: bool = False) -> ImputedSampler:
        from spcastat.inputs.samplers import ImputedSampler

        parts = sorted(self.parts, key=lambda part: sorted(content_keys(part.measured)))
        return ImputedSampler(tuple(part.sampler(analysis, keep_rows) for part in parts))

    def noise(
        self, seed: int, cells: int, unit: float, terms: np.ndarray | None, pull: bool = True
    ) -> tuple[Noise, PulledIn | None]:
        from spcastat.inputs.noise import covariance_noise

        return covariance_noise(self.op, self.free, None, seed, unit), None

    def fold_rows(self, folds: int, repeats: int, seed: int, unit: float, pull: bool = True) -> FoldRows:
        from spcastat.inputs.samplers import of_covariance

        return of_covariance(self.op, self.free, None, folds, repeats, seed, unit)

    def row_parts(
        self, analysis: str, function: str = "spca", task: str = "rows"
    ) -> Iterator[tuple[Any, pd.Index]]:
        yield self.rows_shown(analysis).matrix, self.row_labels

    def scores(self, V: np.ndarray, components: pd.Index, function: str = "spca") -> pd.DataFrame:
        rows = self.rows_shown("scores")
        return pd.DataFrame(rows.standard.project(rows.matrix, V), index=self.row_labels, columns=components)

    def scores_sd(self, V: np.ndarray, components: pd.Index) -> pd.DataFrame:
        self.require_same()
        scores = np.array([self.standard.project(part.matrix, V) for part in self.parts])
        return pd.DataFrame(scores.std(axis=0, ddof=1), index=self.row_labels, columns=components)

    def order_mark(self, V: np.ndarray) -> float:
        """Return a number that identifies the order of the rows."""
        return self.reference.order_mark(V)

    def fingerprint(self, columns: pd.Index) -> tuple[np.ndarray, np.ndarray]:
        return self.reference.fingerprint(columns)

    def remark(self) -> Remark:
        return self.reference.remark()

    def serial_correlation(self) -> float | None:
        return self.reference.serial_correlation()

    def by_row(self, given: Any, option: str) -> Any:
        return self.reference.by_row(given, option)

    def changed(self, **changes: Any) -> ImputedData:
        if not changes:
            self.require_same()
            return self
        return ImputedData.read(self.table, self.changed_options(changes))

    # --- comparison with the original --------------------------------------------------------------

    def require_same(self) -> None:
        for part in self.parts:
            part.require_same()

    def require_unchanged(self) -> None:
        for part in self.parts:
            part.require_unchanged()


def _require_same_rows(reference: RowData, part: RowData, number: int) -> None:
    """Raise an error unless an imputation has the columns, weights and clusters of the first imputation.

    A formula must neither estimate its terms from the rows nor adjust for covariates, which would differ.
    """
    if reference.estimates_terms or reference.covariates is not None:
        raise errors.FormulaError(
            f"{shown(reference.reading.formula)} was given with imputations=, but its terms or covariates "
            "are estimated from the rows of each; make these columns in every frame first."
        )
    if not reference.columns.equals(part.columns):
        raise errors.DataError(
            f"Imputation {number} has other indicator columns than the first, since levels of a factor "
            "differ; merge rare levels, so that each level has rows in all frames."
        )
    designs = [
        [None if of is None else getattr(of, name) for name in ("clusters", "strata")]
        for of in (reference.design, part.design)
    ]
    pairs = [(reference.weights, part.weights), *zip(*designs, strict=True)]
    if not all(_equal(a, b) for a, b in pairs):
        raise errors.DataError(
            f"Imputation {number} has other weights, clusters or strata than the first; these describe the "
            "sample, and must be the same in all imputations."
        )


def _equal(a: Any, b: Any) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


# --- imputations as given to a call ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Imputations:
    """Imputations of one table: the same rows and columns, with different values for missing cells.

    Attributes
    ----------
    frames : tuple of DataFrame
        Two or more, with equal row labels and columns.
    """

    frames: tuple[pd.DataFrame, ...]

    @classmethod
    def of(cls, data: Any) -> Imputations:
        """Return the imputations in a list of frames, or in a frame in the long format of mice.

        Raises
        ------
        DataError
            For other data, a single imputation, and frames with other row labels or columns.
        """
        frames = _of_long(data) if isinstance(data, pd.DataFrame) else data
        if not isinstance(frames, list | tuple):
            raise DataError(
                f"imputations= was given data of type {type(data).__name__}; it must be a list of data "
                "frames, one for each imputation, or one data frame with the number of the imputation in a "
                f"column {IMPUTATION_COLUMN!r}."
            )
        for number, frame in enumerate(frames, 1):
            if not isinstance(frame, pd.DataFrame):
                raise DataError(
                    f"Imputation {number} is of type {type(frame).__name__}; imputations= needs data frames: "
                    "give pd.DataFrame(array, columns=names) for an array."
                )
        if len(frames) < 2:
            raise DataError(
                f"imputations= was given {'one data frame' if frames else 'no data frame'}, and the "
                "uncertainty of imputed values is estimated from the differences between two or more: give "
                "more, or a single frame as data."
            )
        if looks_like_covariance(frames[0]):
            raise DataError(
                "imputations= was given covariance or correlation matrices, but it accepts only imputed "
                "rows; for matrices, give the mean: spca_cov(sum(imputations) / len(imputations), ...)."
            )
        for number, frame in enumerate(frames[1:], 2):
            _require_alike(frames[0], frame, number)
        return cls(tuple(frames))


def with_imputations(function: str, data: Any, imputations: Any) -> Any:
    """Return the data of a call: the imputations if they are given, otherwise the data.

    Raises
    ------
    OptionError
        If both are given.
    """
    if imputations is None:
        return data
    if data is not None:
        raise OptionError(
            f"{function}() was given data and imputations=; give imputations= alone, without the table that "
            "has missing values."
        )
    return Imputations.of(imputations)


def _of_long(table: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the imputations in a table from ``complete(imp, "long")`` of mice."""
    if IMPUTATION_COLUMN not in table.columns:
        raise DataError(
            f"imputations= was given one data frame without a column {IMPUTATION_COLUMN!r}; give a list of "
            f"data frames, one for each imputation, or one with their numbers in {IMPUTATION_COLUMN!r}, as "
            "from complete(imp, 'long') of mice."
        )
    labelled = table.set_index(ROW_COLUMN) if ROW_COLUMN in table.columns else None
    frames = []
    for number, frame in (table if labelled is None else labelled).groupby(IMPUTATION_COLUMN):
        if number != 0:  # the table with missing values
            rows = frame.drop(columns=IMPUTATION_COLUMN)
            frames.append(rows if labelled is not None else rows.reset_index(drop=True))
    return frames


def _require_alike(reference: pd.DataFrame, frame: pd.DataFrame, number: int) -> None:
    """Raise DataError unless a frame has the rows and columns of the first frame, in the same order."""
    if list(reference.columns) != list(frame.columns):
        changed = [name for name in reference.columns if name not in frame.columns]
        changed += [name for name in frame.columns if name not in reference.columns]
        difference = f"such as {shown(changed[0])}" if changed else "in another order"
        raise DataError(
            f"Imputation {number} and the first have different columns, {difference}; give frames "
            "with the same columns in the same order."
        )
    if len(reference) != len(frame) or not reference.index.equals(frame.index):
        difference = "other row labels" if len(reference) == len(frame) else f"{len(frame):,} rows"
        raise DataError(
            f"Imputation {number} has {difference}, but the first has {len(reference):,} rows; imputations "
            "must have the same rows in the same order."
        )
