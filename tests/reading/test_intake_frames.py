"""What read_data takes and refuses, without a formula."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from spcastat.errors import (
    ColumnTypeError,
    InfiniteValuesError,
    MissingValuesError,
    TooFewRowsError,
)
from spcastat.reading.design import ReadOptions
from spcastat.reading.read import read_data


def frame() -> pd.DataFrame:
    return pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 1.0, 0.5]}, index=["u", "v", "w"])


# --- labels -------------------------------------------------------------------------------------


def test_frame_keeps_its_labels_and_numbers():
    df = frame()
    before = df.copy(deep=True)
    design = read_data(df)
    assert design.spec.kind == "frame"
    assert list(design.columns) == ["a", "b"]
    assert list(design.index) == ["u", "v", "w"]
    assert design.matrix.shape == (3, 2)
    assert design.dropped == 0
    assert design.weights is None
    np.testing.assert_array_equal(design.matrix, before.to_numpy())
    pd.testing.assert_frame_equal(df, before)


@pytest.mark.parametrize(
    "columns",
    [
        pd.Index([10, 3]),
        pd.MultiIndex.from_tuples([("x", 1), ("y", 2)], names=["letter", "digit"]),
        pd.Index([None, 2.5], dtype=object),
        pd.Index([("t", 1), "s"], tupleize_cols=False),
    ],
)
def test_labels_of_any_kind_are_kept(columns):
    index = pd.MultiIndex.from_tuples([("r", 1), ("r", 1), ("s", 2)])
    df = pd.DataFrame(np.arange(6.0).reshape(3, 2), index=index, columns=columns)
    design = read_data(df)
    pd.testing.assert_index_equal(design.columns, columns)
    pd.testing.assert_index_equal(design.index, index)


def test_renaming_the_callers_index_does_not_reach_the_design():
    df = frame()
    design = read_data(df)
    df.index.name = df.columns.name = "changed"
    assert design.index.name is None
    assert design.columns.name is None


def test_arrays_get_x_names():
    design = read_data(np.arange(6.0).reshape(2, 3))
    assert design.spec.kind == "array"
    assert list(design.columns) == ["x1", "x2", "x3"]
    pd.testing.assert_index_equal(design.index, pd.RangeIndex(2))


# --- types --------------------------------------------------------------------------------------


def test_numbers_of_many_types_become_float64():
    df = pd.DataFrame(
        {
            "int": [1, 2, 3],
            "uint8": np.array([1, 2, 255], dtype="uint8"),
            "bool": [True, False, True],
            "Int64": pd.array([1, 2, 3], dtype="Int64"),
            "boolean": pd.array([True, False, False], dtype="boolean"),
            "float32": np.array([0.5, 1, 2], dtype="float32"),
        }
    )
    before = df.copy(deep=True)
    design = read_data(df)
    assert design.matrix.dtype == np.float64
    np.testing.assert_array_equal(design.matrix[2], [3, 255, 1, 3, 0, 2])
    pd.testing.assert_frame_equal(df, before)
    assert df.dtypes.equals(before.dtypes)


def test_float32_alone_stays():
    X = np.ones((3, 2), dtype="float32")
    assert read_data(X).matrix.dtype == np.float32
    assert read_data(pd.DataFrame(X)).matrix.dtype == np.float32
    assert read_data(sps.csr_array(X)).matrix.dtype == np.float32
    assert read_data(X.astype("float16")).matrix.dtype == np.float64


def test_nullable_missing_is_missing():
    df = pd.DataFrame(
        {
            "a": pd.array([1, None, 3], dtype="Int64"),
            "b": pd.array([True, True, None], dtype="boolean"),
            "c": pd.array([1.5, 2.5, None], dtype="Float64"),
        }
    )
    with pytest.raises(
        MissingValuesError, match=r"3 missing values in 2 of 3 rows, in 'a', 'b', 'c'.*na='drop'"
    ):
        read_data(df)


def test_arrow_numbers():
    pa = pytest.importorskip("pyarrow")
    df = pd.DataFrame(
        {
            "a": pd.array([1, 2, None], dtype="int64[pyarrow]"),
            "b": pd.array([True, False, True], dtype="bool[pyarrow]"),
            "c": pd.array([1.5, float("nan"), 2.0], dtype=pd.ArrowDtype(pa.float64())),
            "d": pd.array([1, 2, 3], dtype=pd.ArrowDtype(pa.decimal128(10, 2))),
        }
    )
    with pytest.raises(MissingValuesError, match="2 missing values in 2 of 3 rows, in 'a', 'c'"):
        read_data(df)
    np.testing.assert_array_equal(read_data(df[["b", "d"]]).matrix, [[1, 1], [0, 2], [1, 3]])


@pytest.mark.parametrize(
    ("values", "phrase"),
    [
        (["x", "y", "z"], "categorical='dummy'"),
        (pd.Categorical(["x", "y", "z"]), "categorical='dummy'"),
        (pd.Categorical([True, False, True]), "categorical='dummy'"),
        (pd.to_datetime(["2020-01-01"] * 3), "dates"),
        (pd.to_timedelta([1, 2, 3], unit="D"), "durations"),
        (pd.array([1, 2, "x"], dtype=object), "convert_dtypes"),
        (pd.array([1, 2, 3], dtype=object), "to_numeric"),
        (np.array([1j, 2, 3]), "real or the imaginary"),
        (pd.period_range("2020", periods=3), "dates"),
    ],
)
def test_columns_without_numbers_are_refused(values, phrase):
    df = frame().reset_index(drop=True).assign(strange=values)
    before = df.copy(deep=True)
    with pytest.raises(ColumnTypeError, match=phrase) as caught:
        read_data(df)
    text = str(caught.value)
    assert "'strange'" in text
    assert str(df["strange"].dtype) in text
    assert "df.drop(columns=['strange'])" in text
    assert "select_dtypes" in text
    pd.testing.assert_frame_equal(df, before)


def test_rows_without_any_complete_one_are_not_to_be_dropped():
    df = pd.DataFrame({"a": [1.0, np.nan, np.nan], "b": [np.nan, 2.0, 4.0]})
    with pytest.raises(MissingValuesError, match="no row has all values") as caught:
        read_data(df)
    assert "drop'" not in str(caught.value)


def test_many_bad_columns_make_a_short_message():
    df = pd.DataFrame({f"t{i}": ["x", "y"] for i in range(50)} | {"a": [1.0, 2.0]})
    with pytest.raises(ColumnTypeError, match="50 columns do not hold") as caught:
        read_data(df)
    assert "and 42 more" in str(caught.value)
    assert len(str(caught.value)) < 800


# --- shapes and containers ----------------------------------------------------------------------


def test_matrix_and_masked_array():
    with pytest.warns(PendingDeprecationWarning):
        X = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    assert type(read_data(X).matrix) is np.ndarray
    M = np.ma.array([[1, 2], [3, 4], [5, 7]], mask=[[0, 0], [0, 1], [0, 0]])
    with pytest.raises(MissingValuesError, match="1 missing value in 1 of 3 rows, in 'x2'"):
        read_data(M)
    design = read_data(M, ReadOptions(na="drop"))
    np.testing.assert_array_equal(design.matrix, [[1, 2], [5, 7]])
    assert list(design.index) == [0, 2]
    assert M.data[1, 1] == 4


# --- missing and infinite values ----------------------------------------------------------------


def test_drop_keeps_labels_and_counts():
    df = frame()
    df.loc["v", "b"] = np.nan
    before = df.copy(deep=True)
    design = read_data(df, ReadOptions(na="drop"))
    assert design.dropped == 1
    assert list(design.index) == ["u", "w"]
    np.testing.assert_array_equal(design.matrix, before.dropna().to_numpy())
    pd.testing.assert_frame_equal(df, before)


def test_huge_values_are_no_infinite_values():
    X = np.array([[1e308, 1e308], [1e308, 1.0]])
    np.testing.assert_array_equal(read_data(X).matrix, X)


@given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 8), st.integers(1, 4)),
        elements=st.one_of(st.floats(-1e300, 1e300), st.just(np.nan)),
    ),
    labels=st.lists(st.integers(0, 3), min_size=8, max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_drop_is_dropna(X, labels):
    df = pd.DataFrame(X, index=labels[: len(X)])
    before = df.copy(deep=True)
    kept = df.dropna()
    if len(kept) < 2:
        with pytest.raises(TooFewRowsError):
            read_data(df, ReadOptions(na="drop"))
    else:
        design = read_data(df, ReadOptions(na="drop"))
        np.testing.assert_array_equal(design.matrix, kept.to_numpy())
        pd.testing.assert_index_equal(design.index, kept.index)
        assert design.dropped == len(df) - len(kept)
        sparse = read_data(sps.csr_array(X), ReadOptions(na="drop"))
        np.testing.assert_array_equal(sparse.matrix.toarray(), kept.to_numpy())
    pd.testing.assert_frame_equal(df, before)


# --- snapshots ----------------------------------------------------------------------------------


def containers():
    X = np.arange(12.0).reshape(4, 3)
    yield X, lambda: X.__setitem__((0, 0), 99.0)
    F = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    yield F, lambda: F.__setitem__((0, 0), 99.0)
    V = np.arange(24.0).reshape(4, 6)
    yield V[:, ::2], lambda: V.__setitem__((0, 0), 99.0)
    df = pd.DataFrame(np.arange(12.0).reshape(4, 3))
    yield df, lambda: df.iloc.__setitem__((0, 0), 99.0)
    S = sps.csc_array(np.arange(1, 13.0).reshape(4, 3))
    yield S, lambda: S.data.__setitem__(0, 99.0)
    one = pd.DataFrame({"a": pd.array([1.0, 2.0, 3.0], dtype="Float64")})
    yield one, lambda: one.iloc.__setitem__((0, 0), 99.0)


@pytest.mark.parametrize(("data", "change"), list(containers()))
def test_later_changes_do_not_reach_the_design(data, change):
    design = read_data(data)
    dense = design.matrix.toarray() if sps.issparse(design.matrix) else design.matrix
    before = dense.copy()
    change()
    after = design.matrix.toarray() if sps.issparse(design.matrix) else design.matrix
    np.testing.assert_array_equal(after, before)


def test_dense_design_is_read_only_and_the_callers_array_is_not():
    X = np.ones((3, 2))
    assert not read_data(X).matrix.flags.writeable
    assert X.flags.writeable


def test_large_arrays_are_viewed():
    X = np.ones((2_200_000, 4))  # 70 MB
    design = read_data(X)
    assert np.shares_memory(design.matrix, X)
    assert not design.matrix.flags.writeable
    assert X.flags.writeable
    df = pd.DataFrame(X)
    assert np.shares_memory(read_data(df).matrix, df.to_numpy())
    S = sps.csc_array(X)
    assert np.shares_memory(read_data(S).matrix.data, S.data)


# --- sparse -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["csr_matrix", "csc_array", "coo_array", "lil_array", "dok_array", "bsr_array"]
)
def test_sparse_stays_sparse(kind):
    X = np.array([[0, 1.5], [2, 0], [0, 0]])
    S = getattr(sps, kind)(X)
    before = S.copy()
    design = read_data(S)
    assert isinstance(design.matrix, sps.csc_array)
    assert design.matrix.has_canonical_format
    np.testing.assert_array_equal(design.matrix.toarray(), X)
    assert list(design.columns) == ["x1", "x2"]
    assert (before != S).nnz == 0
    assert S.dtype == before.dtype


def test_sparse_duplicates_are_added_on_a_copy():
    S = sps.csc_array((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    design = read_data(S)
    np.testing.assert_array_equal(design.matrix.toarray(), [[3, 0], [0, 5]])
    np.testing.assert_array_equal(S.data, [1, 2, 5])


def test_sparse_is_never_densified():
    n = p = 200_000
    S = sps.coo_array((np.ones(3), ([0, 5, n - 1], [1, 5, p - 1])), shape=(n, p))
    design = read_data(S)
    assert design.matrix.shape == (n, p)
    assert design.matrix.nnz == 3


def test_sparse_missing_and_infinite():
    X = np.array([[0, np.nan, 1], [2, 0, 0], [0, 3, 0]])
    with pytest.raises(MissingValuesError, match="1 missing value in 1 of 3 rows, in 'x2'"):
        read_data(sps.csr_array(X))
    design = read_data(sps.csr_array(X), ReadOptions(na="drop"))
    assert isinstance(design.matrix, sps.csc_array)
    np.testing.assert_array_equal(design.matrix.toarray(), X[1:])
    assert list(design.index) == [1, 2]
    X[2, 2] = np.inf
    with pytest.raises(InfiniteValuesError, match="'x3'"):
        read_data(sps.csr_array(X), ReadOptions(na="drop"))


def test_frame_of_sparse_columns():
    X = np.array([[0, 1.5], [2, 0], [0, 0]])
    df = pd.DataFrame.sparse.from_spmatrix(sps.csr_array(X), index=list("uvw"), columns=["a", "b"])
    design = read_data(df)
    assert sps.issparse(design.matrix)
    np.testing.assert_array_equal(design.matrix.toarray(), X)
    assert list(design.columns) == ["a", "b"]
    assert list(design.index) == ["u", "v", "w"]
    mixed = read_data(df.assign(c=[1, 2, 3]))
    np.testing.assert_array_equal(mixed.matrix, np.column_stack([X, [1, 2, 3]]))


def test_later_changes_of_an_integer_csc_matrix_do_not_reach_the_design():
    S = sps.csc_matrix(np.array([[1, 0], [0, 2], [3, 0]]))
    design = read_data(S)
    before = design.matrix.toarray()
    S.indices[:] = S.indices[::-1].copy()
    S.data[:] = 7
    np.testing.assert_array_equal(design.matrix.toarray(), before)


# --- polars and pyarrow -------------------------------------------------------------------------


def test_polars():
    pl = pytest.importorskip("polars")
    df = pl.DataFrame({"a": [1, 2, None], "b": [0.5, 1.5, 2.5], "c": [True, False, True]})
    design = read_data(df, ReadOptions(na="drop"))
    np.testing.assert_array_equal(design.matrix, [[1, 0.5, 1], [2, 1.5, 0]])
    assert list(design.columns) == ["a", "b", "c"]
    pd.testing.assert_index_equal(read_data(df[["b", "c"]]).index, pd.RangeIndex(3))


def test_polars_categories_through_a_formula():
    pl = pytest.importorskip("polars")
    df = pl.DataFrame(
        {"a": [1.0, 2, 4], "g": pl.Series(["u", "v", "u"], dtype=pl.Enum(["v", "u"])), "h": ["p", "q", "q"]}
    )
    design = read_data(df, ReadOptions("~ a + g + h", categorical="dummy"))
    assert list(design.columns) == ["a", "g[v]", "g[u]", "h[p]", "h[q]"]
    np.testing.assert_array_equal(design.matrix[:, 1], [0, 1, 0])


def test_pyarrow():
    pa = pytest.importorskip("pyarrow")
    table = pa.table(
        {"a": [1, 2, 3], "b": [0.5, None, 2.5], "k": pa.array(["x", None, "y"]).dictionary_encode()}
    )
    design = read_data(table.select(["a", "b"]), ReadOptions(na="drop"))
    np.testing.assert_array_equal(design.matrix, [[1, 0.5], [3, 2.5]])
    design = read_data(table, ReadOptions("~ a + k", categorical="dummy", na="drop"))
    np.testing.assert_array_equal(design.matrix, [[1, 1, 0], [3, 0, 1]])
