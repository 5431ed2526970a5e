"""Formulas in read_data, and their rows: weights count as repeated rows, new rows go as those of the fit."""

from __future__ import annotations

import contextlib

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import (
    FormulaError,
    InfiniteValuesError,
    MissingValuesError,
)
from spcastat.reading.design import ReadOptions
from spcastat.reading.read import read_data, replay


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
        ("~ b + a - 1", ["b", "a"]),
        ("~ . - id - g", ["a", "b", "c", "my col", "a.b", "flag"]),
        ("~ log1p(`my col`) + a", ["log1p(`my col`)", "a"]),
        ("~ I(`my col` ** 2)", ["I(`my col` ** 2)"]),
        ("~ {a + 1} + flag", ["a + 1", "flag"]),
        ("~ a * b", ["a", "b", "a:b"]),
        ("~ (a + b + c)**2", ["a", "a:b", "a:c", "b", "b:c", "c"]),
        ("~ poly(a, 2)", ["poly(a, 2)[1]", "poly(a, 2)[2]"]),
        ("~ np.sqrt(a)", ["np.sqrt(a)"]),
        ("~ C(b)", ["C(b)[1]", "C(b)[2]", "C(b)[3]", "C(b)[5]"]),
        ("~ I(sum(x for x in [1, 2]) * a)", ["I(sum((x for x in [1, 2])) * a)"]),
    ],
)
def test_formulas(formula, columns):
    assert names(formula, context={"log1p": np.log1p}) == columns


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


# --- factors ------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("dtype", ["int64", "uint16", "Int8", "UInt32"])
def test_whole_numbers_stay_whole(dtype):
    design = read_data(frame().astype({"b": dtype}), ReadOptions("~ C(b)"))
    assert list(design.columns) == ["C(b)[1]", "C(b)[2]", "C(b)[3]", "C(b)[5]"]


# --- context ------------------------------------------------------------------------------------


def test_context_is_explicit_and_only_what_is_used_is_kept():
    def double(x):
        return 2 * x

    offset = 3.0
    names = {"double": double, "offset": offset, "other": 1}
    design = read_data(frame(), ReadOptions("~ double(a) + I(b + offset)", context=names))
    assert design.spec.context == {"double": double, "offset": 3.0}
    np.testing.assert_array_equal(design.matrix[:, 1], frame()["b"] + 3)


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
    del C, scale, log


# --- Terms and their rows: weights count as repeated rows, and new rows go as those of the fit ----

WEIGHTED = [
    "poly(a, 2, raw=True)",
    "center(a)",
    "scale(a)",
    "scale(a, center=False)",
    "scale(a, scale=2.0)",
    "standardize(a)",
    "standardize(a, rescale=False)",
    "C(f) + b",
    "scale(a):b",
    "log(a) + a:b",
]
#: Transforms that learn from the rows in a way that weights do not define.
UNWEIGHTED = [
    "poly(a, 3)",
    "bs(a, df=4)",
    "bs(a, knots=[4.0, 5.0])",
    "cr(a, df=4, constraints='center')",
    "cc(a, df=4)",
]


def terms_frame() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame({"a": rng.gamma(5, 1, 40), "b": rng.normal(size=40), "f": rng.integers(0, 3, 40)})


def weights() -> np.ndarray:
    return np.random.default_rng(5).integers(1, 6, 40).astype(float)


@pytest.mark.parametrize("term", WEIGHTED)
def test_a_weight_counts_as_repeated_rows(term):
    """The columns are those of np.repeat of the rows, up to the rounding of sums of 120 numbers."""
    w = weights().astype(int)
    repeated = terms_frame().iloc[np.repeat(np.arange(40), w)].reset_index(drop=True)
    weighted = read_data(terms_frame(), ReadOptions(f"~ {term}", weights=w))
    expected = read_data(repeated, ReadOptions(f"~ {term}"))
    assert list(weighted.columns) == list(expected.columns)
    size = np.abs(expected.matrix).max()
    np.testing.assert_allclose(np.repeat(weighted.matrix, w, axis=0), expected.matrix, atol=1e-11 * size)
    # new rows: what was learnt is the same, too
    new = terms_frame().iloc[[3, 17, 8]]
    np.testing.assert_allclose(
        replay(weighted.spec, new)[0], replay(expected.spec, new)[0], atol=1e-11 * size
    )


