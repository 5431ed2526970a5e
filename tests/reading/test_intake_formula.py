"""Formulas in read_data."""

from __future__ import annotations

import contextlib

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps
from hypothesis import given, settings
from hypothesis import strategies as st

import spcastat as sp
from spcastat.errors import (
    ColumnTypeError,
    DuplicateNamesError,
    FormulaError,
    InfiniteValuesError,
    MissingValuesError,
    TooFewRowsError,
)
from spcastat.reading.design import ReadOptions
from spcastat.reading.read import read_data


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": [101, 102, 103, 104],
            "a": [1.0, 2.0, 4.0, 3.0],
            "b": [3, 1, 5, 2],
            "c": [0.5, 1.0, 2.0, 8.0],
            "my col": [1.0, 0.0, 2.0, 2.0],
            "a.b": [2.0, 2.0, 3.0, 1.0],
            "flag": [True, False, True, True],
            "g": ["x", "y", "z", "x"],
        },
        index=["p", "q", "q", "r"],
    )


def names(formula: str, **options) -> list:
    return list(read_data(frame(), ReadOptions(formula, **options)).columns)


def test_terms_keep_the_users_order_and_the_intercept_is_dropped():
    df = frame()
    before = df.copy(deep=True)
    design = read_data(df, ReadOptions("~ log(c) + a:b + b + a"))
    assert list(design.columns) == ["log(c)", "a:b", "b", "a"]
    np.testing.assert_allclose(
        design.matrix, np.column_stack([np.log(df["c"]), df["a"] * df["b"], df["b"], df["a"]])
    )
    pd.testing.assert_index_equal(design.index, df.index)
    assert design.spec.kind == "formula"
    assert design.spec.formula == "~ log(c) + a:b + b + a"
    pd.testing.assert_frame_equal(df, before)


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("~ a + b", ["a", "b"]),
        ("a + b", ["a", "b"]),
        ("~ 0 + a + b", ["a", "b"]),
        ("~ b + a - 1", ["b", "a"]),
        ("~ . - id - g", ["a", "b", "c", "my col", "a.b", "flag"]),
        ("~ . - id - g - `my col` - a.b", ["a", "b", "c", "flag"]),
        ("~ `my col` + a.b", ["my col", "a.b"]),
        ("~ log1p(`my col`) + a", ["log1p(`my col`)", "a"]),
        ("~ I(`my col` ** 2)", ["I(`my col` ** 2)"]),
        ("~ Q('my col')", ["Q('my col')"]),
        ("~ {a + 1} + flag", ["a + 1", "flag"]),
        ("~ a * b", ["a", "b", "a:b"]),
        ("~ (a + b + c)**2", ["a", "a:b", "a:c", "b", "b:c", "c"]),
        ("~ . - id - g + log(c)", ["a", "b", "c", "my col", "a.b", "flag", "log(c)"]),
        ("~ poly(a, 2)", ["poly(a, 2)[1]", "poly(a, 2)[2]"]),
        ("~ np.sqrt(a)", ["np.sqrt(a)"]),
        ("~ C(b)", ["C(b)[1]", "C(b)[2]", "C(b)[3]", "C(b)[5]"]),
        ("~ I(sum(x for x in [1, 2]) * a)", ["I(sum((x for x in [1, 2])) * a)"]),
    ],
)
def test_formulas(formula, columns):
    assert names(formula, context={"log1p": np.log1p}) == columns


def test_plain_formulas_bypass_formulaic_and_agree_with_it():
    df = frame()
    plain = read_data(df, ReadOptions("~ b + a + flag"))
    assert plain.spec.model_spec is None
    full = read_data(df, ReadOptions("~ b + a + flag + exp(c)"))
    assert full.spec.model_spec is not None
    np.testing.assert_array_equal(plain.matrix, full.matrix[:, :3])
    assert list(full.columns[:3]) == list(plain.columns)


