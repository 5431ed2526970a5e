"""Multiple imputations of one table: given as such, or by mistake as rows one after another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import shown, whole_percent
from spcastat.errors import DataError, OptionError
from spcastat.reading.covariance import looks_like_covariance

#: The columns in which mice, for R, stores the number of the imputation and of the row.
IMPUTATION_COLUMN, ROW_COLUMN = ".imp", ".id"


# --- imputations as given --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Imputations:
    """Imputations of one table: the same rows and columns, with values of their own where it had none.

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
                    f"Imputation {number} is of type {type(frame).__name__}; imputations= takes data frames: "
                    "give pd.DataFrame(array, columns=names) for an array."
                )
        if len(frames) < 2:
            raise DataError(
                f"imputations= was given {'one data frame' if frames else 'no data frame'}, and the "
                "uncertainty of imputed values shows in the differences between two or more: give more, or a "
                "single frame as data."
            )
        if looks_like_covariance(frames[0]):
            raise DataError(
                "imputations= was given covariance or correlation matrices, and it takes the imputed rows; "
                "of matrices, give the mean: spca_cov(sum(imputations) / len(imputations), ...)."
            )
        for number, frame in enumerate(frames[1:], 2):
            _require_alike(frames[0], frame, number)
        return cls(tuple(frames))


def with_imputations(function: str, data: Any, imputations: Any) -> Any:
    """Return the data of a call: the imputations, if it has some, or the data.

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
    """Return the imputations in a table that mice made: ``complete(imp, "long")``."""
    if IMPUTATION_COLUMN not in table.columns:
        raise DataError(
            f"imputations= was given one data frame without a column {IMPUTATION_COLUMN!r}; give a list of "
            f"data frames, one for each imputation, or one with their numbers in {IMPUTATION_COLUMN!r}, as "
            "complete(imp, 'long') of mice has."
        )
    labelled = table.set_index(ROW_COLUMN) if ROW_COLUMN in table.columns else None
    frames = []
    for number, frame in (table if labelled is None else labelled).groupby(IMPUTATION_COLUMN):
        if number != 0:  # the table with missing values
            rows = frame.drop(columns=IMPUTATION_COLUMN)
            frames.append(rows if labelled is not None else rows.reset_index(drop=True))
    return frames


def _require_alike(reference: pd.DataFrame, frame: pd.DataFrame, number: int) -> None:
    """Raise DataError unless a frame has the rows and columns of the first, in their order."""
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
            f"Imputation {number} has {difference}, and the first has {len(reference):,} rows; imputations "
            "have the same rows in the same order."
        )


# --- imputations given as rows ---------------------------------------------------------------------


#: Imputations of one table have at least this share of cells in common.
LEAST_EQUAL = 0.5
#: Rows that are compared.
COMPARED_ROWS = 10_000


def refuse_long_imputations(columns: Iterable[Any]) -> None:
    """Raise DataError for rows with the column that numbers imputations in the long format of mice.

    Parameters
    ----------
    columns : iterable
        The names of the columns.
    """
    names = {name for name in columns if isinstance(name, str)}
    if IMPUTATION_COLUMN in names:
        numbering = [name for name in (IMPUTATION_COLUMN, ROW_COLUMN) if name in names]
        raise DataError(
            f"The table has the column {IMPUTATION_COLUMN!r} of multiple imputations in mice's long format, "
            "and every imputation would count as further rows. Give imputations=data in place of the data, "
            "to spca(), spca_path(), choose() or rows(), or one imputation, "
            f"data[data['.imp'] == 1].drop(columns={numbering})."
        )


def refuse_imputations(data: Any) -> None:
    """Raise DataError for a list of data frames that look like imputations of one table.

    They have the same columns and row labels, most of their cells are equal, and far more than in rows that
    do not belong together: cells that differ are at most half as many as between a row and the next row of
    the other frame. So chunks of equal length, whose labels are all 0, 1, ..., are not taken for imputations.
    """
    frames = list(data) if isinstance(data, list | tuple) else []
    if len(frames) < 2 or not all(isinstance(frame, pd.DataFrame) for frame in frames):
        return
    reference = frames[0]
    if not all(_is_alike(reference, candidate) for candidate in frames[1:]):
        return
    equal, shifted = _equal_cells(frames[:2])
    if equal < LEAST_EQUAL or 1.0 - equal > 0.5 * (1.0 - shifted) or shifted == 1.0:
        return
    n = len(reference)
    raise DataError(
        f"The {len(frames)} frames have the same {n:,} row labels and {whole_percent(equal)} equal cells, as "
        f"imputations of one table have, and stacked they would count as {len(frames) * n:,} rows. Give "
        "imputations=frames in place of the data, to spca(), spca_path(), choose() or rows(). If they are "
        "successive rows, give lambda: frames."
    )


def _is_alike(reference: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Whether two frames have the same columns and row labels, and more than one row."""
    return (
        len(reference) > 1
        and reference.shape == other.shape
        and reference.columns.equals(other.columns)
        and reference.index.equals(other.index)
    )


def _equal_cells(frames: Sequence[pd.DataFrame]) -> tuple[float, float]:
    """Return the shares of cells that are equal in the same row, and in the next row of the second frame."""
    cells, other_cells = (frame.iloc[:COMPARED_ROWS].to_numpy(dtype=object) for frame in frames)
    equality = np.asarray(cells == other_cells, dtype=bool)
    equality_shifted = np.asarray(cells == np.roll(other_cells, 1, axis=0), dtype=bool)
    return float(equality.mean()), float(equality_shifted.mean())
