"""The choice of cardinalities: the model's numbers by plain linear algebra, planted truth, refusals."""

from __future__ import annotations

import re
from dataclasses import replace
from math import comb

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.assess.candidates import Limit, beaten, by_errors, ebic
from spcastat.assess.cardinalities import Fitter
from spcastat.assess.draws import Rules
from spcastat.assess.folds import Errors, FoldSums, MomentFolds, PlainRows, RowFolds
from spcastat.assess.refit import SparseModel, batched_press
from spcastat.assess.unequal_cardinalities import Unequal, unless_alone
from spcastat.errors import (
    NoRowsError,
    OptionError,
)
from spcastat.linalg.operators import Gram
from spcastat.measures import adjusted_variances
from spcastat.results.choice import support_overlap
from tests.assess.conftest import sigma

CARDS = [2, 4, 6, 8]


def planted(n: int, p: int, cards: tuple[int, ...], variances: tuple[float, ...], seed: int) -> pd.DataFrame:
    """Rows with disjoint sparse components, of equal loadings with alternating signs, and unit noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    first = 0
    for card, variance in zip(cards, variances, strict=True):
        v = np.where(np.arange(card) % 2, -1.0, 1.0) / np.sqrt(card)
        X[:, first : first + card] += np.outer(rng.standard_normal(n) * np.sqrt(variance), v)
        first += card
    return pd.DataFrame(X, columns=[f"v{j + 1}" for j in range(p)])


@pytest.fixture(scope="module")
def X() -> pd.DataFrame:
    return planted(120, 16, (4, 4), (6.0, 4.0), 3)


@pytest.fixture
def case() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    A = rng.standard_normal((60, 7)) @ np.diag([3, 3, 2, 2, 1, 1, 1]) + 2 * rng.standard_normal((60, 1))
    V = np.zeros((7, 2))
    V[[0, 1, 2], 0], V[[2, 3], 1] = (0.6, 0.6, 0.52915), (0.6, 0.8)
    return V, np.cov(A.T)


def test_the_deviance_is_that_of_the_dense_matrix(case):
    V, S = case
    Sigma = sigma(V, S)
    expected = 50 * (np.linalg.slogdet(Sigma)[1] + np.trace(np.linalg.solve(Sigma, S)))
    assert SparseModel.of(V, Gram(S)).deviance(50) == pytest.approx(expected, rel=1e-10)  # rounding


def test_ebic_adds_what_its_paper_says(case):
    V, S = case
    model = SparseModel.of(V, Gram(S))
    expected = model.deviance(50) + 5 * np.log(50) + 2 * (np.log(comb(7, 3)) + np.log(comb(7, 2)))
    assert ebic(model, 50, np.array([3, 2])) == pytest.approx(expected, rel=1e-12)


def test_cells_are_predicted_from_the_others_of_their_row(case):
    """Against the regression of each variable on the others that Sigma implies, cell by cell."""
    V, S = case
    Sigma = sigma(V, S)
    rows = np.random.default_rng(1).standard_normal((9, 7))
    expected = 0.0
    for j in range(7):
        rest = np.delete(np.arange(7), j)
        weights = np.linalg.solve(Sigma[np.ix_(rest, rest)], Sigma[rest, j])
        expected += ((rows[:, j] - rows[:, rest] @ weights) ** 2).sum()
    model = SparseModel.of(V, Gram(S))
    block = rows[:, model.used].T @ rows[:, model.used]
    assert model.press((rows**2).sum(axis=0), block) == pytest.approx(expected, rel=1e-9)


def test_a_variable_alone_in_its_component_is_predicted_by_its_mean(case):
    _, S = case
    model = SparseModel.of(np.eye(7)[:, :1], Gram(S))
    rows = np.random.default_rng(1).standard_normal((9, 7))
    block = rows[:, model.used].T @ rows[:, model.used]
    assert model.press((rows**2).sum(axis=0), block) == pytest.approx((rows**2).sum())


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_folds_are_those_of_the_rows(weighted):
    rng = np.random.default_rng(5)
    rows, labels = rng.standard_normal((40, 5)) + 100, np.arange(40) % 4
    w = rng.integers(1, 4, 40).astype(float) if weighted else None
    names = pd.RangeIndex(5)
    sums = FoldSums(5, 4, 1)
    sums.add_to(0, labels, rows, w)
    one = MomentFolds(sums, Rules(True, True, names))
    other = RowFolds(PlainRows(rows), w, labels[None], Rules(True, True, names))
    for fold in range(4):
        out = labels == fold
        training = rows[~out] if w is None else np.repeat(rows[~out], w[~out].astype(int), axis=0)
        held = rows[out] if w is None else np.repeat(rows[out], w[out].astype(int), axis=0)
        Z = (held - training.mean(axis=0)) / training.std(axis=0, ddof=1)
        for folds in (one, other):
            op, found = folds.split(fold)
            S = op.block(np.arange(5)) * op.unit**2
            # a mean of 100 costs four of sixteen digits
            np.testing.assert_allclose(S, np.corrcoef(training.T), atol=1e-10)
            np.testing.assert_allclose(found.squares, (Z**2).sum(axis=0), rtol=1e-9)
            np.testing.assert_allclose(found.block(np.array([1, 3])), (Z.T @ Z)[[1, 3]][:, [1, 3]], rtol=1e-8)


# --- planted truth --------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["cv", "ebic"])
def test_the_planted_cardinality_is_chosen(X, by):
    choice = sp.choose(X, k=2, cards=CARDS, by=by)
    assert choice.card == 4
    supports = {frozenset(column[column != 0].index) for _, column in choice.fit.loadings.items()}
    assert supports == {frozenset(X.columns[:4]), frozenset(X.columns[4:8])}
    assert choice.table.loc[choice.table["chosen"], "card"].tolist() == [4]
    assert "ardinality 4" in choice.reason


def test_unequal_cardinalities_are_chosen_freely():
    data = planted(150, 16, (6, 3), (9.0, 5.0), 1)
    assert sp.choose(data, k=2, cards=[2, 3, 4, 6, 8], each="free").card == [6, 3]


def test_many_cardinalities_are_fitted_at_once(X):
    """Each to each matrix, better than the start; a component of all variables is that of PCA."""
    ops = [Gram(X.iloc[:60].cov().to_numpy()), Gram(X.iloc[60:].cov().to_numpy())]
    cards = [(1, 3), (1, 5), (4, 2), (16, 6)]
    starts = [[[op.leading(2)[1]] for op in ops]] * len(cards)
    found = Fitter(2).fits(ops, cards, starts, ordered=True)
    counts = [[tuple(np.count_nonzero(V, axis=0).tolist()) for V in fits] for fits in found]
    assert counts == [[card] * 2 for card in cards]
    for fits, (op, own) in zip(zip(*found, strict=True), zip(ops, starts[0], strict=True), strict=True):
        for V, card in zip(fits, cards, strict=True):
            cut = np.where(np.argsort(np.argsort(-abs(own[0]), axis=0), axis=0) < card, own[0], 0.0)
            assert adjusted_variances(V, op).sum() >= adjusted_variances(cut, op).sum() * (1.0 - 1e-12)
    single = Fitter(1).fits(ops, [(1,), (16,)], [[[op.leading(1)[1]] for op in ops]] * 2)
    for op, V in zip(ops, single[1], strict=True):
        largest = np.linalg.eigvalsh(op.block(np.arange(16)))[-1]
        np.testing.assert_allclose(op.products(V), largest, rtol=1e-9)


def test_two_sets_that_prefer_each_other_end_the_search(monkeypatch):
    """Next to (12, 3) the rule prefers (12, 2), next to that (12, 3): the sparser one is kept."""
    other = {(12, 3): (12, 2), (12, 2): (12, 3)}
    monkeypatch.setattr(Unequal, "_chosen", lambda self, tried, j: other[self.card] if j else self.card)
    search = object.__new__(Unequal)
    search.card, search.fits, search.supports = (12, 3), {}, None
    assert search.search([1, 2, 3, 12]) == (12, 2)


def test_without_k_the_number_comes_first(X):
    choice = sp.choose(X, cards=CARDS)
    assert (choice.k, choice.card) == (2, 4)
    assert choice.k_choice.k == 2


@pytest.mark.parametrize(
    ("cards", "options"),
    [
        (CARDS, {"scale": True, "repeats": 1}),
        (CARDS, {"rng": 5, "repeats": 2, "folds": 3}),
        ([2, 4, 6, 8, 10], {"each": "free", "objective": "pev", "effort": "quick"}),
        (CARDS, {"na": "em", "by": "ebic"}),
        (CARDS, {"method": "bcd-l0", "n_init": 3, "repeats": 1}),
        (CARDS, {"include": {"PC1": ["v16"]}, "folds": 3, "repeats": 1}),
    ],
)
def test_the_fit_is_that_of_its_call(X, cards, options):
    if "na" in options:
        X = X.mask(np.random.default_rng(0).random(X.shape) < 0.05)
    choice = sp.choose(X, k=2, cards=cards, **options)
    of_the_choice = ("folds", "repeats", "rng", "by", "rule", "each")
    own = {name: value for name, value in options.items() if name not in of_the_choice}
    again = sp.spca(X, k=2, card=choice.card, **own)
    pd.testing.assert_frame_equal(choice.fit.loadings, again.loadings, rtol=0.0, atol=1e-10)
    np.testing.assert_array_equal(choice.fit.loadings != 0, again.loadings != 0)
    assert (str(choice.fit), choice.fit.call) == (str(again), again.call)
    pd.testing.assert_frame_equal(choice.fit.refit(card=2).loadings, again.refit(card=2).loadings)


def test_the_fit_to_a_covariance_matrix_or_to_chunks_is_that_of_its_call(X):
    for data, own, drawn in (
        (X.cov(), {"n_obs": 120}, {}),
        ([X.iloc[:70], X.iloc[70:]], {}, {"folds": 3, "repeats": 1}),
    ):
        choice = sp.choose(data, k=2, cards=CARDS, **drawn, **own)
        again = (sp.spca_cov if own else sp.spca)(data, k=2, card=choice.card, **own)
        pd.testing.assert_frame_equal(choice.fit.loadings, again.loadings, rtol=0.0, atol=1e-10)
        assert str(choice.fit) == str(again)


def test_a_covariance_matrix_is_chosen_by_ebic_as_its_rows_are(X):
    by_rows = sp.choose(X, k=2, cards=CARDS, by="ebic")
    by_matrix = sp.choose(X.cov(), k=2, cards=CARDS, n_obs=len(X))
    assert (by_matrix.by, by_matrix.card) == ("ebic", by_rows.card)
    np.testing.assert_allclose(by_matrix.table["ebic"], by_rows.table["ebic"], rtol=1e-8)  # sweeps end


def test_the_share_of_variance_is_kept(X):
    choice = sp.choose(X, k=2, cards=range(1, 11), by="variance", share=0.8)
    table = choice.table.set_index("card")["relative_adjusted"]
    assert table[choice.card] >= 0.8
    assert (table[table.index < choice.card] < 0.8).all()


@pytest.mark.parametrize("method", ["bcd-l0", "rspca-l0", "nspca"])
def test_folds_are_fitted_by_the_method_that_was_named(X, method):
    data = X.abs() if method == "nspca" else X
    choice = sp.choose(data, k=2, cards=[2, 4], folds=3, repeats=1, method=method)
    assert choice.fit.method == method


# --- what the rows come as ------------------------------------------------------------------------


def test_sparse_rows_give_the_table_of_dense_ones(X):
    from scipy import sparse

    Z = X.where(X.abs() > 0.8, 0.0)
    dense = sp.choose(Z.to_numpy(), k=2, cards=CARDS, repeats=1)
    other = sp.choose(sparse.csr_array(Z.to_numpy()), k=2, cards=CARDS, repeats=1)
    pd.testing.assert_frame_equal(dense.table, other.table, rtol=1e-8)  # products in another order


def test_chunks_of_any_size_give_one_choice(X):
    few = sp.choose([X.iloc[:70], X.iloc[70:]], k=2, cards=CARDS, repeats=1)
    many = sp.choose([X.iloc[a : a + 17] for a in range(0, 120, 17)], k=2, cards=CARDS, repeats=1)
    assert few.card == many.card == 4
    pd.testing.assert_frame_equal(few.table, many.table, rtol=1e-8)  # sums in another order


def test_what_a_formula_learns_it_learns_without_the_fold(X):
    """The formula's own scale() is what scale=True does, in every fold."""
    some = X.iloc[:, :6] * [1, 2, 3, 4, 5, 6]
    terms = " + ".join(f"scale({name})" for name in some.columns)
    by_formula = sp.choose(some, k=2, cards=[2, 4], formula=f"~ {terms}", folds=3, repeats=1)
    by_option = sp.choose(some, k=2, cards=[2, 4], scale=True, folds=3, repeats=1)
    pd.testing.assert_series_equal(by_formula.table["error"], by_option.table["error"], rtol=1e-8)