def test_flags_count_as_numbers_inside_functions():
    design = read_data(frame(), ReadOptions("~ I(flag + flag)"))
    np.testing.assert_array_equal(design.matrix[:, 0], [2, 0, 2, 2])


def test_dot_of_thousands_of_columns():
    X = np.random.default_rng(0).normal(size=(5, 4000))
    df = pd.DataFrame(X, columns=[f"v{j}" for j in range(4000)])
    design = read_data(df, ReadOptions("~ . - v1 - v3"))
    assert design.matrix.shape == (5, 3998)
    np.testing.assert_array_equal(design.matrix[:, :3], X[:, [0, 2, 4]])


def test_labels_that_are_not_text():
    df = pd.DataFrame({0: [1.0, 2.0, 3.0], 1: [2.0, 5.0, 4.0], ("t", 1): [1.0, 1.0, 2.0]})
    df.columns = pd.Index([0, 1, ("t", 1)], tupleize_cols=False)
    design = read_data(df, ReadOptions("~ . - `1`"))
    assert list(design.columns) == [0, ("t", 1)]
    design = read_data(df, ReadOptions("~ `0` + log(`1`)"))
    assert list(design.columns) == [0, "log(`1`)"]
    assert list(read_data(pd.DataFrame(np.eye(3)), ReadOptions("~ .")).columns) == [0, 1, 2]
    assert list(read_data(pd.DataFrame(np.eye(3)), ReadOptions("~ . - 1")).columns) == [0, 1, 2]
    odd = pd.DataFrame(np.eye(3), columns=[".", "1", "x"])
    odd = read_data(odd, ReadOptions("~ . + 0 - `.` + I(`1` + x)"))
    assert list(odd.columns) == ["1", "x", "I(`1` + x)"]
    df.columns = pd.Index([1, "1", "a"], dtype=object)
    with pytest.raises(DuplicateNamesError, match="look alike in a formula: 1, '1'"):
        read_data(df, ReadOptions("~ a"))


def test_columns_named_as_functions_do_not_shadow_them():
    df = pd.DataFrame({"log": [1.0, 2, 3], "C": [1, 2, 2], "x": [1.0, 2, 4]})
    design = read_data(df, ReadOptions("~ log(x) + C"))
    np.testing.assert_allclose(design.matrix, np.column_stack([np.log([1, 2, 4]), [1, 2, 2]]))


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "phrase"),
    [
        ("a ~ b", "two sides or several parts"),
        ("~ a | b | a", "2 bars"),
        ("a + b ~ c | b", "two sides or several parts"),
        ("~ a +", "cannot be read"),
        ("~ (a", "cannot be read"),
        ("~ log(a", "cannot be read"),
        ("~ a + 2", "cannot be read"),
        ("~ log(a b)", "cannot be read"),
        ("~", "no term"),
        ("", "no term"),
        ("~ 1", "no term"),
        ("~ a - a", "no term"),
        (3, "must be text"),
        ("~ idd + a", "uses 'idd', which is not a column.*Did you mean 'id'"),
        ("~ . - idd", "uses 'idd'.*Did you mean 'id'"),
        ("~ log(ccc)", r"uses 'ccc' in 'log\(ccc\)'"),
        ("~ log(my.col)", "uses 'my'"),
        ("~ log + a", "uses 'log'"),
        ("~ lgo(a)", "calls 'lgo', which is not a known function. Did you mean 'log'"),
        ("~ log(a.b)", "cannot be evaluated|backticks"),
    ],
)
def test_formulas_that_are_refused(formula, phrase):
    with pytest.raises(FormulaError, match=phrase) as caught:
        read_data(frame(), ReadOptions(formula))
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_a_module_is_not_proposed_as_a_variable():
    with pytest.raises(FormulaError, match="uses 'nope'") as caught:
        read_data(frame(), ReadOptions("~ nope", context={"np": np}))
    assert "Did you mean" not in str(caught.value)


