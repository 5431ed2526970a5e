"""What a formula from a command line or a file may hold, and how much memory and time it may take."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from spcastat.errors import FormulaError
from spcastat.reading.design import ReadOptions
from spcastat.reading.formula_safety import Closed, problem_of, require_safe, safe_context
from spcastat.reading.read import read_data, replay

# --- Formulas that would take all memory, or for ever, are refused before anything is computed ----


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


# --- What a formula from a command line or a file may hold ----------------------------------------

COLUMNS = {"a", "b", "my x", "column 7", "kind"}


@pytest.mark.parametrize(
    "formula",
    [
        "~ a + b", "~ . - a", "~ (a + b)**2", "~ a:b + a*b", "~ `my x` + `7`", "~ log(a) + np.log1p(b)",
        "~ sqrt(a) + abs(`my x`)", "~ I(a**2 + 3*b) + I(a > 2)", "~ poly(a, 2) + bs(b, df=4)",
        "~ bs(a, knots=[1.0, 2.5])", "~ C(kind) + C(kind, contr.sum)", "~ {a + b} + I(-a)",
        "~ scale(center(a))",
        "~ np.clip(a, 0, 1) + I((a > 1) & (b < 2))", "~ 1 + a", "~ 0 + a", "~ I(2**10 * a) + I(a**-1)",
    ],
)  # fmt: skip
def test_names_numbers_operators_and_known_functions(formula):
    require_safe(formula, COLUMNS)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("~ eval('1')", "a call of 'eval'"),
        ("~ __import__('os')", "__import__"),
        ("~ `__import__`('os')", "the name __import__"),
        ("~ np.load('x')", r"a call of 'np\.load'"),
        ("~ np.linalg.norm(a)", r"a call of 'np\.linalg\.norm'"),
        ("~ np.lib.npyio.load(a)", "a call of"),
        ("~ a.abs()", r"a call of 'a\.abs'"),
        ("~ I(a.values)", r"'a\.values', which looks into an object"),
        ("~ I(().__class__.__bases__[0])", "holds"),
        ("~ I(a[0])", r"'a\[0\]'"),
        ("~ {open('/etc/passwd').read()}", "a call of"),
        ("~ I((lambda: a)())", "a call of"),
        ("~ I([x for x in a])", "holds"),
        ("~ I(a if b else a)", "'a if b else a'"),
        ("~ I((y := a))", "holds"),
        ("~ log(*a)", r"'\*a'"),
        ("~ log(**a)", r"'\*\*' before an argument"),
        ("~ log(a)(b)", r"a call of 'log\(a\)'"),
        ("~ log(a, where=print)", "log takes 1 argument without names"),
        ("~ I(print)", "the name 'print'"),
        ("~ I(np)", "the name 'np'"),
        ("~ I(__builtins__)", "the name '__builtins__'"),
        ("~ __builtins__", "the name __builtins__"),
        ("~ Q('a')", "a call of 'Q'"),
        ("~ a + 'text'", "the text 'text'"),
        ("~ I(a == 'text')", "the text or value 'text'"),
        ("~ C(kind, levels=['x'])", "the text or value 'x'"),
        ("~ I(b'bytes')", "the text or value"),
        ("~ I(9**9**9**9)", "exponents are numbers up to 100"),
        ("~ I(((9**99)**99)**99)", "exponents are numbers up to 100"),
        ("~ I(a**b)", "exponents are numbers up to 100"),
        ("~ I(a @ b)", "holds"),
        ("~ I(1 << 99999999)", "holds"),
        ("~ hashed(a)", "a call of 'hashed'"),
        ("~ I(_quoted_0_ + `a`)", "the name '_quoted_0_'"),
        ("~ contr.sum.__class__(a)", "a call of"),
        ("~ sqr(a)", r"a call of 'sqr' Did you mean 'sqrt'\?"),
    ],
)
def test_everything_else_is_refused(formula, words):
    with pytest.raises(FormulaError, match=words):
        require_safe(formula, COLUMNS)


def test_text_may_name_levels_in_a_file_but_hide_nothing():
    assert problem_of("C(kind, levels=['x', 'y'])", COLUMNS, strings=True) is None
    # the backticks would make one name of what stands between them
    assert problem_of("C(kind, '`') + eval('`')", COLUMNS, strings=True) is not None
    assert problem_of("eval('1')", COLUMNS, strings=True) is not None


def test_what_may_be_called_is_numpy_itself():
    assert all(type(function).__module__ in ("numpy", "builtins") for function in safe_context().values())
    assert not {"load", "save", "eval", "vectorize", "frompyfunc"} & set(safe_context())


def test_expressions_that_cannot_be_read():
    assert "cannot be read" in str(problem_of("log(a", COLUMNS))
    assert "cannot be read" in str(problem_of("(" * 500 + "a" + ")" * 500, COLUMNS))


@pytest.mark.parametrize(
    "expression",
    [
        "a + 2 * b - 3", "a / b ** 2", "-a + +b", "a // 2 + n % 3", "n * n - n", "n ** 3", "10 // 3 * a",
        "(a > 1) & (n < 3) | ~(b > 2)", "(a == b) * 1.0", "n != 2", "a <= b", "1 - a * (2 - (3 - b))",
        "np.log(a) + np.sqrt(b)", "np.clip(a, 0.5, 2)", "np.maximum(a, n)", "np.round(a, 1)",
        "np.power(a, -2)", "abs(a - b)",
    ],
)  # fmt: skip
def test_safe_expressions_have_the_values_of_python(expression):
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.gamma(3, 1, (30, 2)), columns=["a", "b"]).assign(n=rng.integers(0, 5, 30))
    found = read_data(data, ReadOptions(f"~ {{{expression}}} + a", context=safe_context())).matrix[:, 0]
    expected = eval(expression, {"np": np, **{name: data[name].to_numpy() for name in data}})
    np.testing.assert_allclose(found, np.asarray(expected, dtype=float), rtol=1e-15)


def test_columns_with_names_that_differ_in_signs_only():
    data = pd.DataFrame({"my x": [1.0, 2.0, 4.0], "my_x": [3.0, 1.0, 2.0], "x²": [0.0, 1.0, 5.0]})
    design = read_data(data, ReadOptions("~ scale(`my x`) + scale(my_x) + center(`x²`)"))
    centred = data - data.mean()
    np.testing.assert_allclose(design.matrix, centred / [*data.iloc[:, :2].std(), 1.0], rtol=1e-15)
    np.testing.assert_array_equal(replay(design.spec, data.iloc[1:])[0], design.matrix[1:])


def test_an_empty_closed_context_stays_closed():
    data = pd.DataFrame({"a": [1.0, 2.0, 4.0]})
    assert Closed() or False
    with pytest.raises(FormulaError, match="a call of"):
        read_data(data, ReadOptions("~ a.clip(0)", context=Closed()))
    design = read_data(data, ReadOptions("~ log(a)", context=Closed()))
    assert isinstance(design.spec.context, Closed)
