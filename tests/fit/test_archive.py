"""Fits in files: what comes back, what is refused, and how much memory a file may take."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
import textwrap
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.errors import DataError, DataWarning, FileError, NewDataError, NoRowsError, OptionError
from spcastat.fit.archive import read_archive, write_archive
from spcastat.fit.method_table import SOLVERS
from spcastat.fit.saved_fits import require_resampled, sizes_of
from spcastat.measures import MEASURES, Measure

FORMULA = (
    "~ center(a) + scale(b) + poly(a, 2) + bs(b, df=4) + cr(a, df=4) + C(kind) + kind + log(a) + C(a > limit)"
    " + a:b + np.sqrt(b) + `my x` + `7`"
)


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "fit.spca"


def same(fit, other):
    """Everything that a file keeps is the same to the last bit."""
    exact = {"rtol": 0, "atol": 0, "check_exact": True}
    assert str(other) == str(fit)
    assert other._repr_html_() == fit._repr_html_()
    for name in ("loadings", "variance", "score_correlations", "correlations", "component_shares"):
        pd.testing.assert_frame_equal(getattr(other, name), getattr(fit, name), **exact)
    pd.testing.assert_frame_equal(other.glance(), fit.glance())
    pd.testing.assert_frame_equal(other.details, fit.details)
    pd.testing.assert_series_equal(other.communalities, fit.communalities)
    pd.testing.assert_series_equal(other.limits(), fit.limits())
    for name in MEASURES:
        assert other.measure(name) == fit.measure(name)
    assert (other.call, other.options, other.status) == (fit.call, fit.options, fit.status)


def test_a_fit_comes_back(fit, pitprops, path):
    fit.save(path)
    other = sp.load(path)
    same(fit, other)
    pd.testing.assert_frame_equal(other.scores, fit.scores)
    pd.testing.assert_frame_equal(other.transform(pitprops), fit.transform(pitprops), check_exact=True)
    pd.testing.assert_frame_equal(other.diagnostics(pitprops), fit.diagnostics(pitprops))
    pd.testing.assert_frame_equal(other.inverse_transform(fit.scores), fit.inverse_transform(fit.scores))
    pd.testing.assert_frame_equal(other.loadings, fit.loadings)
    pd.testing.assert_frame_equal(other.biplot_data().points, fit.biplot_data().points)
    assert sp.compare({"a": fit, "b": other}).angles.loc["a", "b"] < 1e-5


def test_a_formula_comes_back_with_its_state(mixed, path):
    limit = 4
    fit = sp.spca(mixed, k=2, card=4, formula=FORMULA, categorical="dummy", scale=True, method="bcd-l0")
    assert limit == 4
    fit.save(path)
    other = sp.load(path)
    same(fit, other)
    new = mixed.iloc[[3, 20, 7]]
    pd.testing.assert_frame_equal(other.transform(new), fit.transform(new), check_exact=True)
    with pytest.raises(NewDataError, match="levels that the fit has not seen"):
        other.diagnostics(new.assign(kind="w"))  # distances need all terms, and scores those with loadings
    with pytest.raises(NewDataError, match="lack"):
        other.diagnostics(new.drop(columns="b"))


@pytest.mark.parametrize(
    "coding", ["contr.sum", "contr.treatment('y')", "contr.poly", "contr.helmert(reverse=False)"]
)
def test_codings_of_factors_come_back(mixed, path, coding):
    fit = sp.spca(
        mixed, k=1, card=2, formula=f"~ a + C(kind, {coding})", categorical="dummy", method="bcd-l0"
    )
    fit.save(path)
    pd.testing.assert_frame_equal(sp.load(path).transform(mixed), fit.transform(mixed), check_exact=True)


@pytest.mark.parametrize(
    "kind", ["array", "sparse", "plain formula", "weights", "covariance", "means", "float32"]
)
def test_every_kind_of_fit(kind, mixed, pitprops, path):
    X = pitprops.to_numpy()
    R = sp.datasets.load_pitprops()
    fits = {
        "array": lambda: sp.spca(X, 2, 3, method="bcd-l0"),
        "sparse": lambda: sp.spca(
            sps.random(30, 50, 0.2, random_state=0, format="csr"), 2, 3, method="bcd-l0"
        ),
        "plain formula": lambda: sp.spca(mixed, 1, 2, formula="~ b + a + `my x`", method="bcd-l0"),
        "weights": lambda: sp.spca(pitprops, 2, 3, weights=np.arange(180.0) + 1, method="bcd-l0"),
        "covariance": lambda: sp.spca_cov(R, 2, 3, method="bcd-l0"),
        "means": lambda: sp.spca_cov(R, 2, 3, n_obs=180, mean=pitprops.mean(), method="bcd-l0"),
        "float32": lambda: sp.spca(X.astype(np.float32), 2, 3, method="bcd-l0"),
    }
    fit = fits[kind]()
    fit.save(path)
    other = sp.load(path)
    same(fit, other)
    if kind == "covariance":
        with pytest.raises(NoRowsError, match="fit of a covariance matrix"):
            other.scores  # noqa: B018
        with pytest.raises(NoRowsError, match="mean"):
            other.transform(pitprops)
    elif kind == "means":
        pd.testing.assert_frame_equal(other.transform(pitprops), fit.transform(pitprops))


@pytest.mark.parametrize("name", SOLVERS)
def test_every_method_prints_and_comes_back(name, path):
    method = SOLVERS[name]
    if "card" in method.controls:
        options = {"card": 3}
    else:
        options = {control: 0.8 for control in method.controls if control == "variance"}
    data = sp.datasets.make_hastie(40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.errors.SpcaWarning)
        fit = sp.spca(data, 2, method=name, **options)
    assert max(map(len, str(fit).splitlines())) <= 80
    fit.save(path)
    same(fit, sp.load(path))


def test_labels_that_a_file_cannot_hold_become_text(path):
    index = pd.MultiIndex.from_product(
        [pd.date_range("2020", periods=5, tz="UTC"), ["u", 2]], names=["t", None]
    )
    columns = pd.Index([("a", 1), 7, "β", None, pd.Period("2020Q1")], dtype=object, tupleize_cols=False)
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 5)), index=index, columns=columns)
    fit = sp.spca(data, 2, 3, method="bcd-l0")
    with pytest.warns(DataWarning, match="The file holds ") as caught:
        fit.save(path)
    assert [str(one.message) for one in caught] == [
        "The file holds names of columns of type Period as text, such as '2020Q1'.",
        "The file holds labels of rows of type Timestamp as text, such as '2020-01-01 00:00:00+00:00'.",
    ]
    other = sp.load(path)
    assert other.loadings.index.tolist() == [("a", 1), 7, "β", None, "2020Q1"]
    assert str(other) == str(fit)
    rows = pd.MultiIndex.from_arrays([index.get_level_values(0).astype(str), index.get_level_values(1)])
    assert other.scores.index.tolist() == rows.tolist()
    assert other.scores.index.names == ["t", None]
    np.testing.assert_array_equal(other.scores, fit.scores)
    np.testing.assert_array_equal(other.transform(data.set_axis(other.loadings.index, axis=1)), fit.scores)


def test_without_scores(fit, pitprops, path):
    fit.save(path, scores=False)
    other = sp.load(path)
    for what in (
        lambda: other.scores,
        other.biplot,
        other.augment,
        lambda: other.residuals,
        lambda: other.diagnostics()["T2"],
    ):
        with pytest.raises(NoRowsError, match="a fit from a file does not have them"):
            what()
    with pytest.raises(NoRowsError, match=r"fit again: spca\(data, k=6"):
        other.refit(card=3)
    pd.testing.assert_frame_equal(other.transform(pitprops), fit.transform(pitprops))
    assert "prop17" not in path.read_bytes().decode("latin-1")


def test_a_loaded_fit_can_be_saved_and_gives_the_same_file(mixed, path, tmp_path):
    limit = 3  # noqa: F841
    sp.spca(mixed, 1, 2, formula=FORMULA, categorical="dummy", method="bcd-l0", scale=False).save(path)
    again = tmp_path / "again.spca"
    sp.load(path).save(again)
    assert again.read_bytes() == path.read_bytes()


# --- nothing that runs ----------------------------------------------------------------------------


def test_no_pickle_is_written_or_read(fit, path, monkeypatch):
    def refuse(*args, **given):
        raise AssertionError("pickle was used")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    fit.save(path)
    sp.load(path)


def test_functions_of_the_user_are_named(mixed, path):
    def squared(x):
        return x**2

    fit = sp.spca(mixed, k=1, card=1, formula="~ a + squared(b)", method="bcd-l0", scale=False)
    assert squared(2) == 4
    with pytest.raises(FileError, match="uses 'squared', a function of your own"):
        fit.save(path)
    with pytest.raises(FileError, match=r"a call of 'b\.abs'"):
        sp.spca(mixed, k=1, card=1, formula="~ a + I(b.abs())", method="bcd-l0").save(path)
    assert not list(path.parent.iterdir())


def test_a_value_of_a_formula_without_a_form_is_named(mixed, path):
    start = pd.Timestamp("2020")
    data = mixed.assign(when=mixed.index)
    fit = sp.spca(data, k=1, card=1, formula="~ a + C(when > start)", method="bcd-l0")
    assert start
    with pytest.raises(FileError, match=r"uses Timestamp.* of type Timestamp, which a file cannot hold"):
        fit.save(path)


def rewrite(path: Path, change) -> None:
    """Change the manifest of a file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    change(manifest, members)
    members["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in members.items():
            archive.writestr(name, part)


@pytest.mark.parametrize(
    "expression",
    ["__import__('os').system('true')", "C(a, '`') or open('x', '`')", "a.__class__", "eval('1')"],
)
def test_a_formula_in_a_file_cannot_run_anything(mixed, path, expression):
    sp.spca(mixed, k=1, card=1, formula="~ a + log(b)", method="bcd-l0").save(path)

    def change(manifest, members):
        manifest["content"]["spec"]["model"]["terms"][1][0][0] = expression

    rewrite(path, change)
    with pytest.raises(FileError, match="it is not run"):
        sp.load(path)


# --- damaged, foreign, newer ----------------------------------------------------------------------


def test_every_cut_and_every_changed_part_is_noticed(fit, path):
    fit.save(path)
    whole = path.read_bytes()
    for end in [0, 1, 3, 10, len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:end])
        with pytest.raises(FileError, match=r"damaged or cut off|not a fit that spcastat has saved"):
            sp.load(path)
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(whole), 60).tolist():
        broken = bytearray(whole)
        broken[place] ^= 0xFF
        path.write_bytes(bytes(broken))
        try:
            other = sp.load(path)
        except FileError:
            continue
        same(fit, other)  # a byte that carries nothing, such as a date


