"""Data as one value: all kinds answer the same questions; a call with a value is that with keywords."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat import hints
from spcastat.errors import DataError, DataWarning, NoRowsError, OptionError, SpcaError, UnknownOptionError
from spcastat.inputs import chunk_data, constructors, covariance_data, opening, row_data

PACKAGE = Path(sp.__file__).parent
N, P = 60, 6
FAST = {"effort": "quick"}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P))
    X[:, :3] += 1.5 * rng.standard_normal((N, 1))
    data = pd.DataFrame(X, columns=list("abcdef"))
    return data.assign(school=np.repeat(np.arange(N // 4), 4).astype(str), w=rng.integers(1, 4, N))


def kinds(frame):
    numbers = frame[list("abcdef")]
    return {
        "rows": sp.rows(numbers, scale=True),
        "gaps": sp.rows(numbers.mask(np.random.default_rng(1).random(numbers.shape) < 0.02), na="em"),
        "clusters": sp.rows(frame, scale=True, clusters="school", weights="w"),
        "chunks": sp.rows(lambda: [numbers[:35], numbers[35:]], scale=True),
        "covariance": sp.covariance(numbers.cov(), n_obs=N),
        "no n": sp.covariance(numbers.corr()),
    }


# --- the questions ---------------------------------------------------------------------------------


QUESTIONS = {
    "op": lambda d: d.op.p,
    "standard": lambda d: d.standard,
    "free": lambda d: d.free,
    "facts": lambda d: sorted(d.facts()),
    "rows": lambda d: d.rows("this analysis").n,
    "scores": lambda d: d.scores(np.eye(P)[:, :2], pd.Index(["PC1", "PC2"])),
    "row_parts": lambda d: list(d.row_parts("this analysis")),
    "random_rows": lambda d: d.random_rows(10, 0)[1],
    "sampler": lambda d: d.in_memory(0).sampler("this analysis").all_rows(),
    "noise": lambda d: d.in_memory(0).noise(0, 10**6, 1.0, None)[0].values,
    "fingerprint": lambda d: d.fingerprint(d.columns),
    "remark": lambda d: d.remark(),
    "serial_correlation": lambda d: d.serial_correlation(),
    "for_method": lambda d: d.for_method("robust"),
    "for_components": lambda d: d.for_components(2).op.p,
    "require_one_table": lambda d: d.require_one_table("this analysis"),
    "require_folds": lambda d: d.require_folds(),
    "by_row": lambda d: d.by_row("a", "groups"),
    "changed": lambda d: d.changed(scale=False).op.p,
    "require_unchanged": lambda d: d.require_unchanged(),
    "copy": lambda d: repr(d),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_is_answered_or_refused_by_name(question, frame):
    refusals = []
    for data in kinds(frame).values():
        try:
            QUESTIONS[question](data)
        except (NoRowsError, OptionError) as error:
            refusals.append(str(error))
    assert len(refusals) <= len(kinds(frame)) - 2
    if question in ("rows", "sampler", "row_parts"):
        assert all("this analysis" in refusal for refusal in refusals)


def test_all_kinds_have_one_covariance_matrix(frame):
    # the same numbers by rows, by chunks and given: equal up to the rounding of another order of sums
    S = frame[list("abcdef")].corr().to_numpy()
    for name in ("rows", "chunks", "no n"):
        op = kinds(frame)[name].op
        np.testing.assert_allclose(op.block(np.arange(P)) * op.unit**2, S, atol=1e-13)


def test_nothing_changes_a_value(frame):
    table = frame[list("abcdef")].copy()
    data = sp.rows(table, scale=True)
    before, matrix = dict(data.options), data.matrix.copy()
    fit = sp.spca(data, 2, 3, **FAST)
    sp.choose_k(data, n_draws=99)
    sp.spca_path(data, 1, cards=[2, 3], **FAST)
    sp.sparse_loadings(data, 2, 3, n_init=2)
    sp.spco(data, 2, zeros=0.5)
    fit.bootstrap(10)
    fit.refit(scale=False)
    assert data.options == before
    assert np.array_equal(data.matrix, matrix)
    pd.testing.assert_frame_equal(table, frame[list("abcdef")])
    with pytest.raises(AttributeError):
        data.options = {}
    twin = pickle.loads(pickle.dumps(data))
    pd.testing.assert_frame_equal(sp.spca(twin, 2, 3, **FAST).loadings, fit.loadings)


# --- a call with a value is the call with keywords -------------------------------------------------


ROW_CALLS = {
    "spca": lambda d, **o: sp.spca(d, 2, 3, **FAST, **o),
    "spca_path": lambda d, **o: sp.spca_path(d, 1, cards=[2, 4], **FAST, **o)[4],
    "choose": lambda d, **o: sp.choose(d, 2, cards=[2, 3, 5], **o).fit,
    "choose without k": lambda d, **o: sp.choose(d, cards=[2, 3], n_draws=99, **o).fit,
    "sparse_loadings": lambda d, **o: sp.sparse_loadings(d, 2, 3, n_init=3, **o),
}
ROW_OPTIONS = {
    "plain": {"scale": True},
    "design": {"scale": True, "weights": "w", "clusters": "school"},
    "formula": {"formula": "~ a + b + np.exp(c) + d + e", "scale": True},
    "em": {"na": "em", "scale": True},
}


@pytest.mark.sweep
@pytest.mark.parametrize("call", ROW_CALLS)
@pytest.mark.parametrize("options", ROW_OPTIONS)
def test_a_call_with_rows_is_the_call_with_keywords(call, options, frame):
    given = ROW_OPTIONS[options]
    data = frame if "clusters" in given else frame[list("abcdef")]
    if "na" in given:
        data = data.mask(np.random.default_rng(2).random(data.shape) < 0.03)
    keywords = ROW_CALLS[call](data, **given)
    value = ROW_CALLS[call](sp.rows(data, **given))
    pd.testing.assert_frame_equal(value.loadings, keywords.loadings, check_exact=True)
    assert str(value) == str(keywords)
    assert value.call == keywords.call


#: The variables of a call, whose first argument may be a table or a formula.
VARIABLES_OF_CALL = {
    "rows": lambda *d, **o: sp.rows(*d, **o).columns,
    "spca": lambda *d, **o: sp.spca(*d, k=1, card=2, **FAST, **o).loadings.index,
    "spca_path": lambda *d, **o: sp.spca_path(*d, k=1, cards=[2], **FAST, **o)[2].loadings.index,
    "choose": lambda *d, **o: sp.choose(*d, k=1, cards=[2], **o).fit.loadings.index,
    "sparse_loadings": lambda *d, **o: sp.sparse_loadings(*d, k=1, card=2, n_init=2, **o).loadings.index,
    "spco": lambda *d, **o: sp.spco(*d, k=1, zeros=0.5, **o).loadings.index,
    "principal_variables": lambda *d, **o: (
        sp.principal_variables(*d, m=1, folds=0, n_resamples=0, **o).coefficients.columns
    ),
    "compare_groups": lambda *d, **o: (
        sp.compare_groups(
            *d, groups=np.repeat(["x", "y"], N // 2), k=1, card=2, n_draws=19, **o
        ).fit.loadings.index
    ),
}


@pytest.mark.parametrize("call", VARIABLES_OF_CALL)
def test_a_formula_is_the_first_argument_or_an_option(call, frame):
    """The first argument is positional only; its place in the list of options is that of `formula`."""
    numbers, variables_of = frame[list("abcdef")], VARIABLES_OF_CALL[call]
    formula = "~ a + c + log(abs(e) + 1) + f"
    of_option = variables_of(numbers, formula=formula)
    assert list(variables_of(formula, data=numbers)) == list(of_option)
    assert len(of_option) == 4
    assert set("acf") < set(of_option)


def test_a_call_with_other_kinds_is_the_call_with_keywords(frame):
    numbers = frame[list("abcdef")]
    S, R = numbers.cov(), numbers.corr()
    groups = np.repeat(["x", "y"], N // 2)
    chunks = [numbers[:35], numbers[35:]]
    pairs = [
        (sp.spca_cov(S, 2, 3, n_obs=N, scale=True), sp.spca_cov(sp.covariance(S, n_obs=N, scale=True), 2, 3)),
        (sp.choose(R, 2, n_obs=N).fit, sp.choose(sp.covariance(R, n_obs=N), 2).fit),
        (sp.sparse_loadings_cov(R, 2, 3), sp.sparse_loadings_cov(sp.covariance(R), 2, 3)),
        (sp.spca(chunks, 2, 3, scale=True), sp.spca(sp.rows(chunks, scale=True), 2, 3)),
    ]
    for keywords, value in pairs:
        pd.testing.assert_frame_equal(value.loadings, keywords.loadings, check_exact=True)
        assert value.call == keywords.call
    one, other = (
        sp.compare_groups(numbers, groups, 1, 3, n_draws=19, scale=True, **FAST),
        sp.compare_groups(sp.rows(numbers, scale=True), groups, 1, 3, n_draws=19, **FAST),
    )
    assert str(one) == str(other)
    first = sp.spco(numbers, 2, zeros=0.5, scale=True).coordinates
    pd.testing.assert_frame_equal(sp.spco(sp.rows(numbers, scale=True), 2, zeros=0.5).coordinates, first)
    k = sp.choose_k(numbers, scale=True, n_draws=99)
    assert str(sp.choose_k(sp.rows(numbers, scale=True), n_draws=99)) == str(k)


@pytest.mark.parametrize("function", ["spca", "choose", "spca_path", "sparse_loadings", "choose_k"])
def test_options_of_data_are_refused_with_a_value_and_the_advice_is_accepted(function, frame):
    data = sp.rows(frame[list("abcdef")])
    call = getattr(sp, function)
    with pytest.raises(OptionError, match=r"data\.changed\(scale=True\)"):
        call(data, 2, scale=True) if function != "choose_k" else call(data, scale=True)
    assert data.changed(scale=True).options == {"scale": True}
    with pytest.raises(SpcaError):
        call(sp.covariance(frame[list("abcdef")].cov(), n_obs=N), 2, na="drop")


# --- options are declared once ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["spca", "spca_path", "choose", "choose_k", "sparse_loadings", "spco"])
def test_options_of_rows_have_one_declaration(name):
    declared = inspect.signature(sp.rows).parameters
    own = inspect.signature(getattr(sp, name)).parameters
    shared = set(own) & set(row_data.ROW_OPTIONS)
    assert {"formula", "scale", "na", "weights"} <= shared
    for option in shared:
        assert own[option].default == declared[option].default, option
        if (name, option) != ("spco", "na"):  # coordinates need complete rows
            assert own[option].annotation.replace("hints.", "") == declared[option].annotation.replace(
                "hints.", ""
            ), option


def entries(function):
    """The entries of the parameters in a docstring: name -> its line and text."""
    sections = re.findall(r"(?ms)^(?:Other )?Parameters\n-+\n(.*?)(?=\n\n|\Z)", inspect.getdoc(function))
    found = [re.match(r"\*{0,2}([\w, ]+)", entry) for entry in re.split(r"\n(?=\S)", "\n".join(sections))]
    return {name: match.string for match in found for name in match[1].split(" : ")[0].strip().split(", ")}


#: Options that mean something else than for rows and matrices, or take fewer values.
OWN_TEXTS = {
    "spco": {"na"},
    "compare_groups": {"formula", "scale", "na", "clusters"},
    "sparse_loadings_cov": {"scale"},
    "principal_variables_cov": {"scale", "n_obs"},
    **{name: {"n_obs"} for name in ("spca_path", "choose", "choose_k")},
    "correlation": {"codes"},
    "covariance": {"scale", "blocks"},
}
FUNCTIONS = [name for name in sp.__all__ if inspect.isfunction(getattr(sp, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_and_documentation_of_public_functions_agree(name):
    """Each parameter has an entry, each entry is an argument; shared options have the constructors' text."""
    function = getattr(sp, name)
    parameters = inspect.signature(function).parameters
    documented = {option: text for option, text in entries(function).items() if option != "options"}
    named = {"data" if option == "data_or_formula" else option for option in parameters} - {"options"}
    assert named <= set(documented)
    of_data = {*row_data.ROW_OPTIONS, *covariance_data.COVARIANCE_OPTIONS}
    by_keyword = of_data | set(hints.SpcaOptions.__annotations__)
    assert set(documented) - named <= (by_keyword if "options" in parameters else set())
    constructors = (sp.rows, sp.covariance) if name.endswith("_cov") else (sp.covariance, sp.rows)
    texts = {option: text for constructor in constructors for option, text in entries(constructor).items()}
    for option in (set(documented) & of_data) - OWN_TEXTS.get(name, set()):
        assert documented[option] == texts[option], option


