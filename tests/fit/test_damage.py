"""Damaged and forged files of fits, many writers of one file, and the labels that files can hold."""

from __future__ import annotations

import contextlib
import io
import json
import os
import stat
import subprocess
import sys
import threading
import time
import warnings
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import DataWarning, FileError, SpcaError
from spcastat.fit.archive import write_file
from spcastat.fit.saved_fits import pack_index, unpack_index

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
    last = fits[-1][0]
    results = last.bootstrap(5), last.stability(3), last.split_inference(4), last.test_loadings(9)
    fits[-1] = last.with_inference(*results), pitprops
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


def members_of(whole: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, part in members.items():
            archive.writestr(name, part)
    return content.getvalue()


def array_bytes(values: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, values, allow_pickle=True)
    return content.getvalue()


def header_of(shape: tuple[int, ...]) -> bytes:
    """Return the header of an array of a shape, and fewer numbers."""
    content = io.BytesIO()
    head = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(content, head)
    return content.getvalue() + bytes(64)


def damaged(whole: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with other bytes, less of them, exchanged or replaced members, at random."""
    way = rng.choice(["bytes", "cut", "exchange", "type", "huge", "number", "object", "empty", "further"])
    if way == "bytes":
        content = bytearray(whole)
        for _ in range(int(rng.integers(1, 9))):
            content[rng.integers(len(content))] = int(rng.integers(256))
        return bytes(content)
    if way == "cut":
        first, last = sorted(rng.integers(0, len(whole), 2))
        return whole[:first] + (b"" if rng.random() < 0.5 else whole[last:])
    members = members_of(whole)
    name, other = (str(one) for one in rng.choice([one for one in members if one.endswith(".npy")], 2))
    values = np.load(io.BytesIO(members[name])).copy()
    if way == "exchange":
        members[name], members[other] = members[other], members[name]
    elif way == "type":
        kinds = ["f4", "i8", "f2", "c16", "U3", "b1", "M8[s]", ">f8"]
        members[name] = array_bytes(values.astype(rng.choice(kinds)))
    elif way == "huge":
        members[name] = header_of(tuple(int(size) for size in rng.choice([3, 10**6, 10**12, 2**40], 2)))
    elif way == "number" and values.size:
        number = rng.choice([np.nan, np.inf, -1.0, 1e300]) if values.dtype.kind == "f" else 1
        values.reshape(-1)[rng.integers(values.size)] = number
        members[name] = array_bytes(values)
    elif way == "object":
        members[name] = array_bytes(np.array([{"a": 1}], dtype=object))
    elif way == "empty":
        members[name] = b""
    elif way == "further":
        members[f"{name}.more.npy"] = members[name]
    return zipped(members)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, about numbers in another type
@pytest.mark.parametrize("count", [90, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_damaged_file_is_refused_or_gives_the_same_fit(saved, tmp_path, count):
    rng, refused = np.random.default_rng(23), 0
    for number in range(count):
        one = saved[number % len(saved)]
        fit = loaded(tmp_path / "fit", damaged(one.whole, rng))
        if fit is None:
            refused += 1
            continue
        for name in ("loadings", "variance", "correlations", "score_correlations"):
            pd.testing.assert_frame_equal(getattr(fit, name), getattr(one.fit, name), check_exact=True)
        assert str(fit) == str(one.fit)
    assert refused > 0.8 * count


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
    yield lambda: [(str(one), one.as_html(), one.as_latex()) for one in fit.inference.values()]
    yield lambda: fit.save(path)
    yield lambda: str(sp.load(path))


def forged(whole: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with valid checksums in which one to three values of the manifest or an array differ."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    del manifest["arrays"]  # the digests, which older files lack
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.15:
            change_array(members, rng)
        else:
            change_value(manifest, rng)
    text = json.dumps(manifest).encode().replace(f'"{DEEP}"'.encode(), b"[" * 20_000 + b"]" * 20_000)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
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
            values.flat[int(rng.integers(values.size))] = np.asarray(number).astype(values.dtype)
    elif way == "type":
        with np.errstate(all="ignore"):
            values = values.astype(str(rng.choice(["f4", ">f8", "i8", "f2", "c16", "U3"])))
    elif way == "shape":
        values = values[..., :-1] if values.ndim and values.shape[-1] > 1 else values[None]
    content = io.BytesIO()
    np.save(content, values)
    members[name] = content.getvalue()


def with_array(whole: bytes, name: str, change: Any) -> bytes:
    """Return a file without digests in which an array differs."""
    members = members_of(whole)
    manifest = json.loads(members["manifest.json"])
    del manifest["arrays"]
    values = np.load(io.BytesIO(members[f"{name}.npy"]))
    members |= {"manifest.json": json.dumps(manifest).encode(), f"{name}.npy": array_bytes(change(values))}
    return zipped(members)


def with_value(whole: bytes, place: str, value: Any) -> bytes:
    """Return a file in which one value of the manifest differs; `place` is its keys, with points."""
    members = members_of(whole)
    manifest = json.loads(members["manifest.json"])
    *keys, last = place.split(".")
    node = manifest["content"]
    for key in keys:
        node = node[int(key) if key.isdigit() else key]
    node[int(last) if last.isdigit() else last] = value
    members["manifest.json"] = json.dumps(manifest).encode()
    return zipped(members)


def set_first(number: float) -> Any:
    def change(values: np.ndarray) -> np.ndarray:
        values.flat[0] = number
        return values

    return change


#: Place of a value -> values that it cannot have, of the last of the fits in `saved`, which has resampling.
IMPOSSIBLE: dict[str, tuple[Any, ...]] = {
    "record.method": ("zz", ""),
    "record.options.objective": ("zz", 3),
    "record.options.card": ([4], [4, 4, 4], [4, -1], [4, 10**9]),
    "record.n_init": (0, -2),
    "record.reached": (-1,),
    "record.effective_n": (-25.0, 0.0),
    "record.passes": (-1,),
    "record.k_found": (-1,),
    "record.imputations": (-1,),
    "record.serial": (-1.5, 2.0),
    "record.optima.0.1": (0, -20),
    "record.evidence.hits": (-1, 10**9),
    "record.evidence.chains": (-3, 0),
    "record.evidence.agreeing": (-3, 10**9),
    "record.evidence.variables": (-1, 10**9),
    "moments.total": (1.0, 1e12),
    "bootstrap.asked": (0, -5),
    "bootstrap.again": (-1,),
    "stability.again": (-1,),
    "split.rows": ([-1, 90], [90, -1]),
    "split.repeats": (0, -1),
    "split.draws": (-1,),
    "tests.draws": (-9, 0),
    "tests.asked": (-9,),
}
#: Name of an array -> what makes it impossible.
IMPOSSIBLE_ARRAYS: dict[str, tuple[Any, ...]] = {
    "loadings": (set_first(np.nan), lambda V: 0.0 * V, lambda V: V[:-1], lambda V: V * [0, 1]),
    "moments.variances": (set_first(-1.0), set_first(np.nan), lambda v: 2.0 * v, lambda v: v[:-1]),
    "moments.pca": (set_first(-1.0), set_first(np.inf), lambda v: np.append(v, v)),
    "bootstrap.places": (set_first(-1), set_first(10**9), np.zeros_like, lambda v: v[::-1], lambda v: v[:-1]),
    "bootstrap.similarity": (set_first(1.5), set_first(-0.5)),
    "bootstrap.variances": (set_first(-1.0), set_first(np.nan), lambda v: v[:-1]),
    "stability.places": (set_first(-1), set_first(10**9), np.zeros_like, lambda v: v[::-1]),
    "stability.similarity": (set_first(1.5),),
    "split.places": (set_first(-1), set_first(10**9), lambda v: v[::-1]),
    "split.p_value": (set_first(1.5), set_first(-0.5), set_first(np.inf)),
    "split.variances": (set_first(-1.0),),
    "tests.p_value": (set_first(1.5), set_first(-0.5)),
    "tests.q_value": (set_first(2.0),),
    "tests.statistic": (set_first(-1.5), lambda v: v[:, :1]),
}


def test_numbers_out_of_range_and_lengths_that_disagree_are_refused(saved, tmp_path):
    whole = saved[-1].whole
    for place, values in IMPOSSIBLE.items():
        for value in values:
            assert loaded(tmp_path / "fit", with_value(whole, place, value)) is None, (place, value)
    for name, changes in IMPOSSIBLE_ARRAYS.items():
        for number, change in enumerate(changes):
            assert loaded(tmp_path / "fit", with_array(whole, name, change)) is None, (name, number)
    for name in IMPOSSIBLE_ARRAYS:  # the same without a change is accepted
        assert loaded(tmp_path / "fit", with_array(whole, name, lambda values: values)) is not None, name


def test_forged_files_of_principal_variables_are_refused(tmp_path):
    X = sp.datasets.pitprops_sample().iloc[:, :5]
    sp.principal_variables(X, m=2).save(tmp_path / "set")
    whole = (tmp_path / "set").read_bytes()
    impossible = {
        "record.options": ({},),
        **dict.fromkeys(("principal.share", "principal.pca_share"), (0.0, -1.0, 1.8, 1e300)),
        "principal.bound": (-0.5, 1.5),
        "principal.nodes": (-1,),
        "principal.folds": (-6,),
        "principal.draws": (-51,),
        "principal.criteria.RM": (-2.0, 1.9),
    }
    for place, values in impossible.items():
        for value in values:
            assert loaded(tmp_path / "fit", with_value(whole, place, value)) is None, (place, value)
    assert loaded(tmp_path / "fit", with_array(whole, "principal.sizes", np.ones_like)) is None
    assert loaded(tmp_path / "fit", with_array(whole, "principal.sizes", lambda values: values)) is not None


# --- Many writers of one file: the file is always whole, and nobody is in another's way -----------


def test_two_processes_save_to_one_path(fit, tmp_path):
    """While both write, and in the end, the file is whole: the fit of one of them."""
    fit.rename({"PC1": "one"}).save(tmp_path / "one", scores=False)
    code = "import spcastat as sp; fit = sp.load('one')\nfor _ in range(8): fit.save('both')"
    writer = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    one, own = sp.load(tmp_path / "one"), fit.rename({"PC1": "two"})
    seen = set()
    while writer.poll() is None:  # until the other process has ended: both write at the same time
        own.save(tmp_path / "both", scores=False)
        seen.add(sp.load(tmp_path / "both").loadings.columns[0])
        time.sleep(0.02)
    assert writer.returncode == 0
    assert seen <= {"one", "two"}
    assert str(sp.load(tmp_path / "both")) in {str(one), str(own)}
    assert sorted(os.listdir(tmp_path)) == ["both", "one"]


@pytest.mark.parametrize("folder", ["missing", "file", "/proc"])
def test_folders_in_which_nothing_can_be_written(covariance_fit, tmp_path, folder):
    """/proc refuses new files to root, too; nothing is left behind, and the message says which file."""
    if folder == "/proc" and not Path("/proc/self/status").exists():
        pytest.skip("no /proc here")
    (tmp_path / "file").write_bytes(b"")
    target = tmp_path / folder / "fit"  # /proc, being absolute, stands alone
    for save, path in ((covariance_fit.save, target), (covariance_fit.report, target.with_suffix(".html"))):
        with pytest.raises(FileError, match=r"fit(\.html)? cannot be written"):
            save(path)
    assert os.listdir(tmp_path) == ["file"]


def test_a_writer_that_fails_does_not_touch_the_parts_of_others(tmp_path):
    path = tmp_path / "out"
    inside, go_on = threading.Event(), threading.Event()

    def slow(file):
        file.write(b"slow")
        inside.set()
        assert go_on.wait(10)

    def broken(file):
        raise OSError(28, "No space left on device")

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(write_file, path, slow)
        assert inside.wait(10)
        with pytest.raises(FileError, match="No space left"):
            write_file(path, broken)
        write_file(path, lambda file: file.write(b"quick") and None)
        assert path.read_bytes() == b"quick"
        go_on.set()
        first.result()
    assert path.read_bytes() == b"slow"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("name", ["f" * 250, "ß" * 120, "fit"])
def test_long_names(name, tmp_path):
    write_file(tmp_path / name, lambda file: file.write(b"x") and None)
    assert os.listdir(tmp_path) == [name]


def test_links_permissions_and_the_mask_stay(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_file(link, lambda file: file.write(b"new") and None)
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    (tmp_path / "plain").write_bytes(b"")
    write_file(tmp_path / "fresh", lambda file: None)
    assert (tmp_path / "fresh").stat().st_mode == (tmp_path / "plain").stat().st_mode


# --- Labels in files: which come back as they were, and which become text -------------------------

SAME = [
    pd.RangeIndex(2, 9, 3, name="rows"),
    pd.Index([1, 2], dtype="int8"),
    pd.Index([1.5, np.nan, np.inf]),
    pd.Index([True, False]),
    pd.Index(["a", "ß", "\ud800"[:0], "name with \n"], name=("a tuple", 1)),
    pd.Index([("a", 1), "b", 3, None, True, 2.5], dtype=object, tupleize_cols=False),
    pd.Index([1, 2.5], dtype=object),
    pd.Index([], dtype=object),
    pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["x", None]),
    pd.MultiIndex.from_product([pd.date_range("2020", periods=2), ["u", "v"]]),
    pd.DatetimeIndex(["2020-01-05", "2020-01-01", pd.NaT]),
    pd.TimedeltaIndex(["1h", "2h"]),
]


def back(index: pd.Index) -> pd.Index:
    arrays: dict[str, np.ndarray] = {}
    text = json.dumps(pack_index(index, "rows", arrays, "labels of rows"))
    return unpack_index(json.loads(text), arrays, len(index))


@pytest.mark.parametrize("index", SAME, ids=lambda index: f"{type(index).__name__}-{index.dtype}")
def test_indexes_come_back(index):
    found = back(index)
    assert list(found.names) == list(index.names)
    pd.testing.assert_index_equal(found, index, exact=True)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([1, 2, None], dtype="Int64"),
        pd.Index(["a", None], dtype="string"),
        pd.CategoricalIndex(["a", "b", "a"], ordered=True, categories=["b", "a", "c"], name="c"),
    ],
    ids=lambda index: str(index.dtype),
)
def test_labels_of_other_dtypes_come_back(index):
    found = back(index)
    assert found.isna().tolist() == index.isna().tolist()
    assert found.dropna().tolist() == index.dropna().tolist()
    assert found.names == index.names
