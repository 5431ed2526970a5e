"""A formula or a table may come first: the same fit, the same call, and one sentence for what is neither."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import DataError, OptionError

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


def test_a_table_by_name_is_the_table_first():
    assert sp.spca(data=ROWS, **HOW).call == sp.spca(ROWS, **HOW).call
    other = ROWS * 2.0
    refitted = sp.spca(ROWS, **HOW).refit(data=other)
    pd.testing.assert_frame_equal(refitted.loadings, sp.spca(other, **HOW).loadings)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("first", "named", "error", "words"),
    [
        (FORMULA, {}, OptionError, r"was given to {}\(\) without data="),
        (ROWS, {"data": ROWS}, OptionError, r"given to {}\(\) twice, first and as data="),
        ("~ a", {"data": ROWS, "formula": "~ b"}, OptionError, r"formula was given to {}\(\) twice"),
        ("trips.csv", {"data": ROWS}, OptionError, "is no formula, which begins with ~"),
        (None, {}, DataError, r"{}\(\) was given no data"),
    ],
)
def test_other_spellings_are_answered_in_one_sentence(name, first, named, error, words):
    function, how = CALLS[name]
    with pytest.raises(error, match=words.format(name)) as caught:
        function(first, **named, **how)
    assert str(caught.value).rstrip(".").count(". ") == 0


def test_a_table_after_the_formula_is_asked_for_by_name():
    with pytest.raises(OptionError, match=r"spca\('~ a \+ b', data=df, \.\.\.\)"):
        sp.spca("~ a + b", ROWS, 2)


def test_a_path_in_the_home_folder_is_no_formula(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(DataError, match="no such file"):
        sp.spca("~/trips.csv", 2)


def test_what_most_users_need_comes_first_in_every_signature():
    wanted = ["data_or_formula", "k", "card", "data", "variance", "formula", "scale", "na", "weights"]
    assert list(inspect.signature(sp.spca).parameters)[: len(wanted)] == wanted
    shared = ["formula", "scale", "na", "weights", "method", "objective", "effort", "rng", "progress"]
    for function in (sp.spca, sp.spca_path, sp.choose, sp.choose_k, sp.spco):
        names = list(inspect.signature(function).parameters)
        assert [name for name in names if name in shared] == [name for name in shared if name in names]


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
    ratio = UNEQUAL.var().max() / UNEQUAL.var().nsmallest(2).iloc[-1]  # a tenth of 13 columns does not count
    with pytest.warns(sp.errors.DataWarning, match="differ by a factor of") as caught:
        function(UNEQUAL, **how)
    assert f"factor of {ratio:.2g} " in str(caught[0].message)
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
    with pytest.raises(OptionError, match="are sd=, and scale=True takes the correlations"):
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


def test_names_of_before_are_answered_by_those_of_now():
    for function, given, words in (
        (sp.choose, {"n_resample": 99}, r"choose\(\) has no argument n_resample=; .* n_draws="),
        (sp.choose_k, {"n_resample": 99}, r"choose_k\(\) has no argument n_resample=; .* n_draws="),
        (sp.choose_k, {"card": 4}, r"choose_k\(\) has no argument card=; .* sparse_card="),
        (sp.choose_k, {"k": 4}, r"choose_k\(\) has no argument k=; .* kmax="),
        (sp.spca, {"k": 1, "alpha": 1.0, "method": "nspca", "card": 3}, "nspca orthonormality="),
    ):
        with pytest.raises(sp.errors.UnknownOptionError, match=words):
            function(ROWS, **given)
    # the option of the method is another argument than the level of the tests
    how = {"method": "nspca", "orthonormality": 0.5, "alpha": 0.1, "n_draws": 19}
    choice = sp.choose(ROWS, k=1, cards=[2, 3], by="is", **how)
    assert choice.fit.options["orthonormality"] == 0.5


def test_the_third_argument_has_to_be_named():
    for function in (sp.choose, sp.spca_path):
        with pytest.raises(TypeError, match="positional arguments"):
            function(ROWS, 2, [2, 3])


def test_passes_are_for_rows_in_chunks():
    for function, how in (CALLS["spca_path"], CALLS["choose"], CALLS["choose_k"]):
        with pytest.raises(OptionError, match="passes=3 was given with data in memory"):
            function(ROWS, passes=3, **how)


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
