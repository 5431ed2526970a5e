"""Files from anywhere: how much memory and time they may take, and what stands in them."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import numpy as np
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
    """Change the manifest; `change` may return the text itself."""
    members = parts_of(path)
    manifest = json.loads(members["manifest.json"])
    text = change(manifest)
    text = text if isinstance(text, bytes) else json.dumps(manifest).encode()
    put(path, list((members | {"manifest.json": text} | (more or {})).items()))


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


GOOD = Path(__file__).resolve().parents[1] / "data" / "fits" / "rows-3.spca"


def array_bytes(values: np.ndarray) -> bytes:
    held = io.BytesIO()
    np.save(held, values)
    return held.getvalue()


def test_an_array_of_zeros_that_would_fill_the_memory(fit, path):
    # 100 MB of zeros deflate to 0.1 MB
    fit.save(path)
    seal(path, lambda manifest: None, {"loadings.npy": array_bytes(np.zeros(12_500_000))})
    assert path.stat().st_size < 200_000
    said, more = loaded_in_a_process(path)
    assert said.startswith("refused")
    assert "more than any fit" in said
    assert more < 50


def test_a_member_that_says_it_is_small(fit, path):
    # the sizes in both headers are forged: what is read stops at the size that is declared
    fit.save(path)
    bomb = array_bytes(np.zeros(10_000_000))
    seal(path, lambda manifest: None, {"loadings.npy": bomb})
    whole = path.read_bytes().replace(len(bomb).to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    path.write_bytes(whole)
    said, more = loaded_in_a_process(path)
    assert said.startswith("refused")
    assert more < 50


@pytest.mark.parametrize("size", [1_000_000, 20_000_000])
def test_a_manifest_of_many_values(fit, path, size):
    fit.save(path)
    many = b'{"format": "spcastat fit", "version": 3, "content": [' + b"[]," * size + b"0]}"
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
        manifest["content"]["record"][name] = value

    seal(path, change)
    with pytest.raises(FileError, match="cannot be used"):
        sp.load(path)


@pytest.mark.parametrize(
    "index",
    [
        {"range": [0, 10**12, 1], "name": None},
        {"range": [0, 10**30, 1], "name": None},
        {"range": [0, 180, 0], "name": None},
        {"range": [0, 180, 1], "name": {}},
        {"range": [0, 180, 1]},
        {"name": None},
        {"labels": [{}] * 180, "mixed": True, "name": None},
        {"labels": ["a"] * 179, "mixed": False, "name": None},
        {"array": "nowhere", "name": None},
        {"array": "loadings", "name": None},
        {"levels": [{"range": [0, 10**11, 1], "name": None}]},
        {"levels": [{"range": [0, 180, 1], "name": None}] * 101},
    ],
)
def test_labels_that_would_fill_the_memory_or_are_none(fit, path, index):
    fit.save(path)
    seal(path, lambda manifest: manifest["content"].update(rows=index))
    with pytest.raises(FileError, match="cannot be used"):
        sp.load(path)


@pytest.mark.parametrize("depth", [50, 200_000])
def test_depth(fit, path, depth):
    def change(manifest):
        manifest["content"]["record"]["options"]["tol"] = "@"
        manifest["content"]["rows"]["labels"] = "@"
        return json.dumps(manifest).encode().replace(b'"@"', b"[" * depth + b"]" * depth)

    fit.save(path)
    seal(path, change)
    with pytest.raises(FileError, match="nested too deep" if depth > 1000 else "1 labels for 180 rows"):
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
def test_members_that_stand_twice_or_are_no_arrays(fit, path):
    fit.save(path)
    members = list(parts_of(path).items())
    put(path, [*members, members[0]])
    with pytest.raises(FileError, match="stands in it twice"):
        sp.load(path)
    put(path, [*members, ("more.npy", b"")])
    with pytest.raises(FileError, match="damaged"):
        sp.load(path)


@pytest.mark.parametrize(
    "values",
    [np.zeros(6, complex), np.array(["a"]), np.zeros(6, "M8[25s]"), np.zeros(6, "f8,f8")],
    ids=lambda values: values.dtype.str,
)
def test_types_of_arrays(fit, path, values):
    fit.save(path)
    seal(path, lambda manifest: None, {"loadings.npy": array_bytes(values)})
    with pytest.raises(FileError, match=r"loadings\.npy has another type"):
        sp.load(path)


def test_pickles_are_not_read(fit, path):
    fit.save(path)
    held = io.BytesIO()
    np.save(held, np.array([{}], dtype=object), allow_pickle=True)
    seal(path, lambda manifest: None, {"loadings.npy": held.getvalue()})
    with pytest.raises(FileError, match=r"loadings\.npy has another type"):
        sp.load(path)


def test_numpy_reads_the_arrays_of_a_file(fit, path):
    fit.save(path)
    with np.load(path, allow_pickle=False) as file:
        np.testing.assert_array_equal(file["loadings"], fit.loadings.to_numpy())
        np.testing.assert_array_equal(file["scores"], fit.scores.to_numpy())


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
    "formula": (0.2673588130709927, [4, 4]),
    "labels": (0.79794713555933, [3, 3]),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_archived_files_load_for_ever(name, mixed, pitprops):
    fit = sp.load(ARCHIVED / f"{name}-3.spca")
    pev, card = EXPECTED[name]
    assert fit.measure("pev") == pev
    assert fit.card.tolist() == card
    new = {"rows": pitprops, "covariance": pitprops, "formula": mixed}.get(name)
    if new is None:
        assert fit.loadings.index.tolist() == [("a", 1), 7, "β", None, "2020-01-01 00:00:00"]
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
        manifest["content"]["record"]["mood"] = {"of": "the fit"}
        manifest["content"]["measures"]["beauty"] = 1
        manifest["content"]["something"] = [1, 2]

    seal(path, change)
    assert str(sp.load(path)) == str(fit)


def test_a_measure_that_the_file_does_not_have_is_absent(fit, path, monkeypatch):
    beauty = Measure("beauty", lambda V, op: np.ones(V.shape[1]), "beauty", "b", "beauty", "total", 9)
    monkeypatch.setitem(sp.measures.MEASURES, "beauty", beauty)
    old = sp.load(ARCHIVED / "rows-3.spca")
    with pytest.raises(sp.errors.NoRowsError, match="'beauty' is not in the file"):
        old.measure("beauty")
    assert np.isnan(old.glance()["beauty"].iloc[0])
    assert fit.measure("beauty") == 1.0
    assert np.isnan(sp.compare({"a": old, "b": fit}).measures.loc["a", "beauty"])
    old.save(path)
    assert str(sp.load(path)) == str(old)


def test_a_new_field_of_the_record_has_its_default(fit, path):
    fit.save(path)
    seal(path, lambda manifest: manifest["content"]["record"].pop("screening") and None)
    assert str(sp.load(path)) == str(fit)


def test_advice_can_be_followed(fit, path):
    fit.save(path)

    def change(manifest):
        manifest["writer"] = "9.9"
        del manifest["content"]["record"]["method"]

    seal(path, change)
    with pytest.raises(
        FileError, match=r"lacks method\. .* read it with spcastat 9\.9, .* or fit again .*card=\[7"
    ):
        sp.load(path)
    seal(path, lambda manifest: manifest.update(version=4))
    with pytest.raises(
        FileError, match=r"newer spcastat \(9\.9\), in layout 4: upgrade spcastat to read it"
    ):
        sp.load(path)
    seal(path, lambda manifest: manifest.update(version=2, writer="0.0.1"))
    with pytest.raises(FileError, match=r"earlier spcastat \(0\.0\.1\), in layout 2, .* fit again and save"):
        sp.load(path)


@pytest.mark.parametrize("name", ["method", "title", "paper", "criterion", "advice"])
def test_half_a_character_in_the_record_is_refused(fit, path, name):
    """pandas cannot hold it in a column of text, and would end in an error of its own."""
    fit.save(path)

    def change(manifest):
        manifest["content"]["record"][name] = "\ud800"

    seal(path, change)
    with pytest.raises(FileError, match=f"its record: {name} is not of its type"):
        sp.load(path)
