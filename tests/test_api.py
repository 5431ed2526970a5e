"""The public functions: the method, the first argument, options, warnings, and what a wrong call is told."""

from __future__ import annotations

import inspect
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.errors import (
    ComponentsError,
    ConvergenceWarning,
    DataError,
    MethodError,
    OptionError,
    ShapeError,
    UnknownOptionError,
)
from spcastat.fit.method_table import SOLVERS
from spcastat.results.fit import SpcaResult
from spcastat.results.path import SpcaPath
from spcastat.results.spco import SpcoPath, SpcoResult


def rows(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.standard_normal((n, 6)) * [1, 2, 3, 4, 5, 6], columns=list("abcdef"))


def test_the_method_follows_from_what_is_given():
    X = rows()
    assert sp.spca(X, 2, 3).method == "joint"
    assert sp.spca(X, 2, card=3).method == "joint"
    assert sp.spca(X, 2, variance=0.5).method == "joint"
    assert sp.spca(X, 2, t=1.2).method == "bcd-l1"
    assert sp.spca(X, 2, 3, nonneg=True).method == "bcd-l0"  # the search has no nonnegative form
    default = sp.spca(X, 2)
    assert default.method == "joint"
    assert (default.options["variance"], default.options["promise"]) == (0.9, "every")
    np.testing.assert_array_equal(default.loadings, sp.spca(X, 2, variance=0.9).loadings)
    assert sp.spca_cov(X.cov(), 2).method == "joint"


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"n_init": 5}, UnknownOptionError, r"methods that have it: 'bcd-l0', .*effort= sets how long"),
        ({"penalty": 0.1}, UnknownOptionError, r"'joint', the default, has no option 'penalty'.*'rsvd-l1'"),
        ({"variance": 0.9, "nonneg": True}, UnknownOptionError, r"has no option 'nonneg'.*'bcd-l0'"),
        ({"card": 3, "search": "joint"}, UnknownOptionError, "'search' is not an option of any method"),
        ({"card": 3, "method": "greedy", "effort": "quick"}, UnknownOptionError, "that have it: 'joint'"),
        ({"card": 3, "method": "greedy", "objective": "pev"}, UnknownOptionError, "have it: 'joint', 'bcd"),
        ({"card": 3, "effort": "slow"}, OptionError, "allowed values are 'quick', 'auto', 'thorough'"),
        ({"card": 3, "promise": "every"}, OptionError, "promise='every' was given with card="),
        ({"variance": 0.9, "promise": "some"}, OptionError, "allowed values are 'every', 'total'"),
        ({"variance": 0.9, "objective": "pev"}, OptionError, "objective='pev' was given with variance="),
    ],
)
def test_what_a_method_does_not_have_is_refused_with_the_methods_that_have_it(given, error, words):
    with pytest.raises(error, match=words):
        sp.spca(rows(), 2, **given)


def test_methods_are_listed():
    table = sp.methods().frames["methods"]
    assert {"bcd-l0", "bcd-l1", "greedy", "controlled", "pca"} <= set(table["name"])
    assert table.notna().all().all()
    assert table["name"].is_unique
    assert table.set_index("name").at["spco", "function"] == "spco"
    printed = str(sp.methods())
    assert max(map(len, printed.splitlines())) <= 80
    assert set(table["name"]) <= {line.partition(" ")[0] for line in printed.splitlines()}


# --- warnings -------------------------------------------------------------------------------------


def test_max_iter_warns_at_the_callers_line():
    X = np.random.default_rng(1).standard_normal((30, 8)) @ np.random.default_rng(2).standard_normal((8, 8))
    for call in (
        lambda: sp.spca(X, 3, 3, method="bcd-l0", max_iter=1),
        lambda: sp.spca_cov(np.cov(X, rowvar=False), 3, 3, method="bcd-l0", max_iter=1),
        lambda: sp.spca(X, 3, t=1.5, max_iter=2),
    ):
        with pytest.warns(ConvergenceWarning, match="max_iter") as record:
            fit = call()
        assert len(record) == 1
        assert record[0].filename == __file__
        assert not fit.converged
        assert fit.status == "max_iter"
        assert fit.glance()["n_iter"].item() <= 2
        assert "max_iter" in fit.summary().as_text(200)
        with pytest.warns(ConvergenceWarning) as again:
            fit.refit(max_iter=1)
        assert again[0].filename == __file__