def test_unknown_column_lists_the_columns_without_a_chain():
    with pytest.raises(FormulaError, match="The columns are 'id', 'a', 'b', 'c', 'my col'") as caught:
        read_data(frame(), ReadOptions("~ a + nope"))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_dotted_names_in_functions_need_backticks():
    df = frame().rename(columns={"my col": "Sepal.Length"})
    with pytest.raises(FormulaError, match=r"in backticks: `Sepal\.Length`"):
        read_data(df, ReadOptions("~ log(Sepal.Length)"))
    assert list(read_data(df, ReadOptions("~ exp(`Sepal.Length`)")).columns) == ["exp(`Sepal.Length`)"]


def test_arrays_and_sparse_data_have_no_names():
    X = np.ones((3, 2))
    with pytest.raises(FormulaError, match=r"NumPy array.*pd.DataFrame\(data, columns="):
        read_data(X, ReadOptions("~ x1"))
    with pytest.raises(FormulaError, match="sparse data"):
        read_data(sps.csr_array(X), ReadOptions("~ x1"))


def test_functions_that_fail_name_themselves():
    def broken(x):
        raise RuntimeError("no luck")

    with pytest.raises(FormulaError, match=r"broken\(a\).*no luck"):
        read_data(frame(), ReadOptions("~ broken(a)", context={"broken": broken}))
    with pytest.raises(FormulaError, match="real numbers, one for each of the 4 rows"):
        read_data(frame(), ReadOptions("~ short(a)", context={"short": lambda x: np.ones(2)}))
    with pytest.raises(FormulaError, match="complex128"):
        read_data(frame(), ReadOptions("~ f(a)", context={"f": lambda x: np.asarray(x) * 1j}))


def test_log_of_a_negative_number_names_term_count_and_row():
    df = frame()
    df["a"] = [1.0, -2.0, 3.0, -4.0]
    with pytest.raises(
        FormulaError,
        match=r"term 'log\(a\)' makes missing or infinite values in 2 rows, the first of them 'q'",
    ):
        read_data(df, ReadOptions("~ b + log(a)"))
    df["a"] = [0.0, 1.0, 1.0, 1.0]
    for na in ("raise", "drop"):
        with pytest.raises(FormulaError, match="in 1 row, the first of them 'p', and so do 'log10"):
            read_data(df, ReadOptions("~ log(a) + log10(a)", na=na))


def test_duplicate_names_after_a_formula():
    df = frame().rename(columns={"my col": "log(c)", "a.b": "a:b"})
    for formula in ("~ `log(c)` + log(c)", "~ . - g + log( c )"):
        with pytest.raises(DuplicateNamesError, match=r"'log\(c\)' is both a column"):
            read_data(df, ReadOptions(formula))
    with pytest.raises(DuplicateNamesError, match="called 'a:b'"):
        read_data(df, ReadOptions("~ a:b + `a:b`"))


def test_duplicate_names_before_a_formula():
    df = pd.DataFrame(np.ones((3, 3)), columns=["a", "a", "b"])
    with pytest.raises(DuplicateNamesError, match="'a'"):
        read_data(df, ReadOptions("~ b"))


# --- missing values -----------------------------------------------------------------------------


def test_only_the_columns_that_are_used_count():
    df = frame()
    df.iloc[0, df.columns.get_loc("c")] = np.nan
    df.iloc[1, df.columns.get_loc("a")] = np.nan
    df.iloc[2, df.columns.get_loc("my col")] = np.inf
    assert read_data(df, ReadOptions("~ b + I(id / 2)")).dropped == 0
    for formula in ("~ a + b", "~ log(a) + b", "~ scale(a) + b", "~ a:b"):
        with pytest.raises(MissingValuesError, match="1 missing value in 1 of 4 rows, in 'a'"):
            read_data(df, ReadOptions(formula))
        design = read_data(df, ReadOptions(formula, na="drop"))
        assert design.dropped == 1
        assert list(design.index) == ["p", "q", "r"]
        assert np.isfinite(design.matrix).all()
    with pytest.raises(InfiniteValuesError, match="'my col'"):
        read_data(df, ReadOptions("~ b + exp(`my col`)", na="drop"))