def test_contents_of_another_make(fit, path):
    fit.save(path)
    rewrite(path, lambda manifest, members: manifest["content"].pop("spec"))
    with pytest.raises(FileError, match=r"lacks a part, .* \('spec'\).*; fit again and save \(spca\(data, k"):
        sp.load(path)


def test_foreign_files(tmp_path, path):
    with pytest.raises(FileError, match="There is no file"):
        sp.load(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(FileError, match="not a fit that spcastat has saved"):
        sp.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<x/>")
    with pytest.raises(FileError, match=r"there is no manifest\.json"):
        sp.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", "{}")
    with pytest.raises(FileError, match="not a fit that spcastat has saved"):
        sp.load(path)
    with pytest.raises(FileError, match="cannot be read"):
        sp.load(tmp_path)


def test_writing_leaves_the_old_file_until_the_new_one_is_whole(fit, path, monkeypatch):
    path.write_text("before")

    def full(self, *args, **given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(FileError, match="No space left on device"):
        fit.save(path)
    assert path.read_text() == "before"
    assert [file.name for file in path.parent.iterdir()] == ["fit.spca"]


def test_a_folder_that_is_not_there(fit, tmp_path):
    with pytest.raises(FileError, match="cannot be written"):
        fit.save(tmp_path / "nowhere" / "fit.spca")


# --- Files from anywhere: how much memory and time they may take, and what stands in them ---------


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


def loaded_in_a_process(paths: list[Path]) -> list[tuple[str, float]]:
    """Return what `load` says of each file in one other process, and the MB beyond its imports."""
    code = f"""
        import resource, spcastat as sp
        sp.load({str(GOOD)!r})
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for path in {[str(path) for path in paths]!r}:
            try:
                sp.load(path)
                print("loaded")
            except sp.errors.FileError as error:
                print("refused", error)
            print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=True
    )
    lines = done.stdout.strip().splitlines()
    return list(zip(lines[::2], map(float, lines[1::2]), strict=True))


GOOD = Path(__file__).resolve().parents[1] / "data" / "fits" / "rows-3.spca"


def array_bytes(values: np.ndarray) -> bytes:
    held = io.BytesIO()
    np.save(held, values, allow_pickle=True)
    return held.getvalue()


def test_files_that_would_fill_the_memory(fit, tmp_path):
    """Those that may take the most stand last: the peak of a process never falls."""
    zeros, forged, many, more = (tmp_path / f"{name}.spca" for name in ("zeros", "forged", "many", "more"))
    for path in (zeros, forged, many, more):
        fit.save(path)
    # 100 MB of zeros deflate to 0.1 MB
    seal(zeros, lambda manifest: None, {"loadings.npy": array_bytes(np.zeros(12_500_000))})
    assert zeros.stat().st_size < 200_000
    # the sizes in both headers are forged: what is read stops at the size that is declared
    bomb = array_bytes(np.zeros(10_000_000))
    seal(forged, lambda manifest: None, {"loadings.npy": bomb})
    size = len(bomb).to_bytes(4, "little")
    forged.write_bytes(forged.read_bytes().replace(size, (1000).to_bytes(4, "little")))
    for path, count in ((many, 1_000_000), (more, 20_000_000)):
        text = b'{"format": "spcastat fit", "version": 3, "content": [' + b"[]," * count + b"0]}"
        seal(path, lambda manifest, text=text: text)
    found = loaded_in_a_process([zeros, forged, many, more])
    for (said, peak), most in zip(found, (50, 50, 150, 150), strict=True):
        assert said.startswith("refused")
        assert peak < most
    assert all("more than any fit" in found[i][0] for i in (0, 2, 3))


#: Where in the manifest, what stands there instead, and words of the refusal.
FORGED = [
    *(
        (("record", name), 10**power, "cannot be used")
        for name, power in (("k", 30), ("k", 6), ("p", 30), ("n", 18))
    ),
    *((("record", "k"), value, "cannot be used") for value in (-1, 6.0, True)),
    (("record", "n"), "180", "cannot be used"),
    *(
        (("rows",), index, "cannot be used")
        for index in (
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
        )
    ),
    # half a character: pandas cannot hold it in a column of text, and would end in an error of its own
    *(
        (("record", name), "\ud800", f"its record: {name} is not of its type")
        for name in ("method", "title", "paper", "criterion", "advice")
    ),
    (("..", "version"), 99, r"newer spcastat .*, in layout 99: upgrade"),
]


@pytest.mark.parametrize(("where", "value", "words"), FORGED)
def test_other_values_in_the_manifest_are_refused(fit, path, where, value, words):
    """Sizes and labels that would fill the memory, values of other types, and a newer layout."""
    fit.save(path)

    def change(manifest):
        place = manifest if where[0] == ".." else manifest["content"]
        for name in where[:-1]:
            place = manifest if name == ".." else place[name]
        place[where[-1]] = value

    seal(path, change)
    with pytest.raises(FileError, match=words):
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
    ("values", "words"),
    [
        *(
            (values, r"loadings\.npy has another type")
            for values in (
                np.zeros(6, complex),
                np.array(["a"]),
                np.zeros(6, "M8[25s]"),
                np.zeros(6, "f8,f8"),
            )
        ),
        (np.array([{}], dtype=object), r"loadings\.npy has another type"),  # a pickle, which is not read
        (np.zeros((180, 6)), "its loadings: it has shape"),
    ],
    ids=lambda values: values.dtype.str if isinstance(values, np.ndarray) else "",
)
def test_types_and_shapes_of_arrays(fit, path, values, words):
    fit.save(path)
    seal(path, lambda manifest: None, {"loadings.npy": array_bytes(values)})
    with pytest.raises(FileError, match=words):
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
        # the labels; the unit of dates is that of the pandas which wrote the file
        assert found.index.tolist() == fit.scores.index.tolist() == new.index.tolist()
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
    with pytest.raises(FileError, match=r"newer spcastat \(9\.9\), in layout 4: upgrade spcastat to read it"):
        sp.load(path)
    seal(path, lambda manifest: manifest.update(version=2, writer="0.0.1"))
    with pytest.raises(FileError, match=r"earlier spcastat \(0\.0\.1\), in layout 2, .* fit again and save"):
        sp.load(path)


# --- What was resampled is stored with the fit, and checked for its kinds, shapes and sizes -------


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 8))
    X[:, :3] += 2.0 * rng.normal(size=(50, 1))
    return pd.DataFrame(np.column_stack([X, np.ones(50)]), columns=list("abcdefghi"))


@pytest.fixture(scope="module")
def resampled(rows):
    fit = sp.spca(rows, 2, 3)
    fit.bootstrap(6), fit.stability(3), fit.split_inference(5), fit.test_loadings(9)
    return fit


def test_a_file_gives_back_what_was_found(resampled, tmp_path):
    resampled.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    assert list(loaded.resampled) == ["bootstrap", "stability", "split_inference", "test_loadings"]
    for name, one in resampled.resampled.items():
        assert loaded.resampled[name].as_text() == one.as_text()
        for key, frame in one.frames.items():
            pd.testing.assert_frame_equal(loaded.resampled[name].frames[key], frame, check_exact=True)
    assert str(loaded) == str(resampled)
    pd.testing.assert_frame_equal(loaded.tidy(conf_int=True), resampled.tidy(conf_int=True))


def test_a_fit_from_a_file_is_resampled_with_its_data(rows, resampled, tmp_path):
    resampled.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    with pytest.raises(NoRowsError, match=r"give bootstrap\(data=\.\.\.\)"):
        loaded.bootstrap(5)
    with pytest.raises(DataError, match="not those of the fit"):
        loaded.bootstrap(5, data=rows * 2)
    with pytest.raises(DataError, match="has 49 rows, and the fit had 50"):
        loaded.bootstrap(5, data=rows.iloc[1:])
    found = loaded.bootstrap(5, data=rows).conf_int()
    pd.testing.assert_frame_equal(found, resampled.bootstrap(5).conf_int())


def test_a_covariance_matrix_from_a_file_too(rows, tmp_path):
    S = rows.iloc[:, :8].cov()
    fit = sp.spca_cov(S, 2, 3, n_obs=50)
    fit.save(tmp_path / "fit.spca")
    found = sp.load(tmp_path / "fit.spca").stability(3, data=S)
    pd.testing.assert_frame_equal(found.frequency, fit.stability(3).frequency)


def cases():
    """Yield a part, a field, and a change after which it cannot be right."""
    yield "bootstrap", "values", lambda a: a[:, 1:]
    yield "bootstrap", "places", lambda a: a[::-1]
    yield "bootstrap", "places", lambda a: a + 10_000
    yield "bootstrap", "variances", lambda a: -a
    yield "bootstrap", "similarity", lambda a: a + 1.0
    yield "bootstrap", "asked", lambda a: 0
    yield "bootstrap", "of_fit", lambda a: a[1:]
    yield "bootstrap", "select", lambda a: 1
    yield "stability", "chosen", lambda a: a[:-1]
    yield "stability", "chosen", lambda a: a.astype(float)
    yield "stability", "clusters", lambda a: a[1:]
    yield "stability", "associates", lambda a: np.array([[0.0, 99.0, 1.0]])
    yield "stability", "threshold", lambda a: 0.4
    yield "stability", "again", lambda a: -1
    yield "split", "rows", lambda a: (25,)
    yield "split", "variances", lambda a: -a
    yield "split", "correlation", lambda a: a + 2.0
    yield "split", "repeats", lambda a: 0
    yield "tests", "p_value", lambda a: a + 1.0
    yield "tests", "q_value", lambda a: a[:, :1]
    yield "tests", "fdr", lambda a: "holm"


@pytest.mark.parametrize(("part", "name", "change"), list(cases()))
def test_other_kinds_shapes_and_sizes_are_refused(resampled, part, name, change):
    found = vars(getattr(resampled._state.resampled, part))
    if part == "tests":  # the variable without variance has no test
        found = {key: one if isinstance(one, int | str) else np.nan_to_num(one) for key, one in found.items()}
    sizes = sizes_of(resampled._state.record)
    require_resampled({part: found}, sizes)
    with pytest.raises(FileError, match=f"its {part}: "):
        require_resampled({part: {**found, name: change(found[name])}}, sizes)


def test_dates_keep_their_frequency(tmp_path):
    months = pd.date_range("2020-01-31", periods=24, freq="ME", name="month")
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(24, 4)), months, list("abcd"))
    sp.spca(data, 2, 2, effort="quick").save(tmp_path / "a.spca", scores=True)
    index = sp.load(tmp_path / "a.spca").scores.index
    assert index.freqstr == "ME"
    pd.testing.assert_index_equal(index, months)
