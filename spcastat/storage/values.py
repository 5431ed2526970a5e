"""Values of the user's, such as row labels, as JSON and arrays: nothing that is code, nothing pickled."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import FileError

#: Kinds of arrays that are stored as such.
_KINDS = "biufmM"


class Packer:
    """Turns values into what JSON holds; arrays are put aside under names.

    Attributes
    ----------
    arrays : dict of str to ndarray
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def array(self, values: Any) -> dict[str, Any]:
        """Put an array aside; return the reference to it."""
        held = np.ascontiguousarray(values)
        if held.dtype.kind not in _KINDS:
            raise TypeError(f"an array of dtype {held.dtype}")
        name = f"a{len(self.arrays)}"
        self.arrays[name] = held
        return {"array": name}

    def value(self, value: Any, where: str) -> Any:
        """Return `value` as JSON; `where` names it in the error.

        Raises
        ------
        FileError
            For a value of a type that has no form in the file.
        """
        if value is None or isinstance(value, (bool, str)) or type(value) is int:
            return value
        if value is pd.NA:
            return {"missing": "NA"}
        if value is pd.NaT:
            return {"missing": "NaT"}
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray) and value.dtype.kind in _KINDS:
            return self.array(value)
        if isinstance(value, (pd.Timestamp, pd.Timedelta, pd.Period, pd.Interval)):
            return self._pandas(value, where)
        if isinstance(value, np.generic) and value.dtype.kind in _KINDS:
            return {"scalar": self.array(value.reshape(1))["array"]}
        if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
            return {"date": [type(value).__name__, value.isoformat()]}
        if isinstance(value, Mapping):
            return {"map": [[self.value(a, where), self.value(b, where)] for a, b in value.items()]}
        if type(value) is list:
            return [self.value(one, where) for one in value]
        if type(value) is tuple:
            return {"tuple": [self.value(one, where) for one in value]}
        raise FileError(
            f"The fit cannot be saved: {where} holds {value!r} of type {type(value).__qualname__}, which a "
            "file without pickle cannot hold."
        )

    def _pandas(self, value: Any, where: str) -> dict[str, Any]:
        if isinstance(value, pd.Timestamp):
            return {"timestamp": [value.isoformat(), None if value.tz is None else str(value.tz), value.unit]}
        if isinstance(value, pd.Timedelta):
            return {"timedelta": [int(value.asm8.astype("int64")), value.unit]}
        if isinstance(value, pd.Period):
            return {"period": [value.ordinal, value.freqstr]}
        ends = [self.value(value.left, where), self.value(value.right, where)]
        return {"interval": [*ends, value.closed]}

    def index(self, index: pd.Index, where: str) -> dict[str, Any]:
        """Return an index, its names and type included."""
        if isinstance(index, pd.MultiIndex):
            return {
                "kind": "multi",
                "names": [self.value(name, where) for name in index.names],
                "levels": [self.index(level, where) for level in index.levels],
                "codes": [self.array(codes) for codes in index.codes],
            }
        packed = self._flat(index, where)
        packed["name"] = self.value(index.name, where)
        return packed

    def _flat(self, index: pd.Index, where: str) -> dict[str, Any]:
        if isinstance(index, pd.RangeIndex):
            return {"kind": "range", "range": [index.start, index.stop, index.step]}
        if isinstance(index, pd.DatetimeIndex):
            tz = None if index.tz is None else str(index.tz)
            values = self.array(index.asi8)
            return {"kind": "datetime", "values": values, "unit": index.unit, "tz": tz, "freq": index.freqstr}
        if isinstance(index, pd.TimedeltaIndex):
            values = self.array(index.asi8)
            return {"kind": "timedelta", "values": values, "unit": index.unit, "freq": index.freqstr}
        if isinstance(index, pd.PeriodIndex):
            return {"kind": "period", "values": self.array(index.asi8), "freq": index.freqstr}
        if isinstance(index, pd.IntervalIndex):
            ends = [self.index(index.left, where), self.index(index.right, where)]
            return {"kind": "interval", "ends": ends, "closed": index.closed}
        if isinstance(index, pd.CategoricalIndex):
            categories = self.index(index.categories, where)
            codes = self.array(index.codes)
            return {"kind": "categorical", "categories": categories, "codes": codes, "ordered": index.ordered}
        dtype: Any = index.dtype
        if isinstance(dtype, np.dtype) and dtype.kind in _KINDS:
            return {"kind": "array", "values": self.array(index.to_numpy())}
        return {
            "kind": "values",
            "dtype": str(dtype),
            "values": [self.value(one, where) for one in index.tolist()],
        }


