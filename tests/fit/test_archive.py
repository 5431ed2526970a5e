"""Fits in files: what comes back, what is refused, and how much memory a file may take."""

from __future__ import annotations

import io
import json
import pickle
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.errors import DataWarning, FileError, NewDataError, NoRowsError, OptionError
from spcastat.fit.method_table import SOLVERS
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


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def seal(path: Path, change, more: dict[str, bytes] | None = None, way: int = zipfile.ZIP_STORED) -> None:
    """Change the manifest of a file, and add or replace members; `change` may return the text itself."""
    members = parts_of(path)
    manifest = json.loads(members["manifest.json"])
    text = change(manifest)
    text = text if isinstance(text, bytes) else json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w", way) as file:
        for name, part in {**members, "manifest.json": text, **(more or {})}.items():
            file.writestr(name, part)


def array_bytes(values: np.ndarray) -> bytes:
    held = io.BytesIO()
    np.save(held, values, allow_pickle=True)
    return held.getvalue()


def at(manifest, where: tuple, value) -> None:
    """Put a value into the content of a manifest."""
    place = manifest["content"]
    for name in where[:-1]:
        place = place[name]
    place[where[-1]] = value


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
    with pytest.raises(NewDataError, match="levels that do not occur in the fit"):
        other.diagnostics(new.assign(kind="w"))  # distances need all terms, and scores those with loadings
    with pytest.raises(NewDataError, match="lack"):
        other.diagnostics(new.drop(columns="b"))


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