def test_the_number_of_processes_changes_no_bit(X):
    one, two = (sp.choose(X, k=2, cards=[2, 4], folds=3, n_jobs=jobs).table for jobs in (1, 2))
    pd.testing.assert_frame_equal(one, two, check_exact=True)


# --- how it is shown ------------------------------------------------------------------------------


def test_it_prints_within_80_columns_in_four_formats(X):
    choice = sp.choose(
        X.set_axis([f"a rather long name of a variable {j}" for j in range(16)], axis=1),
        cards=CARDS,
        n_draws=39,
        repeats=1,
    )
    for one in (choice, choice.k_choice):
        assert max(map(len, str(one).splitlines())) <= 80
        assert "<table" in one.as_html()
        assert r"\toprule" in one.as_latex()
        assert "| " in one.as_markdown()


def test_the_plot_marks_the_choice(X):
    choice = sp.choose(X, k=2, cards=CARDS)
    ax = choice.plot()
    marks = [line for line in ax.get_lines() if line.get_label() == "chosen"]
    assert [line.get_xdata().tolist() for line in marks] == [[8.0]]
    assert choice.table["chosen"].sum() == 1


def test_unequal_cardinalities_are_not_on_the_curve_of_equal_ones():
    table = pd.DataFrame({"nonzeros": [2, 4, 5, 6], "chosen": [False, False, True, False]})
    table = table.assign(card=[1, 2, (4, 1), 3], error=[0.9, 0.8, 0.5, 0.7], se=0.1)
    ax = sp.plots.plot_choice(table)
    curve, *apart = ax.get_lines()
    assert curve.get_xdata().tolist() == [2, 4, 6]  # no dip at five
    assert [line.get_xdata().tolist() for line in apart if line.get_label().startswith("chosen")] == [[5]]
    plt.close(ax.figure)
    all_unequal = table.assign(card=[(1, 1), (2, 2), (4, 1), (3, 3)])
    assert not sp.plots.plot_choice_data(all_unequal)["unequal"].any()


