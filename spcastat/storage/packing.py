"""Values of the user's, such as row labels, as JSON and arrays: nothing that is code, nothing pickled."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import FileError
from spcastat.storage.unpacking import DTYPES, FREQUENCY, LARGEST_INTEGER, LARGEST_RANGE, Unpacker

__all__ = ["Packer", "Unpacker"]

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

    def each(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return every value as JSON, under its name."""
        return {name: self.value(value, name) for name, value in values.items()}

    def fields(self, record: Any) -> dict[str, Any] | None:
        """Return the fields of a dataclass as JSON, under their names; None for None."""
        if record is None:
            return None
        held = {one.name: getattr(record, one.name) for one in fields(record)}
        return self.each({name: float(one) if isinstance(one, float) else one for name, one in held.items()})

    def value(self, value: Any, where: str) -> Any:
        """Return `value` as JSON; `where` names it in the error.

        Raises
        ------
        FileError
            For a value of a type that has no form in the file.
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
        try:
            same = Unpacker(self.arrays).value(packed) == value
        except FileError:  # such as a time zone that has no name
            same = False
        if not same:
            raise _without_form(value, where)
        return packed

    def index(self, index: pd.Index, where: str) -> dict[str, Any]:
        """Return an index, its names and type included; a frequency that pandas has no name for is left out.

        Raises
        ------
        FileError
            For labels of a type that has no form in the file.
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
        if packed["kind"] not in ("array", "range", "values"):
            try:
                same = Unpacker(self.arrays).index(packed).equals(index)
            except FileError:
                same = False
            if not same:
                raise _without_form(index[:1], where)
        return packed

    def _inner(self, index: pd.Index, where: str) -> dict[str, Any]:
        """Return levels, categories or ends; a long range of them is written out."""
        if isinstance(index, pd.RangeIndex) and len(index) > LARGEST_RANGE:
            index = pd.Index(index.to_numpy(), name=index.name)
        return self.index(index, where)

    def _flat(self, index: pd.Index, where: str) -> dict[str, Any]:
        if isinstance(index, pd.RangeIndex):
            return {"kind": "range", "range": [index.start, index.stop, index.step]}
        if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex):
            named = index.freqstr if FREQUENCY.fullmatch(index.freqstr or "") else None
            packed = {"values": self.array(index.asi8), "unit": index.unit, "freq": named}
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
        if str(dtype) not in DTYPES:
            raise FileError(
                f"The fit cannot be saved: {where} is of the type {dtype}, which has no form in a file. "
                "Convert the labels first, for instance to text."
            )
        return {
            "kind": "values",
            "dtype": str(dtype),
            "values": [self.value(one, where) for one in index.tolist()],
        }


def _without_form(value: Any, where: str) -> FileError:
    return FileError(
        f"The fit cannot be saved: {where} holds {value!r} of type {type(value).__qualname__}, which a "
        "file without pickle cannot hold."
    )
