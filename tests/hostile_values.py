"""Invalid and unusual values, which `test_hostile.py` passes to every public argument.

Each value is made for each call, as some can be used only once.
"""

from __future__ import annotations

import datetime
import io
import os
import pathlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sps


@dataclass(frozen=True)
class Value:
    """A value for an argument.

    Attributes
    ----------
    name : str
    make : callable
        Returns the value.
    plain : callable or None
        Returns the ordinary value that means the same, if there is one: 2 for ``np.int64(2)``.
    """

    name: str
    make: Callable[[], Any]
    plain: Callable[[], Any] | None = None


class Unprintable:
    """An object whose ``repr`` fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Undecided:
    """An object without truth value, comparison, length and hash."""

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise ValueError("no truth value")

    def __eq__(self, other: object) -> bool:
        raise ValueError("no comparison")

    def __len__(self) -> int:
        raise ValueError("no length")


class Pretender:
    """An object whose conversion to an array fails."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("no array")


class Anything:
    """A class that can be called with anything."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass


def numbers(n: int = 12, p: int = 4) -> np.ndarray:
    """Return normal numbers of shape (n, p), the same in each call."""
    return np.random.default_rng(1).standard_normal((n, p)) * np.arange(1.0, p + 1)


def frame(n: int = 12, columns: Any = ("a", "b", "c", "d")) -> pd.DataFrame:
    """Return these numbers as a data frame."""
    names = list(columns)
    return pd.DataFrame(numbers(n, len(names)), columns=pd.Index(names, tupleize_cols=False))


def covariance() -> pd.DataFrame:
    """Return the covariance matrix of `frame()`."""
    return frame().cov()


def used_up() -> Iterator[int]:
    """Return an iterator with nothing left."""
    steps = iter([1, 2])
    list(steps)
    return steps


def in_itself() -> list[Any]:
    """Return a list that is its own element."""
    loop: list[Any] = []
    loop.append(loop)
    return loop


def masked() -> np.ma.MaskedArray[Any, Any]:
    """Return rows of which one value is masked."""
    return np.ma.masked_greater(numbers(), numbers().max() - 1e-9)


def locked() -> np.ndarray:
    """Return a read-only array."""
    rows = numbers()
    rows.flags.writeable = False
    return rows


def closed_file() -> io.BytesIO:
    """Return a file handle that is closed."""
    handle = io.BytesIO(b"text")
    handle.close()
    return handle


_STRUCTURED = np.dtype([("a", float), ("b", float)])


def _surrogate() -> pd.DataFrame:
    return frame().set_axis(pd.Index(["a\ud800", "b", "c", "d"], dtype=object), axis=1)


SCALARS = [
    Value("None", lambda: None),
    Value("True", lambda: True),
    Value("np.True_", lambda: np.bool_(True), lambda: True),
    Value("nan", lambda: float("nan")),
    Value("inf", lambda: float("inf")),
    Value("-inf", lambda: float("-inf")),
    Value("-0.0", lambda: -0.0, lambda: 0.0),
    Value("0", lambda: 0),
    Value("-1", lambda: -1),
    Value("1e-320", lambda: 1e-320),
    Value("1e308", lambda: 1e308),
    Value("2.5", lambda: 2.5),
    Value("10**20", lambda: 10**20),
    Value("-10**20", lambda: -(10**20)),
    Value("10**400", lambda: 10**400),
    Value("10**5000", lambda: 10**5000),
    Value("2**63", lambda: 2**63),
    Value("2**31", lambda: 2**31),
    Value("np.int64(2)", lambda: np.int64(2), lambda: 2),
    Value("np.uint8(2)", lambda: np.uint8(2), lambda: 2),
    Value("np.float16(0.5)", lambda: np.float16(0.5), lambda: 0.5),
    Value("np.longdouble(0.5)", lambda: np.longdouble(0.5), lambda: 0.5),
    Value("1j", lambda: 1j),
    Value("Decimal", lambda: Decimal("0.5"), lambda: 0.5),
    Value("Decimal nan", lambda: Decimal("sNaN")),
    Value("Fraction", lambda: Fraction(1, 2), lambda: 0.5),
    Value("Fraction 10**400", lambda: Fraction(10**400, 3)),
    Value("datetime64", lambda: np.datetime64("2020-01-01")),
    Value("timedelta64(2)", lambda: np.timedelta64(2)),
    Value("NaT", lambda: np.timedelta64("NaT")),
    Value("pd.NaT", lambda: pd.NaT),
    Value("pd.NA", lambda: pd.NA),
    Value("datetime", lambda: datetime.datetime(2020, 1, 1)),
    Value("...", lambda: ...),
]

TEXTS = [
    Value("''", lambda: ""),
    Value("' '", lambda: " "),
    Value("long text", lambda: "x" * 100_000),
    Value("text with NUL", lambda: "a\0b"),
    Value("surrogate", lambda: "a\ud800"),
    Value("right to left", lambda: "\u202eabc\u05d0"),
    Value("newlines", lambda: "a\nb\r\n"),
    Value("braces", lambda: "{0}{__class__}%s%n"),
    Value("dots", lambda: "../../.."),
    Value("np.str_", lambda: np.str_("abc"), lambda: "abc"),
    Value("b'bytes'", lambda: b"bytes"),
    Value("bytearray", lambda: bytearray(b"ab")),
    Value("memoryview", lambda: memoryview(b"abcd")),
    Value("memoryview of rows", lambda: memoryview(numbers())),
    Value("Path", lambda: pathlib.Path("missing.parquet")),
    Value("folder", lambda: os.curdir),
    Value("open file", lambda: io.BytesIO(b"text")),
    Value("closed file", closed_file),
]

OBJECTS = [
    Value("object()", object),
    Value("unprintable", Unprintable),
    Value("undecided", Undecided),
    Value("pretender", Pretender),
    Value("class", lambda: Anything),
    Value("function", lambda: lambda *args, **kwargs: None),
    Value("generator", lambda: (i for i in range(2))),
    Value("used up iterator", used_up),
    Value("exception", lambda: ValueError("no")),
    Value("module", lambda: os),
]

CONTAINERS = [
    Value("{}", dict),
    Value("{'a': 1}", lambda: {"a": 1}),
    Value("{1: object()}", lambda: {1: object(), None: float("nan")}),
    Value("set", lambda: {1, 2}),
    Value("frozenset", lambda: frozenset({"a"})),
    Value("range", lambda: range(2)),
    Value("huge range", lambda: range(10**15)),
    Value("[]", list),
    Value("()", tuple),
    Value("[None]", lambda: [None]),
    Value("[nan, inf]", lambda: [float("nan"), float("inf")]),
    Value("[1, 'a']", lambda: [1, "a"]),
    Value("[object()]", lambda: [object(), object()]),
    Value("[10**20]", lambda: [10**20, 10**20]),
    Value("[timedelta64]", lambda: [np.timedelta64(2), np.timedelta64(2)]),
    Value("['', surrogate]", lambda: ["", "\ud800"]),
    Value("nested lists", lambda: [[1.0, 2.0], [3.0, 4.0]]),
    Value("ragged lists", lambda: [[1.0], [2.0, 3.0]]),
    Value("a list in itself", in_itself),
]

ARRAYS = [
    Value("empty array", lambda: np.empty(0)),
    Value("0-d array", lambda: np.array(2.0)),
    Value("0-d int array", lambda: np.array(2)),
    Value("1-d array", lambda: np.arange(4.0)),
    Value("n numbers", lambda: np.arange(12.0)),
    Value("3-d array", lambda: np.zeros((2, 3, 4))),
    Value("no columns", lambda: np.empty((3, 0))),
    Value("no rows", lambda: np.empty((0, 3))),
    Value("structured", lambda: np.zeros(3, dtype=_STRUCTURED)),
    Value("recarray", lambda: np.zeros(3, dtype=_STRUCTURED).view(np.recarray)),
    Value("object array", lambda: np.array([[1, "a"], [None, object()]], dtype=object)),
    Value("text array", lambda: np.array(["a", "b"])),
    Value("bytes array", lambda: np.array([b"a", b"b"])),
    Value("dates", lambda: np.arange("2020-01-01", "2020-01-13", dtype="M8[D]")),
    Value("durations", lambda: np.arange(12).astype("m8[s]")),
    Value("complex array", lambda: numbers() + 1j),
    Value("masked array", masked),
    Value("rows", lambda: numbers(), numbers),
    Value(
        "float16 rows",
        lambda: numbers().astype(np.float16),
        lambda: numbers().astype(np.float16).astype(float),
    ),
    Value("longdouble rows", lambda: numbers().astype(np.longdouble), numbers),
    Value("big-endian rows", lambda: numbers().astype(">f8"), numbers),
    Value("non-contiguous rows", lambda: np.repeat(numbers(), 2, axis=0)[::2], numbers),
    Value("reversed rows", lambda: numbers()[::-1][::-1], numbers),
    Value("read-only rows", locked, numbers),
    Value("matrix", lambda: np.matrix(numbers()), numbers),
    Value("nan rows", lambda: np.full((4, 3), np.nan)),
    Value("rows * 1e307", lambda: numbers() * 1e307),
    Value("S * 1e307", lambda: covariance().to_numpy() * 1e307),
    Value("S * 1e-320", lambda: covariance().to_numpy() * 1e-320),
    Value("constant rows", lambda: np.ones((5, 3))),
    Value("sparse", lambda: sps.csr_array(numbers()), numbers),
    Value("sparse coo", lambda: sps.coo_matrix(numbers()), numbers),
    Value("1-d sparse", lambda: sps.coo_array(np.arange(3.0))),
]


def _mixed() -> pd.DataFrame:
    return frame(columns=[1, "1", None, ("a", 1)])


FRAMES = [
    Value("frame", frame, frame),
    Value("covariance", covariance, covariance),
    Value("duplicate labels", lambda: frame(columns=["a", "a", "b", "c"])),
    Value("None as label", lambda: frame(columns=["a", None, "b", "c"])),
    Value("nan as label", lambda: frame(columns=["a", float("nan"), "b", "c"])),
    Value("tuples as labels", lambda: frame(columns=[("a", 1), ("a", 2), ("b", 1), ("b", 2)])),
    Value("mixed labels", _mixed),
    Value("surrogate label", _surrogate),
    Value(
        "MultiIndex columns",
        lambda: frame().set_axis(pd.MultiIndex.from_product([["a", "b"], [1, 2]]), axis=1),
    ),
    Value("MultiIndex rows", lambda: frame().set_axis(pd.MultiIndex.from_product([["a", "b"], range(6)]))),
    Value("empty frame", pd.DataFrame),
    Value("one row", lambda: frame(1)),
    Value("one column", lambda: frame(columns=["a"])),
    Value("constant columns", lambda: frame() * 0 + 0.1),
    Value("text column", lambda: frame().assign(b="x")),
    Value("categorical column", lambda: frame().assign(b=pd.Categorical(["x", "y"] * 6))),
    Value("object column", lambda: frame().assign(b=[[1]] * 12)),
    Value("object numbers", lambda: frame().astype(object)),
    Value("huge integers", lambda: frame().assign(b=[10**30] * 12)),
    Value("decimals", lambda: frame().assign(b=[Decimal(i) for i in range(12)])),
    Value("intervals", lambda: frame().assign(b=pd.interval_range(0, 12))),
    Value("periods", lambda: frame().assign(b=pd.period_range("2020", periods=12, freq="D"))),
    Value("nullable with NA", lambda: frame().astype("Float64").mask(lambda x: x > 2)),
    Value("nullable", lambda: frame().astype("Float64"), frame),
    Value("sparse frame", lambda: frame().astype(pd.SparseDtype(float, 0.0)), frame),
    Value(
        "mixed fill", lambda: frame().assign(b=pd.arrays.SparseArray(numbers()[:, 1], fill_value=1.0)), frame
    ),
    Value("Series", lambda: pd.Series(np.arange(4.0), index=list("abcd"))),
    Value("Series with another index", lambda: pd.Series(np.arange(4.0), index=list("wxyz"))),
    Value("Series of rows", lambda: pd.Series(np.arange(12.0))),
    Value("Series with repeated index", lambda: pd.Series(np.arange(12.0), index=[0] * 12)),
    Value("Series of objects", lambda: pd.Series([object()] * 12)),
    Value("Categorical", lambda: pd.Categorical(["x", None] * 6)),
    Value("Index", lambda: pd.Index(["a", "b"])),
]


def everything() -> list[Value]:
    """Return all values, those of other libraries too where these are installed."""
    return [*SCALARS, *TEXTS, *OBJECTS, *CONTAINERS, *ARRAYS, *FRAMES, *_foreign()]


def _foreign() -> Iterator[Value]:
    try:
        import polars as pl
    except ImportError:
        return
    rows = {"a": [1, 2, 3, 5], "b": [2, 1, 3, 9]}
    yield Value("polars Int128", lambda: pl.DataFrame(rows, schema={"a": pl.Int128, "b": pl.Int128}))
    yield Value("polars lists", lambda: pl.DataFrame({"a": [[1], [2]], "b": [1, 2]}))
    yield Value("polars objects", lambda: pl.DataFrame({"a": [object(), object()], "b": [1, 2]}))
    yield Value("polars struct", lambda: pl.DataFrame({"a": [{"x": 1}, {"x": 2}], "b": [1, 2]}))
    yield Value("polars lazy", lambda: pl.LazyFrame(rows))
    yield Value("polars Series", lambda: pl.Series([1.0, 2.0, 3.0]))
