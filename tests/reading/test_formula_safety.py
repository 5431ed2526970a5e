"""What a formula from a command line or a file may hold, its memory and time, and formulas that attack."""

from __future__ import annotations

import ast
import builtins
import json
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import spcastat as sp
from spcastat import cli
from spcastat.errors import FormulaError, SpcaError
from spcastat.reading.design import ReadOptions
from spcastat.reading.expressions import ExpressionError, read_expression
from spcastat.reading.formulas import Closed, pieces_of, problem_of, require_safe, safe_context
from spcastat.reading.model_matrix import Given, value_of
from spcastat.reading.read import read_data, replay

# --- Formulas that would take all memory, or for ever, are refused before anything is computed ----


def frame() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).gamma(3, 1, (300, 4)), columns=list("abcd"))


@pytest.mark.sweep
@pytest.mark.parametrize("context", [None, safe_context()], ids=["Python", "closed"])
@pytest.mark.parametrize(
    ("formula", "bound"),
    [
        ("~ (a+b+c+d)**12", "more than 100004 terms"),
        ("~ a**1000000000", "exponent above 100"),
        ("~ (((a*b*c*d)**4)*(a*b*c*d))**4", "more than 100004 terms"),
        ("~ " + "*".join(["(a+b+c+d)"] * 9), "more than 100004 terms"),
        ("~ .**9", "more than 100004 terms"),
        ("~ bs(a, df=100000000)", "df 100000000; give a number up to 100"),
        ("~ bs(a, 4, None, 101)", "df 101; give a number up to 100"),
        ("~ cr(a, df=10**9)", "degree or df"),
        ("~ poly(a, 10**9, raw=True)", "degree or df"),
        ("~ C(a):C(b):C(c)", "more than 100000 columns, 27000000 of them"),
        ("~ I(" + "(" * 5000 + "a" + ")" * 5000 + ")", "cannot be read"),
        ("~ I(" + "-" * 5000 + "a)", "nested too deeply"),
        ("~ log(" + "a" * 110_000 + ")", "110005 characters; at most 100000 are allowed"),
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


def test_terms_of_many_rows_are_counted_before_they_are_made():
    """A factor with 50,000 levels of 50,000 rows would have 2.5e9 numbers, 20 GB."""
    df = pd.DataFrame({"a": np.arange(50_000.0), "b": 1.0})
    with pytest.raises(FormulaError, match=r"50001 columns of 50000 rows; 500000000 numbers"):
        read_data(df, ReadOptions("~ b + C(a)"))


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
        "~ bs(a, knots=[1.0, 2.5])", "~ C(kind)", "~ {a + b} + I(-a)",
        "~ scale(center(a))",
        "~ np.clip(a, 0, 1) + I((a > 1) & (b < 2))", "~ 1 + a", "~ 0 + a", "~ I(2**10 * a) + I(a**-1)",
    ],
)  # fmt: skip
def test_names_numbers_operators_and_known_functions(formula):
    require_safe(formula, pieces_of(formula), COLUMNS)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("~ eval('1')", "a call of 'eval'"),
        ("~ __import__('os')", "__import__"),
        ("~ np.load('x')", r"a call of 'np\.load'"),
        ("~ a.abs()", r"a call of 'a\.abs'"),
        ("~ I(a.values)", r"'a\.values', which looks into an object"),
        ("~ I(a[0])", r"'a\[0\]'"),
        ("~ I(a if b else a)", "'a if b else a'"),
        ("~ log(*a)", r"'\*a'"),
        ("~ log(**a)", r"'\*\*' before an argument"),
        ("~ log(a, where=print)", "log takes 1 argument without names"),
        ("~ I(print)", "the name 'print'"),
        ("~ I(a == 'text')", "the text or value 'text'"),
        ("~ I(9**9**9**9)", "exponents are numbers up to 100"),
        ("~ I(a**b)", "exponents are numbers up to 100"),
        ("~ sqr(a)", r"a call of 'sqr' Did you mean 'sqrt'\?"),
    ],
)
def test_everything_else_is_refused(formula, words):
    with pytest.raises(FormulaError, match=words):
        require_safe(formula, pieces_of(formula), COLUMNS)