class Unpacker:
    """Turns back what `Packer` made.

    Parameters
    ----------
    arrays : mapping of str to ndarray
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]):
        self.arrays = arrays

    def array(self, packed: Mapping[str, Any]) -> np.ndarray:
        """Return the array that a reference names."""
        return self.arrays[packed["array"]]

    def value(self, packed: Any) -> Any:
        """Return the value."""
        if isinstance(packed, list):
            return [self.value(one) for one in packed]
        if not isinstance(packed, dict):
            return packed
        ((kind, held),) = packed.items()
        return _VALUES[kind](self, held)

    def index(self, packed: Mapping[str, Any]) -> pd.Index:
        """Return the index."""
        if packed["kind"] == "multi":
            levels: list[Any] = [self.index(level) for level in packed["levels"]]
            codes: list[Any] = [self.array(codes) for codes in packed["codes"]]
            return pd.MultiIndex(levels, codes, names=[self.value(name) for name in packed["names"]])
        index: pd.Index = _INDEXES[packed["kind"]](self, packed)
        return index.rename(self.value(packed["name"]))


def _timestamp(reader: Unpacker, held: Any) -> pd.Timestamp:
    text, tz, unit = held
    stamp = pd.Timestamp(text)
    if tz is not None:
        stamp = stamp.tz_convert(tz)
    return stamp.as_unit(unit)


def _date(reader: Unpacker, held: Any) -> Any:
    kinds: dict[str, Any] = {
        "datetime": datetime.datetime,
        "date": datetime.date,
        "time": datetime.time,
    }
    return kinds[held[0]].fromisoformat(held[1])


def _datetimes(reader: Unpacker, packed: Mapping[str, Any]) -> pd.Index:
    values = reader.array(packed["values"]).view(f"M8[{packed['unit']}]")
    index = pd.DatetimeIndex(values)
    if packed["tz"] is not None:
        index = index.tz_localize("UTC").tz_convert(packed["tz"])
    if packed["freq"] is not None:
        index = pd.DatetimeIndex(index, freq=packed["freq"])
    return index


def _categorical(reader: Unpacker, packed: Mapping[str, Any]) -> pd.Index:
    categories = reader.index(packed["categories"])
    codes = reader.array(packed["codes"])
    values = pd.Categorical.from_codes(codes.tolist(), categories=categories, ordered=packed["ordered"])
    return pd.CategoricalIndex(values)


def _periods(reader: Unpacker, packed: Mapping[str, Any]) -> pd.Index:
    periods: Any = pd.PeriodIndex
    return periods.from_ordinals(reader.array(packed["values"]), freq=packed["freq"])


def _intervals(reader: Unpacker, packed: Mapping[str, Any]) -> pd.Index:
    intervals: Any = pd.IntervalIndex
    left, right = (reader.index(end) for end in packed["ends"])
    return intervals.from_arrays(left, right, closed=packed["closed"])


def _values(reader: Unpacker, packed: Mapping[str, Any]) -> pd.Index:
    values = reader.value(packed["values"])
    dtype = packed["dtype"]
    if dtype == "object" or not values:
        held = np.empty(len(values), dtype=object)
        held[:] = values
        return pd.Index(held, dtype=object, tupleize_cols=False).astype(dtype)
    return pd.Index(values, dtype=dtype)


_VALUES: dict[str, Any] = {
    "missing": lambda reader, held: {"NA": pd.NA, "NaT": pd.NaT}[held],
    "float": lambda reader, held: float(held),
    "array": lambda reader, held: reader.arrays[held],
    "scalar": lambda reader, held: reader.arrays[held][0],
    "timestamp": _timestamp,
    "timedelta": lambda reader, held: pd.Timedelta(np.timedelta64(held[0], held[1])),
    "period": lambda reader, held: pd.Period(ordinal=held[0], freq=held[1]),
    "interval": lambda reader, held: pd.Interval(reader.value(held[0]), reader.value(held[1]), held[2]),
    "date": _date,
    "map": lambda reader, held: {reader.value(a): reader.value(b) for a, b in held},
    "tuple": lambda reader, held: tuple(reader.value(one) for one in held),
}

_INDEXES: dict[str, Any] = {
    "range": lambda reader, packed: pd.RangeIndex(*packed["range"]),
    "datetime": _datetimes,
    "timedelta": lambda reader, packed: pd.TimedeltaIndex(
        reader.array(packed["values"]).view(f"m8[{packed['unit']}]"), freq=packed["freq"]
    ),
    "period": _periods,
    "interval": _intervals,
    "categorical": _categorical,
    "array": lambda reader, packed: pd.Index(reader.array(packed["values"])),
    "values": _values,
}