@pytest.mark.sweep
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
    with pytest.warns(DataWarning, match="The file contains ") as caught:
        fit.save(path)
    assert [str(one.message) for one in caught] == [
        "The file contains names of columns of type Period as text, such as '2020Q1'.",
        "The file contains labels of rows of type Timestamp as text, such as '2020-01-01 00:00:00+00:00'.",
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
        with pytest.raises(NoRowsError, match="which a fit from a file does not have"):
            what()
    with pytest.raises(NoRowsError, match=r"fit again: spca\(data, k=6"):
        other.refit(card=3)
    pd.testing.assert_frame_equal(other.transform(pitprops), fit.transform(pitprops))
    assert "prop17" not in path.read_bytes().decode("latin-1")


def test_no_pickle_is_written_or_read(fit, path, monkeypatch):
    def refuse(*args, **given):
        raise AssertionError("pickle was used")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    fit.save(path)
    sp.load(path)


# --- nothing that runs ----------------------------------------------------------------------------


def test_functions_of_the_user_are_named(mixed, path):
    def squared(x):
        return x**2

    fit = sp.spca(mixed, k=1, card=1, formula="~ a + squared(b)", method="bcd-l0", scale=False)
    assert squared(2) == 4
    with pytest.raises(FileError, match="contains a call of 'squared', a function of your own, which"):
        fit.save(path)
    with pytest.raises(FileError, match=r"a call of 'b\.abs'"):
        sp.spca(mixed, k=1, card=1, formula="~ a + I(b.abs())", method="bcd-l0").save(path)
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize(
    ("part", "words"),
    [("states", r"the estimates of 'center\(a\)'"), ("levels", r"the levels of 'C\(kind\)'")],
)
def test_what_a_formula_has_learned_is_not_learned_from_new_rows(mixed, path, part, words):
    formula = "~ center(a) + b + C(kind)"
    sp.spca(mixed, k=1, card=1, formula=formula, categorical="dummy", scale=True).save(path)
    seal(path, lambda manifest: at(manifest, ("spec", "model", part), {}))
    with pytest.raises(FileError, match=words):
        sp.load(path)


# --- damaged, foreign, newer ----------------------------------------------------------------------


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


# --- Files from anywhere: how much memory and time they may take, and what stands in them ---------


GOOD = Path(__file__).resolve().parents[1] / "data" / "fits" / "rows-4.spca"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_what_is_compressed_or_larger_than_the_file_is_refused(fit, path):
    """Zeros that deflate to a thousandth, a forged size, a member that stands twice."""
    fit.save(path)
    whole = path.read_bytes()
    zeros = array_bytes(np.zeros(12_500_000))
    seal(path, lambda manifest: None, {"loadings.npy": zeros}, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 200_000
    with pytest.raises(FileError, match="is compressed, and was not written by this version"):
        sp.load(path)
    size = zipfile.ZipFile(io.BytesIO(whole)).getinfo("loadings.npy").file_size.to_bytes(4, "little")
    path.write_bytes(whole.replace(size, (3_000_000_000).to_bytes(4, "little")))
    with pytest.raises(FileError, match=r"damaged or cut off: it should contain \d+ bytes|damaged"):
        sp.load(path)
    path.write_bytes(whole)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("loadings.npy", zeros[:128])
    with pytest.raises(FileError, match="occurs twice in it"):
        sp.load(path)


#: Where in the content, what stands there instead, and words of the refusal.
FORGED = [
    *((("record", name), 10**30, "cannot be used") for name in ("k", "p", "n")),
    *((("record", "k"), value, "cannot be used") for value in (10**6, -1, 6.0, True)),
    (("record", "n"), "180", "its record: n has the wrong type"),
    # half a character, which pandas cannot hold in a column of text
    (("record", "method"), "\ud800", "its record: method has the wrong type"),
    (("moments", "total"), float("nan"), "its moments: total has the wrong type"),
    (("moments", "total"), float("-inf"), "its moments: total has the wrong type"),
    *(
        (("rows",), index, "cannot be used")
        for index in (
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
        )
    ),
]


@pytest.mark.parametrize(("where", "value", "words"), FORGED)
def test_other_values_in_the_manifest_are_refused(fit, path, where, value, words):
    """Sizes and labels that would fill the memory, and values of other types."""
    fit.save(path)
    seal(path, lambda manifest: at(manifest, where, value))
    with pytest.raises(FileError, match=words):
        sp.load(path)


@pytest.mark.parametrize("text", [b"[" * 200_000 + b"]" * 200_000, b"1" * 5000, b"1e999", b""])
def test_text_that_is_no_manifest(fit, path, text):
    def change(manifest):
        at(manifest, ("record", "options", "tol"), "@")
        at(manifest, ("moments", "total"), "@")
        return json.dumps(manifest).encode().replace(b'"@"', text)

    fit.save(path)
    seal(path, change)
    with pytest.raises(FileError, match=r"damaged|its moments: total"):
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
                np.array([{}], dtype=object),  # a pickle, which is not read
            )
        ),
        (np.zeros((180, 6)), r"loadings\.npy is not the array that was saved"),
    ],
    ids=lambda values: values.dtype.str if isinstance(values, np.ndarray) else "",
)
def test_types_and_shapes_of_arrays(fit, path, values, words):
    fit.save(path)
    seal(path, lambda manifest: None, {"loadings.npy": array_bytes(values)})
    with pytest.raises(FileError, match=words):
        sp.load(path)


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
    fit = sp.load(ARCHIVED / f"{name}-4.spca")
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


def test_unknown_fields_are_ignored_and_new_ones_have_defaults(fit, path):
    fit.save(path)

    def change(manifest):
        at(manifest, ("record", "mood"), {"of": "the fit"})
        at(manifest, ("something",), [1, 2])

    seal(path, change)
    assert str(sp.load(path)) == str(fit)


def test_a_measure_that_the_file_does_not_have_is_absent(fit, path, monkeypatch):
    beauty = Measure("beauty", lambda V, op: np.ones(V.shape[1]), "beauty", "b", "beauty", "total", 9)
    monkeypatch.setitem(sp.measures.MEASURES, "beauty", beauty)
    old = sp.load(ARCHIVED / "rows-4.spca")
    with pytest.raises(sp.errors.NoRowsError, match="'beauty' is not in the file"):
        old.measure("beauty")
    assert np.isnan(old.glance()["beauty"].iloc[0])
    assert fit.measure("beauty") == 1.0
    assert np.isnan(sp.compare({"a": old, "b": fit}).measures.loc["a", "beauty"])
    old.save(path)
    assert str(sp.load(path)) == str(old)


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
    seal(path, lambda manifest: manifest.update(version=99))
    with pytest.raises(FileError, match=r"newer spcastat \(9\.9\), in layout 99: upgrade"):
        sp.load(path)
    seal(path, lambda manifest: manifest.update(version=2, writer="0.0.1"))
    with pytest.raises(FileError, match=r"earlier spcastat \(0\.0\.1\), in layout 2, .* fit again and save"):
        sp.load(path)
    seal(path, lambda manifest: manifest.update(version=4) or manifest["content"].pop("spec"))
    with pytest.raises(FileError, match=r"lacks method\. "):
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
    return fit.with_inference(
        fit.bootstrap(6), fit.stability(3), fit.split_inference(5), fit.test_loadings(9)
    )