def test_text_may_name_levels_in_a_file_but_hide_nothing():
    assert problem_of("C(kind, levels=['x', 'y'])", COLUMNS, strings=True) is None
    # the backticks would make one name of what stands between them
    assert problem_of("C(kind, '`') + eval('`')", COLUMNS, strings=True) is not None
    assert problem_of("eval('1')", COLUMNS, strings=True) is not None


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


# --- Formulas that want to run code: by the checker, on the command line, in a saved fit ----------

CALL = "__import__('os').system('touch HERE')"
OPEN = "open('HERE', 'w')"

#: Each would make a file, look into an object, or take for ever, if it were evaluated as Python.
ATTACKS = [
    # quotes against backticks
    f"(np.log(a) #'`\n+ (0 if {CALL} else 0)#`'\n)",
    f"I(a #'`\n+ (0 if {CALL} else 0)#`'\n)",
    f"log(a, '`') + {CALL} + log('`')",
    f"C(a, '`') + {OPEN} + C(a, '`')",
    f"I('`' + {OPEN} + '`')",
    f'I("`" + {OPEN} + "`")',
    f"`a' + {OPEN} + 'a`",
    f"I('''`''' + {OPEN} + '''`''')",
    # comments, line breaks and what cannot be seen
    f"I(a) # {OPEN}",
    f"I(a #\n+ {OPEN})",
    f"I(a\x00+ {OPEN})",
    f"# -*- coding: utf-7 -*-\nI({OPEN})",
    # calls
    CALL,
    OPEN,
    f'eval("{CALL}")',
    "`__import__`('os')",
    "getattr(a, 'tofile')('HERE')",
    "np.load('HERE')",
    "np.vectorize(open)('HERE')",
    "np.lib.npyio.DataSource('.').open('HERE')",
    "np.log(a, b)",  # would write into b
    "np.log(a, where=print)",
    "hashed(a, 9, hash_func=open)",
    "Q('a')",
    # attributes and subscripts
    "a.tofile('HERE')",
    "I(a.__class__)",
    "np.log.__class__(a)",
    "contr.sum.__init__.__globals__",
    "I(a[0])",
    # syntax
    f"I((y := {OPEN}))",
    f"(lambda: {OPEN})()",
    f"I([{OPEN} for x in a])",
    f"I({{1: {OPEN}}})",
    f"I(a if {OPEN} else a)",
    f"I(a and {OPEN})",
    f"I(f'{{{OPEN}}}')",
    f"log(*{OPEN})",
    f"log(**{OPEN})",
    f"log(a)({OPEN})",
    f"poly(a, degree={OPEN})",
    f"bs(a, knots=[{OPEN}])",
    f"I(a @ {OPEN})",
    "I(b'a')",
    "I(1j)",
    # names
    "I(__builtins__)",
    "I(__FORMULAIC_CONTEXT__)",
    "I(np)",
    "I(ｏｐｅｎ('HERE'))",
    # what takes for ever, or all memory
    "I(9**9**9**9)",
    "I(((9**99)**99)**99)",
    "I([0]*10**9)",
    "I(1 << 10**10)",
    "I(1e999 * a)",
    "I(" + "[" * 150 + "]" * 150 + ")",
    "bs(a, df=100000000)",
    "poly(a, 10**9)",
    "cr(a, df=10**9)",
    "bs(a, knots=[" + "1," * 5000 + "])",
    "exp10(a)",
]


@pytest.fixture
def nothing_is_run(monkeypatch) -> None:
    """Where formulaic evaluates expressions, or reads them as Python, is out of reach."""

    def reached(*args: Any) -> None:
        raise AssertionError("an expression was run")

    monkeypatch.setattr("formulaic.utils.stateful_transforms.stateful_eval", reached)
    monkeypatch.setattr("formulaic.materializers.base.stateful_eval", reached)
    monkeypatch.setattr("formulaic.parser.algos.sanitize_tokens.sanitize_python_code", reached)


@pytest.fixture
def here(tmp_path) -> Path:
    return tmp_path / "canary"


def data() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.gamma(5, 1, (30, 2)), columns=["a", "b"])


