"""What was resampled of a fit, in files and back: every part agrees with the loadings and with itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from spcastat.state.record import Record
from spcastat.state.resampled import Bootstrapped, Halved, Split, Tested, Trust
from spcastat.storage.packing import Packer, Unpacker
from spcastat.storage.recorded import require

#: Lengths and correlations may be off one by so much.
CLOSE = 1e-6
#: Methods of multiple tests.
FDR = ("fdr_bh", "fdr_by")

PARTS: dict[str, type] = {"bootstrap": Bootstrapped, "stability": Halved, "split": Split, "tests": Tested}


def pack_trust(trust: Trust, packer: Packer) -> dict[str, Any]:
    """Return what was resampled as JSON, its arrays put aside."""
    return {
        name: _pack(found, packer) for name in PARTS if (found := getattr(trust, name)) is not None
    }


def _pack(found: Any, packer: Packer) -> dict[str, Any]:
    """Return each field; a variable without variation has no p-value, and is marked by a statistic of 2."""
    values = {one.name: getattr(found, one.name) for one in fields(found)}
    if isinstance(found, Tested):
        still = np.isnan(found.p_value)
        values["statistic"] = np.where(still, 2.0, found.statistic)
        values |= {name: np.where(still, 1.0, values[name]) for name in ("p_value", "q_value")}
    return {
        name: packer.array(value) if isinstance(value, np.ndarray) else packer.value(value, name)
        for name, value in values.items()
    }


def unpack_trust(packed: Any, reader: Unpacker, V: np.ndarray, record: Record) -> Trust:
    """Return what a file holds of resampling.

    Parameters
    ----------
    packed : value of JSON
    reader : Unpacker
    V : ndarray of shape (p, k)
    record : Record

    Raises
    ------
    FileError
        Where a part does not agree with the loadings, or with itself.
    """
    require(isinstance(packed, dict), "what it says of draws is not a set of parts")
    made = {}
    for name, kind in PARTS.items():
        if name not in packed:
            continue
        held = packed[name]
        if kind is Split and "asked" not in held:  # files of before
            held = {**held, "asked": held["draws"]}
        if kind is Halved and "considered" not in held:
            held = {**held, "considered": None}
        values = {one.name: _value(held[one.name], reader) for one in fields(kind)}
        for what, right in CHECKS[name](values, V, record):
            require(right, f"its {name}: {what}")
        made[name] = kind(**values)
    return Trust(**made)


def _value(packed: Any, reader: Unpacker) -> Any:
    if isinstance(packed, dict) and set(packed) == {"array"}:
        values = reader.array(packed)
        require(values.dtype.kind in "fib", "an array of draws holds no numbers")
        require(values.dtype.kind != "f" or np.isfinite(values).all(), "an array of draws is not finite")
        return values
    value = reader.value(packed)
    return tuple(value) if isinstance(value, list) else value


Checks = Iterator[tuple[str, bool]]


def _bootstrap(held: dict[str, Any], V: np.ndarray, record: Record) -> Checks:
    yield from _places(held["places"], V)
    values, k = held["values"], record.k
    yield "its draws are not a table", _table(values, "f", 2) and len(values) >= 1
    B, m = values.shape
    yield "its draws are not those of its loadings", m == len(held["places"])
    for name in ("variances", "whole", "similarity"):
        yield f"its {name} are not {B} x {k} numbers", _table(held[name], "f", 2, (B, k))
        yield f"some of its {name} are negative", bool((held[name] >= 0).all())
    yield "its similarities are above one", bool((held["similarity"] <= 1 + CLOSE).all())
    lengths = np.zeros((B, k))
    np.add.at(lengths.T, held["places"] // len(V), (values**2).T)
    yield "its loadings are not of unit length", bool((np.abs(lengths - 1) <= CLOSE).all())
    met = (values != 0).any(axis=0) | (V.T.ravel()[held["places"]] != 0)
    yield "it has loadings that no draw selected", bool(met.all())
    yield "it does not say how variables were selected", type(held["select"]) is bool
    fixed = held["select"] or m == np.count_nonzero(V)
    yield "it selected variables where they were given", fixed
    yield "its kind is none", held["kind"] in ("normal", "percentile")
    yield from _counts(held, B, record)


def _stability(held: dict[str, Any], V: np.ndarray, record: Record) -> Checks:
    yield from _places(held["places"], V)
    chosen, (p, k) = held["chosen"], V.shape
    yield "its selections are not a table", _table(chosen, "b", 2) and len(chosen) >= 2
    H, m = chosen.shape
    yield "its selections are not those of its loadings", m == len(held["places"]) and H % 2 == 0
    met = chosen.any(axis=0) | (V.T.ravel()[held["places"]] != 0)
    yield "it has loadings that no half selected", bool(met.all())
    yield f"its similarities are not {H} x {k} numbers", _table(held["similarity"], "f", 2, (H, k))
    yield "its similarities are no correlations", _within(held["similarity"], 0.0, 1.0 + CLOSE)
    labels, rows = held["clusters"], held["associates"]
    yield f"its clusters are not {p} numbers", _table(labels, "i", 1, (p,))
    yield "its clusters are none", _within(labels, 0, p - 1) and bool((labels <= np.arange(p)).all())
    yield "its clusters do not begin with themselves", bool((labels[labels] == labels).all())
    yield "its associates are none", _table(rows, "f", 2) and rows.shape[1] == 4
    whole = rows[:, :3].astype(int)
    yield "its associates are no positions", bool((whole == rows[:, :3]).all()) and _within(
        whole, 0, max(p, k) - 1
    )
    inside = _within(whole[:, 0], 0, k - 1) and _within(whole[:, 1:], 0, p - 1)
    yield "its associates are not among its variables", inside
    known = np.isin(whole[:, 1:] + p * whole[:, :1], held["places"])
    yield "its associates are not among its loadings", bool(known.all())
    yield "its associates have no correlation", _within(rows[:, 3], -1.0, 1.0)
    yield "its threshold is none", _real(held["threshold"]) and 0.5 < held["threshold"] <= 1
    few = held["considered"]
    among = few is None or (type(few) is int and len(np.unique(held["places"] % p)) <= few <= p)
    yield "it does not say how many variables it considered", among
    yield "its groups are none", _real(held["groups"]) and 0 < held["groups"] <= 1
    yield from _counts(held, H // 2, record)


def _split(held: dict[str, Any], V: np.ndarray, record: Record) -> Checks:
    p, k = V.shape
    yield from _places(held["places"], np.zeros_like(V))
    m = len(held["places"])
    for name, size in (("estimate", m), ("std_error", m), ("variances", k), ("variance_errors", k)):
        yield f"its {name} are not {size} numbers", _table(held[name], "f", 1, (size,))
    lengths = np.bincount(held["places"] // p, held["estimate"] ** 2, k)
    yield "its loadings are not of unit length", bool((np.abs(lengths - 1) <= CLOSE).all())
    yield "its errors are negative", _within(held["std_error"], 0.0, 2.0)
    yield "its variances are none", bool((held["variances"] > 0).all())
    yield "the errors of its variances are negative", bool((held["variance_errors"] >= 0).all())
    yield f"its similarities are not {k} numbers", _table(held["similarity"], "f", 1, (k,))
    yield "its similarities are no correlations", _within(held["similarity"], 0.0, 1.0 + CLOSE)
    rows = held["rows"]
    pair = isinstance(rows, tuple) and len(rows) == 2 and all(_whole(one, 2) for one in rows)
    yield "its halves are not numbers of rows", pair
    yield "its halves are not the rows", record.weighted or sum(rows) == record.n
    yield "its draws are no number", _whole(held["draws"], 2)
    yield from _counts(held, held["draws"], record)


def _tests(held: dict[str, Any], V: np.ndarray, record: Record) -> Checks:
    for name in ("statistic", "p_value", "q_value"):
        yield f"its {name} is not of the loadings", _table(held[name], "f", 2, V.shape)
    yield "its permutations are no number", _whole(held["draws"], 1) and _whole(held["asked"], held["draws"])
    yield "its rate is none", held["fdr"] in FDR
    yield "it tests a covariance matrix", record.from_rows
    still = (held["statistic"] == 2.0).any(axis=1)
    yield "its statistics are no correlations", _within(held["statistic"][~still], -1 - CLOSE, 1 + CLOSE)
    counts = held["p_value"] * (held["draws"] + 1)
    yield "its p-values are none", _within(held["p_value"], 0.0, 1.0) and bool((counts > 0.5).all())
    yield "its p-values are no shares of its permutations", bool(
        (np.abs(counts - np.round(counts)) <= CLOSE).all()
    )
    for name in ("statistic", "p_value", "q_value"):
        held[name] = np.where(still[:, None], 0.0 if name == "statistic" else np.nan, held[name])
    yield "its q-values are not those of its p-values", _adjusted(held, ~still)


def _adjusted(held: dict[str, Any], tested: np.ndarray) -> bool:
    from statsmodels.stats.multitest import multipletests  # only where tests were kept

    if not tested.any():
        return True
    pairs = zip(held["p_value"][tested].T, held["q_value"][tested].T, strict=True)
    return all(np.allclose(multipletests(p, method=held["fdr"])[1], q, atol=CLOSE) for p, q in pairs)


#: Name of a part to the function that yields what would be wrong with it, and whether it is right.
CHECKS = {"bootstrap": _bootstrap, "stability": _stability, "split": _split, "tests": _tests}


def _places(places: Any, V: np.ndarray) -> Checks:
    """Yield whether these are places of loadings, ascending, the nonzeros of `V` among them."""
    yield "its loadings have no places", _table(places, "i", 1) and len(places) >= 1
    yield "the places of its loadings are none", _within(places, 0, V.size - 1)
    yield "the places of its loadings do not ascend", bool((np.diff(places) > 0).all())
    yield "it lacks loadings of the fit", bool(np.isin(np.flatnonzero(V.T), places).all())


def _counts(held: dict[str, Any], done: int, record: Record) -> Checks:
    yield "it has more draws than were asked for", _whole(held["asked"], done)
    yield "it does not say how often samples were drawn anew", _whole(held["again"], 0)
    yield "it does not say what was drawn", held["normal"] is not record.from_rows


def _table(value: Any, kind: str, dimensions: int, shape: tuple[int, ...] | None = None) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.dtype.kind == kind
        and value.ndim == dimensions
        and (shape is None or value.shape == shape)
    )


def _within(values: np.ndarray, low: float, high: float) -> bool:
    return bool(((values >= low) & (values <= high)).all())


def _whole(value: Any, least: int) -> bool:
    return type(value) is int and least <= value <= 2**53


def _real(value: Any) -> bool:
    return type(value) in (int, float)
