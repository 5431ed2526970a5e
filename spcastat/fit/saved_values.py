"""Values in saved fits: labels as JSON, and checks of the types, shapes and ranges of what a file holds.

The types of values are Python's own: those of the fields of dataclasses and TypedDicts.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import pandas as pd

from spcastat.config import warn
from spcastat.errors import DataWarning, FileError

#: Largest whole number in a file.
LARGEST = 1 << 62
#: Kinds (`dtype.kind`) of labels that are stored as arrays: booleans, numbers, dates and durations.
_KINDS = "biufmM"

# --- labels ---------------------------------------------------------------------------------------


def pack_label(label: Any) -> Any:
    """Return a label as JSON: text, a number, a bool, a list for a tuple, or None if it is missing.

    Labels of other types, such as periods and intervals, become text.
    """
    if isinstance(label, tuple):
        return [pack_label(one) for one in label]
    if isinstance(label, np.generic) and label.dtype.kind in "biuf":
        label = label.item()
    if label is None or label is pd.NA or label is pd.NaT:
        return None
    return label if isinstance(label, bool | int | float | str) else str(label)


def unpack_label(packed: Any) -> Any:
    """Return the label; raise FileError if a file cannot hold it."""
    if isinstance(packed, list):
        return tuple(unpack_label(one) for one in packed)
    if packed is None or isinstance(packed, bool | int | float | str):
        return packed
    raise FileError("it holds a label that is not text or a number.")


def pack_index(index: pd.Index, name: str, arrays: dict[str, np.ndarray], what: str) -> dict[str, Any]:
    """Return an index as JSON; numbers and dates are added to `arrays`, under `name`.

    Warns if labels, described by `what`, become text.
    """
    if isinstance(index, pd.MultiIndex):
        levels = [index.get_level_values(i) for i in range(index.nlevels)]
        return {
            "levels": [pack_index(one, f"{name}.{i}", arrays, what) for i, one in enumerate(levels)]
        }
    packed = {"name": pack_label(index.name)}
    if isinstance(index, pd.RangeIndex):
        return {**packed, "range": [index.start, index.stop, index.step]}
    if isinstance(index.dtype, np.dtype) and index.dtype.kind in _KINDS:
        arrays[name] = index.to_numpy()
        spacing = getattr(index, "freqstr", None)  # of dates at regular intervals
        return {**packed, "array": name} | ({} if spacing is None else {"freq": spacing})
    labels = [pack_label(label) for label in index]
    odd = [a for a, b in zip(index, labels, strict=True) if isinstance(b, str) and not isinstance(a, str)]
    if odd:
        warn(
            f"The file holds {what} of type {type(odd[0]).__name__} as text, such as {str(odd[0])!r}.",
            DataWarning,
        )
    return {**packed, "labels": labels, "mixed": index.dtype == object}


def unpack_index(packed: Mapping[str, Any], arrays: Mapping[str, np.ndarray], size: int) -> pd.Index:
    """Return the index, which must have `size` labels.

    Raises
    ------
    FileError
        For another size.
    Exception
        If pandas refuses the labels.
    """
    if "levels" in packed:
        if len(packed["levels"]) > 100:
            raise FileError("its labels have more than 100 levels.")
        return pd.MultiIndex.from_arrays([unpack_index(one, arrays, size) for one in packed["levels"]])
    name = unpack_label(packed["name"])
    index: pd.Index
    if "range" in packed:
        if len(range(*packed["range"])) != size:
            raise FileError(f"it has a range of other labels than its {size} rows or columns.")
        start, stop, step = packed["range"]
        return pd.RangeIndex(start, stop, step, name=name)
    if "array" in packed:
        index = pd.Index(arrays[packed["array"]], name=name)
        if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex):
            str(index.min()), str(index.max())  # raises if they cannot be printed
            if packed.get("freq") is not None:
                # raises if the dates have another one
                index = type(index)(index, freq=str(packed["freq"]), name=name)
    else:
        labels = [unpack_label(one) for one in packed["labels"]]
        text = not packed["mixed"] and all(one is None or isinstance(one, str) for one in labels)
        index = pd.Index(labels, dtype=None if text else object, name=name, tupleize_cols=False)
    if len(index) != size:
        raise FileError(f"it has {len(index)} labels for {size} rows or columns.")
    return index


# --- types ----------------------------------------------------------------------------------------


def require_fields(kind: Any, value: Any, what: str) -> None:
    """Raise FileError unless `value` maps the names of the fields of a dataclass or TypedDict to their types.

    Fields with defaults may be missing, and other names are ignored. `what` is the name of the value.
    """
    if not isinstance(value, dict):
        raise FileError(f"its {what} has no parts.")
    for name, hint in typing.get_type_hints(kind).items():
        if name not in value and name in _required(kind):
            raise FileError(f"its {what} lacks {name}.")
        if name in value and not has_type(value[name], hint):
            raise FileError(f"its {what}: {name} is not of its type.")


def has_type(value: Any, kind: Any) -> bool:
    """Return whether a value of JSON is of a type.

    Numbers must be finite and text valid Unicode. ``Any`` stands for text, numbers, lists and dicts.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return any(has_type(value, one) for one in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin is tuple:
        right = isinstance(value, list | tuple) and len(value) == len(inner)
        return right and all(map(has_type, value, inner))
    if origin is list:
        return isinstance(value, list) and all(has_type(one, inner[0]) for one in value)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(
            has_type(name, str) and has_type(one, inner[1]) for name, one in value.items()
        )
    if kind is Any:
        if isinstance(value, list | dict):
            return all(has_type(one, Any) for one in (value if isinstance(value, list) else value.values()))
        return isinstance(value, float) or has_type(value, bool | int | str | None)
    if typing.is_typeddict(kind) or dataclasses.is_dataclass(kind):
        try:
            require_fields(kind, value, "")
        except FileError:
            return False
        return True
    if kind is float:
        number = type(value) in (int, float) and abs(value) <= 1e300
        return number and math.isfinite(value)
    if kind is int:
        return type(value) is int and abs(value) <= LARGEST
    if kind is str:
        return isinstance(value, str) and value.encode(errors="replace").decode() == value
    return type(value) is (type(None) if kind is None else kind)


def _required(kind: Any) -> frozenset[str]:
    if typing.is_typeddict(kind):
        return frozenset(kind.__required_keys__)
    missing = dataclasses.MISSING
    return frozenset(
        one.name
        for one in dataclasses.fields(kind)
        if one.default is missing and one.default_factory is missing
    )


# --- arrays ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Array:
    """An array of one kind of numbers ("f", "i" or "b"), of a shape, within a range; NaN only if `nan`.

    A size may have a name. A name without a size gets that of the first array with that name.
    """

    kind: str
    shape: tuple[int | str, ...]
    low: float = -math.inf
    high: float | str = math.inf
    nan: bool = False


def require_array(kind: Array, value: Any, sizes: dict[str, int], what: str) -> None:
    """Raise FileError unless `value` is such an array; `what` is its name in the message."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != kind.kind:
        raise FileError(f"its {what}: it is not an array of such numbers.")
    if value.ndim != len(kind.shape):
        raise FileError(f"its {what}: it has shape {value.shape}, with {value.ndim} dimensions.")
    shape = tuple(
        sizes.setdefault(name, size) if isinstance(name, str) else name
        for name, size in zip(kind.shape, value.shape, strict=True)
    )
    if value.shape != shape:
        raise FileError(f"its {what}: it has shape {value.shape}, not {shape}.")
    if kind.kind == "f" and not (np.isfinite(value) | (kind.nan & np.isnan(value))).all():
        raise FileError(f"its {what}: it holds numbers that are not finite.")
    high = sizes[kind.high] if isinstance(kind.high, str) else kind.high
    if value.size and kind.kind != "b" and (np.nanmin(value) < kind.low or np.nanmax(value) > high):
        raise FileError(f"its {what}: it holds numbers outside {kind.low:g} to {high:g}.")
