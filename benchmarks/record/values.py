"""Conversion of results to JSON without loss, and the differences between two such values."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.record import fits

#: An array of more numbers than this is kept as a digest of its bytes, with the first of its numbers.
WHOLE = 4000
#: What has a version that is shown.
PACKAGES = "python|Python|spcastat|numpy|scipy|pandas|formulaic|matplotlib"
#: Columns that hold a time, which no two runs share.
TIMES = ("seconds",)


def plain(value: Any, folder: Path) -> Any:
    """Return `value` as lists, dicts and text: floats in hexadecimal, `folder` and versions taken out."""
    if isinstance(value, sp.SpcaResult):
        return {name: plain(part, folder) for name, part in fits.parts(value).items()}
    if isinstance(value, str):
        return neutral(str(value), folder)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value).hex()
    if isinstance(value, np.generic):
        return plain(value.item(), folder)
    if isinstance(value, np.ndarray):
        return _array(value, folder)
    if isinstance(value, pd.DataFrame):
        kept = [column for column in value if column not in TIMES]
        return {
            "index": plain(value.index, folder),
            "columns": {str(column): plain(value[column], folder)["values"] for column in kept},
        }
    if isinstance(value, pd.Series):
        return {"index": plain(value.index, folder), "values": _array(value.to_numpy(), folder)}
    if isinstance(value, pd.Index):
        return [neutral(str(label), folder) for label in value]
    if isinstance(value, Mapping):
        return {str(name): plain(part, folder) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part, folder) for part in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
        return plain({name: part for name, part in named.items() if name not in TIMES}, folder)
    raise TypeError(f"{type(value).__name__} has no plain form; give one in benchmarks/record/values.py")


def _array(values: np.ndarray, folder: Path) -> dict[str, Any]:
    flat = values.ravel()
    head = {"dtype": str(values.dtype), "shape": list(values.shape)}
    if flat.size > WHOLE:
        head["digest"] = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
        flat = flat[:100]
    return {**head, "values": [plain(one, folder) for one in flat.tolist()]}


def neutral(text: str, folder: Path) -> str:
    """Take out of a text what depends on the place and the moment: folders, dates, seconds, versions."""
    text = text.replace(str(folder), "FOLDER")
    text = re.sub(r"\b20\d\d-\d\d-\d\d\b", "DATE", text)
    text = re.sub(rf"\b({PACKAGES}) \d[\w.]*", r"\1 N", text)
    return re.sub(r"\b\d+(\.\d+)? s\b", "N s", text)


def differences(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """Yield, in order, where two plain forms differ, with both values."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before:
            if name not in after:
                yield f"{place}/{name}: is gone"
            else:
                yield from differences(before[name], after[name], f"{place}/{name}")
        yield from (f"{place}/{name}: is new" for name in after if name not in before)
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{place}: {len(before)} values before, {len(after)} after"
        for i, (old, new) in enumerate(zip(before, after, strict=False)):
            yield from differences(old, new, f"{place}[{i}]")
    elif isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        lines = enumerate(zip(before.splitlines(), after.splitlines(), strict=False), 1)
        for number, (old, new) in lines:
            if old != new:
                yield f"{place}, line {number}: {old!r} -> {new!r}"
        if before.count("\n") != after.count("\n"):
            yield f"{place}: {before.count(chr(10)) + 1} lines before, {after.count(chr(10)) + 1} after"
    elif before != after or type(before) is not type(after):
        yield f"{place}: {_shown(before)} -> {_shown(after)}{_apart(before, after)}"


def _number(value: Any) -> float | None:
    try:
        return float.fromhex(value) if isinstance(value, str) and "x" in value else None
    except ValueError:
        return None


def _shown(value: Any) -> str:
    number = _number(value)
    return repr(value) if number is None else repr(number)


def _apart(before: Any, after: Any) -> str:
    old, new = _number(before), _number(after)
    return "" if old is None or new is None or old == 0 else f" (relative {abs(new - old) / abs(old):.1e})"
