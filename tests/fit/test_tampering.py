"""Damaged and forged files of fits: the saved fit, an error of the package, or a fit that can be used."""

from __future__ import annotations

import contextlib
import io
import json
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import DataWarning, SpcaError

FORMULA = "~ center(a) + scale(b) + poly(a, 2) + bs(b, df=4) + C(kind) + kind + log(a) + a:b + `my x` + `7`"
#: Replacements for a value of the manifest; DEEP becomes lists in lists, deeper than json can write.
DEEP = "@deep@"
REPLACEMENTS: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2, 10**12, -(10**30), 2**63, 1e308, 1e-300, 0.5, -0.0, DEEP),
    *("", "x", "object", "UTC", "Europe/Berlin", "../../etc/passwd", "999999999999D", "\ud800", "x" * 5000),
    *([], {}, [[]], [1, 2, 3], [[1, 2]], {"a": 1}, {"levels": [], "name": None}),
    *({"array": "loadings", "name": None}, {"array": "nowhere", "name": None}),
    *({"range": [0, 10**12, 1], "name": None}, {"range": [0, 5, 0], "name": 1}),
)


@dataclass(frozen=True, eq=False)
class Saved:
    """A file of a fit: its bytes, the fit that `load` returns, and rows for it."""

    whole: bytes
    fit: sp.SpcaResult
    rows: Any


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> list[Saved]:
    """Return fits of rows, a covariance matrix, a formula, odd labels, arrays, and one with resampling."""
    rng = np.random.default_rng(3)
    pitprops = sp.datasets.pitprops_sample().rename("prop{}".format)
    R = sp.datasets.load_pitprops()
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
    how: dict[str, Any] = {"formula": FORMULA, "categorical": "dummy", "scale": True}
    fits: list[tuple[sp.SpcaResult, Any]] = [
        (sp.spca(pitprops, 6, [7, 4, 4, 1, 1, 1], method="bcd-l0"), pitprops),
        (sp.spca_cov(R, 3, 5, n_obs=180, mean=np.arange(13.0), method="bcd-l0"), pitprops),
        (sp.spca(mixed, 2, 4, method="bcd-l0", **how), mixed),
        (sp.spca(odd, 2, 3, n_init=3, method="bcd-l0"), odd),
        (sp.spca(odd.to_numpy(), 2, 3, method="rsvd-l1", center=False), odd.to_numpy()),
        (sp.spca(pitprops, 2, 4), pitprops),
    ]
    resampled = fits[-1][0]
    resampled.bootstrap(5), resampled.stability(3), resampled.split_inference(4), resampled.test_loadings(9)
    path, found = tmp_path_factory.mktemp("saved") / "fit.spca", []
    for fit, rows in fits:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # labels become text
            fit.save(path)
        found.append(Saved(path.read_bytes(), sp.load(path), rows))
    return found


def loaded(path: Path, content: bytes) -> sp.SpcaResult | None:
    """Write and load a file; return None if it is refused, and raise all other errors and warnings."""
    path.write_bytes(content)
    try:
        return sp.load(path)
    except SpcaError:
        return None


def test_a_changed_bit_is_refused_or_changes_nothing(saved, tmp_path):
    rng, refused = np.random.default_rng(20), 0
    for number in range(150):
        one = saved[number % len(saved)]
        content = bytearray(one.whole)
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        fit = loaded(tmp_path / "fit", bytes(content))
        if fit is None:
            refused += 1
            continue
        assert str(fit) == str(one.fit)
        pd.testing.assert_frame_equal(fit.loadings, one.fit.loadings, check_exact=True)
        pd.testing.assert_frame_equal(fit.variance, one.fit.variance, check_exact=True)
        pd.testing.assert_frame_equal(fit.tidy(), one.fit.tidy(), check_exact=True)
    assert 50 < refused < 150


def test_files_that_are_cut_off_are_refused(saved, tmp_path):
    rng = np.random.default_rng(21)
    for one in saved:
        for end in (0, 1, 2, 21, 22, len(one.whole) - 1, *rng.integers(0, len(one.whole), 30)):
            assert loaded(tmp_path / "fit", one.whole[:end]) is None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, about forged numbers
