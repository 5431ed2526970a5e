"""Saved fits that are cut off, damaged, changed with a right digest, or something else altogether."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.hostile.areas.formulas import rows
from benchmarks.hostile.cases import Case
from benchmarks.hostile.judges import different, plausible

TRUNCATIONS, FLIPS, TAMPERED = 150, 300, 600
#: What a value in the manifest is replaced by.
SWAPS: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**30,
    1.5,
    "x",
    "",
    "\ud800",
    "../x",
    [],
    [[]],
    {},
    {"x": 1},
    [None] * 9,
)


@cache
def saved() -> bytes:
    """Return a saved fit with a formula, as bytes."""
    fit = sp.spca(rows(), 2, 2, formula="~ log(a) + b + c + d", scale=True)
    fit.save("whole.fit")
    return Path("whole.fit").read_bytes()


@cache
def original() -> Any:
    """Return that fit, read from its file."""
    saved()
    return sp.load("whole.fit")


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for i in range(TRUNCATIONS):
        yield _bytes(f"truncated {i}", lambda i=i: saved()[: i * len(saved()) // TRUNCATIONS])
    for i in range(FLIPS):
        yield _bytes(f"bit {i}", partial(_flipped, i))
    for i in range(TAMPERED):
        yield Case(f"tampered {i}", lambda i=i: _use(_tampered(i)), plausible)
    for name, content in OTHERS.items():
        yield _bytes(name, content)
    for name, path in PLACES.items():
        yield Case(f"path {name}", partial(sp.load, path), must="refuse")


def _bytes(name: str, make: Callable[[], bytes]) -> Case:
    """What can be read is the fit that was saved."""
    return Case(name, lambda: _use(make()), lambda fit: different(fit, original(), 1e-12))


def _use(content: bytes) -> Any:
    """Load, and do all that a fit from a file can do."""
    Path("attacked.fit").write_bytes(content)
    fit = sp.load("attacked.fit")
    str(fit)
    fit.transform(rows())
    fit.diagnostics(rows())
    fit.limits()
    fit.glance(), fit.tidy(), fit.equations()
    fit.summary().as_html()
    fit.save("again.fit")
    return fit


def _flipped(i: int) -> bytes:
    draw = np.random.default_rng(i)
    raw = bytearray(saved())
    raw[int(draw.integers(len(raw)))] ^= 1 << int(draw.integers(8))
    return bytes(raw)


def _tampered(i: int) -> bytes:
    """Change one value of the manifest, and write the digest that belongs to it."""
    draw = np.random.default_rng(i)
    manifest = json.loads(_member("manifest.json"))
    changed = copy.deepcopy(manifest)
    places = list(_places(changed))
    holder, key = places[int(draw.integers(len(places)))]
    if draw.random() < 0.1:
        del holder[key]
    else:
        holder[key] = SWAPS[int(draw.integers(len(SWAPS)))]
    return _written(json.dumps(changed).encode())


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in list(pairs):
        yield value, key
        yield from _places(part)


def _member(name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(saved())) as archive:
        return archive.read(name)


def _written(manifest: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved())) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            part = old.read(name)
            if name == "manifest.json":
                part = manifest
            elif name == "digest":
                part = hashlib.sha256(manifest).hexdigest().encode()
            new.writestr(name, part)
    return out.getvalue()


def _zip(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in members.items():
            archive.writestr(name.replace("__", "."), part)
    return out.getvalue()


OTHERS: dict[str, Callable[[], bytes]] = {
    "nothing": bytes,
    "text": lambda: b"text",
    "PK": lambda: b"PK",
    "PK and zeros": lambda: b"PK\x03\x04" + bytes(1000),
    "empty archive": lambda: _zip(),
    "another archive": lambda: _zip(x=b"x"),
    "a manifest alone": lambda: _zip(manifest__json=b"{}"),
    "no JSON": lambda: _zip(manifest__json=b"{", digest=b"x"),
    "a list": lambda: _zip(manifest__json=b"[]", digest=hashlib.sha256(b"[]").hexdigest().encode()),
    "deep JSON": lambda: _zip(manifest__json=b"[" * 100_000 + b"]" * 100_000, digest=b"x"),
    "a bomb": lambda: _zip(manifest__json=bytes(500_000_000), digest=b"x"),
    "a bomb elsewhere": lambda: saved() + _zip(x=bytes(100_000_000)),
    "pickle": lambda: b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
    "after another": lambda: b"x" * 100 + saved(),
    "before another": lambda: saved() + b"x" * 100,
    "twice": lambda: saved() * 2,
}
PLACES: dict[str, Any] = {
    "missing": "missing.fit",
    "folder": ".",
    "root": "/",
    "device": "/dev/null",
    "empty": "",
    "NUL": "a\0b",
    "surrogate": "a\ud800",
    "long": "x" * 10_000,
    "deep": "x/" * 1000,
    "link to itself": "/proc/self/fd/9999",
    "bytes": b"whole.fit",
    "number": 3,
    "None": None,
    "list": ["whole.fit"],
}
