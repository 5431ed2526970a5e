"""Groups of variables in tables and plots: a group name for each variable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import elements, shown
from spcastat.errors import ShapeError


def variable_groups(groups: Any, index: pd.Index) -> pd.Categorical:
    """Return the group of every variable, in the order of `index`, as a categorical.

    `groups` is a sequence of names, a mapping or Series from variables to names, or a Categorical. Groups
    given by names are in the order of their first occurrence. Raises ShapeError for anything else.
    """
    if isinstance(groups, pd.DataFrame):
        raise ShapeError(
            f"sections is a data frame of shape {groups.shape}; give one column, a section for each variable."
        )
    if hasattr(groups, "keys") and not isinstance(groups, pd.Series):
        groups = pd.Series(dict(groups), dtype=object)
    if isinstance(groups, pd.Series) and not groups.index.equals(index):
        if not groups.index.is_unique or not any(name in index for name in groups.index.to_flat_index()):
            raise ShapeError(
                "sections names none of the variables; its labels must be names of variables. Groups of rows "
                "are the groups= of biplot(), plot_scores() and report()."
            )
        groups = groups.reindex(index)
    values = groups.array if isinstance(groups, pd.Series) else groups
    found = values if isinstance(values, pd.Categorical) else _named_groups(values, len(index))
    if len(found) != len(index):
        raise ShapeError(f"sections has {len(found)} values; there are {len(index)} variables.")
    return found


def _named_groups(values: Any, p: int) -> pd.Categorical:
    """Return the groups of a sequence of p names; raise ShapeError for anything else."""
    try:
        names = [None if _missing(one) else one for one in elements(values, p)]
        known = list(dict.fromkeys(one for one in names if one is not None))
        return pd.Categorical(names, categories=pd.Index(known, dtype=object, tupleize_cols=False))
    except Exception:  # values that cannot be hashed or compared, or text that is not valid
        raise ShapeError(
            f"sections={shown(values)} was given; give {p} names or None, or a mapping from variables to "
            "names."
        ) from None


def _missing(value: Any) -> bool:
    nan = isinstance(value, (float, np.floating)) and bool(np.isnan(value))
    return nan or value is None or value is pd.NA or value is pd.NaT
