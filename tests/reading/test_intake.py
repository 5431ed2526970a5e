"""What read_data takes and refuses without a formula, new rows through the spec of a fit, and weights."""

from __future__ import annotations

import ast
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sps
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import spcastat as sp
from spcastat.errors import (
    ColumnTypeError,
    DataWarning,
    DuplicateNamesError,
    FormulaError,
    InfiniteValuesError,
    MissingValuesError,
    NewDataError,
    OptionError,
    ShapeError,
    TooFewRowsError,
    WeightsError,
)
from spcastat.reading.design import ReadOptions
from spcastat.reading.read import read_data, replay


def frame() -> pd.DataFrame:
    return pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 1.0, 0.5]}, index=["u", "v", "w"])


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


@pytest.mark.parametrize(
    ("values", "phrase"),
    [
        (["x", "y", "z"], "categorical='dummy'"),
        (pd.Categorical(["x", "y", "z"]), "categorical='dummy'"),
        (pd.Categorical([True, False, True]), "categorical='dummy'"),
        (pd.to_datetime(["2020-01-01"] * 3), "dates"),
        (pd.to_timedelta([1, 2, 3], unit="D"), "durations"),
        (pd.array([1, 2, "x"], dtype=object), "convert_dtypes"),
        (pd.array([1, 2, 3], dtype=object), r"astype\(float\)"),
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
    assert ("formula='~ . - strange'" in text) != ("with numbers as values" in text)
    pd.testing.assert_frame_equal(df, before)


@pytest.mark.parametrize(
    "labels",
    [["g"], ["x y", 7], ["class"], ["it's"], ['6" pipe'], [".", "g.h"], ["x:y", "x*y"], ["None", "~", "1.5"]],
)
def test_the_formula_that_a_message_advises_leaves_out_columns_with_text(labels):
    numbers = frame().reset_index(drop=True)
    df = numbers.assign(**{f"text {place}": "t" for place in range(len(labels))})
    df.columns = [*numbers.columns, *labels]
    with pytest.raises(ColumnTypeError) as caught:
        read_data(df)
    formula = ast.literal_eval(re.search(r"or formula=(.*?);", str(caught.value))[1])
    assert list(read_data(df, ReadOptions(formula)).columns) == list(numbers.columns)


@pytest.mark.parametrize("label", ["a`b", "x\ny", "it's 6\" wide"])
def test_no_formula_is_advised_that_cannot_name_the_column(label):
    with pytest.raises(ColumnTypeError, match=r"out with df\.drop\(columns=\[.*\]\); text"):
        read_data(frame().assign(**{label: "t"}))


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


def test_rows_without_any_complete_one_are_not_to_be_dropped():
    df = pd.DataFrame({"a": [1.0, np.nan, np.nan], "b": [np.nan, 2.0, 4.0]})
    with pytest.raises(MissingValuesError, match="no row has all values") as caught:
        read_data(df)
    assert "drop'" not in str(caught.value)


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


# --- polars and pyarrow -------------------------------------------------------------------------


def test_pyarrow():
    pa = pytest.importorskip("pyarrow")
    table = pa.table(
        {"a": [1, 2, 3], "b": [0.5, None, 2.5], "k": pa.array(["x", None, "y"]).dictionary_encode()}
    )
    design = read_data(table.select(["a", "b"]), ReadOptions(na="drop"))
    np.testing.assert_array_equal(design.matrix, [[1, 0.5], [3, 2.5]])
    design = read_data(table, ReadOptions("~ a + k", categorical="dummy", na="drop"))
    np.testing.assert_array_equal(design.matrix, [[1, 1, 0], [3, 0, 1]])


# --- New data through the spec of a fit ---------------------------------------------------------


def lettered() -> pd.DataFrame:
    return pd.DataFrame(
        {"a": [1.0, 2.0, 4.0, 3.0], "b": [3.0, 1.0, 0.5, 2.0], "g": ["x", "y", "x", "y"]}, index=list("pqrs")
    )


def numeric() -> pd.DataFrame:
    return lettered()[["a", "b"]]


# --- frames -------------------------------------------------------------------------------------


def test_only_duplicates_that_matter_are_refused():
    spec = read_data(numeric()).spec
    new = pd.concat([numeric(), numeric()[["a"]]], axis=1)
    with pytest.raises(DuplicateNamesError, match="'a'"):
        replay(spec, new)
    extra = pd.concat([numeric(), lettered()[["g"]], lettered()[["g"]]], axis=1)
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


# --- arrays -------------------------------------------------------------------------------------


def test_frame_for_an_array():
    X = numeric().to_numpy()
    spec = read_data(X).spec
    with pytest.warns(DataWarning, match="'a', 'b' are taken by position"):
        matrix, index = replay(spec, numeric())
    np.testing.assert_array_equal(matrix, X)
    assert list(index) == list("pqrs")
    matrix, _ = replay(spec, numeric().set_axis(["x1", "x2"], axis=1))
    np.testing.assert_array_equal(matrix, X)


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
    design = read_data(lettered(), ReadOptions(formula, categorical="dummy"))
    for _ in range(2):
        matrix, index = replay(design.spec, lettered())
        np.testing.assert_allclose(matrix, design.matrix, atol=1e-12)
        pd.testing.assert_index_equal(index, design.index)
    matrix, _ = replay(design.spec, lettered().iloc[[1]])
    np.testing.assert_allclose(matrix, design.matrix[[1]], atol=1e-12)


@pytest.mark.parametrize("formula", ["~ a + b", "~ exp(a) + b"])
def test_formula_replay_and_missing_values(formula):
    spec = read_data(lettered(), ReadOptions(formula)).spec
    new = lettered()
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
    spec = read_data(lettered().astype({"g": dtype}), ReadOptions(formula, categorical="dummy")).spec
    new = lettered().assign(g=["x", "new", "y", "other"]).astype({"g": dtype})
    with pytest.raises(NewDataError, match=r"'g' .* in the fit: 'new', 'other'. The known levels are 'x'"):
        replay(spec, new)
    part = lettered().iloc[:1].astype({"g": object})
    full = read_data(lettered(), ReadOptions(formula, categorical="dummy")).matrix
    np.testing.assert_array_equal(replay(spec, part)[0], full[:1])


def test_context_is_replayed_and_new_columns_do_not_shadow_it():
    design = read_data(lettered(), ReadOptions("~ I(a + shift)", context={"shift": 2.0}))
    matrix, _ = replay(design.spec, lettered().assign(shift=100.0))
    np.testing.assert_array_equal(matrix, design.matrix)


# --- Weights of rows ----------------------------------------------------------------------------


def three_rows() -> pd.DataFrame:
    return pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 1.0, 0.5]}, index=["u", "v", "w"])


