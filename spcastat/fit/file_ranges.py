"""The ranges of the numbers in files of fits, by the place of their field.

The reader of files checks types, shapes and that numbers are finite. Here is what a number can be: a count is
not negative, a share is at most one, and a position is that of a loading.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, prod
from typing import Any

import numpy as np

from spcastat.errors import FileError

#: Rounding errors of shares, correlations and variances, as a share of the largest number.
ALLOWANCE = 1e-6
_COUNT, _SHARE, _CORRELATION, _NOT_NEGATIVE = (0.0, inf), (0.0, 1.0), (-1.0, 1.0), (0.0, inf)
_ABOVE_ZERO = (np.finfo(float).tiny, inf)

#: Place -> the smallest and the largest number there.
RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("record.n_init", "record.passes", "record.imputations"), (1.0, inf)),
    **dict.fromkeys(("record.reached", "record.k_found", "record.dropped", "record.n_iter"), _COUNT),
    "record.effective_n": _ABOVE_ZERO,
    "record.serial": _CORRELATION,
    **dict.fromkeys(("moments.variances", "moments.adjusted", "moments.pca"), _NOT_NEGATIVE),
    **dict.fromkeys(("standard.scale", "model.scale", "model.sigma2"), _ABOVE_ZERO),
    "regression.shares": _SHARE,
    **dict.fromkeys(("cleaning.components", "cleaning.known", "cleaning.grouped"), _COUNT),
    **dict.fromkeys(("cleaning.distance",), _NOT_NEGATIVE),
    **dict.fromkeys(("cleaning.wrapping.unit", "cleaning.wrapping.scale"), _ABOVE_ZERO),
    **dict.fromkeys(("principal.share", "principal.pca_share"), (np.finfo(float).tiny, 1.0)),
    **dict.fromkeys(("principal.bound", "principal.without", "principal.with_other"), _SHARE),
    **dict.fromkeys(("principal.with_further", "principal.shares", "principal.pca_shares"), _SHARE),
    **dict.fromkeys(("principal.rm", "principal.gcd", "principal.frequency"), _SHARE),
    **dict.fromkeys(("principal.criteria", "principal.correlation"), _CORRELATION),
    **dict.fromkeys(("principal.nodes", "principal.folds", "principal.draws", "principal.budget"), _COUNT),
    **dict.fromkeys(("principal.cost", "principal.sizes", "principal.held_out_error"), _COUNT),
    **dict.fromkeys(("bootstrap.variances", "bootstrap.whole", "bootstrap.of_fit"), _NOT_NEGATIVE),
    **dict.fromkeys(("bootstrap.asked", "stability.asked", "split.asked", "tests.asked"), (1.0, inf)),
    **dict.fromkeys(("bootstrap.again", "stability.again", "split.again", "split.independent"), _COUNT),
    **dict.fromkeys(("bootstrap.k_found", "bootstrap.rows", "split.rows"), _COUNT),
    **dict.fromkeys(("split.repeats", "split.draws", "tests.draws"), (1.0, inf)),
    **dict.fromkeys(("bootstrap.similarity", "stability.similarity", "split.similarity"), _SHARE),
    **dict.fromkeys(
        ("bootstrap.imputation_share", "split.p_value", "tests.p_value", "tests.q_value"), _SHARE
    ),
    **dict.fromkeys(("split.correlation", "tests.statistic"), _CORRELATION),
    **dict.fromkeys(("split.std_error", "split.variances", "split.variance_errors"), _NOT_NEGATIVE),
    "bootstrap.imputed_variances": _NOT_NEGATIVE,
}
#: Place -> the names of the sizes whose product is the number of positions, which ascend.
POSITIONS: dict[str, tuple[str, ...]] = {
    "bootstrap.places": ("p", "k"),
    "stability.places": ("p", "k"),
    "split.places": ("p", "k"),
}


def require_range(values: int | float | np.ndarray, place: str, message_place: str) -> None:
    """Raise FileError for numbers out of the range of their place; NaN are not numbers."""
    if place not in RANGES:
        return
    low, high = RANGES[place]
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[~np.isnan(numbers)]
    if not numbers.size:
        return
    if low > 0.0:
        rounding = 0.0
    elif low == 0.0:
        rounding = ALLOWANCE * max(float(np.abs(numbers).max()), 1.0)
    else:
        rounding = ALLOWANCE
    if numbers.min() < low - rounding or numbers.max() > high + ALLOWANCE:
        raise FileError(f"its {message_place} is out of range.")


def require_positions(
    positions: np.ndarray, place: str, message_place: str, sizes: Mapping[str, int]
) -> None:
    """Raise FileError for positions that do not exist, or do not ascend."""
    if place not in POSITIONS or not positions.size:
        return
    count = prod(sizes[name] for name in POSITIONS[place])
    if positions.min() < 0 or positions.max() >= count or (np.diff(positions) <= 0).any():
        raise FileError(f"its {message_place} are not positions of loadings.")


def is_possible(evidence: Mapping[str, Any], p: int) -> bool:
    """Return whether the counts of a search among p variables are possible."""
    counts = {name: value for name, value in evidence.items() if type(value) is int}
    starts = counts.get("starts", counts.get("settled_fits", 1))
    return (
        min(starts, counts.get("nonzeros", 1), counts.get("groups", 1), counts.get("variables", 1)) >= 1
        and min(counts.values(), default=0) >= 0
        and counts.get("hits", 0) <= starts
        and counts.get("agreeing", 0) <= counts.get("chains", 0)
        and counts.get("variables", 0) <= p
        and 0 <= evidence.get("unseen", 0) <= 1
    )