def test_the_report_has_the_choice_before_the_fit(X, tmp_path):
    sp.choose(X, cards=CARDS, n_draws=39, repeats=1).report(tmp_path / "a.html", title="Planted")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.index("How many components") < page.index("How sparse") < page.index("Loadings and variance")
    assert "It does not say how sure the variables of the choice are" in page  # what each figure does not say
    assert "A component below the line may be real and weak" in page


def test_the_report_takes_the_options_of_the_tables(X, tmp_path):
    choice = sp.choose(X, k=2, cards=CARDS, by="is")
    groups, row_groups = ["scale one"] * X.shape[1], ["u", "v"] * 60
    choice.report(tmp_path / "a.html", digits=5, sections=groups, groups=row_groups)
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert f"{choice.fit.loadings.to_numpy().max():.5f}" in page
    assert "scale one" in page


# --- refusals -------------------------------------------------------------------------------------


def test_a_column_may_be_constant_without_a_fold_unless_it_is_scaled(X):
    data = X.assign(rare=np.eye(len(X))[0])
    assert sp.choose(data, k=2, cards=[2, 4]).card == 4


def test_what_helps_with_too_few_rows_for_any_folds(X):
    sp.choose(X.iloc[:3], k=1, cards=[1, 2], by="ebic")
    sp.choose(X.iloc[:4], k=1, cards=[1, 2], folds=4)