def test_a_covariance_matrix_given_as_data_is_refused():
    S = rows().cov()
    for data in (S, S.to_numpy(), S.reset_index(drop=True)):
        with pytest.raises(DataError, match="spca_cov"):
            sp.spca(data, 2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sp.spca(S.rename(index="row {}".format), 2, 3, effort="quick")
        sp.spca(S.assign(a=0.5), 2, 3, effort="quick")
        sp.spca(rows().iloc[:6], 2, 3, effort="quick")


# --- input of all sorts ---------------------------------------------------------------------------


def test_containers_agree():
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")

    X = rows()
    plain = sp.spca(X, 2, 3, effort="quick")
    others = [X.to_numpy(), sps.csr_matrix(X.to_numpy()), sps.coo_array(X.to_numpy())]
    others += [pl.DataFrame({c: X[c].to_numpy() for c in X}), pa.table({c: X[c].to_numpy() for c in X})]
    others += [X.astype("Float64"), X.astype("double[pyarrow]"), np.asfortranarray(X.to_numpy())]
    for data in others:
        loadings = sp.spca(data, 2, 3, effort="quick").loadings
        loadings = loadings.drop("variable") if isinstance(loadings, pl.DataFrame) else loadings
        np.testing.assert_allclose(loadings, plain.loadings, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "mean", "sd"),
    [
        ({"center": False}, 0.0, 1.0),
        ({"center": np.arange(6.0)}, np.arange(6.0), 1.0),
        ({"scale": np.arange(1.0, 7.0)}, None, np.arange(1.0, 7.0)),
        (
            {"center": list(range(6)), "scale": pd.Series(range(6, 0, -1), index=list("fedcba"))},
            np.arange(6.0),
            np.arange(1.0, 7.0),
        ),
    ],
)
def test_center_and_scale_of_ones_own(options, mean, sd):
    X = rows() + 2.0
    Y = (X - (X.mean() if mean is None else mean)) / sd
    S = Y.T @ Y / (len(X) - 1)
    for data in (X, sps.csr_array(X.to_numpy())):
        if sps.issparse(data) and isinstance(options.get("scale"), pd.Series):
            continue  # labels to align by are the frame's
        fit = sp.spca(data, 2, 3, **options, effort="quick")
        np.testing.assert_allclose(fit.loadings, sp.spca_cov(S, 2, 3, effort="quick").loadings, atol=1e-9)
        assert fit.total_variance == pytest.approx(np.trace(S), rel=1e-12)


def test_constant_and_repeated_columns():
    X = rows().assign(constant=0.1, again=lambda d: d["f"])
    for options in ({"card": 3}, {"card": 3, "method": "greedy"}, {"variance": 0.9}):
        fit = sp.spca(X, 2, **options)
        assert (fit.loadings.loc["constant"] == 0).all()
        assert fit.loadings.loc["again", "PC1"] == pytest.approx(fit.loadings.loc["f", "PC1"], rel=1e-9)


def test_frames_are_not_changed():
    X = rows().assign(flag=lambda d: d["a"] > 0, whole=np.arange(40))
    X["nullable"] = pd.array(range(40), dtype="Int64")
    before, attrs = X.copy(deep=True), dict(X.attrs)
    fit = sp.spca(X, 2, 3, scale=True, weights=np.arange(40.0), effort="quick")
    scores = fit.scores
    scores.iloc[:] = 0.0
    fit.transform(X)
    fit.summary()
    fit.refit(center=False)
    pd.testing.assert_frame_equal(X, before, check_exact=True)
    assert X.attrs == attrs
    S = rows().cov()
    held = S.copy()
    sp.spca_cov(S, 2, 3, method="bcd-l0", n_init=3).refit(card=1)
    pd.testing.assert_frame_equal(S, held, check_exact=True)


def test_a_generator_gives_what_its_seed_gives():
    X = rows()
    options = {"k": 2, "card": 3, "method": "bcd-l0", "n_init": 5}
    by_seed = sp.spca(X, rng=11, **options)
    by_generator = sp.spca(X, rng=np.random.default_rng(11), **options)
    np.testing.assert_array_equal(by_seed.loadings, by_generator.loadings)
    np.random.seed(1)  # noqa: NPY002 - the global state must not matter
    np.testing.assert_array_equal(sp.spca(X, **options).loadings, sp.spca(X, **options).loadings)
    np.testing.assert_array_equal(sp.spca(X, 2, 3).loadings, sp.spca(X, 2, 3).loadings)


