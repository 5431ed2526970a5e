"""Generation of tampered files of fits; benchmarks.verdicts classifies the results.

Used by ``python -m benchmarks.tamper`` and by the tests.
"""

from __future__ import annotations

import copy
import io
import json
import tempfile
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import spcastat as sp
from spcastat.errors import DataWarning

#: Stands for lists in lists, deeper than what writes a manifest can go.
DEEP = "@deep@"

FORMULA = "~ center(a) + scale(b) + poly(a, 2) + bs(b, df=4) + C(kind) + kind + log(a) + a:b + `my x` + `7`"


@dataclass(frozen=True, eq=False)
class Saved:
    """A saved fit: its bytes, the fit, and rows for it."""

    name: str
    whole: bytes
    fit: Any
    rows: Any


def saved_fits() -> list[Saved]:
    """Return fits of rows, of a covariance matrix, of a formula, of rows with labels of many types, and one
    that was resampled in every way."""
    rng = np.random.default_rng(3)
    pitprops = sp.datasets.pitprops_sample()
    named = pitprops.set_axis([f"prop{i + 1}" for i in range(len(pitprops))])
    mixed = pd.DataFrame(
        {
            "a": np.arange(1.0, 25.0),
            "b": rng.normal(10, 2, 24) ** 2,
            "kind": [*"xyzz"] * 6,
            "my x": rng.normal(size=24),
            7: rng.normal(size=24),
        },
        index=pd.date_range("2020-01-01", periods=24, tz="Europe/Berlin", name="day"),
    )
    labels = pd.MultiIndex.from_arrays(
        [
            pd.period_range("2020-01", periods=12, freq="M"),
            pd.CategoricalIndex([*"abca"] * 3, categories=[*"cabd"], ordered=True),
            pd.interval_range(0.0, 12.0),
            pd.timedelta_range("1h", periods=12),
        ],
        names=["month", None, ("a", 1), "wait"],
    )
    columns = pd.Index([("a", 1), 7, "β", None, pd.Timestamp("2020", tz="UTC")], tupleize_cols=False)
    odd = pd.DataFrame(rng.normal(size=(12, 5)), index=labels, columns=columns)
    mean = pd.Series(np.arange(13.0), index=pitprops.columns)
    made = {
        "rows": (sp.spca(named, 6, [7, 4, 4, 1, 1, 1], method="bcd-l0"), named),
        "covariance": (
            sp.spca_cov(sp.datasets.load_pitprops(), 3, 5, n_obs=180, mean=mean, method="bcd-l0"),
            pitprops,
        ),
        "formula": (
            sp.spca(mixed, 2, 4, formula=FORMULA, categorical="dummy", scale=True, method="bcd-l0"),
            mixed,
        ),
        "labels": (sp.spca(odd, 2, 3, n_init=3, method="bcd-l0"), odd),
        "plain": (sp.spca(odd.to_numpy(), 2, 3, method="rsvd-l1", center=False), odd.to_numpy()),
    }
    sure = sp.spca(named, 2, 4)
    sure.bootstrap(5), sure.stability(3), sure.split_inference(4), sure.test_loadings(9)
    made["resampled"] = (sure, named)
    fits = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (fit, rows) in made.items():
            path = Path(folder, f"{name}.spca")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # labels become text
                fit.save(path)
            fits.append(Saved(name, path.read_bytes(), sp.load(path), rows))
    return fits


# --- tampering ------------------------------------------------------------------------------------


def flipped(saved: Saved, rng: np.random.Generator) -> bytes:
    """Return the file with one bit changed."""
    broken = bytearray(saved.whole)
    broken[rng.integers(len(broken))] ^= 1 << int(rng.integers(8))
    return bytes(broken)


def tampered(saved: Saved, rng: np.random.Generator) -> bytes:
    """Return the file with a manifest or arrays that were changed in one to three places."""
    members = members_of(saved.whole)
    manifest = json.loads(members["manifest.json"])
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        if rng.random() < 0.15:
            _change_array(members, rng)
        else:
            _change(manifest, rng)
    return sealed(manifest, members)


