"""Checks of the options of all methods, in one table, so that an option means the same for all methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import each, flag, is_whole, listed, one_of, real_number, shown, whole_number
from spcastat.engine.starts import STARTS, Start
from spcastat.engine.support_rules import groups_together, names_by_component
from spcastat.errors import CardinalityError, OptionError, VarianceError
from spcastat.kernels.scales import SCALES
from spcastat.operators import DEFLATIONS, GRAM_ORDER
from spcastat.search.settings import EFFORTS, OBJECTIVES, PROMISES

#: Largest number of starts of one fit.
MOST_STARTS = 1_000_000

#: Takes (value, k, p) and returns the value for the solver.
Check = Callable[[Any, int, int], Any]


def cardinalities(card: Any, k: int, p: int) -> tuple[int, ...]:
    """Return the number of nonzeros of each of k components.

    Parameters
    ----------
    card : int, sequence of k ints, or mapping
        A mapping, or a Series with such labels, names components by "PC1", "PC2", ... or by number from 1.
    k, p : int
    """
    names = [f"PC{i + 1}" for i in range(k)]
    if isinstance(card, Mapping):
        values = _from_mapping(card, names)
    elif isinstance(card, pd.Series) and sorted(map(str, card.index)) == sorted(names):
        values = _from_mapping(card.to_dict(), names)
    else:
        values = each("card", card, k, CardinalityError)
    return tuple([whole_number("card", one, 1, p, CardinalityError) for one in values])


def _from_mapping(card: Mapping[Any, Any], names: list[str]) -> list[Any]:
    """Return the values of a mapping in the order of the components, given by name or by number."""
    by_name = {f"PC{int(key)}" if is_whole(key) else str(key): value for key, value in card.items()}
    if set(by_name) != set(names) or len(by_name) != len(card):
        raise CardinalityError(
            f"card names the components {listed(card)}; with k={len(names)} it must name each of "
            f"{listed(names, 20)} (or their numbers, from 1) once."
        )
    return [by_name[name] for name in names]


def _numbers(name: str, low: float, high: Callable[[int], float]) -> Check:
    """Return a check for one number for all components, or for k numbers, between `low` and ``high(p)``."""

    def check(value: Any, k: int, p: int) -> tuple[float, ...]:
        values = each(name, value, k)
        largest = high(p)
        return tuple(min(real_number(name, one, low, largest * (1 + 1e-12)), largest) for one in values)

    return check


def _flag(name: str) -> Check:
    return lambda value, k, p: flag(name, value)


def _count(name: str) -> Check:
    return lambda value, k, p: whole_number(name, value, 1)


def _between(name: str, low: float, high: float) -> Check:
    """Return a check for a number strictly between `low` and `high`."""

    def check(value: Any, k: int, p: int) -> float:
        number = real_number(name, value, low, high, open_low=True)
        if number == high:
            raise OptionError(f"{name}={shown(value)} was given; it must be a number in ({low:g}, {high:g}).")
        return number

    return check


def _screen(value: Any, k: int, p: int) -> bool | int:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if not isinstance(value, (int, np.integer)):
        raise OptionError(
            f"screen={shown(value)} was given; it must be True, False, or the number of variables to start "
            "with."
        )
    return whole_number("screen", value, 1, min(p, GRAM_ORDER))


def _start(value: Any, k: int, p: int) -> Start:
    if isinstance(value, str) or not isinstance(value, (np.ndarray, pd.DataFrame, list, tuple)):
        return one_of("start", value, STARTS)
    allowed = f"it must be one of {listed(STARTS)}, or loadings of shape ({p}, {k}), no column of zeros"
    try:
        V = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise OptionError(f"start={shown(value)} was given; {allowed}.") from None
    if V.shape != (p, k):
        raise OptionError(f"start was given with shape {V.shape}; {allowed}.")
    if not np.isfinite(V).all() or not V.any(axis=0).all():
        raise OptionError(f"start was given with infinite numbers or a column of zeros; {allowed}.")
    return value if isinstance(value, pd.DataFrame) else V


def _rotation(value: Any, k: int, p: int) -> str:
    from spcastat.solvers.thresholding import ROTATIONS

    return one_of("rotation", value, ROTATIONS)


#: Options that are True or False.
FLAGS = ("orth", "renormalise", "certify", "accelerate", "backward", "nonneg", "exact", "smooth", "disjoint")
#: Option -> function of (value, k, p) that returns the checked value for the solver.
CHECKS: dict[str, Check] = {
    **{name: _flag(name) for name in FLAGS},
    **{name: _count(name) for name in ("c", "sweeps", "max_iter")},
    "card": cardinalities,
    "total": lambda value, k, p: whole_number("total", value, k, k * p, CardinalityError),
    "t": _numbers("t", 1.0, lambda p: float(np.sqrt(p))),
    "penalty": _numbers("penalty", 0.0, lambda p: np.inf),
    "threshold": _numbers("threshold", 0.0, lambda p: 1.0),
    "rotation": _rotation,
    "mu": _numbers("mu", 1e-100, lambda p: 1e100),
    "epsilon": lambda value, k, p: real_number("epsilon", value, 0.0, 1.0, open_low=True),
    "orthonormality": lambda value, k, p: real_number("orthonormality", value, 0.0, 1e12, open_low=True),
    "orthogonal": lambda value, k, p: real_number("orthogonal", value, 0.0, 1.0),
    "uncorrelated": lambda value, k, p: real_number("uncorrelated", value, 0.0, np.inf),
    "ridge": lambda value, k, p: real_number("ridge", value, 0.0, np.inf),
    "variance": lambda value, k, p: real_number(
        "variance", value, 0.0, 1.0, open_low=True, error=VarianceError
    ),
    "deflation": lambda value, k, p: one_of("deflation", value, DEFLATIONS),
    "p": _between("p", 0.0, 1.0),
    "spread": lambda value, k, p: one_of("spread", value, SCALES),
    "loss": lambda value, k, p: one_of("loss", value, ("huber", "l1")),
    "grid": lambda value, k, p: whole_number("grid", value, 3, 10_000),
    "start": _start,
    "n_init": lambda value, k, p: whole_number("n_init", value, 1, MOST_STARTS),
    "include": names_by_component("include"),
    "exclude": names_by_component("exclude"),
    "together": groups_together,
    "objective": lambda value, k, p: one_of("objective", value, OBJECTIVES),
    "effort": lambda value, k, p: one_of("effort", value, EFFORTS),
    "promise": lambda value, k, p: one_of("promise", value, PROMISES),
    "screen": _screen,
    "tol": lambda value, k, p: real_number("tol", value, 0.0, 1.0),
}