def test_nothing_is_said_of_sparser_fits_where_none_was_tried(X):
    noise = X.apply(lambda column: np.random.default_rng(len(column.name)).permutation(column.to_numpy()))
    choice = sp.choose(noise, k=1, cards=[X.shape[1]], rng=0)
    assert "predicts best" in choice.reason
    assert "sparser" not in choice.reason


def test_the_paired_rule_compares_by_fold():
    """By hand from the table: the sparsest whose excess is within its own standard error."""
    X = sp.datasets.pitprops_sample(rng=1)
    one, choice = (sp.choose(X, 3, scale=True, rule=rule, each="equal") for rule in ("1se", "paired"))
    table = choice.table
    pd.testing.assert_frame_equal(table.drop(columns="chosen"), one.table.drop(columns="chosen"))
    within = table["excess"] <= table["excess_se"]
    assert choice.card == table.loc[within, "card"].min() > one.card
    assert "one standard error of the difference" in choice.reason
    assert max(map(len, choice.as_text().splitlines())) <= 80


def test_few_rows_are_told_of_the_paired_rule():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 12))
    X[:, :6] += 1.3 * rng.normal(size=(50, 1))
    assert "rule='paired' compare by fold" in sp.choose(X, 1, cards=[2, 4, 6], rule="1se").reason
    assert "rule='paired'" not in sp.choose(X, 1, cards=[2, 4, 6], rule="paired").reason