def test_transforms_learn_from_the_kept_rows_only():
    df = frame()
    df.iloc[3, df.columns.get_loc("a")] = np.nan
    design = read_data(df, ReadOptions("~ center(a) + b", na="drop"))
    np.testing.assert_allclose(design.matrix[:, 0], np.array([1, 2, 4]) - 7 / 3)


def test_dropping_too_many_rows():
    df = frame()
    df.iloc[:3, df.columns.get_loc("a")] = np.nan
    for formula in ("~ a", "~ log(a)"):
        with pytest.raises(TooFewRowsError, match="after 3 rows"):
            read_data(df, ReadOptions(formula, na="drop"))


@given(st.lists(st.tuples(*[st.one_of(st.floats(0.5, 9), st.none())] * 3), min_size=2, max_size=8))
@settings(max_examples=25, deadline=None)
def test_drop_equals_dropna_on_the_used_columns(rows):
    df = pd.DataFrame(rows, columns=["a", "b", "c"], dtype=float, index=[0] * len(rows))
    kept = df.dropna(subset=["a", "b"])
    if len(kept) < 2:
        with pytest.raises(TooFewRowsError):
            read_data(df, ReadOptions("~ log(a) + b", na="drop"))
    else:
        design = read_data(df, ReadOptions("~ log(a) + b", na="drop"))
        np.testing.assert_allclose(design.matrix, np.column_stack([np.log(kept["a"]), kept["b"]]))
        assert design.dropped == len(df) - len(kept)


# --- factors ------------------------------------------------------------------------------------


def test_factors_are_refused_by_default():
    for formula in ("~ .", "~ a + g", "~ a + C(g)", "~ a:g"):
        with pytest.raises(ColumnTypeError, match=r"'g' \((str|object)\).*categorical='dummy'"):
            read_data(frame(), ReadOptions(formula))