@pytest.mark.parametrize(
    "w", [[1, 2, 3], (1.0, 2.0, 3.0), np.array([1, 2, 3]), pd.array([1, 2, 3], dtype="Int64")]
)
def test_array_like_weights_go_by_position(w):
    design = read_data(three_rows(), ReadOptions(weights=w))
    assert design.weights is not None
    np.testing.assert_array_equal(design.weights, [1, 2, 3])
    assert design.weights.dtype == np.float64
    assert not design.weights.flags.writeable


def test_a_series_may_repeat_labels_in_the_order_of_the_rows():
    twice = three_rows().set_axis(["u", "u", "v"])
    same = read_data(twice, ReadOptions(weights=pd.Series([1, 2, 3], index=["u", "u", "v"])))
    np.testing.assert_array_equal(same.weights, [1, 2, 3])


def test_series_goes_by_position_where_rows_have_no_labels():
    w = pd.Series([1.0, 2.0, 3.0], index=[7, 8, 9])
    np.testing.assert_array_equal(
        read_data(three_rows().to_numpy(), ReadOptions(weights=w)).weights, [1, 2, 3]
    )
    rows = sps.csr_array(three_rows().to_numpy())
    np.testing.assert_array_equal(read_data(rows, ReadOptions(weights=w)).weights, [1, 2, 3])


def test_weights_of_dropped_rows_go():
    df = three_rows()
    df.loc["v", "a"] = np.nan
    design = read_data(df, ReadOptions(weights=[1, 5, 2], na="drop"))
    np.testing.assert_array_equal(design.weights, [1, 2])
    formula = read_data(df, ReadOptions(weights=[1, 5, 2], na="drop", formula="~ a + np.exp(b)"))
    np.testing.assert_array_equal(formula.weights, [1, 2])


# --- a column by its name ---------------------------------------------------------------------------


