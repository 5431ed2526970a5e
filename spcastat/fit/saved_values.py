"""Values in a saved file: their kinds, shapes and sizes, checked when they are read.

Only known kinds of values are read, and sizes are checked before objects are created. Unknown kinds, and
values that pandas refuses, raise FileError.

===================  =====================================================================================
`bool`, `str`        True or False; valid Unicode text (without unpaired surrogates)
`None`               None
`object`             anything
a set of texts       one of them
a tuple of kinds     one of these kinds; errors are those of the last
a dict               a mapping with these names, and a kind for each. A key may list names,
                     ``{"starts hits": Whole(1)}``; names that end in "?" may be missing, others are ignored
a function           ``function(value, sizes)`` returns what is wrong with the value, "" if nothing is
Whole, Real, Array,  see these classes
List, Map
===================  =====================================================================================

Sizes such as p and k have names. A size that is not known yet is set by the first array that uses its name,
so that two arrays of shape ("B", "k") must have the same shape.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import FileError

# --- kinds of values ------------------------------------------------------------------------------


#: Kinds (`dtype.kind`) of arrays that are stored as arrays.
_KINDS = "biufmM"
#: Largest length of a range of levels, categories or interval ends, which nothing else in the file confirms.
#: It is also the largest number of columns that a formula reads, and of levels of a factor.
LARGEST_RANGE = 1_000_000
#: Largest depth of nested lists, and largest number of bits of an integer.
DEEPEST, LARGEST_INTEGER = 40, 4096
#: Names of frequencies and of time zones, which pandas interprets.
_NAME = re.compile(r"[A-Za-z0-9+:/_-]{1,64}", re.ASCII)
_DATE = re.compile(r"-?\d{4,6}-\d\d-\d\dT[0-9:.+-]{5,30}", re.ASCII)
#: Further types of labels.
_DTYPES = re.compile(
    r"object|string|str|boolean|U?Int(8|16|32|64)|Float(32|64)|"
    r"(string|large_string|bool|u?int(8|16|32|64)|float|double|date32\[day\])(\[pyarrow\])"
)


@dataclass
class Packer:
    """Converts values to JSON; arrays are collected under names.

    Attributes
    ----------
    arrays : dict of str to ndarray
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def array(self, values: Any) -> dict[str, Any]:
        """Add an array to `arrays`; return a reference to it."""
        held = np.ascontiguousarray(values)
        if held.dtype.kind not in _KINDS:
            raise TypeError(f"an array of dtype {held.dtype}")
        name = f"a{len(self.arrays)}"
        self.arrays[name] = held
        return {"array": name}

    def each(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return a dict from names to values as JSON."""
        return {name: self.value(value, name) for name, value in values.items()}

    def fields(self, record: Any) -> dict[str, Any] | None:
        """Return a dict from the fields of a dataclass to their values as JSON; None for None."""
        if record is None:
            return None
        held = {one.name: getattr(record, one.name) for one in fields(record)}
        return self.each({name: float(one) if isinstance(one, float) else one for name, one in held.items()})

    def value(self, value: Any, where: str) -> Any:
        """Return `value` as JSON; `where` is its name in messages.

        Raises
        ------
        FileError
            For a value of a type that cannot be stored.
        """
        if value is None or isinstance(value, (bool, str)):
            return value
        if type(value) is int and value.bit_length() <= LARGEST_INTEGER:
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
        raise _without_form(value, where)

    def _pandas(self, value: Any, where: str) -> dict[str, Any]:
        packed: dict[str, Any]
        if isinstance(value, pd.Timestamp):
            tz = None if value.tz is None else str(value.tz)
            packed = {"timestamp": [value.isoformat(), tz, value.unit]}
        elif isinstance(value, pd.Timedelta):
            packed = {"timedelta": [int(value.asm8.astype("int64")), value.unit]}
        elif isinstance(value, pd.Period):
            packed = {"period": [value.ordinal, value.freqstr]}
        else:
            ends = [self.value(value.left, where), self.value(value.right, where)]
            packed = {"interval": [*ends, value.closed]}
        return self._same(packed, where, value, lambda reader: reader.value(packed) == value)

    def _same(
        self, packed: dict[str, Any], where: str, value: Any, test: Callable[[Unpacker], bool]
    ) -> dict[str, Any]:
        """Return `packed` if it is read back as the same value, else raise FileError for `value`.

        A time zone without a name, for example, is not.
        """
        try:
            if test(Unpacker(self.arrays)):
                return packed
        except FileError:
            pass
        raise _without_form(value, where)

    def index(self, index: pd.Index, where: str) -> dict[str, Any]:
        """Return an index as JSON, with its names and type. A frequency is stored if the labels imply it.

        Raises
        ------
        FileError
            For labels of a type that cannot be stored.
        """
        packed: dict[str, Any]
        if isinstance(index, pd.MultiIndex):
            packed = {
                "kind": "multi",
                "names": [self.value(name, where) for name in index.names],
                "levels": [self._inner(level, where) for level in index.levels],
                "codes": [self.array(codes) for codes in index.codes],
            }
        else:
            packed = {**self._flat(index, where), "name": self.value(index.name, where)}
        if packed["kind"] in ("array", "range", "values"):
            return packed
        return self._same(packed, where, index[:1], lambda reader: reader.index(packed).equals(index))

    def _inner(self, index: pd.Index, where: str) -> dict[str, Any]:
        """Return an index of levels, categories or interval ends as JSON; a long range becomes an array."""
        if isinstance(index, pd.RangeIndex) and len(index) > LARGEST_RANGE:
            index = pd.Index(index.to_numpy(), name=index.name)
        return self.index(index, where)

    def _flat(self, index: pd.Index, where: str) -> dict[str, Any]:
        if isinstance(index, pd.RangeIndex):
            return {"kind": "range", "range": [index.start, index.stop, index.step]}
        if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex):
            packed = {"values": self.array(index.asi8), "unit": index.unit, "freq": index.freqstr}
            if isinstance(index, pd.TimedeltaIndex):
                return {"kind": "timedelta", **packed}
            return {"kind": "datetime", **packed, "tz": None if index.tz is None else str(index.tz)}
        if isinstance(index, pd.PeriodIndex):
            return {"kind": "period", "values": self.array(index.asi8), "freq": index.freqstr}
        if isinstance(index, pd.IntervalIndex):
            ends = [self._inner(index.left, where), self._inner(index.right, where)]
            return {"kind": "interval", "ends": ends, "closed": index.closed}
        if isinstance(index, pd.CategoricalIndex):
            categories = self._inner(index.categories, where)
            codes = self.array(index.codes)
            return {"kind": "categorical", "categories": categories, "codes": codes, "ordered": index.ordered}
        dtype: Any = index.dtype
        if isinstance(dtype, np.dtype) and dtype.kind in _KINDS:
            return {"kind": "array", "values": self.array(index.to_numpy())}
        if not _DTYPES.fullmatch(str(dtype)):
            raise FileError(
                f"The fit cannot be saved: {where} is of the type {dtype}. Convert the labels to text first."
            )
        return {
            "kind": "values",
            "dtype": str(dtype),
            "values": [self.value(one, where) for one in index.tolist()],
        }


@dataclass
class Unpacker:
    """Converts the result of a `Packer` back to values.

    Parameters
    ----------
    arrays : mapping of str to ndarray

    Raises
    ------
    FileError
        By every method, for values that a `Packer` does not make.
    """

    arrays: Mapping[str, np.ndarray]

    def each(self, packed: Mapping[str, Any] | None) -> Any:
        """Return a dict from names to values; None for None."""
        return None if packed is None else {str(name): self.value(value) for name, value in packed.items()}

    def value(self, packed: Any, depth: int = 0) -> Any:
        """Return the value."""
        if depth > DEEPEST:
            raise FileError("its values are nested too deep.")
        if isinstance(packed, list):
            return [self.value(one, depth + 1) for one in packed]
        if isinstance(packed, dict):
            try:
                ((kind, held),) = packed.items()
                return self._value(kind, held, depth + 1)
            except (FileError, MemoryError):
                raise
            except Exception as error:  # pandas refuses the value
                raise _unknown("a value", packed) from error
        if isinstance(packed, float) and not math.isfinite(packed):
            raise _unknown("a number", packed)
        if type(packed) is int and packed.bit_length() > LARGEST_INTEGER:
            raise FileError("it holds a whole number that is too large.")
        return packed

    def _value(self, kind: str, held: Any, depth: int) -> Any:
        match kind:
            case "array":
                return self.arrays[held]
            case "scalar":
                (scalar,) = self.arrays[held]
                return scalar
            case "map":
                pairs = [(self.value(name, depth), self.value(value, depth)) for name, value in held]
                found = dict(pairs)
                if len(found) < len(pairs):
                    raise FileError("a name stands twice in it.")
                return found
            case "tuple":
                return tuple([self.value(one, depth) for one in held])
            case "float":
                return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[held]
            case "missing":
                return {"NA": pd.NA, "NaT": pd.NaT}[held]
            case "date":
                return getattr(datetime, _one_of(held[0], "datetime", "date", "time")).fromisoformat(held[1])
            case "timestamp":
                text, zone, unit = held
                stamp = pd.Timestamp(_matched(_DATE, text))
                return (stamp if zone is None else stamp.tz_convert(_zone(zone))).as_unit(unit)
            case "timedelta":
                return pd.Timedelta(np.timedelta64(_long(held[0]), _one_of(held[1], "s", "ms", "us", "ns")))
            case "period":
                period = pd.Period(ordinal=_long(held[0]), freq=_matched(_NAME, held[1]))
                str(period.to_timestamp())
                return period
            case "interval":
                left, right, closed = held
                return pd.Interval(self.value(left, depth), self.value(right, depth), closed)
        raise _unknown("a value", kind)

    def index(self, packed: Any, size: int | None = None, depth: int = 0) -> pd.Index:
        """Return the index, which must have `size` labels if given; `depth` is its depth of nesting."""
        try:
            if depth > 3:
                raise FileError("its labels are nested too deep.")
            index = self._index(packed, size, depth)
            if size is not None and len(index) != size:
                raise FileError(f"it has {len(index)} labels for {size} rows or columns.")
            names = packed["names"] if packed["kind"] == "multi" else [packed["name"]]
            index = index.set_names([self.value(name) for name in names])
            _require_printable(index)
            return index
        except (FileError, MemoryError):
            raise
        except Exception as error:  # pandas refuses the labels
            raise _unknown("labels", str(error)) from error

    def _index(self, packed: Mapping[str, Any], size: int | None, depth: int) -> pd.Index:
        match packed["kind"]:
            case "array":
                return pd.Index(self._flat(packed["values"]))
            case "range":
                start, stop, step = map(_long, packed["range"])
                index = pd.RangeIndex(start, stop, step)
                if len(index) > (LARGEST_RANGE if size is None else size):
                    raise FileError(f"it has a range of {len(index)} labels.")
                return index
            case "values":
                return self._listed(packed)
            case "multi":
                levels: list[Any] = [self.index(level, depth=depth + 1) for level in packed["levels"]]
                codes: list[Any] = [self._flat(codes, "iu") for codes in packed["codes"]]
                return pd.MultiIndex(levels, codes)
            case "interval":
                left, right = (self.index(end, size, depth + 1) for end in packed["ends"])
                return pd.IntervalIndex.from_arrays(left, right, closed=packed["closed"])
            case "categorical":
                categories = self.index(packed["categories"], depth=depth + 1)
                places, ordered = self._flat(packed["codes"], "iu"), packed["ordered"]
                if type(ordered) is not bool or isinstance(categories, pd.MultiIndex):
                    raise _unknown("categories", ordered)
                return pd.CategoricalIndex(pd.Categorical.from_codes(places.tolist(), categories, ordered))
            case "period":
                ordinals = self._flat(packed["values"], "i")
                periods: Any = pd.PeriodIndex
                return periods.from_ordinals(ordinals, freq=_matched(_NAME, packed["freq"]))
            case "datetime" | "timedelta" as kind:
                unit = _one_of(packed["unit"], "s", "ms", "us", "ns")
                values = self._flat(packed["values"], "i").astype("i8")
                if kind == "timedelta":
                    return _with_frequency(pd.TimedeltaIndex(values.view(f"m8[{unit}]")), packed["freq"])
                dates = pd.DatetimeIndex(values.view(f"M8[{unit}]"))
                if packed["tz"] is not None:
                    dates = dates.tz_localize("UTC").tz_convert(_zone(packed["tz"]))
                return _with_frequency(dates, packed["freq"])
        raise _unknown("labels", packed["kind"])

    def _flat(self, packed: Any, kinds: str = _KINDS) -> np.ndarray:
        """Return an array after checking that it has one dimension and one of the `kinds`."""
        values: np.ndarray = self.value(packed)
        if values.ndim != 1 or values.dtype.kind not in kinds:
            raise _unknown("labels", values.dtype)
        return values

    def _listed(self, packed: Mapping[str, Any]) -> pd.Index:
        values = self.value(packed["values"])
        for value in values:
            hash(value)
        dtype: Any = _matched(_DTYPES, packed["dtype"])
        if dtype == "object" or not values:
            held = np.empty(len(values), dtype=object)
            held[:] = values
            return pd.Index(held, dtype=object, tupleize_cols=False).astype(dtype)
        return pd.Index(values, dtype=dtype)


def _unknown(what: str, given: Any) -> FileError:
    text = " ".join(repr(given)[:200].split())
    return FileError(
        f"it holds {text[:80]}{'...' if len(text) > 80 else ''}, which cannot be read as {what}."
    )


def _matched(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise _unknown("a name", text)
    return text


def _one_of(value: Any, *allowed: str) -> Any:
    if value not in allowed:
        raise _unknown(f"one of {', '.join(allowed)}", value)
    return value


def _long(value: Any) -> int:
    if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
        raise _unknown("a whole number", value)
    return value


def _zone(name: str) -> str:
    """Check the name of a time zone and return it; names of files are refused."""
    pd.Timestamp(0, tz=_matched(_NAME, name))
    return name


def _with_frequency(index: Any, named: Any) -> Any:
    """Return dates or durations, with their frequency inferred if they were saved with one."""
    if named is None:
        return index
    return type(index)(index, freq="infer") if len(index) > 2 else index


def _require_printable(index: pd.Index) -> None:
    """Raise pandas' error if the smallest or largest label cannot be printed."""
    for level in index.levels if isinstance(index, pd.MultiIndex) else [index]:
        if isinstance(level, pd.DatetimeIndex | pd.TimedeltaIndex | pd.PeriodIndex) and len(level):
            for place in {int(level.asi8.argmin()), int(level.asi8.argmax()), 0, len(level) - 1}:
                str(level[place])
                if isinstance(level, pd.PeriodIndex) and level[place] is not pd.NaT:
                    level[place].to_timestamp()
    for name in index.names:
        hash(name)


def _without_form(value: Any, where: str) -> FileError:
    return FileError(
        f"The fit cannot be saved: {where} holds {value!r} of type {type(value).__qualname__}, which a "
        "file without pickle cannot hold."
    )


# --- shapes and sizes -----------------------------------------------------------------------------


#: Largest integer in a file.
LARGEST = 1 << 62
#: Largest number of characters of a text in a file.
LONGEST = 10_000_000

Kind = Any
Sizes = dict[str, int]


@dataclass(frozen=True)
class Whole:
    """A whole number in a range; a limit may be the name of a size."""

    low: int = 0
    high: int | str = LARGEST


@dataclass(frozen=True)
class Real:
    """A number in a range, finite unless `finite` is False."""

    low: float = -math.inf
    high: float = math.inf
    finite: bool = True


@dataclass(frozen=True)
class Array:
    """An array of one kind of numbers ("f", "i" or "b"), of a shape, within a range; NaN only if `nan`."""

    kind: str
    shape: tuple[int | str, ...]
    low: float = -math.inf
    high: float | str = math.inf
    nan: bool = False


@dataclass(frozen=True)
class List:
    """A list of values of one kind, of a given size or at most `most`; `distinct`: without repetition."""

    item: Kind
    size: int | str | None = None
    distinct: bool = False
    most: int = LARGEST


@dataclass(frozen=True)
class Map:
    """A mapping from texts (or integers) to values of one kind."""

    item: Kind
    keys: type = str


def require(kind: Kind, value: Any, sizes: Sizes, what: str) -> None:
    """Raise FileError unless a value is of a kind; `what` is its name in the message."""
    wrong = problem(kind, value, sizes)
    if wrong:
        raise FileError(f"its {what}: {wrong}.")


def problem(kind: Kind, value: Any, sizes: Sizes) -> str:
    """Return what is wrong with a value, "" if nothing is."""
    match kind:
        case None:
            return "" if value is None else "it is not empty"
        case type():
            right = kind is object or type(value) is kind
            if kind is str:
                right = right and len(value) <= LONGEST and value.encode("utf-8", "replace").decode() == value
            return "" if right else "it is not text" if kind is str else "it is neither true nor false"
        case set():
            return "" if type(value) is str and value in kind else f"it is none of {', '.join(sorted(kind))}"
        case tuple():
            found = [problem(one, value, sizes) for one in kind]
            return "" if "" in found else found[-1]
        case dict():
            return _of_fields(kind, value, sizes)
        case Whole():
            high = sizes[kind.high] if isinstance(kind.high, str) else kind.high
            right = type(value) is int and kind.low <= value <= high
            return (
                "" if right else f"it has no whole number from {kind.low}" + f" to {high}" * (high < LARGEST)
            )
        case Real():
            right = isinstance(value, int | float | np.integer | np.floating) and type(value) is not bool
            right = right and (isinstance(value, float) or abs(value) < LARGEST)
            right = right and (not kind.finite or (kind.low <= value <= kind.high and math.isfinite(value)))
            return "" if right else f"it has no number from {kind.low:g} to {kind.high:g}"
        case Array():
            return _of_array(kind, value, sizes)
        case List():
            return _of_list(kind, value, sizes)
        case Map():
            if not isinstance(value, dict) or not all(type(name) is kind.keys for name in value):
                return "it is not a table of named values"
            return next(filter(None, (problem(kind.item, one, sizes) for one in value.values())), "")
        case _:
            return str(kind(value, sizes))


def _of_fields(parts: dict[str, Kind], value: Any, sizes: Sizes) -> str:
    if not isinstance(value, dict):
        return "it has no parts"
    named = [(name, kind) for names, kind in parts.items() for name in names.split()]
    lacking = [name for name, _ in named if name not in value and not name.endswith("?")]
    if lacking:
        return f"it lacks {', '.join(lacking)}"
    for name, kind in named:
        name = name.removesuffix("?")
        if name in value and (wrong := problem(kind, value[name], sizes)):
            return f"{name}: {wrong}"
    return ""


def _of_array(kind: Array, value: Any, sizes: Sizes) -> str:
    if not isinstance(value, np.ndarray) or value.dtype.kind != kind.kind:
        return "it is not an array of such numbers"
    if value.ndim != len(kind.shape):
        return f"it has shape {value.shape}, with {value.ndim} dimensions for {len(kind.shape)}"
    expected = tuple(
        sizes.setdefault(name, size) if isinstance(name, str) else name
        for name, size in zip(kind.shape, value.shape, strict=True)
    )
    if value.shape != expected:
        return f"it has shape {value.shape}, not {expected}"
    if kind.kind == "f" and not (np.isfinite(value) | (kind.nan & np.isnan(value))).all():
        return "it holds numbers that are not finite"
    high = sizes[kind.high] if isinstance(kind.high, str) else kind.high
    if value.size and kind.kind != "b" and (np.nanmin(value) < kind.low or np.nanmax(value) > high):
        return f"it holds numbers outside {kind.low:g} to {high:g}"
    return ""


def _of_list(kind: List, value: Any, sizes: Sizes) -> str:
    if not isinstance(value, (list, tuple)):
        return "it is not a list"
    size = sizes[kind.size] if isinstance(kind.size, str) else kind.size
    if len(value) > kind.most or (size is not None and len(value) != size):
        return f"it is a list of {len(value)}, not {f'up to {kind.most}' if size is None else size}"
    wrong = next(filter(None, (problem(kind.item, one, sizes) for one in value)), "")
    return wrong or ("it repeats a value" if kind.distinct and len(set(value)) < len(value) else "")


def plain(value: Any, sizes: Sizes) -> str:
    """Return what is wrong with a value that should be None, text, a number, a bool or a list of these."""
    if isinstance(value, list):
        return next(filter(None, (plain(one, sizes) for one in value)), "")
    right = value is None or type(value) in (bool, str, float) or not problem(Whole(-LARGEST), value, sizes)
    return "" if right else "it holds more than numbers and text"