# --- what a further loading is worth --------------------------------------------------------------


@pytest.mark.parametrize(("cells", "chosen"), [(6, 2), (60, 3)])
def test_a_further_loading_must_bring_a_share_of_the_mean(cells, chosen):
    """By hand, of folds with equal errors: 3 loadings explain .6, so that 3 more must bring .2 x .6 where
    prediction wants all loadings, and .2 x sqrt(.1) x .6 = .038 where it wants a tenth. They bring .04.
    """
    errors = Errors(np.tile([0.8, 0.5, 0.4, 0.36], (1, 5, 1)), np.ones((1, 5)), np.ones((1, 5)))
    assert by_errors(errors, [1, 2, 3, 6], "worth", Limit(cells)) == (chosen, 3)
    assert by_errors(errors, [1, 2, 3, 6], "min", Limit(cells)) == (3, 3)


def test_skewed_rows_do_not_hide_the_components():
    """Rows of exp(Z / 2): the standard error of a single error is large, those of differences are not."""
    X = np.exp(0.5 * planted(150, 16, (5, 4), (8.0, 5.0), 2))
    assert sp.choose(X, k=2, scale=True, repeats=8).fit.card.tolist() == [5, 4]


@pytest.mark.parametrize("covariance", [False, True])
def test_each_component_has_its_own_cardinality_where_that_is_better(covariance):
    data = planted(150, 24, (10, 4, 3), (12.0, 6.0, 4.0), 1)
    choice = sp.choose(data.cov(), k=3, n_obs=150) if covariance else sp.choose(data, k=3, repeats=1)
    assert choice.card == [10, 4, 3]
    assert "sets were tried" in choice.reason
    equal = sp.choose(data, k=3, cards=[3, 6, 10], each="equal", repeats=1)
    assert isinstance(equal.card, int)
    assert "sets were tried" not in equal.reason


def test_what_is_printed_of_a_choice_is_the_fit_that_is_returned():
    """The search changes one component at a time and can leave the best fits, with which it is compared."""
    choice = sp.choose(sp.datasets.pitprops_sample(), k=4, scale=True, repeats=1)
    line = choice.table[choice.table["chosen"]].iloc[0]
    assert isinstance(choice.card, list)
    assert line["pev"] == pytest.approx(choice.fit.measure("pev"), rel=1e-4)
    assert line["adjusted"] == pytest.approx(choice.fit.measure("adjusted"), rel=1e-4)
    assert choice.fit.variance["score variance"].is_monotonic_decreasing


def test_equal_components_keep_one_cardinality(X):
    choice = sp.choose(X, k=2)
    assert choice.card == 4
    assert "No other cardinality for a single component is clearly better" in choice.reason


def test_dense_data_get_other_readings_and_a_dense_fit_is_called_pca():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.standard_normal((200, 2)) @ rng.standard_normal((2, 10)))
    X = X.add_prefix("v") + 0.5 * rng.standard_normal((200, 10))
    choice = sp.choose(X, k=2)
    assert choice.fit.card.sum() < 20
    line = choice.table[choice.table["chosen"]].iloc[0]
    explained = f"explains {100 * line['kept']:.0f} % of what the best prediction explains"
    assert explained in choice.reason
    text = choice.as_text()
    assert len(text.splitlines()) <= 32  # a screen
    assert re.search(r"^10 .*by prediction and EBIC$", text, re.M)
    assert "it is PCA" not in text
    assert "This fit is not sparse: it is PCA." in sp.choose(X, k=2, rule="min").reason