@pytest.mark.filterwarnings("ignore::spcastat.errors.SpcaWarning")
def test_forged_contents_are_refused_or_give_a_fit_that_can_be_used(saved, tmp_path):
    rng, refused = np.random.default_rng(22), 0
    for number in range(150):
        one = saved[number % len(saved)]
        fit = loaded(tmp_path / "fit", forged(one.whole, rng))
        if fit is None:
            refused += 1
            continue
        assert fit.loadings.shape == (fit._state.record.p, fit._state.record.k)
        assert fit.loadings.index.is_unique
        assert np.isfinite(fit.loadings.to_numpy()).all()
        for use in uses(fit, one.rows, tmp_path / "again"):
            with contextlib.suppress(SpcaError):  # of what the file lacks
                use()
    assert 20 < refused < 150


def uses(fit: sp.SpcaResult, rows: Any, path: Path) -> Iterator[Any]:
    """Yield what users do with a fit."""
    yield from (fit.__str__, fit.tidy, fit.glance, fit.limits, fit.equations)
    yield from (getattr(fit.summary(), f"as_{kind}") for kind in ("html", "latex", "markdown"))
    for name in ("variance", "details", "optima", "correlations", "communalities", "scores", "eigenvalues"):
        yield lambda name=name: repr(getattr(fit, name))
    for name in ("transform", "diagnostics", "augment"):
        yield lambda name=name: getattr(fit, name)(rows)
    yield lambda: fit.inverse_transform(np.eye(fit.loadings.shape[1]))
    yield lambda: [(str(one), one.as_html(), one.as_latex()) for one in fit.resampled.values()]
    yield lambda: fit.save(path)
    yield lambda: str(sp.load(path))


def forged(whole: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with valid checksums in which one to three values of the manifest or an array differ."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.15:
            change_array(members, rng)
        else:
            change_value(manifest, rng)
    text = json.dumps(manifest).encode().replace(f'"{DEEP}"'.encode(), b"[" * 20_000 + b"]" * 20_000)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in {**members, "manifest.json": text}.items():
            archive.writestr(name, part)
    return content.getvalue()


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container of the manifest with each of its keys."""
    keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield node, key
        yield from places(node[key])


def change_value(manifest: Any, rng: np.random.Generator) -> None:
    """Replace, scale, retype, delete or copy a value at a random place."""
    every = list(places(manifest["content"]))
    if not every:
        return
    (node, key), (other, there) = (every[int(i)] for i in rng.integers(len(every), size=2))
    value, way = node[key], rng.choice(["replace", "replace", "scale", "retype", "delete", "copy"])
    if way == "scale" and isinstance(value, int | float):
        node[key] = value * [-1, 0, 2, 1e6, 1.001, 1e300][int(rng.integers(6))]
    elif way == "retype":
        node[key] = [str(value), [value], {"value": value}][int(rng.integers(3))]
    elif way == "delete":
        del node[key]
    elif way == "copy":
        node[key] = json.loads(json.dumps(other[there]))
    else:
        node[key] = json.loads(json.dumps(REPLACEMENTS[int(rng.integers(len(REPLACEMENTS)))]))


def change_array(members: dict[str, bytes], rng: np.random.Generator) -> None:
    """Change a number, the type or the shape of an array, or remove it."""
    names = [name for name in members if name.endswith(".npy")]
    name = names[int(rng.integers(len(names)))]
    values = np.load(io.BytesIO(members[name])).copy()
    way = rng.choice(["number", "type", "shape", "remove"])
    if way == "remove":
        del members[name]
        return
    if way == "number" and values.size:
        number = [np.nan, np.inf, -1.0, 0.0, 1e300][int(rng.integers(5))]
        with np.errstate(all="ignore"):
            values.reshape(-1)[int(rng.integers(values.size))] = np.asarray(number).astype(values.dtype)
    elif way == "type":
        with np.errstate(all="ignore"):
            values = values.astype(str(rng.choice(["f4", ">f8", "i8", "f2", "c16", "U3"])))
    elif way == "shape":
        values = values[..., :-1] if values.ndim and values.shape[-1] > 1 else values[None]
    content = io.BytesIO()
    np.save(content, values)
    members[name] = content.getvalue()


def test_a_file_that_lacks_a_measure_is_refused_when_it_is_asked_for(saved, tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved[0].whole)) as old, zipfile.ZipFile(content, "w") as new:
        for name in old.namelist():
            if name != "measures.rre.npy":
                new.writestr(name, old.read(name))
    fit = loaded(tmp_path / "fit", content.getvalue())
    with pytest.raises(SpcaError, match="measure 'rre' is not in the file"):
        fit.measure("rre")
