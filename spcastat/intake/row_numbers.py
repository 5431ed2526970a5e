"""Detect columns of row numbers and identifiers, which are not measurements."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed, warn
from spcastat.errors import DataWarning
from spcastat.kernels.sparsity import is_sparse

#: Names that pandas gives to columns without a name, such as the row names that R and pandas write into
#: files.
UNNAMED = re.compile(r"(Unnamed: \d+(_level_\d+)?|__index_level_\d+__|)")
#: Names of identifiers, such as id, patient_id and row.
_IDENTIFIER = re.compile(r"(.*[\W_])?(id|idx|index|key|row|rownames|obs|case|nr|no)", re.IGNORECASE)
#: Names of columns of subjects, who may have several rows each: subject, patient_id and participantId.
_SUBJECT = re.compile(
    r"(.*[\W_])?(id|(subject|patient|participant|person|individual|respondent)([\W_]?(id|nr|no))?)",
    re.IGNORECASE,
)
#: Names of variables that may increase by one from row to row: times and ranks.
_COUNTED = re.compile(
    r".*(year|yr|time|date|month|week|day|hour|minute|second|quarter|period|wave|age|rank|order|trend)s?\d*|t",
    re.IGNORECASE,
)


def warn_of_row_numbers(matrix: Any, columns: pd.Index) -> None:
    """Warn if a column seems to hold row numbers or identifiers rather than measurements.

    These are columns without a name; columns whose values increase by exactly one from row to row, unless the
    name suggests a time or a rank; columns of increasing whole numbers with the name of an identifier; and
    columns of repeated whole numbers with a name such as "subject", if the rows are sorted by them or every
    number occurs equally often. Times give no warning: a year may be a variable.

    Parameters
    ----------
    matrix : ndarray of shape (n, p), sparse array, or None
        If it is not dense, only the names are examined.
    columns : pandas.Index of length p

    Warns
    -----
    DataWarning
    """
    names = [str(label) for label in columns]
    found = {j for j, name in enumerate(names) if UNNAMED.fullmatch(name)}
    # with fewer than ten rows, whole numbers may be in order by chance
    if matrix is not None and not is_sparse(matrix) and len(matrix) >= 10:
        first = matrix[1] - matrix[0]
        counted = set(np.flatnonzero((first >= 1.0) & (first == np.floor(first))).tolist())
        for j, name in enumerate(names):
            rows = j in counted and _numbers_rows(matrix[:, j], name)
            if rows or (_SUBJECT.fullmatch(name) and _numbers_subjects(matrix[:, j])):
                found.add(j)
    if not found:
        return
    labels = [columns[j] for j in sorted(found)]
    look, are, them = ("look", "are variables", "them")
    if len(labels) == 1:
        look, are, them = ("looks", "is a variable", "it")
    warn(
        f"{listed(labels)} {look} like row numbers or identifiers, and {are} of this analysis. Leave {them} "
        f"out with data.drop(columns=[{listed(labels, 3)}]), or read {them} as row labels, e.g. "
        f"pd.read_csv(path, index_col=0). A formula that names {them} gives no warning.",
        DataWarning,
    )


def _numbers_rows(values: np.ndarray, name: str) -> bool:
    """Whether whole numbers increase by one, or just increase if the name is that of an identifier."""
    with np.errstate(invalid="ignore"):
        steps = np.diff(values)
        whole = bool((values == np.floor(values)).all())
    if not whole or _COUNTED.fullmatch(name):
        return False
    return bool((steps == 1.0).all() or (_IDENTIFIER.fullmatch(name) and (steps > 0.0).all()))


def _numbers_subjects(values: np.ndarray) -> bool:
    """Whether the values are repeated whole numbers that never decrease or all occur equally often."""
    if not np.isfinite(values).all() or (values != np.floor(values)).any():
        return False
    counts = np.unique(values, return_counts=True)[1]
    balanced = counts[0] > 1 and (counts == counts[0]).all()
    return bool(len(counts) > 1 and (balanced or (np.diff(values) >= 0.0).all()))