@pytest.mark.usefixtures("nothing_is_run")
@pytest.mark.parametrize("attack", ATTACKS)
def test_the_checker_and_the_fit_refuse_it(attack, here):
    attack = attack.replace("HERE", str(here))
    for formula in (f"~ a + {attack}", f"~ {attack}", f"~ a + {{{attack}}}", f"~ a:I({attack})"):
        frame = data()
        with pytest.raises(FormulaError):
            read_data(frame, ReadOptions(formula, context=safe_context()))
        pd.testing.assert_frame_equal(frame, data())
    assert not here.exists()


@pytest.mark.sweep
@pytest.mark.usefixtures("nothing_is_run")
@pytest.mark.parametrize("attack", ATTACKS)
def test_the_command_line_refuses_it(attack, here, tmp_path, capsys):
    table = tmp_path / "data.csv"
    data().to_csv(table, index=False)
    formula = "~ a + " + attack.replace("HERE", str(here))
    assert cli.main(["fit", str(table), "--k", "1", "--card", "1", "--formula", formula]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(("spcastat: error: --formula ", "spcastat: error: The formula uses"))
    assert err.count("\n") == 1
    assert not here.exists()


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "fit.spca"
    sp.spca(data(), k=1, card=1, formula="~ a + np.log(b)", method="bcd-l0").save(path)
    return path


def tamper(path: Path, to: Path, change: Callable[[dict], None]) -> Path:
    """Copy a saved fit with a changed formula."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    change(manifest["content"]["spec"])
    text = json.dumps(manifest).encode()
    members |= {"manifest.json": text}
    with zipfile.ZipFile(to, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return to


@pytest.mark.sweep
@pytest.mark.usefixtures("nothing_is_run")
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_saved_fit_does_not_run_it(attack, here, saved, tmp_path):
    attack = attack.replace("HERE", str(here))
    for number, (text, method) in enumerate(
        [(attack, "python"), (f"I({attack})", "python"), (attack, "lookup"), (attack, "literal")]
    ):

        def change(spec, part=(text, method)):
            spec["model"]["terms"][1] = [list(part)]

        path = tamper(saved, tmp_path / f"{number}.spca", change)
        with pytest.raises(SpcaError):
            sp.load(path).diagnostics(data())  # evaluates all terms
    assert not here.exists()


def test_quotes_in_text_are_part_of_it(here):
    """formulaic writes the text of a call with a state into code, without escaping double quotes."""
    text = f"'\"]+[open('{here}', 'w')]+[\""
    frame = data().assign(g=["x", text] * 15)
    given = Given(frame, Closed(), {})
    value = value_of(read_expression(f"scale(g == {text!r})"), given)
    np.testing.assert_allclose(value[:2], [-value[1], value[1]])
    assert list(given.states) == [f"scale(g == {text!r})"]
    assert not here.exists()


@pytest.mark.parametrize("name", ["__import__", "open", "np", "log", "C"])
def test_columns_named_as_functions_open_nothing(name, here, saved, tmp_path):
    def change(spec):
        spec["model"]["inputs"].append([name, None])
        spec["model"]["terms"][1] = [[f"{name}('{here}', 'w')", "python"]]

    with pytest.raises(SpcaError):
        sp.load(tamper(saved, tmp_path / "x.spca", change)).transform(data().assign(**{name: 1.0}))
    assert not here.exists()


# --- the rest of a saved formula ------------------------------------------------------------------


@pytest.fixture(scope="module")
def stateful(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("stateful") / "fit.spca"
    formula = "~ poly(a, 2) + bs(b, df=4) + cr(a, df=3) + scale(b) + C(g) + 2:a"
    frame = data().assign(g=[*"xyz"] * 10)
    sp.spca(frame, k=1, card=1, formula=formula, categorical="dummy", method="bcd-l0").save(path)
    return path


def states(spec: dict) -> dict:
    return spec["model"]["states"]


#: What is done to a saved formula, and what is said when the file is read or used.
CHANGES: list[tuple[Callable[[dict], Any], str]] = [
    (lambda s: states(s).update({"poly(a, 2)": {}}), "does not contain the estimates of"),
    (lambda s: states(s).update({"poly(a, 2)": 3}), "model: .* has the wrong type"),
    (lambda s: states(s)["poly(a, 2)"].update(alpha=[1.0]), "cannot be evaluated"),
    (lambda s: states(s)["scale(b)"].update(center=float("nan")), "term 'scale"),
    (lambda s: states(s)["bs(b, df=4)"].update(knots=[0.5] * 10_000), "stores too many estimates"),
    (lambda s: states(s)["cr(a, df=3)"].update(cyclic="no"), "makes 13 columns"),
    (lambda s: states(s).update({"bs(b, df=5)": states(s).pop("bs(b, df=4)")}), "the estimates of 'bs"),
    (lambda s: states(s).popitem(), "does not contain the estimates of"),
    (lambda s: s["model"]["levels"].clear(), "the levels of 'C"),
    (lambda s: s["model"]["levels"].update({"C(g)": []}), "unknown levels"),
    (lambda s: s["model"]["levels"].update({"C(g)": [{}]}), "model: .* has the wrong type"),
    (lambda s: s["model"]["context"].update(n={"a": 1}), "model: .* has the wrong type"),
    (lambda s: s["model"]["context"].update(n=[0] * 10_000), "uses too many values"),
    (lambda s: s["model"]["terms"].extend([[["a", "lookup"]]] * 20_000), "do not add up"),
    (lambda s: s["model"]["terms"][0].extend([["a", "lookup"]] * 200), "more than 100 factors"),
    (lambda s: s["model"]["terms"][0].append(["1", "eval"]), "model: .* has the wrong type"),
    (lambda s: s["model"]["terms"][0].append(["[" * 90, "literal"]), "the value"),
    (lambda s: s["model"]["terms"][0].append([7, "lookup"]), "model: .* has the wrong type"),
    (lambda s: s.__setitem__("kind", "code"), "kind has the wrong type"),
    (lambda s: s["model"]["inputs"][0].__setitem__(1, [{"map": []}]), "model: .* has the wrong type"),
]


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_a_changed_state_of_a_formula_is_refused(number, stateful, tmp_path):
    change, words = CHANGES[number]
    path = tamper(stateful, tmp_path / "x.spca", change)
    with pytest.raises(SpcaError, match=words):
        sp.load(path).diagnostics(data().assign(g=[*"xyz"] * 10))  # evaluates all terms


# --- text of quotes, backticks, comments, line breaks and brackets --------------------------------

PIECES = ["`", "'", '"', "#", "\n", "(", ")", "[", "]", "{", "}", "\\", "a", "b", " + ", ":", "~", ",", "%",
          "canary()", "I(", "np.log(", "poly(a,", "=", "f'", "'''", "lambda:", "*", "."]  # fmt: skip


@pytest.fixture(scope="module")
def fired() -> Iterator[list[int]]:
    """What happens to a function that Python would find from anywhere."""
    calls: list[int] = []
    builtins.canary = lambda *args: calls.append(1) or 0.0  # type: ignore[attr-defined]
    yield calls
    del builtins.canary  # type: ignore[attr-defined]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@example("(np.log(a) #'`\n+ (0 if canary() else 0)#`'\n)")
@example("I('`' + canary() + '`')")
@settings(max_examples=200, deadline=None)
def test_no_text_reaches_evaluation_unchecked(fired, text):
    frame = data()
    for formula in (f"~ {text}", f"~ a + I({text})"):
        try:
            design = read_data(frame, ReadOptions(formula, context=safe_context()))
            replay(design.spec, frame)
        except SpcaError:
            continue
        require_safe(formula, pieces_of(formula), {"a", "b"})
    assert not fired


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@settings(max_examples=200, deadline=None)
def test_what_is_checked_is_what_is_evaluated(text):
    """The text that a file keeps is read as the very tree that it was written from."""
    try:
        expression = read_expression(text)
    except ExpressionError:
        return
    again = read_expression(expression.text)
    assert again.text == expression.text
    if not expression.quoted:
        assert ast.dump(again.tree) == ast.dump(expression.tree)
    assert [*again.quoted.values()] == [*expression.quoted.values()]
    assert problem_of(again, {"a", "b"}) == problem_of(expression, {"a", "b"})