def test_factors_are_coded_in_full():
    design = read_data(frame(), ReadOptions("~ a + g", categorical="dummy"))
    assert list(design.columns) == ["a", "g[x]", "g[y]", "g[z]"]
    np.testing.assert_array_equal(design.matrix[:, 1:], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert names("~ . - id", categorical="dummy")[-3:] == ["g[x]", "g[y]", "g[z]"]


@pytest.mark.parametrize("dtype", ["str", "string", "category", object])
def test_missing_levels_are_missing_values(dtype):
    df = frame().astype({"g": dtype})
    df.iloc[1, df.columns.get_loc("g")] = None
    with pytest.raises(MissingValuesError, match="1 missing value in 1 of 4 rows, in 'g'"):
        read_data(df, ReadOptions("~ a + g", categorical="dummy"))
    design = read_data(df, ReadOptions("~ a + g", categorical="dummy", na="drop"))
    assert list(design.columns) == ["a", "g[x]", "g[z]"]
    np.testing.assert_array_equal(design.matrix[:, 1:].sum(axis=1), 1)


def test_categories_keep_their_order_and_lose_unused_levels():
    df = frame()
    df["g"] = pd.Categorical(df["g"], categories=["z", "unused", "y", "x"])
    assert names_of(df, "~ g") == ["g[z]", "g[y]", "g[x]"]
    df["g"] = pd.Categorical([2, 1, 2, 1])
    assert names_of(df, "~ g") == ["g[1]", "g[2]"]


def names_of(df: pd.DataFrame, formula: str) -> list:
    return list(read_data(df, ReadOptions(formula, categorical="dummy")).columns)


def test_objects_dates_and_complex_columns():
    df = frame().assign(
        mixed=pd.Series([1, "x", 2.0, None], dtype=object).to_numpy(),
        when=pd.date_range("2020-01-01", periods=4),
        z=[1j, 2, 3, 4],
    )
    with pytest.raises(ColumnTypeError, match=r"'mixed' \(object\).*convert_dtypes"):
        read_data(df, ReadOptions("~ a + mixed", categorical="dummy"))
    with pytest.raises(ColumnTypeError, match=r"'when'.*dates"):
        read_data(df, ReadOptions("~ a + when"))
    with pytest.raises(ColumnTypeError, match="'z'"):
        read_data(df, ReadOptions("~ a + abs(z)"))
    design = read_data(df, ReadOptions("~ a + I(when.dt.day)"))
    np.testing.assert_array_equal(design.matrix[:, 1], [1, 2, 3, 4])


def test_levels_that_the_formula_leaves_out():
    with pytest.raises(FormulaError, match=r"levels that it does not know.*'z'"):
        read_data(frame(), ReadOptions("~ C(g, levels=['x', 'y'])", categorical="dummy"))


@pytest.mark.parametrize("dtype", ["int64", "uint16", "Int8", "UInt32"])
def test_whole_numbers_stay_whole(dtype):
    design = read_data(frame().astype({"b": dtype}), ReadOptions("~ C(b)"))
    assert list(design.columns) == ["C(b)[1]", "C(b)[2]", "C(b)[3]", "C(b)[5]"]


def test_nullable_columns_in_functions():
    df = frame().astype({"b": "Int64", "flag": "boolean", "a": "Float64"})
    design = read_data(df, ReadOptions("~ log(a) + b:flag + C(b)"))
    assert list(design.columns[2:]) == ["C(b)[1]", "C(b)[2]", "C(b)[3]", "C(b)[5]"]
    np.testing.assert_allclose(design.matrix[:, 1], [3, 0, 5, 2])


# --- context ------------------------------------------------------------------------------------


def test_context_is_explicit_and_only_what_is_used_is_kept():
    def double(x):
        return 2 * x

    with pytest.raises(FormulaError, match="calls 'double'"):
        read_data(frame(), ReadOptions("~ double(a)"))
    offset = 3.0
    names = {"double": double, "offset": offset, "other": 1}
    design = read_data(frame(), ReadOptions("~ double(a) + I(b + offset)", context=names))
    assert design.spec.context == {"double": double, "offset": 3.0}
    np.testing.assert_array_equal(design.matrix[:, 1], frame()["b"] + 3)


def test_columns_come_before_the_context():
    design = read_data(frame(), ReadOptions("~ log(a)", context={"a": np.ones(4)}))
    np.testing.assert_allclose(design.matrix[:, 0], np.log(frame()["a"]))
    assert design.spec.context == {}


def test_functions_cannot_change_the_callers_data():
    def spoil(x):
        np.asarray(x)[...] = 0.0
        return np.ones(len(x))

    df = frame()
    before = df.copy(deep=True)
    with contextlib.suppress(FormulaError):
        read_data(df, ReadOptions("~ spoil(a) + b", context={"spoil": spoil}))
    pd.testing.assert_frame_equal(df, before)


def test_variables_that_are_no_functions_hide_none():
    data = pd.DataFrame({"a": [1.0, 2, 4, 7], "b": [1, 2, 1, 2]})
    C, scale, log = data.cov(), False, 3.0
    hidden = sp.spca(data, 1, 2, formula="~ scale(a) + C(b) + log(a)", categorical="dummy")
    context: dict[str, object] = {}
    plain = sp.spca(data, 1, 2, formula="~ scale(a) + C(b) + log(a)", categorical="dummy", context=context)
    pd.testing.assert_frame_equal(hidden.loadings, plain.loadings)
    halved = sp.spca(data, 1, 1, formula="~ scale(a) + b", context={"scale": lambda x: x / 2})
    assert halved.total_variance == pytest.approx(data["a"].var() / 4 + data["b"].var())  # a function does
    with pytest.raises(FormulaError, match="calls 'f', a variable of type int and not a known function"):
        sp.spca(data, 1, 1, formula="~ f(a) + b", context={"f": 3})
    del C, scale, log
