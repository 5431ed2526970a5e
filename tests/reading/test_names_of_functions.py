"""Formulas with columns whose names are those of functions and modules: both mean what they say.

As in R, and as the CHANGELOG says, a column does not hide a function. The expected columns are computed with
NumPy and pandas, without formulas.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.reading.design import ReadOptions
from spcastat.reading.formulas import NUMPY, TRANSFORMS
from spcastat.reading.read import read_data, replay

#: Functions that formulas know, called on a column of their own name: the columns they make.
SINGLE = {
    **{name: getattr(np, name) for name, (fewest, _) in NUMPY.items() if fewest == 1},
    "center": lambda x: x - x.mean(),
    "scale": lambda x: (x - x.mean()) / x.std(),
    "standardize": lambda x: (x - x.mean()) / x.std(ddof=0),
    "I": lambda x: x,
    "log2": np.log2,
    "log10": np.log10,
    "exp2": np.exp2,
}
#: Functions of several arguments, or of several columns: the call, for a column of the name.
FURTHER = {
    "poly(poly, 1)": lambda x: (x - x.mean()) / np.sqrt(((x - x.mean()) ** 2).sum()),
    "np.maximum(maximum, 0.5)": lambda x: np.maximum(x, 0.5),
    "np.power(power, 2)": lambda x: x**2,
    "np.clip(clip, 0.2, 0.6)": lambda x: np.clip(x, 0.2, 0.6),
    "np.round(np, 1)": lambda x: np.round(x, 1),
    "np.log(np)": np.log,
    "np.log(np) + np.exp(np)": lambda x: np.log(x) + np.exp(x),
    "max.clip(0.2, 0.6)": lambda x: x.clip(0.2, 0.6),
    "abs(abs)": np.abs,
}


def _table(name: str) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame({name: rng.uniform(0.1, 0.9, 20), "z": rng.normal(size=20)})


def _column(text: str, table: pd.DataFrame, context: dict | None = None) -> np.ndarray:
    made = read_data(table, ReadOptions(f"~ I({text}) + z", context=context or {}))
    np.testing.assert_array_equal(made.matrix[:, 1], table["z"])
    again, _ = replay(made.spec, table)  # as new rows are read
    np.testing.assert_allclose(again, made.matrix, rtol=1e-12)
    return made.matrix[:, 0]


@pytest.mark.parametrize("name", sorted(SINGLE))
def test_every_function_of_a_column_of_its_name(name):
    table = _table(name)
    plain = name in TRANSFORMS
    text = f"{name}({name})" if plain else f"np.{name}({name})"
    np.testing.assert_allclose(_column(text, table), SINGLE[name](table[name]), rtol=1e-12, atol=1e-14)
    if not plain:  # the name of the function alone, from the caller's context
        context = {name: getattr(np, name)}
        values = _column(f"{name}({name})", table, context)
        np.testing.assert_allclose(values, SINGLE[name](table[name]), rtol=1e-12)


@pytest.mark.parametrize("text", sorted(FURTHER))
def test_functions_with_further_arguments_and_methods_of_columns(text):
    name = text.replace("np.", "").split("(")[-1].split(",")[0].rstrip(")")
    name = text.partition(".")[0] if text.startswith("max.") else name
    table = _table(name)
    np.testing.assert_allclose(_column(text, table), FURTHER[text](table[name]), rtol=1e-12, atol=1e-14)


def test_a_factor_and_splines_of_columns_named_like_them():
    table = pd.DataFrame({"C": [1, 2, 1, 2, 3], "z": [1.0, 2, 4, 3, 0]})
    assert list(read_data(table, ReadOptions("~ C(C) + z")).columns) == ["C(C)[1]", "C(C)[2]", "C(C)[3]", "z"]
    table = _table("bs")
    other = table.rename(columns={"bs": "x"})
    made = read_data(table, ReadOptions("~ bs(bs, df=4) + z")).matrix
    np.testing.assert_array_equal(made, read_data(other, ReadOptions("~ bs(x, df=4) + z")).matrix)


@pytest.mark.parametrize(
    "text",
    ["math(f)", "tools.double(tools)", "tools.double(f)", "f(f)", "f(f) + tools.double(tools)"],
)
def test_names_in_the_callers_context(text):
    def double(x):
        return 2 * x

    context = {"f": double, "tools": SimpleNamespace(double=double), "math": lambda x: x + math.pi}
    table = _table("f").assign(tools=np.linspace(0, 1, 20), math=1.0)
    values = table.to_dict("series")
    expected = eval(  # the same text, with functions and columns under different names
        text.replace("f(", "F(").replace("tools.", "T.").replace("math(", "M("),
        {"F": double, "T": context["tools"], "M": context["math"], **values},
    )
    np.testing.assert_allclose(_column(text, table, context), expected, rtol=1e-12)


def test_a_variable_is_read_and_the_function_of_its_name_called():
    table = _table("y")
    values = _column("y + log(log)", table, {"log": 3.0})
    np.testing.assert_allclose(values, table["y"] + np.log(3.0), rtol=1e-12)


def test_a_gap_in_a_column_that_only_has_the_name_of_a_module():
    table = _table("y").assign(np=1.0)
    table.loc[0, "np"] = np.nan  # is not read
    assert read_data(table, ReadOptions("~ np.log(y) + z")).dropped == 0


def test_through_weights_files_new_rows_and_folds(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(1, 2, (40, 4)), columns=["log", "np", "scale", "C"])
    other = table.set_axis(["a", "b", "c", "d"], axis=1)
    own = "~ log(log) + np.sqrt(np) + scale(scale) + C"
    plain = "~ log(a) + np.sqrt(b) + scale(c) + d"
    weights = rng.integers(1, 4, 40)
    for options in ({}, {"weights": weights}):
        fit = sp.spca(table, 2, 2, formula=own, **options)
        expected = sp.spca(other, 2, 2, formula=plain, **options)
        np.testing.assert_array_equal(fit.loadings, expected.loadings)
        fit.save(tmp_path / "fit.spca")
        loaded = sp.load(tmp_path / "fit.spca")
        for one in (fit, loaded):
            np.testing.assert_allclose(one.transform(table), expected.transform(other), rtol=1e-12)
    first = sp.choose(table, k=1, formula=own, rng=0, repeats=1)
    second = sp.choose(other, k=1, formula=plain, rng=0, repeats=1)
    np.testing.assert_array_equal(first.fit.loadings, second.fit.loadings)
