"""The same numbers in arrays of other types, layouts and containers, and numbers that are no data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sps

import spcastat as sp
from benchmarks.hostile.cases import Case
from benchmarks.hostile.judges import same, sound

K, CARD = 2, 3
CALLS: dict[str, dict[str, Any]] = {
    "card": {"card": CARD},
    "scaled": {"card": CARD, "scale": True},
    "variance": {"variance": 0.8},
    "pca": {"method": "pca"},
    "uncentred": {"card": CARD, "center": False},
    "dropping": {"card": CARD, "na": "drop"},
}
TYPES = ("f2", "f4", "f8", "g", ">f4", ">f8", "i1", "i2", "i4", "i8", ">i4", "u1", "u8", "?")
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every other column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda x: _locked(x),
    "broadcast": lambda x: np.broadcast_to(x, (1, *x.shape))[0],
    "unaligned": lambda x: _unaligned(x),
    "matrix": lambda x: np.matrix(x),
    "masked without mask": lambda x: np.ma.array(x),
    "subclass": lambda x: x.view(_Own),
}
SPARSE = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")


class _Own(np.ndarray):
    """A subclass of the user's."""


def numbers(kind: str = "f8") -> np.ndarray:
    """Return numbers of a type that stand for whole ones, so that all types hold nearly the same."""
    raw = np.random.default_rng(5).standard_normal((14, 5)) * [1.0, 3.0, 6.0, 9.0, 12.0]
    raw[:, 1] += 2.0 * raw[:, 0]
    if kind == "?":
        return raw > 0
    if np.dtype(kind).kind in "iu":
        return np.abs(raw).round().astype(kind)
    return raw.astype(kind)


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for kind in TYPES:
        for layout, change in LAYOUTS.items():
            for name, options in CALLS.items():
                yield _alike(f"{kind} {layout} {name}", partial(_changed, change, kind), kind, options)
    for kind in ("f4", "f8", "i4", "?"):
        for form in SPARSE:
            for flavour in ("array", "matrix"):
                for name, options in CALLS.items():
                    make = partial(_sparse, form, flavour, kind)
                    yield _alike(f"{kind} {form}_{flavour} {name}", make, kind, options)
    for kind in ("i1", "u1", "i2", "?", "f4"):
        for form in ("csr", "csc", "coo", "bsr"):
            for name, options in CALLS.items():
                yield _repeated(f"{kind} {form} repeated entries {name}", form, kind, options)
    yield from _contents()
    yield from _matrices()


def _alike(name: str, make: Callable[[], Any], kind: str, options: dict[str, Any]) -> Case:
    def fit() -> Any:
        data = make()
        before = data.copy()
        found = sp.spca(data, K, **options)
        untouched = (data != before).nnz == 0 if sps.issparse(data) else np.array_equal(data, before)
        assert untouched, "the data were changed"
        return found

    # The plain form: the same numbers in double precision.
    plain = same(lambda: sp.spca(numbers(kind).astype(float), K, **options), 1e-6)
    return Case(name, fit, plain, must="accept")


