"""Checks of results: properties of every fit, and agreement with the same call in its simplest form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd


def sound(fit: Any, k: int | None = None, card: int | None = None) -> str:
    """Return what is wrong with a fit by itself: lengths, numbers, cardinalities, scores.

    Loadings have unit length to 1e-8 (their rounding is 1e-16 a number, their normalisation a few of these).
    """
    V = in_pandas(fit.loadings).to_numpy()
    if not np.isfinite(V).all():
        return "loadings that are not finite"
    if np.abs(np.linalg.norm(V, axis=0) - 1.0).max() > 1e-8:
        return "loadings that are not of unit length"
    if k is not None and V.shape[1] != k:
        return f"{V.shape[1]} components instead of {k}"
    if card is not None and (V != 0).sum(axis=0).max() > card:
        return f"{(V != 0).sum(axis=0).max()} nonzeros instead of {card}"
    shares = fit.variance.filter(like="cumulative").to_numpy()
    if not np.isfinite(shares).all() or shares.min() < -1e-9 or shares.max() > 1.0 + 1e-9:
        return "shares of variance outside of 0 and 1"
    return ""


def same(reference: Callable[[], Any], tolerance: float = 1e-8) -> Callable[[Any], str]:
    """Return a judge that compares with the result of the same call in its plain form."""

    def judge(given: Any) -> str:
        return sound(given) if _is_fit(given) and sound(given) else different(given, reference(), tolerance)

    return judge


def different(one: Any, other: Any, tolerance: float = 1e-8) -> str:
    """Return how two results differ, or an empty string."""
    if _is_fit(one) and _is_fit(other):
        close = _close(in_pandas(one.loadings), in_pandas(other.loadings), tolerance)
        return "" if close else "other loadings"
    if isinstance(one, pd.DataFrame) and "seconds" in one and isinstance(other, pd.DataFrame):
        one, other = one.drop(columns="seconds"), other.drop(columns="seconds")
    if isinstance(one, pd.DataFrame | pd.Series | np.ndarray | float | int | complex):
        return "" if _close(one, other, tolerance) else "other numbers"
    if isinstance(one, str) and one != other:
        return "another text"
    return "" if isinstance(one, type(other)) else f"a {type(one).__name__} instead of {type(other).__name__}"


def plausible(given: Any) -> str:
    """Return what is wrong with the result of any public call, as far as it can be told from itself."""
    if _is_fit(given):
        return sound(given) if hasattr(given, "measure") and hasattr(given, "variance") else ""
    if isinstance(given, Mapping):
        return next((fault for part in given.values() if (fault := plausible(part))), "")
    if isinstance(given, pd.DataFrame):
        numbers = given.select_dtypes("number").to_numpy(dtype=float, na_value=np.nan)
        return "infinite numbers" if np.isinf(numbers).any() else ""
    if isinstance(given, float) and not np.isfinite(given):
        return "a number that is not finite"
    return ""


def in_pandas(given: Any) -> Any:
    """Return loadings or scores as a data frame: fits of polars frames have polars frames."""
    if hasattr(given, "to_pandas"):
        given = given.to_pandas()
        return given.set_index("variable") if "variable" in given else given
    return given.to_frame() if hasattr(given, "to_frame") else given


def _is_fit(given: Any) -> bool:
    return isinstance(in_pandas(getattr(given, "loadings", None)), pd.DataFrame)


def _close(one: Any, other: Any, tolerance: float) -> bool:
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape:
        return False
    if a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return a.tolist() == b.tolist() or bool(pd.DataFrame(one).equals(pd.DataFrame(other)))
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))