def test_very_different_variances_are_said_first(X):
    unscaled = X * np.r_[np.ones(15), 50.0]
    text = sp.choose(unscaled, k=1, cards=[1, 2], repeats=1).as_text()
    assert text.index("scale=True") < text.index("Data")
    assert "scale=True gives" in sp.spca(unscaled, 1, 2).summary().as_text()
    assert "Scale " not in sp.choose(unscaled, k=1, cards=[1, 2], scale=True, repeats=1).as_text()


# --- The choice of cardinalities and of k ---------------------------------------------------------


def test_two_seeds_choose_nearly_the_same_supports():
    """Wine: with one division into folds the overlap of two seeds was .80, with these four .93."""
    fits = [sp.choose(sp.datasets.load_wine(), 3, scale=True, rng=seed).fit for seed in (1, 2, 3)]
    supports = [fit.loadings.to_numpy() for fit in fits]
    pairs = [support_overlap(supports[i], supports[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert np.mean(pairs) >= 0.9


def test_errors_of_many_fits_are_those_of_each():
    rng = np.random.default_rng(0)
    m, f, p, k = 3, 4, 9, 3
    V = rng.standard_normal((m, f, p, k)) * (rng.random((m, f, p, k)) < 0.5)
    V /= np.maximum(np.linalg.norm(V, axis=2, keepdims=True), 1e-9)
    V[0, 0, :, 1] = V[0, 0, :, 0]  # dependent loadings
    V[1, 1] = 0.0
    V[1, 1, 0, 0] = V[1, 1, 1, 1] = V[1, 1, 2, 2] = 1.0  # components of one variable
    A, B = rng.standard_normal((2, f, 30, p))
    S, products = A.mT @ A / 29.0, B.mT @ B
    found = batched_press(V, S, products)
    for i in range(m):
        for j in range(f):
            model = SparseModel.of(V[i, j], Gram(S[j]))
            block = products[j][np.ix_(model.used, model.used)]
            assert found[i, j] == pytest.approx(model.press(np.diag(products[j]), block), rel=1e-9)


def test_candidates_go_beyond_50_where_prediction_improves():
    """One factor behind 70 variables, all of equal strength: with 50 of them, 20 are not predicted."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 1)) + 0.5 * rng.standard_normal((80, 70))
    choice = sp.choose(X, k=1, scale=True, repeats=1)
    assert choice.card == 70
    assert "It is the largest cardinality tried" not in choice.reason


def test_what_is_kept_is_relative_to_the_best_known_prediction():
    """Dense PCA predicts better than cardinality 2 of 8 variables with one factor."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((100, 1)) + 0.5 * rng.standard_normal((100, 8))
    table = sp.choose(X, k=1, cards=[1, 2], scale=True).table
    assert table["kept"].max() < 0.5


def test_many_components_are_found_without_kmax():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((300, 12)), 3, axis=1) + 0.7 * rng.standard_normal((300, 36))
    found = sp.choose_k(X, scale=True, n_draws=39)
    assert found.k == 12
    assert "larger kmax" not in found.reason
    assert len(found.table) == 14  # two in a row are noise
    assert sp.choose_k(X, scale=True, n_draws=19, kmax=8).k == 8


@pytest.mark.parametrize("k", [2, 4])
def test_no_candidate_with_fewer_loadings_has_a_clearly_smaller_ebic(k):
    """Correlations of the wines: the search chose 23 loadings (EBIC 9.1 above the smallest) for 20 (0.0)."""
    wine = sp.datasets.load_wine()
    table = sp.choose(wine.corr(), k, n_obs=len(wine), by="ebic").table
    chosen = table[table["chosen"]].iloc[0]
    fewer = table[table["nonzeros"] <= chosen["nonzeros"]]
    assert fewer["ebic"].min() >= chosen["ebic"] - 2.0


def test_a_fit_that_another_of_no_more_loadings_beats_does_not_pass():
    surely = np.array([[False, False, False], [True, False, False], [False, False, False]])
    sizes = np.array([4, 6, 8])
    assert beaten(surely, sizes).tolist() == [False, True, False]
    passed = Limit(8).passed(np.array([0.3, 0.4, 0.3]), surely, sizes, 0)
    assert passed.tolist() == [True, False, True]


def test_a_fit_that_explains_too_little_passes_only_if_none_is_clearly_better():
    """Four loadings are enough by the price of further ones, and explain .6."""
    errors, sizes = np.array([0.9, 0.4, 0.1]), np.array([1, 4, 80])
    surely, unsure = errors[:, None] > errors, np.zeros((3, 3), dtype=bool)
    limit = Limit(80, dense=1.0, nested=True, share=1.0)
    assert limit.passed(errors, surely, sizes, 2).tolist() == [False, True, True]
    limit = replace(limit, least=0.75)
    assert limit.passed(errors, surely, sizes, 2).tolist() == [False, False, True]
    assert limit.passed(errors, unsure, sizes, 2).tolist() == [True, True, True]


@pytest.mark.parametrize("rule", ["worth", "min"])
def test_no_candidate_beats_the_choice_by_its_own_criterion(rule):
    """Free cardinalities of the wines were 5-6-5-5 with an EBIC of 1582, and five in each have 1518."""
    table = sp.choose(sp.datasets.load_wine(), k=4, scale=True, by="ebic", rule=rule, each="free").table
    chosen = table[table["chosen"]].iloc[0]
    if rule == "min":
        assert chosen["ebic"] == table["ebic"].min()
    else:
        assert (table.loc[table["nonzeros"] <= chosen["nonzeros"], "ebic"] >= chosen["ebic"] - 2.0).all()


def test_one_variable_is_a_component_only_if_a_second_does_not_help():
    assert unless_alone(0, np.array([0.5, 0.4]), [1, 2]) == 1
    assert unless_alone(0, np.array([0.5, 0.6]), [1, 2]) == 0
    assert unless_alone(1, np.array([0.5, 0.4, 0.3]), [1, 2, 3]) == 1


def test_the_print_names_a_variable_that_stands_alone():
    rng = np.random.default_rng(9)  # noise, in which a second variable helps by chance in one of four sets
    X = pd.DataFrame(rng.standard_normal((200, 7)), columns=list("abcdefg"))
    X["g"] *= 5.0
    choice = sp.choose(X, k=1, cards=[1, 2, 3])
    assert choice.card == 1
    assert "PC1 is a single variable, g: a second one does not improve prediction." in choice.reason


def test_levels_of_the_tests_are_printed_with_their_tables():
    X = sp.datasets.load_wine()
    levels = "Levels of the tests: p 10 %, deflated p and sparse p 2 %."
    choice = sp.choose(X, cards=[4, 6], scale=True, alpha=0.1, n_draws=99, each="equal")
    assert levels in " ".join(str(choice).split())
    assert levels in " ".join(str(choice.k_choice).split())


def test_polychoric_matrices_are_refused_by_tests_for_normal_rows():
    """Independent binary items, a share of .15: components were found in 17 of 17 such matrices."""
    items = (np.random.default_rng(0).random((200, 8)) < 0.15).astype(int)
    R = sp.correlation(items)
    for call in (sp.choose_k, sp.choose):
        with pytest.raises(OptionError, match=r"polychoric correlations.* give k=, or test the items"):
            call(R, n_obs=200)
    assert sp.choose(R, 2, n_obs=200, cards=[1, 2]).k == 2
    assert sp.choose_k(items, scale=True).k == 0


def test_stability_is_that_of_choices_from_halves():
    X = sp.datasets.make_toy(80, rng=1)
    choice = sp.choose(X, 2, cards=[2, 4, 6], scale=True, repeats=1)
    found = choice.stability(2)
    assert found.table["share"].sum() == pytest.approx(1.0)
    assert found.draws["k"].tolist() == [2, 2]
    assert 0.0 <= found.overlap <= 1.0
    assert "2 random halves" in str(found)
    pd.testing.assert_frame_equal(found.draws, choice.stability(2).draws)
    with pytest.raises(NoRowsError, match="halves of the rows"):
        sp.choose(X.corr(), 2, n_obs=80, cards=[2, 4]).stability(2)


def test_overlap_matches_components():
    """By hand: {a, b}, {c} and {c}, {a}: the best matching has 1 + 1 common of 3 + 2 loadings."""
    A = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    B = np.array([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    assert support_overlap(A, B) == pytest.approx(0.8)
    assert support_overlap(A, A) == 1.0
    assert support_overlap(A, np.zeros((3, 0))) == 0.0