def test_constructors_have_and_document_every_option():
    pairs = ((sp.rows, row_data.ROW_OPTIONS), (sp.covariance, covariance_data.COVARIANCE_OPTIONS))
    for function, names in pairs:
        parameters = {name for name in inspect.signature(function).parameters if name in names}
        assert parameters == set(names)
        text = inspect.getdoc(function)
        for name in names:
            assert f"\n{name} :" in text or f"{name}, " in text or f", {name} :" in text, name
    keywords = {*hints.RowOptions.__annotations__, *hints.SampleOptions.__annotations__}
    assert keywords <= set(row_data.ROW_OPTIONS)
    assert set(hints.MatrixOptions.__annotations__) <= set(covariance_data.COVARIANCE_OPTIONS)


# --- read once, and again only if need be ----------------------------------------------------------


def counted(monkeypatch, module, name):
    """Return a list that grows by one with every call of a function."""
    calls, function = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *a, **o: (calls.append(1), function(*a, **o))[1])
    return calls


def test_a_call_opens_its_data_once(monkeypatch, frame, tmp_path):
    numbers = frame[list("abcdef")]
    gaps = numbers.mask(np.random.default_rng(2).random(numbers.shape) < 0.03)
    gaps.to_csv(tmp_path / "rows.csv", index=False)
    doors = counted(monkeypatch, constructors, "source_of")
    read = counted(monkeypatch, row_data, "read_data")
    sp.choose(tmp_path / "rows.csv", cards=[2, 3], na="em", n_draws=99)
    assert (len(doors), len(read)) == (1, 1)
    data = sp.rows(numbers)
    sp.choose(data, cards=[2, 3], n_draws=99)
    fit = sp.spca(data, 2, 3)
    fit.bootstrap(10)
    fit.refit(scale=True, card=2)
    assert (len(doors), len(read)) == (2, 2)
    fit.refit(na="drop")  # an option for reading
    assert len(read) == 3
    streams = counted(monkeypatch, opening, "LocalStream")
    sp.choose([numbers[:35], numbers[35:]], 2, cards=[2, 3])
    assert (len(doors), len(streams)) == (3, 1)
    assert opening.source_of is not constructors.source_of  # the counters were in place


