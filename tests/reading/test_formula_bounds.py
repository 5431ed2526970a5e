"""Formulas that would take all memory, or for ever, are refused before anything is computed."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from spcastat.errors import FormulaError
from spcastat.reading.design import ReadOptions
from spcastat.reading.formula_safety import safe_context
from spcastat.reading.read import read_data


def frame() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).gamma(3, 1, (300, 4)), columns=list("abcd"))


@pytest.mark.parametrize("context", [None, safe_context()], ids=["Python", "closed"])
@pytest.mark.parametrize(
    ("formula", "bound"),
    [
        ("~ (a+b+c+d)**12", "more than 100004 terms"),
        ("~ (a+b+c+d)^12", "more than 100004 terms"),
        ("~ a**1000000000", "exponent above 100"),
        ("~ (a+b)**" + "9" * 19, "exponent above 100"),
        ("~ (((a*b*c*d)**4)*(a*b*c*d))**4", "more than 100004 terms"),
        ("~ " + "*".join(["(a+b+c+d)"] * 9), "more than 100004 terms"),
        ("~ " + ":".join(["(a+b+c+d)"] * 9), "more than 100004 terms"),
        ("~ .**9", "more than 100004 terms"),
        ("~ bs(a, df=100000000)", "df=100000000; at most 1000"),
        ("~ bs(a, degree=50)", "degree=50; at most 20"),
        ("~ cr(a, df=10**9)", "df=1000000000; at most 1000"),
        ("~ cr(a, 2000)", "df=2000; at most 1000"),
        ("~ poly(a, 10**9)", "degree=1000000000; at most 100"),
        ("~ poly(a, True)", "degree=True; it must be a whole number"),
        ("~ poly(a, 2.5)", "degree=2.5; it must be a whole number"),
        ("~ poly(a, 101, raw=True)", "degree=101; at most 100"),
        ("~ bs(a, df=900):bs(b, df=900)", "more than 100000 columns, 810000 of them"),
        ("~ C(a):C(b):C(c)", "more than 100000 columns, 27000000 of them"),
        ("~ I(" + "(" * 5000 + "a" + ")" * 5000 + ")", "cannot be read"),
        ("~ I(" + "-" * 5000 + "a)", "nested too deeply"),
        ("~ I(" + "1" * 5000 + " * a)", "cannot be read"),
        ("~ log(" + "a" * 110_000 + ")", "110005 characters; allowed are 100000"),
    ],
)
def test_formulas_with_too_many_terms_are_refused(formula, bound, context):
    df = frame()
    read_data(df, ReadOptions("~ log(a)"))  # imports
    tracemalloc.start()
    try:
        with pytest.raises(FormulaError, match=bound) as caught:
            read_data(df, ReadOptions(formula, context=context))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(str(caught.value)) < 1500
    # Reading 110,000 characters takes some of it; 10**8 numbers would take 800 MB.
    assert peak < 50e6


@pytest.mark.parametrize(
    ("formula", "bound"),
    [
        ("~ I([0]*10**9)", r"holds '\[0\]'"),
        ("~ bs(a, knots=10**8*[0])", r"holds '\[0\]'"),
        ("~ I('a'*10**10)", "holds the text or value 'a'"),
        ("~ I(9**9**9**9)", "exponents are numbers up to 100"),
        ("~ I(((9**99)**99)**99)", "exponents are numbers up to 100"),
    ],
)
def test_constants_from_files_and_the_command_are_small(formula, bound):
    with pytest.raises(FormulaError, match=bound):
        read_data(frame(), ReadOptions(formula, context=safe_context()))


def test_terms_of_many_rows_are_counted_before_they_are_made():
    """A factor with 50,000 levels of 50,000 rows would have 2.5e9 numbers, 20 GB."""
    df = pd.DataFrame({"a": np.arange(50_000.0), "b": 1.0})
    with pytest.raises(FormulaError, match=r"50001 columns of 50000 rows; 500000000 numbers"):
        read_data(df, ReadOptions("~ b + C(a)"))
    with pytest.raises(FormulaError, match=r"1000 columns of 600000 rows"):
        read_data(pd.DataFrame({"a": np.arange(600_000.0)}), ReadOptions("~ bs(a, df=1000)"))


def test_usual_formulas_are_not_refused():
    df = pd.DataFrame(np.random.default_rng(1).normal(size=(4, 60)), columns=[f"v{j}" for j in range(60)])
    assert read_data(df, ReadOptions("~ .**2")).matrix.shape == (4, 60 * 61 // 2)
    assert read_data(df, ReadOptions("~ (v1 + v2 + v3)**3")).matrix.shape == (4, 7)
    assert read_data(df, ReadOptions("~ I(" + " + ".join(df.columns) + ")")).matrix.shape == (4, 1)