# --- A formula or a table may come first ----------------------------------------------------------

ROWS = sp.datasets.pitprops_sample(rng=0) + 5.0
FORMULA = "~ topdiam + length + log(moist) + knots"
HOW = {"k": 2, "card": 2, "method": "greedy"}
CALLS = {
    "spca": (sp.spca, HOW),
    "spca_path": (sp.spca_path, {"k": 1, "cards": [1, 3], "method": "greedy"}),
    "choose": (sp.choose, {"k": 1, "cards": [1, 2], "by": "is"}),
    "choose_k": (sp.choose_k, {"n_draws": 19, "kmax": 2}),
    "spco": (sp.spco, {"k": 2, "zeros": 0.3}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_formula_first_is_the_formula_by_name(name):
    function, how = CALLS[name]
    by_name = function(ROWS, formula=FORMULA, **how)
    for again in (function(FORMULA, data=ROWS, **how), function(data=ROWS, formula=FORMULA, **how)):
        assert str(again) == str(by_name)
        if hasattr(by_name, "call"):
            assert again.call == by_name.call
        if hasattr(by_name, "loadings"):
            pd.testing.assert_frame_equal(again.loadings, by_name.loadings, check_exact=True)


def test_names_of_the_callers_scope_are_kept_for_refits_and_new_rows():
    def halved(column):
        return column / 2.0

    first = sp.spca("~ halved(topdiam) + length + knots", data=ROWS, **HOW)
    named = sp.spca(ROWS, formula="~ halved(topdiam) + length + knots", **HOW)
    again = _elsewhere(first)
    pd.testing.assert_frame_equal(again.loadings, named.refit(card=1).loadings, check_exact=True)
    pd.testing.assert_frame_equal(first.transform(ROWS), named.scores)
    frame = ROWS.assign(halved=ROWS["topdiam"] / 2.0)[["halved", "length", "knots"]]
    np.testing.assert_allclose(first.loadings, sp.spca(frame, **HOW).loadings, atol=1e-12)


def _elsewhere(fit):
    """Refit where the names of the formula are not in scope."""
    return fit.refit(card=1)


def test_a_saved_fit_has_the_call_with_the_formula(tmp_path):
    fit = sp.spca(FORMULA, data=ROWS, scale=True, **HOW)
    fit.save(tmp_path / "fit.spca")
    later = sp.load(tmp_path / "fit.spca")
    assert later.call == fit.call
    assert fit.call == f"spca(data, k=2, card=2, formula={FORMULA!r}, scale=True, method='greedy')"
    pd.testing.assert_frame_equal(later.transform(ROWS), fit.scores)
    replayed = eval(later.call, {"spca": sp.spca, "data": ROWS})
    pd.testing.assert_frame_equal(replayed.loadings, fit.loadings, check_exact=True)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("first", "named", "error", "words"),
    [
        (FORMULA, {}, OptionError, r"was given to {}\(\) without data="),
        (
            ROWS,
            {"data": ROWS},
            OptionError,
            r"{}\(\) was given data twice, as the first argument and as data=",
        ),
        ("~ a", {"data": ROWS, "formula": "~ b"}, OptionError, r"formula was given to {}\(\) twice"),
        ("trips.csv", {"data": ROWS}, OptionError, "is not a formula, which begins with ~"),
        (None, {}, DataError, r"{}\(\) was given no data"),
    ],
)
def test_other_spellings_are_answered_in_one_sentence(name, first, named, error, words):
    function, how = CALLS[name]
    with pytest.raises(error, match=words.format(name)) as caught:
        function(first, **named, **how)
    assert str(caught.value).rstrip(".").count(". ") == 0


def test_a_path_in_the_home_folder_is_no_formula(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(DataError, match="no such file"):
        sp.spca("~/trips.csv", 2)


@pytest.mark.parametrize("name", [*CALLS, "spca_cov"])
def test_every_argument_and_option_has_a_line_in_the_docstring(name):
    function = getattr(sp, name)
    text = inspect.getdoc(function)
    for argument in inspect.signature(function).parameters:
        if argument not in ("data_or_formula", "options"):
            assert re.search(rf"(?m)^(\w+, )*{argument}(, \w+)* : ", text), argument


# --- columns in very different units --------------------------------------------------------------

UNEQUAL = ROWS.assign(length=1000.0 * ROWS["length"])


@pytest.mark.parametrize("name", CALLS)
def test_very_unequal_variances_are_reported_once_at_the_callers_line(name):
    function, how = CALLS[name]
    ratio = UNEQUAL.var().max() / UNEQUAL.var().min()
    with pytest.warns(sp.errors.DataWarning, match="differ by a factor of") as caught:
        function(UNEQUAL, **how)
    assert f"factor of {ratio:.2g} (from {UNEQUAL.var().min():.3g} of" in str(caught[0].message)
    assert [one.filename for one in caught] == [__file__]
    for scale in (False, True):  # no warning, which would be an error here
        function(UNEQUAL, scale=scale, **how)


def test_refits_do_not_repeat_the_warning():
    with pytest.warns(sp.errors.DataWarning, match="'length'"):
        fit = sp.spca(UNEQUAL, **HOW)
    assert fit.refit(card=1).card.tolist() == [1, 1]
    assert sp.spca(UNEQUAL, scale=False, **HOW).call.count("scale=False") == 1


def test_a_covariance_matrix_of_unequal_variances_is_reported_too():
    with pytest.warns(sp.errors.DataWarning, match="differ by a factor"):
        sp.spca_cov(UNEQUAL.cov(), 2, 3, method="greedy")


def test_a_single_nearly_constant_column_among_many_and_sparse_counts_are_not():
    wide = pd.concat([ROWS, ROWS.iloc[:, :1].rename(columns={"topdiam": "small"}) * 1e-4], axis=1)
    sp.spca(wide, **HOW)
    import scipy.sparse as sps

    sp.spca(sps.csr_array(UNEQUAL.to_numpy()), **HOW)


# --- a covariance matrix: scale and sd ------------------------------------------------------------


def test_scale_of_a_covariance_matrix_takes_its_correlations():
    rows = sp.spca(UNEQUAL, 2, 4, scale=True, effort="quick")
    matrix = sp.spca_cov(UNEQUAL.cov(), 2, 4, scale=True, mean=UNEQUAL.mean(), effort="quick")
    np.testing.assert_allclose(matrix.loadings, rows.loadings, atol=1e-9)
    np.testing.assert_allclose(matrix.transform(UNEQUAL), rows.scores, atol=1e-9)
    np.testing.assert_allclose(matrix.variance, rows.variance, rtol=1e-9)
    by_sd = sp.spca_cov(UNEQUAL.corr(), 2, 4, mean=UNEQUAL.mean(), sd=UNEQUAL.std(), effort="quick")
    np.testing.assert_allclose(by_sd.transform(UNEQUAL), rows.scores, atol=1e-9)
    again = matrix.refit(card=3)
    np.testing.assert_allclose(again.loadings, rows.refit(card=3).loadings, atol=1e-9)


def test_the_scale_of_a_covariance_matrix_is_no_numbers():
    S = UNEQUAL.cov()
    with pytest.raises(OptionError, match="sd= gives the standard deviations"):
        sp.spca_cov(S, 2, 4, mean=UNEQUAL.mean(), scale=UNEQUAL.std())
    with pytest.raises(OptionError, match="sd was given without mean"):
        sp.spca_cov(S, 2, 4, sd=UNEQUAL.std())
    with pytest.raises(OptionError, match=r"scale=2\.0 was given for a covariance matrix"):
        sp.spca_cov(S, 2, 4, scale=2.0)
    S.loc["knots"] = S["knots"] = 0.0
    with pytest.raises(sp.errors.ConstantColumnError, match="variance of 'knots' is zero"):
        sp.spca_cov(S, 2, 4, scale=True)


# --- names, seeds, passes -------------------------------------------------------------------------


def test_a_path_takes_a_generator_and_its_fits_can_be_repeated():
    how = {"k": 2, "cards": [2, 3], "method": "bcd-l0", "n_init": 4}
    one, other = (sp.spca_path(ROWS, rng=np.random.default_rng(3), **how) for _ in range(2))
    pd.testing.assert_frame_equal(one[3].loadings, other[3].loadings, check_exact=True)
    assert one[3].call == other[3].call
    assert "rng=" in one[3].call
    pd.testing.assert_frame_equal(one[3].refit().loadings, other[3].refit().loadings, check_exact=True)


def test_the_estimator_has_the_rules_and_the_objective():
    pytest.importorskip("sklearn")
    from spcastat.sklearn import SparsePCA

    assert sp.sklearn.SparsePCA is SparsePCA
    how = {"objective": "pev", "effort": "quick", "include": {"PC1": ["topdiam"]}}
    how |= {"exclude": ["knots"], "disjoint": True}
    model = SparsePCA(n_components=2, card=3, scale=True, **how).fit(ROWS)
    fit = sp.spca(ROWS, 2, 3, scale=True, **how)
    np.testing.assert_array_equal(model.components_, fit.loadings.T)
    assert model.get_params()["effort"] == "quick"
    names = list(ROWS)
    assert model.components_[0, names.index("topdiam")] != 0
    assert not model.components_[:, names.index("knots")].any()
    assert ((model.components_ != 0).sum(axis=0) <= 1).all()
    with pytest.raises(OptionError, match="options names 'effort', which is a parameter"):
        SparsePCA(card=3, options={"effort": "quick"}).fit(ROWS)
    with pytest.warns(sp.errors.DataWarning, match="differ by a factor"):
        SparsePCA(card=3, method="greedy").fit(UNEQUAL)


# --- What a wrong call is answered with -----------------------------------------------------------

R = sp.datasets.load_pitprops()
X = sp.datasets.make_hastie(40)


@pytest.mark.parametrize(
    ("function", "data", "given", "answer"),
    [
        (sp.spca_cov, R, {"center": True}, r"not apply to spca_cov\(\): .* is centred already"),
        (sp.spca_cov, R, {"centre": True}, r"Did you mean 'center'\? That does not apply"),
        (sp.spca_cov, R, {"weights": [1.0]}, r"weights belong to rows, so give the rows to spca\(\)"),
        (sp.spca_cov, R, {"formula": "~ a"}, r"belongs to a fit of rows, spca\(data"),
        (sp.spca_cov, R, {"n_ob": 180}, r"Did you mean 'n_obs'\?"),
        (sp.spca_cov, R, {"progres": True}, r"Did you mean 'progress'\?"),
        (sp.spca, X, {"progres": True}, r"Did you mean 'progress'\?"),
        (sp.spca, X, {"n_obs": 40}, r"belongs to a fit of a covariance matrix, spca_cov\(S"),
        (sp.spca, X, {"cards": [1, 2]}, r"belongs to a path, spca_path\(data"),
        (sp.spca, X, {"zeros": 0.5}, r"for spcastat\.spco\(data, k, zeros="),
        (sp.spca_path, X, {"centre": True}, r"Did you mean 'center'\?$"),
        (sp.spca_path, X, {"n_ob": 40}, r"Did you mean 'n_init'\?|Did you mean 'n_obs'\?"),
        (sp.spca_path, R, {"center": True}, r"center= was given with a covariance matrix, but describes"),
        (sp.spca_path, X, {"n_obs": 40}, r"n_obs= was given with rows, but describes a covariance matrix"),
        (sp.choose, X, {"n_resample": 99}, r"the number of draws is n_draws="),
        (sp.choose, X, {"level": 0.1}, r"level of the tests is alpha="),
        (sp.spca, X, {"alpha": 1.0}, "nspca also orthonormality="),
        (sp.choose, X, {"mean": X.mean()}, r"mean= was given with rows"),
        (sp.choose, X, {"card": 5}, r"give cards="),
    ],
)
def test_an_argument_is_answered_with_where_it_belongs(function, data, given, answer):
    with pytest.raises(UnknownOptionError, match=answer) as caught:
        function(data, 2, **given)
    (name,) = given
    assert f"Did you mean {name!r}" not in str(caught.value)


def test_one_of_a_thing_is_written_as_one():
    with pytest.raises(ComponentsError, match=r"at most 1 component\.$"):
        sp.spca(X[["X1"]], 2, 1)
    ones = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [2.0, 4.0, 8.0]})
    with pytest.raises(ComponentsError, match=r"at most 1 component\.$"):
        sp.spca(ones, 2, 1)
    with pytest.raises(ShapeError, match="have 1 row and no columns"):
        sp.spca(np.empty((1, 0)), 1, 1)
    one = sp.spca(X[["X1"]], 1, 1)
    text = str(one)
    assert "40 rows and 1 variable," in text
    assert "1 component with 1 nonzero loading" in " ".join(text.split())
    assert not re.search(r"\b1 [a-z]+s\b", text), text


