"""The user's data made ready for a fit: read once, then given to whatever method asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import user_frame
from spcastat.errors import OptionError
from spcastat.intake import Spec, read_covariance, read_data
from spcastat.intake.checks import aligned, vector
from spcastat.operators import Gram, Standardisation, build, standardise
from spcastat.results.source import Source


@dataclass(frozen=True, eq=False)
class Opened:
    """Data that were read and checked.

    Attributes
    ----------
    p : int
        Number of variables.
    source : callable
        Whether rows must be kept as such -> the source of a fit.
    context : mapping or None
        The names besides the columns that a formula uses.
    """

    p: int
    source: Callable[[bool], Source]
    context: Mapping[str, Any] | None = None


def open_rows(
    data: Any,
    *,
    formula: str | None = None,
    context: Mapping[str, Any] | None = None,
    weights: Any = None,
    na: str = "raise",
    categorical: str = "refuse",
    center: Any = True,
    scale: Any = False,
) -> Opened:
    """Read rows; the parameters are those of :func:`spcastat.spca`."""
    if formula is not None and context is None:
        context = _names_at_call()
    design = read_data(
        data, formula=formula, context=context, weights=weights, na=na, categorical=categorical
    )
    center = _column_values("center", center, design.columns)
    scale = _column_values("scale", scale, design.columns)

    def source(keep_rows: bool) -> Source:
        standard = standardise(design.matrix, design.weights, center, scale, list(design.columns))
        return Source(
            op=build(design.matrix, design.weights, standard, keep_rows=keep_rows),
            spec=design.spec,
            n=design.shape[0],
            standard=standard,
            matrix=design.matrix,
            index=design.index,
            dropped=design.dropped,
            weights=design.weights,
        )

    return Opened(len(design.columns), source, design.spec.context if formula is not None else None)


def open_covariance(S: Any, *, n_obs: int | None = None, mean: Any = None, scale: Any = None) -> Opened:
    """Read a covariance matrix; the parameters are those of :func:`spcastat.spca_cov`."""
    covariance = read_covariance(S, n_obs=n_obs, mean=mean, scale=scale)
    if scale is not None and mean is None:
        raise OptionError(
            "scale was given without mean; transform() needs both, (x - mean) / scale. Give mean= as well, "
            "or leave scale out."
        )
    p = len(covariance.columns)
    standard = None
    if covariance.mean is not None:
        divisor = np.ones(p) if covariance.scale is None else covariance.scale
        scaling = "none" if covariance.scale is None else "given"
        standard = Standardisation(covariance.mean, divisor, "given", scaling)
    spec = Spec("frame" if isinstance(S, pd.DataFrame) else "array", covariance.columns)
    source = Source(op=Gram(covariance.matrix), spec=spec, n=covariance.n_obs, standard=standard)
    return Opened(p, lambda keep_rows: source)


def _names_at_call() -> Mapping[str, Any]:
    frame = user_frame()
    return {} if frame is None else {**frame.f_globals, **frame.f_locals}


def _column_values(option: str, value: Any, columns: pd.Index) -> Any:
    """Return `center` or `scale` as True, False, or one finite number for each column."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if value is None or np.ndim(value) == 0:
        raise OptionError(
            f"{option}={value!r} was given; it must be True, False, or {len(columns)} numbers, one a column."
        )
    if isinstance(value, pd.Series):
        value = aligned(value, columns, option, "columns")
    numbers = vector(value, len(columns), option, "columns")
    if option == "scale" and not (numbers > 0).all():
        raise OptionError(f"scale holds {numbers.min():g}; what columns are divided by must be positive.")
    return numbers
