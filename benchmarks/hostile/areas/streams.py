"""Rows in chunks: sources that break, change or lie, and Parquet files that are damaged."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from benchmarks.hostile.cases import Case
from benchmarks.hostile.judges import same, sound

K, CARD = 2, 2
CALLS: dict[str, dict[str, Any]] = {
    "card": {"card": CARD},
    "scaled": {"card": CARD, "scale": True},
    "variance": {"variance": 0.8},
    "dropping": {"card": CARD, "na": "drop"},
    "formula": {"card": CARD, "formula": "~ a + b + d"},
    "weights": {"card": CARD, "weights": [1.0] * 30},
}
FLIPS, TRUNCATIONS = 250, 100


def rows() -> pd.DataFrame:
    """Return thirty rows of four columns."""
    raw = np.random.default_rng(8).standard_normal((30, 4)) * [1.0, 2.0, 3.0, 4.0]
    return pd.DataFrame(raw, columns=list("abcd"))


def parts() -> list[pd.DataFrame]:
    """Return them in three chunks."""
    x = rows()
    return [x.iloc[:10], x.iloc[10:20], x.iloc[20:]]


def _second(change: Callable[[pd.DataFrame], Any]) -> list[Any]:
    first, second, third = parts()
    return [first, change(second), third]


class _Breaks:
    """An iterable that fails at its third walk."""

    def __init__(self) -> None:
        self.walks = 0

    def __iter__(self) -> Iterator[pd.DataFrame]:
        self.walks += 1
        for i, part in enumerate(parts()):
            if self.walks > 2 and i == 1:
                raise RuntimeError("the source is gone")
            yield part


class _Shrinks:
    """An iterable that has fewer chunks at each walk."""

    def __init__(self) -> None:
        self.left = 4

    def __iter__(self) -> Iterator[pd.DataFrame]:
        self.left -= 1
        return iter(parts()[: self.left])


def _fails() -> Any:
    raise KeyError("no such table")


#: The same rows from other sources.
ALIKE: dict[str, Callable[[], Any]] = {
    "list": parts,
    "tuple": lambda: tuple(parts()),
    "function": lambda: parts,
    "function of a generator": lambda: lambda: (part for part in parts()),
    "one chunk": lambda: [rows()],
    "empty chunks": lambda: [rows().iloc[:0], *parts(), rows().iloc[:0]],
    "single rows": lambda: [rows().iloc[[i]] for i in range(30)],
    "other order of columns": lambda: _second(lambda part: part[list("dcba")]),
    "float128": lambda: _second(lambda part: part.astype("g")),
    "nullable": lambda: _second(lambda part: part.astype("Float64")),
}
#: Sources that cannot be read, or not twice, or hold something else.
BROKEN: dict[str, Callable[[], Any]] = {
    "a generator": lambda: (part for part in parts()),
    "no chunks": lambda: lambda: [],
    "only empty chunks": lambda: [rows().iloc[:0]] * 3,
    "one row": lambda: [rows().iloc[:1]],
    "a failing function": lambda: _fails,
    "a function with an argument": lambda: lambda x: parts(),
    "a function of nothing": lambda: lambda: None,
    "a function of a number": lambda: lambda: 3,
    "a function of text": lambda: lambda: "text",
    "a class": lambda: _Breaks,
    "numbers": lambda: _second(lambda part: 3),
    "None": lambda: _second(lambda part: None),
    "text": lambda: _second(lambda part: "text"),
    "a Series": lambda: _second(lambda part: part["a"]),
    "fewer columns": lambda: _second(lambda part: part[["a", "b"]]),
    "other columns": lambda: _second(lambda part: part.add_suffix("x")),
    "an array among frames": lambda: _second(lambda part: part.to_numpy()),
    "text in a column": lambda: _second(lambda part: part.assign(b="x")),
    "dates in a column": lambda: _second(lambda part: part.assign(b=pd.Timestamp(0))),
    "duplicate columns": lambda: _second(lambda part: part.set_axis(["a", "a", "b", "c"], axis=1)),
    "complex": lambda: _second(lambda part: part + 1j),
    "nan": lambda: _second(lambda part: part.mask(part > 2)),
    "inf": lambda: _second(lambda part: part.mask(part > 2, np.inf)),
    "huge": lambda: _second(lambda part: part * 1e307),
    "in itself": lambda: _in_itself(),
    "all constant": lambda: [rows() * 0 + 1.0] * 2,
}
CHANGING: dict[str, Callable[[], Any]] = {"breaks": _Breaks, "shrinks": _Shrinks}


def _in_itself() -> list[Any]:
    chunks: list[Any] = parts()
    chunks.append(chunks)
    return chunks


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for call, options in CALLS.items():
        for name, make in ALIKE.items():
            plain = same(partial(sp.spca, rows(), K, **options), 1e-8)
            yield Case(f"{name} {call}", partial(_fit, make, options), plain, must="accept")
        for name, make in {**BROKEN, **CHANGING}.items():
            yield Case(f"{name} {call}", partial(_used, make, options), sound)
    yield from _parquet()


def _parquet() -> Iterator[Case]:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return
    for i in range(FLIPS):
        yield Case(f"parquet: bit {i}", lambda i=i: _file(_flipped(i)), sound)
    for i in range(TRUNCATIONS):
        yield Case(
            f"parquet: cut {i}", lambda i=i: _file(table()[: i * len(table()) // TRUNCATIONS]), must="refuse"
        )
    for name, text in METADATA.items():
        yield Case(f"parquet: pandas block {name}", lambda text=text: _file(table(text)), sound)


#: What stands where pandas keeps the labels of a Parquet file.
METADATA: dict[str, bytes] = {
    "empty": b"",
    "text": b"text",
    "null": b"null",
    "list": b"[]",
    "number": b"3",
    "no columns": b"{}",
    "columns null": b'{"columns": null, "index_columns": null}',
    "index missing": b'{"columns": [], "index_columns": ["nothing"], "column_indexes": []}',
    "index a number": b'{"columns": [], "index_columns": [3], "column_indexes": []}',
    "range wrong": b'{"index_columns": [{"kind": "range", "start": "x", "step": 0}], "columns": []}',
    "range short": b'{"index_columns": [{"kind": "range", "name": null, "start": 0, "stop": 3, "step": 1}],'
    b' "columns": [], "column_indexes": []}',
    "not UTF-8": b"\xff\xfe",
    "deep": b"[" * 50_000,
}


@cache
def table(metadata: bytes | None = None) -> bytes:
    """Return the rows as a Parquet file, with another block of metadata where one is given."""
    import pyarrow
    from pyarrow import parquet

    found = pyarrow.Table.from_pandas(rows())
    if metadata is not None:
        found = found.replace_schema_metadata({b"pandas": metadata})
    out = io.BytesIO()
    parquet.write_table(found, out)
    return out.getvalue()


def _flipped(i: int) -> bytes:
    draw = np.random.default_rng(i)
    raw = bytearray(table())
    raw[int(draw.integers(len(raw)))] ^= 1 << int(draw.integers(8))
    return bytes(raw)


def _file(content: bytes) -> Any:
    Path("rows.parquet").write_bytes(content)
    return _used(lambda: "rows.parquet", {"card": 1})


def _fit(make: Callable[[], Any], options: dict[str, Any]) -> Any:
    return sp.spca(make(), K, **options)


def _used(make: Callable[[], Any], options: dict[str, Any]) -> Any:
    """Fit, and walk over the rows again for the scores."""
    fit = _fit(make, options)
    for _ in range(2):
        found = fit.scores
        gathered = found if isinstance(found, pd.DataFrame) else found.to_frame()
        assert len(gathered) >= 2, "scores are missing"
    return fit
