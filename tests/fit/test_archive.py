"""Files from anywhere: how much memory and time they may take, and what stands in them."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import FileError, OptionError
from spcastat.fit.archive import read_archive, write_archive
from spcastat.measures import Measure


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "fit.spca"


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def put(path: Path, members: list[tuple[str, bytes]], way: int = zipfile.ZIP_DEFLATED) -> None:
    """Write members, of which some may have one name."""
    with zipfile.ZipFile(path, "w", way) as file:
        for name, part in members:
            file.writestr(name, part)


def seal(path: Path, change, more: dict[str, bytes] | None = None) -> None:
    """Change the manifest and make its digest right; `change` may give the text itself."""
    members = parts_of(path)
    manifest = json.loads(members["manifest.json"])
    text = change(manifest)
    text = text if isinstance(text, bytes) else json.dumps(manifest).encode()
    members |= {"manifest.json": text, "digest": hashlib.sha256(text).hexdigest().encode()} | (more or {})
    put(path, list(members.items()))


def loaded_in_a_process(path: Path) -> tuple[str, float]:
    """Return what `load` says in a process of its own, and how many MB it took beyond its imports."""
    code = f"""
        import resource, spcastat as sp
        sp.load({str(GOOD)!r})
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            sp.load({str(path)!r})
            print("loaded")
        except sp.errors.FileError as error:
            print("refused", error)
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=True
    )
    said, more = done.stdout.strip().splitlines()
    return said, float(more)


GOOD = Path(__file__).resolve().parents[1] / "data" / "fits" / "rows-1.spca"


def array_bytes(values: np.ndarray) -> bytes:
    held = io.BytesIO()
    np.save(held, values)
    return held.getvalue()


@pytest.mark.slow  # a member that says it is small is tried always
@pytest.mark.parametrize("described", [True, False], ids=["with its shape", "with a small shape"])
def test_an_array_of_zeros_that_would_fill_the_memory(fit, path, described):
    # 100 MB of zeros deflate to 0.1 MB
    fit.save(path)
    bomb = array_bytes(np.zeros(12_500_000))
    about = {
        "dtype": "<f8",
        "shape": [12_500_000] if described else [6],
        "sha256": hashlib.sha256(bomb).hexdigest(),
    }
    seal(path, lambda manifest: manifest["arrays"].update(a0=about), {"arrays/a0.npy": bomb})
    assert path.stat().st_size < 200_000
    said, more = loaded_in_a_process(path)
    assert said.startswith("refused")
    assert "more than any fit" in said
    assert more < 50


def test_a_member_that_says_it_is_small(fit, path):
    # the sizes in both headers are forged: what is read stops at the size that is declared
    fit.save(path)
    bomb = array_bytes(np.zeros(10_000_000))
    about = {"dtype": "<f8", "shape": [10_000_000], "sha256": hashlib.sha256(bomb).hexdigest()}
    seal(path, lambda manifest: manifest["arrays"].update(a0=about), {"arrays/a0.npy": bomb})
    whole = path.read_bytes().replace(len(bomb).to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    path.write_bytes(whole)
    said, more = loaded_in_a_process(path)
    assert said.startswith("refused")
    assert more < 50


@pytest.mark.slow
def test_a_manifest_of_many_values(fit, path):
    fit.save(path)
    many = (
        b'{"format": "spcastat fit", "version": 2, "arrays": {}, "content": [' + b"[]," * 20_000_000 + b"0]}"
    )
    seal(path, lambda manifest: many)
    said, more = loaded_in_a_process(path)
    assert said.startswith("refused")
    assert "more than any fit" in said
    assert more < 150


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", 10**30),
        ("k", 10**6),
        ("p", 10**30),
        ("n", 10**18),
        ("k", -1),
        ("k", 6.0),
        ("k", True),
        ("n", "180"),
    ],
)
def test_sizes_of_the_record(fit, path, name, value):
    fit.save(path)

    def change(manifest):
        for pair in manifest["content"]["record"]["map"]:
            if pair[0] == name:
                pair[1] = value

    seal(path, change)
    with pytest.raises(FileError, match="cannot be used"):
        sp.load(path)