@pytest.mark.parametrize("term", UNWEIGHTED)
def test_other_transforms_are_refused_with_weights(term):
    with pytest.raises(FormulaError, match=r"uses the rows without their weights: use center"):
        read_data(terms_frame(), ReadOptions(f"~ {term} + b", weights=weights()))


def test_transforms_of_the_user_do_not_know_weights():
    from formulaic.transforms import stateful_transform

    @stateful_transform
    def halved(x, _state=None):
        _state.setdefault("mean", float(np.mean(x)))
        return np.asarray(x) / _state["mean"]

    design = read_data(terms_frame(), ReadOptions("~ halved(a)", context={"halved": halved}))
    np.testing.assert_allclose(design.matrix[:, 0], terms_frame()["a"] / terms_frame()["a"].mean())
    np.testing.assert_allclose(replay(design.spec, terms_frame().iloc[[2]])[0], design.matrix[[2]])
    with pytest.raises(FormulaError, match=r"'halved\(a\)' uses the rows without their weights"):
        read_data(terms_frame(), ReadOptions("~ halved(a)", context={"halved": halved}, weights=weights()))


# --- terms that depend on other rows --------------------------------------------------------------


@pytest.mark.parametrize(
    "term",
    [
        "b.rank()",
        "I(a / a.max())",
        "np.cumsum(a)",
        "I(a - a.mean())",
        "I(a - a.shift(1).fillna(0))",
        "I(a[::-1].to_numpy())",
        "noise(a)",
        "I(a + beside)",
        "beside",
        "b.rank():a",
        "pd.cut(a, 3, labels=False)",
    ],
)
def test_a_term_that_does_not_replay_is_refused(term):
    rng = np.random.default_rng(0)
    context = {"np": np, "pd": pd, "noise": lambda x: x + rng.normal(size=len(x)), "beside": np.arange(40.0)}
    with pytest.raises(FormulaError, match=r"depend on the other rows|be evaluated on \d+ of its 40"):
        read_data(terms_frame(), ReadOptions(f"~ {term} + a", context=context))


@pytest.mark.parametrize(
    "term", ["np.log(a)", "poly(a, 2)", "bs(a, df=4)", "C(f)", "a:b", "scale(a)", "a.clip(3, 6)",
             "scale(a.abs())", "poly(np.hypot(a, b), 2)", "double(a)", "I(a.where(a > 3, 0))",
             "a.map(lambda v: v + 1)", "I(sum([1, 2]) * a)", "C(f, levels=[0, 1, 2])",
             "cr(a, df=4, constraints='center')", "Q('a')"],
)  # fmt: skip
def test_terms_that_replay_go_on_working(term):
    context = {"double": lambda x: 2 * x}
    design = read_data(terms_frame(), ReadOptions(f"~ {term} + b", context=context))
    rows = [7, 3, 30]
    np.testing.assert_allclose(
        replay(design.spec, terms_frame().iloc[rows])[0], design.matrix[rows], rtol=1e-9
    )


# --- numbers --------------------------------------------------------------------------------------


def test_whole_numbers_do_not_overflow():
    """The square of 4e9 is 1.6e19, beyond the 9.2e18 of a whole number of 64 bits."""
    big = pd.DataFrame({"n": [4_000_000_000, 3, 5], "m": [4_000_000_001, 1, 2], "x": [1.0, 2.0, 4.0]})
    formula = "~ I(n**2) + n:m + I(n * m) + np.square(n) + poly(n, 2, raw=True) + x"
    design = read_data(big, ReadOptions(formula))
    n, m = big["n"].astype(float), big["m"].astype(float)
    expected = np.column_stack([n**2, n * m, n * m, n**2, n, n**2, big["x"]])
    np.testing.assert_allclose(design.matrix, expected, rtol=1e-15)
    inverse = read_data(big, ReadOptions("~ I(n**-1) + x")).matrix[:, 0]
    np.testing.assert_allclose(inverse, 1 / n, rtol=1e-15)
