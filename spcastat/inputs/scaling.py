"""Centring and scaling: options as given by column, ranges of numbers, variances in very different units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.config import is_single, listed, shown, warn
from spcastat.linalg.operators import Operator
from spcastat.linalg.standardisation import BLOCK_SCALES, BlockScaling, Mixed, ScalingGroups, Standardisation
from spcastat.reading.checks import aligned, vector
from spcastat.reading.design import Design, ReadOptions, factor_columns

#: Scales of columns must lie between this and its inverse, so that both are floating-point numbers.
LEAST_SCALE = 1e-300
#: Variances of columns that differ by more than this factor are reported, unless `scale` is given.
MOST_UNEQUAL = 1e4
#: Share of the columns whose small variances do not count, as they change no component: nearly constant ones.
NEARLY_CONSTANT = 0.1


def warn_of_unequal_variances(op: Operator, names: pd.Index) -> None:
    """Warn of columns in very different units, of which few would make up all components.

    The largest variance is compared with the smallest one but for a tenth of the columns, so that with up to
    ten columns all count; the warning names the smallest of all.
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
            f"The scale of {listed(columns[extremes])} is {standard.scale[extremes][0]:.3g}; it can be from "
            f"{LEAST_SCALE:g} to {1.0 / LEAST_SCALE:g}. Multiply such columns by a constant first."
        )


def scale_of(scale: Any, blocks: Any, columns: pd.Index) -> Any:
    """Return `scale` as True, False, numbers or BlockScaling; raise OptionError if `blocks` has no use."""
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


#: How mixed data with missing values are fitted.
COMPLETE = (
    "scale='mixed' was given: give na='em' to impute numbers and levels, or na='drop' to leave out the rows"
)


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


def column_values(option: str, value: Any, columns: pd.Index) -> Any:
    """Return `center` or `scale` as True, False, or one finite number for each column."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if is_single(value):
        other_values = ", or 'mixed', or 'blocks' with blocks=" * (option == "scale")
        raise errors.OptionError(
            f"{option}={shown(value)} was given; give True, False, or {len(columns)} numbers{other_values}."
        )
    if isinstance(value, pd.Series):
        value = aligned(value, columns, option, "columns")
    numbers = vector(value, len(columns), option, "columns")
    if option == "scale" and not (numbers > 0).all():
        raise errors.OptionError(f"scale holds {numbers.min():g}; divisors of columns must be positive.")
    return numbers