@pytest.mark.parametrize(
    "index",
    [
        {"kind": "range", "range": [0, 10**12, 1], "name": None},
        {"kind": "range", "range": [0, 10**30, 1], "name": None},
        {"kind": "range", "range": [0, 180, 0], "name": None},
        {"kind": "range", "range": [0, 180, 1], "name": []},
        {"kind": "nothing", "name": None},
        {"kind": "values", "dtype": "category", "values": ["a"] * 180, "name": None},
        {"kind": "values", "dtype": "datetime64[ns, Europe/Berlin]", "values": ["2020"] * 180, "name": None},
        {"kind": "values", "dtype": "object", "values": [[1]] * 180, "name": None},
        {"kind": "values", "dtype": "object", "values": [{"map": []}] * 180, "name": None},
        {
            "kind": "multi",
            "names": [None],
            "levels": [{"kind": "range", "range": [0, 10**11, 1], "name": None}],
            "codes": [{"array": "a0"}],
        },
    ],
)
def test_labels_that_would_fill_the_memory_or_are_none(fit, path, index):
    fit.save(path)
    seal(path, lambda manifest: manifest["content"]["scores"].update(index=index))
    with pytest.raises(FileError, match="cannot be used"):
        sp.load(path)


def test_depth(fit, path):
    def change(manifest, depth):
        manifest["content"]["record"] = "@"
        return json.dumps(manifest).encode().replace(b'"@"', b"[" * depth + b"]" * depth)

    for depth in (50, 200_000):
        fit.save(path)
        seal(path, lambda manifest, depth=depth: change(manifest, depth))
        with pytest.raises(FileError, match="nested too deep"):
            sp.load(path)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999", "1" * 5000])