def members_of(whole: bytes) -> dict[str, bytes]:
    """Return the members of a file by name."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sealed(manifest: Any, members: dict[str, bytes]) -> bytes:
    """Return a file with this manifest."""
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    text = text.replace(f'"{DEEP}"'.encode(), b"[" * 20_000 + b"]" * 20_000)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in {**members, "manifest.json": text}.items():
            archive.writestr(name, part)
    return held.getvalue()


def _places(manifest: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return a container in the manifest and a place in it, found by walking down at random."""
    content = manifest.get("content")
    node = content if rng.random() < 0.95 and isinstance(content, dict) and content else manifest
    if rng.random() < 0.6:  # where values are, rather than the names of arrays
        for name in [["record"], ["spec"], ["spec", "columns"], ["spec", "model"], ["rows"]][
            int(rng.integers(5))
        ]:
            below = node.get(name) if isinstance(node, dict) else None
            node = below if isinstance(below, dict) and below else node
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return {"nothing": 0}, "nothing"
        key = keys[int(rng.integers(len(keys)))]
        below = node[key]
        if not isinstance(below, (dict, list)) or not below or rng.random() < 0.15:
            return node, key
        node = below


def _pool(rng: np.random.Generator) -> Any:
    deep: Any = 0
    for _ in range(int(rng.choice([10, 30, 60]))):
        deep = [deep] if rng.random() < 0.5 else {"a": deep}
    pool = [
        None,
        True,
        False,
        0,
        -1,
        1,
        2,
        10**12,
        10**30,
        -(10**30),
        2**63,
        1e308,
        -1e308,
        1e-300,
        0.5,
        -0.0,
        "",
        "x",
        "object",
        "ns",
        "UTC",
        "Europe/Berlin",
        "../../etc/passwd",
        "D",
        "999999999999D",
        "\ud800",
        "a\nb",
        "x" * 5000,
        [],
        {},
        [[]],
        [1, 2, 3],
        [[1, 2]],
        {"a": 1},
        {"array": "loadings", "name": None},
        {"array": "nowhere", "name": None},
        {"labels": ["a", None], "mixed": False, "name": None},
        {"levels": [], "name": None},
        {"range": [0, 10**12, 1], "name": None},
        {"range": [0, 5, 0], "name": 1},
        deep,
        DEEP,
    ]
    return copy.deepcopy(pool[int(rng.integers(len(pool)))])


def _change(manifest: Any, rng: np.random.Generator) -> None:
    """Change one place of the manifest."""
    node, key = _places(manifest, rng)
    value = node[key]
    way = rng.choice(["pool", "pool", "scale", "type", "delete", "add", "swap", "other"])
    if way == "pool":
        node[key] = _pool(rng)
    elif way == "scale" and isinstance(value, (int, float)):
        node[key] = value * [-1, 0, 2, 1e6, 1 + 1e-3, 1e300][int(rng.integers(6))]
    elif way == "type":
        node[key] = [str(value), [value], {"value": value}, float("nan") if value else 0][
            int(rng.integers(4))
        ]
    elif way == "delete":
        del node[key]
    elif way == "add" and isinstance(node, list):
        node.insert(key, copy.deepcopy(value))
    elif way == "add":
        node["something new"] = _pool(rng)
    elif way == "swap":
        other, place = _places(manifest, rng)
        held = copy.deepcopy(other[place])
        other[place] = copy.deepcopy(value)
        if isinstance(node, dict) or key < len(node):
            node[key] = held
    else:
        other, place = _places(manifest, rng)
        node[key] = copy.deepcopy(other[place])


def _change_array(members: dict[str, bytes], rng: np.random.Generator) -> None:
    """Change the numbers, the type or the shape of an array, or leave it out."""
    names = [name for name in members if name.endswith(".npy")]
    member = names[int(rng.integers(len(names)))]
    if rng.random() < 0.1:
        del members[member]
        return
    values = np.load(io.BytesIO(members[member])).copy()
    if not values.size:
        return
    flat = values.reshape(-1)
    where = int(rng.integers(flat.size))
    if values.dtype.kind == "f":
        way = [np.nan, np.inf, -1.0, 0.0, 1e300, flat[where] * 2 + 1, -flat[where]][int(rng.integers(7))]
        flat[where] = way
        if rng.random() < 0.3:
            flat[:] = rng.permutation(flat)
    elif values.dtype.kind in "iu":
        flat[where] = [np.iinfo(values.dtype).max, np.iinfo(values.dtype).min, 0][int(rng.integers(3))]
    if rng.random() < 0.2:
        with np.errstate(all="ignore"):
            values = values.astype(str(rng.choice(["f4", ">f8", "i8", "f8", "f2", "M8[ns]", "c16", "U3"])))
    if rng.random() < 0.2:
        values = values[..., :-1] if values.ndim and values.shape[-1] > 1 else values[None]
    held = io.BytesIO()
    np.save(held, values)
    members[member] = held.getvalue()