def weighted(n: int = 60) -> pd.DataFrame:
    """Three variables, a column of counts among them, and text."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3)), columns=["a", "b", "c"])
    data.insert(1, "w", rng.integers(0, 4, n))
    return data


ROWS = weighted()
PLAIN, COUNTS = ROWS.drop(columns="w"), ROWS["w"].to_numpy()


def repeated() -> pd.DataFrame:
    """Each row as often as its weight says: what weights are defined by."""
    return PLAIN.iloc[np.repeat(np.arange(len(ROWS)), COUNTS)].reset_index(drop=True)


def as_folder(folder):
    ROWS.to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


SOURCES = {
    "frame": lambda folder: ROWS,
    "labelled": lambda folder: ROWS.set_axis([f"r{i % 7}" for i in range(len(ROWS))]),
    "nullable": lambda folder: ROWS.convert_dtypes(),
    "polars": lambda folder: pl.from_pandas(ROWS),
    "parquet": as_folder,
    "chunks": lambda folder: [ROWS[:25], ROWS[25:25], ROWS[25:]],
    "dask": lambda folder: pytest.importorskip("dask.dataframe").from_pandas(ROWS, npartitions=3),
}
QUICK = ("frame", "parquet")
FORMULAS = (None, "~ .", "~ a + log(b**2 + 1) + c")
#: Every source, and every formula with rows in memory and in files; all pairs are slow.
PAIRS = [
    pytest.param(source, formula, marks=() if formula is None or source in QUICK else pytest.mark.slow)
    for source in SOURCES
    for formula in FORMULAS
]


@pytest.mark.sweep
@pytest.mark.parametrize(("source", "formula"), PAIRS)
def test_a_column_of_weights_counts_rows_and_is_no_variable(source, formula, tmp_path):
    data = SOURCES[source](tmp_path)
    fit = sp.spca(data, 2, 2, weights="w", formula=formula)
    same = sp.spca(repeated(), 2, 2, formula=formula)
    assert list(fit.loadings.index) == list(same.loadings.index)
    # Sums of 90 products in another order; the supports are the same and the loadings follow from them.
    np.testing.assert_allclose(fit.loadings, same.loadings, rtol=0, atol=1e-10)
    np.testing.assert_allclose(fit.variance.to_numpy(), same.variance.to_numpy(), rtol=1e-10)
    new = PLAIN[:4]
    for rows in (new, ROWS[:4]):  # new rows may have the column, and need not
        np.testing.assert_allclose(fit.transform(rows), same.transform(new), rtol=0, atol=1e-10)
    if source == "frame":
        assert "weights='w'" in fit.call
        assert fit.refit(k=1).loadings.shape[0] == len(fit.loadings)


def test_paths_choices_folds_and_coordinates_take_the_name():
    path = sp.spca_path(ROWS, 1, cards=[1, 2], weights="w", method="greedy")
    same = sp.spca_path(PLAIN, 1, cards=[1, 2], weights=COUNTS, method="greedy")
    pd.testing.assert_frame_equal(path.table, same.table)
    formula = "~ scale(a) + b + c"  # learns, so the folds read the data again
    choice = sp.choose(ROWS, 1, cards=[1, 2], weights="w", formula=formula)
    other = sp.choose(PLAIN, 1, cards=[1, 2], weights=COUNTS, formula=formula)
    pd.testing.assert_frame_equal(choice.table.drop(columns="call"), other.table.drop(columns="call"))
    assert choice.table["call"].str.contains("weights='w'").all()
    pd.testing.assert_frame_equal(
        sp.spco(ROWS, 1, zeros=0.5, weights="w").coordinates,
        sp.spco(PLAIN, 1, zeros=0.5, weights=COUNTS).coordinates,
    )


@pytest.mark.parametrize(
    ("data", "formula", "family", "phrase"),
    [
        (ROWS, "~ a + w", FormulaError, "removes that column from the variables"),
        (ROWS, "~ a + log(w + 1)", FormulaError, "removes that column from the variables"),
        (ROWS, "~ . - w", FormulaError, "also from '.'"),
        (PLAIN, None, WeightsError, "which is not a column; the columns are 'a', 'b', 'c'"),
        (PLAIN.rename(columns={"a": "W1"}), None, WeightsError, "which is not a column"),
        (PLAIN.to_numpy(), None, WeightsError, "columns of these data have no names"),
        (sps.csr_array(PLAIN.to_numpy()), None, WeightsError, "columns of these data have no names"),
        (ROWS.assign(w="x"), None, WeightsError, "does not contain real numbers"),
        (ROWS.assign(w=np.nan), None, WeightsError, "missing or infinite values"),
        (ROWS.assign(w=-1.0), None, WeightsError, "negative values"),
        (ROWS[["w"]], None, ShapeError, "no variables"),
    ],
)  # fmt: skip
def test_a_name_that_will_not_do_says_why(data, formula, family, phrase):
    w = 1.0  # not taken for the weights, nor for a variable  # noqa: F841
    cut = 30
    for one in (data, [data[:cut], data[cut:]]):
        with pytest.raises(family, match=phrase):
            sp.spca(one, 1, 1, weights="w", formula=formula)
    if isinstance(data, pd.DataFrame):
        dd = pytest.importorskip("dask.dataframe")
        with pytest.raises(family, match=phrase) as caught:
            sp.spca(dd.from_pandas(data, npartitions=1), 1, 1, weights="w", formula=formula)
        assert "dask" in str(caught.value) or formula