def test_numbers_that_are_none(fit, path, word):
    fit.save(path)

    def change(manifest):
        manifest["content"]["moments"]["total"] = "@"
        return json.dumps(manifest).replace('"@"', word).encode()

    seal(path, change)
    with pytest.raises(FileError):
        sp.load(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_that_stand_twice_or_belong_to_nothing(fit, path):
    fit.save(path)
    members = list(parts_of(path).items())
    put(path, [*members, members[0]])
    with pytest.raises(FileError, match="stands in it twice"):
        sp.load(path)
    put(path, [*members, ("arrays/more.npy", b"")])
    with pytest.raises(FileError, match=r"disagree about 'arrays/more\.npy'"):
        sp.load(path)
    put(path, [*members, *((f"m{i}", b"") for i in range(10_000))])
    with pytest.raises(FileError, match="members"):
        sp.load(path)


def test_a_name_that_stands_twice_in_the_manifest(fit, path):
    fit.save(path)
    seal(
        path,
        lambda manifest: json.dumps(manifest).replace('"version": 2', '"version": 2, "version": 1').encode(),
    )
    with pytest.raises(FileError, match="a name stands twice"):
        sp.load(path)


@pytest.mark.parametrize(
    "values",
    [np.zeros(6, complex), np.array(["a"]), np.zeros(6, "M8[25s]"), np.zeros(6, "f8,f8")],
    ids=lambda values: values.dtype.str,
)
def test_types_of_arrays(fit, path, values):
    fit.save(path)
    whole = array_bytes(values)
    about = {"sha256": hashlib.sha256(whole).hexdigest()}
    seal(path, lambda manifest: manifest["arrays"]["a0"].update(about), {"arrays/a0.npy": whole})
    with pytest.raises(FileError, match="array a0 has another type"):
        sp.load(path)


def test_arrays_that_disagree_with_their_digest(fit, path):
    fit.save(path)
    seal(path, lambda manifest: manifest["arrays"]["a0"].update(sha256=7))
    with pytest.raises(FileError, match="array a0 does not agree"):
        sp.load(path)


def test_what_compresses_well_is_written_so_that_it_can_be_read(path):
    zeros, text = np.zeros(3_000_000), ["a"] * 600_000
    with open(path, "wb") as file:
        write_archive(file, "test", 1, "0", {"text": text}, {"zeros": zeros})
    found = read_archive(path, "test", 1)
    assert found.content["text"] == text
    np.testing.assert_array_equal(found.arrays["zeros"], zeros)


@pytest.mark.parametrize("given", [None, 3, b"x", "", "a\0b"])
def test_what_is_no_path(given):
    with pytest.raises(OptionError, match="path="):
        sp.load(given)


def test_pipes_and_devices_are_not_waited_for(tmp_path):
    import os

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (pipe, Path("/dev/zero")):
        with pytest.raises(FileError, match="a device or a pipe"):
            sp.load(place)


# --- versions -------------------------------------------------------------------------------------

ARCHIVED = GOOD.parent
#: What stood on the screen when the files were written: PEV of all components, nonzeros.
EXPECTED = {
    "rows": (0.8047254817805444, [7, 4, 4, 1, 1, 1]),
    "covariance": (0.6048835978907057, [5, 5, 5]),
    "formula": (0.2673588130696598, [4, 4]),
    "labels": (0.79794713555933, [3, 3]),
}


@pytest.mark.parametrize("layout", [1, 2])
@pytest.mark.parametrize("name", EXPECTED)
def test_archived_files_load_for_ever(name, layout, mixed, pitprops):
    fit = sp.load(ARCHIVED / f"{name}-{layout}.spca")
    pev, card = EXPECTED[name]
    assert fit.measure("pev") == pev
    assert fit.card.tolist() == card
    new = {"rows": pitprops, "covariance": pitprops, "formula": mixed}.get(name)
    if new is None:
        assert fit.loadings.index.tolist() == [("a", 1), 7, "β", None, pd.Timestamp("2020")]
        assert fit.scores.index.names == ["t", None]
        return
    found = fit.transform(new)
    if name == "covariance":  # (x - mean) V
        expected = (pitprops.to_numpy() - np.arange(13.0)) @ fit.loadings.to_numpy()
    else:
        expected = fit.scores.to_numpy()
        assert found.index.equals(new.index)
        assert fit.scores.index.equals(new.index)
    # sums of p products in another order
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_an_unknown_field_and_an_unknown_measure_are_ignored(fit, path):
    fit.save(path)

    def change(manifest):
        manifest["content"]["record"]["map"].append(["mood", {"map": [["of", "the fit"]]}])
        manifest["content"]["measures"]["beauty"] = manifest["content"]["measures"]["pev"]
        manifest["content"]["something"] = [1, 2]

    seal(path, change)
    assert str(sp.load(path)) == str(fit)


def test_a_measure_that_the_file_does_not_have_is_absent(fit, path, monkeypatch):
    beauty = Measure("beauty", lambda V, op: np.ones(V.shape[1]), "beauty", "b", "beauty", "total", 9)
    monkeypatch.setitem(sp.measures.MEASURES, "beauty", beauty)
    old = sp.load(ARCHIVED / "rows-1.spca")
    with pytest.raises(sp.errors.NoRowsError, match="'beauty' is not in the file"):
        old.measure("beauty")
    assert np.isnan(old.glance()["beauty"].iloc[0])
    assert fit.measure("beauty") == 1.0
    assert np.isnan(sp.compare({"a": old, "b": fit}).measures.loc["a", "beauty"])
    old.save(path)
    assert str(sp.load(path)) == str(old)


def test_a_new_field_of_the_record_has_its_default(fit, path):
    # a field of layout 1 that has a default, left out
    fit.save(path)

    def change(manifest):
        pairs = manifest["content"]["record"]["map"]
        pairs[:] = [pair for pair in pairs if pair[0] != "screening"]

    seal(path, change)
    assert str(sp.load(path)) == str(fit)


def test_advice_can_be_followed(fit, path):
    fit.save(path)

    def change(manifest):
        manifest["writer"] = "9.9"
        manifest["content"]["record"]["map"].pop(0)

    seal(path, change)
    with pytest.raises(
        FileError, match=r"lacks method\. .* read it with spcastat 9\.9, .* or fit again .*card=\[7"
    ):
        sp.load(path)
    seal(path, lambda manifest: manifest.update(version=3))
    with pytest.raises(
        FileError, match=r"newer spcastat \(9\.9\), in layout 3; .* upgrade spcastat to read it"
    ):
        sp.load(path)


@pytest.mark.parametrize("name", ["method", "title", "paper", "criterion", "advice"])
def test_half_a_character_in_the_record_is_refused(fit, path, name):
    """pandas cannot hold it in a column of text, and would end in an error of its own."""
    fit.save(path)

    def change(manifest):
        pairs = manifest["content"]["record"]["map"]
        next(pair for pair in pairs if pair[0] == name)[1] = "\ud800"

    seal(path, change)
    with pytest.raises(FileError, match=f"its record: {name}: it is not text"):
        sp.load(path)
