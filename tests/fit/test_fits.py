"""Fits in files: what comes back, and what is refused."""

from __future__ import annotations

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
from spcastat.errors import DataWarning, FileError, NewDataError, NoRowsError
from spcastat.fit.method_table import SOLVERS
from spcastat.measures import MEASURES

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
        other.transform(new.assign(kind="w"))
    with pytest.raises(NewDataError, match="lack"):
        other.transform(new.drop(columns="b"))


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


def test_shapes_are_checked(fit, path):
    fit.save(path)

    def change(manifest, members):
        members["loadings.npy"] = members["moments.scores.npy"]

    rewrite(path, change)
    with pytest.raises(FileError, match="its loadings: it has shape"):
        sp.load(path)


def test_contents_of_another_make(fit, path):
    fit.save(path)
    rewrite(path, lambda manifest, members: manifest["content"].pop("spec"))
    with pytest.raises(FileError, match=r"lacks a part, .* \('spec'\).*; fit again and save \(spca\(data, k"):
        sp.load(path)


def test_a_newer_layout(fit, path):
    fit.save(path)
    rewrite(path, lambda manifest, members: manifest.update(version=99))
    with pytest.raises(FileError, match=r"newer spcastat .*, in layout 99: upgrade"):
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