# --- Pages of methods, from the docstrings of their solvers ---------------------------------------


@pytest.mark.parametrize("name", SOLVERS)
def test_a_page_explains_every_option(name):
    method = SOLVERS[name]
    page = sp.methods(name)
    options = page.frames["options"]
    assert tuple(options.index) == method.options
    assert all(len(meaning) > 10 for meaning in options["meaning"])
    assert (options["kind"] != "").all()
    assert "DEFLATIONS" not in " ".join(options["meaning"])
    text = " ".join(str(page).split())
    assert method.use in text
    assert method.paper in text
    assert len(method.use) > 20
    assert all(len(line) <= 80 for line in str(page).splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVERS)
def test_its_example_runs_on_rows(name):
    """The example of the page, word for word."""
    text = " ".join(str(sp.methods(name)).split())
    call = text[text.index("spcastat.spca(data") :]
    call = call[: call.index(")") + 1]
    data = sp.datasets.pitprops_sample(rng=0)
    fit = eval(call, {"spcastat": sp, "data": data})
    assert fit.method == name
    assert fit.loadings.shape == (13, 3)


def test_unknown_names():
    # a suggestion instead of all names
    with pytest.raises(MethodError, match=r"^name='bcd-0' is not known\. Did you mean 'bcd-l0'\?$"):
        sp.methods("bcd-0")
    with pytest.raises(MethodError, match=r"help\(spcastat.spco\)"):
        sp.methods("spco")