def test_a_value_warns_of_unequal_variances_once(frame):
    data = sp.rows(frame[list("abcdef")] * [1, 1, 1, 1, 1, 1e4])
    with pytest.warns(DataWarning, match="variances of the columns differ"):
        sp.spca(data, 2, 3, **FAST)
    sp.spca(data, 1, 3, **FAST)  # warnings are errors
    sp.choose_k(data, n_draws=99)


def test_changed_rows_are_noticed(frame):
    table = frame[list("abcdef")].to_numpy(copy=True)
    data = sp.rows(table)
    table[3, 0] = 7.0
    assert data.changed(scale=True).n == N  # the rows as they were read
    with pytest.raises(DataError, match="changed since the fit"):
        data.changed(na="drop")


def test_a_fit_from_a_file_takes_a_value_with_its_weights(frame, tmp_path):
    data = sp.rows(frame, scale=True, weights="w", clusters="school")
    fit = sp.spca(data, 2, 3)
    fit.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    numbers = fit.bootstrap(20).table
    pd.testing.assert_frame_equal(loaded.bootstrap(20, data=data).table, numbers, check_exact=False)
    with pytest.raises(DataError, match="clusters"):
        loaded.bootstrap(20, data=sp.rows(frame.drop(columns="school"), scale=True, weights="w"))
    with pytest.raises(DataError):
        loaded.bootstrap(20, data=sp.covariance(frame[list("abcdef")].cov()))


