"""Columns that number the rows: no measurements, though they look like numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed, warn
from spcastat.errors import DataWarning
from spcastat.kernels.sparsity import is_sparse

#: What pandas calls a column without a name, such as the row names that R and pandas write into files.
UNNAMED = re.compile(r"(Unnamed: \d+(_level_\d+)?|__index_level_\d+__|)")
#: Names of identifiers, alone or after a sign: id, patient_id, row.
_IDENTIFIER = re.compile(r"(.*[\W_])?(id|idx|index|key|row|rownames|obs|case|nr|no)", re.IGNORECASE)
#: Names of variables that can rise by one from row to row: time, and ranks.
_COUNTED = re.compile(
    r".*(year|yr|time|date|month|week|day|hour|minute|second|quarter|period|wave|age|rank|order|trend)s?\d*|t",
    re.IGNORECASE,
)
#: With fewer rows than this, whole numbers are in order by chance.
FEWEST = 10


def warn_of_row_numbers(matrix: Any, columns: pd.Index) -> None:
    """Warn where a column seems to number or name the rows rather than to measure something.

    That is a column without a name, one whose values rise by exactly one from row to row (unless it is called
    as times and ranks are), or one that is called as identifiers are and holds rising whole numbers.

    Parameters
    ----------
    matrix : ndarray of shape (n, p), sparse array, or None
        Only the names are looked at where it is not dense.
    columns : pandas.Index of length p

    Warns
    -----
    DataWarning
    """
    names = [str(label) for label in columns]
    found = {j for j, name in enumerate(names) if UNNAMED.fullmatch(name)}
    if matrix is not None and not is_sparse(matrix) and len(matrix) >= FEWEST:
        first = matrix[1] - matrix[0]
        for j in np.flatnonzero((first >= 1.0) & (first == np.floor(first))):
            named = bool(_IDENTIFIER.fullmatch(names[j]))
            if (named or first[j] == 1.0) and _numbers_rows(matrix[:, j], names[j], named):
                found.add(int(j))
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


def _numbers_rows(values: np.ndarray, name: str, named: bool) -> bool:
    """Whether the values are whole numbers that rise by one, or just rise in a column of identifiers."""
    with np.errstate(invalid="ignore"):
        steps = np.diff(values)
        whole = bool((values == np.floor(values)).all())
    if not whole or _COUNTED.fullmatch(name):
        return False
    return bool((steps == 1.0).all() or (named and (steps > 0.0).all()))
