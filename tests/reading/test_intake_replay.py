"""New data through the spec of a fit."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

from spcastat.errors import (
    ColumnTypeError,
    DataWarning,
    DuplicateNamesError,
    InfiniteValuesError,
    MissingValuesError,
    NewDataError,
    OptionError,
    ShapeError,
    TooFewRowsError,
)
from spcastat.reading.design import ReadOptions
from spcastat.reading.read import read_data, replay


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {"a": [1.0, 2.0, 4.0, 3.0], "b": [3.0, 1.0, 0.5, 2.0], "g": ["x", "y", "x", "y"]}, index=list("pqrs")
    )


def numeric() -> pd.DataFrame:
    return frame()[["a", "b"]]


# --- frames -------------------------------------------------------------------------------------


def test_columns_are_taken_by_name():
    spec = read_data(numeric()).spec
    new = frame()[["g", "b", "a"]]
    before = new.copy(deep=True)
    matrix, index = replay(spec, new)
    np.testing.assert_array_equal(matrix, numeric().to_numpy())
    assert list(index) == list("pqrs")
    pd.testing.assert_frame_equal(new, before)


def test_one_row_is_enough_and_none_is_not():
    spec = read_data(numeric()).spec
    matrix, index = replay(spec, numeric().iloc[[2]])
    np.testing.assert_array_equal(matrix, [[4.0, 0.5]])
    assert list(index) == ["r"]
    with pytest.raises(TooFewRowsError, match="no rows"):
        replay(spec, numeric().iloc[:0])


def test_only_duplicates_that_matter_are_refused():
    spec = read_data(numeric()).spec
    new = pd.concat([numeric(), numeric()[["a"]]], axis=1)
    with pytest.raises(DuplicateNamesError, match="'a'"):
        replay(spec, new)
    extra = pd.concat([numeric(), frame()[["g"]], frame()[["g"]]], axis=1)
    np.testing.assert_array_equal(replay(spec, extra)[0], numeric().to_numpy())


def test_types_and_values_are_checked():
    spec = read_data(numeric()).spec
    with pytest.raises(ColumnTypeError, match="'b'"):
        replay(spec, numeric().assign(b="x"))
    new = numeric()
    new.loc["q", "a"] = np.nan
    with pytest.raises(MissingValuesError, match="1 missing value in 1 of 4 rows, in 'a'"):
        replay(spec, new)
    matrix, index = replay(spec, new, na="drop")
    assert list(index) == list("prs")
    assert matrix.shape == (3, 2)
    new.loc["p", "b"] = np.inf
    with pytest.raises(InfiniteValuesError, match="'b'"):
        replay(spec, new, na="drop")
    with pytest.raises(OptionError, match="na='omit'"):
        replay(spec, new, na="omit")


def test_labels_of_any_kind():
    df = pd.DataFrame(np.arange(6.0).reshape(2, 3), columns=[("t", 1), 2, None])
    df.columns = pd.Index([("t", 1), 2, "z"], tupleize_cols=False)
    matrix, _ = replay(read_data(df).spec, df.iloc[:, ::-1])
    np.testing.assert_array_equal(matrix, df.to_numpy())
    multi = pd.DataFrame(np.arange(6.0).reshape(2, 3), columns=pd.MultiIndex.from_product([["u"], [1, 2, 3]]))
    matrix, _ = replay(read_data(multi).spec, multi.iloc[:, [2, 0, 1]])
    np.testing.assert_array_equal(matrix, multi.to_numpy())


def test_array_for_a_frame_is_taken_by_position_with_a_warning():
    spec = read_data(numeric()).spec
    with pytest.warns(DataWarning, match="order of the fit, 'a', 'b'") as caught:
        matrix, index = replay(spec, numeric().to_numpy())
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(matrix, numeric().to_numpy())
    pd.testing.assert_index_equal(index, pd.RangeIndex(4))
    with pytest.warns(DataWarning, match="sparse matrix without names"):
        matrix, _ = replay(spec, sps.csr_array(numeric().to_numpy()))
    assert sps.issparse(matrix)
    with pytest.raises(NewDataError, match=r"3 columns; the fit has 2 \('a', 'b'\)"):
        replay(spec, np.ones((2, 3)))
    with pytest.raises(ShapeError, match=r"reshape\(1, -1\)"):
        replay(spec, np.ones(2))


def test_other_tables():
    pl = pytest.importorskip("polars")
    spec = read_data(numeric()).spec
    new = pl.DataFrame({"b": [1, 2], "a": [3.5, 4.5], "s": ["u", "v"]})
    np.testing.assert_array_equal(replay(spec, new)[0], [[3.5, 1], [4.5, 2]])


# --- arrays -------------------------------------------------------------------------------------


def test_arrays():
    X = numeric().to_numpy()
    spec = read_data(X).spec
    matrix, index = replay(spec, X[:1])
    np.testing.assert_array_equal(matrix, X[:1])
    pd.testing.assert_index_equal(index, pd.RangeIndex(1))
    assert sps.issparse(replay(spec, sps.csr_array(X))[0])
    with pytest.raises(NewDataError, match="1 column; the fit has 2"):
        replay(spec, X[:, :1])
    with pytest.raises(ShapeError, match="two-dimensional"):
        replay(spec, X[0])


def test_frame_for_an_array():
    X = numeric().to_numpy()
    spec = read_data(X).spec
    with pytest.warns(DataWarning, match="'a', 'b' are taken by position"):
        matrix, index = replay(spec, numeric())
    np.testing.assert_array_equal(matrix, X)
    assert list(index) == list("pqrs")
    matrix, _ = replay(spec, numeric().set_axis(["x1", "x2"], axis=1))
    np.testing.assert_array_equal(matrix, X)


def test_missing_values_in_sparse_new_data():
    X = np.array([[0, 1.0], [np.nan, 2]])
    spec = read_data(np.ones((2, 2))).spec
    matrix, index = replay(spec, sps.csr_array(X), na="drop")
    np.testing.assert_array_equal(matrix.toarray(), [[0, 1]])
    assert list(index) == [0]


# --- formulas -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "formula",
    [
        "~ a + b",
        "~ . - g",
        "~ scale(a) + center(b)",
        "~ bs(a, df=4) + b",
        "~ poly(a, 2)",
        "~ g + a:g + C(g)",
        "~ log(a) + I(b ** 2)",
        "~ scale(log(a)) + exp(b)",
        "~ C(b)",
    ],
)
def test_the_same_data_give_the_same_columns(formula):
    design = read_data(frame(), ReadOptions(formula, categorical="dummy"))
    for _ in range(2):
        matrix, index = replay(design.spec, frame())
        np.testing.assert_allclose(matrix, design.matrix, atol=1e-12)
        pd.testing.assert_index_equal(index, design.index)
    matrix, _ = replay(design.spec, frame().iloc[[1]])
    np.testing.assert_allclose(matrix, design.matrix[[1]], atol=1e-12)


def test_transforms_keep_what_they_learnt():
    design = read_data(frame(), ReadOptions("~ center(a) + b"))
    matrix, _ = replay(design.spec, pd.DataFrame({"a": [10.0], "b": [0.0]}))
    np.testing.assert_allclose(matrix, [[7.5, 0.0]])


def test_a_formula_that_picks_columns_takes_them_by_name():
    spec = read_data(frame(), ReadOptions("~ b + a")).spec
    matrix, _ = replay(spec, frame()[["g", "a", "b"]])
    np.testing.assert_array_equal(matrix, frame()[["b", "a"]].to_numpy())


@pytest.mark.parametrize("formula", ["~ a + b", "~ exp(a) + b"])
def test_formula_replay_and_missing_values(formula):
    spec = read_data(frame(), ReadOptions(formula)).spec
    new = frame()
    new.loc["q", "b"] = np.nan
    new.loc["p", "g"] = None
    with pytest.raises(MissingValuesError, match="1 missing value in 1 of 4 rows, in 'b'"):
        replay(spec, new)
    matrix, index = replay(spec, new, na="drop")
    assert list(index) == list("prs")
    assert matrix.shape == (3, 2)
    new["b"] = np.nan
    matrix, index = replay(spec, new, na="drop")
    assert matrix.shape == (0, 2)
    assert len(index) == 0


@pytest.mark.parametrize("formula", ["~ a + g", "~ a + C(g)", "~ a:g"])
@pytest.mark.parametrize("dtype", ["str", "category", object])
def test_unseen_levels(formula, dtype):
    spec = read_data(frame().astype({"g": dtype}), ReadOptions(formula, categorical="dummy")).spec
    new = frame().assign(g=["x", "new", "y", "other"]).astype({"g": dtype})
    with pytest.raises(NewDataError, match=r"'g' .* not seen: 'new', 'other'. Known are 'x', 'y'"):
        replay(spec, new)
    part = frame().iloc[:1].astype({"g": object})
    full = read_data(frame(), ReadOptions(formula, categorical="dummy")).matrix
    np.testing.assert_array_equal(replay(spec, part)[0], full[:1])


def test_levels_that_are_numbers():
    df = frame().assign(g=pd.Categorical([1, 2, 2, 1]))
    design = read_data(df, ReadOptions("~ g", categorical="dummy"))
    matrix, _ = replay(design.spec, df.assign(g=[1, 2, 2, 1]))
    np.testing.assert_array_equal(matrix, design.matrix)


def test_context_is_replayed_and_new_columns_do_not_shadow_it():
    design = read_data(frame(), ReadOptions("~ I(a + shift)", context={"shift": 2.0}))
    matrix, _ = replay(design.spec, frame().assign(shift=100.0))
    np.testing.assert_array_equal(matrix, design.matrix)


def test_labels_that_are_not_text_in_a_formula():
    df = numeric().set_axis(pd.Index([0, ("t", 1)], tupleize_cols=False), axis=1)
    design = read_data(df, ReadOptions("~ log(`0`) + `('t', 1)`"))
    assert list(design.columns) == ["log(`0`)", ("t", 1)]
    matrix, _ = replay(design.spec, df.iloc[:, ::-1])
    np.testing.assert_array_equal(matrix, design.matrix)


@pytest.mark.parametrize("formula", [None, "~ a + b", "~ scale(a) + b"])
def test_specs_can_be_pickled(formula):
    design = read_data(numeric(), ReadOptions(formula))
    again = pickle.loads(pickle.dumps(design))
    np.testing.assert_array_equal(replay(again.spec, numeric())[0], design.matrix)