# --- nobody else compares kinds --------------------------------------------------------------------


#: What only one kind has, or kinds themselves.
KINDS = {"RowData", "ChunkData", "CovarianceData"}
FIELDS = {"stream", "matrix", "contents", "covariance"}


def conditions_on_kinds(tree: ast.Module) -> list[str]:
    """Return the conditions of a module that compare kinds of data, or fields that one kind has with None."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            names = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
            found += [ast.unparse(node)] * bool(names & KINDS)
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute):
            owner = node.left.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            if name in ("data", "source", "_source", "whole", "sample", "value") and node.left.attr in FIELDS:
                found.append(ast.unparse(node))
    return found


def test_no_module_but_inputs_compares_kinds_of_data():
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name != "inputs":
            assert conditions_on_kinds(ast.parse(path.read_text(encoding="utf-8"))) == [], path
    assert conditions_on_kinds(ast.parse("if source.stream is not None or isinstance(data, ChunkData): pass"))
    assert chunk_data.ChunkData.__name__ in KINDS


def test_data_of_the_other_kind_are_refused_with_the_functions_that_take_them():
    rows, matrix = sp.rows(sp.datasets.load_judges()), sp.covariance(sp.datasets.load_pitprops())
    for call, advice in (
        (lambda: sp.spca(matrix, 2, 3), r"spca\(\) needs rows here, .* give them to spca_cov\(\)"),
        (lambda: sp.spca_cov(rows, 2, 3), r"spca_cov\(\) needs a covariance matrix here, .* to spca\(\)"),
        (lambda: sp.spca_path(rows, 2, covariance=True), "needs a covariance matrix here"),
    ):
        with pytest.raises(OptionError, match=advice):
            call()
    with pytest.raises(UnknownOptionError, match="n_obs= was given with rows, but describes a covariance"):
        sp.spca_path(rows, 2, n_obs=9)
