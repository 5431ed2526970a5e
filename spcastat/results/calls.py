"""A call as text, so that a report can say how its fit is made again, or what it may have meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import nearest

#: More values than this are not written out.
LONGEST = 30


def call_text(function: Callable[..., Any], call: Mapping[str, Any], data: str = "") -> str:
    """Return ``spca(data, k=3, card=[7, 4, 4])`` for a call with these arguments.

    Parameters
    ----------
    function : callable
    call : mapping
        Its arguments; those at their defaults are left out, and so is `progress`, which changes no result.
    data : str
        What stands for the first argument; its name by default.
    """
    parameters = inspect.signature(function).parameters
    first = next(iter(parameters))
    parts = [data or first]
    for name, value in call.items():
        if name == "progress":
            continue
        default = parameters[name].default if name in parameters else inspect.Parameter.empty
        if value is default or (value is None and default is inspect.Parameter.empty):
            continue
        if isinstance(value, (bool, int, float, str)) and type(value) is type(default) and value == default:
            continue
        parts.append(f"{name}={_value_text(name, value)}")
    return f"{function.__name__}({', '.join(parts)})"


#: (function, argument) -> why there is no such argument there, and what to do.
NO_PLACE = {
    ("spca_cov", "center"): "a covariance matrix is centred already, and mean= gives transform() the means",
    ("spca_cov", "weights"): "weights are of rows, so give the rows to spca(), or the weighted matrix",
    ("spca_cov", "na"): "missing values are of rows, so give the rows to spca()",
    **{
        (name, "zeros"): "a share of zeros among the scores is for spcastat.spco(data, k, zeros=...)"
        for name in ("spca", "spca_cov", "spca_path")
    },
}


def hint(
    called: Sequence[Callable[..., Any]],
    homes: Mapping[str, Callable[..., Any]],
    options: Iterable[str],
    name: str,
) -> str:
    """Return what to do about an argument that a call cannot have: where it belongs, or what is near.

    Parameters
    ----------
    called : sequence of callables
        The function that fits, and the one that was called and hands its options to it.
    homes : mapping
        What each of the functions makes, and the function.
    options : iterable of str
        The options of all methods.
    name : str
    """
    own = set().union(*map(_arguments, called))
    if place := _elsewhere(called[0], homes, name):
        return f" It {place}."
    if near := nearest(name, sorted(own | set(options))):
        return near
    for other in homes.values():
        if near := nearest(name, sorted(_arguments(other))):
            word = near.split("'")[1]
            return f"{near} That {_elsewhere(called[0], homes, word)}."
    return ""


def _elsewhere(function: Callable[..., Any], homes: Mapping[str, Callable[..., Any]], name: str) -> str:
    """Return where an argument that `function` does not have belongs, or an empty string."""
    if reason := NO_PLACE.get((function.__name__, name)):
        return f"has no place in {function.__name__}(): {reason}"
    owners = [what for what, other in homes.items() if other is not function and name in _arguments(other)]
    return f"belongs to {owners[0]}" if owners else ""


def _arguments(function: Callable[..., Any]) -> set[str]:
    parameters = inspect.signature(function).parameters.values()
    return {one.name for one in parameters if one.kind is not one.VAR_KEYWORD}


def _value_text(name: str, value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (np.ndarray, pd.Series)):
        value = value.tolist()
    if isinstance(value, (bool, int, float, str, type(None))):
        return repr(value)
    if isinstance(value, (list, tuple, dict)) and len(value) <= LONGEST:
        return repr(value)
    return name  # an object of the user's: its name has to do