def test_a_file_gives_back_what_was_found(resampled, tmp_path):
    resampled.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    assert list(loaded.inference) == ["bootstrap", "stability", "split_inference", "test_loadings"]
    for name, one in resampled.inference.items():
        assert loaded.inference[name].as_text() == one.as_text()
        for key, frame in one.frames.items():
            pd.testing.assert_frame_equal(loaded.inference[name].frames[key], frame, check_exact=True)
    assert str(loaded) == str(resampled)
    pd.testing.assert_frame_equal(loaded.tidy(conf_int=True), resampled.tidy(conf_int=True))


#: A part, a field, and a change after which it cannot be right.
WRONG = [
    ("bootstrap", "values", lambda a: a[:, 1:]),
    ("bootstrap", "places", lambda a: a[::-1]),
    ("bootstrap", "places", lambda a: a + 10_000),
    ("bootstrap", "variances", lambda a: -a),
    ("bootstrap", "similarity", lambda a: a + 1.0),
    ("bootstrap", "of_fit", lambda a: a[1:]),
    ("bootstrap", "select", lambda a: 1),
    ("stability", "chosen", lambda a: a[:-1]),
    ("stability", "chosen", lambda a: a.astype(float)),
    ("stability", "clusters", lambda a: a[1:]),
    ("stability", "associates", lambda a: np.array([[0.0, 99.0, 1.0]])),
    ("stability", "threshold", lambda a: 0.4),
    ("split", "rows", lambda a: [25]),
    ("split", "correlation", lambda a: a + 2.0),
    ("tests", "q_value", lambda a: a[:, :1]),
    ("tests", "fdr", lambda a: "holm"),
]


@pytest.mark.parametrize(("part", "name", "change"), WRONG)
def test_other_kinds_shapes_and_sizes_are_refused(resampled, path, part, name, change):
    resampled.save(path)
    array = f"{part}.{name}.npy"
    if array in parts_of(path):
        held = np.load(io.BytesIO(parts_of(path)[array]))
        seal(path, lambda manifest: None, {array: array_bytes(change(held))})
    else:
        seal(path, lambda manifest: at(manifest, (part, name), change(manifest["content"][part][name])))
    with pytest.raises(FileError, match=rf"its {part}: |{part}\.{name}\.npy is not the array that was saved"):
        sp.load(path)


#: As WRONG, of arrays, in a file without digests, as earlier versions wrote.
WITHOUT_DIGESTS = [
    ("bootstrap", "values", lambda a: a[:, 1:]),
    ("bootstrap", "of_fit", lambda a: a[1:]),
    ("stability", "chosen", lambda a: a[:-1]),
    ("stability", "chosen", lambda a: a.astype(float)),
    ("stability", "clusters", lambda a: a[1:]),
    ("stability", "associates", lambda a: np.array([[0.0, 99.0, 1.0]])),
    ("split", "loadings", lambda a: a * np.nan),
    ("tests", "q_value", lambda a: a[:, :1]),
    ("moments", "coupling", lambda a: a.T),
    ("standard", "scale", lambda a: 0.0 * a),
]


@pytest.mark.parametrize(("part", "name", "change"), WITHOUT_DIGESTS)
def test_kinds_and_shapes_are_checked_without_digests(resampled, path, part, name, change):
    resampled.save(path)
    array = f"{part}.{name}.npy"
    held = np.load(io.BytesIO(parts_of(path)[array]))
    seal(path, lambda manifest: manifest.pop("arrays") and None, {array: array_bytes(change(held))})
    with pytest.raises(FileError, match=f"its {part}: |its columns have no scale"):
        sp.load(path)


def test_a_file_without_digests_comes_back(resampled, path):
    resampled.save(path)
    seal(path, lambda manifest: manifest.pop("arrays") and None)
    assert str(sp.load(path)) == str(resampled)