def _repeated(name: str, form: str, kind: str, options: dict[str, Any]) -> Case:
    """Entries at one place, whose sum is too large for their type: the same as their sum in a dense array."""
    n, p = 14, 5
    most = {"i1": 100, "u1": 200, "i2": 30_000, "?": 1, "f4": 1000}[kind]
    draws = np.random.default_rng(6)
    places = np.sort(draws.integers(0, n * p, 150))
    values = draws.integers(most // 2, most + 1, 150).astype(kind)
    dense = np.zeros(n * p)
    np.add.at(dense, places, values.astype(float))

    def fit() -> Any:
        rows, columns = np.divmod(places, p)
        pointers = np.searchsorted(rows, np.arange(n + 1))
        if form == "coo":
            data = sps.coo_array((values, (rows, columns)), shape=(n, p))
        elif form == "csc":
            order = np.argsort(columns, kind="stable")
            starts = np.searchsorted(columns[order], np.arange(p + 1))
            data = sps.csc_array((values[order], rows[order], starts), shape=(n, p))
        elif form == "csr":
            data = sps.csr_array((values, columns, pointers), shape=(n, p))
        else:
            data = sps.bsr_array((values[:, None, None], columns, pointers), shape=(n, p))
        return sp.spca(data, K, **options)

    return Case(name, fit, same(lambda: sp.spca(dense.reshape(n, p), K, **options), 1e-6), must="accept")


def _contents() -> Iterator[Case]:
    """Numbers that are no data, or hardly: each is refused, or gives a fit that is sound."""
    x = numbers()
    nasty: dict[str, Callable[[], np.ndarray]] = {
        "a nan": lambda: _with(x, np.nan),
        "an inf": lambda: _with(x, np.inf),
        "a -inf": lambda: _with(x, -np.inf),
        "a 1e308": lambda: _with(x, 1e308),
        "a 1e200": lambda: _with(x, 1e200),
        "a -0.0": lambda: _with(x, -0.0),
        "a subnormal": lambda: _with(x, 5e-324),
        "all nan": lambda: np.full_like(x, np.nan),
        "all zero": lambda: np.zeros_like(x),
        "all one": lambda: np.ones_like(x),
        "one column zero": lambda: x * [1, 1, 0, 1, 1],
        "equal columns": lambda: np.repeat(x[:, :1], 5, axis=1),
        "equal rows": lambda: np.repeat(x[:1], 9, axis=0),
        "rank one": lambda: np.outer(x[:, 0], [1.0, 2.0, 3.0, 4.0, 5.0]),
        "two rows": lambda: x[:2],
        "one row": lambda: x[:1],
        "no rows": lambda: x[:0],
        "one column": lambda: x[:, :1],
        "no columns": lambda: x[:, :0],
        "mean of 1e12": lambda: x + 1e12,
        "mean of 1e15": lambda: x + 1e15,
        "times 1e100": lambda: x * 1e100,
        "times 1e-100": lambda: x * 1e-100,
        "times 1e150": lambda: x * 1e150,
        "times 1e-150": lambda: x * 1e-150,
        "times 1e307": lambda: x * 1e306,
        "times 1e-310": lambda: x * 1e-310,
        "scales apart": lambda: x * [1e-100, 1e-50, 1.0, 1e50, 1e100],
        "more columns": lambda: np.hstack([x] * 30),
        "opposite columns": lambda: np.hstack([x, -x]),
        "three axes": lambda: x[None],
        "complex": lambda: x + 1j,
        "text": lambda: x.astype(str),
        "dates": lambda: x.astype("i8").astype("M8[s]"),
        "objects": lambda: x.astype(object),
        "a mask": lambda: np.ma.masked_greater(x, 10.0),
        "structured": lambda: x.view([(name, "f8") for name in "abcde"]),
    }
    containers: dict[str, Callable[[Any], Any]] = {
        "array": lambda array: array,
        "frame": lambda array: pd.DataFrame(array),
        "csr": lambda array: sps.csr_array(array),
        "chunks": lambda array: [array[:7], array[7:]],
    }
    cannot = {
        "csr": ("three axes", "text", "dates", "objects", "structured"),
        "frame": ("three axes", "structured"),
    }
    for content, make in nasty.items():
        for container, put in containers.items():
            if content in cannot.get(container, ()):
                continue
            for name, options in CALLS.items():
                run = partial(_fit_of, make, put, options)
                yield Case(f"{content} {container} {name}", run, sound)


def _matrices() -> Iterator[Case]:
    """Matrices that are covariance matrices, or hardly."""
    S = np.cov(numbers(), rowvar=False)
    nasty: dict[str, Callable[[], Any]] = {
        "plain": lambda: S,
        "float32": lambda: S.astype("f4"),
        "int": lambda: np.diag([3, 2, 5, 1, 4]),
        "Fortran": lambda: np.asfortranarray(S),
        "upper triangle": lambda: np.triu(S),
        "asymmetric": lambda: S + np.triu(S, 1) * 1e-4,
        "indefinite": lambda: S - 2 * np.eye(5) * np.trace(S),
        "nan": lambda: _with(S, np.nan),
        "inf": lambda: _with(S, np.inf),
        "zero": lambda: np.zeros((5, 5)),
        "one zero variance": lambda: S * np.outer([1, 1, 0, 1, 1], [1, 1, 0, 1, 1]),
        "identity": lambda: np.eye(5),
        "rank one": lambda: np.outer(S[0], S[0]),
        "times 1e300": lambda: S * 1e300,
        "times 1e307": lambda: S * 1e306,
        "times 1e-300": lambda: S * 1e-300,
        "times 1e-320": lambda: S * 1e-320,
        "complex": lambda: S + 0j,
        "objects": lambda: S.astype(object),
        "sparse": lambda: sps.csr_array(S),
        "list": lambda: S.tolist(),
        "flat": lambda: S.ravel(),
        "rows": lambda: numbers(),
        "1 x 1": lambda: np.ones((1, 1)),
        "0 x 0": lambda: np.ones((0, 0)),
        "masked": lambda: np.ma.masked_greater(S, 3.0),
    }
    from spcastat.fit.method_table import SOLVERS

    for content, make in nasty.items():
        for name, method in SOLVERS.items():
            control = next((c for c in method.controls if c in ("card", "variance")), None)
            options = {} if control is None else {control: CARD if control == "card" else 0.8}
            yield Case(f"S {content} {name}", partial(_cov_of, make, name, options), sound)


def _fit_of(make: Callable[[], Any], put: Callable[[Any], Any], options: dict[str, Any]) -> Any:
    return sp.spca(put(make()), K, **options)


def _cov_of(make: Callable[[], Any], method: str, options: dict[str, Any]) -> Any:
    return sp.spca_cov(make(), K, method=method, **options)


def _changed(change: Callable[[np.ndarray], np.ndarray], kind: str) -> np.ndarray:
    return change(numbers(kind))


def _sparse(form: str, flavour: str, kind: str) -> Any:
    return getattr(sps, f"{form}_{flavour}")(numbers(kind))


def _with(x: np.ndarray, value: float) -> np.ndarray:
    changed = np.array(x)
    changed[1, 1] = value
    return changed


def _locked(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


def _unaligned(x: np.ndarray) -> np.ndarray:
    raw = bytearray(x.nbytes + 1)
    found = np.frombuffer(raw, dtype=x.dtype, count=x.size, offset=1).reshape(x.shape)
    found[...] = x
    return found
