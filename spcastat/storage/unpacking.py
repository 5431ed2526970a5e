"""Values and labels out of a file: kinds from closed lists, sizes looked at before anything is built.

The other half of :mod:`spcastat.storage.packing`. What is not on a list raises FileError, and so does what
pandas refuses to build.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import FileError

#: Entries of a range that is a level, a category or an end: nothing else in the file has its length.
LARGEST_RANGE = 1_000_000
#: Lists within lists.
DEEPEST = 40
#: Binary digits of a whole number.
LARGEST_INTEGER = 4096

UNITS = ("s", "ms", "us", "ns")
CLOSED = ("left", "right", "both", "neither")
#: Frequencies of pandas, by what stands after a multiple.
_DAYS, _MONTHS = "MON|TUE|WED|THU|FRI|SAT|SUN", "JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC"
FREQUENCY = re.compile(
    rf"-?\d{{0,6}}(D|B|h|bh|min|s|ms|us|ns|W(-({_DAYS}))?|B?M[ES]?|SM[ES](-\d{{1,2}})?|"
    rf"B?[QY][ES]?(-({_MONTHS}))?|L?WOM-[1-4]?({_DAYS}))"
)
#: Names of time zones: those of the database, and distances from UTC.
_ZONE = re.compile(r"UTC|UTC[+-]\d\d:\d\d(:\d\d)?|[A-Za-z]\w*([+-]\d{1,2})?(/[A-Za-z][\w+-]*){0,2}", re.ASCII)
#: Types of labels beside those of arrays.
DTYPES = (
    "object", "string", "str", "boolean", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32",
    "UInt64", "Float32", "Float64", "string[pyarrow]", "large_string[pyarrow]", "bool[pyarrow]",
    "int8[pyarrow]", "int16[pyarrow]", "int32[pyarrow]", "int64[pyarrow]", "uint8[pyarrow]",
    "uint16[pyarrow]", "uint32[pyarrow]", "uint64[pyarrow]", "float[pyarrow]", "double[pyarrow]",
    "date32[day][pyarrow]",
)  # fmt: skip


def frequency(text: Any) -> str:
    """Return the name of a frequency, if it is one."""
    if not isinstance(text, str) or not FREQUENCY.fullmatch(text):
        raise _odd("a frequency", text)
    return text


def zone(name: Any) -> str:
    """Return the name of a time zone, if it is one that is known here."""
    if not isinstance(name, str) or len(name) > 64 or not _ZONE.fullmatch(name):
        raise _odd("a time zone", name)
    try:
        pd.Timestamp(0, tz=name)
    except Exception:
        raise _odd("a time zone", name) from None
    return name


class Unpacker:
    """Turns back what a `Packer` made.

    Parameters
    ----------
    arrays : mapping of str to ndarray

    Raises
    ------
    FileError
        From every method, for what no `Packer` makes.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]):
        self.arrays = arrays

    def array(self, packed: Any) -> np.ndarray:
        """Return the array that a reference names."""
        if not isinstance(packed, dict) or set(packed) != {"array"}:
            raise _odd("the name of an array", packed)
        return self._named(packed["array"])

    def numbers(self, packed: Any, gaps: bool = False) -> np.ndarray:
        """Return an array of finite real numbers, with `gaps` also of missing ones."""
        values = self.array(packed)
        if values.dtype.kind != "f" or not (np.isfinite(values) | (gaps & np.isnan(values))).all():
            raise FileError("an array that has to hold finite numbers holds others.")
        return values

    def each(self, packed: Mapping[str, Any], names: Iterable[str]) -> dict[str, np.ndarray]:
        """Return arrays of finite real numbers by their names, all of which there have to be."""
        return {name: self.numbers(packed[name]) for name in names}

    def parts(self, packed: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
        """Return arrays of finite real numbers, single numbers and None by names, all of which are there."""
        found: dict[str, Any] = {}
        for name in names:
            held = packed[name]
            if not isinstance(held, dict | float | int | None):
                raise _odd("numbers", held)
            found[name] = self.numbers(held) if isinstance(held, dict) else self.value(held)
        return found

    def value(self, packed: Any, depth: int = 0) -> Any:
        """Return the value."""
        if depth > DEEPEST:
            raise FileError("its values are nested too deep.")
        if isinstance(packed, list):
            return [self.value(one, depth + 1) for one in packed]
        if isinstance(packed, dict):
            if len(packed) != 1 or (kind := next(iter(packed))) not in _VALUES:
                raise _odd("a value", packed)
            try:
                return _VALUES[kind](self, packed[kind], depth + 1)
            except (FileError, MemoryError):
                raise
            except Exception as error:
                raise _odd(f"a {kind}", packed[kind]) from error
        if isinstance(packed, float) and not math.isfinite(packed):
            raise _odd("a number", packed)
        if type(packed) is int and packed.bit_length() > LARGEST_INTEGER:
            raise FileError("it holds a whole number that is too large.")
        return packed

    def index(self, packed: Any, size: int | None = None, depth: int = 0) -> pd.Index:
        """Return the index.

        Parameters
        ----------
        packed : value of JSON
        size : int, optional
            How many labels there have to be.
        depth : int
            How deep it lies within others.
        """
        if not isinstance(packed, dict) or not isinstance(kind := packed.get("kind"), str):
            raise _odd("labels", packed)
        if kind not in _INDEXES or depth > 3:
            raise _odd("labels", kind)
        try:
            index: pd.Index = _INDEXES[kind](self, packed, size, depth)
            if size is not None and len(index) != size:
                raise FileError(f"it has {len(index)} labels for {size} rows or columns.")
            names = packed["names"] if kind == "multi" else [packed["name"]]
            index = index.set_names([self.value(name) for name in names])
            _shown(index)
        except (FileError, MemoryError):
            raise
        except Exception as error:
            raise _odd(f"labels of the kind {kind!r}", str(error)) from error
        return index

    def _named(self, name: Any) -> np.ndarray:
        if not isinstance(name, str) or name not in self.arrays:
            raise _odd("the name of an array", name)
        return self.arrays[name]

    def scalar(self, name: Any) -> np.generic:
        """Return the only value of an array."""
        values = self._named(name)
        if values.shape != (1,):
            raise _odd("a number", name)
        return values[0]

    def whole(self, packed: Any) -> np.ndarray:
        """Return an array of whole numbers, shape (n,)."""
        values = self.array(packed)
        if values.dtype.kind not in "iu" or values.ndim != 1:
            raise FileError("an array that has to hold whole numbers holds others.")
        return values


def _odd(what: str, given: Any) -> FileError:
    text = " ".join(repr(given)[:200].split())
    return FileError(f"it holds {text[:80]}{'...' if len(text) > 80 else ''} as {what}, which is none.")


def _one(value: Any, allowed: tuple[str, ...]) -> Any:
    if not isinstance(value, str) or value not in allowed:
        raise _odd(f"one of {', '.join(allowed)}", value)
    return value


def _integer(value: Any) -> int:
    if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
        raise _odd("a whole number", value)
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 100:
        raise _odd("a short text", value)
    return value


def _shown(index: pd.Index) -> None:
    """Raise, as printing would, where the smallest or largest label is beyond what can be printed."""
    for level in index.levels if isinstance(index, pd.MultiIndex) else [index]:
        if isinstance(level, pd.DatetimeIndex | pd.TimedeltaIndex | pd.PeriodIndex) and len(level):
            numbers = level.asi8
            for place in {int(numbers.argmin()), int(numbers.argmax()), 0, len(level) - 1}:
                str(level[place])
                if isinstance(level, pd.PeriodIndex) and level[place] is not pd.NaT:
                    level[place].to_timestamp()
    for name in index.names:
        hash(name)


# --- values ---------------------------------------------------------------------------------------


def _timestamp(reader: Unpacker, held: Any, depth: int) -> pd.Timestamp:
    text, tz, unit = held
    stamp = pd.Timestamp(datetime_text(text))
    if tz is not None:
        stamp = stamp.tz_convert(zone(tz))
    return stamp.as_unit(_one(unit, UNITS))


def datetime_text(text: Any) -> str:
    """Return a text, if it is a date with a time in ISO's form."""
    form = r"-?\d{4,6}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?([+-]\d\d:\d\d(:\d\d)?)?"
    if not isinstance(text, str) or not re.fullmatch(form, text, re.ASCII):
        raise _odd("a date", text)
    return text


def _timedelta(reader: Unpacker, held: Any, depth: int) -> pd.Timedelta:
    count, unit = held
    return pd.Timedelta(np.timedelta64(_integer(count), _one(unit, UNITS)))


def _period(reader: Unpacker, held: Any, depth: int) -> pd.Period:
    ordinal, freq = held
    period = pd.Period(ordinal=_integer(ordinal), freq=frequency(freq))
    str(period.to_timestamp())
    return period


def _interval(reader: Unpacker, held: Any, depth: int) -> pd.Interval:
    left, right, closed = held
    return pd.Interval(reader.value(left, depth), reader.value(right, depth), _one(closed, CLOSED))


def _date(reader: Unpacker, held: Any, depth: int) -> Any:
    kinds: dict[str, Any] = {
        "datetime": datetime.datetime,
        "date": datetime.date,
        "time": datetime.time,
    }
    kind, text = held
    return kinds[kind].fromisoformat(_text(text))


def _float(reader: Unpacker, held: Any, depth: int) -> float:
    return float(_one(held, ("nan", "inf", "-inf")))


def _map(reader: Unpacker, held: Any, depth: int) -> dict[Any, Any]:
    pairs = [(reader.value(a, depth), reader.value(b, depth)) for a, b in held]
    found = dict(pairs)
    if len(found) != len(pairs):
        raise FileError("a name stands twice in it.")
    return found


_VALUES: dict[str, Any] = {
    "missing": lambda reader, held, depth: {"NA": pd.NA, "NaT": pd.NaT}[held],
    "float": _float,
    "array": lambda reader, held, depth: reader._named(held),
    "scalar": lambda reader, held, depth: reader.scalar(held),
    "timestamp": _timestamp,
    "timedelta": _timedelta,
    "period": _period,
    "interval": _interval,
    "date": _date,
    "map": _map,
    "tuple": lambda reader, held, depth: tuple([reader.value(one, depth) for one in held]),
}


# --- labels ---------------------------------------------------------------------------------------


def _multi(reader: Unpacker, packed: Mapping[str, Any], size: int | None, depth: int) -> pd.Index:
    levels: list[Any] = [reader.index(level, depth=depth + 1) for level in packed["levels"]]
    codes: list[Any] = [reader.whole(codes) for codes in packed["codes"]]
    if any(isinstance(level, pd.MultiIndex) for level in levels):
        raise FileError("a level of its labels has levels of its own.")
    return pd.MultiIndex(levels, codes)


def _range(reader: Unpacker, packed: Mapping[str, Any], size: int | None, depth: int) -> pd.Index:
    start, stop, step = map(_integer, packed["range"])
    index = pd.RangeIndex(start, stop, step)
    if len(index) > (LARGEST_RANGE if size is None else size):
        raise FileError(f"it has a range of {len(index)} labels.")
    return index


def _datetimes(reader: Unpacker, packed: Mapping[str, Any], size: int | None, depth: int) -> pd.Index:
    values = reader.whole(packed["values"]).view(f"M8[{_one(packed['unit'], UNITS)}]")
    index = pd.DatetimeIndex(values)
    if packed["tz"] is not None:
        index = index.tz_localize("UTC").tz_convert(zone(packed["tz"]))
    if packed["freq"] is not None:
        index = pd.DatetimeIndex(index, freq=_followed(index, packed["freq"]))
    return index


def _timedeltas(reader: Unpacker, packed: Mapping[str, Any], size: int | None, depth: int) -> pd.Index:
    values = reader.whole(packed["values"]).view(f"m8[{_one(packed['unit'], UNITS)}]")
    index = pd.TimedeltaIndex(values)
    if packed["freq"] is None:
        return index
    return pd.TimedeltaIndex(index, freq=_followed(index, packed["freq"]))


def _followed(index: Any, freq: Any) -> Any:
    """Return a frequency that can be that of an index: pandas makes dates by it until it meets the last."""
    name: Any = frequency(freq)
    if len(index) > 1 and (index.hasnans or not (index.is_monotonic_increasing or name.startswith("-"))):
        raise _odd("the frequency of its labels", freq)
    return name


def _periods(reader: Unpacker, packed: Mapping[str, Any], size: int | None, depth: int) -> pd.Index:
    periods: Any = pd.PeriodIndex
    return periods.from_ordinals(reader.whole(packed["values"]), freq=frequency(packed["freq"]))


def _intervals(reader: Unpacker, packed: Mapping[str, Any], size: int | None, depth: int) -> pd.Index:
    intervals: Any = pd.IntervalIndex
    left, right = (reader.index(end, size, depth + 1) for end in packed["ends"])
    return intervals.from_arrays(left, right, closed=_one(packed["closed"], CLOSED))


def _categorical(reader: Unpacker, packed: Mapping[str, Any], size: int | None, depth: int) -> pd.Index:
    categories = reader.index(packed["categories"], depth=depth + 1)
    if type(packed["ordered"]) is not bool or isinstance(categories, pd.MultiIndex):
        raise _odd("categories", packed["ordered"])
    codes = reader.whole(packed["codes"])
    values = pd.Categorical.from_codes(codes.tolist(), categories=categories, ordered=packed["ordered"])
    return pd.CategoricalIndex(values)


def _array(reader: Unpacker, packed: Mapping[str, Any], size: int | None, depth: int) -> pd.Index:
    values = reader.array(packed["values"])
    if values.ndim != 1:
        raise FileError("its labels are a table.")
    return pd.Index(values)


def _values(reader: Unpacker, packed: Mapping[str, Any], size: int | None, depth: int) -> pd.Index:
    if not isinstance(packed["values"], list):
        raise _odd("a list of labels", packed["values"])
    values = reader.value(packed["values"])
    for value in values:
        hash(value)
    dtype: Any = _one(packed["dtype"], DTYPES)
    if dtype == "object" or not values:
        held = np.empty(len(values), dtype=object)
        held[:] = values
        return pd.Index(held, dtype=object, tupleize_cols=False).astype(dtype)
    return pd.Index(values, dtype=dtype)


_INDEXES: dict[str, Any] = {
    "multi": _multi,
    "range": _range,
    "datetime": _datetimes,
    "timedelta": _timedeltas,
    "period": _periods,
    "interval": _intervals,
    "categorical": _categorical,
    "array": _array,
    "values": _values,
}
