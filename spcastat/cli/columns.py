"""The columns of a Parquet file that a command looks at, so that no others are read."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from spcastat.errors import FileError, SpcaError

if TYPE_CHECKING:
    import pandas as pd

#: (names of all columns) -> those needed; None for all.
Needed = Callable[[Sequence[str]], list[str] | None]
#: Arguments that name columns beside those of the fit.
BESIDE = ("index_col", "weights", "groups", "color")
#: Formulas with more characters are refused where they are read.
LONGEST = 100_000


def needed_columns(args: argparse.Namespace, available: Sequence[str]) -> list[str] | None:
    """Return the columns that a command looks at, in the order of the file.

    None for all of them: where neither --columns nor --formula says which, and where one that is named is not
    there, so that whoever misses it can tell what there is.
    """
    wanted = getattr(args, "columns", None) or _of_formula(getattr(args, "formula", None), available)
    if wanted is None or len(set(available)) < len(available):
        return None
    beside = [getattr(args, name, None) for name in BESIDE]
    named = {*wanted, *(name for name in beside if name is not None)}
    if not named <= set(available):
        return None
    return [name for name in available if name in named]


def _of_formula(formula: str | None, available: Sequence[str]) -> list[str] | None:
    """Return the columns that a formula reads; None for one that is refused where the columns are taken."""
    if formula is None or len(formula) > LONGEST:
        return None
    import pandas as pd

    from spcastat.intake import formula as formulas
    from spcastat.intake.safe import safe_context

    try:
        used = formulas.parse(formula, pd.Index(list(available)), safe_context()).used
    except SpcaError:
        return None
    return [available[position] for position in used.values()]


def columns_of(path: str) -> list[str]:
    """Return the names of the columns of a Parquet file, without those that label its rows."""
    from pyarrow import parquet

    from spcastat.streams.parquet import Layout

    layout = Layout(parquet.read_schema(path))
    return [name for name in layout.names if name not in layout.labels]


def read_parquet(path: str, needed: Needed) -> pd.DataFrame:
    """Read the needed columns of a Parquet file.

    Raises
    ------
    FileError
        Where pyarrow is not installed.
    """
    import pandas as pd

    try:
        return pd.read_parquet(path, columns=needed(columns_of(path)))
    except ImportError as error:
        raise FileError(
            f"{path} is a Parquet file, which needs pyarrow: pip install pyarrow, or give a CSV file."
        ) from error
