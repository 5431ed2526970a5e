"""Rows of polars and Arrow have answers in polars and Arrow, with the numbers that pandas gets."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

import spcastat as sp

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

X = sp.datasets.pitprops_sample(rng=1).iloc[:40]
LIBRARIES = {
    "polars": (pl.from_pandas, pl.DataFrame, lambda table: table),
    "narwhals": (lambda frame: nw.from_native(pl.from_pandas(frame)), pl.DataFrame, lambda table: table),
    "pyarrow": (lambda frame: pa.Table.from_pandas(frame, preserve_index=False), pa.Table, pl.from_arrow),
}


@pytest.fixture(scope="module")
def fit():
    return sp.spca(pl.from_pandas(X), 2, 3, method="bcd-l0")


@pytest.mark.parametrize("library", LIBRARIES)
def test_answers_are_in_the_library_of_the_rows(fit, library):
    make, kind, as_polars = LIBRARIES[library]
    table, plain = make(X), sp.spca(X, 2, 3, method="bcd-l0")
    for got, wanted in (
        (fit.transform(table), plain.scores),
        (fit.diagnostics(table), plain.diagnostics()),
        (fit.augment(table), plain.augment()),
    ):
        assert isinstance(got, kind)
        assert as_polars(got).columns == list(wanted.columns)
        np.testing.assert_allclose(as_polars(got).to_numpy(), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("library", ["polars", "narwhals"])
def test_tables_of_a_fit_of_polars_are_of_pandas(library):
    fit = sp.spca(LIBRARIES[library][0](X), 2, 3, method="bcd-l0")
    plain = sp.spca(X, 2, 3, method="bcd-l0")
    for one in (fit, fit.refit(), fit.rename({"PC1": "size"})):
        assert isinstance(one.scores, pd.DataFrame)
        assert isinstance(one.loadings, pd.DataFrame)
    np.testing.assert_allclose(fit.scores.to_numpy(), plain.scores, rtol=1e-12, atol=1e-12)
    pd.testing.assert_frame_equal(fit.loadings, plain.loadings)
    assert str(fit) == str(plain)


def test_answers_for_pandas_are_of_pandas(fit, tmp_path):
    assert isinstance(fit.transform(X), pd.DataFrame)
    fit.save(tmp_path / "fit.spca")
    assert isinstance(sp.load(tmp_path / "fit.spca").loadings, pd.DataFrame)


def test_rows_that_were_dropped_and_missing_scores_show(fit):
    holed = pl.from_pandas(X).with_columns(
        pl.when(pl.int_range(pl.len()) == 1).then(None).otherwise(pl.col(name)).alias(name) for name in X
    )
    kept = fit.transform(holed, na="drop")
    assert kept.columns == ["row", "PC1", "PC2"]
    assert kept["row"].to_list() == [0, *range(2, 40)]
    wide = fit.augment(holed, na="drop")
    assert len(wide) == 40
    assert wide[".fittedPC1"].is_null().to_list() == [i == 1 for i in range(40)]


def test_augment_leaves_columns_of_any_type_alone(fit):
    dated = pl.from_pandas(X).with_columns(
        pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 2, 9)).alias("day"),
        pl.Series("kind", ["a", "b"] * 20, dtype=pl.Categorical),
    )
    wide = fit.augment(dated)
    assert wide.select(dated.columns).equals(dated)
    assert wide.schema["day"] == pl.Date
    assert wide.schema["kind"] == pl.Categorical


def test_stored_labels_come_along(fit):
    labelled = pa.Table.from_pandas(X.set_axis([f"tree {i}" for i in range(40)]).rename_axis("tree"))
    assert fit.transform(labelled)["tree"].to_pylist()[:2] == ["tree 0", "tree 1"]


def test_scores_of_polars_go_back(fit):
    scores = fit.transform(pl.from_pandas(X))
    wanted = fit.inverse_transform(fit.transform(X))
    np.testing.assert_allclose(fit.inverse_transform(scores), wanted, rtol=1e-12)
    drawn = fit.biplot_data(new=pl.from_pandas(X.iloc[:3]))
    assert drawn is not None
