"""A call as text, so that a report can say how its fit is made again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

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