@pytest.mark.parametrize("kind", [SpcaResult, SpcaPath, SpcoResult, SpcoPath])
def test_help_of_every_plot_describes_its_parameters(kind):
    for name in dir(kind):
        if not name.startswith(("plot", "biplot", "screeplot")):
            continue
        method = getattr(kind, name)
        text = inspect.getdoc(method) or ""
        described = re.findall(r"^((?:\w+, )*\w+)(?: : .*)?$", text, re.MULTILINE)
        known = {word for line in described for word in line.split(", ")}
        wanted = set(inspect.signature(method).parameters) - {"self"}
        section = text.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
        flush = [line for line in section.splitlines() if line and not line.startswith("    ")]
        assert all(re.fullmatch(r"(\w+, )*\w+( : .*)?", line) for line in flush), f"{name}: {flush}"
        assert wanted <= known or "with the same parameters" in text, f"{name}: {wanted - known}"


# --- the formula first, and spellings --------------------------------------------------------------


def test_a_table_in_the_place_of_k_is_answered_with_the_call():
    df = sp.datasets.make_hastie(n=30)
    for function in (sp.spca, sp.choose, sp.spca_path):
        with pytest.raises(sp.errors.OptionError, match=r"table second.*data=df, k=2\)\. A formula is text"):
            function("X1 X2", df)
        with pytest.raises(sp.errors.OptionError, match=r"table second.*\('~ X1 \+ X2', data=df, k=2\)\.$"):
            function("~ X1 + X2", df)
        with pytest.raises(sp.errors.OptionError, match=r"table second.*\('~ X1 \+ X2', data=df, k=2\)\.$"):
            function("~ X1 + X2", df, k=1)
    with pytest.raises(sp.errors.OptionError, match=r"table second.*choose_k\('~ X1', data=df\)\.$"):
        sp.choose_k("~ X1", df)


def test_spellings_that_differ_by_case_or_number():
    df = sp.datasets.make_hastie(n=30)
    with pytest.raises(sp.errors.UnknownOptionError, match=r"Did you mean 'card'\? cards= belongs to a path"):
        sp.spca(df, 2, cards=3)
    with pytest.raises(sp.errors.OptionError, match=r"objective='PEV' is not known.*Did you mean 'pev'\?"):
        sp.spca(df, 2, 3, objective="PEV")
